// itertools: iterators over iterators. Those that make tuples of choices are in combinatorics.cpp.
#include "stdlib/modules/itertools.hpp"

namespace talc::stdlib {

namespace {

constexpr NativeClass kGrouper = {.name = "_grouper", .module = "itertools", .kind = Kind::Iterator, .final = true};
constexpr NativeClass kTee = {.name = "_tee", .module = "itertools", .kind = Kind::Iterator, .final = true};
constexpr NativeClass kShared = {.name = "_shared", .module = "itertools", .kind = Kind::Iterator, .final = true};

template <class S>
S* state_of(Value iterator) {
    return static_cast<S*>(cast<Iterator>(iterator)->state);
}

struct Count final : IteratorState {
    Ref at, step;

    Ref next(Vm& vm) override {
        Ref value = at;
        int64_t sum;
        if (at.get().is_int() && step.get().is_int() && !__builtin_add_overflow(at.get().i, step.get().i, &sum)) [[likely]] {
            at = Value::integer(sum);
        } else {
            at = binary(vm, BinaryOp::Add, value, step);
        }
        return value;
    }
    void traverse(Visitor& visitor) override {
        visitor.visit(at);
        visitor.visit(step);
    }
};

struct Cycle final : IteratorState {
    Ref source;
    Ptr<List> saved;
    size_t at = 0;

    Ref next(Vm& vm) override {
        if (source) {
            if (Ref item = vm::next(vm, source)) {
                list_append(vm, saved.get(), item.get());
                return item;
            }
            source = Ref();
        }
        if (saved->size == 0) return {};
        if (at >= saved->size) at = 0;
        return saved->items[at++];
    }
    void traverse(Visitor& visitor) override {
        visitor.visit(source);
        visitor.visit(saved);
    }
};

struct Repeat final : IteratorState {
    Ref object;
    int64_t left = -1;  // -1: for ever

    Ref next(Vm&) override {
        if (left == 0) return {};
        if (left > 0) left--;
        return object;
    }
    void traverse(Visitor& visitor) override { visitor.visit(object); }
    int64_t length_hint(Vm&) override { return left; }
};

struct Chain final : IteratorState {
    Ref outer, inner;

    Ref next(Vm& vm) override {
        while (outer) {
            if (!inner) {
                Ref iterable = vm::next(vm, outer);
                if (!iterable) {
                    outer = Ref();
                    return {};
                }
                try {
                    inner = iterate(vm, iterable);
                } catch (Raised&) {
                    outer = Ref();
                    throw;
                }
            }
            Ref keep = inner;
            if (Ref item = vm::next(vm, keep)) return item;
            inner = Ref();
        }
        return {};
    }
    void traverse(Visitor& visitor) override {
        visitor.visit(outer);
        visitor.visit(inner);
    }
};

struct Accumulate final : IteratorState {
    Ref source, function, total, initial;

    Ref next(Vm& vm) override {
        if (initial) {
            total = std::move(initial);
            return total;
        }
        Ref item = vm::next(vm, source);
        if (!item) return {};
        if (!total) total = std::move(item);
        else if (function.is_none()) total = binary(vm, BinaryOp::Add, total, item);
        else total = call(vm, function, total, item);
        return total;
    }
    void traverse(Visitor& visitor) override {
        for (Ref* ref : {&source, &function, &total, &initial}) visitor.visit(*ref);
    }
};

struct Compress final : IteratorState {
    Ref data, selectors;

    Ref next(Vm& vm) override {
        for (;;) {
            Ref item = vm::next(vm, data);
            if (!item) return {};
            Ref chosen = vm::next(vm, selectors);
            if (!chosen) return {};
            if (truth(vm, chosen)) return item;
        }
    }
    void traverse(Visitor& visitor) override {
        visitor.visit(data);
        visitor.visit(selectors);
    }
};

enum class While { Drop, Take, False };

// dropwhile, takewhile, filterfalse: a predicate decides.
struct Chosen final : IteratorState {
    While what;
    Ref predicate, source;
    bool decided = false;  // dropwhile: no more is dropped; takewhile: no more is taken

