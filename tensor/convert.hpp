#pragma once
// Element conversions: what `cast` means for one value, and strided rows of them.
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tensor/dtype.hpp"

namespace talc::tensor {

// Float to integer truncates, saturates, and gives 0 for nan: never undefined. Anything to bool is "not zero".
// Integers wrap.
template <class To, class From>
inline To convert(From value) {
    if constexpr (std::is_same_v<To, From>) {
        return value;
    } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
        return convert<To>(static_cast<float>(value));
    } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
        return To(static_cast<float>(value));
    } else if constexpr (std::is_same_v<To, bool>) {
        return value != From(0);
    } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
        constexpr From kLimit = static_cast<From>(9223372036854775808.0);
        int64_t whole = value >= kLimit    ? std::numeric_limits<int64_t>::max()
                        : value <= -kLimit ? std::numeric_limits<int64_t>::min()
                        : value != value   ? 0
                                           : static_cast<int64_t>(value);
        return static_cast<To>(whole);
    } else {
        return static_cast<To>(value);
    }
}

// n elements from `from` to `to`, strides in elements. The rows must not overlap unless they are the same.
void convert_row(DType from_dtype, const void* from, int64_t from_stride, DType to_dtype, void* to,
                 int64_t to_stride, int64_t n);

}  // namespace talc::tensor
