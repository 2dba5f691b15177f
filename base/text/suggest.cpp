#include "base/text/suggest.hpp"

#include <algorithm>
#include <cstddef>

namespace talc::text {

namespace {

constexpr size_t kMostCandidates = 750;
constexpr size_t kLongestName = 40;
constexpr size_t kMoveCost = 2;
constexpr size_t kCaseCost = 1;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

size_t change_cost(char a, char b) {
    if (a == b) return 0;
    return lower(a) == lower(b) ? kCaseCost : kMoveCost;
}

// The edit distance, or anything above `most` once it is known to be larger.
size_t distance(std::string_view a, std::string_view b, size_t most) {
    while (!a.empty() && !b.empty() && a.front() == b.front()) {
        a.remove_prefix(1);
        b.remove_prefix(1);
    }
    while (!a.empty() && !b.empty() && a.back() == b.back()) {
        a.remove_suffix(1);
        b.remove_suffix(1);
    }
    if (a.empty() || b.empty()) return (a.size() + b.size()) * kMoveCost;
    if (a.size() > kLongestName || b.size() > kLongestName) return most + 1;
    if (b.size() < a.size()) std::swap(a, b);
    if ((b.size() - a.size()) * kMoveCost > most) return most + 1;
    size_t row[kLongestName];  // row[i]: from a[0..i] to the part of b so far
    for (size_t i = 0; i < a.size(); ++i) row[i] = (i + 1) * kMoveCost;
    size_t result = 0;
    for (size_t j = 0; j < b.size(); ++j) {
        size_t diagonal = j * kMoveCost;
        result = (j + 1) * kMoveCost;
        size_t least = SIZE_MAX;
        for (size_t i = 0; i < a.size(); ++i) {
            size_t changed = diagonal + change_cost(b[j], a[i]);
            diagonal = row[i];
            size_t moved = std::min(result, diagonal) + kMoveCost;
            result = std::min(moved, changed);
            row[i] = result;
            least = std::min(least, result);
        }
        if (least > most) return most + 1;
    }
    return result;
}

}  // namespace

std::string_view did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
    if (candidates.size() >= kMostCandidates) return {};
    std::string_view best;
    size_t best_distance = SIZE_MAX;
    for (std::string_view candidate : candidates) {
        if (candidate == name) continue;
        size_t most = (name.size() + candidate.size() + 3) * kMoveCost / 6;
        if (best_distance != SIZE_MAX) most = std::min(most, best_distance - 1);
        size_t found = distance(name, candidate, most);
        if (found > most) continue;
        best = candidate;
        best_distance = found;
    }
    return best;
}

}  // namespace talc::text
