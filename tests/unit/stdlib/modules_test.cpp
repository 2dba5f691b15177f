// The library's modules: each can be imported, and a host's rules hold inside them.
#include "stdlib/modules.hpp"

#include <memory>
#include <string>

#include "lang/compile.hpp"
#include "stdlib/builtins.hpp"
#include "stdlib/embedded.hpp"
#include "tests/unit/catch.hpp"
#include "vm/vm.hpp"

namespace {

using namespace talc;

// What a program prints, and its error if it ends with one.
std::string run(const std::string& program, vm::Host host = {}) {
    std::string printed;
    host.out = [&](std::string_view text) { printed += text; };
    vm::Vm machine(stdlib::builtin_table(), {}, host);
    auto source = std::make_shared<Source>("test", program);
    lang::CompileResult compiled = lang::compile(source);
    REQUIRE(compiled.code);
    try {
        machine.run_module(compiled.code, machine.main_module);
    } catch (vm::Raised&) {
        vm::Ref error = machine.take_raised();
        printed += std::string(vm::class_name(machine, error)) + ": " + vm::to_str(machine, error)->string();
    }
    return printed;
}

}  // namespace

TEST_CASE("every module of the library can be imported", "[stdlib][modules]") {
    std::string all;
#define MODULE(name, fill) all += "import " name "\n";
#include "stdlib/modules.def"
#undef MODULE
    for (const stdlib::EmbeddedModule& module : stdlib::embedded_modules()) all += "import " + std::string(module.name) + "\n";
    CHECK(run(all + "import builtins\nprint('all')\n") == "all\n");
}

TEST_CASE("modules of two engines are apart", "[stdlib][modules]") {
    CHECK(run("import math\nmath.pi = 3\nprint(math.pi)\n") == "3\n");
    CHECK(run("import math\nprint(math.pi)\n") == "3.141592653589793\n");
}

TEST_CASE("a host decides what may be imported", "[stdlib][modules]") {
    vm::Host host;
    host.may_import = [](std::string_view name) { return name == "random" || name == "sys"; };
    CHECK(run("import random\nprint(0 <= random.random() < 1)\n", host) == "True\n");
    CHECK(run("import os\n", host) == "ImportError: import of module 'os' is not allowed here");
    // What random imports for itself is not there for the program.
    CHECK(run("import random\nimport math\n", host) == "ImportError: import of module 'math' is not allowed here");
}

TEST_CASE("a host decides which files are seen", "[stdlib][modules]") {
    vm::Host host;
    host.may_open = [](const std::string& path, bool write) { return !write && path == "/"; };
    CHECK(run("import os\nprint(os.path.exists('/'), os.path.exists('/tmp'), os.path.isdir('/tmp'))\n", host) ==
          "True False False\n");
    CHECK(run("import os\nos.listdir('/tmp')\n", host) == "PermissionError: [Errno 13] Permission denied: '/tmp'");
    CHECK(run("import os\nos.mkdir('/')\n", host) == "PermissionError: [Errno 13] Permission denied: '/'");
    CHECK(run("import os\nos.makedirs('/tmp/a/b')\n", host) == "PermissionError: [Errno 13] Permission denied: '/tmp/a/b'");
    CHECK(run("import os\nos.remove('/tmp/a')\n", host) == "PermissionError: [Errno 13] Permission denied: '/tmp/a'");
    CHECK(run("import os\nos.rename('/', '/tmp/a')\n", host) == "PermissionError: [Errno 13] Permission denied: '/'");
    CHECK(run("import os\nos.chdir('/tmp')\n", host) == "PermissionError: [Errno 13] Permission denied: '/tmp'");
    CHECK(run("import os\nos.stat('/tmp')\n", host) == "PermissionError: [Errno 13] Permission denied: '/tmp'");
    CHECK(run("import os\nprint(os.access('/tmp', os.R_OK), list(os.walk('/tmp')))\n", host) == "False []\n");
}

TEST_CASE("waiting ends with the time limit and by an interrupt", "[stdlib][modules]") {
    vm::Limits limits;
    limits.seconds = 0.05;
    vm::Vm machine(stdlib::builtin_table(), limits);
    auto compile = [](const char* text) { return lang::compile(std::make_shared<Source>("test", text)).code; };
    machine.begin_run();
    CHECK_THROWS_AS(machine.run_module(compile("import time\ntime.sleep(60)\n"), machine.main_module), vm::Raised);
    CHECK(vm::class_name(machine, machine.take_raised()) == "LimitExceeded");
    machine.limits.seconds = 0;
    machine.begin_run();
    machine.interrupt();
    CHECK_THROWS_AS(machine.run_module(compile("import time\ntime.sleep(60)\n"), machine.main_module), vm::Raised);
    CHECK(vm::class_name(machine, machine.take_raised()) == "KeyboardInterrupt");
}

TEST_CASE("files in memory count against the memory limit", "[stdlib][modules]") {
    vm::Limits limits;
    limits.memory = size_t{16} << 20;
    vm::Vm machine(stdlib::builtin_table(), limits);
    const char* program = "import io\nf = io.StringIO()\nfor i in range(1000):\n    f.write('x' * 100000)\n";
    auto code = lang::compile(std::make_shared<Source>("test", program)).code;
    CHECK_THROWS_AS(machine.run_module(code, machine.main_module), vm::Raised);
    CHECK(vm::class_name(machine, machine.take_raised()) == "MemoryError");
}
