#include "vm/format.hpp"

#include <algorithm>
#include <limits>

#include "base/text/format_spec.hpp"
#include "base/text/number_text.hpp"
#include "vm/tensor.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

Exc exception_of(text::ErrorKind kind) {
    switch (kind) {
        case text::ErrorKind::TypeError: return Exc::TypeError;
        case text::ErrorKind::OverflowError: return Exc::OverflowError;
        case text::ErrorKind::IndexError: return Exc::IndexError;
        case text::ErrorKind::KeyError: return Exc::KeyError;
        case text::ErrorKind::ValueError: break;
    }
    return Exc::ValueError;
}

// Digits and a 'd' at most, "6d" or "06d": the specs of tables and counters, without the general parser.
// False: not of that form (or better left to the general one).
bool append_simple_int(text::Buffer& out, int64_t value, std::string_view spec) {
    bool zeros = spec[0] == '0';
    size_t width = 0;
    size_t at = zeros ? 1 : 0;
    for (; at < spec.size() && at < 4 && spec[at] >= '0' && spec[at] <= '9'; ++at) {
        width = width * 10 + static_cast<size_t>(spec[at] - '0');
    }
    if (at < spec.size() && spec[at] == 'd') ++at;
    if (at != spec.size()) return false;
    char digits[text::kIntChars];
    std::string_view number(digits, text::write_int(digits, value));
    size_t padding = width > number.size() ? width - number.size() : 0;
    if (zeros && value < 0) {
        out.push_back('-');
        number.remove_prefix(1);
    }
    out.append(padding, zeros ? '0' : ' ');
    out.append(number);
    return true;
}

// ".3f"
bool append_simple_float(text::Buffer& out, double value, std::string_view spec) {
    if (spec.size() != 3 || spec[0] != '.' || spec[2] != 'f' || spec[1] < '0' || spec[1] > '9') return false;
    text::append_float(out, value, {.type = 'f', .precision = spec[1] - '0'});
    return true;
}

}  // namespace

void raise_failure(Vm& vm, const text::Failure& failure) {
    raise(vm, exception_of(failure.kind), failure.message);
}

size_t text_limit(Vm& vm) {
    size_t left = vm.heap.limit() > vm.heap.used() ? vm.heap.limit() - vm.heap.used() : 0;
    return std::min<size_t>(left, std::numeric_limits<int32_t>::max());
}

Ptr<Str> format_plain(Vm& vm, Value v, std::string_view spec) {
    // A 0-dim tensor is formatted as its number (a parameter is not, as in PyTorch).
    if (is_tensor(v) && v.o->cls == vm.classes.tensor && tensor_of(v).rank() == 0) {
        return format_plain(vm, scalar_value(tensor_item(vm, tensor_of(v))), spec);
    }
    // The empty spec is str(), which a subclass may have changed.
    if (spec.empty()) return to_str(vm, v);
    text::Buffer out(text_limit(vm));
    switch (v.tag) {
        case Tag::Int:
            if (append_simple_int(out, v.i, spec)) return make_ascii_str(vm, out);
            check(vm, text::format_int(out, v.i, spec));
            return make_str(vm, out);
        case Tag::Float:
            if (append_simple_float(out, v.f, spec)) return make_ascii_str(vm, out);
            check(vm, text::format_float(out, v.f, spec));
            return make_str(vm, out);
        case Tag::Bool: check(vm, text::format_bool(out, v.b, spec)); return make_str(vm, out);
        case Tag::Obj:
            if (v.o->kind == Kind::Str) {
                check(vm, text::format_str(out, cast<Str>(v)->view(), spec, class_name(vm, v)));
                return make_str(vm, out);
            }
            if (v.o->kind == Kind::BoxedInt) {
                check(vm, text::format_int(out, cast<BoxedInt>(v)->value, spec, class_name(vm, v)));
                return make_str(vm, out);
            }
            if (v.o->kind == Kind::BoxedFloat) {
                check(vm, text::format_float(out, cast<BoxedFloat>(v)->value, spec, class_name(vm, v)));
                return make_str(vm, out);
            }
            break;
        default: break;
    }
    raise(vm, Exc::TypeError, "unsupported format string passed to {}.__format__", class_name(vm, v));
}

Ptr<Str> format(Vm& vm, Value v, std::string_view spec) {
    if (v.is_obj()) {
        if (v.o->kind == Kind::Str && !v.o->cls->user && spec.empty()) return Ptr<Str>(cast<Str>(v));
        Value method = find_special(vm, v, Special::Format);
        if (!method.is_undef()) {
            Ref result = call_special(vm, method, v, make_str(vm, spec));
            if (!result.is_kind(Kind::Str)) {
                raise(vm, Exc::TypeError, "__format__ must return a str, not {}", class_name(vm, result));
            }
            return Ptr<Str>(cast<Str>(result.get()));
        }
    }
    return format_plain(vm, v, spec);
}

}  // namespace talc::vm
