#pragma once
// Places in one arena for values that live between steps: what never lives at the same time may share memory. Sizes are
// numbers here; a plan with symbolic sizes is placed again when they change.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace talc::inductor {

struct Lifetime {
    uint32_t first, last;  // steps, inclusive
    size_t bytes;
    size_t offset = 0;  // found here
};
// The size of the arena.
size_t place_in_arena(std::vector<Lifetime>& lifetimes);

}  // namespace talc::inductor
