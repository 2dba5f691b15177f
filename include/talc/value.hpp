#pragma once
// Script values in C++, and script errors.
//
// Ownership: a Value owns one reference to the script's value and keeps it alive; copies share it (lists, dicts and
// objects are the script's own, not copies). A Value must not outlive its Engine, and is used by the thread that uses
// the engine.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "talc/export.hpp"

namespace talc {

class Engine;
class Value;

// A place in the call chain of an error.
struct Place {
    std::string file;
    uint32_t line = 0;    // from 1
    uint32_t column = 0;  // from 1
    std::string function;
    std::string source;   // the line's text
};

namespace detail {

struct EngineState;

// A value as the VM stores it; the layout is the library's own.
struct Raw {
    uint32_t tag = 0;
    uint32_t unused = 0;
    union {
        int64_t i;
        double f;
        void* o;
    };
    constexpr Raw() : i(0) {}
};
enum RawTag : uint32_t { kUndef, kNone, kBool, kInt, kFloat, kNotImplemented, kEllipsis, kObject };

inline Raw raw_none() {
    Raw r;
    r.tag = kNone;
    return r;
}
inline Raw raw_bool(bool x) {
    Raw r;
    r.tag = kBool;
    r.i = x;
    return r;
}
inline Raw raw_int(int64_t x) {
    Raw r;
    r.tag = kInt;
    r.i = x;
    return r;
}
inline Raw raw_float(double x) {
    Raw r;
    r.tag = kFloat;
    r.f = x;
    return r;
}

// All of these give references that the caller owns, take borrowed ones, and throw Error.
TALC_API void retain_object(void* object) noexcept;
TALC_API void release_object(void* object) noexcept;
inline void retain(Raw v) noexcept {
    if (v.tag == kObject) retain_object(v.o);
}
inline void release(Raw v) noexcept {
    if (v.tag == kObject) release_object(v.o);
}
TALC_API Raw call(EngineState* engine, Raw callee, const Raw* args, size_t count);
TALC_API Raw make_text(EngineState* engine, std::string_view text);
TALC_API Raw make_list(EngineState* engine, const Raw* items, size_t count);   // takes over the items
TALC_API Raw make_tuple(EngineState* engine, const Raw* items, size_t count);  // takes over the items
TALC_API Raw make_dict(EngineState* engine, const Raw* pairs, size_t count);   // key, value, key ...: takes them over
TALC_API std::string_view text_of(EngineState* engine, Raw v);                 // lives as long as v; TypeError
TALC_API int64_t int_of(EngineState* engine, Raw v);                           // __index__; TypeError
TALC_API double float_of(EngineState* engine, Raw v);
TALC_API bool truth_of(EngineState* engine, Raw v);
TALC_API std::vector<Raw> items_of(EngineState* engine, Raw iterable);         // owned
TALC_API std::vector<Raw> pairs_of(EngineState* engine, Raw mapping);          // owned, key and value in turn
TALC_API Raw get_attr(EngineState* engine, Raw v, std::string_view name);
TALC_API void set_attr(EngineState* engine, Raw v, std::string_view name, Raw value);
TALC_API Raw get_item(EngineState* engine, Raw v, Raw key);
TALC_API void set_item(EngineState* engine, Raw v, Raw key, Raw value);
TALC_API std::string describe(EngineState* engine, Raw v, bool repr);
TALC_API std::string type_name(EngineState* engine, Raw v);
TALC_API size_t length(EngineState* engine, Raw v);
TALC_API bool is_callable(EngineState* engine, Raw v);
[[noreturn]] TALC_API void type_error(EngineState* engine, const std::string& message);

template <class T>
struct Convert;  // convert.hpp

}  // namespace detail

// An uncaught exception of a script, as data. what() is "TypeError: message".
class TALC_API Error : public std::exception {
  public:
    Error(std::string type, std::string message, std::string report, std::vector<Place> traceback)
        : type_(std::move(type)), message_(std::move(message)), report_(std::move(report)), traceback_(std::move(traceback)) {
        what_ = message_.empty() ? type_ : type_ + ": " + message_;
    }
    const char* what() const noexcept override { return what_.c_str(); }
    const std::string& type() const { return type_; }          // the exception's class
    const std::string& message() const { return message_; }
    const std::string& report() const { return report_; }      // call chain, source lines with carets, message
    const std::vector<Place>& traceback() const { return traceback_; }  // outermost call first

  private:
    std::string type_, message_, report_, what_;
    std::vector<Place> traceback_;
};

class Value {
  public:
    Value() = default;  // empty: not even None
    Value(const Value& other) : engine_(other.engine_), raw_(other.raw_) { detail::retain(raw_); }
    Value(Value&& other) noexcept : engine_(other.engine_), raw_(std::exchange(other.raw_, detail::Raw())) {}
    Value& operator=(Value other) noexcept {
        std::swap(engine_, other.engine_);
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~Value() { detail::release(raw_); }

    bool empty() const { return raw_.tag == detail::kUndef; }
    bool is_none() const { return raw_.tag == detail::kNone; }
    bool is_bool() const { return raw_.tag == detail::kBool; }
    bool is_int() const { return raw_.tag == detail::kInt; }
    bool is_float() const { return raw_.tag == detail::kFloat; }
    bool is_callable() const { return detail::is_callable(engine_, raw_); }
    std::string type() const { return detail::type_name(engine_, raw_); }
    std::string str() const { return detail::describe(engine_, raw_, false); }
    std::string repr() const { return detail::describe(engine_, raw_, true); }
    size_t size() const { return detail::length(engine_, raw_); }
    bool truth() const { return detail::truth_of(engine_, raw_); }

    // As a C++ value: numbers, bool, std::string, vector, map, optional, pair, tuple, std::function, Value. A value that
    // does not fit is a TypeError (or OverflowError), thrown as Error.
    template <class T>
    T as() const {
        if (empty()) throw Error("TypeError", "the value is empty", {}, {});
        return detail::Convert<T>::from(engine_, raw_);
    }

    Value attr(std::string_view name) const { return Value(engine_, detail::get_attr(engine_, raw_, name)); }
    template <class T>
    void set_attr(std::string_view name, const T& value) const;
    template <class K>
    Value at(const K& key) const;  // v[key]
    template <class K, class T>
    void set_at(const K& key, const T& value) const;
    // Calls it.
    template <class... A>
    Value operator()(const A&... args) const;

    // For the library and Convert: takes over a reference.
    Value(detail::EngineState* engine, detail::Raw owned) : engine_(engine), raw_(owned) {}
    detail::EngineState* engine() const { return engine_; }
    detail::Raw raw() const { return raw_; }

  private:
    detail::EngineState* engine_ = nullptr;
    detail::Raw raw_;
};

}  // namespace talc
