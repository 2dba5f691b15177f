#include "inductor/cuda/eager.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "inductor/cuda/blas.hpp"
#include "inductor/cuda/eager_call.hpp"
#include "inductor/cuda/matmul.hpp"
#include "inductor/cuda/room.hpp"
#include "tensor/convert.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "tensor/kernels.hpp"
#include "tensor/strided.hpp"
#include "tensor/transfer.hpp"
#include "tensor/views.hpp"

namespace talc::inductor::cuda {

using tensor::Attrs;
using tensor::Context;
using tensor::Device;
using tensor::DeviceType;
using tensor::Dims;
using tensor::DType;
using tensor::Inferred;
using tensor::Kind;
using tensor::Op;
using tensor::Scalar;
using tensor::Tensor;
using tensor::Tensors;

namespace {

Dims order_of(const Dims& sizes, const Dims& strides) {
    if (tensor::is_contiguous(sizes, strides)) return {};
    Dims order(strides.size(), 0);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return strides[static_cast<size_t>(a)] > strides[static_cast<size_t>(b)];
    });
    return order;
}

loops::ValueId load(loops::Kernel& kernel, uint32_t buffer, Dim index) {
    loops::Value value(loops::Value::Load);
    value.dtype = kernel.buffers[buffer].dtype;
    value.buffer = buffer;
    value.index = index;
    return kernel.add(value);
}

loops::ValueId apply(loops::Kernel& kernel, Op op, DType dtype, std::initializer_list<loops::ValueId> operands) {
    loops::Value value(loops::Value::Apply);
    value.op = op;
    value.dtype = dtype;
    for (loops::ValueId operand : operands) value.operands[value.operand_count++] = operand;
    return kernel.add(value);
}

loops::ValueId cast(loops::Kernel& kernel, loops::ValueId value, DType dtype) {
    return kernel.values[value].dtype == dtype ? value : apply(kernel, Op::Cast, dtype, {value});
}

uint64_t address_of(const Tensor& tensor) { return reinterpret_cast<uint64_t>(tensor.data()); }

// The element of a 0-dim tensor on the CPU, as a kernel's word.
uint64_t word_of(const Tensor& tensor) {
    uint64_t word = 0;
    std::memcpy(&word, tensor.data(), size_of(tensor.dtype()));
    return word;
}

uint64_t word_of(Scalar value, DType dtype) {
    uint64_t word = 0;
    if (value.category == tensor::Category::Float) {
        tensor::convert_row(DType::Float64, &value.f, 0, dtype, &word, 1, 1);
    } else {
        tensor::convert_row(DType::Int64, &value.i, 0, dtype, &word, 1, 1);
    }
    return word;
}

}  // namespace

std::unique_ptr<CudaExecutable> CudaOps::compile(const Call& call) {
    auto lowered = [&](bool symbols) -> std::optional<Lowered> {
        graph::Graph graph(call.default_float);
        std::vector<std::pair<int64_t, Dim>> sizes;
        auto dim_of = [&](int64_t size) -> Dim {
            if (size < 2 || !symbols) return Dim(size);
            for (auto& [known, dim] : sizes) {
                if (known == size) return dim;
            }
            sizes.emplace_back(size, graph.dims().fresh(size));
            return sizes.back().second;
        };
        FragmentSpec spec;
        auto input = [&](const Tensor& tensor) {
            graph::TensorType type = graph::type_of(tensor);
            for (size_t d = 0; d < type.shape.size(); ++d) type.shape[d] = dim_of(tensor.sizes()[d]);
            spec.layouts.push_back(tensor.layout_class());
            return graph.input(std::move(type));
        };
        std::vector<graph::Value> operands;
        graph::Value target = call.target ? input(*call.target) : nullptr;
        for (const Tensor& operand : call.inputs) {
            if (call.is_constant(operand)) {
                operands.push_back(graph.number(tensor::item(operand)));
            } else if (target && same_elements(operand, *call.target)) {
                operands.push_back(target);
            } else {
                operands.push_back(input(operand));
            }
        }
        graph::Value node = stores_at_places(call.op) ? places_of(graph, call.op, operands, call.attrs)
                                                      : graph.add(call.op, operands, graph::symbolic(call.attrs));
        std::vector<graph::Value> outputs;
        if (node->types.size() == 1) {
            outputs.push_back(node);
        } else {
            for (size_t o = 0; o < node->types.size(); ++o) outputs.push_back(graph.output(node, static_cast<int64_t>(o)));
        }
        if (call.target) {
            if (node->dtype() != call.target->dtype()) {
                graph::Attrs to;
                to.dtype = call.target->dtype();
                outputs[0] = graph.add(Op::Cast, {node}, to);
            }
            spec.writes.push_back({0, 0});
            spec.writes_apart = true;
        }
        graph.set_outputs(outputs);
        spec.graph = &graph;
        spec.orders.assign(outputs.size(), call.order);
        spec.name = tensor::name_of(call.op);
        Lowered result = lower(spec, {.random_in_loops = true, .device = room_.device});
        // What was found by looking at the sizes at hand holds for them alone.
        if (symbols && !graph.dims().facts().empty()) return std::nullopt;
        return result;
    };
    std::optional<Lowered> plan;
    try {
        plan = lowered(true);
    } catch (const tensor::Error&) {
        // Sizes decide: they are numbers then.
    }
    if (!plan) plan = lowered(false);
    for (const Step& step : plan->plan.steps) {
        if (step.kind == Step::Operator || step.kind == Step::Matmul) return nullptr;
    }
    auto code = std::make_unique<CudaExecutable>(std::move(*plan), room_, false);
    code->leave_versions();
    return code;
}

