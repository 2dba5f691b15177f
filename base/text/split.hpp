#pragma once
// Taking text apart and putting it together: strip, split, splitlines, join. All pieces are views into the
// argument. `pieces` is appended to, so that a caller can keep one vector and reuse its memory.
//
// Space::Text is str's whitespace (all of Unicode's), Space::Bytes that of bytes objects (six ASCII
// characters).
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/text/buffer.hpp"

namespace talc::text {

using Pieces = std::vector<std::string_view>;

enum class Space : unsigned char { Text, Bytes };

std::string_view strip_left(std::string_view s, Space space = Space::Text);
std::string_view strip_right(std::string_view s, Space space = Space::Text);
inline std::string_view strip(std::string_view s, Space space = Space::Text) {
    return strip_right(strip_left(s, space), space);
}

// strip(chars): chars is a set of code points (of bytes with Space::Bytes).
std::string_view strip_left_of(std::string_view s, std::string_view chars, Space space = Space::Text);
std::string_view strip_right_of(std::string_view s, std::string_view chars, Space space = Space::Text);
inline std::string_view strip_of(std::string_view s, std::string_view chars, Space space = Space::Text) {
    return strip_right_of(strip_left_of(s, chars, space), chars, space);
}

// s.split(None, limit): at runs of whitespace. limit < 0: no limit. rsplit gives the pieces in text order
// too.
void split_space(Pieces& pieces, std::string_view s, int64_t limit = -1, Space space = Space::Text);
void rsplit_space(Pieces& pieces, std::string_view s, int64_t limit = -1, Space space = Space::Text);

// s.split(separator, limit). The separator must not be empty ("empty separator" is the VM's ValueError).
void split_at(Pieces& pieces, std::string_view s, std::string_view separator, int64_t limit = -1);
void rsplit_at(Pieces& pieces, std::string_view s, std::string_view separator, int64_t limit = -1);

// s.splitlines(keepends): \n \r \r\n, and for text also \v \f \x1c \x1d \x1e \x85 U+2028 U+2029.
void split_lines(Pieces& pieces, std::string_view s, bool keep_ends, Space space = Space::Text);

// separator.join(items). joined_size gives the result's bytes, for callers that make the string themselves
// with write_joined (which writes exactly that many).
size_t joined_size(std::string_view separator, std::span<const std::string_view> items);
void write_joined(char* out, std::string_view separator, std::span<const std::string_view> items);
void append_joined(Buffer& out, std::string_view separator, std::span<const std::string_view> items);

}  // namespace talc::text
