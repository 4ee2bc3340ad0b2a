"""Random lane programs over three dims: positions, borders, gathers, divergent branches and loops, atomics.

CPython runs the source of a program once per lane, with tensors that read 0 and drop stores outside. All values are small
integers, also those in f32, so that results are exact. The sizes leave vectors whole, partly filled and cut at row ends.
"""
import random
import textwrap
import types

import numpy as np

from cases import program, want

PROGRAMS = 100
SIZES = [(1, 1, 1), (1, 3, 5), (2, 2, 16), (1, 4, 17), (2, 2, 33), (1, 1, 70), (1, 40, 1), (3, 5, 2), (1, 2, 64), (2, 7, 7), (1, 3, 100)]
RUNS = 4
TABLE = 16

HEAD = '''@ts.kernel
def kernel(A: ts.Tensor["D", "H", "W", ts.i32], B: ts.Tensor["D", "H", "W", ts.u8], F: ts.Tensor["D", "H", "W", ts.f32], P: ts.Tensor["m", ts.i32],
           G: ts.Tensor["W", 3, ts.i32], Y: ts.Tensor["D", "H", "W", ts.i32], Z: ts.Tensor["D", "H", "W", ts.f32], T: ts.Tensor[16, ts.i32], q: ts.i32):
    p = ts.tile.linear_id()
    if p < D * H * W:
'''
POSITIONS = [
    "x = p % W\ny = p // W % H\nz = p // (W * H)",
    "z = p // (H * W)\nr = p % (H * W)\ny = r // W\nx = r % W",
    "r = p // W\nx = p - r * W\nz = r // H\ny = r - z * H",
    "x = p % W\nr = (p - x) // W\ny = r % H\nz = r // H",
    "z = p // W // H\ny = p // W - z * H\nx = p % (W * H) % W",
]


class Drawing:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.loops = [], 0

    def pick(self, options):
        return self.random.choice(options)

    def shifted(self, name, size):
        by = self.pick([-2, -1, 0, 0, 1, 2])
        at = f"{name} + {by}" if by >= 0 else f"{name} - {-by}"
        return self.pick([at, at, name, f"({at} + {size}) % {size}", f"ts.tile.maximum(ts.tile.minimum({at}, {size} - 1), 0)",
                          f"{size} - 1 - {name}", f"2 * {name}", f"3 * {name} - 2", f"{name} // 2"])

    def at(self):
        x = self.pick([self.shifted("x", "W")] * 4 + ["P[x]", "ts.i64(n)", "ts.i64(n) + x"])
        return f'{self.pick(["z", "z", "z", "z - 1"])}, {self.shifted("y", "H")}, {x}'

    def value(self, depth=2):
        """An integer expression."""
        leaves = ["n", "n", "m", "ts.i32(x)", "ts.i32(y + z)", "q", str(self.random.randint(-9, 9)), f"A[{self.at()}]", f"A[{self.at()}]",
                  f"ts.i32(B[{self.at()}])", "P[x + y]", "P[n]", f'G[{self.shifted("x", "W")}, {self.pick("0123")}]']
        if depth == 0 or self.random.random() < 0.3:
            return self.pick(leaves)
        a, b = self.value(depth - 1), self.value(depth - 1)
        return self.pick([f"({a} + {b})", f"({a} - {b})", f"({a} * {self.random.randint(-3, 3)})", f"ts.tile.minimum({a}, {b})",
                          f"ts.tile.maximum({a}, {b})", f"({a} // {self.pick([2, 3, -5, 16])})", f"({a} % {self.pick([2, 7, 16, 33])})",
                          f"({a} // m if m != 0 else {b})", f"({a} % n if n > 0 else {b})", f"({b} if n == 0 else {a} // n)",
                          f"({a} & {b})", f"({a} ^ {b})", f"({a} if {self.condition()} else {b})"])

    def condition(self):
        a = self.pick(["n", "m", "ts.i32(x)", "ts.i32(y)", f"A[{self.at()}]"])
        simple = f'{a} {self.pick(["<", ">", "==", "!=", "<=", ">="])} {self.pick(["n", "m", "q", "0", "3", "8"])}'
        return self.pick([simple, simple, "x > 0 and x < W - 1 and y > 0", "y == 0 or x == 0 or x == W - 1",
                          "x >= 2 and W - 3 >= x and y < H - 1", "x != 5", "x % 2 == 0", f"{simple} or x == y", "q > 0", "f > 3.0"])

    def block(self, depth):
        lines = []
        for _ in range(self.random.randint(1, 2)):
            lines += self.statement(depth)
        return lines

    def inside(self, head, depth):
        return [head] + ["    " + line for line in self.block(depth - 1)]

    def statement(self, depth):
        kind = self.random.random()
        if depth == 0 or kind < 0.4:
            return [self.pick([f"n = ts.i32(({self.value()}) % 37)", f"m = ts.i32(({self.value()}) % 11)", f"f = f + F[{self.at()}]",
                               f"f = ts.f32({self.value()} % 29)", f"Y[z, y, x] = {self.value()} % 101",
                               f"Z[z, y, W - 1 - x] = f + ts.f32({self.value(1)} % 23)",
                               f"ts.tile.atomic_add(T, {self.value(1)} % 20 - 2, {self.pick(['1', 'n', 'm'])})"])]
        if kind < 0.65:
            lines = self.inside(f"if {self.condition()}:", depth)
            if self.random.random() < 0.3:
                lines += self.inside(f"elif {self.condition()}:", depth)
            return lines + (self.inside("else:", depth) if self.random.random() < 0.5 else [])
        self.loops += 1
        k = f"k{self.loops}"
        if kind < 0.75:
            bounds = self.pick(["3", "-1, 2", "q", "5, 0, -2"])
        elif kind < 0.9:
            bounds = self.pick(["n % 5", "m % 3, n % 7", "0, m, 3", "n % 4, x % 5, 2", "y, y + 3", "n % 6, 0, -1"])
        else:
            c = f"c{self.loops}"
            return [f"{c} = 0"] + self.inside(f'while {c} < {self.pick(["4", "n % 6", "m"])} and ({self.condition()}):', depth) + [f"    {c} += 1"]
        return self.inside(f"for {k} in ts.tile.range({bounds}):", depth) + [f"    n = ts.i32((n + ts.i32({k})) % 37)"]

    def text(self):
        body = [*self.pick(POSITIONS).split("\n"), "n = A[z, y, x] % 10", "m = ts.i32(x % 4)", "f = F[z, y, x]", *self.block(2), *self.block(3),
                "Y[z, y, x] = n * 50 + m", "Z[z, y, W - 1 - x] = f"]
        return HEAD + textwrap.indent("\n".join(body) + "\n", " " * 8)


