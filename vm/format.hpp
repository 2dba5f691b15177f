#pragma once
// Values as text by a format: f"{x:spec}", format(x, spec) and "..." % values.
#include <string_view>

#include "base/text/result.hpp"
#include "vm/object.hpp"

namespace talc::vm {

// What the value's builtin class does with a format spec (int.__format__ and so on), script overrides left out.
// format() in protocol.hpp looks for those first.
Ptr<Str> format_plain(Vm& vm, Value v, std::string_view spec);

// format % args
Ref str_percent(Vm& vm, Str* format, Value args);

// A failure of the text functions as the script exception that it stands for.
[[noreturn]] void raise_failure(Vm& vm, const text::Failure& failure);
inline void check(Vm& vm, const text::Status& status) {
    if (!status.ok()) [[unlikely]] raise_failure(vm, status.failure());
}
template <class T>
T check(Vm& vm, text::Result<T> result) {
    if (!result.ok()) [[unlikely]] raise_failure(vm, result.failure());
    return std::move(*result);
}

// Most bytes that a text under construction may take now (text::Buffer's limit).
size_t text_limit(Vm& vm);

}  // namespace talc::vm
