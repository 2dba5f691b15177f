#include "tests/fuzz/mutate.hpp"

#include <algorithm>
#include <cctype>
#include <memory>

namespace talc::fuzz {

namespace {

// Text that a lexer, a parser or a virtual machine may stumble over.
constexpr std::string_view kNasty[] = {
    "9223372036854775807", "-9223372036854775808", "9223372036854775808", "0", "-1", "1e308", "1e-400", "float('nan')",
    "float('inf')", "-0.0", "1_0", "0x", "0b2", "1__0", "''", "'''", "\"\"\"", "f'{", "f'{x!r:>{y}}'", "b'\\x'",
    "'\\N{}'", "'\\ud800'", "\\\n", "\t", "\r", "\f", "\xEF\xBB\xBF", "\xC3\x28", "\xF0\x9F\x98\x80", "\xE2\x80\xA8",
    "*", "**", "*a, *b", "...", ":=", "->", "!=", "<>", "@", "~", "!", "$", "?", "`", ";;", ": :", "()", "[]", "{}",
    "[:]", "[::-1]", "[0:0] = ", "lambda *a, **k: 0", "lambda: (yield)", "yield", "yield from ()", "await x",
    "del x", "global x", "nonlocal x", "return", "break", "continue", "raise", "import sys", "from math import *",
    "try:\n    pass\nfinally:\n    pass\n", "with a as b, c as d:\n    pass\n", "while True:\n    break\n",
    "class C(C): pass\n", "class L(list): pass\nx = L()\n", "def f(): return f()\nf()\n", "x = []; x.append(x); print(x)\n",
    "d = {}; d[0] = d; print(d)\n", "print(*range(100))\n", "x = x\n", "() = ()\n", "[a, *b] = 1, 2\n",
    "for x in x: x.append(x)\n", "assert 0, (1, 2)\n", "'%s %d %*d' % (1, 2, 3, 4)", "'{0[a].b!r:{1}}'.format(1, 2)",
    "type('C', (), {})", "object.__new__(int)", "super()", "super().__init__()", "__class__", "__dict__",
    "sorted([3, 1, 2], key=lambda x: -x)", "[x for x in range(9) if x]", "{**{}, **{}}", "f(*(), **{})",
    "iter(int, 1)", "'a' * 1000000000", "[0] * 1000000000", "2 ** 62", "1 << 63", "-7 // 0", "10 ** -3", "range(10**18)",
    "(lambda f: f(f))(lambda f: f(f))", "hash((1, [2]))", "next(iter([]))", "list(map(list, list))", "isinstance(1, (int, ()))",
};

constexpr std::string_view kMethods[] = {
    "append", "pop", "insert", "remove", "extend", "sort", "reverse", "index", "count", "copy", "clear", "update", "items",
    "keys", "values", "get", "setdefault", "popitem", "fromkeys", "add", "discard", "union", "intersection", "split",
    "rsplit", "join", "replace", "strip", "format", "encode", "find", "center", "zfill", "partition", "translate",
    "send", "throw", "close", "__init__", "__new__", "__repr__", "__getattr__", "__setattr__", "__getitem__",
    "__setitem__", "__delitem__", "__contains__", "__iter__", "__next__", "__len__", "__bool__", "__eq__", "__lt__",
    "__hash__", "__add__", "__radd__", "__iadd__", "__enter__", "__exit__", "__call__", "__index__", "__format__",
    "__class__", "__dict__", "__name__", "__doc__", "args", "with_traceback", "mro", "__mro__", "__bases__",
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }

// Rough tokens: words, strings, runs of blanks, single characters of the rest. Newlines stand alone.
std::vector<std::string_view> scan(std::string_view text) {
    std::vector<std::string_view> tokens;
    size_t at = 0;
    while (at < text.size()) {
        size_t end = at + 1;
        char c = text[at];
        if (is_word(c)) {
            while (end < text.size() && is_word(text[end])) end++;
        } else if (c == '\'' || c == '"') {
            while (end < text.size() && text[end] != c && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
            end = std::min(end + 1, text.size());
        } else if (c == ' ') {
            while (end < text.size() && text[end] == ' ') end++;
        } else if (c == '#') {
            while (end < text.size() && text[end] != '\n') end++;
        }
        tokens.push_back(text.substr(at, end - at));
        at = end;
    }
    return tokens;
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        size_t end = text.find('\n');
        end = end == std::string_view::npos ? text.size() : end + 1;
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return lines;
}

// Without the comments that tell what a test prints: they are most of a file, and nothing runs them.
std::string without_comments(std::string_view text) {
    std::string out;
    for (std::string_view line : lines_of(text)) {
        if (line.starts_with('#')) continue;
        size_t end = line.find("  # ");
        if (end == std::string_view::npos) {
            out += line;
        } else {
            out += line.substr(0, end);
            out += '\n';
        }
    }
    return out;
}

std::string concatenate(const std::vector<std::string_view>& parts) {
    std::string out;
    for (std::string_view part : parts) out += part;
    return out;
}

template <size_t N>
std::string_view pick_one(Random& random, const std::string_view (&table)[N]) {
    return table[random.below(N)];
}

}  // namespace

void Corpus::add(std::string name, const std::string& text) {
    auto seed = std::make_unique<Seed>();
    seed->name = std::move(name);
    seed->whole = text;
    seed->text = without_comments(text);
    std::string_view whole = seed->text;
    size_t begin = 0, at = 0;
    for (std::string_view line : lines_of(whole)) {
        bool starts = at > begin && !line.empty() && is_word(line[0]) && !line.starts_with("else") &&
                      !line.starts_with("elif") && !line.starts_with("except") && !line.starts_with("finally");
        // A decorator belongs to what follows it.
        if (starts && whole.substr(begin, at - begin).starts_with('@')) {
            std::string_view so_far = whole.substr(begin, at - begin);
            starts = so_far.find("\n    ") != std::string_view::npos;
        } else if (!starts && at > begin && line.starts_with('@')) {
            starts = true;
        }
        if (starts) {
            seed->blocks.push_back(whole.substr(begin, at - begin));
            begin = at;
        }
        at += line.size();
    }
    if (at > begin) seed->blocks.push_back(whole.substr(begin, at - begin));

    for (std::string_view token : scan(whole)) {
        if (token.size() > 40 || token[0] == '#' || token[0] == ' ' || token[0] == '\n') continue;
        if (known_.insert(std::string(token)).second) words_.emplace_back(token);
    }
    if (!seed->blocks.empty()) seeds_.push_back(std::move(seed));
}

// Some of a seed's top-level statements, mostly in order: later ones often need earlier ones.
std::string Corpus::excerpt(Random& random, size_t limit) const {
    const Seed& seed = pick(random);
    size_t count = seed.blocks.size();
    size_t first = random.chance(2) ? 0 : random.below(count);
    std::string out;
    for (size_t i = first; i < count && out.size() < limit; i++) {
        if (random.chance(12)) continue;
        out += seed.blocks[i].substr(0, limit);
    }
    return out;
}

void Corpus::mutate_bytes(Random& random, std::string& text) const {
    size_t at = random.below(text.size() + 1);
    switch (random.below(6)) {
        case 0:
            if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
            break;
        case 1: text.insert(at, 1, static_cast<char>(random.below(256))); break;
        case 2: text.erase(at, 1 + random.below(8)); break;
        case 3: text.insert(at, pick_one(random, kNasty)); break;
        case 4: text.insert(at, text.substr(random.below(text.size() + 1), random.below(64))); break;
        case 5: {  // depth
            static constexpr std::string_view kOpeners[] = {"(", "[", "{", "-", "not ", "lambda: ", "f'{", "x[", "f(", "1 + ("};
            std::string_view opener = pick_one(random, kOpeners);
            size_t depth = 1 + random.below(random.chance(20) ? 2000 : 40);
            std::string deep;
            for (size_t i = 0; i < depth; i++) deep += opener;
            text.insert(at, deep);
            break;
        }
    }
}

void Corpus::mutate_tokens(Random& random, std::string& text) const {
    std::vector<std::string_view> tokens = scan(text);
    if (tokens.empty()) return;
    size_t at = random.below(tokens.size());
    // Blanks and comments are the least interesting tokens to change.
    for (int i = 0; i < 4 && (tokens[at][0] == ' ' || tokens[at][0] == '#'); i++) at = random.below(tokens.size());
    size_t other = random.below(tokens.size());
    std::string kept;  // owns what is no view of `text`
    switch (random.below(7)) {
        case 0: tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(at)); break;
        case 1: tokens.insert(tokens.begin() + static_cast<ptrdiff_t>(at), tokens[other]); break;
        case 2: std::swap(tokens[at], tokens[other]); break;
        case 3: tokens[at] = words_[random.below(words_.size())]; break;
        case 4: tokens[at] = pick_one(random, kNasty); break;
        case 5:
            for (size_t i = 0; i < tokens.size(); i++) {  // the next name after a dot, or any name
                size_t j = (at + i) % tokens.size();
                if (j > 0 && tokens[j - 1] == ".") {
                    tokens[j] = pick_one(random, kMethods);
                    break;
                }
            }
            break;
        case 6:
            kept = "(" + std::string(tokens[at]) + ")." + std::string(pick_one(random, kMethods)) + "()";
            tokens[at] = kept;
            break;
    }
    text = concatenate(tokens);
}

void Corpus::mutate_lines(Random& random, std::string& text) const {
    std::vector<std::string_view> lines = lines_of(text);
    if (lines.empty()) return;
    size_t at = random.below(lines.size());
    size_t other = random.below(lines.size());
    std::string kept;
    switch (random.below(6)) {
        case 0: lines.erase(lines.begin() + static_cast<ptrdiff_t>(at)); break;
        case 1: lines.insert(lines.begin() + static_cast<ptrdiff_t>(at), lines[other]); break;
        case 2: std::swap(lines[at], lines[other]); break;
        case 3:
            kept = std::string(1 + random.below(8), ' ') + std::string(lines[at]);
            lines[at] = kept;
            break;
        case 4:
            lines[at].remove_prefix(std::min<size_t>(lines[at].size(), std::min<size_t>(lines[at].find_first_not_of(' '), 4)));
            break;
        case 5: {
            const Seed& seed = pick(random);
            kept = seed.blocks[random.below(seed.blocks.size())];
            lines.insert(lines.begin() + static_cast<ptrdiff_t>(at), kept);
            break;
        }
    }
    text = concatenate(lines);
}

std::string Corpus::make(Random& random, size_t limit) const {
    std::string text = excerpt(random, limit);
    if (random.chance(4)) text += excerpt(random, limit / 2);
    // Mostly a change or two: a program with many is only a syntax error.
    size_t changes = 1 + random.below(random.chance(5) ? 8 : 2);
    for (size_t i = 0; i < changes; i++) {
        switch (random.below(8)) {
            case 0: mutate_bytes(random, text); break;
            case 1:
            case 2: mutate_lines(random, text); break;
            default: mutate_tokens(random, text); break;
        }
    }
    if (text.size() > 2 * limit) text.resize(2 * limit);
    return text;
}

}  // namespace talc::fuzz
