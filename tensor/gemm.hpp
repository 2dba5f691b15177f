#pragma once
// Matrix products on plain memory with any strides: c[m, n] = a[m, k] @ b[k, n].
#include <cstdint>

#include "tensor/context.hpp"

namespace talc::tensor {

template <class T>
struct Matrix {
    T* data;
    int64_t row_stride;     // in elements
    int64_t column_stride;
};

// c is overwritten; it must not overlap a or b.
template <class T>
void gemm(const Context& context, int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c);

extern template void gemm<float>(const Context&, int64_t, int64_t, int64_t, Matrix<const float>, Matrix<const float>,
                                 Matrix<float>);
extern template void gemm<double>(const Context&, int64_t, int64_t, int64_t, Matrix<const double>,
                                  Matrix<const double>, Matrix<double>);
extern template void gemm<uint64_t>(const Context&, int64_t, int64_t, int64_t, Matrix<const uint64_t>,
                                   Matrix<const uint64_t>, Matrix<uint64_t>);

}  // namespace talc::tensor
