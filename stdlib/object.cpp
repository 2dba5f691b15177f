// object and type: what every class inherits.
#include "base/text/hash.hpp"
#include "stdlib/support.hpp"
#include "vm/class.hpp"

namespace talc::stdlib {

Ptr<List> attribute_names(Vm& vm, Value v);  // functions.cpp

namespace {

// Whether the class still has object's own method of this name.
bool has_plain(Vm& vm, Class* cls, Special special) {
    Value method = find_class_attr(vm, cls, vm.names.special(special));
    if (method.is_kind(Kind::StaticMethod)) method = cast<StaticMethod>(method)->function;
    return method.is_kind(Kind::Native) && cast<Native>(method)->owner == vm.classes.object;
}

}  // namespace

Ref object_new(Vm& vm, const Args& args) {
    Class* cls = class_to_make(vm, args[0], vm.classes.object);
    if (args.nrest + args.nkeywords > 0) {
        if (!has_plain(vm, cls, Special::New)) {
            raise(vm, Exc::TypeError, "object.__new__() takes exactly one argument (the type to instantiate)");
        }
        if (has_plain(vm, cls, Special::Init)) raise(vm, Exc::TypeError, "{}() takes no arguments", cls->name->view());
    }
    if (cls->instance_kind != Kind::Instance) {
        Class* base = cls;
        while (base->user) base = base->base;
        raise(vm, Exc::TypeError, "object.__new__({}) is not safe, use {}.__new__()", cls->name->view(), base->name->view());
    }
    return allocate_instance(vm, cls);
}

Ref object_init(Vm& vm, const Args& args) {
    if (args.nrest + args.nkeywords == 0) return none();
    Class* cls = class_of(vm, args[0]);
    if (!has_plain(vm, cls, Special::Init)) {
        raise(vm, Exc::TypeError, "object.__init__() takes exactly one argument (the instance to initialize)");
    }
    if (has_plain(vm, cls, Special::New)) {
        raise(vm, Exc::TypeError, "{}.__init__() takes exactly one argument (the instance to initialize)", cls->name->view());
    }
    return none();
}

// ---- Representation and comparison ----------------------------------------------------------------

Ref object_repr(Vm& vm, const Args& args) {
    Value v = args[0];
    if (!v.is_obj()) return repr(vm, v);
    if (is_class(v) || v.is_kind(Kind::Module) || v.is_kind(Kind::Function)) return ops_of(v).repr(vm, v.o);
    return make_str(vm, fmt::format("<{} object at {}>", full_class_name(v.o->cls), static_cast<void*>(v.o)));
}

Ref object_str(Vm& vm, const Args& args) { return repr(vm, args[0]); }

Ref object_format(Vm& vm, const Args& args) {
    if (!to_text(vm, args[1], "__format__() argument").empty()) {
        raise(vm, Exc::TypeError, "unsupported format string passed to {}.__format__", class_name(vm, args[0]));
    }
    return to_str(vm, args[0]);
}

Ref object_eq(Vm& vm, const Args& args) {
    if (args[0].same(args[1])) return boolean(true);
    if (!args[0].is_obj()) return compare(vm, CompareOp::Eq, args[0], args[1]);
    return not_implemented();
}

Ref object_ne(Vm& vm, const Args& args) {
    Value special = find_special(vm, args[0], Special::Eq);
    Ref equal;
    if (!special.is_undef()) {
        equal = call_special(vm, special, args[0], args[1]);
    } else {
        equal = object_eq(vm, args);
    }
    if (equal.get().tag == Tag::NotImplemented) return equal;
    return boolean(!truth(vm, equal));
}

Ref object_order(Vm&, const Args&) { return not_implemented(); }

Ref object_hash(Vm& vm, const Args& args) {
    Value v = args[0];
    if (!v.is_obj()) return integer(hash(vm, v));
    if (auto kind_hash = ops_of(v).hash) return integer(kind_hash(vm, v.o));
    return integer(text::hash_pointer(v.o));
}

// ---- Attributes -----------------------------------------------------------------------------------

Ref object_getattribute(Vm& vm, const Args& args) {
    Str* name = attribute_name(vm, args[1]);
    if (Ref found = find_attr_plain(vm, args[0], name)) return found;
    raise(vm, Exc::AttributeError, "'{}' object has no attribute '{}'", class_name(vm, args[0]), name->view());
}

Ref object_setattr(Vm& vm, const Args& args) {
    set_attr_plain(vm, args[0], attribute_name(vm, args[1]), args[2]);
    return none();
}

Ref object_delattr(Vm& vm, const Args& args) {
    del_attr_plain(vm, args[0], attribute_name(vm, args[1]));
    return none();
}

Ref object_dir(Vm& vm, const Args& args) { return attribute_names(vm, args[0]); }

Ref object_init_subclass(Vm& vm, const Args& args) {
    if (args.nkeywords > 0) {
        raise(vm, Exc::TypeError, "{}.__init_subclass__() takes no keyword arguments", cast<Class>(args[0])->name->view());
    }
    return none();
}

// ---- type -----------------------------------------------------------------------------------------

Ref type_new(Vm& vm, const Args& args) {
    if (args.nrest == 1 && args.nkeywords == 0) return class_of(vm, args.rest[0]);
    if (args.nrest != 3) raise(vm, Exc::TypeError, "type() takes 1 or 3 arguments");
    constexpr Kind kKinds[] = {Kind::Str, Kind::Tuple, Kind::Dict};
    constexpr const char* kNames[] = {"str", "tuple", "dict"};
    for (size_t i = 0; i < 3; i++) {
        if (args.rest[i].is_kind(kKinds[i])) continue;
        raise(vm, Exc::TypeError, "type.__new__() argument {} must be {}, not {}", i + 1, kNames[i], class_name(vm, args.rest[i]));
    }
    Tuple* bases = cast<Tuple>(args.rest[1]);
    Ptr<Dict> attributes = dict_copy(vm, cast<Dict>(args.rest[2]));
    Frame* frame = vm.frame();
    if (dict_get(vm, attributes.get(), vm.names.module_).is_undef() && frame && frame->code) {
        dict_set(vm, attributes.get(), vm.names.module_, frame->code->module->name);
    }
    Str* name = cast<Str>(args.rest[0]);
    Ptr<Class> cls = build_class(vm, name, bases->items, bases->size, attributes.get(), name->view());
    Ptr<Dict> keywords = make_dict(vm);
    for (size_t i = 0; i < args.nkeywords; i++) dict_set(vm, keywords.get(), args.keyword_names[i], args.keyword_values[i]);
    announce_subclass(vm, cls.get(), keywords.get());
    return cls;
}

Ref type_mro(Vm& vm, const Args& args) {
    Ptr<List> classes = make_list(vm);
    for (Class* cls = cast<Class>(args[0]); cls; cls = cls->base) list_append(vm, classes.get(), Value(cls));
    return classes;
}

// x.__call__(...) of functions, methods and classes.
Ref any_call(Vm& vm, const Args& args) {
    std::vector<Value> all(args.rest, args.rest + args.nrest);
    all.insert(all.end(), args.keyword_values, args.keyword_values + args.nkeywords);
    return call(vm, args[0], all.data(), all.size(), args.keyword_names, args.nkeywords);
}

}  // namespace talc::stdlib
