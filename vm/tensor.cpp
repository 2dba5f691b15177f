// The kind of tensors: their objects, how they print, their truth, length, items and rows.
#include "vm/tensor.hpp"

#include <new>

#include "autograd/emit.hpp"
#include "autograd/indexing.hpp"
#include "autograd/tape.hpp"
#include "tensor/observer.hpp"
#include "tensor/print.hpp"
#include "tensor/transfer.hpp"
#include "vm/containers.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

using tensor::Scalar;
using tensor::Tensor;

// ---- Objects ------------------------------------------------------------------------------------------

Ref wrap_as(Vm& vm, const Tensor& tensor, Class* cls) {
    auto* object = vm.heap.make<TensorObject>(Kind::Tensor, cls);
    new (&object->tensor) Tensor(tensor);
    tensor.impl()->object = object;
    return Ref::steal(object);
}

Ref wrap(Vm& vm, const Tensor& tensor) {
    if (!tensor) return Value::none();
    auto* known = static_cast<TensorObject*>(tensor.impl()->object);
    if (known && known->cls->vm == &vm) return Ref(static_cast<Object*>(known));
    return wrap_as(vm, known ? tensor.detached() : tensor, vm.classes.tensor);
}

void raise_tensor_error(Vm& vm, const tensor::Error& error) {
    auto exception = [&] {
        switch (error.kind()) {
            case tensor::ErrorKind::Value: return Exc::ValueError;
            case tensor::ErrorKind::Index: return Exc::IndexError;
            case tensor::ErrorKind::Type: return Exc::TypeError;
            case tensor::ErrorKind::Memory: return Exc::MemoryError;
            case tensor::ErrorKind::NotImplemented: return Exc::NotImplementedError;
            case tensor::ErrorKind::Runtime: break;
        }
        return Exc::RuntimeError;
    };
    raise(vm, exception(), std::string(error.what()));
}

// ---- Numbers ------------------------------------------------------------------------------------------

std::optional<Scalar> scalar_of(Vm& vm, Value v) {
    if (v.is_float()) return Scalar(v.f);
    if (v.is_bool()) return Scalar(v.b);
    if (is_integer(v)) return Scalar(int_value(v));
    if (v.is_kind(Kind::BoxedFloat)) return Scalar(to_double(vm, v));
    return {};
}

Value scalar_value(const Scalar& scalar) {
    switch (scalar.category) {
        case tensor::Category::Bool: return Value::boolean(scalar.i != 0);
        case tensor::Category::Int: return Value::integer(scalar.i);
        case tensor::Category::Float: break;
    }
    return Value::real(scalar.f);
}

Tensor operand_of(Vm& vm, Value v, size_t argument) {
    if (is_tensor(v)) return tensor_of(v);
    std::optional<Scalar> number = scalar_of(vm, v);
    if (!number) return {};
    Tensor made = tensor::number(vm.tensors, *number);
    if (vm.tensors.observer) vm.tensors.observer->number(made, argument);
    return made;
}

Tensor readable(Vm& vm, const Tensor& tensor) {
    if (vm.tensors.observer) vm.tensors.observer->reading(tensor);
    return tensor::on_host(tensor);
}

Scalar tensor_item(Vm& vm, const Tensor& tensor) {
    return with_tensor_errors(vm, [&] {
        if (tensor.numel() != 1) {
            tensor::fail("a Tensor with {} elements cannot be converted to Scalar", tensor.numel());
        }
        return tensor::item(readable(vm, tensor));
    });
}

int64_t tensor_index(Vm& vm, Value v) {
    const Tensor& tensor = tensor_of(v);
    if (tensor.numel() != 1 || tensor::is_float(tensor.dtype())) {
        raise(vm, Exc::TypeError, "only integer tensors of a single element can be converted to an index");
    }
    return tensor_item(vm, tensor).to_int();
}

Value tensor_number(Vm& vm, Value v) {
    if (tensor_of(v).numel() != 1) raise(vm, Exc::ValueError, "only one element tensors can be converted to Python scalars");
    return scalar_value(tensor_item(vm, tensor_of(v)));
}

