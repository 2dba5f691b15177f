#include "vm/arith.hpp"

#include "base/text/number_text.hpp"
#include "vm/class.hpp"
#include "vm/containers.hpp"
#include "vm/format.hpp"
#include "vm/tensor.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

__extension__ typedef unsigned __int128 Wide;

void raise_int_overflow(Vm& vm) { raise(vm, Exc::OverflowError, std::string(text::kIntTooLarge)); }

double int_true_div(int64_t a, int64_t b) {
    constexpr int64_t kExact = int64_t{1} << 53;
    if (a > -kExact && a < kExact && b > -kExact && b < kExact) return static_cast<double>(a) / static_cast<double>(b);
    bool negative = (a < 0) != (b < 0);
    uint64_t n = text::magnitude_of(a);
    uint64_t d = text::magnitude_of(b);
    if (n == 0) return negative ? -0.0 : 0.0;
    // A quotient of at least 55 bits with a sticky last bit rounds correctly when it becomes a double.
    int shift = 55 + __builtin_clzll(n) - __builtin_clzll(d) + 1;
    if (shift < 0) shift = 0;
    Wide scaled = static_cast<Wide>(n) << shift;
    auto quotient = static_cast<uint64_t>(scaled / d);
    if (scaled % d != 0) quotient |= 1;
    double result = std::ldexp(static_cast<double>(quotient), -shift);
    return negative ? -result : result;
}

int64_t int_power(Vm& vm, int64_t base, int64_t exponent) {
    int64_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) raise_int_overflow(vm);
        exponent >>= 1;
        if (exponent && __builtin_mul_overflow(base, base, &base)) raise_int_overflow(vm);
    }
    return result;
}

double float_power(Vm& vm, double base, double exponent) {
    if (base == 0 && exponent < 0) raise(vm, Exc::ZeroDivisionError, std::string("0.0 cannot be raised to a negative power"));
    if (base < 0 && std::isfinite(base) && std::isfinite(exponent) && exponent != std::floor(exponent)) {
        raise(vm, Exc::ValueError, std::string("a negative number to a fractional power is complex, which is not in the language"));
    }
    double result = std::pow(base, exponent);
    if (std::isinf(result) && std::isfinite(base) && std::isfinite(exponent)) {
        Value args[] = {Value::integer(34), Value()};
        Ref text = make_str(vm, "Numerical result out of range");
        args[1] = text;
        raise_object(vm, make_exception(vm, vm.classes.of(Exc::OverflowError), args, 2));
    }
    return result;
}

