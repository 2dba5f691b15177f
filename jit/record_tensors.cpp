// The recorder's view of tensors: memory (roots), views of it, and the graph of what is computed.
#include <fmt/format.h>

#include <algorithm>

#include "autograd/builder.hpp"
#include "autograd/emit.hpp"
#include "autograd/view_steps.hpp"
#include "jit/fragment.hpp"
#include "jit/fragment_grad.hpp"
#include "jit/jit.hpp"
#include "jit/planted.hpp"
#include "jit/recorder.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "vm/tensor.hpp"

namespace talc::jit {

using tensor::Op;
using tensor::Tensor;

namespace {

// Several elements lie in one place: a write to one is a write to others.
bool overlaps_itself(const Tensor& tensor) {
    for (int64_t d = 0; d < tensor.rank(); ++d) {
        if (tensor.size(d) > 1 && tensor.stride(d) == 0) return true;
    }
    return false;
}

bool same_geometry(const Tensor& a, const Tensor& b) {
    return a.dtype() == b.dtype() && a.offset() == b.offset() && a.sizes() == b.sizes() &&
           (a.strides() == b.strides() || a.numel() <= 1);
}

bool same_steps(const TensorInfo& a, const TensorInfo& b) {
    auto moves = [](const ViewStep& step) { return step.op != Op::Detach; };
    std::vector<const ViewStep*> left, right;
    for (const ViewStep& step : a.steps) {
        if (moves(step)) left.push_back(&step);
    }
    for (const ViewStep& step : b.steps) {
        if (moves(step)) right.push_back(&step);
    }
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](const ViewStep* x, const ViewStep* y) { return x->op == y->op && x->attrs == y->attrs; });
}

}  // namespace

void Recorder::refuse(std::string_view reason, std::string detail) {
    if (current_.refused) return;
    current_.refused = std::string(reason);
    current_.refused_detail = std::move(detail);
}

Fragment& Recorder::fragment() {
    if (fragment_ < 0) {
        segment_->fragments.push_back(std::make_shared<Fragment>(vm_.tensors.default_float));
        fragment_ = static_cast<int32_t>(segment_->fragments.size() - 1);
        number_values_.clear();
        spent_nodes_.clear();
        Fragment& made = *segment_->fragments.back();
        made.graph.dims() = dims_;
        made.graph.set_span(top().code->plain->spans[current_.at]);
        made.line = static_cast<int>(top().code->plain->source->line_of(top().code->plain->spans[current_.at].begin));
    }
    return *segment_->fragments[static_cast<size_t>(fragment_)];
}

uint32_t Recorder::add_root(Root root) {
    auto index = static_cast<uint32_t>(roots_.size());
    if (root.tensor) {
        by_storage_.emplace(&root.tensor.storage(), index);
        root.seen_version = root.tensor.version();
    }
    roots_.push_back(std::move(root));
    return index;
}

uint32_t Recorder::add_tensor(TensorState state) {
    tensors_.push_back(std::move(state));
    return static_cast<uint32_t>(tensors_.size() - 1);
}

void Recorder::save_root(uint32_t root) { current_.old_roots.emplace_back(root, roots_[root]); }

// A tensor that was seen: the same object, or one with the same memory and geometry.
std::optional<uint32_t> Recorder::known_tensor(const Tensor& tensor) {
    auto [first, last] = by_storage_.equal_range(&tensor.storage());
    if (first == last) return std::nullopt;
    std::optional<uint32_t> like;
    bool alike = false;
    for (uint32_t i = 0; i < tensors_.size(); ++i) {
        bool here = std::any_of(first, last, [&](const auto& entry) { return entry.second == tensors_[i].info.root; });
        if (!here) continue;
        if (tensors_[i].tensor.is(tensor)) return i;
        if (!same_geometry(tensors_[i].tensor, tensor)) continue;
        // Alike for these sizes: for others they may be different parts.
        if (like && !(tensors_[i].shape == tensors_[*like].shape && same_steps(tensors_[i].info, tensors_[*like].info))) alike = true;
        if (!like) like = i;
    }
    if (alike && has_symbols() && have_current_) {
        for (uint32_t s = 0; s < dims_.symbol_count(); ++s) specialise(s);
    }
    return like;
}

