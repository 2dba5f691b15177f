#pragma once
// Recording is running: the interpreter executes, the recorder sees each instruction before it runs and again, with its
// results, when the next one is due, and writes down what compiled code has to do for the same effect. Tensor operators
// are seen as an observer of the tensor context and become nodes of a graph; views and writes are turned into values.
#include <optional>
#include <unordered_map>
#include <vector>

#include "autograd/indexing.hpp"
#include "autograd/traced_emit.hpp"
#include "jit/trace.hpp"
#include "tensor/observer.hpp"

namespace talc::jit {

class Jit;

class Recorder final : public autograd::SizeObserver {
  public:
    // Recording begins at the innermost frame's next instruction and ends, at the latest, when `root` returns.
    Recorder(Jit& jit, Vm& vm, Anchor& anchor, size_t root_depth, bool at_anchor);
    ~Recorder() override;

    void instruction(vm::Frame& frame, const lang::Instr* pc);
    void unwind(vm::Frame& frame);
    bool done() const { return done_; }

    void ran(tensor::Op op, tensor::Tensors inputs, const tensor::Attrs& attrs,
             std::span<const tensor::Tensor> results) override;
    void wrote(tensor::Op op, tensor::Tensors inputs, const tensor::Attrs& attrs, const tensor::Tensor& target) override;
    void made(const tensor::Tensor& fresh) override;
    void number(const tensor::Tensor& made, size_t argument) override;
    void reading(const tensor::Tensor& tensor) override;
    void grad_set(const tensor::Tensor& leaf, const tensor::Tensor& grad) override;
    std::shared_ptr<const tensor::Remembered> remember() override { return std::move(last_call_); }
    void size_used() override;
    bool follows(const autograd::SymbolicCall& call) const override;
    graph::Shape shape_of(const tensor::Tensor& tensor) override;
    graph::DimEnv& dims() override { return dims_; }
    void attributes(tensor::Op op, const graph::Attrs& attrs) override;
    void sized(const tensor::Tensor& made, graph::Dim dim) override;