    Ref next(Vm& vm) override {
        if (what == While::Take && decided) return {};
        while (Ref item = vm::next(vm, source)) {
            if (what == While::Drop && decided) return item;
            bool holds;
            if (what == While::False && predicate.is_none()) {
                holds = truth(vm, item);
            } else {
                Value arg = item;
                Ref answer = call_or_end(vm, predicate, &arg, 1);
                if (!answer) return {};
                holds = truth(vm, answer);
            }
            if (what == While::Take) {
                decided = !holds;
                return holds ? item : Ref();
            }
            if (!holds) {
                decided = true;
                return item;
            }
        }
        return {};
    }
    void traverse(Visitor& visitor) override {
        visitor.visit(predicate);
        visitor.visit(source);
    }
};

struct StarMap final : IteratorState {
    Ref function, source;

    Ref next(Vm& vm) override {
        Ref item = vm::next(vm, source);
        if (!item) return {};
        Ref args = is_plain(item, Kind::Tuple) ? item : Ref(tuple_from_iterable(vm, item));
        auto* tuple = cast<Tuple>(args.get());
        return call_or_end(vm, function, tuple->items, tuple->size);
    }
    void traverse(Visitor& visitor) override {
        visitor.visit(function);
        visitor.visit(source);
    }
};

struct Pairwise final : IteratorState {
    Ref source, before;
    Ptr<Tuple> last;

    Ref next(Vm& vm) override {
        if (!before) {
            before = vm::next(vm, source);
            if (!before) return {};
        }
        Ref item = vm::next(vm, source);
        if (!item) return {};
        Ref items[] = {std::exchange(before, item), item};
        return refill(vm, last, items, 2);
    }
    void traverse(Visitor& visitor) override {
        visitor.visit(source);
        visitor.visit(before);
        if (last) visitor.visit(last);
    }
};

struct Islice final : IteratorState {
    Ref source;
    int64_t wanted, stop, step;  // stop -1: none
    int64_t at = 0;

    Ref next(Vm& vm) override {
        if (!source) return {};
        while (at < wanted) {
            if (!vm::next(vm, source)) return end();
            at++;
        }
        if (stop >= 0 && at >= stop) return end();
        Ref item = vm::next(vm, source);
        if (!item) return end();
        at++;
        // One call past the end uses up the items up to stop, as in CPython.
        if (__builtin_add_overflow(wanted, step, &wanted) || (stop >= 0 && wanted > stop)) wanted = stop >= 0 ? stop : INT64_MAX;
        return item;
    }
    Ref end() {
        source = Ref();
        return {};
    }
    void traverse(Visitor& visitor) override { visitor.visit(source); }
};

struct ZipLongest final : IteratorState {
    std::vector<Ref> sources;  // empty: at its end
    size_t active;
    Ref fill;
    Ptr<Tuple> last;

    Ref next(Vm& vm) override {
        if (active == 0) return {};
        std::vector<Ref> items(sources.size());
        for (size_t i = 0; i < sources.size(); i++) {
            if (sources[i]) {
                items[i] = vm::next(vm, sources[i]);
                if (!items[i]) {
                    sources[i] = Ref();
                    if (--active == 0) return {};
                }
            }
            if (!items[i]) items[i] = fill;
        }
        return refill(vm, last, items.data(), items.size());
    }
    void traverse(Visitor& visitor) override {
        for (Ref& source : sources) visitor.visit(source);
        visitor.visit(fill);
        if (last) visitor.visit(last);
    }
};

// ---- groupby: the groups share one source, which is an object of its own so that the collector sees it once ----

struct Groups final : IteratorState {
    Ref source, key;
    Ref current, current_key, wanted_key;
    int64_t group = 0;  // the number of the group that may take items

