"""Statements of random programs."""

from dataclasses import replace

from expressions import Expressions, Scope, Type


class Body(Expressions):
    """Writes one function's statements."""

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
        # What was computed without gradients is used with them.
        for name, t in inner.s.vars.items():
            if name not in self.s.vars and self.rng.random() < 0.7:
                self.define(name, t)

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
