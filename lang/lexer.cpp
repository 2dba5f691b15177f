#include "lang/lexer.hpp"

#include <algorithm>
#include <cstring>

#include "lang/lexer_impl.hpp"

namespace talc::lang {

uint32_t Lexer::line_at(uint32_t offset) const {
    std::string_view before = text_.substr(0, std::min<size_t>(offset, text_.size()));
    return 1 + static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n'));
}

void Lexer::fail(Span span, std::string message, SyntaxErrorKind kind, bool incomplete) {
    if (!result_.error) result_.error = SyntaxError{std::move(message), span, kind, incomplete};
    if (mode_ == LexMode::Tolerant) {
        result_.tokens.push_back({TokenKind::Error, span});
        pos_ = std::max(pos_, span.end);
    } else {
        result_.tokens.push_back({TokenKind::Error, span});
        stopped_ = true;
    }
}

void Lexer::check_text() {
    if (mode_ == LexMode::Bracketed) return;  // part of a text that has been checked
    std::string_view part = text_.substr(begin_, end_ - begin_);
    if (const void* nul = std::memchr(part.data(), 0, part.size())) {
        auto at = begin_ + static_cast<uint32_t>(static_cast<const char*>(nul) - part.data());
        return fail({at, at + 1}, "source code cannot contain null bytes");
    }
    for (uint32_t i = begin_; i < end_;) {
        uint64_t eight = 0;
        if (i + 8 <= end_) {
            std::memcpy(&eight, text_.data() + i, 8);
            if ((eight & 0x8080808080808080u) == 0) {
                i += 8;
                continue;
            }
        }
        DecodedCharacter c = decode_utf8(text_, i);
        if (c.length == 0) {
            return fail({i, i + 1},
                        fmt::format("(unicode error) 'utf-8' codec can't decode byte 0x{:02x} in position {}",
                                    static_cast<unsigned char>(text_[i]), i));
        }
        i += c.length;
    }
}

LexResult Lexer::run() {
    result_.tokens.reserve((end_ - begin_) / 4 + 8);
    if (begin_ == 0 && text_.substr(0, 3) == "\xEF\xBB\xBF") pos_ = 3;
    if (mode_ != LexMode::Tolerant && end_ > begin_) check_text();
    at_line_start_ = mode_ != LexMode::Bracketed;
    while (!stopped_) {
        if (at_line_start_) {
            at_line_start_ = false;
            scan_line_start();
            if (stopped_) break;
        }
        while (peek() == ' ' || peek() == '\t' || peek() == '\f') pos_++;
        if (at_end()) break;
        char c = peek();
        if (has_class(c, kIdentifierStart)) {
            scan_name();
        } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
            scan_number();
        } else if (!is_ascii(c)) {
            scan_beyond_ascii(pos_);
        } else if (c == '\n' || c == '\r') {
            scan_newline();
        } else if (c == '#') {
            scan_comment();
        } else if (c == '"' || c == '\'') {
            scan_string(TokenKind::String, pos_);
        } else if (c == '\\') {
            scan_line_join();
        } else {
            scan_operator();
        }
    }
    finish();
    return std::move(result_);
}

void Lexer::finish() {
    if (!brackets_.empty()) result_.unclosed = brackets_.back();
    uint32_t end = stopped_ ? std::min(pos_, end_) : end_;
    Span at_end{end, end};
    if (mode_ != LexMode::Bracketed) {
        bool line_open = !result_.tokens.empty() && result_.tokens.back().kind != TokenKind::Newline &&
                         result_.tokens.back().kind != TokenKind::Dedent;
        if (line_open && !stopped_ && brackets_.empty())
            result_.tokens.push_back({TokenKind::Newline, at_end});
        for (size_t i = 1; i < indents_.size(); i++) result_.tokens.push_back({TokenKind::Dedent, at_end});
    }
    result_.tokens.push_back({TokenKind::EndOfFile, at_end});
}

void Lexer::skip_newline() { pos_ += peek() == '\r' && peek(1) == '\n' ? 2 : 1; }

