#pragma once
// Whether a Code may be run: every operand in bounds, every jump inside, every register bound where it is
// read.
#include <string>

#include "lang/code.hpp"

namespace talc::lang {

// Empty if the code and all codes in it are sound, else what is wrong and where.
std::string verify(const Code& code);

}  // namespace talc::lang
