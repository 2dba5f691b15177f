#!/usr/bin/env python3
"""Installs a build into a folder of its own and builds the projects of examples/embed against it, outside of the tree:
what a stranger with the package would do. Each project prints what its expected.txt says."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECTS = ["hello", "image"]
OPTIONS = None


def run(*command, **options) -> str:
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}")
    return done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="talc-install-"))
        cls.prefix = cls.folder / "first"
        run("cmake", "--install", OPTIONS.build, "--prefix", cls.prefix)
        # An installed tree may be moved.
        moved = cls.folder / "prefix"
        cls.prefix.rename(moved)
        cls.prefix = moved
        cls.library = next(moved.rglob("libtalc.so"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def expected(self, name: str) -> str:
        return (ROOT / "examples" / "embed" / name / "expected.txt").read_text()

    def test_find_package(self):
        for name in PROJECTS:
            with self.subTest(name):
                source, build = self.folder / name, self.folder / f"build-{name}"
                shutil.copytree(ROOT / "examples" / "embed" / name, source)
                run("cmake", "-G", "Ninja", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                    "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror")
                run("cmake", "--build", build)
                self.assertEqual(run(build / name), self.expected(name))

    @unittest.skipUnless(shutil.which("pkg-config"), "there is no pkg-config here")
    def test_pkg_config(self):
        env = {**os.environ, "PKG_CONFIG_PATH": str(self.library.parent / "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "talc", env=env).split()
        source = ROOT / "examples" / "embed" / "hello" / "main.cpp"
        program = self.folder / "by_pkg_config"
        run(os.environ.get("CXX", "c++"), "-std=c++20", source, "-o", program, *flags)
        env["LD_LIBRARY_PATH"] = str(self.library.parent)
        self.assertEqual(run(program, env=env), self.expected("hello"))

    def test_program(self):
        self.assertEqual(run(self.prefix / "bin" / "talc", "-c", "print(6 * 7)"), "42\n")

    def test_symbols(self):
        """Only the API of the header shows; nothing of LLVM or of the C++ library's templates."""
        shown = [line.split(None, 2)[1:] for line in run("nm", "-D", "-C", "--defined-only", self.library).splitlines()]
        names = [name for kind, name in shown if kind.isupper()]
        self.assertTrue(any(name.startswith("talc::Engine::call") or name.startswith("talc::Engine::eval") for name in names))
        allowed = re.compile(r"(vtable for |typeinfo for |typeinfo name for )?talc::(detail::)?\w+(\W|$)")
        for name in names:
            self.assertRegex(name, allowed)
            self.assertNotRegex(name, r"talc::(base|lang|vm|tensor|graph|autograd|inductor|jit|stdlib|repl|Engine::State)::")
        needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", self.library))
        self.assertFalse([name for name in needed if not re.match(r"(libc|libm|libstdc\+\+|libgcc_s|ld-linux.*)\.so", name)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=str(ROOT / "build"))
    OPTIONS = parser.parse_args()
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(0 if result.wasSuccessful() else 1)
