// Tensors made from nothing but numbers: constants, ranges and random numbers.
#include "tensor/vectorize.hpp"

#include "tensor/convert.hpp"
#include "tensor/factory.hpp"
#include "tensor/kernels.hpp"
#include "tensor/philox.hpp"
#include "tensor/vector_sqrt.hpp"

namespace talc::tensor {

namespace {

constexpr int64_t kRun = 1024;
constexpr int64_t kParallelGrain = 16384;

// Fills in runs of `From` made by make(first, buffer, n).
template <class From, class Make>
void fill_runs(Context& context, const Tensor& tensor, Make make) {
    char* data = tensor.data_as<char>();
    const int64_t bytes = static_cast<int64_t>(size_of(tensor.dtype()));
    parallel(context, tensor.numel(), kParallelGrain, [&](int64_t begin, int64_t end) {
        From buffer[kRun];
        for (int64_t i = begin; i < end; i += kRun) {
            int64_t n = std::min(kRun, end - i);
            make(i, buffer, n);
            convert_row(dtype_of<From>, buffer, 1, tensor.dtype(), data + i * bytes, 1, n);
        }
    });
}

}  // namespace

void kernel_create(Context& context, Op op, Tensors, const Attrs& attrs, const Inferred& inferred,
                   std::span<Tensor> results) {
    if (op == Op::Number) {
        results[0] = number(context, attrs.value);
        return;
    }
    if (op == Op::Size) {
        results[0] = number(context, Scalar(attrs.start));
        return;
    }
    Tensor tensor = empty(context, inferred.shape, inferred.dtypes[0], inferred.device);
    if (op == Op::Full) {
        copy_elements(context, number(context, attrs.value), tensor);
    } else if (is_float(tensor.dtype())) {
        // Computed in double from the index, so that no error builds up.
        double start = attrs.value.to_double(), delta = attrs.delta.to_double();
        fill_runs<double>(context, tensor, [=](int64_t first, double* out, int64_t n) {
            for (int64_t i = 0; i < n; ++i) out[i] = start + static_cast<double>(first + i) * delta;
        });
    } else {
        uint64_t start = static_cast<uint64_t>(attrs.value.to_int()), delta = static_cast<uint64_t>(attrs.delta.to_int());
        fill_runs<int64_t>(context, tensor, [=](int64_t first, int64_t* out, int64_t n) {
            for (int64_t i = 0; i < n; ++i) {
                out[i] = static_cast<int64_t>(start + static_cast<uint64_t>(first + i) * delta);
            }
        });
    }
    results[0] = tensor;
}

void kernel_random(Context& context, Op op, Tensors inputs, const Attrs&, const Inferred& inferred,
                   std::span<Tensor> results) {
    uint64_t seed = static_cast<uint64_t>(item(inputs[0]).to_int());
    uint64_t position = static_cast<uint64_t>(item(inputs[1]).to_int());
    Tensor tensor = empty(context, inferred.shape, inferred.dtypes[0], inferred.device);
    const bool normal = op == Op::Randn;
    fill_runs<float>(context, tensor, [=](int64_t first, float* out, int64_t n) {
        // Runs may start inside a block of four when threads split the work.
        constexpr int64_t kStep = 64;  // blocks made in step
        uint32_t words[kRun + 4 * kStep + 4];
        uint64_t block = static_cast<uint64_t>(first) / 4;
        int64_t skip = first % 4;
        for (int64_t i = 0; i < n + skip; i += 4 * kStep, block += kStep) {
            philox::blocks<kStep>(seed, position, block, words + i);
        }
        const uint32_t* bits = words + skip;
        if (normal) {
            float depths[kRun], roots[kRun];
            for (int64_t i = 0; i < n; ++i) depths[i] = philox::normal_depth(bits[i]);
            sqrt_run(depths, roots, n);
            for (int64_t i = 0; i < n; ++i) out[i] = philox::normal_from(bits[i], depths[i], roots[i]);
        } else {
            for (int64_t i = 0; i < n; ++i) out[i] = philox::uniform(bits[i]);
        }
    });
    results[0] = tensor;
}

}  // namespace talc::tensor
