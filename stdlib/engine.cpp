// The public API: wires the rooms together.
#include "stdlib/engine.hpp"

#include "inductor/backend.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "base/text/utf8.hpp"
#include "lang/compile.hpp"
#include "lang/disassembler.hpp"
#include "stdlib/builtins.hpp"
#include "stdlib/streams.hpp"
#include "vm/module.hpp"

namespace talc {

using namespace vm;

namespace {

constexpr int kErrorStatus = 1;
constexpr int kUsageStatus = 2;
constexpr int kInterruptedStatus = 130;  // 128 and the number of SIGINT, as shells count

Host make_host(const Options& options) {
    Host host;
    host.resize_memory = options.resize_memory;
    host.out = options.out;
    host.err = options.err;
    host.read_line = options.read_line;
    host.may_import = options.may_import;
    host.may_open = options.may_open;
    host.module_path = options.module_path;
    host.argv = options.arguments;
    return host;
}

vm::Limits make_limits(const talc::Limits& limits) {
    return {limits.instructions, limits.seconds, limits.memory, limits.recursion};
}

// A program must be UTF-8; a byte order mark at its beginning is skipped.
std::optional<std::string> problem_of(std::string_view code) {
    if (text::InvalidUtf8 invalid = text::find_invalid_utf8(code)) {
        return "the program is not UTF-8: " + text::utf8_error_message(code, invalid);
    }
    return std::nullopt;
}

std::shared_ptr<const Source> make_source(std::string_view code, const std::string& name) {
    if (code.starts_with("\xEF\xBB\xBF")) code.remove_prefix(3);
    return std::make_shared<const Source>(name, std::string(code));
}

// CPython ends the generators that are left in the order in which its collector meets them: breadth first from the
// program's variables.
std::vector<Generator*> in_order_of_reach(Vm& vm, std::vector<Generator*> generators) {
    if (generators.size() < 2) return generators;
    struct Reach final : Visitor {
        std::vector<Object*> met;
        std::unordered_set<const Object*> known;
        void visit(Object* child) override {
            if (known.insert(child).second) met.push_back(child);
        }
    } reach;
    reach.visit(static_cast<Object*>(vm.main_module));
    for (size_t i = 0; i < reach.met.size(); i++) {
        if (auto traverse = kind_ops(reach.met[i]->kind).traverse) traverse(reach.met[i], reach);
    }
    std::unordered_map<const Object*, size_t> place;
    for (size_t i = 0; i < reach.met.size(); i++) place[reach.met[i]] = i;
    auto place_of = [&](const Generator* generator) {
        auto at = place.find(generator);
        return at == place.end() ? reach.met.size() : at->second;
    };
    std::stable_sort(generators.begin(), generators.end(),
                     [&](const Generator* a, const Generator* b) { return place_of(a) < place_of(b); });
    return generators;
}

}  // namespace

const char* version() { return TALC_VERSION; }

bool read_source(const std::string& path, std::string& text) {
    int fd = path == "-" ? 0 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    text.clear();
    char chunk[65536];
    ssize_t count;
    while ((count = ::read(fd, chunk, sizeof chunk)) > 0) text.append(chunk, static_cast<size_t>(count));
    int error = errno;
    if (fd != 0) ::close(fd);
    errno = error;
    return count == 0;
}

// ---- State ----------------------------------------------------------------------------------------


Engine::State::State(Options given)
    : options(std::move(given)), vm(stdlib::builtin_table(), make_limits(options.limits), make_host(options)) {
    vm.heap.set_stress(options.stress_collector);
    vm.verify_code = options.verify_code;
    const char* wanted = std::getenv("TALC_JIT");
    vm.tensors.find_device = inductor::cuda_device;
    if (const char* device = std::getenv("TALC_DEVICE"); device && *device) {
        std::optional<tensor::Device> named = tensor::device_named(device);
        if (named) vm.tensors.default_device = *named;
        if (!named) stdlib::Streams::of(vm).write_err(vm, "warning: TALC_DEVICE is no device\n");
    }
    jit = std::make_unique<jit::Jit>(vm, &inductor::native_backend());
    if (const char* params = std::getenv("TALC_JIT_PARAMS"); params && !jit->configure(params)) {
        stdlib::Streams::of(vm).write_err(vm, "warning: TALC_JIT_PARAMS is not understood\n");
    }
    jit->enabled = !wanted || wanted != std::string_view("off");
    const char* strict = std::getenv("TALC_JIT_STRICT");
    jit->strict = strict && strict == std::string_view("1");
    jit->warn = [this](const std::string& text) { stdlib::Streams::of(vm).write_err(vm, "warning: " + text + "\n"); };
    stdlib::set_jit_log(vm, options.logs);
}

Result Engine::State::failure(Ref exception) {
    if (is_instance(vm, exception, vm.classes.of(Exc::SystemExit))) {
        Ref code = get_attr(vm, exception, vm.names.code);
        if (code.is_none()) return {Outcome::Exit, 0, "", {}, {}, {}};
        if (is_integer(code)) return {Outcome::Exit, static_cast<int>(int_value(code) & 0xFF), "", {}, {}, {}};
        return {Outcome::Exit, kErrorStatus, to_str(vm, code)->string() + "\n", {}, {}, {}};
    }
    bool interrupted = is_instance(vm, exception, vm.classes.of(Exc::KeyboardInterrupt));
    Error error = error_of(exception);
    return {interrupted ? Outcome::Interrupted : Outcome::Error, interrupted ? kInterruptedStatus : kErrorStatus,
            error.report(), error.type(), error.message(), error.traceback()};
}

Result Engine::State::compile_failure(const lang::SyntaxError& error, const Source& source) {
    try {
        raise_syntax_error(vm, error, source);
    } catch (Raised&) {
        Ref exception = vm.take_raised();
        Error data = error_of(exception);
        LineColumn at = source.locate(error.span.begin);
        Place place{source.name(), at.line, at.column, "", std::string(source.line(at.line))};
        return {Outcome::SyntaxError, kUsageStatus, data.report(), data.type(), data.message(), {std::move(place)}};
    }
}

Result Engine::State::run(std::shared_ptr<const Source> source, bool interactive) {
    lang::CompileResult compiled =
        lang::compile(source, interactive ? lang::CompileMode::Interactive : lang::CompileMode::Module);
    if (compiled.error) return compile_failure(*compiled.error, *source);
    std::shared_ptr<const lang::Code> code = std::move(compiled.code);
    if (stdlib::has_channel(options.logs, "bytecode")) {
        std::string listing = lang::disassemble(*code);
        stdlib::Streams::of(vm).write_err(vm, listing);
    }
    try {
        vm.begin_run();
        vm.run_module(std::move(code), vm.main_module);
        return {};
    } catch (Raised&) {
        Ref exception = vm.take_raised();
        try {
            return failure(std::move(exception));
        } catch (Raised&) {  // its own str() fails, or an interrupt came
            vm.take_raised();
            return {Outcome::Error, kErrorStatus, "error while reporting an error\n", {}, {}, {}};
        }
    } catch (std::bad_alloc&) {
        return {Outcome::Error, kErrorStatus, "MemoryError\n", {}, {}, {}};
    }
}

// ---- Engine ---------------------------------------------------------------------------------------

Engine::Engine(Options options) : state_(std::make_unique<detail::EngineState>(std::move(options))) {}
Engine::~Engine() = default;

Result Engine::run_file(const std::string& path) {
    std::string code;
    if (!read_source(path, code)) {
        return {Outcome::NotRead, kUsageStatus, "talc: cannot read " + path + ": " + std::strerror(errno) + "\n", {}, {}, {}};
    }
    Vm& vm = state_->vm;
    Ref file = make_str(vm, path);
    if (vm.main_module->file) decref(vm.main_module->file);
    vm.main_module->file = cast<Str>(Ref(file).release());
    set_attr_plain(vm, vm.main_module, vm.names.file_, file);
    return run_string(code, path);
}

Result Engine::run_string(std::string_view code, const std::string& name) {
    if (auto problem = problem_of(code)) {
        return {Outcome::SyntaxError, kUsageStatus, "SyntaxError: " + *problem + " in " + name + "\n", {}, {}, {}};
    }
    return state_->run(make_source(code, name));
}

Result Engine::dump(std::string_view stages, std::string_view code, const std::string& name, std::string& out) {
    if (auto problem = problem_of(code)) {
        return {Outcome::SyntaxError, kUsageStatus, "SyntaxError: " + *problem + " in " + name + "\n", {}, {}, {}};
    }
    std::shared_ptr<const Source> source = make_source(code, name);
    while (!stages.empty()) {
        std::string_view stage = stages.substr(0, stages.find(','));
        stages.remove_prefix(stage.size() < stages.size() ? stage.size() + 1 : stage.size());
        std::optional<lang::SyntaxError> error;
        if (stage == "tokens" || stage == "ast") {
            lang::DumpResult dumped = stage == "ast" ? lang::dump_source_ast(*source) : lang::dump_source_tokens(*source);
            out += dumped.text;
            error = std::move(dumped.error);
        } else if (stage == "bytecode") {
            lang::CompileResult compiled = lang::compile(source);
            if (compiled.code) out += lang::disassemble(*compiled.code);
            error = std::move(compiled.error);
        } else {
            std::string known = "talc: there is no stage '" + std::string(stage) + "'; there are tokens, ast and bytecode\n";
            return {Outcome::NotRead, kUsageStatus, known, {}, {}, {}};
        }
        if (error) return state_->compile_failure(*error, *source);
    }
    return {};
}

void Engine::interrupt() noexcept { state_->vm.interrupt(); }
void Engine::finish() {
    Vm& vm = state_->vm;
    vm.begin_run();
    auto waiting = [&] {
        std::vector<Generator*> found;
        for (const Ref& generator : vm.heap.waiting_generators()) found.push_back(cast<Generator>(generator.get()));
        return found;
    };
    for (Generator* next : in_order_of_reach(vm, waiting())) {
        // The end of one can be the end of others, which it held.
        std::vector<Generator*> left = waiting();
        if (std::find(left.begin(), left.end(), next) == left.end()) continue;
        Ref keep(vm::Value::object(next));
        try {
            vm.close(next);
        } catch (Raised&) {  // nobody is there to handle it
            vm.take_raised();
        }
    }
    flush();
}
void Engine::flush() { stdlib::Streams::of(state_->vm).flush_all(); }

}  // namespace talc
