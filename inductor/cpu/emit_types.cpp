// Carriers: the LLVM types in which dtypes are computed. bool is i1; the short integers are i32, wrapped after each
// operator; the short floats are float, rounded after each operator.
#include <llvm/IR/IRBuilder.h>

#include "inductor/cpu/emit.hpp"

namespace talc::inductor::cpu {

using llvm::IRBuilderBase;
using llvm::Type;
using loops::DType;
using V = llvm::Value*;

namespace {

Type* widened(Type* scalar, unsigned lanes) {
    return lanes == 1 ? scalar : static_cast<Type*>(llvm::FixedVectorType::get(scalar, lanes));
}

Type* scalar_carrier(IRBuilderBase& build, DType dtype) {
    switch (dtype) {
        case DType::Bool: return build.getInt1Ty();
        case DType::UInt8:
        case DType::Int8:
        case DType::Int16:
        case DType::Int32: return build.getInt32Ty();
        case DType::Int64: return build.getInt64Ty();
        case DType::Float64: return build.getDoubleTy();
        default: return build.getFloatTy();
    }
}

Type* like(Type* shape, Type* scalar) { return widened(scalar, lanes_of(shape)); }

// float to the nearest bfloat16, as its bits in an i32.
V bfloat_bits(IRBuilderBase& build, V x) {
    Type* i32 = like(x->getType(), build.getInt32Ty());
    V word = build.CreateBitCast(x, i32);
    V odd = build.CreateAnd(build.CreateLShr(word, 16), llvm::ConstantInt::get(i32, 1));
    V rounded = build.CreateAdd(word, build.CreateAdd(odd, llvm::ConstantInt::get(i32, 0x7fff)));
    V nan = build.CreateFCmpUNO(x, x);
    return build.CreateSelect(nan, llvm::ConstantInt::get(i32, 0x7fc00000), rounded);
}

}  // namespace

unsigned lanes_of(Type* type) {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector ? vector->getNumElements() : 1;
}

V constant_like(IRBuilderBase&, Type* type, double value) {
    return type->isFPOrFPVectorTy() ? llvm::ConstantFP::get(type, value)
                                    : llvm::ConstantInt::get(type, static_cast<uint64_t>(static_cast<int64_t>(value)), true);
}

Type* carrier_type(IRBuilderBase& build, DType dtype, unsigned lanes) {
    return widened(scalar_carrier(build, dtype), lanes);
}

Type* memory_type(IRBuilderBase& build, DType dtype) {
    switch (dtype) {
        case DType::Bool:
        case DType::UInt8:
        case DType::Int8: return build.getInt8Ty();
        case DType::Int16:
        case DType::BFloat16: return build.getInt16Ty();
        case DType::Float16: return build.getHalfTy();
        default: return scalar_carrier(build, dtype);
    }
}

V from_memory(IRBuilderBase& build, V x, DType dtype) {
    Type* carrier = like(x->getType(), scalar_carrier(build, dtype));
    switch (dtype) {
        case DType::Bool: return build.CreateICmpNE(x, llvm::Constant::getNullValue(x->getType()));
        case DType::UInt8: return build.CreateZExt(x, carrier);
        case DType::Int8:
        case DType::Int16: return build.CreateSExt(x, carrier);
        case DType::Float16: return build.CreateFPExt(x, carrier);
        case DType::BFloat16: {
            V wide = build.CreateZExt(x, like(x->getType(), build.getInt32Ty()));
            return build.CreateBitCast(build.CreateShl(wide, 16), carrier);
        }
        default: return x;
    }
}

V to_memory(IRBuilderBase& build, V x, DType dtype) {
    Type* memory = like(x->getType(), memory_type(build, dtype));
    switch (dtype) {
        case DType::Bool: return build.CreateZExt(x, memory);
        case DType::UInt8:
        case DType::Int8:
        case DType::Int16: return build.CreateTrunc(x, memory);
        case DType::Float16: return build.CreateFPTrunc(x, memory);
        case DType::BFloat16: return build.CreateTrunc(build.CreateLShr(bfloat_bits(build, x), 16), memory);
        default: return x;
    }
}

V emit_round(IRBuilderBase& build, V x, DType dtype) {
    Type* type = x->getType();
    switch (dtype) {
        case DType::UInt8: return build.CreateZExt(build.CreateTrunc(x, like(type, build.getInt8Ty())), type);
        case DType::Int8: return build.CreateSExt(build.CreateTrunc(x, like(type, build.getInt8Ty())), type);
        case DType::Int16: return build.CreateSExt(build.CreateTrunc(x, like(type, build.getInt16Ty())), type);
        case DType::Float16: return build.CreateFPExt(build.CreateFPTrunc(x, like(type, build.getHalfTy())), type);
        case DType::BFloat16: {
            V bits = bfloat_bits(build, x);
            V high = build.CreateAnd(bits, llvm::ConstantInt::get(bits->getType(), 0xffff0000u));
            return build.CreateBitCast(high, type);
        }
        default: return x;
    }
}

V emit_convert(IRBuilderBase& build, V x, DType from, DType to) {
    Type* target = like(x->getType(), scalar_carrier(build, to));
    Type* type = x->getType();
    bool was_float = is_float(from);
    if (to == DType::Bool) {
        if (from == DType::Bool) return x;
        V zero = llvm::Constant::getNullValue(type);
        return was_float ? build.CreateFCmpUNE(x, zero) : build.CreateICmpNE(x, zero);
    }
    V result;
    if (is_float(to)) {
        if (was_float) {
            result = build.CreateFPCast(x, target);
        } else {
            result = from == DType::Bool ? build.CreateUIToFP(x, target) : build.CreateSIToFP(x, target);
        }
    } else if (was_float) {
        Type* wide = like(type, build.getInt64Ty());
        V whole = build.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {wide, type}, {x});
        result = build.CreateTrunc(whole, target);
    } else {
        result = from == DType::Bool ? build.CreateZExt(x, target) : build.CreateSExtOrTrunc(x, target);
    }
    return emit_round(build, result, to);
}

}  // namespace talc::inductor::cpu
