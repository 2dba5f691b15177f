#pragma once
// Operators one by one on a GPU. Most are fragments of one operator, compiled like any other and kept; sizes are symbols
// there, so that one kernel serves many. Copies, constants and random numbers are small kernels of their own, products
// are the library's, stores at computed places go through a sort, and what none of this can do runs on the CPU and
// comes back.
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "inductor/cuda/executable.hpp"
#include "tensor/eager.hpp"

namespace talc::inductor::cuda {

class CudaOps final : public tensor::DeviceOps {
  public:
    explicit CudaOps(Room& room) : room_(room) {}

    void run(tensor::Context& context, tensor::Op op, tensor::Tensors inputs, const tensor::Attrs& attrs,
             const tensor::Inferred& inferred, std::span<tensor::Tensor> results) override;
    void pointwise_into(tensor::Context& context, tensor::Op op, tensor::Tensors inputs, const tensor::Attrs& attrs,
                        const tensor::Inferred& inferred, const tensor::Tensor& target) override;
    bool replace_in(tensor::Context& context, tensor::Op op, tensor::Tensors inputs, const tensor::Attrs& attrs,
                    const tensor::Inferred& inferred) override;
    void copy_elements(tensor::Context& context, const tensor::Tensor& from, const tensor::Tensor& to) override;

    struct Call;
    // How often an operator ran on the CPU.
    uint64_t host_runs(tensor::Op op) const { return host_runs_[static_cast<size_t>(op)]; }

  private:
    // With errors of the GPU that do not know the operator.
    void run_unnamed(tensor::Context& context, tensor::Op op, tensor::Tensors inputs, const tensor::Attrs& attrs,
                     const tensor::Inferred& inferred, std::span<tensor::Tensor> results);
    // Null: the operator runs on the CPU.
    CudaExecutable* code_of(const Call& call);
    std::unique_ptr<CudaExecutable> compile(const Call& call);
    const KernelCode& small_kernel(const std::string& key, const std::function<void(loops::Kernel&)>& write,
                                   std::vector<bool> by_value);
    void launch_small(const KernelCode& code, int64_t points, const std::vector<uint64_t>& words);
    void create(tensor::Context& context, tensor::Op op, tensor::Tensors inputs, const tensor::Attrs& attrs,
                const tensor::Tensor& out);
    void multiply(tensor::Context& context, tensor::Tensors inputs, const tensor::Tensor& out);
    // Into the first operand, or a copy of it. False: it is nothing for the GPU.
    bool scatter(tensor::Context& context, tensor::Op op, tensor::Tensors inputs, const tensor::Attrs& attrs,
                 const tensor::Inferred& inferred, bool in_place, tensor::Tensor& result);
    void run_on_host(tensor::Context& context, tensor::Op op, tensor::Tensors inputs, const tensor::Attrs& attrs,
                     std::span<tensor::Tensor> results);

    Room& room_;
    std::recursive_mutex mutex_;  // executables are used by one thread at a time
    std::unordered_map<std::string, std::unique_ptr<CudaExecutable>> known_;
    std::unordered_map<std::string, const KernelCode*> small_;
    std::array<std::atomic<uint64_t>, tensor::kOpCount> host_runs_{};
};

}  // namespace talc::inductor::cuda
