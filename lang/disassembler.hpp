#pragma once
// Code as text, for --dump=bytecode, golden tests and people.
#include <string>

#include "lang/code.hpp"

namespace talc::lang {

// The code and, after it, the codes inside it.
std::string disassemble(const Code& code);
// One instruction with its operands explained.
std::string disassemble_instruction(const Code& code, uint32_t at);
std::string constant_text(const Constant& constant);

}  // namespace talc::lang
