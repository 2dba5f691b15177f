#pragma once
// Where something stands in a source text. Byte offsets into the file's UTF-8 text; line and column are
// computed from them when an error is shown, so that tokens and instructions stay small.
#include <cstdint>

namespace talc {

struct Span {
    uint32_t begin = 0;  // offset of the first byte
    uint32_t end = 0;    // offset one past the last byte

    // The smallest span that covers both.
    static Span join(Span a, Span b) {
        return {a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
    }
};

}  // namespace talc
