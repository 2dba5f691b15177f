#include "tensor/factory.hpp"

#include <cmath>

#include "tensor/convert.hpp"
#include "tensor/error.hpp"
#include "tensor/transfer.hpp"

namespace talc::tensor {

Tensor empty_strided(Context& context, Dims sizes, Dims strides, DType dtype, Device device) {
    for (int64_t size : sizes) {
        if (size < 0) fail("Trying to create tensor with negative dimension {}: {}", size, bracketed(sizes));
    }
    int64_t count = element_count(sizes);
    size_t bytes;
    if (__builtin_mul_overflow(static_cast<size_t>(count), size_of(dtype), &bytes)) {
        fail(ErrorKind::Memory, "a tensor of shape {} and dtype {} is too large", bracketed(sizes), name_of(dtype));
    }
    Ref<Storage> storage = Storage::allocate(bytes, device, context.memory(device), context.meter);
    return Tensor(std::move(storage), dtype, std::move(sizes), std::move(strides), 0);
}

Tensor empty(Context& context, const Dims& sizes, DType dtype, Device device) {
    return empty_strided(context, sizes, contiguous_strides(sizes), dtype, device);
}

namespace {

void store(Scalar value, DType dtype, void* to) {
    if (value.category == Category::Float) {
        convert_row(DType::Float64, &value.f, 0, dtype, to, 1, 1);
    } else {
        convert_row(DType::Int64, &value.i, 0, dtype, to, 1, 1);
    }
}

Scalar load(const Tensor& tensor, int64_t element_offset) {
    const char* at = static_cast<const char*>(tensor.storage().data()) +
                     (tensor.offset() + element_offset) * static_cast<int64_t>(size_of(tensor.dtype()));
    char fetched[8];
    if (tensor.device().type != DeviceType::Cpu) {
        tensor.storage().memory()->copy_to_host(fetched, at, size_of(tensor.dtype()));
        at = fetched;
    }
    if (is_float(tensor.dtype())) {
        double value;
        convert_row(tensor.dtype(), at, 0, DType::Float64, &value, 1, 1);
        return Scalar(value);
    }
    int64_t value;
    convert_row(tensor.dtype(), at, 0, DType::Int64, &value, 1, 1);
    return tensor.dtype() == DType::Bool ? Scalar(value != 0) : Scalar(value);
}

int64_t offset_of(const Tensor& tensor, int64_t logical) {
    int64_t offset = 0;
    for (int64_t d = tensor.rank(); d-- > 0;) {
        offset += logical % tensor.size(d) * tensor.stride(d);
        logical /= tensor.size(d);
    }
    return offset;
}

template <class T>
std::vector<T> all_values(const Tensor& given) {
    Tensor tensor = on_host(given);
    std::vector<T> values(static_cast<size_t>(tensor.numel()));
    for (int64_t i = 0; i < tensor.numel(); ++i) {
        Scalar value = load(tensor, offset_of(tensor, i));
        values[static_cast<size_t>(i)] = std::is_floating_point_v<T> ? static_cast<T>(value.to_double())
                                                                     : static_cast<T>(value.to_int());
    }
    return values;
}

template <class T>
Tensor from_row_major(Context& context, std::span<const T> values, const Dims& sizes, DType dtype) {
    Tensor tensor = empty(context, sizes, dtype);
    if (static_cast<int64_t>(values.size()) != tensor.numel()) {
        fail(ErrorKind::Value, "{} values for a tensor of shape {}", values.size(), bracketed(sizes));
    }
    if (!values.empty()) convert_row(dtype_of<T>, values.data(), 1, dtype, tensor.data(), 1, tensor.numel());
    return tensor;
}

}  // namespace

Tensor scalar_tensor(Context& context, Scalar value, DType dtype, Device device) {
    Tensor tensor = empty(context, {}, dtype, device);
    if (device.type == DeviceType::Cpu) {
        store(value, dtype, tensor.data());
    } else {
        char bytes[8];
        store(value, dtype, bytes);
        context.memory(device).copy_from_host(tensor.data(), bytes, size_of(dtype));
    }
    return tensor;
}

Tensor number(Context& context, Scalar value) {
    Tensor tensor = scalar_tensor(context, value, value.carrier());
    tensor.impl()->weak = true;
    return tensor;
}

Tensor from_values(Context& context, std::span<const double> values, const Dims& sizes, DType dtype) {
    return from_row_major(context, values, sizes, dtype);
}

Tensor from_values(Context& context, std::span<const int64_t> values, const Dims& sizes, DType dtype) {
    return from_row_major(context, values, sizes, dtype);
}

Scalar element_at(const Tensor& tensor, std::span<const int64_t> index) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * tensor.strides()[d];
    return load(tensor, offset);
}

Scalar element_at(const Tensor& tensor, int64_t logical) { return load(tensor, offset_of(tensor, logical)); }

Scalar item(const Tensor& tensor) {
    if (tensor.numel() != 1) fail("a Tensor with {} elements cannot be converted to Scalar", tensor.numel());
    return load(tensor, 0);
}

std::vector<double> to_doubles(const Tensor& tensor) { return all_values<double>(tensor); }
std::vector<int64_t> to_ints(const Tensor& tensor) { return all_values<int64_t>(tensor); }

std::vector<Tensor> nonzero(Context& context, const Tensor& given) {
    Tensor tensor = on_host(given);
    std::vector<std::vector<int64_t>> found(static_cast<size_t>(tensor.rank()));
    int64_t count = 0;
    for (int64_t i = 0; i < tensor.numel(); ++i) {
        if (element_at(tensor, i).to_double() == 0) continue;
        ++count;
        int64_t rest = i;
        for (int64_t d = tensor.rank(); d-- > 0;) {
            found[static_cast<size_t>(d)].push_back(rest % tensor.size(d));
            rest /= tensor.size(d);
        }
    }
    std::vector<Tensor> coordinates;
    for (const auto& values : found) {
        coordinates.push_back(to_device(context, from_values(context, values, {count}), given.device()));
    }
    return coordinates;
}

bool equal(const Tensor& given_a, const Tensor& given_b) {
    if (!(given_a.sizes() == given_b.sizes())) return false;
    Tensor a = on_host(given_a), b = on_host(given_b);
    for (int64_t i = 0; i < a.numel(); ++i) {
        Scalar x = element_at(a, i), y = element_at(b, i);
        bool same = x.category != Category::Float && y.category != Category::Float ? x.i == y.i
                                                                                   : x.to_double() == y.to_double();
        if (!same) return false;
    }
    return true;
}

bool allclose(const Tensor& given_a, const Tensor& given_b, double rtol, double atol, bool equal_nan) {
    if (!(given_a.sizes() == given_b.sizes())) return false;
    Tensor a = on_host(given_a), b = on_host(given_b);
    for (int64_t i = 0; i < a.numel(); ++i) {
        double x = element_at(a, i).to_double(), y = element_at(b, i).to_double();
        if (x == y) continue;
        if (equal_nan && std::isnan(x) && std::isnan(y)) continue;
        if (!(std::fabs(x - y) <= atol + rtol * std::fabs(y)) || std::isinf(x) || std::isinf(y)) return false;
    }
    return true;
}

}  // namespace talc::tensor
