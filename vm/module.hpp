#pragma once
#include "base/source.hpp"
#include "lang/syntax_error.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

// A front end's error as a script exception that shows the source line.
[[noreturn]] void raise_syntax_error(Vm& vm, const lang::SyntaxError& error, const Source& source);

}  // namespace talc::vm
