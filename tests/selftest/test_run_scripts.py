"""The script runner fails where it should: it is tried on a stand-in for the program, which is CPython."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]

# Runs the script as talc would, with talc's status 2 for syntax errors.
STAND_IN = f"""#!/bin/sh
if [ "$1" = "-" ]; then exec {sys.executable} "$@"; fi
if [ "$1" = "-c" ]; then exec {sys.executable} "$@"; fi
{sys.executable} -m py_compile "$1" || exit 2
exec {sys.executable} "$@"
"""


class RunScripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "scripts"
        self.root.mkdir()
        self.talc = Path(folder.name) / "talc"
        self.talc.write_text(STAND_IN)
        self.talc.chmod(self.talc.stat().st_mode | stat.S_IXUSR)

    def run_one(self, text: str, *options: str, files: dict[str, str] | None = None):
        for old in self.root.rglob("*"):
            if old.is_file():
                old.unlink()
        (self.root / "one.tc").write_text(text)
        for name, content in (files or {}).items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(content)
        summary = self.root.parent / "summary.json"
        done = subprocess.run(
            [sys.executable, str(TESTS / "run_scripts.py"), "--root", str(self.root), "--talc", str(self.talc),
             "--summary", str(summary), *options],
            capture_output=True, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        counts = json.loads(summary.read_text())
        self.assertEqual(done.returncode != 0, counts["failed"] != 0)
        return [name for name in ("passed", "failed", "skipped") if counts[name]], done.stdout

    def passes(self, text: str, *options: str, **more):
        verdict, output = self.run_one(text, *options, **more)
        self.assertEqual(verdict, ["passed"], output)

    def fails(self, text: str, because: str, *options: str, **more):
        verdict, output = self.run_one(text, *options, **more)
        self.assertEqual(verdict, ["failed"], output)
        self.assertIn(because, output)

    def test_expected_lines(self):
        self.passes("print(1)  # expect: 1\nprint('a b')  # expect: a b\n")
        self.passes("print()  # expect:\nprint('#')  # expect: #\n")
        self.fails("print(1)  # expect: 2\n", "line 1 of stdout: '1'")
        self.fails("print(1)  # expect: 1\nprint(2)\n", "was not expected")
        self.fails("# expect: 1\n", "stdout ends before line 1")
        self.fails("print(1)\n", "was not expected")

    def test_blocks(self):
        self.passes("for i in range(2): print(i)\n# expect-block:\n#| 0\n#| 1\n")
        self.fails("for i in range(2): print(i)\n# expect-block:\n#| 0\n#| 2\n", "line 2 of stdout")

    def test_whole_output(self):
        self.passes("print('x ')\n", files={"one.out": "x \n"})
        self.fails("print('x')\n", "line 1", files={"one.out": "x \n"})

    def test_errors(self):
        self.passes("1 / 0  # expect error: ZeroDivisionError: division by zero\n")
        self.fails("1 / 0  # expect error: TypeError\n", "expected in it")
        self.fails("pass  # expect error: TypeError\n", "status 0, expected 1")
        self.fails("1 / 0\n", "status 1, expected 0")

    def test_syntax_errors(self):
        self.passes("x = = 1  # expect syntax error: invalid syntax\n", "--oracle")
        self.fails("x = 1  # expect syntax error: invalid syntax\n", "status 0, expected 1", "--oracle")
        self.fails("x = 1  # expect syntax error: invalid syntax\n", "status 0, expected 2")

    def test_status(self):
        self.passes("# status: 3\nimport sys\nsys.exit(3)\n")
        self.fails("# status: 3\nimport sys\nsys.exit(4)\n", "status 4, expected 3")

    def test_crash(self):
        self.fails("import os\nos.kill(os.getpid(), 11)\n", "killed by signal 11")
        self.fails("import os\nos.kill(os.getpid(), 6)  # expect error: anything\n", "killed by signal 6")

    def test_sanitizer_report(self):
        self.fails("import sys\nsys.stderr.write('x.cpp:1:2: runtime error: bad')\n", "has a report")

    def test_timeout(self):
        self.fails("while True: pass\n", "timed out", "--timeout", "0.5")
        self.fails("# timeout: 0.5\nwhile True: pass\n", "timed out")

    def test_inputs(self):
        self.passes("# args: a 'b c'\nimport sys\nprint(sys.argv[1:])  # expect: ['a', 'b c']\n")
        self.passes("# stdin: one\\ntwo\nprint(input() + input())  # expect: onetwo\n")
        self.passes("# env: COLOUR=red\nimport os\nprint(os.environ['COLOUR'])  # expect: red\n")
        self.passes("# run: code\nprint(1)  # expect: 1\n")
        self.passes("# run: pipe\nprint(1)  # expect: 1\n")
        self.fails("# env: COLOUR\n", "NAME=VALUE")

    def test_skipping(self):
        verdict, _ = self.run_one("# requires: unobtainium\n")
        self.assertEqual(verdict, ["skipped"])
        verdict, _ = self.run_one("# no-oracle: ints are 64 bits\n", "--oracle")
        self.assertEqual(verdict, ["skipped"])
        verdict, _ = self.run_one("# no-engine: gc-stress too slow\n", "--engine", "gc-stress")
        self.assertEqual(verdict, ["skipped"])

    def test_other_devices(self):
        on_gpu = ("--engine", "cuda")
        named = """print("tensor([0.1235, 2.0000], device='cuda:0')")  # expect: tensor([0.1234, 2.0000])\n"""
        self.passes(named, *on_gpu)
        self.fails(named, "device", "--engine", "interp")
        self.passes("print(0.30000001)  # expect: 0.3\n", *on_gpu)
        self.fails("print(0.4)  # expect: 0.3\n", "expected", *on_gpu)
        self.fails("print('tensor([0.1239])')  # expect: tensor([0.1234])\n", "expected", *on_gpu)
        self.fails("print(3)  # expect: 4\n", "expected", *on_gpu)

    def test_modules_are_no_tests(self):
        self.passes("import beside\nprint(beside.x)  # expect: 1\n", "--oracle",
                    files={"beside.tc": "# helper\nx = 1\n"})
        self.passes("import inner.deep\nprint(inner.deep.y, inner.z)  # expect: 2 3\n", "--oracle",
                    files={"inner/__init__.tc": "z = 3\n", "inner/deep.tc": "# helper\ny = 2\n"})


if __name__ == "__main__":
    unittest.main()
