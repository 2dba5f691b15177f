// The interpreter loop. Registers own their values; see lang/opcodes.def for what each instruction does and
// which operands it consumes. The rarer instructions' work is in steps.cpp.
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

inline void put(Value& slot, Value owned) {
    Value old = slot;
    slot = owned;
    decref(old);
}
inline void put_int(Value& slot, int64_t x) { put(slot, Value::integer(x)); }
inline void put_float(Value& slot, double x) { put(slot, Value::real(x)); }
inline void put_bool(Value& slot, bool x) { put(slot, Value::boolean(x)); }

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
    frame_ = frame - 1;
    Steps::clear_registers(frame->registers, frame->code->nregs);
    stack_top_ = frame->registers;
    if (!frame->init_self.is_undef()) decref(std::exchange(frame->init_self, Value()));
    if (frame->function) decref(static_cast<Object*>(frame->function));
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
#define POLL(cost)                                                                                             \
    do {                                                                                                       \
        if ((fuel -= (cost)) < 0 || poll_flag.load(std::memory_order_relaxed)) [[unlikely]] {                  \
            poll_slow();                                                                                       \
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
            goto* kLabels[static_cast<uint16_t>(ins.op)];

            // ---- Moving and loading ----
        L_NOP:
        L_EXTRA:
            NEXT;
        L_MOVE: {
            Value v = RB;
            if (ins.b >= nlocals) {
                RB = Value();
            } else {
                incref(v);
            }
            put(RA, v);
            NEXT;
        }
        L_COPY: {
            Value v = RB;
            incref(v);
            put(RA, v);
            NEXT;
        }
        L_LOAD_CONST: {
            Value v = KB;
            incref(v);
            put(RA, v);
            NEXT;
        }
        L_LOAD_INT:
            put_int(RA, ins.bc());
            NEXT;
        L_LOAD_NONE:
            put(RA, Value::none());
            NEXT;
        L_LOAD_TRUE:
            put_bool(RA, true);
            NEXT;
        L_LOAD_FALSE:
            put_bool(RA, false);
            NEXT;
        L_CHECK_BOUND:
            if (RA.is_undef()) [[unlikely]] Steps::unbound_local(vm, frame->code->names[ins.b]);
            NEXT;
        L_DELETE_LOCAL:
            if (RA.is_undef()) [[unlikely]] Steps::unbound_local(vm, frame->code->names[ins.b]);
            put(RA, Value());
            NEXT;
        L_CLEAR:
            put(RA, Value());
            NEXT;
        L_LOAD_GLOBAL: {
            Cell* cell = frame->code->globals[ins.bc()];
            Value v = cell->value;
            if (v.is_undef()) {
                if (cell->fallback) v = cell->fallback->value;
                if (v.is_undef()) [[unlikely]] Steps::undefined_global(vm, cell->name);
            }
            incref(v);
            put(RA, v);
            NEXT;
        }
        L_STORE_GLOBAL: {
            Value v = RA;
            if (ins.a >= nlocals) {
                RA = Value();
            } else {
                incref(v);
            }
            put(frame->code->globals[ins.bc()]->value, v);
            NEXT;
        }
        L_DELETE_GLOBAL: {
            Cell* cell = frame->code->globals[ins.bc()];
            if (cell->value.is_undef()) [[unlikely]] Steps::undefined_global(vm, cell->name);
            put(cell->value, Value());
            NEXT;
        }
        L_MAKE_CELL: {
            Ptr<Cell> cell = make_cell(vm, RA);
            put(RA, Value::object(cell.release()));
            NEXT;
        }
        L_LOAD_CELL: {
            Value v = cast<Cell>(RB)->value;
            if (v.is_undef()) [[unlikely]] {
                Steps::unbound_local(vm, intern(vm, frame->code->plain->local_names[ins.b]).get());
            }
            incref(v);
            put(RA, v);
            NEXT;
        }
        L_STORE_CELL: {
            Value v = RB;
            if (ins.b >= nlocals) {
                RB = Value();
            } else {
                incref(v);
            }
            put(cast<Cell>(RA)->value, v);
            NEXT;
        }
        L_DELETE_CELL:
            if (cast<Cell>(RA)->value.is_undef()) [[unlikely]] {
                Steps::unbound_local(vm, intern(vm, frame->code->plain->local_names[ins.a]).get());
            }
            put(cast<Cell>(RA)->value, Value());
            NEXT;
        L_LOAD_FREE: {
            Value v = frame->function->closure[ins.b]->value;
            if (v.is_undef()) [[unlikely]] Steps::unbound_free(vm, frame->code->plain->captures[ins.b].name);
            incref(v);
            put(RA, v);
            NEXT;
        }
        L_STORE_FREE: {
            Value v = RA;
            if (ins.a >= nlocals) {
                RA = Value();
            } else {
                incref(v);
            }
            put(frame->function->closure[ins.b]->value, v);
            NEXT;
        }
        L_DELETE_FREE:
            if (frame->function->closure[ins.b]->value.is_undef()) [[unlikely]] {
                Steps::unbound_free(vm, frame->code->plain->captures[ins.b].name);
            }
            put(frame->function->closure[ins.b]->value, Value());
            NEXT;
        L_LOAD_NAME: {
            Cell* cell = frame->code->globals[ins.bc()];
            Value v = dict_get(vm, cast<Dict>(regs[0]), cell->name);
            if (v.is_undef()) v = cell->value;
            if (v.is_undef() && cell->fallback) v = cell->fallback->value;
            if (v.is_undef()) Steps::undefined_global(vm, cell->name);
            incref(v);
            put(RA, v);
            NEXT;
        }
        L_STORE_NAME:
            dict_set(vm, cast<Dict>(regs[0]), Value::object(frame->code->globals[ins.bc()]->name), RA);
            DROP(ins.a);
            NEXT;
        L_DELETE_NAME: {
            Str* name = frame->code->globals[ins.bc()]->name;
            if (!dict_remove(vm, cast<Dict>(regs[0]), Value::object(name))) Steps::undefined_global(vm, name);
            NEXT;
        }
        L_LOAD_CLASS_FREE: {
            const std::string& name = frame->code->plain->captures[ins.b].name;
            Value v = dict_get(vm, cast<Dict>(regs[0]), intern(vm, name).get());
            if (v.is_undef()) v = frame->function->closure[ins.b]->value;
            if (v.is_undef()) Steps::unbound_free(vm, name);
            incref(v);
            put(RA, v);
            NEXT;
        }

            // ---- Arithmetic ----
            // SLOW_BINARY: any operands; consumes temporaries.
#define SLOW_BINARY(run_op, bop, rhs, drop_c)                    \
    {                                                            \
        Ref result = run_op(vm, BinaryOp::bop, RB, rhs);         \
        DROP(ins.b);                                             \
        drop_c;                                                  \
        put(RA, result.release());                               \
        NEXT;                                                    \
    }
#define FAST_ARITH(name, bop, rhs, drop_c, run_op, overflow, sign)                           \
    L_##name : {                                                                           \
        Value b = RB, c = rhs;                                                             \
        if (both(b, c, Tag::Int)) {                                                        \
            int64_t r;                                                                     \
            if (!overflow(b.i, c.i, &r)) [[likely]] {                                      \
                pc[-1].op = Op::name##_II;                                                 \
                put_int(RA, r);                                                            \
                NEXT;                                                                      \
            }                                                                              \
        } else if (both(b, c, Tag::Float)) {                                               \
            pc[-1].op = Op::name##_FF;                                                     \
            put_float(RA, b.f sign c.f);                                                     \
            NEXT;                                                                          \
        } else if (is_real(b) && is_real(c)) {                                             \
            put_float(RA, as_real(b) sign as_real(c));                                       \
            NEXT;                                                                          \
        } else if (BinaryOp::bop == BinaryOp::Add && plain_kind(b, Kind::Str) && plain_kind(c, Kind::Str)) { \
            Ref result = Steps::str_plus(vm, b, c, ins.a == ins.b || ins.b >= nlocals);    \
            DROP(ins.b);                                                                   \
            drop_c;                                                                        \
            put(RA, result.release());                                                     \
            NEXT;                                                                          \
        }                                                                                  \
        SLOW_BINARY(run_op, bop, rhs, drop_c)                                              \
    }                                                                                      \
    L_##name##_II : {                                                                      \
        Value b = RB, c = rhs;                                                             \
        int64_t r;                                                                         \
        if (both(b, c, Tag::Int) && !overflow(b.i, c.i, &r)) [[likely]] {                  \
            put_int(RA, r);                                                                \
            NEXT;                                                                          \
        }                                                                                  \
        pc[-1].op = Op::name;                                                              \
        goto L_##name;                                                                     \
    }                                                                                      \
    L_##name##_FF : {                                                                      \
        Value b = RB, c = rhs;                                                             \
        if (both(b, c, Tag::Float)) [[likely]] {                                           \
            put_float(RA, b.f sign c.f);                                                     \
            NEXT;                                                                          \
        }                                                                                  \
        pc[-1].op = Op::name;                                                              \
        goto L_##name;                                                                     \
    }