    Ref next(Vm&) override { return {}; }
    bool step(Vm& vm) {
        Ref item = vm::next(vm, source);
        if (!item) return false;
        current_key = key.is_none() ? item : call(vm, key, item);
        current = std::move(item);
        return true;
    }
    void traverse(Visitor& visitor) override {
        for (Ref* ref : {&source, &key, &current, &current_key, &wanted_key}) visitor.visit(*ref);
    }
};

struct Grouper final : IteratorState {
    Ref groups, key;
    int64_t group;

    Ref next(Vm& vm) override {
        Ref keep = groups;
        auto* shared = state_of<Groups>(keep);
        if (shared->group != group) return {};
        if (!shared->current && !shared->step(vm)) return {};
        if (!equals(vm, key, shared->current_key)) return {};
        shared->current_key = Ref();
        return std::move(shared->current);
    }
    void traverse(Visitor& visitor) override {
        visitor.visit(groups);
        visitor.visit(key);
    }
};

struct GroupBy final : IteratorState {
    Ref groups;

    Ref next(Vm& vm) override {
        auto* shared = state_of<Groups>(groups);
        shared->group++;
        for (;;) {
            if (shared->current_key && (!shared->wanted_key || !equals(vm, shared->wanted_key, shared->current_key))) break;
            if (!shared->step(vm)) return {};
        }
        shared->wanted_key = shared->current_key;
        auto state = std::make_unique<Grouper>();
        state->groups = groups;
        state->key = shared->wanted_key;
        state->group = shared->group;
        Ref key = shared->wanted_key;
        Ref grouper = make_iterator(vm, native_class(vm, kGrouper), std::move(state));
        return make_tuple(vm, {key, grouper});
    }
    void traverse(Visitor& visitor) override { visitor.visit(groups); }
};

// ---- tee ----

// Items that some of the iterators still want, from number `first` on.
struct TeeBuffer final : IteratorState {
    Ref source;
    Ptr<List> items;
    size_t first = 0;
    std::shared_ptr<std::vector<size_t>> shared;  // positions of the iterators; SIZE_MAX: it is gone

    Ref next(Vm&) override { return {}; }
    Ref take(Vm& vm, size_t who) {
        std::vector<size_t>& positions = *shared;
        size_t at = positions[who];
        if (at < first + items->size) {
            positions[who]++;
            Ref item = items->items[at - first];
            drop_front(vm);
            return item;
        }
        Ref item = vm::next(vm, source);
        if (!item) return {};
        bool others = false;
        for (size_t i = 0; i < positions.size(); i++) others |= i != who && positions[i] != SIZE_MAX;
        if (others) {
            list_append(vm, items.get(), item.get());
        } else {
            first = at + 1;
        }
        positions[who] = at + 1;
        return item;
    }
    // What nobody wants any more goes, many at a time.
    void drop_front(Vm& vm) {
        constexpr size_t kMany = 64;
        size_t least = SIZE_MAX;
        for (size_t position : *shared) least = std::min(least, position);
        size_t done = std::min(least - first, items->size);
        if (done < kMany || done * 2 < items->size) return;
        Ptr<List> rest = list_slice(vm, items.get(), static_cast<int64_t>(done), static_cast<int64_t>(items->size), 1);
        items = rest;
        first += done;
    }
    void traverse(Visitor& visitor) override {
        visitor.visit(source);
        visitor.visit(items);
    }
};

struct Tee final : IteratorState {
    Ref buffer;
    std::shared_ptr<std::vector<size_t>> shared;  // not through the buffer, which may be gone before this is
    size_t who;

