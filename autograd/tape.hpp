#pragma once
// The tape: running operators while recording what their gradients need. A tensor that takes part in a gradient
// points to the node that made it (its grad_fn); nodes point to the nodes of their operands.
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/context.hpp"
#include "tensor/eager.hpp"
#include "tensor/ops.hpp"
#include "tensor/tensor.hpp"

namespace talc::autograd {

using tensor::Context;
using tensor::Ref;
using tensor::Tensor;
using tensor::Tensors;

class GradNode;
struct Meta;

// Where a gradient goes: a result of a node, or a leaf that collects it. Neither: nobody wants it.
struct Edge {
    Ref<GradNode> node;
    uint32_t result = 0;
    Tensor leaf;

    explicit operator bool() const { return node || leaf; }
};

// Shape, dtype and device of an operand or result, without its values.
struct TensorMeta {
    tensor::Dims shape;
    tensor::DType dtype;
    tensor::Device device;
};
TensorMeta meta_of(const Tensor& tensor);

// Gets a gradient and may give another one in its place (or an empty tensor: no change).
using GradHook = std::function<Tensor(const Tensor&)>;

// One step of a backward pass. Table operators are OpNode; compiled fragments and custom gradients derive their own.
class GradNode : public tensor::Counted {
  public:
    ~GradNode() override;

    // Gradients of the operands from those of the results (empty: zero). Runs once unless `keep`, for saved values
    // are freed.
    virtual std::vector<Tensor> backward(Context& context, std::span<const Tensor> gradients, bool keep) = 0;
    // As PyTorch names it: AddBackward0.
    virtual std::string name() const = 0;
    // A backward pass has been through it and what it had saved is gone: another one fails.
    virtual bool spent() const { return spent_; }
    void spend() { spent_ = true; }

    std::vector<Edge> edges;          // one for each operand
    std::vector<TensorMeta> results;  // shapes for zero gradients and checks
    uint64_t order = 0;               // of recording: edges lead to lower ones
    // Called with the whole gradient of result `first` before it is used.
    std::vector<std::pair<uint32_t, GradHook>> hooks;
    // Tensors that want their gradient kept although they are no leaves; they take themselves off this list.
    std::vector<std::pair<uint32_t, Meta*>> retained;

  private:
    bool spent_ = false;

  protected:
    // The next number on the tape, above those of all edges.
    void number(Context& context);
    friend void attach(Context& context, const Ref<GradNode>& node, std::span<Tensor> results);
};

// A value kept for the backward pass: without its place on the tape (which would make a circle), but with the edge to
// restore it, and with the version of its storage, so that later writes are noticed.
class SavedTensor {
  public:
    SavedTensor() = default;
    // `maker`: the name of what made it, where that has no edge.
    SavedTensor(const Tensor& tensor, Edge edge, std::string maker = {});
    explicit operator bool() const { return static_cast<bool>(value_); }
    // Fails when the value has been written to since. `owner` is given for a node's own results: a node that held an
    // edge to itself would never be freed.
    Tensor unpack(Ref<GradNode> owner = nullptr) const;

  private:
    Tensor restored_leaf() const;

    Tensor value_;
    Edge edge_;
    std::string maker_;
    uint32_t version_ = 0;
};

// What hangs on a tensor that autograd knows.
struct Meta final : tensor::AutogradMeta {
    Ref<GradNode> node;  // null for leaves
    uint32_t result = 0;
    Tensor grad;
    bool retains_grad = false;
    std::vector<GradHook> leaf_hooks;
    ~Meta() override { set_node(nullptr, 0); }
    // Its place on the tape; a wish to retain the gradient moves along.
    void set_node(Ref<GradNode> made_by, uint32_t as_result);

    // Of a view: how it came from its base, step by step; its place on the tape is found again when the base's
    // history has moved on.
    struct Step {
        tensor::Op op;
        tensor::Attrs attrs;
        TensorMeta from;
    };
    Tensor base;
    std::vector<Step> steps;
    uint64_t base_history = 0;
    // Of a base: how often in-place operators have given it a new place on the tape.
    uint64_t history = 0;
};

// ---- running operators ------------------------------------------------------------------------------------

// Runs and, when gradients are on and an operand takes part, records.
Tensor apply(Context& context, tensor::Op op, Tensors inputs, const tensor::Attrs& attrs = {});
void apply(Context& context, tensor::Op op, Tensors inputs, const tensor::Attrs& attrs, std::span<Tensor> results);
// `target` takes on the result's values: x += y is apply_into(Add, {x, y}, {}, x).
void apply_into(Context& context, tensor::Op op, Tensors inputs, const tensor::Attrs& attrs, const Tensor& target);
// copy_ and fill_ through views, too.
void copy_into(Context& context, const Tensor& source, const Tensor& target);
void fill_with(Context& context, tensor::Scalar value, const Tensor& target);

// ---- a tensor's part in gradients -------------------------------------------------------------------------

// Views are brought up to date with their base first: ask these, not the flags.
bool requires_grad(const Tensor& tensor);
Ref<GradNode> grad_fn(const Tensor& tensor);
bool is_leaf(const Tensor& tensor);
Edge edge_of(const Tensor& tensor);
// It is a view, made without gradients, of what requires them: a write to it is a write to that.
bool views_history(const Tensor& tensor);
// Only leaves of float dtype.
void set_requires_grad(const Tensor& tensor, bool value);
Tensor grad_of(const Tensor& tensor);
void set_grad(Context& context, const Tensor& tensor, const Tensor& grad);
void retain_grad(const Tensor& tensor);
void register_hook(const Tensor& tensor, GradHook hook);
// Same values and storage, no gradient.
Tensor detach(const Tensor& tensor);

// A backward pass has been through the tensor's history, or a part of it.
bool is_spent(const Tensor& tensor);
// As if one had been.
void spend(const Tensor& tensor);
// A place on the tape that a backward pass has already been through.
Ref<GradNode> spent_node(std::string name);

// Gives fresh results of a custom node (a compiled fragment, a user's gradient) their place on the tape.
void attach(Context& context, const Ref<GradNode>& node, std::span<Tensor> results);

// Gradient mode for the length of a scope.
class GradMode {
  public:
    GradMode(Context& context, bool enabled) : context_(context), saved_(context.grad_enabled) {
        context.grad_enabled = enabled;
    }
    ~GradMode() { context_.grad_enabled = saved_; }
    GradMode(const GradMode&) = delete;
    GradMode& operator=(const GradMode&) = delete;

  private:
    Context& context_;
    bool saved_;
};

}  // namespace talc::autograd
