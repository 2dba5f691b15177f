#pragma once
// Compiled code: a segment is a stretch of a program, from one place in the bytecode to the next place where data
// decides or where nothing more could be recorded, across calls and returns. Between segments all state is in the VM's
// frames, so that a segment can be entered from the interpreter and left to it at any snapshot.
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"
#include "inductor/backend.hpp"
#include "tensor/tensor.hpp"
#include "vm/vm.hpp"

namespace talc::jit {

using vm::Ref;
using vm::Value;
using vm::Vm;

enum class TraceOp : uint8_t {
#define TRACE_OP(name, doc) name,
#include "jit/trace_ops.def"
#undef TRACE_OP
};
const char* name_of(TraceOp op);

// What a tensor must be for compiled code to take it.
struct TensorGuard {
    const tensor::LayoutClass* layout;
    tensor::Dims sizes;
    tensor::Dims strides = {};  // of promises, which look like what they will be; empty: row-major
    uint64_t any = 0;           // dims whose size is a symbol
    graph::Shape shape = {};    // of promises whose sizes follow from symbols
};

struct Instruction {
    TraceOp op;
    lang::Op step = lang::Op::NOP;  // of Step and CompareTruth
    uint16_t flags = 0;             // of Step: the instruction's immediate operand
    int32_t dst = -1;
    int32_t a = 0, b = 0, c = 0;  // slots; negative: constants
    int32_t snapshot = -1;        // where the interpreter goes on when a guard fails or something is raised
    int32_t after = -1;           // of Next and NextEnds: where it goes on when it ends otherwise than recorded
    uint32_t first = 0, count = 0;  // operands of Step, CallNative, GuardOther and GuardApart, in Segment::operands
    int64_t imm = 0;
    void* pointer = nullptr;  // Cell, Class, Shape, Native, AttrCache, TensorGuard
    Value value;              // GuardIs, GuardEqual: kept alive by the segment

    static constexpr int32_t kNone = INT32_MAX;  // no slot
};

// Where a value is found.
struct Source {
    enum Kind : uint8_t { Unbound, Unloaded, Constant, Slot, Tensor } kind = Unbound;
    int32_t index = 0;
    friend bool operator==(const Source&, const Source&) = default;
};

// One step from a tensor to a view of it.
struct ViewStep {
    tensor::Op op;
    graph::Attrs attrs;
};

// A tensor of the recorded program: a root is memory of its own; others are views of one.
struct TensorInfo {
    uint32_t root = 0;
    std::vector<ViewStep> steps;
    bool requires_grad = false;
    bool leaf = false;            // it requires grad, and nothing made it that does
    vm::Class* cls = nullptr;     // of its object: Tensor, Parameter
    int32_t object = -1;          // slot of its object, once there is one
};

struct SavedFrame {
    int32_t depth = -1;                // entry frame of that depth; -1: a frame that the segment has entered
    vm::Code* code = nullptr;
    vm::Function* function = nullptr;  // of frames that the segment has entered
    uint32_t pc = 0;                   // next instruction
    uint16_t result = 0;
    Source init_self;
    std::vector<std::pair<uint16_t, Source>> registers;
};

// A root whose value is not in memory at a snapshot.
struct PendingRoot {
    uint32_t root;
    graph::Value value;
    int32_t object = -1;      // slot of its object, when there is one
    bool write_back = false;  // that object's memory gets the value
    tensor::Dims order = {};  // of its dims in memory
    bool spent = false;       // a backward pass has been through its history
    uint32_t writes = 0;      // of the program to it, so far
};
// The object of a view that waits for its root's memory.
struct PendingView {
    uint32_t tensor;
    int32_t object;
};

struct Snapshot {
    uint32_t popped = 0;             // entry frames that have returned
    std::vector<SavedFrame> frames;  // from the outermost to the innermost
    int32_t fragment = -1;           // that is being captured
    std::vector<PendingRoot> pending;
    std::vector<PendingView> views;
    int32_t resume = -1;     // from where the interpreter does it again when what is pending fails
    uint32_t nodes = 0;      // of the fragment's graph
    uint32_t advances = 0, draws = 0;  // rounds of iterators and random operators before it
    bool clean = false;  // nobody could have seen anything yet: may be left as if never entered
    uint32_t count = 0;  // times it was left through
    bool blocked = false;  // recording has gone on from here, or will not
    std::string what;    // what a guard here is about, for messages
};

struct FragmentGradient;

// A captured graph, where its inputs come from and its outputs go.
struct Fragment {
    explicit Fragment(tensor::DType default_float) : graph(default_float) {}

