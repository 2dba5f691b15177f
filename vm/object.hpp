#pragma once
// The heap objects' layouts. How they behave is in ops.hpp (by kind) and protocol.hpp (any value).
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lang/code.hpp"
#include "vm/value.hpp"

// Layouts derive from Object, which makes offsetof conditionally supported; GCC and Clang support it.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace talc::vm {

class Vm;
struct Shape;
struct Str;
struct Tuple;
struct Dict;
struct Cell;
struct Function;
struct Module;
struct Frame;

enum class Kind : uint8_t {
#define KIND(name, gc) name,
#include "vm/kinds.def"
#undef KIND
};
constexpr int kKindCount = 0
#define KIND(name, gc) +1
#include "vm/kinds.def"
#undef KIND
    ;

// Object::flags
constexpr uint8_t kInterned = 1;      // Str: in the intern table
constexpr uint8_t kAscii = 2;         // Str: all code points below 128
constexpr uint8_t kFrozen = 4;        // Set: a frozenset
constexpr uint8_t kGcMarked = 8;      // collector's own
constexpr uint8_t kReprActive = 16;   // being printed (recursive containers print ...)
constexpr uint8_t kUntracked = 32;    // gc object that is not linked (yet)

// Objects that can be part of a cycle are linked into the heap's list.
struct GcObject : Object {
    GcObject* gc_next;
    GcObject* gc_prev;
};

// ---- Strings, bytes, numbers ----------------------------------------------------------------------

// UTF-8 text, indexed by code point. `capacity` leaves room to append in place while refs == 1.
struct Str : Object {
    int64_t hash;        // 0: not computed
    uint32_t size;       // bytes
    uint32_t length;     // code points
    uint32_t capacity;   // bytes that fit in data, the final 0 not counted
    uint32_t mark;       // not ASCII: byte offset of a code point looked at lately; aux says which (str.cpp)
    char data[1];        // always followed by a 0

    std::string_view view() const { return {data, size}; }
    std::string string() const { return {data, size}; }
    bool ascii() const { return flags & kAscii; }
};

struct Bytes : Object {
    int64_t hash;
    size_t size;
    char data[1];
    std::string_view view() const { return {data, size}; }
};

// Attributes of an object: the shape says which slot has which name. When `shape` is a dictionary shape
// (shape.hpp), values[0] is a Dict with all of them.
struct Slots {
    Shape* shape;
    Value* values;       // inline behind the object, or from the heap
    uint32_t capacity;
    uint32_t inline_capacity;
};

struct BoxedInt : GcObject { int64_t value; };
struct BoxedFloat : GcObject { double value; };

// ---- Containers -----------------------------------------------------------------------------------

struct List : GcObject {
    Value* items;
    size_t size;
    size_t capacity;
};

struct Tuple : GcObject {
    int64_t hash;        // 0: not computed
    size_t size;
    Value items[1];
};

// Half a cache line: 32 bits of the hash lie in the free part of the key.
struct DictEntry {
    Value key;           // Undef: deleted
    Value value;
    uint32_t hash() const { return key.unused; }
    Value plain_key() const {
        Value v = key;
        v.unused = 0;
        return v;
    }
};

// Insertion-ordered: entries in order, and an open-addressing table of indices into them. aux: bytes that the block
// begins before the entries.
struct Dict : GcObject {
    DictEntry* entries;
    int32_t* table;      // size mask+1; -1 free, -2 deleted
    size_t used;         // live entries
    size_t filled;       // entries used up, deleted ones included
    size_t capacity;     // of entries
    size_t mask;         // table size - 1; 0: no table yet
    uint32_t version;    // changes when keys are added or removed
    uint32_t usable;     // keys that may still be added before the table is rebuilt
};

enum class ViewOf : uint8_t { Keys, Values, Items };
struct DictView : GcObject {
    Dict* dict;
    ViewOf what;
};

struct SetEntry {
    int64_t hash;
    Value key;           // Undef and hash 0: free; Undef and hash -1: deleted
};
// CPython's probing and growth, so that iteration order is the same for the same history.
struct Set : GcObject {
    SetEntry* table;
    size_t mask;
    size_t used;         // live
    size_t filled;       // live + deleted
    int64_t hash;        // frozenset; 0: not computed
    size_t finger;       // where pop() goes on looking
    SetEntry small[8];
};

