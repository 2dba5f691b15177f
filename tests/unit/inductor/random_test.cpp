// Random graphs against the reference: pointwise operators, views, folds, products, indexing, symbolic sizes, arguments
// with any strides, writes to arguments. TALC_RANDOM_GRAPHS=N makes N of them instead of a few.
#include <cstdlib>

#include <fmt/format.h>

#include "graph/text.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "tensor/views.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/inductor/compare.hpp"
#include "tests/unit/tensor/samples.hpp"

using namespace talc::graph;
using talc::inductor::FragmentSpec;
using talc::inductor::testing::difference;
using talc::inductor::testing::spec_for;
using talc::inductor::testing::Tolerance;
using talc::tensor::Context;
using talc::tensor::Tensor;
namespace tensor = talc::tensor;

namespace {

class Maker {
  public:
    Maker(Context& context, uint32_t seed, DType dtype)
        : context_(context), sampler_(context, seed), dtype_(dtype), exact_(!is_float(dtype)) {}

    Graph graph;

    void run() {
        Dim symbol = sampler_.coin() ? graph.dims().fresh(3 + sampler_.below(4)) : Dim(4);
        Shape shape = {symbol, Dim(3 + sampler_.below(3))};
        if (sampler_.coin()) shape.push_back(Dim(2 + sampler_.below(10)));
        for (int64_t i = 1 + sampler_.below(3); i > 0; --i) {
            Shape own = shape;
            if (sampler_.below(3) == 0) own.erase(0);
            if (sampler_.below(4) == 0) own[own.size() - 1] = Dim(1);
            pool_.push_back(graph.input({dtype_, own, {}, false}));
        }
        for (int64_t i = 4 + sampler_.below(14); i > 0; --i) {
            try {
                add(step());
            } catch (const tensor::Error&) {  // shapes that do not fit
            }
        }
        std::vector<Value> outputs = {pool_.back()};
        for (int64_t i = sampler_.below(3); i > 0; --i) outputs.push_back(any());
        graph.set_outputs(outputs);
    }

    std::vector<Tensor> arguments(int64_t symbol) {
        std::vector<Tensor> result;
        for (Value input : graph.inputs()) {
            result.push_back(sampler_.tensor(concrete(input->shape(), [&](uint32_t) { return symbol; }), dtype_, -2, 2));
        }
        return result;
    }
    tensor::samples::Sampler& sampler() { return sampler_; }

  private:
    Value any() { return pool_[static_cast<size_t>(sampler_.below(static_cast<int64_t>(pool_.size())))]; }
    // One of the latest: so that chains get long.
    Value late() {
        int64_t size = static_cast<int64_t>(pool_.size());
        return pool_[static_cast<size_t>(size - 1 - sampler_.below(std::min<int64_t>(size, 3)))];
    }
    void add(Value value) {
        auto elements = graph.dims().hint(elements_of(value));
        if (elements && *elements <= 3000 && value->dtype() == dtype_) pool_.push_back(value);
    }
    static Dim elements_of(Value value) {
        Dim count(1);
        for (Dim size : value->shape()) count = count * size;
        return count;
    }
    Value bounded(Value x) {  // keeps values small, so that differences stay small
        return exact_ ? x : graph.add(Op::Tanh, {x});
    }

