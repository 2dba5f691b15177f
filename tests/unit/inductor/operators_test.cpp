// Every operator of the table, alone in a graph, against the reference.
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
