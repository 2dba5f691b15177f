// The public API for an interactive prompt: running line by line, completion, colours, help.
#include <algorithm>

#include "lang/compile.hpp"
#include "lang/disassembler.hpp"
#include "lang/lexer.hpp"
#include "stdlib/builtins.hpp"
#include "stdlib/engine.hpp"
#include "stdlib/inspection.hpp"
#include "stdlib/streams.hpp"
#include "vm/class.hpp"
#include "vm/module.hpp"
#include "vm/namespace.hpp"

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

// A class keeps no text of its own: it stands around that of its methods.
std::string class_source(vm::Vm& machine, vm::Class* cls) {
    vm::ensure_populated(machine, cls);
    for (uint32_t i = 0; i < cls->attributes.size; i++) {
        vm::Value value = cls->attributes.rows[i].cell->value;
        if (!value.is_kind(vm::Kind::Function)) continue;
        const lang::Code& code = *vm::cast<vm::Function>(value)->code->plain;
        std::string_view text = code.source->text();
        std::string head = "class " + cls->name->string();
        size_t begin = text.rfind(head, code.span.begin);
        if (begin == std::string_view::npos) continue;
        size_t indent = begin - (text.rfind('\n', begin) == std::string_view::npos ? 0 : text.rfind('\n', begin) + 1);
        size_t end = begin;
        do {  // as long as lines are empty or further in than `class`
            end = std::min(text.find('\n', end), text.size() - 1) + 1;
            size_t inner = text.find_first_not_of(' ', end);
            if (inner == std::string_view::npos || (text[inner] != '\n' && inner - end <= indent)) break;
        } while (end < text.size());
        std::string_view found = text.substr(begin, end - begin);
        return std::string(found.substr(0, found.find_last_not_of(" \n") + 1)) + "\n";
    }
    return "";
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
    // A block goes on until an empty line ends it; a statement of one line that could have been a block, too.
    size_t last = code.find_last_not_of("\n");
    if (last == std::string_view::npos || code.ends_with('\n')) return Completeness::Complete;
    size_t line = code.rfind('\n', last);
    std::string_view last_line = code.substr(line == std::string_view::npos ? 0 : line + 1, last + 1);
    bool in_block = last_line.starts_with(' ') || last_line.starts_with('\t') || last_line.starts_with('@');
    std::string_view word = last_line.substr(0, last_line.find_first_of(" :("));
    for (std::string_view compound : {"if", "elif", "else", "for", "while", "try", "except", "finally", "with", "def", "class"}) {
        in_block |= word == compound;
    }
    return in_block ? Completeness::Incomplete : Completeness::Complete;
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

std::string Engine::help(std::string_view expression) {
    vm::Vm& machine = state_->vm;
    talc::Value held = eval(expression);
    vm::Value value;
    detail::Raw raw = held.raw();
    __builtin_memcpy(static_cast<void*>(&value), &raw, sizeof value);
    std::string out = std::string(expression) + stdlib::signature_text(machine, value);
    out += "\n    " + std::string(vm::class_name(machine, value)) + "\n";
    vm::Ref doc = vm::find_attr(machine, value, machine.names.doc_);
    if (doc && doc.is_kind(vm::Kind::Str)) out += "    " + vm::cast<vm::Str>(doc.get())->string() + "\n";
    return out;
}

namespace {

// The script function that an expression names; null: none.
vm::Function* script_function(vm::Vm& machine, std::string_view expression) {
    stdlib::Known known = stdlib::known_value(machine, expression);
    vm::Value function = known.value ? stdlib::function_behind(machine, known.value) : vm::Value();
    return function.is_kind(vm::Kind::Function) ? vm::cast<vm::Function>(function) : nullptr;
}

}  // namespace

std::string Engine::disassemble(std::string_view expression) {
    vm::Function* function = script_function(state_->vm, expression);
    if (!function) return std::string(expression) + " is not a function of a script\n";
    return lang::disassemble(*function->code->plain);
}

std::string Engine::source(std::string_view expression) {
    vm::Vm& machine = state_->vm;
    stdlib::Known known = stdlib::known_value(machine, expression);
    if (known.value && known.value.is_kind(vm::Kind::Class)) {
        if (std::string text = class_source(machine, vm::cast<vm::Class>(known.value.get())); !text.empty()) return text;
    }
    vm::Function* function = script_function(machine, expression);
    if (!function) return std::string(expression) + " has no source here\n";
    const lang::Code& code = *function->code->plain;
    return std::string(code.source->text().substr(code.span.begin, code.span.end - code.span.begin)) + "\n";
}

void Engine::set_logs(std::string channels) {
    state_->options.logs = std::move(channels);
    stdlib::set_jit_log(state_->vm, state_->options.logs);
}

std::vector<std::string> Engine::reload() {
    vm::Vm& machine = state_->vm;
    std::vector<std::string> names;
    try {
        // The table may change while modules run.
        std::vector<vm::Ref> modules;
        for (size_t i = 0; vm::DictEntry* entry = vm::dict_entry(machine.modules, i); i++) modules.push_back(entry->value);
        for (const vm::Ref& item : modules) {
            if (!item.is_kind(vm::Kind::Module)) continue;
            auto* module = vm::cast<vm::Module>(item.get());
            if (module->library || !module->file || module == machine.main_module) continue;
            std::string text, file = module->file->string();
            if (!read_source(file, text)) vm::raise(machine, vm::Exc::ImportError, "cannot read '{}'", file);
            std::shared_ptr<const Source> source = source_of(text, file);
            lang::CompileResult compiled = lang::compile(source);
            if (compiled.error) vm::raise_syntax_error(machine, *compiled.error, *source);
            machine.begin_run();
            machine.run_module(std::move(compiled.code), module);
            names.push_back(module->name->string());
        }
    } catch (vm::Raised&) {
        vm::Ref exception = machine.take_raised();
        throw state_->error_of(exception);
    }
    return names;
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
