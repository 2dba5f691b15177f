#include "lang/name_table.hpp"

#include <string>

namespace talc::lang {

namespace {

uint32_t hash_of(std::string_view text) {
    uint32_t hash = 2166136261u;
    for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash;
}

}  // namespace

NameId NameTable::intern(std::string_view text) {
    if (names_.size() * 2 >= slots_.size()) rehash();
    uint32_t hash = hash_of(text);
    size_t mask = slots_.size() - 1;
    size_t slot = hash & mask;
    for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
        const Entry& entry = names_[slots_[slot] - 1];
        if (entry.hash == hash && entry.text == text) return NameId{slots_[slot] - 1};
    }
    names_.push_back({arena_.copy(text), hash});
    slots_[slot] = static_cast<uint32_t>(names_.size());
    return NameId{static_cast<uint32_t>(names_.size() - 1)};
}

void NameTable::rehash() {
    slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, 0);
    size_t mask = slots_.size() - 1;
    for (uint32_t i = 0; i < names_.size(); i++) {
        size_t slot = names_[i].hash & mask;
        while (slots_[slot] != 0) slot = (slot + 1) & mask;
        slots_[slot] = i + 1;
    }
}

NameId NameTable::mangle(NameId name, NameId class_name) {
    if (class_name == kNoName) return name;
    std::string_view word = text(name);
    if (word.substr(0, 2) != "__" || word.substr(word.size() - 2) == "__") return name;
    if (word.find('.') != std::string_view::npos) return name;
    std::string_view owner = text(class_name);
    size_t first = owner.find_first_not_of('_');
    if (first == std::string_view::npos) return name;
    std::string mangled = "_";
    mangled += owner.substr(first);
    mangled += word;
    return intern(mangled);
}

}  // namespace talc::lang
