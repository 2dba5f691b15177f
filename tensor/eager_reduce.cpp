// Reductions. Rows are folded in many lanes at a time; float sums are collected in double between runs, so that
// long sums keep their digits.
#include "tensor/vectorize.hpp"

#include <array>
#include <limits>

#include "tensor/convert.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "tensor/kernels.hpp"
#include "tensor/scalar_math.hpp"
#include "tensor/strided.hpp"

namespace talc::tensor {

namespace {

constexpr int64_t kRun = 512;
constexpr size_t kLanes = 16;
constexpr int64_t kParallelGrain = 16384;

// A fold over T: `Wide` is what runs are collected in.
template <class T>
struct SumFold {
    using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
    static T start() { return T(0); }
    template <class U>
    static U join(U a, U b) {
        return plus(a, b);
    }
};
template <class T>
struct ProdFold {
    using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
    static T start() { return T(1); }
    template <class U>
    static U join(U a, U b) {
        return times(a, b);
    }
};
template <class T>
struct MaxFold {
    using Wide = T;
    static T start() {
        return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
    }
    static T join(T a, T b) { return larger(a, b); }
};
template <class T>
struct MinFold {
    using Wide = T;
    static T start() {
        return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
    }
    static T join(T a, T b) { return smaller(a, b); }
};
template <class T>
struct AnyFold {
    using Wide = T;
    static T start() { return T(0); }
    static T join(T a, T b) { return a != T(0) || b != T(0) ? T(1) : T(0); }
};
template <class T>
struct AllFold {
    using Wide = T;
    static T start() { return T(1); }
    static T join(T a, T b) { return a != T(0) && b != T(0) ? T(1) : T(0); }
};

// The loops of a reduction: over what stays (operand 0: result, 1: operand) and over what is folded.
struct Plan {
    LoopNest<2> kept;
    LoopNest<1> folded;
    int64_t count;  // elements folded into each result

    static Plan make(const Tensor& x, const Dims& dims, const Tensor& result, bool keepdim) {
        Dims kept_sizes, kept_strides, out_strides, folded_sizes, folded_strides;
        size_t out_dim = 0;
        for (size_t d = 0; d < x.sizes().size(); ++d) {
            bool gone = dims.empty() || std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
            if (gone) {
                folded_sizes.push_back(x.sizes()[d]);
                folded_strides.push_back(x.strides()[d]);
                out_dim += keepdim;
            } else {
                kept_sizes.push_back(x.sizes()[d]);
                kept_strides.push_back(x.strides()[d]);
                out_strides.push_back(result.strides()[out_dim++]);
            }
        }
        int64_t count = element_count(folded_sizes);
        return {LoopNest<2>(kept_sizes, {out_strides, kept_strides}), LoopNest<1>(folded_sizes, {folded_strides}), count};
    }
};

// The extreme of a run, in vectors; nan is looked for on the side, which leaves plain comparisons for the lanes.
template <class T, bool kMax>
T extreme_of_run(const T* data, int64_t n) {
    constexpr int64_t kWidth = 16 / sizeof(T), kVectors = 4, kStep = kWidth * kVectors;
    typedef T Vector __attribute__((vector_size(16)));
    typedef T Loose __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));
    T best = kMax ? MaxFold<T>::start() : MinFold<T>::start();
    int64_t i = 0;
    if (n >= kStep) {
        Vector lanes[kVectors];
        auto nan = *reinterpret_cast<const Loose*>(data) != *reinterpret_cast<const Loose*>(data);
        for (Vector& lane : lanes) lane = Vector{} + best;
        for (; i + kStep <= n; i += kStep) {
            for (int64_t v = 0; v < kVectors; ++v) {
                Vector x = *reinterpret_cast<const Loose*>(data + i + v * kWidth);
                lanes[v] = (kMax ? x > lanes[v] : x < lanes[v]) ? x : lanes[v];
                nan |= x != x;
            }
        }
        for (int64_t l = 0; l < kWidth; ++l) {
            for (const Vector& lane : lanes) best = kMax ? larger(best, lane[l]) : smaller(best, lane[l]);
            if (nan[l]) return std::numeric_limits<T>::quiet_NaN();
        }
    }
    for (; i < n; ++i) best = kMax ? larger(best, data[i]) : smaller(best, data[i]);
    return best;
}

