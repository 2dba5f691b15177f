#pragma once
// The inner loops of the pointwise operators, over contiguous runs of the type that is computed in.
#include <cstdint>

#include "tensor/ops.hpp"

namespace talc::tensor {

// What may_raise operators report; the caller raises it.
enum class Fault : uint8_t { None, ZeroDivision };

// in: the operands' runs; out: the result's, which may be one of them.
using PointwiseLoop = Fault (*)(const void* const* in, void* out, int64_t n, const Attrs& attrs);

// Null where an operator does not compute in that type.
PointwiseLoop pointwise_loop_float32(Op op);
PointwiseLoop pointwise_loop_float64(Op op);
PointwiseLoop pointwise_loop_int64(Op op);

}  // namespace talc::tensor
