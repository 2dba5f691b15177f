#pragma once
// "Did you mean": the nearest name, by CPython 3.11's rule.
#include <span>
#include <string_view>

namespace talc::text {

// The candidate with the least edit distance to `name` (a move costs 2, a change of case 1), the first of
// equals; empty when none is near: at most a third of the characters may differ. More than 749 candidates
// give nothing.
std::string_view did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace talc::text
