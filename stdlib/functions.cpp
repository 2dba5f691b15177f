// Builtin functions about any object: attributes, classes, characters, representations.
#include <algorithm>
#include <cstring>

#include "base/text/number_text.hpp"
#include "base/text/utf8.hpp"
#include "stdlib/support.hpp"
#include "stdlib/type_forms.hpp"
#include "vm/namespace.hpp"
#include "vm/shape.hpp"

namespace talc::stdlib {

// ---- Attributes -----------------------------------------------------------------------------------

namespace {

// The attribute, or empty; an AttributeError from inside a property counts as there being none.
Ref attribute_or_empty(Vm& vm, Value v, Str* name) {
    try {
        return find_attr(vm, v, name);
    } catch (Raised&) {
        if (!catch_raised(vm, Exc::AttributeError)) throw;
        return {};
    }
}

}  // namespace

Ref builtin_getattr(Vm& vm, const Args& args) {
    Str* name = attribute_name(vm, args[1]);
    if (!args.has(2)) return get_attr(vm, args[0], name);
    Ref found = attribute_or_empty(vm, args[0], name);
    return found ? std::move(found) : Ref(args[2]);
}

Ref builtin_hasattr(Vm& vm, const Args& args) {
    return boolean(static_cast<bool>(attribute_or_empty(vm, args[0], attribute_name(vm, args[1]))));
}

Ref builtin_setattr(Vm& vm, const Args& args) {
    set_attr(vm, args[0], attribute_name(vm, args[1]), args[2]);
    return none();
}

Ref builtin_delattr(Vm& vm, const Args& args) {
    del_attr(vm, args[0], attribute_name(vm, args[1]));
    return none();
}

namespace {

void add_names(Vm& vm, Set* names, const Namespace& rows) {
    for (uint32_t i = 0; i < rows.size; i++) {
        if (!rows.rows[i].cell->value.is_undef()) set_add(vm, names, rows.rows[i].name);
    }
}

void add_class_names(Vm& vm, Set* names, Class* cls) {
    for (; cls; cls = cls->base) {
        find_class_cell(vm, cls, vm.names.doc_);  // fills the attributes of a builtin class
        add_names(vm, names, cls->attributes);
    }
}

}  // namespace

// The names that object.__dir__ gives, in no particular order.
Ptr<List> attribute_names(Vm& vm, Value v) {
    Ptr<Set> names = make_set(vm);
    if (v.is_kind(Kind::Module)) {
        add_names(vm, names.get(), cast<Module>(v)->globals);
    } else if (is_class(v)) {
        add_class_names(vm, names.get(), cast<Class>(v));
    } else {
        add_class_names(vm, names.get(), class_of(vm, v));
        for (const char* name : {"__class__", "__doc__"}) set_add(vm, names.get(), intern(vm, name));
        if (auto* slots = class_of(vm, v)->slot_names) {
            for (Str* name : *slots) set_add(vm, names.get(), name);
        }
        if (v.is_obj() && has_slots(v.o)) {
            Slots* slots = slots_of(v.o);
            if (slots->shape->dictionary) {
                set_update(vm, names.get(), slots->values[0]);
            } else {
                for (Str* key : slots->shape->keys) set_add(vm, names.get(), key);
            }
        }
    }
    return list_from_iterable(vm, names);
}

namespace {

// The caller's local names and values; in a module its globals.
Ref local_variables(Vm& vm) {
    Frame* frame = vm.frame();
    if (!frame || !frame->code || frame->code->plain->is_module) {
        return get_attr(vm, frame && frame->code ? frame->code->module : vm.main_module, vm.names.dict_);
    }
    const lang::Code& code = *frame->code->plain;
    if (code.is_class_body) return frame->registers[0];
    Ptr<Dict> locals = make_dict(vm);
    auto add = [&](const std::string& name, Value value) {
        if (value.is_kind(Kind::Cell)) value = cast<Cell>(value)->value;
        if (!name.empty() && !value.is_undef()) dict_set(vm, locals.get(), intern(vm, name), value);
    };
    for (size_t i = 0; i < code.local_names.size(); i++) add(code.local_names[i], frame->registers[i]);
    if (frame->function && frame->function->closure) {
        for (size_t i = 0; i < code.captures.size(); i++) add(code.captures[i].name, frame->function->closure[i]);
    }
    return locals;
}

}  // namespace

Ref builtin_dir(Vm& vm, const Args& args) {
    check_count(vm, args, "dir", 0, 1);
    Ptr<List> names;
    if (args.nrest == 0) {
        names = list_from_iterable(vm, local_variables(vm));
    } else if (Value special = find_special(vm, args.rest[0], Special::Dir); !special.is_undef()) {
        names = list_from_iterable(vm, call_special(vm, special, args.rest[0]));
    } else {
        names = attribute_names(vm, args.rest[0]);
    }
    sort_list(vm, names.get(), Value::none(), false);
    return names;
}

Ref builtin_vars(Vm& vm, const Args& args) {
    if (!args.has(0)) return local_variables(vm);
    Ref dict = attribute_or_empty(vm, args[0], vm.names.dict_);
    if (!dict) raise(vm, Exc::TypeError, "vars() argument must have __dict__ attribute");
    return dict;
}

// ---- Classes --------------------------------------------------------------------------------------

namespace {

// Whether `cls` is among the classes of a class or a tuple of them, nested ones too.
template <class Test>
bool matches_class(Vm& vm, Value classes, const char* complaint, const Test& test) {
    if (is_class(classes)) return test(cast<Class>(classes));
    if (classes.is_kind(Kind::Tuple)) {
        RecursionGuard guard(vm);
        Tuple* tuple = cast<Tuple>(classes);
        for (size_t i = 0; i < tuple->size; i++) {
            if (matches_class(vm, tuple->items[i], complaint, test)) return true;
        }
        return false;
    }
    if (const std::vector<Ref>* members = union_members(vm, classes)) {
        for (const Ref& member : *members) {
            Value cls = member.is_none() ? Value(vm.classes.none_type) : member.get();
            if (matches_class(vm, cls, complaint, test)) return true;
        }
        return false;
    }
    if (is_generic_alias(vm, classes)) {
        std::string_view function = std::string_view(complaint).substr(0, std::string_view(complaint).find('('));
        raise(vm, Exc::TypeError, "{}() argument 2 cannot be a parameterized generic", function);
    }
    raise(vm, Exc::TypeError, std::string(complaint));
}

}  // namespace

namespace {

// Abstract classes decide for themselves what else is one of theirs: by __subclasshook__, or from what was registered.
bool is_taken_for(Vm& vm, Class* derived, Class* cls) {
    if (!cls->user) return false;
    Ptr<Str> hook = intern(vm, "__subclasshook__");
    if (!find_class_attr(vm, cls, hook.get()).is_kind(Kind::ClassMethod)) return false;
    if (Cell* registry = namespace_find(cls->attributes, intern(vm, "_abc_registry").get())) {
        Ref list = registry->value;
        for (size_t i = 0; list.is_kind(Kind::List) && i < cast<List>(list.get())->size; i++) {
            Value known = cast<List>(list.get())->items[i];
            if (is_class(known) && is_subclass(derived, cast<Class>(known))) return true;
        }
    }
    Ref answer = call(vm, get_attr(vm, Value::object(cls), hook.get()), Value::object(derived));
    return answer.get().is_bool() && answer.get().b;
}

}  // namespace

Ref builtin_isinstance(Vm& vm, const Args& args) {
    Value v = args[0];
    return boolean(matches_class(vm, args[1], "isinstance() arg 2 must be a type, a tuple of types, or a union", [&](Class* cls) {
        return is_instance(vm, v, cls) || is_taken_for(vm, class_of(vm, v), cls);
    }));
}

Ref builtin_issubclass(Vm& vm, const Args& args) {
    if (!is_class(args[0])) raise(vm, Exc::TypeError, "issubclass() arg 1 must be a class");
    Class* derived = cast<Class>(args[0]);
    return boolean(matches_class(vm, args[1], "issubclass() arg 2 must be a class, a tuple of classes, or a union",
                                 [&](Class* cls) { return is_subclass(derived, cls) || is_taken_for(vm, derived, cls); }));
}

// ---- Representations ------------------------------------------------------------------------------

Ref builtin_repr(Vm& vm, const Args& args) { return repr(vm, args[0]); }
Ref builtin_ascii(Vm& vm, const Args& args) { return ascii(vm, args[0]); }

Ref builtin_format(Vm& vm, const Args& args) {
    if (!is_str(args[1])) {
        raise(vm, Exc::TypeError, "format() argument 2 must be str, not {}", class_name(vm, args[1]));
    }
    return format(vm, args[0], cast<Str>(args[1])->view());
}

Ref builtin_hash(Vm& vm, const Args& args) { return integer(hash(vm, args[0])); }

Ref builtin_id(Vm&, const Args& args) {
    Value v = args[0];
    // Immediate values have no address: equal ones are identical, so the number comes from their bits.
    if (v.is_obj()) return integer(reinterpret_cast<intptr_t>(v.o));
    uint64_t bits = static_cast<uint64_t>(v.i) * 32 + static_cast<uint64_t>(v.tag) * 2 + 1;
    return integer(static_cast<int64_t>(bits & INT64_MAX));
}

Ref builtin_len(Vm& vm, const Args& args) { return integer(length(vm, args[0])); }
Ref builtin_callable(Vm& vm, const Args& args) { return boolean(is_callable(vm, args[0])); }

// ---- Characters and digits ------------------------------------------------------------------------

Ref builtin_chr(Vm& vm, const Args& args) {
    int64_t code = to_index(vm, args[0]);
    if (code < 0 || code > text::kMaxCodePoint) raise(vm, Exc::ValueError, "chr() arg not in range(0x110000)");
    return make_char(vm, static_cast<uint32_t>(code));
}

Ref builtin_ord(Vm& vm, const Args& args) {
    Value v = args[0];
    size_t count = 1;
    if (is_str(v)) {
        Str* s = cast<Str>(v);
        if (s->length == 1) {
            const char* at = s->data;
            return integer(text::decode(at, s->data + s->size));
        }
        count = s->length;
    } else if (v.is_kind(Kind::Bytes)) {
        Bytes* bytes = cast<Bytes>(v);
        if (bytes->size == 1) return integer(static_cast<unsigned char>(bytes->data[0]));
        count = bytes->size;
    } else {
        raise(vm, Exc::TypeError, "ord() expected string of length 1, but {} found", class_name(vm, v));
    }
    raise(vm, Exc::TypeError, "ord() expected a character, but string of length {} found", count);
}

namespace {

Ref prefixed(Vm& vm, Value number, unsigned base) {
    text::Buffer out;
    text::append_prefixed_int(out, to_index(vm, number), base);
    return make_str(vm, out);
}

}  // namespace

Ref builtin_bin(Vm& vm, const Args& args) { return prefixed(vm, args[0], 2); }
Ref builtin_oct(Vm& vm, const Args& args) { return prefixed(vm, args[0], 8); }
Ref builtin_hex(Vm& vm, const Args& args) { return prefixed(vm, args[0], 16); }

// ---- Leaving --------------------------------------------------------------------------------------

Ref builtin_exit(Vm& vm, const Args& args) {
    Value code = args[0];
    raise_object(vm, make_exception(vm, vm.classes.of(Exc::SystemExit), &code, code.is_none() ? 0 : 1));
}

}  // namespace talc::stdlib