  private:
    // The recorder's own work is not recorded.
    struct Pause {
        explicit Pause(bool& on) : flag(on) { flag = true; }
        ~Pause() { flag = false; }
        bool& flag;
    };
    struct ShadowFrame {
        vm::Code* code;
        vm::Function* function = nullptr;
        int32_t depth = -1;  // of an entry frame
        uint32_t pc = 0;     // next instruction, of frames that wait for a call
        uint16_t result = 0;
        Source init_self;
        std::vector<Source> registers;
        std::vector<bool> changed;  // of entry frames
    };
    // Memory of the recorded program.
    struct Root {
        tensor::Tensor tensor;       // with the root's own geometry; keeps the storage alive
        graph::Shape shape;          // its sizes, as far as they follow from symbols
        graph::Value value = nullptr;  // in fragment `fragment`
        int32_t fragment = -1;
        int32_t object = -1;         // slot of an object with this memory
        bool in_memory = false;      // its value is (also) in memory, as far as it was launched
        bool dirty = false;          // in memory, but written to since
        bool number = false;         // a number of the language in slot `object`, or a constant
        bool random = false;
        uint32_t version = 0;
        uint32_t writes = 0;         // since its memory had its value
        uint32_t seen_version = 0;   // of its storage, as far as writes are counted
        bool met = false;  // among the memory that is guarded to lie apart
        bool promised = false;
        bool outside = false;        // it was there before the segment
        bool shared = false;         // other tensors from outside lie in the same storage
        bool spent = false;          // a recorded backward pass has been through its history
        // What gradients knew of it before an operator that is not recorded changed that.
        struct Flags {
            bool requires_grad, leaf;
            std::string grad_name;
        };
        std::optional<Flags> flags;
    };
    struct TensorState {
        TensorInfo info;
        tensor::Tensor tensor;
        graph::Shape shape;
        graph::Value value = nullptr;
        int32_t fragment = -1;
        uint32_t version = 0;
        bool flagged = false;  // info has its flags already
        bool carries = false;  // of a view: gradients go through it
    };
    // The instruction that is being executed.
    struct Current {
        const lang::Instr* pc = nullptr;
        lang::Instr instr;
        lang::Op op = lang::Op::NOP;
        uint32_t at = 0;
        std::vector<Source> operands;     // by role, see prepare()
        std::vector<Ref> values;          // what they held
        std::vector<Source> arguments;    // of a builtin, by parameter
        std::vector<bool> as_number;      // argument became an operand
        Ref callee;
        Ref self;
        const vm::Native* native = nullptr;
        Ref leaf;                         // of an access to .grad
        // Seen while it ran.
        bool nested = false, reads = false, ran = false;
        std::vector<tensor::Tensor> made;
        std::optional<std::string> refused;
        std::string refused_detail;
        std::vector<std::pair<tensor::Tensor, tensor::Tensor>> grads;  // set by it
        // How sizes follow from sizes.
        struct Sized {
            tensor::Op op;
            graph::Attrs attrs;
        };
        std::vector<Sized> expected;      // operators with sizes that it will run, in order
        size_t met = 0;                   // of those
        std::optional<Sized> given;       // told for the next operator
        std::optional<std::pair<tensor::Scalar, graph::Dim>> count;  // a number that it computes from sizes
        bool plain_sizes = false;         // the sizes in attributes follow from nothing but its arguments
        bool planned = false, sizes_planned = false;
        bool may_not_come = false;        // what is expected
        std::vector<int32_t> sized_slots;  // arguments that need no guard, for their expressions are in the graph
        // To go back to before it: what it changed, and the state that the interpreter would find.
        std::vector<std::pair<uint32_t, Root>> old_roots;
        Snapshot before;
        int32_t before_index = -1;
        size_t first_root = 0, first_tensor = 0;
        size_t first_emitted = 0;  // in the segment's code, of what was written down for it
        std::vector<ShadowFrame> old_shadow;
        uint32_t old_popped = 0;
    };

    // ---- recorder.cpp: frames, segments, snapshots
    void start_segment(vm::Frame& frame, uint32_t pc);
    void finish_segment(bool keep);
    void stop();
    bool begin(vm::Frame& frame, const lang::Instr* pc);
    void finalize(vm::Frame& frame, const lang::Instr* pc);
    void cut_before(std::string_view reason, std::string detail = {});
    void cut_here(uint32_t pc);
    void end_with_jump(uint32_t pc);
    void skip(std::string_view reason);
    void undo();
    void forget_results();
    void take_back();
    void note_break(std::string_view reason, std::string detail);
    bool loop_closed(uint32_t pc);

    ShadowFrame& top() { return shadow_.back(); }
    Source read(uint16_t reg);
    Source read(size_t shadow, uint16_t reg);
    void write(uint16_t reg, Source source);
    void write(size_t shadow, uint16_t reg, Source source);
    void consume(uint16_t reg);
    void consume_operands();

    Source constant(Value value);
    int32_t new_slot(Value actual);
    int32_t operand(Source source);     // as a slot; tensors get an object
    Value value_of(Source source) const;  // at recording
    bool is_constant(Source source) const { return source.kind == Source::Constant; }
    Instruction& emit(TraceOp op);
    Instruction& emit_step(lang::Op op, std::span<const Source> operands, int32_t dst, uint16_t flags = 0);
    int32_t snapshot_before();          // as it was before the current instruction
    int32_t snapshot_at(uint32_t pc);   // as it is now, to go on there
    Snapshot take_snapshot(uint32_t pc);
    int32_t add_snapshot(Snapshot snapshot);
    // A slot's value as it came; its type is guarded, tensors are taken in.
    Source settle(int32_t slot, Value actual, int32_t snapshot, std::string what);
    void guard_value(Source source, std::string what);
    void guard_grad_mode(int32_t snapshot);
    void mark_resume();
    // Nobody can see what happens to it: made here, and made again when this stretch is done again.
    bool is_ours(Source object) const;
    void effect();   // something happens that others can see
    void visible_effect();  // the same; what may fail is computed before

