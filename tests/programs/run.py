#!/usr/bin/env python3
"""Random programs under the interpreter and under compiled code: their output must be the same.

    run.py 1000                          1000 programs, compiled code on the operators' own kernels (bit-exact)
    run.py 1000 --backend aot_eager      the same with gradients taken on the captured graph (bit-exact)
    run.py 1000 --backend inductor       native code (numbers may differ by rounding)
    run.py 1000 --device cuda            the interpreter on the CPU beside compiled code on the GPU
    run.py 1000 --moving                 the sizes of arguments change with every call
    run.py --seed 17 --show              one program
    run.py --planted                     deliberate miscompiles, of a build with TALC_PLANT_BUGS: each must be found

What differs is shrunk and written into build/programs."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import generator  # noqa: E402

MARK = "@@"
BACKENDS = ("eager", "aot_eager", "inductor", "interp")  # the last: no compiled code, on another device
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+|inf|nan)(?![\w])")
ADDRESS = re.compile(r"0x[0-9a-f]+")


def environment(**more):
    kept = ("TALC_CUDA", "TALC_CACHE")  # an emulated GPU, a place for compiled kernels
    env = {key: value for key, value in os.environ.items() if key in kept or not key.startswith("TALC_")}
    env.update(LC_ALL="C.UTF-8", NO_COLOR="1")
    env.update(more)
    return env


def engine(backend, flavour, device=""):
    """Of three flavours: the programs' functions are compiled (2: with symbols for all sizes), or everything is that can be."""
    where = {"TALC_DEVICE": device} if device else {}
    if backend == "interp":
        return environment(TALC_JIT="off", **where)
    if flavour in (0, 2):
        dynamic = {"TALC_PROGRAMS_DYNAMIC": "1"} if flavour == 2 else {}
        return environment(TALC_JIT="off", TALC_PROGRAMS_BACKEND=backend, **dynamic, **where)
    return environment(TALC_JIT="on", TALC_JIT_PARAMS=f"everything=1,warm_rounds=1,warm_calls=1,hot_exit=1,backend={backend}",
                       **where)


def bit_exact(options, backend):
    return backend != "inductor" and not options.device


def close(a, b):
    x, y = float(a), float(b)
    if x == y or (x != x and y != y):
        return True
    return abs(x - y) <= 1e-5 + 1e-4 * max(abs(x), abs(y))


def same(expected, actual, exact):
    if expected == actual:
        return True
    if exact or expected is None or actual is None:
        return False
    a, b = expected.split("\n"), actual.split("\n")
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if x == y:
            continue
        if NUMBER.sub("#", x) != NUMBER.sub("#", y):
            return False
        if not all(close(p, q) for p, q in zip(NUMBER.findall(x), NUMBER.findall(y))):
            return False
    return True


class Runner:
    def __init__(self, talc, folder, plant="", timeout=60.0):
        self.talc = talc
        self.folder = Path(folder)
        self.plant = plant
        self.timeout = timeout
        shutil.copy(HERE / "show.tc", self.folder / "show.tc")

    def run(self, env, files):
        """Output of each program; None for those that were not reached."""
        driver = self.folder / f"batch_{files[0]}_{os.getpid()}.tc"
        lines = []
        for name in files:
            lines += [f"print('{MARK} {name}', flush=True)", "try:", f"    import {name}", "except Exception as problem:",
                      "    print('died', type(problem).__name__, problem)"]
        lines.append(f"print('{MARK} end')")
        driver.write_text("\n".join(lines) + "\n")
        if self.plant:
            env = {**env, "TALC_PLANTED": self.plant}
        try:
            done = subprocess.run([self.talc, str(driver)], env=env, capture_output=True, timeout=self.timeout, cwd=self.folder)
            out, status, err = done.stdout, done.returncode, done.stderr
        except subprocess.TimeoutExpired as late:
            out, status, err = late.stdout or b"", "timeout", late.stderr or b""
        driver.unlink()
        parts = {}
        current = None
        for line in out.decode("utf-8", "replace").split("\n"):
            if line.startswith(MARK):
                current = line[3:]
                parts[current] = []
            elif current:
                parts[current].append(ADDRESS.sub("0x", line))
        outputs = {name: "\n".join(text) for name, text in parts.items()}
        if "end" not in outputs:  # it did not get to the end
            last = current or files[0]
            words = err.decode("utf-8", "replace").strip().split("\n")[-1]
            outputs[last] = outputs.get(last, "") + f"\nended with status {status} {words}"
            at = files.index(last)
            if at + 1 < len(files):
                outputs.update(self.run({k: v for k, v in env.items() if k != "TALC_PLANTED"}, files[at + 1:]))
        return outputs

    def write(self, name, text):
        (self.folder / f"{name}.tc").write_text(text)


