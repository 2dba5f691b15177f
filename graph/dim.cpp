#include "graph/dim.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "tensor/error.hpp"

namespace talc::graph {

namespace {

size_t mix(size_t h, size_t value) { return (h ^ value) * 0x9e3779b97f4a7c15u + (h >> 17); }

int64_t checked_mul(int64_t a, int64_t b) {
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product)) tensor::fail("a symbolic size overflows a 64-bit integer");
    return product;
}

int64_t checked_add(int64_t a, int64_t b) {
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) tensor::fail("a symbolic size overflows a 64-bit integer");
    return sum;
}

int64_t floor_quotient(int64_t a, int64_t b) {
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

bool less(const std::vector<const DimAtom*>& a, const std::vector<const DimAtom*>& b) {
    if (a.size() != b.size()) return a.size() > b.size();  // the constant term last
    for (size_t i = 0; i < a.size(); ++i) {
        if (a[i] != b[i]) return a[i]->order < b[i]->order;
    }
    return false;
}

struct ExprHash {
    size_t operator()(const DimExpr& e) const { return e.hash; }
};
struct ExprEqual {
    bool operator()(const DimExpr& a, const DimExpr& b) const {
        return a.terms.size() == b.terms.size() &&
               std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), [](const DimTerm& x, const DimTerm& y) {
                   return x.factor == y.factor && x.atoms == y.atoms;
               });
    }
};

// Process-wide, locked, only ever added to: expressions are few and small, and graphs of several threads share them.
class Table {
  public:
    const DimExpr* intern(DimExpr expr) {
        expr.hash = 0;
        for (const DimTerm& term : expr.terms) {
            expr.hash = mix(expr.hash, static_cast<size_t>(term.factor));
            for (const DimAtom* atom : term.atoms) expr.hash = mix(expr.hash, atom->order + 1);
        }
        std::lock_guard lock(mutex_);
        return &*exprs_.insert(std::move(expr)).first;
    }

    const DimAtom* symbol(uint32_t id) {
        std::lock_guard lock(mutex_);
        auto& found = symbols_[id];
        // Symbols sort by their number, before all other atoms.
        if (!found) found = std::make_unique<DimAtom>(DimAtom{DimAtom::Symbol, id, {}, {}, id});
        return found.get();
    }

    const DimAtom* quotient(DimAtom::Kind kind, Dim a, Dim b) {
        std::lock_guard lock(mutex_);
        for (const auto& atom : quotients_[mix(mix(hash_of(a), hash_of(b)), kind)]) {
            if (atom->kind == kind && atom->a == a && atom->b == b) return atom.get();
        }
        auto& bucket = quotients_[mix(mix(hash_of(a), hash_of(b)), kind)];
        bucket.push_back(std::make_unique<DimAtom>(DimAtom{kind, 0, a, b, (uint64_t{1} << 40) + made_++}));
        return bucket.back().get();
    }

  private:
    std::mutex mutex_;
    std::unordered_set<DimExpr, ExprHash, ExprEqual> exprs_;
    std::unordered_map<uint32_t, std::unique_ptr<DimAtom>> symbols_;
    std::unordered_map<size_t, std::vector<std::unique_ptr<DimAtom>>> quotients_;
    uint64_t made_ = 0;
};

Table& table() {
    static Table* shared = new Table;
    return *shared;
}

std::vector<DimTerm> terms_of(Dim dim) {
    if (!dim.is_constant()) return dim.expr()->terms;
    if (dim.constant() == 0) return {};
    return {{dim.constant(), {}}};
}

Dim from_atom(const DimAtom* atom) { return make_dim({{1, {atom}}}); }

// a / b for a single term b, if every term of a has b's atoms and a multiple of its factor.
bool exact_quotient(Dim a, const DimTerm& b, Dim& result) {
    std::vector<DimTerm> terms = terms_of(a);
    for (DimTerm& term : terms) {
        if (b.factor == 0 || term.factor % b.factor != 0) return false;
        term.factor /= b.factor;
        for (const DimAtom* atom : b.atoms) {
            auto found = std::find(term.atoms.begin(), term.atoms.end(), atom);
            if (found == term.atoms.end()) return false;
            term.atoms.erase(found);
        }
    }
    result = make_dim(std::move(terms));
    return true;
}

}  // namespace

