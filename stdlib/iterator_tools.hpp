#pragma once
// What iterators written in C++ have in common.
#include <vector>

#include "stdlib/support.hpp"
#include "vm/containers.hpp"

namespace talc::stdlib {

// A tuple of items. As long as nobody else has kept the one given before, it is filled anew: a loop that takes tuples
// apart allocates none.
Ref refill(Vm& vm, Ptr<Tuple>& last, Ref* items, size_t count);

// Calls; a StopIteration from the function ends the iterator, as in CPython: then the result is empty.
Ref call_or_end(Vm& vm, Value function, const Value* args, size_t count);

std::vector<Ref> iterators_of(Vm& vm, const Value* values, size_t count);

}  // namespace talc::stdlib
