// Tensors on a GPU: memory, transfers, operators one by one and compiled fragments. Where there is no GPU it is emulated
// on the CPU, with memory that nobody else can touch.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "base/disk_cache.hpp"
#include "graph/text.hpp"
#include "inductor/cuda/nvrtc.hpp"
#include "inductor/cuda/room.hpp"
#include "tensor/eager.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "tensor/transfer.hpp"
#include "tensor/views.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/inductor/compare.hpp"
#include "tests/unit/tensor/samples.hpp"

using namespace talc::graph;
using namespace talc::inductor;
using talc::inductor::testing::difference;
using talc::inductor::testing::spec_for;
using talc::inductor::testing::Tolerance;
using talc::tensor::Context;
using talc::tensor::Kind;
using talc::tensor::Tensor;
namespace tensor = talc::tensor;

namespace {

constexpr tensor::Device kGpu{tensor::DeviceType::Cuda, 0};

cuda::Room& gpu_room() {
    static const bool chosen = [] {
        setenv("TALC_CUDA", "any", 1);
        return true;
    }();
    (void)chosen;
    return cuda::room_of(kGpu);
}

Context gpu_context() {
    gpu_room();
    Context context;
    context.find_device = cuda_device;
    return context;
}

// As for compiled CPU code, with room for the GPU's own exp, log and the like.
Tolerance tolerance_for(Op op, DType dtype) {
    Tolerance t{4, 1e-7};
    Kind kind = tensor::info(op).kind;
    if (kind == Kind::Reduction) t = {8, 1e-6};
    if (op == Op::Prod) t.ulps = 64;
    if (kind == Kind::Contraction || kind == Kind::Index) t = {64, dtype == DType::Float64 ? 1e-13 : 1e-5};
    if (op == Op::Gelu || op == Op::Pow) t = {8, 1e-6};
    if (kind == Kind::Random || kind == Kind::View || op == Op::Clone) t = {0, 0};
    if (dtype == DType::Float16 || dtype == DType::BFloat16) t.absolute = std::max(t.absolute, 2e-3);
    return t;
}

Tensor on_gpu(Context& context, const Tensor& x) {
    if (x.is_weak()) return x;
    Tensor there = tensor::to_device(context, x, kGpu);
    if (there.strides() == x.strides() || x.numel() == 0 || x.storage().bytes() == 0) return there;
    // The same view of the whole storage.
    int64_t count = static_cast<int64_t>(x.storage().bytes() / tensor::size_of(x.dtype()));
    Tensor whole = tensor::to_device(context, x.alias({count}, {1}, 0), kGpu);
    return whole.alias(x.sizes(), x.strides(), x.offset());
}

}  // namespace

TEST_CASE("a GPU's memory is kept, cut and joined", "[gpu]") {
    cuda::Room& room = gpu_room();
    cuda::CachingMemory memory(*room.gpu);
    void* a = memory.allocate(1000);
    void* b = memory.allocate(0);
    REQUIRE(a);
    REQUIRE(b);
    CHECK(reinterpret_cast<uintptr_t>(a) % 256 == 0);
    CHECK(memory.counts().allocated == 1024 + 512);
    size_t reserved = memory.counts().reserved;
    memory.deallocate(a, 1000);
    CHECK(memory.allocate(900) == a);
    memory.deallocate(a, 900);
    memory.deallocate(b, 0);
    CHECK(memory.allocate(1536) == a);  // joined again
    memory.deallocate(a, 1536);
    CHECK(memory.counts().reserved == reserved);
    void* large = memory.allocate(size_t{40} << 20);
    REQUIRE(large);
    memory.deallocate(large, 0);
    CHECK(memory.counts().allocated == 0);
    memory.release_unused();
    CHECK(memory.counts().reserved == 0);
    CHECK(memory.allocate(size_t{1} << 45) == nullptr);
}

TEST_CASE("what is kept goes back to a GPU that has no memory left", "[gpu]") {
    auto gpu = cuda::make_emulated_gpu();  // with 2 GiB, that nobody else uses
    cuda::CachingMemory memory(*gpu);
    constexpr size_t kPart = size_t{512} << 20;
    std::vector<void*> parts;
    while (void* part = memory.allocate(kPart)) parts.push_back(part);
    CHECK(parts.size() == 4);
    for (void* part : parts) memory.deallocate(part, kPart);
    CHECK(memory.counts().reserved == 4 * kPart);
    void* large = memory.allocate(3 * kPart);
    CHECK(large);
    CHECK(memory.counts().reserved == 3 * kPart);
}

