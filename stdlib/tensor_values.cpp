// What a program can ask a tensor: metadata, its values, other dtypes and devices.
#include "autograd/indexing.hpp"
#include "stdlib/builtins.hpp"
#include "stdlib/tensor_support.hpp"
#include "tensor/factory.hpp"

namespace talc::stdlib {

// ---- Metadata ----

Ref tensor_shape(Vm& vm, const Args& args) { return sizes_value(vm, tensor_of(args[0]).sizes()); }
Ref tensor_dtype(Vm& vm, const Args& args) { return dtype_value(vm, tensor_of(args[0]).dtype()); }
Ref tensor_device(Vm& vm, const Args& args) { return device_value(vm, tensor_of(args[0]).device()); }
Ref tensor_dim(Vm& vm, const Args& args) { return integer(tensor_arg(vm, args, 0, "dim").rank()); }
Ref tensor_numel(Vm& vm, const Args& args) { return integer(tensor_arg(vm, args, 0, "numel").numel()); }
Ref tensor_is_contiguous(Vm&, const Args& args) { return boolean(tensor_of(args[0]).is_contiguous()); }
Ref tensor_is_cuda(Vm&, const Args& args) { return boolean(tensor_of(args[0]).device().type == tensor::DeviceType::Cuda); }
Ref tensor_is_floating_point(Vm& vm, const Args& args) {
    return boolean(tensor::is_float(tensor_arg(vm, args, 0, "is_floating_point").dtype()));
}
Ref tensor_element_size(Vm&, const Args& args) {
    return integer(static_cast<int64_t>(tensor::size_of(tensor_of(args[0]).dtype())));
}
Ref tensor_len(Vm& vm, const Args& args) { return integer(length(vm, args[0])); }

namespace {

int64_t asked_dim(Vm& vm, const Tensor& x, Value dim, std::string_view function) {
    if (x.rank() == 0) raise(vm, Exc::IndexError, "Dimension specified as {} but tensor has no dimensions", to_index(vm, dim));
    return dim_arg(vm, dim, x.rank(), function, 1);
}

}  // namespace

Ref tensor_size(Vm& vm, const Args& args) {
    const Tensor& x = tensor_of(args[0]);
    if (!given(args[1])) return sizes_value(vm, x.sizes());
    return integer(x.size(asked_dim(vm, x, args[1], "size")));
}

Ref tensor_stride(Vm& vm, const Args& args) {
    const Tensor& x = tensor_of(args[0]);
    if (given(args[1])) return integer(x.stride(asked_dim(vm, x, args[1], "stride")));
    std::vector<Value> strides;
    for (int64_t stride : x.strides()) strides.push_back(Value::integer(stride));
    return make_tuple(vm, strides.data(), strides.size());
}

Ref tensor_storage_offset(Vm&, const Args& args) { return integer(tensor_of(args[0]).offset()); }
Ref tensor_data_ptr(Vm&, const Args& args) { return integer(static_cast<int64_t>(reinterpret_cast<intptr_t>(tensor_of(args[0]).data()))); }
Ref builtin_is_tensor(Vm&, const Args& args) { return boolean(is_tensor(args[0])); }

// ---- Values ----

Ref tensor_item_value(Vm& vm, const Args& args) { return scalar_value(tensor_item(vm, tensor_of(args[0]))); }

namespace {

Ref nested_list(Vm& vm, const Tensor& x, int64_t dim, int64_t offset) {
    auto count = static_cast<size_t>(x.size(dim));
    Ptr<List> list = make_list(vm, count);
    bool last = dim + 1 == x.rank();
    if (last) vm.tick(count + 1);
    for (int64_t i = 0; i < x.size(dim); ++i) {
        int64_t at = offset + i * x.stride(dim);
        if (last) {
            list_append(vm, list.get(), scalar_value(tensor::element_at(x.alias({}, {}, at), std::span<const int64_t>())));
        } else {
            list_append(vm, list.get(), nested_list(vm, x, dim + 1, at));
        }
    }
    return list;
}

}  // namespace

Ref tensor_tolist(Vm& vm, const Args& args) {
    Tensor x = readable(vm, tensor_of(args[0]));
    if (x.rank() == 0) return scalar_value(tensor::item(x));
    return nested_list(vm, x, 0, x.offset());
}

Ref tensor_equal(Vm& vm, const Args& args) {
    Tensor a = tensor_arg(vm, args, 0, "equal"), b = tensor_arg(vm, args, 1, "equal", "other");
    return boolean(tensor::equal(readable(vm, a), readable(vm, b)));
}

Ref tensor_allclose(Vm& vm, const Args& args) {
    Tensor a = tensor_arg(vm, args, 0, "allclose"), b = tensor_arg(vm, args, 1, "allclose", "other");
    if (a.dtype() != b.dtype()) {
        raise(vm, Exc::RuntimeError, "{} did not match {}", tensor::info(a.dtype()).word, tensor::info(b.dtype()).word);
    }
    Eager e(vm);
    if (!(a.sizes() == b.sizes())) {  // broadcast, with the error of shapes that do not fit
        Dims shape = e.eq(a, b).sizes();
        a = e.expand(a, shape);
        b = e.expand(b, shape);
    }
    return boolean(tensor::allclose(readable(vm, a), readable(vm, b), to_double(vm, args[2]), to_double(vm, args[3]),
                                    truth(vm, args[4])));
}

Ref tensor_isclose(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor a = tensor_arg(vm, args, 0, "isclose"), b = tensor_arg(vm, args, 1, "isclose", "other");
    if (a.dtype() != b.dtype()) {
        raise(vm, Exc::RuntimeError, "{} did not match {}", tensor::info(a.dtype()).word, tensor::info(b.dtype()).word);
    }
    Tensor difference = e.abs(e.sub(a, b));
    Tensor limit = e.add(e.mul(e.abs(b), Scalar(to_double(vm, args[2]))), Scalar(to_double(vm, args[3])));
    Tensor finite = e.lt(difference, Scalar(HUGE_VAL));
    Tensor close = e.emit(Op::LogicalOr, {e.eq(a, b), e.logical_and(finite, e.le(difference, limit))});
    if (truth(vm, args[4])) {
        Tensor both = e.logical_and(e.emit(Op::IsNan, {a}), e.emit(Op::IsNan, {b}));
        close = e.emit(Op::LogicalOr, {close, both});
    }
    return wrap(vm, close);
}

Ref tensor_nonzero(Vm& vm, const Args& args) {
    Tensor given_x = tensor_arg(vm, args, 0, "nonzero");
    Tensor x = readable(vm, given_x);
    std::vector<Tensor> coordinates = tensor::nonzero(vm.tensors, given_x);
    if (flag_arg(vm, args[1])) return wrap_all(vm, coordinates);
    if (coordinates.empty()) {
        return wrap(vm, tensor::empty(vm.tensors, {tensor::item(x).to_double() != 0, 0}, DType::Int64, given_x.device()));
    }
    tensor::Attrs attrs;
    attrs.dim = 1;
    return wrap(vm, Eager(vm).emit(Op::Stack, coordinates, attrs));
}

Ref tensor_masked_select(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "masked_select"), mask = tensor_arg(vm, args, 1, "masked_select", "mask");
    if (mask.dtype() != DType::Bool) {
        raise(vm, Exc::RuntimeError, "masked_select: expected BoolTensor for mask, but got {}", tensor::info(mask.dtype()).word);
    }
    Dims shape = e.eq(x, mask).sizes();
    readable(vm, mask);
    autograd::IndexItem<autograd::TensorEmit> item = autograd::IndexItem<autograd::TensorEmit>::of(e.expand(mask, shape));
    autograd::TensorEmit emit(vm.tensors);
    return wrap(vm, autograd::read_index<autograd::TensorEmit>(emit, e.expand(x, shape), std::span(&item, 1)));
}

