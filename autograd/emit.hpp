#pragma once
// Where rules emit operators: at once on tensors (recorded on the tape when gradients are on), or as nodes of a
// graph. Rules and compositions are templates over an emitter E with
//   E::Value (empty: no value), E::Dim, E::Shape, E::Attrs,
//   emit(op, {values}, attrs), emit_all(op, ...) for several results, number(scalar), size(dim),
//   shape(value), dtype(value), device(value), same(dim, dim), at_most(dim, dim), text(dim), nonzero(mask).
#include <span>
#include <vector>

#include "autograd/tape.hpp"
#include "graph/graph.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "tensor/observer.hpp"

namespace talc::autograd {

class TensorEmit {
  public:
    using Value = tensor::Tensor;
    using Dim = int64_t;
    using Shape = tensor::Dims;
    using Attrs = tensor::Attrs;

    explicit TensorEmit(tensor::Context& context) : context_(context) {}

    Value emit(tensor::Op op, std::initializer_list<Value> inputs, const Attrs& attrs = {}) {
        return apply(context_, op, std::span<const Value>(inputs.begin(), inputs.size()), attrs);
    }
    Value emit(tensor::Op op, const std::vector<Value>& inputs, const Attrs& attrs = {}) {
        return apply(context_, op, inputs, attrs);
    }
    std::vector<Value> emit_all(tensor::Op op, std::initializer_list<Value> inputs, const Attrs& attrs = {}) {
        std::vector<Value> results(tensor::info(op).outputs);
        apply(context_, op, std::span<const Value>(inputs.begin(), inputs.size()), attrs, results);
        return results;
    }
    Value number(tensor::Scalar value) { return tensor::number(context_, value); }
    Value size(Dim dim) {
        if (context_.observer) context_.observer->size_used();
        return tensor::number(context_, tensor::Scalar(dim));
    }

    const Shape& shape(const Value& v) const { return v.sizes(); }
    tensor::DType dtype(const Value& v) const { return v.dtype(); }
    tensor::Device device(const Value& v) const { return v.device(); }
    bool same(Dim a, Dim b) const { return a == b; }
    bool at_most(Dim a, Dim b) const { return a <= b; }
    std::string text(Dim a) const { return std::to_string(a); }
    // For each dim of a mask the coordinates of its true elements.
    std::vector<Value> nonzero(const Value& mask) { return tensor::nonzero(context_, mask); }

  private:
    tensor::Context& context_;
};

class GraphEmit {
  public:
    using Value = graph::Value;
    using Dim = graph::Dim;
    using Shape = graph::Shape;
    using Attrs = graph::Attrs;

    explicit GraphEmit(graph::Graph& graph) : graph_(graph) {}

    Value emit(tensor::Op op, std::initializer_list<Value> inputs, const Attrs& attrs = {}) {
        return graph_.add(op, inputs, attrs);
    }
    Value emit(tensor::Op op, const std::vector<Value>& inputs, const Attrs& attrs = {}) {
        return graph_.add(op, inputs, attrs);
    }
    std::vector<Value> emit_all(tensor::Op op, std::initializer_list<Value> inputs, const Attrs& attrs = {}) {
        Value node = graph_.add(op, inputs, attrs);
        std::vector<Value> results;
        for (size_t i = 0; i < node->types.size(); ++i) results.push_back(graph_.output(node, static_cast<int64_t>(i)));
        return results;
    }
    Value number(tensor::Scalar value) { return graph_.number(value); }
    Value size(Dim dim) {
        if (dim.is_constant()) return graph_.number(tensor::Scalar(dim.constant()));
        Attrs attrs;
        attrs.start = dim;
        return graph_.add(tensor::Op::Size, std::initializer_list<Value>{}, attrs);
    }

    const Shape& shape(Value v) const { return v->shape(); }
    tensor::DType dtype(Value v) const { return v->dtype(); }
    tensor::Device device(Value v) const { return v->type().device; }
    bool same(Dim a, Dim b) const { return graph_.dims().same(a, b); }
    bool at_most(Dim a, Dim b) const { return graph_.dims().at_most(a, b); }
    std::string text(Dim a) const { return graph::to_string(a); }
    std::vector<Value> nonzero(Value) {
        tensor::fail("a mask as an index gives a shape that depends on values, which a graph cannot have");
    }

  private:
    graph::Graph& graph_;
};

}  // namespace talc::autograd
