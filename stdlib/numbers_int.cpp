// int and bool.
#include <bit>

#include "base/text/hash.hpp"
#include "base/text/number_parse.hpp"
#include "base/text/number_text.hpp"
#include "base/text/repr.hpp"
#include "stdlib/builtins.hpp"
#include "stdlib/text_args.hpp"
#include "vm/tensor.hpp"

namespace talc::stdlib {

namespace {

int64_t self_int(const Args& args) { return int_value(args[0]); }

// ---- int(x) ----

int64_t parsed(Vm& vm, std::string_view text, unsigned base, bool bytes) {
    text::ParsedInt result = text::parse_int(text, base);
    if (result.outcome == text::ParseOutcome::Ok) [[likely]] return result.value;
    if (result.outcome == text::ParseOutcome::TooLarge) raise(vm, Exc::OverflowError, std::string(text::kIntTooLarge));
    if (!bytes) raise(vm, Exc::ValueError, text::invalid_int_message(text, base));
    raise(vm, Exc::ValueError, "invalid literal for int() with base {}: {}", base,
          text::make(text::append_bytes_repr, text));
}

int64_t int_from_text(Vm& vm, Value v, Value base_argument) {
    int64_t base = to_index(vm, base_argument);
    if (base != 0 && (base < 2 || base > 36)) raise(vm, Exc::ValueError, "int() base must be >= 2 and <= 36, or 0");
    if (v.is_kind(Kind::Str)) return parsed(vm, cast<Str>(v)->view(), static_cast<unsigned>(base), false);
    if (v.is_kind(Kind::Bytes)) return parsed(vm, cast<Bytes>(v)->view(), static_cast<unsigned>(base), true);
    raise(vm, Exc::TypeError, "int() can't convert non-string with explicit base");
}

int64_t int_from_object(Vm& vm, Value v) {
    Value method = find_special(vm, v, Special::Int);
    if (!method.is_undef()) {
        Ref result = call_special(vm, method, v);
        if (!is_integer(result)) {
            raise(vm, Exc::TypeError, "__int__ returned non-int (type {})", class_name(vm, result));
        }
        return int_value(result);
    }
    if (!find_special(vm, v, Special::Index).is_undef()) return to_index(vm, v);
    if (is_integer(v)) return int_value(v);
    if (v.is_float()) return check(vm, text::float_to_int(v.f));
    if (v.is_kind(Kind::BoxedFloat)) return check(vm, text::float_to_int(cast<BoxedFloat>(v)->value));
    method = find_special(vm, v, Special::Trunc);
    if (!method.is_undef()) {
        Ref result = call_special(vm, method, v);
        if (!is_integer(result)) {
            raise(vm, Exc::TypeError, "__trunc__ returned non-Integral (type {})", class_name(vm, result));
        }
        return int_value(result);
    }
    if (v.is_kind(Kind::Str)) return parsed(vm, cast<Str>(v)->view(), 10, false);
    if (v.is_kind(Kind::Bytes)) return parsed(vm, cast<Bytes>(v)->view(), 10, true);
    raise(vm, Exc::TypeError, "int() argument must be a string, a bytes-like object or a real number, not '{}'",
          class_name(vm, v));
}

int64_t int_from(Vm& vm, Value v) {
    if (v.is_int()) return v.i;
    if (v.is_float()) return check(vm, text::float_to_int(v.f));
    if (is_plain(v, Kind::Str)) return parsed(vm, cast<Str>(v)->view(), 10, false);
    if (is_tensor(v)) return int_from(vm, tensor_number(vm, v));
    return int_from_object(vm, v);
}

}  // namespace

Ref int_new(Vm& vm, const Args& args) {
    Class* cls = class_to_make(vm, args[0], vm.classes.int_);
    int64_t value = 0;
    if (args.has(2)) {
        if (!args.has(1)) raise(vm, Exc::TypeError, "int() missing string argument");
        value = int_from_text(vm, args[1], args[2]);
    } else if (args.has(1)) {
        value = int_from(vm, args[1]);
    }
    return make_int_of(vm, cls, value);
}

Ref bool_new(Vm& vm, const Args& args) {
    class_to_make(vm, args[0], vm.classes.bool_);
    return boolean(truth(vm, args[1]));
}

// ---- Methods ----

Ref int_int(Vm&, const Args& args) { return integer(self_int(args)); }
Ref int_imag(Vm&, const Args&) { return integer(0); }
Ref int_denominator(Vm&, const Args&) { return integer(1); }
Ref int_as_integer_ratio(Vm& vm, const Args& args) {
    return make_tuple(vm, {Value::integer(self_int(args)), Value::integer(1)});
}
Ref int_bit_count(Vm&, const Args& args) { return integer(std::popcount(text::magnitude_of(self_int(args)))); }
Ref int_bit_length(Vm&, const Args& args) {
    return integer(static_cast<int64_t>(std::bit_width(text::magnitude_of(self_int(args)))));
}

namespace {

bool is_little(Vm& vm, Value order, const char* function) {
    if (!is_str(order)) {
        raise(vm, Exc::TypeError, "{}() argument 'byteorder' must be str, not {}", function, shown_type(vm, order));
    }
    std::string_view name = cast<Str>(order)->view();
    if (name != "little" && name != "big") raise(vm, Exc::ValueError, "byteorder must be either 'little' or 'big'");
    return name == "little";
}

}  // namespace

Ref int_to_bytes(Vm& vm, const Args& args) {
    int64_t value = self_int(args);
    int64_t length = to_index(vm, args[1]);
    bool little = is_little(vm, args[2], "to_bytes");
    bool is_signed = truth(vm, args[3]);
    if (length < 0) raise(vm, Exc::ValueError, "length argument must be non-negative");
    if (value < 0 && !is_signed) raise(vm, Exc::OverflowError, "can't convert negative int to unsigned");
    if (length < 8) {
        // Bits that the bytes hold, the sign's own left out.
        int64_t bits = length * 8 - (is_signed ? 1 : 0);
        bool fits = length == 0 ? value == 0 : value >= -(int64_t{1} << bits) && value < (int64_t{1} << bits);
        if (!fits) raise(vm, Exc::OverflowError, "int too big to convert");
    }
    if (static_cast<size_t>(length) > text_limit(vm)) raise(vm, Exc::MemoryError, "");
    std::string bytes(static_cast<size_t>(length), value < 0 ? '\xff' : '\0');
    auto bits = static_cast<uint64_t>(value);
    for (size_t i = 0; i < 8 && i < bytes.size(); i++) {
        bytes[little ? i : bytes.size() - 1 - i] = static_cast<char>(bits >> (8 * i));
    }
    return make_bytes(vm, bytes);
}

Ref int_from_bytes(Vm& vm, const Args& args) {
    Class* cls = class_to_make(vm, args[0], vm.classes.int_);
    bool little = is_little(vm, args[2], "from_bytes");
    bool is_signed = truth(vm, args[3]);
    if (is_str(args[1]) || is_number(args[1]) || args[1].is_none()) {
        raise(vm, Exc::TypeError, "cannot convert '{}' object to bytes", class_name(vm, args[1]));
    }
    std::string bytes;
    if (args[1].is_kind(Kind::Bytes)) {
        bytes = cast<Bytes>(args[1])->view();
    } else {
        for_each(vm, args[1], [&](Value item) {
            int64_t byte = to_index(vm, item);
            if (byte < 0 || byte > 255) raise(vm, Exc::ValueError, "bytes must be in range(0, 256)");
            bytes.push_back(static_cast<char>(byte));
        });
    }
    size_t n = bytes.size();
    auto byte_at = [&](size_t i) { return static_cast<unsigned char>(bytes[little ? i : n - 1 - i]); };
    bool negative = is_signed && n > 0 && byte_at(n - 1) >= 128;
    uint64_t value = negative ? UINT64_MAX : 0;
    for (size_t i = n; i-- > 0;) {
        // Bytes beyond the eighth must only repeat the sign.
        if (i >= 8 && byte_at(i) != (negative ? 255 : 0)) raise(vm, Exc::OverflowError, std::string(text::kIntTooLarge));
        value = value << 8 | byte_at(i);
    }
    if ((static_cast<int64_t>(value) < 0) != negative) raise(vm, Exc::OverflowError, std::string(text::kIntTooLarge));
    Value made = Value::integer(static_cast<int64_t>(value));
    if (cls == vm.classes.int_) return made;
    return call(vm, args[0], made);
}

// ---- Special methods ----

namespace {

// Plain numbers: the VM's arithmetic on them runs no script code.
Ref int_operation(Vm& vm, BinaryOp op, Value a, Value b) {
    if (!is_integer(a) || !is_integer(b)) return not_implemented();
    return binary(vm, op, Value::integer(int_value(a)), Value::integer(int_value(b)));
}

Ref bool_operation(Vm& vm, BinaryOp op, Value a, Value b) {
    if (!a.is_bool() || !b.is_bool()) return int_operation(vm, op, a, b);
    return binary(vm, op, a, b);
}

Ref int_divided(Vm& vm, Value a, Value b) {
    if (!is_integer(a) || !is_integer(b)) return not_implemented();
    if (int_value(b) == 0) raise(vm, Exc::ZeroDivisionError, "integer division or modulo by zero");
    Ref quotient = int_operation(vm, BinaryOp::FloorDiv, a, b);
    Ref remainder = int_operation(vm, BinaryOp::Mod, a, b);
    return make_tuple(vm, {quotient, remainder});
}

Ref int_power(Vm& vm, Value a, Value b, Value modulus) {
    if (!is_integer(a) || !is_integer(b)) return not_implemented();
    if (modulus.is_none()) return int_operation(vm, BinaryOp::Pow, a, b);
    if (!is_integer(modulus)) return not_implemented();
    return power(vm, Value::integer(int_value(a)), Value::integer(int_value(b)), Value::integer(int_value(modulus)));
}

}  // namespace

#define OPERATOR(owner, method, op)                                                                                     \
    Ref owner##_##method(Vm& vm, const Args& args) { return owner##_operation(vm, BinaryOp::op, args[0], args[1]); } \
    Ref owner##_r##method(Vm& vm, const Args& args) { return owner##_operation(vm, BinaryOp::op, args[1], args[0]); }
OPERATOR(int, add, Add)
OPERATOR(int, sub, Sub)
OPERATOR(int, mul, Mul)
OPERATOR(int, truediv, Div)
OPERATOR(int, floordiv, FloorDiv)
OPERATOR(int, mod, Mod)
OPERATOR(int, lshift, LShift)
OPERATOR(int, rshift, RShift)
OPERATOR(int, and, And)
OPERATOR(int, or, Or)
OPERATOR(int, xor, Xor)
OPERATOR(bool, and, And)
OPERATOR(bool, or, Or)
OPERATOR(bool, xor, Xor)
#undef OPERATOR

Ref int_divmod(Vm& vm, const Args& args) { return int_divided(vm, args[0], args[1]); }
Ref int_rdivmod(Vm& vm, const Args& args) { return int_divided(vm, args[1], args[0]); }
Ref int_pow(Vm& vm, const Args& args) { return int_power(vm, args[0], args[1], args[2]); }
Ref int_rpow(Vm& vm, const Args& args) { return int_power(vm, args[1], args[0], args[2]); }

#define COMPARISON(method, op)                                          \
    Ref int_##method(Vm&, const Args& args) {                           \
        if (!is_integer(args[1])) return not_implemented();             \
        return boolean(self_int(args) op int_value(args[1]));           \
    }
