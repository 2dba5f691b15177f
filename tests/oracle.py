"""Runs a script under CPython as talc would: `python3 oracle.py FILE.tc [args]`; imports find .tc files."""

import importlib.machinery
import os
import sys


def main() -> None:
    script = sys.argv[1]
    sys.argv = sys.argv[1:]
    own = [os.path.dirname(os.path.abspath(script))]
    own += [os.path.abspath(entry) for entry in os.environ.get("TALC_PATH", "").split(":") if entry]
    make_finder = importlib.machinery.FileFinder.path_hook((importlib.machinery.SourceFileLoader, [".tc"]))

    def hook(folder: str):
        # CPython's own folders keep CPython's own finders.
        if not any(os.path.commonpath([folder, entry]) == entry for entry in own if os.path.isabs(folder)):
            raise ImportError
        return make_finder(folder)

    sys.path_hooks.insert(0, hook)
    sys.path[0:1] = own

    with open(script, "rb") as file:
        source = file.read()
    module = type(sys)("__main__")
    module.__file__ = script
    module.__builtins__ = __builtins__
    sys.modules["__main__"] = module
    exec(compile(source, script, "exec"), module.__dict__)


main()
