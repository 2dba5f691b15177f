// Builtin functions that compute: abs divmod pow round sum min max all any sorted.
#include <cmath>

#include "base/text/number_text.hpp"
#include "stdlib/support.hpp"
#include "vm/arith.hpp"
#include "vm/tensor.hpp"

namespace talc::stdlib {

namespace {

double number_value(Value v) {
    if (v.is_float()) return v.f;
    if (v.is_kind(Kind::BoxedFloat)) return cast<BoxedFloat>(v)->value;
    return static_cast<double>(int_value(v));
}

Exc exception_of(text::ErrorKind kind) {
    switch (kind) {
        case text::ErrorKind::ValueError: return Exc::ValueError;
        case text::ErrorKind::TypeError: return Exc::TypeError;
        case text::ErrorKind::OverflowError: return Exc::OverflowError;
        case text::ErrorKind::IndexError: return Exc::IndexError;
        case text::ErrorKind::KeyError: return Exc::KeyError;
    }
    return Exc::ValueError;
}

template <class T>
T value_of(Vm& vm, const text::Result<T>& result) {
    if (!result) raise(vm, exception_of(result.failure().kind), result.failure().message);
    return *result;
}

}  // namespace

Ref builtin_abs(Vm& vm, const Args& args) {
    Value v = args[0];
    if (v.is_float()) return real(std::fabs(v.f));
    if (is_tensor(v)) return tensor_abs(vm, v);
    if (v.is_obj()) {
        Value special = find_special(vm, v, Special::Abs);
        if (!special.is_undef()) return call_special(vm, special, v);
    }
    if (is_integer(v)) {
        int64_t x = int_value(v);
        // The negation of the smallest int raises the language's own OverflowError.
        return x < 0 ? unary(vm, UnaryOp::Neg, Value::integer(x)) : integer(x);
    }
    if (is_number(v)) return real(std::fabs(number_value(v)));
    raise(vm, Exc::TypeError, "bad operand type for abs(): '{}'", class_name(vm, v));
}

Ref builtin_divmod(Vm& vm, const Args& args) {
    Value a = args[0], b = args[1];
    if (a.is_int() && b.is_int() && b.i != 0 && b.i != -1) {
        return make_tuple(vm, {Value::integer(floor_div(a.i, b.i)), Value::integer(floor_mod(a.i, b.i))});
    }
    Value left = find_special(vm, a, Special::Divmod);
    Value right = find_special(vm, b, Special::RDivmod);
    Class* left_class = class_of(vm, a);
    Class* right_class = class_of(vm, b);
    bool right_first = left_class != right_class && is_subclass(right_class, left_class);
    for (bool take_right : {right_first, !right_first}) {
        Value special = take_right ? right : left;
        if (special.is_undef() || (take_right && left_class == right_class)) continue;
        Ref result = take_right ? call_special(vm, special, b, a) : call_special(vm, special, a, b);
        if (result.get().tag != Tag::NotImplemented) return result;
    }
    if (!is_number(a) || !is_number(b)) {
        raise(vm, Exc::TypeError, "unsupported operand type(s) for divmod(): '{}' and '{}'", class_name(vm, a),
              class_name(vm, b));
    }
    if (!(is_integer(a) && is_integer(b)) && number_value(b) == 0) raise(vm, Exc::ZeroDivisionError, "float divmod()");
    auto plain = [](Value v) {
        return is_integer(v) ? Value::integer(int_value(v)) : Value::real(number_value(v));
    };
    Ref quotient = binary(vm, BinaryOp::FloorDiv, plain(a), plain(b));
    Ref remainder = binary(vm, BinaryOp::Mod, plain(a), plain(b));
    return make_tuple(vm, {quotient, remainder});
}

Ref builtin_pow(Vm& vm, const Args& args) {
    if (args[2].is_none()) return binary(vm, BinaryOp::Pow, args[0], args[1]);
    return power(vm, args[0], args[1], args[2]);
}

__extension__ typedef __int128 Wide;

// int.__round__ with digits: to the nearest multiple of 10**-digits, ties to the even one.
int64_t round_int(Vm& vm, int64_t x, int64_t digits) {
    if (digits >= 0) return x;
    if (digits < -19) return 0;
    Wide unit = 1;
    for (int64_t i = digits; i < 0; i++) unit *= 10;
    Wide wide = x;
    Wide rest = wide % unit;
    if (rest < 0) rest += unit;
    Wide down = wide - rest;
    bool odd = (down / unit) % 2 != 0;
    bool up = rest * 2 > unit || (rest * 2 == unit && odd);
    Wide rounded = up ? down + unit : down;
    if (rounded > INT64_MAX || rounded < INT64_MIN) raise(vm, Exc::OverflowError, std::string(text::kIntTooLarge));
    return static_cast<int64_t>(rounded);
}

Ref builtin_round(Vm& vm, const Args& args) {
    Value v = args[0], digits = args[1];
    if (v.is_obj()) {
        Value special = find_special(vm, v, Special::Round);
        if (!special.is_undef()) {
            return digits.is_none() ? call_special(vm, special, v) : call_special(vm, special, v, digits);
        }
    }
    if (is_integer(v)) return integer(digits.is_none() ? int_value(v) : round_int(vm, int_value(v), to_index(vm, digits)));
    if (!is_number(v)) raise(vm, Exc::TypeError, "type {} doesn't define __round__ method", class_name(vm, v));
    double x = number_value(v);
    if (digits.is_none()) {
        // NaN and infinity are named as they are; the rest is rounded first.
        return integer(value_of(vm, text::float_to_int(std::isfinite(x) ? text::round_half_even(x) : x)));
    }
    return real(value_of(vm, text::round_to_digits(x, to_index(vm, digits))));
}

// ---- Folding an iterable --------------------------------------------------------------------------

namespace {

// Adds as CPython's sum does: ints while all are ints, then plain float addition, then the + of the language.
class Sum {
  public:
    Sum(Vm& vm, Value start) : vm_(vm), total_(start) {
        if (start.is_int()) {
            state_ = State::Int;
            i_ = start.i;
        } else if (start.is_float()) {
            state_ = State::Float;
            f_ = start.f;
        }
    }

