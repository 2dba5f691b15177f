#include "stdlib/modules/re_match.hpp"

#include <memory>

#include "stdlib/modules.hpp"
#include "vm/class.hpp"
#include "vm/containers.hpp"

namespace talc::stdlib {

namespace {

constexpr NativeClass kMatch = {.name = "Match", .module = "re", .final = true};

struct Match final : ForeignState {
    Ref pattern, text;
    int64_t pos = 0, endpos = 0;
    std::vector<int64_t> spans;

    void traverse(Visitor& visitor) override {
        visitor.visit(pattern);
        visitor.visit(text);
    }
    void clear() override { pattern = text = Ref(); }

    size_t groups() const { return spans.size() / 2 - 1; }
};

Match& self(const Args& args) { return *foreign_cast<Match>(args[0]); }

Ref names_of(Vm& vm, const Match& match) { return get_attr(vm, match.pattern, intern(vm, "groupindex").get()); }

// The dict of names is the pattern's, and scripts can write to it.
bool is_group(const Match& match, Value v) { return v.is_int() && v.i >= 0 && static_cast<size_t>(v.i) <= match.groups(); }

// The group that a number or a name stands for.
size_t group_index(Vm& vm, const Match& match, Value group) {
    if (is_integer(group) || !group.is_kind(Kind::Str)) {
        bool number = is_integer(group) || !find_special(vm, group, Special::Index).is_undef();
        int64_t at = number ? to_index(vm, group) : -1;
        if (at >= 0 && static_cast<size_t>(at) <= match.groups()) return static_cast<size_t>(at);
        raise(vm, Exc::IndexError, "no such group");
    }
    Ref names = names_of(vm, match);
    DictEntry* entry = names.is_kind(Kind::Dict) ? dict_find(vm, cast<Dict>(names.get()), group, hash_key(vm, group)) : nullptr;
    if (!entry || !is_group(match, entry->value)) raise(vm, Exc::IndexError, "no such group");
    return static_cast<size_t>(entry->value.i);
}

Ref text_of(Vm& vm, const Match& match, size_t group, Value fallback) {
    int64_t begin = match.spans[2 * group], end = match.spans[2 * group + 1];
    if (begin < 0) return fallback;
    if (match.text.is_kind(Kind::Str)) return str_slice(vm, cast<Str>(match.text.get()), begin, end, 1);
    return make_bytes(vm, cast<Bytes>(match.text.get())->view().substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
}

Ref span_of(Vm& vm, const Match& match, size_t group) {
    return make_tuple(vm, {Value::integer(match.spans[2 * group]), Value::integer(match.spans[2 * group + 1])});
}

// The group that closed last.
size_t last_index(const Match& match) {
    size_t last = 0;
    int64_t end = -1;
    for (size_t group = 1; group <= match.groups(); group++) {
        if (match.spans[2 * group] >= 0 && match.spans[2 * group + 1] > end) {
            last = group;
            end = match.spans[2 * group + 1];
        }
    }
    return last;
}

}  // namespace

Class* match_class(Vm& vm) { return native_class(vm, kMatch); }

Ref make_match(Vm& vm, FoundMatch found) {
    auto match = std::make_unique<Match>();
    match->pattern = found.pattern;
    match->text = found.text;
    match->pos = found.pos;
    match->endpos = found.endpos;
    match->spans = std::move(found.spans);
    return make_foreign(vm, match_class(vm), std::move(match));
}

Ref match_group(Vm& vm, const Args& args) {
    Match& match = self(args);
    if (args.nrest == 0) return text_of(vm, match, 0, Value::none());
    if (args.nrest == 1) return text_of(vm, match, group_index(vm, match, args.rest[0]), Value::none());
    Ptr<List> texts = make_list(vm);
    for (size_t i = 0; i < args.nrest; i++) {
        list_append(vm, texts.get(), text_of(vm, match, group_index(vm, match, args.rest[i]), Value::none()));
    }
    return make_tuple(vm, texts->items, texts->size);
}

Ref match_getitem(Vm& vm, const Args& args) {
    return text_of(vm, self(args), group_index(vm, self(args), args[1]), Value::none());
}

Ref match_groups(Vm& vm, const Args& args) {
    Match& match = self(args);
    Ptr<List> texts = make_list(vm);
    for (size_t group = 1; group <= match.groups(); group++) list_append(vm, texts.get(), text_of(vm, match, group, args[1]));
    return make_tuple(vm, texts->items, texts->size);
}

Ref match_groupdict(Vm& vm, const Args& args) {
    Match& match = self(args);
    Ref names = names_of(vm, match);
    Ptr<Dict> found = make_dict(vm);
    if (!names.is_kind(Kind::Dict)) return found;
    for (size_t i = 0; DictEntry* entry = dict_entry(cast<Dict>(names.get()), i); i++) {
        if (!is_group(match, entry->value)) continue;
        dict_set(vm, found.get(), entry->key, text_of(vm, match, static_cast<size_t>(entry->value.i), args[1]));
    }
    return found;
}

Ref match_start(Vm& vm, const Args& args) { return integer(self(args).spans[2 * group_index(vm, self(args), args[1])]); }
Ref match_end(Vm& vm, const Args& args) { return integer(self(args).spans[2 * group_index(vm, self(args), args[1]) + 1]); }
Ref match_span(Vm& vm, const Args& args) { return span_of(vm, self(args), group_index(vm, self(args), args[1])); }

Ref match_regs(Vm& vm, const Args& args) {
    Ptr<List> spans = make_list(vm);
    for (size_t group = 0; group <= self(args).groups(); group++) list_append(vm, spans.get(), span_of(vm, self(args), group));
    return make_tuple(vm, spans->items, spans->size);
}

Ref match_re(Vm&, const Args& args) { return self(args).pattern; }
Ref match_string(Vm&, const Args& args) { return self(args).text; }
Ref match_pos(Vm&, const Args& args) { return integer(self(args).pos); }
Ref match_endpos(Vm&, const Args& args) { return integer(self(args).endpos); }

Ref match_lastindex(Vm&, const Args& args) {
    size_t last = last_index(self(args));
    return last ? integer(static_cast<int64_t>(last)) : none();
}

Ref match_lastgroup(Vm& vm, const Args& args) {
    auto last = static_cast<int64_t>(last_index(self(args)));
    Ref names = names_of(vm, self(args));
    if (!names.is_kind(Kind::Dict)) return none();
    for (size_t i = 0; DictEntry* entry = dict_entry(cast<Dict>(names.get()), i); i++) {
        if (entry->value.is_int() && entry->value.i == last) return entry->key;
    }
    return none();
}

// The template is read by the pattern, in re.tc.
Ref match_expand(Vm& vm, const Args& args) {
    Ref expand = get_attr(vm, self(args).pattern, intern(vm, "_expand").get());
    Value values[] = {args[0], args[1]};
    return call(vm, expand, values, 2);
}

Ref match_repr(Vm& vm, const Args& args) {
    Match& match = self(args);
    Ref whole = text_of(vm, match, 0, Value::none());
    return make_str(vm, fmt::format("<re.Match object; span=({}, {}), match={}>", match.spans[0], match.spans[1], repr(vm, whole)->view()));
}

}  // namespace talc::stdlib
