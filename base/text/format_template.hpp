#pragma once
// str.format templates: "{0.name[key]!r:>{width}}". TemplateReader gives piece after piece; for each field
// the VM does:
//
//   1. numbering.begin(piece.field): the argument by index or name (errors: IndexError index_out_of_range(),
//   KeyError
//      with the name; for format_map an index is the ValueError kPositionalInFormatMap).
//   2. path.next() until it gives a step of kind End: getattr or getitem for each step.
//   3. piece.conversion: 'r' 's' 'a', 0 for none; anything else the ValueError unknown_conversion().
//   4. the spec: when piece.nested, expand it as a template of its own, with the same numbering and one level
//   less depth (depth
//      starts at kTemplateDepth; a template at depth 0 is the ValueError kTemplateTooDeep).
//   5. format(value, spec).
#include <cstdint>
#include <string_view>

#include "base/text/result.hpp"

namespace talc::text {

inline constexpr int kTemplateDepth = 2;
inline constexpr std::string_view kTemplateTooDeep = "Max string recursion exceeded";
inline constexpr std::string_view kPositionalInFormatMap = "Format string contains positional fields";

struct TemplatePiece {
    std::string_view literal;  // comes before the field
    bool has_field = false;
    bool nested = false;  // the spec holds fields itself
    char32_t conversion = 0;
    std::string_view field;
    std::string_view spec;
};

class TemplateReader {
  public:
    explicit TemplateReader(std::string_view text) : rest_(text) {}
    // The next piece into `piece`; *done at the end.
    Status next(TemplatePiece& piece, bool& done);

  private:
    Status read_field(TemplatePiece& piece);

    std::string_view rest_;
};

struct FieldStep {
    enum Kind : unsigned char { End, Attribute, Index, Key } kind = End;
    std::string_view name;  // Attribute, Key
    int64_t index = 0;      // Index: a number in brackets is an int
};

// The ".name" and "[key]" steps behind a field's first name.
class FieldPath {
  public:
    FieldPath() = default;
    explicit FieldPath(std::string_view text) : rest_(text) {}
    Result<FieldStep> next();

  private:
    std::string_view rest_;
};

struct FieldStart {
    bool is_index = false;
    int64_t index = 0;
    std::string_view name;
    FieldPath path;
};

// Counts "{}" fields and refuses to mix them with "{0}"; one for a whole format() call, nested specs
// included.
class FieldNumbering {
  public:
    Result<FieldStart> begin(std::string_view field);

  private:
    enum class Mode : unsigned char { Unknown, Automatic, Manual } mode_ = Mode::Unknown;
    int64_t next_ = 0;
};

Failure index_out_of_range(int64_t index);
Failure unknown_conversion(char32_t conversion);

}  // namespace talc::text
