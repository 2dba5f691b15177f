#include "autograd/traced_emit.hpp"

#include "autograd/vjp_rules.inl"

namespace talc::autograd {

namespace {

tensor::Attrs plain(const TracedEmit::Attrs& attrs) {
    auto result = graph::with_other_dims<tensor::Attrs>(attrs);
    for (const TracedDim& size : attrs.sizes) result.sizes.push_back(size.value);
    result.start = attrs.start.value;
    result.end = attrs.end.value;
    result.step = attrs.step.value;
    return result;
}

graph::Attrs symbolic(const TracedEmit::Attrs& attrs) {
    auto result = graph::with_other_dims<graph::Attrs>(attrs);
    for (const TracedDim& size : attrs.sizes) result.sizes.push_back(size.symbolic);
    result.start = attrs.start.symbolic;
    result.end = attrs.end.symbolic;
    result.step = attrs.step.symbolic;
    return result;
}

}  // namespace

TracedEmit::Attrs TracedEmit::attrs_of(const tensor::Attrs& plain, const graph::Attrs& symbolic) {
    auto result = graph::with_other_dims<Attrs>(plain);
    result.sizes = shape_of(plain.sizes, symbolic.sizes);
    result.start = TracedDim(plain.start, symbolic.start);
    result.end = TracedDim(plain.end, symbolic.end);
    result.step = TracedDim(plain.step, symbolic.step);
    return result;
}

tensor::Tensor TracedEmit::emit(tensor::Op op, std::span<const Value> inputs, const Attrs& attrs) {
    observer_.attributes(op, symbolic(attrs));
    return apply(context_, op, inputs, plain(attrs));
}

std::vector<tensor::Tensor> TracedEmit::emit_all(tensor::Op op, std::initializer_list<Value> inputs, const Attrs& attrs) {
    observer_.attributes(op, symbolic(attrs));
    std::vector<Value> results(tensor::info(op).outputs);
    apply(context_, op, std::span<const Value>(inputs.begin(), inputs.size()), plain(attrs), results);
    return results;
}

template std::vector<tensor::Tensor> run_vjp<TracedEmit>(TracedEmit&, const VjpCall<TracedEmit>&);

}  // namespace talc::autograd
