#pragma once
// Checks that a graph is well formed: every node has the types that the table's rules give, operands come first and
// belong to the graph, attributes are in their normal form. Run after every pass in debug builds.
#include "graph/graph.hpp"

namespace talc::graph {

// Fails with a message that names the node.
void verify(const Graph& graph);

}  // namespace talc::graph
