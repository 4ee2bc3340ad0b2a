"""Where bits have to be equal: functions of constants against the same functions at run time, and zeros of both signs."""
import itertools

import numpy as np

from cases import program, want
from dtypes import FLOATS, quantize

FUNCTIONS = ["exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "sin", "cos"]
IN_MATH = ["exp", "log", "log2", "sqrt", "sin", "cos", "tanh"]
CONSTANTS = [0.1, 0.3, 0.7, 0.9, 1.1, 1.7, 2.3, 3.3, 4.7, 7.9, 12.5, 33.1]
LANES = 16


def rows(dtype):
    return np.repeat(quantize(np.array(CONSTANTS), dtype)[:, None], LANES, 1)


def same(name, lines, dtype, x):
    """`lines` store 1 where the constant's result equals that of X, which holds the constants, else 0."""
    body = "".join(f"        {line}\n" for line in lines)
    p = program(name, f"""@ts.kernel
def k(X: ts.Tensor["n", {LANES}, ts.{dtype}], Y: ts.Tensor["m", {LANES}, ts.i32]):
    for p in ts.tile.parallel(0, 1, 1):
{body}""")
    p.run({"n": len(x), "m": len(lines)}, {"X": (dtype, x)}, {"Y": want("i32", np.ones((len(lines), LANES), "i8"))})
    return p


def equal(row, constant, value):
    return f"Y[{row}, 0:{LANES}] = ts.tile.where({constant} == {value}, ts.i32(1), ts.i32(0))"


def constants():
    for dtype, op in itertools.product(FLOATS, FUNCTIONS):
        tile = lambda c: f"ts.tile.{op}(ts.tile.full(({LANES},), {c}, ts.{dtype}))"
        yield same(f"constant/tile/{op}/{dtype}",
                   [equal(i, tile(c), f"ts.tile.{op}(X[{i}, 0:{LANES}])") for i, c in enumerate(CONSTANTS)], dtype, rows(dtype))
        p = program(f"constant/graph/{op}/{dtype}", f"""@ts.jit
def f(x: ts.Tensor["n", {LANES}, ts.{dtype}]):
    return ({", ".join(f"ts.where(ts.{op}(ts.full(({LANES},), {c}, ts.{dtype})) == ts.{op}(x[{i}]), ts.i32(1), ts.i32(0))"
                       for i, c in enumerate(CONSTANTS))})
""")
        x = rows(dtype)
        p.run({"n": len(x)}, {"x": (dtype, x)}, {f"result{i}": want("i32", np.ones(LANES, "i8")) for i in range(len(x))})
        yield p
    for dtype, op in itertools.product(FLOATS, IN_MATH):
        yield same(f"constant/scalar/{op}/{dtype}",
                   [equal(i, f"ts.tile.full(({LANES},), math.{op}(ts.{dtype}({c})), ts.{dtype})", f"ts.tile.{op}(X[{i}, 0:{LANES}])")
                    for i, c in enumerate(CONSTANTS)], dtype, rows(dtype))
        # A literal's function is computed in f64, and rounded where it meets the dtype.
        yield same(f"constant/literal/{op}/{dtype}",
                   [equal(i, f"ts.tile.full(({LANES},), math.{op}({c}), ts.{dtype})",
                          f"ts.tile.cast(ts.tile.{op}(X[{i}, 0:{LANES}]), ts.{dtype})") for i, c in enumerate(CONSTANTS)],
                   "f64", rows("f64"))
    for dtype in ("f64", "f32"):
        yield same(f"constant/pow/{dtype}",
                   [equal(i, f"ts.tile.full(({LANES},), {c}, ts.{dtype}) ** ts.tile.full(({LANES},), 1.7, ts.{dtype})",
                          f"X[{i}, 0:{LANES}] ** X[5, 0:{LANES}]") for i, c in enumerate(CONSTANTS)], dtype, rows(dtype))


# ---- minimum and maximum of zeros ----

def minimum(x, y):
    return np.where(x == y, np.where(np.signbit(x), x, y), np.minimum(x, y))


def maximum(x, y):
    return np.where(x == y, np.where(np.signbit(x), y, x), np.maximum(x, y))


EXTREMES = {"minimum": minimum, "maximum": maximum}
ZEROS = np.array([[a, b, c] for a, b, c in itertools.product([0.0, -0.0, 1.0, -1.0, np.nan], repeat=3)])


def along(f, x, axis):
    out = x.take(0, axis)
    for i in range(1, x.shape[axis]):
        out = f(out, x.take(i, axis))
    return out


def zeros():
    for dtype, (op, f) in itertools.product(FLOATS, EXTREMES.items()):
        x, y = ZEROS[:, 0], ZEROS[:, 1]
        short = op[:3]
        for name, expression, values in (("both", f"ts.tile.{op}(x, y)", f(x, y)),
                                         ("plus", f"ts.tile.{op}(x, 0.0)", f(x, np.zeros_like(x))),
                                         ("minus", f"ts.tile.{op}(x, -0.0)", f(x, -np.zeros_like(x))),
                                         ("first", f"ts.tile.{op}(0.0, x)", f(x, np.zeros_like(x)))):
            p = program(f"zeros/{op}/{name}/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], Y: ts.Tensor["n", ts.{dtype}], Z: ts.Tensor["n", ts.{dtype}]):
    for i in ts.tile.parallel(0, n, 32):
        x = X[i:i+32]
        y = Y[i:i+32]
        Z[i:i+32] = {expression}
""")
            yield p.run({"n": len(x)}, {"X": (dtype, x), "Y": (dtype, y)}, {"Z": want(dtype, values)})
        p = program(f"zeros/{op}/lanes/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], Y: ts.Tensor["n", ts.{dtype}], Z: ts.Tensor["n", ts.{dtype}]):
    i = ts.tile.linear_id()
    if i < n:
        Z[i] = ts.tile.{op}(X[i], Y[i])
""")
        yield p.run({"n": len(x)}, {"X": (dtype, x), "Y": (dtype, y)}, {"Z": want(dtype, f(x, y))})
        # Rows, columns and the whole: the zero that decides is at every place.
        p = program(f"zeros/{op}/reduce/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", "m", ts.{dtype}], R: ts.Tensor["n", ts.{dtype}], C: ts.Tensor["m", ts.{dtype}]):
    for i in ts.tile.parallel(0, 1, 1):
        x = X[0:125, 0:3]
        R[0:125] = ts.tile.row_{short}(x)
        C[0:3] = ts.tile.{short}(x, axis=0)
