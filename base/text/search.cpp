#include "base/text/search.hpp"

#include <algorithm>
#include <cstring>

#include "base/text/blocks.hpp"
#include "base/text/utf8.hpp"

namespace talc::text {

namespace {

// memchr for the first byte is unbeaten while that byte is rare; when it keeps hitting in vain, memmem takes
// over, which is linear whatever the text.
const char* find_bytes(const char* at, const char* end, std::string_view sub) {
    const size_t size = sub.size();
    if (static_cast<size_t>(end - at) < size) return nullptr;
    if (size == 1) return static_cast<const char*>(std::memchr(at, sub[0], static_cast<size_t>(end - at)));
    const char* last = end - size + 1;
    for (int misses = 0; misses < 8; ++misses) {
        at = static_cast<const char*>(std::memchr(at, sub[0], static_cast<size_t>(last - at)));
        if (at == nullptr) return nullptr;
        if (at[size - 1] == sub[size - 1] && std::memcmp(at + 1, sub.data() + 1, size - 1) == 0) return at;
        if (++at == last) return nullptr;
    }
    return static_cast<const char*>(memmem(at, static_cast<size_t>(end - at), sub.data(), size));
}

size_t units_in(std::string_view s, Unit unit) { return unit == Unit::Byte ? s.size() : code_point_count(s); }

// The empty pattern stands before every unit and at the end.
void append_interleaved(Buffer& out, std::string_view s, std::string_view to, uint64_t limit, Unit unit) {
    const char* p = s.data();
    const char* end = p + s.size();
    while (limit > 0 && p < end) {
        size_t n =
            unit == Unit::Byte ? 1 : std::min<size_t>(sequence_length(*p), static_cast<size_t>(end - p));
        out.append(to);
        out.append(std::string_view(p, n));
        p += n;
        --limit;
    }
    out.append(std::string_view(p, static_cast<size_t>(end - p)));
    if (limit > 0) out.append(to);
}

}  // namespace

size_t find(std::string_view s, std::string_view sub, size_t from) {
    if (from > s.size()) return kNotFound;
    if (sub.empty()) return from;
    const char* hit = find_bytes(s.data() + from, s.data() + s.size(), sub);
    return hit == nullptr ? kNotFound : static_cast<size_t>(hit - s.data());
}

size_t rfind(std::string_view s, std::string_view sub) {
    if (sub.empty()) return s.size();
    if (sub.size() > s.size()) return kNotFound;
    size_t window = s.size() - sub.size() + 1;  // possible first positions
    while (window > 0) {
        const void* hit = memrchr(s.data(), sub[0], window);
        if (hit == nullptr) return kNotFound;
        auto at = static_cast<size_t>(static_cast<const char*>(hit) - s.data());
        if (std::memcmp(s.data() + at, sub.data(), sub.size()) == 0) return at;
        window = at;
    }
    return kNotFound;
}

size_t count(std::string_view s, std::string_view sub, Unit unit) {
    if (sub.empty()) return units_in(s, unit) + 1;
    if (sub.size() == 1) return count_byte(s.data(), s.size(), sub[0]);
    size_t n = 0;
    const char* at = s.data();
    const char* end = at + s.size();
    while ((at = find_bytes(at, end, sub)) != nullptr) {
        ++n;
        at += sub.size();
    }
    return n;
}

std::optional<Part> select_part(std::string_view s, size_t length, int64_t start, int64_t end) {
    auto size = static_cast<int64_t>(length);
    if (end > size) end = size;
    if (end < 0) end = std::max<int64_t>(end + size, 0);
    if (start < 0) start = std::max<int64_t>(start + size, 0);
    if (start > end) return std::nullopt;
    auto first = static_cast<size_t>(start);
    auto count = static_cast<size_t>(end - start);
    if (length == s.size()) return Part{s.substr(first, count), first};
    if (first == 0 && count == length) return Part{s, 0};
    std::string_view tail = s.substr(byte_offset(s, first));
    return Part{tail.substr(0, byte_offset(tail, count)), first};
}

namespace {

int64_t index_in(const Part& part, size_t at, bool ascii) {
    if (at == kNotFound) return -1;
    size_t before = ascii ? at : code_point_count(part.text.substr(0, at));
    return static_cast<int64_t>(part.first + before);
}

}  // namespace

int64_t find_index(std::string_view s, size_t length, std::string_view sub, int64_t start, int64_t end) {
    auto part = select_part(s, length, start, end);
    return part ? index_in(*part, find(part->text, sub), length == s.size()) : -1;
}

int64_t rfind_index(std::string_view s, size_t length, std::string_view sub, int64_t start, int64_t end) {
    auto part = select_part(s, length, start, end);
    return part ? index_in(*part, rfind(part->text, sub), length == s.size()) : -1;
}

bool append_replaced(Buffer& out, std::string_view s, std::string_view from, std::string_view to,
                     int64_t limit, Unit unit) {
    uint64_t left = limit < 0 ? UINT64_MAX : static_cast<uint64_t>(limit);
    if (left == 0) return false;
    if (from.empty()) {
        append_interleaved(out, s, to, left, unit);
        return true;
    }
    const char* at = s.data();
    const char* end = at + s.size();
    const char* hit = find_bytes(at, end, from);
    if (hit == nullptr) return false;
    if (from.size() == 1 && to.size() == 1 && limit < 0) {
        char* target = out.extend(s.size());
        const char old_byte = from[0];
        const char new_byte = to[0];
        map_bytes(target, s.data(), s.size(), [=](char c) { return c == old_byte ? new_byte : c; });
        return true;
    }
    out.reserve(s.size());
    do {
        auto before = static_cast<size_t>(hit - at);
        char* target = out.extend(before + to.size());
        copy_short(target, at, before);
        copy_short(target + before, to.data(), to.size());
        at = hit + from.size();
        if (--left == 0) break;
        hit = find_bytes(at, end, from);
    } while (hit != nullptr);
    out.append(std::string_view(at, static_cast<size_t>(end - at)));
    return true;
}

Parts partition(std::string_view s, std::string_view separator) {
    size_t at = find(s, separator);
    if (at == kNotFound) return {s, {}, {}};
    return {s.substr(0, at), s.substr(at, separator.size()), s.substr(at + separator.size())};
}

Parts rpartition(std::string_view s, std::string_view separator) {
    size_t at = rfind(s, separator);
    if (at == kNotFound) return {{}, {}, s};
    return {s.substr(0, at), s.substr(at, separator.size()), s.substr(at + separator.size())};
}

}  // namespace talc::text
