#pragma once
// Deliberate miscompiles, for tests of the tests: a build with TALC_PLANT_BUGS has them, and the environment variable
// TALC_PLANTED switches one on. Every other build has none.
#include <cstdlib>
#include <string_view>

namespace talc::jit {

#ifdef TALC_PLANT_BUGS
inline bool planted(std::string_view name) {
    static const char* const chosen = std::getenv("TALC_PLANTED");
    return chosen && name == chosen;
}
#else
constexpr bool planted(std::string_view) { return false; }
#endif

}  // namespace talc::jit
