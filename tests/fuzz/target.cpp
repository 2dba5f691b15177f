#include "tests/fuzz/target.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "lang/lexer.hpp"
#include "lang/parser.hpp"
#include "talc/talc.hpp"

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

Outcome run_program(std::string_view text, Effort effort) {
    if (text.size() % 4 == 0) check_tokens(text);
    if (!parses(text)) return Outcome::Refused;
    talc::Options options;
    bool little = effort == Effort::Little;
    options.limits.instructions = little ? 20'000 : 2'000'000;
    options.limits.seconds = 5;
    options.limits.memory = size_t{little ? 8u : 128u} << 20;
    options.limits.recursion = little ? 100 : 1000;
    options.out = [](std::string_view) {};
    options.err = [](std::string_view) {};
    options.read_line = [](std::string&) { return false; };
    options.may_import = [](std::string_view module) { return module != "os" && module != "time"; };
    options.may_open = [](const std::string&, bool) { return false; };
    options.stress_collector = little && text.size() % 32 == 0;
    options.verify_code = true;
    talc::Engine engine(std::move(options));
    talc::Result result = engine.run_string(text, "fuzz.tc");
    switch (result.outcome) {
        case talc::Outcome::Ok:
        case talc::Outcome::Exit: return Outcome::Finished;
        case talc::Outcome::SyntaxError: return Outcome::Refused;  // by the scopes or the compiler
        default: break;
    }
    require(!result.report.empty(), "an error without a report");
    bool stopped = result.report.find("LimitExceeded") != std::string::npos ||
                   result.report.find("MemoryError") != std::string::npos;
    return stopped ? Outcome::Stopped : Outcome::Raised;
}

}  // namespace talc::fuzz
