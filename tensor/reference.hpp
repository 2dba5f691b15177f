#pragma once
// Pieces of the reference shared by its files.
#include <functional>

#include "tensor/eager.hpp"
#include "tensor/factory.hpp"

namespace talc::tensor::reference {

// Calls f with each coordinate of the shape, in row-major order.
void for_each_index(const Dims& shape, const std::function<void(const Dims&)>& f);
// A coordinate of a broadcast result, as one of an operand.
Dims operand_index(const Dims& index, const Tensor& operand);
// The number as a value of the dtype would hold it.
Scalar rounded_to(Scalar value, DType dtype);
void set_element(const Tensor& tensor, const Dims& index, Scalar value);

// One element of a pointwise operator; operands are converted already.
Scalar element_of(Op op, std::span<const Scalar> x, const Attrs& attrs);

}  // namespace talc::tensor::reference
