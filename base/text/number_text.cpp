#include "base/text/number_text.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace talc::text {

namespace {

// The significant digits of a finite number: 0.d1d2d3... * 10^point. `text` lies in the caller's scratch
// buffer.
struct Digits {
    std::string_view text;
    int point = 0;
};

// Takes "d.ddde-XX" as std::to_chars writes it apart, moving the first digit over the point.
Digits take_apart(char* begin, char* end) {
    char* e = end - 1;
    while (*e != 'e') --e;
    int exponent = 0;
    std::from_chars(e + (e[1] == '+' ? 2 : 1), end, exponent);
    char* digits = begin;
    if (e - begin > 1) {
        digits[1] = digits[0];
        ++digits;
    }
    return {{digits, static_cast<size_t>(e - digits)}, exponent + 1};
}

std::string_view without_trailing_zeros(std::string_view digits) {
    while (digits.size() > 1 && digits.back() == '0') digits.remove_suffix(1);
    return digits;
}

// Digits up to `count` significant places; zeros stand in for those that `digits` does not have.
char* put_digits(char* at, std::string_view digits, size_t from, size_t count) {
    size_t have = from < digits.size() ? std::min(count, digits.size() - from) : 0;
    if (have != 0) std::memcpy(at, digits.data() + from, have);
    std::memset(at + have, '0', count - have);
    return at + count;
}

char* put_exponent(char* at, int exponent, char letter) {
    *at++ = letter;
    *at++ = exponent < 0 ? '-' : '+';
    unsigned e = static_cast<unsigned>(exponent < 0 ? -exponent : exponent);
    if (e >= 100) {
        *at++ = static_cast<char>('0' + e / 100);
        e %= 100;
    }
    *at++ = static_cast<char>('0' + e / 10);
    *at++ = static_cast<char>('0' + e % 10);
    return at;
}

size_t write_non_finite(char* out, double value, bool upper) {
    char* at = out;
    if (std::isnan(value)) {
        std::memcpy(at, upper ? "NAN" : "nan", 3);
        return 3;
    }
    if (value < 0) *at++ = '-';
    std::memcpy(at, upper ? "INF" : "inf", 3);
    return static_cast<size_t>(at + 3 - out);
}

// Lays digits out in the shortest way that %g or repr ask for: plain or with an exponent.
void append_general(Buffer& out, bool negative, Digits d, bool use_exponent, size_t shown, bool add_dot_0,
                    bool alternate, char letter) {
    // A plain number needs at most its point's distance plus its digits.
    size_t room = shown + 32 + (d.point < 0 ? static_cast<size_t>(-d.point) : static_cast<size_t>(d.point));
    size_t start = out.size();
    char* begin = out.extend(room);
    char* at = begin;
    if (negative) *at++ = '-';
    int point = use_exponent ? 1 : d.point;
    if (point <= 0) {
        *at++ = '0';
        *at++ = '.';
        at = put_digits(at, {}, 0, static_cast<size_t>(-point));
        at = put_digits(at, d.text, 0, shown);
    } else {
        auto whole = static_cast<size_t>(point);
        at = put_digits(at, d.text, 0, whole);
        if (shown > whole) {
            *at++ = '.';
            at = put_digits(at, d.text, whole, shown - whole);
        } else if (add_dot_0 && !use_exponent) {
            *at++ = '.';
            *at++ = '0';
        } else if (alternate) {
            *at++ = '.';
        }
    }
    if (use_exponent) at = put_exponent(at, d.point - 1, letter);
    out.truncate(start + static_cast<size_t>(at - begin));
}

bool all_zeros(std::string_view digits) {
    for (char c : digits) {
        if (c >= '1' && c <= '9') return false;
    }
    return true;
}

// A finite double has at most 767 significant digits; any more are zeros.
constexpr int kMostDigits = 800;

void append_fixed(Buffer& out, double value, const FloatLayout& layout) {
    double size = std::fabs(value);
    auto precision = static_cast<size_t>(layout.precision);
    size_t room = (size < 1e18 ? 20 : 311) + precision + 3;
    size_t start = out.size();
    char* begin = out.extend(room);
    char* at = begin;
    if (std::signbit(value)) *at++ = '-';
    char* end = std::to_chars(at, begin + room, size, std::chars_format::fixed, layout.precision).ptr;
    if (at != begin && layout.no_negative_zero && all_zeros({at, static_cast<size_t>(end - at)})) {
        std::memmove(begin, at, static_cast<size_t>(end - at));
        --end;
    }
    if (layout.precision == 0) {
        if (layout.alternate) *end++ = '.';
        if (layout.add_dot_0) {
            *end++ = '.';
            *end++ = '0';
        }
    }
    out.truncate(start + static_cast<size_t>(end - begin));
}

void append_with_exponent(Buffer& out, double value, const FloatLayout& layout, char letter) {
    int asked = std::min(layout.precision, kMostDigits);
    char scratch[kMostDigits + 16];
    char* end =
        std::to_chars(scratch, std::end(scratch), std::fabs(value), std::chars_format::scientific, asked).ptr;
    Digits d = take_apart(scratch, end);
    bool negative = std::signbit(value) && !(layout.no_negative_zero && all_zeros(d.text));
    append_general(out, negative, d, true, static_cast<size_t>(layout.precision) + 1, false, layout.alternate,
                   letter);
}

void append_significant(Buffer& out, double value, const FloatLayout& layout, char letter) {
    int precision = layout.precision == 0 ? 1 : layout.precision;
    int asked = std::min(precision, kMostDigits);
    char scratch[kMostDigits + 16];
    char* end =
        std::to_chars(scratch, std::end(scratch), std::fabs(value), std::chars_format::scientific, asked - 1)
            .ptr;
    Digits d = take_apart(scratch, end);
    d.text = without_trailing_zeros(d.text);
    bool negative = std::signbit(value) && !(layout.no_negative_zero && all_zeros(d.text));
    bool use_exponent = d.point <= -4 || d.point > precision - (layout.add_dot_0 ? 1 : 0);
    size_t shown = layout.alternate ? static_cast<size_t>(precision) : d.text.size();
    append_general(out, negative, d, use_exponent, shown, layout.add_dot_0, layout.alternate, letter);
}

}  // namespace

