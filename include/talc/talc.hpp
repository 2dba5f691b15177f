#pragma once
// Talc in a C++ program:
//
//     talc::Engine engine;
//     talc::Result result = engine.run_string("print(1 + 1)");
//     if (!result.ok()) fputs(result.report.c_str(), stderr);
//
//     engine.bind("area", [](double w, double h) { return w * h; });
//     engine.run_string("def twice(x): return 2 * area(x, 1)");
//     double y = engine.call("twice", 21).as<double>();          // throws talc::Error when the script raises
//
// Engines share nothing that a script can see. One engine is used by one thread at a time; interrupt() may be called
// from any thread and from a signal handler.
//
// Ownership: the engine owns its scripts' values and everything bound to it; callbacks of Options and bound functions are
// kept until it goes, so what they refer to must live as long. A Value is a reference into the engine and must not outlive
// it (value.hpp); memory shared through a TensorView has an owner of its own (tensor.hpp). Arguments are only borrowed:
// strings, vectors and maps are copied into the script, and copied out by Value::as. docs/EMBEDDING.md is the tour.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "talc/convert.hpp"
#include "talc/tensor.hpp"
#include "talc/value.hpp"

#define TALC_VERSION "0.1.0"

namespace talc {

TALC_API const char* version();  // of the library, which may differ from the header's

// What a script may use up. Past a limit it gets an exception: LimitExceeded, MemoryError or RecursionError.
struct Limits {
    uint64_t instructions = UINT64_MAX;
    double seconds = 0;                 // of one run; 0: no limit
    size_t memory = SIZE_MAX / 2;       // bytes
    uint32_t recursion = 1000;          // nested calls
};

struct Options {
    Limits limits;
    // Where the memory of script objects comes from; empty: the C library. Gives a block of `new_bytes` with the old
    // one's contents, aligned for any type: memory null is a new block, new_bytes 0 frees it, null says there is none (the
    // script gets a MemoryError). Called by the engine's own thread; every block is given back before ~Engine returns.
    // The elements of large tensors have memory of their own, under the same limit.
    std::function<void*(void* memory, size_t old_bytes, size_t new_bytes)> resize_memory;
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
    std::string type;      // the exception's class, and the rest of it as data; empty when there is none
    std::string message;
    std::vector<Place> traceback;   // outermost call first
    bool ok() const { return outcome == Outcome::Ok; }
};

// What an editor needs to know of a text while it is typed.
enum class Completeness {
    Complete,
    Incomplete,   // more lines may make it a program: an open bracket, string or block
    Wrong,        // no further line helps
};
enum class Colour : uint8_t { Plain, Comment, Error, Name, Builtin, Number, String, Operator, Keyword };
struct ColouredSpan {
    size_t begin, end;   // bytes
    Colour colour;
};
struct Completion {
    size_t start;                      // byte at which the word being completed begins
    std::vector<std::string> words;    // what may stand there, sorted
};

class TALC_API Engine {
  public:
    explicit Engine(Options options = {});
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // Runs a program as the module __main__. What it leaves in its globals stays for the next run.
    Result run_file(const std::string& path);
    Result run_string(std::string_view code, const std::string& name = "<string>");

    // ---- Values. These throw talc::Error when the script raises; the engine stays usable. ----
    // The value of an expression, seen from the module __main__.
    Value eval(std::string_view expression);
    // Globals of __main__. get gives an empty Value when there is none.
    Value get(std::string_view name);
    template <class T>
    void set(std::string_view name, const T& value) {
        set_value(name, Value(detail_state(), detail::Convert<std::decay_t<const T&>>::to(detail_state(), value)));
    }
    // Calls a global function of __main__ (or a builtin).
    template <class... A>
    Value call(std::string_view name, const A&... args) {
        return function(name)(args...);
    }
    // The same, looked up once: hold it to call it often.
    Value function(std::string_view name);
    // Makes a C++ function a global of __main__: a function pointer or an object with one operator(). Its parameters and
    // result are any types that Value::as knows; trailing std::optional parameters may be left out by the script. A C++
    // exception that leaves it becomes a RuntimeError in the script, a talc::Error the exception it stands for.
    template <class F>
    void bind(std::string_view name, F function) {
        set_value(name, Value(detail_state(), detail::bind_function(detail_state(), name, std::move(function))));
    }
    template <class T>
    Value make(const T& value) {
        return Value(detail_state(), detail::Convert<std::decay_t<const T&>>::to(detail_state(), value));
    }
    size_t memory_used() const;   // bytes, by the script's values

    // Stages of compilation as text, appended to `out`: "tokens", "ast", "bytecode", or several with commas.
    Result dump(std::string_view stages, std::string_view code, const std::string& name, std::string& out);

    // ---- For an interactive prompt ----
    // As run_string, but the value of each expression statement that is not None is shown (its repr, a line) and
    // kept in the variable _.
    Result run_interactive(std::string_view code, const std::string& name = "<stdin>");
    Completeness completeness(std::string_view code) const;
    std::vector<ColouredSpan> highlight(std::string_view code) const;
    // What fits the end of `text`: names, keywords, attributes, modules in an import, files in a string. Values are
    // looked up; nothing that a script wrote is called.
    Completion complete(std::string_view text);
    // What most likely comes next: the parameters of the call that is being typed, the rest of the only name that fits.
    // Empty: there is no telling.
    std::string hint(std::string_view text);
    // Signature and doc of what an expression gives.
    std::string help(std::string_view expression);
    // The bytecode of a function and the source text of a function or class.
    std::string disassemble(std::string_view expression);
    std::string source(std::string_view expression);
    // The names that the program has defined in __main__, in order.
    std::vector<std::string> globals();
    // Runs the modules that were imported from files once more, in their own namespaces; their names.
    std::vector<std::string> reload();
    // As Options::logs.
    void set_logs(std::string channels);

    // Makes the running script raise KeyboardInterrupt soon.
    void interrupt() noexcept;
    // Writes out what is buffered for standard output and for open files.
    void flush();
    // Ends the program, as a process that leaves does: generators that wait inside a try or a with run what their
    // finally blocks say, then all is flushed. An engine that is destroyed without this runs no more script code.
    void finish();

    struct TALC_LOCAL State;

  private:
    detail::EngineState* detail_state() const;
    void set_value(std::string_view name, const Value& value);

    std::unique_ptr<State> state_;
};

// The whole of a file; false and errno when it cannot be read. "-" is standard input.
TALC_API bool read_source(const std::string& path, std::string& text);

}  // namespace talc