CudaExecutable* CudaOps::code_of(const Call& call) {
    auto found = known_.find(call.key);
    if (found != known_.end()) return found->second.get();
    // Code that was made for sizes as numbers is known by them.
    std::string exact = call.key;
    for (const Tensor& input : call.inputs) {
        for (int64_t size : input.sizes()) exact.append(reinterpret_cast<const char*>(&size), sizeof size);
    }
    found = known_.find(exact);
    if (found != known_.end()) return found->second.get();
    std::unique_ptr<CudaExecutable> code = compile(call);
    bool general = !code || code->takes_any_size();
    return (known_[general ? call.key : exact] = std::move(code)).get();
}

void CudaOps::run(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred& inferred,
                  std::span<Tensor> results) {
    try {
        run_unnamed(context, op, inputs, attrs, inferred, results);
    } catch (const GpuError& error) {
        tensor::fail(error.kind(), "{}: {}", name_of(op), error.what());
    }
}

void CudaOps::run_unnamed(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred& inferred,
                          std::span<Tensor> results) {
    switch (op) {
        case Op::Number: results[0] = tensor::number(context, attrs.value); return;
        case Op::Size: results[0] = tensor::number(context, Scalar(attrs.start)); return;
        case Op::Full:
        case Op::Arange:
        case Op::Rand:
        case Op::Randn:
            results[0] = tensor::empty(context, inferred.shape, inferred.dtypes[0], inferred.device);
            return create(context, op, inputs, attrs, results[0]);
        case Op::Matmul:
            if (!has_product(inferred.dtypes[0])) break;  // of integers: loops
            results[0] = tensor::empty(context, inferred.shape, inferred.dtypes[0], inferred.device);
            return multiply(context, inputs, results[0]);
        case Op::Clone:
        case Op::Contiguous:
        case Op::Cast: {
            Dims strides = op == Op::Contiguous ? tensor::contiguous_strides(inferred.shape)
                                                : tensor::pointwise_strides(inferred.shape, inputs);
            results[0] = tensor::empty_strided(context, inferred.shape, std::move(strides), inferred.dtypes[0], inferred.device);
            return copy_elements(context, inputs[0], results[0]);
        }
        case Op::IndexPut:
        case Op::IndexAdd:
        case Op::ScatterAdd:
            if (!scatter(context, op, inputs, attrs, inferred, false, results[0])) run_on_host(context, op, inputs, attrs, results);
            return;
        case Op::Pow: tensor::check_power(inputs, inferred.dtypes[0]); break;
        default: break;
    }
    Dims order;
    if (tensor::info(op).kind == Kind::Pointwise) {
        order = order_of(inferred.shape, tensor::pointwise_strides(inferred.shape, inputs));
    }
    std::lock_guard lock(mutex_);
    Call call(context, op, inputs, attrs, nullptr, std::move(order));
    CudaExecutable* code = code_of(call);
    if (!code) return run_on_host(context, op, inputs, attrs, results);
    std::vector<Tensor> arguments;
    for (const Tensor& input : inputs) {
        if (!call.is_constant(input)) arguments.push_back(input);
    }
    code->run(context, arguments, results);
}

