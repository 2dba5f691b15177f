// Dicts: entries in order of insertion, and a table of indices into them in the same block of memory. The sizes
// and the moments of growth are CPython's. Comparing keys may run script code that changes the dict: `version`
// tells, and the search begins again.
#include <bit>
#include <cstring>

#include "vm/dict_inline.hpp"
#include "vm/shape.hpp"
#include "vm/format.hpp"
#include "vm/text_out.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

constexpr size_t kMinTable = 8;
constexpr size_t kMaxTable = size_t{1} << 30;

size_t usable_of(size_t table_size) { return table_size * 2 / 3; }
// Blocks of large dicts have room to move the entries to a multiple of their size, so that none lies in two cache lines.
constexpr size_t kManyEntries = 16;
constexpr size_t kShift = 16;
size_t block_bytes(size_t capacity, size_t table_size) {
    return capacity * sizeof(DictEntry) + table_size * sizeof(int32_t) + (capacity >= kManyEntries ? kShift : 0);
}

DictEntry* allocate_block(Vm& vm, size_t capacity, size_t table_size, uint16_t* shift) {
    auto* memory = static_cast<char*>(vm.heap.allocate(block_bytes(capacity, table_size)));
    *shift = capacity >= kManyEntries ? reinterpret_cast<uintptr_t>(memory) % sizeof(DictEntry) : 0;
    return reinterpret_cast<DictEntry*>(memory + *shift);
}

size_t table_for(size_t count) {
    size_t size = std::bit_ceil(count);
    return size < kMinTable ? kMinTable : size;
}

void free_block(Vm& vm, DictEntry* entries, size_t capacity, size_t mask, uint16_t shift) {
    if (entries) vm.heap.deallocate(reinterpret_cast<char*>(entries) - shift, block_bytes(capacity, mask + 1));
}

// Puts the index of a key that is not in the table where a search for it ends.
void link_entry(int32_t* table, size_t mask, uint32_t hash, int32_t index) {
    DictProbe probe(hash, mask);
    while (table[probe.at] >= 0) probe.advance(mask);
    table[probe.at] = index;
}

// Moves the live entries to a block with a table of `size` slots.
void rebuild(Vm& vm, Dict* dict, size_t size) {
    if (size > kMaxTable) raise_memory_error(vm);
    size_t capacity = usable_of(size);
    uint16_t shift = 0;
    DictEntry* entries = allocate_block(vm, capacity, size, &shift);
    if (dict->used > capacity) {
        // Making room collected garbage, which may have run script code that used the dict.
        free_block(vm, entries, capacity, size - 1, shift);
        return rebuild(vm, dict, table_for(dict->used * 3));
    }
    auto* table = reinterpret_cast<int32_t*>(entries + capacity);
    std::memset(table, 0xFF, size * sizeof(int32_t));
    size_t count = 0;
    for (size_t i = 0; i < dict->filled; i++) {
        if (dict->entries[i].key.is_undef()) continue;
        entries[count] = dict->entries[i];
        link_entry(table, size - 1, entries[count].hash(), static_cast<int32_t>(count));
        count++;
    }
    free_block(vm, dict->entries, dict->capacity, dict->mask, dict->aux);
    dict->entries = entries;
    dict->aux = shift;
    dict->table = table;
    dict->filled = count;
    dict->capacity = capacity;
    dict->mask = size - 1;
    dict->usable = static_cast<uint32_t>(capacity - count);
    dict->version++;
}

// Adds a key that is not there. `slot` is where its search ended.
void insert(Vm& vm, Dict* dict, Value key, uint32_t hash, Value value, size_t slot) {
    Ref hold_key(key);
    Ref hold_value(value);
    if (dict->usable == 0) [[unlikely]] {
        rebuild(vm, dict, table_for(dict->used * 3));
        DictProbe probe(hash, dict->mask);
        while (dict->table[probe.at] >= 0) probe.advance(dict->mask);
        slot = probe.at;
    }
    dict->table[slot] = static_cast<int32_t>(dict->filled);
    DictEntry* entry = dict->entries + dict->filled;
    entry->key = hold_key.release();
    entry->key.unused = hash;
    entry->value = hold_value.release();
    dict->filled++;
    dict->used++;
    dict->usable--;
    dict->version++;
}

