#include "tests/unit/lang/helpers.hpp"

using namespace talc::lang;
using namespace talc::lang::testing;

TEST_CASE("operators bind as in Python", "[lang]") {
    auto same = [](std::string_view a, std::string_view b) { CHECK(syntax_tree(a) == syntax_tree(b)); };
    same("a + b * c", "a + (b * c)");
    same("a * b + c", "(a * b) + c");
    same("-a ** b", "-(a ** b)");
    same("a ** -b ** c", "a ** (-(b ** c))");
    same("a - b - c", "(a - b) - c");
    same("not a == b", "not (a == b)");
    same("a or b and not c", "a or (b and (not c))");
    same("a | b ^ c & d << e", "a | (b ^ (c & (d << e)))");
    same("a if b else c if d else e", "a if b else (c if d else e)");
    same("lambda: a, b", "(lambda: a), b");
    same("-x.y[0](1)", "-(((x.y)[0])(1))");
    CHECK(syntax_tree("a < b < c").find("ops: Lt Lt") != std::string::npos);
    CHECK(syntax_tree("a is not b not in c").find("ops: IsNot NotIn") != std::string::npos);
}

TEST_CASE("nodes print with their fields", "[lang]") {
    CHECK(syntax_tree("x = 1") ==
          "Module\n  Assign\n    targets:\n      Name\n        id: x\n    value:\n      Constant\n        "
          "value: 1\n");
    CHECK(syntax_tree("f(a, *b, c=1, **d)").find("keyword None") != std::string::npos);
    CHECK(syntax_tree("f'{x!r:>{w}} {{}} {y=}'").find("conversion: r") != std::string::npos);
}

TEST_CASE("integers are 64 bits", "[lang]") {
    CHECK(error_of("x = 9223372036854775807").empty());
    CHECK(error_of("x = -9223372036854775808").empty());
    CHECK(error_of("x = 9223372036854775808") ==
          "SyntaxError: integer literal 9223372036854775808 does not fit in 64 bits");
    CHECK(error_of("x = -9223372036854775809") ==
          "SyntaxError: integer literal 9223372036854775809 does not fit in 64 bits");
    CHECK(error_of("x = 0xFFFFFFFFFFFFFFFFFF") ==
          "SyntaxError: integer literal 0xFFFFFFFFFFFFFFFFFF does not fit in 64 bits");
}

TEST_CASE("syntax errors use CPython's words", "[lang]") {
    struct Case {
        const char* text;
        const char* error;
    };
    const Case cases[] = {
        {"a b", "SyntaxError: invalid syntax"},
        {"x = = 1", "SyntaxError: invalid syntax"},
        {"print x", "SyntaxError: Missing parentheses in call to 'print'. Did you mean print(...)?"},
        {"f(a b)", "SyntaxError: invalid syntax. Perhaps you forgot a comma?"},
        {"f(a, b", "SyntaxError: '(' was never closed"},
        {"x = [1,\n2\ny = 3", "SyntaxError: '[' was never closed"},
        {"if x = 3: pass", "SyntaxError: invalid syntax. Maybe you meant '==' or ':=' instead of '='?"},
        {"if x.a = 3: pass",
         "SyntaxError: cannot assign to attribute here. Maybe you meant '==' instead of '='?"},
        {"1 = x", "SyntaxError: cannot assign to literal here. Maybe you meant '==' instead of '='?"},
        {"f() = 1", "SyntaxError: cannot assign to function call here. Maybe you meant '==' instead of '='?"},
        {"f() = x = 1", "SyntaxError: cannot assign to function call"},
        {"(a, 1) = x", "SyntaxError: cannot assign to literal"},
        {"None = 1", "SyntaxError: cannot assign to None"},
        {"a, b += 1", "SyntaxError: 'tuple' is an illegal expression for augmented assignment"},
        {"(a, b): int", "SyntaxError: only single target (not tuple) can be annotated"},
        {"a + 1: int", "SyntaxError: illegal target for annotation"},
        {"*a = 1", "SyntaxError: starred assignment target must be in a list or tuple"},
        {"*a, *b = c", "SyntaxError: multiple starred expressions in assignment"},
        {"x = *a", "SyntaxError: can't use starred expression here"},
        {"(*a)", "SyntaxError: cannot use starred expression here"},
        {"del f()", "SyntaxError: cannot delete function call"},
        {"x = 1 if y", "SyntaxError: expected 'else' after 'if' expression"},
        {"if x\n  y", "SyntaxError: expected ':'"},
        {"def f()\n  y", "SyntaxError: expected ':'"},
        {"def f:\n  y", "SyntaxError: expected '('"},
        {"try:\n  x\ny", "SyntaxError: expected 'except' or 'finally' block"},
        {"f(a=1, b)", "SyntaxError: positional argument follows keyword argument"},
        {"f(**a, b)", "SyntaxError: positional argument follows keyword argument unpacking"},
        {"f(a=1, a=2)", "SyntaxError: keyword argument repeated: a"},
        {"f(a for a in b, c)", "SyntaxError: Generator expression must be parenthesized"},
        {"f(a.b=1)", "SyntaxError: expression cannot contain assignment, perhaps you meant \"==\"?"},
        {"def f(a=1, b): pass", "SyntaxError: non-default argument follows default argument"},
        {"def f(*): pass", "SyntaxError: named arguments must follow bare *"},
        {"def f(**a, b): pass", "SyntaxError: arguments cannot follow var-keyword argument"},
        {"def f(a, /, /): pass", "SyntaxError: / may appear only once"},
        {"[a, b for a in c]", "SyntaxError: did you forget parentheses around the comprehension target?"},
        {"[*a for a in b]", "SyntaxError: iterable unpacking cannot be used in comprehension"},
        {"{1: 2, 3}", "SyntaxError: ':' expected after dictionary key"},
        {"from m import a,", "SyntaxError: trailing comma not allowed without surrounding parentheses"},
        {"'a' b'c'", "SyntaxError: cannot mix bytes and nonbytes literals"},
        {"try: pass\nexcept a, b: pass", "SyntaxError: multiple exception types must be parenthesized"},
        {"try: pass\nexcept: pass\nexcept A: pass", "SyntaxError: default 'except:' must be last"},
        {"if x:\ny", "IndentationError: expected an indented block after 'if' statement on line 1"},
        {"def f():\n\nx", "IndentationError: expected an indented block after function definition on line 1"},
        {"x\n  y", "IndentationError: unexpected indent"},
        {"f'{}'", "SyntaxError: f-string: empty expression not allowed"},
        {"f'{a b}'", "SyntaxError: f-string: invalid syntax. Perhaps you forgot a comma?"},
        {"f'{a!x}'", "SyntaxError: f-string: invalid conversion character: expected 's', 'r', or 'a'"},
        {"f'}'", "SyntaxError: f-string: single '}' is not allowed"},
        {"f'{a'", "SyntaxError: f-string: expecting '}'"},
        {"f'{a[}'", "SyntaxError: f-string: closing parenthesis '}' does not match opening parenthesis '['"},
        {"'\\x4'",
         "SyntaxError: (unicode error) 'unicodeescape' codec can't decode bytes in position 0-2: truncated "
         "\\xXX escape"},
    };
    for (const Case& item : cases) {
        INFO(item.text);
        CHECK(error_of(item.text) == item.error);
    }
}

