// A GPU through the CUDA driver.
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>

#include "inductor/cuda/blas.hpp"
#include "inductor/cuda/cubins.hpp"
#include "inductor/cuda/driver.hpp"
#include "inductor/cuda/gpu.hpp"
#include "tensor/error.hpp"

#include <fmt/format.h>

namespace talc::inductor::cuda {

using tensor::fail;

namespace {

// Pinned memory through which copies go, so that they need not wait: parts are given out one after the other, and one is
// used again when the GPU has read it.
class Staging {
  public:
    explicit Staging(const Driver& driver) : driver_(driver) {
        for (Part& part : parts_) {
            driver_.check(driver_.host_allocate(&part.data, kPartBytes, 0), "taking pinned memory");
            driver_.check(driver_.event_create(&part.read, kNoTiming), "making an event");
        }
    }

    void copy_in(uint64_t to, const char* from, size_t bytes, CudaStream stream) {
        while (bytes > 0) {
            if (used_ == kPartBytes) next(stream);
            Part& part = parts_[current_];
            size_t count = std::min(bytes, kPartBytes - used_);
            char* place = static_cast<char*>(part.data) + used_;
            std::memcpy(place, from, count);
            driver_.check(driver_.copy_in(to, place, count, stream), "copying to the GPU");
            used_ = std::min(kPartBytes, (used_ + count + 255) / 256 * 256);
            to += count;
            from += count;
            bytes -= count;
        }
    }

    void copy_out(char* to, uint64_t from, size_t bytes, CudaStream stream) {
        next(stream);  // a whole part of our own
        char* place = static_cast<char*>(parts_[current_].data);
        while (bytes > 0) {
            size_t count = std::min(bytes, kPartBytes);
            driver_.check(driver_.copy_out(place, from, count, stream), "copying from the GPU");
            driver_.check(driver_.stream_synchronize(stream), "waiting for the GPU");
            std::memcpy(to, place, count);
            to += count;
            from += count;
            bytes -= count;
        }
    }

  private:
    static constexpr size_t kPartBytes = size_t{4} << 20;
    static constexpr unsigned kNoTiming = 2;
    struct Part {
        void* data = nullptr;
        CudaEvent read = nullptr;
        bool pending = false;
    };

    void next(CudaStream stream) {
        if (used_ > 0) {
            driver_.check(driver_.event_record(parts_[current_].read, stream), "recording an event");
            parts_[current_].pending = true;
            current_ = (current_ + 1) % std::size(parts_);
        }
        used_ = 0;
        Part& part = parts_[current_];
        if (part.pending) driver_.check(driver_.event_synchronize(part.read), "waiting for the GPU");
        part.pending = false;
    }

    const Driver& driver_;
    Part parts_[4];
    size_t current_ = 0, used_ = 0;
};

// A few bytes to the host without asking the driver to wait: a kernel copies them into memory that both see, and then
// writes a number that the host looks for. Kernels that compute one element do that by themselves (Launch::mirrored).
constexpr const char* kFetchProgram = R"(
extern "C" __global__ void fetch(const unsigned char* from, unsigned char* to, unsigned long long bytes,
                                 volatile unsigned long long* flag, unsigned long long number) {
    if (threadIdx.x < bytes) to[threadIdx.x] = from[threadIdx.x];
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) *flag = number;
}
)";
constexpr size_t kFetchBytes = 64;

class CudaGpu;

class CudaGraphOf final : public GpuGraph {
  public:
    CudaGraphOf(CudaGpu& gpu, const CallList& calls);
    ~CudaGraphOf() override;
    void update(size_t call, const uint64_t* words) override;
    void launch() override;

  private:
    CudaGpu& gpu_;
    std::vector<CallList::Call> calls_;
    std::vector<CudaNode> nodes_;  // of kernels, by call
    CudaGraph graph_ = nullptr;
    CudaExec exec_ = nullptr;
};

// Addresses of a kernel's parameters, as the driver takes them.
class Params {
  public:
    // Nobody looks at the element of a kernel that has one, unless `mirror` and `number` say so.
    Params(const KernelCode& kernel, const uint64_t* words, uint64_t mirror = 0, uint64_t number = 0) : shown_{mirror, number} {
        size_t count = word_count(kernel), shown = kernel.launch.mirrored >= 0 ? 2 : 0;
        if (count + shown > std::size(few_)) many_.resize(count + shown);
        all_ = many_.empty() ? few_ : many_.data();
        for (size_t i = 0; i < count; ++i) all_[i] = const_cast<uint64_t*>(words + i);
        for (size_t i = 0; i < shown; ++i) all_[count + i] = &shown_[i];
    }
    Params(const Params&) = delete;
    void** data() { return all_; }

