#pragma once
// Pieces of the code generator. LLVM's headers are slow to compile: only sources of this folder include them.
#include "inductor/loops/kernel.hpp"

namespace llvm {
class Function;
class IRBuilderBase;
class Module;
class Type;
class Value;
}  // namespace llvm

namespace talc::inductor::cpu {

// What the host's registers hold.
struct Target {
    unsigned vector_bytes = 16;
    bool fused_multiply_add = true;
};

// A kernel that folds everything into one point, in one pass: it is run in pieces, on several threads. Each piece leaves
// its folds in a slot of cells of 8 bytes, and "finish" joins the slots and goes on from there.
bool folds_in_pieces(const loops::Kernel& kernel);
size_t cells_of(const loops::Kernel& kernel);  // one for each fold

// The body of `kernel` as a function called "kernel", see Function in code.hpp; and "finish", if it has one.
void emit_kernel(llvm::Module& module, const loops::Kernel& kernel, const Target& target);

// An operator on values in the type that they are computed in (see carriers in emit_kernel.cpp), not yet rounded to a
// narrower dtype. `operand` is the dtype of its last operand.
llvm::Value* emit_apply(llvm::IRBuilderBase& build, const loops::Value& value, loops::DType operand,
                        std::span<llvm::Value* const> x);

// Elementary functions of floats, or of vectors of them: float32 by polynomials to about 2 ulp.
llvm::Value* emit_function(llvm::IRBuilderBase& build, loops::Op op, llvm::Value* x);
// Element `number` (i64, or a vector of them) of rand or randn as float: the numbers of tensor/philox.hpp, bit by bit.
llvm::Value* emit_random(llvm::IRBuilderBase& build, loops::Op op, llvm::Value* seed, llvm::Value* position,
                         llvm::Value* number);
// A function of the C library, lane by lane.
llvm::Value* call_for_each_lane(llvm::IRBuilderBase& build, const char* name, std::span<llvm::Value* const> x);

// ---- helpers ----------------------------------------------------------------------------------------------------
llvm::Value* constant_like(llvm::IRBuilderBase& build, llvm::Type* type, double value);
unsigned lanes_of(llvm::Type* type);

// Any value to the carrier of another dtype: float to int truncates, saturates, and gives 0 for nan; integers wrap.
llvm::Value* emit_convert(llvm::IRBuilderBase& build, llvm::Value* x, loops::DType from, loops::DType to);
// A carrier's value as the dtype holds it.
llvm::Value* emit_round(llvm::IRBuilderBase& build, llvm::Value* x, loops::DType dtype);
llvm::Type* carrier_type(llvm::IRBuilderBase& build, loops::DType dtype, unsigned lanes);
llvm::Type* memory_type(llvm::IRBuilderBase& build, loops::DType dtype);
// Between carriers and what memory holds.
llvm::Value* from_memory(llvm::IRBuilderBase& build, llvm::Value* x, loops::DType dtype);
llvm::Value* to_memory(llvm::IRBuilderBase& build, llvm::Value* x, loops::DType dtype);

}  // namespace talc::inductor::cpu
