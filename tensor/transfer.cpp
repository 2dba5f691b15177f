#include "tensor/transfer.hpp"

#include "tensor/factory.hpp"
#include "tensor/views.hpp"

namespace talc::tensor {

namespace {

// Elements from the first to the last one in memory.
int64_t extent_of(const Tensor& x) {
    if (x.numel() == 0) return 0;
    int64_t last = 0;
    for (int64_t d = 0; d < x.rank(); ++d) last += (x.size(d) - 1) * x.stride(d);
    return last + 1;
}

}  // namespace

Tensor to_device(Context& context, const Tensor& x, Device device) {
    if (x.device() == device) return x;
    DeviceMemory& target = context.memory(device);
    Tensor source = extent_of(x) == x.numel() ? x : contiguous(context, x);
    Tensor moved = empty_strided(context, source.sizes(), source.strides(), source.dtype(), device);
    size_t bytes = static_cast<size_t>(source.numel()) * size_of(source.dtype());
    if (bytes == 0) return moved;
    bool from_host = source.device().type == DeviceType::Cpu;
    bool to_host = device.type == DeviceType::Cpu;
    if (from_host) {
        target.copy_from_host(moved.data(), source.data(), bytes);
    } else if (to_host) {
        context.memory(source.device()).copy_to_host(moved.data(), source.data(), bytes);
    } else {
        Tensor between = to_device(context, source, Device{});
        return to_device(context, between, device);
    }
    return moved;
}

Tensor on_host(const Tensor& x) {
    if (x.device().type == DeviceType::Cpu) return x;
    int64_t extent = extent_of(x);
    size_t bytes = static_cast<size_t>(extent) * size_of(x.dtype());
    Ref<Storage> storage = Storage::allocate(bytes, Device{}, cpu_memory(), nullptr);
    if (bytes) x.storage().memory()->copy_to_host(storage->data(), x.data(), bytes);
    return Tensor(std::move(storage), x.dtype(), x.sizes(), x.strides(), 0);
}

}  // namespace talc::tensor
