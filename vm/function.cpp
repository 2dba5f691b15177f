// Code, functions, natives, modules and generators as objects: how they are made and freed, and their attributes.
#include "vm/call.hpp"
#include "vm/namespace.hpp"
#include "vm/shape.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

template <class T>
void drop(T*& field) {
    T* old = field;
    field = nullptr;
    if (old) decref(static_cast<Object*>(old));
}
void drop(Value& field) {
    Value old = field;
    field = Value();
    decref(old);
}
template <class T>
void visit(Visitor& visitor, T* child) {
    if (child) visitor.visit(static_cast<Object*>(child));
}

Ref constant_value(Vm& vm, const lang::Constant& constant) {
    struct Maker {
        Vm& vm;
        Ref operator()(lang::NoneConstant) { return Value::none(); }
        Ref operator()(lang::EllipsisConstant) { return Value::ellipsis(); }
        Ref operator()(bool x) { return Value::boolean(x); }
        Ref operator()(int64_t x) { return Value::integer(x); }
        Ref operator()(double x) { return Value::real(x); }
        Ref operator()(const std::string& s) { return intern(vm, s); }
        Ref operator()(const lang::BytesConstant& b) { return make_bytes(vm, b.data); }
        Ref operator()(const lang::TupleConstant& t) {
            std::vector<Ref> items;
            for (const lang::Constant& item : t.items) items.push_back(constant_value(vm, item));
            std::vector<Value> plain(items.begin(), items.end());
            return make_tuple(vm, plain.data(), plain.size());
        }
    };
    return std::visit(Maker{vm}, constant.value);
}

// ---- Code ----

void code_traverse(Object* object, Visitor& visitor) {
    auto* code = static_cast<Code*>(object);
    for (size_t i = 0; i < code->plain->constants.size(); i++) visitor.visit(code->constants[i]);
    for (size_t i = 0; i < code->plain->globals.size(); i++) visit(visitor, code->globals[i]);
    for (size_t i = 0; i < code->plain->codes.size(); i++) visit(visitor, code->codes[i]);
    visit(visitor, code->module);
}

void code_clear(Vm&, Object* object) {
    auto* code = static_cast<Code*>(object);
    for (size_t i = 0; i < code->plain->codes.size(); i++) drop(code->codes[i]);
    drop(code->module);
}

void code_destroy(Vm& vm, Object* object) {
    auto* code = static_cast<Code*>(object);
    const lang::Code& plain = *code->plain;
    for (size_t i = 0; i < plain.constants.size(); i++) decref(code->constants[i]);
    for (size_t i = 0; i < plain.globals.size(); i++) decref(static_cast<Object*>(code->globals[i]));
    for (size_t i = 0; i < plain.codes.size(); i++) drop(code->codes[i]);
    for (size_t i = 0; i < plain.names.size(); i++) decref(static_cast<Object*>(code->names[i]));
    drop(code->module);
    drop(code->name);
    drop(code->qualname);
    vm.heap.deallocate(code->instrs, plain.instrs.size() * sizeof(lang::Instr));
    vm.heap.deallocate(code->constants, plain.constants.size() * sizeof(Value));
    vm.heap.deallocate(code->names, plain.names.size() * sizeof(Str*));
    vm.heap.deallocate(code->globals, plain.globals.size() * sizeof(Cell*));
    vm.heap.deallocate(code->sites, plain.sites.size() * sizeof(AttrCache));
    vm.heap.deallocate(code->codes, plain.codes.size() * sizeof(Code*));
    std::destroy_at(&code->unit);
    vm.heap.deallocate(code, sizeof(Code));
}

Ref code_repr(Vm& vm, Object* object) {
    auto* code = static_cast<Code*>(object);
    return make_str(vm, fmt::format("<code object {} at {}>", code->name->view(), static_cast<void*>(object)));
}

template <class T>
T* allocate_array(Vm& vm, size_t count) {
    auto* array = static_cast<T*>(vm.heap.allocate(count * sizeof(T)));
    __builtin_memset(static_cast<void*>(array), 0, count * sizeof(T));
    return array;
}

// ---- Functions ----

Function* as_function(Object* object) { return static_cast<Function*>(object); }

void function_traverse(Object* object, Visitor& visitor) {
    Function* f = as_function(object);
    if (f->closure) {
        for (size_t i = 0; i < f->code->plain->captures.size(); i++) visit(visitor, f->closure[i]);
    }
    visit(visitor, f->code);
    visit(visitor, f->defaults);
    visit(visitor, f->keyword_defaults);
    visit(visitor, f->annotations);
    visitor.visit(f->doc);
    traverse_slots(object, visitor);
}

