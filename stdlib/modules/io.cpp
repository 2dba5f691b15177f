// io: StringIO and BytesIO, files that live in memory.
#include <algorithm>

#include "base/text/utf8.hpp"
#include "stdlib/file.hpp"
#include "stdlib/modules.hpp"
#include "stdlib/modules/memory_file.hpp"
#include "stdlib/support.hpp"
#include "vm/containers.hpp"

namespace talc::stdlib {

namespace {

const NativeClass kStringIO = {.name = "StringIO", .module = "_io", .attributes = true};
const NativeClass kBytesIO = {.name = "BytesIO", .module = "_io", .attributes = true};

// Text is UTF-8. Positions are bytes inside and characters outside: the same while all of it is ASCII.
struct MemoryFile final : ForeignState {
    MemoryFile(Vm& owner, bool text) : vm(owner), is_text(text) {}
    ~MemoryFile() override { vm.heap.discharge(charged); }

    Vm& vm;
    bool is_text;
    bool closed = false;
    bool translate = false;      // newline=None: \r\n and \r become \n
    bool ascii = true;
    std::string write_newline;   // what \n is written as, if not itself
    std::string data;
    size_t at = 0;               // may lie behind the end
    size_t charged = 0;          // bytes that count against the engine's limit

    // Makes room for so many bytes in all, within the engine's limit.
    void make_room(size_t size) {
        if (size <= data.capacity()) return;
        constexpr size_t kMost = size_t{1} << 40;
        size_t capacity = std::max(size, data.capacity() * 2);
        if (size > kMost || !vm.heap.charge(capacity - charged)) raise_memory_error(vm);
        charged = capacity;
        data.reserve(capacity);
    }
    void give_back() {
        data.clear();
        data.shrink_to_fit();
        vm.heap.discharge(charged);
        charged = 0;
    }

    std::string_view rest() const { return at < data.size() ? std::string_view(data).substr(at) : std::string_view(); }
    bool plain() const { return !is_text || ascii; }
    int64_t tell() const {
        if (plain() || at > data.size()) return static_cast<int64_t>(at);
        return static_cast<int64_t>(text::code_point_count(std::string_view(data).substr(0, at)));
    }
    void go_to(int64_t position) {
        at = plain() ? static_cast<size_t>(position) : text::byte_offset(data, static_cast<size_t>(position));
    }