size_t write_int(char* out, int64_t value) {
    fmt::format_int text(value);
    std::memcpy(out, text.data(), text.size());
    return text.size();
}

void append_int(Buffer& out, int64_t value) {
    fmt::format_int text(value);
    out.append(std::string_view(text.data(), text.size()));
}

void append_magnitude(Buffer& out, uint64_t magnitude, unsigned base, bool upper) {
    if (base == 10) {
        fmt::format_int text(magnitude);
        return out.append(std::string_view(text.data(), text.size()));
    }
    const char* digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    unsigned shift = base == 16 ? 4 : base == 8 ? 3 : 1;
    char scratch[64];
    char* at = std::end(scratch);
    do {
        *--at = digits[magnitude & (base - 1)];
        magnitude >>= shift;
    } while (magnitude != 0);
    out.append(std::string_view(at, static_cast<size_t>(std::end(scratch) - at)));
}

void append_prefixed_int(Buffer& out, int64_t value, unsigned base) {
    if (value < 0) out.push_back('-');
    out.append(base == 16 ? "0x" : base == 8 ? "0o" : "0b");
    append_magnitude(out, magnitude_of(value), base);
}

size_t write_float_repr(char* out, double value) {
    if (!std::isfinite(value)) return write_non_finite(out, value, false);
    char* at = out;
    if (std::signbit(value)) {
        *at++ = '-';
        value = -value;
    }
    // Small whole numbers are common in scripts and need no search for digits.
    if (value < 1e15 && value == std::floor(value)) {
        at += write_int(at, static_cast<int64_t>(value));
        *at++ = '.';
        *at++ = '0';
        return static_cast<size_t>(at - out);
    }
    char scratch[kFloatChars];
    char* end = std::to_chars(scratch, std::end(scratch), value, std::chars_format::scientific).ptr;
    Digits d = take_apart(scratch, end);
    size_t count = d.text.size();
    if (d.point > 16 || d.point <= -4) {
        *at++ = d.text[0];
        if (count > 1) {
            *at++ = '.';
            at = put_digits(at, d.text, 1, count - 1);
        }
        at = put_exponent(at, d.point - 1, 'e');
    } else if (d.point <= 0) {
        *at++ = '0';
        *at++ = '.';
        at = put_digits(at, {}, 0, static_cast<size_t>(-d.point));
        at = put_digits(at, d.text, 0, count);
    } else {
        auto whole = static_cast<size_t>(d.point);
        at = put_digits(at, d.text, 0, whole);
        *at++ = '.';
        at = put_digits(at, d.text, whole, count > whole ? count - whole : 1);
    }
    return static_cast<size_t>(at - out);
}

void append_float_repr(Buffer& out, double value) {
    char scratch[kFloatChars];
    out.append(std::string_view(scratch, write_float_repr(scratch, value)));
}

void append_float(Buffer& out, double value, const FloatLayout& layout) {
    bool upper = layout.type == 'E' || layout.type == 'F' || layout.type == 'G';
    if (!std::isfinite(value)) {
        char scratch[8];
        return out.append(std::string_view(scratch, write_non_finite(scratch, value, upper)));
    }
    switch (layout.type) {
        case 'f':
        case 'F':
            return append_fixed(out, value, layout);
        case 'e':
        case 'E':
            return append_with_exponent(out, value, layout, layout.type);
        case 'g':
        case 'G':
            return append_significant(out, value, layout, upper ? 'E' : 'e');
        default:
            break;
    }
    char scratch[kFloatChars];
    char* end =
        std::to_chars(scratch, std::end(scratch), std::fabs(value), std::chars_format::scientific).ptr;
    Digits d = take_apart(scratch, end);
    bool negative = std::signbit(value) && !(layout.no_negative_zero && value == 0);
    append_general(out, negative, d, d.point > 16 || d.point <= -4, d.text.size(), layout.add_dot_0,
                   layout.alternate, 'e');
}

