#pragma once
// Tokens -> syntax tree.
#include <optional>
#include <string_view>

#include "lang/ast.hpp"
#include "lang/syntax_error.hpp"

namespace talc::lang {

struct ParseResult {
    Module* module = nullptr;  // null when there is an error
    std::optional<SyntaxError> error;
};

// A whole text: statements.
ParseResult parse_module(std::string_view text, Arena& arena, NameTable& names);
// One expression: a module whose only statement is that expression.
ParseResult parse_expression(std::string_view text, Arena& arena, NameTable& names);

}  // namespace talc::lang
