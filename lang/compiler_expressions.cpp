// Expressions into registers.
#include "lang/compiler_impl.hpp"

namespace talc::lang {

void Compiler::load_text(std::string_view text, Reg dest) {
    builder_->emit(Op::LOAD_CONST, dest, builder_->text_constant(text));
}

void Compiler::load_constant(const ConstantValue& value, Reg dest) {
    switch (value.kind) {
        case ConstantKind::None:
            return builder_->emit(Op::LOAD_NONE, dest);
        case ConstantKind::True:
            return builder_->emit(Op::LOAD_TRUE, dest);
        case ConstantKind::False:
            return builder_->emit(Op::LOAD_FALSE, dest);
        case ConstantKind::Int:
            if (value.integer == static_cast<int32_t>(value.integer)) {
                return builder_->emit_wide(Op::LOAD_INT, dest, static_cast<int32_t>(value.integer));
            }
            break;
        default:
            break;
    }
    builder_->emit(Op::LOAD_CONST, dest, builder_->constant(value));
}

const ConstantValue* Compiler::constant_of(Expr* expr) const {
    auto* node = as_if<ConstantExpr>(expr);
    return node != nullptr ? &node->value : nullptr;
}

// Evaluating it does nothing but give a value, and it is cheap to do twice.
bool Compiler::is_simple(Expr* expr) const {
    return expr->kind == ExprKind::Constant || local_symbol(expr) != nullptr;
}

Reg Compiler::work_register(Reg dest) {
    bool topmost = builder_->is_temporary(dest) && dest + 1u == builder_->top();
    return topmost ? dest : builder_->push();
}

Reg Compiler::operand(Expr* expr, Reg scratch) {
    if (const Symbol* symbol = local_symbol(expr)) {
        at(expr);
        check_bound(*symbol);
        return symbol->index;
    }
    expression(expr, scratch);
    return scratch;
}

Reg Compiler::any(Expr* expr) {
    if (local_symbol(expr) != nullptr) return operand(expr, 0);
    Reg scratch = builder_->push();
    expression(expr, scratch);
    return scratch;
}

// A local that a walrus in `later` could change before it is read is read now.
Reg Compiler::keep_across(Reg value, Expr* later, Reg scratch) {
    if (builder_->is_temporary(value) || !sees_walrus() || is_simple(later)) return value;
    move(scratch, value);
    return scratch;
}

Reg Compiler::keep_across(Reg value, Expr* later) {
    if (builder_->is_temporary(value) || !sees_walrus() || is_simple(later)) return value;
    return keep_across(value, later, builder_->push());
}

void Compiler::discard(Expr* expr) {
    if (expr->kind == ExprKind::Constant) return;
    uint32_t top = builder_->top();
    Reg value = any(expr);
    if (builder_->is_temporary(value)) builder_->emit(Op::CLEAR, value);
    builder_->pop_to(top);
}

void Compiler::expression(Expr* expr, Reg dest) {
    if (!builder_->reachable()) return;
    switch (expr->kind) {
        case ExprKind::Constant:
            at(expr);
            return load_constant(as<ConstantExpr>(expr).value, dest);
        case ExprKind::Name:
            at(expr);
            return load_variable(as<NameExpr>(expr).id, dest);
        case ExprKind::BinOp:
        case ExprKind::Attribute:
        case ExprKind::Subscript:
        case ExprKind::Call:
            return spine(expr, dest);
        case ExprKind::UnaryOp:
            return unary(as<UnaryOpExpr>(expr), dest);
        case ExprKind::BoolOp:
            return bool_op(as<BoolOpExpr>(expr), dest);
        case ExprKind::Compare:
            return compare(as<CompareExpr>(expr), dest);
        case ExprKind::IfExp:
            return if_expression(as<IfExpExpr>(expr), dest);
        case ExprKind::NamedExpr:
            return named(as<NamedExprExpr>(expr), dest);
        case ExprKind::Lambda:
            return lambda(as<LambdaExpr>(expr), dest);
        case ExprKind::Slice:
            return slice_object(as<SliceExpr>(expr), dest);
        case ExprKind::Starred:
            at(expr);
            builder_->fail("can't use starred expression here");
        case ExprKind::Tuple:
            at(expr);
            return tuple_display(as<TupleExpr>(expr).elts, dest);
        case ExprKind::List:
            at(expr);
            return list_display(as<ListExpr>(expr).elts, dest);
        case ExprKind::Set:
            at(expr);
            return set_display(as<SetExpr>(expr).elts, dest);
        case ExprKind::Dict:
            return dict_display(as<DictExpr>(expr), dest);
        case ExprKind::ListComp: {
            auto& node = as<ListCompExpr>(expr);
            return comprehension({node.elt, nullptr, &node.generators, node.scope, node.span}, dest);
        }
        case ExprKind::SetComp: {
            auto& node = as<SetCompExpr>(expr);
            return comprehension({node.elt, nullptr, &node.generators, node.scope, node.span}, dest);
        }
        case ExprKind::DictComp: {
            auto& node = as<DictCompExpr>(expr);
            return comprehension({node.key, node.value, &node.generators, node.scope, node.span}, dest);
        }
        case ExprKind::GeneratorExp: {
            auto& node = as<GeneratorExpExpr>(expr);
            return comprehension({node.elt, nullptr, &node.generators, node.scope, node.span}, dest);
        }
        case ExprKind::JoinedStr:
            at(expr);
            return joined_string(as<JoinedStrExpr>(expr).values, dest);
        case ExprKind::FormattedValue:
            return formatted_value(as<FormattedValueExpr>(expr), dest);
        case ExprKind::Yield:
            return yield_value(as<YieldExpr>(expr), dest);
        case ExprKind::YieldFrom:
            return yield_from(as<YieldFromExpr>(expr), dest);
    }
}

// Chains of operators, attributes, subscripts and calls, from the innermost value outwards. They may be long
// (a + b + c + ...), so they are walked and not recursed into.
void Compiler::spine(Expr* expr, Reg dest) {
    size_t base = spine_.size();
    Expr* leaf = expr;
    for (bool descend = true; descend && !is_super_call(leaf);) {
        Expr* node = leaf;
        switch (leaf->kind) {
            case ExprKind::BinOp:
                leaf = as<BinOpExpr>(leaf).left;
                break;
            case ExprKind::Attribute:
                leaf = as<AttributeExpr>(leaf).value;
                break;
            case ExprKind::Subscript:
                leaf = as<SubscriptExpr>(leaf).value;
                break;
            case ExprKind::Call:
                leaf = as<CallExpr>(leaf).func;
                break;
            default:
                descend = false;
        }
        if (descend) spine_.push_back(node);
    }
    uint32_t top = builder_->top();
    Reg work = work_register(dest);
    uint32_t work_top = builder_->top();

    auto take = [&] {
        Expr* node = spine_.back();
        spine_.pop_back();
        return node;
    };
    auto method_of = [&](Expr* node) -> CallExpr* {
        if (spine_.size() == base) return nullptr;
        auto* call = as_if<CallExpr>(spine_.back());
        if (call == nullptr || call->func != node) return nullptr;
        for (Expr* arg : call->args) {
            if (arg->kind == ExprKind::Starred) return nullptr;
        }
        for (const Keyword& keyword : call->keywords) {
            if (keyword.name == kNoName) return nullptr;
        }
        return call;
    };

    Reg value;
    if (is_super_call(leaf)) {
        auto* attribute_node = spine_.size() > base ? as_if<AttributeExpr>(spine_.back()) : nullptr;
        if (attribute_node != nullptr) {
            spine_.pop_back();
            if (CallExpr* method = method_of(attribute_node)) {
                spine_.pop_back();
                Reg out = spine_.size() == base ? dest : work;
                call_super_method(*method, *attribute_node, work, out);
                builder_->pop_to(work_top);
                value = out;
            } else {
                spine_.push_back(attribute_node);
                super_object(leaf, work);
                value = work;
            }
        } else {
            Reg out = spine_.size() == base ? dest : work;
            super_object(leaf, out);
            value = out;
        }
    } else {
        value = operand(leaf, work);
    }
    while (spine_.size() > base) {
        Expr* node = take();
        if (node->kind == ExprKind::Attribute) {
            if (CallExpr* method = method_of(node)) {
                take();
                Reg out = spine_.size() == base ? dest : work;
                call_method(*method, as<AttributeExpr>(node), value, work, out);
                builder_->pop_to(work_top);
                value = out;
                continue;
            }
        }
        Reg out = spine_.size() == base ? dest : work;
        switch (node->kind) {
            case ExprKind::BinOp:
                binary(as<BinOpExpr>(node), value, work, out);
                break;
            case ExprKind::Attribute:
                attribute(as<AttributeExpr>(node), value, out);
                break;
            case ExprKind::Subscript:
                subscript(as<SubscriptExpr>(node), value, work, out);
                break;
            default:
                call(as<CallExpr>(node), value, work, out);
                break;
        }
        builder_->pop_to(work_top);
        value = out;
    }
    builder_->pop_to(top);
}

namespace {

struct BinaryOps {
    Op plain;
    Op with_constant;
};

constexpr BinaryOps kBinaryOps[] = {
    {Op::ADD, Op::ADD_K},       {Op::SUB, Op::SUB_K},           {Op::MUL, Op::MUL_K},
    {Op::DIV, Op::DIV_K},       {Op::FLOORDIV, Op::FLOORDIV_K}, {Op::MOD, Op::MOD_K},
    {Op::POW, Op::POW_K},       {Op::MATMUL, Op::MATMUL_K},     {Op::LSHIFT, Op::LSHIFT_K},
    {Op::RSHIFT, Op::RSHIFT_K}, {Op::AND, Op::AND_K},           {Op::OR, Op::OR_K},
    {Op::XOR, Op::XOR_K},
};
static_assert(std::size(kBinaryOps) == static_cast<size_t>(BinaryOperator::BitXor) + 1);

}  // namespace

void Compiler::binary(BinOpExpr& node, Reg left, Reg scratch, Reg out) {
    const BinaryOps& ops = kBinaryOps[static_cast<size_t>(node.op)];
    if (const ConstantValue* value = constant_of(node.right)) {
        at(&node);
        return builder_->emit(ops.with_constant, out, left, builder_->constant(*value));
    }
    left = keep_across(left, node.right, scratch);
    Reg right = left == scratch ? any(node.right) : operand(node.right, scratch);
    at(&node);
    builder_->emit(ops.plain, out, left, right);
}

void Compiler::attribute(AttributeExpr& node, Reg value, Reg out) {
    at(&node);
    builder_->emit(Op::LOAD_ATTR, out, value, builder_->site(text(node.attr)));
}

void Compiler::slice_bound(Expr* expr, Reg dest) {
    expr != nullptr ? expression(expr, dest) : load_none(dest);
}

void Compiler::subscript(SubscriptExpr& node, Reg value, Reg scratch, Reg out) {
    if (const ConstantValue* index = constant_of(node.slice)) {
        at(&node);
        return builder_->emit(Op::INDEX_K, out, value, builder_->constant(*index));
    }
    value = keep_across(value, node.slice, scratch);
    auto* slice = as_if<SliceExpr>(node.slice);
    if (slice != nullptr && slice->step == nullptr) {
        Reg lower = builder_->push();
        at(&node);
        slice_bound(slice->lower, lower);
        slice_bound(slice->upper, builder_->push());
        at(&node);
        return builder_->emit(Op::SLICE, out, value, lower);
    }
    Reg index = value == scratch ? any(node.slice) : operand(node.slice, scratch);
    at(&node);
    builder_->emit(Op::INDEX, out, value, index);
}

void Compiler::slice_object(SliceExpr& node, Reg dest) {
    uint32_t top = builder_->top();
    at(&node);
    Reg first = builder_->push();
    slice_bound(node.lower, first);
    slice_bound(node.upper, builder_->push());
    slice_bound(node.step, builder_->push());
    at(&node);
    builder_->emit(Op::BUILD_SLICE, dest, first);
    builder_->pop_to(top);
}

void Compiler::unary(UnaryOpExpr& node, Reg dest) {
    uint32_t top = builder_->top();
    Reg work = work_register(dest);
    Reg value = operand(node.operand, work);
    at(&node);
    switch (node.op) {
        case UnaryOperator::Not:
            builder_->emit(Op::NOT, dest, value);
            break;
        case UnaryOperator::USub:
            builder_->emit(Op::NEG, dest, value);
            break;
        case UnaryOperator::UAdd:
            builder_->emit(Op::POS, dest, value);
            break;
        case UnaryOperator::Invert:
            builder_->emit(Op::INVERT, dest, value);
            break;
    }
    builder_->pop_to(top);
}

void Compiler::bool_op(BoolOpExpr& node, Reg dest) {
    uint32_t top = builder_->top();
    Reg work = work_register(dest);
    LabelId end = builder_->new_label();
    Op skip = node.op == BoolOperator::And ? Op::JUMP_IF_NOT_KEEP : Op::JUMP_IF_KEEP;
    for (uint32_t i = 0; i < node.values.size; i++) {
        expression(node.values[i], work);
        if (i + 1 == node.values.size) break;
        at(node.values[i]);
        builder_->emit_jump(skip, work, end);
    }
    builder_->bind(end);
    at(&node);
    move(dest, work);
    builder_->pop_to(top);
}

// a if b else c if d else ...
void Compiler::if_expression(IfExpExpr& first, Reg dest) {
    LabelId end = builder_->new_label();
    IfExpExpr* node = &first;
    while (true) {
        LabelId otherwise = builder_->new_label();
        condition(node->test, otherwise, false);
        expression(node->body, dest);
        builder_->jump(end);
        builder_->bind(otherwise);
        auto* next = as_if<IfExpExpr>(node->orelse);
        if (next == nullptr) break;
        node = next;
    }
    expression(node->orelse, dest);
    builder_->bind(end);
}

void Compiler::named(NamedExprExpr& node, Reg dest) {
    if (const Symbol* symbol = local_symbol(node.target)) {
        expression(node.value, symbol->index);
        mark_bound(symbol->index);
        at(&node);
        return move(dest, symbol->index);
    }
    uint32_t top = builder_->top();
    Reg work = work_register(dest);
    expression(node.value, work);
    Reg copy = builder_->push();
    at(&node);
    builder_->emit(Op::COPY, copy, work);
    store(node.target, copy);
    move(dest, work);
    builder_->pop_to(top);
}

void Compiler::yield_value(YieldExpr& node, Reg dest) {
    uint32_t top = builder_->top();
    Reg work = work_register(dest);
    Reg value = work;
    if (node.value != nullptr) {
        value = operand(node.value, work);
    } else {
        load_none(work);
    }
    at(&node);
    builder_->emit(Op::YIELD, dest, value);
    builder_->pop_to(top);
}

void Compiler::yield_from(YieldFromExpr& node, Reg dest) {
    uint32_t top = builder_->top();
    Reg result = work_register(dest);
    Reg iterator = builder_->push();
    Reg iterable = operand(node.value, iterator);
    at(&node);
    builder_->emit(Op::GET_YIELD_FROM, iterator, iterable);
    load_none(result);
    builder_->emit(Op::YIELD_FROM, result, iterator);
    builder_->emit(Op::CLEAR, iterator);
    move(dest, result);
    builder_->pop_to(top);
}

void Compiler::lambda(LambdaExpr& node, Reg dest) {
    at(&node);
    make_function(
        dest, [&] { return lambda_code(node); }, *node.args, nullptr);
}

}  // namespace talc::lang