void replace_value(DictEntry* entry, Value value) {
    incref(value);
    Ref old = Ref::steal(std::exchange(entry->value, value));
}

bool plain_str(Value v) { return v.is_kind(Kind::Str) && !v.o->cls->user; }

DictEntry* find_slot(Vm& vm, Dict* dict, Value key, uint32_t hash, size_t* free_slot) {
    if (dict->mask == 0) return nullptr;
    if (key.is_int()) return dict_find_int(vm, dict, key.i, hash, free_slot);
    if (plain_str(key)) return dict_find_str(vm, dict, cast<Str>(key), hash, free_slot);
    return dict_find_any(vm, dict, key, hash, free_slot);
}

// Takes an entry out; its key and value are handed over.
void unlink_entry(Dict* dict, DictEntry* entry, Ref* key, Ref* value) {
    auto index = static_cast<int32_t>(entry - dict->entries);
    DictProbe probe(entry->hash(), dict->mask);
    while (dict->table[probe.at] != index) probe.advance(dict->mask);
    dict->table[probe.at] = kDictDeleted;
    *key = Ref::steal(entry->plain_key());
    *value = Ref::steal(entry->value);
    entry->key = Value();
    entry->value = Value();
    dict->used--;
    dict->version++;
}

void store(Vm& vm, Dict* dict, Value key, uint32_t hash, Value value) {
    size_t slot = 0;
    DictEntry* entry = find_slot(vm, dict, key, hash, &slot);
    if (entry) return replace_value(entry, value);
    insert(vm, dict, key, hash, value, slot);
}

// Walks the entries of `other` while the body may run script code.
template <class F>
void for_each_entry(Vm& vm, Dict* other, F&& body) {
    Ref keep(static_cast<Object*>(other));
    size_t used = other->used;
    for (size_t i = 0; i < other->filled; i++) {
        DictEntry entry = other->entries[i];
        if (entry.key.is_undef()) continue;
        Ref key(entry.plain_key());
        Ref value(entry.value);
        body(key.get(), value.get(), entry.hash());
        if (other->used != used) raise(vm, Exc::RuntimeError, "dict mutated during update");
    }
}

void merge_dict(Vm& vm, Dict* dict, Dict* other) {
    if (other == dict || other->used == 0) return;
    if (dict->used + other->used > dict->used + dict->usable) dict_reserve(vm, dict, dict->used + other->used);
    for_each_entry(vm, other, [&](Value key, Value value, uint32_t hash) { store(vm, dict, key, hash, value); });
}

// One element of a sequence of pairs.
void set_pair(Vm& vm, Dict* dict, Value item, size_t number) {
    Ptr<List> pair;
    if (item.is_kind(Kind::Tuple) && !item.o->cls->user && cast<Tuple>(item)->size == 2) {
        auto* tuple = cast<Tuple>(item);
        Ref keep(item);
        return dict_set(vm, dict, tuple->items[0], tuple->items[1]);
    }
    Ref iterator;
    try {
        iterator = iterate(vm, item);
    } catch (Raised&) {
        Ref error = vm.take_raised();
        if (!is_instance(vm, error, vm.classes.of(Exc::TypeError))) raise_object(vm, error);
        raise(vm, Exc::TypeError, "cannot convert dictionary update sequence element #{} to a sequence", number);
    }
    pair = list_from_iterable(vm, iterator);
    if (pair->size != 2) {
        raise(vm, Exc::ValueError, "dictionary update sequence element #{} has length {}; 2 is required", number, pair->size);
    }
    dict_set(vm, dict, pair->items[0], pair->items[1]);
}

}  // namespace

// ---- Finding ----

int64_t hash_key(Vm& vm, Value key) {
    if (key.is_int()) return hash_int_key(key.i);
    if (plain_str(key)) return hash_str_key(cast<Str>(key));
    return hash(vm, key);
}

