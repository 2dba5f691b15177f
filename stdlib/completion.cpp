// The public API for an editor: what may come next in a text that is being typed.
#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "lang/lexer.hpp"
#include "stdlib/embedded.hpp"
#include "stdlib/engine.hpp"
#include "stdlib/inspection.hpp"
#include "stdlib/modules.hpp"
#include "vm/class.hpp"
#include "vm/namespace.hpp"
#include "vm/shape.hpp"

namespace talc {

namespace {

using Names = std::set<std::string>;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }

void add_names(const vm::Namespace& table, Names& names) {
    for (uint32_t i = 0; i < table.size; i++) {
        if (!table.rows[i].cell->value.is_undef()) names.insert(table.rows[i].name->string());
    }
}

void add_attributes(vm::Vm& machine, const stdlib::Known& known, Names& names) {
    vm::Value v = known.value;
    if (v.is_kind(vm::Kind::Module)) {
        auto* module = vm::cast<vm::Module>(v);
        if (module->populate) module->populate(machine, module, nullptr);
        add_names(module->globals, names);
    }
    if (v.is_obj()) {
        vm::Slots* slots = vm::slots_of(v.o);
        if (slots && slots->shape && slots->shape->dictionary) {
            vm::Ptr<vm::Dict> dict = vm::slots_dict(machine, v.o);
            for (size_t i = 0; vm::DictEntry* entry = vm::dict_entry(dict.get(), i); i++) {
                if (entry->key.is_kind(vm::Kind::Str)) names.insert(vm::cast<vm::Str>(entry->key)->string());
            }
        } else if (slots && slots->shape) {
            for (vm::Str* key : slots->shape->keys) names.insert(key->string());
        }
    }
    for (vm::Class* cls = v.is_kind(vm::Kind::Class) ? vm::cast<vm::Class>(v) : known.cls; cls; cls = cls->base) {
        vm::ensure_populated(machine, cls);
        add_names(cls->attributes, names);
    }
}

void add_globals(vm::Vm& machine, Names& names) {
    add_names(machine.main_module->globals, names);
    add_names(machine.builtins->globals, names);
    for (const vm::NativeRow& row : machine.table.rows_of("")) names.insert(row.name);
#define KLASS(field, name, kind, base) \
    if (machine.builtin(name)) names.insert(name);
#include "vm/classes.def"
#undef KLASS
    for (vm::Class* cls : machine.classes.exceptions) names.insert(cls->name->string());
#define TALC_KEYWORD(kind, text) names.insert(text);
#include "lang/tokens.def"
}

// ---- Files ----------------------------------------------------------------------------------------

struct Entry {
    std::string name;
    bool folder;
};

std::vector<Entry> entries_of(const std::string& folder) {
    std::vector<Entry> entries;
    DIR* open = opendir(folder.c_str());
    if (!open) return entries;
    while (dirent* entry = readdir(open)) {
        std::string name = entry->d_name;
        if (name == "." || name == "..") continue;
        struct stat info;
        bool is_folder = stat((folder + "/" + name).c_str(), &info) == 0 && S_ISDIR(info.st_mode);
        entries.push_back({std::move(name), is_folder});
    }
    closedir(open);
    return entries;
}

// The names that a path in a string may go on with; a folder ends with a slash.
Completion complete_path(const vm::Host& host, std::string_view text, size_t string_start) {
    std::string_view path = text.substr(string_start);
    size_t slash = path.rfind('/');
    std::string folder(slash == std::string_view::npos ? "" : path.substr(0, slash + 1));
    std::string_view word = slash == std::string_view::npos ? path : path.substr(slash + 1);
    Completion completion{text.size() - word.size(), {}};
    for (const Entry& entry : entries_of(folder.empty() ? "." : folder)) {
        if (!entry.name.starts_with(word) || (word.empty() && entry.name.starts_with('.'))) continue;
        if (host.may_open && !host.may_open(folder + entry.name, false)) continue;
        completion.words.push_back(entry.name + (entry.folder ? "/" : ""));
    }
    std::sort(completion.words.begin(), completion.words.end());
    return completion;
}

// Where the contents of the string begin that the text ends in; npos: in none.
size_t open_string(std::string_view text) {
    std::vector<lang::Token> tokens = lang::tokenize(text, lang::LexMode::Tolerant).tokens;
    for (size_t i = tokens.size(); i-- > 0;) {
        const lang::Token& token = tokens[i];
        if (lang::token_category(token.kind) == lang::TokenCategory::Layout) continue;
        if (token.kind != lang::TokenKind::Error || token.span.end != text.size()) return std::string_view::npos;
        std::string_view written = text.substr(token.span.begin);
        size_t quote = written.find_first_of("'\"");
        if (quote == std::string_view::npos || quote > 2) return std::string_view::npos;
        return token.span.begin + quote + 1;
    }
    return std::string_view::npos;
}

// ---- Modules --------------------------------------------------------------------------------------

void add_modules(vm::Vm& machine, Names& names) {
#define MODULE(name, fill) names.insert(name);
#include "stdlib/modules.def"
#undef MODULE
    for (const stdlib::EmbeddedModule& module : stdlib::embedded_modules()) {
        if (module.name.find('.') == std::string_view::npos) names.insert(std::string(module.name));
    }
    std::vector<std::string> folders = machine.host.module_path;
    folders.push_back(".");
    for (const std::string& folder : folders) {
        for (const Entry& entry : entries_of(folder)) {
            struct stat info;
            if (entry.folder && stat((folder + "/" + entry.name + "/__init__.tc").c_str(), &info) == 0) names.insert(entry.name);
            if (!entry.folder && entry.name.ends_with(".tc")) names.insert(entry.name.substr(0, entry.name.size() - 3));
        }
    }
    if (machine.host.may_import) std::erase_if(names, [&](const std::string& name) { return !machine.host.may_import(name); });
}

// A module that is loaded, or that comes with the program and may be: the script's own files are not run.
stdlib::Known known_module(vm::Vm& machine, std::string_view name) {
    if (machine.host.may_import && !machine.host.may_import(name)) return {};
    vm::Ref key = vm::make_str(machine, name);
    vm::Ref module = vm::dict_get(machine, machine.modules, key);
    if (!module) {
        module = stdlib::make_library_module(machine, name);
        if (module) vm::dict_set(machine, machine.modules, key, module);
    }
    if (!module) return {};
    return {module, machine.classes.module};
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        size_t begin = text.find_first_not_of(" \t,");
        if (begin == std::string_view::npos) break;
        text.remove_prefix(begin);
        size_t end = std::min(text.find_first_of(" \t,"), text.size());
        words.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return words;
}

// True: the text is in an import statement, whose names these are.
bool complete_import(vm::Vm& machine, std::string_view before, Names& names) {
    size_t line = before.find_last_of("\n;");
    std::string_view statement = line == std::string_view::npos ? before : before.substr(line + 1);
    std::vector<std::string_view> words = words_of(statement);
    if (words.empty() || (words[0] != "import" && words[0] != "from")) return false;
    if (words[0] == "from" && words.size() >= 3 && words[2] == "import") {
        if (stdlib::Known module = known_module(machine, words[1])) {
            add_names(vm::cast<vm::Module>(module.value.get())->globals, names);
        }
    } else if (words[0] == "from" && words.size() == 2) {
        names.insert("import");
    } else {
        add_modules(machine, names);
    }
    return true;
}

// Where the parenthesis is of the call that the text ends in, and how many arguments are complete.
struct OpenCall {
    size_t parenthesis = std::string_view::npos;
    size_t arguments = 0;
};
OpenCall open_call(std::string_view text) {
    std::vector<OpenCall> stack;
    for (const lang::Token& token : lang::tokenize(text, lang::LexMode::Tolerant).tokens) {
        switch (token.kind) {
            case lang::TokenKind::LParen: stack.push_back({token.span.begin, 0}); break;
            case lang::TokenKind::LBracket:
            case lang::TokenKind::LBrace: stack.push_back({std::string_view::npos, 0}); break;
            case lang::TokenKind::RParen:
            case lang::TokenKind::RBracket:
            case lang::TokenKind::RBrace:
                if (!stack.empty()) stack.pop_back();
                break;
            case lang::TokenKind::Comma:
                if (!stack.empty()) stack.back().arguments++;
                break;
            default: break;
        }
    }
    return stack.empty() ? OpenCall() : stack.back();
}

}  // namespace