COMPARISON(eq, ==)
COMPARISON(ne, !=)
COMPARISON(lt, <)
COMPARISON(le, <=)
COMPARISON(gt, >)
COMPARISON(ge, >=)
#undef COMPARISON

Ref int_neg(Vm& vm, const Args& args) { return unary(vm, UnaryOp::Neg, Value::integer(self_int(args))); }
Ref int_invert(Vm&, const Args& args) { return integer(~self_int(args)); }
Ref int_bool(Vm&, const Args& args) { return boolean(self_int(args) != 0); }
Ref int_float(Vm&, const Args& args) { return real(static_cast<double>(self_int(args))); }
Ref int_hash(Vm&, const Args& args) { return integer(text::hash_int(self_int(args))); }
Ref int_abs(Vm& vm, const Args& args) { return self_int(args) < 0 ? int_neg(vm, args) : int_int(vm, args); }

Ref int_repr(Vm& vm, const Args& args) {
    char digits[text::kIntChars];
    return make_ascii_str(vm, {digits, text::write_int(digits, self_int(args))});
}
Ref bool_repr(Vm& vm, const Args& args) { return make_str(vm, self_int(args) != 0 ? "True" : "False"); }

Ref int_format(Vm& vm, const Args& args) {
    return format_plain(vm, args[0], str_argument(vm, args[1], "__format__() argument"));
}

Ref int_round(Vm& vm, const Args& args) {
    int64_t value = self_int(args);
    if (!args.has(1)) return integer(value);
    int64_t digits = to_index(vm, args[1]);
    if (digits >= 0) return integer(value);
    if (digits < -19) return integer(0);
    // Half to even in units of 10^-digits, in magnitudes: up to 10^19 they fit.
    uint64_t unit = 1;
    for (; digits < 0; digits++) unit *= 10;
    uint64_t magnitude = text::magnitude_of(value);
    uint64_t rest = magnitude % unit;
    uint64_t quotient = magnitude / unit;
    if (rest > unit / 2 || (rest == unit / 2 && quotient % 2 == 1)) quotient++;
    uint64_t rounded = quotient * unit;
    uint64_t most = value < 0 ? uint64_t{1} << 63 : static_cast<uint64_t>(INT64_MAX);
    if (rounded > most) raise(vm, Exc::OverflowError, std::string(text::kIntTooLarge));
    return integer(static_cast<int64_t>(value < 0 ? 0 - rounded : rounded));
}

}  // namespace talc::stdlib
