#pragma once
// Native code of kernels, shared by all engines of the process: equal kernels are compiled once.
#include <cstdint>
#include <string>

#include "inductor/loops/kernel.hpp"

namespace talc::inductor::cpu {

// What went wrong first, of all threads; `code` is the number of the site plus one.
struct ErrorWord {
    int64_t code = 0;
    int64_t value = 0;  // the index
    int64_t size = 0;   // what it must lie below
};

// Points [begin, end) of the outermost parallel loop; a kernel without one is called with 0 and 1.
using Function = void (*)(const int64_t* sizes, void* const* buffers, int64_t begin, int64_t end, ErrorWord* error);

struct Code {
    Function function = nullptr;
    // Of a kernel that is run in pieces: `function` gets a range of the outermost folded loop and, after the buffers,
    // the address of a slot of `cells` words; `finish` gets the first of the slots and their number as `end`.
    Function finish = nullptr;
    size_t cells = 0;
    double milliseconds = 0;  // to compile
};

// Thread-safe; the result lives as long as the process. Fails with a tensor::Error when LLVM does.
const Code& compile(const loops::Kernel& kernel);
// Kernels compiled by this process so far, and times that one was there already.
struct CodeCounts {
    uint64_t compiled = 0, shared = 0;
};
CodeCounts code_counts();

}  // namespace talc::inductor::cpu
