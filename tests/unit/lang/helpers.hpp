#pragma once
// Short ways to the front end for its tests.
#include <memory>
#include <string>
#include <string_view>

#include "lang/compile.hpp"
#include "lang/disassembler.hpp"
#include "lang/lexer.hpp"
#include "lang/parser.hpp"
#include "lang/verifier.hpp"
#include "tests/unit/catch.hpp"

namespace talc::lang::testing {

inline std::string kinds(std::string_view text, LexMode mode = LexMode::Program) {
    std::string out;
    for (const Token& token : tokenize(text, mode).tokens) {
        if (!out.empty()) out += ' ';
        out += token_kind_name(token.kind);
    }
    return out;
}

inline std::string lex_error(std::string_view text) {
    LexResult result = tokenize(text);
    return result.error ? result.error->message : "";
}

inline std::string syntax_tree(std::string_view text) {
    Arena arena;
    NameTable names(arena);
    ParseResult result = parse_module(text, arena, names);
    return result.error ? "error: " + result.error->message : dump_ast(*result.module, names);
}

inline std::shared_ptr<const Source> source_of(std::string_view text) {
    return std::make_shared<Source>("test.tc", std::string(text));
}

// The compiled module, verified.
inline std::shared_ptr<const Code> code_of(std::string_view text, CompileMode mode = CompileMode::Module) {
    CompileResult result = compile(source_of(text), mode);
    if (result.error) FAIL(result.error->message);
    std::string defect = verify(*result.code);
    if (!defect.empty()) FAIL(defect);
    return result.code;
}

// "IndentationError: unexpected indent", or "" for a program.
inline std::string error_of(std::string_view text, CompileMode mode = CompileMode::Module) {
    CompileResult result = compile(source_of(text), mode);
    if (!result.error) return "";
    constexpr const char* kKinds[] = {"SyntaxError", "IndentationError", "TabError"};
    return std::string(kKinds[static_cast<int>(result.error->kind)]) + ": " + result.error->message;
}

// The instructions of the first function in `text`, one a line.
inline std::string function_text(std::string_view text) {
    auto code = code_of(text);
    REQUIRE(!code->codes.empty());
    std::string out;
    for (uint32_t i = 0; i < code->codes[0]->instrs.size(); i++) {
        std::string line = disassemble_instruction(*code->codes[0], i);
        // one blank between words
        std::string squeezed;
        for (char c : line) {
            if (c != ' ' || squeezed.empty() || squeezed.back() != ' ') squeezed += c;
        }
        out += squeezed + "\n";
    }
    return out;
}

}  // namespace talc::lang::testing