  private:
    uint64_t shown_[2];
    void* few_[64];
    std::vector<void*> many_;
    void** all_;
};

class CudaGpu final : public Gpu {
  public:
    CudaGpu(const Driver& driver, int index) : driver_(driver) {
        int device = 0;
        driver_.check(driver_.device_get(&device, index), "finding the GPU");
        char name[256] = "";
        driver_.check(driver_.device_name(name, sizeof name, device), "asking the GPU's name");
        name_ = name;
        auto attribute = [&](int which) {
            int value = 0;
            driver_.check(driver_.device_attribute(&value, which, device), "asking about the GPU");
            return value;
        };
        constexpr int kMajor = 75, kMinor = 76;
        cubins_ = std::make_unique<Cubins>(fmt::format("sm_{}{}", attribute(kMajor), attribute(kMinor)));
        driver_.check(driver_.device_memory(&memory_, device), "asking about the GPU");
        driver_.check(driver_.retain_context(&context_, device), "starting the GPU");
        enter();
        constexpr unsigned kNonBlocking = 1;
        driver_.check(driver_.stream_create(&stream_, kNonBlocking), "making a stream");
        driver_.check(driver_.stream_create(&capture_stream_, kNonBlocking), "making a stream");
        staging_ = std::make_unique<Staging>(driver_);
        void* mapped = nullptr;
        driver_.check(driver_.host_allocate(&mapped, sizeof(Mapped), kPortableAndMapped), "taking pinned memory");
        mapped_ = new (mapped) Mapped{};
        constexpr size_t kPartials = kMostPartials * 16, kTickets = kMostPartials * 4;
        auto* data = static_cast<char*>(allocate(kPartials + kTickets));
        if (!data) fail(tensor::ErrorKind::Memory, "out of memory: the GPU has none left to start with");
        set_zero(data, kPartials + kTickets);
        scratch_ = {reinterpret_cast<uint64_t>(data), reinterpret_cast<uint64_t>(data + kPartials)};
    }

    const std::string& name() const override { return name_; }

    void* allocate(size_t bytes) override {
        if (bytes > memory_) return nullptr;  // more than there is at all: the driver need not refuse it
        enter();
        uint64_t data = 0;
        Status status = driver_.memory_allocate(&data, bytes);
        if (status == kOutOfMemory) return nullptr;
        driver_.check(status, "taking memory");
        return reinterpret_cast<void*>(data);
    }
    void release(void* data) override {
        enter();
        driver_.check(driver_.memory_free(reinterpret_cast<uint64_t>(data)), "giving memory back");
    }

    void copy_to_device(void* to, const void* from, size_t bytes) override {
        enter();
        ++operations_;
        std::lock_guard lock(staging_mutex_);
        staging_->copy_in(reinterpret_cast<uint64_t>(to), static_cast<const char*>(from), bytes, stream_);
    }
    void copy_to_host(void* to, const void* from, size_t bytes) override {
        enter();
        std::lock_guard lock(staging_mutex_);
        if (bytes <= kFetchBytes) return fetch(to, reinterpret_cast<uint64_t>(from), bytes);
        staging_->copy_out(static_cast<char*>(to), reinterpret_cast<uint64_t>(from), bytes, stream_);
    }
    void copy_within(void* to, const void* from, size_t bytes) override {
        enter();
        ++operations_;
        driver_.check(driver_.copy_device(reinterpret_cast<uint64_t>(to), reinterpret_cast<uint64_t>(from), bytes, stream_),
                      "copying on the GPU");
    }
    void set_zero(void* data, size_t bytes) override {
        enter();
        ++operations_;
        driver_.check(driver_.set_bytes(reinterpret_cast<uint64_t>(data), 0, bytes, stream_), "clearing memory");
    }
    void synchronize() override {
        enter();
        driver_.check(driver_.stream_synchronize(stream_), "waiting for the GPU");
    }
    ErrorWord* error_words(size_t count) override {
        enter();
        constexpr size_t kPage = 4096;
        std::lock_guard lock(words_mutex_);
        if (words_left_ < count) {
            size_t bytes = std::max(kPage, count * sizeof(ErrorWord));
            void* data = nullptr;
            driver_.check(driver_.host_allocate(&data, bytes, kPortableAndMapped), "taking pinned memory");
            words_ = static_cast<ErrorWord*>(data);
            words_left_ = bytes / sizeof(ErrorWord);
        }
        ErrorWord* given = words_;
        std::fill(given, given + count, ErrorWord{});
        words_ += count;
        words_left_ -= count;
        return given;
    }

