// Sizes that are symbols: which they are, how the program's numbers and the attributes of operators follow from them, and
// what has to hold for that. A number in an attribute is a symbol only where it is known how it was computed; where it
// is not, the sizes that may have had a part in it are guarded.
#include <fmt/format.h>

#include <algorithm>

#include "jit/fragment.hpp"
#include "jit/jit.hpp"
#include "jit/recorder.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "vm/tensor.hpp"

namespace talc::jit {

using graph::Dim;
using graph::DimFact;
using tensor::Op;
using tensor::Tensor;
using vm::Kind;

namespace attr = tensor::attr;

bool Recorder::is_symbolic(const graph::Shape& shape) const {
    return std::any_of(shape.begin(), shape.end(), [](Dim dim) { return !dim.is_constant(); });
}

// ---- symbols ----------------------------------------------------------------------------------------------

// Which dims of a tensor from outside are to be symbols, as bits.
uint64_t Recorder::dynamic_dims(const Tensor& tensor, int32_t slot, const std::string& what) {
    int dynamic = anchor_.options.dynamic;
    if (dynamic == 0 || tensor.rank() > 60) return 0;
    Value object = slot >= 0 ? slot_values_[static_cast<size_t>(slot)].get() : segment_->constants[static_cast<size_t>(~slot)].get();
    if (object.is_obj() && object.o->cls == vm_.classes.parameter) return 0;
    std::string key = fmt::format("{} {} {} {}", fmt::ptr(segment_->entry[0].code), segment_->entry[0].pc, what, names_[what]++);
    uint64_t& changed = anchor_.changed[key];
    auto [seen, fresh] = anchor_.sizes.try_emplace(key, tensor.sizes());
    if (!fresh && seen->second.size() == tensor.sizes().size()) {
        for (size_t d = 0; d < tensor.sizes().size(); ++d) {
            if (seen->second[d] != tensor.sizes()[d]) changed |= uint64_t{1} << d;
        }
    } else if (!fresh) {
        changed = 0;
    }
    seen->second = tensor.sizes();
    bool all = dynamic == 1 && !what.starts_with('.') && what != "a gradient";
    uint64_t wanted = 0;
    for (size_t d = 0; d < tensor.sizes().size(); ++d) {
        uint64_t bit = uint64_t{1} << d;
        if (tensor.sizes()[d] >= 2 && (all || (changed & bit))) wanted |= bit;
    }
    return wanted;
}

graph::Shape Recorder::symbols_for(const Tensor& tensor, int32_t slot, uint64_t dims) {
    graph::Shape shape = graph::symbolic(tensor.sizes());
    for (uint32_t d = 0; d < shape.size(); ++d) {
        if (!(dims >> d & 1)) continue;
        shape[d] = dims_.fresh(tensor.sizes()[d]);
        segment_->symbols.push_back({slot, d});
    }
    if (dims) share_facts();
    return shape;
}

// An int that shapes the computation and was another one in the last recording; 0, 1 and negative ones stay numbers.
std::optional<Dim> Recorder::symbol_for(Source source, int64_t value) {
    if (anchor_.options.dynamic == 0 || source.kind != Source::Slot) return std::nullopt;
    std::string place = fmt::format("int {} {}", fmt::ptr(top().code), current_.at);
    std::string key = fmt::format("{} {} {} {}", fmt::ptr(segment_->entry[0].code), segment_->entry[0].pc, place, names_[place]++);
    auto [seen, fresh] = anchor_.ints.try_emplace(key, value);
    uint64_t& changed = anchor_.changed[key];
    if (seen->second != value) changed = 1;
    seen->second = value;
    if (!changed || value < 2) return std::nullopt;
    Dim dim = dims_.fresh(value);
    segment_->symbols.push_back({source.index, SymbolSource::kInt});
    dims_.assume({DimFact::AtMost, Dim(2), dim});
    slot_dims_[source.index] = dim;
    share_facts();
    return dim;
}

void Recorder::share_facts() {
    if (!has_symbols()) return;
    graph::DimEnv* graph = fragment_ >= 0 ? &fragment().graph.dims() : nullptr;
    if (graph) {
        for (const DimFact& fact : graph->facts()) dims_.assume(fact);
        for (size_t s = graph->symbol_count(); s < dims_.symbol_count(); ++s) {
            graph->set_hint(static_cast<uint32_t>(s), *dims_.hint(Dim::symbol(static_cast<uint32_t>(s))));
        }
    }
    for (; guarded_ < dims_.facts().size(); ++guarded_) {
        const DimFact& fact = dims_.facts()[guarded_];
        int32_t snapshot = snapshot_before();
        Instruction& guard = emit(TraceOp::GuardSizes);
        guard.imm = static_cast<int64_t>(segment_->facts.size());
        guard.snapshot = snapshot;
        segment_->facts.push_back(fact);
    }
    if (graph) {
        for (const DimFact& fact : dims_.facts()) graph->assume(fact);
    }
}

// A size that is no plain symbol is 0 or 1 as it was, or neither.
void Recorder::settle_shape(const graph::Shape& shape) {
    for (Dim dim : shape) {
        if (dim.is_constant() || dim.symbol_id() >= 0) continue;
        int64_t hint = dims_.hint(dim).value_or(0);
        if (hint >= 2) {
            dims_.at_most(Dim(2), dim);
        } else {
            dims_.same(dim, Dim(hint));
        }
    }
}

graph::Value Recorder::add_node(Op op, std::span<const graph::Value> values, const graph::Attrs& attrs) {
    graph::Value node = fragment().graph.add(op, values, attrs);
    if (has_symbols()) {
        share_facts();
        for (const graph::TensorType& type : node->types) settle_shape(type.shape);
        share_facts();
    }
    return node;
}

void Recorder::specialise(uint32_t symbol) {
    Dim dim = Dim::symbol(symbol);
    dims_.assume({DimFact::Equal, dim, Dim(*dims_.hint(dim))});
}

void Recorder::specialise(const graph::Shape& shape) {
    std::vector<uint32_t> symbols;
    for (Dim dim : shape) graph::collect_symbols(dim, symbols);
    for (uint32_t symbol : symbols) specialise(symbol);
}

void Recorder::specialise_tensors(Value value, int depth) {
    if (vm::is_tensor(value)) {
        if (auto known = known_tensor(vm::tensor_of(value))) specialise(tensors_[*known].shape);
        return;
    }
    bool list = value.is_kind(Kind::List);
    if ((!list && !value.is_kind(Kind::Tuple)) || depth > 6) return;
    const Value* items = list ? vm::cast<vm::List>(value)->items : vm::cast<vm::Tuple>(value)->items;
    size_t size = list ? vm::cast<vm::List>(value)->size : vm::cast<vm::Tuple>(value)->size;
    for (size_t k = 0; k < size; ++k) specialise_tensors(items[k], depth + 1);
}

// The instruction does something with sizes that is not known: those that it sees are what they were.
void Recorder::specialise_operands(tensor::Tensors inputs) {
    bool pass = current_.native && (current_.native->row->name == std::string_view("backward") ||
                                    current_.native->row->owner == std::string_view("autograd"));
    if (pass) {
        for (uint32_t s = 0; s < dims_.symbol_count(); ++s) specialise(s);
    }
    for (const Tensor& input : inputs) {
        if (auto known = known_tensor(input)) specialise(tensors_[*known].shape);
    }
    for (const Ref& value : current_.values) specialise_tensors(value, 0);
    share_facts();
}

// ---- what a backward pass tells ---------------------------------------------------------------------------

bool Recorder::follows(const autograd::SymbolicCall& call) const {
    return !paused_ && !current_.nested && have_current_ && segment_ && !current_.refused && call.owner == own_symbols_;
}

graph::Shape Recorder::shape_of(const Tensor& tensor) {
    if (auto known = known_tensor(tensor)) return tensors_[*known].shape;
    return graph::symbolic(tensor.sizes());
}

void Recorder::attributes(Op op, const graph::Attrs& attrs) {
    if (paused_ || current_.nested || !have_current_) return;
    current_.given = Current::Sized{op, attrs};
}

void Recorder::sized(const Tensor& made, Dim dim) {
    if (paused_ || current_.nested || !have_current_ || !segment_ || current_.refused) return;
    paused_ = true;
    autograd::GraphEmit emitter(fragment().graph);
    Root root;
    root.tensor = made;
    root.number = true;
    root.value = emitter.size(dim);
    root.fragment = fragment_;
    note_node(root.value, false);
    TensorState state;
    state.info.root = add_root(std::move(root));
    state.tensor = made;
    add_tensor(std::move(state));
    paused_ = false;
}

void Recorder::size_used() {
    if (paused_ || current_.nested || !have_current_ || !segment_ || !has_symbols()) return;
    for (uint32_t s = 0; s < dims_.symbol_count(); ++s) specialise(s);
    share_facts();
}

// ---- attributes of operators ------------------------------------------------------------------------------

graph::Attrs Recorder::attributes_of(Op op, const tensor::Attrs& attrs, tensor::Tensors inputs) {
    graph::Attrs plain = graph::symbolic(attrs);
    std::optional<Current::Sized> given = std::exchange(current_.given, std::nullopt);
    if (!has_symbols()) return plain;
    if (!std::exchange(current_.planned, true) && current_.native && !current_.sizes_planned) {
        specialise_operands(inputs);
        current_.plain_sizes = true;
    }
    uint32_t used = tensor::info(op).attrs;
    if (!(used & (attr::Sizes | attr::Start | attr::End | attr::Step))) return plain;
    auto fits = [&](const Current::Sized& sized) {
        if (sized.op != op) return false;
        auto is = [&](Dim dim, int64_t value) { return dims_.hint(dim) == value; };
        if (used & attr::Sizes) {
            if (sized.attrs.sizes.size() != attrs.sizes.size()) return false;
            for (size_t d = 0; d < attrs.sizes.size(); ++d) {
                if (!is(sized.attrs.sizes[d], attrs.sizes[d])) return false;
            }
        }
        return (!(used & attr::Start) || is(sized.attrs.start, attrs.start)) && (!(used & attr::End) || is(sized.attrs.end, attrs.end)) &&
               (!(used & attr::Step) || is(sized.attrs.step, attrs.step));
    };
    auto taken = [&](const Current::Sized& sized) {
        plain.sizes = sized.attrs.sizes;
        plain.start = sized.attrs.start;
        plain.end = sized.attrs.end;
        plain.step = sized.attrs.step;
        return plain;
    };
    if (given && fits(*given)) return taken(*given);
    if (current_.met < current_.expected.size() && fits(current_.expected[current_.met])) return taken(current_.expected[current_.met++]);
    if (current_.plain_sizes) return plain;
    // The gradient that a backward pass begins with.
    bool single = op == Op::Full && std::all_of(attrs.sizes.begin(), attrs.sizes.end(), [](int64_t size) { return size == 1; });
    if (!single) specialise_operands(inputs);
    return plain;
}

// Every symbol that the fragment's results need is a size of one of its inputs.
void Recorder::bind_symbols(Fragment& now) {
    if (!has_symbols()) return;
    std::vector<graph::Value> open(now.checks.begin(), now.checks.end());
    for (const Fragment::Output& output : now.outputs) open.push_back(output.value);
    std::vector<bool> seen(now.graph.size(), false);
    std::vector<uint32_t> used;
    while (!open.empty()) {
        graph::Value node = open.back();
        open.pop_back();
        if (seen[node->id]) continue;
        seen[node->id] = true;
        open.insert(open.end(), node->inputs.begin(), node->inputs.end());
        for (const graph::TensorType& type : node->types) {
            for (Dim dim : type.shape) graph::collect_symbols(dim, used);
        }
        for (Dim dim : node->attrs.sizes) graph::collect_symbols(dim, used);
        for (Dim dim : {node->attrs.start, node->attrs.end, node->attrs.step}) graph::collect_symbols(dim, used);
    }
    // A compiler may take one symbol for another that equals it.
    for (bool more = true; more;) {
        more = false;
        for (const DimFact& fact : now.graph.dims().facts()) {
            std::vector<uint32_t> both;
            graph::collect_symbols(fact.a, both);
            graph::collect_symbols(fact.b, both);
            auto is_used = [&](uint32_t symbol) { return std::find(used.begin(), used.end(), symbol) != used.end(); };
            if (fact.kind != DimFact::Equal || std::none_of(both.begin(), both.end(), is_used)) continue;
            for (uint32_t symbol : both) {
                if (is_used(symbol)) continue;
                used.push_back(symbol);
                more = true;
            }
        }
    }
    for (uint32_t symbol : used) {
        bool bound = std::any_of(now.graph.inputs().begin(), now.graph.inputs().end(), [&](graph::Value input) {
            return std::find(input->shape().begin(), input->shape().end(), Dim::symbol(symbol)) != input->shape().end();
        });
        if (bound) continue;
        int32_t slot = segment_->symbols[symbol].slot;
        if (segment_->symbols[symbol].dim == SymbolSource::kInt) {
            Tensor like = sized_tensor(vm_.tensors, *dims_.hint(Dim::symbol(symbol)));
            graph::TensorType type = graph::type_of(like);
            type.shape = {Dim::symbol(symbol)};
            now.graph.input(type);
            now.inputs.push_back({slot, false, true});
            now.layouts.push_back(like.layout_class());
            continue;
        }
        for (const Root& root : roots_) {
            if (root.object != slot || !root.outside) continue;
            graph::TensorType type = graph::type_of(root.tensor);
            type.shape = root.shape;
            now.graph.input(type);
            now.inputs.push_back({slot, false});
            now.layouts.push_back(root.tensor.layout_class());
            break;
        }
    }
}

// ---- sizes as numbers of the program ----------------------------------------------------------------------

int32_t Recorder::size_slot(Dim dim, Value actual) {
    int32_t slot = new_slot(actual);
    Instruction& size = emit(TraceOp::Size);
    size.dst = slot;
    size.imm = static_cast<int64_t>(segment_->shapes.size());
    size.flags = actual.is_float();
    segment_->shapes.push_back({dim});
    if (actual.is_int()) slot_dims_[slot] = dim;
    return slot;
}

// The value of .shape, where it is no constant.
std::optional<Source> Recorder::size_read(Source tensor, Value actual) {
    if (tensor.kind != Source::Tensor) return std::nullopt;
    graph::Shape shape = tensors_[static_cast<size_t>(tensor.index)].shape;
    if (!is_symbolic(shape)) return std::nullopt;
    int32_t slot = new_slot(actual);
    Instruction& sizes = emit(TraceOp::Sizes);
    sizes.dst = slot;
    sizes.imm = static_cast<int64_t>(segment_->shapes.size());
    segment_->shapes.push_back(shape);
    slot_shapes_[slot] = {shape.begin(), shape.end()};
    return Source{Source::Slot, slot};
}

// What a builtin says of a tensor's sizes, where that is no constant.
std::optional<Source> Recorder::size_call(Value actual) {
    if (!has_symbols() || current_.operands.empty() || current_.operands[0].kind != Source::Tensor) return std::nullopt;
    const graph::Shape shape = tensors_[static_cast<size_t>(current_.operands[0].index)].shape;
    if (!is_symbolic(shape)) return std::nullopt;
    std::string_view name = current_.native->row->name;
    auto number = [&](Dim dim) -> Source {
        if (dim.is_constant()) return constant(actual);
        return {Source::Slot, size_slot(dim, actual)};
    };
    if (name == "size" && current_.operands.size() == 1) return size_read(current_.operands[0], actual);
    if (name == "size" && current_.operands.size() == 2 && actual.is_int()) {
        Value given = value_of(current_.operands[1]);
        if (!given.is_int()) return std::nullopt;
        int64_t rank = static_cast<int64_t>(shape.size());
        return number(shape[static_cast<size_t>(given.i < 0 ? given.i + rank : given.i)]);
    }
    if (name == "numel" || name == "nelement") {
        Dim total(1);
        for (Dim dim : shape) total = total * dim;
        return number(total);
    }
    if (name == "len" || name == "__len__") return number(shape[0]);
    if (name == "stride") {
        specialise(shape);
        share_facts();
    }
    return std::nullopt;
}

std::optional<Dim> Recorder::dim_of(Source source) const {
    if (source.kind == Source::Slot) {
        auto found = slot_dims_.find(source.index);
        return found == slot_dims_.end() ? std::nullopt : std::optional(found->second);
    }
    Value value = value_of(source);
    return source.kind == Source::Constant && value.is_int() ? std::optional(Dim(value.i)) : std::nullopt;
}

// A tuple of ints, where each is known.
std::optional<std::vector<Dim>> Recorder::dims_of(Source source) {
    if (source.kind == Source::Slot) {
        if (auto found = slot_shapes_.find(source.index); found != slot_shapes_.end()) return found->second;
        return std::nullopt;
    }
    Value value = value_of(source);
    if (source.kind != Source::Constant || !value.is_kind(Kind::Tuple)) return std::nullopt;
    auto* tuple = vm::cast<vm::Tuple>(value);
    std::vector<Dim> dims;
    for (size_t k = 0; k < tuple->size; ++k) {
        if (!tuple->items[k].is_int()) return std::nullopt;
        dims.push_back(Dim(tuple->items[k].i));
    }
    return dims;
}

// What is known of a scalar step's result.
void Recorder::follow_step(lang::Op op, std::span<const Source> operands, int32_t dst, Value actual) {
    using L = lang::Op;
    if (!sizes_matter() || dst < 0) return;
    if (op == L::BUILD_TUPLE || op == L::BUILD_SLICE) {
        slot_parts_[dst] = {operands.begin(), operands.end()};
        if (op == L::BUILD_SLICE) return;
        std::vector<Dim> dims;
        for (const Source& part : operands) {
            auto dim = dim_of(part);
            if (!dim) return;
            dims.push_back(*dim);
        }
        slot_shapes_[dst] = std::move(dims);
        return;
    }
    auto keep = [&](Dim dim) {
        if (!dim.is_constant() && actual.is_int() && dims_.hint(dim) == actual.i) slot_dims_[dst] = dim;
    };
    if (operands.size() == 2 && (op == L::INDEX || op == L::INDEX_K)) {
        auto dims = dims_of(operands[0]);
        Value index = value_of(operands[1]);
        if (!dims || operands[1].kind != Source::Constant || !index.is_int()) return;
        int64_t size = static_cast<int64_t>(dims->size()), at = index.i < 0 ? index.i + size : index.i;
        if (at >= 0 && at < size) keep((*dims)[static_cast<size_t>(at)]);
        return;
    }
    if (operands.size() == 3 && op == L::SLICE) {
        auto dims = dims_of(operands[0]);
        if (!dims || !is_constant(operands[1]) || !is_constant(operands[2])) return;
        int64_t size = static_cast<int64_t>(dims->size());
        auto bound = [&](Source source, int64_t missing) {
            Value value = value_of(source);
            if (!value.is_int()) return missing;
            return std::clamp<int64_t>(value.i < 0 ? value.i + size : value.i, 0, size);
        };
        int64_t first = bound(operands[1], 0), last = bound(operands[2], size);
        auto* tuple = actual.is_kind(Kind::Tuple) ? vm::cast<vm::Tuple>(actual) : nullptr;
        if (!tuple || static_cast<int64_t>(tuple->size) != std::max<int64_t>(0, last - first)) return;
        std::vector<Dim> part;
        for (int64_t k = first; k < last; ++k) part.push_back((*dims)[static_cast<size_t>(k)]);
        slot_shapes_[dst] = std::move(part);
        return;
    }
    if (op == L::NEG && operands.size() == 1) {
        if (auto a = dim_of(operands[0])) keep(Dim(0) - *a);
        return;
    }
    if (operands.size() != 2) return;
    bool add = op == L::ADD || op == L::ADD_K || op == L::IADD || op == L::IADD_K;
    if (add) {
        auto a = dims_of(operands[0]), b = dims_of(operands[1]);
        if (a && b) {
            a->insert(a->end(), b->begin(), b->end());
            slot_shapes_[dst] = std::move(*a);
            return;
        }
    }
    auto a = dim_of(operands[0]), b = dim_of(operands[1]);
    if (!a || !b) return;
    if (add) return keep(*a + *b);
    if (op == L::SUB || op == L::SUB_K || op == L::ISUB || op == L::ISUB_K) return keep(*a - *b);
    if (op == L::MUL || op == L::MUL_K || op == L::IMUL || op == L::IMUL_K) return keep(*a * *b);
    bool positive = b->is_constant() ? b->constant() > 0 : graph::always_at_most(Dim(1), *b);
    bool natural = graph::always_at_most(Dim(0), *a);
    if (!positive || !natural) return;
    if (op == L::FLOORDIV || op == L::FLOORDIV_K || op == L::IFLOORDIV || op == L::IFLOORDIV_K) return keep(graph::floor_div(*a, *b));
    if (op == L::MOD || op == L::MOD_K || op == L::IMOD || op == L::IMOD_K) return keep(graph::modulo(*a, *b));
}

}  // namespace talc::jit
