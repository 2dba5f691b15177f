#include "vm/class.hpp"

#include <algorithm>

#include "vm/namespace.hpp"
#include "vm/shape.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

uint16_t slots_offset_for(Kind kind) {
    switch (kind) {
        case Kind::Instance: return offsetof(Instance, slots);
        case Kind::Exception: return offsetof(Exception, slots);
        case Kind::Foreign: return offsetof(Foreign, slots);
        case Kind::Function: return offsetof(Function, slots);
        case Kind::List: return sizeof(List);
        case Kind::Dict: return sizeof(Dict);
        case Kind::Set: return sizeof(Set);
        case Kind::BoxedInt: return sizeof(BoxedInt);
        case Kind::BoxedFloat: return sizeof(BoxedFloat);
        case Kind::Tuple:
        case Kind::Str:
        case Kind::Bytes: return kSlotsAtEnd;
        default: return 0;
    }
}

bool is_data_descriptor(Value v) { return v.is_kind(Kind::Property); }

// Private names are spelled in __slots__ as in the class body.
Ptr<Str> mangled(Vm& vm, const Class* cls, std::string_view name) {
    if (!name.starts_with("__") || name.ends_with("__")) return intern(vm, name);
    std::string_view owner = cls->name->view();
    owner.remove_prefix(std::min(owner.find_first_not_of('_'), owner.size()));
    return owner.empty() ? intern(vm, name) : intern(vm, fmt::format("_{}{}", owner, name));
}

// __slots__ of a class whose base has no __dict__ either: instances take these names alone.
void take_slot_names(Vm& vm, Class* cls) {
    Cell* declared = namespace_find(cls->attributes, vm.names.slots_);
    bool base_has_dict = cls->base->user ? !cls->base->slot_names : cls->base->instance_kind == Kind::Exception;
    if (!declared || base_has_dict) return;
    std::vector<Ptr<Str>> names;
    auto add = [&](Value item) {
        if (!item.is_kind(Kind::Str)) {
            raise(vm, Exc::TypeError, "__slots__ items must be strings, not '{}'", class_name(vm, item));
        }
        names.push_back(mangled(vm, cls, cast<Str>(item)->view()));
    };
    if (declared->value.is_kind(Kind::Str)) {
        add(declared->value);
    } else {
        Ref iterator = iterate(vm, declared->value);
        while (Ref item = next(vm, iterator)) add(item.get());
    }
    for (const Ptr<Str>& name : names) {
        if (name.get() == vm.names.dict_) return;
        if (namespace_find(cls->attributes, name.get())) {
            raise(vm, Exc::ValueError, "'{}' in __slots__ conflicts with class variable", name->view());
        }
    }
    cls->slot_names = new std::vector<Str*>();
    if (cls->base->slot_names) {
        for (Str* name : *cls->base->slot_names) names.push_back(Ptr<Str>(name));
    }
    for (Ptr<Str>& name : names) cls->slot_names->push_back(name.release());
}

}  // namespace

Class* make_class(Vm& vm, std::string_view name, Class* base, Kind instance_kind) {
    auto* cls = vm.heap.make<Class>(Kind::Class, vm.classes.type);
    cls->vm = &vm;
    cls->base = base;
    if (base) base->refs++;
    cls->instance_kind = instance_kind;
    cls->sealed = slots_offset_for(instance_kind) == 0 || instance_kind == Kind::Function;
    cls->slots_hint = 0;
    cls->foreign_specials = instance_kind == Kind::Foreign || instance_kind == Kind::Exception;
    cls->root_shape = make_root_shape(cls);
    Ptr<Str> interned = intern(vm, name);
    cls->name = interned.get();
    cls->qualname = interned.get();
    interned->refs++;
    (void)interned.release();
    vm.heap.track(cls);
    return cls;
}