Dim make_dim(std::vector<DimTerm> terms) {
    std::sort(terms.begin(), terms.end(), [](const DimTerm& x, const DimTerm& y) { return less(x.atoms, y.atoms); });
    std::vector<DimTerm> merged;
    for (DimTerm& term : terms) {
        if (!merged.empty() && merged.back().atoms == term.atoms) {
            merged.back().factor = checked_add(merged.back().factor, term.factor);
        } else {
            merged.push_back(std::move(term));
        }
    }
    std::erase_if(merged, [](const DimTerm& term) { return term.factor == 0; });
    if (merged.empty()) return Dim(0);
    if (merged.size() == 1 && merged[0].atoms.empty()) return Dim(merged[0].factor);
    return Dim(table().intern({std::move(merged), 0}));
}

Dim Dim::symbol(uint32_t id) { return from_atom(table().symbol(id)); }

int64_t Dim::symbol_id() const {
    if (!expr_ || expr_->terms.size() != 1) return -1;
    const DimTerm& term = expr_->terms[0];
    if (term.factor != 1 || term.atoms.size() != 1 || term.atoms[0]->kind != DimAtom::Symbol) return -1;
    return term.atoms[0]->symbol;
}

Dim operator+(Dim a, Dim b) {
    if (a.is_constant() && b.is_constant()) return Dim(checked_add(a.value_, b.value_));
    std::vector<DimTerm> terms = terms_of(a);
    for (DimTerm& term : terms_of(b)) terms.push_back(std::move(term));
    return make_dim(std::move(terms));
}

Dim operator-(Dim a, Dim b) { return a + b * Dim(-1); }

Dim operator*(Dim a, Dim b) {
    if (a.is_constant() && b.is_constant()) return Dim(checked_mul(a.value_, b.value_));
    std::vector<DimTerm> terms;
    for (const DimTerm& x : terms_of(a)) {
        for (const DimTerm& y : terms_of(b)) {
            DimTerm product{checked_mul(x.factor, y.factor), x.atoms};
            product.atoms.insert(product.atoms.end(), y.atoms.begin(), y.atoms.end());
            std::sort(product.atoms.begin(), product.atoms.end(),
                      [](const DimAtom* p, const DimAtom* q) { return p->order < q->order; });
            terms.push_back(std::move(product));
        }
    }
    return make_dim(std::move(terms));
}

Dim floor_div(Dim a, Dim b) {
    if (b.is_constant() && b.constant() == 0) tensor::fail("division of a symbolic size by zero");
    if (a.is_constant() && b.is_constant()) return Dim(floor_quotient(a.constant(), b.constant()));
    if (a == b) return Dim(1);
    std::vector<DimTerm> divisor = terms_of(b);
    Dim result;
    if (divisor.size() == 1 && exact_quotient(a, divisor[0], result)) return result;
    return from_atom(table().quotient(DimAtom::FloorDiv, a, b));
}

Dim modulo(Dim a, Dim b) {
    if (divides(b, a)) return Dim(0);
    if (a.is_constant() && b.is_constant()) {
        return Dim(a.constant() - floor_quotient(a.constant(), b.constant()) * b.constant());
    }
    return from_atom(table().quotient(DimAtom::Mod, a, b));
}

bool divides(Dim b, Dim a) {
    if (a == b) return true;
    std::vector<DimTerm> divisor = terms_of(b);
    Dim result;
    return divisor.size() == 1 && exact_quotient(a, divisor[0], result);
}

