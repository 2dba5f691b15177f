#pragma once
// What the jit asks of a compiler: a graph goes in, something that runs comes out. Backends are thread-safe; what
// they make is used by one engine at a time.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/span.hpp"
#include "graph/graph.hpp"
#include "tensor/context.hpp"
#include "tensor/layout.hpp"
#include "tensor/tensor.hpp"

namespace talc::inductor {

// A graph as the jit hands it over. It means what graph/ says; the layouts are what entry guards have checked.
struct FragmentSpec {
    const graph::Graph* graph = nullptr;
    // One for each input: code may rely on what the class says; what it does not say (sizes that are symbols in the
    // graph, strides related to nothing) is read from the argument at each run.
    std::vector<const tensor::LayoutClass*> layouts;
    // One for each output: the dims from the slowest to the fastest in memory. Empty: row-major. Results are dense.
    std::vector<tensor::Dims> orders;
    // Output `output` is not returned as a fresh tensor: it becomes the contents of argument `input`. Every other
    // result is computed from the argument's contents before the run.
    struct Write {
        uint32_t output, input;
    };
    std::vector<Write> writes;
    // Groups of inputs whose arguments may lie in one storage; all others are known to lie apart.
    std::vector<std::vector<uint32_t>> aliased;
    // No two elements of an argument that is written lie in one place, whatever its strides.
    bool writes_apart = false;
    // All launches of a run may be one (mode="reduce-overhead").
    bool replay = false;
    std::string name;  // for logs and symbols: "fragment 3 of train"
};

// What people are told about a piece of generated code.
struct KernelInfo {
    std::string name;              // "fused_mul_add_sigmoid_0", "matmul"
    std::vector<std::string> ops;  // operators computed in it
    std::vector<Span> spans;       // where they come from
    std::string text;              // its source or IR, for --log output_code
    bool external = false;         // a library does it (BLAS)
};

// One event of a compilation, for --log: "fusion", "relu not with sum: ...".
struct LogLine {
    std::string_view channel;
    std::string text;
};

class Executable {
  public:
    virtual ~Executable() = default;
    // One argument for each input, as the guards promised; `results` gets one tensor for each output (for a Write,
    // the argument itself). Fails with a tensor::Error before anything has been written: an index out of range, a
    // division by zero, no memory.
    virtual void run(tensor::Context& context, tensor::Tensors arguments, std::span<tensor::Tensor> results) = 0;
    virtual std::span<const KernelInfo> kernels() const = 0;
    // Operators that ran outside of generated code, and why: "index_put: ...".
    virtual std::span<const std::string> fallbacks() const = 0;
    // Kernels started by one run.
    virtual uint32_t launches() const = 0;
    // What it takes for granted of sizes beyond what the fragment's graph does; where that fails it must not be run.
    virtual std::span<const graph::DimFact> assumes() const { return {}; }
    // How it was compiled.
    virtual std::span<const LogLine> log() const { return {}; }
};

class Backend {
  public:
    virtual ~Backend() = default;
    virtual std::string_view name() const = 0;
    // Fails with a tensor::Error when it cannot; the jit then evaluates the graph.
    virtual std::unique_ptr<Executable> compile(const FragmentSpec& fragment) = 0;
};

// Native code for the CPU through LLVM. One for the process: kernels with equal code are shared.
Backend& cpu_backend();

// Kernels for GPUs of NVIDIA through NVRTC, products by cuBLASLt. Compiling fails where there is none.
Backend& cuda_backend();
// Either of them, by where a fragment's tensors lie.
Backend& native_backend();
// The device as the tensor room uses it (tensor::Context::find_device).
tensor::DeviceRoom cuda_device(tensor::Device device);

}  // namespace talc::inductor
