#include "lang/operands.hpp"
#include "tests/unit/lang/helpers.hpp"

using namespace talc::lang;
using namespace talc::lang::testing;

TEST_CASE("an assignment of an operation is one instruction", "[lang]") {
    CHECK(function_text("def f(a, b):\n    x = a + b\n    return x") ==
          "ADD r2:x, r0:a, r1:b\nRETURN r2:x\n");
    CHECK(function_text("def f(a):\n    a += 1") == "IADD_K r0:a, r0:a, 1\nRETURN_NONE\n");
    CHECK(function_text("def f(a):\n    return a.b") == "LOAD_ATTR r1, r0:a, .b\nRETURN r1\n");
}

TEST_CASE("a comparison and its jump are one instruction", "[lang]") {
    CHECK(function_text("def f(n):\n    while n > 0:\n        n -= 1") ==
          "JNGT_K r0:n, 0, ->3\nISUB_K r0:n, r0:n, 1\nJUMP_BACK ->0\nRETURN_NONE\n");
    CHECK(function_text("def f(a, b):\n    if a is None or a < b: return b") ==
          "JUMP_IF_NONE r0:a, ->2\nJNLT r0:a, r1:b, ->3\nRETURN r1:b\nRETURN_NONE\n");
}

TEST_CASE("a swap makes no tuple", "[lang]") {
    CHECK(function_text("def f(a, b):\n    a, b = b, a + b") ==
          "MOVE r2, r1:b\nADD r1:b, r0:a, r1:b\nMOVE r0:a, r2\nRETURN_NONE\n");
}

TEST_CASE("constants are folded where running would give the same", "[lang]") {
    auto folded = [](std::string_view expression) {
        auto code = code_of("def f():\n    return " + std::string(expression));
        const Code& f = *code->codes[0];
        if (f.instrs[1].op != Op::RETURN) return std::string("computed");
        if (f.instrs[0].op == Op::LOAD_INT) return std::to_string(f.instrs[0].bc());
        if (f.instrs[0].op == Op::LOAD_TRUE) return std::string("True");
        if (f.instrs[0].op == Op::LOAD_CONST) return constant_text(f.constants[f.instrs[0].b]);
        return std::string("computed");
    };
    CHECK(folded("2 * 3 + 4") == "10");
    CHECK(folded("-7 // 2") == "-4");
    CHECK(folded("-7 % 3") == "2");
    CHECK(folded("2 ** 62") == "4611686018427387904");
    CHECK(folded("2 ** 63") == "computed");
    CHECK(folded("9223372036854775807 + 1") == "computed");
    CHECK(folded("1 / 4") == "0.25");
    CHECK(folded("1 // 0") == "computed");
    CHECK(folded("1 << 70") == "computed");
    CHECK(folded("'ab' * 3") == "\"ababab\"");
    CHECK(folded("'a' * 100000") == "computed");
    CHECK(folded("'a' + 'b'") == "\"ab\"");
    CHECK(folded("not 0") == "True");
    CHECK(folded("(1, 'a', (2.0, None))") == "(1, \"a\", (2.0, None))");
    CHECK(folded("-0.0") == "-0.0");
    CHECK(folded("~5") == "-6");
    CHECK(folded("1.5 + 2") == "3.5");
}

TEST_CASE("constants that are equal but not the same stay apart", "[lang]") {
    auto code = code_of("x = (1, 1.0, True)\ny = (0.0, -0.0)\nz = ('a', b'a')\n");
    const auto& first = std::get<TupleConstant>(code->constants[0].value).items;
    CHECK_FALSE(first[0].same_as(first[1]));
    CHECK_FALSE(first[0].same_as(first[2]));
    const auto& second = std::get<TupleConstant>(code->constants[1].value).items;
    CHECK_FALSE(second[0].same_as(second[1]));
}

