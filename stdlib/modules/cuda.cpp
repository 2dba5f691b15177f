// GPUs, as a program asks about them.
#include "inductor/cuda/room.hpp"
#include "jit/jit.hpp"
#include "stdlib/modules.hpp"
#include "stdlib/tensor_support.hpp"

namespace talc::stdlib {

namespace cuda = inductor::cuda;

namespace {

constexpr tensor::Device kFirst{tensor::DeviceType::Cuda, 0};

// A GPU, its name or its number; None: the first.
tensor::Device gpu_arg(Vm& vm, Value v) {
    tensor::Device device = given(v) ? device_arg(vm, v) : kFirst;
    if (device.type != tensor::DeviceType::Cuda) raise(vm, Exc::ValueError, "Expected a cuda device, but got: {}", to_string(device));
    return device;
}

cuda::CachingMemory::Counts counts(Vm& vm, const Args& args) { return cuda::room_of(gpu_arg(vm, args[0])).memory.counts(); }
Ref bytes(size_t count) { return integer(static_cast<int64_t>(count)); }

}  // namespace

Ref cuda_is_available(Vm&, const Args&) { return boolean(cuda::device_count() > 0); }
Ref cuda_device_count(Vm&, const Args&) { return integer(static_cast<int64_t>(cuda::device_count())); }
Ref cuda_get_device_name(Vm& vm, const Args& args) { return make_str(vm, cuda::room_of(gpu_arg(vm, args[0])).gpu->name()); }
Ref cuda_memory_allocated(Vm& vm, const Args& args) { return bytes(counts(vm, args).allocated); }
Ref cuda_max_memory_allocated(Vm& vm, const Args& args) { return bytes(counts(vm, args).peak); }
Ref cuda_memory_reserved(Vm& vm, const Args& args) { return bytes(counts(vm, args).reserved); }

Ref cuda_reset_peak_memory_stats(Vm& vm, const Args& args) {
    cuda::room_of(gpu_arg(vm, args[0])).memory.forget_peak();
    return none();
}

Ref cuda_empty_cache(Vm&, const Args&) {
    for (size_t i = 0; i < cuda::device_count(); ++i) {
        cuda::room_of({tensor::DeviceType::Cuda, static_cast<uint8_t>(i)}).memory.release_unused();
    }
    return none();
}

// Without a GPU there is nothing to wait for.
Ref synchronize(Vm& vm, const Args& args) {
    if (given(args[0]) || cuda::device_count() > 0) {
        tensor::Device device = given(args[0]) ? device_arg(vm, args[0]) : kFirst;
        if (device.type == tensor::DeviceType::Cuda) cuda::room_of(device).gpu->synchronize();
    }
    return none();
}

Ref set_default_device(Vm& vm, const Args& args) {
    tensor::Device device = given(args[0]) ? device_arg(vm, args[0]) : tensor::Device{};
    if (device == vm.tensors.default_device) return none();
    vm.tensors.room(device);  // fails when there is none
    vm.tensors.default_device = device;
    // Compiled code makes its tensors where they were made before.
    if (jit::Jit* compiled = jit::Jit::of(vm)) compiled->reset();
    return none();
}

Ref get_default_device(Vm& vm, const Args&) { return device_value(vm, vm.tensors.default_device); }

void fill_cuda(Vm&, Module*) {}

}  // namespace talc::stdlib
