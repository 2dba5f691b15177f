#pragma once
// A fragment's graph, operator by operator through autograd: what an exit needs, what the backend "eager" runs, and what
// runs while a compiler is not ready.
#include <functional>
#include <span>

#include "jit/trace.hpp"

namespace talc::jit {

// Gives the tensor of an input when it is asked for.
using InputOf = std::function<tensor::Tensor(size_t input)>;

// `writes` says how often the program has written to the memory of each value that is wanted, up to then: what the tape
// keeps of it, it keeps after that.
std::vector<tensor::Tensor> evaluate(tensor::Context& context, const Fragment& fragment,
                                     std::span<const graph::Value> wanted, const InputOf& input, bool with_tape,
                                     const graph::SymbolValues& symbols, std::span<const uint32_t> writes = {});

}  // namespace talc::jit
