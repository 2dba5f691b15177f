#include "tensor/dtype.hpp"

#include <algorithm>
#include <array>

namespace talc::tensor {

namespace {

constexpr std::array<DTypeInfo, kDTypeCount> kInfos = {{
#define TALC_DTYPE(id, name, type, category, word) {#name, #word, sizeof(type), Category::category},
#include "tensor/dtypes.def"
#undef TALC_DTYPE
}};

std::optional<DType> promote_known(std::optional<DType> a, std::optional<DType> b) {
    if (!a) return b;
    if (!b) return a;
    return promote(*a, *b);
}

// `lower` counts against `higher` only by its category.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
    if (higher && is_float(*higher)) return higher;
    if ((higher && *higher == DType::Bool) || (lower && is_float(*lower))) return promote_known(higher, lower);
    return higher ? higher : lower;
}

}  // namespace

const DTypeInfo& info(DType dtype) { return kInfos[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_named(std::string_view name) {
    for (int i = 0; i < kDTypeCount; ++i) {
        if (kInfos[i].name == name) return static_cast<DType>(i);
    }
    return std::nullopt;
}

DType promote(DType a, DType b) {
    if (category_of(a) != category_of(b)) return category_of(a) > category_of(b) ? a : b;
    auto [low, high] = std::minmax(a, b);
    if (low == DType::UInt8 && high == DType::Int8) return DType::Int16;
    if (low == DType::Float16 && high == DType::BFloat16) return DType::Float32;
    return high;
}

void ResultType::add(OperandType operand) {
    if (operand.weak) {
        DType dtype = is_float(operand.dtype) ? default_float_ : operand.dtype;
        weak_ = promote_known(weak_, dtype);
    } else if (operand.zero_dim) {
        zero_dim_ = promote_known(zero_dim_, operand.dtype);
    } else {
        dimensioned_ = promote_known(dimensioned_, operand.dtype);
    }
}

DType ResultType::result() const {
    return combine(dimensioned_, combine(zero_dim_, weak_)).value_or(default_float_);
}

}  // namespace talc::tensor
