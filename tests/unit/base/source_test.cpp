#include "base/source.hpp"

#include "tests/unit/catch.hpp"

using talc::Source;
using talc::Span;

TEST_CASE("a source finds line and column of a byte offset", "[base]") {
    Source source("a.tc", "x = 1\nname = 'é' + y\n\nlast");
    CHECK(source.line_count() == 4);
    CHECK(source.line(1) == "x = 1");
    CHECK(source.line(3).empty());
    CHECK(source.line(4) == "last");
    CHECK(source.line(9).empty());

    CHECK(source.locate(0).line == 1);
    CHECK(source.locate(0).column == 1);
    uint32_t y = static_cast<uint32_t>(source.text().find('y'));
    CHECK(source.locate(y).line == 2);
    CHECK(source.locate(y).column == 14);  // in code points: the accented letter counts once
    CHECK(source.line_of(source.line_begin(4)) == 4);
}

TEST_CASE("joining spans covers both", "[base]") {
    Span joined = Span::join({4, 6}, {1, 2});
    CHECK(joined.begin == 1);
    CHECK(joined.end == 6);
}

TEST_CASE("a caret excerpt underlines the span", "[base]") {
    Source source("a.tc", "total = alpha + beta\n");
    std::string shown = talc::caret_excerpt(source, {8, 13}, "  ");
    CHECK(shown.find("total = alpha + beta") != std::string::npos);
    CHECK(shown.find("\n          ^") != std::string::npos);
}
