// The rules, as templates over the emitter. Included by vjp_tensor.cpp and vjp_graph.cpp.
#include <array>
#include <cmath>
#include <numbers>

#include "autograd/builder.hpp"
#include "autograd/vjp.hpp"
#include "tensor/error.hpp"

namespace talc::autograd {

template <class E>
struct VjpRules {
    using Value = typename E::Value;
    using Dim = typename E::Dim;
    using Shape = typename E::Shape;
    using Attrs = typename E::Attrs;

    // What a rule sees: the call, short names, and a slot for each operand's gradient.
    struct Rule {
        const VjpCall<E>& call;
        Builder<E> b;
        std::vector<Value> gradients;

        Value g() const { return call.gradient; }
        Value in(size_t i) const { return call.operand(i); }
        Value out(size_t i = 0) const { return call.result(i); }
        const Shape& shape(size_t i) const { return call.operand_shape(i); }
        const Attrs& attrs() const { return call.attrs; }
        bool wants(size_t i) const { return call.wanted(i); }
        Value zeros_like_operand(size_t i) {
            return b.zeros(shape(i), b.e.dtype(g()), b.e.device(g()));
        }
        void set(size_t i, Value gradient) { gradients[i] = gradient; }
    };

    // ---- pointwise ----
    static void same(Rule& r) { r.set(0, r.g()); }
    static void neg(Rule& r) { r.set(0, r.b.neg(r.g())); }
    static void abs(Rule& r) { r.set(0, r.b.mul(r.g(), r.b.sign(r.in(0)))); }
    static void flat(Rule& r) {
        for (size_t i = 0; i < r.call.operand_count; ++i) {
            if (r.wants(i)) r.set(i, r.zeros_like_operand(i));
        }
    }
    static void square(Rule& r) { r.set(0, r.b.mul(r.g(), r.b.mul(r.in(0), 2.0))); }
    static void relu(Rule& r) { r.set(0, r.b.zero_where(r.b.le(r.out(), 0.0), r.g())); }
    static void exp(Rule& r) { r.set(0, r.b.mul(r.g(), r.out())); }
    static void expm1(Rule& r) { r.set(0, r.b.mul(r.g(), r.b.add(r.out(), 1.0))); }
    static void log(Rule& r) { r.set(0, r.b.div(r.g(), r.in(0))); }
    static void log1p(Rule& r) { r.set(0, r.b.div(r.g(), r.b.add(r.in(0), 1.0))); }
    static void sqrt(Rule& r) { r.set(0, r.b.div(r.g(), r.b.mul(r.out(), 2.0))); }
    static void rsqrt(Rule& r) {
        Value y = r.out();
        r.set(0, r.b.mul(r.g(), r.b.mul(r.b.mul(r.b.square(y), y), -0.5)));
    }
    static void reciprocal(Rule& r) { r.set(0, r.b.neg(r.b.mul(r.g(), r.b.square(r.out())))); }
    static void sin(Rule& r) { r.set(0, r.b.mul(r.g(), r.b.cos(r.in(0)))); }
    static void cos(Rule& r) { r.set(0, r.b.neg(r.b.mul(r.g(), r.b.sin(r.in(0))))); }
    static Value one_minus(Rule& r, Value x) { return r.b.add(r.b.neg(x), 1.0); }
    static void tanh(Rule& r) { r.set(0, r.b.mul(r.g(), one_minus(r, r.b.square(r.out())))); }
    static void sigmoid(Rule& r) { r.set(0, r.b.mul(r.g(), r.b.mul(r.out(), one_minus(r, r.out())))); }
    static void erf(Rule& r) {
        Value bell = r.b.exp(r.b.neg(r.b.square(r.in(0))));
        r.set(0, r.b.mul(r.g(), r.b.mul(bell, 2.0 * std::numbers::inv_sqrtpi)));
    }
    static void gelu(Rule& r) {
        Value x = r.in(0);
        Builder<E>& b = r.b;
        if (!r.attrs().mode) {  // x * cdf(x): cdf(x) + x * pdf(x)
            Value cdf = b.mul(b.add(b.erf(b.mul(x, std::numbers::sqrt2 / 2)), 1.0), 0.5);
            Value pdf = b.mul(b.exp(b.mul(b.square(x), -0.5)), std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2);
            r.set(0, b.mul(r.g(), b.add(cdf, b.mul(x, pdf))));
            return;
        }
        constexpr double kScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kCubic = 0.044715;
        Value square = b.square(x);
        Value t = b.tanh(b.mul(b.mul(x, b.add(b.mul(square, kCubic), 1.0)), kScale));
        Value slope = b.mul(b.add(b.mul(square, 3 * kCubic), 1.0), kScale);
        Value left = b.mul(b.add(t, 1.0), 0.5);
        Value right = b.mul(b.mul(b.mul(x, one_minus(r, b.square(t))), slope), 0.5);
        r.set(0, b.mul(r.g(), b.add(left, right)));
    }
    static void add(Rule& r) {
        r.set(0, r.g());
        r.set(1, r.g());
    }
    static void sub(Rule& r) {
        r.set(0, r.g());
        if (r.wants(1)) r.set(1, r.b.neg(r.g()));
    }
    static void mul(Rule& r) {
        if (r.wants(0)) r.set(0, r.b.mul(r.g(), r.in(1)));
        if (r.wants(1)) r.set(1, r.b.mul(r.g(), r.in(0)));
    }
    static void div(Rule& r) {
        if (r.wants(0)) r.set(0, r.b.div(r.g(), r.in(1)));
        if (r.wants(1)) r.set(1, r.b.mul(r.b.neg(r.g()), r.b.div(r.b.div(r.in(0), r.in(1)), r.in(1))));
    }
    static void remainder(Rule& r) {
        r.set(0, r.g());
        if (r.wants(1)) r.set(1, r.b.neg(r.b.mul(r.g(), r.b.floor_divide(r.in(0), r.in(1)))));
    }
    static void pow(Rule& r) {
        Builder<E>& b = r.b;
        if (r.wants(0)) {  // b * a^(b-1), and 0 where b is 0
            Value slope = b.mul(r.in(1), b.pow(r.in(0), b.sub(r.in(1), Scalar(1))));
            r.set(0, b.mul(r.g(), b.zero_where(b.eq(r.in(1), 0.0), b.cast(slope, b.e.dtype(r.g())))));
        }
        if (r.wants(1)) {  // a^b * ln(a), and 0 where a is 0 and b is not negative
            Value slope = b.mul(r.out(), b.log(r.in(0)));
            Value at_zero = b.logical_and(b.eq(r.in(0), 0.0), b.ge(r.in(1), 0.0));
            r.set(1, b.mul(r.g(), b.zero_where(at_zero, slope)));
        }
    }
    // Where both are equal each gets half.
    static void extreme(Rule& r) {
        Builder<E>& b = r.b;
        Value half = b.where(b.eq(r.in(0), r.in(1)), b.mul(r.g(), 0.5), r.g());
        bool max = r.call.op == Op::Maximum;
        Value left_loses = max ? b.lt(r.in(0), r.in(1)) : b.gt(r.in(0), r.in(1));
        Value right_loses = max ? b.lt(r.in(1), r.in(0)) : b.gt(r.in(1), r.in(0));
        if (r.wants(0)) r.set(0, b.zero_where(left_loses, half));
        if (r.wants(1)) r.set(1, b.zero_where(right_loses, half));
    }
    // At the bound the value counts, not the bound.
    static void clamp(Rule& r) {
        Builder<E>& b = r.b;
        Value inside = r.call.op == Op::ClampMin ? b.ge(r.in(0), r.in(1)) : b.le(r.in(0), r.in(1));
        if (r.wants(0)) r.set(0, b.keep_where(inside, r.g()));
        if (r.wants(1)) r.set(1, b.zero_where(inside, r.g()));
    }
    static void where(Rule& r) {
        if (r.wants(1)) r.set(1, r.b.keep_where(r.in(0), r.g()));
        if (r.wants(2)) r.set(2, r.b.zero_where(r.in(0), r.g()));
    }

