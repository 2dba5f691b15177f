#include <cmath>

#include "tensor/convert.hpp"
#include "tensor/type_rules.hpp"
#include "tests/unit/catch.hpp"

using namespace talc::tensor;

TEST_CASE("promotion is PyTorch's", "[tensor]") {
    // torch.promote_types, dtypes in the table's order.
    const int expected[10][10] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 1, 3, 3, 4, 5, 6, 7, 8, 9}, {2, 3, 2, 3, 4, 5, 6, 7, 8, 9},
        {3, 3, 3, 3, 4, 5, 6, 7, 8, 9}, {4, 4, 4, 4, 4, 5, 6, 7, 8, 9}, {5, 5, 5, 5, 5, 5, 6, 7, 8, 9},
        {6, 6, 6, 6, 6, 6, 6, 8, 8, 9}, {7, 7, 7, 7, 7, 7, 8, 7, 8, 9}, {8, 8, 8, 8, 8, 8, 8, 8, 8, 9},
        {9, 9, 9, 9, 9, 9, 9, 9, 9, 9}};
    REQUIRE(kDTypeCount == 10);
    for (int a = 0; a < 10; ++a) {
        for (int b = 0; b < 10; ++b) {
            CHECK(static_cast<int>(promote(static_cast<DType>(a), static_cast<DType>(b))) == expected[a][b]);
        }
    }
}

TEST_CASE("0-dim tensors and numbers give way", "[tensor]") {
    auto result = [](std::initializer_list<OperandType> operands) {
        ResultType type(DType::Float32);
        for (OperandType operand : operands) type.add(operand);
        return type.result();
    };
    constexpr bool kZeroDim = true, kWeak = true;
    CHECK(result({{DType::UInt8}, {DType::Int64, kZeroDim}}) == DType::UInt8);
    CHECK(result({{DType::UInt8, kZeroDim}, {DType::Int64, kZeroDim}}) == DType::Int64);
    CHECK(result({{DType::Int32}, {DType::Float16, kZeroDim}}) == DType::Float16);
    CHECK(result({{DType::Float16}, {DType::Float64, kZeroDim}}) == DType::Float16);
    CHECK(result({{DType::Float16, kZeroDim}, {DType::Float64, kZeroDim}}) == DType::Float64);
    CHECK(result({{DType::Bool}, {DType::Bool, kZeroDim, kWeak}}) == DType::Bool);
    CHECK(result({{DType::Bool}, {DType::Int64, kZeroDim, kWeak}}) == DType::Int64);
    CHECK(result({{DType::UInt8, kZeroDim}, {DType::Int64, kZeroDim, kWeak}}) == DType::UInt8);
    CHECK(result({{DType::Int64}, {DType::Float64, kZeroDim, kWeak}}) == DType::Float32);
    CHECK(result({{DType::Float16, kZeroDim}, {DType::Float64, kZeroDim, kWeak}}) == DType::Float16);
    CHECK(result({{DType::Float64, kZeroDim, kWeak}, {DType::Int64, kZeroDim, kWeak}}) == DType::Float32);
}

TEST_CASE("short floats round to nearest even", "[tensor]") {
    CHECK(float(Half(65504.0f)) == 65504.0f);
    CHECK(std::isinf(float(Half(65520.0f))));
    CHECK(float(Half(65519.0f)) == 65504.0f);
    CHECK(float(Half(1.0f + 0x1p-11f)) == 1.0f);
    CHECK(float(Half(1.0f + 3 * 0x1p-11f)) == 1.0f + 2 * 0x1p-10f);
    CHECK(float(Half(0x1p-24f)) == 0x1p-24f);
    CHECK(float(Half(0x1p-25f)) == 0.0f);
    CHECK(float(Half(3 * 0x1p-25f)) == 2 * 0x1p-24f);
    CHECK(float(Half(-0x1p-14f)) == -0x1p-14f);
    CHECK(std::isnan(float(Half(NAN))));
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {  // every value goes round
        Half h;
        h.bits = static_cast<uint16_t>(bits);
        float f = h;
        if (!std::isnan(f)) REQUIRE(Half(f).bits == h.bits);
        BFloat16 b;
        b.bits = static_cast<uint16_t>(bits);
        if (!std::isnan(float(b))) REQUIRE(BFloat16(float(b)).bits == b.bits);
    }
    CHECK(float(BFloat16(1.0f + 0x1p-8f)) == 1.0f);
    CHECK(float(BFloat16(1.0f + 3 * 0x1p-8f)) == 1.0f + 2 * 0x1p-7f);
}

TEST_CASE("conversions are defined everywhere", "[tensor]") {
    CHECK(convert<int64_t>(NAN) == 0);
    CHECK(convert<int64_t>(1e300) == INT64_MAX);
    CHECK(convert<int64_t>(-1e300) == INT64_MIN);
    CHECK(convert<int8_t>(300.7f) == 44);
    CHECK(convert<uint8_t>(int64_t{-1}) == 255);
    CHECK(convert<bool>(0.5f));
    CHECK(convert<int32_t>(-1.9) == -1);
}

TEST_CASE("operators refuse dtypes with PyTorch's words", "[tensor]") {
    auto dtype = [](Op op, std::initializer_list<OperandType> inputs) {
        TypeQuery query{op, std::span(inputs.begin(), inputs.size()), {}, {}, {}, DType::Float32};
        return infer_dtypes(query)[0];
    };
    CHECK(dtype(Op::Div, {{DType::Int64}, {DType::Int64}}) == DType::Float32);
    CHECK(dtype(Op::Exp, {{DType::Float16}}) == DType::Float16);
    CHECK(dtype(Op::Sum, {{DType::Int32}}) == DType::Int64);
    CHECK_THROWS_WITH(dtype(Op::Mean, {{DType::Int64}}),
                      "mean(): could not infer output dtype. Input dtype must be either a floating point or complex "
                      "dtype. Got: Long");
    CHECK_THROWS_WITH(dtype(Op::Sub, {{DType::Bool}, {DType::Bool}}),
                      "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                      "`logical_xor()` operator instead.");
    CHECK_THROWS_WITH(dtype(Op::Matmul, {{DType::Float32}, {DType::Float64}}),
                      "matmul: expected both operands to have the same dtype, but got float32 and float64");
    CHECK_THROWS_WITH(dtype(Op::Where, {{DType::Int64}, {DType::Float32}, {DType::Float32}}),
                      "where expected condition to be a boolean tensor, but got a tensor with dtype Long");
}
