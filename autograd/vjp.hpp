#pragma once
// The table of gradients: what an operator's rule is, what it must keep, and how to run it over an emitter.
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "autograd/emit.hpp"
#include "autograd/traced_emit.hpp"
#include "tensor/ops.hpp"

namespace talc::autograd {

// Values that a gradient needs: operand i is bit i, result i is bit kFirstResult + i.
using Needs = uint32_t;
inline constexpr int kFirstResult = 24;
inline constexpr Needs operand_bit(size_t i) { return i < kFirstResult ? Needs{1} << i : 0; }
inline constexpr Needs result_bit(size_t i) { return Needs{1} << (kFirstResult + i); }

struct VjpInfo {
    bool differentiable;
    std::string_view name;  // "Add", for grad_fn=<AddBackward0>
};
const VjpInfo& vjp_info(tensor::Op op);
// What the gradient of operand `i` is computed from.
Needs vjp_needs(tensor::Op op, size_t i, size_t operand_count);

// One application of a rule. Values that are not in vjp_needs must not be asked for.
template <class E>
struct VjpCall {
    using Value = typename E::Value;
    using Shape = typename E::Shape;

    tensor::Op op;
    const typename E::Attrs& attrs;
    size_t operand_count;
    std::function<const Shape&(size_t)> operand_shape;
    std::function<tensor::DType(size_t)> operand_dtype;
    std::function<tensor::Device(size_t)> operand_device;
    std::function<Value(size_t)> operand;
    std::function<Value(size_t)> result;
    std::function<bool(size_t)> wanted;  // is the gradient of operand i asked for?
    Value gradient;                      // of the first result
};

// The gradient of each operand: summed to its shape, cast to its dtype, on its device, empty where it is zero or not wanted.
template <class E>
std::vector<typename E::Value> run_vjp(E& emitter, const VjpCall<E>& call);

extern template std::vector<tensor::Tensor> run_vjp<TensorEmit>(TensorEmit&, const VjpCall<TensorEmit>&);
extern template std::vector<tensor::Tensor> run_vjp<TracedEmit>(TracedEmit&, const VjpCall<TracedEmit>&);
extern template std::vector<graph::Value> run_vjp<GraphEmit>(GraphEmit&, const VjpCall<GraphEmit>&);

}  // namespace talc::autograd