    // ---- record_ops.cpp: what each instruction means
    bool prepare(vm::Frame& frame);
    bool prepare_return(vm::Frame& frame);
    void conclude(vm::Frame& frame, uint32_t next);
    void conclude_value(vm::Frame& frame, uint16_t reg, uint32_t next);
    void conclude_step(vm::Frame& frame, uint32_t next);
    void conclude_jump(vm::Frame& frame, uint32_t next);
    void conclude_compare_jump(vm::Frame& frame, uint32_t next);
    void conclude_native(vm::Frame& frame, uint16_t reg, uint32_t next);
    void conclude_load_attr(vm::Frame& frame, uint32_t next);
    void conclude_store_attr(vm::Frame& frame);
    void conclude_load_method(vm::Frame& frame, uint32_t next);
    void conclude_call(vm::Frame& frame, uint32_t next);
    // The instruction did nothing but tensor operators.
    bool only_operators() const { return current_.ran && !current_.reads && current_.made.empty(); }
    void conclude_iteration(vm::Frame& frame, uint32_t next);
    void conclude_return(vm::Frame& frame);
    void tensor_branch(Source condition, uint32_t if_true, uint32_t if_false);
    bool prepare_call(vm::Frame& frame);
    bool prepare_native(vm::Frame& frame, Value callee, std::span<const Source> sources, std::span<const Value> values,
                        vm::Tuple* names);
    bool take_in_items(Source container, Value actual, int depth);
    void enter_frame(vm::Frame& frame);
    Source new_instance(Value actual);
    void name_argument(Source source, const std::string& name);
    Source result_of_operators(Value actual);
    void guard_attributes();
    bool has_tensor(Value value, int depth = 0) const;

    // ---- record_sizes.cpp: sizes that are symbols
    bool has_symbols() const { return dims_.symbol_count() > 0; }
    // A first recording has no symbols but those that were asked for.
    bool sizes_matter() const { return has_symbols() || (anchor_.compiles > 0 && anchor_.options.dynamic != 0); }
    bool is_symbolic(const graph::Shape& shape) const;
    uint64_t dynamic_dims(const tensor::Tensor& tensor, int32_t slot, const std::string& what);
    graph::Shape symbols_for(const tensor::Tensor& tensor, int32_t slot, uint64_t dims);
    std::optional<graph::Dim> symbol_for(Source source, int64_t value);
    void share_facts();              // between the segment and the current graph; new ones are guarded
    graph::Value add_node(tensor::Op op, std::span<const graph::Value> values, const graph::Attrs& attrs);
    void settle_shape(const graph::Shape& shape);
    void specialise(uint32_t symbol);
    void specialise(const graph::Shape& shape);
    void specialise_operands(tensor::Tensors inputs);
    void specialise_tensors(Value value, int depth);
    graph::Attrs attributes_of(tensor::Op op, const tensor::Attrs& attrs, tensor::Tensors inputs);
    void bind_symbols(Fragment& now);
    int32_t size_slot(graph::Dim dim, Value actual);
    std::optional<Source> size_read(Source tensor, Value actual);
    std::optional<Source> size_call(Value actual);
    std::optional<graph::Dim> dim_of(Source source) const;
    std::optional<std::vector<graph::Dim>> dims_of(Source source);
    void follow_step(lang::Op op, std::span<const Source> operands, int32_t dst, Value actual);
    void plan_call();
    void plan_index(bool writes);
    std::optional<graph::Dim> planned_dim(Source source, Value actual);
    bool planned_item(Source key, Value actual, graph::Graph& graph, std::vector<autograd::IndexItem<autograd::GraphEmit>>& items);
    graph::Shape planned_sizes(size_t first, size_t last);
    graph::Shape shape_of_argument(size_t k);