def first_difference(expected, actual):
    a, b = (expected or "").split("\n"), (actual or "").split("\n")
    for k, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return f"line {k + 1}: interpreter: {x[:300]}\n           compiled: {y[:300]}"
    return f"{len(a)} lines against {len(b)}: {(a[len(b):] or b[len(a):])[0][:300]}"


def chunks_of(lines):
    """(first, last) of each line with what is indented under it, from the largest down."""
    out = []
    for k, line in enumerate(lines):
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        end = k + 1
        while end < len(lines) and len(lines[end]) - len(lines[end].lstrip()) > indent:
            end += 1
        out.append((k, end))
    return sorted(out, key=lambda pair: pair[0] - pair[1])


def shrink(text, differs, seconds=60.0):
    """Lines are deleted, and blocks unwrapped, while the outputs still differ."""
    ends = time.monotonic() + seconds
    lines = text.rstrip("\n").split("\n")
    changed = True
    while changed and time.monotonic() < ends:
        changed = False
        # Halves of the top level first, from the end: calls that come after do not matter.
        k = 0
        candidates = chunks_of(lines)
        while k < len(candidates) and time.monotonic() < ends:
            first, last = candidates[k]
            k += 1
            trial = lines[:first] + lines[last:]
            if lines[first].startswith("from show"):
                continue
            if differs("\n".join(trial) + "\n"):
                lines, changed = trial, True
                candidates = chunks_of(lines)
                k = max(0, k - 2)
                continue
            if last - first > 1 and not lines[first].lstrip().startswith(("def ", "class ", "@")):
                body = [line[4:] for line in lines[first + 1:last]]
                trial = lines[:first] + body + lines[last:]
                if differs("\n".join(trial) + "\n"):
                    lines, changed = trial, True
                    candidates = chunks_of(lines)
                    k = max(0, k - 2)
    return "\n".join(lines) + "\n"


def differs_with(runner, backend, flavour, device, exact):
    def differs(text):
        name = "trial"
        runner.write(name, text)
        plain = Runner(runner.talc, runner.folder, "", 5)
        one = plain.run(engine("interp", flavour), [name]).get(name)
        # A loop that has lost its end is no smaller program.
        if one is not None and ("died SyntaxError" in one or "ended with status timeout" in one):
            return False
        other = Runner(runner.talc, runner.folder, runner.plant, 20).run(engine(backend, flavour, device), [name]).get(name)
        return not same(one, other, exact)
    return differs