struct Range : Object {
    int64_t start, stop, step;
    int64_t length;
};

struct Slice : GcObject { Value start, stop, step; };
struct Cell : GcObject { Value value; Str* name; Cell* fallback; };  // fallback (not owned): the builtin of the same name (globals only)

// ---- Code and callables ---------------------------------------------------------------------------

// What an attribute access remembers (interpreter.cpp). Valid while the class epoch is unchanged.
struct AttrCache {
    Str* name;
    Shape* shape;        // receiver's shape; for module attributes unused
    Object* holder;      // class or module whose cell was found
    Cell* cell;          // class attribute (a method) or module global
    Shape* next_shape;   // store that adds an attribute
    uint32_t slot;
    uint32_t epoch;
};

// The VM's form of a lang::Code, linked to the module whose globals it uses. Instructions are quickened in place.
struct Code : GcObject {
    const lang::Code* plain;                    // metadata: spans, names, handlers; owned by `unit`
    std::shared_ptr<const lang::Code> unit;     // the whole compiled file
    lang::Instr* instrs;
    Value* constants;
    Str** names;
    Cell** globals;
    AttrCache* sites;
    Code** codes;
    uint16_t nlocals, nregs;
    uint16_t positional, keyword_only;
    bool simple;                                // positional parameters only: a call needs no binding
    bool generator;
    uint32_t heat;                              // calls so far (anchors)
    Module* module;
    Str* name;
    Str* qualname;
};

struct Function : GcObject {
    Code* code;
    Cell** closure;
    Tuple* defaults;     // null: none
    Dict* keyword_defaults;
    Dict* annotations;
    Value doc;
    Str* name;
    Str* qualname;
    Slots slots;         // f.attribute = ...
};

// Arguments of a native call, already bound to its signature: one value for each parameter in order
// (Undef: not given and no default); *args and **kwargs parameters are not among them but in rest and keywords.
struct Args {
    const Value* values;
    const Value* rest = nullptr;       // *args
    size_t nrest = 0;
    Str* const* keyword_names = nullptr;  // **kwargs
    const Value* keyword_values = nullptr;
    size_t nkeywords = 0;
    void* state = nullptr;             // of a host function (Native::state)
    Value operator[](size_t i) const { return values[i]; }
    bool has(size_t i) const { return !values[i].is_undef(); }
};
using NativeFn = Ref (*)(Vm& vm, const Args& args);

enum class Effect : uint8_t { pure, reads, effect, calls };   // calls: may run script code
// operators: all that it does to tensors is operators, which the context's observer sees; it gives a tensor or a tuple
// or list of them. metadata: what it gives depends on nothing but dtype, sizes, strides, device and requires_grad of its
// tensors.
enum class Record : uint8_t { inlined, traced, opaque, breaks, operators, metadata };

// A row of builtins.def.
struct NativeRow {
    const char* owner;       // class or module, "" for builtin functions
    const char* name;
    const char* signature;   // "(iterable, /, *, key=None, reverse=False)"; methods name self first
    Effect effect;
    Record record;
    NativeFn fn;
    const char* doc;
};

struct Signature;            // call.hpp
struct Native : GcObject {
    const NativeRow* row;
    Signature* signature;    // parsed on the first call
    Str* name;
    Class* owner;            // null for functions
    std::shared_ptr<void> state;   // of a host function; handed to row->fn in Args
};

struct BoundMethod : GcObject { Value function; Value self; };
struct Property : GcObject { Value get, set, del, doc; };
struct StaticMethod : GcObject { Value function; };
struct ClassMethod : GcObject { Value function; };
struct Super : GcObject { Class* start; Value self; Class* self_class; };

// ---- Classes, instances, modules ------------------------------------------------------------------

// Names to cells, in order of definition: a module's globals, a class's attributes.
struct Namespace {
    struct Row { Str* name; Cell* cell; };
    Row* rows = nullptr;
    uint32_t size = 0, capacity = 0;
    int32_t* table = nullptr;
    uint32_t mask = 0;
};

enum class Special : uint8_t {
#define SPECIAL(id, name) id,
#include "vm/specials.def"
#undef SPECIAL
    count,
};

