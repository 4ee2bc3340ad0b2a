"""Reductions and scans: op x dtype x axis, with tails that must stay neutral, NaN, infinities and ties."""
import numpy as np

from cases import program, want
from dtypes import DTYPES, FLOATS, INTS, limits, quantize, random
from unsigned import UNSIGNED  # and u64 in DTYPES

ROWS, COLUMNS = 8, 32
SIZES = [(1, 1), (7, 31), (8, 32), (3, 5), (16, 32), (17, 29), (0, 4), (4, 0)]
NAMES = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}


def source(dtype, result, expression, shape):
    """x is a tile of up to ROWS x COLUMNS elements; what is past the edge is absent."""
    store = {"M": f"Z[m:m+{ROWS}]", "N": f"Z[0:{COLUMNS}]", "MN": f"Z[m:m+{ROWS}, 0:{COLUMNS}]"}
    dims = {"M": '"M"', "N": '"N"', "MN": '"M", "N"'}[shape]
    return f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], Z: ts.Tensor[{dims}, ts.{result}]):
    for m in ts.tile.parallel(0, M, {ROWS}):
        x = X[m:m+{ROWS}, 0:{COLUMNS}]
        {store[shape]} = {expression}
"""


def result_of(op, dtype):
    """Sums and products of narrow integers are i32."""
    return "i32" if op in ("sum", "prod", "cumsum", "cumprod") and dtype in ("i16", "i8", "u16", "u8") else dtype


def neutral(op, dtype):
    d = DTYPES[dtype]
    if op in ("sum", "prod"):
        return 0 if op == "sum" else 1
    if d.is_float:
        return -np.inf if op == "max" else np.inf
    return limits(dtype)[0 if op == "max" else 1]


def reduced(op, dtype, x, axis):
    if x.shape[axis] == 0:
        return np.full(np.delete(x.shape, axis), neutral(op, dtype))
    return NAMES[op](x, axis=axis)


def data(dtype, m, n, seed):
    return random(dtype, (m, n), seed)


def tolerance(op, dtype, x, axis):
    """Sums in any order, of f16 and bf16 in at least their own precision."""
    if not DTYPES[dtype].is_float or op in ("max", "min"):
        return {}
    n = x.shape[axis]
    magnitude = np.abs(x).sum(axis) if op == "sum" else np.abs(np.prod(x, axis=axis))
    return {"bound": np.asarray((n + 2) * DTYPES[dtype].eps * magnitude + 2.0**-120, "f8"), "ulps": 1}


def reductions():
    for dtype in [*FLOATS, *INTS]:
        for op in NAMES:
            p = program(f"reduce/{op}/axis1/{dtype}", source(dtype, result_of(op, dtype), f"ts.tile.{op}(x, axis=1)", "M"))
            for seed, (m, n) in enumerate(SIZES):
                x = data(dtype, m, n, seed)
                p.run({"M": m, "N": n}, {"X": (dtype, x)},
                      {"Z": want(result_of(op, dtype), reduced(op, dtype, x, 1), shape=(m,), **tolerance(op, dtype, x, 1))})
            yield p
            p = program(f"reduce/{op}/axis0/{dtype}", source(dtype, result_of(op, dtype), f"ts.tile.{op}(x, axis=0)", "N"))
            for seed, (m, n) in enumerate([(1, 1), (7, 31), (8, 32), (3, 5)]):  # one program: it writes all of Z
                x = data(dtype, m, n, seed)
                p.run({"M": m, "N": n}, {"X": (dtype, x)},
                      {"Z": want(result_of(op, dtype), reduced(op, dtype, x, 0), shape=(n,), **tolerance(op, dtype, x, 0))})
            yield p
    for name, op in (("row_max", "max"), ("row_min", "min"), ("row_sum", "sum")):
        p = program(f"reduce/{name}", source("f32", "f32", f"ts.tile.{name}(x)", "M"))
        x = random("f32", (13, 30), 5)
        p.run({"M": 13, "N": 30}, {"X": ("f32", x)}, {"Z": want("f32", NAMES[op](x, axis=1), **tolerance(op, "f32", x, 1))})
        yield p


def nan_and_infinity():
    for dtype in FLOATS:
        x = random(dtype, (8, 20), 6)
        x[0, 3] = np.nan
        x[1, 3], x[1, 5] = np.inf, -np.inf
        x[2, :] = -np.inf
        x[3, :] = np.inf
        x[4, 0], x[4, 19] = -0.0, 0.0
        for op in ("max", "min", "sum"):
            p = program(f"reduce/specials/{op}/{dtype}", source(dtype, dtype, f"ts.tile.{op}(x, axis=1)", "M"))
            p.run({"M": 8, "N": 20}, {"X": (dtype, x)}, {"Z": want(dtype, NAMES[op](x, axis=1), rtol=32 * DTYPES[dtype].eps, atol=64 * DTYPES[dtype].eps)})
            yield p


def arg_reductions():
    for dtype in [*FLOATS, *INTS, "bool"]:
        for op, function in (("argmax", np.argmax), ("argmin", np.argmin)):
            p = program(f"reduce/{op}/axis1/{dtype}", source(dtype, "i32", f"ts.tile.{op}(x, axis=1)", "M"))
            for seed, (m, n) in enumerate([(1, 1), (7, 31), (8, 32), (17, 29)]):
                x = data(dtype, m, n, seed)
                if n > 20:
                    x[m // 2, 4:20:3] = x[m // 2].max() if op == "argmax" else x[m // 2].min()  # ties
                    if DTYPES[dtype].is_float:
                        x[0, 9] = x[0, 12] = np.nan
                        x[1, :] = -np.inf if op == "argmax" else np.inf  # as absent elements are: the first real one wins
                p.run({"M": m, "N": n}, {"X": (dtype, x)}, {"Z": want("i32", function(x, axis=1), shape=(m,))})
            yield p
            p = program(f"reduce/{op}/axis0/{dtype}", source(dtype, "i32", f"ts.tile.{op}(x, axis=0)", "N"))
            for m, n in ((1, 7), (7, 31)):
                x = data(dtype, m, n, 9)
                p.run({"M": m, "N": n}, {"X": (dtype, x)}, {"Z": want("i32", function(x, axis=0), shape=(n,))})
            yield p


LENGTHS = (1, 3, 7, 8, 9, 31, 32, 33, 63, 65, 127, 128, 129, 255, 384, 511, 512)


def long_lines():
    """Lines of several vectors that end anywhere: along the last axis and down the columns, with rows that are absent."""
    for dtype in ("f64", "f32", "bf16", "i64", "i32", "u8"):
        kinds = {name: (result_of(name, dtype), f) for name, f in NAMES.items() if name != "prod"}
        kinds |= {"argmax": ("i32", np.argmax), "argmin": ("i32", np.argmin)}
        for op, (result, function) in kinds.items():
            for axis, tile in ((1, (4, 512)), (0, (512, 48))):
                stored = f"m:m+{tile[0]}" if axis else f"0:{tile[1]}"
                dim = "MN"[1 - axis]
                p = program(f"reduce/long/{op}/axis{axis}/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], Z: ts.Tensor["{dim}", ts.{result}]):
    for m in ts.tile.parallel(0, M, {tile[0]}):
        Z[{stored}] = ts.tile.{op}(X[m:m+{tile[0]}, 0:{tile[1]}], axis={axis})
""")
                for seed, length in enumerate(LENGTHS):
                    other = (1, 3, 4, 5, 7)[seed % 5] if axis else (1, 8, 31, 32, 33, 40, 47, 48)[seed % 8]
                    x = data(dtype, *((other, length) if axis else (length, other)), seed)
                    lines = x if axis else x.T  # a view
                    if op in ("argmax", "argmin") and length > 2:  # ties and NaN whose first is in a later lane than the next
                        least, most = (-np.inf, np.inf) if DTYPES[dtype].is_float else limits(dtype)
                        best, worst = (most, least) if op == "argmax" else (least, most)
                        first = length // 3
                        lines[0, [first, length - 1 - length % 7]] = best
                        lines[-1, :] = worst
                        if DTYPES[dtype].is_float and len(lines) > 2:
                            lines[1, [first, length - 1 - length % 5]] = np.nan
                            lines[1, :first] = best
                    bounds = tolerance(op, dtype, x, axis) if op == "sum" else {}
                    p.run({"M": x.shape[0], "N": x.shape[1]}, {"X": (dtype, x)}, {"Z": want(result, function(x, axis=axis), **bounds)})
                yield p


