#include "vm/protocol.hpp"

#include <cmath>

#include "base/text/buffer.hpp"
#include "base/text/hash.hpp"
#include "base/text/number_text.hpp"
#include "base/text/repr.hpp"
#include "vm/class.hpp"
#include "vm/namespace.hpp"
#include "vm/tensor.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

// ---- Classes --------------------------------------------------------------------------------------

Class* class_of(Vm& vm, Value v) {
    switch (v.tag) {
        case Tag::Obj: return v.o->cls;
        case Tag::Int: return vm.classes.int_;
        case Tag::Float: return vm.classes.float_;
        case Tag::Bool: return vm.classes.bool_;
        case Tag::None: return vm.classes.none_type;
        case Tag::NotImplemented: return vm.classes.not_implemented_type;
        case Tag::Ellipsis: return vm.classes.ellipsis_type;
        case Tag::Undef: break;
    }
    return vm.classes.object;
}

std::string_view class_name(Vm& vm, Value v) {
    Class* cls = class_of(vm, v);
    return cls->dotted ? cls->dotted->view() : cls->name->view();
}

RecursionGuard::RecursionGuard(Vm& v) : vm(v) {
    vm.check_stack();
    vm.tick(1);  // what is nested can branch at every level
}
RecursionGuard::~RecursionGuard() = default;

// ---- Truth, comparison, hash ----------------------------------------------------------------------

bool truth(Vm& vm, Value v) {
    switch (v.tag) {
        case Tag::Bool: return v.b;
        case Tag::None:
        case Tag::Undef: return false;
        case Tag::Int: return v.i != 0;
        case Tag::Float: return v.f != 0;
        case Tag::NotImplemented:
        case Tag::Ellipsis: return true;
        case Tag::Obj: break;
    }
    Object* object = v.o;
    if (object->cls->user || object->cls->foreign_specials) {
        Value method = find_special(vm, object->cls, Special::Bool);
        if (!method.is_undef()) {
            Ref result = call_special(vm, method, v);
            if (!result.get().is_bool()) {
                raise(vm, Exc::TypeError, "__bool__ should return bool, returned {}", class_name(vm, result));
            }
            return result.get().b;
        }
        method = find_special(vm, object->cls, Special::Len);
        if (!method.is_undef()) return length(vm, v) != 0;
    }
    const KindOps& ops = kind_ops(object->kind);
    if (ops.truth) return ops.truth(vm, object);
    if (ops.length) return ops.length(vm, object) != 0;
    return true;
}

namespace {

constexpr const char* kCompareText[] = {"==", "!=", "<", "<=", ">", ">="};
constexpr Special kCompareSpecial[] = {Special::Eq, Special::Ne, Special::Lt, Special::Le, Special::Gt, Special::Ge};
constexpr CompareOp kMirror[] = {CompareOp::Eq, CompareOp::Ne, CompareOp::Gt, CompareOp::Ge, CompareOp::Lt, CompareOp::Le};

template <class T>
bool compare_plain(CompareOp op, T a, T b) {
    switch (op) {
        case CompareOp::Eq: return a == b;
        case CompareOp::Ne: return a != b;
        case CompareOp::Lt: return a < b;
        case CompareOp::Le: return a <= b;
        case CompareOp::Gt: return a > b;
        case CompareOp::Ge: return a >= b;
    }
    return false;
}

// An int against a float, exactly: -1, 0, 1; 2 when the float is NaN.
int order_int_float(int64_t a, double b) {
    if (std::isnan(b)) return 2;
    if (b >= 9223372036854775808.0) return -1;
    if (b < -9223372036854775808.0) return 1;
    auto whole = static_cast<int64_t>(b);
    if (a != whole) return a < whole ? -1 : 1;
    double rest = b - static_cast<double>(whole);
    return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}

bool number_parts(Value v, bool& is_float, int64_t& i, double& f) {
    if (v.is_int()) {
        is_float = false;
        i = v.i;
        return true;
    }
    if (v.is_float()) {
        is_float = true;
        f = v.f;
        return true;
    }
    if (v.is_bool()) {
        is_float = false;
        i = v.b;
        return true;
    }
    if (v.is_kind(Kind::BoxedInt)) {
        is_float = false;
        i = cast<BoxedInt>(v)->value;
        return true;
    }
    if (v.is_kind(Kind::BoxedFloat)) {
        is_float = true;
        f = cast<BoxedFloat>(v)->value;
        return true;
    }
    return false;
}

// Undef: not two numbers.
Value compare_numbers(CompareOp op, Value a, Value b) {
    bool a_float, b_float;
    int64_t ai = 0, bi = 0;
    double af = 0, bf = 0;
    if (!number_parts(a, a_float, ai, af) || !number_parts(b, b_float, bi, bf)) return Value();
    if (!a_float && !b_float) return Value::boolean(compare_plain(op, ai, bi));
    if (a_float && b_float) return Value::boolean(compare_plain(op, af, bf));
    int order = a_float ? order_int_float(bi, af) : order_int_float(ai, bf);
    if (order == 2) return Value::boolean(op == CompareOp::Ne);
    if (a_float) order = -order;
    return Value::boolean(compare_plain(op, order, 0));
}

// What a's side says; empty: NotImplemented.
Ref compare_side(Vm& vm, CompareOp op, Value a, Value b) {
    if (!a.is_obj()) return {};
    Class* cls = a.o->cls;
    if (cls->user || cls->foreign_specials) {
        Value method = find_special(vm, cls, kCompareSpecial[static_cast<int>(op)]);
        if (!method.is_undef() && !method.is_none()) {
            Ref result = call_special(vm, method, a, b);
            return result.get().tag == Tag::NotImplemented ? Ref() : result;
        }
        if (op == CompareOp::Ne) {
            method = find_special(vm, cls, Special::Eq);
            if (!method.is_undef() && !method.is_none()) {
                Ref result = call_special(vm, method, a, b);
                if (result.get().tag == Tag::NotImplemented) return {};
                return Value::boolean(!truth(vm, result));
            }
        }
    }
    if (auto compare = kind_ops(a.o->kind).compare) return compare(vm, op, a.o, b);
    return {};
}

}  // namespace

