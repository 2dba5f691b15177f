#include "vm/steps.hpp"

#include "base/text/suggest.hpp"
#include "vm/call.hpp"
#include "vm/class.hpp"
#include "vm/containers.hpp"
#include "vm/namespace.hpp"
#include "vm/shape.hpp"

namespace talc::vm {

void Steps::clear_registers(Value* registers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        Value v = registers[i];
        if (v.tag == Tag::Undef) continue;
        registers[i] = Value();
        decref(v);
    }
}

// ---- Unbound names --------------------------------------------------------------------------------

void Steps::unbound_local(Vm& vm, Str* name) {
    raise(vm, Exc::UnboundLocalError, "cannot access local variable '{}' where it is not associated with a value", name->view());
}

void Steps::unbound_free(Vm& vm, const std::string& name) {
    raise(vm, Exc::NameError, "cannot access free variable '{}' where it is not associated with a value in enclosing scope",
          name);
}

void Steps::undefined_global(Vm& vm, Str* name) {
    Ref text = make_str(vm, fmt::format("name '{}' is not defined", name->view()));
    Value arg = text;
    Ptr<Exception> error = make_exception(vm, vm.classes.of(Exc::NameError), &arg, 1);
    std::vector<std::string_view> candidates;
    auto add = [&](const Namespace& table) {
        for (uint32_t i = 0; i < table.size; i++) {
            const Namespace::Row& row = table.rows[i];
            bool bound = !row.cell->value.is_undef() || (row.cell->fallback && !row.cell->fallback->value.is_undef());
            if (bound) candidates.push_back(row.name->view());
        }
    };
    for (const std::string& local : vm.frame()->code->plain->local_names) candidates.push_back(local);
    add(vm.frame()->code->module->globals);
    add(vm.builtins->globals);
    for (size_t i = 0; i < vm.table.count; i++) {
        if (vm.table.rows[i].owner[0] == 0) candidates.push_back(vm.table.rows[i].name);
    }
    std::string_view near = text::did_you_mean(name->view(), candidates);
    if (!near.empty()) error->payload = Value::object(make_str(vm, near).release());
    raise_object(vm, error);
}

// ---- Attributes -----------------------------------------------------------------------------------

namespace {

bool has_attribute_hooks(Vm& vm, Class* cls) {
    return !find_special(vm, cls, Special::GetAttribute).is_undef();
}

}  // namespace

Ref Steps::load_attr(Vm& vm, Value object, AttrCache& site) {
    site.epoch = 0;
    if (object.is_kind(Kind::Instance)) {
        auto* instance = cast<Instance>(object);
        Class* cls = instance->cls;
        Shape* shape = instance->slots.shape;
        if (shape && !shape->dictionary && !has_attribute_hooks(vm, cls)) {
            Cell* cell = find_class_cell(vm, cls, site.name);
            int slot = shape->find(site.name);
            bool descriptor = cell && cell->value.is_obj() &&
                              (cell->value.o->kind == Kind::Property || cell->value.o->kind == Kind::Function ||
                               cell->value.o->kind == Kind::Native || cell->value.o->kind == Kind::StaticMethod ||
                               cell->value.o->kind == Kind::ClassMethod);
            bool data = cell && cell->value.is_kind(Kind::Property);
            if (slot >= 0 && !data) {
                site.shape = shape;
                site.slot = static_cast<uint32_t>(slot);
                site.cell = nullptr;
                site.epoch = vm.class_epoch;
                return instance->slots.values[slot];
            }
            if (slot < 0 && cell && !descriptor) {
                site.shape = shape;
                site.cell = cell;
                site.epoch = vm.class_epoch;
                return cell->value;
            }
        }
    } else if (object.is_kind(Kind::Module)) {
        auto* module = cast<Module>(object);
        Cell* cell = namespace_find(module->globals, site.name);
        if (cell && !cell->value.is_undef()) {
            site.shape = nullptr;
            site.holder = module;
            site.cell = cell;
            site.epoch = vm.class_epoch;
            return cell->value;
        }
    }
    return get_attr(vm, object, site.name);
}

