#include "autograd/vjp_rules.inl"

namespace talc::autograd {
template std::vector<tensor::Tensor> run_vjp<TensorEmit>(TensorEmit&, const VjpCall<TensorEmit>&);
}
