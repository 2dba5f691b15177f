#include "jit/jit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "graph/text.hpp"
#include "jit/fragment.hpp"
#include "jit/fragment_grad.hpp"
#include "base/source.hpp"
#include "vm/shape.hpp"
#include "vm/tensor.hpp"

namespace talc::jit {

using lang::Op;
using vm::Kind;
using vm::Traced;

const char* name_of(TraceOp op) {
    static const char* const names[] = {
#define TRACE_OP(name, doc) #name,
#include "jit/trace_ops.def"
#undef TRACE_OP
    };
    return names[static_cast<size_t>(op)];
}

namespace {

const char kKey = 0;  // its address names the jit among the engine's extensions

}  // namespace

struct Jit::Hook {
    static Jit& self(void* context) { return *static_cast<Jit*>(context); }
    static void instruction(void* context, Vm& vm, vm::Frame& frame, const lang::Instr* pc) {
        Jit& jit = self(context);
        try {
            jit.recorder_->instruction(frame, pc);
        } catch (vm::Raised&) {  // no memory for what is kept, or a backend that must not fail
            jit.end_recording();
            throw;
        }
        if (!jit.broken_.empty()) {
            jit.end_recording();
            vm::raise(vm, vm::Exc::RuntimeError, std::exchange(jit.broken_, {}));
        }
        if (jit.recorder_->done()) jit.end_recording();
    }
    static void unwind(void* context, Vm&, vm::Frame& frame) {
        Jit& jit = self(context);
        jit.recorder_->unwind(frame);
        jit.broken_.clear();  // an exception says more
        if (jit.recorder_->done()) jit.end_recording();
    }
    static Traced trace(void* context, Vm&, vm::Frame& frame, uint32_t entry, Ref& result) {
        return self(context).trace(frame, entry, result);
    }
    static void hot(void* context, Vm&, vm::Frame& frame, lang::Instr* header) { self(context).hot(frame, header); }
};

Jit::Jit(Vm& vm, inductor::Backend* native) : vm_(vm), native_(native) {
    vm.hooks.context = this;
    vm.hooks.trace = Hook::trace;
    vm.hooks.hot = Hook::hot;
    vm.tensors.observer = &heat;
    vm.extension[&kKey] = std::shared_ptr<void>(this, [](void*) {});
}

Jit::~Jit() {
    reset();
    vm_.tensors.observer = nullptr;
    vm_.hooks = vm::Hooks();
    vm_.extension.erase(&kKey);
}

Jit* Jit::of(Vm& vm) {
    auto found = vm.extension.find(&kKey);
    return found == vm.extension.end() ? nullptr : static_cast<Jit*>(found->second.get());
}

bool Jit::configure(std::string_view text) {
    while (!text.empty()) {
        size_t end = text.find(',');
        std::string_view one = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        size_t equals = one.find('=');
        if (equals == std::string_view::npos) return false;
        std::string_view name = one.substr(0, equals), value = one.substr(equals + 1);
        bool known = false;
        if (name == "backend") {
            hot_backend_ = value;
            known = true;
        }
#define PARAM(id, initial, doc)                                                                     \
    if (name == #id) {                                                                              \
        known = std::from_chars(value.data(), value.data() + value.size(), params_.id).ec == std::errc(); \
    }
#include "jit/params.def"
#undef PARAM
        if (!known) return false;
    }
    if (params_.everything) vm_.warm();
    return true;
}

void Jit::say(std::string_view channel, const std::string& text) {
    if (log) log(channel, text);
}

// ---- anchors ----------------------------------------------------------------------------------------------

// A TRACE at that place; gives its entry.
uint32_t Jit::patch(vm::Code* code, uint32_t pc) {
    lang::Instr& instr = code->instrs[pc];
    if (instr.op == Op::TRACE) return static_cast<uint32_t>(instr.bc());
    auto index = static_cast<uint32_t>(vm_.traced.size());
    vm_.traced.push_back(instr);
    vm_.traced.back().op = lang::op_info(instr.op).base;
    entries_.resize(vm_.traced.size());
    entries_[index].code = code;
    entries_[index].pc = pc;
    instr.op = Op::TRACE;
    instr.set_bc(static_cast<int32_t>(index));
    return index;
}

Anchor& Jit::make_anchor(vm::Code* code, uint32_t pc, Options options, bool forced, std::string name) {
    auto anchor = std::make_unique<Anchor>();
    anchor->code = Value::object(code);
    anchor->pc = pc;
    anchor->options = std::move(options);
    anchor->forced = forced;
    anchor->name = std::move(name);
    by_place_[{code, pc}] = anchor.get();
    anchors_.push_back(std::move(anchor));
    return *anchors_.back();
}

Anchor* Jit::anchor_of(vm::Code* code, uint32_t pc) {
    auto found = by_place_.find({code, pc});
    return found == by_place_.end() ? nullptr : found->second;
}

Ref Jit::compiled(vm::Function* function, Options options) {
    vm::Ptr<vm::Code> code = vm_.link(function->code->unit, *function->code->plain, function->code->module);
    Ref copy = vm::copy_function(vm_, function, code.get());
    if (code->generator) return copy;
    Anchor& anchor = make_anchor(code.get(), 0, std::move(options), true, function->qualname->string());
    entries_[patch(code.get(), 0)].anchor = &anchor;
    return copy;
}

void Jit::disable(vm::Function* function) {
    Anchor* known = anchor_of(function->code, 0);
    Anchor& anchor = known ? *known : make_anchor(function->code, 0, {}, false, function->qualname->string());
    anchor.disabled = true;
}

void Jit::wait() { queue_.wait(); }

void Jit::reset() {
    if (recorder_) end_recording();
    queue_.clear();
    for (Entry& entry : entries_) entry.segments.clear();
    for (auto& anchor : anchors_) {
        anchor->owned.clear();
        anchor->compiles = 0;
        anchor->segments = 0;
        anchor->rounds = 0;
        anchor->given_up = false;
        anchor->recompiles.clear();
    }
    stats = Stats();
}

void Jit::give_up(Anchor& anchor, std::string why) {
    if (anchor.given_up) return;
    anchor.given_up = true;
    std::string text = fmt::format("{} is no longer compiled: {}", anchor.name, why);
    if (anchor.forced && warn) warn(text);
    say("recompiles", text);
}

// ---- recording --------------------------------------------------------------------------------------------

// The frame in which the anchor lies, as far as it is below the innermost one.
size_t Jit::root_depth_of(const Anchor& anchor) const {
    size_t depth = vm_.depth();
    vm::Object* code = anchor.code.get().o;
    for (size_t d = 0; d < depth; ++d) {
        const vm::Frame* frame = vm_.frame() - d;
        if (frame->code == code) return depth - d;
        if (frame->entry || frame->generator) break;
    }
    return depth;
}

void Jit::begin_recording(Anchor& anchor, size_t root_depth, bool at_anchor) {
    recorder_ = std::make_unique<Recorder>(*this, vm_, anchor, root_depth, at_anchor);
    vm_.hooks.instruction = Hook::instruction;
    vm_.hooks.unwind = Hook::unwind;
}

void Jit::end_recording() {
    vm_.hooks.instruction = nullptr;
    vm_.hooks.unwind = nullptr;
    recorder_ = nullptr;
}

bool Jit::has_segment(vm::Frame& frame, uint32_t pc) {
    const lang::Instr& instr = frame.code->instrs[pc];
    if (instr.op != Op::TRACE) return false;
    for (Segment* segment : entries_[static_cast<size_t>(instr.bc())].segments) {
        if (matches(*segment, vm_, frame)) return true;
    }
    return false;
}

const BreakInfo& break_info(std::string_view name) {
    static constexpr BreakInfo kRows[] = {
#define BREAK(id, name, what, hint) {name, what, hint},
#include "jit/breaks.def"
#undef BREAK
    };
    for (const BreakInfo& row : kRows) {
        if (name == row.name) return row;
    }
    static constexpr BreakInfo kOther = {"other", "recording ended", ""};
    return kOther;
}

void Jit::recording_broke(Anchor& anchor, const Break& reason) {
    stats.breaks++;
    const lang::Code& code = *reason.code->plain;
    Span span = code.spans[reason.instruction];
    auto line = code.source->line_of(span.begin);
    std::string detail = reason.detail.empty() ? "" : " (" + reason.detail + ")";
    say("graph_breaks", fmt::format("{}: break \"{}\"{} at {}:{}: {}", anchor.name, reason.reason, detail, code.source->name(),
                                    line, code.source->line(line)));
    if (!anchor.options.fullgraph) return;
    const BreakInfo& info = break_info(reason.reason);
    broken_ = fmt::format("{} is not one graph (fullgraph=True): {}{}, at {}:{}\n{}\nhint: {}", anchor.name, info.what, detail,
                          code.source->name(), line, caret_excerpt(*code.source, span), info.hint);
}

bool Jit::plain_shape(const vm::Shape* shape) const { return shape && !shape->dictionary; }

bool Jit::made_here(const Segment& segment, int32_t slot) const {
    bool made = false;
    for (const Instruction& i : segment.code) {
        if (i.dst == slot && (i.op == TraceOp::NewInstance ||
                              (i.op == TraceOp::Step && (i.step == Op::BUILD_LIST || i.step == Op::BUILD_DICT ||
                                                         i.step == Op::BUILD_SET || i.step == Op::MAKE_CELL)))) {
            made = true;
        }
        bool escapes = ((i.op == TraceOp::StoreGlobal || i.op == TraceOp::StoreEntryFree) && (i.a == slot || i.c == slot)) ||
                       (i.op == TraceOp::StoreAttr && i.b == slot);
        for (uint32_t k = 0; k < i.count; ++k) {
            if (segment.operands[i.first + k] != slot) continue;
            bool receiver = k == 0 && (i.op == TraceOp::CallNative || i.step == Op::LIST_APPEND || i.step == Op::STORE_INDEX ||
                                       i.step == Op::DICT_SET || i.step == Op::INDEX || i.step == Op::INDEX_K ||
                                       i.step == Op::LIST_EXTEND || i.step == Op::ARGS_EXTEND || i.step == Op::DICT_MERGE ||
                                       i.step == Op::LIST_TO_TUPLE);
            escapes = escapes || !receiver;
        }
        if (escapes) return false;
    }
    return made;
}

void Jit::add_segment(std::unique_ptr<Segment> segment, bool at_anchor) {
    if (!broken_.empty()) return;
    Anchor& anchor = *segment->anchor;
    segment->number = segment_count_++;
    compile(*segment);
    stats.segments++;
    anchor.segments++;
    for (auto& fragment : segment->fragments) stats.fragments += fragment->launched ? 1 : 0;
    if (at_anchor) {
        stats.compiles++;
        anchor.compiles++;
        if (anchor.compiles == 1) stats.traces++;
    } else {
        stats.side_traces++;
    }
    uint32_t entry = patch(segment->entry[0].code, segment->entry[0].pc);
    entries_[entry].segments.insert(entries_[entry].segments.begin(), segment.get());
    anchor.owned.push_back(std::move(segment));
}

namespace {

std::string dump(const Segment& segment) {
    std::string text;
    for (const Instruction& i : segment.code) {
        text += fmt::format("    {}", name_of(i.op));
        if (i.op == TraceOp::Step) text += fmt::format(" {}", lang::op_info(i.step).name);
        if (i.dst >= 0) text += fmt::format(" s{} :=", i.dst);
        text += fmt::format(" {} {} {} imm {}", i.a, i.b, i.c, i.imm);
        for (uint32_t k = 0; k < i.count; ++k) text += fmt::format("{}{}", k ? ", " : " (", segment.operands[i.first + k]);
        if (i.count) text += ")";
        if (i.snapshot >= 0) {
            const Snapshot& snapshot = segment.snapshots[static_cast<size_t>(i.snapshot)];
            text += fmt::format("  [snapshot {}{}{}{}]", i.snapshot, snapshot.clean ? ", clean" : "",
                                snapshot.what.empty() ? "" : ", ", snapshot.what);
        }
        text += "\n";
    }
    return text;
}

}  // namespace

void Jit::compile(Segment& segment) {
    if (log) say("trace_code", fmt::format("{}, segment {}:\n{}", segment.anchor->name, segment.number, dump(segment)));
    for (auto& fragment : segment.fragments) {
        if (!fragment->launched) continue;
        if (prepare_fragment(*fragment, segment.anchor->options) && native_) {
            if (segment.anchor->forced) {
                compile_fragment(*fragment, *native_);
                fragment->ready = true;
            } else {
                queue_.add(fragment, native_);
            }
        }
        if (fragment->ready && !fragment->failure.empty()) {
            std::string text = fmt::format("{}: a fragment runs operator by operator: {}", segment.anchor->name, fragment->failure);
            if (strict) vm::raise(vm_, vm::Exc::RuntimeError, text);
            if (warn) warn(text);
        }
        if (!log) continue;
        std::vector<graph::Value> outputs;
        for (const Fragment::Output& output : fragment->outputs) outputs.push_back(output.value);
        if (fragment->graph.outputs().empty()) fragment->graph.set_outputs(outputs);
        say("graph", fmt::format("{}, line {}:\n{}", segment.anchor->name, fragment->line, graph::print(fragment->graph)));
        if (fragment->gradient) {
            say("aot_graphs", fmt::format("{}, line {}, backward:\n{}", segment.anchor->name, fragment->line,
                                          graph::print(fragment->gradient->whole().fragment.graph)));
        }
        if (!fragment->ready || !fragment->code) continue;
        for (const inductor::LogLine& line : fragment->code->log()) {
            say(line.channel, fmt::format("{}, line {}: {}", segment.anchor->name, fragment->line, line.text));
        }
        for (const inductor::KernelInfo& kernel : fragment->code->kernels()) {
            say("output_code", fmt::format("{}, {}:\n{}", segment.anchor->name, kernel.name, kernel.text));
        }
    }
}

// ---- running ----------------------------------------------------------------------------------------------

void Jit::hot(vm::Frame& frame, lang::Instr* header) {
    if (!enabled) return;
    // Headers and calls are looked at as long as operators keep running.
    if (ops_ != ops_seen_ || params_.everything) {
        ops_seen_ = ops_;
        idle_ = 0;
    }
    if (++idle_ < params_.cool) vm_.warm();
    if (recorder_ || frame.generator || header->op == Op::TRACE) return;
    auto pc = static_cast<uint32_t>(header - frame.code->instrs);
    // A compiled function's loops are its own affair.
    if (Anchor* whole = anchor_of(frame.code, 0); whole && ((whole->forced && !whole->given_up) || whole->disabled)) return;
    bool function = pc == 0 && frame.pc == frame.code->instrs;
    if (function && frame.code->heat == 0 && !params_.everything) return;
    Anchor* anchor = anchor_of(frame.code, pc);
    if (!anchor) {
        auto line = frame.code->plain->source->line_of(frame.code->plain->spans[pc].begin);
        std::string name = function ? frame.code->qualname->string()
                                    : fmt::format("the loop at {}:{}", frame.code->plain->source->name(), line);
        Options options;
        options.backend = hot_backend_;
        anchor = &make_anchor(frame.code, pc, std::move(options), false, std::move(name));
        anchor->seen = ops_;
        if (!params_.everything) return;
    }
    // A function must have run operators itself; a loop's body may have called for them.
    uint64_t now = function ? frame.code->heat : ops_;
    if (anchor->seen == now && !params_.everything) return;
    anchor->seen = now;
    if (anchor->disabled || ++anchor->rounds < (function ? params_.warm_calls : params_.warm_rounds)) return;
    entries_[patch(frame.code, pc)].anchor = anchor;
}

// What was recorded at a special time (the first step makes the optimizer's state) and is left at one place each time
// since is recorded anew from the anchor, as a whole.
bool Jit::retire(Segment& segment, uint32_t left_here) {
    Anchor& anchor = *segment.anchor;
    if (left_here != segment.runs || anchor.compiles > params_.max_recompiles) return false;
    if (segment.entry[0].code != anchor.code.get().o || segment.entry[0].pc != anchor.pc) return false;
    auto& list = entries_[patch(segment.entry[0].code, segment.entry[0].pc)].segments;
    auto at = std::find(list.begin(), list.end(), &segment);
    if (at == list.end()) return false;
    list.erase(at);
    stats.recompiles++;
    anchor.recompiles.push_back(last_failure_);
    say("recompiles", fmt::format("{} is compiled again, for it is left here each time: {}", anchor.name, last_failure_));
    return true;
}

Traced Jit::trace(vm::Frame& at, uint32_t index, Ref& result) {
    if (recorder_) return Traced::no;
    vm::Frame* frame = &at;
    bool moved = false;
    for (;;) {
        Outcome outcome;
        bool tried = false;
        // Looked up anew each time: a segment's calls may record others, and the entries move.
        for (size_t k = 0; k < entries_[index].segments.size(); ++k) {
            Segment* segment = entries_[index].segments[k];
            if (!matches(*segment, vm_, *frame)) continue;
            tried = true;
            outcome = run_segment(*this, vm_, *segment, last_failure_);
            if (outcome.traced != Traced::no) {
                // Next time this one first.
                auto& list = entries_[index].segments;
                if (k > 0 && k < list.size() && list[k] == segment) std::rotate(list.begin(), list.begin() + static_cast<int64_t>(k), list.begin() + static_cast<int64_t>(k) + 1);
                break;
            }
        }
        if (outcome.traced == Traced::no) {
            Anchor* anchor = entries_[index].anchor;
            if (tried && anchor && anchor->pc != 0 && outcome.rounds) return moved ? Traced::plainly : Traced::no;  // the loop is over
            if (tried) stats.guard_failures++;
            if (tried && !anchor) {
                // A later stretch of an anchor's code, with other types.
                Anchor& owner = *entries_[index].segments[0]->anchor;
                if (entries_[index].segments.size() < params_.max_variants && owner.segments < params_.max_segments &&
                    !owner.given_up) {
                    begin_recording(owner, root_depth_of(owner), false);
                    return moved ? Traced::moved : Traced::no;
                }
            }
            if (!anchor || anchor->given_up || anchor->disabled || (!anchor->forced && !enabled)) {
                return moved ? Traced::plainly : Traced::no;
            }
            if (tried) {
                if (anchor->compiles > params_.max_recompiles) {
                    give_up(*anchor, fmt::format("{} recompiles; the last because {}", anchor->compiles - 1, last_failure_));
                    return moved ? Traced::plainly : Traced::no;
                }
                stats.recompiles++;
                anchor->recompiles.push_back(last_failure_);
                say("recompiles", fmt::format("{} is compiled again: {}", anchor->name, last_failure_));
            } else if (anchor->rounds++ > params_.max_recompiles + params_.warm_rounds && anchor->compiles == 0) {
                anchor->given_up = true;  // nothing of it could be recorded
                return moved ? Traced::plainly : Traced::no;
            }
            begin_recording(*anchor, vm_.depth(), true);
            return moved ? Traced::moved : Traced::no;
        }
        moved = true;
        result = std::move(outcome.result);
        if (outcome.traced != Traced::moved) return outcome.traced;
        if (outcome.failed) return Traced::plainly;
        frame = vm_.frame();
        const lang::Instr& next = *frame->pc;
        if (next.op == Op::TRACE) {
            auto following = static_cast<uint32_t>(next.bc());
            if (!entries_[following].segments.empty()) {
                index = following;
                continue;
            }
        }
        // A way out that is taken often is recorded from there.
        Anchor& anchor = *outcome.left->anchor;
        if (outcome.snapshot && ++outcome.snapshot->count >= params_.hot_exit && !outcome.snapshot->blocked &&
            anchor.segments < params_.max_segments && !anchor.given_up) {
            if (outcome.guard && retire(*outcome.left, outcome.snapshot->count)) return Traced::moved;
            outcome.snapshot->blocked = true;
            stats.side_exits++;
            begin_recording(anchor, root_depth_of(anchor), false);
        }
        return Traced::moved;
    }
}

}  // namespace talc::jit
