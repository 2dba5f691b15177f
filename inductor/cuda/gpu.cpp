#include "inductor/cuda/gpu.hpp"

#include <algorithm>

namespace talc::inductor::cuda {

size_t word_count(const KernelCode& code) {
    return code.kernel.buffers.size() + code.kernel.params.size() + 1 + (code.launch.folds ? 2 : 0);
}

Grid grid_of(const Launch& launch, int64_t points, int64_t length) {
    constexpr int64_t kBlocksWanted = 132 * 4;
    Grid grid;
    int64_t blocks = (points + launch.points_per_block - 1) / launch.points_per_block;
    grid.blocks = static_cast<unsigned>(std::min<int64_t>(blocks, launch.most_blocks));
    if (launch.folds == 0 || blocks == 0) return grid;
    int64_t parts = std::min(kBlocksWanted / blocks, length / launch.least_length);
    parts = std::min(parts, kMostPartials / (static_cast<int64_t>(launch.folds) * points));
    grid.parts = static_cast<unsigned>(std::max<int64_t>(1, parts));
    return grid;
}

void CallList::clear() {
    calls.clear();
    words.clear();
    products.clear();
}

void CallList::add(const KernelCode& kernel, Grid grid, std::span<const uint64_t> own) {
    calls.push_back({&kernel, grid, words.size()});
    words.insert(words.end(), own.begin(), own.end());
}

void CallList::add(const MatmulCall& product) {
    calls.push_back({nullptr, {}, products.size()});
    products.push_back(product);
}

void Gpu::play(const CallList& list) {
    for (const CallList::Call& call : list.calls) {
        if (call.kernel) {
            launch(*call.kernel, call.grid, list.words.data() + call.first);
        } else {
            multiply(list.products[call.first]);
        }
    }
}

}  // namespace talc::inductor::cuda
