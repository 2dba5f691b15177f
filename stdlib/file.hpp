#pragma once
// File objects: what open() gives, and the standard streams as objects.
#include <memory>
#include <string>

#include "stdlib/raw_file.hpp"
#include "vm/vm.hpp"

namespace talc::stdlib {

// Opens as the builtin open() does; mode as there.
vm::Ref open_file(vm::Vm& vm, const std::string& path, std::string_view mode);
// sys.stdin, sys.stdout, sys.stderr: 0, 1, 2; not text: their buffer attributes.
vm::Ref make_standard_file(vm::Vm& vm, int which, bool text = true);
bool is_text_file(vm::Vm& vm, vm::Value v);
// io.UnsupportedOperation, an OSError.
vm::Class* unsupported_operation(vm::Vm& vm);
[[noreturn]] void raise_unsupported(vm::Vm& vm, const char* what);
void write_to_file(vm::Vm& vm, vm::Value text_file, std::string_view text);

}  // namespace talc::stdlib
