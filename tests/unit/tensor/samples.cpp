#include "tests/unit/tensor/samples.hpp"

#include <algorithm>
#include <numeric>

#include "tensor/shape_rules.hpp"
#include "tensor/views.hpp"

namespace talc::tensor::samples {

std::string Call::text() const {
    std::string text(name_of(op));
    for (const Tensor& input : inputs) {
        text += " " + std::string(name_of(input.dtype())) + bracketed(input.sizes()) + "/" + bracketed(input.strides());
    }
    text += " sizes=" + bracketed(attrs.sizes) + " dims=" + bracketed(attrs.dims) + " dim=" + std::to_string(attrs.dim);
    text += " start=" + std::to_string(attrs.start) + " end=" + std::to_string(attrs.end) +
            " step=" + std::to_string(attrs.step) + (attrs.keepdim ? " keepdim" : "") + (attrs.mode ? " mode" : "");
    return text;
}

Dims Sampler::shape(int64_t min_rank, int64_t max_rank, int64_t min_size) {
    Dims shape;
    int64_t rank = min_rank + below(max_rank - min_rank + 1);
    for (int64_t d = 0; d < rank; ++d) {
        int64_t kind = below(8);
        int64_t size = kind == 0 ? 0 : kind == 1 ? 1 : kind == 2 && rank <= 2 ? 20 + below(30) : 2 + below(5);
        shape.push_back(std::max(size, min_size));
    }
    return shape;
}

Tensor Sampler::tensor(const Dims& shape, DType dtype, double low, double high, bool distinct) {
    int64_t count = element_count(shape);
    std::vector<double> values(static_cast<size_t>(count));
    for (double& value : values) value = real(low, high);
    if (distinct) {  // apart by more than a finite difference
        for (size_t i = 0; i < values.size(); ++i) {
            values[i] = low + (high - low) * (static_cast<double>(i) + 0.5) / static_cast<double>(count);
        }
        std::shuffle(values.begin(), values.end(), random_);
    }
    if (dtype == DType::Bool) {
        for (double& value : values) value = value > 0;
    } else if (!is_float(dtype)) {
        for (double& value : values) value = static_cast<double>(static_cast<int64_t>(value * 3));
    }
    return relaid(from_values(context_, values, shape, dtype));
}

Tensor Sampler::relaid(const Tensor& dense) {
    int64_t rank = dense.rank();
    if (rank == 0) return dense;
    switch (below(4)) {
        case 0: {  // permuted
            Dims order(static_cast<size_t>(rank)), back(static_cast<size_t>(rank));
            std::iota(order.begin(), order.end(), 0);
            std::shuffle(order.begin(), order.end(), random_);
            for (size_t d = 0; d < order.size(); ++d) back[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
            return permute_view(contiguous_copy(context_, permute_view(dense, order)), back);
        }
        case 1: {  // every second element of a larger one, with an offset
            int64_t dim = below(rank);
            Dims sizes = dense.sizes();
            sizes[static_cast<size_t>(dim)] = sizes[static_cast<size_t>(dim)] * 2 + 1;
            Tensor large = empty(context_, sizes, dense.dtype());
            Attrs fill;
            fill.value = Scalar(1);
            run(context_, Op::Fill, std::span(&large, 1), fill);
            Tensor view = slice_view(large, dim, 1, sizes[static_cast<size_t>(dim)], 2);
            Tensor both[] = {view, dense};
            run(context_, Op::Copy, both);
            return view;
        }
        default: return dense;
    }
}

Dims Sampler::broadcastable(const Dims& shape) {
    Dims result(shape.begin() + static_cast<int64_t>(below(static_cast<int64_t>(shape.size()) + 1)) * (below(3) == 0),
                shape.end());
    for (int64_t& size : result) {
        if (below(5) == 0) size = 1;
    }
    return result;
}

Tensor Sampler::indices(const Dims& shape, int64_t limit, bool negative) {
    std::vector<int64_t> values(static_cast<size_t>(element_count(shape)));
    for (int64_t& value : values) value = below(limit) - (negative && below(4) == 0 ? limit : 0);
    return relaid(from_values(context_, values, shape, coin() ? DType::Int64 : DType::Int32));
}

Call Sampler::call(Op op, DType dtype, bool smooth) {
    Call c{op, {}, {}};
    Attrs& a = c.attrs;
    const OpInfo& row = info(op);
    const int64_t least = smooth ? 1 : 0;
    double low = -3, high = 3;
    bool positive = op == Op::Log || op == Op::Sqrt || op == Op::Rsqrt || op == Op::Pow;
    if (positive) low = 0.3;
    if (op == Op::Log1p) low = -0.7;
    if (op == Op::Reciprocal && smooth) low = 0.4;

    switch (row.kind) {
        case Kind::Leaf: break;
        case Kind::Create:
            if (op == Op::Size) a.start = below(9);
            if (op != Op::Number && op != Op::Size) a.sizes = shape(0, 3);
            if (op == Op::Arange) a.sizes = shape(1, 1);
            a.value = is_float(dtype) ? Scalar(real(-2, 2)) : Scalar(below(5));
            a.delta = is_float(dtype) ? Scalar(0.25) : Scalar(2);
            a.dtype = dtype;
            break;
        case Kind::Random:
            c.inputs = {scalar_tensor(context_, Scalar(below(1000)), DType::Int64),
                        scalar_tensor(context_, Scalar(below(1000)), DType::Int64)};
            a.sizes = shape(0, 3);
            if (is_float(dtype)) a.dtype = dtype;
            break;
        case Kind::Pointwise: {
            Dims full = shape(0, 4, least);
            for (size_t i = 0; i < row.inputs; ++i) {
                DType own = op == Op::Where && i == 0 ? DType::Bool : dtype;
                bool corner = op == Op::Abs || op == Op::Relu || op == Op::Sign || op == Op::Floor || op == Op::Ceil ||
                              op == Op::Trunc || op == Op::Round || op == Op::FloorDiv || op == Op::Remainder;
                Dims own_shape = row.inputs == 1 ? full : broadcastable(full);
                if (i > 0 && (op == Op::Div || op == Op::FloorDiv || op == Op::Remainder)) {
                    c.inputs.push_back(tensor(own_shape, own, 0.4, 3));
                    // No integer divisor of 0.
                    Tensor pair[] = {c.inputs.back(), scalar_tensor(context_, Scalar(1), own)};
                    if (!is_float(own)) c.inputs.back() = run(context_, Op::Maximum, pair);
                } else if (i > 0 && op == Op::Pow) {
                    c.inputs.push_back(tensor(own_shape, own, 0, 2));
                } else if (i > 0 && !smooth && below(6) == 0 && op != Op::Where) {
                    Scalar value = is_float(dtype) ? Scalar(real(low, high)) : Scalar(1 + below(3));
                    c.inputs.push_back(number(context_, value));
                } else {
                    double shift = smooth && i == 1 ? 0.0371 : smooth && corner ? 0.0173 : 0;
                    c.inputs.push_back(tensor(own_shape, own, low + shift, high + shift, smooth));
                }
            }
            if (op == Op::Gelu) a.mode = coin();
            if (op == Op::Cast) a.dtype = smooth ? DType::Float64 : static_cast<DType>(below(kDTypeCount));
            break;
        }
        case Kind::Reduction: {
            bool one = op == Op::MaxDim || op == Op::MinDim;
            bool nonempty = one || op == Op::Amax || op == Op::Amin || op == Op::Argmax || op == Op::Argmin;
            Dims full = shape(one ? 1 : 0, 4, std::max<int64_t>(least, nonempty));
            int64_t rank = static_cast<int64_t>(full.size());
            for (int64_t d = 0; d < rank; ++d) {
                if (one ? a.dims.empty() && (coin() || d + 1 == rank) : coin()) a.dims.push_back(d);
            }
            a.keepdim = coin();
            bool product = smooth && op == Op::Prod;  // kept near 1
            c.inputs = {tensor(full, dtype, product ? 0.6 : -3, product ? 1.4 : 3, smooth)};
            break;
        }
        case Kind::Contraction: {
            Dims batch = shape(0, 2, least);
            int64_t m = std::max(least, below(40)), k = std::max(least, below(40)), n = std::max(least, below(40));
            if (smooth) m = 1 + below(4), k = 1 + below(4), n = 1 + below(4);
            Dims left = broadcastable(batch), right = broadcastable(batch);
            left.push_back(m);
            left.push_back(k);
            right.push_back(k);
            right.push_back(n);
            if (below(5) == 0) left = {k};
            if (below(5) == 0) right = {k};
            c.inputs = {tensor(left, dtype), tensor(right, dtype)};
            break;
        }
        case Kind::View: {
            Dims full = shape(op == Op::Slice || op == Op::Select ? 1 : 0, 4, std::max<int64_t>(least, op == Op::Select));
            int64_t rank = static_cast<int64_t>(full.size());
            c.inputs = {tensor(full, dtype)};
            if (op == Op::View) c.inputs[0] = contiguous(context_, c.inputs[0]);
            switch (op) {
                case Op::View:
                case Op::Reshape:
                    a.sizes = full;
                    std::shuffle(a.sizes.begin(), a.sizes.end(), random_);
                    if (coin()) a.sizes = {element_count(full) ? -1 : 0};
                    if (coin()) a.sizes.insert(0, 1);
                    break;
                case Op::Permute:
                    for (int64_t d = 0; d < rank; ++d) a.dims.push_back(d);
                    std::shuffle(a.dims.begin(), a.dims.end(), random_);
                    break;
                case Op::Expand:
                    a.sizes = full;
                    for (int64_t& size : a.sizes) size = size == 1 && coin() ? 3 : coin() ? -1 : size;
                    if (coin()) a.sizes.insert(0, 2);
                    break;
                case Op::Squeeze:
                    for (int64_t d = 0; d < rank; ++d) {
                        if (coin()) a.dims.push_back(d);
                    }
                    break;
                case Op::Detach: break;
                case Op::Unsqueeze: a.dim = below(rank + 1); break;
                case Op::Slice:
                    a.dim = below(rank);
                    a.start = below(full[static_cast<size_t>(a.dim)] + 1);
                    a.end = a.start + below(full[static_cast<size_t>(a.dim)] - a.start + 1);
                    a.step = 1 + below(3);
                    break;
                default:
                    a.dim = below(rank);
                    a.start = below(full[static_cast<size_t>(a.dim)]);
            }
            break;
        }
        case Kind::Index: {
            Dims full = shape(1, 3, 1);
            int64_t rank = static_cast<int64_t>(full.size());
            a.dim = below(rank);
            size_t dim = static_cast<size_t>(a.dim);
            Tensor x = tensor(full, dtype);
            switch (op) {
                case Op::Cat:
                case Op::Stack:
                    for (int64_t n = 1 + below(3); n-- > 0;) {
                        if (op == Op::Cat) full[dim] = std::max<int64_t>(least, below(4));
                        c.inputs.push_back(tensor(full, dtype));
                    }
                    if (op == Op::Stack) a.dim = below(rank + 1);
                    break;
                case Op::IndexSelect: c.inputs = {x, indices({1 + below(5)}, full[dim], true)}; break;
                case Op::Gather:
                case Op::ScatterAdd: {
                    Dims own = full;
                    for (int64_t& size : own) size = 1 + below(size);
                    if (op == Op::Gather) own[dim] = 1 + below(6);
                    c.inputs = {x, indices(own, full[dim], false)};
                    if (op == Op::ScatterAdd) c.inputs.push_back(tensor(full, dtype));
                    break;
                }
                case Op::IndexTake:
                case Op::IndexPut: {
                    Dims tuple = shape(0, 2, 1);
                    c.inputs = {x};
                    for (int64_t d = 0; d < rank; ++d) {
                        if (coin() || (d + 1 == rank && a.dims.empty())) {
                            a.dims.push_back(d);
                            c.inputs.push_back(indices(tuple, full[static_cast<size_t>(d)], true));
                        }
                    }
                    a.dim = 0;
                    if (op == Op::IndexPut) {
                        Dims target = infer(context_, Op::IndexTake, c.inputs, a).shape;
                        a.mode = true;  // repeated indices: only sums have one answer
                        c.inputs.insert(c.inputs.begin() + 1, tensor(broadcastable(target), dtype));
                    }
                    break;
                }
                case Op::IndexAdd: {
                    Dims source = full;
                    source[dim] = 1 + below(5);
                    c.inputs = {x, indices({source[dim]}, full[dim], true), tensor(source, dtype)};
                    break;
                }
                case Op::ToDevice:
                    a.dim = 0;
                    c.inputs = {x};
                    break;
                default: {
                    Op read = op == Op::SliceScatter ? Op::Slice : Op::Select;
                    a.start = below(full[dim]);
                    a.end = read == Op::Slice ? a.start + below(full[dim] - a.start + 1) : 0;
                    a.step = read == Op::Slice ? 1 + below(2) : 1;
                    Dims source = infer(context_, read, std::span(&x, 1), a).shape;
                    c.inputs = {x, tensor(source, dtype)};
                }
            }
            break;
        }
        case Kind::Write: {
            Dims full = shape(0, 3);
            c.inputs = {tensor(full, dtype)};
            if (op == Op::Copy) c.inputs.push_back(tensor(broadcastable(full), coin() ? dtype : DType::Int64));
            a.value = Scalar(7);
            if (op == Op::Copy) a.value = Scalar();
        }
    }
    return c;
}

}  // namespace talc::tensor::samples
