#include "graph/rewrite.hpp"

#include "tensor/error.hpp"

namespace talc::graph {

namespace {

constexpr int kMaxRewrites = 1000;  // at one node: more means that rules chase each other

}  // namespace

Copier::Copier(const Graph& from, Graph& to) : to_(to) {
    to.dims() = from.dims();
    for (Value input : from.inputs()) copies_[input] = to.input(input->type());
}

Value Copier::copy(Value node) {
    auto found = copies_.find(node);
    if (found != copies_.end()) return found->second;
    std::vector<Value> inputs;
    for (Value input : node->inputs) inputs.push_back(copies_.at(input));
    Value made;
    if (node->op == Op::Constant) {
        made = to_.constant(node->constant);
    } else if (node->op == Op::Output) {
        made = to_.output(inputs[0], node->attrs.which);
    } else {
        made = to_.add(node->op, inputs, node->attrs);
    }
    for (Span span : node->spans) {
        bool seen = false;
        for (Span own : made->spans) seen = seen || (own.begin == span.begin && own.end == span.end);
        if (!seen) made->spans.push_back(span);
    }
    copies_[node] = made;
    return made;
}

Graph rewrite(const Graph& graph, std::span<const Rule> rules, std::vector<RewriteCount>* counts) {
    Graph result(graph.default_float());
    Copier copier(graph, result);
    if (counts) {
        counts->clear();
        for (const Rule& rule : rules) counts->push_back({rule.name, 0});
    }
    for (Value node : graph.live()) {
        if (node->op == Op::Input) continue;
        Value current = copier.copy(node);
        int steps = 0;
        for (size_t i = 0; i < rules.size(); ++i) {
            if (rules[i].op != current->op) continue;
            Value better = rules[i].apply(result, current);
            if (!better || better == current) continue;
            if (better->types != current->types) {
                tensor::fail("rule {} turned {} into {}", rules[i].name, to_string(current->type()),
                             to_string(better->type()));
            }
            if (++steps > kMaxRewrites) tensor::fail("rule {} does not end", rules[i].name);
            for (Span span : node->spans) {
                if (better->spans.empty()) better->spans.push_back(span);
            }
            if (counts) ++(*counts)[i].times;
            current = better;
            i = static_cast<size_t>(-1);  // from the first rule again
        }
        copier.replace(node, current);
    }
    std::vector<Value> outputs;
    for (Value output : graph.outputs()) outputs.push_back(copier(output));
    result.set_outputs(std::move(outputs));
    return result;
}

Graph copy(const Graph& graph) { return rewrite(graph, {}); }

}  // namespace talc::graph
