#include "lang/literals.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "base/text/unicode_names.hpp"
#include "lang/characters.hpp"

namespace talc::lang {

namespace {

std::string without_underscores(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (char c : text) {
        if (c != '_') out += c;
    }
    return out;
}

// The hexadecimal number in the next `count` characters, or nothing when one of them is no digit.
std::optional<uint32_t> hex_digits(std::string_view text, size_t at, size_t count) {
    if (at + count > text.size()) return std::nullopt;
    uint32_t value = 0;
    auto [end, error] = std::from_chars(text.data() + at, text.data() + at + count, value, 16);
    if (error != std::errc() || end != text.data() + at + count) return std::nullopt;
    return value;
}

size_t octal_length(std::string_view text, size_t at) {
    size_t length = 0;
    while (length < 3 && at + length < text.size() && text[at + length] >= '0' && text[at + length] <= '7')
        length++;
    return length;
}

struct Escape {
    size_t length = 0;  // characters after the backslash; 0: not an escape, the backslash stays
    uint32_t value = 0;
    bool nothing = false;  // a joined line
    std::string error;
};

// \N{name}
Escape read_name_escape(std::string_view text, size_t at) {
    size_t close = at + 1 < text.size() && text[at + 1] == '{' ? text.find('}', at) : std::string_view::npos;
    constexpr std::string_view prefix = "(unicode error) 'unicodeescape' codec can't decode bytes in position";
    if (close == std::string_view::npos || close == at + 2) {
        return {1, 0, false, fmt::format("{} {}-{}: malformed \\N character escape", prefix, at - 1, at)};
    }
    std::string_view name = text.substr(at + 2, close - at - 2);
    std::optional<char32_t> code = text::character_named(name);
    if (!code) return {1, 0, false, fmt::format("{} {}-{}: unknown Unicode character name", prefix, at - 1, close)};
    return {close - at + 1, static_cast<uint32_t>(*code), false, {}};
}

Escape read_hex_escape(std::string_view text, size_t at, bool bytes) {
    char letter = text[at];
    size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : 8;
    Escape escape{1 + digits, 0, false, {}};
    std::optional<uint32_t> value = hex_digits(text, at + 1, digits);
    if (!value) {
        size_t position = at - 1;
        if (bytes) {
            escape.error = fmt::format("(value error) invalid \\x escape at position {}", position);
            return escape;
        }
        size_t last = at;
        while (last + 1 < text.size() && last - at < digits && is_hex_digit(text[last + 1])) last++;
        escape.error = fmt::format(
            "(unicode error) 'unicodeescape' codec can't decode bytes in position {}-{}: truncated \\{} "
            "escape",
            position, last, std::string(1, letter) + std::string(digits, 'X'));
        return escape;
    }
    escape.value = *value;
    if (*value > 0x10FFFF) {
        escape.error = fmt::format(
            "(unicode error) 'unicodeescape' codec can't decode bytes in position {}-{}: illegal Unicode "
            "character",
            at - 1, at + digits);
    }
    return escape;
}

// `at` is just after the backslash.
Escape read_escape(std::string_view text, size_t at, bool bytes) {
    auto simple = [](uint32_t value) { return Escape{1, value, false, {}}; };
    switch (text[at]) {
        case '\n':
            return {1, 0, true, {}};
        case '\r':
            return {at + 1 < text.size() && text[at + 1] == '\n' ? size_t{2} : size_t{1}, 0, true, {}};
        case '\\':
            return simple('\\');
        case '\'':
            return simple('\'');
        case '"':
            return simple('"');
        case 'a':
            return simple('\a');
        case 'b':
            return simple('\b');
        case 'f':
            return simple('\f');
        case 'n':
            return simple('\n');
        case 'r':
            return simple('\r');
        case 't':
            return simple('\t');
        case 'v':
            return simple('\v');
        case 'x':
            return read_hex_escape(text, at, bytes);
        case 'u':
        case 'U':
            if (bytes) return {};
            return read_hex_escape(text, at, bytes);
        case 'N':
            if (bytes) return {};
            return read_name_escape(text, at);
        default:
            break;
    }
    if (size_t length = octal_length(text, at); length > 0) {
        uint32_t value = 0;
        std::from_chars(text.data() + at, text.data() + at + length, value, 8);
        return {length, bytes ? value & 0xFF : value, false, {}};
    }
    return {};
}

}  // namespace

std::optional<uint64_t> decode_int(std::string_view text) {
    int base = 10;
    if (text.size() > 2 && text[0] == '0') {
        char radix = static_cast<char>(text[1] | 0x20);
        base = radix == 'x' ? 16 : radix == 'o' ? 8 : radix == 'b' ? 2 : 10;
        if (base != 10) text.remove_prefix(2);
    }
    std::string digits;
    if (text.find('_') != std::string_view::npos) {
        digits = without_underscores(text);
        text = digits;
    }
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc()) return std::nullopt;
    return value;
}

double decode_float(std::string_view text) {
    std::string digits;
    if (text.find('_') != std::string_view::npos) {
        digits = without_underscores(text);
        text = digits;
    }
    double value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    // Too large and too small alike are "out of range" there; strtod says which.
    if (error == std::errc::result_out_of_range) value = std::strtod(std::string(text).c_str(), nullptr);
    return value;
}

StringParts split_string(std::string_view token) {
    StringParts parts;
    uint32_t at = 0;
    for (; token[at] != '"' && token[at] != '\''; at++) {
        switch (token[at] | 0x20) {
            case 'r':
                parts.raw = true;
                break;
            case 'b':
                parts.bytes = true;
                break;
            case 'f':
                parts.formatted = true;
                break;
            default:
                break;
        }
    }
    char quote = token[at];
    auto size = static_cast<uint32_t>(token.size());
    bool triple = size >= at + 6 && token[at + 1] == quote && token[at + 2] == quote;
    uint32_t length = triple ? 3 : 1;
    parts.content_begin = at + length;
    parts.content_end = size - length;
    return parts;
}

std::string decode_string(std::string_view content, bool raw, bool bytes, std::string& out,
                          size_t& error_at) {
    out.reserve(out.size() + content.size());
    for (size_t i = 0; i < content.size();) {
        char c = content[i];
        if (bytes && !is_ascii(c)) {
            error_at = i;
            return "bytes can only contain ASCII literal characters";
        }
        if (c == '\r') {
            // A line ends with one character, whatever the file says.
            out += '\n';
            i += i + 1 < content.size() && content[i + 1] == '\n' ? 2 : 1;
            continue;
        }
        if (c != '\\' || raw || i + 1 >= content.size()) {
            out += c;
            i++;
            continue;
        }
        Escape escape = read_escape(content, i + 1, bytes);
        if (!escape.error.empty()) {
            error_at = i;
            return escape.error;
        }
        if (escape.length == 0) {
            out += c;
            i++;
            continue;
        }
        if (!escape.nothing) {
            if (bytes) {
                out += static_cast<char>(escape.value);
            } else {
                append_utf8(out, escape.value);
            }
        }
        i += 1 + escape.length;
    }
    return {};
}

}  // namespace talc::lang
