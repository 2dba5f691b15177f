#include "jit/fragment_grad.hpp"

#include <algorithm>
#include <map>

#include "autograd/backward.hpp"
#include "autograd/graph_backward.hpp"
#include "autograd/tape.hpp"
#include "autograd/vjp.hpp"
#include "jit/evaluate.hpp"
#include "tensor/error.hpp"

namespace talc::jit {

using graph::Value;
using tensor::Op;
using tensor::Tensor;

Value memory_of(Value value) {
    while (tensor::info(value->op).kind == tensor::Kind::View) value = value->inputs[0];
    return value;
}

namespace {

// The same node in another graph, which has its operands.
Value copy_node(const graph::Node& node, graph::Graph& to, const std::map<uint32_t, Value>& copies) {
    switch (node.op) {
        case Op::Input: return to.input(node.type());
        case Op::Constant: return to.constant(node.constant);
        case Op::Output: return to.output(copies.at(node.inputs[0]->id), node.attrs.which);
        default: {
            std::vector<Value> operands;
            for (Value operand : node.inputs) operands.push_back(copies.at(operand->id));
            return to.add(node.op, operands, node.attrs);
        }
    }
}

}  // namespace

static bool carries_gradient(const Fragment& fragment, Value value) {
    if (value->op == Op::Input) return fragment.layouts[static_cast<size_t>(value->attrs.which)]->requires_grad;
    return value->id < fragment.with_grad.size() && fragment.with_grad[value->id];
}

autograd::Needs kept_by(const Fragment& fragment, const graph::Node& node) {
    if (node.op == Op::Output || !carries_gradient(fragment, &node)) return 0;
    autograd::Needs needs = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (carries_gradient(fragment, node.inputs[i])) needs |= autograd::vjp_needs(node.op, i, node.inputs.size());
    }
    return needs;
}

namespace {

// By node: it is a step of these values' history.
std::vector<bool> history_of(const Fragment& fragment, std::vector<Value> values) {
    std::vector<bool> seen(fragment.graph.size(), false);
    while (!values.empty()) {
        Value node = values.back();
        values.pop_back();
        if (!carries_gradient(fragment, node) || seen[node->id]) continue;
        seen[node->id] = true;
        values.insert(values.end(), node->inputs.begin(), node->inputs.end());
    }
    return seen;
}

// The steps of a value's history that keep something for the backward pass, by node.
std::vector<bool> keeping_steps(const Fragment& fragment, Value root) {
    std::vector<bool> keeping = history_of(fragment, {root});
    for (const graph::Node& node : fragment.graph.nodes()) {
        if (keeping[node.id]) keeping[node.id] = kept_by(fragment, node) != 0;
    }
    return keeping;
}

// By node: an operator in the history of these values keeps it for its gradient, or a part of its memory.
std::vector<bool> kept_values(const Fragment& fragment, std::vector<Value> values) {
    std::vector<bool> history = history_of(fragment, std::move(values)), kept(fragment.graph.size(), false);
    auto keep = [&](Value value) { kept[value->id] = kept[memory_of(value)->id] = true; };
    for (const graph::Node& node : fragment.graph.nodes()) {
        if (!history[node.id]) continue;
        autograd::Needs needs = kept_by(fragment, node);
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            if (needs & autograd::operand_bit(i)) keep(node.inputs[i]);
        }
        if (needs & autograd::result_bit(0)) keep(&node);
        if (node.op == Op::Output) keep(&node);
    }
    return kept;
}

std::vector<std::vector<uint32_t>> entwined_roots(const Fragment& fragment, const std::vector<uint32_t>& roots) {
    std::vector<std::vector<bool>> keeping;
    for (uint32_t root : roots) keeping.push_back(keeping_steps(fragment, fragment.outputs[root].value));
    std::vector<std::vector<uint32_t>> entwined(roots.size());
    for (uint32_t a = 0; a < roots.size(); ++a) {
        for (uint32_t b = 0; b < roots.size(); ++b) {
            bool share = false;
            for (size_t node = 0; node < keeping[a].size() && !share; ++node) share = keeping[a][node] && keeping[b][node];
            if (share) entwined[a].push_back(b);
        }
    }
    return entwined;
}