void CudaOps::pointwise_into(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred&,
                             const Tensor& target) {
    if (op == Op::Cast || op == Op::Clone || op == Op::Contiguous) return copy_elements(context, inputs[0], target);
    std::lock_guard lock(mutex_);
    Call call(context, op, inputs, attrs, &target, {});
    CudaExecutable* code = code_of(call);
    Tensor result;
    if (!code) {
        run_on_host(context, op, inputs, attrs, std::span(&result, 1));
        return copy_elements(context, result, target);
    }
    std::vector<Tensor> arguments = {target};
    for (const Tensor& input : inputs) {
        if (!call.is_constant(input) && !same_elements(input, target)) arguments.push_back(input);
    }
    code->run(context, arguments, std::span(&result, 1));
}

void CudaOps::copy_elements(Context& context, const Tensor& given, const Tensor& to) {
    if (to.numel() == 0) return;
    Tensor from = given;
    bool by_value = from.rank() == 0 && from.device().type == DeviceType::Cpu;
    if (!by_value && !(from.device() == to.device())) from = tensor::to_device(context, from, to.device());
    bool plain = from.dtype() == to.dtype() && from.is_contiguous() && to.is_contiguous() && from.numel() == to.numel();
    if (plain && !by_value) {
        return room_.gpu->copy_within(to.data(), from.data(), static_cast<size_t>(to.numel()) * size_of(to.dtype()));
    }
    if (by_value && to.is_contiguous() && word_of(from) == 0) {
        return room_.gpu->set_zero(to.data(), static_cast<size_t>(to.numel()) * size_of(to.dtype()));
    }
    tensor::LoopNest<2> nest(to.sizes(), {to.strides(), tensor::broadcast_strides(from, to.sizes())});
    size_t rank = nest.sizes.size();
    // Strides of 0 and 1 along the innermost loop are part of the code: neighbours are then moved together.
    auto fixed = [&](size_t operand, size_t d) { return d == 0 && (nest.strides[operand][d] == 0 || nest.strides[operand][d] == 1); };
    Key key;
    key.add('c');
    key.add(from.dtype());
    key.add(to.dtype());
    key.add(rank);
    key.add(by_value);
    for (size_t operand = 0; operand < 2; ++operand) key.add(fixed(operand, 0) ? nest.strides[operand][0] : int64_t{-1});
    const KernelCode& code = small_kernel(
        key.text(),
        [&](loops::Kernel& kernel) {
            kernel.name = "copy";
            kernel.buffers = {{to.dtype(), true}, {from.dtype(), false}};
            Dim places[2] = {Dim(0), Dim(0)};
            uint32_t next = 0;
            auto param = [&] {
                kernel.params.push_back(Dim::symbol(next));
                return Dim::symbol(next++);
            };
            for (size_t d = rank; d-- > 0;) kernel.parallel.push_back(param());
            for (size_t operand = 0; operand < 2; ++operand) {
                for (size_t d = rank; d-- > 0;) {
                    Dim stride = param();
                    if (fixed(operand, d)) stride = Dim(nest.strides[operand][d]);
                    places[operand] = places[operand] + stride * loops::parallel_var(rank - 1 - d);
                }
            }
            loops::ValueId value = load(kernel, 1, by_value ? Dim(0) : places[1]);
            kernel.stores.push_back({0, places[0], cast(kernel, value, to.dtype())});
        },
        {false, by_value});
    std::vector<uint64_t> words = {address_of(to), by_value ? word_of(from) : address_of(from)};
    for (size_t d = rank; d-- > 0;) words.push_back(static_cast<uint64_t>(nest.sizes[d]));
    for (size_t operand = 0; operand < 2; ++operand) {
        for (size_t d = rank; d-- > 0;) words.push_back(static_cast<uint64_t>(nest.strides[operand][d]));
    }
    words.push_back(0);
    launch_small(code, to.numel(), words);
}