// Other memory that compiled code reads must lie apart from what it writes.
void Recorder::guard_apart(int32_t written, int32_t snapshot) {
    auto first = static_cast<uint32_t>(segment_->operands.size());
    for (Root& root : roots_) {
        if (root.number || !root.in_memory || root.object < 0 || root.met) continue;
        root.met = true;
        segment_->operands.push_back(root.object);
    }
    Instruction& apart = emit(TraceOp::GuardApart);
    apart.a = written;
    apart.first = first;
    apart.count = static_cast<uint32_t>(segment_->operands.size()) - first;
    apart.snapshot = snapshot;
    segment_->memories += apart.count;
}

// What is known of the gradients of leaves holds as long as they are different ones.
void Recorder::guard_other(int32_t leaf) {
    int32_t snapshot = snapshot_before();
    if (!grad_objects_.empty()) {
        Instruction& other = emit(TraceOp::GuardOther);
        other.a = leaf;
        other.first = static_cast<uint32_t>(segment_->operands.size());
        other.count = static_cast<uint32_t>(grad_objects_.size());
        other.snapshot = snapshot;
        segment_->operands.insert(segment_->operands.end(), grad_objects_.begin(), grad_objects_.end());
    }
    grad_objects_.push_back(leaf);
}

// The gradient that a leaf has from before.
int32_t Recorder::load_grad(int32_t leaf, Value actual) {
    guard_other(leaf);
    int32_t slot = new_slot(actual);
    int32_t snapshot = snapshot_before();
    Instruction& load = emit(TraceOp::LoadGrad);
    load.dst = slot;
    load.a = leaf;
    load.snapshot = snapshot;
    return slot;
}

std::optional<uint32_t> Recorder::find_tensor(const Tensor& tensor) {
    if (auto known = known_tensor(tensor)) return known;
    // The gradient that a known leaf has had from before.
    for (uint32_t i = 0; i < tensors_.size(); ++i) {
        Tensor leaf = tensors_[i].tensor;
        if (!leaf || !leaf.autograd_meta() || !autograd::grad_of(leaf).is(tensor)) continue;
        if (grads_.contains(leaf.impl())) return std::nullopt;
        int32_t object = object_of(i);
        Ref actual = vm::wrap(vm_, tensor);
        int32_t slot = load_grad(object, actual);
        Source source = take_in(tensor, slot, snapshot_before(), "a gradient");
        grads_[leaf.impl()] = source;
        return static_cast<uint32_t>(source.index);
    }
    return std::nullopt;
}

// A tensor that came from outside, in slot `slot`.
Source Recorder::take_in(const Tensor& tensor, int32_t slot, int32_t snapshot, std::string what) {
    autograd::requires_grad(tensor);  // a view is brought up to date with its base
    auto known = known_tensor(tensor);
    if (known && tensors_[*known].tensor.is(tensor) && tensors_[*known].info.object >= 0) {
        Instruction& same = emit(TraceOp::GuardSame);
        same.a = slot;
        same.b = tensors_[*known].info.object;
        same.snapshot = snapshot;
        return {Source::Tensor, static_cast<int32_t>(*known)};
    }
    uint64_t any = dynamic_dims(tensor, slot, what);
    Instruction& guard = emit(TraceOp::GuardTensor);
    segment_->guards.push_back({tensor.layout_class(), tensor.sizes(), {}, any, {}});
    guard.pointer = &segment_->guards.back();
    guard.a = slot;
    guard.snapshot = snapshot;
    if (segment_->snapshots[static_cast<size_t>(snapshot)].what.empty()) {
        segment_->snapshots[static_cast<size_t>(snapshot)].what = std::move(what);
    }
    // Not of one that is known: a result of this trace is a promise until its fragment has run, and has no history yet.
    if (tensor.requires_grad()) {
        Instruction& leaf = emit(TraceOp::GuardLeaf);
        leaf.a = slot;
        leaf.imm = autograd::is_leaf(tensor);
        leaf.snapshot = snapshot;
    }
    graph::Shape shape = symbols_for(tensor, slot, any);
    auto [first, last] = by_storage_.equal_range(&tensor.storage());
    bool shared = first != last;
    for (auto it = first; it != last; ++it) {
        // As values they are independent as long as nobody writes.
        Root& other = roots_[it->second];
        if (!other.in_memory || other.dirty || other.version > 0) refuse("aliased", "two tensors share memory");
        other.shared = true;
    }
    Root root;
    root.tensor = tensor;
    root.shape = shape;
    root.object = slot;
    root.in_memory = true;
    root.outside = true;
    root.shared = shared;
    bool written = std::any_of(roots_.begin(), roots_.end(), [](const Root& other) { return other.dirty && other.object >= 0; });
    uint32_t index = add_root(std::move(root));
    if (written) guard_apart(Instruction::kNone, snapshot);
    TensorState state;
    state.info.root = index;
    state.info.object = slot;
    state.tensor = tensor;
    state.shape = std::move(shape);
    return {Source::Tensor, static_cast<int32_t>(add_tensor(std::move(state)))};
}

