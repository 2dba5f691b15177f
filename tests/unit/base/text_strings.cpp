// The str methods. The text oracle compares many more cases with CPython.
#include "base/text/repr.hpp"
#include "base/text/search.hpp"
#include "base/text/split.hpp"
#include "base/text/str_methods.hpp"
#include "base/text/suggest.hpp"
#include "tests/unit/catch.hpp"

using namespace talc::text;

namespace {

template <class... Args>
std::string replaced(std::string_view s, Args&&... args) {
    Buffer out;
    return append_replaced(out, s, std::forward<Args>(args)...) ? out.str() : std::string(s);
}

Pieces pieces(std::initializer_list<std::string_view> items) { return Pieces(items); }

// Lambdas, because the address of a function has no default arguments.
constexpr auto words = [](auto... args) {
    Pieces out;
    split_space(out, args...);
    return out;
};
constexpr auto last_words = [](auto... args) {
    Pieces out;
    rsplit_space(out, args...);
    return out;
};
constexpr auto fields = [](auto... args) {
    Pieces out;
    split_at(out, args...);
    return out;
};
constexpr auto last_fields = [](auto... args) {
    Pieces out;
    rsplit_at(out, args...);
    return out;
};
constexpr auto lines = [](auto... args) {
    Pieces out;
    split_lines(out, args...);
    return out;
};

}  // namespace

TEST_CASE("text: UTF-8") {
    std::string_view s = "a\u00e9\u65e5\U0001F600z and some more text";
    CHECK(code_point_count(s) == s.size() - 1 - 2 - 3);
    CHECK(byte_offset(s, 3) == 6);
    CHECK(byte_offset(s, 4) == 10);
    CHECK(byte_offset(s, 1000) == s.size());
    CHECK_FALSE(is_ascii(s));
    CHECK(is_ascii("plain text that is longer than thirty-two bytes, all of it"));
    CHECK(make(append_code_point, U'\u20ac') == "\u20ac");
    CHECK_FALSE(find_invalid_utf8(s));
    CHECK(find_invalid_utf8("ab\xff").begin == 2);
    CHECK(std::string_view(find_invalid_utf8("\xe2\x82").reason) == "unexpected end of data");
    CHECK(std::string_view(find_invalid_utf8("\xed\xa0\x80").reason) == "invalid continuation byte");
    CHECK(make(append_decoded_replace, "a\xf0\x90z") == "a\ufffdz");
    CHECK(utf8_error_message("\xff", find_invalid_utf8("\xff")) ==
          "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte");
    const char* p = s.data() + s.size();
    CHECK(decode_before(p, s.data()) == 't');
}

TEST_CASE("text: repr") {
    CHECK(make(append_str_repr, "it's") == "\"it's\"");
    CHECK(make(append_str_repr, "both ' and \"") == "'both \\' and \"'");
    CHECK(make(append_str_repr, "\t\x01\\\u00e9\u200b\U000e0001") ==
          "'\\t\\x01\\\\\u00e9\\u200b\\U000e0001'");
    CHECK(make(append_str_repr, "\xed\xa0\x80") == "'\\ud800'");
    CHECK(make(append_ascii, "\u00e9\u65e5\U0001F600") == "'\\xe9\\u65e5\\U0001f600'");
    CHECK(make(append_bytes_repr, std::string_view("a\0\xff'", 4)) == "b\"a\\x00\\xff'\"");
}

TEST_CASE("text: case") {
    CHECK(make(append_upper, "stra\u00dfe") == "STRASSE");
    CHECK(make(append_lower, "\u039f\u0394\u039f\u03a3") == "\u03bf\u03b4\u03bf\u03c2");
    CHECK(make(append_title, "they're bill's") == "They'Re Bill'S");
    CHECK(make(append_capitalized, "hELLO") == "Hello");
    CHECK(make(append_swapped_case, "aB\u00e9") == "Ab\u00c9");
    CHECK(make(append_casefolded, "Stra\u00dfe") == "strasse");
    CHECK(is_title("Hello World"));
    CHECK_FALSE(is_title("Hello world"));
    CHECK(is_identifier("_x1\u00e9"));
    CHECK_FALSE(is_identifier("1x"));
    CHECK(is_printable(""));
    CHECK_FALSE(is_alpha(""));
    CHECK(is_numeric("\u00bd"));
    CHECK_FALSE(is_digit("\u00bd"));
    CHECK(decimal_value(U'\u0669') == 9);
}

