#include "vm/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "vm/namespace.hpp"
#include "vm/tensor.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

std::string quoted_list(const std::vector<std::string>& names) {
    std::string out;
    for (size_t i = 0; i < names.size(); i++) {
        if (i) out += names.size() == 2 ? " and " : i + 1 == names.size() ? ", and " : ", ";
        out += "'" + names[i] + "'";
    }
    return out;
}

[[noreturn]] void too_many_positional(Vm& vm, Function* function, size_t given, size_t keyword_only_given) {
    const lang::Code& code = *function->code->plain;
    size_t defaults = function->defaults ? function->defaults->size : 0;
    std::string takes = defaults ? fmt::format("from {} to {}", code.positional - defaults, code.positional)
                                 : fmt::format("{}", code.positional);
    bool plural = defaults ? true : code.positional != 1;
    std::string extra;
    if (keyword_only_given) {
        extra = fmt::format(" positional argument{} (and {} keyword-only argument{})", given != 1 ? "s" : "",
                            keyword_only_given, keyword_only_given != 1 ? "s" : "");
    }
    raise(vm, Exc::TypeError, "{}() takes {} positional argument{} but {}{} {} given", function->qualname->view(), takes,
          plural ? "s" : "", given, extra, given == 1 && extra.empty() ? "was" : "were");
}

int find_parameter(const lang::Code& code, std::string_view name, int begin, int end) {
    for (int i = begin; i < end; i++) {
        if (code.local_names[static_cast<size_t>(i)] == name) return i;
    }
    return -1;
}

}  // namespace

void bind_arguments(Vm& vm, Function* function, Value* registers, const Value* args, size_t count,
                    Str* const* keyword_names, size_t nkeywords) {
    const lang::Code& code = *function->code->plain;
    size_t given = count - nkeywords;
    size_t positional = code.positional;
    size_t taken = given < positional ? given : positional;
    size_t named_end = positional + code.keyword_only;
    for (size_t i = 0; i < taken; i++) {
        registers[i] = args[i];
        incref(args[i]);
    }
    if (code.has_varargs) {
        registers[named_end] = Value::object(make_tuple(vm, args + taken, given - taken).release());
    }
    Dict* keywords = nullptr;
    if (code.has_varkw) {
        keywords = make_dict(vm).release();
        registers[named_end + (code.has_varargs ? 1 : 0)] = Value::object(keywords);
    }
    for (size_t k = 0; k < nkeywords; k++) {
        std::string_view name = keyword_names[k]->view();
        int at = find_parameter(code, name, code.positional_only, static_cast<int>(named_end));
        if (at < 0) {
            if (keywords) {
                dict_set(vm, keywords, Value::object(keyword_names[k]), args[given + k]);
                continue;
            }
            if (find_parameter(code, name, 0, code.positional_only) >= 0) {
                std::vector<std::string> wrong;
                for (size_t j = 0; j < nkeywords; j++) {
                    if (find_parameter(code, keyword_names[j]->view(), 0, code.positional_only) >= 0) {
                        wrong.push_back(keyword_names[j]->string());
                    }
                }
                std::string names;
                for (const auto& w : wrong) names += (names.empty() ? "" : ", ") + w;
                raise(vm, Exc::TypeError, "{}() got some positional-only arguments passed as keyword arguments: '{}'",
                      function->qualname->view(), names);
            }
            raise(vm, Exc::TypeError, "{}() got an unexpected keyword argument '{}'", function->qualname->view(), name);
        }
        if (!registers[at].is_undef()) {
            raise(vm, Exc::TypeError, "{}() got multiple values for argument '{}'", function->qualname->view(), name);
        }
        registers[at] = args[given + k];
        incref(registers[at]);
    }
    if (given > positional && !code.has_varargs) {
        size_t keyword_only_given = 0;
        for (size_t i = positional; i < named_end; i++) keyword_only_given += !registers[i].is_undef();
        too_many_positional(vm, function, given, keyword_only_given);
    }
    size_t defaults = function->defaults ? function->defaults->size : 0;
    std::vector<std::string> missing;
    for (size_t i = taken; i < positional; i++) {
        if (!registers[i].is_undef()) continue;
        if (i + defaults >= positional) {
            registers[i] = function->defaults->items[i + defaults - positional];
            incref(registers[i]);
        } else {
            missing.push_back(code.local_names[i]);
        }
    }
    const char* what = "positional";
    if (missing.empty()) {
        for (size_t i = positional; i < named_end; i++) {
            if (!registers[i].is_undef()) continue;
            Value fallback;
            if (function->keyword_defaults) {
                fallback = dict_get(vm, function->keyword_defaults, intern(vm, code.local_names[i]).get());
            }
            if (fallback.is_undef()) {
                missing.push_back(code.local_names[i]);
                what = "keyword-only";
                continue;
            }
            registers[i] = fallback;
            incref(fallback);
        }
    }
    if (!missing.empty()) {
        raise(vm, Exc::TypeError, "{}() missing {} required {} argument{}: {}", function->qualname->view(), missing.size(), what,
              missing.size() == 1 ? "" : "s", quoted_list(missing));
    }
}

