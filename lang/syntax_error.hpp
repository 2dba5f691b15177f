#pragma once
// What the front end reports about a text that is not a program.
#include <cstdint>
#include <string>

#include "base/span.hpp"

namespace talc::lang {

// The Python class of the error; the last two are subclasses of SyntaxError.
enum class SyntaxErrorKind : uint8_t { Syntax, Indentation, Tab };

struct SyntaxError {
    std::string message;
    Span span;
    SyntaxErrorKind kind = SyntaxErrorKind::Syntax;
    // The text ends too early: more input could make it a program. A REPL then asks for another line.
    bool incomplete = false;
};

}  // namespace talc::lang
