#include "graph/dim_env.hpp"

#include <algorithm>

#include "tensor/error.hpp"

namespace talc::graph {

std::string to_string(const DimFact& fact) {
    static constexpr const char* kSigns[] = {" == ", " != ", " <= ", " > "};
    return to_string(fact.a) + kSigns[fact.kind] + to_string(fact.b);
}

bool holds(const DimFact& fact, const std::function<int64_t(uint32_t symbol)>& value_of) {
    int64_t a = evaluate(fact.a, value_of), b = evaluate(fact.b, value_of);
    switch (fact.kind) {
        case DimFact::Equal: return a == b;
        case DimFact::NotEqual: return a != b;
        case DimFact::AtMost: return a <= b;
        case DimFact::Above: return a > b;
    }
    return false;
}

Dim DimEnv::fresh(int64_t hint) {
    if (hint < 2) tensor::fail("a symbolic size must be at least 2, but is {}", hint);
    hints_.push_back(hint);
    return Dim::symbol(static_cast<uint32_t>(hints_.size() - 1));
}

Dim DimEnv::symbol(uint32_t id) {
    if (id >= hints_.size()) hints_.resize(id + 1);
    return Dim::symbol(id);
}

void DimEnv::set_hint(uint32_t symbol, int64_t hint) {
    if (symbol >= hints_.size()) hints_.resize(symbol + 1);
    hints_[symbol] = hint;
}

std::optional<int64_t> DimEnv::hint(Dim dim) const {
    std::vector<uint32_t> symbols;
    collect_symbols(dim, symbols);
    for (uint32_t symbol : symbols) {
        if (symbol >= hints_.size() || !hints_[symbol]) return std::nullopt;
    }
    return evaluate(dim, [&](uint32_t symbol) { return *hints_[symbol]; });
}

bool DimEnv::knows(const DimFact& fact) const { return std::find(facts_.begin(), facts_.end(), fact) != facts_.end(); }

void DimEnv::assume(DimFact fact) {
    if (!knows(fact)) facts_.push_back(fact);
}

bool DimEnv::same(Dim a, Dim b) {
    if (a == b) return true;
    Dim difference = a - b;
    if (difference.is_constant()) return false;
    if (always_at_most(a + Dim(1), b) || always_at_most(b + Dim(1), a)) return false;
    if (knows({DimFact::Equal, a, b}) || knows({DimFact::Equal, b, a})) return true;
    if (knows({DimFact::NotEqual, a, b}) || knows({DimFact::NotEqual, b, a})) return false;
    auto x = hint(a), y = hint(b);
    if (!x || !y) return false;
    assume({*x == *y ? DimFact::Equal : DimFact::NotEqual, a, b});
    return *x == *y;
}

bool DimEnv::at_most(Dim a, Dim b) {
    if (always_at_most(a, b)) return true;
    if (always_at_most(b + Dim(1), a)) return false;
    if (knows({DimFact::AtMost, a, b})) return true;
    if (knows({DimFact::Above, a, b})) return false;
    auto x = hint(a), y = hint(b);
    if (!x || !y) return false;
    assume({*x <= *y ? DimFact::AtMost : DimFact::Above, a, b});
    return *x <= *y;
}

bool DimEnv::divides(Dim b, Dim a) {
    if (b.is_constant() && b.constant() == 0) return false;
    if (graph::divides(b, a)) return true;
    return same(modulo(a, b), Dim(0));
}

}  // namespace talc::graph
