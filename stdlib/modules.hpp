#pragma once
// The modules that come with the program. How a module is put together: modules.def.
#include <initializer_list>
#include <string_view>

#include "vm/vm.hpp"

namespace talc::stdlib {

#define MODULE(name, fill) void fill(vm::Vm& vm, vm::Module* module);
#include "stdlib/modules.def"
#undef MODULE

// The module of that name, new and in vm.modules; empty: there is none.
vm::Ref make_library_module(vm::Vm& vm, std::string_view name);

// module.name = value, for `fill`.
void set_value(vm::Vm& vm, vm::Module* module, std::string_view name, vm::Value value);

// A class in C++ that a module has: its methods are the rows of builtins.def whose owner is its name. State is a
// ForeignState (Kind::Foreign; __new__ makes it with make_foreign) or what another kind has.
struct NativeClass {
    std::string_view name;
    std::string_view module;                   // __module__, as reprs show it: "_io"
    vm::Kind kind = vm::Kind::Foreign;
    vm::Class* (*base)(vm::Vm& vm) = nullptr;  // null: object
    bool final = false;                        // scripts cannot derive from it
    bool attributes = false;                   // scripts can set attributes of instances (Kind::Foreign)
};
// Made on first use, once an engine. A NativeClass is a static constant: its address is its name.
vm::Class* native_class(vm::Vm& vm, const NativeClass& description);

// A tuple whose items have names, as sys.version_info and time.struct_time are.
struct RecordClass {
    std::string_view name;
    std::string_view module;
    std::initializer_list<const char*> fields;
    bool lines = false;                        // repr: a line for each field
};
vm::Class* record_class(vm::Vm& vm, const RecordClass& description);   // as native_class
vm::Ref make_record(vm::Vm& vm, const RecordClass& description, std::initializer_list<vm::Value> items);

}  // namespace talc::stdlib