DictEntry* dict_find_str(Vm& vm, Dict* dict, Str* key, uint32_t hash, size_t* free_slot) {
    size_t mask = dict->mask;
    if (mask == 0) return nullptr;
    const int32_t* table = dict->table;
    DictEntry* entries = dict->entries;
    for (DictProbe probe(hash, mask);; probe.advance(mask)) {
        int32_t index = table[probe.at];
        if (index >= 0) [[likely]] {
            DictEntry* entry = entries + index;
            if (entry->hash() != hash) continue;
            if (entry->key.is_obj() && entry->key.o->cls == key->cls) [[likely]] {
                if (str_equal(cast<Str>(entry->key), key)) return entry;
            } else {
                return dict_find_any(vm, dict, Value::object(key), hash, free_slot);
            }
        } else if (index == kDictFree) {
            if (free_slot) *free_slot = probe.at;
            return nullptr;
        }
    }
}

DictEntry* dict_find_any(Vm& vm, Dict* dict, Value key, uint32_t hash, size_t* free_slot) {
    Ref keep_key(key);
    Ref keep_dict(static_cast<Object*>(dict));
restart:
    if (dict->mask == 0) return nullptr;
    size_t mask = dict->mask;
    for (DictProbe probe(hash, mask);; probe.advance(mask)) {
        int32_t index = dict->table[probe.at];
        if (index == kDictFree) {
            if (free_slot) *free_slot = probe.at;
            return nullptr;
        }
        if (index < 0) continue;
        DictEntry* entry = dict->entries + index;
        if (entry->hash() != hash) continue;
        if (entry->key.same(key)) return entry;
        Ref other(entry->plain_key());
        uint32_t version = dict->version;
        bool equal = equals(vm, other, key);
        if (dict->version != version) goto restart;
        if (equal) return entry;
    }
}

DictEntry* dict_find(Vm& vm, Dict* dict, Value key, int64_t hash) {
    return find_slot(vm, dict, key, dict_hash(hash), nullptr);
}

Value dict_get(Vm& vm, Dict* dict, Value key) {
    DictEntry* entry = dict_lookup(vm, dict, key);
    return entry ? entry->value : Value();
}

Value dict_get(Vm& vm, Dict* dict, Str* key) {
    DictEntry* entry = dict->mask ? find_slot(vm, dict, Value::object(key), dict_hash(hash_str_key(key)), nullptr) : nullptr;
    return entry ? entry->value : Value();
}

DictEntry* dict_entry(Dict* dict, size_t& at) {
    for (; at < dict->filled; at++) {
        if (!dict->entries[at].key.is_undef()) return dict->entries + at;
    }
    return nullptr;
}

// ---- Changing ----

void dict_set(Vm& vm, Dict* dict, Value key, int64_t hash, Value value) {
    store(vm, dict, key, dict_hash(hash), value);
}

void dict_set(Vm& vm, Dict* dict, Value key, Value value) { store(vm, dict, key, dict_hash(hash_key(vm, key)), value); }

Ref dict_set_default(Vm& vm, Dict* dict, Value key, Value fallback) {
    uint32_t hash = dict_hash(hash_key(vm, key));
    size_t slot = 0;
    DictEntry* entry = find_slot(vm, dict, key, hash, &slot);
    if (entry) return entry->value;
    insert(vm, dict, key, hash, fallback, slot);
    return fallback;
}

bool dict_remove(Vm& vm, Dict* dict, Value key, Ref* removed) {
    DictEntry* entry = dict_lookup(vm, dict, key);
    if (!entry) return false;
    Ref old_key;
    Ref old_value;
    unlink_entry(dict, entry, &old_key, &old_value);
    if (removed) *removed = std::move(old_value);
    return true;
}

bool dict_pop_last(Vm&, Dict* dict, Ref* key, Ref* value) {
    if (dict->used == 0) return false;
    size_t at = dict->filled - 1;
    while (dict->entries[at].key.is_undef()) at--;
    unlink_entry(dict, dict->entries + at, key, value);
    dict->filled = at;
    return true;
}

