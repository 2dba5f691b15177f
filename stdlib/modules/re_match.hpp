#pragma once
// re.Match: where a pattern was found. Patterns are classes of re.tc; a match knows its own.
#include <cstdint>
#include <vector>

#include "stdlib/support.hpp"

namespace talc::stdlib {

struct FoundMatch {
    vm::Value pattern, text;
    int64_t pos, endpos;          // what was searched
    std::vector<int64_t> spans;   // begin and end of each group, the whole match first; -1: took no part
};

vm::Class* match_class(vm::Vm& vm);
vm::Ref make_match(vm::Vm& vm, FoundMatch found);

}  // namespace talc::stdlib
