// Attributes of any value: what a.b reads, writes and deletes.
#include "base/text/suggest.hpp"
#include "vm/class.hpp"
#include "vm/namespace.hpp"
#include "vm/shape.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

// Attributes that every value has.
Ref find_common(Vm& vm, Value v, Class* cls, Str* name) {
    if (name == vm.names.class_) return Value::object(cls);
    if (name == vm.names.dict_ && v.is_obj() && has_slots(v.o) && !v.o->cls->slot_names) return slots_dict(vm, v.o);
    if (name == vm.names.doc_) return cls->doc.is_undef() ? Value::none() : cls->doc;
    if (name == vm.names.module_ && v.is_obj() && cls->module_name) return Value::object(cls->module_name);
    return {};
}

Ref find_super(Vm& vm, Super* super, Str* name) {
    Class* start = super->start->base;
    for (Class* c = start; c; c = c->base) {
        ensure_populated(vm, c);
        Cell* cell = namespace_find(c->attributes, name);
        if (!cell || cell->value.is_undef()) continue;
        bool on_class = super->self.is_kind(Kind::Class) && cast<Class>(super->self) == super->self_class;
        return bind_class_attr(vm, cell->value, on_class ? Value() : super->self, super->self_class);
    }
    return {};
}

Ref find_in_class_object(Vm& vm, Class* cls, Str* name) {
    if (Ref field = kind_ops(Kind::Class).get_attr(vm, cls, name)) return field;
    Value attribute = find_class_attr(vm, cls, name);
    if (!attribute.is_undef()) {
        // Methods of object and type found on a class: type's own win for what type defines, as mro.
        return bind_class_attr(vm, attribute, Value(), cls);
    }
    Value own = find_class_attr(vm, cls->cls, name);
    if (!own.is_undef()) return bind_class_attr(vm, own, Value::object(cls), cls->cls);
    return find_common(vm, Value::object(cls), cls->cls, name);
}

std::vector<std::string_view> attribute_names(Vm& vm, Value v) {
    std::vector<std::string_view> names;
    auto add_namespace = [&](const Namespace& table) {
        for (uint32_t i = 0; i < table.size; i++) {
            if (!table.rows[i].cell->value.is_undef()) names.push_back(table.rows[i].name->view());
        }
    };
    if (v.is_kind(Kind::Module)) add_namespace(cast<Module>(v)->globals);
    if (v.is_kind(Kind::Class)) {
        for (Class* c = cast<Class>(v); c; c = c->base) {
            ensure_populated(vm, c);
            add_namespace(c->attributes);
        }
    }
    for (Class* c = class_of(vm, v); c; c = c->base) {
        ensure_populated(vm, c);
        add_namespace(c->attributes);
    }
    if (v.is_obj()) {
        Slots* slots = slots_of(v.o);
        if (slots && slots->shape && !slots->shape->dictionary) {
            for (Str* key : slots->shape->keys) names.push_back(key->view());
        }
    }
    return names;
}

[[noreturn]] void no_attribute(Vm& vm, Value v, Str* name, bool suggest) {
    std::string message;
    if (v.is_kind(Kind::Module)) {
        message = fmt::format("module '{}' has no attribute '{}'", cast<Module>(v)->name->view(), name->view());
    } else if (v.is_kind(Kind::Class)) {
        message = fmt::format("type object '{}' has no attribute '{}'", cast<Class>(v)->name->view(), name->view());
    } else if (v.is_kind(Kind::Super)) {
        message = fmt::format("'super' object has no attribute '{}'", name->view());
    } else {
        // A method's attributes are its function's.
        Value shown = v.is_kind(Kind::BoundMethod) ? cast<BoundMethod>(v)->function : v;
        message = fmt::format("'{}' object has no attribute '{}'", class_name(vm, shown), name->view());
    }
    Ref shown = make_str(vm, message);
    Value arg = shown;
    Ptr<Exception> error = make_exception(vm, vm.classes.of(Exc::AttributeError), &arg, 1);
    slot_set(vm, error.get(), intern(vm, "name").get(), Value::object(name));
    slot_set(vm, error.get(), intern(vm, "obj").get(), v);
    if (suggest) {
        // Shown in the report of an uncaught error; str(e) stays CPython's.
        std::string_view near = text::did_you_mean(name->view(), attribute_names(vm, v));
        if (!near.empty()) error->payload = Value::object(make_str(vm, near).release());
    }
    raise_object(vm, error);
}

