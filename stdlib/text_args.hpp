#pragma once
// What the methods of str and bytes share: their arguments, and results that may be the receiver itself.
#include <string>
#include <string_view>

#include "base/text/buffer.hpp"
#include "base/text/search.hpp"
#include "stdlib/support.hpp"
#include "vm/format.hpp"

namespace talc::stdlib {

inline Str* self_str(const Args& args) { return cast<Str>(args[0]); }

// A wrong argument as CPython's argument parser names it: by its class, but for None.
inline std::string_view shown_type(Vm& vm, Value v) { return v.is_none() ? "None" : class_name(vm, v); }

// A str argument, with the message of CPython's argument parser: "replace() argument 1 must be str, not int".
inline std::string_view str_argument(Vm& vm, Value v, const char* what) {
    if (!v.is_kind(Kind::Str)) [[unlikely]] raise(vm, Exc::TypeError, "{} must be str, not {}", what, shown_type(vm, v));
    return cast<Str>(v)->view();
}
// "must be str, not int"
inline std::string_view str_argument(Vm& vm, Value v) {
    if (!v.is_kind(Kind::Str)) [[unlikely]] raise(vm, Exc::TypeError, "must be str, not {}", class_name(vm, v));
    return cast<Str>(v)->view();
}

// The start or end argument of find, count and their sisters.
inline int64_t position_argument(Vm& vm, Value v, int64_t absent) {
    if (v.is_int()) return v.i;
    if (v.is_none() || v.is_undef()) return absent;
    if (!is_integer(v) && find_special(vm, v, Special::Index).is_undef()) {
        raise(vm, Exc::TypeError, "slice indices must be integers or None or have an __index__ method");
    }
    return to_index(vm, v);
}

// The string itself where its class is str, a plain copy where it is a subclass.
inline Ref plain_str(Vm& vm, Str* s) {
    if (s->cls == vm.classes.str) return Ref(static_cast<Object*>(s));
    return make_str(vm, s->view());
}
// A part of s: s itself if it is all of it.
inline Ref part_of(Vm& vm, Str* s, std::string_view part) {
    if (part.size() == s->size) return plain_str(vm, s);
    return s->ascii() ? make_ascii_str(vm, part) : make_str(vm, part);
}

// list(iterable); what cannot be iterated over gives a TypeError with this message.
inline Ptr<List> iterable_to_list(Vm& vm, Value iterable, const char* message) {
    Ref iterator;
    try {
        iterator = iterate(vm, iterable);
    } catch (Raised&) {
        if (!catch_raised(vm, Exc::TypeError)) throw;
        raise(vm, Exc::TypeError, message);
    }
    return list_from_iterable(vm, iterator);
}

// Appends a function's output to a buffer and makes a str of it.
template <class Append, class... A>
Ref made_str(Vm& vm, Append&& append, A&&... arguments) {
    text::Buffer out(text_limit(vm));
    append(out, std::forward<A>(arguments)...);
    return make_str(vm, out);
}

}  // namespace talc::stdlib
