// The shape rules, as templates over the kind of dimension. Included by tensor/shape_rules.cpp (plain numbers)
// and graph/'s (symbolic dims).
#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "tensor/shape_rules.hpp"

namespace talc::tensor {

template <class Judge>
struct ShapeRules {
    using D = typename Judge::D;
    using Shape = ShapeOf<D>;
    struct Query {
        Judge& judge;
        Op op;
        std::span<const Shape* const> inputs;
        const AttrsOf<D>& attrs;
        const Shape& in(size_t i) const { return *inputs[i]; }
    };

    static std::string list(Judge& j, const Shape& shape, char open, char close) {
        std::string text(1, open);
        for (size_t i = 0; i < shape.size(); ++i) {
            if (i) text += ", ";
            text += j.text(shape[i]);
        }
        if (open == '(' && shape.size() == 1) text += ',';
        return text + close;
    }
    static std::string brackets(Judge& j, const Shape& shape) { return list(j, shape, '[', ']'); }
    static std::string parens(Judge& j, const Shape& shape) { return list(j, shape, '(', ')'); }

    static D product(Judge& j, const Shape& shape) {
        D total = D(1);
        for (D size : shape) total = j.mul(total, size);
        return total;
    }

    static Shape none(const Query& q) { fail("{} has no shape rule", name_of(q.op)); }
    static Shape zero_dim(const Query&) { return {}; }

    static Shape sizes(const Query& q) {
        for (D size : q.attrs.sizes) {
            if (!q.judge.at_most(D(0), size)) fail("{}: Dimension size must be non-negative.", name_of(q.op));
        }
        return q.attrs.sizes;
    }

    static Shape broadcast_pair(Judge& j, const Shape& a, const Shape& b) {
        size_t rank = std::max(a.size(), b.size());
        Shape out(rank, D(1));
        for (size_t i = 0; i < rank; ++i) {  // from the last dimension
            D x = i < a.size() ? a[a.size() - 1 - i] : D(1);
            D y = i < b.size() ? b[b.size() - 1 - i] : D(1);
            D& z = out[rank - 1 - i];
            if (j.is(x, 1)) {
                z = y;
            } else if (j.is(y, 1) || j.same(x, y)) {
                z = x;
            } else {
                fail("The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension {}",
                     j.text(x), j.text(y), rank - 1 - i);
            }
        }
        return out;
    }

    static Shape broadcast(const Query& q) {
        Shape out = q.in(0);
        for (size_t i = 1; i < q.inputs.size(); ++i) out = broadcast_pair(q.judge, out, q.in(i));
        return out;
    }

    static bool contains(const Dims& dims, size_t dim) {
        return std::find(dims.begin(), dims.end(), static_cast<int64_t>(dim)) != dims.end();
    }

    static Shape reduced(const Query& q) {
        const Shape& in = q.in(0);
        for (int64_t dim : q.attrs.dims) wrap_dim(dim, static_cast<int64_t>(in.size()));
        Shape out;
        for (size_t d = 0; d < in.size(); ++d) {
            bool gone = q.attrs.dims.empty() || contains(q.attrs.dims, d);
            if (!gone) {
                out.push_back(in[d]);
            } else if (q.attrs.keepdim) {
                out.push_back(D(1));
            }
        }
        return out;
    }

    static Shape reduced_nonempty(const Query& q) {
        const Shape& in = q.in(0);
        Shape out = reduced(q);
        for (size_t d = 0; d < in.size(); ++d) {
            if (!q.attrs.dims.empty() && !contains(q.attrs.dims, d)) continue;
            if (!q.judge.is(in[d], 0)) continue;
            if (q.attrs.dims.size() != 1) {
                fail("{}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                     "with the 'dim' argument.",
                     name_of(q.op));
            }
            fail(ErrorKind::Index, "{}(): Expected reduction dim {} to have non-zero size.", name_of(q.op), d);
        }
        return out;
    }

