#include "inductor/executable.hpp"

#include <algorithm>

#include "tensor/eager.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "tensor/kernels.hpp"
#include "tensor/views.hpp"

namespace talc::inductor {

using tensor::Context;
using tensor::Dims;
using tensor::fail;
using tensor::Tensor;
using tensor::Tensors;

PlanExecutable::PlanExecutable(Lowered lowered, tensor::Device device) : lowered_(std::move(lowered)), device_(device) {
    const Plan& plan = lowered_.plan;
    layouts_of_.resize(plan.steps.size());
    by_operator_.resize(plan.buffers.size(), false);
    for (const Step& step : plan.steps) {
        if (step.kind == Step::Operator) {
            by_operator_[step.results[0]] = true;
            continue;
        }
        kernels_.push_back({step.name, step.ops, step.spans, {}, step.kind != Step::Kernel});
        if (step.kind == Step::Kernel) kernels_.back().text = print(step.kernel);
    }
    find_sources();
    bases_.resize(plan.buffers.size());
    held_.resize(plan.buffers.size());
    arena_offsets_.resize(plan.buffers.size());
}

void PlanExecutable::find_sources() {
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

bool PlanExecutable::read_symbols(Tensors arguments) {
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

int64_t PlanExecutable::value_of(uint32_t symbol) const {
    for (size_t i = 0; i < sources_.size(); ++i) {
        if (sources_[i].symbol == symbol) return symbols_[i];
    }
    fail("the size s{} is that of no argument", symbol);
}

int64_t PlanExecutable::number(Dim dim) const {
    if (dim.is_constant()) return dim.constant();
    return evaluate(dim, [this](uint32_t symbol) { return value_of(symbol); });
}

Dims PlanExecutable::numbers(const Shape& shape) const {
    Dims result;
    for (Dim dim : shape) result.push_back(number(dim));
    return result;
}

int64_t PlanExecutable::inside(Dim dim, const std::vector<int64_t>& params) {
    if (dim.is_constant()) return dim.constant();
    return evaluate(dim, [&](uint32_t n) { return params[n]; });
}

std::vector<int64_t> PlanExecutable::params_of(const loops::Kernel& kernel) const {
    std::vector<int64_t> params;
    for (Dim param : kernel.params) params.push_back(number(param));
    return params;
}

// Everything that follows from the sizes.
void PlanExecutable::fit_sizes() {
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
        StepLayouts& own = layouts_of_[s];
        own.operands.clear();
        for (const BufferView& view : step.operands) {
            own.operands.push_back({numbers(view.shape), numbers(view.strides), number(view.offset)});
        }
        if (!step.results.empty()) own.result = layouts_[step.results[0]];
        if (step.node) own.attrs = graph::concrete(step.node->attrs, [this](uint32_t symbol) { return value_of(symbol); });
        fit_step(s);
    }
    fitted_ = true;
}

void PlanExecutable::allocate(Context& context, std::span<Tensor> results) {
    const Plan& plan = lowered_.plan;
    for (size_t o = 0; o < plan.outputs.size(); ++o) {
        BufferId buffer = plan.outputs[o];
        if (plan.buffers[buffer].kind != PlanBuffer::Result || by_operator_[buffer]) continue;
        results[o] = tensor::empty_strided(context, layouts_[buffer].sizes, layouts_[buffer].strides,
                                           plan.buffers[buffer].dtype, device_);
        bases_[buffer] = results[o].data_as<char>();
    }
    if (arena_bytes_ == 0) return;
    if (!arena_ || arena_->bytes() < arena_bytes_ || arena_meter_ != context.meter.get()) {
        arena_ = nullptr;
        arena_ = tensor::Storage::allocate(arena_bytes_, device_, context.memory(device_), context.meter);
        arena_meter_ = context.meter.get();
    }
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
        if (plan.buffers[b].kind == PlanBuffer::Temporary) {
            bases_[b] = static_cast<char*>(arena_->data()) + arena_offsets_[b];
        }
    }
}

void PlanExecutable::begin(Context& context, Tensors arguments, std::span<Tensor> results) {
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
}

void PlanExecutable::end(Tensors arguments, std::span<Tensor> results) {
    const Plan& plan = lowered_.plan;
    for (size_t o = 0; o < plan.outputs.size(); ++o) {
        const PlanBuffer& buffer = plan.buffers[plan.outputs[o]];
        if (buffer.kind == PlanBuffer::Argument) results[o] = arguments[buffer.number];
        if (lowered_.graph->outputs()[o]->type().weak) results[o].impl()->weak = true;
    }
    if (counts_writes_) {
        for (uint32_t input : plan.written_arguments) arguments[input].storage().bump_version();
    }
    if (!plan.fallbacks.empty()) std::fill(held_.begin(), held_.end(), Tensor());
}

void PlanExecutable::run_copy(Context& context, size_t s, Tensors arguments, std::span<Tensor> results) {
    const Step& step = lowered_.plan.steps[s];
    tensor::copy_elements(context, tensor_of(step.operands[0], layouts_of_[s].operands[0], arguments, results),
                          arguments[step.results[0]]);
}

void PlanExecutable::run_plain_matmul(Context& context, size_t s, Tensors arguments, std::span<Tensor> results) {
    const Step& step = lowered_.plan.steps[s];
    const StepLayouts& layouts = layouts_of_[s];
    Tensor operands[] = {tensor_of(step.operands[0], layouts.operands[0], arguments, results),
                         tensor_of(step.operands[1], layouts.operands[1], arguments, results)};
    tensor::copy_elements(context, tensor::run(context, tensor::Op::Matmul, operands),
                          tensor_of(step.results[0], layouts.result, arguments, results));
}

void PlanExecutable::run_operator(Context& context, size_t s, Tensors arguments, std::span<Tensor> results) {
    const Step& step = lowered_.plan.steps[s];
    const StepLayouts& state = layouts_of_[s];
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

Tensor PlanExecutable::tensor_of(const BufferView& view, const Layout& layout, Tensors arguments,
                                std::span<Tensor> results) const {
    Tensor tensor = tensor_of(view.buffer, layout, arguments, results);
    if (view.weak) tensor.impl()->weak = true;
    return tensor;
}

Tensor PlanExecutable::tensor_of(BufferId id, const Layout& layout, Tensors arguments, std::span<Tensor> results) const {
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

void PlanExecutable::raise(const loops::Site& site, int64_t value, int64_t size) {
    if (site.kind == loops::Site::ZeroDivision) fail("ZeroDivisionError");
    fail(site.wraps ? tensor::ErrorKind::Index : tensor::ErrorKind::Runtime,
         "index {} is out of bounds for dimension {} with size {}", value, site.dim, size);
}

}  // namespace talc::inductor