// The root's value now, in the graph of the current fragment.
graph::Value Recorder::root_value(uint32_t index) {
    Fragment& now = fragment();
    Root& root = roots_[index];
    if (root.fragment == fragment_ && root.value) return root.value;
    if (root.number) {
        if (root.object < 0) {
            int32_t constant_index = ~root.object;
            Value value = segment_->constants[static_cast<size_t>(constant_index)];
            root.value = now.graph.number(*vm::scalar_of(vm_, value));
        } else if (auto known = number_values_.find(root.object); known != number_values_.end()) {
            root.value = known->second;
        } else {
            graph::TensorType type;
            type.dtype = root.tensor.dtype();
            type.weak = true;
            root.value = now.graph.input(type);
            now.inputs.push_back({root.object, true});
            now.layouts.push_back(root.tensor.layout_class());
            number_values_[root.object] = root.value;
        }
        root.fragment = fragment_;
        return root.value;
    }
    int32_t object = root_object(index);
    graph::TensorType type = graph::type_of(root.tensor);
    type.shape = root.shape;
    root.value = now.graph.input(type);
    root.fragment = fragment_;
    now.inputs.push_back({object, false});
    now.layouts.push_back(root.tensor.layout_class());
    return root.value;
}

graph::Value Recorder::tensor_value(uint32_t index) {
    TensorState& state = tensors_[index];
    graph::Value value = root_value(state.info.root);
    const Root& root = roots_[state.info.root];
    if (state.info.steps.empty()) return value;
    if (state.fragment == fragment_ && state.version == root.version && state.value) return state.value;
    for (const ViewStep& step : state.info.steps) {
        graph::Value inputs[] = {value};
        value = add_node(step.op, inputs, step.attrs);
        note_node(value, state.carries && step.op != Op::Detach);
    }
    if (root.tensor.requires_grad() && !state.carries && value->op != Op::Detach) value = without_history(value);
    state.value = value;
    state.fragment = fragment_;
    state.version = root.version;
    return value;
}

graph::Value Recorder::operand_value(const Tensor& tensor) {
    if (auto known = find_tensor(tensor)) return tensor_value(*known);
    if (tensor.is_weak()) {  // a number that C++ code wrote
        if (current_.count && current_.count->first == tensor::item(tensor)) {
            Root root;
            root.tensor = tensor;
            root.number = true;
            root.object = size_slot(current_.count->second, Value::real(tensor::item(tensor).to_double()));
            TensorState state;
            state.info.object = root.object;
            state.info.root = add_root(std::move(root));
            state.tensor = tensor;
            return tensor_value(add_tensor(std::move(state)));
        }
        return fragment().graph.number(tensor::item(tensor));
    }
    return nullptr;
}

void Recorder::note_node(graph::Value value, bool with_grad) {
    Fragment& now = fragment();
    if (now.with_grad.size() < now.graph.size()) now.with_grad.resize(now.graph.size(), false);
    if (with_grad) now.with_grad[value->id] = true;
    if (value->may_raise()) now.may_raise = true;
}

// The interpreter does it again from here when what is pending fails.
void Recorder::mark_resume() {
    if (resume_ >= 0) return;
    resume_ = snapshot_before();
    resume_slots_ = slot_values_.size();
}

// What was computed while gradients were off: a graph knows no modes, so that it says where gradients end.
graph::Value Recorder::without_history(graph::Value value) {
    graph::Value operand[] = {value};
    value = fragment().graph.add(Op::Detach, operand, {});
    note_node(value, false);
    return value;
}

