#pragma once
// Constants as text, for dumps.
#include <string>
#include <string_view>

namespace talc::lang {

// The shortest text that reads back as `value`, with a point or exponent so that it is no int.
std::string float_text(double value);
// In double quotes, with \n, \t, \\, \" and \xNN for the rest of the control characters and bytes beyond
// ASCII.
std::string quoted_text(std::string_view text);

}  // namespace talc::lang
