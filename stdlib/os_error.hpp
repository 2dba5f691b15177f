#pragma once
// Errors of the operating system as script exceptions.
#include <string_view>

#include "vm/vm.hpp"

namespace talc::stdlib {

// OSError, or the subclass that belongs to the number: "[Errno 2] No such file or directory: 'x'".
[[noreturn]] void raise_os_error(vm::Vm& vm, int number, std::string_view path);
[[noreturn]] void raise_os_error(vm::Vm& vm, int number);

}  // namespace talc::stdlib
