#pragma once
// Between C++ values and script values. Both directions copy, but for Value (a reference), std::function (which keeps the
// script's function, or the host's, alive), std::string_view (the script's own text, as long as its value lives) and
// TensorView (shared memory). Add a type of your own by specialising talc::detail::Convert:
//     static T from(EngineState*, Raw borrowed);      // throws Error
//     static Raw to(EngineState*, const T& value);    // owned
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "talc/value.hpp"

namespace talc::detail {

template <>
struct Convert<Value> {
    static Value from(EngineState* engine, Raw v) {
        retain(v);
        return Value(engine, v);
    }
    static Raw to(EngineState*, const Value& value) {
        if (value.empty()) return raw_none();
        retain(value.raw());
        return value.raw();
    }
};

template <>
struct Convert<bool> {
    static bool from(EngineState* engine, Raw v) { return v.tag == kBool ? v.i != 0 : truth_of(engine, v); }
    static Raw to(EngineState*, bool value) { return raw_bool(value); }
};

template <class T>
    requires std::is_integral_v<T>
struct Convert<T> {
    static T from(EngineState* engine, Raw v) {
        int64_t x = v.tag == kInt ? v.i : int_of(engine, v);
        if constexpr (sizeof(T) < sizeof(int64_t) || std::is_unsigned_v<T>) {
            bool fits = std::is_unsigned_v<T> && sizeof(T) == sizeof(int64_t)
                            ? x >= 0
                            : x >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
                                  x <= static_cast<int64_t>(std::numeric_limits<T>::max());
            if (!fits) type_error(engine, "the int " + std::to_string(x) + " does not fit the host's integer type");
        }
        return static_cast<T>(x);
    }
    static Raw to(EngineState* engine, T value) {
        if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(int64_t)) {
            if (value > static_cast<T>(std::numeric_limits<int64_t>::max())) {
                type_error(engine, "the host's integer does not fit in 64 bits with a sign");
            }
        }
        return raw_int(static_cast<int64_t>(value));
    }
};

template <class T>
    requires std::is_floating_point_v<T>
struct Convert<T> {
    static T from(EngineState* engine, Raw v) { return static_cast<T>(v.tag == kFloat ? v.f : float_of(engine, v)); }
    static Raw to(EngineState*, T value) { return raw_float(static_cast<double>(value)); }
};

template <>
struct Convert<std::string> {
    static std::string from(EngineState* engine, Raw v) { return std::string(text_of(engine, v)); }
    static Raw to(EngineState* engine, const std::string& value) { return make_text(engine, value); }
};
template <>
struct Convert<std::string_view> {
    static std::string_view from(EngineState* engine, Raw v) { return text_of(engine, v); }  // lives as long as the value
    static Raw to(EngineState* engine, std::string_view value) { return make_text(engine, value); }
};
template <>
struct Convert<const char*> {
    static Raw to(EngineState* engine, const char* value) { return make_text(engine, value); }
};
template <size_t N>
struct Convert<char[N]> {
    static Raw to(EngineState* engine, const char* value) { return make_text(engine, value); }
};
template <>
struct Convert<std::nullptr_t> {
    static Raw to(EngineState*, std::nullptr_t) { return raw_none(); }
};

// Releases references that a conversion which throws would leave behind.
struct Owned {
    std::vector<Raw> items;
    ~Owned() {
        for (Raw v : items) release(v);
    }
    std::vector<Raw> take() { return std::exchange(items, {}); }
};

template <class T>
struct Convert<std::vector<T>> {
    static std::vector<T> from(EngineState* engine, Raw v) {
        Owned parts{items_of(engine, v)};
        std::vector<T> result;
        result.reserve(parts.items.size());
        for (Raw item : parts.items) result.push_back(Convert<T>::from(engine, item));
        return result;
    }
    static Raw to(EngineState* engine, const std::vector<T>& value) {
        Owned parts;
        parts.items.reserve(value.size());
        for (const T& item : value) parts.items.push_back(Convert<T>::to(engine, item));
        std::vector<Raw> given = parts.take();
        return make_list(engine, given.data(), given.size());
    }
};

