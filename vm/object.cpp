// The small objects: instances, cells, bound methods, descriptors, super, native state.
#include <new>

#include "base/text/hash.hpp"
#include "vm/containers.hpp"
#include "vm/set_table.hpp"
#include "vm/shape.hpp"
#include "vm/text_out.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

void raise_memory_error(Vm& vm) {
    raise_object(vm, make_exception(vm, vm.classes.of(Exc::MemoryError), nullptr, 0));
}

namespace {

void drop(Value& field) {
    Ref old = Ref::steal(field);
    field = Value();
}

template <class T>
void drop(T*& field) {
    if (T* old = std::exchange(field, nullptr)) decref(static_cast<Object*>(old));
}

template <class T>
void visit(Visitor& visitor, T* field) {
    if (field) visitor.visit(static_cast<Object*>(field));
}

template <class T>
Ptr<T> new_with_slots(Vm& vm, Class* cls) {
    auto object = Ptr<T>::steal(vm.heap.make<T>(cls->instance_kind, cls, sizeof(T) + slots_bytes(cls)));
    init_slots(object.get());
    return object;
}

Ref make_instance(Vm& vm, Class* cls) {
    auto* instance = static_cast<Instance*>(vm.heap.allocate(sizeof(Instance) + slots_bytes(cls)));
    instance->refs = 1;
    instance->kind = Kind::Instance;
    instance->flags = 0;
    instance->aux = 0;
    instance->cls = cls;
    cls->refs++;
    instance->gc_next = nullptr;
    instance->gc_prev = nullptr;
    instance->slots = Slots{};
    init_slots(instance);
    auto owned = Ptr<Instance>::steal(instance);
    vm.heap.track(instance);
    return owned;
}

}  // namespace

Ref allocate_instance(Vm& vm, Class* cls) {
    switch (cls->instance_kind) {
        case Kind::Instance: return make_instance(vm, cls);
        case Kind::List: {
            Ptr<List> list = new_with_slots<List>(vm, cls);
            vm.heap.track(list.get());
            return list;
        }
        case Kind::Dict: {
            Ptr<Dict> dict = new_with_slots<Dict>(vm, cls);
            vm.heap.track(dict.get());
            return dict;
        }
        case Kind::Set: {
            auto set = Ptr<Set>::steal(vm.heap.make<Set>(Kind::Set, cls, sizeof(Set) + slots_bytes(cls)));
            init_set(set.get(), is_subclass(cls, vm.classes.frozenset));
            init_slots(set.get());
            vm.heap.track(set.get());
            return set;
        }
        case Kind::Tuple: {
            auto tuple = Ptr<Tuple>::steal(make_raw_tuple(vm, 0, cls));
            vm.heap.track(tuple.get());
            return tuple;
        }
        case Kind::Exception: return make_exception(vm, cls, nullptr, 0);
        case Kind::BoxedInt: return make_int_of(vm, cls, 0);
        case Kind::BoxedFloat: return make_float_of(vm, cls, 0);
        case Kind::Str: return make_str_of(vm, cls, {});
        case Kind::Bytes: return make_bytes_of(vm, cls, {});
        default: raise(vm, Exc::TypeError, "cannot create '{}' instances", cls->name->view());
    }
}

Ptr<Cell> make_cell(Vm& vm, Value value) {
    auto cell = Ptr<Cell>::steal(vm.heap.make<Cell>(Kind::Cell, vm.classes.cell));
    incref(value);
    cell->value = value;
    vm.heap.track(cell.get());
    return cell;
}

Ptr<BoundMethod> make_bound_method(Vm& vm, Value function, Value self) {
    Class* cls = function.is_kind(Kind::Native) ? vm.classes.native : vm.classes.bound_method;
    auto method = Ptr<BoundMethod>::steal(vm.heap.make<BoundMethod>(Kind::BoundMethod, cls));
    incref(function);
    incref(self);
    method->function = function;
    method->self = self;
    vm.heap.track(method.get());
    return method;
}

