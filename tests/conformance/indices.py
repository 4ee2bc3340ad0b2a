"""Integers as indices: 64-bit ones keep their width beside narrower ones, narrower ones wrap as their dtype says."""
import numpy as np

from cases import program, want
from dtypes import limits, random, wrap

NARROW = ["i32", "i16", "i8", "u8"]
FAR = 2**40 + 5


def wide():
    """A dim, an id or a loop variable past 2^31 beside a tile of narrower integers."""
    # name -> (signature, where `i` comes from, its values, dims, scalars). A tensor without elements has any other extent.
    sources = {
        "loop": ("lo: ts.i64", "for i in ts.tile.range(lo, lo + 8, 8):", FAR, {}, {"lo": FAR}),
        "counting-down": ("lo: ts.i64", "for i in ts.tile.range(lo, lo - 1, -1):", FAR, {}, {"lo": FAR}),
        "grid": ("lo: ts.i64", "for i in ts.tile.parallel(lo, lo + 8, 8):", FAR, {}, {"lo": FAR}),
        "dim": ('E: ts.Tensor["N", 0, ts.f32]', "for one in ts.tile.range(1):\n        i = N - one", FAR, {"N": FAR}, {}),
        "shape": ('E: ts.Tensor["N", 0, ts.f32]', "for one in ts.tile.range(1):\n        i = E.shape[0]", FAR, {"N": FAR}, {}),
    }
    for name, (signature, loop, value, dims, scalars) in sources.items():
        for dtype in NARROW:
            p = program(f"wide/{name}/{dtype}", f"""@ts.kernel
def k(T: ts.Tensor[8, ts.{dtype}], {signature}, S: ts.Tensor[8, ts.i64], D: ts.Tensor[8, ts.i64], L: ts.Tensor[8, ts.bool],
      W: ts.Tensor[8, ts.i64], E1: ts.Tensor[1, ts.i64]):
    {loop}
        t = T[0:8]
        S[0:8] = i + t
        D[0:8] = t - 2 * i
        L[0:8] = t < i
        W[0:8] = ts.tile.where(t > 0, t, i)
        E1[0] = T[1] + i
""")
            x = random(dtype, (8,), 1)
            inputs = {"T": (dtype, x)}
            if "E:" in signature:
                inputs["E"] = ("f32", np.zeros((FAR, 0)))
            yield p.run(dims, inputs, {"S": want("i64", value + x), "D": want("i64", x - 2 * value), "L": want("bool", x < value),
                                       "W": want("i64", np.where(x > 0, x, value)), "E1": want("i64", x[1:2] + value)}, scalars)
    p = program("wide/arange", """@ts.kernel
def k(lo: ts.i64, A: ts.Tensor[8, ts.i64], B: ts.Tensor[8, ts.i64], R: ts.Tensor[8, ts.bool]):
    for i in ts.tile.range(lo, lo + 8, 8):
        A[0:8] = i + ts.tile.arange(8)
        B[0:8] = ts.tile.arange(i, i + 8)
        R[0:8] = ts.tile.rand(7, i + ts.tile.arange(8)) == ts.tile.rand(7, ts.tile.arange(8))
""")
    for value in (0, 2**31 - 4, FAR, -2**31 - 3):
        ramp = value + np.arange(8)
        yield_values = {"A": want("i64", ramp), "B": want("i64", ramp), "R": want("bool", np.full(8, value == 0))}
        p.run({}, {}, yield_values, {"lo": value})
    yield p


# expression of two scalars a and b -> reference on exact integers, of whose result the dtype keeps the low bits
ARITHMETIC = {
    "a + b": lambda a, b: a + b,
    "a - b": lambda a, b: a - b,
    "a * b": lambda a, b: a * b,
    "-a": lambda a, b: -a,
    "a + a + 3": lambda a, b: 2 * a + 3,
    "a // b": lambda a, b: a // b if b else 0,
    "(a + b) // 3": None,
    "(a + b) % 5": None,
    "ts.tile.minimum(a + b, 9)": None,
    "ts.tile.maximum(a * 2, b)": None,
}


def nested(expression, a, b, dtype):
    w = lambda v: int(wrap(v, dtype))
    return {"(a + b) // 3": lambda: w(a + b) // 3, "(a + b) % 5": lambda: w(a + b) % 5,
            "ts.tile.minimum(a + b, 9)": lambda: min(w(a + b), 9),
            "ts.tile.maximum(a * 2, b)": lambda: max(w(a * 2), b)}[expression]()


