#pragma once
// Compiling a graph and comparing what it gives with the plain reference.
#include <string>
#include <vector>

#include "graph/evaluate.hpp"
#include "graph/graph.hpp"
#include "inductor/backend.hpp"

namespace talc::inductor::testing {

// What the guards of a call with these arguments would promise.
FragmentSpec spec_for(const graph::Graph& graph, std::span<const tensor::Tensor> arguments);

struct Tolerance {
    double ulps = 2;      // of the result's dtype
    double absolute = 0;  // where results cancel
};
// Empty when the same within the tolerance, else the first difference in words. Integers and bools must be equal.
std::string difference(const tensor::Tensor& got, const tensor::Tensor& wanted, Tolerance tolerance = {});

// Compiles, runs twice, and compares with the reference; the first difference in words, with the kernels.
std::string check(const graph::Graph& graph, std::span<const tensor::Tensor> arguments, Tolerance tolerance = {});

}  // namespace talc::inductor::testing
