#pragma once
// From units to a plan: which buffer holds what, where arguments are written in place, the order of the steps, and the
// kernels' loops over memory. Lifetimes of temporaries are noted; places in the arena are found when sizes are known.
#include "inductor/backend.hpp"
#include "inductor/passes/fuse.hpp"
#include "inductor/plan.hpp"

namespace talc::inductor {

// The strides of an argument as its layout class tells; what it does not tell is a symbol.
Shape argument_strides(const graph::TensorType& type, const tensor::LayoutClass* layout, size_t number,
                       const Symbols& symbols);

Plan schedule(const FragmentSpec& fragment, const graph::Graph& graph, const Symbols& symbols,
              const LowerOptions& options, Fusion fusion, Log log);

}  // namespace talc::inductor