    void add(Value item) {
        if (state_ == State::Int) {
            if (item.is_int() || item.is_bool()) {
                int64_t x = item.is_int() ? item.i : item.b;
                int64_t sum;
                if (!__builtin_add_overflow(i_, x, &sum)) [[likely]] {
                    i_ = sum;
                    return;
                }
            } else if (item.is_float()) {
                state_ = State::Float;
                f_ = static_cast<double>(i_) + item.f;
                return;
            }
            total_ = Value::integer(i_);
            state_ = State::Any;
        } else if (state_ == State::Float) {
            if (item.is_float()) {
                f_ += item.f;
                return;
            }
            if (item.is_int() || item.is_bool()) {
                f_ += static_cast<double>(item.is_int() ? item.i : item.b);
                return;
            }
            total_ = Value::real(f_);
            state_ = State::Any;
        }
        total_ = binary(vm_, BinaryOp::Add, total_, item);
    }

    Ref result() {
        if (state_ == State::Int) return integer(i_);
        if (state_ == State::Float) return real(f_);
        return std::move(total_);
    }

  private:
    enum class State { Int, Float, Any };
    Vm& vm_;
    State state_ = State::Any;
    int64_t i_ = 0;
    double f_ = 0;
    Ref total_;
};

}  // namespace

Ref builtin_sum(Vm& vm, const Args& args) {
    if (!args.has(0)) raise(vm, Exc::TypeError, "sum() takes at least 1 positional argument (0 given)");
    Value start = args[1];
    if (is_str(start)) raise(vm, Exc::TypeError, "sum() can't sum strings [use ''.join(seq) instead]");
    if (start.is_kind(Kind::Bytes)) raise(vm, Exc::TypeError, "sum() can't sum bytes [use b''.join(seq) instead]");
    Sum sum(vm, start);
    walk(vm, args[0], [&](Value item) {
        sum.add(item);
        return true;
    });
    return sum.result();
}

Ref builtin_all(Vm& vm, const Args& args) {
    bool result = true;
    walk(vm, args[0], [&](Value item) { return result = truth(vm, item); });
    return boolean(result);
}

Ref builtin_any(Vm& vm, const Args& args) {
    bool result = false;
    walk(vm, args[0], [&](Value item) { return !(result = truth(vm, item)); });
    return boolean(result);
}

namespace {

// max (op Gt) and min (op Lt).
Ref extreme(Vm& vm, const Args& args, CompareOp op, const char* name) {
    Value key = args[0];
    if (args.nrest == 0) raise(vm, Exc::TypeError, "{} expected at least 1 argument, got 0", name);
    if (args.nrest > 1 && args.has(1)) {
        raise(vm, Exc::TypeError, "Cannot specify a default for {}() with multiple positional arguments", name);
    }
    Ref best, best_key;
    auto consider = [&](Value item) {
        if (key.is_none()) {
            Value old = best.get();
            bool better = old.is_undef();
            if (!better && item.is_int() && old.is_int()) {
                better = op == CompareOp::Gt ? item.i > old.i : item.i < old.i;
            } else if (!better) {
                better = compare_bool(vm, op, item, old);
            }
            if (better) best = item;
            return true;
        }
        Ref item_key = call(vm, key, item);
        if (!best || compare_bool(vm, op, item_key, best_key)) {
            best = item;
            best_key = std::move(item_key);
        }
        return true;
    };
    if (args.nrest > 1) {
        for (size_t i = 0; i < args.nrest; i++) consider(args.rest[i]);
    } else {
        walk(vm, args.rest[0], consider);
    }
    if (best) return best;
    if (args.has(1)) return args[1];
    raise(vm, Exc::ValueError, "{}() arg is an empty sequence", name);
}

}  // namespace

Ref builtin_max(Vm& vm, const Args& args) { return extreme(vm, args, CompareOp::Gt, "max"); }
Ref builtin_min(Vm& vm, const Args& args) { return extreme(vm, args, CompareOp::Lt, "min"); }

Ref builtin_sorted(Vm& vm, const Args& args) {
    check_count(vm, args, "sorted", 1, 1);
    Ptr<List> list = list_from_iterable(vm, args.rest[0]);
    sort_with_keywords(vm, list.get(), args);
    return list;
}

}  // namespace talc::stdlib
