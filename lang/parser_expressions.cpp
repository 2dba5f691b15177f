// Expressions by operator precedence.
#include "lang/characters.hpp"
#include "lang/parser_impl.hpp"

namespace talc::lang {

using enum TokenKind;

void Parser::expect(TokenKind kind) {
    if (!at(kind)) unexpected();
    take();
}

void Parser::expect_forced(TokenKind kind) {
    if (!at(kind)) {
        if (at(Indent) || at(Dedent) || at(Error)) unexpected();
        fail_here(fmt::format("expected '{}'", token_description(kind)));
    }
    take();
}

NameId Parser::name_of(const Token& token) {
    std::string_view word = token_text(token);
    for (char c : word) {
        if (static_cast<unsigned char>(c) >= 0x80) return names_.intern(normalize_identifier(word));
    }
    return names_.intern(word);
}

NameId Parser::expect_name() {
    if (!at(Name)) unexpected();
    return name_of(take());
}

// a, *b, c: a tuple if there is a comma.
Expr* Parser::parse_star_expressions() {
    uint32_t start = begin();
    Expr* first = parse_star_expression();
    if (!at(Comma)) return first;
    ListBuilder<Expr*> elts(arena_);
    elts.push(first);
    while (accept(Comma)) {
        if (!starts_expression(*tok_) && !at(Star) && !at(Await)) break;
        elts.push(parse_star_expression());
    }
    auto* tuple = make<TupleExpr>(since(start));
    tuple->elts = elts.finish();
    return tuple;
}

Expr* Parser::parse_star_expression() {
    if (!at(Star)) return parse_expression();
    uint32_t start = begin();
    take();
    Expr* value = parse_operators(kBitOr);
    auto* starred = make<StarredExpr>(since(start));
    starred->value = value;
    return starred;
}

Expr* Parser::parse_star_named_expression() {
    return at(Star) ? parse_star_expression() : parse_named_expression();
}

Expr* Parser::parse_named_expression() {
    uint32_t start = begin();
    if (at(Name) && next_is(ColonEqual)) {
        auto* target = make<NameExpr>(tok_->span);
        target->id = name_of(take());
        check_debug_name(target, "assign to");
        take();
        Expr* value = parse_expression();
        auto* named = make<NamedExprExpr>(since(start));
        named->target = target;
        named->value = value;
        return named;
    }
    Expr* value = parse_expression();
    if (at(ColonEqual) && !attempting_) {
        fail(value->span, fmt::format("cannot use assignment expressions with {}", expr_name(value)));
    }
    check_stray_equals(value);
    return value;
}

Expr* Parser::parse_expression() {
    if (at(Lambda)) return parse_lambda();
    DepthGuard guard(*this);
    uint32_t start = begin();
    Expr* value = parse_disjunction();
    if (!at(If)) return value;
    // a if b else c if d else e ...: read from the left, built from the right, so that long chains do not
    // recurse.
    struct Choice {
        Expr* body;
        Expr* test;
        uint32_t begin;
    };
    ListBuilder<Choice> choices(arena_);
    while (at(If)) {
        const Token* if_token = tok_;
        take();
        Expr* test = parse_disjunction();
        if (!at(Else)) {
            if (!at(Colon) && !attempting_) {
                fail(Span::join(value->span, test->span), "expected 'else' after 'if' expression");
            }
            // `x if y:` may be a filter or a block that the caller knows about.
            tok_ = if_token;
            last_end_ = value->span.end;
            unexpected();
        }
        take();
        choices.push({value, test, start});
        start = begin();
        value = at(Lambda) ? parse_lambda() : parse_disjunction();
    }
    for (uint32_t i = choices.size(); i-- > 0;) {
        auto* choice = make<IfExpExpr>({choices[i].begin, last_end_});
        choice->test = choices[i].test;
        choice->body = choices[i].body;
        choice->orelse = value;
        value = choice;
    }
    return value;
}

Expr* Parser::parse_operators(Precedence lowest) {
    DepthGuard guard(*this);
    uint32_t start = begin();
    Expr* left = at(Not) && lowest <= kNot ? parse_not() : parse_operand();
    while (true) {
        const InfixOperator& op = kInfixOperators[static_cast<size_t>(kind())];
        if (op.precedence == kNoOperator || op.precedence < lowest) return left;
        if (at(Not) && !next_is(In)) {
            if (!attempting_) {
                take();
                unexpected();
            }
            return left;
        }
        switch (op.precedence) {
            case kOr:
                left = parse_bool(left, start, BoolOperator::Or, Or, kAnd);
                break;
            case kAnd:
                left = parse_bool(left, start, BoolOperator::And, And, kNot);
                break;
            case kComparison:
                left = parse_comparison(left, start);
                break;
            default: {
                take();
                Expr* right = parse_operators(static_cast<Precedence>(op.precedence + 1));
                auto* node = make<BinOpExpr>(since(start));
                node->left = left;
                node->op = op.binary;
                node->right = right;
                left = node;
            }
        }
    }
}

Expr* Parser::parse_bool(Expr* left, uint32_t begin, BoolOperator op, TokenKind token, Precedence tighter) {
    ListBuilder<Expr*> values(arena_);
    values.push(left);
    while (accept(token)) values.push(parse_operators(tighter));
    auto* node = make<BoolOpExpr>(since(begin));
    node->op = op;
    node->values = values.finish();
    return node;
}

Expr* Parser::parse_comparison(Expr* left, uint32_t begin) {
    ListBuilder<CompareOperator> ops(arena_);
    ListBuilder<Expr*> comparators(arena_);
    while (true) {
        const InfixOperator& op = kInfixOperators[static_cast<size_t>(kind())];
        if (op.precedence != kComparison) break;
        CompareOperator compare = op.compare;
        if (at(Not)) {
            if (!next_is(In)) break;
            take();
        } else if (at(Is) && next_is(Not)) {
            compare = CompareOperator::IsNot;
            take();
        }
        take();
        ops.push(compare);
        comparators.push(parse_operators(kBitOr));
    }
    auto* node = make<CompareExpr>(since(begin));
    node->left = left;
    node->ops = ops.finish();
    node->comparators = comparators.finish();
    return node;
}

Expr* Parser::parse_not() {
    DepthGuard guard(*this);
    uint32_t start = begin();
    take();
    Expr* operand = at(Not) ? parse_not() : parse_operators(kComparison);
    auto* node = make<UnaryOpExpr>(since(start));
    node->op = UnaryOperator::Not;
    node->operand = operand;
    return node;
}

// A sign binds looser than ** on its right and tighter than anything else.
Expr* Parser::parse_operand() {
    UnaryOperator op;
    switch (kind()) {
        case Minus:
            op = UnaryOperator::USub;
            break;
        case Plus:
            op = UnaryOperator::UAdd;
            break;
        case Tilde:
            op = UnaryOperator::Invert;
            break;
        default:
            return parse_power();
    }
    DepthGuard guard(*this);
    uint32_t start = begin();
    take();
    if (op == UnaryOperator::USub && at(Int)) {
        // -9223372036854775808 is an int although its digits alone are none.
        if (Expr* smallest = parse_int_token(true)) {
            smallest->span = since(start);
            return smallest;
        }
    }
    Expr* operand = parse_operand();
    auto* node = make<UnaryOpExpr>(since(start));
    node->op = op;
    node->operand = operand;
    return node;
}

Expr* Parser::parse_power() {
    uint32_t start = begin();
    Expr* base = parse_primary();
    if (!accept(DoubleStar)) return base;
    DepthGuard guard(*this);
    Expr* exponent = parse_operand();
    auto* node = make<BinOpExpr>(since(start));
    node->left = base;
    node->op = BinaryOperator::Pow;
    node->right = exponent;
    return node;
}

Expr* Parser::parse_primary() {
    uint32_t start = begin();
    Expr* value = parse_atom();
    while (true) {
        switch (kind()) {
            case Dot: {
                take();
                NameId attr = expect_name();
                auto* node = make<AttributeExpr>(since(start));
                node->value = value;
                node->attr = attr;
                value = node;
                break;
            }
            case LParen:
                value = parse_call(value, start);
                break;
            case LBracket:
                value = parse_subscript(value, start);
                break;
            default:
                return value;
        }
    }
}

Expr* Parser::parse_lambda() {
    DepthGuard guard(*this);
    uint32_t start = begin();
    take();
    Arguments* args = parse_parameters(Colon, true);
    if (!at(Colon)) unexpected();
    take();
    Expr* body = parse_expression();
    auto* node = make<LambdaExpr>(since(start));
    node->args = args;
    node->body = body;
    return node;
}

Expr* Parser::parse_yield() {
    uint32_t start = begin();
    take();
    if (accept(From)) {
        Expr* value = parse_expression();
        auto* node = make<YieldFromExpr>(since(start));
        node->value = value;
        return node;
    }
    Expr* value = nullptr;
    if (starts_expression(*tok_) || at(Star)) value = parse_star_expressions();
    auto* node = make<YieldExpr>(since(start));
    node->value = value;
    return node;
}

Expr* Parser::parse_yield_or_star_expressions() {
    return at(Yield) ? parse_yield() : parse_star_expressions();
}

// Targets of `for`: no `in` is taken.
Expr* Parser::parse_target_list() {
    uint32_t start = begin();
    auto element = [&]() -> Expr* {
        if (at(Star)) return parse_star_expression();
        return parse_operators(kBitOr);
    };
    Expr* first = element();
    if (at(Comma)) {
        ListBuilder<Expr*> elts(arena_);
        elts.push(first);
        while (accept(Comma)) {
            if (!starts_expression(*tok_) && !at(Star)) break;
            elts.push(element());
        }
        auto* tuple = make<TupleExpr>(since(start));
        tuple->elts = elts.finish();
        first = tuple;
    }
    check_target(first, TargetUse::For);
    return first;
}

List<Comprehension> Parser::parse_comprehension_clauses() {
    ListBuilder<Comprehension> generators(arena_);
    while (at(For) || at(Async)) {
        if (at(Async)) unexpected();
        take();
        Comprehension generator;
        generator.target = parse_target_list();
        if (!at(In)) unexpected_after(generator.target);
        take();
        generator.iter = parse_disjunction();
        ListBuilder<Expr*> ifs(arena_);
        while (accept(If)) ifs.push(parse_disjunction());
        generator.ifs = ifs.finish();
        generators.push(generator);
    }
    return generators.finish();
}

Expr* Parser::parse_subscript(Expr* value, uint32_t begin_of_value) {
    take();
    brackets_++;
    uint32_t start = begin();
    auto element = [&]() -> Expr* {
        if (at(Star)) return parse_star_expression();
        return parse_slice();
    };
    Expr* slice = element();
    if (at(Comma) || slice->kind == ExprKind::Starred) {
        ListBuilder<Expr*> elts(arena_);
        elts.push(slice);
        while (accept(Comma)) {
            if (at(RBracket)) break;
            elts.push(element());
        }
        auto* tuple = make<TupleExpr>(since(start));
        tuple->elts = elts.finish();
        slice = tuple;
    }
    if (!at(RBracket)) unexpected_after(slice);
    brackets_--;
    take();
    auto* node = make<SubscriptExpr>(since(begin_of_value));
    node->value = value;
    node->slice = slice;
    return node;
}

Expr* Parser::parse_slice() {
    uint32_t start = begin();
    Expr* lower = nullptr;
    if (!at(Colon)) {
        lower = parse_named_expression();
        if (!at(Colon) || lower->kind == ExprKind::NamedExpr) return lower;
    }
    take();
    Expr* upper = nullptr;
    Expr* step = nullptr;
    auto ends_part = [&] { return at(Colon) || at(Comma) || at(RBracket); };
    if (!ends_part()) upper = parse_expression();
    if (accept(Colon) && !ends_part()) step = parse_expression();
    auto* node = make<SliceExpr>(since(start));
    node->lower = lower;
    node->upper = upper;
    node->step = step;
    return node;
}

}  // namespace talc::lang
