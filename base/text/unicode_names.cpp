#include "base/text/unicode_names.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/text/unicode.hpp"

namespace talc::text {

std::optional<char32_t> character_named(std::string_view name) {
    std::string capitals;
    uint64_t hash = 0xcbf29ce484222325u;
    for (char c : name) {
        capitals += c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
        hash = (hash ^ static_cast<unsigned char>(capitals.back())) * 0x100000001b3u;
    }
    constexpr std::string_view kIdeograph = "CJK UNIFIED IDEOGRAPH-";
    if (capitals.starts_with(kIdeograph)) {
        uint32_t code = 0;
        const char* end = capitals.data() + capitals.size();
        auto [stop, error] = std::from_chars(capitals.data() + kIdeograph.size(), end, code, 16);
        bool ideograph = code >= 0x3400 && code < 0x40000 && is_alpha(code);
        if (error != std::errc() || stop != end || !ideograph) return std::nullopt;
        return code;
    }
    const uint64_t* last = kNameHashes + kNamedCount;
    const uint64_t* found = std::lower_bound(kNameHashes, last, hash);
    if (found == last || *found != hash) return std::nullopt;
    return kNamedCodes[found - kNameHashes];
}

}  // namespace talc::text
