// Elements in other places: flipped, rolled, repeated, padded, scattered; running sums and products.
#include "stdlib/tensor_support.hpp"
#include "tensor/factory.hpp"
#include "tensor/observer.hpp"
#include "tensor/transfer.hpp"

namespace talc::stdlib {

namespace {

Tensor counting(Vm& vm, int64_t first, int64_t step, int64_t count, tensor::Device device) {
    tensor::Attrs attrs;
    attrs.sizes = {count};
    attrs.value = Scalar(first);
    attrs.delta = Scalar(step);
    attrs.dtype = DType::Int64;
    attrs.device = device;
    return autograd::apply(vm.tensors, Op::Arange, {}, attrs);
}

Tensor picked(Eager& e, const Tensor& x, int64_t dim, const Tensor& index) {
    tensor::Attrs attrs;
    attrs.dim = dim;
    return e.emit(Op::IndexSelect, {x, index}, attrs);
}

Tensor joined(Eager& e, const std::vector<Tensor>& parts, int64_t dim) {
    tensor::Attrs attrs;
    attrs.dim = dim;
    return e.emit(Op::Cat, parts, attrs);
}

Tensor flipped(Vm& vm, Tensor x, const Dims& dims) {
    Eager e(vm);
    for (int64_t dim : dims) x = picked(e, x, dim, counting(vm, x.size(dim) - 1, -1, x.size(dim), x.device()));
    return dims.empty() ? e.emit(Op::Clone, {x}) : x;
}

Dims wrapped(const Dims& dims, int64_t rank) {
    Dims result;
    for (int64_t dim : dims) {
        int64_t at = tensor::wrap_dim(dim, rank);
        for (int64_t seen : result) {
            if (seen == at) tensor::fail("dim {} appears multiple times in the list of dims", at);
        }
        result.push_back(at);
    }
    return result;
}

}  // namespace

Ref tensor_flip(Vm& vm, const Args& args) {
    Tensor x = tensor_of(args[0]);
    return wrap(vm, flipped(vm, x, wrapped(rest_ints(vm, args, "flip", "dims", 1), x.rank())));
}
Ref function_flip(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "flip");
    return wrap(vm, flipped(vm, x, wrapped(ints_arg(vm, args[1], "flip", "dims", 2), x.rank())));
}

Ref tensor_roll(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "roll");
    Dims shifts = ints_arg(vm, args[1], "roll", "shifts", 2);
    Dims dims = given(args[2]) ? ints_arg(vm, args[2], "roll", "dims", 3) : Dims{};
    Dims shape = x.sizes();
    if (dims.empty()) {
        if (shifts.size() != 1) raise(vm, Exc::RuntimeError, "shifts and dimensions must align. shifts: {}, dims:0", shifts.size());
        x = e.reshape(x, {x.numel()});
        dims = {0};
    }
    if (shifts.size() != dims.size()) {
        raise(vm, Exc::RuntimeError, "shifts and dimensions must align. shifts: {}, dims:{}", shifts.size(), dims.size());
    }
    for (size_t i = 0; i < dims.size(); ++i) {
        int64_t dim = tensor::wrap_dim(dims[i], x.rank()), size = x.size(dim);
        if (size == 0) continue;
        int64_t cut = ((-shifts[i]) % size + size) % size;
        if (cut == 0) {
            x = e.emit(Op::Clone, {x});
            continue;
        }
        x = joined(e, {e.slice(x, dim, cut, size), e.slice(x, dim, 0, cut)}, dim);
    }
    return wrap(vm, e.reshape(x, shape));
}

