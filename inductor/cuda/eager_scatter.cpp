// Operators that store at computed places: index_put, index_add, scatter_add.
#include <algorithm>

#include "inductor/cuda/eager.hpp"
#include "inductor/cuda/eager_call.hpp"
#include "inductor/cuda/room.hpp"
#include "tensor/factory.hpp"
#include "tensor/strided.hpp"
#include "tensor/views.hpp"

namespace talc::inductor::cuda {

using tensor::Attrs;
using tensor::Context;
using tensor::Dims;
using tensor::DType;
using tensor::Inferred;
using tensor::Op;
using tensor::Tensor;
using tensor::Tensors;

namespace {

// Rows are what lies behind the last dimension that is indexed.
size_t indexed_rank(Op op, size_t rank, const Attrs& attrs) {
    if (op == Op::ScatterAdd) return rank;
    if (op == Op::IndexAdd) return static_cast<size_t>(attrs.dim) + 1;
    return static_cast<size_t>(*std::max_element(attrs.dims.begin(), attrs.dims.end())) + 1;
}

}  // namespace

bool stores_at_places(Op op) { return op == Op::IndexPut || op == Op::IndexAdd || op == Op::ScatterAdd; }

// The number of the row that the operator that reads there would find: all that it checks is checked.
graph::Value places_of(graph::Graph& graph, Op op, std::span<const graph::Value> operands, const Attrs& attrs) {
    graph::Shape shape = operands[0]->shape();
    size_t indexed = indexed_rank(op, shape.size(), attrs);
    graph::Attrs count, rows;
    Dim all(1);
    for (size_t d = 0; d < indexed; ++d) {
        all = all * shape[d];
        rows.sizes.push_back(shape[d]);
    }
    count.sizes.push_back(all);
    count.value = tensor::Scalar(0);
    count.delta = tensor::Scalar(1);
    count.dtype = DType::Int64;
    count.device = operands[0]->type().device;
    std::vector<graph::Value> reading = {graph.add(Op::Reshape, {graph.add(Op::Arange, std::span<const graph::Value>{}, count)}, rows)};
    reading.insert(reading.end(), operands.begin() + 1, operands.end());
    graph::Attrs where;
    where.dim = attrs.dim;
    where.dims = attrs.dims;
    return graph.add(op == Op::IndexPut ? Op::IndexTake : op == Op::IndexAdd ? Op::IndexSelect : Op::Gather, reading, where);
}

bool CudaOps::replace_in(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred& inferred) {
    if (!stores_at_places(op) || !inputs[0].is_contiguous() || inputs[0].dtype() != inferred.dtypes[0]) return false;
    Tensor same;
    try {
        return scatter(context, op, inputs, attrs, inferred, true, same);
    } catch (const GpuError& error) {
        tensor::fail(error.kind(), "{}: {}", name_of(op), error.what());
    }
}

bool CudaOps::scatter(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred& inferred, bool in_place,
                      Tensor& result) {
    const Tensor& x = inputs[0];
    if (x.rank() == 0 || x.numel() == 0) return false;
    size_t indexed = indexed_rank(op, x.sizes().size(), attrs);
    std::vector<Tensor> reading = {x};
    if (op == Op::IndexPut) {
        reading.insert(reading.end(), inputs.begin() + 2, inputs.end());
    } else {
        reading.push_back(inputs[1]);
    }
    Tensor values = inputs[op == Op::IndexPut ? 1 : 2], places;
    {
        std::lock_guard lock(mutex_);
        Call call(context, op, reading, attrs, nullptr, {});
        CudaExecutable* code = code_of(call);
        if (!code) return false;
        code->run(context, reading, std::span(&places, 1));
    }
    ScatterCall call;
    Dims full = places.sizes();
    call.inner = 1;
    call.place_count = 1;
    for (size_t d = 0; d < x.sizes().size(); ++d) {
        (d < indexed ? call.place_count : call.inner) *= x.sizes()[d];
        if (d >= indexed) full.push_back(x.sizes()[d]);
    }
    call.rows = places.numel();
    if (!keys_fit(call.rows, call.place_count)) return false;
    if (in_place) {
        result = x;
    } else {
        result = tensor::empty(context, inferred.shape, inferred.dtypes[0], inferred.device);
        copy_elements(context, x, result);
    }
    if (call.rows * call.inner == 0) return true;
    // Of a larger source the part that the indices cover.
    if (op == Op::ScatterAdd) values = values.alias(places.sizes(), values.strides(), values.offset());
    Tensor dense = tensor::empty(context, full, result.dtype(), inferred.device);
    copy_elements(context, values, dense);
    Tensor keys = tensor::empty(context, {key_count(call.rows)}, DType::Int64, inferred.device);
    auto address = [](const Tensor& tensor) { return reinterpret_cast<uint64_t>(tensor.data()); };
    call.dtype = result.dtype();
    call.adds = op != Op::IndexPut || attrs.mode;
    call.out = address(result);
    call.values = address(dense);
    call.places = address(places);
    call.keys = address(keys);
    room_.gpu->scatter(call);
    return true;
}

}  // namespace talc::inductor::cuda