// ---- Natives --------------------------------------------------------------------------------------

namespace {

class SignatureParser {
  public:
    SignatureParser(Vm& vm, std::string_view text, Signature& out) : vm_(vm), text_(text), out_(out) {}

    void parse() {
        for (auto [prefix, flag] : {std::pair{"static ", &out_.is_static}, std::pair{"class ", &out_.is_class},
                                    std::pair{"property ", &out_.is_property}}) {
            if (text_.starts_with(prefix)) {
                *flag = true;
                text_.remove_prefix(std::string_view(prefix).size());
            }
        }
        assert(text_.starts_with("(") && text_.ends_with(")"));
        text_ = text_.substr(1, text_.size() - 2);
        bool keyword_only = false;
        bool optional_seen = false;
        while (skip_space(), !text_.empty()) {
            std::string_view part = take_part();
            if (part == "/") {
                out_.positional_only = static_cast<uint16_t>(out_.parameters.size());
            } else if (part == "*") {
                keyword_only = true;
            } else if (part.starts_with("**")) {
                out_.has_keywords = true;
            } else if (part.starts_with("*")) {
                out_.has_rest = true;
                keyword_only = true;
            } else {
                size_t equals = part.find('=');
                Signature::Parameter parameter{intern(vm_, part.substr(0, equals)).release(), {}, equals == part.npos};
                if (parameter.required && (keyword_only || optional_seen)) out_.all_optional = false;
                if (!parameter.required) {
                    parameter.fallback = literal(part.substr(equals + 1));
                    optional_seen = true;
                }
                out_.parameters.push_back(std::move(parameter));
                if (!keyword_only) {
                    out_.positional++;
                    if (!optional_seen) out_.required++;
                }
            }
        }
    }

  private:
    void skip_space() {
        while (text_.starts_with(" ")) text_.remove_prefix(1);
    }
    std::string_view take_part() {
        size_t at = 0;
        bool quoted = false;
        int depth = 0;
        for (; at < text_.size(); at++) {
            if (text_[at] == '\'') quoted = !quoted;
            if (!quoted && text_[at] == '(') depth++;
            if (!quoted && text_[at] == ')') depth--;
            if (!quoted && depth == 0 && text_[at] == ',') break;
        }
        std::string_view part = text_.substr(0, at);
        text_.remove_prefix(at < text_.size() ? at + 1 : at);
        return part;
    }
    Ref literal(std::string_view text) {
        if (text == "?") return {};
        if (text == "None") return Value::none();
        if (text == "True") return Value::boolean(true);
        if (text == "False") return Value::boolean(false);
        if (text == "()") return vm_.empty_tuple;
        if (text.starts_with("'")) {
            std::string plain;
            for (size_t i = 1; i + 1 < text.size(); i++) {
                if (text[i] == '\\' && text[i + 1] == 'n') {
                    plain += '\n';
                    i++;
                } else {
                    plain += text[i];
                }
            }
            return make_str(vm_, plain);
        }
        if (text.find_first_of(".en") != text.npos) {
            double x = 0;
            std::from_chars(text.data(), text.data() + text.size(), x);
            return Value::real(x);
        }
        int64_t x = 0;
        std::from_chars(text.data(), text.data() + text.size(), x);
        return Value::integer(x);
    }