Completion Engine::complete(std::string_view text) {
    vm::Vm& machine = state_->vm;
    if (size_t string_start = open_string(text); string_start != std::string_view::npos) {
        return complete_path(machine.host, text, string_start);
    }
    size_t start = text.size();
    while (start > 0 && is_word(text[start - 1])) start--;
    std::string_view word = text.substr(start);
    Names names;
    try {
        if (complete_import(machine, text.substr(0, start), names)) {
            // the names are there
        } else if (start > 0 && text[start - 1] == '.') {
            std::string_view before = text.substr(0, start - 1);
            stdlib::Known known = stdlib::known_value(machine, before.substr(stdlib::operand_start(before)));
            if (known) add_attributes(machine, known, names);
        } else if (!word.empty()) {
            add_globals(machine, names);
        }
    } catch (vm::Raised&) {
        machine.take_raised();
    }
    Completion completion{start, {}};
    bool wants_hidden = word.starts_with('_');
    for (const std::string& name : names) {
        if (name.starts_with(word) && (wants_hidden || !name.starts_with('_'))) completion.words.push_back(name);
    }
    return completion;
}

std::string Engine::hint(std::string_view text) {
    vm::Vm& machine = state_->vm;
    std::string_view trimmed = text.substr(0, text.find_last_not_of(' ') + 1);
    if (trimmed.ends_with('(') || trimmed.ends_with(',')) {
        OpenCall call = open_call(text);
        if (call.parenthesis == std::string_view::npos) return "";
        std::string_view before = text.substr(0, call.parenthesis);
        stdlib::Known callee = stdlib::known_value(machine, before.substr(stdlib::operand_start(before)));
        if (!callee.value) return "";
        std::string signature = stdlib::signature_text(machine, callee.value);
        if (signature.empty()) return "";
        std::string_view rest = std::string_view(signature).substr(1);
        for (size_t i = 0; i < call.arguments; i++) {
            size_t comma = rest.find(", ");
            if (comma == std::string_view::npos) return "";
            rest.remove_prefix(comma + 2);
        }
        return (trimmed.ends_with(',') && text.size() == trimmed.size() ? " " : "") + std::string(rest);
    }
    size_t start = text.size();
    while (start > 0 && is_word(text[start - 1])) start--;
    if (text.size() - start < 2 && !(start > 0 && text[start - 1] == '.' && start < text.size())) return "";
    Completion completion = complete(text);
    if (completion.words.size() != 1 || completion.start != start) return "";
    return completion.words[0].substr(text.size() - start);
}

}  // namespace talc
