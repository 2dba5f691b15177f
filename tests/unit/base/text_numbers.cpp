// Numbers to text and back. The text oracle compares many more cases with CPython.
#include <cmath>
#include <limits>

#include "base/text/format_spec.hpp"
#include "base/text/number_parse.hpp"
#include "base/text/number_text.hpp"
#include "tests/unit/catch.hpp"

using namespace talc::text;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

std::string repr(double value) { return make(append_float_repr, value); }

template <class Format, class Value>
std::string formatted(Format format, Value value, std::string_view spec, std::string_view type_name) {
    Buffer out;
    Status status = format(out, value, spec, type_name);
    return status ? out.str() : status.failure().message;
}
std::string f(int64_t value, std::string_view spec) { return formatted(format_int, value, spec, "int"); }
std::string f(double value, std::string_view spec) { return formatted(format_float, value, spec, "float"); }
std::string f(std::string_view value, std::string_view spec) {
    return formatted(format_str, value, spec, "str");
}

}  // namespace

TEST_CASE("text: repr of floats") {
    CHECK(repr(1.0) == "1.0");
    CHECK(repr(-0.0) == "-0.0");
    CHECK(repr(0.1) == "0.1");
    CHECK(repr(1e16) == "1e+16");
    CHECK(repr(1e15) == "1000000000000000.0");
    CHECK(repr(9999999999999998.0) == "9999999999999998.0");
    CHECK(repr(1e-5) == "1e-05");
    CHECK(repr(0.0001) == "0.0001");
    CHECK(repr(1.5e300) == "1.5e+300");
    CHECK(repr(5e-324) == "5e-324");
    CHECK(repr(1e23) == "1e+23");
    CHECK(repr(123456.789) == "123456.789");
    CHECK(repr(kInf) == "inf");
    CHECK(repr(-kInf) == "-inf");
    CHECK(repr(kNan) == "nan");
}

TEST_CASE("text: ints in other bases") {
    CHECK(make(append_int, kMin) == "-9223372036854775808");
    CHECK(make(append_prefixed_int, int64_t{255}, 16u) == "0xff");
    CHECK(make(append_prefixed_int, int64_t{-5}, 2u) == "-0b101");
    CHECK(make(append_prefixed_int, int64_t{0}, 8u) == "0o0");
    CHECK(make(append_prefixed_int, kMin, 16u) == "-0x8000000000000000");
}

TEST_CASE("text: float.hex and fromhex") {
    CHECK(make(append_float_hex, 3.5) == "0x1.c000000000000p+1");
    CHECK(make(append_float_hex, -0.0) == "-0x0.0p+0");
    CHECK(make(append_float_hex, 5e-324) == "0x0.0000000000001p-1022");
    CHECK(*parse_float_hex("0x1.cp+1") == 3.5);
    CHECK(*parse_float_hex(" -1.8 ") == -1.5);
    CHECK(*parse_float_hex("0x1.fffffffffffff8p0") == 2.0);
    CHECK(*parse_float_hex("0x0.00000000000008p-1022") == 0.0);
    CHECK(parse_float_hex("0x").failure().message == "invalid hexadecimal floating-point string");
    CHECK(parse_float_hex("1p5000").failure().kind == ErrorKind::OverflowError);
}

TEST_CASE("text: round") {
    CHECK(*round_to_digits(2.675, 2) == 2.67);
    CHECK(*round_to_digits(0.5, 0) == 0.0);
    CHECK(*round_to_digits(1.5, 0) == 2.0);
    CHECK(*round_to_digits(25.0, -1) == 20.0);
    CHECK(*round_to_digits(5.0, -1) == 0.0);
    CHECK(*round_to_digits(5.1, -1) == 10.0);
    CHECK(*round_to_digits(1e300, -308) == 0.0);
    CHECK(std::signbit(*round_to_digits(-0.1, 0)));
    CHECK(round_to_digits(std::numeric_limits<double>::max(), -308).failure().message ==
          "rounded value too large to represent");
    CHECK(round_half_even(2.5) == 2.0);
    CHECK(round_half_even(-3.5) == -4.0);
}

TEST_CASE("text: integer ratios") {
    auto half = as_integer_ratio(-0.75);
    CHECK(half->numerator == -3);
    CHECK(half->denominator == 4);
    CHECK(as_integer_ratio(-0x1p63)->numerator == kMin);
    CHECK(as_integer_ratio(0x1p63).failure().kind == ErrorKind::OverflowError);
    CHECK(as_integer_ratio(1e-30).failure().kind == ErrorKind::OverflowError);
    CHECK(as_integer_ratio(kNan).failure().kind == ErrorKind::ValueError);
    CHECK(is_integer(1e300));
    CHECK_FALSE(is_integer(kInf));
    CHECK(float_to_int(1e19).failure().kind == ErrorKind::OverflowError);
}

