#!/usr/bin/env python3
"""Everything that is to be shown on a machine with a GPU, in sections, with one summary at the end.

    gpu-check                  all sections
    gpu-check cuda bench       these
    gpu-check --limit 300      all, in so many seconds

Sections that need a GPU are skipped where there is none, and say so. A section has a time limit of its own and does not
stop the others. All that is printed stands in full in the file given with --log."""

import argparse
import json
import lzma
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
BENCH = ROOT / "bench" / "gpu"
sys.path[:0] = [str(BENCH), str(TESTS)]
import expectations  # noqa: E402
import figures  # noqa: E402

# Those of scripts/cuda name their devices themselves, and run among all scripts.
TENSOR_SCRIPTS = ["scripts/tensor_", "scripts/nn/", "scripts/optim/"]
TEXTBOOK_SCRIPTS = ["scripts/jit/"]
# Under compute-sanitizer everything takes many times as long: one script of each kind.
MEMCHECK_SCRIPTS = ["jit/01_tiny_ops", "jit/03_branch", "jit/10_training", "jit/11_in_place", "jit/17_masks_and_shapes",
                    "jit/22_failures", "tensor_reduce/", "tensor_index/", "cuda/devices", "cuda/error_line", "cuda/reads", "cuda/stores",
                    "cuda/tracing", "cuda/training"]
RACECHECK_SCRIPTS = ["jit/01_tiny_ops", "jit/10_training", "tensor_reduce/", "cuda/stores", "cuda/training"]
FIGURE_SCRIPTS = ("chain", "row_sum", "call", "branch", "train")
KEPT_VARIABLES = ("TALC_CUDA", "TALC_CACHE")  # an emulated GPU, a place for compiled kernels
SHOWN_LINES = 40  # of each section; the log has them all


@dataclass
class Result:
    status: str  # passed, failed, skipped
    text: str
    seconds: float = 0.0


@dataclass
class Machine:
    """What the sections need to know about the place."""
    talc: Path
    build: Path
    unpacked: Path
    jobs: int
    gpu: bool = False
    no_gpu_because: str = ""
    rows: list = field(default_factory=list)  # of the figures


@dataclass
class Section:
    name: str
    seconds: float
    needs_gpu: bool
    run: object
    what: str


class Printer:
    """Lines on the terminal, the first few of a section, and all of them in the log."""

    def __init__(self, log):
        self.log = log
        self.shown = 0

    def say(self, line=""):
        print(line, flush=True)
        if self.log:
            print(line, file=self.log, flush=True)

    def detail(self, line):
        self.shown += 1
        if self.shown <= SHOWN_LINES:
            print("    " + line[:200], flush=True)
        elif self.shown == SHOWN_LINES + 1:
            print("    ...", flush=True)
        if self.log:
            print("    " + line, file=self.log, flush=True)


@dataclass
class Run:
    """One process of a section: its lines as they come, and what became of it."""
    status: int = 0
    timed_out: bool = False
    lines: list = field(default_factory=list)


class Clock:
    def __init__(self, seconds):
        self.ends = time.monotonic() + seconds

    def left(self):
        return max(self.ends - time.monotonic(), 0.0)


def environment(**more):
    env = {key: value for key, value in os.environ.items() if not key.startswith("TALC_") or key in KEPT_VARIABLES}
    env.update(LC_ALL="C.UTF-8", NO_COLOR="1", PYTHONUNBUFFERED="1", **more)
    return env


def stream(printer, clock, command, env=None, show=True, cwd=None):
    """Runs a command until the clock ends, with its lines printed as they come."""
    run = Run()
    if clock.left() < 0.5:
        run.timed_out, run.status = True, -9
        return run
    process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, env=env or environment(), cwd=cwd, start_new_session=True)

    def end():
        run.timed_out = True
        try:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(2)
            except subprocess.TimeoutExpired:
                pass
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    timer = threading.Timer(clock.left(), end)
    timer.start()
    try:
        for line in process.stdout:
            text = line.decode("utf-8", "replace").rstrip("\n")
            run.lines.append(text)
            if show:
                printer.detail(text)
        run.status = process.wait()
    finally:
        timer.cancel()
    return run


def verdict(run, counts):
    """A runner that ends with `N passed, M failed`."""
    if run.timed_out:
        return Result("failed", f"{counts}, then out of time" if counts else "out of time")
    return Result("failed" if run.status else "passed", counts or f"status {run.status}")