Ref compare(Vm& vm, CompareOp op, Value a, Value b) {
    bool plain = (!a.is_obj() || !a.o->cls->user) && (!b.is_obj() || !b.o->cls->user);
    if (plain) {
        Value result = compare_numbers(op, a, b);
        if (!result.is_undef()) return result;
    }
    if (is_tensor(a) || is_tensor(b)) {
        if (Ref result = tensor_compare(vm, op, a, b)) return result;
    }
    if (a.is_obj() || b.is_obj()) {
        RecursionGuard guard(vm);
        CompareOp mirrored = kMirror[static_cast<int>(op)];
        bool b_first = a.is_obj() && b.is_obj() && a.o->cls != b.o->cls && is_subclass(b.o->cls, a.o->cls);
        if (b_first) {
            if (Ref result = compare_side(vm, mirrored, b, a)) return result;
        }
        if (Ref result = compare_side(vm, op, a, b)) return result;
        if (!b_first) {
            if (Ref result = compare_side(vm, mirrored, b, a)) return result;
        }
        Value result = compare_numbers(op, a, b);
        if (!result.is_undef()) return result;
    }
    if (op == CompareOp::Eq) return Value::boolean(a.same(b));
    if (op == CompareOp::Ne) return Value::boolean(!a.same(b));
    raise(vm, Exc::TypeError, "'{}' not supported between instances of '{}' and '{}'", kCompareText[static_cast<int>(op)],
          class_name(vm, a), class_name(vm, b));
}

bool compare_bool(Vm& vm, CompareOp op, Value a, Value b) {
    Ref result = compare(vm, op, a, b);
    return result.get().is_bool() ? result.get().b : truth(vm, result);
}

bool equals(Vm& vm, Value a, Value b) {
    if (a.tag == b.tag) {
        switch (a.tag) {
            case Tag::Int: return a.i == b.i;
            case Tag::Float: return a.f == b.f || a.same(b);  // the same NaN is found in a list
            case Tag::Obj: {
                if (a.o == b.o) return true;
                if (a.o->kind == Kind::Str && b.o->kind == Kind::Str && !a.o->cls->user && !b.o->cls->user) {
                    auto* s = cast<Str>(a);
                    auto* t = cast<Str>(b);
                    if ((s->flags & t->flags & kInterned) != 0) return false;
                    return s->size == t->size && __builtin_memcmp(s->data, t->data, s->size) == 0;
                }
                break;
            }
            default: return a.i == b.i;
        }
    }
    return compare_bool(vm, CompareOp::Eq, a, b);
}