void function_clear(Vm& vm, Object* object) {
    Function* f = as_function(object);
    if (f->closure) {
        // The cells stay (a frame may still run this function), what they hold goes.
        for (size_t i = 0; i < f->code->plain->captures.size(); i++) {
            if (f->closure[i]) drop(f->closure[i]->value);
        }
    }
    drop(f->defaults);
    drop(f->keyword_defaults);
    drop(f->annotations);
    clear_slots(vm, object);
}

void function_destroy(Vm& vm, Object* object) {
    Function* f = as_function(object);
    if (f->closure) {
        size_t count = f->code->plain->captures.size();
        for (size_t i = 0; i < count; i++) decref(static_cast<Object*>(f->closure[i]));
        vm.heap.deallocate(f->closure, count * sizeof(Cell*));
    }
    drop(f->defaults);
    drop(f->keyword_defaults);
    drop(f->annotations);
    drop(f->doc);
    drop(f->name);
    drop(f->qualname);
    drop(f->code);
    size_t size = sizeof(Function) + slots_allocated(object);
    destroy_slots(vm, object);
    vm.heap.deallocate(object, size);
}

Ref function_repr(Vm& vm, Object* object) {
    return make_str(vm, fmt::format("<function {} at {}>", as_function(object)->qualname->view(), static_cast<void*>(object)));
}

template <class T>
Value object_or_none(T* object) {
    return object ? Value::object(object) : Value::none();
}

Ref function_get_attr(Vm& vm, Object* object, Str* name) {
    Function* f = as_function(object);
    Names& n = vm.names;
    if (name == n.name_) return Value::object(f->name);
    if (name == n.qualname_) return Value::object(f->qualname);
    if (name == n.doc_) return f->doc.is_undef() ? Value::none() : f->doc;
    if (name == n.module_) return Value::object(f->code->module->name);
    if (name == n.defaults_) return object_or_none(f->defaults);
    if (name == n.kwdefaults_) return object_or_none(f->keyword_defaults);
    if (name == n.code_) return Value::object(f->code);
    if (name == n.annotations_) {
        if (!f->annotations) f->annotations = make_dict(vm).release();
        return Value::object(f->annotations);
    }
    if (name == n.closure_) {
        if (!f->closure) return Value::none();
        std::vector<Value> cells;
        for (size_t i = 0; i < f->code->plain->captures.size(); i++) cells.push_back(Value::object(f->closure[i]));
        return make_tuple(vm, cells.data(), cells.size());
    }
    return {};
}

bool function_set_attr(Vm& vm, Object* object, Str* name, Value value) {
    Function* f = as_function(object);
    Names& n = vm.names;
    if (name == n.name_ || name == n.qualname_) {
        Ptr<Str> text = intern(vm, to_text(vm, value, name == n.name_ ? "__name__" : "__qualname__"));
        Str*& field = name == n.name_ ? f->name : f->qualname;
        Str* old = field;
        field = text.release();
        decref(static_cast<Object*>(old));
        return true;
    }
    if (name == n.doc_) {
        Value old = f->doc;
        incref(value);
        f->doc = value;
        decref(old);
        return true;
    }
    if (name == n.module_) return true;
    if (name == n.defaults_ && (value.is_none() || value.is_kind(Kind::Tuple))) {
        Tuple* old = f->defaults;
        f->defaults = value.is_none() ? nullptr : cast<Tuple>(value);
        incref(value);
        if (old) decref(static_cast<Object*>(old));
        return true;
    }
    if (name == n.annotations_ && value.is_kind(Kind::Dict)) {
        Dict* old = f->annotations;
        f->annotations = cast<Dict>(value);
        incref(value);
        if (old) decref(static_cast<Object*>(old));
        return true;
    }
    return false;
}

// ---- Natives ----

void native_traverse(Object* object, Visitor& visitor) {
    auto* native = static_cast<Native*>(object);
    if (native->owner) visitor.visit(static_cast<Object*>(native->owner));
}

void native_destroy(Vm& vm, Object* object) {
    auto* native = static_cast<Native*>(object);
    if (native->signature) {
        for (auto& parameter : native->signature->parameters) decref(static_cast<Object*>(parameter.name));
        delete native->signature;
    }
    drop(native->name);
    Class* owner = native->owner;
    std::destroy_at(&native->state);
    vm.heap.deallocate(native, sizeof(Native));
    if (owner) decref(static_cast<Object*>(owner));
}