std::array<Tensor, 2> random_operands(Vm& vm) {
    tensor::Generator& stream = vm.tensors.generator;
    std::array<Tensor, 2> operands = {
        tensor::scalar_tensor(vm.tensors, Scalar(static_cast<int64_t>(stream.seed)), tensor::DType::Int64),
        tensor::scalar_tensor(vm.tensors, Scalar(static_cast<int64_t>(stream.position)), tensor::DType::Int64)};
    ++stream.position;
    if (vm.tensors.observer) {
        for (const Tensor& operand : operands) vm.tensors.observer->made(operand);
    }
    return operands;
}

// ---- Indexing -----------------------------------------------------------------------------------------

namespace {

using Item = autograd::IndexItem<autograd::TensorEmit>;

// Indices on the CPU may look into a tensor anywhere.
Tensor beside(Vm& vm, const Tensor& index, const Tensor& indexed) {
    if (index.device() == indexed.device() || index.device().type != tensor::DeviceType::Cpu) return index;
    tensor::Attrs attrs;
    attrs.device = indexed.device();
    return autograd::apply(vm.tensors, tensor::Op::ToDevice, std::span(&index, 1), attrs);
}

void add_item(Vm& vm, std::vector<Item>& items, const Tensor& indexed, Value key) {
    if (key.is_bool()) {
        if (!key.b) raise(vm, Exc::NotImplementedError, "False as an index of a tensor");
        items.push_back(Item::new_axis());
        return;
    }
    if (is_integer(key)) {
        if (indexed.rank() == 0) {
            raise(vm, Exc::IndexError,
                  "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
                  "0-dim tensor to a number");
        }
        items.push_back(Item::integer(int_value(key)));
    } else if (key.is_none()) {
        items.push_back(Item::new_axis());
    } else if (key.tag == Tag::Ellipsis) {
        items.push_back(Item::ellipsis());
    } else if (key.is_kind(Kind::Slice)) {
        auto* slice = cast<Slice>(key);
        auto bound = [&](Value v) { return v.is_none() ? std::optional<int64_t>() : std::optional(to_index(vm, v)); };
        std::optional<int64_t> start = bound(slice->start), stop = bound(slice->stop);
        items.push_back(Item::slice(start, stop, bound(slice->step).value_or(1)));
    } else if (is_tensor(key)) {
        const Tensor& index = tensor_of(key);
        if (tensor::is_float(index.dtype())) {
            raise(vm, Exc::IndexError, "tensors used as indices must be long, int, byte or bool tensors");
        }
        if (index.rank() == 0 && index.dtype() != tensor::DType::Bool) {
            // As PyTorch: one number, and the result is a view.
            items.push_back(Item::integer(tensor_item(vm, index).to_int()));
        } else {
            items.push_back(Item::of(beside(vm, index, indexed)));
        }
    } else if (key.is_kind(Kind::List) || key.is_kind(Kind::Tuple) || key.is_kind(Kind::Range)) {
        bool empty = length(vm, key) == 0;
        Tensor index = tensor_from_data(vm, key, empty ? std::optional(tensor::DType::Int64) : std::nullopt, indexed.device());
        if (tensor::is_float(index.dtype())) {
            raise(vm, Exc::IndexError, "tensors used as indices must be long, int, byte or bool tensors");
        }
        items.push_back(Item::of(index));
    } else if (!find_special(vm, key, Special::Index).is_undef()) {
        items.push_back(Item::integer(to_index(vm, key)));
    } else {
        raise(vm, Exc::IndexError,
              "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})",
              class_name(vm, key));
    }
}

std::vector<Item> items_of(Vm& vm, const Tensor& indexed, Value key) {
    std::vector<Item> items;
    if (key.is_kind(Kind::Tuple)) {
        auto* tuple = cast<Tuple>(key);
        for (size_t i = 0; i < tuple->size; i++) add_item(vm, items, indexed, tuple->items[i]);
    } else {
        add_item(vm, items, indexed, key);
    }
    // A mask is looked up for its true elements.
    for (const Item& item : items) {
        if (item.kind == Item::Tensor && item.tensor.dtype() == tensor::DType::Bool) readable(vm, item.tensor);
    }
    return items;
}

Ref get_item(Vm& vm, Object* object, Value key) {
    return with_tensor_errors(vm, [&] {
        const Tensor tensor = cast<TensorObject>(object)->tensor;
        std::vector<Item> items = items_of(vm, tensor, key);
        autograd::TensorEmit emit(vm.tensors);
        Tensor result = autograd::read_index<autograd::TensorEmit>(emit, tensor, items);
        if (result.is(tensor)) {  // x[:] and x[...] are views of their own
            tensor::Attrs attrs;
            attrs.sizes = tensor.sizes();
            result = autograd::apply(vm.tensors, tensor::Op::View, std::span(&tensor, 1), attrs);
        }
        return wrap(vm, result);
    });
}

void set_item(Vm& vm, Object* object, Value key, Value value) {
    with_tensor_errors(vm, [&] {
        const Tensor tensor = cast<TensorObject>(object)->tensor;
        std::vector<Item> items = items_of(vm, tensor, key);
        Tensor source = operand_of(vm, value, 2);
        if (!source) {
            raise(vm, Exc::TypeError, "can't assign a {} to a torch.{}Tensor", class_name(vm, value),
                  tensor::info(tensor.dtype()).word);
        }
        autograd::write_index(vm.tensors, tensor, items, source);
    });
}

// ---- The kind -----------------------------------------------------------------------------------------

void destroy(Vm& vm, Object* object) {
    auto* own = cast<TensorObject>(object);
    if (own->tensor && own->tensor.impl()->object == own) own->tensor.impl()->object = nullptr;
    own->tensor.~Tensor();
    vm.heap.deallocate(own, sizeof(TensorObject));
}

Ref repr_of(Vm& vm, Object* object) {
    return with_tensor_errors(vm, [&] {
        Tensor tensor = cast<TensorObject>(object)->tensor;
        bool requires_grad = autograd::requires_grad(tensor);
        auto node = autograd::grad_fn(tensor);
        std::string text = object->cls == vm.classes.parameter ? "Parameter containing:\n" : "";
        text += tensor::repr(vm.tensors, readable(vm, tensor), tensor.device(), requires_grad, node ? node->name() : "");
        return Ref(make_str(vm, text));
    });
}

bool truth_of(Vm& vm, Object* object) {
    const Tensor& tensor = cast<TensorObject>(object)->tensor;
    if (tensor.numel() != 1) {
        raise(vm, Exc::RuntimeError, "Boolean value of Tensor with {} is ambiguous",
              tensor.numel() == 0 ? "no values" : "more than one value");
    }
    return tensor_item(vm, tensor).to_double() != 0;
}

int64_t length_of(Vm& vm, Object* object) {
    const Tensor& tensor = cast<TensorObject>(object)->tensor;
    if (tensor.rank() == 0) raise(vm, Exc::TypeError, "len() of a 0-d tensor");
    return tensor.size(0);
}

bool contains_item(Vm& vm, Object* object, Value item) {
    if (!is_tensor(item) && !is_number(item)) {
        raise(vm, Exc::RuntimeError, "Tensor.__contains__ only supports Tensor or scalar, but you passed in a {}.",
              class_name(vm, item));
    }
    return with_tensor_errors(vm, [&] {
        Ref found = tensor_compare(vm, CompareOp::Eq, object, item);
        Tensor any = autograd::apply(vm.tensors, tensor::Op::Any, std::span(&tensor_of(found), 1));
        return tensor_item(vm, any).i != 0;
    });
}

Ref iterate_over(Vm& vm, Object* object) { return make_tuple_iterator(vm, tensor_rows(vm, cast<TensorObject>(object)->tensor).get()); }

}  // namespace

Ptr<Tuple> tensor_rows(Vm& vm, const Tensor& given) {
    if (given.rank() == 0) raise(vm, Exc::TypeError, "iteration over a 0-d tensor");
    return with_tensor_errors(vm, [&] {
        Tensor tensor = given;
        Ptr<List> rows = make_list(vm, static_cast<size_t>(tensor.size(0)));
        tensor::Attrs attrs;
        for (int64_t i = 0; i < tensor.size(0); ++i) {
            vm.tick(1);
            attrs.start = i;
            list_append(vm, rows.get(), wrap(vm, autograd::apply(vm.tensors, tensor::Op::Select, std::span(&tensor, 1), attrs)));
        }
        return make_tuple(vm, rows->items, rows->size);
    });
}

const KindOps kTensorOps = {
    .destroy = destroy,
    .repr = repr_of,
    .truth = truth_of,
    .length = length_of,
    .get_item = get_item,
    .set_item = set_item,
    .contains = contains_item,
    .iterate = iterate_over,
};

}  // namespace talc::vm
