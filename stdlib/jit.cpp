// The jit as the language sees it.
#include "jit/jit.hpp"

#include <fmt/format.h>

#include <set>

#include "base/source.hpp"
#include "graph/text.hpp"
#include "jit/fragment_grad.hpp"

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
    jit_of(vm).wait();
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

// ---- explain ----

Ref explain_call(Vm& vm, const Args& args) {
    Ptr<Tuple> positional = make_tuple(vm, args.rest, args.nrest);
    Ptr<Dict> keywords = make_dict(vm);
    for (size_t i = 0; i < args.nkeywords; i++) dict_set(vm, keywords.get(), args.keyword_names[i], args.keyword_values[i]);
    Value all[] = {vm.builtin("jit"), args[0], positional, keywords};
    return call(vm, helper(vm, "explain"), all, 4);
}

namespace {

class Report {
  public:
    explicit Report(Vm& vm) : vm_(vm) {}

    Ref of(const jit::Anchor& anchor) {
        Ptr<Dict> out = make_dict(vm_);
        Ptr<List> fragments = make_list(vm_), breaks = make_list(vm_), kernels = make_list(vm_), guards = make_list(vm_),
                  saved = make_list(vm_), fallbacks = make_list(vm_), recompiles = make_list(vm_);
        bool effects = false;
        double compile_ms = 0;
        for (const auto& segment : anchor.owned) {
            for (const auto& fragment : segment->fragments) {
                if (!fragment->launched) continue;
                compile_ms += fragment->compile_ms;
                add(fragments.get(), of(anchor, *fragment, kernels.get(), fallbacks.get(), saved.get()));
            }
            for (const jit::Break& entry : segment->breaks) add(breaks.get(), of(entry));
            add_guards(*segment, guards.get());
            for (const jit::Instruction& i : segment->code) effects = effects || has_effect(i);
        }
        for (const std::string& text : anchor.recompiles) {
            Ptr<Dict> one = make_dict(vm_);
            put(one, "guard", text);
            add(recompiles.get(), one);
        }
        put(out, "fragments", fragments);
        put(out, "breaks", breaks);
        put(out, "guards", guards);
        put(out, "kernels", kernels);
        put(out, "saved", saved);
        put(out, "recompiles", recompiles);
        put(out, "fallbacks", fallbacks);
        put(out, "effects", Value::boolean(effects));
        put(out, "compile_ms", Value::real(compile_ms));
        return out;
    }

  private:
    void put(const Ptr<Dict>& dict, const char* name, Value value) { dict_set(vm_, dict.get(), intern(vm_, name), value); }
    void put(const Ptr<Dict>& dict, const char* name, const std::string& text) { put(dict, name, make_str(vm_, text)); }

    void add(List* list, Value value) { list_append(vm_, list, value); }

    static bool has_effect(const jit::Instruction& i) {
        switch (i.op) {
            case jit::TraceOp::StoreGlobal:
            case jit::TraceOp::StoreEntryFree:
            case jit::TraceOp::StoreAttr:
            case jit::TraceOp::StoreGrad:
            case jit::TraceOp::Random: return true;
            case jit::TraceOp::CallNative: {
                if (static_cast<Object*>(i.pointer)->kind != Kind::Native) return false;
                Effect effect = static_cast<Native*>(i.pointer)->row->effect;
                return effect == Effect::effect || effect == Effect::calls;
            }
            default: return false;
        }
    }

    Ref lines_of(const jit::Anchor& anchor, const std::vector<Span>& spans) {
        const Source& source = *cast<Code>(anchor.code.get())->plain->source;
        std::set<uint32_t> lines;
        for (Span span : spans) {
            if (span.end > 0 && span.end <= source.text().size()) lines.insert(source.line_of(span.begin));
        }
        Ptr<List> out = make_list(vm_);
        for (uint32_t line : lines) add(out.get(), Value::integer(line));
        return out;
    }

