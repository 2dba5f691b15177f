// The language's operators on tensors: arithmetic, comparisons, in-place forms.
#include "autograd/tape.hpp"
#include "tensor/factory.hpp"
#include "vm/tensor.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

using tensor::Op;
using tensor::Tensor;

namespace {

std::optional<Op> table_op(BinaryOp op) {
    switch (op) {
        case BinaryOp::Add: return Op::Add;
        case BinaryOp::Sub: return Op::Sub;
        case BinaryOp::Mul: return Op::Mul;
        case BinaryOp::Div: return Op::Div;
        case BinaryOp::FloorDiv: return Op::FloorDiv;
        case BinaryOp::Mod: return Op::Remainder;
        case BinaryOp::Pow: return Op::Pow;
        case BinaryOp::MatMul: return Op::Matmul;
        case BinaryOp::And: return Op::BitAnd;
        case BinaryOp::Or: return Op::BitOr;
        case BinaryOp::Xor: return Op::BitXor;
        case BinaryOp::LShift:
        case BinaryOp::RShift: break;
    }
    return {};
}

constexpr Op kCompare[] = {Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge};  // in the order of CompareOp

bool can_be_operand(Value v) { return is_tensor(v) || is_number(v); }

// a << b is a * 2**b, and a >> b is a // 2**b.
Ref shifted(Vm& vm, BinaryOp op, Value a, Value b) {
    return with_tensor_errors(vm, [&] {
        Tensor value = operand_of(vm, a, 0), count = operand_of(vm, b, 1);
        if (tensor::is_float(value.dtype()) || tensor::is_float(count.dtype())) {
            tensor::fail(tensor::ErrorKind::NotImplemented, "{} not implemented for '{}'",
                         op == BinaryOp::LShift ? "lshift" : "rshift",
                         tensor::info(tensor::is_float(value.dtype()) ? value.dtype() : count.dtype()).word);
        }
        Tensor powers[] = {tensor::number(vm.tensors, tensor::Scalar(2)), count};
        Tensor operands[] = {value, autograd::apply(vm.tensors, Op::Pow, powers)};
        return wrap(vm, autograd::apply(vm.tensors, op == BinaryOp::LShift ? Op::Mul : Op::FloorDiv, operands));
    });
}

Ref apply_to(Vm& vm, Op op, Value a, Value b) {
    return with_tensor_errors(vm, [&] {
        Tensor operands[] = {operand_of(vm, a, 0), operand_of(vm, b, 1)};
        return wrap(vm, autograd::apply(vm.tensors, op, operands));
    });
}

}  // namespace

Ref tensor_binary(Vm& vm, BinaryOp op, Value a, Value b) {
    if (!can_be_operand(a) || !can_be_operand(b)) return {};
    if (op == BinaryOp::LShift || op == BinaryOp::RShift) return shifted(vm, op, a, b);
    std::optional<Op> found = table_op(op);
    if (op == BinaryOp::MatMul && !(is_tensor(a) && is_tensor(b))) return {};
    return apply_to(vm, *found, a, b);
}

Ref tensor_in_place(Vm& vm, BinaryOp op, Value a, Value b) {
    if (op == BinaryOp::MatMul || !can_be_operand(b)) return {};
    if (op == BinaryOp::LShift || op == BinaryOp::RShift) {
        Ref result = shifted(vm, op, a, b);
        with_tensor_errors(vm, [&] { autograd::copy_into(vm.tensors, tensor_of(result), tensor_of(a)); });
        return a;
    }
    std::optional<Op> found = table_op(op);
    return with_tensor_errors(vm, [&] {
        Tensor operands[] = {tensor_of(a), operand_of(vm, b, 1)};
        autograd::apply_into(vm.tensors, *found, operands, {}, operands[0]);
        return Ref(a);
    });
}

Ref tensor_compare(Vm& vm, CompareOp op, Value a, Value b) {
    if (!can_be_operand(a) || !can_be_operand(b)) return {};
    return apply_to(vm, kCompare[static_cast<int>(op)], a, b);
}

Ref tensor_unary(Vm& vm, UnaryOp op, Value v) {
    if (op == UnaryOp::Pos) return v;
    return with_tensor_errors(vm, [&] {
        Op found = op == UnaryOp::Neg ? Op::Neg : Op::BitNot;
        return wrap(vm, autograd::apply(vm.tensors, found, std::span(&tensor_of(v), 1)));
    });
}

Ref tensor_abs(Vm& vm, Value v) {
    return with_tensor_errors(
        vm, [&] { return wrap(vm, autograd::apply(vm.tensors, Op::Abs, std::span(&tensor_of(v), 1))); });
}

}  // namespace talc::vm
