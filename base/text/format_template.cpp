#include "base/text/format_template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text/unicode.hpp"
#include "base/text/utf8.hpp"

namespace talc::text {

namespace {

constexpr int64_t kNoNumber = -1;
constexpr int64_t kHugeNumber = -2;

// A field name that is all digits, as a number.
int64_t number_of(std::string_view s) {
    if (s.empty()) return kNoNumber;
    const char* p = s.data();
    const char* end = p + s.size();
    int64_t value = 0;
    while (p < end) {
        int digit = decimal_value(decode(p, end));
        if (digit < 0) return kNoNumber;
        if (value > (std::numeric_limits<int64_t>::max() - digit) / 10) return kHugeNumber;
        value = value * 10 + digit;
    }
    return value;
}

Failure too_many_digits() { return value_error("Too many decimal digits in format string"); }

std::string_view take(std::string_view& rest, size_t n) {
    std::string_view taken = rest.substr(0, n);
    rest.remove_prefix(std::min(n, rest.size()));
    return taken;
}

}  // namespace

Status TemplateReader::next(TemplatePiece& piece, bool& done) {
    piece = TemplatePiece();
    done = rest_.empty();
    if (done) return {};
    size_t brace = rest_.find_first_of("{}");
    if (brace == std::string_view::npos) {
        piece.literal = take(rest_, rest_.size());
        return {};
    }
    bool last = brace + 1 == rest_.size();
    if (!last && rest_[brace + 1] == rest_[brace]) {
        // "{{" and "}}": the literal ends with one of them.
        piece.literal = take(rest_, brace + 1);
        rest_.remove_prefix(1);
        return {};
    }
    if (rest_[brace] == '}') return value_error("Single '}' encountered in format string");
    if (last) return value_error("Single '{' encountered in format string");
    piece.literal = take(rest_, brace);
    rest_.remove_prefix(1);
    piece.has_field = true;
    return read_field(piece);
}

Status TemplateReader::read_field(TemplatePiece& piece) {
    size_t i = 0;
    char stop = 0;
    for (; i < rest_.size() && stop == 0; ++i) {
        char c = rest_[i];
        if (c == '{') return value_error("unexpected '{' in field name");
        if (c == '[') {
            // Brackets hide what is special elsewhere.
            while (i + 1 < rest_.size() && rest_[i + 1] != ']') ++i;
        } else if (c == '}' || c == ':' || c == '!') {
            stop = c;
        }
    }
    if (stop == 0) return value_error("expected '}' before end of string");
    piece.field = take(rest_, i - 1);
    rest_.remove_prefix(1);
    if (stop == '}') return {};
    if (stop == '!') {
        if (rest_.empty()) return value_error("end of string while looking for conversion specifier");
        const char* p = rest_.data();
        piece.conversion = decode(p, p + rest_.size());
        rest_.remove_prefix(static_cast<size_t>(p - rest_.data()));
        if (!rest_.empty()) {
            char c = take(rest_, 1)[0];
            if (c == '}') return {};
            if (c != ':') return value_error("expected ':' after conversion specifier");
        }
    }
    int depth = 1;
    for (size_t k = 0; k < rest_.size(); ++k) {
        if (rest_[k] == '{') {
            piece.nested = true;
            ++depth;
        } else if (rest_[k] == '}' && --depth == 0) {
            piece.spec = take(rest_, k);
            rest_.remove_prefix(1);
            return {};
        }
    }
    return value_error("unmatched '{' in format spec");
}

Result<FieldStep> FieldPath::next() {
    if (rest_.empty()) return FieldStep{};
    FieldStep step;
    char kind = take(rest_, 1)[0];
    if (kind == '.') {
        step.kind = FieldStep::Attribute;
        step.name = take(rest_, std::min(rest_.find_first_of(".["), rest_.size()));
    } else if (kind == '[') {
        size_t close = rest_.find(']');
        if (close == std::string_view::npos) return value_error("Missing ']' in format string");
        step.name = take(rest_, close);
        rest_.remove_prefix(1);
        step.index = number_of(step.name);
        if (step.index == kHugeNumber) return too_many_digits();
        step.kind = step.index == kNoNumber ? FieldStep::Key : FieldStep::Index;
    } else {
        return value_error("Only '.' or '[' may follow ']' in format field specifier");
    }
    if (step.name.empty()) return value_error("Empty attribute in format string");
    return step;
}

Result<FieldStart> FieldNumbering::begin(std::string_view field) {
    FieldStart start;
    size_t size = std::min(field.find_first_of(".["), field.size());
    start.name = field.substr(0, size);
    start.path = FieldPath(field.substr(size));
    start.index = number_of(start.name);
    if (start.index == kHugeNumber) return too_many_digits();
    bool automatic = start.name.empty();
    start.is_index = automatic || start.index != kNoNumber;
    if (!start.is_index) return start;
    Mode wanted = automatic ? Mode::Automatic : Mode::Manual;
    if (mode_ == Mode::Unknown) mode_ = wanted;
    if (mode_ != wanted) {
        return value_error(
            automatic ? "cannot switch from manual field specification to automatic field numbering"
                      : "cannot switch from automatic field numbering to manual field specification");
    }
    if (automatic) start.index = next_++;
    return start;
}

Failure index_out_of_range(int64_t index) {
    return {ErrorKind::IndexError,
            fmt::format("Replacement index {} out of range for positional args tuple", index)};
}

Failure unknown_conversion(char32_t conversion) {
    if (conversion > 32 && conversion < 127) {
        return value_error(fmt::format("Unknown conversion specifier {}", static_cast<char>(conversion)));
    }
    return value_error(
        fmt::format("Unknown conversion specifier \\x{:x}", static_cast<uint32_t>(conversion)));
}

}  // namespace talc::text
