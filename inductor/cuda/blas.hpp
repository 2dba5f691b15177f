#pragma once
// Products of matrices by cuBLASLt, loaded when one is first wanted.
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "inductor/cuda/driver.hpp"
#include "inductor/cuda/gpu.hpp"

namespace talc::inductor::cuda {

// float16, bfloat16, float32 (in full precision) and float64.
bool has_product(tensor::DType dtype);

class Blas {
  public:
    static constexpr size_t kWorkspaceBytes = size_t{32} << 20;

    // Of the current context; `workspace` is shared by all products, which run one after the other.
    explicit Blas(void* workspace);
    ~Blas();

    void multiply(const MatmulCall& call, CudaStream stream);

  private:
    struct Plan;
    const Plan& plan_of(const MatmulCall& call);

    void* handle_ = nullptr;
    void* workspace_;
    std::mutex mutex_;
    std::unordered_map<std::string, std::unique_ptr<Plan>> plans_;  // by all but the addresses
};

}  // namespace talc::inductor::cuda
