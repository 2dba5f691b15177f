#include <algorithm>

#include "tests/unit/vm/fixture.hpp"
#include "vm/timsort.hpp"

namespace talc::vm::test {

namespace {

struct Pair {
    int64_t key;
    int64_t index;
};

// Data with runs, as timsort likes it, and without.
std::vector<Pair> data(uint64_t seed, size_t count) {
    Random random{seed};
    std::vector<Pair> out;
    int64_t key = 0;
    while (out.size() < count) {
        int64_t run = random.below(5) == 0 ? random.below(200) : 1;
        int64_t step = random.below(3) - 1;
        key = random.below(seed % 2 ? 30 : 100000);
        for (int64_t i = 0; i <= run && out.size() < count; i++) {
            out.push_back({key, static_cast<int64_t>(out.size())});
            key += step;
        }
    }
    return out;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "timsort is stable", "[vm][sort]") {
    for (uint64_t seed = 1; seed < 80; seed++) {
        std::vector<Pair> items = data(seed, 1 + seed * 37);
        std::vector<Pair> expected = items;
        auto less = [](const Pair& a, const Pair& b) { return a.key < b.key; };
        std::stable_sort(expected.begin(), expected.end(), less);
        TimSort<Pair, decltype(less)>(vm.heap, less).sort(items.data(), items.size());
        bool same = std::equal(items.begin(), items.end(), expected.begin(),
                               [](const Pair& a, const Pair& b) { return a.key == b.key && a.index == b.index; });
        CHECK(same);
    }
}

TEST_CASE_METHOD(Fixture, "a sort that is broken off keeps all items", "[vm][sort]") {
    for (int64_t limit = 1; limit < 20000; limit = limit * 3 / 2 + 1) {
        std::vector<Pair> items = data(static_cast<uint64_t>(limit), 1500);
        int64_t left = limit;
        auto less = [&](const Pair& a, const Pair& b) {
            if (left-- == 0) throw 1;
            return a.key < b.key;
        };
        try {
            TimSort<Pair, decltype(less)>(vm.heap, less).sort(items.data(), items.size());
        } catch (int) {
        }
        std::vector<int64_t> indices;
        for (const Pair& pair : items) indices.push_back(pair.index);
        std::sort(indices.begin(), indices.end());
        bool whole = true;
        for (size_t i = 0; i < indices.size(); i++) whole &= indices[i] == static_cast<int64_t>(i);
        CHECK(whole);
    }
}

TEST_CASE_METHOD(Fixture, "lists of every sort of key", "[vm][sort]") {
    auto sorted = [&](std::vector<Ref> items, bool reverse) {
        Ptr<List> list = make_list(vm);
        for (Ref& item : items) list_append(vm, list.get(), item);
        sort_list(vm, list.get(), Value::none(), reverse);
        return show(list);
    };
    auto real = [](double x) { return Ref(Value::real(x)); };
    auto integer = [](int64_t x) { return Ref(Value::integer(x)); };
    auto pair = [&](Value a, Value b) { return Ref(make_tuple(vm, {a, b})); };
    CHECK(sorted({integer(3), integer(-5), integer(INT64_MIN), integer(INT64_MAX), Ref(Value::boolean(true))}, false) ==
          "[-9223372036854775808, -5, True, 3, 9223372036854775807]");
    CHECK(sorted({real(2.5), real(-0.0), real(0.0), real(-1e300), real(1e-300)}, false) == "[-1e+300, -0.0, 0.0, 1e-300, 2.5]");
    CHECK(sorted({real(0.0), real(-0.0), real(1)}, true) == "[1.0, 0.0, -0.0]");
    CHECK(sorted({real(2.5), integer(2), integer(3)}, false) == "[2, 2.5, 3]");
    CHECK(sorted({str("b"), str("abcdefgh2"), str("abcdefgh1"), str(""), str("é")}, false) ==
          "['', 'abcdefgh1', 'abcdefgh2', 'b', 'é']");
    CHECK(sorted({pair(Value::integer(2), str("x")), pair(Value::integer(1), str("z")), pair(Value::integer(1), str("a"))}, true) ==
          "[(2, 'x'), (1, 'z'), (1, 'a')]");
    CHECK(error([&] { sorted({str("a"), integer(1)}, false); }) ==
          "TypeError: '<' not supported between instances of 'int' and 'str'");
    std::vector<Ref> many;
    Random random{5};
    for (int i = 0; i < 1000; i++) many.push_back(integer(random.below(1000000) - 500000));
    Ptr<List> list = make_list(vm);
    for (Ref& item : many) list_append(vm, list.get(), item);
    sort_list(vm, list.get(), Value::none(), true);
    bool descending = std::is_sorted(list->items, list->items + list->size, [](Value a, Value b) { return a.i > b.i; });
    CHECK(descending);
}

}  // namespace talc::vm::test
