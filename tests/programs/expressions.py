"""Expressions of random programs, and what is known of variables while a program is written."""

from dataclasses import dataclass, replace

UNARY = ["tanh", "sigmoid", "relu", "abs", "square", "sin", "cos", "neg", "sign", "gelu", "floor"]
INT_UNARY = ["abs", "neg", "square", "sign"]


@dataclass(frozen=True)
class Type:
    """Of a tensor: dims are names, numbers or sums of them; f, d, i, b its dtype."""
    shape: tuple
    dtype: str = "f"
    grad: bool = False     # it may require grad
    view: bool = False     # it may share memory with another

    @property
    def rank(self):
        return len(self.shape)


class Scope:
    def __init__(self, parent=None):
        self.vars = dict(parent.vars) if parent else {}
        self.fixed = set(parent.vars) | set(parent.fixed) if parent else set()  # keep their types inside blocks

    def of(self, kind):
        return [name for name, t in self.vars.items() if t == kind]

    def tensors(self, test=None):
        return [(n, t) for n, t in self.vars.items() if isinstance(t, Type) and (test is None or test(t))]

    def lists(self):
        return [(n, t[1]) for n, t in self.vars.items() if isinstance(t, tuple) and t[0] == "list"]

    def dicts(self):
        return [(n, t[1]) for n, t in self.vars.items() if isinstance(t, tuple) and t[0] == "dict"]


