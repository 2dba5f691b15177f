// Sets show their items in CPython's order. The expected digests were computed by CPython 3.11 with
// tests/unit/vm/set_order.py.
#include "tests/unit/vm/fixture.hpp"

namespace talc::vm::test {

namespace {

constexpr int64_t kModulus = 1000000007;
int64_t wrap(int64_t x) { return (x % kModulus + kModulus) % kModulus; }

int64_t digest(Set* set) {
    int64_t sum = 7;
    for (size_t at = 0; SetEntry* entry = set_entry(set, at); at++) sum = wrap(sum * 31 + entry->key.i + 1000003);
    return sum;
}

int64_t history(Vm& vm, uint64_t seed) {
    Random random{seed};
    Ptr<Set> a = make_set(vm);
    Ptr<Set> b = make_set(vm);
    int64_t range = std::vector<int64_t>{12, 100, 5000, int64_t{1} << 30}[seed % 4];
    int64_t sum = 0;
    for (int64_t step = 0; step < 150; step++) {
        int64_t what = random.below(14);
        Ref key = Value::integer(random.below(range) - range / 3);
        Ref other = Value::object(b.get());
        if (what < 6) {
            set_add(vm, a.get(), key);
        } else if (what < 8) {
            set_add(vm, b.get(), key);
        } else if (what == 8) {
            set_remove(vm, a.get(), key);
        } else if (what == 9) {
            if (Ref popped = set_pop(vm, a.get())) sum = wrap(sum + popped.get().i);
        } else if (what == 10) {
            Ptr<Set> u = set_union(vm, a.get(), other);
            Ptr<Set> d = set_difference(vm, a.get(), other);
            Ptr<Set> i = set_intersection(vm, a.get(), other);
            Ptr<Set> x = set_symmetric_difference(vm, a.get(), other);
            for (Set* s : {u.get(), d.get(), i.get(), x.get()}) sum = wrap(sum * 3 + digest(s));
        } else if (what == 11) {
            if (random.below(4) == 0) set_difference_update(vm, a.get(), other);
            if (random.below(4) == 0) set_intersection_update(vm, b.get(), Value::object(a.get()));
        } else if (what == 12) {
            if (random.below(3) == 0) set_update(vm, a.get(), other);
            if (random.below(3) == 0) set_symmetric_difference_update(vm, b.get(), Value::object(a.get()));
        } else {
            a = set_copy(vm, a.get(), false);
        }
        sum = wrap(sum * 5 + digest(a.get()) + digest(b.get()));
    }
    return sum;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "set order is CPython's", "[vm][set]") {
    int64_t sum = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) sum = wrap(sum * 7 + history(vm, seed));
    CHECK(sum == 155719610);
}

TEST_CASE_METHOD(Fixture, "sets of constants, hashes, comparison", "[vm][set]") {
    Value items[] = {Value::integer(9), Value::integer(1), Value::integer(33), Value::integer(4), Value::integer(17)};
    CHECK(show(set_of_constants(vm, items, 5)) == "{1, 33, 17, 4, 9}");
    Ptr<Set> frozen = make_set(vm, true);
    for (Value v : items) set_add(vm, frozen.get(), v);
    CHECK(hash(vm, Value::object(frozen.get())) == 2448809503009656717);
    Ptr<Set> thawed = set_copy(vm, frozen.get(), false);
    CHECK(equals(vm, Value::object(frozen.get()), Value::object(thawed.get())));
    CHECK(error([&] { hash(vm, Value::object(thawed.get())); }) == "TypeError: unhashable type: 'set'");
    Ptr<Set> outer = make_set(vm);
    set_add(vm, outer.get(), Value::object(frozen.get()));
    CHECK(set_contains(vm, outer.get(), Value::object(thawed.get())));
    set_remove(vm, thawed.get(), Value::integer(33));
    CHECK(compare_bool(vm, CompareOp::Lt, Value::object(thawed.get()), Value::object(frozen.get())));
    CHECK_FALSE(compare_bool(vm, CompareOp::Ge, Value::object(thawed.get()), Value::object(frozen.get())));
}

TEST_CASE_METHOD(Fixture, "a set that changes while it is walked", "[vm][set]") {
    Ptr<Set> set = make_set(vm);
    for (int64_t i = 0; i < 5; i++) set_add(vm, set.get(), Value::integer(i));
    Ref iterator = iterate(vm, Value::object(set.get()));
    next(vm, iterator);
    set_add(vm, set.get(), Value::integer(77));
    CHECK(error([&] { next(vm, iterator); }) == "RuntimeError: Set changed size during iteration");
}

}  // namespace talc::vm::test
