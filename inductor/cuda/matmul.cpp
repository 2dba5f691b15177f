#include "inductor/cuda/matmul.hpp"

#include <algorithm>

namespace talc::inductor::cuda {

namespace {

using tensor::Dims;

// A matrix of rows x columns elements, the element (r, c) at r * row + c * column, as the library sees it.
struct ByColumns {
    bool transposed;
    int64_t leading;
};
std::optional<ByColumns> by_columns(int64_t rows, int64_t columns, int64_t row, int64_t column) {
    // Strides along a size of 1 mean nothing.
    if ((row == 1 || rows == 1) && (columns == 1 || column >= rows)) {
        return ByColumns{false, std::max<int64_t>(columns == 1 ? rows : column, std::max<int64_t>(rows, 1))};
    }
    if ((column == 1 || columns == 1) && (rows == 1 || row >= columns)) {
        return ByColumns{true, std::max<int64_t>(rows == 1 ? columns : row, std::max<int64_t>(columns, 1))};
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::vector<MatmulCall>> matmul_calls(const MatmulShape& shape, tensor::DType dtype) {
    // By columns the transposed product is what lies by rows: c' = b' a'.
    MatmulCall call;
    call.dtype = dtype;
    call.m = shape.n;
    call.n = shape.m;
    call.k = shape.k;
    if (shape.k == 0) return std::nullopt;
    auto a = by_columns(shape.n, shape.k, shape.b.column_stride, shape.b.row_stride);
    auto b = by_columns(shape.k, shape.m, shape.a.column_stride, shape.a.row_stride);
    auto c = by_columns(shape.n, shape.m, shape.c.column_stride, shape.c.row_stride);
    if (!a || !b || !c || c->transposed) return std::nullopt;
    call.transpose_a = a->transposed;
    call.transpose_b = b->transposed;
    call.leading_a = a->leading;
    call.leading_b = b->leading;
    call.leading_c = c->leading;

    // The last batch dimensions that are one stride apart are the library's batch; the rest are calls.
    Dims batch, sa, sb, sc;
    for (size_t d = 0; d < shape.batch.size(); ++d) {
        if (shape.batch[d] == 1) continue;
        batch.push_back(shape.batch[d]);
        sa.push_back(shape.b.batch_strides[d]);
        sb.push_back(shape.a.batch_strides[d]);
        sc.push_back(shape.c.batch_strides[d]);
    }
    if (!batch.empty()) {
        call.batch = batch.back();
        call.stride_a = sa.back();
        call.stride_b = sb.back();
        call.stride_c = sc.back();
        batch.pop_back();
    }
    while (!batch.empty()) {
        size_t d = batch.size() - 1;
        bool together = sa[d] == call.stride_a * call.batch && sb[d] == call.stride_b * call.batch &&
                        sc[d] == call.stride_c * call.batch;
        if (!together) break;
        call.batch *= batch.back();
        batch.pop_back();
    }
    std::vector<MatmulCall> calls;
    if (call.m == 0 || call.n == 0 || call.batch == 0) return calls;
    int64_t bytes = static_cast<int64_t>(size_of(dtype));
    Dims at(batch.size(), 0);
    for (;;) {
        int64_t oa = 0, ob = 0, oc = 0;
        for (size_t d = 0; d < batch.size(); ++d) {
            if (batch[d] == 0) return calls;
            oa += at[d] * sa[d];
            ob += at[d] * sb[d];
            oc += at[d] * sc[d];
        }
        call.a = static_cast<uint64_t>(oa * bytes);
        call.b = static_cast<uint64_t>(ob * bytes);
        call.c = static_cast<uint64_t>(oc * bytes);
        calls.push_back(call);
        size_t d = batch.size();
        while (d > 0 && ++at[d - 1] == batch[d - 1]) at[--d] = 0;
        if (d == 0) return calls;
    }
}

}  // namespace talc::inductor::cuda
