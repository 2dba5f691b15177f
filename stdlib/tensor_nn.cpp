// Products, and the functions that networks are made of.
#include "stdlib/modules.hpp"
#include "stdlib/tensor_support.hpp"
#include "vm/shape.hpp"

namespace talc::stdlib {

// The attributes of an instance as pairs, without a __dict__, which would cost the instance its fast form.
Ref nn_attributes(Vm& vm, const Args& args) {
    Ptr<List> pairs = make_list(vm);
    if (!args[0].is_obj() || !has_slots(args[0].o)) return pairs;
    Slots* slots = slots_of(args[0].o);
    if (!slots->shape || slots->shape->dictionary) {
        Ptr<Dict> own = slots_dict(vm, args[0].o);
        for (size_t i = 0; DictEntry* entry = dict_entry(own.get(), i); i++) {
            list_append(vm, pairs.get(), Ref(make_tuple(vm, {entry->plain_key(), entry->value})));
        }
        return pairs;
    }
    for (size_t i = 0; i < slots->shape->keys.size(); i++) {
        if (slots->values[i].is_undef()) continue;
        list_append(vm, pairs.get(), Ref(make_tuple(vm, {Value::object(slots->shape->keys[i]), slots->values[i]})));
    }
    return pairs;
}

// The rest of the module is Talc.
void fill_nn(Vm& vm, Module* module) { set_value(vm, module, "Parameter", Value::object(vm.classes.parameter)); }

// ---- Products ----

namespace {

Ref product(Vm& vm, const Args& args, std::string_view function, int64_t rank, const char* name) {
    Tensor a = tensor_arg(vm, args, 0, function), b = tensor_arg(vm, args, 1, function, name);
    for (const Tensor& x : {a, b}) {
        if (rank && x.rank() != rank) {
            raise(vm, Exc::RuntimeError, "{}: expected tensors of {} dimension{}, but got {}D and {}D", function, rank,
                  rank == 1 ? "" : "s", a.rank(), b.rank());
        }
    }
    return wrap(vm, Eager(vm).matmul(a, b));
}

}  // namespace

Ref tensor_matmul(Vm& vm, const Args& args) { return product(vm, args, "matmul", 0, "other"); }
Ref tensor_mm(Vm& vm, const Args& args) { return product(vm, args, "mm", 2, "mat2"); }
Ref tensor_bmm(Vm& vm, const Args& args) {
    Tensor a = tensor_arg(vm, args, 0, "bmm"), b = tensor_arg(vm, args, 1, "bmm", "mat2");
    if (a.rank() == 3 && b.rank() == 3 && a.size(0) != b.size(0)) {
        raise(vm, Exc::RuntimeError, "Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: [{}, {}].",
              a.size(0), a.size(2), b.size(0), b.size(1));
    }
    return product(vm, args, "bmm", 3, "mat2");
}
Ref tensor_dot(Vm& vm, const Args& args) { return product(vm, args, "dot", 1, "tensor"); }

Ref tensor_outer(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor a = tensor_arg(vm, args, 0, "outer"), b = tensor_arg(vm, args, 1, "outer", "vec2");
    if (a.rank() != 1 || b.rank() != 1) {
        raise(vm, Exc::RuntimeError, "outer: Expected 1-D argument {}, but got {}-D", a.rank() != 1 ? "self" : "vec2",
              a.rank() != 1 ? a.rank() : b.rank());
    }
    return wrap(vm, e.mul(e.reshape(a, {a.numel(), 1}), b));
}

Ref tensor_addmm(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor base = tensor_arg(vm, args, 0, "addmm");
    Tensor a = tensor_arg(vm, args, 1, "addmm", "mat1"), b = tensor_arg(vm, args, 2, "addmm", "mat2");
    auto is_one = [](Value v) { return v.is_int() && v.i == 1; };
    Tensor term = e.matmul(a, b);
    if (!is_one(args[4])) term = e.emit(Op::Mul, {term, operand_arg(vm, args, 4, "addmm", "alpha")});
    if (!is_one(args[3])) base = e.emit(Op::Mul, {base, operand_arg(vm, args, 3, "addmm", "beta")});
    return wrap(vm, e.add(base, term));
}

Ref tensor_linear(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "linear"), weight = tensor_arg(vm, args, 1, "linear", "weight");
    return wrap(vm, Eager(vm).linear(x, weight, optional_tensor_arg(vm, args, 2, "linear", "bias")));
}

// ---- Norms and look-up ----