// Every symbol that the graph's values need, and what equals it, is a size of an input.
bool shows_sizes(const graph::Graph& graph) {
    std::vector<uint32_t> used, shown;
    for (Value node : graph.live()) {
        for (const graph::TensorType& type : node->types) {
            for (graph::Dim dim : type.shape) {
                graph::collect_symbols(dim, used);
                if (node->op == Op::Input && dim.symbol_id() >= 0) shown.push_back(static_cast<uint32_t>(dim.symbol_id()));
            }
        }
        for (graph::Dim dim : node->attrs.sizes) graph::collect_symbols(dim, used);
        for (graph::Dim dim : {node->attrs.start, node->attrs.end, node->attrs.step}) graph::collect_symbols(dim, used);
    }
    if (!used.empty()) {
        for (const graph::DimFact& fact : graph.dims().facts()) {
            if (fact.kind != graph::DimFact::Equal) continue;
            graph::collect_symbols(fact.a, used);
            graph::collect_symbols(fact.b, used);
        }
    }
    return std::all_of(used.begin(), used.end(),
                       [&](uint32_t symbol) { return std::find(shown.begin(), shown.end(), symbol) != shown.end(); });
}

// Values of the forward graph that the gradient uses are inputs of its own: those saved already, or more.
std::unique_ptr<BackwardGraph> make_backward(const Fragment& fragment, FragmentGradient& gradient, const std::vector<bool>& seeded) {
    // What is saved is settled with the first one; the others compute again what it does not have.
    const bool first = gradient.backward.empty() || (gradient.backward.size() == 1 && !gradient.backward.begin()->second);
    // On a copy: the forward graph stays as it is.
    graph::Graph graph(fragment.graph.default_float());
    graph.dims() = fragment.graph.dims();
    std::map<uint32_t, Value> joint;
    std::map<uint32_t, Value> original;
    for (const graph::Node& node : fragment.graph.nodes()) {
        Value copy = copy_node(node, graph, joint);
        joint[node.id] = copy;
        original[copy->id] = &node;
    }
    // The gradient is written behind the forward graph; what it uses of that becomes its inputs.
    const size_t forward = graph.size();
    const size_t arguments = fragment.inputs.size();
    std::vector<Value> roots, seeds, inputs;
    std::vector<uint32_t> seed_roots;
    for (uint32_t r = 0; r < gradient.roots.size(); ++r) {
        if (!seeded[r]) continue;
        roots.push_back(joint.at(fragment.outputs[gradient.roots[r]].value->id));
        seeds.push_back(graph.input(roots.back()->type()));
        seed_roots.push_back(r);
    }
    for (uint32_t input : gradient.inputs) inputs.push_back(graph.inputs()[input]);
    std::vector<std::vector<Value>> parts;
    if (gradient.in_parts) {
        parts = autograd::graph_gradient_parts(graph, roots, seeds, inputs);
    } else {
        for (Value value : autograd::graph_gradients(graph, roots, seeds, inputs)) {
            parts.push_back(value ? std::vector<Value>{value} : std::vector<Value>{});
        }
    }
    // All seeds together give the most parts; each part has an edge.
    if (gradient.edges.empty()) {
        for (size_t i = 0; i < parts.size(); ++i) gradient.edges.insert(gradient.edges.end(), parts[i].size(), gradient.inputs[i]);
    }
    std::vector<Value> gradients(gradient.edges.size(), nullptr);
    for (size_t i = 0, edge = 0; i < parts.size(); ++i) {
        std::copy(parts[i].begin(), parts[i].end(), gradients.begin() + static_cast<int64_t>(edge));
        while (edge < gradient.edges.size() && gradient.edges[edge] == gradient.inputs[i]) edge++;
    }
    auto made = std::make_unique<BackwardGraph>(graph.default_float());
    for (const graph::DimFact& fact : graph.dims().facts()) {
        if (!fragment.graph.dims().knows(fact)) made->assumes.push_back(fact);
    }
    made->fragment.graph.dims() = graph.dims();
    std::map<uint32_t, Value> copies;
    std::vector<Value> open;
    for (Value value : gradients) {
        if (value) open.push_back(value);
    }
    auto is_saved = [&](const graph::Node& node) {
        if (node.id >= forward || node.inputs.empty()) return false;
        return first || std::find(gradient.saved.begin(), gradient.saved.end(), original.at(node.id)) != gradient.saved.end();
    };
    std::vector<bool> needed(graph.size(), false);
    while (!open.empty()) {
        Value node = open.back();
        open.pop_back();
        if (needed[node->id]) continue;
        needed[node->id] = true;
        bool leaf = node->op == Op::Input || is_saved(*node);
        if (!leaf) {
            for (Value operand : node->inputs) open.push_back(operand);
        }
    }
    using Leaf = BackwardGraph::Leaf;
    for (const graph::Node& node : graph.nodes()) {
        if (!needed[node.id]) continue;
        if (node.op == Op::Input) {
            auto which = static_cast<uint32_t>(node.attrs.which);
            bool seed = which >= arguments;
            made->leaves.push_back(seed ? Leaf{Leaf::Seed, seed_roots[which - arguments]} : Leaf{Leaf::Argument, which});
            copies[node.id] = made->fragment.graph.input(node.type());
        } else if (is_saved(node)) {
            auto& saved = gradient.saved;
            auto at = std::find(saved.begin(), saved.end(), original.at(node.id));
            if (at == saved.end()) at = saved.insert(at, original.at(node.id));
            made->leaves.push_back({Leaf::Saved, static_cast<uint32_t>(at - saved.begin())});
            copies[node.id] = made->fragment.graph.input(node.type());
        } else {
            copies[node.id] = copy_node(node, made->fragment.graph, copies);
        }
    }
    std::vector<Value> outputs;
    for (Value value : gradients) {
        made->gradients.push_back(value ? copies.at(value->id) : nullptr);
        if (value) outputs.push_back(made->gradients.back());
    }
    made->fragment.graph.set_outputs(std::move(outputs));
    // What the program's operators keep is watched also where the gradient makes do without it.
    std::vector<Value> seeds_of;
    for (uint32_t r : seed_roots) seeds_of.push_back(fragment.outputs[gradient.roots[r]].value);
    std::vector<bool> kept = kept_values(fragment, std::move(seeds_of));
    for (uint32_t i = 0; i < arguments; ++i) {
        if (kept[fragment.graph.inputs()[i]->id]) made->watched.push_back({Leaf::Argument, i});
    }
    for (const Fragment::Output& output : fragment.outputs) {
        if (output.write_back || !kept[output.value->id] || output.value->op == Op::Input) continue;
        auto at = std::find(gradient.saved.begin(), gradient.saved.end(), output.value);
        if (at == gradient.saved.end() && !first) continue;
        if (at == gradient.saved.end()) at = gradient.saved.insert(at, output.value);
        made->watched.push_back({Leaf::Saved, static_cast<uint32_t>(at - gradient.saved.begin())});
    }
    made->sized = shows_sizes(made->fragment.graph);
    return made;
}

}  // namespace

