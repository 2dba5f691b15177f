#include "repl/editor.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "repl/block_text.hpp"
#include "repl/commands.hpp"

#ifdef TALC_HAVE_REPLXX
#include <replxx.hxx>
#endif

namespace talc::repl {

#ifdef TALC_HAVE_REPLXX

namespace {

using replxx::Replxx;
using Key = Replxx::KEY;
using Result = Replxx::ACTION_RESULT;

constexpr size_t kTab = 4;

size_t terminal_columns() {
    winsize size = {};
    return ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col > 8 ? size.ws_col : 80;
}

bool is_blank(std::u32string_view text) { return text.find_first_not_of(U" \n") == std::u32string_view::npos; }

size_t line_begin(std::u32string_view text, size_t at) {
    size_t newline = at == 0 ? std::u32string_view::npos : text.rfind('\n', at - 1);
    return newline == std::u32string_view::npos ? 0 : newline + 1;
}
// The line's text begins, or for one who is there already, the line.
size_t home(const Block& block) {
    size_t begin = line_begin(block.text, block.cursor);
    size_t text = std::min(block.text.find_first_not_of(U' ', begin), block.text.size());
    return block.cursor == text ? begin : text;
}
size_t line_end(std::u32string_view text, size_t at) { return std::min(text.find('\n', at), text.size()); }

Replxx::Color colour_on_screen(Colour colour) {
    using C = Replxx::Color;
    switch (colour) {
        case Colour::Keyword: return C::BRIGHTMAGENTA;
        case Colour::String: return C::GREEN;
        case Colour::Number: return C::CYAN;
        case Colour::Comment: return C::GRAY;
        case Colour::Builtin: return C::BRIGHTBLUE;
        case Colour::Error: return C::RED;
        default: return C::DEFAULT;
    }
}

}  // namespace

struct Editor::Implementation {
    Replxx editor;
    Engine* engine = nullptr;
    std::string history_file;
    std::u32string last_drawn;   // what the editor held after the last key
    size_t last_cursor = 0;
    std::u32string recalled;     // a block that came from the history and has not been changed

    Implementation() {
        editor.install_window_change_handler();
        editor.set_word_break_characters(" \t\n.,;:()[]{}+-*/%&|^~<>=!@'\"");
        editor.enable_bracketed_paste();
        editor.set_max_history_size(10000);
        editor.set_max_hint_rows(1);
        editor.set_no_color(std::getenv("NO_COLOR") != nullptr);
        editor.set_highlighter_callback([this](const std::string& text, Replxx::colors_t& colours) { paint(text, colours); });
        editor.set_completion_callback([this](const std::string& text, int& length) { return complete(text, length); });
        editor.set_hint_callback([this](const std::string& text, int& length, Replxx::Color&) { return hints(text, length); });
        editor.set_modify_callback([this](std::string& text, int& cursor) { redraw(text, cursor); });
        bind_keys();
        const char* chosen = std::getenv("TALC_HISTORY");
        const char* home = std::getenv("HOME");
        if (chosen) history_file = chosen;
        else if (home) history_file = std::string(home) + "/.talc_history";
        if (!history_file.empty()) editor.history_load(history_file);
    }
    ~Implementation() {
        if (!history_file.empty()) editor.history_save(history_file);
    }

    // ---- Between the editor's line and our block ----
    Block block() const {
        Replxx::State state = editor.get_state();
        std::u32string drawn = to_code_points(state.text());
        size_t cursor = state.cursor_position() < 0 ? drawn.size() : static_cast<size_t>(state.cursor_position());
        return read_drawn(drawn, cursor);
    }
    void show(std::u32string_view text, size_t cursor) {
        Drawn drawn = draw(text, cursor, terminal_columns());
        last_drawn = drawn.text;
        last_cursor = drawn.cursor;
        std::string utf8 = to_utf8(drawn.text);
        editor.set_state(Replxx::State(utf8.c_str(), static_cast<int>(drawn.cursor)));
    }
    // After every key: line ends that it brought or broke are drawn anew, the cursor stays out of them.
    void redraw(std::string& text, int& cursor) {
        std::u32string drawn = to_code_points(text);
        auto at = static_cast<size_t>(cursor);
        if (drawn == last_drawn) {
            at = outside_line_end(drawn, at, at > last_cursor);
        } else {
            Block now = read_drawn(drawn, at);
            std::u32string plain = without_prompts(now.text);
            if (plain != now.text) now = {plain, plain.size(), {}};
            Drawn again = draw(now.text, now.cursor, terminal_columns());
            drawn = std::move(again.text);
            at = again.cursor;
            text = to_utf8(drawn);
        }
        cursor = static_cast<int>(at);
        last_drawn = std::move(drawn);
        last_cursor = at;
    }