void dict_clear(Vm& vm, Dict* dict) {
    DictEntry* entries = dict->entries;
    size_t filled = dict->filled;
    size_t capacity = dict->capacity;
    size_t mask = dict->mask;
    uint16_t shift = dict->aux;
    dict->entries = nullptr;
    dict->table = nullptr;
    dict->used = dict->filled = dict->capacity = dict->mask = 0;
    dict->usable = 0;
    dict->version++;
    for (size_t i = 0; i < filled; i++) {
        if (entries[i].key.is_undef()) continue;
        decref(entries[i].key);
        decref(entries[i].value);
    }
    free_block(vm, entries, capacity, mask, shift);
}

void dict_reserve(Vm& vm, Dict* dict, size_t count) {
    if (count <= dict->used + dict->usable) return;
    if (count > kMaxTable / 2) raise_memory_error(vm);
    rebuild(vm, dict, table_for((count * 3 + 1) / 2));
}

Ptr<Dict> make_dict(Vm& vm, size_t reserve) {
    auto dict = Ptr<Dict>::steal(vm.heap.make<Dict>(Kind::Dict, vm.classes.dict));
    if (reserve) dict_reserve(vm, dict.get(), reserve);
    vm.heap.track(dict.get());
    return dict;
}

Ptr<Dict> dict_copy(Vm& vm, Dict* dict) {
    Ref keep(static_cast<Object*>(dict));
    Ptr<Dict> copy = make_dict(vm);
    if (dict->used == 0) return copy;
    if (dict->used < dict->filled) {
        dict_reserve(vm, copy.get(), dict->used);
        for (size_t i = 0; i < dict->filled && copy->usable; i++) {
            DictEntry& entry = dict->entries[i];
            if (entry.key.is_undef()) continue;
            incref(entry.key);
            incref(entry.value);
            link_entry(copy->table, copy->mask, entry.hash(), static_cast<int32_t>(copy->filled));
            copy->entries[copy->filled++] = entry;
            copy->used++;
            copy->usable--;
        }
        return copy;
    }
    size_t capacity = dict->capacity;
    size_t table_size = dict->mask + 1;
    uint16_t shift = 0;
    DictEntry* entries = allocate_block(vm, capacity, table_size, &shift);
    if (dict->capacity != capacity || dict->used < dict->filled) {  // changed while room was made
        free_block(vm, entries, capacity, table_size - 1, shift);
        return dict_copy(vm, dict);
    }
    std::memcpy(static_cast<void*>(entries), dict->entries, capacity * sizeof(DictEntry) + table_size * sizeof(int32_t));
    for (size_t i = 0; i < dict->filled; i++) {
        incref(entries[i].key);
        incref(entries[i].value);
    }
    copy->entries = entries;
    copy->aux = shift;
    copy->table = reinterpret_cast<int32_t*>(entries + dict->capacity);
    copy->used = dict->used;
    copy->filled = dict->filled;
    copy->capacity = dict->capacity;
    copy->mask = dict->mask;
    copy->usable = dict->usable;
    return copy;
}

void dict_update(Vm& vm, Dict* dict, Value other) {
    Ref keep(other);
    if (other.is_kind(Kind::Dict) &&
        (!other.o->cls->user || find_special(vm, other, Special::Iter).is_undef())) {
        return merge_dict(vm, dict, cast<Dict>(other));
    }
    if (Ref keys = find_attr(vm, other, vm.names.keys)) {
        Ref names = call(vm, keys);
        for_each(vm, names, [&](Value key) {
            Ref hold(key);
            dict_set(vm, dict, key, get_item(vm, other, key));
        });
        return;
    }
    size_t number = 0;
    for_each(vm, other, [&](Value item) {
        Ref hold(item);
        set_pair(vm, dict, item, number++);
    });
}

