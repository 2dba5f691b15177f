#include "base/text/split.hpp"

#include <algorithm>
#include <bitset>
#include <cstring>

#include "base/text/blocks.hpp"
#include "base/text/search.hpp"
#include "base/text/unicode.hpp"
#include "base/text/utf8.hpp"

namespace talc::text {

namespace {

bool is_bytes_space(unsigned char c) { return c == ' ' || (c >= 9 && c <= 13); }

// Length in bytes of the whitespace character at p (before p for the other), 0 when there is none.
size_t space_at(const char* p, const char* end, Space space) {
    auto c = static_cast<unsigned char>(*p);
    if (space == Space::Bytes) return is_bytes_space(c);
    if (c < 0x80) return ascii_has(c, kAsciiSpace);
    const char* behind = p;
    return is_space(decode(behind, end)) ? static_cast<size_t>(behind - p) : 0;
}

size_t space_before(const char* p, const char* begin, Space space) {
    auto c = static_cast<unsigned char>(p[-1]);
    if (space == Space::Bytes) return is_bytes_space(c);
    if (c < 0x80) return ascii_has(c, kAsciiSpace);
    const char* first = p;
    return is_space(decode_before(first, begin)) ? static_cast<size_t>(p - first) : 0;
}

// The set of characters that strip(chars) takes away.
class CharSet {
  public:
    CharSet(std::string_view chars, Space space) : wide_(chars), bytes_(space == Space::Bytes) {
        for (char c : chars) low_.set(static_cast<unsigned char>(c));
    }
    size_t at(const char* p, const char* end) const {
        auto c = static_cast<unsigned char>(*p);
        if (bytes_ || c < 0x80 || !low_.test(c)) return low_.test(c);
        const char* behind = p;
        decode(behind, end);
        return holds({p, static_cast<size_t>(behind - p)});
    }
    size_t before(const char* p, const char* begin) const {
        auto c = static_cast<unsigned char>(p[-1]);
        if (bytes_ || c < 0x80 || !low_.test(c)) return low_.test(c);
        const char* first = p;
        decode_before(first, begin);
        return holds({first, static_cast<size_t>(p - first)});
    }

  private:
    size_t holds(std::string_view c) const { return contains(wide_, c) ? c.size() : 0; }

