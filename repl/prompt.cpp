#include "repl/prompt.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#ifdef TALC_HAVE_REPLXX
#include <replxx.hxx>
#endif

namespace talc::repl {

namespace {

constexpr const char* kHelp =
    "?NAME            signature and doc            ??NAME         source\n"
    ":time EXPR       run once and time it         :dis NAME      bytecode\n"
    ":load FILE       run a file here              :who           names defined\n"
    ":help            this text                    :quit          leave (also Ctrl-D)\n"
    "A ; at the end of a line keeps its value from being shown. _ is the last value shown.\n";

void print(std::string_view text) {
    fwrite(text.data(), 1, text.size(), stdout);
    fflush(stdout);
}

// ---- Lines ----------------------------------------------------------------------------------------

enum class Input { Line, Cancelled, End };

#ifdef TALC_HAVE_REPLXX

// The line editor: history, colours, completion.
class Editor {
  public:
    explicit Editor(Engine& engine) : engine_(engine) {
        editor_.install_window_change_handler();
        editor_.set_word_break_characters(" \t\n.,;:()[]{}+-*/%&|^~<>=!@'\"");
        editor_.enable_bracketed_paste();
        editor_.set_max_history_size(10000);
        editor_.set_highlighter_callback([this](const std::string& text, replxx::Replxx::colors_t& colours) { paint(text, colours); });
        editor_.set_completion_callback([this](const std::string& text, int& length) {
            replxx::Replxx::completions_t words;
            Completion found = engine_.complete(text);
            length = static_cast<int>(text.size() - found.start);
            for (const std::string& word : found.words) words.emplace_back(word);
            if (found.words.empty() && text.find_first_not_of(' ') == std::string::npos) {
                words.emplace_back("    ");  // Tab at the beginning of a line indents
                length = 0;
            }
            return words;
        });
        if (const char* home = std::getenv("HOME")) {
            history_ = std::string(home) + "/.talc_history";
            editor_.history_load(history_);
        }
    }
    ~Editor() {
        if (!history_.empty()) editor_.history_save(history_);
    }
    Input read(const std::string& prompt, const std::string& indent, std::string& line) {
        if (!indent.empty()) editor_.set_preload_buffer(indent);
        errno = 0;
        const char* text = editor_.input(prompt);
        if (!text) return errno == EAGAIN ? Input::Cancelled : Input::End;
        line = text;
        return Input::Line;
    }
    void remember(const std::string& entry) { editor_.history_add(entry); }

  private:
    void paint(const std::string& text, replxx::Replxx::colors_t& colours) {
        using C = replxx::Replxx::Color;
        // Colours are by code point, spans by byte.
        std::vector<size_t> position(text.size() + 1);
        size_t count = 0;
        for (size_t i = 0; i < text.size(); i++) {
            position[i] = count;
            if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) count++;
            if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) position[i] = count - 1;
        }
        position[text.size()] = count;
        for (const ColouredSpan& span : engine_.highlight(text)) {
            C colour = C::DEFAULT;
            switch (span.colour) {
                case Colour::Keyword: colour = C::BRIGHTMAGENTA; break;
                case Colour::String: colour = C::GREEN; break;
                case Colour::Number: colour = C::CYAN; break;
                case Colour::Comment: colour = C::GRAY; break;
                case Colour::Builtin: colour = C::BRIGHTBLUE; break;
                case Colour::Error: colour = C::RED; break;
                default: continue;
            }
            for (size_t i = position[span.begin]; i < position[std::min(span.end, text.size())] && i < colours.size(); i++) colours[i] = colour;
        }
    }

    Engine& engine_;
    replxx::Replxx editor_;
    std::string history_;
};

#else

// Plain lines, for builds without a line editor.
class Editor {
  public:
    explicit Editor(Engine&) {}
    Input read(const std::string& prompt, const std::string&, std::string& line) {
        print(prompt);
        line.clear();
        int c;
        while ((c = getchar()) != EOF && c != '\n') line += static_cast<char>(c);
        return c == EOF && line.empty() ? Input::End : Input::Line;
    }
    void remember(const std::string&) {}
};

