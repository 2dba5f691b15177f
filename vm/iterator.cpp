// Iterators over builtin containers. Each lets go of its container when it is exhausted, as CPython's do.
#include "base/text/utf8.hpp"
#include "vm/containers.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

Ptr<Iterator> make_iterator(Vm& vm, Class* cls, std::unique_ptr<IteratorState> state) {
    auto iterator = Ptr<Iterator>::steal(vm.heap.make<Iterator>(Kind::Iterator, cls));
    iterator->state = state.release();
    vm.heap.track(iterator.get());
    return iterator;
}

namespace {

struct TupleState final : IteratorState {
    explicit TupleState(Tuple* t) : tuple(t) {}
    Ref next(Vm&) override {
        if (!tuple) return {};
        if (at < tuple->size) return tuple->items[at++];
        tuple = nullptr;
        return {};
    }
    void traverse(Visitor& visitor) override {
        if (tuple) visitor.visit(static_cast<Object*>(tuple.get()));
    }
    int64_t length_hint(Vm&) override { return tuple ? static_cast<int64_t>(tuple->size - at) : 0; }
    Ptr<Tuple> tuple;
    size_t at = 0;
};

struct StrState final : IteratorState {
    explicit StrState(Str* s) : str(s) {}
    Ref next(Vm& vm) override {
        if (!str) return {};
        if (at < str->size) {
            const char* p = str->data + at;
            uint32_t c = text::decode(p, str->data + str->size);
            at = static_cast<size_t>(p - str->data);
            given++;
            return make_char(vm, c);
        }
        str = nullptr;
        return {};
    }
    int64_t length_hint(Vm&) override { return str ? str->length - given : 0; }
    Ptr<Str> str;
    size_t at = 0;
    int64_t given = 0;
};

struct BytesState final : IteratorState {
    explicit BytesState(Bytes* b) : bytes(b) {}
    Ref next(Vm&) override {
        if (!bytes) return {};
        if (at < bytes->size) return Value::integer(static_cast<unsigned char>(bytes->data[at++]));
        bytes = nullptr;
        return {};
    }
    int64_t length_hint(Vm&) override { return bytes ? static_cast<int64_t>(bytes->size - at) : 0; }
    Ptr<Bytes> bytes;
    size_t at = 0;
};

struct DictState final : IteratorState {
    DictState(Dict* d, ViewOf w) : dict(d), what(w), used(d->used), left(static_cast<int64_t>(d->used)) {}
    Ref next(Vm& vm) override {
        if (!dict) return {};
        if (dict->used != used) {
            used = SIZE_MAX;  // stays so
            raise(vm, Exc::RuntimeError, "dictionary changed size during iteration");
        }
        DictEntry* entry = dict_entry(dict.get(), at);
        if (!entry) {
            dict = nullptr;
            return {};
        }
        if (left == 0) {
            dict = nullptr;
            raise(vm, Exc::RuntimeError, "dictionary keys changed during iteration");
        }
        at++;
        left--;
        if (what == ViewOf::Keys) return entry->plain_key();
        if (what == ViewOf::Values) return entry->value;
        return pair_of(vm, entry->plain_key(), entry->value);
    }
    // The pair that was given last is filled anew if nobody kept it.
    Ref pair_of(Vm& vm, Value key, Value value) {
        if (pair && pair->refs == 1) {
            incref(key);
            incref(value);
            Ref old_key = Ref::steal(std::exchange(pair->items[0], key));
            Ref old_value = Ref::steal(std::exchange(pair->items[1], value));
            pair->hash = 0;
            if (!pair->gc_next) track_tuple(vm, pair.get());
            return pair;
        }
        Value items[] = {key, value};
        pair = make_tuple(vm, items, 2);
        return pair;
    }
    void traverse(Visitor& visitor) override {
        if (dict) visitor.visit(static_cast<Object*>(dict.get()));
        if (pair) visitor.visit(static_cast<Object*>(pair.get()));
    }
    int64_t length_hint(Vm&) override { return dict && dict->used == used ? left : 0; }
    Ptr<Dict> dict;
    Ptr<Tuple> pair;
    ViewOf what;
    size_t used;
    size_t at = 0;
    int64_t left;
};

struct SetState final : IteratorState {
    explicit SetState(Set* s) : set(s), used(s->used), left(static_cast<int64_t>(s->used)) {}
    Ref next(Vm& vm) override {
        if (!set) return {};
        if (set->used != used) {
            used = SIZE_MAX;
            raise(vm, Exc::RuntimeError, "Set changed size during iteration");
        }
        SetEntry* entry = set_entry(set.get(), at);
        if (!entry) {
            set = nullptr;
            return {};
        }
        at++;
        left--;
        return entry->key;
    }
    void traverse(Visitor& visitor) override {
        if (set) visitor.visit(static_cast<Object*>(set.get()));
    }
    int64_t length_hint(Vm&) override { return set && set->used == used ? left : 0; }
    Ptr<Set> set;
    size_t used;
    size_t at = 0;
    int64_t left;
};

// An object with __getitem__ alone: 0, 1, ... until IndexError.
struct SequenceState final : IteratorState {
    explicit SequenceState(Value v) : sequence(v) {}
    Ref next(Vm& vm) override {
        if (!sequence) return {};
        try {
            return get_item(vm, sequence, Value::integer(at++));
        } catch (Raised&) {
            Ref error = vm.take_raised();
            if (!is_instance(vm, error, vm.classes.of(Exc::IndexError)) &&
                !is_instance(vm, error, vm.classes.of(Exc::StopIteration))) {
                raise_object(vm, error);
            }
        }
        sequence = Ref();
        return {};
    }
    void traverse(Visitor& visitor) override { visitor.visit(sequence.get()); }
    Ref sequence;
    int64_t at = 0;
};

// iter(f, sentinel): what f() gives until it equals the sentinel.
struct CallableState final : IteratorState {
    CallableState(Value f, Value s) : callable(f), sentinel(s) {}
    Ref next(Vm& vm) override {
        if (!callable) return {};
        Ref keep = callable;
        Ref result;
        try {
            result = call(vm, keep);
        } catch (Raised&) {
            Ref error = vm.take_raised();
            if (!is_instance(vm, error, vm.classes.of(Exc::StopIteration))) raise_object(vm, error);
        }
        if (result && callable) {
            Ref end = sentinel;
            if (!equals(vm, end, result)) return result;
        }
        callable = Ref();
        sentinel = Ref();
        return {};
    }
    void traverse(Visitor& visitor) override {
        visitor.visit(callable.get());
        visitor.visit(sentinel.get());
    }
    Ref callable;
    Ref sentinel;
};

}  // namespace

