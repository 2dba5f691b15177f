// An engine's tensors and the rest of it: memory counts against the heap's limit, kernels run on the process's threads.
#include <atomic>

#include "base/thread_pool.hpp"
#include "vm/tensor.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

// Tensors may be released by any thread and after the engine's end; only the engine's own thread touches the heap.
class HeapMeter final : public tensor::MemoryMeter {
  public:
    explicit HeapMeter(Heap& heap) : heap_(&heap) {}

    bool reserve(size_t bytes) override {
        settle();
        if (!heap_ || heap_->charge(bytes)) return true;
        settle();  // what the collection has freed
        return heap_->charge(bytes);
    }
    void release(size_t bytes) override { returned_.fetch_add(bytes, std::memory_order_relaxed); }

    void settle() {
        if (returned_.load(std::memory_order_relaxed) == 0 || !heap_) return;
        heap_->discharge(returned_.exchange(0, std::memory_order_relaxed));
    }
    void part() { heap_ = nullptr; }

  private:
    Heap* heap_;
    std::atomic<size_t> returned_{0};
};

HeapMeter& meter_of(Vm& vm) { return *static_cast<HeapMeter*>(vm.tensors.meter.get()); }

}  // namespace

void init_tensors(Vm& vm) {
    vm.tensors.meter = std::make_shared<HeapMeter>(vm.heap);
    vm.tensors.parallel_for = parallel_for;
}

void end_tensors(Vm& vm) { meter_of(vm).part(); }

void settle_tensors(Vm& vm) {
    if (vm.tensors.meter) meter_of(vm).settle();
}

}  // namespace talc::vm
