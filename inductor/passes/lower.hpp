#pragma once
// From operators to values of a kernel: an element of a node, at an index over the kernel's loops, is computed in place
// down to the nodes that lie in memory. Views only change the index.
#include <functional>
#include <map>
#include <vector>

#include "inductor/loops/kernel.hpp"

namespace talc::inductor {

using loops::Dim;
using loops::Shape;
using loops::ValueId;

// Sizes that facts have made equal, as one.
class Symbols {
  public:
    explicit Symbols(const graph::DimEnv& env);
    Dim operator()(Dim dim) const;
    Shape operator()(const Shape& shape) const;

  private:
    std::vector<Dim> stands_for_;
    std::vector<std::pair<Dim, Dim>> equal_;  // what is not just a symbol
};

// What differs between targets.
struct LowerOptions {
    bool random_in_loops = false;  // else by the tensor library, which makes four numbers at a time
    tensor::Device device = {};    // where kernels run
};

// Of a node that lies on the CPU in a fragment for another device: it is computed there, by an operator, and not as a
// number inside of the device's kernels.
bool runs_on_host(graph::Value node, const LowerOptions& options);

// An operator that loops can compute, element by element. Otherwise `why` says why not.
bool has_loop_form(graph::Value node, const LowerOptions& options, const char** why = nullptr);

// Something stored by a kernel: a node, or one operand of a concatenation, with its place in the kernel's loops.
struct Computation {
    graph::Value node;
    int32_t part = -1;  // of cat and stack
    Shape at;           // the element of the node that a point of the loops computes
    Shape inner;        // of a fold: the element of the operand; of a part: its element
    bool folds = false;
    bool copies = false;  // the node lies in memory already and is stored once more
};

class Lowering {
  public:
    // In memory: loaded, not computed.
    using InMemory = std::function<bool(graph::Value)>;
    struct Source {
        graph::Value node;
        Shape index;
    };

    Lowering(const graph::Graph& graph, const Symbols& symbols, loops::Kernel& kernel, InMemory in_memory)
        : graph_(graph), symbols_(symbols), kernel_(kernel), in_memory_(std::move(in_memory)) {
        ranges_.size_of = [this](uint32_t symbol) { return size_of(symbol); };
    }

    // Computations of the same kernel see each other's values, in the order of these calls.
    ValueId computation(const Computation& computation);
    // Where loads come from: a Load's `buffer` is a number in this list until layouts are known.
    const std::vector<Source>& sources() const { return sources_; }
    // The operators that are computed in the kernel.
    const std::vector<graph::Value>& nodes() const { return nodes_; }
    // The element of a view's operand that is its element at `index`.
    Shape through_view(graph::Value node, const Shape& index) const;

  private:
    using Key = std::pair<graph::Value, std::vector<std::pair<const void*, int64_t>>>;

    Dim size_of(uint32_t symbol) const;
    ValueId element(graph::Value node, const Shape& index);
    ValueId compute(graph::Value node, const Shape& index);
    ValueId pointwise(graph::Value node, const Shape& index);
    ValueId apply(loops::Op op, loops::DType dtype, std::initializer_list<ValueId> operands, bool mode = false);
    ValueId power(graph::Value node, ValueId base, ValueId exponent);
    ValueId arange(graph::Value node, const Shape& index);
    ValueId random(graph::Value node, const Shape& index);
    ValueId taken(graph::Value node, const Shape& index);
    ValueId scattered(graph::Value node, const Shape& index);
    Dim bounded(graph::Value indices, const Shape& index, int64_t dim, Dim size, bool wraps);
    ValueId number(loops::Scalar value, loops::DType dtype);
    ValueId index_value(Dim index);
    ValueId convert(ValueId value, loops::DType to);
    uint32_t site(loops::Site site);
    static Key key(graph::Value node, const Shape& index);

    const graph::Graph& graph_;
    const Symbols& symbols_;
    loops::Kernel& kernel_;
    InMemory in_memory_;
    loops::Ranges ranges_;
    std::map<uint32_t, Dim> data_sizes_;
    std::map<Key, ValueId> known_;
    std::vector<Source> sources_;
    std::vector<graph::Value> nodes_;
};

// The kernel's loops for a node that it stores: loops over its elements, and over what it folds.
struct Space {
    std::vector<Dim> parallel, folded;
    Computation computation;
};
Space space_of(graph::Value node, int32_t part, const Symbols& symbols);

}  // namespace talc::inductor