void Steps::store_attr(Vm& vm, Value object, AttrCache& site, Value value) {
    site.epoch = 0;
    if (object.is_kind(Kind::Instance)) {
        auto* instance = cast<Instance>(object);
        Class* cls = instance->cls;
        Shape* shape = instance->slots.shape;
        if (shape && !shape->dictionary && find_special(vm, cls, Special::SetAttr).is_undef() &&
            !find_class_attr(vm, cls, site.name).is_kind(Kind::Property) && site.name != vm.names.dict_ &&
            site.name != vm.names.class_ && may_have_attribute(cls, site.name)) {
            int slot = shape->find(site.name);
            slot_set(vm, object.o, site.name, value);
            Shape* after = instance->slots.shape;
            if (after->dictionary) return;
            site.shape = shape;
            site.slot = static_cast<uint32_t>(slot >= 0 ? slot : after->find(site.name));
            site.next_shape = slot >= 0 ? nullptr : after;
            site.epoch = vm.class_epoch;
            return;
        }
    }
    set_attr(vm, object, site.name, value);
}

void Steps::load_method(Vm& vm, Value object, AttrCache& site, Value* function, Value* self) {
    site.epoch = 0;
    Class* cls = class_of(vm, object);
    bool plain = !object.is_kind(Kind::Class) && !object.is_kind(Kind::Module) && !object.is_kind(Kind::Super) &&
                 !(cls->user && has_attribute_hooks(vm, cls));
    if (plain) {
        Cell* cell = find_class_cell(vm, cls, site.name);
        bool method = cell && (cell->value.is_kind(Kind::Function) ||
                               (cell->value.is_kind(Kind::Native) && cast<Native>(cell->value)->owner));
        bool own = method && object.is_obj() && has_slots(object.o) && !slot_get(vm, object.o, site.name).is_undef();
        if (method && !own) {
            if (object.is_kind(Kind::Instance)) {
                Shape* shape = cast<Instance>(object)->slots.shape;
                if (shape && !shape->dictionary) {
                    site.shape = shape;
                    site.cell = cell;
                    site.epoch = vm.class_epoch;
                }
            } else if (object.is_obj() && !has_slots(object.o)) {
                site.shape = nullptr;
                site.holder = cls;
                site.cell = cell;
                site.epoch = vm.class_epoch;
            }
            *function = Ref(cell->value).release();
            *self = Ref(object).release();
            return;
        }
    }
    *function = get_attr(vm, object, site.name).release();
    *self = Value();
}

void Steps::super_method(Vm& vm, Value cls, Value self, Str* name, Value* function, Value* out_self) {
    if (!cls.is_kind(Kind::Class)) raise(vm, Exc::RuntimeError, std::string("super(): empty __class__ cell"));
    if (!self.is_kind(Kind::Class)) {
        for (Class* c = cast<Class>(cls)->base; c; c = c->base) {
            ensure_populated(vm, c);
            Cell* cell = namespace_find(c->attributes, name);
            if (!cell || cell->value.is_undef()) continue;
            bool method = cell->value.is_kind(Kind::Function) ||
                          (cell->value.is_kind(Kind::Native) && cast<Native>(cell->value)->owner);
            if (!method) break;
            *function = Ref(cell->value).release();
            *out_self = Ref(self).release();
            return;
        }
    }
    Ref super = make_super(vm, cls, self);
    *function = get_attr(vm, super, name).release();
    *out_self = Value();
}

