// Pointwise operators on carriers.
#include <llvm/IR/IRBuilder.h>

#include <numbers>

#include "inductor/cpu/emit.hpp"
#include "tensor/error.hpp"

namespace talc::inductor::cpu {

using llvm::IRBuilderBase;
using llvm::Type;
using loops::DType;
using loops::Op;
using V = llvm::Value*;

namespace {

V compare(IRBuilderBase& build, Op op, DType operand, V a, V b) {
    bool floating = is_float(operand);
    bool bits = operand == DType::Bool;  // i1: true is -1 to signed comparisons
    using P = llvm::CmpInst::Predicate;
    auto test = [&](P as_float, P as_signed, P as_unsigned) {
        return floating ? build.CreateFCmp(as_float, a, b) : build.CreateICmp(bits ? as_unsigned : as_signed, a, b);
    };
    switch (op) {
        case Op::Eq: return test(P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ);
        case Op::Ne: return test(P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE);
        case Op::Lt: return test(P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT);
        case Op::Le: return test(P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE);
        case Op::Gt: return test(P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT);
        default: return test(P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE);
    }
}

V truth(IRBuilderBase& build, V x, DType dtype) { return emit_convert(build, x, dtype, DType::Bool); }

V floor_quotient(IRBuilderBase& build, V a, V b, bool remainder) {
    Type* type = a->getType();
    V zero = llvm::Constant::getNullValue(type);
    if (type->isFPOrFPVectorTy()) {
        const char* name = type->getScalarType()->isDoubleTy() ? "fmod" : "fmodf";
        V pair[] = {a, b};
        V mod = call_for_each_lane(build, name, pair);
        V off = build.CreateAnd(build.CreateFCmpUNE(mod, zero),
                                build.CreateXor(build.CreateFCmpOLT(b, zero), build.CreateFCmpOLT(mod, zero)));
        if (remainder) return build.CreateSelect(off, build.CreateFAdd(mod, b), mod);
        V quotient = build.CreateFDiv(build.CreateFSub(a, mod), b);
        quotient = build.CreateSelect(off, build.CreateFSub(quotient, constant_like(build, type, 1)), quotient);
        V whole = build.CreateUnaryIntrinsic(llvm::Intrinsic::floor, quotient);
        V up = build.CreateFCmpOGT(build.CreateFSub(quotient, whole), constant_like(build, type, 0.5));
        whole = build.CreateSelect(up, build.CreateFAdd(whole, constant_like(build, type, 1)), whole);
        V ratio = build.CreateFDiv(a, b);
        V signed_zero = build.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, ratio);
        whole = build.CreateSelect(build.CreateFCmpOEQ(quotient, zero), signed_zero, whole);
        return build.CreateSelect(build.CreateFCmpOEQ(b, zero), ratio, whole);
    }
    V one = llvm::ConstantInt::get(type, 1);
    V minus_one = build.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(type));
    // 0 has been reported; -1 would overflow with the least integer.
    V safe = build.CreateSelect(build.CreateOr(minus_one, build.CreateICmpEQ(b, zero)), one, b);
    V mod = build.CreateSRem(a, safe);
    V off = build.CreateAnd(build.CreateICmpNE(mod, zero),
                            build.CreateICmpSLT(build.CreateXor(mod, safe), zero));
    if (remainder) return build.CreateSelect(off, build.CreateAdd(mod, safe), mod);
    V quotient = build.CreateSDiv(a, safe);
    quotient = build.CreateSelect(off, build.CreateSub(quotient, one), quotient);
    return build.CreateSelect(minus_one, build.CreateNeg(a), quotient);
}

// By squares, for all lanes until the largest exponent is used up. A negative one leaves 1 and -1, and else nothing.
V whole_power(IRBuilderBase& build, V base, V exponent) {
    Type* type = base->getType();
    auto number = [&](int64_t value) { return llvm::ConstantInt::getSigned(type, value); };
    V zero = number(0), one = number(1), minus_one = number(-1);
    V negative = build.CreateICmpSLT(exponent, zero);
    V odd = build.CreateICmpNE(build.CreateAnd(exponent, one), zero);
    V unit = build.CreateOr(build.CreateICmpEQ(base, one), build.CreateICmpEQ(base, minus_one));
    V inverse = build.CreateSelect(unit, build.CreateSelect(odd, base, one), zero);
    V rest_at_first = build.CreateSelect(negative, zero, exponent);
    llvm::Function* function = build.GetInsertBlock()->getParent();
    auto* before = build.GetInsertBlock();
    auto* loop = llvm::BasicBlock::Create(build.getContext(), "power", function);
    auto* done = llvm::BasicBlock::Create(build.getContext(), "powered", function);
    build.CreateBr(loop);
    build.SetInsertPoint(loop);
    llvm::PHINode *result = build.CreatePHI(type, 2), *square = build.CreatePHI(type, 2), *rest = build.CreatePHI(type, 2);
    V now = build.CreateICmpNE(build.CreateAnd(rest, one), zero);
    V next_result = build.CreateSelect(now, build.CreateMul(result, square), result);
    V next_square = build.CreateMul(square, square);
    V next_rest = build.CreateLShr(rest, one);
    result->addIncoming(one, before);
    result->addIncoming(next_result, loop);
    square->addIncoming(base, before);
    square->addIncoming(next_square, loop);
    rest->addIncoming(rest_at_first, before);
    rest->addIncoming(next_rest, loop);
    V most = type->isVectorTy() ? build.CreateOrReduce(next_rest) : next_rest;
    build.CreateCondBr(build.CreateICmpEQ(most, llvm::Constant::getNullValue(most->getType())), done, loop);
    build.SetInsertPoint(done);
    return build.CreateSelect(negative, inverse, next_result);
}

