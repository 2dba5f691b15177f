#include "tensor/storage.hpp"

#include "tensor/context.hpp"
#include "tensor/error.hpp"
#include "tensor/tensor.hpp"

namespace talc::tensor {

namespace {
// What a tensor costs besides its elements, so that a heap of small ones meets the limit, too.
constexpr size_t kOverhead = sizeof(Storage) + sizeof(TensorImpl);
}  // namespace

Ref<Storage> Storage::allocate(size_t bytes, Device device, DeviceMemory& memory, std::shared_ptr<MemoryMeter> meter) {
    Ref<Storage> storage(new Storage);
    storage->device_ = device;
    if (meter && !meter->reserve(bytes + kOverhead)) {
        fail(ErrorKind::Memory, "a tensor of {} bytes on {} would pass the memory limit", bytes, to_string(device));
    }
    if (bytes <= kInlineBytes && device.type == DeviceType::Cpu) {
        storage->data_ = storage->inline_;
    } else {
        storage->data_ = memory.allocate(bytes);
        if (!storage->data_) {
            if (meter) meter->release(bytes + kOverhead);
            fail(ErrorKind::Memory, "out of memory: cannot allocate {} bytes on {}", bytes, to_string(device));
        }
        storage->memory_ = &memory;
    }
    storage->bytes_ = bytes;
    storage->meter_ = std::move(meter);
    return storage;
}

Ref<Storage> Storage::wrap(void* data, size_t bytes, Device device, bool read_only, std::function<void()> release) {
    Ref<Storage> storage(new Storage);
    storage->data_ = data;
    storage->bytes_ = bytes;
    storage->device_ = device;
    storage->read_only_ = read_only;
    storage->release_ = std::move(release);
    return storage;
}

Storage::~Storage() {
    if (memory_) memory_->deallocate(data_, bytes_);
    if (meter_) meter_->release(bytes_ + kOverhead);
    if (release_) release_();
}

DeviceRoom Context::room(Device device) const {
    if (device.type == DeviceType::Cpu) return {&cpu_memory(), nullptr};
    if (!find_device) fail("there is no device {} here", to_string(device));
    return find_device(device);
}

}  // namespace talc::tensor