void Lexer::scan_comment() {
    uint32_t begin = pos_;
    while (!at_end() && peek() != '\n' && peek() != '\r') pos_++;
    if (mode_ == LexMode::Tolerant) push(TokenKind::Comment, begin);
}

void Lexer::scan_newline() {
    uint32_t begin = pos_;
    skip_newline();
    if (!brackets_.empty() || mode_ == LexMode::Bracketed) return;
    push(TokenKind::Newline, begin);
    at_line_start_ = true;
}

// A backslash at the end of a line: the next line continues this one.
bool Lexer::scan_line_join() {
    uint32_t begin = pos_++;
    if (peek() != '\n' && peek() != '\r') {
        if (at_end()) {
            fail({begin, pos_}, "unexpected EOF while parsing", SyntaxErrorKind::Syntax, true);
        } else {
            fail({begin, pos_ + 1}, "unexpected character after line continuation character");
        }
        return false;
    }
    skip_newline();
    if (at_end() && mode_ != LexMode::Tolerant) {
        fail({begin, begin + 1}, "unexpected EOF while parsing", SyntaxErrorKind::Syntax, true);
        return false;
    }
    return true;
}

// Measures the indentation of the next line that holds anything, passing over blank and comment lines.
void Lexer::scan_line_start() {
    while (true) {
        uint32_t line_begin = pos_;
        Indentation found;
        bool joined = false;
        Indentation before_join;
        for (;; pos_++) {
            char c = peek();
            if (c == ' ') {
                found.column++;
                found.tab_is_one++;
            } else if (c == '\t') {
                found.column = (found.column / 8 + 1) * 8;
                found.tab_is_one++;
            } else if (c == '\f') {
                found = {};
            } else if (c == '\\') {
                // The first line's indentation counts.
                if (!joined) before_join = found;
                joined = true;
                if (!scan_line_join()) return;
                pos_--;
            } else {
                break;
            }
        }
        if (joined && before_join.column != 0) found = before_join;
        if (at_end()) return;
        char c = peek();
        if (c == '#') {
            scan_comment();
            c = peek();
            if (at_end()) return;
        }
        if (c == '\n' || c == '\r') {
            skip_newline();
            continue;
        }
        apply_indentation(found, line_begin);
        return;
    }
}

void Lexer::apply_indentation(Indentation found, uint32_t line_begin) {
    constexpr const char* kTabs = "inconsistent use of tabs and spaces in indentation";
    Span whole{line_begin, pos_};
    if (found.column > indents_.back().column) {
        if (indents_.size() >= kMaxIndents) {
            return fail(whole, "too many levels of indentation", SyntaxErrorKind::Indentation);
        }
        if (found.tab_is_one <= indents_.back().tab_is_one) return fail(whole, kTabs, SyntaxErrorKind::Tab);
        indents_.push_back(found);
        push(TokenKind::Indent, line_begin);
        return;
    }
    while (found.column < indents_.back().column) {
        indents_.pop_back();
        result_.tokens.push_back({TokenKind::Dedent, {pos_, pos_}});
    }
    if (found.column != indents_.back().column) {
        return fail(whole, "unindent does not match any outer indentation level",
                    SyntaxErrorKind::Indentation);
    }
    if (found.tab_is_one != indents_.back().tab_is_one) fail(whole, kTabs, SyntaxErrorKind::Tab);
}

void Lexer::open_bracket(TokenKind kind) {
    if (brackets_.size() >= kMaxBrackets) return fail({pos_, pos_ + 1}, "too many nested parentheses");
    brackets_.push_back({peek(), {pos_, pos_ + 1}});
    take(kind, 1);
}

void Lexer::close_bracket(TokenKind kind, char opener) {
    Span span{pos_, pos_ + 1};
    char closer = peek();
    if (brackets_.empty()) {
        fail(span, fmt::format("unmatched '{}'", closer));
    } else if (brackets_.back().opener != opener) {
        OpenBracket open = brackets_.back();
        uint32_t open_line = line_at(open.span.begin);
        std::string where = open_line == line_at(pos_) ? "" : fmt::format(" on line {}", open_line);
        fail(span, fmt::format("closing parenthesis '{}' does not match opening parenthesis '{}'{}", closer,
                               open.opener, where));
        if (mode_ == LexMode::Tolerant) brackets_.pop_back();
    } else {
        brackets_.pop_back();
        take(kind, 1);
    }
}

