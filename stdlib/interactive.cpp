// The public API for an interactive prompt: running line by line, completion, colours, help.
#include <algorithm>
#include <set>

#include "lang/compile.hpp"
#include "lang/disassembler.hpp"
#include "lang/lexer.hpp"
#include "stdlib/engine.hpp"
#include "stdlib/streams.hpp"
#include "vm/class.hpp"
#include "vm/namespace.hpp"
#include "vm/shape.hpp"

namespace talc {

namespace {

std::shared_ptr<const Source> source_of(std::string_view code, const std::string& name) {
    return std::make_shared<const Source>(name, std::string(code));
}

// Shows a value as the prompt does, and keeps it in _.
void display(vm::Vm& machine, vm::Value value) {
    if (value.is_none()) return;
    vm::Ref keep(value);
    std::string text = vm::repr(machine, value)->string() + "\n";
    stdlib::Streams::of(machine).write_out(machine, text);
    vm::set_attr_plain(machine, machine.main_module, vm::intern(machine, "_").get(), value);
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }

void add_names(const vm::Namespace& table, std::set<std::string>& names) {
    for (uint32_t i = 0; i < table.size; i++) {
        if (!table.rows[i].cell->value.is_undef()) names.insert(table.rows[i].name->string());
    }
}

void add_attributes(vm::Vm& machine, vm::Value v, std::set<std::string>& names) {
    if (v.is_kind(vm::Kind::Module)) {
        auto* module = vm::cast<vm::Module>(v);
        if (module->populate) module->populate(machine, module, nullptr);
        add_names(module->globals, names);
    }
    if (v.is_obj()) {
        vm::Slots* slots = vm::slots_of(v.o);
        if (slots && slots->shape) {
            for (vm::Str* key : slots->shape->keys) names.insert(key->string());
        }
    }
    vm::Class* first = v.is_kind(vm::Kind::Class) ? vm::cast<vm::Class>(v) : vm::class_of(machine, v);
    for (vm::Class* cls = first; cls; cls = cls->base) {
        vm::ensure_populated(machine, cls);
        add_names(cls->attributes, names);
    }
}

// The value of a.b.c by looking up alone; empty: there is none.
vm::Ref look_up(vm::Vm& machine, std::string_view path) {
    vm::Ref value;
    while (!path.empty()) {
        size_t dot = path.find('.');
        vm::Ptr<vm::Str> name = vm::intern(machine, path.substr(0, dot));
        if (!value) {
            value = vm::find_attr(machine, machine.main_module, name.get());
            if (!value) value = machine.builtin(name->view());
        } else {
            value = vm::find_attr(machine, value, name.get());
        }
        if (!value || dot == std::string_view::npos) return value;
        path.remove_prefix(dot + 1);
    }
    return {};
}

Colour colour_of(lang::TokenCategory category) {
    switch (category) {
        case lang::TokenCategory::Comment: return Colour::Comment;
        case lang::TokenCategory::Error: return Colour::Error;
        case lang::TokenCategory::Name: return Colour::Name;
        case lang::TokenCategory::Number: return Colour::Number;
        case lang::TokenCategory::String: return Colour::String;
        case lang::TokenCategory::Operator: return Colour::Operator;
        case lang::TokenCategory::Keyword: return Colour::Keyword;
        case lang::TokenCategory::Layout: break;
    }
    return Colour::Plain;
}

std::string parameters_of(const vm::Function* function) {
    const lang::Code& code = *function->code->plain;
    size_t defaults = function->defaults ? function->defaults->size : 0;
    std::string out = "(";
    auto add = [&](const std::string& text) { out += (out.size() > 1 ? ", " : "") + text; };
    for (size_t i = 0; i < code.positional; i++) {
        std::string text = code.local_names[i];
        if (i + defaults >= code.positional) {
            vm::Value fallback = function->defaults->items[i + defaults - code.positional];
            text += "=" + vm::repr(*function->cls->vm, fallback)->string();
        }
        add(text);
        if (i + 1 == code.positional_only) add("/");
    }
    size_t at = size_t{code.positional} + code.keyword_only;
    if (code.has_varargs) add("*" + code.local_names[at++]);
    else if (code.keyword_only) add("*");
    for (size_t i = code.positional; i < size_t{code.positional} + code.keyword_only; i++) add(code.local_names[i] + "=...");
    if (code.has_varkw) add("**" + code.local_names[at]);
    return out + ")";
}

// The function behind a method or a class's __init__.
vm::Value function_of(vm::Vm& machine, vm::Value v) {
    if (v.is_kind(vm::Kind::BoundMethod)) v = vm::cast<vm::BoundMethod>(v)->function;
    if (v.is_kind(vm::Kind::Class)) {
        vm::Value init = vm::find_class_attr(machine, vm::cast<vm::Class>(v), machine.names.special(vm::Special::Init));
        if (init.is_kind(vm::Kind::Function)) return init;
    }
    return v;
}

}  // namespace

Result Engine::run_interactive(std::string_view code, const std::string& name) {
    state_->vm.host.display = display;
    Result result = state_->run(source_of(code, name), true);
    flush();
    return result;
}

Completeness Engine::completeness(std::string_view code) const {
    lang::CompileResult compiled = lang::compile(source_of(code, "<stdin>"), lang::CompileMode::Interactive);
    if (compiled.error) return compiled.error->incomplete ? Completeness::Incomplete : Completeness::Wrong;
    // A block goes on until an empty line ends it.
    size_t last = code.find_last_not_of("\n");
    if (last == std::string_view::npos) return Completeness::Complete;
    size_t line = code.rfind('\n', last);
    std::string_view last_line = code.substr(line == std::string_view::npos ? 0 : line + 1, last + 1);
    bool in_block = last_line.starts_with(' ') || last_line.starts_with('\t') || last_line.starts_with('@') ||
                    last_line.ends_with(':');
    return in_block && !code.ends_with("\n\n") && !code.ends_with("\n") ? Completeness::Incomplete : Completeness::Complete;
}

std::vector<ColouredSpan> Engine::highlight(std::string_view code) const {
    std::vector<ColouredSpan> spans;
    for (const lang::Token& token : lang::tokenize(code, lang::LexMode::Tolerant).tokens) {
        Colour colour = colour_of(lang::token_category(token.kind));
        if (colour == Colour::Plain || token.span.end <= token.span.begin) continue;
        if (colour == Colour::Name && state_->vm.builtin(code.substr(token.span.begin, token.span.end - token.span.begin))) {
            colour = Colour::Builtin;
        }
        spans.push_back({token.span.begin, token.span.end, colour});
    }
    return spans;
}

Completion Engine::complete(std::string_view text) {
    vm::Vm& machine = state_->vm;
    size_t start = text.size();
    while (start > 0 && is_word(text[start - 1])) start--;
    std::string_view word = text.substr(start);
    std::set<std::string> names;
    try {
        if (start > 0 && text[start - 1] == '.') {
            size_t path = start - 1;
            while (path > 0 && (is_word(text[path - 1]) || text[path - 1] == '.')) path--;
            vm::Ref value = look_up(machine, text.substr(path, start - 1 - path));
            if (value) add_attributes(machine, value, names);
        } else if (!word.empty()) {
            add_names(machine.main_module->globals, names);
            add_names(machine.builtins->globals, names);
            for (const vm::NativeRow& row : machine.table.rows_of("")) names.insert(row.name);
#define KLASS(field, name, kind, base) if (machine.builtin(name)) names.insert(name);
#include "vm/classes.def"
#undef KLASS
            for (vm::Class* cls : machine.classes.exceptions) names.insert(cls->name->string());
#define TALC_KEYWORD(kind, text) names.insert(text);
#include "lang/tokens.def"
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

std::string Engine::help(std::string_view expression) {
    vm::Vm& machine = state_->vm;
    talc::Value held = eval(expression);
    vm::Value value;
    detail::Raw raw = held.raw();
    __builtin_memcpy(static_cast<void*>(&value), &raw, sizeof value);
    std::string out(expression);
    vm::Value function = function_of(machine, value);
    if (function.is_kind(vm::Kind::Function)) out += parameters_of(vm::cast<vm::Function>(function));
    if (function.is_kind(vm::Kind::Native)) out += vm::cast<vm::Native>(function)->row->signature;
    out += "\n    " + std::string(vm::class_name(machine, value)) + "\n";
    vm::Ref doc = vm::find_attr(machine, value, machine.names.doc_);
    if (doc && doc.is_kind(vm::Kind::Str)) out += "    " + vm::cast<vm::Str>(doc.get())->string() + "\n";
    return out;
}

std::string Engine::disassemble(std::string_view expression) {
    vm::Ref value = look_up(state_->vm, expression);
    vm::Value function = value ? function_of(state_->vm, value) : vm::Value();
    if (!function.is_kind(vm::Kind::Function)) return std::string(expression) + " is not a function of a script\n";
    return lang::disassemble(*vm::cast<vm::Function>(function)->code->plain);
}

std::string Engine::source(std::string_view expression) {
    vm::Ref value = look_up(state_->vm, expression);
    vm::Value function = value ? function_of(state_->vm, value) : vm::Value();
    if (!function.is_kind(vm::Kind::Function)) return std::string(expression) + " has no source here\n";
    const lang::Code& code = *vm::cast<vm::Function>(function)->code->plain;
    return std::string(code.source->text().substr(code.span.begin, code.span.end - code.span.begin)) + "\n";
}

std::vector<std::string> Engine::globals() {
    std::vector<std::string> names;
    const vm::Namespace& table = state_->vm.main_module->globals;
    for (uint32_t i = 0; i < table.size; i++) {
        std::string name = table.rows[i].name->string();
        if (!table.rows[i].cell->value.is_undef() && !name.starts_with("_")) names.push_back(std::move(name));
    }
    return names;
}

}  // namespace talc
