#pragma once
// Talc in a C++ program:
//
//     talc::Engine engine;
//     talc::Result result = engine.run_string("print(1 + 1)");
//     if (!result.ok()) fputs(result.report.c_str(), stderr);
//
// Engines share nothing that a script can see. One engine is used by one thread at a time; interrupt() may be called
// from any thread and from a signal handler.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#define TALC_VERSION "0.1.0"

namespace talc {

const char* version();  // of the library, which may differ from the header's

// What a script may use up. Past a limit it gets an exception: LimitExceeded, MemoryError or RecursionError.
struct Limits {
    uint64_t instructions = UINT64_MAX;
    double seconds = 0;                 // of one run; 0: no limit
    size_t memory = SIZE_MAX / 2;       // bytes
    uint32_t recursion = 1000;          // nested calls
};

struct Options {
    Limits limits;
    std::vector<std::string> arguments;      // sys.argv
    std::vector<std::string> module_path;    // folders searched by import, after that of the importing file
    // Where output goes and input comes from; an empty one stands for the process's own stream.
    std::function<void(std::string_view text)> out;
    std::function<void(std::string_view text)> err;
    std::function<bool(std::string& line)> read_line;                  // false at the end
    // What a script may reach; an empty one allows everything.
    std::function<bool(std::string_view module)> may_import;
    std::function<bool(const std::string& path, bool write)> may_open;
    bool colour = false;                     // in error reports
    std::string logs;                        // log channels, comma-separated
    bool stress_collector = false;           // for tests: collect at every allocation
    bool verify_code = false;                // for tests: verify all bytecode before it runs
};

enum class Outcome {
    Ok,
    Exit,          // the script raised SystemExit
    Error,         // an uncaught exception
    SyntaxError,   // not a program
    Interrupted,   // an uncaught KeyboardInterrupt
    NotRead,       // the file cannot be read
};

struct Result {
    Outcome outcome = Outcome::Ok;
    int status = 0;        // for a program that ends with this result: 0, 1, 2, 130 or what SystemExit says
    std::string report;    // call chain, source lines with carets and message; empty when there is nothing to say
    bool ok() const { return outcome == Outcome::Ok; }
};

class Engine {
  public:
    explicit Engine(Options options = {});
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // Runs a program as the module __main__. What it leaves in its globals stays for the next run.
    Result run_file(const std::string& path);
    Result run_string(std::string_view code, const std::string& name = "<string>");

    // Stages of compilation as text, appended to `out`: "tokens", "ast", "bytecode", or several with commas.
    Result dump(std::string_view stages, std::string_view code, const std::string& name, std::string& out);

    // Makes the running script raise KeyboardInterrupt soon.
    void interrupt() noexcept;
    // Writes out what is buffered for standard output and for open files.
    void flush();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// The whole of a file; false and errno when it cannot be read. "-" is standard input.
bool read_source(const std::string& path, std::string& text);

}  // namespace talc
