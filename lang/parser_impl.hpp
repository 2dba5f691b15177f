#pragma once
// The parser's state. Statements: parser_statements.cpp, parser_compound.cpp. Expressions:
// parser_expressions.cpp, parser_atoms.cpp, parser_calls.cpp, parser_strings.cpp. Targets and errors:
// parser_targets.cpp, parser_errors.cpp.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "lang/lexer.hpp"
#include "lang/parser.hpp"
#include "lang/precedence.hpp"

namespace talc::lang {

// Thrown at the first error and caught where parsing began.
struct SyntaxFailure {
    SyntaxError error;
    const Token* token;  // the parser stood here
};

class Parser {
  public:
    Parser(std::string_view text, const std::vector<Token>& tokens, Arena& arena, NameTable& names)
        : text_(text), arena_(arena), names_(names), tok_(tokens.data()) {}

    Module* parse_module();
    Module* parse_single_expression();

    bool failed_at_end(const Token* token) const;

  private:
    // Recursion of the parser, and with it of every pass over the tree, stays below this.
    static constexpr int kMaxDepth = 1200;

    class DepthGuard {
      public:
        explicit DepthGuard(Parser& parser) : parser_(parser) {
            if (++parser_.depth_ > kMaxDepth) parser_.fail_too_deep();
        }
        ~DepthGuard() { parser_.depth_--; }
        DepthGuard(const DepthGuard&) = delete;
        DepthGuard& operator=(const DepthGuard&) = delete;

      private:
        Parser& parser_;
    };

    enum class TargetUse { Assign, Delete, For };

    // ---- tokens
    TokenKind kind() const { return tok_->kind; }
    bool at(TokenKind kind) const { return tok_->kind == kind; }
    bool next_is(TokenKind kind) const { return tok_->kind != TokenKind::EndOfFile && tok_[1].kind == kind; }
    std::string_view token_text(const Token& token) const {
        return text_.substr(token.span.begin, token.span.end - token.span.begin);
    }
    const Token& take() {
        const Token& token = *tok_;
        last_end_ = token.span.end;
        if (token.kind != TokenKind::EndOfFile) tok_++;
        return token;
    }
    bool accept(TokenKind kind) {
        if (!at(kind)) return false;
        take();
        return true;
    }
    void expect(TokenKind kind);         // else "invalid syntax"
    void expect_forced(TokenKind kind);  // else "expected '...'"
    NameId expect_name();
    NameId name_of(const Token& token);
    uint32_t begin() const { return tok_->span.begin; }
    Span since(uint32_t begin) const { return {begin, last_end_}; }
    bool starts_expression(const Token& token) const;

    // ---- nodes
    template <class Node>
    Node* make(Span span) {
        Node* node = arena_.make<Node>();
        node->kind = Node::kKind;
        node->span = span;
        return node;
    }
    Expr* make_constant(Span span, ConstantKind kind);
    Expr* make_int(Span span, int64_t value);
    Expr* make_text(Span span, std::string_view text, bool bytes);

    // ---- statements
    using Body = List<Stmt*>;
    void parse_statement(ListBuilder<Stmt*>& out);
    void parse_simple_statements(ListBuilder<Stmt*>& out);
    Stmt* parse_simple_statement();
    Stmt* parse_compound_statement();
    Stmt* parse_expression_statement();
    Stmt* parse_assignment(Expr* first, uint32_t begin);
    Stmt* parse_augmented(Expr* target, BinaryOperator op, uint32_t begin);
    Stmt* parse_annotated(Expr* target, uint32_t begin);
    Stmt* parse_return();
    Stmt* parse_raise();
    Stmt* parse_delete();
    Stmt* parse_assert();
    Stmt* parse_global();
    Stmt* parse_nonlocal();
    Stmt* parse_import();
    Stmt* parse_import_from();
    NameId parse_dotted_name();
    List<NameId> parse_name_list();
    Alias parse_alias(bool dotted);

    Stmt* parse_if();
    Stmt* parse_while();
    Stmt* parse_for();
    Stmt* parse_try();
    ExceptHandler parse_except();
    Stmt* parse_with();
    WithItem parse_with_item();
    bool parse_parenthesized_with_items(ListBuilder<WithItem>& items);
    Stmt* parse_function(List<Expr*> decorators, uint32_t begin);
    Stmt* parse_class(List<Expr*> decorators, uint32_t begin);
    Stmt* parse_decorated();
    Body parse_block(std::string_view owner, uint32_t owner_begin);
    Body parse_else_block();
    void expect_block_colon();
    bool is_match_statement() const;

