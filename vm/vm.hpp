#pragma once
// One engine's virtual machine: heap, classes, modules, frames, limits. Used by one thread at a time; only
// interrupt() may come from another.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tensor/context.hpp"
#include "vm/error.hpp"
#include "vm/heap.hpp"
#include "vm/make.hpp"
#include "vm/object.hpp"
#include "vm/protocol.hpp"

namespace talc::vm {

// A running activation. Registers live on the VM's value stack, or in the generator.
struct Frame {
    Code* code;
    Function* function;         // null: a module
    lang::Instr* pc;            // next instruction, kept up to date at calls
    Value* registers;
    Generator* generator;       // null: none
    Value init_self;            // instance under construction: the result of the call, whatever __init__ returns
    Value saved_handled;        // generator frames: what the resumer was handling
    uint16_t result;            // caller's register for the result
    bool entry;                 // run() returns to C++ when this frame ends
    bool for_next;              // resumed by FOR_NEXT: the end of the generator ends the loop
};

// Builtin classes that C++ code needs by name: KLASS(field, "name", Kind of instances, base field).
struct Classes {
#define KLASS(field, name, kind, base) Class* field = nullptr;
#include "vm/classes.def"
#undef KLASS
    Class* exceptions[static_cast<int>(Exc::count)] = {};
    Class* of(Exc e) const { return exceptions[static_cast<int>(e)]; }
};

// Names that the VM itself uses, interned once: vm.names.self.
struct Names {
    Str* specials[static_cast<int>(Special::count)] = {};
#define NAME(id, text) Str* id = nullptr;
#include "vm/names.def"
#undef NAME
    Str* special(Special s) const { return specials[static_cast<int>(s)]; }
};

// What became of a place where compiled code may begin.
enum class Traced : uint8_t {
    no,        // nothing: the instruction that stood there runs
    moved,     // frames have changed: go on with the innermost one
    plainly,   // the same, but its next instruction runs as it stood before any TRACE
    returned,  // the innermost frame returns the value given
    raised,    // frames have changed and the exception that is set is raised at the innermost one's last instruction
};

// How the recorder (or a debugger) sees execution. Absent: no cost, the dispatch table does not mention it.
struct Hooks {
    void* context = nullptr;
    // Before each instruction; the results of the one before it are in its registers.
    void (*instruction)(void* context, Vm& vm, Frame& frame, const lang::Instr* pc) = nullptr;
    void (*enter)(void* context, Vm& vm, Frame& frame) = nullptr;
    void (*leave)(void* context, Vm& vm, Frame& frame, Value result) = nullptr;
    // A native is about to be called, and has returned (result Undef: it raised).
    void (*native_call)(void* context, Vm& vm, const Native& native, const Args& args) = nullptr;
    void (*native_return)(void* context, Vm& vm, const Native& native, Value result) = nullptr;
    // An exception is about to look for its handler, from this frame outwards.
    void (*unwind)(void* context, Vm& vm, Frame& frame) = nullptr;
    // An instruction TRACE: frame.pc is its place.
    Traced (*trace)(void* context, Vm& vm, Frame& frame, uint32_t entry, Ref& result) = nullptr;
    // A loop header (or a function's first instruction) was reached after Vm::warm was set, by tensor operators say.
    void (*hot)(void* context, Vm& vm, Frame& frame, lang::Instr* header) = nullptr;
};

struct Limits {
    uint64_t instructions = UINT64_MAX;    // executed in all; LimitExceeded past it
    double seconds = 0;                    // wall time of one run; 0: no limit
    size_t memory = SIZE_MAX / 2;          // bytes; MemoryError past it
    uint32_t recursion = 1000;             // frames; RecursionError past it
};

// What a host decides: where output goes, what may be imported and opened.
struct Host {
    Heap::Resize resize_memory;                     // default: the C library's
    std::function<void(std::string_view)> out;      // default: stdout
    std::function<void(std::string_view)> err;      // default: stderr
    std::function<bool(std::string& line)> read_line;  // default: stdin; false at the end
    std::function<bool(std::string_view module)> may_import;              // default: all
    std::function<bool(const std::string& path, bool write)> may_open;    // default: all
    std::function<void(Vm&, Value)> display;        // PRINT_EXPR
    std::vector<std::string> module_path;           // searched after the importing file's folder
    std::vector<std::string> argv;
};

// Tables given by the stdlib room, which knows all builtins.
struct BuiltinTable {
    const NativeRow* rows;      // sorted by owner, then by name
    size_t count;
    // Makes the value of a builtin name that is not a plain function (True-like constants, types are found by themselves).
    Ref (*make_value)(Vm& vm, std::string_view name);
    // A module of the stdlib: creates it (native attributes and embedded Talc source); empty: no such module.
    Ref (*make_module)(Vm& vm, std::string_view name);

