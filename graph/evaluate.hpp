#pragma once
// Running a graph node by node: by the plain reference (the meaning of a graph) or by the eager kernels (the backend
// "aot_eager", and the way out when a fragment cannot be compiled).
#include <span>
#include <vector>

#include "graph/graph.hpp"
#include "tensor/context.hpp"

namespace talc::graph {

enum class Engine : uint8_t { Reference, Eager };

// Values of the symbols, found from the sizes of the arguments. Fails when the arguments do not fit the parameters
// (rank, dtype, device, sizes) or break one of the graph's facts.
std::vector<int64_t> bind_symbols(const Graph& graph, std::span<const tensor::Tensor> arguments);

// One tensor for each output. Results may alias arguments where an output is a view of one.
std::vector<tensor::Tensor> evaluate(const Graph& graph, tensor::Context& context,
                                     std::span<const tensor::Tensor> arguments, Engine engine = Engine::Eager);

}  // namespace talc::graph
