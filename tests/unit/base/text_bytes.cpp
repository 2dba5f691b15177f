// The bytes methods. The text oracle compares many more cases with CPython.
#include "base/text/bytes_methods.hpp"
#include "base/text/utf8.hpp"
#include "tests/unit/catch.hpp"

using namespace talc::text;

TEST_CASE("text: bytes methods") {
    CHECK(make(append_bytes_upper, "a\xe9z") == "A\xe9Z");
    CHECK(make(append_bytes_title, "one two") == "One Two");
    CHECK(make(append_bytes_capitalized, "aBC") == "Abc");
    CHECK(make(append_bytes_swapped_case, "aB1") == "Ab1");
    CHECK(make(append_bytes_expanded_tabs, "\xc3\xa9\tb", 4) == "\xc3\xa9  b");
    CHECK(bytes_is_alpha("abc"));
    CHECK_FALSE(bytes_is_alpha("ab\xe9"));
    CHECK(bytes_is_title("One Two"));
    CHECK_FALSE(bytes_is_upper("12"));
}

TEST_CASE("text: bytes to hex and back") {
    CHECK(make(append_hex, "abc", "", 1) == "616263");
    CHECK(make(append_hex, "abc", "-", 2) == "61-6263");
    CHECK(make(append_hex, "abc", "-", -2) == "6162-63");
    Buffer out;
    CHECK(append_from_hex(out, "61 62\t63").ok());
    CHECK(out.view() == "abc");
    CHECK(append_from_hex(out, "6").failure().message ==
          "non-hexadecimal number found in fromhex() arg at position 1");
}

TEST_CASE("text: slices with a step, lone surrogates") {
    CHECK(make(append_stepped, "a\u00e9b\u65e5c", 4u, -2, 3u) == "cba");
    CHECK(make(append_stepped, "a\u00e9b\u65e5c", 1u, 2, 2u) == "\u00e9\u65e5");
    CHECK(find_surrogate("\u00e9\xed\xa0\x80") == 1);
    CHECK(find_surrogate("\ud7ff\u00e9") == std::string_view::npos);
    CHECK(surrogate_error_message("\u00e9\xed\xa0\x80", 1) ==
          "'utf-8' codec can't encode character '\\ud800' in position 1: surrogates not allowed");
}
