#include "autograd/op_node.hpp"

#include <fmt/format.h>

#include "autograd/traced_emit.hpp"
#include "autograd/vjp.hpp"
#include "tensor/error.hpp"

namespace talc::autograd {

OpNode::OpNode(Context& context, tensor::Op op, tensor::Attrs attrs, std::vector<TensorMeta> operand_metas,
               std::vector<Edge> operand_edges, std::vector<TensorMeta> result_metas)
    : op_(op), attrs_(std::move(attrs)), operands_(std::move(operand_metas)) {
    edges = std::move(operand_edges);
    results = std::move(result_metas);
    number(context);
}

uint32_t OpNode::needed() const {
    Needs needs = 0;
    for (size_t i = 0; i < edges.size(); ++i) {
        if (edges[i]) needs |= vjp_needs(op_, i, edges.size());
    }
    return needs;
}

bool OpNode::needs_operand(size_t i) const { return (needed() & operand_bit(i)) != 0; }

void OpNode::save_operands(Tensors inputs) {
    Needs needs = needed();
    saved_operands_.resize(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (needs & operand_bit(i)) saved_operands_[i] = SavedTensor(inputs[i], edges[i]);
    }
}

void OpNode::save_results(Tensors values) {
    Needs needs = needed();
    saved_results_.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
        if (needs & result_bit(i)) saved_results_[i] = SavedTensor(values[i], {nullptr, static_cast<uint32_t>(i), {}});
    }
}

Tensor OpNode::saved_result(size_t i) {
    // Indices and the like stay off the tape.
    bool carries = tensor::is_float(results[i].dtype);
    return saved_results_[i].unpack(carries ? Ref<GradNode>(this) : nullptr);
}

std::vector<Tensor> OpNode::backward(Context& context, std::span<const Tensor> gradients, bool keep) {
    if (!gradients[0]) return std::vector<Tensor>(edges.size());
    auto dtype = [this](size_t i) { return operands_[i].dtype; };
    auto device = [this](size_t i) { return operands_[i].device; };
    auto operand = [this](size_t i) { return saved_operands_[i].unpack(); };
    auto saved = [this](size_t i) { return saved_result(i); };
    auto wanted = [this](size_t i) { return static_cast<bool>(edges[i]); };
    auto* call = static_cast<const SymbolicCall*>(remembered_.get());
    auto* observer = call ? dynamic_cast<SizeObserver*>(context.observer) : nullptr;
    std::vector<Tensor> result;
    if (observer && observer->follows(*call)) {
        TracedEmit emitter(context, *observer);
        TracedEmit::Attrs attrs = TracedEmit::attrs_of(attrs_, call->attrs);
        std::vector<TracedEmit::Shape> shapes;
        for (size_t i = 0; i < operands_.size(); ++i) {
            shapes.push_back(TracedEmit::shape_of(operands_[i].shape, call->operands[i]));
        }
        auto shape = [&](size_t i) -> const TracedEmit::Shape& { return shapes[i]; };
        result = run_vjp(emitter, VjpCall<TracedEmit>{op_, attrs, edges.size(), shape, dtype, device, operand, saved, wanted, gradients[0]});
    } else {
        TensorEmit emitter(context);
        auto shape = [this](size_t i) -> const tensor::Dims& { return operands_[i].shape; };
        result = run_vjp(emitter, VjpCall<TensorEmit>{op_, attrs_, edges.size(), shape, dtype, device, operand, saved, wanted, gradients[0]});
    }
    if (!keep && needed() != 0) {
        spend();
        saved_operands_.clear();
        saved_results_.clear();
    }
    return result;
}

std::string OpNode::name() const {
    std::string_view base = vjp_info(op_).name;
    if (op_ == tensor::Op::Matmul) {
        size_t left = operands_[0].shape.size(), right = operands_[1].shape.size();
        base = left == 1 && right == 1 ? "Dot" : left == 2 && right == 1 ? "Mv" : left == 2 && right == 2 ? "Mm" : "UnsafeView";
        if (left == 3 && right == 3) base = "Bmm";
    }
    // PyTorch numbers the overloads: with dims they are the second one.
    bool overload = (op_ == tensor::Op::Sum || op_ == tensor::Op::Mean || op_ == tensor::Op::Prod) &&
                    attrs_.dims.size() < operands_[0].shape.size() && !attrs_.dims.empty();
    return fmt::format("{}Backward{}", base, overload ? 1 : 0);
}

}  // namespace talc::autograd