TEST_CASE("names resolve as in Python", "[lang]") {
    // cells and captures
    CHECK(function_text("def f(a):\n    b = 1\n    return lambda: a + b").find("MAKE_CELL r0:a") == 0);
    // a class body's names do not close over
    auto code = code_of("def f():\n    x = 1\n    class A:\n        x = x\n        def g(self): return x\n");
    const Code& body = *code->codes[0]->codes[0];
    CHECK(disassemble(body).find("LOAD_NAME        r1, x") != std::string::npos);
    CHECK(body.codes[0]->captures.size() == 1);
    // private names
    auto mangled = code_of("class A:\n    def f(self): return self.__x\n");
    CHECK(mangled->codes[0]->codes[0]->names[0] == "_A__x");
    CHECK(error_of("def f():\n    print(x)\n    global x") ==
          "SyntaxError: name 'x' is used prior to global declaration");
    CHECK(error_of("def f():\n    x = 1\n    global x") ==
          "SyntaxError: name 'x' is assigned to before global declaration");
    CHECK(error_of("def f(x):\n    nonlocal x") == "SyntaxError: name 'x' is parameter and nonlocal");
    CHECK(error_of("def f():\n    nonlocal x") == "SyntaxError: no binding for nonlocal 'x' found");
    CHECK(error_of("nonlocal x") == "SyntaxError: nonlocal declaration not allowed at module level");
    CHECK(error_of("def f(a, a): pass") == "SyntaxError: duplicate argument 'a' in function definition");
    CHECK(error_of("return 1") == "SyntaxError: 'return' outside function");
    CHECK(error_of("class A:\n    yield 1") == "SyntaxError: 'yield' outside function");
    CHECK(error_of("def f(): [(yield x) for x in y]") == "SyntaxError: 'yield' inside list comprehension");
    CHECK(error_of("if x: break") == "SyntaxError: 'break' outside loop");
    CHECK(error_of("for x in y:\n    def f(): continue") == "SyntaxError: 'continue' not properly in loop");
    CHECK(error_of("def f(): from m import *") == "SyntaxError: import * only allowed at module level");
    CHECK(error_of("[(x := 1) for x in y]") ==
          "SyntaxError: assignment expression cannot rebind comprehension iteration variable 'x'");
    CHECK(error_of("class A: [(x := 1) for y in z]") ==
          "SyntaxError: assignment expression within a comprehension cannot be used in a class body");
}

TEST_CASE("comprehensions are inlined unless that could be seen", "[lang]") {
    CHECK(code_of("def f(a): return [x for x in a]")->codes[0]->codes.empty());
    CHECK(code_of("x = {y: z for y, z in w}")->codes.empty());
    CHECK(code_of("def f(a): return [[y for y in x] for x in a]")->codes[0]->codes.empty());
    CHECK(code_of("def f(a): return [lambda: x for x in a]")->codes[0]->codes.size() == 1);
    CHECK(code_of("def f(a): return (x for x in a)")->codes[0]->codes.size() == 1);
    CHECK(code_of("class A:\n    y = [x for x in a]")->codes[0]->codes.size() == 1);
    // An inner function that does not use the comprehension's variables is no reason.
    CHECK(code_of("def f(a): return [(lambda: a) for x in a]")->codes[0]->codes.size() == 1);
    CHECK(code_of("def f(a): return [(lambda: a) for x in a]")->codes[0]->codes[0]->name == "<lambda>");
}

TEST_CASE("reads of locals that may be unbound are checked, others are not", "[lang]") {
    CHECK(function_text("def f(c):\n    if c: x = 1\n    return x").find("CHECK_BOUND r1:x") !=
          std::string::npos);
    CHECK(function_text("def f(c):\n    if c: x = 1\n    else: x = 2\n    return x").find("CHECK") ==
          std::string::npos);
    CHECK(function_text("def f(c):\n    for x in c: pass\n    return x").find("CHECK_BOUND") !=
          std::string::npos);
    CHECK(function_text("def f(c):\n    for x in c: g(x)").find("CHECK") == std::string::npos);
    CHECK(function_text("def f(c):\n    del c\n    return c").find("CHECK_BOUND r0:c") != std::string::npos);
    CHECK(function_text("def f():\n    try: x = g()\n    except E: pass\n    return x").find("CHECK_BOUND") !=
          std::string::npos);
    CHECK(function_text("def f():\n    while True:\n        x = 1\n        if g(): break\n    return x")
              .find("CHECK") == std::string::npos);
}

