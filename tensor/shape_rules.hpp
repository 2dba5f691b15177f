#pragma once
// Which shape an operator gives: one function a rule, written over any kind of dimension. Running uses plain
// numbers; graphs use symbolic dims with a judge that answers from hints and records what it answered.
#include <span>
#include <string>

#include "tensor/error.hpp"
#include "tensor/inline_vec.hpp"
#include "tensor/ops.hpp"

namespace talc::tensor {

// The judge of plain numbers. Another judge offers the same members for its D.
struct PlainJudge {
    using D = int64_t;
    bool same(D a, D b) const { return a == b; }
    bool is(D a, int64_t value) const { return a == value; }
    bool at_most(D a, D b) const { return a <= b; }
    D add(D a, D b) const { return a + b; }
    D sub(D a, D b) const { return a - b; }
    D mul(D a, D b) const;            // fails when it overflows
    bool divides(D a, D b) const { return a != 0 && b % a == 0; }
    D quotient(D a, D b) const { return a / b; }            // exact
    D ceil_quotient(D a, D b) const { return (a + b - 1) / b; }
    std::string text(D a) const { return std::to_string(a); }
};

// The shape of every output (operators with several give them the same shape).
template <class Judge>
ShapeOf<typename Judge::D> infer_shape(Judge& judge, Op op, std::span<const ShapeOf<typename Judge::D>* const> inputs,
                                       const AttrsOf<typename Judge::D>& attrs);

// A dimension number as a program writes it (negative counts from the end) to one in [0, rank).
int64_t wrap_dim(int64_t dim, int64_t rank);
// Wrapped, sorted, each once; empty means all.
Dims wrap_dims(std::span<const int64_t> dims, int64_t rank, std::string_view op);

}  // namespace talc::tensor
