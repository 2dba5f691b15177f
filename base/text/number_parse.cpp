#include "base/text/number_parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text/number_text.hpp"
#include "base/text/repr.hpp"
#include "base/text/split.hpp"
#include "base/text/unicode.hpp"
#include "base/text/utf8.hpp"

namespace talc::text {

namespace {

// The value of a digit in bases up to 36; 99 for anything else.
unsigned digit_value(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'z') return static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'Z') return static_cast<unsigned>(c - 'A') + 10;
    return 99;
}

// Decimal digits of other scripts become ASCII ones; any other wide character becomes one that no number has.
std::string_view to_ascii_digits(std::string_view s, Buffer& storage) {
    if (is_ascii(s)) return s;
    const char* p = s.data();
    const char* end = p + s.size();
    while (p < end) {
        char32_t c = decode(p, end);
        int digit = c < 0x80 ? -1 : decimal_value(c);
        storage.push_back(c < 0x80 ? static_cast<char>(c) : digit < 0 ? '?' : static_cast<char>('0' + digit));
    }
    return storage;
}

bool take_sign(std::string_view& s) {
    if (s.empty() || (s[0] != '-' && s[0] != '+')) return false;
    bool negative = s[0] == '-';
    s.remove_prefix(1);
    return negative;
}

unsigned base_of_prefix(std::string_view s) {
    if (s.size() < 2 || s[0] != '0') return 0;
    switch (s[1]) {
        case 'x':
        case 'X':
            return 16;
        case 'o':
        case 'O':
            return 8;
        case 'b':
        case 'B':
            return 2;
        default:
            return 0;
    }
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool equals_ignoring_case(std::string_view s, std::string_view lower_case) {
    if (s.size() != lower_case.size()) return false;
    for (size_t i = 0; i < s.size(); ++i) {
        if (lower(s[i]) != lower_case[i]) return false;
    }
    return true;
}

std::optional<double> parse_special(std::string_view s) {
    if (equals_ignoring_case(s, "inf") || equals_ignoring_case(s, "infinity")) {
        return std::numeric_limits<double>::infinity();
    }
    if (equals_ignoring_case(s, "nan")) return std::numeric_limits<double>::quiet_NaN();
    return std::nullopt;
}

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

// Drops the underscores of "1_000.5"; each must stand between two digits.
std::optional<std::string_view> without_underscores(std::string_view s, Buffer& storage) {
    if (s.find('_') == std::string_view::npos) return s;
    for (size_t i = 0; i < s.size(); ++i) {
        if (s[i] != '_') {
            storage.push_back(s[i]);
        } else if (i == 0 || i + 1 == s.size() || !is_ascii_digit(s[i - 1]) || !is_ascii_digit(s[i + 1])) {
            return std::nullopt;
        }
    }
    return storage.view();
}

// digits[.digits] or .digits, then an optional exponent, and nothing else.
bool is_decimal_number(std::string_view s) {
    size_t i = 0;
    auto digits = [&] {
        size_t first = i;
        while (i < s.size() && is_ascii_digit(s[i])) ++i;
        return i - first;
    };
    size_t count = digits();
    if (i < s.size() && s[i] == '.') {
        ++i;
        count += digits();
    }
    if (count == 0) return false;
    if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
        ++i;
        if (i < s.size() && (s[i] == '+' || s[i] == '-')) ++i;
        if (digits() == 0) return false;
    }
    return i == s.size();
}

// Whether a decimal number that no double can hold is too large, not too small: the place of its first digit
// decides.
bool is_huge(std::string_view s) {
    size_t e = s.find_first_of("eE");
    std::string_view digits = s.substr(0, e);
    int64_t exponent = 0;
    if (e != std::string_view::npos) {
        std::string_view text = s.substr(e + 1);
        bool negative = take_sign(text);
        if (std::from_chars(text.data(), text.data() + text.size(), exponent).ec != std::errc()) {
            exponent = std::numeric_limits<int64_t>::max() / 2;
        }
        if (negative) exponent = -exponent;
    }
    size_t first = digits.find_first_not_of("0.");
    if (first == std::string_view::npos) return false;
    size_t point = std::min(digits.find('.'), digits.size());
    return static_cast<int64_t>(point) - static_cast<int64_t>(first) + exponent > 0;
}

std::string shortened_repr(std::string_view s, size_t most) {
    Buffer shown;
    append_str_repr(shown, s);
    std::string_view view = shown;
    return std::string(view.substr(0, byte_offset(view, most)));
}

}  // namespace