template <class T, class Fold>
typename Fold::Wide fold_run(const T* data, int64_t n) {
    if constexpr (std::is_same_v<Fold, MaxFold<T>> || std::is_same_v<Fold, MinFold<T>>) {
        return extreme_of_run<T, std::is_same_v<Fold, MaxFold<T>>>(data, n);
    }
    T lanes[kLanes];
    std::fill(lanes, lanes + kLanes, Fold::start());
    int64_t i = 0;
    for (; i + static_cast<int64_t>(kLanes) <= n; i += kLanes) {
        for (size_t l = 0; l < kLanes; ++l) lanes[l] = Fold::join(lanes[l], data[i + static_cast<int64_t>(l)]);
    }
    for (size_t l = 0; i < n; ++i, ++l) lanes[l] = Fold::join(lanes[l], data[i]);
    using Wide = typename Fold::Wide;
    Wide total = Wide(Fold::start());
    for (T lane : lanes) total = Fold::join(total, Wide(lane));
    return total;
}

struct Target {
    const Tensor& x;
    const Tensor& result;
    double divisor;  // 1, or the count for a mean
};

template <class T, class Wide>
void store(const Target& target, int64_t offset, const Wide* totals, int64_t stride, int64_t n) {
    char* to = target.result.data_as<char>() + offset * static_cast<int64_t>(size_of(target.result.dtype()));
    if (target.divisor != 1) {
        double quotients[kRun];
        for (int64_t i = 0; i < n; ++i) quotients[i] = static_cast<double>(totals[i]) / target.divisor;
        convert_row(DType::Float64, quotients, 1, target.result.dtype(), to, stride, n);
    } else {
        convert_row(dtype_of<Wide>, totals, 1, target.result.dtype(), to, stride, n);
    }
}

// Each result by itself: for folded dims that lie densely.
template <class T, class Fold>
void fold_rows(Context& context, const Plan& plan, const Target& target) {
    const char* data = target.x.template data_as<char>();
    const int64_t bytes = static_cast<int64_t>(size_of(target.x.dtype()));
    const bool direct = target.x.dtype() == dtype_of<T>;
    const int64_t stride = plan.folded.strides[0][0], inner = plan.folded.inner(), rows = plan.folded.rows();
    auto one = [&](int64_t from, int64_t to_offset, int64_t n) {
        using Wide = typename Fold::Wide;
        Wide totals[1] = {Wide(Fold::start())};
        alignas(64) T buffer[kRun];
        if (n > 0) {
            plan.folded.for_rows(0, rows, [&](const std::array<int64_t, 1>& at) {
                for (int64_t i = 0; i < inner; i += kRun) {
                    int64_t length = std::min(kRun, inner - i);
                    const char* run = data + (from + at[0] + i * stride) * bytes;
                    const T* values = reinterpret_cast<const T*>(run);
                    if (!direct || stride != 1) {
                        convert_row(target.x.dtype(), run, stride, dtype_of<T>, buffer, 1, length);
                        values = buffer;
                    }
                    totals[0] = Fold::join(totals[0], fold_run<T, Fold>(values, length));
                }
            });
        }
        store<T>(target, to_offset, totals, 1, 1);
    };
    int64_t kept_inner = plan.kept.inner(), kept_rows = plan.kept.rows();
    int64_t grain = std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, plan.count * kept_inner));
    parallel(context, kept_rows, grain, [&](int64_t begin, int64_t end) {
        plan.kept.for_rows(begin, end, [&](const std::array<int64_t, 2>& at) {
            for (int64_t i = 0; i < kept_inner; ++i) {
                one(at[1] + i * plan.kept.strides[1][0], at[0] + i * plan.kept.strides[0][0], plan.count);
            }
        });
    });
}

