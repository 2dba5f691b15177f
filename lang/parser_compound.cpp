// Statements with blocks.
#include "lang/parser_impl.hpp"

namespace talc::lang {

using enum TokenKind;

// Null if the next statement is a simple one.
Stmt* Parser::parse_compound_statement() {
    switch (kind()) {
        case If:
            return parse_if();
        case While:
            return parse_while();
        case For:
            return parse_for();
        case Try:
            return parse_try();
        case With:
            return parse_with();
        case Def:
            return parse_function({}, begin());
        case Class:
            return parse_class({}, begin());
        case At:
            return parse_decorated();
        default:
            return nullptr;
    }
}

// The colon after the head of a block: a missing one at the end of the line is named, other tokens are just
// wrong.
void Parser::expect_block_colon() {
    if (at(Colon)) {
        take();
        return;
    }
    if (at(Newline)) fail_here("expected ':'");
    unexpected();
}

Parser::Body Parser::parse_block(std::string_view owner, uint32_t owner_begin) {
    ListBuilder<Stmt*> body(arena_);
    if (!accept(Newline)) {
        parse_simple_statements(body);
        return body.finish();
    }
    if (!at(Indent)) {
        if (at(Error)) unexpected();
        fail(tok_->span,
             fmt::format("expected an indented block after {} on line {}", owner, line_at(owner_begin)),
             SyntaxErrorKind::Indentation);
    }
    take();
    while (!at(Dedent) && !at(EndOfFile)) parse_statement(body);
    // An unindent takes no text: the block ends where its last statement does.
    uint32_t end = last_end_;
    accept(Dedent);
    last_end_ = end;
    return body.finish();
}

namespace {

// Statements end before their newline.
Span ending_with(uint32_t begin, const List<Stmt*>& body) { return {begin, body.back()->span.end}; }

}  // namespace

Parser::Body Parser::parse_else_block() {
    if (!at(Else)) return {};
    uint32_t start = begin();
    take();
    expect_forced(Colon);
    return parse_block("'else' statement", start);
}

Stmt* Parser::parse_if() {
    uint32_t start = begin();
    ListBuilder<IfClause> clauses(arena_);
    do {
        uint32_t clause_begin = begin();
        std::string_view owner = at(If) ? "'if' statement" : "'elif' statement";
        take();
        IfClause clause;
        clause.test = parse_named_expression();
        if (!at(Colon) && !at(Newline)) unexpected_after(clause.test);
        expect_block_colon();
        clause.body = parse_block(owner, clause_begin);
        clauses.push(clause);
    } while (at(Elif));
    Body orelse = parse_else_block();
    auto* node = make<IfStmt>(ending_with(start, orelse.empty() ? clauses.back().body : orelse));
    node->clauses = clauses.finish();
    node->orelse = orelse;
    return node;
}

Stmt* Parser::parse_while() {
    uint32_t start = begin();
    take();
    Expr* test = parse_named_expression();
    if (!at(Colon) && !at(Newline)) unexpected_after(test);
    expect_block_colon();
    Body body = parse_block("'while' statement", start);
    Body orelse = parse_else_block();
    auto* node = make<WhileStmt>(ending_with(start, orelse.empty() ? body : orelse));
    node->test = test;
    node->body = body;
    node->orelse = orelse;
    return node;
}

Stmt* Parser::parse_for() {
    uint32_t start = begin();
    take();
    Expr* target = parse_target_list();
    if (!at(In)) unexpected();
    take();
    Expr* iter = parse_star_expressions();
    if (iter->kind == ExprKind::Starred) fail(iter->span, "can't use starred expression here");
    if (!at(Colon) && !at(Newline)) unexpected_after(iter);
    expect_block_colon();
    Body body = parse_block("'for' statement", start);
    Body orelse = parse_else_block();
    auto* node = make<ForStmt>(ending_with(start, orelse.empty() ? body : orelse));
    node->target = target;
    node->iter = iter;
    node->body = body;
    node->orelse = orelse;
    return node;
}

ExceptHandler Parser::parse_except() {
    uint32_t start = begin();
    Span keyword = take().span;
    ExceptHandler handler;
    if (at(Star)) not_in_language({keyword.begin, tok_->span.end}, "'except*' is");
    if (!at(Colon) && !at(Newline)) {
        handler.type = parse_expression();
        if (at(Comma)) {
            const Token* here = tok_;
            Expr* last = nullptr;
            bool several = !attempting_ && attempt([&] {
                while (accept(Comma)) last = parse_expression();
                if (accept(As)) expect_name();
                expect(Colon);
            });
            tok_ = here;
            if (several)
                fail(Span::join(handler.type->span, last->span),
                     "multiple exception types must be parenthesized");
        }
        if (accept(As)) handler.name = expect_name();
    }
    expect_block_colon();
    handler.body = parse_block("'except' statement", start);
    handler.span = ending_with(start, handler.body);
    return handler;
}

Stmt* Parser::parse_try() {
    uint32_t start = begin();
    take();
    expect_forced(Colon);
    Body body = parse_block("'try' statement", start);
    if (!at(Except) && !at(Finally)) {
        if (at(Indent)) unexpected();
        fail_here("expected 'except' or 'finally' block");
    }
    ListBuilder<ExceptHandler> handlers(arena_);
    while (at(Except)) handlers.push(parse_except());
    for (uint32_t i = 0; i + 1 < handlers.size(); i++) {
        if (handlers[i].type == nullptr) fail(handlers[i].span, "default 'except:' must be last");
    }
    Body orelse;
    if (handlers.size() > 0) orelse = parse_else_block();
    Body finalbody;
    if (at(Finally)) {
        uint32_t finally_begin = begin();
        take();
        expect_forced(Colon);
        finalbody = parse_block("'finally' statement", finally_begin);
    }
    const Body& last = !finalbody.empty() ? finalbody : !orelse.empty() ? orelse : handlers.back().body;
    auto* node = make<TryStmt>(ending_with(start, last));
    node->body = body;
    node->handlers = handlers.finish();
    node->orelse = orelse;
    node->finalbody = finalbody;
    return node;
}

WithItem Parser::parse_with_item() {
    WithItem item;
    item.context = parse_expression();
    if (accept(As)) {
        item.target = at(Star) ? parse_star_expression() : parse_operators(kBitOr);
        check_target(item.target, TargetUse::Assign);
    }
    return item;
}

// with (a as b, c as d): the parentheses belong to the statement if `)` is followed by `:` and the items
// parse.
bool Parser::parse_parenthesized_with_items(ListBuilder<WithItem>& items) {
    const Token* token = tok_;
    int depth = 0;
    do {
        if (token->kind == LParen || token->kind == LBracket || token->kind == LBrace) depth++;
        if (token->kind == RParen || token->kind == RBracket || token->kind == RBrace) depth--;
        if (token->kind == EndOfFile) return false;
        token++;
    } while (depth > 0);
    if (token->kind != Colon && token->kind != Newline) return false;
    return attempt([&] {
        take();
        brackets_++;
        do {
            if (items.size() > 0 && at(RParen)) break;
            items.push(parse_with_item());
        } while (accept(Comma));
        brackets_--;
        expect(RParen);
        if (!at(Colon) && !at(Newline)) unexpected();
    });
}

Stmt* Parser::parse_with() {
    uint32_t start = begin();
    take();
    ListBuilder<WithItem> items(arena_);
    if (!at(LParen) || !parse_parenthesized_with_items(items)) {
        items = ListBuilder<WithItem>(arena_);
        do {
            items.push(parse_with_item());
        } while (accept(Comma));
    }
    expect_block_colon();
    Body body = parse_block("'with' statement", start);
    auto* node = make<WithStmt>(ending_with(start, body));
    node->items = items.finish();
    node->body = body;
    return node;
}

Stmt* Parser::parse_decorated() {
    ListBuilder<Expr*> decorators(arena_);
    while (accept(At)) {
        decorators.push(parse_named_expression());
        if (!at(Newline)) unexpected_after(decorators.back());
        take();
    }
    if (at(Def)) return parse_function(decorators.finish(), begin());
    if (at(Class)) return parse_class(decorators.finish(), begin());
    unexpected();
}

Stmt* Parser::parse_function(List<Expr*> decorators, uint32_t start) {
    take();
    NameId name = expect_name();
    expect_forced(LParen);
    brackets_++;
    Arguments* args = parse_parameters(RParen, false);
    brackets_--;
    expect(RParen);
    Expr* returns = nullptr;
    if (at(Arrow)) {
        if (next_is(Colon)) fail_here("expected ':'");
        take();
        returns = parse_expression();
    }
    expect_forced(Colon);
    Body body = parse_block("function definition", start);
    auto* node = make<FunctionDefStmt>(ending_with(start, body));
    node->name = name;
    node->args = args;
    node->body = body;
    node->decorator_list = decorators;
    node->returns = returns;
    return node;
}

Stmt* Parser::parse_class(List<Expr*> decorators, uint32_t start) {
    take();
    NameId name = expect_name();
    List<Expr*> bases;
    List<Keyword> keywords;
    if (at(LParen)) {
        uint32_t open = begin();
        parse_call_arguments(bases, keywords);
        bool generator =
            bases.size == 1 && bases[0]->kind == ExprKind::GeneratorExp && bases[0]->span.begin == open;
        if (generator) fail(bases[0]->span, "invalid syntax");
    }
    expect_block_colon();
    Body body = parse_block("class definition", start);
    auto* node = make<ClassDefStmt>(ending_with(start, body));
    node->name = name;
    node->bases = bases;
    node->keywords = keywords;
    node->body = body;
    node->decorator_list = decorators;
    for (const Keyword& keyword : keywords) {
        bool metaclass = keyword.name != kNoName && names_.text(keyword.name) == "metaclass";
        if (metaclass) not_in_language(keyword.span, "metaclass= is");
    }
    for (Expr* base : bases) {
        if (base->kind == ExprKind::Starred) not_in_language(base->span, "starred bases of a class are");
    }
    if (bases.size > 1)
        not_in_language(Span::join(bases[0]->span, bases.back()->span), "multiple inheritance is");
    return node;
}

}  // namespace talc::lang
