// Arguments of calls and parameters of functions.
#include "lang/parser_impl.hpp"

namespace talc::lang {

using enum TokenKind;

Expr* Parser::parse_call(Expr* callee, uint32_t start) {
    List<Expr*> args;
    List<Keyword> keywords;
    parse_call_arguments(args, keywords);
    auto* node = make<CallExpr>(since(start));
    node->func = callee;
    node->args = args;
    node->keywords = keywords;
    return node;
}

// name=value
Keyword Parser::parse_keyword_argument(const List<Keyword>& before) {
    Span name_span = tok_->span;
    NameId name = name_of(take());
    take();
    Expr* value = parse_expression();
    if (at(For)) {
        fail(Span::join(name_span, value->span),
             "invalid syntax. Maybe you meant '==' or ':=' instead of '='?");
    }
    if (names_.text(name) == "__debug__") fail(name_span, "cannot assign to __debug__");
    // Many keywords are machine-made; looking at the last thousand keeps them from costing quadratic time.
    uint32_t first = before.size > 1000 ? before.size - 1000 : 0;
    for (uint32_t i = first; i < before.size; i++) {
        if (before[i].name != name) continue;
        fail(since(name_span.begin), fmt::format("keyword argument repeated: {}", names_.text(name)));
    }
    return {name, value, since(name_span.begin)};
}

// From `(` to `)`.
void Parser::parse_call_arguments(List<Expr*>& args_out, List<Keyword>& keywords_out) {
    uint32_t open = begin();
    take();
    brackets_++;
    ListBuilder<Expr*> args(arena_);
    ListBuilder<Keyword> keywords(arena_);
    bool unpacked_keywords = false;
    while (!at(RParen)) {
        uint32_t start = begin();
        Expr* value = nullptr;
        if (at(DoubleStar)) {
            take();
            value = parse_expression();
            keywords.push({kNoName, value, since(start)});
            unpacked_keywords = true;
        } else if (at(Star)) {
            if (unpacked_keywords) {
                fail(tok_->span, "iterable argument unpacking follows keyword argument unpacking");
            }
            take();
            value = parse_expression();
            auto* starred = make<StarredExpr>(since(start));
            starred->value = value;
            if (at(For)) fail(starred->span, "iterable unpacking cannot be used in comprehension");
            args.push(starred);
        } else if (at(Name) && next_is(Equal)) {
            keywords.push(parse_keyword_argument(keywords.finish()));
            value = keywords.back().value;
        } else {
            if ((at(True) || at(False) || at(None)) && next_is(Equal)) {
                fail(tok_->span, fmt::format("cannot assign to {}", token_text(*tok_)));
            }
            bool named = at(Name) && next_is(ColonEqual);
            value = named ? parse_named_expression() : parse_expression();
            if (at(ColonEqual) && !attempting_) {
                fail(value->span, fmt::format("cannot use assignment expressions with {}", expr_name(value)));
            }
            if (at(Equal)) {
                fail(Span{value->span.begin, tok_->span.end},
                     "expression cannot contain assignment, perhaps you meant \"==\"?");
            }
            if (at(For) || at(Async)) {
                List<Comprehension> generators = parse_comprehension_clauses();
                bool alone = args.size() == 0 && keywords.size() == 0 && at(RParen);
                if (!alone) {
                    if (!at(RParen) && !at(Comma)) unexpected();
                    fail(since(start), "Generator expression must be parenthesized");
                }
                brackets_--;
                take();
                auto* node = make<GeneratorExpExpr>(since(open));
                node->elt = value;
                node->generators = generators;
                node->parenthesized = true;
                args.push(node);
                args_out = args.finish();
                return;
            }
            if (keywords.size() > 0) {
                if (!at(RParen) && !at(Comma)) unexpected_after(value);
                fail(value->span, unpacked_keywords ? "positional argument follows keyword argument unpacking"
                                                    : "positional argument follows keyword argument");
            }
            args.push(value);
        }
        if (!at(RParen) && !at(Comma)) unexpected_after(value);
        accept(Comma);
    }
    brackets_--;
    take();
    args_out = args.finish();
    keywords_out = keywords.finish();
}

Parameter Parser::parse_parameter(bool lambda, bool star) {
    Parameter parameter;
    uint32_t start = begin();
    if (at(LParen) && !attempting_) {
        fail_here(lambda ? "Lambda expression parameters cannot be parenthesized"
                         : "Function parameters cannot be parenthesized");
    }
    parameter.name = expect_name();
    parameter.span = since(start);
    if (names_.text(parameter.name) == "__debug__") fail(parameter.span, "cannot assign to __debug__");
    if (!lambda && accept(Colon)) {
        parameter.annotation = star && at(Star) ? parse_star_expression() : parse_expression();
        parameter.span = since(start);
    }
    return parameter;
}

// Parameters up to `closer`, which is left alone.
Arguments* Parser::parse_parameters(TokenKind closer, bool lambda) {
    ListBuilder<Parameter> positional(arena_);
    ListBuilder<Parameter> keyword_only(arena_);
    Parameter varargs;
    Parameter varkw;
    auto* result = arena_.make<Arguments>();
    bool seen_slash = false;
    bool seen_star = false;
    bool defaults = false;
    Span bare_star;
    bool bare = false;
    while (!at(closer)) {
        if (result->has_varkw) fail_here("arguments cannot follow var-keyword argument");
        if (at(Slash)) {
            if (seen_slash) fail_here("/ may appear only once");
            if (seen_star) fail_here("/ must be ahead of *");
            if (positional.size() == 0) {
                if (next_is(Comma)) fail_here("at least one argument must precede /");
                unexpected();
            }
            take();
            if (at(Star)) fail_here("expected comma between / and *");
            seen_slash = true;
            result->positional_only = positional.size();
        } else if (at(Star)) {
            if (seen_star) fail_here("* argument may appear only once");
            Span star = take().span;
            seen_star = true;
            if (at(Comma) || at(closer)) {
                bare = true;
                bare_star = star;
            } else {
                varargs = parse_parameter(lambda, true);
                result->has_varargs = true;
                if (at(Equal)) fail_here("var-positional argument cannot have default value");
            }
        } else if (at(DoubleStar)) {
            if (bare && keyword_only.size() == 0) fail(bare_star, "named arguments must follow bare *");
            take();
            varkw = parse_parameter(lambda, false);
            result->has_varkw = true;
            if (at(Equal)) fail_here("var-keyword argument cannot have default value");
        } else {
            Parameter parameter = parse_parameter(lambda, false);
            if (accept(Equal)) {
                if (at(Comma) || at(closer)) fail(tok_[-1].span, "expected default value expression");
                parameter.default_value = parse_expression();
                if (!seen_star) defaults = true;
            } else if (defaults && !seen_star) {
                fail(parameter.span, "non-default argument follows default argument");
            }
            (seen_star ? keyword_only : positional).push(parameter);
        }
        if (!at(closer)) {
            if (!at(Comma)) unexpected();
            take();
        }
    }
    if (bare && keyword_only.size() == 0) fail(bare_star, "named arguments must follow bare *");
    result->positional = positional.size();
    result->keyword_only = keyword_only.size();
    for (const Parameter& parameter : keyword_only.finish()) positional.push(parameter);
    if (result->has_varargs) positional.push(varargs);
    if (result->has_varkw) positional.push(varkw);
    result->parameters = positional.finish();
    return result;
}

}  // namespace talc::lang
