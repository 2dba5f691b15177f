#include "inductor/passes/schedule.hpp"

#include <algorithm>
#include <numeric>

#include "inductor/passes/arrange.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"

namespace talc::inductor {

using loops::Kernel;
using loops::Op;
using tensor::fail;
using tensor::LayoutClass;
using tensor::name_of;
using Node = graph::Value;

Shape dense_strides(const Shape& shape, const tensor::Dims& order) {
    Shape strides(shape.size(), Dim(1));
    Dim stride(1);
    for (size_t i = shape.size(); i-- > 0;) {
        size_t d = order.empty() ? i : static_cast<size_t>(order[i]);
        strides[d] = stride;
        if (shape[d] != Dim(0)) stride = stride * shape[d];
    }
    return strides;
}

Shape argument_strides(const graph::TensorType& type, const LayoutClass* layout, size_t number, const Symbols& symbols) {
    Shape shape = symbols(type.shape);
    // Loops over nothing must not load: indices name them, whatever the strides.
    if (std::find(shape.begin(), shape.end(), Dim(0)) != shape.end()) return dense_strides(shape);
    Shape strides(shape.size(), Dim(0));
    std::vector<uint8_t> known(shape.size(), 0);
    auto find = [&](auto& self, size_t d) -> Dim {
        if (known[d]) return strides[d];
        known[d] = 1;
        int pattern = layout ? int{layout->strides[d]} : int{LayoutClass::kAnyStride};
        if (shape[d] == Dim(1)) pattern = LayoutClass::kNoStride;
        switch (pattern) {
            case LayoutClass::kAnyStride: strides[d] = loops::stride_symbol(number, d); break;
            case LayoutClass::kOneStride: strides[d] = Dim(1); break;
            case LayoutClass::kZeroStride:
            case LayoutClass::kNoStride: strides[d] = Dim(0); break;
            default: {
                size_t inner = static_cast<size_t>(pattern);
                strides[d] = self(self, inner) * shape[inner];
            }
        }
        return strides[d];
    };
    for (size_t d = 0; d < shape.size(); ++d) find(find, d);
    return strides;
}

namespace {

class Scheduler {
  public:
    Scheduler(const FragmentSpec& spec, const graph::Graph& graph, const Symbols& symbols, const LowerOptions& options,
              Fusion fusion, Log log)
        : spec_(spec), graph_(graph), symbols_(symbols), options_(options), fusion_(std::move(fusion)) {
        plan_.log = std::move(log);
    }

    Plan run() {
        for (size_t i = 0; i < graph_.inputs().size(); ++i) {
            const graph::TensorType& type = graph_.inputs()[i]->type();
            const LayoutClass* layout = i < spec_.layouts.size() ? spec_.layouts[i] : nullptr;
            plan_.buffers.push_back({PlanBuffer::Argument, static_cast<uint32_t>(i), type.dtype, symbols_(type.shape),
                                     argument_strides(type, layout, i, symbols_), !(type.device == options_.device)});
            homes_[graph_.inputs()[i]] = static_cast<BufferId>(i);
        }
        note_readers();
        place_outputs();
        place_temporaries();
        for (uint32_t unit : fusion_.order()) add_step(fusion_.units[unit]);
        plan_.first_write = plan_.steps.size();
        for (size_t s = 0; s < plan_.steps.size(); ++s) {
            const Step& step = plan_.steps[s];
            for (size_t b = 0; b < step.buffers.size(); ++b) {
                bool written = step.kernel.buffers[b].stored &&
                               plan_.buffers[step.buffers[b]].kind == PlanBuffer::Argument;
                if (written) plan_.first_write = std::min(plan_.first_write, s);
            }
        }
        for (auto [from, to] : copies_) add_copy(from, to);
        note_lifetimes();
        return std::move(plan_);
    }

  private:
    BufferId add_buffer(PlanBuffer::Kind kind, uint32_t number, Node node, const tensor::Dims& order = {}) {
        Shape shape = symbols_(node->shape());
        bool host = kind != PlanBuffer::Temporary && on_host(node);
        plan_.buffers.push_back({kind, number, node->dtype(), shape, dense_strides(shape, order), host});
        return static_cast<BufferId>(plan_.buffers.size() - 1);
    }