    void load(std::span<KernelCode* const> kernels) override {
        std::vector<std::string> texts;
        std::vector<size_t> weights;
        for (size_t i = 0; i < kernels.size(); ++i) {
            KernelCode& code = *kernels[i];
            texts.push_back(print(code.kernel, fmt::format("k{}", i), code.launch, code.by_value));
            weights.push_back(texts.back().size());
        }
        auto shares = shares_of(weights, compilers_at_once());
        std::vector<std::string> programs;
        for (const std::vector<size_t>& share : shares) {
            programs.push_back(prelude());
            for (size_t i : share) programs.back() += texts[i];
        }
        std::vector<CudaModule> modules = load_modules(programs);
        for (size_t m = 0; m < modules.size(); ++m) {
            for (size_t i : shares[m]) {
                CudaFunction function = nullptr;
                driver_.check(driver_.module_function(&function, modules[m], kernels[i]->launch.name.c_str()), "finding a kernel");
                kernels[i]->function = function;
            }
        }
    }

    void launch(const KernelCode& kernel, Grid grid, const uint64_t* words) override {
        enter();
        int mirrored = kernel.launch.mirrored;
        if (mirrored < 0) {
            ++operations_;
            return launch_on(stream_, kernel, grid, words);
        }
        std::lock_guard lock(shown_mutex_);
        shown_ = {words[mirrored], size_of(kernel.kernel.buffers[static_cast<size_t>(mirrored)].dtype), ++operations_, ++shows_};
        launch_on(stream_, kernel, grid, words, reinterpret_cast<uint64_t>(mapped_), shown_.number);
    }
    std::array<uint64_t, 2> scratch() override { return scratch_; }
    void multiply(const MatmulCall& call) override {
        ++operations_;
        multiply_on(stream_, call);
    }
    void scatter(const ScatterCall& call) override {
        enter();
        ++operations_;
        int64_t count = key_count(call.rows), blocks = count / kSortedBlock, pairs = count / 2;
        ScatterKernels kernels = scatter_kernels(call.dtype, call.adds);
        start(kernels.make_keys, count, 256, 256, call.keys, call.places, call.rows, count);
        start(kernels.sort_blocks, blocks, 1, kSortThreads, call.keys);
        for (int64_t run = 2 * kSortedBlock; run <= count; run *= 2) {
            for (int64_t distance = run / 2; distance >= kSortedBlock; distance /= 2) {
                start(kernels.merge, pairs, 256, 256, call.keys, pairs, run, distance);
            }
            start(kernels.merge_blocks, blocks, 1, kSortThreads, call.keys, run);
        }
        start(kernels.store_rows, call.rows * call.inner, 256, 256, call.out, call.values, call.keys, call.rows, call.inner);
    }
    std::unique_ptr<GpuGraph> record(const CallList& calls) override { return std::make_unique<CudaGraphOf>(*this, calls); }

  private:
    friend class CudaGraphOf;
    static constexpr unsigned kPortableAndMapped = 3;

    // The calling thread's driver calls are meant for this GPU.
    void enter() const {
        static thread_local CudaContext current = nullptr;
        if (current == context_) return;
        driver_.check(driver_.set_context(context_), "entering the GPU's context");
        current = context_;
    }

    // Memory that both sides see: the mirror, then what fetch copies and its number.
    struct Mapped {
        uint64_t value, number;
        alignas(64) char fetched[kFetchBytes];
        alignas(64) uint64_t fetch_number;
    };

    void wait_for(const uint64_t& place, uint64_t number) {
        // The driver is asked now and then, in case that something went wrong on the way.
        for (uint64_t spins = 1; __atomic_load_n(&place, __ATOMIC_ACQUIRE) != number; ++spins) {
            if (spins % 65536 != 0) continue;
            Status status = driver_.stream_query(stream_);
            if (status != 0 && status != kNotReady) driver_.check(status, "waiting for the GPU");
        }
    }

