// Calls, as the recorder sees them: script functions are followed, builtins are operators or called as they are.
#include <algorithm>

#include "jit/jit.hpp"
#include "jit/recorder.hpp"
#include "vm/call.hpp"
#include "vm/tensor.hpp"

namespace talc::jit {

using lang::Op;
using vm::Kind;

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
    if (shadow_.size() >= jit_.params().max_depth) {
        refuse("too-long", "calls inside calls");
        return false;
    }
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
        if (cls->instance_kind != Kind::Instance || !vm::find_special(vm_, cls, vm::Special::New).is_undef()) return false;
        Value init = vm::find_special(vm_, cls, vm::Special::Init);
        return init.is_kind(Kind::Function) || (init.is_undef() && sources.empty());
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
    // sum() and its kin run operators over what a list holds.
    std::string_view name = native->row->name;
    bool folds = !native->owner && (name == "sum" || name == "max" || name == "min");
    if (native->row->record == vm::Record::operators || folds) {
        for (size_t k = 0; k < sources.size(); ++k) {
            if (!take_in_items(sources[k], values[k], 0)) return false;
        }
    }
    plan_call();
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

Source Recorder::new_instance(Value actual) {
    int32_t slot = new_slot(actual);
    int32_t snapshot = snapshot_before();
    Instruction& make = emit(TraceOp::NewInstance);
    make.dst = slot;
    make.pointer = current_.callee.get().o;
    make.snapshot = snapshot;
    segment_->kept.push_back(current_.callee);
    return {Source::Slot, slot};
}

// What came in a tuple of arguments gets the name that the function has for it, for messages.
void Recorder::name_argument(Source source, const std::string& name) {
    constexpr size_t kFirst = 200;  // arguments of what is compiled come first
    if (source.kind != Source::Tensor) return;
    int32_t slot = tensors_[static_cast<size_t>(source.index)].info.object;
    for (size_t k = 0; k < std::min(kFirst, segment_->code.size()); ++k) {
        const Instruction& guard = segment_->code[k];
        if (guard.op != TraceOp::GuardTensor || guard.a != slot || slot < 0) continue;
        std::string& what = segment_->snapshots[static_cast<size_t>(guard.snapshot)].what;
        if (what == "an argument") what = name;
        return;
    }
}

// A call has pushed a frame: its registers are the arguments, bound as the VM binds them.
void Recorder::enter_frame(vm::Frame& frame) {
    auto* function = frame.function;
    const lang::Code& plain = *function->code->plain;
    std::vector<Source> sources = current_.operands;
    auto* names = current_.self ? vm::cast<vm::Tuple>(current_.self.get()) : nullptr;
    Source instance;
    if (current_.callee.is_kind(Kind::Class)) {
        instance = new_instance(frame.init_self);
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
    for (size_t k = 0; k < std::min(given, positional); ++k) {
        shadow.registers[k] = sources[k];
        name_argument(sources[k], plain.local_names[k]);
    }
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

// A builtin that compiled code calls as the interpreter does.
void Recorder::conclude_native(vm::Frame& frame, uint16_t reg, uint32_t next) {
    const lang::Instr& i = current_.instr;
    bool fresh_list = current_.native && current_.native->row->owner == std::string_view("list") &&
                      is_ours(current_.operands[0]);
    bool visible = !current_.native || (current_.native->row->effect != vm::Effect::pure &&
                                        current_.native->row->effect != vm::Effect::reads);
    // A host's function may look at tensors, and write to them.
    bool host = current_.native && current_.native->state && fragment_ >= 0;
    if (current_.reads || host || !current_.made.empty()) forget_results();
    if (current_.reads || host) {
        note_break(current_.reads ? "tensor-value" : "host-function", current_.native ? current_.native->row->name : "");
        jit_.recording_broke(anchor_, segment_->breaks.back());
    }
    bool must = current_.reads || host || (visible && !fresh_list && fragment_ >= 0 && fragment().may_raise);
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
    if (visible) guard_grad_mode(after);
    write(reg, settle(dst, actual, after, "a result"));
}

void Recorder::conclude_call(vm::Frame& frame, uint32_t next) {
    const lang::Instr& i = current_.instr;
    Op op = current_.op;
    size_t depth = vm_.depth();
    bool tensors = only_operators();
    if (depth == depth_ + 1) return enter_frame(frame);
    if (depth != depth_) return refuse("instruction");
    if (current_.callee.is_kind(Kind::Function)) return refuse("calls-back");
    if (current_.callee.is_kind(Kind::Class) && vm::cast<vm::Class>(current_.callee)->user) {
        Source made = new_instance(frame.registers[i.a]);  // its class has no constructor
        size_t used = op == Op::CALL_EX ? (i.c ? 3 : 2) : i.c + 1u + (op == Op::CALL_METHOD || op == Op::CALL_METHOD_KW ? 1u : 0u);
        for (size_t r = 0; r < used; ++r) write(static_cast<uint16_t>(i.b + r), Source{});
        return write(i.a, made);
    }
    if (!current_.reads && current_.made.empty()) {
        bool length = current_.native && current_.native->row->name == std::string_view("len");
        bool metadata = current_.native && (current_.native->row->record == vm::Record::metadata || length) &&
                        std::any_of(current_.values.begin(), current_.values.end(),
                                    [&](const Ref& v) { return vm::is_tensor(v); });
        // Strides that follow from nothing are not guarded.
        bool free_strides = metadata && std::any_of(current_.values.begin(), current_.values.end(), [&](const Ref& v) {
            return vm::is_tensor(v) && !vm::tensor_of(v).is_contiguous() && current_.native->row->name == std::string_view("stride");
        });
        if (free_strides) return refuse("instruction", "strides");
        // Strides that follow from nothing else are not in the guard.
        if (metadata && current_.native->row->name == std::string_view("stride") && vm::is_tensor(current_.values[0])) {
            const tensor::Tensor& tensor = vm::tensor_of(current_.values[0]);
            metadata = tensor.is_contiguous() && tensor.numel() > 0 &&
                       std::find(tensor.sizes().begin(), tensor.sizes().end(), 1) == tensor.sizes().end();
        }
        if (metadata && !current_.ran) {
            guard_attributes();
            segment_->kept.push_back(frame.registers[i.a]);
            auto sizes = size_call(frame.registers[i.a]);
            Source result = sizes ? *sizes : constant(frame.registers[i.a]);
            size_t used = i.c + 1u + (op == Op::CALL_METHOD || op == Op::CALL_METHOD_KW ? 1u : 0u);
            for (size_t r = 0; r < used; ++r) write(static_cast<uint16_t>(i.b + r), Source{});
            return write(i.a, result);
        }
        if (tensors) {
            bool passes = current_.native && (current_.native->row->name == std::string_view("backward") ||
                                              current_.native->row->owner == std::string_view("autograd"));
            if (passes && outside_tape()) return refuse("outside-tape");
            // .grad of leaves, set by a backward pass.
            for (auto& [leaf, grad] : current_.grads) {
                // A view with the same memory is another object, with a gradient of its own.
                auto leaf_index = known_tensor(leaf);
                // This very tensor, not another one over the same memory.
                if (!leaf_index || !tensors_[*leaf_index].tensor.is(leaf)) return refuse("outside-tape");
                if (!grads_.contains(leaf.impl())) {
                    // There was none before.
                    int32_t object = object_of(*leaf_index);
                    int32_t slot = load_grad(object, Value::none());
                    settle(slot, Value::none(), snapshot_before(), "a gradient");
                }
                Source value = constant(Value::none());
                if (grad) {
                    auto grad_index = known_tensor(grad);
                    if (!grad_index || !tensors_[*grad_index].tensor.is(grad)) return refuse("outside-tape");
                    value = {Source::Tensor, static_cast<int32_t>(*grad_index)};
                }
                grads_[leaf.impl()] = value;
            }
            Source result = result_of_operators(frame.registers[i.a]);
            if (current_.refused) return;
            guard_attributes();
            std::vector<std::pair<int32_t, int32_t>> stores;
            for (auto& [leaf, grad] : current_.grads) {
                int32_t object = object_of(*known_tensor(leaf));
                stores.emplace_back(object, operand(grads_[leaf.impl()]));
            }
            if (passes || !stores.empty()) visible_effect();
            if (passes) note_spent();
            for (auto [object, value] : stores) {
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

}  // namespace talc::jit
