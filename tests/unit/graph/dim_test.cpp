#include "graph/dim_env.hpp"
#include "tests/unit/catch.hpp"

using namespace talc::graph;

TEST_CASE("symbolic dims have one normal form", "[graph]") {
    Dim a = Dim::symbol(0), b = Dim::symbol(1);
    CHECK(a + b == b + a);
    CHECK(a * b * Dim(2) == b * Dim(2) * a);
    CHECK(a - a == Dim(0));
    CHECK((a + Dim(1)) * (a - Dim(1)) == a * a - Dim(1));
    CHECK(floor_div(a * Dim(512), Dim(512)) == a);
    CHECK(floor_div(a * b * Dim(6), b * Dim(2)) == a * Dim(3));
    CHECK(modulo(a * Dim(8), Dim(4)) == Dim(0));
    CHECK(floor_div(a, Dim(2)) == floor_div(a, Dim(2)));
    CHECK(!(floor_div(a, Dim(2)) == floor_div(a, Dim(3))));
    CHECK(to_string(a * Dim(512) + Dim(4)) == "512*s0 + 4");
    CHECK(to_string(floor_div(a + Dim(1), Dim(2)) - b) == "-1*s1 + ((s0 + 1)//2)");
    CHECK((a * Dim(3) - b).symbol_id() == -1);
    CHECK(b.symbol_id() == 1);
}

TEST_CASE("symbolic dims evaluate and substitute", "[graph]") {
    Dim a = Dim::symbol(0), b = Dim::symbol(1);
    Dim mixed = floor_div(a * Dim(3) - Dim(20), b) * Dim(2) + modulo(b, a);
    auto values = [](uint32_t s) -> int64_t { return s == 0 ? 5 : 3; };
    CHECK(evaluate(mixed, values) == -4 + 3);
    CHECK(substitute(mixed, [&](uint32_t s) { return s == 0 ? Dim(5) : Dim(3); }) == Dim(-1));
    std::vector<uint32_t> symbols;
    collect_symbols(mixed, symbols);
    CHECK(symbols == std::vector<uint32_t>{0, 1});
}

TEST_CASE("what is asked about sizes becomes a fact, unless algebra knows", "[graph]") {
    DimEnv env;
    Dim a = env.fresh(8), b = env.fresh(8), c = env.fresh(9);
    CHECK(env.same(a, a));
    CHECK(!env.same(a, a + Dim(1)));
    CHECK(!env.same(a, Dim(1)));
    CHECK(env.at_most(Dim(2), a));
    CHECK(env.at_most(a, a + c));
    CHECK(env.divides(Dim(4), a * Dim(4)));
    CHECK(env.facts().empty());
    CHECK(env.same(a, b));
    CHECK(env.same(b, a));
    CHECK(!env.same(a, c));
    CHECK(env.at_most(a, c));
    CHECK(env.divides(Dim(4), a));
    REQUIRE(env.facts().size() == 4);
    CHECK(to_string(env.facts()[0]) == "s0 == s1");
    CHECK(to_string(env.facts()[1]) == "s0 != s2");
    CHECK(to_string(env.facts()[2]) == "s0 <= s2");
    CHECK(to_string(env.facts()[3]) == "(s0%4) == 0");
}