    void fetch(void* to, uint64_t from, size_t bytes) {
        {
            std::lock_guard lock(shown_mutex_);
            // The last thing that was started has computed it: it is on its way.
            if (shown_.from == from && shown_.bytes == bytes && shown_.operation == operations_) {
                wait_for(mapped_->number, shown_.number);
                std::memcpy(to, &mapped_->value, bytes);
                return;
            }
        }
        if (!fetch_) {
            driver_.check(driver_.module_function(&fetch_, load_module(kFetchProgram), "fetch"), "finding a kernel");
        }
        uint64_t number = ++fetches_;
        uint64_t words[] = {from, reinterpret_cast<uint64_t>(mapped_->fetched), bytes,
                            reinterpret_cast<uint64_t>(&mapped_->fetch_number), number};
        void* params[] = {&words[0], &words[1], &words[2], &words[3], &words[4]};
        driver_.check(driver_.launch(fetch_, 1, 1, 1, kFetchBytes, 1, 1, 0, stream_, params, nullptr), "starting a kernel");
        wait_for(mapped_->fetch_number, number);
        std::memcpy(to, mapped_->fetched, bytes);
    }

    std::vector<CudaModule> load_modules(std::span<const std::string> programs) {
        std::vector<Cubins::Cubin> cubins = cubins_->of(programs);
        enter();
        std::vector<CudaModule> modules;
        for (size_t i = 0; i < programs.size(); ++i) {
            CudaModule module = nullptr;
            Status status = driver_.module_load(&module, cubins[i].code.data());
            if (status != 0 && cubins[i].from_file) status = driver_.module_load(&module, cubins_->again(programs[i]).data());
            driver_.check(status, "loading kernels");
            modules.push_back(module);
        }
        return modules;
    }
    CudaModule load_module(const std::string& program) { return load_modules(std::span(&program, 1))[0]; }

    static constexpr unsigned kSortThreads = kSortedBlock / 2;
    struct ScatterKernels {
        CudaFunction make_keys = nullptr, sort_blocks = nullptr, merge = nullptr, merge_blocks = nullptr, store_rows = nullptr;
    };
    // Compiled when they are first wanted.
    ScatterKernels scatter_kernels(tensor::DType dtype, bool adds) {
        std::lock_guard lock(scatter_mutex_);
        ScatterKernels& known = scatter_kernels_[static_cast<size_t>(dtype)][adds];
        if (known.store_rows) return known;
        std::string programs[] = {sort_program(), prelude() + store_program(dtype, adds)};
        std::vector<CudaModule> modules = load_modules(programs);
        auto find = [&](CudaFunction& function, CudaModule module, const char* name) {
            driver_.check(driver_.module_function(&function, module, name), "finding a kernel");
        };
        ScatterKernels found;
        find(found.make_keys, modules[0], "make_keys");
        find(found.sort_blocks, modules[0], "sort_blocks");
        find(found.merge, modules[0], "merge");
        find(found.merge_blocks, modules[0], "merge_blocks");
        find(found.store_rows, modules[1], "store_rows");
        return known = found;
    }
    // So many points in a block, of so many threads.
    template <class... Words>
    void start(CudaFunction function, int64_t points, unsigned points_per_block, unsigned threads, Words... words) {
        constexpr int64_t kMostBlocks = int64_t{1} << 30;
        void* params[] = {&words...};
        auto blocks = static_cast<unsigned>(std::min<int64_t>((points + points_per_block - 1) / points_per_block, kMostBlocks));
        driver_.check(driver_.launch(function, blocks, 1, 1, threads, 1, 1, 0, stream_, params, nullptr), "starting a kernel");
    }

    void launch_on(CudaStream stream, const KernelCode& kernel, Grid grid, const uint64_t* words, uint64_t mirror = 0,
                   uint64_t number = 0) {
        enter();
        Params params(kernel, words, mirror, number);
        driver_.check(driver_.launch(static_cast<CudaFunction>(kernel.function), grid.blocks, grid.parts, 1, kernel.launch.threads_x,
                                     kernel.launch.threads_y, 1, 0, stream, params.data(), nullptr),
                      "starting a kernel");
    }

    void multiply_on(CudaStream stream, const MatmulCall& call) {
        enter();
        {
            std::lock_guard lock(blas_mutex_);
            if (!blas_) {
                void* workspace = allocate(Blas::kWorkspaceBytes);
                if (!workspace) fail(tensor::ErrorKind::Memory, "out of memory: no workspace for products of matrices");
                blas_ = std::make_unique<Blas>(workspace);
            }
        }
        blas_->multiply(call, stream);
    }

