#include "inductor/cpu/executable.hpp"

#include <algorithm>
#include <mutex>

#include "tensor/eager.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "tensor/kernels.hpp"
#include "tensor/views.hpp"

namespace talc::inductor::cpu {

using tensor::Context;
using tensor::Dims;
using tensor::fail;
using tensor::Tensor;
using tensor::Tensors;

namespace {

constexpr int64_t kParallelWork = 1 << 18;  // values computed, below which a second thread does not pay

}  // namespace

CpuExecutable::CpuExecutable(Lowered lowered) : lowered_(std::move(lowered)) {
    const Plan& plan = lowered_.plan;
    states_.resize(plan.steps.size());
    by_operator_.resize(plan.buffers.size(), false);
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        const Step& step = plan.steps[s];
        KernelInfo info{step.name, step.ops, step.spans, {}, step.kind != Step::Kernel};
        switch (step.kind) {
            case Step::Kernel:
                states_[s].code = &compile(step.kernel);
                info.text = print(step.kernel);
                break;
            case Step::Operator: by_operator_[step.results[0]] = true; break;
            default: break;
        }
        if (step.kind != Step::Operator) kernels_.push_back(std::move(info));
    }
    find_sources();
    bases_.resize(plan.buffers.size());
    held_.resize(plan.buffers.size());
    arena_offsets_.resize(plan.buffers.size());
}

void CpuExecutable::find_sources() {
    auto add = [&](SymbolSource source) {
        for (const SymbolSource& known : sources_) {
            if (known.symbol == source.symbol) return;
        }
        sources_.push_back(source);
    };
    const auto& inputs = lowered_.graph->inputs();
    for (uint32_t i = 0; i < inputs.size(); ++i) {
        const graph::Shape& shape = inputs[i]->shape();
        for (uint32_t d = 0; d < shape.size(); ++d) {
            if (shape[d].symbol_id() >= 0) add({static_cast<uint32_t>(shape[d].symbol_id()), i, d, false});
            int64_t stride = lowered_.plan.buffers[i].strides[d].symbol_id();
            if (stride >= loops::kStrideBase) add({static_cast<uint32_t>(stride), i, d, true});
        }
    }
    symbols_.resize(sources_.size(), 0);
}

bool CpuExecutable::read_symbols(Tensors arguments) {
    bool changed = !fitted_;
    for (size_t i = 0; i < sources_.size(); ++i) {
        const SymbolSource& source = sources_[i];
        const Tensor& argument = arguments[source.input];
        int64_t value = source.stride ? argument.strides()[source.dim] : argument.sizes()[source.dim];
        changed = changed || value != symbols_[i];
        symbols_[i] = value;
    }
    return changed;
}

int64_t CpuExecutable::value_of(uint32_t symbol) const {
    for (size_t i = 0; i < sources_.size(); ++i) {
        if (sources_[i].symbol == symbol) return symbols_[i];
    }
    return lowered_.graph->dims().hint(Dim::symbol(symbol)).value_or(2);
}

int64_t CpuExecutable::number(Dim dim) const {
    if (dim.is_constant()) return dim.constant();
    return evaluate(dim, [this](uint32_t symbol) { return value_of(symbol); });
}

Dims CpuExecutable::numbers(const Shape& shape) const {
    Dims result;
    for (Dim dim : shape) result.push_back(number(dim));
    return result;
}

// Everything that follows from the sizes.
void CpuExecutable::fit_sizes() {
    const Plan& plan = lowered_.plan;
    fitted_ = false;
    layouts_.clear();
    for (const PlanBuffer& buffer : plan.buffers) layouts_.push_back({numbers(buffer.shape), numbers(buffer.strides)});
    std::vector<Lifetime> lifetimes;
    std::vector<size_t> who;
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
        if (plan.buffers[b].kind != PlanBuffer::Temporary) continue;
        size_t bytes = static_cast<size_t>(tensor::element_count(layouts_[b].sizes)) * size_of(plan.buffers[b].dtype);
        lifetimes.push_back({plan.buffers[b].first_step, plan.buffers[b].last_step, bytes});
        who.push_back(b);
    }
    arena_bytes_ = who.empty() ? 0 : std::max<size_t>(64, place_in_arena(lifetimes));  // empty ones have a place, too
    for (size_t i = 0; i < who.size(); ++i) arena_offsets_[who[i]] = lifetimes[i].offset;
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        const Step& step = plan.steps[s];
        StepState& state = states_[s];
        state.operands.clear();
        for (const BufferView& view : step.operands) {
            state.operands.push_back({numbers(view.shape), numbers(view.strides), number(view.offset)});
        }
        if (!step.results.empty()) state.result = layouts_[step.results[0]];
        if (step.kind == Step::Kernel) fit_kernel(step, state);
        if (step.node) state.attrs = graph::concrete(step.node->attrs, [this](uint32_t symbol) { return value_of(symbol); });
        if (step.kind == Step::Matmul && has_matmul(step.node->dtype())) {
            const Layout &a = state.operands[0], &b = state.operands[1];
            state.matmul = matmul_shape({a.sizes, a.strides}, {b.sizes, b.strides}, {state.result.sizes, state.result.strides});
        }
    }
    fitted_ = true;
}

