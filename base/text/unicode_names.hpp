#pragma once
// Characters by their names in Unicode: \N{GREEK SMALL LETTER ALPHA}. The table is written when the project is built
// (tools/unicode_names.py).
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace talc::text {

extern const size_t kNamedCount;
extern const uint64_t kNameHashes[];   // of the names in capitals, sorted
extern const uint32_t kNamedCodes[];   // in the same order

// Small letters count as capitals.
std::optional<char32_t> character_named(std::string_view name);

}  // namespace talc::text
