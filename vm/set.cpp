// Sets and frozensets. Probing, growth and copying follow CPython step by step, so that a set shows its items in
// the same order: ten neighbouring slots at a time (when they fit before the end), then jumps that mix in the hash.
#include <cstring>
#include <utility>

#include "base/text/hash.hpp"
#include "vm/set_table.hpp"
#include "vm/shape.hpp"
#include "vm/format.hpp"
#include "vm/text_out.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

constexpr size_t kSmall = 8;
constexpr size_t kNeighbours = 9;
constexpr int64_t kDeletedHash = -1;

bool is_free(const SetEntry& entry) { return entry.key.is_undef() && entry.hash == 0; }

// One round of neighbouring slots after another.
struct SetProbe {
    SetProbe(int64_t hash, size_t mask) : at(static_cast<size_t>(hash) & mask), perturb(static_cast<uint64_t>(hash)) {}
    size_t neighbours(size_t mask) const { return at + kNeighbours <= mask ? kNeighbours : 0; }
    void advance(size_t mask) {
        perturb >>= 5;
        at = (at * 5 + 1 + perturb) & mask;
    }
    size_t at;
    uint64_t perturb;
};

// Puts a key into a table that does not have it and has no deleted entries.
void insert_clean(SetEntry* table, size_t mask, Value key, int64_t hash) {
    for (SetProbe probe(hash, mask);; probe.advance(mask)) {
        SetEntry* entry = table + probe.at;
        for (size_t left = probe.neighbours(mask) + 1; left > 0; left--, entry++) {
            if (entry->key.is_undef()) {
                entry->key = key;
                entry->hash = hash;
                return;
            }
        }
    }
}

void free_table(Vm& vm, Set* set, SetEntry* table, size_t mask) {
    if (table != set->small) vm.heap.deallocate(table, (mask + 1) * sizeof(SetEntry));
}

// The entry of a key, or the free one where the search ended; then `deleted` gets the deleted entry that was
// passed last, which a new key takes.
SetEntry* find(Vm& vm, Set* set, Value key, int64_t hash, SetEntry** deleted = nullptr) {
restart:
    if (deleted) *deleted = nullptr;
    size_t mask = set->mask;
    for (SetProbe probe(hash, mask);; probe.advance(mask)) {
        SetEntry* entry = set->table + probe.at;
        for (size_t left = probe.neighbours(mask) + 1; left > 0; left--, entry++) {
            if (is_free(*entry)) return entry;
            if (entry->hash != hash) {
                if (deleted && entry->hash == kDeletedHash) *deleted = entry;
                continue;
            }
            if (entry->key.same(key)) return entry;
            if (entry->key.is_int() && key.is_int()) continue;
            SetEntry* table = set->table;
            Ref other(entry->key);
            bool equal = equals(vm, other, key);
            if (set->table != table || set->mask != mask || !entry->key.same(other)) goto restart;
            if (equal) return entry;
        }
    }
}

size_t wanted(const Set* set) { return set->used > 50000 ? set->used * 2 : set->used * 4; }

}  // namespace

void set_table_resize(Vm& vm, Set* set, size_t at_least) {
    size_t size = kSmall;
    while (size <= at_least) size <<= 1;
    SetEntry* old = set->table;
    size_t old_mask = set->mask;
    SetEntry copy[kSmall];
    SetEntry* table = set->small;
    if (size == kSmall) {
        if (old == set->small) {
            if (set->filled == set->used) return;
            std::memcpy(static_cast<void*>(copy), old, sizeof(copy));
            old = copy;
        }
    } else {
        if (size > PTRDIFF_MAX / 2 / sizeof(SetEntry)) raise_memory_error(vm);
        table = static_cast<SetEntry*>(vm.heap.allocate(size * sizeof(SetEntry)));
        if (set->table != old || set->mask != old_mask || set->used >= size) {
            // Making room collected garbage, which may have run script code that used the set.
            vm.heap.deallocate(table, size * sizeof(SetEntry));
            return set_table_resize(vm, set, wanted(set));
        }
    }
    std::memset(static_cast<void*>(table), 0, size * sizeof(SetEntry));
    for (size_t i = 0; i <= old_mask; i++) {
        if (!old[i].key.is_undef()) insert_clean(table, size - 1, old[i].key, old[i].hash);
    }
    set->table = table;
    set->mask = size - 1;
    set->filled = set->used;
    if (old != copy) free_table(vm, set, old, old_mask);
}

void set_swap_tables(Set* a, Set* b) {
    bool a_small = a->table == a->small;
    bool b_small = b->table == b->small;
    std::swap(a->small, b->small);
    std::swap(a->table, b->table);
    std::swap(a->mask, b->mask);
    std::swap(a->used, b->used);
    std::swap(a->filled, b->filled);
    if (a_small) b->table = b->small;
    if (b_small) a->table = a->small;
}

