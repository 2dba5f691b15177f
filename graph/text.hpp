#pragma once
// The text form of graphs, for logs, golden tests and dumps:
//     graph(%0: float32[s0, 512], %1: float32[1024, 512]) {
//         %2: float32[512, 1024] = permute(%1, dims=[1, 0])
//         %3: float32[s0, 1024] = matmul(%0, %2)
//         return %3
//     }
// Values are numbered in order of printing. Facts about sizes stand after the parameters: where s0 == s1.
#include <string>
#include <string_view>

#include "graph/graph.hpp"
#include "tensor/context.hpp"

namespace talc::graph {

std::string print(const Graph& graph);
// The attributes of one node as print writes them: "dims=[1], keepdim=true".
std::string print_attrs(const Node& node);

// Reads what print writes (constants up to kPrintedConstant elements). Fails with the line and what was expected;
// a declared type that the rules do not give is an error too.
Graph parse(tensor::Context& context, std::string_view text);

inline constexpr int64_t kPrintedConstant = 256;

}  // namespace talc::graph
