#pragma once
// Loops over bytes in blocks of a constant size, which the compiler turns into vector code without being
// asked to vectorise everything else.
#include <cstdint>
#include <cstring>

namespace talc::text {

inline constexpr size_t kBlock = 32;

// to[i] = map(from[i])
template <class Map>
void map_bytes(char* to, const char* from, size_t n, Map map) {
    size_t i = 0;
    for (; n - i >= kBlock; i += kBlock) {
        char block[kBlock];  // a copy, so that the two pointers need not be known to be apart
        std::memcpy(block, from + i, kBlock);
        for (char& c : block) c = map(c);
        std::memcpy(to + i, block, kBlock);
    }
    for (; i < n; ++i) to[i] = map(from[i]);
}

inline size_t count_byte(const char* from, size_t n, char wanted) {
    size_t total = 0;
    size_t i = 0;
    while (n - i >= kBlock) {
        // One counter a lane; a lane can take 255 hits before it is added up.
        uint8_t hits[kBlock] = {};
        for (int round = 0; round < 255 && n - i >= kBlock; ++round, i += kBlock) {
            char block[kBlock];
            std::memcpy(block, from + i, kBlock);
            for (size_t k = 0; k < kBlock; ++k)
                hits[k] = static_cast<uint8_t>(hits[k] + (block[k] == wanted));
        }
        for (uint8_t h : hits) total += h;
    }
    for (; i < n; ++i) total += from[i] == wanted;
    return total;
}

// memcpy for pieces that are mostly a few bytes long, where a call would cost more than the copy.
inline void copy_short(char* to, const char* from, size_t n) {
    if (n > 16) {
        std::memcpy(to, from, n);
    } else if (n >= 8) {
        uint64_t head, tail;
        std::memcpy(&head, from, 8);
        std::memcpy(&tail, from + n - 8, 8);
        std::memcpy(to, &head, 8);
        std::memcpy(to + n - 8, &tail, 8);
    } else if (n >= 4) {
        uint32_t head, tail;
        std::memcpy(&head, from, 4);
        std::memcpy(&tail, from + n - 4, 4);
        std::memcpy(to, &head, 4);
        std::memcpy(to + n - 4, &tail, 4);
    } else if (n != 0) {
        to[0] = from[0];
        to[n / 2] = from[n / 2];
        to[n - 1] = from[n - 1];
    }
}

}  // namespace talc::text
