// Atoms, displays and comprehensions.
#include "lang/literals.hpp"
#include "lang/parser_impl.hpp"

namespace talc::lang {

using enum TokenKind;

Expr* Parser::make_constant(Span span, ConstantKind kind) {
    auto* node = make<ConstantExpr>(span);
    node->value.kind = kind;
    return node;
}

Expr* Parser::make_int(Span span, int64_t value) {
    auto* node = make<ConstantExpr>(span);
    node->value.kind = ConstantKind::Int;
    node->value.integer = value;
    return node;
}

Expr* Parser::make_text(Span span, std::string_view text, bool bytes) {
    auto* node = make<ConstantExpr>(span);
    node->value.kind = bytes ? ConstantKind::Bytes : ConstantKind::Str;
    node->value.text = arena_.copy(text);
    return node;
}

// With `negated`, only the one number that is an int because of its sign; null for the others.
Expr* Parser::parse_int_token(bool negated) {
    constexpr uint64_t kSmallest = uint64_t{1} << 63;
    std::optional<uint64_t> value = decode_int(token_text(*tok_));
    if (negated) {
        bool operand_goes_on = next_is(DoubleStar) || next_is(Dot) || next_is(LBracket) || next_is(LParen);
        if (value != kSmallest || operand_goes_on) return nullptr;
        return make_int(take().span, INT64_MIN);
    }
    if (!value || *value >= kSmallest) {
        fail_here(fmt::format("integer literal {} does not fit in 64 bits", token_text(*tok_)));
    }
    return make_int(take().span, static_cast<int64_t>(*value));
}

Expr* Parser::parse_atom() {
    switch (kind()) {
        case Name: {
            auto* node = make<NameExpr>(tok_->span);
            node->id = name_of(take());
            return node;
        }
        case Int:
            return parse_int_token(false);
        case Float: {
            auto* node = make<ConstantExpr>(tok_->span);
            node->value.kind = ConstantKind::Float;
            node->value.number = decode_float(token_text(take()));
            return node;
        }
        case String:
        case FString:
        case Bytes:
            return parse_strings();
        case None:
            return make_constant(take().span, ConstantKind::None);
        case True:
            return make_constant(take().span, ConstantKind::True);
        case False:
            return make_constant(take().span, ConstantKind::False);
        case Ellipsis:
            return make_constant(take().span, ConstantKind::Ellipsis);
        case LParen:
            return parse_group();
        case LBracket:
            return parse_list();
        case LBrace:
            return parse_brace();
        default:
            unexpected();
    }
}

// After `(`: an empty tuple, a group, a tuple or a generator expression.
Expr* Parser::parse_group() {
    uint32_t start = begin();
    take();
    brackets_++;
    if (at(RParen)) {
        brackets_--;
        take();
        auto* empty = make<TupleExpr>(since(start));
        empty->parenthesized = true;
        return empty;
    }
    Expr* value = parse_group_content(start);
    if (!at(RParen)) unexpected_after(value);
    brackets_--;
    take();
    // A tuple and a generator expression own their parentheses.
    if (!value->parenthesized && (value->kind == ExprKind::Tuple || value->kind == ExprKind::GeneratorExp)) {
        value->span = since(start);
    }
    value->parenthesized = true;
    return value;
}

Expr* Parser::parse_group_content(uint32_t start) {
    if (at(Yield)) return parse_yield();
    if (at(DoubleStar)) {
        Span stars = tok_->span;
        if (!attempting_ && attempt([&] { take(), parse_expression(); })) {
            fail(stars, "cannot use double starred expression here");
        }
    }
    Expr* first = parse_star_named_expression();
    if (at(For) || at(Async)) {
        if (first->kind == ExprKind::Starred)
            fail(first->span, "iterable unpacking cannot be used in comprehension");
        List<Comprehension> generators = parse_comprehension_clauses();
        auto* node = make<GeneratorExpExpr>(since(start));
        node->elt = first;
        node->generators = generators;
        return node;
    }
    if (!at(Comma)) {
        if (first->kind == ExprKind::Starred && (at(RParen) || at(EndOfFile))) {
            fail(first->span, "cannot use starred expression here");
        }
        return first;
    }
    ListBuilder<Expr*> elts(arena_);
    elts.push(first);
    while (accept(Comma)) {
        if (at(RParen) || at(EndOfFile)) break;
        elts.push(parse_star_named_expression());
        if (!at(Comma) && !at(RParen) && !at(EndOfFile)) unexpected_after(elts.back());
    }
    auto* tuple = make<TupleExpr>(since(start));
    tuple->elts = elts.finish();
    return tuple;
}

Expr* Parser::parse_list() {
    uint32_t start = begin();
    take();
    brackets_++;
    ListBuilder<Expr*> elts(arena_);
    while (!at(RBracket)) {
        elts.push(parse_star_named_expression());
        if (at(For) || at(Async)) {
            Expr* elt = elts.back();
            if (elt->kind == ExprKind::Starred)
                fail(elt->span, "iterable unpacking cannot be used in comprehension");
            if (elts.size() > 1) {
                fail(Span::join(elts[0]->span, elt->span),
                     "did you forget parentheses around the comprehension target?");
            }
            List<Comprehension> generators = parse_comprehension_clauses();
            if (!at(RBracket)) unexpected();
            brackets_--;
            take();
            auto* node = make<ListCompExpr>(since(start));
            node->elt = elt;
            node->generators = generators;
            return node;
        }
        if (!at(RBracket) && !at(Comma)) unexpected_after(elts.back());
        accept(Comma);
    }
    brackets_--;
    take();
    auto* node = make<ListExpr>(since(start));
    node->elts = elts.finish();
    return node;
}

// After `{`: a dict or a set, written out or as a comprehension.
Expr* Parser::parse_brace() {
    uint32_t start = begin();
    take();
    brackets_++;
    Expr* result;
    if (at(RBrace) || at(DoubleStar)) {
        result = parse_dict(start, nullptr);
    } else if (at(Star)) {
        result = parse_set(start, parse_star_expression());
    } else {
        Expr* first = parse_named_expression();
        bool key = at(Colon) && (first->kind != ExprKind::NamedExpr || first->parenthesized);
        result = key ? parse_dict(start, first) : parse_set(start, first);
    }
    return result;
}

Expr* Parser::parse_dict_value() {
    if (attempting_) return parse_expression();
    if (at(Star)) fail(tok_->span, "cannot use a starred expression in a dictionary value");
    if (at(RBrace) || at(Comma)) fail(tok_[-1].span, "expression expected after dictionary key and ':'");
    return parse_expression();
}

// `first_key`, when there is one, has been read.
Expr* Parser::parse_dict(uint32_t start, Expr* first_key) {
    ListBuilder<Expr*> keys(arena_);
    ListBuilder<Expr*> values(arena_);
    while (!at(RBrace)) {
        if (first_key == nullptr && at(DoubleStar)) {
            Span stars = take().span;
            keys.push(nullptr);
            values.push(parse_operators(kBitOr));
            if (at(For)) fail(stars, "dict unpacking cannot be used in dict comprehension");
        } else {
            Expr* key = first_key != nullptr ? first_key : parse_expression();
            first_key = nullptr;
            if (!at(Colon)) {
                if (at(RBrace) || at(Comma)) fail(key->span, "':' expected after dictionary key");
                unexpected_after(key);
            }
            take();
            keys.push(key);
            values.push(parse_dict_value());
        }
        if (at(For) || at(Async)) {
            if (keys.size() > 1) unexpected();
            List<Comprehension> generators = parse_comprehension_clauses();
            if (!at(RBrace)) unexpected();
            brackets_--;
            take();
            auto* node = make<DictCompExpr>(since(start));
            node->key = keys[0];
            node->value = values[0];
            node->generators = generators;
            return node;
        }
        if (!at(RBrace) && !at(Comma)) unexpected_after(values.back());
        accept(Comma);
    }
    brackets_--;
    take();
    auto* node = make<DictExpr>(since(start));
    node->keys = keys.finish();
    node->values = values.finish();
    return node;
}

Expr* Parser::parse_set(uint32_t start, Expr* first) {
    ListBuilder<Expr*> elts(arena_);
    elts.push(first);
    while (true) {
        if (at(For) || at(Async)) {
            Expr* elt = elts.back();
            if (elt->kind == ExprKind::Starred)
                fail(elt->span, "iterable unpacking cannot be used in comprehension");
            if (elts.size() > 1) {
                fail(Span::join(elts[0]->span, elt->span),
                     "did you forget parentheses around the comprehension target?");
            }
            List<Comprehension> generators = parse_comprehension_clauses();
            if (!at(RBrace)) unexpected();
            brackets_--;
            take();
            auto* node = make<SetCompExpr>(since(start));
            node->elt = elt;
            node->generators = generators;
            return node;
        }
        if (!at(RBrace) && !at(Comma)) unexpected_after(elts.back());
        accept(Comma);
        if (at(RBrace)) break;
        elts.push(parse_star_named_expression());
    }
    brackets_--;
    take();
    auto* node = make<SetExpr>(since(start));
    node->elts = elts.finish();
    return node;
}

}  // namespace talc::lang