    // ---- reductions ----
    // The dims that were folded, whether listed or not.
    static tensor::Dims folded(Rule& r) {
        tensor::Dims dims = r.attrs().dims;
        if (dims.empty()) {
            for (size_t d = 0; d < r.shape(0).size(); ++d) dims.push_back(static_cast<int64_t>(d));
        }
        return dims;
    }
    // A value of the result's shape, with size-1 dims where dims were folded.
    static Value with_dims_kept(Rule& r, Value x) {
        Shape kept = r.shape(0);
        for (int64_t d : folded(r)) kept[static_cast<size_t>(d)] = Dim(1);
        return r.b.reshape(x, kept);
    }
    static void sum(Rule& r) { r.set(0, r.b.expand(with_dims_kept(r, r.g()), r.shape(0))); }
    static void mean(Rule& r) {
        Dim count(1);
        for (int64_t d : folded(r)) count = count * r.shape(0)[static_cast<size_t>(d)];
        r.set(0, r.b.expand(with_dims_kept(r, r.b.div(r.g(), r.b.e.size(count))), r.shape(0)));
    }
    // g * product / x; where there is one zero only its own gradient is left, where there are more, none.
    static void prod(Rule& r) {
        Builder<E>& b = r.b;
        Value x = r.in(0), g = with_dims_kept(r, r.g()), product = with_dims_kept(r, r.out());
        Value is_zero = b.eq(x, 0.0);
        Value zeros = b.sum(b.cast(is_zero, b.e.dtype(product)), folded(r), true);
        Value others = b.reduce(Op::Prod, b.where(is_zero, b.e.number(1.0), x), folded(r), true);
        Value alone = b.logical_and(is_zero, b.eq(zeros, 1.0));
        Value usual = b.zero_where(b.gt(zeros, 0.0), b.div(b.mul(g, product), b.where(is_zero, b.e.number(1.0), x)));
        r.set(0, b.where(alone, b.expand(b.mul(g, others), r.shape(0)), usual));
    }
    // Shared evenly by all that are the extreme.
    static void spread(Rule& r) {
        Builder<E>& b = r.b;
        Value mask = b.cast(b.eq(r.in(0), with_dims_kept(r, r.out())), b.e.dtype(r.g()));
        Value count = b.sum(mask, folded(r), true);
        r.set(0, b.mul(mask, b.div(with_dims_kept(r, r.g()), count)));
    }
    static void picked(Rule& r) {
        Attrs attrs;
        attrs.dim = r.attrs().dims[0];
        Value index = with_dims_kept(r, r.out(1));
        r.set(0, r.b.e.emit(Op::ScatterAdd, {r.zeros_like_operand(0), index, with_dims_kept(r, r.g())}, attrs));
    }

