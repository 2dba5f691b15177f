// sys: the engine as a script sees it.
#include <unistd.h>

#include <bit>
#include <cfloat>
#include <cmath>

#include "stdlib/embedded.hpp"
#include "stdlib/file.hpp"
#include "stdlib/modules.hpp"
#include "stdlib/streams.hpp"
#include "stdlib/support.hpp"

namespace talc {
const char* version();  // of talc.hpp, whose Value is not the VM's
}

namespace talc::stdlib {

namespace {

const RecordClass kVersionInfo = {"version_info", "sys", {"major", "minor", "micro", "releaselevel", "serial"}};
const RecordClass kFloatInfo = {
    "float_info",
    "sys",
    {"max", "max_exp", "max_10_exp", "min", "min_exp", "min_10_exp", "dig", "mant_dig", "epsilon", "radix", "rounds"}};
const RecordClass kHashInfo = {"hash_info", "sys", {"width", "modulus", "inf", "nan", "imag", "algorithm", "hash_bits"}};
const RecordClass kIntInfo = {"int_info", "sys", {"bits_per_digit", "sizeof_digit"}};

// The version of the language that scripts can rely on: what it takes from Python is Python 3.11's.
constexpr int kMajor = 3, kMinor = 11;

Ref text_list(Vm& vm, const std::vector<std::string>& texts) {
    Ptr<List> list = make_list(vm);
    for (const std::string& text : texts) list_append(vm, list.get(), Ref(make_str(vm, text)));
    return list;
}

std::string own_path() {
    std::string path(4096, '\0');
    ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
    path.resize(size > 0 ? static_cast<size_t>(size) : 0);
    return path;
}

// Where imports look: the script's folder, then the host's.
Ref search_path(Vm& vm) {
    std::vector<std::string> folders;
    std::string script = vm.main_module->file ? vm.main_module->file->string() : std::string();
    size_t slash = script.rfind('/');
    folders.push_back(slash == std::string::npos ? "" : slash == 0 ? "/" : script.substr(0, slash));
    folders.insert(folders.end(), vm.host.module_path.begin(), vm.host.module_path.end());
    return text_list(vm, folders);
}

void fill_versions(Vm& vm, Module* module) {
    std::string version = fmt::format("{}.{}.0 (Talc {})", kMajor, kMinor, talc::version());
    set_value(vm, module, "version", make_str(vm, version));
    set_value(vm, module, "version_info",
              make_record(vm, kVersionInfo,
                          {Value::integer(kMajor), Value::integer(kMinor), Value::integer(0), make_str(vm, "final"),
                           Value::integer(0)}));
    constexpr int kFinal = 0xF0;
    set_value(vm, module, "hexversion", Value::integer(kMajor << 24 | kMinor << 16 | kFinal));
}

void fill_numbers(Vm& vm, Module* module) {
    set_value(vm, module, "float_info",
              make_record(vm, kFloatInfo,
                          {Value::real(DBL_MAX), Value::integer(DBL_MAX_EXP), Value::integer(DBL_MAX_10_EXP),
                           Value::real(DBL_MIN), Value::integer(DBL_MIN_EXP), Value::integer(DBL_MIN_10_EXP),
                           Value::integer(DBL_DIG), Value::integer(DBL_MANT_DIG), Value::real(DBL_EPSILON),
                           Value::integer(FLT_RADIX), Value::integer(1)}));
    constexpr int64_t kModulus = (int64_t{1} << 61) - 1;
    set_value(vm, module, "hash_info",
              make_record(vm, kHashInfo,
                          {Value::integer(64), Value::integer(kModulus), Value::integer(314159), Value::integer(0),
                           Value::integer(1000003), make_str(vm, "xxh3"), Value::integer(64)}));
    set_value(vm, module, "int_info", make_record(vm, kIntInfo, {Value::integer(63), Value::integer(8)}));
    set_value(vm, module, "maxsize", Value::integer(INT64_MAX));
    set_value(vm, module, "maxunicode", Value::integer(0x10FFFF));
    set_value(vm, module, "float_repr_style", make_str(vm, "short"));
    set_value(vm, module, "byteorder", make_str(vm, std::endian::native == std::endian::little ? "little" : "big"));
}

void fill_streams(Vm& vm, Module* module) {
    constexpr const char* kNames[] = {"stdin", "stdout", "stderr"};
    for (int i = 0; i < 3; i++) {
        Ref file = make_standard_file(vm, i);
        set_value(vm, module, kNames[i], file);
        set_value(vm, module, fmt::format("__{}__", kNames[i]), file);
        Cell* cell = vm.global_cell(module, intern(vm, kNames[i]).get());
        Streams::of(vm).watch(vm, i, cell, file);
    }
}

Ref module_names(Vm& vm) {
    Ptr<Set> names = make_set(vm, true);
    for (const char* name : {
#define MODULE(name, fill) name,
#include "stdlib/modules.def"
#undef MODULE
             "builtins"}) {
        set_add(vm, names.get(), make_str(vm, name));
    }
    for (const EmbeddedModule& module : embedded_modules()) set_add(vm, names.get(), make_str(vm, module.name));
    return names;
}

}  // namespace

void fill_sys(Vm& vm, Module* module) {
    std::vector<std::string> arguments = vm.host.argv;
    if (arguments.empty()) arguments.push_back("");
    set_value(vm, module, "argv", text_list(vm, arguments));
    set_value(vm, module, "path", search_path(vm));
    set_value(vm, module, "modules", vm.modules);
    set_value(vm, module, "platform", make_str(vm, "linux"));
    set_value(vm, module, "executable", make_str(vm, own_path()));
    set_value(vm, module, "dont_write_bytecode", Value::boolean(true));
    set_value(vm, module, "stdlib_module_names", module_names(vm));
    dict_set(vm, vm.modules, make_str(vm, "builtins"), make_library_module(vm, "builtins"));
    fill_versions(vm, module);
    fill_numbers(vm, module);
    fill_streams(vm, module);
}

Ref sys_exit(Vm& vm, const Args& args) {
    Class* cls = vm.classes.of(Exc::SystemExit);
    Value status = args[0];
    if (status.is_none()) raise_object(vm, make_exception(vm, cls, nullptr, 0));
    if (status.is_kind(Kind::Tuple)) {
        auto* items = cast<Tuple>(status);
        raise_object(vm, make_exception(vm, cls, items->items, items->size));
    }
    raise_object(vm, make_exception(vm, cls, &status, 1));
}

Ref sys_exc_info(Vm& vm, const Args&) {
    Value handled = vm.handled();
    if (!handled.is_kind(Kind::Exception)) return make_tuple(vm, {Value::none(), Value::none(), Value::none()});
    Ref traceback = get_attr(vm, handled, vm.names.traceback_);
    return make_tuple(vm, {Value::object(handled.o->cls), handled, traceback});
}

Ref sys_exception(Vm& vm, const Args&) { return vm.handled().is_kind(Kind::Exception) ? Ref(vm.handled()) : none(); }
Ref sys_getdefaultencoding(Vm& vm, const Args&) { return make_str(vm, "utf-8"); }
Ref sys_is_finalizing(Vm&, const Args&) { return boolean(false); }
Ref sys_getrecursionlimit(Vm& vm, const Args&) { return integer(vm.limits.recursion); }

Ref sys_setrecursionlimit(Vm& vm, const Args& args) {
    int64_t limit = to_index(vm, args[0]);
    if (limit < 1) raise(vm, Exc::ValueError, "recursion limit must be greater or equal than 1");
    if (limit > INT32_MAX) raise(vm, Exc::OverflowError, "Python int too large to convert to C int");
    if (static_cast<size_t>(limit) <= vm.depth()) {
        raise(vm, Exc::RecursionError, "cannot set the recursion limit to {} at the recursion depth {}: the limit is too low",
              limit, vm.depth());
    }
    vm.limits.recursion = static_cast<uint32_t>(limit);
    return none();
}

Ref sys_getrefcount(Vm&, const Args& args) {
    constexpr int64_t kImmortal = int64_t{1} << 30;  // there is no object behind an int
    return integer(args[0].is_obj() ? args[0].o->refs : kImmortal);
}

Ref sys_intern(Vm& vm, const Args& args) {
    if (!is_str(args[0])) raise(vm, Exc::TypeError, "intern() argument must be str, not {}", class_name(vm, args[0]));
    return Ref(Value::object(intern(vm, cast<Str>(args[0]))));
}

namespace {

// Digits of 30 bits, as CPython stores an int.
int64_t int_digits(int64_t x) {
    uint64_t magnitude = x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
    return (std::bit_width(magnitude) + 29) / 30;
}

int64_t str_size(const Str* s) {
    if (s->ascii()) return 49 + s->size;
    uint32_t widest = 0;
    for (unsigned char c : s->view()) widest = std::max<uint32_t>(widest, c);
    if (widest >= 0xF0) return 76 + 4 * int64_t{s->length};
    return widest >= 0xC4 ? 74 + 2 * int64_t{s->length} : 73 + int64_t{s->length};
}

// Bytes that CPython uses for such a value; -1: not a value that has a known size.
int64_t size_of(Value v) {
    switch (v.tag) {
        case Tag::Bool: return v.b ? 28 : 24;
        case Tag::Int: return 24 + 4 * int_digits(v.i);
        case Tag::Float: return 24;
        case Tag::Obj: break;
        default: return 16;
    }
    switch (v.o->kind) {
        case Kind::Str: return str_size(cast<Str>(v));
        case Kind::Bytes: return 33 + static_cast<int64_t>(cast<Bytes>(v)->size);
        case Kind::Tuple: return 40 + 8 * static_cast<int64_t>(cast<Tuple>(v)->size);
        case Kind::List: return 56 + 8 * static_cast<int64_t>(cast<List>(v)->capacity);
        case Kind::Range: return 48;
        case Kind::Dict: {
            auto* dict = cast<Dict>(v);
            if (dict->mask == 0) return 64;
            int64_t slots = static_cast<int64_t>(dict->mask) + 1;
            return 88 + slots * (slots <= 128 ? 1 : slots <= 32768 ? 2 : 4) + slots * 2 / 3 * 16;
        }
        case Kind::Set: {
            auto* set = cast<Set>(v);
            return 216 + (set->mask > 7 ? static_cast<int64_t>(set->mask + 1) * 16 : 0);
        }
        case Kind::Function: return 144;
        case Kind::Native: return 72;
        default: return 48;
    }
}

}  // namespace

Ref sys_getsizeof(Vm& vm, const Args& args) {
    Value own = args[0].is_obj() && args[0].o->cls->user ? find_class_attr(vm, args[0].o->cls, intern(vm, "__sizeof__").get()) : Value();
    if (!own.is_undef()) return call(vm, own, args[0]);
    return integer(size_of(args[0]));
}

}  // namespace talc::stdlib