TEST_CASE("code after the end of control is left out", "[lang]") {
    CHECK(function_text("def f():\n    return 1\n    g()") == "LOAD_INT r0, 1\nRETURN r0\n");
    CHECK(function_text("def f():\n    if 0: g()\n    while 0: h()\n    return None") == "RETURN_NONE\n");
    CHECK(function_text("def f():\n    raise x\n    y").find("y") == std::string::npos);
}

TEST_CASE("every instruction has its span", "[lang]") {
    std::string text = "def f(a, b):\n    return a.x + g(b[0])\n";
    auto code = code_of(text);
    const Code& f = *code->codes[0];
    REQUIRE(f.spans.size() == f.instrs.size());
    for (uint32_t i = 0; i < f.instrs.size(); i++) {
        std::string at = text.substr(f.spans[i].begin, f.spans[i].end - f.spans[i].begin);
        if (f.instrs[i].op == Op::LOAD_ATTR) CHECK(at == "a.x");
        if (f.instrs[i].op == Op::INDEX_K) CHECK(at == "b[0]");
        if (f.instrs[i].op == Op::CALL) CHECK(at == "g(b[0])");
        if (f.instrs[i].op == Op::ADD) CHECK(at == "a.x + g(b[0])");
    }
}

TEST_CASE("modes: interactive prints, expression returns", "[lang]") {
    auto count = [](const Code& code, Op op) {
        int found = 0;
        for (const Instr& instr : code.instrs) found += instr.op == op ? 1 : 0;
        return found;
    };
    CHECK(count(*code_of("1\nx\nif y: z\nw = 1\n", CompileMode::Interactive), Op::PRINT_EXPR) == 3);
    CHECK(count(*code_of("x\n"), Op::PRINT_EXPR) == 0);
    CHECK(code_of("1 + x", CompileMode::Expression)->instrs.back().op == Op::RETURN);
    CHECK(error_of("x = 1", CompileMode::Expression) == "SyntaxError: invalid syntax");
}

TEST_CASE("long loops and branches need no short jumps", "[lang]") {
    std::string body;
    for (int i = 0; i < 20000; i++) body += "        g(x)\n";
    code_of("def f(a, b):\n    for x in a:\n" + body + "    if a < b:\n" + body);
}

TEST_CASE("docstrings, annotations and names of codes", "[lang]") {
    auto code =
        code_of("'module'\nclass A:\n    'class'\n    def f(self, x: int = 1) -> str:\n        'function'\n");
    CHECK(constant_text(code->constants[static_cast<size_t>(code->doc)]) == "\"module\"");
    const Code& f = *code->codes[0]->codes[0];
    CHECK(f.qualname == "A.f");
    CHECK(constant_text(f.constants[static_cast<size_t>(f.doc)]) == "\"function\"");
    CHECK(code_of("def f():\n    def g(): pass")->codes[0]->codes[0]->qualname == "f.<locals>.g");
    CHECK(code_of("def f():\n    'a' + 'b'")->codes[0]->doc == -1);
    CHECK(disassemble(*code_of("from __future__ import annotations\nx: no.such = 1")).find("\"no.such\"") !=
          std::string::npos);
}

