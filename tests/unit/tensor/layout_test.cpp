#include "tensor/eager.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "tensor/strided.hpp"
#include "tensor/views.hpp"
#include "tests/unit/catch.hpp"

using namespace talc::tensor;

TEST_CASE("tensors that differ in sizes only have one layout class", "[tensor]") {
    Context context;
    Tensor a = empty(context, {4, 5}, DType::Float32), b = empty(context, {7, 3}, DType::Float32);
    CHECK(a.layout_class() == b.layout_class());
    CHECK(to_string(*a.layout_class()) == "float32 cpu [*, *] contiguous");
    CHECK(a.layout_class() != empty(context, {4, 1}, DType::Float32).layout_class());
    CHECK(a.layout_class() != empty(context, {4, 0}, DType::Float32).layout_class());
    CHECK(a.layout_class() != empty(context, {4, 5}, DType::Float64).layout_class());
    CHECK(a.layout_class() != empty(context, {4, 5, 6}, DType::Float32).layout_class());
    Tensor at = permute_view(a, {1, 0}), bt = permute_view(b, {1, 0});
    CHECK(at.layout_class() == bt.layout_class());
    CHECK(at.layout_class() != a.layout_class());
    CHECK(to_string(*at.layout_class()) == "float32 cpu [*, *] strides (1, after 0)");
    // Strides that relate to nothing are operands, not part of the class.
    Tensor s = slice_view(empty(context, {9, 8}, DType::Float32), 1, 0, 4), t = slice_view(b, 1, 0, 2);
    CHECK(s.layout_class() == t.layout_class());
    CHECK(to_string(*s.layout_class()) == "float32 cpu [*, *] strides (?, 1)");
    CHECK(slice_view(b, 0, 1, 4).layout_class() == b.layout_class());
    a.set_requires_grad(true);
    CHECK(to_string(*a.layout_class()) == "float32 cpu [*, *] contiguous requires_grad");
    CHECK(to_string(*number(context, 2).layout_class()) == "int64 cpu [] contiguous number");
}

TEST_CASE("a reshape is a view where strides allow it", "[tensor]") {
    CHECK(*view_strides({4, 6}, {6, 1}, {2, 2, 6}) == Dims{12, 6, 1});
    CHECK(*view_strides({4, 6}, {6, 1}, {24}) == Dims{1});
    CHECK(*view_strides({6, 4}, {1, 6}, {2, 3, 4}) == Dims{3, 1, 6});
    CHECK(!view_strides({6, 4}, {1, 6}, {24}));
    CHECK(*view_strides({3, 1, 4}, {4, 77, 1}, {12}) == Dims{1});
    CHECK(*view_strides({3, 4}, {0, 1}, {3, 2, 2}) == Dims{0, 2, 1});
    CHECK(view_strides({1, 1}, {5, 9}, {1}).has_value());
    CHECK(view_strides({}, {}, {1, 1}).has_value());
    CHECK(*view_strides({0, 3}, {3, 1}, {3, 0}) == contiguous_strides(Dims{3, 0}));
}

TEST_CASE("pointwise results have PyTorch's strides", "[tensor]") {
    Context context;
    auto zeros = [&](Dims sizes) { return empty(context, sizes, DType::Float32); };
    auto strides = [&](const Dims& shape, std::vector<Tensor> operands) { return pointwise_strides(shape, operands); };
    Tensor a = zeros({2, 3, 4}), square = zeros({4, 4});
    CHECK(strides({4, 2, 3}, {permute_view(a, {2, 0, 1})}) == Dims{1, 12, 4});
    Tensor t = permute_view(zeros({3, 4}), {1, 0}), c = zeros({4, 3});
    CHECK(strides({4, 3}, {t, t}) == Dims{1, 4});
    CHECK(strides({4, 3}, {t, c}) == Dims{1, 4});
    CHECK(strides({4, 3}, {c, t}) == Dims{3, 1});
    Tensor half = slice_view(zeros({4, 6}), 1, 0, 6, 2);
    CHECK(strides({4, 3}, {half}) == Dims{3, 1});
    CHECK(strides({3, 4}, {permute_view(half, {1, 0})}) == Dims{1, 3});
    CHECK(strides({2, 4, 3}, {permute_view(a, {0, 2, 1}), zeros({3})}) == Dims{12, 1, 4});
    CHECK(strides({4, 4}, {zeros({1, 4}), permute_view(square, {1, 0})}) == Dims{1, 4});
    CHECK(strides({4, 4}, {zeros({4, 1}), permute_view(square, {1, 0})}) == Dims{1, 4});
}

namespace {

struct Meter final : MemoryMeter {
    size_t held = 0, limit;
    explicit Meter(size_t limit) : limit(limit) {}
    bool reserve(size_t bytes) override {
        if (held + bytes > limit) return false;
        held += bytes;
        return true;
    }
    void release(size_t bytes) override { held -= bytes; }
};

}  // namespace

TEST_CASE("memory is counted, limited and given back at once", "[tensor]") {
    Context context;
    auto meter = std::make_shared<Meter>(6000);
    context.meter = meter;
    {
        Tensor a = empty(context, {1000}, DType::Float32);
        size_t held = meter->held;
        CHECK((held >= 4000 && held < 5000));
        Tensor view = slice_view(a, 0, 0, 10);
        a = Tensor();
        CHECK(meter->held == held);
        try {
            empty(context, {1000}, DType::Float32);
            FAIL("the limit did not hold");
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::Memory);
        }
        CHECK(meter->held == held);
        Tensor nothing = empty(context, {0}, DType::Float32);
        CHECK(meter->held > held);
    }
    CHECK(meter->held == 0);
    context.meter = nullptr;
    CHECK_THROWS_AS(empty(context, {int64_t{1} << 60}, DType::Float64), Error);
    CHECK_THROWS_AS(empty(context, {int64_t{1} << 40, int64_t{1} << 40}, DType::Float32), Error);
}

TEST_CASE("host memory is wrapped without a copy", "[tensor]") {
    Context context;
    float values[] = {1, 2, 3};
    bool released = false;
    {
        auto storage = Storage::wrap(values, sizeof values, {}, true, [&] { released = true; });
        Tensor t(storage, DType::Float32, {3}, {1}, 0);
        CHECK(to_doubles(t) == std::vector<double>{1, 2, 3});
        CHECK_THROWS_WITH(run(context, Op::Fill, std::span(&t, 1)), "the memory of this tensor of shape [3] is read-only");
    }
    CHECK(released);
}
