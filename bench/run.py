#!/usr/bin/env python3
"""Times bench/scalar/*.tc under talc and CPython, and start-up and its memory. The scripts are valid Python,
and their output is compared, so that a wrong answer is never a fast one."""

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def best_time(command: list[str], rounds: int, env=None) -> tuple[float, bytes]:
    times = []
    output = b""
    for _ in range(rounds):
        began = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        times.append(time.perf_counter() - began)
        if done.returncode != 0:
            return math.nan, done.stderr.strip().split(b"\n")[-1]
        output = done.stdout
    return min(times), output


def start_up(command: list[str], rounds: int) -> float:
    return statistics.median(best_time(command, 1)[0] for _ in range(rounds))


def private_dirty_kilobytes(talc: str) -> int:
    """Of a script that has printed and waits for its input."""
    process = subprocess.Popen([talc, "-c", "print(1)\ninput()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        time.sleep(0.2)
        text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
        return sum(int(line.split()[1]) for line in text.split("\n") if line.startswith("Private_Dirty"))
    finally:
        process.communicate(b"\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only those with this in their name")
    parser.add_argument("--talc", default=str(ROOT / "build" / "talc"))
    parser.add_argument("--python", default=shutil.which("python3.11") or sys.executable)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jit", default="off", choices=["on", "off"])
    options = parser.parse_args()
    env = {**os.environ, "TALC_JIT": options.jit, "PYTHONHASHSEED": "0"}
    ratios = []
    wrong = 0
    print(f"{'':<12}{'talc':>9}{'python':>9}{'ratio':>8}")
    for path in sorted((ROOT / "bench" / "scalar").glob("*.tc")):
        if options.names and not any(name in path.stem for name in options.names):
            continue
        ours, our_output = best_time([options.talc, str(path)], options.rounds, env)
        theirs, their_output = best_time([options.python, str(path)], options.rounds, env)
        if math.isnan(ours) or our_output != their_output:
            wrong += 1
            print(f"{path.stem:<12} WRONG: {our_output[:90].decode(errors='replace')}")
            continue
        ratios.append(ours / theirs)
        print(f"{path.stem:<12}{ours * 1e3:>7.0f}ms{theirs * 1e3:>7.0f}ms{ours / theirs:>8.2f}", flush=True)
    if ratios:
        print(f"{'mean':<30}{statistics.geometric_mean(ratios):>8.2f}")
    if not options.names:
        ours = start_up([options.talc, "-c", "print(1)"], 20)
        theirs = start_up([options.python, "-c", "print(1)"], 20)
        print(f"{'start-up':<12}{ours * 1e3:>7.1f}ms{theirs * 1e3:>7.1f}ms{ours / theirs:>8.2f}")
        print(f"private dirty memory of a small script: {private_dirty_kilobytes(options.talc)} kB")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
