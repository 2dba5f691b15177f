#include "inductor/passes/fuse.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "tensor/error.hpp"

namespace talc::inductor {

using loops::Kernel;
using loops::Op;
using tensor::info;
using tensor::Kind;
using tensor::name_of;
using Node = graph::Value;

namespace {

constexpr size_t kMostValues = 240;       // in a kernel
constexpr size_t kMostSources = 40;
constexpr size_t kMostComputations = 48;
constexpr int kCostly = 8;                // a value that is rather loaded than computed twice
constexpr int64_t kSmall = 65536;         // elements below which a launch costs more than the work

int cost_of(Node node) {
    switch (node->op) {
        case Op::Exp:
        case Op::Expm1:
        case Op::Log:
        case Op::Log1p:
        case Op::Sin:
        case Op::Cos:
        case Op::Tanh:
        case Op::Sigmoid:
        case Op::Erf:
        case Op::Gelu:
        case Op::Rand:
        case Op::Randn:
        case Op::Pow: return 10;
        case Op::Div:
        case Op::Sqrt:
        case Op::Rsqrt:
        case Op::Reciprocal:
        case Op::FloorDiv:
        case Op::Remainder: return 4;
        case Op::IndexSelect:
        case Op::Gather:
        case Op::IndexTake:
        case Op::SliceScatter:
        case Op::SelectScatter: return 4;
        default: return info(node->op).kind == Kind::Pointwise ? 1 : 0;
    }
}

std::string title(const Unit& unit) {
    if (unit.external) return std::string(name_of(unit.external->op));
    std::string text;
    for (const Computation& c : unit.computations) text += (text.empty() ? "" : "+") + std::string(name_of(c.node->op));
    return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

bool is_whole_part(Node node) { return node->op == Op::Cat || node->op == Op::Stack; }

class Fuser {
  public:
    Fuser(const graph::Graph& graph, const Symbols& symbols, const LowerOptions& options, Log& log)
        : graph_(graph), symbols_(symbols), options_(options), log_(log) {}

    Fusion run() {
        live_ = graph_.live();
        choose_roots();
        make_units();
        join_vertically();
        join_horizontally();
        return std::move(fusion_);
    }

  private:
    // ---- what lies in memory ----------------------------------------------------------------------------------
    bool is_root(Node node) const { return roots_.count(node) != 0; }
    bool is_external(Node node) const { return externals_.count(node) != 0; }

    void choose_roots() {
        for (Node node : live_) {
            Kind kind = info(node->op).kind;
            if (kind == Kind::Leaf) continue;
            if (!has_loop_form(node, options_)) {
                externals_.insert(node);
                roots_.insert(node);
            } else if (kind == Kind::Reduction || is_whole_part(node)) {
                roots_.insert(node);
            }
        }
        choose_host_operators();
        for (Node node : live_) {
            if (!is_external(node)) continue;
            auto& operands = extern_operands_[node];
            for (Node input : node->inputs) operands.push_back(extern_operand(input));
            for (const ExternOperand& operand : operands) {
                if (!is_leaf(operand.base) && operand.base->op != Op::Number) roots_.insert(operand.base);
            }
        }
        for (Node output : graph_.outputs()) roots_.insert(output);
        choose_shared();
    }

    // In a fragment for another device: numbers on the CPU that are given out, or that operators there need.
    void choose_host_operators() {
        auto on_host = [&](Node node) { return !(node->type().device == options_.device); };
        auto demand = [&](Node node) {
            if (info(node->op).kind == Kind::Leaf || node->op == Op::Number || !on_host(node)) return;
            externals_.insert(node);
            roots_.insert(node);
        };
        for (Node output : graph_.outputs()) demand(output);
        for (size_t i = live_.size(); i-- > 0;) {
            if (!is_external(live_[i])) continue;
            for (Node input : live_[i]->inputs) demand(input);
        }
    }

    // The base in memory of which an operand is a view with plain strides, or the operand itself.
    ExternOperand extern_operand(Node operand) {
        Kernel loops;
        ExternOperand result{operand, {}, symbols_(operand->shape()), operand->type().weak};
        for (Dim size : result.shape) {
            loops.parallel.push_back(size);
            result.index.push_back(size == Dim(1) ? Dim(0) : loops::parallel_var(loops.parallel.size() - 1));
        }
        Lowering lowering(graph_, symbols_, loops, [](Node) { return false; });
        ExternOperand view = result;
        while (info(view.base->op).kind == Kind::View) {
            view.index = lowering.through_view(view.base, view.index);
            view.base = view.base->inputs[0];
        }
        for (size_t d = 0; d < loops.parallel.size(); ++d) {
            for (Dim index : view.index) {
                auto linear = loops::linear_in(index, loops::kVarBase + static_cast<uint32_t>(d));
                if (!linear) return result;
            }
        }
        return view;
    }

    // Costly values that several roots need, or that a larger loop would compute again and again.
    void choose_shared() {
        std::unordered_map<Node, int> cost;
        for (Node node : live_) {
            int sum = cost_of(node);
            for (Node input : node->inputs) sum += is_root(input) ? 0 : cost[input];
            cost[node] = std::min(sum, 1000);
            if (!is_root(node) && info(node->op).kind == Kind::Pointwise && sum > static_cast<int>(kMostValues) * 2) {
                roots_.insert(node);  // a chain that is too long for one kernel
            }
        }
        std::unordered_map<Node, std::vector<Node>> users;
        for (auto at = live_.rbegin(); at != live_.rend(); ++at) {
            Node node = *at;
            auto& own = users[node];
            Kind kind = info(node->op).kind;
            bool fusable = kind == Kind::Pointwise || kind == Kind::Index || kind == Kind::Random;
            if (!is_root(node) && fusable && own.size() > 1 && cost[node] >= kCostly && node->rank() > 0) {
                roots_.insert(node);
            }
            for (Node input : node->inputs) {
                auto& theirs = users[input];
                auto add = [&](Node root) {
                    if (std::find(theirs.begin(), theirs.end(), root) == theirs.end() && theirs.size() < 4) theirs.push_back(root);
                };
                if (is_root(node)) {
                    add(node);
                } else {
                    for (Node root : own) add(root);
                }
                bool grows = node->op == Op::Expand || info(node->op).kind == Kind::Pointwise;
                if (grows && !is_root(input) && info(input->op).kind == Kind::Pointwise && cost[input] >= kCostly &&
                    input->rank() > 0 && loops::product(symbols_(input->shape())) != Dim(1) &&
                    loops::product(symbols_(input->shape())) != loops::product(symbols_(node->shape()))) {
                    roots_.insert(input);
                }
            }
        }
    }

    // ---- units ------------------------------------------------------------------------------------------------
    void make_units() {
        for (Node node : live_) {
            if (!is_root(node)) continue;
            if (is_external(node)) {
                Unit unit;
                unit.external = node;
                unit.operands = extern_operands_[node];
                unit.may_raise = node->op != Op::Matmul;
                for (const ExternOperand& operand : unit.operands) unit.sources.push_back({operand.base, {}});
                add_unit(node, std::move(unit));
                continue;
            }
            int32_t parts = is_whole_part(node) ? static_cast<int32_t>(node->inputs.size()) : 0;
            for (int32_t part = parts ? 0 : -1; part < parts; ++part) {
                Space space = space_of(node, part, symbols_);
                Unit unit;
                unit.parallel = std::move(space.parallel);
                unit.folded = std::move(space.folded);
                unit.computations = {std::move(space.computation)};
                survey(unit);
                add_unit(node, std::move(unit));
                if (part < 0) break;
            }
        }
    }

    void add_unit(Node node, Unit unit) {
        fusion_.makers[node].push_back(static_cast<uint32_t>(fusion_.units.size()));
        fusion_.units.push_back(std::move(unit));
    }

    void survey(Unit& unit) {
        Kernel kernel;
        kernel.parallel = unit.parallel;
        kernel.folded = unit.folded;
        Lowering lowering(graph_, symbols_, kernel, [&](Node node) { return is_root(node); });
        for (const Computation& c : unit.computations) lowering.computation(c);
        unit.sources = lowering.sources();
        unit.weight = kernel.values.size();
        unit.may_raise = kernel.may_raise();
    }

    // ---- joining ----------------------------------------------------------------------------------------------
    using Substitution = std::unordered_map<uint32_t, Dim>;

    static Shape substituted(const Shape& index, const Substitution& map) {
        Shape result = index;
        for (Dim& dim : result) {
            dim = substitute(dim, [&](uint32_t symbol) {
                auto found = map.find(symbol);
                return found == map.end() ? Dim::symbol(symbol) : found->second;
            });
        }
        return result;
    }

    static void apply(Unit& unit, const Substitution& map) {
        for (Computation& c : unit.computations) {
            c.at = substituted(c.at, map);
            c.inner = substituted(c.inner, map);
        }
        for (Lowering::Source& source : unit.sources) source.index = substituted(source.index, map);
    }

    static const Computation* made_by(const Unit& unit, Node node) {
        for (const Computation& c : unit.computations) {
            if (c.node == node && c.part < 0 && !c.copies) return &c;
        }
        return nullptr;
    }

    static uint32_t var_of(Dim dim) {
        int64_t id = dim.symbol_id();
        return id >= 0 && loops::kind_of(static_cast<uint32_t>(id)) != loops::SymbolKind::Datum &&
                       loops::is_running(static_cast<uint32_t>(id))
                   ? static_cast<uint32_t>(id)
                   : 0;
    }

    static std::vector<std::pair<uint32_t, Dim>> variables(const Unit& unit) {
        std::vector<std::pair<uint32_t, Dim>> all;
        for (size_t i = 0; i < unit.parallel.size(); ++i) all.emplace_back(loops::kVarBase + i, unit.parallel[i]);
        for (size_t i = 0; i < unit.folded.size(); ++i) all.emplace_back(loops::kFoldBase + i, unit.folded[i]);
        return all;
    }

    // Variables of `inner` as expressions over those of `outer`, so that its element `made` falls on `read`.
    // Both have loops of the same points; or outer's parallel loops are just inner's.
    std::optional<Substitution> map_into(const Unit& outer, const Unit& inner, const Shape& made, const Shape& read,
                                         const char*& why) {
        Substitution map;
        for (size_t d = 0; d < made.size(); ++d) {
            if (uint32_t var = var_of(made[d])) {
                auto [at, fresh] = map.try_emplace(var, read[d]);
                if (!fresh && at->second != read[d]) return why = "it reads across the loops", std::nullopt;
            } else if (made[d] != read[d]) {
                return why = "its index is not that of a loop", std::nullopt;
            }
        }
        if (!outer.folded.empty() && !inner.folded.empty()) {
            if (outer.folded != inner.folded) return why = "the folded loops differ", std::nullopt;
            for (size_t i = 0; i < inner.folded.size(); ++i) {
                map[loops::kFoldBase + static_cast<uint32_t>(i)] = loops::folded_var(i);
            }
        }
        // A bijection: every variable of the inner falls on one of the outer with the same size.
        auto outer_vars = variables(outer), inner_vars = variables(inner);
        std::unordered_set<uint32_t> used;
        bool plain = true;
        for (auto [var, size] : inner_vars) {
            auto found = map.find(var);
            if (found == map.end()) return why = "it does not read all of it at a point", std::nullopt;
            uint32_t target = var_of(found->second);
            bool fits = false;
            for (auto [outer_var, outer_size] : outer_vars) fits = fits || (outer_var == target && outer_size == size);
            bool same_kind = loops::kind_of(var) != loops::SymbolKind::Folded ||
                             (target && loops::kind_of(target) == loops::SymbolKind::Folded);
            plain = plain && fits && same_kind && used.insert(target).second;
        }
        if (plain) {
            bool all_parallel = used.size() == outer.parallel.size() && !inner.folded.size() &&
                                std::all_of(used.begin(), used.end(), [](uint32_t v) { return v < loops::kFoldBase; });
            if (used.size() == outer_vars.size() || all_parallel) return map;
            return why = "one has more elements", std::nullopt;
        }
        // The same elements in the same order with other sizes: a reshape.
        if (inner.folded.empty() && loops::product(inner.parallel) == total(outer)) {
            Dim inner_number(0), outer_number(0);
            for (auto [var, size] : inner_vars) inner_number = inner_number * size + map[var];
            for (auto [var, size] : outer_vars) outer_number = outer_number * size + Dim::symbol(var);
            if (inner_number == outer_number) return map;
        }
        return why = "the loops differ", std::nullopt;
    }

    static Dim total(const Unit& unit) { return loops::product(unit.parallel) * loops::product(unit.folded); }

    // Everything that the joined units read of each other is what the same point has computed.
    static bool consistent(const Unit& joined) {
        for (const Lowering::Source& source : joined.sources) {
            if (is_leaf(source.node)) continue;
            const Computation* made = made_by(joined, source.node);
            if (made && !(made->at == source.index)) return false;
            for (const Computation& c : joined.computations) {
                if (c.node == source.node && c.part >= 0) return false;
            }
        }
        return true;
    }

    bool too_large(const Unit& a, const Unit& b, const char*& why) const {
        bool large = a.weight + b.weight > kMostValues || a.sources.size() + b.sources.size() > kMostSources ||
                     a.computations.size() + b.computations.size() > kMostComputations;
        if (large) why = "the kernel would be too large";
        return large;
    }

    // b's computations to the end of a, in a's loops.
    static Unit joined(const Unit& first, const Unit& second, const Unit& loops) {
        Unit result;
        result.parallel = loops.parallel;
        result.folded = loops.folded;
        for (const Unit* unit : {&first, &second}) {
            result.computations.insert(result.computations.end(), unit->computations.begin(), unit->computations.end());
            for (const Lowering::Source& source : unit->sources) {
                bool seen = std::any_of(result.sources.begin(), result.sources.end(), [&](const Lowering::Source& s) {
                    return s.node == source.node && s.index == source.index;
                });
                if (!seen) result.sources.push_back(source);
            }
            result.weight += unit->weight;
            result.may_raise = result.may_raise || unit->may_raise;
        }
        return result;
    }

    void replace(uint32_t kept, uint32_t gone, Unit unit) {
        Fusion& f = fusion_;
        f.units[kept] = std::move(unit);
        f.units[gone].alive = false;
        for (auto& [node, makers] : f.makers) {
            for (uint32_t& maker : makers) maker = maker == gone ? kept : maker;
        }
    }

    // The producer `p` into the consumer `c`, which reads its `node` at `read`.
    bool join(uint32_t p, uint32_t c, Node node, const Shape& read, const char*& why) {
        Unit producer = fusion_.units[p], consumer = fusion_.units[c];
        if (producer.external) return why = "a library makes it", false;
        if (consumer.external) return why = "a library needs it in memory", false;
        const Computation* made = made_by(producer, node);
        if (!made) return why = "it is stored in parts", false;
        if (too_large(producer, consumer, why)) return false;
        bool outward = !producer.folded.empty() && consumer.folded.empty();  // the consumer goes into the fold's loops
        if (outward) {
            Substitution map;
            for (size_t d = 0; d < read.size(); ++d) {
                if (uint32_t var = var_of(read[d])) {
                    auto [at, fresh] = map.try_emplace(var, made->at[d]);
                    if (!fresh && at->second != made->at[d]) return why = "it reads across the loops", false;
                } else if (read[d] != made->at[d]) {
                    return why = "its index is not that of a loop", false;
                }
            }
            // What the fold does not fix runs along with what it folds.
            std::vector<std::pair<uint32_t, Dim>> free;
            std::unordered_set<uint32_t> used;
            for (auto [var, size] : variables(consumer)) {
                auto found = map.find(var);
                if (found == map.end()) {
                    free.emplace_back(var, size);
                } else if (uint32_t target = var_of(found->second); !target || !used.insert(target).second) {
                    return why = "its index is not that of a loop", false;
                }
            }
            size_t along = static_cast<size_t>(std::count_if(used.begin(), used.end(),
                                                             [](uint32_t v) { return v < loops::kFoldBase; }));
            size_t across = used.size() - along;
            if (along != producer.parallel.size()) return why = "it does not read all of it", false;
            if (across && (across != producer.folded.size() || !free.empty())) return why = "the loops differ", false;
            if (!free.empty()) {
                if (free.size() != producer.folded.size()) return why = "the loops differ", false;
                for (size_t i = 0; i < free.size(); ++i) {
                    if (free[i].second != producer.folded[i]) return why = "the loops differ", false;
                    map[free[i].first] = loops::folded_var(i);
                }
            }
            apply(consumer, map);
        } else {
            auto map = map_into(consumer, producer, made->at, read, why);
            if (!map) return false;
            apply(producer, *map);
        }
        Unit result = joined(producer, consumer, outward ? producer : consumer);
        if (!consistent(result)) return why = "it is read at other places as well", false;
        if (fusion_.depends(c, p, true)) return why = "another step stands between", false;
        replace(c, p, std::move(result));
        return true;
    }

    void join_vertically() {
        for (uint32_t c = 0; c < fusion_.units.size(); ++c) {
            std::unordered_set<Node> refused;
            bool changed = fusion_.units[c].alive && !fusion_.units[c].external;
            while (changed) {
                changed = false;
                std::vector<Lowering::Source> sources = fusion_.units[c].sources;
                for (const Lowering::Source& source : sources) {
                    auto found = fusion_.makers.find(source.node);
                    if (found == fusion_.makers.end() || is_leaf(source.node) || refused.count(source.node)) continue;
                    uint32_t p = found->second[0];
                    if (p == c) continue;
                    const char* why = "";
                    std::string producer = title(fusion_.units[p]), consumer = title(fusion_.units[c]);
                    if (join(p, c, source.node, source.index, why)) {
                        log_.add("fusion", "{} with {}", producer, consumer);
                        changed = true;
                        break;
                    }
                    refused.insert(source.node);
                    log_.add("fusion", "{} not with {}: {}", producer, consumer, why);
                }
            }
        }
    }

    bool join_side_by_side(uint32_t a, uint32_t b, const char*& why) {
        const Unit &first = fusion_.units[a], &second = fusion_.units[b];
        if (first.parallel != second.parallel || first.folded != second.folded) return why = "", false;
        bool shared = false;
        for (const Lowering::Source& s : first.sources) {
            for (const Lowering::Source& t : second.sources) {
                shared = shared || (s.node == t.node && s.node->rank() > 0 && s.index == t.index);
            }
        }
        auto elements = graph_.dims().hint(total(first));
        if (!shared && !(elements && *elements <= kSmall)) return why = "they share nothing and are large", false;
        if (too_large(first, second, why)) return false;
        Unit result = joined(first, second, first);
        if (!consistent(result)) return why = "one reads the other at other places", false;
        if (fusion_.depends(a, b) || fusion_.depends(b, a)) return why = "one needs the other, through a third", false;
        replace(a, b, std::move(result));
        return true;
    }

    void join_horizontally() {
        constexpr int kMostTries = 64;  // a unit
        for (uint32_t a = 0; a < fusion_.units.size(); ++a) {
            if (!fusion_.units[a].alive || fusion_.units[a].external) continue;
            int tries = 0;
            for (uint32_t b = a + 1; b < fusion_.units.size() && tries < kMostTries; ++b) {
                if (!fusion_.units[b].alive || fusion_.units[b].external) continue;
                const char* why = "";
                std::string one = title(fusion_.units[a]), other = title(fusion_.units[b]);
                if (join_side_by_side(a, b, why)) {
                    log_.add("fusion", "{} beside {}", one, other);
                } else if (*why) {
                    ++tries;
                    log_.add("fusion", "{} not beside {}: {}", one, other, why);
                }
            }
        }
    }

    const graph::Graph& graph_;
    const Symbols& symbols_;
    const LowerOptions& options_;
    Log& log_;
    std::vector<Node> live_;
    std::unordered_set<Node> roots_, externals_;
    std::unordered_map<Node, std::vector<ExternOperand>> extern_operands_;
    Fusion fusion_;
};

}  // namespace

std::vector<uint32_t> Fusion::needs(uint32_t unit) const {
    std::vector<uint32_t> result = units[unit].after;
    for (const Lowering::Source& source : units[unit].sources) {
        auto found = makers.find(source.node);
        if (found == makers.end() || is_leaf(source.node)) continue;
        for (uint32_t maker : found->second) {
            if (maker != unit) result.push_back(maker);
        }
    }
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
}

bool Fusion::depends(uint32_t unit, uint32_t other, bool beyond) const {
    std::vector<bool> seen(units.size(), false);
    std::vector<uint32_t> open;
    for (uint32_t need : needs(unit)) {
        if (need == other && beyond) continue;
        open.push_back(need);
    }
    while (!open.empty()) {
        uint32_t at = open.back();
        open.pop_back();
        if (at == other) return true;
        if (seen[at]) continue;
        seen[at] = true;
        for (uint32_t need : needs(at)) open.push_back(need);
    }
    return false;
}

std::vector<uint32_t> Fusion::order() const {
    std::vector<uint32_t> result;
    std::vector<uint8_t> state(units.size(), 0);
    auto visit = [&](auto& self, uint32_t unit) -> void {
        if (state[unit] == 2) return;
        if (state[unit] == 1) tensor::fail("kernels depend on each other in a ring");
        state[unit] = 1;
        for (uint32_t need : needs(unit)) self(self, need);
        state[unit] = 2;
        result.push_back(unit);
    };
    for (uint32_t unit = 0; unit < units.size(); ++unit) {
        if (units[unit].alive) visit(visit, unit);
    }
    return result;
}

Fusion fuse(const graph::Graph& graph, const Symbols& symbols, const LowerOptions& options, Log& log) {
    return Fuser(graph, symbols, options, log).run();
}

}  // namespace talc::inductor
