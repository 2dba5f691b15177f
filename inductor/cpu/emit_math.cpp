// Elementary functions as vector code: the polynomials of tensor/math.hpp, in fused steps. float64 goes to the C
// library, lane by lane.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <numbers>

#include "inductor/cpu/emit.hpp"

namespace talc::inductor::cpu {

using llvm::IRBuilderBase;
using llvm::Type;
using loops::Op;
using V = llvm::Value*;

V call_for_each_lane(IRBuilderBase& build, const char* name, std::span<V const> x) {
    llvm::Module* module = build.GetInsertBlock()->getModule();
    Type* scalar = x[0]->getType()->getScalarType();
    std::vector<Type*> types(x.size(), scalar);
    llvm::FunctionCallee function = module->getOrInsertFunction(name, llvm::FunctionType::get(scalar, types, false));
    if (auto* declared = llvm::dyn_cast<llvm::Function>(function.getCallee())) {
        declared->setDoesNotAccessMemory();
        declared->setDoesNotThrow();
        declared->setWillReturn();
    }
    unsigned lanes = lanes_of(x[0]->getType());
    if (lanes == 1) return build.CreateCall(function, llvm::ArrayRef<V>(x.data(), x.size()));
    V result = llvm::PoisonValue::get(x[0]->getType());
    for (unsigned lane = 0; lane < lanes; ++lane) {
        llvm::SmallVector<V, 2> arguments;
        for (V operand : x) arguments.push_back(build.CreateExtractElement(operand, lane));
        result = build.CreateInsertElement(result, build.CreateCall(function, arguments), lane);
    }
    return result;
}

namespace {

class Math {
  public:
    Math(IRBuilderBase& build, Type* type)
        : build_(build), type_(type), int_(with_lanes(build.getInt32Ty())) {
        llvm::StringRef triple = build.GetInsertBlock()->getModule()->getTargetTriple();
        nan_passes_minimum_ = triple.starts_with("aarch64") || triple.starts_with("arm64");
    }

    V number(double value) { return llvm::ConstantFP::get(type_, value); }
    V whole(uint32_t value) { return llvm::ConstantInt::get(int_, value); }
    V fma(V a, V b, V c) { return build_.CreateIntrinsic(llvm::Intrinsic::fma, {type_}, {a, b, c}); }
    V unary(llvm::Intrinsic::ID id, V x) { return build_.CreateUnaryIntrinsic(id, x); }
    V abs(V x) { return unary(llvm::Intrinsic::fabs, x); }
    V copysign(V x, V sign) { return build_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, sign); }
    V bits(V x) { return build_.CreateBitCast(x, int_); }
    V from_bits(V x) { return build_.CreateBitCast(x, type_); }
    V select(V condition, V a, V b) { return build_.CreateSelect(condition, a, b); }
    V add(V a, V b) { return build_.CreateFAdd(a, b); }
    V sub(V a, V b) { return build_.CreateFSub(a, b); }
    V mul(V a, V b) { return build_.CreateFMul(a, b); }
    V div(V a, V b) { return build_.CreateFDiv(a, b); }

    // Horner's rule; coefficients from the highest power down.
    V poly(V x, std::initializer_list<double> coefficients) {
        V p = nullptr;
        for (double c : coefficients) p = p ? fma(p, x, number(c)) : number(c);
        return p;
    }

    // e^r - 1 over r in [-ln2/2, ln2/2], and 2^n, with x = n ln2 + r.
    struct Split {
        V reduced, shifted;
    };
    Split split(V y) {
        V shifted = fma(y, number(1.44269504f), number(kRound));
        V n = sub(shifted, number(kRound));
        V r = fma(n, number(-0.693359375f), y);
        return {fma(n, number(2.12194440e-4f), r), shifted};
    }
    V exp_tail(V r) {
        V p = poly(r, {1.3942169e-03f, 8.363776e-03f, 4.1666362e-02f, 1.6666573e-01f, 5.e-01f});
        return fma(mul(r, r), p, r);
    }
    // e * 2^n in two steps, so that the result may be subnormal or infinite.
    V scaled(V e, V shifted) {
        V n = build_.CreateSub(bits(shifted), whole(0x4b400000u));
        V half = build_.CreateAShr(n, 1);
        auto power = [&](V k) { return from_bits(build_.CreateShl(build_.CreateAdd(k, whole(127)), 23)); };
        return mul(mul(e, power(half)), power(build_.CreateSub(n, half)));
    }

