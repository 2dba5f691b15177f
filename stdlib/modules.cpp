#include "stdlib/modules.hpp"

#include <map>
#include <mutex>

#include "lang/compile.hpp"
#include "stdlib/embedded.hpp"
#include "stdlib/support.hpp"
#include "vm/class.hpp"
#include "vm/module.hpp"

namespace talc::stdlib {

namespace {

using Fill = void (*)(Vm&, Module*);

struct Entry {
    std::string_view name;
    Fill fill;
};

constexpr Entry kNative[] = {
#define MODULE(name, fill) {name, fill},
#include "stdlib/modules.def"
#undef MODULE
};

const Entry* find_native(std::string_view name) {
    for (const Entry& entry : kNative) {
        if (entry.name == name) return &entry;
    }
    return nullptr;
}

const EmbeddedModule* find_embedded(std::string_view name) {
    for (const EmbeddedModule& module : embedded_modules()) {
        if (module.name == name) return &module;
    }
    return nullptr;
}

// Compiled once a process: engines share the code, which does not change.
std::shared_ptr<const lang::Code> compiled(Vm& vm, const EmbeddedModule& module) {
    static std::mutex mutex;
    static std::map<const EmbeddedModule*, std::shared_ptr<const lang::Code>> known;
    std::lock_guard lock(mutex);
    std::shared_ptr<const lang::Code>& code = known[&module];
    if (!code) {
        auto source = std::make_shared<const Source>(fmt::format("stdlib/{}.tc", module.name), std::string(module.text));
        lang::CompileResult result = lang::compile(source);
        if (result.error) raise_syntax_error(vm, *result.error, *source);
        code = std::move(result.code);
    }
    return code;
}

// The builtin names as a module: each is made when it is asked for, or all of them (no name).
void populate_builtins(Vm& vm, Module*, Str* name) {
    if (name) {
        vm.builtin(name->view());
        return;
    }
    for (const NativeRow& row : vm.table.rows_of("")) vm.builtin(row.name);
#define KLASS(field, text, kind, base) vm.builtin(text);
#include "vm/classes.def"
#undef KLASS
    for (Class* cls : vm.classes.exceptions) vm.builtin(cls->name->view());
    for (std::string_view constant : {"NotImplemented", "Ellipsis"}) vm.builtin(constant);
}

}  // namespace

void set_value(Vm& vm, Module* module, std::string_view name, Value value) {
    set_attr_plain(vm, module, intern(vm, name).get(), value);
}

Ref make_library_module(Vm& vm, std::string_view name) {
    if (name == "builtins") {
        vm.builtins->populate = populate_builtins;
        return vm.builtins;
    }
    const Entry* native = find_native(name);
    const EmbeddedModule* embedded = find_embedded(name);
    if (!native && !embedded) return {};
    Ptr<Module> module = vm.make_module(name, "");
    module->library = true;
    Ref key = make_str(vm, name);
    if (native) {
        for (const NativeRow& row : vm.table.rows_of(name)) set_value(vm, module.get(), row.name, make_native(vm, &row, nullptr));
        native->fill(vm, module.get());
    }
    if (embedded) {
        module->package = embedded->is_package;
        std::shared_ptr<const lang::Code> code = compiled(vm, *embedded);
        dict_set(vm, vm.modules, key, module);
        try {
            vm.run_module(std::move(code), module.get());
        } catch (Raised&) {
            Ref error = vm.take_raised();
            dict_remove(vm, vm.modules, key);
            raise_object(vm, error);
        }
    }
    module->initialized = true;
    return module;
}

// ---- Classes --------------------------------------------------------------------------------------

namespace {

// The engine's own, made when first asked for.
template <class Make>
Class* kept_class(Vm& vm, const void* key, Make&& make) {
    auto known = vm.extension.find(key);
    if (known == vm.extension.end()) {
        Ref made = make();
        known = vm.extension.emplace(key, std::make_shared<Ref>(std::move(made))).first;
    }
    return cast<Class>(static_cast<Ref*>(known->second.get())->get());
}

struct Field {
    size_t at;
};

Ref record_field(Vm& vm, const Args& args) {
    auto* tuple = cast<Tuple>(args[0]);
    size_t at = static_cast<Field*>(args.state)->at;
    if (at >= tuple->size) raise(vm, Exc::IndexError, "tuple index out of range");
    return tuple->items[at];
}

struct RecordName {
    const RecordClass* description;
};

Ref record_repr(Vm& vm, const Args& args) {
    const RecordClass& record = *static_cast<RecordName*>(args.state)->description;
    auto* tuple = cast<Tuple>(args[0]);
    std::string text = fmt::format("{}.{}({}", record.module, record.name, record.lines ? "\n" : "");
    const char* between = record.lines ? ",\n" : ", ";
    for (size_t i = 0; i < tuple->size && i < record.fields.size(); i++) {
        text += fmt::format("{}{}={}", i ? between : "", record.fields.begin()[i], repr(vm, tuple->items[i])->view());
    }
    return make_str(vm, text + ")");
}

constexpr NativeRow kFieldRow = {"", "field", "(self, /)", Effect::pure, Record::opaque, record_field, "An item of the record."};
constexpr NativeRow kReprRow = {"", "__repr__", "(self, /)", Effect::calls, Record::opaque, record_repr, "Return repr(self)."};

Ref build_record_class(Vm& vm, const RecordClass& description) {
    Ptr<Dict> attributes = make_dict(vm);
    dict_set(vm, attributes.get(), vm.names.module_, make_str(vm, description.module));
    dict_set(vm, attributes.get(), intern(vm, "__dotted__"), make_str(vm, fmt::format("{}.{}", description.module, description.name)));
    Value base = vm.classes.tuple;
    Ref name = make_str(vm, description.name);
    Ptr<Class> cls = build_class(vm, name, &base, 1, attributes.get(), description.name);
    for (size_t i = 0; i < description.fields.size(); i++) {
        Ptr<Native> get = make_native(vm, &kFieldRow, cls.get());
        get->state = std::make_shared<Field>(Field{i});
        auto* property = vm.heap.make<Property>(Kind::Property, vm.classes.property);
        property->get = Value::object(get.release());
        vm.heap.track(property);
        Ref owned = Ref::steal(property);
        set_class_attr(vm, cls.get(), intern(vm, description.fields.begin()[i]).get(), owned);
    }
    Ptr<Native> show = make_native(vm, &kReprRow, cls.get());
    show->state = std::make_shared<RecordName>(RecordName{&description});
    set_class_attr(vm, cls.get(), vm.names.special(Special::Repr), show);
    return cls;
}

}  // namespace

Class* native_class(Vm& vm, const NativeClass& description) {
    return kept_class(vm, &description, [&] {
        Class* base = description.base ? description.base(vm) : vm.classes.object;
        Ptr<Class> cls = Ptr<Class>::steal(make_class(vm, description.name, base, description.kind));
        cls->module_name = intern(vm, description.module).release();
        if (description.kind != Kind::Exception && description.module != "builtins") {
            cls->dotted = intern(vm, fmt::format("{}.{}", description.module, description.name)).release();
        }
        cls->slots_offset = description.attributes ? static_cast<uint16_t>(offsetof(Foreign, slots)) : base->slots_offset;
        cls->populate = populate_class;
        if (description.final) cls->sealed = true;
        return Ref(cls);
    });
}

Class* record_class(Vm& vm, const RecordClass& description) {
    return kept_class(vm, &description, [&] { return build_record_class(vm, description); });
}

Ref make_record(Vm& vm, const RecordClass& description, std::initializer_list<Value> items) {
    Tuple* tuple = make_raw_tuple(vm, items.size(), record_class(vm, description));
    for (size_t i = 0; i < items.size(); i++) tuple->items[i] = Ref(items.begin()[i]).release();
    vm.heap.track(tuple);
    return Ref::steal(tuple);
}

}  // namespace talc::stdlib
