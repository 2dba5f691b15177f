// Tensor functions and methods that work element by element, and their in-place forms.
#include "stdlib/tensor_support.hpp"

namespace talc::stdlib {

// ---- One operand ----

#define UNARY(name, op)                                                      \
    Ref tensor_##name(Vm& vm, const Args& args) {                            \
        return wrap(vm, Eager(vm).emit(Op::op, {tensor_arg(vm, args, 0, #name)})); \
    }
UNARY(neg, Neg)
UNARY(absolute, Abs)
UNARY(sign, Sign)
UNARY(square, Square)
UNARY(relu, Relu)
UNARY(floor, Floor)
UNARY(ceil, Ceil)
UNARY(trunc, Trunc)
UNARY(exp, Exp)
UNARY(expm1, Expm1)
UNARY(log, Log)
UNARY(log1p, Log1p)
UNARY(sqrt, Sqrt)
UNARY(rsqrt, Rsqrt)
UNARY(reciprocal, Reciprocal)
UNARY(sin, Sin)
UNARY(cos, Cos)
UNARY(tanh, Tanh)
UNARY(sigmoid, Sigmoid)
UNARY(erf, Erf)
UNARY(logical_not, LogicalNot)
UNARY(bitwise_not, BitNot)
UNARY(isnan, IsNan)
#undef UNARY

Ref tensor_round(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "round");
    int64_t decimals = int_arg(vm, args[1], "round", "decimals", 2);
    if (decimals == 0) return wrap(vm, e.emit(Op::Round, {x}));
    Scalar scale(std::pow(10.0, static_cast<double>(decimals < 0 ? -decimals : decimals)));
    Tensor scaled = decimals > 0 ? e.mul(x, scale) : e.div(x, scale);
    Tensor rounded = e.emit(Op::Round, {scaled});
    return wrap(vm, decimals > 0 ? e.div(rounded, scale) : e.mul(rounded, scale));
}

Ref tensor_gelu(Vm& vm, const Args& args) {
    std::string_view form = to_text(vm, args[1], "approximate");
    if (form != "none" && form != "tanh") raise(vm, Exc::RuntimeError, "approximate argument must be either none or tanh.");
    tensor::Attrs attrs;
    attrs.mode = form == "tanh";
    return wrap(vm, Eager(vm).emit(Op::Gelu, {tensor_arg(vm, args, 0, "gelu")}, attrs));
}

Ref tensor_silu(Vm& vm, const Args& args) { return wrap(vm, Eager(vm).silu(tensor_arg(vm, args, 0, "silu"))); }

// ---- Two operands ----

#define BINARY(name, op)                                                                                      \
    Ref tensor_##name(Vm& vm, const Args& args) {                                                             \
        Tensor first = tensor_arg(vm, args, 0, #name);                                                        \
        return wrap(vm, Eager(vm).emit(Op::op, {first, operand_arg(vm, args, 1, #name)}));                    \
    }                                                                                                         
BINARY(mul, Mul)
BINARY(floor_divide, FloorDiv)
BINARY(maximum, Maximum)
BINARY(minimum, Minimum)
BINARY(eq, Eq)
BINARY(ne, Ne)
BINARY(lt, Lt)
BINARY(le, Le)
BINARY(gt, Gt)
BINARY(ge, Ge)
BINARY(logical_and, LogicalAnd)
BINARY(logical_or, LogicalOr)
BINARY(logical_xor, LogicalXor)
BINARY(bitwise_and, BitAnd)
BINARY(bitwise_or, BitOr)
BINARY(bitwise_xor, BitXor)
#undef BINARY

// The first operand may be the number.
#define EITHER(name, op)                                                                   \
    Ref tensor_##name(Vm& vm, const Args& args) {                                          \
        if (!is_tensor(args[0]) && !is_tensor(args[1])) tensor_arg(vm, args, 0, #name);    \
        Tensor first = operand_arg(vm, args, 0, #name, "input");                           \
        return wrap(vm, Eager(vm).emit(Op::op, {first, operand_arg(vm, args, 1, #name)})); \
    }
EITHER(pow, Pow)
EITHER(remainder, Remainder)
#undef EITHER

namespace {

// add and sub: other times alpha.
Tensor scaled_operand(Vm& vm, Eager& e, const Args& args, std::string_view function) {
    Tensor other = operand_arg(vm, args, 1, function);
    if (args[2].is_int() && args[2].i == 1) return other;
    return e.emit(Op::Mul, {other, operand_arg(vm, args, 2, function, "alpha")});
}

Tensor divided(Vm& vm, Eager& e, const Tensor& a, const Tensor& b, Value rounding) {
    if (!given(rounding)) return e.emit(Op::Div, {a, b});
    std::string_view mode = to_text(vm, rounding, "rounding_mode");
    if (mode == "floor") return e.emit(Op::FloorDiv, {a, b});
    if (mode != "trunc") {
        raise(vm, Exc::RuntimeError, "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{}'", mode);
    }
    Tensor quotient = e.emit(Op::Trunc, {e.emit(Op::Div, {a, b})});
    DType dtype = tensor::promote(a.dtype(), b.is_weak() ? a.dtype() : b.dtype());
    return tensor::is_float(dtype) ? quotient : e.cast(quotient, dtype);
}

// In place: the first operand takes the result.
Ref store_into(Vm& vm, Op op, const Args& args, const Tensor& other) {
    Tensor operands[] = {tensor_of(args[0]), other};
    autograd::apply_into(vm.tensors, op, operands, {}, operands[0]);
    return args[0];
}

}  // namespace

Ref tensor_add(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor first = tensor_arg(vm, args, 0, "add");
    return wrap(vm, e.emit(Op::Add, {first, scaled_operand(vm, e, args, "add")}));
}

Ref tensor_sub(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor first = tensor_arg(vm, args, 0, "sub");
    return wrap(vm, e.emit(Op::Sub, {first, scaled_operand(vm, e, args, "sub")}));
}

Ref tensor_div(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor first = tensor_arg(vm, args, 0, "div");
    return wrap(vm, divided(vm, e, first, operand_arg(vm, args, 1, "div"), args[2]));
}

Ref tensor_add_(Vm& vm, const Args& args) {
    Eager e(vm);
    return store_into(vm, Op::Add, args, scaled_operand(vm, e, args, "add_"));
}

Ref tensor_sub_(Vm& vm, const Args& args) {
    Eager e(vm);
    return store_into(vm, Op::Sub, args, scaled_operand(vm, e, args, "sub_"));
}

Ref tensor_mul_(Vm& vm, const Args& args) { return store_into(vm, Op::Mul, args, operand_arg(vm, args, 1, "mul_")); }
Ref tensor_pow_(Vm& vm, const Args& args) { return store_into(vm, Op::Pow, args, operand_arg(vm, args, 1, "pow_", "exponent")); }

Ref tensor_div_(Vm& vm, const Args& args) {
    if (given(args[2])) {
        Eager e(vm);
        Tensor target = tensor_of(args[0]);
        autograd::copy_into(vm.tensors, divided(vm, e, target, operand_arg(vm, args, 1, "div_"), args[2]), target);
        return args[0];
    }
    return store_into(vm, Op::Div, args, operand_arg(vm, args, 1, "div_"));
}

#define UNARY_IN_PLACE(name, op)                                                       \
    Ref tensor_##name##_(Vm& vm, const Args& args) {                                   \
        Tensor self = tensor_of(args[0]);                                              \
        autograd::apply_into(vm.tensors, Op::op, std::span(&self, 1), {}, self);       \
        return args[0];                                                                \
    }
UNARY_IN_PLACE(exp, Exp)
UNARY_IN_PLACE(log, Log)
UNARY_IN_PLACE(sqrt, Sqrt)
UNARY_IN_PLACE(neg, Neg)
UNARY_IN_PLACE(relu, Relu)
UNARY_IN_PLACE(tanh, Tanh)
UNARY_IN_PLACE(sigmoid, Sigmoid)
#undef UNARY_IN_PLACE

// self + value * a * b
namespace {

Tensor product_term(Vm& vm, Eager& e, const Args& args, Op op, std::string_view function) {
    Tensor term = e.emit(op, {tensor_arg(vm, args, 1, function, "tensor1"), tensor_arg(vm, args, 2, function, "tensor2")});
    if (args[3].is_int() && args[3].i == 1) return term;
    return e.emit(Op::Mul, {term, operand_arg(vm, args, 3, function, "value")});
}

}  // namespace

Ref tensor_addcmul(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor first = tensor_arg(vm, args, 0, "addcmul");
    return wrap(vm, e.add(first, product_term(vm, e, args, Op::Mul, "addcmul")));
}
Ref tensor_addcdiv(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor first = tensor_arg(vm, args, 0, "addcdiv");
    return wrap(vm, e.add(first, product_term(vm, e, args, Op::Div, "addcdiv")));
}
Ref tensor_addcmul_(Vm& vm, const Args& args) {
    Eager e(vm);
    return store_into(vm, Op::Add, args, product_term(vm, e, args, Op::Mul, "addcmul_"));
}
Ref tensor_addcdiv_(Vm& vm, const Args& args) {
    Eager e(vm);
    return store_into(vm, Op::Add, args, product_term(vm, e, args, Op::Div, "addcdiv_"));
}

namespace {

Tensor interpolated(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor start = tensor_arg(vm, args, 0, "lerp"), end = tensor_arg(vm, args, 1, "lerp", "end");
    return e.add(start, e.emit(Op::Mul, {operand_arg(vm, args, 2, "lerp", "weight"), e.sub(end, start)}));
}

}  // namespace

Ref tensor_lerp(Vm& vm, const Args& args) { return wrap(vm, interpolated(vm, args)); }
Ref tensor_lerp_(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor difference = e.sub(tensor_arg(vm, args, 1, "lerp_", "end"), tensor_of(args[0]));
    return store_into(vm, Op::Add, args, e.emit(Op::Mul, {operand_arg(vm, args, 2, "lerp_", "weight"), difference}));
}

// ---- Chosen and bounded ----

Ref tensor_where(Vm& vm, const Args& args) {
    Tensor condition = tensor_arg(vm, args, 0, "where", "condition");
    if (!args.has(1) && !args.has(2)) {
        readable(vm, condition);
        return wrap_all(vm, tensor::nonzero(vm.tensors, condition));
    }
    Tensor yes = operand_arg(vm, args, 1, "where", "input");
    return wrap(vm, Eager(vm).where(condition, yes, operand_arg(vm, args, 2, "where", "other")));
}

Ref tensor_where_method(Vm& vm, const Args& args) {
    Tensor condition = tensor_arg(vm, args, 1, "where", "condition");
    return wrap(vm, Eager(vm).where(condition, tensor_of(args[0]), operand_arg(vm, args, 2, "where")));
}

Ref tensor_masked_fill(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "masked_fill"), mask = tensor_arg(vm, args, 1, "masked_fill", "mask");
    Eager e(vm);
    return wrap(vm, e.where(mask, e.cast(operand_arg(vm, args, 2, "masked_fill", "value"), x.dtype()), x));
}

Ref tensor_masked_fill_(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "masked_fill_"), mask = tensor_arg(vm, args, 1, "masked_fill_", "mask");
    Tensor operands[] = {mask, Eager(vm).cast(operand_arg(vm, args, 2, "masked_fill_", "value"), x.dtype()), x};
    autograd::apply_into(vm.tensors, Op::Where, operands, {}, x);
    return args[0];
}

Ref tensor_clamp(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "clamp");
    Tensor low = optional_operand_arg(vm, args, 1, "clamp", "min"), high = optional_operand_arg(vm, args, 2, "clamp", "max");
    if (!low && !high) raise(vm, Exc::RuntimeError, "torch.clamp: At least one of 'min' or 'max' must not be None");
    return wrap(vm, Eager(vm).clamp(x, low, high));
}

Ref tensor_clamp_(Vm& vm, const Args& args) {
    Tensor low = optional_operand_arg(vm, args, 1, "clamp_", "min"), high = optional_operand_arg(vm, args, 2, "clamp_", "max");
    if (!low && !high) raise(vm, Exc::RuntimeError, "torch.clamp: At least one of 'min' or 'max' must not be None");
    if (low) store_into(vm, Op::ClampMin, args, low);
    if (high) store_into(vm, Op::ClampMax, args, high);
    return args[0];
}

Ref tensor_copy_(Vm& vm, const Args& args) {
    autograd::copy_into(vm.tensors, operand_arg(vm, args, 1, "copy_", "other"), tensor_of(args[0]));
    return args[0];
}

Ref tensor_zero_(Vm& vm, const Args& args) {
    autograd::fill_with(vm.tensors, Scalar(0), tensor_of(args[0]));
    return args[0];
}

Ref tensor_fill_(Vm& vm, const Args& args) {
    Tensor value = operand_arg(vm, args, 1, "fill_", "value");
    if (value.rank() != 0) {
        raise(vm, Exc::RuntimeError, "fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.",
              value.rank());
    }
    autograd::copy_into(vm.tensors, value, tensor_of(args[0]));
    return args[0];
}

Ref tensor_uniform_(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor self = tensor_of(args[0]);
    Scalar low = number_arg(vm, args[1], "uniform_", "from", 2), high = number_arg(vm, args[2], "uniform_", "to", 3);
    Tensor sample = e.mul(uniform(vm, self.sizes(), self.dtype(), self.device()), Scalar(high.to_double() - low.to_double()));
    autograd::copy_into(vm.tensors, e.add(sample, Scalar(low.to_double())), self);
    return args[0];
}

Ref tensor_normal_(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor self = tensor_of(args[0]);
    tensor::Attrs attrs;
    attrs.sizes = self.sizes();
    attrs.dtype = self.dtype();
    attrs.device = self.device();
    Tensor sample = autograd::apply(vm.tensors, Op::Randn, random_operands(vm), attrs);
    Tensor scaled = e.emit(Op::Mul, {sample, operand_arg(vm, args, 2, "normal_", "std")});
    autograd::copy_into(vm.tensors, e.emit(Op::Add, {scaled, operand_arg(vm, args, 1, "normal_", "mean")}), self);
    return args[0];
}

}  // namespace talc::stdlib
