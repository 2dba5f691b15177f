// format % args. The text functions read the template; here are the arguments.
#include <cmath>
#include <cstring>
#include <string>

#include "base/text/number_text.hpp"
#include "base/text/percent_format.hpp"
#include "vm/format.hpp"
#include "vm/tensor.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

// Anything that can be subscripted counts as a mapping, but tuples and strings.
bool is_mapping(Vm& vm, Value v) {
    if (!v.is_obj()) return false;
    switch (v.o->kind) {
        case Kind::Tuple:
        case Kind::Str: return false;
        case Kind::Dict:
        case Kind::List:
        case Kind::Bytes:
        case Kind::Range: return true;
        default: return !find_special(vm, v, Special::GetItem).is_undef();
    }
}

class Formatter {
  public:
    Formatter(Vm& vm, Str* format, Value args) : vm_(vm), out_(text_limit(vm)), reader_(format->view()), args_(args) {
        if (args.is_kind(Kind::Tuple)) {
            items_ = cast<Tuple>(args)->items;
            left_ = cast<Tuple>(args)->size;
        } else {
            items_ = &args_;
            left_ = 1;
        }
    }

    Ref run() {
        for (;;) {
            for (std::string_view text = reader_.literal(); !text.empty(); text = reader_.literal()) out_.append(text);
            text::PercentSpec spec;
            if (!reader_.conversion(spec)) break;
            convert(spec);
        }
        if (left_ != 0 && !is_mapping(vm_, args_)) raise(vm_, Exc::TypeError, std::string(text::kTooManyArguments));
        return make_str(vm_, out_);
    }

  private:
    Value next_argument() {
        if (left_ == 0) raise(vm_, Exc::TypeError, std::string(text::kTooFewArguments));
        --left_;
        return *items_++;
    }

    int64_t star_argument() {
        Value v = next_argument();
        if (!is_integer(v)) raise(vm_, Exc::TypeError, std::string(text::kStarWantsInt));
        int64_t n = int_value(v);
        if (n != static_cast<int32_t>(n)) raise(vm_, Exc::OverflowError, "Python int too large to convert to C int");
        return n;
    }

    void convert(text::PercentSpec& spec) {
        if (spec.has_key) {
            if (!is_mapping(vm_, args_)) raise(vm_, Exc::TypeError, std::string(text::kNeedsMapping));
            if (spec.error_in_key) check(vm_, spec.error);
            keyed_ = get_item(vm_, args_, make_str(vm_, spec.key));
            keyed_value_ = keyed_;
            items_ = &keyed_value_;
            left_ = 1;
        }
        if (spec.width_from_args) spec.set_width(star_argument());
        if (spec.precision_from_args) spec.set_precision(star_argument());
        check(vm_, spec.error);
        Value v = next_argument();
        switch (spec.type) {
            case 's': return text::append_percent_text(out_, spec, to_str(vm_, v)->view());
            case 'r': return text::append_percent_text(out_, spec, repr(vm_, v)->view());
            case 'a': return text::append_percent_text(out_, spec, ascii(vm_, v)->view());
            case 'd':
            case 'i':
            case 'u':
            case 'o':
            case 'x':
            case 'X': return put_integer(spec, v);
            case 'e':
            case 'E':
            case 'f':
            case 'F':
            case 'g':
            case 'G': return text::append_percent_float(out_, spec, to_double(vm_, v));
            case 'c': return put_char(spec, v);
            default: raise_failure(vm_, text::unsupported(spec));
        }
    }

    void put_integer(text::PercentSpec& spec, Value v) {
        bool exact = spec.type == 'o' || spec.type == 'x' || spec.type == 'X';  // takes no floats
        Ref converted;
        if (is_tensor(v)) return put_integer(spec, exact ? Value::integer(tensor_index(vm_, v)) : tensor_number(vm_, v));
        if (!is_integer(v)) {
            Value method = exact ? Value::undef() : find_special(vm_, v, Special::Int);
            if (method.is_undef()) method = find_special(vm_, v, Special::Index);
            bool real = v.is_float() || v.is_kind(Kind::BoxedFloat);
            if (!method.is_undef()) {
                converted = call_special(vm_, method, v);
            } else if (real && !exact) {
                double f = std::trunc(to_double(vm_, v));
                if (std::isfinite(f) && std::abs(f) >= 9e18 && spec.precision < 0) {
                    // The digits of an integer of any size.
                    spec.type = 'f';
                    spec.precision = 0;
                    spec.alternate = false;
                    return text::append_percent_float(out_, spec, f);
                }
                converted = Value::integer(check(vm_, text::float_to_int(f)));
            }
            if (!is_integer(converted)) raise_failure(vm_, text::needs_number(spec, class_name(vm_, v)));
            v = converted;
        }
        check(vm_, text::append_percent_int(out_, spec, int_value(v)));
    }

    void put_char(const text::PercentSpec& spec, Value v) {
        if (v.is_kind(Kind::Str) && cast<Str>(v)->length == 1) {
            return text::append_percent_text(out_, spec, cast<Str>(v)->view());
        }
        if (!is_integer(v) && find_special(vm_, v, Special::Index).is_undef()) {
            raise(vm_, Exc::TypeError, std::string(text::kNeedsChar));
        }
        check(vm_, text::append_percent_char(out_, spec, to_index(vm_, v)));
    }

    Vm& vm_;
    text::Buffer out_;
    text::PercentReader reader_;
    Value args_;
    const Value* items_;      // arguments not yet taken
    size_t left_;
    Ref keyed_;               // what the last %(key) gave: the one argument of its conversion
    Value keyed_value_;
};

}  // namespace

Ref str_percent(Vm& vm, Str* format, Value args) {
    // Nothing to convert: the format itself, whatever its class.
    if (!std::memchr(format->data, '%', format->size)) {
        bool unused = args.is_kind(Kind::Tuple) ? cast<Tuple>(args)->size != 0 : !is_mapping(vm, args);
        if (unused) raise(vm, Exc::TypeError, std::string(text::kTooManyArguments));
        return Ref(static_cast<Object*>(format));
    }
    // Conversions may run script code that drops the last reference to either.
    Ref keep_format(static_cast<Object*>(format)), keep_args(args);
    return Formatter(vm, format, args).run();
}

}  // namespace talc::vm