def few_elements():
    """More results than a block has threads, each of a few elements: along rows that are a transposed view of columns."""
    for dtype in ("f64", "f32", "f16"):
        for count in (1, 3):
            p = program(f"reduce/few/{count}/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor[{count}, "N", ts.{dtype}], Z: ts.Tensor["N", ts.{dtype}]):
    for n in ts.tile.parallel(0, N, 2048):
        Z[n:n+2048] = ts.tile.sum(X[0:{count}, n:n+2048].T, axis=1)
""")
            for seed, n in enumerate((1, 2047, 2048, 2050)):
                x = data(dtype, count, n, seed)
                p.run({"N": n}, {"X": (dtype, x)}, {"Z": want(dtype, np.sum(x, axis=0), **tolerance("sum", dtype, x, 0))})
            yield p


def scans():
    for dtype in [*FLOATS, "i64", "i32", "i8", "u16"]:
        for op, function in (("cumsum", np.cumsum), ("cumprod", np.cumprod), ("cummax", np.maximum.accumulate), ("cummin", np.minimum.accumulate)):
            for axis in (0, 1):
                p = program(f"scan/{op}/axis{axis}/{dtype}", source(dtype, result_of(op, dtype), f"ts.tile.{op}(x, axis={axis})", "MN"))
                for seed, (m, n) in enumerate([(1, 1), (7, 31), (8, 32), (5, 1), *([(12, 32), (3, 32)] if axis else [])]):
                    x = data(dtype, m, n, seed)
                    if op in ("cummax", "cummin") and DTYPES[dtype].is_float and n > 5:
                        x[2, 4] = np.nan
                    values = function(x, axis=axis)
                    options = {}
                    if op == "cumsum" and DTYPES[dtype].is_float:
                        options = {"bound": 34 * DTYPES[dtype].eps * np.cumsum(np.abs(x), axis=axis), "ulps": 1}
                    if op == "cumprod" and DTYPES[dtype].is_float:
                        options = {"bound": 34 * DTYPES[dtype].eps * np.abs(values), "ulps": 1}
                    p.run({"M": m, "N": n}, {"X": (dtype, x)}, {"Z": want(result_of(op, dtype), values, **options)})
                yield p


def whole_tiles():
    """Without an axis a tile becomes a scalar."""
    for dtype in ("f32", "i32"):
        for op in NAMES:
            p = program(f"reduce/whole/{op}/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], Z: ts.Tensor["P", ts.{dtype}]):
    for m in ts.tile.parallel(0, M, {ROWS}):
        s = ts.tile.{op}(X[m:m+{ROWS}, 0:{COLUMNS}])
        Z[m // {ROWS}] = s
""")
            for m, n in ((8, 32), (13, 30), (1, 1)):
                x = data(dtype, m, n, 3) if dtype == "i32" else random(dtype, (m, n), 3, 0.5, 1.5)
                parts = [x[i:i + ROWS].ravel() for i in range(0, m, ROWS)]
                values = np.array([NAMES[op](part) for part in parts])
                options = {"rtol": 260 * DTYPES[dtype].eps} if dtype == "f32" else {}
                p.run({"M": m, "N": n, "P": len(parts)}, {"X": (dtype, x)}, {"Z": want(dtype, values, **options)})
            yield p


