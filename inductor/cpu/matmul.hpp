#pragma once
// Matrix products between steps: operands with any strides, transposed ones too, and any batch dimensions.
#include "inductor/matmul_shape.hpp"
#include "tensor/context.hpp"
#include "tensor/dtype.hpp"

namespace talc::inductor::cpu {

// float32, float64 and int64 only.
bool has_matmul(tensor::DType dtype);
void matmul(const tensor::Context& context, const MatmulShape& shape, tensor::DType dtype, const void* a, const void* b,
            void* c);

}  // namespace talc::inductor::cpu