ParsedInt parse_int(std::string_view s, unsigned base) {
    // Up to 18 plain digits cannot overflow.
    if (base == 10 && s.size() <= 18) {
        size_t i = !s.empty() && s[0] == '-';
        int64_t value = 0;
        size_t first = i;
        for (; i < s.size() && is_ascii_digit(s[i]); ++i) value = value * 10 + (s[i] - '0');
        if (i == s.size() && i > first) return {ParseOutcome::Ok, first == 1 ? -value : value};
    }
    Buffer storage;
    s = to_ascii_digits(strip(s), storage);
    bool negative = take_sign(s);
    unsigned prefix = base_of_prefix(s);
    bool only_zeros = false;
    if (base == 0) {
        base = prefix == 0 ? 10 : prefix;
        // Base 0 reads literals, and 010 is none.
        only_zeros = prefix == 0 && !s.empty() && s[0] == '0';
    }
    if (prefix == base) {
        s.remove_prefix(2);
        if (!s.empty() && s[0] == '_') s.remove_prefix(1);
    }
    if (s.empty()) return {};
    uint64_t magnitude = 0;
    bool too_large = false;
    bool after_digit = false;
    for (char c : s) {
        if (c == '_') {
            if (!after_digit) return {};
            after_digit = false;
            continue;
        }
        unsigned digit = digit_value(c);
        if (digit >= base || (only_zeros && digit != 0)) return {};
        after_digit = true;
        too_large |= __builtin_mul_overflow(magnitude, uint64_t{base}, &magnitude);
        too_large |= __builtin_add_overflow(magnitude, uint64_t{digit}, &magnitude);
    }
    if (!after_digit) return {};
    uint64_t largest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) + (negative ? 1 : 0);
    if (too_large || magnitude > largest) return {ParseOutcome::TooLarge, 0};
    return {ParseOutcome::Ok, static_cast<int64_t>(negative ? 0 - magnitude : magnitude)};
}

std::string invalid_int_message(std::string_view s, unsigned base) {
    return fmt::format("invalid literal for int() with base {}: {}", base, shortened_repr(s, 200));
}

std::optional<double> parse_float(std::string_view s) {
    Buffer digits_storage;
    Buffer underscore_storage;
    s = to_ascii_digits(strip(s), digits_storage);
    auto plain = without_underscores(s, underscore_storage);
    if (!plain) return std::nullopt;
    s = *plain;
    bool negative = take_sign(s);
    double value = 0;
    if (is_decimal_number(s)) {
        auto parsed = std::from_chars(s.data(), s.data() + s.size(), value);
        if (parsed.ec == std::errc::result_out_of_range) {
            value = is_huge(s) ? std::numeric_limits<double>::infinity() : 0.0;
        }
    } else {
        auto special = parse_special(s);
        if (!special) return std::nullopt;
        value = *special;
    }
    return negative ? -value : value;
}

std::string invalid_float_message(std::string_view s) {
    return "could not convert string to float: " + shortened_repr(s, std::string_view::npos);
}

Result<double> parse_float_hex(std::string_view s) {
    auto invalid = [] { return value_error("invalid hexadecimal floating-point string"); };
    auto overflow = [] { return overflow_error("hexadecimal value too large to represent as a float"); };
    s = strip(s);
    bool negative = take_sign(s);
    if (auto special = parse_special(s)) return negative ? -*special : *special;
    if (base_of_prefix(s) == 16) s.remove_prefix(2);

    // The value is mantissa * 2^exponent; digits beyond the mantissa's 60 bits only count as "not exactly".
    uint64_t mantissa = 0;
    int64_t exponent = 0;
    bool any_digit = false;
    bool behind_point = false;
    bool inexact = false;
    size_t i = 0;
    for (; i < s.size(); ++i) {
        if (s[i] == '.' && !behind_point) {
            behind_point = true;
            continue;
        }
        unsigned digit = digit_value(s[i]);
        if (digit >= 16) break;
        any_digit = true;
        if (mantissa >> 56 != 0) {
            inexact |= digit != 0;
            exponent += behind_point ? 0 : 4;
        } else {
            mantissa = mantissa << 4 | digit;
            exponent -= behind_point ? 4 : 0;
        }
    }
    if (!any_digit) return invalid();
    if (i < s.size() && lower(s[i]) == 'p') {
        std::string_view text = s.substr(i + 1);
        bool down = take_sign(text);
        if (text.empty()) return invalid();
        int64_t power = 0;
        for (char c : text) {
            if (!is_ascii_digit(c)) return invalid();
            power = std::min<int64_t>(power * 10 + (c - '0'), int64_t{1} << 40);
        }
        exponent += down ? -power : power;
        i = s.size();
    }
    if (i != s.size()) return invalid();
    if (mantissa == 0) return negative ? -0.0 : 0.0;

    // Round to the bits that a double has at this size (fewer among the subnormals), ties to even.
    int width = 64 - std::countl_zero(mantissa);
    int64_t top = exponent + width;  // the value lies in [2^(top-1), 2^top)
    if (top > 1024) return overflow();
    int64_t keep = std::min<int64_t>(53, top + 1074);
    if (keep < 0) return negative ? -0.0 : 0.0;
    int64_t drop = width - keep;
    if (drop > 0) {
        uint64_t rest = drop >= 64 ? mantissa : mantissa & ((uint64_t{1} << drop) - 1);
        uint64_t half = uint64_t{1} << (drop - 1);
        mantissa = drop >= 64 ? 0 : mantissa >> drop;
        if (rest > half || (rest == half && (inexact || (mantissa & 1) != 0))) ++mantissa;
        exponent += drop;
    }
    double value = std::ldexp(static_cast<double>(mantissa), static_cast<int>(exponent));
    if (std::isinf(value)) return overflow();
    return negative ? -value : value;
}

}  // namespace talc::text