namespace {

constexpr const char* kOperatorText[] = {"+", "-", "*", "/", "//", "%", "** or pow()", "@", "<<", ">>", "&", "|", "^"};
constexpr int kBinaryOps = sizeof(kOperatorText) / sizeof(kOperatorText[0]);

Special plain_special(BinaryOp op) { return static_cast<Special>(static_cast<int>(Special::Add) + static_cast<int>(op)); }
Special reflected_special(BinaryOp op) { return static_cast<Special>(static_cast<int>(Special::RAdd) + static_cast<int>(op)); }
Special in_place_special(BinaryOp op) { return static_cast<Special>(static_cast<int>(Special::IAdd) + static_cast<int>(op)); }
static_assert(static_cast<int>(Special::Xor) - static_cast<int>(Special::Add) == kBinaryOps - 1);
static_assert(static_cast<int>(Special::RXor) - static_cast<int>(Special::RAdd) == kBinaryOps - 1);
static_assert(static_cast<int>(Special::IXor) - static_cast<int>(Special::IAdd) == kBinaryOps - 1);

Value int_op(Vm& vm, BinaryOp op, int64_t a, int64_t b) {
    int64_t r = 0;
    switch (op) {
        case BinaryOp::Add:
            if (__builtin_add_overflow(a, b, &r)) raise_int_overflow(vm);
            return Value::integer(r);
        case BinaryOp::Sub:
            if (__builtin_sub_overflow(a, b, &r)) raise_int_overflow(vm);
            return Value::integer(r);
        case BinaryOp::Mul:
            if (__builtin_mul_overflow(a, b, &r)) raise_int_overflow(vm);
            return Value::integer(r);
        case BinaryOp::Div:
            if (b == 0) raise(vm, Exc::ZeroDivisionError, std::string("division by zero"));
            return Value::real(int_true_div(a, b));
        case BinaryOp::FloorDiv:
            if (b == 0) raise(vm, Exc::ZeroDivisionError, std::string("integer division or modulo by zero"));
            if (b == -1) {
                if (__builtin_sub_overflow(int64_t{0}, a, &r)) raise_int_overflow(vm);
                return Value::integer(r);
            }
            return Value::integer(floor_div(a, b));
        case BinaryOp::Mod:
            if (b == 0) raise(vm, Exc::ZeroDivisionError, std::string("integer modulo by zero"));
            return Value::integer(b == -1 ? 0 : floor_mod(a, b));
        case BinaryOp::Pow:
            if (b < 0) return Value::real(float_power(vm, static_cast<double>(a), static_cast<double>(b)));
            return Value::integer(int_power(vm, a, b));
        case BinaryOp::LShift:
            if (b < 0) raise(vm, Exc::ValueError, std::string("negative shift count"));
            if (a == 0) return Value::integer(0);
            if (b > 63) raise_int_overflow(vm);
            r = static_cast<int64_t>(static_cast<uint64_t>(a) << b);
            if (r >> b != a) raise_int_overflow(vm);
            return Value::integer(r);
        case BinaryOp::RShift:
            if (b < 0) raise(vm, Exc::ValueError, std::string("negative shift count"));
            return Value::integer(a >> (b > 63 ? 63 : b));
        case BinaryOp::And: return Value::integer(a & b);
        case BinaryOp::Or: return Value::integer(a | b);
        case BinaryOp::Xor: return Value::integer(a ^ b);
        case BinaryOp::MatMul: break;
    }
    return Value();
}

Value float_op(Vm& vm, BinaryOp op, double a, double b) {
    switch (op) {
        case BinaryOp::Add: return Value::real(a + b);
        case BinaryOp::Sub: return Value::real(a - b);
        case BinaryOp::Mul: return Value::real(a * b);
        case BinaryOp::Div:
            if (b == 0) raise(vm, Exc::ZeroDivisionError, std::string("float division by zero"));
            return Value::real(a / b);
        case BinaryOp::FloorDiv:
            if (b == 0) raise(vm, Exc::ZeroDivisionError, std::string("float floor division by zero"));
            return Value::real(float_floor_div(a, b));
        case BinaryOp::Mod:
            if (b == 0) raise(vm, Exc::ZeroDivisionError, std::string("float modulo"));
            return Value::real(float_mod(a, b));
        case BinaryOp::Pow: return Value::real(float_power(vm, a, b));
        default: return Value();
    }
}

bool is_float_like(Value v) { return v.is_float() || v.is_kind(Kind::BoxedFloat); }

// Undef: not two numbers, or not an operation on them.
Value number_op(Vm& vm, BinaryOp op, Value a, Value b) {
    if (!is_number(a) || !is_number(b)) return Value();
    if (!is_float_like(a) && !is_float_like(b)) {
        if (a.is_bool() && b.is_bool() && op >= BinaryOp::And) {
            return Value::boolean(op == BinaryOp::And ? a.b && b.b : op == BinaryOp::Or ? a.b || b.b : a.b != b.b);
        }
        return int_op(vm, op, int_value(a), int_value(b));
    }
    return float_op(vm, op, to_double(vm, a), to_double(vm, b));
}

bool is_sequence(Value v) {
    return v.is_kind(Kind::Str) || v.is_kind(Kind::List) || v.is_kind(Kind::Tuple) || v.is_kind(Kind::Bytes);
}

[[noreturn]] void cannot_concatenate(Vm& vm, std::string_view what, Value b) {
    if (what == "bytes") raise(vm, Exc::TypeError, "can't concat {} to bytes", class_name(vm, b));
    raise(vm, Exc::TypeError, "can only concatenate {} (not \"{}\") to {}", what, class_name(vm, b), what);
}

bool has_operator(Vm& vm, Value v, Special special) { return !find_special(vm, v, special).is_undef(); }

Ref repeat(Vm& vm, Value sequence, int64_t times) {
    switch (sequence.o->kind) {
        case Kind::Str: return str_repeat(vm, cast<Str>(sequence), times);
        case Kind::List: return list_repeat(vm, cast<List>(sequence), times);
        case Kind::Tuple: return tuple_repeat(vm, cast<Tuple>(sequence), times);
        default: return bytes_repeat(vm, cast<Bytes>(sequence), times);
    }
}

// Operators of the builtin sequences; empty: not theirs.
Ref sequence_op(Vm& vm, BinaryOp op, Value a, Value b) {
    bool b_wants = b.is_obj() && has_operator(vm, b, reflected_special(op));
    if (op == BinaryOp::Add && a.is_obj() && !b_wants) {
        switch (a.o->kind) {
            case Kind::Str:
                if (!b.is_kind(Kind::Str)) cannot_concatenate(vm, "str", b);
                return str_add(vm, cast<Str>(a), cast<Str>(b));
            case Kind::List:
                if (!b.is_kind(Kind::List)) cannot_concatenate(vm, "list", b);
                return list_concat(vm, cast<List>(a), cast<List>(b));
            case Kind::Tuple:
                if (!b.is_kind(Kind::Tuple)) cannot_concatenate(vm, "tuple", b);
                return tuple_concat(vm, cast<Tuple>(a), cast<Tuple>(b));
            case Kind::Bytes:
                if (!b.is_kind(Kind::Bytes)) cannot_concatenate(vm, "bytes", b);
                return bytes_concat(vm, cast<Bytes>(a), cast<Bytes>(b));
            default: break;
        }
    }
    if (op == BinaryOp::Mul) {
        for (auto [sequence, times] : {std::pair{a, b}, std::pair{b, a}}) {
            if (!is_sequence(sequence)) continue;
            if (sequence.same(b) && b_wants && !sequence.same(a)) return {};
            if (!is_integer(times)) {
                if (has_operator(vm, times, Special::Mul) || has_operator(vm, times, Special::RMul)) return {};
                if (!has_operator(vm, times, Special::Index) && !is_tensor(times)) {
                    raise(vm, Exc::TypeError, "can't multiply sequence by non-int of type '{}'", class_name(vm, times));
                }
            }
            return repeat(vm, sequence, to_index(vm, times));
        }
    }
    if (op == BinaryOp::Mod && a.is_kind(Kind::Str)) return str_percent(vm, cast<Str>(a), b);
    return {};
}

// The method that v's class has for an operator: a script's, or a native one (sets, dicts, tensors).
Value operator_method(Vm& vm, Value v, Special special) {
    if (!v.is_obj()) return Value();
    Value method = find_special(vm, v.o->cls, special);
    if (!method.is_undef()) return method;
    switch (v.o->kind) {
        case Kind::Set:
        case Kind::Dict:
        case Kind::DictView:
        case Kind::Class:  // int | None
        case Kind::Foreign: return find_class_attr(vm, v.o->cls, vm.names.special(special));
        default: return Value();
    }
}

Ref try_operator(Vm& vm, Value method, Value self, Value other) {
    if (method.is_undef() || method.is_none()) return {};
    Ref result = call_special(vm, method, self, other);
    return result.get().tag == Tag::NotImplemented ? Ref() : result;
}

Ref binary_or_empty(Vm& vm, BinaryOp op, Value a, Value b) {
    if (is_tensor(a) || is_tensor(b)) {
        if (Ref result = tensor_binary(vm, op, a, b)) return result;
    }
    bool scripted = (a.is_obj() && (a.o->cls->user || a.o->cls->foreign_specials)) ||
                    (b.is_obj() && (b.o->cls->user || b.o->cls->foreign_specials));
    if (!scripted) {
        Value number = number_op(vm, op, a, b);
        if (!number.is_undef()) return number;
    }
    RecursionGuard guard(vm);
    Value own = operator_method(vm, a, plain_special(op));
    Value other = operator_method(vm, b, reflected_special(op));
    bool same_class = class_of(vm, a) == class_of(vm, b);
    bool other_first = !same_class && !other.is_undef() && is_subclass(class_of(vm, b), class_of(vm, a)) && !other.same(operator_method(vm, a, reflected_special(op)));
    if (other_first) {
        if (Ref result = try_operator(vm, other, b, a)) return result;
    }
    if (Ref result = try_operator(vm, own, a, b)) return result;
    if (own.is_undef()) {
        if (scripted) {
            Value number = number_op(vm, op, a, b);
            if (!number.is_undef() && other.is_undef()) return number;
        }
        if (Ref result = sequence_op(vm, op, a, b)) return result;
    }
    if (!other_first && !same_class) {
        if (Ref result = try_operator(vm, other, b, a)) return result;
    }
    if (op == BinaryOp::Mul) {
        // Both sides said no, and one is a sequence: it is repeated after all, or CPython names the other.
        for (auto [sequence, times] : {std::pair{a, b}, std::pair{b, a}}) {
            if (!is_sequence(sequence)) continue;
            if (is_integer(times) || has_operator(vm, times, Special::Index)) {
                return repeat(vm, sequence, to_index(vm, times));
            }
            if (!is_number(times)) {
                raise(vm, Exc::TypeError, "can't multiply sequence by non-int of type '{}'", class_name(vm, times));
            }
        }
    }
    if (op == BinaryOp::Add && own.is_undef() && is_sequence(a)) cannot_concatenate(vm, class_name(vm, a), b);
    if (scripted) {
        Value number = number_op(vm, op, a, b);
        if (!number.is_undef()) return number;
    }
    return {};
}

[[noreturn]] void unsupported(Vm& vm, const char* text, Value a, Value b) {
    raise(vm, Exc::TypeError, "unsupported operand type(s) for {}: '{}' and '{}'", text, class_name(vm, a), class_name(vm, b));
}

}  // namespace

