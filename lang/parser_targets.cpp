// Expressions that stand where something is assigned or deleted.
#include "lang/parser_impl.hpp"

namespace talc::lang {

using enum TokenKind;

std::string_view Parser::expr_name(const Expr* expr) {
    switch (expr->kind) {
        case ExprKind::Attribute:
            return "attribute";
        case ExprKind::Subscript:
            return "subscript";
        case ExprKind::Starred:
            return "starred";
        case ExprKind::Name:
            return "name";
        case ExprKind::List:
            return "list";
        case ExprKind::Tuple:
            return "tuple";
        case ExprKind::Lambda:
            return "lambda";
        case ExprKind::Call:
            return "function call";
        case ExprKind::BoolOp:
        case ExprKind::BinOp:
        case ExprKind::UnaryOp:
            return "expression";
        case ExprKind::GeneratorExp:
            return "generator expression";
        case ExprKind::Yield:
        case ExprKind::YieldFrom:
            return "yield expression";
        case ExprKind::ListComp:
            return "list comprehension";
        case ExprKind::SetComp:
            return "set comprehension";
        case ExprKind::DictComp:
            return "dict comprehension";
        case ExprKind::Dict:
            return "dict literal";
        case ExprKind::Set:
            return "set display";
        case ExprKind::JoinedStr:
        case ExprKind::FormattedValue:
            return "f-string expression";
        case ExprKind::Compare:
            return "comparison";
        case ExprKind::IfExp:
            return "conditional expression";
        case ExprKind::NamedExpr:
            return "named expression";
        case ExprKind::Slice:
            return "slice";
        case ExprKind::Constant:
            break;
    }
    switch (static_cast<const ConstantExpr*>(expr)->value.kind) {
        case ConstantKind::None:
            return "None";
        case ConstantKind::True:
            return "True";
        case ConstantKind::False:
            return "False";
        case ConstantKind::Ellipsis:
            return "ellipsis";
        default:
            return "literal";
    }
}

// The first part of `expr` that cannot be a target, or null.
Expr* Parser::invalid_target(Expr* expr, TargetUse use) const {
    switch (expr->kind) {
        case ExprKind::Name:
        case ExprKind::Attribute:
        case ExprKind::Subscript:
            return nullptr;
        case ExprKind::Starred:
            if (use == TargetUse::Delete) return expr;
            return invalid_target(as<StarredExpr>(expr).value, use);
        case ExprKind::List:
        case ExprKind::Tuple: {
            const List<Expr*>& elts =
                expr->kind == ExprKind::List ? as<ListExpr>(expr).elts : as<TupleExpr>(expr).elts;
            for (Expr* elt : elts) {
                if (Expr* bad = invalid_target(elt, use)) return bad;
            }
            return nullptr;
        }
        default:
            return expr;
    }
}

void Parser::check_debug_name(Expr* expr, std::string_view verb) {
    NameId name = kNoName;
    if (NameExpr* node = as_if<NameExpr>(expr)) name = node->id;
    if (AttributeExpr* node = as_if<AttributeExpr>(expr)) name = node->attr;
    if (name != kNoName && names_.text(name) == "__debug__") {
        fail(expr->span, fmt::format("cannot {} __debug__", verb));
    }
}

// Stars: one at most in each list, and none outside a list.
void Parser::check_assignable(Expr* expr) {
    List<Expr*> elts;
    switch (expr->kind) {
        case ExprKind::Starred:
            return check_assignable(as<StarredExpr>(expr).value);
        case ExprKind::List:
            elts = as<ListExpr>(expr).elts;
            break;
        case ExprKind::Tuple:
            elts = as<TupleExpr>(expr).elts;
            break;
        default:
            return check_debug_name(expr, "assign to");
    }
    bool starred = false;
    for (Expr* elt : elts) {
        if (elt->kind == ExprKind::Starred) {
            if (starred) fail(elt->span, "multiple starred expressions in assignment");
            starred = true;
        }
        check_assignable(elt);
    }
}

void Parser::check_target(Expr* expr, TargetUse use) {
    if (Expr* bad = invalid_target(expr, use)) {
        std::string_view verb = use == TargetUse::Delete ? "delete" : "assign to";
        fail(bad->span, fmt::format("cannot {} {}", verb, expr_name(bad)));
    }
    if (use == TargetUse::Delete) return check_debug_name(expr, "delete");
    if (expr->kind == ExprKind::Starred)
        fail(expr->span, "starred assignment target must be in a list or tuple");
    check_assignable(expr);
}

// `left` is followed by `=` where only a value may stand (if x = 3). Fails if that is a slip for `==`.
void Parser::check_stray_equals(Expr* left) {
    if (!at(Equal) || attempting_) return;
    bool value = true;  // may stand on the left of == without parentheses
    switch (left->kind) {
        case ExprKind::List:
        case ExprKind::Tuple:
        case ExprKind::GeneratorExp:
            value = false;
            break;
        case ExprKind::Starred:
        case ExprKind::BoolOp:
        case ExprKind::Compare:
        case ExprKind::IfExp:
        case ExprKind::Lambda:
            value = left->parenthesized;
            break;
        case ExprKind::UnaryOp:
            value = left->parenthesized || as<UnaryOpExpr>(left).op != UnaryOperator::Not;
            break;
        case ExprKind::Constant: {
            ConstantKind kind = as<ConstantExpr>(left).value.kind;
            value = kind != ConstantKind::None && kind != ConstantKind::True && kind != ConstantKind::False;
            break;
        }
        default:
            break;
    }
    if (!value) return;
    const Token* here = tok_;
    Expr* right = nullptr;
    bool parsed = attempt([&] { take(), right = parse_operators(kBitOr); });
    bool stray = parsed && !at(Equal) && !at(ColonEqual);
    tok_ = here;
    if (!stray) return;
    if (left->kind == ExprKind::Name && !left->parenthesized) {
        fail(Span::join(left->span, right->span),
             "invalid syntax. Maybe you meant '==' or ':=' instead of '='?");
    }
    fail(left->span,
         fmt::format("cannot assign to {} here. Maybe you meant '==' instead of '='?", expr_name(left)));
}

}  // namespace talc::lang