TEST_CASE("tensors travel to a GPU and back", "[gpu]") {
    Context context = gpu_context();
    std::vector<double> values(3 * 5 * 7);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) * 0.5;
    Tensor x = tensor::from_values(context, values, {3, 5, 7});
    Tensor there = tensor::to_device(context, x, kGpu);
    CHECK(there.device() == kGpu);
    CHECK(difference(tensor::to_device(context, there, {}), x, {0, 0}) == "");
    Tensor turned = tensor::permute_view(there, {2, 0, 1});
    CHECK(difference(tensor::on_host(turned), tensor::permute_view(x, {2, 0, 1}), {0, 0}) == "");
    CHECK(tensor::element_at(turned, 8).f == tensor::element_at(tensor::permute_view(x, {2, 0, 1}), 8).f);
    std::vector<double> many(3 << 20, 1.25);
    Tensor big = tensor::from_values(context, many, {3 << 20}, DType::Float64);
    CHECK(tensor::equal(tensor::to_device(context, big, kGpu), big));
    CHECK_THROWS_AS(tensor::to_device(context, x, tensor::Device{tensor::DeviceType::Cuda, 15}), tensor::Error);
    Tensor pair[] = {x, there};
    CHECK_THROWS_WITH(tensor::run(context, Op::Add, pair),
                      "Expected all tensors to be on the same device, but found at least two devices, cpu and cuda:0!");
}

TEST_CASE("out of memory on a GPU is an error, and nothing is lost", "[gpu]") {
    Context context = gpu_context();
    try {
        tensor::empty(context, {int64_t{1} << 42}, DType::Float32, kGpu);
        FAIL("that much memory");
    } catch (const tensor::Error& error) {
        CHECK(error.kind() == tensor::ErrorKind::Memory);
    }
    Tensor x = tensor::to_device(context, tensor::number(context, Scalar(2.0)), kGpu);
    CHECK(tensor::item(x).f == 2.0);
}

namespace {

// Where kernels are compiled for the first time they take most of the time: several tests, which may run side by side.
constexpr int kParts = 6;

void check_operators(int part) {
    Context context = gpu_context();
    tensor::samples::Sampler sampler(context, 20261116 + static_cast<uint32_t>(part));
    int rounds = 3;
    for (int number = part; number < tensor::kOpCount; number += kParts) {
        Op op = static_cast<Op>(number);
        uint64_t on_host = gpu_room().ops.host_runs(op);
        Kind kind = tensor::info(op).kind;
        if (kind == Kind::Leaf || kind == Kind::Write) continue;
        for (int d = 0; d < tensor::kDTypeCount; ++d) {
            DType dtype = static_cast<DType>(d);
            bool common = dtype == DType::Float32 || dtype == DType::Int64;
            for (int round = common ? 0 : rounds - 1; round < rounds; ++round) {
                tensor::samples::Call call{op, {}, {}};
                std::vector<Tensor> wanted(tensor::info(op).outputs), got(tensor::info(op).outputs), there;
                std::string refusal, problem;
                try {
                    call = sampler.call(op, dtype);
                    run_reference(context, op, call.inputs, call.attrs, wanted);
                } catch (const tensor::Error& error) {
                    refusal = error.what();
                }
                if (call.inputs.empty() && !refusal.empty()) continue;
                for (const Tensor& input : call.inputs) there.push_back(on_gpu(context, input));
                tensor::Attrs attrs = call.attrs;
                if (tensor::info(op).attrs & tensor::attr::OnDevice) attrs.device = kGpu;
                try {
                    run(context, op, there, attrs, got);
                    if (!refusal.empty()) problem = "no error, but the reference fails with: " + refusal;
                } catch (const tensor::Error& error) {
                    if (refusal.empty()) problem = std::string("failed: ") + error.what();
                    if (!refusal.empty()) continue;
                }
                // Where there is nothing to do the CPU may do it.
                for (const Tensor& input : call.inputs) {
                    if (input.numel() == 0) on_host = gpu_room().ops.host_runs(op);
                }
                for (size_t o = 0; o < got.size() && problem.empty(); ++o) {
                    problem = difference(tensor::on_host(got[o]), wanted[o], tolerance_for(op, dtype));
                }
                std::string operands;
                for (const Tensor& input : call.inputs) {
                    operands += std::string(name_of(input.dtype())) + tensor::bracketed(input.sizes()) + "/" + tensor::bracketed(input.strides()) + " ";
                }
                INFO(name_of(op) << " of " << operands);
                CHECK(problem == "");
            }
        }
        INFO(name_of(op));
        CHECK(gpu_room().ops.host_runs(op) == on_host);
    }
}

}  // namespace

