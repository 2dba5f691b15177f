#pragma once
// Dimensions that need not be numbers: polynomials with integer coefficients over symbols (s0, s1, ...), floor
// quotients and remainders, kept in one normal form and interned, so that equal means the same pointer. Symbols
// stand for sizes of at least 2 (0 and 1 are always plain numbers), so every atom is known not to be negative.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace talc::graph {

struct DimExpr;

class Dim {
  public:
    constexpr Dim() = default;
    constexpr Dim(int64_t value) : value_(value) {}
    constexpr Dim(int value) : value_(value) {}
    static Dim symbol(uint32_t id);

    bool is_constant() const { return expr_ == nullptr; }
    int64_t constant() const { return value_; }  // meaningful for constants only
    const DimExpr* expr() const { return expr_; }
    // The symbol's number if this is just a symbol, else -1.
    int64_t symbol_id() const;

    friend bool operator==(Dim a, Dim b) { return a.expr_ == b.expr_ && a.value_ == b.value_; }

    friend Dim operator+(Dim a, Dim b);
    friend Dim operator-(Dim a, Dim b);
    friend Dim operator*(Dim a, Dim b);

  private:
    friend Dim make_dim(std::vector<struct DimTerm> terms);
    explicit Dim(const DimExpr* expr) : expr_(expr) {}

    int64_t value_ = 0;
    const DimExpr* expr_ = nullptr;
};

// The normal form of a sum of terms.
Dim make_dim(std::vector<struct DimTerm> terms);
// Towards minus infinity; b is not 0. Exact quotients of polynomials by a term come out without //.
Dim floor_div(Dim a, Dim b);
Dim modulo(Dim a, Dim b);
// b divides a whatever the symbols are.
bool divides(Dim b, Dim a);
// a <= b whatever the symbols are (they are at least 2).
bool always_at_most(Dim a, Dim b);

// What a polynomial is made of besides numbers.
struct DimAtom {
    enum Kind : uint8_t { Symbol, FloorDiv, Mod } kind;
    uint32_t symbol = 0;
    Dim a, b;
    uint64_t order = 0;  // of making: sorts atoms
};
struct DimTerm {
    int64_t factor;
    std::vector<const DimAtom*> atoms;  // sorted, repeated for powers; empty: the constant term
};
struct DimExpr {
    std::vector<DimTerm> terms;  // sorted; never just a constant
    size_t hash = 0;
};

// The value with each symbol replaced.
int64_t evaluate(Dim dim, const std::function<int64_t(uint32_t symbol)>& value_of);
Dim substitute(Dim dim, const std::function<Dim(uint32_t symbol)>& dim_of);
// Every symbol that occurs, each once, ascending.
void collect_symbols(Dim dim, std::vector<uint32_t>& symbols);

// "s0*512 + 4", "(s0 + 1)//2".
std::string to_string(Dim dim);
size_t hash_of(Dim dim);

}  // namespace talc::graph
