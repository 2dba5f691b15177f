#pragma once
// Tensors on their way between devices.
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace talc::tensor {

// The tensor itself when it lies there, else a copy. Dense tensors keep their strides, others become row-major.
Tensor to_device(Context& context, const Tensor& x, Device device);

// A tensor of the same sizes and values on the CPU; itself when it lies there. For reading only.
Tensor on_host(const Tensor& x);

}  // namespace talc::tensor
