#include "inductor/passes/arrange.hpp"

#include <algorithm>
#include <numeric>

namespace talc::inductor {

using loops::Dim;
using loops::Kernel;
using loops::Value;
using loops::ValueId;

namespace {

using Rename = std::function<Dim(uint32_t symbol)>;

void rename(Kernel& kernel, const Rename& to) {
    loops::for_each_index(kernel, [&](Dim& index) { index = substitute(index, to); });
}

// How far apart in memory neighbours along the variable lie, summed over accesses; stores count most.
double distance(const Kernel& kernel, uint32_t var, const std::function<int64_t(Dim)>& hint) {
    double sum = 0;
    auto look = [&](Dim index, double weight) {
        if (!loops::mentions(index, var)) return;
        auto linear = loops::linear_in(index, var);
        sum += weight * (linear ? static_cast<double>(hint(linear->coefficient)) : 1.0);
    };
    for (const Value& value : kernel.values) {
        if (value.kind == Value::Load) look(value.index, 1);
    }
    for (const loops::Store& store : kernel.stores) look(store.index, 1.5);
    return sum;
}

// Loops with the farthest steps outside.
void order_loops(Kernel& kernel, std::vector<Dim>& sizes, uint32_t base, const std::function<int64_t(Dim)>& hint) {
    std::vector<size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<double> far;
    for (size_t i = 0; i < sizes.size(); ++i) far.push_back(distance(kernel, base + static_cast<uint32_t>(i), hint));
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return far[a] > far[b]; });
    if (std::is_sorted(order.begin(), order.end())) return;
    std::vector<Dim> sorted;
    std::vector<uint32_t> place(sizes.size());
    for (size_t i = 0; i < order.size(); ++i) {
        sorted.push_back(sizes[order[i]]);
        place[order[i]] = static_cast<uint32_t>(i);
    }
    sizes = std::move(sorted);
    rename(kernel, [&](uint32_t s) {
        return Dim::symbol(s >= base && s < base + place.size() ? base + place[s - base] : s);
    });
}

// Neighbours (outer, inner) in which every index advances as if they were one loop.
void merge_loops(Kernel& kernel, std::vector<Dim>& sizes, uint32_t base) {
    for (size_t i = 0; i + 1 < sizes.size();) {
        uint32_t outer = base + static_cast<uint32_t>(i), inner = outer + 1;
        bool one = true;
        loops::for_each_index(kernel, [&](Dim& index) {
            if (!one || (!loops::mentions(index, outer) && !loops::mentions(index, inner))) return;
            auto a = loops::linear_in(index, outer), b = loops::linear_in(index, inner);
            one = a && b && a->coefficient == b->coefficient * sizes[i + 1] && !loops::mentions(a->coefficient, inner);
        });
        if (!one) {
            ++i;
            continue;
        }
        sizes[i] = sizes[i] * sizes[i + 1];
        sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        rename(kernel, [&](uint32_t s) {
            if (s == outer) return Dim(0);
            bool later = s >= inner && s < base + sizes.size() + 1;
            return Dim::symbol(later ? s - 1 : s);
        });
    }
}

void drop_unused(Kernel& kernel) {
    std::vector<loops::Placement> places = place(kernel);
    std::vector<ValueId> fresh(kernel.values.size(), 0);
    std::vector<Value> kept;
    for (size_t i = 0; i < kernel.values.size(); ++i) {
        if (!places[i].used) continue;
        fresh[i] = static_cast<ValueId>(kept.size());
        kept.push_back(kernel.values[i]);
        for (size_t k = 0; k < kept.back().operand_count; ++k) kept.back().operands[k] = fresh[kept.back().operands[k]];
    }
    if (kept.size() == kernel.values.size()) return;
    kernel.values = std::move(kept);
    for (loops::Store& store : kernel.stores) store.value = fresh[store.value];
    rename(kernel, [&](uint32_t s) {
        return loops::kind_of(s) == loops::SymbolKind::Datum ? loops::datum(fresh[s - loops::kDataBase]) : Dim::symbol(s);
    });
}

void number_sizes(Kernel& kernel) {
    std::vector<uint32_t> seen;
    auto look = [&](Dim dim) {
        std::vector<uint32_t> symbols;
        collect_symbols(dim, symbols);
        for (uint32_t s : symbols) {
            if (!loops::is_running(s) && std::find(seen.begin(), seen.end(), s) == seen.end()) seen.push_back(s);
        }
    };
    for (Dim size : kernel.parallel) look(size);
    for (Dim size : kernel.folded) look(size);
    loops::for_each_index(kernel, look);
    kernel.params.clear();
    for (uint32_t s : seen) kernel.params.push_back(Dim::symbol(s));
    Rename to = [&](uint32_t s) {
        auto found = std::find(seen.begin(), seen.end(), s);
        return found == seen.end() ? Dim::symbol(s) : Dim::symbol(static_cast<uint32_t>(found - seen.begin()));
    };
    for (Dim& size : kernel.parallel) size = substitute(size, to);
    for (Dim& size : kernel.folded) size = substitute(size, to);
    rename(kernel, to);
}

void number_buffers(Kernel& kernel, std::vector<uint32_t>& outside) {
    std::vector<uint32_t> order;
    auto see = [&](uint32_t& buffer) {
        auto found = std::find(order.begin(), order.end(), buffer);
        if (found == order.end()) {
            order.push_back(buffer);
            buffer = static_cast<uint32_t>(order.size() - 1);
        } else {
            buffer = static_cast<uint32_t>(found - order.begin());
        }
    };
    for (Value& value : kernel.values) {
        if (value.kind == Value::Load) see(value.buffer);
    }
    for (loops::Store& store : kernel.stores) see(store.buffer);
    std::vector<loops::Buffer> buffers;
    std::vector<uint32_t> kept;
    for (uint32_t old : order) {
        buffers.push_back(kernel.buffers[old]);
        kept.push_back(outside[old]);
    }
    kernel.buffers = std::move(buffers);
    outside = std::move(kept);
}

}  // namespace

void arrange(Kernel& kernel, std::vector<uint32_t>& buffers, const std::function<int64_t(Dim)>& hint) {
    drop_unused(kernel);
    order_loops(kernel, kernel.parallel, loops::kVarBase, hint);
    order_loops(kernel, kernel.folded, loops::kFoldBase, hint);
    merge_loops(kernel, kernel.parallel, loops::kVarBase);
    merge_loops(kernel, kernel.folded, loops::kFoldBase);
    number_sizes(kernel);
    number_buffers(kernel, buffers);
}

}  // namespace talc::inductor
