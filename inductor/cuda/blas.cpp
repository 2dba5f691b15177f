#include "inductor/cuda/blas.hpp"

#include <algorithm>
#include <cstring>

#include "inductor/cuda/library.hpp"
#include "tensor/error.hpp"

namespace talc::inductor::cuda {

using tensor::DType;
using tensor::fail;

namespace {

// Numbers of cuBLASLt's interface.
enum { kReal32 = 0, kReal64 = 1, kReal16 = 2, kRealBrain16 = 14 };                    // cudaDataType
enum { kCompute32 = 68, kCompute64 = 70 };                                            // cublasComputeType_t
enum { kTransposeA = 3, kTransposeB = 4 };                                            // of a product
enum { kBatchCount = 5, kBatchStride = 6 };                                           // of a matrix
enum { kMostWorkspace = 1, kAlignmentA = 5, kAlignmentB, kAlignmentC, kAlignmentD };  // of a preference

struct Algorithm {
    uint64_t data[8];
};
struct Choice {
    Algorithm algorithm;
    size_t workspace;
    Status state;
    float waves;
    int reserved[4];
};
using Handle = void*;

struct Functions {
    Status (*create)(Handle*);
    Status (*create_product)(Handle*, int compute, int scale);
    Status (*set_product)(Handle, int attribute, const void*, size_t);
    Status (*create_matrix)(Handle*, int type, uint64_t rows, uint64_t columns, int64_t leading);
    Status (*set_matrix)(Handle, int attribute, const void*, size_t);
    Status (*create_preference)(Handle*);
    Status (*set_preference)(Handle, int attribute, const void*, size_t);
    Status (*destroy_preference)(Handle);
    Status (*choose)(Handle, Handle product, Handle a, Handle b, Handle c, Handle d, Handle preference, int wanted, Choice*,
                     int* found);
    Status (*multiply)(Handle, Handle product, const void* alpha, const void* a, Handle, const void* b, Handle,
                       const void* beta, const void* c, Handle, void* d, Handle, const Algorithm*, void* workspace, size_t,
                       CudaStream);
};

const Functions& functions() {
    struct Search {
        Library library{"cublasLt", {"13", "12"}};
        Functions found{};
        bool whole = false;
    };
    static const Search* search = [] {
        auto* s = new Search;  // lives as long as the process, as the library does
        if (!s->library.loaded()) return s;
        Functions& f = s->found;
        const Library& l = s->library;
        s->whole = l.find(f.create, "cublasLtCreate") && l.find(f.create_product, "cublasLtMatmulDescCreate") &&
                   l.find(f.set_product, "cublasLtMatmulDescSetAttribute") &&
                   l.find(f.create_matrix, "cublasLtMatrixLayoutCreate") &&
                   l.find(f.set_matrix, "cublasLtMatrixLayoutSetAttribute") &&
                   l.find(f.create_preference, "cublasLtMatmulPreferenceCreate") &&
                   l.find(f.set_preference, "cublasLtMatmulPreferenceSetAttribute") &&
                   l.find(f.destroy_preference, "cublasLtMatmulPreferenceDestroy") &&
                   l.find(f.choose, "cublasLtMatmulAlgoGetHeuristic") && l.find(f.multiply, "cublasLtMatmul");
        return s;
    }();
    if (!search->whole) fail("products of matrices need cuBLASLt, which was not found: looked for {}", search->library.places());
    return search->found;
}

void check(Status status, const char* doing) {
    if (status != 0) throw GpuError(tensor::ErrorKind::Runtime, fmt::format("cuBLASLt, {}: error {}", doing, status));
}

int type_of(DType dtype) {
    switch (dtype) {
        case DType::Float64: return kReal64;
        case DType::Float16: return kReal16;
        case DType::BFloat16: return kRealBrain16;
        default: return kReal32;
    }
}

// The largest power of two, up to 256, that divides the address.
uint32_t alignment_of(uint64_t address) {
    return address == 0 ? 256 : static_cast<uint32_t>(std::min<uint64_t>(256, address & (~address + 1)));
}

}  // namespace

bool has_product(DType dtype) { return tensor::is_float(dtype); }

// Lives as long as the process, as the descriptions do.
struct Blas::Plan {
    Handle product = nullptr, a = nullptr, b = nullptr, c = nullptr;
    Choice choice{};
};

Blas::Blas(void* workspace) : workspace_(workspace) { check(functions().create(&handle_), "starting"); }
Blas::~Blas() = default;

const Blas::Plan& Blas::plan_of(const MatmulCall& call) {
    const Functions& lt = functions();
    struct Key {
        int64_t numbers[10];
        uint32_t alignments[3];
        uint32_t kind;
    } key{{call.m, call.n, call.k, call.leading_a, call.leading_b, call.leading_c, call.batch, call.stride_a, call.stride_b,
           call.stride_c},
          {alignment_of(call.a), alignment_of(call.b), alignment_of(call.c)},
          static_cast<uint32_t>(call.dtype) * 4u + (call.transpose_a ? 2u : 0u) + (call.transpose_b ? 1u : 0u)};
    static_assert(sizeof(Key) == 96);  // no bytes between
    std::string text(reinterpret_cast<const char*>(&key), sizeof key);
    std::lock_guard lock(mutex_);
    std::unique_ptr<Plan>& known = plans_[text];
    if (known) return *known;
    auto plan = std::make_unique<Plan>();
    bool wide = call.dtype == DType::Float64;
    check(lt.create_product(&plan->product, wide ? kCompute64 : kCompute32, wide ? kReal64 : kReal32), "describing a product");
    int32_t transpose_a = call.transpose_a, transpose_b = call.transpose_b;
    check(lt.set_product(plan->product, kTransposeA, &transpose_a, sizeof transpose_a), "describing a product");
    check(lt.set_product(plan->product, kTransposeB, &transpose_b, sizeof transpose_b), "describing a product");
    auto matrix = [&](Handle& made, int64_t rows, int64_t columns, bool transposed, int64_t leading, int64_t stride) {
        if (transposed) std::swap(rows, columns);
        check(lt.create_matrix(&made, type_of(call.dtype), static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), leading),
              "describing a matrix");
        if (call.batch == 1) return;
        int32_t count = static_cast<int32_t>(call.batch);
        check(lt.set_matrix(made, kBatchCount, &count, sizeof count), "describing a batch");
        check(lt.set_matrix(made, kBatchStride, &stride, sizeof stride), "describing a batch");
    };
    matrix(plan->a, call.m, call.k, call.transpose_a, call.leading_a, call.stride_a);
    matrix(plan->b, call.k, call.n, call.transpose_b, call.leading_b, call.stride_b);
    matrix(plan->c, call.m, call.n, false, call.leading_c, call.stride_c);
    Handle preference = nullptr;
    check(lt.create_preference(&preference), "choosing an algorithm");
    size_t workspace = kWorkspaceBytes;
    check(lt.set_preference(preference, kMostWorkspace, &workspace, sizeof workspace), "choosing an algorithm");
    uint32_t alignments[] = {key.alignments[0], key.alignments[1], key.alignments[2], key.alignments[2]};
    for (int i = 0; i < 4; ++i) {
        check(lt.set_preference(preference, kAlignmentA + i, &alignments[i], sizeof alignments[i]), "choosing an algorithm");
    }
    int found = 0;
    Status status = lt.choose(handle_, plan->product, plan->a, plan->b, plan->c, plan->c, preference, 1, &plan->choice, &found);
    lt.destroy_preference(preference);
    check(status, "choosing an algorithm");
    if (found == 0) fail("cuBLASLt has no algorithm for a product of {}x{} and {}x{}", call.m, call.k, call.k, call.n);
    known = std::move(plan);
    return *known;
}

void Blas::multiply(const MatmulCall& call, CudaStream stream) {
    const Plan& plan = plan_of(call);
    float one = 1, zero = 0;
    double wide_one = 1, wide_zero = 0;
    bool wide = call.dtype == DType::Float64;
    const void* alpha = wide ? static_cast<const void*>(&wide_one) : &one;
    const void* beta = wide ? static_cast<const void*>(&wide_zero) : &zero;
    auto pointer = [](uint64_t address) { return reinterpret_cast<void*>(address); };
    check(functions().multiply(handle_, plan.product, alpha, pointer(call.a), plan.a, pointer(call.b), plan.b, beta,
                               pointer(call.c), plan.c, pointer(call.c), plan.c, &plan.choice.algorithm, workspace_,
                               kWorkspaceBytes, stream),
          "multiplying");
}

}  // namespace talc::inductor::cuda