int64_t hash(Vm& vm, Value v) {
    switch (v.tag) {
        case Tag::Int: return text::hash_int(v.i);
        case Tag::Float: return text::hash_float(v.f);
        case Tag::Bool: return v.b;
        case Tag::Obj: break;
        default: return 0x51ED27 + static_cast<int64_t>(v.tag);
    }
    Object* object = v.o;
    if (object->kind == Kind::Str && !object->cls->user) return str_hash(static_cast<Str*>(object));
    if (object->cls->user || object->cls->foreign_specials) {
        Value method = find_special(vm, object->cls, Special::Hash);
        if (method.is_none()) raise(vm, Exc::TypeError, "unhashable type: '{}'", class_name(vm, v));
        if (!method.is_undef()) {
            RecursionGuard guard(vm);
            Ref result = call_special(vm, method, v);
            if (!is_integer(result)) raise(vm, Exc::TypeError, "__hash__ method should return an integer");
            int64_t value = int_value(result);
            return value == -1 ? -2 : value;
        }
    }
    if (auto kind_hash = kind_ops(object->kind).hash) {
        RecursionGuard guard(vm);
        return kind_hash(vm, object);
    }
    return text::hash_pointer(object);
}

// ---- Text -----------------------------------------------------------------------------------------

namespace {

Ptr<Str> checked_str(Vm& vm, Ref result, const char* method) {
    if (!result.is_kind(Kind::Str)) {
        raise(vm, Exc::TypeError, "{} returned non-string (type {})", method, class_name(vm, result));
    }
    return Ptr<Str>::steal(cast<Str>(result.release()));
}

std::string default_repr(Vm& vm, Object* object) {
    Class* cls = object->cls;
    (void)vm;
    if (cls->module_name) {
        return fmt::format("<{}.{} object at {}>", cls->module_name->view(), cls->qualname->view(), static_cast<void*>(object));
    }
    return fmt::format("<{} object at {}>", cls->qualname->view(), static_cast<void*>(object));
}

}  // namespace

Ptr<Str> repr(Vm& vm, Value v) {
    switch (v.tag) {
        case Tag::None: return make_str(vm, "None");
        case Tag::Bool: return make_str(vm, v.b ? "True" : "False");
        case Tag::NotImplemented: return make_str(vm, "NotImplemented");
        case Tag::Ellipsis: return make_str(vm, "Ellipsis");
        case Tag::Undef: return make_str(vm, "<unbound>");
        case Tag::Int: {
            char buffer[text::kIntChars];
            return make_ascii_str(vm, {buffer, text::write_int(buffer, v.i)});
        }
        case Tag::Float: {
            char buffer[text::kFloatChars];
            return make_ascii_str(vm, {buffer, text::write_float_repr(buffer, v.f)});
        }
        case Tag::Obj: break;
    }
    RecursionGuard guard(vm);
    Class* cls = v.o->cls;
    if (cls->user || cls->foreign_specials) {
        Value method = find_special(vm, cls, Special::Repr);
        if (!method.is_undef()) return checked_str(vm, call_special(vm, method, v), "__repr__");
    }
    if (auto kind_repr = kind_ops(v.o->kind).repr) return checked_str(vm, kind_repr(vm, v.o), "__repr__");
    return make_str(vm, default_repr(vm, v.o));
}

Ptr<Str> to_str(Vm& vm, Value v) {
    if (!v.is_obj()) return repr(vm, v);
    Class* cls = v.o->cls;
    if (v.o->kind == Kind::Str && !cls->user) return Ptr<Str>(cast<Str>(v));
    if (cls->user || cls->foreign_specials) {
        RecursionGuard guard(vm);
        Value method = find_special(vm, cls, Special::Str);
        if (!method.is_undef()) return checked_str(vm, call_special(vm, method, v), "__str__");
        method = find_special(vm, cls, Special::Repr);
        if (!method.is_undef() && v.o->kind != Kind::Str) return repr(vm, v);
    }
    if (auto kind_str = kind_ops(v.o->kind).str) return checked_str(vm, kind_str(vm, v.o), "__str__");
    return repr(vm, v);
}

Ptr<Str> ascii(Vm& vm, Value v) {
    Ptr<Str> plain = repr(vm, v);
    if (plain->ascii()) return plain;
    text::Buffer out;
    text::append_ascii_escaped(out, plain->view());
    return make_str(vm, out.view());
}

// ---- Containers -----------------------------------------------------------------------------------

