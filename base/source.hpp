#pragma once
// A source text with a name, and the way from byte offsets to lines and columns.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/span.hpp"

namespace talc {

struct LineColumn {
    uint32_t line = 1;    // from 1
    uint32_t column = 1;  // from 1, in code points
};

class Source {
  public:
    Source(std::string name, std::string text);

    const std::string& name() const { return name_; }
    std::string_view text() const { return text_; }
    LineColumn locate(uint32_t offset) const;
    uint32_t line_of(uint32_t offset) const;
    // The line without its newline; empty when there is no such line.
    std::string_view line(uint32_t number) const;
    uint32_t line_begin(uint32_t number) const { return starts_[number - 1]; }
    uint32_t line_count() const { return static_cast<uint32_t>(starts_.size()); }

  private:
    std::string name_;
    std::string text_;
    std::vector<uint32_t> starts_;  // offset of each line's first byte
};

// The source line(s) of `span` with carets under it, as shown below an error message:
//     x = a + b
//         ^~~~~
std::string caret_excerpt(const Source& source, Span span, std::string_view indent = "    ");

}  // namespace talc
