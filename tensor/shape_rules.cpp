#include "tensor/shape_rules.inl"

namespace talc::tensor {

PlainJudge::D PlainJudge::mul(D a, D b) const {
    D product;
    if (__builtin_mul_overflow(a, b, &product)) fail("the number of elements overflows a 64-bit integer");
    return product;
}

template Dims infer_shape<PlainJudge>(PlainJudge&, Op, std::span<const Dims* const>, const Attrs&);

int64_t wrap_dim(int64_t dim, int64_t rank) {
    int64_t range = rank == 0 ? 1 : rank;  // a 0-dim tensor takes 0 and -1
    if (dim < -range || dim >= range) {
        fail(ErrorKind::Index, "Dimension out of range (expected to be in range of [{}, {}], but got {})", -range,
             range - 1, dim);
    }
    return dim < 0 ? dim + range : dim;
}

Dims wrap_dims(std::span<const int64_t> dims, int64_t rank, std::string_view op) {
    Dims out;
    if (dims.empty()) {
        for (int64_t d = 0; d < rank; ++d) out.push_back(d);
        return out;
    }
    for (int64_t dim : dims) {
        int64_t d = wrap_dim(dim, rank);
        if (std::find(out.begin(), out.end(), d) != out.end()) {
            fail("dim {} appears multiple times in the list of dims ({})", d, op);
        }
        out.push_back(d);
    }
    if (rank == 0) out.clear();
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace talc::tensor
