// The loop IR as CUDA C++: golden texts, and every distinct kernel of a corpus compiles. No GPU is needed.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>

#include <unistd.h>

#include "graph/text.hpp"
#include "inductor/cuda/cubins.hpp"
#include "inductor/cuda/nvrtc.hpp"
#include "inductor/cuda/printer.hpp"
#include "inductor/cuda/scatter.hpp"
#include "inductor/passes/passes.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/inductor/compare.hpp"
#include "tests/unit/tensor/samples.hpp"

using namespace talc::graph;
using namespace talc::inductor;
using talc::inductor::testing::spec_for;
using talc::tensor::Context;
using talc::tensor::Kind;
using talc::tensor::Tensor;
namespace tensor = talc::tensor;

namespace {

// Kernels by their text, each once.
class Corpus {
  public:
    void add(const FragmentSpec& spec) {
        Lowered lowered = lower(spec, {.random_in_loops = true});
        for (const Step& step : lowered.plan.steps) {
            if (step.kind != Step::Kernel || !seen_.insert(loops::print(step.kernel)).second) continue;
            cuda::Launch launch;
            program_ += cuda::print(step.kernel, "kernel_" + std::to_string(seen_.size()), launch);
        }
    }
    size_t size() const { return seen_.size(); }
    std::string program() const { return cuda::prelude() + program_; }

  private:
    std::set<std::string> seen_;
    std::string program_;
};

void add_operators(Corpus& corpus) {
    Context context;
    tensor::samples::Sampler sampler(context, 5);
    for (int number = 0; number < tensor::kOpCount; ++number) {
        Op op = static_cast<Op>(number);
        Kind kind = tensor::info(op).kind;
        if (kind == Kind::Leaf || kind == Kind::Write) continue;
        for (DType dtype : {DType::Float32, DType::Int64, DType::Float16}) {
            bool spread = kind == Kind::Pointwise || kind == Kind::Reduction;
            // Each compiles in tens of milliseconds: float32 for all, the others in turn.
            bool turn = spread && number % 2 == (dtype == DType::Int64);
            if (dtype != DType::Float32 && !turn) continue;
            try {
                tensor::samples::Call call = sampler.call(op, dtype);
                Graph g;
                std::vector<Value> inputs;
                for (const Tensor& input : call.inputs) inputs.push_back(g.input(type_of(input)));
                Value node = g.add(op, inputs, symbolic(call.attrs));
                std::vector<Value> outputs;
                for (size_t o = 0; o < node->types.size(); ++o) outputs.push_back(g.output(node, static_cast<int64_t>(o)));
                g.set_outputs(outputs);
                corpus.add(spec_for(g, call.inputs));
            } catch (const tensor::Error&) {
                continue;  // an operator that refuses the dtype
            }
        }
    }
}

void add_text(Corpus& corpus, const char* text) {
    Context context;
    Graph g = parse(context, text);
    FragmentSpec spec;
    spec.graph = &g;
    std::vector<Tensor> arguments;
    for (Value input : g.inputs()) {
        arguments.push_back(tensor::empty(context, concrete(input->shape(), [](uint32_t) { return 64; }), input->dtype()));
        spec.layouts.push_back(arguments.back().layout_class());
    }
    corpus.add(spec);
}

constexpr const char* kSoftmax = R"(graph(%0: float32[s0, 4096]) {
    %1: float32[s0, 1] = amax(%0, dims=[1], keepdim=true)
    %2: float32[s0, 4096] = sub(%0, %1)
    %3: float32[s0, 4096] = exp(%2)
    %4: float32[s0, 1] = sum(%3, dims=[1], keepdim=true)
    %5: float32[s0, 4096] = div(%3, %4)
    return %5
})";
constexpr const char* kColumns = R"(graph(%0: float32[s0, 512]) {
    %1: float32[s0, 512] = gelu(%0)
    %2: float32[512] = mean(%1, dims=[0])
    return %1, %2
})";
constexpr const char* kShort = R"(graph(%0: bfloat16[s0, 512], %1: bfloat16[512]) {
    %2: bfloat16[s0, 512] = mul(%0, %1)
    %3: bfloat16[s0, 512] = relu(%2)
    return %3
})";

}  // namespace

