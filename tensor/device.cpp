#include "tensor/device.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace talc::tensor {

std::string to_string(Device device) {
    return device.type == DeviceType::Cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

std::optional<Device> device_named(std::string_view name) {
    if (name == "cpu" || name == "cpu:0") return Device{};
    if (name == "cuda") return Device{DeviceType::Cuda, 0};
    constexpr std::string_view kPrefix = "cuda:";
    if (!name.starts_with(kPrefix)) return std::nullopt;
    uint8_t index = 0;
    const char* first = name.data() + kPrefix.size();
    const char* last = name.data() + name.size();
    auto [end, error] = std::from_chars(first, last, index);
    if (error != std::errc{} || end != last || first == last) return std::nullopt;
    return Device{DeviceType::Cuda, index};
}

namespace {

class CpuMemory final : public DeviceMemory {
  public:
    void* allocate(size_t bytes) override {
        constexpr size_t kAlign = 64;
        constexpr size_t kMost = size_t{1} << 46;  // more than any machine has: not worth asking for
        if (bytes > kMost) return nullptr;
        return std::aligned_alloc(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
    }
    void deallocate(void* data, size_t) override { std::free(data); }
    void copy_from_host(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
    void copy_to_host(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
    void copy_within(void* to, const void* from, size_t bytes) override { std::memmove(to, from, bytes); }
    void set_zero(void* data, size_t bytes) override { std::memset(data, 0, bytes); }
};

}  // namespace

DeviceMemory& cpu_memory() {
    static CpuMemory memory;  // without state
    return memory;
}

}  // namespace talc::tensor
