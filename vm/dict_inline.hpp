#pragma once
// Looking up ints and strings in a dict, inline for the interpreter. Probing is CPython's: the low bits of the
// hash first, so that consecutive ints lie side by side, then jumps that mix in the rest of it.
#include "base/text/hash.hpp"
#include "vm/containers.hpp"
#include "vm/make.hpp"

namespace talc::vm {

constexpr int32_t kDictFree = -1;
constexpr int32_t kDictDeleted = -2;

// Where a search in the table goes on.
struct DictProbe {
    DictProbe(int64_t hash, size_t mask) : at(static_cast<size_t>(hash) & mask), perturb(static_cast<uint64_t>(hash)) {}
    void advance(size_t mask) {
        perturb >>= 5;
        at = (at * 5 + perturb + 1) & mask;
    }
    size_t at;
    uint64_t perturb;
};

inline int64_t hash_int_key(int64_t key) {
    constexpr int64_t kSmall = int64_t{1} << 60;
    if (key > -kSmall && key < kSmall) [[likely]] return key == -1 ? -2 : key;
    return text::hash_int(key);
}
inline int64_t hash_str_key(Str* key) { return key->hash ? key->hash : str_hash(key); }

// The search for any key; `free_slot` (may be null) gets the slot where a missing key can be put.
DictEntry* dict_find_any(Vm& vm, Dict* dict, Value key, int64_t hash, size_t* free_slot);

inline DictEntry* dict_find_int(Vm& vm, Dict* dict, int64_t key, int64_t hash, size_t* free_slot) {
    size_t mask = dict->mask;
    DictProbe probe(hash, mask);
    for (;; probe.advance(mask)) {
        int32_t index = dict->table[probe.at];
        if (index >= 0) {
            DictEntry* entry = dict->entries + index;
            if (entry->key.tag == Tag::Int) {
                if (entry->key.i == key) return entry;
            } else if (entry->hash == hash) [[unlikely]] {
                return dict_find_any(vm, dict, Value::integer(key), hash, free_slot);
            }
        } else if (index == kDictFree) {
            if (free_slot) *free_slot = probe.at;
            return nullptr;
        }
    }
}

// key: exactly a str, not a subclass.
inline DictEntry* dict_find_str(Vm& vm, Dict* dict, Str* key, int64_t hash, size_t* free_slot) {
    size_t mask = dict->mask;
    DictProbe probe(hash, mask);
    for (;; probe.advance(mask)) {
        int32_t index = dict->table[probe.at];
        if (index >= 0) {
            DictEntry* entry = dict->entries + index;
            if (entry->key.is_obj() && entry->key.o == key) return entry;
            if (entry->hash == hash) {
                if (entry->key.is_obj() && entry->key.o->cls == key->cls) {
                    if (str_equal(cast<Str>(entry->key), key)) return entry;
                } else {
                    return dict_find_any(vm, dict, Value::object(key), hash, free_slot);
                }
            }
        } else if (index == kDictFree) {
            if (free_slot) *free_slot = probe.at;
            return nullptr;
        }
    }
}

// The entry of a key; null: none. Raises if the key cannot be hashed.
inline DictEntry* dict_lookup(Vm& vm, Dict* dict, Value key) {
    if (key.is_int()) {
        if (dict->mask == 0) return nullptr;
        return dict_find_int(vm, dict, key.i, hash_int_key(key.i), nullptr);
    }
    if (key.is_obj() && key.o->kind == Kind::Str && !key.o->cls->user) {
        if (dict->mask == 0) return nullptr;
        return dict_find_str(vm, dict, cast<Str>(key), hash_str_key(cast<Str>(key)), nullptr);
    }
    return dict_find(vm, dict, key, hash_key(vm, key));
}

}  // namespace talc::vm