TEST_CASE("a pointwise kernel as CUDA C++", "[inductor][cuda]") {
    Context context;
    Graph g = parse(context, R"(graph(%0: float32[s0, 512], %1: float32[512]) {
        %2: float32[s0, 512] = add(%0, %1)
        %3: float32[s0, 512] = relu(%2)
        return %3
    })");
    FragmentSpec spec;
    spec.graph = &g;
    Tensor x = tensor::empty(context, {64, 512}, DType::Float32), b = tensor::empty(context, {512}, DType::Float32);
    spec.layouts = {x.layout_class(), b.layout_class()};
    Lowered lowered = lower(spec);
    REQUIRE(lowered.plan.steps.size() == 1);
    cuda::Launch launch;
    CHECK(cuda::print(lowered.plan.steps[0].kernel, "add_relu", launch) ==
          R"(extern "C" __global__ void __launch_bounds__(256) add_relu(const float* __restrict__ b0, const float* __restrict__ b1, float* __restrict__ b2, const i64 n0, Error* error) {
    const i64 total = 512ll * n0;
    const bool packed = aligned<4>(b0) && aligned<4>(b1) && aligned<4>(b2);
    const i64 whole = packed ? total / 4 * 4 : 0;
    for (i64 t = (blockIdx.x * 256ll + threadIdx.x) * 4; t < whole; t += gridDim.x * 1024ll) {
        const i64 a1 = t % (512ll);
        const i64 q1 = t / (512ll);
        const i64 a0 = q1;
        const auto x0 = *reinterpret_cast<const Pack<float, 4>*>(b0 + (512ll * a0 + a1));
        const auto x1 = *reinterpret_cast<const Pack<float, 4>*>(b1 + (a1));
        Pack<float, 4> y0;
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
            const i64 i0 = a0;
            const i64 i1 = a1 + lane;
            const float v0 = x0.at[lane];
            const float v1 = x1.at[lane];
            const float v2 = plus(v0, v1);
            const float v3 = larger(v2, float(0));
            y0.at[lane] = v3;
        }
        *reinterpret_cast<Pack<float, 4>*>(b2 + (512ll * a0 + a1)) = y0;
    }
    #pragma unroll 1
    for (i64 t = whole + blockIdx.x * 256ll + threadIdx.x; t < total; t += gridDim.x * 256ll) {
        const i64 i1 = t % (512ll);
        const i64 q1 = t / (512ll);
        const i64 i0 = q1;
        const float v0 = b0[512ll * i0 + i1];
        const float v1 = b1[i1];
        const float v2 = plus(v0, v1);
        const float v3 = larger(v2, float(0));
        b2[512ll * i0 + i1] = v3;
    }
}
)");
    CHECK(launch.points_per_block == 1024);
}

namespace {

// For sm_80 and sm_90, side by side. Without a compiler there is nothing to see.
void check_that_they_compile(const std::vector<std::string>& programs, bool only_to_see) {
    std::string looked_for;
    const cuda::Nvrtc* nvrtc = cuda::Nvrtc::find(&looked_for);
    if (!nvrtc) {
        WARN("skipped: there is no NVRTC here (looked for " << looked_for << ")");
        return;
    }
    std::atomic<size_t> next{0};
    auto work = [&] {
        std::string problems;
        for (size_t i; (i = next++) < 2 * programs.size();) {
            try {
                nvrtc->compile(programs[i / 2], i % 2 ? "sm_90" : "sm_80", only_to_see);
            } catch (const tensor::Error& error) {
                problems += error.what();
            }
        }
        return problems;
    };
    std::vector<std::future<std::string>> workers;
    for (size_t i = 0; i < cuda::compilers_at_once(); ++i) workers.push_back(std::async(std::launch::async, work));
    for (auto& worker : workers) CHECK(worker.get() == "");
}

}  // namespace

TEST_CASE("every kernel of the corpus compiles for sm_80 and sm_90", "[inductor][cuda]") {
    Corpus corpus;
    for (const char* text : {kSoftmax, kColumns, kShort}) add_text(corpus, text);
    add_operators(corpus);
    CHECK(corpus.size() > 100);
    check_that_they_compile({corpus.program()}, false);
}

