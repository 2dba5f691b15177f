#pragma once
// UTF-8 as the VM stores it: well-formed, but for one addition: a lone surrogate, which a Python string may
// hold (chr(0xD800)), is kept in its three-byte form. Everything else in this room assumes text of that form;
// text from outside is checked by find_invalid_utf8 first. Functions never read past the view, whatever its
// bytes are.
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/text/buffer.hpp"

namespace talc::text {

inline constexpr char32_t kReplacement = 0xFFFD;
inline constexpr char32_t kMaxCodePoint = 0x10FFFF;

inline bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
inline bool is_surrogate(char32_t c) { return c >= 0xD800 && c <= 0xDFFF; }

inline bool is_ascii(std::string_view s) {
    constexpr uint64_t kHigh = 0x8080808080808080u;
    const char* p = s.data();
    size_t n = s.size();
    while (n >= 32) {
        uint64_t w[4];
        std::memcpy(w, p, 32);
        if (((w[0] | w[1] | w[2] | w[3]) & kHigh) != 0) return false;
        p += 32;
        n -= 32;
    }
    uint64_t seen = 0;
    while (n >= 8) {
        uint64_t w;
        std::memcpy(&w, p, 8);
        seen |= w;
        p += 8;
        n -= 8;
    }
    while (n > 0) {
        seen |= static_cast<unsigned char>(*p++);
        --n;
    }
    return (seen & kHigh) == 0;
}

// Length of the sequence that a lead byte announces (1 for a stray continuation byte).
inline unsigned sequence_length(char lead) {
    auto b = static_cast<unsigned char>(lead);
    return b < 0xC0 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
}

// len(s)
size_t code_point_count(std::string_view s);

// Byte offset of code point k; s.size() when k is the length or more.
size_t byte_offset(std::string_view s, size_t k);

char32_t decode_wide(const char*& p, const char* end);

// The code point at p; p moves behind it. p < end.
inline char32_t decode(const char*& p, const char* end) {
    auto b = static_cast<unsigned char>(*p);
    if (b < 0x80) {
        ++p;
        return b;
    }
    return decode_wide(p, end);
}

// The code point before p; p moves to its first byte. begin < p.
inline char32_t decode_before(const char*& p, const char* begin) {
    const char* end = p;
    do {
        --p;
    } while (p > begin && is_continuation(*p));
    const char* at = p;
    return decode(at, end);
}

// Writes the 1 to 4 bytes of c (surrogates in three); gives how many.
unsigned encode(char32_t c, char* out);

inline void append_code_point(Buffer& out, char32_t c) {
    if (c < 0x80) return out.push_back(static_cast<char>(c));
    char bytes[4];
    unsigned n = encode(c, bytes);
    out.append(std::string_view(bytes, n));
}

// s[first::step] for `count` code points; first and step in code points, step != 0. The caller has checked
// the range.
void append_stepped(Buffer& out, std::string_view s, size_t first, int64_t step, size_t count);

// Where s.encode() fails: the index of the first lone surrogate, counted in code points; npos when there is
// none.
size_t find_surrogate(std::string_view s);
// "'utf-8' codec can't encode character '\ud800' in position 0: surrogates not allowed"
std::string surrogate_error_message(std::string_view s, size_t index);

// Where and why bytes are not strict UTF-8, in the words of CPython's UnicodeDecodeError: bytes [begin, end)
// are the longest part of a sequence that begins well ("'utf-8' codec can't decode byte 0xff in position 0:
// invalid start byte").
struct InvalidUtf8 {
    size_t begin = 0;
    size_t end = 0;
    const char* reason = nullptr;  // null: the text is valid
    explicit operator bool() const { return reason != nullptr; }
};
InvalidUtf8 find_invalid_utf8(std::string_view bytes, size_t from = 0);

// The message of CPython's UnicodeDecodeError for it.
std::string utf8_error_message(std::string_view bytes, const InvalidUtf8& where);

// bytes.decode(errors="replace"): each ill-formed part becomes U+FFFD. errors="ignore" drops it.
void append_decoded_replace(Buffer& out, std::string_view bytes);
void append_decoded_ignore(Buffer& out, std::string_view bytes);

}  // namespace talc::text
