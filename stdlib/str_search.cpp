// str: searching, replacing, prefixes and suffixes, stripping.
#include "base/text/search.hpp"
#include "base/text/split.hpp"
#include "stdlib/builtins.hpp"
#include "stdlib/text_args.hpp"

namespace talc::stdlib {

namespace {

int64_t find_in(Vm& vm, const Args& args, bool last) {
    Str* s = self_str(args);
    int64_t start = position_argument(vm, args[2], 0);
    int64_t end = position_argument(vm, args[3], text::kToEnd);
    std::string_view sub = str_argument(vm, args[1]);
    return last ? text::rfind_index(s->view(), s->length, sub, start, end)
                : text::find_index(s->view(), s->length, sub, start, end);
}

Ref found_or_raise(Vm& vm, int64_t index) {
    if (index < 0) raise(vm, Exc::ValueError, "substring not found");
    return integer(index);
}

}  // namespace

Ref str_find(Vm& vm, const Args& args) { return integer(find_in(vm, args, false)); }
Ref str_rfind(Vm& vm, const Args& args) { return integer(find_in(vm, args, true)); }
Ref str_index(Vm& vm, const Args& args) { return found_or_raise(vm, find_in(vm, args, false)); }
Ref str_rindex(Vm& vm, const Args& args) { return found_or_raise(vm, find_in(vm, args, true)); }

Ref str_count(Vm& vm, const Args& args) {
    Str* s = self_str(args);
    int64_t start = position_argument(vm, args[2], 0);
    int64_t end = position_argument(vm, args[3], text::kToEnd);
    std::string_view sub = str_argument(vm, args[1]);
    auto part = text::select_part(s->view(), s->length, start, end);
    return integer(part ? static_cast<int64_t>(text::count(part->text, sub)) : 0);
}

namespace {

bool has_end(std::string_view text, std::string_view piece, bool at_end) {
    return at_end ? text.ends_with(piece) : text.starts_with(piece);
}

Ref starts_or_ends(Vm& vm, const Args& args, bool at_end) {
    Str* s = self_str(args);
    const char* name = at_end ? "endswith" : "startswith";
    if (args[1].is_kind(Kind::Str) && args[2].is_none() && args[3].is_none()) {
        return boolean(has_end(s->view(), cast<Str>(args[1])->view(), at_end));
    }
    int64_t start = position_argument(vm, args[2], 0);
    int64_t end = position_argument(vm, args[3], text::kToEnd);
    auto part = text::select_part(s->view(), s->length, start, end);
    if (args[1].is_kind(Kind::Str)) {
        return boolean(part && has_end(part->text, cast<Str>(args[1])->view(), at_end));
    }
    if (!args[1].is_kind(Kind::Tuple)) {
        raise(vm, Exc::TypeError, "{} first arg must be str or a tuple of str, not {}", name, class_name(vm, args[1]));
    }
    Tuple* pieces = cast<Tuple>(args[1]);
    for (size_t i = 0; i < pieces->size; i++) {
        if (!pieces->items[i].is_kind(Kind::Str)) {
            raise(vm, Exc::TypeError, "tuple for {} must only contain str, not {}", name, class_name(vm, pieces->items[i]));
        }
        if (part && has_end(part->text, cast<Str>(pieces->items[i])->view(), at_end)) return boolean(true);
    }
    return boolean(false);
}

}  // namespace

Ref str_startswith(Vm& vm, const Args& args) { return starts_or_ends(vm, args, false); }
Ref str_endswith(Vm& vm, const Args& args) { return starts_or_ends(vm, args, true); }

Ref str_removeprefix(Vm& vm, const Args& args) {
    Str* s = self_str(args);
    return part_of(vm, s, text::remove_prefix(s->view(), str_argument(vm, args[1], "removeprefix() argument")));
}

Ref str_removesuffix(Vm& vm, const Args& args) {
    Str* s = self_str(args);
    return part_of(vm, s, text::remove_suffix(s->view(), str_argument(vm, args[1], "removesuffix() argument")));
}

Ref str_replace(Vm& vm, const Args& args) {
    Str* s = self_str(args);
    std::string_view from = str_argument(vm, args[1], "replace() argument 1");
    std::string_view to = str_argument(vm, args[2], "replace() argument 2");
    int64_t limit = to_index(vm, args[3]);
    text::Buffer out(text_limit(vm));
    if (!text::append_replaced(out, s->view(), from, to, limit)) return plain_str(vm, s);
    return make_str(vm, out);
}

// ---- Stripping ----

namespace {

std::string_view strip_chars(Vm& vm, Value v, const char* name) {
    if (!v.is_kind(Kind::Str)) raise(vm, Exc::TypeError, "{} arg must be None or str", name);
    return cast<Str>(v)->view();
}

}  // namespace

Ref str_strip(Vm& vm, const Args& args) {
    Str* s = self_str(args);
    if (args[1].is_none()) return part_of(vm, s, text::strip(s->view()));
    return part_of(vm, s, text::strip_of(s->view(), strip_chars(vm, args[1], "strip")));
}

Ref str_lstrip(Vm& vm, const Args& args) {
    Str* s = self_str(args);
    if (args[1].is_none()) return part_of(vm, s, text::strip_left(s->view()));
    return part_of(vm, s, text::strip_left_of(s->view(), strip_chars(vm, args[1], "lstrip")));
}

Ref str_rstrip(Vm& vm, const Args& args) {
    Str* s = self_str(args);
    if (args[1].is_none()) return part_of(vm, s, text::strip_right(s->view()));
    return part_of(vm, s, text::strip_right_of(s->view(), strip_chars(vm, args[1], "rstrip")));
}

}  // namespace talc::stdlib
