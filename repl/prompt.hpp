#pragma once
// The interactive prompt.
#include "talc/talc.hpp"

namespace talc::repl {

// Reads, runs and shows until the input ends; gives the program's status.
int run_prompt(Engine& engine);

}  // namespace talc::repl
