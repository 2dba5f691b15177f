// What becomes one kernel, and its text.
#include "graph/text.hpp"
#include "inductor/cpu/code.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/inductor/compare.hpp"
#include "tests/unit/tensor/samples.hpp"

using namespace talc::graph;
using talc::inductor::cpu_backend;
using talc::inductor::Executable;
using talc::inductor::FragmentSpec;
using talc::inductor::KernelInfo;
using talc::inductor::testing::check;
using talc::inductor::testing::difference;
using talc::inductor::testing::spec_for;
using talc::tensor::Context;
using talc::tensor::Tensor;
namespace tensor = talc::tensor;

namespace {

struct Fragment {
    Context context;
    Graph graph;
    tensor::samples::Sampler sampler{context, 11};
    std::vector<Tensor> arguments;

    explicit Fragment(const char* text) : graph(parse(context, text)) {}
    // Row-major arguments of the parameters' sizes; s0, s1, ... are taken from `symbols`.
    std::unique_ptr<Executable> compile(std::vector<int64_t> symbols = {}) {
        fill(symbols);
        return cpu_backend().compile(spec_for(graph, arguments));
    }
    void fill(std::vector<int64_t> symbols) {
        arguments.clear();
        for (Value input : graph.inputs()) {
            tensor::Dims sizes = concrete(input->shape(), [&](uint32_t s) { return symbols.at(s); });
            std::vector<double> values;
            for (int64_t i = 0; i < tensor::element_count(sizes); ++i) values.push_back(sampler.real(-2, 2));
            arguments.push_back(tensor::from_values(context, values, sizes, input->dtype()));
        }
    }
};

std::string texts(const Executable& code) {
    std::string all;
    for (const KernelInfo& kernel : code.kernels()) all += kernel.name + " = " + (kernel.external ? "library\n" : kernel.text);
    return all;
}

}  // namespace

TEST_CASE("a chain of pointwise operators is one kernel", "[inductor][fusion]") {
    Fragment f(R"(graph(%0: float32[s0, 512]) {
        %1: float64[] number = number(value=2.0)
        %2: float32[s0, 512] = mul(%0, %1)
        %3: float64[] number = number(value=1.0)
        %4: float32[s0, 512] = add(%2, %3)
        %5: float32[s0, 512] = sigmoid(%4)
        %6: float32[s0, 512] = mul(%5, %5)
        %7: float32[s0, 512] = tanh(%6)
        %8: float32[s0, 512] = abs(%7)
        %9: float32[s0, 512] = add(%8, %3)
        %10: float32[s0, 512] = div(%7, %9)
        return %10
    })");
    auto code = f.compile({4});
    CHECK(texts(*code) ==
          "fused_mul_add_sigmoid_mul_tanh_abs_add_div_0 = kernel(n0; b0: float32, b1: out float32) for i0 < 512*n0 {\n"
          "    %0: float32 = load b0[i0]\n"
          "    %1: float32 = number 2.0\n"
          "    %2: float32 = mul %0, %1\n"
          "    %3: float32 = number 1.0\n"
          "    %4: float32 = add %2, %3\n"
          "    %5: float32 = sigmoid %4\n"
          "    %6: float32 = mul %5, %5\n"
          "    %7: float32 = tanh %6\n"
          "    %8: float32 = abs %7\n"
          "    %9: float32 = add %8, %3\n"
          "    %10: float32 = div %7, %9\n"
          "    b1[i0] = %10\n"
          "}\n");
    for (int64_t rows : {2, 5, 33}) {
        f.fill({rows});
        CHECK(check(f.graph, f.arguments, {8}) == "");
    }
}