// ---- Other dtypes and devices ----

namespace {

Tensor moved(Vm& vm, const Tensor& x, tensor::Device device) {
    if (x.device() == device) return x;
    tensor::Attrs attrs;
    attrs.device = device;
    return Eager(vm).emit(Op::ToDevice, {x}, attrs);
}

Ref converted(Vm& vm, Value self, std::optional<DType> dtype, std::optional<tensor::Device> device, bool copy) {
    Tensor x = tensor_of(self);
    Tensor result = device ? moved(vm, x, *device) : x;
    if (dtype && *dtype != x.dtype()) return wrap(vm, cast_to(vm, result, *dtype));
    if (copy && result.is(x)) return wrap(vm, Eager(vm).emit(Op::Clone, {x}));
    return result.is(x) ? Ref(self) : wrap(vm, result);
}

}  // namespace

// to(dtype), to(device), to(device, dtype), to(other)
Ref tensor_to(Vm& vm, const Args& args) {
    std::optional<DType> dtype = dtype_arg(vm, args[0 + 1], "to");
    std::optional<tensor::Device> device;
    if (given(args[2])) device = device_arg(vm, args[2]);
    for (size_t i = 0; i < args.nrest; i++) {
        Value word = args.rest[i];
        if (is_tensor(word)) {
            dtype = tensor_of(word).dtype();
            device = tensor_of(word).device();
        } else if (std::optional<DType> named = dtype_of_value(vm, word)) {
            dtype = named;
        } else if (word.is_kind(Kind::Device) || is_str(word) || (word.is_int() && i == 0)) {
            device = device_arg(vm, word);
        } else if (!word.is_bool() && !word.is_none()) {
            raise(vm, Exc::TypeError, "to() takes a dtype, a device or a tensor, not {}", class_name(vm, word));
        }
    }
    return converted(vm, args[0], dtype, device, flag_arg(vm, args[4]));
}

