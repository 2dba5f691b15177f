#pragma once
// A plan with the code of its kernels, ready to run.
#include <optional>

#include "inductor/backend.hpp"
#include "inductor/cpu/code.hpp"
#include "inductor/cpu/matmul.hpp"
#include "inductor/passes/memory_plan.hpp"
#include "inductor/passes/passes.hpp"

namespace talc::inductor::cpu {

class CpuExecutable final : public Executable {
  public:
    explicit CpuExecutable(Lowered lowered);

    void run(tensor::Context& context, tensor::Tensors arguments, std::span<tensor::Tensor> results) override;
    std::span<const KernelInfo> kernels() const override { return kernels_; }
    std::span<const std::string> fallbacks() const override { return lowered_.plan.fallbacks; }
    uint32_t launches() const override { return static_cast<uint32_t>(lowered_.plan.steps.size()); }
    std::span<const LogLine> log() const override { return lowered_.plan.log.lines(); }

  private:
    // Where a symbol's value is read.
    struct SymbolSource {
        uint32_t symbol, input, dim;
        bool stride;
    };
    struct Layout {
        tensor::Dims sizes, strides;
        int64_t offset = 0;
    };
    // What a step needs besides addresses, for the sizes at hand.
    struct StepState {
        const Code* code = nullptr;
        std::vector<int64_t> params;
        std::vector<void*> pointers;
        std::vector<int64_t> slots;  // of a kernel that is run in pieces
        int64_t count = 1;  // points of the outermost loop
        int64_t grain = 1;  // of them, below which a second thread does not pay
        std::optional<MatmulShape> matmul;
        std::vector<Layout> operands;
        Layout result;
        tensor::Attrs attrs;
    };

    void find_sources();
    bool read_symbols(tensor::Tensors arguments);
    int64_t value_of(uint32_t symbol) const;
    int64_t number(Dim dim) const;
    tensor::Dims numbers(const Shape& shape) const;
    void fit_sizes();
    void fit_kernel(const Step& step, StepState& state);
    void allocate(tensor::Context& context, std::span<tensor::Tensor> results);
    void run_kernel(const tensor::Context& context, const Step& step, StepState& state, ErrorWord& error);
    void run_pieces(const tensor::Context& context, const Step& step, StepState& state, ErrorWord& error);
    void run_matmul(tensor::Context& context, const Step& step, StepState& state, tensor::Tensors arguments,
                    std::span<tensor::Tensor> results);
    void run_operator(tensor::Context& context, const Step& step, StepState& state, tensor::Tensors arguments,
                      std::span<tensor::Tensor> results);
    tensor::Tensor tensor_of(const BufferView& view, const Layout& layout, tensor::Tensors arguments,
                             std::span<tensor::Tensor> results) const;
    tensor::Tensor tensor_of(BufferId buffer, const Layout& layout, tensor::Tensors arguments,
                             std::span<tensor::Tensor> results) const;
    [[noreturn]] void raise(const ErrorWord& error, const Step& step) const;

    Lowered lowered_;
    std::vector<KernelInfo> kernels_;
    std::vector<SymbolSource> sources_;
    std::vector<int64_t> symbols_;  // values, in the order of sources_
    bool fitted_ = false;

    std::vector<StepState> states_;
    std::vector<Layout> layouts_;        // of each buffer
    std::vector<size_t> arena_offsets_;  // of temporaries
    std::vector<bool> by_operator_;      // results that an operator makes
    size_t arena_bytes_ = 0;
    tensor::Ref<tensor::Storage> arena_;
    tensor::MemoryMeter* arena_meter_ = nullptr;
    std::vector<char*> bases_;           // of each buffer, for this run
    std::vector<tensor::Tensor> held_;   // what operators made, by buffer
};

}  // namespace talc::inductor::cpu
