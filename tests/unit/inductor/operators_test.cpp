// Every operator of the table, alone in a graph, against the reference.
#include <cmath>

#include "inductor/cpu/executable.hpp"
#include "tensor/error.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/inductor/compare.hpp"
#include "tests/unit/tensor/samples.hpp"

using namespace talc::graph;
using talc::inductor::testing::check;
using talc::inductor::testing::Tolerance;
using talc::tensor::Context;
using talc::tensor::Kind;
using talc::tensor::Tensor;
namespace tensor = talc::tensor;

namespace {

// Two roundings where the reference makes one; sums and products of many elements lose a little more.
Tolerance tolerance_for(Op op, DType dtype) {
    Tolerance t;
    if (tensor::info(op).kind == Kind::Reduction) t = {4, 1e-6};
    if (op == Op::Prod) t.ulps = 64;
    if (op == Op::Matmul) t = {64, dtype == DType::Float64 ? 1e-13 : 1e-5};
    if (op == Op::IndexAdd || op == Op::ScatterAdd || op == Op::IndexPut) t = {8, 1e-6};
    // Their definition cancels near zeros: the tail of gelu, 1 + x, and a float modulus.
    if (op == Op::Gelu) t = {4, 2e-7};
    if (op == Op::Pow || op == Op::Erf || op == Op::Tanh || op == Op::Sigmoid) t.ulps = 3;
    if (op == Op::Sin || op == Op::Cos) t = {2, 1e-7};
    if (dtype == DType::Float16 || dtype == DType::BFloat16) t.absolute = std::max(t.absolute, 1e-3);
    return t;
}

}  // namespace

TEST_CASE("random numbers made in loops are those of the reference, bit by bit", "[inductor]") {
    Context context;
    Graph g;
    Value seed = g.input({DType::Int64, {}, {}, false}), position = g.input({DType::Int64, {}, {}, false});
    Attrs attrs;
    attrs.sizes = {Dim(37), Dim(11)};
    attrs.dtype = DType::Float32;
    Value normal = g.add(Op::Randn, {seed, position}, attrs), uniform = g.add(Op::Rand, {seed, position}, attrs);
    attrs.dtype = DType::Float64;
    Attrs turn;
    turn.dims = {1, 0};
    Value wide = g.add(Op::Permute, {g.add(Op::Randn, {seed, position}, attrs)}, turn);
    g.set_outputs({normal, uniform, wide});
    Tensor arguments[] = {tensor::scalar_tensor(context, Scalar(int64_t{-81985529216486896}), DType::Int64),
                          tensor::scalar_tensor(context, Scalar(7), DType::Int64)};
    auto wanted = evaluate(g, context, arguments, Engine::Reference);
    talc::inductor::cpu::CpuExecutable code(
        talc::inductor::lower(talc::inductor::testing::spec_for(g, arguments), {.random_in_loops = true}));
    CHECK(code.fallbacks().empty());
    Tensor results[3];
    code.run(context, arguments, results);
    for (size_t o = 0; o < 3; ++o) CHECK(talc::inductor::testing::difference(results[o], wanted[o], {0, 0}) == "");
}

TEST_CASE("every operator compiled alone gives what the reference gives", "[inductor]") {
    Context context;
    tensor::samples::Sampler sampler(context, 20261115);
    for (int number = 0; number < tensor::kOpCount; ++number) {
        Op op = static_cast<Op>(number);
        Kind kind = tensor::info(op).kind;
        if (kind == Kind::Leaf || kind == Kind::Write) continue;
        for (int d = 0; d < tensor::kDTypeCount; ++d) {
            DType dtype = static_cast<DType>(d);
            bool common = dtype == DType::Float32 || dtype == DType::Int64;
            for (int round = common ? 0 : 1; round < 2; ++round) {
                tensor::samples::Call call{op, {}, {}};
                Graph g;
                std::vector<Tensor> arguments;
                try {
                    call = sampler.call(op, dtype);
                    std::vector<Value> inputs;
                    for (const Tensor& input : call.inputs) {
                        inputs.push_back(g.input(type_of(input)));
                        arguments.push_back(input);
                    }
                    Value node = g.add(op, inputs, symbolic(call.attrs));
                    std::vector<Value> outputs;
                    for (size_t o = 0; o < node->types.size(); ++o) outputs.push_back(g.output(node, static_cast<int64_t>(o)));
                    g.set_outputs(outputs);
                } catch (const tensor::Error&) {
                    continue;  // an operator that refuses the dtype
                }
                INFO(call.text());
                CHECK(check(g, arguments, tolerance_for(op, dtype)) == "");
            }
        }
    }
}

