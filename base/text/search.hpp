#pragma once
// Finding, counting and replacing substrings. Byte positions and views throughout: in well-formed UTF-8 a
// match of a whole string always lies on code point boundaries. The *_index functions speak in code points,
// as scripts do.
//
// The functions serve bytes objects too; those that treat the empty pattern by code point take a Unit.
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text/buffer.hpp"

namespace talc::text {

inline constexpr size_t kNotFound = std::string_view::npos;

enum class Unit : unsigned char { CodePoint, Byte };

size_t find(std::string_view s, std::string_view sub, size_t from = 0);
size_t rfind(std::string_view s, std::string_view sub);
inline bool contains(std::string_view s, std::string_view sub) { return find(s, sub) != kNotFound; }

// Matches that do not overlap; for an empty pattern one more than there are code points.
size_t count(std::string_view s, std::string_view sub, Unit unit = Unit::CodePoint);

// The part of s that the optional start and end arguments of find, count, startswith... select: code points,
// negative ones from the end. `length` is len(s). Nothing when start lies behind end: then not even "" is
// found.
struct Part {
    std::string_view text;
    size_t first = 0;  // index of its first code point
};
std::optional<Part> select_part(std::string_view s, size_t length, int64_t start, int64_t end);
inline constexpr int64_t kToEnd = INT64_MAX;

// str.find / str.rfind: the code point index, or -1. `length` is len(s); where it equals s.size() nothing is
// counted.
int64_t find_index(std::string_view s, size_t length, std::string_view sub, int64_t start = 0,
                   int64_t end = kToEnd);
int64_t rfind_index(std::string_view s, size_t length, std::string_view sub, int64_t start = 0,
                    int64_t end = kToEnd);

// s.replace(from, to, limit); limit < 0: all. False when nothing was replaced (nothing is appended then, s is
// the result).
bool append_replaced(Buffer& out, std::string_view s, std::string_view from, std::string_view to,
                     int64_t limit = -1, Unit unit = Unit::CodePoint);

// s.partition(sep), s.rpartition(sep). sep must not be empty ("empty separator" is the VM's ValueError).
struct Parts {
    std::string_view head, separator, tail;
};
Parts partition(std::string_view s, std::string_view separator);
Parts rpartition(std::string_view s, std::string_view separator);

inline std::string_view remove_prefix(std::string_view s, std::string_view prefix) {
    return s.starts_with(prefix) ? s.substr(prefix.size()) : s;
}
inline std::string_view remove_suffix(std::string_view s, std::string_view suffix) {
    return s.ends_with(suffix) ? s.substr(0, s.size() - suffix.size()) : s;
}

}  // namespace talc::text
