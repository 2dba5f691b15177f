#pragma once
// Text to numbers: int(s, base), float(s), float.fromhex(s). Surrounding whitespace, underscores between
// digits and decimal digits of any script are accepted, as CPython does.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/result.hpp"

namespace talc::text {

enum class ParseOutcome : unsigned char { Ok, Invalid, TooLarge };

struct ParsedInt {
    ParseOutcome outcome = ParseOutcome::Invalid;
    int64_t value = 0;
};

// base: 2 to 36, or 0 for what the literal's prefix says.
ParsedInt parse_int(std::string_view s, unsigned base = 10);

// The ValueError of int(s, base): "invalid literal for int() with base 10: 'x'".
std::string invalid_int_message(std::string_view s, unsigned base);

// Nothing when s is no number: the ValueError is invalid_float_message(s), "could not convert string to
// float: 'x'".
std::optional<double> parse_float(std::string_view s);
std::string invalid_float_message(std::string_view s);

Result<double> parse_float_hex(std::string_view s);

}  // namespace talc::text
