#pragma once
// Script exceptions in C++: the exception object waits in the Vm, a `Raised` travels. Catch it with
// catch (Raised&) and vm.take_raised(), or let it pass.
#include <fmt/format.h>

#include <string>

#include "vm/object.hpp"

namespace talc::vm {

struct Raised {};

// Builtin exception classes: EXCEPTION(Name, Base).
enum class Exc : uint8_t {
#define EXCEPTION(name, base) name,
#include "vm/exceptions.def"
#undef EXCEPTION
    count,
};

[[noreturn]] void raise(Vm& vm, Exc type, std::string message);
[[noreturn]] void raise_with(Vm& vm, Exc type, Value arg);            // args = (arg,)
[[noreturn]] void raise_object(Vm& vm, Value exception);              // an exception instance
template <class... A>
[[noreturn]] void raise(Vm& vm, Exc type, fmt::format_string<A...> text, A&&... args)
    requires(sizeof...(A) > 0)
{
    raise(vm, type, fmt::format(text, std::forward<A>(args)...));
}
Ptr<Exception> make_exception(Vm& vm, Class* cls, const Value* args, size_t count);

}  // namespace talc::vm