template <class M>
struct ConvertMap {
    using K = typename M::key_type;
    using V = typename M::mapped_type;
    static M from(EngineState* engine, Raw v) {
        Owned parts{pairs_of(engine, v)};
        M result;
        for (size_t i = 0; i < parts.items.size(); i += 2) {
            result.emplace(Convert<K>::from(engine, parts.items[i]), Convert<V>::from(engine, parts.items[i + 1]));
        }
        return result;
    }
    static Raw to(EngineState* engine, const M& value) {
        Owned parts;
        for (const auto& [key, item] : value) {
            parts.items.push_back(Convert<K>::to(engine, key));
            parts.items.push_back(Convert<V>::to(engine, item));
        }
        std::vector<Raw> given = parts.take();
        return make_dict(engine, given.data(), given.size() / 2);
    }
};
template <class K, class V>
struct Convert<std::map<K, V>> : ConvertMap<std::map<K, V>> {};
template <class K, class V>
struct Convert<std::unordered_map<K, V>> : ConvertMap<std::unordered_map<K, V>> {};

template <class T>
struct Convert<std::optional<T>> {
    static std::optional<T> from(EngineState* engine, Raw v) {
        if (v.tag == kNone) return std::nullopt;
        return Convert<T>::from(engine, v);
    }
    static Raw to(EngineState* engine, const std::optional<T>& value) {
        return value ? Convert<T>::to(engine, *value) : raw_none();
    }
};

template <class... T>
struct Convert<std::tuple<T...>> {
    static std::tuple<T...> from(EngineState* engine, Raw v) {
        Owned parts{items_of(engine, v)};
        if (parts.items.size() != sizeof...(T)) {
            type_error(engine, "expected " + std::to_string(sizeof...(T)) + " items, got " + std::to_string(parts.items.size()));
        }
        return from_items(engine, parts.items, std::index_sequence_for<T...>());
    }
    static Raw to(EngineState* engine, const std::tuple<T...>& value) {
        Owned parts;
        std::apply([&](const T&... item) { (parts.items.push_back(Convert<T>::to(engine, item)), ...); }, value);
        std::vector<Raw> given = parts.take();
        return make_tuple(engine, given.data(), given.size());
    }

  private:
    template <size_t... I>
    static std::tuple<T...> from_items(EngineState* engine, const std::vector<Raw>& items, std::index_sequence<I...>) {
        return {Convert<T>::from(engine, items[I])...};
    }
};
template <class A, class B>
struct Convert<std::pair<A, B>> {
    static std::pair<A, B> from(EngineState* engine, Raw v) {
        auto [a, b] = Convert<std::tuple<A, B>>::from(engine, v);
        return {std::move(a), std::move(b)};
    }
    static Raw to(EngineState* engine, const std::pair<A, B>& value) {
        return Convert<std::tuple<A, B>>::to(engine, std::tuple<A, B>(value.first, value.second));
    }
};

template <class... A>
Raw call_with(EngineState* engine, Raw callee, const A&... args) {
    constexpr size_t kCount = sizeof...(A);
    Raw raw[kCount + 1];
    struct Guard {
        Raw* raw;
        size_t made = 0;
        ~Guard() {
            for (size_t i = 0; i < made; i++) release(raw[i]);
        }
    } guard{raw};
    ((raw[guard.made] = Convert<std::decay_t<const A&>>::to(engine, args), guard.made++), ...);
    return call(engine, callee, raw, kCount);
}

