// String literals: concatenation and f-strings. The expressions of an f-string are lexed and parsed in place,
// so that their spans point into the source like all others.
#include <cstring>

#include "lang/characters.hpp"
#include "lang/literals.hpp"
#include "lang/parser_impl.hpp"

namespace talc::lang {

using enum TokenKind;

// Collects literal text and replacement fields; text on both sides of a literal's end is one constant.
struct Parser::StringBuilder {
    explicit StringBuilder(Arena& arena) : values(arena) {}

    std::string text;
    Span whole;
    ListBuilder<Expr*> values;
};

void Parser::decode_into(std::string& out, uint32_t begin, uint32_t end, bool raw, bool bytes, Span whole) {
    size_t error_at = 0;
    std::string error = decode_string(text_.substr(begin, end - begin), raw, bytes, out, error_at);
    if (error.empty()) return;
    if (bytes) fail(whole, std::move(error));
    auto at = begin + static_cast<uint32_t>(error_at);
    fail({at, std::min(at + 2, end)}, std::move(error));
}

Expr* Parser::parse_strings() {
    DepthGuard guard(*this);
    uint32_t start = begin();
    bool any_bytes = false;
    bool any_text = false;
    bool any_formatted = false;
    const Token* after = tok_;
    for (; after->kind == String || after->kind == FString || after->kind == Bytes; after++) {
        any_bytes |= after->kind == Bytes;
        any_text |= after->kind != Bytes;
        any_formatted |= after->kind == FString;
    }
    if (any_bytes && any_text) fail({start, after[-1].span.end}, "cannot mix bytes and nonbytes literals");
    Span whole{start, after[-1].span.end};
    StringBuilder builder(arena_);
    builder.whole = whole;
    while (tok_ != after) {
        Token token = take();
        StringParts parts = split_string(token_text(token));
        uint32_t content_begin = token.span.begin + parts.content_begin;
        uint32_t content_end = token.span.begin + parts.content_end;
        if (parts.formatted) {
            parse_fstring_content(builder, content_begin, content_end, parts.raw, 0);
        } else {
            decode_into(builder.text, content_begin, content_end, parts.raw, parts.bytes, token.span);
        }
    }
    last_end_ = whole.end;
    if (!any_formatted) return make_text(whole, builder.text, any_bytes);
    if (!builder.text.empty()) builder.values.push(make_text(whole, builder.text, false));
    auto* node = make<JoinedStrExpr>(whole);
    node->values = builder.values.finish();
    return node;
}

// Literal text and fields from `at` on: to `end`, or in a format spec (level > 0) to the `}` that closes its
// field.
void Parser::parse_fstring_content(StringBuilder& builder, uint32_t& at, uint32_t end, bool raw, int level) {
    while (at < end) {
        uint32_t literal = at;
        bool doubled = false;
        while (at < end) {
            char c = text_[at];
            if (!raw && c == '\\' && at + 1 < end) {
                at++;
                c = text_[at];
                if (c == 'N' && at + 1 < end && text_[at + 1] == '{') {  // a character's name, not a field
                    while (at < end && text_[at] != '}') at++;
                    if (at < end) at++;
                    continue;
                }
                if (c != '{' && c != '}') {
                    at++;
                    continue;
                }
            }
            if (c == '{' || c == '}') {
                doubled = level == 0 && at + 1 < end && text_[at + 1] == c;
                if (!doubled && level == 0 && c == '}') {
                    fail({at, at + 1}, "f-string: single '}' is not allowed");
                }
                break;
            }
            at++;
        }
        uint32_t literal_end = doubled ? at + 1 : at;
        if (literal_end > literal) decode_into(builder.text, literal, literal_end, raw, false, builder.whole);
        if (doubled) {
            at += 2;
            continue;
        }
        if (at >= end || text_[at] == '}') return;
        parse_replacement_field(builder, at, end, raw, level);
    }
}

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

char opener_of(char closer) { return closer == ')' ? '(' : closer == ']' ? '[' : '{'; }

}  // namespace