    // x between bounds; nan stays nan. Each is one instruction, under either name.
    V at_most(V x, double bound) {
        if (nan_passes_minimum_) return build_.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, x, number(bound));
        return select(build_.CreateFCmpOGT(x, number(bound)), number(bound), x);
    }
    V at_least(V x, double bound) {
        if (nan_passes_minimum_) return build_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, x, number(bound));
        return select(build_.CreateFCmpOLT(x, number(bound)), number(bound), x);
    }

    V exp(V x) {
        Split s = split(at_least(at_most(x, 89), -104));
        return scaled(add(number(1), exp_tail(s.reduced)), s.shifted);
    }

    V expm1(V x) {
        // Near 0 the polynomial alone keeps the digits.
        V near = build_.CreateFCmpOLT(abs(x), number(0.34657359f));
        return select(near, exp_tail(x), sub(exp(x), number(1)));
    }

    // ln of a normal positive x.
    V log_positive(V x) {
        V b = build_.CreateSub(bits(x), whole(0x3f3504f3u));
        V e = build_.CreateSIToFP(build_.CreateAShr(b, 23), type_);
        V f = sub(from_bits(build_.CreateAdd(build_.CreateAnd(b, whole(0x007fffffu)), whole(0x3f3504f3u))), number(1));
        V p = poly(f, {-8.3055645e-02f, 1.2798963e-01f, -1.294339e-01f, 1.419023e-01f, -1.664349e-01f, 2.0001881e-01f,
                       -2.500028e-01f, 3.3333325e-01f});
        V square = mul(f, f);
        V small = fma(mul(square, f), p, mul(e, number(-2.12194440e-4f)));
        small = add(fma(number(-0.5), square, small), f);
        return fma(e, number(0.693359375f), small);
    }

    V log(V x) {
        V tiny = build_.CreateFCmpOLT(x, number(1.17549435e-38f));
        V y = log_positive(select(tiny, mul(x, number(0x1p32f)), x));
        y = sub(y, select(tiny, number(22.1807098f), number(0)));
        V infinity = number(HUGE_VAL);
        y = select(build_.CreateFCmpOEQ(x, infinity), x, y);
        y = select(build_.CreateFCmpOEQ(x, number(0)), number(-HUGE_VAL), y);
        y = select(build_.CreateFCmpOLT(x, number(0)), number(NAN), y);
        return select(build_.CreateFCmpUNO(x, x), x, y);
    }

    // ln(1 + x) = ln(u) + what rounding u = 1 + x lost.
    V log1p(V x) {
        V u = add(number(1), x);
        V logarithm = log(u);
        V better = add(logarithm, div(sub(x, sub(u, number(1))), u));
        V series = fma(mul(x, x), fma(x, number(1.0 / 3), number(-0.5)), x);
        V ordinary = build_.CreateAnd(build_.CreateFCmpOLT(u, number(HUGE_VAL)), build_.CreateFCmpOGT(u, number(0)));
        V y = select(ordinary, better, logarithm);
        return select(build_.CreateFCmpOLT(abs(x), number(1e-4)), series, y);
    }

    // (e - 1) / (e + 1) for e = exp(2|x|), through e - 1 = 2^n (e^r - 1) + (2^n - 1), which keeps its digits near 0.
    V tanh(V x) {
        Split s = split(at_most(mul(number(2), abs(x)), 20));
        V n = build_.CreateSub(bits(s.shifted), whole(0x4b400000u - 127u));
        V power = from_bits(build_.CreateShl(n, 23));
        V less_one = fma(power, exp_tail(s.reduced), sub(power, number(1)));
        return copysign(div(less_one, add(less_one, number(2))), x);
    }

    V sigmoid(V x) { return div(number(1), add(number(1), exp(build_.CreateFNeg(x)))); }

    V erf(V x) {
        V size = abs(x);
        V near = poly(mul(x, x), {7.8891266e-05f, -8.0208434e-04f, 5.1895357e-03f, -2.6854444e-02f, 1.12836e-01f,
                                  -3.7612626e-01f, 1.2837917e-01f});
        V small = fma(x, near, x);
        V t = at_most(size, 4);
        V far = poly(sub(t, number(2.5)), {2.513073e-07f, -2.0288382e-05f, 6.476081e-05f, -4.2822034e-04f, 2.167085e-03f,
                                           -1.0854245e-02f, -9.438923e-01f, -5.3526807e+00f, -7.806815e+00f});
        V large = copysign(sub(number(1), exp(far)), x);
        V y = select(build_.CreateFCmpOLT(size, number(1)), small, large);
        return select(build_.CreateFCmpUNO(x, x), x, y);
    }

    // pi/2 taken off in three pieces serves up to 8192; vectors with a larger argument go to the C library.
    V sin_or_cos(V x, bool cosine) {
        V large = build_.CreateFCmpUGT(abs(x), number(8192));
        V any = lanes_of(type_) == 1 ? large : build_.CreateOrReduce(large);
        llvm::BasicBlock* start = build_.GetInsertBlock();
        llvm::Function* function = start->getParent();
        auto& context = build_.getContext();
        auto* fast = llvm::BasicBlock::Create(context, "fast", function);
        auto* slow = llvm::BasicBlock::Create(context, "slow", function);
        auto* done = llvm::BasicBlock::Create(context, "done", function);
        build_.CreateCondBr(any, slow, fast);
        build_.SetInsertPoint(slow);
        V called = call_for_each_lane(build_, cosine ? "cosf" : "sinf", std::span<V const>(&x, 1));
        build_.CreateBr(done);
        build_.SetInsertPoint(fast);
        V shifted = fma(x, number(0.636619772f), number(kRound));
        V n = sub(shifted, number(kRound));
        V r = fma(n, number(-1.5703125f), x);
        r = fma(n, number(-4.83751297e-04f), r);
        r = fma(n, number(-7.54978942e-08f), r);
        V q = build_.CreateAdd(bits(shifted), whole(cosine ? 1 : 0));
        V square = mul(r, r);
        V sine = fma(mul(r, square), poly(square, {2.724386e-06f, -1.9840039e-04f, 8.333332e-03f, -1.6666667e-01f}), r);
        V co = fma(mul(square, square), poly(square, {2.4542973e-05f, -1.388828e-03f, 4.1666664e-02f}),
                   fma(number(-0.5), square, number(1)));
        V odd = build_.CreateICmpNE(build_.CreateAnd(q, whole(1)), whole(0));
        V value = select(odd, co, sine);
        V negative = build_.CreateICmpNE(build_.CreateAnd(q, whole(2)), whole(0));
        V computed = select(negative, build_.CreateFNeg(value), value);
        build_.CreateBr(done);
        build_.SetInsertPoint(done);
        llvm::PHINode* result = build_.CreatePHI(type_, 2);
        result->addIncoming(called, slow);
        result->addIncoming(computed, fast);
        return result;
    }

  private:
    static constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer

    Type* with_lanes(Type* scalar) {
        unsigned lanes = lanes_of(type_);
        return lanes == 1 ? scalar : static_cast<Type*>(llvm::FixedVectorType::get(scalar, lanes));
    }

    IRBuilderBase& build_;
    Type* type_;
    Type* int_;
    bool nan_passes_minimum_;
};

