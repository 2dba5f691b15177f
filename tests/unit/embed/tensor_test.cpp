// Tensors over a host's memory, and a script's tensors as the host sees them.
#include <memory>
#include <vector>

#include "talc/talc.hpp"
#include "tests/unit/catch.hpp"

TEST_CASE("a script works on the host's memory", "[embed][tensor]") {
    std::vector<float> weights = {1, 2, 3, 4, 5, 6};
    {
        talc::Engine engine;
        engine.set("w", talc::tensor_over(weights.data(), {2, 3}));
        CHECK(engine.run_string("w *= 2\nw[0, 0] = 10").ok());
        CHECK(weights == std::vector<float>{10, 4, 6, 8, 10, 12});
        weights[5] = 100;
        CHECK(engine.eval("w.sum().item()").as<double>() == 138);
        CHECK(engine.eval("w.shape == (2, 3) and w.dtype == float32 and w.is_contiguous()").as<bool>());
    }
    CHECK(weights[5] == 100);
}

TEST_CASE("element types, strides and read-only memory", "[embed][tensor]") {
    talc::Engine engine;
    std::vector<int64_t> numbers = {0, 1, 2, 3, 4, 5};
    talc::TensorView columns = talc::tensor_over(numbers.data(), {3, 2});
    columns.strides = {1, 3};
    engine.set("c", columns);
    CHECK(engine.eval("c.tolist() == [[0, 3], [1, 4], [2, 5]] and c.dtype == int64").as<bool>());
    const double constants[] = {0.5, 1.5};
    engine.set("d", talc::tensor_over(constants, {2}));
    CHECK(engine.eval("(d + d).tolist() == [1.0, 3.0]").as<bool>());
    try {
        engine.eval("d.add_(1)");
        FAIL("written to read-only memory");
    } catch (const talc::Error& error) {
        CHECK(error.type() == "RuntimeError");
    }
    CHECK(constants[0] == 0.5);
    bool flags[] = {true, false};
    uint8_t bytes[] = {1, 255};
    engine.set("f", talc::tensor_over(flags, {2}));
    engine.set("b", talc::tensor_over(bytes, {2}));
    CHECK(engine.eval("f.tolist() == [True, False] and b.tolist() == [1, 255]").as<bool>());
}

TEST_CASE("the owner of memory is held as long as a tensor uses it", "[embed][tensor]") {
    auto memory = std::make_shared<std::vector<float>>(4, 1.0f);
    std::weak_ptr<std::vector<float>> watched = memory;
    talc::TensorView kept;
    {
        talc::Engine engine;
        engine.set("x", talc::tensor_over(memory->data(), {4}, memory));
        memory.reset();
        CHECK(!watched.expired());
        CHECK(engine.run_string("y = x[1:]\ndel x").ok());
        CHECK(!watched.expired());
        kept = engine.get("y").as<talc::TensorView>();
        CHECK(engine.run_string("y = None").ok());
    }
    CHECK(!watched.expired());
    REQUIRE(kept.data_as<float>() != nullptr);
    CHECK(kept.data_as<float>()[2] == 1.0f);
    CHECK(kept.sizes == std::vector<int64_t>{3});
    kept = {};
    CHECK(watched.expired());
}

TEST_CASE("a script's tensor without a copy", "[embed][tensor]") {
    talc::TensorView view;
    {
        talc::Engine engine;
        CHECK(engine.run_string("t = arange(6).reshape(2, 3)\nu = t.T").ok());
        view = engine.get("u").as<talc::TensorView>();
        CHECK(view.sizes == std::vector<int64_t>{3, 2});
        CHECK(view.strides == std::vector<int64_t>{1, 3});
        CHECK(view.count() == 6);
        CHECK(view.data_as<float>() == nullptr);
        REQUIRE(view.data_as<int64_t>() != nullptr);
        view.data_as<int64_t>()[4] = 40;
        CHECK(engine.eval("t[1, 1].item()").as<int64_t>() == 40);
        CHECK(engine.call("len", view).as<int64_t>() == 3);
    }
    CHECK(view.data_as<int64_t>()[4] == 40);  // outlives the engine
}

TEST_CASE("host functions on tensors", "[embed][tensor]") {
    talc::Engine engine;
    engine.bind("total", [](const talc::TensorView& x) {
        double sum = 0;
        for (int64_t i = 0; i < x.count(); i++) sum += x.data_as<double>()[i];
        return sum;
    });
    CHECK(engine.eval("total(ones(10, dtype=float64))").as<double>() == 10);
    CHECK_THROWS_AS(engine.eval("total(3)"), talc::Error);
}

TEST_CASE("what cannot be a tensor is refused", "[embed][tensor]") {
    talc::Engine engine;
    alignas(8) char bytes[64] = {};
    CHECK_THROWS_AS(engine.make(talc::tensor_over(reinterpret_cast<float*>(bytes + 1), {2})), talc::Error);
    CHECK_THROWS_AS(engine.make(talc::tensor_over(static_cast<float*>(nullptr), {2})), talc::Error);
    CHECK_THROWS_AS(engine.make(talc::tensor_over(reinterpret_cast<float*>(bytes), {-1})), talc::Error);
    CHECK_THROWS_AS(engine.make(talc::tensor_over(reinterpret_cast<float*>(bytes), {INT64_MAX, 4})), talc::Error);
    CHECK_THROWS_AS(engine.eval("'text'").as<talc::TensorView>(), talc::Error);
    CHECK(engine.make(talc::tensor_over(static_cast<float*>(nullptr), {0})).as<talc::TensorView>().count() == 0);
}

TEST_CASE("tensors count against the limit on memory", "[embed][tensor]") {
    talc::Options options;
    options.limits.memory = size_t{16} << 20;
    talc::Engine engine(options);
    CHECK(engine.run_string("try:\n    zeros(100000000)\nexcept MemoryError:\n    ok = 1\n").ok());
    CHECK(engine.get("ok").as<int>() == 1);
    CHECK(engine.run_string("for i in range(1000):\n    x = zeros(100000)\n").ok());
    CHECK(engine.run_string("class A:\n    pass\nfor i in range(1000):\n    a = A()\n    a.self = a\n    a.x = zeros(100000)\n").ok());
    CHECK_FALSE(engine.run_string("keep = []\nwhile True:\n    keep.append(zeros(1000))\n").ok());
}
