// Unions, intersections and differences, each walking its operands as CPython does (the order of the result
// depends on it).
#include "vm/dict_inline.hpp"
#include "vm/set_table.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

bool is_plain_dict(Vm& vm, Value v) { return v.is_kind(Kind::Dict) && v.o->cls == vm.classes.dict; }

// Runs body(key, hash) for each key of a set while the body may run script code.
template <class F>
void for_each_key(Set* set, F&& body) {
    Ref keep(static_cast<Object*>(set));
    for (size_t i = 0; i <= set->mask; i++) {
        SetEntry entry = set->table[i];
        if (entry.key.is_undef()) continue;
        Ref key(entry.key);
        body(key.get(), entry.hash);
    }
}

template <class F>
void for_each_hashed(Vm& vm, Value iterable, F&& body) {
    if (is_set(iterable)) return for_each_key(cast<Set>(iterable), body);
    for_each(vm, iterable, [&](Value item) {
        Ref hold(item);
        body(item, hash_key(vm, item));
    });
}

Ptr<Set> new_like(Vm& vm, Set* set) { return make_set(vm, set->flags & kFrozen); }

Ptr<Set> copy_and_difference(Vm& vm, Set* set, Value other) {
    Ptr<Set> out = set_copy(vm, set, set->flags & kFrozen);
    set_difference_update(vm, out.get(), other);
    return out;
}

}  // namespace

void set_update(Vm& vm, Set* set, Value iterable) {
    Ref keep(iterable);
    if (is_set(iterable)) return set_merge(vm, set, cast<Set>(iterable));
    if (is_plain_dict(vm, iterable)) {
        auto* dict = cast<Dict>(iterable);
        if ((set->filled + dict->used) * 5 >= set->mask * 3) set_table_resize(vm, set, (set->used + dict->used) * 2);
        for (size_t i = 0; i < dict->filled; i++) {
            DictEntry entry = dict->entries[i];
            if (entry.key.is_undef()) continue;
            Ref key(entry.plain_key());
            set_add(vm, set, key);
        }
        return;
    }
    for_each(vm, iterable, [&](Value item) { set_add(vm, set, item); });
}

Ptr<Set> set_from_iterable(Vm& vm, Value iterable, bool frozen) {
    Ptr<Set> set = make_set(vm, frozen);
    set_update(vm, set.get(), iterable);
    return set;
}

Ptr<Set> set_copy(Vm& vm, Set* set, bool frozen) {
    Ptr<Set> out = make_set(vm, frozen);
    set_merge(vm, out.get(), set);
    return out;
}

Ptr<Set> set_of_constants(Vm& vm, const Value* items, size_t count) {
    Ptr<Set> written = make_set(vm, true);
    for (size_t i = 0; i < count; i++) set_add(vm, written.get(), items[i]);
    // Its compiler keeps one frozenset of equal ones, made anew from the items.
    Ptr<Set> kept = make_set(vm, true);
    for_each_key(written.get(), [&](Value key, int64_t hash) { set_add(vm, kept.get(), key, hash); });
    return set_copy(vm, kept.get(), false);
}

Ptr<Set> set_union(Vm& vm, Set* set, Value iterable) {
    Ptr<Set> out = set_copy(vm, set, set->flags & kFrozen);
    if (!iterable.same(Value::object(set))) set_update(vm, out.get(), iterable);
    return out;
}

Ptr<Set> set_intersection(Vm& vm, Set* set, Value iterable) {
    if (iterable.same(Value::object(set))) return set_copy(vm, set, set->flags & kFrozen);
    Ptr<Set> out = new_like(vm, set);
    Ref keep(static_cast<Object*>(set));
    Ref keep_other(iterable);
    if (is_set(iterable) && cast<Set>(iterable)->used > set->used) {
        auto* other = cast<Set>(iterable);
        for_each_key(set, [&](Value key, int64_t hash) {
            if (set_contains(vm, other, key, hash)) set_add(vm, out.get(), key, hash);
        });
        return out;
    }
    for_each_hashed(vm, iterable, [&](Value key, int64_t hash) {
        if (set_contains(vm, set, key, hash)) set_add(vm, out.get(), key, hash);
    });
    return out;
}

