// The report of an uncaught exception: call chain, source lines with carets, the message, a suggestion.
#include "base/source.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

struct Style {
    const char* bold = "";
    const char* red = "";
    const char* dim = "";
    const char* reset = "";
};

void append_entry(std::string& out, const TracebackEntry& entry, const Style& style) {
    const lang::Code& code = *entry.code->plain;
    Span span = entry.instruction < code.spans.size() ? code.spans[entry.instruction] : code.span;
    const Source& source = *code.source;
    out += fmt::format("  File {}\"{}\"{}, line {}, in {}\n", style.dim, source.name(), style.reset, source.line_of(span.begin),
                       code.name);
    if (source.line(source.line_of(span.begin)).empty()) return;
    std::string excerpt = caret_excerpt(source, span, "    ");
    size_t carets = excerpt.find('\n');
    out += excerpt.substr(0, carets + 1);
    out += style.red;
    out += excerpt.substr(carets + 1);
    out += style.reset;
    out += '\n';
}

bool same_place(const TracebackEntry& a, const TracebackEntry& b) {
    return a.code == b.code && a.instruction == b.instruction;
}

void append_traceback(std::string& out, const Exception* error, const Style& style) {
    if (!error->traceback || error->traceback->empty()) return;
    out += "Traceback (most recent call last):\n";
    const auto& entries = *error->traceback;
    constexpr size_t kShown = 3;  // of a run of equal lines
    for (size_t i = entries.size(); i-- > 0;) {
        size_t run = 1;
        while (run <= i && same_place(entries[i - run], entries[i])) run++;
        for (size_t k = 0; k < run && k < kShown; k++) append_entry(out, entries[i], style);
        if (run > kShown) {
            out += fmt::format("  [Previous line repeated {} more time{}]\n", run - kShown, run - kShown == 1 ? "" : "s");
        }
        i -= run - 1;
    }
}

std::string message_of(Vm& vm, Value exception) {
    try {
        return to_str(vm, exception)->string();
    } catch (Raised&) {
        vm.take_raised();
        return "<exception str() failed>";
    }
}

void append_exception(Vm& vm, std::string& out, Exception* error, const Style& style, int depth) {
    Ref keep{Value::object(error)};
    constexpr int kMaxChain = 32;
    if (depth < kMaxChain) {
        if (error->cause.is_kind(Kind::Exception)) {
            append_exception(vm, out, cast<Exception>(error->cause), style, depth + 1);
            out += "\nThe above exception was the direct cause of the following exception:\n\n";
        } else if (error->context.is_kind(Kind::Exception) && !error->suppress_context) {
            append_exception(vm, out, cast<Exception>(error->context), style, depth + 1);
            out += "\nDuring handling of the above exception, another exception occurred:\n\n";
        }
    }
    append_traceback(out, error, style);
    Class* cls = error->cls;
    bool syntax = is_subclass(cls, vm.classes.of(Exc::SyntaxError));
    if (syntax && error->payload.is_kind(Kind::Str)) out += cast<Str>(error->payload)->string() + "\n";
    std::string name = cls->qualname->string();
    if (cls->module_name && cls->module_name->view() != "__main__" && cls->module_name->view() != "builtins") {
        name = cls->module_name->string() + "." + name;
    }
    std::string message = message_of(vm, Value::object(error));
    out += fmt::format("{}{}{}", style.red, name, style.reset);
    if (!message.empty()) out += fmt::format(": {}{}{}", style.bold, message, style.reset);
    bool suggests = is_subclass(cls, vm.classes.of(Exc::AttributeError)) || is_subclass(cls, vm.classes.of(Exc::NameError)) ||
                    is_subclass(cls, vm.classes.of(Exc::ImportError));
    if (suggests && error->payload.is_kind(Kind::Str)) {
        out += fmt::format(". Did you mean: '{}'?", cast<Str>(error->payload)->view());
    }
    out += '\n';
    if (Ref notes = find_attr_plain(vm, Value::object(error), vm.names.notes_); notes && notes.is_kind(Kind::List)) {
        auto* list = cast<List>(notes.get());
        for (size_t i = 0; i < list->size; i++) out += to_str(vm, list->items[i])->string() + "\n";
    }
}

}  // namespace

std::string Vm::format_exception(Value exception, bool colour) {
    Style style;
    if (colour) style = {"\033[1m", "\033[1;31m", "\033[2m", "\033[0m"};
    std::string out;
    append_exception(*this, out, cast<Exception>(exception), style, 0);
    return out;
}

}  // namespace talc::vm
