#include "inductor/passes/lower.hpp"

#include <algorithm>

#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "tensor/reference.hpp"
#include "tensor/type_rules.hpp"

namespace talc::inductor {

using graph::DimFact;
using loops::DType;
using loops::Kernel;
using loops::Op;
using loops::Scalar;
using loops::Value;
using tensor::fail;
using tensor::info;
using tensor::is_float;
using tensor::Kind;
using tensor::name_of;
using Node = graph::Value;

Symbols::Symbols(const graph::DimEnv& env) {
    auto replace = [&](Dim symbol, Dim other) {
        if (symbol.symbol_id() < 0 || symbol == other) return false;
        uint32_t id = static_cast<uint32_t>(symbol.symbol_id());
        if (loops::mentions(other, id)) return false;
        if (stands_for_.empty()) {
            for (uint32_t s = 0; s < env.symbol_count(); ++s) stands_for_.push_back(Dim::symbol(s));
        }
        for (Dim& dim : stands_for_) {
            dim = substitute(dim, [&](uint32_t s) { return s == id ? other : Dim::symbol(s); });
        }
        return true;
    };
    for (const DimFact& fact : env.facts()) {
        if (fact.kind != DimFact::Equal) continue;
        Dim a = (*this)(fact.a), b = (*this)(fact.b);
        bool swap = b.symbol_id() >= 0 && (a.symbol_id() < 0 || b.symbol_id() > a.symbol_id());
        if (swap ? replace(b, a) : replace(a, b)) continue;
        if (replace(swap ? a : b, swap ? b : a)) continue;
        if (a != b) equal_.emplace_back(a.is_constant() ? b : a, a.is_constant() ? a : b);
    }
}

Dim Symbols::operator()(Dim dim) const {
    if (dim.is_constant()) return dim;
    if (!stands_for_.empty()) {
        dim = substitute(dim, [&](uint32_t s) { return s < stands_for_.size() ? stands_for_[s] : Dim::symbol(s); });
    }
    for (const auto& [from, to] : equal_) {
        if (dim == from) dim = to;
    }
    return dim;
}

Shape Symbols::operator()(const Shape& shape) const {
    Shape result = shape;
    for (Dim& dim : result) dim = (*this)(dim);
    return result;
}

namespace {

// The exponent, when it is a number that the program wrote.
const Scalar* constant_number(Node node) { return node->op == Op::Number ? &node->attrs.value : nullptr; }

// A power of integers that cannot fail: numbers of the program must not be negative.
bool is_sure_power(Node node) {
    if (!node->inputs[1]->type().weak) return true;
    const Scalar* exponent = constant_number(node->inputs[1]);
    return exponent && exponent->to_double() >= 0;
}

}  // namespace

namespace {

// Made of nothing but 0-dim operands: kernels compute it where they need it.
bool is_number(Node node) {
    if (!node->shape().empty()) return false;
    switch (info(node->op).kind) {
        case Kind::Leaf:
        case Kind::Create: return true;
        case Kind::Pointwise: return std::all_of(node->inputs.begin(), node->inputs.end(), is_number);
        default: return false;
    }
}

}  // namespace

bool runs_on_host(Node node, const LowerOptions& options) {
    if (info(node->op).kind == Kind::Leaf || node->type().device == options.device) return false;
    return !is_number(node);
}

bool has_loop_form(Node node, const LowerOptions& options, const char** why) {
    auto no = [&](const char* reason) {
        if (why) *why = reason;
        return false;
    };
    if (runs_on_host(node, options)) return no("it is computed on the CPU");
    switch (info(node->op).kind) {
        case Kind::Pointwise:
            if (node->op == Op::Pow && !is_float(node->dtype()) && !is_sure_power(node)) {
                return no("integers to a power that may be negative");
            }
            return true;
        case Kind::Create:
        case Kind::View: return true;
        case Kind::Reduction:
            switch (node->op) {
                case Op::Sum:
                case Op::Prod:
                case Op::Amax:
                case Op::Amin:
                case Op::Any:
                case Op::Argmax:
                case Op::Argmin:
                case Op::All: return true;
                default: return no("it has two results");
            }
        case Kind::Index:
            switch (node->op) {
                case Op::Cat:
                case Op::Stack:
                case Op::IndexSelect:
                case Op::Gather:
                case Op::IndexTake:
                    for (Dim size : node->inputs[0]->shape()) {
                        if (size == Dim(0)) return no("there is nothing to index");
                    }
                    return true;
                case Op::SliceScatter:
                case Op::SelectScatter: return true;
                case Op::ToDevice:
                    if (is_number(node->inputs[0]) && node->type().device == options.device) return true;
                    return no("it waits for another device");
                default: return no("stores at computed places have no loop form");
            }
        case Kind::Random: return options.random_in_loops || no("random numbers are made by the tensor library");
        case Kind::Contraction: return no("products are a library's");
        default: return no("not an operator of loops");
    }
}

Space space_of(Node node, int32_t part, const Symbols& symbols) {
    Space space;
    Computation& c = space.computation;
    c.node = node;
    c.part = part;
    auto variable = [&](Dim size) {
        if (size == Dim(1)) return Dim(0);
        space.parallel.push_back(size);
        return loops::parallel_var(space.parallel.size() - 1);
    };
    auto folded_variable = [&](Dim size) {
        if (size == Dim(1)) return Dim(0);
        space.folded.push_back(size);
        c.folds = true;
        return loops::folded_var(space.folded.size() - 1);
    };
    if (part >= 0) {
        Shape shape = symbols(node->inputs[static_cast<size_t>(part)]->shape());
        for (Dim size : shape) c.inner.push_back(variable(size));
        c.at = c.inner;
        size_t dim = static_cast<size_t>(node->attrs.dim);
        if (node->op == Op::Stack) {
            c.at.insert(dim, Dim(part));
        } else {
            for (int32_t k = 0; k < part; ++k) {
                c.at[dim] = c.at[dim] + symbols(node->inputs[static_cast<size_t>(k)]->shape()[dim]);
            }
        }
        return space;
    }
    if (info(node->op).kind == Kind::Reduction) {
        const tensor::Dims& dims = node->attrs.dims;
        Shape shape = symbols(node->inputs[0]->shape());
        for (size_t d = 0; d < shape.size(); ++d) {
            bool gone = std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
            if (gone) {
                c.inner.push_back(folded_variable(shape[d]));
                if (node->attrs.keepdim) c.at.push_back(Dim(0));
            } else {
                Dim v = variable(shape[d]);
                c.inner.push_back(v);
                c.at.push_back(v);
            }
        }
        return space;
    }
    for (Dim size : symbols(node->shape())) c.at.push_back(variable(size));
    return space;
}

Dim Lowering::size_of(uint32_t symbol) const {
    switch (loops::kind_of(symbol)) {
        case loops::SymbolKind::Parallel: return kernel_.parallel[symbol - loops::kVarBase];
        case loops::SymbolKind::Folded: return kernel_.folded[symbol - loops::kFoldBase];
        default: return data_sizes_.at(symbol);
    }
}

Lowering::Key Lowering::key(Node node, const Shape& index) {
    Key key{node, {}};
    for (Dim dim : index) key.second.emplace_back(dim.expr(), dim.is_constant() ? dim.constant() : 0);
    return key;
}

ValueId Lowering::computation(const Computation& c) {
    ValueId result;
    if (c.part >= 0) {
        nodes_.push_back(c.node);
        return convert(element(c.node->inputs[static_cast<size_t>(c.part)], c.inner), c.node->dtype());
    }
    if (info(c.node->op).kind == Kind::Reduction) {
        ValueId operand = element(c.node->inputs[0], c.inner);
        bool test = c.node->op == Op::Any || c.node->op == Op::All;
        bool to_index = c.node->op == Op::Argmax || c.node->op == Op::Argmin;
        if (!to_index) operand = test ? convert(operand, DType::Bool) : convert(operand, c.node->dtype());
        Value fold{Value::Fold};
        fold.op = c.node->op;
        fold.dtype = c.node->dtype();
        fold.operand_count = 1;
        fold.operands[0] = operand;
        if (to_index) {
            Shape shape = symbols_(c.node->inputs[0]->shape());
            Dim number(0);
            for (int64_t d : c.node->attrs.dims) {
                number = number * shape[static_cast<size_t>(d)] + c.inner[static_cast<size_t>(d)];
            }
            operand = index_value(number);  // 0 where nothing is folded
            fold.operands[fold.operand_count++] = operand;
        }
        result = c.folds ? kernel_.add(fold) : operand;
        nodes_.push_back(c.node);
    } else if (c.copies || c.node->op == Op::Input || c.node->op == Op::Constant) {
        result = element(c.node, c.at);
    } else {
        result = compute(c.node, c.at);
    }
    known_[key(c.node, c.at)] = result;
    return result;
}

ValueId Lowering::element(Node node, const Shape& index) {
    Key where = key(node, index);
    auto found = known_.find(where);
    if (found != known_.end()) return found->second;
    ValueId result;
    if (node->op == Op::Constant && node->constant.numel() == 1) {
        result = number(tensor::item(node->constant), node->dtype());
    } else if (node->op == Op::Input || node->op == Op::Constant || in_memory_(node)) {
        size_t source = 0;
        while (source < sources_.size() && !(sources_[source].node == node && sources_[source].index == index)) ++source;
        if (source == sources_.size()) sources_.push_back({node, index});
        Value load{Value::Load};
        load.dtype = node->dtype();
        load.buffer = static_cast<uint32_t>(source);
        // Until its place is known, the index names its loops and data.
        load.index = loops::row_major(index, symbols_(node->shape()));
        result = kernel_.add(load);
    } else {
        result = compute(node, index);
    }
    known_[where] = result;
    return result;
}

ValueId Lowering::compute(Node node, const Shape& index) {
    nodes_.push_back(node);
    switch (info(node->op).kind) {
        case Kind::Pointwise: return pointwise(node, index);
        case Kind::View: return element(node->inputs[0], through_view(node, index));
        case Kind::Create:
            switch (node->op) {
                case Op::Arange: return arange(node, index);
                case Op::Size: return index_value(symbols_(node->attrs.start));
                default: return number(node->attrs.value, node->dtype());
            }
        case Kind::Random: return random(node, index);
        case Kind::Index:
            if (node->op == Op::ToDevice) return element(node->inputs[0], index);
            if (node->op == Op::SliceScatter || node->op == Op::SelectScatter) return scattered(node, index);
            return taken(node, index);
        default: fail("{} has no loop form", name_of(node->op));
    }
}

ValueId Lowering::number(Scalar value, DType dtype) {
    Value v{Value::Number};
    v.dtype = dtype;
    v.number = tensor::reference::rounded_to(value, dtype);
    return kernel_.add(v);
}

ValueId Lowering::index_value(Dim index) {
    if (index.is_constant()) return number(Scalar(index.constant()), DType::Int64);
    Value v{Value::Index};
    v.dtype = DType::Int64;
    v.index = index;
    return kernel_.add(v);
}

ValueId Lowering::convert(ValueId value, DType to) {
    const Value& from = kernel_.values[value];
    if (from.dtype == to) return value;
    if (from.kind == Value::Number) return number(from.number, to);
    return apply(Op::Cast, to, {value});
}

ValueId Lowering::apply(Op op, DType dtype, std::initializer_list<ValueId> operands, bool mode) {
    Value v{Value::Apply};
    v.op = op;
    v.dtype = dtype;
    v.mode = mode;
    for (ValueId operand : operands) v.operands[v.operand_count++] = operand;
    return kernel_.add(v);
}

uint32_t Lowering::site(loops::Site wanted) {
    for (size_t i = 0; i < kernel_.sites.size(); ++i) {
        const loops::Site& s = kernel_.sites[i];
        if (s.kind == wanted.kind && s.dim == wanted.dim && s.wraps == wanted.wraps) return static_cast<uint32_t>(i);
    }
    kernel_.sites.push_back(wanted);
    return static_cast<uint32_t>(kernel_.sites.size() - 1);
}

ValueId Lowering::pointwise(Node node, const Shape& index) {
    std::array<tensor::OperandType, 3> types;
    size_t count = node->inputs.size();
    for (size_t i = 0; i < count; ++i) {
        const graph::TensorType& type = node->inputs[i]->type();
        types[i] = {type.dtype, type.shape.empty(), type.weak};
    }
    tensor::TypeQuery query{node->op, std::span(types).first(count), node->attrs.dtype,
                            node->attrs.value, node->attrs.delta, graph_.default_float()};
    DType dtype = node->dtype();
    std::array<ValueId, 3> x{};
    for (size_t i = 0; i < count; ++i) {
        Node input = node->inputs[i];
        Shape shape = symbols_(input->shape());
        Shape own;
        for (size_t d = 0; d < shape.size(); ++d) {
            own.push_back(shape[d] == Dim(1) ? Dim(0) : index[index.size() - shape.size() + d]);
        }
        x[i] = convert(element(input, own), operand_dtype(query, i, dtype));
    }
    DType operand = kernel_.values[x[count - 1]].dtype;
    switch (node->op) {
        case Op::Clone:
        case Op::Contiguous: return x[0];
        case Op::Cast: return convert(x[0], dtype);
        case Op::Square: return apply(Op::Mul, dtype, {x[0], x[0]});
        case Op::ClampMin: return apply(Op::Maximum, dtype, {x[0], x[1]});
        case Op::ClampMax: return apply(Op::Minimum, dtype, {x[0], x[1]});
        case Op::Floor:
        case Op::Ceil:
        case Op::Trunc:
        case Op::Round:
            if (!is_float(operand)) return x[0];
            break;
        case Op::IsNan:
            if (!is_float(operand)) return number(Scalar(false), DType::Bool);
            break;
        case Op::BitNot:
            if (dtype == DType::Bool) return apply(Op::LogicalNot, dtype, {x[0]});
            break;
        case Op::Pow: return power(node, x[0], x[1]);
        default: break;
    }
    Value v{Value::Apply};
    v.op = node->op;
    v.dtype = dtype;
    v.mode = node->op == Op::Gelu && node->attrs.mode;
    v.operand_count = static_cast<uint8_t>(count);
    v.operands = x;
    if ((v.op == Op::FloorDiv || v.op == Op::Remainder) && !is_float(dtype)) {
        const Value& divisor = kernel_.values[x[1]];
        v.mode = divisor.kind != Value::Number || divisor.number.i == 0;
        if (v.mode) v.site = site({loops::Site::ZeroDivision});
    }
    return kernel_.add(v);
}

ValueId Lowering::power(Node node, ValueId base, ValueId exponent) {
    DType dtype = node->dtype();
    const Value& e = kernel_.values[exponent];
    double wanted = e.kind == Value::Number ? e.number.to_double() : 0.5;
    // Products of rounded products are as good as a power, but for the short floats.
    bool wide = dtype != DType::Float16 && dtype != DType::BFloat16;
    if (wanted == 1) return base;
    if (wanted == 2) return apply(Op::Mul, dtype, {base, base});
    if (wanted == -1 && is_float(dtype)) return apply(Op::Reciprocal, dtype, {base});
    if (wanted == 3 && wide) return apply(Op::Mul, dtype, {apply(Op::Mul, dtype, {base, base}), base});
    bool small = e.kind == Value::Number && wanted >= 0 && wanted <= 16;
    if (is_float(dtype) || !small) return apply(Op::Pow, dtype, {base, exponent});
    ValueId result = number(Scalar(1), dtype);
    bool first = true;
    for (int64_t rest = static_cast<int64_t>(wanted); rest > 0; rest /= 2) {
        if (rest % 2) {
            result = first ? base : apply(Op::Mul, dtype, {result, base});
            first = false;
        }
        if (rest > 1) base = apply(Op::Mul, dtype, {base, base});
    }
    return result;
}

ValueId Lowering::arange(Node node, const Shape& index) {
    ValueId at = index_value(loops::row_major(index, symbols_(node->shape())));
    DType wide = is_float(node->dtype()) ? DType::Float64 : DType::Int64;
    auto as_wide = [&](Scalar value) {
        return number(wide == DType::Int64 ? Scalar(value.to_int()) : Scalar(value.to_double()), wide);
    };
    ValueId steps = apply(Op::Mul, wide, {convert(at, wide), as_wide(node->attrs.delta)});
    return convert(apply(Op::Add, wide, {as_wide(node->attrs.value), steps}), node->dtype());
}

ValueId Lowering::random(Node node, const Shape& index) {
    Value v{Value::Random};
    v.op = node->op;
    v.dtype = DType::Float32;
    for (Node input : node->inputs) v.operands[v.operand_count++] = convert(element(input, {}), DType::Int64);
    v.index = loops::row_major(index, symbols_(node->shape()));
    return convert(kernel_.add(v), node->dtype());
}

Shape Lowering::through_view(Node node, const Shape& index) const {
    Shape from = index;
    const graph::Attrs& a = node->attrs;
    size_t dim = static_cast<size_t>(a.dim);
    Shape source = symbols_(node->inputs[0]->shape());
    switch (node->op) {
        case Op::Reshape:
        case Op::View: return ranges_.unflatten(loops::row_major(index, symbols_(node->shape())), source);
        case Op::Detach: break;
        case Op::Permute:
            for (size_t d = 0; d < index.size(); ++d) from[static_cast<size_t>(a.dims[d])] = index[d];
            break;
        case Op::Expand:
            from.clear();
            for (size_t d = 0; d < source.size(); ++d) {
                from.push_back(source[d] == Dim(1) ? Dim(0) : index[index.size() - source.size() + d]);
            }
            break;
        case Op::Squeeze:
            for (int64_t gone : a.dims) from.insert(static_cast<size_t>(gone), Dim(0));
            break;
        case Op::Unsqueeze: from.erase(dim); break;
        case Op::Slice: from[dim] = symbols_(a.start) + index[dim] * symbols_(a.step); break;
        case Op::Select: from.insert(dim, symbols_(a.start)); break;
        default: fail("{} is no view", name_of(node->op));
    }
    return from;
}

Dim Lowering::bounded(Node indices, const Shape& index, int64_t dim, Dim size, bool wraps) {
    Value v{Value::Bound};
    v.dtype = DType::Int64;
    v.mode = wraps;
    v.operand_count = 1;
    v.operands[0] = convert(element(indices, index), DType::Int64);
    v.index = size;
    v.site = site({loops::Site::IndexOutOfRange, dim, wraps});
    ValueId id = kernel_.add(v);
    Dim symbol = loops::datum(id);
    data_sizes_[loops::kDataBase + id] = size;
    return symbol;
}

ValueId Lowering::taken(Node node, const Shape& index) {
    Node x = node->inputs[0];
    Shape shape = symbols_(x->shape());
    size_t dim = static_cast<size_t>(node->attrs.dim);
    if (node->op != Op::IndexTake) {
        Node indices = node->inputs[1];
        Shape at = index;
        if (at.empty()) return element(x, at);
        Shape own = node->op == Op::Gather ? index : indices->rank() == 0 ? Shape{} : Shape{index[dim]};
        at[dim] = bounded(indices, own, node->attrs.dim, shape[dim], node->op == Op::IndexSelect);
        return element(x, at);
    }
    const tensor::Dims& dims = node->attrs.dims;
    size_t tuple_rank = 0;
    for (size_t k = 1; k < node->inputs.size(); ++k) tuple_rank = std::max(tuple_rank, node->inputs[k]->shape().size());
    bool adjacent = true;
    for (size_t i = 1; i < dims.size(); ++i) adjacent = adjacent && dims[i] == dims[i - 1] + 1;
    size_t place = adjacent ? static_cast<size_t>(dims[0]) : 0;
    Shape at;
    size_t kept = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
        auto found = std::find(dims.begin(), dims.end(), static_cast<int64_t>(d));
        if (found == dims.end()) {
            at.push_back(index[kept < place ? kept : kept + tuple_rank]);
            ++kept;
            continue;
        }
        Node indices = node->inputs[static_cast<size_t>(found - dims.begin()) + 1];
        Shape given = symbols_(indices->shape());
        Shape own;
        for (size_t i = 0; i < given.size(); ++i) {
            own.push_back(given[i] == Dim(1) ? Dim(0) : index[place + tuple_rank - given.size() + i]);
        }
        at.push_back(bounded(indices, own, static_cast<int64_t>(d), shape[d], true));
    }
    return element(x, at);
}

