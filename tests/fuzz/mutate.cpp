#include "tests/fuzz/mutate.hpp"

#include <algorithm>
#include <cctype>
#include <memory>

namespace talc::fuzz {

namespace {

// Values at the edges of things; each stands where an expression may stand.
constexpr std::string_view kValues[] = {
    "9223372036854775807", "-9223372036854775808", "0", "-1", "1e308", "float('nan')", "float('inf')", "-0.0", "None",
    "True", "''", "'\\ud800'", "'\xF0\x9F\x98\x80'", "b'\\x00'", "()", "[]", "{}", "set()", "...", "[[]] * 3", "{0: {}}",
    "range(0)", "range(10**18)", "slice(None, None, -1)", "iter([1, 2])", "(x for x in range(3))", "lambda *a, **k: a",
    "lambda: (yield)", "int", "str", "list", "dict", "tuple", "type", "object", "object()", "len", "print", "Exception",
    "ValueError('x')", "StopIteration()", "NotImplemented", "property(len)", "super", "open", "enumerate([])",
    "zip([1], [2])", "frozenset([1])", "'%s %d %*d' % (1, 2, 3, 4)", "'{0[a].b!r:{1}}'.format(1, 2)", "f'{1!r:>{5}}'",
    "type('C', (), {})", "type('L', (list,), {})([1])", "object.__new__(int)", "sorted([3, 1], key=lambda x: -x)",
    "[x for x in range(9) if x]", "{**{}, **{}}", "iter(int, 1)", "'a' * 1000000000", "[0] * 1000000000", "2 ** 62",
    "(1 << 62)", "10 ** -3", "(lambda f: f(f))(lambda f: f(f))", "hash((1, 2))", "list(map(list, []))", "__name__",
    "isinstance(1, (int, ()))", "[1, 2, 3].sort", "''.join", "{}.get", "print.__name__", "(1).__add__", "divmod(-7, 2)",
};

// Text that a lexer or a parser may stumble over.
constexpr std::string_view kNasty[] = {
    "9223372036854775808", "1e-400", "1_0", "0x", "0b2", "1__0", "\'\'\'", "\"\"\"", "f'{", "b'\\x'", "'\\N{}'", "\\\n",
    "\t", "\r", "\f", "\xEF\xBB\xBF", "\xC3\x28", "\xE2\x80\xA8", "*", "**", "*a, *b", ":=", "->", "!=", "<>", "@", "~",
    "!", "$", "?", "`", ";;", ": :", "[:]", "[::-1]", "[0:0] = ", "yield", "yield from ()", "await x", "del x", "global x",
    "nonlocal x", "return", "break", "continue", "raise", "async def", "match x:", "print x", "else:", "in", "is not",
};

// Statements that try a virtual machine.
constexpr std::string_view kStatements[] = {
    "import sys", "from math import *", "try:\n    pass\nfinally:\n    pass", "while True:\n    break",
    "class C(C): pass", "class L(list): pass\nx = L()", "def f(): return f()\nf()", "x = []; x.append(x); print(x)",
    "d = {}; d[0] = d; print(d)", "print(*range(100))", "x = x", "() = ()", "[a, *b] = 1, 2", "assert 0, (1, 2)",
    "for x in [1, 2]: x = [x]", "l = [1, 2, 3]\nfor x in l: l.append(x)", "d = {1: 2}\nfor k in d: d[k + 1] = 0",
    "def g():\n    try:\n        yield 1\n    finally:\n        yield 2\nfor x in g(): break",
    "def g():\n    yield from g()\nnext(g())", "l = [3, 2, 1]\nl.sort(key=lambda x: l.clear() or x)",
    "class A:\n    def __eq__(self, o): return self\n    def __hash__(self): return 1\nprint({A(): 1, A(): 2})",
    "class A:\n    def __getattr__(self, n): return getattr(self, n + 'x')\nA().y",
    "class A:\n    def __repr__(self): return repr(self)\nrepr(A())",
    "class A:\n    def __iter__(self): return self\n    def __next__(self): raise StopIteration\nprint(list(A()))",
    "class A:\n    def __len__(self): return -1\nlen(A())", "class A: pass\nA.x = A(); A.x.y = A; del A",
    "try:\n    raise ValueError from KeyError()\nexcept ValueError as e:\n    e.__cause__ = e; raise",
    "def f(n):\n    try:\n        return f(n + 1)\n    finally:\n        n\nf(0)", "del print", "len = 1", "while True: pass",
    "a = b = []\na += a; b *= 3", "with 1: pass", "print(end=1)", "x = 'a'\nfor i in range(99): x += x",
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

enum class TokenClass { Name, Keyword, Literal, Operator, Bracket, Layout };

TokenClass class_of(std::string_view token) {
    static constexpr std::string_view kKeywords =
        " and as assert break class continue def del elif else except finally for from global if import in is lambda "
        "nonlocal not or pass raise return try while with yield ";
    char c = token.empty() ? ' ' : token[0];
    if (c == '\'' || c == '"' || std::isdigit(static_cast<unsigned char>(c))) return TokenClass::Literal;
    if (c == ' ' || c == '#' || c == '\n') return TokenClass::Layout;
    if (std::string_view("()[]{},:;").find(c) != std::string_view::npos) return TokenClass::Bracket;
    if (!is_word(c)) return TokenClass::Operator;
    if (token.size() < 9 && kKeywords.find(" " + std::string(token) + " ") != std::string_view::npos) return TokenClass::Keyword;
    return TokenClass::Name;
}

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
    // Names, literals and operators are the tokens to change; the rest is mostly blanks.
    for (int i = 0; i < 8 && class_of(tokens[at]) == TokenClass::Layout; i++) at = random.below(tokens.size());
    size_t other = random.below(tokens.size());
    for (int i = 0; i < 8 && class_of(tokens[at]) != class_of(tokens[other]); i++) other = random.below(tokens.size());
    TokenClass kind = class_of(tokens[at]);
    bool is_value = kind == TokenClass::Name || kind == TokenClass::Literal;
    std::string kept;  // owns what is no view of `text`
    switch (random.below(10)) {
        case 0: tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(at)); break;
        case 1: tokens.insert(tokens.begin() + static_cast<ptrdiff_t>(at), tokens[other]); break;
        case 2: tokens[at] = pick_one(random, kNasty); break;
        case 3: tokens[at] = tokens[other]; break;
        case 4: std::swap(tokens[at], tokens[other]); break;
        case 5:
        case 6:
            if (is_value) {
                kept = "(" + std::string(pick_one(random, kValues)) + ")";
                tokens[at] = kept;
            } else if (kind == TokenClass::Operator) {
                static constexpr std::string_view kOperators[] = {"+", "-", "*", "/", "//", "%", "**", "@", "<", ">", "==",
                                                                  "&", "|", "^", "<<", ">>", "in", "is", "and", "or"};
                kept = " " + std::string(pick_one(random, kOperators)) + " ";
                tokens[at] = kept;
            }
            break;
        case 7: {  // another word of the same kind, from anywhere
            for (int i = 0; i < 16; i++) {
                const std::string& word = words_[random.below(words_.size())];
                if (class_of(word) != kind) continue;
                tokens[at] = word;
                break;
            }
            break;
        }
        case 8:
            for (size_t i = 0; i < tokens.size(); i++) {  // the next name after a dot
                size_t j = (at + i) % tokens.size();
                if (j > 0 && tokens[j - 1] == ".") {
                    tokens[j] = pick_one(random, kMethods);
                    break;
                }
            }
            break;
        case 9:
            if (!is_value) break;
            kept = "(" + std::string(tokens[at]) + ")." + std::string(pick_one(random, kMethods));
            if (!random.chance(4)) kept += random.chance(2) ? "()" : "(" + std::string(pick_one(random, kValues)) + ")";
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
    switch (random.below(7)) {
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
            lines.insert(lines.begin() + static_cast<ptrdiff_t>(at), seed.blocks[random.below(seed.blocks.size())]);
            break;
        }
        case 6: {  // at the indentation of the line that follows
            std::string indent(lines[at].substr(0, std::min(lines[at].size(), lines[at].find_first_not_of(' '))));
            for (std::string_view line : lines_of(pick_one(random, kStatements))) kept += indent + std::string(line);
            kept += '\n';
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
        switch (random.below(10)) {
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
