#pragma once
// Hidden classes. A shape is an immutable list of attribute names of instances of one class; adding an
// attribute moves to a child shape. One compare of the shape pointer tells class and layout, which is what
// inline caches and guards rest on. Instances with many attributes, with a deleted attribute or whose
// __dict__ was asked for go to dictionary mode: the class's dict_shape, with a Dict in values[0].
#include <vector>

#include "vm/heap.hpp"
#include "vm/object.hpp"

namespace talc::vm {

struct Shape {
    Class* cls;
    Shape* parent;
    std::vector<Str*> keys;                          // owned references; slot i has name keys[i]
    std::vector<std::pair<Str*, Shape*>> children;   // by the name that was added
    bool dictionary = false;

    // Slot of an interned name; -1: none.
    int find(const Str* name) const {
        for (size_t i = keys.size(); i-- > 0;) {
            if (keys[i] == name) return static_cast<int>(i);
        }
        return -1;
    }
};

constexpr size_t kMaxSlots = 64;

Shape* make_root_shape(Class* cls);
Shape* make_dict_shape(Class* cls);
void destroy_shapes(Vm& vm, Class* cls);             // all shapes of a class that goes away
Shape* shape_with(Shape* shape, Str* name);          // child with one more name

// ---- An object's slots ----
// Bytes that an object of this class needs behind its own layout of `base` bytes: a Slots (unless the layout
// has one itself) and inline values. 0 for classes whose instances have no attributes.
size_t slots_bytes(const Class* cls);
inline bool has_slots(const Object* object) { return object->cls && object->cls->slots_offset != 0; }
Slots* slots_of(Object* object);                     // null: no attributes
void init_slots(Object* object);                     // after the object's own size fields are set
size_t slots_allocated(Object* object);              // what slots_bytes was when it was made
Value slot_get(Vm& vm, Object* object, Str* name);   // borrowed; Undef: none
void slot_set(Vm& vm, Object* object, Str* name, Value value);
bool slot_delete(Vm& vm, Object* object, Str* name);
Ptr<Dict> slots_dict(Vm& vm, Object* object);        // __dict__: switches to dictionary mode, live
void traverse_slots(Object* object, Visitor& visitor);
void clear_slots(Vm& vm, Object* object);            // drops the values
void destroy_slots(Vm& vm, Object* object);          // drops the values and frees memory outside the object

}  // namespace talc::vm