void CudaOps::create(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Tensor& out) {
    if (out.numel() == 0) return;
    if (op == Op::Full) return copy_elements(context, tensor::number(context, attrs.value), out);
    DType dtype = out.dtype();
    bool random = op != Op::Arange;
    DType wide = random || !tensor::is_float(dtype) ? DType::Int64 : DType::Float64;
    Key key;
    key.add(op);
    key.add(dtype);
    const KernelCode& code = small_kernel(
        key.text(),
        [&](loops::Kernel& kernel) {
            kernel.name = std::string(tensor::name_of(op));
            kernel.buffers = {{dtype, true}, {wide, false}, {wide, false}};
            kernel.params = {Dim::symbol(0)};
            kernel.parallel = {Dim::symbol(0)};
            Dim at = loops::parallel_var(0);
            loops::ValueId first = load(kernel, 1, Dim(0)), second = load(kernel, 2, Dim(0)), value;
            if (random) {
                loops::Value made(loops::Value::Random);
                made.op = op;
                made.dtype = DType::Float32;
                made.operand_count = 2;
                made.operands = {first, second, 0};
                made.index = at;
                value = kernel.add(made);
            } else {
                loops::Value index(loops::Value::Index);
                index.dtype = DType::Int64;
                index.index = at;
                loops::ValueId steps = apply(kernel, Op::Mul, wide, {cast(kernel, kernel.add(index), wide), second});
                value = apply(kernel, Op::Add, wide, {first, steps});
            }
            kernel.stores.push_back({0, at, cast(kernel, value, dtype)});
        },
        {false, true, true});
    Scalar first = random ? tensor::item(inputs[0]) : attrs.value, second = random ? tensor::item(inputs[1]) : attrs.delta;
    launch_small(code, out.numel(),
                 {address_of(out), word_of(first, wide), word_of(second, wide), static_cast<uint64_t>(out.numel()), 0});
}

void CudaOps::multiply(Context& context, Tensors inputs, const Tensor& out) {
    if (out.numel() == 0) return;
    const Tensor *a = &inputs[0], *b = &inputs[1];
    Tensor plain_a, plain_b;
    if (a->size(a->rank() - 1) == 0) return room_.gpu->set_zero(out.data(), static_cast<size_t>(out.numel()) * size_of(out.dtype()));
    MatmulShape shape = matmul_shape({a->sizes(), a->strides()}, {b->sizes(), b->strides()}, {out.sizes(), out.strides()});
    auto calls = matmul_calls(shape, out.dtype());
    if (!calls) {
        plain_a = tensor::contiguous(context, *a);
        plain_b = tensor::contiguous(context, *b);
        a = &plain_a;
        b = &plain_b;
        shape = matmul_shape({a->sizes(), a->strides()}, {b->sizes(), b->strides()}, {out.sizes(), out.strides()});
        calls = matmul_calls(shape, out.dtype());
        if (!calls) tensor::fail("matmul: strides {} and {} make no matrices", tensor::bracketed(a->strides()), tensor::bracketed(b->strides()));
    }
    uint64_t left = address_of(shape.swapped ? *b : *a), right = address_of(shape.swapped ? *a : *b);
    for (MatmulCall& call : *calls) {
        call.a += right;
        call.b += left;
        call.c += address_of(out);
        room_.gpu->multiply(call);
    }
}

void CudaOps::run_on_host(Context& context, Op op, Tensors inputs, const Attrs& attrs, std::span<Tensor> results) {
    std::vector<Tensor> there;
    for (const Tensor& input : inputs) {
        there.push_back(tensor::to_device(context, input, Device{}));
        if (input.is_weak()) there.back().impl()->weak = true;
    }
    ++host_runs_[static_cast<size_t>(op)];
    Attrs own = attrs;
    own.device = Device{};
    tensor::run(context, op, there, own, results);
    for (Tensor& result : results) result = tensor::to_device(context, result, room_.device);
}

const KernelCode& CudaOps::small_kernel(const std::string& key, const std::function<void(loops::Kernel&)>& write,
                                        std::vector<bool> by_value) {
    std::lock_guard lock(mutex_);
    const KernelCode*& known = small_[key];
    if (!known) {
        loops::Kernel kernel;
        write(kernel);
        loops::verify(kernel);
        Programs::Wanted wanted{&kernel, std::move(by_value)};
        known = room_.programs.load(std::span(&wanted, 1))[0];
    }
    return *known;
}

void CudaOps::launch_small(const KernelCode& code, int64_t points, const std::vector<uint64_t>& words) {
    room_.gpu->launch(code, grid_of(code.launch, points, 0), words.data());
}

}  // namespace talc::inductor::cuda
