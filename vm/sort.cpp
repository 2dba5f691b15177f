// list.sort and sorted: keys are computed once and looked at together; where all are numbers, strings, or tuples
// that begin with them, they are sorted by 64-bit codes that keep their order, and only ties are compared.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "vm/containers.hpp"
#include "vm/timsort.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

// Memory of the engine for the time of a sort.
template <class T>
class Room {
  public:
    Room(Vm& vm, size_t count) : heap_(vm.heap), count_(count) {
        data_ = static_cast<T*>(heap_.allocate((count ? count : 1) * sizeof(T)));
    }
    ~Room() { heap_.deallocate(data_, (count_ ? count_ : 1) * sizeof(T)); }
    Room(const Room&) = delete;
    T* data() { return data_; }
    T& operator[](size_t i) { return data_[i]; }

  private:
    Heap& heap_;
    size_t count_;
    T* data_;
};

struct Coded {
    uint64_t code;
    uint64_t index;
};
struct CodedText {
    uint64_t code;
    const Str* text;
    uint64_t index;
};
struct CodedTuple {
    uint64_t code;
    Tuple* tuple;
    uint64_t index;
};
struct Plain {
    Value key;
    uint64_t index;
};

enum class KeyType { Number, Text, TupleOfNumber, TupleOfText, Any };

// Which fast way fits a value; numbers that compare alike have alike codes, so ints and floats do not mix.
enum class Atom { Int, Float, Text, Other };
Atom atom_of(Vm& vm, Value v) {
    if (v.is_int() || v.is_bool()) return Atom::Int;
    if (v.is_float()) return std::isnan(v.f) ? Atom::Other : Atom::Float;
    if (v.is_kind(Kind::Str) && v.o->cls == vm.classes.str) return Atom::Text;
    return Atom::Other;
}

constexpr uint64_t kSign = uint64_t{1} << 63;

uint64_t number_code(Value v) {
    if (v.is_int()) return static_cast<uint64_t>(v.i) ^ kSign;
    if (v.is_bool()) return static_cast<uint64_t>(v.b) ^ kSign;
    double x = v.f == 0 ? 0.0 : v.f;  // -0.0 equals 0.0
    auto bits = std::bit_cast<uint64_t>(x);
    return bits & kSign ? ~bits : bits | kSign;
}

// The first eight bytes, as a number that orders as they do.
uint64_t text_code(const Str* s) {
    uint64_t code = 0;
    std::memcpy(&code, s->data, s->size < 8 ? s->size : 8);
    if constexpr (std::endian::native == std::endian::little) code = __builtin_bswap64(code);
    return code;
}

KeyType classify(Vm& vm, const Value* keys, size_t count) {
    bool tuples = keys[0].is_kind(Kind::Tuple);
    auto first = [&](Value v) -> Value {
        if (!tuples) return v;
        if (!v.is_kind(Kind::Tuple) || v.o->cls != vm.classes.tuple || cast<Tuple>(v)->size == 0) return Value();
        return cast<Tuple>(v)->items[0];
    };
    Atom atom = atom_of(vm, first(keys[0]));
    for (size_t i = 0; i < count; i++) {
        if (atom == Atom::Other || atom_of(vm, first(keys[i])) != atom) return KeyType::Any;
    }
    if (atom == Atom::Text) return tuples ? KeyType::TupleOfText : KeyType::Text;
    return tuples ? KeyType::TupleOfNumber : KeyType::Number;
}

// ---- Numbers: radix sort, which is stable and compares nothing ----