""")
        yield p.run({"n": 125, "m": 3}, {"X": (dtype, ZEROS)}, {"R": want(dtype, along(f, ZEROS, 1)), "C": want(dtype, along(f, ZEROS, 0))})
        wide = np.where(np.eye(40, dtype=bool), -0.0 if op == "minimum" else 0.0, 0.0 if op == "minimum" else -0.0)
        p = program(f"zeros/{op}/graph/{dtype}", f"""@ts.jit
def f(x: ts.Tensor["n", "m", ts.{dtype}], y: ts.Tensor["n", "m", ts.{dtype}]):
    return ts.{short}(x, axis=1), ts.{short}(x, axis=0), ts.{op}(x, y), ts.{op}(y, x)
""")
        other = wide[::-1].copy()
        yield p.run({"n": 40, "m": 40}, {"x": (dtype, wide), "y": (dtype, other)},
                    {"result0": want(dtype, along(f, wide, 1)), "result1": want(dtype, along(f, wide, 0)),
                     "result2": want(dtype, f(wide, other)), "result3": want(dtype, f(wide, other))})
    for dtype in FLOATS:
        scan = np.array([along(maximum, ZEROS[:, :i + 1], 1) for i in range(3)]).T
        p = program(f"zeros/cummax/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", "m", ts.{dtype}], Y: ts.Tensor["n", "m", ts.{dtype}]):
    for i in ts.tile.parallel(0, 1, 1):
        Y[0:125, 0:3] = ts.tile.cummax(X[0:125, 0:3], axis=1)
""")
        yield p.run({"n": 125, "m": 3}, {"X": (dtype, ZEROS)}, {"Y": want(dtype, scan)})
    finite = ZEROS[~np.isnan(ZEROS[:, 0]) & ~np.isnan(ZEROS[:, 1])]
    for dtype, (op, f) in itertools.product(("f64", "f32"), EXTREMES.items()):
        x, y = finite[:, 0], finite[:, 1]
        p = program(f"zeros/{op}/atomic/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], Z: ts.Tensor["n", ts.{dtype}]):
    i = ts.tile.linear_id()
    if i < n:
        ts.tile.atomic_{op[:3]}(Z, i, X[i])
""")
        yield p.run({"n": len(x)}, {"X": (dtype, x)}, {"Z": want(dtype, f(x, y), initial=y)})


def programs():
    yield from constants()
    yield from zeros()
