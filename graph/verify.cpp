#include "graph/verify.hpp"

#include <unordered_set>

#include "graph/text.hpp"
#include "tensor/error.hpp"

namespace talc::graph {

namespace {

[[noreturn]] void refuse(const Graph& graph, const Node& node, const std::string& why) {
    tensor::fail("the graph is malformed at node {} ({}): {}\n{}", node.id, tensor::name_of(node.op), why, print(graph));
}

void verify_node(const Graph& graph, const Node& node) {
    const tensor::OpInfo& row = tensor::info(node.op);
    if (node.types.size() != row.outputs) refuse(graph, node, "wrong number of results");
    if (node.op == Op::Input) return;
    if (node.op == Op::Constant) {
        if (!node.constant || !(type_of(node.constant) == node.type())) refuse(graph, node, "type and value differ");
        return;
    }
    if (node.op == Op::Output) {
        const auto& types = node.inputs[0]->types;
        size_t which = static_cast<size_t>(node.attrs.which);
        if (which >= types.size() || !(types[which] == node.type())) refuse(graph, node, "no such result");
        return;
    }
    if (row.kind == tensor::Kind::Write) refuse(graph, node, "a write");
    std::vector<const TensorType*> types;
    for (Value input : node.inputs) types.push_back(&input->type());
    // On a copy: facts that the rules need must be there already.
    DimEnv env = graph.dims();
    size_t known = env.facts().size();
    Attrs attrs = node.attrs;
    std::vector<TensorType> inferred;
    try {
        inferred = infer_types(env, graph.default_float(), node.op, types, attrs);
    } catch (const tensor::Error& error) {
        refuse(graph, node, error.what());
    }
    if (inferred != node.types) refuse(graph, node, "the rules give " + to_string(inferred[0]));
    if (!(attrs == node.attrs)) refuse(graph, node, "attributes are not in their normal form");
    if (env.facts().size() != known) refuse(graph, node, "needs the fact " + to_string(env.facts().back()));
}

}  // namespace

void verify(const Graph& graph) {
    std::unordered_set<Value> seen;
    for (const Node& node : graph.nodes()) {
        for (Value input : node.inputs) {
            if (!seen.count(input)) refuse(graph, node, "an operand does not come before it");
        }
        verify_node(graph, node);
        seen.insert(&node);
    }
    for (Value output : graph.outputs()) {
        if (!seen.count(output)) tensor::fail("an output does not belong to the graph");
        if (output->types.size() != 1) refuse(graph, *output, "an output with several results");
    }
}

}  // namespace talc::graph
