// enumerate zip map filter reversed, iter() and next().
#include "stdlib/iterator_tools.hpp"

namespace talc::stdlib {

Ref refill(Vm& vm, Ptr<Tuple>& last, Ref* items, size_t count) {
    if (last && last->refs == 1) {
        Ref result = last;  // before the old items go, which may run script code
        for (size_t i = 0; i < count; i++) items[i] = Ref::steal(std::exchange(last->items[i], items[i].release()));
        last->hash = 0;
        if (!last->gc_next) track_tuple(vm, last.get());
        return result;
    }
    Tuple* tuple = make_raw_tuple(vm, count);
    for (size_t i = 0; i < count; i++) tuple->items[i] = items[i].release();
    last = Ptr<Tuple>::steal(tuple);
    track_tuple(vm, tuple);
    return last;
}

Ref call_or_end(Vm& vm, Value function, const Value* args, size_t count) {
    try {
        return call(vm, function, args, count);
    } catch (Raised&) {
        if (!catch_raised(vm, Exc::StopIteration)) throw;
        return {};
    }
}

std::vector<Ref> iterators_of(Vm& vm, const Value* values, size_t count) {
    std::vector<Ref> iterators(count);
    for (size_t i = 0; i < count; i++) iterators[i] = iterate(vm, values[i]);
    return iterators;
}

namespace {

struct Enumerate final : IteratorState {
    Ref source;
    int64_t count;
    Ptr<Tuple> last;

    Ref next(Vm& vm) override {
        Ref item = vm::next(vm, source);
        if (!item) return {};
        Ref items[] = {Value::integer(count), std::move(item)};
        if (__builtin_add_overflow(count, 1, &count)) raise(vm, Exc::OverflowError, "enumerate() count does not fit in 64 bits");
        return refill(vm, last, items, 2);
    }
    void traverse(Visitor& visitor) override {
        visitor.visit(source);
        if (last) visitor.visit(last);
    }
    int64_t length_hint(Vm& vm) override { return vm::length_hint(vm, source); }
};

struct Zip final : IteratorState {
    std::vector<Ref> sources;
    bool strict = false;
    Ptr<Tuple> last;

    Ref next(Vm& vm) override {
        size_t count = sources.size();
        if (count == 0) return {};
        // Items wait here, so that a source that ends or raises leaves nothing half made.
        Ref few[4];
        std::vector<Ref> many;
        Ref* items = few;
        if (count > std::size(few)) {
            many.resize(count);
            items = many.data();
        }
        for (size_t i = 0; i < count; i++) {
            items[i] = vm::next(vm, sources[i]);
            if (!items[i]) {
                if (strict) check_strict(vm, i);
                return {};
            }
        }
        return refill(vm, last, items, count);
    }
    // Source `ended` is at its end: with the first all must be, a later one is too short.
    void check_strict(Vm& vm, size_t ended) {
        auto complain = [&](size_t argument, const char* how) {
            std::string others = argument == 2 ? "argument 1" : fmt::format("arguments 1-{}", argument - 1);
            raise(vm, Exc::ValueError, "zip() argument {} is {} than {}", argument, how, others);
        };
        if (ended > 0) complain(ended + 1, "shorter");
        for (size_t i = 1; i < sources.size(); i++) {
            if (vm::next(vm, sources[i])) complain(i + 1, "longer");
        }
    }
    void traverse(Visitor& visitor) override {
        for (Ref& source : sources) visitor.visit(source);
        if (last) visitor.visit(last);
    }
};

struct Map final : IteratorState {
    Ref function;
    std::vector<Ref> sources;

    Ref next(Vm& vm) override {
        if (sources.size() == 1) {
            Ref item = vm::next(vm, sources[0]);
            Value arg = item;
            return item ? call_or_end(vm, function, &arg, 1) : Ref();
        }
        std::vector<Ref> items(sources.size());
        std::vector<Value> args(sources.size());
        for (size_t i = 0; i < sources.size(); i++) {
            items[i] = vm::next(vm, sources[i]);
            if (!items[i]) return {};
            args[i] = items[i];
        }
        return call_or_end(vm, function, args.data(), args.size());
    }
    void traverse(Visitor& visitor) override {
        visitor.visit(function);
        for (Ref& source : sources) visitor.visit(source);
    }
    int64_t length_hint(Vm& vm) override { return sources.size() == 1 ? vm::length_hint(vm, sources[0]) : -1; }
};

struct Filter final : IteratorState {
    Ref function;  // None: the items' own truth
    Ref source;

