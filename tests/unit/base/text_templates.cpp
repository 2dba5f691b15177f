// "%" and str.format templates, and hashes.
#include <vector>

#include "base/text/format_template.hpp"
#include "base/text/hash.hpp"
#include "base/text/percent_format.hpp"
#include "tests/unit/catch.hpp"

using namespace talc::text;

namespace {

PercentSpec only_conversion(std::string_view text) {
    PercentReader reader(text);
    PercentSpec spec;
    REQUIRE(reader.conversion(spec));
    return spec;
}

std::string percent(std::string_view text, int64_t value) {
    Buffer out;
    REQUIRE(append_percent_int(out, only_conversion(text), value).ok());
    return out.str();
}

std::string percent(std::string_view text, double value) {
    return make(append_percent_float, only_conversion(text), value);
}

std::string percent(std::string_view text, std::string_view value) {
    return make(append_percent_text, only_conversion(text), value);
}

// What goes wrong while reading a template, "" if nothing does.
std::string template_error(std::string_view text) {
    TemplateReader reader(text);
    FieldNumbering numbering;
    TemplatePiece piece;
    for (bool done = false;;) {
        Status status = reader.next(piece, done);
        if (!status) return status.failure().message;
        if (done) return "";
        if (!piece.has_field) continue;
        auto start = numbering.begin(piece.field);
        if (!start) return start.failure().message;
        while (true) {
            auto step = start->path.next();
            if (!step) return step.failure().message;
            if (step->kind == FieldStep::End) break;
        }
    }
}

}  // namespace

TEST_CASE("text: percent templates") {
    PercentReader reader("a%%b%(key (x))-+5.2fz");
    CHECK(reader.literal() == "a");
    CHECK(reader.literal() == "%");
    CHECK(reader.literal() == "b");
    CHECK(reader.literal().empty());
    PercentSpec spec;
    REQUIRE(reader.conversion(spec));
    CHECK(spec.key == "key (x)");
    CHECK(spec.left);
    CHECK(spec.plus);
    CHECK(spec.width == 5);
    CHECK(spec.precision == 2);
    CHECK(spec.type == 'f');
    CHECK(reader.literal() == "z");
    CHECK_FALSE(reader.conversion(spec));
    CHECK(only_conversion("%*.*d").width_from_args);
    CHECK(only_conversion("%*.*d").precision_from_args);
    CHECK(only_conversion("%").error.failure().message == "incomplete format");
    CHECK(only_conversion("%(a").error.failure().message == "incomplete format key");
    CHECK(only_conversion("%99999999999999999999d").error.failure().message == "width too big");
    CHECK(unsupported(only_conversion("%y")).message == "unsupported format character 'y' (0x79) at index 1");
    CHECK(needs_number(only_conversion("%d"), "str").message ==
          "%d format: a real number is required, not str");
    CHECK(needs_number(only_conversion("%x"), "float").message ==
          "%x format: an integer is required, not float");
}

TEST_CASE("text: percent conversions") {
    CHECK(percent("%05d", int64_t{-42}) == "-0042");
    CHECK(percent("%+.3d", int64_t{7}) == "+007");
    CHECK(percent("%-6d", int64_t{7}) == "7     ");
    CHECK(percent("%#010x", int64_t{255}) == "0x000000ff");
    CHECK(percent("%#o", int64_t{8}) == "0o10");
    CHECK(percent("%X", int64_t{-255}) == "-FF");
    CHECK(percent("%8.3f", 3.14159) == "   3.142");
    CHECK(percent("%e", 12345.678) == "1.234568e+04");
    CHECK(percent("%.3g", 0.00001234) == "1.23e-05");
    CHECK(percent("%10.2s", "h\u00e9llo") == "        h\u00e9");
    PercentSpec star = only_conversion("%*s");
    star.set_width(-4);
    CHECK(make(append_percent_text, star, "a") == "a   ");
}

TEST_CASE("text: format templates") {
    TemplateReader reader("x{{{0.name[3][key]!r:>{width}}");
    TemplatePiece piece;
    bool done = false;
    REQUIRE(reader.next(piece, done).ok());
    CHECK(piece.literal == "x{");
    CHECK_FALSE(piece.has_field);
    REQUIRE(reader.next(piece, done).ok());
    CHECK(piece.field == "0.name[3][key]");
    CHECK(piece.conversion == 'r');
    CHECK(piece.spec == ">{width}");
    CHECK(piece.nested);
    FieldNumbering numbering;
    auto start = numbering.begin(piece.field);
    REQUIRE(start.ok());
    CHECK(start->is_index);
    CHECK(start->index == 0);
    auto step = start->path.next();
    CHECK(step->kind == FieldStep::Attribute);
    CHECK(step->name == "name");
    step = start->path.next();
    CHECK(step->kind == FieldStep::Index);
    CHECK(step->index == 3);
    step = start->path.next();
    CHECK(step->kind == FieldStep::Key);
    CHECK(step->name == "key");
    CHECK(start->path.next()->kind == FieldStep::End);
    REQUIRE(reader.next(piece, done).ok());
    CHECK(done);
}

TEST_CASE("text: errors of format templates") {
    CHECK(template_error("{} {}") == "");
    CHECK(template_error("{") == "Single '{' encountered in format string");
    CHECK(template_error("}") == "Single '}' encountered in format string");
    CHECK(template_error("{a") == "expected '}' before end of string");
    CHECK(template_error("{a:") == "unmatched '{' in format spec");
    CHECK(template_error("{!") == "end of string while looking for conversion specifier");
    CHECK(template_error("{!rs}") == "expected ':' after conversion specifier");
    CHECK(template_error("{a{b}}") == "unexpected '{' in field name");
    CHECK(template_error("{a.}") == "Empty attribute in format string");
    CHECK(template_error("{a[0]x}") == "Only '.' or '[' may follow ']' in format field specifier");
    CHECK(template_error("{}{0}") ==
          "cannot switch from automatic field numbering to manual field specification");
    CHECK(template_error("{0}{}") ==
          "cannot switch from manual field specification to automatic field numbering");
    CHECK(template_error("{99999999999999999999}") == "Too many decimal digits in format string");
    CHECK(unknown_conversion('x').message == "Unknown conversion specifier x");
    CHECK(index_out_of_range(2).message == "Replacement index 2 out of range for positional args tuple");
}

TEST_CASE("text: hashes") {
    CHECK(hash_int(5) == 5);
    CHECK(hash_int(-1) == -2);
    CHECK(hash_int((int64_t{1} << 61) - 1) == 0);
    CHECK(hash_int(INT64_MIN) == -4);
    CHECK(hash_float(5.0) == hash_int(5));
    CHECK(hash_float(-1.0) == -2);
    CHECK(hash_float(0.5) == int64_t{1} << 60);
    CHECK(hash_float(1e300) == 1224995262755759164);
    CHECK(hash_float(1.0 / 0.0) == 314159);
    CHECK(hash_text("abc") == hash_text("abc"));
    CHECK(hash_text("") == 0);
    TupleHasher tuple;
    CHECK(tuple.finish() == 5740354900026072187);
    for (int64_t i : {1, 2, 3}) tuple.add(hash_int(i));
    CHECK(tuple.finish() == 529344067295497451);
    FrozensetHasher set;
    CHECK(set.finish() == 133146708735736);
    for (int64_t i : {3, 1, 2}) set.add(hash_int(i));
    CHECK(set.finish() == -272375401224217160);
}
