#pragma once
// Operations on builtin objects beyond make.hpp, for operators, natives and the interpreter.
#include "vm/ops.hpp"
#include "vm/protocol.hpp"

namespace talc::vm {

[[noreturn]] void raise_memory_error(Vm& vm);

// GC kinds can be part of a cycle; a tuple of other values need not be tracked.
bool may_be_in_cycle(Value v);
void track_tuple(Vm& vm, Tuple* tuple);                         // instead of heap.track, for plain tuples

// ---- Strings and bytes ----
Ptr<Str> str_add(Vm& vm, const Str* a, const Str* b);
// a + b where the caller gives up its reference to a: appended in place when nobody else holds it.
Ptr<Str> str_append(Vm& vm, Ptr<Str> a, const Str* b);
Ptr<Str> str_repeat(Vm& vm, Str* s, int64_t times);
Ptr<Bytes> bytes_concat(Vm& vm, const Bytes* a, const Bytes* b);
Ptr<Bytes> bytes_repeat(Vm& vm, Bytes* b, int64_t times);
inline bool str_equal(const Str* a, const Str* b) {
    if (a == b) return true;
    if (a->size != b->size || (a->hash && b->hash && a->hash != b->hash)) return false;
    return __builtin_memcmp(a->data, b->data, a->size) == 0;
}
// UTF-8 sorts as its code points do.
inline int str_order(const Str* a, const Str* b) {
    size_t common = a->size < b->size ? a->size : b->size;
    int order = __builtin_memcmp(a->data, b->data, common);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

// ---- Sequences ----
// Index of an int, bool, int subclass or object with __index__, in range of `length` (negative ones from the end).
// Otherwise the errors "{what} indices must be integers or slices, not str" and `message` (an IndexError).
int64_t item_index(Vm& vm, Value key, int64_t length, const char* what, const char* message);
Ptr<List> list_concat(Vm& vm, List* a, List* b);
Ptr<List> list_repeat(Vm& vm, List* list, int64_t times);
void list_repeat_in_place(Vm& vm, List* list, int64_t times);
void list_reverse(List* list);
Ptr<Tuple> tuple_concat(Vm& vm, Tuple* a, Tuple* b);
Ptr<Tuple> tuple_repeat(Vm& vm, Tuple* tuple, int64_t times);
Ptr<Tuple> tuple_slice(Vm& vm, Tuple* tuple, int64_t start, int64_t stop, int64_t step);
// The comparison of sequences of values: by the first pair that differs, then by size.
Ref compare_sequences(Vm& vm, CompareOp op, Object* a, Object* b);   // both lists or both tuples
Ref order_result(CompareOp op, int order);                           // of a three-way comparison

// ---- Dicts ----
int64_t hash_key(Vm& vm, Value key);                            // hash(), fast for ints and strings
DictEntry* dict_find(Vm& vm, Dict* dict, Value key, int64_t hash);  // null: none
void dict_set(Vm& vm, Dict* dict, Value key, int64_t hash, Value value);
void dict_reserve(Vm& vm, Dict* dict, size_t count);            // room for so many keys in all
// The value of key, set to `fallback` first if there is none.
Ref dict_set_default(Vm& vm, Dict* dict, Value key, Value fallback);
// Takes the last pair out; false when empty.
bool dict_pop_last(Vm& vm, Dict* dict, Ref* key, Ref* value);
bool dict_equal(Vm& vm, Dict* a, Dict* b);
Ptr<DictView> make_dict_view(Vm& vm, Dict* dict, ViewOf what);
// & | - ^ with a keys or items view on either side; empty: not for these operands.
Ref dict_view_binary(Vm& vm, BinaryOp op, Value a, Value b);

// ---- Sets ----
bool is_set(Value v);                                           // set, frozenset or a subclass
bool set_contains(Vm& vm, Set* set, Value key, int64_t hash);
bool set_add(Vm& vm, Set* set, Value key, int64_t hash);
bool set_remove(Vm& vm, Set* set, Value key, int64_t hash);
Ref set_pop(Vm& vm, Set* set);                                  // empty: nothing in it
// A set display whose items are all constants: CPython builds it by way of a frozenset, which shows in its order.
Ptr<Set> set_of_constants(Vm& vm, const Value* items, size_t count);
Ptr<Set> set_from_iterable(Vm& vm, Value iterable, bool frozen);
Ptr<Set> set_union(Vm& vm, Set* set, Value iterable);           // results are plain sets or frozensets, as `set` is
Ptr<Set> set_intersection(Vm& vm, Set* set, Value iterable);
Ptr<Set> set_difference(Vm& vm, Set* set, Value iterable);
Ptr<Set> set_symmetric_difference(Vm& vm, Set* set, Value iterable);
void set_intersection_update(Vm& vm, Set* set, Value iterable);
void set_difference_update(Vm& vm, Set* set, Value iterable);
void set_symmetric_difference_update(Vm& vm, Set* set, Value iterable);
bool set_is_subset(Vm& vm, Set* a, Set* b);
bool set_is_disjoint(Vm& vm, Set* set, Value iterable);

// ---- Ranges ----
inline int64_t range_at(const Range* range, int64_t index) {
    return static_cast<int64_t>(static_cast<uint64_t>(range->start) +
                                static_cast<uint64_t>(index) * static_cast<uint64_t>(range->step));
}
Ptr<Range> range_slice(Vm& vm, Range* range, const SliceRange& part);
bool range_contains(const Range* range, int64_t value);

// ---- Iterators ----
Ptr<Iterator> make_tuple_iterator(Vm& vm, Tuple* tuple);
Ptr<Iterator> make_str_iterator(Vm& vm, Str* s);
Ptr<Iterator> make_bytes_iterator(Vm& vm, Bytes* bytes);
Ptr<Iterator> make_dict_iterator(Vm& vm, Dict* dict, ViewOf what);
Ptr<Iterator> make_set_iterator(Vm& vm, Set* set);
Ptr<Iterator> make_callable_iterator(Vm& vm, Value callable, Value sentinel);   // iter(f, sentinel)

}  // namespace talc::vm
