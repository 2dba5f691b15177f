#pragma once
// Views made by hand, for kernels: unchecked, not recorded.
#include <optional>

#include "tensor/factory.hpp"
#include "tensor/tensor.hpp"

namespace talc::tensor {

// Strides with which the same elements in the same order have the `wanted` sizes; none when they need a copy.
std::optional<Dims> view_strides(const Dims& sizes, const Dims& strides, const Dims& wanted);

// The tensor itself when it is row-major, else a copy that is.
Tensor contiguous(Context& context, const Tensor& x);
Tensor contiguous_copy(Context& context, const Tensor& x);
Tensor permute_view(const Tensor& x, const Dims& dims);
Tensor slice_view(const Tensor& x, int64_t dim, int64_t start, int64_t end, int64_t step = 1);
Tensor select_view(const Tensor& x, int64_t dim, int64_t index);

}  // namespace talc::tensor