Ref Steps::make_super(Vm& vm, Value cls, Value self) {
    if (!cls.is_kind(Kind::Class)) raise(vm, Exc::RuntimeError, std::string("super(): empty __class__ cell"));
    Class* self_class = self.is_kind(Kind::Class) && is_subclass(cast<Class>(self), cast<Class>(cls)) ? cast<Class>(self)
                                                                                                       : class_of(vm, self);
    if (!is_subclass(self_class, cast<Class>(cls))) {
        raise(vm, Exc::TypeError, std::string("super(type, obj): obj must be an instance or subtype of type"));
    }
    auto* super = vm.heap.make<Super>(Kind::Super, vm.classes.super);
    super->start = cast<Class>(cls);
    super->start->refs++;
    super->self = Ref(self).release();
    super->self_class = self_class;
    self_class->refs++;
    vm.heap.track(super);
    return Ref::steal(Value::object(super));
}

// ---- Functions and classes ------------------------------------------------------------------------

Ref Steps::make_function(Vm& vm, Frame& frame, Code* code, Value* registers, unsigned flags) {
    auto* function = vm.heap.make<Function>(Kind::Function, vm.classes.function, sizeof(Function) + slots_bytes(vm.classes.function));
    function->code = code;
    code->refs++;
    function->name = code->name;
    code->name->refs++;
    function->qualname = code->qualname;
    code->qualname->refs++;
    init_slots(function);
    size_t captures = code->plain->captures.size();
    if (captures) {
        function->closure = static_cast<Cell**>(vm.heap.allocate(captures * sizeof(Cell*)));
        for (size_t i = 0; i < captures; i++) {
            const lang::Capture& capture = code->plain->captures[i];
            Cell* cell = capture.from_register ? cast<Cell>(frame.registers[capture.index]) : frame.function->closure[capture.index];
            cell->refs++;
            function->closure[i] = cell;
        }
    }
    // A reference moves from the register, except from R[A], which the result replaces.
    auto take = [&](Value& reg) {
        Value v = reg;
        reg = Value();
        return v.o;
    };
    if (flags & 1) function->defaults = static_cast<Tuple*>(take(registers[0]));
    if (flags & 2) function->keyword_defaults = static_cast<Dict*>(take(registers[1]));
    if (flags & 4) function->annotations = static_cast<Dict*>(take(registers[2]));
    if (code->plain->doc >= 0) function->doc = Ref(code->constants[code->plain->doc]).release();
    vm.heap.track(function);
    return Ref::steal(Value::object(function));
}

Ref copy_function(Vm& vm, Function* function, Code* code) {
    auto* copy = vm.heap.make<Function>(Kind::Function, vm.classes.function, sizeof(Function) + slots_bytes(vm.classes.function));
    auto shared = [](auto* object) {
        if (object) object->refs++;
        return object;
    };
    copy->code = shared(code);
    copy->name = shared(function->name);
    copy->qualname = shared(function->qualname);
    init_slots(copy);
    size_t captures = code->plain->captures.size();
    if (captures) {
        copy->closure = static_cast<Cell**>(vm.heap.allocate(captures * sizeof(Cell*)));
        for (size_t i = 0; i < captures; i++) copy->closure[i] = shared(function->closure[i]);
    }
    copy->defaults = shared(function->defaults);
    copy->keyword_defaults = shared(function->keyword_defaults);
    copy->annotations = shared(function->annotations);
    copy->doc = Ref(function->doc).release();
    vm.heap.track(copy);
    return Ref::steal(Value::object(copy));
}

Ref Steps::make_generator(Vm& vm, Function* function, const Value* args, size_t count, Str* const* names, size_t nkeywords) {
    Code* code = function->code;
    auto* registers = static_cast<Value*>(vm.heap.allocate(code->nregs * sizeof(Value)));
    for (size_t i = 0; i < code->nregs; i++) registers[i] = Value();
    try {
        bind_arguments(vm, function, registers, args, count, names, nkeywords);
    } catch (Raised&) {
        clear_registers(registers, code->nregs);
        vm.heap.deallocate(registers, code->nregs * sizeof(Value));
        throw;
    }
    auto* generator = vm.heap.make<Generator>(Kind::Generator, vm.classes.generator);
    generator->function = function;
    function->refs++;
    generator->registers = registers;
    generator->pc = code->instrs;
    generator->state = GeneratorState::Created;
    generator->name = function->qualname;
    generator->name->refs++;
    vm.heap.generators++;
    vm.heap.track(generator);
    return Ref::steal(Value::object(generator));
}