TEST_CASE("operators on nan, infinities, zeros, the smallest and the largest", "[inductor]") {
    Context context;
    const double kInf = HUGE_VAL;
    std::vector<double> values = {NAN,   kInf, -kInf,   0.0,   -0.0, 1.0,   -1.0,  0.5,     -0.5, 1.5,    2.5,     -2.5,
                                  1e-40, 1e-7, -1e-7,   3e38,  -3e38, 88.5, 89.5,  -87.0,   -95.0, -103.5, 1e-3,   -0.9999,
                                  20.0,  -20.0, 0.62,   4.5,   1e4,  -1e6,  700.0, 3.14159, 5.0,  1e-38,  65504.0, -7.0};
    int64_t count = static_cast<int64_t>(values.size());
    for (DType dtype : {DType::Float32, DType::Float64, DType::Float16}) {
        Tensor x = tensor::from_values(context, values, {count}, dtype);
        Tensor column = tensor::from_values(context, values, {count, 1}, dtype);
        for (int number = 0; number < tensor::kOpCount; ++number) {
            Op op = static_cast<Op>(number);
            const tensor::OpInfo& row = tensor::info(op);
            bool fold = row.kind == Kind::Reduction && row.outputs == 1 && op != Op::Sum && op != Op::Prod && op != Op::Mean;
            if (!(row.kind == Kind::Pointwise && row.inputs <= 2) && !fold) continue;
            if (op == Op::FloorDiv || op == Op::Remainder) continue;  // quotients of 1e38 are one step apart
            Graph g;
            std::vector<Tensor> arguments = {x};
            std::vector<Value> inputs = {g.input(type_of(x))};
            if (row.inputs == 2) {
                arguments.push_back(column);
                inputs.push_back(g.input(type_of(column)));
            }
            try {
                Attrs attrs;
                if (op == Op::Cast) attrs.dtype = DType::Int32;
                g.set_outputs({g.add(op, inputs, attrs)});
            } catch (const tensor::Error&) {
                continue;
            }
            Tolerance t = tolerance_for(op, dtype);
            if (dtype == DType::Float32) t.absolute = std::max(t.absolute, 1e-38);  // below the normal range
            INFO(tensor::name_of(op));
            CHECK(check(g, arguments, t) == "");
        }
    }
}

TEST_CASE("integers wrap, and zero divisors raise", "[inductor]") {
    Context context;
    for (DType dtype : {DType::Int64, DType::Int32, DType::Int8, DType::UInt8}) {
        std::vector<int64_t> values = {0, 1, -1, 7, -7, 127, -128, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 3, 2, 5};
        int64_t count = static_cast<int64_t>(values.size());
        Tensor x = tensor::from_values(context, values, {count}, dtype);
        Tensor column = tensor::from_values(context, values, {count, 1}, dtype);
        for (Op op : {Op::Add, Op::Sub, Op::Mul, Op::FloorDiv, Op::Remainder, Op::Maximum}) {
            Graph g;
            Value a = g.input(type_of(x)), b = g.input(type_of(column));
            g.set_outputs({g.add(op, {a, b})});
            Tensor arguments[] = {x, column};
            CHECK(check(g, arguments) == "");  // the reference raises for the zero divisor
            std::vector<int64_t> nonzero(values.begin() + 1, values.end());
            Tensor divisors = tensor::from_values(context, nonzero, {count - 1, 1}, dtype);
            Graph h;
            a = h.input(type_of(x)), b = h.input(type_of(divisors));
            h.set_outputs({h.add(op, {a, b})});
            Tensor others[] = {x, divisors};
            INFO(tensor::name_of(op) << " " << tensor::name_of(dtype));
            CHECK(check(h, others) == "");
        }
    }
}
