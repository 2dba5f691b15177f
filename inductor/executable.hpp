#pragma once
// What running a plan is on every device: symbols are read from the arguments, what follows from sizes is computed when
// they change, results are allocated and temporaries have their place in one arena.
#include "inductor/backend.hpp"
#include "inductor/passes/memory_plan.hpp"
#include "inductor/passes/passes.hpp"

namespace talc::inductor {

class PlanExecutable : public Executable {
  public:
    PlanExecutable(Lowered lowered, tensor::Device device);

    std::span<const KernelInfo> kernels() const override { return kernels_; }
    std::span<const std::string> fallbacks() const override { return lowered_.plan.fallbacks; }
    uint32_t launches() const override { return static_cast<uint32_t>(lowered_.plan.steps.size()); }
    std::span<const LogLine> log() const override { return lowered_.plan.log.lines(); }
    std::span<const graph::DimFact> assumes() const override { return lowered_.assumes; }

  protected:
    // Where a symbol's value is read.
    struct SymbolSource {
        uint32_t symbol, input, dim;
        bool stride;
    };
    struct Layout {
        tensor::Dims sizes, strides;
        int64_t offset = 0;
    };
    // What every step needs besides addresses, for the sizes at hand.
    struct StepLayouts {
        std::vector<Layout> operands;
        Layout result;
        tensor::Attrs attrs;
    };

    // A step's own preparation for the sizes at hand; its layouts are there.
    virtual void fit_step(size_t step) = 0;

    // Everything that comes before the first step: sizes, results, addresses. Fails when an argument that is written is
    // read-only.
    void begin(tensor::Context& context, tensor::Tensors arguments, std::span<tensor::Tensor> results);
    // And after the last one.
    void end(tensor::Tensors arguments, std::span<tensor::Tensor> results);

    int64_t number(Dim dim) const;
    // A kernel's parameter or size, given its parameters.
    static int64_t inside(Dim dim, const std::vector<int64_t>& params);
    std::vector<int64_t> params_of(const loops::Kernel& kernel) const;
    void run_operator(tensor::Context& context, size_t step, tensor::Tensors arguments, std::span<tensor::Tensor> results);
    void run_copy(tensor::Context& context, size_t step, tensor::Tensors arguments, std::span<tensor::Tensor> results);
    // A product that no library takes as it is: by the operator, then to its place.
    void run_plain_matmul(tensor::Context& context, size_t step, tensor::Tensors arguments,
                          std::span<tensor::Tensor> results);
    tensor::Tensor tensor_of(const BufferView& view, const Layout& layout, tensor::Tensors arguments,
                             std::span<tensor::Tensor> results) const;
    tensor::Tensor tensor_of(BufferId buffer, const Layout& layout, tensor::Tensors arguments,
                             std::span<tensor::Tensor> results) const;
    [[noreturn]] static void raise(const loops::Site& site, int64_t value, int64_t size);

    Lowered lowered_;
    bool counts_writes_ = true;  // else whoever runs it does
    tensor::Device device_;
    std::vector<KernelInfo> kernels_;
    std::vector<StepLayouts> layouts_of_;  // by step
    std::vector<Layout> layouts_;          // of each buffer
    std::vector<char*> bases_;             // of each buffer, for this run

  private:
    void find_sources();
    bool read_symbols(tensor::Tensors arguments);
    int64_t value_of(uint32_t symbol) const;
    tensor::Dims numbers(const Shape& shape) const;
    void fit_sizes();
    void allocate(tensor::Context& context, std::span<tensor::Tensor> results);

    std::vector<SymbolSource> sources_;
    std::vector<int64_t> symbols_;  // values, in the order of sources_
    bool fitted_ = false;
    std::vector<size_t> arena_offsets_;  // of temporaries
    std::vector<bool> by_operator_;      // results that an operator makes
    size_t arena_bytes_ = 0;
    tensor::Ref<tensor::Storage> arena_;
    tensor::MemoryMeter* arena_meter_ = nullptr;
    std::vector<tensor::Tensor> held_;  // what operators made, by buffer
};

}  // namespace talc::inductor