    bool on_host(Node node) const { return !(node->type().device == options_.device); }
    bool is_product(Node node) const { return node->op == Op::Matmul && !on_host(node); }

    void note_readers() {
        for (uint32_t u = 0; u < fusion_.units.size(); ++u) {
            if (!fusion_.units[u].alive) continue;
            for (const Lowering::Source& source : fusion_.units[u].sources) {
                auto& readers = readers_[source.node];
                if (std::find(readers.begin(), readers.end(), u) == readers.end()) readers.push_back(u);
            }
        }
    }

    // The unit that makes the node alone, if there is one.
    int64_t maker(Node node) const {
        auto found = fusion_.makers.find(node);
        return found == fusion_.makers.end() || found->second.size() != 1 ? -1 : static_cast<int64_t>(found->second[0]);
    }

    void place_outputs() {
        const auto& outputs = graph_.outputs();
        plan_.outputs.resize(outputs.size());
        std::vector<int64_t> write_of(outputs.size(), -1);
        for (const FragmentSpec::Write& write : spec_.writes) {
            write_of[write.output] = write.input;
            plan_.written_arguments.push_back(write.input);
        }
        for (size_t o = 0; o < outputs.size(); ++o) {
            Node node = outputs[o];
            BufferId buffer;
            if (write_of[o] < 0) {
                tensor::Dims order = o < spec_.orders.size() ? spec_.orders[o] : tensor::Dims{};
                buffer = add_buffer(PlanBuffer::Result, static_cast<uint32_t>(o), node, order);
            } else {
                buffer = static_cast<BufferId>(write_of[o]);
                std::string why;
                if (!can_write_in_place(node, static_cast<uint32_t>(write_of[o]), why)) {
                    plan_.log.add("memory", "argument {} is written by a copy at the end: {}", write_of[o], why);
                    BufferId temporary = add_buffer(PlanBuffer::Temporary, 0, node);
                    copies_.emplace_back(temporary, buffer);
                    store_to(node, temporary);
                    plan_.outputs[o] = buffer;
                    continue;
                }
                // All who look at the old contents come first, and so does all that may fail.
                uint32_t unit = static_cast<uint32_t>(maker(node));
                for (uint32_t other : must_precede(unit, static_cast<uint32_t>(write_of[o]))) {
                    fusion_.units[unit].after.push_back(other);
                }
            }
            plan_.outputs[o] = buffer;
            store_to(node, buffer);
        }
    }

    void store_to(Node node, BufferId buffer) {
        stores_[node].push_back(buffer);
        if (!is_leaf(node)) homes_.try_emplace(node, buffer);
    }

    std::vector<uint32_t> inputs_near(uint32_t input) const {
        std::vector<uint32_t> near = {input};
        for (const auto& group : spec_.aliased) {
            if (std::find(group.begin(), group.end(), input) != group.end()) near.insert(near.end(), group.begin(), group.end());
        }
        return near;
    }

    std::vector<uint32_t> must_precede(uint32_t unit, uint32_t input) const {
        std::vector<uint32_t> first;
        for (uint32_t u = 0; u < fusion_.units.size(); ++u) {
            if (u == unit || !fusion_.units[u].alive) continue;
            bool reads = false;
            for (uint32_t near : inputs_near(input)) {
                auto found = readers_.find(graph_.inputs()[near]);
                reads = reads || (found != readers_.end() &&
                                  std::find(found->second.begin(), found->second.end(), u) != found->second.end());
            }
            if (reads || fusion_.units[u].may_raise) first.push_back(u);
        }
        return first;
    }