// A script function as a C++ one; it keeps the script function alive.
template <class R, class... A>
struct Convert<std::function<R(A...)>> {
    static std::function<R(A...)> from(EngineState* engine, Raw v) {
        if (!is_callable(engine, v)) type_error(engine, "expected a callable, got " + type_name(engine, v));
        Value function = Convert<Value>::from(engine, v);
        return [function](A... args) -> R {
            Value result(function.engine(), call_with(function.engine(), function.raw(), args...));
            if constexpr (!std::is_void_v<R>) return result.template as<R>();
        };
    }
    static Raw to(EngineState* engine, const std::function<R(A...)>& value);
};

// ---- Host functions -------------------------------------------------------------------------------

// What a script calls when it calls a bound C++ function.
struct TALC_API HostFunction {
    virtual ~HostFunction() = default;
    virtual Raw call(EngineState* engine, const Raw* args) = 0;   // as many args as it takes; gives an owned result
};
TALC_API Raw make_host_function(EngineState* engine, std::string_view name, size_t arity, size_t required,
                                std::unique_ptr<HostFunction> function);

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;

template <class F, class R, class... A>
struct BoundFunction final : HostFunction {
    F function;
    explicit BoundFunction(F f) : function(std::move(f)) {}
    Raw call(EngineState* engine, const Raw* args) override { return invoke(engine, args, std::index_sequence_for<A...>()); }

    // Trailing optional parameters may be left out by the script.
    static constexpr size_t required() {
        constexpr bool optional[] = {kIsOptional<std::decay_t<A>>..., false};
        size_t count = sizeof...(A);
        while (count > 0 && optional[count - 1]) count--;
        return count;
    }

  private:
    template <size_t... I>
    Raw invoke(EngineState* engine, const Raw* args, std::index_sequence<I...>) {
        (void)args;
        if constexpr (std::is_void_v<R>) {
            function(Convert<std::decay_t<A>>::from(engine, args[I])...);
            (void)engine;
            return raw_none();
        } else {
            return Convert<std::decay_t<R>>::to(engine, function(Convert<std::decay_t<A>>::from(engine, args[I])...));
        }
    }
};

template <class F>
struct Bind : Bind<decltype(&F::operator())> {};
template <class C, class R, class... A>
struct Bind<R (C::*)(A...) const> {
    template <class F>
    using Type = BoundFunction<F, R, A...>;
    static constexpr size_t kArity = sizeof...(A);
};
template <class C, class R, class... A>
struct Bind<R (C::*)(A...)> : Bind<R (C::*)(A...) const> {};
template <class R, class... A>
struct Bind<R (*)(A...)> : Bind<R (Engine::*)(A...) const> {};

template <class F>
Raw bind_function(EngineState* engine, std::string_view name, F function) {
    using Bound = typename Bind<F>::template Type<F>;
    return make_host_function(engine, name, Bind<F>::kArity, Bound::required(), std::make_unique<Bound>(std::move(function)));
}

template <class R, class... A>
Raw Convert<std::function<R(A...)>>::to(EngineState* engine, const std::function<R(A...)>& value) {
    return bind_function(engine, "host function", value);
}

}  // namespace talc::detail

namespace talc {

template <class T>
void Value::set_attr(std::string_view name, const T& value) const {
    Value made(engine_, detail::Convert<std::decay_t<const T&>>::to(engine_, value));
    detail::set_attr(engine_, raw_, name, made.raw());
}
template <class K>
Value Value::at(const K& key) const {
    Value made(engine_, detail::Convert<std::decay_t<const K&>>::to(engine_, key));
    return Value(engine_, detail::get_item(engine_, raw_, made.raw()));
}
template <class K, class T>
void Value::set_at(const K& key, const T& value) const {
    Value made_key(engine_, detail::Convert<std::decay_t<const K&>>::to(engine_, key));
    Value made(engine_, detail::Convert<std::decay_t<const T&>>::to(engine_, value));
    detail::set_item(engine_, raw_, made_key.raw(), made.raw());
}
template <class... A>
Value Value::operator()(const A&... args) const {
    return Value(engine_, detail::call_with(engine_, raw_, args...));
}

}  // namespace talc
