// Calls of script functions from C++, and generators: resuming, throwing into, closing, yield from.
#include "vm/call.hpp"
#include "vm/steps.hpp"

namespace talc::vm {

Ref Vm::call_function(Function* function, const Value* args, size_t count, Str* const* keyword_names, size_t nkeywords) {
    Code* code = function->code;
    if (code->generator) return Steps::make_generator(*this, function, args, count, keyword_names, nkeywords);
    check_stack();
    Frame* frame = push_frame(code, function);
    function->refs++;
    frame->entry = true;
    if (code->simple && nkeywords == 0 && count == code->positional) {
        for (size_t i = 0; i < count; i++) {
            frame->registers[i] = args[i];
            incref(args[i]);
        }
    } else {
        try {
            bind_arguments(*this, function, frame->registers, args, count, keyword_names, nkeywords);
        } catch (Raised&) {
            pop_frame();
            throw;
        }
    }
    return run(false);
}

Ref Vm::run_module(std::shared_ptr<const lang::Code> unit, Module* module) {
    Ptr<Code> code = link(unit, *unit, module);
    check_stack();
    Frame* frame = push_frame(code.get(), nullptr);
    frame->entry = true;
    return run(false);
}

// ---- Generators -----------------------------------------------------------------------------------

Ref Vm::resume_frame(Generator* generator, Value sent, bool raising, Ref* returned) {
    check_stack();
    Ref keep{Value::object(generator)};
    Frame* frame = push_frame(generator->function->code, generator->function);
    stack_top_ = frame->registers;  // its registers are the generator's own
    frame->registers = generator->registers;
    frame->generator = generator;
    generator->refs++;
    frame->entry = true;
    frame->pc = const_cast<lang::Instr*>(generator->pc);
    frame->saved_handled = handled_;
    handled_ = std::exchange(generator->handled, Value());
    if (generator->state == GeneratorState::Suspended && !raising) {
        // The value sent is what the yield expression gives: the register of the YIELD just before, or of
        // the YIELD_FROM that runs again.
        uint16_t target = generator->delegating ? generator->pc[0].a : generator->pc[-1].a;  // a TRACE keeps it
        Value old = generator->registers[target];
        incref(sent);
        generator->registers[target] = sent;
        decref(old);
    }
    if (raising && generator->delegating) frame->pc++;  // the exception belongs to the YIELD_FROM itself
    generator->state = GeneratorState::Running;
    generator->delegating = false;
    Ref result = run(raising);
    if (yielded_) {
        yielded_ = false;
        return result;
    }
    *returned = std::move(result);
    return {};
}

Ref Vm::resume(Generator* generator, Value sent, Ref* returned) {
    switch (generator->state) {
        case GeneratorState::Running: raise(*this, Exc::ValueError, std::string("generator already executing"));
        case GeneratorState::Finished: *returned = Value::none(); return {};
        case GeneratorState::Created:
            if (!sent.is_none()) {
                raise(*this, Exc::TypeError, std::string("can't send non-None value to a just-started generator"));
            }
            break;
        case GeneratorState::Suspended: break;
    }
    return resume_frame(generator, sent, false, returned);
}

namespace {

// Gives an exception to the iterator that a generator delegates to. True: it was taken, with *item (to yield)
// or *returned (the iterator is done); false: it is for the generator itself.
bool throw_into_delegate(Vm& vm, Generator* generator, Value exception, Ref* item, Ref* returned) {
    Ref iterator(generator->registers[generator->pc[0].b]);
    bool closing = is_instance(vm, exception, vm.classes.of(Exc::GeneratorExit));
    if (iterator.is_kind(Kind::Generator)) {
        auto* inner = cast<Generator>(iterator.get());
        if (closing) {
            vm.close(inner);
            return false;
        }
        *item = vm.throw_into(inner, exception, returned);
        return true;
    }
    Ref method = find_attr(vm, iterator, closing ? vm.names.close : vm.names.throw_);
    if (!method) return false;
    if (closing) {
        call(vm, method);
        return false;
    }
    *item = call(vm, method, exception);
    return true;
}

}  // namespace

Ref Vm::throw_into(Generator* generator, Value exception, Ref* returned) {
    if (generator->state == GeneratorState::Running) raise(*this, Exc::ValueError, std::string("generator already executing"));
    if (generator->state == GeneratorState::Finished) raise_object(*this, exception);
    if (generator->state == GeneratorState::Created) {
        generator->state = GeneratorState::Finished;
        Steps::clear_registers(generator->registers, generator->function->code->nregs);
        raise_object(*this, exception);
    }
    if (generator->delegating) {
        Ref item, inner_result;
        bool taken = false;
        Ref failure;
        generator->state = GeneratorState::Running;
        try {
            taken = throw_into_delegate(*this, generator, exception, &item, &inner_result);
        } catch (Raised&) {
            failure = take_raised();
        }
        generator->state = GeneratorState::Suspended;
        if (failure) {
            raised_ = std::move(failure);
            return resume_frame(generator, Value::none(), true, returned);
        }
        if (taken && item) return item;
        if (taken) {
            // The delegate ended: yield from gives its result and the generator goes on behind it.
            generator->pc++;
            generator->delegating = false;
            return resume_frame(generator, inner_result, false, returned);
        }
    }
    raised_ = Ref(exception);
    return resume_frame(generator, Value::none(), true, returned);
}

void Vm::close(Generator* generator) {
    if (generator->state == GeneratorState::Finished) return;
    if (generator->state == GeneratorState::Created) {
        generator->state = GeneratorState::Finished;
        Steps::clear_registers(generator->registers, generator->function->code->nregs);
        return;
    }
    Ref exit = make_exception(*this, classes.of(Exc::GeneratorExit), nullptr, 0);
    Ref returned, item;
    try {
        item = throw_into(generator, exit, &returned);
    } catch (Raised&) {
        Ref error = take_raised();
        if (is_instance(*this, error, classes.of(Exc::GeneratorExit)) || is_instance(*this, error, classes.of(Exc::StopIteration))) {
            return;
        }
        raise_object(*this, error);
    }
    if (item) raise(*this, Exc::RuntimeError, std::string("generator ignored GeneratorExit"));
}

Ref Steps::delegate(Vm& vm, Value iterator, Value sent, Ref* returned) {
    Ref keep(iterator);
    if (iterator.is_kind(Kind::Generator)) return vm.resume(cast<Generator>(iterator), sent, returned);
    try {
        if (!sent.is_none()) return call_method(vm, iterator, vm.names.send, &sent, 1);
        if (auto kind_next = kind_ops(iterator.o->kind).next) {
            Ref item = kind_next(vm, iterator.o);
            if (!item) *returned = Value::none();
            return item;
        }
        return call_special(vm, find_special(vm, iterator, Special::Next), iterator);
    } catch (Raised&) {
        Ref error = vm.take_raised();
        if (!is_instance(vm, error, vm.classes.of(Exc::StopIteration))) raise_object(vm, error);
        *returned = get_attr(vm, error, vm.names.value);
        return {};
    }
}

}  // namespace talc::vm