def last_counts(run):
    return next((line for line in reversed(run.lines) if re.match(r"\d+ passed, \d+ failed", line)), "")


def together(results):
    status = "failed" if any(one.status == "failed" for one in results) else "passed"
    return Result(status, "; ".join(one.text for one in results))


# --- the sections


def about_machine(printer, clock, machine):
    version = ROOT / "VERSION"
    talc = stream(printer, clock, [machine.talc, "--version"], show=False)
    printer.detail(f"{' '.join(talc.lines[:1])}, commit {version.read_text().strip() if version.exists() else 'unknown'}")
    printer.detail(f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} cores, "
                   f"{' '.join(platform.libc_ver())}, Python {platform.python_version()}")
    if shutil.which("nvidia-smi"):
        stream(printer, clock, ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"])
    if talc.status != 0:
        return Result("failed", "the program does not start: " + " ".join(talc.lines[-2:]))
    return Result("passed", "GPU" if machine.gpu else f"no GPU ({machine.no_gpu_because})")


def program(machine, name):
    """A program of the build, unpacked first where it is packed."""
    plain, packed = machine.build / name, machine.build / (name + ".xz")
    if plain.exists() or not packed.exists():
        return plain
    unpacked = machine.unpacked / name
    if not unpacked.exists():
        with lzma.open(packed) as source, open(unpacked, "wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
        unpacked.chmod(0o755)
    return unpacked


UNIT_TESTS_TOGETHER = 20  # in one process; those that walk all operators or kernels are alone


def counted(run):
    """How many tests passed and failed, of the line that the unit tests end with."""
    for line in reversed(run.lines):
        if match := re.search(r"All tests passed \(.* in (\d+) test case", line):
            return int(match[1]), 0
        if line.startswith("test cases:"):
            found = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed)", line)}
            return found.get("passed", 0), found.get("failed", 0)
    return 0, 0


def side_by_side(work, jobs):
    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def unit_tests(printer, clock, machine):
    """Side by side, in several processes: where nothing is cached, operators are compiled one by one."""
    unit = program(machine, "talc_unit")
    if not unit.exists():
        return Result("skipped", "talc_unit was not built")
    env = environment(TALC_SOURCE_DIR=str(ROOT))
    names = [line for line in stream(printer, clock, [unit, "--list-test-names-only"], env, show=False).lines if line.strip()]
    alone = [[name] for name in names if name.startswith("every ")]
    rest = [name for name in names if not name.startswith("every ")]
    queue = alone + [rest[i:i + UNIT_TESTS_TOGETHER] for i in range(0, len(rest), UNIT_TESTS_TOGETHER)]
    queue = list(enumerate(queue))
    lock, passed, failed, late = threading.Lock(), [], [], []

    def work():
        while True:
            with lock:
                if not queue:
                    return
                number, tests = queue.pop(0)
            chosen = machine.unpacked / f"tests-{number}"
            chosen.write_text("".join(name.replace(",", "\\,") + "\n" for name in tests))
            run = stream(printer, clock, [unit, "-f", chosen, "--durations", "yes"], env, show=False, cwd=machine.unpacked)
            good, bad = counted(run)
            with lock:
                passed.append(good)
                if run.timed_out:
                    late.append(len(tests))
                elif run.status != 0:
                    failed.append(max(bad, 1))
                    for line in run.lines:
                        if not re.match(r"\d+\.\d+ s: ", line):
                            printer.detail(line)
                for line in run.lines:
                    if (match := re.match(r"(\d+\.\d+) s: ", line)) and float(match[1]) > 5:
                        printer.detail(line)

    side_by_side(work, max(machine.jobs, 1))
    text = f"{sum(passed)} of {len(names)} passed, {sum(failed)} failed" + (f", {sum(late)} out of time" if late else "")
    return Result("passed" if sum(passed) == len(names) and not failed and not late else "failed", text)


def scripts(printer, clock, machine, engine, names, extra=()):
    command = [sys.executable, "-B", TESTS / "run_scripts.py", "--talc", machine.talc, "--engine", engine,
               "--jobs", machine.jobs, *extra, *names]
    run = stream(printer, clock, command)
    result = verdict(run, last_counts(run))
    result.text = f"{engine}: {result.text}"
    return result


def scripts_on_cpu(printer, clock, machine):
    return together([scripts(printer, clock, machine, engine, []) for engine in ("interp", "jit")])


def scripts_on_cuda(printer, clock, machine):
    return together([scripts(printer, clock, machine, engine, TENSOR_SCRIPTS) for engine in ("cuda", "cuda-jit")])


def textbook_on_cuda(printer, clock, machine):
    results = [scripts(printer, clock, machine, "cuda", TEXTBOOK_SCRIPTS)]
    results.append(scripts(printer, clock, machine, "cuda-jit", ["examples/train"], ("--root", ROOT / "examples")))
    return together(results)


def random_programs(printer, clock, machine):
    """Eager operators, compiled code on the operators' kernels, and native code: on the GPU, beside the CPU."""
    results = []
    campaigns = (("interp", 600), ("eager", 600), ("inductor", 600))  # as many as there is time for
    for position, (backend, count) in enumerate(campaigns):
        seconds = clock.left() / (len(campaigns) - position)
        run = stream(printer, clock, [sys.executable, "-B", TESTS / "programs" / "run.py", count, "--backend", backend,
                                      "--device", "cuda", "--talc", machine.talc, "--jobs", min(machine.jobs, 8), "--batch", 10,
                                      "--shrunk", 0, "--seconds", max(seconds - 10, 1), "--timeout", 30])
        counts = next((line for line in reversed(run.lines) if re.match(r"\d+ programs, ", line)), "")
        results.append(verdict(run, counts))
    return together(results)


def sanitize(printer, clock, machine, tool, names):
    found = [path for path in sorted((TESTS / "scripts").rglob("*.tc"))
             if any(name in path.as_posix() for name in names) and not path.name.startswith("_")]
    clean, dirty, late, lock = [], [], [], threading.Lock()
    queue = list(reversed(found))

    def work():
        while True:
            with lock:
                if not queue:
                    return
                path = queue.pop()
            quiet = Printer(None)
            quiet.shown = SHOWN_LINES + 1
            expected = expectations.read(path)
            where = {} if path.parent.name == "cuda" else {"TALC_DEVICE": "cuda"}
            run = stream(quiet, clock, ["compute-sanitizer", "--tool", tool, "--error-exitcode", "99", machine.talc, path],
                         environment(**where, **expected.env), show=False, cwd=machine.unpacked)
            summary = next((line for line in reversed(run.lines) if "SUMMARY" in line), "")
            with lock:
                name = path.relative_to(TESTS / "scripts").with_suffix("").as_posix()
                if run.timed_out:
                    late.append(name)
                elif run.status != expected.status or re.search(r"SUMMARY: [1-9]", summary) or not summary:
                    dirty.append(name)
                    printer.detail(f"{tool} {name}: status {run.status}, {summary or 'no summary'}")
                    for line in [one for one in run.lines if one.startswith("=====") or run.status == 1][-12:]:
                        printer.detail("    " + line)
                else:
                    clean.append(name)

    side_by_side(work, min(machine.jobs, 4))
    text = f"{tool}: {len(clean)} clean, {len(dirty)} not" + (f", {len(late)} out of time" if late else "")
    return Result("failed" if dirty or late or not clean else "passed", text)


def sanitizer(printer, clock, machine):
    if not shutil.which("compute-sanitizer"):
        return Result("skipped", "compute-sanitizer is not installed")
    first = sanitize(printer, Clock(clock.left() * 0.6), machine, "memcheck", MEMCHECK_SCRIPTS)
    return together([first, sanitize(printer, clock, machine, "racecheck", RACECHECK_SCRIPTS)])


def rows_of(run):
    rows = []
    for line in run.lines:
        if line.startswith("{"):
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                pass
    return rows


def own_figures(printer, clock, machine):
    rows, broken = [], []
    for name in FIGURE_SCRIPTS:
        run = stream(printer, Clock(min(clock.left(), 25)), [machine.talc, BENCH / f"{name}.tc", "cuda"], environment(TALC_JIT="off"))
        rows += rows_of(run)
        if run.status != 0:
            broken.append(name + (" (out of time)" if run.timed_out else ""))
    with tempfile.TemporaryDirectory(prefix="talc-cache-") as cache:
        for state in ("cold", "warm"):
            env = environment(TALC_JIT="off", TALC_CACHE=cache, CUDA_CACHE_PATH=cache + "/driver")
            run = stream(printer, Clock(min(clock.left(), 25)), [machine.talc, BENCH / "first_call.tc", "cuda", state], env)
            rows += rows_of(run)
            if run.status != 0:
                broken.append(f"first_call {state}")
    machine.rows += rows
    _, missed = figures.table(rows)
    text = f"{len(rows)} figures, {missed} limits missed" + (f"; failed: {', '.join(broken)}" if broken else "")
    return Result("failed" if broken or missed else "passed", text)


def peers(printer, clock, machine):
    run = stream(printer, clock, [sys.executable, "-B", BENCH / "peers.py", "cuda"], show=False)
    rows = rows_of(run)
    for row in rows:
        if "peer" in row:
            printer.detail(", ".join(str(value) for value in row.values()))
    machine.rows += rows
    count = sum("ms" in row for row in rows)
    if run.status != 0 and not run.timed_out:
        for line in run.lines[-5:]:
            printer.detail(line)
    if not count and not run.timed_out:
        return Result("skipped", "neither PyTorch nor JAX runs here")
    return Result("passed" if count else "failed", f"{count} figures" + (", then out of time" if run.timed_out else ""))


SECTIONS = (
    Section("machine", 20, False, about_machine, "the program starts; what it runs on"),
    Section("unit", 60, False, unit_tests, "unit tests"),
    Section("scripts", 90, False, scripts_on_cpu, "all script tests, interpreter and jit, on the CPU"),
    Section("cuda", 90, True, scripts_on_cuda, "script tests of tensors, on the GPU"),
    Section("textbook", 40, True, textbook_on_cuda, "the textbook's programs and the training example, on the GPU"),
    Section("programs", 60, True, random_programs, "random programs, the GPU beside the CPU"),
    Section("sanitizer", 80, True, sanitizer, "compute-sanitizer: memcheck and racecheck"),
    Section("bench", 60, True, own_figures, "figures, held to their limits"),
    Section("peers", 150, True, peers, "the same under PyTorch and JAX"),
)


def look_for_gpu(machine):
    """A GPU that the system has and Talc cannot use is no reason to skip anything: those sections shall fail."""
    if shutil.which("nvidia-smi") or os.path.exists("/dev/nvidiactl") or os.environ.get("TALC_CUDA") == "emulated":
        machine.gpu = True
    else:
        machine.no_gpu_because = "neither nvidia-smi nor /dev/nvidiactl is there"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="sections:\n" + "\n".join(f"  {one.name:10} {one.what}" for one in SECTIONS))
    parser.add_argument("sections", nargs="*", metavar="SECTION")
    parser.add_argument("--build", default=str(ROOT / "build"), help="folder of the programs")
    parser.add_argument("--limit", type=float, default=540.0, help="seconds for everything")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 2, 16))
    parser.add_argument("--log", help="everything that is printed, in full")
    options = parser.parse_args()
    unknown = [name for name in options.sections if name not in [one.name for one in SECTIONS]]
    if unknown:
        parser.error(f"no section is called {', '.join(unknown)}; there are {', '.join(one.name for one in SECTIONS)}")
    build = Path(options.build).resolve()
    if not os.access(build / "talc", os.X_OK):
        parser.error(f"{build / 'talc'} is missing")
    whole = Clock(options.limit)
    results = []
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        machine = Machine(build / "talc", build, Path(folder), options.jobs)
        look_for_gpu(machine)
        log = open(options.log, "w") if options.log else None
        for section in SECTIONS:
            if options.sections and section.name not in options.sections:
                continue
            printer = Printer(log)
            printer.say(f"== {section.name}: {section.what}")
            began = time.monotonic()
            if section.needs_gpu and not machine.gpu:
                result = Result("skipped", f"no GPU: {machine.no_gpu_because}")
            elif whole.left() < 5:
                result = Result("skipped", "no time left")
            else:
                try:
                    result = section.run(printer, Clock(min(section.seconds, whole.left())), machine)
                except Exception as problem:  # whatever it is, the other sections can still say something
                    result = Result("failed", f"{type(problem).__name__}: {problem}")
            result.seconds = time.monotonic() - began
            results.append((section, result))
            printer.say(f"   {result.status} ({result.seconds:.1f} s): {result.text}")
        printer = Printer(log)
        printer.say()
        printer.say("== summary")
        for section, result in results:
            printer.say(f"{section.name:10} {result.status:8} {result.seconds:6.1f} s  {result.text}")
        if any("figure" in row for row in machine.rows):
            printer.say()
            for line in figures.table(machine.rows)[0]:
                printer.say(line)
    return 1 if any(result.status == "failed" for _, result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
