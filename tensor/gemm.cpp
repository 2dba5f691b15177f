// A blocked matrix product in the usual five loops: panels of b and a are packed so that the innermost kernel reads
// both in order and keeps a tile of c in registers.
#include "tensor/gemm.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "tensor/kernels.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "fp-contract=fast")  // products are accumulated with fused multiply-adds where there are any
#endif

namespace talc::tensor {

namespace {

#if defined(__x86_64__)
constexpr size_t kVectorBytes = 16;
constexpr int kTileRows = 4, kTileVectors = 2;  // 8 of 16 registers hold c
#else
constexpr size_t kVectorBytes = 16;
constexpr int kTileRows = 8, kTileVectors = 3;  // 24 of 32
#endif
// Panels: b's block fits the second cache, a's the first.
constexpr int64_t kBlockDepth = 256, kBlockRows = 128, kBlockColumns = 3072;

template <class T>
struct Tile {
    static constexpr int64_t kLanes = kVectorBytes / sizeof(T);
    static constexpr int64_t kRows = kTileRows;
    static constexpr int64_t kColumns = kTileVectors * kLanes;
    typedef T Vector __attribute__((vector_size(kVectorBytes)));
    typedef T LooseVector __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
};

// Rows in strips of kRows, zero-padded: for each depth the strip's kRows values stand together.
template <class T>
void pack_rows(Matrix<const T> a, int64_t row, int64_t rows, int64_t depth, int64_t depths, T* out) {
    constexpr int64_t R = Tile<T>::kRows;
    for (int64_t r = 0; r < rows; r += R) {
        int64_t have = std::min(R, rows - r);
        const T* from = a.data + (row + r) * a.row_stride + depth * a.column_stride;
        for (int64_t d = 0; d < depths; ++d) {
            for (int64_t i = 0; i < have; ++i) out[i] = from[i * a.row_stride + d * a.column_stride];
            for (int64_t i = have; i < R; ++i) out[i] = T(0);
            out += R;
        }
    }
}

template <class T>
void pack_columns(Matrix<const T> b, int64_t depth, int64_t depths, int64_t column, int64_t columns, T* out) {
    constexpr int64_t C = Tile<T>::kColumns;
    for (int64_t c = 0; c < columns; c += C) {
        int64_t have = std::min(C, columns - c);
        const T* from = b.data + depth * b.row_stride + (column + c) * b.column_stride;
        if (have == C && b.column_stride == 1) {
            for (int64_t d = 0; d < depths; ++d, out += C) std::copy_n(from + d * b.row_stride, C, out);
            continue;
        }
        if (b.row_stride == 1) {  // b transposed: read along the depth
            for (int64_t i = 0; i < C; ++i) {
                for (int64_t d = 0; d < depths; ++d) out[d * C + i] = i < have ? from[d + i * b.column_stride] : T(0);
            }
            out += depths * C;
            continue;
        }
        for (int64_t d = 0; d < depths; ++d, out += C) {
            for (int64_t i = 0; i < C; ++i) out[i] = i < have ? from[d * b.row_stride + i * b.column_stride] : T(0);
        }
    }
}

template <class T>
void multiply_tile(int64_t depths, const T* a, const T* b, Matrix<T> c, int64_t rows, int64_t columns, bool first) {
    using Vector = typename Tile<T>::Vector;
    using Loose = typename Tile<T>::LooseVector;
    constexpr int R = kTileRows, V = kTileVectors;
    constexpr int64_t L = Tile<T>::kLanes;
    Vector sums[R][V] = {};
    for (int64_t d = 0; d < depths; ++d) {
        Vector right[V];
        for (int v = 0; v < V; ++v) right[v] = *reinterpret_cast<const Loose*>(b + v * L);
        for (int r = 0; r < R; ++r) {
            for (int v = 0; v < V; ++v) sums[r][v] += a[r] * right[v];
        }
        a += Tile<T>::kRows;
        b += Tile<T>::kColumns;
    }
    if (rows == R && columns == Tile<T>::kColumns && c.column_stride == 1) {
        for (int r = 0; r < R; ++r) {
            for (int v = 0; v < V; ++v) {
                Loose* cell = reinterpret_cast<Loose*>(c.data + r * c.row_stride + v * L);
                *cell = first ? Loose(sums[r][v]) : Loose(*cell + sums[r][v]);
            }
        }
        return;
    }
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < columns; ++i) {
            T& cell = c.data[r * c.row_stride + i * c.column_stride];
            T sum = sums[r][i / L][i % L];
            cell = first ? sum : cell + sum;
        }
    }
}