    Ref next(Vm& vm) override {
        while (Ref item = vm::next(vm, source)) {
            if (function.is_none()) {
                if (truth(vm, item)) return item;
            } else {
                Value arg = item;
                Ref kept = call_or_end(vm, function, &arg, 1);
                if (!kept) return {};
                if (truth(vm, kept)) return item;
            }
            vm.tick(1);
        }
        return {};
    }
    void traverse(Visitor& visitor) override {
        visitor.visit(function);
        visitor.visit(source);
    }
};

// Backwards over anything with a length and items by index.
struct Reversed final : IteratorState {
    Ref sequence;
    int64_t at;

    Ref next(Vm& vm) override {
        if (at < 0) return {};
        // A list may have become shorter.
        if (sequence.is_kind(Kind::List)) {
            if (static_cast<size_t>(at) < cast<List>(sequence.get())->size) return cast<List>(sequence.get())->items[at--];
            return end();
        }
        Ref keep = sequence;
        try {
            return get_item(vm, keep, Value::integer(at--));
        } catch (Raised&) {
            if (!catch_raised(vm, Exc::IndexError) && !catch_raised(vm, Exc::StopIteration)) throw;
            return end();
        }
    }
    Ref end() {
        at = -1;
        sequence = Value::none();
        return {};
    }
    void traverse(Visitor& visitor) override { visitor.visit(sequence); }
    int64_t length_hint(Vm&) override { return at + 1; }
};

// reversed() of a dict or a view: the entries as they were, backwards.
struct ReversedItems final : IteratorState {
    Ptr<List> items;
    Dict* dict;
    size_t used;
    Ref keep;

