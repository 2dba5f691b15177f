#include "stdlib/modules/re_check.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/text/repr.hpp"
#include "base/text/str_methods.hpp"
#include "base/text/utf8.hpp"

namespace talc::stdlib {

namespace {

constexpr int kMaxDepth = 200;                    // of groups; PCRE2 takes no more than about that many
constexpr int64_t kUnbounded = int64_t{1} << 40;  // of widths

struct Width {
    int64_t least = 0, most = 0;
    void add(Width other) {
        least = std::min(least + other.least, kUnbounded);
        most = std::min(most + other.most, kUnbounded);
    }
    Width times(int64_t low, int64_t high) const {
        auto product = [](int64_t a, int64_t b) { return a != 0 && b > kUnbounded / a ? kUnbounded : std::min(a * b, kUnbounded); };
        return {product(least, low), product(most, high)};
    }
    void join(Width other) {
        least = std::min(least, other.least);
        most = std::max(most, other.most);
    }
};

struct TooDeep {};

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_octal(char32_t c) { return c >= '0' && c <= '7'; }
bool is_hex(char32_t c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_letter(char32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_one_of(char32_t c, std::string_view set) { return c < 128 && c != 0 && set.find(static_cast<char>(c)) != set.npos; }

class Checker {
  public:
    Checker(std::u32string_view text, bool bytes, bool verbose) : text_(text), bytes_(bytes), verbose_(verbose) {}

    void check() {
        alternatives(0);
        if (!ended()) fail("unbalanced parenthesis", at_);
        for (auto [group, where] : later_) {
            if (group >= groups_.size()) fail(fmt::format("invalid group reference {}", group), where);
        }
    }

  private:
    enum class Item : uint8_t { None, Plain, Position, Repeat };

    [[noreturn]] static void fail(std::string message, std::optional<size_t> where) {
        throw PatternError{std::move(message), where ? std::optional(static_cast<int64_t>(*where)) : std::nullopt};
    }

    bool ended() const { return at_ >= text_.size(); }
    bool next_is(char32_t c) const { return !ended() && text_[at_] == c; }
    bool take(char32_t c) {
        if (!next_is(c)) return false;
        at_++;
        return true;
    }
    std::string shown(size_t from, size_t to) const {
        text::Buffer out;
        for (size_t i = from; i < to && i < text_.size(); i++) text::append_code_point(out, text_[i]);
        return out.str();
    }
    std::string quoted(size_t from, size_t to) const {
        text::Buffer out;
        text::append_str_repr(out, shown(from, to));
        return out.str();
    }

    Width alternatives(int depth) {
        Width width = sequence(depth);
        while (take('|')) width.join(sequence(depth));
        return width;
    }

    Width sequence(int depth) {
        if (depth > kMaxDepth) throw TooDeep();
        Width width;
        Width last_width;       // of the last item, which a repetition takes back
        Item last = Item::None;
        auto append = [&](Item item, Width w) {
            width.add(last_width);
            last_width = w;
            last = item;
        };
        bool empty = true;      // nothing but flags and comments so far
        while (!ended() && !next_is('|') && !next_is(')')) {
            size_t begin = at_;
            char32_t c = text_[at_++];
            if (verbose_ && is_one_of(c, " \t\n\r\v\f")) continue;
            if (verbose_ && c == '#') {
                while (!ended() && text_[at_++] != '\n') continue;
                continue;
            }
            switch (c) {
                case '\\': {
                    auto [item, w] = escape(begin);
                    append(item, w);
                    break;
                }
                case '[':
                    set(begin);
                    append(Item::Plain, {1, 1});
                    break;
                case '*':
                case '+':
                case '?':
                case '{': {
                    int64_t low = c == '+' ? 1 : 0, high = c == '?' ? 1 : kUnbounded;
                    if (c == '{' && !counts(low, high)) {
                        at_ = begin + 1;
                        append(Item::Plain, {1, 1});
                        break;
                    }
                    if (last == Item::None || last == Item::Position) fail("nothing to repeat", begin);
                    if (last == Item::Repeat) fail("multiple repeat", begin);
                    if (!take('?')) take('+');
                    last_width = last_width.times(low, high);
                    last = Item::Repeat;
                    break;
                }
                case '(':
                    if (std::optional<Width> w = group(begin, depth, empty)) append(last_kind_, *w);
                    else continue;
                    break;
                case '^':
                case '$': append(Item::Position, {}); break;
                default: append(Item::Plain, {1, 1}); break;
            }
            empty = false;
        }
        width.add(last_width);
        return width;
    }

    // What stands behind a {: false where it is no repetition but itself.
    bool counts(int64_t& low, int64_t& high) {
        if (next_is('}')) return false;
        size_t begin = at_;
        auto number = [&]() -> std::optional<int64_t> {
            if (ended() || !is_digit(text_[at_])) return std::nullopt;
            int64_t value = 0;
            for (; !ended() && is_digit(text_[at_]); at_++) value = std::min<int64_t>(value * 10 + (text_[at_] - '0'), kUnbounded);
            return value;
        };
        std::optional<int64_t> first = number();
        std::optional<int64_t> second = first;
        if (take(',')) second = number();
        if (!take('}')) return false;
        low = first.value_or(0);
        high = second.value_or(kUnbounded);
        if (high < low) fail("min repeat greater than max repeat", begin);
        return true;
    }

    // \x41, \u0041, octal digits: the escape's end, or an error. `at_` is behind the letter.
    void digits(size_t begin, size_t count) {
        size_t from = at_;
        while (!ended() && at_ < from + count && is_hex(text_[at_])) at_++;
        if (at_ != from + count) fail("incomplete escape " + shown(begin, at_), begin);
    }
    void octal_value(size_t begin) {
        int value = 0;
        for (size_t i = begin + 1; i < at_; i++) value = value * 8 + static_cast<int>(text_[i] - '0');
        if (value > 0377) fail(fmt::format("octal escape value {} outside of range 0-0o377", shown(begin, at_)), begin);
    }
    // An escape that means the same in a set and outside: true when it was one.
    bool common_escape(size_t begin, char32_t c) {
        if (c == 'x') return digits(begin, 2), true;
        if (c == 'u' && !bytes_) return digits(begin, 4), true;
        if (c == 'U' && !bytes_) return digits(begin, 8), true;
        return is_one_of(c, "afnrtv\\");
    }

    std::pair<Item, Width> escape(size_t begin) {
        if (ended()) fail("bad escape (end of pattern)", begin);
        char32_t c = text_[at_++];
        constexpr Width one = {1, 1};
        if (is_one_of(c, "AbBZ")) return {Item::Position, {}};
        if (is_one_of(c, "dDsSwW") || common_escape(begin, c)) return {Item::Plain, one};
        if (c == '0') {
            while (!ended() && at_ < begin + 4 && is_octal(text_[at_])) at_++;
            return {Item::Plain, one};
        }
        if (is_digit(c)) {
            if (!ended() && is_digit(text_[at_])) {
                at_++;
                if (is_octal(c) && is_octal(text_[at_ - 1]) && !ended() && is_octal(text_[at_])) {
                    at_++;
                    octal_value(begin);
                    return {Item::Plain, one};
                }
            }
            size_t number = 0;
            for (size_t i = begin + 1; i < at_; i++) number = number * 10 + (text_[i] - '0');
            if (number >= groups_.size()) fail(fmt::format("invalid group reference {}", number), begin + 1);
            return {Item::Plain, reference(number, begin)};
        }
        if (is_letter(c)) fail("bad escape " + shown(begin, at_), begin);
        return {Item::Plain, one};
    }

    Width reference(size_t number, size_t where) {
        if (!groups_[number]) fail("cannot refer to an open group", where);
        return *groups_[number];
    }

    // One character of a set, or a class of them: false.
    bool set_member(size_t begin, char32_t& value) {
        value = text_[at_++];
        if (value != '\\') return true;
        if (ended()) fail("bad escape (end of pattern)", begin);
        char32_t c = text_[at_++];
        if (is_one_of(c, "dDsSwW")) return false;
        if (c == 'b') return value = '\b', true;
        if (common_escape(begin, c)) {
            value = code_of(begin, c);
            return true;
        }
        if (is_octal(c)) {
            while (!ended() && at_ < begin + 4 && is_octal(text_[at_])) at_++;
            octal_value(begin);
            value = 0;
            for (size_t i = begin + 1; i < at_; i++) value = value * 8 + (text_[i] - '0');
            return true;
        }
        if (is_digit(c) || is_letter(c)) fail("bad escape " + shown(begin, at_), begin);
        value = c;
        return true;
    }
    char32_t code_of(size_t begin, char32_t c) const {
        if (c == 'x' || c == 'u' || c == 'U') return static_cast<char32_t>(std::stoul(shown(begin + 2, at_), nullptr, 16));
        constexpr std::string_view names = "afnrtv\\", values = "\a\f\n\r\t\v\\";
        return static_cast<char32_t>(values[names.find(static_cast<char>(c))]);
    }

    void set(size_t begin) {
        take('^');
        for (bool first = true;; first = false) {
            if (ended()) fail("unterminated character set", begin);
            if (!first && take(']')) return;
            size_t from = at_;
            char32_t low = 0, high = 0;
            bool plain = set_member(from, low);
            if (!next_is('-')) continue;
            at_++;
            if (ended()) fail("unterminated character set", begin);
            if (take(']')) return;
            size_t to = at_;
            bool plain_end = set_member(to, high);
            if (!plain || !plain_end || high < low) {
                fail(fmt::format("bad character range {}-{}", shown(from, to - 1), shown(to, at_)), from);
            }
        }
    }

    // A name up to `close`: where it begins and ends.
    std::pair<size_t, size_t> name(char32_t close) {
        size_t begin = at_;
        while (!ended() && text_[at_] != close) at_++;
        if (ended()) {
            if (begin == at_) fail("missing group name", at_);
            fail(fmt::format("missing {}, unterminated name", static_cast<char>(close)), begin);
        }
        if (begin == at_) fail("missing group name", at_);
        return {begin, at_++};
    }
    void check_name(size_t begin, size_t end) const {
        if (!text::is_identifier(shown(begin, end))) fail("bad character in group name " + quoted(begin, end), begin);
    }
    size_t group_named(size_t begin, size_t end) const {
        auto found = names_.find(shown(begin, end));
        if (found == names_.end()) fail("unknown group name " + quoted(begin, end), begin);
        return found->second;
    }

    void close(size_t begin) {
        if (!take(')')) fail("missing ), unterminated subpattern", begin);
    }

    // What a ( opens, as an item of the kind last_kind_; nothing for comments and flags. `first`: nothing stands before it.
    std::optional<Width> group(size_t begin, int depth, bool first) {
        last_kind_ = Item::Plain;
        bool captures = true;
        std::optional<std::pair<size_t, size_t>> named;
        bool was_verbose = verbose_;
        if (take('?')) {
            if (ended()) fail("unexpected end of pattern", at_);
            size_t extension = at_ - 1;
            char32_t c = text_[at_++];
            captures = false;
            if (c == 'P') {
                if (take('<')) {
                    named = name('>');
                    check_name(named->first, named->second);
                    captures = true;
                } else if (take('=')) {
                    auto [from, to] = name(')');
                    check_name(from, to);
                    return reference(group_named(from, to), from);
                } else {
                    if (ended()) fail("unexpected end of pattern", at_);
                    fail("unknown extension " + shown(extension, at_ + 1), extension);
                }
            } else if (c == '#') {
                while (!ended() && text_[at_] != ')') at_++;
                if (ended()) fail("missing ), unterminated comment", begin);
                at_++;
                return std::nullopt;
            } else if (c == '=' || c == '!' || c == '<') {
                bool behind = c == '<';
                if (behind) {
                    if (ended()) fail("unexpected end of pattern", at_);
                    c = text_[at_++];
                    if (c != '=' && c != '!') fail("unknown extension " + shown(extension, at_), extension);
                }
                Width width = alternatives(depth + 1);
                close(begin);
                if (behind && width.least != width.most) fail("look-behind requires fixed-width pattern", std::nullopt);
                return Width();
            } else if (c == '(') {
                return condition(begin, depth);
            } else if (c != ':' && c != '>') {
                if (!is_one_of(c, "aiLmsux-")) fail("unknown extension " + shown(extension, at_), extension);
                at_--;
                if (flags(begin, first)) return std::nullopt;
            }
        }
        size_t number = groups_.size();
        if (captures) {
            if (named) {
                auto [entry, fresh] = names_.try_emplace(shown(named->first, named->second), number);
                if (!fresh) {
                    fail(fmt::format("redefinition of group name {} as group {}; was group {}", quoted(named->first, named->second),
                                     number, entry->second),
                         named->first);
                }
            }
            groups_.push_back(std::nullopt);
        }
        Width width = alternatives(depth + 1);
        close(begin);
        verbose_ = was_verbose;
        if (captures) groups_[number] = width;
        return width;
    }

    // (?(name)yes|no)
    Width condition(size_t begin, int depth) {
        auto [from, to] = name(')');
        if (text::is_identifier(shown(from, to))) {
            group_named(from, to);
        } else {
            size_t number = 0;
            for (size_t i = from; i < to; i++) {
                if (!is_digit(text_[i])) fail("bad character in group name " + quoted(from, to), from);
                number = std::min<size_t>(number * 10 + (text_[i] - '0'), kUnbounded);
            }
            if (number == 0) fail("bad group number", from);
            if (number >= groups_.size()) later_.emplace_back(number, from);
        }
        Width width = sequence(depth + 1);
        if (take('|')) {
            width.join(sequence(depth + 1));
            if (next_is('|')) fail("conditional backref with more than two branches", at_);
        } else {
            width.least = 0;
        }
        close(begin);
        return width;
    }

    // (?i) and (?i:...): true for the first form, which is a whole group.
    bool flags(size_t begin, bool first) {
        bool off = false;
        for (;; at_++) {
            if (ended()) fail("missing -, : or )", at_);
            char32_t c = text_[at_];
            if (c == ')' || c == ':') break;
            if (c == '-') {
                if (off) fail("missing :", at_);
                off = true;
            } else if (!is_one_of(c, "aiLmsux")) {
                fail(is_letter(c) ? "unknown flag" : off ? "missing :" : "missing -, : or )", at_);
            } else if (c == (bytes_ ? U'u' : U'L')) {
                fail(fmt::format("bad inline flags: cannot use '{0}' flag with a {1} pattern", bytes_ ? 'u' : 'L', bytes_ ? "bytes" : "str"),
                     at_ + 1);
            } else if (c == 'x') {
                verbose_ = !off;
            }
        }
        if (off && text_[at_ - 1] == '-') fail("missing flag", at_);
        if (text_[at_++] == ':') return false;
        if (off) fail("missing :", at_ - 1);
        if (!first) fail("global flags not at the start of the expression", begin);
        return true;
    }

    std::u32string_view text_;
    size_t at_ = 0;
    bool bytes_, verbose_;
    std::vector<std::optional<Width>> groups_ = {std::nullopt};  // by number; open ones have no width yet
    std::map<std::string, size_t> names_;
    std::vector<std::pair<size_t, size_t>> later_;               // groups that must come still, and where they are named
    Item last_kind_ = Item::Plain;
};

}  // namespace

std::optional<PatternError> check_pattern(std::u32string_view text, bool bytes, bool verbose) {
    try {
        Checker(text, bytes, verbose).check();
    } catch (PatternError& error) {
        return std::move(error);
    } catch (TooDeep&) {
    }
    return std::nullopt;
}

}  // namespace talc::stdlib
