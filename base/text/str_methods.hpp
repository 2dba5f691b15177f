#pragma once
// The str methods that look at or make single characters: predicates, case, padding, tabs, translate.
#include <cstdint>
#include <string_view>

#include "base/text/buffer.hpp"
#include "base/text/unicode.hpp"
#include "base/text/utf8.hpp"

namespace talc::text {

// str.isalpha() and its sisters; false for "" except where Python says true (is_ascii, is_printable).
bool is_alpha(std::string_view s);
bool is_decimal(std::string_view s);
bool is_digit(std::string_view s);
bool is_numeric(std::string_view s);
bool is_alnum(std::string_view s);
bool is_space(std::string_view s);
bool is_lower(std::string_view s);
bool is_upper(std::string_view s);
bool is_title(std::string_view s);
bool is_printable(std::string_view s);
bool is_identifier(std::string_view s);

void append_upper(Buffer& out, std::string_view s);
void append_lower(Buffer& out, std::string_view s);
void append_title(Buffer& out, std::string_view s);
void append_capitalized(Buffer& out, std::string_view s);
void append_swapped_case(Buffer& out, std::string_view s);
void append_casefolded(Buffer& out, std::string_view s);

// center, ljust, rjust to `width` code points; `length` is len(s), `fill` one code point in UTF-8.
void append_centered(Buffer& out, std::string_view s, size_t length, int64_t width,
                     std::string_view fill = " ");
void append_left_justified(Buffer& out, std::string_view s, size_t length, int64_t width,
                           std::string_view fill = " ");
void append_right_justified(Buffer& out, std::string_view s, size_t length, int64_t width,
                            std::string_view fill = " ");
void append_zero_filled(Buffer& out, std::string_view s, size_t length, int64_t width);

void append_expanded_tabs(Buffer& out, std::string_view s, int64_t tab_size = 8);

// s.translate(table): put(out, c) appends what stands for the code point c (nothing to delete it) and gives
// true, or gives false when the table does not name c and it stays as it is.
template <class Put>
void append_translated(Buffer& out, std::string_view s, Put&& put) {
    const char* p = s.data();
    const char* end = p + s.size();
    out.reserve(s.size());
    while (p < end) {
        const char* first = p;
        char32_t c = decode(p, end);
        if (!put(out, c)) out.append(std::string_view(first, static_cast<size_t>(p - first)));
    }
}

}  // namespace talc::text
