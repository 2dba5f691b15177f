// Methods of range and slice.
#include "stdlib/support.hpp"

namespace talc::stdlib {

// ---- range ----------------------------------------------------------------------------------------

Ref ranges_new(Vm& vm, const Args& args) {
    class_to_make(vm, args[0], vm.classes.range);
    no_keywords(vm, args, "range");
    check_count(vm, args, "range", 1, 3);
    int64_t start = 0, step = 1;
    int64_t stop = to_index(vm, args.rest[args.nrest == 1 ? 0 : 1]);
    if (args.nrest > 1) start = to_index(vm, args.rest[0]);
    if (args.nrest > 2) step = to_index(vm, args.rest[2]);
    if (step == 0) raise(vm, Exc::ValueError, "range() arg 3 must not be zero");
    return make_range(vm, start, stop, step);
}

namespace {

// Index of an int in a range; -1: not in it.
int64_t position(const Range* range, int64_t x) {
    if (range->length == 0) return -1;
    // Differences of int64 fit in uint64; the sign of the step says which way round.
    uint64_t distance = range->step > 0 ? static_cast<uint64_t>(x) - static_cast<uint64_t>(range->start)
                                        : static_cast<uint64_t>(range->start) - static_cast<uint64_t>(x);
    bool beyond = range->step > 0 ? x < range->start : x > range->start;
    uint64_t step = range->step > 0 ? static_cast<uint64_t>(range->step) : 0 - static_cast<uint64_t>(range->step);
    if (beyond || distance % step != 0 || distance / step >= static_cast<uint64_t>(range->length)) return -1;
    return static_cast<int64_t>(distance / step);
}

}  // namespace

Ref ranges_count(Vm& vm, const Args& args) {
    if (args[1].is_int() || args[1].is_bool()) return integer(position(cast<Range>(args[0]), int_value(args[1])) >= 0);
    int64_t count = 0;
    walk(vm, args[0], [&](Value item) {
        count += equals(vm, item, args[1]);
        return true;
    });
    return integer(count);
}

Ref ranges_index(Vm& vm, const Args& args) {
    if (args[1].is_int() || args[1].is_bool()) {
        int64_t at = position(cast<Range>(args[0]), int_value(args[1]));
        if (at >= 0) return integer(at);
        raise(vm, Exc::ValueError, "{} is not in range", repr(vm, args[1])->view());
    }
    int64_t at = 0;
    bool found = false;
    walk(vm, args[0], [&](Value item) {
        found = equals(vm, item, args[1]);
        at += !found;
        return !found;
    });
    if (!found) raise(vm, Exc::ValueError, "sequence.index(x): x not in sequence");
    return integer(at);
}

// ---- slice ----------------------------------------------------------------------------------------

Ref slices_new(Vm& vm, const Args& args) {
    class_to_make(vm, args[0], vm.classes.slice);
    no_keywords(vm, args, "slice");
    check_count(vm, args, "slice", 1, 3);
    Value none = Value::none();
    if (args.nrest == 1) return make_slice(vm, none, args.rest[0], none);
    return make_slice(vm, args.rest[0], args.rest[1], args.nrest == 3 ? args.rest[2] : none);
}

Ref slices_indices(Vm& vm, const Args& args) {
    int64_t length = to_index(vm, args[1]);
    if (length < 0) raise(vm, Exc::ValueError, "length should not be negative");
    SliceRange range = slice_range(vm, cast<Slice>(args[0]), length);
    return make_tuple(vm, {Value::integer(range.start), Value::integer(range.stop), Value::integer(range.step)});
}

}  // namespace talc::stdlib