const char* operator_text(BinaryOp op) { return op == BinaryOp::Pow ? "**" : kOperatorText[static_cast<int>(op)]; }

Ref binary(Vm& vm, BinaryOp op, Value a, Value b) {
    if (Ref result = binary_or_empty(vm, op, a, b)) return result;
    unsupported(vm, kOperatorText[static_cast<int>(op)], a, b);
}

Ref binary_in_place(Vm& vm, BinaryOp op, Value a, Value b) {
    if (is_tensor(a)) {
        if (Ref result = tensor_in_place(vm, op, a, b)) return result;
    } else if (a.is_obj()) {
        Value method = operator_method(vm, a, in_place_special(op));
        if (Ref result = try_operator(vm, method, a, b)) return result;
        if (a.o->kind == Kind::List && method.is_undef()) {
            if (op == BinaryOp::Add) {
                list_extend(vm, cast<List>(a), b);
                return a;
            }
            if (op == BinaryOp::Mul && is_integer(b)) {
                list_repeat_in_place(vm, cast<List>(a), int_value(b));
                return a;
            }
        }
    }
    if (Ref result = binary_or_empty(vm, op, a, b)) return result;
    std::string text = std::string(operator_text(op)) + "=";
    unsupported(vm, text.c_str(), a, b);
}

