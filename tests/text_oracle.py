#!/usr/bin/env python3
"""Compares base/text with CPython on random cases, through the program text_driver.

    tests/text_oracle.py build/text_driver [--cases N] [--seed S] [--code-points] [--only NAME]

Ends with one line that counts the cases, and status 1 when answers differ. Needs CPython 3.11 (later versions
word some messages differently): with any other it says so and does nothing.
"""

import argparse
import io
import math
import random
import re
import struct
import subprocess
import sys

ALPHABETS = ["abcAB", "ab ", "aab", "0123456789", "ab'\"\\", " \t\n\r\x0b\x0c\x1c\x1e",
             "\x00\x07\x7f\x80\x85\xa0\xad", "éßÀµÿ", "ΣσςΑα'.", "日本語", "\u2028\u2029\u3000\u200b",
             "ǅǆǄﬁŉİı", "😀𝔘\U0010ffff", "٣४۵²½Ⅷ一", "_a1é", "\ud800"]

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, 1e16, 1e15, 1e17, 9999999999999998.0, 1e-4, 1e-5, 123456789.0, 1e22,
          1e23, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan, 2.675, 0.1, 1e100]

FLOAT_TEXTS = ["inf", "INF", "-Infinity", "+nan", "NaN", "infin", "1e400", "-1e-400", "0e999", "0.0e5", "4.9e-324",
               "1e99999999999999999999", "1e-99999999999999999999", "2.4703282292062327e-324",
               "2.4703282292062328e-324", "1.7976931348623158e308", "1.7976931348623159e308", "9007199254740993",
               "0" * 400 + "1", "1" * 400]

# How often each function comes, as a word list.
NUMBER_FUNCTIONS = ["float_repr"] * 4 + ["format_int", "format_float", "percent"] * 5 + ["format"] * 4 + """
    float_hex round round round round0 ratio is_integer parse_int parse_int parse_float parse_float fromhex bin oct
    hex hash_int hash_float hash_tuple hash_frozenset format_bool format_str format_str""".split()
PLAIN_METHODS = """upper lower title capitalize swapcase casefold istitle isupper islower isidentifier isascii strip
    lstrip rstrip""".split()
TEXT_FUNCTIONS = PLAIN_METHODS + """repr ascii bytes_repr decode_replace decode len strip_of lstrip_of rstrip_of
    split_space rsplit_space split rsplit splitlines partition rpartition removeprefix removesuffix find rfind count
    startswith replace replace center ljust rjust zfill expandtabs join suggest""".split()
BYTES_FUNCTIONS = ["bytes_" + name for name in """hex fromhex expandtabs replace strip strip_of split rsplit splitlines
    isalpha isdigit isalnum isspace islower isupper istitle upper lower title capitalize swapcase""".split()] + [
    "encode", "stepped", "stepped"]


