#include "tensor/strided.hpp"

namespace talc::tensor {

Dims pointwise_strides(const Dims& shape, Tensors operands) {
    bool plain = true;
    for (const Tensor& operand : operands) {
        plain = plain && (operand.is_contiguous() || operand.numel() == 1);
    }
    if (plain || shape.size() < 2) return contiguous_strides(shape);
    std::vector<Dims> given;
    for (const Tensor& operand : operands) given.push_back(broadcast_strides(operand, shape));

    // PyTorch's TensorIterator: an insertion sort from the last dimension on, in which operands that are broadcast
    // along one of the two dimensions have no say.
    auto compare = [&](size_t a, size_t b) {
        for (const Dims& strides : given) {
            if (strides[a] == 0 || strides[b] == 0) continue;
            if (strides[a] != strides[b]) return strides[a] < strides[b] ? -1 : 1;
            if (shape[a] > shape[b]) return 1;
        }
        return 0;
    };
    InlineVec<size_t, 8> order;
    for (size_t d = shape.size(); d-- > 0;) order.push_back(d);
    for (size_t i = 1; i < order.size(); ++i) {
        size_t moving = i;
        for (size_t k = i; k-- > 0;) {
            int c = compare(order[k], order[moving]);
            if (c > 0) {
                std::swap(order[k], order[moving]);
                moving = k;
            } else if (c < 0) {
                break;
            }
        }
    }
    Dims strides(shape.size());
    int64_t stride = 1;
    for (size_t d : order) {
        strides[d] = stride;
        stride *= std::max<int64_t>(shape[d], 1);
    }
    return strides;
}

}  // namespace talc::tensor