    // ---- contractions ----
    static void matmul(Rule& r) {
        Builder<E>& b = r.b;
        Shape left = r.shape(0), right = r.shape(1);
        bool row = left.size() == 1, column = right.size() == 1;
        // Vectors as matrices; the gradient gets back the dims that they lost.
        if (row) left.insert(0, Dim(1));
        if (column) right.push_back(Dim(1));
        Shape full = b.e.shape(r.g());
        if (row) full.insert(full.size() - (column ? 0 : 1), Dim(1));
        if (column) full.push_back(Dim(1));
        Value g = b.reshape(r.g(), full);
        if (r.wants(0)) {
            Value gradient = b.matmul(g, b.transposed(b.reshape(r.in(1), right)));
            r.set(0, b.reshape(b.sum_to(gradient, left), r.shape(0)));
        }
        if (r.wants(1)) {
            Value a = b.reshape(r.in(0), left);
            if (right.size() == 2 && left.size() > 2) {
                // One product over all batches instead of one each and a sum.
                Dim rows(1);
                for (size_t d = 0; d + 1 < left.size(); ++d) rows = rows * left[d];
                a = b.reshape(a, {rows, left.back()});
                g = b.reshape(g, {rows, full.back()});
            }
            r.set(1, b.reshape(b.sum_to(b.matmul(b.transposed(a), g), right), r.shape(1)));
        }
    }

