// open() and the methods of file objects.
#include "stdlib/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/text/utf8.hpp"
#include "stdlib/codecs.hpp"
#include "stdlib/modules.hpp"
#include "stdlib/os_error.hpp"
#include "stdlib/streams.hpp"
#include "stdlib/support.hpp"

namespace talc::stdlib {

namespace {

enum class Decode : uint8_t { Strict, Replace, Ignore };

struct File final : ForeignState {
    File(std::shared_ptr<Streams> all, int fd, bool owned) : raw(fd, owned), streams(std::move(all)) {}
    ~File() override {
        if (registered) streams->remove(&raw);
    }

    RawFile raw;
    std::shared_ptr<Streams> streams;  // which may outlive the engine's other parts by this file
    int standard = -1;             // 0, 1, 2: a standard stream, which the engine's Streams serve
    bool is_text = true;
    bool readable = false;
    bool writable = false;
    bool registered = false;
    bool closed = false;
    bool universal = true;         // newline=None: \r\n and \r are read as \n
    bool split_returns = true;     // lines end at \r too
    std::string write_newline;     // what \n is written as, if not itself
    Decode decode = Decode::Strict;
    std::string encoding = "utf-8";  // as it was given
    std::string codec;               // of any other encoding than UTF-8; empty otherwise
    std::string errors = "strict";   // what the codec does with the rest
    std::string mode;
    Ref name;

