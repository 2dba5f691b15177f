#pragma once
// A plan with the code of its kernels on a GPU, ready to run. Launches are not waited for, but where a kernel may find an
// error: that is known before anything is written to an argument.
#include "inductor/cuda/gpu.hpp"
#include "inductor/executable.hpp"

namespace talc::inductor::cuda {

struct Room;

class CudaExecutable final : public PlanExecutable {
  public:
    // `replay`: stretches of launches are recorded, and started as one from then on.
    CudaExecutable(Lowered lowered, Room& room, bool replay);

    void run(tensor::Context& context, tensor::Tensors arguments, std::span<tensor::Tensor> results) override;
    uint32_t launches() const override { return launches_; }
    // Storages' versions are the caller's affair.
    void leave_versions() { counts_writes_ = false; }
    // Its sizes are symbols, or it has none to speak of.
    bool takes_any_size() const;

  private:
    struct StepState {
        const KernelCode* code = nullptr;
        Grid grid;                     // no blocks: nothing to do
        std::vector<uint64_t> words;   // sizes and the error word stay, addresses are filled in
        bool multiplies = false;       // by the library
        bool swapped = false;          // the calls' operands are the other way round
        std::vector<MatmulCall> calls;
    };
    // A stretch of launches between two points where the host has something to do.
    struct Recording {
        CallList calls;
        std::unique_ptr<GpuGraph> graph;
        uint64_t used = 0;
    };

    void fit_step(size_t step) override;
    void run_step(tensor::Context& context, size_t step, tensor::Tensors arguments, std::span<tensor::Tensor> results);
    void run_kernel(size_t step);
    void run_matmul(size_t step);
    void check_errors();
    void flush();

    Room& room_;
    bool replay_;
    std::vector<StepState> states_;
    ErrorWord* errors_ = nullptr;        // one for each kernel that may find one
    std::vector<size_t> checked_steps_;  // whose they are
    uint32_t launches_ = 0;
    // Of a replay:
    CallList pending_;
    size_t stretch_ = 0;
    std::vector<std::vector<Recording>> recordings_;  // by stretch
    uint64_t runs_ = 0;
};

}  // namespace talc::inductor::cuda