namespace {

// Each dim so many times over; sizes of 1 are put in front where there are more counts than dims.
Tensor repeated(Vm& vm, const Tensor& x, const Dims& times) {
    Eager e(vm);
    int64_t fresh = static_cast<int64_t>(times.size()) - x.rank();
    if (fresh < 0) {
        tensor::fail("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
    }
    Dims split, wide, flat;
    for (size_t d = 0; d < times.size(); ++d) {
        if (times[d] < 0) tensor::fail("Trying to create tensor with negative dimension {}: {}", times[d], tensor::bracketed(times));
        int64_t size = static_cast<int64_t>(d) < fresh ? 1 : x.size(static_cast<int64_t>(d) - fresh);
        split.push_back(1);
        split.push_back(size);
        wide.push_back(times[d]);
        wide.push_back(size);
        flat.push_back(times[d] * size);
    }
    Tensor copies = e.emit(Op::Contiguous, {e.expand(e.reshape(x, split), wide)});
    return e.reshape(copies, flat);
}

}  // namespace

Ref tensor_repeat(Vm& vm, const Args& args) {
    return wrap(vm, repeated(vm, tensor_of(args[0]), rest_ints(vm, args, "repeat", "repeats", 1)));
}

namespace {

Tensor tiled(Vm& vm, const Tensor& x, Dims times) {
    Dims all;
    for (int64_t d = static_cast<int64_t>(times.size()); d < x.rank(); ++d) all.push_back(1);
    for (int64_t count : times) all.push_back(count);
    return repeated(vm, x, all);
}

}  // namespace

Ref tensor_tile(Vm& vm, const Args& args) {
    return wrap(vm, tiled(vm, tensor_of(args[0]), rest_ints(vm, args, "tile", "dims", 1)));
}
Ref function_tile(Vm& vm, const Args& args) {
    return wrap(vm, tiled(vm, tensor_arg(vm, args, 0, "tile"), ints_arg(vm, args[1], "tile", "dims", 2)));
}

Ref tensor_repeat_interleave(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "repeat_interleave");
    int64_t times = int_arg(vm, args[1], "repeat_interleave", "repeats", 2);
    if (times < 0) raise(vm, Exc::RuntimeError, "Repeats must be non-negative");
    if (!given(args[2])) x = e.reshape(x, {x.numel()});
    int64_t dim = given(args[2]) ? dim_arg(vm, args[2], x.rank(), "repeat_interleave", 3) : 0;
    Dims wide, flat;
    for (int64_t d = 0; d < x.rank(); ++d) {
        wide.push_back(x.size(d));
        if (d == dim) wide.push_back(times);
        flat.push_back(d == dim ? x.size(d) * times : x.size(d));
    }
    tensor::Attrs attrs;
    attrs.dim = dim + 1;
    Tensor copies = e.emit(Op::Contiguous, {e.expand(e.emit(Op::Unsqueeze, {x}, attrs), wide)});
    return wrap(vm, e.reshape(copies, flat));
}

// ---- Padding ----

