#pragma once
// The graph: pure tensor operators as immutable, hash-consed nodes. Equal computations are one node, so common
// subexpressions never arise and equality is a pointer. A graph owns its nodes; passes build new graphs.
// Semantics: an operator means what tensor/'s reference says (nan, overflow, rounding of each result to its dtype);
// view means reshape, for values have no strides; there are no writes: recording turns them into new values.
#include <deque>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/span.hpp"
#include "graph/dim.hpp"
#include "graph/dim_env.hpp"
#include "tensor/ops.hpp"
#include "tensor/tensor.hpp"

namespace talc::graph {

using tensor::Device;
using tensor::DType;
using tensor::Op;
using tensor::Scalar;
using Shape = tensor::ShapeOf<Dim>;
using Attrs = tensor::AttrsOf<Dim>;

struct TensorType {
    DType dtype = DType::Float32;
    Shape shape;
    Device device;
    bool weak = false;  // a number of the language: gives way in promotion

    friend bool operator==(const TensorType&, const TensorType&) = default;
};
// "float32[s0, 512]", "int64[]@cuda:0", "float64[] number".
std::string to_string(const TensorType& type);

struct Node {
    Op op;
    uint32_t id;  // in order of making: operands come before their users
    std::vector<const Node*> inputs;
    Attrs attrs;
    std::vector<TensorType> types;  // one for each output
    tensor::Tensor constant;        // of Op::Constant
    // Where the program wrote it: every place, for equal places share the node. Grows while recording.
    mutable std::vector<Span> spans;

    const TensorType& type() const { return types[0]; }
    const Shape& shape() const { return types[0].shape; }
    DType dtype() const { return types[0].dtype; }
    int64_t rank() const { return static_cast<int64_t>(types[0].shape.size()); }
    // It can fail on values. Arithmetic does so on ints alone: a quotient by 0, a negative power.
    bool may_raise() const {
        const tensor::OpInfo& info = tensor::info(op);
        return info.may_raise && !(info.kind == tensor::Kind::Pointwise && tensor::is_float(dtype()));
    }
};
// Handle of a value: a node with one output, or an `output` node that picks one of several.
using Value = const Node*;

class Graph {
  public:
    explicit Graph(DType default_float = DType::Float32);
    ~Graph();
    Graph(Graph&&) noexcept;
    Graph& operator=(Graph&&) noexcept;

    // What rules ask for ints and weak floats; part of the graph's meaning.
    DType default_float() const { return default_float_; }
    DimEnv& dims() { return *dims_; }
    const DimEnv& dims() const { return *dims_; }

    // Parameters, numbered in order of making.
    Value input(TensorType type);
    // A tensor that is part of the program; not copied.
    Value constant(tensor::Tensor value);
    // A number of the language.
    Value number(Scalar value);
    // Any operator but inputs and constants. Types are inferred by the table's rules, which may fail with the error
    // that running it would raise; attributes are brought to a normal form.
    Value add(Op op, std::span<const Value> inputs, Attrs attrs = {});
    Value add(Op op, std::initializer_list<Value> inputs, Attrs attrs = {}) {
        return add(op, std::span<const Value>(inputs.begin(), inputs.size()), std::move(attrs));
    }
    // One result of an operator with several.
    Value output(Value node, int64_t which);

    const std::vector<Value>& inputs() const { return inputs_; }
    const std::vector<Value>& outputs() const { return outputs_; }
    void set_outputs(std::vector<Value> outputs) { outputs_ = std::move(outputs); }
    size_t size() const { return nodes_.size(); }
    // All nodes in order of making, dead ones too.
    const std::deque<Node>& nodes() const { return nodes_; }
    // Those that outputs need, and all inputs, operands first.
    std::vector<Value> live() const;

    // Nodes made from now on come from here.
    void set_span(Span span) { span_ = span; }

  private:
    struct Hash {
        size_t operator()(const Node* node) const;
    };
    struct Equal {
        bool operator()(const Node* a, const Node* b) const;
    };
    Value intern(Node node);

    DType default_float_;
    Span span_;
    std::unique_ptr<DimEnv> dims_;
    std::deque<Node> nodes_;
    std::unordered_set<const Node*, Hash, Equal> known_;
    std::vector<Value> inputs_;
    std::vector<Value> outputs_;
};

// The types of an operator's outputs under `env`, by the rules of the table; `attrs` is brought to its normal form.
std::vector<TensorType> infer_types(DimEnv& env, DType default_float, Op op, std::span<const TensorType* const> inputs,
                                    Attrs& attrs);

// Attributes without those that hold sizes, in another kind of them.
template <class To, class From>
To with_other_dims(const From& from) {
    To to;
    to.dims = from.dims;
    to.dim = from.dim;
    to.keepdim = from.keepdim;
    to.mode = from.mode;
    to.dtype = from.dtype;
    to.value = from.value;
    to.delta = from.delta;
    to.device = from.device;
    to.which = from.which;
    return to;
}

// Concrete attributes and shapes, for a binding of the symbols.
using SymbolValues = std::function<int64_t(uint32_t)>;
tensor::Attrs concrete(const Attrs& attrs, const SymbolValues& values);
tensor::Dims concrete(const Shape& shape, const SymbolValues& values);
Attrs symbolic(const tensor::Attrs& attrs);
Shape symbolic(const tensor::Dims& sizes);

// A type with plain sizes, as a tensor has it.
TensorType type_of(const tensor::Tensor& tensor);

}  // namespace talc::graph