void append_float_hex(Buffer& out, double value) {
    if (!std::isfinite(value)) return append_float_repr(out, value);
    if (std::signbit(value)) out.push_back('-');
    if (value == 0) return out.append("0x0.0p+0");
    auto bits = std::bit_cast<uint64_t>(value);
    uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
    int biased = static_cast<int>((bits >> 52) & 0x7FF);
    out.append(biased == 0 ? "0x0." : "0x1.");
    for (int shift = 48; shift >= 0; shift -= 4) out.push_back("0123456789abcdef"[(mantissa >> shift) & 15]);
    int exponent = biased == 0 ? -1022 : biased - 1023;
    out.push_back('p');
    if (exponent >= 0) out.push_back('+');
    append_int(out, exponent);
}

Result<double> round_to_digits(double value, int64_t digits) {
    if (!std::isfinite(value)) return value;
    // Beyond these every double is already that precise, or far below half a unit.
    constexpr int64_t kMostPlaces = 323;
    constexpr int64_t kFewestPlaces = -308;
    if (digits > kMostPlaces) return value;
    if (digits < kFewestPlaces) return 0.0 * value;
    double size = std::fabs(value);
    char scratch[kMostDigits];
    char* end;
    if (digits >= 0) {
        // From 2^52 on there is no fraction to round.
        if (size >= 4503599627370496.0) return value;
        end = std::to_chars(scratch, std::end(scratch), size, std::chars_format::fixed,
                            static_cast<int>(digits))
                  .ptr;
    } else {
        // The exact digits tell which power of ten leads, and whether a number without digits left of the
        // rounding place is above half a unit (exactly half goes to the even 0).
        if (size == 0) return value;
        end = std::to_chars(scratch, std::end(scratch), size, std::chars_format::scientific, kMostDigits - 16)
                  .ptr;
        Digits exact = take_apart(scratch, end);
        int64_t kept = exact.point + digits;
        if (kept < 0) return 0.0 * value;
        if (kept == 0) {
            exact.text = without_trailing_zeros(exact.text);
            if (exact.text <= "5") return 0.0 * value;
            end = fmt::format_to_n(scratch, sizeof scratch, "1e{}", exact.point).out;
        } else {
            end = std::to_chars(scratch, std::end(scratch), size, std::chars_format::scientific,
                                static_cast<int>(kept - 1))
                      .ptr;
        }
    }
    double rounded = 0;
    auto parsed = std::from_chars(scratch, end, rounded);
    if (parsed.ec == std::errc::result_out_of_range && size > 1) {
        return overflow_error("rounded value too large to represent");
    }
    return std::copysign(rounded, value);
}

double round_half_even(double value) {
    double rounded = std::round(value);
    if (std::fabs(value - rounded) == 0.5) rounded = 2.0 * std::round(value / 2.0);
    return std::copysign(rounded, value);
}

bool is_integer(double value) { return std::isfinite(value) && std::floor(value) == value; }

Result<Ratio> as_integer_ratio(double value) {
    if (std::isinf(value)) return overflow_error("cannot convert Infinity to integer ratio");
    if (std::isnan(value)) return value_error("cannot convert NaN to integer ratio");
    if (value == 0) return Ratio{0, 1};
    int exponent = 0;
    double fraction = std::frexp(value, &exponent);
    // Make the mantissa an odd integer; what remains is a power of two.
    auto mantissa = static_cast<int64_t>(std::ldexp(fraction, 53));
    exponent -= 53;
    int spare = std::countr_zero(static_cast<uint64_t>(mantissa));
    mantissa >>= spare;
    exponent += spare;
    if (exponent <= 0) {
        if (exponent < -62) return overflow_error(std::string(kIntTooLarge));
        return Ratio{mantissa, int64_t{1} << -exponent};
    }
    if (exponent > 62 || std::fabs(value) >= 0x1p63) {
        if (value == -0x1p63) return Ratio{std::numeric_limits<int64_t>::min(), 1};
        return overflow_error(std::string(kIntTooLarge));
    }
    return Ratio{mantissa * (int64_t{1} << exponent), 1};
}

Result<int64_t> float_to_int(double value) {
    if (std::isnan(value)) return value_error("cannot convert float NaN to integer");
    if (std::isinf(value)) return overflow_error("cannot convert float infinity to integer");
    if (!(value >= -0x1p63 && value < 0x1p63)) return overflow_error(std::string(kIntTooLarge));
    return static_cast<int64_t>(value);
}

}  // namespace talc::text
