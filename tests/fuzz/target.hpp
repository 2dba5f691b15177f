#pragma once
// What a mutated program is fed to.
#include <cstddef>
#include <string_view>

namespace talc::fuzz {

enum class Outcome { Refused, Finished, Raised, Stopped };  // by the parser, ..., by a limit
constexpr size_t kOutcomes = 4;

// How much a program may do: mutations are many and run away, the scripts themselves are few and end.
enum class Effort { Little, Much };

// Compiles and runs the program in an engine of its own, under limits and with nothing of the machine in reach.
Outcome run_program(std::string_view text, Effort effort);

}  // namespace talc::fuzz
