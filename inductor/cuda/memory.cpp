#include "inductor/cuda/memory.hpp"

#include <algorithm>

namespace talc::inductor::cuda {

namespace {

constexpr size_t kUnit = 512;                // every block is a multiple
constexpr size_t kSmall = size_t{1} << 20;   // up to here blocks come from small chunks
constexpr size_t kSmallChunk = size_t{2} << 20;
constexpr size_t kLargeChunk = size_t{20} << 20;
constexpr size_t kLargeUnit = size_t{2} << 20;
constexpr size_t kMost = size_t{1} << 46;  // more than any GPU has: not worth asking for

size_t rounded(size_t bytes, size_t unit) { return std::max(unit, (bytes + unit - 1) / unit * unit); }

}  // namespace

void* CachingMemory::allocate(size_t wanted) {
    if (wanted > kMost) return nullptr;
    size_t bytes = rounded(wanted, kUnit);
    bool large = bytes > kSmall;
    std::lock_guard lock(mutex_);
    Block* block = take(bytes, large);
    if (!block) block = fresh_chunk(bytes, large);
    if (!block) return nullptr;
    // A large block is cut when what remains is of use to somebody.
    if (block->bytes - bytes >= (large ? kSmall : kUnit)) cut(block, bytes);
    block->free = false;
    counts_.allocated += block->bytes;
    counts_.peak = std::max(counts_.peak, counts_.allocated);
    return block->at;
}

CachingMemory::Block* CachingMemory::take(size_t bytes, bool large) {
    Block like{nullptr, bytes, large};
    Pool& pool = pools_[large];
    auto found = pool.lower_bound(&like);
    if (found == pool.end()) return nullptr;
    Block* block = *found;
    pool.erase(found);
    return block;
}

CachingMemory::Block* CachingMemory::fresh_chunk(size_t bytes, bool large) {
    size_t exact = large ? rounded(bytes, kLargeUnit) : kSmallChunk;
    size_t chunk = large ? std::max(exact, exact < kLargeChunk / 2 ? kLargeChunk : exact) : kSmallChunk;
    void* data = gpu_.allocate(chunk);
    if (!data) {
        release_unused_locked();
        data = gpu_.allocate(chunk);
    }
    if (!data && exact < chunk) {
        chunk = exact;
        data = gpu_.allocate(chunk);
    }
    if (!data) return nullptr;
    counts_.reserved += chunk;
    auto block = std::make_unique<Block>(Block{static_cast<char*>(data), chunk, large});
    return (blocks_[data] = std::move(block)).get();
}

void CachingMemory::cut(Block* block, size_t bytes) {
    auto rest = std::make_unique<Block>(Block{block->at + bytes, block->bytes - bytes, block->large, true, block, block->after});
    if (block->after) block->after->before = rest.get();
    block->after = rest.get();
    block->bytes = bytes;
    pools_[rest->large].insert(rest.get());
    void* at = rest->at;
    blocks_[at] = std::move(rest);
}

void CachingMemory::deallocate(void* data, size_t) {
    std::lock_guard lock(mutex_);
    Block* block = blocks_.at(data).get();
    counts_.allocated -= block->bytes;
    Pool& pool = pools_[block->large];
    auto join = [&](Block* left, Block* right) {
        left->bytes += right->bytes;
        left->after = right->after;
        if (right->after) right->after->before = left;
        blocks_.erase(right->at);
    };
    if (Block* after = block->after; after && after->free) {
        pool.erase(after);
        join(block, after);
    }
    if (Block* before = block->before; before && before->free) {
        pool.erase(before);
        join(before, block);
        block = before;
    }
    block->free = true;
    pool.insert(block);
}

void CachingMemory::release_unused() {
    std::lock_guard lock(mutex_);
    release_unused_locked();
}

void CachingMemory::release_unused_locked() {
    for (Pool& pool : pools_) {
        for (auto at = pool.begin(); at != pool.end();) {
            Block* block = *at;
            if (block->before || block->after) {
                ++at;
                continue;
            }
            at = pool.erase(at);
            counts_.reserved -= block->bytes;
            gpu_.release(block->at);
            blocks_.erase(block->at);
        }
    }
}

void CachingMemory::forget_peak() {
    std::lock_guard lock(mutex_);
    counts_.peak = counts_.allocated;
}

CachingMemory::Counts CachingMemory::counts() const {
    std::lock_guard lock(mutex_);
    return counts_;
}

}  // namespace talc::inductor::cuda
