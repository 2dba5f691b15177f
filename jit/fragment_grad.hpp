#pragma once
// A fragment whose results are differentiated outside of it: one node of the eager tape, with a backward graph made
// ahead of time and the values that it needs kept by the forward run.
#include <map>

#include "autograd/tape.hpp"
#include "autograd/vjp.hpp"
#include "jit/trace.hpp"

namespace talc::jit {

// The gradients that come with gradients of some of the results, as a graph of its own.
struct BackwardGraph {
    explicit BackwardGraph(tensor::DType default_float) : fragment(default_float) {}

    Fragment fragment;  // its inputs are described by `leaves`
    struct Leaf {
        enum Kind : uint8_t { Argument, Saved, Seed } kind;
        uint32_t index;  // of the forward's input, of FragmentGradient::saved, of FragmentGradient::roots
    };
    std::vector<Leaf> leaves;
    std::vector<Leaf> watched;            // a write to one of these since the forward run is an error
    std::vector<graph::Value> gradients;  // one for each of FragmentGradient::edges; null: none
    std::vector<graph::DimFact> assumes;  // of sizes, beyond what the forward graph does
    bool sized = true;                    // its leaves show every size that it needs
    // Native code, for tensors that lie in memory so; made when they first come.
    struct Native {
        std::vector<const tensor::LayoutClass*> layouts;
        std::unique_ptr<inductor::Executable> code;  // null: the compiler refused
    };
    std::vector<Native> natives;
};

struct FragmentGradient {
    // Values of the forward graph that the gradient uses. Those that the program's own operators keep are watched:
    // a write to one is an error; others come in because the gradient computes the same.
    std::vector<graph::Value> saved;
    std::vector<bool> watched;
    std::vector<uint32_t> roots;      // outputs of the fragment that carry gradients
    // For each of these, those whose histories share a step that keeps values: after a backward pass through the one
    // there is none through the other.
    std::vector<std::vector<uint32_t>> entwined;
    std::vector<uint32_t> inputs;  // inputs that want a gradient
    bool in_parts = false;         // which comes unadded, as from the operators one by one
    std::vector<uint32_t> edges;   // the input that each gradient is for
    // By which of the roots have a gradient. All of them comes ahead of time and says what is saved; the others, which
    // need no more than that, when they are asked for: what no gradient comes from must have no part in it.
    std::map<std::vector<bool>, std::unique_ptr<BackwardGraph>> backward;
    const BackwardGraph& whole() const { return *backward.at(std::vector<bool>(roots.size(), true)); }
};

// What an operator of the program keeps for its gradient: its operands and results, as bits.
autograd::Needs kept_by(const Fragment& fragment, const graph::Node& node);
// The value whose memory this one, a view perhaps, is a part of.
graph::Value memory_of(graph::Value value);

// Null when no output carries gradients.
std::unique_ptr<FragmentGradient> make_gradient(const Fragment& fragment, bool in_parts);

// Before a forward run, which may write to its arguments: their place on the tape, with the arguments as they are.
tensor::Ref<autograd::GradNode> start_gradient(const std::shared_ptr<Fragment>& fragment, std::span<const tensor::Tensor> arguments);
// Puts the results of the run there.
void attach_gradient(tensor::Context& context, const tensor::Ref<autograd::GradNode>& started, std::span<const tensor::Tensor> saved,
                     std::span<tensor::Tensor> results);

}  // namespace talc::jit
