#pragma once
// The loop IR as CUDA C++. All kernels of a fragment are one program, compiled at once. Sizes and buffers are
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
};

// The error word of a fragment in device memory; see loops::Site.
struct ErrorWord {
    int64_t code = 0;  // the kernel's number of the site plus one
    int64_t value = 0, size = 0;
};

// Types and functions that kernels use: stands once before them.
std::string prelude();
// One kernel; `name` becomes its symbol.
std::string print(const loops::Kernel& kernel, const std::string& name, Launch& launch);

}  // namespace talc::inductor::cuda
