// bytes: the methods that it shares with str, by byte and ASCII alone.
#include <cstring>

#include "base/text/search.hpp"
#include "base/text/split.hpp"
#include "base/text/str_methods.hpp"
#include "base/text/utf8.hpp"
#include "stdlib/builtins.hpp"
#include "stdlib/bytes_args.hpp"

namespace talc::stdlib {

// ---- Case and kind of bytes ----

namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return is_lower(c) || is_upper(c); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
char to_lower(char c) { return is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c; }
char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - ('a' - 'A')) : c; }

template <class Map>
Ref mapped(Vm& vm, const Args& args, Map map) {
    text::Buffer out(text_limit(vm));
    out.reserve(self_bytes(args)->size);
    for (char c : self_view(args)) out.push_back(map(c));
    return make_bytes(vm, out);
}

template <class Predicate>
Ref all_are(const Args& args, Predicate predicate) {
    std::string_view bytes = self_view(args);
    for (char c : bytes) {
        if (!predicate(c)) return boolean(false);
    }
    return boolean(!bytes.empty());
}

// Letters of one case only, and at least one.
Ref all_in_case(const Args& args, bool (*wanted)(char), bool (*unwanted)(char)) {
    bool any = false;
    for (char c : self_view(args)) {
        if (unwanted(c)) return boolean(false);
        any = any || wanted(c);
    }
    return boolean(any);
}

}  // namespace

Ref bytes_lower(Vm& vm, const Args& args) { return mapped(vm, args, to_lower); }
Ref bytes_upper(Vm& vm, const Args& args) { return mapped(vm, args, to_upper); }
Ref bytes_swapcase(Vm& vm, const Args& args) {
    return mapped(vm, args, [](char c) { return is_upper(c) ? to_lower(c) : to_upper(c); });
}
Ref bytes_capitalize(Vm& vm, const Args& args) {
    return mapped(vm, args, [first = true](char c) mutable { return std::exchange(first, false) ? to_upper(c) : to_lower(c); });
}
Ref bytes_title(Vm& vm, const Args& args) {
    return mapped(vm, args, [in_word = false](char c) mutable {
        return std::exchange(in_word, is_letter(c)) ? to_lower(c) : to_upper(c);
    });
}

Ref bytes_isalnum(Vm&, const Args& args) {
    return all_are(args, [](char c) { return is_letter(c) || is_digit(c); });
}
Ref bytes_isalpha(Vm&, const Args& args) { return all_are(args, is_letter); }
Ref bytes_isdigit(Vm&, const Args& args) { return all_are(args, is_digit); }
Ref bytes_isspace(Vm&, const Args& args) { return all_are(args, is_space); }
Ref bytes_isascii(Vm&, const Args& args) { return boolean(text::is_ascii(self_view(args))); }
Ref bytes_islower(Vm&, const Args& args) { return all_in_case(args, is_lower, is_upper); }
Ref bytes_isupper(Vm&, const Args& args) { return all_in_case(args, is_upper, is_lower); }
Ref bytes_istitle(Vm&, const Args& args) {
    bool any = false, in_word = false;
    for (char c : self_view(args)) {
        if (is_letter(c) && is_upper(c) == in_word) return boolean(false);
        in_word = is_letter(c);
        any = any || in_word;
    }
    return boolean(any);
}

// ---- Padding ----

namespace {

using Pad = void (*)(text::Buffer&, std::string_view, size_t, int64_t, std::string_view);

Ref padded(Vm& vm, const Args& args, Pad pad, const char* name) {
    int64_t width = to_index(vm, args[1]);
    std::string_view fill = " ";
    if (args.has(2)) {
        if (!args[2].is_kind(Kind::Bytes) || cast<Bytes>(args[2])->size != 1) {
            raise(vm, Exc::TypeError, "{}() argument 2 must be a byte string of length 1, not {}", name,
                  shown_type(vm, args[2]));
        }
        fill = cast<Bytes>(args[2])->view();
    }
    return made_bytes(vm, pad, self_view(args), self_bytes(args)->size, width, fill);
}

}  // namespace

Ref bytes_center(Vm& vm, const Args& args) { return padded(vm, args, text::append_centered, "center"); }
Ref bytes_ljust(Vm& vm, const Args& args) { return padded(vm, args, text::append_left_justified, "ljust"); }
Ref bytes_rjust(Vm& vm, const Args& args) { return padded(vm, args, text::append_right_justified, "rjust"); }
Ref bytes_zfill(Vm& vm, const Args& args) {
    return made_bytes(vm, text::append_zero_filled, self_view(args), self_bytes(args)->size, to_index(vm, args[1]));
}

