#pragma once
// Square roots of runs. The C library's must set errno, which keeps a plain loop from becoming vector code.
#include <cmath>
#include <cstdint>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace talc::tensor {

inline void sqrt_run(const float* in, float* out, int64_t n) {
    int64_t i = 0;
#if defined(__aarch64__)
    for (; i + 4 <= n; i += 4) vst1q_f32(out + i, vsqrtq_f32(vld1q_f32(in + i)));
#elif defined(__SSE2__)
    for (; i + 4 <= n; i += 4) _mm_storeu_ps(out + i, _mm_sqrt_ps(_mm_loadu_ps(in + i)));
#endif
    for (; i < n; ++i) out[i] = std::sqrt(in[i]);
}

inline void sqrt_run(const double* in, double* out, int64_t n) {
    int64_t i = 0;
#if defined(__aarch64__)
    for (; i + 2 <= n; i += 2) vst1q_f64(out + i, vsqrtq_f64(vld1q_f64(in + i)));
#elif defined(__SSE2__)
    for (; i + 2 <= n; i += 2) _mm_storeu_pd(out + i, _mm_sqrt_pd(_mm_loadu_pd(in + i)));
#endif
    for (; i < n; ++i) out[i] = std::sqrt(in[i]);
}

}  // namespace talc::tensor
