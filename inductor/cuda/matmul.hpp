#pragma once
// A product of operands with any strides as calls of a library that wants matrices by columns.
#include <optional>
#include <vector>

#include "inductor/cuda/gpu.hpp"
#include "inductor/matmul_shape.hpp"

namespace talc::inductor::cuda {

// One call for each part of the batch that strides cannot describe; addresses are offsets in bytes from the operands'
// beginnings. `a` and `b` of a call are the shape's right and left operand. None: an operand's strides
// are not a matrix's and it has to be copied first, or there is nothing to sum.
std::optional<std::vector<MatmulCall>> matmul_calls(const MatmulShape& shape, tensor::DType dtype);

}  // namespace talc::inductor::cuda
