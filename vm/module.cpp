// Importing: finding a module's file, compiling it, running it once.
#include <sys/stat.h>

#include <cstdio>

#include "lang/compile.hpp"
#include "vm/module.hpp"
#include "vm/namespace.hpp"
#include "vm/shape.hpp"
#include "vm/steps.hpp"

namespace talc::vm {

namespace {

bool is_file(const std::string& path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool read_file(const std::string& path, std::string& out) {
    FILE* file = std::fopen(path.c_str(), "rb");
    if (!file) return false;
    char buffer[65536];
    size_t n;
    while ((n = std::fread(buffer, 1, sizeof buffer, file)) > 0) out.append(buffer, n);
    std::fclose(file);
    return true;
}

std::string folder_of(const std::string& path) {
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

struct Found {
    std::string file;
    bool package = false;
};

// What the modules of the program give as the importing file: their imports look at no folder.
constexpr std::string_view kLibrary = "<library>";

std::string importing_file(const Module* module) {
    if (module->library) return std::string(kLibrary);
    return module->file ? module->file->string() : std::string();
}

// sys.path once there is one, else the host's.
std::vector<std::string> search_path(Vm& vm) {
    std::vector<std::string> folders;
    Value sys = dict_get(vm, vm.modules, Value(make_str(vm, "sys")));
    Ref path = sys.is_kind(Kind::Module) ? find_attr_plain(vm, sys, intern(vm, "path").get()) : Ref();
    if (!path.is_kind(Kind::List)) return vm.host.module_path;
    List* list = cast<List>(path.get());
    for (size_t i = 0; i < list->size; i++) {
        if (!list->items[i].is_kind(Kind::Str)) continue;
        std::string folder = cast<Str>(list->items[i])->string();
        folders.push_back(folder.empty() ? "." : folder);
    }
    return folders;
}

bool look_in(const std::string& folder, const std::string& name, Found& found) {
    std::string base = folder == "." ? name : folder + "/" + name;
    std::string plain = base + ".tc";
    std::string package = base + "/__init__.tc";
    if (is_file(package)) {
        found = {package, true};
        return true;
    }
    if (is_file(plain)) {
        found = {plain, false};
        return true;
    }
    return false;
}

}  // namespace

void raise_syntax_error(Vm& vm, const lang::SyntaxError& error, const Source& source) {
    Exc type = error.kind == lang::SyntaxErrorKind::Syntax ? Exc::SyntaxError : Exc::IndentationError;
    Ref text = make_str(vm, error.message);
    Value arg = text;
    Ptr<Exception> made = make_exception(vm, vm.classes.of(type), &arg, 1);
    std::string excerpt = fmt::format("  File \"{}\", line {}\n{}", source.name(), source.line_of(error.span.begin),
                                      caret_excerpt(source, error.span, "    "));
    made->payload = Value::object(make_str(vm, excerpt).release());
    raise_object(vm, made);
}

namespace {

Ref load_file(Vm& vm, const std::string& full_name, const Found& found) {
    std::string text;
    if (!read_file(found.file, text)) raise(vm, Exc::ImportError, "cannot read '{}'", found.file);
    auto source = std::make_shared<const Source>(found.file, std::move(text));
    lang::CompileResult result = lang::compile(source, lang::CompileMode::Module);
    if (result.error) raise_syntax_error(vm, *result.error, *source);
    Ptr<Module> module = vm.make_module(full_name, found.file);
    module->package = found.package;
    Ref key = make_str(vm, full_name);
    dict_set(vm, vm.modules, key, module);
    try {
        vm.run_module(result.code, module.get());
    } catch (Raised&) {
        Ref error = vm.take_raised();
        dict_remove(vm, vm.modules, key);
        raise_object(vm, error);
    }
    module->initialized = true;
    return module;
}

Ref import_one(Vm& vm, const std::string& full_name, Module* parent, const std::string& importing_file) {
    Ref key = make_str(vm, full_name);
    bool library = importing_file == kLibrary;
    // Asked about a module that is there, too: a module of the program may have brought it in for itself.
    if (!library && vm.host.may_import && !vm.host.may_import(full_name)) {
        raise(vm, Exc::ImportError, "import of module '{}' is not allowed here", full_name);
    }
    Value known = dict_get(vm, vm.modules, key);
    if (!known.is_undef()) return known;
    std::string leaf = full_name.substr(full_name.rfind('.') + 1);
    Found found;
    bool there = false;
    if (parent) {
        if (parent->package && parent->file) there = look_in(folder_of(parent->file->string()), leaf, found);
    } else if (!library) {
        there = look_in(importing_file.empty() ? "." : folder_of(importing_file), leaf, found);
        if (!there) {
            for (const std::string& folder : search_path(vm)) {
                if ((there = look_in(folder, leaf, found))) break;
            }
        }
    }
    // A program random.tc that imports random means the library's, not itself.
    bool itself = there && found.file == importing_file;
    if (there && !itself) return load_file(vm, full_name, found);
    if (vm.table.make_module) {
        if (Ref made = vm.table.make_module(vm, full_name)) {
            dict_set(vm, vm.modules, key, made);
            return made;
        }
    }
    if (itself) return load_file(vm, full_name, found);
    if (parent && !parent->package) {
        raise(vm, Exc::ModuleNotFoundError, "No module named '{}'; '{}' is not a package", full_name, parent->name->view());
    }
    Ref text = make_str(vm, fmt::format("No module named '{}'", full_name));
    Value arg = text;
    Ptr<Exception> error = make_exception(vm, vm.classes.of(Exc::ModuleNotFoundError), &arg, 1);
    slot_set(vm, error.get(), intern(vm, "name").get(), key);
    raise_object(vm, error);
}

// from .a import b: one dot is the package that the module is in, each further one its parent.
std::string absolute_name(Vm& vm, Module* module, std::string_view name) {
    size_t dots = name.find_first_not_of('.');
    if (dots == std::string_view::npos) dots = name.size();
    std::string base = module->name->string();
    for (size_t up = module->package ? 1 : 0; up < dots; up++) {
        size_t dot = base.rfind('.');
        if (dot == std::string::npos) {
            raise(vm, Exc::ImportError, std::string(up == 0 ? "attempted relative import with no known parent package"
                                                            : "attempted relative import beyond top-level package"));
        }
        base.resize(dot);
    }
    std::string_view rest = name.substr(dots);
    return rest.empty() ? base : fmt::format("{}.{}", base, rest);
}

}  // namespace

Ref Vm::import_module(std::string_view name, const std::string& importing_file) {
    check_stack();
    Ref module;
    Module* parent = nullptr;
    for (size_t end = 0; end != std::string_view::npos;) {
        end = name.find('.', end ? end + 1 : 0);
        std::string prefix(name.substr(0, end));
        Ref next_module = import_one(*this, prefix, parent, importing_file);
        if (parent) {
            Ptr<Str> leaf = intern(*this, std::string_view(prefix).substr(prefix.rfind('.') + 1));
            set_attr_plain(*this, module, leaf.get(), next_module);
        }
        module = std::move(next_module);
        parent = module.is_kind(Kind::Module) ? cast<Module>(module.get()) : nullptr;
    }
    return module;
}

Ref Steps::import(Vm& vm, Frame& frame, Str* name, bool leaf) {
    std::string importing = importing_file(frame.code->module);
    if (name->view().starts_with(".")) return vm.import_module(absolute_name(vm, frame.code->module, name->view()), importing);
    Ref module = vm.import_module(name->view(), importing);
    if (leaf) return module;
    size_t dot = name->view().find('.');
    if (dot == std::string_view::npos) return module;
    Ref top = make_str(vm, name->view().substr(0, dot));
    return dict_get(vm, vm.modules, top);
}

Ref Steps::import_from(Vm& vm, Frame& frame, Value module, Str* name) {
    if (Ref found = find_attr(vm, module, name)) return found;
    auto* from = cast<Module>(module);
    if (from->package) {
        std::string importing = importing_file(frame.code->module);
        try {
            return vm.import_module(fmt::format("{}.{}", from->name->view(), name->view()), importing);
        } catch (Raised&) {
            Ref error = vm.take_raised();
            if (!is_instance(vm, error, vm.classes.of(Exc::ModuleNotFoundError))) raise_object(vm, error);
        }
    }
    if (from->file && !from->initialized) {
        raise(vm, Exc::ImportError,
              "cannot import name '{}' from partially initialized module '{}' (most likely due to a circular import) ({})",
              name->view(), from->name->view(), from->file->view());
    }
    raise(vm, Exc::ImportError, "cannot import name '{}' from '{}' ({})", name->view(), from->name->view(),
          from->file ? from->file->view() : std::string_view("unknown location"));
}

void Steps::import_star(Vm& vm, Frame& frame, Value module) {
    auto* from = cast<Module>(module);
    auto bind = [&](Str* name, Value value) {
        Cell* cell = vm.global_cell(frame.code->module, name);
        Value old = cell->value;
        incref(value);
        cell->value = value;
        decref(old);
    };
    if (Ref all = find_attr(vm, module, vm.names.all_)) {
        for_each(vm, all, [&](Value item) {
            Ptr<Str> name = intern(vm, to_text(vm, item, "Item in __all__"));
            bind(name.get(), get_attr(vm, module, name.get()));
        });
        return;
    }
    if (from->populate) from->populate(vm, from, nullptr);  // all of them
    for (uint32_t i = 0; i < from->globals.size; i++) {
        Namespace::Row row = from->globals.rows[i];
        if (!row.name->view().starts_with("_") && !row.cell->value.is_undef()) bind(row.name, row.cell->value);
    }
}

}  // namespace talc::vm
