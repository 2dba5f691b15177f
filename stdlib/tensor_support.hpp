#pragma once
// What the builtins on tensors share: arguments, and results.
#include <optional>
#include <string_view>
#include <vector>

#include "autograd/compose.hpp"
#include "autograd/emit.hpp"
#include "autograd/tape.hpp"
#include "stdlib/support.hpp"
#include "tensor/ops.hpp"
#include "tensor/shape_rules.hpp"
#include "vm/tensor.hpp"

namespace talc::stdlib {

using tensor::DType;
using tensor::Dims;
using tensor::Op;
using tensor::Scalar;
using tensor::Tensor;

// Operators and compositions that run at once on the engine's tensors.
struct Eager : autograd::TensorEmit, autograd::Compose<autograd::TensorEmit> {
    explicit Eager(Vm& vm)
        : autograd::TensorEmit(vm.tensors), autograd::Compose<autograd::TensorEmit>(static_cast<autograd::TensorEmit&>(*this)) {}
    using autograd::TensorEmit::emit;
};

// ---- Arguments ----

// "exp(): argument 'input' (position 1) must be Tensor, not int"
[[noreturn]] void wrong_argument(Vm& vm, std::string_view function, std::string_view name, size_t position,
                                 std::string_view wanted, Value given);
Tensor tensor_arg(Vm& vm, const Args& args, size_t at, std::string_view function, std::string_view name = "input");
// A tensor, or an empty one for None and what is not given.
Tensor optional_tensor_arg(Vm& vm, const Args& args, size_t at, std::string_view function, std::string_view name);
// A tensor or a number.
Tensor operand_arg(Vm& vm, const Args& args, size_t at, std::string_view function, std::string_view name = "other");
Tensor optional_operand_arg(Vm& vm, const Args& args, size_t at, std::string_view function, std::string_view name);
inline bool given(Value v) { return !v.is_undef() && !v.is_none(); }

int64_t int_arg(Vm& vm, Value v, std::string_view function, std::string_view name, size_t position);
bool flag_arg(Vm& vm, Value v);
std::optional<DType> dtype_arg(Vm& vm, Value v, std::string_view function);   // None: none
// A device, its name or an index of a GPU; None: the default.
tensor::Device device_arg(Vm& vm, Value v);
// Numbers from one int or a sequence of ints.
Dims ints_arg(Vm& vm, Value v, std::string_view function, std::string_view name, size_t position);
// Sizes (or dims) given one by one or as one sequence.
Dims rest_ints(Vm& vm, const Args& args, std::string_view function, std::string_view name, size_t position);
// A dim of the tensor, counted from the front.
int64_t dim_arg(Vm& vm, Value v, int64_t rank, std::string_view function, size_t position = 2);
// Dims for a reduction: None (all of them), one or several.
Dims dims_arg(Vm& vm, Value v, int64_t rank, std::string_view function);
std::vector<Tensor> tensors_arg(Vm& vm, Value v, std::string_view function);
Scalar number_arg(Vm& vm, Value v, std::string_view function, std::string_view name, size_t position);
autograd::Reduce reduction_arg(Vm& vm, Value v);

// ---- Results ----
Ref wrap_all(Vm& vm, const std::vector<Tensor>& tensors);                // a tuple

// A tensor of a shape and value, as an operator.
Tensor filled(Vm& vm, const Dims& sizes, Scalar value, DType dtype, tensor::Device device);
Tensor uniform(Vm& vm, const Dims& sizes, DType dtype, tensor::Device device);
Tensor cast_to(Vm& vm, const Tensor& tensor, DType dtype);               // itself when it is of that dtype

}  // namespace talc::stdlib