V gelu(IRBuilderBase& build, V x, bool tanh_form) {
    Type* type = x->getType();
    auto number = [&](double value) { return constant_like(build, type, value); };
    V inner;
    if (tanh_form) {
        V cube = build.CreateFMul(build.CreateFMul(x, x), x);
        inner = build.CreateFAdd(x, build.CreateFMul(number(0.044715), cube));
        inner = build.CreateFMul(number(std::numbers::sqrt2 * std::numbers::inv_sqrtpi), inner);
        inner = emit_function(build, Op::Tanh, inner);
    } else {
        inner = emit_function(build, Op::Erf, build.CreateFMul(x, number(1 / std::numbers::sqrt2)));
    }
    return build.CreateFMul(build.CreateFMul(number(0.5), x), build.CreateFAdd(number(1), inner));
}

V float_op(IRBuilderBase& build, const loops::Value& value, std::span<V const> x) {
    V a = x[0], b = x.back();
    Type* type = a->getType();
    V zero = llvm::Constant::getNullValue(type), one = constant_like(build, type, 1);
    switch (value.op) {
        case Op::Neg: return build.CreateFNeg(a);
        case Op::Abs: return build.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
        case Op::Sign: {
            V positive = build.CreateUIToFP(build.CreateFCmpOGT(a, zero), type);
            return build.CreateFSub(positive, build.CreateUIToFP(build.CreateFCmpOLT(a, zero), type));
        }
        case Op::Relu: return build.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, a, zero);
        case Op::Floor: return build.CreateUnaryIntrinsic(llvm::Intrinsic::floor, a);
        case Op::Ceil: return build.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, a);
        case Op::Trunc: return build.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, a);
        case Op::Round: return build.CreateUnaryIntrinsic(llvm::Intrinsic::nearbyint, a);
        case Op::Sqrt: return build.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
        case Op::Rsqrt: return build.CreateFDiv(one, build.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a));
        case Op::Reciprocal: return build.CreateFDiv(one, a);
        case Op::Gelu: return gelu(build, a, value.mode);
        case Op::IsNan: return build.CreateFCmpUNO(a, a);
        case Op::Add: return build.CreateFAdd(a, b);
        case Op::Sub: return build.CreateFSub(a, b);
        case Op::Mul: return build.CreateFMul(a, b);
        case Op::Div: return build.CreateFDiv(a, b);
        case Op::FloorDiv: return floor_quotient(build, a, b, false);
        case Op::Remainder: return floor_quotient(build, a, b, true);
        case Op::Pow: return call_for_each_lane(build, type->getScalarType()->isDoubleTy() ? "pow" : "powf", x);
        case Op::Maximum: return build.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, a, b);
        case Op::Minimum: return build.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, a, b);
        default: return emit_function(build, value.op, a);
    }
}

V whole_op(IRBuilderBase& build, const loops::Value& value, std::span<V const> x) {
    V a = x[0], b = x.back();
    Type* type = a->getType();
    V zero = llvm::Constant::getNullValue(type);
    bool bit = value.dtype == DType::Bool;
    switch (value.op) {
        case Op::Neg: return build.CreateNeg(a);
        case Op::Abs: return bit ? a : build.CreateSelect(build.CreateICmpSLT(a, zero), build.CreateNeg(a), a);
        case Op::Sign: {
            if (bit) return a;
            V positive = build.CreateZExt(build.CreateICmpSGT(a, zero), type);
            return build.CreateSub(positive, build.CreateZExt(build.CreateICmpSLT(a, zero), type));
        }
        case Op::Relu: return build.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, zero);
        case Op::Add: return bit ? build.CreateOr(a, b) : build.CreateAdd(a, b);
        case Op::Sub: return build.CreateSub(a, b);
        case Op::Mul: return bit ? build.CreateAnd(a, b) : build.CreateMul(a, b);
        case Op::FloorDiv: return floor_quotient(build, a, b, false);
        case Op::Remainder: return floor_quotient(build, a, b, true);
        case Op::Pow: return bit ? build.CreateOr(a, build.CreateNot(b)) : whole_power(build, a, b);
        case Op::Maximum: return bit ? build.CreateOr(a, b) : build.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
        case Op::Minimum: return bit ? build.CreateAnd(a, b) : build.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
        case Op::BitAnd: return build.CreateAnd(a, b);
        case Op::BitOr: return build.CreateOr(a, b);
        case Op::BitXor: return build.CreateXor(a, b);
        case Op::BitNot: return build.CreateNot(a);
        default: tensor::fail("{} has no native code for integers", name_of(value.op));
    }
}

}  // namespace

V emit_apply(IRBuilderBase& build, const loops::Value& value, DType operand, std::span<V const> x) {
    switch (value.op) {
        case Op::Cast: return emit_convert(build, x[0], operand, value.dtype);
        case Op::Where: return build.CreateSelect(x[0], x[1], x[2]);
        case Op::Eq:
        case Op::Ne:
        case Op::Lt:
        case Op::Le:
        case Op::Gt:
        case Op::Ge: return compare(build, value.op, operand, x[0], x[1]);
        case Op::LogicalNot: return build.CreateNot(truth(build, x[0], operand));
        case Op::LogicalAnd: return build.CreateAnd(truth(build, x[0], operand), truth(build, x[1], operand));
        case Op::LogicalOr: return build.CreateOr(truth(build, x[0], operand), truth(build, x[1], operand));
        case Op::LogicalXor: return build.CreateXor(truth(build, x[0], operand), truth(build, x[1], operand));
        default: break;
    }
    V result = is_float(operand) ? float_op(build, value, x) : whole_op(build, value, x);
    return value.op == Op::IsNan ? result : emit_round(build, result, value.dtype);
}

}  // namespace talc::inductor::cpu
