#pragma once
// Tensors as text, in PyTorch's format.
#include <string>
#include <string_view>

#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace talc::tensor {

// `tensor([[1., 2.], [3., 4.]])`. The dtype is shown where it is not the default one, int64 or bool; the device where
// it is not the default. `grad_fn` is the name of the node that made it ("" when there is none). The tensor is on the
// CPU; for one that lives elsewhere give a CPU copy and its real device.
std::string repr(const Context& context, const Tensor& tensor, std::string_view grad_fn = "");
std::string repr(const Context& context, const Tensor& cpu_copy, Device device, bool requires_grad,
                 std::string_view grad_fn);

}  // namespace talc::tensor
