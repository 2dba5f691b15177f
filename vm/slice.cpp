// Slices and indices.
#include "base/text/buffer.hpp"
#include "vm/containers.hpp"
#include "vm/text_out.hpp"
#include "vm/tensor.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

Ptr<Slice> make_slice(Vm& vm, Value start, Value stop, Value step) {
    auto slice = Ptr<Slice>::steal(vm.heap.make<Slice>(Kind::Slice, vm.classes.slice));
    slice->start = Ref(start).release();
    slice->stop = Ref(stop).release();
    slice->step = Ref(step).release();
    if (may_be_in_cycle(start) || may_be_in_cycle(stop) || may_be_in_cycle(step)) vm.heap.track(slice.get());
    return slice;
}

namespace {

int64_t slice_index(Vm& vm, Value v) {
    if (v.is_int()) return v.i;
    if (!is_integer(v) && !is_tensor(v) && find_special(vm, v, Special::Index).is_undef()) {
        raise(vm, Exc::TypeError, "slice indices must be integers or None or have an __index__ method");
    }
    return to_index(vm, v);
}

// Moves an index that may count from the end into [low, high].
int64_t clip(int64_t index, int64_t length, int64_t low, int64_t high) {
    if (index < 0) {
        index += length;
        return index < low ? low : index;
    }
    return index > high ? high : index;
}

}  // namespace

SliceRange slice_range(Vm& vm, Slice* slice, int64_t length) {
    Ref keep(static_cast<Object*>(slice));
    SliceRange part{};
    part.step = slice->step.is_none() ? 1 : slice_index(vm, slice->step);
    if (part.step == 0) raise(vm, Exc::ValueError, "slice step cannot be zero");
    if (part.step == INT64_MIN) part.step = -INT64_MAX;  // so that it can be negated
    bool down = part.step < 0;
    int64_t low = down ? -1 : 0;
    int64_t high = down ? length - 1 : length;
    part.start = slice->start.is_none() ? (down ? high : low) : clip(slice_index(vm, slice->start), length, low, high);
    part.stop = slice->stop.is_none() ? (down ? low : high) : clip(slice_index(vm, slice->stop), length, low, high);
    if (down) {
        part.length = part.stop < part.start ? (part.start - part.stop - 1) / -part.step + 1 : 0;
    } else {
        part.length = part.start < part.stop ? (part.stop - part.start - 1) / part.step + 1 : 0;
    }
    return part;
}

int64_t check_index(Vm& vm, Value key, int64_t length, const char* message) {
    int64_t index = key.is_int() ? key.i : to_index(vm, key);
    if (index < 0) index += length;
    if (index < 0 || index >= length) raise(vm, Exc::IndexError, std::string(message));
    return index;
}

int64_t item_index(Vm& vm, Value key, int64_t length, const char* what, const char* message) {
    if (!key.is_int() && !is_integer(key) && !is_tensor(key) && find_special(vm, key, Special::Index).is_undef()) {
        raise(vm, Exc::TypeError, "{} indices must be integers or slices, not {}", what, class_name(vm, key));
    }
    return check_index(vm, key, length, message);
}

namespace {

void traverse(Object* object, Visitor& visitor) {
    auto* slice = cast<Slice>(object);
    visitor.visit(slice->start);
    visitor.visit(slice->stop);
    visitor.visit(slice->step);
}

void clear(Vm&, Object* object) {
    auto* slice = cast<Slice>(object);
    for (Value* part : {&slice->start, &slice->stop, &slice->step}) {
        Ref drop = Ref::steal(*part);
        *part = Value::none();
    }
}

void destroy(Vm& vm, Object* object) {
    clear(vm, object);
    vm.heap.deallocate(object, sizeof(Slice));
}

Ref repr_of(Vm& vm, Object* object) {
    auto* slice = cast<Slice>(object);
    RecursionGuard guard(vm);
    text::Buffer out;
    out += "slice(";
    append_repr(vm, out, slice->start);
    out += ", ";
    append_repr(vm, out, slice->stop);
    out += ", ";
    append_repr(vm, out, slice->step);
    out += ')';
    return make_str(vm, out.view());
}

int64_t hash_of(Vm& vm, Object*) { raise(vm, Exc::TypeError, "unhashable type: 'slice'"); }

Ref compare_with(Vm& vm, CompareOp op, Object* object, Value other) {
    if (!other.is_kind(Kind::Slice)) return {};
    auto* a = cast<Slice>(object);
    auto* b = cast<Slice>(other);
    Ptr<Tuple> left = make_tuple(vm, {a->start, a->stop, a->step});
    Ptr<Tuple> right = make_tuple(vm, {b->start, b->stop, b->step});
    return compare_sequences(vm, op, left.get(), right.get());
}

Ref field(Vm& vm, Object* object, Str* name) {
    auto* slice = cast<Slice>(object);
    if (name == vm.names.start) return slice->start;
    if (name == vm.names.stop) return slice->stop;
    if (name == vm.names.step) return slice->step;
    return {};
}

}  // namespace

const KindOps kSliceOps = {
    .traverse = traverse,
    .clear = clear,
    .destroy = destroy,
    .repr = repr_of,
    .hash = hash_of,
    .compare = compare_with,
    .get_attr = field,
};

}  // namespace talc::vm
