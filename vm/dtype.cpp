// dtypes, devices and shapes as values.
#include "base/text/hash.hpp"
#include "vm/tensor.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

// ---- dtype ----

Class* class_of_dtype(Vm& vm, tensor::DType dtype) { return dtype == tensor::DType::Bool ? vm.classes.bool_ : nullptr; }

void destroy_dtype(Vm& vm, Object* object) { vm.heap.deallocate(object, sizeof(DTypeObject)); }

Ref repr_of_dtype(Vm& vm, Object* object) { return make_str(vm, tensor::name_of(cast<DTypeObject>(object)->dtype)); }

// The class bool is the dtype of that name, too.
int64_t hash_of_dtype(Vm& vm, Object* object) {
    Class* cls = class_of_dtype(vm, cast<DTypeObject>(object)->dtype);
    return text::hash_pointer(cls ? static_cast<Object*>(cls) : object);
}

Ref compare_dtype(Vm& vm, CompareOp op, Object* object, Value other) {
    if (op != CompareOp::Eq && op != CompareOp::Ne) return {};
    auto* own = cast<DTypeObject>(object);
    bool same = other.is_kind(Kind::DType) ? cast<DTypeObject>(other)->dtype == own->dtype
                                           : other.is_kind(Kind::Class) && class_of_dtype(vm, own->dtype) == cast<Class>(other);
    return Value::boolean(same == (op == CompareOp::Eq));
}

// ---- device ----

void destroy_device(Vm& vm, Object* object) { vm.heap.deallocate(object, sizeof(DeviceObject)); }

Ref repr_of_device(Vm& vm, Object* object) {
    tensor::Device device = cast<DeviceObject>(object)->device;
    if (device.type == tensor::DeviceType::Cpu) return make_str(vm, "device(type='cpu')");
    return make_str(vm, fmt::format("device(type='cuda', index={})", device.index));
}

Ref str_of_device(Vm& vm, Object* object) { return make_str(vm, to_string(cast<DeviceObject>(object)->device)); }

int64_t hash_of_device(Vm&, Object* object) {
    tensor::Device device = cast<DeviceObject>(object)->device;
    return text::hash_int(static_cast<int64_t>(device.type) * 256 + device.index + 1);
}

Ref compare_device(Vm&, CompareOp op, Object* object, Value other) {
    if ((op != CompareOp::Eq && op != CompareOp::Ne) || !other.is_kind(Kind::Device)) return {};
    bool same = cast<DeviceObject>(other)->device == cast<DeviceObject>(object)->device;
    return Value::boolean(same == (op == CompareOp::Eq));
}

}  // namespace

Ref dtype_value(Vm& vm, tensor::DType dtype) {
    Ref& known = vm.dtypes[static_cast<size_t>(dtype)];
    if (!known) {
        auto* made = vm.heap.make<DTypeObject>(Kind::DType, vm.classes.dtype);
        made->dtype = dtype;
        known = Ref::steal(made);
    }
    return known;
}

Ref device_value(Vm& vm, tensor::Device device) {
    auto* made = vm.heap.make<DeviceObject>(Kind::Device, vm.classes.device);
    made->device = device;
    return Ref::steal(made);
}

Ref sizes_value(Vm& vm, const tensor::Dims& sizes) {
    Tuple* tuple = make_raw_tuple(vm, sizes.size(), vm.classes.size);
    for (size_t i = 0; i < sizes.size(); i++) tuple->items[i] = Value::integer(sizes[i]);
    return Ref::steal(tuple);
}

std::optional<tensor::DType> dtype_of_value(Vm& vm, Value v) {
    if (v.is_kind(Kind::DType)) return cast<DTypeObject>(v)->dtype;
    if (v.is_kind(Kind::Class)) {
        if (cast<Class>(v) == vm.classes.bool_) return tensor::DType::Bool;
        if (cast<Class>(v) == vm.classes.int_) return tensor::DType::Int64;
        if (cast<Class>(v) == vm.classes.float_) return tensor::DType::Float64;
    }
    return {};
}

const KindOps kDTypeOps = {
    .destroy = destroy_dtype,
    .repr = repr_of_dtype,
    .hash = hash_of_dtype,
    .compare = compare_dtype,
};

const KindOps kDeviceOps = {
    .destroy = destroy_device,
    .repr = repr_of_device,
    .str = str_of_device,
    .hash = hash_of_device,
    .compare = compare_device,
};

}  // namespace talc::vm