    graph::Graph graph;
    struct Input {
        int32_t slot;  // a tensor, or a number that becomes one
        bool number;
        bool size = false;  // an int that is a size: that of a tensor that nobody reads
    };
    std::vector<Input> inputs;
    struct Output {
        uint32_t root;
        graph::Value value;
        int32_t slot;     // of its object
        bool promised;    // the object is there and waits for memory
        bool write_back;  // the object's memory gets the value
        bool requires_grad;
        tensor::Dims order;
        bool leaf = false;      // it requires grad, and nothing made it that does
        vm::Class* cls = nullptr;  // of its object
        bool spent = false;     // a backward pass inside has been through its history
        std::string grad_name;  // of its place on the tape
        uint32_t writes = 0;    // of the program to this memory, in the fragment
    };
    std::vector<Output> outputs;
    std::vector<PendingView> views;
    std::vector<graph::Value> checks;  // that may fail, and that no output needs
    std::vector<bool> with_grad;  // by node: recorded while gradients were on, and it took part
    // By node: contents of memory after a write, which keeps its order of dims (operators on it see that order).
    std::unordered_map<uint32_t, tensor::Dims> written_orders;
    std::vector<const tensor::LayoutClass*> layouts;
    bool may_raise = false;
    bool launched = false;
    int32_t resume = -1;  // snapshot from which the interpreter does it again when it fails
    int line = 0;

    // What a compiler made of it, valid once `ready`; null: the graph is evaluated.
    std::atomic<bool> ready{false};
    std::unique_ptr<inductor::Executable> code;
    inductor::FragmentSpec spec;
    inductor::Backend* backend = nullptr;        // that made the code, and makes that of its gradients
    std::shared_ptr<FragmentGradient> gradient;  // of results that are differentiated outside
    std::string failure;                         // why there is none
    double compile_ms = 0;
};

struct EntryFrame {
    vm::Code* code;
    uint32_t pc;  // next instruction
};

// Why recording stopped to be one graph.
struct Break {
    std::string reason;  // a row of breaks.def
    std::string detail;
    const vm::Code* code = nullptr;
    uint32_t instruction = 0;
};

struct Anchor;

// Where the value of a symbol is found: a size of the tensor in a slot, or the int there.
struct SymbolSource {
    static constexpr uint32_t kInt = UINT32_MAX;
    int32_t slot;
    uint32_t dim;
};

struct Segment {
    Anchor* anchor = nullptr;
    uint32_t number = 0;
    std::vector<EntryFrame> entry;  // from the innermost outwards
    std::vector<Instruction> code;
    std::vector<int32_t> operands;
    uint32_t memories = 0;  // that are guarded to lie apart
    std::vector<Ref> constants;
    std::vector<Ref> kept;  // what guards and frames point at
    std::deque<Snapshot> snapshots;
    std::vector<std::shared_ptr<Fragment>> fragments;  // shared with the tape
    std::vector<TensorInfo> tensors;
    std::deque<vm::AttrCache> sites;
    std::deque<TensorGuard> guards;
    std::vector<SymbolSource> symbols;      // by number; shared by all fragments
    std::vector<graph::DimFact> facts;      // what was assumed of them
    std::vector<graph::Shape> shapes;       // sizes that the program looks at
    std::vector<Break> breaks;
    int32_t slots = 0;
    bool loops = false;  // ends where it begins
    uint32_t runs = 0;
};

// A place in a program where compiled code begins.
struct Entry {
    vm::Code* code;
    uint32_t pc;
    Anchor* anchor = nullptr;            // a function or loop; null: where an earlier segment was left
    std::vector<Segment*> segments;      // tried in order
};

struct Options {
    std::string backend = "inductor";
    std::string mode = "default";
    bool fullgraph = false;
    int dynamic = -1;  // 1: sizes are symbols from the start; 0: never; -1: those that change
};

struct Anchor {
    Ref code;               // kept alive
    uint32_t pc = 0;
    std::string name;
    Options options;
    bool forced = false;    // @jit: from the first call on
    uint32_t rounds = 0;    // times it was reached after tensor operators had run
    uint64_t seen = 0;      // operators when it was reached last
    uint32_t compiles = 0;  // recordings that began at the anchor itself
    uint32_t segments = 0;
    bool given_up = false;
    bool disabled = false;
    std::vector<std::unique_ptr<Segment>> owned;
    std::vector<std::string> recompiles;  // guard, expected, actual
    // Tensors from outside, by place and name: the sizes of the last recording, and the dims that have changed.
    std::map<std::string, tensor::Dims> sizes;
    std::map<std::string, uint64_t> changed;
    std::map<std::string, int64_t> ints;  // that shaped the last recording
};

}  // namespace talc::jit