    // ---- views ----
    static void reshaped(Rule& r) { r.set(0, r.b.reshape(r.g(), r.shape(0))); }
    static void permuted(Rule& r) {
        tensor::Dims back(r.attrs().dims.size(), 0);
        for (size_t d = 0; d < back.size(); ++d) {
            back[static_cast<size_t>(r.attrs().dims[d])] = static_cast<int64_t>(d);
        }
        r.set(0, r.b.permute(r.g(), back));
    }
    static void expanded(Rule& r) { r.set(0, r.g()); }  // summed to the operand's shape by the caller
    static void sliced(Rule& r) {
        const Attrs& a = r.attrs();
        r.set(0, r.b.slice_scatter(r.zeros_like_operand(0), r.g(), a.dim, a.start, a.end, a.step));
    }
    static void selected(Rule& r) {
        r.set(0, r.b.select_scatter(r.zeros_like_operand(0), r.g(), r.attrs().dim, r.attrs().start));
    }

    // ---- index operators ----
    static void cat(Rule& r) {
        size_t dim = static_cast<size_t>(r.attrs().dim);
        size_t rank = r.b.e.shape(r.g()).size();
        Dim at(0);
        for (size_t i = 0; i < r.call.operand_count; ++i) {
            if (r.shape(i).size() != rank) {  // an empty vector that was let pass
                if (r.wants(i)) r.set(i, r.zeros_like_operand(i));
                continue;
            }
            Dim end = at + r.shape(i)[dim];
            if (r.wants(i)) r.set(i, r.b.slice(r.g(), r.attrs().dim, at, end));
            at = end;
        }
    }
    static void stack(Rule& r) {
        for (size_t i = 0; i < r.call.operand_count; ++i) {
            if (r.wants(i)) r.set(i, r.b.select(r.g(), r.attrs().dim, Dim(static_cast<int64_t>(i))));
        }
    }
    static void index_select(Rule& r) {
        Attrs attrs;
        attrs.dim = r.attrs().dim;
        r.set(0, r.b.e.emit(Op::IndexAdd, {r.zeros_like_operand(0), r.in(1), r.g()}, attrs));
    }
    static void gather(Rule& r) {
        Attrs attrs;
        attrs.dim = r.attrs().dim;
        r.set(0, r.b.e.emit(Op::ScatterAdd, {r.zeros_like_operand(0), r.in(1), r.g()}, attrs));
    }
    static Attrs index_attrs(Rule& r, bool accumulate) {
        Attrs attrs;
        attrs.dims = r.attrs().dims;
        attrs.mode = accumulate;
        return attrs;
    }
    static void index_take(Rule& r) {
        std::vector<Value> operands = {r.zeros_like_operand(0), r.g()};
        for (size_t i = 1; i < r.call.operand_count; ++i) operands.push_back(r.in(i));
        r.set(0, r.b.e.emit(Op::IndexPut, operands, index_attrs(r, true)));
    }
    static void index_put(Rule& r) {
        std::vector<Value> indices;
        for (size_t i = 2; i < r.call.operand_count; ++i) indices.push_back(r.in(i));
        if (r.wants(0)) {
            if (r.attrs().mode) {
                r.set(0, r.g());
            } else {
                Value zero = r.b.zeros({}, r.b.e.dtype(r.g()), r.b.e.device(r.g()));
                std::vector<Value> operands = {r.g(), zero};
                operands.insert(operands.end(), indices.begin(), indices.end());
                r.set(0, r.b.e.emit(Op::IndexPut, operands, index_attrs(r, false)));
            }
        }
        if (r.wants(1)) {
            std::vector<Value> operands = {r.g()};
            operands.insert(operands.end(), indices.begin(), indices.end());
            r.set(1, r.b.e.emit(Op::IndexTake, operands, index_attrs(r, false)));
        }
    }
    static void index_add(Rule& r) {
        r.set(0, r.g());
        if (!r.wants(2)) return;
        Attrs attrs;
        attrs.dim = r.attrs().dim;
        r.set(2, r.b.reshape(r.b.e.emit(Op::IndexSelect, {r.g(), r.in(1)}, attrs), r.shape(2)));
    }
    static void scatter_add(Rule& r) {
        r.set(0, r.g());
        if (!r.wants(2)) return;
        Attrs attrs;
        attrs.dim = r.attrs().dim;
        Value gradient = r.b.e.emit(Op::Gather, {r.g(), r.in(1)}, attrs);
        // A source larger than the index: what was not read has no gradient.
        for (size_t d = 0; d < r.shape(2).size(); ++d) {
            Shape larger = r.b.e.shape(gradient);
            Dim have = larger[d];
            if (r.b.e.same(have, r.shape(2)[d])) continue;
            larger[d] = r.shape(2)[d];
            Value zeros = r.b.zeros(larger, r.b.e.dtype(gradient), r.b.e.device(gradient));
            gradient = r.b.slice_scatter(zeros, gradient, static_cast<int64_t>(d), Dim(0), have);
        }
        r.set(2, gradient);
    }
    static void slice_scatter(Rule& r) {
        const Attrs& a = r.attrs();
        if (r.wants(0)) r.set(0, r.b.slice_scatter(r.g(), r.zeros_like_operand(1), a.dim, a.start, a.end, a.step));
        if (r.wants(1)) r.set(1, r.b.slice(r.g(), a.dim, a.start, a.end, a.step));
    }
    static void select_scatter(Rule& r) {
        const Attrs& a = r.attrs();
        if (r.wants(0)) r.set(0, r.b.select_scatter(r.g(), r.zeros_like_operand(1), a.dim, a.start));
        if (r.wants(1)) r.set(1, r.b.select(r.g(), a.dim, a.start));
    }
    static void copy(Rule& r) {
        if (r.wants(0)) r.set(0, r.zeros_like_operand(0));
        if (r.wants(1)) r.set(1, r.g());
    }

