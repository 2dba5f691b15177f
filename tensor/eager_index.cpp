// Elements chosen by index: concatenation, and reads and writes through integer tensors. All indices are checked
// before anything is written.
#include <array>
#include <cstring>

#include "tensor/convert.hpp"
#include "tensor/error.hpp"
#include "tensor/kernels.hpp"
#include "tensor/scalar_math.hpp"
#include "tensor/strided.hpp"
#include "tensor/views.hpp"

namespace talc::tensor {

namespace {

void concatenate(Context& context, Tensors inputs, int64_t dim, const Tensor& out) {
    int64_t at = 0;
    for (const Tensor& input : inputs) {
        if (input.rank() != out.rank()) continue;  // an empty vector, which PyTorch lets pass
        int64_t end = at + input.size(dim);
        copy_elements(context, input, slice_view(out, dim, at, end));
        at = end;
    }
}

// The elements of x that index tensors point at, seen as: for each of N tuples of indices, a block of the kept dims.
struct IndexedBlocks {
    std::vector<int64_t> offsets;  // element offset of each tuple's block in x
    Dims kept_sizes;               // x without the indexed dims
    Dims kept_strides;
    Dims tuple_sizes;    // shape of the index tensors, broadcast
    size_t tuple_place;  // where the tuple dims stand in the result

    IndexedBlocks(const Tensor& x, Tensors indices, const Dims& dims) {
        for (const Tensor& index : indices) {
            size_t rank = std::max(tuple_sizes.size(), index.sizes().size());
            Dims joined(rank, 1);
            for (size_t i = 0; i < rank; ++i) {
                int64_t a = i < tuple_sizes.size() ? tuple_sizes[tuple_sizes.size() - 1 - i] : 1;
                int64_t b = i < index.sizes().size() ? index.sizes()[index.sizes().size() - 1 - i] : 1;
                joined[rank - 1 - i] = a == 1 ? b : a;
            }
            tuple_sizes = joined;
        }
        bool adjacent = true;
        for (size_t i = 1; i < dims.size(); ++i) adjacent = adjacent && dims[i] == dims[i - 1] + 1;
        tuple_place = adjacent ? static_cast<size_t>(dims[0]) : 0;
        for (int64_t d = 0; d < x.rank(); ++d) {
            if (std::find(dims.begin(), dims.end(), d) == dims.end()) {
                kept_sizes.push_back(x.size(d));
                kept_strides.push_back(x.stride(d));
            }
        }
        offsets.assign(static_cast<size_t>(element_count(tuple_sizes)), 0);
        for (size_t k = 0; k < indices.size(); ++k) add_index(x, indices[k], dims[k]);
    }

    void add_index(const Tensor& x, const Tensor& index, int64_t dim) {
        Dims strides = broadcast_strides(index, tuple_sizes);
        Tensor seen = index.alias(tuple_sizes, strides, index.offset());
        std::vector<int64_t> values = to_ints(seen);
        int64_t size = x.size(dim), stride = x.stride(dim);
        for (size_t n = 0; n < values.size(); ++n) {
            int64_t value = values[n];
            if (value < -size || value >= size) {
                fail(ErrorKind::Index, "index {} is out of bounds for dimension {} with size {}", value, dim, size);
            }
            offsets[n] += (value < 0 ? value + size : value) * stride;
        }
    }

    // A tensor of the result's shape, with its tuple dims in front.
    Tensor tuples_first(const Tensor& result) const {
        Dims order;
        for (size_t d = 0; d < tuple_sizes.size(); ++d) order.push_back(static_cast<int64_t>(tuple_place + d));
        for (size_t d = 0; d < result.sizes().size(); ++d) {
            if (d < tuple_place || d >= tuple_place + tuple_sizes.size()) order.push_back(static_cast<int64_t>(d));
        }
        return permute_view(result, order);
    }

    Dims result_shape() const {
        Dims shape = kept_sizes;
        for (size_t d = 0; d < tuple_sizes.size(); ++d) shape.insert(tuple_place + d, tuple_sizes[d]);
        return shape;
    }

