#!/usr/bin/env python3
"""Runs a tensor script under PyTorch and prints what it prints, so that expectations are PyTorch's and not ours.

usage: python3 tests/torch_oracle.py [--write] FILE.tc ...     --write: into FILE.out beside each

Talc's tensor functions are builtins; here they come from torch and torch.nn.functional, unless Python has the name.
What Talc prints otherwise on purpose (dtype names) is rewritten in the output.
"""

import contextlib
import io
import re
import sys
import types
from pathlib import Path


def namespace():
    import builtins
    import warnings

    import torch
    import torch.nn.functional as functional

    warnings.filterwarnings("ignore")
    names = {"__name__": "__main__"}
    for module in (torch, functional):
        for name in dir(module):
            if not name.startswith("_") and not hasattr(builtins, name):
                names[name] = getattr(module, name)
    names["device"] = torch.device
    for name in ("grad", "vjp", "jvp", "vmap"):
        names[name] = getattr(torch.func, name)
    optim = types.ModuleType("optim")
    optim.__dict__.update(torch.optim.__dict__)
    optim.clip_grad_norm_ = torch.nn.utils.clip_grad_norm_
    sys.modules.update(nn=torch.nn, optim=optim, linalg=torch.linalg, autograd=torch.autograd)
    return names


def run(path):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(path.read_text(), str(path), "exec"), namespace())
    return re.sub(r"\btorch\.((?:b?float|u?int)\d+|bool)\b", r"\1", out.getvalue())


def main():
    arguments = sys.argv[1:]
    write = "--write" in arguments
    for name in arguments:
        if name == "--write":
            continue
        path = Path(name)
        text = run(path)
        if write:
            path.with_suffix(".out").write_text(text)
        else:
            sys.stdout.write(text)


if __name__ == "__main__":
    main()
