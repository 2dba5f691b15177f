#include "base/text/format_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text/number_text.hpp"
#include "base/text/unicode.hpp"
#include "base/text/utf8.hpp"

namespace talc::text {

namespace {

bool is_align(char32_t c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

// A format code as CPython's messages show it: the character, or \x and its number.
std::string shown_code(char32_t c) {
    if (c > 32 && c < 128) return std::string(1, static_cast<char>(c));
    return fmt::format("\\x{:x}", static_cast<uint32_t>(c));
}

Failure unknown_code(char32_t code, std::string_view type_name) {
    return value_error(
        fmt::format("Unknown format code '{}' for object of type '{}'", shown_code(code), type_name));
}

// Reads a spec code point by code point.
class SpecReader {
  public:
    explicit SpecReader(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

    bool done() const { return at_ == end_; }
    bool take(char c) {
        if (done() || *at_ != c) return false;
        ++at_;
        return true;
    }
    char peek() const { return done() ? '\0' : *at_; }
    char32_t next() { return decode(at_, end_); }

    // [fill]align
    bool take_alignment(FormatSpec& spec) {
        if (done()) return false;
        const char* first = at_;
        const char* second = at_;
        char32_t c = decode(second, end_);
        if (second < end_ && is_align(static_cast<unsigned char>(*second))) {
            spec.fill_size = static_cast<unsigned char>(second - first);
            std::copy(first, second, spec.fill);
            spec.align = *second;
            at_ = second + 1;
            return true;
        }
        if (!is_align(c)) return false;
        spec.align = static_cast<char>(c);
        at_ = second;
        return false;
    }

    // A decimal number; -1 when none stands here, -2 when it is too large.
    int64_t take_number() {
        int64_t value = 0;
        bool any = false;
        while (!done()) {
            const char* behind = at_;
            int digit = decimal_value(decode(behind, end_));
            if (digit < 0) break;
            any = true;
            at_ = behind;
            if (value > (std::numeric_limits<int64_t>::max() - digit) / 10) return -2;
            value = value * 10 + digit;
        }
        return any ? value : -1;
    }

  private:
    const char* at_;
    const char* end_;
};

bool is_one_of(char32_t c, std::string_view set) {
    return c < 128 && c != 0 && set.find(static_cast<char>(c)) != std::string_view::npos;
}

constexpr std::string_view kTooManyDigits = "Too many decimal digits in format string";

}  // namespace

Result<FormatSpec> parse_format_spec(std::string_view text, FormatKind kind, std::string_view type_name) {
    FormatSpec spec;
    char default_align = kind == FormatKind::Str ? '<' : '>';
    SpecReader in(text);
    bool has_fill = in.take_alignment(spec);
    if (is_one_of(static_cast<unsigned char>(in.peek()), " +-")) spec.sign = static_cast<char>(in.next());
    spec.no_negative_zero = in.take('z');
    spec.alternate = in.take('#');
    if (!has_fill && in.take('0')) {
        spec.fill[0] = '0';
        if (spec.align == 0 && default_align == '>') spec.align = '=';
    }
    if (spec.align == 0) spec.align = default_align;
    spec.width = in.take_number();
    if (spec.width == -2) return value_error(std::string(kTooManyDigits));
    if (in.take(',')) spec.grouping = ',';
    if (in.peek() == '_' || (spec.grouping == '_' && in.peek() == ',')) {
        if (spec.grouping != 0) return value_error("Cannot specify both ',' and '_'.");
        in.next();
        spec.grouping = '_';
        if (in.peek() == ',') return value_error("Cannot specify both ',' and '_'.");
    }
    if (in.take('.')) {
        spec.precision = in.take_number();
        if (spec.precision == -1) return value_error("Format specifier missing precision");
        if (spec.precision == -2) return value_error(std::string(kTooManyDigits));
    }
    spec.type = kind == FormatKind::Int ? 'd' : kind == FormatKind::Str ? 's' : 0;
    if (!in.done()) {
        spec.type = in.next();
        if (!in.done()) {
            return value_error(
                fmt::format("Invalid format specifier '{}' for object of type '{}'", text, type_name));
        }
    }
    if (spec.grouping != 0 && spec.type != 0 && !is_one_of(spec.type, "defgEG%F") &&
        !(spec.grouping == '_' && is_one_of(spec.type, "boxX"))) {
        return value_error(
            fmt::format("Cannot specify '{}' with '{}'.", spec.grouping, shown_code(spec.type)));
    }
    return spec;
}

void append_number(Buffer& out, const NumberParts& parts, const FormatSpec& spec) {
    size_t width = spec.width > 0 ? static_cast<size_t>(spec.width) : 0;
    size_t fixed = (parts.sign != 0) + parts.prefix.size() + parts.rest_width;
    size_t group = spec.grouping == 0 ? 0 : is_one_of(spec.type, "boxX") ? 4 : 3;
    auto grouped_size = [&](size_t digits) {
        return digits + (group != 0 && digits != 0 ? (digits - 1) / group : 0);
    };
    // Zeros between sign and digits belong to the number and are grouped with it.
    size_t digits = parts.digits.size();
    if (digits != 0 && spec.align == '=' && spec.fill_size == 1 && spec.fill[0] == '0' && width > fixed) {
        size_t wanted = width - fixed;
        if (wanted > out.limit()) throw std::bad_alloc();
        size_t enough = group == 0 ? wanted : wanted / (group + 1) * group;
        digits = std::max(digits, enough);
        while (grouped_size(digits) < wanted) ++digits;
    }
    size_t number = fixed + grouped_size(digits);
    size_t padding = width > number ? width - number : 0;
    size_t left = spec.align == '>' ? padding : spec.align == '^' ? padding / 2 : 0;
    size_t inner = spec.align == '=' ? padding : 0;
    out.append_repeated(left, spec.fill_text());
    if (parts.sign != 0) out.push_back(parts.sign);
    out.append(parts.prefix);
    out.append_repeated(inner, spec.fill_text());
    size_t zeros = digits - parts.digits.size();
    if (group == 0) {
        out.append(zeros, '0');
        out.append(parts.digits);
    } else if (digits != 0) {
        char* at = out.extend(grouped_size(digits));
        for (size_t i = 0; i < digits; ++i) {
            if (i != 0 && (digits - i) % group == 0) *at++ = spec.grouping;
            *at++ = i < zeros ? '0' : parts.digits[i - zeros];
        }
    }
    out.append(parts.rest);
    out.append_repeated(padding - left - inner, spec.fill_text());
}

Status append_formatted(Buffer& out, int64_t value, const FormatSpec& spec, std::string_view type_name) {
    if (is_one_of(spec.type, "eEfFgG%"))
        return append_formatted(out, static_cast<double>(value), spec, type_name);
    if (!is_one_of(spec.type, "bcdoxXn")) return unknown_code(spec.type, type_name);
    if (spec.precision != -1) return value_error("Precision not allowed in integer format specifier");
    if (spec.no_negative_zero) {
        return value_error("Negative zero coercion (z) not allowed in integer format specifier");
    }
    NumberParts parts;
    if (spec.type == 'c') {
        if (spec.sign != 0) return value_error("Sign not allowed with integer format specifier 'c'");
        if (spec.alternate) {
            return value_error("Alternate form (#) not allowed with integer format specifier 'c'");
        }
        if (value < 0 || value > static_cast<int64_t>(kMaxCodePoint)) {
            return overflow_error("%c arg not in range(0x110000)");
        }
        char bytes[4];
        parts.rest = {bytes, encode(static_cast<char32_t>(value), bytes)};
        parts.rest_width = 1;
        append_number(out, parts, spec);
        return {};
    }
    unsigned base = spec.type == 'b'                       ? 2
                    : spec.type == 'o'                     ? 8
                    : spec.type == 'x' || spec.type == 'X' ? 16
                                                           : 10;
    Buffer digits;
    append_magnitude(digits, magnitude_of(value), base, spec.type == 'X');
    parts.digits = digits;
    char prefix[2] = {'0', static_cast<char>(spec.type)};
    if (spec.alternate && base != 10) parts.prefix = {prefix, 2};
    parts.sign = value < 0 ? '-' : spec.sign == '+' || spec.sign == ' ' ? spec.sign : '\0';
    append_number(out, parts, spec);
    return {};
}

Status append_formatted(Buffer& out, double value, const FormatSpec& spec, std::string_view type_name) {
    if (spec.type != 0 && !is_one_of(spec.type, "eEfFgGn%")) return unknown_code(spec.type, type_name);
    if (spec.precision > std::numeric_limits<int>::max()) return value_error("precision too big");
    FloatLayout layout;
    layout.alternate = spec.alternate;
    layout.no_negative_zero = spec.no_negative_zero;
    layout.precision = spec.precision < 0 ? 6 : static_cast<int>(spec.precision);
    switch (spec.type) {
        case 0:
            // Like g, but never without a fraction; without a precision as many digits as repr.
            layout.type = spec.precision < 0 ? 'r' : 'g';
            layout.add_dot_0 = true;
            break;
        case 'n':
            layout.type = 'g';
            break;
        case '%':
            layout.type = 'f';
            value *= 100;
            break;
        default:
            layout.type = static_cast<char>(spec.type);
    }
    Buffer digits(out.limit());
    append_float(digits, value, layout);
    if (spec.type == '%') digits.push_back('%');
    std::string_view text = digits;
    NumberParts parts;
    if (text[0] == '-') {
        parts.sign = '-';
        text.remove_prefix(1);
    } else if (spec.sign == '+' || spec.sign == ' ') {
        parts.sign = spec.sign;
    }
    size_t whole = 0;
    while (whole < text.size() && text[whole] >= '0' && text[whole] <= '9') ++whole;
    parts.digits = text.substr(0, whole);
    parts.rest = text.substr(whole);
    parts.rest_width = parts.rest.size();
    append_number(out, parts, spec);
    return {};
}

Status append_formatted(Buffer& out, std::string_view value, const FormatSpec& spec,
                        std::string_view type_name) {
    if (spec.type != 's') return unknown_code(spec.type, type_name);
    if (spec.sign == ' ') return value_error("Space not allowed in string format specifier");
    if (spec.sign != 0) return value_error("Sign not allowed in string format specifier");
    if (spec.no_negative_zero) {
        return value_error("Negative zero coercion (z) not allowed in string format specifier");
    }
    if (spec.alternate) return value_error("Alternate form (#) not allowed in string format specifier");
    if (spec.align == '=') return value_error("'=' alignment not allowed in string format specifier");
    if (spec.precision >= 0 && static_cast<uint64_t>(spec.precision) < value.size()) {
        value = value.substr(0, byte_offset(value, static_cast<size_t>(spec.precision)));
    }
    // Bytes are at least code points: a width that the bytes do not exceed is the only one worth counting
    // for.
    size_t padding = 0;
    if (spec.width > 0) {
        size_t size = code_point_count(value);
        auto width = static_cast<uint64_t>(spec.width);
        padding = width > size ? width - size : 0;
    }
    size_t left = spec.align == '>' ? padding : spec.align == '^' ? padding / 2 : 0;
    out.append_repeated(left, spec.fill_text());
    out.append(value);
    out.append_repeated(padding - left, spec.fill_text());
    return {};
}

Status format_int(Buffer& out, int64_t value, std::string_view spec, std::string_view type_name) {
    if (spec.empty()) {
        append_int(out, value);
        return {};
    }
    auto parsed = parse_format_spec(spec, FormatKind::Int, type_name);
    if (!parsed) return parsed.failure();
    return append_formatted(out, value, *parsed, type_name);
}

Status format_float(Buffer& out, double value, std::string_view spec, std::string_view type_name) {
    if (spec.empty()) {
        append_float_repr(out, value);
        return {};
    }
    auto parsed = parse_format_spec(spec, FormatKind::Float, type_name);
    if (!parsed) return parsed.failure();
    return append_formatted(out, value, *parsed, type_name);
}

Status format_str(Buffer& out, std::string_view value, std::string_view spec, std::string_view type_name) {
    if (spec.empty()) {
        out.append(value);
        return {};
    }
    auto parsed = parse_format_spec(spec, FormatKind::Str, type_name);
    if (!parsed) return parsed.failure();
    return append_formatted(out, value, *parsed, type_name);
}

Status format_bool(Buffer& out, bool value, std::string_view spec, std::string_view type_name) {
    if (spec.empty()) {
        out.append(value ? "True" : "False");
        return {};
    }
    return format_int(out, value, spec, type_name);
}

}  // namespace talc::text
