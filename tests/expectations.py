"""What a test script says about its own run, read from its comments.

    print(1 + 1)        # expect: 2             the lines of stdout, in the order of the file
    # expect-block:                             several lines, for loops and multi-line values
    #| first line
    #| second line
    # expect error: TypeError: message          status 1, and the last line of the report holds this text
    # expect syntax error: message              status 2, the same
    # expect stderr: text                       stderr holds this text somewhere
    # status: 3                                 another exit status
    # args: a "b c"     # stdin: text\\n         # env: NAME=VALUE      # timeout: seconds
    # run: file | code | pipe                   talc FILE (the default), talc -c CODE, or code on stdin
    # requires: gpu                             skipped where that is missing
    # no-engine: gc-stress reason               skipped under this engine
    # no-oracle: reason                         CPython does otherwise, and why
    # helper                                    on the first line: imported by tests, no test itself

A file NAME.out beside NAME.tc is the whole of stdout instead.  With neither, a script must print nothing:
it checks itself with assert.
"""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

_EXPECT = re.compile(r"#\s*expect:(?: (.*))?$")
_DIRECTIVE = re.compile(
    r"^\s*#\s*(args|stdin|env|status|timeout|run|requires|no-engine|no-oracle|expect stderr):\s*(.*?)\s*$"
)
_DEVICE = re.compile(r",\s*device='(?:cpu|cuda:\d+)'")
_NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.(\d*)(?:e([-+]?\d+))?|\d+e([-+]?\d+))(?!\w)")
_ERROR = re.compile(r"#\s*expect (syntax )?error:\s*(.*?)\s*$")


class BadDirective(Exception):
    pass


@dataclass
class Expectations:
    stdout: list[str] = field(default_factory=list)
    exact_stdout: str | None = None
    status: int = 0
    error: str | None = None
    is_syntax_error: bool = False
    stderr: list[str] = field(default_factory=list)
    args: list[str] = field(default_factory=list)
    stdin: str = ""
    env: dict[str, str] = field(default_factory=dict)
    timeout: float | None = None
    run: str = "file"
    requires: list[str] = field(default_factory=list)
    skipped_engines: dict[str, str] = field(default_factory=dict)
    no_oracle: str | None = None


def is_helper(path: Path, root: Path) -> bool:
    """Modules and packages that tests import are no tests."""
    if any(part.startswith("_") for part in path.relative_to(root).parts):
        return True
    with open(path, "rb") as file:
        return file.readline().strip().startswith(b"# helper")


def read(path: Path) -> Expectations:
    found = Expectations()
    in_block = False
    explicit_status = None
    for line in path.read_bytes().decode("utf-8", "replace").split("\n"):
        line = line.rstrip("\r")
        stripped = line.strip()
        if in_block and stripped.startswith("#|"):
            found.stdout.append(stripped[3:] if stripped.startswith("#| ") else stripped[2:])
            continue
        in_block = False
        if stripped == "# expect-block:":
            in_block = True
        elif match := _ERROR.search(line):
            found.is_syntax_error = bool(match[1])
            found.error = match[2]
        elif match := _DIRECTIVE.match(line):
            name, text = match[1], match[2]
            if name == "status":
                explicit_status = int(text)
            else:
                _apply(found, name, text)
        elif match := _EXPECT.search(line):
            found.stdout.append(match[1] or "")
    if found.error is not None:
        found.status = 2 if found.is_syntax_error else 1
    if explicit_status is not None:
        found.status = explicit_status
    whole = path.with_suffix(".out")
    if whole.exists():
        found.exact_stdout = whole.read_bytes().decode("utf-8", "replace")
    return found