TEST_CASE("softmax by hand is one kernel", "[inductor][fusion]") {
    Fragment f(R"(graph(%0: float32[s0, 100]) {
        %1: float32[s0, 1] = amax(%0, dims=[1], keepdim=true)
        %2: float32[s0, 100] = sub(%0, %1)
        %3: float32[s0, 100] = exp(%2)
        %4: float32[s0, 1] = sum(%3, dims=[1], keepdim=true)
        %5: float32[s0, 100] = div(%3, %4)
        return %5
    })");
    auto code = f.compile({4});
    CHECK(texts(*code) ==
          "fused_amax_sub_exp_sum_div_0 = kernel(n0; b0: float32, b1: out float32) for i0 < n0 fold r0 < 100 {\n"
          "    %0: float32 = load b0[100*i0 + r0]\n"
          "    %1: float32 = fold amax %0\n"
          "    %2: float32 = sub %0, %1\n"
          "    %3: float32 = exp %2\n"
          "    %4: float32 = fold sum %3\n"
          "    %5: float32 = div %3, %4\n"
          "    b1[100*i0 + r0] = %5\n"
          "}\n");
    for (int64_t rows : {2, 7}) {
        f.fill({rows});
        CHECK(check(f.graph, f.arguments, {8}) == "");
    }
}

TEST_CASE("layer_norm is one kernel", "[inductor][fusion]") {
    Fragment f(R"(graph(%0: float32[s0, 64], %1: float32[64], %2: float32[64]) {
        %3: float32[s0, 1] = mean(%0, dims=[1], keepdim=true)
        %4: float32[s0, 64] = sub(%0, %3)
        %5: float32[s0, 64] = square(%4)
        %6: float32[s0, 1] = mean(%5, dims=[1], keepdim=true)
        %7: float64[] number = number(value=1e-05)
        %8: float32[s0, 1] = add(%6, %7)
        %9: float32[s0, 1] = rsqrt(%8)
        %10: float32[s0, 64] = mul(%4, %9)
        %11: float32[s0, 64] = mul(%10, %1)
        %12: float32[s0, 64] = add(%11, %2)
        return %12
    })");
    auto code = f.compile({4});
    CHECK(code->kernels().size() == 1);
    CHECK(code->launches() == 1);
    f.fill({9});
    CHECK(check(f.graph, f.arguments, {16, 1e-6}) == "");
}

TEST_CASE("a product and what follows it are two steps; transposes are not copied", "[inductor][fusion]") {
    Fragment f(R"(graph(%0: float32[s0, 32], %1: float32[48, 32], %2: float32[48]) {
        %3: float32[32, 48] = permute(%1, dims=[1, 0])
        %4: float32[s0, 48] = matmul(%0, %3)
        %5: float32[s0, 48] = add(%4, %2)
        %6: float32[s0, 48] = relu(%5)
        return %6
    })");
    auto code = f.compile({4});
    REQUIRE(code->kernels().size() == 2);
    CHECK(code->kernels()[0].name == "matmul");
    CHECK(code->kernels()[1].name == "fused_add_relu_1");
    CHECK(code->fallbacks().empty());
    f.fill({9});
    CHECK(check(f.graph, f.arguments, {64, 1e-5}) == "");
}

TEST_CASE("rows that are stacked are one kernel", "[inductor][fusion]") {
    Fragment f(R"(graph(%0: float32[3, 16]) {
        %1: float32[16] = select(%0, dim=0, start=0)
        %2: int64[] number = number(value=2)
        %3: float32[16] = mul(%1, %2)
        %4: float32[16] = select(%0, dim=0, start=1)
        %5: float32[16] = mul(%4, %2)
        %6: float32[16] = select(%0, dim=0, start=2)
        %7: float32[16] = mul(%6, %2)
        %8: float32[3, 16] = stack(%3, %5, %7, dim=0)
        return %8
    })");
    auto code = f.compile();
    CHECK(code->kernels().size() == 1);
    CHECK(check(f.graph, f.arguments) == "");
}

TEST_CASE("equal layers share their code, whatever their buffers and symbols", "[inductor][fusion]") {
    Fragment first(R"(graph(%0: float32[s0, 24], %1: float32[24]) {
        %2: float32[s0, 24] = add(%0, %1)
        %3: float32[s0, 24] = gelu(%2)
        return %3
    })");
    auto one = first.compile({4});
    auto before = talc::inductor::cpu::code_counts();
    Fragment second(R"(graph(%0: float32[24], %1: float32[3], %2: float32[s0, s1], %3: float32[s1, 24]) {
        %4: float32[s1, 24] = add(%3, %0)
        %5: float32[s1, 24] = gelu(%4)
        return %5
    })");
    second.compile({5, 9});
    auto after = talc::inductor::cpu::code_counts();
    CHECK(after.compiled == before.compiled);
    CHECK(after.shared == before.shared + 1);
}