Ref Steps::run_class_body(Vm& vm, Function* body, Dict* attributes) {
    Frame* frame = vm.push_frame(body->code, body);
    body->refs++;
    frame->entry = true;
    frame->registers[0] = Ref(Value::object(attributes)).release();
    return vm.run(false);
}

Ref Steps::build_class(Vm& vm, Value body, Value name, const Value* bases, size_t count, Value keywords) {
    vm.check_stack();
    auto* function = cast<Function>(body);
    Ptr<Dict> attributes = make_dict(vm);
    dict_set(vm, attributes.get(), Value::object(vm.names.module_), Value::object(function->code->module->name));
    Ref cell = run_class_body(vm, function, attributes.get());
    Ptr<Class> cls = vm::build_class(vm, name, bases, count, attributes.get(), function->qualname->view());
    if (cls->doc.is_undef() && function->code->plain->doc >= 0) {
        cls->doc = Ref(function->code->constants[function->code->plain->doc]).release();
    }
    if (cell.is_kind(Kind::Cell)) {
        Value old = cast<Cell>(cell.get())->value;
        cast<Cell>(cell.get())->value = Ref(Value::object(cls.get())).release();
        decref(old);
    }
    announce_subclass(vm, cls.get(), keywords.is_undef() ? nullptr : cast<Dict>(keywords));
    return cls;
}

// ---- Unpacking and building -----------------------------------------------------------------------

namespace {

void replace(Value& slot, Value owned) {
    Value old = slot;
    slot = owned;
    decref(old);
}

}  // namespace

void Steps::unpack(Vm& vm, Value source, Value* out, size_t count) {
    if (source.is_kind(Kind::List) && !source.o->cls->user && cast<List>(source)->size == count) {
        for (size_t i = 0; i < count; i++) replace(out[i], Ref(cast<List>(source)->items[i]).release());
        return;
    }
    if (!source.is_obj()) raise(vm, Exc::TypeError, "cannot unpack non-iterable {} object", class_name(vm, source));
    const KindOps& ops = kind_ops(source.o->kind);
    if (!ops.iterate && !ops.next && find_special(vm, source, Special::Iter).is_undef() &&
        find_special(vm, source, Special::GetItem).is_undef()) {
        raise(vm, Exc::TypeError, "cannot unpack non-iterable {} object", class_name(vm, source));
    }
    Ref iterator = iterate(vm, source);
    std::vector<Ref> items;
    for (size_t i = 0; i < count; i++) {
        Ref item = next(vm, iterator);
        if (!item) raise(vm, Exc::ValueError, "not enough values to unpack (expected {}, got {})", count, i);
        items.push_back(std::move(item));
    }
    if (next(vm, iterator)) raise(vm, Exc::ValueError, "too many values to unpack (expected {})", count);
    for (size_t i = 0; i < count; i++) replace(out[i], items[i].release());
}

void Steps::unpack_star(Vm& vm, Value source, Value* out, size_t before, size_t after) {
    Ptr<List> all;
    if (source.is_obj()) all = list_from_iterable(vm, source);
    else raise(vm, Exc::TypeError, "cannot unpack non-iterable {} object", class_name(vm, source));
    if (all->size < before + after) {
        raise(vm, Exc::ValueError, "not enough values to unpack (expected at least {}, got {})", before + after, all->size);
    }
    Ptr<List> rest = make_list(vm, all->items + before, all->size - before - after);
    for (size_t i = 0; i < before; i++) replace(out[i], Ref(all->items[i]).release());
    replace(out[before], Value::object(rest.release()));
    for (size_t i = 0; i < after; i++) replace(out[before + 1 + i], Ref(all->items[all->size - after + i]).release());
}