Ptr<Native> make_native(Vm& vm, const NativeRow* row, Class* owner) {
    Class* cls = owner ? vm.classes.method_descriptor : vm.classes.native;
    Ptr<Str> name = intern(vm, row->name);
    auto* native = vm.heap.make<Native>(Kind::Native, cls);
    new (&native->state) std::shared_ptr<void>();
    native->row = row;
    native->name = name.release();
    native->owner = owner;
    if (owner) owner->refs++;
    auto owned = Ptr<Native>::steal(native);
    vm.heap.track(native);
    return owned;
}

Ptr<Foreign> make_foreign(Vm& vm, Class* cls, std::unique_ptr<ForeignState> state) {
    auto foreign = Ptr<Foreign>::steal(vm.heap.make<Foreign>(Kind::Foreign, cls, sizeof(Foreign) + slots_bytes(cls)));
    foreign->state = state.release();
    init_slots(foreign.get());
    vm.heap.track(foreign.get());
    return foreign;
}

// ---- Instance ----

namespace {

void instance_traverse(Object* object, Visitor& visitor) { traverse_slots(object, visitor); }
void instance_clear(Vm& vm, Object* object) { clear_slots(vm, object); }
void instance_destroy(Vm& vm, Object* object) {
    size_t size = sizeof(Instance) + slots_allocated(object);
    destroy_slots(vm, object);
    vm.heap.deallocate(object, size);
}

// ---- Foreign ----

void foreign_traverse(Object* object, Visitor& visitor) {
    auto* foreign = cast<Foreign>(object);
    if (foreign->state) foreign->state->traverse(visitor);
    if (has_slots(foreign)) traverse_slots(foreign, visitor);
}
void foreign_clear(Vm& vm, Object* object) {
    auto* foreign = cast<Foreign>(object);
    if (foreign->state) foreign->state->clear();
    if (has_slots(foreign)) clear_slots(vm, foreign);
}
void foreign_destroy(Vm& vm, Object* object) {
    auto* foreign = cast<Foreign>(object);
    delete std::exchange(foreign->state, nullptr);
    size_t size = sizeof(Foreign);
    if (has_slots(foreign)) {
        size += slots_allocated(foreign);
        destroy_slots(vm, foreign);
    }
    vm.heap.deallocate(foreign, size);
}

// ---- Cell ----

void cell_traverse(Object* object, Visitor& visitor) {
    visitor.visit(cast<Cell>(object)->value);
}
void cell_clear(Vm&, Object* object) { drop(cast<Cell>(object)->value); }
void cell_destroy(Vm& vm, Object* object) {
    auto* cell = cast<Cell>(object);
    drop(cell->value);
    drop(cell->name);
    vm.heap.deallocate(cell, sizeof(Cell));
}

Ref cell_repr(Vm& vm, Object* object) {
    auto* cell = cast<Cell>(object);
    if (cell->value.is_undef()) return make_str(vm, fmt::format("<cell at {}: empty>", fmt::ptr(object)));
    const void* where = cell->value.is_obj() ? static_cast<const void*>(cell->value.o) : &cell->value;
    return make_str(vm, fmt::format("<cell at {}: {} object at {}>", fmt::ptr(object), class_name(vm, cell->value), fmt::ptr(where)));
}

Ref cell_get_attr(Vm& vm, Object* object, Str* name) {
    if (name->view() != "cell_contents") return {};
    Value value = cast<Cell>(object)->value;
    if (value.is_undef()) raise(vm, Exc::ValueError, "Cell is empty");
    return value;
}

// ---- BoundMethod ----

void bound_traverse(Object* object, Visitor& visitor) {
    visitor.visit(cast<BoundMethod>(object)->function);
    visitor.visit(cast<BoundMethod>(object)->self);
}
void bound_clear(Vm&, Object* object) {
    auto* method = cast<BoundMethod>(object);
    // Calling what is left gives an error, not a crash.
    drop(method->function);
    method->function = Value::none();
    drop(method->self);
    method->self = Value::none();
}
void bound_destroy(Vm& vm, Object* object) {
    drop(cast<BoundMethod>(object)->function);
    drop(cast<BoundMethod>(object)->self);
    vm.heap.deallocate(object, sizeof(BoundMethod));
}

Ref bound_repr(Vm& vm, Object* object) {
    auto* method = cast<BoundMethod>(object);
    text::Buffer out;
    if (method->function.is_kind(Kind::Native)) {
        const void* where = method->self.is_obj() ? static_cast<const void*>(method->self.o) : &method->self;
        return make_str(vm, fmt::format("<built-in method {} of {} object at {}>", cast<Native>(method->function)->name->view(),
                                        class_name(vm, method->self), fmt::ptr(where)));
    }
    Ref name = find_attr(vm, method->function, vm.names.qualname_);
    if (!name.is_kind(Kind::Str)) name = find_attr(vm, method->function, vm.names.name_);
    out += "<bound method ";
    out += name.is_kind(Kind::Str) ? cast<Str>(name.get())->view() : std::string_view("?");
    out += " of ";
    append_repr(vm, out, method->self);
    out += '>';
    return make_str(vm, out.view());
}

int64_t identity_hash(Vm& vm, Value v) { return v.is_obj() ? text::hash_pointer(v.o) : hash(vm, v); }

int64_t bound_hash(Vm& vm, Object* object) {
    auto* method = cast<BoundMethod>(object);
    int64_t mixed = identity_hash(vm, method->self) ^ hash(vm, method->function);
    return mixed == -1 ? -2 : mixed;
}

Ref bound_compare(Vm& vm, CompareOp op, Object* object, Value other) {
    if (!other.is_kind(Kind::BoundMethod) || (op != CompareOp::Eq && op != CompareOp::Ne)) return {};
    auto* a = cast<BoundMethod>(object);
    auto* b = cast<BoundMethod>(other);
    bool equal = a->self.same(b->self) && equals(vm, a->function, b->function);
    return Value::boolean(equal == (op == CompareOp::Eq));
}

Ref bound_get_attr(Vm& vm, Object* object, Str* name) {
    auto* method = cast<BoundMethod>(object);
    Names& names = vm.names;
    if (name == names.self_) return method->self;
    if (name == names.func_ && !method->function.is_kind(Kind::Native)) return method->function;
    // The function's own attributes show through, but not what every object has.
    bool special = name->size > 4 && name->view().starts_with("__") && name->view().ends_with("__");
    bool shared = name == names.name_ || name == names.qualname_ || name == names.doc_ || name == names.module_ ||
                  name == names.annotations_ || name == names.defaults_ || name == names.kwdefaults_ || name == names.code_ ||
                  name == names.closure_ || name == names.wrapped_;
    if (special && !shared) return {};
    return find_attr(vm, method->function, name);
}

// ---- Property, StaticMethod, ClassMethod ----

void property_traverse(Object* object, Visitor& visitor) {
    auto* property = cast<Property>(object);
    for (Value field : {property->get, property->set, property->del, property->doc}) visitor.visit(field);
}
void property_clear(Vm&, Object* object) {
    auto* property = cast<Property>(object);
    for (Value* field : {&property->get, &property->set, &property->del, &property->doc}) drop(*field);
}
void property_destroy(Vm& vm, Object* object) {
    property_clear(vm, object);
    vm.heap.deallocate(object, sizeof(Property));
}

Value none_if_unset(Value v) { return v.is_undef() ? Value::none() : v; }

Ref property_get_attr(Vm& vm, Object* object, Str* name) {
    auto* property = cast<Property>(object);
    if (name == vm.names.fget) return none_if_unset(property->get);
    if (name == vm.names.fset) return none_if_unset(property->set);
    if (name->view() == "fdel") return none_if_unset(property->del);
    if (name == vm.names.doc_) {
        if (!property->doc.is_undef() && !property->doc.is_none()) return property->doc;
        if (property->get.is_obj()) return find_attr(vm, property->get, name);
        return Value::none();
    }
    return {};
}

// Both hold one function: the same layout.
static_assert(sizeof(StaticMethod) == sizeof(ClassMethod));

Value& wrapped_function(Object* object) {
    return object->kind == Kind::StaticMethod ? cast<StaticMethod>(object)->function : cast<ClassMethod>(object)->function;
}
void wrapped_traverse(Object* object, Visitor& visitor) { visitor.visit(wrapped_function(object)); }
void wrapped_clear(Vm&, Object* object) {
    drop(wrapped_function(object));
    wrapped_function(object) = Value::none();
}
void wrapped_destroy(Vm& vm, Object* object) {
    drop(wrapped_function(object));
    vm.heap.deallocate(object, sizeof(StaticMethod));
}
Ref wrapped_repr(Vm& vm, Object* object) {
    text::Buffer out;
    out += object->kind == Kind::StaticMethod ? "<staticmethod(" : "<classmethod(";
    append_repr(vm, out, wrapped_function(object));
    out += ")>";
    return make_str(vm, out.view());
}
Ref wrapped_get_attr(Vm& vm, Object* object, Str* name) {
    Names& names = vm.names;
    if (name == names.func_ || name == names.wrapped_) return wrapped_function(object);
    if (name == names.name_ || name == names.qualname_ || name == names.doc_ || name == names.module_) {
        return find_attr(vm, wrapped_function(object), name);
    }
    return {};
}

// ---- Super ----

void super_traverse(Object* object, Visitor& visitor) {
    auto* super = cast<Super>(object);
    visit(visitor, super->start);
    visitor.visit(super->self);
    visit(visitor, super->self_class);
}
void super_clear(Vm&, Object* object) {
    drop(cast<Super>(object)->self);
    cast<Super>(object)->self = Value::none();
}
void super_destroy(Vm& vm, Object* object) {
    auto* super = cast<Super>(object);
    drop(super->start);
    drop(super->self);
    drop(super->self_class);
    vm.heap.deallocate(super, sizeof(Super));
}
Ref super_repr(Vm& vm, Object* object) {
    auto* super = cast<Super>(object);
    std::string_view self = super->self_class ? super->self_class->name->view() : std::string_view("NULL");
    return make_str(vm, fmt::format("<super: <class '{}'>, <{} object>>", super->start->name->view(), self));
}
Ref super_get_attr(Vm& vm, Object* object, Str* name) {
    auto* super = cast<Super>(object);
    if (name == vm.names.self_) return super->self;
    if (name->view() == "__thisclass__") return Value::object(super->start);
    if (name->view() == "__self_class__") return Value::object(super->self_class);
    return {};
}

}  // namespace

