// property, staticmethod, classmethod and super.
#include "stdlib/support.hpp"

namespace talc::stdlib {

namespace {

Value owned(Value v) { return Ref(v).release(); }

Ref make_property(Vm& vm, Value get, Value set, Value del, Value doc) {
    auto* property = vm.heap.make<Property>(Kind::Property, vm.classes.property);
    property->get = owned(get);
    property->set = owned(set);
    property->del = owned(del);
    property->doc = owned(doc);
    vm.heap.track(property);
    return Ref::steal(property);
}

Property* self(const Args& args) { return cast<Property>(args[0]); }

}  // namespace

Ref property_new(Vm& vm, const Args& args) { return make_property(vm, args[1], args[2], args[3], args[4]); }

Ref property_getter(Vm& vm, const Args& args) {
    return make_property(vm, args[1], self(args)->set, self(args)->del, self(args)->doc);
}
Ref property_setter(Vm& vm, const Args& args) {
    return make_property(vm, self(args)->get, args[1], self(args)->del, self(args)->doc);
}
Ref property_deleter(Vm& vm, const Args& args) {
    return make_property(vm, self(args)->get, self(args)->set, args[1], self(args)->doc);
}

Ref staticmethod_new(Vm& vm, const Args& args) {
    auto* method = vm.heap.make<StaticMethod>(Kind::StaticMethod, vm.classes.staticmethod);
    method->function = owned(args[1]);
    vm.heap.track(method);
    return Ref::steal(method);
}

Ref method_new(Vm& vm, const Args& args) {
    if (!is_callable(vm, args[1])) raise(vm, Exc::TypeError, "first argument must be callable");
    if (args[2].is_none()) raise(vm, Exc::TypeError, "instance must not be None");
    return make_bound_method(vm, args[1], args[2]);
}

Ref classmethod_new(Vm& vm, const Args& args) {
    auto* method = vm.heap.make<ClassMethod>(Kind::ClassMethod, vm.classes.classmethod);
    method->function = owned(args[1]);
    vm.heap.track(method);
    return Ref::steal(method);
}

// super() without arguments is an instruction of its own; this is the form with two.
Ref super_new(Vm& vm, const Args& args) {
    check_count(vm, args, "super", 0, 2);
    if (args.nrest == 0) raise(vm, Exc::RuntimeError, "super(): no arguments");
    if (!is_class(args.rest[0])) {
        raise(vm, Exc::TypeError, "super() argument 1 must be a type, not {}", class_name(vm, args.rest[0]));
    }
    if (args.nrest == 1) raise(vm, Exc::TypeError, "super(type) without an object is not in the language");
    Class* start = cast<Class>(args.rest[0]);
    Value object = args.rest[1];
    Class* object_class = nullptr;
    if (is_class(object) && is_subclass(cast<Class>(object), start)) {
        object_class = cast<Class>(object);
    } else if (is_instance(vm, object, start)) {
        object_class = class_of(vm, object);
    } else {
        raise(vm, Exc::TypeError, "super(type, obj): obj must be an instance or subtype of type");
    }
    auto* made = vm.heap.make<Super>(Kind::Super, vm.classes.super);
    made->start = Ptr<Class>(start).release();
    made->self = owned(object);
    made->self_class = Ptr<Class>(object_class).release();
    vm.heap.track(made);
    return Ref::steal(made);
}

}  // namespace talc::stdlib
