// math: functions of integers. A result beyond 64 bits is an OverflowError.
#include <cmath>
#include <numeric>

#include "base/text/number_text.hpp"
#include "stdlib/support.hpp"
#include "vm/arith.hpp"

namespace talc::stdlib {

namespace {

__extension__ typedef unsigned __int128 Wide;

Ref checked(Vm& vm, uint64_t magnitude) {
    if (magnitude > static_cast<uint64_t>(INT64_MAX)) raise_int_overflow(vm);
    return integer(static_cast<int64_t>(magnitude));
}

void check_counts(Vm& vm, int64_t n, int64_t k) {
    if (n < 0) raise(vm, Exc::ValueError, "n must be a non-negative integer");
    if (k < 0) raise(vm, Exc::ValueError, "k must be a non-negative integer");
}

uint64_t falling_factorial(Vm& vm, int64_t n, int64_t k) {
    uint64_t product = 1;
    for (int64_t i = 0; i < k; i++) {
        if (__builtin_mul_overflow(product, static_cast<uint64_t>(n - i), &product)) raise_int_overflow(vm);
    }
    return product;
}

}  // namespace

Ref math_factorial(Vm& vm, const Args& args) {
    int64_t n = to_index(vm, args[0]);
    if (n < 0) raise(vm, Exc::ValueError, "factorial() not defined for negative values");
    constexpr int64_t kLargest = 20;
    if (n > kLargest) raise_int_overflow(vm);
    return checked(vm, falling_factorial(vm, n, n));
}

Ref math_comb(Vm& vm, const Args& args) {
    int64_t n = to_index(vm, args[0]);
    int64_t k = to_index(vm, args[1]);
    check_counts(vm, n, k);
    if (k > n) return integer(0);
    k = std::min(k, n - k);
    uint64_t ways = 1;  // grows with each round, so that the first overflow decides
    for (int64_t i = 0; i < k; i++) {
        Wide next = Wide{ways} * static_cast<uint64_t>(n - i) / static_cast<uint64_t>(i + 1);
        if (next > Wide{INT64_MAX}) raise_int_overflow(vm);
        ways = static_cast<uint64_t>(next);
    }
    return checked(vm, ways);
}

Ref math_perm(Vm& vm, const Args& args) {
    if (args[1].is_none()) return math_factorial(vm, args);
    int64_t n = to_index(vm, args[0]);
    int64_t k = to_index(vm, args[1]);
    check_counts(vm, n, k);
    return k > n ? integer(0) : checked(vm, falling_factorial(vm, n, k));
}

Ref math_gcd(Vm& vm, const Args& args) {
    uint64_t divisor = 0;
    for (size_t i = 0; i < args.nrest; i++) divisor = std::gcd(divisor, text::magnitude_of(to_index(vm, args.rest[i])));
    return checked(vm, divisor);
}

Ref math_lcm(Vm& vm, const Args& args) {
    uint64_t multiple = 1;
    for (size_t i = 0; i < args.nrest; i++) {
        uint64_t n = text::magnitude_of(to_index(vm, args.rest[i]));
        if (n == 0) multiple = 0;
        if (multiple == 0) continue;  // the rest must be integers all the same
        uint64_t factor = n / std::gcd(multiple, n);
        if (__builtin_mul_overflow(multiple, factor, &multiple)) raise_int_overflow(vm);
    }
    return checked(vm, multiple);
}

Ref math_isqrt(Vm& vm, const Args& args) {
    int64_t n = to_index(vm, args[0]);
    if (n < 0) raise(vm, Exc::ValueError, "isqrt() argument must be nonnegative");
    auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
    auto square = [](int64_t x) { return Wide(static_cast<uint64_t>(x)) * static_cast<uint64_t>(x); };
    while (square(root) > static_cast<uint64_t>(n)) root--;
    while (square(root + 1) <= static_cast<uint64_t>(n)) root++;
    return integer(root);
}

}  // namespace talc::stdlib
