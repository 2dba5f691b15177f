#pragma once
// The interactive prompt.
#include "repl/commands.hpp"

namespace talc::repl {

// Reads and runs until the user leaves; the status to exit with.
int run_prompt(Session& session);

}  // namespace talc::repl
