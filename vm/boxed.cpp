// Instances of subclasses of int and float: a number with a class and attributes.
#include "vm/containers.hpp"
#include "vm/shape.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

template <class Box, Kind kind, class Number>
Ref make_box(Vm& vm, Class* cls, Number value) {
    auto box = Ptr<Box>::steal(vm.heap.make<Box>(kind, cls, sizeof(Box) + slots_bytes(cls)));
    box->value = value;
    init_slots(box.get());
    vm.heap.track(box.get());
    return box;
}

Value plain(Object* object) {
    return object->kind == Kind::BoxedInt ? Value::integer(cast<BoxedInt>(object)->value)
                                          : Value::real(cast<BoxedFloat>(object)->value);
}

void traverse(Object* object, Visitor& visitor) {
    if (has_slots(object)) traverse_slots(object, visitor);
}
void clear(Vm& vm, Object* object) {
    if (has_slots(object)) clear_slots(vm, object);
}
void destroy(Vm& vm, Object* object) {
    size_t size = object->kind == Kind::BoxedInt ? sizeof(BoxedInt) : sizeof(BoxedFloat);
    if (has_slots(object)) {
        size += slots_allocated(object);
        destroy_slots(vm, object);
    }
    vm.heap.deallocate(object, size);
}

Ref repr_of(Vm& vm, Object* object) { return repr(vm, plain(object)); }
int64_t hash_of(Vm& vm, Object* object) { return hash(vm, plain(object)); }
bool truth_of(Vm& vm, Object* object) { return truth(vm, plain(object)); }

Ref compare_with(Vm& vm, CompareOp op, Object* object, Value other) {
    if (!is_number(other)) return {};
    if (other.is_kind(Kind::BoxedInt) || other.is_kind(Kind::BoxedFloat)) other = plain(other.o);
    return compare(vm, op, plain(object), other);
}

}  // namespace

Ref make_int_of(Vm& vm, Class* cls, int64_t value) {
    if (cls == vm.classes.int_) return Value::integer(value);
    if (cls == vm.classes.bool_) return Value::boolean(value != 0);
    return make_box<BoxedInt, Kind::BoxedInt>(vm, cls, value);
}

Ref make_float_of(Vm& vm, Class* cls, double value) {
    if (cls == vm.classes.float_) return Value::real(value);
    return make_box<BoxedFloat, Kind::BoxedFloat>(vm, cls, value);
}

constexpr KindOps kBoxedOps = {
    .traverse = traverse,
    .clear = clear,
    .destroy = destroy,
    .repr = repr_of,
    .hash = hash_of,
    .truth = truth_of,
    .compare = compare_with,
};

const KindOps kBoxedIntOps = kBoxedOps;
const KindOps kBoxedFloatOps = kBoxedOps;

}  // namespace talc::vm
