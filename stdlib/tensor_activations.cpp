// Functions of elements that are made of other operators.
#include <cmath>

#include "stdlib/tensor_support.hpp"

namespace talc::stdlib {

#define COMPOSED(name, expression)                     \
    Ref tensor_##name(Vm& vm, const Args& args) {      \
        Eager e(vm);                                   \
        Tensor x = tensor_arg(vm, args, 0, #name);     \
        return wrap(vm, expression);                   \
    }
COMPOSED(exp2, e.emit(Op::Pow, {e.number(2.0), x}))
COMPOSED(log2, e.mul(e.log(x), Scalar(1.4426950408889634)))
COMPOSED(log10, e.mul(e.log(x), Scalar(0.4342944819032518)))
COMPOSED(tan, e.div(e.sin(x), e.cos(x)))
COMPOSED(cosh, e.mul(e.add(e.exp(x), e.exp(e.neg(x))), Scalar(0.5)))
COMPOSED(frac, e.sub(x, e.emit(Op::Trunc, {x})))
COMPOSED(softsign, e.div(x, e.add(e.abs(x), Scalar(1))))
COMPOSED(isinf, e.eq(e.abs(x), Scalar(HUGE_VAL)))
COMPOSED(isfinite, e.lt(e.abs(x), Scalar(HUGE_VAL)))
#undef COMPOSED

// From expm1, which keeps the digits of small arguments; odd, so that only one side is computed.
Ref tensor_sinh(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "sinh");
    Tensor u = e.emit(Op::Expm1, {x}), v = e.emit(Op::Expm1, {e.neg(x)});
    return wrap(vm, e.mul(e.sub(u, v), Scalar(0.5)));
}

namespace {

Tensor softplus(Eager& e, const Tensor& x, double beta, double threshold) {
    Tensor scaled = beta == 1 ? x : e.mul(x, Scalar(beta));
    Tensor bounded = e.emit(Op::ClampMax, {scaled, e.number(threshold)});  // exp of the rest is not used, and must not overflow
    Tensor soft = e.emit(Op::Log1p, {e.exp(bounded)});
    if (beta != 1) soft = e.div(soft, Scalar(beta));
    return e.where(e.gt(scaled, Scalar(threshold)), x, soft);
}

}  // namespace

Ref tensor_softplus(Vm& vm, const Args& args) {
    Eager e(vm);
    return wrap(vm, softplus(e, tensor_arg(vm, args, 0, "softplus"), to_double(vm, args[1]), to_double(vm, args[2])));
}

Ref tensor_mish(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "mish");
    return wrap(vm, e.mul(x, e.tanh(softplus(e, x, 1, 20))));
}

Ref tensor_leaky_relu(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "leaky_relu");
    return wrap(vm, e.where(e.gt(x, Scalar(0)), x, e.emit(Op::Mul, {x, operand_arg(vm, args, 1, "leaky_relu", "negative_slope")})));
}

Ref tensor_elu(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "elu");
    Tensor low = e.emit(Op::Expm1, {e.emit(Op::ClampMax, {x, e.number(0.0)})});
    return wrap(vm, e.where(e.gt(x, Scalar(0)), x, e.emit(Op::Mul, {low, operand_arg(vm, args, 1, "elu", "alpha")})));
}

Ref tensor_hardtanh(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "hardtanh");
    Tensor low = operand_arg(vm, args, 1, "hardtanh", "min_val"), high = operand_arg(vm, args, 2, "hardtanh", "max_val");
    return wrap(vm, Eager(vm).clamp(x, low, high));
}

// The sign of the dividend, where remainder has the divisor's.
Ref tensor_fmod(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor a = tensor_arg(vm, args, 0, "fmod"), b = operand_arg(vm, args, 1, "fmod");
    Tensor rest = e.emit(Op::Remainder, {a, b});
    Tensor zero = e.number(0);
    Tensor turned = e.emit(Op::Ne, {e.emit(Op::Lt, {a, zero}), e.emit(Op::Lt, {b, zero})});
    Tensor wrong = e.logical_and(turned, e.emit(Op::Ne, {rest, zero}));
    return wrap(vm, e.where(wrong, e.emit(Op::Sub, {rest, b}), rest));
}

// ---- Losses ----