std::unique_ptr<FragmentGradient> make_gradient(const Fragment& fragment, bool in_parts) {
    auto made = std::make_unique<FragmentGradient>();
    made->in_parts = in_parts;
    for (uint32_t i = 0; i < fragment.outputs.size(); ++i) {
        const Fragment::Output& output = fragment.outputs[i];
        if (output.requires_grad && !output.spent && !output.leaf) made->roots.push_back(i);
    }
    if (made->roots.empty()) return nullptr;
    for (uint32_t i = 0; i < fragment.inputs.size(); ++i) {
        if (fragment.layouts[i]->requires_grad) made->inputs.push_back(i);
    }
    made->entwined = entwined_roots(fragment, made->roots);
    std::vector<bool> all(made->roots.size(), true);
    made->backward[all] = make_backward(fragment, *made, all);
    std::vector<Value> values;
    for (uint32_t root : made->roots) values.push_back(fragment.outputs[root].value);
    std::vector<bool> kept = kept_values(fragment, std::move(values));
    for (Value value : made->saved) made->watched.push_back(kept[value->id]);
    return made;
}

namespace {

class FragmentNode final : public autograd::GradNode {
  public:
    FragmentNode(std::shared_ptr<Fragment> fragment, std::span<const Tensor> arguments) : fragment_(std::move(fragment)) {
        for (const Tensor& argument : arguments) arguments_.emplace_back(argument, autograd::edge_of(argument));
        for (uint32_t input : fragment_->gradient->edges) edges.push_back(autograd::edge_of(arguments[input]));
        spent_.resize(fragment_->gradient->roots.size(), false);
        symbols_.resize(fragment_->graph.dims().symbol_count(), 0);
        for (size_t i = 0; i < arguments.size(); ++i) {
            const graph::Shape& shape = fragment_->graph.inputs()[i]->shape();
            for (size_t d = 0; d < shape.size(); ++d) {
                if (shape[d].symbol_id() >= 0) symbols_[static_cast<size_t>(shape[d].symbol_id())] = arguments[i].sizes()[d];
            }
        }
    }

