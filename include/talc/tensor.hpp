#pragma once
// Tensors over memory that host and script share, without a copy, in both directions:
//
//     std::vector<float> weights(6);
//     engine.set("w", talc::tensor_over(weights.data(), {2, 3}));        // the script reads and writes `weights`
//     engine.run_string("w *= 2");
//
//     talc::TensorView y = engine.eval("w.sum(dim=0)").as<talc::TensorView>();
//     const float* sums = y.data_as<float>();                           // the script's own memory
//
// Who owns the memory: `owner` does, whatever it is, and everybody who uses the memory holds it. A tensor made from a view
// holds the view's owner until its last alias is gone, be it on another thread or when the engine ends. A view taken from
// a script's tensor owns that tensor's memory together with the script; it stays valid after the engine is gone. A view
// with an empty owner is a promise that the memory outlives all tensors over it.
//
// What the host writes is seen by the next operator of the script. Do not write while a script runs in another thread, nor
// between a forward pass and its backward pass: gradients would not notice.
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "talc/convert.hpp"

namespace talc {

enum class ElementType : uint8_t { Bool, UInt8, Int8, Int16, Int32, Int64, Float16, BFloat16, Float32, Float64 };

template <class T>
constexpr ElementType element_type() {
    using U = std::remove_const_t<T>;
    if constexpr (std::is_same_v<U, bool>) return ElementType::Bool;
    else if constexpr (std::is_same_v<U, float>) return ElementType::Float32;
    else if constexpr (std::is_same_v<U, double>) return ElementType::Float64;
    else if constexpr (std::is_same_v<U, uint8_t>) return ElementType::UInt8;
    else {
        static_assert(std::is_integral_v<U> && std::is_signed_v<U>, "not a type of tensor elements");
        constexpr ElementType kBySize[] = {ElementType::Int8, ElementType::Int16, ElementType::Int32, ElementType::Int64};
        return kBySize[sizeof(U) == 1 ? 0 : sizeof(U) == 2 ? 1 : sizeof(U) == 4 ? 2 : 3];
    }
}

// Elements in CPU memory.
struct TensorView {
    void* data = nullptr;              // the first element
    ElementType type = ElementType::Float32;
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;      // in elements; empty: row-major
    bool read_only = false;            // in-place operators on the tensor raise a RuntimeError
    std::shared_ptr<const void> owner; // keeps the memory alive

    int64_t count() const {
        int64_t product = 1;
        for (int64_t size : sizes) product *= size;
        return product;
    }
    // Null when the elements are of another type.
    template <class T>
    T* data_as() const {
        return type == element_type<T>() ? static_cast<T*>(data) : nullptr;
    }
};

template <class T>
TensorView tensor_over(T* data, std::vector<int64_t> sizes, std::shared_ptr<const void> owner = nullptr) {
    return {const_cast<std::remove_const_t<T>*>(data), element_type<T>(), std::move(sizes), {}, std::is_const_v<T>,
            std::move(owner)};
}

namespace detail {

TALC_API Raw make_tensor(EngineState* engine, const TensorView& view);   // owned
TALC_API TensorView view_of(EngineState* engine, Raw v);

template <>
struct Convert<TensorView> {
    static TensorView from(EngineState* engine, Raw v) { return view_of(engine, v); }
    static Raw to(EngineState* engine, const TensorView& view) { return make_tensor(engine, view); }
};

}  // namespace detail

}  // namespace talc
