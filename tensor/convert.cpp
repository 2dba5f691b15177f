#include "tensor/convert.hpp"

#include <array>
#include <cstring>

namespace talc::tensor {

namespace {

using RowFunction = void (*)(const void*, int64_t, void*, int64_t, int64_t);

template <class From, class To>
void row(const void* from_data, int64_t from_stride, void* to_data, int64_t to_stride, int64_t n) {
    const From* from = static_cast<const From*>(from_data);
    To* to = static_cast<To*>(to_data);
    if (from_stride == 1 && to_stride == 1) {
        if constexpr (std::is_same_v<From, To>) {
            std::memmove(to, from, static_cast<size_t>(n) * sizeof(To));
        } else {
            for (int64_t i = 0; i < n; ++i) to[i] = convert<To>(from[i]);
        }
    } else if (from_stride == 0 && to_stride == 1) {
        To value = convert<To>(from[0]);
        for (int64_t i = 0; i < n; ++i) to[i] = value;
    } else {
        for (int64_t i = 0; i < n; ++i) to[i * to_stride] = convert<To>(from[i * from_stride]);
    }
}

template <class From>
constexpr std::array<RowFunction, kDTypeCount> rows_from() {
    return {
#define TALC_DTYPE(id, name, type, category, word) row<From, type>,
#include "tensor/dtypes.def"
#undef TALC_DTYPE
    };
}

constexpr std::array<std::array<RowFunction, kDTypeCount>, kDTypeCount> kRows = {{
#define TALC_DTYPE(id, name, type, category, word) rows_from<type>(),
#include "tensor/dtypes.def"
#undef TALC_DTYPE
}};

}  // namespace

void convert_row(DType from_dtype, const void* from, int64_t from_stride, DType to_dtype, void* to,
                 int64_t to_stride, int64_t n) {
    kRows[static_cast<size_t>(from_dtype)][static_cast<size_t>(to_dtype)](from, from_stride, to, to_stride, n);
}

}  // namespace talc::tensor
