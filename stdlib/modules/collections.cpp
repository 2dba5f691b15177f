// collections: what Counter and namedtuple do often. The classes themselves are in collections.tc.
#include "stdlib/modules.hpp"
#include "stdlib/support.hpp"
#include "vm/class.hpp"
#include "vm/containers.hpp"
#include "vm/shape.hpp"

namespace talc::stdlib {

vm::Class* deque_class(Vm& vm);

namespace {

struct FieldIndex {
    size_t at;
};

Ref get_field(Vm& vm, const Args& args) {
    size_t at = static_cast<FieldIndex*>(args.state)->at;
    if (!args[0].is_kind(Kind::Tuple) || at >= cast<Tuple>(args[0])->size) raise(vm, Exc::IndexError, "tuple index out of range");
    return cast<Tuple>(args[0])->items[at];
}

Ref set_field(Vm& vm, const Args&) { raise(vm, Exc::AttributeError, "can't set attribute"); }
Ref delete_field(Vm& vm, const Args&) { raise(vm, Exc::AttributeError, "can't delete attribute"); }

constexpr NativeRow kSetRow = {"", "field", "(self, value, /)", Effect::pure, Record::opaque, set_field, "An item of the tuple."};
constexpr NativeRow kDeleteRow = {"", "field", "(self, /)", Effect::pure, Record::opaque, delete_field, "An item of the tuple."};
constexpr NativeRow kFieldRow = {"", "field", "(self, /)", Effect::pure, Record::opaque, get_field, "An item of the tuple."};

}  // namespace

void fill_collections(Vm& vm, Module* module) {
    Class* deque = deque_class(vm);
    ensure_populated(vm, deque);
    set_class_attr(vm, deque, vm.names.special(Special::Hash), Value::none());
    set_value(vm, module, "deque", deque);
}

Ref collections_count_elements(Vm& vm, const Args& args) {
    if (!args[0].is_kind(Kind::Dict)) raise(vm, Exc::TypeError, "a dict is required, not '{}'", class_name(vm, args[0]));
    auto* dict = cast<Dict>(args[0]);
    walk(vm, args[1], [&](Value item) {
        int64_t hash = hash_key(vm, item);
        DictEntry* entry = dict_find(vm, dict, item, hash);
        if (entry && entry->value.is_int() && entry->value.i < INT64_MAX) {
            entry->value.i++;
        } else if (entry) {
            Ref sum = binary(vm, BinaryOp::Add, Ref(entry->value), Value::integer(1));
            dict_set(vm, dict, item, hash, sum);
        } else {
            dict_set(vm, dict, item, hash, Value::integer(1));
        }
        return true;
    });
    return none();
}

Ref collections_field(Vm& vm, const Args& args) {
    Ptr<Native> get = make_native(vm, &kFieldRow, nullptr);
    get->state = std::make_shared<FieldIndex>(FieldIndex{static_cast<size_t>(to_index(vm, args[0]))});
    auto* property = vm.heap.make<Property>(Kind::Property, vm.classes.property);
    property->get = Value::object(get.release());
    property->set = Value::object(make_native(vm, &kSetRow, nullptr).release());
    property->del = Value::object(make_native(vm, &kDeleteRow, nullptr).release());
    property->doc = Ref(args[1]).release();
    vm.heap.track(property);
    return Ref::steal(property);
}

// All fields by position: a tuple at once. What else there may be is for _new_with in collections.tc.
Ref collections_new_tuple(Vm& vm, const Args& args) {
    if (!is_class(args[0])) raise(vm, Exc::TypeError, "a class is required, not '{}'", class_name(vm, args[0]));
    auto* cls = cast<Class>(args[0]);
    Ref fields = find_class_attr(vm, cls, intern(vm, "_fields").get());
    bool plain = fields.is_kind(Kind::Tuple) && args.nkeywords == 0 && args.nrest == cast<Tuple>(fields.get())->size;
    if (plain && is_subclass(cls, vm.classes.tuple)) {
        Tuple* tuple = make_raw_tuple(vm, args.nrest, cls);
        for (size_t i = 0; i < args.nrest; i++) tuple->items[i] = Ref(args.rest[i]).release();
        vm.heap.track(tuple);
        return Ref::steal(tuple);
    }
    Ref slow = get_attr(vm, args[0], intern(vm, "_new_with").get());
    std::vector<Value> all(args.rest, args.rest + args.nrest);
    all.insert(all.end(), args.keyword_values, args.keyword_values + args.nkeywords);
    return call(vm, slow, all.data(), all.size(), args.keyword_names, args.nkeywords);
}

}  // namespace talc::stdlib