// What memory holds after a write, as a node of its own: it lies as that memory does. Null: there is such a node, and it
// lies otherwise.
graph::Value Recorder::written_value(graph::Value value, const Tensor& memory, size_t nodes_before) {
    Fragment& now = fragment();
    if (value->id < nodes_before || value->inputs.empty()) {  // an operand, too, lies as it lies
        graph::Value operand[] = {value};
        value = now.graph.add(Op::Clone, operand, {});
    }
    auto [entry, fresh] = now.written_orders.try_emplace(value->id, order_of(memory));
    return fresh || entry->second == order_of(memory) ? value : nullptr;
}

// A tensor that came with a history: what a backward pass does with it is not for this segment to say.
bool Recorder::outside_tape() {
    return std::any_of(tensors_.begin(), tensors_.end(), [&](const TensorState& state) {
        return roots_[state.info.root].outside && state.info.steps.empty() && state.tensor.requires_grad() &&
               !autograd::is_leaf(state.tensor);
    });
}

Recorder::Root::Flags Recorder::flags_of(const Tensor& tensor) {
    Root::Flags flags{tensor.requires_grad(), false, {}};
    if (!flags.requires_grad) return flags;
    flags.leaf = autograd::is_leaf(tensor);
    if (autograd::grad_fn(tensor)) flags.grad_name = autograd::grad_fn(tensor)->name();
    return flags;
}

void Recorder::note_flags(TensorState& state) {
    if (std::exchange(state.flagged, true)) return;
    state.info.requires_grad = state.tensor.requires_grad();
    state.info.leaf = state.info.requires_grad && autograd::is_leaf(state.tensor);
}

// An operator that is not recorded is about to give this memory another history.
void Recorder::keep_flags(uint32_t root) {
    roots_[root].flags = flags_of(roots_[root].tensor);
    for (TensorState& state : tensors_) {
        if (state.info.root == root) note_flags(state);
    }
}

// After a recorded backward pass: what it has been through cannot be differentiated again.
void Recorder::note_spent() {
    for (uint32_t r = 0; r < roots_.size(); ++r) {
        Root& root = roots_[r];
        if (root.number || root.spent || !root.tensor.requires_grad() || !autograd::is_spent(root.tensor)) continue;
        save_root(r);
        root.spent = true;
        if (root.fragment == fragment_ && root.value) note_spent(root.value);
        if (!root.in_memory || root.object < 0) continue;
        Instruction& spend = emit(TraceOp::Spend);
        spend.a = root.object;
        spend.snapshot = snapshot_before();
    }
}

void Recorder::note_spent(graph::Value value) {
    spent_nodes_.resize(fragment().graph.size(), false);
    std::vector<graph::Value> open = {value};
    while (!open.empty()) {
        graph::Value node = open.back();
        open.pop_back();
        if (spent_nodes_[node->id]) continue;
        spent_nodes_[node->id] = true;
        open.insert(open.end(), node->inputs.begin(), node->inputs.end());
    }
}

// A step of a history that no backward pass has been through keeps this value.
bool Recorder::kept_for_gradient(graph::Value memory) {
    const Fragment& now = fragment();
    for (const graph::Node& node : now.graph.nodes()) {
        if (node.id < spent_nodes_.size() && spent_nodes_[node.id]) continue;
        autograd::Needs needs = kept_by(now, node);
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            if ((needs & autograd::operand_bit(i)) && memory_of(node.inputs[i]) == memory) return true;
        }
        if ((needs & autograd::result_bit(0)) && memory_of(&node) == memory) return true;
    }
    return false;
}

// ---- objects ----------------------------------------------------------------------------------------------

