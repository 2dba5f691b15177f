#pragma once
// Binding arguments to parameters, of script functions and natives.
#include <vector>

#include "vm/object.hpp"

namespace talc::vm {

// The parsed signature of a native (builtins.def). Parameters in order: positional (the first
// positional_only of them by position alone), then keyword-only.
struct Signature {
    struct Parameter {
        Str* name;
        Ref fallback;       // Undef when `required`, or when the default is ? (absent)
        bool required;
    };
    std::vector<Parameter> parameters;
    uint16_t positional_only = 0;
    uint16_t positional = 0;
    uint16_t required = 0;  // leading positional parameters without a default
    bool all_optional = true;   // the parameters behind those are
    bool has_rest = false;
    bool has_keywords = false;
    bool is_static = false;
    bool is_class = false;
    bool is_property = false;
};
Signature* parse_signature(Vm& vm, const NativeRow& row);
Signature& signature_of(Vm& vm, Native* native);

// Binds a call to a script function's registers: the values are copied (shared). Raises CPython's TypeErrors.
void bind_arguments(Vm& vm, Function* function, Value* registers, const Value* args, size_t count,
                    Str* const* keyword_names, size_t nkeywords);
// Calls a native with arguments as they stand at the call.
Ref call_native(Vm& vm, Native* native, const Value* args, size_t count, Str* const* keyword_names, size_t nkeywords);
// Makes an instance: __new__, then __init__.
Ref call_class(Vm& vm, Class* cls, const Value* args, size_t count, Str* const* keyword_names, size_t nkeywords);

}  // namespace talc::vm
