// collections.deque: a ring of values.
#include <algorithm>

#include "stdlib/iterator_tools.hpp"
#include "stdlib/modules.hpp"
#include "vm/class.hpp"
#include "vm/text_out.hpp"
#include "vm/format.hpp"

namespace talc::stdlib {

namespace {

constexpr NativeClass kDeque = {.name = "deque", .module = "collections"};
constexpr NativeClass kForward = {.name = "_deque_iterator", .module = "_collections", .kind = Kind::Iterator, .final = true};
constexpr NativeClass kBackward = {
    .name = "_deque_reverse_iterator", .module = "_collections", .kind = Kind::Iterator, .final = true};

constexpr size_t kNoLimit = SIZE_MAX;

// Item i stands at (first + i) % capacity; the capacity is a power of two. References are owned.
struct Deque final : ForeignState {
    explicit Deque(Vm& owner) : vm(owner) {}
    ~Deque() override { drop_all(); }

    Vm& vm;
    Value* ring = nullptr;
    size_t capacity = 0, first = 0, size = 0;
    size_t maxlen = kNoLimit;
    uint64_t changes = 0;

    Value& at(size_t i) const { return ring[(first + i) & (capacity - 1)]; }
    void grow(size_t wanted) {
        if (wanted <= capacity) return;
        size_t larger = std::max<size_t>(capacity * 2, 8);
        while (larger < wanted) larger *= 2;
        if (larger > SIZE_MAX / 2 / sizeof(Value)) raise_memory_error(vm);
        auto* fresh = static_cast<Value*>(vm.heap.allocate(larger * sizeof(Value)));
        for (size_t i = 0; i < size; i++) fresh[i] = at(i);
        if (ring) vm.heap.deallocate(ring, capacity * sizeof(Value));
        ring = fresh;
        capacity = larger;
        first = 0;
    }
    void push_back(Ref item) {
        if (maxlen == 0) return;
        if (size == capacity && size < maxlen) grow(size + 1);
        Ref gone = size >= maxlen ? pop_front() : Ref();
        at(size++) = item.release();
        changes++;
    }
    void push_front(Ref item) {
        if (maxlen == 0) return;
        if (size == capacity && size < maxlen) grow(size + 1);
        Ref gone = size >= maxlen ? pop_back() : Ref();
        first = (first - 1) & (capacity - 1);
        ring[first] = item.release();
        size++;
        changes++;
    }
    Ref pop_front() {
        Ref item = Ref::steal(ring[first]);
        first = (first + 1) & (capacity - 1);
        size--;
        changes++;
        return item;
    }
    Ref pop_back() {
        Ref item = Ref::steal(at(--size));
        changes++;
        return item;
    }
    void rotate(int64_t steps) {
        if (size < 2) return;
        int64_t n = steps % static_cast<int64_t>(size);
        if (n < 0) n += static_cast<int64_t>(size);
        // The shorter way round.
        if (static_cast<size_t>(n) <= size / 2) {
            for (; n > 0; n--) push_moved_front();
        } else {
            for (n = static_cast<int64_t>(size) - n; n > 0; n--) push_moved_back();
        }
        changes++;
    }
    void remove_at(size_t i, Ref& removed) {
        removed = Ref::steal(at(i));
        for (; i + 1 < size; i++) at(i) = at(i + 1);
        size--;
        changes++;
    }
    void drop_all() {
        // Taken off first: what the items' end brings about finds an empty deque.
        Value* old = std::exchange(ring, nullptr);
        size_t count = std::exchange(size, 0), room = std::exchange(capacity, 0), begin = std::exchange(first, 0);
        changes++;
        for (size_t i = 0; i < count; i++) decref(old[(begin + i) & (room - 1)]);
        if (old) vm.heap.deallocate(old, room * sizeof(Value));
    }
    void traverse(Visitor& visitor) override {
        for (size_t i = 0; i < size; i++) visitor.visit(at(i));
    }
    void clear() override { drop_all(); }

  private:
    void push_moved_front() {
        Value last = at(size - 1);
        first = (first - 1) & (capacity - 1);
        ring[first] = last;
    }
    void push_moved_back() {
        Value front = ring[first];
        first = (first + 1) & (capacity - 1);
        at(size - 1) = front;
    }
};

Deque* deque_of(Value v) { return foreign_cast<Deque>(v); }
bool is_deque(Vm& vm, Value v) { return is_instance(vm, v, native_class(vm, kDeque)); }

struct DequeIterator final : IteratorState {
    Ref deque;
    size_t at = 0;      // items given
    uint64_t changes;
    bool backwards;