    static Shape matmul(const Query& q) {
        Judge& j = q.judge;
        const Shape &a = q.in(0), &b = q.in(1);
        if (a.empty() || b.empty()) {
            fail("both arguments to matmul need to be at least 1D, but they are {}D and {}D", a.size(), b.size());
        }
        D inner_a = a.back();
        D inner_b = b.size() == 1 ? b[0] : b[b.size() - 2];
        if (!j.same(inner_a, inner_b)) {
            fail("matmul: {} @ {}: inner sizes {} and {} differ", parens(j, a), parens(j, b), j.text(inner_a),
                 j.text(inner_b));
        }
        Shape batch_a(a.begin(), a.end() - std::min<size_t>(a.size(), 2));
        Shape batch_b(b.begin(), b.end() - std::min<size_t>(b.size(), 2));
        Shape out = broadcast_pair(j, batch_a, batch_b);
        if (a.size() > 1) out.push_back(a[a.size() - 2]);
        if (b.size() > 1) out.push_back(b.back());
        return out;
    }

    // One size may be -1: whatever the others leave.
    static Shape viewed(const Query& q) {
        Judge& j = q.judge;
        Shape out = q.attrs.sizes;
        D total = product(j, q.in(0));
        D known = D(1);
        int64_t open = -1;
        auto refuse = [&]() {
            fail("shape '{}' is invalid for input of size {}", brackets(j, q.attrs.sizes), j.text(total));
        };
        for (size_t i = 0; i < out.size(); ++i) {
            if (j.is(out[i], -1)) {
                if (open >= 0) fail("only one dimension can be inferred");
                open = static_cast<int64_t>(i);
            } else {
                if (!j.at_most(D(0), out[i])) fail("invalid shape dimension {}", j.text(out[i]));
                known = j.mul(known, out[i]);
            }
        }
        if (open >= 0) {
            if (j.is(known, 0)) {
                fail("cannot reshape tensor of 0 elements into shape {} because the unspecified dimension size -1 can "
                     "be any value and is ambiguous",
                     brackets(j, q.attrs.sizes));
            }
            if (!j.divides(known, total)) refuse();
            out[static_cast<size_t>(open)] = j.quotient(total, known);
        } else if (!j.same(known, total)) {
            refuse();
        }
        return out;
    }

    static Shape permuted(const Query& q) {
        const Shape& in = q.in(0);
        const Dims& dims = q.attrs.dims;
        if (dims.size() != in.size()) {
            fail("permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
                 "desired ordering of dimensions i.e. input.dim() = {} is not equal to len(dims) = {}",
                 in.size(), dims.size());
        }
        Shape out;
        InlineVec<uint8_t, 8> seen(in.size(), 0);
        for (int64_t dim : dims) {
            size_t d = static_cast<size_t>(wrap_dim(dim, static_cast<int64_t>(in.size())));
            if (seen[d]++) fail("permute(): duplicate dims are not allowed.");
            out.push_back(in[d]);
        }
        return out;
    }

    // -1 keeps a size.
    static Shape expanded(const Query& q) {
        Judge& j = q.judge;
        const Shape& in = q.in(0);
        Shape out = q.attrs.sizes;
        if (out.size() < in.size()) {
            fail("expand: the number of sizes provided ({}) must be greater or equal to the number of dimensions in the "
                 "tensor ({})",
                 out.size(), in.size());
        }
        size_t fresh = out.size() - in.size();
        for (size_t i = 0; i < out.size(); ++i) {
            bool keep = j.is(out[i], -1);
            if (i < fresh) {
                if (keep) {
                    fail("The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {}", i);
                }
                continue;
            }
            D have = in[i - fresh];
            if (keep) {
                out[i] = have;
            } else if (!j.is(have, 1) && !j.same(have, out[i])) {
                fail("The expanded size of the tensor ({}) must match the existing size ({}) at non-singleton dimension "
                     "{}.  Target sizes: {}.  Tensor sizes: {}",
                     j.text(out[i]), j.text(have), i, brackets(j, q.attrs.sizes), brackets(j, in));
            }
        }
        return out;
    }

