#pragma once
// Properties and case mappings of single code points, as CPython 3.11's (Unicode 14) str methods see them.
// utf8proc has the large tables; unicode_ranges.def and special_casing.def hold what it does not.
#include <cstdint>

namespace talc::text {

// Flags of the ASCII characters, so that the common case is one table load.
enum AsciiFlag : uint8_t {
    kAsciiLower = 1,
    kAsciiUpper = 2,
    kAsciiDigit = 4,
    kAsciiSpace = 8,
    kAsciiPrintable = 16,
    kAsciiUnderscore = 32,
    kAsciiAlpha = kAsciiLower | kAsciiUpper,
};

struct AsciiTable {
    uint8_t flags[128];
    constexpr AsciiTable() : flags{} {
        for (int c = 0; c < 128; ++c) {
            uint8_t f = 0;
            if (c >= 'a' && c <= 'z') f |= kAsciiLower;
            if (c >= 'A' && c <= 'Z') f |= kAsciiUpper;
            if (c >= '0' && c <= '9') f |= kAsciiDigit;
            if ((c >= 9 && c <= 13) || (c >= 28 && c <= 32)) f |= kAsciiSpace;
            if (c >= 32 && c < 127) f |= kAsciiPrintable;
            if (c == '_') f |= kAsciiUnderscore;
            flags[c] = f;
        }
    }
};
inline constexpr AsciiTable kAscii;

inline bool ascii_has(unsigned char c, unsigned flags) { return (kAscii.flags[c] & flags) != 0; }

namespace wide {  // the same questions for code points from 0x80 on
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_space(char32_t c);
bool is_lower(char32_t c);
bool is_upper(char32_t c);
bool is_printable(char32_t c);
bool is_id_start(char32_t c);
bool is_id_continue(char32_t c);
}  // namespace wide

inline bool is_alpha(char32_t c) { return c < 128 ? ascii_has(c, kAsciiAlpha) : wide::is_alpha(c); }
inline bool is_decimal(char32_t c) { return c < 128 ? ascii_has(c, kAsciiDigit) : wide::is_decimal(c); }
inline bool is_digit(char32_t c) { return c < 128 ? ascii_has(c, kAsciiDigit) : wide::is_digit(c); }
inline bool is_numeric(char32_t c) { return c < 128 ? ascii_has(c, kAsciiDigit) : wide::is_numeric(c); }
inline bool is_space(char32_t c) { return c < 128 ? ascii_has(c, kAsciiSpace) : wide::is_space(c); }
inline bool is_lower(char32_t c) { return c < 128 ? ascii_has(c, kAsciiLower) : wide::is_lower(c); }
inline bool is_upper(char32_t c) { return c < 128 ? ascii_has(c, kAsciiUpper) : wide::is_upper(c); }
inline bool is_printable(char32_t c) {
    return c < 128 ? ascii_has(c, kAsciiPrintable) : wide::is_printable(c);
}
inline bool is_id_start(char32_t c) {
    return c < 128 ? ascii_has(c, kAsciiAlpha | kAsciiUnderscore) : wide::is_id_start(c);
}
inline bool is_id_continue(char32_t c) {
    return c < 128 ? ascii_has(c, kAsciiAlpha | kAsciiDigit | kAsciiUnderscore) : wide::is_id_continue(c);
}
bool is_title(char32_t c);           // category Lt only
bool is_cased(char32_t c);           // lower, upper or title
bool is_case_ignorable(char32_t c);  // a cased word runs through it (accents, apostrophes)

// The value 0 to 9 of a decimal digit in any script; -1 for anything else.
int decimal_value(char32_t c);

// Full case mappings: 1 to 3 code points.
struct Mapped {
    char32_t to[3];
    unsigned size;
};
Mapped map_upper(char32_t c);
Mapped map_lower(char32_t c);  // without the final sigma, which depends on the word around it
Mapped map_title(char32_t c);
Mapped map_fold(char32_t c);

}  // namespace talc::text
