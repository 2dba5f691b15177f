#pragma once
// A GPU's memory for tensors. What is freed is kept and given out again: work runs in the order of one stream, so that a
// block may be reused as soon as its owner is gone, without waiting. Blocks are cut from chunks and joined again.
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>

#include "inductor/cuda/gpu.hpp"
#include "tensor/device.hpp"

namespace talc::inductor::cuda {

class CachingMemory final : public tensor::DeviceMemory {
  public:
    explicit CachingMemory(Gpu& gpu) : gpu_(gpu) {}

    // When the GPU has none left, what is kept and unused goes back to it first.
    void* allocate(size_t bytes) override;
    void deallocate(void* data, size_t bytes) override;
    void copy_from_host(void* to, const void* from, size_t bytes) override { gpu_.copy_to_device(to, from, bytes); }
    void copy_to_host(void* to, const void* from, size_t bytes) override { gpu_.copy_to_host(to, from, bytes); }
    void copy_within(void* to, const void* from, size_t bytes) override { gpu_.copy_within(to, from, bytes); }
    void set_zero(void* data, size_t bytes) override { gpu_.set_zero(data, bytes); }

    struct Counts {
        size_t allocated = 0, peak = 0;  // by tensors
        size_t reserved = 0;             // from the GPU
    };
    Counts counts() const;
    // The peak is counted from here on.
    void forget_peak();
    // Gives chunks that nobody uses back to the GPU.
    void release_unused();

  private:
    struct Block {
        char* at;
        size_t bytes;
        bool large;  // which pool
        bool free = false;
        Block* before = nullptr;  // neighbours in the chunk
        Block* after = nullptr;
    };
    struct BySize {
        bool operator()(const Block* a, const Block* b) const {
            return a->bytes != b->bytes ? a->bytes < b->bytes : a->at < b->at;
        }
    };
    using Pool = std::set<Block*, BySize>;

    Block* take(size_t bytes, bool large);
    Block* fresh_chunk(size_t bytes, bool large);
    void cut(Block* block, size_t bytes);
    void release_unused_locked();

    Gpu& gpu_;
    mutable std::mutex mutex_;
    Pool pools_[2];  // small, large
    std::unordered_map<void*, std::unique_ptr<Block>> blocks_;  // by address
    Counts counts_;
};

}  // namespace talc::inductor::cuda