Ptr<Iterator> make_tuple_iterator(Vm& vm, Tuple* tuple) {
    return make_iterator(vm, vm.classes.tuple_iterator, std::make_unique<TupleState>(tuple));
}
Ptr<Iterator> make_str_iterator(Vm& vm, Str* s) {
    Class* cls = s->ascii() ? vm.classes.str_ascii_iterator : vm.classes.str_iterator;
    return make_iterator(vm, cls, std::make_unique<StrState>(s));
}
Ptr<Iterator> make_bytes_iterator(Vm& vm, Bytes* bytes) {
    return make_iterator(vm, vm.classes.bytes_iterator, std::make_unique<BytesState>(bytes));
}
Ptr<Iterator> make_dict_iterator(Vm& vm, Dict* dict, ViewOf what) {
    Class* cls = what == ViewOf::Keys     ? vm.classes.dict_keyiterator
                 : what == ViewOf::Values ? vm.classes.dict_valueiterator
                                          : vm.classes.dict_itemiterator;
    return make_iterator(vm, cls, std::make_unique<DictState>(dict, what));
}
Ptr<Iterator> make_set_iterator(Vm& vm, Set* set) {
    return make_iterator(vm, vm.classes.set_iterator, std::make_unique<SetState>(set));
}
Ptr<Iterator> make_sequence_iterator(Vm& vm, Value sequence) {
    return make_iterator(vm, vm.classes.iterator, std::make_unique<SequenceState>(sequence));
}
Ptr<Iterator> make_callable_iterator(Vm& vm, Value callable, Value sentinel) {
    return make_iterator(vm, vm.classes.callable_iterator, std::make_unique<CallableState>(callable, sentinel));
}

namespace {

void traverse(Object* object, Visitor& visitor) {
    if (IteratorState* state = cast<Iterator>(object)->state) state->traverse(visitor);
}
void clear(Vm&, Object* object) { delete std::exchange(cast<Iterator>(object)->state, nullptr); }
void destroy(Vm& vm, Object* object) {
    clear(vm, object);
    vm.heap.deallocate(object, sizeof(Iterator));
}
Ref iterate_over(Vm&, Object* object) { return Ref(object); }
Ref next_of(Vm& vm, Object* object) {
    IteratorState* state = cast<Iterator>(object)->state;
    return state ? state->next(vm) : Ref();
}

}  // namespace

const KindOps kIteratorOps = {
    .traverse = traverse,
    .clear = clear,
    .destroy = destroy,
    .iterate = iterate_over,
    .next = next_of,
};

}  // namespace talc::vm
