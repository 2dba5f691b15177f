// str: case, kinds of characters, padding, translation.
#include "base/text/str_methods.hpp"

#include <cstring>

#include "stdlib/builtins.hpp"
#include "stdlib/text_args.hpp"

namespace talc::stdlib {

namespace {

// ASCII text keeps its size: the new string is written eight bytes at a time. In each byte of the word the sums reach 128
// where the letter lies in [first, first + 25], and the case is one bit.
Ref with_other_case(Vm& vm, Str* s, unsigned char first) {
    constexpr uint64_t kOnes = 0x0101010101010101u;
    const uint64_t from_first = kOnes * (0x80u - first);
    const uint64_t behind_last = kOnes * (0x7Fu - (first + 25u));
    auto swapped = [&](uint64_t word) {
        uint64_t letters = ((word + from_first) ^ (word + behind_last)) & (kOnes * 0x80u);
        return word ^ (letters >> 2);
    };
    Ptr<Str> out = make_str_buffer(vm, s->size);
    const char* from = s->data;
    char* to = out->data;
    size_t left = s->size;
    for (; left >= 8; left -= 8, from += 8, to += 8) {
        uint64_t word;
        std::memcpy(&word, from, 8);
        word = swapped(word);
        std::memcpy(to, &word, 8);
    }
    if (left != 0) {
        uint64_t word = 0;
        std::memcpy(&word, from, left);
        word = swapped(word);
        std::memcpy(to, &word, left);
    }
    out->length = s->length;
    out->flags |= vm::kAscii;
    return out;
}

}  // namespace

Ref str_upper(Vm& vm, const Args& args) {
    Str* s = self_str(args);
    if (s->ascii()) return with_other_case(vm, s, 'a');
    return made_str(vm, text::append_upper, s->view());
}

Ref str_lower(Vm& vm, const Args& args) {
    Str* s = self_str(args);
    if (s->ascii()) return with_other_case(vm, s, 'A');
    return made_str(vm, text::append_lower, s->view());
}

Ref str_casefold(Vm& vm, const Args& args) {
    Str* s = self_str(args);
    if (s->ascii()) return with_other_case(vm, s, 'A');
    return made_str(vm, text::append_casefolded, s->view());
}

Ref str_capitalize(Vm& vm, const Args& args) { return made_str(vm, text::append_capitalized, self_str(args)->view()); }
Ref str_title(Vm& vm, const Args& args) { return made_str(vm, text::append_title, self_str(args)->view()); }
Ref str_swapcase(Vm& vm, const Args& args) { return made_str(vm, text::append_swapped_case, self_str(args)->view()); }

#define PREDICATE(method, function) \
    Ref str_##method(Vm&, const Args& args) { return boolean(text::function(self_str(args)->view())); }
PREDICATE(isalnum, is_alnum)
PREDICATE(isalpha, is_alpha)
PREDICATE(isdecimal, is_decimal)
PREDICATE(isdigit, is_digit)
PREDICATE(isidentifier, is_identifier)
PREDICATE(islower, is_lower)
PREDICATE(isnumeric, is_numeric)
PREDICATE(isprintable, is_printable)
PREDICATE(isspace, is_space)
PREDICATE(istitle, is_title)
PREDICATE(isupper, is_upper)
#undef PREDICATE

Ref str_isascii(Vm&, const Args& args) { return boolean(self_str(args)->ascii()); }

// ---- Padding ----

namespace {

using Pad = void (*)(text::Buffer&, std::string_view, size_t, int64_t, std::string_view);

Ref padded(Vm& vm, const Args& args, Pad pad) {
    Str* s = self_str(args);
    int64_t width = to_index(vm, args[1]);
    if (!args[2].is_kind(Kind::Str)) {
        raise(vm, Exc::TypeError, "The fill character must be a unicode character, not {}", class_name(vm, args[2]));
    }
    Str* fill = cast<Str>(args[2]);
    if (fill->length != 1) raise(vm, Exc::TypeError, "The fill character must be exactly one character long");
    if (width <= static_cast<int64_t>(s->length)) return plain_str(vm, s);
    return made_str(vm, pad, s->view(), s->length, width, fill->view());
}

}  // namespace

Ref str_center(Vm& vm, const Args& args) { return padded(vm, args, text::append_centered); }
Ref str_ljust(Vm& vm, const Args& args) { return padded(vm, args, text::append_left_justified); }
Ref str_rjust(Vm& vm, const Args& args) { return padded(vm, args, text::append_right_justified); }

Ref str_zfill(Vm& vm, const Args& args) {
    Str* s = self_str(args);
    int64_t width = to_index(vm, args[1]);
    if (width <= static_cast<int64_t>(s->length)) return plain_str(vm, s);
    return made_str(vm, text::append_zero_filled, s->view(), s->length, width);
}

Ref str_expandtabs(Vm& vm, const Args& args) {
    return made_str(vm, text::append_expanded_tabs, self_str(args)->view(), to_index(vm, args[1]));
}

// ---- Translation ----

namespace {

// What table[c] says, into out. False: the table does not have c.
bool append_translation(Vm& vm, text::Buffer& out, Value table, char32_t c) {
    Ref to;
    Value key = Value::integer(static_cast<int64_t>(c));
    if (is_plain(table, Kind::Dict)) {
        to = dict_get(vm, cast<Dict>(table), key);
        if (to.is_undef()) return false;
    } else {
        try {
            to = get_item(vm, table, key);
        } catch (Raised&) {
            if (!catch_raised(vm, Exc::LookupError)) throw;
            return false;
        }
    }
    Value v = to;
    if (v.is_none()) return true;
    if (v.is_kind(Kind::Str)) {
        out.append(cast<Str>(v)->view());
        return true;
    }
    if (!is_integer(v)) raise(vm, Exc::TypeError, "character mapping must return integer, None or str");
    int64_t n = int_value(v);
    if (n < 0 || n > static_cast<int64_t>(text::kMaxCodePoint)) {
        raise(vm, Exc::ValueError, "character mapping must be in range(0x110000)");
    }
    text::append_code_point(out, static_cast<char32_t>(n));
    return true;
}

}  // namespace

Ref str_translate(Vm& vm, const Args& args) {
    Str* s = self_str(args);
    Value table = args[1];
    text::Buffer out(text_limit(vm));
    text::append_translated(out, s->view(),
                            [&](text::Buffer& to, char32_t c) { return append_translation(vm, to, table, c); });
    return make_str(vm, out);
}

namespace {

Ptr<Dict> table_from_dict(Vm& vm, Value source) {
    if (!source.is_kind(Kind::Dict)) {
        raise(vm, Exc::TypeError, "if you give only one argument to maketrans it must be a dict");
    }
    Ptr<Dict> table = make_dict(vm);
    Dict* from = cast<Dict>(source);
    for (size_t i = 0; DictEntry* entry = dict_entry(from, i); i++) {
        if (entry->key.is_kind(Kind::Str)) {
            Str* key = cast<Str>(entry->key);
            if (key->length != 1) raise(vm, Exc::ValueError, "string keys in translate table must be of length 1");
            const char* at = key->data;
            auto c = static_cast<int64_t>(text::decode(at, at + key->size));
            dict_set(vm, table.get(), Value::integer(c), entry->value);
        } else if (is_integer(entry->key)) {
            dict_set(vm, table.get(), entry->key, entry->value);
        } else {
            raise(vm, Exc::TypeError, "keys in translate table must be strings or integers");
        }
    }
    return table;
}

}  // namespace

Ref str_maketrans(Vm& vm, const Args& args) {
    if (!args.has(1)) return table_from_dict(vm, args[0]);
    if (!args[0].is_kind(Kind::Str)) {
        raise(vm, Exc::TypeError, "first maketrans argument must be a string if there is a second argument");
    }
    std::string_view from = cast<Str>(args[0])->view();
    std::string_view to = str_argument(vm, args[1], "maketrans() argument 2");
    if (cast<Str>(args[0])->length != cast<Str>(args[1])->length) {
        raise(vm, Exc::ValueError, "the first two maketrans arguments must have equal length");
    }
    Ptr<Dict> table = make_dict(vm);
    const char *f = from.data(), *t = to.data();
    while (f < from.data() + from.size()) {
        auto c = static_cast<int64_t>(text::decode(f, from.data() + from.size()));
        auto d = static_cast<int64_t>(text::decode(t, to.data() + to.size()));
        dict_set(vm, table.get(), Value::integer(c), Value::integer(d));
    }
    if (args.has(2)) {
        std::string_view gone = str_argument(vm, args[2], "maketrans() argument 3");
        const char* g = gone.data();
        while (g < gone.data() + gone.size()) {
            auto c = static_cast<int64_t>(text::decode(g, gone.data() + gone.size()));
            dict_set(vm, table.get(), Value::integer(c), Value::none());
        }
    }
    return table;
}

}  // namespace talc::stdlib
