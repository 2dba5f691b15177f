#pragma once
// What an engine's tensor code depends on besides its operands: defaults, modes, memory, random stream.
#include <functional>
#include <memory>

#include "tensor/device.hpp"
#include "tensor/dtype.hpp"

namespace talc::tensor {

class DeviceOps;
class Observer;

// What a device offers: its memory, and how operators run on it (null on the CPU).
struct DeviceRoom {
    DeviceMemory* memory = nullptr;
    DeviceOps* ops = nullptr;
};
// Gives a device other than the CPU, or fails with what was looked for.
using FindDevice = DeviceRoom (*)(Device device);

// The random stream: a key, and the number of random operators that have run.
struct Generator {
    uint64_t seed = 0;
    uint64_t position = 0;
    void reseed(uint64_t value) {
        seed = value;
        position = 0;
    }
};

// Runs body(begin, end) over pieces of [0, count), each at least `grain` long, on as many threads as there are.
using ParallelFor = std::function<void(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body)>;

// One for each engine; used by one thread at a time.
struct Context {
    DType default_float = DType::Float32;
    Device default_device;
    bool grad_enabled = true;
    uint64_t tape_clock = 0;  // numbers the nodes of autograd's tape in order of recording
    Generator generator;
    std::shared_ptr<MemoryMeter> meter;  // null: unlimited
    ParallelFor parallel_for;            // empty: everything on the calling thread
    Observer* observer = nullptr;        // null: nobody looks (observer.hpp)
    FindDevice find_device = nullptr;    // null: there is the CPU alone

    // Fail when there is no such device.
    DeviceRoom room(Device device) const;
    DeviceMemory& memory(Device device) const { return *room(device).memory; }
};

}  // namespace talc::tensor
