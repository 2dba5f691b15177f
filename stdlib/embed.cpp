// The public API's values: between a host's C++ values and the VM's.
#include <algorithm>
#include <cstring>
#include <string>

#include "lang/compile.hpp"
#include "stdlib/engine.hpp"
#include "vm/call.hpp"
#include "vm/module.hpp"
#include "vm/tensor.hpp"

namespace talc {

namespace detail {

static_assert(sizeof(Raw) == sizeof(vm::Value));
static_assert(static_cast<uint32_t>(vm::Tag::Obj) == kObject && static_cast<uint32_t>(vm::Tag::Int) == kInt &&
              static_cast<uint32_t>(vm::Tag::Float) == kFloat && static_cast<uint32_t>(vm::Tag::Bool) == kBool &&
              static_cast<uint32_t>(vm::Tag::None) == kNone);

namespace {

vm::Value plain(Raw r) {
    vm::Value v;
    std::memcpy(static_cast<void*>(&v), &r, sizeof v);
    return v;
}
Raw raw(vm::Value v) {
    Raw r;
    std::memcpy(static_cast<void*>(&r), &v, sizeof r);
    return r;
}
Raw raw(vm::Ref&& ref) { return raw(ref.release()); }

// Runs body; a script exception becomes a talc::Error.
template <class F>
auto guarded(EngineState* engine, F&& body) {
    try {
        return body(engine->vm);
    } catch (vm::Raised&) {
        vm::Ref exception = engine->vm.take_raised();
        throw engine->error_of(exception);
    } catch (std::bad_alloc&) {
        throw Error("MemoryError", {}, "MemoryError\n", {});
    }
}

void release_all(const Raw* items, size_t count) {
    for (size_t i = 0; i < count; i++) release(items[i]);
}

}  // namespace

void retain_object(void* object) noexcept { static_cast<vm::Object*>(object)->refs++; }
void release_object(void* object) noexcept { vm::decref(static_cast<vm::Object*>(object)); }

Raw call(EngineState* engine, Raw callee, const Raw* args, size_t count) {
    return guarded(engine, [&](vm::Vm& machine) {
        if (machine.depth() == 0) machine.begin_run();
        return raw(vm::call(machine, plain(callee), reinterpret_cast<const vm::Value*>(args), count));
    });
}

Raw make_text(EngineState* engine, std::string_view text) {
    return guarded(engine, [&](vm::Vm& machine) { return raw(vm::Ref(vm::make_str(machine, text))); });
}

Raw make_list(EngineState* engine, const Raw* items, size_t count) {
    return guarded(engine, [&](vm::Vm& machine) {
        vm::Ref list = vm::make_list(machine, reinterpret_cast<const vm::Value*>(items), count);
        release_all(items, count);
        return raw(std::move(list));
    });
}

Raw make_tuple(EngineState* engine, const Raw* items, size_t count) {
    return guarded(engine, [&](vm::Vm& machine) {
        vm::Ref tuple = vm::make_tuple(machine, reinterpret_cast<const vm::Value*>(items), count);
        release_all(items, count);
        return raw(std::move(tuple));
    });
}

Raw make_dict(EngineState* engine, const Raw* pairs, size_t count) {
    return guarded(engine, [&](vm::Vm& machine) {
        vm::Ptr<vm::Dict> dict = vm::make_dict(machine, count);
        for (size_t i = 0; i < count; i++) vm::dict_set(machine, dict.get(), plain(pairs[2 * i]), plain(pairs[2 * i + 1]));
        release_all(pairs, 2 * count);
        return raw(vm::Ref(std::move(dict)));
    });
}

std::string_view text_of(EngineState* engine, Raw v) {
    if (plain(v).is_kind(vm::Kind::Str)) return vm::cast<vm::Str>(plain(v))->view();
    type_error(engine, "expected a str, got " + type_name(engine, v));
}

int64_t int_of(EngineState* engine, Raw v) {
    return guarded(engine, [&](vm::Vm& machine) { return vm::to_index(machine, plain(v)); });
}
double float_of(EngineState* engine, Raw v) {
    return guarded(engine, [&](vm::Vm& machine) { return vm::to_double(machine, plain(v)); });
}
bool truth_of(EngineState* engine, Raw v) {
    return guarded(engine, [&](vm::Vm& machine) { return vm::truth(machine, plain(v)); });
}

std::vector<Raw> items_of(EngineState* engine, Raw iterable) {
    std::vector<Raw> items;
    try {
        vm::for_each(engine->vm, plain(iterable), [&](vm::Value item) { items.push_back(raw(vm::Ref(item))); });
    } catch (vm::Raised&) {
        release_all(items.data(), items.size());
        vm::Ref exception = engine->vm.take_raised();
        throw engine->error_of(exception);
    }
    return items;
}

std::vector<Raw> pairs_of(EngineState* engine, Raw mapping) {
    if (!plain(mapping).is_kind(vm::Kind::Dict)) type_error(engine, "expected a dict, got " + type_name(engine, mapping));
    std::vector<Raw> pairs;
    auto* dict = vm::cast<vm::Dict>(plain(mapping));
    for (size_t i = 0; vm::DictEntry* entry = vm::dict_entry(dict, i); i++) {
        pairs.push_back(raw(vm::Ref(entry->key)));
        pairs.push_back(raw(vm::Ref(entry->value)));
    }
    return pairs;
}

Raw get_attr(EngineState* engine, Raw v, std::string_view name) {
    return guarded(engine, [&](vm::Vm& machine) { return raw(vm::get_attr(machine, plain(v), vm::intern(machine, name).get())); });
}
void set_attr(EngineState* engine, Raw v, std::string_view name, Raw value) {
    guarded(engine, [&](vm::Vm& machine) { vm::set_attr(machine, plain(v), vm::intern(machine, name).get(), plain(value)); });
}
Raw get_item(EngineState* engine, Raw v, Raw key) {
    return guarded(engine, [&](vm::Vm& machine) { return raw(vm::get_item(machine, plain(v), plain(key))); });
}
void set_item(EngineState* engine, Raw v, Raw key, Raw value) {
    guarded(engine, [&](vm::Vm& machine) { vm::set_item(machine, plain(v), plain(key), plain(value)); });
}

std::string describe(EngineState* engine, Raw v, bool repr) {
    return guarded(engine, [&](vm::Vm& machine) {
        return (repr ? vm::repr(machine, plain(v)) : vm::to_str(machine, plain(v)))->string();
    });
}
std::string type_name(EngineState* engine, Raw v) { return std::string(vm::class_name(engine->vm, plain(v))); }
size_t length(EngineState* engine, Raw v) {
    return guarded(engine, [&](vm::Vm& machine) { return static_cast<size_t>(vm::length(machine, plain(v))); });
}
bool is_callable(EngineState* engine, Raw v) { return vm::is_callable(engine->vm, plain(v)); }

void type_error(EngineState* engine, const std::string& message) {
    guarded(engine, [&](vm::Vm& machine) { vm::raise(machine, vm::Exc::TypeError, message); });
    __builtin_unreachable();
}

// ---- Host functions -------------------------------------------------------------------------------

namespace {

// A bound function with the row that describes it to the VM.
struct HostBinding {
    EngineState* engine;
    std::unique_ptr<HostFunction> function;
    std::string name, signature;
    vm::NativeRow row;
};

// A talc::Error that crosses a host function on its way out becomes the exception that it stands for.
[[noreturn]] void raise_again(vm::Vm& machine, const Error& error) {
    for (vm::Class* cls : machine.classes.exceptions) {
        if (cls->name->view() == error.type()) {
            vm::Ref text = vm::make_str(machine, error.message());
            vm::Value arg = text;
            vm::raise_object(machine, vm::make_exception(machine, cls, &arg, 1));
        }
    }
    vm::raise(machine, vm::Exc::RuntimeError, std::string(error.what()));
}

vm::Ref call_host(vm::Vm& machine, const vm::Args& args) {
    auto* binding = static_cast<HostBinding*>(args.state);
    try {
        return vm::Ref::steal(plain(binding->function->call(binding->engine, reinterpret_cast<const Raw*>(args.values))));
    } catch (const Error& error) {
        raise_again(machine, error);
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        vm::raise(machine, vm::Exc::RuntimeError, std::string(error.what()));
    }
}

}  // namespace

Raw make_host_function(EngineState* engine, std::string_view name, size_t arity, size_t required,
                       std::unique_ptr<HostFunction> function) {
    auto binding = std::make_shared<HostBinding>();
    binding->engine = engine;
    binding->function = std::move(function);
    binding->name = name;
    binding->signature = "(";
    for (size_t i = 0; i < arity; i++) {
        binding->signature += (i ? ", a" : "a") + std::to_string(i) + (i >= required ? "=None" : "");
    }
    binding->signature += arity ? ", /)" : ")";
    binding->row = {"", binding->name.c_str(), binding->signature.c_str(), vm::Effect::calls, vm::Record::breaks, call_host,
                    "A function of the host."};
    return guarded(engine, [&](vm::Vm& machine) {
        vm::Ptr<vm::Native> native = vm::make_native(machine, &binding->row, nullptr);
        native->state = binding;
        return raw(vm::Ref(std::move(native)));
    });
}

}  // namespace detail

// ---- Engine ---------------------------------------------------------------------------------------

detail::EngineState* Engine::detail_state() const { return static_cast<detail::EngineState*>(state_.get()); }

namespace {

// An error is reported even when memory is what ran out.
struct RoomToReport {
    explicit RoomToReport(vm::Heap& h) : heap(h), limit(h.limit()) {
        constexpr size_t kRoom = 1 << 20;
        heap.set_limit(std::max(limit, heap.used() + kRoom));
    }
    ~RoomToReport() { heap.set_limit(limit); }
    vm::Heap& heap;
    size_t limit;
};

}  // namespace

Error Engine::State::error_of(vm::Value exception) {
    RoomToReport room(vm.heap);
    auto* error = vm::cast<vm::Exception>(exception);
    std::vector<Place> places;
    if (error->traceback) {
        for (size_t i = error->traceback->size(); i-- > 0;) {
            const vm::TracebackEntry& entry = (*error->traceback)[i];
            const lang::Code& code = *entry.code->plain;
            Span span = entry.instruction < code.spans.size() ? code.spans[entry.instruction] : code.span;
            LineColumn at = code.source->locate(span.begin);
            places.push_back({code.source->name(), at.line, at.column, code.name, std::string(code.source->line(at.line))});
        }
    }
    std::string message;
    try {
        message = vm::to_str(vm, exception)->string();
    } catch (vm::Raised&) {
        vm.take_raised();
    }
    return Error(error->cls->name->string(), std::move(message), vm.format_exception(exception, options.colour), std::move(places));
}

Value Engine::eval(std::string_view expression) {
    vm::Vm& machine = state_->vm;
    auto source = std::make_shared<const Source>("<expression>", std::string(expression));
    try {
        lang::CompileResult compiled = lang::compile(source, lang::CompileMode::Expression);
        if (compiled.error) vm::raise_syntax_error(machine, *compiled.error, *source);
        machine.begin_run();
        vm::Ref result = machine.run_module(std::move(compiled.code), machine.main_module);
        return Value(detail_state(), detail::raw(std::move(result)));
    } catch (vm::Raised&) {
        vm::Ref exception = machine.take_raised();
        throw state_->error_of(exception);
    }
}

Value Engine::get(std::string_view name) {
    vm::Vm& machine = state_->vm;
    vm::Ref found = vm::find_attr(machine, machine.main_module, vm::intern(machine, name).get());
    if (!found) return {};
    return Value(detail_state(), detail::raw(std::move(found)));
}

void Engine::set_value(std::string_view name, const Value& value) {
    vm::Vm& machine = state_->vm;
    vm::set_attr_plain(machine, machine.main_module, vm::intern(machine, name).get(), detail::plain(value.raw()));
}

Value Engine::function(std::string_view name) {
    Value found = get(name);
    if (!found.empty()) return found;
    vm::Ref builtin = state_->vm.builtin(name);
    if (builtin) return Value(detail_state(), detail::raw(std::move(builtin)));
    return eval(name);  // NameError, with a suggestion
}

size_t Engine::memory_used() const {
    vm::settle_tensors(state_->vm);
    return state_->vm.heap.used();
}

}  // namespace talc
