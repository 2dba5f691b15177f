#pragma once
// The prompt's own commands: ":time f(3)", "?name", "??name".
#include <functional>
#include <memory>
#include <string>

#include "talc/talc.hpp"

namespace talc::repl {

// What commands act upon.
struct Session {
    std::unique_ptr<Engine> engine;
    std::function<std::unique_ptr<Engine>()> make_engine;   // a fresh one, for :reset
    std::string loaded_file;                                // of :load or talc -i, for :reload
    bool left = false;                                      // :quit or SystemExit
    int status = 0;                                         // to exit with
};

bool is_command(const std::string& text);
// exit, exit(), quit or quit(), as other prompts know them.
bool asks_to_leave(Session& session, const std::string& text);
void run_command(Session& session, const std::string& line);

// Runs code, showing what it gives and how it fails.
void run_code(Session& session, const std::string& code);
void run_loaded_file(Session& session);

// As Engine::complete, for the prompt's commands too.
Completion complete_input(Engine& engine, const std::string& text);

void print(std::string_view text);

}  // namespace talc::repl