    Ref next(Vm& vm) override {
        if (deque.is_none()) return {};
        Deque* d = deque_of(deque);
        if (d->changes != changes) {
            at = SIZE_MAX;
            raise(vm, Exc::RuntimeError, "deque mutated during iteration");
        }
        if (at >= d->size) {
            deque = Value::none();
            return {};
        }
        Value item = d->at(backwards ? d->size - 1 - at : at);
        at++;
        return item;
    }
    void traverse(Visitor& visitor) override { visitor.visit(deque); }
    int64_t length_hint(Vm&) override { return deque.is_none() ? 0 : static_cast<int64_t>(deque_of(deque)->size - at); }
};

Ref iterator_over(Vm& vm, Value deque, bool backwards) {
    auto state = std::make_unique<DequeIterator>();
    state->deque = deque;
    state->changes = deque_of(deque)->changes;
    state->backwards = backwards;
    return make_iterator(vm, native_class(vm, backwards ? kBackward : kForward), std::move(state));
}

void extend(Vm& vm, Value self, Value iterable, bool left) {
    Deque* d = deque_of(self);
    Ref source = iterable;
    if (iterable.same(self)) source = list_from_iterable(vm, iterable);
    walk(vm, source, [&](Value item) {
        if (left) d->push_front(item);
        else d->push_back(item);
        return true;
    });
}

Ptr<List> items_of(Vm& vm, Deque* d) {
    Ptr<List> list = make_list(vm, d->size);
    for (size_t i = 0; i < d->size; i++) list_append(vm, list.get(), d->at(i));
    return list;
}

// An instance of the same class with these items, as type(self)(items, maxlen) makes it.
Ref like(Vm& vm, Value self, Value items) {
    Deque* d = deque_of(self);
    Class* cls = class_of(vm, self);
    if (cls != native_class(vm, kDeque)) {
        if (d->maxlen == kNoLimit) return call(vm, Value::object(cls), items);
        return call(vm, Value::object(cls), items, Value::integer(static_cast<int64_t>(d->maxlen)));
    }
    Ref made = make_foreign(vm, cls, std::make_unique<Deque>(vm));
    deque_of(made)->maxlen = d->maxlen;
    extend(vm, made, items, false);
    return made;
}

size_t index_in(Vm& vm, Deque* d, Value key) {
    if (!is_integer(key) && find_special(vm, key, Special::Index).is_undef()) {
        raise(vm, Exc::TypeError, "sequence index must be integer, not '{}'", class_name(vm, key));
    }
    int64_t i = to_index(vm, key);
    auto size = static_cast<int64_t>(d->size);
    if (i < 0) i += size;
    if (i < 0 || i >= size) raise(vm, Exc::IndexError, "deque index out of range");
    return static_cast<size_t>(i);
}

// The first item from `begin` on that equals value; `end`: none. The deque must not change meanwhile.
size_t find(Vm& vm, Deque* d, Value value, size_t begin, size_t end, Exc changed, const char* message) {
    uint64_t changes = d->changes;
    Ticker ticker(vm);
    for (size_t i = begin; i < end; i++) {
        ticker.step();
        Ref item = d->at(i);
        bool same = equals(vm, item, value);
        if (d->changes != changes) raise(vm, changed, std::string(message));
        if (same) return i;
    }
    return end;
}

constexpr const char* kMutated = "deque mutated during iteration";

Ref compare_deques(Vm& vm, const Args& args, CompareOp op) {
    if (!is_deque(vm, args[1])) return not_implemented();
    Deque *a = deque_of(args[0]), *b = deque_of(args[1]);
    if (a->size != b->size && (op == CompareOp::Eq || op == CompareOp::Ne)) return boolean(op == CompareOp::Ne);
    Ptr<List> left = items_of(vm, a), right = items_of(vm, b);
    return compare(vm, op, Value(left), Value(right));
}

Ref repeated(Vm& vm, Value self, Value times) {
    Ptr<List> items = items_of(vm, deque_of(self));
    int64_t count = std::max<int64_t>(to_index(vm, times), 0);
    // Of a limited deque only the end remains.
    Deque* d = deque_of(self);
    if (d->maxlen != kNoLimit && d->size > 0) {
        auto enough = static_cast<int64_t>(d->maxlen / d->size + 2);
        count = std::min(count, enough);
    }
    return list_repeat(vm, items.get(), count);
}

}  // namespace

vm::Class* deque_class(Vm& vm) { return native_class(vm, kDeque); }

Ref deque_new(Vm& vm, const Args& args) {
    return make_foreign(vm, class_to_make(vm, args[0], deque_class(vm)), std::make_unique<Deque>(vm));
}

Ref deque_init(Vm& vm, const Args& args) {
    Deque* d = deque_of(args[0]);
    size_t maxlen = kNoLimit;
    if (!args[2].is_none()) {
        if (!is_integer(args[2])) raise(vm, Exc::TypeError, "an integer is required");
        if (int_value(args[2]) < 0) raise(vm, Exc::ValueError, "maxlen must be non-negative");
        maxlen = static_cast<size_t>(int_value(args[2]));
    }
    d->drop_all();
    d->maxlen = maxlen;
    extend(vm, args[0], args[1], false);
    return none();
}

Ref deque_append(Vm&, const Args& args) {
    deque_of(args[0])->push_back(args[1]);
    return none();
}
Ref deque_appendleft(Vm&, const Args& args) {
    deque_of(args[0])->push_front(args[1]);
    return none();
}
Ref deque_pop(Vm& vm, const Args& args) {
    if (deque_of(args[0])->size == 0) raise(vm, Exc::IndexError, "pop from an empty deque");
    return deque_of(args[0])->pop_back();
}
Ref deque_popleft(Vm& vm, const Args& args) {
    if (deque_of(args[0])->size == 0) raise(vm, Exc::IndexError, "pop from an empty deque");
    return deque_of(args[0])->pop_front();
}
Ref deque_extend(Vm& vm, const Args& args) {
    extend(vm, args[0], args[1], false);
    return none();
}
Ref deque_extendleft(Vm& vm, const Args& args) {
    extend(vm, args[0], args[1], true);
    return none();
}
Ref deque_clear(Vm&, const Args& args) {
    deque_of(args[0])->drop_all();
    return none();
}
Ref deque_copy(Vm& vm, const Args& args) { return like(vm, args[0], args[0]); }
// For copy.deepcopy: a deque with each(item) of all items.
Ref deque_reduce_copy(Vm& vm, const Args& args) {
    Ref made = make_foreign(vm, class_of(vm, args[0]), std::make_unique<Deque>(vm));
    deque_of(made)->maxlen = deque_of(args[0])->maxlen;
    walk(vm, args[0], [&](Value item) {
        deque_of(made)->push_back(call(vm, args[1], item));
        return true;
    });
    return made;
}
Ref deque_rotate(Vm& vm, const Args& args) {
    Deque* d = deque_of(args[0]);
    d->rotate(to_index(vm, args[1]));
    vm.tick(d->size / 4);  // for limits: it moves up to half of them
    return none();
}
Ref deque_reverse(Vm&, const Args& args) {
    Deque* d = deque_of(args[0]);
    for (size_t i = 0; i < d->size / 2; i++) std::swap(d->at(i), d->at(d->size - 1 - i));
    d->changes++;
    return none();
}

Ref deque_count(Vm& vm, const Args& args) {
    Deque* d = deque_of(args[0]);
    int64_t count = 0;
    for (size_t i = 0; (i = find(vm, d, args[1], i, d->size, Exc::RuntimeError, kMutated)) < d->size; i++) count++;
    return integer(count);
}

Ref deque_index(Vm& vm, const Args& args) {
    Deque* d = deque_of(args[0]);
    auto size = static_cast<int64_t>(d->size);
    int64_t start = std::min(clip_index(vm, args[2], size), size);
    int64_t stop = args.has(3) ? std::min(clip_index(vm, args[3], size), size) : size;
    if (start < stop) {
        size_t at = find(vm, d, args[1], static_cast<size_t>(start), static_cast<size_t>(stop), Exc::RuntimeError, kMutated);
        if (at < static_cast<size_t>(stop)) return integer(static_cast<int64_t>(at));
    }
    raise(vm, Exc::ValueError, "{} is not in deque", repr(vm, args[1])->view());
}

Ref deque_remove(Vm& vm, const Args& args) {
    Deque* d = deque_of(args[0]);
    size_t at = find(vm, d, args[1], 0, d->size, Exc::IndexError, "deque mutated during remove().");
    if (at == d->size) raise(vm, Exc::ValueError, "{} is not in deque", repr(vm, args[1])->view());
    Ref removed;
    d->remove_at(at, removed);
    return none();
}

Ref deque_insert(Vm& vm, const Args& args) {
    Deque* d = deque_of(args[0]);
    int64_t at = to_index(vm, args[1]);
    if (d->size >= d->maxlen) raise(vm, Exc::IndexError, "deque already at its maximum size");
    auto size = static_cast<int64_t>(d->size);
    if (at < 0) at = std::max<int64_t>(at + size, 0);
    at = std::min(at, size);
    d->push_back(args[2]);
    Value item = d->at(static_cast<size_t>(size));
    for (int64_t i = size; i > at; i--) d->at(static_cast<size_t>(i)) = d->at(static_cast<size_t>(i - 1));
    d->at(static_cast<size_t>(at)) = item;
    return none();
}

Ref deque_maxlen(Vm&, const Args& args) {
    size_t maxlen = deque_of(args[0])->maxlen;
    return maxlen == kNoLimit ? none() : integer(static_cast<int64_t>(maxlen));
}
Ref deque_len(Vm&, const Args& args) { return integer(static_cast<int64_t>(deque_of(args[0])->size)); }
Ref deque_iter(Vm& vm, const Args& args) { return iterator_over(vm, args[0], false); }
Ref deque_reversed(Vm& vm, const Args& args) { return iterator_over(vm, args[0], true); }
Ref deque_contains(Vm& vm, const Args& args) {
    Deque* d = deque_of(args[0]);
    return boolean(find(vm, d, args[1], 0, d->size, Exc::RuntimeError, kMutated) < d->size);
}
Ref deque_getitem(Vm& vm, const Args& args) {
    Deque* d = deque_of(args[0]);
    return d->at(index_in(vm, d, args[1]));
}
Ref deque_setitem(Vm& vm, const Args& args) {
    Deque* d = deque_of(args[0]);
    Value& slot = d->at(index_in(vm, d, args[1]));
    Ref old = Ref::steal(std::exchange(slot, Ref(args[2]).release()));
    return none();
}
Ref deque_delitem(Vm& vm, const Args& args) {
    Deque* d = deque_of(args[0]);
    Ref removed;
    d->remove_at(index_in(vm, d, args[1]), removed);
    return none();
}

Ref deque_eq(Vm& vm, const Args& args) { return compare_deques(vm, args, CompareOp::Eq); }
Ref deque_ne(Vm& vm, const Args& args) { return compare_deques(vm, args, CompareOp::Ne); }
Ref deque_lt(Vm& vm, const Args& args) { return compare_deques(vm, args, CompareOp::Lt); }
Ref deque_le(Vm& vm, const Args& args) { return compare_deques(vm, args, CompareOp::Le); }
Ref deque_gt(Vm& vm, const Args& args) { return compare_deques(vm, args, CompareOp::Gt); }
Ref deque_ge(Vm& vm, const Args& args) { return compare_deques(vm, args, CompareOp::Ge); }

Ref deque_add(Vm& vm, const Args& args) {
    if (!is_deque(vm, args[1])) {
        raise(vm, Exc::TypeError, "can only concatenate deque (not \"{}\") to deque", class_name(vm, args[1]));
    }
    Ref made = like(vm, args[0], args[0]);
    extend(vm, made, args[1], false);
    return made;
}
Ref deque_iadd(Vm& vm, const Args& args) {
    extend(vm, args[0], args[1], false);
    return args[0];
}
Ref deque_mul(Vm& vm, const Args& args) {
    if (!is_integer(args[1]) && find_special(vm, args[1], Special::Index).is_undef()) return not_implemented();
    return like(vm, args[0], repeated(vm, args[0], args[1]));
}
Ref deque_imul(Vm& vm, const Args& args) {
    Ref items = repeated(vm, args[0], args[1]);
    deque_of(args[0])->drop_all();
    extend(vm, args[0], items, false);
    return args[0];
}

Ref deque_repr(Vm& vm, const Args& args) {
    ReprScope scope(vm, args[0].o);
    if (scope.nested()) return make_str(vm, "[...]");
    Deque* d = deque_of(args[0]);
    text::Buffer out(text_limit(vm));
    out += args[0].o->cls->name->view();
    out += "([";
    uint64_t changes = d->changes;
    for (size_t i = 0; i < d->size; i++) {
        if (i) out += ", ";
        append_repr(vm, out, Ref(d->at(i)));
        if (d->changes != changes) raise(vm, Exc::RuntimeError, "deque mutated during iteration");
    }
    out += "]";
    if (d->maxlen != kNoLimit) out += fmt::format(", maxlen={}", d->maxlen);
    out += ")";
    return make_str(vm, out.view());
}

}  // namespace talc::stdlib