Ptr<Class> build_class(Vm& vm, Value name, const Value* bases, size_t nbases, Dict* attributes, std::string_view qualname) {
    if (nbases > 1) {
        raise(vm, Exc::TypeError, "multiple inheritance is not in the language: class {} has {} bases",
              cast<Str>(name)->view(), nbases);
    }
    Class* base = vm.classes.object;
    if (nbases == 1) {
        if (!bases[0].is_kind(Kind::Class)) {
            raise(vm, Exc::TypeError, "the base of class {} is not a class but '{}'", cast<Str>(name)->view(),
                  class_name(vm, bases[0]));
        }
        base = cast<Class>(bases[0]);
        if (base->sealed) raise(vm, Exc::TypeError, "type '{}' is not an acceptable base type", base->name->view());
    }
    ensure_populated(vm, base);
    Ptr<Class> cls = Ptr<Class>::steal(make_class(vm, cast<Str>(name)->view(), base, base->instance_kind));
    cls->user = true;
    cls->sealed = false;
    cls->slots_offset = slots_offset_for(base->instance_kind);
    cls->slots_hint = base->slots_hint;
    cls->foreign_specials = base->foreign_specials;
    Ptr<Str> full = intern(vm, qualname);
    decref(static_cast<Object*>(cls->qualname));
    cls->qualname = full.release();
    bool has_eq = false;
    bool has_hash = false;
    for (size_t i = 0; DictEntry* entry = dict_entry(attributes, i); i++) {
        if (!entry->key.is_kind(Kind::Str)) continue;
        Ptr<Str> key = intern(vm, cast<Str>(entry->key)->view());
        if (key.get() == vm.names.qualname_) continue;
        if (key.get() == vm.names.module_) {
            if (entry->value.is_kind(Kind::Str)) {
                cls->module_name = cast<Str>(entry->value);
                cls->module_name->refs++;
            }
            continue;
        }
        if (key->view() == "__dotted__" && entry->value.is_kind(Kind::Str)) {
            cls->dotted = intern(vm, cast<Str>(entry->value)->view()).release();
            continue;
        }
        if (key.get() == vm.names.doc_) {
            cls->doc = entry->value;
            incref(cls->doc);
            continue;
        }
        has_eq |= key.get() == vm.names.special(Special::Eq);
        has_hash |= key.get() == vm.names.special(Special::Hash);
        Cell* cell = namespace_add(vm, cls->attributes, key.get());
        Value value = entry->value;
        incref(value);
        cell->value = value;
    }
    if (has_eq && !has_hash) {
        namespace_add(vm, cls->attributes, vm.names.special(Special::Hash))->value = Value::none();
    }
    // __new__ is a static method, __init_subclass__ and __class_getitem__ class methods, without being marked.
    for (Str* implied : {vm.names.special(Special::New), vm.names.init_subclass, vm.names.class_getitem}) {
        Cell* cell = namespace_find(cls->attributes, implied);
        if (!cell || !cell->value.is_kind(Kind::Function)) continue;
        Ref wrapped;
        if (implied != vm.names.special(Special::New)) {
            auto* made = vm.heap.make<ClassMethod>(Kind::ClassMethod, vm.classes.classmethod);
            made->function = cell->value;
            vm.heap.track(made);
            wrapped = Ref::steal(Value::object(made));
        } else {
            auto* made = vm.heap.make<StaticMethod>(Kind::StaticMethod, vm.classes.staticmethod);
            made->function = cell->value;
            vm.heap.track(made);
            wrapped = Ref::steal(Value::object(made));
        }
        cell->value = wrapped.release();  // took over the function's reference
    }
    take_slot_names(vm, cls.get());
    vm.class_epoch++;
    return cls;
}

void announce_subclass(Vm& vm, Class* cls, Dict* keywords) {
    Value hook = find_class_attr(vm, cls->base, vm.names.init_subclass);
    if (!hook.is_kind(Kind::ClassMethod)) {  // object's own
        if (keywords && keywords->used > 0) {
            raise(vm, Exc::TypeError, "{}.__init_subclass__() takes no keyword arguments", cls->name->view());
        }
        return;
    }
    std::vector<Value> args = {Value::object(cls)};
    std::vector<Str*> names;
    for (size_t i = 0; keywords; i++) {
        DictEntry* entry = dict_entry(keywords, i);
        if (!entry) break;
        names.push_back(cast<Str>(entry->plain_key()));
        args.push_back(entry->value);
    }
    call(vm, cast<ClassMethod>(hook)->function, args.data(), args.size(), names.data(), names.size());
}