// The slot of an object with the root's memory.
int32_t Recorder::root_object(uint32_t index) {
    Root& root = roots_[index];
    if (root.object >= 0) return root.object;
    Ref actual = vm::wrap(vm_, root.tensor);
    int32_t slot = new_slot(actual);
    root.object = slot;
    for (TensorState& state : tensors_) {
        if (state.info.root == index && state.info.steps.empty() && state.tensor.is(root.tensor)) state.info.object = slot;
    }
    Fragment& owner = *segment_->fragments[static_cast<size_t>(root.fragment)];
    Fragment::Output output{index, root.value, slot, false, false, root.tensor.requires_grad(), order_of(root.tensor), false, nullptr, root.spent, {}, 0};
    if (root.fragment == fragment_) {
        // Not computed yet: an object that gets its memory with the fragment.
        segment_->guards.push_back(promised(root.tensor, root.shape));
        Instruction& promise = emit(TraceOp::Promise);
        promise.dst = slot;
        promise.pointer = &segment_->guards.back();
        promise.imm = root.flags ? root.flags->requires_grad : root.tensor.requires_grad();
        promise.value = Value::object(actual.get().o->cls);
        segment_->kept.push_back(promise.value);
        output.promised = true;
        root.promised = true;
    } else {
        root.in_memory = true;
        output.writes = std::exchange(root.writes, 0);
    }
    output.cls = actual.get().o->cls;
    segment_->kept.push_back(Value::object(output.cls));
    owner.outputs.push_back(std::move(output));
    return slot;
}

int32_t Recorder::object_of(uint32_t index) {
    if (tensors_[index].info.object >= 0) return tensors_[index].info.object;
    uint32_t root = tensors_[index].info.root;
    if (roots_[root].number) return roots_[root].object;
    int32_t base = root_object(root);
    if (tensors_[index].info.object >= 0) return tensors_[index].info.object;
    TensorState& state = tensors_[index];
    if (state.info.steps.empty() && state.tensor.is(roots_[root].tensor)) return state.info.object = base;
    Ref actual = vm::wrap(vm_, state.tensor);
    int32_t slot = new_slot(actual);
    state.info.object = slot;
    if (roots_[root].in_memory) {
        Instruction& view = emit(TraceOp::ViewOf);
        view.dst = slot;
        view.a = base;
        view.imm = index;
        view.snapshot = snapshot_before();
    } else {
        segment_->guards.push_back(promised(state.tensor, state.shape));
        Instruction& promise = emit(TraceOp::Promise);
        promise.dst = slot;
        promise.pointer = &segment_->guards.back();
        promise.imm = state.flagged ? state.info.requires_grad : state.tensor.requires_grad();
        promise.value = Value::object(actual.get().o->cls);
        segment_->kept.push_back(promise.value);
        fragment().views.push_back({index, slot});
    }
    return slot;
}

// What a promise looks like; sizes that follow from symbols make it row-major or dense, or are what they were.
TensorGuard Recorder::promised(const Tensor& tensor, const graph::Shape& shape) {
    TensorGuard guard{tensor.layout_class(), tensor.sizes(), tensor.strides(), 0, {}};
    if (!is_symbolic(shape)) return guard;
    if (!tensor.is_contiguous()) {
        specialise(shape);
        share_facts();
        return guard;
    }
    guard.strides = {};
    guard.shape = shape;
    return guard;
}

// All that is pending is computed here.
void Recorder::launch() {
    if (fragment_ < 0) return;
    share_facts();
    Fragment& now = fragment();
    for (Fragment::Output& output : now.outputs) {
        output.value = roots_[output.root].value;
        output.spent = roots_[output.root].spent;
        output.writes = roots_[output.root].writes;
    }
    for (uint32_t r = 0; r < roots_.size(); ++r) {
        Root& root = roots_[r];
        if (root.number || root.fragment != fragment_) continue;
        if (root.in_memory && root.dirty) {
            now.outputs.push_back({r, root.value, root.object, false, true, false, {}, false, nullptr, false, {}, root.writes});
        }
    }
    if (now.may_raise) {
        // An error is due also where nobody wants the value.
        std::vector<graph::Value> open;
        std::vector<bool> needed(now.graph.size(), false);
        for (const Fragment::Output& output : now.outputs) open.push_back(output.value);
        while (!open.empty()) {
            graph::Value node = open.back();
            open.pop_back();
            if (needed[node->id]) continue;
            needed[node->id] = true;
            for (graph::Value operand : node->inputs) open.push_back(operand);
        }
        for (const graph::Node& node : now.graph.nodes()) {
            if (node.may_raise() && !needed[node.id]) now.checks.push_back(&node);
        }
    }
    now.launched = true;
    now.resume = resume_ >= 0 ? resume_ : snapshot_before();
    Instruction& instruction = emit(TraceOp::Launch);
    instruction.imm = fragment_;
    instruction.snapshot = now.resume;
    for (Root& root : roots_) {
        if (root.fragment != fragment_) continue;
        if (root.promised) root.in_memory = true;
        root.promised = false;
        root.dirty = false;
        if (root.in_memory) root.writes = 0;
        if (root.in_memory || root.number) {
            root.value = nullptr;
            root.fragment = -1;
        }
    }
    fragment_ = -1;
    resume_ = -1;
    clean_ = false;
}

