#pragma once
// Which operators share a kernel. First it is decided what lies in memory: outputs, operands of libraries, folds, and
// costly values with several users. Each of these is a unit of its own; then units are joined where their loops agree
// and what one reads of the other is what the same point has computed. Every refusal is logged on the channel fusion.
#include <unordered_map>
#include <vector>

#include "inductor/log.hpp"
#include "inductor/passes/lower.hpp"

namespace talc::inductor {

// Lies in memory before the fragment runs. As an output it is copied.
inline bool is_leaf(graph::Value node) { return node->op == loops::Op::Input || node->op == loops::Op::Constant; }

// An operand of an operator that is no kernel: a view of a node in memory, as an index over one variable a dimension.
struct ExternOperand {
    graph::Value base;
    Shape index;
    Shape shape;
    bool weak = false;
};

struct Unit {
    // Of a kernel:
    std::vector<Dim> parallel, folded;
    std::vector<Computation> computations;
    std::vector<Lowering::Source> sources;  // all that it loads
    size_t weight = 0;                      // about how many values
    // Of anything else:
    graph::Value external = nullptr;
    std::vector<ExternOperand> operands;

    bool may_raise = false;
    bool alive = true;
    std::vector<uint32_t> after;  // units that must come first besides those that it reads
};

struct Fusion {
    std::vector<Unit> units;
    std::unordered_map<graph::Value, std::vector<uint32_t>> makers;  // units that store a node
    bool in_memory(graph::Value node) const { return makers.count(node) != 0; }
    // `unit` needs `other` to come first, through any number of units between; `beyond` leaves the direct way out.
    bool depends(uint32_t unit, uint32_t other, bool beyond = false) const;
    std::vector<uint32_t> needs(uint32_t unit) const;
    // Units in an order in which they can run.
    std::vector<uint32_t> order() const;
};

Fusion fuse(const graph::Graph& graph, const Symbols& symbols, const LowerOptions& options, Log& log);

}  // namespace talc::inductor
