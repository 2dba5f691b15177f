// os: folders and files of the operating system, the process.
#include <dirent.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "base/text/utf8.hpp"
#include "stdlib/modules.hpp"
#include "stdlib/modules/paths.hpp"
#include "stdlib/os_error.hpp"
#include "stdlib/support.hpp"

extern char** environ;

namespace talc::stdlib {

namespace {

const RecordClass kStatResult = {
    "stat_result",
    "os",
    {"st_mode", "st_ino", "st_dev", "st_nlink", "st_uid", "st_gid", "st_size", "st_atime", "st_mtime", "st_ctime"}};

// The path, allowed by the host.
std::string allowed(Vm& vm, Value v, bool write, const char* what) {
    std::string path = paths::argument(vm, v, what);
    if (!paths::may_open(vm, path, write)) raise_os_error(vm, EACCES, path);
    return path;
}

void check(Vm& vm, int result, const std::string& path) {
    if (result != 0) raise_os_error(vm, errno, path);
}

// Bytes of the system as text.
Ref system_text(Vm& vm, std::string_view bytes) {
    if (!text::find_invalid_utf8(bytes)) return make_str(vm, bytes);
    text::Buffer out;
    text::append_decoded_replace(out, bytes);
    return make_str(vm, out);
}

bool is_folder(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

Ref os_getcwd(Vm& vm, const Args&) { return make_str(vm, paths::current_folder(vm)); }

Ref os_chdir(Vm& vm, const Args& args) {
    std::string path = allowed(vm, args[0], false, "chdir: path should be string, bytes, os.PathLike or integer");
    check(vm, ::chdir(path.c_str()), path);
    return none();
}

Ref os_listdir(Vm& vm, const Args& args) {
    std::string path = args[0].is_none() ? "." : paths::argument(vm, args[0], "listdir: path should be string, bytes, os.PathLike, integer or None");
    if (!paths::may_open(vm, path, false)) raise_os_error(vm, EACCES, path);
    std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
    if (!folder) raise_os_error(vm, errno, path);
    Ptr<List> names = make_list(vm);
    Ticker ticker(vm);
    while (dirent* entry = ::readdir(folder.get())) {
        ticker.step();
        std::string_view name = entry->d_name;
        if (name != "." && name != "..") list_append(vm, names.get(), system_text(vm, name));
    }
    return names;
}

Ref os_mkdir(Vm& vm, const Args& args) {
    std::string path = allowed(vm, args[0], true, "mkdir: path should be string, bytes or os.PathLike");
    check(vm, ::mkdir(path.c_str(), static_cast<mode_t>(to_index(vm, args[1]))), path);
    return none();
}

Ref os_makedirs(Vm& vm, const Args& args) {
    std::string path = allowed(vm, args[0], true, "expected str, bytes or os.PathLike object");
    auto mode = static_cast<mode_t>(to_index(vm, args[1]));
    bool exist_ok = truth(vm, args[2]);
    // Slashes at the end make no further folder.
    std::string whole = path;
    while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
    for (size_t at = whole.find_first_not_of('/'); (at = whole.find('/', at)) != std::string::npos; at++) {
        std::string above = whole.substr(0, at);
        if (is_folder(above)) continue;
        if (!paths::may_open(vm, above, true)) raise_os_error(vm, EACCES, above);
        if (::mkdir(above.c_str(), 0777) != 0 && errno != EEXIST) raise_os_error(vm, errno, above);
    }
    if (::mkdir(whole.c_str(), mode) != 0) {
        int error = errno;
        if (!exist_ok || !is_folder(whole)) raise_os_error(vm, error, path);
    }
    return none();
}

Ref os_rmdir(Vm& vm, const Args& args) {
    std::string path = allowed(vm, args[0], true, "rmdir: path should be string, bytes or os.PathLike");
    check(vm, ::rmdir(path.c_str()), path);
    return none();
}

Ref os_remove(Vm& vm, const Args& args) {
    std::string path = allowed(vm, args[0], true, "remove: path should be string, bytes or os.PathLike");
    check(vm, ::unlink(path.c_str()), path);
    return none();
}

Ref os_rename(Vm& vm, const Args& args) {
    std::string from = allowed(vm, args[0], true, "rename: src should be string, bytes or os.PathLike");
    std::string to = allowed(vm, args[1], true, "rename: dst should be string, bytes or os.PathLike");
    if (::rename(from.c_str(), to.c_str()) != 0) {
        // Both names belong to the error.
        int number = errno;
        try {
            raise_os_error(vm, number, from);
        } catch (Raised&) {
            Ref error = vm.take_raised();
            set_attr_plain(vm, error, intern(vm, "filename2").get(), make_str(vm, to));
            raise_object(vm, error);
        }
    }
    return none();
}

Ref os_stat(Vm& vm, const Args& args) {
    std::string path = allowed(vm, args[0], false, paths::kStatPath);
    struct stat s {};
    check(vm, truth(vm, args[1]) ? ::stat(path.c_str(), &s) : ::lstat(path.c_str(), &s), path);
    auto number = [](auto x) { return Value::integer(static_cast<int64_t>(x)); };
    auto time = [](const timespec& t) {
        return Value::real(static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec));
    };
    return make_record(vm, kStatResult,
                       {number(s.st_mode), number(s.st_ino), number(s.st_dev), number(s.st_nlink), number(s.st_uid),
                        number(s.st_gid), number(s.st_size), time(s.st_atim), time(s.st_mtim), time(s.st_ctim)});
}

Ref os_access(Vm& vm, const Args& args) {
    std::string path = paths::argument(vm, args[0], "access: path should be string, bytes, os.PathLike or integer");
    int64_t mode = to_index(vm, args[1]);
    if (!paths::may_open(vm, path, (mode & W_OK) != 0)) return boolean(false);
    return boolean(::access(path.c_str(), static_cast<int>(mode)) == 0);
}

Ref os_fspath(Vm& vm, const Args& args) {
    if (args[0].is_kind(Kind::Bytes)) return args[0];
    return paths::text(vm, args[0]);
}

Ref os_getpid(Vm&, const Args&) { return integer(::getpid()); }
Ref os_getppid(Vm&, const Args&) { return integer(::getppid()); }
Ref os_cpu_count(Vm&, const Args&) { return integer(std::max(1u, std::thread::hardware_concurrency())); }

Ref os_urandom(Vm& vm, const Args& args) {
    int64_t size = to_index(vm, args[0]);
    if (size < 0) raise(vm, Exc::ValueError, "negative argument not allowed");
    constexpr int64_t kMost = 1 << 28;
    if (size > kMost) raise(vm, Exc::MemoryError, "");
    std::string bytes(static_cast<size_t>(size), '\0');
    for (size_t at = 0; at < bytes.size();) {
        ssize_t count = ::getrandom(bytes.data() + at, bytes.size() - at, 0);
        if (count < 0 && errno != EINTR) raise_os_error(vm, errno);
        if (count > 0) at += static_cast<size_t>(count);
        vm.poll();
    }
    return make_bytes(vm, bytes);
}

Ref os_strerror(Vm& vm, const Args& args) { return make_str(vm, std::strerror(static_cast<int>(to_index(vm, args[0])))); }

// A copy: what a script changes in os.environ is the engine's own affair.
Ref os_environment(Vm& vm, const Args&) {
    Ptr<Dict> variables = make_dict(vm);
    for (char** entry = ::environ; entry && *entry; entry++) {
        std::string_view text = *entry;
        size_t equals = text.find('=', 1);
        if (equals == std::string_view::npos) continue;
        Ref name = system_text(vm, text.substr(0, equals));
        dict_set(vm, variables.get(), name, system_text(vm, text.substr(equals + 1)));
    }
    return variables;
}

void fill_os(Vm& vm, Module* module) {
    constexpr std::pair<const char*, const char*> kTexts[] = {
        {"name", "posix"}, {"sep", "/"},     {"linesep", "\n"},          {"pathsep", ":"},
        {"curdir", "."},   {"pardir", ".."}, {"extsep", "."},            {"devnull", "/dev/null"}};
    for (auto [name, value] : kTexts) set_value(vm, module, name, make_str(vm, value));
    constexpr std::pair<const char*, int> kNumbers[] = {{"F_OK", F_OK},         {"R_OK", R_OK},         {"W_OK", W_OK},
                                                        {"X_OK", X_OK},         {"SEEK_SET", SEEK_SET}, {"SEEK_CUR", SEEK_CUR},
                                                        {"SEEK_END", SEEK_END}};
    for (auto [name, value] : kNumbers) set_value(vm, module, name, Value::integer(value));
    set_value(vm, module, "altsep", Value::none());
    set_value(vm, module, "error", vm.classes.of(Exc::OSError));
    set_value(vm, module, "stat_result", record_class(vm, kStatResult));
    Ref key = make_str(vm, "posixpath");
    Ref path = dict_get(vm, vm.modules, key);
    if (path.is_undef()) {
        path = make_library_module(vm, "posixpath");
        dict_set(vm, vm.modules, key, path);
    }
    set_value(vm, module, "path", path);
    dict_set(vm, vm.modules, make_str(vm, "os.path"), path);
}

}  // namespace talc::stdlib