    // ---- Keys ----
    void bind_keys() {
        editor.bind_key(Key::ENTER + 0, [this](char32_t code) { return enter(code); });
        editor.bind_key(Key::BACKSPACE + 0, [this](char32_t code) { return backspace(code); });
        for (char32_t key : {char32_t{Key::DELETE}, char32_t{127}}) {
            editor.bind_key(key, [this](char32_t code) { return forward_delete(code); });
        }
        editor.bind_key(Key::TAB + 0, [this](char32_t code) { return tab(code); });
        editor.bind_key(Key::UP + 0, [this](char32_t code) { return vertical(code, true); });
        editor.bind_key(Key::DOWN + 0, [this](char32_t code) { return vertical(code, false); });
        editor.bind_key(Key::RIGHT + 0, [this](char32_t code) { return right(code); });
        for (char32_t key : {char32_t{Key::HOME}, Key::control('A')}) {
            editor.bind_key(key, [this](char32_t) { return move(home); });
        }
        for (char32_t key : {char32_t{Key::END}, Key::control('E')}) {
            editor.bind_key(key, [this](char32_t) { return move([](const Block& b) { return line_end(b.text, b.cursor); }); });
        }
    }

    template <class F>
    Result move(F&& target) {
        Block now = block();
        show(now.text, target(now));
        return Result::CONTINUE;
    }

    Result enter(char32_t code) {
        Block now = block();
        bool ready = is_blank(now.text) || (!recalled.empty() && now.text == recalled && now.cursor == now.text.size()) ||
                     is_command(to_utf8(now.text));
        if (!ready) {
            std::string text = to_utf8(now.text);
            bool last_line = line_end(now.text, now.cursor) == now.text.size();
            bool ended = last_line && is_blank(std::u32string_view(now.text).substr(line_begin(now.text, now.cursor)));
            Completeness completeness = engine->completeness(ended ? text + "\n" : text);
            ready = completeness != Completeness::Incomplete && (last_line || now.text.find('\n') == std::u32string::npos);
        }
        if (ready) return editor.invoke(Replxx::ACTION::COMMIT_LINE, code);
        size_t indent = next_indent(std::u32string_view(now.text).substr(0, now.cursor));
        now.text.insert(now.cursor, U"\n" + std::u32string(indent, ' '));
        show(now.text, now.cursor + 1 + indent);
        return Result::CONTINUE;
    }

    // Of indentation a whole step; of a line's beginning the line end.
    Result backspace(char32_t code) {
        Block now = block();
        size_t begin = line_begin(now.text, now.cursor);
        size_t column = now.cursor - begin;
        bool in_indent = column > 0 && is_blank(std::u32string_view(now.text).substr(begin, column));
        size_t count = in_indent ? (column - 1) % kTab + 1 : 1;
        if (now.cursor == 0 || (!in_indent && column > 0)) {
            return editor.invoke(Replxx::ACTION::DELETE_CHARACTER_LEFT_OF_CURSOR, code);
        }
        now.text.erase(now.cursor - count, count);
        show(now.text, now.cursor - count);
        return Result::CONTINUE;
    }
    Result forward_delete(char32_t code) {
        Block now = block();
        if (now.cursor >= now.text.size() || now.text[now.cursor] != '\n') {
            return editor.invoke(Replxx::ACTION::DELETE_CHARACTER_UNDER_CURSOR, code);
        }
        now.text.erase(now.cursor, 1);
        show(now.text, now.cursor);
        return Result::CONTINUE;
    }
    // In front of a line's text it indents.
    Result tab(char32_t code) {
        Block now = block();
        size_t begin = line_begin(now.text, now.cursor);
        if (!is_blank(std::u32string_view(now.text).substr(begin, now.cursor - begin))) {
            return editor.invoke(Replxx::ACTION::COMPLETE_LINE, code);
        }
        size_t count = kTab - (now.cursor - begin) % kTab;
        now.text.insert(now.cursor, std::u32string(count, ' '));
        show(now.text, now.cursor + count);
        return Result::CONTINUE;
    }
    // Within the block from line to line, beyond it through the history.
    Result vertical(char32_t code, bool up) {
        Block now = block();
        size_t begin = line_begin(now.text, now.cursor), end = line_end(now.text, now.cursor);
        size_t column = now.cursor - begin;
        if (up && begin > 0 && now.text != recalled) {
            size_t above = line_begin(now.text, begin - 1);
            show(now.text, std::min(above + column, begin - 1));
            return Result::CONTINUE;
        }
        if (!up && end < now.text.size()) {
            show(now.text, std::min(end + 1 + column, line_end(now.text, end + 1)));
            return Result::CONTINUE;
        }
        Result result = editor.invoke(up ? Replxx::ACTION::HISTORY_PREVIOUS : Replxx::ACTION::HISTORY_NEXT, code);
        recalled = block().text;
        return result;
    }
    // At the end it takes the hint.
    Result right(char32_t code) {
        Block now = block();
        if (now.cursor == now.text.size() && !now.text.empty()) return editor.invoke(Replxx::ACTION::COMPLETE_LINE, code);
        return editor.invoke(Replxx::ACTION::MOVE_CURSOR_RIGHT, code);
    }

