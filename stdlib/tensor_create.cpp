// Making tensors: from data, from nothing, at random.
#include <cmath>

#include "stdlib/tensor_support.hpp"
#include "tensor/factory.hpp"
#include "tensor/observer.hpp"
#include "tensor/philox.hpp"
#include "tensor/transfer.hpp"

namespace talc::stdlib {

namespace {

// The keywords that all makers share, in this order.
struct Options {
    std::optional<DType> dtype;
    tensor::Device device;
    bool requires_grad;

    Options(Vm& vm, const Args& args, size_t first, std::string_view function)
        : dtype(dtype_arg(vm, args[first], function)),
          device(device_arg(vm, args[first + 1])),
          requires_grad(flag_arg(vm, args[first + 2])) {}
};

Ref finish(Vm& vm, const Tensor& tensor, const Options& options) {
    if (options.requires_grad) autograd::set_requires_grad(tensor, true);
    return wrap(vm, tensor);
}

// Sizes by position, as one sequence, or by the keyword size= (the parameter `named`).
Dims sizes_of(Vm& vm, const Args& args, size_t named, std::string_view function) {
    if (given(args[named])) return ints_arg(vm, args[named], function, "size", 1);
    return rest_ints(vm, args, function, "size", 1);
}

void check_sizes(const Dims& sizes) {
    for (int64_t size : sizes) {
        if (size < 0) {
            tensor::fail("Trying to create tensor with negative dimension {}: {}", size, tensor::bracketed(sizes));
        }
    }
}

Ref make_filled(Vm& vm, const Args& args, Scalar value, std::string_view function) {
    Options options(vm, args, 1, function);
    Dims sizes = sizes_of(vm, args, 0, function);
    return finish(vm, filled(vm, sizes, value, options.dtype.value_or(vm.tensors.default_float), options.device), options);
}

// Like another tensor, but for what the keywords say.
Ref filled_like(Vm& vm, const Args& args, Scalar value, std::string_view function) {
    Tensor like = tensor_arg(vm, args, 0, function);
    Options options(vm, args, 1, function);
    tensor::Device device = given(args[2]) ? options.device : like.device();
    return finish(vm, filled(vm, like.sizes(), value, options.dtype.value_or(like.dtype()), device), options);
}

Tensor random(Vm& vm, Op op, const Dims& sizes, DType dtype, tensor::Device device) {
    check_sizes(sizes);
    tensor::Attrs attrs;
    attrs.sizes = sizes;
    attrs.dtype = dtype;
    attrs.device = device;
    return autograd::apply(vm.tensors, op, random_operands(vm), attrs);
}

Ref make_random(Vm& vm, const Args& args, Op op, std::string_view function) {
    Options options(vm, args, 1, function);
    Dims sizes = sizes_of(vm, args, 0, function);
    return finish(vm, random(vm, op, sizes, options.dtype.value_or(vm.tensors.default_float), options.device), options);
}

Ref random_like(Vm& vm, const Args& args, Op op, std::string_view function) {
    Tensor like = tensor_arg(vm, args, 0, function);
    Options options(vm, args, 1, function);
    tensor::Device device = given(args[2]) ? options.device : like.device();
    return finish(vm, random(vm, op, like.sizes(), options.dtype.value_or(like.dtype()), device), options);
}

Tensor range(Vm& vm, Scalar first, Scalar delta, int64_t count, DType dtype, tensor::Device device) {
    tensor::Attrs attrs;
    attrs.sizes = {count};
    attrs.value = first;
    attrs.delta = delta;
    attrs.dtype = dtype;
    attrs.device = device;
    return autograd::apply(vm.tensors, Op::Arange, {}, attrs);
}

}  // namespace

Ref make_tensor(Vm& vm, const Args& args) {
    Options options(vm, args, 1, "tensor");
    if (is_tensor(args[0])) {
        Eager e(vm);
        Tensor source = tensor_of(args[0]);
        Tensor plain = e.detach(source);
        if (given(args[2]) && !(source.device() == options.device)) {
            tensor::Attrs attrs;
            attrs.device = options.device;
            Tensor there = e.emit(Op::ToDevice, {plain}, attrs);
            return finish(vm, options.dtype ? e.cast(there, *options.dtype) : there, options);
        }
        Tensor copy = options.dtype && *options.dtype != plain.dtype() ? e.cast(plain, *options.dtype) : e.emit(Op::Clone, {plain});
        return finish(vm, copy, options);
    }
    return finish(vm, tensor_from_data(vm, args[0], options.dtype, options.device), options);
}

// Tensor([1, 2]) is of the default dtype; Tensor(2, 3) has contents of no meaning (zeros here).
Ref tensor_new(Vm& vm, const Args& args) {
    if (args.nrest == 1 && !is_integer(args.rest[0])) {
        if (is_tensor(args.rest[0])) return wrap(vm, tensor_of(args.rest[0]).detached());
        return wrap(vm, tensor_from_data(vm, args.rest[0], vm.tensors.default_float, vm.tensors.default_device));
    }
    return wrap(vm, filled(vm, rest_ints(vm, args, "Tensor", "size", 1), Scalar(0.0), vm.tensors.default_float,
                           vm.tensors.default_device));
}

Ref parameter_new(Vm& vm, const Args& args) {
    Tensor data;
    if (given(args[1])) {
        data = tensor_arg(vm, args, 1, "Parameter", "data");
    } else {
        data = tensor::empty(vm.tensors, {0}, vm.tensors.default_float, vm.tensors.default_device);
    }
    Tensor own = Eager(vm).detach(data);
    if (flag_arg(vm, args[2])) autograd::set_requires_grad(own, true);
    return wrap_as(vm, own, vm.classes.parameter);
}

Ref make_zeros(Vm& vm, const Args& args) { return make_filled(vm, args, Scalar(0), "zeros"); }
Ref make_ones(Vm& vm, const Args& args) { return make_filled(vm, args, Scalar(1), "ones"); }
Ref make_empty(Vm& vm, const Args& args) { return make_filled(vm, args, Scalar(0), "empty"); }
Ref make_zeros_like(Vm& vm, const Args& args) { return filled_like(vm, args, Scalar(0), "zeros_like"); }
Ref make_ones_like(Vm& vm, const Args& args) { return filled_like(vm, args, Scalar(1), "ones_like"); }
Ref make_empty_like(Vm& vm, const Args& args) { return filled_like(vm, args, Scalar(0), "empty_like"); }

namespace {

// The dtype of a number, as full and arange take it.
DType dtype_of_number(Vm& vm, Scalar value) {
    return value.category == tensor::Category::Float ? vm.tensors.default_float : value.carrier();
}

}  // namespace

Ref make_full(Vm& vm, const Args& args) {
    Options options(vm, args, 2, "full");
    Dims sizes = ints_arg(vm, args[0], "full", "size", 1);
    Scalar value = number_arg(vm, args[1], "full", "fill_value", 2);
    return finish(vm, filled(vm, sizes, value, options.dtype.value_or(dtype_of_number(vm, value)), options.device), options);
}

Ref make_full_like(Vm& vm, const Args& args) {
    Tensor like = tensor_arg(vm, args, 0, "full_like");
    Options options(vm, args, 2, "full_like");
    Scalar value = number_arg(vm, args[1], "full_like", "fill_value", 2);
    return finish(vm, filled(vm, like.sizes(), value, options.dtype.value_or(like.dtype()), like.device()), options);
}

Ref make_arange(Vm& vm, const Args& args) {
    Options options(vm, args, 3, "arange");
    Scalar start(0), end = number_arg(vm, args[0], "arange", "end", 1), step(1);
    if (given(args[1])) {
        start = end;
        end = number_arg(vm, args[1], "arange", "end", 2);
    }
    if (args.has(2)) step = number_arg(vm, args[2], "arange", "step", 3);
    bool floats = false;
    for (const Scalar& value : {start, end, step}) floats = floats || value.category == tensor::Category::Float;
    if (step.to_double() == 0) raise(vm, Exc::RuntimeError, "step must be nonzero");
    double span = end.to_double() - start.to_double();
    if (!std::isfinite(span)) raise(vm, Exc::RuntimeError, "unsupported range: {} -> {}", start.to_double(), end.to_double());
    if (span != 0 && (span > 0) != (step.to_double() > 0)) {
        raise(vm, Exc::RuntimeError, "upper bound and lower bound inconsistent with step sign");
    }
    double count = std::ceil(span / step.to_double());
    if (count > 0x1p62) raise(vm, Exc::MemoryError, "a tensor of {} elements is too large", count);
    DType dtype = options.dtype.value_or(floats ? vm.tensors.default_float : DType::Int64);
    return finish(vm, range(vm, start, step, static_cast<int64_t>(count), dtype, options.device), options);
}

Ref make_linspace(Vm& vm, const Args& args) {
    Options options(vm, args, 3, "linspace");
    double start = number_arg(vm, args[0], "linspace", "start", 1).to_double();
    double end = number_arg(vm, args[1], "linspace", "end", 2).to_double();
    int64_t steps = int_arg(vm, args[2], "linspace", "steps", 3);
    if (steps < 0) raise(vm, Exc::RuntimeError, "number of steps must be non-negative");
    double delta = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
    DType dtype = options.dtype.value_or(vm.tensors.default_float);
    if (steps < 2 || !tensor::is_float(dtype)) {
        Tensor exact = range(vm, Scalar(start), Scalar(delta), steps, DType::Float64, options.device);
        return finish(vm, cast_to(vm, exact, dtype), options);
    }
    // As PyTorch: the second half is counted from the end, so that the last number is exact.
    int64_t half = steps / 2;
    std::vector<Tensor> halves = {
        range(vm, Scalar(start), Scalar(delta), half, dtype, options.device),
        range(vm, Scalar(end - delta * static_cast<double>(steps - half - 1)), Scalar(delta), steps - half, dtype, options.device)};
    return finish(vm, Eager(vm).emit(Op::Cat, halves), options);
}

Ref make_eye(Vm& vm, const Args& args) {
    Options options(vm, args, 2, "eye");
    int64_t rows = int_arg(vm, args[0], "eye", "n", 1);
    int64_t columns = given(args[1]) ? int_arg(vm, args[1], "eye", "m", 2) : rows;
    check_sizes({rows, columns});
    Eager e(vm);
    Tensor across = range(vm, Scalar(0), Scalar(1), columns, DType::Int64, options.device);
    Tensor down = e.reshape(range(vm, Scalar(0), Scalar(1), rows, DType::Int64, options.device), {rows, 1});
    return finish(vm, e.cast(e.eq(down, across), options.dtype.value_or(vm.tensors.default_float)), options);
}

namespace {

// The part on one side of a diagonal; the rest is 0.
Ref triangle(Vm& vm, const Args& args, bool lower) {
    const char* function = lower ? "tril" : "triu";
    Tensor x = tensor_arg(vm, args, 0, function);
    int64_t diagonal = int_arg(vm, args[1], function, "diagonal", 2);
    if (x.rank() < 2) raise(vm, Exc::RuntimeError, "{}: input tensor must have at least 2 dimensions", function);
    Eager e(vm);
    int64_t rows = x.size(x.rank() - 2), columns = x.size(x.rank() - 1);
    Tensor across = range(vm, Scalar(0), Scalar(1), columns, DType::Int64, x.device());
    Tensor down = e.reshape(range(vm, Scalar(diagonal), Scalar(1), rows, DType::Int64, x.device()), {rows, 1});
    Tensor keep = lower ? e.le(across, down) : e.ge(across, down);
    return wrap(vm, e.keep_where(keep, x));
}

}  // namespace

Ref tensor_tril(Vm& vm, const Args& args) { return triangle(vm, args, true); }
Ref tensor_triu(Vm& vm, const Args& args) { return triangle(vm, args, false); }

// ---- At random ----

Ref make_rand(Vm& vm, const Args& args) { return make_random(vm, args, Op::Rand, "rand"); }
Ref make_randn(Vm& vm, const Args& args) { return make_random(vm, args, Op::Randn, "randn"); }
Ref make_rand_like(Vm& vm, const Args& args) { return random_like(vm, args, Op::Rand, "rand_like"); }
Ref make_randn_like(Vm& vm, const Args& args) { return random_like(vm, args, Op::Randn, "randn_like"); }

namespace {

Tensor random_ints(Vm& vm, int64_t low, int64_t high, const Dims& sizes, DType dtype, tensor::Device device) {
    if (low >= high) {
        raise(vm, Exc::RuntimeError, "random_ expects 'from' to be less than 'to', but got from={} >= to={}", low, high);
    }
    Eager e(vm);
    double count = static_cast<double>(high) - static_cast<double>(low);
    Tensor sample = random(vm, Op::Rand, sizes, DType::Float64, device);
    if (count > 0x1p24) {  // one sample has 24 bits
        sample = e.add(sample, e.mul(random(vm, Op::Rand, sizes, DType::Float64, device), Scalar(0x1p-24)));
    }
    Tensor whole = e.cast(e.emit(Op::Floor, {e.mul(sample, Scalar(count))}), DType::Int64);
    return e.cast(e.add(whole, Scalar(low)), dtype);
}

}  // namespace

// randint(high, size), randint(low, high, size)
Ref make_randint(Vm& vm, const Args& args) {
    Options options(vm, args, 3, "randint");
    int64_t low = 0, high = int_arg(vm, args[0], "randint", "high", 1);
    Value size = args[2];
    if (given(args[1])) {
        if (!given(size) && (args[1].is_kind(Kind::Tuple) || args[1].is_kind(Kind::List))) {
            size = args[1];
        } else {
            low = high;
            high = int_arg(vm, args[1], "randint", "high", 2);
        }
    }
    if (!given(size)) raise(vm, Exc::TypeError, "randint() missing required argument 'size'");
    Tensor made = random_ints(vm, low, high, ints_arg(vm, size, "randint", "size", 3), options.dtype.value_or(DType::Int64),
                              options.device);
    return finish(vm, made, options);
}

Ref make_randint_like(Vm& vm, const Args& args) {
    Tensor like = tensor_arg(vm, args, 0, "randint_like");
    int64_t low = 0, high = int_arg(vm, args[1], "randint_like", "high", 2);
    if (given(args[2])) {
        low = high;
        high = int_arg(vm, args[2], "randint_like", "high", 3);
    }
    return wrap(vm, random_ints(vm, low, high, like.sizes(), dtype_arg(vm, args[3], "randint_like").value_or(like.dtype()),
                                like.device()));
}

Ref make_randperm(Vm& vm, const Args& args) {
    Options options(vm, args, 1, "randperm");
    int64_t n = int_arg(vm, args[0], "randperm", "n", 1);
    if (n < 0) raise(vm, Exc::RuntimeError, "n must be non-negative, got {}", n);
    Tensor order = tensor::empty(vm.tensors, {n}, DType::Int64);
    auto* items = order.data_as<int64_t>();
    for (int64_t i = 0; i < n; ++i) items[i] = i;
    tensor::Generator& stream = vm.tensors.generator;
    uint64_t position = stream.position++;
    for (int64_t i = n; i-- > 1;) {
        std::array<uint32_t, 4> words = tensor::philox::block(stream.seed, position, static_cast<uint64_t>(i));
        uint64_t bits = (static_cast<uint64_t>(words[0]) << 32) | words[1];
        std::swap(items[i], items[bits % static_cast<uint64_t>(i + 1)]);
        if ((i & 4095) == 0) vm.tick(4096);
    }
    order = tensor::to_device(vm.tensors, order, options.device);
    if (vm.tensors.observer) vm.tensors.observer->made(order);
    return finish(vm, cast_to(vm, order, options.dtype.value_or(DType::Int64)), options);
}

Ref make_bernoulli(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor probability = tensor_arg(vm, args, 0, "bernoulli");
    Tensor sample = random(vm, Op::Rand, probability.sizes(), probability.dtype(), probability.device());
    Tensor limit = given(args[1]) ? operand_arg(vm, args, 1, "bernoulli", "p") : probability;
    return wrap(vm, e.cast(e.lt(sample, limit), probability.dtype()));
}

// normal(mean, std, size) with numbers, or with tensors for mean and std.
Ref make_normal(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor mean = operand_arg(vm, args, 0, "normal", "mean"), deviation = operand_arg(vm, args, 1, "normal", "std");
    DType dtype = vm.tensors.default_float;
    tensor::Device device = vm.tensors.default_device;
    Dims sizes;
    if (given(args[2])) {
        sizes = ints_arg(vm, args[2], "normal", "size", 3);
        dtype = dtype_arg(vm, args[3], "normal").value_or(dtype);
    } else {
        const Tensor& shape = is_tensor(args[0]) ? mean : deviation;
        if (!is_tensor(args[0]) && !is_tensor(args[1])) {
            raise(vm, Exc::TypeError, "normal() missing required argument 'size' (pos 3)");
        }
        sizes = shape.sizes();
        dtype = shape.dtype();
        device = shape.device();
    }
    Tensor sample = random(vm, Op::Randn, sizes, dtype, device);
    return wrap(vm, e.emit(Op::Add, {e.emit(Op::Mul, {sample, deviation}), mean}));
}

Ref set_manual_seed(Vm& vm, const Args& args) {
    vm.tensors.generator.reseed(static_cast<uint64_t>(int_arg(vm, args[0], "manual_seed", "seed", 1)));
    return none();
}

Ref tensor_one_hot(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "one_hot", "tensor");
    if (x.dtype() != DType::Int64) raise(vm, Exc::RuntimeError, "one_hot is only applicable to index tensor of type LongTensor.");
    int64_t classes = int_arg(vm, args[1], "one_hot", "num_classes", 2);
    Eager e(vm);
    int64_t largest = -1;
    for (int64_t value : tensor::to_ints(readable(vm, x))) {
        if (value < 0) raise(vm, Exc::RuntimeError, "Class values must be non-negative.");
        largest = std::max(largest, value);
    }
    if (classes == -1) {
        if (x.numel() == 0) raise(vm, Exc::RuntimeError, "Can not infer total number of classes from empty tensor.");
        classes = largest + 1;
    } else if (largest >= classes) {
        raise(vm, Exc::RuntimeError, "Class values must be smaller than num_classes.");
    }
    tensor::Attrs attrs;
    attrs.dim = x.rank();
    Tensor wide = e.emit(Op::Unsqueeze, {x}, attrs);
    return wrap(vm, e.cast(e.eq(wide, range(vm, Scalar(0), Scalar(1), classes, DType::Int64, x.device())), DType::Int64));
}

}  // namespace talc::stdlib
