#include "vm/error.hpp"
#include "vm/shape.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

Ptr<Exception> make_exception(Vm& vm, Class* cls, const Value* args, size_t count) {
    Ptr<Tuple> tuple = count ? make_tuple(vm, args, count) : vm.empty_tuple;
    auto* error = vm.heap.make<Exception>(Kind::Exception, cls, sizeof(Exception) + slots_bytes(cls));
    error->args = tuple.release();
    init_slots(error);
    vm.heap.track(error);
    return Ptr<Exception>::steal(error);
}

void raise(Vm& vm, Exc type, std::string message) {
    Ref text = make_str(vm, message);
    raise_with(vm, type, text);
}

void raise_with(Vm& vm, Exc type, Value arg) { raise_object(vm, make_exception(vm, vm.classes.of(type), &arg, 1)); }

void raise_object(Vm& vm, Value exception) {
    vm.set_raised(exception);
    throw Raised{};
}

namespace {

Exception* self(Object* object) { return static_cast<Exception*>(object); }

void exception_traverse(Object* object, Visitor& visitor) {
    Exception* error = self(object);
    if (error->args) visitor.visit(static_cast<Object*>(error->args));
    visitor.visit(error->cause);
    visitor.visit(error->context);
    visitor.visit(error->payload);
    if (error->traceback) {
        for (TracebackEntry& entry : *error->traceback) visitor.visit(static_cast<Object*>(entry.code));
    }
    traverse_slots(object, visitor);
}

void drop(Value& field) {
    Value old = field;
    field = Value();
    decref(old);
}

void drop_traceback(Exception* error) {
    if (!error->traceback) return;
    auto* entries = error->traceback;
    error->traceback = nullptr;
    for (TracebackEntry& entry : *entries) decref(static_cast<Object*>(entry.code));
    delete entries;
}

void exception_clear(Vm& vm, Object* object) {
    Exception* error = self(object);
    drop(error->cause);
    drop(error->context);
    drop(error->payload);
    drop_traceback(error);
    Tuple* args = error->args;
    error->args = vm.empty_tuple.get();
    if (error->args) error->args->refs++;
    if (args) decref(static_cast<Object*>(args));
    clear_slots(vm, object);
}

void exception_destroy(Vm& vm, Object* object) {
    Exception* error = self(object);
    drop(error->cause);
    drop(error->context);
    drop(error->payload);
    drop_traceback(error);
    if (error->args) decref(static_cast<Object*>(error->args));
    size_t size = sizeof(Exception) + slots_allocated(object);
    destroy_slots(vm, object);
    vm.heap.deallocate(object, size);
}

Value none_if_unset(Value v) { return v.is_undef() ? Value::none() : v; }
Value arg(Exception* error, size_t i) { return i < error->args->size ? error->args->items[i] : Value::none(); }

// What __traceback__ gives: the chain of places, outermost first, each with its line and function name.
Ref traceback_object(Vm& vm, Exception* error) {
    if (!error->traceback) return Value::none();
    Ref next = Value::none();
    for (const TracebackEntry& entry : *error->traceback) {
        const lang::Code& code = *entry.code->plain;
        Span span = entry.instruction < code.spans.size() ? code.spans[entry.instruction] : code.span;
        Ref made = allocate_instance(vm, vm.classes.traceback);
        slot_set(vm, made.get().o, intern(vm, "tb_lineno").get(), Value::integer(code.source->line_of(span.begin)));
        slot_set(vm, made.get().o, intern(vm, "tb_name").get(), Value::object(entry.code->name));
        slot_set(vm, made.get().o, intern(vm, "tb_next").get(), next);
        next = std::move(made);
    }
    return next;
}

Ref exception_get_attr(Vm& vm, Object* object, Str* name) {
    Exception* error = self(object);
    Names& n = vm.names;
    if (name == n.args) return Value::object(error->args);
    if (name == n.cause_) return none_if_unset(error->cause);
    if (name == n.context_) return none_if_unset(error->context);
    if (name == n.suppress_context_) return Value::boolean(error->suppress_context);
    if (name == n.traceback_) return traceback_object(vm, error);
    if (name == n.value && is_subclass(object->cls, vm.classes.of(Exc::StopIteration))) return arg(error, 0);
    if (name == n.code && is_subclass(object->cls, vm.classes.of(Exc::SystemExit))) {
        return error->args->size > 1 ? Value::object(error->args) : arg(error, 0);
    }
    if (is_subclass(object->cls, vm.classes.of(Exc::OSError))) {
        bool full = error->args->size >= 2;
        if (name == n.errno_) return full ? arg(error, 0) : Value::none();
        if (name == n.strerror) return full ? arg(error, 1) : Value::none();
        if (name == n.filename) return none_if_unset(error->payload);
    }
    if (name == n.msg && (is_subclass(object->cls, vm.classes.of(Exc::ImportError)) ||
                          is_subclass(object->cls, vm.classes.of(Exc::SyntaxError)))) {
        return arg(error, 0);
    }
    if (name->view() == "name" && (is_subclass(object->cls, vm.classes.of(Exc::ImportError)) ||
                                   is_subclass(object->cls, vm.classes.of(Exc::NameError)) ||
                                   is_subclass(object->cls, vm.classes.of(Exc::AttributeError)))) {
        return Value::none();
    }
    if (name->view() == "obj" && is_subclass(object->cls, vm.classes.of(Exc::AttributeError))) return Value::none();
    return {};
}

bool exception_set_attr(Vm& vm, Object* object, Str* name, Value value) {
    Exception* error = self(object);
    Names& n = vm.names;
    auto store = [&](Value& field) {
        Value old = field;
        field = value.is_none() ? Value() : value;
        incref(field);
        decref(old);
        return true;
    };
    if (name == n.args) {
        Ptr<Tuple> tuple = tuple_from_iterable(vm, value);
        Tuple* old = error->args;
        error->args = tuple.release();
        decref(static_cast<Object*>(old));
        return true;
    }
    if (name == n.cause_) {
        error->suppress_context = true;
        return store(error->cause);
    }
    if (name == n.context_) return store(error->context);
    if (name == n.suppress_context_) {
        error->suppress_context = truth(vm, value);
        return true;
    }
    if (name == n.traceback_) {
        if (value.is_none()) drop_traceback(error);
        return true;
    }
    return false;
}

}  // namespace

const KindOps kExceptionOps = {
    .traverse = exception_traverse,
    .clear = exception_clear,
    .destroy = exception_destroy,
    .get_attr = exception_get_attr,
    .set_attr = exception_set_attr,
};

}  // namespace talc::vm
