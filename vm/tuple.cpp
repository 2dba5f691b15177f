// Tuples, and the comparison that they share with lists.
#include <cstring>

#include "base/text/hash.hpp"
#include "vm/containers.hpp"
#include "vm/shape.hpp"
#include "vm/format.hpp"
#include "vm/text_out.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

bool may_be_in_cycle(Value v) {
    static constexpr bool kGc[] = {
#define KIND(name, gc) gc != 0,
#include "vm/kinds.def"
#undef KIND
    };
    // A tuple that is not tracked holds nothing that could point back.
    return v.is_obj() && kGc[static_cast<int>(v.o->kind)] &&
           (v.o->kind != Kind::Tuple || static_cast<GcObject*>(v.o)->gc_next);
}

void track_tuple(Vm& vm, Tuple* tuple) {
    for (size_t i = 0; i < tuple->size; i++) {
        if (may_be_in_cycle(tuple->items[i])) {
            vm.heap.track(tuple);
            return;
        }
    }
}

Tuple* make_raw_tuple(Vm& vm, size_t count, Class* cls) {
    if (!cls) cls = vm.classes.tuple;
    if (count > PTRDIFF_MAX / 2 / sizeof(Value)) raise_memory_error(vm);
    auto* tuple = static_cast<Tuple*>(vm.heap.allocate(tuple_bytes(count) + (cls ? slots_bytes(cls) : 0)));
    tuple->refs = 1;
    tuple->kind = Kind::Tuple;
    tuple->flags = 0;
    tuple->aux = 0;
    tuple->cls = cls;
    if (cls) cls->refs++;
    tuple->gc_next = nullptr;
    tuple->gc_prev = nullptr;
    tuple->hash = 0;
    tuple->size = count;
    if (cls) init_slots(tuple);
    return tuple;
}

Ptr<Tuple> make_tuple(Vm& vm, const Value* items, size_t count) {
    if (count == 0) {
        if (!vm.empty_tuple) vm.empty_tuple = Ptr<Tuple>::steal(make_raw_tuple(vm, 0));
        return vm.empty_tuple;
    }
    Tuple* tuple = make_raw_tuple(vm, count);
    bool track = false;
    for (size_t i = 0; i < count; i++) {
        incref(items[i]);
        tuple->items[i] = items[i];
        track |= may_be_in_cycle(items[i]);
    }
    auto owned = Ptr<Tuple>::steal(tuple);
    if (track) vm.heap.track(tuple);
    return owned;
}

Ptr<Tuple> make_tuple(Vm& vm, std::initializer_list<Value> items) { return make_tuple(vm, items.begin(), items.size()); }

Ptr<Tuple> tuple_from_iterable(Vm& vm, Value iterable) {
    if (iterable.is_kind(Kind::Tuple) && iterable.o->cls == vm.classes.tuple) return Ptr<Tuple>(cast<Tuple>(iterable));
    if (iterable.is_kind(Kind::List) && iterable.o->cls == vm.classes.list) {
        auto* list = cast<List>(iterable);
        return make_tuple(vm, list->items, list->size);
    }
    Ptr<List> list = list_from_iterable(vm, iterable);
    return make_tuple(vm, list->items, list->size);
}

namespace {
// Parts and sums of a tensor's shape are shapes.
Class* part_class(Vm& vm, const Tuple* tuple) { return tuple->cls == vm.classes.size ? tuple->cls : nullptr; }
}  // namespace

Ptr<Tuple> tuple_concat(Vm& vm, Tuple* a, Tuple* b) {
    if (a->size == 0 && a->cls == vm.classes.tuple && b->cls == vm.classes.tuple) return Ptr<Tuple>(b);
    if (b->size == 0 && a->cls == vm.classes.tuple) return Ptr<Tuple>(a);
    if (a->size + b->size == 0 && !part_class(vm, a)) return make_tuple(vm, nullptr, 0);
    Tuple* out = make_raw_tuple(vm, a->size + b->size, part_class(vm, a));
    for (size_t i = 0; i < out->size; i++) {
        Value item = i < a->size ? a->items[i] : b->items[i - a->size];
        incref(item);
        out->items[i] = item;
    }
    auto owned = Ptr<Tuple>::steal(out);
    track_tuple(vm, out);
    return owned;
}

