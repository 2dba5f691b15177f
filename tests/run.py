#!/usr/bin/env python3
"""All tests, in order of speed: the checks of the sources, the tests of the test tools, unit tests, golden dumps, scripts
under every engine. Ends with one line that counts them: `N passed, M failed`."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent


class Tally:
    def __init__(self):
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}

    def add(self, title: str, began: float, **counts: int) -> None:
        for key, value in counts.items():
            self.counts[key] += value
        words = ", ".join(f"{value} {key}" for key, value in counts.items() if value or key == "passed")
        print(f"== {title}: {words} ({time.monotonic() - began:.1f} s)", flush=True)


def source_check(tally: Tally, title: str, tool: str) -> None:
    began = time.monotonic()
    ok = subprocess.run([sys.executable, "-B", str(ROOT / "tools" / tool)]).returncode == 0
    tally.add(title, began, passed=int(ok), failed=int(not ok))


def python_tests(tally: Tally, title: str, arguments: list[str]) -> None:
    """Tests written with Python's unittest."""
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-B", *arguments], capture_output=True, text=True, errors="replace")
    match = re.search(r"Ran (\d+) tests?", done.stderr)
    ran = int(match[1]) if match else 0
    bad = sum(int(count) for count in re.findall(r"(?:failures|errors)=(\d+)", done.stderr))
    if done.returncode != 0:
        print(done.stderr)
        bad = max(bad, 1)
    tally.add(title, began, passed=max(ran - bad, 0), failed=bad)


def unit_tests(tally: Tally, build: Path, names: list[str]) -> None:
    program = build / "talc_unit"
    if not program.exists():
        print("talc_unit was not built: no unit tests")
        tally.add("unit tests", time.monotonic(), failed=0 if names else 1)
        return
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="talc-test-") as folder:
        report = Path(folder) / "report.xml"
        command = [str(program), "-r", "junit", "-o", str(report)] + ([",".join(f"*{name}*" for name in names)] if names else [])
        try:
            # Tests ask for absurd sizes, which is to be refused as malloc refuses them.
            env = {"ASAN_OPTIONS": "allocator_may_return_null=1", **os.environ}
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=900, env=env)
            status = done.returncode
            noise = done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            status, noise = -9, "the unit tests timed out"
        try:
            cases = xml.parse(report).getroot().iter("testcase")
        except (OSError, xml.ParseError):
            cases = []
        results: dict[str, list[str]] = {}
        for case in cases:
            # Sections of a test come as rows of their own: a test has failed when one of them has.
            name = case.get("name", "").split("/")[0]
            problems = results.setdefault(name, [])
            for problem in [*case.iter("failure"), *case.iter("error")]:
                problems.append((problem.get("message") or "") + "\n" + (problem.text or ""))
    failed = {name: problems for name, problems in results.items() if problems}
    for name, problems in failed.items():
        print(f"FAILED [unit] {name}\n" + "\n".join("    " + line for text in problems for line in text.split("\n")))
    bad = len(failed)
    nothing_matched = names and not results and status in (0, 2)
    if status != 0 and bad == 0 and not nothing_matched:
        print(f"FAILED [unit] the program ended with status {status}\n{noise[-4000:]}")
        bad = 1
    tally.add("unit tests", began, passed=len(results) - len(failed), failed=bad)


def text_oracle(tally: Tally, build: Path) -> None:
    """The text functions against the CPython that runs this, on random cases."""
    driver = build / "text_driver"
    if not driver.exists():
        return
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-B", str(TESTS / "text_oracle.py"), str(driver)], stdout=subprocess.PIPE,
                          text=True)
    if done.returncode != 0:
        print(done.stdout)
    skipped = "skipped" in done.stdout
    tally.add("text functions against CPython", began, passed=int(done.returncode == 0 and not skipped),
              failed=int(done.returncode != 0), skipped=int(skipped))


