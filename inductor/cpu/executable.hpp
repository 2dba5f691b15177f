#pragma once
// A plan with the code of its kernels, ready to run.
#include <optional>

#include "inductor/cpu/code.hpp"
#include "inductor/cpu/matmul.hpp"
#include "inductor/executable.hpp"

namespace talc::inductor::cpu {

class CpuExecutable final : public PlanExecutable {
  public:
    explicit CpuExecutable(Lowered lowered);

    void run(tensor::Context& context, tensor::Tensors arguments, std::span<tensor::Tensor> results) override;

  private:
    // What a step needs besides addresses, for the sizes at hand.
    struct StepState {
        const Code* code = nullptr;
        std::vector<int64_t> params;
        std::vector<void*> pointers;
        std::vector<int64_t> slots;  // of a kernel that is run in pieces
        int64_t count = 1;  // points of the outermost loop
        int64_t grain = 1;  // of them, below which a second thread does not pay
        std::optional<MatmulShape> matmul;
    };

    void fit_step(size_t step) override;
    void fit_kernel(const Step& step, StepState& state);
    void run_kernel(const tensor::Context& context, const Step& step, StepState& state, ErrorWord& error);
    void run_pieces(const tensor::Context& context, const Step& step, StepState& state, ErrorWord& error);
    void run_matmul(tensor::Context& context, size_t step);

    std::vector<StepState> states_;
};

}  // namespace talc::inductor::cpu