def narrow():
    """An index is what its dtype makes of it: stored, compared or used, it is the same number."""
    n = 301
    x = np.arange(1, n + 1)
    for dtype in NARROW:
        low, high = limits(dtype)
        pairs = [(0, 0), (high, 1), (low, low), (low, -1 if low else 1), (150 % (high + 1), 150 % (high + 1)), (5, 100), (3, 2)]
        for number, (expression, reference) in enumerate(ARITHMETIC.items()):
            p = program(f"narrow/{dtype}/{number}", f"""@ts.kernel
def k(I: ts.Tensor[2, ts.{dtype}], p: ts.{dtype}, q: ts.{dtype}, X: ts.Tensor["n", ts.i32], V: ts.Tensor[2, ts.i64],
      E: ts.Tensor[2, ts.i32], S: ts.Tensor[2, 4, ts.i32], Z: ts.Tensor["n", ts.i32], C: ts.Tensor[1, ts.i64]):
    a = I[0]
    b = I[1]
    j = {expression}
    V[0] = ts.i64(j)
    E[0] = X[j]
    S[0, 0:4] = X[j:j+4]
    Z[j] = 7
    a = p
    b = q
    j = {expression}
    V[1] = ts.i64(j)
    E[1] = X[j]
    S[1, 0:4] = X[j:j+4]
    count = ts.i64(0)
    for i in range(j, j + 3):
        count += 1
    C[0] = count
""")
            for a, b in pairs:
                j = int(wrap(reference(a, b), dtype)) if reference else nested(expression, a, b, dtype)
                at = lambda k: int(x[k]) if 0 <= k < n else 0
                tile = [at(j + k) for k in range(4)]
                z = np.zeros(n)
                if 0 <= j < n:
                    z[j] = 7
                count = max(int(wrap(j + 3, dtype)) - j, 0)
                p.run({"n": n}, {"I": (dtype, np.array([a, b])), "X": ("i32", x)},
                      {"V": want("i64", np.array([j, j])), "E": want("i32", np.array([at(j)] * 2)),
                       "S": want("i32", np.array([tile, tile]), initial=np.zeros((2, 4), "i8")), "Z": want("i32", z.astype("i8"), initial=np.zeros(n, "i8")),
                       "C": want("i64", np.array([count]))}, {"p": a, "q": b})
            yield p


def bounds():
    """The bounds of a grid and the guard of lanes are evaluated by the launch, and wrap as in the kernel."""
    n = 400
    for dtype in ("i8", "u8", "i16", "i32"):
        for name, head in (("parallel", "for i in ts.tile.parallel(0, p + q, 4):\n        Z[i:i+4] = 1"),
                           ("product", "for i in ts.tile.parallel(0, ts.i64(p * q) - 0, 4):\n        Z[i:i+4] = 1"),
                           ("lanes", "i = ts.tile.linear_id()\n    if i < p + q:\n        Z[i] = 1")):
            p = program(f"bounds/{name}/{dtype}", f"""@ts.kernel
def k(Z: ts.Tensor["n", ts.i32], p: ts.{dtype}, q: ts.{dtype}):
    {head}
""")
            high = limits(dtype)[1]
            for a, b in ((3, 4), (100, 100), (127, 2), (high, 1), (high, high)):
                hi = int(wrap(a * b if name == "product" else a + b, dtype))
                hi = hi if name == "lanes" else -(-hi // 4) * 4
                if hi > n:
                    continue
                z = np.zeros(n, "i8")
                z[:max(hi, 0)] = 1
                p.run({"n": n}, {}, {"Z": want("i32", z, initial=np.zeros(n, "i8"))}, {"p": a, "q": b})
            yield p
    p = program("bounds/counting-down", """@ts.kernel
def k(lo: ts.i32, hi: ts.i32, Z: ts.Tensor[3, ts.i64]):
    k = ts.i64(0)
    for i in range(hi, lo, -1000000000):
        Z[k] = i
        k += 1
""")
    lo, hi = -(2**31), 2**31 - 1
    steps = np.array(range(hi, lo, -10**9))[:3]
    yield p.run({}, {}, {"Z": want("i64", steps)}, {"lo": lo, "hi": hi})


def casts():
    """A narrowing cast of an index wraps; widening it again does not bring back what it lost."""
    p = program("casts", """@ts.kernel
def k(X: ts.Tensor["n", ts.i32], Y: ts.Tensor[4, ts.i32], V: ts.Tensor[4, ts.i64]):
    for i in ts.tile.range(258, 259, 1):
        Y[0] = X[ts.i8(i)]
        Y[1] = X[ts.i64(ts.u8(i + 1))]
        Y[2] = X[ts.i16(ts.i32(i))]
        Y[3] = ts.tile.sum(X[ts.i32(i) : ts.i32(i) + 2])
        V[0] = ts.i64(ts.i8(i))
        V[1] = ts.i64(ts.u8(i + 1))
        V[2] = ts.i64(ts.i16(ts.i32(i)))
        V[3] = ts.i64(ts.u8(i)) + i
""")
    x = random("i32", (400,), 1)
    yield p.run({"n": 400}, {"X": ("i32", x)}, {"Y": want("i32", np.array([x[2], x[3], x[258], wrap(x[258] + x[259], "i32")])),
                                                 "V": want("i64", np.array([2, 3, 258, 2 + 258]))})


def programs():
    yield from wide()
    yield from narrow()
    yield from bounds()
    yield from casts()