namespace {

// Which element of a row of `size` stands at position i of the padded row.
int64_t source_of(std::string_view mode, int64_t i, int64_t size) {
    if (mode == "replicate") return std::clamp<int64_t>(i, 0, size - 1);
    if (mode == "circular") return (i % size + size) % size;
    if (i < 0) return -i;  // reflect
    return i >= size ? 2 * (size - 1) - i : i;
}

Tensor padded_by_index(Vm& vm, const Tensor& x, int64_t dim, int64_t before, int64_t after, std::string_view mode) {
    Eager e(vm);
    int64_t size = x.size(dim);
    bool fits = mode == "reflect" ? before < size && after < size : mode == "circular" ? before <= size && after <= size : size > 0;
    if (!fits || size + before + after <= 0) {
        tensor::fail("Padding size should be less than the corresponding input dimension, but got: padding ({}, {}) at dimension {} of "
                     "input {}",
                     before, after, dim, tensor::bracketed(x.sizes()));
    }
    std::vector<int64_t> sources;
    for (int64_t i = -before; i < size + after; ++i) sources.push_back(source_of(mode, i, size));
    Tensor index = tensor::from_values(vm.tensors, std::span<const int64_t>(sources), {static_cast<int64_t>(sources.size())});
    index = tensor::to_device(vm.tensors, index, x.device());
    if (vm.tensors.observer) vm.tensors.observer->made(index);
    return picked(e, x, dim, index);
}

Tensor padded_with(Vm& vm, const Tensor& given_x, int64_t dim, int64_t before, int64_t after, Scalar value) {
    Eager e(vm);
    Tensor x = given_x;
    int64_t start = before < 0 ? -before : 0, end = x.size(dim) + (after < 0 ? after : 0);
    if (end < start) {
        tensor::fail("The input size {}, plus negative padding {} and {} resulted in a negative output size, which is invalid.",
                     x.size(dim), before, after);
    }
    if (start > 0 || end < x.size(dim)) x = e.slice(x, dim, start, end);
    auto strip = [&](int64_t count) {
        Dims sizes = x.sizes();
        sizes[static_cast<size_t>(dim)] = count;
        return e.full(sizes, value, x.dtype(), x.device());
    };
    std::vector<Tensor> parts;
    if (before > 0) parts.push_back(strip(before));
    parts.push_back(x);
    if (after > 0) parts.push_back(strip(after));
    return parts.size() == 1 ? x : joined(e, parts, dim);
}

}  // namespace

Ref tensor_pad(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "pad");
    Dims widths = ints_arg(vm, args[1], "pad", "pad", 2);
    std::string_view mode = to_text(vm, args[2], "mode");
    if (widths.size() % 2 != 0) raise(vm, Exc::RuntimeError, "Padding length must be divisible by 2");
    if (static_cast<int64_t>(widths.size()) > 2 * x.rank()) {
        raise(vm, Exc::RuntimeError, "Padding length should be less than or equal to two times the input dimension but got padding length {} "
              "and input of dimension {}", widths.size(), x.rank());
    }
    if (mode != "constant" && mode != "reflect" && mode != "replicate" && mode != "circular") {
        raise(vm, Exc::NotImplementedError, "Unrecognised padding mode {}", mode);
    }
    Scalar value = given(args[3]) ? number_arg(vm, args[3], "pad", "value", 4) : Scalar(0);
    Tensor result = x;
    for (size_t i = 0; i + 1 < widths.size(); i += 2) {
        int64_t dim = x.rank() - 1 - static_cast<int64_t>(i / 2);
        if (widths[i] == 0 && widths[i + 1] == 0) continue;
        result = mode == "constant" ? padded_with(vm, result, dim, widths[i], widths[i + 1], value)
                                    : padded_by_index(vm, result, dim, widths[i], widths[i + 1], mode);
    }
    return wrap(vm, result.is(x) ? Eager(vm).emit(Op::Clone, {x}) : result);
}

// ---- Writing by index ----

namespace {

struct Scatter {
    std::vector<Tensor> operands;
    tensor::Attrs attrs;
};

// Element (i, j, ...) of the source goes to x where gather with the same index would have read it.
Scatter scatter_operands(Vm& vm, const Args& args, std::string_view function) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, function), index = tensor_arg(vm, args, 2, function, "index");
    int64_t dim = dim_arg(vm, args[1], x.rank(), function);
    if (index.dtype() != DType::Int64) raise(vm, Exc::RuntimeError, "{}(): Expected dtype int64 for index", function);
    if (index.rank() != x.rank()) {
        raise(vm, Exc::RuntimeError, "Index tensor must have the same number of dimensions as self tensor");
    }
    Tensor source = operand_arg(vm, args, 3, function, "src");
    if (is_tensor(args[3])) {
        if (source.dtype() != x.dtype()) raise(vm, Exc::RuntimeError, "scatter(): Expected self.dtype to be equal to src.dtype");
        for (int64_t d = 0; d < index.rank(); ++d) {
            if (source.rank() != index.rank() || index.size(d) > source.size(d) || (d != dim && index.size(d) > x.size(d))) {
                raise(vm, Exc::RuntimeError, "Expected index {} to be no larger than self {} apart from dimension {} and to be no larger than src {}",
                      tensor::bracketed(index.sizes()), tensor::bracketed(x.sizes()), dim, tensor::bracketed(source.sizes()));
            }
            if (index.size(d) < source.size(d)) source = e.slice(source, d, 0, index.size(d));
        }
    } else {
        source = e.expand(e.to_device(e.cast(source, x.dtype()), x.device()), index.sizes());
    }
    Scatter call;
    call.operands = {x, source};
    for (int64_t d = 0; d < x.rank(); ++d) {
        call.attrs.dims.push_back(d);
        if (d == dim) {
            call.operands.push_back(index);
            continue;
        }
        Dims shape;
        for (int64_t k = 0; k < x.rank(); ++k) shape.push_back(k == d ? index.size(d) : 1);
        call.operands.push_back(e.expand(e.reshape(counting(vm, 0, 1, index.size(d), x.device()), shape), index.sizes()));
    }
    return call;
}

}  // namespace

