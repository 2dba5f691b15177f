// matmul: operands brought to matrices, broadcast batches walked one by one.
#include "tensor/gemm.hpp"
#include "tensor/kernels.hpp"
#include "tensor/strided.hpp"
#include "tensor/views.hpp"

namespace talc::tensor {

namespace {

// As a matrix in its last two dims: a vector is a row on the left, a column on the right.
Tensor as_matrix(const Tensor& x, bool left) {
    if (x.rank() > 1) return x;
    Dims sizes = x.sizes(), strides = x.strides();
    sizes.insert(left ? 0 : 1, 1);
    strides.insert(left ? 0 : 1, 0);
    return x.alias(std::move(sizes), std::move(strides), x.offset());
}

template <class T>
void multiply(Context& context, const Tensor& a, const Tensor& b, const Tensor& c, const Dims& batch) {
    auto batch_strides = [&](const Tensor& x) {
        size_t rank = x.sizes().size() - 2;
        Tensor outer = x.alias(Dims(x.sizes().begin(), x.sizes().begin() + rank),
                               Dims(x.strides().begin(), x.strides().begin() + rank), x.offset());
        return broadcast_strides(outer, batch);
    };
    size_t ra = a.sizes().size(), rb = b.sizes().size(), rc = c.sizes().size();
    int64_t m = a.sizes()[ra - 2], k = a.sizes()[ra - 1], n = b.sizes()[rb - 1];
    LoopNest<3> nest(batch, {batch_strides(c), batch_strides(a), batch_strides(b)});
    // A left operand with batches over a plain matrix on the right is one tall product.
    if (nest.rows() == 1 && nest.strides[2][0] == 0 && nest.strides[1][0] == m * a.strides()[ra - 2] &&
        nest.strides[0][0] == m * c.strides()[rc - 2]) {
        gemm<T>(context, m * nest.inner(), n, k, {a.data_as<T>(), a.strides()[ra - 2], a.strides()[ra - 1]},
                {b.data_as<T>(), b.strides()[rb - 2], b.strides()[rb - 1]},
                {c.data_as<T>(), c.strides()[rc - 2], c.strides()[rc - 1]});
        return;
    }
    nest.for_rows(0, nest.rows(), [&](const std::array<int64_t, 3>& at) {
        for (int64_t i = 0; i < nest.inner(); ++i) {
            auto start = [&](const Tensor& x, size_t operand) {
                return x.data_as<T>() + at[operand] + i * nest.strides[operand][0];
            };
            gemm<T>(context, m, n, k, {start(a, 1), a.strides()[ra - 2], a.strides()[ra - 1]},
                    {start(b, 2), b.strides()[rb - 2], b.strides()[rb - 1]},
                    {start(c, 0), c.strides()[rc - 2], c.strides()[rc - 1]});
        }
    });
}

}  // namespace

void kernel_contraction(Context& context, Op, Tensors inputs, const Attrs&, const Inferred& inferred,
                        std::span<Tensor> results) {
    DType dtype = inferred.dtypes[0];
    DType compute = dtype == DType::Float64 ? dtype : is_float(dtype) ? DType::Float32 : DType::Int64;
    results[0] = empty(context, inferred.shape, dtype, inferred.device);
    if (results[0].numel() == 0) return;
    auto prepared = [&](const Tensor& x, bool left) {
        if (x.dtype() == compute) return as_matrix(x, left);
        Tensor cast = empty(context, x.sizes(), compute);
        copy_elements(context, x, cast);
        return as_matrix(cast, left);
    };
    Tensor a = prepared(inputs[0], true), b = prepared(inputs[1], false);
    size_t vectors = (inputs[0].rank() == 1) + (inputs[1].rank() == 1);
    Dims batch(inferred.shape.begin(), inferred.shape.end() - (2 - vectors));
    Dims full = batch;
    full.push_back(a.size(a.rank() - 2));
    full.push_back(b.size(b.rank() - 1));
    Tensor c = compute == dtype ? results[0].alias(full, contiguous_strides(full), 0) : empty(context, full, compute);
    if (compute == DType::Float32) {
        multiply<float>(context, a, b, c, batch);
    } else if (compute == DType::Float64) {
        multiply<double>(context, a, b, c, batch);
    } else {
        multiply<uint64_t>(context, a, b, c, batch);  // wraps, as signed integers must not
    }
    if (compute != dtype) {
        copy_elements(context, c.alias(inferred.shape, contiguous_strides(inferred.shape), 0), results[0]);
    }
}

}  // namespace talc::tensor
