#!/usr/bin/env python3
"""Runs the test scripts and the golden dumps with the program, or the scripts with CPython (--oracle).

What a script expects stands in its comments: see expectations.py.
A golden test is tests/golden/NAME.tc with NAME.tokens, NAME.ast, NAME.bytecode ... beside it: each is what
`talc --dump=KIND` prints. --rebaseline writes them anew.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import expectations  # noqa: E402

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent

# Environment of each engine; its time limit is that of the first times the factor.
ENGINES = {
    "interp": ({"TALC_JIT": "off"}, 1),
    # Everything that can be recorded is, at once.
    "jit-eager": ({"TALC_JIT": "on", "TALC_JIT_PARAMS": "everything=1,warm_rounds=1,warm_calls=1,hot_exit=1,backend=eager"}, 3),
    "jit-aot": ({"TALC_JIT": "on", "TALC_JIT_PARAMS": "everything=1,warm_rounds=1,warm_calls=1,hot_exit=1,backend=aot_eager"}, 3),
    "jit": ({"TALC_JIT": "on"}, 3),
    # Tensors are made on the GPU unless a script says otherwise.
    "cuda": ({"TALC_JIT": "off", "TALC_DEVICE": "cuda"}, 3),
    "cuda-jit": ({"TALC_JIT": "on", "TALC_DEVICE": "cuda"}, 3),
    # The same on a GPU made of the CPU, whose memory nobody else can touch.
    "cuda-emulated": ({"TALC_JIT": "on", "TALC_DEVICE": "cuda", "TALC_CUDA": "emulated"}, 4),
    "gc-stress": ({"TALC_JIT": "off", "TALC_GC_STRESS": "1", "TALC_VERIFY": "1"}, 6),
}
GOLDEN_KINDS = ("tokens", "ast", "bytecode", "output")


@dataclass
class Outcome:
    name: str
    status: str  # passed, failed, skipped
    seconds: float = 0.0
    detail: str = ""


@dataclass
class Finished:
    status: int
    stdout: str
    stderr: str
    timed_out: bool = False


LIVE = set()  # leaders of the running process groups


def end_all(signum, frame) -> None:
    """Asked to stop: scripts are in groups of their own and would go on."""
    for leader in list(LIVE):
        try:
            os.killpg(leader, signal.SIGKILL)
        except ProcessLookupError:
            pass
    os._exit(128 + signum)


def run_process(command, stdin: bytes, env, timeout: float, cwd) -> Finished:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=env, cwd=cwd, start_new_session=True)
    LIVE.add(process.pid)
    timed_out = False
    try:
        out, err = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    LIVE.discard(process.pid)
    return Finished(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), timed_out)


def base_environment() -> dict[str, str]:
    kept = ("TALC_CUDA", "TALC_CACHE", "TALC_CUDA_SOURCES")  # an emulated GPU, places for kernels
    env = {key: value for key, value in os.environ.items() if key in kept or not key.startswith(("TALC_", "PYTHON"))}
    env.update(LC_ALL="C.UTF-8", NO_COLOR="1", PYTHONIOENCODING="utf-8", PYTHONHASHSEED="0")
    # A leak check costs seconds in each process: run.py makes one for all scripts together.
    env.setdefault("ASAN_OPTIONS", "exitcode=99:allocator_may_return_null=1:detect_leaks=0")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1:exitcode=99")
    return env


def has(requirement: str) -> bool:
    if requirement == "gpu":
        return shutil.which("nvidia-smi") is not None or os.path.exists("/dev/nvidiactl")
    return False


def run_script(path: Path, root: Path, talc: str, engine: str, oracle: bool, limit: float) -> Outcome:
    name = path.relative_to(root).with_suffix("").as_posix()
    began = time.monotonic()
    try:
        expected = expectations.read(path)
    except (expectations.BadDirective, ValueError) as problem:
        return Outcome(name, "failed", 0, str(problem))
    missing = [requirement for requirement in expected.requires if not has(requirement)]
    if missing:
        return Outcome(name, "skipped", 0, "needs " + ", ".join(missing))
    if oracle and expected.no_oracle:
        return Outcome(name, "skipped", 0, expected.no_oracle)
    if engine in expected.skipped_engines:
        return Outcome(name, "skipped", 0, expected.skipped_engines[engine])

    env = base_environment()
    factor = 1.0
    if oracle:
        program = [sys.executable, "-B", str(TESTS / "oracle.py")]
    else:
        program = [talc]
        settings, factor = ENGINES[engine]
        env.update(settings)
    env.update(expected.env)
    stdin = expected.stdin.encode()
    if expected.run == "file" or oracle:
        command = program + [str(path)] + expected.args
    elif expected.run == "code":
        command = program + ["-c", path.read_text()] + expected.args
    else:
        command = program + ["-"] + expected.args
        stdin = path.read_bytes()
    with tempfile.TemporaryDirectory(prefix="talc-test-") as folder:
        done = run_process(command, stdin, env, (expected.timeout or limit) * factor, folder)
    seconds = time.monotonic() - began
    if done.timed_out:
        return Outcome(name, "failed", seconds, "timed out")
    wrong = expectations.differences(expected, done.status, done.stdout, done.stderr, oracle, engine.startswith("cuda"))
    if not wrong:
        return Outcome(name, "passed", seconds)
    detail = "\n".join(wrong)
    if done.stderr.strip() and expected.error is None:
        detail += "\nstderr:\n" + indent("\n".join(done.stderr.rstrip().split("\n")[-25:]))
    return Outcome(name, "failed", seconds, detail)


def run_golden(path: Path, talc: str, kind: str, rebaseline: bool, limit: float) -> Outcome:
    golden = path.with_suffix("." + kind)
    name = f"golden/{path.stem}.{kind}"
    began = time.monotonic()
    # Run from the root, so that the file's name in a dump does not depend on where the repository lies.
    command = [talc, f"--dump={kind}", path.relative_to(ROOT).as_posix()]
    done = run_process(command, b"", base_environment(), limit, ROOT)
    seconds = time.monotonic() - began
    if done.timed_out or done.status != 0:
        detail = "timed out" if done.timed_out else f"status {done.status}\n{done.stderr.rstrip()}"
        return Outcome(name, "failed", seconds, detail)
    if rebaseline:
        changed = not golden.exists() or golden.read_text() != done.stdout
        golden.write_text(done.stdout)
        return Outcome(name, "passed", seconds, "rewritten" if changed else "")
    if not golden.exists():
        return Outcome(name, "failed", seconds, f"{golden.name} is missing; ./dev rebaseline writes it")
    if done.stdout == golden.read_text():
        return Outcome(name, "passed", seconds)
    difference = expectations._first_difference(golden.read_text().split("\n"), done.stdout.split("\n"))
    return Outcome(name, "failed", seconds, difference[0])


def indent(text: str) -> str:
    return "\n".join("    " + line for line in text.split("\n"))


def collect(root: Path, names: list[str]) -> list[Path]:
    files = [path for path in sorted(root.rglob("*.tc")) if not expectations.is_helper(path, root)]
    if names:
        files = [path for path in files if any(name in path.as_posix() for name in names)]
    return files


def golden_jobs(folder: Path, names: list[str], rebaseline: bool) -> list[tuple[Path, str]]:
    jobs = []
    for path in sorted(folder.glob("*.tc")):
        if names and not any(name in path.as_posix() for name in names):
            continue
        kinds = [kind for kind in GOLDEN_KINDS if path.with_suffix("." + kind).exists()]
        if not kinds:  # a new one: all stages of the front end
            kinds = ["tokens", "ast", "bytecode"]
        jobs += [(path, kind) for kind in kinds]
    return jobs


def report(outcome: Outcome, label: str, verbose: bool) -> None:
    if outcome.status == "failed":
        print(f"FAILED [{label}] {outcome.name}\n{indent(outcome.detail)}", flush=True)
    elif verbose or (outcome.detail and outcome.status == "passed"):
        print(f"{outcome.status} [{label}] {outcome.name} {outcome.seconds:.2f}s {outcome.detail}".rstrip())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="run only what has one of these in its path")
    parser.add_argument("--talc", default=str(ROOT / "build" / "talc"))
    parser.add_argument("--root", default=str(TESTS / "scripts"), help="folder of the scripts")
    parser.add_argument("--engine", action="append", choices=sorted(ENGINES), help="may be given several times")
    parser.add_argument("--oracle", action="store_true", help="check the expectations against CPython")
    parser.add_argument("--golden", action="store_true", help="the golden dumps instead of the scripts")
    parser.add_argument("--rebaseline", action="store_true", help="rewrite the golden dumps")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds for a script")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--summary", help="write the counts into this file, as JSON")
    parser.add_argument("--slowest", type=int, default=0, help="list the slowest ones")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()

    signal.signal(signal.SIGTERM, end_all)
    talc = os.path.abspath(options.talc)
    if not options.oracle and not os.access(talc, os.X_OK):
        print(f"{talc} is missing; ./dev build makes it")
        return 1
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    outcomes = []
    with ThreadPoolExecutor(options.jobs) as pool:
        groups = []
        if options.golden or options.rebaseline:
            jobs = golden_jobs(TESTS / "golden", options.names, options.rebaseline)
            groups.append(("golden", pool.map(
                lambda job: run_golden(job[0], talc, job[1], options.rebaseline, options.timeout), jobs)))
        else:
            root = Path(options.root).resolve()
            files = collect(root, options.names)
            engines = ["python"] if options.oracle else options.engine or ["interp"]
            for engine in engines:
                groups.append((engine, pool.map(
                    lambda path, engine=engine: run_script(path, root, talc, engine, options.oracle, options.timeout),
                    files)))
        for label, results in groups:
            for outcome in results:
                counts[outcome.status] += 1
                outcomes.append(outcome)
                report(outcome, label, options.verbose)
    for outcome in sorted(outcomes, key=lambda one: -one.seconds)[: options.slowest]:
        print(f"{outcome.seconds:8.2f}s {outcome.name}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    if options.summary:
        Path(options.summary).write_text(json.dumps(counts))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
