// Lists and their iterator. Script code that runs inside an operation (a comparison, an iterator) may change the
// list: sizes are read anew after it, and items being looked at are held.
#include <algorithm>
#include <cstring>

#include "vm/containers.hpp"
#include "vm/shape.hpp"
#include "vm/format.hpp"
#include "vm/text_out.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

constexpr size_t kMaxItems = PTRDIFF_MAX / 2 / sizeof(Value);
constexpr size_t kAhead = 4;  // items fetched before they are wanted

[[gnu::noinline]] void grow(Vm& vm, List* list, size_t needed) {
    size_t wanted = needed + needed / 2 + 3;
    list_reserve(vm, list, wanted);
}

void release_items(Vm& vm, Value* items, size_t count, size_t capacity) {
    for (size_t i = count; i-- > 0;) decref(items[i]);
    if (capacity) vm.heap.deallocate(items, capacity * sizeof(Value));
}

// Opens or closes a gap at [at, at + remove) so that `insert` unset items lie there; the removed ones are dropped
// by the caller, who has copied them.
void resize_gap(Vm& vm, List* list, size_t at, size_t remove, size_t insert) {
    size_t size = list->size - remove + insert;
    if (size > list->capacity) grow(vm, list, size);
    if (size_t behind = list->size - at - remove) {
        std::memmove(static_cast<void*>(list->items + at + insert), list->items + at + remove, behind * sizeof(Value));
    }
    list->size = size;
}

// Values taken out of a list that are dropped once the list is whole again.
class Dropped {
  public:
    Dropped(Vm& vm, const Value* items, size_t count) : heap_(vm.heap), count_(count) {
        if (count > kInline) many_ = static_cast<Value*>(heap_.allocate(count * sizeof(Value)));
        if (count) std::memcpy(static_cast<void*>(data()), items, count * sizeof(Value));
    }
    ~Dropped() {
        for (size_t i = 0; i < count_; i++) decref(data()[i]);
        if (many_) heap_.deallocate(many_, count_ * sizeof(Value));
    }
    Dropped(const Dropped&) = delete;

  private:
    static constexpr size_t kInline = 8;
    Value* data() { return many_ ? many_ : few_; }
    Heap& heap_;
    size_t count_;
    Value few_[kInline];
    Value* many_ = nullptr;
};

// Adds the items of a list (perhaps the same one) or tuple.
void append_shared(Vm& vm, List* list, const List* from_list, const Tuple* from_tuple) {
    size_t count = from_list ? from_list->size : from_tuple->size;
    if (list->size + count > list->capacity) {
        if (list->size) {
            grow(vm, list, list->size + count);
        } else {
            list_reserve(vm, list, count);
        }
        // Making room may have collected garbage, and so, in the end, have run script code.
        if (from_list && from_list->size < count) count = from_list->size;
    }
    const Value* items = from_list ? from_list->items : from_tuple->items;
    Value* out = list->items + list->size;
    for (size_t i = 0; i < count; i++) {
        incref(items[i]);
        out[i] = items[i];
    }
    list->size += count;
}

}  // namespace

// ---- Making and changing ----

Ptr<List> make_list(Vm& vm, size_t reserve) {
    auto list = Ptr<List>::steal(vm.heap.make<List>(Kind::List, vm.classes.list));
    if (reserve) list_reserve(vm, list.get(), reserve);
    vm.heap.track(list.get());
    return list;
}

Ptr<List> make_list(Vm& vm, const Value* items, size_t count) {
    auto list = Ptr<List>::steal(vm.heap.make<List>(Kind::List, vm.classes.list));
    if (count) list_reserve(vm, list.get(), count);
    for (size_t i = 0; i < count; i++) {
        incref(items[i]);
        list->items[i] = items[i];
    }
    list->size = count;
    vm.heap.track(list.get());
    return list;
}

void list_reserve(Vm& vm, List* list, size_t capacity) {
    if (capacity <= list->capacity) return;
    if (capacity > kMaxItems) raise_memory_error(vm);
    if (capacity < 4) capacity = 4;
    void* old = list->items;
    list->items = static_cast<Value*>(old ? vm.heap.reallocate(old, list->capacity * sizeof(Value), capacity * sizeof(Value))
                                          : vm.heap.allocate(capacity * sizeof(Value)));
    list->capacity = capacity;
}

void list_append(Vm& vm, List* list, Value item) {
    incref(item);
    if (list->size == list->capacity) [[unlikely]] {
        Ref hold = Ref::steal(item);
        grow(vm, list, list->size + 1);
        (void)hold.release();
    }
    list->items[list->size++] = item;
}

void list_append(Vm& vm, List* list, Ref&& item) {
    if (list->size == list->capacity) [[unlikely]] grow(vm, list, list->size + 1);
    list->items[list->size++] = item.release();
}