def campaign(options, backend, seeds, plant="", stop_at=0, quiet=False):
    """Runs the programs with these seeds; gives those that differ."""
    exact = bit_exact(options, backend)
    found = []
    batches = [seeds[k:k + options.batch] for k in range(0, len(seeds), options.batch)]
    began = time.monotonic()
    ran = 0
    interpreted = 0.0

    def one(numbered):
        number, batch = numbered
        if time.monotonic() - began > options.seconds:
            return 0, 0, []
        # What gets hot by itself is compiled beside the program: natively only functions are sure to be met.
        flavours = (0, 1, 2) if options.moving else (0, 1)
        flavours = [flavour for flavour in flavours if exact or flavour != 1]
        flavour = options.flavour if options.flavour is not None else flavours[number % len(flavours)]
        with tempfile.TemporaryDirectory(prefix="talc-programs-") as folder:
            runner = Runner(options.talc, folder, plant, options.timeout)
            names = {}
            for seed in batch:
                name = f"p{seed}"
                names[name] = seed
                runner.write(name, generator.generate(seed, not exact, options.moving))
            plain = Runner(options.talc, folder, "", options.timeout).run(engine("interp", flavour), list(names))
            other = runner.run(engine(backend, flavour, options.device), list(names))
            return len(batch), flavour, [(seed, plain.get(name), other.get(name)) for name, seed in names.items()
                                         if not same(plain.get(name), other.get(name), exact)]

    with ThreadPoolExecutor(options.jobs) as pool:
        for size, flavour, bad in pool.map(one, enumerate(batches)) if not stop_at else map(one, enumerate(batches)):
            ran += size
            for seed, expected, actual in bad:
                found.append((seed, flavour))
                if not quiet:
                    print(f"seed {seed} (flavour {flavour}, {backend}) differs: {first_difference(expected, actual)}", flush=True)
            if stop_at and len(found) >= stop_at:
                break
            if not quiet and options.progress and size and (ran // size) % 20 == 0:
                print(f"... {ran} programs, {len(found)} differ, {time.monotonic() - began:.0f} s", flush=True)
    return ran, found, time.monotonic() - began


def shrink_and_keep(options, backend, seed, flavour):
    exact = bit_exact(options, backend)
    with tempfile.TemporaryDirectory(prefix="talc-programs-") as folder:
        runner = Runner(options.talc, folder, "", 20)
        differs = differs_with(runner, backend, flavour, options.device, exact)
        text = generator.generate(seed, not exact, options.moving)
        if not differs(text):
            print(f"seed {seed}: does not differ on its own")
            return
        text = shrink(text, differs, options.shrink)
        out = ROOT / "build" / "programs"
        out.mkdir(parents=True, exist_ok=True)
        path = out / f"{backend}_{flavour}_{seed}.tc"
        path.write_text(text)
        runner.write("trial", text)
        one = runner.run(engine("interp", flavour), ["trial"]).get("trial")
        other = runner.run(engine(backend, flavour, options.device), ["trial"]).get("trial")
        print(f"seed {seed}, shrunk ({path}):\n{text}{first_difference(one, other)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=300)
    parser.add_argument("--backend", choices=BACKENDS, default="eager")
    parser.add_argument("--device", default="", help="where the other side's tensors are made (numbers may differ by rounding)")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="this one program")
    parser.add_argument("--show", action="store_true", help="print the program with --seed")
    parser.add_argument("--flavour", type=int, choices=(0, 1, 2), help="0: functions are compiled; 1: everything is; 2: dynamic=True")
    parser.add_argument("--moving", action="store_true", help="sizes change with every call")
    parser.add_argument("--talc", default=str(ROOT / "build" / "talc"))
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for a batch")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no batch begins later")
    parser.add_argument("--shrink", type=float, default=30.0, help="seconds for shrinking each of the first few")
    parser.add_argument("--shrunk", type=int, default=3, help="how many are shrunk")
    parser.add_argument("--progress", action="store_true")
    parser.add_argument("--planted", action="store_true", help="the deliberate miscompiles are found")
    options = parser.parse_args()
    options.talc = os.path.abspath(options.talc)
    if options.planted:
        import planted
        return planted.check(options, campaign)
    if options.seed is not None:
        if options.show:
            print(generator.generate(options.seed, not bit_exact(options, options.backend), options.moving), end="")
            return 0
        seeds = [options.seed]
    else:
        seeds = list(range(options.first, options.first + options.count))
    ran, found, seconds = campaign(options, options.backend, seeds)
    for seed, flavour in found[: options.shrunk]:
        shrink_and_keep(options, options.backend, seed, flavour)
    where = "@" + options.device if options.device else ""
    print(f"{ran} programs, {options.backend}{where}: {len(found)} differ ({seconds:.1f} s)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
