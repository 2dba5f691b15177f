#pragma once
// Stores at computed places, with the CPU's results to the last bit: places are sorted together with the number of
// the row that goes there, so that one thread meets all rows of one place in the CPU's order.
#include <string>

#include "tensor/dtype.hpp"

namespace talc::inductor::cuda {

// out[places[i]] = values[i] for every row i of `inner` elements, or `+=`; the last one stays where several meet.
struct ScatterCall {
    tensor::DType dtype = tensor::DType::Float32;
    bool adds = false;
    int64_t rows = 0, inner = 0;                // of the values
    int64_t place_count = 0;                    // rows of the target; places are below it
    uint64_t out = 0, values = 0, places = 0;   // addresses; places are int64
    uint64_t keys = 0;                          // memory for key_count(rows) words
};

// Rows that a block sorts by itself.
inline constexpr int64_t kSortedBlock = 2048;
// A power of two, at least kSortedBlock.
int64_t key_count(int64_t rows);
// Whether place and row of every key fit into its 64 bits.
bool keys_fit(int64_t rows, int64_t place_count);

// Kernels make_keys, sort_blocks, merge and merge_blocks, in the order of their use: a bitonic sort whose small steps
// stay inside of blocks.
std::string sort_program();
// The kernel store_rows for elements of one kind, after the prelude.
std::string store_program(tensor::DType dtype, bool adds);

}  // namespace talc::inductor::cuda