// One row or one column: memory decides, nothing is packed. y[i] = sum over d of w[i, d] * x[d].
template <class T>
void multiply_vector(const Context& context, int64_t n, int64_t k, Matrix<const T> w, const T* x, int64_t x_stride,
                     T* y, int64_t y_stride) {
    std::vector<T> dense;
    if (x_stride != 1) {
        dense.resize(static_cast<size_t>(k));
        for (int64_t d = 0; d < k; ++d) dense[static_cast<size_t>(d)] = x[d * x_stride];
        x = dense.data();
    }
    constexpr int64_t kGrain = 32768;
    int64_t grain = std::max<int64_t>(16, kGrain / std::max<int64_t>(k, 1));
    parallel(context, n, grain, [&](int64_t begin, int64_t end) {
        if (w.row_stride == 1 && w.column_stride != 1) {  // sums of scaled columns, a run of results at a time
            constexpr int64_t kRun = 256;
            for (int64_t i = begin; i < end; i += kRun) {
                int64_t length = std::min(kRun, end - i);
                T sums[kRun] = {};
                for (int64_t d = 0; d < k; ++d) {
                    const T* column = w.data + i + d * w.column_stride;
                    T scale = x[d];
                    for (int64_t j = 0; j < length; ++j) sums[j] += scale * column[j];
                }
                for (int64_t j = 0; j < length; ++j) y[(i + j) * y_stride] = sums[j];
            }
            return;
        }
        constexpr int64_t kLanes = 16;
        for (int64_t i = begin; i < end; ++i) {
            const T* row = w.data + i * w.row_stride;
            T lanes[kLanes] = {};
            T sum = 0;
            int64_t d = 0;
            if (w.column_stride == 1) {
                for (; d + kLanes <= k; d += kLanes) {
                    for (int64_t l = 0; l < kLanes; ++l) lanes[l] += row[d + l] * x[d + l];
                }
                for (int64_t l = 0; l < kLanes; ++l) sum += lanes[l];
            }
            for (; d < k; ++d) sum += row[d * w.column_stride] * x[d];
            y[i * y_stride] = sum;
        }
    });
}

template <class T>
void multiply_blocks(const Context& context, int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b,
                     Matrix<T> c) {
    constexpr int64_t R = Tile<T>::kRows, C = Tile<T>::kColumns;
    auto round_up = [](int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; };
    int64_t columns_max = std::min(round_up(n, C), round_up(kBlockColumns, C));
    int64_t depth_max = std::min(k, kBlockDepth);
    auto panel_b = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(columns_max * depth_max));
    for (int64_t column = 0; column < n; column += columns_max) {
        int64_t columns = std::min(columns_max, n - column);
        for (int64_t depth = 0; depth < k; depth += kBlockDepth) {
            int64_t depths = std::min(kBlockDepth, k - depth);
            pack_columns(b, depth, depths, column, columns, panel_b.get());
            int64_t strips = (m + kBlockRows - 1) / kBlockRows;
            parallel(context, strips, 1, [&](int64_t begin, int64_t end) {
                auto panel_a = std::make_unique_for_overwrite<T[]>(
                    static_cast<size_t>(std::min(round_up(m, R), round_up(kBlockRows, R)) * depths));
                for (int64_t strip = begin; strip < end; ++strip) {
                    int64_t row = strip * kBlockRows, rows = std::min(kBlockRows, m - row);
                    pack_rows(a, row, rows, depth, depths, panel_a.get());
                    for (int64_t j = 0; j < columns; j += C) {
                        for (int64_t i = 0; i < rows; i += R) {
                            Matrix<T> tile = c;
                            tile.data += (row + i) * c.row_stride + (column + j) * c.column_stride;
                            multiply_tile<T>(depths, panel_a.get() + i * depths, panel_b.get() + j * depths, tile,
                                             std::min(R, rows - i), std::min(C, columns - j), depth == 0);
                        }
                    }
                }
            });
        }
    }
}

}  // namespace

template <class T>
void gemm(const Context& context, int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
    if (m == 0 || n == 0) return;
    if (k == 0) {
        for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) c.data[i * c.row_stride + j * c.column_stride] = T(0);
        }
    } else if (n == 1) {
        multiply_vector<T>(context, m, k, a, b.data, b.row_stride, c.data, c.row_stride);
    } else if (m == 1) {
        multiply_vector<T>(context, n, k, {b.data, b.column_stride, b.row_stride}, a.data, a.column_stride, c.data,
                           c.column_stride);
    } else if (m <= 4 && (b.row_stride == 1 || b.column_stride == 1)) {
        // Too few rows to pay for packing b.
        for (int64_t i = 0; i < m; ++i) {
            multiply_vector<T>(context, n, k, {b.data, b.column_stride, b.row_stride}, a.data + i * a.row_stride,
                               a.column_stride, c.data + i * c.row_stride, c.column_stride);
        }
    } else {
        multiply_blocks<T>(context, m, n, k, a, b, c);
    }
}

template void gemm<float>(const Context&, int64_t, int64_t, int64_t, Matrix<const float>, Matrix<const float>,
                          Matrix<float>);
template void gemm<double>(const Context&, int64_t, int64_t, int64_t, Matrix<const double>, Matrix<const double>,
                           Matrix<double>);
template void gemm<uint64_t>(const Context&, int64_t, int64_t, int64_t, Matrix<const uint64_t>, Matrix<const uint64_t>,
                            Matrix<uint64_t>);

}  // namespace talc::tensor
