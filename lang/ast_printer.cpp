// The syntax tree as text. The fields of each node come from ast.def, so a new node prints itself.
#include <fmt/format.h>

#include "lang/ast.hpp"
#include "lang/number_text.hpp"

namespace talc::lang {

namespace {

constexpr std::string_view kBinaryNames[] = {
#define TALC_BINARY(name, token, assign, precedence, text) #name,
#include "lang/operators.def"
};
constexpr std::string_view kBinaryTexts[] = {
#define TALC_BINARY(name, token, assign, precedence, text) text,
#include "lang/operators.def"
};
constexpr std::string_view kCompareNames[] = {
#define TALC_COMPARE(name, text) #name,
#include "lang/operators.def"
};
constexpr std::string_view kCompareTexts[] = {
#define TALC_COMPARE(name, text) text,
#include "lang/operators.def"
};
constexpr std::string_view kUnaryNames[] = {
#define TALC_UNARY(name, text) #name,
#include "lang/operators.def"
};
constexpr std::string_view kUnaryTexts[] = {
#define TALC_UNARY(name, text) text,
#include "lang/operators.def"
};

class Printer {
  public:
    Printer(const NameTable& names, bool positions) : names_(names), positions_(positions) {}

    std::string take() { return std::move(out_); }

    void print_module(const Module& module) {
        line("Module");
        depth_++;
        for (Stmt* stmt : module.body) print(stmt);
    }

  private:
    // Deeper trees than this are long chains (a.b.c...); their text would grow with the square of their
    // length.
    static constexpr int kMaxDepth = 400;

    void line(std::string_view text) {
        out_.append(static_cast<size_t>(depth_) * 2, ' ');
        out_ += text;
        out_ += '\n';
    }
    void header(std::string_view kind, Span span) {
        line(positions_ ? fmt::format("{} @{}-{}", kind, span.begin, span.end) : std::string(kind));
    }