    Vm& vm_;
    std::string_view text_;
    Signature& out_;
};

bool is_constructor(const Native* native) {
    return native->owner && (native->name->view() == "__new__" || native->name->view() == "__init__");
}

// The name in messages about arguments: "list.append", "len", and the class itself where it is called.
std::string native_name(const Native* native, const Signature& signature) {
    if (is_constructor(native)) return native->owner->name->string();
    if (!native->owner && native->row->owner[0]) return fmt::format("{}.{}", native->row->owner, native->name->view());  // a module's
    if (native->owner && !signature.is_static) return fmt::format("{}.{}", native->owner->name->view(), native->name->view());
    return native->name->string();
}

// CPython's argument parsers have different words for functions that take keyword arguments and for those that do not.
[[noreturn]] void wrong_count(Vm& vm, Native* native, const Signature& s, size_t given) {
    bool constructor = is_constructor(native);
    size_t hidden = constructor || (native->owner && !s.is_static) ? 1 : 0;   // self or cls
    std::string full = native_name(native, s);
    std::string name = constructor ? full : native->name->string();
    if (given < hidden && constructor) raise(vm, Exc::TypeError, "{}.__new__(): not enough arguments", name);
    if (given < hidden) raise(vm, Exc::TypeError, "unbound method {}() needs an argument", full);
    size_t least = s.required > hidden ? s.required - hidden : 0;
    size_t most = s.positional - hidden;
    given -= hidden;
    auto plural = [](size_t n) { return n == 1 ? "" : "s"; };
    bool keyword_only = s.parameters.size() > s.positional;
    if (keyword_only || s.positional > std::max<size_t>(s.positional_only, hidden)) {
        if (given < least) {
            size_t missing = given + hidden;
            if (missing >= s.positional_only) {
                raise(vm, Exc::TypeError, "{}() missing required argument '{}' (pos {})", name,
                      s.parameters[missing].name->view(), given + 1);
            }
            raise(vm, Exc::TypeError, "{}() takes {} {} positional argument{} ({} given)", name,
                  least == most ? "exactly" : "at least", least, plural(least), given);
        }
        if (most == 0) raise(vm, Exc::TypeError, "{}() takes no positional arguments", name);
        raise(vm, Exc::TypeError, "{}() takes {} {}{} argument{} ({} given)", name, least == most ? "exactly" : "at most",
              most, keyword_only ? " positional" : "", plural(most), given);
    }
    if (most == 0) raise(vm, Exc::TypeError, "{}() takes no arguments ({} given)", full, given);
    if (least == most && most == 1) raise(vm, Exc::TypeError, "{}() takes exactly one argument ({} given)", full, given);
    bool few = given < least;
    size_t bound = few ? least : most;
    // find, count, startswith and the like say it in their own way.
    if (least == 1 && most == 3 && native->owner && (native->owner == vm.classes.str || native->owner == vm.classes.bytes)) {
        raise(vm, Exc::TypeError, "{}() takes at {} {} argument{} ({} given)", name, few ? "least" : "most", bound, plural(bound), given);
    }
    raise(vm, Exc::TypeError, "{} expected {}{} argument{}, got {}", name,
          least == most ? "" : few ? "at least " : "at most ", bound, plural(bound), given);
}

// How a native call is made, hooks included.
Ref invoke(Vm& vm, Native* native, const Args& args) {
    auto run = [&] { return with_tensor_errors(vm, [&] { return native->row->fn(vm, args); }); };
    if (!vm.hooks.native_call) [[likely]] return run();
    vm.hooks.native_call(vm.hooks.context, vm, *native, args);
    Ref result;
    try {
        result = run();
    } catch (Raised&) {
        if (vm.hooks.native_return) vm.hooks.native_return(vm.hooks.context, vm, *native, Value());
        throw;
    }
    if (vm.hooks.native_return) vm.hooks.native_return(vm.hooks.context, vm, *native, result);
    return result;
}

void check_receiver(Vm& vm, Native* native, const Signature& s, const Value* args, size_t given) {
    if (!native->owner || s.is_static || s.is_class || given == 0) return;
    if (native->name == vm.names.special(Special::New)) return;
    if (!is_instance(vm, args[0], native->owner)) {
        raise(vm, Exc::TypeError, "descriptor '{}' for '{}' objects doesn't apply to a '{}' object", native->name->view(),
              native->owner->name->view(), class_name(vm, args[0]));
    }
}

}  // namespace

Signature* parse_signature(Vm& vm, const NativeRow& row) {
    auto signature = std::make_unique<Signature>();
    SignatureParser(vm, row.signature, *signature).parse();
    return signature.release();
}

Signature& signature_of(Vm& vm, Native* native) {
    if (!native->signature) native->signature = parse_signature(vm, *native->row);
    return *native->signature;
}