V emit_double(IRBuilderBase& build, Op op, V x) {
    auto call = [&](const char* name, V argument) { return call_for_each_lane(build, name, std::span<V const>(&argument, 1)); };
    V one = constant_like(build, x->getType(), 1);
    switch (op) {
        case Op::Exp: return call("exp", x);
        case Op::Expm1: return call("expm1", x);
        case Op::Log: return call("log", x);
        case Op::Log1p: return call("log1p", x);
        case Op::Tanh: return call("tanh", x);
        case Op::Erf: return call("erf", x);
        case Op::Sin: return call("sin", x);
        case Op::Cos: return call("cos", x);
        default: return build.CreateFDiv(one, build.CreateFAdd(one, call("exp", build.CreateFNeg(x))));  // sigmoid
    }
}

}  // namespace

V emit_function(IRBuilderBase& build, Op op, V x) {
    if (x->getType()->getScalarType()->isDoubleTy()) return emit_double(build, op, x);
    Math math(build, x->getType());
    switch (op) {
        case Op::Exp: return math.exp(x);
        case Op::Expm1: return math.expm1(x);
        case Op::Log: return math.log(x);
        case Op::Log1p: return math.log1p(x);
        case Op::Tanh: return math.tanh(x);
        case Op::Sigmoid: return math.sigmoid(x);
        case Op::Erf: return math.erf(x);
        case Op::Sin: return math.sin_or_cos(x, false);
        default: return math.sin_or_cos(x, true);
    }
}

}  // namespace talc::inductor::cpu
