// math: functions of floats, with CPython's errors where C gives an infinity or NaN.
#include <cmath>
#include <numbers>

#include "base/text/number_text.hpp"
#include "stdlib/modules.hpp"
#include "stdlib/modules/special_functions.hpp"
#include "stdlib/support.hpp"

namespace talc::stdlib {

namespace {

[[noreturn]] void domain_error(Vm& vm) { raise(vm, Exc::ValueError, "math domain error"); }
[[noreturn]] void range_error(Vm& vm) { raise(vm, Exc::OverflowError, "math range error"); }

// An infinite result of a finite argument is an overflow, or a pole.
enum class Infinite { Range, Domain };

Ref unary_function(Vm& vm, Value v, double (*function)(double), Infinite infinite) {
    double x = v.is_float() ? v.f : to_double(vm, v);
    double y = function(x);
    if (!std::isfinite(y)) [[unlikely]] {
        if (std::isnan(y) && !std::isnan(x)) domain_error(vm);
        if (std::isinf(y) && std::isfinite(x)) {
            if (infinite == Infinite::Range) range_error(vm);
            domain_error(vm);
        }
    }
    return real(y);
}

// All logarithms: no zero, nothing negative.
double logarithm(Vm& vm, Value v, double (*function)(double)) {
    if (is_integer(v)) {
        int64_t n = int_value(v);
        if (n <= 0) domain_error(vm);
        return function(static_cast<double>(n));
    }
    double x = to_double(vm, v);
    if (x <= 0) domain_error(vm);  // -inf too
    return function(x);
}

struct Pair {
    double x, y;
};
Pair two(Vm& vm, const Args& args) {
    double x = to_double(vm, args[0]);
    return {x, to_double(vm, args[1])};
}

// Rounding functions: an int, or what the value's own method says.
Ref rounded(Vm& vm, Value v, Special special, double (*function)(double)) {
    if (!v.is_float()) {
        if (v.is_int()) return v;
        Value own = find_special(vm, v, special);
        if (!own.is_undef()) return call_special(vm, own, v);
        if (is_integer(v)) return integer(int_value(v));
    }
    text::Result<int64_t> result = text::float_to_int(function(to_double(vm, v)));
    if (result) return integer(*result);
    Exc kind = result.failure().kind == text::ErrorKind::OverflowError ? Exc::OverflowError : Exc::ValueError;
    raise(vm, kind, result.failure().message);
}

}  // namespace

#define FUNCTION(name, function, infinite) \
    Ref math_##name(Vm& vm, const Args& args) { return unary_function(vm, args[0], function, Infinite::infinite); }
FUNCTION(acos, std::acos, Domain)
FUNCTION(acosh, std::acosh, Domain)
FUNCTION(asin, std::asin, Domain)
FUNCTION(asinh, std::asinh, Domain)
FUNCTION(atan, std::atan, Domain)
FUNCTION(atanh, std::atanh, Domain)
FUNCTION(cbrt, std::cbrt, Domain)
FUNCTION(cos, std::cos, Domain)
FUNCTION(cosh, std::cosh, Range)
FUNCTION(erf, std::erf, Domain)
FUNCTION(erfc, std::erfc, Domain)
FUNCTION(exp, std::exp, Range)
FUNCTION(exp2, std::exp2, Range)
FUNCTION(expm1, std::expm1, Range)
FUNCTION(fabs, std::fabs, Domain)
FUNCTION(log1p, std::log1p, Domain)
FUNCTION(sin, std::sin, Domain)
FUNCTION(sinh, std::sinh, Range)
FUNCTION(sqrt, std::sqrt, Domain)
FUNCTION(tan, std::tan, Domain)
FUNCTION(tanh, std::tanh, Domain)
#undef FUNCTION

Ref math_gamma(Vm& vm, const Args& args) {
    double x = to_double(vm, args[0]);
    if (x == -INFINITY || (x <= 0 && x == std::floor(x))) domain_error(vm);
    double y = gamma_function(x);
    if (std::isinf(y) && std::isfinite(x)) range_error(vm);
    return real(y);
}

Ref math_lgamma(Vm& vm, const Args& args) {
    double x = to_double(vm, args[0]);
    if (std::isfinite(x) && x <= 0 && x == std::floor(x)) domain_error(vm);
    double y = log_gamma_function(x);
    if (std::isinf(y) && std::isfinite(x)) range_error(vm);
    return real(y);
}

Ref math_log2(Vm& vm, const Args& args) { return real(logarithm(vm, args[0], std::log2)); }
Ref math_log10(Vm& vm, const Args& args) { return real(logarithm(vm, args[0], std::log10)); }

Ref math_log(Vm& vm, const Args& args) {
    if (args.nrest < 1 || args.nrest > 2) raise(vm, Exc::TypeError, "math.log requires 1 to 2 arguments");
    double x = logarithm(vm, args.rest[0], std::log);
    if (args.nrest == 1) return real(x);
    double base = logarithm(vm, args.rest[1], std::log);
    if (base == 0) raise(vm, Exc::ZeroDivisionError, "float division by zero");
    return real(x / base);
}

Ref math_degrees(Vm& vm, const Args& args) { return real(to_double(vm, args[0]) * (180.0 / std::numbers::pi)); }
Ref math_radians(Vm& vm, const Args& args) { return real(to_double(vm, args[0]) * (std::numbers::pi / 180.0)); }
Ref math_isfinite(Vm& vm, const Args& args) { return boolean(std::isfinite(to_double(vm, args[0]))); }
Ref math_isinf(Vm& vm, const Args& args) { return boolean(std::isinf(to_double(vm, args[0]))); }
Ref math_isnan(Vm& vm, const Args& args) { return boolean(std::isnan(to_double(vm, args[0]))); }

Ref math_ulp(Vm& vm, const Args& args) {
    double x = std::fabs(to_double(vm, args[0]));
    if (!std::isfinite(x)) return real(x);
    double next = std::nextafter(x, INFINITY);
    return real(std::isinf(next) ? x - std::nextafter(x, -INFINITY) : next - x);
}

Ref math_modf(Vm& vm, const Args& args) {
    double x = to_double(vm, args[0]);
    double whole = 0;
    double fraction = std::modf(x, &whole);
    return make_tuple(vm, {Value::real(fraction), Value::real(whole)});
}

Ref math_frexp(Vm& vm, const Args& args) {
    double x = to_double(vm, args[0]);
    int exponent = 0;
    if (std::isfinite(x) && x != 0) x = std::frexp(x, &exponent);
    return make_tuple(vm, {Value::real(x), Value::integer(exponent)});
}

Ref math_ldexp(Vm& vm, const Args& args) {
    double x = to_double(vm, args[0]);
    if (!is_integer(args[1])) raise(vm, Exc::TypeError, "Expected an int as second argument to ldexp.");
    int64_t exponent = std::clamp<int64_t>(int_value(args[1]), INT32_MIN, INT32_MAX);
    double y = std::ldexp(x, static_cast<int>(exponent));
    if (std::isinf(y) && std::isfinite(x)) range_error(vm);
    return real(y);
}

Ref math_ceil(Vm& vm, const Args& args) { return rounded(vm, args[0], Special::Ceil, std::ceil); }
Ref math_floor(Vm& vm, const Args& args) { return rounded(vm, args[0], Special::Floor, std::floor); }
Ref math_trunc(Vm& vm, const Args& args) {
    if (!is_number(args[0]) && find_special(vm, args[0], Special::Trunc).is_undef()) {
        raise(vm, Exc::TypeError, "type {} doesn't define __trunc__ method", class_name(vm, args[0]));
    }
    return rounded(vm, args[0], Special::Trunc, std::trunc);
}

Ref math_atan2(Vm& vm, const Args& args) {
    Pair p = two(vm, args);
    return real(std::atan2(p.x, p.y));
}
Ref math_copysign(Vm& vm, const Args& args) {
    Pair p = two(vm, args);
    return real(std::copysign(p.x, p.y));
}
Ref math_nextafter(Vm& vm, const Args& args) {
    Pair p = two(vm, args);
    return real(std::nextafter(p.x, p.y));
}

Ref math_fmod(Vm& vm, const Args& args) {
    Pair p = two(vm, args);
    double r = std::fmod(p.x, p.y);
    if (std::isnan(r) && !std::isnan(p.x) && !std::isnan(p.y)) domain_error(vm);
    return real(r);
}

Ref math_remainder(Vm& vm, const Args& args) {
    Pair p = two(vm, args);
    double r = std::remainder(p.x, p.y);
    if (std::isnan(r) && !std::isnan(p.x) && !std::isnan(p.y)) domain_error(vm);
    return real(r);
}

Ref math_pow(Vm& vm, const Args& args) {
    Pair p = two(vm, args);
    double r = std::pow(p.x, p.y);
    if (!std::isfinite(r) && std::isfinite(p.x) && std::isfinite(p.y)) {
        if (std::isnan(r) || p.x == 0) domain_error(vm);
        range_error(vm);
    }
    return real(r);
}

Ref math_isclose(Vm& vm, const Args& args) {
    double a = to_double(vm, args[0]), b = to_double(vm, args[1]);
    double relative = to_double(vm, args[2]), absolute = to_double(vm, args[3]);
    if (relative < 0 || absolute < 0) raise(vm, Exc::ValueError, "tolerances must be non-negative");
    if (a == b) return boolean(true);
    if (std::isinf(a) || std::isinf(b)) return boolean(false);
    double apart = std::fabs(b - a);
    return boolean(apart <= std::fabs(relative * b) || apart <= std::fabs(relative * a) || apart <= absolute);
}

// ---- Lengths --------------------------------------------------------------------------------------

Ref math_hypot(Vm& vm, const Args& args) {
    if (args.nrest == 2) {
        double both[] = {to_double(vm, args.rest[0]), to_double(vm, args.rest[1])};
        return real(euclidean_length(both));
    }
    std::vector<double> coordinates(args.nrest);
    for (size_t i = 0; i < args.nrest; i++) coordinates[i] = to_double(vm, args.rest[i]);
    return real(euclidean_length(coordinates));
}

Ref math_dist(Vm& vm, const Args& args) {
    Ptr<Tuple> p = tuple_from_iterable(vm, args[0]);
    Ptr<Tuple> q = tuple_from_iterable(vm, args[1]);
    if (p->size != q->size) raise(vm, Exc::ValueError, "both points must have the same number of dimensions");
    std::vector<double> apart(p->size);
    for (size_t i = 0; i < p->size; i++) {
        double x = to_double(vm, p->items[i]);
        apart[i] = x - to_double(vm, q->items[i]);
    }
    return real(euclidean_length(apart));
}

// ---- Sums and products ----------------------------------------------------------------------------

Ref math_fsum(Vm& vm, const Args& args) {
    ExactSum sum;
    walk(vm, args[0], [&](Value item) {
        if (!sum.add(to_double(vm, item))) raise(vm, Exc::OverflowError, "intermediate overflow in fsum");
        return true;
    });
    if (sum.opposite_infinities()) raise(vm, Exc::ValueError, "-inf + inf in fsum");
    return real(sum.total());
}

Ref math_prod(Vm& vm, const Args& args) {
    Ref product = args[1];
    walk(vm, args[0], [&](Value item) {
        product = product.get().is_float() && item.is_float() ? real(product.get().f * item.f)
                                                              : binary(vm, BinaryOp::Mul, product, item);
        return true;
    });
    return product;
}

void fill_math(Vm& vm, Module* module) {
    set_value(vm, module, "pi", Value::real(std::numbers::pi));
    set_value(vm, module, "e", Value::real(std::numbers::e));
    set_value(vm, module, "tau", Value::real(2 * std::numbers::pi));
    set_value(vm, module, "inf", Value::real(INFINITY));
    set_value(vm, module, "nan", Value::real(NAN));
}

}  // namespace talc::stdlib
