// float.
#include <bit>
#include <cmath>

#include "base/text/number_parse.hpp"
#include "base/text/number_text.hpp"
#include "base/text/repr.hpp"
#include "stdlib/builtins.hpp"
#include "stdlib/text_args.hpp"
#include "vm/tensor.hpp"

namespace talc::stdlib {

namespace {

double float_value(Value v) { return v.is_float() ? v.f : cast<BoxedFloat>(v)->value; }
double self_float(const Args& args) { return float_value(args[0]); }
bool is_real(Value v) { return v.is_float() || v.is_kind(Kind::BoxedFloat); }

// A builtin number as a plain float; other values are none.
bool take_float(Value v, double& x) {
    if (is_real(v)) x = float_value(v);
    else if (is_integer(v)) x = static_cast<double>(int_value(v));
    else return false;
    return true;
}

// A nan with bits of its own. Values are the same object when their bits are: float("nan") is found in a list by identity,
// but another float("nan") is not.
double fresh_nan(Vm& vm, double nan) {
    static constexpr char kCounter = 0;
    auto& counter = vm.extension[&kCounter];
    if (!counter) counter = std::make_shared<uint64_t>(0);
    constexpr uint64_t kPayload = (uint64_t{1} << 51) - 1;
    uint64_t number = ++*static_cast<uint64_t*>(counter.get()) & kPayload;
    return std::bit_cast<double>((std::bit_cast<uint64_t>(nan) & ~kPayload) | number);
}

double parsed(Vm& vm, std::string_view text, bool bytes) {
    auto value = text::parse_float(text);
    if (value) return std::isnan(*value) ? fresh_nan(vm, *value) : *value;
    if (!bytes) raise(vm, Exc::ValueError, text::invalid_float_message(text));
    raise(vm, Exc::ValueError, "could not convert string to float: {}", text::make(text::append_bytes_repr, text));
}

double float_from(Vm& vm, Value v) {
    if (v.is_float()) return v.f;
    if (v.is_int()) return static_cast<double>(v.i);
    if (is_plain(v, Kind::Str)) return parsed(vm, cast<Str>(v)->view(), false);
    Value method = find_special(vm, v, Special::Float);
    if (!method.is_undef()) {
        Ref result = call_special(vm, method, v);
        if (!is_real(result)) {
            raise(vm, Exc::TypeError, "{}.__float__ returned non-float (type {})", class_name(vm, v),
                  class_name(vm, result));
        }
        return float_value(result);
    }
    if (is_tensor(v)) return to_double(vm, tensor_number(vm, v));
    double x = 0;
    if (take_float(v, x)) return x;
    if (!find_special(vm, v, Special::Index).is_undef()) return static_cast<double>(to_index(vm, v));
    if (v.is_kind(Kind::Str)) return parsed(vm, cast<Str>(v)->view(), false);
    if (v.is_kind(Kind::Bytes)) return parsed(vm, cast<Bytes>(v)->view(), true);
    raise(vm, Exc::TypeError, "float() argument must be a string or a real number, not '{}'", class_name(vm, v));
}

}  // namespace

Ref float_new(Vm& vm, const Args& args) {
    Class* cls = class_to_make(vm, args[0], vm.classes.float_);
    return make_float_of(vm, cls, args.has(1) ? float_from(vm, args[1]) : 0.0);
}

Ref float_fromhex(Vm& vm, const Args& args) {
    if (!is_str(args[1])) raise(vm, Exc::TypeError, "bad argument type for built-in operation");
    Value made = Value::real(check(vm, text::parse_float_hex(cast<Str>(args[1])->view())));
    if (args[0].same(Value::object(vm.classes.float_))) return made;
    return call(vm, args[0], made);
}

Ref float_float(Vm&, const Args& args) { return real(self_float(args)); }
Ref float_imag(Vm&, const Args&) { return real(0.0); }
Ref float_is_integer(Vm&, const Args& args) { return boolean(text::is_integer(self_float(args))); }
Ref float_hex(Vm& vm, const Args& args) { return made_str(vm, text::append_float_hex, self_float(args)); }
Ref float_as_integer_ratio(Vm& vm, const Args& args) {
    text::Ratio ratio = check(vm, text::as_integer_ratio(self_float(args)));
    return make_tuple(vm, {Value::integer(ratio.numerator), Value::integer(ratio.denominator)});
}

// ---- Special methods ----

namespace {

Ref float_operation(Vm& vm, BinaryOp op, Value a, Value b) {
    double x = 0, y = 0;
    if (!take_float(a, x) || !take_float(b, y)) return not_implemented();
    return binary(vm, op, Value::real(x), Value::real(y));
}

Ref float_divided(Vm& vm, Value a, Value b) {
    double x = 0, y = 0;
    if (!take_float(a, x) || !take_float(b, y)) return not_implemented();
    if (y == 0) raise(vm, Exc::ZeroDivisionError, "float divmod()");
    Ref quotient = binary(vm, BinaryOp::FloorDiv, Value::real(x), Value::real(y));
    Ref remainder = binary(vm, BinaryOp::Mod, Value::real(x), Value::real(y));
    return make_tuple(vm, {quotient, remainder});
}

Ref float_power(Vm& vm, Value a, Value b, Value modulus) {
    if (!modulus.is_none()) {
        raise(vm, Exc::TypeError, "pow() 3rd argument not allowed unless all arguments are integers");
    }
    return float_operation(vm, BinaryOp::Pow, a, b);
}

}  // namespace

#define OPERATOR(method, op)                                                                                      \
    Ref float_##method(Vm& vm, const Args& args) { return float_operation(vm, BinaryOp::op, args[0], args[1]); } \
    Ref float_r##method(Vm& vm, const Args& args) { return float_operation(vm, BinaryOp::op, args[1], args[0]); }
OPERATOR(add, Add)
OPERATOR(sub, Sub)
OPERATOR(mul, Mul)
OPERATOR(truediv, Div)
OPERATOR(floordiv, FloorDiv)
OPERATOR(mod, Mod)
#undef OPERATOR

Ref float_divmod(Vm& vm, const Args& args) { return float_divided(vm, args[0], args[1]); }
Ref float_rdivmod(Vm& vm, const Args& args) { return float_divided(vm, args[1], args[0]); }
Ref float_pow(Vm& vm, const Args& args) { return float_power(vm, args[0], args[1], args[2]); }
Ref float_rpow(Vm& vm, const Args& args) { return float_power(vm, args[1], args[0], args[2]); }

// The VM compares ints and floats exactly, without rounding the int.
#define COMPARISON(method, op)                                                                              \
    Ref float_##method(Vm& vm, const Args& args) {                                                          \
        if (!is_number(args[1]) && !is_real(args[1])) return not_implemented();                             \
        Value other = is_real(args[1]) ? Value::real(float_value(args[1])) : Value::integer(int_value(args[1])); \
        return compare(vm, CompareOp::op, Value::real(self_float(args)), other);                            \
    }
