// str: construction, encoding, special methods.
#include "base/text/format_spec.hpp"
#include "base/text/repr.hpp"
#include "stdlib/builtins.hpp"
#include "stdlib/codecs.hpp"
#include "stdlib/text_args.hpp"

namespace talc::stdlib {

Ref str_new(Vm& vm, const Args& args) {
    Class* cls = class_to_make(vm, args[0], vm.classes.str);
    Ptr<Str> text;
    if (args.has(2) || args.has(3)) {
        CodecNames names = codec_names(vm, args[2], args[3], "str");
        if (args.has(1) && args[1].is_kind(Kind::Str)) raise(vm, Exc::TypeError, "decoding str is not supported");
        if (args.has(1) && !args[1].is_kind(Kind::Bytes)) {
            raise(vm, Exc::TypeError, "decoding to str: need a bytes-like object, {} found", class_name(vm, args[1]));
        }
        std::string_view bytes = args.has(1) ? cast<Bytes>(args[1])->view() : std::string_view();
        text = decode_bytes(vm, bytes, names.encoding, names.errors);
    } else {
        text = args.has(1) ? to_str(vm, args[1]) : vm.empty_str;
    }
    if (cls == vm.classes.str) return text;
    return make_str_of(vm, cls, text->view());
}

Ref str_encode(Vm& vm, const Args& args) {
    CodecNames names = codec_names(vm, args[1], args[2], "encode");
    return encode_text(vm, self_str(args)->view(), names.encoding, names.errors);
}

// ---- Special methods: what str itself does, whatever the receiver's class has changed ----

Ref str_len(Vm&, const Args& args) { return integer(self_str(args)->length); }
Ref str_hash_value(Vm&, const Args& args) { return integer(str_hash(self_str(args))); }
Ref str_iter(Vm& vm, const Args& args) { return kStrOps.iterate(vm, args[0].o); }
Ref str_getitem(Vm& vm, const Args& args) { return kStrOps.get_item(vm, args[0].o, args[1]); }
Ref str_contains(Vm& vm, const Args& args) { return boolean(kStrOps.contains(vm, args[0].o, args[1])); }
Ref str_str(Vm& vm, const Args& args) { return plain_str(vm, self_str(args)); }
Ref str_repr(Vm& vm, const Args& args) { return made_str(vm, text::append_str_repr, self_str(args)->view()); }

Ref str_add(Vm& vm, const Args& args) {
    if (!is_str(args[1])) {
        raise(vm, Exc::TypeError, "can only concatenate str (not \"{}\") to str", class_name(vm, args[1]));
    }
    return str_concat(vm, self_str(args)->view(), cast<Str>(args[1])->view());
}

Ref str_mul(Vm& vm, const Args& args) {
    int64_t times = to_index(vm, args[1]);
    return binary(vm, BinaryOp::Mul, plain_str(vm, self_str(args)), Value::integer(times));
}

Ref str_mod(Vm& vm, const Args& args) { return str_percent(vm, self_str(args), args[1]); }

Ref str_rmod(Vm& vm, const Args& args) {
    if (!is_str(args[1])) return not_implemented();
    return str_percent(vm, cast<Str>(args[1]), args[0]);
}

Ref str_format_spec(Vm& vm, const Args& args) {
    std::string_view spec = str_argument(vm, args[1], "__format__() argument");
    return format_plain(vm, args[0], spec);
}

#define COMPARISON(method, op)                                                                   \
    Ref str_##method(Vm&, const Args& args) {                                                    \
        if (!is_str(args[1])) return not_implemented();                                          \
        return boolean(self_str(args)->view() op cast<Str>(args[1])->view());                    \
    }
COMPARISON(eq, ==)
COMPARISON(ne, !=)
COMPARISON(lt, <)
COMPARISON(le, <=)
COMPARISON(gt, >)
COMPARISON(ge, >=)
#undef COMPARISON

}  // namespace talc::stdlib
