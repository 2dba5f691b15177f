#include "inductor/passes/memory_plan.hpp"

#include <algorithm>
#include <numeric>

namespace talc::inductor {

size_t place_in_arena(std::vector<Lifetime>& lifetimes) {
    constexpr size_t kAlign = 64;
    std::vector<size_t> order(lifetimes.size());
    std::iota(order.begin(), order.end(), 0);
    // The largest first, each as low as it can lie.
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
    std::vector<const Lifetime*> placed;  // by offset
    size_t total = 0;
    for (size_t i : order) {
        Lifetime& own = lifetimes[i];
        size_t at = 0;
        for (const Lifetime* other : placed) {
            bool together = own.first <= other->last && other->first <= own.last;
            if (!together || other->offset + other->bytes <= at) continue;
            if (other->offset >= at + own.bytes) break;
            at = (other->offset + other->bytes + kAlign - 1) / kAlign * kAlign;
        }
        own.offset = at;
        placed.insert(std::upper_bound(placed.begin(), placed.end(), &own,
                                       [](const Lifetime* a, const Lifetime* b) { return a->offset < b->offset; }),
                      &own);
        total = std::max(total, at + own.bytes);
    }
    return total;
}

}  // namespace talc::inductor
