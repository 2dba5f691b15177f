// Comparisons, and expressions that decide a jump.
#include "lang/compiler_impl.hpp"
#include "lang/constant_fold.hpp"

namespace talc::lang {

namespace {

struct CompareOps {
    Op plain;
    Op with_constant;
    Op jump_if;
    Op jump_if_constant;
    Op jump_if_not;
    Op jump_if_not_constant;
    bool has_constant;  // is, in: only the plain form
};

constexpr CompareOps kCompareOps[] = {
    {Op::EQ, Op::EQ_K, Op::JEQ, Op::JEQ_K, Op::JNEQ, Op::JNEQ_K, true},
    {Op::NE, Op::NE_K, Op::JNE, Op::JNE_K, Op::JNNE, Op::JNNE_K, true},
    {Op::LT, Op::LT_K, Op::JLT, Op::JLT_K, Op::JNLT, Op::JNLT_K, true},
    {Op::LE, Op::LE_K, Op::JLE, Op::JLE_K, Op::JNLE, Op::JNLE_K, true},
    {Op::GT, Op::GT_K, Op::JGT, Op::JGT_K, Op::JNGT, Op::JNGT_K, true},
    {Op::GE, Op::GE_K, Op::JGE, Op::JGE_K, Op::JNGE, Op::JNGE_K, true},
    {Op::IS, Op::NOP, Op::NOP, Op::NOP, Op::NOP, Op::NOP, false},
    {Op::IS_NOT, Op::NOP, Op::NOP, Op::NOP, Op::NOP, Op::NOP, false},
    {Op::IN, Op::NOP, Op::NOP, Op::NOP, Op::NOP, Op::NOP, false},
    {Op::NOT_IN, Op::NOP, Op::NOP, Op::NOP, Op::NOP, Op::NOP, false},
};
static_assert(std::size(kCompareOps) == static_cast<size_t>(CompareOperator::NotIn) + 1);

}  // namespace

// out := left op right. `left` may be in `scratch`.
void Compiler::emit_compare(CompareOperator op, Reg left, Expr* right, Reg scratch, Reg out, Span span) {
    const CompareOps& ops = kCompareOps[static_cast<size_t>(op)];
    const ConstantValue* value = constant_of(right);
    if (value != nullptr && ops.has_constant) {
        builder_->set_span(span);
        return builder_->emit(ops.with_constant, out, left, builder_->constant(*value));
    }
    left = keep_across(left, right, scratch);
    Reg other = left == scratch ? any(right) : operand(right, scratch);
    builder_->set_span(span);
    builder_->emit(ops.plain, out, left, other);
}

void Compiler::compare(CompareExpr& node, Reg dest) {
    if (node.ops.size > 1) return compare_chain(node, dest);
    uint32_t top = builder_->top();
    Reg work = work_register(dest);
    Reg left = operand(node.left, work);
    emit_compare(node.ops[0], left, node.comparators[0], work, dest, node.span);
    builder_->pop_to(top);
}

// a < b < c: b is evaluated once, c only if a < b.
void Compiler::compare_chain(CompareExpr& node, Reg dest) {
    uint32_t top = builder_->top();
    Reg result = work_register(dest);
    Reg middle = builder_->push();  // the operand that both comparisons share
    LabelId cleanup = builder_->new_label();
    LabelId end = builder_->new_label();
    expression(node.left, middle);
    Reg left = middle;
    for (uint32_t i = 0; i < node.ops.size; i++) {
        uint32_t mark = builder_->top();
        Expr* right = node.comparators[i];
        Op plain = kCompareOps[static_cast<size_t>(node.ops[i])].plain;
        if (i + 1 == node.ops.size) {
            emit_compare(node.ops[i], left, right, middle, result, node.span);
            builder_->pop_to(mark);
            break;
        }
        Reg next = builder_->push();
        expression(right, next);
        Reg copy = builder_->push();
        at(&node);
        builder_->emit(Op::COPY, copy, next);
        builder_->emit(plain, result, left, copy);
        move(middle, next);
        left = middle;
        builder_->emit_jump(Op::JUMP_IF_NOT_KEEP, result, cleanup);
        builder_->pop_to(mark);
    }
    builder_->jump(end);
    builder_->bind(cleanup);
    builder_->emit(Op::CLEAR, middle);
    builder_->bind(end);
    at(&node);
    move(dest, result);
    builder_->pop_to(top);
}

void Compiler::fused_compare(CompareOperator op, Reg left, Expr* right, Span span, LabelId target,
                             bool jump_if) {
    const CompareOps& ops = kCompareOps[static_cast<size_t>(op)];
    uint32_t top = builder_->top();
    if (!ops.has_constant || builder_->long_jumps()) {
        Reg result = builder_->push();
        emit_compare(op, left, right, result, result, span);
        builder_->emit_jump(jump_if ? Op::JUMP_IF : Op::JUMP_IF_NOT, result, target);
    } else if (const ConstantValue* value = constant_of(right)) {
        builder_->set_span(span);
        Op fused = jump_if ? ops.jump_if_constant : ops.jump_if_not_constant;
        builder_->emit_jump16(fused, left, builder_->constant(*value), target);
    } else {
        left = keep_across(left, right);
        Reg other = any(right);
        builder_->set_span(span);
        builder_->emit_jump16(jump_if ? ops.jump_if : ops.jump_if_not, left, other, target);
    }
    builder_->pop_to(top);
}

// x is None, x is not None
bool Compiler::none_test(CompareExpr& node, LabelId target, bool jump_if) {
    bool is = node.ops[0] == CompareOperator::Is;
    if (!is && node.ops[0] != CompareOperator::IsNot) return false;
    const ConstantValue* value = constant_of(node.comparators[0]);
    if (value == nullptr || value->kind != ConstantKind::None) return false;
    Reg tested = any(node.left);
    at(&node);
    builder_->emit_jump(is == jump_if ? Op::JUMP_IF_NONE : Op::JUMP_IF_NOT_NONE, tested, target);
    return true;
}

void Compiler::compare_condition(CompareExpr& node, LabelId target, bool jump_if) {
    uint32_t top = builder_->top();
    if (node.ops.size == 1) {
        if (!none_test(node, target, jump_if)) {
            Reg left = any(node.left);
            fused_compare(node.ops[0], left, node.comparators[0], node.span, target, jump_if);
        }
        builder_->pop_to(top);
        return;
    }
    bool simple_middle = true;
    for (uint32_t i = 0; i + 1 < node.comparators.size; i++) {
        simple_middle = simple_middle && is_simple(node.comparators[i]) && !sees_walrus();
    }
    if (!simple_middle) {
        Reg result = builder_->push();
        compare_chain(node, result);
        builder_->emit_jump(jump_if ? Op::JUMP_IF : Op::JUMP_IF_NOT, result, target);
        builder_->pop_to(top);
        return;
    }
    // a < x < b with x at hand: two comparisons and two jumps.
    LabelId skip = builder_->new_label();
    Expr* left = node.left;
    for (uint32_t i = 0; i < node.ops.size; i++) {
        bool last = i + 1 == node.ops.size;
        Reg value = any(left);
        LabelId to = last ? target : jump_if ? skip : target;
        fused_compare(node.ops[i], value, node.comparators[i], node.span, to, last ? jump_if : false);
        builder_->pop_to(top);
        left = node.comparators[i];
    }
    builder_->bind(skip);
}

// Jumps to `target` if the truth of `expr` is `jump_if`, else goes on.
void Compiler::condition(Expr* expr, LabelId target, bool jump_if) {
    if (!builder_->reachable()) return;
    switch (expr->kind) {
        case ExprKind::Constant:
            at(expr);
            if (is_true(as<ConstantExpr>(expr).value) == jump_if) builder_->jump(target);
            return;
        case ExprKind::UnaryOp: {
            auto& node = as<UnaryOpExpr>(expr);
            if (node.op != UnaryOperator::Not) break;
            return condition(node.operand, target, !jump_if);
        }
        case ExprKind::BoolOp: {
            auto& node = as<BoolOpExpr>(expr);
            bool all = node.op == BoolOperator::And;
            if (all != jump_if) {
                // The first value that decides does so for all.
                for (Expr* value : node.values) condition(value, target, jump_if);
                return;
            }
            LabelId skip = builder_->new_label();
            for (uint32_t i = 0; i + 1 < node.values.size; i++) condition(node.values[i], skip, !jump_if);
            condition(node.values.back(), target, jump_if);
            return builder_->bind(skip);
        }
        case ExprKind::Compare:
            return compare_condition(as<CompareExpr>(expr), target, jump_if);
        case ExprKind::NamedExpr: {
            auto& node = as<NamedExprExpr>(expr);
            const Symbol* symbol = local_symbol(node.target);
            if (symbol == nullptr) break;
            expression(node.value, symbol->index);
            mark_bound(symbol->index);
            at(expr);
            return builder_->emit_jump(jump_if ? Op::JUMP_IF : Op::JUMP_IF_NOT, symbol->index, target);
        }
        case ExprKind::Name:
            if (as<NameExpr>(expr).id != dunder_debug_) break;
            if (jump_if) builder_->jump(target);
            return;
        default:
            break;
    }
    uint32_t top = builder_->top();
    Reg value = any(expr);
    at(expr);
    builder_->emit_jump(jump_if ? Op::JUMP_IF : Op::JUMP_IF_NOT, value, target);
    builder_->pop_to(top);
}

}  // namespace talc::lang