// ---- what the observer sees -------------------------------------------------------------------------------

void Recorder::made(const Tensor& fresh) {
    if (paused_ || current_.nested || !have_current_) return;
    current_.made.push_back(fresh);
}

void Recorder::number(const Tensor& made, size_t argument) {
    if (paused_ || current_.nested || !have_current_ || !segment_) return;
    if (argument >= current_.arguments.size()) return;
    Source source = current_.arguments[argument];
    if (source.kind != Source::Constant && source.kind != Source::Slot) return;
    // An operator inside of a builtin counts its own operands: sum() begins with a 0 that is no argument.
    std::optional<tensor::Scalar> given = vm::scalar_of(vm_, value_of(source));
    if (!given || !(*given == tensor::item(made))) return;
    current_.as_number[argument] = true;
    Root root;
    root.tensor = made;
    root.number = true;
    root.object = source.kind == Source::Constant ? ~source.index : source.index;
    uint32_t index = add_root(std::move(root));
    TensorState state;
    state.info.root = index;
    state.info.object = roots_[index].object;
    state.tensor = made;
    add_tensor(std::move(state));
}

void Recorder::reading(const Tensor&) {
    if (paused_ || current_.nested || !have_current_) return;
    current_.reads = true;
}

void Recorder::grad_set(const Tensor& leaf, const Tensor& grad) {
    if (paused_ || current_.nested || !have_current_) return;
    current_.ran = true;
    current_.grads.emplace_back(leaf, grad);
}

