"""Random Talc programs, one for each seed. A program is a module that defines functions, calls them several times with
arguments of the same and of other shapes, types and values, and prints all that can be seen afterwards.

Shapes are symbolic while a function is written (A and B are sizes of its arguments), so that most programs run without
an error at whatever sizes their calls choose."""

import random
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


class Body:
    """Writes one function's statements."""

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

    # ---- statements -----------------------------------------------------------------------------------

    def block(self, count, loops=0, scope=None):
        """An indented block; what it defines stays inside."""
        inner = Body(self.p, self.w, Scope(self.s) if scope is None else scope, self.level + 1, self.loops + loops, self.returns)
        inner.no_grad = self.no_grad
        self.w.depth += 1
        before = len(self.w.lines)
        inner.statements(count)
        if len(self.w.lines) == before:
            self.w.put("pass")
        self.w.depth -= 1

    def statements(self, count):
        for _ in range(count):
            self.statement()

    def define(self, name, type_):
        self.s.vars[name] = type_

    def statement(self):
        r = self.rng
        table = [
            (14, self.assign), (8, self.reassign), (10, self.in_place), (8, self.store), (4, self.scalars),
            (4, self.effects), (3, self.lists), (2, self.dicts), (3, self.objects), (4, self.call_helper), (3, self.globals_),
            (2, self.swap), (2, self.text), (3, self.reads), (2, self.alias),
        ]
        if self.level < 3:
            table += [(5, self.branch), (4, self.tensor_branch), (4, self.loop), (2, self.while_loop), (2, self.tensor_while),
                      (3, self.attempt), (2, self.gradients), (2, self.closure), (2, self.without_grad), (1, self.comprehension)]
        if self.loops:
            table += [(2, self.leave_loop)]
        if self.level > 0 and self.returns is not None:
            table += [(1, self.early_return)]
        table += [(1, self.risk)]
        total = sum(weight for weight, _ in table)
        at = r.random() * total
        for weight, make in table:
            at -= weight
            if at < 0:
                return make()

    def assign(self):
        text, t = self.tensor(3)
        name = self.w.fresh("t")
        self.w.put(f"{name} = {text}")
        self.define(name, t)

    def reassign(self):
        found = self.pick(lambda t: True)
        if not found:
            return
        name, t = found
        text = self.same_type(t)
        if text:
            self.w.put(f"{name} = {text}")
            self.define(name, replace(t, grad=True))

    def writable(self):
        return self.pick(lambda t: t.dtype in "fdi" and (self.rng.random() < 0.1 or not t.grad or self.no_grad))

    def in_place(self):
        r = self.rng
        found = self.writable()
        if not found:
            return
        name, t = found
        number = self.scalar_int() if t.dtype == "i" else self.scalar()
        other, o = self.pick(lambda o: o.dtype == t.dtype and self.broadcast(t.shape, o.shape) == t.shape) or (None, None)
        value = other if other and r.random() < 0.5 else number
        k = r.random()
        if k < 0.45:
            self.w.put(f"{name} {r.choice(['+=', '-=', '*=', '+='])} {value}")
        elif k < 0.75:
            self.w.put(f"{name}.{r.choice(['add_', 'mul_', 'sub_'])}({value})")
        elif k < 0.85:
            self.w.put(f"{name}.fill_({number})")
        elif k < 0.95 and other:
            self.w.put(f"{name}.copy_({other})")
        else:
            self.w.put(f"{name}.zero_()")

    def store(self):
        r = self.rng
        found = self.pick(lambda t: t.rank > 0 and t.dtype in "fdi" and (not t.grad or self.no_grad or r.random() < 0.05))
        if not found:
            return
        name, t = found
        number = self.scalar_int() if t.dtype == "i" else self.scalar()
        k = r.randrange(7)
        keys = ["[0]", "[-1]", "[1:]", "[::2]", "[...]"] + (["[:, 0]", "[0, 1:]", "[:, -1]", "[1:, 0]"] if t.rank == 2 else [])
        key = r.choice(keys)
        if self.s.of("int") and r.random() < 0.2:
            key = f"[{r.choice(self.s.of('int'))}]"
        if k < 3:
            self.w.put(f"{name}{key} = {number}")
        elif k < 5:
            self.w.put(f"{name}{key} {r.choice(['+=', '*=', '-='])} {number}")
        elif k == 5 and t.rank:
            row, o = self.pick(lambda o: o.shape == t.shape[1:] and o.dtype == t.dtype) or (None, None)
            self.w.put(f"{name}[0] = {row or number}")
        elif t.dtype in "fd":
            self.w.put(f"{name}[{name} > {r.choice(['0.613', '1.13'])}] = {number}")

    def scalars(self):
        r = self.rng
        k = r.random()
        ints, floats = self.s.of("int"), self.s.of("float")
        if k < 0.35 and ints:
            self.w.put(f"{r.choice(ints)} {r.choice(['+=', '-=', '+='])} {r.randint(1, 2)}")
        elif k < 0.5:
            name = self.w.fresh("n")
            self.w.put(f"{name} = {self.scalar_int()} {r.choice(['+', '*', '-', '//', '%', '**'])} {r.randint(1, 3)}")
            self.define(name, "int")
        elif k < 0.65:
            name = self.w.fresh("q")
            self.w.put(f"{name} = {self.scalar_float()} {r.choice(['+', '*', '-'])} {self.scalar()}  * 1.0")
            self.define(name, "float")
        elif k < 0.8:
            name = self.w.fresh("c")
            self.w.put(f"{name} = {self.condition()}")
            self.define(name, "bool")
        elif floats:
            self.w.put(f"{r.choice(floats)} {r.choice(['+=', '*='])} 0.5")

    def effects(self):
        r = self.rng
        k = r.random()
        found = self.pick()
        if k < 0.3 and found:
            self.w.put(f"print('{found[0]}', {found[0]}.shape, {self.scalar_int()})")
        elif k < 0.6 and found:
            self.w.put(f"print('v', {found[0]}.tolist())")
        elif k < 0.75 and found:
            self.w.put(f"print({found[0]})" if not self.p.native else f"print({found[0]}.tolist())")
        else:
            self.w.put(f"print('s', {self.scalar()}, {self.condition()})")

    def reads(self):
        r = self.rng
        text, t = self.tensor(1)
        if t.rank:
            text = f"({text}).{'any' if t.dtype == 'b' else 'sum'}()"
        if t.dtype in "ib":
            name = self.w.fresh("n")
            self.w.put(f"{name} = int({text}) % 4")
            self.define(name, "int")
        else:
            name = self.w.fresh("q")
            self.w.put(f"{name} = {r.choice(['float(' + text + ')', text + '.item()', text + '.item()'])}")
            self.define(name, "float")

    def alias(self):
        found = self.pick()
        if found:
            name = self.w.fresh("a")
            self.w.put(f"{name} = {found[0]}")
            self.define(name, replace(found[1], view=True))

    def lists(self):
        r = self.rng
        lists = self.s.lists()
        if lists and r.random() < 0.6:
            name, item = r.choice(lists)
            found = self.pick(lambda t: item is None or (t.shape == item.shape and t.dtype == item.dtype))
            if found:
                k = r.random()
                if k < 0.6:
                    self.w.put(f"{name}.append({found[0]}{r.choice(['', ' * 2', ''])})" if found[1].dtype != "b" else f"{name}.append({found[0]})")
                elif k < 0.75:
                    self.w.put(f"{name}[0] = {found[0]}")
                else:
                    out = self.w.fresh("t")
                    self.w.put(f"{out} = stack({name}).sum(dim=0)" if item and item.dtype in "fd" else f"{out} = {name}[-1]")
                    if item:
                        self.define(out, replace(item, grad=True))
            return
        found = self.pick()
        if found:
            name = self.w.fresh("l")
            self.w.put(f"{name} = [{found[0]}, {found[0]}]" if r.random() < 0.5 else f"{name} = [{found[0]}]")
            self.define(name, ("list", found[1]))

    def dicts(self):
        r = self.rng
        found = self.pick()
        if not found:
            return
        dicts = self.s.dicts()
        if dicts and r.random() < 0.7:
            name, item = r.choice(dicts)
            k = r.random()
            if k < 0.4:
                same = self.pick(lambda t: t.shape == item.shape and t.dtype == item.dtype)
                if same:
                    self.w.put(f"{name}['{r.choice('abc')}'] = {same[0]}")
            elif k < 0.7:
                out = self.w.fresh("t")
                self.w.put(f"{out} = {name}['a']")
                self.define(out, replace(item, view=True))
            else:
                self.w.put(f"for key in {name}:")
                self.w.put(f"    print(key, {name}[key].shape)")
            return
        name = self.w.fresh("d")
        self.w.put(f"{name} = {{'a': {found[0]}}}")
        self.define(name, ("dict", found[1]))

    def objects(self):
        r = self.rng
        names = self.s.of("obj")
        if not names:
            if r.random() < 0.3:
                name = self.w.fresh("o")
                text, t = self.tensor(1, lambda t: t.dtype == "f")
                self.w.put(f"{name} = {self.p.class_name}({text}, {self.scalar_int()})")
                self.define(name, "obj")
            return
        o = r.choice(names)
        k = r.randrange(8)
        if k == 0:
            self.w.put(f"{o}.n += 1")
        elif k == 1:
            name = self.w.fresh("n")
            self.w.put(f"{name} = {o}.n")
            self.define(name, "int")
        elif k == 2:
            found = self.pick(lambda t: t.dtype == "f")
            if found:
                self.w.put(f"{o}.w = {found[0]} * 1.0")
        elif k == 3:
            found = self.pick(lambda t: t.dtype == "f")
            if found:
                out = self.w.fresh("t")
                self.w.put(f"{out} = {o}.apply({found[0]})")
                self.define(out, replace(found[1], grad=True))
        elif k == 4:
            self.w.put(f"{o}.bump({self.scalar_int()})")
        elif k == 5:
            self.w.put(f"{o}.flag = {self.condition()}")
        elif k == 6:
            found = self.pick()
            if found:
                self.w.put(f"{o}.seen.append({found[0]})")
        else:
            self.w.put(f"if {o}.flag:")
            self.block(r.randint(1, 2))

    def call_helper(self):
        r = self.rng
        if not self.helpers:
            return
        helper = r.choice(self.helpers)
        found = self.pick(lambda t: t.dtype == "f")
        if not found:
            return
        name, t = found
        args = [name]
        kind = helper["kind"]
        if kind == "plain":
            other = self.pick(lambda o: o.dtype == "f" and self.broadcast(t.shape, o.shape) == t.shape)
            args.append(other[0] if other else self.number())
            if r.random() < 0.5:
                args.append(r.choice([self.scalar_int(), f"k={self.scalar_int()}"]))
        elif kind == "star":
            for _ in range(r.randint(0, 2)):
                other = self.pick(lambda o: o.dtype == "f" and self.broadcast(t.shape, o.shape) == t.shape)
                args.append(other[0] if other else self.number())
            if r.random() < 0.4:
                same = [n for n, item in self.s.lists() if item and item.dtype == "f" and self.broadcast(t.shape, item.shape) == t.shape]
                if same:
                    args.append("*" + r.choice(same))
        elif kind == "deep":
            args.append(str(r.randint(0, 3)))
        out = self.w.fresh("t")
        self.w.put(f"{out} = {helper['name']}({', '.join(args)})")
        self.define(out, replace(t, grad=True, view=True))

    def globals_(self):
        r = self.rng
        k = r.randrange(5)
        if k == 0:
            self.w.put("G.count += 1" if False else "bump_count()")
        elif k == 1:
            name = self.w.fresh("n")
            self.w.put(f"{name} = g_int")
            self.define(name, "int")
        elif k == 2:
            name = self.w.fresh("t")
            self.w.put(f"{name} = g_tensor")
            self.define(name, Type((), "f", False, True))
        elif k == 3:
            found = self.pick(lambda t: t.dtype == "f")
            if found:
                text = found[0] if found[1].rank == 0 else f"{found[0]}.sum()"
                self.w.put(f"set_tensor({text})")
        else:
            found = self.pick()
            if found:
                self.w.put(f"g_list.append({found[0]})")

    def swap(self):
        found = self.pick()
        if not found:
            return
        other = self.pick(lambda t: t.shape == found[1].shape and t.dtype == found[1].dtype)
        if other and other[0] != found[0]:
            self.w.put(f"{found[0]}, {other[0]} = {other[0]}, {found[0]}")
            for name, t in (found, other):
                self.define(name, replace(t, grad=found[1].grad or other[1].grad, view=True))

    def text(self):
        found = self.pick()
        if found:
            self.w.put(f"print(f'{{{self.scalar_int()}}} {{{found[0]}.shape}} {{{found[0]}.dtype}}')")

    # ---- control flow ---------------------------------------------------------------------------------

    def branch(self):
        r = self.rng
        self.w.put(f"if {self.condition()}:")
        self.block(r.randint(1, 3))
        if r.random() < 0.2:
            self.w.put(f"elif {self.condition()}:")
            self.block(r.randint(1, 2))
        if r.random() < 0.5:
            self.w.put("else:")
            self.block(r.randint(1, 2))

    def tensor_branch(self):
        r = self.rng
        self.w.put(f"if {self.tensor_condition()}:")
        self.block(r.randint(1, 3))
        if r.random() < 0.6:
            self.w.put("else:")
            self.block(r.randint(1, 2))

    def loop(self):
        r = self.rng
        k = r.randrange(7)
        scope = Scope(self.s)
        i = self.w.fresh("i")
        if k == 0:
            self.w.put(f"for {i} in range({r.randint(1, 4)}):")
            scope.vars[i] = "int"
        elif k == 1:
            self.w.put(f"for {i} in range({self.scalar_int()} % 4):")
            scope.vars[i] = "int"
        elif k == 2:
            found = self.pick(lambda t: t.rank > 0)
            if not found:
                return
            if r.random() < 0.5:
                self.w.put(f"for {i} in {found[0]}:")
                scope.vars[i] = replace(found[1], shape=found[1].shape[1:], view=True)
            else:
                self.w.put(f"for {i} in range({found[0]}.shape[0]):")
                scope.vars[i] = "int"
                row = self.w.fresh("r")
                self.w.put(f"    {row} = {found[0]}[{i}]")
                scope.vars[row] = replace(found[1], shape=found[1].shape[1:], view=True)
        elif k == 3 and self.s.lists():
            name, item = r.choice(self.s.lists())
            if item is None:
                return
            if r.random() < 0.5:
                j = self.w.fresh("j")
                self.w.put(f"for {j}, {i} in enumerate({name}[:3]):")
                scope.vars[j] = "int"
            else:
                self.w.put(f"for {i} in {name}[:3]:")
            scope.vars[i] = replace(item, view=True)
        elif k == 4:
            a, b = self.pick(), self.pick()
            if not a:
                return
            j = self.w.fresh("j")
            self.w.put(f"for {i}, {j} in zip([{a[0]}, {a[0]}], [1, {self.scalar_int()}]):")
            scope.vars[i] = replace(a[1], view=True)
            scope.vars[j] = "int"
        elif k == 5:
            self.w.put(f"for {i} in ({self.scalar_int()}, {self.scalar_int()}, {r.randint(0, 4)}):")
            scope.vars[i] = "int"
        else:
            self.w.put(f"for {i} in [0.5, {self.number()}]:")
            scope.vars[i] = "float"
        scope.fixed = set(scope.vars)
        self.block(r.randint(1, 4), 1, scope)
        if r.random() < 0.1:
            self.w.put("else:")
            self.block(1)

    def while_loop(self):
        r = self.rng
        n = self.w.fresh("w")
        self.w.put(f"{n} = 0")
        self.w.put(f"while {n} < {r.choice([str(r.randint(1, 4)), self.scalar_int() + ' % 5'])}:")
        self.w.put(f"    {n} += 1")
        scope = Scope(self.s)
        scope.vars[n + " + 0"] = "int"  # read, never written
        self.block(r.randint(1, 3), 1, scope)

    def tensor_while(self):
        r = self.rng
        found = self.pick(lambda t: t.dtype in "fd")
        if not found:
            return
        n, x = self.w.fresh("w"), self.w.fresh("t")
        self.w.put(f"{n} = 0")
        self.w.put(f"{x} = {found[0]}.abs() + 0.3")
        limit = r.choice(["1.07", "2.13", "4.41"])
        self.w.put(f"while {x}.{r.choice(['sum', 'amax', 'mean'])}() < {limit} and {n} < {r.randint(2, 5)}:")
        self.w.put(f"    {n} += 1")
        self.w.put(f"    {x} = {x} * {r.choice(['1.5', '1.3'])} + 0.11")
        self.define(x, replace(found[1], grad=True, view=False))
        self.block(r.randint(0, 2), 1)
        self.define(n, "int")

    def leave_loop(self):
        self.w.put(f"if {self.condition() if self.rng.random() < 0.6 else self.tensor_condition()}:")
        self.w.put(f"    {self.rng.choice(['break', 'continue'])}")

    def early_return(self):
        self.w.put(f"if {self.condition() if self.rng.random() < 0.6 else self.tensor_condition()}:")
        self.w.put(f"    return {self.result()}")

    def risk(self):
        """Something that may raise."""
        r = self.rng
        k = r.randrange(7)
        found = self.pick(lambda t: t.rank > 0)
        if k == 0 and found:
            self.w.put(f"{self.w.fresh('u')} = {found[0]}[{r.randint(2, 5)}]")
        elif k == 1:
            self.w.put(f"{self.w.fresh('u')} = {r.randint(1, 5)} {r.choice(['//', '%'])} ({self.scalar_int()})")
        elif k == 2:
            self.w.put(f"if {self.condition()}:")
            self.w.put(f"    raise {r.choice(['ValueError', 'RuntimeError', 'KeyError'])}(f'bad {{{self.scalar_int()}}}')")
        elif k == 3 and found:
            self.w.put(f"{self.w.fresh('u')} = {found[0]} + zeros({r.randint(2, 7)})")
        elif k == 4 and found:
            self.w.put(f"{self.w.fresh('u')} = {found[0]}[tensor([0, {r.randint(0, 4)}])]")
        elif k == 5 and found:
            self.w.put(f"{self.w.fresh('u')} = arange(3) // ({found[0]} * 1.7).long().sum()")
        elif found:
            self.w.put(f"{found[0]}[{r.randint(1, 4)}] = {r.randint(0, 3)}")

    def attempt(self):
        r = self.rng
        self.w.put("try:")
        self.block(r.randint(0, 2))
        if self.w.lines[-1].strip() == "pass":
            self.w.lines.pop()
        self.w.depth += 1
        self.risk()
        if self.w.lines[-1].strip() == "try:":
            self.w.put("pass")
        inner = Scope(self.s)
        old, self.s = self.s, inner
        if r.random() < 0.5:
            self.statement()
        self.s = old
        self.w.depth -= 1
        if r.random() < 0.85:
            what = r.choice(["Exception", "Exception", "(ValueError, IndexError, RuntimeError)", "ZeroDivisionError"])
            self.w.put(f"except {what} as problem:")
            self.w.put("    print('caught', type(problem).__name__, problem)")
            self.block(r.randint(0, 2))
            if r.random() < 0.3:
                self.w.put("finally:")
                self.block(1)
        else:
            self.w.put("finally:")
            self.block(1)

    def gradients(self):
        r = self.rng
        found = self.pick(lambda t: t.dtype == "f")
        if not found:
            return
        k = r.random()
        w = self.w.fresh("p")
        if k < 0.6:
            self.w.put(f"{w} = {found[0]}.detach().clone().requires_grad_(True)")
            self.define(w, replace(found[1], grad=True, view=False))
            loss = self.w.fresh("t")
            text, t = self.apply_many(w, replace(found[1], grad=True), r.randint(1, 3))
            if t.dtype not in "fd" or w not in text:
                text, t = f"({w} * {w})", found[1]
            self.w.put(f"{loss} = ({text}){'.sum()' if t.rank else ''}")
            self.w.put(f"{loss}.backward()")
            if r.random() < 0.5:
                self.w.put(f"print('grad', {w}.grad.tolist())" if r.random() < 0.7 else f"print({w}.grad is None)")
            if r.random() < 0.5:
                self.w.put("with no_grad():")
                self.w.put(f"    {w} -= 0.1 * {w}.grad")
            if r.random() < 0.3:
                self.w.put(f"{w}.grad = None")
            self.define(loss, Type((), "f", True))
        else:
            loss = self.w.fresh("t")
            text, t = self.tensor(2, lambda t: t.dtype == "f" and t.grad)
            if t.dtype not in "fd":
                return
            self.w.put(f"{loss} = ({text}).sum()")
            self.w.put(f"if {loss}.requires_grad:")
            self.w.put(f"    {loss}.backward()")

    def apply_many(self, text, t, count):
        for _ in range(count):
            text, t = self.apply(text, t)
        return text, t

    def without_grad(self):
        self.w.put("with no_grad():")
        inner = Body(self.p, self.w, Scope(self.s), self.level + 1, self.loops, None)
        inner.no_grad = True
        self.w.depth += 1
        before = len(self.w.lines)
        inner.statements(self.rng.randint(1, 3))
        if len(self.w.lines) == before:
            self.w.put("pass")
        self.w.depth -= 1

    def closure(self):
        r = self.rng
        f, z = self.w.fresh("f"), self.w.fresh("z")
        captured = self.pick(lambda t: t.dtype == "f" and t.rank == 0)
        number = self.scalar()
        counter = self.w.fresh("n") if r.random() < 0.5 else None
        if counter:
            self.w.put(f"{counter} = {self.scalar_int()}")
        self.w.put(f"def {f}({z}, m={self.number()}):")
        if counter:
            self.w.put(f"    nonlocal {counter}")
            self.w.put(f"    {counter} += 1")
        if r.random() < 0.4:
            self.w.put(f"    if {z}.sum() > 0.217:")
            self.w.put(f"        return {z} * m")
        self.w.put(f"    return {z} * m + {captured[0] if captured else number}")
        for _ in range(r.randint(1, 2)):
            found = self.pick(lambda t: t.dtype == "f")
            if found:
                out = self.w.fresh("t")
                self.w.put(f"{out} = {f}({found[0]}{r.choice(['', ', 2.0', ', m=0.5'])})")
                self.define(out, replace(found[1], grad=True))
        if counter:
            self.define(counter, "int")

    def comprehension(self):
        r = self.rng
        found = self.pick(lambda t: t.rank > 0 and t.dtype in "fd")
        if found:
            name = self.w.fresh("l")
            self.w.put(f"{name} = [row * {self.scalar()} for row in {found[0]}]")
            self.define(name, ("list", replace(found[1], shape=found[1].shape[1:], grad=True)))

    def result(self):
        r = self.rng
        names = [n for n, t in self.s.vars.items() if n.isidentifier()]
        if not names:
            return "None"
        picked = [r.choice(names) for _ in range(r.randint(1, 3))]
        for name in list(self.s.vars)[-2:]:
            if name.isidentifier() and r.random() < 0.5:
                picked.append(name)
        return ", ".join(dict.fromkeys(picked))


class Program:
    def __init__(self, seed, native=False):
        self.rng = random.Random(seed)
        self.native = native
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
        previous = {}
        for c in range(r.randint(4, 8)):
            name, params = r.choice(functions)
            sizes = dict(base)
            k = r.random()
            if k < 0.12:
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


def generate(seed, native=False):
    return Program(seed, native).text()


if __name__ == "__main__":
    import sys
    print(generate(int(sys.argv[1])), end="")