class Tensor:
    def __init__(self, values):
        self.a = values

    def place(self, index):
        index = index if isinstance(index, tuple) else (index,)
        return index if all(0 <= i < n for i, n in zip(index, self.a.shape)) else None

    def __getitem__(self, index):
        at = self.place(index)
        return self.a[at].item() if at else 0

    def __setitem__(self, index, value):
        if at := self.place(index):
            self.a[at] = value

    def add(self, index, value):
        self[index] = self[index] + value


class _Annotation:
    def __class_getitem__(cls, item):
        return None


def evaluate(text, sizes, inputs, q):
    tile = types.SimpleNamespace(range=range, minimum=min, maximum=max, atomic_add=Tensor.add)
    ts = types.SimpleNamespace(kernel=lambda f: f, Tensor=_Annotation, tile=tile, i32=int, i64=int, f32=float, u8=None)
    scope = {"ts": ts} | dict(zip("DHW", sizes))
    exec(text, scope)
    tensors = {name: Tensor(values.copy()) for name, values in inputs.items()}
    lane = 0
    tile.linear_id = lambda: lane
    for lane in range(int(np.prod(sizes))):
        scope["kernel"](*tensors.values(), q)
    return tensors


def divisions():
    """Divisors that are 0, or -1 of the smallest integer, in the lanes that a branch or a loop leaves out."""
    low = -2**31
    A, B = np.array([6, 10, 9, 7, low, low, 5, -8] * 5), np.array([4, 0, 3, 5, -1, 1, 0, -1] * 5)
    safe = lambda a, b: 0 if b == 0 else -a if b == -1 else a // b

    def gcd(a, b):
        while b:
            a, b = b, a % b if b != -1 else 0
        return a

    for name, body, expected in (
            ("gcd", "while b != 0:\n            t = a % b\n            a = b\n            b = t\n        Y[i] = a", [gcd(a, b) for a, b in zip(A, B)]),
            ("else", "if b == 0:\n            Y[i] = 7\n        else:\n            Y[i] = a // b", [7 if b == 0 else low if (a, b) == (low, -1) else safe(a, b) for a, b in zip(A, B)]),
            ("choice", "Y[i] = 3 if b == 0 else 4 if b == -1 else a // b", [3 if b == 0 else 4 if b == -1 else a // b for a, b in zip(A, B)]),
            ("minus-one", "while b != -1:\n            a = a // 2 + a // b\n            b = -1\n        Y[i] = a",
             [a if b == -1 else a // 2 + safe(a, b) for a, b in zip(A, B)]),
            ("dim", "if m == 0:\n            Y[i] = 7\n        else:\n            Y[i] = A[i // m]", None)):
        p = program(f"lanes/division/{name}", f"""@ts.kernel
def kernel(A: ts.Tensor["n", ts.i32], B: ts.Tensor["n", ts.i32], C: ts.Tensor["m", ts.i32], Y: ts.Tensor["n", ts.i32]):
    i = ts.tile.linear_id()
    if i < n:
        a = A[i]
        b = B[i]
        {body}
""")
        for n in (1, 8, 19, 40):
            for m in (0, 3, 20) if expected is None else (1,):
                values = np.array(expected)[:n] if expected is not None else A[np.arange(n) // m] if m else np.full(n, 7)
                values = (values + 2**31) % 2**32 - 2**31
                p.run({"n": n, "m": m}, {"A": ("i32", A[:n]), "B": ("i32", B[:n]), "C": ("i32", np.zeros(m))}, {"Y": want("i32", values)})
        yield p


ROWS = {
    "sum": "s = s + A[i, k]",
    "product": "s = s + A[i, k] * B[k]",
    "shifted": "s = s + A[i, k] * 2 - A[i, k - 1] + A[i, 1 + k]",
    "scan": "s = s + A[i, k]\n            Y[i, k] = s",
    "in-place": "s = s + Y[i, k]\n            Y[i, k] = s - A[i, k]",
    "branch": "s = s + (A[i, k] if A[i, k] > 0 else B[k])\n            if k != 2:\n                Y[i, k] = s",
    "twice": "Y[i, k] = A[i, k]\n            s = s + A[i, k]\n            Y[i, k - 1] = s",
    "same": "s = s + B[k]\n            Y[i, k] = B[k]",
    "next": "s = s + A[i + 1, k] + C[i, 1, k]\n            Y[n - 1 - i, k] = A[n - 1 - i, k] + s",
    "alternate": "s = s + A[2 * i, k]\n            t = s + t\n            Y[i, k] = t",
}


def rows():
    """Lanes that walk rows of their own, which the CPU reads and stores in blocks of steps."""
    for dtype in ("f32", "i32", "f64", "i64", "u8", "f16"):
        for name, body in ROWS.items():
            if dtype not in ("f32", "f64", "u8") and name not in ("sum", "scan", "shifted"):
                continue
            text = f"""@ts.kernel
def kernel(A: ts.Tensor["n", "m", ts.{dtype}], B: ts.Tensor["m", ts.{dtype}], C: ts.Tensor["n", 2, "m", ts.{dtype}],
           Y: ts.Tensor["n", "m", ts.{dtype}], S: ts.Tensor["n", ts.{dtype}]):
    i = ts.tile.linear_id()
    if i < n:
        s = ts.{dtype}(1)
        t = ts.{dtype}(0)
        for k in range(m):
            {body}
        S[i] = s
"""
            p = program(f"lanes/rows/{dtype}/{name}", text)
            low, high = (0, 2) if dtype == "u8" else (-3, 4)
            for n, m in ((1, 9), (8, 8), (9, 4), (19, 17), (40, 3), (33, 0), (70, 21)):
                rng = np.random.default_rng(n * 100 + m)
                ints = lambda *shape: rng.integers(low, high, shape)
                inputs = {"A": ints(n, m), "B": ints(m), "C": ints(n, 2, m)}
                old = {"Y": ints(n, m), "S": np.zeros(n, int)}
                got = walk(body, n, m, inputs | old)
                wrap = (lambda v: v % 256) if dtype == "u8" else (lambda v: v)
                p.run({"n": n, "m": m}, {k: (dtype, v) for k, v in inputs.items()},
                      {k: want(dtype, wrap(got[k]), initial=v) for k, v in old.items()})
            yield p


def walk(body, n, m, values):
    """What the program computes, one lane after the other, with integers."""
    tensors = {name: Tensor(v.copy()) for name, v in values.items()}
    step = compile(textwrap.dedent("            " + body), "step", "exec")
    for i in range(n):
        scope = tensors | {"i": i, "n": n, "s": 1, "t": 0}
        for k in range(m):
            scope["k"] = k
            exec(step, scope)
        tensors["S"][i] = scope["s"]
    return {name: t.a for name, t in tensors.items()}


def programs(count=PROGRAMS, first=0):
    if first == 0:
        yield from divisions()
        yield from rows()
    for seed in range(first, first + count):
        text = Drawing(seed).text()
        rng = np.random.default_rng(seed)
        p = program(f"lanes/{seed}", text)
        for run, sizes in enumerate(random.Random(seed).sample(SIZES, RUNS)):
            ints = lambda low, high, *shape: rng.integers(low, high, shape)
            m, q = max(sizes[2], 5), [2, -1, 4, 0][run]
            inputs = {"A": ints(-20, 20, *sizes), "B": ints(0, 256, *sizes), "F": ints(-9, 9, *sizes) * 1.0, "P": ints(-3, sizes[2] + 3, m),
                      "G": ints(-9, 9, sizes[2], 3)}
            outputs = {"Y": ints(0, 5, *sizes), "Z": ints(0, 5, *sizes) * 1.0, "T": ints(0, 5, TABLE)}
            got = evaluate(text, sizes, inputs | outputs, q)
            dtypes = {"A": "i32", "B": "u8", "F": "f32", "P": "i32", "G": "i32", "Y": "i32", "Z": "f32", "T": "i32"}
            p.run({"D": sizes[0], "H": sizes[1], "W": sizes[2], "m": m}, {name: (dtypes[name], v) for name, v in inputs.items()},
                  {name: want(dtypes[name], got[name].a, initial=v) for name, v in outputs.items()}, {"q": q})
        yield p
