// What is wrong and how to say it: CPython's words where it has some.
#include <algorithm>

#include "lang/parser_impl.hpp"

namespace talc::lang {

using enum TokenKind;

uint32_t Parser::line_at(uint32_t offset) const {
    std::string_view before = text_.substr(0, std::min<size_t>(offset, text_.size()));
    return 1 + static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n'));
}

void Parser::fail(Span span, std::string message, SyntaxErrorKind kind) {
    if (fstrings_ > 0 && message.substr(0, 8) != "f-string") message = "f-string: " + message;
    SyntaxError error{std::move(message), span, kind, false};
    throw SyntaxFailure{std::move(error), tok_};
}

void Parser::fail_too_deep() { fail(tok_->span, "too many nested expressions"); }

void Parser::not_in_language(Span span, std::string_view what) {
    fail(span, fmt::format("{} not in the language", what));
}

// Only unindents stand between the token and the end of the text.
bool Parser::failed_at_end(const Token* token) const {
    while (token->kind == Dedent) token++;
    return token->kind == EndOfFile;
}

void Parser::unexpected() {
    if (at(Indent)) fail(tok_->span, "unexpected indent", SyntaxErrorKind::Indentation);
    if (at(Dedent)) fail(tok_->span, "unexpected unindent", SyntaxErrorKind::Indentation);
    if (at(Async) || at(Await)) not_in_language(tok_->span, "async and await are");
    fail_here("invalid syntax");
}

void Parser::unexpected_after(Expr* last) {
    if (attempting_ || last == nullptr) unexpected();
    const Token* here = tok_;
    if (at(If)) {
        // `a if b` with no else
        Expr* test = nullptr;
        if (attempt([&] { take(), test = parse_disjunction(); }) && !at(Else) && !at(Colon)) {
            fail(Span::join(last->span, test->span), "expected 'else' after 'if' expression");
        }
        tok_ = here;
    }
    NameExpr* name = as_if<NameExpr>(last);
    std::string_view word = name != nullptr ? names_.text(name->id) : std::string_view();
    Expr* next = nullptr;
    if ((word == "print" || word == "exec") && !at(LParen)) {
        if (attempt([&] { next = parse_star_expressions(); })) {
            fail(Span::join(last->span, next->span),
                 fmt::format("Missing parentheses in call to '{0}'. Did you mean {0}(...)?", word));
        }
    }
    bool soft = word == "match" || word == "case" || word == "_" || (name != nullptr && at(String));
    if (brackets_ > 0 && !soft && starts_expression(*tok_)) {
        if (attempt([&] { next = parse_expression(); })) {
            tok_ = here;
            fail(Span::join(last->span, next->span), "invalid syntax. Perhaps you forgot a comma?");
        }
    }
    tok_ = here;
    unexpected();
}

bool Parser::starts_expression(const Token& token) const {
    switch (token.kind) {
        case Name:
        case Int:
        case Float:
        case String:
        case FString:
        case Bytes:
        case LParen:
        case LBracket:
        case LBrace:
        case Minus:
        case Plus:
        case Tilde:
        case Not:
        case Lambda:
        case True:
        case False:
        case None:
        case Ellipsis:
            return true;
        default:
            return false;
    }
}

namespace {

ParseResult run(std::string_view text, Arena& arena, NameTable& names, bool expression_only) {
    LexResult lexed = tokenize(text);
    Parser parser(text, lexed.tokens, arena, names);
    ParseResult result;
    try {
        result.module = expression_only ? parser.parse_single_expression() : parser.parse_module();
    } catch (SyntaxFailure& failure) {
        result.error = std::move(failure.error);
        result.error->incomplete = parser.failed_at_end(failure.token);
        if (lexed.unclosed) {
            // The bracket is what is wrong, unless the error stands on the bracket's own line.
            const OpenBracket& bracket = *lexed.unclosed;
            uint32_t from = bracket.span.begin;
            uint32_t to = std::max(from, failure.token->span.begin);
            bool later_line = text.substr(from, to - from).find('\n') != std::string_view::npos;
            bool comma = result.error->message.find("forgot a comma") != std::string::npos;
            bool itself = failure.token->span.begin == from;
            if (later_line || comma || itself || result.error->incomplete) {
                result.error = SyntaxError{fmt::format("'{}' was never closed", bracket.opener), bracket.span,
                                           SyntaxErrorKind::Syntax, true};
            }
        }
    }
    // What the tokenizer found wins, wherever it stands: the parser stumbled over it or over its
    // consequences.
    if (lexed.error) {
        result.module = nullptr;
        result.error = std::move(lexed.error);
    }
    return result;
}

}  // namespace

ParseResult parse_module(std::string_view text, Arena& arena, NameTable& names) {
    return run(text, arena, names, false);
}

ParseResult parse_expression(std::string_view text, Arena& arena, NameTable& names) {
    return run(text, arena, names, true);
}

}  // namespace talc::lang
