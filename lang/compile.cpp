#include "lang/compile.hpp"

#include "lang/compiler_impl.hpp"
#include "lang/constant_fold.hpp"
#include "lang/lexer.hpp"
#include "lang/parser.hpp"

namespace talc::lang {

CompileResult compile(std::shared_ptr<const Source> source, CompileMode mode) {
    CompileResult result;
    Arena arena;
    NameTable names(arena);
    if (source->text().size() > INT32_MAX) {
        result.error = SyntaxError{"the source text is larger than 2 GB", {}, SyntaxErrorKind::Syntax, false};
        return result;
    }
    ParseResult parsed = mode == CompileMode::Expression ? parse_expression(source->text(), arena, names)
                                                         : parse_module(source->text(), arena, names);
    if (parsed.error) {
        result.error = std::move(parsed.error);
        return result;
    }
    ScopeTree tree;
    resolve_scopes(*parsed.module, names, tree);
    if (tree.error) {
        result.error = std::move(tree.error);
        return result;
    }
    fold_constants(*parsed.module, arena);
    try {
        result.code = Compiler(std::move(source), names, tree, mode).compile_module(*parsed.module);
    } catch (CompileFailure& failure) {
        result.error = std::move(failure.error);
    }
    return result;
}

namespace {

// Whether the text's last line is blank, or there is none.
bool ends_with_blank_line(std::string_view text) {
    size_t end = text.find_last_not_of(" \t\f\r\n");
    if (end == std::string_view::npos) return true;
    size_t newlines = 0;
    for (char c : text.substr(end + 1)) newlines += c == '\n' ? 1 : 0;
    return newlines >= 2;
}

// An indented line stands last: a blank line ends its block.
bool ends_inside_block(const LexResult& lexed) {
    size_t count = lexed.tokens.size();
    return count >= 2 && lexed.tokens[count - 2].kind == TokenKind::Dedent;
}

// The last statement is compound but written on one line (if x: y): it may go on with else.
bool ends_with_one_line_block(const Module& module, std::string_view text) {
    if (module.body.empty()) return false;
    const Stmt* last = module.body.back();
    switch (last->kind) {
        case StmtKind::If:
        case StmtKind::For:
        case StmtKind::While:
        case StmtKind::With:
        case StmtKind::Try:
        case StmtKind::FunctionDef:
        case StmtKind::ClassDef:
            return text.substr(last->span.begin).find_first_not_of("\r\n") != std::string_view::npos;
        default:
            return false;
    }
}

}  // namespace

InputState classify_input(std::string_view text) {
    Arena arena;
    NameTable names(arena);
    ParseResult parsed = parse_module(text, arena, names);
    if (parsed.error) return parsed.error->incomplete ? InputState::Incomplete : InputState::Invalid;
    if (ends_with_blank_line(text)) return InputState::Complete;
    bool open = ends_inside_block(tokenize(text)) || ends_with_one_line_block(*parsed.module, text);
    return open ? InputState::Incomplete : InputState::Complete;
}

DumpResult dump_source_tokens(const Source& source) {
    LexResult lexed = tokenize(source.text());
    DumpResult result;
    result.text = dump_tokens(source.text(), lexed.tokens);
    result.error = std::move(lexed.error);
    return result;
}

DumpResult dump_source_ast(const Source& source) {
    Arena arena;
    NameTable names(arena);
    ParseResult parsed = parse_module(source.text(), arena, names);
    DumpResult result;
    if (parsed.module != nullptr) result.text = dump_ast(*parsed.module, names);
    result.error = std::move(parsed.error);
    return result;
}

}  // namespace talc::lang