int64_t length(Vm& vm, Value v) {
    if (v.is_obj()) {
        Class* cls = v.o->cls;
        if (cls->user || cls->foreign_specials) {
            Value method = find_special(vm, cls, Special::Len);
            if (!method.is_undef()) {
                Ref result = call_special(vm, method, v);
                int64_t n = to_index(vm, result);
                if (n < 0) raise(vm, Exc::ValueError, "__len__() should return >= 0");
                return n;
            }
        }
        if (auto kind_length = kind_ops(v.o->kind).length) return kind_length(vm, v.o);
    }
    raise(vm, Exc::TypeError, "object of type '{}' has no len()", class_name(vm, v));
}

Ref get_item(Vm& vm, Value v, Value key) {
    if (v.is_obj()) {
        Class* cls = v.o->cls;
        if (cls->user || cls->foreign_specials) {
            Value method = find_special(vm, cls, Special::GetItem);
            if (!method.is_undef()) return call_special(vm, method, v, key);
            if (v.o->kind == Kind::Dict) {
                Value missing = find_special(vm, cls, Special::Missing);
                if (!missing.is_undef()) {
                    Value found = dict_get(vm, cast<Dict>(v), key);
                    if (!found.is_undef()) return found;
                    return call_special(vm, missing, v, key);
                }
            }
        }
        if (auto kind_get = kind_ops(v.o->kind).get_item) return kind_get(vm, v.o, key);
        if (v.o->kind == Kind::Class) {
            // list[int] and the like in annotations: the class itself.
            Value method = find_class_attr(vm, cast<Class>(v), intern(vm, "__class_getitem__").get());
            if (!method.is_undef()) return call(vm, bind_class_attr(vm, method, Value(), cast<Class>(v)), key);
            if (!cast<Class>(v)->user) return v;
            raise(vm, Exc::TypeError, "type '{}' is not subscriptable", cast<Class>(v)->name->view());
        }
    }
    raise(vm, Exc::TypeError, "'{}' object is not subscriptable", class_name(vm, v));
}

void set_item(Vm& vm, Value v, Value key, Value value) {
    if (v.is_obj()) {
        Class* cls = v.o->cls;
        if (cls->user || cls->foreign_specials) {
            Value method = find_special(vm, cls, Special::SetItem);
            if (!method.is_undef()) {
                call_special(vm, method, v, key, value);
                return;
            }
        }
        if (auto kind_set = kind_ops(v.o->kind).set_item) return kind_set(vm, v.o, key, value);
    }
    raise(vm, Exc::TypeError, "'{}' object does not support item assignment", class_name(vm, v));
}

void del_item(Vm& vm, Value v, Value key) {
    if (v.is_obj()) {
        Class* cls = v.o->cls;
        if (cls->user || cls->foreign_specials) {
            Value method = find_special(vm, cls, Special::DelItem);
            if (!method.is_undef()) {
                call_special(vm, method, v, key);
                return;
            }
        }
        if (auto kind_del = kind_ops(v.o->kind).del_item) return kind_del(vm, v.o, key);
    }
    raise(vm, Exc::TypeError, "'{}' object doesn't support item deletion", class_name(vm, v));
}

bool contains(Vm& vm, Value container, Value item) {
    if (container.is_obj()) {
        Class* cls = container.o->cls;
        bool has_iter = true;
        if (cls->user || cls->foreign_specials) {
            Value method = find_special(vm, cls, Special::Contains);
            if (!method.is_undef()) return truth(vm, call_special(vm, method, container, item));
            has_iter = !find_special(vm, cls, Special::Iter).is_undef() || !find_special(vm, cls, Special::GetItem).is_undef();
        }
        if (auto kind_contains = kind_ops(container.o->kind).contains) return kind_contains(vm, container.o, item);
        if (has_iter || kind_ops(container.o->kind).iterate || kind_ops(container.o->kind).next) {
            if (kind_ops(container.o->kind).iterate || kind_ops(container.o->kind).next || cls->user || cls->foreign_specials) {
                Ref iterator = iterate(vm, container);
                while (Ref candidate = next(vm, iterator)) {
                    if (equals(vm, candidate, item)) return true;
                }
                return false;
            }
        }
    }
    raise(vm, Exc::TypeError, "argument of type '{}' is not iterable", class_name(vm, container));
}

// ---- Iteration ------------------------------------------------------------------------------------

bool is_iterator(Vm& vm, Value v) {
    if (!v.is_obj()) return false;
    if (kind_ops(v.o->kind).next) return true;
    return !find_special(vm, v, Special::Next).is_undef();
}