void radix_sort(Vm& vm, Coded* items, size_t count) {
    Room<Coded> other(vm, count);
    Room<uint32_t[8][256]> histograms(vm, 1);
    auto& buckets = histograms[0];
    std::memset(&buckets, 0, sizeof(buckets));
    for (size_t i = 0; i < count; i++) {
        uint64_t code = items[i].code;
        for (auto& bucket : buckets) {
            bucket[code & 255]++;
            code >>= 8;
        }
    }
    Coded* from = items;
    Coded* to = other.data();
    for (int digit = 0; digit < 8; digit++) {
        uint32_t* bucket = buckets[digit];
        int shift = digit * 8;
        if (bucket[(from[0].code >> shift) & 255] == count) continue;  // all alike
        uint32_t sum = 0;
        for (int i = 0; i < 256; i++) sum += std::exchange(bucket[i], sum);
        for (size_t i = 0; i < count; i++) to[bucket[(from[i].code >> shift) & 255]++] = from[i];
        std::swap(from, to);
    }
    if (from != items) std::memcpy(items, from, count * sizeof(Coded));
}

void sort_numbers(Vm& vm, Coded* items, size_t count) {
    auto less = [](const Coded& a, const Coded& b) { return a.code < b.code; };
    if (std::is_sorted(items, items + count, less)) return;
    if (count >= 128 && count < UINT32_MAX) return radix_sort(vm, items, count);
    TimSort<Coded, decltype(less)>(vm.heap, less).sort(items, count);
}

// ---- Tuples whose firsts are coded ----

bool tuple_less_after_first(Vm& vm, Tuple* a, Tuple* b) {
    size_t common = a->size < b->size ? a->size : b->size;
    for (size_t i = 1; i < common; i++) {
        Value x = a->items[i];
        Value y = b->items[i];
        if (x.is_int() && y.is_int()) {
            if (x.i != y.i) return x.i < y.i;
        } else if (!equals(vm, x, y)) {
            return compare_bool(vm, CompareOp::Lt, x, y);
        }
    }
    return a->size < b->size;
}

template <bool kText>
bool tuple_less(Vm& vm, const CodedTuple& a, const CodedTuple& b) {
    if (a.code != b.code) return a.code < b.code;
    if constexpr (kText) {
        int order = str_order(cast<Str>(a.tuple->items[0]), cast<Str>(b.tuple->items[0]));
        if (order) return order < 0;
    }
    return tuple_less_after_first(vm, a.tuple, b.tuple);
}

// ---- The whole ----

// Rearranges the items as their indices say, also when the sort was broken off by an exception.
template <class T>
class Arrange {
  public:
    Arrange(Vm& vm, Value* items, size_t count) : coded(vm, count), before_(vm, count), items_(items), count_(count) {}
    ~Arrange() {
        std::memcpy(static_cast<void*>(before_.data()), items_, count_ * sizeof(Value));
        for (size_t i = 0; i < count_; i++) items_[i] = before_[coded[i].index];
    }
    Room<T> coded;

  private:
    Room<Value> before_;
    Value* items_;
    size_t count_;
};

template <class T, class Less>
void tim_sort(Vm& vm, T* items, size_t count, bool reverse, Less less) {
    // Reversed before and after, equal items keep their order.
    struct Turn {
        T* items;
        size_t count;
        bool on;
        void operator()() const {
            if (on) std::reverse(items, items + count);
        }
        ~Turn() { (*this)(); }
    } turn{items, count, reverse};
    turn();
    TimSort<T, Less>(vm.heap, std::move(less)).sort(items, count);
}

