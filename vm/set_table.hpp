#pragma once
// A set's table, for the files that implement sets (set.cpp, set_algebra.cpp, object.cpp).
#include "vm/containers.hpp"

namespace talc::vm {

void init_set(Set* set, bool frozen);                               // an object of zero bytes becomes an empty set
void set_table_resize(Vm& vm, Set* set, size_t at_least);           // to more than so many slots; drops deleted entries
void set_shrink(Vm& vm, Set* set);                                  // to the size that its items want
void set_merge(Vm& vm, Set* set, Set* other);                       // adds all of other
void set_swap_tables(Set* a, Set* b);
int64_t set_items_hash(const Set* set);                             // as a frozenset
int64_t set_key_hash(Vm& vm, Value key);                            // of a key to look for, which may be a set

}  // namespace talc::vm