ValueId Lowering::scattered(Node node, const Shape& index) {
    size_t dim = static_cast<size_t>(node->attrs.dim);
    Dim start = symbols_(node->attrs.start), step = symbols_(node->attrs.step);
    ValueId i = index_value(index[dim]);
    ValueId old = element(node->inputs[0], index);
    Node source = node->inputs[1];
    Shape at = index;
    ValueId inside;
    auto test = [&](Op op, ValueId a, Dim b) { return apply(op, DType::Bool, {a, index_value(b)}); };
    if (node->op == Op::SelectScatter) {
        at.erase(dim);
        inside = test(Op::Eq, i, start);
    } else {
        Dim count = symbols_(source->shape()[dim]);
        if (count == Dim(0)) return old;
        // Outside of the slice some element of the source is read and left.
        ValueId past = index_value(index[dim] - start);
        ValueId number = step == Dim(1) ? past : apply(Op::FloorDiv, DType::Int64, {past, index_value(step)});
        ValueId high = apply(Op::Minimum, DType::Int64, {number, index_value(count - Dim(1))});
        ValueId clamped = apply(Op::Maximum, DType::Int64, {high, index_value(Dim(0))});
        inside = apply(Op::LogicalAnd, DType::Bool, {test(Op::Ge, number, Dim(0)), test(Op::Lt, number, count)});
        if (step != Dim(1)) {
            ValueId rest = apply(Op::Remainder, DType::Int64, {past, index_value(step)});
            inside = apply(Op::LogicalAnd, DType::Bool, {inside, test(Op::Eq, rest, Dim(0))});
        }
        at[dim] = loops::datum(clamped);
        data_sizes_[loops::kDataBase + clamped] = count;
    }
    ValueId fresh = convert(element(source, at), node->dtype());
    return apply(Op::Where, node->dtype(), {inside, fresh, old});
}

}  // namespace talc::inductor