Ref iterate(Vm& vm, Value v) {
    if (v.is_obj()) {
        Class* cls = v.o->cls;
        const KindOps& ops = kind_ops(v.o->kind);
        if (cls->user || cls->foreign_specials) {
            Value method = find_special(vm, cls, Special::Iter);
            if (method.is_none()) raise(vm, Exc::TypeError, "'{}' object is not iterable", class_name(vm, v));
            if (!method.is_undef()) {
                Ref result = call_special(vm, method, v);
                if (!is_iterator(vm, result)) {
                    raise(vm, Exc::TypeError, "iter() returned non-iterator of type '{}'", class_name(vm, result));
                }
                return result;
            }
        }
        if (ops.iterate) return ops.iterate(vm, v.o);
        if (ops.next) return v;
        if (!find_special(vm, cls, Special::GetItem).is_undef()) return make_sequence_iterator(vm, v);
    }
    raise(vm, Exc::TypeError, "'{}' object is not iterable", class_name(vm, v));
}

Ref next(Vm& vm, Value iterator) {
    vm.tick(1);
    vm.check_stack();  // iterators over iterators over iterators
    if (iterator.is_obj()) {
        auto kind_next = kind_ops(iterator.o->kind).next;
        Value method = kind_next ? Value() : find_special(vm, iterator, Special::Next);
        if (kind_next || !method.is_undef()) {
            try {
                // A StopIteration out of a function that map() or filter() calls ends them as well.
                return kind_next ? kind_next(vm, iterator.o) : call_special(vm, method, iterator);
            } catch (Raised&) {
                Ref error = vm.take_raised();
                if (!is_instance(vm, error, vm.classes.of(Exc::StopIteration))) raise_object(vm, error);
                return {};
            }
        }
    }
    raise(vm, Exc::TypeError, "'{}' object is not an iterator", class_name(vm, iterator));
}

int64_t length_hint(Vm& vm, Value v) {
    if (!v.is_obj()) return -1;
    if (v.o->kind == Kind::Iterator) return cast<Iterator>(v)->state->length_hint(vm);
    if (v.o->kind == Kind::RangeIter) return cast<RangeIter>(v)->left;
    if (v.o->kind == Kind::ListIter) {
        auto* it = cast<ListIter>(v);
        return it->list && it->at < it->list->size ? static_cast<int64_t>(it->list->size - it->at) : 0;
    }
    if (!v.o->cls->user && kind_ops(v.o->kind).length) return kind_ops(v.o->kind).length(vm, v.o);
    return -1;
}

// ---- Conversions ----------------------------------------------------------------------------------

bool is_integer(Value v) { return v.is_int() || v.is_bool() || v.is_kind(Kind::BoxedInt); }

int64_t int_value(Value v) {
    if (v.is_int()) return v.i;
    if (v.is_bool()) return v.b;
    return cast<BoxedInt>(v)->value;
}

bool is_number(Value v) { return is_integer(v) || v.is_float() || v.is_kind(Kind::BoxedFloat); }

int64_t to_index(Vm& vm, Value v) {
    if (is_integer(v)) return int_value(v);
    Value method = find_special(vm, v, Special::Index);
    if (!method.is_undef()) {
        Ref result = call_special(vm, method, v);
        if (!is_integer(result)) raise(vm, Exc::TypeError, "__index__ returned non-int (type {})", class_name(vm, result));
        return int_value(result);
    }
    if (is_tensor(v)) return tensor_index(vm, v);
    raise(vm, Exc::TypeError, "'{}' object cannot be interpreted as an integer", class_name(vm, v));
}

double to_double(Vm& vm, Value v) {
    if (v.is_float()) return v.f;
    if (is_integer(v)) return static_cast<double>(int_value(v));
    if (v.is_kind(Kind::BoxedFloat)) return cast<BoxedFloat>(v)->value;
    Value method = find_special(vm, v, Special::Float);
    if (!method.is_undef()) {
        Ref result = call_special(vm, method, v);
        if (!result.get().is_float()) {
            raise(vm, Exc::TypeError, "{}.__float__ returned non-float (type {})", class_name(vm, v), class_name(vm, result));
        }
        return result.get().f;
    }
    if (is_tensor(v)) return to_double(vm, tensor_number(vm, v));
    if (!find_special(vm, v, Special::Index).is_undef()) return static_cast<double>(to_index(vm, v));
    raise(vm, Exc::TypeError, "must be real number, not {}", class_name(vm, v));
}

std::string_view to_text(Vm& vm, Value v, const char* what) {
    if (!v.is_kind(Kind::Str)) raise(vm, Exc::TypeError, "{} must be str, not {}", what, class_name(vm, v));
    return cast<Str>(v)->view();
}

}  // namespace talc::vm