Ref call_native(Vm& vm, Native* native, const Value* args, size_t count, Str* const* keyword_names, size_t nkeywords) {
    Signature& s = signature_of(vm, native);
    size_t given = count - nkeywords;
    check_receiver(vm, native, s, args, given);
    Args bound;
    bound.state = native->state.get();
    if (nkeywords == 0 && given == s.parameters.size() && s.positional == given) {
        bound.values = args;
        return invoke(vm, native, bound);
    }
    constexpr size_t kFew = 6;
    if (nkeywords == 0 && given >= s.required && given <= s.positional && s.parameters.size() <= kFew && s.all_optional) {
        Value few[kFew];
        for (size_t i = 0; i < given; i++) few[i] = args[i];
        for (size_t i = given; i < s.parameters.size(); i++) few[i] = s.parameters[i].fallback;
        bound.values = few;
        return invoke(vm, native, bound);
    }
    if (given > s.positional) {
        if (!s.has_rest) wrong_count(vm, native, s, given);
        bound.rest = args + s.positional;
        bound.nrest = given - s.positional;
        given = s.positional;
    }
    constexpr size_t kMaxParameters = 24;
    assert(s.parameters.size() <= kMaxParameters);
    Value values[kMaxParameters];
    for (size_t i = 0; i < given; i++) values[i] = args[i];
    std::vector<Str*> extra_names;
    std::vector<Value> extra_values;
    const Value* keyword_values = args + (count - nkeywords);
    for (size_t k = 0; k < nkeywords; k++) {
        size_t at = s.positional_only;
        while (at < s.parameters.size() && s.parameters[at].name != keyword_names[k] &&
               s.parameters[at].name->view() != keyword_names[k]->view()) {
            at++;
        }
        if (at < s.parameters.size()) {
            if (!values[at].is_undef()) {
                raise(vm, Exc::TypeError, "argument for {}() given by name ('{}') and position ({})", native->name->view(),
                      keyword_names[k]->view(), at + 1 - (native->owner ? 1 : 0));
            }
            values[at] = keyword_values[k];
        } else if (s.has_keywords) {
            extra_names.push_back(keyword_names[k]);
            extra_values.push_back(keyword_values[k]);
        } else if (s.positional_only == s.parameters.size()) {
            raise(vm, Exc::TypeError, "{}() takes no keyword arguments", native_name(native, s));
        } else {
            raise(vm, Exc::TypeError, "'{}' is an invalid keyword argument for {}()", keyword_names[k]->view(),
                  native->name->view() == "__new__" || native->name->view() == "__init__" ? native->owner->name->view()
                                                                                          : native->name->view());
        }
    }
    for (size_t i = 0; i < s.parameters.size(); i++) {
        if (!values[i].is_undef()) continue;
        if (s.parameters[i].required) {
            if (i < s.positional_only || nkeywords == 0) wrong_count(vm, native, s, given);
            raise(vm, Exc::TypeError, "{}() missing required argument '{}' (pos {})", native->name->view(),
                  s.parameters[i].name->view(), i + 1 - (native->owner ? 1 : 0));
        }
        values[i] = s.parameters[i].fallback;
    }
    bound.values = values;
    bound.keyword_names = extra_names.data();
    bound.keyword_values = extra_values.data();
    bound.nkeywords = extra_names.size();
    return invoke(vm, native, bound);
}

// ---- Classes --------------------------------------------------------------------------------------

namespace {

// Arguments of a call with a receiver before them.
class WithReceiver {
  public:
    WithReceiver(Value receiver, const Value* args, size_t count) {
        if (count + 1 > kInline) {
            large_.resize(count + 1);
            values_ = large_.data();
        }
        values_[0] = receiver;
        for (size_t i = 0; i < count; i++) values_[i + 1] = args[i];
    }
    WithReceiver(const WithReceiver&) = delete;
    Value* data() { return values_; }

  private:
    static constexpr size_t kInline = 6;
    Value small_[kInline];
    std::vector<Value> large_;
    Value* values_ = small_;
};

// The native __new__ of a builtin class without an __init__ of its own; null: it takes more than that.
Native* find_maker(Vm& vm, Class* cls) {
    Value made = find_class_attr(vm, cls, vm.names.special(Special::New));
    if (made.is_kind(Kind::StaticMethod)) made = cast<StaticMethod>(made)->function;
    if (!made.is_kind(Kind::Native) || cast<Native>(made)->owner == vm.classes.object) return nullptr;
    Value init = find_class_attr(vm, cls, vm.names.special(Special::Init));
    bool plain_init = init.is_undef() || (init.is_kind(Kind::Native) && cast<Native>(init)->owner == vm.classes.object);
    if (plain_init) cls->maker = cast<Native>(made);
    return cls->maker;
}

}  // namespace

