#include "base/text/hash.hpp"

#include <cmath>

// Inlined, because most keys are short and a call would cost as much as the hash.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace talc::text {

int64_t hash_float(double value, int64_t nan_identity) {
    constexpr int kBits = 61;
    constexpr uint64_t kModulus = (uint64_t{1} << kBits) - 1;
    constexpr int64_t kInfinity = 314159;
    if (value >= -0x1p62 && value <= 0x1p62 && value == std::trunc(value)) {
        return hash_int(static_cast<int64_t>(value));
    }
    if (!std::isfinite(value)) {
        if (std::isnan(value)) return nan_identity;
        return value > 0 ? kInfinity : -kInfinity;
    }
    // value = mantissa * 2^exponent modulo 2^61 - 1, where multiplying by a power of two is a rotation.
    int exponent = 0;
    double fraction = std::frexp(std::fabs(value), &exponent);
    auto mantissa = static_cast<uint64_t>(std::ldexp(fraction, 53));
    int shift = (exponent - 53) % kBits;
    if (shift < 0) shift += kBits;
    uint64_t size = ((mantissa << shift) & kModulus) | (shift == 0 ? 0 : mantissa >> (kBits - shift));
    if (size == kModulus) size = 0;
    int64_t hash = value < 0 ? -static_cast<int64_t>(size) : static_cast<int64_t>(size);
    return hash == -1 ? -2 : hash;
}

int64_t hash_text(std::string_view s) {
    if (s.empty()) return 0;
    auto hash = static_cast<int64_t>(XXH3_64bits(s.data(), s.size()));
    // The two reserved values move to numbers that carry no meaning.
    return hash == 0 || hash == -1 ? hash - 2 : hash;
}

}  // namespace talc::text
