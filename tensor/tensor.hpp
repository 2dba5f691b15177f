#pragma once
// The tensor: a cheap counted handle on metadata (dtype, sizes, strides, offset) over a shared storage. Views
// alias. Nothing here computes; operators are in ops.def and run through eager.hpp or, recorded for gradients,
// through autograd/.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/counted.hpp"
#include "tensor/dtype.hpp"
#include "tensor/inline_vec.hpp"
#include "tensor/layout.hpp"
#include "tensor/storage.hpp"

namespace talc::tensor {

// What autograd/ hangs on a tensor; this room only carries and frees it.
struct AutogradMeta {
    virtual ~AutogradMeta() = default;
};

class TensorImpl final : public Counted {
  public:
    TensorImpl(Ref<Storage> storage, DType dtype, Dims sizes, Dims strides, int64_t offset);

    Ref<Storage> storage;
    Dims sizes;
    Dims strides;
    int64_t offset = 0;  // in elements
    int64_t numel = 0;
    DType dtype;
    bool contiguous = false;
    bool requires_grad = false;
    bool weak = false;
    mutable std::atomic<const LayoutClass*> layout{nullptr};  // found when first asked for
    std::unique_ptr<AutogradMeta> autograd;
    void* object = nullptr;  // the language's object for it, while there is one (vm/tensor.hpp)
};

class Tensor {
  public:
    Tensor() = default;
    explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
    Tensor(Ref<Storage> storage, DType dtype, Dims sizes, Dims strides, int64_t offset);

    explicit operator bool() const { return static_cast<bool>(impl_); }
    TensorImpl* impl() const { return impl_.get(); }
    // Same tensor object (not: same values).
    bool is(const Tensor& other) const { return impl_ == other.impl_; }

    DType dtype() const { return impl_->dtype; }
    Device device() const { return impl_->storage->device(); }
    int64_t rank() const { return static_cast<int64_t>(impl_->sizes.size()); }
    const Dims& sizes() const { return impl_->sizes; }
    const Dims& strides() const { return impl_->strides; }
    int64_t size(int64_t dim) const { return impl_->sizes[static_cast<size_t>(dim)]; }
    int64_t stride(int64_t dim) const { return impl_->strides[static_cast<size_t>(dim)]; }
    int64_t offset() const { return impl_->offset; }  // in elements
    int64_t numel() const { return impl_->numel; }
    bool is_contiguous() const { return impl_->contiguous; }

    Storage& storage() const { return *impl_->storage; }
    const Ref<Storage>& storage_ref() const { return impl_->storage; }
    bool shares_storage(const Tensor& other) const { return impl_->storage == other.impl_->storage; }
    uint32_t version() const { return impl_->storage->version(); }

    // The first element; valid on the CPU only (elsewhere a device address).
    void* data() const {
        return static_cast<char*>(impl_->storage->data()) + impl_->offset * static_cast<int64_t>(size_of(impl_->dtype));
    }
    template <class T>
    T* data_as() const {
        return static_cast<T*>(data());
    }

    bool requires_grad() const { return impl_->requires_grad; }
    void set_requires_grad(bool value) {
        if (impl_->requires_grad != value) {
            impl_->requires_grad = value;
            impl_->layout.store(nullptr, std::memory_order_relaxed);
        }
    }
    AutogradMeta* autograd_meta() const { return impl_->autograd.get(); }
    void set_autograd_meta(std::unique_ptr<AutogradMeta> meta) { impl_->autograd = std::move(meta); }

    // A number of the language, carried as a 0-dim tensor; see Scalar.
    bool is_weak() const { return impl_->weak; }
    OperandType operand_type() const { return {dtype(), rank() == 0, impl_->weak}; }

    const LayoutClass* layout_class() const {
        const LayoutClass* known = impl_->layout.load(std::memory_order_relaxed);
        return known ? known : find_layout_class();
    }

    // A tensor on the same storage. Not recorded by autograd.
    Tensor alias(Dims sizes, Dims strides, int64_t offset) const {
        return Tensor(impl_->storage, impl_->dtype, std::move(sizes), std::move(strides), offset);
    }
    // The same view without gradient.
    Tensor detached() const { return alias(sizes(), strides(), offset()); }

  private:
    const LayoutClass* find_layout_class() const;

    Ref<TensorImpl> impl_;
};

using Tensors = std::span<const Tensor>;

}  // namespace talc::tensor
