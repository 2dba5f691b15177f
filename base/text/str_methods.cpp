#include "base/text/str_methods.hpp"

#include <algorithm>

#include "base/text/blocks.hpp"

namespace talc::text {

namespace {

// Whether every code point passes; false for "".
template <class Test>
bool every(std::string_view s, Test test) {
    if (s.empty()) return false;
    const char* p = s.data();
    const char* end = p + s.size();
    while (p < end) {
        if (!test(decode(p, end))) return false;
    }
    return true;
}

constexpr char32_t kSigma = 0x3A3;
constexpr char32_t kSmallSigma = 0x3C3;
constexpr char32_t kFinalSigma = 0x3C2;

// Lambdas, so that loops over them are compiled in place. Flipping bit 5 changes the case.
constexpr auto ascii_upper = [](char c) {
    return static_cast<char>(c ^ (static_cast<unsigned char>(c - 'a') < 26 ? 0x20 : 0));
};
constexpr auto ascii_lower = [](char c) {
    return static_cast<char>(c ^ (static_cast<unsigned char>(c - 'A') < 26 ? 0x20 : 0));
};

void append_mapped(Buffer& out, const Mapped& m) {
    if (m.size == 1) return append_code_point(out, m.to[0]);
    for (unsigned i = 0; i < m.size; ++i) append_code_point(out, m.to[i]);
}

// A capital sigma ends a word when a cased letter stands before it and none behind, looking through accents
// and the like.
char32_t small_sigma(std::string_view s, const char* first, const char* behind) {
    const char* begin = s.data();
    const char* end = begin + s.size();
    bool cased_before = false;
    for (const char* p = first; p > begin;) {
        char32_t c = decode_before(p, begin);
        if (is_case_ignorable(c)) continue;
        cased_before = is_cased(c);
        break;
    }
    if (!cased_before) return kSmallSigma;
    for (const char* p = behind; p < end;) {
        char32_t c = decode(p, end);
        if (is_case_ignorable(c)) continue;
        return is_cased(c) ? kSmallSigma : kFinalSigma;
    }
    return kFinalSigma;
}

void append_lower_at(Buffer& out, std::string_view s, const char* first, const char* behind, char32_t c) {
    if (c < 0x80) return out.push_back(ascii_lower(static_cast<char>(c)));
    if (c == kSigma) return append_code_point(out, small_sigma(s, first, behind));
    append_mapped(out, map_lower(c));
}

// Applies map(out, first, behind, c) to every code point.
template <class Map>
void map_each(Buffer& out, std::string_view s, Map map) {
    out.reserve(s.size());
    const char* p = s.data();
    const char* end = p + s.size();
    while (p < end) {
        const char* first = p;
        char32_t c = decode(p, end);
        map(first, p, c);
    }
}

template <class Map>
void map_ascii(Buffer& out, std::string_view s, Map map) {
    char* to = out.extend(s.size());
    map_bytes(to, s.data(), s.size(), map);
}

}  // namespace

bool is_alpha(std::string_view s) {
    return every(s, [](char32_t c) { return is_alpha(c); });
}

bool is_decimal(std::string_view s) {
    return every(s, [](char32_t c) { return is_decimal(c); });
}

bool is_digit(std::string_view s) {
    return every(s, [](char32_t c) { return is_digit(c); });
}

bool is_numeric(std::string_view s) {
    return every(s, [](char32_t c) { return is_numeric(c); });
}

bool is_alnum(std::string_view s) {
    return every(s, [](char32_t c) { return is_alpha(c) || is_numeric(c) || is_digit(c); });
}

bool is_space(std::string_view s) {
    return every(s, [](char32_t c) { return is_space(c); });
}

bool is_lower(std::string_view s) {
    bool any = false;
    return every(s,
                 [&](char32_t c) {
                     any |= is_lower(c);
                     return !is_upper(c) && !is_title(c);
                 }) &&
           any;
}

bool is_upper(std::string_view s) {
    bool any = false;
    return every(s,
                 [&](char32_t c) {
                     any |= is_upper(c);
                     return !is_lower(c) && !is_title(c);
                 }) &&
           any;
}

bool is_title(std::string_view s) {
    bool any = false;
    bool in_word = false;
    return every(s,
                 [&](char32_t c) {
                     bool begins = is_upper(c) || is_title(c);
                     bool continues = !begins && is_lower(c);
                     if ((begins && in_word) || (continues && !in_word)) return false;
                     in_word = begins || continues;
                     any |= in_word;
                     return true;
                 }) &&
           any;
}

bool is_printable(std::string_view s) {
    return s.empty() || every(s, [](char32_t c) { return is_printable(c); });
}

bool is_identifier(std::string_view s) {
    bool first = true;
    return every(
        s, [&](char32_t c) { return std::exchange(first, false) ? is_id_start(c) : is_id_continue(c); });
}

void append_upper(Buffer& out, std::string_view s) {
    if (is_ascii(s)) return map_ascii(out, s, ascii_upper);
    map_each(out, s, [&](const char*, const char*, char32_t c) {
        if (c < 0x80) return out.push_back(ascii_upper(static_cast<char>(c)));
        append_mapped(out, map_upper(c));
    });
}

void append_lower(Buffer& out, std::string_view s) {
    if (is_ascii(s)) return map_ascii(out, s, ascii_lower);
    map_each(out, s, [&](const char* first, const char* behind, char32_t c) {
        append_lower_at(out, s, first, behind, c);
    });
}

void append_title(Buffer& out, std::string_view s) {
    bool in_word = false;
    map_each(out, s, [&](const char* first, const char* behind, char32_t c) {
        if (c < 0x80) {
            out.push_back(in_word ? ascii_lower(static_cast<char>(c)) : ascii_upper(static_cast<char>(c)));
        } else if (in_word) {
            append_lower_at(out, s, first, behind, c);
        } else {
            append_mapped(out, map_title(c));
        }
        in_word = is_cased(c);
    });
}

void append_capitalized(Buffer& out, std::string_view s) {
    if (s.empty()) return;
    map_each(out, s, [&](const char* first, const char* behind, char32_t c) {
        if (first == s.data()) return append_mapped(out, map_title(c));
        append_lower_at(out, s, first, behind, c);
    });
}

void append_swapped_case(Buffer& out, std::string_view s) {
    map_each(out, s, [&](const char* first, const char* behind, char32_t c) {
        if (is_upper(c)) {
            append_lower_at(out, s, first, behind, c);
        } else if (is_lower(c)) {
            append_mapped(out, map_upper(c));
        } else {
            append_code_point(out, c);
        }
    });
}

void append_casefolded(Buffer& out, std::string_view s) {
    if (is_ascii(s)) return map_ascii(out, s, ascii_lower);
    map_each(out, s, [&](const char*, const char*, char32_t c) { append_mapped(out, map_fold(c)); });
}

namespace {

size_t missing(size_t length, int64_t width) {
    return width > 0 && static_cast<uint64_t>(width) > length ? static_cast<size_t>(width) - length : 0;
}

void append_padded(Buffer& out, size_t left, std::string_view s, size_t right, std::string_view fill) {
    out.append_repeated(left, fill);
    out.append(s);
    out.append_repeated(right, fill);
}

}  // namespace

void append_centered(Buffer& out, std::string_view s, size_t length, int64_t width, std::string_view fill) {
    size_t padding = missing(length, width);
    // The odd fill character goes left when the width is odd, as CPython has it.
    size_t left = padding / 2 + (padding & static_cast<size_t>(width) & 1);
    append_padded(out, left, s, padding - left, fill);
}

void append_left_justified(Buffer& out, std::string_view s, size_t length, int64_t width,
                           std::string_view fill) {
    append_padded(out, 0, s, missing(length, width), fill);
}

void append_right_justified(Buffer& out, std::string_view s, size_t length, int64_t width,
                            std::string_view fill) {
    append_padded(out, missing(length, width), s, 0, fill);
}

void append_zero_filled(Buffer& out, std::string_view s, size_t length, int64_t width) {
    size_t zeros = missing(length, width);
    if (zeros != 0 && !s.empty() && (s[0] == '+' || s[0] == '-')) {
        out.push_back(s[0]);
        s.remove_prefix(1);
    }
    out.append(zeros, '0');
    out.append(s);
}

void append_expanded_tabs(Buffer& out, std::string_view s, int64_t tab_size) {
    uint64_t column = 0;
    for (char c : s) {
        if (c == '\t') {
            if (tab_size <= 0) continue;
            uint64_t spaces = static_cast<uint64_t>(tab_size) - column % static_cast<uint64_t>(tab_size);
            out.append(spaces, ' ');
            column += spaces;
            continue;
        }
        out.push_back(c);
        if (c == '\n' || c == '\r') {
            column = 0;
        } else if (!is_continuation(c)) {
            ++column;
        }
    }
}

}  // namespace talc::text
