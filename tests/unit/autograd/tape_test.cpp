// The tape: accumulation, modes, views, in-place operators and their errors, as PyTorch has them.
#include "autograd/backward.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "tests/unit/catch.hpp"

using namespace talc::autograd;
using talc::tensor::Attrs;
using talc::tensor::DType;
using talc::tensor::Op;
using talc::tensor::Scalar;
namespace tensor = talc::tensor;

namespace {

struct Fixture {
    Context context;

    Tensor vector(std::vector<double> values) {
        return tensor::from_values(context, values, {static_cast<int64_t>(values.size())});
    }
    Tensor leaf(std::vector<double> values) {
        Tensor t = vector(std::move(values));
        set_requires_grad(t, true);
        return t;
    }
    Tensor number(Scalar value) { return tensor::number(context, value); }
    Tensor op(Op op, std::vector<Tensor> inputs, Attrs attrs = {}) { return apply(context, op, inputs, attrs); }
    Tensor sum(const Tensor& x) { return op(Op::Sum, {x}); }
    Tensor select(const Tensor& x, int64_t index) {
        Attrs attrs;
        attrs.start = index;
        return op(Op::Select, {x}, attrs);
    }
    Tensor slice(const Tensor& x, int64_t start, int64_t end) {
        Attrs attrs;
        attrs.start = start;
        attrs.end = end;
        return op(Op::Slice, {x}, attrs);
    }
    Tensor view(const Tensor& x, tensor::Dims sizes) {
        Attrs attrs;
        attrs.sizes = std::move(sizes);
        return op(Op::View, {x}, attrs);
    }
    void back(const Tensor& root, BackwardOptions options = {}) { backward(context, std::span(&root, 1), {}, options); }
    std::vector<double> grad(const Tensor& x) { return tensor::to_doubles(grad_of(x)); }
};

using Values = std::vector<double>;

}  // namespace

TEST_CASE_METHOD(Fixture, "gradients accumulate over uses and passes", "[autograd]") {
    Tensor x = leaf({1, 2, 3});
    Tensor y = op(Op::Mul, {x, x});
    back(sum(op(Op::Add, {y, x})));
    CHECK(grad(x) == Values{3, 5, 7});
    Tensor held = grad_of(x);
    back(sum(x));
    CHECK(tensor::to_doubles(held) == Values{4, 6, 8});  // in place: whoever holds it sees it
    set_grad(context, x, {});
    CHECK(!grad_of(x));
}

TEST_CASE_METHOD(Fixture, "broadcast operands get summed gradients", "[autograd]") {
    Tensor x = leaf({1, 2}), s = leaf({10});
    Tensor y = op(Op::Mul, {x, s});
    CHECK(grad_fn(y)->name() == "MulBackward0");
    back(sum(y));
    CHECK(grad(s) == Values{3});
    CHECK(grad(x) == Values{10, 10});
}

TEST_CASE_METHOD(Fixture, "no_grad and detach cut the tape", "[autograd]") {
    Tensor x = leaf({1, 2});
    {
        GradMode off(context, false);
        CHECK(!requires_grad(op(Op::Mul, {x, x})));
    }
    CHECK(!requires_grad(detach(op(Op::Mul, {x, x}))));
    CHECK(!requires_grad(op(Op::Gt, {x, number(1)})));
    CHECK(detach(x).shares_storage(x));
    CHECK_THROWS_WITH(back(sum(detach(x))), "element 0 of tensors does not require grad and does not have a grad_fn");
}

TEST_CASE_METHOD(Fixture, "a second pass needs retain_graph, if values were saved", "[autograd]") {
    Tensor x = leaf({2});
    Tensor y = sum(op(Op::Mul, {x, x}));
    BackwardOptions keep;
    keep.retain_graph = true;
    back(y, keep);
    back(y);
    CHECK(grad(x) == Values{8});
    CHECK_THROWS_WITH(back(y), Catch::Matchers::StartsWith("Trying to backward through the graph a second time"));
    Tensor z = sum(op(Op::Add, {x, x}));
    back(z);
    back(z);
}

TEST_CASE_METHOD(Fixture, "only scalars have an implicit seed, and seeds have the root's shape", "[autograd]") {
    Tensor x = leaf({1, 2, 3});
    Tensor y = op(Op::Mul, {x, number(2)});
    CHECK_THROWS_WITH(back(y), "grad can be implicitly created only for scalar outputs");
    Tensor wrong = vector({1, 2});
    CHECK_THROWS_WITH(backward(context, std::span(&y, 1), std::span(&wrong, 1)),
                      "Mismatch in shape: grad_output[0] has a shape of [2] and output[0] has a shape of [3].");
    Tensor seed = vector({1, 10, 100});
    backward(context, std::span(&y, 1), std::span(&seed, 1));
    CHECK(grad(x) == Values{2, 20, 200});
}

TEST_CASE_METHOD(Fixture, "in-place operators on leaves are refused, but under no_grad", "[autograd]") {
    Tensor x = leaf({1, 2});
    Tensor operands[] = {x, number(1)};
    CHECK_THROWS_WITH(apply_into(context, Op::Add, operands, {}, x),
                      "a leaf Variable that requires grad is being used in an in-place operation.");
    CHECK_THROWS_WITH(fill_with(context, 1.0, select(x, 0)),
                      "a view of a leaf Variable that requires grad is being used in an in-place operation.");
    GradMode off(context, false);
    apply_into(context, Op::Add, operands, {}, x);
    CHECK(tensor::to_doubles(x) == Values{2, 3});
    CHECK(requires_grad(x));
}