void set_shrink(Vm& vm, Set* set) { set_table_resize(vm, set, wanted(set)); }

void set_merge(Vm& vm, Set* set, Set* other) {
    if (other == set || other->used == 0) return;
    Ref keep(static_cast<Object*>(other));
    if ((set->filled + other->used) * 5 >= set->mask * 3) set_table_resize(vm, set, (set->used + other->used) * 2);
    if (set->filled == 0 && set->mask == other->mask && other->filled == other->used) {
        for (size_t i = 0; i <= other->mask; i++) {
            incref(other->table[i].key);
            set->table[i] = other->table[i];
        }
        set->filled = set->used = other->used;
        return;
    }
    if (set->filled == 0) {
        for (size_t i = 0; i <= other->mask; i++) {
            SetEntry& entry = other->table[i];
            if (entry.key.is_undef()) continue;
            incref(entry.key);
            insert_clean(set->table, set->mask, entry.key, entry.hash);
        }
        set->filled = set->used = other->used;
        return;
    }
    for (size_t i = 0; i <= other->mask; i++) {
        SetEntry entry = other->table[i];
        if (entry.key.is_undef()) continue;
        Ref key(entry.key);
        set_add(vm, set, key, entry.hash);
    }
}

// ---- One key ----

int64_t set_key_hash(Vm& vm, Value key) {
    // A set is looked for as the frozenset with its items.
    if (key.is_kind(Kind::Set) && !(key.o->flags & kFrozen) && find_special(vm, key, Special::Hash).is_undef()) {
        return set_items_hash(cast<Set>(key));
    }
    return hash_key(vm, key);
}

bool set_contains(Vm& vm, Set* set, Value key, int64_t hash) { return !find(vm, set, key, hash)->key.is_undef(); }
bool set_contains(Vm& vm, Set* set, Value key) { return set_contains(vm, set, key, set_key_hash(vm, key)); }

bool set_add(Vm& vm, Set* set, Value key, int64_t hash) {
    Ref hold(key);
    SetEntry* deleted = nullptr;
    SetEntry* entry = find(vm, set, key, hash, &deleted);
    if (!entry->key.is_undef()) return false;
    if (deleted) {
        deleted->key = hold.release();
        deleted->hash = hash;
        set->used++;
        return true;
    }
    entry->key = hold.release();
    entry->hash = hash;
    set->filled++;
    set->used++;
    if (set->filled * 5 >= set->mask * 3) set_table_resize(vm, set, wanted(set));
    return true;
}

bool set_add(Vm& vm, Set* set, Value key) { return set_add(vm, set, key, hash_key(vm, key)); }

bool set_remove(Vm& vm, Set* set, Value key, int64_t hash) {
    SetEntry* entry = find(vm, set, key, hash);
    if (entry->key.is_undef()) return false;
    Ref old = Ref::steal(entry->key);
    entry->key = Value();
    entry->hash = kDeletedHash;
    set->used--;
    return true;
}

bool set_remove(Vm& vm, Set* set, Value key) { return set_remove(vm, set, key, set_key_hash(vm, key)); }

Ref set_pop(Vm&, Set* set) {
    if (set->used == 0) return {};
    size_t at = set->finger & set->mask;
    while (set->table[at].key.is_undef()) at = at == set->mask ? 0 : at + 1;
    SetEntry& entry = set->table[at];
    Ref key = Ref::steal(entry.key);
    entry.key = Value();
    entry.hash = kDeletedHash;
    set->used--;
    set->finger = at + 1;
    return key;
}

// ---- Whole sets ----

void init_set(Set* set, bool frozen) {
    set->table = set->small;
    set->mask = kSmall - 1;
    if (frozen) set->flags |= kFrozen;
}

Ptr<Set> make_set(Vm& vm, bool frozen) {
    auto set = Ptr<Set>::steal(vm.heap.make<Set>(Kind::Set, frozen ? vm.classes.frozenset : vm.classes.set));
    init_set(set.get(), frozen);
    vm.heap.track(set.get());
    return set;
}

void set_clear(Vm& vm, Set* set) {
    SetEntry copy[kSmall];
    SetEntry* table = set->table;
    size_t mask = set->mask;
    if (table == set->small) {
        std::memcpy(static_cast<void*>(copy), table, sizeof(copy));
        table = copy;
    }
    std::memset(static_cast<void*>(set->small), 0, sizeof(set->small));
    set->table = set->small;
    set->mask = kSmall - 1;
    set->used = set->filled = 0;
    set->hash = 0;
    for (size_t i = 0; i <= mask; i++) decref(table[i].key);
    if (table != copy) free_table(vm, set, table, mask);
}