// object.__class__ = value: the attributes stay.
void change_class(Vm& vm, Object* object, Value value) {
    if (!value.is_kind(Kind::Class)) {
        raise(vm, Exc::TypeError, "__class__ must be set to a class, not '{}' object", class_name(vm, value));
    }
    auto* cls = cast<Class>(value);
    if (!cls->user || !object->cls->user || cls->instance_kind != object->kind) {
        raise(vm, Exc::TypeError, "__class__ assignment: '{}' object layout differs from '{}'", cls->name->view(),
              object->cls->name->view());
    }
    Slots* slots = slots_of(object);
    Shape* shape = cls->root_shape;
    if (slots->shape->dictionary) {
        if (!cls->dict_shape) cls->dict_shape = make_dict_shape(cls);
        shape = cls->dict_shape;
    } else {
        for (Str* key : slots->shape->keys) shape = shape_with(shape, key);
    }
    slots->shape = shape;
    Class* old = object->cls;
    cls->refs++;
    object->cls = cls;
    decref(static_cast<Object*>(old));
}

}  // namespace

Ref find_attr_plain(Vm& vm, Value v, Str* name) {
    if (v.is_kind(Kind::Class)) return find_in_class_object(vm, cast<Class>(v), name);
    if (v.is_kind(Kind::Module)) {
        auto* module = cast<Module>(v);
        Cell* cell = namespace_find(module->globals, name);
        if (cell && !cell->value.is_undef()) return cell->value;
        if (module->populate) {
            module->populate(vm, module, name);
            cell = namespace_find(module->globals, name);
            if (cell && !cell->value.is_undef()) return cell->value;
        }
        if (Ref field = kind_ops(Kind::Module).get_attr(vm, v.o, name)) return field;
        return find_common(vm, v, v.o->cls, name);
    }
    if (v.is_kind(Kind::Super)) {
        if (Ref found = find_super(vm, cast<Super>(v), name)) return found;
    }
    Class* cls = class_of(vm, v);
    Value attribute = find_class_attr(vm, cls, name);
    if (attribute.is_kind(Kind::Property)) {
        Value get = cast<Property>(attribute)->get;
        if (get.is_undef() || get.is_none()) {
            raise(vm, Exc::AttributeError, "property '{}' of '{}' object has no getter", name->view(), cls->name->view());
        }
        return call(vm, get, v);
    }
    if (v.is_obj()) {
        if (has_slots(v.o)) {
            Value own = slot_get(vm, v.o, name);
            if (!own.is_undef()) return own;
        }
        if (auto get = kind_ops(v.o->kind).get_attr) {
            if (Ref field = get(vm, v.o, name)) return field;
        }
    }
    if (!attribute.is_undef()) return bind_class_attr(vm, attribute, v, cls);
    return find_common(vm, v, cls, name);
}

Ref find_attr(Vm& vm, Value v, Str* name) {
    Class* cls = class_of(vm, v);
    if (cls->user) {
        Value custom = find_special(vm, cls, Special::GetAttribute);
        Value fallback = find_special(vm, cls, Special::GetAttr);
        RecursionGuard guard(vm);
        try {
            Ref found = custom.is_undef() ? find_attr_plain(vm, v, name) : call(vm, custom, v, Value::object(name));
            if (found) return found;
        } catch (Raised&) {
            Ref error = vm.take_raised();
            if (!is_instance(vm, error, vm.classes.of(Exc::AttributeError))) raise_object(vm, error);
            if (fallback.is_undef()) return {};
        }
        if (fallback.is_undef()) return {};
        try {
            return call(vm, fallback, v, Value::object(name));
        } catch (Raised&) {
            Ref error = vm.take_raised();
            if (!is_instance(vm, error, vm.classes.of(Exc::AttributeError))) raise_object(vm, error);
            return {};
        }
    }
    try {
        return find_attr_plain(vm, v, name);
    } catch (Raised&) {  // of a property's getter
        Ref error = vm.take_raised();
        if (!is_instance(vm, error, vm.classes.of(Exc::AttributeError))) raise_object(vm, error);
        return {};
    }
}

Ref get_attr(Vm& vm, Value v, Str* name) {
    Class* cls = class_of(vm, v);
    if (cls->user) {
        // The script's own AttributeError must come through as it is.
        Value custom = find_special(vm, cls, Special::GetAttribute);
        Value fallback = find_special(vm, cls, Special::GetAttr);
        if (!fallback.is_undef()) {
            RecursionGuard guard(vm);
            Ref found;
            try {
                found = custom.is_undef() ? find_attr_plain(vm, v, name) : call(vm, custom, v, Value::object(name));
            } catch (Raised&) {
                Ref error = vm.take_raised();
                if (!is_instance(vm, error, vm.classes.of(Exc::AttributeError))) raise_object(vm, error);
            }
            if (found) return found;
            return call(vm, fallback, v, Value::object(name));
        }
        if (!custom.is_undef()) {
            RecursionGuard guard(vm);
            return call(vm, custom, v, Value::object(name));
        }
    }
    Ref found = find_attr_plain(vm, v, name);
    if (!found) no_attribute(vm, v, name, true);
    return found;
}

