#pragma once
// Classes: making them, and looking up in them.
#include "vm/object.hpp"

namespace talc::vm {

// A builtin class. `base` null only for object itself.
Class* make_class(Vm& vm, std::string_view name, Class* base, Kind instance_kind);
// A class statement or type(name, bases, namespace): attributes from a dict.
Ptr<Class> build_class(Vm& vm, Value name, const Value* bases, size_t nbases, Dict* attributes, std::string_view qualname);
// What a new class's base does about it: __init_subclass__ with the keyword arguments of the class statement (null: none).
void announce_subclass(Vm& vm, Class* cls, Dict* keywords);
// False: the class has __slots__, and this name is not among them.
bool may_have_attribute(const Class* cls, const Str* name);
// The methods of a builtin class, from the table of builtins: for Class::populate.
void populate_class(Vm& vm, Class* cls);
// Fills a builtin class on its first use.
inline void ensure_populated(Vm& vm, Class* cls) {
    if (cls->populate) [[unlikely]] {
        auto populate = cls->populate;
        cls->populate = nullptr;
        populate(vm, cls);
    }
}
// Drops all that a class holds but its base; the class itself stays.
void release_class(Vm& vm, Class* cls);
// A class attribute as seen through an instance (self) or, with self Undef, through the class: functions are bound.
Ref bind_class_attr(Vm& vm, Value attribute, Value self, Class* cls);

}  // namespace talc::vm