Ref call_class(Vm& vm, Class* cls, const Value* args, size_t count, Str* const* keyword_names, size_t nkeywords) {
    if (cls == vm.classes.type && count == 1 && nkeywords == 0) return Value::object(class_of(vm, args[0]));
    WithReceiver with_self(Value::object(cls), args, count);
    if (!cls->user) {
        Native* maker = cls->maker ? cls->maker : find_maker(vm, cls);
        if (maker) return call_native(vm, maker, with_self.data(), count + 1, keyword_names, nkeywords);
    }

    Ref instance;
    Cell* new_cell = find_class_cell(vm, cls, vm.names.special(Special::New));
    Value new_method = new_cell ? new_cell->value : Value();
    if (new_method.is_kind(Kind::StaticMethod)) new_method = cast<StaticMethod>(new_method)->function;
    bool plain_new = new_method.is_kind(Kind::Native) && cast<Native>(new_method)->owner == vm.classes.object;
    Cell* init_cell = find_class_cell(vm, cls, vm.names.special(Special::Init));
    Value init = init_cell ? init_cell->value : Value();
    bool plain_init = init.is_undef() || (init.is_kind(Kind::Native) && cast<Native>(init)->owner == vm.classes.object);
    if (plain_new) {
        if (plain_init && count > 0) raise(vm, Exc::TypeError, "{}() takes no arguments", cls->name->view());
        instance = allocate_instance(vm, cls);
    } else {
        if (new_method.is_undef()) raise(vm, Exc::TypeError, "cannot create '{}' instances", cls->name->view());
        instance = call(vm, new_method, with_self.data(), count + 1, keyword_names, nkeywords);
    }
    if (plain_init || !is_instance(vm, instance, cls)) return instance;
    with_self.data()[0] = instance;
    Ref result = call(vm, init, with_self.data(), count + 1, keyword_names, nkeywords);
    if (!result.is_none()) {
        raise(vm, Exc::TypeError, "__init__() should return None, not '{}'", class_name(vm, result));
    }
    return instance;
}

// ---- Any callable ---------------------------------------------------------------------------------

Ref call(Vm& vm, Value callee, const Value* args, size_t count, Str* const* keyword_names, size_t nkeywords) {
    if (callee.is_obj()) {
        switch (callee.o->kind) {
            case Kind::Function:
                return vm.call_function(cast<Function>(callee), args, count, keyword_names, nkeywords);
            case Kind::Native: return call_native(vm, cast<Native>(callee), args, count, keyword_names, nkeywords);
            case Kind::Class: return call_class(vm, cast<Class>(callee), args, count, keyword_names, nkeywords);
            case Kind::BoundMethod: {
                auto* method = cast<BoundMethod>(callee);
                constexpr size_t kInline = 8;
                Value small[kInline];
                std::vector<Value> large;
                Value* all = small;
                if (count + 1 > kInline) {
                    large.resize(count + 1);
                    all = large.data();
                }
                all[0] = method->self;
                for (size_t i = 0; i < count; i++) all[i + 1] = args[i];
                Ref keep(callee);
                return call(vm, method->function, all, count + 1, keyword_names, nkeywords);
            }
            case Kind::StaticMethod: return call(vm, cast<StaticMethod>(callee)->function, args, count, keyword_names, nkeywords);
            default: break;
        }
        Value method = find_special(vm, callee, Special::Call);
        if (!method.is_undef()) {
            RecursionGuard guard(vm);
            Ref bound = make_bound_method(vm, method, callee);
            return call(vm, bound, args, count, keyword_names, nkeywords);
        }
    }
    raise(vm, Exc::TypeError, "'{}' object is not callable", class_name(vm, callee));
}

Ref call_method(Vm& vm, Value receiver, Str* name, const Value* args, size_t count) {
    Ref method = get_attr(vm, receiver, name);
    return call(vm, method, args, count);
}

Ref call_special(Vm& vm, Value method, Value self) {
    if (method.is_kind(Kind::StaticMethod) || method.is_kind(Kind::ClassMethod)) {
        return call(vm, method.is_kind(Kind::StaticMethod) ? cast<StaticMethod>(method)->function : cast<ClassMethod>(method)->function);
    }
    return call(vm, method, self);
}
Ref call_special(Vm& vm, Value method, Value self, Value a) { return call(vm, method, self, a); }
Ref call_special(Vm& vm, Value method, Value self, Value a, Value b) { return call(vm, method, self, a, b); }

bool is_callable(Vm& vm, Value v) {
    if (!v.is_obj()) return false;
    switch (v.o->kind) {
        case Kind::Function:
        case Kind::Native:
        case Kind::Class:
        case Kind::BoundMethod:
        case Kind::StaticMethod: return true;
        default: return !find_special(vm, v, Special::Call).is_undef();
    }
}

}  // namespace talc::vm
