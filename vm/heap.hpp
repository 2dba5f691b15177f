#pragma once
// The engine's memory: every object and buffer of a script comes from here, is counted, and stays below the
// limit. Small blocks come from free lists by size; objects that can form cycles are linked for the collector.
#include <cstddef>
#include <cstdint>
#include <functional>

#include "vm/object.hpp"

namespace talc::vm {

// Told about each reference that an object owns.
class Visitor {
  public:
    virtual void visit(Object* child) = 0;
    void visit(Value v) {
        if (v.is_obj()) visit(v.o);
    }

  protected:
    ~Visitor() = default;
};

class Heap {
  public:
    explicit Heap(Vm& vm);
    ~Heap();
    Heap(const Heap&) = delete;

    // Raw memory, counted. MemoryError (as a script exception) when the limit would be passed.
    void* allocate(size_t size) {
        size_t bucket = bucket_of(size);
        if (bucket <= kBuckets && free_[bucket] && used_ + size <= limit_) [[likely]] {
            Block* block = free_[bucket];
            free_[bucket] = block->next;
            used_ += bucket * 16;
            return block;
        }
        return allocate_slow(size);
    }
    void deallocate(void* memory, size_t size) {
        size_t bucket = bucket_of(size);
        if (bucket <= kBuckets) [[likely]] {
            Block* block = static_cast<Block*>(memory);
            block->next = free_[bucket];
            free_[bucket] = block;
            used_ -= bucket * 16;
            return;
        }
        deallocate_slow(memory, size);
    }
    void* reallocate(void* memory, size_t old_size, size_t new_size);

    // A new object with one reference and its class set; the rest is zero. GC kinds are not yet tracked.
    template <class T>
    T* make(Kind kind, Class* cls, size_t size = sizeof(T)) {
        T* object = static_cast<T*>(allocate(size));
        __builtin_memset(static_cast<void*>(object), 0, size);
        object->refs = 1;
        object->kind = kind;
        object->cls = cls;
        if (cls) reinterpret_cast<Object*>(cls)->refs++;
        return object;
    }
    // Links a finished object into the collector's list; may collect first. Call it when all fields are set.
    void track(GcObject* object) {
        object->gc_next = &list_;
        object->gc_prev = list_.gc_prev;
        list_.gc_prev->gc_next = object;
        list_.gc_prev = object;
        if (++tracked_ >= threshold_) [[unlikely]] collect_if_due();
    }
    void untrack(GcObject* object) {
        if (!object->gc_next) return;
        object->gc_next->gc_prev = object->gc_prev;
        object->gc_prev->gc_next = object->gc_next;
        object->gc_next = nullptr;
        tracked_--;
    }

    size_t collect();              // frees unreachable cycles; how many objects
    void set_stress(bool on);      // collect at every tracked allocation
    void set_limit(size_t bytes) { limit_ = bytes; }
    // Where memory comes from; before the first object is made.
    using Resize = std::function<void*(void* memory, size_t old_size, size_t new_size)>;
    void set_allocator(Resize resize) { resize_ = std::move(resize); }
    size_t limit() const { return limit_; }
    size_t used() const { return used_; }
    size_t peak() const { return peak_; }
    // Memory that lives outside (tensor storage) counts against the limit too. False: it would pass the limit.
    bool charge(size_t bytes);
    void discharge(size_t bytes) { used_ -= bytes; }
    void destroy(Object* object);
    size_t generators = 0;         // alive
    // All that have begun and not ended, if one of them waits inside a try: destroying it runs script code.
    std::vector<Ref> waiting_generators();
    // Frees what is left at the end of an engine, cycles included.
    void clear_all();

  private:
#if defined(__SANITIZE_ADDRESS__)
    static constexpr size_t kBuckets = 0;   // every block from malloc, so that the sanitizer sees its bounds
#else
    static constexpr size_t kBuckets = 32;  // blocks of up to 512 bytes
#endif
    // A request for nothing still gets a block of its own, which can be given back.
    static constexpr size_t bucket_of(size_t size) { return size == 0 ? 1 : (size + 15) / 16; }
    struct Block { Block* next; };
    struct Chunk { Chunk* next; size_t size; };

    void* allocate_slow(size_t size);
    void deallocate_slow(void* memory, size_t size);
    void collect_if_due();
    void count_work(size_t bytes);

    void* resize_block(void* memory, size_t old_size, size_t new_size);

    Vm& vm_;
    Resize resize_;
    Block* free_[kBuckets + 1] = {};
    size_t used_ = 0;
    size_t limit_ = SIZE_MAX / 2;
    size_t peak_ = 0;
    Chunk* chunks_ = nullptr;
    char* chunk_at_ = nullptr;
    char* chunk_end_ = nullptr;
    GcObject list_ = {};
    size_t tracked_ = 0;
    size_t threshold_ = 2000;
    bool stress_ = false;
    bool collecting_ = false;
    int destroy_depth_ = 0;
    Object* deferred_ = nullptr;   // destroyed later, so that a long chain does not recurse
};

}  // namespace talc::vm
