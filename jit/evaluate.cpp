#include "jit/evaluate.hpp"

#include <algorithm>
#include <unordered_map>

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
    // Equal values of a graph are one; results of the program's operators are different ones, each with its history.
    std::vector<uint32_t> copies(graph.size(), 0);
    for (Value value : wanted) uses[value->id]++, copies[value->id]++;
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
    std::unordered_multimap<uint32_t, Tensor> twins;
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
        bool grad = with_tape && node->id < fragment.with_grad.size() && fragment.with_grad[node->id];
        tensor::Attrs attrs = graph::concrete(node->attrs, symbols);
        auto compute = [&] {
            std::vector<Tensor> made(node->types.size());
            autograd::GradMode mode(context, grad);
            autograd::apply(context, node->op, operands, attrs, made);
            if (auto order = fragment.written_orders.find(node->id); order != fragment.written_orders.end()) {
                made[0] = laid_out(context, made[0], order->second);
            }
            if (writes_to.empty() || !writes_to[node->id]) return made;
            bool shares = std::any_of(operands.begin(), operands.end(), [&](const Tensor& t) { return t.shares_storage(made[0]); });
            if (shares && !made[0].requires_grad()) {
                made[0] = autograd::apply(context, Op::Clone, std::span(made).first(1));
                shares = false;
            }
            if (!shares) raise_version(made[0], writes_to[node->id]);
            return made;
        };
        own = compute();
        for (uint32_t k = 1; k < copies[node->id]; ++k) twins.emplace(node->id, compute()[0]);
    }
    std::vector<Tensor> outputs;
    std::vector<bool> given(graph.size(), false);
    for (Value value : wanted) {
        auto twin = given[value->id] ? twins.find(value->id) : twins.end();
        outputs.push_back(twin != twins.end() ? twin->second : results[value->id][0]);
        if (twin != twins.end()) twins.erase(twin);
        given[value->id] = true;
    }
    return outputs;
}

}  // namespace talc::jit
