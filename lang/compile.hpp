#pragma once
// Source -> code: the one entry of the front end for the rest of the program.
#include <memory>
#include <optional>

#include "base/source.hpp"
#include "lang/code.hpp"
#include "lang/syntax_error.hpp"

namespace talc::lang {

enum class CompileMode : uint8_t {
    Module,       // a file
    Interactive,  // what was typed at a prompt: values of expression statements go to PRINT_EXPR
    Expression,   // one expression; the code returns its value
};

struct CompileResult {
    std::shared_ptr<const Code> code;  // null when there is an error
    std::optional<SyntaxError> error;
};

CompileResult compile(std::shared_ptr<const Source> source, CompileMode mode = CompileMode::Module);

// What a prompt does with the text typed so far.
enum class InputState : uint8_t {
    Complete,
    Incomplete,  // an open bracket, string or block: ask for another line
    Invalid,     // compiling it gives the error
};
InputState classify_input(std::string_view text);

// `--dump=tokens` and `--dump=ast`; the error when the text is no program.
struct DumpResult {
    std::string text;
    std::optional<SyntaxError> error;
};
DumpResult dump_source_tokens(const Source& source);
DumpResult dump_source_ast(const Source& source);

}  // namespace talc::lang
