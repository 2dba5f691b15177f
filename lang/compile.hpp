#pragma once
// The front end in one call: text -> tokens -> tree -> scopes -> bytecode.
#include <memory>
#include <optional>

#include "base/source.hpp"
#include "lang/code.hpp"
#include "lang/syntax_error.hpp"

namespace talc::lang {

enum class CompileMode {
    Module,
    Interactive,  // as a module, but the value of each top-level expression statement goes to PRINT_EXPR
    Expression,   // one expression; the code returns its value
};

struct CompileResult {
    std::shared_ptr<const Code> code;   // null when there is an error
    std::optional<SyntaxError> error;
};

CompileResult compile(std::shared_ptr<const Source> source, CompileMode mode = CompileMode::Module);

}  // namespace talc::lang
