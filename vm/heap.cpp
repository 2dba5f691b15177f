#include "vm/heap.hpp"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "vm/class.hpp"
#include "vm/ops.hpp"
#include "vm/tensor.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

constexpr bool kIsGc[] = {
#define KIND(name, gc) gc != 0,
#include "vm/kinds.def"
#undef KIND
};
constexpr int kMaxDestroyDepth = 64;
constexpr size_t kChunkSize = 64 * 1024;
constexpr size_t kFirstThreshold = 10000;

bool is_gc(const Object* object) { return kIsGc[static_cast<int>(object->kind)]; }
bool is_tracked(const Object* object) {
    return is_gc(object) && static_cast<const GcObject*>(object)->gc_next != nullptr;
}

// While collecting, gc_prev holds the count of references from outside the tracked objects.
using Count [[gnu::may_alias]] = uintptr_t;
Count& outside_refs(GcObject* object) { return reinterpret_cast<Count&>(object->gc_prev); }

struct Subtract final : Visitor {
    using Visitor::visit;
    void visit(Object* child) override {
        if (is_tracked(child)) outside_refs(static_cast<GcObject*>(child))--;
    }
};

struct Mark final : Visitor {
    std::vector<GcObject*> work;
    using Visitor::visit;
    void visit(Object* child) override {
        if (!is_tracked(child) || (child->flags & kGcMarked)) return;
        child->flags |= kGcMarked;
        work.push_back(static_cast<GcObject*>(child));
    }
};

void traverse(GcObject* object, Visitor& visitor) {
    if (object->cls) visitor.visit(reinterpret_cast<Object*>(object->cls));
    kind_ops(object->kind).traverse(object, visitor);
}

}  // namespace

void destroy_object(Object* object) {
    object->cls->vm->heap.destroy(object);
}

Heap::Heap(Vm& vm) : vm_(vm), threshold_(kFirstThreshold) {
    list_.gc_next = &list_;
    list_.gc_prev = &list_;
}

Heap::~Heap() {
    while (chunks_) {
        Chunk* next = chunks_->next;
        resize_block(chunks_, chunks_->size, 0);
        chunks_ = next;
    }
}

// All memory of the heap comes and goes here: a host's function, or the C library.
void* Heap::resize_block(void* memory, size_t old_size, size_t new_size) {
    if (resize_) [[unlikely]] return resize_(memory, old_size, new_size);
    if (new_size) return std::realloc(memory, new_size);
    std::free(memory);
    return nullptr;
}

// Large blocks take time to get and to fill. It is counted as instructions, so that a loop over one `x += y` of megabytes
// looks at the clock as often as others do.
void Heap::count_work(size_t bytes) {
    constexpr size_t kBytesAnInstruction = 256;
    vm_.fuel -= static_cast<int64_t>(bytes / kBytesAnInstruction);
}

void* Heap::allocate_slow(size_t size) {
    if (size > limit_ || used_ > limit_ - size) {
        if (size < limit_) collect();
        if (size > limit_ || used_ > limit_ - size) {
            // The exception itself needs memory: the limit is lifted while it is made.
            size_t limit = limit_;
            limit_ = SIZE_MAX / 2;
            Ptr<Exception> error = make_exception(vm_, vm_.classes.of(Exc::MemoryError), nullptr, 0);
            limit_ = limit;
            raise_object(vm_, error);
        }
    }
    size_t bucket = bucket_of(size);
    if (bucket > kBuckets) {
        count_work(size);
        void* memory = resize_block(nullptr, 0, std::max<size_t>(size, 1));  // null means none left
        if (!memory) raise_object(vm_, make_exception(vm_, vm_.classes.of(Exc::MemoryError), nullptr, 0));
        used_ += size;
        if (used_ > peak_) peak_ = used_;
        return memory;
    }
    size_t rounded = bucket * 16;
    used_ += rounded;
    if (used_ > peak_) peak_ = used_;
    if (Block* block = free_[bucket]) {
        free_[bucket] = block->next;
        return block;
    }
    if (static_cast<size_t>(chunk_end_ - chunk_at_) < rounded) {
        auto* chunk = static_cast<Chunk*>(resize_block(nullptr, 0, kChunkSize));
        if (!chunk) {
            used_ -= rounded;
            raise_object(vm_, make_exception(vm_, vm_.classes.of(Exc::MemoryError), nullptr, 0));
        }
        chunk->next = chunks_;
        chunk->size = kChunkSize;
        chunks_ = chunk;
        chunk_at_ = reinterpret_cast<char*>(chunk) + 16;
        chunk_end_ = reinterpret_cast<char*>(chunk) + kChunkSize;
    }
    void* memory = chunk_at_;
    chunk_at_ += rounded;
    return memory;
}

void Heap::deallocate_slow(void* memory, size_t size) {
    used_ -= size;
    resize_block(memory, std::max<size_t>(size, 1), 0);
}

void* Heap::reallocate(void* memory, size_t old_size, size_t new_size) {
    if (old_size > kBuckets * 16 && new_size > kBuckets * 16) {
        // Both are blocks of their own: they may grow in place.
        if (new_size > old_size && (new_size > limit_ || used_ - old_size > limit_ - new_size)) {
            void* fresh = allocate_slow(new_size);  // collects, or raises MemoryError
            std::memcpy(fresh, memory, old_size);
            deallocate(memory, old_size);
            return fresh;
        }
        count_work(new_size);
        void* moved = resize_block(memory, old_size, new_size);
        if (!moved) raise_object(vm_, make_exception(vm_, vm_.classes.of(Exc::MemoryError), nullptr, 0));
        used_ += new_size;
        used_ -= old_size;
        if (used_ > peak_) peak_ = used_;
        return moved;
    }
    void* fresh = allocate(new_size);
    if (memory) {
        std::memcpy(fresh, memory, old_size < new_size ? old_size : new_size);
        deallocate(memory, old_size);
    }
    return fresh;
}

