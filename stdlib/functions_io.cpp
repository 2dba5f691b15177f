// print and input.
#include "base/text/number_text.hpp"
#include "base/text/utf8.hpp"
#include "stdlib/file.hpp"
#include "stdlib/modules/memory_file.hpp"
#include "stdlib/streams.hpp"
#include "stdlib/support.hpp"

namespace talc::stdlib {

namespace {

void append_value(Vm& vm, text::Buffer& out, Value v) {
    if (is_plain(v, Kind::Str)) {
        out.append(cast<Str>(v)->view());
    } else if (v.is_int()) {
        text::append_int(out, v.i);
    } else {
        out.append(to_str(vm, v)->view());
    }
}

// sep and end: None stands for the default.
std::string_view separator(Vm& vm, Value v, const char* name, std::string_view fallback) {
    if (v.is_none()) return fallback;
    if (!is_str(v)) raise(vm, Exc::TypeError, "{} must be None or a string, not {}", name, class_name(vm, v));
    return cast<Str>(v)->view();
}

// To a script's own file object: one write for each piece, as CPython does.
void print_to_object(Vm& vm, Value file, const Args& args, std::string_view between, std::string_view end) {
    Ref write = get_attr(vm, file, vm.names.write);
    for (size_t i = 0; i < args.nrest; i++) {
        if (i > 0) call(vm, write, make_str(vm, between));
        call(vm, write, to_str(vm, args.rest[i]));
    }
    call(vm, write, make_str(vm, end));
}

void write_print(Vm& vm, Value file, std::string_view text) {
    if (file.is_none()) {
        Streams::of(vm).write_out(vm, text);
    } else if (is_string_io(vm, file)) {
        write_to_string_io(vm, file, text);
    } else {
        write_to_file(vm, file, text);
    }
}

}  // namespace

Ref builtin_print(Vm& vm, const Args& args) {
    std::string_view between = separator(vm, args[0], "sep", " ");
    std::string_view end = separator(vm, args[1], "end", "\n");
    Value file = args[2];
    Ref replaced;
    if (file.is_none() && !(replaced = Streams::of(vm).replacement(1)).is_undef()) {
        file = replaced;
        if (file.is_none()) return none();  // sys.stdout = None: nowhere
    }
    if (file.is_none() || is_text_file(vm, file) || is_string_io(vm, file)) {
        text::Buffer out;
        try {
            for (size_t i = 0; i < args.nrest; i++) {
                if (i > 0) out.append(between);
                append_value(vm, out, args.rest[i]);
            }
        } catch (Raised&) {
            // What stands before the value that cannot be shown is printed all the same.
            Ref error = vm.take_raised();
            if (!out.empty()) write_print(vm, file, out);
            raise_object(vm, error);
        }
        out.append(end);
        write_print(vm, file, out);
    } else {
        print_to_object(vm, file, args, between, end);
    }
    if (truth(vm, args[3])) {
        if (file.is_none()) {
            Streams::of(vm).flush_out(vm);
        } else {
            call_method(vm, file, intern(vm, "flush").get(), nullptr, 0);
        }
    }
    return none();
}

Ref builtin_input(Vm& vm, const Args& args) {
    Streams& streams = Streams::of(vm);
    if (args.has(0)) {
        Ref out = streams.replacement(1);
        if (out.is_undef()) {
            streams.write_out(vm, to_str(vm, args[0])->view());
        } else {
            call(vm, get_attr(vm, out, vm.names.write), to_str(vm, args[0]));
        }
    }
    if (Ref in = streams.replacement(0)) {
        Ref line = call_method(vm, in, intern(vm, "readline").get(), nullptr, 0);
        if (!is_str(line)) raise(vm, Exc::TypeError, "object.readline() returned non-string");
        std::string_view text = cast<Str>(line.get())->view();
        if (text.empty()) raise(vm, Exc::EOFError, "EOF when reading a line");
        return text.ends_with('\n') ? make_str(vm, text.substr(0, text.size() - 1)) : Ptr<Str>(cast<Str>(line.get()));
    }
    std::string line;
    if (!streams.read_line(vm, line)) raise(vm, Exc::EOFError, "EOF when reading a line");
    if (line.ends_with('\n')) line.pop_back();
    if (text::InvalidUtf8 invalid = text::find_invalid_utf8(line)) {
        raise(vm, Exc::UnicodeDecodeError, text::utf8_error_message(line, invalid));
    }
    return make_str(vm, line);
}

}  // namespace talc::stdlib