Ref native_repr(Vm& vm, Object* object) {
    auto* native = static_cast<Native*>(object);
    if (native->owner) {
        return make_str(vm, fmt::format("<method '{}' of '{}' objects>", native->name->view(), native->owner->name->view()));
    }
    return make_str(vm, fmt::format("<built-in function {}>", native->name->view()));
}

Ref native_get_attr(Vm& vm, Object* object, Str* name) {
    auto* native = static_cast<Native*>(object);
    Names& n = vm.names;
    if (name == n.name_) return Value::object(native->name);
    if (name == n.qualname_) {
        if (!native->owner) return Value::object(native->name);
        return make_str(vm, fmt::format("{}.{}", native->owner->name->view(), native->name->view()));
    }
    if (name == n.doc_) return make_str(vm, native->row->doc);
    if (name == n.module_) {
        bool of_module = !native->owner && native->row->owner[0] != 0;
        return make_str(vm, of_module ? native->row->owner : "builtins");
    }
    if (name == n.objclass_ && native->owner) return Value::object(native->owner);
    return {};
}

// ---- Modules ----

void module_traverse(Object* object, Visitor& visitor) {
    namespace_traverse(static_cast<Module*>(object)->globals, visitor);
}
void module_clear(Vm&, Object* object) { namespace_clear(static_cast<Module*>(object)->globals); }
void module_destroy(Vm& vm, Object* object) {
    auto* module = static_cast<Module*>(object);
    namespace_destroy(vm, module->globals);
    drop(module->name);
    drop(module->file);
    vm.heap.deallocate(module, sizeof(Module));
}
Ref module_repr(Vm& vm, Object* object) {
    auto* module = static_cast<Module*>(object);
    if (module->file) return make_str(vm, fmt::format("<module '{}' from '{}'>", module->name->view(), module->file->view()));
    return make_str(vm, fmt::format("<module '{}' (built-in)>", module->name->view()));
}
Ref module_get_attr(Vm& vm, Object* object, Str* name) {
    auto* module = static_cast<Module*>(object);
    if (name == vm.names.name_) return Value::object(module->name);
    if (name == vm.names.file_ && module->file) return Value::object(module->file);
    if (name == vm.names.doc_) return Value::none();
    if (name == vm.names.dict_) {
        Ptr<Dict> dict = make_dict(vm);
        for (uint32_t i = 0; i < module->globals.size; i++) {
            const Namespace::Row& row = module->globals.rows[i];
            if (!row.cell->value.is_undef()) dict_set(vm, dict.get(), Value::object(row.name), row.cell->value);
        }
        return dict;
    }
    return {};
}

// ---- Generators ----

Generator* as_generator(Object* object) { return static_cast<Generator*>(object); }

void generator_traverse(Object* object, Visitor& visitor) {
    Generator* g = as_generator(object);
    if (g->function) visit(visitor, g->function);
    visitor.visit(g->handled);
    if (g->registers) {
        for (size_t i = 0; i < g->function->code->nregs; i++) visitor.visit(g->registers[i]);
    }
}

void generator_clear(Vm&, Object* object) {
    Generator* g = as_generator(object);
    if (g->state == GeneratorState::Running) return;
    g->state = GeneratorState::Finished;
    drop(g->handled);
    if (g->registers) {
        for (size_t i = 0; i < g->function->code->nregs; i++) drop(g->registers[i]);
    }
}

// Suspended inside a try: its finally blocks have to run before it goes.
bool has_cleanup(const Generator* g) {
    if (g->state != GeneratorState::Suspended) return false;
    auto at = static_cast<uint32_t>(g->pc - g->function->code->instrs) - (g->delegating ? 0 : 1);
    for (const lang::Handler& handler : g->function->code->plain->handlers) {
        if (at >= handler.begin && at < handler.end) return true;
    }
    return false;
}

