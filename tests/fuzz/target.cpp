#include "tests/fuzz/target.hpp"

#include <algorithm>
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

talc::Options engine_options(std::string_view text, Effort effort) {
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
    return options;
}

Outcome run(talc::Engine& engine, std::string_view text) {
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

// The end of the first top-level statement, roughly: where the next line begins that starts one.
size_t end_of_statement(std::string_view text) {
    for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
        std::string_view rest = text.substr(at + 1);
        if (rest.empty()) break;
        bool continues = rest[0] == ' ' || rest[0] == '\n' || rest[0] == '\t' || rest[0] == ')' || rest[0] == ']' ||
                         rest[0] == '}' || rest.starts_with("else") || rest.starts_with("elif") ||
                         rest.starts_with("except") || rest.starts_with("finally");
        if (!continues && text[0] != '@') return at + 1;
        if (!continues && rest[0] != '@' && !rest.starts_with("def") && !rest.starts_with("class")) return at + 1;
    }
    return text.size();
}

// Statement by statement in one engine, as at a prompt: what one of them breaks does not end the others.
Outcome run_statements(std::string_view text) {
    talc::Engine engine(engine_options(text, Effort::Little));
    Outcome last = Outcome::Refused;
    for (int count = 0; !text.empty() && count < 40; count++) {
        size_t end = end_of_statement(text);
        last = std::max(last, run(engine, text.substr(0, end)));
        text.remove_prefix(end);
    }
    return last;
}

}  // namespace

Outcome run_program(std::string_view text, Effort effort) {
    if (text.size() % 4 == 0) check_tokens(text);
    bool whole = parses(text);
    if (effort == Effort::Little && (!whole || text.size() % 2 == 0)) return run_statements(text);
    if (!whole) return Outcome::Refused;
    talc::Engine engine(engine_options(text, effort));
    return run(engine, text);
}

}  // namespace talc::fuzz
