#include "inductor/cpu/executable.hpp"

#include <algorithm>
#include <mutex>

#include "tensor/error.hpp"

namespace talc::inductor::cpu {

using tensor::Context;
using tensor::fail;
using tensor::Tensor;
using tensor::Tensors;

namespace {

constexpr int64_t kParallelWork = 1 << 18;  // values computed, below which a second thread does not pay

}  // namespace

CpuExecutable::CpuExecutable(Lowered lowered) : PlanExecutable(std::move(lowered), {}) {
    const Plan& plan = lowered_.plan;
    states_.resize(plan.steps.size());
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        if (plan.steps[s].kind == Step::Kernel) states_[s].code = &compile(plan.steps[s].kernel);
    }
}

void CpuExecutable::fit_step(size_t s) {
    const Step& step = lowered_.plan.steps[s];
    if (step.kind == Step::Kernel) fit_kernel(step, states_[s]);
    if (step.kind != Step::Matmul || !has_matmul(step.node->dtype())) return;
    const StepLayouts& layouts = layouts_of_[s];
    const Layout &a = layouts.operands[0], &b = layouts.operands[1], &c = layouts.result;
    states_[s].matmul = matmul_shape({a.sizes, a.strides}, {b.sizes, b.strides}, {c.sizes, c.strides});
}

void CpuExecutable::fit_kernel(const Step& step, StepState& state) {
    const loops::Kernel& kernel = step.kernel;
    state.params = params_of(kernel);
    state.pointers.resize(step.buffers.size() + 1);
    auto size_inside = [&](Dim size) { return inside(size, state.params); };
    int64_t each = 1;
    if (state.code->finish) {
        for (size_t d = 1; d < kernel.folded.size(); ++d) each *= size_inside(kernel.folded[d]);
        state.count = size_inside(kernel.folded[0]);
    } else {
        for (size_t d = 1; d < kernel.parallel.size(); ++d) each *= size_inside(kernel.parallel[d]);
        for (Dim size : kernel.folded) each *= size_inside(size);
        state.count = kernel.parallel.empty() ? 1 : size_inside(kernel.parallel[0]);
    }
    for (Dim size : kernel.parallel) state.count = size_inside(size) == 0 ? 0 : state.count;
    int64_t work = std::max<int64_t>(1, each) * static_cast<int64_t>(kernel.values.size() + 1);
    state.grain = std::max<int64_t>(1, kParallelWork / work);
}

void CpuExecutable::run(Context& context, Tensors arguments, std::span<Tensor> results) {
    const Plan& plan = lowered_.plan;
    begin(context, arguments, results);
    ErrorWord error;
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        const Step& step = plan.steps[s];
        switch (step.kind) {
            case Step::Kernel:
                run_kernel(context, step, states_[s], error);
                if (error.code) raise(step.kernel.sites[static_cast<size_t>(error.code - 1)], error.value, error.size);
                break;
            case Step::Matmul:
                if (states_[s].matmul) {
                    run_matmul(context, s);
                } else {
                    run_plain_matmul(context, s, arguments, results);
                }
                break;
            case Step::Operator: run_operator(context, s, arguments, results); break;
            case Step::Copy: run_copy(context, s, arguments, results); break;
        }
    }
    end(arguments, results);
}

void CpuExecutable::run_kernel(const Context& context, const Step& step, StepState& state, ErrorWord& error) {
    if (state.code->finish) return run_pieces(context, step, state, error);
    if (state.count == 0) return;
    for (size_t i = 0; i < step.buffers.size(); ++i) state.pointers[i] = bases_[step.buffers[i]];
    Function function = state.code->function;
    if (!context.parallel_for || state.count <= state.grain) {
        function(state.params.data(), state.pointers.data(), 0, state.count, &error);
        return;
    }
    std::mutex mutex;
    auto piece = [&](int64_t begin, int64_t end) {
        ErrorWord own;
        function(state.params.data(), state.pointers.data(), begin, end, &own);
        if (own.code) {
            std::lock_guard lock(mutex);
            error = own;
        }
    };
    context.parallel_for(state.count, state.grain, std::cref(piece));
}

// Pieces are cut by size alone, so that the result is the same on any number of threads.
void CpuExecutable::run_pieces(const Context& context, const Step& step, StepState& state, ErrorWord& error) {
    constexpr int64_t kMostPieces = 64;
    int64_t length = std::max(state.grain, (state.count + kMostPieces - 1) / kMostPieces);
    int64_t pieces = std::max<int64_t>(1, (state.count + length - 1) / length);
    state.slots.resize(static_cast<size_t>(pieces) * state.code->cells);
    size_t last = step.buffers.size();
    for (size_t i = 0; i < last; ++i) state.pointers[i] = bases_[step.buffers[i]];
    auto run_piece = [&](int64_t piece, std::vector<void*>& pointers, ErrorWord& word) {
        pointers[last] = state.slots.data() + static_cast<size_t>(piece) * state.code->cells;
        state.code->function(state.params.data(), pointers.data(), piece * length,
                             std::min(state.count, (piece + 1) * length), &word);
    };
    if (pieces == 1 || !context.parallel_for) {
        for (int64_t piece = 0; piece < pieces; ++piece) run_piece(piece, state.pointers, error);
    } else {
        std::mutex mutex;
        auto some = [&](int64_t begin, int64_t end) {
            std::vector<void*> pointers = state.pointers;
            ErrorWord own;
            for (int64_t piece = begin; piece < end; ++piece) run_piece(piece, pointers, own);
            if (own.code) {
                std::lock_guard lock(mutex);
                error = own;
            }
        };
        context.parallel_for(pieces, 1, std::cref(some));
    }
    if (error.code) return;
    state.pointers[last] = state.slots.data();
    state.code->finish(state.params.data(), state.pointers.data(), 0, pieces, &error);
}

void CpuExecutable::run_matmul(Context& context, size_t s) {
    const Step& step = lowered_.plan.steps[s];
    tensor::DType dtype = step.node->dtype();
    int64_t bytes = static_cast<int64_t>(size_of(dtype));
    const void* a = bases_[step.operands[0].buffer] + layouts_of_[s].operands[0].offset * bytes;
    const void* b = bases_[step.operands[1].buffer] + layouts_of_[s].operands[1].offset * bytes;
    matmul(context, *states_[s].matmul, dtype, a, b, bases_[step.results[0]]);
}

namespace {

class CpuBackend final : public Backend {
  public:
    std::string_view name() const override { return "native"; }
    std::unique_ptr<Executable> compile(const FragmentSpec& fragment) override {
        for (graph::Value node : fragment.graph->live()) {
            if (node->type().device.type != tensor::DeviceType::Cpu) {
                fail("the CPU's compiler was given a tensor on {}", to_string(node->type().device));
            }
        }
        return std::make_unique<CpuExecutable>(lower(fragment));
    }
};

}  // namespace

}  // namespace talc::inductor::cpu

namespace talc::inductor {

Backend& cpu_backend() {
    static cpu::CpuBackend backend;
    return backend;
}

}  // namespace talc::inductor
