#include "tensor/eager.hpp"

#include <array>

#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "tensor/kernels.hpp"
#include "tensor/shape_rules.hpp"
#include "tensor/transfer.hpp"
#include "tensor/views.hpp"

namespace talc::tensor {

namespace {

void kernel_leaf(Context&, Op op, Tensors, const Attrs&, const Inferred&, std::span<Tensor>) {
    fail("{} cannot be run", name_of(op));
}

// In the order of Kind.
constexpr std::array<Kernel, 9> kKernels = {kernel_leaf,  kernel_create,      kernel_pointwise, kernel_reduction, kernel_view,
                                            kernel_index, kernel_contraction, kernel_random,    kernel_write};
static_assert(static_cast<size_t>(Kind::Write) + 1 == kKernels.size());

// All on one device; a 0-dim CPU tensor may join any.
Device common_device(Op op, Tensors inputs, const Attrs& attrs) {
    if (inputs.empty() || says_device(op)) return attrs.device;
    const Tensor* first = &inputs[0];
    for (const Tensor& input : inputs) {
        if (first->rank() == 0 && first->device().type == DeviceType::Cpu) first = &input;
    }
    Device device = first->device();
    for (const Tensor& input : inputs) {
        if (input.device() == device || (input.rank() == 0 && input.device().type == DeviceType::Cpu)) continue;
        fail("Expected all tensors to be on the same device, but found at least two devices, {} and {}!",
             to_string(device), to_string(input.device()));
    }
    return device;
}

bool same_elements(const Tensor& a, const Tensor& b) {
    return a.offset() == b.offset() && a.sizes() == b.sizes() && a.strides() == b.strides() && a.dtype() == b.dtype();
}

}  // namespace

Inferred infer(const Context& context, Op op, Tensors inputs, const Attrs& attrs) {
    InlineVec<const Dims*, 8> shapes;
    std::array<OperandType, 8> few;
    std::vector<OperandType> many;
    std::span<OperandType> types = few;
    if (inputs.size() > few.size()) {
        many.resize(inputs.size());
        types = many;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
        shapes.push_back(&inputs[i].sizes());
        types[i] = inputs[i].operand_type();
    }
    Inferred inferred;
    PlainJudge judge;
    inferred.device = common_device(op, inputs, attrs);
    inferred.shape = infer_shape(judge, op, std::span<const Dims* const>(shapes.data(), shapes.size()), attrs);
    inferred.dtypes = infer_dtypes(type_query(context, op, types.first(inputs.size()), attrs));
    return inferred;
}

void run(Context& context, Op op, Tensors inputs, const Attrs& attrs, std::span<Tensor> results) {
    Inferred inferred = infer(context, op, inputs, attrs);
    Kind kind = info(op).kind;
    if (op == Op::ToDevice) {
        bool there = inputs[0].device() == attrs.device;
        results[0] = there ? contiguous_copy(context, inputs[0]) : to_device(context, inputs[0], attrs.device);
        return;
    }
    if (inferred.device.type != DeviceType::Cpu && kind != Kind::View && kind != Kind::Write && kind != Kind::Leaf) {
        return context.room(inferred.device).ops->run(context, op, inputs, attrs, inferred, results);
    }
    kKernels[static_cast<size_t>(info(op).kind)](context, op, inputs, attrs, inferred, results);
}

Tensor run(Context& context, Op op, Tensors inputs, const Attrs& attrs) {
    Tensor result;
    run(context, op, inputs, attrs, std::span(&result, 1));
    return result;
}

void check_writable(const Tensor& target) {
    if (target.storage().read_only()) fail("the memory of this tensor of shape {} is read-only", bracketed(target.sizes()));
    if (!is_non_overlapping(target.sizes(), target.strides())) {
        fail("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
             "Please clone() the tensor before performing the operation.");
    }
}

void run_into(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Tensor& target) {
    Inferred inferred = infer(context, op, inputs, attrs);
    if (!(inferred.shape == target.sizes())) {
        fail("output with shape {} doesn't match the broadcast shape {}", bracketed(target.sizes()),
             bracketed(inferred.shape));
    }
    if (category_of(inferred.dtypes[0]) > category_of(target.dtype())) {
        fail("result type {} can't be cast to the desired output type {}", info(inferred.dtypes[0]).word,
             info(target.dtype()).word);
    }
    check_writable(target);
    bool direct = info(op).kind == Kind::Pointwise && !info(op).may_raise;
    for (const Tensor& input : inputs) {
        direct = direct && (!input.shares_storage(target) || same_elements(input, target));
    }
    DeviceOps* ops = context.room(target.device()).ops;
    auto replaces = [&] {
        if (info(op).kind != Kind::Index || !inputs[0].shares_storage(target) || !same_elements(inputs[0], target)) return false;
        for (const Tensor& input : inputs.subspan(1)) {
            if (input.shares_storage(target)) return false;
        }
        return ops->replace_in(context, op, inputs, attrs, inferred);
    };
    if (direct && ops) {
        if (target.numel() != 0) ops->pointwise_into(context, op, inputs, attrs, inferred, target);
    } else if (direct) {
        pointwise_into(context, op, inputs, attrs, inferred, target);
    } else if (!ops || !replaces()) {
        copy_elements(context, run(context, op, inputs, attrs), target);
    }
    target.storage().bump_version();
}

void kernel_write(Context& context, Op op, Tensors inputs, const Attrs& attrs, const Inferred&,
                  std::span<Tensor> results) {
    const Tensor& target = inputs[0];
    check_writable(target);
    if (op == Op::Fill) {
        copy_elements(context, number(context, attrs.value), target);
    } else {
        Tensor source = inputs[1];
        if (source.shares_storage(target)) {
            if (same_elements(source, target)) {
                results[0] = target;
                return;
            }
            source = run(context, Op::Clone, std::span(&source, 1));
        }
        copy_elements(context, source, target);
    }
    target.storage().bump_version();
    results[0] = target;
}

}  // namespace talc::tensor
