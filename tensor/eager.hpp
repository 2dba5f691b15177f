#pragma once
// Running operators at once, on tensors. Pure functions of their operands, but for the Write kind; gradients
// are not recorded here (autograd/ wraps these).
#include <span>

#include "tensor/context.hpp"
#include "tensor/ops.hpp"
#include "tensor/tensor.hpp"
#include "tensor/type_rules.hpp"

namespace talc::tensor {

struct Inferred {
    Dims shape;  // of every output
    DTypes dtypes;
    Device device;
};
// Checks operands, devices, dtypes and shapes by the operator's rules.
Inferred infer(const Context& context, Op op, Tensors inputs, const Attrs& attrs);

// How operators run on a device other than the CPU. Views and writes are done by the caller, on metadata and through
// copy_elements. Thread-safe, and as long-lived as the process.
class DeviceOps {
  public:
    virtual ~DeviceOps() = default;
    // Operands and attributes have passed the rules; 0-dim operands may lie on the CPU.
    virtual void run(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred& inferred,
                     std::span<Tensor> results) = 0;
    // A pointwise operator into elements that exist already; `target` has the inferred shape, any dtype and strides
    // without overlap, and does not partly overlap an operand.
    virtual void pointwise_into(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred& inferred,
                                const Tensor& target) = 0;
    // An operator whose result is its first operand with elements replaced, into that operand itself; the others lie
    // apart from it. False: nothing was done, and it goes through a fresh tensor.
    virtual bool replace_in(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred& inferred) = 0;
    // Every element of `from` (broadcast, cast) to `to`, which lies on the device, as `from` does unless it is 0-dim.
    virtual void copy_elements(Context& context, const Tensor& from, const Tensor& to) = 0;
};

// Runs any operator of the table but leaves. `results` holds one tensor for each output.
void run(Context& context, Op op, Tensors inputs, const Attrs& attrs, std::span<Tensor> results);
// The same for operators with one output.
Tensor run(Context& context, Op op, Tensors inputs, const Attrs& attrs = {});

// Runs an operator into an existing tensor's elements, as `x += y` does: the result is broadcast and cast to it.
// Bumps its storage's version. Operands may be `target` itself or overlap it.
void run_into(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Tensor& target);

// The slow definition of every operator, element by element: what kernels and compiled code are compared with.
void run_reference(Context& context, Op op, Tensors inputs, const Attrs& attrs, std::span<Tensor> results);
Tensor run_reference(Context& context, Op op, Tensors inputs, const Attrs& attrs = {});

}  // namespace talc::tensor