    static void missing(Rule& r) {
        tensor::fail(tensor::ErrorKind::NotImplemented, "the derivative of '{}' is not known", tensor::name_of(r.call.op));
    }
};

template <class E>
std::vector<typename E::Value> run_vjp(E& emitter, const VjpCall<E>& call) {
    using Rules = VjpRules<E>;
    using Function = void (*)(typename Rules::Rule&);
    static constexpr std::array<Function, tensor::kOpCount> kRules = [] {
        std::array<Function, tensor::kOpCount> rules{};
        rules.fill(Rules::missing);
#define TALC_VJP(id, rule, name, ...) rules[static_cast<size_t>(Op::id)] = Rules::rule;
#define TALC_NO_VJP(id)
#include "autograd/vjps.def"
#undef TALC_VJP
#undef TALC_NO_VJP
        return rules;
    }();
    typename Rules::Rule rule{call, Builder<E>(emitter), std::vector<typename E::Value>(call.operand_count)};
    kRules[static_cast<size_t>(call.op)](rule);
    for (size_t i = 0; i < call.operand_count; ++i) {
        auto& gradient = rule.gradients[i];
        if (!call.wanted(i)) gradient = {};
        if (!gradient) continue;
        gradient = rule.b.cast(rule.b.sum_to(gradient, call.operand_shape(i)), call.operand_dtype(i));
        if (emitter.device(gradient) == call.operand_device(i)) continue;
        typename E::Attrs attrs;
        attrs.device = call.operand_device(i);
        gradient = emitter.emit(tensor::Op::ToDevice, {gradient}, attrs);
    }
    return std::move(rule.gradients);
}

}  // namespace talc::autograd
