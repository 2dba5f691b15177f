#!/usr/bin/env python3
"""Rules of CONTRIBUTING.md that a machine can check in the rooms' files: length, include guards, unfinished work."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_includes  # noqa: E402

MOST_LINES = 900
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")


def check_file(path: str, text: str) -> list[str]:
    lines = text.split("\n")
    problems = []
    if len(lines) - 1 > MOST_LINES:
        problems.append(f"{path}: {len(lines) - 1} lines; the most is {MOST_LINES}: one idea a file")
    if path.endswith((".hpp", ".h")) and "#pragma once" not in text:
        problems.append(f"{path}: no #pragma once")
    if text and not text.endswith("\n"):
        problems.append(f"{path}: no newline at the end")
    for number, line in enumerate(lines, 1):
        if match := UNFINISHED.search(line):
            problems.append(f"{path}:{number}: {match[0]}: finish it, or leave it out")
    return problems


def check(root: Path) -> list[str]:
    rooms = check_includes.read_rooms((root / "CMakeLists.txt").read_text())
    problems = []
    for folder in [*rooms, "include", "tests", "bench"]:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".hpp", ".cpp", ".h", ".def", ".inc", ".inl", ".py"):
                text = path.read_text(encoding="utf-8", errors="replace")
                problems += check_file(path.relative_to(root).as_posix(), text)
    return problems


def main() -> int:
    problems = check(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
