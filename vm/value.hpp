#pragma once
// A script value: 16 bytes, a tag and a payload. Ints (a full int64), floats and the few singletons are
// immediate; everything else is a counted heap object.
//
//      0       4       8               16
//     +-------+-------+----------------+
//     |  tag  |   0   | int64 / double / bool / Object* |
//     +-------+-------+----------------+
//
// `Value` is a plain copy that owns nothing (a borrowed reference): registers, arguments, items being looked
// at. `Ref` owns one reference; functions that make or hand out a value return a Ref. `Ptr<T>` is a Ref
// whose object type is known.
#include <cassert>
#include <cstdint>
#include <utility>

namespace talc::vm {

struct Object;
void destroy_object(Object* object);  // last reference gone (heap.cpp)

enum class Tag : uint32_t { Undef, None, Bool, Int, Float, NotImplemented, Ellipsis, Obj };

// What every heap object begins with. The kind is the object's C++ layout, the class what the script sees:
// an instance of `class L(list)` has kind List and class L.
struct Class;
enum class Kind : uint8_t;

struct Object {
    uint32_t refs;
    Kind kind;
    uint8_t flags;
    uint16_t aux;  // free for the kind
    Class* cls;
};

struct Value {
    Tag tag = Tag::Undef;
    uint32_t unused = 0;  // but in the keys of a dict (object.hpp: DictEntry)
    union {
        int64_t i;
        double f;
        bool b;
        Object* o;
    };

    constexpr Value() : i(0) {}
    static constexpr Value undef() { return Value(); }
    static constexpr Value none() { return Value(Tag::None, 0); }
    static constexpr Value not_implemented() { return Value(Tag::NotImplemented, 0); }
    static constexpr Value ellipsis() { return Value(Tag::Ellipsis, 0); }
    static constexpr Value boolean(bool x) { return Value(Tag::Bool, x ? 1 : 0); }
    static constexpr Value integer(int64_t x) { return Value(Tag::Int, x); }
    static Value real(double x) {
        Value v(Tag::Float, 0);
        v.f = x;
        return v;
    }
    static Value object(Object* x) {
        Value v(Tag::Obj, 0);
        v.o = x;
        return v;
    }
    Value(Object* x) : tag(Tag::Obj), o(x) {}  // NOLINT: an object pointer is a value

    bool is_undef() const { return tag == Tag::Undef; }
    bool is_none() const { return tag == Tag::None; }
    bool is_bool() const { return tag == Tag::Bool; }
    bool is_int() const { return tag == Tag::Int; }
    bool is_float() const { return tag == Tag::Float; }
    bool is_obj() const { return tag == Tag::Obj; }
    bool is_kind(Kind kind) const { return tag == Tag::Obj && o->kind == kind; }
    // `is` of the language: same immediate or same object.
    bool same(Value other) const { return tag == other.tag && i == other.i; }

  private:
    constexpr Value(Tag t, int64_t x) : tag(t), i(x) {}
};
static_assert(sizeof(Value) == 16);

inline void incref(Value v) {
    if (v.tag == Tag::Obj) v.o->refs++;
}
inline void decref(Object* o) {
    if (--o->refs == 0) destroy_object(o);
}
inline void decref(Value v) {
    if (v.tag == Tag::Obj) decref(v.o);
}

// Owns one reference to the value it holds (none for immediates). Undef when empty.
class Ref {
  public:
    Ref() = default;
    Ref(Value borrowed) : value_(borrowed) { incref(value_); }  // NOLINT: shares
    Ref(Object* borrowed) : Ref(Value::object(borrowed)) {}     // NOLINT: shares
    Ref(const Ref& other) : value_(other.value_) { incref(value_); }
    Ref(Ref&& other) noexcept : value_(other.release()) {}
    Ref& operator=(Ref other) noexcept {
        std::swap(value_, other.value_);
        return *this;
    }
    ~Ref() { decref(value_); }

    // Takes over a reference that the caller owns.
    static Ref steal(Value owned) {
        Ref r;
        r.value_ = owned;
        return r;
    }
    // Gives the reference to the caller, who must drop it.
    [[nodiscard]] Value release() {
        Value v = value_;
        value_ = Value();
        return v;
    }
    Value get() const { return value_; }
    operator Value() const { return value_; }  // NOLINT: borrows
    explicit operator bool() const { return !value_.is_undef(); }

    bool is_undef() const { return value_.is_undef(); }
    bool is_none() const { return value_.is_none(); }
    bool is_kind(Kind kind) const { return value_.is_kind(kind); }

  private:
    Value value_;
};

// An owning pointer to an object of known type; never holds an immediate.
template <class T>
class Ptr {
  public:
    Ptr() = default;
    Ptr(std::nullptr_t) {}  // NOLINT
    explicit Ptr(T* borrowed) : object_(borrowed) {
        if (object_) object_->refs++;
    }
    Ptr(const Ptr& other) : Ptr(other.object_) {}
    Ptr(Ptr&& other) noexcept : object_(other.release()) {}
    Ptr& operator=(Ptr other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ptr() {
        if (object_) decref(static_cast<Object*>(object_));
    }
    static Ptr steal(T* owned) {
        Ptr p;
        p.object_ = owned;
        return p;
    }
    [[nodiscard]] T* release() { return std::exchange(object_, nullptr); }
    T* get() const { return object_; }
    T* operator->() const { return object_; }
    T& operator*() const { return *object_; }
    explicit operator bool() const { return object_ != nullptr; }
    operator Ref() const& { return Ref(Value::object(object_)); }            // NOLINT: shares
    operator Ref() && { return Ref::steal(Value::object(release())); }       // NOLINT: hands over
    operator Value() const { return Value::object(object_); }                // NOLINT: borrows

  private:
    T* object_ = nullptr;
};

}  // namespace talc::vm