void set_attr_plain(Vm& vm, Value v, Str* name, Value value) {
    if (v.is_kind(Kind::Class)) {
        if (!kind_ops(Kind::Class).set_attr(vm, v.o, name, value)) set_class_attr(vm, cast<Class>(v), name, value);
        return;
    }
    if (v.is_kind(Kind::Module)) {
        Cell* cell = vm.global_cell(cast<Module>(v), name);
        Value old = cell->value;
        incref(value);
        cell->value = value;
        decref(old);
        return;
    }
    Class* cls = class_of(vm, v);
    Value attribute = find_class_attr(vm, cls, name);
    if (attribute.is_kind(Kind::Property)) {
        Value set = cast<Property>(attribute)->set;
        if (set.is_undef() || set.is_none()) {
            raise(vm, Exc::AttributeError, "property '{}' of '{}' object has no setter", name->view(), cls->name->view());
        }
        call(vm, set, v, value);
        return;
    }
    if (v.is_obj()) {
        auto set = kind_ops(v.o->kind).set_attr;
        if (set && set(vm, v.o, name, value)) return;
        if (has_slots(v.o)) {
            if (name != vm.names.class_ && !may_have_attribute(cls, name)) {
                if (attribute.is_undef()) no_attribute(vm, v, name, false);
                raise(vm, Exc::AttributeError, "'{}' object attribute '{}' is read-only", cls->name->view(), name->view());
            }
            if (name == vm.names.dict_ && value.is_kind(Kind::Dict)) {
                Ptr<Dict> own = slots_dict(vm, v.o);
                Ref keep(value);
                dict_clear(vm, own.get());
                dict_update(vm, own.get(), value);
                return;
            }
            if (name == vm.names.class_) {
                change_class(vm, v.o, value);
                return;
            }
            slot_set(vm, v.o, name, value);
            return;
        }
    }
    if (v.is_obj()) {
        auto get = kind_ops(v.o->kind).get_attr;
        if (get && get(vm, v.o, name)) raise(vm, Exc::AttributeError, std::string("readonly attribute"));
    }
    if (!attribute.is_undef()) {
        raise(vm, Exc::AttributeError, "'{}' object attribute '{}' is read-only", cls->name->view(), name->view());
    }
    no_attribute(vm, v, name, false);
}

void set_attr(Vm& vm, Value v, Str* name, Value value) {
    Class* cls = class_of(vm, v);
    if (cls->user) {
        Value custom = find_special(vm, cls, Special::SetAttr);
        if (!custom.is_undef()) {
            RecursionGuard guard(vm);
            call(vm, custom, v, Value::object(name), value);
            return;
        }
    }
    set_attr_plain(vm, v, name, value);
}

void del_attr_plain(Vm& vm, Value v, Str* name) {
    if (v.is_kind(Kind::Class)) {
        auto* cls = cast<Class>(v);
        Cell* cell = namespace_find(cls->attributes, name);
        if (!cls->user || !cell || cell->value.is_undef()) no_attribute(vm, v, name, true);
        set_class_attr(vm, cls, name, Value());
        return;
    }
    if (v.is_kind(Kind::Module)) {
        Cell* cell = namespace_find(cast<Module>(v)->globals, name);
        if (!cell || cell->value.is_undef()) no_attribute(vm, v, name, true);
        Value old = cell->value;
        cell->value = Value();
        decref(old);
        return;
    }
    Value attribute = find_class_attr(vm, class_of(vm, v), name);
    if (attribute.is_kind(Kind::Property)) {
        Value del = cast<Property>(attribute)->del;
        if (del.is_undef() || del.is_none()) {
            raise(vm, Exc::AttributeError, "property '{}' of '{}' object has no deleter", name->view(), class_name(vm, v));
        }
        call(vm, del, v);
        return;
    }
    if (!v.is_obj() || !has_slots(v.o) || !slot_delete(vm, v.o, name)) no_attribute(vm, v, name, true);
}

void del_attr(Vm& vm, Value v, Str* name) {
    Class* cls = class_of(vm, v);
    if (cls->user) {
        Value custom = find_special(vm, cls, Special::DelAttr);
        if (!custom.is_undef()) {
            RecursionGuard guard(vm);
            call(vm, custom, v, Value::object(name));
            return;
        }
    }
    del_attr_plain(vm, v, name);
}

}  // namespace talc::vm
