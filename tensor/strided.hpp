#pragma once
// Walking several tensors in step: broadcasting as strides of 0, dimensions ordered and merged so that the inner
// loop is as long as it can be.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "tensor/inline_vec.hpp"
#include "tensor/tensor.hpp"

namespace talc::tensor {

// Strides of `tensor` seen as having `shape`, to which it broadcasts.
inline Dims broadcast_strides(const Tensor& tensor, const Dims& shape) {
    Dims strides(shape.size(), 0);
    size_t fresh = shape.size() - tensor.sizes().size();
    for (size_t d = 0; d < tensor.sizes().size(); ++d) {
        strides[fresh + d] = tensor.sizes()[d] == 1 ? 0 : tensor.strides()[d];
    }
    return strides;
}

// The strides that PyTorch gives the fresh result of a pointwise operator: dense, in the order of the operands'
// strides, the first operand's counting most.
Dims pointwise_strides(const Dims& shape, Tensors operands);

// A nest of loops over N operands. Dimension 0 is the innermost.
template <size_t N>
struct LoopNest {
    Dims sizes;                   // at least one entry
    std::array<Dims, N> strides;  // in elements

    // `strides` as seen from `shape`. The first operand's order decides (the one that is written).
    LoopNest(const Dims& shape, const std::array<Dims, N>& given) {
        InlineVec<size_t, 8> order;
        for (size_t d = 0; d < shape.size(); ++d) {
            if (shape[d] != 1) order.push_back(d);
        }
        auto before = [&](size_t a, size_t b) {
            for (size_t k = 0; k < N; ++k) {
                if (given[k][a] != given[k][b]) return given[k][a] < given[k][b];
            }
            return a > b;
        };
        for (size_t i = 1; i < order.size(); ++i) {  // few entries, nearly always reversed
            for (size_t k = i; k > 0 && before(order[k], order[k - 1]); --k) std::swap(order[k], order[k - 1]);
        }
        for (size_t d : order) {
            bool merged = !sizes.empty();
            for (size_t k = 0; k < N && merged; ++k) merged = given[k][d] == strides[k].back() * sizes.back();
            if (merged) {
                sizes.back() *= shape[d];
            } else {
                sizes.push_back(shape[d]);
                for (size_t k = 0; k < N; ++k) strides[k].push_back(given[k][d]);
            }
        }
        if (sizes.empty()) {
            sizes.push_back(1);
            for (size_t k = 0; k < N; ++k) strides[k].push_back(1);
        }
    }

    int64_t inner() const { return sizes[0]; }
    int64_t rows() const {
        int64_t rows = 1;
        for (size_t d = 1; d < sizes.size(); ++d) rows *= sizes[d];
        return rows;
    }

    // Calls row(offsets) for rows [begin, end), with each operand's element offset of the row's start.
    template <class F>
    void for_rows(int64_t begin, int64_t end, F&& row) const {
        Dims at(sizes.size(), 0);
        std::array<int64_t, N> offsets{};
        int64_t rest = begin;
        for (size_t d = 1; d < sizes.size(); ++d) {
            at[d] = rest % sizes[d];
            rest /= sizes[d];
            for (size_t k = 0; k < N; ++k) offsets[k] += at[d] * strides[k][d];
        }
        for (int64_t r = begin; r < end; ++r) {
            row(offsets);
            for (size_t d = 1; d < sizes.size(); ++d) {
                for (size_t k = 0; k < N; ++k) offsets[k] += strides[k][d];
                if (++at[d] < sizes[d]) break;
                for (size_t k = 0; k < N; ++k) offsets[k] -= strides[k][d] * sizes[d];
                at[d] = 0;
            }
        }
    }
};

}  // namespace talc::tensor
