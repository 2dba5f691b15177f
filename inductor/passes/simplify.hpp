#pragma once
// Rewrite rules that make a graph smaller without changing what it means for any input, nan and zeros' signs included.
#include "graph/rewrite.hpp"

namespace talc::inductor {

graph::Graph simplify(const graph::Graph& graph, std::vector<graph::RewriteCount>* counts = nullptr);

}  // namespace talc::inductor
