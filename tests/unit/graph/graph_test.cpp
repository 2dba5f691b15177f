#include "graph/evaluate.hpp"
#include "graph/rewrite.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"
#include "tensor/error.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/tensor/samples.hpp"

using namespace talc::graph;
using talc::tensor::Context;
using talc::tensor::Kind;
using talc::tensor::Tensor;
namespace tensor = talc::tensor;

TEST_CASE("equal computations are one node", "[graph]") {
    Graph g;
    Value x = g.input({DType::Float32, {Dim(4), Dim(3)}, {}, false});
    Value two = g.number(Scalar(2.0));
    Value a = g.add(Op::Mul, {x, two}), b = g.add(Op::Mul, {x, g.number(Scalar(2.0))});
    CHECK(a == b);
    CHECK(a != g.add(Op::Mul, {x, g.number(Scalar(2))}));
    Attrs all, listed;
    listed.dims = {0, 1};
    CHECK(g.add(Op::Sum, {x}, all) == g.add(Op::Sum, {x}, listed));
    Attrs open, closed;
    open.sizes = {Dim(-1)};
    closed.sizes = {Dim(12)};
    CHECK(g.add(Op::View, {x}, open) == g.add(Op::Reshape, {x}, closed));
}

TEST_CASE("a graph with symbolic sizes runs at any size that its facts allow", "[graph]") {
    Context context;
    Graph g;
    Dim batch = g.dims().fresh(8);
    Value x = g.input({DType::Float32, {batch, Dim(4)}, {}, false});
    Value w = g.input({DType::Float32, {Dim(3), Dim(4)}, {}, false});
    Attrs swap;
    swap.dims = {1, 0};
    Value y = g.add(Op::Matmul, {x, g.add(Op::Permute, {w}, swap)});
    Value z = g.add(Op::Relu, {g.add(Op::Add, {y, g.number(Scalar(1))})});
    Attrs flat;
    flat.sizes = {Dim(-1)};
    Value f = g.add(Op::Reshape, {z}, flat);
    g.set_outputs({f});
    verify(g);
    CHECK(print(g) ==
          "graph(%0: float32[s0, 4], %1: float32[3, 4]) {\n"
          "    %2: float32[4, 3] = permute(%1, dims=[1, 0])\n"
          "    %3: float32[s0, 3] = matmul(%0, %2)\n"
          "    %4: int64[] number = number(value=1)\n"
          "    %5: float32[s0, 3] = add(%3, %4)\n"
          "    %6: float32[s0, 3] = relu(%5)\n"
          "    %7: float32[3*s0] = reshape(%6, sizes=[3*s0])\n"
          "    return %7\n"
          "}\n");
    tensor::samples::Sampler sampler(context, 7);
    for (int64_t size : {2, 5, 11}) {
        Tensor arguments[] = {sampler.tensor({size, 4}, DType::Float32), sampler.tensor({3, 4}, DType::Float32)};
        auto eager = evaluate(g, context, arguments);
        auto reference = evaluate(g, context, arguments, Engine::Reference);
        CHECK(eager[0].size(0) == 3 * size);
        CHECK(tensor::allclose(eager[0], reference[0], 1e-5, 1e-5));
    }
    Tensor wrong[] = {sampler.tensor({5, 3}, DType::Float32), sampler.tensor({3, 4}, DType::Float32)};
    CHECK_THROWS_WITH(evaluate(g, context, wrong),
                      "argument 0 of the graph: expected float32[s0, 4], but got float32[5, 3]");
}

TEST_CASE("sizes that had to be equal are facts of the graph", "[graph]") {
    Context context;
    Graph g;
    Dim a = g.dims().fresh(6), b = g.dims().fresh(6);
    Value x = g.input({DType::Float32, {a}, {}, false}), y = g.input({DType::Float32, {b}, {}, false});
    g.set_outputs({g.add(Op::Add, {x, y})});
    verify(g);
    REQUIRE(g.dims().facts().size() == 1);
    std::string text = print(g);
    CHECK(text.find("where s0 == s1 {") != std::string::npos);
    CHECK(print(parse(context, text)) == text);
    tensor::samples::Sampler sampler(context, 7);
    Tensor wrong[] = {sampler.tensor({5}, DType::Float32), sampler.tensor({3}, DType::Float32)};
    CHECK_THROWS_WITH(evaluate(g, context, wrong), "the arguments break a fact of the graph: s0 == s1");
}

