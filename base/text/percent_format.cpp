#include "base/text/percent_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/text/number_text.hpp"
#include "base/text/utf8.hpp"

namespace talc::text {

void PercentSpec::set_width(int64_t value) {
    if (value < 0) left = true;
    width = value == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max()
            : value < 0                                  ? -value
                                                         : value;
}

std::string_view PercentReader::literal() {
    if (at_ == end_) return {};
    if (*at_ == '%') {
        if (at_ + 1 == end_ || at_[1] != '%') return {};
        at_ += 2;
        return {at_ - 1, 1};
    }
    const char* first = at_;
    auto* hit = static_cast<const char*>(std::memchr(at_, '%', static_cast<size_t>(end_ - at_)));
    at_ = hit == nullptr ? end_ : hit;
    return {first, static_cast<size_t>(at_ - first)};
}

bool PercentReader::take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
}

// Digits, if any; false when they make a number beyond `most`.
bool PercentReader::take_number(int64_t& value, int64_t most) {
    while (at_ < end_ && *at_ >= '0' && *at_ <= '9') {
        int digit = *at_++ - '0';
        if (value < 0) value = 0;
        if (value > (most - digit) / 10) return false;
        value = value * 10 + digit;
    }
    return true;
}

void PercentReader::read_key(PercentSpec& spec) {
    spec.has_key = true;
    const char* first = at_;
    for (int depth = 1; at_ < end_; ++at_) {
        if (*at_ == '(') ++depth;
        if (*at_ == ')' && --depth == 0) {
            spec.key = {first, static_cast<size_t>(at_ - first)};
            ++at_;
            return;
        }
    }
    spec.error_in_key = true;
    spec.error = value_error("incomplete format key");
}

bool PercentReader::conversion(PercentSpec& spec) {
    if (!take('%')) return false;
    spec = PercentSpec();
    if (take('(')) {
        read_key(spec);
        if (!spec.error) return true;
    }
    for (bool more = true; more && at_ < end_;) {
        switch (*at_) {
            case '-':
                spec.left = true;
                break;
            case '+':
                spec.plus = true;
                break;
            case ' ':
                spec.blank = true;
                break;
            case '#':
                spec.alternate = true;
                break;
            case '0':
                spec.zero = true;
                break;
            default:
                more = false;
        }
        if (more) ++at_;
    }
    if (take('*')) {
        spec.width_from_args = true;
    } else if (!take_number(spec.width, std::numeric_limits<int64_t>::max())) {
        spec.error = value_error("width too big");
        return true;
    }
    if (take('.')) {
        spec.precision = 0;
        if (take('*')) {
            spec.precision_from_args = true;
        } else if (!take_number(spec.precision, std::numeric_limits<int>::max())) {
            spec.error = value_error("precision too big");
            return true;
        }
    }
    if (at_ < end_ && (*at_ == 'h' || *at_ == 'l' || *at_ == 'L')) ++at_;
    if (at_ == end_) {
        spec.error = value_error("incomplete format");
        return true;
    }
    spec.type_index = code_point_count({begin_, static_cast<size_t>(at_ - begin_)});
    spec.type = decode(at_, end_);
    return true;
}

Failure unsupported(const PercentSpec& spec) {
    char shown = spec.type >= 31 && spec.type < 127 ? static_cast<char>(spec.type) : '?';
    return value_error(fmt::format("unsupported format character '{}' (0x{:x}) at index {}", shown,
                                   static_cast<uint32_t>(spec.type), spec.type_index));
}

Failure needs_number(const PercentSpec& spec, std::string_view type_name) {
    bool real = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    return type_error(fmt::format("%{} format: {} is required, not {}", static_cast<char>(spec.type),
                                  real ? "a real number" : "an integer", type_name));
}

namespace {

size_t missing(const PercentSpec& spec, size_t size) {
    return spec.width > 0 && static_cast<uint64_t>(spec.width) > size ? static_cast<size_t>(spec.width) - size
                                                                      : 0;
}

// Sign and prefix go in front of zeros but behind spaces.
void append_signed(Buffer& out, const PercentSpec& spec, bool negative, std::string_view prefix, size_t zeros,
                   std::string_view body) {
    char sign = negative ? '-' : spec.plus ? '+' : spec.blank ? ' ' : '\0';
    size_t padding = missing(spec, (sign != 0) + prefix.size() + zeros + body.size());
    bool fill_zeros = spec.zero && !spec.left;
    if (!fill_zeros && !spec.left) out.append(padding, ' ');
    if (sign != 0) out.push_back(sign);
    out.append(prefix);
    if (fill_zeros) out.append(padding, '0');
    out.append(zeros, '0');
    out.append(body);
    if (spec.left) out.append(padding, ' ');
}

}  // namespace

Status append_percent_int(Buffer& out, const PercentSpec& spec, int64_t value) {
    if (spec.precision > std::numeric_limits<int>::max() - 3) return overflow_error("precision too large");
    unsigned base = spec.type == 'o' ? 8 : spec.type == 'x' || spec.type == 'X' ? 16 : 10;
    Buffer digits;
    append_magnitude(digits, magnitude_of(value), base, spec.type == 'X');
    char prefix[2] = {'0', static_cast<char>(spec.type)};
    std::string_view shown_prefix =
        spec.alternate && base != 10 ? std::string_view(prefix, 2) : std::string_view();
    size_t wanted = spec.precision > 0 ? static_cast<size_t>(spec.precision) : 0;
    size_t zeros = wanted > digits.size() ? wanted - digits.size() : 0;
    append_signed(out, spec, value < 0, shown_prefix, zeros, digits);
    return {};
}

void append_percent_float(Buffer& out, const PercentSpec& spec, double value) {
    FloatLayout layout;
    layout.type = static_cast<char>(spec.type);
    layout.alternate = spec.alternate;
    if (spec.precision >= 0) {
        layout.precision =
            static_cast<int>(std::min<int64_t>(spec.precision, std::numeric_limits<int>::max() - 3));
    }
    Buffer digits(out.limit());
    append_float(digits, value, layout);
    std::string_view body = digits;
    bool negative = body[0] == '-';
    if (negative) body.remove_prefix(1);
    append_signed(out, spec, negative, {}, 0, body);
}

void append_percent_text(Buffer& out, const PercentSpec& spec, std::string_view text) {
    if (spec.precision >= 0 && spec.type != 'c' && static_cast<uint64_t>(spec.precision) < text.size()) {
        text = text.substr(0, byte_offset(text, static_cast<size_t>(spec.precision)));
    }
    size_t padding = spec.width > 0 ? missing(spec, code_point_count(text)) : 0;
    if (!spec.left) out.append(padding, ' ');
    out.append(text);
    if (spec.left) out.append(padding, ' ');
}

Status append_percent_char(Buffer& out, const PercentSpec& spec, int64_t code_point) {
    if (code_point < 0 || code_point > static_cast<int64_t>(kMaxCodePoint)) {
        return overflow_error("%c arg not in range(0x110000)");
    }
    char bytes[4];
    append_percent_text(out, spec, {bytes, encode(static_cast<char32_t>(code_point), bytes)});
    return {};
}

}  // namespace talc::text
