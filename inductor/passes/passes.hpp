#pragma once
// The way from a fragment to a plan: all passes, in order.
#include "inductor/backend.hpp"
#include "inductor/passes/lower.hpp"
#include "inductor/plan.hpp"

namespace talc::inductor {

// The graph of the fragment after the passes on graphs; the plan's nodes live in it.
struct Lowered {
    std::unique_ptr<graph::Graph> graph;
    Plan plan;
    std::vector<graph::DimFact> assumes;  // of sizes, beyond what the fragment's graph does
};
Lowered lower(const FragmentSpec& fragment, const LowerOptions& options = {});

}  // namespace talc::inductor