void Lexer::scan_operator() {
    using K = TokenKind;
    // c, c=, cc and cc=: the four forms an operator may have.
    auto family = [&](char c, K one, K with_equal, K two, K two_with_equal) {
        if (peek(1) == c) return peek(2) == '=' ? take(two_with_equal, 3) : take(two, 2);
        peek(1) == '=' ? take(with_equal, 2) : take(one, 1);
    };
    auto simple = [&](K one, K with_equal) { peek(1) == '=' ? take(with_equal, 2) : take(one, 1); };
    switch (peek()) {
        case '(':
            return open_bracket(K::LParen);
        case '[':
            return open_bracket(K::LBracket);
        case '{':
            return open_bracket(K::LBrace);
        case ')':
            return close_bracket(K::RParen, '(');
        case ']':
            return close_bracket(K::RBracket, '[');
        case '}':
            return close_bracket(K::RBrace, '{');
        case ',':
            return take(K::Comma, 1);
        case ';':
            return take(K::Semicolon, 1);
        case '~':
            return take(K::Tilde, 1);
        case ':':
            return simple(K::Colon, K::ColonEqual);
        case '=':
            return simple(K::Equal, K::EqualEqual);
        case '+':
            return simple(K::Plus, K::PlusEqual);
        case '%':
            return simple(K::Percent, K::PercentEqual);
        case '@':
            return simple(K::At, K::AtEqual);
        case '&':
            return simple(K::Ampersand, K::AmpersandEqual);
        case '|':
            return simple(K::Pipe, K::PipeEqual);
        case '^':
            return simple(K::Caret, K::CaretEqual);
        case '*':
            return family('*', K::Star, K::StarEqual, K::DoubleStar, K::DoubleStarEqual);
        case '/':
            return family('/', K::Slash, K::SlashEqual, K::DoubleSlash, K::DoubleSlashEqual);
        case '<':
            return family('<', K::Less, K::LessEqual, K::LeftShift, K::LeftShiftEqual);
        case '>':
            return family('>', K::Greater, K::GreaterEqual, K::RightShift, K::RightShiftEqual);
        case '-':
            if (peek(1) == '>') return take(K::Arrow, 2);
            return simple(K::Minus, K::MinusEqual);
        case '.':
            if (peek(1) == '.' && peek(2) == '.') return take(K::Ellipsis, 3);
            return take(K::Dot, 1);
        case '!':
            if (peek(1) == '=') return take(K::NotEqual, 2);
            return take(K::Unknown, 1);
        default:
            break;
    }
    auto c = static_cast<unsigned char>(peek());
    if (c < ' ' || c == 0x7F)
        return fail({pos_, pos_ + 1}, fmt::format("invalid non-printable character U+{:04X}", c));
    take(K::Unknown, 1);
}

LexResult tokenize(std::string_view text, LexMode mode, uint32_t begin, uint32_t end) {
    return Lexer(text, mode, begin, end).run();
}

std::string dump_tokens(std::string_view text, const std::vector<Token>& tokens) {
    std::string out;
    uint32_t line = 1;
    uint32_t line_begin = 0;
    uint32_t seen = 0;
    for (const Token& token : tokens) {
        for (; seen < token.span.begin; seen++) {
            if (text[seen] != '\n') continue;
            line++;
            line_begin = seen + 1;
        }
        std::string shown;
        for (char c : text.substr(token.span.begin, token.span.end - token.span.begin)) {
            if (c == '\n') {
                shown += "\\n";
            } else if (c == '\r') {
                shown += "\\r";
            } else {
                shown += c;
            }
        }
        fmt::format_to(std::back_inserter(out), "{}:{} {}", line, token.span.begin - line_begin + 1,
                       token_kind_name(token.kind));
        if (!shown.empty() && token_category(token.kind) != TokenCategory::Layout) out += " " + shown;
        out += '\n';
    }
    return out;
}

}  // namespace talc::lang