    bool can_write_in_place(Node node, uint32_t input, std::string& why) const {
        auto no = [&](std::string reason) {
            why = std::move(reason);
            return false;
        };
        Node argument = graph_.inputs()[input];
        if (argument->dtype() != node->dtype() || !(symbols_(argument->shape()) == symbols_(node->shape()))) {
            return no("its type differs");
        }
        for (const FragmentSpec::Write& write : spec_.writes) {
            for (uint32_t near : inputs_near(input)) {
                bool self = write.input == input && graph_.outputs()[write.output] == node;
                if (write.input == near && !self) return no("its memory is written twice");
            }
        }
        auto stored = stores_.find(node);
        if (stored != stores_.end()) {
            for (BufferId buffer : stored->second) {
                if (plan_.buffers[buffer].kind == PlanBuffer::Argument) return no("its value is written twice");
            }
        }
        const PlanBuffer& target = plan_.buffers[input];
        for (size_t d = 0; d < target.shape.size(); ++d) {
            bool many = target.shape[d] != Dim(1);
            bool unknown = target.strides[d].symbol_id() >= loops::kStrideBase && !spec_.writes_apart;
            if (many && (target.strides[d] == Dim(0) || unknown)) {
                return no("its elements may overlap");
            }
        }
        int64_t unit = maker(node);
        if (unit < 0) return no("it is made in parts");
        const Unit& own = fusion_.units[static_cast<size_t>(unit)];
        if (own.external) return no("a library makes it");
        if (own.may_raise) return no("its kernel may fail");
        const Computation* made = nullptr;
        for (const Computation& c : own.computations) {
            if (c.node == node) made = &c;
        }
        for (uint32_t near : inputs_near(input)) {
            for (const Lowering::Source& source : own.sources) {
                if (source.node != graph_.inputs()[near]) continue;
                if (near != input) return no("another argument may lie in its memory");
                if (!(source.index == made->at)) return no("its kernel reads it at other places");
            }
        }
        for (uint32_t other : must_precede(static_cast<uint32_t>(unit), input)) {
            if (fusion_.depends(other, static_cast<uint32_t>(unit))) return no("its old contents are needed later");
        }
        return true;
    }

    void place_temporaries() {
        for (Node node : graph_.live()) {
            auto made = fusion_.makers.find(node);
            if (made == fusion_.makers.end() || is_leaf(node)) continue;
            const std::vector<uint32_t>& makers = made->second;
            const Unit& unit = fusion_.units[makers[0]];
            auto& stores = stores_[node];
            if (unit.external) {
                bool by_operator = !is_product(node);
                // A library writes fresh memory once; more homes are copies of it.
                bool fresh = !stores.empty() && plan_.buffers[stores[0]].kind == PlanBuffer::Result &&
                             (!by_operator || plan_.buffers[stores[0]].strides == dense_strides(plan_.buffers[stores[0]].shape));
                if (!fresh) {
                    BufferId own = by_operator ? add_buffer(PlanBuffer::Held, 0, node)
                                               : add_buffer(PlanBuffer::Temporary, 0, node, wanted_order(node));
                    stores.insert(stores.begin(), own);
                    homes_[node] = own;
                }
                continue;
            }
            auto readers = readers_.find(node);
            bool needed = false;
            if (readers != readers_.end()) {
                for (uint32_t reader : readers->second) {
                    needed = needed || std::find(makers.begin(), makers.end(), reader) == makers.end() || makers.size() > 1;
                }
            }
            if (stores.empty() && needed) store_to(node, add_buffer(PlanBuffer::Temporary, 0, node));
        }
    }

    // The order of dims in memory in which those who read a product walk it: a gradient is often read transposed.
    tensor::Dims wanted_order(Node node) const {
        auto readers = readers_.find(node);
        int64_t fastest = -1;
        if (readers == readers_.end()) return {};
        for (uint32_t reader : readers->second) {
            const Unit& unit = fusion_.units[reader];
            if (unit.external || unit.computations.back().at.empty()) return {};
            Dim var = unit.computations.back().at.back();
            for (const Lowering::Source& source : unit.sources) {
                if (source.node != node) continue;
                auto found = std::find(source.index.begin(), source.index.end(), var);
                int64_t dim = found == source.index.end() ? -1 : found - source.index.begin();
                if (dim < 0 || var.symbol_id() < 0 || (fastest >= 0 && fastest != dim)) return {};
                fastest = dim;
            }
        }
        if (fastest < 0 || fastest + 1 == node->rank()) return {};
        tensor::Dims order;
        for (int64_t d = 0; d < node->rank(); ++d) {
            if (d != fastest) order.push_back(d);
        }
        order.push_back(fastest);
        return order;
    }

