#pragma once
// How a tensor's elements lie in its storage, and the interned class of layouts that guards compare.
#include <cstdint>
#include <span>
#include <string>

#include "tensor/device.hpp"
#include "tensor/dtype.hpp"
#include "tensor/inline_vec.hpp"

namespace talc::tensor {

// Product of the sizes; fails when it does not fit 63 bits.
int64_t element_count(std::span<const int64_t> sizes);
// Row-major strides, as PyTorch gives them to a fresh tensor (a size of 0 counts as 1).
Dims contiguous_strides(std::span<const int64_t> sizes);
bool is_contiguous(std::span<const int64_t> sizes, std::span<const int64_t> strides);
// No two indices share an element: what in-place writes need.
bool is_non_overlapping(std::span<const int64_t> sizes, std::span<const int64_t> strides);

// What a compiled fragment may rely on besides the sizes themselves. Two tensors of one class differ in nothing
// but sizes (other than 0 and 1), unrelated strides, offset and contents. Interned process-wide, never freed
// (programs have few): one pointer compare is the guard.
struct LayoutClass {
    // Relation of a dimension's stride to the rest.
    enum Pattern : int8_t {
        kAnyStride = -1,   // related to nothing: its value is an operand of the code
        kOneStride = -2,   // 1
        kZeroStride = -3,  // 0: an expanded dimension
        kNoStride = -4,    // size 0 or 1, or an empty tensor: the stride is never used
        // d >= 0: stride[d] * size[d]; for a contiguous tensor each dimension follows the next one
    };
    enum SizeClass : uint8_t { kSizeZero, kSizeOne, kSizeMany };

    DType dtype;
    Device device;
    bool requires_grad;
    bool weak;        // a number of the language, carried as a 0-dim tensor
    bool contiguous;  // row-major
    uint8_t rank;
    InlineVec<int8_t, 8> strides;      // Pattern of each dimension
    InlineVec<uint8_t, 8> size_class;  // SizeClass of each dimension

    friend bool operator==(const LayoutClass&, const LayoutClass&) = default;
};

const LayoutClass* intern_layout(DType dtype, Device device, std::span<const int64_t> sizes,
                                 std::span<const int64_t> strides, bool requires_grad, bool weak);

// "float32 cpu [*, *] contiguous", for guard failures and logs.
std::string to_string(const LayoutClass& layout);

// "[2, 3]" and "(2, 3)".
std::string bracketed(std::span<const int64_t> sizes);
std::string parenthesized(std::span<const int64_t> sizes);

}  // namespace talc::tensor
