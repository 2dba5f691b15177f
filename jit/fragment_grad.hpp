#pragma once
// A fragment whose results are differentiated outside of it: one node of the eager tape, with a backward graph made
// ahead of time and the values that it needs kept by the forward run.
#include "jit/trace.hpp"

namespace talc::jit {

struct FragmentGradient {
    Fragment backward;  // its graph; inputs are described by `leaves`
    struct Leaf {
        enum Kind : uint8_t { Argument, Saved, Seed } kind;
        uint32_t index;  // of the forward's input, of `saved`, of `roots`
    };
    std::vector<Leaf> leaves;
    std::vector<graph::Value> saved;      // values of the forward graph, beyond its outputs
    std::vector<uint32_t> roots;          // outputs of the fragment that carry gradients
    // For each of these, those whose histories share a step that keeps values: after a backward pass through the one
    // there is none through the other.
    std::vector<std::vector<uint32_t>> entwined;
    std::vector<uint32_t> inputs;         // inputs that want a gradient
    std::vector<graph::Value> gradients;  // in `backward`, one for each of these; null: none
    std::unique_ptr<inductor::Executable> code;

    explicit FragmentGradient(tensor::DType default_float) : backward(default_float) {}
};

// Null when no output carries gradients.
std::unique_ptr<FragmentGradient> make_gradient(const Fragment& fragment);

// Puts the results of a forward run on the tape.
void attach_gradient(tensor::Context& context, const std::shared_ptr<Fragment>& fragment, std::span<const tensor::Tensor> arguments,
                     std::span<const tensor::Tensor> saved, std::span<tensor::Tensor> results);

}  // namespace talc::jit
