#pragma once
// What is known of a piece of program text without running any of it; for completion, hints and help.
#include <string>
#include <string_view>

#include "vm/vm.hpp"

namespace talc::stdlib {

// A value, or at least its class; neither: nothing is known.
struct Known {
    vm::Ref value;
    vm::Class* cls = nullptr;
    explicit operator bool() const { return cls != nullptr; }
};

// What an expression gives, seen from __main__: names, attributes, literals, items of builtin containers, and calls of
// classes (as far as the class goes). Nothing that the script wrote is called.
Known known_value(vm::Vm& machine, std::string_view expression);

// Where the operand that ends the text begins: `b.c[0]` in `a + b.c[0]`. The text's length: there is none.
size_t operand_start(std::string_view text);

// The script function behind a method or a class's __init__, or the value itself.
vm::Value function_behind(vm::Vm& machine, vm::Value value);
// "(x, y=2, *rest)" without self where it is bound; empty: nothing that is called, or its parameters are not known.
std::string signature_text(vm::Vm& machine, vm::Value value);

}  // namespace talc::stdlib