def leak_test(tally: Tally, program: Path) -> None:
    """All scripts in one process, whose end is a leak check; only a sanitizer build has the program."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="talc-test-") as folder:
        done = subprocess.run([str(program), "--seeds", str(TESTS / "scripts"), "--count", "0", "--out", folder],
                              stdout=subprocess.PIPE, text=True, errors="replace")
    if done.returncode != 0:
        print(done.stdout)
    tally.add("leaks", began, passed=int(done.returncode == 0), failed=int(done.returncode != 0))


def random_programs(tally: Tally, build: Path, backend: str, count: int) -> None:
    """Random programs, the interpreter beside compiled code."""
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-B", str(TESTS / "programs" / "run.py"), str(count), "--backend", backend,
                           "--talc", str((build / "talc").resolve()), "--shrunk", "1"], stdout=subprocess.PIPE, text=True)
    match = re.search(r"(\d+) programs, \S+: (\d+) differ", done.stdout)
    ran, bad = (int(match[1]), int(match[2])) if match else (0, 1)
    if bad:
        print(done.stdout)
    tally.add(f"random programs, {backend}", began, passed=ran - bad, failed=bad)


def script_tests(tally: Tally, title: str, arguments: list[str]) -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="talc-test-") as folder:
        summary = Path(folder) / "summary.json"
        done = subprocess.run([sys.executable, "-B", str(TESTS / "run_scripts.py"), "--summary", str(summary),
                               *arguments], stdout=subprocess.PIPE, text=True)
        if summary.exists():
            counts = json.loads(summary.read_text())
            for line in done.stdout.split("\n")[:-2]:  # all but the line that counts
                print(line)
        else:
            counts = {"passed": 0, "failed": 1, "skipped": 0}
            print(done.stdout)
    tally.add(title, began, **counts)


def kernels_compile(tally: Tally, build: Path) -> None:
    """Every kernel that unit tests and scripts made on an emulated GPU, through the compiler of CUDA."""
    began = time.monotonic()
    done = subprocess.run([str(build / "talc_unit"), "[collected]"], stdout=subprocess.PIPE, text=True, errors="replace")
    if done.returncode != 0:
        print(done.stdout[-4000:])
    skipped = "skipped" in done.stdout
    count = re.search(r"(\d+) kernels", done.stdout)
    tally.add(f"{count[1] if count else 'no'} kernels compile for sm_80 and sm_90", began,
              passed=int(done.returncode == 0 and not skipped), failed=int(done.returncode != 0), skipped=int(skipped))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only unit tests, golden dumps and scripts with this in their name")
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--quick", action="store_true", help="leave out the slow engines")
    parser.add_argument("--oracle", action="store_true", help="check the scripts' expectations against CPython, only")
    parser.add_argument("--timeout", default="20")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="talc-kernels-") as kernels:
        if not options.names and not options.quick:
            os.environ["TALC_CUDA_SOURCES"] = kernels
        return run(options)


def run(options: argparse.Namespace) -> int:
    build = Path(options.build)
    common = ["--talc", str(build / "talc"), "--timeout", options.timeout, *options.names]
    tally = Tally()
    if options.oracle:
        script_tests(tally, "expectations against CPython", ["--oracle", *common])
    else:
        if not options.names:
            source_check(tally, "includes", "check_includes.py")
            source_check(tally, "style", "check_style.py")
            python_tests(tally, "test tools", ["-m", "unittest", "discover", "-s", str(TESTS / "selftest"), "-t", str(TESTS)])
        unit_tests(tally, build, options.names)
        if not options.names:
            text_oracle(tally, build)
        if os.access(build / "talc", os.X_OK):
            script_tests(tally, "golden dumps", ["--golden", *common])
            script_tests(tally, "examples", ["--root", str(ROOT / "examples"), *common])
            for engine in ["interp", "jit"] if options.quick else ["interp", "jit", "jit-eager", "jit-aot", "gc-stress"]:
                script_tests(tally, f"scripts, {engine}", ["--engine", engine, *common])
            if not options.names:
                names = ["scripts/tensor_", "scripts/nn/", "scripts/optim/", "scripts/cuda/"]
                names += [] if options.quick else ["scripts/jit/"]
                script_tests(tally, "scripts, cuda-emulated", ["--engine", "cuda-emulated", *common, *names])
                if not options.quick and (build / "talc_unit").exists():
                    kernels_compile(tally, build)
            if not options.names or "programs" in options.names:
                for backend, count in (("eager", 300), ("aot_eager", 200), ("inductor", 40)):
                    random_programs(tally, build, backend, count if not options.quick else count // 4)
            if not options.names or "prompt" in options.names:
                python_tests(tally, "prompt at a terminal", [str(TESTS / "repl_test.py"), "--talc", str(build / "talc"),
                                                             "--timeout", options.timeout])
            if (build / "libtalc.so").exists() and (not options.names or "install" in options.names):
                python_tests(tally, "installed package", [str(TESTS / "install_test.py"), "--build", str(build)])
            if (build / "talc_fuzz").exists() and not options.names:
                leak_test(tally, build / "talc_fuzz")
        else:
            print(f"{build}/talc was not built: no script tests")
            tally.counts["failed"] += 1
    counts = tally.counts
    line = f"{counts['passed']} passed, {counts['failed']} failed"
    print(line + (f", {counts['skipped']} skipped" if counts["skipped"] else ""))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