TEST_CASE("every operator on a GPU gives what the reference gives, 1", "[gpu]") { check_operators(0); }
TEST_CASE("every operator on a GPU gives what the reference gives, 2", "[gpu]") { check_operators(1); }
TEST_CASE("every operator on a GPU gives what the reference gives, 3", "[gpu]") { check_operators(2); }
TEST_CASE("every operator on a GPU gives what the reference gives, 4", "[gpu]") { check_operators(3); }
TEST_CASE("every operator on a GPU gives what the reference gives, 5", "[gpu]") { check_operators(4); }
TEST_CASE("every operator on a GPU gives what the reference gives, 6", "[gpu]") { check_operators(5); }

TEST_CASE("stores at computed places on a GPU come in the CPU's order", "[gpu]") {
    Context context = gpu_context();
    std::mt19937 random(11);
    auto some = [&](int64_t count, double scale) {
        std::vector<double> values;
        for (int64_t i = 0; i < count; ++i) values.push_back(scale * std::sin(0.37 * static_cast<double>(i)));
        return values;
    };
    // Few and many rows (a block sorts 2048), of one element and of several, at places that many of them share.
    for (auto [rows, places, inner] : {std::array<int64_t, 3>{5, 3, 1}, {300, 40, 7}, {5000, 11, 3}, {70000, 5000, 1}, {9000, 1, 2}}) {
        std::vector<int64_t> where;
        for (int64_t i = 0; i < rows; ++i) where.push_back(static_cast<int64_t>(random() % static_cast<unsigned>(places)));
        if (rows > 5) where[3] = -1;
        Tensor index = tensor::from_values(context, std::span<const int64_t>(where), {rows});
        for (DType dtype : {DType::Float32, DType::Float16, DType::Int64, DType::Bool}) {
            Tensor x = tensor::from_values(context, some(places * inner, 3), {places, inner}, dtype);
            Tensor values = tensor::from_values(context, some(rows * inner, 100), {rows, inner}, dtype);
            for (bool adds : {false, true}) {
                tensor::Attrs attrs;
                attrs.dims = {0};
                attrs.mode = adds;
                Tensor here[] = {x, values, index};
                Tensor there[] = {on_gpu(context, x), on_gpu(context, values), on_gpu(context, index)};
                Tensor wanted = tensor::run(context, Op::IndexPut, here, attrs), got = tensor::run(context, Op::IndexPut, there, attrs);
                INFO(rows << " rows, " << places << " places, " << inner << ", " << name_of(dtype) << (adds ? ", added" : ""));
                CHECK(difference(tensor::on_host(got), wanted, {0, 0}) == "");
            }
        }
    }
    Tensor x = on_gpu(context, tensor::from_values(context, some(6, 1), {6}));
    tensor::Attrs attrs;
    attrs.dims = {0};
    auto put = [&](int64_t at) {
        Tensor operands[] = {x, on_gpu(context, tensor::from_values(context, some(1, 1), {1})),
                             on_gpu(context, tensor::from_values(context, std::vector<int64_t>{at}, {1}))};
        return tensor::run(context, Op::IndexPut, operands, attrs);
    };
    CHECK_THROWS_WITH(put(6), "index 6 is out of bounds for dimension 0 with size 6");
    CHECK(tensor::element_at(put(-6), 0).f == 0.0);
}

