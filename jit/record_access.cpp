// Attributes and methods, as the recorder sees them.
#include "jit/jit.hpp"
#include "jit/recorder.hpp"
#include "vm/tensor.hpp"

namespace talc::jit {

using lang::Op;
using vm::Kind;

void Recorder::conclude_load_attr(vm::Frame& frame, uint32_t next) {
    const lang::Instr& i = current_.instr;
    bool tensors = only_operators();
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
                int32_t slot = load_grad(from, frame.registers[i.a]);
                result = settle(slot, frame.registers[i.a], snapshot_before(), "a gradient");
                grads_[leaf] = result;
            }
            consume_operands();
            return write(i.a, result);
        }
        if (tensors) return conclude_value(frame, i.a, next);
        // Sizes, dtype and the like are what the guard says; a place on the tape is not.
        const vm::NativeRow* row = vm_.table.find("Tensor", site.name->view());
        if (!row || row->record != vm::Record::metadata) return refuse("instruction", "a tensor's attribute");
        Value actual = frame.registers[i.a];
        if (vm::is_tensor(actual)) return refuse("unknown-tensor");
        if (site.name->view() == "is_leaf" && vm::tensor_of(object).requires_grad()) return refuse("instruction", "a tensor's attribute");
        auto sizes = site.name->view() == "shape" ? size_read(current_.operands[0], actual) : std::nullopt;
        consume_operands();
        return write(i.a, sizes ? *sizes : constant(actual));
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

void Recorder::conclude_store_attr(vm::Frame& frame) {
    const lang::Instr& i = current_.instr;
    bool tensors = only_operators();
    Value object = current_.values[0];
    vm::AttrCache& site = frame.code->sites[i.b];
    if (vm::is_tensor(object)) {
        if (site.name->view() != "grad" || current_.grads.size() > 1) return refuse("instruction", "a tensor's attribute");
        int32_t leaf = operand(current_.operands[0]), grad = operand(current_.operands[1]);
        if (!grads_.contains(vm::tensor_of(object).impl())) guard_other(leaf);
        visible_effect();
        Instruction& store = emit(TraceOp::StoreGrad);
        store.a = leaf;
        store.b = grad;
        store.snapshot = snapshot_before();
        grads_[vm::tensor_of(object).impl()] = current_.operands[1];
        return consume_operands();
    }
    if (tensors || current_.reads) return refuse("instruction");
    int32_t to = operand(current_.operands[0]), from = operand(current_.operands[1]);
    if (!is_ours(current_.operands[0])) visible_effect();
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

void Recorder::conclude_load_method(vm::Frame& frame, uint32_t next) {
    const lang::Instr& i = current_.instr;
    Op op = current_.op;
    bool tensors = only_operators();
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

}  // namespace talc::jit
