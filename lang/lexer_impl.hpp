#pragma once
// The scanner's state; lexer.cpp scans layout and operators, lexer_literals.cpp numbers, names and strings.
#include <fmt/format.h>

#include "lang/characters.hpp"
#include "lang/lexer.hpp"

namespace talc::lang {

class Lexer {
  public:
    Lexer(std::string_view text, LexMode mode, uint32_t begin, uint32_t end)
        : text_(text), mode_(mode), pos_(begin), begin_(begin), end_(end) {}

    LexResult run();

  private:
    static constexpr size_t kMaxBrackets = 200;  // as CPython
    static constexpr size_t kMaxIndents = 100;   // as CPython

    struct Indentation {
        uint32_t column = 0;      // tabs reach the next multiple of 8
        uint32_t tab_is_one = 0;  // tabs count 1: both orders must agree
    };

    char peek(uint32_t ahead = 0) const { return pos_ + ahead < end_ ? text_[pos_ + ahead] : '\0'; }
    bool at_end() const { return pos_ >= end_; }
    void push(TokenKind kind, uint32_t begin) { result_.tokens.push_back({kind, {begin, pos_}}); }
    void take(TokenKind kind, uint32_t length) {
        uint32_t begin = pos_;
        pos_ += length;
        push(kind, begin);
    }
    uint32_t line_at(uint32_t offset) const;

    // Records the error; the Error token covers `span`. In tolerant mode scanning goes on.
    void fail(Span span, std::string message, SyntaxErrorKind kind = SyntaxErrorKind::Syntax,
              bool incomplete = false);

    void check_text();
    void scan_line_start();
    bool scan_line_join();
    void skip_newline();
    void scan_comment();
    void scan_newline();
    void apply_indentation(Indentation found, uint32_t line_begin);
    void scan_operator();
    void open_bracket(TokenKind kind);
    void close_bracket(TokenKind kind, char opener);
    void finish();

    void scan_name();
    void scan_beyond_ascii(uint32_t begin);
    bool scan_string_prefix(uint32_t begin);
    void scan_string(TokenKind kind, uint32_t begin);
    void scan_number();
    bool scan_radix(uint32_t begin, int radix_bits, std::string_view name);
    bool scan_decimal_digits(uint32_t begin);
    bool scan_fraction_and_exponent(uint32_t begin, bool& is_float);
    bool check_number_end(uint32_t begin, std::string_view name);
    bool bad_number(uint32_t begin, std::string message);

    std::string_view text_;
    LexMode mode_;
    uint32_t pos_;
    uint32_t begin_;
    uint32_t end_;
    bool stopped_ = false;
    bool at_line_start_ = false;
    std::vector<Indentation> indents_{Indentation{}};
    std::vector<OpenBracket> brackets_;
    LexResult result_;
};

}  // namespace talc::lang
