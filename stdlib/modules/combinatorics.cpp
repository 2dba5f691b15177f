// itertools: product, permutations and combinations.
#include "stdlib/modules/itertools.hpp"
#include "vm/format.hpp"

namespace talc::stdlib {

namespace {

using Indices = std::vector<size_t>;

// Room for so many indices, within the engine's limit.
void check_room(Vm& vm, size_t count) {
    if (count > text_limit(vm) / (sizeof(size_t) + sizeof(Value))) raise_memory_error(vm);
}

// A tuple of chosen items: the last one given out, with the items changed, if nobody has kept it.
struct Row {
    Ptr<Tuple> last;

    template <class F>
    Ref give(Vm& vm, size_t count, F&& item) {
        if (last && last->refs == 1) {
            Ref result = last;
            for (size_t i = 0; i < count; i++) {
                Value fresh = item(i);
                if (fresh.same(last->items[i])) continue;
                incref(fresh);
                decref(std::exchange(last->items[i], fresh));
            }
            last->hash = 0;
            if (!last->gc_next) track_tuple(vm, last.get());
            return result;
        }
        Tuple* tuple = make_raw_tuple(vm, count);
        for (size_t i = 0; i < count; i++) tuple->items[i] = Ref(item(i)).release();
        last = Ptr<Tuple>::steal(tuple);
        track_tuple(vm, tuple);
        return last;
    }
    void traverse(Visitor& visitor) {
        if (last) visitor.visit(last);
    }
};

struct Product final : IteratorState {
    std::vector<Ptr<Tuple>> pools;
    Indices at;
    bool started = false, ended = false;
    Row row;

    Ref next(Vm& vm) override {
        if (ended) return {};
        if (!started) {
            started = true;
            for (const Ptr<Tuple>& pool : pools) ended |= pool->size == 0;
        } else {
            ended = true;
            for (size_t i = pools.size(); i-- > 0;) {
                if (++at[i] < pools[i]->size) {
                    ended = false;
                    break;
                }
                at[i] = 0;
            }
        }
        if (ended) return {};
        return row.give(vm, pools.size(), [&](size_t i) { return pools[i]->items[at[i]]; });
    }
    void traverse(Visitor& visitor) override {
        for (const Ptr<Tuple>& pool : pools) visitor.visit(pool);
        row.traverse(visitor);
    }
};

// One pool of items, of which `at` says which are chosen.
struct Choice : IteratorState {
    Ptr<Tuple> pool;
    Indices at;
    size_t chosen = 0;
    bool started = false, ended = false;
    Row row;

    virtual bool advance() = 0;  // false: there is no further choice

    Ref next(Vm& vm) override {
        if (ended) return {};
        if (started && !advance()) {
            ended = true;
            return {};
        }
        started = true;
        return row.give(vm, chosen, [&](size_t i) { return pool->items[at[i]]; });
    }
    void traverse(Visitor& visitor) override {
        visitor.visit(pool);
        row.traverse(visitor);
    }
};

struct Permutations final : Choice {
    Indices cycles;

