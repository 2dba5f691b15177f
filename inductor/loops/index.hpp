#pragma once
// Index expressions: polynomials of graph/dim.hpp over more kinds of symbols than sizes. A loop variable runs from 0
// to its size; a datum is an integer that the kernel itself computes (gather); a stride belongs to an argument whose
// layout class says nothing about it.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/dim.hpp"
#include "graph/graph.hpp"

namespace talc::inductor::loops {

using graph::Dim;
using graph::Shape;

// Symbols by number; sizes of the graph (in a finished kernel: its parameters) come first.
inline constexpr uint32_t kStrideBase = 1u << 22;
inline constexpr uint32_t kVarBase = 1u << 23;
inline constexpr uint32_t kFoldBase = kVarBase + 1000;
inline constexpr uint32_t kDataBase = 1u << 24;

enum class SymbolKind : uint8_t { Size, Stride, Parallel, Folded, Datum };
SymbolKind kind_of(uint32_t symbol);

inline Dim parallel_var(size_t n) { return Dim::symbol(kVarBase + static_cast<uint32_t>(n)); }
inline Dim folded_var(size_t n) { return Dim::symbol(kFoldBase + static_cast<uint32_t>(n)); }
inline Dim datum(size_t value) { return Dim::symbol(kDataBase + static_cast<uint32_t>(value)); }
inline Dim stride_symbol(size_t input, size_t dim) {
    return Dim::symbol(kStrideBase + static_cast<uint32_t>(input * 64 + dim));
}
// A loop variable or a datum.
bool is_running(uint32_t symbol);

// Knows how far each running symbol goes, and so what quotients and remainders come to.
class Ranges {
  public:
    std::function<Dim(uint32_t symbol)> size_of;  // of a running symbol

    // The expression lies in [0, bound) for all values of its running symbols.
    bool within(Dim expr, Dim bound) const;
    Dim quotient(Dim a, Dim b) const;
    Dim remainder(Dim a, Dim b) const;
    // Coordinates in `shape` of the element with that row-major number.
    Shape unflatten(Dim number, const Shape& shape) const;
};

Dim row_major(const Shape& index, const Shape& shape);
Dim product(std::span<const Dim> sizes);
Dim product(const Shape& shape);

// expr = rest + coefficient * symbol, with neither holding the symbol; none when it stands inside // or %, or squared.
struct Linear {
    Dim coefficient, rest;
};
std::optional<Linear> linear_in(Dim expr, uint32_t symbol);
bool mentions(Dim expr, uint32_t symbol);

// "512*i0 + r0", "n0 - 1".
std::string text_of(Dim expr);

}  // namespace talc::inductor::loops
