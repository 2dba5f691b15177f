// str: split and its sisters, partition, join.
#include "base/text/split.hpp"

#include <cstring>

#include "base/text/search.hpp"
#include "base/text/unicode.hpp"
#include "stdlib/builtins.hpp"
#include "stdlib/text_args.hpp"

namespace talc::stdlib {

namespace {

Ref list_of(Vm& vm, Str* whole, const text::Pieces& pieces) {
    Ptr<List> list = make_list(vm, pieces.size());
    for (std::string_view piece : pieces) list_append(vm, list.get(), part_of(vm, whole, piece));
    return list;
}

std::string_view separator_argument(Vm& vm, Value v) {
    if (!v.is_kind(Kind::Str)) raise(vm, Exc::TypeError, "must be str or None, not {}", class_name(vm, v));
    std::string_view separator = cast<Str>(v)->view();
    if (separator.empty()) raise(vm, Exc::ValueError, "empty separator");
    return separator;
}

// split() of ASCII text, the pieces straight into the list.
Ref split_ascii_space(Vm& vm, Str* s) {
    Ptr<List> list = make_list(vm);
    const char* at = s->data;
    const char* end = at + s->size;
    for (;;) {
        while (at < end && text::ascii_has(static_cast<unsigned char>(*at), text::kAsciiSpace)) ++at;
        if (at == end) return list;
        const char* first = at;
        while (at < end && !text::ascii_has(static_cast<unsigned char>(*at), text::kAsciiSpace)) ++at;
        list_append(vm, list.get(), part_of(vm, s, {first, static_cast<size_t>(at - first)}));
    }
}

Ref split_at_char(Vm& vm, Str* s, char separator) {
    Ptr<List> list = make_list(vm);
    const char* at = s->data;
    const char* end = at + s->size;
    for (;;) {
        const void* found = std::memchr(at, separator, static_cast<size_t>(end - at));
        const char* stop = found ? static_cast<const char*>(found) : end;
        list_append(vm, list.get(), part_of(vm, s, {at, static_cast<size_t>(stop - at)}));
        if (!found) return list;
        at = stop + 1;
    }
}

}  // namespace

Ref str_split(Vm& vm, const Args& args) {
    Str* s = self_str(args);
    int64_t limit = to_index(vm, args[2]);
    text::Pieces pieces;
    if (args[1].is_none()) {
        if (limit < 0 && s->ascii()) return split_ascii_space(vm, s);
        text::split_space(pieces, s->view(), limit);
    } else {
        std::string_view separator = separator_argument(vm, args[1]);
        if (limit < 0 && separator.size() == 1) return split_at_char(vm, s, separator[0]);
        text::split_at(pieces, s->view(), separator, limit);
    }
    return list_of(vm, s, pieces);
}

Ref str_rsplit(Vm& vm, const Args& args) {
    Str* s = self_str(args);
    int64_t limit = to_index(vm, args[2]);
    text::Pieces pieces;
    if (args[1].is_none()) text::rsplit_space(pieces, s->view(), limit);
    else text::rsplit_at(pieces, s->view(), separator_argument(vm, args[1]), limit);
    return list_of(vm, s, pieces);
}

Ref str_splitlines(Vm& vm, const Args& args) {
    Str* s = self_str(args);
    bool keep_ends = args[1].is_bool() ? args[1].b : to_index(vm, args[1]) != 0;
    text::Pieces pieces;
    text::split_lines(pieces, s->view(), keep_ends);
    return list_of(vm, s, pieces);
}

namespace {

Ref partitioned(Vm& vm, const Args& args, text::Parts (*function)(std::string_view, std::string_view)) {
    Str* s = self_str(args);
    std::string_view separator = str_argument(vm, args[1]);
    if (separator.empty()) raise(vm, Exc::ValueError, "empty separator");
    text::Parts parts = function(s->view(), separator);
    Ref head = part_of(vm, s, parts.head), tail = part_of(vm, s, parts.tail);
    Ref middle = parts.separator.empty() ? Ref(vm.empty_str) : plain_str(vm, cast<Str>(args[1]));
    return make_tuple(vm, {head, middle, tail});
}

}  // namespace

Ref str_partition(Vm& vm, const Args& args) { return partitioned(vm, args, text::partition); }
Ref str_rpartition(Vm& vm, const Args& args) { return partitioned(vm, args, text::rpartition); }

// ---- join ----

namespace {

Ref join_items(Vm& vm, Str* separator, const Value* items, size_t count) {
    if (count == 0) return vm.empty_str;
    size_t total = 0, length = 0;
    unsigned flags = separator->flags;
    for (size_t i = 0; i < count; i++) {
        if (!items[i].is_kind(Kind::Str)) [[unlikely]] {
            raise(vm, Exc::TypeError, "sequence item {}: expected str instance, {} found", i, class_name(vm, items[i]));
        }
        const Str* item = cast<Str>(items[i]);
        total += item->size;
        length += item->length;
        flags &= item->flags;
    }
    if (count == 1 && cast<Str>(items[0])->cls == vm.classes.str) return items[0];
    total += separator->size * (count - 1);
    length += separator->length * (count - 1);
    if (total > text_limit(vm)) raise(vm, Exc::MemoryError, "");
    Ptr<Str> out = make_str_buffer(vm, total);
    char* at = out->data;
    for (size_t i = 0; i < count; i++) {
        if (i != 0 && separator->size != 0) {
            std::memcpy(at, separator->data, separator->size);
            at += separator->size;
        }
        std::memcpy(at, cast<Str>(items[i])->data, cast<Str>(items[i])->size);
        at += cast<Str>(items[i])->size;
    }
    out->length = static_cast<uint32_t>(length);
    out->flags |= static_cast<uint8_t>(flags & kAscii);
    return out;
}

}  // namespace

Ref str_join(Vm& vm, const Args& args) {
    Str* separator = self_str(args);
    Value iterable = args[1];
    if (is_plain(iterable, Kind::List)) {
        return join_items(vm, separator, cast<List>(iterable)->items, cast<List>(iterable)->size);
    }
    if (is_plain(iterable, Kind::Tuple)) {
        return join_items(vm, separator, cast<Tuple>(iterable)->items, cast<Tuple>(iterable)->size);
    }
    Ptr<List> list = iterable_to_list(vm, iterable, "can only join an iterable");
    return join_items(vm, separator, list->items, list->size);
}

}  // namespace talc::stdlib