Ref Steps::slice(Vm& vm, Value object, Value start, Value stop) {
    auto bound = [](Value v, int64_t length, int64_t fallback) {
        if (v.is_none()) return fallback;
        int64_t at = v.i < 0 ? v.i + length : v.i;
        return at < 0 ? 0 : at > length ? length : at;
    };
    bool simple = (start.is_none() || start.is_int()) && (stop.is_none() || stop.is_int());
    if (simple && object.is_obj() && !object.o->cls->user) {
        if (object.o->kind == Kind::List || object.o->kind == Kind::Str) {
            bool list = object.o->kind == Kind::List;
            int64_t length = list ? static_cast<int64_t>(cast<List>(object)->size) : cast<Str>(object)->length;
            int64_t from = bound(start, length, 0);
            int64_t to = bound(stop, length, length);
            if (to < from) to = from;
            if (list) return list_slice(vm, cast<List>(object), from, to, 1);
            return str_slice(vm, cast<Str>(object), from, to, 1);
        }
    }
    Ref made = make_slice(vm, start, stop, Value::none());
    return get_item(vm, object, made);
}

Ref Steps::build_string(Vm& vm, const Value* parts, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += cast<Str>(parts[i])->size;
    Ptr<Str> out = make_str_buffer(vm, bytes);
    char* at = out->data;
    for (size_t i = 0; i < count; i++) {
        Str* part = cast<Str>(parts[i]);
        __builtin_memcpy(at, part->data, part->size);
        at += part->size;
    }
    finish_str(out.get());
    return out;
}

Ref Steps::format_value(Vm& vm, Value v, Value spec, unsigned conversion) {
    Ref converted;
    if (conversion == 1) converted = to_str(vm, v);
    if (conversion == 2) converted = repr(vm, v);
    if (conversion == 3) converted = ascii(vm, v);
    if (conversion) v = converted;
    if (spec.is_undef() && (!v.is_obj() || (v.o->kind == Kind::Str && !v.o->cls->user))) return to_str(vm, v);
    return format(vm, v, spec.is_undef() ? std::string_view() : cast<Str>(spec)->view());
}

Ref Steps::str_plus(Vm& vm, Value a, Value b, bool may_grow) {
    auto* left = cast<Str>(a);
    auto* right = cast<Str>(b);
    if (!may_grow || left->refs != 1 || (left->flags & kInterned) || left == right) return str_add(vm, left, right);
    size_t total = size_t{left->size} + right->size;
    if (total > left->capacity) {
        // Half as much again: a string that is built piece by piece is copied a bounded number of times.
        if (total < 64) return str_add(vm, left, right);
        size_t capacity = total + total / 2;
        Ptr<Str> out = make_str_buffer(vm, capacity < 0x7FFFFFFF ? capacity : total);
        __builtin_memcpy(out->data, left->data, left->size);
        __builtin_memcpy(out->data + left->size, right->data, right->size);
        out->size = static_cast<uint32_t>(total);
        out->data[total] = 0;
        out->length = left->length + right->length;
        out->flags = static_cast<uint8_t>((out->flags & ~kAscii) | (left->flags & right->flags & kAscii));
        return out;
    }
    __builtin_memcpy(left->data + left->size, right->data, right->size);
    left->size = static_cast<uint32_t>(total);
    left->data[total] = 0;
    left->length += right->length;
    left->hash = 0;
    left->mark = 0;
    left->aux = 0;
    if (!right->ascii()) left->flags &= static_cast<uint8_t>(~kAscii);
    return a;
}

// ---- Calls ----------------------------------------------------------------------------------------

Ref Steps::call_many_keywords(Vm& vm, Value callee, const Value* args, size_t count, Tuple* names) {
    std::vector<Str*> plain;
    for (size_t i = 0; i < names->size; i++) plain.push_back(cast<Str>(names->items[i]));
    return call(vm, callee, args, count, plain.data(), plain.size());
}