    void print(const Expr* expr) {
        if (depth_ > kMaxDepth) return line("...");
        switch (expr->kind) {
#define F(type, name) field(#name, node.name);
#define TALC_EXPR(kind, fields)                                                    \
    case ExprKind::kind: {                                                         \
        [[maybe_unused]] const auto& node = *static_cast<const kind##Expr*>(expr); \
        header(#kind, expr->span);                                                 \
        depth_++;                                                                  \
        fields;                                                                    \
        depth_--;                                                                  \
        break;                                                                     \
    }
#include "lang/ast.def"
        }
    }

    void print(const Stmt* stmt) {
        if (depth_ > kMaxDepth) return line("...");
        switch (stmt->kind) {
#define F(type, name) field(#name, node.name);
#define TALC_STMT(kind, fields)                                                    \
    case StmtKind::kind: {                                                         \
        [[maybe_unused]] const auto& node = *static_cast<const kind##Stmt*>(stmt); \
        header(#kind, stmt->span);                                                 \
        depth_++;                                                                  \
        fields;                                                                    \
        depth_--;                                                                  \
        break;                                                                     \
    }
#include "lang/ast.def"
        }
    }

    std::string name_text(NameId name) const {
        return name == kNoName ? std::string("None") : std::string(names_.text(name));
    }

    template <class T>
    void nested(std::string_view label, const T& body) {
        line(fmt::format("{}:", label));
        depth_++;
        body();
        depth_--;
    }

    void field(std::string_view label, const Expr* expr) {
        if (expr == nullptr) return;
        nested(label, [&] { print(expr); });
    }
    void field(std::string_view, const Scope*) {}
    void field(std::string_view label, bool value) { line(fmt::format("{}: {}", label, value ? 1 : 0)); }
    void field(std::string_view label, int value) { line(fmt::format("{}: {}", label, value)); }
    void field(std::string_view label, NameId name) { line(fmt::format("{}: {}", label, name_text(name))); }
    void field(std::string_view label, BinaryOperator op) {
        line(fmt::format("{}: {}", label, kBinaryNames[static_cast<size_t>(op)]));
    }
    void field(std::string_view label, UnaryOperator op) {
        line(fmt::format("{}: {}", label, kUnaryNames[static_cast<size_t>(op)]));
    }
    void field(std::string_view label, BoolOperator op) {
        line(fmt::format("{}: {}", label, op == BoolOperator::And ? "And" : "Or"));
    }
    void field(std::string_view label, Conversion conversion) {
        if (conversion != Conversion::None)
            line(fmt::format("{}: {}", label, " sra"[static_cast<size_t>(conversion)]));
    }
    void field(std::string_view label, const List<CompareOperator>& ops) {
        std::string text;
        for (CompareOperator op : ops) text += fmt::format(" {}", kCompareNames[static_cast<size_t>(op)]);
        line(fmt::format("{}:{}", label, text));
    }
    void field(std::string_view label, const List<NameId>& names) {
        std::string text;
        for (NameId name : names) text += " " + name_text(name);
        line(fmt::format("{}:{}", label, text));
    }
    void field(std::string_view label, const ConstantValue& value) {
        line(fmt::format("{}: {}", label, constant_text(value)));
    }
    void field(std::string_view label, const List<Expr*>& items) {
        if (items.empty()) return;
        nested(label, [&] {
            for (const Expr* item : items) item == nullptr ? line("None") : print(item);
        });
    }
    void field(std::string_view label, const List<Stmt*>& items) {
        if (items.empty()) return;
        nested(label, [&] {
            for (const Stmt* item : items) print(item);
        });
    }
    void field(std::string_view label, const Arguments* args) {
        nested(label, [&] {
            line(fmt::format("posonly {} args {} kwonly {} vararg {} kwarg {}", args->positional_only,
                             args->positional - args->positional_only, args->keyword_only,
                             int{args->has_varargs}, int{args->has_varkw}));
            for (const Parameter& parameter : args->parameters) {
                header(fmt::format("arg {}", name_text(parameter.name)), parameter.span);
                depth_++;
                field("annotation", parameter.annotation);
                field("default", parameter.default_value);
                depth_--;
            }
        });
    }
    void field(std::string_view label, const List<Keyword>& keywords) {
        if (keywords.empty()) return;
        nested(label, [&] {
            for (const Keyword& keyword : keywords) {
                header(fmt::format("keyword {}", name_text(keyword.name)), keyword.span);
                depth_++;
                print(keyword.value);
                depth_--;
            }
        });
    }
    void field(std::string_view label, const List<Comprehension>& generators) {
        nested(label, [&] {
            for (const Comprehension& generator : generators) {
                line("comprehension");
                depth_++;
                field("target", generator.target);
                field("iter", generator.iter);
                field("ifs", generator.ifs);
                depth_--;
            }
        });
    }
    void field(std::string_view, const List<IfClause>& clauses) {
        for (const IfClause& clause : clauses) {
            nested("test", [&] { print(clause.test); });
            field("body", clause.body);
        }
    }
    void field(std::string_view label, const List<WithItem>& items) {
        nested(label, [&] {
            for (const WithItem& item : items) {
                line("withitem");
                depth_++;
                field("context_expr", item.context);
                field("optional_vars", item.target);
                depth_--;
            }
        });
    }
    void field(std::string_view label, const List<ExceptHandler>& handlers) {
        if (handlers.empty()) return;
        nested(label, [&] {
            for (const ExceptHandler& handler : handlers) {
                header(fmt::format("ExceptHandler {}", name_text(handler.name)), handler.span);
                depth_++;
                field("type", handler.type);
                field("body", handler.body);
                depth_--;
            }
        });
    }
    void field(std::string_view label, const List<Alias>& aliases) {
        nested(label, [&] {
            for (const Alias& alias : aliases) {
                header(fmt::format("alias {} as {}", name_text(alias.name), name_text(alias.asname)),
                       alias.span);
            }
        });
    }

    static std::string constant_text(const ConstantValue& value) {
        switch (value.kind) {
            case ConstantKind::None:
                return "None";
            case ConstantKind::True:
                return "True";
            case ConstantKind::False:
                return "False";
            case ConstantKind::Ellipsis:
                return "Ellipsis";
            case ConstantKind::Int:
                return fmt::format("{}", value.integer);
            case ConstantKind::Float:
                return float_text(value.number);
            case ConstantKind::Str:
                return quoted_text(value.text);
            case ConstantKind::Bytes:
                return "b" + quoted_text(value.text);
            case ConstantKind::Tuple: {
                std::string text = "(";
                for (const ConstantValue& item : value.items) text += constant_text(item) + ", ";
                return text + ")";
            }
        }
        return {};
    }

    const NameTable& names_;
    bool positions_;
    int depth_ = 0;
    std::string out_;
};

}  // namespace

std::string_view operator_text(BinaryOperator op) { return kBinaryTexts[static_cast<size_t>(op)]; }
std::string_view operator_text(CompareOperator op) { return kCompareTexts[static_cast<size_t>(op)]; }
std::string_view operator_text(UnaryOperator op) { return kUnaryTexts[static_cast<size_t>(op)]; }

std::string dump_ast(const Module& module, const NameTable& names, bool positions) {
    Printer printer(names, positions);
    printer.print_module(module);
    return printer.take();
}

}  // namespace talc::lang