TEST_CASE("every operator: graph types equal eager types, text goes round, both evaluators agree", "[graph]") {
    Context context;
    tensor::samples::Sampler sampler(context, 99);
    for (int i = 0; i < tensor::kOpCount; ++i) {
        Op op = static_cast<Op>(i);
        Kind kind = tensor::info(op).kind;
        if (kind == Kind::Leaf || kind == Kind::Write) continue;
        for (int round = 0; round < 12; ++round) {
            tensor::samples::Call call = sampler.call(op, round % 3 == 2 ? DType::Int64 : DType::Float32);
            std::vector<Tensor> direct(tensor::info(op).outputs);
            try {
                tensor::run(context, op, call.inputs, call.attrs, direct);
            } catch (const tensor::Error&) {
                continue;  // this dtype is refused
            }
            INFO(call.text());
            Graph g;
            std::vector<Value> inputs, outputs;
            for (const Tensor& input : call.inputs) inputs.push_back(g.input(type_of(input)));
            Value node = g.add(op, inputs, symbolic(call.attrs));
            for (size_t k = 0; k < direct.size(); ++k) {
                outputs.push_back(g.output(node, static_cast<int64_t>(k)));
                CHECK(outputs.back()->dtype() == direct[k].dtype());
                CHECK(outputs.back()->shape() == symbolic(direct[k].sizes()));
            }
            g.set_outputs(outputs);
            verify(g);
            std::string text = print(g);
            Graph again = parse(context, text);
            REQUIRE(print(again) == text);
            REQUIRE(print(copy(g)) == text);
            auto eager = evaluate(again, context, call.inputs);
            auto reference = evaluate(g, context, call.inputs, Engine::Reference);
            for (size_t k = 0; k < direct.size(); ++k) {
                REQUIRE(tensor::allclose(eager[k], direct[k], 0, 0, true));
                REQUIRE(tensor::allclose(reference[k], direct[k], 1e-4, 1e-4, true));
            }
        }
    }
}

TEST_CASE("malformed text is refused with the line", "[graph]") {
    Context context;
    CHECK_THROWS_WITH(parse(context, "graph(%0: float32[2]) {\n    %1: float32[2] = frob(%0)\n    return %1\n}\n"),
                      "line 2 of the graph: expected an operator, but found 'frob(%0)'");
    CHECK_THROWS_WITH(parse(context, "graph(%0: float32[2]) {\n    return %7\n}\n"),
                      "line 2 of the graph: expected a value that is defined above, but found '%7'");
    CHECK_THROWS_WITH(parse(context, "graph(%0: float32[2]) {\n    %1: int64[2] = exp(%0)\n    return %1\n}\n"),
                      "line 3 of the graph: expected %1 to have type float32[2], but found 'return %1'");
    CHECK_THROWS_WITH(
        parse(context, "graph(%0: float32[2], %1: float32[3]) {\n    %2: float32[2] = add(%0, %1)\n    return %2\n}\n"),
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0");
}

TEST_CASE("rules rewrite until none applies", "[graph]") {
    Context context;
    Graph g;
    Value x = g.input({DType::Float32, {Dim(4)}, {}, false});
    Value y = x;
    for (int i = 0; i < 5; ++i) y = g.add(Op::Neg, {y});
    g.set_outputs({g.add(Op::Exp, {y})});
    const Rule rules[] = {{Op::Neg, "neg of neg", [](Graph&, Value node) -> Value {
                               Value inner = node->inputs[0];
                               return inner->op == Op::Neg ? inner->inputs[0] : nullptr;
                           }}};
    std::vector<RewriteCount> counts;
    Graph simple = rewrite(g, rules, &counts);
    CHECK(counts[0].times == 2);
    CHECK(simple.live().size() == 3);
    verify(simple);
}