    Value step() {
        static constexpr Op kUnary[] = {Op::Neg, Op::Abs, Op::Relu, Op::Square};
        static constexpr Op kFloat[] = {Op::Exp, Op::Tanh, Op::Sigmoid, Op::Gelu, Op::Sin, Op::Cos, Op::Erf};
        static constexpr Op kBinary[] = {Op::Add, Op::Sub, Op::Mul, Op::Maximum, Op::Minimum};
        static constexpr Op kFold[] = {Op::Sum, Op::Amax, Op::Amin, Op::Mean};
        static constexpr Op kTest[] = {Op::Lt, Op::Ge, Op::Eq};
        auto pick = [&](auto& list) { return list[sampler_.below(static_cast<int64_t>(std::size(list)))]; };
        Value x = late();
        Attrs a;
        int64_t rank = x->rank();
        int64_t dim = rank ? sampler_.below(rank) : 0;
        switch (sampler_.below(16)) {
            case 0:
            case 1: return graph.add(pick(kUnary), {exact_ ? x : bounded(x)});
            case 2: return exact_ ? graph.add(Op::Neg, {x}) : graph.add(pick(kFloat), {bounded(x)});
            case 3:
            case 4: return graph.add(pick(kBinary), {x, any()});
            case 5: return graph.add(pick(kBinary), {x, graph.number(exact_ ? Scalar(3) : Scalar(0.75))});
            case 6: return graph.add(Op::Where, {graph.add(pick(kTest), {x, any()}), x, any()});
            case 7:
            case 8: {
                for (int64_t d = 0; d < rank; ++d) {
                    if (sampler_.coin()) a.dims.push_back(d);
                }
                if (a.dims.empty() && rank) a.dims.push_back(dim);
                a.keepdim = sampler_.coin();
                Op op = pick(kFold);
                return graph.add(exact_ && op == Op::Mean ? Op::Sum : op, {x}, a);
            }
            case 9:
                for (int64_t d = 0; d < rank; ++d) a.dims.insert(static_cast<size_t>(sampler_.below(d + 1)), d);
                return graph.add(Op::Permute, {x}, a);
            case 10:
                if (sampler_.coin()) {
                    a.sizes = {Dim(-1)};
                } else {
                    a.sizes = x->shape();
                    if (rank > 1) {
                        a.sizes[0] = a.sizes[0] * a.sizes[1];
                        a.sizes.erase(1);
                    }
                }
                return graph.add(Op::Reshape, {x}, a);
            case 11:
                a.dim = sampler_.below(rank + 1);
                return graph.add(Op::Unsqueeze, {x}, a);
            case 12: {
                if (!rank || x->shape()[static_cast<size_t>(dim)] == Dim(1)) return x;
                a.dim = dim;
                a.start = Dim(sampler_.below(2));
                a.end = x->shape()[static_cast<size_t>(dim)];
                a.step = Dim(1 + sampler_.below(2));
                Value part = graph.add(Op::Slice, {x}, a);
                if (sampler_.coin()) return part;
                return graph.add(Op::SliceScatter, {x, graph.add(Op::Neg, {part})}, a);
            }
            case 13: {
                if (rank < 2) return x;
                for (int64_t d = 0; d + 2 < rank; ++d) a.dims.push_back(d);
                a.dims.push_back(rank - 1);
                a.dims.push_back(rank - 2);
                Value other = any();
                if (!(other->shape() == x->shape())) other = graph.add(Op::Mul, {x, graph.number(exact_ ? Scalar(2) : Scalar(0.5))});
                Value product = bounded(graph.add(Op::Matmul, {x, graph.add(Op::Permute, {other}, a)}));
                a.dims = {};
                for (int64_t d = 0; d + 2 < rank; ++d) a.dims.push_back(d);
                a.dims.push_back(rank - 1);
                a.dims.push_back(rank - 2);
                return sampler_.coin() ? product : graph.add(Op::Permute, {product}, a);
            }
            case 14:
                a.dim = sampler_.below(rank + 1);
                if (sampler_.coin() || rank == 0) return graph.add(Op::Stack, {x, any()}, a);
                a.dim = dim;
                return graph.add(Op::Cat, {x, any()}, a);
            default: {
                if (!rank) return x;
                a.dim = dim;
                a.start = Dim(sampler_.below(2));
                if (x->shape()[static_cast<size_t>(dim)] == Dim(1)) a.start = Dim(0);
                Value part = graph.add(Op::Select, {x}, a);
                if (sampler_.coin()) return part;
                if (sampler_.coin()) return graph.add(Op::SelectScatter, {x, part}, a);
                std::vector<int64_t> numbers = {1, 0, -1, 1};
                if (x->shape()[static_cast<size_t>(dim)] == Dim(1)) numbers = {0, -1};
                Value indices = graph.constant(
                    tensor::from_values(context_, numbers, {static_cast<int64_t>(numbers.size())}));
                return graph.add(Op::IndexSelect, {x, indices}, a);
            }
        }
    }