namespace {

// The last dims of x must be the shape given.
int64_t last_dims(Vm& vm, const Tensor& x, const Dims& shape) {
    auto count = static_cast<int64_t>(shape.size());
    bool fits = count <= x.rank() && count > 0;
    for (int64_t d = 0; fits && d < count; ++d) fits = x.size(x.rank() - count + d) == shape[static_cast<size_t>(d)];
    if (!fits) {
        std::string wanted;
        for (int64_t size : shape) wanted += fmt::format(", {}", size);
        raise(vm, Exc::RuntimeError,
              "Given normalized_shape={}, expected input with shape [*{}], but got input of size{}", tensor::bracketed(shape),
              wanted, tensor::bracketed(x.sizes()));
    }
    return count;
}

}  // namespace

Ref tensor_layer_norm(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "layer_norm");
    Dims shape = ints_arg(vm, args[1], "layer_norm", "normalized_shape", 2);
    Tensor weight = optional_tensor_arg(vm, args, 2, "layer_norm", "weight"), bias = optional_tensor_arg(vm, args, 3, "layer_norm", "bias");
    for (const Tensor& scale : {weight, bias}) {
        if (scale && !(scale.sizes() == shape)) {
            raise(vm, Exc::RuntimeError,
                  "Expected weight to be of same shape as normalized_shape, but got weight of shape {} and normalized_shape = {}",
                  tensor::bracketed(scale.sizes()), tensor::bracketed(shape));
        }
    }
    return wrap(vm, Eager(vm).layer_norm(x, last_dims(vm, x, shape), weight, bias, to_double(vm, args[4])));
}

Ref tensor_rms_norm(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "rms_norm");
    int64_t count = last_dims(vm, x, ints_arg(vm, args[1], "rms_norm", "normalized_shape", 2));
    double eps = given(args[3]) ? to_double(vm, args[3]) : x.dtype() == DType::Float64 ? 0x1p-52 : 0x1p-23;
    Dims dims;
    for (int64_t d = x.rank() - count; d < x.rank(); ++d) dims.push_back(d);
    Tensor y = e.mul(x, e.emit(Op::Rsqrt, {e.add(e.reduce(Op::Mean, e.square(x), dims, true), Scalar(eps))}));
    Tensor weight = optional_tensor_arg(vm, args, 2, "rms_norm", "weight");
    return wrap(vm, weight ? e.mul(y, weight) : y);
}

Ref tensor_embedding(Vm& vm, const Args& args) {
    Tensor index = tensor_arg(vm, args, 0, "embedding"), weight = tensor_arg(vm, args, 1, "embedding", "weight");
    if (index.dtype() != DType::Int64 && index.dtype() != DType::Int32) {
        raise(vm, Exc::RuntimeError,
              "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
              "torch.{}Tensor instead (while checking arguments for embedding)",
              tensor::info(index.dtype()).word);
    }
    tensor::Attrs attrs;
    attrs.dims = {0};
    return wrap(vm, Eager(vm).emit(Op::IndexTake, {weight, index}, attrs));
}

Ref tensor_dropout(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "dropout");
    double p = to_double(vm, args[1]);
    if (!(p >= 0 && p <= 1)) {
        raise(vm, Exc::ValueError, "dropout probability has to be between 0 and 1, but got {}", repr(vm, args[1])->view());
    }
    if (!truth(vm, args[2]) || p == 0) return args[0];
    if (p == 1) return wrap(vm, e.mul(x, Scalar(0.0)));
    Tensor keep = e.ge(uniform(vm, x.sizes(), DType::Float32, x.device()), Scalar(p));
    return wrap(vm, e.mul(e.mul(x, e.cast(keep, x.dtype())), Scalar(1 / (1 - p))));
}

// ---- Losses ----

Ref tensor_mse_loss(Vm& vm, const Args& args) {
    Tensor a = tensor_arg(vm, args, 0, "mse_loss"), b = tensor_arg(vm, args, 1, "mse_loss", "target");
    return wrap(vm, Eager(vm).mse_loss(a, b, reduction_arg(vm, args[2])));
}

Ref tensor_l1_loss(Vm& vm, const Args& args) {
    Tensor a = tensor_arg(vm, args, 0, "l1_loss"), b = tensor_arg(vm, args, 1, "l1_loss", "target");
    return wrap(vm, Eager(vm).l1_loss(a, b, reduction_arg(vm, args[2])));
}

