// Pointwise operators: operands are brought to the type that is computed in, run by run, unless they lie ready.
#include <array>
#include <atomic>

#include "tensor/convert.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "tensor/kernels.hpp"
#include "tensor/pointwise_loops.hpp"
#include "tensor/strided.hpp"

namespace talc::tensor {

namespace {

constexpr int64_t kRun = 512;             // elements handled at a time, so that buffers stay in the first cache
constexpr int64_t kParallelGrain = 32768;  // elements below which a second thread does not pay

// The type in which a dtype is computed: all integers as int64, the short floats as float32.
DType compute_type(DType dtype) {
    if (dtype == DType::Float64) return DType::Float64;
    return is_float(dtype) ? DType::Float32 : DType::Int64;
}

PointwiseLoop loop_for(Op op, DType compute) {
    switch (compute) {
        case DType::Float32: return pointwise_loop_float32(op);
        case DType::Float64: return pointwise_loop_float64(op);
        default: return pointwise_loop_int64(op);
    }
}

struct Operand {
    const char* data;  // first element
    DType dtype;
    DType wanted;
    int64_t bytes;  // of an element
};

// One run: n elements starting at `from` (element offset from data), stride apart, as contiguous `wanted`.
const void* ready(const Operand& operand, int64_t offset, int64_t stride, int64_t n, void* buffer) {
    const char* from = operand.data + offset * operand.bytes;
    if (stride == 1 && operand.dtype == operand.wanted) return from;
    convert_row(operand.dtype, from, stride, operand.wanted, buffer, 1, n);
    return buffer;
}

[[noreturn]] void raise(Fault) { fail("ZeroDivisionError"); }

template <size_t N>
void drive(Context& context, PointwiseLoop loop, const std::array<Operand, N>& operands,
           const std::array<Dims, N + 1>& strides, const Dims& shape, const Attrs& attrs, DType result_type,
           const Tensor& target) {
    LoopNest<N + 1> nest(shape, strides);
    char* out_data = target.data_as<char>();
    const int64_t out_bytes = static_cast<int64_t>(size_of(target.dtype()));
    const int64_t inner = nest.inner();
    const int64_t out_stride = nest.strides[0][0];
    const bool direct = out_stride == 1 && target.dtype() == result_type;
    std::atomic<Fault> fault{Fault::None};

    auto run_rows = [&](int64_t begin, int64_t end, int64_t from, int64_t to) {
        alignas(64) char buffers[N + 1][kRun * 8];
        nest.for_rows(begin, end, [&](const std::array<int64_t, N + 1>& offsets) {
            // An operand that stays the same along the row is spread once.
            std::array<const void*, N> constant{};
            for (size_t k = 0; k < N; ++k) {
                if (nest.strides[k + 1][0] == 0) {
                    constant[k] = ready(operands[k], offsets[k + 1], 0, std::min(kRun, to - from), buffers[k]);
                }
            }
            for (int64_t i = from; i < to; i += kRun) {
                int64_t n = std::min(kRun, to - i);
                std::array<const void*, N> in;
                for (size_t k = 0; k < N; ++k) {
                    int64_t stride = nest.strides[k + 1][0];
                    in[k] = stride == 0 ? constant[k]
                                        : ready(operands[k], offsets[k + 1] + i * stride, stride, n, buffers[k]);
                }
                char* to_data = out_data + (offsets[0] + i * out_stride) * out_bytes;
                void* out = direct ? static_cast<void*>(to_data) : buffers[N];
                Fault raised = loop(in.data(), out, n, attrs);
                if (raised != Fault::None) {
                    fault = raised;
                    return;
                }
                if (!direct) convert_row(result_type, out, 1, target.dtype(), to_data, out_stride, n);
            }
        });
    };
    int64_t rows = nest.rows();
    if (rows == 1) {
        parallel(context, inner, kParallelGrain, [&](int64_t from, int64_t to) { run_rows(0, 1, from, to); });
    } else {
        int64_t grain = std::max<int64_t>(1, kParallelGrain / inner);
        parallel(context, rows, grain, [&](int64_t begin, int64_t end) { run_rows(begin, end, 0, inner); });
    }
    if (fault != Fault::None) raise(fault);
}

template <size_t N>
void drive(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred& inferred,
           const Tensor& target) {
    std::array<OperandType, N> types;
    for (size_t k = 0; k < N; ++k) types[k] = inputs[k].operand_type();
    TypeQuery query = type_query(context, op, types, attrs);
    DType result = inferred.dtypes[0];

    std::array<Operand, N> operands;
    std::array<Dims, N + 1> strides;
    strides[0] = broadcast_strides(target, inferred.shape);
    DType compute = result;
    for (size_t k = 0; k < N; ++k) {
        DType wanted = operand_dtype(query, k, result);
        bool is_condition = op == Op::Where && k == 0;
        if (!is_condition) {
            compute = compute_type(wanted);
            wanted = compute;
        }
        operands[k] = {inputs[k].data_as<char>(), inputs[k].dtype(), wanted,
                       static_cast<int64_t>(size_of(inputs[k].dtype()))};
        strides[k + 1] = broadcast_strides(inputs[k], inferred.shape);
    }
    PointwiseLoop loop = loop_for(op, compute);
    if (!loop) fail(ErrorKind::NotImplemented, "\"{}\" not implemented for '{}'", name_of(op), info(result).word);
    DType given = is_test(op) ? DType::Bool : compute;
    drive<N>(context, loop, operands, strides, inferred.shape, attrs, given, target);
}

}  // namespace

TypeQuery type_query(const Context& context, Op op, std::span<const OperandType> inputs, const Attrs& attrs) {
    return {op, inputs, attrs.dtype, attrs.value, attrs.delta, context.default_float};
}

void copy_elements(Context& context, const Tensor& from, const Tensor& to) {
    if (to.numel() == 0) return;
    if (to.device().type != DeviceType::Cpu) return context.room(to.device()).ops->copy_elements(context, from, to);
    LoopNest<2> nest(to.sizes(), {to.strides(), broadcast_strides(from, to.sizes())});
    const char* from_data = from.data_as<char>();
    char* to_data = to.data_as<char>();
    const int64_t from_bytes = static_cast<int64_t>(size_of(from.dtype()));
    const int64_t to_bytes = static_cast<int64_t>(size_of(to.dtype()));
    const int64_t from_stride = nest.strides[1][0], to_stride = nest.strides[0][0];
    auto copy_rows = [&](int64_t begin, int64_t end, int64_t first, int64_t last) {
        nest.for_rows(begin, end, [&](const std::array<int64_t, 2>& offsets) {
            convert_row(from.dtype(), from_data + (offsets[1] + first * from_stride) * from_bytes, from_stride,
                        to.dtype(), to_data + (offsets[0] + first * to_stride) * to_bytes, to_stride, last - first);
        });
    };
    int64_t inner = nest.inner(), rows = nest.rows();
    if (rows == 1) {
        parallel(context, inner, kParallelGrain, [&](int64_t first, int64_t last) { copy_rows(0, 1, first, last); });
    } else {
        int64_t grain = std::max<int64_t>(1, kParallelGrain / inner);
        parallel(context, rows, grain, [&](int64_t begin, int64_t end) { copy_rows(begin, end, 0, inner); });
    }
}

void check_power(Tensors inputs, DType dtype) {
    if (inputs[1].is_weak() && is_integral(dtype) && item(inputs[1]).to_int() < 0) {
        fail("Integers to negative integer powers are not allowed.");
    }
}

void pointwise_into(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred& inferred,
                    const Tensor& target) {
    if (op == Op::Cast || op == Op::Clone || op == Op::Contiguous) return copy_elements(context, inputs[0], target);
    if (op == Op::Pow) check_power(inputs, inferred.dtypes[0]);
    if (target.numel() == 0) return;
    if (op == Op::BitNot && inferred.dtypes[0] == DType::Bool) op = Op::LogicalNot;
    switch (inputs.size()) {
        case 1: return drive<1>(context, op, inputs, attrs, inferred, target);
        case 2: return drive<2>(context, op, inputs, attrs, inferred, target);
        default: return drive<3>(context, op, inputs, attrs, inferred, target);
    }
}

void kernel_pointwise(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred& inferred,
                      std::span<Tensor> results) {
    Dims strides = op == Op::Contiguous ? contiguous_strides(inferred.shape) : pointwise_strides(inferred.shape, inputs);
    results[0] = empty_strided(context, inferred.shape, std::move(strides), inferred.dtypes[0], inferred.device);
    pointwise_into(context, op, inputs, attrs, inferred, results[0]);
}

}  // namespace talc::tensor
