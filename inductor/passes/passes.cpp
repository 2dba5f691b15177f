#include "inductor/passes/passes.hpp"

#include <chrono>

#include "graph/text.hpp"
#include "graph/verify.hpp"
#include "inductor/passes/decompose.hpp"
#include "inductor/passes/fuse.hpp"
#include "inductor/passes/schedule.hpp"
#include "inductor/passes/simplify.hpp"

namespace talc::inductor {

namespace {

using Clock = std::chrono::steady_clock;

struct GraphPass {
    std::string_view name;
    graph::Graph (*run)(const graph::Graph&, std::vector<graph::RewriteCount>*);
};

constexpr GraphPass kGraphPasses[] = {
    {"simplify", simplify},
    {"decompose", decompose},
    {"simplify again", simplify},
};

double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void run_pass(const GraphPass& pass, graph::Graph& graph, Log& log) {
    auto start = Clock::now();
    std::vector<graph::RewriteCount> counts;
    graph = pass.run(graph, &counts);
    double took = milliseconds_since(start);
    std::string rules;
    for (const graph::RewriteCount& count : counts) {
        if (count.times) rules += fmt::format("{}{} ({})", rules.empty() ? "" : "; ", count.rule, count.times);
    }
    log.add("passes", "{} {:.3f} ms {}", pass.name, took, rules.empty() ? "(unchanged)" : rules);
#ifndef NDEBUG
    graph::verify(graph);
#endif
}

}  // namespace

Lowered lower(const FragmentSpec& fragment, const LowerOptions& options) {
    Log log;
    auto graph = std::make_unique<graph::Graph>(graph::copy(*fragment.graph));
    for (const GraphPass& pass : kGraphPasses) run_pass(pass, *graph, log);
    Symbols symbols(graph->dims());
    auto start = Clock::now();
    Fusion fusion = fuse(*graph, symbols, options, log);
    log.add("passes", "fuse {:.3f} ms", milliseconds_since(start));
    start = Clock::now();
    Plan plan = schedule(fragment, *graph, symbols, options, std::move(fusion), std::move(log));
    plan.log.add("passes", "schedule {:.3f} ms", milliseconds_since(start));
    std::vector<graph::DimFact> assumes;
    for (const graph::DimFact& fact : graph->dims().facts()) {
        if (!fragment.graph->dims().knows(fact)) assumes.push_back(fact);
    }
    return {std::move(graph), std::move(plan), std::move(assumes)};
}

}  // namespace talc::inductor
