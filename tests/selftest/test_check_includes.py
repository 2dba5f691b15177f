"""The include check finds a planted edge, and nothing in a clean tree."""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import check_includes  # noqa: E402
import check_style  # noqa: E402


class CheckIncludes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "CMakeLists.txt").write_text((ROOT / "CMakeLists.txt").read_text())

    def plant(self, path: str, include: str) -> list[str]:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#pragma once\n{include}\n")
        return check_includes.check(self.root)

    def test_allowed_edges(self):
        self.assertEqual(self.plant("vm/a.hpp", '#include "lang/ast.hpp"'), [])
        self.assertEqual(self.plant("vm/b.hpp", '#include "base/span.hpp"'), [])  # through lang
        self.assertEqual(self.plant("jit/c.hpp", '#include "inductor/backend.hpp"'), [])
        self.assertEqual(self.plant("repl/d.hpp", "#include <talc/talc.hpp>"), [])
        self.assertEqual(self.plant("inductor/cpu/e.hpp", "#include <llvm/IR/Module.h>"), [])

    def test_forbidden_edge(self):
        problems = self.plant("lang/a.hpp", '  #  include "vm/value.hpp"')
        self.assertEqual(len(problems), 1)
        self.assertIn("lang/a.hpp:2: lang may not include vm/value.hpp", problems[0])

    def test_one_header_only(self):
        self.assertTrue(self.plant("jit/a.hpp", '#include "inductor/cpu/emit.hpp"'))

    def test_public_side(self):
        self.assertTrue(self.plant("repl/a.cpp", '#include "vm/value.hpp"'))
        self.assertTrue(self.plant("include/talc/talc.hpp", '#include "base/span.hpp"'))

    def test_outside_libraries(self):
        self.assertTrue(self.plant("vm/a.cpp", "#include <llvm/IR/Module.h>"))

    def test_relative_paths(self):
        self.assertTrue(self.plant("vm/a.cpp", '#include "../lang/ast.hpp"'))
        self.assertTrue(self.plant("lang/a.cpp", '#include "ast.hpp"'))

    def test_cycle(self):
        (self.root / "CMakeLists.txt").write_text("talc_room(a b)\ntalc_room(b a)\n")
        self.assertTrue(check_includes.check(self.root))


class CheckStyle(unittest.TestCase):
    def test_finds_what_it_should(self):
        self.assertEqual(check_style.check_file("vm/a.hpp", "#pragma once\n"), [])
        self.assertTrue(check_style.check_file("vm/a.hpp", "int x;\n"))
        self.assertTrue(check_style.check_file("vm/a.cpp", "int x;"))
        self.assertTrue(check_style.check_file("vm/a.cpp", "\n" * 901))
        self.assertTrue(check_style.check_file("vm/a.cpp", "// " + "TO" + "DO\n"))


if __name__ == "__main__":
    unittest.main()
