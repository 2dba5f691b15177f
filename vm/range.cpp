// Ranges and their iterator.
#include "base/text/buffer.hpp"
#include "base/text/hash.hpp"
#include "base/text/number_text.hpp"
#include "vm/dict_inline.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

// How many numbers lie between start and stop, as an unsigned count.
uint64_t count_steps(int64_t start, int64_t stop, int64_t step) {
    auto from = static_cast<uint64_t>(start);
    auto to = static_cast<uint64_t>(stop);
    if (step > 0) return start < stop ? (to - from - 1) / static_cast<uint64_t>(step) + 1 : 0;
    return start > stop ? (from - to - 1) / (0 - static_cast<uint64_t>(step)) + 1 : 0;
}

[[noreturn]] void raise_too_large(Vm& vm) {
    raise(vm, Exc::OverflowError, std::string(text::kIntTooLarge));
}

}  // namespace

Ptr<Range> make_range(Vm& vm, int64_t start, int64_t stop, int64_t step) {
    if (step == 0) raise(vm, Exc::ValueError, "range() arg 3 must not be zero");
    uint64_t length = count_steps(start, stop, step);
    if (length > INT64_MAX) raise_too_large(vm);
    Range* range = vm.heap.make<Range>(Kind::Range, vm.classes.range);
    range->start = start;
    range->stop = stop;
    range->step = step;
    range->length = static_cast<int64_t>(length);
    return Ptr<Range>::steal(range);
}

Ptr<Range> range_slice(Vm& vm, Range* range, const SliceRange& part) {
    int64_t step = 0;
    if (__builtin_mul_overflow(range->step, part.step, &step)) raise_too_large(vm);
    auto at = [&](int64_t index) {
        int64_t offset = 0;
        int64_t value = 0;
        if (__builtin_mul_overflow(index, range->step, &offset) || __builtin_add_overflow(range->start, offset, &value)) {
            raise_too_large(vm);
        }
        return value;
    };
    return make_range(vm, at(part.start), at(part.stop), step);
}

bool range_contains(const Range* range, int64_t value) {
    if (range->length == 0) return false;
    bool inside = range->step > 0 ? value >= range->start && value < range->stop : value <= range->start && value > range->stop;
    if (!inside) return false;
    auto offset = static_cast<uint64_t>(value) - static_cast<uint64_t>(range->start);
    if (range->step > 0) return offset % static_cast<uint64_t>(range->step) == 0;
    return (0 - offset) % (0 - static_cast<uint64_t>(range->step)) == 0;
}

namespace {

void destroy(Vm& vm, Object* object) { vm.heap.deallocate(object, sizeof(Range)); }

Ref repr_of(Vm& vm, Object* object) {
    auto* range = cast<Range>(object);
    text::Buffer out;
    out += "range(";
    text::append_int(out, range->start);
    out += ", ";
    text::append_int(out, range->stop);
    if (range->step != 1) {
        out += ", ";
        text::append_int(out, range->step);
    }
    out += ')';
    return make_str(vm, out.view());
}

// Ranges are equal as the sequences that they are; the hash follows.
int64_t hash_of(Vm& vm, Object* object) {
    auto* range = cast<Range>(object);
    int64_t none = hash(vm, Value::none());
    text::TupleHasher hasher;
    hasher.add(hash_int_key(range->length));
    hasher.add(range->length > 0 ? hash_int_key(range->start) : none);
    hasher.add(range->length > 1 ? hash_int_key(range->step) : none);
    return hasher.finish();
}

int64_t length_of(Vm&, Object* object) { return cast<Range>(object)->length; }

Ref compare_with(Vm&, CompareOp op, Object* object, Value other) {
    if (!other.is_kind(Kind::Range) || (op != CompareOp::Eq && op != CompareOp::Ne)) return {};
    auto* a = cast<Range>(object);
    auto* b = cast<Range>(other);
    bool equal = a->length == b->length && (a->length == 0 || a->start == b->start) && (a->length <= 1 || a->step == b->step);
    return Value::boolean(equal == (op == CompareOp::Eq));
}

Ref item_of(Vm& vm, Object* object, Value key) {
    auto* range = cast<Range>(object);
    if (key.is_kind(Kind::Slice)) return range_slice(vm, range, slice_range(vm, cast<Slice>(key), range->length));
    return Value::integer(range_at(range, item_index(vm, key, range->length, "range", "range object index out of range")));
}

bool contains_item(Vm& vm, Object* object, Value item) {
    auto* range = cast<Range>(object);
    if (item.is_int()) return range_contains(range, item.i);
    if (item.is_bool()) return range_contains(range, item.b);
    if (item.is_float()) {
        return item.f >= -0x1p63 && item.f < 0x1p63 && item.f == static_cast<double>(static_cast<int64_t>(item.f)) &&
               range_contains(range, static_cast<int64_t>(item.f));
    }
    for (int64_t i = 0; i < range->length; i++) {
        if (equals(vm, Value::integer(range_at(range, i)), item)) return true;
        vm.tick(1);
    }
    return false;
}

Ref iterate_over(Vm& vm, Object* object) {
    auto* range = cast<Range>(object);
    RangeIter* iter = vm.heap.make<RangeIter>(Kind::RangeIter, vm.classes.range_iterator);
    iter->next = range->start;
    iter->step = range->step;
    iter->left = range->length;
    return Ptr<RangeIter>::steal(iter);
}

Ref field(Vm& vm, Object* object, Str* name) {
    auto* range = cast<Range>(object);
    if (name == vm.names.start) return Value::integer(range->start);
    if (name == vm.names.stop) return Value::integer(range->stop);
    if (name == vm.names.step) return Value::integer(range->step);
    return {};
}

void destroy_iter(Vm& vm, Object* object) { vm.heap.deallocate(object, sizeof(RangeIter)); }
Ref iterate_iter(Vm&, Object* object) { return Ref(object); }

Ref next_iter(Vm&, Object* object) {
    auto* iter = cast<RangeIter>(object);
    if (iter->left <= 0) return {};
    iter->left--;
    int64_t value = iter->next;
    iter->next = static_cast<int64_t>(static_cast<uint64_t>(value) + static_cast<uint64_t>(iter->step));
    return Value::integer(value);
}

}  // namespace

const KindOps kRangeOps = {
    .destroy = destroy,
    .repr = repr_of,
    .hash = hash_of,
    .length = length_of,
    .compare = compare_with,
    .get_item = item_of,
    .contains = contains_item,
    .iterate = iterate_over,
    .get_attr = field,
};

const KindOps kRangeIterOps = {
    .destroy = destroy_iter,
    .iterate = iterate_iter,
    .next = next_iter,
};

}  // namespace talc::vm
