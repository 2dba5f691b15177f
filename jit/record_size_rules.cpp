// How the builtins on tensors compute sizes from sizes: a row for each that the recorder knows. Free ones run operators
// that do not depend on sizes, but for what the shape rules ask; others are told here, operator by operator. A
// builtin without a row is recorded for the sizes that it has seen.
#include <algorithm>
#include <array>
#include <set>

#include "jit/jit.hpp"
#include "jit/recorder.hpp"
#include "tensor/error.hpp"
#include "tensor/shape_rules.hpp"
#include "vm/tensor.hpp"

namespace talc::jit {

using graph::Dim;
using tensor::Op;
using vm::Kind;

namespace {

enum class Rule : uint8_t {
    Free,       // nothing to tell
    Reshape,    // the sizes are the arguments; one may be -1
    ShapeOf,    // the sizes of the second argument
    Flatten,    // from dim to dim
    Expand,     // the sizes are the arguments; -1 keeps one
    Create,     // the sizes are the arguments
    Like,       // the sizes of the first argument
    Arange,
    Select,
    Narrow,
    Parts,      // along a dim, whose size decides how many
    Squeeze,
    Norm,       // the last sizes are the second argument
    Classes,    // class numbers for each row
    SameShape,  // two tensors of one shape
    Variance,
    Outer,
    Dropout,
};

struct SizeRule {
    std::string_view name;
    Rule rule;
    Op op = Op::Reshape;  // that gets the sizes
};

constexpr SizeRule kRules[] = {
    {"reshape", Rule::Reshape, Op::Reshape}, {"view", Rule::Reshape, Op::View},
    {"reshape_as", Rule::ShapeOf, Op::Reshape}, {"view_as", Rule::ShapeOf, Op::View}, {"expand_as", Rule::ShapeOf, Op::Expand},
    {"flatten", Rule::Flatten, Op::Reshape},
    {"expand", Rule::Expand, Op::Expand}, {"broadcast_to", Rule::Expand, Op::Expand},
    {"zeros", Rule::Create, Op::Full}, {"ones", Rule::Create, Op::Full}, {"empty", Rule::Create, Op::Full},
    {"full", Rule::Create, Op::Full}, {"rand", Rule::Create, Op::Rand}, {"randn", Rule::Create, Op::Randn},
    {"zeros_like", Rule::Like, Op::Full}, {"ones_like", Rule::Like, Op::Full}, {"empty_like", Rule::Like, Op::Full},
    {"full_like", Rule::Like, Op::Full}, {"rand_like", Rule::Like, Op::Rand}, {"randn_like", Rule::Like, Op::Randn},
    {"arange", Rule::Arange, Op::Arange},
    {"select", Rule::Select, Op::Select}, {"narrow", Rule::Narrow, Op::Slice},
    {"chunk", Rule::Parts}, {"split", Rule::Parts}, {"unbind", Rule::Parts},
    {"squeeze", Rule::Squeeze, Op::View},
    {"layer_norm", Rule::Norm}, {"rms_norm", Rule::Norm},
    {"nll_loss", Rule::Classes}, {"cross_entropy", Rule::Classes},
    {"binary_cross_entropy", Rule::SameShape}, {"binary_cross_entropy_with_logits", Rule::SameShape},
    {"var", Rule::Variance}, {"std", Rule::Variance},
    {"outer", Rule::Outer, Op::Reshape},
    {"dropout", Rule::Dropout, Op::Rand},
};

// Operators whose number and attributes do not depend on sizes, and whose errors are those of the shape rules.
constexpr std::string_view kFree[] = {
    "neg", "abs", "sign", "square", "relu", "floor", "ceil", "trunc", "round", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt",
    "reciprocal", "sin", "cos", "tanh", "sigmoid", "erf", "logical_not", "bitwise_not", "isnan", "gelu", "silu", "add", "sub", "mul",
    "div", "floor_divide", "remainder", "pow", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or",
    "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "addcmul", "addcdiv", "lerp", "clamp", "masked_fill", "isclose", "where",
    "add_", "sub_", "mul_", "div_", "pow_", "exp_", "log_", "sqrt_", "neg_", "relu_", "tanh_", "sigmoid_", "addcmul_", "addcdiv_",
    "lerp_", "clamp_", "masked_fill_", "copy_", "zero_", "fill_", "index_add_", "scatter_add_", "sum", "mean", "prod", "amax", "amin",
    "all", "any", "max", "min", "argmax", "argmin", "norm", "count_nonzero", "softmax", "log_softmax", "logsumexp", "unsqueeze",
    "permute", "transpose", "swapaxes", "t", "movedim", "cat", "concat", "stack", "index_select", "gather", "index_add", "scatter_add",
    "clone", "contiguous", "matmul", "mm", "bmm", "dot", "addmm", "linear", "embedding", "mse_loss", "l1_loss", "huber_loss",
    "smooth_l1_loss", "exp2", "log2", "log10", "tan", "sinh", "cosh", "frac", "isinf", "isfinite", "fmod", "softsign", "softplus", "mish",
    "leaky_relu", "elu", "hardtanh", "detach", "float", "double", "half", "bfloat16", "long", "int", "short", "char", "byte", "bool",
    "cpu", "to", "type", "type_as", "backward", "gradients", "divmod",
};

const SizeRule* rule_of(const vm::Native& native) {
    static constexpr SizeRule kNothing{"", Rule::Free};
    std::string_view name = native.row->name;
    for (const SizeRule& row : kRules) {
        if (row.name == name) return &row;
    }
    return std::find(std::begin(kFree), std::end(kFree), name) != std::end(kFree) ? &kNothing : nullptr;
}

Dim product(const graph::Shape& shape) {
    Dim total(1);
    for (Dim dim : shape) total = total * dim;
    return total;
}

}  // namespace

// ---- arguments --------------------------------------------------------------------------------------------

// An int: its expression, or the number itself, for which a guard is written.
std::optional<Dim> Recorder::planned_dim(Source source, Value actual) {
    if (!actual.is_int()) return std::nullopt;
    if (source.kind != Source::Slot) return Dim(actual.i);
    current_.sized_slots.push_back(source.index);
    if (auto found = slot_dims_.find(source.index); found != slot_dims_.end()) return found->second;
    if (auto symbol = symbol_for(source, actual.i)) return symbol;
    guard_value(source, "a number that shapes the computation");
    return Dim(actual.i);
}

graph::Shape Recorder::shape_of_argument(size_t k) {
    const Source& source = current_.operands[k];
    if (source.kind == Source::Tensor) return tensors_[static_cast<size_t>(source.index)].shape;
    if (vm::is_tensor(current_.values[k])) return graph::symbolic(vm::tensor_of(current_.values[k]).sizes());
    tensor::fail("a tensor is expected");
}

// Sizes given one by one from argument `first` on, or there as one tuple.
graph::Shape Recorder::planned_sizes(size_t first, size_t last) {
    graph::Shape sizes;
    auto one = [&](Source source, Value actual) {
        auto dim = planned_dim(source, actual);
        if (!dim) tensor::fail("a size is no int");
        sizes.push_back(*dim);
    };
    if (last == first + 1 && !current_.values[first].get().is_int()) {
        Source source = current_.operands[first];
        Value actual = current_.values[first];
        bool list = actual.is_kind(Kind::List);
        if (!list && !actual.is_kind(Kind::Tuple)) tensor::fail("sizes are no tuple");
        if (source.kind == Source::Slot) {
            current_.sized_slots.push_back(source.index);
            if (auto known = slot_shapes_.find(source.index); known != slot_shapes_.end()) {
                for (Dim dim : known->second) sizes.push_back(dim);
                return sizes;
            }
            if (auto parts = slot_parts_.find(source.index); parts != slot_parts_.end() && !list) {
                for (size_t k = 0; k < parts->second.size(); ++k) one(parts->second[k], vm::cast<vm::Tuple>(actual)->items[k]);
                return sizes;
            }
            guard_value(source, "sizes");
        }
        const Value* items = list ? vm::cast<vm::List>(actual)->items : vm::cast<vm::Tuple>(actual)->items;
        size_t size = list ? vm::cast<vm::List>(actual)->size : vm::cast<vm::Tuple>(actual)->size;
        for (size_t k = 0; k < size; ++k) {
            if (!items[k].is_int()) tensor::fail("a size is no int");
            sizes.push_back(Dim(items[k].i));
        }
        return sizes;
    }
    for (size_t k = first; k < last; ++k) one(current_.operands[k], current_.values[k]);
    return sizes;
}

// ---- calls ------------------------------------------------------------------------------------------------

void Recorder::plan_call() {
    if (!sizes_matter() || !current_.native) return;
    const SizeRule* rule = rule_of(*current_.native);
    if (!rule) return;
    auto* names = current_.self ? vm::cast<vm::Tuple>(current_.self.get()) : nullptr;
    size_t keywords = names ? names->size : 0, given = current_.operands.size() - keywords;
    // Where the argument is, by position or name.
    auto find = [&](std::string_view name, size_t position) -> std::optional<size_t> {
        if (position < given) return position;
        for (size_t k = 0; k < keywords; ++k) {
            if (vm::cast<vm::Str>(names->items[k])->view() == name) return given + k;
        }
        return std::nullopt;
    };
    auto has = [&](std::string_view name, size_t position) {
        auto at = find(name, position);
        return at && !current_.values[*at].get().is_none();
    };
    auto int_at = [&](std::string_view name, size_t position, int64_t missing) {
        auto at = find(name, position);
        if (!at) return missing;
        Value value = current_.values[*at];
        if (!value.is_int()) tensor::fail("{} is no int", name);
        return value.i;
    };
    auto expect = [&](graph::Shape sizes, Op op) {
        graph::Attrs attrs;
        attrs.sizes = std::move(sizes);
        current_.expected.push_back({op, std::move(attrs)});
    };
    // What the shape rules make of the sizes, and ask for.
    auto inferred = [&](Op op, const graph::Shape& from, graph::Attrs attrs) {
        graph::TensorType type;
        type.shape = from;
        const graph::TensorType* types[] = {&type};
        return graph::infer_types(dims_, tensor::DType::Float32, op, types, attrs)[0].shape;
    };
    auto dim_at = [&](std::string_view name, size_t position, int64_t missing, size_t rank) {
        return static_cast<size_t>(tensor::wrap_dim(int_at(name, position, missing), static_cast<int64_t>(rank)));
    };
    auto part = [&](Op op, size_t dim, Dim start, Dim end) {
        graph::Attrs attrs;
        attrs.dim = static_cast<int64_t>(dim);
        attrs.start = start;
        attrs.end = end;
        current_.expected.push_back({op, std::move(attrs)});
    };
    try {
        switch (rule->rule) {
            case Rule::Free: break;
            case Rule::Reshape: {
                if (keywords) tensor::fail("keywords");
                graph::Attrs attrs;
                attrs.sizes = planned_sizes(1, given);
                expect(inferred(Op::Reshape, shape_of_argument(0), attrs), rule->op);
                break;
            }
            case Rule::ShapeOf: expect(shape_of_argument(1), rule->op); break;
            case Rule::Flatten: {
                graph::Shape shape = shape_of_argument(0), flat;
                size_t first = dim_at("start_dim", 1, 0, shape.size()), last = dim_at("end_dim", 2, -1, shape.size());
                if (first == last) break;  // it stays as it is
                Dim joined(1);
                for (size_t d = 0; d < shape.size(); ++d) {
                    if (d < first || d > last) {
                        flat.push_back(shape[d]);
                        continue;
                    }
                    joined = joined * shape[d];
                    if (d == last) flat.push_back(joined);
                }
                expect(flat, rule->op);
                break;
            }
            case Rule::Expand: {
                if (keywords) tensor::fail("keywords");
                graph::Attrs attrs;
                attrs.sizes = planned_sizes(1, given);
                expect(inferred(Op::Expand, shape_of_argument(0), attrs), rule->op);
                break;
            }
            case Rule::Create: {
                bool full = rule->name == "full";
                if (auto at = find("size", SIZE_MAX)) {
                    expect(planned_sizes(*at, *at + 1), rule->op);
                } else {
                    expect(planned_sizes(0, full ? 1 : given), rule->op);
                }
                break;
            }
            case Rule::Like: expect(shape_of_argument(0), rule->op); break;
            case Rule::Arange: {
                for (size_t k = 0; k < given; ++k) {
                    if (!current_.values[k].get().is_int()) tensor::fail("a range of floats");
                }
                if (find("start", SIZE_MAX) || find("end", SIZE_MAX)) tensor::fail("keywords");
                Dim start(0), end = *planned_dim(current_.operands[0], current_.values[0]);
                if (given > 1) {
                    start = end;
                    end = *planned_dim(current_.operands[1], current_.values[1]);
                }
                int64_t step = int_at("step", 2, 1);
                if (given > 2 && current_.operands[2].kind == Source::Slot) guard_value(current_.operands[2], "a step");
                if (!start.is_constant() || step <= 0 || !dims_.at_most(start, end)) tensor::fail("a range that is not followed");
                Dim count = end - start;
                expect({step == 1 ? count : graph::floor_div(count + Dim(step - 1), Dim(step))}, rule->op);
                break;
            }
            case Rule::Select: {
                graph::Shape shape = shape_of_argument(0);
                size_t dim = dim_at("dim", 1, 0, shape.size());
                auto at = find("index", 2);
                auto index = at ? planned_dim(current_.operands[*at], current_.values[*at]) : std::nullopt;
                if (!index) tensor::fail("an index that is not followed");
                if (!dims_.at_most(Dim(0), *index)) index = *index + shape[dim];
                part(Op::Select, dim, *index, Dim(0));
                break;
            }
            case Rule::Narrow: {
                graph::Shape shape = shape_of_argument(0);
                size_t dim = dim_at("dim", 1, 0, shape.size());
                auto from = find("start", 2), length = find("length", 3);
                if (!from || !length) tensor::fail("arguments");
                auto start = planned_dim(current_.operands[*from], current_.values[*from]);
                auto count = planned_dim(current_.operands[*length], current_.values[*length]);
                if (!start || !count) tensor::fail("a part that is not followed");
                if (!dims_.at_most(Dim(0), *start)) start = *start + shape[dim];
                part(Op::Slice, dim, *start, *start + *count);
                break;
            }
            case Rule::Parts: {
                graph::Shape shape = shape_of_argument(0);
                bool unbind = rule->name == "unbind";
                specialise(graph::Shape{shape[dim_at("dim", unbind ? 1 : 2, 0, shape.size())]});
                current_.plain_sizes = true;
                break;
            }
            case Rule::Squeeze: {
                graph::Shape shape = shape_of_argument(0);
                bool any = false;
                std::optional<size_t> asked = find("dim", 1);
                for (size_t d = 0; d < shape.size(); ++d) {
                    bool wanted = true;
                    if (asked && current_.values[*asked].get().is_int()) wanted = dim_at("dim", 1, 0, shape.size()) == d;
                    any = any || (wanted && shape[d] == Dim(1));
                }
                if (asked && !current_.values[*asked].get().is_int() && !current_.values[*asked].get().is_none()) tensor::fail("several dims");
                if (!any) expect(shape, rule->op);
                break;
            }
            case Rule::Norm: {
                graph::Shape shape = shape_of_argument(0);
                graph::Shape last = planned_sizes(1, 2);
                if (last.size() > shape.size()) tensor::fail("sizes");
                for (size_t d = 0; d < last.size(); ++d) dims_.same(shape[shape.size() - last.size() + d], last[d]);
                for (size_t k = 2; k < current_.operands.size(); ++k) {
                    if (!vm::is_tensor(current_.values[k])) continue;
                    graph::Shape scale = shape_of_argument(k);
                    for (size_t d = 0; d < std::min(scale.size(), last.size()); ++d) dims_.same(scale[d], last[d]);
                }
                break;
            }
            case Rule::Classes: {
                graph::Shape input = shape_of_argument(0), target = shape_of_argument(1);
                bool smooth = find("label_smoothing", 5).has_value();
                if (smooth || tensor::is_float(vm::tensor_of(current_.values[1]).dtype()) || has("weight", 2)) tensor::fail("numbers from sizes");
                size_t dim = input.size() > 1 ? 1 : 0, at = 0;
                for (size_t d = 0; d < input.size(); ++d) {
                    if (d != dim && at < target.size()) dims_.same(input[d], target[at++]);
                }
                break;
            }
            case Rule::SameShape: {
                graph::Shape a = shape_of_argument(0), b = shape_of_argument(1);
                for (size_t d = 0; d < std::min(a.size(), b.size()); ++d) dims_.same(a[d], b[d]);
                break;
            }
            case Rule::Variance: {
                graph::Shape shape = shape_of_argument(0), folded;
                if (has("unbiased", 2) || (given > 1 && current_.values[1].get().is_bool())) tensor::fail("unbiased");
                int64_t correction = int_at("correction", SIZE_MAX, 1);
                auto dim = find("dim", 1);
                if (dim && !current_.values[*dim].get().is_none()) {
                    Value value = current_.values[*dim];
                    if (value.is_int()) {
                        folded.push_back(shape[dim_at("dim", 1, 0, shape.size())]);
                    } else {
                        bool list = value.is_kind(Kind::List);
                        if (!list && !value.is_kind(Kind::Tuple)) tensor::fail("dims");
                        const Value* items = list ? vm::cast<vm::List>(value)->items : vm::cast<vm::Tuple>(value)->items;
                        size_t size = list ? vm::cast<vm::List>(value)->size : vm::cast<vm::Tuple>(value)->size;
                        for (size_t k = 0; k < size; ++k) {
                            if (!items[k].is_int()) tensor::fail("dims");
                            folded.push_back(shape[static_cast<size_t>(tensor::wrap_dim(items[k].i, static_cast<int64_t>(shape.size())))]);
                        }
                        if (size == 0) folded = shape;
                    }
                } else {
                    folded = shape;
                }
                Dim count = product(folded) - Dim(correction);
                if (!count.is_constant()) {
                    if (!dims_.at_most(Dim(1), count)) tensor::fail("nothing to divide by");
                    current_.count = {tensor::Scalar(static_cast<double>(*dims_.hint(count))), count};
                }
                break;
            }
            case Rule::Outer: {
                graph::Shape a = shape_of_argument(0);
                expect({a[0], Dim(1)}, rule->op);
                break;
            }
            case Rule::Dropout:
                expect(shape_of_argument(0), rule->op);
                current_.may_not_come = true;
                break;
        }
        current_.sizes_planned = true;
        share_facts();
    } catch (const tensor::Error&) {
        current_.expected.clear();
        current_.sized_slots.clear();
        share_facts();
    }
}

// ---- x[...] -----------------------------------------------------------------------------------------------

bool Recorder::planned_item(Source key, Value actual, graph::Graph& graph,
                            std::vector<autograd::IndexItem<autograd::GraphEmit>>& items) {
    using Item = autograd::IndexItem<autograd::GraphEmit>;
    if (actual.is_int()) {
        items.push_back(Item::integer(*planned_dim(key, actual)));
    } else if (actual.is_none()) {
        items.push_back(Item::new_axis());
    } else if (actual.tag == vm::Tag::Ellipsis) {
        items.push_back(Item::ellipsis());
    } else if (actual.is_kind(Kind::Slice)) {
        auto* slice = vm::cast<vm::Slice>(actual);
        Value bounds[] = {slice->start, slice->stop, slice->step};
        const std::vector<Source>* parts = nullptr;
        if (key.kind == Source::Slot) {
            current_.sized_slots.push_back(key.index);
            auto found = slot_parts_.find(key.index);
            if (found == slot_parts_.end()) {
                guard_value(key, "a slice");
            } else {
                parts = &found->second;
            }
        }
        std::optional<Dim> dims[3];
        for (size_t k = 0; k < 3; ++k) {
            if (bounds[k].is_none()) continue;
            if (!bounds[k].is_int()) return false;
            dims[k] = parts ? *planned_dim((*parts)[k], bounds[k]) : Dim(bounds[k].i);
        }
        items.push_back(Item::slice(dims[0], dims[1], dims[2].value_or(Dim(1))));
    } else if (vm::is_tensor(actual)) {
        const tensor::Tensor& index = vm::tensor_of(actual);
        if (index.rank() == 0 || index.dtype() == tensor::DType::Bool) return false;
        graph::TensorType type = graph::type_of(index);
        type.shape = shape_of(index);
        items.push_back(Item::of(graph.input(type)));
    } else {
        return false;
    }
    return true;
}

// The views that an index is made of. The key is a tuple, one item, or (of a plain slice) the operands from the second on.
void Recorder::plan_index(bool writes) {
    if (!sizes_matter() || current_.operands[0].kind != Source::Tensor) return;
    using Item = autograd::IndexItem<autograd::GraphEmit>;
    const graph::Shape shape = tensors_[static_cast<size_t>(current_.operands[0].index)].shape;
    try {
        graph::Graph scratch;
        graph::TensorType type = graph::type_of(vm::tensor_of(current_.values[0]));
        type.shape = shape;
        graph::Value x = scratch.input(type);
        std::vector<Item> items;
        Source key = current_.operands[1];
        Value actual = current_.values[1];
        bool known = true;
        if (current_.op == lang::Op::SLICE) {
            std::optional<Dim> bounds[2];
            for (size_t k = 0; k < 2; ++k) {
                Value bound = current_.values[k + 1];
                if (bound.is_none()) continue;
                bounds[k] = planned_dim(current_.operands[k + 1], bound);
                known = known && bounds[k];
            }
            items.push_back(Item::slice(bounds[0], bounds[1]));
        } else if (actual.is_kind(Kind::Tuple)) {
            auto* tuple = vm::cast<vm::Tuple>(actual);
            const std::vector<Source>* parts = nullptr;
            if (key.kind == Source::Slot) {
                current_.sized_slots.push_back(key.index);
                auto found = slot_parts_.find(key.index);
                if (found != slot_parts_.end()) parts = &found->second;
                if (!parts && has_tensor(actual)) known = false;
                if (!parts && known) guard_value(key, "an index");
            }
            for (size_t k = 0; known && k < tuple->size; ++k) {
                known = planned_item(parts ? (*parts)[k] : constant(tuple->items[k]), tuple->items[k], scratch, items);
            }
        } else {
            known = planned_item(key, actual, scratch, items);
        }
        if (!known) tensor::fail("an index that is not followed");
        scratch.dims() = dims_;
        autograd::GraphEmit emitter(scratch);
        autograd::Builder<autograd::GraphEmit> builder(emitter);
        graph::Value view = autograd::plan_index(builder, x, std::span<const Item>(items)).view;
        for (const graph::Node& node : scratch.nodes()) {
            if (node.op == Op::Slice || node.op == Op::Select) current_.expected.push_back({node.op, node.attrs});
        }
        bool tensors = std::any_of(items.begin(), items.end(), [](const Item& item) { return item.kind == Item::Tensor; });
        if (view == x && !writes && !tensors) {
            graph::Attrs attrs;
            attrs.sizes = shape;
            current_.expected.push_back({Op::View, attrs});
        }
        for (const graph::DimFact& fact : scratch.dims().facts()) dims_.assume(fact);
    } catch (const tensor::Error&) {
        current_.expected.clear();
        current_.sized_slots.clear();
    }
    share_facts();
}

}  // namespace talc::jit