    std::bitset<256> low_;  // bytes that occur in the set: a quick no for the others
    std::string_view wide_;
    bool bytes_;
};

std::string_view between(const char* begin, const char* end) {
    return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace

std::string_view strip_left(std::string_view s, Space space) {
    const char* p = s.data();
    const char* end = p + s.size();
    while (p < end) {
        size_t n = space_at(p, end, space);
        if (n == 0) break;
        p += n;
    }
    return between(p, end);
}

std::string_view strip_right(std::string_view s, Space space) {
    const char* begin = s.data();
    const char* p = begin + s.size();
    while (p > begin) {
        size_t n = space_before(p, begin, space);
        if (n == 0) break;
        p -= n;
    }
    return between(begin, p);
}

std::string_view strip_left_of(std::string_view s, std::string_view chars, Space space) {
    CharSet set(chars, space);
    const char* p = s.data();
    const char* end = p + s.size();
    while (p < end) {
        size_t n = set.at(p, end);
        if (n == 0) break;
        p += n;
    }
    return between(p, end);
}

std::string_view strip_right_of(std::string_view s, std::string_view chars, Space space) {
    CharSet set(chars, space);
    const char* begin = s.data();
    const char* p = begin + s.size();
    while (p > begin) {
        size_t n = set.before(p, begin);
        if (n == 0) break;
        p -= n;
    }
    return between(begin, p);
}

namespace {

// What a byte can be in a run of words: part of a word, whitespace, or the lead byte of a character that has
// to be looked at.
enum class Byte : uint8_t { Word, Space, Look };

struct ByteTable {
    Byte kind[256];
    explicit constexpr ByteTable(Space space) : kind{} {
        for (int c = 0; c < 256; ++c) {
            bool is_space = (c >= 9 && c <= 13) || c == 32 || (space == Space::Text && c >= 28 && c < 32);
            // The wide whitespace characters begin with one of these four bytes.
            bool look = space == Space::Text && (c == 0xC2 || c == 0xE1 || c == 0xE2 || c == 0xE3);
            kind[c] = is_space ? Byte::Space : look ? Byte::Look : Byte::Word;
        }
    }
};
constexpr ByteTable kTextBytes(Space::Text);
constexpr ByteTable kBytesBytes(Space::Bytes);

}  // namespace

void split_space(Pieces& pieces, std::string_view s, int64_t limit, Space space) {
    const Byte* kinds = space == Space::Text ? kTextBytes.kind : kBytesBytes.kind;
    uint64_t left = limit < 0 ? UINT64_MAX : static_cast<uint64_t>(limit);
    const char* p = s.data();
    const char* end = p + s.size();
    auto space_here = [&]() -> size_t {
        Byte kind = kinds[static_cast<unsigned char>(*p)];
        return kind == Byte::Look ? space_at(p, end, space) : kind == Byte::Space;
    };
    while (true) {
        for (size_t n; p < end && (n = space_here()) != 0;) p += n;
        if (p == end) return;
        if (left-- == 0) return pieces.push_back(between(p, end));
        const char* first = p;
        do {
            ++p;
        } while (p < end && space_here() == 0);
        pieces.push_back(between(first, p));
    }
}

void rsplit_space(Pieces& pieces, std::string_view s, int64_t limit, Space space) {
    uint64_t left = limit < 0 ? UINT64_MAX : static_cast<uint64_t>(limit);
    size_t start = pieces.size();
    const char* begin = s.data();
    const char* p = begin + s.size();
    while (true) {
        size_t n;
        while (p > begin && (n = space_before(p, begin, space)) != 0) p -= n;
        if (p == begin) break;
        if (left-- == 0) {
            pieces.push_back(between(begin, p));
            break;
        }
        const char* last = p;
        while (p > begin && space_before(p, begin, space) == 0) {
            --p;
            while (space == Space::Text && p > begin && is_continuation(*p)) --p;
        }
        pieces.push_back(between(p, last));
    }
    std::reverse(pieces.begin() + static_cast<std::ptrdiff_t>(start), pieces.end());
}

void split_at(Pieces& pieces, std::string_view s, std::string_view separator, int64_t limit) {
    uint64_t left = limit < 0 ? UINT64_MAX : static_cast<uint64_t>(limit);
    const char* p = s.data();
    const char* end = p + s.size();
    if (separator.size() == 1) {
        while (left-- > 0) {
            auto* hit =
                p == end
                    ? nullptr
                    : static_cast<const char*>(std::memchr(p, separator[0], static_cast<size_t>(end - p)));
            if (hit == nullptr) break;
            pieces.push_back(between(p, hit));
            p = hit + 1;
        }
        return pieces.push_back(between(p, end));
    }
    size_t done = 0;
    while (left-- > 0) {
        size_t hit = find(s, separator, done);
        if (hit == kNotFound) break;
        pieces.push_back(s.substr(done, hit - done));
        done = hit + separator.size();
    }
    pieces.push_back(s.substr(done));
}

void rsplit_at(Pieces& pieces, std::string_view s, std::string_view separator, int64_t limit) {
    // A single character cannot overlap itself, so both directions agree when there is no limit.
    if (limit < 0 && separator.size() == 1) return split_at(pieces, s, separator);
    uint64_t left = limit < 0 ? UINT64_MAX : static_cast<uint64_t>(limit);
    size_t start = pieces.size();
    while (left-- > 0) {
        size_t hit = rfind(s, separator);
        if (hit == kNotFound) break;
        pieces.push_back(s.substr(hit + separator.size()));
        s = s.substr(0, hit);
    }
    pieces.push_back(s);
    std::reverse(pieces.begin() + static_cast<std::ptrdiff_t>(start), pieces.end());
}

namespace {

// Whether none of eight bytes can begin a line end: all are printable ASCII.
bool all_plain(const char* p) {
    uint64_t w;
    std::memcpy(&w, p, 8);
    return (((w - 0x2020202020202020u) | w) & 0x8080808080808080u) == 0;
}

// Bytes of the line end at p (2 for \r\n), 0 when none stands there.
size_t line_end_at(const char* p, const char* end, Space space) {
    auto c = static_cast<unsigned char>(*p);
    if (c == '\n') return 1;
    if (c == '\r') return p + 1 < end && p[1] == '\n' ? 2 : 1;
    if (space == Space::Bytes) return 0;
    if (c < 0x80) return (c >= 0x0B && c <= 0x0C) || (c >= 0x1C && c <= 0x1E);
    if (c == 0xC2) return end - p >= 2 && static_cast<unsigned char>(p[1]) == 0x85 ? 2 : 0;
    if (c != 0xE2 || end - p < 3 || static_cast<unsigned char>(p[1]) != 0x80) return 0;
    auto last = static_cast<unsigned char>(p[2]);
    return last == 0xA8 || last == 0xA9 ? 3 : 0;
}

}  // namespace

void split_lines(Pieces& pieces, std::string_view s, bool keep_ends, Space space) {
    const char* p = s.data();
    const char* end = p + s.size();
    while (p < end) {
        const char* first = p;
        size_t n = 0;
        while (p < end && (n = line_end_at(p, end, space)) == 0) {
            ++p;
            while (end - p >= 8 && all_plain(p)) p += 8;
        }
        pieces.push_back(between(first, p + (keep_ends ? n : 0)));
        p += n;
    }
}

size_t joined_size(std::string_view separator, std::span<const std::string_view> items) {
    if (items.empty()) return 0;
    size_t total = separator.size() * (items.size() - 1);
    for (std::string_view item : items) total += item.size();
    return total;
}

void write_joined(char* out, std::string_view separator, std::span<const std::string_view> items) {
    bool first = true;
    for (std::string_view item : items) {
        if (!first) {
            copy_short(out, separator.data(), separator.size());
            out += separator.size();
        }
        first = false;
        copy_short(out, item.data(), item.size());
        out += item.size();
    }
}

void append_joined(Buffer& out, std::string_view separator, std::span<const std::string_view> items) {
    write_joined(out.extend(joined_size(separator, items)), separator, items);
}

}  // namespace talc::text
