#include "autograd/backward.hpp"
#include "autograd/compose.hpp"
#include "autograd/emit.hpp"
#include "autograd/graph_backward.hpp"
#include "graph/evaluate.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/tensor/samples.hpp"

using namespace talc::autograd;
using talc::tensor::DType;
namespace tensor = talc::tensor;
namespace graph = talc::graph;

TEST_CASE("compositions give the same on the tape and on graphs, with gradients", "[autograd]") {
    Context context;
    tensor::samples::Sampler sampler(context, 5);
    Tensor x = sampler.tensor({4, 6}, DType::Float64), w = sampler.tensor({3, 6}, DType::Float64);
    Tensor bias = sampler.tensor({3}, DType::Float64), gain = sampler.tensor({6}, DType::Float64);
    Tensor target = tensor::from_values(context, std::vector<int64_t>{0, 2, 1, 2}, {4});
    auto network = [](auto& c, auto x, auto w, auto bias, auto gain, auto target) {
        auto normed = c.layer_norm(x, 1, gain, {}, 1e-5);
        auto logits = c.linear(c.silu(normed), w, bias);
        auto loss = c.cross_entropy(logits, target);
        auto soft = c.softmax(logits, -1);
        return c.add(loss, c.mse_loss(soft, c.e.number(0.3)));
    };
    std::vector<Tensor> leaves = {x.detached(), w.detached(), bias.detached(), gain.detached()};
    for (Tensor& leaf : leaves) set_requires_grad(leaf, true);
    TensorEmit eager(context);
    Compose<TensorEmit> on_tensors(eager);
    Tensor loss = network(on_tensors, leaves[0], leaves[1], leaves[2], leaves[3], target);
    backward(context, std::span(&loss, 1), {});

    graph::Graph g;
    std::vector<graph::Value> inputs;
    for (const Tensor& leaf : leaves) inputs.push_back(g.input(graph::type_of(leaf)));
    graph::Value classes = g.input(graph::type_of(target));
    GraphEmit emitter(g);
    Compose<GraphEmit> on_graph(emitter);
    graph::Value root = network(on_graph, inputs[0], inputs[1], inputs[2], inputs[3], classes);
    std::vector<graph::Value> outputs = graph_gradients(g, std::span(&root, 1), {}, inputs);
    outputs.insert(outputs.begin(), root);
    g.set_outputs(outputs);
    graph::verify(g);
    std::vector<Tensor> arguments = leaves;
    arguments.push_back(target);
    auto results = graph::evaluate(g, context, arguments);
    CHECK(tensor::allclose(results[0], loss, 1e-12, 1e-12));
    for (size_t i = 0; i < leaves.size(); ++i) CHECK(tensor::allclose(results[i + 1], grad_of(leaves[i]), 1e-10, 1e-10));

    // Central differences of the whole.
    GradMode off(context, false);
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        for (int64_t n = 0; n < leaves[leaf].numel(); n += 3) {
            double sums[2];
            for (int side = 0; side < 2; ++side) {
                std::vector<Tensor> moved = leaves;
                std::vector<double> values = tensor::to_doubles(leaves[leaf]);
                values[static_cast<size_t>(n)] += side ? -1e-5 : 1e-5;
                moved[leaf] = tensor::from_values(context, values, leaves[leaf].sizes(), DType::Float64);
                sums[side] = tensor::item(network(on_tensors, moved[0], moved[1], moved[2], moved[3], target)).f;
            }
            double expected = (sums[0] - sums[1]) / 2e-5;
            CHECK(tensor::element_at(grad_of(leaves[leaf]), n).f == Approx(expected).margin(1e-6));
        }
    }
}

TEST_CASE("the gradient of relu(x @ w) is a small graph", "[autograd]") {
    graph::Graph g;
    graph::Dim batch = g.dims().fresh(8);
    graph::Value x = g.input({DType::Float32, {batch, graph::Dim(4)}, {}, false});
    graph::Value w = g.input({DType::Float32, {graph::Dim(4), graph::Dim(3)}, {}, false});
    graph::Value y = g.add(Op::Relu, {g.add(Op::Matmul, {x, w})});
    graph::Value root = g.add(Op::Mean, {y});
    g.set_outputs(graph_gradients(g, std::span(&root, 1), {}, std::span(&w, 1)));
    graph::verify(g);
    CHECK(graph::print(g) ==
          "graph(%0: float32[s0, 4], %1: float32[4, 3]) {\n"
          "    %2: float32[s0, 3] = matmul(%0, %1)\n"
          "    %3: float32[s0, 3] = relu(%2)\n"
          "    %4: float32[] = full(sizes=[], dtype=float32, value=1.0)\n"
          "    %5: int64[] number = size(start=3*s0)\n"
          "    %6: float32[] = div(%4, %5)\n"
          "    %7: float32[1, 1] = reshape(%6, sizes=[1, 1])\n"
          "    %8: float32[s0, 3] = expand(%7, sizes=[s0, 3])\n"
          "    %9: float64[] number = number(value=0.0)\n"
          "    %10: bool[s0, 3] = le(%3, %9)\n"
          "    %11: float32[s0, 3] = where(%10, %9, %8)\n"
          "    %12: float32[4, s0] = permute(%0, dims=[1, 0])\n"
          "    %13: float32[4, 3] = matmul(%12, %11)\n"
          "    return %13\n"
          "}\n");
}