    // Calls row(x offset, other offset) for every row of every block; strides are nest.strides[k][0].
    template <class F>
    void for_rows(const Tensor& other_tuples_first, F&& row) const {
        size_t tuple_rank = tuple_sizes.size();
        const Dims& strides = other_tuples_first.strides();
        LoopNest<2> nest(kept_sizes, {kept_strides, Dims(strides.begin() + tuple_rank, strides.end())});
        Dims at(tuple_rank, 0);
        int64_t other = 0;
        for (int64_t offset : offsets) {
            nest.for_rows(0, nest.rows(), [&](const std::array<int64_t, 2>& start) {
                row(nest, offset + start[0], other + start[1]);
            });
            for (size_t d = tuple_rank; d-- > 0;) {
                other += strides[d];
                if (++at[d] < tuple_sizes[d]) break;
                other -= strides[d] * tuple_sizes[d];
                at[d] = 0;
            }
        }
    }
};

void take(const Tensor& x, Tensors indices, const Dims& dims, const Tensor& out) {
    IndexedBlocks blocks(x, indices, dims);
    if (out.numel() == 0) return;
    const int64_t bytes = static_cast<int64_t>(size_of(x.dtype()));
    const char* from = x.data_as<char>();
    char* to = out.data_as<char>();
    blocks.for_rows(blocks.tuples_first(out), [&](const LoopNest<2>& nest, int64_t source, int64_t target) {
        convert_row(x.dtype(), from + source * bytes, nest.strides[0][0], x.dtype(), to + target * bytes,
                    nest.strides[1][0], nest.inner());
    });
}

void add_row(DType dtype, const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t n) {
    visit_dtype(dtype, [&](auto zero) {
        using E = decltype(zero);
        using T = std::conditional_t<std::is_same_v<E, double>, double,
                                     std::conditional_t<std::is_integral_v<E>, int64_t, float>>;
        const E* source = static_cast<const E*>(from);
        E* target = static_cast<E*>(to);
        for (int64_t i = 0; i < n; ++i) {
            E& cell = target[i * to_stride];
            cell = convert<E>(plus(convert<T>(cell), convert<T>(source[i * from_stride])));
        }
    });
}

void put(const Tensor& out, const Tensor& source, Tensors indices, const Dims& dims, bool accumulate) {
    IndexedBlocks blocks(out, indices, dims);
    if (out.numel() == 0 || element_count(blocks.result_shape()) == 0) return;
    Dims shape = blocks.result_shape();
    Tensor values = source.alias(shape, broadcast_strides(source, shape), source.offset());
    const int64_t to_bytes = static_cast<int64_t>(size_of(out.dtype()));
    const int64_t from_bytes = static_cast<int64_t>(size_of(source.dtype()));
    const char* from = source.data_as<char>();
    char* to = out.data_as<char>();
    blocks.for_rows(blocks.tuples_first(values), [&](const LoopNest<2>& nest, int64_t target, int64_t origin) {
        const char* run = from + origin * from_bytes;
        char* cells = to + target * to_bytes;
        if (accumulate) {
            add_row(out.dtype(), run, nest.strides[1][0], cells, nest.strides[0][0], nest.inner());
        } else {
            convert_row(source.dtype(), run, nest.strides[1][0], out.dtype(), cells, nest.strides[0][0], nest.inner());
        }
    });
}

std::vector<int64_t> checked_along(const Tensor& index, int64_t dim, int64_t size) {
    std::vector<int64_t> values = to_ints(index);
    for (int64_t value : values) {
        if (value < 0 || value >= size) {
            fail("index {} is out of bounds for dimension {} with size {}", value, dim, size);
        }
    }
    return values;
}

// Calls f(offset in `along` with the index put in place of `dim`, offset in `other`) for each element of index.
template <class F>
void for_gathered(const Tensor& along, const Tensor& index, const Tensor& other, int64_t dim, F&& f) {
    std::vector<int64_t> values = checked_along(index, dim, along.rank() ? along.size(dim) : 1);
    Dims at(index.sizes().size(), 0);
    for (int64_t value : values) {
        int64_t offset = 0, other_offset = 0;
        for (size_t d = 0; d < at.size(); ++d) {
            offset += (static_cast<int64_t>(d) == dim ? value : at[d]) * along.strides()[d];
            other_offset += at[d] * other.strides()[d];
        }
        f(offset, other_offset);
        for (size_t d = at.size(); d-- > 0;) {
            if (++at[d] < index.sizes()[d]) break;
            at[d] = 0;
        }
    }
}

}  // namespace

void kernel_index(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred& inferred,
                  std::span<Tensor> results) {
    const Tensor& x = inputs[0];
    auto fresh = [&]() { return empty(context, inferred.shape, inferred.dtypes[0], inferred.device); };
    switch (op) {
        case Op::Cat:
            results[0] = fresh();
            return concatenate(context, inputs, attrs.dim, results[0]);
        case Op::Stack:
            results[0] = fresh();
            for (size_t i = 0; i < inputs.size(); ++i) {
                copy_elements(context, inputs[i], select_view(results[0], attrs.dim, static_cast<int64_t>(i)));
            }
            return;
        case Op::IndexSelect:
            results[0] = fresh();
            return take(x, inputs.subspan(1), {attrs.dim}, results[0]);
        case Op::IndexTake:
            results[0] = fresh();
            return take(x, inputs.subspan(1), attrs.dims, results[0]);
        case Op::IndexPut:
            results[0] = contiguous_copy(context, x);
            return put(results[0], inputs[1], inputs.subspan(2), attrs.dims, attrs.mode);
        case Op::IndexAdd:
            results[0] = contiguous_copy(context, x);
            return put(results[0], inputs[2], inputs.subspan(1, 1), {attrs.dim}, true);
        case Op::Gather: {
            results[0] = fresh();
            const size_t bytes = size_of(x.dtype());
            const char* from = x.data_as<char>();
            char* to = results[0].data_as<char>();
            return for_gathered(x, inputs[1], results[0], attrs.dim, [&](int64_t source, int64_t target) {
                std::memcpy(to + target * static_cast<int64_t>(bytes), from + source * static_cast<int64_t>(bytes), bytes);
            });
        }
        case Op::ScatterAdd: {
            results[0] = contiguous_copy(context, x);
            const int64_t bytes = static_cast<int64_t>(size_of(x.dtype()));
            const char* from = inputs[2].data_as<char>();
            char* to = results[0].data_as<char>();
            return for_gathered(results[0], inputs[1], inputs[2], attrs.dim, [&](int64_t target, int64_t source) {
                add_row(x.dtype(), from + source * bytes, 1, to + target * bytes, 1, 1);
            });
        }
        case Op::SliceScatter:
            results[0] = contiguous_copy(context, x);
            return copy_elements(context, inputs[1],
                                 slice_view(results[0], attrs.dim, attrs.start, attrs.end, attrs.step));
        case Op::SelectScatter:
            results[0] = contiguous_copy(context, x);
            return copy_elements(context, inputs[1], select_view(results[0], attrs.dim, attrs.start));
        default: fail("{} is not an index operator", name_of(op));
    }
}

}  // namespace talc::tensor
