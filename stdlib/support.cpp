#include "stdlib/support.hpp"

#include <algorithm>

#include "vm/tensor.hpp"

namespace talc::stdlib {

bool catch_raised(Vm& vm, Exc type) {
    Ref exception = vm.take_raised();
    if (is_instance(vm, exception, vm.classes.of(type))) return true;
    vm.set_raised(std::move(exception));
    return false;
}

Str* attribute_name(Vm& vm, Value name) {
    if (!is_str(name)) raise(vm, Exc::TypeError, "attribute name must be string, not '{}'", class_name(vm, name));
    return intern(vm, cast<Str>(name));
}

Class* class_to_make(Vm& vm, Value cls, Class* base) {
    std::string_view base_name = base->name->view();
    if (!is_class(cls)) {
        raise(vm, Exc::TypeError, "{}.__new__(X): X is not a type object ({})", base_name, class_name(vm, cls));
    }
    Class* made = cast<Class>(cls);
    if (!is_subclass(made, base)) {
        std::string_view name = made->name->view();
        raise(vm, Exc::TypeError, "{}.__new__({}): {} is not a subtype of {}", base_name, name, name, base_name);
    }
    return made;
}

void no_keywords(Vm& vm, const Args& args, std::string_view function) {
    if (args.nkeywords > 0) raise(vm, Exc::TypeError, "{}() takes no keyword arguments", function);
}

void check_count(Vm& vm, const Args& args, std::string_view function, size_t least, size_t most) {
    auto complain = [&](const char* how, size_t wanted) {
        raise(vm, Exc::TypeError, "{} expected {}{} argument{}, got {}", function, how, wanted, wanted == 1 ? "" : "s",
              args.nrest);
    };
    if (args.nrest < least) complain(least == most ? "" : "at least ", least);
    if (args.nrest > most) complain(least == most ? "" : "at most ", most);
}

int64_t clip_index(Vm& vm, Value index, int64_t length) {
    if (!is_integer(index) && !is_tensor(index) && find_special(vm, index, Special::Index).is_undef()) {
        raise(vm, Exc::TypeError, "slice indices must be integers or have an __index__ method");
    }
    int64_t at = to_index(vm, index);
    if (at < 0) at = std::max<int64_t>(at + length, 0);
    return at;
}

std::string full_class_name(const Class* cls) {
    std::string name;
    if (cls->module_name && cls->module_name->view() != "builtins") name = cls->module_name->string() + ".";
    return name + (cls->qualname ? cls->qualname : cls->name)->string();
}

}  // namespace talc::stdlib
