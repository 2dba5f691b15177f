#pragma once
// The symbols of one graph: the sizes with which it was recorded (hints), and what was assumed about them when
// rules asked. The assumptions become guards; with them the graph means the same for every size that passes.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/dim.hpp"

namespace talc::graph {

struct DimFact {
    enum Kind : uint8_t { Equal, NotEqual, AtMost, Above } kind;  // Above: a > b
    Dim a, b;
    friend bool operator==(const DimFact&, const DimFact&) = default;
};
std::string to_string(const DimFact& fact);
bool holds(const DimFact& fact, const std::function<int64_t(uint32_t symbol)>& value_of);

class DimEnv {
  public:
    // A fresh symbol for a size that was `hint` (at least 2) at recording.
    Dim fresh(int64_t hint);
    // A symbol of that number, without a hint if it is new (text form).
    Dim symbol(uint32_t id);
    void set_hint(uint32_t symbol, int64_t hint);
    size_t symbol_count() const { return hints_.size(); }

    // The value at recording, when every symbol in it has a hint.
    std::optional<int64_t> hint(Dim dim) const;

    // Answers by algebra, else by what was assumed before, else by the hints, which adds a fact. Without hints
    // sizes count as different and unordered.
    bool same(Dim a, Dim b);
    bool at_most(Dim a, Dim b);
    bool divides(Dim b, Dim a);

    std::span<const DimFact> facts() const { return facts_; }
    void assume(DimFact fact);
    bool knows(const DimFact& fact) const;

  private:
    std::vector<std::optional<int64_t>> hints_;
    std::vector<DimFact> facts_;
};

// The judge of tensor/shape_rules for symbolic dims.
struct DimJudge {
    using D = Dim;
    DimEnv& env;

    bool same(D a, D b) const { return env.same(a, b); }
    bool is(D a, int64_t value) const {
        if (a.is_constant()) return a.constant() == value;
        // Symbols are at least 2: what can never be 0, 1 or -1 needs no fact.
        if (value <= 1 && always_at_most(Dim(2), a)) return false;
        return env.same(a, Dim(value));
    }
    bool at_most(D a, D b) const { return env.at_most(a, b); }
    D add(D a, D b) const { return a + b; }
    D sub(D a, D b) const { return a - b; }
    D mul(D a, D b) const { return a * b; }
    bool divides(D a, D b) const { return env.divides(a, b); }
    D quotient(D a, D b) const { return floor_div(a, b); }
    D ceil_quotient(D a, D b) const { return floor_div(a + b - Dim(1), b); }
    std::string text(D a) const { return to_string(a); }
};

}  // namespace talc::graph