constexpr uint16_t kSlotsAtEnd = 0xFFFF;

struct Class : GcObject {
    Vm* vm;                          // the engine that owns it and, through it, every instance
    Str* name;
    Str* qualname;
    Class* base;                     // single inheritance; null for object
    Kind instance_kind;              // layout of its instances
    bool user;                       // made by a class statement
    bool sealed;                     // cannot be subclassed or given attributes by scripts
    bool foreign_specials;           // native class whose special methods are natives (Kind::Foreign)
    uint16_t slots_offset;           // of the Slots in an instance; 0: no attributes; kSlotsAtEnd: behind its items
    uint16_t slots_hint;             // slots that instances had lately: room made inline
    Namespace attributes;
    std::vector<Str*>* slot_names;   // __slots__ of the class and its bases: no other attributes; null: any
    Shape* root_shape;               // of new instances
    Shape* dict_shape;               // of instances in dictionary mode
    Cell** specials;                 // cells of special methods (null: none), valid for specials_epoch; made on demand
    uint32_t specials_epoch;
    Native* maker;                   // builtin classes: __new__, where that is all there is to a call; found at the first
    void (*populate)(Vm&, Class*);   // fills attributes on the first look-up (builtin classes)
    Value doc;
    Str* module_name;
    Str* dotted;                     // what messages call it where that is more than its name (collections.deque), or null
};

struct Instance : GcObject { Slots slots; };

struct Module : GcObject {
    Str* name;
    Str* file;                       // null for builtin modules
    Namespace globals;
    void (*populate)(Vm&, Module*, Str* name);   // makes a builtin module's attribute on demand; null otherwise
    bool package;
    bool initialized;
    bool library;                    // comes with the program: its imports find the program's modules only
};

// ---- Generators, exceptions, iterators ------------------------------------------------------------

enum class GeneratorState : uint8_t { Created, Suspended, Running, Finished };
struct Generator : GcObject {
    Function* function;
    Value* registers;                // nregs of the code
    const lang::Instr* pc;           // where it goes on
    GeneratorState state;
    bool delegating;                 // suspended in YIELD_FROM, at pc: values sent and thrown go to its iterator
    Value handled;                   // exception being handled inside, while suspended
    Str* name;
};

struct TracebackEntry { Code* code; uint32_t instruction; };
struct Exception : GcObject {
    Tuple* args;
    Value cause;                     // raise from; Undef: none
    Value context;                   // exception that was being handled
    bool suppress_context;
    std::vector<TracebackEntry>* traceback;   // innermost first; null: none
    Value payload;                   // StopIteration.value, SystemExit.code, KeyError's key, OSError's fields (tuple)
    Slots slots;
};

// A builtin iterator's state. next gives an empty Ref at the end.
class Visitor;
struct IteratorState {
    virtual ~IteratorState() = default;
    virtual Ref next(Vm& vm) = 0;
    virtual void traverse(Visitor&) {}
    virtual int64_t length_hint(Vm&) { return -1; }
};
struct Iterator : GcObject { IteratorState* state; };
struct RangeIter : Object { int64_t next, step, left; };
struct ListIter : GcObject { List* list; size_t at; };

// State of a native class: subclass it; get it with foreign_cast<T>(value).
struct ForeignState {
    virtual ~ForeignState() = default;
    virtual void traverse(Visitor&) {}
    virtual void clear() {}          // drops the references that traverse shows, to break a cycle
};
struct Foreign : GcObject { ForeignState* state; Slots slots; };

// Bytes of the objects that end in their items (without the slots of a subclass).
inline size_t round_up_16(size_t n) { return (n + 15) & ~size_t{15}; }
inline size_t tuple_bytes(size_t count) { return offsetof(Tuple, items) + count * sizeof(Value); }
inline size_t str_bytes(size_t capacity) { return round_up_16(offsetof(Str, data) + capacity + 1); }
inline size_t bytes_bytes(size_t size) { return round_up_16(offsetof(Bytes, data) + size + 1); }

template <class T> T* cast(Value v) { return static_cast<T*>(v.o); }
template <class T> T* cast(Object* o) { return static_cast<T*>(o); }

}  // namespace talc::vm
