// Tensors from nested lists of numbers.
#include <vector>

#include "autograd/tape.hpp"
#include "tensor/factory.hpp"
#include "tensor/observer.hpp"
#include "tensor/transfer.hpp"
#include "vm/tensor.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

using tensor::Category;
using tensor::DType;
using tensor::Scalar;
using tensor::Tensor;

namespace {

bool is_sequence(Value v) { return v.is_kind(Kind::List) || v.is_kind(Kind::Tuple) || v.is_kind(Kind::Range); }

class Reader {
  public:
    explicit Reader(Vm& vm) : vm_(vm) {}

    void read(Value data) {
        measure(data);
        values_.reserve(static_cast<size_t>(std::min<int64_t>(tensor::element_count(sizes_), 1 << 20)));
        collect(data, 0);
    }

    Tensor make(std::optional<DType> wanted, tensor::Device device) const {
        DType inferred = floats_ ? vm_.tensors.default_float : ints_ || values_.empty() ? DType::Int64 : DType::Bool;
        if (from_tensors_) inferred = *from_tensors_;
        if (values_.empty()) inferred = vm_.tensors.default_float;
        DType dtype = wanted.value_or(inferred);
        if (floats_) {
            std::vector<double> numbers;
            numbers.reserve(values_.size());
            for (const Scalar& value : values_) numbers.push_back(value.to_double());
            return tensor::to_device(vm_.tensors, tensor::from_values(vm_.tensors, numbers, sizes_, dtype), device);
        }
        std::vector<int64_t> numbers;
        numbers.reserve(values_.size());
        for (const Scalar& value : values_) numbers.push_back(value.i);
        return tensor::to_device(vm_.tensors, tensor::from_values(vm_.tensors, numbers, sizes_, dtype), device);
    }

  private:
    // The shape, by the first items.
    void measure(Value data) {
        Ref item = data;
        while (is_sequence(item)) {
            if (sizes_.size() >= 64) raise(vm_, Exc::ValueError, "too many dimensions: nested more than 64 deep");
            int64_t size = length(vm_, item);
            sizes_.push_back(size);
            if (size == 0) return;
            item = first_of(item);
        }
        // Tensors inside of lists count as the lists that they look like.
        if (is_tensor(item) && !sizes_.empty()) {
            for (int64_t size : tensor_of(item).sizes()) sizes_.push_back(size);
        }
    }

    Ref first_of(Value sequence) {
        if (sequence.is_kind(Kind::List)) return cast<List>(sequence)->items[0];
        if (sequence.is_kind(Kind::Tuple)) return cast<Tuple>(sequence)->items[0];
        return Value::integer(cast<Range>(sequence)->start);
    }

    void collect(Value data, size_t depth) {
        if (is_tensor(data)) return collect_tensor(tensor_of(data), depth);
        if (depth == sizes_.size()) return add(data);
        if (!is_sequence(data)) {
            if (depth > 0 && (is_number(data))) {
                raise(vm_, Exc::TypeError, "not a sequence");
            }
            return add(data);
        }
        int64_t size = length(vm_, data);
        if (size != sizes_[depth]) {
            raise(vm_, Exc::ValueError, "expected sequence of length {} at dim {} (got {})", sizes_[depth], depth, size);
        }
        RecursionGuard guard(vm_);
        for_each(vm_, data, [&](Value item) {
            if ((++count_ & 255) == 0) vm_.tick(256);
            collect(item, depth + 1);
        });
    }

    void collect_tensor(const Tensor& given, size_t depth) {
        Tensor tensor = readable(vm_, given);
        bool fits = tensor.sizes().size() == sizes_.size() - depth;
        for (size_t d = 0; fits && d < tensor.sizes().size(); ++d) fits = tensor.sizes()[d] == sizes_[depth + d];
        if (!fits && tensor.numel() != 1) {
            raise(vm_, Exc::ValueError, "only one element tensors can be converted to Python scalars");
        }
        if (!from_tensors_) from_tensors_ = tensor.dtype();
        for (int64_t i = 0; i < tensor.numel(); ++i) add_scalar(tensor::element_at(tensor, i));
    }

    void add(Value item) {
        std::optional<Scalar> number = scalar_of(vm_, item);
        if (!number) {
            if (is_sequence(item)) {
                raise(vm_, Exc::TypeError, "must be real number, not {}", class_name(vm_, item));
            }
            if (sizes_.empty() && item.is_none()) raise(vm_, Exc::RuntimeError, "Could not infer dtype of NoneType");
            if (item.is_kind(Kind::Str)) raise(vm_, Exc::TypeError, "new(): invalid data type 'str'");
            raise(vm_, Exc::RuntimeError, "Could not infer dtype of {}", class_name(vm_, item));
        }
        from_tensors_.reset();
        add_scalar(*number);
    }

    void add_scalar(const Scalar& value) {
        floats_ = floats_ || value.category == Category::Float;
        ints_ = ints_ || value.category == Category::Int;
        values_.push_back(value);
    }

    Vm& vm_;
    tensor::Dims sizes_;
    std::vector<Scalar> values_;
    std::optional<DType> from_tensors_;  // all numbers so far came from tensors of this dtype
    bool floats_ = false, ints_ = false;
    uint32_t count_ = 0;
};

}  // namespace

Tensor tensor_from_data(Vm& vm, Value data, std::optional<DType> dtype, tensor::Device device) {
    return with_tensor_errors(vm, [&] {
        Reader reader(vm);
        reader.read(data);
        Tensor made = reader.make(dtype, device);
        if (vm.tensors.observer) vm.tensors.observer->made(made);
        return made;
    });
}

}  // namespace talc::vm
