#include "lang/constant_fold.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace talc::lang {

namespace {

constexpr size_t kMaxFoldedText = 4096;
constexpr size_t kMaxFoldedTuple = 256;
constexpr int64_t kExactInDouble = int64_t{1} << 53;

ConstantValue int_value(int64_t integer) {
    ConstantValue value;
    value.kind = ConstantKind::Int;
    value.integer = integer;
    return value;
}

ConstantValue float_value(double number) {
    ConstantValue value;
    value.kind = ConstantKind::Float;
    value.number = number;
    return value;
}

ConstantValue bool_value(bool truth) {
    ConstantValue value;
    value.kind = truth ? ConstantKind::True : ConstantKind::False;
    return value;
}

// `result` is what the first argument's operation writes, and arguments are evaluated in any order: it is read in here.
std::optional<ConstantValue> checked(bool overflow, const int64_t& result) {
    if (overflow) return std::nullopt;
    return int_value(result);
}

std::optional<ConstantValue> fold_power(int64_t base, int64_t exponent) {
    if (exponent < 0 || exponent > 63) return std::nullopt;
    int64_t result = 1;
    for (int64_t i = 0; i < exponent; i++) {
        if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
    }
    return int_value(result);
}

// Division rounds towards minus infinity; the remainder has the divisor's sign.
std::optional<ConstantValue> fold_division(BinaryOperator op, int64_t a, int64_t b) {
    if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
    int64_t quotient = a / b;
    int64_t remainder = a % b;
    if (remainder != 0 && (remainder < 0) != (b < 0)) {
        quotient--;
        remainder += b;
    }
    if (op == BinaryOperator::FloorDiv) return int_value(quotient);
    if (op == BinaryOperator::Mod) return int_value(remainder);
    auto exact = [](int64_t n) { return -kExactInDouble <= n && n <= kExactInDouble; };
    if (!exact(a) || !exact(b)) return std::nullopt;
    return float_value(static_cast<double>(a) / static_cast<double>(b));
}

std::optional<ConstantValue> fold_ints(BinaryOperator op, int64_t a, int64_t b) {
    int64_t result = 0;
    switch (op) {
        case BinaryOperator::Add:
            return checked(__builtin_add_overflow(a, b, &result), result);
        case BinaryOperator::Sub:
            return checked(__builtin_sub_overflow(a, b, &result), result);
        case BinaryOperator::Mult:
            return checked(__builtin_mul_overflow(a, b, &result), result);
        case BinaryOperator::Div:
        case BinaryOperator::FloorDiv:
        case BinaryOperator::Mod:
            return fold_division(op, a, b);
        case BinaryOperator::Pow:
            return fold_power(a, b);
        case BinaryOperator::LShift: {
            if (b < 0 || b > 62 || a == INT64_MIN) return std::nullopt;
            return checked(__builtin_mul_overflow(a, int64_t{1} << b, &result), result);
        }
        case BinaryOperator::RShift:
            if (b < 0) return std::nullopt;
            return int_value(a >> (b > 63 ? 63 : b));
        case BinaryOperator::BitAnd:
            return int_value(a & b);
        case BinaryOperator::BitOr:
            return int_value(a | b);
        case BinaryOperator::BitXor:
            return int_value(a ^ b);
        case BinaryOperator::MatMult:
            return std::nullopt;
    }
    return std::nullopt;
}

std::optional<ConstantValue> fold_floats(BinaryOperator op, double a, double b) {
    switch (op) {
        case BinaryOperator::Add:
            return float_value(a + b);
        case BinaryOperator::Sub:
            return float_value(a - b);
        case BinaryOperator::Mult:
            return float_value(a * b);
        case BinaryOperator::Div:
            if (b == 0) return std::nullopt;
            return float_value(a / b);
        default:
            return std::nullopt;
    }
}

std::optional<double> as_number(const ConstantValue& value) {
    if (value.kind == ConstantKind::Float) return value.number;
    if (value.kind == ConstantKind::Int) return static_cast<double>(value.integer);
    return std::nullopt;
}

// What does not fit may still be on its way to something that does: 2 ** 63 - 1.
__extension__ typedef __int128 Wide;
constexpr Wide kMostWide = Wide{1} << 100;

std::optional<Wide> fold_wide(BinaryOperator op, Wide a, Wide b) {
    auto within = [](Wide value) -> std::optional<Wide> {
        if (value > kMostWide || value < -kMostWide) return std::nullopt;
        return value;
    };
    Wide result = 0;
    switch (op) {
        case BinaryOperator::Add:
            return within(a + b);
        case BinaryOperator::Sub:
            return within(a - b);
        case BinaryOperator::Mult:
            if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
            return within(result);
        case BinaryOperator::Pow:
        case BinaryOperator::LShift: {
            if (b < 0 || b > 100) return std::nullopt;
            result = op == BinaryOperator::Pow ? Wide{1} : a;
            Wide factor = op == BinaryOperator::Pow ? a : Wide{2};
            for (Wide i = 0; i < b; i++) {
                if (__builtin_mul_overflow(result, factor, &result)) return std::nullopt;
            }
            return within(result);
        }
        default:
            return std::nullopt;
    }
}

class Folder {
  public:
    explicit Folder(Arena& arena) : arena_(arena) {}

