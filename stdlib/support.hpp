#pragma once
// Small helpers that the builtins share.
#include <string_view>

#include "vm/vm.hpp"

namespace talc::stdlib {

using namespace talc::vm;  // builtins speak of the VM's values all the time

inline Ref none() { return Ref(Value::none()); }
inline Ref boolean(bool x) { return Ref(Value::boolean(x)); }
inline Ref integer(int64_t x) { return Ref(Value::integer(x)); }
inline Ref real(double x) { return Ref(Value::real(x)); }
inline Ref not_implemented() { return Ref(Value::not_implemented()); }

inline bool is_str(Value v) { return v.is_kind(Kind::Str); }
inline bool is_class(Value v) { return v.is_kind(Kind::Class); }
// Exactly the builtin class, not a subclass: its behaviour is known.
inline bool is_plain(Value v, Kind kind) { return v.is_kind(kind) && !v.o->cls->user; }

inline const KindOps& ops_of(Value v) { return kind_ops(v.o->kind); }

// Tells the limits about work done in a loop, at little cost: step() once a round.
class Ticker {
  public:
    explicit Ticker(Vm& vm) : vm_(vm) {}
    void step() {
        if ((++count_ & 255) == 0) vm_.tick(256);
    }

  private:
    Vm& vm_;
    uint32_t count_ = 0;
};

// Runs body(Value item) for each item until it gives false; polls limits.
template <class F>
void walk(Vm& vm, Value iterable, F&& body) {
    Ticker ticker(vm);
    Ref keep(iterable);
    if (is_plain(iterable, Kind::Tuple)) {
        Tuple* tuple = cast<Tuple>(iterable);
        for (size_t i = 0; i < tuple->size; i++) {
            ticker.step();
            if (!body(tuple->items[i])) return;
        }
        return;
    }
    if (is_plain(iterable, Kind::List)) {
        List* list = cast<List>(iterable);
        for (size_t i = 0; i < list->size; i++) {
            ticker.step();
            if (!body(Ref(list->items[i]).get())) return;
        }
        return;
    }
    Ref iterator = iterate(vm, iterable);
    while (Ref item = next(vm, iterator)) {
        ticker.step();
        if (!body(item.get())) return;
    }
}

// True: the exception being raised was of this class and is gone now; false: raise it on (throw).
bool catch_raised(Vm& vm, Exc type);

// The name argument of getattr and its sisters.
Str* attribute_name(Vm& vm, Value name);

// The first argument of __new__: a class whose instances have base's layout. CPython's errors otherwise.
Class* class_to_make(Vm& vm, Value cls, Class* base);
// Keyword arguments where CPython takes none: "list() takes no keyword arguments".
void no_keywords(Vm& vm, const Args& args, std::string_view function);
// "range expected at most 3 arguments, got 4"; counts args.rest.
void check_count(Vm& vm, const Args& args, std::string_view function, size_t least, size_t most);

// Where start and stop of list.index lie: clipped to the length, negative ones from the end.
int64_t clip_index(Vm& vm, Value index, int64_t length);

// Sorts as list.sort does, by the keywords in args (list.cpp).
void sort_with_keywords(Vm& vm, List* list, const Args& args);

// The type object as messages and reprs show it: "__main__.Foo" or "list".
std::string full_class_name(const Class* cls);

}  // namespace talc::stdlib
