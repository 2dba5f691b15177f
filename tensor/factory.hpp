#pragma once
// Tensors from plain data and back.
#include <span>
#include <vector>

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace talc::tensor {

// Fresh, contiguous, contents undefined.
Tensor empty(Context& context, const Dims& sizes, DType dtype, Device device = {});
// The same with given strides, which must be dense.
Tensor empty_strided(Context& context, Dims sizes, Dims strides, DType dtype, Device device = {});
// A 0-dim tensor that takes part in promotion as a number of the language.
Tensor number(Context& context, Scalar value);
// A 0-dim tensor of the given dtype.
Tensor scalar_tensor(Context& context, Scalar value, DType dtype, Device device = {});
// Row-major values, cast to dtype.
Tensor from_values(Context& context, std::span<const double> values, const Dims& sizes, DType dtype = DType::Float32);
Tensor from_values(Context& context, std::span<const int64_t> values, const Dims& sizes, DType dtype = DType::Int64);

// One element, by its logical coordinates or row-major number; the tensor is on the CPU.
Scalar element_at(const Tensor& tensor, std::span<const int64_t> index);
Scalar element_at(const Tensor& tensor, int64_t logical);
// The one element of a tensor that has just one; fails otherwise.
Scalar item(const Tensor& tensor);
// All elements in logical order.
std::vector<double> to_doubles(const Tensor& tensor);
std::vector<int64_t> to_ints(const Tensor& tensor);

// For each dim the coordinates of the elements that are not zero, in row-major order.
std::vector<Tensor> nonzero(Context& context, const Tensor& tensor);

// Same dtype-independent values and shape.
bool equal(const Tensor& a, const Tensor& b);
bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);

}  // namespace talc::tensor
