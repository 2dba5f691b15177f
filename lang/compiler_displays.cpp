// Lists, tuples, sets, dicts, formatted strings and comprehensions.
#include "lang/compiler_impl.hpp"

namespace talc::lang {

namespace {

bool has_star(const List<Expr*>& elts) {
    for (Expr* elt : elts) {
        if (elt->kind == ExprKind::Starred) return true;
    }
    return false;
}

}  // namespace

// The first elements at once, the rest one by one, starred ones by extending.
void Compiler::build_by_steps(Op build, Op add, Op extend, const List<Expr*>& elts, Reg dest) {
    Span span = builder_->span();
    uint32_t top = builder_->top();
    Reg work = work_register(dest);
    uint32_t mark = builder_->top();
    uint32_t count = 0;
    while (count < elts.size && count < kMaxAtOnce && elts[count]->kind != ExprKind::Starred) {
        expression(elts[count], builder_->push());
        count++;
    }
    builder_->set_span(span);
    builder_->emit(build, work, static_cast<Reg>(count == 0 ? work : mark), static_cast<uint16_t>(count));
    for (uint32_t i = count; i < elts.size; i++) {
        builder_->pop_to(mark);
        auto* starred = as_if<StarredExpr>(elts[i]);
        Reg value = any(starred != nullptr ? starred->value : elts[i]);
        at(elts[i]);
        builder_->emit(starred != nullptr ? extend : add, work, value);
    }
    builder_->set_span(span);
    move(dest, work);
    builder_->pop_to(top);
}

bool Compiler::all_constant(const List<Expr*>& elts) const {
    for (Expr* elt : elts) {
        if (elt->kind != ExprKind::Constant) return false;
    }
    return true;
}

uint16_t Compiler::constant_tuple(const List<Expr*>& elts) {
    std::vector<ConstantValue> items;
    items.reserve(elts.size);
    for (Expr* elt : elts) items.push_back(*constant_of(elt));
    ConstantValue tuple;
    tuple.kind = ConstantKind::Tuple;
    tuple.items = {items.data(), elts.size};
    return builder_->constant(tuple);
}

// Many constants: one tuple constant, copied into the list.
bool Compiler::constant_list(const List<Expr*>& elts, Reg dest) {
    if (elts.size < 4 || !all_constant(elts)) return false;
    uint32_t top = builder_->top();
    Reg work = work_register(dest);
    Reg source = builder_->push();
    builder_->emit(Op::BUILD_LIST, work, work, 0);
    builder_->emit(Op::LOAD_CONST, source, constant_tuple(elts));
    builder_->emit(Op::LIST_EXTEND, work, source);
    move(dest, work);
    builder_->pop_to(top);
    return true;
}

void Compiler::list_display(const List<Expr*>& elts, Reg dest) {
    if (constant_list(elts, dest)) return;
    build_by_steps(Op::BUILD_LIST, Op::LIST_APPEND, Op::LIST_EXTEND, elts, dest);
}

void Compiler::set_display(const List<Expr*>& elts, Reg dest) {
    // As CPython does, since the order of the set depends on how it was made.
    if (elts.size > 2 && all_constant(elts))
        return builder_->emit(Op::BUILD_SET_K, dest, constant_tuple(elts));
    build_by_steps(Op::BUILD_SET, Op::SET_ADD, Op::SET_UPDATE, elts, dest);
}

void Compiler::tuple_display(const List<Expr*>& elts, Reg dest) {
    Span span = builder_->span();
    if (all_constant(elts)) return builder_->emit(Op::LOAD_CONST, dest, constant_tuple(elts));
    uint32_t top = builder_->top();
    if (has_star(elts) || elts.size > kMaxAtOnce) {
        Reg work = work_register(dest);
        build_by_steps(Op::BUILD_LIST, Op::LIST_APPEND, Op::LIST_EXTEND, elts, work);
        builder_->emit(Op::LIST_TO_TUPLE, dest, work);
    } else {
        auto first = static_cast<Reg>(top);
        for (Expr* elt : elts) expression(elt, builder_->push());
        builder_->set_span(span);
        builder_->emit(Op::BUILD_TUPLE, dest, first, static_cast<uint16_t>(elts.size));
    }
    builder_->pop_to(top);
}

void Compiler::dict_display(DictExpr& node, Reg dest) {
    uint32_t top = builder_->top();
    Reg work = work_register(dest);
    uint32_t mark = builder_->top();
    uint32_t count = 0;
    while (count < node.keys.size && count < kMaxAtOnce && node.keys[count] != nullptr) {
        expression(node.keys[count], builder_->push());
        expression(node.values[count], builder_->push());
        count++;
    }
    at(&node);
    builder_->emit(Op::BUILD_DICT, work, static_cast<Reg>(count == 0 ? work : mark),
                   static_cast<uint16_t>(count));
    for (uint32_t i = count; i < node.keys.size; i++) {
        builder_->pop_to(mark);
        if (node.keys[i] == nullptr) {
            Reg mapping = any(node.values[i]);
            at(node.values[i]);
            builder_->emit(Op::DICT_UPDATE, work, mapping);
            continue;
        }
        Reg key = builder_->push();
        expression(node.keys[i], key);
        Reg value = any(node.values[i]);
        at(node.values[i]);
        builder_->emit(Op::DICT_SET, work, key, value);
    }
    at(&node);
    move(dest, work);
    builder_->pop_to(top);
}

// ---- formatted strings

void Compiler::formatted_value(FormattedValueExpr& node, Reg dest) {
    uint32_t top = builder_->top();
    Reg value = builder_->push();
    expression(node.value, value);
    auto flags = static_cast<uint16_t>(node.conversion);
    if (node.format_spec != nullptr) {
        Reg spec = builder_->push();
        at(node.format_spec);
        joined_string(as<JoinedStrExpr>(node.format_spec).values, spec);
        flags |= 4;
    }
    at(&node);
    builder_->emit(Op::FORMAT, dest, value, flags);
    builder_->pop_to(top);
}

void Compiler::joined_string(const List<Expr*>& values, Reg dest) {
    Span span = builder_->span();
    if (values.empty()) return load_text("", dest);
    if (values.size == 1) return expression(values[0], dest);
    uint32_t top = builder_->top();
    auto first = static_cast<Reg>(top);
    uint16_t count = 0;
    for (Expr* value : values) {
        if (count == kMaxAtOnce) {
            builder_->set_span(span);
            builder_->emit(Op::BUILD_STRING, first, first, count);
            builder_->pop_to(top + 1);
            count = 1;
        }
        expression(value, builder_->push());
        count++;
    }
    builder_->set_span(span);
    builder_->emit(Op::BUILD_STRING, dest, first, count);
    builder_->pop_to(top);
}

// ---- comprehensions

void Compiler::comprehension(const ComprehensionParts& parts, Reg dest) {
    if (parts.generators->size > kMaxComprehensionFors) {
        builder_->set_span(parts.span);
        builder_->fail("too many 'for' clauses in one comprehension");
    }
    parts.scope->inlined ? inline_comprehension(parts, dest) : call_comprehension(parts, dest);
}

namespace {

Op build_op(ScopeKind kind) {
    switch (kind) {
        case ScopeKind::ListComp:
            return Op::BUILD_LIST;
        case ScopeKind::SetComp:
            return Op::BUILD_SET;
        default:
            return Op::BUILD_DICT;
    }
}

}  // namespace

void Compiler::comprehension_element(const ComprehensionParts& parts, Reg accumulator) {
    uint32_t top = builder_->top();
    switch (parts.scope->kind) {
        case ScopeKind::ListComp:
        case ScopeKind::SetComp: {
            Reg value = any(parts.first);
            at(parts.first);
            builder_->emit(parts.scope->kind == ScopeKind::ListComp ? Op::LIST_APPEND : Op::SET_ADD,
                           accumulator, value);
            break;
        }
        case ScopeKind::DictComp: {
            Reg key = any(parts.first);
            key = keep_across(key, parts.second);
            Reg value = any(parts.second);
            builder_->set_span(Span::join(parts.first->span, parts.second->span));
            builder_->emit(Op::DICT_SET, accumulator, key, value);
            break;
        }
        default: {
            Reg value = any(parts.first);
            Reg sent = builder_->is_temporary(value) ? value : builder_->push();
            at(parts.first);
            builder_->emit(Op::YIELD, sent, value);
            builder_->emit(Op::CLEAR, sent);
        }
    }
    builder_->pop_to(top);
}

void Compiler::inline_comprehension(const ComprehensionParts& parts, Reg dest) {
    uint32_t top = builder_->top();
    Reg work = work_register(dest);
    Scope* outer = scope_;
    // The first iterable belongs to the scope outside.
    Reg iterator = builder_->push();
    Expr* first = (*parts.generators)[0].iter;
    Reg iterable = operand(first, iterator);
    at(first);
    builder_->emit(Op::GET_ITER, iterator, iterable);
    builder_->set_span(parts.span);
    builder_->emit(build_op(parts.scope->kind), work, work, 0);
    scope_ = parts.scope;
    comprehension_loops(parts, 0, work);
    // Its variables end with it.
    for (const Symbol& symbol : parts.scope->symbols.all()) {
        if (symbol.storage != Storage::Local || !symbol.is_bound()) continue;
        builder_->emit(Op::CLEAR, symbol.index);
        builder_->bound().remove(symbol.index);
    }
    scope_ = outer;
    builder_->set_span(parts.span);
    move(dest, work);
    builder_->pop_to(top);
}

// A function of its own, called with the iterator.
void Compiler::call_comprehension(const ComprehensionParts& parts, Reg dest) {
    auto code = build_code(parts.scope, parts.span, [&] {
        builder_->code().positional = 1;
        builder_->set_span(parts.span);
        if (parts.scope->is_generator) {
            comprehension_loops(parts, 0, 0);
            return builder_->emit(Op::RETURN_NONE);
        }
        Reg accumulator = builder_->push();
        builder_->emit(build_op(parts.scope->kind), accumulator, accumulator, 0);
        comprehension_loops(parts, 0, accumulator);
        builder_->set_span(parts.span);
        builder_->emit(Op::RETURN, accumulator);
    });
    uint32_t top = builder_->top();
    Reg function = work_register(dest);
    builder_->set_span(parts.span);
    builder_->emit(Op::MAKE_FUNCTION, function, builder_->nested(std::move(code)), 0);
    Reg iterator = builder_->push();
    Expr* first = (*parts.generators)[0].iter;
    Reg iterable = operand(first, iterator);
    at(first);
    builder_->emit(Op::GET_ITER, iterator, iterable);
    builder_->set_span(parts.span);
    builder_->emit(Op::CALL, dest, function, 1);
    builder_->pop_to(top);
}

// The iterator of the first loop is in the register above the accumulator (inlined) or in register 0.
void Compiler::comprehension_loops(const ComprehensionParts& parts, size_t index, Reg accumulator) {
    const Comprehension& generator = (*parts.generators)[index];
    uint32_t top = builder_->top();
    Reg iterator;
    if (index == 0) {
        iterator = parts.scope->inlined ? static_cast<Reg>(top - 1) : Reg{0};
    } else {
        iterator = builder_->push();
        Reg iterable = operand(generator.iter, iterator);
        at(generator.iter);
        builder_->emit(Op::GET_ITER, iterator, iterable);
    }
    for_loop(generator.target, iterator, generator.iter->span, nullptr, [&](LabelId next) {
        for (Expr* filter : generator.ifs) condition(filter, next, false);
        if (index + 1 < parts.generators->size) {
            comprehension_loops(parts, index + 1, accumulator);
        } else {
            comprehension_element(parts, accumulator);
        }
    });
    builder_->pop_to(top);
}

}  // namespace talc::lang
