// What each instruction means to the recorder. prepare() sees its operands, conclude() its results; only the latter
// writes down effects, so that an instruction can be taken back.
#include <algorithm>

#include "jit/jit.hpp"
#include "jit/recorder.hpp"
#include "vm/call.hpp"
#include "vm/tensor.hpp"

namespace talc::jit {

using lang::Op;
using vm::Kind;

namespace {

bool in_range(Op op, Op first, Op last) { return op >= first && op <= last; }
bool is_binary(Op op) { return in_range(op, Op::ADD, Op::XOR) || in_range(op, Op::IADD, Op::IXOR); }
bool is_binary_k(Op op) { return in_range(op, Op::ADD_K, Op::XOR_K) || in_range(op, Op::IADD_K, Op::IXOR_K); }
bool is_in_place(Op op) { return in_range(op, Op::IADD, Op::IXOR_K); }
bool is_compare(Op op) { return in_range(op, Op::EQ, Op::GE); }
bool is_compare_k(Op op) { return in_range(op, Op::EQ_K, Op::GE_K); }
bool is_compare_jump(Op op) { return in_range(op, Op::JEQ, Op::JNGE); }
bool is_compare_jump_k(Op op) { return in_range(op, Op::JEQ_K, Op::JNGE_K); }
bool is_truth_jump(Op op) { return in_range(op, Op::JUMP_IF, Op::JUMP_IF_NOT_KEEP); }

bool is_scalar(Value v) { return v.is_int() || v.is_float() || v.is_bool(); }

}  // namespace

bool Recorder::has_tensor(Value value, int depth) const {
    if (vm::is_tensor(value)) return true;
    if (depth > 6) return false;  // lists can hold themselves
    if (value.is_kind(Kind::List)) {
        auto* list = vm::cast<vm::List>(value);
        return std::any_of(list->items, list->items + list->size, [&](Value v) { return has_tensor(v, depth + 1); });
    }
    if (value.is_kind(Kind::Tuple)) {
        auto* tuple = vm::cast<vm::Tuple>(value);
        return std::any_of(tuple->items, tuple->items + tuple->size, [&](Value v) { return has_tensor(v, depth + 1); });
    }
    return false;
}

// Operands are read here: registers may be gone afterwards.
bool Recorder::prepare(vm::Frame& frame) {
    const lang::Instr& i = current_.instr;
    Op op = current_.op;
    auto take = [&](uint16_t reg) {
        current_.values.push_back(frame.registers[reg]);
        current_.operands.push_back(read(reg));
    };
    auto take_constant = [&](uint16_t index) {
        Value value = frame.code->constants[index];
        current_.values.push_back(value);
        current_.operands.push_back(constant(value));
    };
    auto take_range = [&](uint16_t first, size_t count) {
        for (size_t r = 0; r < count; ++r) take(static_cast<uint16_t>(first + r));
    };
    auto arguments_are_operands = [&] {
        current_.arguments = current_.operands;
        current_.as_number.assign(current_.operands.size(), false);
    };
    if (is_binary(op) || is_compare(op) || in_range(op, Op::IS, Op::NOT_IN)) {
        take(i.b);
        take(i.c);
        arguments_are_operands();
        return true;
    }
    if (is_binary_k(op) || is_compare_k(op) || op == Op::INDEX_K) {
        take(i.b);
        take_constant(i.c);
        arguments_are_operands();
        if (op == Op::INDEX_K) plan_index(false);
        return true;
    }
    if (is_compare_jump(op)) {
        take(i.a);
        take(i.b);
        arguments_are_operands();
        return true;
    }
    if (is_compare_jump_k(op)) {
        take(i.a);
        take_constant(i.b);
        arguments_are_operands();
        return true;
    }
    if (is_truth_jump(op)) {
        take(i.a);
        return true;
    }
    switch (op) {
        case Op::NOP:
        case Op::EXTRA:
        case Op::LOAD_CONST:
        case Op::LOAD_INT:
        case Op::LOAD_NONE:
        case Op::LOAD_TRUE:
        case Op::LOAD_FALSE:
        case Op::CLEAR:
        case Op::JUMP:
        case Op::JUMP_BACK:
        case Op::LOAD_GLOBAL:
        case Op::LOAD_FREE:
            return true;
        case Op::RETURN_NONE: return prepare_return(frame);
        case Op::MOVE:
        case Op::COPY:
        case Op::NEG:
        case Op::POS:
        case Op::INVERT:
        case Op::NOT:
        case Op::LOAD_CELL:
        case Op::UNPACK:
        case Op::LIST_TO_TUPLE:
        case Op::LOAD_ATTR:
        case Op::LOAD_METHOD:
        case Op::GET_ITER:
        case Op::WITH_ENTER: take(i.b); break;
        case Op::CHECK_BOUND:
        case Op::DELETE_LOCAL:
        case Op::MAKE_CELL:
            // What is unbound here may be bound another time.
            if (frame.registers[i.a].is_undef()) return false;
            take(i.a);
            break;
        case Op::JUMP_IF_NONE:
        case Op::JUMP_IF_NOT_NONE:
        case Op::STORE_GLOBAL:
        case Op::STORE_FREE:
        case Op::FOR_NEXT:
        case Op::WITH_EXIT: take(i.a); break;
        case Op::RETURN: take(i.a); return prepare_return(frame);
        case Op::STORE_CELL:
        case Op::LIST_APPEND:
        case Op::SET_ADD:
        case Op::LIST_EXTEND:
        case Op::ARGS_EXTEND:
        case Op::SET_UPDATE:
        case Op::DICT_UPDATE:
        case Op::DELETE_INDEX:
            take(i.a);
            take(i.b);
            break;
        case Op::STORE_INDEX:
        case Op::DICT_MERGE:
        case Op::DICT_SET:
            take(i.a);
            take(i.b);
            take(i.c);
            arguments_are_operands();
            if (op == Op::STORE_INDEX) plan_index(true);
            return true;
        case Op::INDEX:
            take(i.b);
            take(i.c);
            arguments_are_operands();
            plan_index(false);
            return true;
        case Op::SLICE:
            take(i.b);
            take_range(i.c, 2);
            plan_index(false);
            break;
        case Op::BUILD_SLICE: take_range(i.b, 3); break;
        case Op::STORE_ATTR:
            take(i.a);
            take(i.c);
            break;
        case Op::SUPER_METHOD: take_range(i.b, 2); break;
        case Op::BUILD_LIST:
        case Op::BUILD_TUPLE:
        case Op::BUILD_SET:
        case Op::BUILD_STRING: take_range(i.b, i.c); break;
        case Op::BUILD_DICT: take_range(i.b, 2u * i.c); break;
        case Op::FORMAT: take_range(i.b, i.c & 4 ? 2 : 1); break;
        case Op::CALL:
        case Op::CALL_KW:
        case Op::CALL_METHOD:
        case Op::CALL_METHOD_KW:
        case Op::CALL_EX: return prepare_call(frame);
        default: return false;
    }
    if (op == Op::FOR_NEXT && current_.values[0].is_kind(Kind::Generator)) {
        refuse("generator");
        return false;
    }
    if (op == Op::WITH_ENTER) {
        // Managers written in C++ alone; the others call back.
        if (!current_.values[0].is_kind(Kind::Foreign)) return false;
    }
    return true;
}

// ---- results ----------------------------------------------------------------------------------------------

// What operators gave: a tensor, or a list or tuple of tensors.
Source Recorder::result_of_operators(Value actual) {
    if (vm::is_tensor(actual)) {
        auto known = known_tensor(vm::tensor_of(actual));
        if (!known) {
            refuse("unknown-tensor");
            return {};
        }
        // The same memory and geometry, but an object of its own.
        if (!tensors_[*known].tensor.is(vm::tensor_of(actual))) {
            TensorState state;
            state.info = tensors_[*known].info;
            state.info.object = -1;
            state.tensor = vm::tensor_of(actual);
            state.shape = tensors_[*known].shape;
            if (state.info.steps.empty()) state.info.steps.push_back({tensor::Op::Detach, {}});
            return {Source::Tensor, static_cast<int32_t>(add_tensor(std::move(state)))};
        }
        return {Source::Tensor, static_cast<int32_t>(*known)};
    }
    if (!actual.is_obj()) return constant(actual);
    bool list = actual.is_kind(Kind::List);
    if ((list || actual.is_kind(Kind::Tuple)) && !actual.o->cls->user && actual.o->cls == (list ? vm_.classes.list : vm_.classes.tuple)) {
        const Value* items = list ? vm::cast<vm::List>(actual)->items : vm::cast<vm::Tuple>(actual)->items;
        size_t size = list ? vm::cast<vm::List>(actual)->size : vm::cast<vm::Tuple>(actual)->size;
        std::vector<Source> parts;
        for (size_t k = 0; k < size; ++k) {
            if (!vm::is_tensor(items[k])) {
                refuse("unknown-tensor", "a builtin's result");
                return {};
            }
            parts.push_back(result_of_operators(items[k]));
            if (current_.refused) return {};
        }
        int32_t slot = new_slot(actual);
        emit_step(list ? Op::BUILD_LIST : Op::BUILD_TUPLE, parts, slot);
        return {Source::Slot, slot};
    }
    refuse("unknown-tensor", "a builtin's result");
    return {};
}

// Sizes, dims and other arguments that shaped the graph are what they were.
void Recorder::guard_attributes() {
    bool as_planned = current_.met == current_.expected.size() || current_.may_not_come;
    if (!as_planned) specialise_operands({});
    for (size_t k = 0; k < current_.operands.size(); ++k) {
        const Source& source = current_.operands[k];
        if (source.kind != Source::Slot) continue;
        const auto& sized = current_.sized_slots;
        if (as_planned && std::find(sized.begin(), sized.end(), source.index) != sized.end()) continue;
        bool number = false, otherwise = false;  // x[k] = k is both
        for (size_t p = 0; p < current_.arguments.size(); ++p) {
            if (current_.arguments[p] == source) (current_.as_number[p] ? number : otherwise) = true;
        }
        number = number && !otherwise;
        Value actual = value_of(source);
        if (number || has_tensor(actual)) continue;
        guard_value(source, "a number that shapes the computation");
    }
}

void Recorder::conclude_value(vm::Frame& frame, uint16_t reg, uint32_t next) {
    (void)next;
    Value actual = frame.registers[reg];
    Source result = result_of_operators(actual);
    if (current_.refused) return;
    guard_attributes();
    if (current_.refused) return;
    consume_operands();
    write(reg, result);
}

// An instruction that compiled code does with the VM's own functions.
void Recorder::conclude_step(vm::Frame& frame, uint32_t next) {
    const lang::Instr& i = current_.instr;
    Op op = current_.op;
    if (current_.reads) {
        forget_results();
        note_break("tensor-value", {});
        jit_.recording_broke(anchor_, segment_->breaks.back());
        launch();
        current_.before = take_snapshot(current_.at);
        current_.before_index = -1;
    }
    bool mutates = (is_in_place(op) && current_.values[0].get().is_obj()) || op == Op::STORE_INDEX || op == Op::DELETE_INDEX ||
                   op == Op::LIST_APPEND || op == Op::SET_ADD || op == Op::DICT_SET || op == Op::LIST_EXTEND ||
                   op == Op::ARGS_EXTEND || op == Op::SET_UPDATE || op == Op::DICT_UPDATE || op == Op::DICT_MERGE || op == Op::STORE_CELL;
    if (mutates && !is_ours(current_.operands[0])) visible_effect();
    const lang::OpInfo& info = lang::op_info(op);
    bool writes = info.a == lang::Role::wr || info.a == lang::Role::rw;
    int32_t dst = writes ? new_slot(frame.registers[i.a]) : -1;
    uint16_t flags = op == Op::FORMAT ? i.c : op == Op::BUILD_DICT ? i.c : uint16_t{0};
    emit_step(op, current_.operands, dst, flags);
    if (writes) follow_step(op, current_.operands, dst, frame.registers[i.a]);
    consume_operands();
    if (info.b == lang::Role::regs) {
        for (size_t r = 0; r < current_.operands.size(); ++r) write(static_cast<uint16_t>(i.b + r), Source{});
    }
    if (info.c == lang::Role::regs) {
        for (size_t r = 0; r + 1 < current_.operands.size(); ++r) consume(static_cast<uint16_t>(i.c + r));
    }
    if (!writes) return;
    Value actual = frame.registers[i.a];
    write(i.a, {Source::Slot, dst});
    // Numbers of known kinds give numbers of known kinds.
    bool plain = current_.values.size() == 2 && is_scalar(current_.values[0]) && is_scalar(current_.values[1]) &&
                 !current_.values[0].get().is_bool() && !current_.values[1].get().is_bool() &&
                 (op != Op::POW && op != Op::POW_K && op != Op::IPOW && op != Op::IPOW_K);
    bool sure = plain || is_compare(op) || is_compare_k(op) || in_range(op, Op::BUILD_LIST, Op::FORMAT) || op == Op::NOT ||
                in_range(op, Op::IS, Op::NOT_IN) || op == Op::BUILD_SLICE || op == Op::MAKE_CELL;
    if (sure && !vm::is_tensor(actual)) return;
    int32_t after = snapshot_at(next);
    write(i.a, settle(dst, actual, after, "a value"));
}

void Recorder::tensor_branch(Source condition, uint32_t if_true, uint32_t if_false) {
    note_break("tensor-branch", {});
    jit_.recording_broke(anchor_, segment_->breaks.back());
    int32_t object = operand(condition);
    launch();
    consume_operands();
    Instruction& poll = emit(TraceOp::Poll);
    poll.imm = length_;
    int32_t yes = snapshot_at(if_true), no = snapshot_at(if_false);
    segment_->code.back().snapshot = yes;
    Instruction& branch = emit(TraceOp::Branch);
    branch.a = object;
    branch.b = yes;
    branch.c = no;
    branch.snapshot = snapshot_before();
    finish_segment(true);
}

void Recorder::conclude_jump(vm::Frame& frame, uint32_t next) {
    (void)frame;
    const lang::Instr& i = current_.instr;
    Op op = current_.op;
    Source condition = current_.operands[0];
    uint32_t fall = current_.at + 1;
    auto target = static_cast<uint32_t>(static_cast<int64_t>(fall) + i.bc());
    bool wanted = op == Op::JUMP_IF || op == Op::JUMP_IF_KEEP;
    if (condition.kind == Source::Tensor) {
        return tensor_branch(condition, wanted ? target : fall, wanted ? fall : target);
    }
    bool truth = (next == target) == wanted;
    if (target == fall) truth = vm::truth(vm_, current_.values[0]);
    consume_operands();
    if (condition.kind == Source::Slot) {
        int32_t other = snapshot_at(next == target ? fall : target);
        segment_->snapshots[static_cast<size_t>(other)].what = "a condition";
        Instruction& guard = emit(TraceOp::GuardTruth);
        guard.a = condition.index;
        guard.imm = truth;
        guard.snapshot = other;
    }
}

void Recorder::conclude_compare_jump(vm::Frame& frame, uint32_t next) {
    (void)frame;
    const lang::Instr& i = current_.instr;
    Op op = current_.op;
    uint32_t fall = current_.at + 1;
    auto target = static_cast<uint32_t>(static_cast<int64_t>(fall) + i.jump16());
    bool k = is_compare_jump_k(op);
    int which = static_cast<int>(op) - static_cast<int>(k ? Op::JEQ_K : Op::JEQ);
    bool wanted = which < 6;
    int compare = which % 6;
    bool tensors = has_tensor(current_.values[0]) || has_tensor(current_.values[1]);
    if (tensors) {
        if (!vm::is_tensor(current_.values[0]) && !vm::is_tensor(current_.values[1])) return refuse("instruction");
        // The comparison is the last operator that ran.
        auto last = static_cast<int32_t>(tensors_.size()) - 1;
        if (last < 0 || !current_.ran) return refuse("unknown-tensor");
        guard_attributes();
        return tensor_branch({Source::Tensor, last}, wanted ? target : fall, wanted ? fall : target);
    }
    if (next != target && next != fall) return refuse("instruction");
    if (target == fall) return consume_operands();
    bool jumped = next == target;
    bool both_constant = is_constant(current_.operands[0]) && is_constant(current_.operands[1]);
    int32_t a = operand(current_.operands[0]), b = operand(current_.operands[1]);
    consume_operands();
    if (both_constant) return;
    int32_t slot = new_slot(Value::boolean(jumped == wanted));
    int32_t at_instruction = snapshot_before();
    Instruction& test = emit(TraceOp::CompareTruth);
    test.flags = static_cast<uint16_t>(compare);
    test.dst = slot;
    test.a = a;
    test.b = b;
    test.snapshot = at_instruction;
    int32_t other = snapshot_at(jumped ? fall : target);
    segment_->snapshots[static_cast<size_t>(other)].what = "a comparison";
    Instruction& guard = emit(TraceOp::GuardTruth);
    guard.a = slot;
    guard.imm = jumped == wanted;
    guard.snapshot = other;
}

void Recorder::conclude_iteration(vm::Frame& frame, uint32_t next) {
    const lang::Instr& i = current_.instr;
    uint32_t fall = current_.at + 1;
    auto body = static_cast<uint32_t>(static_cast<int64_t>(fall) + i.jump16());
    int32_t iterator = operand(current_.operands[0]);
    bool item = next == body;
    int32_t slot = new_slot(item ? frame.registers[i.b] : Value::none());
    Source before_b = top().registers[i.b];
    bool local = current_.values[0].is_kind(Kind::RangeIter) || current_.values[0].is_kind(Kind::ListIter);
    if (!local) visible_effect();
    int32_t at_instruction = snapshot_before();
    advances_++;
    if (item) {
        // The loop is over: the iterator is dropped.
        write(i.a, Source{});
        int32_t over = snapshot_at(fall);
        segment_->snapshots[static_cast<size_t>(over)].what = "the number of rounds of a loop";
        write(i.a, current_.operands[0]);
        Instruction& step = emit(TraceOp::Next);
        step.dst = slot;
        step.a = iterator;
        step.snapshot = at_instruction;
        step.after = over;
        write(i.b, {Source::Slot, slot});
        int32_t after = snapshot_at(body);
        write(i.b, settle(slot, frame.registers[i.b], after, "an item"));
    } else {
        write(i.b, {Source::Slot, slot});
        int32_t more = snapshot_at(body);
        segment_->snapshots[static_cast<size_t>(more)].what = "the number of rounds of a loop";
        write(i.b, before_b);
        Instruction& step = emit(TraceOp::NextEnds);
        step.dst = slot;
        step.a = iterator;
        step.snapshot = at_instruction;
        step.after = more;
        write(i.a, Source{});
    }
}

// ---- the instruction as a whole ---------------------------------------------------------------------------

void Recorder::conclude(vm::Frame& frame, uint32_t next) {
    const lang::Instr& i = current_.instr;
    Op op = current_.op;
    bool tensors = only_operators();
    if (!current_.grads.empty() && op != Op::CALL_METHOD && op != Op::CALL_METHOD_KW && op != Op::STORE_ATTR && op != Op::CALL &&
        op != Op::CALL_KW) {
        return refuse("instruction", "a gradient is set");
    }
    if (is_compare_jump(op) || is_compare_jump_k(op)) return conclude_compare_jump(frame, next);
    if (is_truth_jump(op)) return conclude_jump(frame, next);
    switch (op) {
        case Op::NOP:
        case Op::EXTRA:
        case Op::JUMP:
        case Op::JUMP_BACK:
        case Op::CHECK_BOUND: return;
        case Op::MOVE:
            consume_operands();
            return write(i.a, current_.operands[0]);
        case Op::COPY: return write(i.a, current_.operands[0]);
        case Op::LOAD_CONST: return write(i.a, constant(frame.code->constants[i.b]));
        case Op::LOAD_INT: return write(i.a, constant(Value::integer(i.bc())));
        case Op::LOAD_NONE: return write(i.a, constant(Value::none()));
        case Op::LOAD_TRUE: return write(i.a, constant(Value::boolean(true)));
        case Op::LOAD_FALSE: return write(i.a, constant(Value::boolean(false)));
        case Op::CLEAR:
        case Op::DELETE_LOCAL: return write(i.a, Source{});
        case Op::LOAD_GLOBAL: {
            vm::Cell* cell = frame.code->globals[i.bc()];
            if (auto stored = cells_.find(cell); stored != cells_.end()) return write(i.a, stored->second);
            int32_t slot = new_slot(frame.registers[i.a]);
            int32_t snapshot = snapshot_before();
            Instruction& load = emit(TraceOp::LoadGlobal);
            load.dst = slot;
            load.pointer = cell;
            load.snapshot = snapshot;
            segment_->kept.push_back(Value::object(cell));
            Source loaded = settle(slot, frame.registers[i.a], snapshot, std::string(cell->name->view()));
            cells_[cell] = loaded;
            return write(i.a, loaded);
        }
        case Op::STORE_GLOBAL: {
            vm::Cell* cell = frame.code->globals[i.bc()];
            int32_t from = operand(current_.operands[0]);
            visible_effect();
            Instruction& store = emit(TraceOp::StoreGlobal);
            store.pointer = cell;
            store.a = from;
            segment_->kept.push_back(Value::object(cell));
            cells_[cell] = current_.operands[0];
            return consume_operands();
        }
        case Op::LOAD_FREE:
        case Op::STORE_FREE: {
            vm::Cell* cell = frame.function->closure[i.b];
            bool load = op == Op::LOAD_FREE;
            int32_t slot = load ? new_slot(frame.registers[i.a]) : operand(current_.operands[0]);
            if (!load) visible_effect();
            int32_t snapshot = snapshot_before();
            bool entry = top().depth >= 0;
            Instruction& access = emit(entry ? (load ? TraceOp::LoadEntryFree : TraceOp::StoreEntryFree)
                                             : (load ? TraceOp::LoadGlobal : TraceOp::StoreGlobal));
            access.snapshot = snapshot;
            if (entry) {
                access.a = top().depth;
                access.b = i.b;
                access.c = slot;
            } else {
                access.pointer = cell;
                access.a = slot;
                segment_->kept.push_back(Value::object(cell));
            }
            if (!load) return consume_operands();
            access.dst = slot;
            std::string name = frame.code->plain->captures[i.b].name;
            return write(i.a, settle(slot, frame.registers[i.a], snapshot, std::move(name)));
        }
        case Op::JUMP_IF_NONE:
        case Op::JUMP_IF_NOT_NONE: return consume_operands();  // the type guard says it
        case Op::RETURN:
        case Op::RETURN_NONE: return conclude_return(frame);
        case Op::FOR_NEXT: return tensors || current_.reads ? refuse("instruction") : conclude_iteration(frame, next);
        case Op::GET_ITER: {
            if (tensors || has_tensor(current_.values[0])) {
                if (vm::is_tensor(current_.values[0])) return refuse("instruction", "a loop over a tensor");
            }
            return conclude_step(frame, next);
        }
        case Op::UNPACK: {
            if (current_.reads) return refuse("instruction");
            if (tensors) {
                std::vector<Source> parts;
                for (unsigned k = 0; k < i.c; ++k) {
                    parts.push_back(result_of_operators(frame.registers[i.a + k]));
                    if (current_.refused) return;
                }
                consume_operands();
                for (unsigned k = 0; k < i.c; ++k) write(static_cast<uint16_t>(i.a + k), parts[k]);
                return;
            }
            int32_t from = operand(current_.operands[0]);
            int32_t first = new_slot(frame.registers[i.a]);
            for (unsigned k = 1; k < i.c; ++k) new_slot(frame.registers[i.a + k]);
            int32_t snapshot = snapshot_before();
            Instruction& unpack = emit(TraceOp::Unpack);
            unpack.dst = first;
            unpack.a = from;
            unpack.imm = i.c;
            unpack.snapshot = snapshot;
            if (auto dims = dims_of(current_.operands[0]); dims && dims->size() == i.c) {
                for (unsigned k = 0; k < i.c; ++k) {
                    if (!(*dims)[k].is_constant()) slot_dims_[first + static_cast<int32_t>(k)] = (*dims)[k];
                }
            }
            consume_operands();
            for (unsigned k = 0; k < i.c; ++k) {
                write(static_cast<uint16_t>(i.a + k), {Source::Slot, first + static_cast<int32_t>(k)});
            }
            int32_t after = snapshot_at(next);
            for (unsigned k = 0; k < i.c; ++k) {
                auto reg = static_cast<uint16_t>(i.a + k);
                write(reg, settle(first + static_cast<int32_t>(k), frame.registers[reg], after, "an item"));
            }
            return;
        }
        case Op::LOAD_ATTR: return conclude_load_attr(frame, next);
        case Op::STORE_ATTR: return conclude_store_attr(frame);
        case Op::LOAD_METHOD:
        case Op::SUPER_METHOD: return conclude_load_method(frame, next);
        case Op::WITH_ENTER: {
            if (tensors || current_.reads) return refuse("instruction");
            int32_t from = operand(current_.operands[0]);
            int32_t slot = new_slot(frame.registers[i.a]);
            new_slot(frame.registers[i.a + 1]);
            visible_effect();
            int32_t snapshot = snapshot_before();
            Instruction& enter = emit(TraceOp::EnterWith);
            enter.dst = slot;
            enter.a = from;
            enter.snapshot = snapshot;
            consume_operands();
            write(i.a, {Source::Slot, slot});
            write(static_cast<uint16_t>(i.a + 1), {Source::Slot, slot + 1});
            int32_t after = snapshot_at(next);
            guard_grad_mode(after);
            write(i.a, settle(slot, frame.registers[i.a], after, "a context manager"));
            return write(static_cast<uint16_t>(i.a + 1), settle(slot + 1, frame.registers[i.a + 1], after, "a context manager"));
        }
        case Op::WITH_EXIT: {
            if (tensors || current_.reads) return refuse("instruction");
            visible_effect();
            emit_step(op, current_.operands, -1);
            consume_operands();
            return guard_grad_mode(snapshot_at(next));
        }
        case Op::CALL:
        case Op::CALL_KW:
        case Op::CALL_METHOD:
        case Op::CALL_METHOD_KW:
        case Op::CALL_EX: return conclude_call(frame, next);
        default: break;
    }
    // Operators, indexing, building.
    if (tensors) {
        if (op == Op::STORE_INDEX) {
            guard_attributes();
            return consume_operands();
        }
        return conclude_value(frame, i.a, next);
    }
    conclude_step(frame, next);
}

}  // namespace talc::jit
