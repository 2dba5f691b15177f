#include "autograd/graph_backward.hpp"

#include <map>

#include "autograd/builder.hpp"
#include "autograd/vjp.hpp"
#include "tensor/error.hpp"

namespace talc::autograd {

using graph::Value;

namespace {

// Which nodes lie on a differentiable way from the inputs.
std::vector<bool> reached(const graph::Graph& graph, std::span<const Value> inputs) {
    std::vector<bool> reached(graph.size(), false);
    for (Value input : inputs) reached[input->id] = true;
    for (const graph::Node& node : graph.nodes()) {
        bool passes = node.op == tensor::Op::Output ? node.attrs.which == 0 : vjp_info(node.op).differentiable;
        if (reached[node.id] || !passes || !tensor::is_float(node.dtype())) continue;
        for (Value input : node.inputs) reached[node.id] = reached[node.id] || reached[input->id];
    }
    return reached;
}

std::vector<std::vector<Value>> run_backward(graph::Graph& graph, std::span<const Value> roots, std::span<const Value> seeds,
                                             std::span<const Value> inputs, bool in_parts) {
    GraphEmit emitter(graph);
    Builder<GraphEmit> b(emitter);
    std::vector<bool> wanted = reached(graph, inputs);
    // From the last node to the first: every user of a value has had its turn when its own comes.
    std::map<uint32_t, Value, std::greater<>> pending;
    std::map<uint32_t, std::vector<Value>> found;
    const size_t forward_size = graph.size();
    auto deliver = [&](Value value, Value gradient) {
        if (value->id >= forward_size || !wanted[value->id]) return;
        if (in_parts && value->op == tensor::Op::Input) {
            found[value->id].push_back(gradient);
            return;
        }
        Value& total = pending[value->id];
        total = total ? b.add(total, gradient) : gradient;
    };
    for (size_t i = 0; i < roots.size(); ++i) {
        Value seed = i < seeds.size() ? seeds[i] : nullptr;
        const graph::TensorType& type = roots[i]->type();
        if (!seed) seed = b.full(type.shape, 1.0, type.dtype, type.device);
        if (!b.same_shape(seed->shape(), type.shape)) {
            tensor::fail("the gradient has type {}, but the value {}", to_string(seed->type()), to_string(type));
        }
        deliver(roots[i], b.cast(seed, type.dtype));
    }
    while (!pending.empty()) {
        auto [id, gradient] = *pending.begin();
        pending.erase(pending.begin());
        found[id] = {gradient};
        const graph::Node& node = graph.nodes()[id];
        if (node.op == tensor::Op::Output) {
            deliver(node.inputs[0], gradient);
            continue;
        }
        if (!vjp_info(node.op).differentiable) continue;
        graph.set_span(node.spans.empty() ? Span{} : node.spans.front());
        VjpCall<GraphEmit> call{
            node.op,
            node.attrs,
            node.inputs.size(),
            [&](size_t i) -> const graph::Shape& { return node.inputs[i]->shape(); },
            [&](size_t i) { return node.inputs[i]->dtype(); },
            [&](size_t i) { return node.inputs[i]->type().device; },
            [&](size_t i) { return node.inputs[i]; },
            [&](size_t i) { return graph.output(&node, static_cast<int64_t>(i)); },
            [&](size_t i) { return bool(wanted[node.inputs[i]->id]); },
            gradient,
        };
        std::vector<Value> below = run_vjp(emitter, call);
        for (size_t i = 0; i < below.size(); ++i) {
            if (below[i]) deliver(node.inputs[i], below[i]);
        }
    }
    graph.set_span({});
    std::vector<std::vector<Value>> results;
    for (Value input : inputs) results.push_back(found[input->id]);
    return results;
}

}  // namespace

std::vector<Value> graph_gradients(graph::Graph& graph, std::span<const Value> roots, std::span<const Value> seeds,
                                   std::span<const Value> inputs) {
    std::vector<Value> results;
    for (auto& parts : run_backward(graph, roots, seeds, inputs, false)) results.push_back(parts.empty() ? nullptr : parts[0]);
    return results;
}

std::vector<std::vector<Value>> graph_gradient_parts(graph::Graph& graph, std::span<const Value> roots,
                                                     std::span<const Value> seeds, std::span<const Value> inputs) {
    return run_backward(graph, roots, seeds, inputs, true);
}

}  // namespace talc::autograd