TEST_CASE("text: parsing ints") {
    CHECK(parse_int("42").value == 42);
    CHECK(parse_int(" -1_000\n").value == -1000);
    CHECK(parse_int("0x_ff", 16).value == 255);
    CHECK(parse_int("0b101", 0).value == 5);
    CHECK(parse_int("-9223372036854775808").value == kMin);
    CHECK(parse_int("9223372036854775807").value == kMax);
    CHECK(parse_int("9223372036854775808").outcome == ParseOutcome::TooLarge);
    CHECK(parse_int("\u0664\u0662").value == 42);
    for (const char* bad : {"", " ", "-", "1__0", "_1", "1_", "+-1", "1 2", "0x10", "1.0"}) {
        CHECK(parse_int(bad).outcome == ParseOutcome::Invalid);
    }
    CHECK(parse_int("010", 0).outcome == ParseOutcome::Invalid);
    CHECK(invalid_int_message("a'b", 10) == "invalid literal for int() with base 10: \"a'b\"");
}

TEST_CASE("text: parsing floats") {
    CHECK(*parse_float("1_000.5") == 1000.5);
    CHECK(*parse_float(" -Infinity ") == -kInf);
    CHECK(std::isnan(*parse_float("nan")));
    CHECK(*parse_float("1e400") == kInf);
    CHECK(*parse_float("1e-400") == 0.0);
    CHECK(*parse_float("5e-324") == 5e-324);
    for (const char* bad : {"", ".", "1e", "1_.5", "nan(1)", "0x1p0", "1 2", "inf_"})
        CHECK_FALSE(parse_float(bad));
}

TEST_CASE("text: format specs of numbers") {
    CHECK(f(int64_t{42}, "06d") == "000042");
    CHECK(f(int64_t{-42}, "+8,d") == "     -42");
    CHECK(f(int64_t{1234567}, ",") == "1,234,567");
    CHECK(f(int64_t{1234}, "010,") == "00,001,234");
    CHECK(f(int64_t{1234}, "08,") == "0,001,234");
    CHECK(f(int64_t{255}, "#_b") == "0b1111_1111");
    CHECK(f(int64_t{65}, "5c") == "    A");
    CHECK(f(int64_t{3}, ".2f") == "3.00");
    CHECK(f(int64_t{3}, "\u00e9^5") == "\u00e9\u00e93\u00e9\u00e9");
    CHECK(f(3.14159, ".2f") == "3.14");
    CHECK(f(3.14159, "8.3e") == "3.142e+00");
    CHECK(f(1234567.0, "g") == "1.23457e+06");
    CHECK(f(0.25, ".1%") == "25.0%");
    CHECK(f(1e16, "") == "1e+16");
    CHECK(f(12.0, ".3") == "12.0");
    CHECK(f(-0.001, "z.1f") == "0.0");
    CHECK(f(kInf, "010") == "0000000inf");
    CHECK(f(1.0, "#.0f") == "1.");
}

TEST_CASE("text: format spec errors") {
    CHECK(f(1.5, "d") == "Unknown format code 'd' for object of type 'float'");
    CHECK(f(int64_t{1}, ".3d") == "Precision not allowed in integer format specifier");
    CHECK(f(int64_t{1}, ",_d") == "Cannot specify both ',' and '_'.");
    CHECK(f(int64_t{1}, "5x7") == "Invalid format specifier '5x7' for object of type 'int'");
    CHECK(f(int64_t{1}, ".") == "Format specifier missing precision");
    CHECK(f(int64_t{-1}, "c") == "%c arg not in range(0x110000)");
    CHECK(f("a", ",s") == "Cannot specify ',' with 's'.");
    CHECK(f("a", "=5") == "'=' alignment not allowed in string format specifier");
    CHECK(f("a", "\n") == "Unknown format code '\\xa' for object of type 'str'");
    CHECK(f("a", "99999999999999999999") == "Too many decimal digits in format string");
}

TEST_CASE("text: format specs of strings") {
    CHECK(f("ab", "5") == "ab   ");
    CHECK(f("ab", ">5") == "   ab");
    CHECK(f("ab", "05") == "ab000");
    CHECK(f("h\u00e9llo", ".2") == "h\u00e9");
    CHECK(f("h\u00e9", "*^6") == "**h\u00e9**");
}

TEST_CASE("text: a buffer's limit is MemoryError, not memory") {
    Buffer out(1000);
    CHECK_THROWS_AS(format_int(out, 1, "1000000000000"), std::bad_alloc);
    CHECK_THROWS_AS(format_int(out, 1, "01000000000000,"), std::bad_alloc);
    CHECK_THROWS_AS(out.append_repeated(SIZE_MAX / 2, "ab"), std::bad_alloc);
}
