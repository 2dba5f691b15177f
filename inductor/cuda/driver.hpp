#pragma once
// The CUDA driver, loaded when a GPU is first wanted.
#include <cstddef>
#include <cstdint>
#include <string>

namespace talc::inductor::cuda {

using Status = int;  // 0: well
using CudaContext = struct ContextOfCuda*;
using CudaStream = struct StreamOfCuda*;
using CudaEvent = struct EventOfCuda*;
using CudaModule = struct ModuleOfCuda*;
using CudaFunction = struct FunctionOfCuda*;
using CudaGraph = struct GraphOfCuda*;
using CudaNode = struct NodeOfCuda*;
using CudaExec = struct ExecOfCuda*;

inline constexpr Status kOutOfMemory = 2;
inline constexpr Status kNotReady = 600;

// The layout that cuGraphExecKernelNodeSetParams_v2 takes.
struct KernelNodeParams {
    CudaFunction function;
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void** params;
    void** extra;
    void* kernel;
    CudaContext context;
};

struct Driver {
#define TALC_DRIVER(name, symbol, params) Status(*name) params = nullptr;
#include "inductor/cuda/driver.def"
#undef TALC_DRIVER

    // The process's; null when there is none or it has no GPU, and then `why` says what was looked for.
    static const Driver* find(std::string* why);
    int count() const { return count_; }  // of GPUs
    // Fails with a GpuError that names what was being done and the driver's error.
    void check(Status status, const char* doing) const {
        if (status != 0) refuse(status, doing);
    }

  private:
    [[noreturn]] void refuse(Status status, const char* doing) const;

    int count_ = 0;
};

}  // namespace talc::inductor::cuda