def _apply(found: Expectations, name: str, text: str) -> None:
    if name == "args":
        found.args += shlex.split(text)
    elif name == "stdin":
        found.stdin += text.replace("\\n", "\n")
    elif name == "env":
        key, separator, value = text.partition("=")
        if not separator:
            raise BadDirective(f"# env: {text}: NAME=VALUE expected")
        found.env[key] = value
    elif name == "timeout":
        found.timeout = float(text)
    elif name == "run":
        if text not in ("file", "code", "pipe"):
            raise BadDirective(f"# run: {text}: file, code or pipe expected")
        found.run = text
    elif name == "requires":
        found.requires += text.replace(",", " ").split()
    elif name == "no-engine":
        engine, _, reason = text.partition(" ")
        found.skipped_engines[engine] = reason or "not for this engine"
    elif name == "no-oracle":
        found.no_oracle = text or "differs from CPython"
    elif name == "expect stderr":
        found.stderr.append(text)


def differences(found: Expectations, status: int, stdout: str, stderr: str, oracle: bool = False,
                other_device: bool = False) -> list[str]:
    """What is wrong with a run, in words; empty when all is as expected. On another device than the one that the
    expectations were written for, it shows in printed tensors, and the last digit printed may differ."""
    wrong = []
    if other_device:
        stdout = _DEVICE.sub("", stdout)
    expected_status = 1 if oracle and found.is_syntax_error else found.status
    if status < 0:
        wrong.append(f"killed by signal {-status}")
    elif status != expected_status:
        wrong.append(f"status {status}, expected {expected_status}")
    for sign in ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:"):
        if sign in stderr:
            wrong.append(f"stderr has a report: {sign}")
    if found.exact_stdout is not None:
        if stdout != found.exact_stdout:
            wrong += _first_difference(found.exact_stdout.split("\n"), stdout.split("\n"), other_device)
    else:
        actual = stdout.split("\n")
        if actual and actual[-1] == "":
            actual.pop()
        # Trailing blanks cannot be seen in a comment, so they do not count.
        wrong += _first_difference([line.rstrip() for line in found.stdout], [line.rstrip() for line in actual],
                                   other_device)
    if found.error is not None:
        last = last_report_line(stderr)
        expected = found.error
        if oracle and found.is_syntax_error:
            if not re.match(r"(Syntax|Indentation|Tab)Error", last):
                wrong.append(f"CPython gave no SyntaxError but: {last!r}")
        elif expected not in last:
            wrong.append(f"last line of the error: {last!r}\n    expected in it: {expected!r}")
    if not oracle:
        wrong += [f"not in stderr: {text!r}" for text in found.stderr if text not in stderr]
    return wrong


def last_report_line(stderr: str) -> str:
    lines = [line for line in stderr.split("\n") if line.strip() and not line.lstrip().startswith(("hint:", "help:"))]
    return lines[-1].strip() if lines else ""


def _slack(match: re.Match) -> float:
    """What a number may differ by: its last digit, where enough of them were printed for that to be rounding."""
    decimals = len(match[1] or "")
    last_digit = 10.0 ** (int(match[2] or match[3] or 0) - decimals)
    return max(1.01 * last_digit if decimals >= 4 else 0.0, 2e-5 * abs(float(match[0])), 1e-6)


def _same_on_other_device(want: str, got: str) -> bool:
    if " ".join(_NUMBER.sub("#", want).split()) != " ".join(_NUMBER.sub("#", got).split()):
        return False
    pairs = zip(_NUMBER.finditer(want), _NUMBER.finditer(got))
    return all(abs(float(a[0]) - float(b[0])) <= max(_slack(a), _slack(b)) for a, b in pairs)


def _first_difference(expected: list[str], actual: list[str], other_device: bool = False) -> list[str]:
    for number, (want, got) in enumerate(zip(expected, actual), 1):
        if want != got and not (other_device and _same_on_other_device(want, got)):
            return [f"line {number} of stdout: {got!r}\n    expected: {want!r}"]
    if len(actual) > len(expected):
        return [f"line {len(expected) + 1} of stdout was not expected: {actual[len(expected)]!r}"]
    if len(actual) < len(expected):
        return [f"stdout ends before line {len(actual) + 1}; expected: {expected[len(actual)]!r}"]
    return []