bool may_have_attribute(const Class* cls, const Str* name) {
    return !cls->slot_names || std::find(cls->slot_names->begin(), cls->slot_names->end(), name) != cls->slot_names->end();
}

// ---- Looking up -----------------------------------------------------------------------------------

Cell* find_class_cell(Vm& vm, Class* cls, Str* name) {
    for (Class* c = cls; c; c = c->base) {
        ensure_populated(vm, c);
        Cell* cell = namespace_find(c->attributes, name);
        if (cell && !cell->value.is_undef()) return cell;
    }
    return nullptr;
}

Value find_class_attr(Vm& vm, Class* cls, Str* name) {
    Cell* cell = find_class_cell(vm, cls, name);
    return cell ? cell->value : Value();
}

void set_class_attr(Vm& vm, Class* cls, Str* name, Value value) {
    ensure_populated(vm, cls);
    Cell* cell = namespace_add(vm, cls->attributes, name);
    Value old = cell->value;
    // Caches hold the cell; they must look again only when what kind of thing is in it changes.
    bool same_sort = old.tag == value.tag && (!old.is_obj() || old.o->kind == value.o->kind);
    if (!same_sort || value.is_undef() || is_data_descriptor(value)) vm.class_epoch++;
    incref(value);
    cell->value = value;
    decref(old);
}

Value find_special(Vm& vm, Class* cls, Special special) {
    if (!cls->user && !cls->foreign_specials) return Value();
    constexpr size_t kCount = static_cast<size_t>(Special::count);
    if (!cls->specials) {
        cls->specials = static_cast<Cell**>(vm.heap.allocate(kCount * sizeof(Cell*)));
        cls->specials_epoch = 0;
    }
    if (cls->specials_epoch != vm.class_epoch) {
        for (size_t i = 0; i < kCount; i++) {
            Cell* found = nullptr;
            for (Class* c = cls; c && !found && (c->user || c->foreign_specials); c = c->base) {
                ensure_populated(vm, c);
                found = namespace_find(c->attributes, vm.names.specials[i]);
                if (found && found->value.is_undef()) found = nullptr;
            }
            cls->specials[i] = found;
        }
        cls->specials_epoch = vm.class_epoch;
    }
    Cell* cell = cls->specials[static_cast<int>(special)];
    return cell ? cell->value : Value();
}

bool is_subclass(const Class* cls, const Class* base) {
    for (; cls; cls = cls->base) {
        if (cls == base) return true;
    }
    return false;
}

bool is_instance(Vm& vm, Value v, const Class* cls) { return is_subclass(class_of(vm, v), cls); }

Ref bind_class_attr(Vm& vm, Value attribute, Value self, Class* cls) {
    if (!attribute.is_obj()) return attribute;
    switch (attribute.o->kind) {
        case Kind::Function:
            if (self.is_undef()) return attribute;
            return make_bound_method(vm, attribute, self);
        case Kind::Native:
            if (self.is_undef() || !cast<Native>(attribute)->owner) return attribute;
            return make_bound_method(vm, attribute, self);
        case Kind::StaticMethod: return cast<StaticMethod>(attribute)->function;
        case Kind::ClassMethod:
            return make_bound_method(vm, cast<ClassMethod>(attribute)->function, Value::object(cls));
        case Kind::Property: {
            if (self.is_undef()) return attribute;
            Value get = cast<Property>(attribute)->get;
            if (get.is_undef() || get.is_none()) raise(vm, Exc::AttributeError, "unreadable attribute");
            return call(vm, get, self);
        }
        default: return attribute;
    }
}

// ---- The kind -------------------------------------------------------------------------------------

