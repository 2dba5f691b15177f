// The program `talc`: a host like any other, with a command line.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "repl/prompt.hpp"
#include "talc/talc.hpp"

namespace {

constexpr const char* kUsage =
    "usage: talc [options] FILE [arguments]      run a program\n"
    "       talc [options] -c CODE [arguments]   run a program given as text\n"
    "       talc [options] - [arguments]         run a program from standard input\n"
    "       talc                                 the interactive prompt, at a terminal\n"
    "\n"
    "  -i              the prompt after the program, with all that it defined\n"
    "  --dump=STAGES   show tokens, ast or bytecode (comma-separated) instead of running\n"
    "  --log=CHANNELS  log channels (comma-separated); the same as the variable TALC_LOGS\n"
    "  --version       show the version\n"
    "  --help          show this text\n";

constexpr int kUsageStatus = 2;

// A signal handler has no other way to find the engine.
talc::Engine* interrupted_engine = nullptr;

void on_interrupt(int) {
    if (interrupted_engine) interrupted_engine->interrupt();
}

void install_signals() {
    struct sigaction action = {};
    action.sa_handler = on_interrupt;  // without SA_RESTART: a read that waits for input ends
    sigaction(SIGINT, &action, nullptr);
    signal(SIGPIPE, SIG_DFL);          // a reader that goes away ends the program quietly
}

void write_error(std::string_view text) {
    while (!text.empty()) {
        ssize_t count = write(2, text.data(), text.size());
        if (count < 0 && errno != EINTR) return;
        if (count > 0) text.remove_prefix(static_cast<size_t>(count));
    }
}

struct Command {
    std::string dump;
    std::string log;
    bool has_code = false;
    bool interactive = false;
    std::string code;
    std::string file = "-";
    std::vector<std::string> arguments;  // with the file's name, "-c" or "-" first
};

[[noreturn]] void usage_error(const std::string& message) {
    write_error("talc: " + message + "\n" + kUsage);
    _exit(kUsageStatus);
}

[[noreturn]] void show(const char* text) {
    fputs(text, stdout);
    fflush(stdout);
    _exit(0);
}

// The value of --name=value or --name value.
bool option_value(std::string_view name, int& at, int argc, char** argv, std::string& value) {
    std::string_view argument = argv[at];
    if (argument == name) {
        if (at + 1 >= argc) usage_error(std::string(name) + " needs a value");
        value = argv[++at];
        return true;
    }
    if (!argument.starts_with(name) || argument.size() <= name.size() || argument[name.size()] != '=') return false;
    value = argument.substr(name.size() + 1);
    return true;
}

Command parse(int argc, char** argv) {
    Command command;
    int at = 1;
    for (; at < argc; at++) {
        std::string_view argument = argv[at];
        if (argument == "-" || argument.empty() || argument[0] != '-') break;
        if (argument == "--version" || argument == "-V") show((std::string("talc ") + talc::version() + "\n").c_str());
        if (argument == "--help" || argument == "-h") show(kUsage);
        if (argument == "-i") {
            command.interactive = true;
            continue;
        }
        if (argument == "-c") {
            if (at + 1 >= argc) usage_error("-c needs a program");
            command.has_code = true;
            command.code = argv[at + 1];
            command.arguments.push_back("-c");
            at += 2;
            break;
        }
        if (option_value("--dump", at, argc, argv, command.dump)) continue;
        if (option_value("--log", at, argc, argv, command.log)) continue;
        usage_error("unknown option " + std::string(argument));
    }
    if (!command.has_code) {
        if (at < argc) command.file = argv[at];
        command.arguments.push_back(at < argc ? command.file : "");
        at++;
    }
    for (; at < argc; at++) command.arguments.push_back(argv[at]);
    return command;
}

bool is_set(const char* name) {
    const char* value = std::getenv(name);
    return value && *value && std::strcmp(value, "0") != 0;
}

bool wants_colour() {
    const char* terminal = std::getenv("TERM");
    return isatty(2) && !std::getenv("NO_COLOR") && !(terminal && std::strcmp(terminal, "dumb") == 0);
}

std::vector<std::string> folders(const char* path) {
    std::vector<std::string> result;
    std::string_view rest = path ? path : "";
    while (!rest.empty()) {
        size_t end = rest.find(':');
        if (end != 0) result.emplace_back(rest.substr(0, end));
        if (end == std::string_view::npos) break;
        rest.remove_prefix(end + 1);
    }
    return result;
}

talc::Options make_options(const Command& command) {
    talc::Options options;
    options.arguments = command.arguments;
    options.module_path = folders(std::getenv("TALC_PATH"));
    options.colour = wants_colour();
    options.stress_collector = is_set("TALC_GC_STRESS");
    options.verify_code = is_set("TALC_VERIFY");
    const char* logs = std::getenv("TALC_LOGS");
    options.logs = !command.log.empty() || !logs ? command.log : logs;
    return options;
}

talc::Result run(talc::Engine& engine, const Command& command) {
    bool standard_input = !command.has_code && command.file == "-";
    if (command.dump.empty() && !standard_input) {
        return command.has_code ? engine.run_string(command.code, "<string>") : engine.run_file(command.file);
    }
    std::string code = command.code;
    std::string name = command.has_code ? "<string>" : standard_input ? "<stdin>" : command.file;
    if (!command.has_code && !talc::read_source(command.file, code)) {
        std::string problem = "talc: cannot read " + command.file + ": " + std::strerror(errno) + "\n";
        return {talc::Outcome::NotRead, kUsageStatus, problem, {}, {}, {}};
    }
    if (command.dump.empty()) return engine.run_string(code, name);
    std::string text;
    talc::Result result = engine.dump(command.dump, code, name, text);
    fwrite(text.data(), 1, text.size(), stdout);
    fflush(stdout);
    return result;
}

}  // namespace

int main(int argc, char** argv) {
    Command command = parse(argc, argv);
    talc::repl::Session session;
    session.make_engine = [&command] {
        auto engine = std::make_unique<talc::Engine>(make_options(command));
        interrupted_engine = engine.get();
        return engine;
    };
    session.engine = session.make_engine();
    install_signals();
    bool no_program = !command.has_code && command.file == "-";
    bool prompt = command.dump.empty() && (command.interactive || (no_program && isatty(0) && isatty(1)));
    talc::Result result;
    if (!prompt || !no_program) {
        result = run(*session.engine, command);
        session.engine->flush();
        write_error(result.report);
    }
    if (prompt) {
        if (!no_program && !command.has_code) session.loaded_file = command.file;
        result.status = talc::repl::run_prompt(session);
    }
    session.engine->finish();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    interrupted_engine = nullptr;
    session.engine.reset();  // so that a leak shows
    return result.status;
#else
    _exit(result.status);  // the system frees the engine's memory faster than it could itself
#endif
}
