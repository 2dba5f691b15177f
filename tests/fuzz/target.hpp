#pragma once
// What a mutated program is fed to.
#include <cstddef>
#include <string_view>

namespace talc::fuzz {

enum class Outcome { Refused, Finished, Raised, Stopped };  // by the parser, ..., by a limit
constexpr size_t kOutcomes = 4;

// Compiles and runs the program in an engine of its own, under tight limits and with nothing of the machine in reach.
Outcome run_program(std::string_view text);

}  // namespace talc::fuzz