#endif

// ---- Commands -------------------------------------------------------------------------------------

std::string argument_of(const std::string& line, size_t skip) {
    size_t begin = line.find_first_not_of(' ', skip);
    if (begin == std::string::npos) return "";
    return line.substr(begin, line.find_last_not_of(' ') - begin + 1);
}

void show_or_error(const std::function<std::string()>& text) {
    try {
        print(text());
    } catch (const Error& error) {
        print(error.report());
    }
}

void run(Engine& engine, const std::string& code) {
    size_t last = code.find_last_not_of(" \n");
    bool silent = last != std::string::npos && code[last] == ';';
    Result result = silent ? engine.run_string(code, "<stdin>") : engine.run_interactive(code);
    engine.flush();
    print(result.report);
}

struct Exit {
    int status;
};

// True: the line was a command.
bool command(Engine& engine, const std::string& line) {
    if (line.starts_with("??")) {
        show_or_error([&] { return engine.source(argument_of(line, 2)); });
    } else if (line.starts_with("?")) {
        show_or_error([&] { return engine.help(argument_of(line, 1)); });
    } else if (line.starts_with(":")) {
        std::string name = line.substr(1, line.find(' ') - 1);
        std::string argument = argument_of(line, 1 + name.size());
        if (name == "quit" || name == "q") throw Exit{0};
        if (name == "help" || name == "h") {
            print(kHelp);
        } else if (name == "who") {
            std::string text;
            for (const std::string& global : engine.globals()) text += global + "  ";
            print(text + "\n");
        } else if (name == "dis") {
            show_or_error([&] { return engine.disassemble(argument); });
        } else if (name == "load") {
            print(engine.run_file(argument).report);
            engine.flush();
        } else if (name == "time") {
            auto start = std::chrono::steady_clock::now();
            run(engine, argument);
            double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
            char text[64];
            snprintf(text, sizeof text, "%.3f ms\n", ms);
            print(text);
        } else {
            print("no command :" + name + "; :help lists them\n");
        }
    } else {
        return false;
    }
    return true;
}

// The indentation that the next line of a block probably has.
std::string next_indent(const std::string& code) {
    size_t line = code.rfind('\n', code.size() >= 2 ? code.size() - 2 : 0);
    std::string last = code.substr(line == std::string::npos ? 0 : line + 1);
    size_t spaces = last.find_first_not_of(' ');
    std::string indent(spaces == std::string::npos ? 0 : spaces, ' ');
    size_t end = last.find_last_not_of(" \n");
    if (end != std::string::npos && last[end] == ':') indent += "    ";
    return indent;
}

// Text copied from a session, prompts and all.
std::string without_prompt(const std::string& line) {
    for (const char* prompt : {">>> ", "... "}) {
        if (line.starts_with(prompt)) return line.substr(4);
    }
    return line;
}

}  // namespace

int run_prompt(Engine& engine) {
    print(std::string("Talc ") + version() + "   :help for help, Ctrl-D to leave\n");
    Editor editor(engine);
    std::string code;
    try {
        for (;;) {
            std::string line;
            Input input = editor.read(code.empty() ? ">>> " : "... ", code.empty() ? "" : next_indent(code), line);
            if (input == Input::End) break;
            if (input == Input::Cancelled) {
                code.clear();
                continue;
            }
            line = without_prompt(line);
            if (code.empty() && line.find_first_not_of(" \t") == std::string::npos) continue;
            if (code.empty() && command(engine, line)) {
                editor.remember(line);
                continue;
            }
            bool blank = line.find_first_not_of(" \t") == std::string::npos;
            code += blank && !code.empty() ? "\n" : (code.empty() ? "" : "\n") + line;
            if (engine.completeness(code) == Completeness::Incomplete) continue;
            editor.remember(code);
            run(engine, code);
            code.clear();
        }
    } catch (const Exit& exit) {
        return exit.status;
    }
    print("\n");
    return 0;
}

}  // namespace talc::repl
