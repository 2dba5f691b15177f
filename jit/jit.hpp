#pragma once
// One engine's compiled code: where it begins, when it is recorded, and how it is entered.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jit/compile_queue.hpp"
#include "jit/recorder.hpp"
#include "jit/trace.hpp"

namespace talc::jit {

struct Params {
#define PARAM(name, value, doc) uint32_t name = value;
#include "jit/params.def"
#undef PARAM
};

// A row of breaks.def.
struct BreakInfo {
    const char* name;
    const char* what;
    const char* hint;
};
const BreakInfo& break_info(std::string_view name);

// What jit.stats() shows.
struct Stats {
    uint64_t traces = 0, segments = 0, fragments = 0, compiles = 0, recompiles = 0, guard_failures = 0, side_exits = 0,
             side_traces = 0, aborts = 0, cache_hits = 0, eager_ops = 0, launches = 0, breaks = 0;
};

// A wish of the script or the host about what is written to the log.
using Log = std::function<void(std::string_view channel, const std::string& text)>;

class Jit {
  public:
    Jit(Vm& vm, inductor::Backend* native);
    ~Jit();
    Jit(const Jit&) = delete;

    // The engine's; null: it has none.
    static Jit* of(Vm& vm);

    bool enabled = true;      // hot loops are found
    bool strict = false;      // a backend that cannot compile is an error
    Log log;                  // null: none
    std::function<void(const std::string& text)> warn;
    const Params& params() const { return params_; }
    Params& params() { return params_; }
    Stats stats;
    // "name=value,..." with the names of params.def, and backend=NAME for what gets hot by itself. False: no such name.
    bool configure(std::string_view text);

    // A copy of the function whose calls run compiled code from the first on.
    Ref compiled(vm::Function* function, Options options);
    void disable(vm::Function* function);
    void reset();
    void wait();  // until all that is being compiled is ready
    // Every anchor that has compiled code.
    const std::vector<std::unique_ptr<Anchor>>& anchors() const { return anchors_; }
    Anchor* anchor_of(vm::Code* code, uint32_t pc);

    // Counts what the interpreter does with tensors one by one, and lets loops that do it get warm.
    class Heat final : public tensor::Observer {
      public:
        explicit Heat(Jit& jit) : jit_(jit) {}
        void ran(tensor::Op, tensor::Tensors, const tensor::Attrs&, std::span<const tensor::Tensor>) override { count(); }
        void wrote(tensor::Op, tensor::Tensors, const tensor::Attrs&, const tensor::Tensor&) override { count(); }
        void made(const tensor::Tensor&) override {}
        void number(const tensor::Tensor&, size_t) override {}
        void reading(const tensor::Tensor&) override {}
        void grad_set(const tensor::Tensor&, const tensor::Tensor&) override {}
        void count() {
            jit_.stats.eager_ops++;
            if (!jit_.enabled) return;
            jit_.ops_++;
            jit_.vm_.frame()->code->heat++;
            jit_.vm_.warm();
        }

      private:
        Jit& jit_;
    };
    Heat heat{*this};

    // ---- for the recorder
    void add_segment(std::unique_ptr<Segment> segment, bool at_anchor);
    bool has_segment(vm::Frame& frame, uint32_t pc);
    // Where the anchor must be one graph, recording ends with an error.
    void recording_broke(Anchor& anchor, const Break& reason);
    void say(std::string_view channel, const std::string& text);
    bool plain_shape(const vm::Shape* shape) const;
    // The object in the slot was made in this segment and nobody else has it.
    bool made_here(const Segment& segment, int32_t slot) const;

    // ---- for the VM
    vm::Traced trace(vm::Frame& frame, uint32_t entry, Ref& result);
    void hot(vm::Frame& frame, lang::Instr* header);

  private:
    friend class Execution;
    struct Hook;

    Anchor& make_anchor(vm::Code* code, uint32_t pc, Options options, bool forced, std::string name);
    uint32_t patch(vm::Code* code, uint32_t pc);
    size_t root_depth_of(const Anchor& anchor) const;
    void begin_recording(Anchor& anchor, size_t root_depth, bool at_anchor);
    void end_recording();
    void compile(Segment& segment);
    void give_up(Anchor& anchor, std::string why);
    bool retire(Segment& segment, uint32_t left_here);
    // Why none of the entry's segments took this state.
    void explain_recompile(Anchor& anchor, vm::Frame& frame);

    Vm& vm_;
    inductor::Backend* native_;
    Params params_;
    std::string hot_backend_ = "inductor";
    std::vector<std::unique_ptr<Anchor>> anchors_;
    std::vector<Entry> entries_;
    std::unique_ptr<Recorder> recorder_;
    CompileQueue queue_;
    uint32_t segment_count_ = 0;
    std::map<std::pair<const vm::Code*, uint32_t>, Anchor*> by_place_;
    uint64_t ops_ = 0;       // operators that the interpreter ran
    uint64_t ops_seen_ = 0;  // when somebody last looked
    uint32_t idle_ = 0;
    std::string broken_;        // what is raised when an anchor that must be one graph is not
    std::string last_failure_;  // guard, expected and actual of the entry that failed last
};

// Runs segments from a place on, until the interpreter has to go on.
struct Outcome {
    vm::Traced traced = vm::Traced::no;
    Ref result;
    Segment* left = nullptr;      // the segment that was left
    Snapshot* snapshot = nullptr;  // and where
    bool rounds = false;           // a loop went on or ended otherwise than recorded
    bool guard = false;            // a guard failed
    bool failed = false;           // a fragment could not run: the interpreter does that stretch
};
Outcome run_segment(Jit& jit, Vm& vm, Segment& segment, std::string& failure);
bool matches(const Segment& segment, Vm& vm, const vm::Frame& frame);

}  // namespace talc::jit
