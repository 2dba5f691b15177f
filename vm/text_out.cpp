#include "vm/text_out.hpp"

#include "base/text/number_text.hpp"
#include "base/text/repr.hpp"

namespace talc::vm {

void append_repr(Vm& vm, text::Buffer& out, Value v) {
    vm.tick(1);
    switch (v.tag) {
        case Tag::Int: text::append_int(out, v.i); return;
        case Tag::Float: text::append_float_repr(out, v.f); return;
        case Tag::Bool: out += v.b ? "True" : "False"; return;
        case Tag::None: out += "None"; return;
        default: break;
    }
    if (v.is_kind(Kind::Str) && v.o->cls == vm.classes.str) {
        text::append_str_repr(out, cast<Str>(v)->view());
        return;
    }
    Ref keep(v);
    out += repr(vm, v)->view();
}

}  // namespace talc::vm
