#pragma once
// Short names for emitting operators, over any emitter (see emit.hpp).
#include <numbers>

#include "tensor/ops.hpp"

namespace talc::autograd {

using tensor::Op;
using tensor::Scalar;

template <class E>
class Builder {
  public:
    using Value = typename E::Value;
    using Dim = typename E::Dim;
    using Shape = typename E::Shape;
    using Attrs = typename E::Attrs;

    explicit Builder(E& emitter) : e(emitter) {}

    // Pointwise operators under their own names.
#define TALC_UNARY_BUILDER(name, id) \
    Value name(Value x) { return e.emit(Op::id, {x}); }
#define TALC_BINARY_BUILDER(name, id)                                            \
    Value name(Value a, Value b) { return e.emit(Op::id, {a, b}); }              \
    Value name(Value a, Scalar b) { return e.emit(Op::id, {a, e.number(b)}); }
    TALC_UNARY_BUILDER(neg, Neg)
    TALC_UNARY_BUILDER(sign, Sign)
    TALC_UNARY_BUILDER(square, Square)
    TALC_UNARY_BUILDER(exp, Exp)
    TALC_UNARY_BUILDER(log, Log)
    TALC_UNARY_BUILDER(sqrt, Sqrt)
    TALC_UNARY_BUILDER(sin, Sin)
    TALC_UNARY_BUILDER(cos, Cos)
    TALC_UNARY_BUILDER(tanh, Tanh)
    TALC_UNARY_BUILDER(erf, Erf)
    TALC_UNARY_BUILDER(abs, Abs)
    TALC_BINARY_BUILDER(add, Add)
    TALC_BINARY_BUILDER(sub, Sub)
    TALC_BINARY_BUILDER(mul, Mul)
    TALC_BINARY_BUILDER(div, Div)
    TALC_BINARY_BUILDER(pow, Pow)
    TALC_BINARY_BUILDER(floor_divide, FloorDiv)
    TALC_BINARY_BUILDER(eq, Eq)
    TALC_BINARY_BUILDER(lt, Lt)
    TALC_BINARY_BUILDER(le, Le)
    TALC_BINARY_BUILDER(gt, Gt)
    TALC_BINARY_BUILDER(ge, Ge)
    TALC_BINARY_BUILDER(logical_and, LogicalAnd)
    TALC_BINARY_BUILDER(matmul, Matmul)
#undef TALC_UNARY_BUILDER
#undef TALC_BINARY_BUILDER

    Value where(Value condition, Value a, Value b) { return e.emit(Op::Where, {condition, a, b}); }
    // `a` where the condition holds, else 0.
    Value keep_where(Value condition, Value a) { return where(condition, a, e.number(zero_of(a))); }
    // 0 where the condition holds, else `a`.
    Value zero_where(Value condition, Value a) { return where(condition, e.number(zero_of(a)), a); }
    Value cast(Value x, tensor::DType dtype) {
        if (e.dtype(x) == dtype) return x;
        Attrs attrs;
        attrs.dtype = dtype;
        return e.emit(Op::Cast, {x}, attrs);
    }

    Value to_device(Value x, tensor::Device device) {
        if (e.device(x) == device) return x;
        Attrs attrs;
        attrs.device = device;
        return e.emit(Op::ToDevice, {x}, attrs);
    }

    Value full(const Shape& shape, Scalar value, tensor::DType dtype, tensor::Device device) {
        Attrs attrs;
        attrs.sizes = shape;
        attrs.value = value;
        attrs.dtype = dtype;
        attrs.device = device;
        return e.emit(Op::Full, std::initializer_list<Value>{}, attrs);
    }
    Value zeros(const Shape& shape, tensor::DType dtype, tensor::Device device) {
        return full(shape, tensor::is_float(dtype) ? Scalar(0.0) : Scalar(0), dtype, device);
    }
    Value reshape(Value x, const Shape& shape) {
        if (same_shape(e.shape(x), shape)) return x;
        Attrs attrs;
        attrs.sizes = shape;
        return e.emit(Op::Reshape, {x}, attrs);
    }
    Value expand(Value x, const Shape& shape) {
        if (same_shape(e.shape(x), shape)) return x;
        Attrs attrs;
        attrs.sizes = shape;
        return e.emit(Op::Expand, {x}, attrs);
    }
    Value permute(Value x, const tensor::Dims& dims) {
        Attrs attrs;
        attrs.dims = dims;
        return e.emit(Op::Permute, {x}, attrs);
    }
    // The last two dims swapped.
    Value transposed(Value x) {
        tensor::Dims dims;
        int64_t rank = static_cast<int64_t>(e.shape(x).size());
        for (int64_t d = 0; d < rank - 2; ++d) dims.push_back(d);
        dims.push_back(rank - 1);
        dims.push_back(rank - 2);
        return permute(x, dims);
    }
    Value reduce(Op op, Value x, const tensor::Dims& dims, bool keepdim = false) {
        Attrs attrs;
        attrs.dims = dims;
        attrs.keepdim = keepdim;
        return e.emit(op, {x}, attrs);
    }
    Value sum(Value x, const tensor::Dims& dims, bool keepdim = false) { return reduce(Op::Sum, x, dims, keepdim); }
    Value slice(Value x, int64_t dim, Dim start, Dim end, Dim step = Dim(1)) {
        return e.emit(Op::Slice, {x}, slice_attrs(dim, start, end, step));
    }
    Value slice_scatter(Value x, Value source, int64_t dim, Dim start, Dim end, Dim step = Dim(1)) {
        return e.emit(Op::SliceScatter, {x, source}, slice_attrs(dim, start, end, step));
    }
    Value select(Value x, int64_t dim, Dim index) { return e.emit(Op::Select, {x}, slice_attrs(dim, index, Dim(0), Dim(1))); }
    Value select_scatter(Value x, Value source, int64_t dim, Dim index) {
        return e.emit(Op::SelectScatter, {x, source}, slice_attrs(dim, index, Dim(0), Dim(1)));
    }

    // A gradient of a broadcast result, summed to the operand's shape.
    Value sum_to(Value g, const Shape& shape) {
        const Shape from = e.shape(g);
        if (same_shape(from, shape)) return g;
        size_t fresh = from.size() - shape.size();
        tensor::Dims dims;
        for (size_t d = 0; d < from.size(); ++d) {
            bool gone = d < fresh || (shape[d - fresh] == Dim(1) && !(from[d] == Dim(1)));
            if (gone) dims.push_back(static_cast<int64_t>(d));
        }
        Value result = dims.empty() ? g : sum(g, dims, true);
        return reshape(result, shape);
    }

    bool same_shape(const Shape& a, const Shape& b) const {
        if (a.size() != b.size()) return false;
        for (size_t d = 0; d < a.size(); ++d) {
            if (!e.same(a[d], b[d])) return false;
        }
        return true;
    }

    E& e;

  private:
    Scalar zero_of(Value a) const { return tensor::is_float(e.dtype(a)) ? Scalar(0.0) : Scalar(0); }
    static Attrs slice_attrs(int64_t dim, Dim start, Dim end, Dim step) {
        Attrs attrs;
        attrs.dim = dim;
        attrs.start = start;
        attrs.end = end;
        attrs.step = step;
        return attrs;
    }
};

}  // namespace talc::autograd
