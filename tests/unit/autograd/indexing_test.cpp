#include "autograd/backward.hpp"
#include "autograd/indexing.hpp"
#include "autograd/view_steps.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"
#include "tests/unit/catch.hpp"

using namespace talc::autograd;
using talc::tensor::DType;
namespace tensor = talc::tensor;
namespace graph = talc::graph;
using Item = IndexItem<TensorEmit>;
using Items = std::vector<Item>;
using Values = std::vector<double>;

namespace {

struct Fixture {
    Context context;
    TensorEmit emit{context};

    Tensor range(tensor::Dims sizes) {
        std::vector<double> values(static_cast<size_t>(tensor::element_count(sizes)));
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
        return tensor::from_values(context, values, sizes);
    }
    Tensor ints(std::vector<int64_t> values) {
        return tensor::from_values(context, values, {static_cast<int64_t>(values.size())});
    }
    Tensor read(const Tensor& x, Items items) { return read_index<TensorEmit>(emit, x, items); }
    void write(const Tensor& x, Items items, const Tensor& value) { write_index(context, x, items, value); }
    Tensor number(double value) { return tensor::number(context, value); }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "reading by integers, slices, None and ellipsis gives views", "[autograd]") {
    Tensor x = range({2, 3, 4});
    Tensor y = read(x, {Item::integer(-1), Item::ellipsis(), Item::slice(1, 3)});
    CHECK(y.sizes() == tensor::Dims{3, 2});
    CHECK(y.shares_storage(x));
    CHECK(tensor::to_doubles(y) == Values{13, 14, 17, 18, 21, 22});
    CHECK(read(x, {Item::slice(), Item::new_axis(), Item::integer(0)}).sizes() == tensor::Dims{2, 1, 4});
    CHECK(read(x, {Item::slice(-100, 100), Item::slice(2, 1)}).sizes() == tensor::Dims{2, 0, 4});
    CHECK(read(x, {Item::ellipsis(), Item::slice({}, {}, 3)}).sizes() == tensor::Dims{2, 3, 2});
    CHECK_THROWS_WITH(read(x, {Item::integer(2)}), "index 2 is out of bounds for dimension 0 with size 2");
    CHECK_THROWS_WITH(read(x, {Item::integer(0), Item::integer(0), Item::integer(0), Item::integer(0)}),
                      "too many indices for tensor of dimension 3");
    CHECK_THROWS_WITH(read(x, {Item::slice({}, {}, -1)}), "step must be greater than zero");
}

TEST_CASE_METHOD(Fixture, "reading by tensors gathers", "[autograd]") {
    Tensor x = range({3, 4});
    CHECK(tensor::to_doubles(read(x, {Item::of(ints({2, 0})), Item::of(ints({-1, 1}))})) == Values{11, 1});
    CHECK(read(x, {Item::slice(), Item::of(ints({0, 0, 3}))}).sizes() == tensor::Dims{3, 3});
    Tensor operands[] = {x, number(8.5)};
    Tensor mask = apply(context, Op::Gt, operands);
    CHECK(tensor::to_doubles(read(x, {Item::of(mask)})) == Values{9, 10, 11});
    Tensor rows = tensor::from_values(context, Values{1, 0, 1}, {3}, DType::Bool);
    CHECK(read(x, {Item::of(rows), Item::slice(0, 2)}).sizes() == tensor::Dims{2, 2});
    CHECK_THROWS_WITH(read(x, {Item::slice(), Item::of(rows)}),
                      "The shape of the mask at index 0 does not match the shape of the indexed tensor at index 1: 3 and 4");
}

TEST_CASE_METHOD(Fixture, "writing by index, with gradients", "[autograd]") {
    Tensor x = range({2, 3});
    write(x, {Item::integer(0), Item::slice(1, 3)}, number(9));
    CHECK(tensor::to_doubles(x) == Values{0, 9, 9, 3, 4, 5});
    write(x, {Item::slice(), Item::of(ints({0, 2}))}, number(-1));
    CHECK(tensor::to_doubles(x) == Values{-1, 9, -1, -1, 4, -1});
    Tensor operands[] = {x, number(0)};
    write(x, {Item::of(apply(context, Op::Lt, operands))}, number(7));
    CHECK(tensor::to_doubles(x) == Values{7, 9, 7, 7, 4, 7});

    Tensor leaf = range({3}), w = range({2});
    set_requires_grad(leaf, true);
    set_requires_grad(w, true);
    Tensor two[] = {leaf, number(2)};
    Tensor y = apply(context, Op::Mul, two);
    write(y, {Item::of(ints({2, 0}))}, w);
    Tensor root = apply(context, Op::Sum, std::span(&y, 1));
    backward(context, std::span(&root, 1), {});
    CHECK(tensor::to_doubles(grad_of(leaf)) == Values{0, 2, 0});
    CHECK(tensor::to_doubles(grad_of(w)) == Values{1, 1});
}

TEST_CASE("slices of symbolic sizes stay symbolic", "[autograd]") {
    using GraphItem = IndexItem<GraphEmit>;
    graph::Graph g;
    graph::Dim n = g.dims().fresh(10);
    graph::Value x = g.input({DType::Float32, {n, graph::Dim(4)}, {}, false});
    GraphEmit emit(g);
    std::vector<GraphItem> items = {GraphItem::slice(graph::Dim(1)), GraphItem::integer(graph::Dim(-1))};
    graph::Value y = read_index<GraphEmit>(emit, x, items);
    CHECK(to_string(y->type()) == "float32[s0 - 1]");
    CHECK(g.dims().facts().empty());
    items = {GraphItem::slice({}, graph::Dim(5))};
    graph::Value z = read_index<GraphEmit>(emit, x, items);
    CHECK(to_string(z->type()) == "float32[5, 4]");
    REQUIRE(g.dims().facts().size() == 1);
    CHECK(to_string(g.dims().facts()[0]) == "5 <= s0");
    // Written through a view, without writing.
    Builder<GraphEmit> b(emit);
    graph::Attrs attrs = z->attrs;
    g.set_outputs({scatter_back(b, Op::Slice, attrs, x, b.mul(z, 2.0))});
    graph::verify(g);
}
