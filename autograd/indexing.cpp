#include "autograd/indexing.hpp"

namespace talc::autograd {

namespace {

// A mask over the leading dims of the view and a value that is the same everywhere: a choice, not a scatter.
bool fill_masked(Context& context, const Tensor& x, std::span<const IndexItem<TensorEmit>> items, const Tensor& value) {
    using Item = IndexItem<TensorEmit>;
    if (items.size() != 1 || items[0].kind != Item::Tensor || value.numel() != 1 || value.rank() > 1) return false;
    Tensor mask = items[0].tensor;
    if (mask.dtype() != tensor::DType::Bool || mask.rank() > x.rank()) return false;
    for (int64_t d = 0; d < mask.rank(); ++d) {
        if (mask.size(d) != x.size(d)) return false;  // the general way says what is wrong
    }
    TensorEmit emitter(context);
    Builder<TensorEmit> b(emitter);
    tensor::Dims shape = mask.sizes();
    while (static_cast<int64_t>(shape.size()) < x.rank()) shape.push_back(1);
    Tensor scalar = value.rank() ? b.reshape(value, {}) : value;
    Tensor operands[] = {b.reshape(mask, shape), b.cast(scalar, x.dtype()), x};
    apply_into(context, Op::Where, operands, {}, x);
    return true;
}

}  // namespace

void write_index(Context& context, const Tensor& x, std::span<const IndexItem<TensorEmit>> items, const Tensor& value) {
    if (fill_masked(context, x, items, value)) return;
    TensorEmit emitter(context);
    Builder<TensorEmit> b(emitter);
    IndexPlan<TensorEmit> plan = plan_index(b, x, items);
    if (plan.indices.empty()) return copy_into(context, value, plan.view);
    tensor::Attrs attrs;
    attrs.dims = plan.dims;
    std::vector<Tensor> operands = {plan.view, b.cast(value, x.dtype())};
    operands.insert(operands.end(), plan.indices.begin(), plan.indices.end());
    apply_into(context, Op::IndexPut, operands, attrs, plan.view);
}

}  // namespace talc::autograd