class Cases:
    def __init__(self, seed: int):
        self.r = random.Random(seed)

    def text(self, most: int = 12, surrogates: bool = False) -> str:
        r = self.r
        if r.random() < 0.3:
            letters = r.choice(ALPHABETS[:4])
        else:
            letters = "".join(r.sample(ALPHABETS, r.randint(1, 3)))
        if not surrogates:
            letters = letters.replace("\ud800", "x")
        return "".join(r.choice(letters) for _ in range(r.randint(0, most)))

    def part(self, s: str) -> str:
        r = self.r
        if r.random() < 0.6 and s:
            i = r.randrange(len(s))
            return s[i:i + r.randint(0, 3)]
        return self.text(2)

    def int64(self) -> int:
        r = self.r
        kind = r.random()
        if kind < 0.4:
            return r.randint(-300, 300)
        if kind < 0.5:
            return r.choice([0, 1, -1, 2**63 - 1, -2**63, 2**61 - 1, 2**61 - 2, 2**61, 10**15, 999999, 1000000])
        return r.randint(-2**63, 2**63 - 1) >> r.randint(0, 62)

    def float(self) -> float:
        r = self.r
        kind = r.random()
        if kind < 0.15:
            return r.choice(FLOATS)
        if kind < 0.35:
            return struct.unpack("d", r.randbytes(8))[0]
        if kind < 0.5:
            return r.randint(-10**6, 10**6) / r.choice([1, 2, 4, 8, 10, 100, 1000])
        if kind < 0.6:
            return math.ldexp(r.choice([1, 1.5, -1]), r.randint(-1074, 1022))
        if kind < 0.7:
            return round(r.uniform(-1000, 1000), r.randint(0, 6))
        if kind < 0.8:
            return float(f"{r.randint(1, 99999)}5e{r.randint(-20, 20)}")
        return r.uniform(-10, 10) * 10.0 ** r.randint(-20, 20)

    def spec(self) -> str:
        r = self.r
        out = ""
        if r.random() < 0.4:
            out += r.choice(["", "", "*", "0", "é", "x", "<"]) + r.choice("<>=^")
        if r.random() < 0.25:
            out += r.choice("+- ")
        if r.random() < 0.1:
            out += "z"
        if r.random() < 0.15:
            out += "#"
        if r.random() < 0.25:
            out += "0"
        if r.random() < 0.6:
            out += str(r.randint(0, 30))
        if r.random() < 0.25:
            out += r.choice([",", "_", ",", "_", ",_", "_,"])
        if r.random() < 0.4:
            out += "." + str(r.randint(0, 20)) * (r.random() < 0.97)
        if r.random() < 0.8:
            out += r.choice("dbcoxXneEfFgG%sdfegs%" + "r\n é")
        if r.random() < 0.02:
            out += r.choice("dx5")
        return out

    def argument(self):
        return self.r.choice([self.int64, self.float, self.text])()

    def percent(self):
        r = self.r
        out, args = "", []
        for _ in range(r.randint(1, 3)):
            out += self.text(3).replace("%", "") + r.choice(["", "", "%%"])
            out += "%" + "".join(r.choice("-+ #0") for _ in range(r.choice([0, 0, 1, 2])))
            out += r.choice(["", "", str(r.randint(0, 15)), "*"])
            if out.endswith("*"):
                args.append(r.choice([r.randint(-12, 12), r.randint(-12, 12), "x"]))
            out += r.choice(["", "", "." + str(r.randint(0, 12)), ".", ".*"])
            if out.endswith(".*"):
                args.append(r.randint(-3, 12))
            kind = r.choice("diuoxXeEfFgGcrsa" * 4 + "yé%l")
            out += kind
            if kind in "diuoxX":
                args.append(r.choice([self.int64(), self.int64(), self.int64(), r.uniform(-1e9, 1e9), "x"]))
            elif kind in "eEfFgG":
                args.append(r.choice([self.float(), self.float(), self.int64()]))
            elif kind == "c":
                args.append(r.choice([r.randint(32, 0x3000), "a", "é", "ab"]))
            else:
                args.append(self.argument())
        if "*" in out:  # any argument may become a width
            args = [a % 100 if isinstance(a, int) else a for a in args]
        if r.random() < 0.05:
            args = args[:-1]
        if r.random() < 0.05:
            out = out[:-1]
        if r.random() < 0.03:
            args.append(1)
        return out, args

    def template(self):
        r = self.r
        # An argument may become another one's width: only small numbers.
        args = [r.choice([r.randint(-50, 50), r.choice([math.nan, r.uniform(-50, 50), 1e-300]), re.sub(r"\d", "d", self.text())])
                for _ in range(r.randint(1, 4))]
        manual = r.random() < 0.3
        out = ""
        for _ in range(r.randint(1, 3)):
            out += self.text(3).replace("{", "").replace("}", "") + r.choice(["", "", "", "{{", "}}"])
            name = str(r.randint(0, 3)) if manual or r.random() < 0.03 else ""
            out += "{" + name + r.choice(["", "", "!r", "!s", "!a"])
            if r.random() < 0.6:
                out += ":" + (self.spec().replace("{", "") if r.random() < 0.7 else r.choice(["{}", ">{}", "{:{}}"]))
            out += "}"
        if r.random() < 0.2:
            i = r.randrange(len(out) + 1)
            out = out[:i] + r.choice(["{", "}", "!", ":", "[", "]", ".", ""]) + out[i + r.randint(0, 1):]
        return out, args


def attempt(call, *args) -> str:
    try:
        return repr(call(*args))
    except KeyError as error:
        return f"!KeyError: {error}"
    except Exception as error:
        return f"!{type(error).__name__}: {error}"


def fits(value):
    """An int as Talc has it; larger ones are an OverflowError there."""
    if isinstance(value, int) and not -2**63 <= value < 2**63:
        return None
    return value


def within_int64(call):
    def run(*args):
        value = call(*args)
        parts = value if isinstance(value, tuple) else (value,)
        if any(fits(part) is None for part in parts):
            raise OverflowError("integer does not fit in 64 bits")
        return value
    return run