Ref bytes_expandtabs(Vm& vm, const Args& args) {
    int64_t tab_size = to_index(vm, args[1]);
    text::Buffer out(text_limit(vm));
    int64_t column = 0;
    for (char c : self_view(args)) {
        if (c == '\t') {
            if (tab_size <= 0) continue;
            int64_t spaces = tab_size - column % tab_size;
            out.append(static_cast<size_t>(spaces), ' ');
            column += spaces;
            continue;
        }
        out.push_back(c);
        column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
    return make_bytes(vm, out);
}

// ---- Searching ----

namespace {

// What find and count look for: bytes, or one byte by its number.
std::string_view needle(Vm& vm, Value v, char& byte) {
    if (v.is_kind(Kind::Bytes)) return cast<Bytes>(v)->view();
    if (!is_integer(v) && find_special(vm, v, Special::Index).is_undef()) {
        raise(vm, Exc::TypeError, "argument should be integer or bytes-like object, not '{}'", class_name(vm, v));
    }
    int64_t n = to_index(vm, v);
    if (n < 0 || n > 255) raise(vm, Exc::ValueError, "byte must be in range(0, 256)");
    byte = static_cast<char>(n);
    return {&byte, 1};
}

int64_t find_in(Vm& vm, const Args& args, bool last) {
    std::string_view bytes = self_view(args);
    char byte = 0;
    int64_t start = position_argument(vm, args[2], 0);
    int64_t end = position_argument(vm, args[3], text::kToEnd);
    std::string_view sub = needle(vm, args[1], byte);
    return last ? text::rfind_index(bytes, bytes.size(), sub, start, end)
                : text::find_index(bytes, bytes.size(), sub, start, end);
}

Ref found_or_raise(Vm& vm, int64_t index) {
    if (index < 0) raise(vm, Exc::ValueError, "subsection not found");
    return integer(index);
}

}  // namespace

Ref bytes_find(Vm& vm, const Args& args) { return integer(find_in(vm, args, false)); }
Ref bytes_rfind(Vm& vm, const Args& args) { return integer(find_in(vm, args, true)); }
Ref bytes_index(Vm& vm, const Args& args) { return found_or_raise(vm, find_in(vm, args, false)); }
Ref bytes_rindex(Vm& vm, const Args& args) { return found_or_raise(vm, find_in(vm, args, true)); }

Ref bytes_count(Vm& vm, const Args& args) {
    std::string_view bytes = self_view(args);
    char byte = 0;
    int64_t start = position_argument(vm, args[2], 0);
    int64_t end = position_argument(vm, args[3], text::kToEnd);
    std::string_view sub = needle(vm, args[1], byte);
    auto part = text::select_part(bytes, bytes.size(), start, end);
    return integer(part ? static_cast<int64_t>(text::count(part->text, sub, text::Unit::Byte)) : 0);
}

namespace {

Ref starts_or_ends(Vm& vm, const Args& args, bool at_end) {
    std::string_view bytes = self_view(args);
    int64_t start = position_argument(vm, args[2], 0);
    int64_t end = position_argument(vm, args[3], text::kToEnd);
    auto part = text::select_part(bytes, bytes.size(), start, end);
    auto matches = [&](std::string_view piece) {
        return part && (at_end ? part->text.ends_with(piece) : part->text.starts_with(piece));
    };
    if (args[1].is_kind(Kind::Bytes)) return boolean(matches(cast<Bytes>(args[1])->view()));
    if (!args[1].is_kind(Kind::Tuple)) {
        raise(vm, Exc::TypeError, "{} first arg must be bytes or a tuple of bytes, not {}",
              at_end ? "endswith" : "startswith", class_name(vm, args[1]));
    }
    Tuple* pieces = cast<Tuple>(args[1]);
    for (size_t i = 0; i < pieces->size; i++) {
        if (matches(bytes_argument(vm, pieces->items[i]))) return boolean(true);
    }
    return boolean(false);
}

}  // namespace

Ref bytes_startswith(Vm& vm, const Args& args) { return starts_or_ends(vm, args, false); }
Ref bytes_endswith(Vm& vm, const Args& args) { return starts_or_ends(vm, args, true); }

Ref bytes_removeprefix(Vm& vm, const Args& args) {
    return part_of(vm, self_bytes(args), text::remove_prefix(self_view(args), bytes_argument(vm, args[1])));
}
Ref bytes_removesuffix(Vm& vm, const Args& args) {
    return part_of(vm, self_bytes(args), text::remove_suffix(self_view(args), bytes_argument(vm, args[1])));
}

Ref bytes_replace(Vm& vm, const Args& args) {
    std::string_view from = bytes_argument(vm, args[1]), to = bytes_argument(vm, args[2]);
    int64_t limit = to_index(vm, args[3]);
    text::Buffer out(text_limit(vm));
    if (!text::append_replaced(out, self_view(args), from, to, limit, text::Unit::Byte)) {
        return plain_bytes(vm, self_bytes(args));
    }
    return make_bytes(vm, out);
}

// ---- Taking apart and putting together ----

Ref bytes_strip(Vm& vm, const Args& args) {
    std::string_view bytes = self_view(args);
    if (args[1].is_none()) return part_of(vm, self_bytes(args), text::strip(bytes, text::Space::Bytes));
    return part_of(vm, self_bytes(args), text::strip_of(bytes, bytes_argument(vm, args[1]), text::Space::Bytes));
}
Ref bytes_lstrip(Vm& vm, const Args& args) {
    std::string_view bytes = self_view(args);
    if (args[1].is_none()) return part_of(vm, self_bytes(args), text::strip_left(bytes, text::Space::Bytes));
    return part_of(vm, self_bytes(args), text::strip_left_of(bytes, bytes_argument(vm, args[1]), text::Space::Bytes));
}
Ref bytes_rstrip(Vm& vm, const Args& args) {
    std::string_view bytes = self_view(args);
    if (args[1].is_none()) return part_of(vm, self_bytes(args), text::strip_right(bytes, text::Space::Bytes));
    return part_of(vm, self_bytes(args), text::strip_right_of(bytes, bytes_argument(vm, args[1]), text::Space::Bytes));
}

namespace {

Ref list_of(Vm& vm, const text::Pieces& pieces) {
    Ptr<List> list = make_list(vm, pieces.size());
    for (std::string_view piece : pieces) list_append(vm, list.get(), Ref(make_bytes(vm, piece)));
    return list;
}

std::string_view separator_argument(Vm& vm, Value v) {
    std::string_view separator = bytes_argument(vm, v);
    if (separator.empty()) raise(vm, Exc::ValueError, "empty separator");
    return separator;
}

Ref partitioned(Vm& vm, const Args& args, text::Parts (*function)(std::string_view, std::string_view)) {
    text::Parts parts = function(self_view(args), separator_argument(vm, args[1]));
    Ref head = make_bytes(vm, parts.head), middle = make_bytes(vm, parts.separator), tail = make_bytes(vm, parts.tail);
    return make_tuple(vm, {head, middle, tail});
}

}  // namespace

Ref bytes_split(Vm& vm, const Args& args) {
    int64_t limit = to_index(vm, args[2]);
    text::Pieces pieces;
    if (args[1].is_none()) text::split_space(pieces, self_view(args), limit, text::Space::Bytes);
    else text::split_at(pieces, self_view(args), separator_argument(vm, args[1]), limit);
    return list_of(vm, pieces);
}

Ref bytes_rsplit(Vm& vm, const Args& args) {
    int64_t limit = to_index(vm, args[2]);
    text::Pieces pieces;
    if (args[1].is_none()) text::rsplit_space(pieces, self_view(args), limit, text::Space::Bytes);
    else text::rsplit_at(pieces, self_view(args), separator_argument(vm, args[1]), limit);
    return list_of(vm, pieces);
}

Ref bytes_splitlines(Vm& vm, const Args& args) {
    bool keep_ends = args[1].is_bool() ? args[1].b : to_index(vm, args[1]) != 0;
    text::Pieces pieces;
    text::split_lines(pieces, self_view(args), keep_ends, text::Space::Bytes);
    return list_of(vm, pieces);
}

Ref bytes_partition(Vm& vm, const Args& args) { return partitioned(vm, args, text::partition); }
Ref bytes_rpartition(Vm& vm, const Args& args) { return partitioned(vm, args, text::rpartition); }

Ref bytes_join(Vm& vm, const Args& args) {
    Ptr<List> items = iterable_to_list(vm, args[1], "can only join an iterable");
    text::Buffer out(text_limit(vm));
    for (size_t i = 0; i < items->size; i++) {
        Value item = items->items[i];
        if (!item.is_kind(Kind::Bytes)) {
            raise(vm, Exc::TypeError, "sequence item {}: expected a bytes-like object, {} found", i, class_name(vm, item));
        }
        if (i != 0) out.append(self_view(args));
        out.append(cast<Bytes>(item)->view());
    }
    return make_bytes(vm, out);
}

}  // namespace talc::stdlib