TEST_CASE("powers of integers on a GPU, also negative ones", "[gpu]") {
    Context context = gpu_context();
    for (DType dtype : {DType::Int64, DType::Int32, DType::Int8, DType::UInt8, DType::Bool}) {
        Tensor base = tensor::from_values(context, std::vector<int64_t>{0, 1, -1, 2, -3, 7, 2, 3, -1, 5}, {10}, dtype);
        Tensor exponent = tensor::from_values(context, std::vector<int64_t>{0, -5, -3, -1, 3, 30, 62, 100, 63, 1}, {10}, dtype);
        Tensor pair[] = {base, exponent}, there[] = {on_gpu(context, base), on_gpu(context, exponent)};
        INFO(name_of(dtype));
        CHECK(difference(tensor::on_host(tensor::run(context, Op::Pow, there)), tensor::run(context, Op::Pow, pair), {0, 0}) == "");
    }
    Tensor base = on_gpu(context, tensor::from_values(context, std::vector<int64_t>{2, 3}, {2}));
    Tensor squared[] = {base, tensor::number(context, Scalar(40))}, refused[] = {base, tensor::number(context, Scalar(-1))};
    CHECK(tensor::element_at(tensor::run(context, Op::Pow, squared), 0).i == int64_t{1} << 40);
    CHECK_THROWS_WITH(tensor::run(context, Op::Pow, refused), "Integers to negative integer powers are not allowed.");
}

TEST_CASE("operators on a GPU write into what exists", "[gpu]") {
    Context context = gpu_context();
    Tensor x = tensor::from_values(context, std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3});
    Tensor there = tensor::to_device(context, x, kGpu);
    Tensor turned = tensor::permute_view(there, {1, 0}), turned_x = tensor::permute_view(x, {1, 0});
    auto both = [&](Op op, std::vector<Tensor> on_cpu, const Tensor& cpu_target, std::vector<Tensor> on_device, const Tensor& target) {
        run_into(context, op, on_cpu, {}, cpu_target);
        run_into(context, op, on_device, {}, target);
        CHECK(difference(tensor::on_host(there), x, {2, 0}) == "");
    };
    Tensor two = tensor::number(context, Scalar(2.5));
    both(Op::Mul, {x, two}, x, {there, two}, there);
    both(Op::Add, {turned_x, two}, turned_x, {turned, two}, turned);
    Tensor column = tensor::slice_view(x, 1, 0, 3, 2), there_column = tensor::slice_view(there, 1, 0, 3, 2);
    both(Op::Sub, {column, two}, column, {there_column, two}, there_column);
    both(Op::Exp, {tensor::run(context, Op::Neg, std::span(&x, 1))}, x, {tensor::run(context, Op::Neg, std::span(&there, 1))}, there);
    tensor::Attrs seven;
    seven.value = Scalar(7);
    run(context, Op::Fill, std::span(&column, 1), seven);
    run(context, Op::Fill, std::span(&there_column, 1), seven);
    CHECK(difference(tensor::on_host(there), x, {2, 0}) == "");
    uint32_t version = there.version();
    both(Op::Add, {x, x}, x, {there, there}, there);
    CHECK(there.version() == version + 1);
}

namespace {

constexpr const char* kStep = R"(graph(%0: float32[8, 16]@cuda:0, %1: float32[16, 4]@cuda:0, %2: float64[] number) {
    %3: float32[8, 4]@cuda:0 = matmul(%0, %1)
    %4: float32[8, 4]@cuda:0 = relu(%3)
    %5: float32[16, 8]@cuda:0 = permute(%0, dims=[1, 0])
    %6: float32[16, 4]@cuda:0 = matmul(%5, %4)
    %7: float32[16, 4]@cuda:0 = mul(%6, %2)
    %8: float32[16, 4]@cuda:0 = sub(%1, %7)
    %9: float32[]@cuda:0 = sum(%4, dims=[0, 1])
    return %8, %9
})";

}  // namespace

TEST_CASE("a fragment on a GPU is replayed with new addresses and numbers", "[gpu]") {
    Context context = gpu_context();
    std::string text = kStep;
    std::string on_cpu = text;
    for (size_t at; (at = on_cpu.find("@cuda:0")) != std::string::npos;) on_cpu.erase(at, 7);
    Graph g = parse(context, text), plain = parse(context, on_cpu);
    auto values = [&](tensor::Dims sizes, double scale) {
        std::vector<double> numbers;
        for (int64_t i = 0; i < tensor::element_count(sizes); ++i) numbers.push_back(std::sin(static_cast<double>(i) * scale));
        return tensor::from_values(context, numbers, sizes);
    };
    for (bool replay : {false, true}) {
        Tensor weight = values({16, 4}, 0.7), weight_there = tensor::to_device(context, weight, kGpu);
        std::unique_ptr<Executable> code;
        std::vector<Tensor> kept;
        for (int round = 0; round < 6; ++round) {
            Tensor x = values({8, 16}, 0.1 * round), x_there = tensor::to_device(context, x, kGpu);
            kept.push_back(x_there);  // another address each time
            Tensor rate = tensor::number(context, Scalar(0.01 * round));
            Tensor here[] = {x, weight, rate}, there[] = {x_there, weight_there, rate};
            if (!code) {
                FragmentSpec spec = spec_for(g, there);
                spec.writes = {{0, 1}};
                spec.replay = replay;
                code = cuda_backend().compile(spec);
                CHECK(code->fallbacks().empty());
            }
            auto wanted = evaluate(plain, context, here, Engine::Reference);
            Tensor results[2];
            code->run(context, there, results);
            if (replay && round > 0) CHECK(code->launches() == 1);
            if (!replay) CHECK(code->launches() > 1);
            CHECK(results[0].is(weight_there));
            CHECK(difference(tensor::on_host(results[0]), wanted[0], {64, 1e-5}) == "");
            CHECK(difference(tensor::on_host(results[1]), wanted[1], {64, 1e-5}) == "");
            weight = wanted[0];
        }
    }
}