    // ---- record_tensors.cpp: tensors
    Fragment& fragment();
    uint32_t add_root(Root root);
    uint32_t add_tensor(TensorState state);
    void guard_apart(int32_t written, int32_t snapshot);
    void guard_other(int32_t leaf);
    int32_t load_grad(int32_t leaf, Value actual);
    std::optional<uint32_t> find_tensor(const tensor::Tensor& tensor);
    std::optional<uint32_t> known_tensor(const tensor::Tensor& tensor);
    Source take_in(const tensor::Tensor& tensor, int32_t slot, int32_t snapshot, std::string what);
    graph::Value root_value(uint32_t root);
    graph::Value tensor_value(uint32_t tensor);
    graph::Value operand_value(const tensor::Tensor& tensor);
    graph::Value written_value(graph::Value value, const tensor::Tensor& memory, size_t nodes_before);
    int32_t object_of(uint32_t tensor);
    TensorGuard promised(const tensor::Tensor& tensor, const graph::Shape& shape);
    int32_t root_object(uint32_t root);
    void save_root(uint32_t root);
    void launch();
    void refuse(std::string_view reason, std::string detail = {});
    void note_node(graph::Value value, bool with_grad);
    graph::Value without_history(graph::Value value);
    void note_spent();
    void note_spent(graph::Value value);
    bool kept_for_gradient(graph::Value memory);
    bool outside_tape();
    static Root::Flags flags_of(const tensor::Tensor& tensor);
    static void note_flags(TensorState& state);
    void keep_flags(uint32_t root);

    Jit& jit_;
    Vm& vm_;
    Anchor& anchor_;
    size_t root_depth_;
    bool at_anchor_;
    bool done_ = false;
    bool fresh_ = true;
    bool skipping_ = false;
    bool paused_ = false;     // inside the recorder's own work
    size_t depth_ = 0;        // of the frame whose instruction is current
    bool have_current_ = false;
    Current current_;

    std::unique_ptr<Segment> segment_;
    bool clean_ = true;
    size_t start_depth_ = 0;
    std::vector<ShadowFrame> shadow_;
    uint32_t popped_ = 0;
    std::vector<Ref> slot_values_;
    std::vector<Root> roots_;
    std::vector<TensorState> tensors_;
    std::unordered_multimap<const tensor::Storage*, uint32_t> by_storage_;  // several roots where nobody writes
    std::unordered_map<const tensor::TensorImpl*, Source> grads_;  // of leaves, as far as known
    std::vector<bool> spent_nodes_;                                // of the current graph: a backward pass has been through
    std::vector<int32_t> grad_objects_;                            // those leaves, which are different ones
    std::unordered_map<int32_t, graph::Value> number_values_;      // slot -> input of the current fragment
    std::unordered_map<const vm::Cell*, Source> cells_;            // what the segment has stored in them
    graph::DimEnv dims_;       // the segment's symbols and what is known of them
    size_t guarded_ = 0;       // facts that have a guard
    std::shared_ptr<void> own_symbols_;
    std::shared_ptr<autograd::SymbolicCall> last_call_;
    std::unordered_map<int32_t, graph::Dim> slot_dims_;                 // ints that follow from sizes
    std::unordered_map<int32_t, std::vector<graph::Dim>> slot_shapes_;  // tuples of such
    std::unordered_map<int32_t, std::vector<Source>> slot_parts_;       // tuples and slices made here
    std::unordered_map<std::string, uint32_t> names_;                   // of tensors taken in
    int32_t fragment_ = -1;
    int32_t resume_ = -1;
    size_t resume_slots_ = 0;  // that were there by then
    uint32_t advances_ = 0, draws_ = 0;
    uint32_t length_ = 0;
    std::unordered_map<const lang::Instr*, uint32_t> rounds_;
};

}  // namespace talc::jit
