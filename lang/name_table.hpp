#pragma once
// Identifiers of one compilation as small numbers, so that passes compare and look up integers.
#include <cstdint>
#include <string_view>
#include <vector>

#include "lang/arena.hpp"

namespace talc::lang {

enum class NameId : uint32_t {};
inline constexpr NameId kNoName{UINT32_MAX};

class NameTable {
  public:
    explicit NameTable(Arena& arena) : arena_(arena) {}

    NameId intern(std::string_view text);
    std::string_view text(NameId name) const { return names_[static_cast<uint32_t>(name)].text; }
    uint32_t size() const { return static_cast<uint32_t>(names_.size()); }

    // `__x` inside class `C` is `_C__x`.
    NameId mangle(NameId name, NameId class_name);

  private:
    struct Entry {
        std::string_view text;
        uint32_t hash;
    };
    void rehash();

    Arena& arena_;
    std::vector<Entry> names_;
    std::vector<uint32_t> slots_;  // index + 1 into names_, or 0; a power of two of them
};

}  // namespace talc::lang