void CpuExecutable::fit_kernel(const Step& step, StepState& state) {
    const loops::Kernel& kernel = step.kernel;
    state.params.clear();
    for (Dim param : kernel.params) state.params.push_back(number(param));
    state.pointers.resize(step.buffers.size() + 1);
    auto inside = [&](Dim size) { return evaluate(size, [&](uint32_t n) { return state.params[n]; }); };
    int64_t each = 1;
    if (state.code->finish) {
        for (size_t d = 1; d < kernel.folded.size(); ++d) each *= inside(kernel.folded[d]);
        state.count = inside(kernel.folded[0]);
    } else {
        for (size_t d = 1; d < kernel.parallel.size(); ++d) each *= inside(kernel.parallel[d]);
        for (Dim size : kernel.folded) each *= inside(size);
        state.count = kernel.parallel.empty() ? 1 : inside(kernel.parallel[0]);
    }
    for (Dim size : kernel.parallel) state.count = inside(size) == 0 ? 0 : state.count;
    int64_t work = std::max<int64_t>(1, each) * static_cast<int64_t>(kernel.values.size() + 1);
    state.grain = std::max<int64_t>(1, kParallelWork / work);
}

void CpuExecutable::allocate(Context& context, std::span<Tensor> results) {
    const Plan& plan = lowered_.plan;
    for (size_t o = 0; o < plan.outputs.size(); ++o) {
        BufferId buffer = plan.outputs[o];
        if (plan.buffers[buffer].kind != PlanBuffer::Result || by_operator_[buffer]) continue;
        results[o] = tensor::empty_strided(context, layouts_[buffer].sizes, layouts_[buffer].strides,
                                           plan.buffers[buffer].dtype);
        bases_[buffer] = results[o].data_as<char>();
    }
    if (arena_bytes_ == 0) return;
    if (!arena_ || arena_->bytes() < arena_bytes_ || arena_meter_ != context.meter.get()) {
        arena_ = nullptr;
        arena_ = tensor::Storage::allocate(arena_bytes_, {}, context.memory({}), context.meter);
        arena_meter_ = context.meter.get();
    }
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
        if (plan.buffers[b].kind == PlanBuffer::Temporary) {
            bases_[b] = static_cast<char*>(arena_->data()) + arena_offsets_[b];
        }
    }
}

void CpuExecutable::run(Context& context, Tensors arguments, std::span<Tensor> results) {
    const Plan& plan = lowered_.plan;
    if (read_symbols(arguments)) fit_sizes();
    for (uint32_t input : plan.written_arguments) {
        if (arguments[input].storage().read_only()) {
            fail("the memory of this tensor of shape {} is read-only", tensor::bracketed(arguments[input].sizes()));
        }
    }
    for (size_t i = 0; i < arguments.size(); ++i) bases_[i] = arguments[i].data_as<char>();
    allocate(context, results);
    for (size_t b = arguments.size(); b < plan.buffers.size(); ++b) {
        if (plan.buffers[b].kind == PlanBuffer::Constant) {
            bases_[b] = plan.constants[plan.buffers[b].number].data_as<char>();
        }
    }
    ErrorWord error;
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        const Step& step = plan.steps[s];
        switch (step.kind) {
            case Step::Kernel:
                run_kernel(context, step, states_[s], error);
                if (error.code) raise(error, step);
                break;
            case Step::Matmul: run_matmul(context, step, states_[s], arguments, results); break;
            case Step::Operator: run_operator(context, step, states_[s], arguments, results); break;
            case Step::Copy:
                tensor::copy_elements(context, tensor_of(step.operands[0], states_[s].operands[0], arguments, results),
                                      arguments[step.results[0]]);
                break;
        }
    }
    for (size_t o = 0; o < plan.outputs.size(); ++o) {
        const PlanBuffer& buffer = plan.buffers[plan.outputs[o]];
        if (buffer.kind == PlanBuffer::Argument) results[o] = arguments[buffer.number];
        if (lowered_.graph->outputs()[o]->type().weak) results[o].impl()->weak = true;
    }
    for (uint32_t input : plan.written_arguments) arguments[input].storage().bump_version();
    if (!plan.fallbacks.empty()) std::fill(held_.begin(), held_.end(), Tensor());
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

