// Methods of set and frozenset.
#include "stdlib/support.hpp"
#include "vm/containers.hpp"

namespace talc::stdlib {

namespace {

Set* self(const Args& args) { return cast<Set>(args[0]); }
bool is_frozen(const Set* set) { return set->flags & kFrozen; }

// A set as an element stands for the frozenset with the same items.
Ref as_element(Vm& vm, Value key) {
    if (is_set(key) && !is_frozen(cast<Set>(key))) return set_copy(vm, cast<Set>(key), true);
    return key;
}

Ptr<Set> copy_of(Vm& vm, Set* set) { return set_copy(vm, set, is_frozen(set)); }

}  // namespace

// ---- Making ---------------------------------------------------------------------------------------

Ref sets_new(Vm& vm, const Args& args) { return allocate_instance(vm, class_to_make(vm, args[0], vm.classes.set)); }

Ref sets_init(Vm& vm, const Args& args) {
    no_keywords(vm, args, "set");
    check_count(vm, args, "set", 0, 1);
    if (self(args)->filled > 0) set_clear(vm, self(args));
    if (args.nrest == 1) set_update(vm, self(args), args.rest[0]);
    return none();
}

Ref frozensets_new(Vm& vm, const Args& args) {
    Class* cls = class_to_make(vm, args[0], vm.classes.frozenset);
    if (!cls->user) no_keywords(vm, args, "frozenset");
    check_count(vm, args, "frozenset", 0, 1);
    Value items = args.nrest ? args.rest[0] : Value();
    if (cls == vm.classes.frozenset && items.is_obj() && items.o->cls == cls) return items;
    Ref made = cls == vm.classes.frozenset ? Ref(make_set(vm, true)) : allocate_instance(vm, cls);
    if (args.nrest) set_update(vm, cast<Set>(made.get()), items);
    return made;
}

Ref sets_copy(Vm& vm, const Args& args) {
    if (args[0].o->cls == vm.classes.frozenset) return args[0];
    return copy_of(vm, self(args));
}

// ---- Algebra --------------------------------------------------------------------------------------

Ref sets_union(Vm& vm, const Args& args) {
    Ptr<Set> result = copy_of(vm, self(args));
    for (size_t i = 0; i < args.nrest; i++) {
        if (args.rest[i].same(args[0])) continue;
        set_update(vm, result.get(), args.rest[i]);
    }
    return result;
}

Ref sets_intersection(Vm& vm, const Args& args) {
    if (args.nrest == 0) return copy_of(vm, self(args));
    Ptr<Set> result(self(args));
    for (size_t i = 0; i < args.nrest; i++) result = set_intersection(vm, result.get(), args.rest[i]);
    return result;
}

Ref sets_difference(Vm& vm, const Args& args) {
    if (args.nrest == 0) return copy_of(vm, self(args));
    Ptr<Set> result = set_difference(vm, self(args), args.rest[0]);
    for (size_t i = 1; i < args.nrest; i++) set_difference_update(vm, result.get(), args.rest[i]);
    return result;
}

namespace {

using BinarySet = Ptr<Set> (*)(Vm&, Set*, Value);

template <BinarySet operation, bool reflected = false>
Ref operate(Vm& vm, const Args& args) {
    if (!is_set(args[1])) return not_implemented();
    return reflected ? operation(vm, cast<Set>(args[1]), args[0]) : operation(vm, self(args), args[1]);
}

}  // namespace

Ref sets_symmetric_difference(Vm& vm, const Args& args) { return set_symmetric_difference(vm, self(args), args[1]); }

Ref sets_or(Vm& vm, const Args& args) { return operate<set_union>(vm, args); }
Ref sets_and(Vm& vm, const Args& args) { return operate<set_intersection>(vm, args); }
Ref sets_sub(Vm& vm, const Args& args) { return operate<set_difference>(vm, args); }
Ref sets_xor(Vm& vm, const Args& args) { return operate<set_symmetric_difference>(vm, args); }
Ref sets_ror(Vm& vm, const Args& args) { return operate<set_union, true>(vm, args); }
Ref sets_rand(Vm& vm, const Args& args) { return operate<set_intersection, true>(vm, args); }
Ref sets_rsub(Vm& vm, const Args& args) { return operate<set_difference, true>(vm, args); }
Ref sets_rxor(Vm& vm, const Args& args) { return operate<set_symmetric_difference, true>(vm, args); }

// ---- Algebra in place -----------------------------------------------------------------------------

Ref sets_update(Vm& vm, const Args& args) {
    for (size_t i = 0; i < args.nrest; i++) set_update(vm, self(args), args.rest[i]);
    return none();
}

Ref sets_intersection_update(Vm& vm, const Args& args) {
    if (args.nrest == 1) {
        set_intersection_update(vm, self(args), args.rest[0]);
    } else {
        set_intersection_update(vm, self(args), sets_intersection(vm, args));
    }
    return none();
}

Ref sets_difference_update(Vm& vm, const Args& args) {
    for (size_t i = 0; i < args.nrest; i++) set_difference_update(vm, self(args), args.rest[i]);
    return none();
}

Ref sets_symmetric_difference_update(Vm& vm, const Args& args) {
    set_symmetric_difference_update(vm, self(args), args[1]);
    return none();
}

Ref sets_ior(Vm& vm, const Args& args) {
    if (!is_set(args[1])) return not_implemented();
    set_update(vm, self(args), args[1]);
    return args[0];
}

Ref sets_iand(Vm& vm, const Args& args) {
    if (!is_set(args[1])) return not_implemented();
    set_intersection_update(vm, self(args), args[1]);
    return args[0];
}

Ref sets_isub(Vm& vm, const Args& args) {
    if (!is_set(args[1])) return not_implemented();
    set_difference_update(vm, self(args), args[1]);
    return args[0];
}

Ref sets_ixor(Vm& vm, const Args& args) {
    if (!is_set(args[1])) return not_implemented();
    set_symmetric_difference_update(vm, self(args), args[1]);
    return args[0];
}

// ---- Single elements ------------------------------------------------------------------------------

Ref sets_add(Vm& vm, const Args& args) {
    set_add(vm, self(args), args[1]);
    return none();
}

Ref sets_discard(Vm& vm, const Args& args) {
    set_remove(vm, self(args), as_element(vm, args[1]));
    return none();
}

Ref sets_remove(Vm& vm, const Args& args) {
    if (!set_remove(vm, self(args), as_element(vm, args[1]))) raise_with(vm, Exc::KeyError, args[1]);
    return none();
}

Ref sets_clear(Vm& vm, const Args& args) {
    set_clear(vm, self(args));
    return none();
}

Ref sets_pop(Vm& vm, const Args& args) {
    Ref key = set_pop(vm, self(args));
    if (!key) raise_with(vm, Exc::KeyError, make_str(vm, "pop from an empty set"));
    return key;
}

// ---- Questions ------------------------------------------------------------------------------------

Ref sets_issubset(Vm& vm, const Args& args) {
    if (is_set(args[1])) return boolean(set_is_subset(vm, self(args), cast<Set>(args[1])));
    return boolean(set_is_subset(vm, self(args), set_from_iterable(vm, args[1], false).get()));
}

Ref sets_issuperset(Vm& vm, const Args& args) {
    if (is_set(args[1])) return boolean(set_is_subset(vm, cast<Set>(args[1]), self(args)));
    bool all = true;
    walk(vm, args[1], [&](Value key) { return all = set_contains(vm, self(args), key); });
    return boolean(all);
}

Ref sets_isdisjoint(Vm& vm, const Args& args) { return boolean(set_is_disjoint(vm, self(args), args[1])); }

}  // namespace talc::stdlib
