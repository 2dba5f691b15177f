#pragma once
// A matrix product as numbers: operands with any strides, transposed ones too, and any batch dimensions.
#include "tensor/inline_vec.hpp"

namespace talc::inductor {

// Sizes and strides (in elements) of one product, found once for each set of sizes.
struct MatmulShape {
    int64_t m, n, k;
    struct Operand {
        int64_t row_stride, column_stride;
        tensor::Dims batch_strides;
    };
    Operand a, b, c;
    tensor::Dims batch;
    bool swapped = false;  // a is the right operand: c is made transposed
};
struct OperandLayout {
    tensor::Dims sizes, strides;
};
MatmulShape matmul_shape(const OperandLayout& a, const OperandLayout& b, const OperandLayout& c);

}  // namespace talc::inductor