void list_insert(Vm& vm, List* list, size_t at, Value item) {
    Ref hold(item);
    if (at > list->size) at = list->size;
    resize_gap(vm, list, at, 0, 1);
    list->items[at] = hold.release();
}

Ref list_remove_at(Vm&, List* list, size_t at) {
    Ref item = Ref::steal(list->items[at]);
    std::memmove(static_cast<void*>(list->items + at), list->items + at + 1, (list->size - at - 1) * sizeof(Value));
    list->size--;
    return item;
}

void list_clear(Vm& vm, List* list) {
    Value* items = list->items;
    size_t count = list->size;
    size_t capacity = list->capacity;
    list->items = nullptr;
    list->size = 0;
    list->capacity = 0;
    release_items(vm, items, count, capacity);
}

void list_reverse(List* list) { std::reverse(list->items, list->items + list->size); }

void list_extend(Vm& vm, List* list, Value iterable) {
    Ref keep(iterable);
    if (iterable.is_obj() && !iterable.o->cls->user) {
        if (iterable.o->kind == Kind::List) return append_shared(vm, list, cast<List>(iterable), nullptr);
        if (iterable.o->kind == Kind::Tuple) return append_shared(vm, list, nullptr, cast<Tuple>(iterable));
        if (iterable.o->kind == Kind::Range) {
            auto* range = cast<Range>(iterable);
            auto count = static_cast<size_t>(range->length);
            if (count > kMaxItems - list->size) raise_memory_error(vm);
            list_reserve(vm, list, list->size + count);
            Value* out = list->items + list->size;
            for (size_t i = 0; i < count; i++) out[i] = Value::integer(range_at(range, static_cast<int64_t>(i)));
            list->size += count;
            return;
        }
    }
    Ref iterator = iterate(vm, iterable);
    int64_t hint = length_hint(vm, iterator);
    if (hint > 0 && hint < (1 << 20)) list_reserve(vm, list, list->size + static_cast<size_t>(hint));
    while (Ref item = next(vm, iterator)) list_append(vm, list, std::move(item));
}

Ptr<List> list_from_iterable(Vm& vm, Value iterable) {
    Ptr<List> list = make_list(vm);
    list_extend(vm, list.get(), iterable);
    return list;
}

Ptr<List> list_slice(Vm& vm, List* list, int64_t start, int64_t stop, int64_t step) {
    Ref keep(static_cast<Object*>(list));
    int64_t count = step > 0 ? (stop > start ? (stop - start - 1) / step + 1 : 0)
                             : (start > stop ? (start - stop - 1) / -step + 1 : 0);
    Ptr<List> out = make_list(vm, static_cast<size_t>(count > 0 ? count : 0));
    // Making the list may have run a collection.
    auto size = static_cast<int64_t>(list->size);
    for (int64_t i = 0, at = start; i < count; i++, at += step) {
        if (at < 0 || at >= size) break;
        incref(list->items[at]);
        out->items[out->size++] = list->items[at];
    }
    return out;
}

Ptr<List> list_concat(Vm& vm, List* a, List* b) {
    Ptr<List> out = make_list(vm, a->size + b->size);
    append_shared(vm, out.get(), a, nullptr);
    append_shared(vm, out.get(), b, nullptr);
    return out;
}

Ptr<List> list_repeat(Vm& vm, List* list, int64_t times) {
    size_t count = 0;
    if (times < 0) times = 0;
    if (__builtin_mul_overflow(list->size, static_cast<size_t>(times), &count) || count > kMaxItems) raise_memory_error(vm);
    Ptr<List> out = make_list(vm, count);
    size_t size = count && list->size <= count ? list->size : 0;
    if (size == 1) {
        Value item = list->items[0];
        if (item.is_obj()) item.o->refs += static_cast<uint32_t>(count);
        std::fill_n(out->items, count, item);
        out->size = count;
        return out;
    }
    while (size && out->size + size <= count) append_shared(vm, out.get(), list, nullptr);
    return out;
}

void list_repeat_in_place(Vm& vm, List* list, int64_t times) {
    if (times <= 0) return list_clear(vm, list);
    size_t size = list->size;
    size_t count = 0;
    if (__builtin_mul_overflow(size, static_cast<size_t>(times), &count)) raise_memory_error(vm);
    list_reserve(vm, list, count);
    for (size_t i = size; i < count; i++) {
        incref(list->items[i - size]);
        list->items[i] = list->items[i - size];
    }
    list->size = count;
}

// ---- The row ----

