#pragma once
// What can be done with any value, as CPython does it: special methods of script classes first, then the
// kind's own behaviour. All of these raise script exceptions (a C++ `Raised`, see error.hpp).
#include <string>
#include <string_view>

#include "vm/object.hpp"
#include "vm/ops.hpp"

namespace talc::vm {

// In the order of the opcodes and of specials.def.
enum class BinaryOp : uint8_t { Add, Sub, Mul, Div, FloorDiv, Mod, Pow, MatMul, LShift, RShift, And, Or, Xor };
enum class UnaryOp : uint8_t { Neg, Pos, Invert };
const char* operator_text(BinaryOp op);   // "+"

Class* class_of(Vm& vm, Value v);
std::string_view class_name(Vm& vm, Value v);        // for messages
bool is_subclass(const Class* cls, const Class* base);
bool is_instance(Vm& vm, Value v, const Class* cls);
// The special method that a script class (or native class with native specials) gives to v's class; Undef: none.
Value find_special(Vm& vm, Class* cls, Special special);
inline Value find_special(Vm& vm, Value v, Special special) { return find_special(vm, class_of(vm, v), special); }

bool truth(Vm& vm, Value v);
bool equals(Vm& vm, Value a, Value b);               // identity or ==
Ref compare(Vm& vm, CompareOp op, Value a, Value b); // rich comparison, any result
bool compare_bool(Vm& vm, CompareOp op, Value a, Value b);
int64_t hash(Vm& vm, Value v);
Ptr<Str> repr(Vm& vm, Value v);
Ptr<Str> to_str(Vm& vm, Value v);
Ptr<Str> ascii(Vm& vm, Value v);
Ptr<Str> format(Vm& vm, Value v, std::string_view spec);

int64_t length(Vm& vm, Value v);
Ref get_item(Vm& vm, Value v, Value key);
void set_item(Vm& vm, Value v, Value key, Value value);
void del_item(Vm& vm, Value v, Value key);
bool contains(Vm& vm, Value container, Value item);

Ref iterate(Vm& vm, Value v);                        // iter(v)
Ref next(Vm& vm, Value iterator);                    // empty at the end; polls limits
bool is_iterator(Vm& vm, Value v);
int64_t length_hint(Vm& vm, Value v);                // -1: unknown
// Runs `body(Value item)` for each item; polls limits. Fast for lists and tuples.
template <class F> void for_each(Vm& vm, Value iterable, F&& body);

Ref binary(Vm& vm, BinaryOp op, Value a, Value b);
Ref binary_in_place(Vm& vm, BinaryOp op, Value a, Value b);
Ref unary(Vm& vm, UnaryOp op, Value v);
Ref power(Vm& vm, Value a, Value b, Value modulus);  // pow with three arguments

// Attributes
Ref get_attr(Vm& vm, Value v, Str* name);            // AttributeError if there is none
Ref find_attr(Vm& vm, Value v, Str* name);           // empty if there is none (other errors raise)
void set_attr(Vm& vm, Value v, Str* name, Value value);
void del_attr(Vm& vm, Value v, Str* name);
// Without script overrides (__getattribute__, __setattr__): what object.__getattribute__ and so on do.
Ref find_attr_plain(Vm& vm, Value v, Str* name);
void set_attr_plain(Vm& vm, Value v, Str* name, Value value);
void del_attr_plain(Vm& vm, Value v, Str* name);
Value find_class_attr(Vm& vm, Class* cls, Str* name);   // in the class and its bases; borrowed; Undef: none
Cell* find_class_cell(Vm& vm, Class* cls, Str* name);
void set_class_attr(Vm& vm, Class* cls, Str* name, Value value);

// Calls. Keyword arguments: the last nkeywords values, named by names.
Ref call(Vm& vm, Value callee, const Value* args, size_t count, Str* const* keyword_names = nullptr, size_t nkeywords = 0);
inline Ref call(Vm& vm, Value callee) { return call(vm, callee, nullptr, 0); }
inline Ref call(Vm& vm, Value callee, Value a) { return call(vm, callee, &a, 1); }
inline Ref call(Vm& vm, Value callee, Value a, Value b) {
    Value args[] = {a, b};
    return call(vm, callee, args, 2);
}
inline Ref call(Vm& vm, Value callee, Value a, Value b, Value c) {
    Value args[] = {a, b, c};
    return call(vm, callee, args, 3);
}
Ref call_method(Vm& vm, Value receiver, Str* name, const Value* args, size_t count);
Ref call_special(Vm& vm, Value method, Value self);   // method from find_special
Ref call_special(Vm& vm, Value method, Value self, Value a);
Ref call_special(Vm& vm, Value method, Value self, Value a, Value b);
bool is_callable(Vm& vm, Value v);

// Conversions, with CPython's errors.
bool is_integer(Value v);                             // int, bool or instance of a subclass of int
int64_t int_value(Value v);                           // of such a value
bool is_number(Value v);                              // is_integer or a float
int64_t to_index(Vm& vm, Value v);                    // __index__: "'str' object cannot be interpreted as an integer"
double to_double(Vm& vm, Value v);                    // number or __float__: "must be real number, not str"
std::string_view to_text(Vm& vm, Value v, const char* what);  // must be a str: "{what} must be str, not int"
// Slices: indices clipped to a length, as slice.indices.
struct SliceRange { int64_t start, stop, step, length; };
SliceRange slice_range(Vm& vm, Slice* slice, int64_t length);
int64_t check_index(Vm& vm, Value key, int64_t length, const char* message);  // negative ones count from the end

// Guards C++ recursion (nested reprs, comparisons, calls): RecursionError when the stack runs low.
struct RecursionGuard {
    explicit RecursionGuard(Vm& vm);
    ~RecursionGuard();
    Vm& vm;
};

}  // namespace talc::vm
