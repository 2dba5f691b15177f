// keys(), values() and items() of a dict: live, and (but for values) comparable and combinable as sets.
#include "base/text/hash.hpp"
#include "vm/containers.hpp"
#include "vm/format.hpp"
#include "vm/text_out.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

Ptr<DictView> make_dict_view(Vm& vm, Dict* dict, ViewOf what) {
    Class* cls = what == ViewOf::Keys     ? vm.classes.dict_keys
                 : what == ViewOf::Values ? vm.classes.dict_values
                                          : vm.classes.dict_items;
    auto view = Ptr<DictView>::steal(vm.heap.make<DictView>(Kind::DictView, cls));
    view->dict = dict;
    view->what = what;
    dict->refs++;
    vm.heap.track(view.get());
    return view;
}

namespace {

bool is_set_like(Value v) {
    return is_set(v) || (v.is_kind(Kind::DictView) && cast<DictView>(v)->what != ViewOf::Values);
}

int64_t size_of(Value v) {
    return static_cast<int64_t>(is_set(v) ? cast<Set>(v)->used : cast<DictView>(v)->dict->used);
}

bool all_in(Vm& vm, Value items, Value container) {
    Ref iterator = iterate(vm, items);
    while (Ref item = next(vm, iterator)) {
        if (!contains(vm, container, item)) return false;
    }
    return true;
}

// The walks below are those of CPython, so that results have its order.
Ref intersection(Vm& vm, Value view, Value other) {
    int64_t size = size_of(view);
    if (is_set(other) && other.o->cls == vm.classes.set && size <= size_of(other)) {
        return set_intersection(vm, cast<Set>(other), view);
    }
    if (other.is_kind(Kind::DictView) && is_set_like(other) && size_of(other) > size) std::swap(view, other);
    Ptr<Set> out = make_set(vm);
    Ref iterator = iterate(vm, other);
    while (Ref item = next(vm, iterator)) {
        if (contains(vm, view, item)) set_add(vm, out.get(), item);
    }
    return out;
}

Ptr<Set> as_set(Vm& vm, Value v) {
    if (v.is_kind(Kind::DictView) && cast<DictView>(v)->what == ViewOf::Keys) {
        return set_from_iterable(vm, Value::object(cast<DictView>(v)->dict), false);
    }
    return set_from_iterable(vm, v, false);
}

}  // namespace

Ref dict_view_binary(Vm& vm, BinaryOp op, Value a, Value b) {
    bool left = a.is_kind(Kind::DictView) && is_set_like(a);
    bool right = b.is_kind(Kind::DictView) && is_set_like(b);
    if (!left && !right) return {};
    switch (op) {
        case BinaryOp::And:
            return left ? intersection(vm, a, b) : intersection(vm, b, a);
        case BinaryOp::Or: {
            Ptr<Set> out = as_set(vm, a);
            set_update(vm, out.get(), b);
            return out;
        }
        case BinaryOp::Sub: {
            Ptr<Set> out = as_set(vm, a);
            set_difference_update(vm, out.get(), b);
            return out;
        }
        case BinaryOp::Xor: {
            Ptr<Set> out = as_set(vm, a);
            set_symmetric_difference_update(vm, out.get(), b);
            return out;
        }
        default: return {};
    }
}

namespace {

void drop_dict(DictView* view) {
    if (Dict* dict = std::exchange(view->dict, nullptr)) decref(static_cast<Object*>(dict));
}

void traverse(Object* object, Visitor& visitor) {
    if (Dict* dict = cast<DictView>(object)->dict) visitor.visit(static_cast<Object*>(dict));
}

// The dict itself breaks the cycle when it is cleared; a view without a dict would not be valid.
void clear(Vm&, Object*) {}

void destroy(Vm& vm, Object* object) {
    drop_dict(cast<DictView>(object));
    vm.heap.deallocate(object, sizeof(DictView));
}

Ref repr_of(Vm& vm, Object* object) {
    ReprScope scope(vm, object);
    if (scope.nested()) return make_str(vm, "...");
    text::Buffer out(text_limit(vm));
    out += class_name(vm, object);
    out += '(';
    append_repr(vm, out, list_from_iterable(vm, object));
    out += ')';
    return make_str(vm, out.view());
}

int64_t hash_of(Vm& vm, Object* object) {
    if (cast<DictView>(object)->what == ViewOf::Values) return text::hash_pointer(object);
    raise(vm, Exc::TypeError, "unhashable type: '{}'", class_name(vm, object));
}

int64_t length_of(Vm&, Object* object) { return static_cast<int64_t>(cast<DictView>(object)->dict->used); }

Ref compare_with(Vm& vm, CompareOp op, Object* object, Value other) {
    Value self = Value::object(object);
    if (!is_set_like(self) || !is_set_like(other)) return {};
    int64_t size = size_of(self);
    int64_t other_size = size_of(other);
    bool result = false;
    switch (op) {
        case CompareOp::Eq:
        case CompareOp::Ne: result = (size == other_size && all_in(vm, self, other)) == (op == CompareOp::Eq); break;
        case CompareOp::Lt: result = size < other_size && all_in(vm, self, other); break;
        case CompareOp::Le: result = size <= other_size && all_in(vm, self, other); break;
        case CompareOp::Gt: result = size > other_size && all_in(vm, other, self); break;
        case CompareOp::Ge: result = size >= other_size && all_in(vm, other, self); break;
    }
    return Value::boolean(result);
}

bool contains_item(Vm& vm, Object* object, Value item) {
    auto* view = cast<DictView>(object);
    Ref keep(static_cast<Object*>(view->dict));
    if (view->what == ViewOf::Keys) return !dict_get(vm, view->dict, item).is_undef();
    if (view->what == ViewOf::Items) {
        if (!item.is_kind(Kind::Tuple) || cast<Tuple>(item)->size != 2) return false;
        Ref value(dict_get(vm, view->dict, cast<Tuple>(item)->items[0]));
        return value && equals(vm, value, cast<Tuple>(item)->items[1]);
    }
    Ref iterator = make_dict_iterator(vm, view->dict, ViewOf::Values);
    while (Ref value = next(vm, iterator)) {
        if (equals(vm, value, item)) return true;
    }
    return false;
}

Ref iterate_over(Vm& vm, Object* object) {
    auto* view = cast<DictView>(object);
    return make_dict_iterator(vm, view->dict, view->what);
}

}  // namespace

const KindOps kDictViewOps = {
    .traverse = traverse,
    .clear = clear,
    .destroy = destroy,
    .repr = repr_of,
    .hash = hash_of,
    .length = length_of,
    .compare = compare_with,
    .contains = contains_item,
    .iterate = iterate_over,
};

}  // namespace talc::vm
