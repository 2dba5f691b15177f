// The jit as the language sees it.
#include "jit/jit.hpp"

#include <fmt/format.h>

#include "stdlib/builtins.hpp"
#include "stdlib/modules.hpp"
#include "stdlib/streams.hpp"
#include "stdlib/support.hpp"

namespace talc::stdlib {

namespace {

constexpr NativeClass kJitClass = {.name = "jit", .module = "builtins", .final = true};

struct JitState final : ForeignState {};

jit::Jit& jit_of(Vm& vm) {
    jit::Jit* jit = jit::Jit::of(vm);
    if (!jit) raise(vm, Exc::RuntimeError, std::string("this engine has no jit"));
    return *jit;
}

Ref helper(Vm& vm, const char* name) {
    Ref module = vm.import_module("_jit", "");
    return get_attr(vm, module, intern(vm, name).get());
}

std::string text_option(Vm& vm, Value value, const char* what, std::initializer_list<std::string_view> allowed) {
    std::string text(to_text(vm, value, what));
    std::string choices;
    for (std::string_view choice : allowed) {
        if (text == choice) return text;
        choices += fmt::format("{}'{}'", choices.empty() ? "" : ", ", choice);
    }
    raise(vm, Exc::ValueError, "jit: {} must be one of {}, not '{}'", what, choices, text);
}

}  // namespace

Ref make_jit_value(Vm& vm) { return make_foreign(vm, native_class(vm, kJitClass), std::make_unique<JitState>()); }

Ref jit_call(Vm& vm, const Args& args) {
    jit::Options options;
    options.mode = text_option(vm, args[2], "mode",
                               {"default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"});
    options.fullgraph = truth(vm, args[3]);
    options.dynamic = args[4].is_none() ? -1 : truth(vm, args[4]);
    options.backend = text_option(vm, args[5], "backend", {"inductor", "eager", "aot_eager"});
    Value target = args[1];
    if (target.is_none()) {
        Ptr<Dict> given = make_dict(vm);
        static constexpr const char* kNames[] = {"mode", "fullgraph", "dynamic", "backend"};
        for (size_t i = 0; i < 4; i++) dict_set(vm, given.get(), intern(vm, kNames[i]), args[2 + i]);
        return call(vm, helper(vm, "with_options"), args[0], given);
    }
    jit::Jit& jit = jit_of(vm);
    if (target.is_kind(Kind::Function)) return jit.compiled(cast<Function>(target), std::move(options));
    if (target.is_kind(Kind::BoundMethod) && cast<BoundMethod>(target)->function.is_kind(Kind::Function)) {
        auto* method = cast<BoundMethod>(target);
        Ref function = jit.compiled(cast<Function>(method->function), std::move(options));
        return make_bound_method(vm, function, method->self);
    }
    if (target.is_kind(Kind::Instance) && is_callable(vm, target)) {
        Ref call_module = helper(vm, "call_module");
        Ref compiled = jit.compiled(cast<Function>(call_module.get()), std::move(options));
        return call(vm, helper(vm, "CompiledModule"), target, compiled);
    }
    if (is_callable(vm, target)) return target;  // builtins have nothing to record
    raise(vm, Exc::TypeError, "jit: expected a function or module, but got '{}'", class_name(vm, target));
}

Ref jit_repr(Vm& vm, const Args&) { return make_str(vm, "<jit>"); }

Ref jit_stats(Vm& vm, const Args&) {
    const jit::Stats& stats = jit_of(vm).stats;
    Ptr<Dict> out = make_dict(vm);
    auto add = [&](const char* name, uint64_t value) {
        dict_set(vm, out.get(), intern(vm, name), Value::integer(static_cast<int64_t>(value)));
    };
    add("traces", stats.traces);
    add("segments", stats.segments);
    add("fragments", stats.fragments);
    add("breaks", stats.breaks);
    add("compiles", stats.compiles);
    add("recompiles", stats.recompiles);
    add("guard_failures", stats.guard_failures);
    add("side_exits", stats.side_exits);
    add("side_traces", stats.side_traces);
    add("aborts", stats.aborts);
    add("cache_hits", stats.cache_hits);
    add("eager_ops", stats.eager_ops);
    add("launches", stats.launches);
    return out;
}

Ref jit_reset(Vm& vm, const Args&) {
    jit_of(vm).reset();
    return none();
}

Ref jit_wait(Vm& vm, const Args&) {
    jit_of(vm);
    return none();
}

Ref jit_disable(Vm& vm, const Args& args) {
    if (!args[1].is_kind(Kind::Function)) raise(vm, Exc::TypeError, std::string("jit.disable: expected a function"));
    jit_of(vm).disable(cast<Function>(args[1]));
    return args[1];
}

Ref jit_log(Vm& vm, const Args& args) {
    std::string channels;
    for (size_t i = 0; i < args.nrest; i++) channels += std::string(to_text(vm, args.rest[i], "channel")) + ",";
    set_jit_log(vm, channels);
    return none();
}

bool has_channel(std::string_view channels, std::string_view wanted) {
    while (!channels.empty()) {
        size_t end = channels.find(',');
        std::string_view channel = channels.substr(0, end);
        if (channel.starts_with('+')) channel.remove_prefix(1);
        if (channel == wanted) return true;
        if (end == std::string_view::npos) break;
        channels.remove_prefix(end + 1);
    }
    return false;
}

void set_jit_log(Vm& vm, const std::string& channels) {
    jit::Jit* jit = jit::Jit::of(vm);
    if (!jit) return;
    if (channels.empty()) {
        jit->log = nullptr;
        return;
    }
    jit->log = [&vm, channels](std::string_view channel, const std::string& text) {
        if (!has_channel(channels, channel)) return;
        Streams::of(vm).write_err(vm, fmt::format("[{}] {}\n", channel, text));
    };
}

}  // namespace talc::stdlib
