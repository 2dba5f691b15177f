#include "jit/fragment.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "autograd/graph_backward.hpp"
#include "autograd/tape.hpp"
#include "graph/rewrite.hpp"
#include "jit/evaluate.hpp"
#include "jit/fragment_grad.hpp"
#include "jit/planted.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "vm/tensor.hpp"

namespace talc::jit {

using tensor::Tensor;

// Code reads sizes from tensors; this one has nothing else.
Tensor sized_tensor(tensor::Context& context, int64_t size) {
    Tensor one = tensor::number(context, tensor::Scalar(size));
    return Tensor(one.impl()->storage, one.dtype(), {size}, {0}, 0);
}

Tensor fragment_input(Vm& vm, const Fragment& fragment, size_t input, const Segment& segment, const Value* slots) {
    const Fragment::Input& from = fragment.inputs[input];
    Value value = from.slot < 0 ? segment.constants[static_cast<size_t>(~from.slot)].get() : slots[from.slot];
    if (from.number) return tensor::number(vm.tensors, *vm::scalar_of(vm, value));
    if (from.size) return sized_tensor(vm.tensors, value.i);
    return vm::tensor_of(value);
}

void separate(tensor::Context& context, std::span<Tensor> results, std::span<const Tensor> arguments) {
    for (size_t i = 0; i < results.size(); ++i) {
        auto same = [&](const Tensor& other) { return other && results[i].shares_storage(other); };
        auto earlier = results.first(i);
        if (!std::any_of(arguments.begin(), arguments.end(), same) && !std::any_of(earlier.begin(), earlier.end(), same)) continue;
        autograd::GradMode mode(context, results[i].requires_grad());  // whatever the mode is by now
        results[i] = autograd::apply(context, tensor::Op::Clone, std::span(&results[i], 1));
    }
}

tensor::Dims order_of(const Tensor& tensor) {
    if (tensor.is_contiguous()) return {};
    tensor::Dims order(static_cast<size_t>(tensor.rank()), 0);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return tensor.stride(a) > tensor.stride(b); });
    return order;
}

Tensor laid_out(tensor::Context& context, const Tensor& value, const tensor::Dims& order) {
    size_t rank = static_cast<size_t>(value.rank());
    tensor::Dims strides(rank, 1);
    int64_t stride = 1;
    bool as_wanted = true;
    for (size_t k = rank; k-- > 0;) {
        size_t dim = order.empty() ? k : static_cast<size_t>(order[k]);
        strides[dim] = stride;
        as_wanted = as_wanted && (value.sizes()[dim] == 1 || value.strides()[dim] == stride);
        stride *= std::max<int64_t>(value.sizes()[dim], 1);
    }
    if (as_wanted || value.numel() == 0 || value.requires_grad()) return value;
    Tensor memory = tensor::empty(context, value.sizes(), value.dtype(), value.device());
    Tensor placed(memory.impl()->storage, value.dtype(), value.sizes(), strides, 0);
    autograd::copy_into(context, value, placed);
    return placed;
}

void raise_version(const Tensor& fresh, uint32_t version) {
    if (fresh.version() < version) count_writes(fresh, version - fresh.version());
}

void count_writes(const Tensor& tensor, uint32_t writes) {
    for (uint32_t k = 0; k < writes; ++k) tensor.storage().bump_version();
}

void fulfil(Value object, const Tensor& value) {
    tensor::TensorImpl* to = vm::tensor_of(object).impl();
    tensor::TensorImpl* from = value.impl();
    if (to == from) return;
    to->storage = from->storage;
    to->sizes = from->sizes;
    to->strides = from->strides;
    to->offset = from->offset;
    to->numel = from->numel;
    to->contiguous = from->contiguous;
    to->requires_grad = from->requires_grad || to->requires_grad;  // a leaf may have been asked for gradients already
    to->layout.store(nullptr, std::memory_order_relaxed);
    if (from->autograd) to->autograd = std::move(from->autograd);
}

void forsake(Value object) {
    tensor::TensorImpl* impl = vm::tensor_of(object).impl();
    if (impl->storage->bytes() != 0 || impl->numel == 0) return;
    impl->sizes = {0};
    impl->strides = {1};
    impl->numel = 0;
    impl->contiguous = true;
    impl->layout.store(nullptr, std::memory_order_relaxed);
}

graph::SymbolValues symbol_values(const Segment& segment, const Value* slots) {
    return [&segment, slots](uint32_t symbol) {
        const SymbolSource& source = segment.symbols[symbol];
        Value value = source.slot < 0 ? segment.constants[static_cast<size_t>(~source.slot)].get() : slots[source.slot];
        return source.dim == SymbolSource::kInt ? value.i : vm::tensor_of(value).sizes()[source.dim];
    };
}