void release_class(Vm& vm, Class* cls) {
    namespace_destroy(vm, cls->attributes);
    destroy_shapes(vm, cls);
    if (cls->specials) vm.heap.deallocate(cls->specials, static_cast<size_t>(Special::count) * sizeof(Cell*));
    if (cls->slot_names) {
        for (Str* name : *cls->slot_names) decref(static_cast<Object*>(name));
        delete cls->slot_names;
    }
    decref(cls->doc);
    decref(static_cast<Object*>(cls->name));
    decref(static_cast<Object*>(cls->qualname));
    if (cls->module_name) decref(static_cast<Object*>(cls->module_name));
    if (cls->dotted) decref(static_cast<Object*>(cls->dotted));
}

namespace {

void class_traverse(Object* object, Visitor& visitor) {
    auto* cls = static_cast<Class*>(object);
    namespace_traverse(cls->attributes, visitor);
    if (cls->base) visitor.visit(static_cast<Object*>(cls->base));
    visitor.visit(cls->doc);
}

void class_clear(Vm&, Object* object) { namespace_clear(static_cast<Class*>(object)->attributes); }

void class_destroy(Vm& vm, Object* object) {
    auto* cls = static_cast<Class*>(object);
    Class* base = cls->base;
    release_class(vm, cls);
    vm.class_epoch++;  // an attribute cache must not mistake a new class at this address for this one
    vm.heap.deallocate(cls, sizeof(Class));
    if (base) decref(static_cast<Object*>(base));
}

Ref class_repr(Vm& vm, Object* object) {
    auto* cls = static_cast<Class*>(object);
    if (cls->module_name && cls->module_name->view() != "builtins") {
        return make_str(vm, fmt::format("<class '{}.{}'>", cls->module_name->view(), cls->qualname->view()));
    }
    return make_str(vm, fmt::format("<class '{}'>", cls->qualname->view()));
}

Ref class_get_attr(Vm& vm, Object* object, Str* name) {
    auto* cls = static_cast<Class*>(object);
    Names& n = vm.names;
    if (name == n.name_) return Value::object(cls->name);
    if (name == n.qualname_) return Value::object(cls->qualname);
    if (name == n.doc_) return cls->doc.is_undef() ? Value::none() : cls->doc;
    if (name == n.module_) return cls->module_name ? Ref(Value::object(cls->module_name)) : Ref(make_str(vm, "builtins"));
    if (name == n.base_) return cls->base ? Value::object(cls->base) : Value::none();
    if (name == n.bases_) {
        if (!cls->base) return vm.empty_tuple;
        return make_tuple(vm, {Value::object(cls->base)});
    }
    if (name == n.mro_) {
        std::vector<Value> all;
        for (Class* c = cls; c; c = c->base) all.push_back(Value::object(c));
        return make_tuple(vm, all.data(), all.size());
    }
    if (name == n.dict_) {
        ensure_populated(vm, cls);
        Ptr<Dict> dict = make_dict(vm);
        for (uint32_t i = 0; i < cls->attributes.size; i++) {
            const Namespace::Row& row = cls->attributes.rows[i];
            if (!row.cell->value.is_undef()) dict_set(vm, dict.get(), Value::object(row.name), row.cell->value);
        }
        return dict;
    }
    return {};
}

bool class_set_attr(Vm& vm, Object* object, Str* name, Value value) {
    auto* cls = static_cast<Class*>(object);
    if (!cls->user) {
        raise(vm, Exc::TypeError, "cannot set '{}' attribute of immutable type '{}'", name->view(), cls->name->view());
    }
    if (name == vm.names.name_ || name == vm.names.qualname_) {
        Ptr<Str> text = intern(vm, to_text(vm, value, "__name__"));
        Str*& field = name == vm.names.name_ ? cls->name : cls->qualname;
        Str* old = field;
        field = text.release();
        decref(static_cast<Object*>(old));
        return true;
    }
    if (name == vm.names.doc_) {
        Value old = cls->doc;
        incref(value);
        cls->doc = value;
        decref(old);
        return true;
    }
    return false;
}

}  // namespace

const KindOps kClassOps = {
    .traverse = class_traverse,
    .clear = class_clear,
    .destroy = class_destroy,
    .repr = class_repr,
    .get_attr = class_get_attr,
    .set_attr = class_set_attr,
};

}  // namespace talc::vm
