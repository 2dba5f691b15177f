#include "inductor/passes/decompose.hpp"

#include "tensor/dtype.hpp"

namespace talc::inductor {

using graph::Attrs;
using graph::Dim;
using graph::Graph;
using graph::Op;
using graph::Rule;
using graph::Value;
using tensor::DType;

namespace {

Value cast(Graph& g, Value x, DType dtype) {
    if (x->dtype() == dtype && !x->type().weak) return x;
    Attrs attrs;
    attrs.dtype = dtype;
    return g.add(Op::Cast, {x}, attrs);
}

// The sum by the count. The short floats are summed and divided in float32, and rounded once.
Value mean(Graph& g, Value n) {
    Value x = n->inputs[0];
    DType dtype = n->dtype();
    bool is_short = dtype == DType::Float16 || dtype == DType::BFloat16;
    Dim count(1);
    for (int64_t d : n->attrs.dims) count = count * x->shape()[static_cast<size_t>(d)];
    Attrs fold = n->attrs;
    fold.dtype = is_short ? DType::Float32 : dtype;
    x = cast(g, x, dtype);
    Value sum = g.add(Op::Sum, {is_short ? cast(g, x, DType::Float32) : x}, fold);
    Attrs size;
    size.start = count;
    Value quotient = g.add(Op::Div, {sum, g.add(Op::Size, std::span<const Value>{}, size)});
    return cast(g, quotient, dtype);
}

// One result of max_dim or min_dim: the extreme, or where it is.
Value extreme(Graph& g, Value n) {
    Value pair = n->inputs[0];
    bool max = pair->op == Op::MaxDim;
    Attrs fold;
    fold.dims = pair->attrs.dims;
    fold.keepdim = pair->attrs.keepdim;
    if (n->attrs.which == 0) return g.add(max ? Op::Amax : Op::Amin, {pair->inputs[0]}, fold);
    if (pair->inputs[0]->rank() == 0) {
        Attrs zero;
        zero.dtype = DType::Int64;
        zero.device = pair->type().device;
        return g.add(Op::Full, std::span<const Value>{}, zero);
    }
    return g.add(max ? Op::Argmax : Op::Argmin, {pair->inputs[0]}, fold);
}

// A product of integers on a GPU, whose libraries have none: the sum of what meets along the common dimension.
Value whole_product(Graph& g, Value n) {
    Value a = n->inputs[0], b = n->inputs[1];
    if (tensor::is_float(n->dtype()) || n->type().device.type != tensor::DeviceType::Cuda) return nullptr;
    Attrs place, fold;
    bool matrix = b->rank() > 1;
    if (matrix) {
        place.dim = a->rank();  // rows, common, columns
        a = g.add(Op::Unsqueeze, {a}, place);
    }
    if (matrix && a->rank() > 2) {
        place.dim = b->rank() - 2;
        b = g.add(Op::Unsqueeze, {b}, place);
    }
    Value products = g.add(Op::Mul, {a, b});
    fold.dims = {products->rank() - (matrix ? 2 : 1)};
    fold.dtype = n->dtype();
    return g.add(Op::Sum, {products}, fold);
}

constexpr Rule kRules[] = {
    {Op::Matmul, "integer matmul = sum of products", whole_product},
    {Op::Mean, "mean = sum / count", mean},
    {Op::Output, "max_dim = amax, argmax", extreme},
};

}  // namespace

Graph decompose(const Graph& graph, std::vector<graph::RewriteCount>* counts) {
    return graph::rewrite(graph, kRules, counts);
}

}  // namespace talc::inductor