class Named:
    def __init__(self, names):
        self.names = names

    def __dir__(self):
        return self.names


def suggestion(name, *names):
    """CPython computes it only when it prints the error."""
    try:
        getattr(Named(list(names)), name)
    except AttributeError as error:
        caught, sys.stderr = sys.stderr, io.StringIO()
        try:
            sys.__excepthook__(type(error), error, None)
            shown = sys.stderr.getvalue()
        finally:
            sys.stderr = caught
        marker = "Did you mean: '"
        return shown[shown.index(marker) + len(marker):].rstrip("\n?'") if marker in shown else ""


def parsed_int(s, base):
    value = int(s, base)
    return TooLarge() if fits(value) is None else value


class TooLarge:
    def __repr__(self):
        return "too large"


def number_case(c: Cases):
    """A function's name, its arguments, and what CPython answers."""
    r = c.r
    x, n = c.float(), c.int64()
    name = r.choice(NUMBER_FUNCTIONS)
    if name == "float_repr":
        return name, [x], attempt(lambda: x)
    if name == "float_hex":
        return name, [x], attempt(x.hex)
    if name == "round":
        digits = r.choice([r.randint(-3, 6), r.randint(-3, 6), r.randint(-330, 330)])
        return name, [x, digits], attempt(round, x, digits)
    if name == "round0":
        return name, [x], attempt(within_int64(round), x)
    if name == "ratio":
        return name, [x], attempt(within_int64(x.as_integer_ratio))
    if name == "is_integer":
        return name, [x], attempt(x.is_integer)
    if name == "parse_int":
        base = r.choice([10, 10, 0, 16, 2, 8, 36])
        if r.random() < 0.5:
            digits = (r.choice("0123456789" if r.random() < 0.7 else "01_afz٣") for _ in range(r.randint(0, 22)))
            prefix = r.choice(["", " ", "-", "+"]) + r.choice(["", "0x", "0b", "0o", "0", "0X_"])
            s = prefix + "".join(digits) + r.choice(["", "", " ", "\n"])
        else:
            s = r.choice([str, hex, bin, oct])(n)
        return name, [s, base], attempt(parsed_int, s, base)
    if name == "parse_float":
        kind = r.random()
        if kind < 0.4:
            s = repr(x)
        elif kind < 0.5:
            s = r.choice(FLOAT_TEXTS)
        else:
            s = "".join(r.choice("0123456789.e+-_ 12345") for _ in range(r.randint(0, 10)))
        return name, [s], attempt(float, s)
    if name == "fromhex":
        if r.random() < 0.4:
            s = x.hex()
        else:
            digits = (r.choice("0123456789abcdefF...") for _ in range(r.randint(0, 20)))
            exponent = r.choice(["", str(r.randint(0, 1100)), str(r.randint(1000, 1100))])
            s = (r.choice(["", "-", "+", " "]) + r.choice(["", "0x", "0X"]) + "".join(digits) +
                 r.choice(["", "p", "P", "p+", "p-"]) + exponent)
        return name, [s], attempt(float.fromhex, s)
    if name in ("bin", "oct", "hex"):
        return name, [n], attempt({"bin": bin, "oct": oct, "hex": hex}[name], n)
    if name == "hash_int":
        return name, [n], attempt(hash, n)
    if name == "hash_float":
        return name, [0.0 if math.isnan(x) else x], attempt(hash, 0.0 if math.isnan(x) else x)
    if name in ("hash_tuple", "hash_frozenset"):
        items = {c.int64() for _ in range(r.randint(0, 6))}
        return name, list(items), attempt(hash, (tuple if name == "hash_tuple" else frozenset)(items))
    if name.startswith("format_"):
        value = {"int": n, "float": x, "bool": r.random() < 0.5, "str": c.text()}[name[7:]]
        spec = c.spec()
        return name, [int(value) if name == "format_bool" else value, spec], attempt(format, value, spec)
    if name == "percent":
        text, args = c.percent()
        if any(isinstance(a, float) and math.isfinite(a) and abs(a) >= 2**63 for a in args):
            args = [1 for _ in args]
        return name, [text] + tagged(args), attempt(lambda: text % tuple(args))
    text, args = c.template()
    return name, [text] + tagged(args), attempt(lambda: text.format(*args))


