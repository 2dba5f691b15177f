// Methods of the exceptions. Attributes that are fields (args, __cause__, errno, value ...) are in vm/exception.cpp.
#include <cerrno>
#include <cstring>

#include "base/text/utf8.hpp"
#include "stdlib/os_error.hpp"
#include "stdlib/support.hpp"

namespace talc::stdlib {

namespace {

Exception* self(const Args& args) { return cast<Exception>(args[0]); }

void set_args(Exception* error, Ptr<Tuple> args) {
    Tuple* old = error->args;
    error->args = args.release();
    decref(old);
}

void set_args(Vm& vm, Exception* error, const Value* values, size_t count) {
    bool same = error->args->size == count;  // __new__ has set them already, as a rule
    for (size_t i = 0; same && i < count; i++) same = error->args->items[i].same(values[i]);
    if (!same) set_args(error, count ? make_tuple(vm, values, count) : vm.empty_tuple);
}

// Keyword arguments that become attributes; any other is an error.
void set_fields(Vm& vm, const Args& args, std::initializer_list<std::string_view> fields) {
    for (size_t i = 0; i < args.nkeywords; i++) {
        std::string_view name = args.keyword_names[i]->view();
        bool known = false;
        for (std::string_view field : fields) known = known || field == name;
        if (!known) {
            raise(vm, Exc::TypeError, "'{}' is an invalid keyword argument for {}()", name, class_name(vm, args[0]));
        }
        set_attr_plain(vm, args[0], intern(vm, args.keyword_names[i]), args.keyword_values[i]);
    }
}

}  // namespace

Ref exceptions_new(Vm& vm, const Args& args) {
    Class* cls = class_to_make(vm, args[0], vm.classes.of(Exc::BaseException));
    return make_exception(vm, cls, args.rest, args.nrest);
}

Ref exceptions_init(Vm& vm, const Args& args) {
    no_keywords(vm, args, class_name(vm, args[0]));
    set_args(vm, self(args), args.rest, args.nrest);
    return none();
}

Ref import_error_init(Vm& vm, const Args& args) {
    set_args(vm, self(args), args.rest, args.nrest);
    set_fields(vm, args, {"name", "path"});
    return none();
}

Ref name_error_init(Vm& vm, const Args& args) {
    set_args(vm, self(args), args.rest, args.nrest);
    set_fields(vm, args, {"name"});
    return none();
}

Ref attribute_error_init(Vm& vm, const Args& args) {
    set_args(vm, self(args), args.rest, args.nrest);
    set_fields(vm, args, {"name", "obj"});
    return none();
}

Ref exceptions_str(Vm& vm, const Args& args) {
    Tuple* values = self(args)->args;
    if (values->size == 0) return vm.empty_str;
    if (values->size == 1) return to_str(vm, values->items[0]);
    return repr(vm, values);
}

Ref exceptions_repr(Vm& vm, const Args& args) {
    Tuple* values = self(args)->args;
    std::string_view name = class_name(vm, args[0]);
    if (values->size == 1) return make_str(vm, fmt::format("{}({})", name, repr(vm, values->items[0])->view()));
    return make_str(vm, fmt::format("{}{}", name, repr(vm, values)->view()));
}

Ref exceptions_add_note(Vm& vm, const Args& args) {
    if (!is_str(args[1])) raise(vm, Exc::TypeError, "note must be a str, not '{}'", class_name(vm, args[1]));
    Ref notes = find_attr(vm, args[0], vm.names.notes_);
    if (!notes) {
        notes = make_list(vm);
        set_attr_plain(vm, args[0], vm.names.notes_, notes);
    }
    if (!notes.is_kind(Kind::List)) raise(vm, Exc::TypeError, "Cannot add note: __notes__ is not a list");
    list_append(vm, cast<List>(notes.get()), args[1]);
    return none();
}

Ref exceptions_with_traceback(Vm& vm, const Args& args) {
    if (!args[1].is_none() && class_of(vm, args[1]) != vm.classes.traceback) {
        raise(vm, Exc::TypeError, "__traceback__ must be a traceback or None");
    }
    set_attr_plain(vm, args[0], vm.names.traceback_, args[1]);
    return args[0];
}

Ref key_error_str(Vm& vm, const Args& args) {
    Tuple* values = self(args)->args;
    if (values->size == 1) return repr(vm, values->items[0]);
    return exceptions_str(vm, args);
}

// UnicodeDecodeError(encoding, object, start, end, reason)
Ref unicode_error_str(Vm& vm, const Args& args) {
    Tuple* values = self(args)->args;
    if (values->size != 5 || !is_str(values->items[0]) || !is_integer(values->items[2]) || !is_integer(values->items[3]) ||
        !is_str(values->items[4])) {
        return exceptions_str(vm, args);
    }
    std::string_view encoding = cast<Str>(values->items[0])->view();
    std::string_view reason = cast<Str>(values->items[4])->view();
    Value object = values->items[1];
    int64_t start = int_value(values->items[2]);
    int64_t end = int_value(values->items[3]);
    bool decoding = is_subclass(args[0].o->cls, vm.classes.of(Exc::UnicodeDecodeError));
    std::string what;
    if (end - start == 1 && object.is_kind(Kind::Bytes) && start >= 0 && static_cast<size_t>(start) < cast<Bytes>(object)->size) {
        what = fmt::format("byte 0x{:02x}", static_cast<unsigned char>(cast<Bytes>(object)->data[start]));
    } else if (end - start == 1 && is_str(object) && start >= 0 && start < cast<Str>(object)->length) {
        Ptr<Str> one = str_at(vm, cast<Str>(object), start);
        const char* at = one->data;
        auto code = static_cast<uint32_t>(text::decode(at, one->data + one->size));
        what = code < 0x100 ? fmt::format("character '\\x{:02x}'", code)
                            : code < 0x10000 ? fmt::format("character '\\u{:04x}'", code) : fmt::format("character '\\U{:08x}'", code);
    } else {
        return make_str(vm, fmt::format("'{}' codec can't {} {} in position {}-{}: {}", encoding, decoding ? "decode" : "encode",
                                        decoding ? "bytes" : "characters", start, end - 1, reason));
    }
    return make_str(vm, fmt::format("'{}' codec can't {} {} in position {}: {}", encoding, decoding ? "decode" : "encode", what,
                                    start, reason));
}

// ---- OSError --------------------------------------------------------------------------------------

namespace {

// The subclass for an errno.
Class* class_for(Vm& vm, int64_t number) {
    switch (number) {
        case ENOENT: return vm.classes.of(Exc::FileNotFoundError);
        case EEXIST: return vm.classes.of(Exc::FileExistsError);
        case EACCES:
        case EPERM: return vm.classes.of(Exc::PermissionError);
        case EISDIR: return vm.classes.of(Exc::IsADirectoryError);
        case ENOTDIR: return vm.classes.of(Exc::NotADirectoryError);
        case ETIMEDOUT: return vm.classes.of(Exc::TimeoutError);
        case EINTR: return vm.classes.of(Exc::InterruptedError);
        case EPIPE: return vm.classes.of(Exc::BrokenPipeError);
        default: return vm.classes.of(Exc::OSError);
    }
}

// With (errno, strerror, filename) only the first two are args.
void set_os_fields(Vm& vm, Exception* error, const Value* values, size_t count) {
    if (count < 2 || count > 5) return set_args(vm, error, values, count);
    set_args(vm, error, values, 2);
    if (count > 2 && !values[2].is_none()) decref(std::exchange(error->payload, Ref(values[2]).release()));
}

Ptr<Exception> make_os_error(Vm& vm, Class* cls, const Value* values, size_t count) {
    Ptr<Exception> error = make_exception(vm, cls, nullptr, 0);
    set_os_fields(vm, error.get(), values, count);
    return error;
}

}  // namespace

Ref os_error_new(Vm& vm, const Args& args) {
    Class* cls = class_to_make(vm, args[0], vm.classes.of(Exc::OSError));
    bool numbered = args.nrest >= 2 && args.nrest <= 5 && is_integer(args.rest[0]);
    if (cls == vm.classes.of(Exc::OSError) && numbered) cls = class_for(vm, int_value(args.rest[0]));
    return make_os_error(vm, cls, args.rest, args.nrest);
}

Ref os_error_init(Vm& vm, const Args& args) {
    no_keywords(vm, args, class_name(vm, args[0]));
    set_os_fields(vm, self(args), args.rest, args.nrest);
    return none();
}

Ref os_error_str(Vm& vm, const Args& args) {
    Exception* error = self(args);
    if (error->args->size != 2) return exceptions_str(vm, args);
    Ptr<Str> number = to_str(vm, error->args->items[0]);
    Ptr<Str> reason = to_str(vm, error->args->items[1]);
    if (error->payload.is_undef()) return make_str(vm, fmt::format("[Errno {}] {}", number->view(), reason->view()));
    std::string shown = fmt::format("[Errno {}] {}: {}", number->view(), reason->view(), repr(vm, error->payload)->view());
    if (Ref second = find_attr_plain(vm, args[0], intern(vm, "filename2").get())) shown += fmt::format(" -> {}", repr(vm, second)->view());
    return make_str(vm, shown);
}

void raise_os_error(Vm& vm, int number, std::string_view path) {
    Ref reason = make_str(vm, std::strerror(number));
    Ref filename = make_str(vm, path);
    Value values[] = {Value::integer(number), reason, filename};
    raise_object(vm, make_os_error(vm, class_for(vm, number), values, 3));
}

void raise_os_error(Vm& vm, int number) {
    Ref reason = make_str(vm, std::strerror(number));
    Value values[] = {Value::integer(number), reason};
    raise_object(vm, make_os_error(vm, class_for(vm, number), values, 2));
}

}  // namespace talc::stdlib
