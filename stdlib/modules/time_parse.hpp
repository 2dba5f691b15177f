#pragma once
// time.strptime: what a text says by a format, as CPython's _strptime reads it (the C library takes and refuses other
// texts, and does not say where it stopped).
#include <ctime>
#include <string>
#include <string_view>

namespace talc::stdlib {

// CPython's message where the text does not match; empty: `out` is the time.
std::string parse_time(std::string_view text, std::string_view format, std::tm& out);

}  // namespace talc::stdlib
