#pragma once
// Paths as text, and as arguments of the functions in os.
#include <string>
#include <string_view>
#include <utility>

#include "vm/vm.hpp"

namespace talc::stdlib::paths {

std::string join(std::string base, std::string_view part);
std::string normalize(std::string_view path);
// (before, after) the last slash.
std::pair<std::string_view, std::string_view> split(std::string_view path);
std::string absolute(vm::Vm& vm, std::string_view path);
std::string current_folder(vm::Vm& vm);

// A str, or the str that an object's __fspath__ gives. CPython's error otherwise.
vm::Ptr<vm::Str> text(vm::Vm& vm, vm::Value v);
// The same for a path that goes to the system: no null character. `what`: "stat: path should be string ..."
std::string argument(vm::Vm& vm, vm::Value v, const char* what);
constexpr const char* kStatPath = "stat: path should be string, bytes, os.PathLike or integer";
bool may_open(vm::Vm& vm, const std::string& path, bool write);

}  // namespace talc::stdlib::paths