TEST_CASE("an argument is written in its kernel", "[inductor][writes]") {
    Fragment f(R"(graph(%0: float32[40], %1: float32[40]) {
        %2: float32[40] = mul(%1, %1)
        %3: float32[40] = add(%0, %2)
        %4: float32[40] = sub(%0, %1)
        return %3, %4
    })");
    f.fill({});
    FragmentSpec spec = spec_for(f.graph, f.arguments);
    spec.writes = {{0, 0}};
    auto wanted = evaluate(f.graph, f.context, f.arguments, Engine::Reference);
    auto code = cpu_backend().compile(spec);
    CHECK(code->launches() == 1);
    Tensor results[2];
    uint32_t version = f.arguments[0].version();
    code->run(f.context, f.arguments, results);
    CHECK(results[0].is(f.arguments[0]));
    CHECK(f.arguments[0].version() == version + 1);
    CHECK(difference(results[0], wanted[0]) == "");
    CHECK(difference(results[1], wanted[1]) == "");
}

TEST_CASE("arguments that are exchanged go through a copy", "[inductor][writes]") {
    Fragment f(R"(graph(%0: float32[4, 4], %1: float32[4, 4]) {
        %2: float32[4, 4] = permute(%1, dims=[1, 0])
        %3: float32[4, 4] = add(%0, %2)
        %4: float32[4, 4] = permute(%0, dims=[1, 0])
        %5: float32[4, 4] = sub(%1, %4)
        return %3, %5
    })");
    f.fill({});
    FragmentSpec spec = spec_for(f.graph, f.arguments);
    spec.writes = {{0, 0}, {1, 1}};
    auto wanted = evaluate(f.graph, f.context, f.arguments, Engine::Reference);
    auto code = cpu_backend().compile(spec);
    Tensor results[2];
    code->run(f.context, f.arguments, results);
    CHECK(difference(f.arguments[0], wanted[0]) == "");
    CHECK(difference(f.arguments[1], wanted[1]) == "");
}

TEST_CASE("nothing is written when an index is out of range", "[inductor][writes]") {
    Fragment f(R"(graph(%0: float32[8], %1: int64[8], %2: float32[5]) {
        %3: float32[8] = index(%2, %1, dims=[0])
        %4: float32[8] = add(%0, %3)
        %5: float64[] number = number(value=2.0)
        %6: float32[5] = mul(%2, %5)
        return %4, %6
    })");
    f.fill({});
    f.arguments[1] = tensor::from_values(f.context, std::vector<int64_t>{0, 1, 2, 3, 4, 5, -5, -6}, {8});
    FragmentSpec spec = spec_for(f.graph, f.arguments);
    spec.writes = {{0, 0}, {1, 2}};
    auto before = tensor::to_doubles(f.arguments[0]), before2 = tensor::to_doubles(f.arguments[2]);
    auto code = cpu_backend().compile(spec);
    Tensor results[2];
    CHECK_THROWS_WITH(code->run(f.context, f.arguments, results), "index 5 is out of bounds for dimension 0 with size 5");
    CHECK(tensor::to_doubles(f.arguments[0]) == before);
    CHECK(tensor::to_doubles(f.arguments[2]) == before2);
    f.arguments[1] = tensor::from_values(f.context, std::vector<int64_t>{0, 1, 2, 3, 4, -1, -5, -4}, {8});
    auto wanted = evaluate(f.graph, f.context, f.arguments, Engine::Reference);
    code->run(f.context, f.arguments, results);
    CHECK(difference(f.arguments[0], wanted[0]) == "");
    CHECK(difference(f.arguments[2], wanted[1]) == "");
}
