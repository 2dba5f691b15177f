#include "jit/evaluate.hpp"

#include <algorithm>

#include "autograd/tape.hpp"
#include "jit/fragment.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"

namespace talc::jit {

using graph::Value;
using tensor::Op;
using tensor::Tensor;

std::vector<Tensor> evaluate(tensor::Context& context, const Fragment& fragment, std::span<const Value> wanted,
                             const InputOf& input, bool with_tape, const graph::SymbolValues& symbols,
                             std::span<const uint32_t> writes) {
    const graph::Graph& graph = fragment.graph;
    std::vector<uint32_t> uses(graph.size(), 0);
    std::vector<Value> order, open(wanted.begin(), wanted.end());
    std::vector<bool> needed(graph.size(), false);
    for (Value value : wanted) uses[value->id]++;
    while (!open.empty()) {
        Value node = open.back();
        open.pop_back();
        if (needed[node->id]) continue;
        needed[node->id] = true;
        for (Value operand : node->inputs) open.push_back(operand);
    }
    for (const graph::Node& node : graph.nodes()) {
        if (!needed[node.id]) continue;
        order.push_back(&node);
        for (Value operand : node.inputs) uses[operand->id]++;
    }
    std::vector<uint32_t> writes_to(writes.empty() ? 0 : graph.size(), 0);
    for (size_t i = 0; i < writes.size(); ++i) writes_to[wanted[i]->id] = std::max(writes_to[wanted[i]->id], writes[i]);
    std::vector<std::vector<Tensor>> results(graph.size());
    std::vector<Tensor> operands;
    for (Value node : order) {
        auto& own = results[node->id];
        switch (node->op) {
            case Op::Input: own = {input(static_cast<size_t>(node->attrs.which))}; continue;
            case Op::Constant: own = {node->constant}; continue;
            case Op::Number: own = {tensor::number(context, node->attrs.value)}; continue;
            default: break;
        }
        operands.clear();
        for (Value operand : node->inputs) {
            auto& given = results[operand->id];
            operands.push_back(node->op == Op::Output ? given[static_cast<size_t>(node->attrs.which)] : given[0]);
            if (--uses[operand->id] == 0) given.clear();  // memory goes as soon as nobody needs it
        }
        if (node->op == Op::Output) {
            own = operands;
            continue;
        }
        own.resize(node->types.size());
        bool grad = with_tape && node->id < fragment.with_grad.size() && fragment.with_grad[node->id];
        autograd::GradMode mode(context, grad);
        autograd::apply(context, node->op, operands, graph::concrete(node->attrs, symbols), own);
        if (auto order = fragment.written_orders.find(node->id); order != fragment.written_orders.end()) {
            own[0] = laid_out(context, own[0], order->second);
        }
        if (writes_to.empty() || !writes_to[node->id]) continue;
        bool shares = std::any_of(operands.begin(), operands.end(), [&](const Tensor& t) { return t.shares_storage(own[0]); });
        if (shares && !own[0].requires_grad()) {
            own[0] = autograd::apply(context, Op::Clone, std::span(own).first(1));
            shares = false;
        }
        if (!shares) raise_version(own[0], writes_to[node->id]);
    }
    std::vector<Tensor> outputs;
    for (Value value : wanted) outputs.push_back(results[value->id][0]);
    return outputs;
}

}  // namespace talc::jit
