#pragma once
// Arithmetic on one element as the operators define it: integers wrap, floats follow IEEE, nan wins in maximum
// and minimum.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace talc::tensor {

template <class T>
inline T plus(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
        return a + b;
    }
}
template <class T>
inline T minus(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
    } else {
        return a - b;
    }
}
template <class T>
inline T times(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
        return a * b;
    }
}
template <class T>
inline T negated(T x) {
    if constexpr (std::is_integral_v<T>) {
        return minus(T(0), x);
    } else {
        return -x;
    }
}
template <class T>
inline T absolute(T x) {
    if constexpr (std::is_integral_v<T>) {
        return x < 0 ? negated(x) : x;
    } else {
        return std::fabs(x);
    }
}
template <class T>
inline T sign(T x) {
    return static_cast<T>((x > T(0)) - (x < T(0)));
}

#define TALC_ROUNDING(name, function)            \
    template <class T>                           \
    inline T name(T x) {                         \
        if constexpr (std::is_integral_v<T>) {   \
            return x;                            \
        } else {                                 \
            return function(x);                  \
        }                                        \
    }
TALC_ROUNDING(floored, std::floor)
TALC_ROUNDING(ceiled, std::ceil)
TALC_ROUNDING(truncated, std::trunc)
TALC_ROUNDING(rounded, std::nearbyint)  // half to even
#undef TALC_ROUNDING

template <class T>
inline T larger(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        return a < b ? b : a;
    } else {
        T chosen = a < b ? b : a;
        return b != b ? b : chosen;
    }
}
template <class T>
inline T smaller(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        return b < a ? b : a;
    } else {
        T chosen = b < a ? b : a;
        return b != b ? b : chosen;
    }
}

// Towards minus infinity, as Python's // and %. Integer divisors of 0 are the caller's to refuse.
template <class T>
inline T floor_divided(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        if (b == -1) return negated(a);
        T quotient = a / b;
        return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
    } else {
        if (b == T(0)) return a / b;
        T mod = std::fmod(a, b);
        T quotient = (a - mod) / b;
        if (mod != T(0) && (b < T(0)) != (mod < T(0))) quotient -= T(1);
        if (quotient == T(0)) return std::copysign(T(0), a / b);
        T whole = std::floor(quotient);
        return quotient - whole > T(0.5) ? whole + T(1) : whole;
    }
}
template <class T>
inline T remainder_of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        if (b == -1) return 0;
        T mod = a % b;
        return mod != 0 && (mod < 0) != (b < 0) ? mod + b : mod;
    } else {
        T mod = std::fmod(a, b);
        return mod != T(0) && (b < T(0)) != (mod < T(0)) ? mod + b : mod;
    }
}
template <class T>
inline T power(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
        T result = 1;
        for (; b; b >>= 1) {
            if (b & 1) result = times(result, a);
            a = times(a, a);
        }
        return result;
    } else {
        return std::pow(a, b);
    }
}

}  // namespace talc::tensor
