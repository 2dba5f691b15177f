// Assignment in all its forms, and del.
#include "lang/compiler_impl.hpp"

namespace talc::lang {

namespace {

constexpr uint32_t kMaxPairwise = 16;

const List<Expr*>* target_list(Expr* target) {
    if (target->kind == ExprKind::Tuple) return &as<TupleExpr>(target).elts;
    if (target->kind == ExprKind::List) return &as<ListExpr>(target).elts;
    return nullptr;
}

}  // namespace

// Stores R[source] into the target; a temporary source is consumed.
void Compiler::store(Expr* target, Reg source) {
    switch (target->kind) {
        case ExprKind::Name:
            at(target);
            return store_variable(as<NameExpr>(target).id, source);
        case ExprKind::Attribute: {
            auto& node = as<AttributeExpr>(target);
            uint32_t top = builder_->top();
            Reg object = any(node.value);
            at(target);
            builder_->emit(Op::STORE_ATTR, object, builder_->site(text(node.attr)), source);
            return builder_->pop_to(top);
        }
        case ExprKind::Subscript: {
            auto& node = as<SubscriptExpr>(target);
            uint32_t top = builder_->top();
            Reg object = any(node.value);
            object = keep_across(object, node.slice);
            Reg index = any(node.slice);
            at(target);
            builder_->emit(Op::STORE_INDEX, object, index, source);
            return builder_->pop_to(top);
        }
        default:
            return unpack(*target_list(target), source, target->span);
    }
}

void Compiler::unpack(const List<Expr*>& targets, Reg source, Span span) {
    uint32_t star = targets.size;
    for (uint32_t i = 0; i < targets.size; i++) {
        if (targets[i]->kind == ExprKind::Starred) star = i;
    }
    bool starred = star < targets.size;
    uint32_t after = starred ? targets.size - star - 1 : 0;
    builder_->set_span(span);
    if (starred && (star > 255 || after > 255))
        builder_->fail("too many expressions in star-unpacking assignment");
    auto shape = static_cast<uint16_t>(starred ? star + after * 256 : targets.size);
    Op op = starred ? Op::UNPACK_STAR : Op::UNPACK;
    // Locals that stand in a row take the items directly.
    const Symbol* first = targets.empty() ? nullptr : local_symbol(targets[0]);
    bool in_a_row = first != nullptr && !starred;
    for (uint32_t i = 1; in_a_row && i < targets.size; i++) {
        const Symbol* symbol = local_symbol(targets[i]);
        in_a_row = symbol != nullptr && symbol->index == first->index + i;
    }
    if (in_a_row) {
        if (source >= first->index && source < first->index + targets.size) {
            // The items must not overwrite what they are taken from.
            Reg copy = builder_->push();
            move(copy, source);
            builder_->pop_to(copy);
            source = copy;
        }
        builder_->emit(op, first->index, source, shape);
        for (uint32_t i = 0; i < targets.size; i++) mark_bound(static_cast<Reg>(first->index + i));
        return;
    }
    uint32_t top = builder_->top();
    Reg items = builder_->push(targets.size);
    builder_->emit(op, items, source, shape);
    for (uint32_t i = 0; i < targets.size; i++) {
        Expr* target = starred && i == star ? as<StarredExpr>(targets[i]).value : targets[i];
        store(target, static_cast<Reg>(items + i));
    }
    builder_->pop_to(top);
}

// a, b = b, a: no tuple is made. All targets are locals, each named once.
bool Compiler::assign_pairwise(TupleExpr& targets, TupleExpr& values) {
    uint32_t count = targets.elts.size;
    if (count != values.elts.size || count < 2 || count > kMaxPairwise || sees_walrus()) return false;
    Reg into[kMaxPairwise];
    for (uint32_t i = 0; i < count; i++) {
        const Symbol* symbol = local_symbol(targets.elts[i]);
        if (symbol == nullptr || values.elts[i]->kind == ExprKind::Starred) return false;
        into[i] = symbol->index;
        for (uint32_t j = 0; j < i; j++) {
            if (into[j] == into[i]) return false;
        }
    }
    uint32_t top = builder_->top();
    Reg held[kMaxPairwise];
    for (uint32_t i = 0; i + 1 < count; i++) {
        // A local that is no target keeps its value until it is stored.
        const Symbol* symbol = local_symbol(values.elts[i]);
        bool overwritten = false;
        for (uint32_t j = 0; symbol != nullptr && j < count; j++)
            overwritten = overwritten || into[j] == symbol->index;
        if (symbol != nullptr && !overwritten) {
            held[i] = operand(values.elts[i], 0);
        } else {
            held[i] = builder_->push();
            expression(values.elts[i], held[i]);
        }
    }
    // The last value goes straight to its place: nothing that is still to be stored is read from there.
    expression(values.elts[count - 1], into[count - 1]);
    mark_bound(into[count - 1]);
    for (uint32_t i = 0; i + 1 < count; i++) {
        at(targets.elts[i]);
        move(into[i], held[i]);
        mark_bound(into[i]);
    }
    builder_->pop_to(top);
    return true;
}

// a, b = 0, 1
bool Compiler::assign_constants(TupleExpr& targets, const ConstantValue& values) {
    if (values.kind != ConstantKind::Tuple || values.items.size != targets.elts.size) return false;
    for (Expr* target : targets.elts) {
        if (target->kind != ExprKind::Name) return false;
    }
    for (uint32_t i = 0; i < targets.elts.size; i++) {
        uint32_t top = builder_->top();
        const Symbol* symbol = local_symbol(targets.elts[i]);
        Reg value = symbol != nullptr ? symbol->index : builder_->push();
        at(targets.elts[i]);
        load_constant(values.items[i], value);
        store(targets.elts[i], value);
        builder_->pop_to(top);
    }
    return true;
}

void Compiler::assign_to(Expr* target, Expr* value) {
    if (const Symbol* symbol = local_symbol(target)) {
        expression(value, symbol->index);
        return mark_bound(symbol->index);
    }
    if (target->kind == ExprKind::Tuple) {
        auto& targets = as<TupleExpr>(target);
        if (auto* values = as_if<TupleExpr>(value); values != nullptr && assign_pairwise(targets, *values))
            return;
        if (const ConstantValue* constant = constant_of(value);
            constant != nullptr && assign_constants(targets, *constant)) {
            return;
        }
    }
    uint32_t top = builder_->top();
    Reg source;
    bool evaluates = target->kind != ExprKind::Name;
    if (evaluates && sees_walrus()) {
        source = builder_->push();
        expression(value, source);
    } else {
        source = any(value);
    }
    store(target, source);
    builder_->pop_to(top);
}

void Compiler::assign_statement(AssignStmt& node) {
    if (node.targets.size == 1) return assign_to(node.targets[0], node.value);
    // a = b = value: from the left
    uint32_t top = builder_->top();
    Reg source = builder_->push();
    expression(node.value, source);
    for (uint32_t i = 0; i < node.targets.size; i++) {
        if (i + 1 == node.targets.size) {
            store(node.targets[i], source);
            break;
        }
        uint32_t mark = builder_->top();
        if (const Symbol* symbol = local_symbol(node.targets[i])) {
            at(node.targets[i]);
            builder_->emit(Op::COPY, symbol->index, source);
            mark_bound(symbol->index);
        } else {
            Reg copy = builder_->push();
            at(node.targets[i]);
            builder_->emit(Op::COPY, copy, source);
            store(node.targets[i], copy);
        }
        builder_->pop_to(mark);
    }
    builder_->pop_to(top);
}

namespace {

struct InPlaceOps {
    Op plain;
    Op with_constant;
};

constexpr InPlaceOps kInPlaceOps[] = {
    {Op::IADD, Op::IADD_K},       {Op::ISUB, Op::ISUB_K},           {Op::IMUL, Op::IMUL_K},
    {Op::IDIV, Op::IDIV_K},       {Op::IFLOORDIV, Op::IFLOORDIV_K}, {Op::IMOD, Op::IMOD_K},
    {Op::IPOW, Op::IPOW_K},       {Op::IMATMUL, Op::IMATMUL_K},     {Op::ILSHIFT, Op::ILSHIFT_K},
    {Op::IRSHIFT, Op::IRSHIFT_K}, {Op::IAND, Op::IAND_K},           {Op::IOR, Op::IOR_K},
    {Op::IXOR, Op::IXOR_K},
};
static_assert(std::size(kInPlaceOps) == static_cast<size_t>(BinaryOperator::BitXor) + 1);

}  // namespace

void Compiler::augmented_statement(AugAssignStmt& node) {
    const InPlaceOps& ops = kInPlaceOps[static_cast<size_t>(node.op)];
    uint32_t top = builder_->top();
    // out := left op= value
    auto operate = [&](Reg out, Reg left) {
        if (const ConstantValue* value = constant_of(node.value)) {
            builder_->set_span(node.span);
            return builder_->emit(ops.with_constant, out, left, builder_->constant(*value));
        }
        left = keep_across(left, node.value);
        Reg right = any(node.value);
        builder_->set_span(node.span);
        builder_->emit(ops.plain, out, left, right);
    };
    switch (node.target->kind) {
        case ExprKind::Name: {
            if (const Symbol* symbol = local_symbol(node.target)) {
                Reg left = operand(node.target, 0);
                operate(symbol->index, left);
                break;
            }
            Reg value = builder_->push();
            expression(node.target, value);
            operate(value, value);
            store(node.target, value);
            break;
        }
        case ExprKind::Attribute: {
            auto& target = as<AttributeExpr>(node.target);
            Reg object = any(target.value);
            object = keep_across(object, node.value);
            Reg value = builder_->push();
            at(&target);
            bool temporary = builder_->is_temporary(object);
            if (temporary) builder_->emit(Op::COPY, value, object);
            builder_->emit(Op::LOAD_ATTR, value, temporary ? value : object,
                           builder_->site(text(target.attr)));
            operate(value, value);
            at(&target);
            builder_->emit(Op::STORE_ATTR, object, builder_->site(text(target.attr)), value);
            break;
        }
        default: {
            auto& target = as<SubscriptExpr>(node.target);
            Reg object = any(target.value);
            object = keep_across(object, node.value);
            if (const ConstantValue* constant = constant_of(target.slice)) {
                Reg value = builder_->push();
                at(&target);
                bool temporary = builder_->is_temporary(object);
                if (temporary) builder_->emit(Op::COPY, value, object);
                builder_->emit(Op::INDEX_K, value, temporary ? value : object, builder_->constant(*constant));
                operate(value, value);
                at(&target);
                Reg index = builder_->push();
                load_constant(*constant, index);
                builder_->emit(Op::STORE_INDEX, object, index, value);
                break;
            }
            Reg index = any(target.slice);
            index = keep_across(index, node.value);
            Reg value = builder_->push();
            at(&target);
            // The object and the index are needed again; a temporary is read only once.
            Reg object_now = object;
            Reg index_now = index;
            if (builder_->is_temporary(object)) builder_->emit(Op::COPY, object_now = value, object);
            if (builder_->is_temporary(index)) builder_->emit(Op::COPY, index_now = builder_->push(), index);
            builder_->emit(Op::INDEX, value, object_now, index_now);
            operate(value, value);
            at(&target);
            builder_->emit(Op::STORE_INDEX, object, index, value);
        }
    }
    builder_->pop_to(top);
}

void Compiler::delete_target(Expr* target) {
    uint32_t top = builder_->top();
    switch (target->kind) {
        case ExprKind::Name:
            at(target);
            delete_variable(as<NameExpr>(target).id);
            break;
        case ExprKind::Attribute: {
            auto& node = as<AttributeExpr>(target);
            Reg object = any(node.value);
            at(target);
            builder_->emit(Op::DELETE_ATTR, object, builder_->site(text(node.attr)));
            break;
        }
        case ExprKind::Subscript: {
            auto& node = as<SubscriptExpr>(target);
            Reg object = any(node.value);
            object = keep_across(object, node.slice);
            Reg index = any(node.slice);
            at(target);
            builder_->emit(Op::DELETE_INDEX, object, index);
            break;
        }
        default:
            for (Expr* elt : *target_list(target)) delete_target(elt);
    }
    builder_->pop_to(top);
}

}  // namespace talc::lang