// A run of neighbouring results at a time: for kept dims that lie densely.
template <class T, class Fold>
void fold_columns(Context& context, const Plan& plan, const Target& target) {
    using Wide = typename Fold::Wide;
    const char* data = target.x.template data_as<char>();
    const int64_t bytes = static_cast<int64_t>(size_of(target.x.dtype()));
    const bool direct = target.x.dtype() == dtype_of<T>;
    const int64_t kept_inner = plan.kept.inner();
    const int64_t runs = (kept_inner + kRun - 1) / kRun;
    const int64_t folded_inner = plan.folded.inner(), folded_stride = plan.folded.strides[0][0];
    constexpr int64_t kFlush = 128;  // rows that are added in T before going to Wide
    auto one_run = [&](const std::array<int64_t, 2>& at, int64_t run) {
        int64_t first = run * kRun, n = std::min(kRun, kept_inner - first);
        Wide totals[kRun];
        alignas(64) T partial[kRun];
        alignas(64) T buffer[kRun];
        std::fill(totals, totals + n, Wide(Fold::start()));
        std::fill(partial, partial + n, Fold::start());
        int64_t pending = 0;
        auto flush = [&]() {
            for (int64_t i = 0; i < n; ++i) totals[i] = Fold::join(totals[i], Wide(partial[i]));
            std::fill(partial, partial + n, Fold::start());
            pending = 0;
        };
        plan.folded.for_rows(0, plan.folded.rows(), [&](const std::array<int64_t, 1>& row) {
            for (int64_t k = 0; k < folded_inner; ++k) {
                const char* from = data + (at[1] + row[0] + k * folded_stride + first) * bytes;
                const T* values = reinterpret_cast<const T*>(from);
                if (!direct) {
                    convert_row(target.x.dtype(), from, 1, dtype_of<T>, buffer, 1, n);
                    values = buffer;
                }
                for (int64_t i = 0; i < n; ++i) partial[i] = Fold::join(partial[i], values[i]);
                if (++pending == kFlush) flush();
            }
        });
        flush();
        store<T>(target, at[0] + first * plan.kept.strides[0][0], totals, plan.kept.strides[0][0], n);
    };
    parallel(context, plan.kept.rows() * runs, 1, [&](int64_t begin, int64_t end) {
        for (int64_t unit = begin; unit < end; ++unit) {
            plan.kept.for_rows(unit / runs, unit / runs + 1, [&](const auto& at) { one_run(at, unit % runs); });
        }
    });
}

template <class T, template <class> class Fold>
void fold(Context& context, const Plan& plan, const Target& target) {
    bool columns = plan.kept.strides[1][0] == 1 && plan.kept.inner() >= 8 && plan.folded.strides[0][0] != 1;
    if (columns) {
        fold_columns<T, Fold<T>>(context, plan, target);
    } else {
        fold_rows<T, Fold<T>>(context, plan, target);
    }
}

template <template <class> class Fold>
void fold_dtype(Context& context, const Plan& plan, const Target& target, DType dtype) {
    if (dtype == DType::Float64) {
        fold<double, Fold>(context, plan, target);
    } else if (is_float(dtype)) {
        fold<float, Fold>(context, plan, target);
    } else {
        fold<int64_t, Fold>(context, plan, target);
    }
}

// The first extreme; a nan counts as the most extreme of all.
template <class T, bool kMax>
void find_extreme(const Plan& plan, const Tensor& x, Tensor* values, const Tensor& indices) {
    const int64_t bytes = static_cast<int64_t>(size_of(x.dtype()));
    const char* data = x.data_as<char>();
    auto beats = [](T challenger, T best) {
        if constexpr (std::is_floating_point_v<T>) {
            if (best != best) return false;
            if (challenger != challenger) return true;
        }
        return kMax ? challenger > best : challenger < best;
    };
    const int64_t stride = plan.folded.strides[0][0];
    const bool direct = stride == 1 && x.dtype() == dtype_of<T>;
    alignas(64) T buffer[kRun];
    int64_t* to = indices.data_as<int64_t>();
    plan.kept.for_rows(0, plan.kept.rows(), [&](const std::array<int64_t, 2>& at) {
        for (int64_t k = 0; k < plan.kept.inner(); ++k) {
            int64_t from = at[1] + k * plan.kept.strides[1][0];
            int64_t out = at[0] + k * plan.kept.strides[0][0];
            T best{};
            int64_t best_index = -1;
            // A run is searched for its place only when its extreme beats the best so far.
            for (int64_t i = 0; i < plan.count; i += kRun) {
                int64_t n = std::min(kRun, plan.count - i);
                const char* run = data + (from + i * stride) * bytes;
                const T* numbers = reinterpret_cast<const T*>(run);
                if (!direct) {
                    convert_row(x.dtype(), run, stride, dtype_of<T>, buffer, 1, n);
                    numbers = buffer;
                }
                T candidate = extreme_of_run<T, kMax>(numbers, n);
                if (best_index >= 0 && !beats(candidate, best)) continue;
                best = candidate;
                int64_t place = 0;
                while (!(numbers[place] == best || (best != best && numbers[place] != numbers[place]))) ++place;
                best_index = i + place;
            }
            to[out] = best_index;
            if (values) {
                int64_t value_bytes = static_cast<int64_t>(size_of(values->dtype()));
                convert_row(x.dtype(), data + (from + best_index * stride) * bytes, 0, values->dtype(),
                            values->data_as<char>() + out * value_bytes, 1, 1);
            }
        }
    });
}

