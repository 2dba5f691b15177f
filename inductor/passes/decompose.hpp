#pragma once
// Operators that are made of others, written out so that their parts can be fused: one row of a table each.
#include "graph/rewrite.hpp"

namespace talc::inductor {

graph::Graph decompose(const graph::Graph& graph, std::vector<graph::RewriteCount>* counts = nullptr);

}  // namespace talc::inductor
