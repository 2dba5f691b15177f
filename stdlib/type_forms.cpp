#include "stdlib/type_forms.hpp"

#include <algorithm>

#include "stdlib/support.hpp"

namespace talc::stdlib {

namespace {

struct Union final : ForeignState {
    std::vector<Ref> members;
    void traverse(Visitor& visitor) override {
        for (Ref& member : members) visitor.visit(member);
    }
};

struct Alias final : ForeignState {
    Ref origin;
    Ptr<Tuple> args;
    void traverse(Visitor& visitor) override {
        visitor.visit(origin);
        visitor.visit(args);
    }
};

bool has_class(Value v, Class* cls) { return v.is_kind(Kind::Foreign) && v.o->cls == cls; }

bool may_be_member(Vm& vm, Value v) {
    return v.is_none() || is_class(v) || has_class(v, vm.classes.union_type) || is_generic_alias(vm, v);
}

void add_member(Vm& vm, std::vector<Ref>& members, Value v) {
    if (const std::vector<Ref>* inner = union_members(vm, v)) {
        for (const Ref& member : *inner) add_member(vm, members, member);
        return;
    }
    Value member = v.is_obj() && v.o == vm.classes.none_type ? Value::none() : v;
    for (const Ref& known : members) {
        if (equals(vm, known, member)) return;
    }
    members.push_back(member);
}

Ref make_union(Vm& vm, Value a, Value b) {
    if (!may_be_member(vm, a) || !may_be_member(vm, b)) return not_implemented();
    auto state = std::make_unique<Union>();
    add_member(vm, state->members, a);
    add_member(vm, state->members, b);
    if (state->members.size() == 1) return state->members[0];
    return make_foreign(vm, vm.classes.union_type, std::move(state));
}

std::string form_text(Vm& vm, Value v) {
    if (is_class(v)) return full_class_name(cast<Class>(v));
    if (v.tag == Tag::Ellipsis) return "...";
    if (!v.is_kind(Kind::List)) return repr(vm, v)->string();
    std::string text;
    List* list = cast<List>(v);
    for (size_t i = 0; i < list->size; i++) text += (i ? ", " : "") + form_text(vm, list->items[i]);
    return "[" + text + "]";
}

}  // namespace

const std::vector<Ref>* union_members(Vm& vm, Value v) {
    return has_class(v, vm.classes.union_type) ? &foreign_cast<Union>(v)->members : nullptr;
}

bool is_generic_alias(Vm& vm, Value v) { return has_class(v, vm.classes.generic_alias); }

// ---- a | b ----------------------------------------------------------------------------------------

Ref forms_or(Vm& vm, const Args& args) { return make_union(vm, args[0], args[1]); }
Ref forms_ror(Vm& vm, const Args& args) { return make_union(vm, args[1], args[0]); }

Ref unions_repr(Vm& vm, const Args& args) {
    std::string text;
    for (const Ref& member : foreign_cast<Union>(args[0])->members) text += (text.empty() ? "" : " | ") + form_text(vm, member);
    return make_str(vm, text);
}

Ref unions_eq(Vm& vm, const Args& args) {
    const std::vector<Ref>* other = union_members(vm, args[1]);
    if (!other) return not_implemented();
    const std::vector<Ref>& own = foreign_cast<Union>(args[0])->members;
    bool same = own.size() == other->size();
    for (size_t i = 0; same && i < own.size(); i++) {
        same = std::any_of(other->begin(), other->end(), [&](const Ref& member) { return equals(vm, own[i], member); });
    }
    return boolean(same);
}

Ref unions_hash(Vm& vm, const Args& args) {
    uint64_t sum = 0;  // the order of members does not count
    for (const Ref& member : foreign_cast<Union>(args[0])->members) sum += static_cast<uint64_t>(hash(vm, member));
    return integer(static_cast<int64_t>(sum));
}

Ref unions_args(Vm& vm, const Args& args) {
    const std::vector<Ref>& members = foreign_cast<Union>(args[0])->members;
    std::vector<Value> classes;
    for (const Ref& member : members) classes.push_back(member.is_none() ? Value(vm.classes.none_type) : member.get());
    return make_tuple(vm, classes.data(), classes.size());
}

// ---- list[int] ------------------------------------------------------------------------------------

Ref class_getitem(Vm& vm, const Args& args) {
    auto state = std::make_unique<Alias>();
    state->origin = args[0];
    state->args = is_plain(args[1], Kind::Tuple) ? Ptr<Tuple>(cast<Tuple>(args[1])) : make_tuple(vm, {args[1]});
    return make_foreign(vm, vm.classes.generic_alias, std::move(state));
}

Ref aliases_repr(Vm& vm, const Args& args) {
    Alias* alias = foreign_cast<Alias>(args[0]);
    std::string text;
    for (size_t i = 0; i < alias->args->size; i++) text += (i ? ", " : "") + form_text(vm, alias->args->items[i]);
    return make_str(vm, form_text(vm, alias->origin) + "[" + (alias->args->size ? text : "()") + "]");
}

Ref aliases_eq(Vm& vm, const Args& args) {
    if (!is_generic_alias(vm, args[1])) return not_implemented();
    Alias* a = foreign_cast<Alias>(args[0]);
    Alias* b = foreign_cast<Alias>(args[1]);
    return boolean(a->origin.get().same(b->origin) && equals(vm, a->args, b->args));
}

Ref aliases_hash(Vm& vm, const Args& args) {
    Alias* alias = foreign_cast<Alias>(args[0]);
    return integer(hash(vm, alias->origin) ^ hash(vm, alias->args));
}

Ref aliases_call(Vm& vm, const Args& args) {
    std::vector<Value> all(args.rest, args.rest + args.nrest);
    all.insert(all.end(), args.keyword_values, args.keyword_values + args.nkeywords);
    return call(vm, foreign_cast<Alias>(args[0])->origin, all.data(), all.size(), args.keyword_names, args.nkeywords);
}

Ref aliases_origin(Vm&, const Args& args) { return foreign_cast<Alias>(args[0])->origin; }
Ref aliases_args(Vm&, const Args& args) { return foreign_cast<Alias>(args[0])->args; }

}  // namespace talc::stdlib
