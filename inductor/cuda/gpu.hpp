#pragma once
// A GPU as the rest of this folder uses it: memory, copies, kernels and products in the order of one stream, and recorded
// sequences of them. CudaGpu does it through the driver; EmulatedGpu runs the same calls on the CPU, so that all that
// decides what is called with which addresses is tested where there is no GPU. All functions are thread-safe.
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "inductor/cuda/printer.hpp"
#include "inductor/cuda/scatter.hpp"
#include "tensor/dtype.hpp"
#include "tensor/error.hpp"

namespace talc::inductor::cuda {

// Something that the GPU, its driver or one of its libraries refuses to do. Who knows the operator adds its name.
class GpuError : public tensor::Error {
  public:
    using Error::Error;
};

// A kernel with its code, once loaded. Lives as long as its GPU.
struct KernelCode {
    loops::Kernel kernel;
    std::vector<bool> by_value;  // buffers of one element that are handed over themselves
    Launch launch;
    void* function = nullptr;    // whatever the GPU makes of it
};

// One product in terms of column-major matrices: c (m x n) = a (m x k, or its transpose) * b. Addresses may be offsets
// from where the operands begin, in bytes.
struct MatmulCall {
    tensor::DType dtype = tensor::DType::Float32;
    bool transpose_a = false, transpose_b = false;
    int64_t m = 0, n = 0, k = 0;
    int64_t leading_a = 0, leading_b = 0, leading_c = 0;
    int64_t batch = 1, stride_a = 0, stride_b = 0, stride_c = 0;  // in elements
    uint64_t a = 0, b = 0, c = 0;

    friend bool operator==(const MatmulCall&, const MatmulCall&) = default;
};

// Blocks of a launch: over points, and over parts of a row.
struct Grid {
    unsigned blocks = 0, parts = 1;

    friend bool operator==(Grid, Grid) = default;
};
// For so many points, with rows of such a length.
Grid grid_of(const Launch& launch, int64_t points, int64_t length);

// Launches one after the other. A kernel's words are its buffers (addresses, or the element itself), its sizes, the
// address of its error word and, of a fold in parts, those of the scratch.
struct CallList {
    struct Call {
        const KernelCode* kernel;  // null: a product
        Grid grid;
        size_t first = 0;          // of its words, or its number in `products`

        friend bool operator==(const Call&, const Call&) = default;
    };
    std::vector<Call> calls;
    std::vector<uint64_t> words;
    std::vector<MatmulCall> products;

    void clear();
    void add(const KernelCode& kernel, Grid grid, std::span<const uint64_t> own);
    void add(const MatmulCall& product);
    // The same but for words of kernels.
    bool same_shape(const CallList& other) const { return calls == other.calls && products == other.products; }
};
size_t word_count(const KernelCode& kernel);  // but for those of a mirror, which are the GPU's own affair

// A recorded list that is started as one.
class GpuGraph {
  public:
    virtual ~GpuGraph() = default;
    // New words for a kernel's call.
    virtual void update(size_t call, const uint64_t* words) = 0;
    virtual void launch() = 0;
};

class Gpu {
  public:
    virtual ~Gpu() = default;
    virtual const std::string& name() const = 0;

    // Null when there is none left. Aligned to 256 bytes at least.
    virtual void* allocate(size_t bytes) = 0;
    virtual void release(void* data) = 0;
    // In the order of the stream. The host's memory may be reused at once.
    virtual void copy_to_device(void* to, const void* from, size_t bytes) = 0;
    // Waits.
    virtual void copy_to_host(void* to, const void* from, size_t bytes) = 0;
    virtual void copy_within(void* to, const void* from, size_t bytes) = 0;
    virtual void set_zero(void* data, size_t bytes) = 0;
    virtual void synchronize() = 0;
    // Memory that kernels write and the host reads after synchronising; never freed.
    virtual ErrorWord* error_words(size_t count) = 0;

    // Makes code for all of them, in a few programs compiled at the same time. Fails with a tensor::Error that carries the compiler's messages.
    virtual void load(std::span<KernelCode* const> kernels) = 0;
    virtual void launch(const KernelCode& kernel, Grid grid, const uint64_t* words) = 0;
    // Addresses of the words that folds in parts take besides.
    virtual std::array<uint64_t, 2> scratch() = 0;
    virtual void multiply(const MatmulCall& product) = 0;
    virtual void scatter(const ScatterCall& call) = 0;
    virtual std::unique_ptr<GpuGraph> record(const CallList& calls) = 0;
    void play(const CallList& calls);
};

// Number of GPUs, and one of them; fail with what was looked for when there is none.
size_t driver_device_count(std::string* why_none);
std::unique_ptr<Gpu> make_cuda_gpu(int index);
std::unique_ptr<Gpu> make_emulated_gpu();

}  // namespace talc::inductor::cuda
