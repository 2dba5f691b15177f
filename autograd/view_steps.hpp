#pragma once
// Writing through a view without writing: the value of what a view was taken from, after the view's elements have
// become others. Recording turns in-place operators on views into this.
#include "autograd/builder.hpp"
#include "tensor/error.hpp"

namespace talc::autograd {

// `parent` with `fresh` in place of op(parent, attrs), where op is of kind View.
template <class E>
typename E::Value scatter_back(Builder<E>& b, Op op, const typename E::Attrs& attrs, typename E::Value parent,
                               typename E::Value fresh) {
    fresh = b.cast(fresh, b.e.dtype(parent));
    switch (op) {
        case Op::Slice: return b.slice_scatter(parent, fresh, attrs.dim, attrs.start, attrs.end, attrs.step);
        case Op::Select: return b.select_scatter(parent, fresh, attrs.dim, attrs.start);
        case Op::Permute: {
            tensor::Dims back(attrs.dims.size(), 0);
            for (size_t d = 0; d < attrs.dims.size(); ++d) {
                back[static_cast<size_t>(attrs.dims[d])] = static_cast<int64_t>(d);
            }
            return b.permute(fresh, back);
        }
        case Op::Detach: return fresh;
        case Op::View:
        case Op::Reshape:
        case Op::Squeeze:
        case Op::Unsqueeze:
        case Op::Expand: return b.reshape(fresh, b.e.shape(parent));  // an expand that writes repeats nothing
        default: tensor::fail("{} is not a view", tensor::name_of(op));
    }
}

}  // namespace talc::autograd
