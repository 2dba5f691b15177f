#pragma once
// The eager CPU kernels, one entry for each kind of operator. Operands and attributes have passed the rules.
#include <functional>
#include <span>

#include "tensor/eager.hpp"

namespace talc::tensor {

using Kernel = void (*)(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred& inferred,
                        std::span<Tensor> results);

void kernel_create(Context&, Op, Tensors, const Attrs&, const Inferred&, std::span<Tensor>);
void kernel_pointwise(Context&, Op, Tensors, const Attrs&, const Inferred&, std::span<Tensor>);
void kernel_reduction(Context&, Op, Tensors, const Attrs&, const Inferred&, std::span<Tensor>);
void kernel_view(Context&, Op, Tensors, const Attrs&, const Inferred&, std::span<Tensor>);
void kernel_index(Context&, Op, Tensors, const Attrs&, const Inferred&, std::span<Tensor>);
void kernel_contraction(Context&, Op, Tensors, const Attrs&, const Inferred&, std::span<Tensor>);
void kernel_random(Context&, Op, Tensors, const Attrs&, const Inferred&, std::span<Tensor>);
void kernel_write(Context&, Op, Tensors, const Attrs&, const Inferred&, std::span<Tensor>);

// A pointwise operator into elements that exist already; `target` has the inferred shape, any dtype and strides,
// and does not partly overlap an operand.
void pointwise_into(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred& inferred,
                    const Tensor& target);
// Fails when integers are to be raised to a negative number of the program's.
void check_power(Tensors inputs, DType dtype);
// Every element of `from` (broadcast, cast) to `to`.
void copy_elements(Context& context, const Tensor& from, const Tensor& to);

// Splits [0, count) over the context's threads when it is worth it.
template <class Body>
void parallel(const Context& context, int64_t count, int64_t grain, const Body& body) {
    if (context.parallel_for && count > grain) {
        context.parallel_for(count, grain, std::cref(body));
    } else if (count > 0) {
        body(0, count);
    }
}

TypeQuery type_query(const Context& context, Op op, std::span<const OperandType> inputs, const Attrs& attrs);

}  // namespace talc::tensor