def absence():
    """What is past the edge is absent, not zero: through arithmetic, broadcasts, where and casts."""
    expressions = {
        "offset": ("ts.tile.sum(x + 1.0, axis=1)", lambda x: (x + 1).sum(1)),
        "exp": ("ts.tile.sum(ts.tile.exp(x), axis=1)", lambda x: np.exp(x).sum(1)),
        "max-of-negative": ("ts.tile.max(-ts.tile.abs(x) - 1.0, axis=1)", lambda x: (-np.abs(x) - 1).max(1)),
        "broadcast": ("ts.tile.sum(x - ts.tile.row_max(x)[:, None], axis=1)", lambda x: (x - x.max(1, keepdims=True)).sum(1)),
        "where": ("ts.tile.sum(ts.tile.where(x > 0.0, x, 5.0), axis=1)", lambda x: np.where(x > 0, x, 5).sum(1)),
        "cast": ("ts.tile.cast(ts.tile.sum(ts.tile.cast(x * 100.0, ts.i32) + 1, axis=1), ts.f32)", lambda x: (np.trunc(quantize(x * 100, "f32")) + 1).sum(1)),
        "prod": ("ts.tile.prod(x * x + 1.0, axis=1)", lambda x: (x * x + 1).prod(1)),
    }
    for name, (expression, reference) in expressions.items():
        p = program(f"absence/{name}", source("f32", "f32", expression, "M"))
        for m, n in ((5, 7), (8, 31), (9, 1)):
            x = random("f32", (m, n), 7)
            p.run({"M": m, "N": n}, {"X": ("f32", x)}, {"Z": want("f32", reference(x), rtol=1e-5, atol=1e-4)})
        yield p


