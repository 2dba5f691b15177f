#pragma once
// Arithmetic on ints and floats, as CPython's, with 64-bit overflow checks. The interpreter inlines these.
#include <cmath>

#include "vm/error.hpp"
#include "vm/value.hpp"

namespace talc::vm {

[[noreturn]] void raise_int_overflow(Vm& vm);

// Floor division and modulo: the result's sign is the divisor's. b is not 0, and not -1 with the least int.
inline int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
inline int64_t floor_mod(int64_t a, int64_t b) {
    int64_t r = a % b;
    return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}
// CPython's float_divmod: quotient and remainder; b is not 0.
inline double float_mod(double a, double b) {
    double mod = std::fmod(a, b);
    if (mod != 0) {
        if ((b < 0) != (mod < 0)) mod += b;
    } else {
        mod = std::copysign(0.0, b);
    }
    return mod;
}
inline double float_floor_div(double a, double b) {
    double mod = std::fmod(a, b);
    double div = (a - mod) / b;
    if (mod != 0) {
        if ((b < 0) != (mod < 0)) div -= 1.0;
    }
    if (div != 0) {
        double whole = std::floor(div);
        if (div - whole > 0.5) whole += 1.0;
        return whole;
    }
    return std::copysign(0.0, a / b);
}
double int_true_div(int64_t a, int64_t b);               // correctly rounded; b is not 0
int64_t int_power(Vm& vm, int64_t base, int64_t exponent);  // exponent >= 0; OverflowError
double float_power(Vm& vm, double base, double exponent);

}  // namespace talc::vm
