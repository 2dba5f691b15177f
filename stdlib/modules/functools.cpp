// functools: what a cached function does at every call. The rest is functools.tc.
#include "stdlib/modules.hpp"
#include "stdlib/support.hpp"
#include "vm/containers.hpp"

namespace talc::stdlib {

namespace {

// The arguments are the key, but one int or str alone stands for itself, as in CPython: f(1) and f(1.0) are two calls.
Value key_of(Value arguments) {
    if (!arguments.is_kind(Kind::Tuple) || cast<Tuple>(arguments)->size != 1) return arguments;
    Value only = cast<Tuple>(arguments)->items[0];
    return only.is_int() || is_plain(only, Kind::Str) ? only : arguments;
}

Dict* values_of(Vm& vm, Value v) {
    if (!v.is_kind(Kind::Dict)) raise(vm, Exc::TypeError, "a dict is required, not '{}'", class_name(vm, v));
    return cast<Dict>(v);
}

}  // namespace

void fill_functools(Vm&, Module*) {}

Ref functools_look_up(Vm& vm, const Args& args) {
    Dict* values = values_of(vm, args[0]);
    Value key = key_of(args[1]);
    int64_t hash = hash_key(vm, key);
    DictEntry* entry = dict_find(vm, values, key, hash);
    if (!entry) return args[3];
    Ref found = entry->value;
    if (truth(vm, args[2])) {
        // Dicts keep the order of insertion: the least recently used key stays first.
        Ref kept = entry->key;
        dict_remove(vm, values, kept);
        dict_set(vm, values, kept, hash, found);
    }
    return found;
}

Ref functools_store(Vm& vm, const Args& args) {
    Dict* values = values_of(vm, args[0]);
    Value key = key_of(args[1]);
    int64_t hash = hash_key(vm, key);
    if (!args[3].is_none()) {
        int64_t most = to_index(vm, args[3]);
        if (most == 0) return none();
        if (length(vm, args[0]) >= most && !dict_find(vm, values, key, hash)) {
            for (size_t i = 0; DictEntry* entry = dict_entry(values, i); i++) {
                Ref oldest = entry->key;
                dict_remove(vm, values, oldest);
                break;
            }
        }
    }
    dict_set(vm, values, key, hash, args[2]);
    return none();
}

}  // namespace talc::stdlib