    const Driver& driver_;
    std::string name_;
    size_t memory_ = 0;  // bytes in all
    CudaContext context_ = nullptr;
    CudaStream stream_ = nullptr;
    CudaStream capture_stream_ = nullptr;  // never runs anything
    std::mutex capture_mutex_;
    std::mutex staging_mutex_;
    std::unique_ptr<Staging> staging_;
    CudaFunction fetch_ = nullptr;
    uint64_t fetches_ = 0;
    Mapped* mapped_ = nullptr;
    // What the mirror shows, or will: an element of the last operation that was given to the stream.
    struct Shown {
        uint64_t from = 0;
        size_t bytes = 0;
        uint64_t operation = 0, number = 0;
    };
    std::mutex shown_mutex_;
    Shown shown_;
    uint64_t shows_ = 0;
    std::atomic<uint64_t> operations_{0};  // that may write to memory
    std::mutex words_mutex_;
    ErrorWord* words_ = nullptr;
    size_t words_left_ = 0;
    std::array<uint64_t, 2> scratch_{};
    std::mutex blas_mutex_;
    std::unique_ptr<Blas> blas_;
    std::unique_ptr<Cubins> cubins_;
    std::mutex scatter_mutex_;
    ScatterKernels scatter_kernels_[tensor::kDTypeCount][2];
};

CudaGraphOf::CudaGraphOf(CudaGpu& gpu, const CallList& list) : gpu_(gpu), calls_(list.calls), nodes_(list.calls.size(), nullptr) {
    const Driver& driver = gpu_.driver_;
    gpu_.enter();
    for (const MatmulCall& product : list.products) {
        if (product.m == 0) fail("an empty product in a recording");
    }
    std::lock_guard lock(gpu_.capture_mutex_);
    CudaStream stream = gpu_.capture_stream_;
    constexpr int kRelaxed = 2;
    driver.check(driver.begin_capture(stream, kRelaxed), "recording launches");
    try {
        for (size_t i = 0; i < calls_.size(); ++i) {
            const CallList::Call& call = calls_[i];
            if (!call.kernel) {
                gpu_.multiply_on(stream, list.products[call.first]);
                continue;
            }
            gpu_.launch_on(stream, *call.kernel, call.grid, list.words.data() + call.first);
            int status = 0;
            uint64_t id = 0;
            CudaGraph graph = nullptr;
            const CudaNode* last = nullptr;
            size_t last_count = 0;
            driver.check(driver.capture_info(stream, &status, &id, &graph, &last, &last_count), "recording launches");
            if (last_count != 1) fail("CUDA, recording launches: {} nodes where there should be one", last_count);
            nodes_[i] = last[0];
        }
    } catch (...) {
        driver.end_capture(stream, &graph_);
        if (graph_) driver.graph_destroy(graph_);
        throw;
    }
    driver.check(driver.end_capture(stream, &graph_), "recording launches");
    driver.check(driver.graph_instantiate(&exec_, graph_, 0), "making a graph of launches");
}

CudaGraphOf::~CudaGraphOf() {
    if (exec_) gpu_.driver_.exec_destroy(exec_);
    if (graph_) gpu_.driver_.graph_destroy(graph_);
}

void CudaGraphOf::update(size_t call, const uint64_t* words) {
    gpu_.enter();
    const KernelCode& kernel = *calls_[call].kernel;
    Params params(kernel, words);
    KernelNodeParams node{static_cast<CudaFunction>(kernel.function), calls_[call].grid.blocks, calls_[call].grid.parts, 1, kernel.launch.threads_x,
                          kernel.launch.threads_y, 1, 0, params.data(), nullptr, nullptr, nullptr};
    gpu_.driver_.check(gpu_.driver_.graph_update_kernel(exec_, nodes_[call], &node), "updating a graph of launches");
}

void CudaGraphOf::launch() {
    gpu_.enter();
    ++gpu_.operations_;
    gpu_.driver_.check(gpu_.driver_.graph_launch(exec_, gpu_.stream_), "starting a graph of launches");
}

}  // namespace

size_t driver_device_count(std::string* why_none) {
    const Driver* driver = Driver::find(why_none);
    return driver ? static_cast<size_t>(driver->count()) : 0;
}

std::unique_ptr<Gpu> make_cuda_gpu(int index) {
    std::string why;
    const Driver* driver = Driver::find(&why);
    if (!driver) fail("there is no device cuda:{} here: {}", index, why);
    if (index >= driver->count()) fail("there is no device cuda:{} here: the driver sees {} of them", index, driver->count());
    return std::make_unique<CudaGpu>(*driver, index);
}

}  // namespace talc::inductor::cuda