Ref promise(Vm& vm, const TensorGuard& like, bool requires_grad, vm::Class* cls, const graph::SymbolValues& symbols) {
    auto nothing_on = [](tensor::Device device) { return tensor::Storage::wrap(nullptr, 0, device, true, [] {}); };
    static const tensor::Ref<tensor::Storage> nothing = nothing_on({});
    bool on_cpu = like.layout->device.type == tensor::DeviceType::Cpu;
    tensor::Dims sizes = like.shape.empty() ? like.sizes : graph::concrete(like.shape, symbols);
    tensor::Dims strides = like.shape.empty() ? like.strides : tensor::contiguous_strides(sizes);
    Tensor tensor(on_cpu ? nothing : nothing_on(like.layout->device), like.layout->dtype, sizes, strides, 0);
    tensor.set_requires_grad(requires_grad);
    return vm::wrap_as(vm, tensor, cls);
}

bool is_promise(const Tensor& tensor) { return !tensor.storage().data() && tensor.numel() > 0; }

Tensor view_of(tensor::Context& context, const TensorInfo& info, Tensor root, const graph::SymbolValues& symbols) {
    autograd::GradMode mode(context, info.requires_grad);
    if (planted("view-step") && info.steps.size() > 1) return view_of(context, {info.root, {info.steps[0]}}, root, symbols);
    for (const ViewStep& step : info.steps) {
        root = autograd::apply(context, step.op, std::span(&root, 1), graph::concrete(step.attrs, symbols));
    }
    if (info.leaf && !root.requires_grad()) autograd::set_requires_grad(root, true);
    return root;
}

bool prepare_fragment(Fragment& fragment, const Options& options) {
    if (options.backend == "eager") return false;
    fragment.gradient = make_gradient(fragment, options.backend != "inductor");
    std::vector<graph::Value> outputs;
    inductor::FragmentSpec& spec = fragment.spec;
    for (size_t i = 0; i < fragment.outputs.size(); ++i) {
        outputs.push_back(fragment.outputs[i].value);
        spec.orders.push_back(fragment.outputs[i].order);
        if (!fragment.outputs[i].write_back) continue;
        for (size_t input = 0; input < fragment.inputs.size(); ++input) {
            if (!fragment.inputs[input].number && fragment.inputs[input].slot == fragment.outputs[i].slot) {
                spec.writes.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(input)});
            }
        }
    }
    if (fragment.gradient) {
        for (graph::Value saved : fragment.gradient->saved) {
            outputs.push_back(saved);
            spec.orders.emplace_back();
        }
    }
    for (graph::Value check : fragment.checks) {
        outputs.push_back(check);
        spec.orders.emplace_back();
    }
    fragment.graph.set_outputs(std::move(outputs));
    spec.graph = &fragment.graph;
    spec.layouts = fragment.layouts;
    spec.replay = options.mode == "reduce-overhead" || options.mode == "max-autotune";
    spec.name = "fragment";
    return options.backend == "inductor";
}

void compile_fragment(Fragment& fragment, inductor::Backend& backend) {
    auto started = std::chrono::steady_clock::now();
    try {
        fragment.code = backend.compile(fragment.spec);
        fragment.backend = &backend;
    } catch (const std::exception& error) {
        fragment.failure = error.what();
    }
    fragment.compile_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count();
}

