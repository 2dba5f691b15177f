#include "inductor/passes/simplify.hpp"

#include <algorithm>
#include <cmath>

#include "tensor/dtype.hpp"

namespace talc::inductor {

using graph::Attrs;
using graph::Dim;
using graph::Graph;
using graph::Op;
using graph::Rule;
using graph::Shape;
using graph::Value;
using tensor::DType;
using tensor::is_float;

namespace {

// The operand in place of the node, if the types agree.
Value same(Value node, Value operand) { return operand->types == node->types ? operand : nullptr; }

bool is_number(Value node, double wanted) {
    if (node->op != Op::Number && node->op != Op::Full) return false;
    double value = node->attrs.value.to_double();
    return value == wanted && !(wanted == 0 && std::signbit(value));
}

Value operand_of(Graph&, Value node) { return same(node, node->inputs[0]); }

// ---- neutral operands (x + 0 is not x when x is -0.0) ------------------------------------------------------------
Value add_zero(Graph&, Value n) {
    if (is_float(n->dtype())) return nullptr;
    if (is_number(n->inputs[1], 0)) return same(n, n->inputs[0]);
    return is_number(n->inputs[0], 0) ? same(n, n->inputs[1]) : nullptr;
}
Value sub_zero(Graph&, Value n) { return is_number(n->inputs[1], 0) ? same(n, n->inputs[0]) : nullptr; }
Value mul_one(Graph&, Value n) {
    if (is_number(n->inputs[1], 1)) return same(n, n->inputs[0]);
    return is_number(n->inputs[0], 1) ? same(n, n->inputs[1]) : nullptr;
}
Value div_one(Graph&, Value n) { return is_number(n->inputs[1], 1) ? same(n, n->inputs[0]) : nullptr; }

// x / c is x * (1/c) where 1/c is exact: c is a power of two.
Value div_power_of_two(Graph& g, Value n) {
    Value divisor = n->inputs[1];
    if (divisor->op != Op::Number || divisor->attrs.value.category != tensor::Category::Float) return nullptr;
    int exponent;
    double fraction = std::frexp(divisor->attrs.value.f, &exponent);
    if (std::fabs(fraction) != 0.5 || std::abs(exponent) > 10 || !is_float(n->inputs[0]->dtype())) return nullptr;
    return g.add(Op::Mul, {n->inputs[0], g.number(tensor::Scalar(1 / divisor->attrs.value.f))});
}

// ---- twice is once ---------------------------------------------------------------------------------------------
Value undone(Graph&, Value n) { return n->inputs[0]->op == n->op ? same(n, n->inputs[0]->inputs[0]) : nullptr; }
Value repeated(Graph&, Value n) { return n->inputs[0]->op == n->op ? same(n, n->inputs[0]) : nullptr; }
Value same_choice(Graph&, Value n) { return n->inputs[1] == n->inputs[2] ? same(n, n->inputs[1]) : nullptr; }

// ---- views -----------------------------------------------------------------------------------------------------
Value same_shape(Graph&, Value n) { return n->shape() == n->inputs[0]->shape() ? same(n, n->inputs[0]) : nullptr; }
Value reshaped_twice(Graph& g, Value n) {
    return n->inputs[0]->op == Op::Reshape ? g.add(Op::Reshape, {n->inputs[0]->inputs[0]}, n->attrs) : nullptr;
}
Value no_permutation(Graph&, Value n) {
    for (size_t d = 0; d < n->attrs.dims.size(); ++d) {
        if (n->attrs.dims[d] != static_cast<int64_t>(d)) return nullptr;
    }
    return same(n, n->inputs[0]);
}
Value permuted_twice(Graph& g, Value n) {
    Value inner = n->inputs[0];
    if (inner->op != Op::Permute) return nullptr;
    Attrs attrs;
    for (int64_t d : n->attrs.dims) attrs.dims.push_back(inner->attrs.dims[static_cast<size_t>(d)]);
    return g.add(Op::Permute, {inner->inputs[0]}, attrs);
}

// ---- folds of nothing ------------------------------------------------------------------------------------------
Value fold_of_one(Graph& g, Value n) {
    const Shape& shape = n->inputs[0]->shape();
    bool ones = std::all_of(n->attrs.dims.begin(), n->attrs.dims.end(),
                            [&](int64_t d) { return shape[static_cast<size_t>(d)] == Dim(1); });
    if (!ones || n->inputs[0]->dtype() != n->dtype() || n->inputs[0]->type().weak) return nullptr;
    Attrs attrs;
    attrs.sizes = n->shape();
    return same(n, g.add(Op::Reshape, {n->inputs[0]}, attrs));
}

// Laws: the type stays, the meaning stays, and the number of operators falls (or a product stands for a quotient).
constexpr Rule kRules[] = {
    {Op::Clone, "clone(x) = x", operand_of},
    {Op::Contiguous, "contiguous(x) = x", operand_of},
    {Op::Detach, "detach(x) = x", operand_of},
    {Op::Cast, "cast(x) = x of its own dtype", operand_of},
    {Op::Add, "x + 0 = x for integers", add_zero},
    {Op::Sub, "x - 0 = x", sub_zero},
    {Op::Mul, "x * 1 = x", mul_one},
    {Op::Div, "x / 1 = x", div_one},
    {Op::Div, "x / 2^k = x * 2^-k", div_power_of_two},
    {Op::Neg, "-(-x) = x", undone},
    {Op::LogicalNot, "not not x = x", undone},
    {Op::BitNot, "~~x = x", undone},
    {Op::Abs, "abs(abs(x)) = abs(x)", repeated},
    {Op::Relu, "relu(relu(x)) = relu(x)", repeated},
    {Op::Where, "where(c, x, x) = x", same_choice},
    {Op::Reshape, "reshape(x) = x of its own shape", same_shape},
    {Op::Reshape, "reshape(reshape(x)) = reshape(x)", reshaped_twice},
    {Op::Expand, "expand(x) = x of its own shape", same_shape},
    {Op::Permute, "permute(x) = x in its own order", no_permutation},
    {Op::Permute, "permute(permute(x)) = permute(x)", permuted_twice},
    {Op::Slice, "slice(x) = x when it is all of it", same_shape},
    {Op::Sum, "sum over ones = reshape", fold_of_one},
    {Op::Prod, "prod over ones = reshape", fold_of_one},
    {Op::Amax, "amax over ones = reshape", fold_of_one},
    {Op::Amin, "amin over ones = reshape", fold_of_one},
};

}  // namespace

Graph simplify(const Graph& graph, std::vector<graph::RewriteCount>* counts) {
    return graph::rewrite(graph, kRules, counts);
}

}  // namespace talc::inductor
