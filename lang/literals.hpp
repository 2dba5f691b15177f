#pragma once
// From the text of a literal to its value.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace talc::lang {

// 123, 1_000, 0xff, 0o17, 0b1: the magnitude, or nothing when it does not fit 64 bits unsigned.
std::optional<uint64_t> decode_int(std::string_view text);
double decode_float(std::string_view text);

// A string token taken apart: prefix, quotes and what stands between them.
struct StringParts {
    bool raw = false;
    bool bytes = false;
    bool formatted = false;
    uint32_t content_begin = 0;  // offsets within the token's text
    uint32_t content_end = 0;
};
StringParts split_string(std::string_view token);

// Appends the content with its escapes resolved. Returns an error message, empty if all is well; `error_at`
// is then the offset of the escape within `content`.
std::string decode_string(std::string_view content, bool raw, bool bytes, std::string& out, size_t& error_at);

}  // namespace talc::lang
