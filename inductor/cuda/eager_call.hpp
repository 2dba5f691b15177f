#pragma once
// What the code of one operator depends on, and the code that is looked for by it.
#include <algorithm>
#include <bit>
#include <string>
#include <type_traits>

#include "graph/graph.hpp"
#include "inductor/cuda/eager.hpp"
#include "tensor/factory.hpp"

namespace talc::inductor::cuda {

// What tells one compiled operator from another, byte by byte.
class Key {
  public:
    template <class T>
    void add(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void add(const tensor::Scalar& value) {
        add(value.category);
        add(value.category == tensor::Category::Float ? std::bit_cast<int64_t>(value.f) : value.i);
    }
    void add(const tensor::Dims& dims) {
        add(dims.size());
        for (int64_t dim : dims) add(dim);
    }
    const std::string& text() const { return text_; }

  private:
    std::string text_;
};

inline bool same_elements(const tensor::Tensor& a, const tensor::Tensor& b) {
    return a.shares_storage(b) && a.offset() == b.offset() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
           a.dtype() == b.dtype();
}

// One operator with what its code depends on. Sizes count only by which of them are equal.
struct CudaOps::Call {
    tensor::Op op;
    tensor::Tensors inputs;
    const tensor::Attrs& attrs;
    tensor::DType default_float;
    const tensor::Tensor* target;  // null: fresh memory
    tensor::Dims order;            // of fresh memory
    std::string key;

    Call(const tensor::Context& context, tensor::Op op, tensor::Tensors inputs, const tensor::Attrs& attrs,
         const tensor::Tensor* target, tensor::Dims order)
        : op(op), inputs(inputs), attrs(attrs), default_float(context.default_float), target(target), order(std::move(order)) {
        Key k;
        k.add(op);
        k.add(default_float);
        k.add(attrs.sizes);
        k.add(attrs.dims);
        k.add(attrs.dim);
        k.add(attrs.start);
        k.add(attrs.end);
        k.add(attrs.step);
        k.add(attrs.keepdim);
        k.add(attrs.mode);
        k.add(attrs.dtype ? static_cast<int>(*attrs.dtype) : -1);
        k.add(attrs.value);
        k.add(attrs.delta);
        k.add(this->order);
        tensor::Dims seen;
        auto add = [&](const tensor::Tensor& tensor) {
            k.add(tensor.layout_class());
            for (int64_t size : tensor.sizes()) {
                auto found = std::find(seen.begin(), seen.end(), size);
                k.add(static_cast<uint8_t>(found - seen.begin()));
                if (found == seen.end()) seen.push_back(size);
            }
        };
        for (const tensor::Tensor& input : inputs) {
            add(input);
            k.add(target && same_elements(input, *target));
            if (is_constant(input)) k.add(tensor::item(input));
        }
        if (target) add(*target);
        key = k.text();
    }
    // A number that decides what code is made.
    bool is_constant(const tensor::Tensor& input) const { return op == tensor::Op::Pow && input.is_weak(); }
};

// An operator that stores at computed places: its code gives those, as numbers of rows.
bool stores_at_places(tensor::Op op);
graph::Value places_of(graph::Graph& graph, tensor::Op op, std::span<const graph::Value> operands, const tensor::Attrs& attrs);

}  // namespace talc::inductor::cuda