    // ---- parameters
    Arguments* parse_parameters(TokenKind closer, bool lambda);
    Parameter parse_parameter(bool lambda, bool star);

    // ---- expressions
    Expr* parse_star_expressions();
    Expr* parse_star_expression();
    Expr* parse_star_named_expression();
    Expr* parse_named_expression();
    Expr* parse_expression();
    Expr* parse_operators(Precedence lowest);
    Expr* parse_disjunction() { return parse_operators(kOr); }
    Expr* parse_bool(Expr* left, uint32_t begin, BoolOperator op, TokenKind token, Precedence tighter);
    Expr* parse_comparison(Expr* left, uint32_t begin);
    Expr* parse_operand();
    Expr* parse_not();
    Expr* parse_power();
    Expr* parse_primary();
    Expr* parse_atom();
    Expr* parse_lambda();
    Expr* parse_yield();
    Expr* parse_yield_or_star_expressions();
    Expr* parse_int_token(bool negated);
    Expr* parse_group();
    Expr* parse_group_content(uint32_t begin);
    Expr* parse_list();
    Expr* parse_brace();
    Expr* parse_dict(uint32_t begin, Expr* first_key);
    Expr* parse_dict_value();
    Expr* parse_set(uint32_t begin, Expr* first);
    Expr* parse_call(Expr* callee, uint32_t begin);
    void parse_call_arguments(List<Expr*>& args, List<Keyword>& keywords);
    Keyword parse_keyword_argument(const List<Keyword>& before);
    Expr* parse_subscript(Expr* value, uint32_t begin);
    Expr* parse_slice();
    List<Comprehension> parse_comprehension_clauses();
    Expr* parse_target_list();

    // ---- strings
    Expr* parse_strings();
    struct StringBuilder;
    void parse_fstring_content(StringBuilder& builder, uint32_t& at, uint32_t end, bool raw, int level);
    void parse_replacement_field(StringBuilder& builder, uint32_t& at, uint32_t end, bool raw, int level);
    uint32_t find_field_expression_end(uint32_t at, uint32_t end);
    Expr* parse_embedded(uint32_t begin, uint32_t end);
    void decode_into(std::string& out, uint32_t begin, uint32_t end, bool raw, bool bytes, Span whole);

    // ---- targets
    static std::string_view expr_name(const Expr* expr);
    Expr* invalid_target(Expr* expr, TargetUse use) const;
    void check_target(Expr* expr, TargetUse use);
    void check_debug_name(Expr* expr, std::string_view verb);
    void check_assignable(Expr* expr);
    void check_stray_equals(Expr* left);

    // ---- errors
    [[noreturn]] void fail(Span span, std::string message, SyntaxErrorKind kind = SyntaxErrorKind::Syntax);
    [[noreturn]] void fail_here(std::string message) { fail(tok_->span, std::move(message)); }
    [[noreturn]] void unexpected();
    [[noreturn]] void fail_too_deep();
    // After the expression `last` something follows that cannot.
    [[noreturn]] void unexpected_after(Expr* last);
    [[noreturn]] void not_in_language(Span span, std::string_view what);
    uint32_t line_at(uint32_t offset) const;

    // Runs `body`; true if it parsed. The position is then after what it parsed, else where it was.
    template <class F>
    bool attempt(F&& body) {
        const Token* saved_token = tok_;
        uint32_t saved_end = last_end_;
        int saved_depth = depth_;
        int saved_brackets = brackets_;
        int saved_fstrings = fstrings_;
        bool saved_attempting = attempting_;
        attempting_ = true;
        bool ok = true;
        try {
            body();
        } catch (const SyntaxFailure&) {
            ok = false;
        }
        attempting_ = saved_attempting;
        if (!ok) {
            tok_ = saved_token;
            last_end_ = saved_end;
            depth_ = saved_depth;
            brackets_ = saved_brackets;
            fstrings_ = saved_fstrings;
        }
        return ok;
    }

    std::string_view text_;
    Arena& arena_;
    NameTable& names_;
    const Token* tok_;
    uint32_t last_end_ = 0;  // end of the last token taken
    int depth_ = 0;
    int brackets_ = 0;         // open brackets around the parser's position
    bool attempting_ = false;  // an error would be caught: do not look for a better message
    int fstrings_ = 0;         // f-strings around the parser's position
};

}  // namespace talc::lang
