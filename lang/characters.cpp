#include "lang/characters.hpp"

#include <utf8proc.h>

#include <cstdlib>

namespace talc::lang {

DecodedCharacter decode_utf8(std::string_view text, size_t offset) {
    auto byte = [&](size_t i) -> uint32_t {
        return offset + i < text.size() ? static_cast<unsigned char>(text[offset + i]) : 0;
    };
    auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
    uint32_t lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    if (lead >= 0xC2 && lead <= 0xDF && continues(1)) return {(lead & 0x1F) << 6 | (byte(1) & 0x3F), 2};
    if ((lead & 0xF0) == 0xE0 && continues(1) && continues(2)) {
        uint32_t code_point = (lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
        bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
        if (code_point >= 0x800 && !surrogate) return {code_point, 3};
    }
    if (lead >= 0xF0 && lead <= 0xF4 && continues(1) && continues(2) && continues(3)) {
        uint32_t code_point =
            (lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
        if (code_point >= 0x10000 && code_point <= 0x10FFFF) return {code_point, 4};
    }
    return {0, 0};
}

void append_utf8(std::string& out, uint32_t c) {
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        out += static_cast<char>(0xC0 | c >> 6);
        out += static_cast<char>(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        out += static_cast<char>(0xE0 | c >> 12);
        out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
        out += static_cast<char>(0x80 | (c & 0x3F));
    } else {
        out += static_cast<char>(0xF0 | c >> 18);
        out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
        out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
        out += static_cast<char>(0x80 | (c & 0x3F));
    }
}

bool may_start_identifier(uint32_t c) {
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO:
        case UTF8PROC_CATEGORY_NL:
            return c != 0x2E2F;  // VERTICAL TILDE is a letter that Unicode excludes
        default:
            return c == '_' || c == 0x2118 || c == 0x212E || c == 0x309B || c == 0x309C;  // Other_ID_Start
    }
}

bool may_continue_identifier(uint32_t c) {
    if (may_start_identifier(c)) return true;
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_PC:
            return true;
        default:
            return c == 0xB7 || c == 0x387 || (c >= 0x1369 && c <= 0x1371) ||
                   c == 0x19DA;  // Other_ID_Continue
    }
}

bool is_printable(uint32_t c) {
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_CN:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
        case UTF8PROC_CATEGORY_ZS:
            return c == ' ';
        default:
            return true;
    }
}

std::string normalize_identifier(std::string_view text) {
    utf8proc_uint8_t* normal = nullptr;
    auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
    utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                         static_cast<utf8proc_ssize_t>(text.size()), &normal, options);
    if (size < 0) return std::string(text);
    std::string result(reinterpret_cast<char*>(normal), static_cast<size_t>(size));
    std::free(normal);
    return result;
}

}  // namespace talc::lang
