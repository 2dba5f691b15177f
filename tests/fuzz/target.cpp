#include "tests/fuzz/target.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "lang/lexer.hpp"
#include "lang/parser.hpp"

namespace talc::fuzz {

namespace {

void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "fuzz: %s\n", what);
    std::abort();
}

// What an editor asks of the lexer must hold for any text: tokens in order, inside it, and an end.
void check_tokens(std::string_view text) {
    lang::LexResult result = lang::tokenize(text, lang::LexMode::Tolerant);
    require(!result.tokens.empty() && result.tokens.back().kind == lang::TokenKind::EndOfFile, "no end of file token");
    uint32_t last = 0;
    for (const lang::Token& token : result.tokens) {
        require(token.span.begin <= token.span.end && token.span.end <= text.size(), "a token outside the text");
        if (token.kind == lang::TokenKind::Error) continue;  // may point back, at a bracket that was never closed
        require(token.span.begin >= last, "tokens out of order");
        last = token.span.begin;
    }
}

bool parses(std::string_view text) {
    lang::Arena arena;
    lang::NameTable names(arena);
    lang::ParseResult result = lang::parse_module(text, arena, names);
    if (result.module) {
        if (text.size() % 16 == 0) lang::dump_ast(*result.module, names, true);
        return true;
    }
    require(result.error.has_value(), "neither a module nor an error");
    require(!result.error->message.empty(), "an error without words");
    require(result.error->span.begin <= text.size() && result.error->span.end <= text.size(), "an error outside the text");
    return false;
}

}  // namespace

Outcome run_program(std::string_view text) {
    if (text.size() % 4 == 0) check_tokens(text);
    if (!parses(text)) return Outcome::Refused;
    return Outcome::Finished;
}

}  // namespace talc::fuzz
