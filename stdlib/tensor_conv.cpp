// Convolutions, pooling and interpolation, made of gathers and matrix products.
#include <cmath>

#include "stdlib/tensor_support.hpp"

namespace talc::stdlib {

namespace {

// start, start + step, ... of an integer or float dtype.
Tensor steps(Vm& vm, Scalar start, Scalar step, int64_t count, DType dtype, tensor::Device device) {
    tensor::Attrs attrs;
    attrs.sizes = {count};
    attrs.value = start;
    attrs.delta = step;
    attrs.dtype = dtype;
    attrs.device = device;
    return autograd::apply(vm.tensors, Op::Arange, {}, attrs);
}

// One number for each of `rank` spatial dims.
Dims for_each_dim(Vm& vm, Value v, size_t rank, std::string_view function, std::string_view name) {
    Dims values = ints_arg(vm, v, function, name, 0);
    if (values.size() == 1) {
        while (values.size() < rank) values.push_back(values[0]);
    }
    if (values.size() != rank) {
        raise(vm, Exc::RuntimeError, "{}: expected {} to be a single integer value or a list of {} values, but got {}", function, name,
              rank, tensor::bracketed(values));
    }
    return values;
}

std::string product_text(const Dims& sizes) {
    std::string text;
    for (int64_t size : sizes) text += fmt::format("{}{}", text.empty() ? "" : " x ", size);
    return "(" + text + ")";
}

// A window that slides over the last dims.
struct Window {
    Dims kernel, stride, dilation, before, after;  // before, after: padding
    Dims out;                                      // positions along each dim

    size_t rank() const { return kernel.size(); }
    int64_t reach(size_t d) const { return dilation[d] * (kernel[d] - 1) + 1; }
};

void place(Vm& vm, Window& window, const Tensor& x) {
    Dims padded;
    bool fits = true;
    for (size_t d = 0; d < window.rank(); ++d) {
        if (window.stride[d] <= 0) raise(vm, Exc::RuntimeError, "non-positive stride is not supported");
        if (window.kernel[d] <= 0 || window.dilation[d] <= 0) raise(vm, Exc::RuntimeError, "kernel size and dilation should be greater than zero");
        padded.push_back(x.size(x.rank() - static_cast<int64_t>(window.rank() - d)) + window.before[d] + window.after[d]);
        fits = fits && padded[d] >= window.reach(d);
    }
    if (!fits) {
        raise(vm, Exc::RuntimeError, "Calculated padded input size per channel: {}. Kernel size: {}. Kernel size can't be greater than actual input size",
              product_text(padded), product_text(window.kernel));
    }
    for (size_t d = 0; d < window.rank(); ++d) window.out.push_back((padded[d] - window.reach(d)) / window.stride[d] + 1);
}

Tensor padded(Eager& e, Tensor x, const Dims& before, const Dims& after, Scalar value) {
    for (size_t d = 0; d < before.size(); ++d) {
        int64_t dim = x.rank() - static_cast<int64_t>(before.size() - d);
        int64_t start = std::max<int64_t>(0, -before[d]), end = x.size(dim) - std::max<int64_t>(0, -after[d]);
        if (start > 0 || end < x.size(dim)) x = e.slice(x, dim, start, std::max(start, end));
        std::vector<Tensor> parts;
        auto strip = [&](int64_t count) {
            Dims sizes = x.sizes();
            sizes[static_cast<size_t>(dim)] = count;
            parts.push_back(e.full(sizes, value, x.dtype(), x.device()));
        };
        if (before[d] > 0) strip(before[d]);
        parts.push_back(x);
        if (after[d] > 0) strip(after[d]);
        if (parts.size() == 1) continue;
        tensor::Attrs attrs;
        attrs.dim = dim;
        x = e.emit(Op::Cat, parts, attrs);
    }
    return x;
}

// (N, C, spatial...) to (N, C, elements of the window, positions).
Tensor unfolded(Vm& vm, const Tensor& given_x, const Window& window, Scalar fill) {
    Eager e(vm);
    Tensor x = padded(e, given_x, window.before, window.after, fill);
    int64_t elements = 1, positions = 1, area = 1, pitch = 1;
    Tensor index;
    for (size_t d = window.rank(); d-- > 0;) {
        int64_t size = x.size(x.rank() - static_cast<int64_t>(window.rank() - d));
        Dims kernel_shape(2 * window.rank(), 1), out_shape(2 * window.rank(), 1);
        kernel_shape[d] = window.kernel[d];
        out_shape[window.rank() + d] = window.out[d];
        Tensor inside = e.reshape(steps(vm, Scalar(0), Scalar(window.dilation[d] * pitch), window.kernel[d], DType::Int64, x.device()), kernel_shape);
        Tensor places = e.reshape(steps(vm, Scalar(0), Scalar(window.stride[d] * pitch), window.out[d], DType::Int64, x.device()), out_shape);
        Tensor both = e.add(inside, places);
        index = index ? e.add(both, index) : both;
        elements *= window.kernel[d];
        positions *= window.out[d];
        area *= size;
        pitch *= size;
    }
    Tensor flat = e.reshape(x, {x.size(0), x.size(1), area});
    tensor::Attrs attrs;
    attrs.dim = 2;
    Tensor taken = e.emit(Op::IndexSelect, {flat, e.reshape(index, {elements * positions})}, attrs);
    return e.reshape(taken, {x.size(0), x.size(1), elements, positions});
}

Dims result_shape(const Tensor& x, int64_t channels, const Dims& out) {
    Dims shape = {x.size(0), channels};
    for (int64_t size : out) shape.push_back(size);
    return shape;
}

// x with a batch of one in front where it has none.
struct Batched {
    Tensor x;
    bool added;

