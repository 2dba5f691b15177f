// A GPU made of the CPU: for tests where there is none (TALC_CUDA=emulated). Its memory may be touched by the calls of this
// file alone, as a GPU's; kernels are compiled for the CPU from the same loops, and printed as CUDA on the way.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "base/disk_cache.hpp"
#include "inductor/cpu/code.hpp"
#include "inductor/cuda/gpu.hpp"
#include "tensor/convert.hpp"
#include "tensor/eager.hpp"
#include "tensor/factory.hpp"
#include "tensor/gemm.hpp"

namespace talc::inductor::cuda {

using tensor::DType;
using tensor::Tensor;

namespace {

constexpr size_t kMemory = size_t{2} << 30;

class EmulatedGpu final : public Gpu {
  public:
    const std::string& name() const override { return name_; }

    void* allocate(size_t bytes) override {
        std::lock_guard lock(mutex_);
        if (used_ + bytes > kMemory) return nullptr;
        void* data = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (data == MAP_FAILED) return nullptr;
        used_ += bytes;
        chunks_[data] = bytes;
        return data;
    }
    void release(void* data) override {
        std::lock_guard lock(mutex_);
        used_ -= chunks_.at(data);
        munmap(data, chunks_.at(data));
        chunks_.erase(data);
    }
    void copy_to_device(void* to, const void* from, size_t bytes) override {
        Opened opened(*this);
        std::memcpy(to, from, bytes);
    }
    void copy_to_host(void* to, const void* from, size_t bytes) override {
        Opened opened(*this);
        std::memcpy(to, from, bytes);
    }
    void copy_within(void* to, const void* from, size_t bytes) override {
        Opened opened(*this);
        std::memmove(to, from, bytes);
    }
    void set_zero(void* data, size_t bytes) override {
        Opened opened(*this);
        std::memset(data, 0, bytes);
    }
    void synchronize() override {}
    ErrorWord* error_words(size_t count) override { return new ErrorWord[count]; }  // never freed, as a GPU's

    void load(std::span<KernelCode* const> kernels) override {
        for (KernelCode* each : kernels) {
            KernelCode& code = *each;
            std::string text = print(code.kernel, "kernel", code.launch, code.by_value);
            keep(text);
            code.function = const_cast<cpu::Code*>(&cpu::compile(code.kernel));
        }
    }

    std::array<uint64_t, 2> scratch() override { return {0, 0}; }  // rows are folded whole
    void launch(const KernelCode& code, Grid, const uint64_t* words) override {
        const auto& native = *static_cast<const cpu::Code*>(code.function);
        size_t buffers = code.kernel.buffers.size(), sizes = code.kernel.params.size();
        std::vector<void*> pointers(buffers + 1);
        for (size_t b = 0; b < buffers; ++b) {
            pointers[b] = code.by_value[b] ? const_cast<uint64_t*>(words + b) : reinterpret_cast<void*>(words[b]);
        }
        std::vector<int64_t> params(words + buffers, words + buffers + sizes);
        auto inside = [&](loops::Dim size) { return evaluate(size, [&](uint32_t n) { return params[n]; }); };
        for (loops::Dim size : code.kernel.parallel) {
            if (inside(size) == 0) return;
        }
        cpu::ErrorWord error;
        {
            Opened opened(*this);
            if (native.finish) {
                std::vector<int64_t> slots(native.cells);
                pointers[buffers] = slots.data();
                native.function(params.data(), pointers.data(), 0, inside(code.kernel.folded[0]), &error);
                if (!error.code) native.finish(params.data(), pointers.data(), 0, 1, &error);
            } else {
                int64_t count = code.kernel.parallel.empty() ? 1 : inside(code.kernel.parallel[0]);
                native.function(params.data(), pointers.data(), 0, count, &error);
            }
        }
        auto* word = reinterpret_cast<ErrorWord*>(words[buffers + sizes]);
        if (error.code && word && !word->code) *word = {error.code, error.value, error.size};
    }

    void multiply(const MatmulCall& call) override {
        Opened opened(*this);
        if (call.dtype == DType::Float64) return product<double>(call);
        if (call.dtype == DType::Float32) return product<float>(call);
        short_product(call);
    }

