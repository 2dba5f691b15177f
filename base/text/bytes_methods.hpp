#pragma once
// The bytes methods that differ from str's because only ASCII counts as letters and whitespace. The others
// are shared: search.hpp (with Unit::Byte), split.hpp (with Space::Bytes), and the padding of str_methods.hpp
// with length = size.
#include <cstdint>
#include <string_view>

#include "base/text/buffer.hpp"
#include "base/text/result.hpp"

namespace talc::text {

bool bytes_is_alpha(std::string_view b);
bool bytes_is_digit(std::string_view b);
bool bytes_is_alnum(std::string_view b);
bool bytes_is_space(std::string_view b);
bool bytes_is_lower(std::string_view b);
bool bytes_is_upper(std::string_view b);
bool bytes_is_title(std::string_view b);

void append_bytes_upper(Buffer& out, std::string_view b);
void append_bytes_lower(Buffer& out, std::string_view b);
void append_bytes_title(Buffer& out, std::string_view b);
void append_bytes_capitalized(Buffer& out, std::string_view b);
void append_bytes_swapped_case(Buffer& out, std::string_view b);
void append_bytes_expanded_tabs(Buffer& out, std::string_view b, int64_t tab_size = 8);

// b.hex(separator, group): a separator of one character between groups of bytes, counted from the right (from
// the left when group is negative). An empty separator, or group 0: none.
void append_hex(Buffer& out, std::string_view b, std::string_view separator = {}, int64_t group = 1);

// bytes.fromhex(s): pairs of digits with ASCII whitespace between them.
Status append_from_hex(Buffer& out, std::string_view s);

}  // namespace talc::text
