#include "repl/commands.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

namespace talc::repl {

void print(std::string_view text) {
    fwrite(text.data(), 1, text.size(), stdout);
    fflush(stdout);
}

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string in_words(double seconds) {
    char text[64];
    if (seconds < 1e-6) snprintf(text, sizeof text, "%.1f ns", seconds * 1e9);
    else if (seconds < 1e-3) snprintf(text, sizeof text, "%.2f us", seconds * 1e6);
    else if (seconds < 1) snprintf(text, sizeof text, "%.3f ms", seconds * 1e3);
    else snprintf(text, sizeof text, "%.3f s", seconds);
    return text;
}

void show(Session& session, const std::function<std::string()>& text) {
    try {
        print(text());
    } catch (const Error& error) {
        session.engine->flush();
        print(error.report());
    }
}

// ---- The commands ---------------------------------------------------------------------------------

void help(Session&, const std::string&);

void who(Session& session, const std::string&) {
    std::string text;
    for (const std::string& name : session.engine->globals()) text += (text.empty() ? "" : "  ") + name;
    print((text.empty() ? "nothing is defined" : text) + "\n");
}

void disassemble(Session& session, const std::string& argument) {
    show(session, [&] { return session.engine->disassemble(argument); });
}

void load(Session& session, const std::string& argument) {
    session.loaded_file = argument;
    run_loaded_file(session);
}

void reload(Session& session, const std::string&) {
    show(session, [&] {
        std::string text;
        for (const std::string& name : session.engine->reload()) text += (text.empty() ? "" : ", ") + name;
        if (text.empty() && session.loaded_file.empty()) return std::string("no module came from a file, and no file was loaded\n");
        return text.empty() ? text : "reloaded " + text + "\n";
    });
    if (!session.loaded_file.empty()) run_loaded_file(session);
}

void reset(Session& session, const std::string&) {
    session.engine = session.make_engine();
    print("all names are gone\n");
}

void time_once(Session& session, const std::string& argument) {
    auto start = Clock::now();
    run_code(session, argument);
    print(in_words(seconds_since(start)) + "\n");
}

// Rounds of enough calls to be measurable, for about a second in all.
void time_often(Session& session, const std::string& argument) {
    constexpr double kRoundSeconds = 0.1;
    constexpr int kRounds = 7;
    constexpr int64_t kMostCalls = int64_t{1} << 40;
    Engine& engine = *session.engine;
    Result made = engine.run_string("def _timeit(_n):\n    for _n in range(_n):\n        " + argument + "\n", "<timeit>");
    if (!made.ok()) {
        print(made.report);
        return;
    }
    show(session, [&] {
        Value loop = engine.function("_timeit");
        auto measure = [&](int64_t calls) {
            auto start = Clock::now();
            loop(calls);
            return seconds_since(start);
        };
        int64_t calls = 1;
        double took = measure(calls);
        while (took < kRoundSeconds / 10 && calls < kMostCalls) took = measure(calls *= 10);
        int rounds = took > 1 ? 3 : kRounds;
        calls = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(calls) * kRoundSeconds / took));
        double best = std::numeric_limits<double>::infinity(), worst = 0;
        for (int i = 0; i < rounds; i++) {
            double each = measure(calls) / static_cast<double>(calls);
            best = std::min(best, each);
            worst = std::max(worst, each);
        }
        return in_words(best) + " a loop, the best of " + std::to_string(rounds) + " rounds of " + std::to_string(calls) +
               " (the worst: " + in_words(worst) + ")\n";
    });
    engine.run_string("del _timeit");
}

// f(x, y) as the arguments of explain: "f, x, y". What is not a call becomes a function of its own.
std::string explained_call(const std::string& expression) {
    size_t open = expression.find('(');
    bool call = open != std::string::npos && open > 0 && expression.back() == ')';
    if (call) {
        int depth = 0;
        for (size_t i = open; i + 1 < expression.size(); i++) {
            if (std::string_view("([{").find(expression[i]) != std::string_view::npos) depth++;
            if (std::string_view(")]}").find(expression[i]) != std::string_view::npos) depth--;
            if (depth == 0) call = false;  // f(x) + g(y)
        }
    }
    if (!call) return "lambda: (" + expression + ")";
    std::string arguments = expression.substr(open + 1, expression.size() - open - 2);
    return expression.substr(0, open) + (arguments.empty() ? "" : ", " + arguments);
}

bool can_explain(Session& session) {
    try {
        session.engine->function("explain");
        return true;
    } catch (const Error&) {
        print("there is no tracing compiler in this build, so there is nothing to explain\n");
        return false;
    }
}

void explain(Session& session, const std::string& argument) {
    if (can_explain(session)) run_code(session, "explain(" + explained_call(argument) + ");");
}

void graph(Session& session, const std::string& argument) {
    if (!can_explain(session)) return;
    bool is_call = !argument.empty() && argument.back() == ')';
    std::string call = is_call ? explained_call(argument) : argument;
    show(session, [&] {
        // Without the report that it prints.
        Result made = session.engine->run_string("import io as _io, contextlib as _contextlib\n"
                                                 "with _contextlib.redirect_stdout(_io.StringIO()): _report = explain(" + call + ")",
                                                 "<graph>");
        if (!made.ok()) return made.report;
        Value report = session.engine->get("_report");
        session.engine->run_string("del _report, _io, _contextlib");
        std::string text;
        for (const Value& fragment : report.attr("fragments").as<std::vector<Value>>()) text += fragment.attr("graph").str() + "\n";
        return text.empty() ? "no tensor operator was recorded\n" : text;
    });
}

