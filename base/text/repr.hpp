#pragma once
// repr() and ascii() of text, repr() of bytes: single quotes unless that alone would need escapes.
#include <string_view>

#include "base/text/buffer.hpp"

namespace talc::text {

void append_str_repr(Buffer& out, std::string_view s);
void append_ascii(Buffer& out, std::string_view s);  // as repr, with everything beyond ASCII escaped

// What %a and ascii() make of the repr of any object: the characters beyond ASCII are escaped, the rest
// stays.
void append_ascii_escaped(Buffer& out, std::string_view repr);

void append_bytes_repr(Buffer& out, std::string_view bytes);

}  // namespace talc::text