    Context& context_;
    tensor::samples::Sampler sampler_;
    DType dtype_;
    bool exact_;
    std::vector<Value> pool_;
};

void run_one(uint32_t seed) {
    Context context;
    DType dtype = seed % 3 == 0 ? DType::Int64 : seed % 3 == 1 ? DType::Float64 : DType::Float32;
    Maker maker(context, seed, dtype);
    maker.run();
    const Graph& g = maker.graph;
    INFO("seed " << seed << "\n" << print(g));
    int64_t hint = g.dims().symbol_count() ? *g.dims().hint(Dim::symbol(0)) : 4;
    std::vector<Tensor> arguments = maker.arguments(hint);
    FragmentSpec spec = spec_for(g, arguments);
    for (uint32_t o = 0; o < g.outputs().size(); ++o) {
        for (uint32_t i = 0; i < g.inputs().size() && maker.sampler().coin(); ++i) {
            bool taken = false;
            for (auto write : spec.writes) taken = taken || write.output == o || write.input == i;
            if (!taken && g.outputs()[o]->type() == g.inputs()[i]->type()) spec.writes.push_back({o, i});
        }
    }
    std::unique_ptr<talc::inductor::Executable> code;
    try {
        code = talc::inductor::cpu_backend().compile(spec);
    } catch (const tensor::Error& error) {
        FAIL_CHECK("not compiled: " << error.what());
        return;
    }
    double absolute = dtype == DType::Float32 ? 1e-3 : 1e-10;
    for (int64_t size : {hint, hint + 2, int64_t{2}}) {
        if (size != hint) {
            if (!g.dims().symbol_count()) break;
            arguments = maker.arguments(size);
            bool same_class = true;
            for (size_t i = 0; i < arguments.size(); ++i) same_class = same_class && arguments[i].layout_class() == spec.layouts[i];
            if (!same_class) continue;
        }
        std::vector<Tensor> wanted;
        try {
            wanted = evaluate(g, context, arguments, Engine::Reference);
        } catch (const tensor::Error&) {
            continue;  // a fact that this size breaks
        }
        for (Tensor& value : wanted) value = tensor::contiguous_copy(context, value);  // may be an argument
        std::vector<Tensor> results(g.outputs().size());
        code->run(context, arguments, results);
        for (size_t o = 0; o < wanted.size(); ++o) {
            // Relative to the whole tensor: sums cancel.
            double largest = 1;
            for (double value : tensor::to_doubles(wanted[o])) largest = std::max(largest, std::fabs(value));
            std::string wrong = difference(results[o], wanted[o], {8, absolute * largest});
            if (wrong.empty()) continue;
            std::string text;
            for (const auto& kernel : code->kernels()) text += kernel.name + ": " + kernel.text;
            for (auto write : spec.writes) text += fmt::format("output {} to argument {}\n", write.output, write.input);
            for (const Tensor& t : arguments) text += tensor::bracketed(t.sizes()) + "/" + tensor::bracketed(t.strides()) + "\n";
            FAIL_CHECK("size " << size << ", output " << o << ": " << wrong << "\n" << text);
            return;
        }
    }
}

}  // namespace

TEST_CASE("random graphs give what the reference gives", "[inductor][random]") {
    const char* asked = std::getenv("TALC_RANDOM_GRAPHS");
    uint32_t count = asked ? static_cast<uint32_t>(std::atoi(asked)) : 150;
    for (uint32_t seed = 1; seed <= count; ++seed) run_one(seed);
}
