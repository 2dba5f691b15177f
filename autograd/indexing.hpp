#pragma once
// x[...] with integers, slices, None, ... and tensors, as PyTorch reads it: views for what views can do, then one
// gather for the index tensors. Over any emitter; masks need values and therefore tensors.
#include <optional>
#include <span>
#include <vector>

#include "autograd/builder.hpp"
#include "autograd/emit.hpp"
#include "tensor/error.hpp"

namespace talc::autograd {

template <class E>
struct IndexItem {
    enum Kind : uint8_t { Int, Slice, NewAxis, Ellipsis, Tensor } kind;
    typename E::Dim index{};                        // Int; negative counts from the end
    std::optional<typename E::Dim> start, stop;     // Slice
    typename E::Dim step = typename E::Dim(1);      // Slice
    typename E::Value tensor{};                     // integers, or a mask of bool

    static IndexItem integer(typename E::Dim value) { return {Int, value, {}, {}, typename E::Dim(1), {}}; }
    static IndexItem new_axis() { return {NewAxis, {}, {}, {}, typename E::Dim(1), {}}; }
    static IndexItem ellipsis() { return {Ellipsis, {}, {}, {}, typename E::Dim(1), {}}; }
    static IndexItem of(typename E::Value tensor) { return {Tensor, {}, {}, {}, typename E::Dim(1), tensor}; }
    static IndexItem slice(std::optional<typename E::Dim> start = {}, std::optional<typename E::Dim> stop = {},
                           typename E::Dim step = typename E::Dim(1)) {
        return {Slice, {}, start, stop, step, {}};
    }
};

// What is left after the views: the view, and index tensors for some of its dims.
template <class E>
struct IndexPlan {
    typename E::Value view;
    std::vector<typename E::Value> indices;
    tensor::Dims dims;
    bool mask = false;  // an index is a mask
};

template <class E>
IndexPlan<E> plan_index(Builder<E>& b, typename E::Value x, std::span<const IndexItem<E>> items) {
    using Item = IndexItem<E>;
    using Dim = typename E::Dim;
    E& e = b.e;
    int64_t rank = static_cast<int64_t>(e.shape(x).size()), taken = 0;
    int ellipses = 0;
    auto is_mask = [&](const Item& item) { return item.kind == Item::Tensor && e.dtype(item.tensor) == tensor::DType::Bool; };
    for (const Item& item : items) {
        if (item.kind == Item::Ellipsis) ++ellipses;
        if (item.kind == Item::Int || item.kind == Item::Slice) ++taken;
        if (item.kind == Item::Tensor) taken += is_mask(item) ? static_cast<int64_t>(e.shape(item.tensor).size()) : 1;
    }
    if (ellipses > 1) tensor::fail(tensor::ErrorKind::Index, "an index can only have a single ellipsis ('...')");
    if (taken > rank) tensor::fail(tensor::ErrorKind::Index, "too many indices for tensor of dimension {}", rank);

    IndexPlan<E> plan{x, {}, {}, false};
    int64_t dim = 0;     // in the view
    int64_t source = 0;  // in x, for messages
    for (const Item& item : items) {
        switch (item.kind) {
            case Item::Int: {
                Dim size = e.shape(plan.view)[static_cast<size_t>(dim)];
                bool inside = e.at_most(Dim(0) - size, item.index) && e.at_most(item.index + Dim(1), size);
                if (!inside) {
                    tensor::fail(tensor::ErrorKind::Index, "index {} is out of bounds for dimension {} with size {}",
                                 e.text(item.index), source, e.text(size));
                }
                Dim index = e.at_most(Dim(0), item.index) ? item.index : item.index + size;
                plan.view = b.select(plan.view, dim, index);
                ++source;
                break;
            }
            case Item::Slice: {
                if (!e.at_most(Dim(1), item.step)) tensor::fail(tensor::ErrorKind::Value, "step must be greater than zero");
                Dim size = e.shape(plan.view)[static_cast<size_t>(dim)];
                auto bound = [&](const std::optional<Dim>& given, Dim missing) {
                    if (!given) return missing;
                    Dim value = e.at_most(Dim(0), *given) ? *given : *given + size;
                    if (!e.at_most(Dim(0), value)) return Dim(0);
                    return e.at_most(value, size) ? value : size;
                };
                Dim start = bound(item.start, Dim(0)), stop = bound(item.stop, size);
                if (!e.at_most(start, stop)) stop = start;
                bool whole = start == Dim(0) && stop == size && item.step == Dim(1);
                if (!whole) plan.view = b.slice(plan.view, dim, start, stop, item.step);
                ++dim;
                ++source;
                break;
            }
            case Item::NewAxis: {
                typename E::Attrs attrs;
                attrs.dim = dim;
                plan.view = e.emit(Op::Unsqueeze, {plan.view}, attrs);
                ++dim;
                break;
            }
            case Item::Ellipsis:
                dim += rank - taken;
                source += rank - taken;
                break;
            case Item::Tensor: {
                std::vector<typename E::Value> indices = {item.tensor};
                if (is_mask(item)) {
                    const auto mask_shape = e.shape(item.tensor);
                    for (size_t d = 0; d < mask_shape.size(); ++d) {
                        Dim size = e.shape(plan.view)[static_cast<size_t>(dim) + d];
                        if (!e.same(mask_shape[d], size)) {
                            tensor::fail(tensor::ErrorKind::Index,
                                         "The shape of the mask at index {} does not match the shape of the indexed tensor at "
                                         "index {}: {} and {}",
                                         d, source + static_cast<int64_t>(d), e.text(mask_shape[d]), e.text(size));
                        }
                    }
                    plan.mask = true;
                    indices = e.nonzero(item.tensor);
                }
                for (const auto& index : indices) {
                    plan.indices.push_back(index);
                    plan.dims.push_back(dim++);
                    ++source;
                }
                break;
            }
        }
    }
    return plan;
}

template <class E>
typename E::Value read_index(E& emitter, typename E::Value x, std::span<const IndexItem<E>> items) {
    Builder<E> b(emitter);
    IndexPlan<E> plan = plan_index(b, x, items);
    if (plan.indices.empty()) return plan.view;
    typename E::Attrs attrs;
    attrs.dims = plan.dims;
    std::vector<typename E::Value> operands = {plan.view};
    operands.insert(operands.end(), plan.indices.begin(), plan.indices.end());
    return emitter.emit(Op::IndexTake, operands, attrs);
}

// x[items] = value, in place and on the tape.
void write_index(Context& context, const Tensor& x, std::span<const IndexItem<TensorEmit>> items, const Tensor& value);

}  // namespace talc::autograd