TEST_CASE("text: search") {
    CHECK(find("hello", "l") == 2);
    CHECK(find("hello", "lo") == 3);
    CHECK(find("aaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "aab") == 27);
    CHECK(find("", "") == 0);
    CHECK(find("ab", "abc") == kNotFound);
    CHECK(rfind("hello", "l") == 3);
    CHECK(rfind("abab", "ab") == 2);
    CHECK(rfind("x", "") == 1);
    CHECK(find_index("h\u00e9llo", 5, "l") == 2);
    CHECK(find_index("hello", 5, "l", -2) == 3);
    CHECK(find_index("abc", 3, "", 4) == -1);
    CHECK(rfind_index("h\u00e9l\u00e9o", 5, "\u00e9") == 3);
    CHECK(count("aaaa", "aa") == 2);
    CHECK(count("\u00e9\u00e9", "") == 3);
    CHECK(count("\u00e9\u00e9", "", Unit::Byte) == 5);
    CHECK(partition("a=b=c", "=").tail == "b=c");
    CHECK(rpartition("a=b=c", "=").head == "a=b");
    CHECK(rpartition("abc", "=").tail == "abc");
    CHECK(remove_prefix("abc", "ab") == "c");
    CHECK(remove_suffix("abc", "bc") == "a");
}

TEST_CASE("text: replace") {
    CHECK(replaced("banana", "a", "o") == "bonono");
    CHECK(replaced("banana", "an", "") == "ba");
    CHECK(replaced("banana", "a", "--", 2) == "b--n--na");
    CHECK(replaced("ab", "", "-") == "-a-b-");
    CHECK(replaced("ab", "", "-", 2) == "-a-b");
    CHECK(replaced("\u00e9", "", "-") == "-\u00e9-");
    CHECK(replaced("", "", "x") == "x");
    Buffer out;
    CHECK_FALSE(append_replaced(out, "abc", "x", "y"));
    CHECK_FALSE(append_replaced(out, "abc", "a", "y", 0));
}

TEST_CASE("text: split and strip") {
    CHECK(words("  a b\u3000c  ") == pieces({"a", "b", "c"}));
    CHECK(words(" a  b c ", 1) == pieces({"a", "b c "}));
    CHECK(last_words(" a  b c ", 1) == pieces({" a  b", "c"}));
    CHECK(words("   ").empty());
    CHECK(fields("a,b,,c", ",") == pieces({"a", "b", "", "c"}));
    CHECK(fields("", ",") == pieces({""}));
    CHECK(fields("a--b--c", "--", 1) == pieces({"a", "b--c"}));
    CHECK(last_fields("aaa", "aa") == pieces({"a", ""}));
    CHECK(lines("a\r\nb\n\nc\u2028", false) == pieces({"a", "b", "", "c"}));
    CHECK(lines("a\r\nb", true) == pieces({"a\r\n", "b"}));
    CHECK(words("a\xc2\xa0"
                "b",
                -1, Space::Bytes)
              .size() == 1);
    CHECK(strip("\u00a0 x \n") == "x");
    CHECK(strip_of("xyaxy", "yx") == "a");
    CHECK(strip_of("\u00e9\u00e8a\u00e9", "\u00e9") == "\u00e8a");
    CHECK(strip_left("  a ") == "a ");
    CHECK(strip_right("  a ") == "  a");
    Pieces items = {"a", "", "c"};
    CHECK(make(append_joined, ", ", items) == "a, , c");
    CHECK(make(append_joined, ", ", Pieces()).empty());
}

TEST_CASE("text: padding and tabs") {
    CHECK(make(append_centered, "ab", 2u, 5, "*") == "**ab*");
    CHECK(make(append_centered, "abc", 3u, 6, "*") == "*abc**");
    CHECK(make(append_left_justified, "a", 1u, 3, "\u00e9") == "a\u00e9\u00e9");
    CHECK(make(append_right_justified, "a", 1u, 3, " ") == "  a");
    CHECK(make(append_zero_filled, "-7", 2u, 5) == "-0007");
    CHECK(make(append_expanded_tabs, "a\tb\n\tc", 4) == "a   b\n    c");
    auto swap = [](Buffer& out, char32_t c) {
        if (c == 'a') out.append("[A]");
        return c == 'a' || c == 'b';
    };
    Buffer out;
    append_translated(out, "abc", swap);
    CHECK(out.view() == "[A]c");
}

TEST_CASE("text: did you mean") {
    std::string_view names[] = {"length", "append", "extend", "Index"};
    CHECK(did_you_mean("apend", names) == "append");
    CHECK(did_you_mean("index", names) == "Index");
    CHECK(did_you_mean("lenght", names) == "length");
    CHECK(did_you_mean("zzz", names).empty());
}