def absence_through_control():
    """Values of absent elements must not come back through branches, loops, helpers and asynchronous copies. All are
    negative here, so that a zero in their place would win the maximum."""
    bodies = {
        "if": "y = x\n        if mode > 0:\n            y = x - 1.0\n        else:\n            y = -ts.tile.abs(y)",
        "if-one-side": "y = x\n        if mode > 0:\n            y = x - 1.0",
        "for": "y = x\n        for t in range(mode):\n            y = y * 0.5 - 1.0",
        "for-range": "y = x\n        for t in ts.tile.range(0, N, 32):\n            y = ts.tile.minimum(y, X[m:m+8, t:t+32])",
        "while": "y = x\n        t = 0\n        while t < mode:\n            y = y - 1.0\n            t += 1",
        "helper": "y = shifted(x)",
        "cp_async": "ts.tile.cp_async(s, X[m:m+8, 0:32])\n        ts.tile.barrier()\n        y = s[:, :]",
        "transpose": "y = x.T.T",
        "cumsum": "y = ts.tile.cumsum(x, axis=1)",
    }
    references = {
        "if": lambda x, mode: x - 1 if mode > 0 else -np.abs(x),
        "if-one-side": lambda x, mode: x - 1 if mode > 0 else x,
        "for": lambda x, mode: x if mode == 0 else x * 0.5 - 1 if mode == 1 else (x * 0.5 - 1) * 0.5 - 1,
        "while": lambda x, mode: x - mode,
        "helper": lambda x, mode: x - 2,
        "cumsum": lambda x, mode: np.cumsum(x, axis=1),
    }
    for name, body in bodies.items():
        p = program(f"absence/through/{name}", f"""def shifted(v):
    return v - 2.0

@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], Z: ts.Tensor["M", ts.f32], mode: ts.i32):
    s = ts.tile.alloc_shared((8, 32), ts.f32)
    for m in ts.tile.parallel(0, M, 8):
        x = X[m:m+8, 0:32]
        {body}
        Z[m:m+8] = ts.tile.row_max(y)
""")
        for m, n in ((5, 7), (1, 1), (9, 31), (8, 32)):
            for mode in (0, 1, 2):
                x = random("f32", (m, n), 11, -9, -1)
                y = references.get(name, lambda x, mode: x)(x, mode)
                p.run({"M": m, "N": n}, {"X": ("f32", x)}, {"Z": want("f32", y.max(1), rtol=1e-5)}, {"mode": mode})
        yield p


