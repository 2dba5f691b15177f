// The definition of the pointwise operators on one element: doubles for floats (rounded once, when stored),
// 64-bit integers for the rest.
#include <cmath>
#include <numbers>

#include "tensor/error.hpp"
#include "tensor/reference.hpp"

namespace talc::tensor::reference {

namespace {

bool truth(Scalar x) { return x.to_double() != 0; }
// Integers wrap: computed without sign.
int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t wide(Scalar x) { return static_cast<uint64_t>(x.to_int()); }

int64_t floor_quotient(int64_t a, int64_t b) {
    if (b == 0) fail("ZeroDivisionError");
    if (b == -1) return wrap(-static_cast<uint64_t>(a));
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t whole_power(int64_t a, int64_t b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
    uint64_t result = 1;
    uint64_t square = static_cast<uint64_t>(a);
    for (; b > 0; b /= 2, square *= square) {
        if (b % 2) result *= square;
    }
    return static_cast<int64_t>(result);
}

double gelu(double x, bool tanh_form) {
    if (!tanh_form) return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    return 0.5 * x * (1 + std::tanh(inner));
}

Scalar unary_float(Op op, double x, const Attrs& attrs) {
    switch (op) {
        case Op::Neg: return -x;
        case Op::Abs: return std::fabs(x);
        case Op::Sign: return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0;
        case Op::Square: return x * x;
        case Op::Relu: return std::isnan(x) ? x : std::max(x, 0.0);
        case Op::Floor: return std::floor(x);
        case Op::Ceil: return std::ceil(x);
        case Op::Trunc: return std::trunc(x);
        case Op::Round: return std::nearbyint(x);
        case Op::Exp: return std::exp(x);
        case Op::Expm1: return std::expm1(x);
        case Op::Log: return std::log(x);
        case Op::Log1p: return std::log1p(x);
        case Op::Sqrt: return std::sqrt(x);
        case Op::Rsqrt: return 1 / std::sqrt(x);
        case Op::Reciprocal: return 1 / x;
        case Op::Sin: return std::sin(x);
        case Op::Cos: return std::cos(x);
        case Op::Tanh: return std::tanh(x);
        case Op::Sigmoid: return 1 / (1 + std::exp(-x));
        case Op::Erf: return std::erf(x);
        case Op::Gelu: return gelu(x, attrs.mode);
        case Op::IsNan: return std::isnan(x);
        default: fail("{}: no reference", name_of(op));
    }
}

Scalar unary_whole(Op op, Scalar x) {
    switch (op) {
        case Op::Neg: return wrap(-wide(x));
        case Op::Abs: return x.i < 0 ? wrap(-wide(x)) : x.i;
        case Op::Sign: return int64_t{x.i > 0} - int64_t{x.i < 0};
        case Op::Square: return wrap(wide(x) * wide(x));
        case Op::Relu: return std::max<int64_t>(x.i, 0);
        case Op::Floor:
        case Op::Ceil:
        case Op::Trunc:
        case Op::Round: return x;
        case Op::BitNot: return x.category == Category::Bool ? Scalar(x.i == 0) : Scalar(~x.i);
        case Op::IsNan: return false;
        default: fail("{}: no reference for integers", name_of(op));
    }
}

Scalar binary_float(Op op, double a, double b) {
    switch (op) {
        case Op::Add: return a + b;
        case Op::Sub: return a - b;
        case Op::Mul: return a * b;
        case Op::Div: return a / b;
        case Op::FloorDiv: {
            if (b == 0) return a / b;
            double mod = std::fmod(a, b);
            double exact = std::nearbyint((a - mod) / b);
            return mod != 0 && (mod < 0) != (b < 0) ? exact - 1 : exact;
        }
        case Op::Remainder: {
            double mod = std::fmod(a, b);
            return mod != 0 && (mod < 0) != (b < 0) ? mod + b : mod;
        }
        case Op::Pow: return std::pow(a, b);
        case Op::Maximum:
        case Op::ClampMin: return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
        case Op::Minimum:
        case Op::ClampMax: return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
        default: fail("{}: no reference", name_of(op));
    }
}

Scalar binary_whole(Op op, Scalar a, Scalar b) {
    switch (op) {
        case Op::Add: return wrap(wide(a) + wide(b));
        case Op::Sub: return wrap(wide(a) - wide(b));
        case Op::Mul: return wrap(wide(a) * wide(b));
        case Op::FloorDiv: return floor_quotient(a.i, b.i);
        case Op::Remainder: return wrap(wide(a) - wide(Scalar(floor_quotient(a.i, b.i))) * wide(b));
        case Op::Pow: return whole_power(a.i, b.i);
        case Op::Maximum:
        case Op::ClampMin: return std::max(a.i, b.i);
        case Op::Minimum:
        case Op::ClampMax: return std::min(a.i, b.i);
        case Op::BitAnd: return a.i & b.i;
        case Op::BitOr: return a.i | b.i;
        case Op::BitXor: return a.i ^ b.i;
        default: fail("{}: no reference for integers", name_of(op));
    }
}

// Comparisons in the operands' own kind: 2^53 + 1 is not 2^53.
template <class T>
Scalar compare(Op op, T a, T b) {
    switch (op) {
        case Op::Eq: return a == b;
        case Op::Ne: return a != b;
        case Op::Lt: return a < b;
        case Op::Le: return a <= b;
        case Op::Gt: return a > b;
        default: return a >= b;
    }
}

}  // namespace

Scalar element_of(Op op, std::span<const Scalar> x, const Attrs& attrs) {
    bool floating = x.back().category == Category::Float;
    switch (op) {
        case Op::Cast:
        case Op::Contiguous:
        case Op::Clone: return x[0];
        case Op::Where: return truth(x[0]) ? x[1] : x[2];
        case Op::LogicalNot: return !truth(x[0]);
        case Op::LogicalAnd: return truth(x[0]) && truth(x[1]);
        case Op::LogicalOr: return truth(x[0]) || truth(x[1]);
        case Op::LogicalXor: return truth(x[0]) != truth(x[1]);
        case Op::Eq:
        case Op::Ne:
        case Op::Lt:
        case Op::Le:
        case Op::Gt:
        case Op::Ge: return floating ? compare(op, x[0].f, x[1].f) : compare(op, x[0].i, x[1].i);
        default: break;
    }
    if (x.size() == 1) return floating ? unary_float(op, x[0].f, attrs) : unary_whole(op, x[0]);
    return floating ? binary_float(op, x[0].f, x[1].f) : binary_whole(op, x[0], x[1]);
}

}  // namespace talc::tensor::reference