template <bool kMax>
void extremes(Context& context, const Tensor& given, const Dims& dims, bool keepdim, Tensor* values,
              const Tensor& indices) {
    Tensor x = given;
    Dims over = dims;
    if (over.size() != 1) {
        // The index counts over all folded dims in row-major order: bring them together at the end.
        Dims order, sizes;
        int64_t folded = 1;
        auto gone = [&](int64_t d) { return over.empty() || std::find(over.begin(), over.end(), d) != over.end(); };
        for (int64_t d = 0; d < x.rank(); ++d) {
            if (!gone(d)) {
                order.push_back(d);
                sizes.push_back(x.size(d));
            }
        }
        for (int64_t d = 0; d < x.rank(); ++d) {
            if (gone(d)) {
                order.push_back(d);
                folded *= x.size(d);
            }
        }
        sizes.push_back(folded);
        Attrs permute, reshape;
        permute.dims = order;
        reshape.sizes = sizes;
        x = run(context, Op::Permute, std::span(&x, 1), permute);
        x = run(context, Op::Reshape, std::span(&x, 1), reshape);
        over = {static_cast<int64_t>(sizes.size()) - 1};
        Dims flat(sizes.begin(), sizes.end() - 1);
        Tensor flat_indices = indices.alias(flat, contiguous_strides(flat), indices.offset());
        Plan plan = Plan::make(x, over, flat_indices, false);
        return visit_dtype(x.dtype(), [&](auto zero) {
            using E = decltype(zero);
            using T = std::conditional_t<std::is_same_v<E, double>, double,
                                         std::conditional_t<std::is_integral_v<E>, int64_t, float>>;
            find_extreme<T, kMax>(plan, x, values, flat_indices);
        });
    }
    Plan plan = Plan::make(x, over, indices, keepdim);
    if (is_integral(x.dtype())) {
        find_extreme<int64_t, kMax>(plan, x, values, indices);
    } else if (x.dtype() == DType::Float64) {
        find_extreme<double, kMax>(plan, x, values, indices);
    } else {
        find_extreme<float, kMax>(plan, x, values, indices);
    }
}

}  // namespace

void kernel_reduction(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred& inferred,
                      std::span<Tensor> results) {
    const Tensor& x = inputs[0];
    results[0] = empty(context, inferred.shape, inferred.dtypes[0], inferred.device);
    if (op == Op::MaxDim || op == Op::MinDim) {
        results[1] = empty(context, inferred.shape, DType::Int64, inferred.device);
        (op == Op::MaxDim ? extremes<true> : extremes<false>)(context, x, attrs.dims, attrs.keepdim, &results[0],
                                                             results[1]);
        return;
    }
    if (results[0].numel() == 0) return;
    if (op == Op::Argmax || op == Op::Argmin) {
        (op == Op::Argmax ? extremes<true> : extremes<false>)(context, x, attrs.dims, attrs.keepdim, nullptr, results[0]);
        return;
    }
    Plan plan = Plan::make(x, attrs.dims, results[0], attrs.keepdim);
    Target target{x, results[0], op == Op::Mean ? static_cast<double>(plan.count) : 1.0};
    DType dtype = inferred.dtypes[0];
    switch (op) {
        case Op::Sum:
        case Op::Mean: return fold_dtype<SumFold>(context, plan, target, dtype);
        case Op::Prod: return fold_dtype<ProdFold>(context, plan, target, dtype);
        case Op::Amax: return fold_dtype<MaxFold>(context, plan, target, dtype);
        case Op::Amin: return fold_dtype<MinFold>(context, plan, target, dtype);
        case Op::Any: return fold_dtype<AnyFold>(context, plan, target, x.dtype());
        case Op::All: return fold_dtype<AllFold>(context, plan, target, x.dtype());
        default: fail("{} is not a reduction", name_of(op));
    }
}

}  // namespace talc::tensor
