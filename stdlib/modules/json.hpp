#pragma once
// JSON in both directions, as CPython's module json reads and writes it.
#include "base/text/buffer.hpp"
#include "stdlib/support.hpp"

namespace talc::stdlib::json {

struct EncodeOptions {
    Value fallback = Value::none();   // called for a value that JSON has no form for (default=)
    bool skip_keys = false;
    bool ensure_ascii = true;
    bool check_circular = true;
    bool allow_nan = true;
    bool sort_keys = false;
    bool has_indent = false;
    std::string indent;               // of one level
    std::string item_separator = ", ";
    std::string key_separator = ": ";
};
Ref encode(Vm& vm, Value value, const EncodeOptions& options);

// Hooks: None where there is none.
struct DecodeOptions {
    Value object_hook = Value::none();
    Value parse_float = Value::none();
    Value parse_int = Value::none();
    Value parse_constant = Value::none();
    Value object_pairs_hook = Value::none();
    bool strict = true;               // no control characters in strings
};
// A value that begins at byte `at` (no space before it), which moves behind it.
Ref decode(Vm& vm, Str* text, size_t& at, const DecodeOptions& options);
size_t skip_space(std::string_view text, size_t at);

// JSONDecodeError: "Expecting value: line 1 column 1 (char 0)"; `at` in bytes.
[[noreturn]] void raise_decode_error(Vm& vm, const char* message, Str* text, size_t at);

}  // namespace talc::stdlib::json
