#include "graph/graph.hpp"

#include <algorithm>
#include <array>

#include "tensor/error.hpp"
#include "tensor/shape_rules.inl"
#include "tensor/type_rules.hpp"

namespace talc::graph {

using tensor::fail;
using tensor::info;
using tensor::Kind;
using tensor::name_of;
namespace attr = tensor::attr;

namespace {

size_t mix(size_t h, size_t value) { return (h ^ value) * 0x9e3779b97f4a7c15u + (h >> 19); }

// Hash of the fields that an operator uses.
size_t hash_attrs(Op op, const Attrs& a) {
    size_t h = 17;
    auto one = [&](auto value) { h = mix(h, static_cast<size_t>(value)); };
    uint32_t used = info(op).attrs;
    if (used & attr::Sizes) {
        for (Dim size : a.sizes) h = mix(h, hash_of(size));
    }
    if (used & attr::DimList) {
        for (int64_t dim : a.dims) one(dim);
    }
    if (used & attr::DimNumber) one(a.dim);
    if (used & attr::Start) h = mix(h, hash_of(a.start));
    if (used & attr::End) h = mix(h, hash_of(a.end));
    if (used & attr::Step) h = mix(h, hash_of(a.step));
    if (used & attr::KeepDim) one(a.keepdim);
    if (used & attr::Mode) one(a.mode);
    if (used & attr::ResultDType) one(a.dtype ? static_cast<int>(*a.dtype) : -1);
    if (used & attr::Value) one(a.value.i);
    if (used & attr::Delta) one(a.delta.i);
    if (used & attr::Which) one(a.which);
    return h;
}

// Only what the operator uses; the rest at its default, so that comparing is exact.
Attrs used_only(Op op, Attrs& a) {
    Attrs clean;
    uint32_t used = info(op).attrs;
#define TALC_ATTR(id, field, kind) \
    if (used & attr::id) clean.field = std::move(a.field);
#include "tensor/attrs.def"
#undef TALC_ATTR
    return clean;
}

bool reduces(Op op) { return info(op).kind == Kind::Reduction; }

// One spelling for each meaning.
void normalize(Op op, std::span<const TensorType* const> inputs, const TensorType& result, Attrs& a) {
    if (op == Op::Reshape || op == Op::Expand) a.sizes = result.shape;
    if (op == Op::Full || op == Op::Arange || info(op).kind == Kind::Random) a.dtype = result.dtype;
    size_t rank = inputs.empty() ? 0 : inputs[0]->shape.size();
    if (reduces(op) && a.dims.empty()) {
        for (size_t d = 0; d < rank; ++d) a.dims.push_back(static_cast<int64_t>(d));
    }
    if (op == Op::Squeeze) {
        tensor::Dims gone;
        for (size_t d = 0; d < rank; ++d) {
            bool asked = a.dims.empty() || std::find(a.dims.begin(), a.dims.end(), static_cast<int64_t>(d)) != a.dims.end();
            if (asked && inputs[0]->shape[d] == Dim(1)) gone.push_back(static_cast<int64_t>(d));
        }
        a.dims = gone;
    }
}

Device common_device(Op op, std::span<const TensorType* const> inputs, const Attrs& attrs) {
    if (inputs.empty() || tensor::says_device(op)) return attrs.device;
    auto free = [](const TensorType* t) { return t->shape.empty() && t->device.type == tensor::DeviceType::Cpu; };
    const TensorType* first = inputs[0];
    for (const TensorType* type : inputs) {
        if (free(first)) first = type;
    }
    for (const TensorType* type : inputs) {
        if (!(type->device == first->device) && !free(type)) {
            fail("Expected all tensors to be on the same device, but found at least two devices, {} and {}!",
                 to_string(first->device), to_string(type->device));
        }
    }
    return first->device;
}

}  // namespace

std::vector<TensorType> infer_types(DimEnv& env, DType default_float, Op op, std::span<const TensorType* const> inputs,
                                    Attrs& attrs) {
    std::vector<const Shape*> shapes;
    std::vector<tensor::OperandType> operands;
    for (const TensorType* type : inputs) {
        shapes.push_back(&type->shape);
        operands.push_back({type->dtype, type->shape.empty(), type->weak});
    }
    DimJudge judge{env};
    TensorType result;
    result.shape = tensor::infer_shape(judge, op, std::span<const Shape* const>(shapes), attrs);
    result.device = common_device(op, inputs, attrs);
    result.weak = op == Op::Number || op == Op::Size;
    tensor::DTypes dtypes =
        tensor::infer_dtypes({op, operands, attrs.dtype, attrs.value, attrs.delta, default_float});
    std::vector<TensorType> types;
    for (DType dtype : dtypes) {
        result.dtype = dtype;
        types.push_back(result);
    }
    normalize(op, inputs, types[0], attrs);
    return types;
}

size_t Graph::Hash::operator()(const Node* node) const {
    size_t h = mix(static_cast<size_t>(node->op), reinterpret_cast<size_t>(node->constant.impl()));
    for (const Node* input : node->inputs) h = mix(h, input->id);
    return mix(h, hash_attrs(node->op, node->attrs));
}

bool Graph::Equal::operator()(const Node* a, const Node* b) const {
    return a->op == b->op && a->inputs == b->inputs && a->constant.is(b->constant) && a->attrs == b->attrs;
}

Graph::Graph(DType default_float) : default_float_(default_float), dims_(std::make_unique<DimEnv>()) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

Value Graph::intern(Node node) {
    node.id = static_cast<uint32_t>(nodes_.size());
    auto found = known_.find(&node);
    Value value;
    if (found != known_.end()) {
        value = *found;
    } else {
        nodes_.push_back(std::move(node));
        value = &nodes_.back();
        known_.insert(value);
    }
    if (span_.end > span_.begin) {
        bool seen = std::any_of(value->spans.begin(), value->spans.end(),
                                [&](Span s) { return s.begin == span_.begin && s.end == span_.end; });
        if (!seen) value->spans.push_back(span_);
    }
    return value;
}

Value Graph::input(TensorType type) {
    Node node{Op::Input, 0, {}, {}, {std::move(type)}, {}, {}};
    node.attrs.which = static_cast<int64_t>(inputs_.size());
    inputs_.push_back(intern(std::move(node)));
    return inputs_.back();
}

Value Graph::constant(tensor::Tensor value) {
    TensorType type = type_of(value);
    return intern({Op::Constant, 0, {}, {}, {std::move(type)}, std::move(value), {}});
}

Value Graph::number(Scalar value) {
    Attrs attrs;
    attrs.value = value;
    return add(Op::Number, std::span<const Value>{}, std::move(attrs));
}

Value Graph::add(Op op, std::span<const Value> inputs, Attrs attrs) {
    Kind kind = info(op).kind;
    if (kind == Kind::Leaf) fail("{} is not made by add", name_of(op));
    if (kind == Kind::Write) fail("a graph has no writes, but {} was added", name_of(op));
    if (op == Op::View) op = Op::Reshape;
    Attrs clean = used_only(op, attrs);
    std::vector<const TensorType*> types;
    for (Value input : inputs) {
        if (input->types.size() != 1) fail("{}: an operand has {} results; pick one", name_of(op), input->types.size());
        types.push_back(&input->type());
    }
    std::vector<TensorType> results = infer_types(*dims_, default_float_, op, types, clean);
    if (op == Op::Squeeze && clean.dims.empty()) return inputs[0];  // normalized: there is nothing to squeeze
    return intern({op, 0, {inputs.begin(), inputs.end()}, std::move(clean), std::move(results), {}, {}});
}

Value Graph::output(Value node, int64_t which) {
    if (which < 0 || which >= static_cast<int64_t>(node->types.size())) {
        fail("{} has {} results, but result {} was asked for", name_of(node->op), node->types.size(), which);
    }
    if (node->types.size() == 1) return node;
    Node pick{Op::Output, 0, {node}, {}, {node->types[static_cast<size_t>(which)]}, {}, {}};
    pick.attrs.which = which;
    return intern(std::move(pick));
}

std::vector<Value> Graph::live() const {
    std::vector<bool> needed(nodes_.size(), false);
    for (Value input : inputs_) needed[input->id] = true;
    for (Value output : outputs_) needed[output->id] = true;
    for (size_t i = nodes_.size(); i-- > 0;) {
        if (!needed[i]) continue;
        for (Value input : nodes_[i].inputs) needed[input->id] = true;
    }
    std::vector<Value> live;
    for (const Node& node : nodes_) {
        if (needed[node.id]) live.push_back(&node);
    }
    return live;
}

tensor::Dims concrete(const Shape& shape, const SymbolValues& values) {
    tensor::Dims sizes;
    for (Dim dim : shape) sizes.push_back(evaluate(dim, values));
    return sizes;
}

tensor::Attrs concrete(const Attrs& attrs, const SymbolValues& values) {
    auto plain = with_other_dims<tensor::Attrs>(attrs);
    plain.sizes = concrete(attrs.sizes, values);
    plain.start = evaluate(attrs.start, values);
    plain.end = evaluate(attrs.end, values);
    plain.step = evaluate(attrs.step, values);
    return plain;
}

Attrs symbolic(const tensor::Attrs& attrs) {
    auto result = with_other_dims<Attrs>(attrs);
    result.sizes = symbolic(attrs.sizes);
    result.start = Dim(attrs.start);
    result.end = Dim(attrs.end);
    result.step = Dim(attrs.step);
    return result;
}

Shape symbolic(const tensor::Dims& sizes) {
    Shape shape;
    for (int64_t size : sizes) shape.push_back(Dim(size));
    return shape;
}

TensorType type_of(const tensor::Tensor& t) { return {t.dtype(), symbolic(t.sizes()), t.device(), t.is_weak()}; }

}  // namespace talc::graph