#define FAST_ARITH4(name, bop, overflow, sign)                                                     \
    FAST_ARITH(name, bop, RC, DROP(ins.c), binary, overflow, sign)                                 \
    FAST_ARITH(name##_K, bop, KC, (void)0, binary, overflow, sign)                                 \
    FAST_ARITH(I##name, bop, RC, DROP(ins.c), binary_in_place, overflow, sign)                     \
    FAST_ARITH(I##name##_K, bop, KC, (void)0, binary_in_place, overflow, sign)
            FAST_ARITH4(ADD, Add, __builtin_add_overflow, +)
            FAST_ARITH4(SUB, Sub, __builtin_sub_overflow, -)
            FAST_ARITH4(MUL, Mul, __builtin_mul_overflow, *)

            // The other operators: FAST is a statement that may finish (NEXT) on ints or floats b and c.
#define ARITH(name, bop, rhs, drop_c, run_op, FAST)  \
    L_##name : {                                     \
        Value b = RB, c = rhs;                       \
        FAST;                                        \
        SLOW_BINARY(run_op, bop, rhs, drop_c)        \
    }
#define ARITH4(name, bop, FAST)                                            \
    ARITH(name, bop, RC, DROP(ins.c), binary, FAST)                        \
    ARITH(name##_K, bop, KC, (void)0, binary, FAST)                        \
    ARITH(I##name, bop, RC, DROP(ins.c), binary_in_place, FAST)            \
    ARITH(I##name##_K, bop, KC, (void)0, binary_in_place, FAST)
#define DONE_INT(expr)      \
    {                       \
        put_int(RA, expr);  \
        NEXT;               \
    }
            ARITH4(DIV, Div, if (is_real(b) && is_real(c) && as_real(c) != 0) {
                double quotient = both(b, c, Tag::Int) ? int_true_div(b.i, c.i) : as_real(b) / as_real(c);
                put_float(RA, quotient);
                NEXT;
            })
            ARITH4(FLOORDIV, FloorDiv, if (both(b, c, Tag::Int) && c.i > 0) DONE_INT(floor_div(b.i, c.i)))
            ARITH4(MOD, Mod, if (both(b, c, Tag::Int) && c.i > 0) DONE_INT(floor_mod(b.i, c.i)))
            ARITH4(POW, Pow, (void)b; (void)c)
            ARITH4(MATMUL, MatMul, (void)b; (void)c)
            ARITH4(LSHIFT, LShift, (void)b; (void)c)
            ARITH4(RSHIFT, RShift, if (both(b, c, Tag::Int) && c.i >= 0 && c.i < 64) DONE_INT(b.i >> c.i))
            ARITH4(AND, And, if (both(b, c, Tag::Int)) DONE_INT(b.i & c.i))
            ARITH4(OR, Or, if (both(b, c, Tag::Int)) DONE_INT(b.i | c.i))
            ARITH4(XOR, Xor, if (both(b, c, Tag::Int)) DONE_INT(b.i ^ c.i))

#define UNARY(name, uop)                           \
    L_##name : {                                   \
        Ref result = unary(vm, UnaryOp::uop, RB);  \
        DROP(ins.b);                               \
        put(RA, result.release());                 \
        NEXT;                                      \
    }
        L_NEG: {
            Value v = RB;
            if (v.is_float()) {
                put_float(RA, -v.f);
                NEXT;
            }
            Ref result = unary(vm, UnaryOp::Neg, v);
            DROP(ins.b);
            put(RA, result.release());
            NEXT;
        }
            UNARY(POS, Pos)
            UNARY(INVERT, Invert)
        L_NOT: {
            Value v = RB;
            bool result = v.is_bool() ? v.b : truth(vm, v);
            DROP(ins.b);
            put_bool(RA, !result);
            NEXT;
        }

            // ---- Comparing ----
#define COMPARE(name, cop, rhs, drop_c)                              \
    L_##name : {                                                     \
        Value b = RB, c = rhs;                                       \
        if (both(b, c, Tag::Int)) {                                  \
            put_bool(RA, holds(CompareOp::cop, b.i, c.i));           \
            NEXT;                                                    \
        }                                                            \
        if (both(b, c, Tag::Float)) {                                \
            put_bool(RA, holds(CompareOp::cop, b.f, c.f));           \
            NEXT;                                                    \
        }                                                            \
        Ref result = compare(vm, CompareOp::cop, b, c);              \
        DROP(ins.b);                                                 \
        drop_c;                                                      \
        put(RA, result.release());                                   \
        NEXT;                                                        \
    }
#define COMPARE_JUMP(name, cop, rhs, drop_b, wanted)                                 \
    L_##name : {                                                                     \
        Value a = RA, b = rhs;                                                       \
        bool result;                                                                 \
        if (both(a, b, Tag::Int)) {                                                  \
            result = holds(CompareOp::cop, a.i, b.i);                                \
        } else if (both(a, b, Tag::Float)) {                                         \
            result = holds(CompareOp::cop, a.f, b.f);                                \
        } else {                                                                     \
            result = compare_bool(vm, CompareOp::cop, a, b);                         \
            DROP(ins.a);                                                             \
            drop_b;                                                                  \
        }                                                                            \
        if (result == wanted) pc += ins.jump16();                                    \
        NEXT;                                                                        \
    }
#define COMPARE_ALL(name, cop)                                       \
    COMPARE(name, cop, RC, DROP(ins.c))                              \
    COMPARE(name##_K, cop, KC, (void)0)                              \
    COMPARE_JUMP(J##name, cop, RB, DROP(ins.b), true)                \
    COMPARE_JUMP(JN##name, cop, RB, DROP(ins.b), false)              \
    COMPARE_JUMP(J##name##_K, cop, KB, (void)0, true)                \
    COMPARE_JUMP(JN##name##_K, cop, KB, (void)0, false)
            COMPARE_ALL(EQ, Eq)
            COMPARE_ALL(NE, Ne)
            COMPARE_ALL(LT, Lt)
            COMPARE_ALL(LE, Le)
            COMPARE_ALL(GT, Gt)
            COMPARE_ALL(GE, Ge)
        L_IS:
        L_IS_NOT: {
            bool same = RB.same(RC);
            DROP(ins.b);
            DROP(ins.c);
            put_bool(RA, same == (ins.op == Op::IS));
            NEXT;
        }
        L_IN:
        L_NOT_IN: {
            Value c = RC;
            bool found = plain_kind(c, Kind::Dict) ? !dict_get(vm, cast<Dict>(c), RB).is_undef() : contains(vm, c, RB);
            DROP(ins.b);
            DROP(ins.c);
            put_bool(RA, found == (ins.op == Op::IN));
            NEXT;
        }

            // ---- Jumping ----
        L_JUMP:
            pc += ins.bc();
            NEXT;
        L_JUMP_BACK:
            pc += ins.bc();
            POLL(-ins.bc());
            NEXT;
#define JUMP_ON(name, wanted, drop)                              \
    L_##name : {                                                 \
        Value v = RA;                                            \
        bool result = v.is_bool() ? v.b : truth(vm, v);          \
        drop;                                                    \
        if (result == wanted) pc += ins.bc();                    \
        NEXT;                                                    \
    }
            JUMP_ON(JUMP_IF, true, DROP(ins.a))
            JUMP_ON(JUMP_IF_NOT, false, DROP(ins.a))
            JUMP_ON(JUMP_IF_KEEP, true, (void)0)
            JUMP_ON(JUMP_IF_NOT_KEEP, false, (void)0)
        L_JUMP_IF_NONE: {
            bool none = RA.is_none();
            DROP(ins.a);
            if (none) pc += ins.bc();
            NEXT;
        }
        L_JUMP_IF_NOT_NONE: {
            bool none = RA.is_none();
            DROP(ins.a);
            if (!none) pc += ins.bc();
            NEXT;
        }

            // ---- Iterating ----
        L_GET_ITER: {
            Ref iterator = iterate(vm, RB);
            DROP(ins.b);
            put(RA, iterator.release());
            NEXT;
        }
        L_FOR_NEXT: {
            Object* iterator = RA.o;
            POLL(-ins.jump16());
            switch (iterator->kind) {
                case Kind::RangeIter: {
                    auto* range = static_cast<RangeIter*>(iterator);
                    if (range->left <= 0) break;
                    range->left--;
                    int64_t at = range->next;
                    range->next = static_cast<int64_t>(static_cast<uint64_t>(at) + static_cast<uint64_t>(range->step));
                    put_int(RB, at);
                    pc += ins.jump16();
                    NEXT;
                }
                case Kind::ListIter: {
                    auto* list = static_cast<ListIter*>(iterator);
                    if (!list->list || list->at >= list->list->size) break;
                    Value item = list->list->items[list->at++];
                    incref(item);
                    put(RB, item);
                    pc += ins.jump16();
                    NEXT;
                }
                case Kind::Generator: {
                    auto* generator = static_cast<Generator*>(iterator);
                    if (generator->state != GeneratorState::Created && generator->state != GeneratorState::Suspended) goto for_next_slow;
                    if (generator->delegating) goto for_next_slow;
                    frame->pc = pc;
                    Frame* inner = push_frame(generator->function->code, nullptr);
                    stack_top_ = inner->registers;  // its registers are the generator's own
                    inner->registers = generator->registers;
                    inner->generator = generator;
                    generator->refs++;
                    inner->result = ins.b;
                    inner->for_next = true;
                    inner->pc = const_cast<Instr*>(generator->pc);
                    inner->function = generator->function;
                    inner->saved_handled = handled_;
                    handled_ = std::exchange(generator->handled, Value());
                    if (generator->state == GeneratorState::Suspended) put(generator->registers[generator->pc[-1].a], Value::none());
                    generator->state = GeneratorState::Running;
                    LOAD_FRAME;
                    NEXT;
                }
                default: {
                for_next_slow:
                    Ref item = next(vm, Value::object(iterator));
                    if (!item) break;
                    put(RB, item.release());
                    pc += ins.jump16();
                    NEXT;
                }
            }
            put(RA, Value());
            NEXT;
        }
            // A computed goto runs no destructors: owners that are not empty at NEXT live in a block of their own.
        L_UNPACK: {
            {
                Ref source(RB);
                DROP(ins.b);
                Value v = source;
                if (plain_kind(v, Kind::Tuple) && cast<Tuple>(v)->size == ins.c) {
                    Value* items = cast<Tuple>(v)->items;
                    for (unsigned i = 0; i < ins.c; i++) {
                        incref(items[i]);
                        put(regs[ins.a + i], items[i]);
                    }
                } else {
                    Steps::unpack(vm, v, &RA, ins.c);
                }
            }
            NEXT;
        }
        L_UNPACK_STAR: {
            {
                Ref source(RB);
                DROP(ins.b);
                Steps::unpack_star(vm, source, &RA, ins.c % 256, ins.c / 256);
            }
            NEXT;
        }

            // ---- Items and attributes ----
#define INDEX_FAST(key)                                                                                  \
    if (object.is_obj() && !object.o->cls->user) {                                                       \
        if (object.o->kind == Kind::List && (key).is_int()) {                                            \
            auto* list = cast<List>(object);                                                             \
            int64_t at = (key).i < 0 ? (key).i + static_cast<int64_t>(list->size) : (key).i;             \
            if (static_cast<uint64_t>(at) < list->size) [[likely]] {                                     \
                Value item = list->items[at];                                                            \
                incref(item);                                                                            \
                DROP(ins.b);                                                                             \
                put(RA, item);                                                                           \
                NEXT;                                                                                    \
            }                                                                                            \
        } else if (object.o->kind == Kind::Dict) {                                                       \
            Value item = dict_get(vm, cast<Dict>(object), key);                                          \
            if (!item.is_undef()) [[likely]] {                                                           \
                incref(item);                                                                            \
                DROP(ins.b);                                                                             \
                DROP_KEY;                                                                                \
                put(RA, item);                                                                           \
                NEXT;                                                                                    \
            }                                                                                            \
        } else if (object.o->kind == Kind::Tuple && (key).is_int()) {                                    \
            auto* tuple = cast<Tuple>(object);                                                           \
            int64_t at = (key).i < 0 ? (key).i + static_cast<int64_t>(tuple->size) : (key).i;            \
            if (static_cast<uint64_t>(at) < tuple->size) [[likely]] {                                    \
                Value item = tuple->items[at];                                                           \
                incref(item);                                                                            \
                DROP(ins.b);                                                                             \
                put(RA, item);                                                                           \
                NEXT;                                                                                    \
            }                                                                                            \
        }                                                                                                \
    }
        L_INDEX: {
            Value object = RB, key = RC;
#define DROP_KEY DROP(ins.c)
            INDEX_FAST(key)
            Ref item = get_item(vm, object, key);
            DROP(ins.b);
            DROP(ins.c);
            put(RA, item.release());
            NEXT;
        }
        L_INDEX_K: {
            Value object = RB;
            const Value& key = KC;
#undef DROP_KEY
#define DROP_KEY (void)0
            INDEX_FAST(key)
            Ref item = get_item(vm, object, key);
            DROP(ins.b);
            put(RA, item.release());
            NEXT;
        }
        L_STORE_INDEX: {
            Value object = RA, key = RB, value = RC;
            if (plain_kind(object, Kind::List) && key.is_int()) {
                auto* list = cast<List>(object);
                int64_t at = key.i < 0 ? key.i + static_cast<int64_t>(list->size) : key.i;
                if (static_cast<uint64_t>(at) < list->size) [[likely]] {
                    incref(value);
                    put(list->items[at], value);
                    DROP(ins.a);
                    DROP(ins.c);
                    NEXT;
                }
            }
            if (plain_kind(object, Kind::Dict)) {
                dict_set(vm, cast<Dict>(object), key, value);
            } else {
                set_item(vm, object, key, value);
            }
            DROP(ins.a);
            DROP(ins.b);
            DROP(ins.c);
            NEXT;
        }
        L_DELETE_INDEX:
            del_item(vm, RA, RB);
            DROP(ins.a);
            DROP(ins.b);
            NEXT;
        L_SLICE: {
            Ref part = Steps::slice(vm, RB, RC, regs[ins.c + 1]);
            DROP(ins.b);
            DROP(ins.c);
            DROP(ins.c + 1u);
            put(RA, part.release());
            NEXT;
        }
        L_BUILD_SLICE: {
            Ref slice = make_slice(vm, RB, regs[ins.b + 1], regs[ins.b + 2]);
            for (unsigned i = 0; i < 3; i++) DROP(ins.b + i);
            put(RA, slice.release());
            NEXT;
        }
        L_LOAD_ATTR: {
            Value object = RB;
            AttrCache& site = frame->code->sites[ins.c];
            if (object.is_kind(Kind::Instance)) {
                Slots& slots = cast<Instance>(object)->slots;
                if (slots.shape == site.shape && site.epoch == class_epoch) [[likely]] {
                    Value v = site.cell ? site.cell->value : slots.values[site.slot];
                    incref(v);
                    DROP(ins.b);
                    put(RA, v);
                    NEXT;
                }
            } else if (object.is_obj() && object.o == site.holder && site.epoch == class_epoch && !site.cell->value.is_undef()) {
                Value v = site.cell->value;  // a module's attribute
                incref(v);
                DROP(ins.b);
                put(RA, v);
                NEXT;
            }
            Ref v = Steps::load_attr(vm, object, site);
            DROP(ins.b);
            put(RA, v.release());
            NEXT;
        }
        L_STORE_ATTR: {
            Value object = RA;
            AttrCache& site = frame->code->sites[ins.b];
            if (object.is_kind(Kind::Instance)) {
                Slots& slots = cast<Instance>(object)->slots;
                if (slots.shape == site.shape && site.epoch == class_epoch) {
                    Value v = RC;
                    if (!site.next_shape) {
                        incref(v);
                        put(slots.values[site.slot], v);
                        DROP(ins.a);
                        DROP(ins.c);
                        NEXT;
                    }
                    if (site.slot < slots.capacity) {
                        incref(v);
                        slots.values[site.slot] = v;
                        slots.shape = site.next_shape;
                        DROP(ins.a);
                        DROP(ins.c);
                        NEXT;
                    }
                }
            }
            Steps::store_attr(vm, object, site, RC);
            DROP(ins.a);
            DROP(ins.c);
            NEXT;
        }
        L_DELETE_ATTR:
            del_attr(vm, RA, frame->code->sites[ins.b].name);
            DROP(ins.a);
            NEXT;
        L_LOAD_METHOD: {
            Value object = RB;
            AttrCache& site = frame->code->sites[ins.c];
            if (object.is_obj() && site.epoch == class_epoch) {
                Object* o = object.o;
                bool hit = o->kind == Kind::Instance ? static_cast<Instance*>(o)->slots.shape == site.shape
                                                     : o->cls == static_cast<Object*>(site.holder) && !site.shape;
                if (hit && site.cell && !site.cell->value.is_undef()) [[likely]] {
                    Value function = site.cell->value;
                    incref(function);
                    if (ins.b >= nlocals) {
                        RB = Value();
                    } else {
                        o->refs++;
                    }
                    put(RA, function);
                    put(regs[ins.a + 1], object);
                    NEXT;
                }
            }
            Value function, self;
            Steps::load_method(vm, object, site, &function, &self);
            DROP(ins.b);
            put(RA, function);
            put(regs[ins.a + 1], self);
            NEXT;
        }
        L_SUPER_METHOD: {
            Value function, self;
            Steps::super_method(vm, RB, regs[ins.b + 1], frame->code->sites[ins.c].name, &function, &self);
            DROP(ins.b);
            DROP(ins.b + 1u);
            put(RA, function);
            put(regs[ins.a + 1], self);
            NEXT;
        }
        L_SUPER: {
            Ref made = Steps::make_super(vm, RB, regs[ins.b + 1]);
            DROP(ins.b);
            DROP(ins.b + 1u);
            put(RA, made.release());
            NEXT;
        }

            // ---- Calling ----
            // callee_at: register of the callable; first: of the first argument; count: arguments; last: end of the range.
            unsigned callee_at, first, count;
            Str* const* keyword_names;
            size_t nkeywords;
        L_CALL:
            callee_at = ins.b;
            first = ins.b + 1;
            count = ins.c;
            goto call_positional;
        L_CALL_METHOD:
            callee_at = ins.b;
            if (regs[ins.b + 1].is_undef()) {
                first = ins.b + 2;
                count = ins.c;
            } else {
                first = ins.b + 1;
                count = ins.c + 1u;
            }
        call_positional: {
            Value callee = regs[callee_at];
            if (!callee.is_obj()) goto call_slow;
            switch (callee.o->kind) {
                case Kind::Function: {
                    auto* function = cast<Function>(callee);
                    Code* code = function->code;
                    if (!code->simple || count != code->positional) {
                        if (code->generator) goto call_slow;
                        // Fill in defaults in place of a full binding where that is all there is to do.
                        frame->pc = pc;
                        Frame* inner = push_frame(code, function);
                        function->refs++;
                        try {
                            bind_arguments(vm, function, inner->registers, regs + first, count, nullptr, 0);
                        } catch (Raised&) {
                            pop_frame();
                            throw;
                        }
                        inner->result = ins.a;
                        Steps::clear_registers(regs + callee_at, first + count - callee_at);
                        LOAD_FRAME;
                        POLL(static_cast<int64_t>(code->plain->instrs.size()));
                        NEXT;
                    }
                    frame->pc = pc;
                    Frame* inner = push_frame(code, function);
                    inner->result = ins.a;
                    regs[callee_at] = Value();  // the frame owns the function now
                    Value* to = inner->registers;
                    Value* from = regs + first;
                    for (unsigned i = 0; i < count; i++) {
                        to[i] = from[i];
                        from[i] = Value();
                    }
                    frame = inner;
                    pc = inner->pc;
                    regs = to;
                    consts = code->constants;
                    nlocals = code->nlocals;
                    POLL(static_cast<int64_t>(code->plain->instrs.size()));
                    if (hooks.enter) hooks.enter(hooks.context, vm, *frame);
                    NEXT;
                }
                case Kind::Native: {
                    frame->pc = pc;
                    Ref result = call_native(vm, cast<Native>(callee), regs + first, count, nullptr, 0);
                    Steps::clear_registers(regs + callee_at, first + count - callee_at);
                    put(RA, result.release());
                    NEXT;
                }
                case Kind::BoundMethod: {
                    if (first == callee_at) goto call_slow;
                    auto* method = cast<BoundMethod>(callee);
                    if (!method->function.is_kind(Kind::Function)) goto call_slow;
                    Code* code = cast<Function>(method->function)->code;
                    if (!code->simple || count + 1 != code->positional) goto call_slow;
                    frame->pc = pc;
                    Frame* inner = push_frame(code, cast<Function>(method->function));
                    method->function.o->refs++;
                    inner->result = ins.a;
                    inner->registers[0] = method->self;
                    incref(method->self);
                    for (unsigned i = 0; i < count; i++) {
                        inner->registers[i + 1] = regs[first + i];
                        regs[first + i] = Value();
                    }
                    put(regs[callee_at], Value());
                    LOAD_FRAME;
                    POLL(static_cast<int64_t>(code->plain->instrs.size()));
                    NEXT;
                }
                case Kind::Class: {
                    auto* cls = cast<Class>(callee);
                    if (!cls->user || cls->instance_kind != Kind::Instance) goto call_slow;
                    if (!find_special(vm, cls, Special::New).is_undef()) goto call_slow;
                    Value init = find_special(vm, cls, Special::Init);
                    if (!init.is_kind(Kind::Function)) goto call_slow;
                    Code* code = cast<Function>(init)->code;
                    if (!code->simple || count + 1 != code->positional) goto call_slow;
                    frame->pc = pc;
                    Ref instance = allocate_instance(vm, cls);
                    Frame* inner = push_frame(code, cast<Function>(init));
                    init.o->refs++;
                    inner->result = ins.a;
                    inner->registers[0] = Ref(instance).release();
                    inner->init_self = instance.release();
                    for (unsigned i = 0; i < count; i++) {
                        inner->registers[i + 1] = regs[first + i];
                        regs[first + i] = Value();
                    }
                    put(regs[callee_at], Value());
                    LOAD_FRAME;
                    POLL(static_cast<int64_t>(code->plain->instrs.size()));
                    NEXT;
                }
                default: break;
            }
        }
        call_slow: {
            frame->pc = pc;
            Ref result = call(vm, regs[callee_at], regs + first, count);
            Steps::clear_registers(regs + callee_at, first + count - callee_at);
            put(RA, result.release());
            NEXT;
        }
        L_CALL_KW:
            callee_at = ins.b;
            first = ins.b + 1;
            count = ins.c;
            goto call_keywords;
        L_CALL_METHOD_KW:
            callee_at = ins.b;
            if (regs[ins.b + 1].is_undef()) {
                first = ins.b + 2;
                count = ins.c;
            } else {
                first = ins.b + 1;
                count = ins.c + 1u;
            }
        call_keywords: {
            auto* names_tuple = cast<Tuple>(consts[pc->a]);
            pc++;  // EXTRA
            nkeywords = names_tuple->size;
            frame->pc = pc;
            constexpr size_t kMost = 32;
            if (nkeywords > kMost) {
                Ref result = Steps::call_many_keywords(vm, regs[callee_at], regs + first, count, names_tuple);
                Steps::clear_registers(regs + callee_at, first + count - callee_at);
                put(RA, result.release());
                NEXT;
            }
            Str* keyword_array[kMost];
            for (size_t i = 0; i < nkeywords; i++) keyword_array[i] = cast<Str>(names_tuple->items[i]);
            keyword_names = keyword_array;
            Value callee = regs[callee_at];
            if (callee.is_kind(Kind::Function) && !cast<Function>(callee)->code->generator) {
                auto* function = cast<Function>(callee);
                Frame* inner = push_frame(function->code, function);
                function->refs++;
                try {
                    bind_arguments(vm, function, inner->registers, regs + first, count, keyword_names, nkeywords);
                } catch (Raised&) {
                    pop_frame();
                    throw;
                }
                inner->result = ins.a;
                Steps::clear_registers(regs + callee_at, first + count - callee_at);
                LOAD_FRAME;
                POLL(static_cast<int64_t>(frame->code->plain->instrs.size()));
                NEXT;
            }
            Ref result = call(vm, callee, regs + first, count, keyword_names, nkeywords);
            Steps::clear_registers(regs + callee_at, first + count - callee_at);
            put(RA, result.release());
            NEXT;
        }
        L_CALL_EX: {
            frame->pc = pc;
            Ref result = Steps::call_ex(vm, RB, regs[ins.b + 1], ins.c ? regs[ins.b + 2] : Value());
            Steps::clear_registers(&RB, 2u + (ins.c ? 1u : 0u));
            put(RA, result.release());
            NEXT;
        }
            {
                Value result;
            L_RETURN_NONE:
                result = Value::none();
                goto do_return;
            L_RETURN:
                result = RA;
                if (ins.a >= nlocals) {
                    RA = Value();
                } else {
                    incref(result);
                }
            do_return:
                if (hooks.leave) hooks.leave(hooks.context, vm, *frame, result);
                if (!frame->init_self.is_undef()) {
                    if (!result.is_none()) {
                        std::string name(class_name(vm, result));
                        decref(result);
                        raise(vm, Exc::TypeError, "__init__() should return None, not '{}'", name);
                    }
                    result = std::exchange(frame->init_self, Value());
                }
                bool entry = frame->entry;
                uint16_t target = frame->result;
                if (Generator* generator = frame->generator) {
                    bool for_next = frame->for_next;
                    generator->state = GeneratorState::Finished;
                    Steps::clear_registers(generator->registers, frame->code->nregs);
                    decref(std::exchange(handled_, frame->saved_handled));
                    frame_--;
                    decref(static_cast<Object*>(generator));
                    if (entry) {
                        yielded_ = false;
                        return Ref::steal(result);
                    }
                    (void)for_next;
                    decref(result);
                    LOAD_FRAME;
                    put(regs[pc[-1].a], Value());  // the loop is over
                    NEXT;
                }
                pop_frame();
                if (entry) return Ref::steal(result);
                LOAD_FRAME;
                put(regs[target], result);
                NEXT;
            }
        L_MAKE_FUNCTION: {
            Ref function = Steps::make_function(vm, *frame, frame->code->codes[ins.b], &RA, ins.c);
            put(RA, function.release());
            NEXT;
        }
        L_BUILD_CLASS: {
            frame->pc = pc;
            Ref made = Steps::build_class(vm, RB, regs[ins.b + 1], regs + ins.b + 2, ins.c);
            Steps::clear_registers(&RB, 2u + ins.c);
            put(RA, made.release());
            NEXT;
        }

            // ---- Building ----
        L_BUILD_LIST: {
            // The items move from their registers into the list.
            Ptr<List> list = make_list(vm, ins.c);
            for (unsigned i = 0; i < ins.c; i++) {
                list->items[i] = regs[ins.b + i];
                regs[ins.b + i] = Value();
            }
            list->size = ins.c;
            put(RA, Value::object(list.release()));
            NEXT;
        }
        L_BUILD_TUPLE: {
            if (ins.c == 0) {
                put(RA, Ref(vm.empty_tuple).release());
                NEXT;
            }
            Tuple* tuple = make_raw_tuple(vm, ins.c);
            for (unsigned i = 0; i < ins.c; i++) {
                tuple->items[i] = regs[ins.b + i];
                regs[ins.b + i] = Value();
            }
            track_tuple(vm, tuple);
            put(RA, Value::object(tuple));
            NEXT;
        }
        L_BUILD_SET: {
            Ptr<Set> set = make_set(vm);
            for (unsigned i = 0; i < ins.c; i++) set_add(vm, set.get(), regs[ins.b + i]);
            Steps::clear_registers(&RB, ins.c);
            put(RA, Value::object(set.release()));
            NEXT;
        }
        L_BUILD_DICT: {
            Ptr<Dict> dict = make_dict(vm, ins.c);
            for (unsigned i = 0; i < ins.c; i++) dict_set(vm, dict.get(), regs[ins.b + 2 * i], regs[ins.b + 2 * i + 1]);
            Steps::clear_registers(&RB, 2u * ins.c);
            put(RA, Value::object(dict.release()));
            NEXT;
        }
        L_BUILD_STRING: {
            Ref text = Steps::build_string(vm, &RB, ins.c);
            Steps::clear_registers(&RB, ins.c);
            put(RA, text.release());
            NEXT;
        }
        L_FORMAT: {
            Value spec = ins.c & 4 ? regs[ins.b + 1] : Value();
            Ref text = Steps::format_value(vm, RB, spec, ins.c & 3);
            DROP(ins.b);
            if (ins.c & 4) DROP(ins.b + 1u);
            put(RA, text.release());
            NEXT;
        }
        L_LIST_APPEND: {
            Value v = RB;
            if (ins.b >= nlocals) {
                RB = Value();
                list_append(vm, cast<List>(RA), Ref::steal(v));
            } else {
                list_append(vm, cast<List>(RA), v);
            }
            NEXT;
        }
        L_SET_ADD:
            set_add(vm, cast<Set>(RA), RB);
            DROP(ins.b);
            NEXT;
        L_DICT_SET:
            dict_set(vm, cast<Dict>(RA), RB, RC);
            DROP(ins.b);
            DROP(ins.c);
            NEXT;
        L_LIST_EXTEND:
            if (RB.is_obj() && !is_iterator(vm, RB) && !RB.o->cls->user && !kind_ops(RB.o->kind).iterate) {
                raise(vm, Exc::TypeError, "Value after * must be an iterable, not {}", class_name(vm, RB));
            }
            list_extend(vm, cast<List>(RA), RB);
            DROP(ins.b);
            NEXT;
        L_SET_UPDATE:
            set_update(vm, cast<Set>(RA), RB);
            DROP(ins.b);
            NEXT;
        L_DICT_UPDATE:
            if (!RB.is_kind(Kind::Dict) && !find_attr(vm, RB, names.keys)) {
                raise(vm, Exc::TypeError, "'{}' object is not a mapping", class_name(vm, RB));
            }
            dict_update(vm, cast<Dict>(RA), RB);
            DROP(ins.b);
            NEXT;
        L_DICT_MERGE:
            Steps::dict_merge(vm, cast<Dict>(RA), RB, RC);
            DROP(ins.b);
            NEXT;
        L_LIST_TO_TUPLE: {
            Ref tuple = tuple_from_iterable(vm, RB);
            DROP(ins.b);
            put(RA, tuple.release());
            NEXT;
        }

            // ---- Exceptions and with ----
        L_RAISE: {
            Ref error = Steps::exception_to_raise(vm, RA);
            raised_ = std::move(error);
            goto exception;
        }
        L_RAISE_FROM: {
            Ref error = Steps::exception_to_raise(vm, RA);
            Steps::set_cause(vm, error, RB);
            raised_ = std::move(error);
            goto exception;
        }
        L_RERAISE:
            raised_ = Ref(RA);
            DROP(ins.a);
            add_entry = false;
            goto exception;
        L_RAISE_CURRENT:
            if (!handled_.is_obj()) raise(vm, Exc::RuntimeError, std::string("No active exception to reraise"));
            raised_ = Ref(handled_);
            add_entry = false;
            goto exception;
        L_RAISE_ASSERT: {
            Value arg = ins.b ? RA : Value();
            raised_ = make_exception(vm, classes.of(Exc::AssertionError), &arg, ins.b ? 1 : 0);
            if (ins.b) DROP(ins.a);
            goto exception;
        }
        L_PUSH_EXC: {
            Value before = std::exchange(handled_, RA);
            incref(handled_);
            put(RB, before.is_undef() ? Value::none() : before);
            NEXT;
        }
        L_POP_EXC: {
            Value saved = RA;
            if (ins.a >= nlocals) {
                RA = Value();
            } else {
                incref(saved);
            }
            put(handled_, saved.is_none() ? Value() : saved);
            NEXT;
        }
        L_MATCH_EXC: {
            bool matches = Steps::matches(vm, RB, RC);
            DROP(ins.c);
            put_bool(RA, matches);
            NEXT;
        }
        L_WITH_ENTER: {
            Value exit, entered;
            frame->pc = pc;
            Steps::with_enter(vm, RB, &exit, &entered);
            DROP(ins.b);
            put(RA, exit);
            put(regs[ins.a + 1], entered);
            NEXT;
        }
        L_WITH_EXIT: {
            frame->pc = pc;
            {
                Ref exit(RA);
                DROP(ins.a);
                call(vm, exit, Value::none(), Value::none(), Value::none());
            }
            NEXT;
        }
        L_WITH_EXCEPT: {
            frame->pc = pc;
            {
                Ref exit(RB);
                DROP(ins.b);
                Ref result = call(vm, exit, Value::object(class_of(vm, RC)), RC, Value::none());
                put_bool(RA, truth(vm, result));
            }
            NEXT;
        }

            // ---- Generators ----
            {
                Value yielded;
            L_YIELD:
                yielded = RB;
                if (ins.b >= nlocals) {
                    RB = Value();
                } else {
                    incref(yielded);
                }
                frame->generator->pc = pc;
                frame->generator->delegating = false;
                goto do_yield;
            L_YIELD_FROM: {
                frame->pc = pc;
                Ref returned;
                Ref item = Steps::delegate(vm, RB, RA, &returned);
                if (!item) {
                    put(RA, returned.release());
                    NEXT;
                }
                frame->generator->pc = pc - 1;
                frame->generator->delegating = true;
                yielded = item.release();
            }
            do_yield:
                Generator* generator = frame->generator;
                generator->state = GeneratorState::Suspended;
                generator->handled = std::exchange(handled_, frame->saved_handled);
                bool entry = frame->entry;
                uint16_t target = frame->result;
                frame_--;
                decref(static_cast<Object*>(generator));
                if (entry) {
                    yielded_ = true;
                    return Ref::steal(yielded);
                }
                LOAD_FRAME;
                put(regs[target], yielded);
                pc += pc[-1].jump16();  // back into the loop that resumed it
                NEXT;
            }
        L_GET_YIELD_FROM: {
            Ref iterator = RB.is_kind(Kind::Generator) ? Ref(RB) : iterate(vm, RB);
            DROP(ins.b);
            put(RA, iterator.release());
            NEXT;
        }

            // ---- Modules and the rest ----
        L_IMPORT: {
            frame->pc = pc;
            Ref module = Steps::import(vm, *frame, cast<Str>(KB), ins.c == 1);
            put(RA, module.release());
            NEXT;
        }
        L_IMPORT_FROM: {
            frame->pc = pc;
            Ref v = Steps::import_from(vm, *frame, RB, frame->code->names[ins.c]);
            put(RA, v.release());
            NEXT;
        }
        L_IMPORT_STAR:
            Steps::import_star(vm, *frame, RA);
            DROP(ins.a);
            NEXT;
        L_PRINT_EXPR:
            frame->pc = pc;
            if (host.display) host.display(vm, RA);
            DROP(ins.a);
            NEXT;

        exception:
            raising = false;
            {
                Ref error = take_raised();
                Steps::set_context(vm, error);
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
        }
    }
}

}  // namespace talc::vm
