#include <map>

#include "tests/unit/vm/fixture.hpp"

namespace talc::vm::test {

TEST_CASE_METHOD(Fixture, "dicts against a model", "[vm][dict]") {
    for (uint64_t seed = 1; seed <= 60; seed++) {
        Random random{seed};
        Ptr<Dict> dict = make_dict(vm);
        std::map<int64_t, int64_t> model;
        int64_t range = seed % 2 ? 40 : 4000;
        for (int step = 0; step < 600; step++) {
            int64_t key = (random.below(range) - range / 2) * (seed % 3 == 0 ? 1024 : 1);
            bool text = key % 3 == 0;
            Ref k = text ? str(std::to_string(key)) : Ref(Value::integer(key));
            switch (random.below(5)) {
                case 0:
                case 1:
                case 2:
                    dict_set(vm, dict.get(), k, Value::integer(step));
                    model[key] = step;
                    break;
                case 3: CHECK(dict_remove(vm, dict.get(), k) == (model.erase(key) == 1)); break;
                default: {
                    Value found = dict_get(vm, dict.get(), k);
                    auto expected = model.find(key);
                    if (expected == model.end()) {
                        CHECK(found.is_undef());
                    } else {
                        CHECK(found.i == expected->second);
                    }
                }
            }
            if (step == 300) dict = dict_copy(vm, dict.get());
        }
        CHECK(dict->used == model.size());
        size_t seen = 0;
        for (size_t at = 0; dict_entry(dict.get(), at); at++) seen++;
        CHECK(seen == model.size());
    }
}

TEST_CASE_METHOD(Fixture, "dicts keep their order", "[vm][dict]") {
    Ptr<Dict> dict = make_dict(vm);
    for (int64_t i : {5, 3, 9, 1, 7, 8, 2}) dict_set(vm, dict.get(), Value::integer(i), Value::integer(i * i));
    dict_remove(vm, dict.get(), Value::integer(9));
    dict_set(vm, dict.get(), Value::integer(5), Value::none());
    dict_set(vm, dict.get(), Value::integer(9), Value::boolean(true));
    CHECK(show(dict) == "{5: None, 3: 9, 1: 1, 7: 49, 8: 64, 2: 4, 9: True}");
    CHECK(show(make_dict_view(vm, dict.get(), ViewOf::Keys)) == "dict_keys([5, 3, 1, 7, 8, 2, 9])");
    Ref key;
    Ref value;
    CHECK(dict_pop_last(vm, dict.get(), &key, &value));
    CHECK(key.get().i == 9);
    CHECK(error([&] { get_item(vm, dict, Value::integer(9)); }) == "KeyError: 9");
    // 1, 1.0 and True are one key.
    CHECK(dict_get(vm, dict.get(), Value::real(3.0)).i == 9);
    CHECK(dict_get(vm, dict.get(), Value::boolean(true)).i == 1);
    dict_set(vm, dict.get(), Value::real(2.0), Value::integer(0));
    CHECK(show(dict) == "{5: None, 3: 9, 1: 1, 7: 49, 8: 64, 2: 0}");
    dict_set(vm, dict.get(), str("self"), dict);
    CHECK(show(dict) == "{5: None, 3: 9, 1: 1, 7: 49, 8: 64, 2: 0, 'self': {...}}");
    dict_clear(vm, dict.get());
    CHECK(show(dict) == "{}");
}

TEST_CASE_METHOD(Fixture, "a dict that changes while it is walked", "[vm][dict]") {
    Ptr<Dict> dict = make_dict(vm);
    for (int64_t i = 0; i < 3; i++) dict_set(vm, dict.get(), Value::integer(i), Value::none());
    Ref iterator = iterate(vm, Value::object(dict.get()));
    next(vm, iterator);
    dict_set(vm, dict.get(), Value::integer(9), Value::none());
    CHECK(error([&] { next(vm, iterator); }) == "RuntimeError: dictionary changed size during iteration");
    CHECK(error([&] { dict_set(vm, dict.get(), ints({}), Value::none()); }) == "TypeError: unhashable type: 'list'");
    CHECK(error([&] { dict_update(vm, dict.get(), ints({1})); }) ==
          "TypeError: cannot convert dictionary update sequence element #0 to a sequence");
}

TEST_CASE_METHOD(Fixture, "views compare as sets", "[vm][dict]") {
    Ptr<Dict> a = make_dict(vm);
    Ptr<Dict> b = make_dict(vm);
    for (int64_t i = 0; i < 4; i++) {
        dict_set(vm, a.get(), Value::integer(i), Value::integer(0));
        dict_set(vm, b.get(), Value::integer(3 - i), Value::integer(i % 2));
    }
    Ref ka = make_dict_view(vm, a.get(), ViewOf::Keys);
    Ref kb = make_dict_view(vm, b.get(), ViewOf::Keys);
    CHECK(equals(vm, ka, kb));
    CHECK_FALSE(equals(vm, make_dict_view(vm, a.get(), ViewOf::Items), make_dict_view(vm, b.get(), ViewOf::Items)));
    CHECK(show(dict_view_binary(vm, BinaryOp::And, ka, ints({2, 7}))) == "{2}");
    CHECK(show(dict_view_binary(vm, BinaryOp::Sub, ka, kb)) == "set()");
    CHECK(dict_equal(vm, a.get(), dict_copy(vm, a.get()).get()));
    CHECK_FALSE(dict_equal(vm, a.get(), b.get()));
}

}  // namespace talc::vm::test