void Recorder::ran(Op op, tensor::Tensors inputs, const tensor::Attrs& attrs, std::span<const Tensor> results) {
    jit_.stats.eager_ops++;
    if (paused_ || current_.nested || !have_current_ || !segment_ || current_.refused) return;
    Pause pause(paused_);
    mark_resume();
    last_call_ = nullptr;
    bool random = tensor::info(op).kind == tensor::Kind::Random;
    if (random) {
        for (size_t i = 0; i < inputs.size(); ++i) {
            if (current_.made.size() < inputs.size() || known_tensor(inputs[i])) continue;
            // Seed and position come anew each time.
            Ref actual = vm::wrap(vm_, inputs[i]);
            int32_t slot = new_slot(actual);
            if (i == 0) {
                int32_t snapshot = snapshot_before();
                Instruction& draw = emit(TraceOp::Random);
                draw.dst = slot;
                draw.snapshot = snapshot;
                draws_++;
            }
            Root root;
            root.tensor = inputs[i];
            root.shape = graph::symbolic(inputs[i].sizes());
            root.object = slot;
            root.in_memory = true;
            TensorState state;
            state.info.root = add_root(std::move(root));
            state.info.object = slot;
            state.tensor = inputs[i];
            state.shape = graph::symbolic(inputs[i].sizes());
            add_tensor(std::move(state));
        }
        current_.made.clear();
    }
    autograd::Needs kept = 0;
    for (size_t i = 0; i < inputs.size() && vm_.tensors.grad_enabled; ++i) {
        if (inputs[i].requires_grad()) kept |= autograd::vjp_needs(op, i, inputs.size());
    }
    std::vector<graph::Value> values;
    for (const Tensor& input : inputs) {
        // Memory that was written to: a later write must be seen by what keeps it, as it lies there.
        if (kept & autograd::operand_bit(values.size())) {
            auto written = known_tensor(input);
            if (written && roots_[tensors_[*written].info.root].dirty) return refuse("in-place-grad", std::string(tensor::name_of(op)));
        }
        // A leaf that was made just now: what is computed from it needs a tensor to send gradients to.
        if (vm_.tensors.grad_enabled && input.requires_grad() && autograd::is_leaf(input)) {
            auto leaf = known_tensor(input);
            if (leaf && (!tensors_[*leaf].info.steps.empty() || !roots_[tensors_[*leaf].info.root].in_memory)) {
                return refuse("fresh-leaf", std::string(tensor::name_of(op)));
            }
        }
        // Written to without gradients: the graph's value has lost the history that the tensor still has.
        if (vm_.tensors.grad_enabled && input.requires_grad() && op != Op::Detach) {
            auto written = known_tensor(input);
            if (written && roots_[tensors_[*written].info.root].dirty) return refuse("in-place-grad", std::string(tensor::name_of(op)));
            // A backward pass has been through its history, which the graph would make anew.
            if (written && roots_[tensors_[*written].info.root].spent && roots_[tensors_[*written].info.root].value) {
                return refuse("outside-tape", std::string(tensor::name_of(op)));
            }
        }
        graph::Value value = operand_value(input);
        if (!value) {
            return refuse("unknown-tensor", fmt::format("operand {} of {}, {}", values.size(), tensor::name_of(op),
                                                        graph::to_string(graph::type_of(input))));
        }
        values.push_back(value);
    }
    current_.ran = true;
    graph::Attrs symbolic = attributes_of(op, attrs, inputs);
    if (has_symbols()) {
        last_call_ = std::make_shared<autograd::SymbolicCall>();
        last_call_->owner = own_symbols_;
        last_call_->attrs = symbolic;
        for (graph::Value value : values) last_call_->operands.push_back(value->shape());
    }
    bool view = tensor::info(op).kind == tensor::Kind::View && results[0].shares_storage(inputs[0]);
    if (view) {
        auto from = known_tensor(inputs[0]);
        if (results[0].is(inputs[0])) return;
        TensorState state;
        state.info = tensors_[*from].info;
        state.info.object = -1;
        state.info.steps.push_back({op, symbolic});
        state.tensor = results[0];
        state.carries = vm_.tensors.grad_enabled && inputs[0].requires_grad() && op != Op::Detach;
        uint32_t index = add_tensor(std::move(state));
        try {
            tensors_[index].shape = tensor_value(index)->shape();
        } catch (const tensor::Error& error) {
            return refuse("unknown-tensor", error.what());
        }
        return;
    }
    try {
        graph::Value node = add_node(op, values, symbolic);
        bool with_grad = std::any_of(results.begin(), results.end(), [](const Tensor& t) { return t.requires_grad(); });
        // The tape is written after the observer is told: what takes part is known from the operands.
        if (vm_.tensors.grad_enabled) {
            for (const Tensor& input : inputs) with_grad = with_grad || input.requires_grad();
        }
        note_node(node, with_grad);
        bool ends = !with_grad && std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t.requires_grad(); });
        for (size_t i = 0; i < results.size(); ++i) {
            if (known_tensor(results[i])) continue;  // it gave an operand back (contiguous, cast)
            Root root;
            root.tensor = results[i];
            root.value = results.size() == 1 ? node : fragment().graph.output(node, static_cast<int64_t>(i));
            note_node(root.value, with_grad);
            if (ends && tensor::is_float(results[i].dtype())) root.value = without_history(root.value);
            root.fragment = fragment_;
            root.shape = root.value->shape();
            TensorState state;
            state.shape = root.shape;
            state.info.root = add_root(std::move(root));
            state.tensor = results[i];
            add_tensor(std::move(state));
        }
    } catch (const tensor::Error& error) {
        refuse("unknown-tensor", error.what());
    }
}

