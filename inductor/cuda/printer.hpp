#pragma once
// The loop IR as CUDA C++. All kernels of a fragment are compiled at once. Sizes and buffers are
// parameters, so that equal kernels are shared and a captured launch can be given new addresses.
//
// Every kernel takes its buffers (b0, b1, ...), its sizes (n0, n1, ...; 64-bit) and the error word, in this order, and
// walks its points with a stride of the whole grid, so that any number of blocks is right.
#include <string>
#include <vector>

#include "inductor/loops/kernel.hpp"

namespace talc::inductor::cuda {

// What the host needs to start a kernel.
struct Launch {
    std::string name;
    unsigned threads_x = 256, threads_y = 1;  // of a block
    unsigned points_per_block = 256;          // of the parallel loops, in one step
    loops::Dim points;                        // product of the parallel loops, over the kernel's parameters
    // More blocks than this do not help: each takes several steps.
    unsigned most_blocks = 132 * 32;
    // Of a fold whose rows several blocks may share (the grid's second size): how many values it folds, the length of a
    // row, and below which length of its part a block does not pay. Such a kernel takes two more words: the addresses of
    // kMostPartials pairs of 64-bit words and of as many 32-bit zeros.
    unsigned folds = 0;
    loops::Dim length;
    int64_t least_length = 0;
    // A kernel with one point: the last buffer of one element that it stores, else -1. Its element is also shown to the
    // host, at the address and with the number that are two more words (address 0: it is not).
    int mirrored = -1;
};
inline constexpr int64_t kMostPartials = 65536;

// The error word of a fragment in device memory; see loops::Site.
struct ErrorWord {
    int64_t code = 0;  // the kernel's number of the site plus one
    int64_t value = 0, size = 0;
};

// Types and functions that kernels use: stands once before them.
std::string prelude();
// One kernel; `name` becomes its symbol. Buffers marked in `by_value` hold one element, which is handed over itself.
std::string print(const loops::Kernel& kernel, const std::string& name, Launch& launch,
                  const std::vector<bool>& by_value = {});

}  // namespace talc::inductor::cuda