#define CONVERSION(name, dtype) \
    Ref tensor_##name(Vm& vm, const Args& args) { return converted(vm, args[0], DType::dtype, {}, false); }
CONVERSION(float, Float32)
CONVERSION(double, Float64)
CONVERSION(half, Float16)
CONVERSION(bfloat16, BFloat16)
CONVERSION(long, Int64)
CONVERSION(int, Int32)
CONVERSION(short, Int16)
CONVERSION(char, Int8)
CONVERSION(byte, UInt8)
CONVERSION(bool, Bool)
#undef CONVERSION

Ref tensor_type(Vm& vm, const Args& args) { return converted(vm, args[0], dtype_arg(vm, args[1], "type"), {}, false); }
Ref tensor_type_as(Vm& vm, const Args& args) {
    Tensor other = tensor_arg(vm, args, 1, "type_as", "other");
    return converted(vm, args[0], other.dtype(), other.device(), false);
}
Ref tensor_cpu(Vm& vm, const Args& args) { return converted(vm, args[0], {}, tensor::Device{}, false); }
Ref tensor_cuda(Vm& vm, const Args& args) {
    return converted(vm, args[0], {}, given(args[1]) ? device_arg(vm, args[1]) : tensor::Device{tensor::DeviceType::Cuda, 0}, false);
}

// ---- dtype and device ----

Ref dtype_itemsize(Vm&, const Args& args) { return integer(static_cast<int64_t>(tensor::size_of(cast<DTypeObject>(args[0])->dtype))); }
Ref dtype_is_floating_point(Vm&, const Args& args) { return boolean(tensor::is_float(cast<DTypeObject>(args[0])->dtype)); }
Ref device_new(Vm& vm, const Args& args) {
    tensor::Device device = device_arg(vm, args[1]);
    if (given(args[2])) device.index = static_cast<uint8_t>(int_arg(vm, args[2], "device", "index", 2));
    return device_value(vm, device);
}
Ref device_type(Vm& vm, const Args& args) {
    return make_str(vm, cast<DeviceObject>(args[0])->device.type == tensor::DeviceType::Cpu ? "cpu" : "cuda");
}
Ref device_index(Vm&, const Args& args) {
    tensor::Device device = cast<DeviceObject>(args[0])->device;
    return device.type == tensor::DeviceType::Cpu ? none() : integer(device.index);
}

Ref set_default_dtype(Vm& vm, const Args& args) {
    std::optional<DType> dtype = dtype_of_value(vm, args[0]);
    if (!dtype) raise(vm, Exc::TypeError, "invalid dtype object: {}", repr(vm, args[0])->view());
    if (!tensor::is_float(*dtype)) raise(vm, Exc::TypeError, "only floating-point types are supported as the default type");
    vm.tensors.default_float = *dtype;
    return none();
}
Ref get_default_dtype(Vm& vm, const Args&) { return dtype_value(vm, vm.tensors.default_float); }

// The builtin names of dtypes, and of functions that are written in Talc.
Ref make_builtin_value(Vm& vm, std::string_view name) {
    if (name == "jit") return make_jit_value(vm);
    if (name == "IOError" || name == "EnvironmentError") return vm.classes.of(Exc::OSError);  // names of old
    for (std::string_view written : {"checkpoint", "grad", "value_and_grad", "vjp", "jvp", "vmap"}) {
        if (name != written) continue;
        Ref module = vm.import_module("transforms", "");
        // While that module itself is being run it has its own names.
        return cast<Module>(module.get())->initialized ? get_attr(vm, module, intern(vm, name).get()) : Ref();
    }
    std::optional<DType> dtype = tensor::dtype_named(name);
    return dtype && *dtype != DType::Bool ? dtype_value(vm, *dtype) : Ref();
}

}  // namespace talc::stdlib
