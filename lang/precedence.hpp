#pragma once
// How tightly operators bind, loosest first.
#include <array>
#include <cstdint>

#include "lang/ast.hpp"
#include "lang/token.hpp"

namespace talc::lang {

enum Precedence : uint8_t {
    kNoOperator,
    kOr,
    kAnd,
    kNot,
    kComparison,
    kBitOr,
    kBitXor,
    kBitAnd,
    kShift,
    kSum,
    kProduct,
    kUnary,
    kPower,
};

struct InfixOperator {
    Precedence precedence = kNoOperator;
    BinaryOperator binary{};
    CompareOperator compare{};
};

constexpr std::array<InfixOperator, 256> make_infix_operators() {
    std::array<InfixOperator, 256> table{};
    auto at = [&](TokenKind kind) -> InfixOperator& { return table[static_cast<size_t>(kind)]; };
#define TALC_BINARY(name, token, assign, precedence, text) \
    at(TokenKind::token) = {precedence, BinaryOperator::name, {}};
#include "lang/operators.def"
    at(TokenKind::DoubleStar) = {};  // binds tighter than a sign before it; the operand's parser takes it
    at(TokenKind::Or) = {kOr, {}, {}};
    at(TokenKind::And) = {kAnd, {}, {}};
    auto compare = [&](TokenKind kind, CompareOperator op) { at(kind) = {kComparison, {}, op}; };
    compare(TokenKind::EqualEqual, CompareOperator::Eq);
    compare(TokenKind::NotEqual, CompareOperator::NotEq);
    compare(TokenKind::Less, CompareOperator::Lt);
    compare(TokenKind::LessEqual, CompareOperator::LtE);
    compare(TokenKind::Greater, CompareOperator::Gt);
    compare(TokenKind::GreaterEqual, CompareOperator::GtE);
    compare(TokenKind::Is, CompareOperator::Is);
    compare(TokenKind::In, CompareOperator::In);
    compare(TokenKind::Not, CompareOperator::NotIn);  // only before `in`
    return table;
}

inline constexpr std::array<InfixOperator, 256> kInfixOperators = make_infix_operators();

// The operator of `+=` and its like; false for other tokens.
constexpr bool augmented_operator(TokenKind kind, BinaryOperator& op) {
    switch (kind) {
#define TALC_BINARY(name, token, assign, precedence, text) \
    case TokenKind::assign:                                \
        op = BinaryOperator::name;                         \
        return true;
#include "lang/operators.def"
        default:
            return false;
    }
}

}  // namespace talc::lang
