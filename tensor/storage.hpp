#pragma once
// A counted block of device memory. Tensors that alias share one; its version counts the writes to it, so that
// autograd notices when a saved value has been changed.
#include <atomic>
#include <functional>
#include <memory>

#include "tensor/counted.hpp"
#include "tensor/device.hpp"

namespace talc::tensor {

class Storage final : public Counted {
  public:
    // Fails with a MemoryError when the meter or the device refuses. Contents are undefined.
    static Ref<Storage> allocate(size_t bytes, Device device, DeviceMemory& memory,
                                 std::shared_ptr<MemoryMeter> meter);
    // Memory that somebody else owns (a host's buffer, a mapped file); `release` is called when the last
    // reference goes. A read-only storage refuses in-place operators.
    static Ref<Storage> wrap(void* data, size_t bytes, Device device, bool read_only,
                             std::function<void()> release);
    ~Storage() override;

    void* data() const { return data_; }
    size_t bytes() const { return bytes_; }
    Device device() const { return device_; }
    bool read_only() const { return read_only_; }
    // Where it was allocated; null for memory of others and for what lies inside.
    DeviceMemory* memory() const { return memory_; }

    uint32_t version() const { return version_.load(std::memory_order_relaxed); }
    void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

  private:
    Storage() = default;

    void* data_ = nullptr;
    size_t bytes_ = 0;
    Device device_;
    bool read_only_ = false;
    std::atomic<uint32_t> version_{0};
    DeviceMemory* memory_ = nullptr;  // null: nothing to free
    std::shared_ptr<MemoryMeter> meter_;
    std::function<void()> release_;
    // Scalars and the like on the CPU live here.
    static constexpr size_t kInlineBytes = 32;
    alignas(16) char inline_[kInlineBytes];
};

}  // namespace talc::tensor
