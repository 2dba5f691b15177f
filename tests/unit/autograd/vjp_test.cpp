// Every operator's gradient against finite differences, on the tape and on graphs.
#include <cmath>

#include "autograd/backward.hpp"
#include "autograd/graph_backward.hpp"
#include "autograd/vjp.hpp"
#include "graph/evaluate.hpp"
#include "graph/verify.hpp"
#include "tensor/convert.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/tensor/samples.hpp"

using namespace talc::autograd;
using talc::tensor::DType;
using talc::tensor::Kind;
using talc::tensor::Op;
using talc::tensor::Scalar;
namespace tensor = talc::tensor;
namespace graph = talc::graph;

namespace {

constexpr Op kListed[] = {
#define TALC_VJP(id, ...) Op::id,
#define TALC_NO_VJP(id) Op::id,
#include "autograd/vjps.def"
#undef TALC_VJP
#undef TALC_NO_VJP
};

// Sum of the first result with fixed weights, so that every element's gradient differs.
Tensor weighted_sum(Context& context, const Tensor& value, const Tensor& weights) {
    Tensor both[] = {value, weights};
    Tensor product = apply(context, Op::Mul, both);
    return apply(context, Op::Sum, std::span(&product, 1));
}

double numeric(Context& context, const tensor::samples::Call& call, size_t operand, int64_t element,
               const Tensor& weights) {
    GradMode off(context, false);
    constexpr double kStep = 1e-5;
    double sums[2];
    for (int side = 0; side < 2; ++side) {
        std::vector<Tensor> inputs = call.inputs;
        for (Tensor& input : inputs) input = tensor::run(context, Op::Clone, std::span(&input, 1));
        std::vector<double> values = tensor::to_doubles(inputs[operand]);
        values[static_cast<size_t>(element)] += side ? -kStep : kStep;
        inputs[operand] = tensor::from_values(context, values, inputs[operand].sizes(), DType::Float64);
        std::vector<Tensor> results(tensor::info(call.op).outputs);
        tensor::run(context, call.op, inputs, call.attrs, results);
        sums[side] = tensor::item(weighted_sum(context, results[0], weights)).to_double();
    }
    return (sums[0] - sums[1]) / (2 * kStep);
}

}  // namespace

TEST_CASE("every operator has a row in the table of gradients", "[autograd]") {
    for (int i = 0; i < tensor::kOpCount; ++i) {
        Op op = static_cast<Op>(i);
        INFO(tensor::name_of(op));
        CHECK(std::count(std::begin(kListed), std::end(kListed), op) == 1);
    }
}

TEST_CASE("gradients agree with finite differences", "[autograd]") {
    Context context;
    tensor::samples::Sampler sampler(context, 31337);
    for (int i = 0; i < tensor::kOpCount; ++i) {
        Op op = static_cast<Op>(i);
        Kind kind = tensor::info(op).kind;
        if (!vjp_info(op).differentiable || kind == Kind::Write) continue;
        int checked = 0;
        for (int round = 0; round < 25; ++round) {
            tensor::samples::Call call = sampler.call(op, DType::Float64, true);
            INFO(call.text());
            for (Tensor& input : call.inputs) {
                input = input.detached();
                if (tensor::is_float(input.dtype())) set_requires_grad(input, true);
            }
            std::vector<Tensor> results(tensor::info(op).outputs);
            apply(context, op, call.inputs, call.attrs, results);
            REQUIRE(requires_grad(results[0]));
            Tensor weights = sampler.tensor(results[0].sizes(), DType::Float64);
            backward(context, std::vector{weighted_sum(context, results[0], weights)}, {});

            // The same on a graph.
            graph::Graph g;
            std::vector<graph::Value> inputs, wrt;
            for (const Tensor& input : call.inputs) inputs.push_back(g.input(graph::type_of(input)));
            graph::Value seed = g.input(graph::type_of(weights));
            for (size_t k = 0; k < inputs.size(); ++k) {
                if (call.inputs[k].requires_grad()) wrt.push_back(inputs[k]);
            }
            graph::Value root = g.output(g.add(op, inputs, graph::symbolic(call.attrs)), 0);
            std::vector<graph::Value> on_graph =
                graph_gradients(g, std::span(&root, 1), std::span(&seed, 1), wrt);
            g.set_outputs(on_graph);
            graph::verify(g);
            std::vector<Tensor> arguments = call.inputs;
            arguments.push_back(weights);
            std::vector<Tensor> evaluated = graph::evaluate(g, context, arguments);

            size_t at = 0;
            for (size_t k = 0; k < call.inputs.size(); ++k) {
                if (!call.inputs[k].requires_grad()) continue;
                Tensor gradient = grad_of(call.inputs[k]);
                REQUIRE(gradient);
                REQUIRE(gradient.sizes() == call.inputs[k].sizes());
                CHECK(tensor::allclose(evaluated[at++], gradient, 1e-9, 1e-9));
                for (int64_t n = 0; n < std::min<int64_t>(gradient.numel(), 12); ++n) {
                    int64_t element = gradient.numel() <= 12 ? n : sampler.below(gradient.numel());
                    double expected = numeric(context, call, k, element, weights);
                    double got = tensor::element_at(gradient, element).to_double();
                    INFO("operand " << k << " element " << element << ": " << got << ", by differences " << expected);
                    REQUIRE(std::fabs(got - expected) <= 1e-4 * std::max(1.0, std::fabs(expected)));
                    ++checked;
                }
            }
        }
        INFO(tensor::name_of(op));
        CHECK(checked > 20);
    }
}