    // Drops those of the listed dims that have size 1; no list: all of size 1.
    static Shape squeezed(const Query& q) {
        const Shape& in = q.in(0);
        Shape out;
        for (size_t d = 0; d < in.size(); ++d) {
            bool asked = q.attrs.dims.empty() || contains(q.attrs.dims, d);
            if (!(asked && q.judge.is(in[d], 1))) out.push_back(in[d]);
        }
        return out;
    }

    static Shape unsqueezed(const Query& q) {
        Shape out = q.in(0);
        int64_t dim = wrap_dim(q.attrs.dim, static_cast<int64_t>(out.size()) + 1);
        out.insert(static_cast<size_t>(dim), D(1));
        return out;
    }

    static size_t dim_of(const Query& q) {
        if (q.in(0).empty()) fail(ErrorKind::Index, "{}() cannot be applied to a 0-dim tensor.", name_of(q.op));
        return static_cast<size_t>(wrap_dim(q.attrs.dim, static_cast<int64_t>(q.in(0).size())));
    }

    // Bounds are normalized already: 0 <= start <= end <= size.
    static Shape sliced(const Query& q) {
        Judge& j = q.judge;
        size_t dim = dim_of(q);
        Shape out = q.in(0);
        const auto& a = q.attrs;
        if (!j.at_most(D(1), a.step)) fail(ErrorKind::Value, "slice step must be positive");
        if (!j.at_most(D(0), a.start) || !j.at_most(a.start, a.end) || !j.at_most(a.end, out[dim])) {
            fail(ErrorKind::Index, "slice: [{}:{}] is out of range for dimension {} with size {}", j.text(a.start),
                 j.text(a.end), dim, j.text(out[dim]));
        }
        D length = j.sub(a.end, a.start);
        out[dim] = j.is(a.step, 1) ? length : j.ceil_quotient(length, a.step);
        return out;
    }

    static Shape selected(const Query& q) {
        Judge& j = q.judge;
        size_t dim = dim_of(q);
        Shape out = q.in(0);
        if (!j.at_most(D(0), q.attrs.start) || !j.at_most(j.add(q.attrs.start, D(1)), out[dim])) {
            fail(ErrorKind::Index, "index {} is out of bounds for dimension {} with size {}", j.text(q.attrs.start), dim,
                 j.text(out[dim]));
        }
        out.erase(dim);
        return out;
    }

    // PyTorch lets empty vectors pass in a concatenation whatever the other ranks; so does this.
    static bool is_legacy_empty(Judge& j, const Shape& shape) { return shape.size() == 1 && j.is(shape[0], 0); }

    static Shape concatenated(const Query& q) {
        Judge& j = q.judge;
        size_t first = 0;
        while (first + 1 < q.inputs.size() && is_legacy_empty(j, q.in(first))) ++first;
        Shape out = q.in(first);
        if (out.empty()) fail("zero-dimensional tensor (at position {}) cannot be concatenated", first);
        size_t dim = static_cast<size_t>(wrap_dim(q.attrs.dim, static_cast<int64_t>(out.size())));
        for (size_t i = first + 1; i < q.inputs.size(); ++i) {
            const Shape& in = q.in(i);
            if (is_legacy_empty(j, in)) continue;
            if (in.empty()) fail("zero-dimensional tensor (at position {}) cannot be concatenated", i);
            if (in.size() != out.size()) {
                fail("Tensors must have same number of dimensions: got {} and {}", out.size(), in.size());
            }
            for (size_t d = 0; d < out.size(); ++d) {
                if (d != dim && !j.same(out[d], in[d])) {
                    fail("Sizes of tensors must match except in dimension {}. Expected size {} but got size {} for tensor "
                         "number {} in the list.",
                         dim, j.text(out[d]), j.text(in[d]), i);
                }
            }
            out[dim] = j.add(out[dim], in[dim]);
        }
        return out;
    }

