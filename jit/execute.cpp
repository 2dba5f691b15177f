// The trace executor: a segment's instructions one by one, on an array of values, with the VM's own functions for what
// is not a tensor. No frames, no dispatch through bytecode.
#include <fmt/format.h>

#include <bit>

#include "autograd/tape.hpp"
#include "jit/evaluate.hpp"
#include "jit/fragment.hpp"
#include "jit/jit.hpp"
#include "jit/planted.hpp"
#include "tensor/error.hpp"
#include "vm/call.hpp"
#include "vm/shape.hpp"
#include "vm/steps.hpp"
#include "vm/tensor.hpp"

namespace talc::jit {

using lang::Op;
using vm::Kind;
using vm::Tag;
using vm::Traced;

bool matches(const Segment& segment, Vm& vm, const vm::Frame& frame) {
    size_t depth = vm.depth();
    for (size_t d = 0; d < segment.entry.size(); ++d) {
        if (d > depth) return false;
        const vm::Frame& at = *(&frame - d);
        if (at.code != segment.entry[d].code || at.pc != at.code->instrs + segment.entry[d].pc) return false;
        if (at.generator) return false;
        if (d + 1 < segment.entry.size() && at.entry) return false;
    }
    return true;
}

class Execution {
  public:
    Execution(Jit& jit, Vm& vm, Segment& segment) : jit_(jit), vm_(vm), segment_(segment), base_(vm.frame()) {
        auto count = static_cast<size_t>(segment.slots);
        if (count > kInline) large_ = std::make_unique<Value[]>(count);
        slots_ = large_ ? large_.get() : small_;
    }
    ~Execution() {
        for (int32_t i = 0; i < segment_.slots; ++i) vm::decref(slots_[i]);
    }

    Outcome run(std::string& failure);

  private:
    enum class End : uint8_t { left, returned, refused, raised };

    Value at(int32_t index) const {
        return index >= 0 ? slots_[index] : segment_.constants[static_cast<size_t>(~index)].get();
    }
    void set(int32_t slot, Ref value) { vm::decref(std::exchange(slots_[slot], value.release())); }
    graph::SymbolValues symbols() const { return symbol_values(segment_, slots_); }
    vm::Frame& entry_frame(int32_t depth) const { return *(base_ - depth); }
    bool holds(const Instruction& i);
    bool lies_apart(const Instruction& i);
    void step(const Instruction& i);
    void call_native(const Instruction& i);
    bool next(const Instruction& i);
    End execute(int32_t& snapshot, Ref& result);
    // Gives the error when a value that is due could not be computed.
    std::optional<tensor::Error> leave(const Snapshot& snapshot);
    // Takes back what came after so many rounds of iterators and random operators.
    void undo_iterators(size_t advances, size_t draws);
    // Roots have an object already when they were promised.
    Ref object_of(const TensorInfo& info, const tensor::Tensor& tensor) {
        return tensor.impl()->object || !info.cls ? vm::wrap(vm_, tensor) : vm::wrap_as(vm_, tensor, info.cls);
    }
    std::string describe(const Instruction& guard) const;