namespace {

// Class numbers, with weights for classes and one class that does not count. `log_probs` has classes in dim 1 (or 0).
Tensor nll(Vm& vm, const Tensor& log_probs, const Tensor& target, const Tensor& weight, int64_t ignored, autograd::Reduce how,
           std::string_view function) {
    Eager e(vm);
    int64_t dim = log_probs.rank() > 1 ? 1 : 0;
    if (target.dtype() != DType::Int64) {
        raise(vm, Exc::RuntimeError, "{}: the targets are class numbers of dtype int64, not {}", function, tensor::name_of(target.dtype()));
    }
    Dims expected;
    for (int64_t d = 0; d < log_probs.rank(); ++d) {
        if (d != dim) expected.push_back(log_probs.size(d));
    }
    if (!(expected == target.sizes())) {
        if (log_probs.rank() > 1 && target.rank() > 0 && target.size(0) != log_probs.size(0)) {
            raise(vm, Exc::ValueError, "Expected input batch_size ({}) to match target batch_size ({}).", log_probs.size(0), target.size(0));
        }
        raise(vm, Exc::RuntimeError, "{}: targets of shape {} for an input of shape {}", function, tensor::bracketed(target.sizes()),
              tensor::bracketed(log_probs.sizes()));
    }
    tensor::Attrs attrs;
    attrs.dim = dim;
    Tensor counted = e.emit(Op::Ne, {target, e.number(Scalar(ignored))});
    Tensor safe = e.keep_where(counted, target);
    Tensor picked = e.neg(e.squeeze(e.emit(Op::Gather, {log_probs, e.emit(Op::Unsqueeze, {safe}, attrs)}, attrs), {dim}));
    Tensor scale = e.cast(counted, log_probs.dtype());
    if (weight) {
        tensor::Attrs rows;
        rows.dims = {0};
        scale = e.mul(scale, e.emit(Op::IndexTake, {weight, safe}, rows));
    }
    Tensor losses = e.mul(picked, scale);
    if (how == autograd::Reduce::None) return losses;
    Tensor total = e.reduce(Op::Sum, losses, {});
    return how == autograd::Reduce::Sum ? total : e.div(total, e.reduce(Op::Sum, scale, {}));
}

}  // namespace

Ref tensor_nll_loss(Vm& vm, const Args& args) {
    Tensor input = tensor_arg(vm, args, 0, "nll_loss"), target = tensor_arg(vm, args, 1, "nll_loss", "target");
    Tensor weight = optional_tensor_arg(vm, args, 2, "nll_loss", "weight");
    return wrap(vm, nll(vm, input, target, weight, to_index(vm, args[3]), reduction_arg(vm, args[4]), "nll_loss"));
}

Ref tensor_cross_entropy(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor input = tensor_arg(vm, args, 0, "cross_entropy"), target = tensor_arg(vm, args, 1, "cross_entropy", "target");
    Tensor weight = optional_tensor_arg(vm, args, 2, "cross_entropy", "weight");
    autograd::Reduce how = reduction_arg(vm, args[4]);
    double smoothing = to_double(vm, args[5]);
    int64_t dim = input.rank() > 1 ? 1 : 0;
    Tensor log_probs = e.log_softmax(input, dim);
    bool probabilities = tensor::is_float(target.dtype());
    if (!probabilities && smoothing == 0) {
        return wrap(vm, nll(vm, log_probs, target, weight, to_index(vm, args[3]), how, "cross_entropy"));
    }
    if (probabilities && !(target.sizes() == input.sizes())) {
        raise(vm, Exc::RuntimeError, "cross_entropy: probabilities of shape {} for an input of shape {}",
              tensor::bracketed(target.sizes()), tensor::bracketed(input.sizes()));
    }
    Tensor weighted = log_probs;
    if (weight) {
        Dims shape;
        for (int64_t d = 0; d < input.rank(); ++d) shape.push_back(d == dim ? input.size(d) : 1);
        weighted = e.mul(log_probs, e.reshape(weight, shape));
    }
    auto classes = static_cast<double>(input.size(dim));
    double batch = static_cast<double>(input.numel()) / classes;
    if (probabilities) {
        Tensor wanted = smoothing == 0 ? target : e.add(e.mul(target, Scalar(1 - smoothing)), Scalar(smoothing / classes));
        Tensor losses = e.neg(e.sum(e.mul(weighted, wanted), {dim}));
        if (how == autograd::Reduce::None) return wrap(vm, losses);
        Tensor total = e.reduce(Op::Sum, losses, {});
        return wrap(vm, how == autograd::Reduce::Sum ? total : e.div(total, Scalar(batch)));
    }
    int64_t ignored = to_index(vm, args[3]);
    Tensor counted = e.emit(Op::Ne, {target, e.number(Scalar(ignored))});
    Tensor hard = nll(vm, log_probs, target, weight, ignored, how, "cross_entropy");
    Tensor soft = e.keep_where(counted, e.neg(e.sum(weighted, {dim})));
    if (how != autograd::Reduce::None) soft = e.reduce(Op::Sum, soft, {});
    if (how == autograd::Reduce::Mean) {
        Tensor scale = e.cast(counted, input.dtype());
        if (weight) {
            tensor::Attrs rows;
            rows.dims = {0};
            scale = e.mul(scale, e.emit(Op::IndexTake, {weight, e.keep_where(counted, target)}, rows));
        }
        soft = e.div(soft, e.reduce(Op::Sum, scale, {}));
    }
    return wrap(vm, e.add(e.mul(hard, Scalar(1 - smoothing)), e.mul(soft, Scalar(smoothing / classes))));
}

}  // namespace talc::stdlib
