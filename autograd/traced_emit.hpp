#pragma once
// Operators that run at once and whose sizes are followed on the way: each dimension is a number and the expression over
// symbols that it stands for, so that a recorder of traces learns how the attributes of a backward pass follow from sizes.
#include <memory>
#include <span>
#include <vector>

#include "autograd/tape.hpp"
#include "graph/graph.hpp"
#include "tensor/factory.hpp"
#include "tensor/observer.hpp"

namespace talc::autograd {

// An operator on the tape, as the observer saw its sizes.
struct SymbolicCall final : tensor::Remembered {
    std::shared_ptr<void> owner;  // whose symbols these are
    graph::Attrs attrs;
    std::vector<graph::Shape> operands;
};

// An observer that knows sizes as expressions.
class SizeObserver : public tensor::Observer {
  public:
    // Whether the symbols of that operator are its own, and it is listening.
    virtual bool follows(const SymbolicCall& call) const = 0;
    virtual graph::Shape shape_of(const tensor::Tensor& tensor) = 0;
    virtual graph::DimEnv& dims() = 0;
    // The attributes of the operator that runs next.
    virtual void attributes(tensor::Op op, const graph::Attrs& attrs) = 0;
    // A number that is a size has become an operand.
    virtual void sized(const tensor::Tensor& made, graph::Dim dim) = 0;
};

struct TracedDim {
    int64_t value = 0;
    graph::Dim symbolic;

    constexpr TracedDim() = default;
    constexpr TracedDim(int64_t number) : value(number), symbolic(number) {}
    constexpr TracedDim(int number) : value(number), symbolic(number) {}
    TracedDim(int64_t number, graph::Dim dim) : value(number), symbolic(dim) {}

    // Rules compare with 0 and 1 alone this way, which no symbol is.
    friend bool operator==(const TracedDim& a, const TracedDim& b) { return a.value == b.value; }
    friend TracedDim operator+(TracedDim a, TracedDim b) { return {a.value + b.value, a.symbolic + b.symbolic}; }
    friend TracedDim operator-(TracedDim a, TracedDim b) { return {a.value - b.value, a.symbolic - b.symbolic}; }
    friend TracedDim operator*(TracedDim a, TracedDim b) { return {a.value * b.value, a.symbolic * b.symbolic}; }
};

class TracedEmit {
  public:
    using Value = tensor::Tensor;
    using Dim = TracedDim;
    using Shape = tensor::ShapeOf<TracedDim>;
    using Attrs = tensor::AttrsOf<TracedDim>;

    TracedEmit(tensor::Context& context, SizeObserver& observer) : context_(context), observer_(observer) {}

    static Shape shape_of(const tensor::Dims& sizes, const graph::Shape& symbolic) {
        Shape shape;
        for (size_t d = 0; d < sizes.size(); ++d) {
            shape.push_back(d < symbolic.size() ? TracedDim(sizes[d], symbolic[d]) : TracedDim(sizes[d]));
        }
        return shape;
    }
    static Attrs attrs_of(const tensor::Attrs& plain, const graph::Attrs& symbolic);

    Value emit(tensor::Op op, std::initializer_list<Value> inputs, const Attrs& attrs = {}) {
        return emit(op, std::span<const Value>(inputs.begin(), inputs.size()), attrs);
    }
    Value emit(tensor::Op op, const std::vector<Value>& inputs, const Attrs& attrs = {}) {
        return emit(op, std::span<const Value>(inputs), attrs);
    }
    std::vector<Value> emit_all(tensor::Op op, std::initializer_list<Value> inputs, const Attrs& attrs = {});
    Value number(tensor::Scalar value) { return tensor::number(context_, value); }
    Value size(Dim dim) {
        Value made = tensor::number(context_, tensor::Scalar(dim.value));
        observer_.sized(made, dim.symbolic);
        return made;
    }

    Shape shape(const Value& v) { return shape_of(v.sizes(), observer_.shape_of(v)); }
    tensor::DType dtype(const Value& v) const { return v.dtype(); }
    tensor::Device device(const Value& v) const { return v.device(); }
    // What holds for these numbers is taken to hold, and noted.
    bool same(Dim a, Dim b) {
        observer_.dims().same(a.symbolic, b.symbolic);
        return a.value == b.value;
    }
    bool at_most(Dim a, Dim b) {
        observer_.dims().at_most(a.symbolic, b.symbolic);
        return a.value <= b.value;
    }
    std::string text(Dim a) const { return std::to_string(a.value); }
    std::vector<Value> nonzero(const Value& mask) { return tensor::nonzero(context_, mask); }

  private:
    Value emit(tensor::Op op, std::span<const Value> inputs, const Attrs& attrs);

    tensor::Context& context_;
    SizeObserver& observer_;
};

}  // namespace talc::autograd
