#pragma once
// Elementary functions without branches, so that loops over them become vector code: float32 to about 2 ulp
// (polynomials fitted by minimax on the reduced ranges); other types go to the C library.
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "tensor/philox.hpp"

namespace talc::tensor::math {

// Horner's rule; coefficients from the highest power down.
template <size_t N>
inline float poly(float x, const float (&c)[N]) {
    float p = c[0];
    for (size_t i = 1; i < N; ++i) p = p * x + c[i];
    return p;
}

// 2^n for the integer in the low bits of `shifted` = n + kRound, n in [-126, 127].
inline constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
inline constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;

inline float exp(float x) {
    constexpr float c[] = {1.3942169e-03f, 8.363776e-03f, 4.1666362e-02f, 1.6666573e-01f, 5.e-01f};
    // Beyond these the result is 0 or infinity all the same; nan stays nan.
    float y = x > 89.0f ? 89.0f : x;
    y = y < -104.0f ? -104.0f : y;
    float shifted = y * 1.44269504f + kRound;
    float n = shifted - kRound;
    float r = y - n * kLn2High - n * kLn2Low;
    float e = 1.0f + (r + r * r * poly(r, c));
    // Scaled in two steps, so that the result may be subnormal or infinite.
    int32_t whole = static_cast<int32_t>(std::bit_cast<uint32_t>(shifted) - 0x4b400000u);
    int32_t half = whole >> 1;
    float first = std::bit_cast<float>(static_cast<uint32_t>(half + 127) << 23);
    float second = std::bit_cast<float>(static_cast<uint32_t>(whole - half + 127) << 23);
    return e * first * second;
}
inline double exp(double x) { return std::exp(x); }

inline float log(float x) {
    bool tiny = x < 1.17549435e-38f;
    float scaled = tiny ? x * 0x1p32f : x;
    float y = philox::log_positive(scaled) - (tiny ? 22.1807098f : 0.0f);
    y = x == HUGE_VALF ? x : y;
    y = x == 0.0f ? -HUGE_VALF : y;
    return x < 0.0f ? NAN : (x != x ? x : y);
}
inline double log(double x) { return std::log(x); }

inline float tanh(float x) {
    constexpr float c[] = {-6.010656e-03f, 2.0938678e-02f, -5.3838875e-02f, 1.3332695e-01f, -3.3333328e-01f};
    float square = x * x;
    float small = x + x * square * poly(square, c);
    float large = std::copysign(1.0f - 2.0f / (exp(2.0f * std::fabs(x)) + 1.0f), x);
    return std::fabs(x) < 0.625f ? small : large;
}
inline double tanh(double x) { return std::tanh(x); }

inline float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }
inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

inline float erf(float x) {
    constexpr float near[] = {7.8891266e-05f, -8.0208434e-04f, 5.1895357e-03f, -2.6854444e-02f,
                              1.12836e-01f,   -3.7612626e-01f, 1.2837917e-01f};
    constexpr float far[] = {2.513073e-07f,   -2.0288382e-05f, 6.476081e-05f,  -4.2822034e-04f, 2.167085e-03f,
                             -1.0854245e-02f, -9.438923e-01f,  -5.3526807e+00f, -7.806815e+00f};
    float size = std::fabs(x);
    float small = x + x * poly(x * x, near);
    float t = size > 4.0f ? 4.0f : size;
    float large = std::copysign(1.0f - exp(poly(t - 2.5f, far)), x);
    return size < 1.0f ? small : (x != x ? x : large);
}
inline double erf(double x) { return std::erf(x); }

// sin and cos of x in (about) [-kTrigLimit, kTrigLimit]: pi/2 taken off in three pieces.
inline constexpr float kTrigLimit = 8192.0f;
inline float sin_or_cos(float x, uint32_t quarter) {
    constexpr float s[] = {2.724386e-06f, -1.9840039e-04f, 8.333332e-03f, -1.6666667e-01f};
    constexpr float c[] = {2.4542973e-05f, -1.388828e-03f, 4.1666664e-02f};
    float shifted = x * 0.636619772f + kRound;
    float n = shifted - kRound;
    float r = ((x - n * 1.5703125f) - n * 4.83751297e-04f) - n * 7.54978942e-08f;
    uint32_t q = std::bit_cast<uint32_t>(shifted) + quarter;
    float square = r * r;
    float sine = r + r * square * poly(square, s);
    float cosine = 1.0f - 0.5f * square + square * square * poly(square, c);
    float value = q & 1u ? cosine : sine;
    return q & 2u ? -value : value;
}

}  // namespace talc::tensor::math
