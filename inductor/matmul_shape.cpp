#include "inductor/matmul_shape.hpp"

#include <utility>

namespace talc::inductor {

using tensor::Dims;

MatmulShape matmul_shape(const OperandLayout& a, const OperandLayout& b, const OperandLayout& c) {
    MatmulShape shape;
    bool left_vector = a.sizes.size() == 1, right_vector = b.sizes.size() == 1;
    size_t ra = a.sizes.size(), rb = b.sizes.size(), rc = c.sizes.size();
    shape.m = left_vector ? 1 : a.sizes[ra - 2];
    shape.k = a.sizes[ra - 1];
    shape.n = right_vector ? 1 : b.sizes[rb - 1];
    size_t vectors = size_t{left_vector} + size_t{right_vector};
    size_t batch_rank = rc - (2 - vectors);
    shape.batch = Dims(c.sizes.begin(), c.sizes.begin() + batch_rank);
    shape.a.row_stride = left_vector ? 0 : a.strides[ra - 2];
    shape.a.column_stride = a.strides[ra - 1];
    shape.b.row_stride = right_vector ? b.strides[0] : b.strides[rb - 2];
    shape.b.column_stride = right_vector ? 0 : b.strides[rb - 1];
    shape.c.row_stride = left_vector ? 0 : c.strides[batch_rank];
    shape.c.column_stride = right_vector ? 0 : c.strides[rc - 1];
    auto batch_strides = [&](const OperandLayout& x, bool vector) {
        size_t own = vector ? 0 : x.sizes.size() - 2;
        Dims strides(batch_rank, 0);
        for (size_t d = 0; d < own; ++d) {
            strides[batch_rank - own + d] = x.sizes[d] == 1 ? 0 : x.strides[d];
        }
        return strides;
    };
    shape.a.batch_strides = batch_strides(a, left_vector);
    shape.b.batch_strides = batch_strides(b, right_vector);
    shape.c.batch_strides = Dims(c.strides.begin(), c.strides.begin() + batch_rank);
    // A result that is wanted transposed is the transposed product of the transposed operands.
    if (shape.c.row_stride == 1 && shape.c.column_stride != 1 && shape.m > 1 && shape.n > 1) {
        std::swap(shape.m, shape.n);
        std::swap(shape.a, shape.b);
        for (MatmulShape::Operand* operand : {&shape.a, &shape.b, &shape.c}) {
            std::swap(operand->row_stride, operand->column_stride);
        }
        shape.swapped = true;
    }
    // Batches of rows over one matrix on the right are one tall product.
    while (!shape.batch.empty()) {
        size_t last = shape.batch.size() - 1;
        int64_t count = shape.batch[last];
        bool tall = count == 1 || (shape.b.batch_strides[last] == 0 && shape.m > 0 &&
                                   shape.a.batch_strides[last] == shape.m * shape.a.row_stride &&
                                   shape.c.batch_strides[last] == shape.m * shape.c.row_stride && !left_vector);
        if (!tall) break;
        shape.m *= count;
        shape.batch.pop_back();
        shape.a.batch_strides.pop_back();
        shape.b.batch_strides.pop_back();
        shape.c.batch_strides.pop_back();
    }
    return shape;
}

}  // namespace talc::inductor
