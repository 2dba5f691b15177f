#pragma once
// Fragments: compiled, launched, and their place on the tape.
#include "jit/trace.hpp"

namespace talc::jit {

// Chooses how the fragment runs; true: it is to be compiled.
bool prepare_fragment(Fragment& fragment, const Options& options);
// A backend that cannot leaves it to evaluation, and says why. Touches nothing but the fragment.
void compile_fragment(Fragment& fragment, inductor::Backend& backend);

// Runs it: inputs from the slots, outputs into them. Fails with a tensor::Error before anything has been written.
void launch(Vm& vm, const Segment& segment, size_t index, Value* slots, uint64_t& launches);

// Results become memory of their own where they are an argument given back, or another result: before anything is
// written, so that a write to one is not seen in another.
void separate(tensor::Context& context, std::span<tensor::Tensor> results, std::span<const tensor::Tensor> arguments);

// Dims from the slowest to the fastest in memory; empty for row-major.
tensor::Dims order_of(const tensor::Tensor& tensor);
// A result as it lies in memory in the interpreter: writes that became values may have given another layout.
tensor::Tensor laid_out(tensor::Context& context, const tensor::Tensor& value, const tensor::Dims& order);

// As many as the program did, which compiled code does at once: versions say how many there were.
void count_writes(const tensor::Tensor& tensor, uint32_t writes);
void raise_version(const tensor::Tensor& fresh, uint32_t version);

// An object whose tensor has no memory yet takes over what `value` has.
void fulfil(Value object, const tensor::Tensor& value);
// An object that never got its memory becomes an empty tensor: nothing may look at what is not there.
void forsake(Value object);
// The tensor of a view, from that of its root.
tensor::Tensor view_of(tensor::Context& context, const TensorInfo& info, tensor::Tensor root, const graph::SymbolValues& symbols);
tensor::Tensor fragment_input(Vm& vm, const Fragment& fragment, size_t input, const Segment& segment, const Value* slots);
// A tensor of that size, of which nothing else is to be looked at.
tensor::Tensor sized_tensor(tensor::Context& context, int64_t size);
// A tensor object without memory.
Ref promise(Vm& vm, const TensorGuard& like, bool requires_grad, vm::Class* cls, const graph::SymbolValues& symbols);
bool is_promise(const tensor::Tensor& tensor);
// What the symbols of a segment are in this run.
graph::SymbolValues symbol_values(const Segment& segment, const Value* slots);

}  // namespace talc::jit
