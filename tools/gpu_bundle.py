#!/usr/bin/env python3
"""Makes one folder that brings Talc to a machine with a GPU and no compiler: the program, the tests and benches that
gpu-check runs, and gpu-check itself. `./dev gpu-bundle` builds the programs first."""

import argparse
import lzma
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT_MIB = 60

# Of the repository: what tests read, and their runners.
FOLDERS = ("tests/scripts", "tests/golden", "tests/programs", "bench/gpu", "bench/jit", "examples")
FILES = ("tests/run_scripts.py", "tests/expectations.py", "tests/gpu_check.py", "LICENSE")
# It holds LLVM once more, so it is packed; gpu-check unpacks it.
PACKED = ("talc_unit",)


def tracked(folder: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", folder], cwd=ROOT,
                            capture_output=True, text=True)
    if listed.returncode == 0:
        return [name for name in listed.stdout.split("\n") if name and (ROOT / name).exists()]
    return [path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file()]


def commit() -> str:
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="folder of the built programs")
    parser.add_argument("--strip", default="strip")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    build, out = Path(options.build), Path(options.out)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for name in [*FILES, *(name for folder in FOLDERS for name in tracked(folder))]:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, out / name)
    for name in ("talc", *PACKED):
        subprocess.run([options.strip, "-o", str(out / name), str(build / name)], check=True)
    for name in PACKED:
        with open(out / name, "rb") as source, lzma.open(out / (name + ".xz"), "wb", preset=2) as packed:
            shutil.copyfileobj(source, packed, 1 << 20)
        (out / name).unlink()
    (out / "VERSION").write_text(commit() + "\n")
    start = out / "gpu-check"
    start.write_text('#!/bin/sh\nexec python3 -B "$(dirname "$0")/tests/gpu_check.py" --build "$(dirname "$0")" "$@"\n')
    start.chmod(0o755)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) / (1 << 20)
    print(f"{os.path.relpath(out)}: {size:.1f} MiB; copy it to the machine and run {start.name} there")
    if size > LIMIT_MIB:
        print(f"that is above the {LIMIT_MIB} MiB that it may have", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