Ref tensor_huber_loss(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor a = tensor_arg(vm, args, 0, "huber_loss"), b = tensor_arg(vm, args, 1, "huber_loss", "target");
    double delta = to_double(vm, args[3]);
    if (delta <= 0) raise(vm, Exc::RuntimeError, "huber_loss does not support non-positive values for delta.");
    Tensor distance = e.abs(e.sub(a, b));
    Tensor near = e.mul(e.square(distance), Scalar(0.5)), far = e.mul(e.sub(distance, Scalar(0.5 * delta)), Scalar(delta));
    return wrap(vm, e.reduced(e.where(e.le(distance, Scalar(delta)), near, far), reduction_arg(vm, args[2])));
}

Ref tensor_smooth_l1_loss(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor a = tensor_arg(vm, args, 0, "smooth_l1_loss"), b = tensor_arg(vm, args, 1, "smooth_l1_loss", "target");
    double beta = to_double(vm, args[3]);
    Tensor distance = e.abs(e.sub(a, b));
    if (beta == 0) return wrap(vm, e.reduced(distance, reduction_arg(vm, args[2])));
    Tensor near = e.mul(e.square(distance), Scalar(0.5 / beta)), far = e.sub(distance, Scalar(0.5 * beta));
    return wrap(vm, e.reduced(e.where(e.lt(distance, Scalar(beta)), near, far), reduction_arg(vm, args[2])));
}

Ref tensor_bce_with_logits(Vm& vm, const Args& args) {
    constexpr std::string_view kName = "binary_cross_entropy_with_logits";
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, kName), target = tensor_arg(vm, args, 1, kName, "target");
    Tensor weight = optional_tensor_arg(vm, args, 2, kName, "weight"), positive = optional_tensor_arg(vm, args, 4, kName, "pos_weight");
    if (!(x.sizes() == target.sizes())) {
        raise(vm, Exc::ValueError, "Target size (torch.Size({})) must be the same as input size (torch.Size({}))",
              tensor::bracketed(target.sizes()), tensor::bracketed(x.sizes()));
    }
    Tensor other = e.emit(Op::Sub, {e.number(1), target});
    Tensor soft = e.add(e.emit(Op::Log1p, {e.exp(e.neg(e.abs(x)))}), e.emit(Op::Relu, {e.neg(x)}));
    if (positive) soft = e.mul(soft, e.add(e.mul(e.sub(positive, Scalar(1)), target), Scalar(1)));
    Tensor losses = e.add(e.mul(other, x), soft);
    return wrap(vm, e.reduced(weight ? e.mul(losses, weight) : losses, reduction_arg(vm, args[3])));
}

Ref tensor_bce(Vm& vm, const Args& args) {
    constexpr std::string_view kName = "binary_cross_entropy";
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, kName), target = tensor_arg(vm, args, 1, kName, "target");
    Tensor weight = optional_tensor_arg(vm, args, 2, kName, "weight");
    if (!(x.sizes() == target.sizes())) {
        raise(vm, Exc::ValueError, "Using a target size (torch.Size({})) that is different to the input size (torch.Size({})) is deprecated. "
              "Please ensure they have the same size.", tensor::bracketed(target.sizes()), tensor::bracketed(x.sizes()));
    }
    // Logarithms are bounded at -100, as PyTorch does.
    auto bounded = [&](const Tensor& v) { return e.emit(Op::ClampMin, {v, e.number(-100.0)}); };
    Tensor yes = bounded(e.log(x)), no = bounded(e.emit(Op::Log1p, {e.neg(x)}));
    Tensor losses = e.sub(e.mul(e.sub(target, Scalar(1)), no), e.mul(target, yes));
    return wrap(vm, e.reduced(weight ? e.mul(losses, weight) : losses, reduction_arg(vm, args[3])));
}

Ref tensor_kl_div(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "kl_div"), target = tensor_arg(vm, args, 1, "kl_div", "target");
    Tensor losses;
    if (truth(vm, args[3])) {
        losses = e.mul(e.exp(target), e.sub(target, x));
    } else {
        // target * log(target) is 0 where the target is.
        Tensor zero = e.emit(Op::Eq, {target, e.number(0)});
        Tensor safe = e.where(zero, e.number(1.0), target);
        losses = e.sub(e.zero_where(zero, e.mul(target, e.log(safe))), e.mul(target, x));
    }
    if (to_text(vm, args[2], "reduction") == "batchmean") {
        Tensor total = e.reduce(Op::Sum, losses, {});
        return wrap(vm, x.rank() > 0 ? e.div(total, Scalar(static_cast<double>(x.size(0)))) : total);
    }
    return wrap(vm, e.reduced(losses, reduction_arg(vm, args[2])));
}

}  // namespace talc::stdlib