    Ref next(Vm& vm) override {
        if (!items) return {};
        if (dict->used != used) raise(vm, Exc::RuntimeError, "dictionary changed size during iteration");
        if (items->size == 0) {
            items = nullptr;
            return {};
        }
        return list_remove_at(vm, items.get(), items->size - 1);
    }
    void traverse(Visitor& visitor) override {
        if (items) visitor.visit(items);
        visitor.visit(keep);
    }
    int64_t length_hint(Vm&) override { return items ? static_cast<int64_t>(items->size) : 0; }
};

Ref reversed_dict(Vm& vm, Value v, Dict* dict, Class* cls) {
    auto state = std::make_unique<ReversedItems>();
    state->items = list_from_iterable(vm, v);
    state->dict = dict;
    state->used = dict->used;
    state->keep = dict;
    return make_iterator(vm, cls, std::move(state));
}

}  // namespace

// reversed(v) without a script's __reversed__; empty: v is not reversible.
Ref reverse_iterator(Vm& vm, Value v) {
    if (v.is_kind(Kind::Range)) {
        Range* range = cast<Range>(v);
        if (range->length == 0) return iterate(vm, v);
        // The last element is in range, and so is the step before the first but for the extremes of int64.
        int64_t last = range->start + (range->length - 1) * range->step;
        int64_t before;
        if (!__builtin_sub_overflow(range->start, range->step, &before) && range->step != INT64_MIN) {
            return iterate(vm, make_range(vm, last, before, -range->step));
        }
    }
    if (v.is_kind(Kind::Dict)) return reversed_dict(vm, v, cast<Dict>(v), vm.classes.dict_keyiterator);
    if (v.is_kind(Kind::DictView)) {
        DictView* view = cast<DictView>(v);
        Class* classes[] = {vm.classes.dict_keyiterator, vm.classes.dict_valueiterator, vm.classes.dict_itemiterator};
        return reversed_dict(vm, v, view->dict, classes[static_cast<int>(view->what)]);
    }
    bool script_sequence = !find_special(vm, v, Special::GetItem).is_undef() && !find_special(vm, v, Special::Len).is_undef();
    bool sequence = v.is_kind(Kind::List) || v.is_kind(Kind::Tuple) || v.is_kind(Kind::Str) || v.is_kind(Kind::Bytes) ||
                    v.is_kind(Kind::Range);
    if (!sequence && !script_sequence) return {};
    auto state = std::make_unique<Reversed>();
    state->sequence = v;
    state->at = length(vm, v) - 1;
    return make_iterator(vm, is_plain(v, Kind::List) ? vm.classes.list_reverseiterator : vm.classes.reversed, std::move(state));
}

Ref enumerate_new(Vm& vm, const Args& args) {
    if (!args.has(1)) raise(vm, Exc::TypeError, "enumerate() missing required argument 'iterable'");
    auto state = std::make_unique<Enumerate>();
    state->count = to_index(vm, args[2]);
    state->source = iterate(vm, args[1]);
    return make_iterator(vm, vm.classes.enumerate, std::move(state));
}

Ref zip_new(Vm& vm, const Args& args) {
    auto state = std::make_unique<Zip>();
    state->strict = truth(vm, args[1]);
    state->sources = iterators_of(vm, args.rest, args.nrest);
    return make_iterator(vm, vm.classes.zip, std::move(state));
}

Ref map_new(Vm& vm, const Args& args) {
    if (args.nrest < 2) raise(vm, Exc::TypeError, "map() must have at least two arguments.");
    auto state = std::make_unique<Map>();
    state->function = args.rest[0];
    state->sources = iterators_of(vm, args.rest + 1, args.nrest - 1);
    return make_iterator(vm, vm.classes.map, std::move(state));
}

Ref filter_new(Vm& vm, const Args& args) {
    check_count(vm, args, "filter", 2, 2);
    auto state = std::make_unique<Filter>();
    state->function = args.rest[0];
    state->source = iterate(vm, args.rest[1]);
    return make_iterator(vm, vm.classes.filter, std::move(state));
}

Ref reversed_new(Vm& vm, const Args& args) {
    check_count(vm, args, "reversed", 1, 1);
    Value v = args.rest[0];
    Value special = find_special(vm, v, Special::Reversed);
    if (!special.is_undef() && !special.is_none()) return call_special(vm, special, v);
    if (Ref iterator = reverse_iterator(vm, v)) return iterator;
    raise(vm, Exc::TypeError, "'{}' object is not reversible", class_name(vm, v));
}

// list.__reversed__ and so on
Ref sequence_reversed(Vm& vm, const Args& args) { return reverse_iterator(vm, args[0]); }

// ---- iter, next -----------------------------------------------------------------------------------

Ref builtin_iter(Vm& vm, const Args& args) {
    if (!args.has(1)) return iterate(vm, args[0]);
    if (!is_callable(vm, args[0])) raise(vm, Exc::TypeError, "iter(v, w): v must be callable");
    return make_callable_iterator(vm, args[0], args[1]);
}

namespace {

[[noreturn]] void raise_stop(Vm& vm, Value value) {
    if (value.is_undef() || value.is_none()) raise_object(vm, make_exception(vm, vm.classes.of(Exc::StopIteration), nullptr, 0));
    raise_with(vm, Exc::StopIteration, value);
}

}  // namespace

// next(iterator) where the end raises StopIteration, with a generator's return value.
Ref next_or_stop(Vm& vm, Value iterator) {
    if (iterator.is_kind(Kind::Generator)) {
        Ref returned;
        Ref item = vm.resume(cast<Generator>(iterator), Value::none(), &returned);
        if (!item) raise_stop(vm, returned);
        return item;
    }
    // A script's __next__ raises StopIteration itself, perhaps with a value.
    Value special = find_special(vm, iterator, Special::Next);
    if (!special.is_undef()) return call_special(vm, special, iterator);
    if (!is_iterator(vm, iterator)) raise(vm, Exc::TypeError, "'{}' object is not an iterator", class_name(vm, iterator));
    Ref item = next(vm, iterator);
    if (!item) raise_stop(vm, Value());
    return item;
}

Ref builtin_next(Vm& vm, const Args& args) {
    Value iterator = args[0];
    if (iterator.is_obj() && iterator.o->kind != Kind::Generator) {
        if (auto kind_next = ops_of(iterator).next) {  // an iterator of our own: no script's __next__ to look for
            vm.tick(1);
            if (Ref item = kind_next(vm, iterator.o)) return item;
            if (args.has(1)) return args[1];
            raise_stop(vm, Value());
        }
    }
    if (!args.has(1)) return next_or_stop(vm, iterator);
    if (!is_iterator(vm, iterator)) raise(vm, Exc::TypeError, "'{}' object is not an iterator", class_name(vm, iterator));
    Ref item = next(vm, iterator);
    return item ? std::move(item) : Ref(args[1]);
}

Ref iterator_iter(Vm&, const Args& args) { return args[0]; }

Ref iterator_next(Vm& vm, const Args& args) {
    Ref item = ops_of(args[0]).next(vm, args[0].o);
    if (!item) raise_stop(vm, Value());
    return item;
}

Ref iterator_length_hint(Vm& vm, const Args& args) { return integer(std::max<int64_t>(length_hint(vm, args[0]), 0)); }

// ---- Generators -----------------------------------------------------------------------------------

namespace {

Ref item_or_stop(Vm& vm, Ref item, const Ref& returned) {
    if (!item) raise_stop(vm, returned);
    return item;
}

}  // namespace

Ref generator_next(Vm& vm, const Args& args) { return next_or_stop(vm, args[0]); }

Ref generator_send(Vm& vm, const Args& args) {
    Generator* generator = cast<Generator>(args[0]);
    if (generator->state == GeneratorState::Created && !args[1].is_none()) {
        raise(vm, Exc::TypeError, "can't send non-None value to a just-started generator");
    }
    Ref returned;
    return item_or_stop(vm, vm.resume(generator, args[1], &returned), returned);
}

Ref generator_throw(Vm& vm, const Args& args) {
    Value type = args[1];
    Value value = args.has(2) ? args[2] : Value::none();
    Class* base = vm.classes.of(Exc::BaseException);
    Ref exception;
    if (is_class(type) && is_subclass(cast<Class>(type), base)) {
        if (is_instance(vm, value, cast<Class>(type))) {
            exception = value;
        } else if (value.is_none()) {
            exception = call(vm, type);
        } else if (value.is_kind(Kind::Tuple)) {
            exception = call(vm, type, cast<Tuple>(value)->items, cast<Tuple>(value)->size);
        } else {
            exception = call(vm, type, value);
        }
        if (!exception.is_kind(Kind::Exception)) {
            std::string text = fmt::format("calling {} should have returned an instance of BaseException, not {}",
                                           repr(vm, type)->view(), repr(vm, Value::object(class_of(vm, exception)))->view());
            Ref message = make_str(vm, text);
            Value message_value = message;
            exception = make_exception(vm, vm.classes.of(Exc::TypeError), &message_value, 1);
        }
    } else if (is_instance(vm, type, base)) {
        if (!value.is_none()) raise(vm, Exc::TypeError, "instance exception may not have a separate value");
        exception = type;
    } else {
        raise(vm, Exc::TypeError, "exceptions must be classes or instances deriving from BaseException, not {}",
              class_name(vm, type));
    }
    Ref returned;
    return item_or_stop(vm, vm.throw_into(cast<Generator>(args[0]), exception, &returned), returned);
}

Ref generator_close(Vm& vm, const Args& args) {
    Generator* generator = cast<Generator>(args[0]);
    if (generator->state == GeneratorState::Finished) return none();
    Ref exit = make_exception(vm, vm.classes.of(Exc::GeneratorExit), nullptr, 0);
    try {
        Ref returned;
        if (!vm.throw_into(generator, exit, &returned)) return none();
    } catch (Raised&) {
        if (catch_raised(vm, Exc::GeneratorExit) || catch_raised(vm, Exc::StopIteration)) return none();
        throw;
    }
    raise(vm, Exc::RuntimeError, "generator ignored GeneratorExit");
}

Ref generator_running(Vm&, const Args& args) {
    return boolean(cast<Generator>(args[0])->state == GeneratorState::Running);
}

}  // namespace talc::stdlib