    ~Tee() override { (*shared)[who] = SIZE_MAX; }
    Ref next(Vm& vm) override {
        Ref keep = buffer;
        return state_of<TeeBuffer>(keep)->take(vm, who);
    }
    void traverse(Visitor& visitor) override { visitor.visit(buffer); }
};

Ref chosen(Vm& vm, const NativeClass& cls, While what, const Args& args) {
    auto state = std::make_unique<Chosen>();
    state->what = what;
    state->predicate = args[1];
    state->source = iterate(vm, args[2]);
    return make_iterator(vm, native_class(vm, cls), std::move(state));
}

Ref chained(Vm& vm, Value outer) {
    auto state = std::make_unique<Chain>();
    state->outer = iterate(vm, outer);
    return make_iterator(vm, native_class(vm, kClass_chain), std::move(state));
}

bool is_one(Value v) { return v.is_int() && v.i == 1; }

// An index of islice: None or an int that is not negative.
int64_t slice_index(Vm& vm, Value v, int64_t fallback, int64_t least, const char* message) {
    if (v.is_none()) return fallback;
    int64_t index = -1;
    if (is_integer(v) || !find_special(vm, v, Special::Index).is_undef()) index = to_index(vm, v);
    if (index < least) raise(vm, Exc::ValueError, std::string(message));
    return index;
}

}  // namespace

void fill_itertools(Vm& vm, Module* module) {
#define ITERTOOL(name) set_value(vm, module, #name, native_class(vm, kClass_##name));
    ITERTOOLS(ITERTOOL)
#undef ITERTOOL
    // These have a __repr__ of their own.
    for (const NativeClass* shown : {&kClass_count, &kClass_repeat}) native_class(vm, *shown)->foreign_specials = true;
}

Ref count_new(Vm& vm, const Args& args) {
    for (Value v : {args[1], args[2]}) {
        if (!is_number(v) && find_special(vm, v, Special::Add).is_undef()) raise(vm, Exc::TypeError, "a number is required");
    }
    auto state = std::make_unique<Count>();
    state->at = args[1];
    state->step = args[2];
    return make_iterator(vm, native_class(vm, kClass_count), std::move(state));
}

Ref count_repr(Vm& vm, const Args& args) {
    auto* state = state_of<Count>(args[0]);
    std::string text = "count(" + repr(vm, state->at)->string();
    if (!is_one(state->step)) text += ", " + repr(vm, state->step)->string();
    return make_str(vm, text + ")");
}

Ref cycle_new(Vm& vm, const Args& args) {
    auto state = std::make_unique<Cycle>();
    state->source = iterate(vm, args[1]);
    state->saved = make_list(vm);
    return make_iterator(vm, native_class(vm, kClass_cycle), std::move(state));
}

Ref repeat_new(Vm& vm, const Args& args) {
    auto state = std::make_unique<Repeat>();
    state->object = args[1];
    if (args.has(2)) state->left = std::max<int64_t>(to_index(vm, args[2]), 0);
    return make_iterator(vm, native_class(vm, kClass_repeat), std::move(state));
}

Ref repeat_repr(Vm& vm, const Args& args) {
    auto* state = state_of<Repeat>(args[0]);
    std::string text = "repeat(" + repr(vm, state->object)->string();
    if (state->left >= 0) text += ", " + std::to_string(state->left);
    return make_str(vm, text + ")");
}

Ref repeat_length_hint(Vm& vm, const Args& args) {
    auto* state = state_of<Repeat>(args[0]);
    if (state->left < 0) raise(vm, Exc::TypeError, "len() of unsized object");
    return integer(state->left);
}

Ref chain_new(Vm& vm, const Args& args) { return chained(vm, make_tuple(vm, args.rest, args.nrest)); }
Ref chain_from_iterable(Vm& vm, const Args& args) { return chained(vm, args[1]); }

Ref accumulate_new(Vm& vm, const Args& args) {
    auto state = std::make_unique<Accumulate>();
    state->source = iterate(vm, args[1]);
    state->function = args[2];
    if (!args[3].is_none()) state->initial = args[3];
    return make_iterator(vm, native_class(vm, kClass_accumulate), std::move(state));
}

Ref compress_new(Vm& vm, const Args& args) {
    auto state = std::make_unique<Compress>();
    state->data = iterate(vm, args[1]);
    state->selectors = iterate(vm, args[2]);
    return make_iterator(vm, native_class(vm, kClass_compress), std::move(state));
}

Ref dropwhile_new(Vm& vm, const Args& args) { return chosen(vm, kClass_dropwhile, While::Drop, args); }
Ref takewhile_new(Vm& vm, const Args& args) { return chosen(vm, kClass_takewhile, While::Take, args); }
Ref filterfalse_new(Vm& vm, const Args& args) { return chosen(vm, kClass_filterfalse, While::False, args); }

Ref starmap_new(Vm& vm, const Args& args) {
    auto state = std::make_unique<StarMap>();
    state->function = args[1];
    state->source = iterate(vm, args[2]);
    return make_iterator(vm, native_class(vm, kClass_starmap), std::move(state));
}

Ref pairwise_new(Vm& vm, const Args& args) {
    auto state = std::make_unique<Pairwise>();
    state->source = iterate(vm, args[1]);
    return make_iterator(vm, native_class(vm, kClass_pairwise), std::move(state));
}

Ref islice_new(Vm& vm, const Args& args) {
    if (args.nrest < 1) raise(vm, Exc::TypeError, "islice expected at least 2 arguments, got 1");
    if (args.nrest > 3) raise(vm, Exc::TypeError, "islice expected at most 4 arguments, got {}", args.nrest + 1);
    constexpr const char* kIndices = "Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.";
    constexpr const char* kStop = "Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.";
    auto state = std::make_unique<Islice>();
    bool only_stop = args.nrest == 1;
    state->wanted = only_stop ? 0 : slice_index(vm, args.rest[0], 0, 0, kIndices);
    state->stop = slice_index(vm, args.rest[only_stop ? 0 : 1], -1, 0, only_stop ? kStop : kIndices);
    state->step = args.nrest < 3 ? 1 : slice_index(vm, args.rest[2], 1, 1, "Step for islice() must be a positive integer or None.");
    // The items before start are used up even where start lies behind stop.
    if (state->stop >= 0 && state->wanted > state->stop) state->wanted = state->stop;
    state->source = iterate(vm, args[1]);
    return make_iterator(vm, native_class(vm, kClass_islice), std::move(state));
}

Ref zip_longest_new(Vm& vm, const Args& args) {
    auto state = std::make_unique<ZipLongest>();
    state->sources = iterators_of(vm, args.rest, args.nrest);
    state->active = args.nrest;
    state->fill = args[1];
    return make_iterator(vm, native_class(vm, kClass_zip_longest), std::move(state));
}

Ref groupby_new(Vm& vm, const Args& args) {
    auto shared = std::make_unique<Groups>();
    shared->source = iterate(vm, args[1]);
    shared->key = args[2];
    auto state = std::make_unique<GroupBy>();
    state->groups = make_iterator(vm, native_class(vm, kShared), std::move(shared));
    return make_iterator(vm, native_class(vm, kClass_groupby), std::move(state));
}

Ref itertools_tee(Vm& vm, const Args& args) {
    int64_t count = to_index(vm, args[1]);
    if (count < 0) raise(vm, Exc::ValueError, "n must be >= 0");
    constexpr int64_t kMost = 1 << 20;
    if (count > kMost) raise_memory_error(vm);
    auto shared = std::make_unique<TeeBuffer>();
    shared->source = iterate(vm, args[0]);
    shared->items = make_list(vm);
    auto positions = std::make_shared<std::vector<size_t>>(static_cast<size_t>(count), 0);
    shared->shared = positions;
    Ref buffer = make_iterator(vm, native_class(vm, kShared), std::move(shared));
    Ptr<List> made = make_list(vm);
    for (int64_t i = 0; i < count; i++) {
        auto state = std::make_unique<Tee>();
        state->buffer = buffer;
        state->shared = positions;
        state->who = static_cast<size_t>(i);
        list_append(vm, made.get(), Ref(make_iterator(vm, native_class(vm, kTee), std::move(state))));
    }
    return make_tuple(vm, made->items, made->size);
}

}  // namespace talc::stdlib