const KindOps kInstanceOps = {
    .traverse = instance_traverse,
    .clear = instance_clear,
    .destroy = instance_destroy,
};

const KindOps kForeignOps = {
    .traverse = foreign_traverse,
    .clear = foreign_clear,
    .destroy = foreign_destroy,
};

const KindOps kCellOps = {
    .traverse = cell_traverse,
    .clear = cell_clear,
    .destroy = cell_destroy,
    .repr = cell_repr,
    .get_attr = cell_get_attr,
};

const KindOps kBoundMethodOps = {
    .traverse = bound_traverse,
    .clear = bound_clear,
    .destroy = bound_destroy,
    .repr = bound_repr,
    .hash = bound_hash,
    .compare = bound_compare,
    .get_attr = bound_get_attr,
};

const KindOps kPropertyOps = {
    .traverse = property_traverse,
    .clear = property_clear,
    .destroy = property_destroy,
    .get_attr = property_get_attr,
};

constexpr KindOps kWrappedOps = {
    .traverse = wrapped_traverse,
    .clear = wrapped_clear,
    .destroy = wrapped_destroy,
    .repr = wrapped_repr,
    .get_attr = wrapped_get_attr,
};

const KindOps kStaticMethodOps = kWrappedOps;
const KindOps kClassMethodOps = kWrappedOps;

const KindOps kSuperOps = {
    .traverse = super_traverse,
    .clear = super_clear,
    .destroy = super_destroy,
    .repr = super_repr,
    .get_attr = super_get_attr,
};

}  // namespace talc::vm
