#include "lang/scope_builder.hpp"

namespace talc::lang {

namespace {

std::string_view comprehension_noun(ScopeKind kind) {
    switch (kind) {
        case ScopeKind::ListComp:
            return "list comprehension";
        case ScopeKind::SetComp:
            return "set comprehension";
        case ScopeKind::DictComp:
            return "dict comprehension";
        default:
            return "generator expression";
    }
}

}  // namespace

void ScopeBuilder::build(Module& module) {
    super_ = names_.intern("super");
    dunder_class_ = names_.intern("__class__");
    dot_zero_ = names_.intern(".0");
    open(ScopeKind::Module, names_.intern("<module>"));
    visit_body(module.body);
}

Scope* ScopeBuilder::open(ScopeKind kind, NameId name) {
    Scope* outer = scope_;
    Scope& scope = tree_.scopes.emplace_back();
    scope.kind = kind;
    scope.name = name;
    scope.parent = outer;
    if (outer != nullptr) scope.class_name = outer->class_name;
    scope_ = &scope;
    return outer;
}

void ScopeBuilder::close(Scope* outer) { scope_ = outer; }

void ScopeBuilder::bind(NameId name, Span, uint16_t flags) { scope_->symbols.get(name).flags |= flags; }

void ScopeBuilder::use(NameId name) {
    scope_->symbols.get(name).flags |= kUsed;
    // Zero-argument super() finds its class through this cell.
    if (name == super_ && scope_->is_function()) scope_->symbols.get(dunder_class_).flags |= kUsed;
}

void ScopeBuilder::visit_body(const List<Stmt*>& body) {
    for (Stmt* stmt : body) visit(stmt);
}

void ScopeBuilder::visit_all(const List<Expr*>& exprs) {
    for (Expr* expr : exprs) {
        if (expr != nullptr) visit(expr);
    }
}

void ScopeBuilder::visit_loop_body(const List<Stmt*>& body) {
    loops_++;
    visit_body(body);
    loops_--;
}

void ScopeBuilder::visit(Stmt* stmt) {
    switch (stmt->kind) {
        case StmtKind::FunctionDef:
            return visit_function(as<FunctionDefStmt>(stmt));
        case StmtKind::ClassDef:
            return visit_class(as<ClassDefStmt>(stmt));
        case StmtKind::Return: {
            if (!scope_->is_function()) fail(stmt->span, "'return' outside function");
            if (Expr* value = as<ReturnStmt>(stmt).value) visit(value);
            return;
        }
        case StmtKind::Delete:
            for (Expr* target : as<DeleteStmt>(stmt).targets) visit_delete_target(target);
            return;
        case StmtKind::Assign: {
            auto& node = as<AssignStmt>(stmt);
            visit(node.value);
            for (Expr* target : node.targets) visit_target(target);
            return;
        }
        case StmtKind::AugAssign: {
            auto& node = as<AugAssignStmt>(stmt);
            visit(node.value);
            visit_target(node.target);
            // The target is read as well.
            if (NameExpr* name = as_if<NameExpr>(node.target)) scope_->symbols.get(name->id).flags |= kUsed;
            return;
        }
        case StmtKind::AnnAssign:
            return visit_annotated(as<AnnAssignStmt>(stmt));
        case StmtKind::For: {
            auto& node = as<ForStmt>(stmt);
            visit(node.iter);
            visit_target(node.target);
            visit_loop_body(node.body);
            visit_body(node.orelse);
            return;
        }
        case StmtKind::While: {
            auto& node = as<WhileStmt>(stmt);
            visit(node.test);
            visit_loop_body(node.body);
            visit_body(node.orelse);
            return;
        }
        case StmtKind::If: {
            auto& node = as<IfStmt>(stmt);
            for (const IfClause& clause : node.clauses) {
                visit(clause.test);
                visit_body(clause.body);
            }
            visit_body(node.orelse);
            return;
        }
        case StmtKind::With: {
            auto& node = as<WithStmt>(stmt);
            for (const WithItem& item : node.items) {
                visit(item.context);
                if (item.target != nullptr) visit_target(item.target);
            }
            visit_body(node.body);
            return;
        }
        case StmtKind::Raise: {
            auto& node = as<RaiseStmt>(stmt);
            if (node.exc != nullptr) visit(node.exc);
            if (node.cause != nullptr) visit(node.cause);
            return;
        }
        case StmtKind::Try: {
            auto& node = as<TryStmt>(stmt);
            visit_body(node.body);
            for (ExceptHandler& handler : node.handlers) {
                if (handler.type != nullptr) visit(handler.type);
                if (handler.name != kNoName) {
                    handler.name = mangle(handler.name);
                    // The name is unbound at the end of the handler.
                    bind(handler.name, handler.span, kAssigned | kUnbindable);
                }
                visit_body(handler.body);
            }
            visit_body(node.orelse);
            visit_body(node.finalbody);
            return;
        }
        case StmtKind::Assert: {
            auto& node = as<AssertStmt>(stmt);
            visit(node.test);
            if (node.msg != nullptr) visit(node.msg);
            return;
        }
        case StmtKind::Import:
            return visit_import(as<ImportStmt>(stmt).names, false, stmt->span);
        case StmtKind::ImportFrom: {
            auto& node = as<ImportFromStmt>(stmt);
            bool future = node.level == 0 && names_.text(node.module) == "__future__";
            return future ? visit_future_import(node) : visit_import(node.names, true, stmt->span);
        }
        case StmtKind::Global: {
            auto& node = as<GlobalStmt>(stmt);
            for (NameId& name : node.names) name = mangle(name);
            return visit_declaration(stmt->kind, node.names, stmt->span);
        }
        case StmtKind::Nonlocal: {
            auto& node = as<NonlocalStmt>(stmt);
            for (NameId& name : node.names) name = mangle(name);
            return visit_declaration(stmt->kind, node.names, stmt->span);
        }
        case StmtKind::Expr:
            return visit(as<ExprStmt>(stmt).value);
        case StmtKind::Pass:
            return;
        case StmtKind::Break:
            if (loops_ == 0) fail(stmt->span, "'break' outside loop");
            return;
        case StmtKind::Continue:
            if (loops_ == 0) fail(stmt->span, "'continue' not properly in loop");
            return;
    }
}

void ScopeBuilder::visit_import(const List<Alias>& names, bool from, Span) {
    for (Alias& alias : names) {
        std::string_view name = names_.text(alias.name);
        if (from && name == "*") {
            if (scope_->kind != ScopeKind::Module) fail(alias.span, "import * only allowed at module level");
            continue;
        }
        NameId bound = alias.asname;
        if (bound == kNoName)
            bound = from ? alias.name : names_.intern(std::string(name.substr(0, name.find('.'))));
        // The name that is bound is private in a class, the module's own is not.
        NameId mangled = mangle(bound);
        if (alias.asname != kNoName || mangled != bound) alias.asname = mangled;
        bind(mangled, alias.span);
    }
}

// from __future__ import feature: all but `annotations` have long been part of the language.
void ScopeBuilder::visit_future_import(ImportFromStmt& node) {
    for (const Alias& alias : node.names) {
        std::string_view feature = names_.text(alias.name);
        bool known = false;
        for (std::string_view name :
             {"annotations", "division", "absolute_import", "with_statement", "print_function",
              "unicode_literals", "generator_stop", "nested_scopes", "generators"}) {
            known = known || feature == name;
        }
        if (!known) fail(alias.span, fmt::format("future feature {} is not defined", feature));
        if (feature == "annotations") tree_.annotations_are_text = true;
    }
}

void ScopeBuilder::visit_declaration(StmtKind kind, const List<NameId>& names, Span span) {
    bool global = kind == StmtKind::Global;
    std::string_view word = global ? "global" : "nonlocal";
    if (!global && scope_->kind == ScopeKind::Module)
        fail(span, "nonlocal declaration not allowed at module level");
    for (NameId name : names) {
        Symbol& symbol = scope_->symbols.get(name);
        if (symbol.has(kParameter))
            fail(span, fmt::format("name '{}' is parameter and {}", text(name), word));
        if (symbol.has(kUsed))
            fail(span, fmt::format("name '{}' is used prior to {} declaration", text(name), word));
        if (symbol.has(kAnnotated))
            fail(span, fmt::format("annotated name '{}' can't be {}", text(name), word));
        if (symbol.has(kAssigned)) {
            fail(span, fmt::format("name '{}' is assigned to before {} declaration", text(name), word));
        }
        if (symbol.has(global ? kDeclaredNonlocal : kDeclaredGlobal)) {
            fail(span, fmt::format("name '{}' is nonlocal and global", text(name)));
        }
        symbol.flags |= global ? kDeclaredGlobal : kDeclaredNonlocal;
        if (!global) tree_.nonlocals.emplace_back(name, span);
    }
}

void ScopeBuilder::visit_annotated(AnnAssignStmt& node) {
    if (NameExpr* name = as_if<NameExpr>(node.target)) {
        name->id = mangle(name->id);
        Symbol& symbol = scope_->symbols.get(name->id);
        if (node.simple && symbol.has(kDeclaredGlobal | kDeclaredNonlocal) &&
            scope_->kind != ScopeKind::Module) {
            fail(node.span, fmt::format("annotated name '{}' can't be {}", text(name->id),
                                        symbol.has(kDeclaredGlobal) ? "global" : "nonlocal"));
        }
        symbol.flags |= static_cast<uint16_t>(node.simple ? kAssigned | kAnnotated : 0);
        if (node.value != nullptr) symbol.flags |= kAssigned;
    } else {
        visit(node.target);
    }
    // Annotations of a function's variables are not evaluated.
    if (!scope_->is_function()) {
        visit(node.annotation);
        if (node.simple) scope_->has_annotations = true;
    }
    if (node.value != nullptr) visit(node.value);
}

void ScopeBuilder::visit_target(Expr* target, uint16_t flags) {
    switch (target->kind) {
        case ExprKind::Name: {
            auto& node = as<NameExpr>(target);
            node.id = mangle(node.id);
            if ((flags & kIteration) != 0 && scope_->symbols.get(node.id).has(kNamedTarget)) {
                fail(node.span,
                     fmt::format("comprehension inner loop cannot rebind assignment expression target '{}'",
                                 text(node.id)));
            }
            return bind(node.id, node.span, flags);
        }
        case ExprKind::Starred:
            return visit_target(as<StarredExpr>(target).value, flags);
        case ExprKind::Tuple:
            for (Expr* elt : as<TupleExpr>(target).elts) visit_target(elt, flags);
            return;
        case ExprKind::List:
            for (Expr* elt : as<ListExpr>(target).elts) visit_target(elt, flags);
            return;
        default:
            return visit(target);
    }
}

void ScopeBuilder::visit_delete_target(Expr* target) { visit_target(target, kAssigned | kUnbindable); }

// Defaults and annotations belong to the scope around the function.
void ScopeBuilder::visit_signature(const Arguments& args) {
    for (const Parameter& parameter : args.parameters) {
        if (parameter.default_value != nullptr) visit(parameter.default_value);
        if (parameter.annotation != nullptr) visit(parameter.annotation);
    }
}

void ScopeBuilder::visit_parameters(const Arguments& args) {
    scope_->args = &args;
    for (Parameter& parameter : args.parameters) {
        parameter.name = mangle(parameter.name);
        Symbol& symbol = scope_->symbols.get(parameter.name);
        if (symbol.has(kParameter)) {
            fail(parameter.span,
                 fmt::format("duplicate argument '{}' in function definition", text(parameter.name)));
        }
        symbol.flags |= kParameter;
    }
}

void ScopeBuilder::visit_function(FunctionDefStmt& node) {
    visit_all(node.decorator_list);
    visit_signature(*node.args);
    if (node.returns != nullptr) visit(node.returns);
    if (scope_->kind == ScopeKind::Class && text(node.name) == "__del__") {
        fail({node.span.begin, node.body[0]->span.begin},
             "__del__ is not in the language; a context manager cleans up at a known time");
    }
    bind(mangle(node.name), node.span);
    Scope* outer = open(ScopeKind::Function, node.name);
    node.scope = scope_;
    int loops = loops_;
    loops_ = 0;
    visit_parameters(*node.args);
    visit_body(node.body);
    loops_ = loops;
    close(outer);
}

void ScopeBuilder::visit_class(ClassDefStmt& node) {
    visit_all(node.decorator_list);
    visit_all(node.bases);
    for (const Keyword& keyword : node.keywords) visit(keyword.value);
    bind(mangle(node.name), node.span);
    Scope* outer = open(ScopeKind::Class, node.name);
    node.scope = scope_;
    scope_->class_name = node.name;
    int loops = loops_;
    loops_ = 0;
    visit_body(node.body);
    loops_ = loops;
    close(outer);
}

void ScopeBuilder::visit_lambda(LambdaExpr& node) {
    visit_signature(*node.args);
    Scope* outer = open(ScopeKind::Lambda, names_.intern("<lambda>"));
    node.scope = scope_;
    visit_parameters(*node.args);
    visit(node.body);
    close(outer);
}

void ScopeBuilder::visit_comprehension(ScopeKind kind, Scope*& scope, Expr* first, Expr* second,
                                       List<Comprehension>& generators) {
    // The first iterable is evaluated outside.
    comprehension_iter_++;
    visit(generators[0].iter);
    comprehension_iter_--;
    constexpr std::string_view kNames[] = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"};
    size_t which = static_cast<size_t>(kind) - static_cast<size_t>(ScopeKind::ListComp);
    Scope* outer = open(kind, names_.intern(kNames[which]));
    scope = scope_;
    scope_->is_generator = kind == ScopeKind::GeneratorExp;
    // The iterator that the code outside hands in; an inlined comprehension has no use for it.
    scope_->symbols.get(dot_zero_).flags |= kParameter;
    bool is_first = true;
    for (const Comprehension& generator : generators) {
        visit_target(generator.target, kAssigned | kIteration);
        if (!is_first) {
            comprehension_iter_++;
            visit(generator.iter);
            comprehension_iter_--;
        }
        is_first = false;
        visit_all(generator.ifs);
    }
    visit(first);
    if (second != nullptr) visit(second);
    close(outer);
}

// A walrus in a comprehension binds in the function around it.
void ScopeBuilder::visit_named(NamedExprExpr& node) {
    auto& target = as<NameExpr>(node.target);
    target.id = mangle(target.id);
    if (comprehension_iter_ > 0) {
        fail(node.span, "assignment expression cannot be used in a comprehension iterable expression");
    }
    Scope* owner = scope_;
    while (owner->is_comprehension()) {
        Symbol& symbol = owner->symbols.get(target.id);
        if (symbol.has(kIteration)) {
            fail(node.span,
                 fmt::format("assignment expression cannot rebind comprehension iteration variable '{}'",
                             text(target.id)));
        }
        symbol.flags |= kUsed | kNamedTarget;
        owner = owner->parent;
    }
    if (owner != scope_ && owner->kind == ScopeKind::Class) {
        fail(node.span, "assignment expression within a comprehension cannot be used in a class body");
    }
    visit(node.value);
    Scope* here = scope_;
    scope_ = owner;
    bind(target.id, target.span);
    scope_->has_walrus = true;
    scope_ = here;
}

void ScopeBuilder::visit_yield(Expr* expr) {
    if (scope_->is_comprehension()) {
        fail(expr->span, fmt::format("'yield' inside {}", comprehension_noun(scope_->kind)));
    }
    if (!scope_->is_function()) fail(expr->span, "'yield' outside function");
    scope_->is_generator = true;
}

// Chains (a.b.c, a + b + c, a if b else c if ...) are followed in a loop: they may be long.
void ScopeBuilder::visit(Expr* expr) {
    while (true) {
        switch (expr->kind) {
            case ExprKind::Constant:
                return;
            case ExprKind::Name: {
                auto& node = as<NameExpr>(expr);
                node.id = mangle(node.id);
                return use(node.id);
            }
            case ExprKind::BoolOp:
                return visit_all(as<BoolOpExpr>(expr).values);
            case ExprKind::BinOp:
                visit(as<BinOpExpr>(expr).right);
                expr = as<BinOpExpr>(expr).left;
                continue;
            case ExprKind::UnaryOp:
                expr = as<UnaryOpExpr>(expr).operand;
                continue;
            case ExprKind::Compare:
                visit_all(as<CompareExpr>(expr).comparators);
                expr = as<CompareExpr>(expr).left;
                continue;
            case ExprKind::IfExp:
                visit(as<IfExpExpr>(expr).test);
                visit(as<IfExpExpr>(expr).body);
                expr = as<IfExpExpr>(expr).orelse;
                continue;
            case ExprKind::NamedExpr:
                return visit_named(as<NamedExprExpr>(expr));
            case ExprKind::Lambda:
                return visit_lambda(as<LambdaExpr>(expr));
            case ExprKind::Call: {
                auto& node = as<CallExpr>(expr);
                visit_all(node.args);
                for (const Keyword& keyword : node.keywords) visit(keyword.value);
                expr = node.func;
                continue;
            }
            case ExprKind::Attribute: {
                auto& node = as<AttributeExpr>(expr);
                node.attr = mangle(node.attr);
                expr = node.value;
                continue;
            }
            case ExprKind::Subscript:
                visit(as<SubscriptExpr>(expr).slice);
                expr = as<SubscriptExpr>(expr).value;
                continue;
            case ExprKind::Slice: {
                auto& node = as<SliceExpr>(expr);
                if (node.lower != nullptr) visit(node.lower);
                if (node.upper != nullptr) visit(node.upper);
                if (node.step != nullptr) visit(node.step);
                return;
            }
            case ExprKind::Starred:
                expr = as<StarredExpr>(expr).value;
                continue;
            case ExprKind::Tuple:
                return visit_all(as<TupleExpr>(expr).elts);
            case ExprKind::List:
                return visit_all(as<ListExpr>(expr).elts);
            case ExprKind::Set:
                return visit_all(as<SetExpr>(expr).elts);
            case ExprKind::Dict:
                visit_all(as<DictExpr>(expr).keys);
                return visit_all(as<DictExpr>(expr).values);
            case ExprKind::ListComp: {
                auto& node = as<ListCompExpr>(expr);
                return visit_comprehension(ScopeKind::ListComp, node.scope, node.elt, nullptr,
                                           node.generators);
            }
            case ExprKind::SetComp: {
                auto& node = as<SetCompExpr>(expr);
                return visit_comprehension(ScopeKind::SetComp, node.scope, node.elt, nullptr,
                                           node.generators);
            }
            case ExprKind::DictComp: {
                auto& node = as<DictCompExpr>(expr);
                return visit_comprehension(ScopeKind::DictComp, node.scope, node.key, node.value,
                                           node.generators);
            }
            case ExprKind::GeneratorExp: {
                auto& node = as<GeneratorExpExpr>(expr);
                return visit_comprehension(ScopeKind::GeneratorExp, node.scope, node.elt, nullptr,
                                           node.generators);
            }
            case ExprKind::JoinedStr:
                return visit_all(as<JoinedStrExpr>(expr).values);
            case ExprKind::FormattedValue: {
                auto& node = as<FormattedValueExpr>(expr);
                if (node.format_spec != nullptr) visit(node.format_spec);
                expr = node.value;
                continue;
            }
            case ExprKind::Yield:
                visit_yield(expr);
                if (as<YieldExpr>(expr).value == nullptr) return;
                expr = as<YieldExpr>(expr).value;
                continue;
            case ExprKind::YieldFrom:
                visit_yield(expr);
                expr = as<YieldFromExpr>(expr).value;
                continue;
        }
    }
}

}  // namespace talc::lang
