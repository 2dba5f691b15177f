#include "jit/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "autograd/tape.hpp"
#include "jit/fragment.hpp"
#include "jit/jit.hpp"
#include "vm/tensor.hpp"

namespace talc::jit {

using lang::Op;
using vm::Kind;
using vm::Tag;

namespace {

lang::Op base_of(lang::Op op) { return lang::op_info(op).base; }

}  // namespace

Recorder::Recorder(Jit& jit, Vm& vm, Anchor& anchor, size_t root_depth, bool at_anchor)
    : jit_(jit), vm_(vm), anchor_(anchor), root_depth_(root_depth), at_anchor_(at_anchor) {
    vm.tensors.observer = this;
}

Recorder::~Recorder() {
    if (vm_.tensors.observer == this) vm_.tensors.observer = &jit_.heat;
}

void Recorder::stop() {
    done_ = true;
    have_current_ = false;
    vm_.tensors.observer = &jit_.heat;
    vm_.hooks.instruction = nullptr;
    vm_.hooks.unwind = nullptr;
}

// ---- segments ---------------------------------------------------------------------------------------------

void Recorder::start_segment(vm::Frame& frame, uint32_t pc) {
    if (jit_.log) {
        jit_.say("trace", fmt::format("{}: recording from {}:{}, instruction {}", anchor_.name, frame.code->plain->source->name(),
                                      frame.code->plain->source->line_of(frame.code->plain->spans[pc].begin), pc));
    }
    segment_ = std::make_unique<Segment>();
    segment_->anchor = &anchor_;
    segment_->entry.push_back({frame.code, pc});
    segment_->kept.push_back(Value::object(frame.code));
    clean_ = true;
    start_depth_ = vm_.depth();
    depth_ = start_depth_;
    shadow_.clear();
    popped_ = 0;
    slot_values_.clear();
    roots_.clear();
    tensors_.clear();
    by_storage_.clear();
    grads_.clear();
    grad_objects_.clear();
    cells_.clear();
    number_values_.clear();
    dims_ = graph::DimEnv();
    guarded_ = 0;
    own_symbols_ = std::make_shared<int>(0);
    last_call_ = nullptr;
    slot_dims_.clear();
    slot_shapes_.clear();
    slot_parts_.clear();
    names_.clear();
    fragment_ = -1;
    resume_ = -1;
    advances_ = draws_ = 0;
    length_ = 0;
    rounds_.clear();
    ShadowFrame shadow;
    shadow.code = frame.code;
    shadow.function = frame.function;
    shadow.depth = 0;
    shadow.registers.assign(frame.code->nregs, Source{Source::Unloaded, 0});
    shadow.changed.assign(frame.code->nregs, false);
    shadow_.push_back(std::move(shadow));
    guard_grad_mode(snapshot_at(pc));
}

void Recorder::finish_segment(bool keep) {
    have_current_ = false;
    if (!segment_) return;
    segment_->slots = static_cast<int32_t>(slot_values_.size());
    if (jit_.log) {
        jit_.say("trace", fmt::format("{}: {} {} instructions from {} of bytecode, {} fragments", anchor_.name,
                                      keep ? "recorded" : "dropped", segment_->code.size(), length_, segment_->fragments.size()));
    }
    for (TensorState& state : tensors_) {
        note_flags(state);
        if (!roots_[state.info.root].number) {
            state.info.cls = vm::wrap(vm_, state.tensor).get().o->cls;
            segment_->kept.push_back(Value::object(state.info.cls));
        }
        segment_->tensors.push_back(state.info);
    }
    for (auto& fragment : segment_->fragments) {
        if (fragment->launched) bind_symbols(*fragment);  // outputs were added until now
        for (Fragment::Output& output : fragment->outputs) {
            const Root& root = roots_[output.root];
            Root::Flags flags = root.flags ? *root.flags : flags_of(root.tensor);
            output.requires_grad = !output.write_back && flags.requires_grad;
            if (!output.requires_grad) continue;
            output.leaf = flags.leaf;
            output.grad_name = flags.grad_name;
        }
    }
    if (keep) jit_.add_segment(std::move(segment_), at_anchor_);
    segment_ = nullptr;
    at_anchor_ = false;
}

bool Recorder::loop_closed(uint32_t pc) {
    return length_ > 0 && popped_ == 0 && shadow_.size() == 1 && top().depth == 0 && vm_.depth() == start_depth_ &&
           segment_->entry[0].pc == pc;
}

// Everything is computed, and the interpreter (or the next segment) goes on there.
void Recorder::end_with_jump(uint32_t pc) {
    current_.before = take_snapshot(pc);
    current_.before_index = -1;
    // Tensors that live in registers are results.
    for (ShadowFrame& frame : shadow_) {
        for (const Source& source : frame.registers) {
            if (source.kind == Source::Tensor) object_of(static_cast<uint32_t>(source.index));
        }
    }
    launch();
    Instruction& poll = emit(TraceOp::Poll);
    poll.imm = length_;
    int32_t snapshot = snapshot_at(pc);
    segment_->code.back().snapshot = snapshot;
    emit(TraceOp::Jump).snapshot = snapshot;
}

void Recorder::cut_here(uint32_t pc) {
    bool worth = !segment_->fragments.empty() || (jit_.params().everything && length_ > 1);
    if (worth) end_with_jump(pc);
    finish_segment(worth);
}

void Recorder::undo() {
    for (size_t i = current_.old_roots.size(); i-- > 0;) {
        auto& [index, old] = current_.old_roots[i];
        uint32_t version = roots_[index].version;
        old.met = roots_[index].met;
        roots_[index] = old;
        roots_[index].version = version + 1;  // values of views that were noted in between count no more
    }
    current_.old_roots.clear();
}

// Compiled code will call for these tensors anew: what was noted of them while the instruction ran is nothing to it.
void Recorder::forget_results() {
    undo();
    for (size_t i = current_.first_root; i < roots_.size(); ++i) {
        if (!roots_[i].tensor || roots_[i].outside) continue;  // operands were there before
        auto [first, last] = by_storage_.equal_range(&roots_[i].tensor.storage());
        for (auto it = first; it != last;) it = it->second == i ? by_storage_.erase(it) : std::next(it);
    }
    // Those that the graph reads already stay.
    bool used = false;
    for (size_t i = current_.first_root; i < roots_.size(); ++i) used = used || roots_[i].object >= 0;
    if (used) return;
    roots_.resize(current_.first_root);
    tensors_.resize(current_.first_tensor);
}

// What was written down for the current instruction, and must not be done when it is not recorded: the interpreter
// does it. Loads, and objects that others may know by now, stay.
void Recorder::take_back() {
    undo();
    std::vector<bool> gone(slot_values_.size(), false);
    auto is_gone = [&](int32_t slot) { return slot >= 0 && gone[static_cast<size_t>(slot)]; };
    auto& code = segment_->code;
    size_t kept = std::min(current_.first_emitted, code.size());
    for (size_t k = kept; k < code.size(); ++k) {
        const Instruction& i = code[k];
        size_t results = 0;
        bool drop = false;
        switch (i.op) {
            case TraceOp::StoreGlobal:
            case TraceOp::StoreEntryFree:
            case TraceOp::StoreAttr:
            case TraceOp::StoreGrad:
            case TraceOp::Spend: drop = true; break;
            case TraceOp::Step:
            case TraceOp::CompareTruth:
            case TraceOp::Next:
            case TraceOp::NextEnds:
            case TraceOp::CallNative:
            case TraceOp::NewInstance:
            case TraceOp::LoadAttr:
                drop = true;
                results = 1;
                break;
            case TraceOp::LoadMethod:
            case TraceOp::EnterWith:
                drop = true;
                results = 2;
                break;
            case TraceOp::Random: code[k].imm = 1; break;  // the graph knows its operands
            case TraceOp::Unpack:
                drop = true;
                results = static_cast<size_t>(i.imm);
                break;
            case TraceOp::GuardSizes: {
                std::vector<uint32_t> symbols;
                graph::collect_symbols(segment_->facts[static_cast<size_t>(i.imm)].a, symbols);
                graph::collect_symbols(segment_->facts[static_cast<size_t>(i.imm)].b, symbols);
                drop = std::any_of(symbols.begin(), symbols.end(),
                                   [&](uint32_t symbol) { return is_gone(segment_->symbols[symbol].slot); });
                break;
            }
            case TraceOp::GuardOther:
            case TraceOp::GuardApart: {
                auto others = std::span(segment_->operands).subspan(i.first, i.count);
                drop = (i.a != Instruction::kNone && is_gone(i.a)) || std::any_of(others.begin(), others.end(), is_gone);
                break;
            }
            case TraceOp::GuardSame: drop = is_gone(i.a) || is_gone(i.b); break;
            case TraceOp::GuardIs:
            case TraceOp::GuardTag:
            case TraceOp::GuardClass:
            case TraceOp::GuardShape:
            case TraceOp::GuardTensor:
            case TraceOp::GuardLeaf:
            case TraceOp::GuardEqual:
            case TraceOp::GuardLength:
            case TraceOp::GuardNoHistory:
            case TraceOp::GuardTruth: drop = is_gone(i.a); break;
            default: break;
        }
        if (!drop) {
            if (kept != k) code[kept] = code[k];
            kept++;
            continue;
        }
        if (i.op == TraceOp::Next || i.op == TraceOp::NextEnds) advances_--;
        for (size_t r = 0; i.dst >= 0 && r < results; ++r) gone[static_cast<size_t>(i.dst) + r] = true;
    }
    code.resize(kept);
    std::erase_if(grad_objects_, is_gone);
    if (current_.old_shadow.empty()) return;
    shadow_ = std::move(current_.old_shadow);
    popped_ = current_.old_popped;
    segment_->entry.resize(popped_ + 1);
}

void Recorder::note_break(std::string_view reason, std::string detail) {
    segment_->breaks.push_back({std::string(reason), std::move(detail), top().code, current_.at});
}

void Recorder::cut_before(std::string_view reason, std::string detail) {
    take_back();
    note_break(reason, std::move(detail));
    bool worth = (!segment_->fragments.empty() || jit_.params().everything) && length_ > 1;
    if (worth) end_with_jump(current_.at);
    jit_.recording_broke(anchor_, segment_->breaks.back());
    finish_segment(worth);
}

// The current instruction is not recorded; what follows it may be.
void Recorder::skip(std::string_view reason) {
    cut_before(reason);
    skipping_ = true;
}

void Recorder::instruction(vm::Frame& frame, const lang::Instr* pc) {
    if (done_ || paused_) return;
    size_t depth = vm_.depth();
    auto at = static_cast<uint32_t>(pc - frame.code->instrs);
    Pause pause(paused_);
    if (skipping_) {
        if (depth > depth_) return;
        skipping_ = false;
        if (depth < root_depth_) return stop();
        if (frame.generator) return stop();
        depth_ = depth;
    }
    if (have_current_) {
        bool called = depth > depth_;
        if (called && (frame.entry || current_.nested || depth > depth_ + 1)) {
            current_.nested = true;
            return;
        }
        if (current_.nested) {
            cut_before("calls-back");
            if (depth != depth_) return stop();
        } else {
            finalize(frame, pc);
            if (done_) return;
        }
    }
    if (!segment_) {
        if (depth < root_depth_ || frame.generator || frame.entry != (depth == root_depth_ ? frame.entry : false)) return stop();
        // What was recorded before goes on from here; but for the first place, whose segments did not fit.
        if (!std::exchange(fresh_, false) && jit_.has_segment(frame, at)) return stop();
        if (anchor_.segments >= jit_.params().max_segments) return stop();
        start_segment(frame, at);
    }
    depth_ = depth;
    if (!begin(frame, pc)) return;
}

void Recorder::unwind(vm::Frame& frame) {
    if (done_ || paused_) return;
    if (vm_.depth() > depth_ && have_current_) {  // inside a builtin that calls back; it may handle it
        current_.nested = true;
        return;
    }
    (void)frame;
    if (have_current_ && segment_) {
        paused_ = true;
        cut_before("exception");
        paused_ = false;
    }
    stop();
}

// False: recording is over, or this instruction is not recorded.
bool Recorder::begin(vm::Frame& frame, const lang::Instr* pc) {
    auto at = static_cast<uint32_t>(pc - frame.code->instrs);
    const lang::Instr& instr = vm_.plain(*pc);
    if (loop_closed(at)) {
        segment_->loops = true;
        cut_here(at);
        stop();
        return false;
    }
    current_ = Current();
    current_.pc = pc;
    current_.instr = instr;
    current_.op = base_of(instr.op);
    current_.at = at;
    top().pc = at;
    if (current_.op == Op::JUMP_BACK || current_.op == Op::FOR_NEXT) {
        bool full = ++rounds_[pc] > jit_.params().max_unroll || length_ > jit_.params().max_instructions ||
                    (fragment_ >= 0 && fragment().graph.size() > jit_.params().max_nodes);
        if (full && length_ > 1) {
            cut_here(at);
            start_segment(frame, at);
            top().pc = at;
            current_.before_index = -1;
        }
    }
    length_++;
    current_.before = take_snapshot(at);
    current_.first_emitted = segment_->code.size();
    current_.first_root = roots_.size();
    current_.first_tensor = tensors_.size();
    have_current_ = true;
    if (fragment_ >= 0) fragment().graph.set_span(frame.code->plain->spans[at]);
    if (!prepare(frame) || current_.refused) {
        if (!done_ && segment_) skip(current_.refused ? std::string_view(*current_.refused) : "instruction");
        return false;
    }
    current_.old_shadow = shadow_;
    current_.old_popped = popped_;
    return !done_;
}

void Recorder::finalize(vm::Frame& frame, const lang::Instr* pc) {
    auto next = static_cast<uint32_t>(pc - frame.code->instrs);
    if (current_.refused) {
        cut_before(*current_.refused, current_.refused_detail);
        if (vm_.depth() != depth_) stop();
        return;
    }
    share_facts();
    conclude(frame, next);
    have_current_ = false;
    if (!done_ && current_.refused) {
        cut_before(*current_.refused, current_.refused_detail);
        if (vm_.depth() > depth_) stop();
    }
}

// ---- registers --------------------------------------------------------------------------------------------

Source Recorder::read(size_t shadow, uint16_t reg) {
    Source& source = shadow_[shadow].registers[reg];
    if (source.kind != Source::Unloaded) return source;
    ShadowFrame& frame = shadow_[shadow];
    // Entry frames lie below the start, from the innermost outwards.
    vm::Frame* actual = vm_.frame() - (vm_.depth() - (start_depth_ - static_cast<size_t>(frame.depth)));
    Value value = actual->registers[reg];
    if (value.is_undef()) return Source{};
    int32_t slot = new_slot(value);
    Instruction& load = emit(TraceOp::LoadRegister);
    load.dst = slot;
    load.a = frame.depth;
    load.b = reg;
    std::string what = reg < frame.code->plain->local_names.size() && !frame.code->plain->local_names[reg].empty()
                           ? frame.code->plain->local_names[reg]
                           : "a temporary";
    Source loaded = settle(slot, value, snapshot_before(), std::move(what));
    shadow_[shadow].registers[reg] = loaded;
    return loaded;
}

Source Recorder::read(uint16_t reg) { return read(shadow_.size() - 1, reg); }

void Recorder::write(size_t shadow, uint16_t reg, Source source) {
    shadow_[shadow].registers[reg] = source;
    if (shadow_[shadow].depth >= 0) shadow_[shadow].changed[reg] = true;
}

void Recorder::write(uint16_t reg, Source source) { write(shadow_.size() - 1, reg, source); }

void Recorder::consume(uint16_t reg) {
    if (reg >= top().code->nlocals) write(reg, Source{});
}

void Recorder::consume_operands() {
    const lang::OpInfo& info = lang::op_info(current_.op);
    const lang::Instr& i = current_.instr;
    auto one = [&](lang::Role role, uint16_t reg) {
        if (role == lang::Role::rd) consume(reg);
    };
    one(info.a, i.a);
    one(info.b, i.b);
    one(info.c, i.c);
}

Source Recorder::constant(Value value) {
    for (size_t i = 0; i < segment_->constants.size(); ++i) {
        Value known = segment_->constants[i];
        if (known.same(value)) return {Source::Constant, static_cast<int32_t>(i)};
    }
    segment_->constants.push_back(value);
    return {Source::Constant, static_cast<int32_t>(segment_->constants.size() - 1)};
}

int32_t Recorder::new_slot(Value actual) {
    slot_values_.push_back(actual);
    return static_cast<int32_t>(slot_values_.size() - 1);
}

int32_t Recorder::operand(Source source) {
    switch (source.kind) {
        case Source::Constant: return ~source.index;
        case Source::Slot: return source.index;
        case Source::Tensor: return object_of(static_cast<uint32_t>(source.index));
        default: return ~constant(Value::undef()).index;
    }
}

Value Recorder::value_of(Source source) const {
    switch (source.kind) {
        case Source::Constant: return segment_->constants[static_cast<size_t>(source.index)];
        case Source::Slot: return slot_values_[static_cast<size_t>(source.index)];
        default: return Value();
    }
}

Instruction& Recorder::emit(TraceOp op) {
    segment_->code.emplace_back();
    segment_->code.back().op = op;
    return segment_->code.back();
}

Instruction& Recorder::emit_step(lang::Op op, std::span<const Source> operands, int32_t dst, uint16_t flags) {
    std::vector<int32_t> slots;
    for (const Source& source : operands) slots.push_back(operand(source));
    int32_t snapshot = snapshot_before();
    Instruction& step = emit(TraceOp::Step);
    step.step = op;
    step.flags = flags;
    step.dst = dst;
    step.first = static_cast<uint32_t>(segment_->operands.size());
    step.count = static_cast<uint32_t>(slots.size());
    step.snapshot = snapshot;
    segment_->operands.insert(segment_->operands.end(), slots.begin(), slots.end());
    return step;
}

// ---- snapshots --------------------------------------------------------------------------------------------

Snapshot Recorder::take_snapshot(uint32_t pc) {
    Snapshot snapshot;
    snapshot.popped = popped_;
    snapshot.clean = clean_;
    std::vector<uint32_t> wanted;  // roots of tensors without an object
    auto saved = [&](Source source) -> Source {
        if (source.kind != Source::Tensor) return source;
        TensorState& state = tensors_[static_cast<size_t>(source.index)];
        if (state.info.object >= 0) return {Source::Slot, state.info.object};
        Root& root = roots_[state.info.root];
        // Values of fragments that are over are kept for whoever may still need them.
        if (root.fragment >= 0 && root.fragment != fragment_ && !root.in_memory) root_object(state.info.root);
        wanted.push_back(state.info.root);
        return source;
    };
    for (size_t f = 0; f < shadow_.size(); ++f) {
        ShadowFrame& shadow = shadow_[f];
        SavedFrame frame;
        frame.depth = shadow.depth;
        frame.code = shadow.code;
        frame.function = shadow.depth >= 0 ? nullptr : shadow.function;
        frame.pc = f + 1 == shadow_.size() ? pc : shadow.pc;
        frame.result = shadow.result;
        frame.init_self = saved(shadow.init_self);
        for (size_t r = 0; r < shadow.registers.size(); ++r) {
            const Source& source = shadow.registers[r];
            if (source.kind == Source::Unloaded) continue;
            if (shadow.depth >= 0 && !shadow.changed[r]) continue;
            if (shadow.depth < 0 && source.kind == Source::Unbound) continue;
            frame.registers.emplace_back(static_cast<uint16_t>(r), saved(source));
        }
        snapshot.frames.push_back(std::move(frame));
    }
    snapshot.fragment = fragment_;
    snapshot.resume = resume_;
    snapshot.advances = advances_;
    snapshot.draws = draws_;
    if (fragment_ >= 0 && fragment().may_raise) snapshot.nodes = static_cast<uint32_t>(fragment().graph.size());
    for (uint32_t r = 0; r < roots_.size(); ++r) {
        Root& root = roots_[r];
        if (root.number || root.fragment != fragment_ || fragment_ < 0) continue;
        bool lacks_memory = !root.in_memory && root.value;
        bool needed = (lacks_memory && (root.promised || std::find(wanted.begin(), wanted.end(), r) != wanted.end())) ||
                      (root.in_memory && root.dirty);
        if (needed) {
            snapshot.pending.push_back({r, root.value, root.object, root.in_memory && root.dirty, order_of(root.tensor), root.spent, root.writes});
        }
    }
    // Objects of views that wait for memory.
    if (fragment_ >= 0) snapshot.views = fragment().views;
    return snapshot;
}

int32_t Recorder::add_snapshot(Snapshot snapshot) {
    segment_->snapshots.push_back(std::move(snapshot));
    return static_cast<int32_t>(segment_->snapshots.size() - 1);
}

int32_t Recorder::snapshot_before() {
    if (current_.before_index < 0) current_.before_index = add_snapshot(current_.before);
    return current_.before_index;
}

int32_t Recorder::snapshot_at(uint32_t pc) { return add_snapshot(take_snapshot(pc)); }

bool Recorder::is_ours(Source object) const {
    if (object.kind != Source::Slot || !jit_.made_here(*segment_, object.index)) return false;
    return resume_ < 0 || static_cast<size_t>(object.index) >= resume_slots_;
}

void Recorder::effect() {
    clean_ = false;
    resume_ = -1;
}

void Recorder::visible_effect() {
    if (fragment_ >= 0 && fragment().may_raise) {
        launch();
        current_.before = take_snapshot(current_.at);
        current_.before_index = -1;
    }
    effect();
}

// ---- guards -----------------------------------------------------------------------------------------------

Source Recorder::settle(int32_t slot, Value actual, int32_t snapshot, std::string what) {
    Instruction* guard = nullptr;
    if (vm::is_tensor(actual)) return take_in(vm::tensor_of(actual), slot, snapshot, std::move(what));
    if (!actual.is_obj()) {
        guard = &emit(TraceOp::GuardTag);
        guard->imm = static_cast<int64_t>(actual.tag);
    } else {
        switch (actual.o->kind) {
            case Kind::Function:
            case Kind::Native:
            case Kind::Class:
            case Kind::Module:
            case Kind::DType:
            case Kind::Device: {
                guard = &emit(TraceOp::GuardIs);
                segment_->kept.push_back(actual);
                guard->value = actual;
                break;
            }
            case Kind::Instance: {
                vm::Shape* shape = vm::cast<vm::Instance>(actual)->slots.shape;
                if (jit_.plain_shape(shape)) {
                    guard = &emit(TraceOp::GuardShape);
                    guard->pointer = shape;
                    segment_->kept.push_back(Value::object(actual.o->cls));
                    break;
                }
                [[fallthrough]];
            }
            default:
                guard = &emit(TraceOp::GuardClass);
                guard->pointer = actual.o->cls;
                segment_->kept.push_back(Value::object(actual.o->cls));
        }
    }
    guard->a = slot;
    guard->snapshot = snapshot;
    if (segment_->snapshots[static_cast<size_t>(snapshot)].what.empty()) {
        segment_->snapshots[static_cast<size_t>(snapshot)].what = std::move(what);
    }
    return {Source::Slot, slot};
}

// At the start, and after what may switch it: a context manager that was entered before the segment gives back a mode
// that the segment does not know.
void Recorder::guard_grad_mode(int32_t snapshot) {
    Instruction& mode = emit(TraceOp::GuardGradMode);
    mode.imm = vm_.tensors.grad_enabled;
    mode.snapshot = snapshot;
    std::string& what = segment_->snapshots[static_cast<size_t>(snapshot)].what;
    if (what.empty()) what = "gradient mode";
}

// Compiled code is for this very value.
void Recorder::guard_value(Source source, std::string what) {
    if (source.kind != Source::Slot) return;
    Value actual = value_of(source);
    if (!actual.is_obj() && !actual.is_int() && !actual.is_float() && !actual.is_bool()) return;  // the tag says it
    if (actual.is_obj()) {
        switch (actual.o->kind) {
            case Kind::Function:
            case Kind::Native:
            case Kind::Class:
            case Kind::Module:
            case Kind::DType:
            case Kind::Device: return;  // guarded by identity
            default: break;
        }
    }
    int32_t snapshot = snapshot_before();
    Instruction& guard = emit(TraceOp::GuardEqual);
    guard.a = source.index;
    guard.snapshot = snapshot;
    if (actual.is_kind(Kind::List)) {
        auto* list = vm::cast<vm::List>(actual);
        segment_->kept.push_back(vm::make_tuple(vm_, list->items, list->size));
    } else {
        segment_->kept.push_back(actual);
    }
    guard.value = segment_->kept.back();
    if (segment_->snapshots[static_cast<size_t>(snapshot)].what.empty()) {
        segment_->snapshots[static_cast<size_t>(snapshot)].what = std::move(what);
    }
}

}  // namespace talc::jit
