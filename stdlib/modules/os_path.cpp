// os.path: paths as text, and questions about files.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

#include "stdlib/modules.hpp"
#include "stdlib/modules/paths.hpp"
#include "stdlib/os_error.hpp"
#include "stdlib/support.hpp"

namespace talc::stdlib {

// ---- Paths as text --------------------------------------------------------------------------------

namespace paths {

std::string join(std::string base, std::string_view part) {
    if (part.starts_with('/')) return std::string(part);
    if (!base.empty() && !base.ends_with('/')) base += '/';
    return base.append(part);
}

std::string normalize(std::string_view path) {
    if (path.empty()) return ".";
    // POSIX lets two slashes at the beginning mean something of their own; three are one.
    size_t slashes = std::min(path.find_first_not_of('/'), path.size());
    size_t root = slashes == 2 ? 2 : slashes > 0 ? 1 : 0;
    std::vector<std::string_view> parts;
    for (size_t at = 0; at <= path.size();) {
        size_t end = std::min(path.find('/', at), path.size());
        std::string_view part = path.substr(at, end - at);
        at = end + 1;
        if (part.empty() || part == ".") continue;
        bool stays = part != ".." || (root == 0 && parts.empty()) || (!parts.empty() && parts.back() == "..");
        if (stays) {
            parts.push_back(part);
        } else if (!parts.empty()) {
            parts.pop_back();
        }
    }
    std::string out(root, '/');
    for (size_t i = 0; i < parts.size(); i++) {
        if (i > 0) out += '/';
        out += parts[i];
    }
    return out.empty() ? "." : out;
}

std::pair<std::string_view, std::string_view> split(std::string_view path) {
    size_t at = path.rfind('/') + 1;  // 0 without a slash
    std::string_view head = path.substr(0, at);
    size_t last = head.find_last_not_of('/');
    if (last != std::string_view::npos) head = head.substr(0, last + 1);
    return {head, path.substr(at)};
}

std::string current_folder(Vm& vm) {
    char buffer[PATH_MAX];
    if (!::getcwd(buffer, sizeof buffer)) raise_os_error(vm, errno);
    return buffer;
}

std::string absolute(Vm& vm, std::string_view path) {
    return normalize(path.starts_with('/') ? std::string(path) : join(current_folder(vm), path));
}

static Ptr<Str> text_or(Vm& vm, Value v, const char* what) {
    if (is_str(v)) return Ptr<Str>(cast<Str>(v));
    Class* cls = class_of(vm, v);
    Value method = cls->user ? find_class_attr(vm, cls, intern(vm, "__fspath__").get()) : Value();
    if (method.is_undef()) raise(vm, Exc::TypeError, "{}, not {}", what, class_name(vm, v));
    Ref given = call(vm, method, v);
    if (!is_str(given)) {
        raise(vm, Exc::TypeError, "expected {}.__fspath__() to return str or bytes, not {}", class_name(vm, v),
              class_name(vm, given));
    }
    return Ptr<Str>(cast<Str>(given.get()));
}

Ptr<Str> text(Vm& vm, Value v) { return text_or(vm, v, "expected str, bytes or os.PathLike object"); }

std::string argument(Vm& vm, Value v, const char* what) {
    Ptr<Str> path = text_or(vm, v, what);
    if (path->view().find('\0') != std::string_view::npos) raise(vm, Exc::ValueError, "embedded null byte");
    return path->string();
}

bool may_open(Vm& vm, const std::string& path, bool write) { return !vm.host.may_open || vm.host.may_open(path, write); }

}  // namespace paths

namespace {

Ref pair_of(Vm& vm, std::string_view a, std::string_view b) {
    return make_tuple(vm, {make_str(vm, a), make_str(vm, b)});
}

// A variable of os.environ, which a script may have changed.
std::string variable(Vm& vm, std::string_view name) {
    Value os = dict_get(vm, vm.modules, Value(make_str(vm, "os")));
    if (os.is_kind(Kind::Module)) {
        Ref environ = find_attr_plain(vm, os, intern(vm, "environ").get());
        if (environ.is_kind(Kind::Dict)) {
            Value value = dict_get(vm, cast<Dict>(environ.get()), Value(make_str(vm, name)));
            return is_str(value) ? cast<Str>(value)->string() : std::string();
        }
    }
    const char* value = std::getenv(std::string(name).c_str());
    return value ? value : "";
}

bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

Ref path_join(Vm& vm, const Args& args) {
    std::string path = paths::text(vm, args[0])->string();
    for (size_t i = 0; i < args.nrest; i++) {
        Value part = args.rest[i];
        if (!is_str(part) && !(part.is_obj() && part.o->cls->user)) {
            raise(vm, Exc::TypeError, "join() argument must be str, bytes, or os.PathLike object, not '{}'",
                  class_name(vm, part));
        }
        path = paths::join(std::move(path), paths::text(vm, part)->view());
    }
    return make_str(vm, path);
}

Ref path_split(Vm& vm, const Args& args) {
    Ptr<Str> path = paths::text(vm, args[0]);
    auto [head, tail] = paths::split(path->view());
    return pair_of(vm, head, tail);
}
Ref path_basename(Vm& vm, const Args& args) {
    Ptr<Str> path = paths::text(vm, args[0]);
    return make_str(vm, paths::split(path->view()).second);
}
Ref path_dirname(Vm& vm, const Args& args) {
    Ptr<Str> path = paths::text(vm, args[0]);
    return make_str(vm, paths::split(path->view()).first);
}
Ref path_splitdrive(Vm& vm, const Args& args) { return pair_of(vm, "", paths::text(vm, args[0])->view()); }
Ref path_normcase(Vm& vm, const Args& args) { return paths::text(vm, args[0]); }
Ref path_isabs(Vm& vm, const Args& args) { return boolean(paths::text(vm, args[0])->view().starts_with('/')); }
Ref path_normpath(Vm& vm, const Args& args) { return make_str(vm, paths::normalize(paths::text(vm, args[0])->view())); }
Ref path_abspath(Vm& vm, const Args& args) { return make_str(vm, paths::absolute(vm, paths::text(vm, args[0])->view())); }

Ref path_splitext(Vm& vm, const Args& args) {
    Ptr<Str> text = paths::text(vm, args[0]);
    std::string_view path = text->view();
    size_t name = path.rfind('/') + 1;
    size_t dot = path.rfind('.');
    // Dots that a name begins with are part of it.
    size_t first = path.find_first_not_of('.', name);
    if (dot == std::string_view::npos || dot < name || first == std::string_view::npos || dot < first) dot = path.size();
    return pair_of(vm, path.substr(0, dot), path.substr(dot));
}

Ref path_relpath(Vm& vm, const Args& args) {
    Ptr<Str> text = paths::text(vm, args[0]);
    if (text->size == 0) raise(vm, Exc::ValueError, "no path specified");
    std::string start = args[1].is_none() ? "." : paths::text(vm, args[1])->string();
    auto parts_of = [&](std::string_view path) {
        std::string whole = paths::absolute(vm, path);
        std::vector<std::string> parts;
        for (size_t at = 0; at <= whole.size();) {
            size_t end = std::min(whole.find('/', at), whole.size());
            if (end > at) parts.push_back(whole.substr(at, end - at));
            at = end + 1;
        }
        return parts;
    };
    std::vector<std::string> from = parts_of(start), to = parts_of(text->view());
    size_t common = 0;
    while (common < from.size() && common < to.size() && from[common] == to[common]) common++;
    std::string out;
    for (size_t i = common; i < from.size(); i++) out = paths::join(std::move(out), "..");
    for (size_t i = common; i < to.size(); i++) out = paths::join(std::move(out), to[i]);
    return make_str(vm, out.empty() ? "." : out);
}

Ref path_commonprefix(Vm& vm, const Args& args) {
    Ptr<List> all = list_from_iterable(vm, args[0]);
    if (all->size == 0) return vm.empty_str;
    std::string prefix;
    for (size_t i = 0; i < all->size; i++) {
        std::string path = paths::text(vm, all->items[i])->string();
        if (i == 0) prefix = path;
        size_t same = 0;
        while (same < prefix.size() && same < path.size() && prefix[same] == path[same]) same++;
        while (same > 0 && same < path.size() && (static_cast<unsigned char>(path[same]) & 0xC0) == 0x80) same--;
        prefix.resize(same);
    }
    return make_str(vm, prefix);
}

Ref path_commonpath(Vm& vm, const Args& args) {
    Ptr<List> all = list_from_iterable(vm, args[0]);
    if (all->size == 0) raise(vm, Exc::ValueError, "commonpath() arg is an empty sequence");
    std::vector<std::string> common;
    bool root = false;
    for (size_t i = 0; i < all->size; i++) {
        std::string path = paths::text(vm, all->items[i])->string();
        bool here = path.starts_with('/');
        if (i > 0 && here != root) raise(vm, Exc::ValueError, "Can't mix absolute and relative paths");
        root = here;
        std::vector<std::string> parts;
        for (size_t at = 0; at <= path.size();) {
            size_t end = std::min(path.find('/', at), path.size());
            std::string part = path.substr(at, end - at);
            if (!part.empty() && part != ".") parts.push_back(part);
            at = end + 1;
        }
        if (i == 0) common = parts;
        size_t same = 0;
        while (same < common.size() && same < parts.size() && common[same] == parts[same]) same++;
        common.resize(same);
    }
    std::string out = root ? "/" : "";
    for (size_t i = 0; i < common.size(); i++) out += (i ? "/" : "") + common[i];
    return make_str(vm, out);
}

Ref path_expanduser(Vm& vm, const Args& args) {
    std::string path = paths::text(vm, args[0])->string();
    if (!path.starts_with('~') || (path.size() > 1 && path[1] != '/')) return make_str(vm, path);
    std::string home = variable(vm, "HOME");
    if (home.empty()) return make_str(vm, path);
    while (home.ends_with('/')) home.pop_back();
    std::string expanded = home + path.substr(1);
    return make_str(vm, expanded.empty() ? "/" : expanded);
}

Ref path_expandvars(Vm& vm, const Args& args) {
    std::string path = paths::text(vm, args[0])->string();
    std::string out;
    for (size_t at = 0; at < path.size();) {
        size_t end = at;
        std::string name;
        if (path[at] == '$' && at + 1 < path.size() && path[at + 1] == '{') {
            size_t close = path.find('}', at);
            if (close != std::string::npos) {
                name = path.substr(at + 2, close - at - 2);
                end = close + 1;
            }
        } else if (path[at] == '$') {
            end = at + 1;
            while (end < path.size() && is_name_char(path[end])) end++;
            name = path.substr(at + 1, end - at - 1);
        }
        std::string value = name.empty() ? std::string() : variable(vm, name);
        if (value.empty()) {  // no variable: as it stands
            end = std::max(end, at + 1);
            value = path.substr(at, end - at);
        }
        out += value;
        at = end;
    }
    return make_str(vm, out);
}

// ---- Questions about files ------------------------------------------------------------------------

namespace {

// False: there is none, or the host does not let scripts see it.
bool look(Vm& vm, Value v, struct stat& status, bool follow = true) {
    if (is_str(v) && cast<Str>(v)->view().find('\0') != std::string_view::npos) return false;
    std::string path = paths::argument(vm, v, follow ? paths::kStatPath : "lstat: path should be string, bytes or os.PathLike");
    if (!paths::may_open(vm, path, false)) return false;
    return (follow ? ::stat(path.c_str(), &status) : ::lstat(path.c_str(), &status)) == 0;
}

struct stat must_look(Vm& vm, Value v) {
    std::string path = paths::argument(vm, v, paths::kStatPath);
    struct stat status {};
    if (!paths::may_open(vm, path, false)) raise_os_error(vm, EACCES, path);
    if (::stat(path.c_str(), &status) != 0) raise_os_error(vm, errno, path);
    return status;
}

Ref seconds(const timespec& time) { return real(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec)); }

}  // namespace

Ref path_exists(Vm& vm, const Args& args) {
    struct stat status {};
    if (is_integer(args[0])) {
        return boolean(!vm.host.may_open && ::fstat(static_cast<int>(int_value(args[0])), &status) == 0);
    }
    return boolean(look(vm, args[0], status));
}
Ref path_lexists(Vm& vm, const Args& args) {
    struct stat status {};
    return boolean(look(vm, args[0], status, false));
}
Ref path_isdir(Vm& vm, const Args& args) {
    struct stat status {};
    return boolean(look(vm, args[0], status) && S_ISDIR(status.st_mode));
}
Ref path_isfile(Vm& vm, const Args& args) {
    struct stat status {};
    return boolean(look(vm, args[0], status) && S_ISREG(status.st_mode));
}
Ref path_islink(Vm& vm, const Args& args) {
    struct stat status {};
    return boolean(look(vm, args[0], status, false) && S_ISLNK(status.st_mode));
}

Ref path_getsize(Vm& vm, const Args& args) { return integer(must_look(vm, args[0]).st_size); }
Ref path_getmtime(Vm& vm, const Args& args) { return seconds(must_look(vm, args[0]).st_mtim); }
Ref path_getatime(Vm& vm, const Args& args) { return seconds(must_look(vm, args[0]).st_atim); }
Ref path_getctime(Vm& vm, const Args& args) { return seconds(must_look(vm, args[0]).st_ctim); }

Ref path_samefile(Vm& vm, const Args& args) {
    struct stat a = must_look(vm, args[0]);
    struct stat b = must_look(vm, args[1]);
    return boolean(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
}

Ref path_realpath(Vm& vm, const Args& args) {
    std::string path = paths::absolute(vm, paths::argument(vm, args[0], "expected str, bytes or os.PathLike object"));
    // The part that exists is resolved, the rest stays as it is.
    std::string rest;
    for (std::string head = path;;) {
        char buffer[PATH_MAX];
        if (paths::may_open(vm, head, false) && ::realpath(head.c_str(), buffer)) {
            return make_str(vm, rest.empty() ? std::string(buffer) : paths::join(buffer, rest));
        }
        if (truth(vm, args[1])) raise_os_error(vm, errno, path);
        auto [above, name] = paths::split(head);
        if (above == head) return make_str(vm, path);
        rest = rest.empty() ? std::string(name) : paths::join(std::string(name), rest);
        head = std::string(above);
    }
}

void fill_posixpath(Vm& vm, Module* module) {
    constexpr std::pair<const char*, const char*> kConstants[] = {
        {"sep", "/"}, {"curdir", "."}, {"pardir", ".."}, {"extsep", "."}, {"pathsep", ":"}, {"devnull", "/dev/null"}};
    for (auto [name, value] : kConstants) set_value(vm, module, name, make_str(vm, value));
    set_value(vm, module, "altsep", Value::none());
}

}  // namespace talc::stdlib
