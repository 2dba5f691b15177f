// Methods of list.
#include <algorithm>

#include "stdlib/support.hpp"
#include "vm/containers.hpp"

namespace talc::stdlib {

Ref lists_new(Vm& vm, const Args& args) { return allocate_instance(vm, class_to_make(vm, args[0], vm.classes.list)); }

Ref lists_init(Vm& vm, const Args& args) {
    no_keywords(vm, args, "list");
    check_count(vm, args, "list", 0, 1);
    List* list = cast<List>(args[0]);
    if (list->size > 0) list_clear(vm, list);
    if (args.nrest == 1) list_extend(vm, list, args.rest[0]);
    return none();
}

// ---- Operators ------------------------------------------------------------------------------------

Ref lists_add(Vm& vm, const Args& args) {
    if (!args[1].is_kind(Kind::List)) {
        raise(vm, Exc::TypeError, "can only concatenate list (not \"{}\") to list", class_name(vm, args[1]));
    }
    return list_concat(vm, cast<List>(args[0]), cast<List>(args[1]));
}

Ref lists_iadd(Vm& vm, const Args& args) {
    list_extend(vm, cast<List>(args[0]), args[1]);
    return args[0];
}

Ref lists_mul(Vm& vm, const Args& args) { return list_repeat(vm, cast<List>(args[0]), to_index(vm, args[1])); }

Ref lists_imul(Vm& vm, const Args& args) {
    list_repeat_in_place(vm, cast<List>(args[0]), to_index(vm, args[1]));
    return args[0];
}

// ---- Changing -------------------------------------------------------------------------------------

Ref lists_append(Vm& vm, const Args& args) {
    list_append(vm, cast<List>(args[0]), args[1]);
    return none();
}

Ref lists_extend(Vm& vm, const Args& args) {
    list_extend(vm, cast<List>(args[0]), args[1]);
    return none();
}

Ref lists_clear(Vm& vm, const Args& args) {
    list_clear(vm, cast<List>(args[0]));
    return none();
}

Ref lists_insert(Vm& vm, const Args& args) {
    List* list = cast<List>(args[0]);
    int64_t at = to_index(vm, args[1]);
    int64_t size = static_cast<int64_t>(list->size);
    if (at < 0) at = std::max<int64_t>(at + size, 0);
    list_insert(vm, list, static_cast<size_t>(std::min(at, size)), args[2]);
    return none();
}

Ref lists_pop(Vm& vm, const Args& args) {
    List* list = cast<List>(args[0]);
    int64_t at = args[1].is_int() ? args[1].i : to_index(vm, args[1]);
    int64_t size = static_cast<int64_t>(list->size);
    if (size == 0) raise(vm, Exc::IndexError, "pop from empty list");
    if (at < 0) at += size;
    if (at < 0 || at >= size) raise(vm, Exc::IndexError, "pop index out of range");
    return list_remove_at(vm, list, static_cast<size_t>(at));
}

Ref lists_remove(Vm& vm, const Args& args) {
    List* list = cast<List>(args[0]);
    Ticker ticker(vm);
    for (size_t i = 0; i < list->size; i++) {
        ticker.step();
        Ref item = list->items[i];
        if (!equals(vm, item, args[1])) continue;
        if (i < list->size) list_remove_at(vm, list, i);  // a script's __eq__ may have shortened the list
        return none();
    }
    raise(vm, Exc::ValueError, "list.remove(x): x not in list");
}

Ref lists_reverse(Vm&, const Args& args) {
    list_reverse(cast<List>(args[0]));
    return none();
}

// The keywords key and reverse, of list.sort and sorted alike (CPython names sort() in the errors of both).
void sort_with_keywords(Vm& vm, List* list, const Args& args) {
    Value key = Value::none();
    bool reverse = false;
    for (size_t i = 0; i < args.nkeywords; i++) {
        std::string_view name = args.keyword_names[i]->view();
        if (name == "key") {
            key = args.keyword_values[i];
        } else if (name == "reverse") {
            reverse = to_index(vm, args.keyword_values[i]) != 0;
        } else {
            raise(vm, Exc::TypeError, "'{}' is an invalid keyword argument for sort()", name);
        }
    }
    sort_list(vm, list, key, reverse);
}

Ref lists_sort(Vm& vm, const Args& args) {
    if (args.nrest > 0) raise(vm, Exc::TypeError, "sort() takes no positional arguments");
    sort_with_keywords(vm, cast<List>(args[0]), args);
    return none();
}

// ---- Looking --------------------------------------------------------------------------------------

Ref lists_copy(Vm& vm, const Args& args) {
    List* list = cast<List>(args[0]);
    return make_list(vm, list->items, list->size);
}

Ref lists_count(Vm& vm, const Args& args) {
    List* list = cast<List>(args[0]);
    int64_t count = 0;
    Ticker ticker(vm);
    for (size_t i = 0; i < list->size; i++) {
        ticker.step();
        Ref item = list->items[i];
        count += equals(vm, item, args[1]);
    }
    return integer(count);
}

Ref lists_index(Vm& vm, const Args& args) {
    List* list = cast<List>(args[0]);
    int64_t start = clip_index(vm, args[2], static_cast<int64_t>(list->size));
    int64_t stop = clip_index(vm, args[3], static_cast<int64_t>(list->size));
    Ticker ticker(vm);
    for (int64_t i = start; i < stop && i < static_cast<int64_t>(list->size); i++) {
        ticker.step();
        Ref item = list->items[i];
        if (equals(vm, item, args[1])) return integer(i);
    }
    raise(vm, Exc::ValueError, "{} is not in list", repr(vm, args[1])->view());
}

}  // namespace talc::stdlib