void Recorder::wrote(Op op, tensor::Tensors inputs, const tensor::Attrs& attrs, const Tensor& target) {
    jit_.stats.eager_ops++;
    if (paused_ || current_.nested || !have_current_ || !segment_ || current_.refused) return;
    Pause pause(paused_);
    mark_resume();
    current_.ran = true;
    if (vm_.tensors.grad_enabled) {
        auto target_known = known_tensor(target);
        bool grad = target.requires_grad() || autograd::views_history(target) ||
                    (target_known && roots_[tensors_[*target_known].info.root].tensor.requires_grad());
        for (const Tensor& input : inputs) grad = grad || input.requires_grad();
        if (grad) {
            if (auto changed = known_tensor(target)) keep_flags(tensors_[*changed].info.root);
            return refuse("in-place-grad", std::string(tensor::name_of(op)));
        }
    }
    auto known = find_tensor(target);
    if (!known) return refuse("unknown-tensor", std::string(tensor::name_of(op)));
    uint32_t root_index = tensors_[*known].info.root;
    if (roots_[root_index].tensor.requires_grad() && !roots_[root_index].in_memory) {
        return refuse("in-place-grad", std::string(tensor::name_of(op)));
    }
    if (roots_[root_index].number) return refuse("unknown-tensor", "a number is written to");
    if (roots_[root_index].shared) return refuse("aliased", std::string(tensor::name_of(op)));
    const std::vector<ViewStep> steps = tensors_[*known].info.steps;
    // The interpreter does it, on memory whose version the history knows.
    if (kept_for_gradient(root_value(root_index))) return refuse("in-place-grad", std::string(tensor::name_of(op)));
    bool expanded = std::any_of(steps.begin(), steps.end(), [](const ViewStep& step) { return step.op == Op::Expand; });
    if (expanded || overlaps_itself(roots_[root_index].tensor)) return refuse("aliased", std::string(tensor::name_of(op)));
    try {
        autograd::GraphEmit emitter(fragment().graph);
        autograd::Builder<autograd::GraphEmit> builder(emitter);
        const size_t nodes_before = fragment().graph.size();
        graph::Value value;
        if (op == Op::Fill) {
            value = fragment().graph.number(attrs.value);
        } else if (op == Op::Copy) {
            value = operand_value(inputs[1]);
        } else {
            std::vector<graph::Value> values;
            for (const Tensor& input : inputs) {
                values.push_back(operand_value(input));
                if (!values.back()) return refuse("unknown-tensor", std::string(tensor::name_of(op)));
            }
            value = add_node(op, values, attributes_of(op, attrs, inputs));
            note_node(value, false);
        }
        if (!value) return refuse("unknown-tensor", std::string(tensor::name_of(op)));
        if (std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t.requires_grad(); })) value = without_history(value);
        graph::Attrs cast;
        cast.dtype = target.dtype();
        if (value->dtype() != target.dtype() || value->type().weak) {
            graph::Value operand[] = {value};
            value = fragment().graph.add(Op::Cast, operand, cast);
        }
        if (!(value->type().device == target.device())) {
            graph::Attrs move;
            move.device = target.device();
            graph::Value operand[] = {value};
            value = fragment().graph.add(Op::ToDevice, operand, move);
        }
        const graph::Shape shape = tensors_[*known].shape;
        if (!(value->shape() == shape)) {
            graph::Attrs expand;
            expand.sizes = shape;
            graph::Value operand[] = {value};
            value = fragment().graph.add(Op::Expand, operand, expand);
        }
        // From the view back to the memory, step by step.
        std::vector<graph::Value> parents = {root_value(root_index)};
        for (size_t i = 0; i + 1 < steps.size(); ++i) {
            graph::Value operand[] = {parents.back()};
            parents.push_back(add_node(steps[i].op, operand, steps[i].attrs));
        }
        for (size_t i = steps.size(); i-- > 0;) {
            value = autograd::scatter_back(builder, steps[i].op, steps[i].attrs, parents[i], value);
        }
        share_facts();
        value = written_value(value, roots_[root_index].tensor, nodes_before);
        if (!value) return refuse("aliased", "one value is written to memory of two layouts");
        note_node(value, false);
        save_root(root_index);
        Root& root = roots_[root_index];
        bool first = root.in_memory && !root.dirty;
        if (!planted("stale-root")) root.value = value;
        root.fragment = fragment_;
        root.version++;
        uint32_t now = root.tensor.version();
        root.writes += now - std::exchange(root.seen_version, now);  // a copy onto itself is none
        if (root.in_memory) root.dirty = true;
        if (first && vm_.tensors.grad_enabled) {
            Instruction& plain = emit(TraceOp::GuardNoHistory);
            plain.a = root.object;
            plain.snapshot = snapshot_before();
        }
        if (first) {
            guard_apart(root.object, snapshot_before());
        }
    } catch (const tensor::Error& error) {
        refuse("unknown-tensor", error.what());
    }
}

}  // namespace talc::jit
