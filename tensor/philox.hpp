#pragma once
// Random numbers by counter: Philox4x32-10 (Salmon et al., 2011). Key = seed; counter = (logical element / 4,
// stream position); element i takes word i % 4. So CPU, GPU, eager and compiled code give the same numbers in any
// order. The transforms use plain float multiplications and additions in a fixed order (no fused ones) and are
// therefore the same everywhere, bit by bit.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace talc::tensor::philox {

// kCount blocks in step, numbered from `number` on: words[4 * i + j] is word j of block i.
template <size_t kCount>
inline void blocks(uint64_t seed, uint64_t position, uint64_t number, uint32_t* words) {
    constexpr uint32_t kMul0 = 0xD2511F53u, kMul1 = 0xCD9E8D57u;
    constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
    uint32_t c0[kCount], c1[kCount], c2[kCount], c3[kCount];
    for (size_t i = 0; i < kCount; ++i) {
        c0[i] = static_cast<uint32_t>(number + i);
        c1[i] = static_cast<uint32_t>((number + i) >> 32);
        c2[i] = static_cast<uint32_t>(position);
        c3[i] = static_cast<uint32_t>(position >> 32);
    }
    uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        for (size_t i = 0; i < kCount; ++i) {
            uint64_t p0 = uint64_t{kMul0} * c0[i];
            uint64_t p1 = uint64_t{kMul1} * c2[i];
            c0[i] = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
            c2[i] = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
            c1[i] = static_cast<uint32_t>(p1);
            c3[i] = static_cast<uint32_t>(p0);
        }
        k0 += kWeyl0;
        k1 += kWeyl1;
    }
    for (size_t i = 0; i < kCount; ++i) {
        words[4 * i] = c0[i];
        words[4 * i + 1] = c1[i];
        words[4 * i + 2] = c2[i];
        words[4 * i + 3] = c3[i];
    }
}

inline std::array<uint32_t, 4> block(uint64_t seed, uint64_t position, uint64_t number) {
    std::array<uint32_t, 4> words;
    blocks<1>(seed, position, number, words.data());
    return words;
}

inline uint32_t word(uint64_t seed, uint64_t position, uint64_t element) {
    return block(seed, position, element / 4)[element % 4];
}

// In [0, 1), a multiple of 2^-24.
inline float uniform(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

// ln(x) for normal positive x: x = m * 2^e with m in [sqrt(1/2), sqrt(2)), then a polynomial in m - 1.
inline float log_positive(float x) {
    uint32_t bits = std::bit_cast<uint32_t>(x) - 0x3f3504f3u;
    float e = static_cast<float>(static_cast<int32_t>(bits) >> 23);
    float f = std::bit_cast<float>((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    constexpr float kPoly[] = {-8.3055645e-02f, 1.2798963e-01f, -1.294339e-01f, 1.419023e-01f,
                               -1.664349e-01f,  2.0001881e-01f, -2.500028e-01f, 3.3333325e-01f};
    float p = kPoly[0];
    for (size_t i = 1; i < std::size(kPoly); ++i) p = p * f + kPoly[i];
    float square = f * f;
    return e * 0.693359375f + ((e * -2.12194440e-4f + square * f * p) - 0.5f * square + f);
}

// Inverse of the normal distribution function at (signed bits + 1/2) / 2^32 + 1/2: one word, one number.
// sqrt(2) * erfinv(x) = x * P(w), w = -ln((1 - x)(1 + x)), in two pieces, fitted by minimax. In two steps, with the
// square root of w between them, so that loops can take roots of whole runs.
inline float normal_depth(uint32_t bits) {
    int32_t whole = static_cast<int32_t>(bits);
    uint32_t m = static_cast<uint32_t>(whole >= 0 ? whole : ~whole);  // |x| = (m + 1/2) / 2^31
    // 1 - |x| from the integer, so that the tail keeps its digits: out to 6.3 standard deviations.
    float below = static_cast<float>(2u * (0x7fffffffu - m) + 1u) * 0x1p-32f;
    return -log_positive(below * (2.0f - below));
}
inline float normal_from(uint32_t bits, float w, float root) {
    constexpr float kCentre[] = {-1.243244e-08f, 3.2855734e-08f, 6.592649e-07f,   -4.897002e-06f, -7.019233e-06f,
                                  3.0878565e-04f, -1.7716446e-03f, -5.907717e-03f, 3.4880203e-01f, 2.1233134e+00f};
    constexpr float kTail[] = {-1.1261248e-05f, -2.0648245e-04f, 1.6280253e-03f, -4.78893e-03f, 8.212143e-03f,
                                -1.0919611e-02f, 1.3334204e-02f,  1.4165932e+00f, 4.006435e+00f};
    float x = (static_cast<float>(static_cast<int32_t>(bits)) + 0.5f) * 0x1p-31f;
    float u = w - 2.5f;
    float centre = kCentre[0];
    for (size_t i = 1; i < std::size(kCentre); ++i) centre = centre * u + kCentre[i];
    float v = root - 3.0f;
    float tail = kTail[0];
    for (size_t i = 1; i < std::size(kTail); ++i) tail = tail * v + kTail[i];
    return x * (w < 5.0f ? centre : tail);
}
inline float normal(uint32_t bits) {
    float w = normal_depth(bits);
    return normal_from(bits, w, std::sqrt(w));
}

}  // namespace talc::tensor::philox
