// bytes: construction, hexadecimal form, translation, special methods.
#include "base/text/hash.hpp"
#include "base/text/repr.hpp"
#include "stdlib/builtins.hpp"
#include "stdlib/bytes_args.hpp"
#include "stdlib/codecs.hpp"

namespace talc::stdlib {

namespace {

Ref bytes_from_numbers(Vm& vm, Value iterable) {
    text::Buffer out(text_limit(vm));
    for_each(vm, iterable, [&](Value item) {
        int64_t byte = to_index(vm, item);
        if (byte < 0 || byte > 255) raise(vm, Exc::ValueError, "bytes must be in range(0, 256)");
        out.push_back(static_cast<char>(byte));
    });
    return make_bytes(vm, out);
}

Ref zero_bytes(Vm& vm, int64_t count) {
    if (count < 0) raise(vm, Exc::ValueError, "negative count");
    if (static_cast<size_t>(count) > text_limit(vm)) raise(vm, Exc::MemoryError, "");
    text::Buffer out(text_limit(vm));
    out.append(static_cast<size_t>(count), '\0');
    return make_bytes(vm, out);
}

// bytes(x) of one argument that is no str.
Ref bytes_from(Vm& vm, Value v) {
    if (is_plain(v, Kind::Bytes)) return v;
    if (v.is_obj() && v.o->cls && (v.o->cls->user || v.o->cls->foreign_specials)) {
        Value method = find_class_attr(vm, class_of(vm, v), intern(vm, "__bytes__").get());
        if (!method.is_undef()) {
            Ref result = call(vm, method, v);
            if (!result.is_kind(Kind::Bytes)) {
                raise(vm, Exc::TypeError, "__bytes__ returned non-bytes (type {})", class_name(vm, result));
            }
            return result;
        }
    }
    if (is_integer(v) || !find_special(vm, v, Special::Index).is_undef()) return zero_bytes(vm, to_index(vm, v));
    Ref iterator;
    try {
        iterator = iterate(vm, v);
    } catch (Raised&) {
        if (!catch_raised(vm, Exc::TypeError)) throw;
        raise(vm, Exc::TypeError, "cannot convert '{}' object to bytes", class_name(vm, v));
    }
    return bytes_from_numbers(vm, iterator);
}

}  // namespace

Ref bytes_new(Vm& vm, const Args& args) {
    Class* cls = class_to_make(vm, args[0], vm.classes.bytes);
    CodecNames names = codec_names(vm, args[2], args[3], "bytes");
    bool coded = args.has(2) || args.has(3);
    Ref made;
    if (args.has(1) && is_str(args[1])) {
        if (!args.has(2)) raise(vm, Exc::TypeError, "string argument without an encoding");
        made = encode_text(vm, cast<Str>(args[1])->view(), names.encoding, names.errors);
    } else if (coded) {
        raise(vm, Exc::TypeError, "{} without a string argument", args.has(2) ? "encoding" : "errors");
    } else {
        made = args.has(1) ? bytes_from(vm, args[1]) : Ref(make_bytes(vm, {}));
    }
    if (cls == vm.classes.bytes) return made;
    return make_bytes_of(vm, cls, cast<Bytes>(made.get())->view());
}

Ref bytes_decode(Vm& vm, const Args& args) {
    CodecNames names = codec_names(vm, args[1], args[2], "decode");
    return decode_bytes(vm, self_view(args), names.encoding, names.errors);
}

// ---- Hexadecimal ----

Ref bytes_hex(Vm& vm, const Args& args) {
    std::string_view bytes = self_view(args);
    char separator = 0;
    if (args.has(1)) {
        if (length(vm, args[1]) != 1) raise(vm, Exc::ValueError, "sep must be length 1.");
        if (!is_str(args[1]) && !args[1].is_kind(Kind::Bytes)) raise(vm, Exc::TypeError, "sep must be str or bytes.");
        separator = is_str(args[1]) ? cast<Str>(args[1])->data[0] : cast<Bytes>(args[1])->data[0];
        if (static_cast<unsigned char>(separator) > 127) raise(vm, Exc::ValueError, "sep must be ASCII.");
    }
    int64_t group = to_index(vm, args[2]);
    bool from_left = group < 0;  // groups are counted from the end unless the number is negative
    uint64_t every = group < 0 ? 0 - static_cast<uint64_t>(group) : static_cast<uint64_t>(group);
    text::Buffer out(text_limit(vm));
    for (size_t i = 0; i < bytes.size(); i++) {
        size_t place = from_left ? i : bytes.size() - i;
        if (i != 0 && args.has(1) && every != 0 && place % every == 0) out.push_back(separator);
        auto byte = static_cast<unsigned char>(bytes[i]);
        out.push_back("0123456789abcdef"[byte >> 4]);
        out.push_back("0123456789abcdef"[byte & 15]);
    }
    return make_str(vm, out);
}

Ref bytes_fromhex(Vm& vm, const Args& args) {
    std::string_view text = str_argument(vm, args[1], "fromhex() argument");
    auto digit = [](char c) {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    };
    text::Buffer out(text_limit(vm));
    for (size_t i = 0; i < text.size();) {
        char c = text[i];
        if (c == ' ' || (c >= '\t' && c <= '\r')) {
            ++i;
            continue;
        }
        int high = digit(c);
        int low = high >= 0 && i + 1 < text.size() ? digit(text[i + 1]) : -1;
        if (high < 0 || low < 0) {
            raise(vm, Exc::ValueError, "non-hexadecimal number found in fromhex() arg at position {}",
                  high < 0 ? i : i + 1);
        }
        out.push_back(static_cast<char>(high * 16 + low));
        i += 2;
    }
    Ref made = make_bytes(vm, out);
    if (args[0].same(Value::object(vm.classes.bytes))) return made;
    return call(vm, args[0], made);
}

// ---- Translation ----

Ref bytes_maketrans(Vm& vm, const Args& args) {
    std::string_view from = bytes_argument(vm, args[0]), to = bytes_argument(vm, args[1]);
    if (from.size() != to.size()) raise(vm, Exc::ValueError, "maketrans arguments must have same length");
    char table[256];
    for (int i = 0; i < 256; i++) table[i] = static_cast<char>(i);
    for (size_t i = 0; i < from.size(); i++) table[static_cast<unsigned char>(from[i])] = to[i];
    return make_bytes(vm, {table, 256});
}

Ref bytes_translate(Vm& vm, const Args& args) {
    std::string_view table = args[1].is_none() ? std::string_view() : bytes_argument(vm, args[1]);
    if (!args[1].is_none() && table.size() != 256) {
        raise(vm, Exc::ValueError, "translation table must be 256 characters long");
    }
    bool gone[256] = {};
    if (args.has(2)) {
        for (char c : bytes_argument(vm, args[2])) gone[static_cast<unsigned char>(c)] = true;
    }
    text::Buffer out(text_limit(vm));
    for (char c : self_view(args)) {
        auto byte = static_cast<unsigned char>(c);
        if (!gone[byte]) out.push_back(table.empty() ? c : table[byte]);
    }
    return make_bytes(vm, out);
}

// ---- Special methods ----

Ref bytes_len(Vm&, const Args& args) { return integer(static_cast<int64_t>(self_bytes(args)->size)); }
Ref bytes_bytes(Vm& vm, const Args& args) { return plain_bytes(vm, self_bytes(args)); }
Ref bytes_hash_value(Vm& vm, const Args& args) { return integer(kBytesOps.hash(vm, args[0].o)); }
Ref bytes_iter(Vm& vm, const Args& args) { return kBytesOps.iterate(vm, args[0].o); }
Ref bytes_getitem(Vm& vm, const Args& args) { return kBytesOps.get_item(vm, args[0].o, args[1]); }
Ref bytes_contains(Vm& vm, const Args& args) { return boolean(kBytesOps.contains(vm, args[0].o, args[1])); }
Ref bytes_repr(Vm& vm, const Args& args) { return made_str(vm, text::append_bytes_repr, self_view(args)); }

Ref bytes_add(Vm& vm, const Args& args) {
    if (!args[1].is_kind(Kind::Bytes)) raise(vm, Exc::TypeError, "can't concat {} to bytes", class_name(vm, args[1]));
    text::Buffer out(text_limit(vm));
    out.append(self_view(args));
    out.append(cast<Bytes>(args[1])->view());
    return make_bytes(vm, out);
}

Ref bytes_mul(Vm& vm, const Args& args) {
    int64_t times = to_index(vm, args[1]);
    return binary(vm, BinaryOp::Mul, plain_bytes(vm, self_bytes(args)), Value::integer(times));
}

#define COMPARISON(method, op)                                                          \
    Ref bytes_##method(Vm&, const Args& args) {                                         \
        if (!args[1].is_kind(Kind::Bytes)) return not_implemented();                    \
        return boolean(self_view(args) op cast<Bytes>(args[1])->view());                \
    }
COMPARISON(eq, ==)
COMPARISON(ne, !=)
COMPARISON(lt, <)
COMPARISON(le, <=)
COMPARISON(gt, >)
COMPARISON(ge, >=)
#undef COMPARISON

}  // namespace talc::stdlib