TEST_CASE("kernels that store at computed places compile for sm_80 and sm_90", "[inductor][cuda]") {
    std::vector<std::string> programs = {cuda::sort_program()};
    for (int d = 0; d < tensor::kDTypeCount; ++d) {
        programs.push_back(cuda::prelude() + cuda::store_program(static_cast<DType>(d), d % 2));
        if (d % 2 == 0) programs.push_back(cuda::prelude() + cuda::store_program(static_cast<DType>(d), true));
    }
    check_that_they_compile(programs, true);
}

// Not by itself: for tests/run.py, once scripts have run on an emulated GPU that kept what it was given.
TEST_CASE("every kernel of the scripts compiles for sm_80 and sm_90", "[.][collected]") {
    const char* folder = std::getenv("TALC_CUDA_SOURCES");
    REQUIRE(folder);
    constexpr size_t kTogether = 40;  // in one program
    std::vector<std::string> programs;
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".cu") continue;
        std::ifstream file(entry.path());
        std::string text(std::istreambuf_iterator<char>(file), {});
        size_t name = text.find(" kernel(");
        REQUIRE(name != std::string::npos);
        text.insert(name + 7, std::to_string(count));
        if (count++ % kTogether == 0) programs.push_back(cuda::prelude());
        programs.back() += text;
    }
    std::printf("%zu kernels\n", count);
    CHECK(count > 0);
    check_that_they_compile(programs, true);
}

TEST_CASE("numbers that are handed over do not narrow a kernel's accesses", "[inductor][cuda]") {
    Context context;
    Graph g = parse(context, R"(graph(%0: float32[4096], %1: float64[] number) {
        %2: float32[4096] = mul(%0, %1)
        return %2
    })");
    FragmentSpec spec;
    spec.graph = &g;
    Tensor x = tensor::empty(context, {4096}, DType::Float32), k = tensor::number(context, Scalar(0.5));
    spec.layouts = {x.layout_class(), k.layout_class()};
    Lowered lowered = lower(spec);
    REQUIRE(lowered.plan.steps.size() == 1);
    cuda::Launch launch;
    std::string text = cuda::print(lowered.plan.steps[0].kernel, "scale", launch, {false, true, false});
    CHECK(text.find("Pack<float, 4>") != std::string::npos);
    CHECK(launch.points_per_block == 1024);
}

TEST_CASE("kernels are shared among compilers, the heaviest apart", "[inductor][cuda]") {
    using Shares = std::vector<std::vector<size_t>>;
    std::vector<size_t> weights = {100, 10, 90, 20, 15};
    CHECK(cuda::shares_of(weights, 1) == Shares{{0, 1, 2, 3, 4}});
    CHECK(cuda::shares_of(weights, 2) == Shares{{0, 4}, {1, 2, 3}});
    CHECK(cuda::shares_of(weights, 8) == Shares{{0}, {2}, {3}, {4}, {1}});
    CHECK(cuda::shares_of({}, 4).empty());
}

TEST_CASE("programs are compiled at the same time and kept", "[inductor][cuda]") {
    if (!cuda::Nvrtc::find()) {
        WARN("skipped: there is no NVRTC here");
        return;
    }
    std::string folder = (std::filesystem::temp_directory_path() / ("talc_cubins_test_" + std::to_string(getpid()))).string();
    cuda::Cubins cubins("sm_90", talc::DiskCache(folder));
    auto program = [](int number) {
        return "extern \"C\" __global__ void k(int* p) { *p = " + std::to_string(number) + "; }";
    };
    std::vector<std::string> programs = {program(1), program(2), program(3)};
    auto first = cubins.of(programs);
    REQUIRE(first.size() == 3);
    for (const auto& cubin : first) CHECK_FALSE(cubin.from_file);
    CHECK(first[0].code != first[1].code);
    programs.push_back(program(4));
    auto second = cubins.of(programs);
    for (size_t i = 0; i < 3; ++i) {
        CHECK(second[i].from_file);
        CHECK(second[i].code == first[i].code);
    }
    CHECK_FALSE(second[3].from_file);
    CHECK(cubins.again(programs[0]) == first[0].code);
    programs.push_back("no program");
    CHECK_THROWS_AS(cubins.of(programs), tensor::Error);
    std::filesystem::remove_all(folder);
}
