#pragma once
// The first half of scope resolution: which names each scope binds and uses.
#include <fmt/format.h>

#include "lang/scope.hpp"

namespace talc::lang {

struct ScopeFailure {
    SyntaxError error;
};

class ScopeBuilder {
  public:
    ScopeBuilder(NameTable& names, ScopeTree& tree) : names_(names), tree_(tree) {}
    void build(Module& module);

  private:
    [[noreturn]] static void fail(Span span, std::string message) {
        throw ScopeFailure{SyntaxError{std::move(message), span, SyntaxErrorKind::Syntax, false}};
    }
    std::string text(NameId name) const { return std::string(names_.text(name)); }
    NameId mangle(NameId name) { return names_.mangle(name, scope_->class_name); }

    Scope* open(ScopeKind kind, NameId name);
    void close(Scope* outer);

    void bind(NameId name, Span span, uint16_t flags = kAssigned);
    void use(NameId name);

    void visit_body(const List<Stmt*>& body);
    void visit(Stmt* stmt);
    void visit(Expr* expr);
    void visit_all(const List<Expr*>& exprs);
    void visit_target(Expr* target, uint16_t flags = kAssigned);
    void visit_delete_target(Expr* target);
    void visit_function(FunctionDefStmt& node);
    void visit_class(ClassDefStmt& node);
    void visit_signature(const Arguments& args);
    void visit_parameters(const Arguments& args);
    void visit_lambda(LambdaExpr& node);
    void visit_comprehension(ScopeKind kind, Scope*& scope, Expr* first, Expr* second,
                             List<Comprehension>& generators);
    void visit_named(NamedExprExpr& node);
    void visit_yield(Expr* expr);
    void visit_annotated(AnnAssignStmt& node);
    void visit_declaration(StmtKind kind, const List<NameId>& names, Span span);
    void visit_import(const List<Alias>& names, bool from, Span span);
    void visit_future_import(ImportFromStmt& node);
    void visit_loop_body(const List<Stmt*>& body);

    NameTable& names_;
    ScopeTree& tree_;
    Scope* scope_ = nullptr;
    int loops_ = 0;               // loops around the statement, within its function
    int comprehension_iter_ = 0;  // inside the iterable of a comprehension
    NameId super_{};
    NameId dunder_class_{};
    NameId dot_zero_{};
};

}  // namespace talc::lang
