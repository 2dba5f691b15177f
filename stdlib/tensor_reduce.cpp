// Folds over dimensions: sums, extremes, statistics, softmax and its kin.
#include <cmath>

#include "stdlib/modules.hpp"
#include "stdlib/tensor_support.hpp"

namespace talc::stdlib {

namespace {

// dim, keepdim and dtype stand at 1, 2 and 3.
Ref reduce(Vm& vm, const Args& args, Op op, std::string_view function, bool has_dtype) {
    Tensor x = tensor_arg(vm, args, 0, function);
    tensor::Attrs attrs;
    attrs.dims = dims_arg(vm, args[1], x.rank(), function);
    attrs.keepdim = flag_arg(vm, args[2]);
    if (has_dtype) attrs.dtype = dtype_arg(vm, args[3], function);
    return wrap(vm, Eager(vm).emit(op, {x}, attrs));
}

constexpr RecordClass kMaxResult = {"max", "torch.return_types", {"values", "indices"}, true};
constexpr RecordClass kMinResult = {"min", "torch.return_types", {"values", "indices"}, true};

// x.max(): of all. x.max(dim, keepdim): values and indices. x.max(other): element by element.
Ref extreme(Vm& vm, const Args& args, bool largest) {
    const char* function = largest ? "max" : "min";
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, function);
    if (!args.has(1)) {
        if (x.numel() == 0) {
            raise(vm, Exc::RuntimeError,
                  "{}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
                  "'dim' argument.",
                  function);
        }
        return wrap(vm, e.reduce(largest ? Op::Amax : Op::Amin, x, {}));
    }
    if (is_tensor(args[1])) return wrap(vm, e.emit(largest ? Op::Maximum : Op::Minimum, {x, tensor_of(args[1])}));
    tensor::Attrs attrs;
    int64_t dim = dim_arg(vm, args[1], x.rank(), function);
    if (x.rank() > 0) attrs.dims = {dim};
    attrs.keepdim = flag_arg(vm, args[2]);
    std::vector<Tensor> both = e.emit_all(largest ? Op::MaxDim : Op::MinDim, {x}, attrs);
    Ref values = wrap(vm, both[0]), indices = wrap(vm, both[1]);
    return make_record(vm, largest ? kMaxResult : kMinResult, {values, indices});
}

Ref index_of_extreme(Vm& vm, const Args& args, Op op, std::string_view function) {
    Tensor x = tensor_arg(vm, args, 0, function);
    tensor::Attrs attrs;
    if (given(args[1])) {
        int64_t dim = dim_arg(vm, args[1], x.rank(), function);
        if (x.rank() > 0) attrs.dims = {dim};
    }
    attrs.keepdim = flag_arg(vm, args[2]);
    return wrap(vm, Eager(vm).emit(op, {x}, attrs));
}

}  // namespace

Ref tensor_sum(Vm& vm, const Args& args) { return reduce(vm, args, Op::Sum, "sum", true); }
Ref tensor_mean(Vm& vm, const Args& args) { return reduce(vm, args, Op::Mean, "mean", true); }
Ref tensor_prod(Vm& vm, const Args& args) { return reduce(vm, args, Op::Prod, "prod", true); }
Ref tensor_amax(Vm& vm, const Args& args) { return reduce(vm, args, Op::Amax, "amax", false); }
Ref tensor_amin(Vm& vm, const Args& args) { return reduce(vm, args, Op::Amin, "amin", false); }
Ref tensor_all(Vm& vm, const Args& args) { return reduce(vm, args, Op::All, "all", false); }
Ref tensor_any(Vm& vm, const Args& args) { return reduce(vm, args, Op::Any, "any", false); }
Ref tensor_max(Vm& vm, const Args& args) { return extreme(vm, args, true); }
Ref tensor_min(Vm& vm, const Args& args) { return extreme(vm, args, false); }
Ref tensor_argmax(Vm& vm, const Args& args) { return index_of_extreme(vm, args, Op::Argmax, "argmax"); }
Ref tensor_argmin(Vm& vm, const Args& args) { return index_of_extreme(vm, args, Op::Argmin, "argmin"); }

// ---- Statistics ----

