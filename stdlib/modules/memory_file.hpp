#pragma once
// io.StringIO as print sees it.
#include <string_view>

#include "vm/vm.hpp"

namespace talc::stdlib {

bool is_string_io(vm::Vm& vm, vm::Value v);  // itself, not a subclass
void write_to_string_io(vm::Vm& vm, vm::Value string_io, std::string_view text);

}  // namespace talc::stdlib
