// Included once for each type: pointwise_loops<T>(op).
#include <array>
#include <cmath>
#include <numbers>

#include "tensor/math.hpp"
#include "tensor/pointwise_loops.hpp"
#include "tensor/scalar_math.hpp"
#include "tensor/vector_sqrt.hpp"

namespace talc::tensor {

namespace {

enum class Domain { Any, Float, Whole };

template <class T>
constexpr bool serves(Domain domain) {
    return domain == Domain::Any || (domain == Domain::Whole) == std::is_integral_v<T>;
}

#define TALC_LOOP(id, Out, N, ...)                                                              \
    template <class T>                                                                          \
    Fault loop_##id(const void* const* in, void* out_data, int64_t n, const Attrs&) {           \
        Out* out = static_cast<Out*>(out_data);                                                 \
        const T* a_data = static_cast<const T*>(in[0]);                                         \
        [[maybe_unused]] const T* b_data = static_cast<const T*>(in[N - 1]);                    \
        for (int64_t i = 0; i < n; ++i) {                                                       \
            [[maybe_unused]] T x = a_data[i], a = x;                                            \
            [[maybe_unused]] T b = b_data[i];                                                   \
            out[i] = (__VA_ARGS__);                                                             \
        }                                                                                       \
        return Fault::None;                                                                     \
    }
#define TALC_UNARY(id, domain, ...) TALC_LOOP(id, T, 1, __VA_ARGS__)
#define TALC_BINARY(id, domain, ...) TALC_LOOP(id, T, 2, __VA_ARGS__)
#define TALC_TEST1(id, ...) TALC_LOOP(id, bool, 1, __VA_ARGS__)
#define TALC_TEST2(id, ...) TALC_LOOP(id, bool, 2, __VA_ARGS__)
#include "tensor/pointwise.def"
#undef TALC_UNARY
#undef TALC_BINARY
#undef TALC_TEST1
#undef TALC_TEST2
#undef TALC_LOOP

template <class T>
Fault loop_Where(const void* const* in, void* out_data, int64_t n, const Attrs&) {
    const bool* condition = static_cast<const bool*>(in[0]);
    const T* a = static_cast<const T*>(in[1]);
    const T* b = static_cast<const T*>(in[2]);
    T* out = static_cast<T*>(out_data);
    for (int64_t i = 0; i < n; ++i) out[i] = condition[i] ? a[i] : b[i];
    return Fault::None;
}

template <class T>
Fault loop_Gelu(const void* const* in, void* out_data, int64_t n, const Attrs& attrs) {
    const T* x = static_cast<const T*>(in[0]);
    T* out = static_cast<T*>(out_data);
    if (attrs.mode) {
        constexpr T kScale = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
        for (int64_t i = 0; i < n; ++i) {
            T inner = kScale * (x[i] + T(0.044715) * x[i] * x[i] * x[i]);
            out[i] = T(0.5) * x[i] * (T(1) + math::tanh(inner));
        }
    } else {
        constexpr T kInverseRoot2 = T(1) / std::numbers::sqrt2_v<T>;
        for (int64_t i = 0; i < n; ++i) out[i] = T(0.5) * x[i] * (T(1) + math::erf(x[i] * kInverseRoot2));
    }
    return Fault::None;
}

template <class T, bool kReciprocal>
Fault loop_sqrt(const void* const* in, void* out_data, int64_t n, const Attrs&) {
    T* out = static_cast<T*>(out_data);
    sqrt_run(static_cast<const T*>(in[0]), out, n);
    if constexpr (kReciprocal) {
        for (int64_t i = 0; i < n; ++i) out[i] = T(1) / out[i];
    }
    return Fault::None;
}

// Large arguments need more digits of pi than the fast loop has: the C library does these.
template <class T, int kQuarter>
Fault loop_trig(const void* const* in, void* out_data, int64_t n, const Attrs&) {
    const T* x = static_cast<const T*>(in[0]);
    T* out = static_cast<T*>(out_data);
    if constexpr (std::is_same_v<T, float>) {
        bool large = false;
        for (int64_t i = 0; i < n; ++i) large |= !(std::fabs(x[i]) <= math::kTrigLimit);
        if (!large) {
            for (int64_t i = 0; i < n; ++i) out[i] = math::sin_or_cos(x[i], kQuarter);
            return Fault::None;
        }
    }
    for (int64_t i = 0; i < n; ++i) out[i] = kQuarter ? std::cos(x[i]) : std::sin(x[i]);
    return Fault::None;
}

template <class T, T (*kFunction)(T, T)>
Fault loop_divide(const void* const* in, void* out_data, int64_t n, const Attrs&) {
    const T* a = static_cast<const T*>(in[0]);
    const T* b = static_cast<const T*>(in[1]);
    T* out = static_cast<T*>(out_data);
    for (int64_t i = 0; i < n; ++i) {
        if (std::is_integral_v<T> && b[i] == T(0)) return Fault::ZeroDivision;
        out[i] = kFunction(a[i], b[i]);
    }
    return Fault::None;
}

// One exponent for the whole run is the usual case, and a small one.
template <class T>
Fault loop_Pow(const void* const* in, void* out_data, int64_t n, const Attrs&) {
    const T* a = static_cast<const T*>(in[0]);
    const T* b = static_cast<const T*>(in[1]);
    T* out = static_cast<T*>(out_data);
    T first = n ? b[0] : T(1);
    bool uniform = true;
    for (int64_t i = 0; i < n; ++i) uniform &= b[i] == first;
    auto each = [&](auto f) {
        for (int64_t i = 0; i < n; ++i) out[i] = f(a[i]);
    };
    if (uniform && first == T(2)) {
        each([](T x) { return times(x, x); });
    } else if (uniform && first == T(3)) {
        each([](T x) { return times(times(x, x), x); });
    } else if (std::is_floating_point_v<T> && uniform && first == T(0.5)) {
        // pow gives +0 and +inf where sqrt gives -0 and nan.
        each([](T x) { return std::isinf(x) ? std::fabs(x) : std::sqrt(x + T(0)); });
    } else {
        for (int64_t i = 0; i < n; ++i) out[i] = power(a[i], b[i]);
    }
    return Fault::None;
}

template <class T>
constexpr std::array<PointwiseLoop, kOpCount> make_loops() {
    std::array<PointwiseLoop, kOpCount> loops{};
    auto set = [&](Op op, PointwiseLoop loop) { loops[static_cast<size_t>(op)] = loop; };
#define TALC_UNARY(id, domain, ...) \
    if constexpr (serves<T>(Domain::domain)) set(Op::id, loop_##id<T>);
#define TALC_BINARY(id, domain, ...) \
    if constexpr (serves<T>(Domain::domain)) set(Op::id, loop_##id<T>);
#define TALC_TEST1(id, ...) set(Op::id, loop_##id<T>);
#define TALC_TEST2(id, ...) set(Op::id, loop_##id<T>);
#include "tensor/pointwise.def"
#undef TALC_UNARY
#undef TALC_BINARY
#undef TALC_TEST1
#undef TALC_TEST2
    set(Op::Where, loop_Where<T>);
    set(Op::Pow, loop_Pow<T>);
    set(Op::FloorDiv, loop_divide<T, floor_divided<T>>);
    set(Op::Remainder, loop_divide<T, remainder_of<T>>);
    if constexpr (std::is_floating_point_v<T>) {
        set(Op::Gelu, loop_Gelu<T>);
        set(Op::Sqrt, loop_sqrt<T, false>);
        set(Op::Rsqrt, loop_sqrt<T, true>);
        set(Op::Sin, loop_trig<T, 0>);
        set(Op::Cos, loop_trig<T, 1>);
    }
    return loops;
}

}  // namespace

}  // namespace talc::tensor
