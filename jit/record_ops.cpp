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

bool Recorder::has_tensor(Value value) const {
    if (vm::is_tensor(value)) return true;
    if (value.is_kind(Kind::List)) {
        auto* list = vm::cast<vm::List>(value);
        return std::any_of(list->items, list->items + list->size, [&](Value v) { return has_tensor(v); });
    }
    if (value.is_kind(Kind::Tuple)) {
        auto* tuple = vm::cast<vm::Tuple>(value);
        return std::any_of(tuple->items, tuple->items + tuple->size, [&](Value v) { return has_tensor(v); });
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
        case Op::DICT_SET:
            take(i.a);
            take(i.b);
            take(i.c);
            arguments_are_operands();
            return true;
        case Op::INDEX:
            take(i.b);
            take(i.c);
            arguments_are_operands();
            return true;
        case Op::SLICE:
            take(i.b);
            take_range(i.c, 2);
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

// The frame in which recording began is left: so is the segment.
bool Recorder::prepare_return(vm::Frame& frame) {
    if (vm_.depth() > root_depth_) return top().depth < 0 || frame.init_self.is_undef();
    Source result = current_.op == Op::RETURN ? current_.operands[0] : constant(Value::none());
    int32_t slot = operand(result);
    launch();
    Instruction& poll = emit(TraceOp::Poll);
    poll.imm = length_;
    poll.snapshot = snapshot_before();
    // Frames that returned inside are dropped on the way.
    Instruction& end = emit(TraceOp::Return);
    end.a = slot;
    end.imm = popped_;
    finish_segment(at_anchor_ || !segment_->fragments.empty());
    stop();
    return true;
}

// ---- calls ------------------------------------------------------------------------------------------------

bool Recorder::prepare_call(vm::Frame& frame) {
    const lang::Instr& i = current_.instr;
    Op op = current_.op;
    bool method = op == Op::CALL_METHOD || op == Op::CALL_METHOD_KW;
    uint16_t first = static_cast<uint16_t>(i.b + 1);
    size_t count = i.c;
    if (method) {
        if (frame.registers[i.b + 1].is_undef()) {
            first++;
        } else {
            count++;
        }
    }
    std::vector<Source> sources;
    std::vector<Value> values;
    Source callee_source = read(i.b);
    Value callee = frame.registers[i.b];
    vm::Tuple* names = nullptr;
    if (op == Op::CALL_EX) {
        Value container = frame.registers[i.b + 1];
        Source container_source = read(static_cast<uint16_t>(i.b + 1));
        if (i.c) {
            Value keywords = frame.registers[i.b + 2];
            if (!keywords.is_kind(Kind::Dict) || vm::cast<vm::Dict>(keywords)->used != 0) return false;
            Source dict = read(static_cast<uint16_t>(i.b + 2));
            if (dict.kind == Source::Slot) {
                Instruction& length = emit(TraceOp::GuardLength);
                length.a = dict.index;
                length.imm = 0;
                length.snapshot = snapshot_before();
            }
        }
        bool list = container.is_kind(Kind::List);
        const Value* items = list ? vm::cast<vm::List>(container)->items : vm::cast<vm::Tuple>(container)->items;
        size_t size = list ? vm::cast<vm::List>(container)->size : vm::cast<vm::Tuple>(container)->size;
        int32_t from = operand(container_source);
        if (from >= 0) {
            Instruction& length = emit(TraceOp::GuardLength);
            length.a = from;
            length.imm = static_cast<int64_t>(size);
            length.snapshot = snapshot_before();
        }
        for (size_t k = 0; k < size; ++k) {
            values.push_back(items[k]);
            int32_t slot = new_slot(items[k]);
            Instruction& load = emit(TraceOp::LoadItem);
            load.dst = slot;
            load.a = from;
            load.imm = static_cast<int64_t>(k);
            sources.push_back(settle(slot, items[k], snapshot_before(), "an argument"));
        }
    } else {
        for (size_t k = 0; k < count; ++k) {
            values.push_back(frame.registers[first + k]);
            sources.push_back(read(static_cast<uint16_t>(first + k)));
        }
        if (op == Op::CALL_KW || op == Op::CALL_METHOD_KW) {
            names = vm::cast<vm::Tuple>(frame.code->constants[current_.pc[1].a]);
        }
    }
    // What is called must be known for sure.
    if (callee.is_kind(Kind::BoundMethod)) {
        if (callee_source.kind == Source::Slot) {
            auto* bound = vm::cast<vm::BoundMethod>(callee);
            int32_t function_slot = new_slot(bound->function);
            Instruction& load = emit(TraceOp::Bound);
            load.dst = function_slot;
            load.a = callee_source.index;
            settle(function_slot, bound->function, snapshot_before(), "a method");
            int32_t self_slot = new_slot(bound->self);
            Instruction& load_self = emit(TraceOp::Bound);
            load_self.dst = self_slot;
            load_self.a = callee_source.index;
            load_self.imm = 1;
            Source self = settle(self_slot, bound->self, snapshot_before(), "a method's object");
            sources.insert(sources.begin(), self);
            values.insert(values.begin(), bound->self);
            callee = bound->function;
        } else {
            auto* bound = vm::cast<vm::BoundMethod>(callee);
            sources.insert(sources.begin(), constant(bound->self));
            values.insert(values.begin(), bound->self);
            callee = bound->function;
        }
    } else if (callee.is_kind(Kind::Instance)) {
        Value special = vm::find_special(vm_, callee, vm::Special::Call);
        if (!special.is_kind(Kind::Function)) return false;
        sources.insert(sources.begin(), callee_source);
        values.insert(values.begin(), callee);
        callee = special;  // the guard on the shape says which class; classes are watched by their epoch
    }
    current_.callee = callee;
    current_.operands = sources;
    for (Value v : values) current_.values.push_back(v);
    if (callee.is_kind(Kind::Native)) return prepare_native(frame, callee, sources, values, names);
    if (callee.is_kind(Kind::Function)) {
        if (names) current_.self = Value::object(names);
        return !vm::cast<vm::Function>(callee)->code->generator;
    }
    if (callee.is_kind(Kind::Class)) {
        auto* cls = vm::cast<vm::Class>(callee);
        if (names) current_.self = Value::object(names);
        if (!cls->user) {
            // int(x), list(x), isinstance...: a builtin class called like a function.
            current_.arguments = sources;
            current_.as_number.assign(sources.size(), false);
            return names == nullptr;
        }
        return cls->instance_kind == Kind::Instance && vm::find_special(vm_, cls, vm::Special::New).is_undef() &&
               vm::find_special(vm_, cls, vm::Special::Init).is_kind(Kind::Function);
    }
    return false;
}

bool Recorder::prepare_native(vm::Frame&, Value callee, std::span<const Source> sources, std::span<const Value> values,
                              vm::Tuple* names) {
    auto* native = vm::cast<vm::Native>(callee);
    current_.native = native;
    vm::Signature& signature = vm::signature_of(vm_, native);
    // Which argument is which parameter, for numbers that become operands.
    size_t keywords = names ? names->size : 0;
    size_t given = sources.size() - keywords;
    current_.arguments.assign(std::max(signature.parameters.size(), sources.size()), Source{});
    current_.as_number.assign(current_.arguments.size(), false);
    for (size_t k = 0; k < given; ++k) current_.arguments[k] = sources[k];
    for (size_t k = 0; k < keywords; ++k) {
        for (size_t p = 0; p < signature.parameters.size(); ++p) {
            if (signature.parameters[p].name->view() == vm::cast<vm::Str>(names->items[k])->view()) {
                current_.arguments[p] = sources[given + k];
            }
        }
    }
    if (names) current_.self = Value::object(names);
    if (native->row->record == vm::Record::operators) {
        for (size_t k = 0; k < sources.size(); ++k) {
            if (!take_in_items(sources[k], values[k], 0)) return false;
        }
    }
    return true;
}

// The tensors in a list or tuple that an operator takes.
bool Recorder::take_in_items(Source container, Value actual, int depth) {
    bool list = actual.is_kind(Kind::List);
    if (!list && !actual.is_kind(Kind::Tuple)) return true;
    if (!has_tensor(actual) || depth > 4) return depth <= 4;
    const Value* items = list ? vm::cast<vm::List>(actual)->items : vm::cast<vm::Tuple>(actual)->items;
    size_t size = list ? vm::cast<vm::List>(actual)->size : vm::cast<vm::Tuple>(actual)->size;
    int32_t from = operand(container);
    Instruction& length = emit(TraceOp::GuardLength);
    length.a = from;
    length.imm = static_cast<int64_t>(size);
    length.snapshot = snapshot_before();
    for (size_t k = 0; k < size; ++k) {
        int32_t slot = new_slot(items[k]);
        Instruction& load = emit(TraceOp::LoadItem);
        load.dst = slot;
        load.a = from;
        load.imm = static_cast<int64_t>(k);
        if (vm::is_tensor(items[k])) {
            auto known = known_tensor(vm::tensor_of(items[k]));
            if (known && tensors_[*known].tensor.is(vm::tensor_of(items[k])) && tensors_[*known].info.object >= 0) {
                Instruction& same = emit(TraceOp::GuardSame);
                same.a = slot;
                same.b = tensors_[*known].info.object;
                same.snapshot = snapshot_before();
                continue;
            }
        }
        Source item = settle(slot, items[k], snapshot_before(), "an item");
        if (vm::is_tensor(items[k])) continue;
        if (!take_in_items(item, items[k], depth + 1)) return false;
        guard_value(item, "an item");
    }
    return true;
}

// A call has pushed a frame: its registers are the arguments, bound as the VM binds them.
void Recorder::enter_frame(vm::Frame& frame) {
    auto* function = frame.function;
    const lang::Code& plain = *function->code->plain;
    std::vector<Source> sources = current_.operands;
    auto* names = current_.self ? vm::cast<vm::Tuple>(current_.self.get()) : nullptr;
    Source instance;
    if (current_.callee.is_kind(Kind::Class)) {
        int32_t slot = new_slot(frame.init_self);
        Instruction& make = emit(TraceOp::NewInstance);
        make.dst = slot;
        make.pointer = current_.callee.get().o;
        segment_->kept.push_back(current_.callee);
        make.snapshot = snapshot_before();
        instance = {Source::Slot, slot};
        sources.insert(sources.begin(), instance);
    }
    segment_->kept.push_back(Value::object(function));
    ShadowFrame shadow;
    shadow.code = function->code;
    shadow.function = function;
    shadow.result = frame.result;
    shadow.init_self = instance;
    shadow.registers.assign(function->code->nregs, Source{});
    size_t keywords = names ? names->size : 0;
    size_t given = sources.size() - keywords;
    size_t positional = plain.positional, named = positional + plain.keyword_only;
    for (size_t k = 0; k < std::min(given, positional); ++k) shadow.registers[k] = sources[k];
    size_t rest_at = named;
    if (plain.has_varargs) {
        std::vector<Source> rest;
        for (size_t k = positional; k < given; ++k) rest.push_back(sources[k]);
        int32_t slot = new_slot(frame.registers[rest_at]);
        emit_step(Op::BUILD_TUPLE, rest, slot);
        shadow.registers[rest_at] = {Source::Slot, slot};
        rest_at++;
    }
    std::vector<Source> extra;
    for (size_t k = 0; k < keywords; ++k) {
        auto* name = vm::cast<vm::Str>(names->items[k]);
        bool bound = false;
        for (size_t p = plain.positional_only; p < named; ++p) {
            if (plain.local_names[p] == name->view()) {
                shadow.registers[p] = sources[given + k];
                bound = true;
            }
        }
        if (!bound) {
            extra.push_back(constant(Value::object(name)));
            extra.push_back(sources[given + k]);
        }
    }
    if (plain.has_varkw) {
        int32_t slot = new_slot(frame.registers[rest_at]);
        emit_step(Op::BUILD_DICT, extra, slot);
        shadow.registers[rest_at] = {Source::Slot, slot};
    }
    for (size_t p = 0; p < named; ++p) {
        if (shadow.registers[p].kind == Source::Unbound && !frame.registers[p].is_undef()) {
            Value fallback = frame.registers[p];  // a default
            shadow.registers[p] = constant(fallback);
            if (vm::is_tensor(fallback)) {
                int32_t slot = ~shadow.registers[p].index;
                shadow.registers[p] = take_in(vm::tensor_of(fallback), slot, snapshot_before(), plain.local_names[p]);
            }
        }
    }
    // The caller's registers that held callee and arguments are gone.
    const lang::Instr& i = current_.instr;
    size_t used = i.c + 1u;
    if (current_.op == Op::CALL_METHOD || current_.op == Op::CALL_METHOD_KW) used++;
    if (current_.op == Op::CALL_EX) used = i.c ? 3 : 2;
    for (size_t r = 0; r < used; ++r) write(static_cast<uint16_t>(i.b + r), Source{});
    bool keyword_call = current_.op == Op::CALL_KW || current_.op == Op::CALL_METHOD_KW;
    top().pc = current_.at + (keyword_call ? 2 : 1);
    shadow_.push_back(std::move(shadow));
}

void Recorder::conclude_return(vm::Frame& frame) {
    Source result = current_.op == Op::RETURN ? current_.operands[0] : constant(Value::none());
    ShadowFrame left = std::move(shadow_.back());
    shadow_.pop_back();
    if (left.init_self.kind != Source::Unbound) result = left.init_self;
    if (left.depth >= 0) {
        popped_++;
        // The caller of the outermost frame known so far is an entry frame as well.
        ShadowFrame caller;
        caller.code = frame.code;
        caller.function = frame.function;
        caller.depth = left.depth + 1;
        caller.registers.assign(frame.code->nregs, Source{Source::Unloaded, 0});
        caller.changed.assign(frame.code->nregs, false);
        auto pc = static_cast<uint32_t>(frame.pc - frame.code->instrs);
        segment_->entry.push_back({frame.code, pc});
        segment_->kept.push_back(Value::object(frame.code));
        // Which register gets the result is the callee frame's to say.
        left.result = (&frame + 1)->result;
        shadow_.push_back(std::move(caller));
        if (left.init_self.kind == Source::Unbound && !(&frame + 1)->init_self.is_undef()) {
            refuse("instruction", "a constructor's return");
        }
    }
    write(left.result, result);
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
    for (size_t k = 0; k < current_.operands.size(); ++k) {
        const Source& source = current_.operands[k];
        if (source.kind != Source::Slot) continue;
        bool number = false;
        for (size_t p = 0; p < current_.arguments.size(); ++p) {
            if (current_.as_number[p] && current_.arguments[p] == source) number = true;
        }
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
        undo();
        note_break("tensor-value", {});
        jit_.recording_broke(anchor_, segment_->breaks.back());
        launch();
        current_.before = take_snapshot(current_.at);
        current_.before_index = -1;
    }
    bool mutates = (is_in_place(op) && current_.values[0].get().is_obj()) || op == Op::STORE_INDEX || op == Op::DELETE_INDEX ||
                   op == Op::LIST_APPEND || op == Op::SET_ADD || op == Op::DICT_SET || op == Op::LIST_EXTEND ||
                   op == Op::ARGS_EXTEND || op == Op::SET_UPDATE || op == Op::DICT_UPDATE || op == Op::STORE_CELL;
    if (mutates && !(current_.operands[0].kind == Source::Slot && jit_.made_here(*segment_, current_.operands[0].index))) {
        if (fragment_ >= 0 && fragment().may_raise) {
            launch();
            current_.before = take_snapshot(current_.at);
            current_.before_index = -1;
        }
        effect();
    }
    const lang::OpInfo& info = lang::op_info(op);
    bool writes = info.a == lang::Role::wr || info.a == lang::Role::rw;
    int32_t dst = writes ? new_slot(frame.registers[i.a]) : -1;
    uint16_t flags = op == Op::FORMAT ? i.c : op == Op::BUILD_DICT ? i.c : uint16_t{0};
    emit_step(op, current_.operands, dst, flags);
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
    int32_t at_instruction = snapshot_before();
    if (!local) effect();
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

// A builtin that compiled code calls as the interpreter does.
void Recorder::conclude_native(vm::Frame& frame, uint16_t reg, uint32_t next) {
    const lang::Instr& i = current_.instr;
    bool fresh_list = current_.native && current_.native->row->owner == std::string_view("list") &&
                      current_.operands[0].kind == Source::Slot && jit_.made_here(*segment_, current_.operands[0].index);
    bool visible = !current_.native || (current_.native->row->effect != vm::Effect::pure &&
                                        current_.native->row->effect != vm::Effect::reads);
    if (current_.reads) {
        undo();
        note_break("tensor-value", current_.native ? current_.native->row->name : "");
        jit_.recording_broke(anchor_, segment_->breaks.back());
    }
    bool must = current_.reads || (visible && !fresh_list && fragment_ >= 0 && fragment().may_raise);
    std::vector<int32_t> slots;
    for (const Source& source : current_.operands) slots.push_back(operand(source));
    if (must) {
        launch();
        current_.before = take_snapshot(current_.at);
        current_.before_index = -1;
    }
    int32_t snapshot = snapshot_before();
    if (visible && !fresh_list) effect();
    int32_t dst = new_slot(frame.registers[reg]);
    Instruction& call = emit(TraceOp::CallNative);
    call.dst = dst;
    call.pointer = current_.callee.get().o;
    segment_->kept.push_back(current_.callee);
    call.value = current_.self;  // names of keyword arguments
    if (current_.self) segment_->kept.push_back(current_.self);
    call.first = static_cast<uint32_t>(segment_->operands.size());
    call.count = static_cast<uint32_t>(slots.size());
    call.snapshot = snapshot;
    segment_->operands.insert(segment_->operands.end(), slots.begin(), slots.end());
    size_t used = i.c + 1u;
    if (current_.op == Op::CALL_METHOD || current_.op == Op::CALL_METHOD_KW) used++;
    if (current_.op == Op::CALL_EX) used = i.c ? 3 : 2;
    for (size_t r = 0; r < used; ++r) write(static_cast<uint16_t>(i.b + r), Source{});
    write(reg, {Source::Slot, dst});
    Value actual = frame.registers[reg];
    int32_t after = snapshot_at(next);
    write(reg, settle(dst, actual, after, "a result"));
}

// ---- the instruction as a whole ---------------------------------------------------------------------------

void Recorder::conclude(vm::Frame& frame, uint32_t next) {
    const lang::Instr& i = current_.instr;
    Op op = current_.op;
    size_t depth = vm_.depth();
    bool tensors = current_.ran && !current_.reads && current_.made.empty();
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
            if (fragment_ >= 0 && fragment().may_raise) {
                launch();
                current_.before = take_snapshot(current_.at);
                current_.before_index = -1;
            }
            effect();
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
            int32_t snapshot = snapshot_before();
            if (!load) effect();
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
        case Op::LOAD_ATTR: {
            Value object = current_.values[0];
            vm::AttrCache& site = frame.code->sites[i.c];
            if (vm::is_tensor(object)) {
                if (current_.reads || !current_.made.empty()) return refuse("instruction");
                if (site.name->view() == "grad") {
                    auto* leaf = vm::tensor_of(object).impl();
                    auto known = grads_.find(leaf);
                    Source result;
                    if (known != grads_.end()) {
                        result = known->second;
                    } else {
                        int32_t from = operand(current_.operands[0]);
                        int32_t slot = new_slot(frame.registers[i.a]);
                        int32_t snapshot = snapshot_before();
                        Instruction& load = emit(TraceOp::LoadGrad);
                        load.dst = slot;
                        load.a = from;
                        load.snapshot = snapshot;
                        result = settle(slot, frame.registers[i.a], snapshot, "a gradient");
                        grads_[leaf] = result;
                    }
                    consume_operands();
                    return write(i.a, result);
                }
                if (tensors) return conclude_value(frame, i.a, next);
                // Sizes, dtype and the like are what the guard says.
                Value actual = frame.registers[i.a];
                if (vm::is_tensor(actual)) return refuse("unknown-tensor");
                consume_operands();
                return write(i.a, constant(actual));
            }
            if (tensors || current_.reads) return refuse("instruction");
            int32_t from = operand(current_.operands[0]);
            int32_t slot = new_slot(frame.registers[i.a]);
            segment_->sites.push_back(vm::AttrCache{});
            segment_->sites.back().name = site.name;
            int32_t snapshot = snapshot_before();
            Instruction& load = emit(TraceOp::LoadAttr);
            load.dst = slot;
            load.a = from;
            load.pointer = &segment_->sites.back();
            load.snapshot = snapshot;
            consume_operands();
            write(i.a, {Source::Slot, slot});
            int32_t after = snapshot_at(next);
            return write(i.a, settle(slot, frame.registers[i.a], after, "." + std::string(site.name->view())));
        }
        case Op::STORE_ATTR: {
            Value object = current_.values[0];
            vm::AttrCache& site = frame.code->sites[i.b];
            if (vm::is_tensor(object)) {
                if (site.name->view() != "grad" || current_.grads.size() > 1) return refuse("instruction", "a tensor's attribute");
                int32_t leaf = operand(current_.operands[0]), grad = operand(current_.operands[1]);
                effect();
                Instruction& store = emit(TraceOp::StoreGrad);
                store.a = leaf;
                store.b = grad;
                store.snapshot = snapshot_before();
                grads_[vm::tensor_of(object).impl()] = current_.operands[1];
                return consume_operands();
            }
            if (tensors || current_.reads) return refuse("instruction");
            int32_t to = operand(current_.operands[0]), from = operand(current_.operands[1]);
            bool fresh = current_.operands[0].kind == Source::Slot && jit_.made_here(*segment_, current_.operands[0].index);
            if (!fresh) {
                if (fragment_ >= 0 && fragment().may_raise) {
                    launch();
                    current_.before = take_snapshot(current_.at);
                    current_.before_index = -1;
                }
                effect();
            }
            segment_->sites.push_back(vm::AttrCache{});
            segment_->sites.back().name = site.name;
            int32_t snapshot = snapshot_before();
            Instruction& store = emit(TraceOp::StoreAttr);
            store.a = to;
            store.b = from;
            store.pointer = &segment_->sites.back();
            store.snapshot = snapshot;
            return consume_operands();
        }
        case Op::LOAD_METHOD:
        case Op::SUPER_METHOD: {
            Value object = current_.values[0];
            Value function = frame.registers[i.a], self = frame.registers[i.a + 1];
            vm::AttrCache& site = frame.code->sites[i.c];
            if (tensors || current_.reads) return refuse("instruction");
            if (op == Op::SUPER_METHOD) {
                // The class is known and the object's class is guarded: so is what is found.
                if (current_.operands[0].kind != Source::Slot && !is_constant(current_.operands[0])) return refuse("instruction");
                Source self_source = current_.operands[1];
                for (unsigned k = 0; k < 2; ++k) consume(static_cast<uint16_t>(i.b + k));
                segment_->kept.push_back(function);
                write(i.a, constant(function));
                return write(static_cast<uint16_t>(i.a + 1), self.is_undef() ? Source{} : self_source);
            }
            bool builtin = function.is_kind(Kind::Native) && !self.is_undef() && object.is_obj() && !object.o->cls->user &&
                           !object.is_kind(Kind::Class) && !object.is_kind(Kind::Module);
            if (builtin || !object.is_obj()) {  // builtin classes do not change
                Source self_source = current_.operands[0];
                consume_operands();
                write(i.a, constant(function));
                return write(static_cast<uint16_t>(i.a + 1), self_source);
            }
            if (vm::is_tensor(object)) return refuse("instruction", "a tensor's attribute is called");
            int32_t from = operand(current_.operands[0]);
            int32_t slot = new_slot(function);
            int32_t self_slot = new_slot(self);
            segment_->sites.push_back(vm::AttrCache{});
            segment_->sites.back().name = site.name;
            int32_t snapshot = snapshot_before();
            Instruction& load = emit(TraceOp::LoadMethod);
            load.dst = slot;
            load.a = from;
            load.pointer = &segment_->sites.back();
            load.snapshot = snapshot;
            Source self_source = current_.operands[0];
            bool self_is_object = self.same(object);
            consume_operands();
            write(i.a, {Source::Slot, slot});
            write(static_cast<uint16_t>(i.a + 1), self.is_undef() ? Source{} : Source{Source::Slot, self_slot});
            int32_t after = snapshot_at(next);
            write(i.a, settle(slot, function, after, "." + std::string(site.name->view())));
            if (self.is_undef()) return;
            return write(static_cast<uint16_t>(i.a + 1),
                         self_is_object ? self_source : settle(self_slot, self, after, "a method's object"));
        }
        case Op::WITH_ENTER: {
            if (tensors || current_.reads) return refuse("instruction");
            int32_t from = operand(current_.operands[0]);
            int32_t slot = new_slot(frame.registers[i.a]);
            new_slot(frame.registers[i.a + 1]);
            int32_t snapshot = snapshot_before();
            effect();
            Instruction& enter = emit(TraceOp::EnterWith);
            enter.dst = slot;
            enter.a = from;
            enter.snapshot = snapshot;
            consume_operands();
            write(i.a, {Source::Slot, slot});
            write(static_cast<uint16_t>(i.a + 1), {Source::Slot, slot + 1});
            int32_t after = snapshot_at(next);
            write(i.a, settle(slot, frame.registers[i.a], after, "a context manager"));
            return write(static_cast<uint16_t>(i.a + 1), settle(slot + 1, frame.registers[i.a + 1], after, "a context manager"));
        }
        case Op::WITH_EXIT: {
            if (tensors || current_.reads) return refuse("instruction");
            effect();
            emit_step(op, current_.operands, -1);
            return consume_operands();
        }
        case Op::CALL:
        case Op::CALL_KW:
        case Op::CALL_METHOD:
        case Op::CALL_METHOD_KW:
        case Op::CALL_EX: {
            if (depth == depth_ + 1) return enter_frame(frame);
            if (depth != depth_) return refuse("instruction");
            if (current_.callee.is_kind(Kind::Function)) return refuse("calls-back");
            if (!current_.reads && current_.made.empty()) {
                bool metadata = current_.native && current_.native->row->record == vm::Record::metadata &&
                                std::any_of(current_.values.begin(), current_.values.end(),
                                            [&](const Ref& v) { return vm::is_tensor(v); });
                if (metadata && !current_.ran) {
                    guard_attributes();
                    segment_->kept.push_back(frame.registers[i.a]);
                    Source result = constant(frame.registers[i.a]);
                    size_t used = i.c + 1u + (op == Op::CALL_METHOD || op == Op::CALL_METHOD_KW ? 1u : 0u);
                    for (size_t r = 0; r < used; ++r) write(static_cast<uint16_t>(i.b + r), Source{});
                    return write(i.a, result);
                }
                if (tensors) {
                    // .grad of leaves, set by a backward pass.
                    for (auto& [leaf, grad] : current_.grads) {
                        auto leaf_index = known_tensor(leaf);
                        if (!leaf_index) return refuse("outside-tape");
                        if (!grads_.contains(leaf.impl())) {
                            // There was none before.
                            int32_t object = object_of(*leaf_index);
                            int32_t slot = new_slot(Value::none());
                            int32_t snapshot = snapshot_before();
                            Instruction& load = emit(TraceOp::LoadGrad);
                            load.dst = slot;
                            load.a = object;
                            load.snapshot = snapshot;
                            settle(slot, Value::none(), snapshot, "a gradient");
                        }
                        Source value = constant(Value::none());
                        if (grad) {
                            auto grad_index = known_tensor(grad);
                            if (!grad_index) return refuse("outside-tape");
                            value = {Source::Tensor, static_cast<int32_t>(*grad_index)};
                        }
                        grads_[leaf.impl()] = value;
                    }
                    Source result = result_of_operators(frame.registers[i.a]);
                    if (current_.refused) return;
                    guard_attributes();
                    for (auto& [leaf, grad] : current_.grads) {
                        int32_t object = object_of(*known_tensor(leaf)), value = operand(grads_[leaf.impl()]);
                        effect();
                        Instruction& store = emit(TraceOp::StoreGrad);
                        store.a = object;
                        store.b = value;
                        store.snapshot = snapshot_before();
                    }
                    size_t used = i.c + 1u + (op == Op::CALL_METHOD || op == Op::CALL_METHOD_KW ? 1u : 0u);
                    if (op == Op::CALL_EX) used = i.c ? 3 : 2;
                    for (size_t r = 0; r < used; ++r) write(static_cast<uint16_t>(i.b + r), Source{});
                    return write(i.a, result);
                }
            }
            return conclude_native(frame, i.a, next);
        }
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
