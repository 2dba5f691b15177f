// What operators give and refuse, where PyTorch's behaviour is particular.
#include <cmath>

#include "tensor/eager.hpp"
#include "tensor/error.hpp"
#include "tensor/math.hpp"
#include "tensor/print.hpp"
#include "tensor/shape_rules.hpp"
#include "tensor/views.hpp"
#include "tests/unit/catch.hpp"

using namespace talc::tensor;

namespace {

struct Fixture {
    Context context;
    Tensor floats(std::vector<double> values, Dims sizes) { return from_values(context, values, sizes); }
    Tensor ints(std::vector<int64_t> values, Dims sizes) { return from_values(context, values, sizes); }
    Tensor op(Op op, std::vector<Tensor> inputs, Attrs attrs = {}) { return run(context, op, inputs, attrs); }
    Tensor zeros(Dims sizes) {
        Attrs attrs;
        attrs.sizes = sizes;
        attrs.value = 0.0;
        return run(context, Op::Full, {}, attrs);
    }
};

using Doubles = std::vector<double>;

}  // namespace

TEST_CASE_METHOD(Fixture, "shape errors name the shapes", "[tensor]") {
    CHECK_THROWS_WITH(op(Op::Matmul, {zeros({32, 512}), zeros({256, 10})}),
                      "matmul: (32, 512) @ (256, 10): inner sizes 512 and 256 differ");
    CHECK_THROWS_WITH(op(Op::Add, {zeros({3}), zeros({4})}),
                      "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0");
    CHECK_THROWS_WITH(op(Op::Matmul, {zeros({}), zeros({4})}),
                      "both arguments to matmul need to be at least 1D, but they are 0D and 1D");
    Attrs view;
    view.sizes = {-1, 4};
    CHECK_THROWS_WITH(op(Op::Reshape, {zeros({2, 3})}, view), "shape '[-1, 4]' is invalid for input of size 6");
    CHECK_THROWS_WITH(op(Op::Cat, {zeros({2, 3}), zeros({2, 4})}),
                      "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor "
                      "number 1 in the list.");
    CHECK_THROWS_WITH(op(Op::Stack, {zeros({2}), zeros({3})}),
                      "stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1");
    Attrs select;
    select.start = 3;
    CHECK_THROWS_WITH(op(Op::Select, {zeros({3})}, select), "index 3 is out of bounds for dimension 0 with size 3");
    Attrs dim0;
    dim0.dims = {0};
    CHECK_THROWS_WITH(op(Op::Amax, {zeros({0, 3})}, dim0), "amax(): Expected reduction dim 0 to have non-zero size.");
    CHECK_THROWS_WITH(wrap_dim(2, 2), "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    CHECK_THROWS_WITH(item(zeros({3})), "a Tensor with 3 elements cannot be converted to Scalar");
}

TEST_CASE_METHOD(Fixture, "nan and the ends of ranges", "[tensor]") {
    Tensor x = floats({NAN, 1, -1}, {3}), zero = number(context, 0);
    auto y = to_doubles(op(Op::Maximum, {x, zero}));
    CHECK(std::isnan(y[0]));
    CHECK(y[1] == 1);
    CHECK(std::isnan(to_doubles(op(Op::Relu, {x}))[0]));
    Attrs all;
    CHECK(std::isnan(item(op(Op::Amax, {x}, all)).f));
    CHECK(item(op(Op::Argmax, {x}, all)).i == 0);
    CHECK(std::isnan(item(op(Op::Mean, {zeros({0})}, all)).f));
    CHECK(item(op(Op::Sum, {zeros({0})}, all)).f == 0);
    Tensor least = ints({INT64_MIN}, {1});
    CHECK(to_ints(op(Op::Neg, {least}))[0] == INT64_MIN);
    CHECK(to_ints(op(Op::FloorDiv, {least, ints({-1}, {1})}))[0] == INT64_MIN);
    CHECK(to_doubles(op(Op::Round, {floats({0.5, 1.5, 2.5, -0.5}, {4})})) == Doubles{0, 2, 2, 0});
    CHECK(to_ints(op(Op::Remainder, {ints({-7, 7}, {2}), number(context, 3)})) == std::vector<int64_t>{2, 1});
    CHECK(to_ints(op(Op::FloorDiv, {ints({-7, 7}, {2}), number(context, 2)})) == std::vector<int64_t>{-4, 3});
}

TEST_CASE_METHOD(Fixture, "operators that fail on values write nothing", "[tensor]") {
    Tensor x = ints({1, 2}, {2}), zero = ints({1, 0}, {2});
    Tensor both[] = {x, zero};
    CHECK_THROWS_WITH(run_into(context, Op::FloorDiv, both, {}, x), "ZeroDivisionError");
    CHECK(to_ints(x) == std::vector<int64_t>{1, 2});
    CHECK_THROWS_WITH(op(Op::Pow, {x, number(context, -1)}), "Integers to negative integer powers are not allowed.");
    CHECK_THROWS_WITH(op(Op::IndexSelect, {x, ints({5}, {1})}), "index 5 is out of bounds for dimension 0 with size 2");
}

TEST_CASE_METHOD(Fixture, "writes in place", "[tensor]") {
    Tensor x = floats({1, 2, 3, 4}, {4});
    // Overlapping source and target.
    Tensor shifted[] = {slice_view(x, 0, 1, 4), slice_view(x, 0, 0, 3)};
    run(context, Op::Copy, shifted);
    CHECK(to_doubles(x) == Doubles{1, 1, 2, 3});
    CHECK(x.version() == 1);
    Tensor add[] = {slice_view(x, 0, 0, 2), slice_view(x, 0, 1, 3)};
    run_into(context, Op::Add, add, {}, slice_view(x, 0, 0, 2));
    CHECK(to_doubles(x) == Doubles{2, 3, 2, 3});
    Tensor wide[] = {x, zeros({2, 4})};
    CHECK_THROWS_WITH(run_into(context, Op::Add, wide, {}, x),
                      "output with shape [4] doesn't match the broadcast shape [2, 4]");
    Tensor whole = ints({1}, {1});
    Tensor mixed[] = {whole, floats({1}, {1})};
    CHECK_THROWS_WITH(run_into(context, Op::Add, mixed, {}, whole),
                      "result type Float can't be cast to the desired output type Long");
    Tensor spread = x.alias({2, 4}, {0, 1}, 0);
    Tensor into[] = {spread, x};
    CHECK_THROWS_WITH(run(context, Op::Copy, into),
                      "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                      "location. Please clone() the tensor before performing the operation.");
}

TEST_CASE_METHOD(Fixture, "random numbers are a function of seed, position and index", "[tensor]") {
    auto draw = [&](Op which, int64_t seed, int64_t position, Dims sizes) {
        Attrs attrs;
        attrs.sizes = sizes;
        return op(which, {scalar_tensor(context, seed, DType::Int64), scalar_tensor(context, position, DType::Int64)}, attrs);
    };
    auto a = to_doubles(draw(Op::Randn, 1, 0, {1000})), b = to_doubles(draw(Op::Randn, 1, 0, {10, 100}));
    CHECK(a == b);
    CHECK(a != to_doubles(draw(Op::Randn, 1, 1, {1000})));
    CHECK(a != to_doubles(draw(Op::Randn, 2, 0, {1000})));
    auto block = philox::block(0, 0, 0);  // Random123's known answer
    CHECK(block == std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    auto many = to_doubles(draw(Op::Randn, 3, 7, {200000}));
    double sum = 0, squares = 0;
    for (double value : many) sum += value, squares += value * value;
    CHECK(std::fabs(sum / 200000) < 0.01);
    CHECK(std::fabs(squares / 200000 - 1) < 0.02);
    for (double value : to_doubles(draw(Op::Rand, 3, 7, {1000}))) CHECK((value >= 0 && value < 1));
    // The inverse of the normal distribution, at points of known value.
    CHECK(std::fabs(philox::normal(0x40000000u) - 0.67448975f) < 1e-6f);
    CHECK(philox::normal(0x7fffffffu) == -philox::normal(0x80000000u));
}

TEST_CASE("vector functions are good to a few units in the last place", "[tensor]") {
    auto worst = [](auto fast, auto exact, double low, double high) {
        double worst = 0;
        for (int i = 0; i <= 100000; ++i) {
            float x = static_cast<float>(low + (high - low) * i / 100000);
            double want = exact(static_cast<double>(x));
            float near = static_cast<float>(want);
            double unit = std::nextafter(std::fabs(near), HUGE_VALF) - std::fabs(near);
            worst = std::max(worst, std::fabs(fast(x) - want) / unit);
        }
        return worst;
    };
    CHECK(worst([](float x) { return math::exp(x); }, [](double x) { return std::exp(x); }, -87, 88) < 2);
    CHECK(worst([](float x) { return math::log(x); }, [](double x) { return std::log(x); }, 1e-6, 10) < 2);
    CHECK(worst([](float x) { return math::tanh(x); }, [](double x) { return std::tanh(x); }, -10, 10) < 2);
    CHECK(worst([](float x) { return math::erf(x); }, [](double x) { return std::erf(x); }, -5, 5) < 3);
    CHECK(worst([](float x) { return math::sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 80) < 3);
    CHECK(worst([](float x) { return math::sin_or_cos(x, 0); }, [](double x) { return std::sin(x); }, -9, 9) < 3);
}

TEST_CASE_METHOD(Fixture, "tensors print as in PyTorch", "[tensor]") {
    CHECK(repr(context, floats({1, 2, 3, 4}, {2, 2})) == "tensor([[1., 2.],\n        [3., 4.]])");
    CHECK(repr(context, ints({-100, 5, 12345}, {3})) == "tensor([ -100,     5, 12345])");
    CHECK(repr(context, floats({0.1, -0.2}, {2})) == "tensor([ 0.1000, -0.2000])");
    CHECK(repr(context, floats({1e-5, 1}, {2})) == "tensor([1.0000e-05, 1.0000e+00])");
    CHECK(repr(context, floats({NAN, 1, HUGE_VAL}, {3})) == "tensor([nan, 1., inf])");
    CHECK(repr(context, floats({3.5}, {})) == "tensor(3.5000)");
    CHECK(repr(context, floats({}, {0})) == "tensor([])");
    CHECK(repr(context, floats({}, {0, 3})) == "tensor([], size=(0, 3))");
    CHECK(repr(context, ints({}, {0})) == "tensor([], dtype=int64)");
    CHECK(repr(context, from_values(context, Doubles{1.5}, {1}, DType::Float64)) == "tensor([1.5000], dtype=float64)");
    CHECK(repr(context, from_values(context, Doubles{1, 0}, {2}, DType::Bool)) == "tensor([ True, False])");
    Tensor x = floats({1, 2}, {2});
    CHECK(repr(context, x, "MulBackward0") == "tensor([1., 2.], grad_fn=<MulBackward0>)");
    x.set_requires_grad(true);
    CHECK(repr(context, x) == "tensor([1., 2.], requires_grad=True)");
    Attrs range;
    range.sizes = {1200};
    range.value = 0.0;
    range.delta = 1.0;
    CHECK(repr(context, op(Op::Arange, {}, range)) ==
          "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.1970e+03, 1.1980e+03,\n        1.1990e+03])");
    range.sizes = {30};
    CHECK(repr(context, op(Op::Arange, {}, range)) ==
          "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
          "        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27.,\n"
          "        28., 29.])");
}
