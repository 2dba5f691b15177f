"""Random Talc programs, one for each seed. A program is a module that defines functions, calls them several times with
arguments of the same and of other shapes, types and values, and prints all that can be seen afterwards.

Shapes are symbolic while a function is written (A and B are sizes of its arguments), so that most programs run without
an error at whatever sizes their calls choose."""

import random
from dataclasses import replace

from expressions import Scope, Type, Writer
from statements import Body


class Program:
    def __init__(self, seed, native=False, moving=False):
        self.rng = random.Random(seed)
        self.seed = seed
        self.native = native
        self.moving = moving
        self.helpers = []
        self.class_name = "Box"
        self.w = Writer(self.rng)

    def text(self):
        r = self.rng
        w = self.w
        w.put("from show import compiled, show, call")
        w.put("g_int = 1")
        w.put("g_tensor = tensor(0.5)")
        w.put("g_list = []")
        w.put("def bump_count():")
        w.put("    global g_int")
        w.put("    g_int += 1")
        w.put("def set_tensor(t):")
        w.put("    global g_tensor")
        w.put(r.choice(["    g_tensor = t.float()", "    g_tensor = t.detach().float()", "    g_tensor = g_tensor * 0.5 + t.detach()"]))
        self.make_class()
        for _ in range(r.randint(0, 2)):
            self.make_helper()
        functions = [self.make_function(k) for k in range(r.choice([1, 1, 1, 2]))]
        self.make_calls(functions)
        w.put("show('g_int', g_int)")
        w.put("show('g_tensor', g_tensor)")
        w.put("show('g_list', g_list)")
        return "\n".join(w.lines) + "\n"

    def make_class(self):
        r = self.rng
        w = self.w
        w.put("class Box:")
        w.put("    scale = 2")
        w.put("    def __init__(self, w, n):")
        w.put("        self.w = w")
        w.put("        self.n = n")
        w.put("        self.flag = n > 1")
        w.put("        self.seen = []")
        w.put("    def fields(self):")
        w.put("        return ['w', 'n', 'flag', 'seen']")
        w.put("    def apply(self, x):")
        if r.random() < 0.5:
            w.put("        if self.flag:")
            w.put("            return x * self.n")
        if r.random() < 0.3:
            w.put("        if self.w.sum() > 0.213:")
            w.put("            self.n = self.n + 1")
        w.put(f"        return x {r.choice(['+', '*'])} self.w.{r.choice(['sum', 'mean', 'amax'])}() {r.choice(['', '* self.scale', '+ self.n'])}")
        w.put("    def bump(self, by):")
        w.put("        self.n += by")
        if r.random() < 0.5:
            w.put("        self.flag = not self.flag")
        if r.random() < 0.5:
            w.put(r.choice(["        self.w = self.w * 0.5", "        self.w = self.w.detach() + by"]))

    def make_helper(self):
        r = self.rng
        name = self.w.fresh("h")
        kind = r.choice(["plain", "plain", "star", "deep"])
        scope = Scope()
        if kind == "plain":
            self.w.put(f"def {name}(x, y, k=2):")
            scope.vars = {"x": Type(("A", "B")), "k": "int"}
            self.w.depth += 1
            body = Body(self, self.w, scope, 2, 0, None)
            body.helpers = []
            if r.random() < 0.5:
                self.w.put("if k > 2:")
                self.w.put(f"    return x {r.choice(['-', '+', '*'])} y")
            if r.random() < 0.3:
                self.w.put(r.choice(["x += 1", "x.mul_(0.5)", "x = x * 0.5"]))
            self.w.put(r.choice(["return x * k + y", "return (x * y).tanh()", "return x + y * k", "z = x * y\n" + "    z += k\n    return z"]))
            self.w.depth -= 1
        elif kind == "star":
            self.w.put(f"def {name}(x, *more):")
            self.w.put("    out = x * 1.0")
            self.w.put("    for m in more:")
            self.w.put(r.choice(["        out = out + m", "        out += m", "        out = (out * m).sin()"]))
            self.w.put("    return out")
        else:
            self.w.put(f"def {name}(x, n):")
            self.w.put("    if n <= 0:")
            self.w.put("        return x")
            self.w.put(f"    return {name}(x {r.choice(['* 0.5', '+ n', '- 1'])}, n - 1)")
        self.helpers.append({"name": name, "kind": kind})

    def make_function(self, number):
        r = self.rng
        w = self.w
        name = f"main{number}"
        params, scope = [], Scope()
        shapes = [("A", "B"), ("A", "B"), ("B",), ("A",), (), ("A", "A"), ("B", "A"), ("A", "B")]
        grads = r.random() < 0.3
        for k in range(r.randint(1, 3)):
            t = Type(r.choice(shapes), r.choice("fffffffdib"[:9] if r.random() < 0.9 else "b"), False, True)
            if grads and t.dtype == "f" and r.random() < 0.6:
                t = replace(t, grad=True)
            params.append((f"x{k}", t))
        for k in range(r.randint(0, 2)):
            params.append((f"k{k}", r.choice(["int", "float", "bool", "int"])))
        if r.random() < 0.35:
            params.append(("o0", "obj"))
        if r.random() < 0.25:
            params.append(("l0", ("list", Type(("A", "B"), "f", False, True))))
        for p, t in params:
            scope.vars[p] = t
        shown = [p for p, _ in params]
        if params[-1][1] == "int":
            shown[-1] += "=2"
        w.put("@compiled")
        w.put(f"def {name}({', '.join(shown)}):")
        w.depth += 1
        body = Body(self, w, scope, 0, 0, True)
        body.statements(r.randint(3, 11))
        w.put(f"return {body.result()}")
        w.depth -= 1
        return name, params

    # ---- calls ----------------------------------------------------------------------------------------

    def literal(self, shape, dtype):
        r = self.rng

        def item():
            if dtype == "i":
                return str(r.randint(-3, 5))
            if dtype == "b":
                return r.choice(["True", "False"])
            return repr(r.randint(-12, 12) * 0.25)

        def rec(dims):
            if not dims:
                return item()
            return "[" + ", ".join(rec(dims[1:]) for _ in range(dims[0])) + "]"
        if 0 in shape:
            return f"zeros({', '.join(map(str, shape))})" + {"f": "", "d": ".double()", "i": ".long()", "b": " > 0"}[dtype]
        extra = ", dtype=float64" if dtype == "d" else ""
        return f"tensor({rec(shape)}{extra})"

    def make_calls(self, functions):
        r = self.rng
        w = self.w
        if any("rand(" in line for line in w.lines):
            w.put("manual_seed(3)")
        base = {"A": r.randint(2, 3), "B": r.randint(2, 4)}
        moving = random.Random(self.seed)
        previous = {}
        for c in range(r.randint(4, 8)):
            name, params = r.choice(functions)
            sizes = dict(base)
            k = r.random()
            if self.moving:
                sizes = {"A": moving.randint(2, 6), "B": moving.randint(2, 5) if moving.random() < 0.3 else base["B"]}
                if moving.random() < 0.1:
                    sizes[moving.choice("AB")] = moving.choice([0, 1, 1])
            elif k < 0.12:
                sizes["A"] = r.choice([1, 2, 4, 5])
            elif k < 0.2:
                sizes["B"] = r.choice([1, 2, 3, 5])
            elif k < 0.23:
                sizes["A"] = 0
            old = previous.get(name)
            args = []
            for i, (p, t) in enumerate(params):
                # Most often the same value again, so that compiled code is met.
                scalar = t in ("int", "float", "bool")
                if scalar and old and r.random() < 0.7:
                    args.append(old[i])
                    continue
                if not scalar and old and r.random() < 0.3 and sizes == base:
                    args.append(old[i])
                    continue
                args.append(self.argument(c, i, t, sizes, args, params))
            # Aliases among the arguments.
            tensors = [i for i, (_, t) in enumerate(params) if isinstance(t, Type)]
            if len(tensors) > 1 and r.random() < 0.25:
                i, j = r.sample(tensors, 2)
                a, b = params[i][1], params[j][1]
                if a.shape == b.shape and a.dtype == b.dtype:
                    args[j] = r.choice([args[i], args[i] + ".view_as(" + args[i] + ")" if False else args[i] + "[:]" if a.rank else args[i]])
                elif a.shape == b.shape[1:] and a.dtype == b.dtype and sizes["A"]:
                    args[i] = args[j] + "[0]"
                elif a.rank == 2 and b.shape == a.shape[::-1] and a.dtype == b.dtype:
                    args[j] = args[i] + ".T"
            given = args[:-1] if params[-1][1] == "int" and r.random() < 0.3 else args
            for n, text in enumerate(given):
                if isinstance(params[n][1], Type) and r.random() < 0.06 and params[n][1].rank == 2:
                    given = list(given)
                    given[n] = text + ".T.contiguous().T"
            line = f"call({name}, {', '.join(given)})"
            if r.random() < 0.1:
                w.put("with no_grad():")
                w.put("    " + line)
            elif r.random() < 0.15:
                w.put(f"for again in range({r.randint(2, 3)}):")
                w.put("    " + line)
            else:
                w.put(line)
            if r.random() < 0.1:
                w.put(r.choice(["g_int = 5", "g_tensor = tensor(2.0)", "g_list = [g_tensor]", "Box.scale = 3"]))
            if sizes == base:
                previous[name] = args

    def argument(self, c, i, t, sizes, args, params):
        r = self.rng
        w = self.w
        if t == "int":
            return str(r.randint(0, 4))
        if t == "float":
            return repr(r.randint(-6, 6) * 0.25)
        if t == "bool":
            return r.choice(["True", "False"])
        name = f"v{c}_{i}"
        if t == "obj":
            w.put(f"{name} = Box({self.literal((sizes['B'],), 'f')}, {r.randint(0, 3)})")
            return name
        if isinstance(t, tuple):
            shape = tuple(sizes.get(d, d) for d in t[1].shape)
            items = [self.literal(shape, "f") for _ in range(r.randint(1, 3))]
            w.put(f"{name} = [{', '.join(items)}]")
            return name
        shape = tuple(sizes.get(d, d) for d in t.shape)
        dtype = t.dtype if r.random() < 0.95 else r.choice("fdi")
        text = self.literal(shape, dtype)
        if t.grad and dtype == "f" and r.random() < 0.85:
            text += ".requires_grad_(True)"
            if r.random() < 0.2:
                text = f"({text} * 1.0)"
        w.put(f"{name} = {text}")
        if t.rank and r.random() < 0.08:
            w.put(f"{name} = stack([{name}, {name}])[1]")
        return name


def generate(seed, native=False, moving=False):
    """`moving`: the sizes of the arguments change with every call."""
    return Program(seed, native, moving).text()


if __name__ == "__main__":
    import sys
    print(generate(int(sys.argv[1])), end="")
