#pragma once
// A VM without builtins, and short ways to make values, for tests of objects.
#include <string>
#include <vector>

#include "tests/unit/catch.hpp"
#include "vm/containers.hpp"
#include "vm/vm.hpp"

namespace talc::vm::test {

inline const BuiltinTable kNoBuiltins{};

struct Fixture {
    Fixture() : vm(kNoBuiltins) {}
    Vm vm;

    Ref str(std::string_view text) { return make_str(vm, text); }
    Ref ints(std::initializer_list<int64_t> items) {
        Ptr<List> list = make_list(vm);
        for (int64_t i : items) list_append(vm, list.get(), Value::integer(i));
        return list;
    }
    std::string show(Value v) { return repr(vm, v)->string(); }
    // The message of the exception that the call raises, with its class: "IndexError: list index out of range".
    template <class F>
    std::string error(F&& body) {
        try {
            body();
        } catch (Raised&) {
            Ref raised = vm.take_raised();
            Tuple* args = cast<Exception>(raised.get())->args;
            std::string text = args->size == 0 ? "" : to_str(vm, args->items[0])->string();
            return std::string(class_name(vm, raised)) + ": " + text;
        }
        return "no error";
    }
};

// The same small random numbers in every run, and in the Python program that computed what is expected.
struct Random {
    uint64_t state;
    int64_t below(int64_t n) {
        state = (state * 1103515245 + 12345) % 2147483648;
        return static_cast<int64_t>(state / 8) % n;
    }
};

}  // namespace talc::vm::test