    static constexpr size_t kInline = 48;
    Jit& jit_;
    Vm& vm_;
    Segment& segment_;
    vm::Frame* base_;
    Value small_[kInline];
    std::unique_ptr<Value[]> large_;
    Value* slots_;
    const Instruction* failed_ = nullptr;
    bool redone_ = false;  // the interpreter goes on from an earlier place than the exit's
    // Iterators that were advanced and the random stream, so that a segment can be left as if never entered.
    struct Advanced {
        Ref iterator;
        int64_t a, b;
        Ref list;  // of a list's iterator, which lets go of it at the end
    };
    std::vector<Advanced> advanced_;
    std::vector<uint64_t> stream_;
    struct Memory {
        const tensor::Storage* storage = nullptr;
        uint32_t owners = 0;
        bool written = false;
    };
    std::vector<Memory> memories_;  // a hash table
};

namespace {

bool is_about_a_value(TraceOp guard) {
    return guard != TraceOp::GuardGradMode && guard != TraceOp::GuardSizes && guard != TraceOp::GuardApart;
}

bool deep_equal(Value actual, Value wanted) {
    if (actual.tag != wanted.tag) return false;
    if (!actual.is_obj()) return actual.same(wanted);
    if (actual.o == wanted.o) return true;
    bool list = actual.is_kind(Kind::List);
    if (list || actual.is_kind(Kind::Tuple)) {
        if (!wanted.is_kind(Kind::Tuple)) return false;
        const Value* items = list ? vm::cast<vm::List>(actual)->items : vm::cast<vm::Tuple>(actual)->items;
        size_t size = list ? vm::cast<vm::List>(actual)->size : vm::cast<vm::Tuple>(actual)->size;
        auto* tuple = vm::cast<vm::Tuple>(wanted);
        if (size != tuple->size) return false;
        for (size_t i = 0; i < size; ++i) {
            if (!deep_equal(items[i], tuple->items[i])) return false;
        }
        return true;
    }
    if (actual.is_kind(Kind::Str) && wanted.is_kind(Kind::Str)) {
        return vm::cast<vm::Str>(actual)->view() == vm::cast<vm::Str>(wanted)->view();
    }
    if (actual.is_kind(Kind::Slice) && wanted.is_kind(Kind::Slice)) {
        auto *a = vm::cast<vm::Slice>(actual), *b = vm::cast<vm::Slice>(wanted);
        return deep_equal(a->start, b->start) && deep_equal(a->stop, b->stop) && deep_equal(a->step, b->step);
    }
    return false;
}

size_t length_of(Value v) {
    switch (v.o->kind) {
        case Kind::List: return vm::cast<vm::List>(v)->size;
        case Kind::Tuple: return vm::cast<vm::Tuple>(v)->size;
        case Kind::Dict: return vm::cast<vm::Dict>(v)->used;
        default: return SIZE_MAX;
    }
}

}  // namespace

// Each piece of memory is met once, whatever is written: time that grows with their number, not with its square.
bool Execution::lies_apart(const Instruction& i) {
    if (memories_.empty()) memories_.resize(std::bit_ceil(2 * size_t(segment_.memories)));
    auto memory_at = [&](int32_t slot) -> Memory& {
        const tensor::Storage* storage = &vm::tensor_of(at(slot)).storage();
        size_t mask = memories_.size() - 1;
        size_t k = (reinterpret_cast<uintptr_t>(storage) >> 4) * 0x9E3779B97F4A7C15u >> 32 & mask;
        while (memories_[k].storage && memories_[k].storage != storage) k = (k + 1) & mask;
        memories_[k].storage = storage;
        return memories_[k];
    };
    for (uint32_t k = 0; k < i.count; ++k) {
        Memory& memory = memory_at(segment_.operands[i.first + k]);
        if (memory.written) return false;
        memory.owners++;
    }
    if (i.a == Instruction::kNone) return true;
    Memory& memory = memory_at(i.a);
    memory.written = true;
    return memory.owners == 1;
}

bool Execution::holds(const Instruction& i) {
    Value v = is_about_a_value(i.op) ? at(i.a) : Value();
    switch (i.op) {
        case TraceOp::GuardIs: return v.same(i.value);
        case TraceOp::GuardTag: return static_cast<int64_t>(v.tag) == i.imm;
        case TraceOp::GuardClass: return v.is_obj() && v.o->cls == i.pointer;
        case TraceOp::GuardShape:
            return v.is_kind(Kind::Instance) && vm::cast<vm::Instance>(v)->slots.shape == i.pointer;
        case TraceOp::GuardTensor: {
            if (!v.is_kind(Kind::Tensor)) return false;
            const tensor::Tensor& tensor = vm::tensor_of(v);
            if (is_promise(tensor)) return false;  // one of this trace, which took it for another
            if (tensor.autograd_meta()) autograd::requires_grad(tensor);  // a view takes after its base
            const auto& guard = *static_cast<const TensorGuard*>(i.pointer);
            if (planted("guard-tensor")) return tensor.rank() == guard.layout->rank;
            if (tensor.layout_class() != guard.layout) return false;
            if (!guard.any) return tensor.sizes() == guard.sizes;
            for (size_t d = 0; d < guard.sizes.size(); ++d) {
                if (!(guard.any >> d & 1) && tensor.sizes()[d] != guard.sizes[d]) return false;
            }
            return true;
        }
        case TraceOp::GuardLeaf: return v.is_kind(Kind::Tensor) && autograd::is_leaf(vm::tensor_of(v)) == (i.imm != 0);
        case TraceOp::GuardEqual: return planted("guard-equal") || deep_equal(v, i.value);
        case TraceOp::GuardLength: return v.is_obj() && length_of(v) == static_cast<size_t>(i.imm);
        case TraceOp::GuardSame: return v.same(at(i.b));
        case TraceOp::GuardOther:
            for (uint32_t k = 0; k < i.count; ++k) {
                if (vm::tensor_of(v).is(vm::tensor_of(at(segment_.operands[i.first + k])))) return false;
            }
            return true;
        case TraceOp::GuardApart: return planted("guard-apart") || lies_apart(i);
        case TraceOp::GuardNoHistory: return !autograd::views_history(vm::tensor_of(v));
        case TraceOp::GuardTruth: return planted("guard-truth") || (v.is_bool() ? v.b : vm::truth(vm_, v)) == (i.imm != 0);
        case TraceOp::GuardSizes: return graph::holds(segment_.facts[static_cast<size_t>(i.imm)], symbols());
        case TraceOp::GuardGradMode: return planted("guard-grad-mode") || vm_.tensors.grad_enabled == (i.imm != 0);
        default: return true;
    }
}

std::string Execution::describe(const Instruction& guard) const {
    const Snapshot& snapshot = segment_.snapshots[static_cast<size_t>(guard.snapshot)];
    std::string what = snapshot.what.empty() ? "a value" : snapshot.what;
    Value v = is_about_a_value(guard.op) ? at(guard.a) : Value();
    switch (guard.op) {
        case TraceOp::GuardTensor: {
            const auto& wanted = *static_cast<const TensorGuard*>(guard.pointer);
            if (!v.is_kind(Kind::Tensor)) return fmt::format("{}: expected a tensor, actual {}", what, vm::class_name(vm_, v));
            const tensor::Tensor& tensor = vm::tensor_of(v);
            if (tensor.rank() == static_cast<int64_t>(wanted.sizes.size())) {
                for (size_t d = 0; d < wanted.sizes.size(); ++d) {
                    if (tensor.sizes()[d] != wanted.sizes[d] && !(wanted.any >> d & 1)) {
                        return fmt::format("tensor '{}' size mismatch at index {}: expected {}, actual {}", what, d,
                                           wanted.sizes[d], tensor.sizes()[d]);
                    }
                }
            }
            return fmt::format("tensor '{}': expected {}, actual {}", what, to_string(*wanted.layout),
                               to_string(*tensor.layout_class()));
        }
        case TraceOp::GuardEqual:
        case TraceOp::GuardIs:
            return fmt::format("'{}': expected {}, actual {}", what, vm::repr(vm_, guard.value)->view(),
                               v.is_undef() ? "nothing" : vm::repr(vm_, v)->view());
        case TraceOp::GuardTruth:
            return fmt::format("{}: expected {}, actual {}", what, guard.imm ? "true" : "false", guard.imm ? "false" : "true");
        case TraceOp::GuardGradMode:
            return fmt::format("gradient mode: expected {}, actual {}", guard.imm ? "on" : "off", guard.imm ? "off" : "on");
        case TraceOp::GuardSizes: {
            const graph::DimFact& fact = segment_.facts[static_cast<size_t>(guard.imm)];
            std::vector<uint32_t> used;
            graph::collect_symbols(fact.a, used);
            graph::collect_symbols(fact.b, used);
            std::string actual;
            for (uint32_t symbol : used) {
                bool number = segment_.symbols[symbol].dim == SymbolSource::kInt;
                actual += fmt::format("{}s{} = {}{}", actual.empty() ? "" : ", ", symbol, symbols()(symbol),
                                      number ? "" : fmt::format(" (index {})", segment_.symbols[symbol].dim));
            }
            return fmt::format("sizes: expected {}, actual {}", to_string(fact), actual);
        }
        case TraceOp::GuardOther: return "two tensors whose gradients are set are one";
        case TraceOp::GuardApart: return "two tensors share memory, of which one is written to";
        case TraceOp::GuardLength:
            return fmt::format("length of {}: expected {}, actual {}", what, guard.imm, length_of(v));
        default: return fmt::format("'{}': a {} of another kind", what, v.is_undef() ? "value" : vm::class_name(vm_, v));
    }
}

void Execution::undo_iterators(size_t advances, size_t draws) {
    if (planted("iterators")) return;
    for (size_t i = advanced_.size(); i-- > advances;) {
        Value iterator = advanced_[i].iterator;
        if (!iterator.is_kind(Kind::RangeIter) && !iterator.is_kind(Kind::ListIter)) continue;
        if (iterator.is_kind(Kind::RangeIter)) {
            vm::cast<vm::RangeIter>(iterator)->next = advanced_[i].a;
            vm::cast<vm::RangeIter>(iterator)->left = advanced_[i].b;
        } else {
            auto* list = vm::cast<vm::ListIter>(iterator);
            list->at = static_cast<size_t>(advanced_[i].a);
            if (!list->list) list->list = vm::cast<vm::List>(advanced_[i].list.release());
        }
    }
    if (advances < advanced_.size()) advanced_.resize(advances);
    if (draws < stream_.size()) {
        vm_.tensors.generator.position = stream_[draws];
        stream_.resize(draws);
    }
}

bool Execution::next(const Instruction& i) {
    Value iterator = at(i.a);
    if (iterator.is_kind(Kind::RangeIter)) {
        auto* range = vm::cast<vm::RangeIter>(iterator);
        advanced_.push_back({iterator, range->next, range->left, {}});
        if (range->left <= 0) return false;
        range->left--;
        set(i.dst, Value::integer(range->next));
        range->next = static_cast<int64_t>(static_cast<uint64_t>(range->next) + static_cast<uint64_t>(range->step));
        return true;
    }
    if (iterator.is_kind(Kind::ListIter) && vm::cast<vm::ListIter>(iterator)->list) {
        auto* list = vm::cast<vm::ListIter>(iterator);
        advanced_.push_back({iterator, static_cast<int64_t>(list->at), 0, Value::object(list->list)});
        if (list->at < list->list->size) {
            set(i.dst, list->list->items[list->at++]);
            return true;
        }
    } else {
        advanced_.push_back({iterator, 0, 0, {}});
    }
    Ref item = vm::next(vm_, iterator);
    if (!item) return false;
    set(i.dst, std::move(item));
    return true;
}

void Execution::call_native(const Instruction& i) {
    std::vector<Value> arguments;
    for (uint32_t k = 0; k < i.count; ++k) arguments.push_back(at(segment_.operands[i.first + k]));
    std::vector<vm::Str*> names;
    if (i.value.is_kind(Kind::Tuple)) {
        auto* tuple = vm::cast<vm::Tuple>(i.value);
        for (size_t k = 0; k < tuple->size; ++k) names.push_back(vm::cast<vm::Str>(tuple->items[k]));
    }
    Ref result = vm::call(vm_, Value::object(static_cast<vm::Object*>(i.pointer)), arguments.data(), arguments.size(),
                          names.data(), names.size());
    set(i.dst, std::move(result));
}

void Execution::step(const Instruction& i) {
    const int32_t* operands = segment_.operands.data() + i.first;
    auto arg = [&](uint32_t k) { return at(operands[k]); };
    auto binary = [&](Op first, auto&& run) {
        set(i.dst, run(vm_, static_cast<vm::BinaryOp>(static_cast<int>(i.step) - static_cast<int>(first)), arg(0), arg(1)));
    };
    auto compare = [&](Op first) {
        set(i.dst, vm::compare(vm_, static_cast<vm::CompareOp>(static_cast<int>(i.step) - static_cast<int>(first)), arg(0), arg(1)));
    };
    if (i.step >= Op::ADD && i.step <= Op::XOR) return binary(Op::ADD, vm::binary);
    if (i.step >= Op::ADD_K && i.step <= Op::XOR_K) return binary(Op::ADD_K, vm::binary);
    if (i.step >= Op::IADD && i.step <= Op::IXOR) return binary(Op::IADD, vm::binary_in_place);
    if (i.step >= Op::IADD_K && i.step <= Op::IXOR_K) return binary(Op::IADD_K, vm::binary_in_place);
    if (i.step >= Op::EQ && i.step <= Op::GE) return compare(Op::EQ);
    if (i.step >= Op::EQ_K && i.step <= Op::GE_K) return compare(Op::EQ_K);
    auto values = [&] {
        std::vector<Value> all;
        for (uint32_t k = 0; k < i.count; ++k) all.push_back(arg(k));
        return all;
    };
    switch (i.step) {
        case Op::NEG: return set(i.dst, vm::unary(vm_, vm::UnaryOp::Neg, arg(0)));
        case Op::POS: return set(i.dst, vm::unary(vm_, vm::UnaryOp::Pos, arg(0)));
        case Op::INVERT: return set(i.dst, vm::unary(vm_, vm::UnaryOp::Invert, arg(0)));
        case Op::NOT: return set(i.dst, Value::boolean(!vm::truth(vm_, arg(0))));
        case Op::IS: return set(i.dst, Value::boolean(arg(0).same(arg(1))));
        case Op::IS_NOT: return set(i.dst, Value::boolean(!arg(0).same(arg(1))));
        case Op::IN: return set(i.dst, Value::boolean(vm::contains(vm_, arg(1), arg(0))));
        case Op::NOT_IN: return set(i.dst, Value::boolean(!vm::contains(vm_, arg(1), arg(0))));
        case Op::INDEX:
        case Op::INDEX_K: return set(i.dst, vm::get_item(vm_, arg(0), arg(1)));
        case Op::STORE_INDEX:
        case Op::DICT_SET: return vm::set_item(vm_, arg(0), arg(1), arg(2));
        case Op::DELETE_INDEX: return vm::del_item(vm_, arg(0), arg(1));
        case Op::SLICE: return set(i.dst, vm::Steps::slice(vm_, arg(0), arg(1), arg(2)));
        case Op::BUILD_SLICE: return set(i.dst, vm::make_slice(vm_, arg(0), arg(1), arg(2)));
        case Op::GET_ITER: return set(i.dst, vm::iterate(vm_, arg(0)));
        case Op::BUILD_LIST: {
            auto all = values();
            return set(i.dst, vm::make_list(vm_, all.data(), all.size()));
        }
        case Op::BUILD_TUPLE: {
            auto all = values();
            return set(i.dst, vm::make_tuple(vm_, all.data(), all.size()));
        }
        case Op::BUILD_SET: {
            vm::Ptr<vm::Set> made = vm::make_set(vm_);
            for (Value v : values()) vm::set_add(vm_, made.get(), v);
            return set(i.dst, made);
        }
        case Op::BUILD_SET_K: return;
        case Op::BUILD_DICT: {
            vm::Ptr<vm::Dict> made = vm::make_dict(vm_);
            for (uint32_t k = 0; k + 1 < i.count; k += 2) vm::dict_set(vm_, made.get(), arg(k), arg(k + 1));
            return set(i.dst, made);
        }
        case Op::BUILD_STRING: {
            auto all = values();
            return set(i.dst, vm::Steps::build_string(vm_, all.data(), all.size()));
        }
        case Op::FORMAT:
            return set(i.dst, vm::Steps::format_value(vm_, arg(0), i.count > 1 ? arg(1) : Value(), i.flags & 3));
        case Op::LIST_APPEND: return vm::list_append(vm_, vm::cast<vm::List>(arg(0)), arg(1));
        case Op::SET_ADD: vm::set_add(vm_, vm::cast<vm::Set>(arg(0)), arg(1)); return;
        case Op::LIST_EXTEND:
        case Op::ARGS_EXTEND: return vm::list_extend(vm_, vm::cast<vm::List>(arg(0)), arg(1));
        case Op::SET_UPDATE: return vm::set_update(vm_, vm::cast<vm::Set>(arg(0)), arg(1));
        case Op::DICT_UPDATE: return vm::dict_update(vm_, vm::cast<vm::Dict>(arg(0)), arg(1));
        case Op::DICT_MERGE: return vm::Steps::dict_merge(vm_, vm::cast<vm::Dict>(arg(0)), arg(1), arg(2));
        case Op::LIST_TO_TUPLE: return set(i.dst, vm::tuple_from_iterable(vm_, arg(0)));
        case Op::MAKE_CELL: return set(i.dst, vm::make_cell(vm_, arg(0)));
        case Op::LOAD_CELL: return set(i.dst, vm::cast<vm::Cell>(arg(0))->value);
        case Op::STORE_CELL: {
            Value v = arg(1);
            vm::incref(v);
            vm::decref(std::exchange(vm::cast<vm::Cell>(arg(0))->value, v));
            return;
        }
        case Op::WITH_EXIT: vm::call(vm_, arg(0), Value::none(), Value::none(), Value::none()); return;
        default: vm::raise(vm_, vm::Exc::RuntimeError, "jit: no step for {}", lang::op_info(i.step).name);
    }
}

Execution::End Execution::execute(int32_t& snapshot, Ref& result) {
    const Instruction* code = segment_.code.data();
    for (;;) {
        const Instruction& i = *code++;
        snapshot = i.snapshot;
        switch (i.op) {
            case TraceOp::LoadRegister: set(i.dst, entry_frame(i.a).registers[i.b]); break;
            case TraceOp::LoadGlobal: {
                auto* cell = static_cast<vm::Cell*>(i.pointer);
                Value v = cell->value;
                if (v.is_undef() && cell->fallback) v = cell->fallback->value;
                set(i.dst, v);
                break;
            }
            case TraceOp::LoadEntryFree: set(i.dst, entry_frame(i.a).function->closure[i.b]->value); break;
            case TraceOp::StoreGlobal: {
                if (planted("store-global")) break;
                Value v = at(i.a);
                vm::incref(v);
                vm::decref(std::exchange(static_cast<vm::Cell*>(i.pointer)->value, v));
                break;
            }
            case TraceOp::StoreEntryFree: {
                Value v = at(i.c);
                vm::incref(v);
                vm::decref(std::exchange(entry_frame(i.a).function->closure[i.b]->value, v));
                break;
            }
            case TraceOp::GuardIs:
            case TraceOp::GuardTag:
            case TraceOp::GuardClass:
            case TraceOp::GuardShape:
            case TraceOp::GuardTensor:
            case TraceOp::GuardLeaf:
            case TraceOp::GuardEqual:
            case TraceOp::GuardLength:
            case TraceOp::GuardSame:
            case TraceOp::GuardOther:
            case TraceOp::GuardApart:
            case TraceOp::GuardNoHistory:
            case TraceOp::GuardTruth:
            case TraceOp::GuardSizes:
            case TraceOp::GuardGradMode:
                if (!holds(i)) [[unlikely]] {
                    failed_ = &i;
                    return End::left;
                }
                break;
            case TraceOp::LoadAttr: {
                Value object = at(i.a);
                auto& site = *static_cast<vm::AttrCache*>(i.pointer);
                if (object.is_kind(Kind::Instance)) {
                    vm::Slots& slots = vm::cast<vm::Instance>(object)->slots;
                    if (slots.shape == site.shape && site.epoch == vm_.class_epoch) {
                        set(i.dst, site.cell ? site.cell->value : slots.values[site.slot]);
                        break;
                    }
                }
                set(i.dst, vm::Steps::load_attr(vm_, object, site));
                break;
            }
            case TraceOp::StoreAttr:
                vm::Steps::store_attr(vm_, at(i.a), *static_cast<vm::AttrCache*>(i.pointer), at(i.b));
                break;
            case TraceOp::LoadMethod: {
                Value object = at(i.a);
                auto& site = *static_cast<vm::AttrCache*>(i.pointer);
                if (object.is_kind(Kind::Instance) && site.epoch == vm_.class_epoch && site.cell &&
                    vm::cast<vm::Instance>(object)->slots.shape == site.shape && !site.cell->value.is_undef()) {
                    set(i.dst, site.cell->value);
                    set(i.dst + 1, object);
                    break;
                }
                Value function, self;
                vm::Steps::load_method(vm_, object, site, &function, &self);
                set(i.dst, Ref::steal(function));
                set(i.dst + 1, Ref::steal(self));
                break;
            }
            case TraceOp::LoadItem: {
                Value container = at(i.a);
                bool list = container.is_kind(Kind::List);
                set(i.dst, (list ? vm::cast<vm::List>(container)->items : vm::cast<vm::Tuple>(container)->items)[i.imm]);
                break;
            }
            case TraceOp::LoadGrad: {
                tensor::Tensor grad = autograd::grad_of(vm::tensor_of(at(i.a)));
                set(i.dst, grad ? vm::wrap(vm_, grad) : Ref(Value::none()));
                break;
            }
            case TraceOp::StoreGrad: {
                Value grad = at(i.b);
                autograd::set_grad(vm_.tensors, vm::tensor_of(at(i.a)),
                                   grad.is_none() ? tensor::Tensor() : vm::tensor_of(grad));
                break;
            }
            case TraceOp::Spend: autograd::spend(vm::tensor_of(at(i.a))); break;
            case TraceOp::Step: step(i); break;
            case TraceOp::CompareTruth:
                set(i.dst, Value::boolean(vm::compare_bool(vm_, static_cast<vm::CompareOp>(i.flags), at(i.a), at(i.b))));
                break;
            case TraceOp::Size: {
                int64_t size = graph::evaluate(segment_.shapes[static_cast<size_t>(i.imm)][0], symbols());
                set(i.dst, i.flags ? Value::real(static_cast<double>(size)) : Value::integer(size));
                break;
            }
            case TraceOp::Sizes:
                set(i.dst, vm::sizes_value(vm_, graph::concrete(segment_.shapes[static_cast<size_t>(i.imm)], symbols())));
                break;
            case TraceOp::Unpack: {
                Ref source = at(i.a);
                vm::Steps::unpack(vm_, source, slots_ + i.dst, static_cast<size_t>(i.imm));
                break;
            }
            case TraceOp::Next:
                if (!next(i)) {
                    snapshot = i.after;
                    failed_ = &i;
                    return End::left;
                }
                break;
            case TraceOp::NextEnds:
                if (next(i)) {
                    snapshot = i.after;
                    failed_ = &i;
                    return End::left;
                }
                break;
            case TraceOp::CallNative: call_native(i); break;
            case TraceOp::EnterWith: {
                Value exit, entered;
                vm::Steps::with_enter(vm_, at(i.a), &exit, &entered);
                set(i.dst, Ref::steal(exit));
                set(i.dst + 1, Ref::steal(entered));
                break;
            }
            case TraceOp::NewInstance: set(i.dst, vm::allocate_instance(vm_, static_cast<vm::Class*>(i.pointer))); break;
            case TraceOp::Bound: {
                auto* bound = vm::cast<vm::BoundMethod>(at(i.a));
                set(i.dst, i.imm ? bound->self : bound->function);
                break;
            }
            case TraceOp::Random: {
                uint64_t position = vm_.tensors.generator.position;
                stream_.push_back(position);
                auto operands = vm::random_operands(vm_);
                if (i.imm) vm_.tensors.generator.position = position;
                set(i.dst, vm::wrap(vm_, operands[0]));
                set(i.dst + 1, vm::wrap(vm_, operands[1]));
                break;
            }
            case TraceOp::Promise: set(i.dst, promise(vm_, *static_cast<const TensorGuard*>(i.pointer), i.imm != 0, vm::cast<vm::Class>(i.value), symbols())); break;
            case TraceOp::ViewOf: {
                const TensorInfo& info = segment_.tensors[static_cast<size_t>(i.imm)];
                set(i.dst, object_of(info, view_of(vm_.tensors, info, vm::tensor_of(at(i.a)), symbols())));
                break;
            }
            case TraceOp::Launch:
                launch(vm_, segment_, static_cast<size_t>(i.imm), slots_, jit_.stats.launches);
                break;
            case TraceOp::Branch:
                snapshot = vm::truth(vm_, at(i.a)) != planted("branch") ? i.b : i.c;
                return End::left;
            case TraceOp::Poll: vm_.tick(static_cast<uint64_t>(i.imm)); break;
            case TraceOp::Jump: return End::left;
            case TraceOp::Return:
                result = at(i.a);
                for (int64_t k = 0; k < i.imm; ++k) vm_.pop_frame();
                return End::returned;
        }
    }
}

// Frames as the interpreter would have them at the snapshot.
std::optional<tensor::Error> Execution::leave(const Snapshot& snapshot) {
    // Values that were not computed yet.
    std::optional<tensor::Error> failure;
    std::vector<tensor::Tensor> roots;
    if (!snapshot.pending.empty() || snapshot.nodes) try {
        Fragment& fragment = *segment_.fragments[static_cast<size_t>(snapshot.fragment)];
        std::vector<graph::Value> wanted;
        std::vector<uint32_t> writes;
        for (const PendingRoot& pending : snapshot.pending) {
            wanted.push_back(pending.value);
            writes.push_back(pending.write_back ? 0 : pending.writes);
        }
        // What fails does so also where nobody wants its value.
        for (uint32_t k = 0; k < snapshot.nodes; ++k) {
            if (fragment.graph.nodes()[k].may_raise()) wanted.push_back(&fragment.graph.nodes()[k]);
        }
        std::vector<tensor::Tensor> arguments;
        roots = evaluate(vm_.tensors, fragment, wanted,
                         [&](size_t i) {
                             arguments.push_back(fragment_input(vm_, fragment, i, segment_, slots_));
                             return arguments.back();
                         },
                         true, symbols(), writes);
        roots.resize(snapshot.pending.size());
        separate(vm_.tensors, roots, arguments);
        for (size_t i = 0; i < roots.size(); ++i) {
            const PendingRoot& pending = snapshot.pending[i];
            if (pending.write_back) {
                autograd::GradMode mode(vm_.tensors, false);
                autograd::copy_into(vm_.tensors, roots[i], vm::tensor_of(slots_[pending.object]));
                if (pending.writes > 1) count_writes(vm::tensor_of(slots_[pending.object]), pending.writes - 1);
                continue;
            }
            roots[i] = laid_out(vm_.tensors, roots[i], pending.order);
            if (pending.spent) autograd::spend(roots[i]);
            raise_version(roots[i], pending.writes);
            if (pending.object >= 0) {
                fulfil(slots_[pending.object], roots[i]);
                roots[i] = vm::tensor_of(slots_[pending.object]);
            }
        }
    } catch (const tensor::Error& error) {
        if (roots.empty() && snapshot.resume >= 0) {
            const Snapshot& before = segment_.snapshots[static_cast<size_t>(snapshot.resume)];
            if (&before != &snapshot) {
                // The interpreter does that stretch and finds the line.
                undo_iterators(before.advances, before.draws);
                redone_ = true;
                return leave(before);
            }
        }
        // No memory, say. What should have come is empty, and the error is raised.
        failure = error;
        for (const PendingRoot& pending : snapshot.pending) {
            if (pending.object >= 0 && !pending.write_back) forsake(slots_[pending.object]);
        }
        for (const PendingView& view : snapshot.views) {
            if (vm::is_tensor(slots_[view.object])) forsake(slots_[view.object]);
        }
    }
    auto root_tensor = [&](uint32_t root) -> tensor::Tensor {
        for (size_t i = 0; i < roots.size(); ++i) {
            const PendingRoot& pending = snapshot.pending[i];
            if (failure) break;
            if (pending.root == root) return pending.write_back ? vm::tensor_of(slots_[pending.object]) : roots[i];
        }
        for (auto& fragment : segment_.fragments) {
            for (const Fragment::Output& output : fragment->outputs) {
                if (output.root == root && vm::is_tensor(slots_[output.slot])) return vm::tensor_of(slots_[output.slot]);
            }
        }
        for (const TensorInfo& info : segment_.tensors) {
            if (info.root == root && info.steps.empty() && info.object >= 0) return vm::tensor_of(at(info.object));
        }
        return {};
    };
    for (const PendingView& view : snapshot.views) {
        if (planted("pending-view")) break;
        if (failure || !vm::is_tensor(slots_[view.object])) continue;
        const TensorInfo& info = segment_.tensors[view.tensor];
        fulfil(slots_[view.object], view_of(vm_.tensors, info, root_tensor(info.root), symbols()));
    }
    std::vector<std::pair<int32_t, Ref>> objects;
    auto value_of = [&](const Source& source) -> Ref {
        switch (source.kind) {
            case Source::Constant: return segment_.constants[static_cast<size_t>(source.index)];
            case Source::Slot: return at(source.index);
            case Source::Tensor: {
                for (auto& [tensor, object] : objects) {
                    if (tensor == source.index) return object;
                }
                const TensorInfo& info = segment_.tensors[static_cast<size_t>(source.index)];
                if (failure && !root_tensor(info.root)) return Value::none();
                Ref object = object_of(info, view_of(vm_.tensors, info, root_tensor(info.root), symbols()));
                objects.emplace_back(source.index, object);
                return object;
            }
            default: return {};
        }
    };
    std::vector<std::vector<Ref>> registers;
    std::vector<Ref> selves;
    for (const SavedFrame& saved : snapshot.frames) {
        auto& values = registers.emplace_back();
        for (const auto& [reg, source] : saved.registers) values.push_back(value_of(source));
        selves.push_back(value_of(saved.init_self));
    }
    for (uint32_t k = 0; k < snapshot.popped; ++k) vm_.pop_frame();
    for (size_t f = 0; f < snapshot.frames.size(); ++f) {
        const SavedFrame& saved = snapshot.frames[f];
        vm::Frame* frame;
        if (saved.depth >= 0) {
            frame = &entry_frame(saved.depth);
        } else {
            frame = vm_.push_frame(saved.code, saved.function);
            saved.function->refs++;
            frame->result = saved.result;
            frame->init_self = selves[f].release();
        }
        frame->pc = frame->code->instrs + saved.pc;
        for (size_t r = 0; r < saved.registers.size(); ++r) {
            vm::decref(std::exchange(frame->registers[saved.registers[r].first], registers[f][r].release()));
        }
    }
    return failure;
}

Outcome Execution::run(std::string& failure) {
    Outcome outcome;
    outcome.left = &segment_;
    int32_t index = -1;
    End end;
    bool raised = false;
    segment_.runs++;
    try {
        end = execute(index, outcome.result);
    } catch (vm::Raised&) {
        end = End::raised;
        raised = true;
    } catch (const tensor::Error&) {
        // A fragment failed with nothing written: the interpreter does that stretch and finds the line.
        end = End::left;
        outcome.failed = true;
        jit_.stats.aborts++;
        const Snapshot& before = segment_.snapshots[static_cast<size_t>(index)];
        undo_iterators(before.advances, before.draws);
    }
    if (end == End::returned) {
        // Entry frames that returned inside are gone; the one that returns now is the interpreter's.
        outcome.traced = Traced::returned;
        return outcome;
    }
    Snapshot& snapshot = segment_.snapshots[static_cast<size_t>(index)];
    if (failed_ && !raised) failure = failed_->op == TraceOp::Next || failed_->op == TraceOp::NextEnds ? snapshot.what : describe(*failed_);
    outcome.rounds = failed_ && (failed_->op == TraceOp::Next || failed_->op == TraceOp::NextEnds);
    outcome.guard = failed_ && !outcome.rounds && !raised;
    if (jit_.log && !raised && failed_) {
        jit_.say("guards", fmt::format("{}: {} failed: {}", segment_.anchor->name, name_of(failed_->op), failure));
    }
    if (!raised && failed_ && snapshot.clean) {
        undo_iterators(0, 0);
        outcome.traced = Traced::no;
        return outcome;
    }
    Ref error = raised ? vm_.take_raised() : Ref();
    if (std::optional<tensor::Error> failure_on_the_way = leave(snapshot); failure_on_the_way && !raised) {
        try {
            vm::raise_tensor_error(vm_, *failure_on_the_way);
        } catch (vm::Raised&) {
            error = vm_.take_raised();
            raised = true;
        }
    }
    if (redone_) raised = false;  // what failed comes before what was raised: the interpreter gets to both in order
    if (raised) {
        // As if the instruction had raised it: the interpreter looks for a handler.
        vm_.frame()->pc++;
        vm_.set_raised(std::move(error));
        outcome.traced = Traced::raised;
        return outcome;
    }
    outcome.traced = Traced::moved;
    outcome.failed = outcome.failed || redone_;
    outcome.snapshot = &snapshot;
    return outcome;
}

Outcome run_segment(Jit& jit, Vm& vm, Segment& segment, std::string& failure) {
    return Execution(jit, vm, segment).run(failure);
}

}  // namespace talc::jit