Ptr<Set> set_difference(Vm& vm, Set* set, Value iterable) {
    bool dict = is_plain_dict(vm, iterable);
    if (!is_set(iterable) && !dict) return copy_and_difference(vm, set, iterable);
    size_t other_size = dict ? cast<Dict>(iterable)->used : cast<Set>(iterable)->used;
    if (set->used / 4 > other_size) return copy_and_difference(vm, set, iterable);
    Ptr<Set> out = new_like(vm, set);
    Ref keep(iterable);
    for_each_key(set, [&](Value key, int64_t hash) {
        bool there = dict ? dict_find(vm, cast<Dict>(iterable), key, hash) != nullptr
                          : set_contains(vm, cast<Set>(iterable), key, hash);
        if (!there) set_add(vm, out.get(), key, hash);
    });
    return out;
}

Ptr<Set> set_symmetric_difference(Vm& vm, Set* set, Value iterable) {
    Ptr<Set> out = new_like(vm, set);
    set_update(vm, out.get(), iterable);
    set_symmetric_difference_update(vm, out.get(), Value::object(set));
    return out;
}

void set_intersection_update(Vm& vm, Set* set, Value iterable) {
    Ptr<Set> result = set_intersection(vm, set, iterable);
    set_swap_tables(set, result.get());
}

void set_difference_update(Vm& vm, Set* set, Value iterable) {
    if (iterable.same(Value::object(set))) return set_clear(vm, set);
    Ref keep(iterable);
    if (is_set(iterable) && cast<Set>(iterable)->used / 8 > set->used) {
        Ptr<Set> common = set_intersection(vm, set, iterable);
        for_each_key(common.get(), [&](Value key, int64_t hash) { set_remove(vm, set, key, hash); });
    } else {
        for_each_hashed(vm, iterable, [&](Value key, int64_t hash) { set_remove(vm, set, key, hash); });
    }
    if (set->filled - set->used > set->mask / 4) set_shrink(vm, set);
}

void set_symmetric_difference_update(Vm& vm, Set* set, Value iterable) {
    if (iterable.same(Value::object(set))) return set_clear(vm, set);
    Ref other(iterable);
    if (is_plain_dict(vm, iterable)) {
        auto* dict = cast<Dict>(iterable);
        for (size_t i = 0; i < dict->filled; i++) {
            DictEntry entry = dict->entries[i];
            if (entry.key.is_undef()) continue;
            Ref key(entry.plain_key());
            int64_t hash = hash_key(vm, key);
            if (!set_remove(vm, set, key, hash)) set_add(vm, set, key, hash);
        }
        return;
    }
    if (!is_set(iterable)) other = set_from_iterable(vm, iterable, set->flags & kFrozen);
    for_each_key(cast<Set>(other.get()), [&](Value key, int64_t hash) {
        if (!set_remove(vm, set, key, hash)) set_add(vm, set, key, hash);
    });
}

bool set_is_disjoint(Vm& vm, Set* set, Value iterable) {
    if (iterable.same(Value::object(set))) return set->used == 0;
    Ref keep(static_cast<Object*>(set));
    if (is_set(iterable) && cast<Set>(iterable)->used > set->used) {
        return set_is_disjoint(vm, cast<Set>(iterable), Value::object(set));
    }
    if (is_set(iterable)) {
        auto* other = cast<Set>(iterable);
        for (size_t i = 0; i <= other->mask; i++) {
            SetEntry entry = other->table[i];
            if (entry.key.is_undef()) continue;
            Ref key(entry.key);
            if (set_contains(vm, set, key, entry.hash)) return false;
        }
        return true;
    }
    Ref iterator = iterate(vm, iterable);
    while (Ref item = next(vm, iterator)) {
        if (set_contains(vm, set, item, hash_key(vm, item))) return false;
    }
    return true;
}

}  // namespace talc::vm
