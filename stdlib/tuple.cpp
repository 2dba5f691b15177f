// Methods of tuple.
#include <algorithm>

#include "stdlib/support.hpp"
#include "vm/containers.hpp"

namespace talc::stdlib {

Ref tuples_new(Vm& vm, const Args& args) {
    Class* cls = class_to_make(vm, args[0], vm.classes.tuple);
    if (!cls->user) no_keywords(vm, args, "tuple");
    check_count(vm, args, "tuple", 0, 1);
    if (cls == vm.classes.tuple) return args.nrest ? Ref(tuple_from_iterable(vm, args.rest[0])) : Ref(vm.empty_tuple);
    Ptr<Tuple> items = args.nrest ? tuple_from_iterable(vm, args.rest[0]) : vm.empty_tuple;
    Tuple* made = make_raw_tuple(vm, items->size, cls);
    for (size_t i = 0; i < items->size; i++) made->items[i] = Ref(items->items[i]).release();
    vm.heap.track(made);
    return Ref::steal(made);
}

Ref tuples_add(Vm& vm, const Args& args) {
    if (!args[1].is_kind(Kind::Tuple)) {
        raise(vm, Exc::TypeError, "can only concatenate tuple (not \"{}\") to tuple", class_name(vm, args[1]));
    }
    return tuple_concat(vm, cast<Tuple>(args[0]), cast<Tuple>(args[1]));
}

Ref tuples_mul(Vm& vm, const Args& args) { return tuple_repeat(vm, cast<Tuple>(args[0]), to_index(vm, args[1])); }

Ref tuples_count(Vm& vm, const Args& args) {
    Tuple* tuple = cast<Tuple>(args[0]);
    int64_t count = 0;
    Ticker ticker(vm);
    for (size_t i = 0; i < tuple->size; i++) {
        ticker.step();
        count += equals(vm, tuple->items[i], args[1]);
    }
    return integer(count);
}

Ref tuples_index(Vm& vm, const Args& args) {
    Tuple* tuple = cast<Tuple>(args[0]);
    int64_t size = static_cast<int64_t>(tuple->size);
    int64_t start = clip_index(vm, args[2], size);
    int64_t stop = std::min(clip_index(vm, args[3], size), size);
    Ticker ticker(vm);
    for (int64_t i = start; i < stop; i++) {
        ticker.step();
        if (equals(vm, tuple->items[i], args[1])) return integer(i);
    }
    raise(vm, Exc::ValueError, "tuple.index(x): x not in tuple");
}

}  // namespace talc::stdlib
