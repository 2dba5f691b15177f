#pragma once
// What the methods of bytes share.
#include <string_view>

#include "stdlib/text_args.hpp"

namespace talc::stdlib {

inline Bytes* self_bytes(const Args& args) { return cast<Bytes>(args[0]); }
inline std::string_view self_view(const Args& args) { return self_bytes(args)->view(); }

inline std::string_view bytes_argument(Vm& vm, Value v) {
    if (!v.is_kind(Kind::Bytes)) raise(vm, Exc::TypeError, "a bytes-like object is required, not '{}'", class_name(vm, v));
    return cast<Bytes>(v)->view();
}

// The bytes object itself where its class is bytes, a plain copy where it is a subclass.
inline Ref plain_bytes(Vm& vm, Bytes* b) {
    if (b->cls == vm.classes.bytes) return Ref(static_cast<Object*>(b));
    return make_bytes(vm, b->view());
}
inline Ref part_of(Vm& vm, Bytes* b, std::string_view part) {
    if (part.size() == b->size) return plain_bytes(vm, b);
    return make_bytes(vm, part);
}

template <class Append, class... A>
Ref made_bytes(Vm& vm, Append&& append, A&&... arguments) {
    text::Buffer out(text_limit(vm));
    append(out, std::forward<A>(arguments)...);
    return make_bytes(vm, out);
}

}  // namespace talc::stdlib
