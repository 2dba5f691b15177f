#include "vm/shape.hpp"

#include <cstddef>
#include <cstring>

#include "vm/vm.hpp"

namespace talc::vm {

namespace {

// Layouts that contain their Slots; the inline values follow the layout.
bool has_own_slots(Kind kind) {
    return kind == Kind::Instance || kind == Kind::Exception || kind == Kind::Function || kind == Kind::Foreign;
}

char* end_of_layout(Object* object) {
    char* start = reinterpret_cast<char*>(object);
    switch (object->kind) {
        case Kind::Tuple: return start + tuple_bytes(static_cast<Tuple*>(object)->size);
        case Kind::Str: return start + str_bytes(static_cast<Str*>(object)->capacity);
        case Kind::Bytes: return start + bytes_bytes(static_cast<Bytes*>(object)->size);
        default: return start + object->cls->slots_offset;
    }
}

Value* inline_values(Object* object, Slots* slots) {
    switch (object->kind) {
        case Kind::Instance: return reinterpret_cast<Value*>(static_cast<Instance*>(object) + 1);
        case Kind::Exception: return reinterpret_cast<Value*>(static_cast<Exception*>(object) + 1);
        case Kind::Function: return reinterpret_cast<Value*>(static_cast<Function*>(object) + 1);
        case Kind::Foreign: return reinterpret_cast<Value*>(static_cast<Foreign*>(object) + 1);
        default: return reinterpret_cast<Value*>(slots + 1);
    }
}

void grow(Vm& vm, Object* object, Slots* slots) {
    uint32_t capacity = slots->capacity < 4 ? 4 : slots->capacity * 2;
    auto* values = static_cast<Value*>(vm.heap.allocate(capacity * sizeof(Value)));
    std::memcpy(static_cast<void*>(values), slots->values, slots->capacity * sizeof(Value));
    for (uint32_t i = slots->capacity; i < capacity; i++) values[i] = Value();
    if (slots->values != inline_values(object, slots) && slots->capacity) {
        vm.heap.deallocate(slots->values, slots->capacity * sizeof(Value));
    }
    slots->values = values;
    slots->capacity = capacity;
}

void to_dictionary(Vm& vm, Object* object, Slots* slots) {
    Ptr<Dict> dict = make_dict(vm);
    for (size_t i = 0; i < slots->shape->keys.size(); i++) {
        dict_set(vm, dict.get(), Value::object(slots->shape->keys[i]), slots->values[i]);
    }
    if (slots->capacity == 0) grow(vm, object, slots);
    Class* cls = object->cls;
    if (!cls->dict_shape) cls->dict_shape = make_dict_shape(cls);
    size_t count = slots->shape->keys.size();
    slots->shape = cls->dict_shape;
    std::vector<Value> dropped(slots->values, slots->values + count);
    for (size_t i = 0; i < count; i++) slots->values[i] = Value();
    slots->values[0] = Value::object(dict.release());
    for (Value v : dropped) decref(v);
}

Dict* dictionary(Slots* slots) { return cast<Dict>(slots->values[0]); }

void destroy_tree(Vm& vm, Shape* shape) {
    for (auto& [name, child] : shape->children) destroy_tree(vm, child);
    for (Str* key : shape->keys) decref(static_cast<Object*>(key));
    delete shape;
}

}  // namespace

Shape* make_root_shape(Class* cls) {
    auto* shape = new Shape();
    shape->cls = cls;
    shape->parent = nullptr;
    return shape;
}

Shape* make_dict_shape(Class* cls) {
    Shape* shape = make_root_shape(cls);
    shape->dictionary = true;
    return shape;
}

void destroy_shapes(Vm& vm, Class* cls) {
    if (cls->root_shape) destroy_tree(vm, cls->root_shape);
    delete cls->dict_shape;
    cls->root_shape = nullptr;
    cls->dict_shape = nullptr;
}

Shape* shape_with(Shape* shape, Str* name) {
    for (auto& [key, child] : shape->children) {
        if (key == name) return child;
    }
    auto* child = new Shape();
    child->cls = shape->cls;
    child->parent = shape;
    child->keys = shape->keys;
    child->keys.push_back(name);
    for (Str* key : child->keys) key->refs++;
    shape->children.emplace_back(name, child);
    return child;
}

size_t slots_bytes(const Class* cls) {
    if (!cls->slots_offset) return 0;
    size_t values = cls->slots_hint * sizeof(Value);
    return has_own_slots(cls->instance_kind) ? values : sizeof(Slots) + values;
}

Slots* slots_of(Object* object) {
    uint16_t offset = object->cls->slots_offset;
    if (offset == 0) return nullptr;
    if (offset == kSlotsAtEnd) return reinterpret_cast<Slots*>(end_of_layout(object));
    return reinterpret_cast<Slots*>(reinterpret_cast<char*>(object) + offset);
}

void init_slots(Object* object) {
    Slots* slots = slots_of(object);
    if (!slots) return;
    slots->shape = object->cls->root_shape;
    slots->inline_capacity = object->cls->slots_hint;
    slots->capacity = slots->inline_capacity;
    slots->values = inline_values(object, slots);
    for (uint32_t i = 0; i < slots->capacity; i++) slots->values[i] = Value();
}

size_t slots_allocated(Object* object) {
    Slots* slots = slots_of(object);
    if (!slots) return 0;
    size_t values = slots->inline_capacity * sizeof(Value);
    return has_own_slots(object->kind) ? values : sizeof(Slots) + values;
}

Value slot_get(Vm& vm, Object* object, Str* name) {
    Slots* slots = slots_of(object);
    if (!slots) return Value();
    if (slots->shape->dictionary) return dict_get(vm, dictionary(slots), name);
    int slot = slots->shape->find(name);
    return slot < 0 ? Value() : slots->values[slot];
}

void slot_set(Vm& vm, Object* object, Str* name, Value value) {
    Slots* slots = slots_of(object);
    assert(slots);
    if (slots->shape->dictionary) {
        dict_set(vm, dictionary(slots), Value::object(name), value);
        return;
    }
    int slot = slots->shape->find(name);
    if (slot >= 0) {
        Value old = slots->values[slot];
        incref(value);
        slots->values[slot] = value;
        decref(old);
        return;
    }
    size_t count = slots->shape->keys.size();
    if (count >= kMaxSlots) {
        to_dictionary(vm, object, slots);
        dict_set(vm, dictionary(slots), Value::object(name), value);
        return;
    }
    if (count >= slots->capacity) grow(vm, object, slots);
    Shape* shape = shape_with(slots->shape, name);
    incref(value);
    slots->values[count] = value;
    slots->shape = shape;
    if (count + 1 > object->cls->slots_hint && count < 16) {
        object->cls->slots_hint = static_cast<uint16_t>(count + 1);
    }
}

bool slot_delete(Vm& vm, Object* object, Str* name) {
    Slots* slots = slots_of(object);
    if (!slots) return false;
    if (!slots->shape->dictionary) {
        if (slots->shape->find(name) < 0) return false;
        to_dictionary(vm, object, slots);
    }
    return dict_remove(vm, dictionary(slots), Value::object(name));
}

Ptr<Dict> slots_dict(Vm& vm, Object* object) {
    Slots* slots = slots_of(object);
    if (!slots) return nullptr;
    if (!slots->shape->dictionary) to_dictionary(vm, object, slots);
    return Ptr<Dict>(dictionary(slots));
}

void traverse_slots(Object* object, Visitor& visitor) {
    Slots* slots = slots_of(object);
    if (!slots || !slots->shape) return;
    for (uint32_t i = 0; i < slots->capacity; i++) visitor.visit(slots->values[i]);
}

void clear_slots(Vm& vm, Object* object) {
    (void)vm;
    Slots* slots = slots_of(object);
    if (!slots || !slots->shape) return;
    std::vector<Value> dropped(slots->values, slots->values + slots->capacity);
    for (uint32_t i = 0; i < slots->capacity; i++) slots->values[i] = Value();
    slots->shape = object->cls->root_shape;
    for (Value v : dropped) decref(v);
}

void destroy_slots(Vm& vm, Object* object) {
    Slots* slots = slots_of(object);
    if (!slots || !slots->shape) return;
    for (uint32_t i = 0; i < slots->capacity; i++) {
        Value v = slots->values[i];
        slots->values[i] = Value();
        decref(v);
    }
    if (slots->capacity && slots->values != inline_values(object, slots)) {
        vm.heap.deallocate(slots->values, slots->capacity * sizeof(Value));
    }
}

}  // namespace talc::vm