COMPARISON(eq, Eq)
COMPARISON(ne, Ne)
COMPARISON(lt, Lt)
COMPARISON(le, Le)
COMPARISON(gt, Gt)
COMPARISON(ge, Ge)
#undef COMPARISON

Ref float_abs(Vm&, const Args& args) { return real(std::fabs(self_float(args))); }
Ref float_neg(Vm&, const Args& args) { return real(-self_float(args)); }
Ref float_bool(Vm&, const Args& args) { return boolean(self_float(args) != 0); }
Ref float_hash(Vm& vm, const Args& args) { return integer(hash(vm, Value::real(self_float(args)))); }
Ref float_int(Vm& vm, const Args& args) { return integer(check(vm, text::float_to_int(self_float(args)))); }
Ref float_floor(Vm& vm, const Args& args) { return integer(check(vm, text::float_to_int(std::floor(self_float(args))))); }
Ref float_ceil(Vm& vm, const Args& args) { return integer(check(vm, text::float_to_int(std::ceil(self_float(args))))); }
Ref float_repr(Vm& vm, const Args& args) { return made_str(vm, text::append_float_repr, self_float(args)); }

Ref float_format(Vm& vm, const Args& args) {
    return format_plain(vm, args[0], str_argument(vm, args[1], "__format__() argument"));
}

Ref float_round(Vm& vm, const Args& args) {
    double value = self_float(args);
    if (args[1].is_none()) return integer(check(vm, text::float_to_int(text::round_half_even(value))));
    return real(check(vm, text::round_to_digits(value, to_index(vm, args[1]))));
}

}  // namespace talc::stdlib