void log(Session& session, const std::string& argument) {
    session.engine->set_logs(argument);
    print(argument.empty() ? "no channel is logged\n" : "logged: " + argument + "\n");
}

void quit(Session& session, const std::string&) { session.left = true; }

struct Command {
    const char* name;
    const char* argument;   // empty: it takes none
    bool required;
    const char* what;
    void (*run)(Session& session, const std::string& argument);
};

constexpr Command kCommands[] = {
    {"help", "", false, "this text", help},
    {"time", "CODE", true, "run it once and say how long it took", time_once},
    {"timeit", "CODE", true, "run it many times and say how long one takes", time_often},
    {"dis", "NAME", true, "the bytecode of a function", disassemble},
    {"explain", "EXPR", true, "run it, and say what was compiled and what was not, and why", explain},
    {"graph", "CALL", true, "the graphs that were recorded of a call", graph},
    {"log", "CHANNELS", false, "what to log from now on: bytecode, graph_breaks, recompiles, ... (none: nothing)", log},
    {"who", "", false, "the names that are defined", who},
    {"load", "FILE", true, "run a file here", load},
    {"reload", "", false, "run the loaded file and all modules that came from files again", reload},
    {"reset", "", false, "forget all names", reset},
    {"quit", "", false, "leave (also Ctrl-D)", quit},
};

void help(Session&, const std::string&) {
    std::string text = "?NAME             signature and doc\n??NAME            source\n";
    for (const Command& command : kCommands) {
        std::string usage = std::string(":") + command.name + " " + command.argument;
        usage.resize(std::max<size_t>(usage.size(), 18), ' ');
        text += usage + command.what + "\n";
    }
    text +=
        "Enter runs what is complete; a block ends with an empty line. Tab completes or indents, Right takes the hint,\n"
        "Up and Down recall whole blocks, Ctrl-R searches them. Ctrl-C cancels the input or interrupts what runs.\n"
        "A ; at the end keeps a value from being shown. _ is the last value shown.\n";
    print(text);
}

std::string trimmed(const std::string& text) {
    size_t begin = text.find_first_not_of(" \n");
    if (begin == std::string::npos) return "";
    return text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

}  // namespace

bool is_command(const std::string& text) { return text.starts_with(':') || text.starts_with('?'); }

bool asks_to_leave(Session& session, const std::string& text) {
    std::string name = trimmed(text);
    if (name.ends_with("()")) name.resize(name.size() - 2);
    return (name == "exit" || name == "quit") && session.engine->get(name).empty();
}

void run_command(Session& session, const std::string& line) {
    if (line.starts_with("??")) return show(session, [&] { return session.engine->source(trimmed(line.substr(2))); });
    if (line.starts_with("?")) return show(session, [&] { return session.engine->help(trimmed(line.substr(1))); });
    std::string name = line.substr(1, line.find_first_of(" \n") - 1);
    std::string argument = trimmed(line.substr(1 + name.size()));
    // The beginning of a name is enough where only one begins so.
    const Command* found = nullptr;
    size_t count = 0;
    for (const Command& command : kCommands) {
        if (name == command.name) {
            found = &command;
            count = 1;
            break;
        }
        if (!name.empty() && std::string_view(command.name).starts_with(name)) {
            if (!found) found = &command;
            count++;
        }
    }
    if (!found || (count > 1 && name != "t" && name != "q" && name != "h")) {
        return print("there is no command :" + name + "; :help lists them\n");
    }
    if (argument.empty() && found->required) {
        return print(std::string("usage: :") + found->name + " " + found->argument + "\n");
    }
    found->run(session, argument);
}

void run_code(Session& session, const std::string& code) {
    Engine& engine = *session.engine;
    size_t last = code.find_last_not_of(" \n");
    bool silent = last != std::string::npos && code[last] == ';';
    Result result = silent ? engine.run_string(code, "<stdin>") : engine.run_interactive(code);
    engine.flush();
    print(result.report);
    if (result.outcome != Outcome::Exit) return;
    session.left = true;
    session.status = result.status;
}

void run_loaded_file(Session& session) {
    Result result = session.engine->run_file(session.loaded_file);
    session.engine->flush();
    print(result.report);
}

Completion complete_input(Engine& engine, const std::string& text) {
    size_t space = text.find(' ');
    if (text.starts_with(":") && space == std::string::npos) {
        Completion found{1, {}};
        for (const Command& command : kCommands) {
            if (std::string_view(command.name).starts_with(text.substr(1))) found.words.emplace_back(command.name);
        }
        std::sort(found.words.begin(), found.words.end());
        return found;
    }
    if (!is_command(text)) return engine.complete(text);
    size_t skip = text.starts_with("??") ? 2 : text.starts_with("?") ? 1 : space + 1;
    bool file = text.starts_with(":load ");
    Completion found = engine.complete((file ? "'" : "") + text.substr(skip));
    found.start += skip - (file ? 1 : 0);
    return found;
}

}  // namespace talc::repl
