// json: the module's functions over json_encode.cpp and json_decode.cpp.
#include "stdlib/modules/json.hpp"

#include "base/text/utf8.hpp"
#include "stdlib/modules.hpp"

namespace talc::stdlib {

namespace {

Class* value_error(Vm& vm) { return vm.classes.of(Exc::ValueError); }
const NativeClass kDecodeError = {
    .name = "JSONDecodeError", .module = "json.decoder", .kind = Kind::Exception, .base = value_error};

void set_field(Vm& vm, Value error, const char* name, Value value) { set_attr_plain(vm, error, intern(vm, name).get(), value); }

// `at` in code points.
Ref place_error(Vm& vm, Value error, Value message, Str* text, int64_t at) {
    std::string_view before = text->view().substr(0, text::byte_offset(text->view(), static_cast<size_t>(std::max<int64_t>(at, 0))));
    auto line = 1 + std::count(before.begin(), before.end(), '\n');
    size_t break_at = before.rfind('\n');
    int64_t column = at + 1;
    if (break_at != std::string_view::npos) {
        column = static_cast<int64_t>(text::code_point_count(before.substr(break_at)));
    }
    set_field(vm, error, "msg", message);
    set_field(vm, error, "doc", text);
    set_field(vm, error, "pos", Value::integer(at));
    set_field(vm, error, "lineno", Value::integer(line));
    set_field(vm, error, "colno", Value::integer(column));
    std::string shown = fmt::format("{}: line {} column {} (char {})", to_str(vm, message)->view(), line, column, at);
    return make_tuple(vm, {make_str(vm, shown)});
}

bool is_set(Value option) { return !option.is_none(); }

void set_indent(Vm& vm, json::EncodeOptions& options, Value indent) {
    if (indent.is_none()) return;
    options.has_indent = true;
    if (is_str(indent)) {
        options.indent = cast<Str>(indent)->string();
        return;
    }
    int64_t width = is_integer(indent) ? int_value(indent) : to_index(vm, indent);
    constexpr int64_t kWidest = 1 << 20;
    if (width > kWidest) raise(vm, Exc::MemoryError, "an indent of {} columns", width);
    if (width > 0) options.indent.assign(static_cast<size_t>(width), ' ');
}

// The class given as cls= takes all options by name.
Ref call_with_options(Vm& vm, Value cls, std::initializer_list<std::pair<const char*, Value>> options, const Args& extra) {
    std::vector<Ptr<Str>> kept;
    std::vector<Str*> names;
    std::vector<Value> values;
    for (auto [name, value] : options) {
        kept.push_back(intern(vm, name));
        names.push_back(kept.back().get());
        values.push_back(value);
    }
    names.insert(names.end(), extra.keyword_names, extra.keyword_names + extra.nkeywords);
    values.insert(values.end(), extra.keyword_values, extra.keyword_values + extra.nkeywords);
    return call(vm, cls, values.data(), values.size(), names.data(), names.size());
}

// Keywords that no class of the script's own takes.
void no_other_keywords(Vm& vm, const Args& args, const char* cls) {
    if (args.nkeywords == 0) return;
    raise(vm, Exc::TypeError, "{}.__init__() got an unexpected keyword argument '{}'", cls, args.keyword_names[0]->view());
}

std::string text_option(Vm& vm, Value v, const char* name) {
    if (!is_str(v)) raise(vm, Exc::TypeError, "make_encoder() argument {} must be str, not {}", name, class_name(vm, v));
    return cast<Str>(v)->string();
}

// The whole text as one value.
Ref decode_all(Vm& vm, Str* text, const json::DecodeOptions& options) {
    size_t at = json::skip_space(text->view(), 0);
    Ref value = json::decode(vm, text, at, options);
    at = json::skip_space(text->view(), at);
    if (at != text->size) json::raise_decode_error(vm, "Extra data", text, at);
    return value;
}

Ptr<Str> text_argument(Vm& vm, Value v) {
    if (is_str(v)) {
        auto* text = cast<Str>(v);
        if (text->view().starts_with("\xEF\xBB\xBF")) {
            json::raise_decode_error(vm, "Unexpected UTF-8 BOM (decode using utf-8-sig)", text, 0);
        }
        return Ptr<Str>(text);
    }
    if (!v.is_kind(Kind::Bytes)) {
        raise(vm, Exc::TypeError, "the JSON object must be str, bytes or bytearray, not {}", class_name(vm, v));
    }
    std::string_view bytes = cast<Bytes>(v)->view();
    if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
    if (text::InvalidUtf8 invalid = text::find_invalid_utf8(bytes)) {
        raise(vm, Exc::UnicodeDecodeError, text::utf8_error_message(bytes, invalid));
    }
    return make_str(vm, bytes);
}

}  // namespace

void json::raise_decode_error(Vm& vm, const char* message, Str* text, size_t at) {
    Ref keep{Value::object(text)};
    auto position = static_cast<int64_t>(text::code_point_count(text->view().substr(0, at)));
    Ref error = make_exception(vm, native_class(vm, kDecodeError), nullptr, 0);
    Ref args = place_error(vm, error, make_str(vm, message), text, position);
    set_attr_plain(vm, error, vm.names.args, args);
    raise_object(vm, error);
}

Ref json_error_init(Vm& vm, const Args& args) {
    if (!is_str(args[2])) raise(vm, Exc::TypeError, "doc must be str, not {}", class_name(vm, args[2]));
    Ref fields = place_error(vm, args[0], args[1], cast<Str>(args[2]), to_index(vm, args[3]));
    set_attr_plain(vm, args[0], vm.names.args, fields);
    return none();
}

Ref json_dumps(Vm& vm, const Args& args) {
    enum { kObject, kSkipKeys, kEnsureAscii, kCheckCircular, kAllowNan, kClass, kIndent, kSeparators, kDefault, kSortKeys };
    if (is_set(args[kClass])) {
        Ref encoder = call_with_options(vm, args[kClass],
                                        {{"skipkeys", args[kSkipKeys]},
                                         {"ensure_ascii", args[kEnsureAscii]},
                                         {"check_circular", args[kCheckCircular]},
                                         {"allow_nan", args[kAllowNan]},
                                         {"indent", args[kIndent]},
                                         {"separators", args[kSeparators]},
                                         {"default", args[kDefault]},
                                         {"sort_keys", args[kSortKeys]}},
                                        args);
        Value object = args[kObject];
        return call_method(vm, encoder, intern(vm, "encode").get(), &object, 1);
    }
    no_other_keywords(vm, args, "JSONEncoder");
    json::EncodeOptions options;
    options.skip_keys = truth(vm, args[kSkipKeys]);
    options.ensure_ascii = truth(vm, args[kEnsureAscii]);
    options.check_circular = truth(vm, args[kCheckCircular]);
    options.allow_nan = truth(vm, args[kAllowNan]);
    options.sort_keys = truth(vm, args[kSortKeys]);
    options.fallback = args[kDefault];
    set_indent(vm, options, args[kIndent]);
    if (options.has_indent) options.item_separator.assign(1, ',');
    if (is_set(args[kSeparators])) {
        Ptr<Tuple> both = tuple_from_iterable(vm, args[kSeparators]);
        if (both->size != 2) {
            raise(vm, Exc::ValueError, "{} values to unpack (expected 2{}", both->size < 2 ? "not enough" : "too many",
                  both->size < 2 ? fmt::format(", got {})", both->size) : ")");
        }
        options.item_separator = text_option(vm, both->items[0], "6");
        options.key_separator = text_option(vm, both->items[1], "5");
    }
    return json::encode(vm, args[kObject], options);
}

Ref json_encode(Vm& vm, const Args& args) {
    json::EncodeOptions options;
    options.fallback = args[1];
    options.skip_keys = truth(vm, args[2]);
    options.ensure_ascii = truth(vm, args[3]);
    options.check_circular = truth(vm, args[4]);
    options.allow_nan = truth(vm, args[5]);
    set_indent(vm, options, args[6]);
    options.item_separator = text_option(vm, args[7], "6");
    options.key_separator = text_option(vm, args[8], "5");
    options.sort_keys = truth(vm, args[9]);
    return json::encode(vm, args[0], options);
}

Ref json_loads(Vm& vm, const Args& args) {
    Ptr<Str> text = text_argument(vm, args[0]);
    if (is_set(args[1])) {
        // Only what was given: a class of the script's own need not know the other names.
        std::vector<Ptr<Str>> names;
        std::vector<Str*> plain;
        std::vector<Value> values;
        constexpr const char* kNames[] = {"object_hook", "parse_float", "parse_int", "parse_constant", "object_pairs_hook"};
        for (size_t i = 0; i < std::size(kNames); i++) {
            if (!is_set(args[2 + i])) continue;
            names.push_back(intern(vm, kNames[i]));
            plain.push_back(names.back().get());
            values.push_back(args[2 + i]);
        }
        plain.insert(plain.end(), args.keyword_names, args.keyword_names + args.nkeywords);
        values.insert(values.end(), args.keyword_values, args.keyword_values + args.nkeywords);
        Ref decoder = call(vm, args[1], values.data(), values.size(), plain.data(), plain.size());
        Value given = text;
        return call_method(vm, decoder, intern(vm, "decode").get(), &given, 1);
    }
    json::DecodeOptions options{args[2], args[3], args[4], args[5], args[6], true};
    if (args.nkeywords == 1 && args.keyword_names[0]->view() == "strict") {
        options.strict = truth(vm, args.keyword_values[0]);
    } else {
        no_other_keywords(vm, args, "JSONDecoder");
    }
    return decode_all(vm, text.get(), options);
}

Ref json_raw_decode(Vm& vm, const Args& args) {
    if (!is_str(args[0])) {
        raise(vm, Exc::TypeError, "first argument must be a string, not {}", class_name(vm, args[0]));
    }
    auto* text = cast<Str>(args[0]);
    int64_t start = to_index(vm, args[1]);
    if (start < 0) raise(vm, Exc::ValueError, "idx cannot be negative");
    json::DecodeOptions options{args[2], args[3], args[4], args[5], args[6], truth(vm, args[7])};
    size_t at = text::byte_offset(text->view(), static_cast<size_t>(start));
    Ref value = json::decode(vm, text, at, options);
    auto end = static_cast<int64_t>(text::code_point_count(text->view().substr(0, at)));
    return make_tuple(vm, {value, Value::integer(end)});
}

void fill_json(Vm& vm, Module* module) {
    Value error = native_class(vm, kDecodeError);
    set_value(vm, module, "JSONDecodeError", error);
    Ptr<Module> decoder = vm.make_module("json.decoder", "");
    set_value(vm, decoder.get(), "JSONDecodeError", error);
    set_value(vm, module, "decoder", decoder);
    dict_set(vm, vm.modules, make_str(vm, "json.decoder"), decoder);
}

}  // namespace talc::stdlib
