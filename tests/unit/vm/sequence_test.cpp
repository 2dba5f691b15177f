#include "tests/unit/vm/fixture.hpp"

namespace talc::vm::test {

namespace {
Value none() { return Value::none(); }
Value number(int64_t i) { return Value::integer(i); }
}  // namespace

TEST_CASE_METHOD(Fixture, "lists: items and slices", "[vm][list]") {
    Ref list = ints({1, 2, 3, 4, 5, 6});
    auto part = [&](Value a, Value b, Value c) { return show(get_item(vm, list, make_slice(vm, a, b, c))); };
    CHECK(part(number(1), number(4), none()) == "[2, 3, 4]");
    CHECK(part(none(), none(), number(-2)) == "[6, 4, 2]");
    CHECK(part(number(-100), number(100), number(3)) == "[1, 4]");
    CHECK(show(get_item(vm, list, number(-1))) == "6");
    CHECK(error([&] { get_item(vm, list, number(6)); }) == "IndexError: list index out of range");
    CHECK(error([&] { get_item(vm, list, str("x")); }) == "TypeError: list indices must be integers or slices, not str");
    CHECK(error([&] { set_item(vm, list, number(6), none()); }) == "IndexError: list assignment index out of range");
    set_item(vm, list, make_slice(vm, number(1), number(3), none()), ints({7, 8, 9}));
    CHECK(show(list) == "[1, 7, 8, 9, 4, 5, 6]");
    set_item(vm, list, make_slice(vm, none(), none(), number(3)), ints({0, 0, 0}));
    CHECK(show(list) == "[0, 7, 8, 0, 4, 5, 0]");
    CHECK(error([&] { set_item(vm, list, make_slice(vm, none(), none(), number(2)), ints({1})); }) ==
          "ValueError: attempt to assign sequence of size 1 to extended slice of size 4");
    CHECK(error([&] { set_item(vm, list, make_slice(vm, none(), none(), none()), number(5)); }) ==
          "TypeError: can only assign an iterable");
    CHECK(error([&] { set_item(vm, list, make_slice(vm, none(), none(), number(2)), number(5)); }) ==
          "TypeError: must assign iterable to extended slice");
    set_item(vm, list, make_slice(vm, number(2), number(2), none()), list);
    CHECK(show(list) == "[0, 7, 0, 7, 8, 0, 4, 5, 0, 8, 0, 4, 5, 0]");
    del_item(vm, list, make_slice(vm, none(), none(), number(-3)));
    CHECK(show(list) == "[0, 0, 7, 0, 4, 0, 8, 4, 5]");
    del_item(vm, list, make_slice(vm, number(1), number(6), none()));
    CHECK(show(list) == "[0, 8, 4, 5]");
    list_extend(vm, cast<List>(list.get()), list);
    CHECK(show(list) == "[0, 8, 4, 5, 0, 8, 4, 5]");
}

TEST_CASE_METHOD(Fixture, "lists: comparison, recursion", "[vm][list]") {
    CHECK(compare_bool(vm, CompareOp::Lt, ints({1, 2}), ints({1, 3})));
    CHECK(compare_bool(vm, CompareOp::Lt, ints({1, 2}), ints({1, 2, 0})));
    CHECK_FALSE(compare_bool(vm, CompareOp::Eq, ints({1}), ints({1, 1})));
    CHECK(error([&] { compare(vm, CompareOp::Lt, ints({1}), number(2)); }) ==
          "TypeError: '<' not supported between instances of 'list' and 'int'");
    CHECK(error([&] { hash(vm, ints({})); }) == "TypeError: unhashable type: 'list'");
    Ref list = ints({1});
    list_append(vm, cast<List>(list.get()), list);
    CHECK(show(list) == "[1, [...]]");
    list = Ref();
    CHECK(vm.heap.collect() == 1);
}

TEST_CASE_METHOD(Fixture, "tuples hash as in CPython", "[vm][tuple]") {
    Ptr<Tuple> tuple = make_tuple(vm, {number(1), number(-1), number(3)});
    CHECK(hash(vm, Value::object(tuple.get())) == -7250808254517930442);
    CHECK(hash(vm, Value::object(vm.empty_tuple.get())) == 5740354900026072187);
    CHECK(show(make_tuple(vm, {number(1)})) == "(1,)");
    CHECK(show(tuple_slice(vm, tuple.get(), 2, -1, -1)) == "(3, -1, 1)");
}

TEST_CASE_METHOD(Fixture, "strings: code points", "[vm][str]") {
    std::string text;
    for (int i = 0; i < 3000; i++) text += i % 3 == 0 ? "é" : i % 3 == 1 ? "x" : "日";
    Ref s = str(text);
    auto* p = cast<Str>(s.get());
    CHECK(p->length == 3000);
    for (int64_t i : {0, 1, 2, 2999, 1500, 1499, 1498, 2, 2000}) {
        std::string expected = i % 3 == 0 ? "é" : i % 3 == 1 ? "x" : "日";
        CHECK(str_at(vm, p, i)->view() == expected);
    }
    CHECK(str_slice(vm, p, 1000, 1004, 1)->view() == "x日éx");
    CHECK(str_slice(vm, p, 4, 0, -2)->view() == "x日");
    CHECK(str_slice(vm, p, 1, 2, 1)->ascii());
    Ref ascii = str("hello");
    CHECK(str_slice(vm, cast<Str>(ascii.get()), 4, -1, -1)->view() == "olleh");
    CHECK(error([&] { get_item(vm, ascii, number(5)); }) == "IndexError: string index out of range");
    CHECK(error([&] { get_item(vm, ascii, str("a")); }) == "TypeError: string indices must be integers, not 'str'");
    CHECK(error([&] { contains(vm, ascii, number(1)); }) ==
          "TypeError: 'in <string>' requires string as left operand, not int");
}

TEST_CASE_METHOD(Fixture, "strings: appending in place", "[vm][str]") {
    Ptr<Str> s = make_str(vm, "start");
    Ptr<Str> more = make_str(vm, "-日");
    Ptr<Str> kept;
    for (int i = 0; i < 1000; i++) {
        s = str_append(vm, std::move(s), more.get());
        if (i == 500) kept = s;
    }
    CHECK(s->length == 5 + 2 * 1000);
    CHECK(kept->length == 5 + 2 * 501);
    CHECK(s->view().substr(0, kept->size) == kept->view());
    CHECK_FALSE(s->ascii());
    s = str_append(vm, s, s.get());
    CHECK(s->length == 4010);
    CHECK(str_repeat(vm, more.get(), 3)->view() == "-日-日-日");
}

TEST_CASE_METHOD(Fixture, "interned strings leave the table", "[vm][str]") {
    size_t before = vm.interned.size();
    {
        Ptr<Str> a = intern(vm, "a name of its own");
        CHECK(intern(vm, "a name of its own").get() == a.get());
        Ptr<Str> b = make_str(vm, "a name of its own");
        CHECK(intern(vm, b.get()) == a.get());
        CHECK(vm.interned.size() == before + 1);
    }
    CHECK(vm.interned.size() == before);
}

TEST_CASE_METHOD(Fixture, "ranges", "[vm][range]") {
    Ref range = make_range(vm, 0, 10, 3);
    CHECK(show(range) == "range(0, 10, 3)");
    CHECK(length(vm, range) == 4);
    CHECK(show(get_item(vm, range, make_slice(vm, none(), none(), number(-1)))) == "range(9, -3, -3)");
    CHECK(contains(vm, range, number(9)));
    CHECK_FALSE(contains(vm, range, number(10)));
    CHECK(contains(vm, range, Value::real(6.0)));
    CHECK(equals(vm, range, make_range(vm, 0, 12, 3)));
    CHECK(show(list_from_iterable(vm, make_range(vm, 5, 0, -2))) == "[5, 3, 1]");
    CHECK(length(vm, make_range(vm, INT64_MIN, 0, 2)) == int64_t{1} << 62);
    CHECK(error([&] { make_range(vm, 0, 1, 0); }) == "ValueError: range() arg 3 must not be zero");
}

}  // namespace talc::vm::test
