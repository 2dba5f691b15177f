#include "base/text/bytes_methods.hpp"

#include <fmt/format.h>

#include "base/text/blocks.hpp"

namespace talc::text {

namespace {

constexpr auto is_lower_byte = [](char c) { return static_cast<unsigned char>(c - 'a') < 26; };
constexpr auto is_upper_byte = [](char c) { return static_cast<unsigned char>(c - 'A') < 26; };
constexpr auto is_digit_byte = [](char c) { return static_cast<unsigned char>(c - '0') < 10; };
constexpr auto is_alpha_byte = [](char c) { return is_lower_byte(static_cast<char>(c | 0x20)); };
constexpr auto is_space_byte = [](char c) { return c == ' ' || (c >= 9 && c <= 13); };
constexpr auto upper = [](char c) { return static_cast<char>(c ^ (is_lower_byte(c) ? 0x20 : 0)); };
constexpr auto lower = [](char c) { return static_cast<char>(c ^ (is_upper_byte(c) ? 0x20 : 0)); };

template <class Test>
bool every(std::string_view b, Test test) {
    for (char c : b) {
        if (!test(c)) return false;
    }
    return !b.empty();
}

template <class Test>
bool any(std::string_view b, Test test) {
    for (char c : b) {
        if (test(c)) return true;
    }
    return false;
}

int hex_value(char c) {
    if (is_digit_byte(c)) return c - '0';
    char letter = lower(c);
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

}  // namespace

bool bytes_is_alpha(std::string_view b) { return every(b, is_alpha_byte); }

bool bytes_is_digit(std::string_view b) { return every(b, is_digit_byte); }

bool bytes_is_alnum(std::string_view b) {
    return every(b, [](char c) { return is_alpha_byte(c) || is_digit_byte(c); });
}

bool bytes_is_space(std::string_view b) { return every(b, is_space_byte); }

bool bytes_is_lower(std::string_view b) { return any(b, is_lower_byte) && !any(b, is_upper_byte); }

bool bytes_is_upper(std::string_view b) { return any(b, is_upper_byte) && !any(b, is_lower_byte); }

bool bytes_is_title(std::string_view b) {
    bool in_word = false;
    return any(b, is_alpha_byte) && every(b, [&](char c) {
               if (is_upper_byte(c) ? in_word : is_lower_byte(c) && !in_word) return false;
               in_word = is_alpha_byte(c);
               return true;
           });
}

void append_bytes_upper(Buffer& out, std::string_view b) {
    char* to = out.extend(b.size());
    map_bytes(to, b.data(), b.size(), upper);
}

void append_bytes_lower(Buffer& out, std::string_view b) {
    char* to = out.extend(b.size());
    map_bytes(to, b.data(), b.size(), lower);
}

void append_bytes_swapped_case(Buffer& out, std::string_view b) {
    char* to = out.extend(b.size());
    map_bytes(to, b.data(), b.size(),
              [](char c) { return static_cast<char>(c ^ (is_alpha_byte(c) ? 0x20 : 0)); });
}

void append_bytes_title(Buffer& out, std::string_view b) {
    bool in_word = false;
    for (char c : b) {
        out.push_back(in_word ? lower(c) : upper(c));
        in_word = is_alpha_byte(c);
    }
}

void append_bytes_capitalized(Buffer& out, std::string_view b) {
    if (b.empty()) return;
    out.push_back(upper(b[0]));
    append_bytes_lower(out, b.substr(1));
}

void append_bytes_expanded_tabs(Buffer& out, std::string_view b, int64_t tab_size) {
    uint64_t column = 0;
    for (char c : b) {
        if (c == '\t') {
            if (tab_size <= 0) continue;
            uint64_t spaces = static_cast<uint64_t>(tab_size) - column % static_cast<uint64_t>(tab_size);
            out.append(spaces, ' ');
            column += spaces;
        } else {
            out.push_back(c);
            column = c == '\n' || c == '\r' ? 0 : column + 1;
        }
    }
}

void append_hex(Buffer& out, std::string_view b, std::string_view separator, int64_t group) {
    uint64_t size = group < 0 ? 0 - static_cast<uint64_t>(group) : static_cast<uint64_t>(group);
    for (size_t i = 0; i < b.size(); ++i) {
        uint64_t distance = group < 0 ? i : b.size() - i;
        if (i != 0 && size != 0 && distance % size == 0) out.append(separator);
        auto byte = static_cast<unsigned char>(b[i]);
        out.push_back("0123456789abcdef"[byte >> 4]);
        out.push_back("0123456789abcdef"[byte & 15]);
    }
}

Status append_from_hex(Buffer& out, std::string_view s) {
    auto wrong_at = [](size_t at) {
        return value_error(fmt::format("non-hexadecimal number found in fromhex() arg at position {}", at));
    };
    // CPython names the first character beyond ASCII before it looks at any digit.
    for (size_t i = 0; i < s.size(); ++i) {
        if (static_cast<unsigned char>(s[i]) >= 0x80) return wrong_at(i);
    }
    for (size_t i = 0; i < s.size();) {
        if (is_space_byte(s[i])) {
            ++i;
            continue;
        }
        int high = hex_value(s[i]);
        if (high < 0) return wrong_at(i);
        int low = i + 1 < s.size() ? hex_value(s[i + 1]) : -1;
        if (low < 0) return wrong_at(i + 1);
        out.push_back(static_cast<char>(high << 4 | low));
        i += 2;
    }
    return {};
}

}  // namespace talc::text
