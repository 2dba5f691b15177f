#pragma once
// The syntax tree. Nodes lie in an arena and are never destroyed one by one; ast.def lists them.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/span.hpp"
#include "lang/arena.hpp"
#include "lang/name_table.hpp"

namespace talc::lang {

struct Scope;

enum class ExprKind : uint8_t {
#define TALC_EXPR(kind, fields) kind,
#include "lang/ast.def"
};

enum class StmtKind : uint8_t {
#define TALC_STMT(kind, fields) kind,
#include "lang/ast.def"
};

enum class BinaryOperator : uint8_t {
#define TALC_BINARY(name, token, assign, precedence, text) name,
#include "lang/operators.def"
};

enum class CompareOperator : uint8_t {
#define TALC_COMPARE(name, text) name,
#include "lang/operators.def"
};

enum class UnaryOperator : uint8_t {
#define TALC_UNARY(name, text) name,
#include "lang/operators.def"
};

enum class BoolOperator : uint8_t { And, Or };
enum class Conversion : uint8_t { None, Str, Repr, Ascii };

struct Expr {
    ExprKind kind;
    bool parenthesized = false;  // written in parentheses of its own
    Span span;
};

struct Stmt {
    StmtKind kind;
    Span span;
};

enum class ConstantKind : uint8_t { None, True, False, Ellipsis, Int, Float, Str, Bytes, Tuple };

struct ConstantValue {
    ConstantKind kind = ConstantKind::None;
    union {
        int64_t integer = 0;
        double number;
    };
    std::string_view text;      // Str and Bytes
    List<ConstantValue> items;  // Tuple; only constant folding makes these
};

struct Parameter {
    NameId name{};
    Expr* annotation = nullptr;
    Expr* default_value = nullptr;
    Span span;
};

// In the order of their registers: positional-only, positional, keyword-only, *args, **kwargs.
struct Arguments {
    List<Parameter> parameters;
    uint32_t positional_only = 0;
    uint32_t positional = 0;  // including the positional-only ones
    uint32_t keyword_only = 0;
    bool has_varargs = false;
    bool has_varkw = false;
};

struct Keyword {
    NameId name = kNoName;  // kNoName: **value
    Expr* value = nullptr;
    Span span;
};

struct Comprehension {
    Expr* target = nullptr;
    Expr* iter = nullptr;
    List<Expr*> ifs;
};

struct IfClause {
    Expr* test = nullptr;
    List<Stmt*> body;
};

struct WithItem {
    Expr* context = nullptr;
    Expr* target = nullptr;
};

struct ExceptHandler {
    Expr* type = nullptr;
    NameId name = kNoName;
    List<Stmt*> body;
    Span span;
};

struct Alias {
    NameId name{};  // may be dotted; "*" in `from m import *`
    NameId asname = kNoName;
    Span span;
};

#define F(type, name) type name{};
#define TALC_EXPR(node, fields)                           \
    struct node##Expr : Expr {                            \
        static constexpr ExprKind kKind = ExprKind::node; \
        fields                                            \
    };
#include "lang/ast.def"
#define F(type, name) type name{};
#define TALC_STMT(node, fields)                           \
    struct node##Stmt : Stmt {                            \
        static constexpr StmtKind kKind = StmtKind::node; \
        fields                                            \
    };
#include "lang/ast.def"

struct Module {
    List<Stmt*> body;
    Span span;
};

template <class Node, class Base>
Node& as(Base* node) {
    return *static_cast<Node*>(node);
}
template <class Node>
Node* as_if(Expr* node) {
    return node != nullptr && node->kind == Node::kKind ? static_cast<Node*>(node) : nullptr;
}
template <class Node>
Node* as_if(Stmt* node) {
    return node != nullptr && node->kind == Node::kKind ? static_cast<Node*>(node) : nullptr;
}

std::string_view operator_text(BinaryOperator op);
std::string_view operator_text(CompareOperator op);
std::string_view operator_text(UnaryOperator op);

// The tree as indented text, for --dump=ast. With `positions`, each node is followed by its byte range.
std::string dump_ast(const Module& module, const NameTable& names, bool positions = false);

}  // namespace talc::lang
