#include "base/text/repr.hpp"

#include "base/text/unicode.hpp"
#include "base/text/utf8.hpp"

namespace talc::text {

namespace {

constexpr char kHex[] = "0123456789abcdef";

void append_hex_escape(Buffer& out, char letter, unsigned digits, char32_t c) {
    out.push_back('\\');
    out.push_back(letter);
    for (int shift = static_cast<int>(digits - 1) * 4; shift >= 0; shift -= 4)
        out.push_back(kHex[(c >> shift) & 15]);
}

void append_escape(Buffer& out, char32_t c) {
    switch (c) {
        case '\t':
            return out.append("\\t");
        case '\n':
            return out.append("\\n");
        case '\r':
            return out.append("\\r");
        default:
            break;
    }
    if (c <= 0xFF) return append_hex_escape(out, 'x', 2, c);
    if (c <= 0xFFFF) return append_hex_escape(out, 'u', 4, c);
    append_hex_escape(out, 'U', 8, c);
}

char quote_for(std::string_view s) {
    bool prefers_double = s.find('\'') != std::string_view::npos && s.find('"') == std::string_view::npos;
    return prefers_double ? '"' : '\'';
}

// Whether an ASCII character stands for itself between quotes.
bool is_plain(unsigned char c, char quote) {
    return ascii_has(c, kAsciiPrintable) && c != '\\' && c != static_cast<unsigned char>(quote);
}

void append_quoted(Buffer& out, std::string_view s, bool ascii_only) {
    char quote = quote_for(s);
    out.reserve(s.size() + 2);
    out.push_back(quote);
    const char* p = s.data();
    const char* end = p + s.size();
    const char* plain = p;  // start of what can be copied as it is
    while (p < end) {
        auto byte = static_cast<unsigned char>(*p);
        if (byte < 0x80 && is_plain(byte, quote)) {
            ++p;
            continue;
        }
        const char* first = p;
        char32_t c = decode(p, end);
        if (c >= 0x80 && !ascii_only && is_printable(c)) continue;
        out.append(std::string_view(plain, static_cast<size_t>(first - plain)));
        plain = p;
        if (c == '\\' || c == static_cast<unsigned char>(quote)) {
            out.push_back('\\');
            out.push_back(static_cast<char>(c));
        } else {
            append_escape(out, c);
        }
    }
    out.append(std::string_view(plain, static_cast<size_t>(p - plain)));
    out.push_back(quote);
}

}  // namespace

void append_str_repr(Buffer& out, std::string_view s) { append_quoted(out, s, false); }

void append_ascii(Buffer& out, std::string_view s) { append_quoted(out, s, true); }

void append_ascii_escaped(Buffer& out, std::string_view repr) {
    const char* p = repr.data();
    const char* end = p + repr.size();
    while (p < end) {
        char32_t c = decode(p, end);
        if (c < 0x80) {
            out.push_back(static_cast<char>(c));
        } else {
            append_escape(out, c);
        }
    }
}

void append_bytes_repr(Buffer& out, std::string_view bytes) {
    char quote = quote_for(bytes);
    out.reserve(bytes.size() + 3);
    out.push_back('b');
    out.push_back(quote);
    for (char c : bytes) {
        auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80 && is_plain(byte, quote)) {
            out.push_back(c);
        } else if (c == '\\' || c == quote) {
            out.push_back('\\');
            out.push_back(c);
        } else {
            append_escape(out, byte);
        }
    }
    out.push_back(quote);
}

}  // namespace talc::text
