#!/usr/bin/env python3
"""Fails on an #include that no link edge allows.

The edges are the talc_room(...) lines of CMakeLists.txt: a room may include itself, the rooms it names and those
that they name, and the single HEADERS it names. Besides: include/talc includes only itself; repl includes
include/talc only; outside libraries are included by the rooms that list them in LIBS (or name a room that does).
"""

import re
import sys
from pathlib import Path

# Headers of the outside libraries that not every room may see.
LIBRARY_HEADERS = {
    "llvm": re.compile(r"llvm(-c)?/"),
    "pcre2": re.compile(r"pcre2"),
    "cli11": re.compile(r"CLI/"),
    "replxx": re.compile(r"replxx"),
}
PUBLIC_ROOMS = ("stdlib", "repl")  # those that may use the public headers
_ROOM_LINE = re.compile(r"^\s*talc_room\(([^)]*)\)", re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


class Room:
    def __init__(self, words: list[str]):
        self.name = words[0]
        lists: dict[str, list[str]] = {"ROOMS": [], "LIBS": [], "HEADERS": []}
        key = "ROOMS"
        for word in words[1:]:
            if word in lists:
                key = word
            else:
                lists[key].append(word)
        self.rooms, self.libs, self.headers = lists["ROOMS"], lists["LIBS"], lists["HEADERS"]


def read_rooms(cmake: str) -> dict[str, Room]:
    rooms = [Room(match.split()) for match in _ROOM_LINE.findall(cmake)]
    return {room.name: room for room in rooms}


def reach(rooms: dict[str, Room], name: str) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting += rooms[current].rooms
    return found


def check_file(rooms: dict[str, Room], room: Room | None, path: str, text: str) -> list[str]:
    """room is None for the public headers."""
    allowed = reach(rooms, room.name) if room else set()
    headers = set(room.headers) if room else set()
    libraries = set(room.libs) if room else set()
    problems = []
    for match in _INCLUDE.finditer(text):
        target = match[1] or match[2]
        line = text.count("\n", 0, match.start()) + 1
        where = f"{path}:{line}: "
        first = target.split("/")[0]
        if first == "talc":
            if room is not None and room.name not in PUBLIC_ROOMS:
                problems.append(f"{where}{room.name} may not include {target}: only {', '.join(PUBLIC_ROOMS)} may")
        elif first in rooms and "/" in target:
            if room is None:
                problems.append(f"{where}a public header may not include {target}")
            elif first not in allowed and target not in headers:
                problems.append(f"{where}{room.name} may not include {target}: no edge from {room.name} to {first}")
        elif match[1] is not None and first in ("tests", "bench", "examples", "tools"):
            problems.append(f"{where}{target} is not part of the library")
        elif ".." in target.split("/") or (match[1] is not None and "/" not in target and room is not None):
            problems.append(f"{where}write {target} from the root of the repository")
        for library, pattern in LIBRARY_HEADERS.items():
            if pattern.match(target) and library not in libraries:
                who = room.name if room else "a public header"
                problems.append(f"{where}{who} may not include {target}: {library} is not in its LIBS")
    return problems


def check(root: Path) -> list[str]:
    rooms = read_rooms((root / "CMakeLists.txt").read_text())
    if not rooms:
        return ["CMakeLists.txt has no talc_room line"]
    problems = [
        f"CMakeLists.txt: talc_room({room.name}) names {other}, which is no room"
        for room in rooms.values() for other in room.rooms if other not in rooms
    ]
    if problems:
        return problems
    for name, room in rooms.items():
        if name in set().union(*(reach(rooms, other) for other in room.rooms)):
            problems.append(f"CMakeLists.txt: the edges of {name} lead back to it")
    for name, room in [*rooms.items(), ("include/talc", None)]:
        for path in sorted((root / name).rglob("*")):
            if path.suffix in (".hpp", ".cpp", ".h", ".def", ".inc"):
                text = path.read_text(encoding="utf-8", errors="replace")
                problems += check_file(rooms, room, path.relative_to(root).as_posix(), text)
    return problems


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    problems = check(root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
