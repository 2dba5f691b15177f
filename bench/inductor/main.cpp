// What fused native code gains over eager operators, how long it takes to compile, and what a run costs besides its
// work. One thread and all threads; the best of several rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "autograd/compose.hpp"
#include "autograd/emit.hpp"
#include "autograd/graph_backward.hpp"
#include "base/thread_pool.hpp"
#include "graph/evaluate.hpp"
#include "graph/text.hpp"
#include "inductor/backend.hpp"
#include "tensor/factory.hpp"

namespace {

using namespace talc;
using tensor::Tensor;
using Clock = std::chrono::steady_clock;

struct Fragment {
    const char* name;
    const char* text;
};

constexpr Fragment kFragments[] = {
    {"chain of 8, 1M", R"(graph(%0: float32[1024, 1024]) {
        %1: float64[] number = number(value=2.0)
        %2: float32[1024, 1024] = mul(%0, %1)
        %3: float64[] number = number(value=1.0)
        %4: float32[1024, 1024] = add(%2, %3)
        %5: float32[1024, 1024] = sigmoid(%4)
        %6: float32[1024, 1024] = mul(%5, %5)
        %7: float32[1024, 1024] = tanh(%6)
        %8: float32[1024, 1024] = abs(%7)
        %9: float32[1024, 1024] = add(%8, %3)
        %10: float32[1024, 1024] = div(%7, %9)
        return %10
    })"},
    {"add, relu, mul, 1M", R"(graph(%0: float32[1024, 1024], %1: float32[1024], %2: float32[1024]) {
        %3: float32[1024, 1024] = add(%0, %1)
        %4: float32[1024, 1024] = relu(%3)
        %5: float32[1024, 1024] = mul(%4, %2)
        return %5
    })"},
    {"softmax 1024x1024", R"(graph(%0: float32[1024, 1024]) {
        %1: float32[1024, 1] = amax(%0, dims=[1], keepdim=true)
        %2: float32[1024, 1024] = sub(%0, %1)
        %3: float32[1024, 1024] = exp(%2)
        %4: float32[1024, 1] = sum(%3, dims=[1], keepdim=true)
        %5: float32[1024, 1024] = div(%3, %4)
        return %5
    })"},
    {"layer_norm 1024x512", R"(graph(%0: float32[1024, 512], %1: float32[512], %2: float32[512]) {
        %3: float32[1024, 1] = mean(%0, dims=[1], keepdim=true)
        %4: float32[1024, 512] = sub(%0, %3)
        %5: float32[1024, 512] = square(%4)
        %6: float32[1024, 1] = mean(%5, dims=[1], keepdim=true)
        %7: float64[] number = number(value=1e-05)
        %8: float32[1024, 1] = add(%6, %7)
        %9: float32[1024, 1] = rsqrt(%8)
        %10: float32[1024, 512] = mul(%4, %9)
        %11: float32[1024, 512] = mul(%10, %1)
        %12: float32[1024, 512] = add(%11, %2)
        return %12
    })"},
    {"gelu, column sums", R"(graph(%0: float32[1024, 1024]) {
        %1: float32[1024, 1024] = gelu(%0)
        %2: float32[1024] = sum(%1, dims=[0])
        return %2
    })"},
    {"mean of squares, 1M", R"(graph(%0: float32[1024, 1024]) {
        %1: float32[1024, 1024] = square(%0)
        %2: float32[] = mean(%1, dims=[0, 1])
        return %2
    })"},
    {"gelu(x @ w.T + b)", R"(graph(%0: float32[256, 512], %1: float32[512, 512], %2: float32[512]) {
        %3: float32[512, 512] = permute(%1, dims=[1, 0])
        %4: float32[256, 512] = matmul(%0, %3)
        %5: float32[256, 512] = add(%4, %2)
        %6: float32[256, 512] = gelu(%5)
        return %6
    })"},
    {"add of 16 (overhead)", R"(graph(%0: float32[16], %1: float32[16]) {
        %2: float32[16] = add(%0, %1)
        return %2
    })"},
};

