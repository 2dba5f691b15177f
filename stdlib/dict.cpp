// Methods of dict and of its views.
#include "stdlib/support.hpp"
#include "vm/containers.hpp"

namespace talc::stdlib {

namespace {

Dict* self(const Args& args) { return cast<Dict>(args[0]); }

void update_from(Vm& vm, const Args& args, const char* function) {
    check_count(vm, args, function, 0, 1);
    if (args.nrest == 1) dict_update(vm, self(args), args.rest[0]);
    for (size_t i = 0; i < args.nkeywords; i++) dict_set(vm, self(args), args.keyword_names[i], args.keyword_values[i]);
}

}  // namespace

Ref dicts_new(Vm& vm, const Args& args) { return allocate_instance(vm, class_to_make(vm, args[0], vm.classes.dict)); }

Ref dicts_init(Vm& vm, const Args& args) {
    update_from(vm, args, "dict");
    return none();
}

Ref dicts_update(Vm& vm, const Args& args) {
    update_from(vm, args, "update");
    return none();
}

Ref dicts_fromkeys(Vm& vm, const Args& args) {
    Value cls = args[0];
    Ref made = cls.o == vm.classes.dict ? Ref(make_dict(vm)) : call(vm, cls);
    bool plain = is_plain(made, Kind::Dict);
    walk(vm, args[1], [&](Value key) {
        if (plain) {
            dict_set(vm, cast<Dict>(made.get()), key, args[2]);
        } else {
            set_item(vm, made, key, args[2]);
        }
        return true;
    });
    return made;
}

// ---- Items ----------------------------------------------------------------------------------------

Ref dicts_getitem(Vm& vm, const Args& args) {
    Value found = dict_get(vm, self(args), args[1]);
    if (!found.is_undef()) return found;
    Value missing = find_special(vm, args[0], Special::Missing);
    if (!missing.is_undef()) return call_special(vm, missing, args[0], args[1]);
    raise_with(vm, Exc::KeyError, args[1]);
}

Ref dicts_get(Vm& vm, const Args& args) {
    Value found = dict_get(vm, self(args), args[1]);
    return found.is_undef() ? args[2] : found;
}

Ref dicts_setdefault(Vm& vm, const Args& args) { return dict_set_default(vm, self(args), args[1], args[2]); }

Ref dicts_pop(Vm& vm, const Args& args) {
    Ref removed;
    if (dict_remove(vm, self(args), args[1], &removed)) return removed;
    if (args.has(2)) return args[2];
    raise_with(vm, Exc::KeyError, args[1]);
}

Ref dicts_popitem(Vm& vm, const Args& args) {
    Ref key, value;
    if (!dict_pop_last(vm, self(args), &key, &value)) {
        raise_with(vm, Exc::KeyError, make_str(vm, "popitem(): dictionary is empty"));
    }
    return make_tuple(vm, {key, value});
}

Ref dicts_clear(Vm& vm, const Args& args) {
    dict_clear(vm, self(args));
    return none();
}

Ref dicts_copy(Vm& vm, const Args& args) { return dict_copy(vm, self(args)); }

// ---- Operators ------------------------------------------------------------------------------------

namespace {

Ref merged(Vm& vm, Value a, Value b) {
    if (!a.is_kind(Kind::Dict) || !b.is_kind(Kind::Dict)) return not_implemented();
    Ptr<Dict> result = dict_copy(vm, cast<Dict>(a));
    dict_update(vm, result.get(), b);
    return result;
}

}  // namespace

Ref dicts_or(Vm& vm, const Args& args) { return merged(vm, args[0], args[1]); }
Ref dicts_ror(Vm& vm, const Args& args) { return merged(vm, args[1], args[0]); }

Ref dicts_ior(Vm& vm, const Args& args) {
    dict_update(vm, self(args), args[1]);
    return args[0];
}

// ---- Views ----------------------------------------------------------------------------------------

Ref dicts_keys(Vm& vm, const Args& args) { return make_dict_view(vm, self(args), ViewOf::Keys); }
Ref dicts_values(Vm& vm, const Args& args) { return make_dict_view(vm, self(args), ViewOf::Values); }
Ref dicts_items(Vm& vm, const Args& args) { return make_dict_view(vm, self(args), ViewOf::Items); }

namespace {

Ref view_operator(Vm& vm, BinaryOp op, Value a, Value b) {
    Ref result = dict_view_binary(vm, op, a, b);
    return result ? std::move(result) : not_implemented();
}

}  // namespace

Ref views_and(Vm& vm, const Args& args) { return view_operator(vm, BinaryOp::And, args[0], args[1]); }
Ref views_or(Vm& vm, const Args& args) { return view_operator(vm, BinaryOp::Or, args[0], args[1]); }
Ref views_sub(Vm& vm, const Args& args) { return view_operator(vm, BinaryOp::Sub, args[0], args[1]); }
Ref views_xor(Vm& vm, const Args& args) { return view_operator(vm, BinaryOp::Xor, args[0], args[1]); }
Ref views_rand(Vm& vm, const Args& args) { return view_operator(vm, BinaryOp::And, args[1], args[0]); }
Ref views_ror(Vm& vm, const Args& args) { return view_operator(vm, BinaryOp::Or, args[1], args[0]); }
Ref views_rsub(Vm& vm, const Args& args) { return view_operator(vm, BinaryOp::Sub, args[1], args[0]); }
Ref views_rxor(Vm& vm, const Args& args) { return view_operator(vm, BinaryOp::Xor, args[1], args[0]); }

Ref views_isdisjoint(Vm& vm, const Args& args) {
    Value view = args[0], other = args[1];
    if (view.same(other)) return boolean(length(vm, view) == 0);
    bool sized = is_set(other) || other.is_kind(Kind::DictView);
    if (sized && length(vm, other) > length(vm, view)) std::swap(view, other);
    bool disjoint = true;
    walk(vm, other, [&](Value item) { return disjoint = !contains(vm, view, item); });
    return boolean(disjoint);
}

}  // namespace talc::stdlib