// The end of the expression that begins at `at`: the first `!`, `:`, `=` or `}` outside brackets and strings.
uint32_t Parser::find_field_expression_end(uint32_t at, uint32_t end) {
    std::string open;
    char quote = 0;
    bool triple = false;
    for (; at < end; at++) {
        char c = text_[at];
        if (c == '\\') fail({at, at + 1}, "f-string expression part cannot include a backslash");
        bool three = at + 2 < end && text_[at + 1] == c && text_[at + 2] == c;
        if (quote != 0) {
            if (c != quote) continue;
            if (triple) {
                if (!three) continue;
                at += 2;
            }
            quote = 0;
            continue;
        }
        if (c == '\'' || c == '"') {
            quote = c;
            triple = three;
            if (three) at += 2;
            continue;
        }
        if (c == '(' || c == '[' || c == '{') {
            if (open.size() >= 200) fail({at, at + 1}, "f-string: too many nested parenthesis");
            open += c;
            continue;
        }
        if (c == '#') fail({at, at + 1}, "f-string expression part cannot include '#'");
        if (open.empty() && std::memchr("!:}=<>", c, 6) != nullptr) {
            bool before_equal = at + 1 < end && text_[at + 1] == '=' && c != ':' && c != '}';
            if (before_equal) {
                at++;
                continue;
            }
            if (c == '<' || c == '>') continue;
            return at;
        }
        if (c == ')' || c == ']' || c == '}') {
            if (open.empty()) fail({at, at + 1}, fmt::format("f-string: unmatched '{}'", c));
            if (open.back() != opener_of(c)) {
                fail({at, at + 1},
                     fmt::format("f-string: closing parenthesis '{}' does not match opening parenthesis '{}'",
                                 c, open.back()));
            }
            open.pop_back();
        }
    }
    if (quote != 0) fail({end, end}, "f-string: unterminated string");
    if (!open.empty()) fail({end, end}, fmt::format("f-string: unmatched '{}'", open.back()));
    return end;
}

// The expression in text_[begin, end), as if it stood in parentheses.
Expr* Parser::parse_embedded(uint32_t begin, uint32_t end) {
    bool blank = true;
    for (uint32_t i = begin; i < end; i++) blank = blank && is_blank(text_[i]);
    if (blank) {
        bool closed = text_[end] == '}';
        fail({begin - 1, end}, closed ? "f-string: empty expression not allowed"
                                      : fmt::format("f-string: expression required before '{}'", text_[end]));
    }
    LexResult lexed = tokenize(text_, LexMode::Bracketed, begin, end);
    if (lexed.error) fail(lexed.error->span, lexed.error->message);
    const Token* saved_token = tok_;
    uint32_t saved_end = last_end_;
    tok_ = lexed.tokens.data();
    brackets_++;
    fstrings_++;
    Expr* value;
    try {
        value = parse_group_content(begin);
        if (!at(EndOfFile)) unexpected_after(value);
    } catch (SyntaxFailure& failure) {
        // These tokens are about to go; the outer ones stay.
        failure.token = saved_token;
        tok_ = saved_token;
        throw;
    }
    fstrings_--;
    brackets_--;
    tok_ = saved_token;
    last_end_ = saved_end;
    return value;
}

// {expression[=][!conversion][:spec]}
void Parser::parse_replacement_field(StringBuilder& builder, uint32_t& at, uint32_t end, bool raw,
                                     int level) {
    if (level >= 2) fail({at, at + 1}, "f-string: expressions nested too deeply");
    uint32_t field_begin = at++;
    auto expect_more = [&] {
        if (at >= end) fail({field_begin, field_begin + 1}, "f-string: expecting '}'");
    };
    uint32_t expression_begin = at;
    at = find_field_expression_end(at, end);
    Expr* value = nullptr;
    if (at < end || expression_begin < end) {
        expect_more();
        value = parse_embedded(expression_begin, at);
    }
    expect_more();
    bool debug = text_[at] == '=';
    if (debug) {
        at++;
        while (at < end && is_blank(text_[at])) at++;
        builder.text += text_.substr(expression_begin, at - expression_begin);
        expect_more();
    }
    Conversion conversion = Conversion::None;
    if (text_[at] == '!') {
        at++;
        expect_more();
        switch (text_[at]) {
            case 's':
                conversion = Conversion::Str;
                break;
            case 'r':
                conversion = Conversion::Repr;
                break;
            case 'a':
                conversion = Conversion::Ascii;
                break;
            default:
                fail({at, at + 1}, "f-string: invalid conversion character: expected 's', 'r', or 'a'");
        }
        at++;
        expect_more();
    }
    Expr* spec = nullptr;
    if (text_[at] == ':') {
        at++;
        expect_more();
        StringBuilder inner(arena_);
        uint32_t spec_begin = at;
        inner.whole = {spec_begin, end};
        parse_fstring_content(inner, at, end, raw, level + 1);
        Span spec_span{spec_begin, at};
        if (!inner.text.empty()) inner.values.push(make_text(spec_span, inner.text, false));
        auto* joined = make<JoinedStrExpr>(spec_span);
        joined->values = inner.values.finish();
        spec = joined;
        expect_more();
    }
    if (text_[at] != '}') fail({at, at + 1}, "f-string: expecting '}'");
    at++;
    if (debug && conversion == Conversion::None && spec == nullptr) conversion = Conversion::Repr;
    if (!builder.text.empty()) {
        builder.values.push(make_text(builder.whole, builder.text, false));
        builder.text.clear();
    }
    auto* node = make<FormattedValueExpr>({field_begin, at});
    node->value = value;
    node->conversion = conversion;
    node->format_spec = spec;
    builder.values.push(node);
}

}  // namespace talc::lang
