// Codes: modules, functions, lambdas, classes.
#include "lang/compiler_impl.hpp"

namespace talc::lang {

Compiler::Compiler(std::shared_ptr<const Source> source, NameTable& names, ScopeTree& tree, CompileMode mode)
    : source_(std::move(source)), names_(names), tree_(tree), mode_(mode) {
    dunder_class_ = names.intern("__class__");
    dunder_debug_ = names.intern("__debug__");
    super_ = names.intern("super");
}

// Outer.f.<locals>.g
std::string Compiler::qualified_name(Scope* scope) const {
    std::string name(text(scope->name));
    if (unit_ == nullptr || unit_->scope->kind == ScopeKind::Module) return name;
    const Symbol* symbol = unit_->scope->symbols.find(scope->name);
    bool named = scope->kind == ScopeKind::Function || scope->kind == ScopeKind::Class;
    if (named && symbol != nullptr && symbol->has(kDeclaredGlobal)) return name;
    const std::string& outer = unit_->builder.code().qualname;
    return outer + (unit_->scope->is_function() ? ".<locals>." : ".") + name;
}

std::unique_ptr<Code> Compiler::build_code(Scope* scope, Span span, const std::function<void()>& write_body) {
    std::string qualname = qualified_name(scope);
    Unit* outer_unit = unit_;
    CodeBuilder* outer_builder = builder_;
    Scope* outer_scope = scope_;
    auto leave = [&] {
        unit_ = outer_unit;
        builder_ = outer_builder;
        scope_ = outer_scope;
    };
    for (bool long_jumps : {false, true}) {
        auto code = std::make_unique<Code>();
        code->name = std::string(text(scope->name));
        code->qualname = qualname;
        code->source = source_;
        code->span = span;
        code->is_generator = scope->is_generator;
        code->is_class_body = scope->kind == ScopeKind::Class;
        code->is_module = scope->kind == ScopeKind::Module;
        Unit unit(*code, scope, outer_unit, long_jumps);
        unit_ = &unit;
        builder_ = &unit.builder;
        scope_ = scope;
        size_t spine = spine_.size();
        builder_->set_span(span);
        try {
            start_code(scope);
            write_body();
            builder_->finish();
            leave();
            return code;
        } catch (const JumpTooFar&) {
            leave();
            spine_.resize(spine);
        } catch (...) {
            leave();
            throw;
        }
    }
    builder_->fail("too much code in one function");
}

// Registers, parameters, captures and cells.
void Compiler::start_code(Scope* scope) {
    Code& code = builder_->code();
    builder_->set_local_count(scope->local_count);
    code.local_names.resize(scope->local_count);
    if (scope->args != nullptr) {
        code.positional_only = static_cast<uint16_t>(scope->args->positional_only);
        code.positional = static_cast<uint16_t>(scope->args->positional);
        code.keyword_only = static_cast<uint16_t>(scope->args->keyword_only);
        code.has_varargs = scope->args->has_varargs;
        code.has_varkw = scope->args->has_varkw;
    }
    for (const CaptureSource& capture : scope->captures) {
        code.captures.push_back({capture.from_register, capture.index, std::string(text(capture.name))});
    }
    if (scope->has_class_cell) {
        code.local_names[scope->class_cell_register] = "__class__";
        builder_->emit(Op::MAKE_CELL, scope->class_cell_register);
    }
    for (const Symbol& symbol : scope->symbols.all()) {
        if (symbol.storage != Storage::Local && symbol.storage != Storage::Cell) continue;
        code.local_names[symbol.index] = std::string(text(symbol.name));
        if (symbol.has(kParameter)) mark_bound(symbol.index);
        if (symbol.storage == Storage::Cell) builder_->emit(Op::MAKE_CELL, symbol.index);
    }
}

void Compiler::set_docstring(const List<Stmt*>& statements) {
    if (statements.empty()) return;
    auto* first = as_if<ExprStmt>(statements[0]);
    auto* text_node = first != nullptr ? as_if<ConstantExpr>(first->value) : nullptr;
    if (text_node == nullptr || text_node->value.kind != ConstantKind::Str) return;
    builder_->code().doc = builder_->constant(text_node->value);
    // Classes and modules keep theirs among their names.
    if (unit_->scope->is_function()) return;
    uint32_t top = builder_->top();
    Reg doc = builder_->push();
    at(text_node);
    load_constant(text_node->value, doc);
    store_variable(names_.intern("__doc__"), doc);
    builder_->pop_to(top);
}

std::unique_ptr<Code> Compiler::compile_module(Module& module) {
    Scope* scope = &tree_.scopes.front();
    return build_code(scope, module.span, [&] {
        if (mode_ == CompileMode::Expression) {
            Reg value = any(as<ExprStmt>(module.body[0]).value);
            return builder_->emit(Op::RETURN, value);
        }
        if (mode_ == CompileMode::Module) set_docstring(module.body);
        if (mode_ == CompileMode::Module && scope->has_annotations) {
            Reg annotations = builder_->push();
            builder_->emit(Op::BUILD_DICT, annotations, annotations, 0);
            store_variable(names_.intern("__annotations__"), annotations);
            builder_->pop_to(annotations);
        }
        body(module.body);
        builder_->emit(Op::RETURN_NONE);
    });
}

std::unique_ptr<Code> Compiler::function_code(FunctionDefStmt& node) {
    return build_code(node.scope, node.span, [&] {
        set_docstring(node.body);
        body(node.body);
        builder_->emit(Op::RETURN_NONE);
    });
}

std::unique_ptr<Code> Compiler::lambda_code(LambdaExpr& node) {
    return build_code(node.scope, node.span, [&] {
        Reg value = any(node.body);
        at(node.body);
        builder_->emit(Op::RETURN, value);
    });
}

std::unique_ptr<Code> Compiler::class_code(ClassDefStmt& node) {
    return build_code(node.scope, node.span, [&] {
        set_docstring(node.body);
        if (node.scope->has_annotations) {
            Reg annotations = builder_->push();
            builder_->emit(Op::BUILD_DICT, annotations, annotations, 0);
            builder_->emit_wide(Op::STORE_NAME, annotations, builder_->global("__annotations__"));
            builder_->pop_to(annotations);
        }
        body(node.body);
        builder_->set_span(node.span);
        if (node.scope->has_class_cell) {
            builder_->emit(Op::RETURN, node.scope->class_cell_register);
        } else {
            builder_->emit(Op::RETURN_NONE);
        }
    });
}

void Compiler::annotation(Expr* expr, Reg dest) {
    if (tree_.annotations_are_text) {
        at(expr);
        return load_text(source_->text().substr(expr->span.begin, expr->span.end - expr->span.begin), dest);
    }
    // *args: *Ts, a starred annotation, stands for the tuple of it.
    if (expr->kind == ExprKind::Starred) return tuple_display({&expr, 1}, dest);
    expression(expr, dest);
}

// Defaults, keyword-only defaults and annotations go to the three registers from `base` on, where
// MAKE_FUNCTION looks for them. Returns its flags.
uint16_t Compiler::function_parts(const Arguments& args, Expr* returns, Reg base) {
    uint16_t flags = 0;
    Span span = builder_->span();
    uint32_t top = builder_->top();
    std::vector<Expr*> defaults;
    for (uint32_t i = 0; i < args.positional; i++) {
        if (args.parameters[i].default_value != nullptr) defaults.push_back(args.parameters[i].default_value);
    }
    if (!defaults.empty()) {
        flags |= 1;
        tuple_display({defaults.data(), static_cast<uint32_t>(defaults.size())}, base);
    }
    auto pairs_into = [&](uint16_t flag, Reg into, const auto& push_pairs) {
        auto first = static_cast<Reg>(builder_->top());
        uint32_t count = push_pairs();
        if (count != 0) {
            flags |= flag;
            builder_->set_span(span);
            builder_->emit(Op::BUILD_DICT, into, first, static_cast<uint16_t>(count));
        }
        builder_->pop_to(top);
    };
    pairs_into(2, static_cast<Reg>(base + 1), [&] {
        uint32_t count = 0;
        for (uint32_t i = args.positional; i < args.positional + args.keyword_only; i++) {
            const Parameter& parameter = args.parameters[i];
            if (parameter.default_value == nullptr) continue;
            load_text(text(parameter.name), builder_->push());
            expression(parameter.default_value, builder_->push());
            count++;
        }
        return count;
    });
    pairs_into(4, static_cast<Reg>(base + 2), [&] {
        uint32_t count = 0;
        auto annotate = [&](uint32_t begin, uint32_t end) {
            for (uint32_t i = begin; i < end; i++) {
                const Parameter& parameter = args.parameters[i];
                if (parameter.annotation == nullptr) continue;
                load_text(text(parameter.name), builder_->push());
                annotation(parameter.annotation, builder_->push());
                count++;
            }
        };
        // In CPython's order: plain, positional-only, *args, keyword-only, **kwargs.
        uint32_t keywords_end = args.positional + args.keyword_only;
        uint32_t varargs_end = keywords_end + (args.has_varargs ? 1 : 0);
        annotate(args.positional_only, args.positional);
        annotate(0, args.positional_only);
        annotate(keywords_end, varargs_end);
        annotate(args.positional, keywords_end);
        annotate(varargs_end, args.parameters.size);
        if (returns != nullptr) {
            load_text("return", builder_->push());
            annotation(returns, builder_->push());
            count++;
        }
        return count;
    });
    builder_->set_span(span);
    return flags;
}

void Compiler::make_function(Reg dest, const std::function<std::unique_ptr<Code>()>& make_code,
                             const Arguments& args, Expr* returns) {
    bool plain = returns == nullptr;
    for (const Parameter& parameter : args.parameters) {
        plain = plain && parameter.default_value == nullptr && parameter.annotation == nullptr;
    }
    if (plain) {
        uint16_t index = builder_->nested(make_code());
        return builder_->emit(Op::MAKE_FUNCTION, dest, index, 0);
    }
    uint32_t top = builder_->top();
    Reg base = work_register(dest);
    builder_->push(2);
    uint16_t flags = function_parts(args, returns, base);
    uint16_t index = builder_->nested(make_code());
    builder_->emit(Op::MAKE_FUNCTION, base, index, flags);
    move(dest, base);
    builder_->pop_to(top);
}

// Decorators wait in consecutive registers with the function above them; the last one is called first.
void Compiler::apply_decorators(const List<Expr*>& decorators, uint32_t first) {
    for (uint32_t i = decorators.size; i-- > 0;) {
        at(decorators[i]);
        auto reg = static_cast<Reg>(first + i);
        builder_->emit(Op::CALL, reg, reg, 1);
    }
}

void Compiler::function_statement(FunctionDefStmt& node) {
    NameId bound = names_.mangle(node.name, scope_->class_name);
    // Errors in making the function point at its head, not at its whole body.
    Span head{node.span.begin, node.body[0]->span.begin};
    auto make = [&](Reg dest) {
        builder_->set_span(head);
        make_function(
            dest, [&] { return function_code(node); }, *node.args, node.returns);
    };
    const Symbol* symbol = variable(bound);
    if (node.decorator_list.empty() && symbol != nullptr && symbol->storage == Storage::Local) {
        make(symbol->index);
        return mark_bound(symbol->index);
    }
    uint32_t top = builder_->top();
    for (Expr* decorator : node.decorator_list) expression(decorator, builder_->push());
    make(builder_->push());
    apply_decorators(node.decorator_list, top);
    builder_->set_span(head);
    store_variable(bound, static_cast<Reg>(top));
    builder_->pop_to(top);
}

void Compiler::class_statement(ClassDefStmt& node) {
    uint32_t top = builder_->top();
    Span head{node.span.begin, node.body[0]->span.begin};
    for (Expr* decorator : node.decorator_list) expression(decorator, builder_->push());
    Reg function = builder_->push();
    builder_->set_span(head);
    builder_->emit(Op::MAKE_FUNCTION, function, builder_->nested(class_code(node)), 0);
    load_text(text(node.name), builder_->push());
    for (Expr* base : node.bases) expression(base, builder_->push());
    if (!node.keywords.empty()) keyword_dict(node.keywords, head, builder_->push(), function);
    builder_->set_span(head);
    unsigned with_keywords = node.keywords.empty() ? 0 : 256;
    builder_->emit(Op::BUILD_CLASS, function, function, static_cast<uint16_t>(node.bases.size + with_keywords));
    apply_decorators(node.decorator_list, top);
    builder_->set_span(head);
    store_variable(names_.mangle(node.name, scope_->class_name), static_cast<Reg>(top));
    builder_->pop_to(top);
}

}  // namespace talc::lang
