#pragma once
// The format-spec mini-language: format(value, spec), f"{value:spec}", "{:spec}".format(value).
//
//     [[fill]align][sign][z][#][0][width][grouping][.precision][type]
//
// A spec that is constant in the source can be parsed once and kept: parse_format_spec, then
// append_formatted. The one-call forms do both. type_name is the class name of the value as CPython's
// messages show it ("int", "bool", "MyInt").
#include <cstdint>
#include <string_view>

#include "base/text/buffer.hpp"
#include "base/text/result.hpp"

namespace talc::text {

enum class FormatKind : unsigned char { Int, Float, Str };

struct FormatSpec {
    int64_t width = -1;      // -1: none
    int64_t precision = -1;  // -1: none
    char32_t type =
        0;  // the presentation type; filled in ('d' or 's') when absent, 0 for a float without one
    char fill[4] = {' '};  // one code point in UTF-8
    unsigned char fill_size = 1;
    char align = 0;     // '<' '>' '=' '^', the kind's default when absent
    char sign = 0;      // '+' '-' ' ', 0 when absent
    char grouping = 0;  // ',' '_', 0 when absent
    bool alternate = false;
    bool no_negative_zero = false;

    std::string_view fill_text() const { return {fill, fill_size}; }
};

Result<FormatSpec> parse_format_spec(std::string_view spec, FormatKind kind, std::string_view type_name);

Status append_formatted(Buffer& out, int64_t value, const FormatSpec& spec, std::string_view type_name);
Status append_formatted(Buffer& out, double value, const FormatSpec& spec, std::string_view type_name);
Status append_formatted(Buffer& out, std::string_view value, const FormatSpec& spec,
                        std::string_view type_name);

// int.__format__, float.__format__, str.__format__. (bool: an empty spec gives "True"; any other is int's
// with type_name "bool".) An empty spec gives str(value).
Status format_int(Buffer& out, int64_t value, std::string_view spec, std::string_view type_name = "int");
Status format_float(Buffer& out, double value, std::string_view spec, std::string_view type_name = "float");
Status format_str(Buffer& out, std::string_view value, std::string_view spec,
                  std::string_view type_name = "str");
Status format_bool(Buffer& out, bool value, std::string_view spec, std::string_view type_name = "bool");

// A number's parts, padded and grouped: sign and prefix, whole digits, and the rest ("", ".5", "e+10",
// "inf"). Shared with the '%' formatter.
struct NumberParts {
    char sign = 0;
    std::string_view prefix;
    std::string_view digits;
    std::string_view rest;
    size_t rest_width = 0;  // code points in rest
};
void append_number(Buffer& out, const NumberParts& parts, const FormatSpec& spec);

}  // namespace talc::text