bool dict_equal(Vm& vm, Dict* a, Dict* b) {
    if (a == b) return true;
    if (a->used != b->used) return false;
    RecursionGuard guard(vm);
    Ref keep_a(static_cast<Object*>(a));
    Ref keep_b(static_cast<Object*>(b));
    for (size_t i = 0; i < a->filled; i++) {
        DictEntry entry = a->entries[i];
        if (entry.key.is_undef()) continue;
        Ref key(entry.plain_key());
        Ref value(entry.value);
        DictEntry* found = find_slot(vm, b, key, entry.hash(), nullptr);
        if (!found) return false;
        Ref other(found->value);
        if (!equals(vm, value, other)) return false;
    }
    return true;
}

// ---- The row ----

namespace {

void traverse(Object* object, Visitor& visitor) {
    auto* dict = cast<Dict>(object);
    for (size_t i = 0; i < dict->filled; i++) {
        visitor.visit(dict->entries[i].key);
        visitor.visit(dict->entries[i].value);
    }
    if (has_slots(dict)) traverse_slots(dict, visitor);
}

void clear(Vm& vm, Object* object) {
    dict_clear(vm, cast<Dict>(object));
    if (has_slots(object)) clear_slots(vm, object);
}

void destroy(Vm& vm, Object* object) {
    dict_clear(vm, cast<Dict>(object));
    size_t size = sizeof(Dict);
    if (has_slots(object)) {
        size += slots_allocated(object);
        destroy_slots(vm, object);
    }
    vm.heap.deallocate(object, size);
}

Ref repr_of(Vm& vm, Object* object) {
    auto* dict = cast<Dict>(object);
    if (dict->used == 0) return make_str(vm, "{}");
    ReprScope scope(vm, dict);
    if (scope.nested()) return make_str(vm, "{...}");
    text::Buffer out(text_limit(vm));
    out += '{';
    for (size_t i = 0; i < dict->filled; i++) {
        DictEntry entry = dict->entries[i];
        if (entry.key.is_undef()) continue;
        Ref key(entry.plain_key());
        Ref value(entry.value);
        if (out.size() > 1) out += ", ";
        append_repr(vm, out, key);
        out += ": ";
        append_repr(vm, out, value);
    }
    out += '}';
    return make_str(vm, out.view());
}

int64_t hash_of(Vm& vm, Object* object) {
    raise(vm, Exc::TypeError, "unhashable type: '{}'", class_name(vm, object));
}

int64_t length_of(Vm&, Object* object) { return static_cast<int64_t>(cast<Dict>(object)->used); }

Ref compare_with(Vm& vm, CompareOp op, Object* object, Value other) {
    if (!other.is_kind(Kind::Dict) || (op != CompareOp::Eq && op != CompareOp::Ne)) return {};
    return Value::boolean(dict_equal(vm, cast<Dict>(object), cast<Dict>(other)) == (op == CompareOp::Eq));
}

Ref item_of(Vm& vm, Object* object, Value key) {
    DictEntry* entry = dict_lookup(vm, cast<Dict>(object), key);
    if (entry) [[likely]] return entry->value;
    if (object->cls->user) {
        Value missing = find_special(vm, Value::object(object), Special::Missing);
        if (!missing.is_undef()) return call_special(vm, missing, Value::object(object), key);
    }
    raise_with(vm, Exc::KeyError, key);
}

void set_item_of(Vm& vm, Object* object, Value key, Value value) { dict_set(vm, cast<Dict>(object), key, value); }

void del_item_of(Vm& vm, Object* object, Value key) {
    if (!dict_remove(vm, cast<Dict>(object), key)) raise_with(vm, Exc::KeyError, key);
}

bool contains_key(Vm& vm, Object* object, Value key) { return dict_lookup(vm, cast<Dict>(object), key) != nullptr; }

Ref iterate_over(Vm& vm, Object* object) { return make_dict_iterator(vm, cast<Dict>(object), ViewOf::Keys); }

}  // namespace

const KindOps kDictOps = {
    .traverse = traverse,
    .clear = clear,
    .destroy = destroy,
    .repr = repr_of,
    .hash = hash_of,
    .length = length_of,
    .compare = compare_with,
    .get_item = item_of,
    .set_item = set_item_of,
    .del_item = del_item_of,
    .contains = contains_key,
    .iterate = iterate_over,
};

}  // namespace talc::vm
