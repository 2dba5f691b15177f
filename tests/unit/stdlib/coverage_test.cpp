// Walks opcodes.def and builtins.def: every instruction and every builtin must be run by some script of tests/scripts.
// The hooks that a recorder uses do the counting, so this tests them as well.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lang/compile.hpp"
#include "lang/opcodes.hpp"
#include "inductor/backend.hpp"
#include "jit/jit.hpp"
#include "stdlib/builtins.hpp"
#include "tests/unit/catch.hpp"
#include "vm/vm.hpp"

namespace {

using namespace talc;

struct Seen {
    std::array<bool, lang::kOpCount> ops{};
    std::set<const vm::NativeRow*> natives;
};

vm::Hooks counting_hooks(Seen& seen) {
    vm::Hooks hooks;
    hooks.context = &seen;
    hooks.instruction = [](void* context, vm::Vm&, vm::Frame&, const lang::Instr* pc) {
        static_cast<Seen*>(context)->ops[static_cast<size_t>(pc->op)] = true;
    };
    hooks.native_call = [](void* context, vm::Vm&, const vm::Native& native, const vm::Args&) {
        static_cast<Seen*>(context)->natives.insert(native.row);
    };
    return hooks;
}

std::string read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

void run_script(const std::filesystem::path& path, Seen& seen) {
    auto source = std::make_shared<Source>(path.string(), read_file(path));
    lang::CompileResult compiled = lang::compile(source);
    if (!compiled.code) return;
    vm::Limits limits;
    limits.instructions = 3'000'000;
    limits.seconds = 5;
    limits.memory = size_t{256} << 20;
    vm::Host host;
    host.out = [](std::string_view) {};
    host.err = [](std::string_view) {};
    host.read_line = [](std::string&) { return false; };
    vm::Vm machine(stdlib::builtin_table(), limits, host);
    setenv("TALC_CUDA", "any", 1);
    machine.tensors.find_device = inductor::cuda_device;
    jit::Jit jit(machine, nullptr);
    machine.hooks = counting_hooks(seen);
    try {
        vm::Ptr<vm::Module> module = machine.make_module("__main__", path.string());
        machine.begin_run();
        machine.run_module(compiled.code, module.get());
    } catch (vm::Raised&) {
        machine.take_raised();  // many scripts end with an error on purpose
    }
    machine.hooks = vm::Hooks();
}

// The repository as it was built, or, on another machine, a folder with its tests.
std::filesystem::path source_folder() {
    const char* told = std::getenv("TALC_SOURCE_DIR");
    return told ? told : TALC_SOURCE_DIR;
}

const Seen& seen_in_scripts() {
    static const Seen seen = [] {
        Seen result;
        auto folder = std::filesystem::temp_directory_path() / ("talc-coverage-" + std::to_string(getpid()));
        auto before = std::filesystem::current_path();
        for (const auto& entry : std::filesystem::recursive_directory_iterator(source_folder() / "tests/scripts")) {
            bool helper = entry.path().filename().string().starts_with("_");
            if (entry.path().extension() != ".tc" || helper) continue;
            std::filesystem::create_directories(folder);
            std::filesystem::current_path(folder);  // an empty one for each script: some write files
            run_script(entry.path(), result);
            std::filesystem::current_path(before);
            std::filesystem::remove_all(folder);
        }
        return result;
    }();
    return seen;
}

}  // namespace

TEST_CASE("every instruction is run by a script", "[coverage][vm]") {
    const Seen& seen = seen_in_scripts();
    std::string missing;
    for (int i = 0; i < lang::kOpCount; i++) {
        auto op = static_cast<lang::Op>(i);
        if (op == lang::Op::NOP || op == lang::Op::EXTRA) continue;  // padding and operands
        if (op == lang::Op::PRINT_EXPR) continue;                    // the interactive prompt's
        if (op == lang::Op::TRACE) continue;                         // the jit puts it there; its own tests run it
        if (!seen.ops[static_cast<size_t>(i)]) missing += std::string(" ") + lang::op_info(op).name;
    }
    INFO("never run:" << missing);
    CHECK(missing.empty());
}

TEST_CASE("every builtin is called by a script", "[coverage][stdlib]") {
    const Seen& seen = seen_in_scripts();
    const vm::BuiltinTable& table = stdlib::builtin_table();
    std::string missing;
    for (size_t i = 0; i < table.count; i++) {
        const vm::NativeRow& row = table.rows[i];
        if (!seen.natives.contains(&row)) {
            missing += std::string("\n    ") + row.owner + (row.owner[0] ? "." : "") + row.name;
        }
    }
    INFO("never called:" << missing);
    CHECK(missing.empty());
}
