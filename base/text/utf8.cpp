#include "base/text/utf8.hpp"

#include <fmt/format.h>

namespace talc::text {

namespace {

uint64_t load8(const char* p) {
    uint64_t w;
    std::memcpy(&w, p, 8);
    return w;
}

// How many of the eight bytes are not continuation bytes (10xxxxxx).
unsigned starts_in_word(uint64_t w) {
    uint64_t continuation = (w >> 7) & ~(w >> 6) & 0x0101010101010101u;
    return 8 - static_cast<unsigned>((continuation * 0x0101010101010101u) >> 56);
}

}  // namespace

size_t code_point_count(std::string_view s) {
    size_t count = 0;
    const char* p = s.data();
    const char* end = p + s.size();
    for (; end - p >= 8; p += 8) count += starts_in_word(load8(p));
    for (; p < end; ++p) count += !is_continuation(*p);
    return count;
}

size_t byte_offset(std::string_view s, size_t k) {
    const char* p = s.data();
    const char* end = p + s.size();
    // Whole words are skipped while the wanted code point starts behind them.
    while (end - p >= 8) {
        unsigned starts = starts_in_word(load8(p));
        if (k < starts) break;
        k -= starts;
        p += 8;
    }
    for (; p < end; ++p) {
        if (is_continuation(*p)) continue;
        if (k == 0) break;
        --k;
    }
    return static_cast<size_t>(p - s.data());
}

char32_t decode_wide(const char*& p, const char* end) {
    auto lead = static_cast<unsigned char>(*p);
    unsigned n = sequence_length(*p);
    if (n == 1 || static_cast<size_t>(end - p) < n) {
        ++p;
        return kReplacement;
    }
    char32_t c = lead & (0x7Fu >> n);
    for (unsigned i = 1; i < n; ++i) c = (c << 6) | (static_cast<unsigned char>(p[i]) & 0x3Fu);
    p += n;
    return c;
}

unsigned encode(char32_t c, char* out) {
    auto tail = [](char32_t bits) { return static_cast<char>(0x80 | (bits & 0x3F)); };
    if (c < 0x80) {
        out[0] = static_cast<char>(c);
        return 1;
    }
    if (c < 0x800) {
        out[0] = static_cast<char>(0xC0 | (c >> 6));
        out[1] = tail(c);
        return 2;
    }
    if (c < 0x10000) {
        out[0] = static_cast<char>(0xE0 | (c >> 12));
        out[1] = tail(c >> 6);
        out[2] = tail(c);
        return 3;
    }
    out[0] = static_cast<char>(0xF0 | (c >> 18));
    out[1] = tail(c >> 12);
    out[2] = tail(c >> 6);
    out[3] = tail(c);
    return 4;
}

void append_stepped(Buffer& out, std::string_view s, size_t first, int64_t step, size_t count) {
    const char* begin = s.data();
    const char* p = begin + byte_offset(s, first);
    while (count > 0) {
        unsigned n = sequence_length(*p);
        out.append(std::string_view(p, n));
        if (--count == 0) return;
        for (int64_t k = 0; k < step; ++k) p += sequence_length(*p);
        for (int64_t k = 0; k > step; --k) decode_before(p, begin);
    }
}

namespace {

// Surrogates are ED A0..BF xx; no other text has that second byte behind an ED.
bool is_surrogate_at(std::string_view s, size_t at) {
    return at + 1 < s.size() && s[at] == '\xED' && static_cast<unsigned char>(s[at + 1]) >= 0xA0;
}

}  // namespace

size_t find_surrogate(std::string_view s) {
    for (size_t i = 0; (i = s.find('\xED', i)) != std::string_view::npos; ++i) {
        if (is_surrogate_at(s, i)) return code_point_count(s.substr(0, i));
    }
    return std::string_view::npos;
}

std::string surrogate_error_message(std::string_view s, size_t index) {
    size_t first = byte_offset(s, index);
    size_t behind = index;
    for (size_t at = first; is_surrogate_at(s, at); at += 3) ++behind;
    if (behind - index > 1) {
        return fmt::format("'utf-8' codec can't encode characters in position {}-{}: surrogates not allowed",
                           index, behind - 1);
    }
    const char* p = s.data() + first;
    char32_t c = decode(p, s.data() + s.size());
    return fmt::format(
        "'utf-8' codec can't encode character '\\u{:04x}' in position {}: surrogates not allowed",
        static_cast<uint32_t>(c), index);
}

InvalidUtf8 find_invalid_utf8(std::string_view bytes, size_t from) {
    constexpr const char* kStart = "invalid start byte";
    constexpr const char* kTail = "invalid continuation byte";
    constexpr const char* kShort = "unexpected end of data";
    size_t i = from;
    size_t n = bytes.size();
    while (i < n) {
        if (n - i >= 8 && (load8(bytes.data() + i) & 0x8080808080808080u) == 0) {
            i += 8;
            continue;
        }
        auto lead = static_cast<unsigned char>(bytes[i]);
        if (lead < 0x80) {
            ++i;
            continue;
        }
        if (lead < 0xC2 || lead > 0xF4) return {i, i + 1, kStart};
        // The second byte's range excludes overlong forms, surrogates and what lies above U+10FFFF.
        unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
        unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        unsigned length = sequence_length(bytes[i]);
        for (unsigned k = 1; k < length; ++k) {
            if (i + k >= n) return {i, n, kShort};
            auto b = static_cast<unsigned char>(bytes[i + k]);
            if (b < low || b > high) return {i, i + k, kTail};
            low = 0x80;
            high = 0xBF;
        }
        i += length;
    }
    return {};
}

std::string utf8_error_message(std::string_view bytes, const InvalidUtf8& where) {
    if (where.end - where.begin == 1) {
        return fmt::format("'utf-8' codec can't decode byte 0x{:02x} in position {}: {}",
                           static_cast<unsigned char>(bytes[where.begin]), where.begin, where.reason);
    }
    return fmt::format("'utf-8' codec can't decode bytes in position {}-{}: {}", where.begin, where.end - 1,
                       where.reason);
}

namespace {

void append_decoded(Buffer& out, std::string_view bytes, std::string_view replacement) {
    size_t done = 0;
    while (InvalidUtf8 bad = find_invalid_utf8(bytes, done)) {
        out.append(bytes.substr(done, bad.begin - done));
        out.append(replacement);
        done = bad.end;
    }
    out.append(bytes.substr(done));
}

}  // namespace

void append_decoded_replace(Buffer& out, std::string_view bytes) {
    append_decoded(out, bytes, "\xEF\xBF\xBD");
}

void append_decoded_ignore(Buffer& out, std::string_view bytes) { append_decoded(out, bytes, {}); }

}  // namespace talc::text