    std::vector<Tensor> backward(autograd::Context& context, std::span<const Tensor> gradients, bool keep) override {
        std::vector<Tensor> found =
            context.grad_enabled ? differentiably(context, gradients) : plainly(context, gradients);
        if (keep) return found;
        for (size_t i = 0; i < results.size(); ++i) {
            if (!gradients[i]) continue;
            for (uint32_t other : fragment_->gradient->entwined[i]) spent_[other] = true;
        }
        if (std::find(spent_.begin(), spent_.end(), false) == spent_.end()) {
            saved_.clear();
            arguments_.clear();
        }
        return found;
    }
    void save(std::span<const Tensor> values) {
        for (size_t k = 0; k < values.size(); ++k) {
            std::string maker;
            for (const Fragment::Output& output : fragment_->outputs) {
                if (output.value == fragment_->gradient->saved[k] && output.requires_grad) maker = output.grad_name;
            }
            saved_.emplace_back(values[k], autograd::Edge{}, std::move(maker));
        }
    }
    const Fragment& fragment() const { return *fragment_; }
    std::string name() const override { return "CompiledBackward"; }  // its results have the names that people know
    bool spent_result(uint32_t result) const { return spent_[result]; }

  private:
    bool hold(std::span<const graph::DimFact> facts) const {
        return std::all_of(facts.begin(), facts.end(), [&](const graph::DimFact& fact) { return graph::holds(fact, symbol_values()); });
    }
    graph::SymbolValues symbol_values() const {
        return [this](uint32_t symbol) { return symbols_[symbol]; };
    }

    std::vector<Tensor> plainly(autograd::Context& context, std::span<const Tensor> seeds) {
        FragmentGradient& gradient = *fragment_->gradient;
        std::vector<bool> seeded;
        for (const Tensor& seed : seeds) seeded.push_back(static_cast<bool>(seed));
        auto& backward = gradient.backward[seeded];
        if (!backward) backward = make_backward(*fragment_, gradient, seeded);
        if (!hold(backward->assumes)) {
            // Not for these sizes: by the tape then, as for a gradient that will be differentiated.
            std::vector<Tensor> found = differentiably(context, seeds);
            for (Tensor& gradient : found) {
                if (gradient) gradient = gradient.detached();
            }
            return found;
        }
        using Leaf = BackwardGraph::Leaf;
        for (const Leaf& from : backward->watched) (from.kind == Leaf::Argument ? arguments_ : saved_)[from.index].unpack();
        std::vector<Tensor> leaves;
        for (const Leaf& from : backward->leaves) {
            switch (from.kind) {
                case Leaf::Argument: leaves.push_back(arguments_[from.index].unpack()); break;
                case Leaf::Saved: leaves.push_back(saved_[from.index].unpack()); break;
                case Leaf::Seed: leaves.push_back(seeds[from.index]); break;
            }
        }
        const std::vector<Value>& wanted = backward->fragment.graph.outputs();
        std::vector<Tensor> computed(wanted.size());
        if (inductor::Executable* code = native_code(*backward, leaves); code && hold(code->assumes())) {
            code->run(context, leaves, computed);
        } else {
            computed = evaluate(context, backward->fragment, wanted, [&](size_t i) { return leaves[i]; }, false, symbol_values());
        }
        std::vector<Tensor> found;
        size_t next = 0;
        for (Value value : backward->gradients) found.push_back(value ? computed[next++] : Tensor());
        return found;
    }

    // As the forward pass runs: natively when that does.
    inductor::Executable* native_code(BackwardGraph& backward, std::span<const Tensor> leaves) const {
        constexpr size_t kMostNatives = 4;
        if (!fragment_->ready.load(std::memory_order_acquire) || !fragment_->code || backward.gradients.empty() || !backward.sized) return nullptr;
        std::vector<const tensor::LayoutClass*> layouts;
        for (const Tensor& leaf : leaves) layouts.push_back(leaf.layout_class());
        for (BackwardGraph::Native& native : backward.natives) {
            if (native.layouts == layouts) return native.code.get();
        }
        if (backward.natives.size() >= kMostNatives) return nullptr;
        inductor::FragmentSpec spec;
        spec.graph = &backward.fragment.graph;
        spec.layouts = layouts;
        spec.orders.resize(spec.graph->outputs().size());
        spec.name = "gradient of a fragment";
        std::unique_ptr<inductor::Executable> code;
        try {
            code = fragment_->backend->compile(spec);
        } catch (const tensor::Error&) {
            // Evaluated then, each time.
        }
        backward.natives.push_back({std::move(layouts), std::move(code)});
        return backward.natives.back().code.get();
    }

