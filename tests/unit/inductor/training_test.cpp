// A whole training step as one fragment: forward, backward and optimizer, written back to the parameters.
#include "autograd/compose.hpp"
#include "autograd/emit.hpp"
#include "autograd/graph_backward.hpp"
#include "graph/text.hpp"
#include "inductor/cpu/code.hpp"
#include "tensor/factory.hpp"
#include "tensor/views.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/inductor/compare.hpp"
#include "tests/unit/tensor/samples.hpp"

using namespace talc::graph;
using talc::inductor::cpu_backend;
using talc::inductor::FragmentSpec;
using talc::inductor::testing::difference;
using talc::inductor::testing::spec_for;
using talc::tensor::Context;
using talc::tensor::Tensor;
namespace tensor = talc::tensor;
namespace autograd = talc::autograd;

namespace {

// Two layers with gelu between, mse_loss, Adam. Inputs: x, then (parameter, mean, square) for each parameter, lr.
struct Step {
    Graph g;
    std::vector<FragmentSpec::Write> writes;

    Step(Dim batch, int64_t inner, int64_t hidden) {
        autograd::GraphEmit emit(g);
        autograd::Compose<autograd::GraphEmit> f(emit);
        auto input = [&](Shape shape) { return g.input({DType::Float32, shape, {}, false}); };
        Value x = input({batch, Dim(inner)});
        Shape shapes[] = {{Dim(hidden), Dim(inner)}, {Dim(hidden)}, {Dim(inner), Dim(hidden)}, {Dim(inner)}};
        std::vector<Value> parameters, means, squares;
        for (const Shape& shape : shapes) {
            parameters.push_back(input(shape));
            means.push_back(input(shape));
            squares.push_back(input(shape));
        }
        Value lr = g.input({DType::Float64, {}, {}, true});
        Value y = f.linear(x, parameters[0], parameters[1]);
        y = f.linear(g.add(Op::Gelu, {y}), parameters[2], parameters[3]);
        Value loss = f.mse_loss(y, x);
        auto gradients = autograd::graph_gradients(g, std::span(&loss, 1), {}, parameters);
        std::vector<Value> outputs = {loss};
        for (size_t p = 0; p < parameters.size(); ++p) {
            Value mean = f.add(f.mul(means[p], Scalar(0.9)), f.mul(gradients[p], Scalar(0.1)));
            Value square = f.add(f.mul(squares[p], Scalar(0.999)), f.mul(f.mul(gradients[p], gradients[p]), Scalar(0.001)));
            Value moved = f.mul(f.div(mean, f.add(f.sqrt(square), Scalar(1e-8))), lr);
            Value fresh[] = {f.sub(parameters[p], moved), mean, square};
            for (size_t k = 0; k < 3; ++k) {
                writes.push_back({static_cast<uint32_t>(outputs.size()), static_cast<uint32_t>(1 + 3 * p + k)});
                outputs.push_back(fresh[k]);
            }
        }
        g.set_outputs(outputs);
    }

    std::vector<Tensor> arguments(Context& context, int64_t batch) {
        tensor::samples::Sampler sampler(context, 3);
        std::vector<Tensor> result;
        for (Value input : g.inputs()) {
            if (input->type().weak) {
                result.push_back(tensor::number(context, Scalar(0.01)));
                continue;
            }
            tensor::Dims sizes = concrete(input->shape(), [&](uint32_t) { return batch; });
            std::vector<double> values;
            for (int64_t i = 0; i < tensor::element_count(sizes); ++i) values.push_back(sampler.real(0.01, 0.5));
            result.push_back(tensor::from_values(context, values, sizes));
        }
        return result;
    }
};

}  // namespace

TEST_CASE("a training step is one fragment that writes its parameters", "[inductor][training]") {
    Context context;
    Step step(Dim(8), 12, 20);
    std::vector<Tensor> arguments = step.arguments(context, 8);
    FragmentSpec spec = spec_for(step.g, arguments);
    spec.writes = step.writes;
    auto code = cpu_backend().compile(spec);
    std::string text;
    for (const auto& kernel : code->kernels()) text += kernel.name + "\n";
    for (const auto& line : code->log()) text += std::string(line.channel) + ": " + line.text + "\n";
    INFO(print(step.g) << text);
    CHECK(code->fallbacks().empty());
    size_t products = 0;
    for (const auto& kernel : code->kernels()) {
        products += kernel.name == "matmul";
        CHECK(kernel.name != "copy");
    }
    CHECK(products == 5);
    CHECK(code->kernels().size() <= 11);
    for (int round = 0; round < 3; ++round) {
        auto wanted = evaluate(step.g, context, arguments, Engine::Reference);
        for (Tensor& value : wanted) value = tensor::contiguous_copy(context, value);
        std::vector<Tensor> results(wanted.size());
        code->run(context, arguments, results);
        for (size_t o = 0; o < wanted.size(); ++o) CHECK(difference(results[o], wanted[o], {64, 1e-5}) == "");
    }
}
