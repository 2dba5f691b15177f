#pragma once
// Text -> tokens, with indentation, line joining and everything else that Python's tokenizer does.
#include <optional>
#include <string_view>
#include <vector>

#include "lang/syntax_error.hpp"
#include "lang/token.hpp"

namespace talc::lang {

enum class LexMode : uint8_t {
    Program,    // stops at the first error; no comments
    Bracketed,  // as inside brackets: newlines are space (the expressions of f-strings)
    Tolerant,   // for editors: comments are tokens, errors are Error tokens and scanning goes on
};

struct OpenBracket {
    char opener = 0;
    Span span;
};

struct LexResult {
    std::vector<Token> tokens;         // ends with EndOfFile
    std::optional<SyntaxError> error;  // the first one
    // The innermost bracket that was still open at the end of the text.
    std::optional<OpenBracket> unclosed;
};

// The tokens of text[begin, end); spans are offsets into `text`. Never throws but for lack of memory.
LexResult tokenize(std::string_view text, LexMode mode, uint32_t begin, uint32_t end);
inline LexResult tokenize(std::string_view text, LexMode mode = LexMode::Program) {
    return tokenize(text, mode, 0, static_cast<uint32_t>(text.size()));
}

// One line a token: line:column, kind and text, as `--dump=tokens` shows them.
std::string dump_tokens(std::string_view text, const std::vector<Token>& tokens);

}  // namespace talc::lang
