#pragma once
// Which dtype an operator gives, and which dtype it computes in: the one definition for running, recording and
// verifying. Each rule is a function named in the operator's row.
#include <optional>
#include <span>

#include "tensor/dtype.hpp"
#include "tensor/ops.hpp"

namespace talc::tensor {

struct TypeQuery {
    Op op;
    std::span<const OperandType> inputs;
    std::optional<DType> dtype;  // the attribute
    Scalar value;                // the attributes of full, arange and number
    Scalar delta;
    DType default_float = DType::Float32;
};

using DTypes = InlineVec<DType, 2>;

// One dtype for each output. Fails when the operator refuses its operands' dtypes.
DTypes infer_dtypes(const TypeQuery& query);

// The dtype to which operand `i` is converted before a pointwise operator, reduction, contraction or
// concatenation computes. `result` is the dtype of its first output.
DType operand_dtype(const TypeQuery& query, size_t i, DType result);

// Gives bool whatever the dtypes of its operands.
bool is_test(Op op);

}  // namespace talc::tensor