void sort_by(Vm& vm, Value* items, const Value* keys, size_t count, bool reverse) {
    switch (classify(vm, keys, count)) {
        case KeyType::Number: {
            Arrange<Coded> arrange(vm, items, count);
            uint64_t flip = reverse ? ~uint64_t{0} : 0;
            for (size_t i = 0; i < count; i++) arrange.coded[i] = {number_code(keys[i]) ^ flip, i};
            return sort_numbers(vm, arrange.coded.data(), count);
        }
        case KeyType::Text: {
            Arrange<CodedText> arrange(vm, items, count);
            for (size_t i = 0; i < count; i++) arrange.coded[i] = {text_code(cast<Str>(keys[i])), cast<Str>(keys[i]), i};
            return tim_sort(vm, arrange.coded.data(), count, reverse, [](const CodedText& a, const CodedText& b) {
                return a.code != b.code ? a.code < b.code : str_order(a.text, b.text) < 0;
            });
        }
        case KeyType::TupleOfNumber: {
            Arrange<CodedTuple> arrange(vm, items, count);
            for (size_t i = 0; i < count; i++) {
                auto* tuple = cast<Tuple>(keys[i]);
                arrange.coded[i] = {number_code(tuple->items[0]), tuple, i};
            }
            return tim_sort(vm, arrange.coded.data(), count, reverse,
                            [&vm](const CodedTuple& a, const CodedTuple& b) { return tuple_less<false>(vm, a, b); });
        }
        case KeyType::TupleOfText: {
            Arrange<CodedTuple> arrange(vm, items, count);
            for (size_t i = 0; i < count; i++) {
                auto* tuple = cast<Tuple>(keys[i]);
                arrange.coded[i] = {text_code(cast<Str>(tuple->items[0])), tuple, i};
            }
            return tim_sort(vm, arrange.coded.data(), count, reverse,
                            [&vm](const CodedTuple& a, const CodedTuple& b) { return tuple_less<true>(vm, a, b); });
        }
        case KeyType::Any: {
            Arrange<Plain> arrange(vm, items, count);
            for (size_t i = 0; i < count; i++) arrange.coded[i] = {keys[i], i};
            return tim_sort(vm, arrange.coded.data(), count, reverse, [&vm](const Plain& a, const Plain& b) {
                return compare_bool(vm, CompareOp::Lt, a.key, b.key);
            });
        }
    }
}

// The items are taken out of the list while script code may run, and put back at the end.
class Taken {
  public:
    Taken(Vm& vm, List* list)
        : items(list->items), count(list->size), vm_(vm), list_(list), capacity_(list->capacity), keep_(static_cast<Object*>(list)) {
        list->items = nullptr;
        list->size = 0;
        list->capacity = 0;
    }
    ~Taken() { put_back(); }
    Taken(const Taken&) = delete;
    // False if the script has put something else into the list meanwhile, which is dropped.
    bool put_back() {
        if (done_) return true;
        done_ = true;
        bool untouched = list_->capacity == 0;
        Value* others = list_->items;
        size_t other_count = list_->size;
        size_t other_capacity = list_->capacity;
        list_->items = items;
        list_->size = count;
        list_->capacity = capacity_;
        for (size_t i = 0; i < other_count; i++) decref(others[i]);
        if (other_capacity) vm_.heap.deallocate(others, other_capacity * sizeof(Value));
        return untouched;
    }
    Value* const items;
    const size_t count;

  private:
    Vm& vm_;
    List* list_;
    size_t capacity_;
    Ref keep_;
    bool done_ = false;
};

// The keys of all items, owned.
class Keys {
  public:
    Keys(Vm& vm, size_t capacity) : keys_(vm, capacity) {}
    ~Keys() {
        for (size_t i = 0; i < count_; i++) decref(keys_[i]);
    }
    void add(Ref key) { keys_[count_++] = key.release(); }
    const Value* data() { return keys_.data(); }

  private:
    Room<Value> keys_;
    size_t count_ = 0;
};

}  // namespace

void sort_list(Vm& vm, List* list, Value key, bool reverse) {
    bool keyed = !key.is_undef() && !key.is_none();
    if (list->size == 0 || (list->size == 1 && !keyed)) return;
    Taken taken(vm, list);
    vm.tick(taken.count);
    if (keyed) {
        Keys keys(vm, taken.count);
        for (size_t i = 0; i < taken.count; i++) {
            if (i + 4 < taken.count) __builtin_prefetch(taken.items[i + 4].o, 1);
            keys.add(call(vm, key, taken.items[i]));
        }
        sort_by(vm, taken.items, keys.data(), taken.count, reverse);
    } else {
        sort_by(vm, taken.items, taken.items, taken.count, reverse);
    }
    if (!taken.put_back()) raise(vm, Exc::ValueError, "list modified during sort");
}

}  // namespace talc::vm