    void fold_body(List<Stmt*>& body) {
        for (Stmt* stmt : body) fold_statement(stmt);
    }

  private:
    void fold_statement(Stmt* stmt) {
        if (stmt->kind == StmtKind::Expr) {
            // A sum of strings must not turn into a docstring.
            Expr*& value = as<ExprStmt>(stmt).value;
            Expr* before = value;
            fold(value);
            auto* folded = as_if<ConstantExpr>(value);
            if (folded != nullptr && folded->value.kind == ConstantKind::Str) value = before;
            return;
        }
        switch (stmt->kind) {
#define F(type, name) field(node.name);
#define TALC_STMT(kind, fields)                                        \
    case StmtKind::kind: {                                             \
        [[maybe_unused]] auto& node = *static_cast<kind##Stmt*>(stmt); \
        fields;                                                        \
        break;                                                         \
    }
#include "lang/ast.def"
        }
    }

    // What hangs on the left of a chain (a.b.c, a + b + c), or on the right of a chain of conditions.
    static Expr** spine_child(Expr* expr) {
        switch (expr->kind) {
            case ExprKind::BinOp:
                return &as<BinOpExpr>(expr).left;
            case ExprKind::UnaryOp:
                return &as<UnaryOpExpr>(expr).operand;
            case ExprKind::Attribute:
                return &as<AttributeExpr>(expr).value;
            case ExprKind::Subscript:
                return &as<SubscriptExpr>(expr).value;
            case ExprKind::Call:
                return &as<CallExpr>(expr).func;
            case ExprKind::IfExp:
                return &as<IfExpExpr>(expr).orelse;
            default:
                return nullptr;
        }
    }

    void fold(Expr*& root) {
        if (root->kind == ExprKind::Name || root->kind == ExprKind::Constant) return;
        size_t base = spine_.size();
        for (Expr** at = &root; at != nullptr; at = spine_child(*at)) spine_.push_back(at);
        while (spine_.size() > base) {
            Expr** at = spine_.back();
            spine_.pop_back();
            fold_others(*at);
            if (Expr* folded = fold_node(*at)) {
                folded->span = (*at)->span;
                folded->parenthesized = (*at)->parenthesized;
                *at = folded;
            }
        }
    }

    // The children that are not on the spine.
    void fold_others(Expr* expr) {
        Expr** skipped = spine_child(expr);
        switch (expr->kind) {
#define F(type, name) other_field(node.name, skipped);
#define TALC_EXPR(kind, fields)                                        \
    case ExprKind::kind: {                                             \
        [[maybe_unused]] auto& node = *static_cast<kind##Expr*>(expr); \
        fields;                                                        \
        break;                                                         \
    }
#include "lang/ast.def"
        }
    }

    void other_field(Expr*& child, Expr** skipped) {
        if (&child != skipped) field(child);
    }
    template <class T>
    void other_field(T& child, Expr**) {
        field(child);
    }

