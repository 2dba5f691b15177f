#pragma once
// Where tensors live, and what a device must offer so that tensors can live there.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace talc::tensor {

enum class DeviceType : uint8_t { Cpu, Cuda };

struct Device {
    DeviceType type = DeviceType::Cpu;
    uint8_t index = 0;

    friend bool operator==(Device, Device) = default;
};

// "cpu", "cuda:0"; and back ("cuda" is "cuda:0").
std::string to_string(Device device);
std::optional<Device> device_named(std::string_view name);

// Memory of one device. Implementations are thread-safe and live as long as the process.
class DeviceMemory {
  public:
    virtual ~DeviceMemory() = default;
    // Null when there is none left. Aligned to 64 bytes at least.
    virtual void* allocate(size_t bytes) = 0;
    virtual void deallocate(void* data, size_t bytes) = 0;
    virtual void copy_from_host(void* device_data, const void* host, size_t bytes) = 0;
    virtual void copy_to_host(void* host, const void* device_data, size_t bytes) = 0;
    virtual void copy_within(void* to, const void* from, size_t bytes) = 0;
    virtual void set_zero(void* data, size_t bytes) = 0;
};

DeviceMemory& cpu_memory();

// An engine's account of the bytes that its tensors hold. May be called from several threads.
class MemoryMeter {
  public:
    virtual ~MemoryMeter() = default;
    // False when the limit would be passed: the allocation then fails with a MemoryError.
    virtual bool reserve(size_t bytes) = 0;
    virtual void release(size_t bytes) = 0;
};

}  // namespace talc::tensor