    BufferId home_of(Node node) {
        auto found = homes_.find(node);
        if (found != homes_.end()) return found->second;
        if (node->op != Op::Constant && node->op != Op::Number) fail("{} has no place in memory", name_of(node->op));
        tensor::Context plain;
        plan_.constants.push_back(node->op == Op::Constant ? node->constant : tensor::number(plain, node->attrs.value));
        const tensor::Tensor& value = plan_.constants.back();
        plan_.buffers.push_back({PlanBuffer::Constant, static_cast<uint32_t>(plan_.constants.size() - 1), value.dtype(),
                                 graph::symbolic(value.sizes()), graph::symbolic(value.strides()),
                                 !(value.device() == options_.device)});
        return homes_[node] = static_cast<BufferId>(plan_.buffers.size() - 1);
    }

    static Dim place_in(const PlanBuffer& buffer, const Shape& index) {
        Dim sum(0);
        for (size_t d = 0; d < index.size(); ++d) {
            if (buffer.shape[d] != Dim(1)) sum = sum + index[d] * buffer.strides[d];
        }
        return sum;
    }

    int64_t hint(Dim dim) const {
        return evaluate(dim, [&](uint32_t symbol) -> int64_t {
            if (loops::kind_of(symbol) == loops::SymbolKind::Stride) return 4096;
            if (loops::is_running(symbol)) return 1;
            return graph_.dims().hint(Dim::symbol(symbol)).value_or(64);
        });
    }

    void describe(Step& step, const std::vector<Node>& nodes) {
        std::string name = "fused";
        std::vector<Node> sorted = nodes;
        std::sort(sorted.begin(), sorted.end(), [](Node a, Node b) { return a->id < b->id; });
        sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
        for (Node node : sorted) {
            tensor::Kind kind = tensor::info(node->op).kind;
            for (Span span : node->spans) step.spans.push_back(span);
            if (kind == tensor::Kind::View || kind == tensor::Kind::Create) continue;
            step.ops.emplace_back(name_of(node->op));
            if (name.size() < 60) name += "_" + step.ops.back();
        }
        step.name = fmt::format("{}_{}", name, plan_.steps.size());
    }

    void add_kernel(const std::vector<Dim>& parallel, const std::vector<Dim>& folded,
                    const std::vector<Computation>& computations) {
        Step step;
        Kernel& kernel = step.kernel;
        kernel.parallel = parallel;
        kernel.folded = folded;
        Lowering lowering(graph_, symbols_, kernel, [&](Node node) { return fusion_.in_memory(node); });
        std::vector<BufferId> buffers;
        auto number_of = [&](BufferId buffer) {
            auto found = std::find(buffers.begin(), buffers.end(), buffer);
            if (found == buffers.end()) {
                buffers.push_back(buffer);
                kernel.buffers.push_back({plan_.buffers[buffer].dtype});
                return static_cast<uint32_t>(buffers.size() - 1);
            }
            return static_cast<uint32_t>(found - buffers.begin());
        };
        std::vector<loops::ValueId> values;
        for (const Computation& c : computations) values.push_back(lowering.computation(c));
        for (loops::Value& value : kernel.values) {
            if (value.kind != loops::Value::Load) continue;
            const Lowering::Source& source = lowering.sources()[value.buffer];
            BufferId home = home_of(source.node);
            value.index = place_in(plan_.buffers[home], source.index);
            value.buffer = number_of(home);
        }
        for (size_t i = 0; i < computations.size(); ++i) {
            const Computation& c = computations[i];
            for (BufferId buffer : stores_[c.node]) {
                if (c.copies && buffer == home_of(c.node)) continue;
                uint32_t number = number_of(buffer);
                kernel.buffers[number].stored = true;
                kernel.stores.push_back({number, place_in(plan_.buffers[buffer], c.at), values[i]});
            }
        }
        step.buffers = buffers;
        step.may_raise = kernel.may_raise();
        describe(step, lowering.nodes());
        arrange(kernel, step.buffers, [&](Dim dim) { return hint(dim); });
        kernel.name = step.name;
        loops::verify(kernel);
        plan_.steps.push_back(std::move(step));
    }

