#pragma once
// One GPU of the process with all that belongs to it.
#include "inductor/backend.hpp"
#include "inductor/cuda/eager.hpp"
#include "inductor/cuda/memory.hpp"
#include "inductor/cuda/programs.hpp"

namespace talc::inductor::cuda {

struct Room {
    Room(std::unique_ptr<Gpu> given, tensor::Device device);

    std::unique_ptr<Gpu> gpu;
    tensor::Device device;
    CachingMemory memory;
    Programs programs;
    CudaOps ops;
};

// Started when first asked for, and alive as long as the process. Fails with what was looked for when there is none.
Room& room_of(tensor::Device device);
// How many there are; `why_none` says what was looked for when there is none.
size_t device_count(std::string* why_none = nullptr);

}  // namespace talc::inductor::cuda
