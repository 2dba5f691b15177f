#pragma once
// Tensors, dtypes and devices as values of the language, and what its operators do with them.
//
// All computation goes through autograd/ (apply, apply_into, ...), so that the context's observer sees it. A number that
// becomes an operand is shown to the observer with its place: 0 and 1 are the left and right operand of an operator,
// 2 is the value of x[i] = value, and in a builtin it is the number of the argument.
#include <array>
#include <optional>

#include "tensor/context.hpp"
#include "tensor/error.hpp"
#include "tensor/tensor.hpp"
#include "vm/object.hpp"
#include "vm/protocol.hpp"

namespace talc::vm {

struct TensorObject : Object { tensor::Tensor tensor; };
struct DTypeObject : Object { tensor::DType dtype; };
struct DeviceObject : Object { tensor::Device device; };

inline bool is_tensor(Value v) { return v.is_kind(Kind::Tensor); }
inline const tensor::Tensor& tensor_of(Value v) { return cast<TensorObject>(v)->tensor; }

// The object of a tensor. While it lives, the same tensor has the same object (p.grad is p.grad).
Ref wrap(Vm& vm, const tensor::Tensor& tensor);
// A new object of that class (Tensor or Parameter) for a tensor that has none yet.
Ref wrap_as(Vm& vm, const tensor::Tensor& tensor, Class* cls);
Ref dtype_value(Vm& vm, tensor::DType dtype);              // one object for each
Ref device_value(Vm& vm, tensor::Device device);
Ref sizes_value(Vm& vm, const tensor::Dims& sizes);        // torch.Size

// A number of the language (bool, int, float or a subclass), or none.
std::optional<tensor::Scalar> scalar_of(Vm& vm, Value v);
Value scalar_value(const tensor::Scalar& scalar);
// A tensor, or a number as an operand that gives way in promotion. Empty: neither.
tensor::Tensor operand_of(Vm& vm, Value v, size_t argument);
// dtype objects and the classes bool, int and float.
std::optional<tensor::DType> dtype_of_value(Vm& vm, Value v);

// The one element, read by the program. RuntimeError when there are more or none.
tensor::Scalar tensor_item(Vm& vm, const tensor::Tensor& tensor);
int64_t tensor_index(Vm& vm, Value v);                     // __index__
Value tensor_number(Vm& vm, Value v);                      // int(v), float(v): the one element, ValueError otherwise
// To be called before elements are read on the CPU; elsewhere it gives a copy there.
tensor::Tensor readable(Vm& vm, const tensor::Tensor& tensor);

// Nested lists and tuples of numbers (and tensors of one element) as a fresh tensor; the dtype follows from the numbers.
tensor::Tensor tensor_from_data(Vm& vm, Value data, std::optional<tensor::DType> dtype, tensor::Device device);

// Operators. Empty: not for these operands.
Ref tensor_binary(Vm& vm, BinaryOp op, Value a, Value b);
Ref tensor_in_place(Vm& vm, BinaryOp op, Value a, Value b);
Ref tensor_compare(Vm& vm, CompareOp op, Value a, Value b);
Ref tensor_unary(Vm& vm, UnaryOp op, Value v);
Ref tensor_abs(Vm& vm, Value v);
// The rows of a tensor along its first dimension.
Ptr<Tuple> tensor_rows(Vm& vm, const tensor::Tensor& tensor);

// An error of the tensor rooms as the script's exception.
[[noreturn]] void raise_tensor_error(Vm& vm, const tensor::Error& error);
template <class F>
decltype(auto) with_tensor_errors(Vm& vm, F&& body) {
    try {
        return body();
    } catch (const tensor::Error& error) {
        raise_tensor_error(vm, error);
    }
}

// Seed and position of the next random operator, as operands; advances the stream.
std::array<tensor::Tensor, 2> random_operands(Vm& vm);

// Connects an engine's tensors with its heap and the threads of the process, and parts them.
void init_tensors(Vm& vm);
void end_tensors(Vm& vm);
// Memory of tensors that are gone counts as free from here on.
void settle_tensors(Vm& vm);

}  // namespace talc::vm
