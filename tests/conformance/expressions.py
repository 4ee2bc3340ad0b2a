"""Random expressions, built by type: one is asked for with a Type and gives text."""
import random
from typing import NamedTuple

INTS = ["i32", "i64"]
SHADOWS = ["abs", "min", "max", "float", "bool"]


class Type(NamedTuple):
    dtype: str  # or the name of a tensor parameter of the kernel
    shape: tuple | None = None  # None: a scalar
    const: bool = False  # known when compiling

    @property
    def number(self):
        return self.dtype in ("i32", "i64", "f32", "bool")


I32, F32, BOOL = Type("i32"), Type("f32"), Type("bool")


class Impossible(Exception):
    """This production does not apply here."""


class Function(NamedTuple):
    name: str
    params: list  # (name, Type, default or None)
    results: list  # of Type; several are a tuple, none is a helper for its effects
    effects: bool


class Scope:
    """The names of one function."""

    def __init__(self, shadows=()):
        self.types, self.mutable, self.depth, self.loops = {}, None, 0, 0
        self.shadows, self.shadowed = set(shadows), set()  # names that are not what they are in the module

    def may_change(self, name):
        return self.mutable is None or name in self.mutable


class Drawing:
    """What is drawn from a seed, and the scope it is drawn in."""

    def __init__(self, seed, attempt, mode):
        self.rng = random.Random(seed * 1000 + attempt)
        self.seed, self.mode = seed, mode
        self.lines, self.indent, self.count = [], 0, 0
        self.functions, self.constants, self.head = [], {}, []
        self.scope, self.pure = Scope(), False

    # -- drawing --

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, items):
        items = list(items)
        if not items:
            raise Impossible
        return items[int(self.rng.random() * len(items))]

    def upto(self, n):
        return int(self.rng.random() * (n + 1))

    def first(self, weighted, *args):
        """The result of one of the productions, drawn by weight; those that do not apply are put aside."""
        left = list(weighted)
        while left:
            at, i, lines = self.rng.random() * sum(w for _, w in left), 0, len(self.lines)
            while i + 1 < len(left) and at >= left[i][1]:
                at -= left[i][1]
                i += 1
            try:
                return left[i][0](*args)
            except Impossible:
                del left[i], self.lines[lines:]
        raise Impossible

    def whole(self, production, *args):
        """All of a statement, or nothing of it."""
        scope, types, names = dict(vars(self.scope)), dict(self.scope.types), dict(self.loop_names)
        indent, lines = self.indent, len(self.lines)
        try:
            production(*args)
        except Impossible:
            vars(self.scope).update(scope)
            self.scope.types, self.loop_names, self.indent = types, names, indent
            del self.lines[lines:]
            return False
        return True

    def emit(self, text):
        self.lines.append("    " * self.indent + text)

    def fresh(self, stem="v"):
        self.count += 1
        # Only once in a function: a name may have kept its dtype from a branch that the generator has left.
        shadows = sorted(self.scope.shadows - self.scope.shadowed)
        if stem == "v" and shadows and self.chance(0.5):
            name = self.pick(shadows)
            self.scope.shadowed.add(name)
            return name
        return f"{stem}{self.count}_{self.seed}"

    # -- expressions --

    ts = property(lambda self: "ts" if self.mode == "graph" else "ts.tile")

    def may_write(self):
        """Whether a call may be one of a helper with effects: it has what to write, and no comparison decides whether it runs."""
        return self.names(Type("W")) and not self.pure

    def names(self, t):
        return [n for n, have in self.scope.types.items() if have[:2] == t[:2] and (have.const or not t.const)]

    def small(self, dtype, low=-4, high=9):
        """A weak number: a literal or a constant of the module."""
        kind = "i" if dtype in INTS else "f"
        known = [c for c, k in self.constants.items() if k == kind and c not in self.scope.types and c not in self.scope.shadows]
        if known and self.chance(0.3):
            return self.pick(known)
        return str(self.rng.randint(low, high)) if kind == "i" else str(self.rng.randint(-6, 6) / 2)

    def leaf(self, t, depth=0):
        names = self.names(t)
        if names and self.chance(0.85):
            return self.pick(names)
        if not t.number:
            return self.pick(names)
        if t.shape is None:
            return self.pick(["True", "False"]) if t.dtype == "bool" else f"ts.{t.dtype}({self.small(t.dtype)})"
        if t.dtype == "bool" or self.mode == "graph":
            return self.pick(names)
        return f"ts.tile.full({t.shape}, {self.small(t.dtype)}, ts.{t.dtype})"

    def expr(self, t, depth=3):
        if depth <= 0 or not t.number or self.chance(0.15):
            return self.leaf(t)
        productions = [(self.leaf, 1), (self.called, 3), (self.choice, 1), (self.converted, 0.7)]
        if t.dtype == "bool":
            productions += [(self.comparison, 4)] + ([(self.logic, 2)] if t.shape is None else [(self.mask, 2)])
        else:
            productions += [(self.arithmetic, 4), (self.unary, 1), (self.extreme, 1.5)]
            if t.shape is None and not t.const:
                productions += [(self.element, 1.5), (self.reduced, 1)]
            if t.shape is not None:
                productions += [(self.shaped, 1.5)]
        return self.first(productions, t, depth - 1)

    def arithmetic(self, t, depth):
        a = self.expr(t, depth)
        ops = ["+", "-", "*"] if t.dtype == "f32" else ["+", "-", "*", "&", "|", "^"]
        if self.chance(0.3):
            if t.dtype == "f32":
                op, b = self.pick([("/", "2.0"), ("/", "-4.0"), ("*", "0.5"), ("//", "1.5"), ("//", "-2.0"), ("%", "2.5")])
            else:
                op = self.pick(["//", "%", "<<", ">>", "**"])
                b = str(self.pick([2, 3, 5, -3]) if op in ("//", "%") else self.upto(4) if op != "**" else self.upto(3))
            return f"({a} {op} {b})"
        op = self.pick(ops)
        b = self.small(t.dtype) if op == "*" and t.dtype == "f32" or self.chance(0.4) else self.operand(t, depth)
        a, b = (b, a) if self.chance(0.3) else (a, b)
        return f"({a} {op} {b})"

    def operand(self, t, depth):
        """Of this type, or one that an operand of the type widens or broadcasts."""
        if t.dtype == "i64" and self.chance(0.3):
            t = t._replace(dtype="i32")
        if t.shape is not None and self.chance(0.3):
            t = Type(t.dtype) if t.shape in ((8,), ("N",)) or self.chance(0.5) else Type(t.dtype, t.shape[1:])
        return self.expr(t, depth)

    def unary(self, t, depth):
        a = self.expr(t, depth)
        forms = [f"(-{a})", f"{self.ts}.abs({a})"] + ([f"(~{a})"] if t.dtype in INTS else [])
        if t.shape is None and "abs" not in self.scope.shadows:
            forms.append(f"abs({a})")
        return self.pick(forms)

    def extreme(self, t, depth):
        a, b = self.expr(t, depth), self.expr(t, depth) if self.chance(0.6) else self.small(t.dtype)
        f = self.pick(["min", "max"])
        if self.chance(0.5) and f not in self.scope.shadows:
            return f"{f}({a}, {b})"
        return f"{self.ts}.{f}imum({a}, {b})"

    def comparison(self, t, depth):
        of = self.pick(["i32", "f32"] + (["i64"] if t.shape is None else []))
        a = self.expr(Type(of, t.shape, t.const), depth)
        b = self.small(of) if self.chance(0.5) else self.expr(Type(of, t.shape, t.const), depth)
        if t.shape is None and self.chance(0.2):
            pure, self.pure = self.pure, True
            b = self.small(of) if self.chance(0.5) else self.expr(Type(of, t.shape, t.const), depth)
            self.pure = pure
            return f"({self.small(of)} {self.pick(['<', '<='])} {a} {self.pick(['<', '!='])} {b})"
        return f"({a} {self.pick(['<', '<=', '>', '>=', '==', '!='])} {b})"

    def logic(self, t, depth):
        a, b = self.expr(t, depth), self.expr(t, depth)
        return self.pick([f"({a} and {b})", f"({a} or {b})", f"(not {a})"])

    def mask(self, t, depth):
        return f"({self.expr(t, depth)} {self.pick('&|^')} {self.expr(t, depth)})"

    def choice(self, t, depth):
        if t.shape is not None and (self.mode == "graph" or self.chance(0.6)):
            c = self.expr(Type("bool", t.shape), depth)
            return f"{self.ts}.where({c}, {self.expr(t, depth)}, {self.expr(t, depth)})"
        c = self.expr(Type("bool", None, t.const), depth)
        return f"({self.expr(t, depth)} if {c} else {self.expr(t, depth)})"

    def converted(self, t, depth):
        if t.dtype == "bool":
            raise Impossible
        source = {"f32": ["i32"], "i32": ["f32", "bool"], "i64": ["i32"]}[t.dtype]
        a = self.expr(Type(self.pick(source), t.shape, t.const), depth)
        if t.shape is not None:
            return f"{self.ts}.cast({a}, ts.{t.dtype})"
        return f"ts.{t.dtype}({a})"

    def called(self, t, depth):
        """A call of a helper, or one value of a helper's tuple."""
        fits = [(f, i) for f in self.functions if f.name not in self.scope.types and f.name not in self.scope.shadows
                for i, r in enumerate(f.results) if r[:2] == t[:2] and (r.const or not t.const) and (not f.effects or self.may_write())]
        f, i = self.pick(fits)
        text = self.call(f, depth)
        return text if len(f.results) == 1 else f"{text}[{i}]"

    def call(self, f, depth):
        words, keywords = [], self.chance(0.3)
        for name, t, default in f.params:
            if default is not None and self.chance(0.5):
                keywords = True
                continue
            a = self.small(t.dtype) if t.const and t.dtype != "bool" and self.chance(0.5) else self.expr(t, depth)
            keywords = keywords or (len(words) and self.chance(0.2))
            words.append(f"{name}={a}" if keywords else a)
        if keywords and not any("=" not in w.split("(")[0] for w in words) and self.chance(0.5):
            words.reverse()
        return f"{f.name}({', '.join(words)})"

    def element(self, t, depth):
        if self.mode == "graph" or t.dtype not in ("f32", "i32"):
            raise Impossible
        if t.dtype == "f32" and self.names(Type("W")) and self.chance(0.6):
            read = f"{self.leaf(Type('W'))}[{self.leaf(Type('at'))}]"
            writers = [f for f in self.functions if f.effects and len(f.results) == 1 and f.results[0][:2] == t[:2]
                       and f.name not in self.scope.types and f.name not in self.scope.shadows]
            if not writers or not self.may_write() or self.chance(0.4):
                return read
            call = self.call(self.pick(writers), depth)  # what it writes has been read, or is read after it
            return f"({read} {self.pick('+-')} {call})" if self.chance(0.7) else f"({call} - {read})"
        tensor = self.leaf(Type("X" if t.dtype == "f32" else "I"))
        index = self.expr(Type("i32"), depth)
        return f"{tensor}[{index}]" if self.chance(0.3) else f"{tensor}[{index} % 16]"

    def reduced(self, t, depth):
        if t.dtype not in ("f32", "i32") or self.mode == "lane":
            raise Impossible
        if self.mode == "graph":
            raise Impossible
        return f"ts.tile.{self.pick(['sum', 'max', 'min'])}({self.expr(Type(t.dtype, (8,)), depth)}, axis=0)"

    def shaped(self, t, depth):
        """A tile or tensor from one of another shape, or from a part of a tensor."""
        if self.mode == "graph":
            return self.graph_shaped(t, depth)
        if t.shape == (8,) and t.dtype in ("i32", "f32"):
            if self.chance(0.4):
                tensor, at = self.leaf(Type("X" if t.dtype == "f32" else "I")), self.expr(Type("i32", None, True), depth)
                return f"{tensor}[{at} % 24:{at} % 24 + 8]"
            f = self.pick(["sum", "max", "min"])
            return f"ts.tile.{f}({self.expr(Type(t.dtype, (4, 8)), depth)}, axis=0)"
        if t.shape == (4, 8) and t.dtype != "bool":
            a = self.expr(Type(t.dtype, (8,)), depth)
            return self.pick([f"ts.tile.broadcast({a}, (4, 8))", f"({a}[None, :] + {self.expr(t, depth)})"])
        raise Impossible

    def graph_shaped(self, t, depth):
        if t.dtype == "bool":
            raise Impossible
        row, matrix = Type(t.dtype, ("N",)), Type(t.dtype, ("M", "N"))
        at = lambda: self.expr(Type("i32", None, True), depth)
        if t == row:
            a, f = self.expr(matrix, depth), self.pick(["sum", "max", "min"])
            return self.pick([f"ts.{f}({a}, axis=0)", f"{a}.{f}(axis=0)", f"{a}[{at()} % 3]", f"{a}[{at()} % 3, :]"])
        a, b, i = self.expr(row, depth), self.expr(matrix, depth), at()
        return self.pick([f"({b} + {a})", f"({a} - {b})", f"ts.broadcast_to({a}, {b}.shape)", f"({b} * {a}[None, :])",
                          f"({b} * {a}[{i} % 5])", f"ts.concat([{b}[:{i} % 2 + 1], {b}[{i} % 2 + 1:]], axis=0)"])