    void scatter(const ScatterCall& call) override {
        Opened opened(*this);
        tensor::Context plain;
        auto tensor_at = [&](uint64_t address, int64_t rows, int64_t inner, DType dtype) {
            Tensor made = tensor::empty(plain, {rows, inner}, dtype);
            std::memcpy(made.data(), reinterpret_cast<void*>(address), static_cast<size_t>(rows * inner) * size_of(dtype));
            return made;
        };
        Tensor out = tensor_at(call.out, call.place_count, call.inner, call.dtype);
        Tensor values = tensor_at(call.values, call.rows, call.inner, call.dtype);
        Tensor places = tensor_at(call.places, call.rows, 1, DType::Int64).alias({call.rows}, {1}, 0);
        Tensor operands[] = {out, values, places};
        tensor::Attrs attrs;
        attrs.dims = {0};
        attrs.mode = call.adds;
        Tensor made = tensor::run(plain, tensor::Op::IndexPut, operands, attrs);
        std::memcpy(reinterpret_cast<void*>(call.out), made.data(), static_cast<size_t>(made.numel()) * size_of(call.dtype));
    }

    std::unique_ptr<GpuGraph> record(const CallList& calls) override { return std::make_unique<Recorded>(*this, calls); }

  private:
    // Every kernel that tests have made, for a compiler of CUDA to try: one file each in the folder TALC_CUDA_SOURCES.
    static void keep(const std::string& text) {
        static const char* folder = std::getenv("TALC_CUDA_SOURCES");
        if (folder) DiskCache(folder).write(text, "cu", text);
    }

    class Recorded final : public GpuGraph {
      public:
        Recorded(EmulatedGpu& gpu, const CallList& calls) : gpu_(gpu), calls_(calls) {}
        void update(size_t call, const uint64_t* words) override {
            const CallList::Call& own = calls_.calls[call];
            std::copy(words, words + word_count(*own.kernel), calls_.words.begin() + static_cast<int64_t>(own.first));
        }
        void launch() override { gpu_.play(calls_); }

      private:
        EmulatedGpu& gpu_;
        CallList calls_;
    };

    // Memory is open while one of these lives; threads take turns.
    class Opened {
      public:
        explicit Opened(EmulatedGpu& gpu) : gpu_(gpu), lock_(gpu.mutex_) { set(PROT_READ | PROT_WRITE); }
        ~Opened() { set(PROT_NONE); }

      private:
        void set(int protection) {
            for (auto [data, bytes] : gpu_.chunks_) mprotect(data, bytes, protection);
        }
        EmulatedGpu& gpu_;
        std::lock_guard<std::mutex> lock_;
    };

    // Column-major, so rows are one apart.
    template <class T>
    static void product(const MatmulCall& call) {
        tensor::Context plain;
        for (int64_t i = 0; i < call.batch; ++i) {
            const T* a = reinterpret_cast<const T*>(call.a) + i * call.stride_a;
            const T* b = reinterpret_cast<const T*>(call.b) + i * call.stride_b;
            T* c = reinterpret_cast<T*>(call.c) + i * call.stride_c;
            tensor::gemm<T>(plain, call.m, call.n, call.k,
                            {a, call.transpose_a ? call.leading_a : 1, call.transpose_a ? 1 : call.leading_a},
                            {b, call.transpose_b ? call.leading_b : 1, call.transpose_b ? 1 : call.leading_b},
                            {c, 1, call.leading_c});
        }
    }

    // The 16-bit floats, plainly.
    static void short_product(const MatmulCall& call) {
        auto element = [&](uint64_t base, int64_t at) {
            float value;
            tensor::convert_row(call.dtype, reinterpret_cast<const uint16_t*>(base) + at, 0, DType::Float32, &value, 1, 1);
            return value;
        };
        for (int64_t i = 0; i < call.batch; ++i) {
            for (int64_t r = 0; r < call.m; ++r) {
                for (int64_t c = 0; c < call.n; ++c) {
                    float sum = 0;
                    for (int64_t k = 0; k < call.k; ++k) {
                        int64_t a = call.transpose_a ? r * call.leading_a + k : k * call.leading_a + r;
                        int64_t b = call.transpose_b ? k * call.leading_b + c : c * call.leading_b + k;
                        sum += element(call.a, i * call.stride_a + a) * element(call.b, i * call.stride_b + b);
                    }
                    auto* to = reinterpret_cast<uint16_t*>(call.c) + i * call.stride_c + c * call.leading_c + r;
                    tensor::convert_row(DType::Float32, &sum, 0, call.dtype, to, 1, 1);
                }
            }
        }
    }

    std::string name_ = "an emulated GPU";
    std::mutex mutex_;
    std::map<void*, size_t> chunks_;
    size_t used_ = 0;
};

}  // namespace

std::unique_ptr<Gpu> make_emulated_gpu() { return std::make_unique<EmulatedGpu>(); }

}  // namespace talc::inductor::cuda
