#include "stdlib/tensor_support.hpp"

#include "stdlib/modules.hpp"

namespace talc::stdlib {

void wrong_argument(Vm& vm, std::string_view function, std::string_view name, size_t position, std::string_view wanted,
                    Value value) {
    raise(vm, Exc::TypeError, "{}(): argument '{}' (position {}) must be {}, not {}", function, name, position, wanted,
          class_name(vm, value));
}

Tensor tensor_arg(Vm& vm, const Args& args, size_t at, std::string_view function, std::string_view name) {
    if (!is_tensor(args[at])) wrong_argument(vm, function, name, at + 1, "Tensor", args[at]);
    return tensor_of(args[at]);
}

Tensor optional_tensor_arg(Vm& vm, const Args& args, size_t at, std::string_view function, std::string_view name) {
    return given(args[at]) ? tensor_arg(vm, args, at, function, name) : Tensor();
}

Tensor operand_arg(Vm& vm, const Args& args, size_t at, std::string_view function, std::string_view name) {
    Tensor operand = operand_of(vm, args[at], at);
    if (!operand) wrong_argument(vm, function, name, at + 1, "Tensor", args[at]);
    return operand;
}

Tensor optional_operand_arg(Vm& vm, const Args& args, size_t at, std::string_view function, std::string_view name) {
    return given(args[at]) ? operand_arg(vm, args, at, function, name) : Tensor();
}

int64_t int_arg(Vm& vm, Value v, std::string_view function, std::string_view name, size_t position) {
    if (is_integer(v)) return int_value(v);
    if (is_tensor(v) || !find_special(vm, v, Special::Index).is_undef()) return to_index(vm, v);
    wrong_argument(vm, function, name, position, "int", v);
}

bool flag_arg(Vm& vm, Value v) { return given(v) && truth(vm, v); }

std::optional<DType> dtype_arg(Vm& vm, Value v, std::string_view function) {
    if (!given(v)) return {};
    std::optional<DType> dtype = dtype_of_value(vm, v);
    if (!dtype) raise(vm, Exc::TypeError, "{}(): argument 'dtype' must be torch.dtype, not {}", function, class_name(vm, v));
    return dtype;
}

tensor::Device device_arg(Vm& vm, Value v) {
    tensor::Device device = vm.tensors.default_device;
    if (!given(v)) return device;
    if (v.is_kind(Kind::Device)) {
        device = cast<DeviceObject>(v)->device;
    } else if (is_str(v)) {
        std::optional<tensor::Device> named = tensor::device_named(cast<Str>(v)->view());
        if (!named) {
            raise(vm, Exc::RuntimeError, "Expected one of cpu, cuda device type at start of device string: {}",
                  cast<Str>(v)->view());
        }
        device = *named;
    } else if (is_integer(v)) {
        device = {tensor::DeviceType::Cuda, static_cast<uint8_t>(int_value(v))};
    } else {
        raise(vm, Exc::TypeError, "a device is a name such as \"cpu\" or a device object, not {}", class_name(vm, v));
    }
    return device;
}

Dims ints_arg(Vm& vm, Value v, std::string_view function, std::string_view name, size_t position) {
    Dims ints;
    if (v.is_kind(Kind::List) || v.is_kind(Kind::Tuple)) {
        walk(vm, v, [&](Value item) {
            if (!is_integer(item) && !is_tensor(item)) wrong_argument(vm, function, name, position, "tuple of ints", v);
            ints.push_back(to_index(vm, item));
            return true;
        });
    } else {
        if (!is_integer(v) && !is_tensor(v)) wrong_argument(vm, function, name, position, "tuple of ints", v);
        ints.push_back(to_index(vm, v));
    }
    return ints;
}

Dims rest_ints(Vm& vm, const Args& args, std::string_view function, std::string_view name, size_t position) {
    if (args.nrest == 1) return ints_arg(vm, args.rest[0], function, name, position);
    Dims ints;
    for (size_t i = 0; i < args.nrest; i++) ints.push_back(int_arg(vm, args.rest[i], function, name, position + i));
    return ints;
}

int64_t dim_arg(Vm& vm, Value v, int64_t rank, std::string_view function, size_t position) {
    return tensor::wrap_dim(int_arg(vm, v, function, "dim", position), rank);
}

Dims dims_arg(Vm& vm, Value v, int64_t rank, std::string_view function) {
    if (!given(v)) return {};
    Dims dims = tensor::wrap_dims(ints_arg(vm, v, function, "dim", 2), rank, function);
    return dims;
}

std::vector<Tensor> tensors_arg(Vm& vm, Value v, std::string_view function) {
    if (!v.is_kind(Kind::List) && !v.is_kind(Kind::Tuple)) {
        wrong_argument(vm, function, "tensors", 1, "tuple of Tensors", v);
    }
    std::vector<Tensor> tensors;
    walk(vm, v, [&](Value item) {
        if (!is_tensor(item)) {
            raise(vm, Exc::TypeError, "expected Tensor as element {} in argument 0, but got {}", tensors.size(),
                  class_name(vm, item));
        }
        tensors.push_back(tensor_of(item));
        return true;
    });
    return tensors;
}

Scalar number_arg(Vm& vm, Value v, std::string_view function, std::string_view name, size_t position) {
    if (is_tensor(v)) return tensor_item(vm, tensor_of(v));
    std::optional<Scalar> number = scalar_of(vm, v);
    if (!number) wrong_argument(vm, function, name, position, "Number", v);
    return *number;
}

autograd::Reduce reduction_arg(Vm& vm, Value v) {
    std::string_view word = to_text(vm, v, "reduction");
    if (word == "mean") return autograd::Reduce::Mean;
    if (word == "sum") return autograd::Reduce::Sum;
    if (word == "none") return autograd::Reduce::None;
    raise(vm, Exc::ValueError, "{} is not a valid value for reduction", word);
}

Ref wrap_all(Vm& vm, const std::vector<Tensor>& tensors) {
    Ptr<List> list = make_list(vm, tensors.size());
    for (const Tensor& tensor : tensors) list_append(vm, list.get(), wrap(vm, tensor));
    return make_tuple(vm, list->items, list->size);
}

Tensor filled(Vm& vm, const Dims& sizes, Scalar value, DType dtype, tensor::Device device) {
    for (int64_t size : sizes) {
        if (size < 0) {
            tensor::fail("Trying to create tensor with negative dimension {}: {}", size, tensor::bracketed(sizes));
        }
    }
    return Eager(vm).full(sizes, value, dtype, device);
}

Tensor uniform(Vm& vm, const Dims& sizes, DType dtype, tensor::Device device) {
    tensor::Attrs attrs;
    attrs.sizes = sizes;
    attrs.dtype = dtype;
    attrs.device = device;
    return autograd::apply(vm.tensors, Op::Rand, random_operands(vm), attrs);
}

Tensor cast_to(Vm& vm, const Tensor& tensor, DType dtype) { return Eager(vm).cast(tensor, dtype); }

}  // namespace talc::stdlib