    Batched(Vm& vm, const Tensor& given_x, int64_t spatial, std::string_view function) : x(given_x), added(given_x.rank() == spatial + 1) {
        if (!added && x.rank() != spatial + 2) {
            raise(vm, Exc::RuntimeError, "Expected {}D (unbatched) or {}D (batched) input to {}, but got input of size: {}", spatial + 1,
                  spatial + 2, function, tensor::bracketed(x.sizes()));
        }
        if (added) x = Eager(vm).emit(Op::Unsqueeze, {x});
    }
    Ref result(Vm& vm, const Tensor& y) const { return wrap(vm, added ? Eager(vm).squeeze(y, {0}) : y); }
};

Tensor with_bias(Eager& e, const Tensor& y, const Tensor& bias) {
    if (!bias) return y;
    Dims shape(y.sizes().size() - 1, 1);
    shape[0] = bias.numel();
    return e.add(y, e.reshape(bias, shape));
}

Tensor convolved(Vm& vm, const Tensor& x, const Tensor& weight, const Window& window, int64_t groups) {
    Eager e(vm);
    int64_t out_channels = weight.size(0);
    Tensor columns = unfolded(vm, x, window, Scalar(0));
    int64_t elements = columns.size(2), positions = columns.size(3), inner = weight.size(1) * elements;
    Tensor grouped = e.reshape(columns, {x.size(0), groups, inner, positions});
    Tensor rows = e.reshape(weight, {groups, out_channels / groups, inner});
    return e.reshape(e.matmul(rows, grouped), result_shape(x, out_channels, window.out));
}

Ref convolution(Vm& vm, const Args& args, size_t spatial, std::string_view function) {
    Eager e(vm);
    Batched input(vm, tensor_arg(vm, args, 0, function), static_cast<int64_t>(spatial), function);
    Tensor weight = tensor_arg(vm, args, 1, function, "weight"), bias = optional_tensor_arg(vm, args, 2, function, "bias");
    int64_t groups = int_arg(vm, args[6], function, "groups", 7);
    if (weight.rank() != static_cast<int64_t>(spatial) + 2) {
        raise(vm, Exc::RuntimeError, "Expected {}-dimensional weight, but got {}", spatial + 2, tensor::bracketed(weight.sizes()));
    }
    if (groups <= 0 || weight.size(0) % groups != 0) {
        raise(vm, Exc::RuntimeError, "Given groups={}, expected weight to be at least {} at dimension 0 and divisible by it, but got weight of size {} instead",
              groups, groups, tensor::bracketed(weight.sizes()));
    }
    if (input.x.size(1) != weight.size(1) * groups) {
        raise(vm, Exc::RuntimeError, "Given groups={}, weight of size {}, expected input{} to have {} channels, but got {} channels instead", groups,
              tensor::bracketed(weight.sizes()), tensor::bracketed(input.x.sizes()), weight.size(1) * groups, input.x.size(1));
    }
    if (bias && (bias.rank() != 1 || bias.numel() != weight.size(0))) {
        raise(vm, Exc::RuntimeError, "Given weight of size {}, expected bias to be 1-dimensional with {} elements, but got bias of size {} instead",
              tensor::bracketed(weight.sizes()), weight.size(0), tensor::bracketed(bias.sizes()));
    }
    Window window;
    for (size_t d = 0; d < spatial; ++d) window.kernel.push_back(weight.size(static_cast<int64_t>(d) + 2));
    window.stride = for_each_dim(vm, args[3], spatial, function, "stride");
    window.dilation = for_each_dim(vm, args[5], spatial, function, "dilation");
    if (is_str(args[4])) {
        std::string_view word = cast<Str>(args[4])->view();
        if (word != "same" && word != "valid") raise(vm, Exc::RuntimeError, "Invalid padding string: '{}'", word);
        for (size_t d = 0; d < spatial; ++d) {
            if (word == "same" && window.stride[d] != 1) raise(vm, Exc::RuntimeError, "padding='same' is not supported for strided convolutions");
            int64_t total = word == "same" ? window.dilation[d] * (window.kernel[d] - 1) : 0;
            window.before.push_back(total / 2);
            window.after.push_back(total - total / 2);
        }
    } else {
        window.before = window.after = for_each_dim(vm, args[4], spatial, function, "padding");
    }
    place(vm, window, input.x);
    return input.result(vm, with_bias(e, convolved(vm, input.x, weight, window, groups), bias));
}

}  // namespace

Ref tensor_conv1d(Vm& vm, const Args& args) { return convolution(vm, args, 1, "conv1d"); }
Ref tensor_conv2d(Vm& vm, const Args& args) { return convolution(vm, args, 2, "conv2d"); }

// The gradient of a convolution with respect to its input, as a function: the input with zeros between its elements,
// convolved with the flipped weight.
Ref tensor_conv_transpose2d(Vm& vm, const Args& args) {
    constexpr std::string_view kName = "conv_transpose2d";
    Eager e(vm);
    Batched input(vm, tensor_arg(vm, args, 0, kName), 2, kName);
    Tensor weight = tensor_arg(vm, args, 1, kName, "weight"), bias = optional_tensor_arg(vm, args, 2, kName, "bias");
    Dims stride = for_each_dim(vm, args[3], 2, kName, "stride"), padding = for_each_dim(vm, args[4], 2, kName, "padding");
    Dims extra = for_each_dim(vm, args[5], 2, kName, "output_padding"), dilation = for_each_dim(vm, args[7], 2, kName, "dilation");
    int64_t groups = int_arg(vm, args[6], kName, "groups", 7);
    if (weight.rank() != 4) raise(vm, Exc::RuntimeError, "Expected 4-dimensional weight, but got {}", tensor::bracketed(weight.sizes()));
    if (groups <= 0 || input.x.size(1) != weight.size(0) || weight.size(0) % groups != 0) {
        raise(vm, Exc::RuntimeError, "Given transposed=1, weight of size {}, expected input{} to have {} channels, but got {} channels instead",
              tensor::bracketed(weight.sizes()), tensor::bracketed(input.x.sizes()), weight.size(0), input.x.size(1));
    }
    Tensor x = input.x;
    Window window;
    for (size_t d = 0; d < 2; ++d) {
        auto dim = static_cast<int64_t>(d) + 2;
        if (extra[d] >= std::max(stride[d], dilation[d])) {
            raise(vm, Exc::RuntimeError, "output padding must be smaller than either stride or dilation, but got output_padding_{}: {} stride_{}: {} dilation_{}: {}",
                  d ? "width" : "height", extra[d], d ? "width" : "height", stride[d], d ? "width" : "height", dilation[d]);
        }
        if (stride[d] > 1 && x.size(dim) > 0) {
            Dims spread = x.sizes();
            spread[static_cast<size_t>(dim)] = (x.size(dim) - 1) * stride[d] + 1;
            x = e.slice_scatter(e.full(spread, Scalar(0), x.dtype(), x.device()), x, dim, 0, spread[static_cast<size_t>(dim)], stride[d]);
        }
        window.kernel.push_back(weight.size(dim));
        window.stride.push_back(1);
        window.dilation.push_back(dilation[d]);
        int64_t around = dilation[d] * (weight.size(dim) - 1) - padding[d];
        window.before.push_back(around);
        window.after.push_back(around + extra[d]);
    }
    for (int64_t dim : {2, 3}) {
        tensor::Attrs attrs;
        attrs.dim = dim;
        Tensor backwards = steps(vm, Scalar(weight.size(dim) - 1), Scalar(-1), weight.size(dim), DType::Int64, weight.device());
        weight = e.emit(Op::IndexSelect, {weight, backwards}, attrs);
    }
    int64_t in = weight.size(0) / groups, out = weight.size(1);
    Tensor split = e.permute(e.reshape(weight, {groups, in, out, weight.size(2), weight.size(3)}), {0, 2, 1, 3, 4});
    Tensor turned = e.reshape(split, {groups * out, in, weight.size(2), weight.size(3)});
    place(vm, window, x);
    return input.result(vm, with_bias(e, convolved(vm, x, turned, window, groups), bias));
}

// ---- Pooling ----

namespace {

Window pooling_window(Vm& vm, const Tensor& x, Value kernel, Value stride, Value padding, Value dilation, bool round_up,
                      std::string_view function) {
    Window window;
    window.kernel = for_each_dim(vm, kernel, 2, function, "kernel_size");
    window.stride = given(stride) ? for_each_dim(vm, stride, 2, function, "stride") : window.kernel;
    window.before = window.after = for_each_dim(vm, padding, 2, function, "padding");
    window.dilation = given(dilation) ? for_each_dim(vm, dilation, 2, function, "dilation") : Dims{1, 1};
    for (size_t d = 0; d < 2; ++d) {
        if (window.before[d] * 2 > window.kernel[d]) {
            raise(vm, Exc::RuntimeError, "pad should be at most half of effective kernel size, but got pad={}, kernel_size={} and dilation={}",
                  window.before[d], window.kernel[d], window.dilation[d]);
        }
        if (!round_up || window.stride[d] <= 0) continue;
        // A last window that starts inside may reach beyond the end.
        int64_t size = x.size(x.rank() - 2 + static_cast<int64_t>(d)), free = size + 2 * window.before[d] - window.reach(d);
        int64_t count = (free + window.stride[d] - 1) / window.stride[d] + 1;
        if ((count - 1) * window.stride[d] >= size + window.before[d]) --count;
        window.after[d] += std::max<int64_t>(0, (count - 1) * window.stride[d] - free);
    }
    place(vm, window, x);
    return window;
}

}  // namespace

Ref tensor_max_pool2d(Vm& vm, const Args& args) {
    Eager e(vm);
    Batched input(vm, tensor_arg(vm, args, 0, "max_pool2d"), 2, "max_pool2d");
    Window window = pooling_window(vm, input.x, args[1], args[2], args[3], args[4], truth(vm, args[5]), "max_pool2d");
    if (truth(vm, args[6])) raise(vm, Exc::NotImplementedError, "max_pool2d: return_indices");
    tensor::Attrs attrs;
    attrs.dims = {2};
    std::vector<Tensor> best = e.emit_all(Op::MaxDim, {unfolded(vm, input.x, window, Scalar(-HUGE_VAL))}, attrs);
    return input.result(vm, e.reshape(best[0], result_shape(input.x, input.x.size(1), window.out)));
}

Ref tensor_avg_pool2d(Vm& vm, const Args& args) {
    Eager e(vm);
    Batched input(vm, tensor_arg(vm, args, 0, "avg_pool2d"), 2, "avg_pool2d");
    if (truth(vm, args[4])) raise(vm, Exc::NotImplementedError, "avg_pool2d: ceil_mode");
    Window window = pooling_window(vm, input.x, args[1], args[2], args[3], Value::none(), false, "avg_pool2d");
    Tensor total = e.sum(unfolded(vm, input.x, window, Scalar(0)), {2});
    if (given(args[6])) {
        total = e.div(total, Scalar(number_arg(vm, args[6], "avg_pool2d", "divisor_override", 7).to_double()));
    } else if (truth(vm, args[5])) {
        total = e.div(total, Scalar(static_cast<double>(window.kernel[0] * window.kernel[1])));
    } else {
        Tensor ones = e.full({1, 1, input.x.size(2), input.x.size(3)}, Scalar(1), input.x.dtype(), input.x.device());
        total = e.div(total, e.sum(unfolded(vm, ones, window, Scalar(0)), {2}));
    }
    return input.result(vm, e.reshape(total, result_shape(input.x, input.x.size(1), window.out)));
}

namespace {

// Rows of averages: row o has 1/n at the n elements that output o covers.
Tensor averaging(Vm& vm, int64_t from, int64_t to, const Tensor& like) {
    Eager e(vm);
    Tensor outputs = e.reshape(steps(vm, Scalar(0), Scalar(1), to, DType::Int64, like.device()), {to, 1});
    Tensor inputs = steps(vm, Scalar(0), Scalar(1), from, DType::Int64, like.device());
    Tensor first = e.floor_divide(e.mul(outputs, Scalar(from)), Scalar(to));
    Tensor last = e.neg(e.floor_divide(e.mul(e.add(outputs, Scalar(1)), Scalar(-from)), Scalar(to)));
    Tensor covered = e.logical_and(e.ge(inputs, first), e.lt(inputs, last));
    return e.div(e.cast(covered, like.dtype()), e.cast(e.sub(last, first), like.dtype()));
}

}  // namespace

Ref tensor_adaptive_avg_pool2d(Vm& vm, const Args& args) {
    Eager e(vm);
    Batched input(vm, tensor_arg(vm, args, 0, "adaptive_avg_pool2d"), 2, "adaptive_avg_pool2d");
    Dims out;
    if (args[1].is_kind(Kind::Tuple) || args[1].is_kind(Kind::List)) {
        int64_t dim = 2;
        walk(vm, args[1], [&](Value size) {
            out.push_back(size.is_none() && dim < 4 ? input.x.size(dim) : int_arg(vm, size, "adaptive_avg_pool2d", "output_size", 2));
            ++dim;
            return true;
        });
    } else {
        out = for_each_dim(vm, args[1], 2, "adaptive_avg_pool2d", "output_size");
    }
    if (out.size() != 2 || out[0] < 0 || out[1] < 0) raise(vm, Exc::RuntimeError, "adaptive_avg_pool2d: output_size must be 2");
    Tensor rows = e.matmul(averaging(vm, input.x.size(2), out[0], input.x), input.x);
    return input.result(vm, e.matmul(rows, e.transposed(averaging(vm, input.x.size(3), out[1], input.x))));
}

// ---- Interpolation ----

namespace {

Tensor picked(Eager& e, const Tensor& x, int64_t dim, const Tensor& index) {
    tensor::Attrs attrs;
    attrs.dim = dim;
    return e.emit(Op::IndexSelect, {x, index}, attrs);
}

Tensor resized(Vm& vm, const Tensor& x, int64_t dim, int64_t out, std::optional<double> factor, bool linear, bool align) {
    Eager e(vm);
    int64_t size = x.size(dim);
    double scale = factor ? 1 / *factor : static_cast<double>(size) / static_cast<double>(out);
    auto whole = [&](const Tensor& places) {
        Tensor floored = e.cast(e.emit(Op::Floor, {places}), DType::Int64);
        return e.emit(Op::ClampMax, {floored, e.number(Scalar(size - 1))});
    };
    if (!linear) return picked(e, x, dim, whole(steps(vm, Scalar(0.0), Scalar(scale), out, DType::Float64, x.device())));
    if (align) scale = out > 1 ? static_cast<double>(size - 1) / static_cast<double>(out - 1) : 0;
    Tensor places = steps(vm, Scalar(align ? 0.0 : 0.5 * scale - 0.5), Scalar(scale), out, DType::Float64, x.device());
    places = e.emit(Op::ClampMin, {places, e.number(0.0)});
    Tensor low = whole(places);
    Tensor high = e.emit(Op::ClampMax, {e.add(low, Scalar(1)), e.number(Scalar(size - 1))});
    Dims shape(x.sizes().size(), 1);
    shape[static_cast<size_t>(dim)] = out;
    Tensor part = e.reshape(e.cast(e.sub(places, low), x.dtype()), shape);
    Tensor below = picked(e, x, dim, low), above = picked(e, x, dim, high);
    return e.add(below, e.mul(e.sub(above, below), part));
}

}  // namespace

Ref tensor_interpolate(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "interpolate");
    std::string_view mode = to_text(vm, args[3], "mode");
    int64_t spatial = x.rank() - 2;
    if (spatial < 1) raise(vm, Exc::ValueError, "Input Error: Only 3D, 4D and 5D input Tensors supported (got {}D) for the modes: nearest | linear | bilinear", x.rank());
    bool linear = mode == "linear" || mode == "bilinear" || mode == "trilinear";
    int64_t wanted = mode == "linear" ? 1 : mode == "bilinear" ? 2 : mode == "trilinear" ? 3 : spatial;
    if (!linear && mode != "nearest") raise(vm, Exc::NotImplementedError, "interpolate: mode '{}'", mode);
    if (wanted != spatial) raise(vm, Exc::NotImplementedError, "Got {}D input, but {} mode needs {}D input", x.rank(), mode, wanted + 2);
    if (given(args[1]) == given(args[2])) {
        raise(vm, Exc::ValueError, given(args[1]) ? "only one of size or scale_factor should be defined" : "either size or scale_factor should be defined");
    }
    std::vector<double> factors;
    Dims sizes;
    if (given(args[1])) {
        sizes = for_each_dim(vm, args[1], static_cast<size_t>(spatial), "interpolate", "size");
    } else {
        if (is_number(args[2])) {
            factors.assign(static_cast<size_t>(spatial), to_double(vm, args[2]));
        } else {
            walk(vm, args[2], [&](Value factor) {
                factors.push_back(to_double(vm, factor));
                return true;
            });
        }
        if (factors.size() != static_cast<size_t>(spatial)) raise(vm, Exc::ValueError, "Input and scale_factor must have the same number of spatial dimensions");
        for (int64_t d = 0; d < spatial; ++d) sizes.push_back(static_cast<int64_t>(std::floor(static_cast<double>(x.size(d + 2)) * factors[static_cast<size_t>(d)])));
    }
    Tensor result = x;
    for (int64_t d = 0; d < spatial; ++d) {
        auto at = static_cast<size_t>(d);
        if (sizes[at] <= 0 || x.size(d + 2) == 0) raise(vm, Exc::RuntimeError, "Input and output sizes should be greater than 0");
        result = resized(vm, result, d + 2, sizes[at], factors.empty() ? std::nullopt : std::optional(factors[at]), linear, flag_arg(vm, args[4]));
    }
    return wrap(vm, result);
}

}  // namespace talc::stdlib