    void add_step(const Unit& unit) {
        if (!unit.external) return add_kernel(unit.parallel, unit.folded, unit.computations);
        Node node = unit.external;
        Step step;
        step.kind = is_product(node) ? Step::Matmul : Step::Operator;
        step.node = node;
        step.may_raise = unit.may_raise;
        for (const ExternOperand& operand : unit.operands) step.operands.push_back(view_of(operand));
        step.results = {stores_[node][0]};
        step.name = std::string(name_of(node->op));
        step.ops = {step.name};
        step.spans = node->spans;
        if (step.kind == Step::Operator) {
            const char* why = "";
            has_loop_form(node, options_, &why);
            plan_.fallbacks.push_back(fmt::format("{}: {}", step.name, why));
        }
        plan_.steps.push_back(std::move(step));
        if (stores_[node].size() > 1) {
            Space space = space_of_copy(node);
            add_kernel(space.parallel, {}, {space.computation});
        }
    }

    Space space_of_copy(Node node) const {
        Space space;
        space.computation.node = node;
        space.computation.copies = true;
        for (Dim size : symbols_(node->shape())) {
            if (size == Dim(1)) {
                space.computation.at.push_back(Dim(0));
                continue;
            }
            space.parallel.push_back(size);
            space.computation.at.push_back(loops::parallel_var(space.parallel.size() - 1));
        }
        return space;
    }

    BufferView view_of(const ExternOperand& operand) {
        BufferId home = home_of(operand.base);
        const PlanBuffer& buffer = plan_.buffers[home];
        Dim place = place_in(buffer, operand.index);
        BufferView view{home, operand.shape, Shape(operand.shape.size(), Dim(0)), Dim(0), operand.weak};
        for (size_t d = 0; d < operand.shape.size(); ++d) {
            if (operand.shape[d] == Dim(1)) continue;
            auto linear = loops::linear_in(place, loops::kVarBase + static_cast<uint32_t>(d));
            if (!linear) fail("an operand of {} is no plain view", name_of(operand.base->op));
            view.strides[d] = linear->coefficient;
            place = linear->rest;
        }
        view.offset = place;
        return view;
    }

    void add_copy(BufferId from, BufferId to) {
        Step step;
        step.kind = Step::Copy;
        step.name = "copy";
        step.ops = {"copy"};
        const PlanBuffer& buffer = plan_.buffers[from];
        step.operands = {{from, buffer.shape, buffer.strides, Dim(0)}};
        step.results = {to};
        plan_.steps.push_back(std::move(step));
    }

    void note_lifetimes() {
        std::vector<bool> seen(plan_.buffers.size(), false);
        auto touch = [&](BufferId id, size_t step) {
            PlanBuffer& buffer = plan_.buffers[id];
            if (!seen[id]) buffer.first_step = static_cast<uint32_t>(step);
            seen[id] = true;
            buffer.last_step = static_cast<uint32_t>(step);
        };
        for (size_t s = 0; s < plan_.steps.size(); ++s) {
            for (BufferId id : plan_.steps[s].buffers) touch(id, s);
            for (const BufferView& operand : plan_.steps[s].operands) touch(operand.buffer, s);
            for (BufferId id : plan_.steps[s].results) touch(id, s);
        }
    }

    const FragmentSpec& spec_;
    const graph::Graph& graph_;
    const Symbols& symbols_;
    const LowerOptions& options_;
    Fusion fusion_;
    Plan plan_;
    std::unordered_map<Node, std::vector<uint32_t>> readers_;
    std::unordered_map<Node, std::vector<BufferId>> stores_;
    std::unordered_map<Node, BufferId> homes_;
    std::vector<std::pair<BufferId, BufferId>> copies_;
};

}  // namespace

Plan schedule(const FragmentSpec& fragment, const graph::Graph& graph, const Symbols& symbols, const LowerOptions& options,
              Fusion fusion, Log log) {
    return Scheduler(fragment, graph, symbols, options, std::move(fusion), std::move(log)).run();
}

}  // namespace talc::inductor
