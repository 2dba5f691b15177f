#!/usr/bin/env python3
"""Writes the table behind \\N{...}: hashes of the characters' names and their code points, sorted by hash.

A name is looked for by its hash alone (64 bits of FNV-1a), which keeps 45,000 names in half a megabyte that nothing
touches until a script has such an escape. CJK ideographs are left out: their names are their numbers.
"""
import sys
import unicodedata

# unicodedata finds these too, but does not list them.
ALIASES = """NULL|START OF HEADING|START OF TEXT|END OF TEXT|END OF TRANSMISSION|ENQUIRY|ACKNOWLEDGE|ALERT|BACKSPACE
CHARACTER TABULATION|HORIZONTAL TABULATION|TAB|LINE FEED|NEW LINE|END OF LINE|LF|NL|EOL|LINE TABULATION|VERTICAL TABULATION
FORM FEED|FF|CARRIAGE RETURN|CR|SHIFT OUT|SHIFT IN|DATA LINK ESCAPE|ESCAPE|ESC|DELETE|DEL|CANCEL|SUBSTITUTE|NEXT LINE|NEL
INFORMATION SEPARATOR ONE|INFORMATION SEPARATOR TWO|INFORMATION SEPARATOR THREE|INFORMATION SEPARATOR FOUR|NBSP|SHY|ZWSP|ZWNJ
ZWJ|LRM|RLM|BOM|BYTE ORDER MARK|WJ|CGJ|ZWNBSP|SP|HT|VT|BEL|BS|NUL""".replace("\n", "|").split("|")


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode("ascii"):
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def table():
    found = {}

    def add(name, code):
        key = fnv1a(name)
        if found.setdefault(key, code) != code:
            sys.exit(f"two names hash alike: {name}")

    for code in range(0x110000):
        name = unicodedata.name(chr(code), None)
        if name is not None and not name.startswith("CJK UNIFIED IDEOGRAPH-"):
            add(name, code)
    for alias in ALIASES:
        try:
            add(alias, ord(unicodedata.lookup(alias)))
        except KeyError:
            pass
    return sorted(found.items())


def main():
    rows = table()
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write("// Written by tools/unicode_names.py.\n#include \"base/text/unicode_names.hpp\"\n\nnamespace talc::text {\n\n")
        out.write(f"const size_t kNamedCount = {len(rows)};\nconst uint64_t kNameHashes[] = {{\n")
        out.write("".join(f"0x{key:x},\n" for key, _ in rows))
        out.write("};\nconst uint32_t kNamedCodes[] = {\n")
        out.write("".join(f"0x{code:x},\n" for _, code in rows))
        out.write("};\n\n}  // namespace talc::text\n")


main()
