#pragma once
// Making objects. Each gives a new reference.
#include <initializer_list>
#include <string_view>

#include "vm/object.hpp"
#include "vm/value.hpp"

namespace talc::vm {

Ptr<Str> make_str(Vm& vm, std::string_view text);              // valid UTF-8; short ones may be shared
Ptr<Str> make_ascii_str(Vm& vm, std::string_view text);        // known to be ASCII: digits, parts of ASCII text
Ptr<Str> make_str_buffer(Vm& vm, size_t bytes);                // to be filled: then finish_str
void finish_str(Str* s);                                       // after data was written: length and ascii flag
Ptr<Str> make_char(Vm& vm, uint32_t code_point);               // shared for ASCII
Ptr<Str> intern(Vm& vm, std::string_view text);
Str* intern(Vm& vm, Str* s);                                   // the interned one, borrowed (kept alive by s or the table's owner)
Ptr<Bytes> make_bytes(Vm& vm, std::string_view data);
Ptr<List> make_list(Vm& vm, size_t reserve = 0);
Ptr<List> make_list(Vm& vm, const Value* items, size_t count); // shares the items
Ptr<Tuple> make_tuple(Vm& vm, const Value* items, size_t count);
Ptr<Tuple> make_tuple(Vm& vm, std::initializer_list<Value> items);
// Uninitialised: the caller fills every item with an owned value, then calls heap.track. No allocation in between.
Tuple* make_raw_tuple(Vm& vm, size_t count, Class* cls = nullptr);
Ptr<Dict> make_dict(Vm& vm, size_t reserve = 0);
Ptr<Set> make_set(Vm& vm, bool frozen = false);
Ptr<Range> make_range(Vm& vm, int64_t start, int64_t stop, int64_t step);
Ptr<Slice> make_slice(Vm& vm, Value start, Value stop, Value step);
Ptr<Cell> make_cell(Vm& vm, Value value);
Ref copy_function(Vm& vm, Function* function, Code* code);     // with other code of the same definition
Ptr<BoundMethod> make_bound_method(Vm& vm, Value function, Value self);
Ptr<Native> make_native(Vm& vm, const NativeRow* row, Class* owner);
Ptr<Iterator> make_iterator(Vm& vm, Class* cls, std::unique_ptr<IteratorState> state);  // cls: what type() shows
Ptr<Foreign> make_foreign(Vm& vm, Class* cls, std::unique_ptr<ForeignState> state);

// Instances of subclasses of builtin classes (cls->user), with room for attributes.
Ref allocate_instance(Vm& vm, Class* cls);                     // empty Instance, List, Dict, Set, Exception by cls->instance_kind
Ptr<Str> make_str_of(Vm& vm, Class* cls, std::string_view text);
Ptr<Bytes> make_bytes_of(Vm& vm, Class* cls, std::string_view data);
Ref make_int_of(Vm& vm, Class* cls, int64_t value);            // a BoxedInt unless cls is int or bool
Ref make_float_of(Vm& vm, Class* cls, double value);

Ptr<Iterator> make_sequence_iterator(Vm& vm, Value sequence);    // by __getitem__ with 0, 1, 2 ...

// Lists
void list_append(Vm& vm, List* list, Value item);
void list_append(Vm& vm, List* list, Ref&& item);
void list_insert(Vm& vm, List* list, size_t at, Value item);
Ref list_remove_at(Vm& vm, List* list, size_t at);             // hands out the item
void list_clear(Vm& vm, List* list);
void list_extend(Vm& vm, List* list, Value iterable);
void list_reserve(Vm& vm, List* list, size_t capacity);
Ptr<List> list_slice(Vm& vm, List* list, int64_t start, int64_t stop, int64_t step);
Ptr<Tuple> tuple_from_iterable(Vm& vm, Value iterable);
Ptr<List> list_from_iterable(Vm& vm, Value iterable);
void sort_list(Vm& vm, List* list, Value key, bool reverse);   // stable; key None or Undef: none

// Dicts. Keys are hashed with the language's hash; errors of __hash__ and __eq__ pass through.
Value dict_get(Vm& vm, Dict* dict, Value key);                 // borrowed; Undef: none
Value dict_get(Vm& vm, Dict* dict, Str* key);
void dict_set(Vm& vm, Dict* dict, Value key, Value value);
bool dict_remove(Vm& vm, Dict* dict, Value key, Ref* removed = nullptr);
void dict_clear(Vm& vm, Dict* dict);
void dict_update(Vm& vm, Dict* dict, Value mapping_or_pairs);
Ptr<Dict> dict_copy(Vm& vm, Dict* dict);
// Walks live entries in order: for (size_t i = 0; DictEntry* e = dict_entry(d, i); i++) — skips deleted ones.
DictEntry* dict_entry(Dict* dict, size_t& at);

// Sets
bool set_contains(Vm& vm, Set* set, Value key);
bool set_add(Vm& vm, Set* set, Value key);                     // true if it was new
bool set_remove(Vm& vm, Set* set, Value key);
void set_clear(Vm& vm, Set* set);
void set_update(Vm& vm, Set* set, Value iterable);
Ptr<Set> set_copy(Vm& vm, Set* set, bool frozen);
SetEntry* set_entry(Set* set, size_t& at);                     // as dict_entry

// Strings
Ptr<Str> str_concat(Vm& vm, std::string_view a, std::string_view b);
Ptr<Str> str_at(Vm& vm, Str* s, int64_t index);                // code point, index in range
Ptr<Str> str_slice(Vm& vm, Str* s, int64_t start, int64_t stop, int64_t step);
size_t str_offset(Str* s, int64_t index);                      // byte offset of a code point
int64_t str_hash(Str* s);

template <class T> T* foreign_cast(Value v) { return static_cast<T*>(cast<Foreign>(v)->state); }

}  // namespace talc::vm