SetEntry* set_entry(Set* set, size_t& at) {
    for (; at <= set->mask; at++) {
        if (!set->table[at].key.is_undef()) return set->table + at;
    }
    return nullptr;
}

int64_t set_items_hash(const Set* set) {
    text::FrozensetHasher hasher;
    for (size_t i = 0; i <= set->mask; i++) {
        if (!set->table[i].key.is_undef()) hasher.add(set->table[i].hash);
    }
    return hasher.finish();
}

bool is_set(Value v) { return v.is_kind(Kind::Set); }

bool set_is_subset(Vm& vm, Set* a, Set* b) {
    if (a->used > b->used) return false;
    Ref keep_a(static_cast<Object*>(a));
    Ref keep_b(static_cast<Object*>(b));
    for (size_t i = 0; i <= a->mask; i++) {
        SetEntry entry = a->table[i];
        if (entry.key.is_undef()) continue;
        Ref key(entry.key);
        if (!set_contains(vm, b, key, entry.hash)) return false;
    }
    return true;
}

// ---- The row ----

namespace {

void traverse(Object* object, Visitor& visitor) {
    auto* set = cast<Set>(object);
    for (size_t i = 0; i <= set->mask; i++) visitor.visit(set->table[i].key);
    if (has_slots(set)) traverse_slots(set, visitor);
}

void clear(Vm& vm, Object* object) {
    set_clear(vm, cast<Set>(object));
    if (has_slots(object)) clear_slots(vm, object);
}

void destroy(Vm& vm, Object* object) {
    auto* set = cast<Set>(object);
    for (size_t i = 0; i <= set->mask; i++) decref(set->table[i].key);
    free_table(vm, set, set->table, set->mask);
    size_t size = sizeof(Set);
    if (has_slots(set)) {
        size += slots_allocated(set);
        destroy_slots(vm, set);
    }
    vm.heap.deallocate(set, size);
}

Ref repr_of(Vm& vm, Object* object) {
    auto* set = cast<Set>(object);
    std::string_view name = class_name(vm, object);
    ReprScope scope(vm, set);
    text::Buffer out(text_limit(vm));
    bool plain = object->cls == vm.classes.set;
    if (scope.nested() || set->used == 0) {
        out += name;
        out += scope.nested() ? "(...)" : "()";
        return make_str(vm, out.view());
    }
    if (!plain) {
        out += name;
        out += '(';
    }
    out += '{';
    bool first = true;
    Ptr<List> items = list_from_iterable(vm, make_set_iterator(vm, set));
    for (size_t i = 0; i < items->size; i++) {
        if (!first) out += ", ";
        first = false;
        append_repr(vm, out, items->items[i]);
    }
    out += plain ? "}" : "})";
    return make_str(vm, out.view());
}

int64_t hash_of(Vm& vm, Object* object) {
    auto* set = cast<Set>(object);
    if (!(set->flags & kFrozen)) raise(vm, Exc::TypeError, "unhashable type: '{}'", class_name(vm, object));
    if (!set->hash) set->hash = set_items_hash(set);
    return set->hash;
}

int64_t length_of(Vm&, Object* object) { return static_cast<int64_t>(cast<Set>(object)->used); }

Ref compare_with(Vm& vm, CompareOp op, Object* object, Value other) {
    if (!is_set(other)) return {};
    auto* a = cast<Set>(object);
    auto* b = cast<Set>(other);
    RecursionGuard guard(vm);
    switch (op) {
        case CompareOp::Eq:
        case CompareOp::Ne: {
            bool equal = a->used == b->used && !(a->hash && b->hash && a->hash != b->hash) && set_is_subset(vm, a, b);
            return Value::boolean(equal == (op == CompareOp::Eq));
        }
        case CompareOp::Lt: return Value::boolean(a->used < b->used && set_is_subset(vm, a, b));
        case CompareOp::Le: return Value::boolean(set_is_subset(vm, a, b));
        case CompareOp::Gt: return Value::boolean(b->used < a->used && set_is_subset(vm, b, a));
        case CompareOp::Ge: return Value::boolean(set_is_subset(vm, b, a));
    }
    return {};
}

bool contains_item(Vm& vm, Object* object, Value item) { return set_contains(vm, cast<Set>(object), item); }
Ref iterate_over(Vm& vm, Object* object) { return make_set_iterator(vm, cast<Set>(object)); }

}  // namespace

const KindOps kSetOps = {
    .traverse = traverse,
    .clear = clear,
    .destroy = destroy,
    .repr = repr_of,
    .hash = hash_of,
    .length = length_of,
    .compare = compare_with,
    .contains = contains_item,
    .iterate = iterate_over,
};

}  // namespace talc::vm