    void field(Expr*& child) {
        if (child != nullptr) fold(child);
    }
    void field(List<Expr*>& children) {
        for (Expr*& child : children) field(child);
    }
    void field(List<Stmt*>& body) { fold_body(body); }
    void field(Arguments* args) {
        for (Parameter& parameter : args->parameters) {
            field(parameter.default_value);
            field(parameter.annotation);
        }
    }
    void field(List<Keyword>& keywords) {
        for (Keyword& keyword : keywords) field(keyword.value);
    }
    void field(List<Comprehension>& generators) {
        for (Comprehension& generator : generators) {
            field(generator.target);
            field(generator.iter);
            field(generator.ifs);
        }
    }
    void field(List<IfClause>& clauses) {
        for (IfClause& clause : clauses) {
            field(clause.test);
            field(clause.body);
        }
    }
    void field(List<WithItem>& items) {
        for (WithItem& item : items) {
            field(item.context);
            field(item.target);
        }
    }
    void field(List<ExceptHandler>& handlers) {
        for (ExceptHandler& handler : handlers) {
            field(handler.type);
            field(handler.body);
        }
    }
    template <class T>
    void field(T&) {}

    Expr* constant(const ConstantValue& value) {
        auto* node = arena_.make<ConstantExpr>();
        node->kind = ExprKind::Constant;
        node->value = value;
        return node;
    }
    Expr* constant(const std::optional<ConstantValue>& value) { return value ? constant(*value) : nullptr; }

    // The constant that `expr` is, or null.
    Expr* fold_node(Expr* expr) {
        switch (expr->kind) {
            case ExprKind::BinOp:
                return fold_binary(as<BinOpExpr>(expr));
            case ExprKind::UnaryOp:
                return fold_unary(as<UnaryOpExpr>(expr));
            case ExprKind::Tuple:
                return fold_tuple(as<TupleExpr>(expr));
            case ExprKind::Compare:
                fold_membership(as<CompareExpr>(expr));
                return nullptr;
            default:
                return nullptr;
        }
    }

    Expr* fold_unary(UnaryOpExpr& node) {
        auto* operand = as_if<ConstantExpr>(node.operand);
        if (operand == nullptr) {
            if (auto value = wide(node.operand); value && node.op == UnaryOperator::USub) return constant_or_wide(&node, -*value);
            return fold_negated_comparison(node);
        }
        const ConstantValue& value = operand->value;
        if (node.op == UnaryOperator::Not) return constant(bool_value(!is_true(value)));
        if (value.kind == ConstantKind::Int) {
            int64_t result = 0;
            if (node.op == UnaryOperator::USub) {
                return constant(checked(__builtin_sub_overflow(int64_t{0}, value.integer, &result), result));
            }
            return constant(int_value(node.op == UnaryOperator::Invert ? ~value.integer : value.integer));
        }
        if (value.kind == ConstantKind::Float && node.op != UnaryOperator::Invert) {
            return constant(float_value(node.op == UnaryOperator::USub ? -value.number : value.number));
        }
        return nullptr;
    }

    // not a in b, not a is b
    static Expr* fold_negated_comparison(UnaryOpExpr& node) {
        auto* compare = as_if<CompareExpr>(node.operand);
        if (node.op != UnaryOperator::Not || compare == nullptr || compare->ops.size != 1) return nullptr;
        switch (compare->ops[0]) {
            case CompareOperator::In:
                compare->ops[0] = CompareOperator::NotIn;
                break;
            case CompareOperator::NotIn:
                compare->ops[0] = CompareOperator::In;
                break;
            case CompareOperator::Is:
                compare->ops[0] = CompareOperator::IsNot;
                break;
            case CompareOperator::IsNot:
                compare->ops[0] = CompareOperator::Is;
                break;
            default:
                return nullptr;
        }
        return compare;
    }

    // The integer that `expr` stands for, whether or not it fits.
    std::optional<Wide> wide(Expr* expr) const {
        if (auto* literal = as_if<ConstantExpr>(expr); literal != nullptr) {
            if (literal->value.kind != ConstantKind::Int) return std::nullopt;
            return literal->value.integer;
        }
        auto found = wide_.find(expr);
        return found == wide_.end() ? std::nullopt : std::optional(found->second);
    }

    // Keeps `value` for the expression that `expr` is a part of, unless it fits.
    Expr* constant_or_wide(Expr* expr, std::optional<Wide> value) {
        if (!value) return nullptr;
        if (*value >= INT64_MIN && *value <= INT64_MAX) return constant(int_value(static_cast<int64_t>(*value)));
        wide_[expr] = *value;
        return nullptr;
    }