def tagged(args):
    """For the driver: an argument with its type before it."""
    def tag(a):
        return "i:" + str(a) if isinstance(a, int) else "f:" + a.hex() if isinstance(a, float) else "s:" + a
    return [tag(a) for a in args]


def text_case(c: Cases):
    r = c.r
    s = c.text(r.choice([6, 12, 60]))
    sub = c.part(s)
    limit = r.choice([-1, -1, 0, 1, 2, 5])
    name = r.choice(TEXT_FUNCTIONS)
    if name in PLAIN_METHODS:
        return name, [s], attempt(getattr(s, name))
    if name in ("repr", "ascii", "len"):
        s = c.text(surrogates=True)
        return name, [s], attempt(len, s) if name == "len" else (repr(s) if name == "repr" else ascii(s))
    if name in ("bytes_repr", "decode_replace", "decode"):
        data = changed_bytes(c, s)
        if name == "bytes_repr":
            return name, [data], repr(data)
        return name, [data], attempt(data.decode, "utf-8", "replace" if name == "decode_replace" else "strict")
    if name in ("strip_of", "lstrip_of", "rstrip_of"):
        return name, [s, sub], attempt(getattr(s, name[:-3]), sub)
    if name in ("split_space", "rsplit_space"):
        return name, [s, limit], attempt(getattr(s, name[:-6]), None, limit)
    if name in ("split", "rsplit", "partition", "rpartition"):
        sub = sub or "a"
        more = [limit] if "split" in name else []
        return name, [s, sub] + more, attempt(getattr(s, name), sub, *more)
    if name == "splitlines":
        keep = r.random() < 0.5
        return name, [s, int(keep)], attempt(s.splitlines, keep)
    if name in ("removeprefix", "removesuffix"):
        return name, [s, sub], attempt(getattr(s, name), sub)
    if name in ("find", "rfind", "count", "startswith"):
        start, end = r.choice([0, 0, r.randint(-15, 15)]), r.choice([2**63 - 1, r.randint(-15, 15)])
        return name, [s, sub, start, end], attempt(getattr(s, name), sub, start, end)
    if name == "replace":
        to = c.text(3)
        return name, [s, sub, to, limit], attempt(s.replace, sub, to, limit)
    if name in ("center", "ljust", "rjust"):
        width, fill = r.randint(-2, 30), r.choice(["*", " ", "é", "😀"])
        return name, [s, width, fill], attempt(getattr(s, name), width, fill)
    if name == "zfill":
        s = r.choice(["", "-", "+"]) + s
        width = r.randint(-2, 30)
        return name, [s, width], attempt(s.zfill, width)
    if name == "expandtabs":
        s = "".join(r.choice("ab\t\n\ré") for _ in range(r.randint(0, 15)))
        size = r.choice([8, 4, 1, 0, -1, 3])
        return name, [s, size], attempt(s.expandtabs, size)
    if name == "join":
        items = [c.text(4) for _ in range(r.randint(1, 5))]
        return name, [sub] + items, attempt(sub.join, items)
    letters = r.choice(["abAB", "abcdefgh_"])
    names = sorted({"".join(r.choice(letters) for _ in range(r.randint(1, 9))) for _ in range(r.randint(1, 6))})
    wanted = "".join(r.choice(letters) for _ in range(r.randint(1, 9)))
    while wanted in names:
        wanted += "z"
    return name, [wanted] + names, attempt(suggestion, wanted, *names)


def changed_bytes(c: Cases, s: str) -> bytes:
    data = bytearray(s.encode())
    for _ in range(c.r.choice([0, 1, 2])):
        if data:
            data[c.r.randrange(len(data))] = c.r.randrange(256)
    return bytes(data[:c.r.choice([len(data), len(data), max(len(data) - 1, 0)])])