    void traverse(Visitor& visitor) override { visitor.visit(name); }
    RawFile& source() { return standard == 0 ? streams->in() : raw; }
};

[[noreturn]] void unsupported(Vm& vm, const char* what) { raise_unsupported(vm, what); }

// ---- Opening --------------------------------------------------------------------------------------

struct Mode {
    bool reading = false, writing = false, appending = false, creating = false, updating = false;
    bool text = false, binary = false;
};

Mode parse_mode(Vm& vm, std::string_view text) {
    Mode mode;
    for (size_t i = 0; i < text.size(); i++) {
        bool repeated = text.find(text[i], i + 1) != std::string_view::npos;
        switch (text[i]) {
            case 'r': mode.reading = true; break;
            case 'w': mode.writing = true; break;
            case 'a': mode.appending = true; break;
            case 'x': mode.creating = true; break;
            case '+': mode.updating = true; break;
            case 't': mode.text = true; break;
            case 'b': mode.binary = true; break;
            default: repeated = true;
        }
        if (repeated) raise(vm, Exc::ValueError, "invalid mode: '{}'", text);
    }
    if (mode.text && mode.binary) raise(vm, Exc::ValueError, "can't have text and binary mode at once");
    if (mode.reading + mode.writing + mode.appending + mode.creating != 1) {
        const char* message = text.find_first_of("rwax") == std::string_view::npos
                                  ? "Must have exactly one of create/read/write/append mode and at most one plus"
                                  : "must have exactly one of create/read/write/append mode";
        raise(vm, Exc::ValueError, std::string(message));
    }
    return mode;
}

int open_descriptor(Vm& vm, const std::string& path, const Mode& mode) {
    bool write = !mode.reading || mode.updating;
    if (vm.host.may_open && !vm.host.may_open(path, write)) raise_os_error(vm, EACCES, path);
    int flags = !write ? O_RDONLY : (mode.reading || mode.updating) ? O_RDWR : O_WRONLY;
    if (mode.writing) flags |= O_CREAT | O_TRUNC;
    if (mode.appending) flags |= O_CREAT | O_APPEND;
    if (mode.creating) flags |= O_CREAT | O_EXCL;
    int fd;
    do {
        fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
        if (fd < 0 && errno == EINTR) vm.poll();
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) raise_os_error(vm, errno, path);
    struct stat status;
    if (::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        ::close(fd);
        raise_os_error(vm, EISDIR, path);
    }
    return fd;
}

Ref make_file(Vm& vm, std::unique_ptr<File> file) {
    if (file->writable && file->standard < 0) {
        file->streams->add(&file->raw);
        file->registered = true;
    }
    vm::Class* cls = file->is_text ? vm.classes.text_file : vm.classes.binary_file;
    return make_foreign(vm, cls, std::move(file));
}

std::unique_ptr<File> open_with(Vm& vm, Value name, const std::string* path, int fd, std::string_view mode_text) {
    Mode mode = parse_mode(vm, mode_text);
    if (path) fd = open_descriptor(vm, *path, mode);
    auto file = std::make_unique<File>(Streams::shared(vm), fd, true);
    file->is_text = !mode.binary;
    file->readable = mode.reading || mode.updating;
    file->writable = !mode.reading || mode.updating;
    file->mode = mode_text;
    file->name = name;
    return file;
}

// The codec of an encoding; empty for UTF-8.
std::string codec_of(Vm& vm, Value encoding) {
    if (encoding.is_none()) return {};
    std::string name(to_text(vm, encoding, "open() argument 'encoding'"));
    std::string plain;
    for (char c : name) {
        if (c != '-' && c != '_') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    if (plain == "utf8" || plain == "locale") return {};
    encode_text(vm, "", name, "strict");  // there is such a one
    return name;
}

void set_newline(Vm& vm, File& file, Value newline) {
    if (newline.is_none()) return;
    std::string_view text = to_text(vm, newline, "open() argument 'newline'");
    if (!text.empty() && text != "\n" && text != "\r" && text != "\r\n") {
        raise(vm, Exc::ValueError, "illegal newline value: {}", repr(vm, newline)->view());
    }
    file.universal = false;
    file.split_returns = text.empty() || text == "\r";
    if (text != "\n") file.write_newline = text;
}

void set_errors(Vm& vm, File& file, Value errors) {
    if (errors.is_none()) return;
    std::string_view text = to_text(vm, errors, "open() argument 'errors'");
    if (text == "replace" || text == "surrogateescape" || text == "backslashreplace") {
        file.decode = Decode::Replace;
    } else if (text == "ignore") {
        file.decode = Decode::Ignore;
    } else if (text != "strict") {
        raise(vm, Exc::LookupError, "unknown error handler name '{}'", text);
    }
    file.errors = text;
}

}  // namespace

Class* unsupported_operation(Vm& vm) {
    static const NativeClass kUnsupported = {.name = "UnsupportedOperation",
                                             .module = "io",
                                             .kind = Kind::Exception,
                                             .base = [](Vm& engine) { return engine.classes.of(Exc::OSError); }};
    return native_class(vm, kUnsupported);
}

void raise_unsupported(Vm& vm, const char* what) {
    Ref text = make_str(vm, what);
    Value arg = text;
    raise_object(vm, make_exception(vm, unsupported_operation(vm), &arg, 1));
}

Ref open_file(Vm& vm, const std::string& path, std::string_view mode) {
    Ref name = make_str(vm, path);
    return make_file(vm, open_with(vm, name, &path, -1, mode));
}

Ref builtin_open(Vm& vm, const Args& args) {
    std::string_view mode = to_text(vm, args[1], "open() argument 'mode'");
    std::unique_ptr<File> file;
    if (mode.find('b') != std::string_view::npos && mode.find('t') == std::string_view::npos) {
        parse_mode(vm, mode);
        if (!args[3].is_none()) raise(vm, Exc::ValueError, "binary mode doesn't take an encoding argument");
        if (!args[4].is_none()) raise(vm, Exc::ValueError, "binary mode doesn't take an errors argument");
        if (!args[5].is_none()) raise(vm, Exc::ValueError, "binary mode doesn't take a newline argument");
    }
    std::string codec = codec_of(vm, args[3]);
    Value name = args[0];
    if (is_integer(name)) {
        if (vm.host.may_open && !vm.host.may_open("", true)) raise_os_error(vm, EACCES);
        int64_t fd = int_value(name);
        if (fd < 0) raise(vm, Exc::ValueError, "negative file descriptor");
        if (fd > INT32_MAX || ::fcntl(static_cast<int>(fd), F_GETFD) < 0) raise_os_error(vm, EBADF);
        file = open_with(vm, name, nullptr, static_cast<int>(fd), mode);
    } else {
        bool known = is_str(name) || name.is_kind(Kind::Bytes);
        if (!known) {
            raise(vm, Exc::TypeError, "expected str, bytes or os.PathLike object, not {}", class_name(vm, name));
        }
        std::string path(is_str(name) ? cast<Str>(name)->view() : cast<Bytes>(name)->view());
        if (path.find('\0') != std::string::npos) raise(vm, Exc::ValueError, "embedded null byte");
        file = open_with(vm, name, &path, -1, mode);
    }
    if (file->is_text) {
        set_newline(vm, *file, args[5]);
        set_errors(vm, *file, args[4]);
        file->codec = std::move(codec);
        file->encoding = args[3].is_none() ? "UTF-8" : std::string(cast<Str>(args[3])->view());
    }
    int64_t buffering = to_index(vm, args[2]);
    if (buffering == 0) {
        if (file->is_text) raise(vm, Exc::ValueError, "can't have unbuffered text I/O");
        file->raw.set_flush(RawFile::Flush::Always);
    } else if (buffering == 1 || (buffering < 0 && file->writable && file->raw.is_terminal())) {
        file->raw.set_flush(RawFile::Flush::Lines);
    }
    return make_file(vm, std::move(file));
}

Ref make_standard_file(Vm& vm, int which, bool text) {
    constexpr const char* kNames[] = {"<stdin>", "<stdout>", "<stderr>"};
    auto file = std::make_unique<File>(Streams::shared(vm), which, false);
    file->standard = which;
    file->is_text = text;
    file->readable = which == 0;
    file->writable = which != 0;
    file->mode = which == 0 ? "r" : "w";
    file->name = make_str(vm, kNames[which]);
    return make_file(vm, std::move(file));
}

// ---- Reading --------------------------------------------------------------------------------------

namespace {

File& self(Vm& vm, const Args& args) {
    File* file = foreign_cast<File>(args[0]);
    if (file->closed) raise(vm, Exc::ValueError, "I/O operation on closed file.");
    return *file;
}

File& reader(Vm& vm, const Args& args) {
    File& file = self(vm, args);
    if (!file.readable) unsupported(vm, file.is_text ? "not readable" : "read");
    return file;
}

File& writer(Vm& vm, const Args& args) {
    File& file = self(vm, args);
    if (!file.writable) unsupported(vm, file.is_text ? "not writable" : "write");
    return file;
}

// Bytes of a text file as a str: newlines and ill-formed parts as the file was opened for.
Ref decoded(Vm& vm, const File& file, std::string_view bytes) {
    std::string plain;
    if (file.universal && bytes.find('\r') != std::string_view::npos) {
        for (size_t i = 0; i < bytes.size(); i++) {
            if (bytes[i] == '\r') {
                plain += '\n';
                if (i + 1 < bytes.size() && bytes[i + 1] == '\n') i++;
            } else {
                plain += bytes[i];
            }
        }
        bytes = plain;
    }
    if (!file.codec.empty()) return decode_bytes(vm, bytes, file.codec, file.errors);
    if (text::InvalidUtf8 invalid = text::find_invalid_utf8(bytes)) {
        if (file.decode == Decode::Strict) {
            raise(vm, Exc::UnicodeDecodeError, text::utf8_error_message(bytes, invalid));
        }
        text::Buffer out;
        if (file.decode == Decode::Replace) {
            text::append_decoded_replace(out, bytes);
        } else {
            text::append_decoded_ignore(out, bytes);
        }
        return make_str(vm, out);
    }
    return make_str(vm, bytes);
}

Ref value_of(Vm& vm, const File& file, std::string_view bytes) {
    if (file.is_text) return decoded(vm, file, bytes);
    return make_bytes(vm, bytes);
}

Ref take(Vm& vm, File& file, size_t bytes) {
    Ref value = value_of(vm, file, file.source().buffered().substr(0, bytes));
    file.source().consume(bytes);
    return value;
}

bool fill(Vm& vm, File& file) {
    if (file.standard != 0 || !vm.host.read_line) {
        if (file.standard == 0) file.streams->flush_out(vm);
        return file.source().fill(vm);
    }
    return false;
}

// How many bytes of the buffer make up a line, with its end; 0: more is needed.
size_t line_size(const File& file, std::string_view buffer, size_t from, bool at_end) {
    bool returns = file.is_text && (file.universal || file.split_returns);
    for (size_t i = from; i < buffer.size(); i++) {
        if (buffer[i] == '\n') return i + 1;
        if (returns && buffer[i] == '\r') {
            if (i + 1 < buffer.size()) return buffer[i + 1] == '\n' ? i + 2 : i + 1;
            return at_end ? i + 1 : 0;
        }
    }
    return at_end ? buffer.size() : 0;
}

// The next line with its newline; empty Ref at the end. `limit`: most characters or bytes, -1 for no limit.
Ref read_line(Vm& vm, File& file, int64_t limit) {
    if (file.standard == 0 && vm.host.read_line) {
        std::string line;
        if (!file.streams->read_line(vm, line)) return {};
        return value_of(vm, file, line);
    }
    size_t size = 0;
    size_t searched = 0;
    while ((size = line_size(file, file.source().buffered(), searched, false)) == 0) {
        searched = file.source().buffered().size();
        if (searched > 0 && file.source().buffered().back() == '\r') searched--;
        if (limit >= 0 && searched / 4 >= static_cast<size_t>(limit)) break;
        if (!fill(vm, file)) {
            size = line_size(file, file.source().buffered(), searched, true);
            if (size == 0) return {};
            break;
        }
    }
    std::string_view line = file.source().buffered();
    if (size > 0) line = line.substr(0, size);
    if (limit >= 0) {
        bool utf8 = file.is_text && file.codec.empty();
        size_t most = utf8 ? text::byte_offset(line, static_cast<size_t>(limit)) : static_cast<size_t>(limit);
        line = line.substr(0, most);
    }
    return take(vm, file, line.size());
}

Ref empty_value(Vm& vm, const File& file) {
    if (file.is_text) return vm.empty_str;
    return make_bytes(vm, "");
}

int64_t optional_size(Vm& vm, Value v) {
    if (v.is_none()) return -1;
    return to_index(vm, v);
}

}  // namespace

Ref files_read(Vm& vm, const Args& args) {
    File& file = reader(vm, args);
    int64_t size = optional_size(vm, args[1]);
    if (file.standard == 0 && vm.host.read_line) {
        std::string all, line;
        while (file.streams->read_line(vm, line)) all += line;
        return value_of(vm, file, all);
    }
    RawFile& source = file.source();
    if (size < 0) {
        while (fill(vm, file)) {
        }
        return take(vm, file, source.buffered().size());
    }
    // A character has at most four bytes, and \r\n is one.
    size_t wanted = static_cast<size_t>(size);
    size_t enough = file.is_text ? std::min<size_t>(wanted, SIZE_MAX / 8) * 4 + 2 : wanted;
    while (source.buffered().size() < enough && fill(vm, file)) {
    }
    std::string_view buffer = source.buffered();
    if (!file.is_text) return take(vm, file, std::min(wanted, buffer.size()));
    size_t at = 0;
    for (size_t i = 0; i < wanted && at < buffer.size(); i++) {
        if (file.universal && buffer[at] == '\r' && at + 1 < buffer.size() && buffer[at + 1] == '\n') at++;
        at = std::min<size_t>(at + (file.codec.empty() ? text::sequence_length(buffer[at]) : 1u), buffer.size());
    }
    return take(vm, file, at);
}

Ref files_readline(Vm& vm, const Args& args) {
    File& file = reader(vm, args);
    int64_t limit = optional_size(vm, args[1]);
    Ref line = limit == 0 ? Ref() : read_line(vm, file, limit);
    return line ? std::move(line) : empty_value(vm, file);
}

Ref files_readlines(Vm& vm, const Args& args) {
    File& file = reader(vm, args);
    int64_t hint = optional_size(vm, args[1]);
    Ptr<List> lines = make_list(vm);
    int64_t total = 0;
    while (Ref line = read_line(vm, file, -1)) {
        total += length(vm, line);
        list_append(vm, lines.get(), std::move(line));
        if (hint > 0 && total > hint) break;
    }
    return lines;
}

Ref files_iter(Vm& vm, const Args& args) {
    reader(vm, args);
    return args[0];
}

Ref files_next(Vm& vm, const Args& args) {
    Ref line = read_line(vm, reader(vm, args), -1);
    if (!line) raise_object(vm, make_exception(vm, vm.classes.of(Exc::StopIteration), nullptr, 0));
    return line;
}

// ---- Writing --------------------------------------------------------------------------------------

namespace {

void write_bytes(Vm& vm, File& file, std::string_view data) {
    if (file.standard == 1) return file.streams->write_out(vm, data);
    if (file.standard == 2) return file.streams->write_err(vm, data);
    if (file.write_newline.empty() || !file.is_text) return file.raw.write(vm, data);
    std::string translated;
    for (char c : data) {
        if (c == '\n') {
            translated += file.write_newline;
        } else {
            translated += c;
        }
    }
    file.raw.write(vm, translated);
}

void write_text(Vm& vm, File& file, std::string_view text) {
    if (file.codec.empty()) return write_bytes(vm, file, text);
    write_bytes(vm, file, encode_text(vm, text, file.codec, file.errors)->view());
}

int64_t write_value(Vm& vm, File& file, Value data) {
    if (file.is_text) {
        if (!is_str(data)) raise(vm, Exc::TypeError, "write() argument must be str, not {}", class_name(vm, data));
        write_text(vm, file, cast<Str>(data)->view());
        return cast<Str>(data)->length;
    }
    if (!data.is_kind(Kind::Bytes)) {
        raise(vm, Exc::TypeError, "a bytes-like object is required, not '{}'", class_name(vm, data));
    }
    write_bytes(vm, file, cast<Bytes>(data)->view());
    return static_cast<int64_t>(cast<Bytes>(data)->size);
}

}  // namespace

bool is_text_file(Vm& vm, Value v) { return v.is_kind(Kind::Foreign) && v.o->cls == vm.classes.text_file; }

void write_to_file(Vm& vm, Value text_file, std::string_view text) {
    File* file = foreign_cast<File>(text_file);
    if (file->closed) raise(vm, Exc::ValueError, "I/O operation on closed file.");
    if (!file->writable) unsupported(vm, "not writable");
    write_text(vm, *file, text);
}

Ref files_write(Vm& vm, const Args& args) { return integer(write_value(vm, writer(vm, args), args[1])); }

Ref files_writelines(Vm& vm, const Args& args) {
    writer(vm, args);
    walk(vm, args[1], [&](Value line) {
        write_value(vm, self(vm, args), line);
        return true;
    });
    return none();
}

Ref files_flush(Vm& vm, const Args& args) {
    File& file = self(vm, args);
    if (file.standard == 1) {
        file.streams->flush_out(vm);
    } else if (file.writable) {
        file.raw.flush(vm);
    }
    return none();
}

// ---- State ----------------------------------------------------------------------------------------

Ref files_close(Vm& vm, const Args& args) {
    File* file = foreign_cast<File>(args[0]);
    if (file->closed) return none();
    file->closed = true;
    if (file->registered) file->streams->remove(&file->raw);
    file->registered = false;
    if (file->standard == 1) file->streams->flush_out(vm);
    file->raw.close(vm);
    return none();
}

Ref files_enter(Vm& vm, const Args& args) {
    self(vm, args);
    return args[0];
}

Ref files_exit(Vm& vm, const Args& args) { return files_close(vm, args); }
Ref files_closed(Vm&, const Args& args) { return boolean(foreign_cast<File>(args[0])->closed); }
Ref files_name(Vm&, const Args& args) { return foreign_cast<File>(args[0])->name; }
Ref files_mode(Vm& vm, const Args& args) { return make_str(vm, foreign_cast<File>(args[0])->mode); }
Ref files_encoding(Vm& vm, const Args& args) { return make_str(vm, foreign_cast<File>(args[0])->encoding); }
Ref files_buffer(Vm& vm, const Args& args) {
    File* file = foreign_cast<File>(args[0]);
    if (file->standard < 0) raise(vm, Exc::AttributeError, "only the standard streams have an attribute 'buffer'");
    return make_standard_file(vm, file->standard, false);
}
Ref files_readable(Vm& vm, const Args& args) { return boolean(self(vm, args).readable); }
Ref files_writable(Vm& vm, const Args& args) { return boolean(self(vm, args).writable); }
Ref files_seekable(Vm& vm, const Args& args) { return boolean(self(vm, args).raw.seekable()); }
Ref files_fileno(Vm& vm, const Args& args) { return integer(self(vm, args).raw.fd()); }
Ref files_isatty(Vm& vm, const Args& args) { return boolean(self(vm, args).raw.is_terminal()); }
Ref files_tell(Vm& vm, const Args& args) { return integer(self(vm, args).source().tell(vm)); }

Ref files_seek(Vm& vm, const Args& args) {
    File& file = self(vm, args);
    int64_t offset = to_index(vm, args[1]);
    int64_t whence = to_index(vm, args[2]);
    if (whence < 0 || whence > 2) {
        raise(vm, Exc::ValueError, "invalid whence ({}, should be 0, 1 or 2)", whence);
    }
    if (file.is_text && whence == 1 && offset != 0) unsupported(vm, "can't do nonzero cur-relative seeks");
    if (file.is_text && whence == 2 && offset != 0) unsupported(vm, "can't do nonzero end-relative seeks");
    if (whence == 0 && offset < 0) {
        if (file.is_text) raise(vm, Exc::ValueError, "negative seek position {}", offset);
        raise_os_error(vm, EINVAL);
    }
    constexpr int kWhence[] = {SEEK_SET, SEEK_CUR, SEEK_END};
    return integer(file.source().seek(vm, offset, kWhence[whence]));
}

Ref files_truncate(Vm& vm, const Args& args) {
    File& file = writer(vm, args);
    int64_t size = args[1].is_none() ? file.raw.tell(vm) : to_index(vm, args[1]);
    file.raw.truncate(vm, size);
    return integer(size);
}

Ref files_repr(Vm& vm, const Args& args) {
    File* file = foreign_cast<File>(args[0]);
    Ptr<Str> name = repr(vm, file->name);
    if (!file->is_text) {
        const char* kind = !file->writable ? "BufferedReader" : file->readable ? "BufferedRandom" : "BufferedWriter";
        return make_str(vm, fmt::format("<_io.{} name={}>", kind, name->view()));
    }
    return make_str(vm, fmt::format("<_io.TextIOWrapper name={} mode='{}' encoding='{}'>", name->view(), file->mode, file->encoding));
}

}  // namespace talc::stdlib
