// heapq: lists in which heap[k] <= heap[2 * k + 1] and heap[k] <= heap[2 * k + 2]; and bisect: lists in order.
#include "stdlib/modules.hpp"
#include "stdlib/support.hpp"
#include "vm/containers.hpp"

namespace talc::stdlib {

namespace {

// A comparison may run script code, which must leave the list as long as it is.
class Heap {
  public:
    Heap(Vm& vm, Value list) : vm_(vm), list_(cast<List>(list)), size_(list_->size) {}

    bool less(size_t a, size_t b) {
        Ref left = list_->items[a], right = list_->items[b];
        bool result = compare_bool(vm_, CompareOp::Lt, left, right);
        if (list_->size != size_) raise(vm_, Exc::RuntimeError, "list changed size during iteration");
        return result;
    }
    void swap(size_t a, size_t b) { std::swap(list_->items[a], list_->items[b]); }

    // Towards the root until the parent is not larger.
    void sift_down(size_t start, size_t at) {
        while (at > start) {
            size_t parent = (at - 1) / 2;
            if (!less(at, parent)) return;
            swap(at, parent);
            at = parent;
        }
    }
    // The smaller child moves up all the way to a leaf, then the item finds its place from there.
    void sift_up(size_t at) {
        size_t start = at;
        for (size_t child = 2 * at + 1; child < size_; child = 2 * at + 1) {
            if (child + 1 < size_ && !less(child, child + 1)) child++;
            swap(at, child);
            at = child;
        }
        sift_down(start, at);
        vm_.tick(1);
    }

  private:
    Vm& vm_;
    List* list_;
    size_t size_;
};

List* heap_list(Vm& vm, const Args& args, const char* function) {
    if (!args[0].is_kind(Kind::List)) raise(vm, Exc::TypeError, "{}() argument must be list, not {}", function, class_name(vm, args[0]));
    return cast<List>(args[0]);
}

Ref replace_first(Vm& vm, List* list, Value item) {
    Ref smallest = Ref::steal(std::exchange(list->items[0], Ref(item).release()));
    Heap(vm, list).sift_up(0);
    return smallest;
}

Ref bisect(Vm& vm, const Args& args, bool right) {
    int64_t low = to_index(vm, args[2]);
    if (low < 0) raise(vm, Exc::ValueError, "lo must be non-negative");
    int64_t high = args[3].is_none() ? length(vm, args[0]) : to_index(vm, args[3]);
    bool keyed = !args[4].is_none();
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        Ref item = get_item(vm, args[0], Value::integer(middle));
        if (keyed) item = call(vm, args[4], item);
        bool left_half = right ? compare_bool(vm, CompareOp::Lt, args[1], item) : !compare_bool(vm, CompareOp::Lt, item, args[1]);
        if (left_half) high = middle;
        else low = middle + 1;
    }
    return integer(low);
}

}  // namespace

void fill_heapq(Vm&, Module*) {}
void fill_bisect(Vm&, Module*) {}

Ref heap_heapify(Vm& vm, const Args& args) {
    List* list = heap_list(vm, args, "heapify");
    Heap heap(vm, list);
    for (size_t i = list->size / 2; i-- > 0;) heap.sift_up(i);
    return none();
}

Ref heap_pop(Vm& vm, const Args& args) {
    List* list = heap_list(vm, args, "heappop");
    if (list->size == 0) raise(vm, Exc::IndexError, "index out of range");
    Ref last = list_remove_at(vm, list, list->size - 1);
    return list->size == 0 ? std::move(last) : replace_first(vm, list, last);
}

Ref heap_push(Vm& vm, const Args& args) {
    List* list = heap_list(vm, args, "heappush");
    list_append(vm, list, args[1]);
    Heap(vm, list).sift_down(0, list->size - 1);
    return none();
}

Ref heap_pushpop(Vm& vm, const Args& args) {
    List* list = heap_list(vm, args, "heappushpop");
    if (list->size == 0 || !compare_bool(vm, CompareOp::Lt, Ref(list->items[0]), args[1])) return args[1];
    if (list->size == 0) raise(vm, Exc::IndexError, "index out of range");
    return replace_first(vm, list, args[1]);
}

Ref heap_replace(Vm& vm, const Args& args) {
    List* list = heap_list(vm, args, "heapreplace");
    if (list->size == 0) raise(vm, Exc::IndexError, "index out of range");
    return replace_first(vm, list, args[1]);
}

Ref bisect_left(Vm& vm, const Args& args) { return bisect(vm, args, false); }
Ref bisect_right(Vm& vm, const Args& args) { return bisect(vm, args, true); }

}  // namespace talc::stdlib
