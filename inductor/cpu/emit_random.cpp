// Philox4x32-10 and its transforms as vector code, step by step what tensor/philox.hpp does: products and sums are
// never fused here, so that the numbers are the same bit by bit.
#include <llvm/IR/IRBuilder.h>

#include "inductor/cpu/emit.hpp"

namespace talc::inductor::cpu {

using llvm::IRBuilderBase;
using llvm::Type;
using V = llvm::Value*;

namespace {

class Random {
  public:
    Random(IRBuilderBase& build, Type* numbers) : build_(build), wide_(numbers) {
        unsigned lanes = lanes_of(numbers);
        auto with_lanes = [&](Type* scalar) {
            return lanes == 1 ? scalar : static_cast<Type*>(llvm::FixedVectorType::get(scalar, lanes));
        };
        word_ = with_lanes(build.getInt32Ty());
        float_ = with_lanes(build.getFloatTy());
    }

    V bits(V seed, V position, V number) {
        V block = build_.CreateLShr(number, 2);
        V c0 = low(block), c1 = high(block), c2 = low(all(position)), c3 = high(all(position));
        V k0 = low(all(seed)), k1 = high(all(seed));
        for (int round = 0; round < 10; ++round) {
            V p0 = product(c0, 0xD2511F53u), p1 = product(c2, 0xCD9E8D57u);
            V n0 = build_.CreateXor(build_.CreateXor(high(p1), c1), k0);
            V n2 = build_.CreateXor(build_.CreateXor(high(p0), c3), k1);
            c1 = low(p1);
            c3 = low(p0);
            c0 = n0;
            c2 = n2;
            k0 = build_.CreateAdd(k0, word(0x9E3779B9u));
            k1 = build_.CreateAdd(k1, word(0xBB67AE85u));
        }
        V which = build_.CreateAnd(low(number), word(3));
        auto is = [&](uint32_t n) { return build_.CreateICmpEQ(which, word(n)); };
        V upper = build_.CreateSelect(is(2), c2, c3);
        return build_.CreateSelect(is(0), c0, build_.CreateSelect(is(1), c1, upper));
    }

    V uniform(V bits) {
        return mul(build_.CreateUIToFP(build_.CreateLShr(bits, 8), float_), number(0x1p-24f));
    }

    V normal(V bits) {
        V negative = build_.CreateICmpSLT(bits, word(0));
        V m = build_.CreateSelect(negative, build_.CreateNot(bits), bits);
        V odd = build_.CreateAdd(build_.CreateShl(build_.CreateSub(word(0x7fffffffu), m), 1), word(1));
        V below = mul(build_.CreateUIToFP(odd, float_), number(0x1p-32f));
        V w = build_.CreateFNeg(log_positive(mul(below, sub(number(2), below))));
        V root = build_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, w);
        V x = mul(add(build_.CreateSIToFP(bits, float_), number(0.5)), number(0x1p-31f));
        V centre = poly(sub(w, number(2.5)),
                        {-1.243244e-08f, 3.2855734e-08f, 6.592649e-07f, -4.897002e-06f, -7.019233e-06f, 3.0878565e-04f,
                         -1.7716446e-03f, -5.907717e-03f, 3.4880203e-01f, 2.1233134e+00f});
        V tail = poly(sub(root, number(3)),
                      {-1.1261248e-05f, -2.0648245e-04f, 1.6280253e-03f, -4.78893e-03f, 8.212143e-03f, -1.0919611e-02f,
                       1.3334204e-02f, 1.4165932e+00f, 4.006435e+00f});
        return mul(x, build_.CreateSelect(build_.CreateFCmpOLT(w, number(5)), centre, tail));
    }

  private:
    V number(float value) { return llvm::ConstantFP::get(float_, static_cast<double>(value)); }
    V word(uint32_t value) { return llvm::ConstantInt::get(word_, value); }
    V add(V a, V b) { return build_.CreateFAdd(a, b); }
    V sub(V a, V b) { return build_.CreateFSub(a, b); }
    V mul(V a, V b) { return build_.CreateFMul(a, b); }
    V low(V x) { return build_.CreateTrunc(x, word_); }
    V high(V x) { return build_.CreateTrunc(build_.CreateLShr(x, 32), word_); }
    V all(V x) { return wide_->isVectorTy() && !x->getType()->isVectorTy() ? build_.CreateVectorSplat(lanes_of(wide_), x) : x; }
    V product(V x, uint32_t factor) { return build_.CreateMul(build_.CreateZExt(x, wide_), llvm::ConstantInt::get(wide_, factor)); }

    V poly(V x, std::initializer_list<float> coefficients) {
        V p = nullptr;
        for (float c : coefficients) p = p ? add(mul(p, x), number(c)) : number(c);
        return p;
    }

    V log_positive(V x) {
        V b = build_.CreateSub(build_.CreateBitCast(x, word_), word(0x3f3504f3u));
        V e = build_.CreateSIToFP(build_.CreateAShr(b, 23), float_);
        V m = build_.CreateAdd(build_.CreateAnd(b, word(0x007fffffu)), word(0x3f3504f3u));
        V f = sub(build_.CreateBitCast(m, float_), number(1));
        V p = poly(f, {-8.3055645e-02f, 1.2798963e-01f, -1.294339e-01f, 1.419023e-01f, -1.664349e-01f, 2.0001881e-01f,
                       -2.500028e-01f, 3.3333325e-01f});
        V square = mul(f, f);
        V small = add(mul(e, number(-2.12194440e-4f)), mul(mul(square, f), p));
        return add(mul(e, number(0.693359375f)), add(sub(small, mul(number(0.5f), square)), f));
    }

    IRBuilderBase& build_;
    Type *wide_, *word_, *float_;
};

}  // namespace

V emit_random(IRBuilderBase& build, loops::Op op, V seed, V position, V number) {
    Random random(build, number->getType());
    V bits = random.bits(seed, position, number);
    return op == loops::Op::Randn ? random.normal(bits) : random.uniform(bits);
}

}  // namespace talc::inductor::cpu
