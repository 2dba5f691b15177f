// Calls.
#include "lang/compiler_impl.hpp"

namespace talc::lang {

namespace {

bool has_unpacking(const CallExpr& node) {
    for (Expr* arg : node.args) {
        if (arg->kind == ExprKind::Starred) return true;
    }
    for (const Keyword& keyword : node.keywords) {
        if (keyword.name == kNoName) return true;
    }
    return false;
}

}  // namespace

// Positional arguments, then the values of keywords, in consecutive registers.
uint16_t Compiler::push_arguments(CallExpr& node) {
    for (Expr* arg : node.args) expression(arg, builder_->push());
    for (const Keyword& keyword : node.keywords) expression(keyword.value, builder_->push());
    return static_cast<uint16_t>(node.args.size + node.keywords.size);
}

void Compiler::finish_call(Op plain, Op with_keywords, CallExpr& node, Reg base, uint16_t count, Reg out) {
    at(&node);
    if (node.keywords.empty()) return builder_->emit(plain, out, base, count);
    std::vector<ConstantValue> items(node.keywords.size);
    for (uint32_t i = 0; i < node.keywords.size; i++) {
        items[i].kind = ConstantKind::Str;
        items[i].text = text(node.keywords[i].name);
    }
    ConstantValue keywords;
    keywords.kind = ConstantKind::Tuple;
    keywords.items = {items.data(), node.keywords.size};
    builder_->emit(with_keywords, out, base, count);
    builder_->emit(Op::EXTRA, builder_->constant(keywords));
}

// `scratch` is the topmost register; the callee may be in it.
void Compiler::call(CallExpr& node, Reg callee, Reg scratch, Reg out) {
    at(node.func);
    move(scratch, callee);
    if (has_unpacking(node)) return call_unpacked(node, scratch, out);
    uint16_t count = push_arguments(node);
    finish_call(Op::CALL, Op::CALL_KW, node, scratch, count, out);
}

void Compiler::call_method(CallExpr& node, AttributeExpr& method, Reg object, Reg scratch, Reg out) {
    builder_->push();  // self, after the function
    at(&method);
    builder_->emit(Op::LOAD_METHOD, scratch, object, builder_->site(text(method.attr)));
    uint16_t count = push_arguments(node);
    finish_call(Op::CALL_METHOD, Op::CALL_METHOD_KW, node, scratch, count, out);
}

// ---- super() without arguments: the class is in the cell __class__, the object is the first parameter

bool Compiler::is_super_call(Expr* expr) const {
    auto* call = as_if<CallExpr>(expr);
    if (call == nullptr || !call->args.empty() || !call->keywords.empty()) return false;
    auto* name = as_if<NameExpr>(call->func);
    if (name == nullptr || name->id != super_) return false;
    const Scope* scope = unit_->scope;
    if (scope->args == nullptr || scope->args->positional == 0) return false;
    const Symbol* super_symbol = variable(super_);
    if (super_symbol != nullptr && super_symbol->storage != Storage::Global) return false;
    const Symbol* cell = unit_->scope->symbols.find(dunder_class_);
    return cell != nullptr && cell->storage == Storage::Free;
}

void Compiler::push_super_operands() {
    Reg cls = builder_->push();
    Reg self = builder_->push();
    Scope* scope = unit_->scope;
    builder_->emit(Op::LOAD_FREE, cls, scope->symbols.find(dunder_class_)->index);
    const Symbol* first = scope->symbols.find(scope->args->parameters[0].name);
    if (first->storage == Storage::Cell) {
        builder_->emit(Op::LOAD_CELL, self, first->index);
    } else {
        check_bound(*first);
        move(self, first->index);
    }
}

void Compiler::super_object(Expr* expr, Reg dest) {
    uint32_t top = builder_->top();
    at(expr);
    push_super_operands();
    builder_->emit(Op::SUPER, dest, static_cast<Reg>(top));
    builder_->pop_to(top);
}

void Compiler::call_super_method(CallExpr& node, AttributeExpr& method, Reg scratch, Reg out) {
    builder_->push();  // self, after the function
    uint32_t top = builder_->top();
    at(&method);
    push_super_operands();
    builder_->emit(Op::SUPER_METHOD, scratch, static_cast<Reg>(top), builder_->site(text(method.attr)));
    builder_->pop_to(top);
    uint16_t count = push_arguments(node);
    finish_call(Op::CALL_METHOD, Op::CALL_METHOD_KW, node, scratch, count, out);
}

// ---- f(*args, **kwargs)

void Compiler::call_unpacked(CallExpr& node, Reg callee, Reg out) {
    Reg list = builder_->push();
    at(&node);
    build_by_steps(Op::BUILD_LIST, Op::LIST_APPEND, Op::ARGS_EXTEND, node.args, list);
    Reg dict = builder_->push();
    if (!node.keywords.empty()) keyword_dict(node.keywords, node.span, dict, callee);
    at(&node);
    builder_->emit(Op::CALL_EX, out, callee, node.keywords.empty() ? 0 : 1);
}

// Named arguments between two ** are built at once and merged: a name given twice is an error.
void Compiler::keyword_dict(List<Keyword> keywords, Span span, Reg dict, Reg callee) {
    bool made = false;
    uint32_t i = 0;
    while (i < keywords.size) {
        uint32_t top = builder_->top();
        if (keywords[i].name == kNoName) {
            builder_->set_span(span);
            if (!made) builder_->emit(Op::BUILD_DICT, dict, dict, 0);
            made = true;
            Reg mapping = any(keywords[i].value);
            at(keywords[i].value);
            builder_->emit(Op::DICT_MERGE, dict, mapping, callee);
            i++;
        } else {
            auto first = static_cast<Reg>(top);
            uint16_t pairs = 0;
            for (; i < keywords.size && keywords[i].name != kNoName && pairs < kMaxAtOnce;
                 i++, pairs++) {
                load_text(text(keywords[i].name), builder_->push());
                expression(keywords[i].value, builder_->push());
            }
            builder_->set_span(span);
            if (!made) {
                builder_->emit(Op::BUILD_DICT, dict, first, pairs);
            } else {
                builder_->emit(Op::BUILD_DICT, first, first, pairs);
                builder_->emit(Op::DICT_MERGE, dict, first, callee);
            }
            made = true;
        }
        builder_->pop_to(top);
    }
}

}  // namespace talc::lang
