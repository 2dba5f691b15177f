#include "autograd/tape.hpp"

#include <algorithm>

#include "autograd/op_node.hpp"
#include "autograd/vjp.hpp"
#include "tensor/error.hpp"
#include "tensor/observer.hpp"

namespace talc::autograd {

using tensor::fail;
using tensor::info;
using tensor::Kind;
using tensor::Op;

// Chains of nodes are as long as programs run: freeing one after the other, not one inside the other.
GradNode::~GradNode() {
    thread_local std::vector<Ref<GradNode>>* pending = nullptr;
    std::vector<Ref<GradNode>> own;
    std::vector<Ref<GradNode>>& queue = pending ? *pending : own;
    for (Edge& edge : edges) {
        if (edge.node) queue.push_back(std::move(edge.node));
    }
    if (pending) return;
    pending = &own;
    while (!own.empty()) {
        Ref<GradNode> next = std::move(own.back());
        own.pop_back();
        next = nullptr;
    }
    pending = nullptr;
}

void GradNode::number(Context& context) {
    order = context.tape_clock + 1;
    for (const Edge& edge : edges) {
        if (edge.node) order = std::max(order, edge.node->order + 1);
    }
    context.tape_clock = order;
}

void Meta::set_node(Ref<GradNode> made_by, uint32_t as_result) {
    if (retains_grad && node) std::erase_if(node->retained, [&](const auto& entry) { return entry.second == this; });
    node = std::move(made_by);
    result = as_result;
    if (retains_grad && node) node->retained.emplace_back(result, this);
}

TensorMeta meta_of(const Tensor& tensor) { return {tensor.sizes(), tensor.dtype(), tensor.device()}; }

namespace {

Meta* meta(const Tensor& tensor) { return static_cast<Meta*>(tensor.autograd_meta()); }

Meta& make_meta(const Tensor& tensor) {
    if (!tensor.autograd_meta()) Tensor(tensor).set_autograd_meta(std::make_unique<Meta>());
    return *meta(tensor);
}

void place(const Tensor& tensor, Ref<GradNode> node, uint32_t result) {
    bool carries = static_cast<bool>(node);
    make_meta(tensor).set_node(std::move(node), result);
    Tensor(tensor).set_requires_grad(carries);
}

bool needs_no_values(Op op, size_t operand_count) {
    for (size_t i = 0; i < operand_count; ++i) {
        if (vjp_needs(op, i, operand_count) != 0) return false;
    }
    return true;
}

// A step on the tape alone, for operators whose gradient needs shapes only.
Edge record_step(Context& context, Op op, const tensor::Attrs& attrs, std::vector<TensorMeta> operands,
                 std::vector<Edge> edges, TensorMeta result) {
    bool any = std::any_of(edges.begin(), edges.end(), [](const Edge& edge) { return static_cast<bool>(edge); });
    if (!any) return {};
    if (!needs_no_values(op, operands.size())) fail("{} cannot be recorded without its values", name_of(op));
    auto node = tensor::make_counted<OpNode>(context, op, attrs, std::move(operands), std::move(edges),
                                             std::vector<TensorMeta>{std::move(result)});
    return {node, 0, {}};
}

// Finds a view's place on the tape again after its base got a new one.
void refresh(Context& context, const Tensor& tensor) {
    Meta* own = meta(tensor);
    if (!own || !own->base) return;
    refresh(context, own->base);
    Meta* base = meta(own->base);
    uint64_t history = base ? base->history : 0;
    if (history == own->base_history) return;
    own->base_history = history;
    Edge edge = edge_of(own->base);
    for (size_t i = 0; i < own->steps.size(); ++i) {
        const Meta::Step& step = own->steps[i];
        TensorMeta result = i + 1 < own->steps.size() ? own->steps[i + 1].from : meta_of(tensor);
        edge = record_step(context, step.op, step.attrs, {step.from}, {edge}, result);
    }
    place(tensor, edge.node, edge.result);
}

// For questions outside of any operator: numbers follow from those of the operands.
void refresh(const Tensor& tensor) {
    if (!meta(tensor) || !meta(tensor)->base) return;
    Context scratch;
    refresh(scratch, tensor);
}

void remember_view(Op op, const tensor::Attrs& attrs, const Tensor& from, const Tensor& view) {
    Meta* parent = meta(from);
    Meta& own = make_meta(view);
    own.base = parent && parent->base ? parent->base : from;
    if (parent && parent->base) own.steps = parent->steps;
    own.steps.push_back({op, attrs, meta_of(from)});
    Meta* base = meta(own.base);
    own.base_history = base ? base->history : 0;
}

bool takes_part(const Tensor& tensor) { return tensor.requires_grad(); }

// Whether results carry a gradient: floats only, and only of operators that have one.
bool recorded(const Context& context, Op op, Tensors inputs) {
    if (!context.grad_enabled || !vjp_info(op).differentiable) return false;
    return std::any_of(inputs.begin(), inputs.end(), takes_part);
}

std::vector<TensorMeta> metas_of(Tensors tensors) {
    std::vector<TensorMeta> metas;
    for (const Tensor& tensor : tensors) metas.push_back(meta_of(tensor));
    return metas;
}

Ref<OpNode> make_node(Context& context, Op op, Tensors inputs, const tensor::Attrs& attrs,
                      std::vector<TensorMeta> results) {
    std::vector<Edge> edges;
    for (const Tensor& input : inputs) edges.push_back(edge_of(input));
    return tensor::make_counted<OpNode>(context, op, attrs, metas_of(inputs), std::move(edges), std::move(results));
}

void check_in_place(const Context& context, const Tensor& target) {
    if (!context.grad_enabled) return;
    Meta* own = meta(target);
    auto leaf = [](const Tensor& t) { return t.requires_grad() && (!meta(t) || !meta(t)->node); };
    if (own && own->base) {
        if (leaf(own->base)) fail("a view of a leaf Variable that requires grad is being used in an in-place operation.");
    } else if (leaf(target)) {
        fail("a leaf Variable that requires grad is being used in an in-place operation.");
    }
}

// The step that puts a view's new value back into what it was taken from.
Edge record_inverse(Context& context, const Meta::Step& step, const TensorMeta& view, Edge parent, Edge value) {
    tensor::Attrs attrs = step.attrs;
    const TensorMeta& from = step.from;
    switch (step.op) {
        case Op::Slice: return record_step(context, Op::SliceScatter, attrs, {from, view}, {parent, value}, from);
        case Op::Select: return record_step(context, Op::SelectScatter, attrs, {from, view}, {parent, value}, from);
        case Op::Permute: {
            tensor::Attrs back;
            back.dims.resize(attrs.dims.size());
            for (size_t d = 0; d < attrs.dims.size(); ++d) {
                back.dims[static_cast<size_t>(attrs.dims[d])] = static_cast<int64_t>(d);
            }
            return record_step(context, Op::Permute, back, {view}, {value}, from);
        }
        default: {  // every other view of which no element is written twice is a reshape
            tensor::Attrs back;
            back.sizes = from.shape;
            return record_step(context, Op::Reshape, back, {view}, {value}, from);
        }
    }
}

// `target` now holds the value that `value` leads to.
void rebase(Context& context, const Tensor& target, Edge value) {
    Meta& own = make_meta(target);
    if (!own.base) {
        place(target, value.node, value.result);
        ++own.history;
        return;
    }
    // Parents of each step as they were, then back from the view to the base.
    std::vector<Edge> parents = {edge_of(own.base)};
    for (size_t i = 0; i + 1 < own.steps.size(); ++i) {
        parents.push_back(record_step(context, own.steps[i].op, own.steps[i].attrs, {own.steps[i].from}, {parents[i]},
                                      own.steps[i + 1].from));
    }
    for (size_t i = own.steps.size(); i-- > 0;) {
        TensorMeta view = i + 1 < own.steps.size() ? own.steps[i + 1].from : meta_of(target);
        value = record_inverse(context, own.steps[i], view, parents[i], value);
    }
    Meta& base = make_meta(own.base);
    place(own.base, value.node, value.result);
    ++base.history;
    refresh(context, target);
}

}  // namespace

SavedTensor::SavedTensor(const Tensor& tensor, Edge edge, std::string maker)
    : value_(tensor.detached()), edge_(std::move(edge)), maker_(std::move(maker)), version_(tensor.version()) {
    value_.impl()->weak = tensor.is_weak();
}

Tensor SavedTensor::unpack(Ref<GradNode> owner) const {
    if (value_.version() != version_) {
        Ref<GradNode> node = owner ? owner : edge_.node;
        std::string maker = node ? node->name() : maker_;
        fail("one of the variables needed for gradient computation has been modified by an inplace operation: [{}Tensor "
             "{}]{}, is at version {}; expected version {} instead.",
             info(value_.dtype()).word, bracketed(value_.sizes()),
             maker.empty() ? "" : fmt::format(", which is output {} of {}", edge_.result, maker), value_.version(), version_);
    }
    if (edge_.leaf) return restored_leaf();
    Ref<GradNode> node = owner ? owner : edge_.node;
    if (!node) return value_;
    Tensor restored = value_.detached();
    place(restored, node, edge_.result);
    return restored;
}

Tensor SavedTensor::restored_leaf() const {
    // The leaf itself, unless it was given other memory since.
    return edge_.leaf.shares_storage(value_) ? edge_.leaf : value_;
}

void apply(Context& context, Op op, Tensors inputs, const tensor::Attrs& attrs, std::span<Tensor> results) {
    for (const Tensor& input : inputs) {
        if (input.autograd_meta()) refresh(context, input);
    }
    if (info(op).effect == tensor::Effect::Writes) {
        if (op == Op::Fill) {
            fill_with(context, attrs.value, inputs[0]);
        } else {
            copy_into(context, inputs[1], inputs[0]);
        }
        results[0] = inputs[0];
        return;
    }
    tensor::run(context, op, inputs, attrs, results);
    if (context.observer) context.observer->ran(op, inputs, attrs, results);
    bool is_view = info(op).kind == Kind::View && op != Op::Detach && results[0].shares_storage(inputs[0]);
    if (is_view) remember_view(op, attrs, inputs[0], results[0]);
    if (!recorded(context, op, inputs)) return;
    // Only float results can carry a gradient; indices of max do not.
    if (!tensor::is_float(results[0].dtype())) return;
    Ref<OpNode> node = make_node(context, op, inputs, attrs, metas_of(results));
    if (context.observer) node->remember(context.observer->remember());
    node->save_operands(inputs);
    node->save_results(results);
    for (size_t i = 0; i < results.size(); ++i) {
        if (!tensor::is_float(results[i].dtype())) continue;
        place(results[i], node, static_cast<uint32_t>(i));
    }
}

Tensor apply(Context& context, Op op, Tensors inputs, const tensor::Attrs& attrs) {
    Tensor result;
    apply(context, op, inputs, attrs, std::span(&result, 1));
    return result;
}

void apply_into(Context& context, Op op, Tensors inputs, const tensor::Attrs& attrs, const Tensor& target) {
    for (const Tensor& input : inputs) refresh(context, input);
    refresh(context, target);
    check_in_place(context, target);
    bool record = recorded(context, op, inputs) || (context.grad_enabled && target.requires_grad());
    auto write = [&] {
        tensor::run_into(context, op, inputs, attrs, target);
        if (context.observer) context.observer->wrote(op, inputs, attrs, target);
    };
    if (!record) return write();
    Ref<OpNode> node;
    if (recorded(context, op, inputs)) {
        node = make_node(context, op, inputs, attrs, {meta_of(target)});
        // What the target held is kept apart, for it is about to change.
        std::vector<Tensor> values(inputs.begin(), inputs.end());
        for (size_t i = 0; i < values.size(); ++i) {
            if (!values[i].is(target) || !node->needs_operand(i)) continue;
            GradMode mode(context, false);
            values[i] = apply(context, Op::Clone, std::span(&values[i], 1));
        }
        node->save_operands(values);
    }
    write();
    if (node) node->save_results(std::span(&target, 1));
    rebase(context, target, node ? Edge{node, 0, {}} : Edge{});
}

void copy_into(Context& context, const Tensor& given, const Tensor& target) {
    Tensor source = given;
    if (!(source.device() == target.device()) && (source.rank() > 0 || source.device().type != tensor::DeviceType::Cpu)) {
        tensor::Attrs attrs;
        attrs.device = target.device();
        source = apply(context, Op::ToDevice, std::span(&given, 1), attrs);
    }
    refresh(context, source);
    refresh(context, target);
    check_in_place(context, target);
    bool record = context.grad_enabled && tensor::is_float(target.dtype()) &&
                  (target.requires_grad() || source.requires_grad());
    Edge edge;
    if (record) {
        // Whatever the target held no longer counts.
        edge = record_step(context, Op::Copy, {}, {meta_of(target), meta_of(source)}, {edge_of(target), edge_of(source)},
                           meta_of(target));
    }
    Tensor operands[] = {target, source};
    tensor::run(context, Op::Copy, operands);
    if (context.observer) context.observer->wrote(Op::Copy, operands, {}, target);
    if (record) rebase(context, target, edge);
}

void fill_with(Context& context, tensor::Scalar value, const Tensor& target) {
    refresh(context, target);
    check_in_place(context, target);
    tensor::Attrs attrs;
    attrs.value = value;
    bool record = context.grad_enabled && target.requires_grad();
    Edge edge;
    if (record) edge = record_step(context, Op::Fill, attrs, {meta_of(target)}, {edge_of(target)}, meta_of(target));
    tensor::run(context, Op::Fill, std::span(&target, 1), attrs);
    if (context.observer) context.observer->wrote(Op::Fill, std::span(&target, 1), attrs, target);
    if (record) rebase(context, target, edge);
}

bool requires_grad(const Tensor& tensor) {
    refresh(tensor);
    return tensor.requires_grad();
}

Ref<GradNode> grad_fn(const Tensor& tensor) {
    refresh(tensor);
    return meta(tensor) ? meta(tensor)->node : nullptr;
}

bool is_leaf(const Tensor& tensor) { return !grad_fn(tensor); }

Edge edge_of(const Tensor& tensor) {
    if (!tensor.requires_grad()) return {};
    Meta* own = meta(tensor);
    if (own && own->node) return {own->node, own->result, {}};
    return {nullptr, 0, tensor};
}

void set_requires_grad(const Tensor& tensor, bool value) {
    refresh(tensor);
    if (meta(tensor) && meta(tensor)->node) {
        if (value) return;
        fail("you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
             "subgraph that doesn't require differentiation use var_no_grad = var.detach().");
    }
    if (value && !tensor::is_float(tensor.dtype())) {
        fail("only Tensors of floating point and complex dtype can require gradients");
    }
    Tensor(tensor).set_requires_grad(value);
}

Tensor grad_of(const Tensor& tensor) { return meta(tensor) ? meta(tensor)->grad : Tensor(); }

void set_grad(Context& context, const Tensor& tensor, const Tensor& grad) {
    if (grad) {
        if (!(grad.sizes() == tensor.sizes())) {
            fail("assigned grad has data of a different size: expected {}, but got {}", bracketed(tensor.sizes()),
                 bracketed(grad.sizes()));
        }
        if (grad.dtype() != tensor.dtype()) {
            fail("assigned grad has data of a different type: expected {}, but got {}", name_of(tensor.dtype()),
                 name_of(grad.dtype()));
        }
    } else if (!meta(tensor)) {
        return;
    }
    make_meta(tensor).grad = grad;
    if (context.observer) context.observer->grad_set(tensor, grad);
}

void retain_grad(const Tensor& tensor) {
    if (!requires_grad(tensor)) fail("can't retain_grad on Tensor that has requires_grad=False");
    Meta& own = make_meta(tensor);
    if (own.retains_grad || !own.node) return;  // leaves keep theirs anyway
    own.retains_grad = true;
    own.node->retained.emplace_back(own.result, &own);
}

void register_hook(const Tensor& tensor, GradHook hook) {
    if (!requires_grad(tensor)) fail("cannot register a hook on a tensor that doesn't require gradient");
    Meta& own = make_meta(tensor);
    if (own.node) {
        own.node->hooks.emplace_back(own.result, std::move(hook));
    } else {
        own.leaf_hooks.push_back(std::move(hook));
    }
}

Tensor detach(const Tensor& tensor) { return tensor.detached(); }

bool views_history(const Tensor& tensor) {
    auto* own = static_cast<Meta*>(tensor.autograd_meta());
    return own && own->base && !tensor.requires_grad() && requires_grad(own->base);
}

bool is_spent(const Tensor& tensor) {
    std::vector<GradNode*> open;
    std::vector<GradNode*> seen;
    Ref<GradNode> first = grad_fn(tensor);
    if (first) open.push_back(first.get());
    while (!open.empty()) {
        GradNode* node = open.back();
        open.pop_back();
        if (node->spent()) return true;
        if (std::find(seen.begin(), seen.end(), node) != seen.end()) continue;
        seen.push_back(node);
        for (const Edge& edge : node->edges) {
            if (edge.node) open.push_back(edge.node.get());
        }
    }
    return false;
}

namespace {

// Says where it stands, and no more.
class SpentNode final : public GradNode {
  public:
    explicit SpentNode(std::string name) : name_(std::move(name)) { spend(); }
    std::vector<Tensor> backward(Context&, std::span<const Tensor>, bool) override { return {}; }
    std::string name() const override { return name_; }

  private:
    std::string name_;
};

}  // namespace

void spend(const Tensor& tensor) {
    if (Ref<GradNode> node = grad_fn(tensor)) node->spend();
}

Ref<GradNode> spent_node(std::string name) { return tensor::make_counted<SpentNode>(std::move(name)); }

void attach(Context& context, const Ref<GradNode>& node, std::span<Tensor> results) {
    node->number(context);
    if (node->results.empty()) node->results = metas_of(results);
    for (size_t i = 0; i < results.size(); ++i) {
        if (!tensor::is_float(results[i].dtype())) continue;
        place(results[i], node, static_cast<uint32_t>(i));
    }
}

}  // namespace talc::autograd
