// The public API, as a host uses it.
#include <atomic>
#include <string>
#include <thread>

#include "talc/talc.hpp"
#include "tests/unit/catch.hpp"

namespace {

// An engine whose output is kept.
struct Caught {
    explicit Caught(talc::Options options = {}) : engine(with_output(std::move(options))) {}
    talc::Options with_output(talc::Options options) {
        options.out = [this](std::string_view text) { output += text; };
        return options;
    }
    std::string output;
    talc::Engine engine;
};

}  // namespace

TEST_CASE("engine: runs code and keeps its globals") {
    Caught caught;
    REQUIRE(caught.engine.run_string("x = 20").ok());
    REQUIRE(caught.engine.run_string("print(x + 1)\nprint('a', end='')").ok());
    CHECK(caught.output == "21\na");
}

TEST_CASE("engine: engines share nothing") {
    Caught one, two;
    REQUIRE(one.engine.run_string("x = 1\nclass A: pass\nA.y = 2").ok());
    talc::Result result = two.engine.run_string("print(x)");
    CHECK(result.outcome == talc::Outcome::Error);
    CHECK(result.status == 1);
    CHECK(result.report.find("NameError: name 'x' is not defined") != std::string::npos);
}

TEST_CASE("engine: reports errors with file, line and caret") {
    Caught caught;
    talc::Result result = caught.engine.run_string("def f(a):\n    return a / 0\nf(1)\n", "calc.tc");
    CHECK(result.outcome == talc::Outcome::Error);
    CHECK(result.report.find("\"calc.tc\", line 2, in f") != std::string::npos);
    CHECK(result.report.find("a / 0") != std::string::npos);
    CHECK(result.report.find("^") != std::string::npos);
    CHECK(result.report.ends_with("ZeroDivisionError: division by zero\n"));
    // The engine goes on after an error.
    CHECK(caught.engine.run_string("print('on')").ok());
}

TEST_CASE("engine: syntax errors and exits have their status") {
    Caught caught;
    talc::Result broken = caught.engine.run_string("x = (");
    CHECK(broken.outcome == talc::Outcome::SyntaxError);
    CHECK(broken.status == 2);
    talc::Result left = caught.engine.run_string("raise SystemExit(7)");
    CHECK(left.outcome == talc::Outcome::Exit);
    CHECK(left.status == 7);
    CHECK(left.report.empty());
    talc::Result said = caught.engine.run_string("exit('bye')");
    CHECK(said.status == 1);
    CHECK(said.report == "bye\n");
    CHECK(caught.engine.run_string("\xff").outcome == talc::Outcome::SyntaxError);
    CHECK(caught.engine.run_file("/no/such/file.tc").outcome == talc::Outcome::NotRead);
}

TEST_CASE("engine: limits end a script, not the host") {
    talc::Options options;
    options.limits.instructions = 100000;
    options.limits.memory = 64 << 20;
    options.limits.recursion = 100;
    Caught caught(options);
    CHECK(caught.engine.run_string("while True: pass").report.find("LimitExceeded") != std::string::npos);
    CHECK(caught.engine.run_string("sum(x for x in iter(int, 1))").report.find("LimitExceeded") != std::string::npos);
    CHECK(caught.engine.run_string("a = 'x' * 10 ** 9").report.find("MemoryError") != std::string::npos);
    CHECK(caught.engine.run_string("def f(): f()\nf()").report.find("RecursionError") != std::string::npos);
    CHECK(caught.engine.run_string("print('still here')").ok());
    CHECK(caught.output == "still here\n");
}

TEST_CASE("engine: a time limit and an interrupt from another thread") {
    talc::Options options;
    options.limits.seconds = 0.05;
    Caught timed(options);
    CHECK(timed.engine.run_string("while True: pass").outcome == talc::Outcome::Error);

    Caught caught;
    std::atomic<bool> done = false;
    std::thread other([&] {
        while (!done) {
            caught.engine.interrupt();
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    });
    talc::Result result = caught.engine.run_string("while True: pass");
    done = true;
    other.join();
    CHECK(result.outcome == talc::Outcome::Interrupted);
    CHECK(result.status == 130);
}

TEST_CASE("engine: the host decides about input, files and modules") {
    talc::Options options;
    int lines = 0;
    options.read_line = [&](std::string& line) {
        line = "line " + std::to_string(++lines);
        return lines <= 2;
    };
    options.may_open = [](const std::string& path, bool write) { return path == "/dev/null" && !write; };
    options.may_import = [](std::string_view module) { return module != "secret"; };
    Caught caught(options);
    REQUIRE(caught.engine.run_string("print(input(), input('? '))").ok());
    CHECK(caught.output == "? line 1 line 2\n");
    CHECK(caught.engine.run_string("input()").report.find("EOFError") != std::string::npos);
    CHECK(caught.engine.run_string("open('/dev/null').close()").ok());
    CHECK(caught.engine.run_string("open('/dev/null', 'w')").report.find("PermissionError") != std::string::npos);
    CHECK(caught.engine.run_string("open('/etc/passwd')").report.find("PermissionError") != std::string::npos);
    CHECK(caught.engine.run_string("import secret").report.find("not allowed") != std::string::npos);
}

TEST_CASE("engine: dumps the stages of compilation") {
    talc::Engine engine;
    std::string text;
    REQUIRE(engine.dump("tokens,ast,bytecode", "x = 1 + y\n", "a.tc", text).ok());
    CHECK(text.find("Name") != std::string::npos);
    CHECK(text.find("Assign") != std::string::npos);
    CHECK(text.find("LOAD_GLOBAL") != std::string::npos);
    CHECK(engine.dump("nonsense", "x", "a.tc", text).status == 2);
    CHECK(engine.dump("bytecode", "x =", "a.tc", text).outcome == talc::Outcome::SyntaxError);
}

TEST_CASE("engine: open files are written when the engine goes") {
    std::string path = "/tmp/talc_engine_test_" + std::to_string(reinterpret_cast<uintptr_t>(&path)) + ".txt";
    {
        talc::Options options;
        options.arguments = {path};
        talc::Engine engine(options);
        REQUIRE(engine.run_string("f = open('" + path + "', 'w')\nf.write('kept')").ok());
    }
    std::string text;
    REQUIRE(talc::read_source(path, text));
    CHECK(text == "kept");
    std::remove(path.c_str());
}