namespace {

void traverse(Object* object, Visitor& visitor) {
    auto* list = cast<List>(object);
    for (size_t i = 0; i < list->size; i++) visitor.visit(list->items[i]);
    if (has_slots(list)) traverse_slots(list, visitor);
}

void clear(Vm& vm, Object* object) {
    list_clear(vm, cast<List>(object));
    if (has_slots(object)) clear_slots(vm, object);
}

void destroy(Vm& vm, Object* object) {
    auto* list = cast<List>(object);
    release_items(vm, list->items, list->size, list->capacity);
    size_t size = sizeof(List);
    if (has_slots(list)) {
        size += slots_allocated(list);
        destroy_slots(vm, list);
    }
    vm.heap.deallocate(list, size);
}

Ref repr_of(Vm& vm, Object* object) {
    auto* list = cast<List>(object);
    if (list->size == 0) return make_str(vm, "[]");
    ReprScope scope(vm, list);
    if (scope.nested()) return make_str(vm, "[...]");
    text::Buffer out(text_limit(vm));
    out += '[';
    for (size_t i = 0; i < list->size; i++) {
        if (i) out += ", ";
        append_repr(vm, out, list->items[i]);
    }
    out += ']';
    return make_str(vm, out.view());
}

int64_t hash_of(Vm& vm, Object* object) {
    raise(vm, Exc::TypeError, "unhashable type: '{}'", class_name(vm, object));
}

int64_t length_of(Vm&, Object* object) { return static_cast<int64_t>(cast<List>(object)->size); }

Ref compare_with(Vm& vm, CompareOp op, Object* object, Value other) {
    if (!other.is_kind(Kind::List)) return {};
    return compare_sequences(vm, op, object, other.o);
}

Ref item_of(Vm& vm, Object* object, Value key) {
    auto* list = cast<List>(object);
    if (key.is_int()) [[likely]] {
        auto at = static_cast<uint64_t>(key.i < 0 ? key.i + static_cast<int64_t>(list->size) : key.i);
        if (at < list->size) return list->items[at];
    }
    auto size = static_cast<int64_t>(list->size);
    if (key.is_kind(Kind::Slice)) {
        SliceRange part = slice_range(vm, cast<Slice>(key), size);
        return list_slice(vm, list, part.start, part.stop, part.step);
    }
    int64_t at = item_index(vm, key, size, "list", "list index out of range");
    // __index__ may have made the list shorter.
    if (static_cast<size_t>(at) >= list->size) raise(vm, Exc::IndexError, "list index out of range");
    return list->items[at];
}

// The right side of a slice assignment as a list that does not change any more.
Ptr<List> assigned_items(Vm& vm, List* list, Value value, const char* not_iterable) {
    if (value.is_kind(Kind::List) && value.o != list && !value.o->cls->user) return Ptr<List>(cast<List>(value));
    Ref iterator;
    if (value.is_kind(Kind::List) || value.is_kind(Kind::Tuple)) return list_from_iterable(vm, value);
    try {
        iterator = iterate(vm, value);
    } catch (Raised&) {
        Ref error = vm.take_raised();
        if (is_instance(vm, error, vm.classes.of(Exc::TypeError))) raise(vm, Exc::TypeError, std::string(not_iterable));
        raise_object(vm, error);
    }
    return list_from_iterable(vm, iterator);
}

void replace_part(Vm& vm, List* list, size_t start, size_t stop, const Value* items, size_t count) {
    Dropped dropped(vm, list->items + start, stop - start);
    resize_gap(vm, list, start, stop - start, count);
    for (size_t i = 0; i < count; i++) {
        incref(items[i]);
        list->items[start + i] = items[i];
    }
}

void assign_slice(Vm& vm, List* list, Slice* slice, Value value) {
    SliceRange part = slice_range(vm, slice, static_cast<int64_t>(list->size));
    if (part.step == 1) {
        Ptr<List> items = assigned_items(vm, list, value, "can only assign an iterable");
        // Iterating may have changed the list.
        auto size = static_cast<int64_t>(list->size);
        int64_t start = std::min(part.start, size);
        int64_t stop = std::clamp(part.stop, start, size);
        if (items->size > kMaxItems - list->size) raise_memory_error(vm);
        list_reserve(vm, list, list->size + items->size);
        return replace_part(vm, list, static_cast<size_t>(start), static_cast<size_t>(stop), items->items, items->size);
    }
    size_t size = list->size;
    Ptr<List> items = assigned_items(vm, list, value, "must assign iterable to extended slice");
    Ptr<List> old = make_list(vm, items->size);
    if (list->size != size) part = slice_range(vm, slice, static_cast<int64_t>(list->size));
    if (items->size != static_cast<size_t>(part.length)) {
        raise(vm, Exc::ValueError, "attempt to assign sequence of size {} to extended slice of size {}", items->size,
              part.length);
    }
    for (int64_t i = 0; i < part.length; i++) {
        Value& place = list->items[part.start + i * part.step];
        incref(items->items[i]);
        old->items[old->size++] = std::exchange(place, items->items[i]);
    }
}

void set_item_of(Vm& vm, Object* object, Value key, Value value) {
    auto* list = cast<List>(object);
    if (key.is_kind(Kind::Slice)) return assign_slice(vm, list, cast<Slice>(key), value);
    const char* message = "list assignment index out of range";
    int64_t at = item_index(vm, key, static_cast<int64_t>(list->size), "list", message);
    if (static_cast<size_t>(at) >= list->size) raise(vm, Exc::IndexError, std::string(message));
    incref(value);
    Ref old = Ref::steal(std::exchange(list->items[at], value));
}

void del_item_of(Vm& vm, Object* object, Value key) {
    auto* list = cast<List>(object);
    if (!key.is_kind(Kind::Slice)) {
        const char* message = "list assignment index out of range";
        int64_t at = item_index(vm, key, static_cast<int64_t>(list->size), "list", message);
        if (static_cast<size_t>(at) >= list->size) raise(vm, Exc::IndexError, std::string(message));
        Ref drop = list_remove_at(vm, list, static_cast<size_t>(at));
        return;
    }
    SliceRange part = slice_range(vm, cast<Slice>(key), static_cast<int64_t>(list->size));
    if (part.length == 0) return;
    if (part.step < 0) {  // the same items from the front
        part.start += (part.length - 1) * part.step;
        part.step = -part.step;
    }
    if (part.step == 1) {
        return replace_part(vm, list, static_cast<size_t>(part.start), static_cast<size_t>(part.start + part.length), nullptr, 0);
    }
    // Keep the others, gather the deleted ones behind them, then cut them off.
    Ptr<List> deleted = make_list(vm, static_cast<size_t>(part.length));
    part.length = std::min(part.length, (static_cast<int64_t>(list->size) - part.start + part.step - 1) / part.step);
    auto kept = static_cast<size_t>(part.start);
    for (size_t at = kept; at < list->size; at++) {
        auto offset = static_cast<int64_t>(at) - part.start;
        if (offset % part.step == 0 && offset / part.step < part.length) {
            deleted->items[deleted->size++] = list->items[at];
        } else {
            list->items[kept++] = list->items[at];
        }
    }
    list->size = kept;
}

bool contains_item(Vm& vm, Object* object, Value item) {
    auto* list = cast<List>(object);
    for (size_t i = 0; i < list->size; i++) {
        Value at = list->items[i];
        if (at.same(item)) return true;
        if (at.is_int() && item.is_int()) continue;
        Ref hold(at);
        if (equals(vm, at, item)) return true;
    }
    return false;
}

Ref iterate_over(Vm& vm, Object* object) {
    auto iter = Ptr<ListIter>::steal(vm.heap.make<ListIter>(Kind::ListIter, vm.classes.list_iterator));
    iter->list = cast<List>(object);
    object->refs++;
    vm.heap.track(iter.get());
    return iter;
}

// ---- The iterator's row ----

void drop_list(ListIter* iter) {
    if (List* list = std::exchange(iter->list, nullptr)) decref(static_cast<Object*>(list));
}

void traverse_iter(Object* object, Visitor& visitor) {
    if (List* list = cast<ListIter>(object)->list) visitor.visit(static_cast<Object*>(list));
}
void clear_iter(Vm&, Object* object) { drop_list(cast<ListIter>(object)); }
void destroy_iter(Vm& vm, Object* object) {
    drop_list(cast<ListIter>(object));
    vm.heap.deallocate(object, sizeof(ListIter));
}
Ref iterate_iter(Vm&, Object* object) { return Ref(object); }

Ref next_iter(Vm&, Object* object) {
    auto* iter = cast<ListIter>(object);
    if (!iter->list) return {};
    const List* list = iter->list;
    if (iter->at < list->size) {
        // The count of an item that is not in the cache would be waited for.
        if (iter->at + kAhead < list->size) __builtin_prefetch(list->items[iter->at + kAhead].o, 1);
        return list->items[iter->at++];
    }
    drop_list(iter);
    return {};
}

}  // namespace

const KindOps kListOps = {
    .traverse = traverse,
    .clear = clear,
    .destroy = destroy,
    .repr = repr_of,
    .hash = hash_of,
    .length = length_of,
    .compare = compare_with,
    .get_item = item_of,
    .set_item = set_item_of,
    .del_item = del_item_of,
    .contains = contains_item,
    .iterate = iterate_over,
};

const KindOps kListIterOps = {
    .traverse = traverse_iter,
    .clear = clear_iter,
    .destroy = destroy_iter,
    .iterate = iterate_iter,
    .next = next_iter,
};

}  // namespace talc::vm
