#pragma once
// A fragment as a list of steps over buffers: what the passes make, and what the code generators and executors of all
// devices start from. Sizes are expressions over the graph's symbols and arguments' strides.
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "inductor/loops/kernel.hpp"
#include "inductor/log.hpp"

namespace talc::inductor {

using loops::Dim;
using loops::Shape;

using BufferId = uint32_t;

// Where values lie between steps.
struct PlanBuffer {
    enum Kind : uint8_t {
        Argument,   // number: which input
        Constant,   // number: which entry of Plan::constants
        Result,     // number: which output; fresh memory
        Temporary,  // in the arena
        Held,       // made by an operator outside of generated code, in memory of its own
    };
    Kind kind;
    uint32_t number = 0;
    tensor::DType dtype = tensor::DType::Float32;
    Shape shape;
    Shape strides;
    bool host = false;  // on the CPU, in a plan for another device
    // Steps between which a temporary lives, inclusive.
    uint32_t first_step = 0, last_step = 0;
};

// A buffer seen with other sizes and strides, as an operand of an operator that is no kernel.
struct BufferView {
    BufferId buffer;
    Shape shape, strides;
    Dim offset;
    bool weak = false;
};

struct Step {
    enum Kind : uint8_t {
        Kernel,    // generated code
        Matmul,    // a library's: operands are matrices with any strides
        Operator,  // tensor::run
        Copy,      // operand 0's elements to results[0]'s, the last of all
    };
    Kind kind = Kernel;
    loops::Kernel kernel;
    std::vector<BufferId> buffers;  // of the kernel's, by number
    graph::Value node = nullptr;    // of Matmul and Operator
    std::vector<BufferView> operands;
    std::vector<BufferId> results;
    bool may_raise = false;

    std::string name;
    std::vector<std::string> ops;
    std::vector<Span> spans;
};

struct Plan {
    std::vector<PlanBuffer> buffers;
    std::vector<tensor::Tensor> constants;
    std::vector<Step> steps;
    // For each output: the buffer that holds it (an argument's, for a write), and the order of its dims in memory.
    std::vector<BufferId> outputs;
    std::vector<uint32_t> written_arguments;
    // Steps from here on change arguments, and nothing may raise any more.
    size_t first_write = 0;
    std::vector<std::string> fallbacks;
    Log log;
};

// Row-major strides; or dense in the order `order` (slowest to fastest).
Shape dense_strides(const Shape& shape, const tensor::Dims& order = {});

}  // namespace talc::inductor