Ptr<Tuple> tuple_repeat(Vm& vm, Tuple* tuple, int64_t times) {
    if (times <= 0 || tuple->size == 0) return make_tuple(vm, nullptr, 0);
    if (times == 1 && tuple->cls == vm.classes.tuple) return Ptr<Tuple>(tuple);
    size_t count = 0;
    if (__builtin_mul_overflow(tuple->size, static_cast<size_t>(times), &count)) raise_memory_error(vm);
    Tuple* out = make_raw_tuple(vm, count);
    for (size_t i = 0; i < count; i += tuple->size) {
        for (size_t j = 0; j < tuple->size; j++) {
            incref(tuple->items[j]);
            out->items[i + j] = tuple->items[j];
        }
    }
    auto owned = Ptr<Tuple>::steal(out);
    track_tuple(vm, out);
    return owned;
}

Ptr<Tuple> tuple_slice(Vm& vm, Tuple* tuple, int64_t start, int64_t stop, int64_t step) {
    int64_t count = step > 0 ? (stop > start ? (stop - start - 1) / step + 1 : 0)
                             : (start > stop ? (start - stop - 1) / -step + 1 : 0);
    if (count <= 0) count = 0;
    if (count == 0 && !part_class(vm, tuple)) return make_tuple(vm, nullptr, 0);
    if (step == 1 && !part_class(vm, tuple)) {
        if (static_cast<size_t>(count) == tuple->size && tuple->cls == vm.classes.tuple) return Ptr<Tuple>(tuple);
        return make_tuple(vm, tuple->items + start, static_cast<size_t>(count));
    }
    Tuple* out = make_raw_tuple(vm, static_cast<size_t>(count), part_class(vm, tuple));
    for (int64_t i = 0; i < count; i++) {
        out->items[i] = tuple->items[start + i * step];
        incref(out->items[i]);
    }
    auto owned = Ptr<Tuple>::steal(out);
    track_tuple(vm, out);
    return owned;
}

// ---- Comparing ----

Ref order_result(CompareOp op, int order) {
    switch (op) {
        case CompareOp::Eq: return Value::boolean(order == 0);
        case CompareOp::Ne: return Value::boolean(order != 0);
        case CompareOp::Lt: return Value::boolean(order < 0);
        case CompareOp::Le: return Value::boolean(order <= 0);
        case CompareOp::Gt: return Value::boolean(order > 0);
        case CompareOp::Ge: return Value::boolean(order >= 0);
    }
    return {};
}

namespace {

// Comparing items may run script code that changes a list: its size is looked up anew each time.
struct Items {
    explicit Items(Object* object) : list(object->kind == Kind::List ? cast<List>(object) : nullptr), tuple(cast<Tuple>(object)) {}
    size_t size() const { return list ? list->size : tuple->size; }
    Value at(size_t i) const { return list ? list->items[i] : tuple->items[i]; }
    List* list;
    Tuple* tuple;
};

bool items_equal(Vm& vm, Value a, Value b) {
    if (a.tag == b.tag && a.tag == Tag::Int) return a.i == b.i;
    if (a.same(b)) return true;
    Ref keep_a(a);
    Ref keep_b(b);
    return equals(vm, a, b);
}

}  // namespace

Ref compare_sequences(Vm& vm, CompareOp op, Object* a, Object* b) {
    Items left(a);
    Items right(b);
    bool equality = op == CompareOp::Eq || op == CompareOp::Ne;
    if (equality && left.size() != right.size()) return Value::boolean(op == CompareOp::Ne);
    RecursionGuard guard(vm);
    size_t i = 0;
    while (i < left.size() && i < right.size() && items_equal(vm, left.at(i), right.at(i))) i++;
    if (i >= left.size() || i >= right.size()) {
        return order_result(op, (left.size() > right.size()) - (left.size() < right.size()));
    }
    if (equality) return Value::boolean(op == CompareOp::Ne);
    Ref x(left.at(i));
    Ref y(right.at(i));
    return compare(vm, op, x, y);
}