void CpuExecutable::run_matmul(Context& context, const Step& step, StepState& state, Tensors arguments,
                               std::span<Tensor> results) {
    BufferId out = step.results[0];
    if (!state.matmul) {
        Tensor operands[] = {tensor_of(step.operands[0], state.operands[0], arguments, results),
                             tensor_of(step.operands[1], state.operands[1], arguments, results)};
        tensor::copy_elements(context, tensor::run(context, tensor::Op::Matmul, operands),
                              tensor_of(out, state.result, arguments, results));
        return;
    }
    tensor::DType dtype = step.node->dtype();
    int64_t bytes = static_cast<int64_t>(size_of(dtype));
    const void* a = bases_[step.operands[0].buffer] + state.operands[0].offset * bytes;
    const void* b = bases_[step.operands[1].buffer] + state.operands[1].offset * bytes;
    matmul(context, *state.matmul, dtype, a, b, bases_[out]);
}

void CpuExecutable::run_operator(Context& context, const Step& step, StepState& state, Tensors arguments,
                                 std::span<Tensor> results) {
    std::vector<Tensor> operands;
    for (size_t i = 0; i < step.operands.size(); ++i) {
        operands.push_back(tensor_of(step.operands[i], state.operands[i], arguments, results));
    }
    tensor::DType saved = context.default_float;
    context.default_float = lowered_.graph->default_float();
    struct Restore {
        Context& context;
        tensor::DType value;
        ~Restore() { context.default_float = value; }
    } restore{context, saved};
    Tensor made = tensor::run(context, step.node->op, operands, state.attrs);
    bool shared = false;
    for (const Tensor& operand : operands) shared = shared || operand.shares_storage(made);
    if (shared || !made.is_contiguous()) made = tensor::contiguous_copy(context, made);
    BufferId out = step.results[0];
    bases_[out] = made.data_as<char>();
    const PlanBuffer& buffer = lowered_.plan.buffers[out];
    if (buffer.kind == PlanBuffer::Result) results[buffer.number] = made;
    held_[out] = std::move(made);
}

Tensor CpuExecutable::tensor_of(const BufferView& view, const Layout& layout, Tensors arguments,
                                std::span<Tensor> results) const {
    Tensor tensor = tensor_of(view.buffer, layout, arguments, results);
    if (view.weak) tensor.impl()->weak = true;
    return tensor;
}

Tensor CpuExecutable::tensor_of(BufferId id, const Layout& layout, Tensors arguments, std::span<Tensor> results) const {
    const PlanBuffer& buffer = lowered_.plan.buffers[id];
    auto view = [&](const Tensor& base) { return base.alias(layout.sizes, layout.strides, base.offset() + layout.offset); };
    switch (buffer.kind) {
        case PlanBuffer::Argument: return view(arguments[buffer.number]);
        case PlanBuffer::Constant: return view(lowered_.plan.constants[buffer.number]);
        case PlanBuffer::Result: return view(results[buffer.number]);
        case PlanBuffer::Held: return view(held_[id]);
        case PlanBuffer::Temporary: break;
    }
    int64_t first = static_cast<int64_t>(arena_offsets_[id] / size_of(buffer.dtype));
    return Tensor(arena_, buffer.dtype, layout.sizes, layout.strides, first + layout.offset);
}

void CpuExecutable::raise(const ErrorWord& error, const Step& step) const {
    const loops::Site& site = step.kernel.sites[static_cast<size_t>(error.code - 1)];
    if (site.kind == loops::Site::ZeroDivision) fail("ZeroDivisionError");
    fail(site.wraps ? tensor::ErrorKind::Index : tensor::ErrorKind::Runtime,
         "index {} is out of bounds for dimension {} with size {}", error.value, site.dim, error.size);
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