def bytes_case(c: Cases):
    r = c.r
    data = changed_bytes(c, c.text(r.choice([6, 12, 60])))
    at = r.randrange(len(data) + 1)
    sub = r.choice([data[at:at + r.randint(0, 3)], b"a", b" "])
    limit = r.choice([-1, -1, 0, 1, 2])
    name = r.choice(BYTES_FUNCTIONS)
    method = name.removeprefix("bytes_")
    if name == "bytes_hex":
        separator, group = r.choice(["", "-", ":"]), r.randint(-4, 4)
        return name, [data, separator, group], attempt(data.hex, *([separator, group] if separator else []))
    if name == "bytes_fromhex":
        s = "".join(r.choice("0123456789abF  gé" if r.random() < 0.3 else "01aF") for _ in range(r.randint(0, 12)))
        return name, [s], attempt(bytes.fromhex, s)
    if name == "bytes_expandtabs":
        data = bytes(r.choice(b"ab\t\n\r\xc3") for _ in range(r.randint(0, 15)))
        size = r.choice([8, 4, 1, 0, -1])
        return name, [data, size], attempt(data.expandtabs, size)
    if name == "bytes_replace":
        return name, [data, sub, b"xyz", limit], attempt(data.replace, sub, b"xyz", limit)
    if name == "bytes_strip_of":
        return name, [data, sub], attempt(data.strip, sub)
    if name in ("bytes_split", "bytes_rsplit"):
        return name, [data, limit], attempt(getattr(data, method), None, limit)
    if name == "bytes_splitlines":
        keep = r.random() < 0.5
        return name, [data, int(keep)], attempt(data.splitlines, keep)
    if name == "encode":
        s = c.text(surrogates=True)
        return name, [s], attempt(s.encode)
    if name == "stepped":
        s = c.text() + "é"
        first, step = r.randrange(len(s)), r.choice([-3, -2, -1, 1, 2, 3])
        result = s[first::step]
        return name, [s, first, step, len(result)], repr(result)
    return name, [data], attempt(getattr(data, method))


def code_point_case(code: int):
    c = chr(code)
    row = "".join("01"[test] for test in (
        c.isalpha(), c.isdecimal(), c.isdigit(), c.isnumeric(), c.isalnum(), c.isspace(), c.islower(), c.isupper(),
        c.istitle(), c.isprintable(), c.isidentifier(), ("a" + c).isidentifier()))
    if not 0xD800 <= code < 0xE000:
        for form in (c.upper(), c.lower(), c.title(), c.casefold(), c.swapcase()):
            row += " " + form
        row += " " + ("A\u03a3" + c + "A").lower() + ("A\u03a3" + c).lower()
    return "code_point", [code], repr(row)


# The driver's answer for a field with an attribute or an index, which need objects.
NOT_LOOKED_AT = b"!TypeError: not looked at"


def encoded(field) -> bytes:
    if isinstance(field, float):
        field = field.hex()
    if not isinstance(field, bytes):
        field = str(field).encode("utf-8", "surrogatepass")
    for old, new in ((b"\\", b"\\\\"), (b"\t", b"\\t"), (b"\n", b"\\n"), (b"\r", b"\\r"), (b"\0", b"\\0")):
        field = field.replace(old, new)
    return field


def compare(driver: str, cases: list, shown: int = 20) -> int:
    text = b"".join(b"\t".join(encoded(f) for f in [name] + args) + b"\n" for name, args, _ in cases)
    done = subprocess.run([driver], input=text, stdout=subprocess.PIPE)
    answers = done.stdout.split(b"\n")[:-1]
    if done.returncode != 0 or len(answers) != len(cases):
        name, args, _ = cases[min(len(answers), len(cases) - 1)]
        print(f"{driver} ended with status {done.returncode} at: {name} {args!r}")
        return 1
    bad = 0
    for (name, args, expected), answer in zip(cases, answers):
        expected = expected.replace("\n", "?").replace("\r", "?").encode("utf-8", "surrogatepass")
        if answer != expected and answer != NOT_LOOKED_AT:
            bad += 1
            if bad <= shown:
                print(f"{name} {args!r}:")
                print(f"    CPython {expected.decode(errors='replace')}")
                print(f"    talc    {answer.decode(errors='replace')}")
    return bad


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("driver")
    parser.add_argument("--cases", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--code-points", action="store_true", help="compare the properties of all of Unicode too")
    parser.add_argument("--only", help="only cases of this function")
    args = parser.parse_args()
    if sys.version_info[:2] != (3, 11):
        print(f"text oracle: skipped, this is CPython {sys.version_info[0]}.{sys.version_info[1]} and not 3.11")
        return 0
    c = Cases(args.seed)
    kinds = [number_case, text_case, number_case, text_case, bytes_case]
    cases = [kinds[i % len(kinds)](c) for i in range(args.cases)]
    if args.code_points:
        cases += [code_point_case(code) for code in range(0x110000)]
    if args.only:
        cases = [case for case in cases if case[0] == args.only]
    bad = compare(args.driver, cases)
    print(f"text oracle: {len(cases) - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
