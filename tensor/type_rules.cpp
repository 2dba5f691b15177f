#include "tensor/type_rules.hpp"

#include <array>

#include "tensor/error.hpp"

namespace talc::tensor {

namespace {

DType result_type(const TypeQuery& q, size_t from = 0) {
    ResultType result(q.default_float);
    for (size_t i = from; i < q.inputs.size(); ++i) result.add(q.inputs[i]);
    return result.result();
}

DType dtype_of_scalar(Scalar value, DType default_float) {
    return value.category == Category::Float ? default_float : value.carrier();
}

[[noreturn]] void not_implemented_for(Op op, DType dtype) {
    fail(ErrorKind::NotImplemented, "\"{}\" not implemented for '{}'", name_of(op), info(dtype).word);
}

DType type_none(const TypeQuery& q) { fail("{} has no type rule", name_of(q.op)); }

// The attribute, or what the value asks for.
DType type_wanted(const TypeQuery& q) {
    if (q.dtype) return *q.dtype;
    return promote(dtype_of_scalar(q.value, q.default_float), dtype_of_scalar(q.delta, q.default_float));
}

DType type_wanted_float(const TypeQuery& q) {
    DType dtype = q.dtype.value_or(q.default_float);
    if (!is_float(dtype)) not_implemented_for(q.op, dtype);
    return dtype;
}

DType type_number(const TypeQuery& q) { return q.value.carrier(); }

DType type_same(const TypeQuery& q) { return q.inputs[0].dtype; }

DType type_promoted(const TypeQuery& q) { return result_type(q); }

DType type_floating(const TypeQuery& q) {
    DType dtype = result_type(q);
    return is_float(dtype) ? dtype : q.default_float;
}

DType type_float_only(const TypeQuery& q) {
    DType dtype = result_type(q);
    if (!is_float(dtype)) not_implemented_for(q.op, dtype);
    return dtype;
}

DType type_not_bool(const TypeQuery& q) {
    DType dtype = result_type(q);
    if (dtype == DType::Bool) not_implemented_for(q.op, dtype);
    return dtype;
}

DType type_negatable(const TypeQuery& q) {
    if (q.inputs[0].dtype == DType::Bool) {
        fail("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
             "use the `~` or `logical_not()` operator instead.");
    }
    return result_type(q);
}

DType type_subtractable(const TypeQuery& q) {
    bool left = q.inputs[0].dtype == DType::Bool;
    bool right = q.inputs[1].dtype == DType::Bool;
    if (left && right) {
        fail("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
             "`logical_xor()` operator instead.");
    }
    if (left || right) {
        fail("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
             "mask, use the `~` or `logical_not()` operator instead.");
    }
    return result_type(q);
}

DType type_bits(const TypeQuery& q) {
    DType dtype = result_type(q);
    if (is_float(dtype)) not_implemented_for(q.op, dtype);
    return dtype;
}

DType type_boolean(const TypeQuery&) { return DType::Bool; }

DType type_chosen(const TypeQuery& q) {
    if (q.inputs[0].dtype != DType::Bool) {
        fail("where expected condition to be a boolean tensor, but got a tensor with dtype {}",
             info(q.inputs[0].dtype).word);
    }
    return result_type(q, 1);
}

DType type_summed(const TypeQuery& q) {
    if (q.dtype) return *q.dtype;
    DType dtype = q.inputs[0].dtype;
    return is_integral(dtype) ? DType::Int64 : dtype;
}

DType type_averaged(const TypeQuery& q) {
    DType dtype = q.dtype.value_or(q.inputs[0].dtype);
    if (!is_float(dtype)) {
        fail(ErrorKind::NotImplemented, "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
             "Got: {}",
             info(dtype).word);
    }
    return dtype;
}

DType type_index(const TypeQuery&) { return DType::Int64; }

DType type_same_and_index(const TypeQuery& q) { return q.inputs[0].dtype; }

DType type_equal_dtypes(const TypeQuery& q) {
    DType a = q.inputs[0].dtype, b = q.inputs[1].dtype;
    if (a != b) {
        fail("{}: expected both operands to have the same dtype, but got {} and {}", name_of(q.op), name_of(a),
             name_of(b));
    }
    return a;
}

void check_index(const TypeQuery& q, size_t i) {
    DType dtype = q.inputs[i].dtype;
    if (dtype != DType::Int64 && dtype != DType::Int32) {
        if (q.op == Op::IndexTake || q.op == Op::IndexPut) {
            fail(ErrorKind::Index, "tensors used as indices must be long, int, byte or bool tensors");
        }
        fail("{}(): Expected dtype int32/int64 for index, but got {}", name_of(q.op), name_of(dtype));
    }
}

DType type_indexed(const TypeQuery& q) {
    for (size_t i = 1; i < q.inputs.size(); ++i) check_index(q, i);
    return q.inputs[0].dtype;
}

void check_same_source(const TypeQuery& q, size_t source) {
    if (q.inputs[source].dtype != q.inputs[0].dtype && !q.inputs[source].weak) {
        fail("{}(): Expected self and source to have the same dtype, but got self.dtype = {} and source.dtype = {}",
             name_of(q.op), name_of(q.inputs[0].dtype), name_of(q.inputs[source].dtype));
    }
}

// Operands: self, source, indices.
DType type_index_stored(const TypeQuery& q) {
    check_same_source(q, 1);
    for (size_t i = 2; i < q.inputs.size(); ++i) check_index(q, i);
    return q.inputs[0].dtype;
}

// Operands: self, index, source.
DType type_index_added(const TypeQuery& q) {
    check_index(q, 1);
    check_same_source(q, 2);
    return q.inputs[0].dtype;
}

using Rule = DType (*)(const TypeQuery&);
constexpr std::array<Rule, kOpCount> kRules = {
#define TALC_OP(id, name, inputs, outputs, kind, attributes, effect, raises, type_rule, shape_rule) type_##type_rule,
#include "tensor/ops.def"
#undef TALC_OP
};

}  // namespace

DTypes infer_dtypes(const TypeQuery& query) {
    Rule rule = kRules[static_cast<size_t>(query.op)];
    DTypes dtypes;
    dtypes.push_back(rule(query));
    if (rule == type_same_and_index) dtypes.push_back(DType::Int64);
    return dtypes;
}

DType operand_dtype(const TypeQuery& query, size_t i, DType result) {
    Rule rule = kRules[static_cast<size_t>(query.op)];
    if (rule == type_boolean) return result_type(query);
    if (rule == type_chosen) return i == 0 ? DType::Bool : result;
    if (rule == type_index) return query.inputs[0].dtype;
    if (query.op == Op::Cast) return query.inputs[i].dtype;
    if (rule == type_indexed && i >= 1) return query.inputs[i].dtype;
    if (rule == type_index_stored && i >= 2) return query.inputs[i].dtype;
    if (rule == type_index_added && i == 1) return query.inputs[i].dtype;
    return result;
}

bool is_test(Op op) { return kRules[static_cast<size_t>(op)] == type_boolean; }

}  // namespace talc::tensor
