"""Random programs of statements: every kind of statement inside helpers, called from every place of an expression.

A Program is a few helpers, constants and a main section that computes one result, drawn from its seed alone. It is built
by type: an expression is asked for with a Type and gives text. The values are those of reference.py, so a program that
it rejects (inexact, out of range) is drawn again. graph_statements.py and kernel_statements.py put programs into files.
"""
from expressions import BOOL, F32, I32, SHADOWS, Drawing, Function, Impossible, Scope, Type
from reference import Rejected


def annotation(t):
    if t.shape is None:
        return f": ts.{t.dtype}"
    dims = ", ".join({"M": '"P"', "N": '"Q"'}[d] for d in t.shape)
    return f": ts.Tensor[{dims}, ts.{t.dtype}]"


class Program(Drawing):
    def any_type(self, const=None):
        known = [t for t in self.scope.types.values() if t.number and t.const == bool(const)]
        if const is None and known and self.chance(0.5):
            return self.pick(known)
        const = self.chance(0.15) if const is None else const
        shapes = [None]
        if not const and self.mode == "tile":
            shapes = [None, (8,), (8,), (4, 8)]
        if not const and self.mode == "graph":
            shapes = [("M", "N"), ("M", "N"), ("N",)]
        shape = self.pick(shapes)
        if shape is None:
            return Type(self.pick(["i32", "i32", "f32", "f32", "bool", "i64"]), None, const or self.mode == "graph")
        return Type(self.pick(["f32", "f32", "i32"]), shape)

    def bind(self, name, t):
        if self.mode != "graph" and self.scope.depth:
            t = t._replace(const=False)
        self.scope.types[name] = t

    def targets(self):
        """Names that this block may give another value of the same type."""
        return [n for n, t in self.scope.types.items() if t.number and n not in self.loop_names and self.scope.may_change(n)]

    def assignment(self):
        olds = self.targets()
        if olds and self.chance(0.4):
            name = self.pick(olds)
            t = self.scope.types[name]
            if self.scope.depth == 0 and self.chance(0.3):
                t = self.any_type()  # another type, where nothing fixes it
        else:
            name, t = None, self.any_type()
        if t.shape is None and t.dtype in ("i32", "f32", "bool") and self.chance(0.25):
            text = {"i32": str(self.rng.randint(-9, 98)), "f32": str(self.rng.randint(-9, 8) / 2), "bool": self.pick(["True", "False"])}[t.dtype]
            text = ("+" if text[0] != "-" and t.dtype != "bool" and self.chance(0.2) else "") + text
        else:
            text = self.expr(t)
        name = name or self.fresh()
        if self.chance(0.1) and self.scope.depth == 0:
            other = self.fresh("w")
            self.emit(f"{other} = {name} = {text}")
            self.bind(other, t)
        else:
            self.emit(f"{name} = {text}")
        self.bind(name, t)

    def augmented(self):
        name = self.pick(n for n in self.targets() if self.scope.types[n].dtype != "bool")
        t = self.scope.types[name]
        op = self.pick(["+", "-", "*", "//", "%"] + (["&", "|", "^", "<<", ">>", "**"] if t.dtype != "f32" else []))
        change = self.expr(t) if op in "+-&|^" else str(self.pick([2, 3]) if op in ("//", "%", "**", "<<", ">>") else self.small(t.dtype))
        self.emit(f"{name} {op}= {change}")

    def tuple_assignment(self):
        olds = self.targets()
        pairs = [(a, b) for a in olds for b in olds if a < b and self.scope.types[a] == self.scope.types[b]]
        if pairs and self.chance(0.5):
            a, b = self.pick(pairs)
            t = self.scope.types[a]
            self.emit(f"{a}, {b} = {b}, {self.expr(t) if self.chance(0.5) else a}")
            return
        many = [f for f in self.functions if len(f.results) > 1 and f.name not in self.scope.types and f.name not in self.scope.shadows
                and (not f.effects or self.may_write())]
        if many and self.chance(0.6):
            f = self.pick(many)
            text, types = self.call(f, 2), f.results
        else:
            types = [self.any_type() for _ in range(2 + self.upto(1))]
            text = ", ".join(self.expr(t) for t in types)
            text = f"({text})" if self.chance(0.3) else text
        names = []
        for t in types:
            while (name := self.fresh()) in names:
                pass
            names.append(name)
        self.emit(f"{', '.join(names)} = {text}")
        for name, t in zip(names, types):
            self.bind(name, t)

    def inside(self, head, statements, changes=True, loop=None):
        """A nested block that may change some outer names and keeps its own."""
        scope, outer = self.scope, dict(self.scope.types)
        mutable, loops = scope.mutable, dict(self.loop_names)
        if self.mode != "graph":
            allowed = [n for n in self.targets() if self.chance(0.6)] if changes else []
            scope.mutable = set(allowed)
            for n in allowed:
                outer[n] = scope.types[n] = scope.types[n]._replace(const=False)
        self.emit(head)
        self.indent += 1
        scope.depth += 1
        before = len(self.lines)
        if loop:
            scope.types[loop[0]] = loop[1]
            self.loop_names[loop[0]] = True
        for step in statements:
            step()
        if len(self.lines) == before:
            self.emit(self.pick(["pass", '"""Nothing."""']))
        scope.depth -= 1
        self.indent -= 1
        if self.mode == "graph":  # names may have another dtype or const-ness by path: keep what did not change
            for n in outer:
                assert scope.types[n] == outer[n], n
        scope.types, scope.mutable, self.loop_names = outer, mutable, loops

    def body(self, most=3):
        return [self.statement for _ in range(self.upto(most))]

    def bounds(self):
        """The arguments of a range with few steps."""
        graph = self.mode == "graph"
        const = Type("i32", None, True)
        count = self.first([(lambda: str(self.upto(3)), 2), (lambda: f"{self.expr(const, 2)} % 4", 1.5),
                            (lambda: f"{self.expr(const if graph else I32, 2)} % 4", 2)])
        low = self.first([(lambda: self.small("i32"), 1), (lambda: f"{self.expr(const if graph else I32, 2)} % 8", 1)])
        form = self.upto(4)
        if form <= 1:
            return count
        if form == 2:
            return f"{low}, {low} + {count}"
        step = self.pick([2, 3, -1, -2])
        return f"{low}, {low} + {count} * {step}, {step}"

    def for_loop(self):
        if self.scope.loops >= 2:
            raise Impossible
        kind = "range" if self.mode == "graph" or self.chance(0.5) else "ts.tile.range"
        text = self.bounds()
        name = self.pick(["r", "s", "t"]) + f"_{self.seed}"
        if name in self.scope.types:
            raise Impossible
        self.scope.loops += 1
        body = self.body()
        self.inside(f"for {name} in {kind}({text}):", [lambda: self.use_of(name), *body], loop=(name, Type("index")))
        self.scope.loops -= 1

    def use_of(self, name):
        """A loop's variable as a number of the loop's body."""
        if self.chance(0.7):
            value = self.fresh("i")
            dtype = self.pick(["i32", "i32", "f32", "i64"])
            self.emit(f"{value} = ts.{dtype}({name})")
            self.bind(value, Type(dtype, None, self.mode == "graph"))

    def while_loop(self):
        if self.mode == "graph" or self.scope.loops >= 2:
            raise Impossible
        limit = f"{self.expr(I32, 2)} % 4"
        count, most = self.fresh("n"), self.fresh("m")
        more = f" and {self.leaf(BOOL)}" if self.chance(0.3) and self.names(BOOL) else ""
        self.emit(f"{count} = 0")
        self.emit(f"{most} = {limit}")
        self.scope.loops += 1
        self.bind(count, I32)
        self.bind(most, I32)
        self.loop_names[count] = self.loop_names[most] = True
        step = lambda: self.emit(f"{count} += 1")
        body = self.body()
        self.inside(f"while {count} < {most}{more}:", [step, *body] if self.chance(0.5) else [*body, step])
        self.scope.loops -= 1

    def condition(self):
        return self.expr(Type("bool", None, self.mode == "graph" or self.chance(0.2)), 2)

    def branch(self):
        texts = [f"if {self.condition()}:"]
        while self.chance(0.3) and len(texts) < 3:
            texts.append(f"elif {self.condition()}:")
        if self.chance(0.5):
            texts.append("else:")
        for text in texts:
            self.inside(text, self.body(2))

    def both(self):
        """A name that gets its value in both branches."""
        t = self.any_type(False)
        condition, name = self.condition(), self.fresh()
        if name in self.scope.types:
            raise Impossible
        fixed = self.scope.mutable
        texts = [self.expr(t), self.expr(t)]
        for head, text in zip([f"if {condition}:", "else:"], texts):
            self.inside(head, [lambda text=text: self.emit(f"{name} = {text}")], changes=False)
        self.scope.mutable = fixed
        self.bind(name, t._replace(const=self.mode == "graph" and t.shape is None))

    def effect(self):
        """A helper called for what it writes, or a write."""
        fits = [f for f in self.functions if f.effects and f.name not in self.scope.types and f.name not in self.scope.shadows]
        if fits and self.names(Type("W")) and self.chance(0.6):
            f = self.pick(fits)
            if f.results and self.chance(0.7):
                name = self.fresh()
                text = self.call(f, 2)
                self.emit(f"{name} = {text}{'[0]' if len(f.results) > 1 else ''}")
                self.bind(name, f.results[0])
            else:
                self.emit(self.call(f, 2))
            return
        tensor, at = self.leaf(Type("W")), self.leaf(Type("at"))
        text = self.expr(F32)
        self.emit(f"{tensor}[{at}] {self.pick(['=', '=', '+=', '-='])} {text}")
        if self.chance(0.5):
            name = self.fresh()
            self.emit(f"{name} = {tensor}[{at}]" + self.pick(["", " * 0.5", " + 1"]))
            self.bind(name, F32)

    def statement(self):
        kinds = [self.assignment] * 8 + [self.augmented] * 4 + [self.tuple_assignment] * 3 + [self.for_loop] * 3 + [self.branch] * 3
        kinds += [self.while_loop, self.both, self.effect] * 2
        if not self.whole(self.pick(kinds)):
            self.emit("pass")

    # -- functions --

    def early(self, results):
        """A path that returns, before the end of the helper."""
        const = self.mode == "graph" or len(results) != 1 or results[0].const
        condition = self.expr(Type("bool", None, const), 2)

        def leave():
            if len(results) == 1 and self.chance(0.15) and self.scope.depth < 3:
                self.inside(f"if {self.expr(Type('bool', None, const), 1)}:", [*self.body(1), lambda: self.give(results)], changes=False)
            self.give(results)
        if self.mode == "graph" and self.chance(0.4):
            name = f"u_{self.seed}"
            loop = lambda: self.inside(f"for {name} in range({self.upto(3)}):",
                                       [*self.body(1), lambda: self.inside(f"if {condition}:", [*self.body(1), leave], changes=False)], loop=(name, Type("index")))
            return loop()
        self.inside(f"if {condition}:", [*self.body(1), leave], changes=False)
        if self.chance(0.2):
            self.inside(f"elif {self.expr(Type('bool', None, const), 2)}:", [*self.body(1), leave], changes=False)
        if self.chance(0.2):
            self.inside("else:", self.body(1), changes=False)

    def give(self, results):
        self.emit("return " + ", ".join(self.expr(t, 3) for t in results))

    def function(self, const=False):
        """A helper, with its parameters, or a jit function called by another one."""
        name = f"{'c' if const else 'h'}{len(self.functions)}_{self.seed}"
        others = [f.name for f in self.functions] + list(self.constants)
        self.scope = Scope(s for s in [*SHADOWS, *others] if self.chance(0.08))
        self.loop_names, self.lines, self.indent = {}, [], 1
        effects = not const and self.mode in ("lane", "tile") and self.chance(0.4)
        params = []
        types = [self.any_type(True if const else None) for _ in range(1 + self.upto(3))]
        if self.mode == "graph" and not const:
            types = [Type("f32", ("M", "N")), Type("i32", ("M", "N")), Type("f32", ("N",)), Type("i32", ("N",))][:2 + self.upto(2)] + types[:2]
        elif not const and self.chance(0.3):
            types += [Type("X"), Type("I")]
        if effects:
            types += [Type("W"), Type("at")]
        for i, t in enumerate(types):
            p = self.fresh("p")
            plain = t.number and t.shape is None and t.dtype != "bool" and t.const and t.dtype in ("i32", "f32")
            params.append((p, t, self.small(t.dtype) if plain and i and self.chance(0.5) else None))
            self.scope.types[p] = t
            if t.const and t.dtype != "bool" and self.mode != "graph":
                self.emit(f"{p} = ts.{t.dtype}({p})")  # a literal would stay weak, and could not change its dtype in a loop
        params.sort(key=lambda p: p[2] is not None)
        results = [t._replace(const=t.const and (const or self.mode == "graph")) for t in [self.any_type(True if const else False)] * 1]
        if not const and self.chance(0.2):
            results.append(self.any_type(False))
        if self.mode == "graph" and not const:
            results = [t if t.shape else Type("f32", ("M", "N")) for t in results]
        if effects and self.chance(0.3):
            results = []
        for _ in range(1 + self.upto(2)):
            self.statement()
            if results and self.chance(0.25):
                self.whole(self.early, results)
        if effects:
            self.effect()
        if results:
            self.give(results)
        jit = self.mode == "graph" and not const and self.chance(0.4)
        words = [p + (annotation(t) if jit else "") + ("" if d is None else f"={d}") for p, t, d in params]
        self.head.append(("@ts.jit\n" if jit else "") + f"def {name}({', '.join(words)}):\n" + "\n".join(self.lines) + "\n")
        self.functions.append(Function(name, params, results, effects))

    def section(self, types):
        """The statements of a caller in which these names have values, the numbers as names of its own."""
        self.scope = Scope(c for c in self.constants if self.chance(0.1))
        self.loop_names, self.lines, self.indent = {}, [], 1
        for name, t in types.items():
            own = f"{name}_{self.seed}" if t.number else name
            if t.number:
                self.emit(f"{own} = {name}")
            self.scope.types[own] = t
        for _ in range(1 + self.upto(3)):
            self.statement()

    def draw(self, types, result):
        """The whole program: constants, helpers and a section that ends in a value of the type."""
        for i in range(self.upto(3)):
            kind = self.pick("if")
            name = f"{'K' if kind == 'i' else 'F'}{i}_{self.seed}"
            self.head.append(f"{name} = {self.small('i32' if kind == 'i' else 'f32')}\n")
            self.constants[name] = kind
        for _ in range(self.upto(1)):
            self.function(const=True)
        for _ in range(1 + self.upto(2)):
            self.function()
        self.section(types)
        self.result = self.first([(self.called, 3), (self.expr, 2)], result, 3)
        return self


def accepted(seed, draw, evaluate):
    """The program of a seed, the first attempt that the reference accepts, and its values."""
    for attempt in range(100):
        try:
            drawn = draw(attempt)
            return drawn, evaluate(drawn)
        except (Rejected, Impossible):
            pass
    raise RuntimeError(f"seed {seed}: nothing in 100 attempts")


def in_files(count, first, batch, build, source, case):
    """Cases of up to `batch` programs that share a source file."""
    while count > 0:
        now = min(count, batch - first % batch)
        drawn, values = zip(*(build(seed) for seed in range(first, first + now)))
        yield case(source(drawn), drawn, values)
        first, count = first + now, count - now
