// Names, numbers and strings.
#include "lang/lexer_impl.hpp"

namespace talc::lang {

void Lexer::scan_name() {
    uint32_t begin = pos_;
    while (has_class(peek(), kIdentifierStart | kDigit)) pos_++;
    if (!is_ascii(peek())) return scan_beyond_ascii(begin);
    char next = peek();
    if ((next == '"' || next == '\'') && scan_string_prefix(begin)) return;
    push(keyword_or_name(text_.substr(begin, pos_ - begin)), begin);
}

// A name with a letter beyond ASCII at pos_.
void Lexer::scan_beyond_ascii(uint32_t begin) {
    while (!at_end()) {
        if (has_class(peek(), kIdentifierStart | kDigit)) {
            pos_++;
            continue;
        }
        if (is_ascii(peek())) break;
        DecodedCharacter c = decode_utf8(text_, pos_);
        if (c.length == 0 || pos_ + c.length > end_) {
            return fail({pos_, pos_ + 1},
                        fmt::format("(unicode error) 'utf-8' codec can't decode byte 0x{:02x} in position {}",
                                    static_cast<unsigned char>(peek()), pos_));
        }
        bool allowed =
            pos_ == begin ? may_start_identifier(c.code_point) : may_continue_identifier(c.code_point);
        if (!allowed) {
            Span span{pos_, pos_ + c.length};
            std::string message = is_printable(c.code_point)
                                      ? fmt::format("invalid character '{}' (U+{:04X})",
                                                    text_.substr(pos_, c.length), c.code_point)
                                      : fmt::format("invalid non-printable character U+{:04X}", c.code_point);
            if (mode_ == LexMode::Tolerant && pos_ > begin) push(TokenKind::Name, begin);
            return fail(span, std::move(message));
        }
        pos_ += c.length;
    }
    push(TokenKind::Name, begin);
}

// The name just scanned stands before a quote: a prefix (r, b, u, f, br, fr in any order and case)?
bool Lexer::scan_string_prefix(uint32_t begin) {
    std::string_view prefix = text_.substr(begin, pos_ - begin);
    if (prefix.size() > 2) return false;
    int raw = 0, bytes = 0, unicode = 0, formatted = 0;
    for (char c : prefix) {
        switch (c | 0x20) {
            case 'r':
                raw++;
                break;
            case 'b':
                bytes++;
                break;
            case 'u':
                unicode++;
                break;
            case 'f':
                formatted++;
                break;
            default:
                return false;
        }
    }
    if (raw > 1 || bytes + unicode + formatted > 1 || (unicode != 0 && raw != 0)) return false;
    TokenKind kind = bytes != 0 ? TokenKind::Bytes : formatted != 0 ? TokenKind::FString : TokenKind::String;
    scan_string(kind, begin);
    return true;
}

// pos_ is at the opening quote; `begin` at the prefix.
void Lexer::scan_string(TokenKind kind, uint32_t begin) {
    char quote = peek();
    bool triple = peek(1) == quote && peek(2) == quote;
    uint32_t opening = pos_;
    pos_ += triple ? 3 : 1;
    while (true) {
        if (at_end()) {
            // The last line that holds anything is where the end was noticed.
            uint32_t last = end_ > begin && text_[end_ - 1] == '\n' ? end_ - 1 : end_;
            uint32_t extent = mode_ == LexMode::Tolerant ? end_ : opening + (triple ? 3 : 1);
            std::string message = fmt::format("unterminated {}string literal (detected at line {})",
                                              triple ? "triple-quoted " : "", line_at(last));
            return fail({begin, extent}, std::move(message), SyntaxErrorKind::Syntax, triple);
        }
        char c = text_[pos_];
        if (c == '\\') {
            if (peek(1) == '\r' && peek(2) == '\n') pos_++;
            pos_ += 2;
            if (pos_ > end_) pos_ = end_;
        } else if (c == quote) {
            if (!triple) {
                pos_++;
                break;
            }
            if (peek(1) == quote && peek(2) == quote) {
                pos_ += 3;
                break;
            }
            pos_++;
        } else if (!triple && (c == '\n' || c == '\r')) {
            std::string message =
                fmt::format("unterminated string literal (detected at line {})", line_at(pos_));
            uint32_t extent = mode_ == LexMode::Tolerant ? pos_ : opening + 1;
            return fail({begin, extent}, std::move(message));
        } else {
            pos_++;
        }
    }
    push(kind, begin);
}

bool Lexer::bad_number(uint32_t begin, std::string message) {
    uint32_t end = pos_;
    while (end < end_ && has_class(text_[end], kIdentifierStart | kDigit)) end++;
    fail({begin, end}, std::move(message));
    return false;
}

// A number may be followed by a keyword (1if x else 2), not by any other letter.
bool Lexer::check_number_end(uint32_t begin, std::string_view name) {
    std::string_view rest = text_.substr(pos_, end_ - pos_);
    for (std::string_view word : {"and", "else", "for", "if", "in", "is", "or", "not"}) {
        if (rest.substr(0, word.size()) == word) return true;
    }
    char c = peek();
    if (has_class(c, kIdentifierStart | kDigit) || !is_ascii(c)) {
        return bad_number(begin, fmt::format("invalid {} literal", name));
    }
    return true;
}

// After 0x, 0o or 0b.
bool Lexer::scan_radix(uint32_t begin, int radix_bits, std::string_view name) {
    auto valid = [&](char c) {
        return radix_bits == 4 ? is_hex_digit(c) : c >= '0' && c < '0' + (1 << radix_bits);
    };
    auto wrong = [&] {
        if (is_digit(peek()))
            return bad_number(begin, fmt::format("invalid digit '{}' in {} literal", peek(), name));
        return bad_number(begin, fmt::format("invalid {} literal", name));
    };
    do {
        if (peek() == '_') pos_++;
        if (!valid(peek())) return wrong();
        while (valid(peek())) pos_++;
    } while (peek() == '_');
    if (is_digit(peek())) return wrong();
    return check_number_end(begin, name);
}

// Digits with single underscores between them.
bool Lexer::scan_decimal_digits(uint32_t begin) {
    while (true) {
        while (is_digit(peek())) pos_++;
        if (peek() != '_') return true;
        pos_++;
        if (!is_digit(peek())) return bad_number(begin, "invalid decimal literal");
    }
}

bool Lexer::scan_fraction_and_exponent(uint32_t begin, bool& is_float) {
    if (peek() == '.') {
        is_float = true;
        pos_++;
        if (is_digit(peek()) && !scan_decimal_digits(begin)) return false;
    }
    if ((peek() | 0x20) == 'e') {
        uint32_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
        if (is_digit(peek(1 + sign))) {
            is_float = true;
            pos_ += 1 + sign;
            if (!scan_decimal_digits(begin)) return false;
        } else if (sign != 0) {
            pos_ += 2;
            return bad_number(begin, "invalid decimal literal");
        }
    }
    return true;
}

void Lexer::scan_number() {
    uint32_t begin = pos_;
    if (peek() == '0' && ((peek(1) | 0x20) == 'x' || (peek(1) | 0x20) == 'o' || (peek(1) | 0x20) == 'b')) {
        char radix = static_cast<char>(peek(1) | 0x20);
        pos_ += 2;
        bool ok = radix == 'x'   ? scan_radix(begin, 4, "hexadecimal")
                  : radix == 'o' ? scan_radix(begin, 3, "octal")
                                 : scan_radix(begin, 1, "binary");
        if (ok) push(TokenKind::Int, begin);
        return;
    }
    bool leading_zero = peek() == '0';
    if (peek() != '.' && !scan_decimal_digits(begin)) return;
    std::string_view digits = text_.substr(begin, pos_ - begin);
    bool is_float = false;
    if (!scan_fraction_and_exponent(begin, is_float)) return;
    if ((peek() | 0x20) == 'j') {
        pos_++;
        return fail({begin, pos_}, "complex literals are not in the language");
    }
    if (!is_float && leading_zero && digits.find_first_not_of("0_") != std::string_view::npos) {
        bad_number(begin,
                   "leading zeros in decimal integer literals are not permitted; "
                   "use an 0o prefix for octal integers");
        return;
    }
    if (check_number_end(begin, "decimal")) push(is_float ? TokenKind::Float : TokenKind::Int, begin);
}

}  // namespace talc::lang