void generator_destroy(Vm& vm, Object* object) {
    Generator* g = as_generator(object);
    if (has_cleanup(g)) {
        Ref pending = vm.take_raised();
        g->refs = 2;  // alive while it runs
        try {
            vm.close(g);
        } catch (Raised&) {
            // Nobody is there to handle it, but a limit or an interrupt must not be lost: it is due again.
            Ref error = vm.take_raised();
            if (is_instance(vm, error, vm.classes.of(Exc::LimitExceeded))) vm.fuel = -1;
            if (is_instance(vm, error, vm.classes.of(Exc::KeyboardInterrupt))) vm.interrupt();
        }
        g->refs = 0;
        vm.set_raised(std::move(pending));
    }
    if (g->registers) {
        size_t count = g->function->code->nregs;
        for (size_t i = 0; i < count; i++) drop(g->registers[i]);
        vm.heap.deallocate(g->registers, count * sizeof(Value));
    }
    drop(g->handled);
    drop(g->function);
    drop(g->name);
    vm.heap.generators--;
    vm.heap.deallocate(g, sizeof(Generator));
}

Ref generator_repr(Vm& vm, Object* object) {
    return make_str(vm, fmt::format("<generator object {} at {}>", as_generator(object)->name->view(), static_cast<void*>(object)));
}

Ref generator_next(Vm& vm, Object* object) {
    Ref returned;
    return vm.resume(as_generator(object), Value::none(), &returned);
}

Ref generator_get_attr(Vm& vm, Object* object, Str* name) {
    if (name == vm.names.name_ || name == vm.names.qualname_) return Value::object(as_generator(object)->name);
    return {};
}

}  // namespace

bool runs_script_when_destroyed(const Object* object) {
    return object->kind == Kind::Generator && has_cleanup(static_cast<const Generator*>(object));
}

Ptr<Code> Vm::link(std::shared_ptr<const lang::Code> unit, const lang::Code& plain, Module* module) {
    Vm& vm = *this;
    auto* raw = heap.make<Code>(Kind::Code, classes.code);
    std::construct_at(&raw->unit, unit);
    raw->plain = &plain;
    raw->instrs = allocate_array<lang::Instr>(vm, plain.instrs.size());
    raw->constants = allocate_array<Value>(vm, plain.constants.size());
    raw->names = allocate_array<Str*>(vm, plain.names.size());
    raw->globals = allocate_array<Cell*>(vm, plain.globals.size());
    raw->sites = allocate_array<AttrCache>(vm, plain.sites.size());
    raw->codes = allocate_array<Code*>(vm, plain.codes.size());
    std::copy(plain.instrs.begin(), plain.instrs.end(), raw->instrs);
    for (size_t i = 0; i < plain.constants.size(); i++) raw->constants[i] = constant_value(vm, plain.constants[i]).release();
    for (size_t i = 0; i < plain.names.size(); i++) raw->names[i] = intern(vm, plain.names[i]).release();
    for (size_t i = 0; i < plain.globals.size(); i++) {
        Ptr<Str> name = intern(vm, plain.globals[i]);
        raw->globals[i] = global_cell(module, name.get());
        raw->globals[i]->refs++;
    }
    for (size_t i = 0; i < plain.sites.size(); i++) raw->sites[i].name = raw->names[plain.sites[i]];
    raw->nlocals = plain.nlocals;
    raw->nregs = plain.nregs;
    raw->positional = plain.positional;
    raw->keyword_only = plain.keyword_only;
    raw->simple = plain.keyword_only == 0 && !plain.has_varargs && !plain.has_varkw && !plain.is_generator;
    raw->generator = plain.is_generator;
    raw->module = module;
    module->refs++;
    raw->name = intern(vm, plain.name).release();
    raw->qualname = intern(vm, plain.qualname).release();
    Ptr<Code> code = Ptr<Code>::steal(raw);
    heap.track(raw);
    for (size_t i = 0; i < plain.codes.size(); i++) raw->codes[i] = link(unit, *plain.codes[i], module).release();
    return code;
}

const KindOps kCodeOps = {.traverse = code_traverse, .clear = code_clear, .destroy = code_destroy, .repr = code_repr};
const KindOps kFunctionOps = {
    .traverse = function_traverse,
    .clear = function_clear,
    .destroy = function_destroy,
    .repr = function_repr,
    .get_attr = function_get_attr,
    .set_attr = function_set_attr,
};
const KindOps kNativeOps = {
    .traverse = native_traverse, .destroy = native_destroy, .repr = native_repr, .get_attr = native_get_attr};
const KindOps kModuleOps = {
    .traverse = module_traverse,
    .clear = module_clear,
    .destroy = module_destroy,
    .repr = module_repr,
    .get_attr = module_get_attr,
};
const KindOps kGeneratorOps = {
    .traverse = generator_traverse,
    .clear = generator_clear,
    .destroy = generator_destroy,
    .repr = generator_repr,
    .next = generator_next,
    .get_attr = generator_get_attr,
};

}  // namespace talc::vm
