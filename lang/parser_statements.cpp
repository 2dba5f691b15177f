// Simple statements, and the list of statements that is a module.
#include "lang/parser_impl.hpp"

namespace talc::lang {

using enum TokenKind;

Module* Parser::parse_module() {
    ListBuilder<Stmt*> body(arena_);
    while (!at(EndOfFile)) parse_statement(body);
    auto* module = arena_.make<Module>();
    module->body = body.finish();
    module->span = {0, static_cast<uint32_t>(text_.size())};
    return module;
}

Module* Parser::parse_single_expression() {
    Expr* value = parse_star_expressions();
    while (accept(Newline)) {
    }
    if (!at(EndOfFile)) unexpected_after(value);
    auto* statement = make<ExprStmt>(value->span);
    statement->value = value;
    ListBuilder<Stmt*> body(arena_);
    body.push(statement);
    auto* module = arena_.make<Module>();
    module->body = body.finish();
    module->span = {0, static_cast<uint32_t>(text_.size())};
    return module;
}

void Parser::parse_statement(ListBuilder<Stmt*>& out) {
    DepthGuard guard(*this);
    if (Stmt* compound = parse_compound_statement()) {
        out.push(compound);
    } else {
        parse_simple_statements(out);
    }
}

// a; b; c
void Parser::parse_simple_statements(ListBuilder<Stmt*>& out) {
    while (true) {
        out.push(parse_simple_statement());
        if (accept(Newline)) return;
        if (!at(Semicolon)) {
            ExprStmt* expression = as_if<ExprStmt>(out.back());
            unexpected_after(expression != nullptr ? expression->value : nullptr);
        }
        take();
        if (accept(Newline)) return;
    }
}

Stmt* Parser::parse_simple_statement() {
    switch (kind()) {
        case Return:
            return parse_return();
        case Import:
            return parse_import();
        case From:
            return parse_import_from();
        case Raise:
            return parse_raise();
        case Del:
            return parse_delete();
        case Assert:
            return parse_assert();
        case Global:
            return parse_global();
        case Nonlocal:
            return parse_nonlocal();
        case Pass:
            return make<PassStmt>(take().span);
        case Break:
            return make<BreakStmt>(take().span);
        case Continue:
            return make<ContinueStmt>(take().span);
        default:
            return parse_expression_statement();
    }
}

Stmt* Parser::parse_expression_statement() {
    uint32_t start = begin();
    if (is_match_statement()) not_in_language(tok_->span, "the match statement is");
    Expr* first = parse_yield_or_star_expressions();
    BinaryOperator op;
    if (at(Equal)) return parse_assignment(first, start);
    if (augmented_operator(kind(), op)) return parse_augmented(first, op, start);
    if (at(Colon)) return parse_annotated(first, start);
    auto* node = make<ExprStmt>(since(start));
    if (first->kind == ExprKind::Starred) fail(first->span, "can't use starred expression here");
    node->value = first;
    return node;
}

// `match subject:` with an indented `case` below it; any other use of the word is a name.
bool Parser::is_match_statement() const {
    if (!at(Name) || token_text(*tok_) != "match") return false;
    const Token* token = tok_ + 1;
    while (token->kind != Newline && token->kind != EndOfFile) token++;
    return token->kind == Newline && token[-1].kind == Colon && token[1].kind == Indent &&
           token[2].kind == Name && token_text(token[2]) == "case";
}

Stmt* Parser::parse_assignment(Expr* first, uint32_t start) {
    ListBuilder<Expr*> targets(arena_);
    Expr* value = first;
    while (at(Equal)) {
        if (value->kind == ExprKind::Yield || value->kind == ExprKind::YieldFrom) {
            if (!value->parenthesized) fail(value->span, "assignment to yield expression not possible");
        }
        if (targets.size() == 0 && invalid_target(value, TargetUse::Assign) != nullptr) {
            // `f() = 1`: the value that stands just before the `=` may have been meant for `==`.
            bool bare_tuple = value->kind == ExprKind::Tuple && !value->parenthesized;
            Expr* nearest = bare_tuple ? as<TupleExpr>(value).elts.back() : value;
            if (nearest->kind != ExprKind::Name && nearest->kind != ExprKind::Starred &&
                invalid_target(nearest, TargetUse::Assign) != nullptr) {
                check_stray_equals(nearest);
            }
        }
        check_target(value, TargetUse::Assign);
        targets.push(value);
        take();
        value = parse_yield_or_star_expressions();
    }
    if (value->kind == ExprKind::Starred) fail(value->span, "can't use starred expression here");
    if (!at(Newline) && !at(Semicolon)) unexpected_after(value);
    auto* node = make<AssignStmt>(since(start));
    node->targets = targets.finish();
    node->value = value;
    return node;
}

Stmt* Parser::parse_augmented(Expr* target, BinaryOperator op, uint32_t start) {
    bool single = target->kind == ExprKind::Name || target->kind == ExprKind::Attribute ||
                  target->kind == ExprKind::Subscript;
    if (!single) {
        fail(target->span,
             fmt::format("'{}' is an illegal expression for augmented assignment", expr_name(target)));
    }
    check_debug_name(target, "assign to");
    take();
    Expr* value = parse_yield_or_star_expressions();
    if (value->kind == ExprKind::Starred) fail(value->span, "can't use starred expression here");
    if (!at(Newline) && !at(Semicolon)) unexpected_after(value);
    auto* node = make<AugAssignStmt>(since(start));
    node->target = target;
    node->op = op;
    node->value = value;
    return node;
}

Stmt* Parser::parse_annotated(Expr* target, uint32_t start) {
    switch (target->kind) {
        case ExprKind::Name:
        case ExprKind::Attribute:
        case ExprKind::Subscript:
            break;
        case ExprKind::Tuple: {
            bool bare = !target->parenthesized;
            fail(bare ? as<TupleExpr>(target).elts[0]->span : target->span,
                 "only single target (not tuple) can be annotated");
        }
        case ExprKind::List:
            fail(target->span, "only single target (not list) can be annotated");
        default: {
            // `else if x:` and the like: only a complete annotation is a wrong one.
            const Token* here = tok_;
            if (!attempting_ && attempt([&] { take(), parse_expression(); })) {
                tok_ = here;
                fail(target->span, "illegal target for annotation");
            }
            tok_ = here;
            unexpected();
        }
    }
    check_debug_name(target, "assign to");
    take();
    Expr* annotation = parse_expression();
    Expr* value = nullptr;
    if (accept(Equal)) {
        value = parse_yield_or_star_expressions();
        if (value->kind == ExprKind::Starred) fail(value->span, "can't use starred expression here");
    }
    auto* node = make<AnnAssignStmt>(since(start));
    node->target = target;
    node->annotation = annotation;
    node->value = value;
    node->simple = target->kind == ExprKind::Name && !target->parenthesized;
    return node;
}

Stmt* Parser::parse_return() {
    uint32_t start = begin();
    take();
    Expr* value = nullptr;
    if (!at(Newline) && !at(Semicolon)) {
        value = parse_star_expressions();
        if (value->kind == ExprKind::Starred) fail(value->span, "can't use starred expression here");
        if (!at(Newline) && !at(Semicolon)) unexpected_after(value);
    }
    auto* node = make<ReturnStmt>(since(start));
    node->value = value;
    return node;
}

Stmt* Parser::parse_raise() {
    uint32_t start = begin();
    take();
    Expr* exception = nullptr;
    Expr* cause = nullptr;
    if (!at(Newline) && !at(Semicolon)) {
        exception = parse_expression();
        if (accept(From)) cause = parse_expression();
    }
    auto* node = make<RaiseStmt>(since(start));
    node->exc = exception;
    node->cause = cause;
    return node;
}

Stmt* Parser::parse_delete() {
    uint32_t start = begin();
    take();
    ListBuilder<Expr*> targets(arena_);
    do {
        if (targets.size() > 0 && (at(Newline) || at(Semicolon))) break;
        Expr* target = at(Star) ? parse_star_expression() : parse_expression();
        if (!at(Comma) && !at(Newline) && !at(Semicolon)) unexpected_after(target);
        targets.push(target);
    } while (accept(Comma));
    for (Expr* target : targets.finish()) check_target(target, TargetUse::Delete);
    auto* node = make<DeleteStmt>(since(start));
    node->targets = targets.finish();
    return node;
}

Stmt* Parser::parse_assert() {
    uint32_t start = begin();
    take();
    Expr* test = parse_expression();
    Expr* message = accept(Comma) ? parse_expression() : nullptr;
    auto* node = make<AssertStmt>(since(start));
    node->test = test;
    node->msg = message;
    return node;
}

List<NameId> Parser::parse_name_list() {
    ListBuilder<NameId> names(arena_);
    do {
        names.push(expect_name());
    } while (accept(Comma));
    return names.finish();
}

Stmt* Parser::parse_global() {
    uint32_t start = begin();
    take();
    List<NameId> names = parse_name_list();
    auto* node = make<GlobalStmt>(since(start));
    node->names = names;
    return node;
}

Stmt* Parser::parse_nonlocal() {
    uint32_t start = begin();
    take();
    List<NameId> names = parse_name_list();
    auto* node = make<NonlocalStmt>(since(start));
    node->names = names;
    return node;
}

NameId Parser::parse_dotted_name() {
    NameId first = expect_name();
    if (!at(Dot)) return first;
    std::string dotted(names_.text(first));
    while (accept(Dot)) {
        dotted += '.';
        dotted += names_.text(expect_name());
    }
    return names_.intern(dotted);
}

Alias Parser::parse_alias(bool dotted) {
    uint32_t start = begin();
    Alias alias;
    alias.name = dotted ? parse_dotted_name() : expect_name();
    if (accept(As)) alias.asname = expect_name();
    alias.span = since(start);
    return alias;
}

Stmt* Parser::parse_import() {
    uint32_t start = begin();
    take();
    ListBuilder<Alias> names(arena_);
    do {
        names.push(parse_alias(true));
    } while (accept(Comma));
    auto* node = make<ImportStmt>(since(start));
    node->names = names.finish();
    return node;
}

Stmt* Parser::parse_import_from() {
    uint32_t start = begin();
    take();
    int level = 0;
    while (at(Dot) || at(Ellipsis)) level += take().kind == Dot ? 1 : 3;
    NameId module = kNoName;
    if (level == 0 || !at(Import)) module = parse_dotted_name();
    expect(Import);
    ListBuilder<Alias> names(arena_);
    if (at(Star)) {
        Span star = take().span;
        names.push({names_.intern("*"), kNoName, star});
    } else if (accept(LParen)) {
        brackets_++;
        do {
            if (names.size() > 0 && at(RParen)) break;
            names.push(parse_alias(false));
        } while (accept(Comma));
        brackets_--;
        expect(RParen);
    } else {
        do {
            if (names.size() > 0 && at(Newline)) {
                fail_here("trailing comma not allowed without surrounding parentheses");
            }
            names.push(parse_alias(false));
        } while (accept(Comma));
    }
    auto* node = make<ImportFromStmt>(since(start));
    node->module = module;
    node->names = names.finish();
    node->level = level;
    return node;
}

}  // namespace talc::lang