    Expr* fold_binary(BinOpExpr& node) {
        auto* left = as_if<ConstantExpr>(node.left);
        auto* right = as_if<ConstantExpr>(node.right);
        if (left == nullptr || right == nullptr) {
            if (wide_.empty()) return nullptr;
            std::optional<Wide> x = wide(node.left);
            std::optional<Wide> y = wide(node.right);
            return x && y ? constant_or_wide(&node, fold_wide(node.op, *x, *y)) : nullptr;
        }
        const ConstantValue& a = left->value;
        const ConstantValue& b = right->value;
        if (a.kind == ConstantKind::Int && b.kind == ConstantKind::Int) {
            std::optional<ConstantValue> folded = fold_ints(node.op, a.integer, b.integer);
            return folded ? constant(folded) : constant_or_wide(&node, fold_wide(node.op, a.integer, b.integer));
        }
        std::optional<double> x = as_number(a);
        std::optional<double> y = as_number(b);
        if (x && y) return constant(fold_floats(node.op, *x, *y));
        if (node.op == BinaryOperator::Add && a.kind == b.kind) return fold_concatenation(a, b);
        if (node.op == BinaryOperator::Mult) {
            if (b.kind == ConstantKind::Int) return fold_repetition(a, b.integer);
            if (a.kind == ConstantKind::Int) return fold_repetition(b, a.integer);
        }
        return nullptr;
    }

    Expr* fold_concatenation(const ConstantValue& a, const ConstantValue& b) {
        if (a.kind != ConstantKind::Str && a.kind != ConstantKind::Bytes) return nullptr;
        if (a.text.size() + b.text.size() > kMaxFoldedText) return nullptr;
        std::string joined(a.text);
        joined += b.text;
        ConstantValue value = a;
        value.text = arena_.copy(joined);
        return constant(value);
    }

    Expr* fold_repetition(const ConstantValue& repeated, int64_t count) {
        if (repeated.kind != ConstantKind::Str && repeated.kind != ConstantKind::Bytes) return nullptr;
        if (count < 0) count = 0;
        if (count > static_cast<int64_t>(kMaxFoldedText)) return nullptr;
        if (static_cast<size_t>(count) * repeated.text.size() > kMaxFoldedText) return nullptr;
        std::string text;
        for (int64_t i = 0; i < count; i++) text += repeated.text;
        ConstantValue value = repeated;
        value.text = arena_.copy(text);
        return constant(value);
    }

    // The empty tuple stays a node: it may be a target.
    Expr* fold_tuple(TupleExpr& node) { return node.elts.empty() ? nullptr : tuple_of(node.elts); }

    Expr* tuple_of(const List<Expr*>& elts) {
        for (Expr* elt : elts) {
            if (elt->kind != ExprKind::Constant) return nullptr;
        }
        ConstantValue value;
        value.kind = ConstantKind::Tuple;
        value.items = {arena_.array<ConstantValue>(elts.size), elts.size};
        for (uint32_t i = 0; i < elts.size; i++) value.items[i] = as<ConstantExpr>(elts[i]).value;
        return constant(value);
    }

    // x in [1, 2, 3]: nobody can see the list. (In a chain the next comparison could.)
    void fold_membership(CompareExpr& node) {
        CompareOperator op = node.ops.back();
        if (op != CompareOperator::In && op != CompareOperator::NotIn) return;
        auto* list = as_if<ListExpr>(node.comparators.back());
        if (list == nullptr || list->elts.empty() || list->elts.size > kMaxFoldedTuple) return;
        if (Expr* tuple = tuple_of(list->elts)) {
            tuple->span = list->span;
            node.comparators.back() = tuple;
        }
    }

    Arena& arena_;
    std::vector<Expr**> spine_;
    std::unordered_map<const Expr*, Wide> wide_;  // constants that do not fit in 64 bits
};

}  // namespace

bool is_true(const ConstantValue& value) {
    switch (value.kind) {
        case ConstantKind::None:
        case ConstantKind::False:
            return false;
        case ConstantKind::True:
        case ConstantKind::Ellipsis:
            return true;
        case ConstantKind::Int:
            return value.integer != 0;
        case ConstantKind::Float:
            return value.number != 0;
        case ConstantKind::Str:
        case ConstantKind::Bytes:
            return !value.text.empty();
        case ConstantKind::Tuple:
            return value.items.size != 0;
    }
    return false;
}

void fold_constants(Module& module, Arena& arena) { Folder(arena).fold_body(module.body); }

}  // namespace talc::lang