    void write(std::string_view s) {
        if (is_text && ascii && !text::is_ascii(s)) ascii = false;
        make_room(std::max(at, data.size()) + s.size());
        if (at > data.size()) data.resize(at, '\0');
        if (at == data.size()) {
            data.append(s);
        } else {
            // As many characters as come in are replaced.
            size_t replaced = plain() ? s.size() : text::byte_offset(rest(), text::code_point_count(s));
            data.replace(at, std::min(replaced, data.size() - at), s);
        }
        at += s.size();
    }
};

MemoryFile& state(const Args& args) { return *foreign_cast<MemoryFile>(args[0]); }

MemoryFile& open_file(Vm& vm, const Args& args) {
    MemoryFile& file = state(args);
    if (file.closed) {
        raise(vm, Exc::ValueError, std::string(file.is_text ? "I/O operation on closed file" : "I/O operation on closed file."));
    }
    return file;
}

Ref value_of(Vm& vm, const MemoryFile& file, std::string_view part) {
    if (file.is_text) return make_str(vm, part);
    return make_bytes(vm, part);
}

Ref take(Vm& vm, MemoryFile& file, size_t bytes) {
    Ref part = value_of(vm, file, file.rest().substr(0, bytes));
    file.at += std::min(bytes, file.rest().size());
    return part;
}

// A count of characters or bytes; -1: no limit.
int64_t size_argument(Vm& vm, Value v) {
    if (v.is_none()) return -1;
    if (!is_integer(v) && find_special(vm, v, Special::Index).is_undef()) {
        raise(vm, Exc::TypeError, "argument should be integer or None, not '{}'", class_name(vm, v));
    }
    return to_index(vm, v);
}

// Bytes of so many characters at the position.
size_t bytes_of(const MemoryFile& file, int64_t count) {
    if (count < 0) return file.rest().size();
    auto size = static_cast<size_t>(count);
    return file.plain() ? std::min(size, file.rest().size()) : text::byte_offset(file.rest(), size);
}

size_t line_size(const MemoryFile& file) {
    std::string_view rest = file.rest();
    size_t end = rest.find(file.write_newline.empty() ? std::string_view("\n") : std::string_view(file.write_newline));
    if (end == std::string_view::npos) return rest.size();
    return end + std::max<size_t>(1, file.write_newline.size());
}

void write_text(MemoryFile& file, std::string_view s) {
    if (!file.translate && file.write_newline.empty()) return file.write(s);
    std::string translated;
    for (size_t i = 0; i < s.size(); i++) {
        if (file.translate && s[i] == '\r') {
            translated += '\n';
            if (i + 1 < s.size() && s[i + 1] == '\n') i++;
        } else if (s[i] == '\n' && !file.write_newline.empty()) {
            translated += file.write_newline;
        } else {
            translated += s[i];
        }
    }
    file.write(translated);
}

int64_t write_value(Vm& vm, const Args& args, Value data) {
    MemoryFile& file = state(args);
    if (file.is_text) {
        if (!is_str(data)) raise(vm, Exc::TypeError, "string argument expected, got '{}'", class_name(vm, data));
        open_file(vm, args);
        write_text(file, cast<Str>(data)->view());
        return cast<Str>(data)->length;
    }
    open_file(vm, args);
    if (!data.is_kind(Kind::Bytes)) {
        raise(vm, Exc::TypeError, "a bytes-like object is required, not '{}'", class_name(vm, data));
    }
    file.write(cast<Bytes>(data)->view());
    return static_cast<int64_t>(cast<Bytes>(data)->size);
}

}  // namespace

bool is_string_io(Vm& vm, Value v) { return v.is_kind(Kind::Foreign) && v.o->cls == native_class(vm, kStringIO); }

void write_to_string_io(Vm& vm, Value v, std::string_view text) {
    auto* file = foreign_cast<MemoryFile>(v);
    if (file->closed) raise(vm, Exc::ValueError, "I/O operation on closed file");
    write_text(*file, text);
}

Ref memory_files_new(Vm& vm, const Args& args) {
    bool text = is_class(args[0]) && is_subclass(cast<Class>(args[0]), native_class(vm, kStringIO));
    Class* cls = class_to_make(vm, args[0], native_class(vm, text ? kStringIO : kBytesIO));
    return make_foreign(vm, cls, std::make_unique<MemoryFile>(vm, text));
}

Ref string_io_init(Vm& vm, const Args& args) {
    MemoryFile& file = state(args);
    file.data.clear();
    file.at = 0;
    file.ascii = true;
    file.translate = args[2].is_none();
    file.write_newline.clear();
    if (!args[2].is_none()) {
        if (!is_str(args[2])) raise(vm, Exc::TypeError, "newline must be str or None, not {}", class_name(vm, args[2]));
        std::string_view newline = cast<Str>(args[2])->view();
        if (!newline.empty() && newline != "\n" && newline != "\r" && newline != "\r\n") {
            raise(vm, Exc::ValueError, "illegal newline value: {}", repr(vm, args[2])->view());
        }
        if (newline != "\n") file.write_newline = newline;
    }
    if (!args[1].is_none()) {
        if (!is_str(args[1])) {
            raise(vm, Exc::TypeError, "initial_value must be str or None, not {}", class_name(vm, args[1]));
        }
        write_text(file, cast<Str>(args[1])->view());
    }
    file.at = 0;
    file.closed = false;
    return none();
}

Ref bytes_io_init(Vm& vm, const Args& args) {
    MemoryFile& file = state(args);
    file.data.clear();
    file.at = 0;
    file.closed = false;
    if (!args[1].is_none()) {
        if (!args[1].is_kind(Kind::Bytes)) {
            raise(vm, Exc::TypeError, "a bytes-like object is required, not '{}'", class_name(vm, args[1]));
        }
        file.write(cast<Bytes>(args[1])->view());
    }
    file.at = 0;
    return none();
}

Ref memory_files_enter(Vm& vm, const Args& args) {
    if (state(args).closed) raise(vm, Exc::ValueError, "I/O operation on closed file.");
    return args[0];
}

Ref memory_files_close(Vm&, const Args& args) {
    MemoryFile& file = state(args);
    file.closed = true;
    file.give_back();
    return none();
}

Ref memory_files_closed(Vm&, const Args& args) { return boolean(state(args).closed); }
Ref memory_files_fileno(Vm& vm, const Args&) { raise_unsupported(vm, "fileno"); }

Ref memory_files_flush(Vm& vm, const Args& args) {
    open_file(vm, args);
    return none();
}
Ref memory_files_isatty(Vm& vm, const Args& args) {
    open_file(vm, args);
    return boolean(false);
}
Ref memory_files_able(Vm& vm, const Args& args) {
    open_file(vm, args);
    return boolean(true);
}

Ref memory_files_getvalue(Vm& vm, const Args& args) {
    MemoryFile& file = open_file(vm, args);
    return value_of(vm, file, file.data);
}

Ref memory_files_read(Vm& vm, const Args& args) {
    MemoryFile& file = open_file(vm, args);
    return take(vm, file, bytes_of(file, size_argument(vm, args[1])));
}

Ref memory_files_readline(Vm& vm, const Args& args) {
    MemoryFile& file = open_file(vm, args);
    return take(vm, file, std::min(line_size(file), bytes_of(file, size_argument(vm, args[1]))));
}

Ref memory_files_readlines(Vm& vm, const Args& args) {
    MemoryFile& file = open_file(vm, args);
    int64_t hint = size_argument(vm, args[1]);
    Ptr<List> lines = make_list(vm);
    Ticker ticker(vm);
    int64_t total = 0;
    while (!file.rest().empty()) {
        ticker.step();
        Ref line = take(vm, file, line_size(file));
        total += length(vm, line);
        list_append(vm, lines.get(), std::move(line));
        if (hint > 0 && total > hint) break;
    }
    return lines;
}

Ref memory_files_next(Vm& vm, const Args& args) {
    MemoryFile& file = open_file(vm, args);
    if (file.rest().empty()) raise_object(vm, make_exception(vm, vm.classes.of(Exc::StopIteration), nullptr, 0));
    return take(vm, file, line_size(file));
}

Ref memory_files_tell(Vm& vm, const Args& args) { return integer(open_file(vm, args).tell()); }

Ref memory_files_seek(Vm& vm, const Args& args) {
    MemoryFile& file = open_file(vm, args);
    int64_t position = to_index(vm, args[1]);
    int64_t whence = to_index(vm, args[2]);
    if (whence < 0 || whence > 2) {
        raise(vm, Exc::ValueError, "{} whence ({}, should be 0, 1 or 2)", file.is_text ? "Invalid" : "invalid", whence);
    }
    if (whence == 0 && position < 0) {
        raise(vm, Exc::ValueError, "{} {}", file.is_text ? "Negative seek position" : "negative seek value", position);
    }
    if (file.is_text) {
        if (whence != 0 && position != 0) raise(vm, Exc::OSError, "Can't do nonzero cur-relative seeks");
        if (whence == 0) file.go_to(position);
        if (whence == 2) file.at = file.data.size();
    } else {
        auto base = static_cast<int64_t>(whence == 0 ? 0 : whence == 1 ? file.at : file.data.size());
        if (__builtin_add_overflow(base, position, &position)) raise(vm, Exc::OverflowError, "new position too large");
        file.at = static_cast<size_t>(std::max<int64_t>(position, 0));
    }
    return integer(file.tell());
}

Ref memory_files_truncate(Vm& vm, const Args& args) {
    MemoryFile& file = open_file(vm, args);
    int64_t size = args[1].is_none() ? file.tell() : to_index(vm, args[1]);
    if (size < 0) raise(vm, Exc::ValueError, "{} size value {}", file.is_text ? "Negative" : "negative", size);
    size_t bytes = file.plain() ? static_cast<size_t>(size) : text::byte_offset(file.data, static_cast<size_t>(size));
    if (bytes < file.data.size()) file.data.resize(bytes);
    return integer(size);
}

Ref memory_files_write(Vm& vm, const Args& args) { return integer(write_value(vm, args, args[1])); }

Ref memory_files_writelines(Vm& vm, const Args& args) {
    open_file(vm, args);
    walk(vm, args[1], [&](Value line) {
        write_value(vm, args, line);
        return true;
    });
    return none();
}

void fill_io(Vm& vm, Module* module) {
    set_value(vm, module, "StringIO", native_class(vm, kStringIO));
    set_value(vm, module, "BytesIO", native_class(vm, kBytesIO));
    set_value(vm, module, "TextIOWrapper", vm.classes.text_file);
    set_value(vm, module, "BufferedReader", vm.classes.binary_file);
    set_value(vm, module, "UnsupportedOperation", unsupported_operation(vm));
    set_value(vm, module, "open", vm.builtin("open"));
    set_value(vm, module, "DEFAULT_BUFFER_SIZE", Value::integer(8192));
    constexpr const char* kWhence[] = {"SEEK_SET", "SEEK_CUR", "SEEK_END"};
    for (int i = 0; i < 3; i++) set_value(vm, module, kWhence[i], Value::integer(i));
}

}  // namespace talc::stdlib