    Ref of(const jit::Anchor& anchor, const jit::Fragment& fragment, List* kernels, List* fallbacks, List* saved) {
        Ptr<Dict> out = make_dict(vm_);
        std::vector<graph::Value> outputs;
        for (const auto& output : fragment.outputs) outputs.push_back(output.value);
        auto& graph = const_cast<graph::Graph&>(fragment.graph);
        if (graph.outputs().empty()) graph.set_outputs(outputs);
        std::vector<Span> spans;
        int64_t nodes = 0;
        for (graph::Value node : graph.live()) {
            if (node->op == tensor::Op::Input || node->op == tensor::Op::Number) continue;
            nodes++;
            spans.insert(spans.end(), node->spans.begin(), node->spans.end());
        }
        put(out, "graph", graph::print(graph));
        put(out, "nodes", Value::integer(nodes));
        put(out, "lines", lines_of(anchor, spans));
        Ptr<List> own = make_list(vm_);
        if (fragment.ready && fragment.code) {
            for (const inductor::KernelInfo& kernel : fragment.code->kernels()) {
                Ptr<Dict> one = make_dict(vm_);
                put(one, "name", kernel.name);
                Ptr<List> ops = make_list(vm_);
                for (const std::string& op : kernel.ops) add(ops.get(), make_str(vm_, op));
                put(one, "ops", ops);
                put(one, "lines", lines_of(anchor, kernel.spans));
                put(one, "external", Value::boolean(kernel.external));
                add(own.get(), make_str(vm_, kernel.name));
                add(kernels, one);
            }
            for (const std::string& text : fragment.code->fallbacks()) add(fallbacks, make_str(vm_, text));
        } else {
            std::string why = fragment.failure.empty() ? "backend " + anchor.options.backend : fragment.failure;
            add(fallbacks, make_str(vm_, "all operators: " + why));
        }
        put(out, "kernels", own);
        put(out, "rounds", Value::integer(1));
        if (fragment.gradient) {
            for (graph::Value value : fragment.gradient->saved) {
                add(saved, make_str(vm_, std::string(tensor::name_of(value->op)) + " " + to_string(value->type())));
            }
        }
        return out;
    }

    Ref of(const jit::Break& entry) {
        Ptr<Dict> out = make_dict(vm_);
        const lang::Code& code = *entry.code->plain;
        Span span = code.spans[entry.instruction];
        LineColumn at = code.source->locate(span.begin);
        const jit::BreakInfo& info = jit::break_info(entry.reason);
        put(out, "reason", entry.reason);
        put(out, "line", Value::integer(at.line));
        put(out, "column", Value::integer(at.column));
        put(out, "what", std::string(info.what) + (entry.detail.empty() ? "" : " (" + entry.detail + ")"));
        put(out, "stack", caret_excerpt(*code.source, span));
        put(out, "hint", std::string(info.hint));
        return out;
    }

    void add_guards(const jit::Segment& segment, List* guards) {
        std::set<std::string> seen;
        for (const jit::Instruction& i : segment.code) {
            if (i.snapshot < 0) continue;
            const std::string& what = segment.snapshots[static_cast<size_t>(i.snapshot)].what;
            std::string text;
            switch (i.op) {
                case jit::TraceOp::GuardTensor: {
                    const auto& guard = *static_cast<const jit::TensorGuard*>(i.pointer);
                    text = what + " is " + to_string(*guard.layout) + " " + tensor::parenthesized(guard.sizes);
                    break;
                }
                case jit::TraceOp::GuardEqual:
                case jit::TraceOp::GuardIs: text = what + " is " + repr(vm_, i.value)->string(); break;
                case jit::TraceOp::GuardTruth: text = what + " is " + (i.imm ? "true" : "false"); break;
                case jit::TraceOp::GuardGradMode: text = std::string("gradients are ") + (i.imm ? "on" : "off"); break;
                default: continue;
            }
            if (seen.insert(text).second) add(guards, make_str(vm_, text));
        }
    }

    Vm& vm_;
};

}  // namespace

Ref jit_report(Vm& vm, const Args& args) {
    if (!args[1].is_kind(Kind::Function)) raise(vm, Exc::TypeError, std::string("expected a compiled function"));
    jit::Anchor* anchor = jit_of(vm).anchor_of(cast<Function>(args[1])->code, 0);
    if (!anchor) raise(vm, Exc::ValueError, std::string("the function is not compiled"));
    return Report(vm).of(*anchor);
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
