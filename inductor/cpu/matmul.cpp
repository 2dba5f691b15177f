#include "inductor/cpu/matmul.hpp"

#include <utility>

#include "tensor/gemm.hpp"

namespace talc::inductor::cpu {

using tensor::Dims;
using tensor::DType;

bool has_matmul(DType dtype) { return dtype == DType::Float32 || dtype == DType::Float64 || dtype == DType::Int64; }

namespace {

template <class T>
void multiply(const tensor::Context& context, const MatmulShape& s, const T* a, const T* b, T* c) {
    Dims at(s.batch.size(), 0);
    for (int64_t size : s.batch) {
        if (size == 0) return;
    }
    while (true) {
        tensor::gemm<T>(context, s.m, s.n, s.k, {a, s.a.row_stride, s.a.column_stride},
                        {b, s.b.row_stride, s.b.column_stride}, {c, s.c.row_stride, s.c.column_stride});
        size_t d = s.batch.size();
        while (d > 0) {
            --d;
            a += s.a.batch_strides[d];
            b += s.b.batch_strides[d];
            c += s.c.batch_strides[d];
            if (++at[d] < s.batch[d]) break;
            a -= s.a.batch_strides[d] * s.batch[d];
            b -= s.b.batch_strides[d] * s.batch[d];
            c -= s.c.batch_strides[d] * s.batch[d];
            at[d] = 0;
            if (d == 0) return;
        }
        if (s.batch.empty()) return;
    }
}

}  // namespace

void matmul(const tensor::Context& context, const MatmulShape& shape, DType dtype, const void* a, const void* b, void* c) {
    if (shape.swapped) std::swap(a, b);
    switch (dtype) {
        case DType::Float32:
            return multiply(context, shape, static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(c));
        case DType::Float64:
            return multiply(context, shape, static_cast<const double*>(a), static_cast<const double*>(b),
                            static_cast<double*>(c));
        default:  // wraps, as signed integers must not
            return multiply(context, shape, static_cast<const uint64_t*>(a), static_cast<const uint64_t*>(b),
                            static_cast<uint64_t*>(c));
    }
}

}  // namespace talc::inductor::cpu
