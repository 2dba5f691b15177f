#pragma once
// printf-style formatting: "..." % args. PercentReader takes the template apart piece by piece, in the order
// in which CPython looks at the arguments, so that errors come in the same order too. For each conversion the
// VM does:
//
//   1. spec.has_key: args must be a mapping, else TypeError kNeedsMapping; then, if !spec.error.ok() and
//   spec.error_in_key,
//      raise spec.error; then look the key up. (A '*' after a key always fails with kTooFewArguments.)
//   2. spec.width_from_args: take an argument; not an int: TypeError kStarWantsInt; set_width(). The same for
//      precision_from_args and set_precision().
//   3. raise spec.error if it is not ok().
//   4. take the argument (none left: TypeError kTooFewArguments), and by spec.type:
//      s r a       append_percent_text(str(x) / repr(x) / ascii(x))
//      d i u       an int, or a float truncated by float_to_int; else TypeError needs_number()  ->
//      append_percent_int o x X       an int; else TypeError needs_number() -> append_percent_int e E f F g G
//      a number, as a double; else TypeError "must be real number, not str"         -> append_percent_float
//      c           an int or a str of length 1; else TypeError kNeedsChar                       ->
//      append_percent_char / _text other       ValueError unsupported()
//   5. at the end, arguments left over and no mapping: TypeError kTooManyArguments.
#include <cstdint>
#include <string_view>

#include "base/text/buffer.hpp"
#include "base/text/result.hpp"

namespace talc::text {

inline constexpr std::string_view kNeedsMapping = "format requires a mapping";
inline constexpr std::string_view kStarWantsInt = "* wants int";
inline constexpr std::string_view kTooFewArguments = "not enough arguments for format string";
inline constexpr std::string_view kTooManyArguments = "not all arguments converted during string formatting";
inline constexpr std::string_view kNeedsChar = "%c requires int or char";

struct PercentSpec {
    std::string_view key;  // of %(key)s
    int64_t width = -1;
    int64_t precision = -1;
    char32_t type = 0;
    size_t type_index = 0;  // index of the type character in the template, for the message
    bool has_key = false;
    bool error_in_key = false;
    bool width_from_args = false;
    bool precision_from_args = false;
    bool left = false;       // -
    bool plus = false;       // +
    bool blank = false;      // space
    bool alternate = false;  // #
    bool zero = false;       // 0
    Status error;

    void set_width(int64_t value);  // from an argument: a negative one means left-justified
    void set_precision(int64_t value) { precision = value < 0 ? 0 : value; }
};

class PercentReader {
  public:
    explicit PercentReader(std::string_view text)
        : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

    // The next stretch of literal text ("%%" is a stretch of its own: "%"); empty at a conversion and at the
    // end.
    std::string_view literal();
    // Whether a conversion follows; reads it into `spec`. False at the end of the template.
    bool conversion(PercentSpec& spec);

  private:
    bool take(char c);
    bool take_number(int64_t& value, int64_t most);
    void read_key(PercentSpec& spec);

    const char* begin_;
    const char* at_;
    const char* end_;
};

// ValueError: unsupported format character 'y' (0x79) at index 1
Failure unsupported(const PercentSpec& spec);
// TypeError: %d format: a real number is required, not str
Failure needs_number(const PercentSpec& spec, std::string_view type_name);

// spec.type is one of d i u o x X / e E f F g G.
Status append_percent_int(Buffer& out, const PercentSpec& spec, int64_t value);
void append_percent_float(Buffer& out, const PercentSpec& spec, double value);
void append_percent_text(Buffer& out, const PercentSpec& spec, std::string_view text);  // types s r a c
Status append_percent_char(Buffer& out, const PercentSpec& spec, int64_t code_point);

}  // namespace talc::text