namespace {

// A callee as messages about its arguments name it.
std::string callee_name(Vm& vm, Value callee) {
    if (callee.is_kind(Kind::BoundMethod)) callee = cast<BoundMethod>(callee)->function;
    if (callee.is_kind(Kind::Function)) {
        auto* function = cast<Function>(callee);
        return fmt::format("{}.{}()", function->code->module->name->view(), function->qualname->view());
    }
    if (callee.is_kind(Kind::Native)) return cast<Native>(callee)->name->string() + "()";
    if (callee.is_kind(Kind::Class)) return cast<Class>(callee)->name->string() + "()";
    return std::string(class_name(vm, callee)) + " object";
}

bool is_iterable(Vm& vm, Value v) {
    if (!v.is_obj()) return false;
    const KindOps& ops = kind_ops(v.o->kind);
    return ops.iterate || ops.next || !find_special(vm, v, Special::Iter).is_undef() ||
           !find_special(vm, v, Special::GetItem).is_undef();
}

}  // namespace

void Steps::extend_args(Vm& vm, List* args, Value iterable, Value callee) {
    if (!is_iterable(vm, iterable)) {
        raise(vm, Exc::TypeError, "{} argument after * must be an iterable, not {}", callee_name(vm, callee),
              class_name(vm, iterable));
    }
    list_extend(vm, args, iterable);
}

void Steps::dict_merge(Vm& vm, Dict* dict, Value mapping, Value callee) {
    auto add = [&](Value key, Value value) {
        if (!key.is_kind(Kind::Str)) raise(vm, Exc::TypeError, std::string("keywords must be strings"));
        if (!dict_get(vm, dict, key).is_undef()) {
            raise(vm, Exc::TypeError, "{} got multiple values for keyword argument '{}'", callee_name(vm, callee), cast<Str>(key)->view());
        }
        dict_set(vm, dict, key, value);
    };
    if (mapping.is_kind(Kind::Dict)) {
        auto* source = cast<Dict>(mapping);
        for (size_t i = 0; DictEntry* entry = dict_entry(source, i); i++) {
            Ref key(entry->key), value(entry->value);
            add(key, value);
        }
        return;
    }
    Ref keys = find_attr(vm, mapping, vm.names.keys);
    if (!keys) {
        raise(vm, Exc::TypeError, "{} argument after ** must be a mapping, not {}", callee_name(vm, callee), class_name(vm, mapping));
    }
    Ref list = call(vm, keys);
    for_each(vm, list, [&](Value key) { add(key, get_item(vm, mapping, key)); });
}

Ref Steps::call_ex(Vm& vm, Value callee, Value args, Value keywords, uint16_t result) {
    std::vector<Ref> held;
    std::vector<Value> all;
    const Value* items = args.is_kind(Kind::List) ? cast<List>(args)->items : cast<Tuple>(args)->items;
    size_t count = args.is_kind(Kind::List) ? cast<List>(args)->size : cast<Tuple>(args)->size;
    for (size_t i = 0; i < count; i++) all.push_back(items[i]);
    std::vector<Str*> names;
    if (keywords.is_kind(Kind::Dict)) {
        for (size_t i = 0; DictEntry* entry = dict_entry(cast<Dict>(keywords), i); i++) {
            if (!entry->key.is_kind(Kind::Str)) raise(vm, Exc::TypeError, std::string("keywords must be strings"));
            names.push_back(cast<Str>(entry->key));
            all.push_back(entry->value);
        }
    }
    if (vm.enter_call(callee, all.data(), all.size(), names.data(), names.size(), result)) return {};
    return call(vm, callee, all.data(), all.size(), names.data(), names.size());
}

// ---- Exceptions -----------------------------------------------------------------------------------

