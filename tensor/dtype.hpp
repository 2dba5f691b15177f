#pragma once
// Element types, numbers of the language as operands, and PyTorch's rules for what a mixture of them gives.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/half.hpp"

namespace talc::tensor {

enum class DType : uint8_t {
#define TALC_DTYPE(id, name, type, category, word) id,
#include "tensor/dtypes.def"
#undef TALC_DTYPE
};
inline constexpr int kDTypeCount = 0
#define TALC_DTYPE(id, name, type, category, word) +1
#include "tensor/dtypes.def"
#undef TALC_DTYPE
    ;

// Ordered: a higher category wins over a lower one whatever the ranks.
enum class Category : uint8_t { Bool, Int, Float };

struct DTypeInfo {
    std::string_view name;  // as the language prints it: float32
    std::string_view word;  // as PyTorch's messages name it: Float
    uint8_t bytes;
    Category category;
};
const DTypeInfo& info(DType dtype);

inline std::string_view name_of(DType dtype) { return info(dtype).name; }
inline size_t size_of(DType dtype) { return info(dtype).bytes; }
inline Category category_of(DType dtype) { return info(dtype).category; }
inline bool is_float(DType dtype) { return category_of(dtype) == Category::Float; }
inline bool is_integral(DType dtype) { return category_of(dtype) != Category::Float; }  // bool too
std::optional<DType> dtype_named(std::string_view name);

template <class T>
struct DTypeOf;
#define TALC_DTYPE(id, name, type, category, word)       \
    template <>                                          \
    struct DTypeOf<type> {                               \
        static constexpr DType value = DType::id;        \
    };
#include "tensor/dtypes.def"
#undef TALC_DTYPE
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

// Calls f with a value of the element type: visit_dtype(d, [&](auto zero) { using T = decltype(zero); ... }).
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
    switch (dtype) {
#define TALC_DTYPE(id, name, type, category, word) \
    case DType::id:                                \
        return f(type{});
#include "tensor/dtypes.def"
#undef TALC_DTYPE
    }
    __builtin_unreachable();
}

// A number of the language: it takes part in promotion by its category only.
struct Scalar {
    Category category = Category::Int;
    union {
        int64_t i = 0;  // Bool (0 or 1) and Int
        double f;       // Float
    };

    Scalar() = default;
    Scalar(bool value) : category(Category::Bool), i(value) {}
    Scalar(int value) : i(value) {}
    Scalar(int64_t value) : i(value) {}
    Scalar(double value) : category(Category::Float), f(value) {}

    double to_double() const { return category == Category::Float ? f : static_cast<double>(i); }
    int64_t to_int() const { return category == Category::Float ? static_cast<int64_t>(f) : i; }
    // The dtype of the 0-dim tensor that carries it: bool, int64 or float64.
    DType carrier() const {
        return category == Category::Bool  ? DType::Bool
               : category == Category::Int ? DType::Int64
                                           : DType::Float64;
    }
    // Same number of the same kind, bit by bit (so that -0.0 is not 0.0 and nan is nan).
    friend bool operator==(const Scalar& a, const Scalar& b) { return a.category == b.category && a.i == b.i; }
};

// The dtype that holds both.
DType promote(DType a, DType b);

// One operand as promotion sees it.
struct OperandType {
    DType dtype;
    bool zero_dim = false;  // a tensor without dimensions gives way to one with, inside a category
    bool weak = false;      // a number of the language gives way to both
};

// PyTorch's result_type: dimensioned tensors, then 0-dim tensors, then numbers; a later group counts only when
// its category is higher. A weak float stands for `default_float`.
class ResultType {
  public:
    explicit ResultType(DType default_float) : default_float_(default_float) {}
    void add(OperandType operand);
    DType result() const;

  private:
    DType default_float_;
    std::optional<DType> dimensioned_, zero_dim_, weak_;
};

}  // namespace talc::tensor
