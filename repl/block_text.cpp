#include "repl/block_text.hpp"

#include <algorithm>

namespace talc::repl {

namespace {

constexpr char32_t kMark = 0x200B;        // zero width: begins a drawn line end
constexpr char32_t kReturn = 0x23CE;      // a line end in the history
constexpr std::u32string_view kPrompt = U"... ";

bool is_wide(char32_t c) {
    return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
           (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1F64F) || (c >= 0x1F900 && c <= 0x1F9FF) ||
           (c >= 0x20000 && c <= 0x3FFFD);
}
size_t width_of(char32_t c) { return (c >= 0x300 && c <= 0x36F) || c == kMark ? 0 : is_wide(c) ? 2 : 1; }

// How many code points of a drawn line end begin here; 0: none.
size_t line_end_length(std::u32string_view text) {
    if (text.empty() || text[0] != kMark) return 0;
    size_t at = 1;
    while (at < text.size() && text[at] == ' ') at++;
    if (text.substr(at).starts_with(kPrompt)) return at + kPrompt.size();
    return 1;  // damaged by an edit: the line end is gone with it
}
bool is_whole(std::u32string_view text, size_t length) { return length > 1 && text.substr(0, length).ends_with(kPrompt); }

}  // namespace

std::u32string to_code_points(std::string_view utf8) {
    std::u32string out;
    for (size_t i = 0; i < utf8.size();) {
        auto lead = static_cast<unsigned char>(utf8[i]);
        size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        char32_t c = length == 1 ? lead : lead & (0x7Fu >> length);
        for (size_t k = 1; k < length && i + k < utf8.size(); k++) c = (c << 6) | (static_cast<unsigned char>(utf8[i + k]) & 0x3F);
        out += c;
        i += length;
    }
    return out;
}

std::string to_utf8(std::u32string_view text) {
    std::string out;
    for (char32_t c : text) {
        if (c < 0x80) {
            out += static_cast<char>(c);
        } else if (c < 0x800) {
            out += static_cast<char>(0xC0 | (c >> 6));
            out += static_cast<char>(0x80 | (c & 0x3F));
        } else if (c < 0x10000) {
            out += static_cast<char>(0xE0 | (c >> 12));
            out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
            out += static_cast<char>(0x80 | (c & 0x3F));
        } else {
            out += static_cast<char>(0xF0 | (c >> 18));
            out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
            out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
            out += static_cast<char>(0x80 | (c & 0x3F));
        }
    }
    return out;
}

std::string to_single_line(const std::string& block) {
    std::u32string text = to_code_points(block);
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    std::replace(text.begin(), text.end(), U'\n', kReturn);
    return to_utf8(text);
}

Block read_drawn(std::u32string_view drawn, size_t cursor) {
    Block block;
    size_t at = 0;
    auto add = [&](char32_t c) {
        block.text += c;
        block.drawn_at.push_back(at);
    };
    while (at < drawn.size()) {
        if (at <= cursor) block.cursor = block.text.size();
        size_t length = line_end_length(drawn.substr(at));
        if (length > 0) {
            if (is_whole(drawn.substr(at), length)) add('\n');
            if (cursor >= at + length) block.cursor = block.text.size();
            at += length;
            continue;
        }
        char32_t c = drawn[at];
        if (c == kReturn || c == '\n') {
            add('\n');
        } else if (c == '\t') {
            for (int i = 0; i < 4; i++) add(' ');
        } else if (c != '\r') {
            add(c);
        }
        at++;
    }
    if (cursor >= drawn.size()) block.cursor = block.text.size();
    block.drawn_at.push_back(drawn.size());
    return block;
}

Drawn draw(std::u32string_view text, size_t cursor, size_t columns) {
    Drawn drawn;
    size_t column = kPrompt.size();
    for (size_t i = 0; i < text.size(); i++) {
        if (i == cursor) drawn.cursor = drawn.text.size();
        if (text[i] != '\n') {
            drawn.text += text[i];
            column += width_of(text[i]);
            continue;
        }
        drawn.text += kMark;
        if (column % columns != 0) drawn.text.append(columns - column % columns, ' ');
        drawn.text += kPrompt;
        column = kPrompt.size();
    }
    if (cursor >= text.size()) drawn.cursor = drawn.text.size();
    return drawn;
}

size_t outside_line_end(std::u32string_view drawn, size_t cursor, bool forward) {
    for (size_t at = 0; at < drawn.size() && at < cursor;) {
        size_t length = line_end_length(drawn.substr(at));
        if (length == 0) {
            at++;
            continue;
        }
        if (cursor < at + length) return forward ? at + length : at;
        at += length;
    }
    return cursor;
}

std::u32string without_prompts(std::u32string_view text) {
    constexpr std::u32string_view kFirst = U">>> ";
    if (!text.starts_with(kFirst) && !text.starts_with(U">>>\n") && text != U">>>") return std::u32string(text);
    std::u32string out;
    bool first = true;
    while (!text.empty()) {
        size_t end = std::min(text.find('\n'), text.size());
        std::u32string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        bool begins = line.starts_with(kFirst);
        bool goes_on = line.starts_with(kPrompt);
        bool empty = line == U"..." || line == U">>>";
        if (!begins && !goes_on && !empty) continue;  // what the session answered
        if (!first) out += '\n';
        first = false;
        if (!empty) out += line.substr(kPrompt.size());
    }
    return out;
}

size_t next_indent(std::u32string_view text) {
    size_t start = text.rfind('\n');
    std::u32string_view line = start == std::u32string_view::npos ? text : text.substr(start + 1);
    size_t indent = std::min(line.find_first_not_of(' '), line.size());
    size_t comment = line.find(U" #");
    if (comment != std::u32string_view::npos) line = line.substr(0, comment);
    size_t last = line.find_last_not_of(' ');
    if (last == std::u32string_view::npos) return indent;
    if (line[last] == ':') return indent + 4;
    // After these a block has ended.
    std::u32string_view words = line.substr(indent);
    for (std::u32string_view word : {U"return", U"pass", U"break", U"continue", U"raise"}) {
        bool whole = words.starts_with(word) && (words.size() == word.size() || words[word.size()] == ' ');
        if (whole) return indent >= 4 ? indent - 4 : 0;
    }
    return indent;
}

}  // namespace talc::repl