    static bool same_shape(Judge& j, const Shape& a, const Shape& b) {
        if (a.size() != b.size()) return false;
        for (size_t d = 0; d < a.size(); ++d) {
            if (!j.same(a[d], b[d])) return false;
        }
        return true;
    }

    static Shape stacked(const Query& q) {
        Shape out = q.in(0);
        for (size_t i = 1; i < q.inputs.size(); ++i) {
            if (!same_shape(q.judge, q.in(i), q.in(0))) {
                fail("stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {}",
                     brackets(q.judge, q.in(0)), brackets(q.judge, q.in(i)), i);
            }
        }
        int64_t dim = wrap_dim(q.attrs.dim, static_cast<int64_t>(out.size()) + 1);
        out.insert(static_cast<size_t>(dim), D(static_cast<int64_t>(q.inputs.size())));
        return out;
    }

    static Shape index_selected(const Query& q) {
        if (q.in(1).size() > 1) fail(ErrorKind::Index, "index_select(): Index is supposed to be a vector");
        size_t dim = dim_of(q);
        Shape out = q.in(0);
        out[dim] = q.in(1).empty() ? D(1) : q.in(1)[0];
        return out;
    }

    static void check_gather_index(const Query& q, const Shape& source, const Shape& index, bool all_dims) {
        Judge& j = q.judge;
        if (source.size() != index.size()) {
            fail("Index tensor must have the same number of dimensions as input tensor");
        }
        for (size_t d = 0; d < index.size(); ++d) {
            if (!all_dims && static_cast<int64_t>(d) == q.attrs.dim) continue;
            if (!j.at_most(index[d], source[d])) {
                fail("Size does not match at dimension {} expected index {} to be no larger than self {} apart from "
                     "dimension {}",
                     d, brackets(j, index), brackets(j, source), q.attrs.dim);
            }
        }
    }

    static Shape gathered(const Query& q) {
        check_gather_index(q, q.in(0), q.in(1), false);
        return q.in(1);
    }

    static Shape scattered(const Query& q) {
        check_gather_index(q, q.in(0), q.in(1), false);
        check_gather_index(q, q.in(2), q.in(1), true);
        return q.in(0);
    }

    static Shape index_added(const Query& q) {
        Judge& j = q.judge;
        size_t dim = dim_of(q);
        Shape wanted = q.in(0);
        wanted[dim] = q.in(1).empty() ? D(1) : q.in(1)[0];
        if (!same_shape(j, wanted, q.in(2))) {
            fail("index_add: expected the source to have shape {}, but got {}", brackets(j, wanted),
                 brackets(j, q.in(2)));
        }
        return q.in(0);
    }

    // Where the broadcast index dimensions go: in place of the indexed dims when these are adjacent, else first.
    static Shape taken_shape(const Query& q, size_t first_index) {
        Judge& j = q.judge;
        const Shape& in = q.in(0);
        const Dims& dims = q.attrs.dims;
        if (dims.size() + first_index != q.inputs.size()) {
            fail("{}: {} dims for {} indices", name_of(q.op), dims.size(), q.inputs.size() - first_index);
        }
        Shape index;
        for (size_t i = first_index; i < q.inputs.size(); ++i) {
            try {
                index = broadcast_pair(j, index, q.in(i));
            } catch (const Error&) {
                std::string shapes;
                for (size_t k = first_index; k < q.inputs.size(); ++k) {
                    shapes += (shapes.empty() ? "" : ", ") + brackets(j, q.in(k));
                }
                fail(ErrorKind::Index, "shape mismatch: indexing tensors could not be broadcast together with shapes {}",
                     shapes);
            }
        }
        bool adjacent = true;
        for (size_t i = 1; i < dims.size(); ++i) adjacent = adjacent && dims[i] == dims[i - 1] + 1;
        Shape out;
        auto place = [&]() {
            for (D size : index) out.push_back(size);
        };
        if (!adjacent) place();
        for (size_t d = 0; d < in.size(); ++d) {
            if (adjacent && static_cast<int64_t>(d) == dims[0]) place();
            if (!contains(dims, d)) out.push_back(in[d]);
        }
        return out;
    }

