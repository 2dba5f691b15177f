// The interpreter loop. Registers own their values; see lang/opcodes.def for what each instruction does and
// which operands it consumes. The rarer instructions' work is in steps.cpp.
#include <new>
#include <stdexcept>

#include "vm/arith.hpp"
#include "vm/call.hpp"
#include "vm/containers.hpp"
#include "vm/shape.hpp"
#include "vm/steps.hpp"
#include "vm/vm.hpp"

// Addresses of labels: one indirect jump an instruction, each with its own branch prediction.
#pragma GCC diagnostic ignored "-Wpedantic"

namespace talc::vm {

using lang::Instr;
using lang::Op;

namespace {

constexpr int64_t kRaiseCost = 100;  // in instructions: what unwinding C++ takes

inline void put(Value& slot, Value owned) {
    Value old = slot;
    slot = owned;
    decref(old);
}
inline void put_int(Value& slot, int64_t x) { put(slot, Value::integer(x)); }
inline void put_float(Value& slot, double x) { put(slot, Value::real(x)); }
inline void put_bool(Value& slot, bool x) { put(slot, Value::boolean(x)); }

// Unless a TRACE stands there.
inline void quicken(Instr& at, Op from, Op to) {
    if (at.op == from) at.op = to;
}

inline bool plain_kind(Value v, Kind kind) { return v.is_kind(kind) && !v.o->cls->user; }
inline bool both(Value a, Value b, Tag tag) { return a.tag == tag && b.tag == tag; }
inline bool is_real(Value v) { return v.tag == Tag::Int || v.tag == Tag::Float; }
inline double as_real(Value v) { return v.tag == Tag::Int ? static_cast<double>(v.i) : v.f; }

template <class T>
inline bool holds(CompareOp op, T a, T b) {
    switch (op) {
        case CompareOp::Eq: return a == b;
        case CompareOp::Ne: return a != b;
        case CompareOp::Lt: return a < b;
        case CompareOp::Le: return a <= b;
        case CompareOp::Gt: return a > b;
        case CompareOp::Ge: return a >= b;
    }
    return false;
}

const lang::Handler* find_handler(const lang::Code& code, uint32_t at) {
    for (const lang::Handler& handler : code.handlers) {
        if (at >= handler.begin && at < handler.end) return &handler;
    }
    return nullptr;
}

}  // namespace

Frame* Vm::push_frame(Code* code, Function* function) {
    Frame* frame = frame_ + 1;
    if (static_cast<size_t>(frame - frames_) > limits.recursion || frame >= frames_end_ ||
        stack_end_ - stack_top_ < code->nregs) [[unlikely]] {
        raise(*this, Exc::RecursionError, std::string("maximum recursion depth exceeded"));
    }
    frame->code = code;
    frame->function = function;
    frame->pc = code->instrs;
    frame->registers = stack_top_;
    frame->generator = nullptr;
    frame->init_self = Value();
    frame->result = 0;
    frame->entry = false;
    frame->for_next = false;
    stack_top_ += code->nregs;
    frame_ = frame;
    return frame;
}

void Vm::pop_frame() {
    Frame* frame = frame_;
    Steps::clear_registers(frame->registers, frame->code->nregs);
    // To let go of these may run code of the script (a generator's `finally`), in this very place of the stack.
    Value self = std::exchange(frame->init_self, Value());
    Function* function = frame->function;
    frame_ = frame - 1;
    stack_top_ = frame->registers;
    if (!self.is_undef()) decref(self);
    if (function) decref(static_cast<Object*>(function));
}

bool Vm::enter_call(Value callee, const Value* args, size_t count, Str* const* keyword_names, size_t nkeywords,
                    uint16_t result) {
    Function* function = nullptr;
    Value receiver;
    Ref instance;
    if (!callee.is_obj()) return false;
    switch (callee.o->kind) {
        case Kind::Function: function = cast<Function>(callee); break;
        case Kind::BoundMethod:
            if (!cast<BoundMethod>(callee)->function.is_kind(Kind::Function)) return false;
            function = cast<Function>(cast<BoundMethod>(callee)->function);
            receiver = cast<BoundMethod>(callee)->self;
            break;
        case Kind::Instance: {
            Value method = find_special(*this, callee, Special::Call);
            if (!method.is_kind(Kind::Function)) return false;
            function = cast<Function>(method);
            receiver = callee;
            break;
        }
        case Kind::Class: {
            auto* cls = cast<Class>(callee);
            if (!cls->user || cls->instance_kind != Kind::Instance) return false;
            if (!find_special(*this, cls, Special::New).is_undef()) return false;
            Value init = find_special(*this, cls, Special::Init);
            if (!init.is_kind(Kind::Function)) return false;
            function = cast<Function>(init);
            break;
        }
        default: return false;
    }
    if (function->code->generator) return false;
    if (callee.o->kind == Kind::Class) {
        instance = allocate_instance(*this, cast<Class>(callee));
        receiver = instance;
    }
    constexpr size_t kInline = 12;
    Value small[kInline];
    std::vector<Value> large;
    const Value* all = args;
    size_t total = count;
    if (!receiver.is_undef()) {
        Value* with = small;
        if (++total > kInline) {
            large.resize(total);
            with = large.data();
        }
        with[0] = receiver;
        for (size_t i = 0; i < count; i++) with[i + 1] = args[i];
        all = with;
    }
    Frame* inner = push_frame(function->code, function);
    function->refs++;
    inner->result = result;
    inner->init_self = instance.release();
    try {
        bind_arguments(*this, function, inner->registers, all, total, keyword_names, nkeywords);
    } catch (Raised&) {
        pop_frame();
        throw;
    }
    return true;
}

Ref Vm::run(bool raising) {
    static const void* const kLabels[] = {
#define OP(name, a, b, c, doc) &&L_##name,
#define QUICK(name, base) &&L_##name,
#include "lang/opcodes.def"
    };
    static const void* const kHooked[] = {
#define OP(name, a, b, c, doc) &&L_hook,
#define QUICK(name, base) &&L_hook,
#include "lang/opcodes.def"
    };

    Vm& vm = *this;
    Frame* frame = frame_;
    Instr* pc = frame->pc;
    Value* regs = frame->registers;
    Value* consts = frame->code->constants;
    uint32_t nlocals = frame->code->nlocals;
    Instr ins;
    bool add_entry = true;
    bool left = false;  // the entry frame is gone
    Value returned;     // owned; on the way from RETURN or compiled code to the caller
    const void* const* labels = hooks.instruction ? kHooked : kLabels;

#define NEXT                                         \
    do {                                             \
        ins = *pc++;                                 \
        goto* labels[static_cast<uint16_t>(ins.op)]; \
    } while (0)
#define RA regs[ins.a]
#define RB regs[ins.b]
#define RC regs[ins.c]
#define KB consts[ins.b]
#define KC consts[ins.c]
#define DROP(reg)                                                \
    do {                                                         \
        if ((reg) >= nlocals) put(regs[reg], Value());           \
    } while (0)
#define LOAD_FRAME                               \
    do {                                         \
        frame = frame_;                          \
        pc = frame->pc;                          \
        regs = frame->registers;                 \
        consts = frame->code->constants;         \
        nlocals = frame->code->nlocals;          \
    } while (0)
// header: where a loop or a function begins.
#define POLL(cost, header)                                                                                     \
    do {                                                                                                       \
        if ((fuel -= (cost)) < 0 || poll_flag.load(std::memory_order_relaxed)) [[unlikely]] {                  \
            poll_slow();                                                                                       \
            if (std::exchange(warm_, false) && hooks.hot) hooks.hot(hooks.context, vm, *frame, header);        \
            labels = hooks.instruction ? kHooked : kLabels;                                                    \
        }                                                                                                      \
    } while (0)

    for (;;) {
        try {
            if (raising) goto exception;
            NEXT;

        L_hook:
            frame->pc = pc - 1;
            if (hooks.instruction) hooks.instruction(hooks.context, vm, *frame, pc - 1);
            labels = hooks.instruction ? kHooked : kLabels;
            ins = pc[-1];  // a TRACE may stand there now
            goto* kLabels[static_cast<uint16_t>(ins.op)];
        L_TRACE: {
            frame->pc = pc - 1;
            auto entry = static_cast<uint32_t>(ins.bc());
            ins = traced[entry];
            if (hooks.trace && !hooks.instruction) {
                Value given;
                Traced outcome;
                {
                    Ref result;
                    outcome = hooks.trace(hooks.context, vm, *frame, entry, result);
                    given = result.release();
                }
                labels = hooks.instruction ? kHooked : kLabels;
                switch (outcome) {
                    case Traced::no: break;
                    case Traced::moved: LOAD_FRAME; NEXT;
                    case Traced::plainly:
                        LOAD_FRAME;
                        ins = plain(*pc++);
                        goto* labels[static_cast<uint16_t>(ins.op)];
                    case Traced::returned:
                        LOAD_FRAME;
                        returned = given;
                        goto do_return;
                    case Traced::raised: LOAD_FRAME; goto exception;
                }
                // Recording may have begun: it sees this instruction too.
                if (hooks.instruction) hooks.instruction(hooks.context, vm, *frame, pc - 1);
            }
            goto* kLabels[static_cast<uint16_t>(ins.op)];
        }

#include "vm/loop/load.inc"
#include "vm/loop/arith.inc"
#include "vm/loop/compare.inc"
#include "vm/loop/access.inc"
#include "vm/loop/call.inc"
#include "vm/loop/build.inc"

        exception:
            raising = false;
            fuel -= kRaiseCost;
            {
                Ref error = take_raised();
                Steps::set_context(vm, error);
                if (hooks.unwind) {
                    frame->pc = pc;
                    hooks.unwind(hooks.context, vm, *frame);
                    labels = hooks.instruction ? kHooked : kLabels;
                }
                for (;;) {
                    auto at = static_cast<uint32_t>(pc - frame->code->instrs - 1);
                    if (add_entry) Steps::add_traceback(vm, error, frame->code, at);
                    add_entry = true;
                    if (const lang::Handler* handler = find_handler(*frame->code->plain, at)) {
                        put(regs[handler->reg], error.release());
                        pc = frame->code->instrs + handler->target;
                        break;
                    }
                    bool entry = frame->entry;
                    if (Generator* generator = frame->generator) {
                        generator->state = GeneratorState::Finished;
                        Steps::clear_registers(generator->registers, frame->code->nregs);
                        decref(std::exchange(handled_, frame->saved_handled));
                        frame_--;
                        decref(static_cast<Object*>(generator));
                        if (is_instance(vm, error, classes.of(Exc::StopIteration))) {
                            Ref text = make_str(vm, "generator raised StopIteration");
                            Value arg = text;
                            Ref wrapped = make_exception(vm, classes.of(Exc::RuntimeError), &arg, 1);
                            Steps::set_cause(vm, wrapped, error);
                            cast<Exception>(wrapped.get())->context = Ref(error).release();
                            error = std::move(wrapped);
                        }
                    } else {
                        if (hooks.leave) hooks.leave(hooks.context, vm, *frame, Value());
                        pop_frame();
                    }
                    if (entry) {
                        raised_ = std::move(error);
                        left = true;
                        throw Raised{};
                    }
                    LOAD_FRAME;
                }
            }
            NEXT;
        } catch (Raised&) {
            if (left) throw;  // nobody here handles it
            raising = true;
        } catch (std::bad_alloc&) {  // of a buffer outside the heap
            raised_ = make_exception(vm, classes.of(Exc::MemoryError), nullptr, 0);
            raising = true;
        } catch (std::length_error&) {
            raised_ = make_exception(vm, classes.of(Exc::MemoryError), nullptr, 0);
            raising = true;
        }
    }
}

}  // namespace talc::vm