Ref tensor_scatter(Vm& vm, const Args& args) {
    Scatter call = scatter_operands(vm, args, "scatter");
    return wrap(vm, Eager(vm).emit(Op::IndexPut, call.operands, call.attrs));
}
Ref tensor_scatter_(Vm& vm, const Args& args) {
    Scatter call = scatter_operands(vm, args, "scatter_");
    autograd::apply_into(vm.tensors, Op::IndexPut, call.operands, call.attrs, call.operands[0]);
    return args[0];
}

namespace {

Scatter copy_operands(Vm& vm, const Args& args, std::string_view function) {
    Tensor x = tensor_arg(vm, args, 0, function);
    Scatter call;
    call.attrs.dims = {dim_arg(vm, args[1], x.rank(), function)};
    call.operands = {x, tensor_arg(vm, args, 3, function, "source"), tensor_arg(vm, args, 2, function, "index")};
    return call;
}

}  // namespace

Ref tensor_index_copy(Vm& vm, const Args& args) {
    Scatter call = copy_operands(vm, args, "index_copy");
    return wrap(vm, Eager(vm).emit(Op::IndexPut, call.operands, call.attrs));
}
Ref tensor_index_copy_(Vm& vm, const Args& args) {
    Scatter call = copy_operands(vm, args, "index_copy_");
    autograd::apply_into(vm.tensors, Op::IndexPut, call.operands, call.attrs, call.operands[0]);
    return args[0];
}

// ---- Running sums and products ----

namespace {

// By doubling: after step k each element has taken in the 2^k before it.
Ref scan(Vm& vm, const Args& args, Op op, std::string_view function) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, function);
    std::optional<DType> dtype = dtype_arg(vm, args[2], function);
    if (!dtype && tensor::is_integral(x.dtype())) dtype = DType::Int64;
    if (dtype) x = e.cast(x, *dtype);
    int64_t dim = dim_arg(vm, args[1], x.rank(), function);
    if (x.rank() == 0) return wrap(vm, e.emit(Op::Clone, {x}));
    int64_t size = x.size(dim);
    Tensor result = x;
    for (int64_t step = 1; step < size; step *= 2) {
        Tensor later = e.emit(op, {e.slice(result, dim, step, size), e.slice(result, dim, 0, size - step)});
        result = joined(e, {e.slice(result, dim, 0, step), later}, dim);
    }
    return wrap(vm, result.is(tensor_of(args[0])) ? e.emit(Op::Clone, {x}) : result);
}

}  // namespace

Ref tensor_cumsum(Vm& vm, const Args& args) { return scan(vm, args, Op::Add, "cumsum"); }
Ref tensor_cumprod(Vm& vm, const Args& args) { return scan(vm, args, Op::Mul, "cumprod"); }

}  // namespace talc::stdlib