bool Heap::charge(size_t bytes) {
    if (bytes > limit_ || used_ > limit_ - bytes) {
        collect();
        if (bytes > limit_ || used_ > limit_ - bytes) return false;
    }
    used_ += bytes;
    if (used_ > peak_) peak_ = used_;
    return true;
}

void Heap::destroy(Object* object) {
    bool gc = is_gc(object);
    if (gc) untrack(static_cast<GcObject*>(object));
    // What runs script code is not put off: the depth of that must grow until the recursion limit ends it.
    if (gc && destroy_depth_ >= kMaxDestroyDepth && !runs_script_when_destroyed(object)) {
        static_cast<GcObject*>(object)->gc_prev = static_cast<GcObject*>(deferred_);
        deferred_ = object;
        return;
    }
    destroy_depth_++;
    Class* cls = object->cls;
    kind_ops(object->kind).destroy(vm_, object);
    decref(reinterpret_cast<Object*>(cls));
    destroy_depth_--;
    while (destroy_depth_ == 0 && deferred_) {
        auto* next = static_cast<GcObject*>(deferred_);
        deferred_ = next->gc_prev;
        destroy(next);
    }
}

void Heap::set_stress(bool on) {
    stress_ = on;
    threshold_ = on ? 0 : kFirstThreshold;
}

void Heap::collect_if_due() {
    if (collecting_) return;
    collect();
    if (!stress_) {
        threshold_ = tracked_ * 2 > kFirstThreshold ? tracked_ * 2 : kFirstThreshold;
    }
}

size_t Heap::collect() {
    vm_.fuel -= static_cast<int64_t>(tracked_);  // it looks at all of them
    if (collecting_) return 0;
    collecting_ = true;
    for (GcObject* o = list_.gc_next; o != &list_; o = o->gc_next) outside_refs(o) = o->refs;
    Subtract subtract;
    for (GcObject* o = list_.gc_next; o != &list_; o = o->gc_next) traverse(o, subtract);
    Mark mark;
    for (GcObject* o = list_.gc_next; o != &list_; o = o->gc_next) {
        if (outside_refs(o) > 0) mark.visit(static_cast<Object*>(o));
    }
    while (!mark.work.empty()) {
        GcObject* o = mark.work.back();
        mark.work.pop_back();
        traverse(o, mark);
    }
    std::vector<GcObject*> garbage;
    GcObject* previous = &list_;
    for (GcObject* o = list_.gc_next; o != &list_; o = o->gc_next) {
        o->gc_prev = previous;
        previous = o;
        if (o->flags & kGcMarked) {
            o->flags &= static_cast<uint8_t>(~kGcMarked);
        } else {
            garbage.push_back(o);
        }
    }
    list_.gc_prev = previous;
    for (GcObject* o : garbage) o->refs++;
    for (GcObject* o : garbage) {
        if (auto clear = kind_ops(o->kind).clear) clear(vm_, o);
    }
    for (GcObject* o : garbage) decref(static_cast<Object*>(o));
    collecting_ = false;
    settle_tensors(vm_);
    return garbage.size();
}

std::vector<Ref> Heap::waiting_generators() {
    std::vector<Ref> found;
    if (generators == 0) return found;
    bool cleanup = false;
    for (GcObject* o = list_.gc_next; o != &list_; o = o->gc_next) {
        if (o->kind != Kind::Generator || static_cast<Generator*>(o)->state != GeneratorState::Suspended) continue;
        cleanup |= runs_script_when_destroyed(o);
        found.emplace_back(Value::object(o));
    }
    if (!cleanup) found.clear();
    return found;
}

void Heap::clear_all() {
    // Everything still tracked is in a cycle or held by the engine's own fields, which are gone: drop
    // all references between objects, then the objects go by themselves. Classes go last, since every
    // object's destruction needs its class.
    collecting_ = true;
    std::vector<GcObject*> objects, classes;
    for (GcObject* o = list_.gc_next; o != &list_; o = o->gc_next) {
        o->refs++;
        (o->kind == Kind::Class ? classes : objects).push_back(o);
    }
    for (GcObject* o : objects) {
        if (auto clear = kind_ops(o->kind).clear) clear(vm_, o);
    }
    for (GcObject* o : objects) decref(static_cast<Object*>(o));
    // What classes hold goes before any class goes: instances need shapes, and names are strings, which have a class.
    for (GcObject* o : classes) kind_ops(Kind::Class).clear(vm_, o);
    for (GcObject* o : classes) release_class(vm_, static_cast<Class*>(static_cast<Object*>(o)));
    for (GcObject* o : classes) deallocate(o, sizeof(Class));
    list_.gc_next = list_.gc_prev = &list_;
    collecting_ = false;
}

const KindOps& kind_ops(Kind kind) {
    static constexpr const KindOps* kOps[] = {
#define KIND(name, gc) &k##name##Ops,
#include "vm/kinds.def"
#undef KIND
    };
    return *kOps[static_cast<int>(kind)];
}

}  // namespace talc::vm