TEST_CASE("what is not in the language is named", "[lang]") {
    CHECK(error_of("async def f(): pass") == "SyntaxError: async and await are not in the language");
    CHECK(error_of("x = await y") == "SyntaxError: async and await are not in the language");
    CHECK(error_of("match x:\n  case 1: pass") == "SyntaxError: the match statement is not in the language");
    CHECK(error_of("match = 1; match.x; match[0]; print(match)").empty());
    CHECK(error_of("class A(B, C): pass") == "SyntaxError: multiple inheritance is not in the language");
    CHECK(error_of("class A(metaclass=M): pass") == "SyntaxError: metaclass= is not in the language");
    CHECK(error_of("try: pass\nexcept* E: pass") == "SyntaxError: 'except*' is not in the language");
    CHECK(error_of("x = 2j") == "SyntaxError: complex literals are not in the language");
}

TEST_CASE("errors stand where they are", "[lang]") {
    auto span = [](std::string_view text) {
        CompileResult result = compile(source_of(text));
        REQUIRE(result.error);
        return std::pair(result.error->span.begin, result.error->span.end);
    };
    CHECK(span("x = a +") == std::pair(7u, 7u));
    CHECK(span("f(a b)") == std::pair(2u, 5u));
    CHECK(span("abc = (1, 2") == std::pair(6u, 7u));
    CHECK(span("f'{a} {b +}'") == std::pair(10u, 10u));
}

TEST_CASE("no text makes the front end recurse without limit", "[lang]") {
    auto repeat = [](std::string_view text, int count) {
        std::string out;
        for (int i = 0; i < count; i++) out += text;
        return out;
    };
    CHECK(error_of(repeat("(", 10000)) == "SyntaxError: too many nested parentheses");
    CHECK(error_of("x = " + repeat("[", 10000) + repeat("]", 10000)) ==
          "SyntaxError: too many nested parentheses");
    CHECK(error_of("x = " + repeat("not ", 100000) + "y") == "SyntaxError: too many nested expressions");
    CHECK(error_of("x = " + repeat("-", 100000) + "y") == "SyntaxError: too many nested expressions");
    CHECK(error_of("x = " + repeat("lambda: ", 100000) + "y") == "SyntaxError: too many nested expressions");
    CHECK(error_of("x = 1" + repeat(" + 1", 100000)).empty());
    CHECK(error_of("x = y" + repeat(" + y", 100000)).empty());
    CHECK(error_of("x = y" + repeat("[0]", 60000)).empty());
    CHECK(error_of("x = y" + repeat(".a", 60000)).empty());
    CHECK(error_of("x = y" + repeat(".a()", 60000)).empty());
    CHECK(error_of("x = y" + repeat(" and y", 60000)).empty());
    CHECK(error_of("x = " + repeat("a if b else ", 10000) + "c").empty());
    CHECK(error_of("if a: pass\n" + repeat("elif b: pass\n", 10000)).empty());
    std::string blocks;
    for (size_t i = 0; i < 150; i++) blocks += std::string(i, ' ') + "if x:\n";
    CHECK(error_of(blocks) == "IndentationError: too many levels of indentation");
    CHECK(error_of("x = " + repeat("(", 190) + "1" + repeat(")", 190)).empty());
}