namespace {

int64_t count_of(const Tensor& x, const Dims& dims) {
    if (dims.empty()) return x.numel();
    int64_t count = 1;
    for (int64_t dim : dims) count *= x.size(dim);
    return count;
}

// dim, unbiased, keepdim, correction at 1 to 4. x.var(False) gives unbiased in place of dim.
Tensor variance(Vm& vm, const Args& args, std::string_view function) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, function);
    Value dim = args[1];
    double correction = given(args[4]) ? number_arg(vm, args[4], function, "correction", 5).to_double() : 1;
    if (dim.is_bool()) {
        correction = dim.b ? 1 : 0;
        dim = Value::none();
    } else if (args.has(2) && !args[2].is_none()) {
        correction = truth(vm, args[2]) ? 1 : 0;
    }
    if (!tensor::is_float(x.dtype())) {
        raise(vm, Exc::RuntimeError, "{} only support floating point and complex dtypes", function);
    }
    Dims dims = dims_arg(vm, dim, x.rank(), function);
    Tensor centred = e.sub(x, e.reduce(Op::Mean, x, dims, true));
    double count = static_cast<double>(count_of(x, dims)) - correction;
    return e.div(e.sum(e.square(centred), dims, flag_arg(vm, args[3])), Scalar(count < 0 ? 0.0 : count));
}

}  // namespace

Ref tensor_var(Vm& vm, const Args& args) { return wrap(vm, variance(vm, args, "var")); }
Ref tensor_std(Vm& vm, const Args& args) { return wrap(vm, Eager(vm).sqrt(variance(vm, args, "std"))); }

Ref tensor_norm(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "norm");
    Dims dims = dims_arg(vm, args[2], x.rank(), "norm");
    bool keepdim = flag_arg(vm, args[3]);
    if (is_str(args[1]) && cast<Str>(args[1])->view() != "fro") {
        raise(vm, Exc::NotImplementedError, "norm: p='{}'", cast<Str>(args[1])->view());
    }
    double p = is_str(args[1]) || !given(args[1]) ? 2 : number_arg(vm, args[1], "norm", "p", 2).to_double();
    if (std::isinf(p)) return wrap(vm, e.reduce(p > 0 ? Op::Amax : Op::Amin, e.abs(x), dims, keepdim));
    if (p == 0) return wrap(vm, e.sum(e.cast(e.emit(Op::Ne, {x, e.number(0)}), x.dtype()), dims, keepdim));
    if (p == 1) return wrap(vm, e.sum(e.abs(x), dims, keepdim));
    if (p == 2) return wrap(vm, e.sqrt(e.sum(e.square(x), dims, keepdim)));
    return wrap(vm, e.pow(e.sum(e.pow(e.abs(x), Scalar(p)), dims, keepdim), Scalar(1 / p)));
}

Ref tensor_count_nonzero(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "count_nonzero");
    Dims dims = dims_arg(vm, args[1], x.rank(), "count_nonzero");
    return wrap(vm, e.sum(e.emit(Op::Ne, {x, e.number(0)}), dims));
}

// ---- softmax and its kin ----

namespace {

// dim and dtype at 1 and 2.
Tensor float_arg(Vm& vm, const Args& args, std::string_view function) {
    Tensor x = tensor_arg(vm, args, 0, function);
    std::optional<DType> dtype = dtype_arg(vm, args[2], function);
    if (!given(args[1])) raise(vm, Exc::TypeError, "{}() missing required argument 'dim' (pos 2)", function);
    return dtype ? cast_to(vm, x, *dtype) : x;
}

}  // namespace

Ref tensor_softmax(Vm& vm, const Args& args) {
    Tensor x = float_arg(vm, args, "softmax");
    return wrap(vm, Eager(vm).softmax(x, int_arg(vm, args[1], "softmax", "dim", 2)));
}

Ref tensor_log_softmax(Vm& vm, const Args& args) {
    Tensor x = float_arg(vm, args, "log_softmax");
    return wrap(vm, Eager(vm).log_softmax(x, int_arg(vm, args[1], "log_softmax", "dim", 2)));
}

Ref tensor_logsumexp(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "logsumexp");
    return wrap(vm, Eager(vm).logsumexp(x, int_arg(vm, args[1], "logsumexp", "dim", 2), flag_arg(vm, args[2])));
}

}  // namespace talc::stdlib