class Writer:
    def __init__(self, rng):
        self.rng = rng
        self.lines = []
        self.depth = 0
        self.count = 0

    def put(self, text):
        self.lines.append("    " * self.depth + text)

    def fresh(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"


class Expressions:
    """Expressions over the variables of a scope."""

    def __init__(self, program, writer, scope, level=0, loops=0, returns=None, grads=True):
        self.p = program
        self.w = writer
        self.rng = writer.rng
        self.s = scope
        self.level = level
        self.loops = loops
        self.returns = returns
        self.no_grad = False
        self.helpers = program.helpers
        self.risky = 0

    # ---- expressions ----------------------------------------------------------------------------------

    def number(self):
        r = self.rng
        return r.choice(["0.5", "2.0", "-1.0", "0.25", "3", "1.5", "-0.75", "2", "1"])

    def scalar_float(self):
        r = self.rng
        names = self.s.of("float")
        if names and r.random() < 0.5:
            return r.choice(names)
        return self.number()

    def scalar_int(self, small=True):
        r = self.rng
        names = self.s.of("int")
        k = r.random()
        if names and k < 0.5:
            return r.choice(names)
        if names and k < 0.6:
            return f"({r.choice(names)} {r.choice(['+', '-', '*'])} {r.randint(1, 3)})"
        if k < 0.7:
            t = self.s.tensors(lambda t: t.rank > 0)
            if t:
                name, type_ = r.choice(t)
                return f"{name}.shape[{r.randrange(type_.rank)}]"
        if k < 0.75 and self.s.lists():
            return f"len({r.choice(self.s.lists())[0]})"
        return str(r.randint(0, 3))

    def scalar(self):
        return self.scalar_float() if self.rng.random() < 0.5 else self.scalar_int()

    def condition(self):
        """A condition on scalars."""
        r = self.rng
        k = r.random()
        if k < 0.2 and self.s.of("bool"):
            return r.choice(["", "not "]) + r.choice(self.s.of("bool"))
        if k < 0.3 and self.s.tensors():
            name, t = r.choice(self.s.tensors())
            return r.choice([f"{name}.requires_grad", f"{name}.dim() == {t.rank}", f"{name}.is_contiguous()",
                             f"{name} is None", f"isinstance({name}, Tensor)", f"{name}.dtype == float32"])
        if k < 0.4 and self.s.tensors(lambda t: t.rank > 0):
            name, t = r.choice(self.s.tensors(lambda t: t.rank > 0))
            return f"{name}.shape[{r.randrange(t.rank)}] {r.choice(['>', '==', '<'])} {r.randint(1, 4)}"
        op = r.choice(["<", ">", "==", "!=", "<=", ">="])
        left = self.scalar_int()
        if r.random() < 0.3:
            left = f"{left} % {r.randint(2, 3)}"
        text = f"{left} {op} {self.scalar_int()}"
        if r.random() < 0.15:
            text = f"{text} {r.choice(['and', 'or'])} {self.scalar_int()} > {r.randint(0, 2)}"
        return text

    def tensor_condition(self):
        r = self.rng
        text, t = self.tensor(0)
        reduced = text if t.rank == 0 else f"({text}).{r.choice(['sum', 'mean', 'amax', 'amin'])}()" if t.dtype in "fd" else f"({text}).sum()"
        return f"{reduced} {r.choice(['>', '<'])} {r.choice(['0.137', '-0.411', '1.313', '3.07'])}"

    def pick(self, test=None):
        found = self.s.tensors(test)
        return self.rng.choice(found) if found else None

    def tensor(self, depth=2, test=None):
        """An expression with its type."""
        r = self.rng
        found = self.pick(test)
        if found is None:
            return "tensor(1.5)", Type(())
        name, t = found
        text = name
        steps = r.randint(0 if depth == 0 else 1, max(depth, 1)) if depth else 0
        for _ in range(steps):
            text, t = self.apply(text, t)
        return text, t

    def apply(self, text, t):
        r = self.rng
        k = r.random()
        if k < 0.25:
            return self.pointwise(text, t)
        if k < 0.55:
            return self.binary(text, t)
        if k < 0.65:
            return self.reduction(text, t)
        if k < 0.82:
            return self.viewed(text, t)
        if k < 0.88:
            return self.cast(text, t)
        return self.other(text, t)

    def pointwise(self, text, t):
        r = self.rng
        if t.dtype == "b":
            return f"(~{text})", replace(t, view=False)
        if t.dtype == "i":
            return f"{text}.{r.choice(INT_UNARY)}()", replace(t, view=False)
        k = r.random()
        if k < 0.1:
            return f"({text}.abs() + 1.0).{r.choice(['sqrt', 'log', 'rsqrt', 'reciprocal'])}()", replace(t, view=False)
        if k < 0.2:
            return f"{text}.tanh().exp()", replace(t, view=False)
        if k < 0.3:
            return f"{text}.clamp(-1.5, {r.choice(['2.0', '3.5'])})", replace(t, view=False)
        if k < 0.35:
            return f"({text} * 0.5).softmax(-1)" if t.rank else f"{text}.exp()", replace(t, view=False)
        name = r.choice(UNARY)
        if name == "floor":
            return f"({text} * 0.37 + 0.11).floor()", replace(t, view=False)
        if name in ("relu", "gelu", "tanh", "sigmoid") and r.random() < 0.3:
            return f"{name}({text})", replace(t, view=False)
        return f"{text}.{name}()", replace(t, view=False)

    @staticmethod
    def promoted(a, b):
        order = "bifd"
        return max(a, b, key=order.index)

    def broadcast(self, a, b):
        """Shape of the result, or None when they do not fit."""
        n = max(len(a), len(b))
        a, b = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
        out = []
        for x, y in zip(a, b):
            if x == y or y == 1:
                out.append(x)
            elif x == 1:
                out.append(y)
            else:
                return None
        return tuple(out)

    def binary(self, text, t):
        r = self.rng
        k = r.random()
        if k < 0.4:
            number = self.scalar()
            op = r.choice(["+", "-", "*", "*", "+", "/" if t.dtype in "fd" else "+"])
            if t.dtype == "b":
                return f"({text}.float() {op} {number})", replace(t, dtype="f", view=False)
            if t.dtype == "i":
                number = self.scalar_int()
                op = r.choice(["+", "-", "*", "//", "%"])
                if op in "//%":
                    number = str(r.choice([2, 3, -2, 5]))
                return f"({text} {op} {number})", replace(t, view=False)
            if op == "/":
                number = self.number()
            return (f"({number} {op} {text})" if r.random() < 0.2 and op != "/" else f"({text} {op} {number})"), replace(t, view=False)
        fits = self.s.tensors(lambda o: self.broadcast(t.shape, o.shape) is not None)
        if not fits:
            return self.pointwise(text, t)
        name, o = r.choice(fits)
        shape = self.broadcast(t.shape, o.shape)
        dtype = self.promoted(t.dtype, o.dtype)
        result = Type(shape, dtype, t.grad or o.grad)
        k = r.random()
        if k < 0.15:
            return f"({text} {r.choice(['>', '<', '>=', '==', '!='])} {name})", replace(result, dtype="b", grad=False)
        if dtype == "b":
            return f"({text} {r.choice(['&', '|', '^'])} {name})", result
        if k < 0.3:
            if dtype in "fd" and r.random() < 0.5:
                return f"where({text} > {r.choice(['0.13', '-0.41'])}, {text}, {name})", result
            return f"{r.choice(['maximum', 'minimum'])}({text}, {name})", result
        if k < 0.4 and dtype in "fd":
            return f"({text} / ({name}.abs() + 1.0))", result
        op = r.choice(["+", "-", "*"])
        if op == "-" and (t.dtype == "b" or o.dtype == "b"):
            op = "*"
        return f"({text} {op} {name})", result

    def reduction(self, text, t):
        r = self.rng
        if t.dtype == "b":
            return f"{text}.{r.choice(['any', 'all'])}()", Type((), "b")
        if t.rank == 0:
            return self.pointwise(text, t)
        name = r.choice(["sum", "mean", "amax", "amin", "sum", "mean"])
        if t.dtype == "i" and name == "mean":
            name = "sum"
        if r.random() < 0.4:
            return f"{text}.{name}()", Type((), t.dtype, t.grad)
        dim = r.randrange(t.rank)
        keep = r.random() < 0.5
        shape = t.shape[:dim] + ((1,) if keep else ()) + t.shape[dim + 1:]
        shown = dim if r.random() < 0.5 else dim - t.rank
        if r.random() < 0.12 and not keep:
            return f"{text}.argmax(dim={shown})", Type(shape, "i")
        return f"{text}.{name}(dim={shown}{', keepdim=True' if keep else ''})", Type(shape, t.dtype, t.grad)

    def viewed(self, text, t):
        """A view, most often."""
        r = self.rng
        v = replace(t, view=True)
        k = r.randrange(12)
        if t.rank == 0:
            return (f"{text}.unsqueeze(0)", replace(v, shape=(1,))) if k < 6 else (f"{text}.expand(2)", replace(v, shape=(2,)))
        if k == 0:
            return f"{text}.{r.choice(['reshape(-1)', 'flatten()'])}", replace(v, shape=(self.product(t.shape),))
        if k == 1 and t.rank == 2:
            return f"{text}.{r.choice(['T', 'transpose(0, 1)', 'permute(1, 0)', 'mT'])}", replace(v, shape=t.shape[::-1])
        if k in (2, 3):
            return f"{text}[{r.choice(['0', '-1', '0', '1'])}]", replace(v, shape=t.shape[1:])
        if k == 4 and t.rank == 2:
            return f"{text}[:, {r.choice(['0', '-1'])}]", replace(v, shape=t.shape[:1])
        if k == 5:
            d = t.shape[0]
            return f"{text}[1:]", replace(v, shape=(self.minus(d),) + t.shape[1:])
        if k == 6:
            d = t.shape[0]
            return f"{text}[:-1]", replace(v, shape=(self.minus(d),) + t.shape[1:])
        if k == 7:
            d = r.randrange(t.rank + 1)
            if t.rank >= 3:
                return f"{text}[0]", replace(v, shape=t.shape[1:])
            return f"{text}.unsqueeze({d})", replace(v, shape=t.shape[:d] + (1,) + t.shape[d:])
        if k == 8 and t.rank == 1:
            return f"{text}.expand(2, {text}.shape[0])" if text.isidentifier() else f"{text}.unsqueeze(0).expand(2, -1)", replace(v, shape=(2,) + t.shape)
        if k == 9:
            return f"{text}[::2]", replace(v, shape=(self.half(t.shape[0]),) + t.shape[1:])
        if k == 10 and t.shape[0] == 1:
            return f"{text}.squeeze(0)", replace(v, shape=t.shape[1:])
        if k == 10:
            return f"{text}.narrow(0, 0, 1)", replace(v, shape=(1,) + t.shape[1:])
        return f"{text}.select({t.rank - 1}, 0)", replace(v, shape=t.shape[:-1])

    @staticmethod
    def product(shape):
        if all(isinstance(d, int) for d in shape):
            out = 1
            for d in shape:
                out *= d
            return out
        return "*".join(str(d) for d in shape if d != 1) or 1

    @staticmethod
    def minus(d):
        return d - 1 if isinstance(d, int) else f"({d}-1)"

    @staticmethod
    def half(d):
        return (d + 1) // 2 if isinstance(d, int) else f"({d}/2)"

    def cast(self, text, t):
        r = self.rng
        if t.dtype in "fd" and r.random() < 0.5:
            return f"({text} * 1.7 + 0.37).{r.choice(['long', 'int'])}()" if False else f"({text} * 1.7 + 0.37).long()", Type(t.shape, "i")
        to = r.choice("fd" if t.dtype in "fd" else "fdi")
        method = {"f": "float", "d": "double", "i": "long"}[to]
        return f"{text}.{method}()", Type(t.shape, to, t.grad if to in "fd" else False)

    def other(self, text, t):
        r = self.rng
        k = r.randrange(9)
        plain = text.isidentifier()
        if k == 0 and t.rank == 2 and t.dtype in "fd":
            name, o = self.pick(lambda o: o.rank == 2 and o.shape[0] == t.shape[1] and o.dtype == t.dtype) or (None, None)
            if name:
                return f"({text} @ {name})", Type((t.shape[0], o.shape[1]), t.dtype, t.grad or o.grad)
            if plain:
                return f"({text} @ {text}.T)", Type((t.shape[0], t.shape[0]), t.dtype, t.grad)
        if k == 1 and plain:
            return f"{r.choice(['zeros_like', 'ones_like'])}({text})", Type(t.shape, t.dtype)
        if k == 2:
            return f"{text}.detach()", replace(t, grad=False, view=True)
        if k == 3:
            return f"{text}.clone()", replace(t, view=False)
        if k == 4 and t.rank > 0 and plain:
            return f"arange({text}.shape[0]){r.choice(['', '.float()'])}", Type(t.shape[:1], "i") if False else Type(t.shape[:1], "f")
        if k == 5 and self.s.lists():
            name, item = r.choice(self.s.lists())
            if item is not None:
                return f"{name}[{r.choice(['0', '-1'])}]", replace(item, view=True)
        if k == 6 and t.rank == 1 and plain:
            return f"stack([{text}, {text} * 2])", Type((2,) + t.shape, t.dtype if t.dtype != "b" else "i", t.grad)
        if k == 7 and plain and t.rank > 0 and t.dtype in "fd":
            return f"cat([{text}, {text}[:1]])", Type((f"({t.shape[0]}+1)",) + t.shape[1:], t.dtype, t.grad)
        if k == 8 and plain and t.dtype in "fd" and r.random() < 0.5:
            return f"({text} + rand({text}.shape))", replace(t, view=False)
        return self.pointwise(text, t)

    def same_type(self, t):
        """An expression of that shape and dtype."""
        r = self.rng
        name, _ = self.pick(lambda o: o.shape == t.shape and o.dtype == t.dtype) or (None, None)
        if name is None:
            return None
        k = r.random()
        if t.dtype == "b":
            return f"~{name}"
        if k < 0.35:
            return f"{name} {r.choice(['+', '-', '*'])} {self.scalar_int() if t.dtype == 'i' else self.scalar()}"
        other, o = self.pick(lambda o: o.dtype == t.dtype and self.broadcast(t.shape, o.shape) == t.shape) or (None, None)
        if k < 0.8 and other:
            return f"{name} {r.choice(['+', '-', '*'])} {other}"
        if t.dtype == "i":
            return f"{name}.abs()"
        return f"{name}.{r.choice(['tanh', 'sigmoid', 'relu', 'sin'])}()"
