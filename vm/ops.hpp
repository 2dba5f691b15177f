#pragma once
// How each kind of object behaves: one row of functions a kind, filled in the kind's own file. A null
// entry means that the kind does not support it; protocol.hpp then raises CPython's error.
#include "vm/heap.hpp"
#include "vm/object.hpp"

namespace talc::vm {

enum class CompareOp : uint8_t { Eq, Ne, Lt, Le, Gt, Ge };

struct KindOps {
    void (*traverse)(Object*, Visitor&) = nullptr;    // GC kinds: every owned reference, the class not counted
    void (*clear)(Vm&, Object*) = nullptr;            // GC kinds: drop references to break a cycle; object stays valid
    void (*destroy)(Vm&, Object*) = nullptr;          // drop owned references and free the memory
    Ref (*repr)(Vm&, Object*) = nullptr;              // a Str
    Ref (*str)(Vm&, Object*) = nullptr;               // null: repr
    int64_t (*hash)(Vm&, Object*) = nullptr;          // null: by address; raises TypeError itself if unhashable
    bool (*truth)(Vm&, Object*) = nullptr;            // null: length != 0, else true
    int64_t (*length)(Vm&, Object*) = nullptr;
    // Undef: not comparable with that value (NotImplemented)
    Ref (*compare)(Vm&, CompareOp, Object*, Value) = nullptr;
    Ref (*get_item)(Vm&, Object*, Value) = nullptr;
    void (*set_item)(Vm&, Object*, Value, Value) = nullptr;
    void (*del_item)(Vm&, Object*, Value) = nullptr;
    bool (*contains)(Vm&, Object*, Value) = nullptr;
    Ref (*iterate)(Vm&, Object*) = nullptr;           // a new iterator
    Ref (*next)(Vm&, Object*) = nullptr;              // iterators: empty at the end
    Ref (*get_attr)(Vm&, Object*, Str*) = nullptr;    // attributes that are fields of the layout; empty: none
    bool (*set_attr)(Vm&, Object*, Str*, Value) = nullptr;  // false: not a field (then slots are tried)
};

const KindOps& kind_ops(Kind kind);

// A suspended generator with finally blocks: its end runs script code.
bool runs_script_when_destroyed(const Object* object);

// Each kind's row, defined in its file.
#define KIND(name, gc) extern const KindOps k##name##Ops;
#include "vm/kinds.def"
#undef KIND

}  // namespace talc::vm
