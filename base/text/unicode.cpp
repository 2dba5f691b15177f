#include "base/text/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

namespace talc::text {

namespace {

struct Range {
    char32_t first;
    char32_t last;
};

#define ROW(first, last) {first, last},
constexpr Range kLater[] = {
#define LATER ROW
#include "base/text/unicode_ranges.def"
};
constexpr Range kOtherLower[] = {
#define LOWER ROW
#include "base/text/unicode_ranges.def"
};
constexpr Range kOtherUpper[] = {
#define UPPER ROW
#include "base/text/unicode_ranges.def"
};
constexpr Range kOtherDigit[] = {
#define DIGIT ROW
#include "base/text/unicode_ranges.def"
};
constexpr Range kOtherNumeric[] = {
#define NUMERIC ROW
#include "base/text/unicode_ranges.def"
};
constexpr Range kNotIdStart[] = {
#define NOT_ID_START ROW
#include "base/text/unicode_ranges.def"
};
constexpr Range kOtherIdStart[] = {
#define ID_START ROW
#include "base/text/unicode_ranges.def"
};
constexpr Range kNotIdContinue[] = {
#define NOT_ID_CONTINUE ROW
#include "base/text/unicode_ranges.def"
};
constexpr Range kOtherIdContinue[] = {
#define ID_CONTINUE ROW
#include "base/text/unicode_ranges.def"
};
constexpr Range kOtherCaseIgnorable[] = {
#define CASE_IGNORABLE ROW
#include "base/text/unicode_ranges.def"
};
#undef ROW

template <size_t N>
bool within(const Range (&table)[N], char32_t c) {
    if (c < table[0].first || c > table[N - 1].last) return false;
    const Range* at = std::upper_bound(std::begin(table), std::end(table), c,
                                       [](char32_t value, const Range& r) { return value < r.first; });
    return at != std::begin(table) && c <= at[-1].last;
}

struct SpecialCase {
    char32_t from;
    char32_t to[3];
};

#define ROW(from, a, b, c) {from, {a, b, c}},
constexpr SpecialCase kSpecialUpper[] = {
#define UPPER ROW
#include "base/text/special_casing.def"
};
constexpr SpecialCase kSpecialTitle[] = {
#define TITLE ROW
#include "base/text/special_casing.def"
};
#undef ROW

template <size_t N>
const SpecialCase* special(const SpecialCase (&table)[N], char32_t c) {
    // Most letters lie outside the three stretches in which the special ones are.
    if (c < 0xDF || (c > 0x587 && c < 0x1E96) || (c > 0x1FFC && c < 0xFB00)) return nullptr;
    const SpecialCase* at =
        std::lower_bound(std::begin(table), std::end(table), c,
                         [](const SpecialCase& s, char32_t value) { return s.from < value; });
    return at != std::end(table) && at->from == c ? at : nullptr;
}

Mapped mapped(const SpecialCase& s) { return {{s.to[0], s.to[1], s.to[2]}, s.to[2] != 0 ? 3u : 2u}; }

Mapped mapped(char32_t c) { return {{c, 0, 0}, 1}; }

unsigned category(char32_t c) {
    auto found = static_cast<unsigned>(utf8proc_category(static_cast<utf8proc_int32_t>(c)));
    bool later = found != UTF8PROC_CATEGORY_CN && within(kLater, c);
    return later ? static_cast<unsigned>(UTF8PROC_CATEGORY_CN) : found;
}

// Sets of categories as bit masks.
constexpr unsigned bit(unsigned c) { return 1u << c; }
constexpr unsigned kLetters = bit(UTF8PROC_CATEGORY_LU) | bit(UTF8PROC_CATEGORY_LL) |
                              bit(UTF8PROC_CATEGORY_LT) | bit(UTF8PROC_CATEGORY_LM) |
                              bit(UTF8PROC_CATEGORY_LO);
constexpr unsigned kNumbers =
    bit(UTF8PROC_CATEGORY_ND) | bit(UTF8PROC_CATEGORY_NL) | bit(UTF8PROC_CATEGORY_NO);
constexpr unsigned kUnprintable = bit(UTF8PROC_CATEGORY_CC) | bit(UTF8PROC_CATEGORY_CF) |
                                  bit(UTF8PROC_CATEGORY_CS) | bit(UTF8PROC_CATEGORY_CO) |
                                  bit(UTF8PROC_CATEGORY_CN) | bit(UTF8PROC_CATEGORY_ZS) |
                                  bit(UTF8PROC_CATEGORY_ZL) | bit(UTF8PROC_CATEGORY_ZP);
constexpr unsigned kIdStart = kLetters | bit(UTF8PROC_CATEGORY_NL);
constexpr unsigned kIdContinue = kIdStart | bit(UTF8PROC_CATEGORY_MN) | bit(UTF8PROC_CATEGORY_MC) |
                                 bit(UTF8PROC_CATEGORY_ND) | bit(UTF8PROC_CATEGORY_PC);
constexpr unsigned kIgnorable = bit(UTF8PROC_CATEGORY_MN) | bit(UTF8PROC_CATEGORY_ME) |
                                bit(UTF8PROC_CATEGORY_CF) | bit(UTF8PROC_CATEGORY_LM) |
                                bit(UTF8PROC_CATEGORY_SK);

bool in_categories(char32_t c, unsigned mask) { return (mask & bit(category(c))) != 0; }

}  // namespace

namespace wide {

bool is_alpha(char32_t c) { return in_categories(c, kLetters); }

bool is_decimal(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }

bool is_digit(char32_t c) { return is_decimal(c) || within(kOtherDigit, c); }

bool is_numeric(char32_t c) { return in_categories(c, kNumbers) || within(kOtherNumeric, c); }

bool is_space(char32_t c) {
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_lower(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LL || within(kOtherLower, c); }

bool is_upper(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LU || within(kOtherUpper, c); }

bool is_printable(char32_t c) { return !in_categories(c, kUnprintable); }

bool is_id_start(char32_t c) {
    return in_categories(c, kIdStart) ? !within(kNotIdStart, c) : within(kOtherIdStart, c);
}

bool is_id_continue(char32_t c) {
    return in_categories(c, kIdContinue) ? !within(kNotIdContinue, c) : within(kOtherIdContinue, c);
}

}  // namespace wide

bool is_title(char32_t c) { return c >= 128 && category(c) == UTF8PROC_CATEGORY_LT; }

bool is_cased(char32_t c) { return is_lower(c) || is_upper(c) || is_title(c); }

bool is_case_ignorable(char32_t c) { return in_categories(c, kIgnorable) || within(kOtherCaseIgnorable, c); }

int decimal_value(char32_t c) {
    if (c < 128)
        return ascii_has(static_cast<unsigned char>(c), kAsciiDigit) ? static_cast<int>(c - '0') : -1;
    if (!wide::is_decimal(c)) return -1;
    // Decimal digits come in whole runs of ten, which start with a zero.
    char32_t first = c;
    while (wide::is_decimal(first - 1)) --first;
    return static_cast<int>((c - first) % 10);
}

Mapped map_upper(char32_t c) {
    if (const SpecialCase* s = special(kSpecialUpper, c)) return mapped(*s);
    if (within(kLater, c)) return mapped(c);
    return mapped(static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
}

Mapped map_lower(char32_t c) {
    if (c == 0x130) return {{'i', 0x307, 0}, 2};
    if (within(kLater, c)) return mapped(c);
    return mapped(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

Mapped map_title(char32_t c) {
    if (const SpecialCase* s = special(kSpecialTitle, c)) return mapped(*s);
    if (within(kLater, c)) return mapped(c);
    return mapped(static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
}

Mapped map_fold(char32_t c) {
    utf8proc_int32_t to[8];
    int boundary = 0;
    utf8proc_ssize_t n = within(kLater, c) ? 0
                                           : utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), to, 8,
                                                                     UTF8PROC_CASEFOLD, &boundary);
    if (n < 1 || n > 3) return mapped(c);
    Mapped result{{}, static_cast<unsigned>(n)};
    std::copy_n(to, n, result.to);
    return result;
}

}  // namespace talc::text