TEST_CASE_METHOD(Fixture, "saved values that were overwritten are noticed", "[autograd]") {
    Tensor x = leaf({1, 2, 3});
    Tensor y = op(Op::Mul, {x, number(2.0)});
    Tensor z = op(Op::Mul, {y, y});
    Tensor operands[] = {y, number(1)};
    apply_into(context, Op::Add, operands, {}, y);
    CHECK_THROWS_WITH(back(sum(z)),
                      "one of the variables needed for gradient computation has been modified by an inplace operation: "
                      "[FloatTensor [3]], which is output 0 of MulBackward0, is at version 1; expected version 0 instead.");
    // Nothing saved, nothing to notice.
    Tensor a = op(Op::Mul, {x, number(2.0)});
    Tensor b = op(Op::Add, {a, a});
    Tensor more[] = {a, number(1)};
    apply_into(context, Op::Add, more, {}, a);
    back(sum(b));
    CHECK(grad(x) == Values{4, 4, 4});
}

TEST_CASE_METHOD(Fixture, "in-place operators move a tensor along the tape", "[autograd]") {
    Tensor x = leaf({1, 2});
    Tensor y = op(Op::Mul, {x, number(3.0)});
    Tensor square[] = {y, number(2.0)};
    apply_into(context, Op::Mul, square, {}, y);
    Tensor e = op(Op::Clone, {y});
    apply_into(context, Op::Exp, std::span(&e, 1), {}, e);  // saves its result, not its operand
    back(sum(op(Op::Add, {y, e})));
    CHECK(tensor::allclose(grad_of(x), vector({6 + 6 * std::exp(6.0), 6 + 6 * std::exp(12.0)})));
}

TEST_CASE_METHOD(Fixture, "writes through views reach the base's gradient", "[autograd]") {
    Tensor x = leaf({1, 2, 3, 4}), w = leaf({10});
    Tensor y = op(Op::Mul, {x, number(2.0)});
    Tensor first = select(y, 0);
    fill_with(context, 5.0, first);  // its gradient is cut
    CHECK(!requires_grad(tensor::from_values(context, Values{1}, {1})));
    copy_into(context, w, slice(y, 1, 2));
    Tensor grid = view(y, {2, 2});
    Tensor operands[] = {grid, number(10.0)};
    apply_into(context, Op::Mul, operands, {}, grid);
    CHECK(tensor::to_doubles(y) == Values{50, 100, 60, 80});
    back(sum(y));
    CHECK(grad(x) == Values{0, 0, 20, 20});
    CHECK(grad(w) == Values{10});
}

TEST_CASE_METHOD(Fixture, "a view made before a write sees the base's new history", "[autograd]") {
    Tensor w = leaf({3});
    Tensor y = vector({1, 2});
    Tensor before = select(y, 1);
    CHECK(!requires_grad(before));
    copy_into(context, w, slice(y, 1, 2));
    CHECK(requires_grad(y));
    CHECK(requires_grad(before));
    CHECK(grad_fn(before)->name() == "SelectBackward0");
    back(op(Op::Mul, {before, before}));
    CHECK(grad(w) == Values{6});
}

TEST_CASE_METHOD(Fixture, "gradients of gradients", "[autograd]") {
    Tensor x = leaf({2, 3});
    Tensor cube = sum(op(Op::Mul, {op(Op::Mul, {x, x}), x}));
    BackwardOptions create;
    create.create_graph = true;
    Tensor first = gradients(context, std::span(&cube, 1), {}, std::span(&x, 1), create)[0];
    CHECK(tensor::to_doubles(first) == Values{12, 27});
    Tensor total = sum(first);
    Tensor second = gradients(context, std::span(&total, 1), {}, std::span(&x, 1))[0];
    CHECK(tensor::to_doubles(second) == Values{12, 18});
    CHECK(!grad_of(x));
    // Through a saved result.
    Tensor e = sum(op(Op::Exp, {x}));
    Tensor de = sum(gradients(context, std::span(&e, 1), {}, std::span(&x, 1), create)[0]);
    Tensor dde = gradients(context, std::span(&de, 1), {}, std::span(&x, 1))[0];
    CHECK(tensor::allclose(dde, vector({std::exp(2.0), std::exp(3.0)})));
}

TEST_CASE_METHOD(Fixture, "hooks and retained gradients", "[autograd]") {
    Tensor x = leaf({1, 2});
    Tensor y = op(Op::Mul, {x, number(3.0)});
    retain_grad(y);
    register_hook(y, [&](const Tensor& g) {
        Tensor both[] = {g, number(10.0)};
        return tensor::run(context, Op::Mul, both);
    });
    int calls = 0;
    register_hook(x, [&](const Tensor&) {
        ++calls;
        return Tensor();
    });
    back(sum(op(Op::Mul, {y, y})));
    CHECK(grad(y) == Values{60, 120});
    CHECK(grad(x) == Values{180, 360});
    CHECK(calls == 1);
}

TEST_CASE_METHOD(Fixture, "products with zeros", "[autograd]") {
    Tensor x = leaf({2, 0, 5});
    back(op(Op::Prod, {x}));
    CHECK(grad(x) == Values{0, 10, 0});
    Tensor y = leaf({0, 0, 5});
    back(op(Op::Prod, {y}));
    CHECK(grad(y) == Values{0, 0, 0});
}

TEST_CASE_METHOD(Fixture, "a very long tape is freed without recursion", "[autograd]") {
    Tensor x = leaf({1});
    Tensor y = x;
    for (int i = 0; i < 200000; ++i) y = op(Op::Neg, {y});
    back(sum(y));
    CHECK(grad(x) == Values{1});
}
