#include "tensor/tensor.hpp"

#include "tensor/error.hpp"

namespace talc::tensor {

namespace {
constexpr size_t kMaxRank = 64;  // as PyTorch
}

TensorImpl::TensorImpl(Ref<Storage> storage_, DType dtype_, Dims sizes_, Dims strides_, int64_t offset_)
    : storage(std::move(storage_)),
      sizes(std::move(sizes_)),
      strides(std::move(strides_)),
      offset(offset_),
      numel(element_count(sizes)),
      dtype(dtype_),
      contiguous(is_contiguous(sizes, strides)) {
    if (sizes.size() > kMaxRank) fail("a tensor has at most {} dimensions, but {} are asked for", kMaxRank, sizes.size());
}

Tensor::Tensor(Ref<Storage> storage, DType dtype, Dims sizes, Dims strides, int64_t offset)
    : impl_(make_counted<TensorImpl>(std::move(storage), dtype, std::move(sizes), std::move(strides), offset)) {}

const LayoutClass* Tensor::find_layout_class() const {
    const LayoutClass* found =
        intern_layout(dtype(), device(), sizes(), strides(), impl_->requires_grad, impl_->weak);
    impl_->layout.store(found, std::memory_order_relaxed);
    return found;
}

}  // namespace talc::tensor
