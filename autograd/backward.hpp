#pragma once
// Backward passes over the tape.
#include <span>
#include <vector>

#include "autograd/tape.hpp"

namespace talc::autograd {

struct BackwardOptions {
    bool retain_graph = false;
    bool create_graph = false;  // record the pass itself, for gradients of gradients
    bool allow_unused = false;  // gradients(): empty for tensors that the roots do not depend on
};

// Adds the gradients of the roots to the .grad of every leaf. `seeds`: one for each root, or empty handles for
// scalar roots (ones).
void backward(Context& context, Tensors roots, Tensors seeds, const BackwardOptions& options = {});
// The gradients with respect to `inputs`; touches no .grad.
std::vector<Tensor> gradients(Context& context, Tensors roots, Tensors seeds, Tensors inputs,
                              const BackwardOptions& options = {});

}  // namespace talc::autograd