    static Shape index_taken(const Query& q) { return taken_shape(q, 1); }

    static Shape index_put(const Query& q) {
        Shape target = taken_shape(q, 2);
        if (!broadcasts_to(q.judge, q.in(1), target)) {
            fail("shape mismatch: value tensor of shape {} cannot be broadcast to indexing result of shape {}",
                 brackets(q.judge, q.in(1)), brackets(q.judge, target));
        }
        return q.in(0);
    }

    static Shape slice_scattered(const Query& q) {
        Shape wanted = sliced(q);
        check_source(q, wanted);
        return q.in(0);
    }

    static Shape select_scattered(const Query& q) {
        Shape wanted = selected(q);
        check_source(q, wanted);
        return q.in(0);
    }

    static void check_source(const Query& q, const Shape& wanted) {
        if (!same_shape(q.judge, q.in(1), wanted)) {
            fail("expected src to have a size equal to the slice of self. src size = {}, slice size = {}",
                 brackets(q.judge, q.in(1)), brackets(q.judge, wanted));
        }
    }

    static bool broadcasts_to(Judge& j, const Shape& from, const Shape& to) {
        if (from.size() > to.size()) return false;
        for (size_t i = 0; i < from.size(); ++i) {
            D have = from[from.size() - 1 - i];
            if (!j.is(have, 1) && !j.same(have, to[to.size() - 1 - i])) return false;
        }
        return true;
    }

    static Shape written(const Query& q) {
        if (q.inputs.size() > 1) {
            const Shape& to = q.in(0);
            const Shape& from = q.in(1);
            if (!broadcasts_to(q.judge, from, to)) {
                // Says which sizes differ when the ranks allow it.
                if (from.size() <= to.size()) {
                    for (size_t i = 0; i < to.size(); ++i) {
                        if (i >= from.size()) break;
                        D want = to[to.size() - 1 - i], have = from[from.size() - 1 - i];
                        if (!q.judge.is(have, 1) && !q.judge.same(have, want)) {
                            fail("The expanded size of the tensor ({}) must match the existing size ({}) at non-singleton "
                                 "dimension {}.  Target sizes: {}.  Tensor sizes: {}",
                                 q.judge.text(want), q.judge.text(have), to.size() - 1 - i, brackets(q.judge, to),
                                 brackets(q.judge, from));
                        }
                    }
                }
                fail("output with shape {} doesn't match the broadcast shape {}", brackets(q.judge, to),
                     brackets(q.judge, from));
            }
        }
        return q.in(0);
    }
};

template <class Judge>
ShapeOf<typename Judge::D> infer_shape(Judge& judge, Op op, std::span<const ShapeOf<typename Judge::D>* const> inputs,
                                       const AttrsOf<typename Judge::D>& attrs) {
    using Rules = ShapeRules<Judge>;
    using Rule = typename Rules::Shape (*)(const typename Rules::Query&);
    static constexpr std::array<Rule, kOpCount> kRules = {
#define TALC_OP(id, name, inputs, outputs, kind, attributes, effect, raises, type_rule, shape_rule) Rules::shape_rule,
#include "tensor/ops.def"
#undef TALC_OP
    };
    const OpInfo& row = info(op);
    if (inputs.size() < row.inputs || (inputs.size() > row.inputs && !row.variadic)) {
        fail(ErrorKind::Type, "{}: expected {}{} operands, but got {}", row.name, row.variadic ? "at least " : "",
             row.inputs, inputs.size());
    }
    return kRules[static_cast<size_t>(op)]({judge, op, inputs, attrs});
}

}  // namespace talc::tensor
