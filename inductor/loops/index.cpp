#include "inductor/loops/index.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace talc::inductor::loops {

using graph::DimAtom;
using graph::DimTerm;
using graph::make_dim;

namespace {

std::vector<DimTerm> terms_of(Dim dim) {
    if (!dim.is_constant()) return dim.expr()->terms;
    if (dim.constant() == 0) return {};
    return {{dim.constant(), {}}};
}

bool holds(const DimAtom* atom, uint32_t symbol) {
    if (atom->kind == DimAtom::Symbol) return atom->symbol == symbol;
    return mentions(atom->a, symbol) || mentions(atom->b, symbol);
}

bool holds_running(const DimAtom* atom) {
    if (atom->kind == DimAtom::Symbol) return is_running(atom->symbol);
    auto running = [](Dim dim) {
        std::vector<uint32_t> symbols;
        collect_symbols(dim, symbols);
        return std::any_of(symbols.begin(), symbols.end(), is_running);
    };
    return running(atom->a) || running(atom->b);
}

}  // namespace

SymbolKind kind_of(uint32_t symbol) {
    if (symbol >= kDataBase) return SymbolKind::Datum;
    if (symbol >= kFoldBase) return SymbolKind::Folded;
    if (symbol >= kVarBase) return SymbolKind::Parallel;
    return symbol >= kStrideBase ? SymbolKind::Stride : SymbolKind::Size;
}

bool is_running(uint32_t symbol) { return symbol >= kVarBase; }

bool mentions(Dim expr, uint32_t symbol) {
    if (expr.is_constant()) return false;
    for (const DimTerm& term : expr.expr()->terms) {
        for (const DimAtom* atom : term.atoms) {
            if (holds(atom, symbol)) return true;
        }
    }
    return false;
}

bool Ranges::within(Dim expr, Dim bound) const {
    // With every running symbol at its end. Quotients of running symbols are not followed; a remainder is below its
    // divisor.
    Dim most(0);
    for (const DimTerm& term : terms_of(expr)) {
        if (term.factor < 0) return false;
        Dim value(term.factor);
        for (const DimAtom* atom : term.atoms) {
            if (atom->kind == DimAtom::Symbol) {
                value = value * (is_running(atom->symbol) ? size_of(atom->symbol) - Dim(1) : Dim::symbol(atom->symbol));
            } else if (!holds_running(atom)) {
                value = value * (atom->kind == DimAtom::FloorDiv ? floor_div(atom->a, atom->b) : modulo(atom->a, atom->b));
            } else if (atom->kind == DimAtom::Mod) {
                value = value * (atom->b - Dim(1));
            } else {
                return false;
            }
        }
        most = most + value;
    }
    return always_at_most(most + Dim(1), bound);
}

Dim Ranges::quotient(Dim a, Dim b) const {
    if (b == Dim(1)) return a;
    Dim exact(0), rest(0);
    for (DimTerm& term : terms_of(a)) {
        Dim one = make_dim({std::move(term)});
        if (divides(b, one)) {
            exact = exact + floor_div(one, b);
        } else {
            rest = rest + one;
        }
    }
    if (rest == Dim(0) || within(rest, b)) return exact;
    // (x // c) // b is x // (c * b).
    if (!rest.is_constant() && rest.expr()->terms.size() == 1) {
        const DimTerm& term = rest.expr()->terms[0];
        if (term.factor == 1 && term.atoms.size() == 1 && term.atoms[0]->kind == DimAtom::FloorDiv) {
            return exact + quotient(term.atoms[0]->a, term.atoms[0]->b * b);
        }
    }
    return exact + floor_div(rest, b);
}

Dim Ranges::remainder(Dim a, Dim b) const {
    if (b == Dim(1)) return Dim(0);
    Dim rest(0);
    for (DimTerm& term : terms_of(a)) {
        Dim one = make_dim({std::move(term)});
        if (!divides(b, one)) rest = rest + one;
    }
    return rest == Dim(0) || within(rest, b) ? rest : modulo(rest, b);
}

Shape Ranges::unflatten(Dim number, const Shape& shape) const {
    Shape index(shape.size(), Dim(0));
    size_t first = 0;
    while (first < shape.size() && shape[first] == Dim(1)) ++first;
    for (size_t d = shape.size(); d-- > 0;) {
        if (shape[d] == Dim(1)) continue;
        if (shape[d] == Dim(0)) return Shape(shape.size(), Dim(0));  // no element is ever asked for
        if (d == first) {
            index[d] = number;
            break;
        }
        index[d] = remainder(number, shape[d]);
        number = quotient(number, shape[d]);
    }
    return index;
}

Dim row_major(const Shape& index, const Shape& shape) {
    Dim number(0);
    for (size_t d = 0; d < shape.size(); ++d) number = number * shape[d] + index[d];
    return number;
}

Dim product(std::span<const Dim> sizes) {
    Dim result(1);
    for (Dim size : sizes) result = result * size;
    return result;
}

Dim product(const Shape& shape) { return product(std::span<const Dim>(shape.data(), shape.size())); }

std::optional<Linear> linear_in(Dim expr, uint32_t symbol) {
    Linear result{Dim(0), Dim(0)};
    for (DimTerm& term : terms_of(expr)) {
        auto found = std::find_if(term.atoms.begin(), term.atoms.end(), [&](const DimAtom* a) { return holds(a, symbol); });
        if (found == term.atoms.end()) {
            result.rest = result.rest + make_dim({std::move(term)});
            continue;
        }
        if ((*found)->kind != DimAtom::Symbol) return std::nullopt;
        term.atoms.erase(found);
        if (std::any_of(term.atoms.begin(), term.atoms.end(), [&](const DimAtom* a) { return holds(a, symbol); })) {
            return std::nullopt;
        }
        result.coefficient = result.coefficient + make_dim({std::move(term)});
    }
    return result;
}

namespace {

std::string name_of_symbol(uint32_t symbol) {
    switch (kind_of(symbol)) {
        case SymbolKind::Size: return fmt::format("n{}", symbol);
        case SymbolKind::Stride:
            return fmt::format("t{}_{}", (symbol - kStrideBase) / 64, (symbol - kStrideBase) % 64);
        case SymbolKind::Parallel: return fmt::format("i{}", symbol - kVarBase);
        case SymbolKind::Folded: return fmt::format("r{}", symbol - kFoldBase);
        case SymbolKind::Datum: return fmt::format("%{}", symbol - kDataBase);
    }
    return "?";
}

}  // namespace

std::string text_of(Dim expr) {
    if (expr.is_constant()) return std::to_string(expr.constant());
    std::string text;
    for (const DimTerm& term : expr.expr()->terms) {
        int64_t factor = term.factor;
        if (!text.empty()) {
            text += factor < 0 ? " - " : " + ";
            factor = factor < 0 ? -factor : factor;
        }
        std::string atoms;
        for (const DimAtom* atom : term.atoms) {
            if (!atoms.empty()) atoms += '*';
            atoms += atom->kind == DimAtom::Symbol
                         ? name_of_symbol(atom->symbol)
                         : fmt::format("(({}){}({}))", text_of(atom->a), atom->kind == DimAtom::FloorDiv ? "//" : "%",
                                       text_of(atom->b));
        }
        if (atoms.empty()) {
            text += std::to_string(factor);
        } else {
            text += factor == 1 ? atoms : fmt::format("{}*{}", factor, atoms);
        }
    }
    return text;
}

}  // namespace talc::inductor::loops
