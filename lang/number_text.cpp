#include "lang/number_text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace talc::lang {

std::string float_text(double value) {
    std::string text = fmt::format("{}", value);
    if (std::isfinite(value) && text.find_first_of(".en") == std::string::npos) text += ".0";
    return text;
}

std::string quoted_text(std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
        switch (c) {
            case '\n':
                out += "\\n";
                break;
            case '\t':
                out += "\\t";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '"':
                out += "\\\"";
                break;
            default:
                if (c >= ' ' && c < 0x7F) {
                    out += c;
                } else {
                    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
                }
        }
    }
    return out + "\"";
}

}  // namespace talc::lang