Ref unary(Vm& vm, UnaryOp op, Value v) {
    constexpr Special kSpecials[] = {Special::Neg, Special::Pos, Special::Invert};
    constexpr const char* kText[] = {"-", "+", "~"};
    if (is_tensor(v)) return tensor_unary(vm, op, v);
    Value method = find_special(vm, v, kSpecials[static_cast<int>(op)]);
    if (!method.is_undef()) return call_special(vm, method, v);
    if (is_integer(v)) {
        int64_t x = int_value(v);
        if (op == UnaryOp::Pos) return Value::integer(x);
        if (op == UnaryOp::Invert) return Value::integer(~x);
        int64_t r;
        if (__builtin_sub_overflow(int64_t{0}, x, &r)) raise_int_overflow(vm);
        return Value::integer(r);
    }
    if (is_number(v) && op != UnaryOp::Invert) {
        double x = to_double(vm, v);
        return Value::real(op == UnaryOp::Neg ? -x : x);
    }
    raise(vm, Exc::TypeError, "bad operand type for unary {}: '{}'", kText[static_cast<int>(op)], class_name(vm, v));
}

Ref power(Vm& vm, Value a, Value b, Value modulus) {
    if (modulus.is_undef() || modulus.is_none()) return binary(vm, BinaryOp::Pow, a, b);
    if (!is_integer(a) || !is_integer(b) || !is_integer(modulus)) {
        if (is_number(a) && is_number(b) && is_number(modulus)) {
            raise(vm, Exc::TypeError, std::string("pow() 3rd argument not allowed unless all arguments are integers"));
        }
        Value method = find_special(vm, a, Special::Pow);
        if (!method.is_undef()) return call_special(vm, method, a, b, modulus);
        raise(vm, Exc::TypeError, "unsupported operand type(s) for ** or pow(): '{}', '{}', '{}'", class_name(vm, a),
              class_name(vm, b), class_name(vm, modulus));
    }
    int64_t m = int_value(modulus);
    int64_t e = int_value(b);
    if (m == 0) raise(vm, Exc::ValueError, std::string("pow() 3rd argument cannot be 0"));
    uint64_t size = text::magnitude_of(m);
    auto reduce = [&](int64_t x) {
        uint64_t r = text::magnitude_of(x) % size;
        return x < 0 && r ? size - r : r;
    };
    uint64_t base = reduce(int_value(a));
    if (e < 0) {
        // The inverse, by the extended Euclidean algorithm.
        __extension__ __int128 t = 0, new_t = 1;
        uint64_t r = size, new_r = base;
        while (new_r) {
            uint64_t q = r / new_r;
            t -= static_cast<decltype(t)>(q) * new_t;
            std::swap(t, new_t);
            r -= q * new_r;
            std::swap(r, new_r);
        }
        if (r != 1) raise(vm, Exc::ValueError, std::string("base is not invertible for the given modulus"));
        base = static_cast<uint64_t>(t < 0 ? t + size : t);
        e = e == INT64_MIN ? INT64_MAX : -e;
    }
    Wide result = 1 % size;
    Wide factor = base;
    for (auto bits = static_cast<uint64_t>(e); bits; bits >>= 1) {
        if (bits & 1) result = result * factor % size;
        factor = factor * factor % size;
    }
    auto plain = static_cast<uint64_t>(result);
    if (m < 0 && plain) return Value::integer(-static_cast<int64_t>(size - plain));
    return Value::integer(static_cast<int64_t>(plain));
}

}  // namespace talc::vm