TEST_CASE("a fragment on a GPU that fails has written nothing", "[gpu]") {
    Context context = gpu_context();
    Graph g = parse(context, R"(graph(%0: float32[4]@cuda:0, %1: int64[3]@cuda:0) {
    %2: float32[3]@cuda:0 = index_select(%0, %1, dim=0)
    %3: float32[]@cuda:0 = sum(%2, dims=[0])
    %4: float32[4]@cuda:0 = add(%0, %3)
    return %4
})");
    Tensor x = tensor::to_device(context, tensor::from_values(context, std::vector<double>{1, 2, 3, 4}, {4}), kGpu);
    auto index = [&](std::vector<int64_t> places) {
        return tensor::to_device(context, tensor::from_values(context, std::span<const int64_t>(places), {3}), kGpu);
    };
    Tensor good[] = {x, index({0, 1, -1})}, bad[] = {x, index({0, 4, 1})};
    for (bool replay : {false, true}) {
        FragmentSpec spec = spec_for(g, good);
        spec.writes = {{0, 0}};
        spec.replay = replay;
        auto code = cuda_backend().compile(spec);
        double before = tensor::element_at(x, 0).f, sum = before + tensor::element_at(x, 1).f + tensor::element_at(x, 3).f;
        Tensor result;
        CHECK_THROWS_WITH(code->run(context, bad, std::span(&result, 1)),
                          "index 4 is out of bounds for dimension 0 with size 4");
        CHECK(tensor::element_at(x, 0).f == before);
        code->run(context, good, std::span(&result, 1));
        CHECK(tensor::element_at(x, 0).f == before + sum);
    }
}

namespace {

// Does what an emulated one does, until it is told to refuse.
class FailingGpu final : public cuda::Gpu {
  public:
    bool fails = false;

    const std::string& name() const override { return inner_->name(); }
    void* allocate(size_t bytes) override { return inner_->allocate(bytes); }
    void release(void* data) override { inner_->release(data); }
    void copy_to_device(void* to, const void* from, size_t bytes) override { inner_->copy_to_device(to, from, bytes); }
    void copy_to_host(void* to, const void* from, size_t bytes) override { inner_->copy_to_host(to, from, bytes); }
    void copy_within(void* to, const void* from, size_t bytes) override { inner_->copy_within(to, from, bytes); }
    void set_zero(void* data, size_t bytes) override { inner_->set_zero(data, bytes); }
    void synchronize() override { inner_->synchronize(); }
    cuda::ErrorWord* error_words(size_t count) override { return inner_->error_words(count); }
    void load(std::span<cuda::KernelCode* const> kernels) override { inner_->load(kernels); }
    void launch(const cuda::KernelCode& kernel, cuda::Grid grid, const uint64_t* words) override {
        refuse();
        inner_->launch(kernel, grid, words);
    }
    std::array<uint64_t, 2> scratch() override { return inner_->scratch(); }
    void multiply(const cuda::MatmulCall& product) override {
        refuse();
        inner_->multiply(product);
    }
    void scatter(const cuda::ScatterCall& call) override { inner_->scatter(call); }
    std::unique_ptr<cuda::GpuGraph> record(const cuda::CallList& calls) override { return inner_->record(calls); }

  private:
    void refuse() const {
        if (fails) throw cuda::GpuError(tensor::ErrorKind::Runtime, "CUDA, starting a kernel: it is tired");
    }
    std::unique_ptr<cuda::Gpu> inner_ = cuda::make_emulated_gpu();
};

}  // namespace

