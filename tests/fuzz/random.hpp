#pragma once
// Random numbers that are a function of (seed, index) alone, so that any input of a run can be made again.
#include <cstddef>
#include <cstdint>

namespace talc::fuzz {

class Random {
  public:
    Random(uint64_t seed, uint64_t index) : state_(seed * 0x9E3779B97F4A7C15u + index * 0xD1B54A32D192ED03u) {
        next();
        next();
    }

    uint64_t next() {  // splitmix64
        uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    // 0 .. bound - 1; bound of 0 gives 0.
    size_t below(size_t bound) { return bound == 0 ? 0 : static_cast<size_t>(next() % bound); }
    bool chance(size_t one_in) { return below(one_in) == 0; }

  private:
    uint64_t state_;
};

}  // namespace talc::fuzz
