#pragma once
// Gradients on graphs: vjp nodes are added to the same graph, so that forward and backward are one.
#include <span>
#include <vector>

#include "graph/graph.hpp"

namespace talc::autograd {

// The gradients of the roots with respect to `inputs` (any values of the graph). A null seed stands for ones. Null
// where the roots do not depend on an input.
std::vector<graph::Value> graph_gradients(graph::Graph& graph, std::span<const graph::Value> roots,
                                          std::span<const graph::Value> seeds, std::span<const graph::Value> inputs);

// The same for inputs of the graph, before what comes to one of them is added up: as the tape would have it from the
// operators one by one, so that sums with what comes from elsewhere round as there.
std::vector<std::vector<graph::Value>> graph_gradient_parts(graph::Graph& graph, std::span<const graph::Value> roots,
                                                            std::span<const graph::Value> seeds,
                                                            std::span<const graph::Value> inputs);

}  // namespace talc::autograd