    // A gradient that will itself be differentiated: the forward pass again, on the tape.
    std::vector<Tensor> differentiably(autograd::Context& context, std::span<const Tensor> given) {
        const FragmentGradient& gradient = *fragment_->gradient;
        std::vector<Tensor> arguments;
        // Copies on the tape: one argument may be made from another, and that way of the gradient is not the fragment's.
        autograd::GradMode mode(context, true);
        for (const autograd::SavedTensor& saved : arguments_) {
            Tensor argument = saved.unpack();
            if (argument.requires_grad()) argument = autograd::apply(context, Op::Clone, std::span(&argument, 1));
            arguments.push_back(std::move(argument));
        }
        std::vector<Value> roots;
        std::vector<Tensor> seeds;
        for (size_t i = 0; i < given.size(); ++i) {
            if (!given[i]) continue;
            roots.push_back(fragment_->outputs[gradient.roots[i]].value);
            seeds.push_back(given[i]);
        }
        std::vector<Tensor> outputs =
            evaluate(context, *fragment_, roots, [&](size_t i) { return arguments[i]; }, true, symbol_values());
        std::vector<Tensor> inputs;
        for (uint32_t input : gradient.inputs) inputs.push_back(arguments[input]);
        autograd::BackwardOptions options;
        options.create_graph = true;
        options.retain_graph = true;
        options.allow_unused = true;
        std::vector<Tensor> whole = autograd::gradients(context, outputs, seeds, inputs, options);
        // One edge of each input takes it.
        std::vector<Tensor> found(gradient.edges.size());
        for (size_t i = 0; i < inputs.size(); ++i) {
            auto edge = std::find(gradient.edges.begin(), gradient.edges.end(), gradient.inputs[i]);
            if (edge != gradient.edges.end()) found[static_cast<size_t>(edge - gradient.edges.begin())] = whole[i];
        }
        return found;
    }

    std::shared_ptr<Fragment> fragment_;
    std::vector<autograd::SavedTensor> arguments_;
    std::vector<autograd::SavedTensor> saved_;  // written to since: an error
    std::vector<bool> spent_;  // by result
    std::vector<int64_t> symbols_;  // sizes at the forward run
};

// One result of a fragment, under the name of the operator that made it.
class ResultNode final : public autograd::GradNode {
  public:
    ResultNode(std::string name, const autograd::Ref<FragmentNode>& node, uint32_t result)
        : name_(std::move(name)), fragment_(node.get()), result_(result) {
        edges.push_back({node, result, {}});
    }
    std::vector<Tensor> backward(autograd::Context&, std::span<const Tensor> gradients, bool) override {
        return {gradients[0]};
    }
    std::string name() const override { return name_; }
    bool spent() const override { return GradNode::spent() || fragment_->spent_result(result_); }

  private:
    std::string name_;
    const FragmentNode* fragment_;  // edges keep it
    uint32_t result_;
};

}  // namespace

tensor::Ref<autograd::GradNode> start_gradient(const std::shared_ptr<Fragment>& fragment, std::span<const Tensor> arguments) {
    return tensor::make_counted<FragmentNode>(fragment, arguments);
}

void attach_gradient(tensor::Context& context, const tensor::Ref<autograd::GradNode>& started, std::span<const Tensor> saved,
                     std::span<Tensor> results) {
    tensor::Ref<FragmentNode> node(static_cast<FragmentNode*>(started.get()));
    node->save(saved);
    autograd::attach(context, node, results);
    const Fragment& fragment = node->fragment();
    for (uint32_t i = 0; i < results.size(); ++i) {
        const Fragment::Output& output = fragment.outputs[fragment.gradient->roots[i]];
        Tensor one = results[i].detached();
        autograd::attach(context, tensor::make_counted<ResultNode>(output.grad_name, node, i), std::span(&one, 1));
        results[i] = one;
    }
}

}  // namespace talc::jit
