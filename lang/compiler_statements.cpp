// Simple statements.
#include "lang/compiler_impl.hpp"
#include "lang/constant_fold.hpp"

namespace talc::lang {

void Compiler::body(const List<Stmt*>& statements) {
    for (Stmt* stmt : statements) {
        if (!builder_->reachable()) return;
        statement(stmt);
    }
}

void Compiler::statement(Stmt* stmt) {
    builder_->set_span(stmt->span);
    switch (stmt->kind) {
        case StmtKind::FunctionDef:
            return function_statement(as<FunctionDefStmt>(stmt));
        case StmtKind::ClassDef:
            return class_statement(as<ClassDefStmt>(stmt));
        case StmtKind::Return:
            return return_statement(as<ReturnStmt>(stmt));
        case StmtKind::Delete:
            for (Expr* target : as<DeleteStmt>(stmt).targets) delete_target(target);
            return;
        case StmtKind::Assign:
            return assign_statement(as<AssignStmt>(stmt));
        case StmtKind::AugAssign:
            return augmented_statement(as<AugAssignStmt>(stmt));
        case StmtKind::AnnAssign:
            return annotated_statement(as<AnnAssignStmt>(stmt));
        case StmtKind::For:
            return for_statement(as<ForStmt>(stmt));
        case StmtKind::While:
            return while_statement(as<WhileStmt>(stmt));
        case StmtKind::If:
            return if_statement(as<IfStmt>(stmt));
        case StmtKind::With:
            return with_statement(as<WithStmt>(stmt), 0);
        case StmtKind::Raise:
            return raise_statement(as<RaiseStmt>(stmt));
        case StmtKind::Try:
            return try_statement(as<TryStmt>(stmt));
        case StmtKind::Assert:
            return assert_statement(as<AssertStmt>(stmt));
        case StmtKind::Import:
            return import_statement(as<ImportStmt>(stmt));
        case StmtKind::ImportFrom:
            return import_from_statement(as<ImportFromStmt>(stmt));
        case StmtKind::Expr:
            return expression_statement(as<ExprStmt>(stmt).value);
        case StmtKind::Break:
            return break_statement();
        case StmtKind::Continue:
            return continue_statement();
        case StmtKind::Global:
        case StmtKind::Nonlocal:
        case StmtKind::Pass:
            return;
    }
}

void Compiler::expression_statement(Expr* value) {
    bool shown = mode_ == CompileMode::Interactive && unit_->scope->kind == ScopeKind::Module;
    if (!shown) return discard(value);
    uint32_t top = builder_->top();
    Reg result = any(value);
    at(value);
    builder_->emit(Op::PRINT_EXPR, result);
    builder_->pop_to(top);
}

// `if x: continue` and `if x: break` where leaving is one jump forward: the condition itself jumps.
bool Compiler::jump_out_if(const IfClause& clause) {
    if (clause.body.size != 1 || unit_->blocks.empty()) return false;
    const Block& block = unit_->blocks.back();
    StmtKind kind = clause.body[0]->kind;
    bool goes_on = kind == StmtKind::Continue && block.kind == BlockKind::For;
    bool leaves = kind == StmtKind::Break && block.kind == BlockKind::While;
    if (!goes_on && !leaves) return false;
    condition(clause.test, goes_on ? block.continue_label : block.break_label, true);
    return true;
}

void Compiler::if_statement(IfStmt& node) {
    LabelId end = builder_->new_label();
    for (uint32_t i = 0; i < node.clauses.size; i++) {
        if (const ConstantValue* decided = constant_of(node.clauses[i].test);
            decided != nullptr && !is_true(*decided)) {
            continue;
        }
        if (jump_out_if(node.clauses[i])) {
            if (!builder_->reachable()) break;
            continue;
        }
        LabelId next = builder_->new_label();
        condition(node.clauses[i].test, next, false);
        body(node.clauses[i].body);
        bool last = i + 1 == node.clauses.size && node.orelse.empty();
        if (!last) {
            builder_->set_span(node.clauses[i].test->span);
            builder_->jump(end);
        }
        builder_->bind(next);
        if (!builder_->reachable()) break;
    }
    body(node.orelse);
    builder_->bind(end);
}

void Compiler::return_statement(ReturnStmt& node) {
    uint32_t top = builder_->top();
    const ConstantValue* constant = node.value != nullptr ? constant_of(node.value) : nullptr;
    bool none = node.value == nullptr || (constant != nullptr && constant->kind == ConstantKind::None);
    auto leave_with = [&](Reg value) {
        builder_->set_span(node.span);
        builder_->emit(Op::RETURN, value);
    };
    if (none) {
        unwind(0, true, [&] {
            builder_->set_span(node.span);
            builder_->emit(Op::RETURN_NONE);
        });
    } else if (constant != nullptr) {
        unwind(0, true, [&] {
            Reg value = builder_->push();
            at(node.value);
            load_constant(*constant, value);
            leave_with(value);
        });
    } else if (unit_->blocks.empty()) {
        leave_with(any(node.value));
    } else {
        // Blocks on the way out may assign to locals: the value is what it is now.
        Reg value = builder_->push();
        expression(node.value, value);
        unwind(0, true, [&] { leave_with(value); });
    }
    builder_->pop_to(top);
}

void Compiler::raise_statement(RaiseStmt& node) {
    if (node.exc == nullptr) return builder_->emit(Op::RAISE_CURRENT);
    uint32_t top = builder_->top();
    Reg exception = any(node.exc);
    if (node.cause != nullptr) {
        exception = keep_across(exception, node.cause);
        Reg cause = any(node.cause);
        builder_->set_span(node.span);
        builder_->emit(Op::RAISE_FROM, exception, cause);
    } else {
        builder_->set_span(node.span);
        builder_->emit(Op::RAISE, exception);
    }
    builder_->pop_to(top);
}

void Compiler::assert_statement(AssertStmt& node) {
    LabelId holds = builder_->new_label();
    condition(node.test, holds, true);
    uint32_t top = builder_->top();
    Reg message = 0;
    if (node.msg != nullptr) message = any(node.msg);
    builder_->set_span(node.test->span);
    builder_->emit(Op::RAISE_ASSERT, message, node.msg != nullptr ? 1 : 0);
    builder_->pop_to(top);
    builder_->bind(holds);
}

void Compiler::import_statement(ImportStmt& node) {
    for (const Alias& alias : node.names) {
        uint32_t top = builder_->top();
        Reg module = builder_->push();
        builder_->set_span(alias.span);
        std::string_view name = text(alias.name);
        bool leaf = alias.asname != kNoName;
        builder_->emit(Op::IMPORT, module, builder_->text_constant(name), leaf ? 1 : 0);
        NameId bound = leaf ? alias.asname : names_.intern(std::string(name.substr(0, name.find('.'))));
        store_variable(bound, module);
        builder_->pop_to(top);
    }
}

void Compiler::import_from_statement(ImportFromStmt& node) {
    if (node.level == 0 && text(node.module) == "__future__")
        return;  // what it changes, scope resolution has noted
    uint32_t top = builder_->top();
    Reg module = builder_->push();
    std::string name(static_cast<size_t>(node.level), '.');
    if (node.module != kNoName) name += text(node.module);
    builder_->set_span(node.span);
    builder_->emit(Op::IMPORT, module, builder_->text_constant(name), 1);
    if (text(node.names[0].name) == "*") {
        builder_->emit(Op::IMPORT_STAR, module);
        return builder_->pop_to(top);
    }
    for (const Alias& alias : node.names) {
        Reg value = builder_->push();
        builder_->set_span(alias.span);
        builder_->emit(Op::IMPORT_FROM, value, module, builder_->name(text(alias.name)));
        store_variable(alias.asname != kNoName ? alias.asname : alias.name, value);
        builder_->pop_to(top + 1);
    }
    builder_->emit(Op::CLEAR, module);
    builder_->pop_to(top);
}

// x: T = value. The annotation of a module's or class's variable is kept in __annotations__.
void Compiler::annotated_statement(AnnAssignStmt& node) {
    if (node.value != nullptr) {
        assign_to(node.target, node.value);
    } else if (auto* attribute = as_if<AttributeExpr>(node.target)) {
        discard(attribute->value);
    } else if (auto* subscript = as_if<SubscriptExpr>(node.target)) {
        discard(subscript->value);
        discard(subscript->slice);
    }
    if (!unit_->scope->is_function()) store_annotation(node);
}

void Compiler::store_annotation(AnnAssignStmt& node) {
    // A prompt's module lives on from input to input; it keeps no annotations.
    bool at_prompt = mode_ == CompileMode::Interactive && unit_->scope->kind == ScopeKind::Module;
    if (!node.simple || at_prompt) {
        if (!tree_.annotations_are_text) discard(node.annotation);
        return;
    }
    uint32_t top = builder_->top();
    Reg value = builder_->push();
    annotation(node.annotation, value);
    at(node.annotation);
    Reg annotations = builder_->push();
    load_variable(names_.intern("__annotations__"), annotations);
    Reg key = builder_->push();
    load_text(text(as<NameExpr>(node.target).id), key);
    builder_->emit(Op::STORE_INDEX, annotations, key, value);
    builder_->pop_to(top);
}

}  // namespace talc::lang
