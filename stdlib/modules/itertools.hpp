#pragma once
// The classes of itertools.
#include <memory>

#include "stdlib/iterator_tools.hpp"
#include "stdlib/modules.hpp"

namespace talc::stdlib {

// Name and class of everything in the module that is one: ITERTOOL(name).
#define ITERTOOLS(ITERTOOL)                                                                                       \
    ITERTOOL(count) ITERTOOL(cycle) ITERTOOL(repeat) ITERTOOL(chain) ITERTOOL(accumulate) ITERTOOL(compress)      \
    ITERTOOL(dropwhile) ITERTOOL(takewhile) ITERTOOL(filterfalse) ITERTOOL(starmap) ITERTOOL(pairwise)            \
    ITERTOOL(islice) ITERTOOL(zip_longest) ITERTOOL(groupby) ITERTOOL(product) ITERTOOL(permutations)             \
    ITERTOOL(combinations) ITERTOOL(combinations_with_replacement)

#define ITERTOOL(tool) inline constexpr NativeClass kClass_##tool = {.name = #tool, .module = "itertools", .kind = Kind::Iterator, .final = true};
ITERTOOLS(ITERTOOL)
#undef ITERTOOL

}  // namespace talc::stdlib
