#pragma once
// What CPython finds wrong with a regular expression, in its words and at its place. PCRE2 knows more than Python (and
// says less): what only it takes is refused here as well.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace talc::stdlib {

struct PatternError {
    std::string message;
    std::optional<int64_t> position;  // in code points
};

// text: the pattern's code points, or its bytes.
std::optional<PatternError> check_pattern(std::u32string_view text, bool bytes, bool verbose);

}  // namespace talc::stdlib