bool always_at_most(Dim a, Dim b) {
    // b - a with every atom at its least: a symbol is at least 2, other atoms at least 0.
    Dim difference = b - a;
    int64_t least = 0;
    for (const DimTerm& term : terms_of(difference)) {
        if (term.atoms.empty()) {
            least += term.factor;
            continue;
        }
        if (term.factor < 0) return false;
        bool symbols = std::all_of(term.atoms.begin(), term.atoms.end(),
                                   [](const DimAtom* atom) { return atom->kind == DimAtom::Symbol; });
        int64_t value = symbols ? term.factor : 0;
        for (size_t i = 0; symbols && i < term.atoms.size() && i < 8 && value < (int64_t{1} << 40); ++i) value *= 2;
        least += std::min<int64_t>(value, int64_t{1} << 40);
    }
    return least >= 0;
}

int64_t evaluate(Dim dim, const std::function<int64_t(uint32_t)>& value_of) {
    if (dim.is_constant()) return dim.constant();
    int64_t sum = 0;
    for (const DimTerm& term : dim.expr()->terms) {
        int64_t product = term.factor;
        for (const DimAtom* atom : term.atoms) {
            if (atom->kind == DimAtom::Symbol) {
                product = checked_mul(product, value_of(atom->symbol));
                continue;
            }
            int64_t a = evaluate(atom->a, value_of), b = evaluate(atom->b, value_of);
            if (b == 0) tensor::fail("division of a symbolic size by zero");
            int64_t q = floor_quotient(a, b);
            product = checked_mul(product, atom->kind == DimAtom::FloorDiv ? q : a - q * b);
        }
        sum = checked_add(sum, product);
    }
    return sum;
}

Dim substitute(Dim dim, const std::function<Dim(uint32_t)>& dim_of) {
    if (dim.is_constant()) return dim;
    Dim sum(0);
    for (const DimTerm& term : dim.expr()->terms) {
        Dim product(term.factor);
        for (const DimAtom* atom : term.atoms) {
            switch (atom->kind) {
                case DimAtom::Symbol: product = product * dim_of(atom->symbol); break;
                case DimAtom::FloorDiv:
                    product = product * floor_div(substitute(atom->a, dim_of), substitute(atom->b, dim_of));
                    break;
                case DimAtom::Mod:
                    product = product * modulo(substitute(atom->a, dim_of), substitute(atom->b, dim_of));
                    break;
            }
        }
        sum = sum + product;
    }
    return sum;
}

void collect_symbols(Dim dim, std::vector<uint32_t>& symbols) {
    if (dim.is_constant()) return;
    for (const DimTerm& term : dim.expr()->terms) {
        for (const DimAtom* atom : term.atoms) {
            if (atom->kind == DimAtom::Symbol) {
                symbols.push_back(atom->symbol);
            } else {
                collect_symbols(atom->a, symbols);
                collect_symbols(atom->b, symbols);
            }
        }
    }
    std::sort(symbols.begin(), symbols.end());
    symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
}

std::string to_string(Dim dim) {
    if (dim.is_constant()) return std::to_string(dim.constant());
    auto operand = [](Dim d) {
        bool plain = d.is_constant() ? d.constant() >= 0 : d.symbol_id() >= 0;
        return plain ? to_string(d) : "(" + to_string(d) + ")";
    };
    std::string text;
    for (const DimTerm& term : dim.expr()->terms) {
        int64_t factor = term.factor;
        if (!text.empty()) {
            text += factor < 0 ? " - " : " + ";
            factor = factor < 0 ? -factor : factor;
        }
        std::string product;
        for (const DimAtom* atom : term.atoms) {
            std::string piece = atom->kind == DimAtom::Symbol
                                    ? fmt::format("s{}", atom->symbol)
                                    : fmt::format("({}{}{})", operand(atom->a),
                                                  atom->kind == DimAtom::FloorDiv ? "//" : "%", operand(atom->b));
            product += product.empty() ? piece : "*" + piece;
        }
        if (product.empty()) {
            text += std::to_string(factor);
        } else {
            text += factor == 1 ? product : fmt::format("{}*{}", factor, product);
        }
    }
    return text;
}

size_t hash_of(Dim dim) {
    return dim.is_constant() ? mix(0x51, static_cast<size_t>(dim.constant())) : dim.expr()->hash;
}

}  // namespace talc::graph