TEST_CASE("the verifier rejects code that would misbehave", "[lang]") {
    auto broken = [](std::string_view text, const auto& damage) {
        CompileResult result = compile(source_of(text));
        REQUIRE(result.code);
        Code& code = const_cast<Code&>(*result.code->codes.at(0));
        damage(code);
        return !verify(*result.code).empty();
    };
    std::string_view text =
        "def f(a, b):\n    for x in a:\n        if x < b: print(x, end='')\n    return a.y + [1][b]\n";
    CHECK_FALSE(broken(text, [](Code&) {}));
    CHECK(broken(text, [](Code& code) { code.instrs.pop_back(); }));
    CHECK(broken(text, [](Code& code) { code.spans.pop_back(); }));
    CHECK(broken(text, [](Code& code) { code.nregs = 3; }));
    CHECK(broken(text, [](Code& code) { code.constants.clear(); }));
    CHECK(broken(text, [](Code& code) { code.sites.clear(); }));
    CHECK(broken(text, [](Code& code) { code.instrs[0].op = static_cast<Op>(9999); }));
    CHECK(broken(text, [](Code& code) { code.captures.push_back({true, 500, "x"}); }));
    CHECK(broken(text, [](Code& code) { code.handlers.push_back({5, 2, 0, 0}); }));
    // Every operand of every instruction, made absurd: rejected or harmless, never a crash.
    auto size = code_of(text)->codes[0]->instrs.size();
    for (size_t i = 0; i < size; i++) {
        Instr instr = code_of(text)->codes[0]->instrs[i];
        const OpInfo& info = op_info(instr.op);
        auto is_register = [](Role role) {
            return role == Role::wr || role == Role::rd || role == Role::keep || role == Role::wr2;
        };
        if (is_register(info.a)) CHECK(broken(text, [&](Code& code) { code.instrs[i].a = 60000; }));
        if (is_register(info.b)) CHECK(broken(text, [&](Code& code) { code.instrs[i].b = 60000; }));
        if (jump_target(instr, static_cast<uint32_t>(i)) >= 0) {
            CHECK(broken(text, [&](Code& code) { code.instrs[i].c = 0x7FFF; }));
        }
    }
}

TEST_CASE("statements of every kind compile to sound code", "[lang]") {
    for (std::string_view text : {
             "import a.b, c as d\nfrom e import f as g, h\nfrom i import *\n",
             "def f(a, /, b, *c, d=1, **e):\n    global g\n    g = a\n    del b, c[0], c.x, (a, [d])\n",
             "def f():\n    try:\n        return g()\n    except (A, B) as e:\n        raise C from e\n    "
             "except D:\n"
             "        pass\n    else:\n        h()\n    finally:\n        k()\n",
             "def f():\n    for x in y:\n        try:\n            if x: break\n            continue\n       "
             " finally:\n"
             "            with a as (b, *c), d: return b\n    else: z()\n",
             "def f():\n    x = yield 1\n    y = yield from x\n    return (yield), [*x, *y], {**x}, {*y}\n",
             "class A(B):\n    x: int\n    y: str = 'a'\n    def f(self): return super().f(*self.a, "
             "**self.b)\n"
             "    @property\n    def g(self): return __class__, super\n",
             "a = b = c[0] = d.e = 1\na, (b, *c), [d.e, f[g]] = h\na, b = b, a\nx[1:2], x[::3] = 1, 2\n",
             "a += 1; b.c -= f(); d[e] *= 2; g[h()][0] @= i\nx[a:b] //= c\n",
             "assert a, b\nassert c\nx = a < b() < c() < d\nif a < b() < c: pass\n",
             "x = f'{a}{b!r:>{w}}{c=}' f'' 'x'\ny = f''\nz = f'{a}'\n",
             "while (x := f()) and (y := x.g): print(x + (x := 1), x[(x := 2)])\n",
             "def f():\n    [y := x for x in z]\n    return y, {a: b for a, b in c if a if b for d in b}\n",
             "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x += 1\n        del x\n    "
             "return g\n",
         }) {
        INFO(text);
        code_of(text);
    }
}
