#pragma once
// Sees what an engine's tensor code does, operator by operator and in order: the recorder of traces is one. Operators
// run as ever; what autograd/ does on the way (recording, gradients of a backward pass) is shown as the operators that
// it runs.
#include <memory>
#include <span>

#include "tensor/ops.hpp"
#include "tensor/tensor.hpp"

namespace talc::tensor {

// What an observer wants to know again when the gradient of an operator is computed.
struct Remembered {
    virtual ~Remembered() = default;
};

class Observer {
  public:
    virtual ~Observer() = default;
    // An operator has run; views too (results then share the operand's storage).
    virtual void ran(Op op, Tensors inputs, const Attrs& attrs, std::span<const Tensor> results) = 0;
    // `target`'s elements have become the operator's result (broadcast and cast to it). Copy and Fill: what is written
    // is inputs[1], or attrs.value.
    virtual void wrote(Op op, Tensors inputs, const Attrs& attrs, const Tensor& target) = 0;
    // A tensor was made from data of the program (tensor([1, 2]), from a buffer), or from the random stream's state.
    virtual void made(const Tensor& fresh) = 0;
    // A number of the language became an operand: argument `argument` of the builtin, or operand of the operator.
    virtual void number(const Tensor& made, size_t argument) = 0;
    // Elements are about to be read by the program: item, tolist, bool, printing.
    virtual void reading(const Tensor& tensor) = 0;
    // A leaf's gradient was set (empty: taken away), by a backward pass or by the program.
    virtual void grad_set(const Tensor& leaf, const Tensor& grad) = 0;
    // The operator that ran last goes on the tape.
    virtual std::shared_ptr<const Remembered> remember() { return nullptr; }
    // A number that was computed from sizes has become an operand.
    virtual void size_used() {}
};

}  // namespace talc::tensor
