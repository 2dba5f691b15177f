#pragma once
// Numbers to text: str(int), hex(), repr(float), and the digit conversions under float.__format__ and '%'.
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text/buffer.hpp"
#include "base/text/result.hpp"

namespace talc::text {

inline constexpr size_t kIntChars = 20;    // longest int64 in base 10, with sign
inline constexpr size_t kFloatChars = 32;  // room for any repr(float)

// The message of the OverflowError for an int that Talc cannot hold (CPython would go on with a long one).
inline constexpr std::string_view kIntTooLarge = "integer does not fit in 64 bits";

// str(value); gives the number of characters written (no terminating zero).
size_t write_int(char* out, int64_t value);
void append_int(Buffer& out, int64_t value);

// The digits of |value| in base 2, 8, 10 or 16, without sign or prefix.
void append_magnitude(Buffer& out, uint64_t magnitude, unsigned base, bool upper = false);
inline uint64_t magnitude_of(int64_t value) {
    return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

// bin(), oct(), hex(): sign, prefix, digits. base is 2, 8 or 16.
void append_prefixed_int(Buffer& out, int64_t value, unsigned base);

// repr(value): the shortest digits that read back as the same double, laid out as CPython does.
size_t write_float_repr(char* out, double value);
void append_float_repr(Buffer& out, double value);

// How the digits of a float are laid out.
struct FloatLayout {
    char type = 'r';         // e E f F g G, or 'r': repr's shortest digits (the precision is then ignored)
    int precision = 6;       // digits behind the point (e, f) or in all (g)
    bool alternate = false;  // '#': keep the point, and for g the zeros behind it
    bool add_dot_0 = false;  // a result that looks like an int gets ".0"
    bool no_negative_zero = false;  // 'z': a result that rounds to zero has no sign
};
void append_float(Buffer& out, double value, const FloatLayout& layout);

// float.hex()
void append_float_hex(Buffer& out, double value);

// round(value, digits): correctly rounded, ties to even in decimal. OverflowError when the result is too
// large.
Result<double> round_to_digits(double value, int64_t digits);

// round(value) as a float with an integer value, ties to even.
double round_half_even(double value);

// float.is_integer()
bool is_integer(double value);

// float.as_integer_ratio() in lowest terms. Errors: OverflowError / ValueError with CPython's message for inf
// and nan, and OverflowError when the numerator or denominator does not fit in 64 bits.
struct Ratio {
    int64_t numerator = 0;
    int64_t denominator = 1;
};
Result<Ratio> as_integer_ratio(double value);

// int(value): truncates. Errors with CPython's messages for nan and inf; OverflowError beyond 64 bits.
Result<int64_t> float_to_int(double value);

}  // namespace talc::text
