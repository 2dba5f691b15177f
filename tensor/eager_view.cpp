// Views: new sizes and strides over the same storage.
#include <optional>

#include "tensor/error.hpp"
#include "tensor/kernels.hpp"
#include "tensor/views.hpp"

namespace talc::tensor {

std::optional<Dims> view_strides(const Dims& sizes, const Dims& strides, const Dims& wanted) {
    if (element_count(sizes) == 0) return contiguous_strides(wanted);
    Dims result(wanted.size(), 1);
    // Both shapes are walked from the end; a stretch of old dims that lie densely is cut into new ones.
    size_t old_dim = sizes.size();
    size_t new_dim = wanted.size();
    while (old_dim > 0) {
        int64_t base = strides[old_dim - 1];
        int64_t count = sizes[old_dim - 1];
        while (old_dim > 1 && (sizes[old_dim - 2] == 1 || strides[old_dim - 2] == count * base || count == 1)) {
            // A stretch of size 1 so far takes over the stride of what joins it.
            if (count == 1 && sizes[old_dim - 2] != 1) base = strides[old_dim - 2];
            count *= sizes[old_dim - 2];
            --old_dim;
        }
        --old_dim;
        int64_t covered = 1;
        while (new_dim > 0 && (covered < count || wanted[new_dim - 1] == 1)) {
            result[new_dim - 1] = covered * base;
            covered *= wanted[new_dim - 1];
            --new_dim;
        }
        if (covered != count) return std::nullopt;
    }
    if (new_dim > 0) {  // only sizes of 1 are left
        int64_t stride = result.size() > new_dim ? result[new_dim] * wanted[new_dim] : 1;
        while (new_dim > 0) result[--new_dim] = stride;
    }
    return result;
}

void kernel_view(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred& inferred,
                 std::span<Tensor> results) {
    const Tensor& x = inputs[0];
    const Dims& shape = inferred.shape;
    Dims strides = x.strides();
    int64_t offset = x.offset();
    const size_t dim = static_cast<size_t>(attrs.dim);
    switch (op) {
        case Op::View:
        case Op::Reshape: {
            std::optional<Dims> found = view_strides(x.sizes(), x.strides(), shape);
            if (!found && op == Op::View) {
                fail("view size is not compatible with input tensor's size and stride (at least one dimension spans across "
                     "two contiguous subspaces). Use .reshape(...) instead.");
            }
            if (!found) {
                Tensor copy = contiguous(context, x);
                results[0] = copy.alias(shape, contiguous_strides(shape), 0);
                return;
            }
            strides = *found;
            break;
        }
        case Op::Detach: break;
        case Op::Permute:
            for (size_t d = 0; d < shape.size(); ++d) strides[d] = x.stride(attrs.dims[d]);
            break;
        case Op::Expand: {
            strides = Dims(shape.size(), 0);
            size_t fresh = shape.size() - x.sizes().size();
            for (size_t d = 0; d < x.sizes().size(); ++d) {
                bool stays = x.sizes()[d] == shape[fresh + d];
                strides[fresh + d] = stays ? x.strides()[d] : 0;
            }
            break;
        }
        case Op::Squeeze:
            strides.clear();
            for (size_t d = 0; d < x.sizes().size(); ++d) {
                bool asked = attrs.dims.empty() || std::find(attrs.dims.begin(), attrs.dims.end(),
                                                             static_cast<int64_t>(d)) != attrs.dims.end();
                if (!(asked && x.sizes()[d] == 1)) strides.push_back(x.strides()[d]);
            }
            break;
        case Op::Unsqueeze: {
            int64_t stride = dim < x.sizes().size() ? x.sizes()[dim] * x.strides()[dim] : 1;
            strides.insert(dim, stride);
            break;
        }
        case Op::Slice:
            offset += attrs.start * strides[dim];
            strides[dim] *= attrs.step;
            break;
        case Op::Select:
            offset += attrs.start * strides[dim];
            strides.erase(dim);
            break;
        default: fail("{} is not a view", name_of(op));
    }
    results[0] = x.alias(shape, std::move(strides), offset);
    results[0].impl()->weak = false;
}

Tensor contiguous(Context& context, const Tensor& x) {
    if (x.is_contiguous()) return x;
    return contiguous_copy(context, x);
}

Tensor contiguous_copy(Context& context, const Tensor& x) {
    Tensor copy = empty(context, x.sizes(), x.dtype(), x.device());
    copy_elements(context, x, copy);
    return copy;
}

Tensor permute_view(const Tensor& x, const Dims& dims) {
    Dims sizes, strides;
    for (int64_t d : dims) {
        sizes.push_back(x.size(d));
        strides.push_back(x.stride(d));
    }
    return x.alias(std::move(sizes), std::move(strides), x.offset());
}

Tensor slice_view(const Tensor& x, int64_t dim, int64_t start, int64_t end, int64_t step) {
    Dims sizes = x.sizes(), strides = x.strides();
    size_t d = static_cast<size_t>(dim);
    int64_t offset = x.offset() + start * strides[d];
    sizes[d] = (end - start + step - 1) / step;
    strides[d] *= step;
    return x.alias(std::move(sizes), std::move(strides), offset);
}

Tensor select_view(const Tensor& x, int64_t dim, int64_t index) {
    Dims sizes = x.sizes(), strides = x.strides();
    size_t d = static_cast<size_t>(dim);
    int64_t offset = x.offset() + index * strides[d];
    sizes.erase(d);
    strides.erase(d);
    return x.alias(std::move(sizes), std::move(strides), offset);
}

}  // namespace talc::tensor