TEST_CASE("what a GPU refuses to do carries the operator, and the next one may go well", "[gpu]") {
    auto made = std::make_unique<FailingGpu>();
    FailingGpu& gpu = *made;
    auto* room = new cuda::Room(std::move(made), kGpu);  // tensors may outlive the test
    Context context;
    static cuda::Room* found = room;
    context.find_device = [](tensor::Device) { return tensor::DeviceRoom{&found->memory, &found->ops}; };
    Tensor x = tensor::to_device(context, tensor::from_values(context, std::vector<double>{1, 2, 3, 4}, {2, 2}), kGpu);
    Tensor pair[] = {x, x};
    gpu.fails = true;
    CHECK_THROWS_WITH(tensor::run(context, Op::Add, pair), "add: CUDA, starting a kernel: it is tired");
    CHECK_THROWS_WITH(tensor::run(context, Op::Matmul, pair), "matmul: CUDA, starting a kernel: it is tired");
    gpu.fails = false;
    CHECK(tensor::to_doubles(tensor::run(context, Op::Add, pair)) == std::vector<double>{2, 4, 6, 8});
}

TEST_CASE("parts of a fragment for a GPU run on the CPU", "[gpu]") {
    Context context = gpu_context();
    Graph g = parse(context, R"(graph(%0: float32[3], %1: float32[]) {
    %2: float32[3] = mul(%0, %1)
    %3: float32[3]@cuda:0 = to_device(%2, device=cuda:0)
    %4: float32[] = sum(%2, dims=[0])
    %5: float32[3]@cuda:0 = add(%3, %4)
    %6: float32[] = add(%1, %1)
    return %5, %6
})");
    Tensor arguments[] = {tensor::from_values(context, std::vector<double>{1, 2, 3}, {3}),
                          tensor::scalar_tensor(context, Scalar(2.0), DType::Float32)};
    auto code = cuda_backend().compile(spec_for(g, arguments));
    Tensor results[2];
    code->run(context, arguments, results);
    CHECK(results[0].device() == kGpu);
    CHECK(tensor::to_doubles(results[0]) == std::vector<double>{14, 16, 18});
    CHECK(results[1].device() == tensor::Device{});
    CHECK(tensor::item(results[1]).f == 4.0);
}

TEST_CASE("several threads use one GPU", "[gpu]") {
    gpu_room();
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            Context context = gpu_context();
            for (int round = 0; round < 20; ++round) {
                Tensor x = tensor::to_device(context, tensor::from_values(context, std::vector<double>(100, t + round), {100}), kGpu);
                Tensor pair[] = {x, x};
                Tensor sum = tensor::run(context, Op::Sum, std::vector<Tensor>{tensor::run(context, Op::Mul, pair)});
                wrong += tensor::item(sum).f != 100.0 * (t + round) * (t + round);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
}

TEST_CASE("kernels that are given numbers compile", "[gpu]") {
    std::string looked_for;
    const cuda::Nvrtc* nvrtc = cuda::Nvrtc::find(&looked_for);
    if (!nvrtc) {
        WARN("no NVRTC: looked for " << looked_for);
        return;
    }
    std::string program = cuda::prelude();
    size_t count = 0;
    for (const cuda::KernelCode* code : gpu_room().programs.all()) {
        bool numbers = std::find(code->by_value.begin(), code->by_value.end(), true) != code->by_value.end();
        if (!numbers || count == 100) continue;  // each takes tens of milliseconds
        cuda::Launch launch;
        program += cuda::print(code->kernel, "k" + std::to_string(count++), launch, code->by_value);
    }
    std::string problem;
    try {
        nvrtc->compile(program, "sm_90");
    } catch (const tensor::Error& error) {
        problem = error.what();
    }
    CHECK(problem == "");
}

TEST_CASE("what was compiled is kept in files that appear whole", "[gpu]") {
    std::string folder = (std::filesystem::temp_directory_path() / ("talc_cache_test_" + std::to_string(getpid()))).string();
    talc::DiskCache cache(folder);
    CHECK(!cache.read("program", "cubin"));
    cache.write("program", "cubin", std::string("\0code", 5));
    CHECK(cache.read("program", "cubin") == std::string("\0code", 5));
    CHECK(!cache.read("program 2", "cubin"));
    cache.forget("program", "cubin");
    CHECK(!cache.read("program", "cubin"));
    std::filesystem::remove_all(folder);
}