// ---- The row ----

namespace {

void traverse(Object* object, Visitor& visitor) {
    auto* tuple = cast<Tuple>(object);
    for (size_t i = 0; i < tuple->size; i++) visitor.visit(tuple->items[i]);
    if (has_slots(tuple)) traverse_slots(tuple, visitor);
}

void clear(Vm& vm, Object* object) {
    auto* tuple = cast<Tuple>(object);
    for (size_t i = 0; i < tuple->size; i++) {
        Ref drop = Ref::steal(tuple->items[i]);
        tuple->items[i] = Value::none();
    }
    if (has_slots(tuple)) clear_slots(vm, tuple);
}

void destroy(Vm& vm, Object* object) {
    auto* tuple = cast<Tuple>(object);
    for (size_t i = 0; i < tuple->size; i++) decref(tuple->items[i]);
    size_t size = tuple_bytes(tuple->size);
    if (has_slots(tuple)) {
        size += slots_allocated(tuple);
        destroy_slots(vm, tuple);
    }
    vm.heap.deallocate(tuple, size);
}

// As PyTorch prints a shape.
Ref size_repr(Vm& vm, Tuple* sizes) {
    text::Buffer out;
    out += "torch.Size([";
    for (size_t i = 0; i < sizes->size; i++) {
        if (i) out += ", ";
        append_repr(vm, out, sizes->items[i]);
    }
    out += "])";
    return make_str(vm, out.view());
}

Ref repr_of(Vm& vm, Object* object) {
    auto* tuple = cast<Tuple>(object);
    if (tuple->cls == vm.classes.size) return size_repr(vm, tuple);
    if (tuple->size == 0) return make_str(vm, "()");
    ReprScope scope(vm, tuple);
    if (scope.nested()) return make_str(vm, "(...)");
    text::Buffer out(text_limit(vm));
    out += '(';
    for (size_t i = 0; i < tuple->size; i++) {
        if (i) out += ", ";
        append_repr(vm, out, tuple->items[i]);
    }
    out += tuple->size == 1 ? ",)" : ")";
    return make_str(vm, out.view());
}

int64_t hash_of(Vm& vm, Object* object) {
    auto* tuple = cast<Tuple>(object);
    if (tuple->hash) return tuple->hash;
    RecursionGuard guard(vm);
    text::TupleHasher hasher;
    for (size_t i = 0; i < tuple->size; i++) hasher.add(hash_key(vm, tuple->items[i]));
    tuple->hash = hasher.finish();
    return tuple->hash;
}

int64_t length_of(Vm&, Object* object) { return static_cast<int64_t>(cast<Tuple>(object)->size); }

Ref compare_with(Vm& vm, CompareOp op, Object* object, Value other) {
    if (!other.is_kind(Kind::Tuple)) return {};
    return compare_sequences(vm, op, object, other.o);
}

Ref item_of(Vm& vm, Object* object, Value key) {
    auto* tuple = cast<Tuple>(object);
    auto size = static_cast<int64_t>(tuple->size);
    if (key.is_kind(Kind::Slice)) {
        SliceRange part = slice_range(vm, cast<Slice>(key), size);
        return tuple_slice(vm, tuple, part.start, part.stop, part.step);
    }
    return tuple->items[item_index(vm, key, size, "tuple", "tuple index out of range")];
}

bool contains_item(Vm& vm, Object* object, Value item) {
    auto* tuple = cast<Tuple>(object);
    for (size_t i = 0; i < tuple->size; i++) {
        if (items_equal(vm, tuple->items[i], item)) return true;
    }
    return false;
}

Ref iterate_over(Vm& vm, Object* object) { return make_tuple_iterator(vm, cast<Tuple>(object)); }

}  // namespace

const KindOps kTupleOps = {
    .traverse = traverse,
    .clear = clear,
    .destroy = destroy,
    .repr = repr_of,
    .hash = hash_of,
    .length = length_of,
    .compare = compare_with,
    .get_item = item_of,
    .contains = contains_item,
    .iterate = iterate_over,
};

}  // namespace talc::vm
