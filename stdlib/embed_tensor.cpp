// The public API's tensors: memory that host and script share.
#include <cstring>

#include "stdlib/engine.hpp"
#include "tensor/layout.hpp"
#include "tensor/observer.hpp"
#include "vm/tensor.hpp"

namespace talc::detail {

namespace {

using tensor::DType;

constexpr DType kDTypes[] = {DType::Bool,  DType::UInt8,   DType::Int8,     DType::Int16,   DType::Int32,
                             DType::Int64, DType::Float16, DType::BFloat16, DType::Float32, DType::Float64};

[[noreturn]] void refuse(vm::Vm& machine, const std::string& message) { vm::raise(machine, vm::Exc::ValueError, message); }

// Bytes from the first element to the end of the last one.
size_t extent(vm::Vm& machine, const tensor::Dims& sizes, const tensor::Dims& strides, size_t element) {
    size_t last = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d] < 0 || strides[d] < 0) refuse(machine, "sizes and strides of a tensor over memory cannot be negative");
        if (sizes[d] == 0) return 0;
        size_t step;
        if (__builtin_mul_overflow(static_cast<size_t>(sizes[d] - 1), static_cast<size_t>(strides[d]), &step) ||
            __builtin_add_overflow(last, step, &last)) {
            refuse(machine, "the tensor is larger than memory");
        }
    }
    size_t bytes;
    if (__builtin_mul_overflow(last + 1, element, &bytes)) refuse(machine, "the tensor is larger than memory");
    return bytes;
}

vm::Ref share(vm::Vm& machine, const TensorView& view) {
    auto type = static_cast<size_t>(view.type);
    if (type >= std::size(kDTypes)) refuse(machine, "no such type of elements");
    DType dtype = kDTypes[type];
    tensor::Dims sizes, strides;
    for (int64_t size : view.sizes) sizes.push_back(size);
    if (view.strides.empty()) {
        strides = tensor::contiguous_strides(sizes);
    } else {
        if (view.strides.size() != view.sizes.size()) refuse(machine, "a tensor has as many strides as sizes");
        for (int64_t stride : view.strides) strides.push_back(stride);
    }
    size_t bytes = extent(machine, sizes, strides, tensor::size_of(dtype));
    if (!view.data && bytes > 0) refuse(machine, "a tensor over no memory");
    if (reinterpret_cast<uintptr_t>(view.data) % tensor::size_of(dtype) != 0) {
        refuse(machine, "the memory is not aligned to its elements");
    }
    std::shared_ptr<const void> owner = view.owner;
    auto storage = tensor::Storage::wrap(view.data, bytes, tensor::Device{}, view.read_only, [owner] {});
    tensor::Tensor made(std::move(storage), dtype, std::move(sizes), std::move(strides), 0);
    if (machine.tensors.observer) machine.tensors.observer->made(made);
    return vm::wrap(machine, made);
}

TensorView shown(vm::Vm& machine, vm::Value v) {
    if (!vm::is_tensor(v)) vm::raise(machine, vm::Exc::TypeError, "expected a Tensor, got {}", vm::class_name(machine, v));
    tensor::Tensor x = vm::readable(machine, vm::tensor_of(v));
    TensorView view;
    view.data = x.data();
    for (size_t i = 0; i < std::size(kDTypes); ++i) {
        if (kDTypes[i] == x.dtype()) view.type = static_cast<ElementType>(i);
    }
    for (int64_t size : x.sizes()) view.sizes.push_back(size);
    for (int64_t stride : x.strides()) view.strides.push_back(stride);
    view.read_only = x.storage().read_only();
    view.owner = std::make_shared<tensor::Ref<tensor::Storage>>(x.storage_ref());
    return view;
}

template <class F>
auto guarded(EngineState* engine, F&& body) {
    try {
        return vm::with_tensor_errors(engine->vm, [&] { return body(engine->vm); });
    } catch (vm::Raised&) {
        vm::Ref exception = engine->vm.take_raised();
        throw engine->error_of(exception);
    } catch (std::bad_alloc&) {
        throw Error("MemoryError", {}, "MemoryError\n", {});
    }
}

}  // namespace

Raw make_tensor(EngineState* engine, const TensorView& view) {
    vm::Value made = guarded(engine, [&](vm::Vm& machine) { return share(machine, view).release(); });
    Raw raw;
    std::memcpy(static_cast<void*>(&raw), &made, sizeof raw);
    return raw;
}

TensorView view_of(EngineState* engine, Raw raw) {
    vm::Value v;
    std::memcpy(static_cast<void*>(&v), &raw, sizeof v);
    return guarded(engine, [&](vm::Vm& machine) { return shown(machine, v); });
}

}  // namespace talc::detail
