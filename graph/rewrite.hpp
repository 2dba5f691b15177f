#pragma once
// Rewriting: a pass walks a graph from operands to users and builds a new one. Rules are data: an operator, a name
// for the log, and a function that may return a replacement. Laws for rules: the replacement has the same type, means
// the same for every input, and some measure falls (so that rewriting ends).
#include <span>
#include <string_view>
#include <unordered_map>

#include "graph/graph.hpp"

namespace talc::graph {

// Copies nodes of one graph into another. The new graph knows the old one's symbols and facts.
class Copier {
  public:
    Copier(const Graph& from, Graph& to);
    // The copy of a node whose operands have copies.
    Value copy(Value node);
    Value operator()(Value node) const { return copies_.at(node); }
    // From now on `copy` stands for `node`.
    void replace(Value node, Value copy) { copies_[node] = copy; }
    bool has(Value node) const { return copies_.count(node) != 0; }

  private:
    Graph& to_;
    std::unordered_map<Value, Value> copies_;
};

struct Rule {
    Op op;
    std::string_view name;
    // `node` is in the new graph; null when the rule does not apply.
    Value (*apply)(Graph& graph, Value node);
};

struct RewriteCount {
    std::string_view rule;
    size_t times;
};

// Applies the rules, in order, to every live node until none applies to it. `counts`, if given, gets one entry a rule.
Graph rewrite(const Graph& graph, std::span<const Rule> rules, std::vector<RewriteCount>* counts = nullptr);
// A copy with dead nodes left out: the same text.
Graph copy(const Graph& graph);

}  // namespace talc::graph
