#pragma once
// Tokens: a kind and a span each; the text stays in the source.
#include <cstdint>
#include <string_view>

#include "base/span.hpp"

namespace talc::lang {

enum class TokenKind : uint8_t {
#define TALC_TOKEN(kind, description, category) kind,
#include "lang/tokens.def"
};

// What an editor colours alike.
enum class TokenCategory : uint8_t { Layout, Comment, Error, Name, Number, String, Operator, Keyword };

struct Token {
    TokenKind kind = TokenKind::EndOfFile;
    Span span;
};

// The kind's own name in tokens.def, for dumps ("LParen").
std::string_view token_kind_name(TokenKind kind);
// The fixed text of punctuation and keywords, else words for the kind ("newline").
std::string_view token_description(TokenKind kind);
TokenCategory token_category(TokenKind kind);

inline bool is_keyword(TokenKind kind) { return kind >= TokenKind::False; }

// The keyword spelled `text`, or Name.
TokenKind keyword_or_name(std::string_view text);

}  // namespace talc::lang
