#pragma once
// The rarer instructions' work, out of the interpreter loop so that the loop stays small. Each raises as usual.
#include "vm/vm.hpp"

namespace talc::vm {

struct Steps {
    static void clear_registers(Value* registers, size_t count);
    static void unbound_local(Vm& vm, Str* name);
    static void unbound_free(Vm& vm, const std::string& name);
    static void undefined_global(Vm& vm, Str* name);
    // Fast attribute access: fill the site's cache when it can be cached.
    static Ref load_attr(Vm& vm, Value object, AttrCache& site);
    static void store_attr(Vm& vm, Value object, AttrCache& site, Value value);
    static void load_method(Vm& vm, Value object, AttrCache& site, Value* function, Value* self);   // both owned
    static void super_method(Vm& vm, Value cls, Value self, Str* name, Value* function, Value* out_self);
    static Ref make_super(Vm& vm, Value cls, Value self);
    static Ref make_function(Vm& vm, Frame& frame, Code* code, Value* registers, unsigned flags);
    static Ref make_generator(Vm& vm, Function* function, const Value* args, size_t count, Str* const* names, size_t nkeywords);
    static Ref run_class_body(Vm& vm, Function* body, Dict* attributes);
    static Ref build_class(Vm& vm, Value body, Value name, const Value* bases, size_t count, Value keywords);
    static void unpack(Vm& vm, Value source, Value* out, size_t count);
    static void unpack_star(Vm& vm, Value source, Value* out, size_t before, size_t after);
    static Ref slice(Vm& vm, Value object, Value start, Value stop);
    static Ref build_string(Vm& vm, const Value* parts, size_t count);
    static Ref format_value(Vm& vm, Value v, Value spec, unsigned conversion);
    static Ref call_many_keywords(Vm& vm, Value callee, const Value* args, size_t count, Tuple* names);
    static void extend_args(Vm& vm, List* args, Value iterable, Value callee);
    static void dict_merge(Vm& vm, Dict* dict, Value mapping, Value callee);
    // Empty: a frame was pushed, which will put its result into the register.
    static Ref call_ex(Vm& vm, Value callee, Value args, Value keywords, uint16_t result);
    static Ref exception_to_raise(Vm& vm, Value v);                 // an instance, from an instance or a class
    static void set_cause(Vm& vm, Value exception, Value cause);
    static bool matches(Vm& vm, Value exception, Value classes);
    static void with_enter(Vm& vm, Value manager, Value* exit, Value* entered);   // both owned
    static void add_traceback(Vm& vm, Value exception, Code* code, uint32_t instruction);
    static void set_context(Vm& vm, Value exception);
    // One step of yield from: a value to yield, or empty and the result in *returned.
    static Ref delegate(Vm& vm, Value iterator, Value sent, Ref* returned);
    static Ref import(Vm& vm, Frame& frame, Str* name, bool leaf);
    static Ref import_from(Vm& vm, Frame& frame, Value module, Str* name);
    static void import_star(Vm& vm, Frame& frame, Value module);
    static Ref str_plus(Vm& vm, Value a, Value b, bool may_grow);   // a + b of two strings
};

}  // namespace talc::vm