def zeros_for_absent():
    """Writes to shared memory put 0 in the place of absent elements: what is read there is whole."""
    for name, body in (("shared", "s[:, :] = x\n        ts.tile.barrier()\n        y = s[:, :]"),):
        p = program(f"absence/zeros/{name}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], Z: ts.Tensor["M", ts.f32]):
    s = ts.tile.alloc_shared((8, 32), ts.f32)
    for m in ts.tile.parallel(0, M, 8):
        x = X[m:m+8, 0:32]
        {body}
        Z[m:m+8] = ts.tile.row_max(y)
""")
        for m, n in ((5, 7), (8, 32)):
            x = random("f32", (m, n), 11, -9, -1)
            p.run({"M": m, "N": n}, {"X": ("f32", x)}, {"Z": want("f32", x.max(1) if n == 32 else np.zeros(m))})
        yield p


def narrow():
    """Results in narrow floats, which are computed in f32, read by everything that reads memory."""
    makers = {"max": ("ts.tile.max(x, axis=0)", lambda x: x.max(0)), "min": ("ts.tile.min(x, axis=0)", lambda x: x.min(0)),
              "sum": ("ts.tile.sum(x, axis=0)", lambda x: x.sum(0)), "cumsum": ("ts.tile.cumsum(X[0, 0:16], axis=0)", lambda x: np.cumsum(x[0])),
              "cummax": ("ts.tile.cummax(X[0, 0:16], axis=0)", lambda x: np.maximum.accumulate(x[0])),
              "product": ("X[0, 0:16] * X[1, 0:16]", lambda x: x[0] * x[1]), "where": ("ts.tile.where(X[0, 0:16] > 0, X[1, 0:16], X[2, 0:16])", lambda x: np.where(x[0] > 0, x[1], x[2]))}
    for dtype in ("bf16", "f16", "f32"):
        for name, (maker, f) in makers.items():
            p = program(f"reduce/narrow/{dtype}/{name}", f"""@ts.kernel
def k(X: ts.Tensor[8, 16, ts.{dtype}], A: ts.Tensor[4, 4, ts.{dtype}], B: ts.Tensor[4, 4, ts.{dtype}], C: ts.Tensor[16, ts.{dtype}], D: ts.Tensor[32, ts.{dtype}],
      E: ts.Tensor[8, 16, ts.{dtype}], F: ts.Tensor[4, 4, ts.f32], G: ts.Tensor[2, 8, ts.{dtype}]):
    x = X[0:8, 0:16]
    A[0:4, 0:4] = ts.tile.reshape({maker}, (4, 4))
    p = {maker}
    B[0:4, 0:4] = ts.tile.reshape(p, (4, 4)).T
    C[0:16] = ts.tile.cumsum(p, axis=0)
    D[0:32] = ts.tile.concat((p, p), axis=0)
    E[0:8, 0:16] = x + p[None, :]
    F[0:4, 0:4] = ts.tile.mma(ts.tile.reshape(p, (4, 4)), ts.tile.reshape(p, (4, 4)).T)
    G[0:2, 0:8] = ts.tile.cummax(ts.tile.reshape({maker}, (2, 8)), axis=1)
""")
            x = np.random.default_rng(5).integers(-1, 2, (8, 16)).astype("f8")
            v = f(x)
            yield p.run({}, {"X": (dtype, x)}, {
                "A": want(dtype, v.reshape(4, 4)), "B": want(dtype, v.reshape(4, 4).T), "C": want(dtype, np.cumsum(v)), "D": want(dtype, np.concatenate([v, v])),
                "E": want(dtype, x + v), "F": want("f32", v.reshape(4, 4) @ v.reshape(4, 4).T), "G": want(dtype, np.maximum.accumulate(v.reshape(2, 8), 1))})


def updated_sums():
    """A tensor that is read and written between the two uses of a row: several warps share the row, and one thread of them writes."""
    p = program("reduce/updated-sums", """@ts.kernel
def k(X: ts.Tensor["M", 4096, ts.f32], S: ts.Tensor["M", ts.f32], Y: ts.Tensor["M", 4096, ts.f32]):
    for m in ts.tile.parallel(0, M, 2):
        x = X[m:m+2, 0:4096]
        t = ts.tile.row_sum(x) + S[m:m+2]
        S[m:m+2] = t
        Y[m:m+2, 0:4096] = x * t[:, None]
""")
    for m in (1, 4):
        rng = np.random.default_rng(m)
        x, s = rng.integers(-2, 3, (m, 4096)).astype("f8"), rng.integers(-9, 9, m).astype("f8")
        t = x.sum(1) + s
        p.run({"M": m}, {"X": ("f32", x)}, {"S": want("f32", t, initial=s), "Y": want("f32", x * t[:, None])})
    yield p


def quotients():
    """Divisions that a scan or a sum reads past the tile's edge, where the divisor and its guards have no elements."""
    floor = lambda x, y, f: np.where(y == 0, 0, f(x, np.where(y == 0, 1, y)))
    for dtype in ("i64", "i32", "i16", *UNSIGNED):
        total = result_of("sum", dtype)
        p = program(f"reductions/quotients/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], Y: ts.Tensor["M", "N", ts.{dtype}], C: ts.Tensor["M", "N", ts.{total}], S: ts.Tensor["N", ts.{total}],
      Q: ts.Tensor["M", "N", ts.{total}], E: ts.Tensor["M", 1, ts.{total}]):
    for n in ts.tile.parallel(0, N, {COLUMNS}):
        x = X[0:{ROWS}, n:n+{COLUMNS}]
        y = Y[0:{ROWS}, n:n+{COLUMNS}]
        C[0:{ROWS}, n:n+{COLUMNS}] = ts.tile.cumsum(x // y, axis=0)
        S[n:n+{COLUMNS}] = ts.tile.sum(x % (y * y + 1), axis=0)
        Q[0:{ROWS}, n:n+{COLUMNS}] = ts.tile.cumsum(x // y + x % y, axis=0)
    for m in ts.tile.parallel(0, 1):
        E[0:{ROWS}, :] = ts.tile.cumsum(X[0:{ROWS}, 0:1] // Y[0:{ROWS}, 0:1], axis=0)
""")
        for m, n in ((3, 5), (8, 32), (5, 33), (1, 1), (7, 64)):
            rng = np.random.default_rng(m)
            x, y = rng.integers(0, 100, (m, n)), rng.integers(0, 4, (m, n))
            x, y = (x - 50, y - 2) if dtype[0] == "i" else (x, y)
            q, r = floor(x, y, np.floor_divide), floor(x, y, np.mod)
            p.run({"M": m, "N": n}, {"X": (dtype, x), "Y": (dtype, y)},
                  {"C": want(total, np.cumsum(q, 0)), "S": want(total, (x % (y * y + 1)).sum(0)), "Q": want(total, np.cumsum(q + r, 0)), "E": want(total, np.cumsum(q[:, :1], 0))})
        yield p


def programs():
    yield from quotients()
    yield from reductions()
    yield from nan_and_infinity()
    yield from arg_reductions()
    yield from long_lines()
    yield from few_elements()
    yield from scans()
    yield from whole_tiles()
    yield from absence()
    yield from absence_through_control()
    yield from zeros_for_absent()
    yield from narrow()
    yield from updated_sums()
