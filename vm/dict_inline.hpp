#pragma once
// Looking up ints and strings in a dict, inline for the interpreter. Probing is CPython's: the low bits of the
// hash first, so that consecutive ints lie side by side, then jumps that mix in the rest of it.
#include "base/text/hash.hpp"
#include "vm/containers.hpp"
#include "vm/make.hpp"

namespace talc::vm {

constexpr int32_t kDictFree = -1;
constexpr int32_t kDictDeleted = -2;

// What a dict keeps of a hash: its halves folded, so that small ints stay what they are.
inline uint32_t dict_hash(int64_t hash) {
    return static_cast<uint32_t>(hash) ^ static_cast<uint32_t>(static_cast<uint64_t>(hash) >> 32);
}

// Where a search in the table goes on.
struct DictProbe {
    DictProbe(uint32_t hash, size_t mask) : at(hash & mask), perturb(hash) {}
    void advance(size_t mask) {
        perturb >>= 5;
        at = (at * 5 + perturb + 1) & mask;
    }
    size_t at;
    size_t perturb;
};

inline int64_t hash_int_key(int64_t key) {
    constexpr int64_t kSmall = int64_t{1} << 60;
    if (key > -kSmall && key < kSmall) [[likely]] return key == -1 ? -2 : key;
    return text::hash_int(key);
}
inline int64_t hash_str_key(Str* key) { return key->hash ? key->hash : str_hash(key); }

// The searches. `free_slot` (may be null) gets the slot where a missing key can be put. A dict without a table finds
// nothing; the inline ones are not for it.
DictEntry* dict_find_any(Vm& vm, Dict* dict, Value key, uint32_t hash, size_t* free_slot);
DictEntry* dict_find_str(Vm& vm, Dict* dict, Str* key, uint32_t hash, size_t* free_slot);  // exactly a str, no subclass

inline DictEntry* dict_find_int(Vm& vm, Dict* dict, int64_t key, uint32_t hash, size_t* free_slot) {
    size_t mask = dict->mask;
    const int32_t* table = dict->table;
    DictEntry* entries = dict->entries;
    for (DictProbe probe(hash, mask);; probe.advance(mask)) {
        int32_t index = table[probe.at];
        if (index >= 0) [[likely]] {
            DictEntry* entry = entries + index;
            if (entry->key.tag == Tag::Int) [[likely]] {
                if (entry->key.i == key) return entry;
            } else if (entry->hash() == hash) {
                return dict_find_any(vm, dict, Value::integer(key), hash, free_slot);
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
        return dict_find_int(vm, dict, key.i, dict_hash(hash_int_key(key.i)), nullptr);
    }
    if (key.is_obj() && key.o->kind == Kind::Str && !key.o->cls->user) {
        return dict_find_str(vm, dict, cast<Str>(key), dict_hash(hash_str_key(cast<Str>(key))), nullptr);
    }
    return dict_find(vm, dict, key, hash_key(vm, key));
}

}  // namespace talc::vm