    // ---- What the editor asks for ----
    Replxx::completions_t complete(const std::string& text, int& length) {
        std::string plain = to_utf8(read_drawn(to_code_points(text), SIZE_MAX).text);
        Completion found = complete_input(*engine, plain);
        length = static_cast<int>(to_code_points(std::string_view(plain).substr(found.start)).size());
        Replxx::completions_t words;
        for (const std::string& word : found.words) words.emplace_back(word);
        return words;
    }
    Replxx::hints_t hints(const std::string& text, int& length) {
        std::u32string drawn = to_code_points(text);
        std::u32string plain = read_drawn(drawn, SIZE_MAX).text;
        length = 0;
        if (is_blank(plain) || plain.front() == ':' || plain.front() == '?') return {};
        std::u32string hint = to_code_points(engine->hint(to_utf8(plain)));
        size_t columns = terminal_columns();
        size_t used = (drawn.size() + 4) % columns;  // the editor does not wrap a hint
        if (hint.empty() || hint.find('\n') != std::u32string::npos || used + 4 >= columns) return {};
        if (hint.size() > columns - used - 1) hint = hint.substr(0, columns - used - 4) + U"...";
        return {to_utf8(hint)};
    }
    void paint(const std::string& text, Replxx::colors_t& colours) {
        Block now = read_drawn(to_code_points(text), 0);
        std::string plain = to_utf8(now.text);
        if (is_command(plain)) return;
        // Spans are in bytes.
        std::vector<size_t> point(plain.size() + 1);
        size_t count = 0;
        for (size_t i = 0; i < plain.size(); i++) {
            bool continues = (static_cast<unsigned char>(plain[i]) & 0xC0) == 0x80;
            point[i] = continues ? count - 1 : count++;
        }
        point[plain.size()] = count;
        for (const ColouredSpan& span : engine->highlight(plain)) {
            Replxx::Color colour = colour_on_screen(span.colour);
            if (colour == Replxx::Color::DEFAULT) continue;
            for (size_t i = point[span.begin]; i < point[std::min(span.end, plain.size())]; i++) {
                if (now.drawn_at[i] < colours.size()) colours[now.drawn_at[i]] = colour;
            }
        }
    }
};

Editor::Editor() : implementation_(std::make_unique<Implementation>()) {}

Input Editor::read(Engine& engine, const std::string& prompt, std::string& text) {
    Implementation& own = *implementation_;
    own.engine = &engine;
    own.last_drawn.clear();
    own.last_cursor = 0;
    own.recalled.clear();
    errno = 0;
    const char* line = own.editor.input(prompt);
    if (!line) return errno == EAGAIN ? Input::Cancelled : Input::End;
    text = to_utf8(read_drawn(to_code_points(line), 0).text);
    return Input::Text;
}

void Editor::remember(const std::string& block) { implementation_->editor.history_add(to_single_line(block)); }

#else

struct Editor::Implementation {};

Editor::Editor() = default;

Input Editor::read(Engine&, const std::string& prompt, std::string& text) {
    fputs(prompt.c_str(), stdout);
    fflush(stdout);
    text.clear();
    int c;
    while ((c = getchar()) != EOF && c != '\n') text += static_cast<char>(c);
    return c == EOF && text.empty() ? Input::End : Input::Text;
}

void Editor::remember(const std::string&) {}

#endif

Editor::~Editor() = default;

}  // namespace talc::repl