double microseconds(const auto& work) {
    double best = 1e30;
    auto start = Clock::now();
    for (int round = 0; round < 2000; ++round) {
        auto began = Clock::now();
        work();
        best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - began).count());
        if (Clock::now() - start > std::chrono::milliseconds(400) && round > 4) break;
    }
    return best;
}

// 512-1024-512 with gelu, batch 32: forward, backward, and plain steps that are written to the parameters.
graph::Graph training_step(std::vector<inductor::FragmentSpec::Write>& writes) {
    graph::Graph g;
    autograd::GraphEmit emit(g);
    autograd::Compose<autograd::GraphEmit> f(emit);
    auto input = [&](graph::Shape shape) { return g.input({tensor::DType::Float32, shape, {}, false}); };
    graph::Value x = input({32, 512});
    graph::Value parameters[] = {input({1024, 512}), input({1024}), input({512, 1024}), input({512})};
    graph::Value hidden = g.add(tensor::Op::Gelu, {f.linear(x, parameters[0], parameters[1])});
    graph::Value loss = f.mse_loss(f.linear(hidden, parameters[2], parameters[3]), x);
    auto gradients = autograd::graph_gradients(g, std::span(&loss, 1), {}, parameters);
    std::vector<graph::Value> outputs = {loss};
    for (uint32_t p = 0; p < 4; ++p) {
        outputs.push_back(f.sub(parameters[p], f.mul(gradients[p], tensor::Scalar(1e-3))));
        writes.push_back({p + 1, p + 1});
    }
    g.set_outputs(outputs);
    return g;
}

void measure(const char* name, const graph::Graph& g, std::vector<inductor::FragmentSpec::Write> writes = {}) {
    tensor::Context context;
    std::vector<Tensor> arguments;
    inductor::FragmentSpec spec;
    spec.graph = &g;
    spec.writes = std::move(writes);
    for (graph::Value input : g.inputs()) {
        tensor::Dims sizes = graph::concrete(input->shape(), [](uint32_t) { return 64; });
        std::vector<double> values(static_cast<size_t>(tensor::element_count(sizes)));
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7919 % 1000) / 250.0 - 2.0;
        arguments.push_back(tensor::from_values(context, values, sizes));
        spec.layouts.push_back(arguments.back().layout_class());
    }
    auto began = Clock::now();
    auto code = inductor::cpu_backend().compile(spec);
    double compile = std::chrono::duration<double, std::milli>(Clock::now() - began).count();
    std::vector<Tensor> results(g.outputs().size());
    auto eager = [&] { graph::evaluate(g, context, arguments); };
    auto native = [&] { code->run(context, arguments, results); };
    double eager_one = microseconds(eager), native_one = microseconds(native);
    context.parallel_for = parallel_for;
    double eager_all = microseconds(eager), native_all = microseconds(native);
    std::printf("%-22s %8.2f ms %10.2f %10.2f %7.2f %10.2f %10.2f  %u kernels\n", name, compile, eager_one, native_one, eager_one / native_one, eager_all, native_all, code->launches());
    if (!spec.writes.empty()) {
        for (const inductor::LogLine& line : code->log()) {
            if (line.channel == "passes") std::printf("    %s\n", line.text.c_str());
        }
    }
}

}  // namespace

int main() {
    {   // The first compilation starts LLVM.
        auto began = Clock::now();
        tensor::Context context;
        graph::Graph g = graph::parse(context, "graph(%0: int32[3]) {\n %1: int32[3] = neg(%0)\n return %1\n}\n");
        inductor::FragmentSpec spec;
        spec.graph = &g;
        inductor::cpu_backend().compile(spec);
        std::printf("first compilation, with the start of LLVM: %.2f ms\n",
                    std::chrono::duration<double, std::milli>(Clock::now() - began).count());
    }
    std::printf("%-22s %11s %10s %10s %7s %10s %10s\n", "microseconds", "compile", "eager", "native", "gain", "eager all",
                "native all");
    tensor::Context context;
    for (const Fragment& fragment : kFragments) measure(fragment.name, graph::parse(context, fragment.text));
    std::vector<inductor::FragmentSpec::Write> writes;
    graph::Graph step = training_step(writes);
    measure("training step", step, writes);
    return 0;
}