    // The methods of a builtin class, the functions of a module ("": the builtin functions), sorted by name.
    std::span<const NativeRow> rows_of(std::string_view owner) const {
        auto [first, last] = std::equal_range(rows, rows + count, owner, ByOwner{});
        return {first, last};
    }
    // One of them; null: none.
    const NativeRow* find(std::string_view owner, std::string_view name) const {
        std::span<const NativeRow> owned = rows_of(owner);
        auto at = std::lower_bound(owned.begin(), owned.end(), name,
                                   [](const NativeRow& row, std::string_view x) { return row.name < x; });
        return at != owned.end() && at->name == name ? &*at : nullptr;
    }

  private:
    struct ByOwner {
        bool operator()(const NativeRow& row, std::string_view owner) const { return row.owner < owner; }
        bool operator()(std::string_view owner, const NativeRow& row) const { return owner < row.owner; }
    };
};

class Vm {
  public:
    explicit Vm(const BuiltinTable& builtins, Limits limits = {}, Host host = {});
    ~Vm();
    Vm(const Vm&) = delete;

    Heap heap;
    Classes classes;
    Names names;
    Limits limits;
    Host host;
    Hooks hooks;
    uint32_t class_epoch = 1;             // changes when an attribute is added to or removed from a class
    Module* builtins = nullptr;           // builtin names, made on demand
    Dict* modules = nullptr;              // by name (sys.modules)
    Module* main_module = nullptr;
    const BuiltinTable& table;
    tensor::Context tensors;              // modes, memory and random stream of this engine's tensors
    Ref dtypes[tensor::kDTypeCount];      // the dtype objects, made when asked for

    // ---- Running ----
    // Compiles and runs source as a module body; a syntax error is raised as SyntaxError.
    Ref run_module(std::shared_ptr<const lang::Code> unit, Module* module);
    Ptr<Module> make_module(std::string_view name, std::string_view file);
    Ref import_module(std::string_view name, const std::string& importing_file);  // leaf module
    Ptr<Code> link(std::shared_ptr<const lang::Code> unit, const lang::Code& plain, Module* module);
    Ref call_function(Function* function, const Value* args, size_t count, Str* const* keyword_names, size_t nkeywords);
    // Resumes a generator: sends a value, or throws. Empty at its end (then `returned` has the result).
    Ref resume(Generator* generator, Value sent, Ref* returned);
    Ref throw_into(Generator* generator, Value exception, Ref* returned);
    void close(Generator* generator);                      // runs its finally blocks, as generator.close()

    // Pushes the frame of a call that runs a script function (also through a method, an instance or a class), its
    // arguments bound; false when the callee is none of these.
    bool enter_call(Value callee, const Value* args, size_t count, Str* const* keyword_names, size_t nkeywords,
                    uint16_t result);
    // For compiled code: frames as it finds and leaves them.
    Frame* push_frame(Code* code, Function* function);     // registers unbound; the caller gives it a reference to the function
    void pop_frame();
    // The instructions that TRACE stands for.
    std::vector<lang::Instr> traced;
    const lang::Instr& plain(const lang::Instr& instr) const {
        return instr.op == lang::Op::TRACE ? traced[static_cast<size_t>(instr.bc())] : instr;
    }
    // Asks for hooks.hot at the next loop header or call.
    void warm() {
        warm_ = true;
        poll_flag.store(true, std::memory_order_relaxed);
    }

