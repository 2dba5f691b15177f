"""A program at a terminal of ours: keys go in, and what a person would see on the screen comes out."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unicodedata

KEYS = {
    "<Enter>": "\r", "<Tab>": "\t", "<Up>": "\x1b[A", "<Down>": "\x1b[B", "<Right>": "\x1b[C", "<Left>": "\x1b[D",
    "<Home>": "\x1b[H", "<End>": "\x1b[F", "<Backspace>": "\x7f", "<Delete>": "\x1b[3~", "<C-c>": "\x03", "<C-d>": "\x04",
    "<C-r>": "\x12", "<C-a>": "\x01", "<C-e>": "\x05", "<C-u>": "\x15", "<C-w>": "\x17",
}


class Screen:
    """As much of a terminal as line editors use: printing with wrapping, cursor movement, erasing."""

    _SEQUENCE = re.compile(r"\x1b\[([?>=]?)([0-9;]*)([@-~])|\x1b[()][0-9A-B]|\x1b[=>78]")

    def __init__(self, columns: int, rows: int):
        self.columns, self.rows = columns, rows
        self.lines = [[" "] * columns for _ in range(rows)]
        self.scrolled: list[str] = []
        self.x = self.y = 0
        self.pasting = False  # the program has asked for pastes to be marked
        self.rest = ""

    def write(self, text: str) -> None:
        text, self.rest = self.rest + text, ""
        at = 0
        while at < len(text):
            c = text[at]
            if c == "\x1b":
                match = self._SEQUENCE.match(text, at)
                if not match:
                    if len(text) - at < 20:
                        self.rest = text[at:]  # the other half is still to come
                        return
                    at += 1
                    continue
                if match[3]:
                    self._control(match[1], match[2], match[3])
                at = match.end()
                continue
            self._put(c)
            at += 1

    def _put(self, c: str) -> None:
        if c == "\r":
            self.x = 0
        elif c == "\n":
            self._line_feed()
        elif c == "\b":
            self.x = max(0, min(self.x, self.columns - 1) - 1)
        elif c == "\t":
            self.x = min(self.columns - 1, (self.x // 8 + 1) * 8)
        elif c < " " or c == "\x7f" or unicodedata.category(c) in ("Mn", "Cf"):
            pass
        else:
            if self.x >= self.columns:  # only now: a full line wraps with the next character
                self.x = 0
                self._line_feed()
            self.lines[self.y][self.x] = c
            self.x += 1

    def _line_feed(self) -> None:
        if self.y + 1 < self.rows:
            self.y += 1
            return
        self.scrolled.append("".join(self.lines.pop(0)).rstrip())
        self.lines.append([" "] * self.columns)

    def _control(self, private: str, numbers: str, final: str) -> None:
        values = [int(n) if n else 0 for n in numbers.split(";")] if numbers else []
        first = values[0] if values else 0
        count = max(first, 1)
        self_x = min(self.x, self.columns - 1)
        if private == "?":
            if first == 2004:
                self.pasting = final == "h"
        elif final == "A":
            self.y = max(0, self.y - count)
        elif final == "B":
            self.y = min(self.rows - 1, self.y + count)
        elif final == "C":
            self.x = min(self.columns - 1, self_x + count)
        elif final == "D":
            self.x = max(0, self_x - count)
        elif final == "G":
            self.x = min(self.columns, count) - 1
        elif final == "H":
            row, column = (values + [1, 1])[:2] if values else (1, 1)
            self.y, self.x = min(self.rows, max(row, 1)) - 1, min(self.columns, max(column, 1)) - 1
        elif final == "J":
            if first == 2:
                self.lines = [[" "] * self.columns for _ in range(self.rows)]
            elif first == 0:
                self.lines[self.y][self_x:] = [" "] * (self.columns - self_x)
                for row in range(self.y + 1, self.rows):
                    self.lines[row] = [" "] * self.columns
        elif final == "K":
            if first == 0:
                self.lines[self.y][self_x:] = [" "] * (self.columns - self_x)
            elif first == 2:
                self.lines[self.y] = [" "] * self.columns

    def text(self) -> str:
        """All lines, those that scrolled away too, without the empty ones below the cursor."""
        shown = ["".join(line).rstrip() for line in self.lines]
        while len(shown) > self.y + 1 and not shown[-1]:
            shown.pop()
        return "\n".join(self.scrolled + shown)


class Session:
    """A program that runs in a terminal of its own."""

    def __init__(self, command: list[str], columns: int = 80, rows: int = 40, env=None, cwd=None, timeout: float = 10):
        self.screen = Screen(columns, rows)
        self.timeout = timeout
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                if cwd:
                    os.chdir(cwd)
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                os.execvpe(command[0], command, env or os.environ)
            finally:
                os._exit(127)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def type(self, keys: str) -> None:
        """Types a text with keys like <Enter> in it, and waits until what it brought is on the screen."""
        for part in re.split(r"(<[A-Z][\w-]*>)", keys):
            self.send(KEYS.get(part, part))
            if part in KEYS:
                self.settle()
        self.settle()

    def run(self, keys: str, prompt: str = ">>> ") -> str:
        """Types and presses Enter; what is on the screen below it once the prompt is there again."""
        self.type(keys)
        before = len(self.screen.text().split("\n"))
        self.send("\r")
        end = time.monotonic() + self.timeout
        while True:
            self.settle()
            lines = self.screen.text().split("\n")
            if len(lines) > before and (lines[-1] + " ").startswith(prompt) and self.screen.x >= len(prompt):
                return "\n".join(lines[before:-1])
            if time.monotonic() > end or not self.read(0.2):
                raise AssertionError(f"no prompt after {keys!r}:\n{self.tail()}")

    def paste(self, text: str) -> None:
        text = text.replace("\n", "\r")
        self.send(f"\x1b[200~{text}\x1b[201~" if self.screen.pasting else text)
        self.settle()

    def read(self, seconds: float) -> bool:
        """Takes what the program writes within this time; False: it has ended."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        if not data:
            return False
        self.screen.write(data.decode("utf-8", "replace"))
        return True

    def settle(self, quiet: float = 0.06) -> None:
        """Until the program has been quiet for a while."""
        end = time.monotonic() + self.timeout
        while time.monotonic() < end and select.select([self.fd], [], [], quiet)[0]:
            if not self.read(0):
                return

    def tail(self) -> str:
        return "\n".join(self.screen.text().split("\n")[-50:])

    def wait_for(self, pattern: str) -> str:
        """Until the screen matches; the screen."""
        end = time.monotonic() + self.timeout
        while not re.search(pattern, self.screen.text(), re.MULTILINE):
            left = end - time.monotonic()
            if left <= 0 or not self.read(left):
                raise AssertionError(f"the screen never showed {pattern!r}:\n{self.tail()}")
        self.settle()
        return self.screen.text()

    def interrupt(self, after: float = 0.3) -> None:
        """Ctrl-C once the program has been at work for a while."""
        end = time.monotonic() + after
        while (left := end - time.monotonic()) > 0:
            self.read(left)
        self.send("\x03")

    def finish(self) -> int:
        """Waits for the program's end; its status."""
        end = time.monotonic() + self.timeout
        while time.monotonic() < end and self.read(0.2):
            pass
        return self.close()

    def close(self) -> int:
        if self.status is None:
            for _ in range(50):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    break
                time.sleep(0.02)
            else:
                os.kill(self.pid, signal.SIGKILL)
                _, status = os.waitpid(self.pid, 0)
            self.status = os.waitstatus_to_exitcode(status)
            os.close(self.fd)
        return self.status
