// LLVM is linked statically and ORC works: a function is built as IR, compiled and run.
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/TargetSelect.h>

#include <cstdint>
#include <memory>

#include "tests/unit/catch.hpp"

namespace {

// int64_t triangle(int64_t n): the sum of 1..n by a loop, so that there are branches and phis to compile.
llvm::orc::ThreadSafeModule make_triangle() {
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>("smoke", *context);
    llvm::IRBuilder<> build(*context);
    auto* i64 = build.getInt64Ty();
    auto* function = llvm::Function::Create(llvm::FunctionType::get(i64, {i64}, false),
                                            llvm::Function::ExternalLinkage, "triangle", module.get());
    auto* entry = llvm::BasicBlock::Create(*context, "entry", function);
    auto* loop = llvm::BasicBlock::Create(*context, "loop", function);
    auto* done = llvm::BasicBlock::Create(*context, "done", function);
    build.SetInsertPoint(entry);
    build.CreateBr(loop);
    build.SetInsertPoint(loop);
    auto* index = build.CreatePHI(i64, 2, "index");
    auto* sum = build.CreatePHI(i64, 2, "sum");
    auto* next_sum = build.CreateAdd(sum, index);
    auto* next_index = build.CreateAdd(index, build.getInt64(1));
    index->addIncoming(build.getInt64(0), entry);
    index->addIncoming(next_index, loop);
    sum->addIncoming(build.getInt64(0), entry);
    sum->addIncoming(next_sum, loop);
    build.CreateCondBr(build.CreateICmpSLE(next_index, function->getArg(0)), loop, done);
    build.SetInsertPoint(done);
    build.CreateRet(next_sum);
    REQUIRE_FALSE(llvm::verifyModule(*module));
    return {std::move(module), std::move(context)};
}

}  // namespace

TEST_CASE("ORC compiles and runs a function", "[inductor][llvm]") {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    llvm::cantFail(jit->addIRModule(make_triangle()));
    auto* triangle = llvm::cantFail(jit->lookup("triangle")).toPtr<int64_t (*)(int64_t)>();
    CHECK(triangle(10) == 55);
    CHECK(triangle(100000) == 5000050000);
}
