#pragma once
// A block of several lines in an editor that knows only one: line ends are drawn as an invisible mark, spaces up to the
// edge of the terminal and the prompt of the next row, so that the editor's own wrapping puts every line on a row of
// its own. All positions are code points.
#include <string>
#include <string_view>
#include <vector>

namespace talc::repl {

std::u32string to_code_points(std::string_view utf8);
std::string to_utf8(std::u32string_view text);

// As the history keeps a block: on one line.
std::string to_single_line(const std::string& block);

// The text of what the editor holds. Besides drawn line ends it knows those of the history and of pasted text.
struct Block {
    std::u32string text;
    size_t cursor = 0;
    std::vector<size_t> drawn_at;   // where each code point stands in the drawn form; the end last
};
Block read_drawn(std::u32string_view drawn, size_t cursor);

struct Drawn {
    std::u32string text;
    size_t cursor = 0;
};
Drawn draw(std::u32string_view text, size_t cursor, size_t columns);

// The cursor is moved out of a drawn line end: towards the end if `forward`.
size_t outside_line_end(std::u32string_view drawn, size_t cursor, bool forward);

// Text copied from a session, here or of CPython: prompts and results go, if the first line has a prompt.
std::u32string without_prompts(std::u32string_view text);

// The indentation that a line after this text probably has.
size_t next_indent(std::u32string_view text);

}  // namespace talc::repl
