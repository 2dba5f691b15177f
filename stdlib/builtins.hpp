#pragma once
// All builtin functions and methods as one table, made from builtins.def.
#include "vm/object.hpp"
#include "vm/vm.hpp"

namespace talc::stdlib {

// The functions behind the rows; each is defined in the file of its topic.
#define ROW(owner, name, signature, effect, record, function, doc) vm::Ref function(vm::Vm& vm, const vm::Args& args);
#include "stdlib/builtins.def"
#undef ROW

// Builtin names that are neither functions nor classes.
vm::Ref make_builtin_value(vm::Vm& vm, std::string_view name);
vm::Ref make_jit_value(vm::Vm& vm);
// Whether a comma-separated list of log channels has this one.
bool has_channel(std::string_view channels, std::string_view wanted);
// Channels, comma-separated, whose messages of the jit go to stderr.
void set_jit_log(vm::Vm& vm, const std::string& channels);

// What an engine gives to its VM. Lives as long as the process.
const vm::BuiltinTable& builtin_table();

}  // namespace talc::stdlib