void launch(Vm& vm, const Segment& segment, size_t index, Value* slots, uint64_t& launches) {
    Fragment& fragment = *segment.fragments[index];
    std::vector<Tensor> results;
    tensor::Observer* observer = std::exchange(vm.tensors.observer, nullptr);
    struct Restore {
        Vm& vm;
        tensor::Observer* observer;
        ~Restore() { vm.tensors.observer = observer; }
    } restore{vm, observer};
    bool written = false;
    std::vector<Tensor> arguments;
    arguments.reserve(fragment.inputs.size());
    for (size_t i = 0; i < fragment.inputs.size(); ++i) {
        arguments.push_back(fragment_input(vm, fragment, i, segment, slots));
    }
    graph::SymbolValues symbols = symbol_values(segment, slots);
    auto holds = [&](const graph::DimFact& fact) { return graph::holds(fact, symbols); };
    // What was made ahead of time may rest on more than the graph itself.
    FragmentGradient* gradient = fragment.gradient.get();
    if (gradient && !std::all_of(gradient->whole().assumes.begin(), gradient->whole().assumes.end(), holds)) gradient = nullptr;
    bool compiled = fragment.ready.load(std::memory_order_acquire) && fragment.code && gradient == fragment.gradient.get();
    if (compiled) {
        auto assumes = fragment.code->assumes();
        compiled = std::all_of(assumes.begin(), assumes.end(), holds);
    }
    size_t saved = gradient ? gradient->saved.size() : 0;
    tensor::Ref<autograd::GradNode> node;
    if (gradient) node = start_gradient(segment.fragments[index], arguments);
    if (compiled) {
        results.resize(fragment.outputs.size() + saved + fragment.checks.size());
        fragment.code->run(vm.tensors, arguments, results);
        launches += fragment.code->launches();
        written = true;
    } else {
        std::vector<graph::Value> wanted;
        std::vector<uint32_t> writes;
        for (const Fragment::Output& output : fragment.outputs) {
            wanted.push_back(output.value);
            writes.push_back(output.write_back ? 0 : output.writes);
        }
        if (gradient) wanted.insert(wanted.end(), gradient->saved.begin(), gradient->saved.end());
        wanted.insert(wanted.end(), fragment.checks.begin(), fragment.checks.end());
        results = evaluate(vm.tensors, fragment, wanted, [&](size_t i) { return arguments[i]; }, !gradient, symbols, writes);
        separate(vm.tensors, std::span(results).first(fragment.outputs.size()), arguments);
        launches++;
    }
    auto first_saved = results.begin() + static_cast<int64_t>(fragment.outputs.size());
    std::vector<Tensor> kept(first_saved, first_saved + static_cast<int64_t>(saved));
    // A value that is given out and kept is one tensor, so that a write to it is noticed.
    for (size_t k = 0; k < kept.size(); ++k) {
        for (size_t i = 0; i < fragment.outputs.size(); ++i) {
            if (fragment.outputs[i].value != gradient->saved[k] || fragment.outputs[i].write_back) continue;
            if (gradient->watched[k]) {
                kept[k] = results[i];
            } else if (kept[k].shares_storage(results[i])) {
                autograd::GradMode mode(vm.tensors, false);
                kept[k] = autograd::apply(vm.tensors, tensor::Op::Clone, std::span(&kept[k], 1));
            }
        }
    }
    auto place = [&](const Fragment::Output& output, const Tensor& value) {
        raise_version(value, output.writes);
        if (output.promised) {
            fulfil(slots[output.slot], value);
        } else {
            vm::Ref object = vm::wrap_as(vm, value, output.cls);
            vm::decref(std::exchange(slots[output.slot], object.release()));
        }
    };
    std::vector<Tensor> taped;
    std::vector<size_t> taped_outputs;
    for (size_t i = 0; i < fragment.outputs.size(); ++i) {
        const Fragment::Output& output = fragment.outputs[i];
        if (output.write_back) {
            if (planted("write-back")) continue;
            const Tensor& target = vm::tensor_of(slots[output.slot]);
            if (!written) {
                autograd::GradMode mode(vm.tensors, false);
                autograd::copy_into(vm.tensors, results[i], target);
            }
            if (output.writes > 1) count_writes(target, output.writes - 1);  // one has been counted
            continue;
        }
        Tensor value = results[i];
        bool forgotten = planted("requires-grad");
        if ((!output.requires_grad || output.leaf || forgotten) && value.requires_grad()) value = value.detached();
        if (!output.requires_grad) value = laid_out(vm.tensors, value, output.order);
        if (output.leaf) value.set_requires_grad(true);
        if (!output.leaf && gradient && output.requires_grad && !output.spent) {
            taped.push_back(value);
            taped_outputs.push_back(i);
            continue;
        }
        if (output.requires_grad && output.spent && !output.leaf) {
            value = value.detached();
            autograd::attach(vm.tensors, autograd::spent_node(output.grad_name), std::span(&value, 1));
        }
        place(output, value);
    }
    if (!taped.empty()) {
        attach_gradient(vm.tensors, node, kept, taped);
        for (size_t k = 0; k < taped.size(); ++k) place(fragment.outputs[taped_outputs[k]], taped[k]);
    }
    for (const PendingView& view : fragment.views) {
        const TensorInfo& info = segment.tensors[view.tensor];
        int32_t root = -1;
        for (const Fragment::Output& output : fragment.outputs) {
            if (output.root == info.root) root = output.slot;
        }
        fulfil(slots[view.object], view_of(vm.tensors, info, vm::tensor_of(slots[root]), symbol_values(segment, slots)));
    }
}

}  // namespace talc::jit