Ref Steps::exception_to_raise(Vm& vm, Value v) {
    if (v.is_kind(Kind::Exception)) return v;
    if (v.is_kind(Kind::Class) && is_subclass(cast<Class>(v), vm.classes.of(Exc::BaseException))) {
        Ref made = call(vm, v);
        if (made.is_kind(Kind::Exception)) return made;
        raise(vm, Exc::TypeError, "calling {} should have returned an instance of BaseException, not {}", repr(vm, v)->view(),
              repr(vm, Value::object(class_of(vm, made)))->view());
    }
    raise(vm, Exc::TypeError, std::string("exceptions must derive from BaseException"));
}

void Steps::set_cause(Vm& vm, Value exception, Value cause) {
    auto* error = cast<Exception>(exception);
    Ref instance;
    if (!cause.is_none()) {
        if (cause.is_kind(Kind::Exception) || cause.is_kind(Kind::Class)) instance = exception_to_raise(vm, cause);
        else raise(vm, Exc::TypeError, std::string("exception causes must derive from BaseException"));
    }
    error->suppress_context = true;
    replace(error->cause, instance.release());
}

bool Steps::matches(Vm& vm, Value exception, Value classes) {
    if (classes.is_kind(Kind::Class) && is_subclass(cast<Class>(classes), vm.classes.of(Exc::BaseException))) {
        return is_instance(vm, exception, cast<Class>(classes));
    }
    if (classes.is_kind(Kind::Tuple)) {
        auto* tuple = cast<Tuple>(classes);
        for (size_t i = 0; i < tuple->size; i++) {
            if (matches(vm, exception, tuple->items[i])) return true;
        }
        return false;
    }
    raise(vm, Exc::TypeError, std::string("catching classes that do not inherit from BaseException is not allowed"));
}

void Steps::with_enter(Vm& vm, Value manager, Value* exit, Value* entered) {
    Class* cls = class_of(vm, manager);
    Value enter_method = find_class_attr(vm, cls, vm.names.special(Special::Enter));
    if (enter_method.is_undef()) {
        raise(vm, Exc::TypeError, "'{}' object does not support the context manager protocol", cls->name->view());
    }
    Value exit_method = find_class_attr(vm, cls, vm.names.special(Special::Exit));
    if (exit_method.is_undef()) {
        raise(vm, Exc::TypeError, "'{}' object does not support the context manager protocol (missed __exit__ method)",
              cls->name->view());
    }
    Ref bound_exit = bind_class_attr(vm, exit_method, manager, cls);
    Ref bound_enter = bind_class_attr(vm, enter_method, manager, cls);
    *entered = call(vm, bound_enter).release();
    *exit = bound_exit.release();
}

void Steps::add_traceback(Vm&, Value exception, Code* code, uint32_t instruction) {
    auto* error = cast<Exception>(exception);
    constexpr size_t kMaxEntries = 1 << 14;
    if (!error->traceback) error->traceback = new std::vector<TracebackEntry>();
    if (error->traceback->size() >= kMaxEntries) return;
    code->refs++;
    error->traceback->push_back({code, instruction});
}

void Steps::set_context(Vm& vm, Value exception) {
    auto* error = cast<Exception>(exception);
    Value handled = vm.handled();
    if (!handled.is_kind(Kind::Exception) || handled.o == error || !error->context.is_undef()) return;
    // No cycles: an exception raised again inside its own handling is not its own context. A script may have
    // made a cycle of its own; the slow walker ends the search there.
    auto context_of = [](Exception* e) { return e->context.is_kind(Kind::Exception) ? cast<Exception>(e->context) : nullptr; };
    auto* slow = cast<Exception>(handled);
    bool move_slow = false;
    for (auto* e = cast<Exception>(handled); auto* next = context_of(e); e = next) {
        if (next == error) {
            replace(e->context, Value());
            break;
        }
        if (next == slow) break;
        if (move_slow) slow = context_of(slow);
        move_slow = !move_slow;
    }
    error->context = Ref(handled).release();
}

}  // namespace talc::vm
