#!/usr/bin/env python3
"""The interactive prompt at a real terminal: what a person types, and what then stands on the screen."""

import argparse
import os
import shutil
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from terminal import Session  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
OPTIONS = None


class Prompt(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="talc-prompt-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, *arguments: str, columns: int = 80, rows: int = 50, prompt: bool = True, **variables: str) -> Session:
        env = {key: value for key, value in os.environ.items() if not key.startswith("TALC_") and key != "NO_COLOR"}
        env.update({"TERM": "xterm-256color", "HOME": str(self.folder), "LC_ALL": "C.UTF-8", **variables})
        env.setdefault("ASAN_OPTIONS", "detect_leaks=0")
        session = Session([str(Path(OPTIONS.talc).resolve()), *arguments], columns, rows, env, self.folder, OPTIONS.timeout)
        self.addCleanup(session.close)
        if prompt:
            session.wait_for(r"^>>>")
        return session

    def last_line(self, session: Session) -> str:
        return session.screen.text().split("\n")[-1]

    def test_newcomer(self):
        """A first session: a class, an error, completion, help, timing, a loop that does not end."""
        s = self.start(columns=100)
        self.assertEqual(s.run("2 + 3"), "5")
        self.assertEqual(s.run("_ * 10"), "50")
        s.run("class Account:", prompt="... ")
        s.run("'''Money of one person.'''", prompt="... ")
        s.run("def __init__(self, owner, balance=0):", prompt="... ")
        s.run("self.owner, self.balance = owner, balance", prompt="... ")
        s.run("<Backspace>def deposit(self, amount):", prompt="... ")
        s.run("'''Add to the balance.'''", prompt="... ")
        s.run("self.balance += amount", prompt="... ")
        s.run("return self.balance", prompt="... ")
        s.run("")
        self.assertIn("""\
>>> class Account:
...     '''Money of one person.'''
...     def __init__(self, owner, balance=0):
...         self.owner, self.balance = owner, balance
...     def deposit(self, amount):
...         '''Add to the balance.'''
...         self.balance += amount
...         return self.balance
...
>>>""", s.screen.text())
        self.assertEqual(s.run("ann = Account('Ann', 5)"), "")
        report = s.run("ann.depsoit(3)")
        self.assertIn('File "<stdin>", line 1', report)
        self.assertIn("    ann.depsoit(3)\n", report)
        self.assertRegex(report, r"AttributeError: 'Account' object has no attribute 'depsoit'.*deposit")
        s.type("ann.dep<Tab>")
        self.assertEqual(self.last_line(s), ">>> ann.deposit")
        s.type("(")
        self.assertEqual(self.last_line(s), ">>> ann.deposit(amount)")  # the rest is a hint
        self.assertEqual(s.screen.x, len(">>> ann.deposit("))
        self.assertEqual(s.run("3)"), "8")
        help_text = s.run("?ann.deposit")
        self.assertIn("ann.deposit(amount)", help_text)
        self.assertIn("Add to the balance.", help_text)
        self.assertIn("Money of one person.", s.run("?Account"))
        self.assertIn("self.balance += amount", s.run("??Account.deposit"))
        self.assertRegex(s.run(":time ann.deposit(1)"), r"^9\n[\d.]+ (ns|us|ms)$")
        self.assertRegex(s.run(":timeit ann.balance"), r"^[\d.]+ (ns|us) a loop, the best of")
        s.run("n = 0")
        s.type("while True: n += 1<Enter>")
        s.send("\r")
        s.interrupt()
        s.wait_for(r"^KeyboardInterrupt\n>>>")
        self.assertEqual(s.run("n > 0, ann.balance"), "(True, 9)")
        s.type("<C-d>")
        self.assertEqual(s.finish(), 0)

    def test_lines_and_values(self):
        s = self.start()
        self.assertEqual(s.run("[i for i in range(3)]"), "[0, 1, 2]")
        self.assertEqual(s.run("None"), "")
        self.assertEqual(s.run("7;"), "")
        self.assertEqual(s.run("x = 1; x + 1"), "2")
        self.assertEqual(s.run("print('hi'); 5"), "hi\n5")
        self.assertEqual(s.run("'käse'"), "'käse'")
        self.assertIn("SyntaxError", s.run("1 +* 2"))
        s.type("abandoned<C-c>")
        self.assertTrue(s.screen.text().endswith(">>> abandoned^C\n>>>"))
        s.type("if True:<Enter>x = 5<C-c>")
        self.assertEqual(s.run("x"), "1")
        s.run("y = (1,", prompt="... ")
        s.run("2)")
        self.assertEqual(s.run("y"), "(1, 2)")
        s.run("t = '''a", prompt="... ")
        s.run("b'''")
        self.assertEqual(s.run("t"), "'a\\nb'")

    def test_editing_a_block(self):
        s = self.start(columns=40)
        s.run("def f(x):", prompt="... ")
        s.run("y = x + 1", prompt="... ")
        s.type("return y")
        s.type("<Up><End>00")                       # into the line above
        self.assertIn("...     y = x + 100\n...     return y", s.screen.text())
        s.type("<Down><End>")
        s.run("", prompt="... ")
        s.run("")
        self.assertEqual(s.run("f(1)"), "101")
        s.run("def g():", prompt="... ")
        s.type("return 12<Home><Backspace>")        # indentation goes in one step
        self.assertEqual(self.last_line(s), "... return 12")
        s.type("<Backspace>")                       # and then the line end
        self.assertEqual(self.last_line(s), ">>> def g():return 12")
        s.run("<End>", prompt="... ")
        s.run("")
        self.assertEqual(s.run("g()"), "12")
        long_line = "value = '" + "0123456789" * 6 + "'"
        s.run("if True:", prompt="... ")
        s.run(long_line, prompt="... ")
        s.run("tail = 1", prompt="... ")
        s.run("")
        self.assertEqual(s.run("len(value), tail"), "(60, 1)")

    def test_history(self):
        s = self.start()
        s.run("def f():", prompt="... ")
        s.run("return 'f'", prompt="... ")
        s.run("")
        s.run("a = 1")
        s.type("<Up><Up>")
        self.assertTrue(s.screen.text().endswith(">>> def f():\n...     return 'f'"))
        s.type("<Left>oo<End>")
        self.assertTrue(s.screen.text().endswith("...     return 'foo'"))
        s.run("", prompt="... ")
        s.run("")
        self.assertEqual(s.run("f()"), "'foo'")
        s.type("<C-d>")
        s.finish()
        s = self.start()                            # another day
        s.type("<Up><Up>")
        self.assertTrue(s.screen.text().endswith(">>> def f():\n...     return 'foo'"))
        s.run("")                                   # a block that was not changed runs at once
        self.assertEqual(s.run("f()"), "'foo'")
        s.type("<C-r>a =<Enter>")
        s.wait_for(r"^>>> a = 1\n>>>")
        self.assertEqual(s.run("a"), "1")

    def test_completion(self):
        (self.folder / "helper.tc").write_text("answer = 42\n")
        (self.folder / "data").mkdir()
        (self.folder / "data" / "numbers.txt").write_text("1 2 3\n")
        s = self.start()
        s.run("import math")

        def completes(typed: str, to: str) -> None:
            s.type(typed + "<Tab>")
            self.assertEqual(self.last_line(s), ">>> " + to)
            s.type("<C-c>")

        completes("math.fact", "math.factorial")
        completes("'abc'.start", "'abc'.startswith")
        completes("[1, 2].ap", "[1, 2].append")
        completes("{'a': 1}.setd", "{'a': 1}.setdefault")
        completes("(1.5).is_i", "(1.5).is_integer")
        s.run("d = {'k': ['text']}")
        completes("d['k'][0].isalph", "d['k'][0].isalpha")
        completes("x = d.va", "x = d.values")
        completes("contin", "continue")
        completes("isinst", "isinstance")
        completes("import itert", "import itertools")
        completes("import hel", "import helper")
        completes("from math import hyp", "from math import hypot")
        completes("open('da", "open('data/")
        completes("open('data/n", "open('data/numbers.txt")
        completes(":timei", ":timeit")
        completes("?math.hyp", "?math.hypot")
        completes(":load hel", ":load helper.tc")
        s.type("math.is<Tab><Tab>")                 # several: they are listed
        shown = s.screen.text()
        for name in ("isclose", "isfinite", "isinf", "isnan", "isqrt"):
            self.assertIn(name, shown)
        self.assertEqual(self.last_line(s), ">>> math.is")
        s.type("<C-c>")
        s.run("class Loud:", prompt="... ")
        s.run("@property", prompt="... ")
        s.run("def value(self):", prompt="... ")
        s.run("print('called')", prompt="... ")
        s.run("return 'x'", prompt="... ")
        s.run("")
        s.run("loud = Loud()")
        s.type("loud.value.<Tab>")                  # completion runs nothing of the script
        self.assertNotIn("\ncalled", s.screen.text())

    def test_hints(self):
        s = self.start()
        s.run("def area(width, height=2): return width * height", prompt="... ")
        s.run("")
        s.type("area(")
        self.assertEqual(self.last_line(s), ">>> area(width, height=2)")
        s.type("3,")
        self.assertEqual(self.last_line(s), ">>> area(3, height=2)")
        self.assertEqual(s.run(" 4)"), "12")
        s.type("isinsta")
        self.assertEqual(self.last_line(s), ">>> isinstance")
        self.assertEqual(s.screen.x, len(">>> isinsta"))
        s.type("<Right>")
        self.assertEqual(s.screen.x, len(">>> isinstance"))
        s.type("<C-c>")
        s.type("'a'.join(")
        self.assertIn(">>> 'a'.join(iterable)", s.screen.text())
        s.type("<C-c>")

    def test_paste(self):
        s = self.start()
        s.paste("def f(n):\n    if n < 2:\n        return 1\n\n    return n * f(n - 1)\n\nf(5)\nf(6)\n")
        self.assertEqual(s.run(""), "120\n720")
        s.paste(">>> x = 3\n>>> def g(a):\n...     return a * x\n... \n>>> g(x)\n9\n>>> g(2)\n6\n")
        self.assertIn("... def g(a):\n...     return a * x\n", s.screen.text())
        self.assertEqual(s.run(""), "9\n6")
        s.paste("\tif True:\n\t\tpass\n".replace("\t", "    ")[4:])
        s.type("<C-c>")
        self.assertEqual(s.run("g(4)"), "12")

    def test_commands(self):
        (self.folder / "tool.tc").write_text("def size(): return 1\n")
        (self.folder / "script.tc").write_text("print('loading')\nloaded = 7\n")
        s = self.start()
        self.assertIn(":timeit", s.run(":help"))
        self.assertEqual(s.run(":who"), "nothing is defined")
        s.run("def f(x): return x", prompt="... ")
        s.run("")
        s.run("b = 2")
        self.assertEqual(s.run(":who"), "f  b")
        self.assertIn("RETURN", s.run(":dis f"))
        self.assertEqual(s.run(":load script.tc"), "loading")
        self.assertEqual(s.run("loaded"), "7")
        self.assertIn("No such file", s.run(":load missing.tc"))
        s.run("import tool")
        self.assertEqual(s.run("tool.size()"), "1")
        (self.folder / "tool.tc").write_text("def size(): return 2\n")
        self.assertIn("reloaded tool", s.run(":reload"))
        self.assertEqual(s.run("tool.size()"), "2")
        self.assertIn("usage: :time CODE", s.run(":time"))
        self.assertIn("no command :nothing", s.run(":nothing"))
        self.assertIn("logged: bytecode", s.run(":log bytecode"))
        self.assertIn("LOAD", s.run("b + 1"))
        self.assertEqual(s.run(":log"), "no channel is logged")
        self.assertEqual(s.run("b + 1"), "3")
        self.assertIn("NameError", s.run(":timeit missing_name"))
        self.assertTrue(s.run(":explain f(3)"))
        self.assertTrue(s.run(":graph f(3)"))
        s.run(":reset")
        self.assertIn("NameError", s.run("b"))
        self.assertEqual(s.run("1"), "1")
        s.type(":quit")
        s.send("\r")
        self.assertEqual(s.finish(), 0)

    def test_leaving(self):
        for text, status in (("exit()", 0), ("raise SystemExit(3)", 3), ("import sys; sys.exit(4)", 4)):
            s = self.start()
            s.type(text)
            s.send("\r")
            self.assertEqual(s.finish(), status)

    def test_after_a_file(self):
        (self.folder / "program.tc").write_text("import sys\nkept = len(sys.argv)\nprint('ran')\n1 // 0\n")
        s = self.start("-i", "program.tc", "argument")
        self.assertIn("ran\n", s.screen.text())
        self.assertIn("ZeroDivisionError", s.screen.text())
        self.assertEqual(s.run("kept"), "2")

    def test_interrupts(self):
        s = self.start()
        s.run("import time")
        for code in ("sum(range(10**15))", "[i for i in iter(int, 1)]", "time.sleep(60)", "sorted(range(10**7), key=lambda x: -x)",
                     "'x' in iter(str, 'x')"):
            s.type(code)
            s.send("\r")
            s.interrupt()
            s.wait_for(r"KeyboardInterrupt\n>>>$")
            self.assertEqual(s.run("1"), "1")
            s.screen.write("\x1b[2J\x1b[H>>> ")

    # A tensor loop inside @jit, and a loop of numbers that is hot on its own: compiled after a few rounds.
    GRIND = """\
@jit
def tensors(x):
    rounds = 0
    while rounds < 10**12:
        x = x * 0.999 + 0.001
        rounds += 1
    return x

def numbers(n):
    a = 0
    while a < n:
        a += 1
    return a
"""
    AT_ONCE = "everything=1,warm_rounds=1,warm_calls=1,hot_exit=1"

    def test_interrupts_compiled_code(self):
        (self.folder / "grind.tc").write_text(self.GRIND)
        s = self.start("-i", "grind.tc", TALC_JIT_PARAMS=self.AT_ONCE)
        s.run("kept = 5")
        for code in ("tensors(ones(8))", "numbers(10**15)", "tensors(ones(1000, 1000))"):
            s.type(code)
            s.send("\r")
            s.interrupt(1.0)
            s.wait_for(r"KeyboardInterrupt\n>>>$")
            self.assertEqual(s.run("kept"), "5")
            s.screen.write("\x1b[2J\x1b[H>>> ")
        self.assertEqual(s.run("jit.stats()['fragments'] > 0"), "True")
        self.assertEqual(s.run("numbers(1000)"), "1000")

    def test_interrupted_program(self):
        for call in ("tensors(ones(8))", "numbers(10**15)", "sum(range(10**15))"):
            (self.folder / "grind.tc").write_text(self.GRIND + f"print('started')\n{call}\nprint('not reached')\n")
            s = self.start("grind.tc", prompt=False, TALC_JIT_PARAMS=self.AT_ONCE)
            s.wait_for(r"^started")
            s.interrupt(1.0)
            s.wait_for(r"^KeyboardInterrupt$")
            self.assertEqual(s.finish(), 130, call)

    def test_plain_terminal(self):
        """Where nothing can be drawn the prompt reads lines."""
        s = self.start(TERM="dumb")
        s.run("def f():", prompt="... ")
        s.run("    return 5", prompt="... ")
        s.run("")
        self.assertIn("5", s.run("f()"))


def run_all(names: list[str]) -> int:
    """Several at a time: a test at a terminal is mostly waiting."""
    cases = [Prompt(name) for name in names or unittest.TestLoader().getTestCaseNames(Prompt)]
    results = [unittest.TestResult() for _ in cases]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda case, result: case.run(result), cases, results))
    problems = [problem for result in results for problem in result.failures + result.errors]
    for case, text in problems:
        print(f"FAILED {case.id()}\n{text}", file=sys.stderr)
    print(f"Ran {len(cases)} tests\n" + (f"FAILED (failures={len(problems)})" if problems else "OK"), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--talc", default=str(ROOT / "build" / "talc"))
    parser.add_argument("--timeout", type=float, default=20)
    parser.add_argument("names", nargs="*")
    OPTIONS = parser.parse_args()
    sys.exit(run_all(OPTIONS.names))