    bool advance() override {
        size_t n = pool->size;
        for (size_t i = chosen; i-- > 0;) {
            if (--cycles[i] == 0) {
                size_t first = at[i];
                for (size_t k = i; k + 1 < n; k++) at[k] = at[k + 1];
                at[n - 1] = first;
                cycles[i] = n - i;
            } else {
                std::swap(at[i], at[n - cycles[i]]);
                return true;
            }
        }
        return false;
    }
};

struct Combinations final : Choice {
    bool advance() override {
        size_t n = pool->size;
        size_t i = chosen;
        while (i > 0 && at[i - 1] == i - 1 + n - chosen) i--;
        if (i == 0) return false;
        at[i - 1]++;
        for (; i < chosen; i++) at[i] = at[i - 1] + 1;
        return true;
    }
};

struct CombinationsWithReplacement final : Choice {
    bool advance() override {
        size_t n = pool->size;
        size_t i = chosen;
        while (i > 0 && at[i - 1] == n - 1) i--;
        if (i == 0) return false;
        size_t fresh = at[i - 1] + 1;
        for (size_t k = i - 1; k < chosen; k++) at[k] = fresh;
        return true;
    }
};

size_t chosen_count(Vm& vm, Value r) {
    if (!is_integer(r)) raise(vm, Exc::TypeError, "Expected int as r");
    int64_t count = int_value(r);
    if (count < 0) raise(vm, Exc::ValueError, "r must be non-negative");
    return static_cast<size_t>(count);
}

template <class S>
Ref choose(Vm& vm, const NativeClass& cls, Ptr<Tuple> pool, size_t chosen, bool possible) {
    auto state = std::make_unique<S>();
    state->ended = !possible;
    state->chosen = chosen;
    if (possible) {
        check_room(vm, std::max<size_t>(chosen, pool->size));
        state->at.resize(chosen);
    }
    state->pool = std::move(pool);
    if constexpr (std::is_same_v<S, Permutations>) {
        size_t n = state->pool->size;
        if (possible) {
            state->at.resize(n);
            for (size_t i = 0; i < chosen; i++) state->cycles.push_back(n - i);
        }
    }
    if constexpr (!std::is_same_v<S, CombinationsWithReplacement>) {
        for (size_t i = 0; i < state->at.size(); i++) state->at[i] = i;
    }
    return make_iterator(vm, native_class(vm, cls), std::move(state));
}

}  // namespace

Ref product_new(Vm& vm, const Args& args) {
    int64_t repeat = to_index(vm, args[1]);
    if (repeat < 0) raise(vm, Exc::ValueError, "repeat argument cannot be negative");
    auto state = std::make_unique<Product>();
    for (size_t i = 0; i < args.nrest; i++) state->pools.push_back(tuple_from_iterable(vm, args.rest[i]));
    size_t once = repeat == 0 ? 0 : state->pools.size();
    if (once > 0) check_room(vm, static_cast<size_t>(repeat) > SIZE_MAX / once ? SIZE_MAX : once * static_cast<size_t>(repeat));
    state->pools.resize(once);
    for (int64_t round = 1; once > 0 && round < repeat; round++) {
        for (size_t i = 0; i < once; i++) state->pools.push_back(Ptr<Tuple>(state->pools[i]));
    }
    state->at.resize(state->pools.size());
    return make_iterator(vm, native_class(vm, kClass_product), std::move(state));
}

Ref permutations_new(Vm& vm, const Args& args) {
    Ptr<Tuple> pool = tuple_from_iterable(vm, args[1]);
    size_t n = pool->size;
    size_t r = args[2].is_none() ? n : chosen_count(vm, args[2]);
    return choose<Permutations>(vm, kClass_permutations, std::move(pool), r, r <= n);
}

Ref combinations_new(Vm& vm, const Args& args) {
    Ptr<Tuple> pool = tuple_from_iterable(vm, args[1]);
    size_t r = static_cast<size_t>(to_index(vm, args[2]));
    if (static_cast<int64_t>(r) < 0) raise(vm, Exc::ValueError, "r must be non-negative");
    size_t n = pool->size;
    return choose<Combinations>(vm, kClass_combinations, std::move(pool), r, r <= n);
}

Ref combinations_with_replacement_new(Vm& vm, const Args& args) {
    Ptr<Tuple> pool = tuple_from_iterable(vm, args[1]);
    size_t r = static_cast<size_t>(to_index(vm, args[2]));
    if (static_cast<int64_t>(r) < 0) raise(vm, Exc::ValueError, "r must be non-negative");
    bool possible = pool->size > 0 || r == 0;
    return choose<CombinationsWithReplacement>(vm, kClass_combinations_with_replacement, std::move(pool), r, possible);
}

}  // namespace talc::stdlib
