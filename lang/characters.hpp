#pragma once
// Character classes of the language's source text.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace talc::lang {

enum CharacterClass : uint8_t {
    kIdentifierStart = 1,
    kDigit = 2,
    kHexDigit = 4,
};

constexpr std::array<uint8_t, 256> make_character_classes() {
    std::array<uint8_t, 256> table{};
    for (int c = 'a'; c <= 'z'; c++) table[c] |= kIdentifierStart;
    for (int c = 'A'; c <= 'Z'; c++) table[c] |= kIdentifierStart;
    table['_'] |= kIdentifierStart;
    for (int c = '0'; c <= '9'; c++) table[c] |= kDigit | kHexDigit;
    for (int c = 'a'; c <= 'f'; c++) table[c] |= kHexDigit;
    for (int c = 'A'; c <= 'F'; c++) table[c] |= kHexDigit;
    return table;
}

inline constexpr std::array<uint8_t, 256> kCharacterClasses = make_character_classes();

inline bool has_class(char c, int classes) {
    return (kCharacterClasses[static_cast<unsigned char>(c)] & classes) != 0;
}
inline bool is_digit(char c) { return has_class(c, kDigit); }
inline bool is_hex_digit(char c) { return has_class(c, kHexDigit); }
inline bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

struct DecodedCharacter {
    uint32_t code_point = 0;
    uint32_t length = 0;  // bytes; 0: not UTF-8
};

// The UTF-8 character at text[offset].
DecodedCharacter decode_utf8(std::string_view text, size_t offset);
void append_utf8(std::string& out, uint32_t code_point);

bool may_start_identifier(uint32_t code_point);
bool may_continue_identifier(uint32_t code_point);
bool is_printable(uint32_t code_point);

// Identifiers are compared in normal form NFKC, as Python does.
std::string normalize_identifier(std::string_view text);

}  // namespace talc::lang
