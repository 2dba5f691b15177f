#include "inductor/cuda/room.hpp"

#include <array>
#include <cstdlib>

#include "tensor/error.hpp"

namespace talc::inductor::cuda {

namespace {

// TALC_CUDA: emulated, or any (emulated where there is no GPU).
bool emulated() {
    const char* wanted = std::getenv("TALC_CUDA");
    if (!wanted) return false;
    return std::string_view(wanted) == "emulated" || (std::string_view(wanted) == "any" && driver_device_count(nullptr) == 0);
}

}  // namespace

Room::Room(std::unique_ptr<Gpu> given, tensor::Device where)
    : gpu(std::move(given)), device(where), memory(*gpu), programs(*gpu), ops(*this) {}

size_t device_count(std::string* why_none) { return emulated() ? 1 : driver_device_count(why_none); }

Room& room_of(tensor::Device device) {
    constexpr size_t kMost = 16;
    static std::mutex mutex;
    static std::array<std::atomic<Room*>, kMost> rooms;  // never freed: tensors may outlive everything else
    if (device.index < kMost) {
        if (Room* known = rooms[device.index].load(std::memory_order_acquire)) return *known;
    }
    std::string why;
    size_t count = device_count(&why);
    if (count == 0) tensor::fail("there is no device {} here: {}", to_string(device), why);
    if (device.index >= std::min(count, kMost)) {
        tensor::fail("there is no device {} here: the driver sees {} GPU{}", to_string(device), count, count == 1 ? "" : "s");
    }
    std::lock_guard lock(mutex);
    std::atomic<Room*>& slot = rooms[device.index];
    if (Room* known = slot.load(std::memory_order_acquire)) return *known;
    auto* room = new Room(emulated() ? make_emulated_gpu() : make_cuda_gpu(device.index), device);
    slot.store(room, std::memory_order_release);
    return *room;
}

}  // namespace talc::inductor::cuda

namespace talc::inductor {

tensor::DeviceRoom cuda_device(tensor::Device device) {
    cuda::Room& room = cuda::room_of(device);
    return {&room.memory, &room.ops};
}

}  // namespace talc::inductor
