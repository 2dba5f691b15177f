#include "inductor/cpu/code.hpp"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "inductor/cpu/emit.hpp"
#include "tensor/error.hpp"

namespace talc::inductor::cpu {

namespace {

// Functions that generated code calls, by name: nothing else of the process is visible to it.
struct Helper {
    const char* name;
    void* address;
};
using F1 = float (*)(float);
using F2 = float (*)(float, float);
using D1 = double (*)(double);
using D2 = double (*)(double, double);
const Helper kHelpers[] = {
    {"sinf", reinterpret_cast<void*>(static_cast<F1>(::sinf))},   {"cosf", reinterpret_cast<void*>(static_cast<F1>(::cosf))},
    {"powf", reinterpret_cast<void*>(static_cast<F2>(::powf))},   {"fmodf", reinterpret_cast<void*>(static_cast<F2>(::fmodf))},
    {"exp", reinterpret_cast<void*>(static_cast<D1>(::exp))},     {"expm1", reinterpret_cast<void*>(static_cast<D1>(::expm1))},
    {"log", reinterpret_cast<void*>(static_cast<D1>(::log))},     {"log1p", reinterpret_cast<void*>(static_cast<D1>(::log1p))},
    {"tanh", reinterpret_cast<void*>(static_cast<D1>(::tanh))},   {"erf", reinterpret_cast<void*>(static_cast<D1>(::erf))},
    {"sin", reinterpret_cast<void*>(static_cast<D1>(::sin))},     {"cos", reinterpret_cast<void*>(static_cast<D1>(::cos))},
    {"pow", reinterpret_cast<void*>(static_cast<D2>(::pow))},     {"fmod", reinterpret_cast<void*>(static_cast<D2>(::fmod))},
    {"fmaf", reinterpret_cast<void*>(static_cast<float (*)(float, float, float)>(::fmaf))},
    {"fma", reinterpret_cast<void*>(static_cast<double (*)(double, double, double)>(::fma))},
    {"floorf", reinterpret_cast<void*>(static_cast<F1>(::floorf))}, {"floor", reinterpret_cast<void*>(static_cast<D1>(::floor))},
    {"ceilf", reinterpret_cast<void*>(static_cast<F1>(::ceilf))},   {"ceil", reinterpret_cast<void*>(static_cast<D1>(::ceil))},
    {"truncf", reinterpret_cast<void*>(static_cast<F1>(::truncf))}, {"trunc", reinterpret_cast<void*>(static_cast<D1>(::trunc))},
    {"nearbyintf", reinterpret_cast<void*>(static_cast<F1>(::nearbyintf))},
    {"nearbyint", reinterpret_cast<void*>(static_cast<D1>(::nearbyint))},
    {"memset", reinterpret_cast<void*>(::memset)},                {"memcpy", reinterpret_cast<void*>(::memcpy)},
};

template <class T>
T checked(llvm::Expected<T> value, const char* doing) {
    if (!value) tensor::fail("{}: {}", doing, llvm::toString(value.takeError()));
    return std::move(*value);
}

void checked(llvm::Error error, const char* doing) {
    if (error) tensor::fail("{}: {}", doing, llvm::toString(std::move(error)));
}

// One for the process, made at the first compilation. Everything in it is used under its lock.
class Compiler {
  public:
    Compiler() {
        llvm::InitializeNativeTarget();
        llvm::InitializeNativeTargetAsmPrinter();
        auto host = checked(llvm::orc::JITTargetMachineBuilder::detectHost(), "looking at the processor");
        host.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
        host.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
        // Vectors here have a fixed width, and a processor's name promises more than a virtual machine may let through.
        if (host.getTargetTriple().isAArch64()) host.addFeatures({"-sve", "-sve2"});
        llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
        target_.vector_bytes = features.lookup("avx512f") ? 64 : features.lookup("avx2") ? 32 : 16;
        machine_ = checked(host.createTargetMachine(), "preparing the code generator");
        llvm::orc::LLJITBuilder builder;
        builder.setJITTargetMachineBuilder(host);
        builder.setCompileFunctionCreator([this](llvm::orc::JITTargetMachineBuilder) {
            return llvm::Expected<std::unique_ptr<llvm::orc::IRCompileLayer::IRCompiler>>(
                std::make_unique<llvm::orc::SimpleCompiler>(*machine_));
        });
        jit_ = checked(builder.create(), "starting the code generator");
        llvm::orc::SymbolMap symbols;
        for (const Helper& helper : kHelpers) {
            symbols[jit_->mangleAndIntern(helper.name)] = {llvm::orc::ExecutorAddr::fromPtr(helper.address),
                                                          llvm::JITSymbolFlags::Exported};
        }
        checked(jit_->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))), "defining helpers");
    }

    const Code& compile(const loops::Kernel& kernel) {
        std::string text = print(kernel);
        std::lock_guard lock(mutex_);
        auto found = known_.find(text);
        if (found != known_.end()) {
            ++counts_.shared;
            return *found->second;
        }
        auto code = std::make_unique<Code>(build(kernel));
        ++counts_.compiled;
        return *known_.emplace(std::move(text), std::move(code)).first->second;
    }

    CodeCounts counts() {
        std::lock_guard lock(mutex_);
        return counts_;
    }

  private:
    Code build(const loops::Kernel& kernel) {
        auto start = std::chrono::steady_clock::now();
        auto context = std::make_unique<llvm::LLVMContext>();
        auto module = std::make_unique<llvm::Module>("kernel", *context);
        module->setDataLayout(machine_->createDataLayout());
        module->setTargetTriple(machine_->getTargetTriple().str());
        emit_kernel(*module, kernel, target_);
        std::string name = fmt::format("kernel_{}", counts_.compiled), last = name + "_finish";
        bool pieces = folds_in_pieces(kernel);
        module->getFunction("kernel")->setName(name);
        if (pieces) module->getFunction("finish")->setName(last);
        for (llvm::Function& function : *module) {
            if (function.isDeclaration()) continue;
            function.addFnAttr("target-cpu", machine_->getTargetCPU());
            function.addFnAttr("target-features", machine_->getTargetFeatureString());
            // The whole register, also where the processor's description would rather use half of it.
            function.addFnAttr("prefer-vector-width", std::to_string(target_.vector_bytes * 8));
            function.addFnAttr("min-legal-vector-width", std::to_string(target_.vector_bytes * 8));
#ifndef NDEBUG
            std::string wrong;
            llvm::raw_string_ostream out(wrong);
            if (llvm::verifyFunction(function, &out)) tensor::fail("bad code for\n{}{}", print(kernel), wrong);
#endif
            optimise(function);
        }
        Code code;
        checked(jit_->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))), "compiling a kernel");
        code.function = checked(jit_->lookup(name), "compiling a kernel").toPtr<Function>();
        if (pieces) {
            code.finish = checked(jit_->lookup(last), "compiling a kernel").toPtr<Function>();
            code.cells = cells_of(kernel);
        }
        code.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        return code;
    }

    // The code is in vectors and in its loops already: variables to registers, equal addresses to one.
    void optimise(llvm::Function& function) {
        llvm::FunctionAnalysisManager analyses;
        llvm::LoopAnalysisManager loop_analyses;
        llvm::CGSCCAnalysisManager call_analyses;
        llvm::ModuleAnalysisManager module_analyses;
        llvm::PassBuilder builder(machine_.get());
        builder.registerFunctionAnalyses(analyses);
        builder.registerLoopAnalyses(loop_analyses);
        builder.registerCGSCCAnalyses(call_analyses);
        builder.registerModuleAnalyses(module_analyses);
        builder.crossRegisterProxies(loop_analyses, analyses, call_analyses, module_analyses);
        llvm::FunctionPassManager passes;
        passes.addPass(llvm::PromotePass());
        passes.addPass(llvm::EarlyCSEPass());
        passes.run(function, analyses);
    }

    std::mutex mutex_;
    Target target_;
    std::unique_ptr<llvm::TargetMachine> machine_;
    std::unique_ptr<llvm::orc::LLJIT> jit_;
    std::unordered_map<std::string, std::unique_ptr<Code>> known_;
    CodeCounts counts_;
};

// Never taken down: code of engines in other threads may run until the process ends.
Compiler& compiler() {
    static Compiler* shared = new Compiler;
    return *shared;
}

}  // namespace

const Code& compile(const loops::Kernel& kernel) { return compiler().compile(kernel); }

CodeCounts code_counts() { return compiler().counts(); }

}  // namespace talc::inductor::cpu