    // ---- Names ----
    Cell* global_cell(Module* module, Str* name);          // made if there is none
    Ref builtin(std::string_view name);                    // value of a builtin name; empty: none

    // ---- Exceptions ----
    void set_raised(Ref exception) { raised_ = std::move(exception); }
    Ref take_raised() { return std::move(raised_); }
    Value handled() const { return handled_; }             // exception being handled (Undef: none), borrowed
    std::string format_exception(Value exception, bool colour);  // whole report with call chain and carets

    // ---- Limits ----
    // Called now and then by natives that loop, and by the interpreter at back jumps and calls.
    void poll() {
        if (poll_flag.load(std::memory_order_relaxed)) [[unlikely]] poll_slow();
    }
    void tick(uint64_t instructions) {                     // natives: work done, in instructions
        if ((fuel -= static_cast<int64_t>(instructions)) < 0) [[unlikely]] poll_slow();
        poll();
    }
    void poll_slow();                                      // raises KeyboardInterrupt or LimitExceeded if due
    void check_time();                                     // natives that wait: as poll_slow, at once
    void interrupt();                                      // from any thread or a signal handler
    std::atomic<bool> poll_flag{false};
    int64_t fuel = 0;                                      // instructions until the next slow poll
    uint64_t instructions_run() const;
    void begin_run();                                      // starts the clock of a run

    // ---- Frames ----
    Frame* frame() { return frame_; }
    size_t depth() const { return static_cast<size_t>(frame_ - frames_); }
    void check_stack();                                    // C++ stack: RecursionError when low
    Value* stack_top() { return stack_top_; }

    std::unordered_map<std::string_view, Str*> interned;   // keys point into the strings
    Ptr<Str> empty_str;
    Ptr<Str> chars[128];
    Ptr<Tuple> empty_tuple;
    Ref kept_alive;                                        // a list of values that live as long as the engine
    // The stdlib's own per-engine state (random generator, open files, ...), by address of a key.
    std::unordered_map<const void*, std::shared_ptr<void>> extension;
    bool verify_code = false;                              // run the bytecode verifier on all code

  private:
    friend class Heap;
    friend struct Steps;
    void make_classes();
    void refuel();
    void adapt_slice();
    size_t memory_for_run() const;
    Ref run(bool raising);                // the innermost frame, which is an entry frame; raising: begin with raised_
    Ref resume_frame(Generator* generator, Value sent, bool raising, Ref* returned);

    Frame* frames_ = nullptr;
    Frame* frames_end_ = nullptr;
    Frame* frame_ = nullptr;              // innermost
    Value* stack_ = nullptr;
    Value* stack_end_ = nullptr;
    Value* stack_top_ = nullptr;
    char* native_stack_limit_ = nullptr;
    Ref raised_;
    Value handled_;                       // owned
    bool yielded_ = false;                // run() came back by a yield
    std::atomic<bool> interrupted_{false};
    bool warm_ = false;
    uint64_t fuel_given_ = 0;             // of the slice that is being used up
    uint64_t fuel_used_ = 0;              // in the slices before it
    std::chrono::steady_clock::time_point deadline_{};
    std::chrono::steady_clock::time_point slice_began_{};   // when there is a deadline
    uint64_t slice_ = 0;                  // instructions until the next look at the clock
    bool has_deadline_ = false;
};

template <class F>
void for_each(Vm& vm, Value iterable, F&& body) {
    if (iterable.is_kind(Kind::Tuple) && !cast<Object>(iterable)->cls->user) {
        Tuple* tuple = cast<Tuple>(iterable);
        Ref keep(iterable);
        for (size_t i = 0; i < tuple->size; i++) body(tuple->items[i]);
        return;
    }
    if (iterable.is_kind(Kind::List) && !cast<Object>(iterable)->cls->user) {
        List* list = cast<List>(iterable);
        Ref keep(iterable);
        for (size_t i = 0; i < list->size; i++) body(Ref(list->items[i]).get());
        return;
    }
    Ref iterator = iterate(vm, iterable);
    while (Ref item = next(vm, iterator)) body(item.get());
}

}  // namespace talc::vm
