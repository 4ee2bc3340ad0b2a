"""u16, u32 and u64 over their whole range: NumPy's own unsigned arithmetic, Python's integers for casts. Values are bit
patterns of 64 bits here, because those of u64 fit in nothing else."""
import numpy as np

from cases import program, want
from dtypes import DTYPES, DType, quantize

DTYPES["u64"] = DType("u64", False, bits=64, signed=False)
UNSIGNED = {"u16": np.uint16, "u32": np.uint32, "u64": np.uint64}
TILE = 64


def values(dtype, n, seed):
    rng = np.random.default_rng(seed)
    bits = DTYPES[dtype].bits
    x = rng.integers(0, 2**64 - 1, n, dtype="u8", endpoint=True) >> rng.integers(64 - bits, 64, n).astype("u8")
    high = (1 << bits) - 1
    edge = [0, 1, high, high - 1, high // 2, high // 2 + 1, 2, 3]
    x[:min(n, 8)] = edge[:n]
    return x.astype(UNSIGNED[dtype])


def bits(x):
    """As 64-bit patterns."""
    return np.asarray(x).astype("u8").view("i8")


OPS = {
    "add": ("x + y", lambda x, y: x + y), "sub": ("x - y", lambda x, y: x - y), "mul": ("x * y", lambda x, y: x * y),
    "neg": ("-x", lambda x, y: 0 - x), "invert": ("~x", lambda x, y: ~x), "abs": ("ts.tile.abs(x)", lambda x, y: x),
    "and": ("x & y", lambda x, y: x & y), "or": ("x | y", lambda x, y: x | y), "xor": ("x ^ y", lambda x, y: x ^ y),
    "floordiv": ("x // y", lambda x, y: np.where(y == 0, 0, x // np.where(y == 0, 1, y))),
    "mod": ("x % y", lambda x, y: np.where(y == 0, 0, x % np.where(y == 0, 1, y))),
    "by-seven": ("x // 7 + x % 7", lambda x, y: x // 7 + x % 7),
    "minimum": ("ts.tile.minimum(x, y)", np.minimum), "maximum": ("ts.tile.maximum(x, y)", np.maximum),
    "shl": ("x << (y % 20)", lambda x, y: np.where(y % 20 < x.dtype.itemsize * 8, x << (y % 20), 0)),
    "shr": ("x >> (y % 20)", lambda x, y: np.where(y % 20 < x.dtype.itemsize * 8, x >> (y % 20), 0)),
    "too-far": ("(x << y) + (x >> y)", None),
    "sign": ("ts.tile.sign(x)", np.sign), "clamp": ("ts.tile.clamp(x, 5, y)", lambda x, y: np.minimum(np.maximum(x, 5), y)),
    "square": ("x ** 2", lambda x, y: x * x), "power": ("x ** (y % 6)", None),
    "choose": ("ts.tile.where(x < y, x, y)", np.minimum),
    "popcount": ("ts.tile.popcount(x)", None), "clz": ("ts.tile.clz(x)", None), "umulhi": ("ts.tile.umulhi(x, y)", None),
}


def slow(op, x, y, width):
    """By Python's integers."""
    def one(a, b):
        if op == "too-far":
            return (a << b if b < width else 0) + (a >> b if b < width else 0)
        return {"power": lambda: a ** (b % 6), "popcount": lambda: bin(a).count("1"), "clz": lambda: width - a.bit_length(),
                "umulhi": lambda: a * b >> width}[op]()
    return np.array([one(int(a), int(b)) & ((1 << width) - 1) for a, b in zip(x, y)], "u8")


def arithmetic():
    for dtype, kind in UNSIGNED.items():
        for op, (expression, reference) in OPS.items():
            p = program(f"unsigned/{op}/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], Y: ts.Tensor["n", ts.{dtype}], Z: ts.Tensor["n", ts.{dtype}]):
    for i in ts.tile.parallel(0, n, {TILE}):
        x = X[i:i+{TILE}]
        y = Y[i:i+{TILE}]
        Z[i:i+{TILE}] = {expression}
""")
            for n in (0, 1, 17, TILE + 1, 500):
                x, y = values(dtype, n, 1), values(dtype, n, 2)[::-1].copy()
                z = reference(x, y).astype(kind) if reference else slow(op, x, y, DTYPES[dtype].bits)
                p.run({"n": n}, {"X": (dtype, bits(x)), "Y": (dtype, bits(y))}, {"Z": want(dtype, bits(z))})
            yield p
        relations = ["<", "<=", ">", ">=", "==", "!="]
        body = "".join(f"        Z[i:i+{TILE}, {k}] = x {r} y\n        S[i:i+{TILE}, {k}] = x {r} 1000\n" for k, r in enumerate(relations))
        p = program(f"unsigned/compare/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], Y: ts.Tensor["n", ts.{dtype}], Z: ts.Tensor["n", 6, ts.bool], S: ts.Tensor["n", 6, ts.bool]):
    for i in ts.tile.parallel(0, n, {TILE}):
        x = X[i:i+{TILE}]
        y = Y[i:i+{TILE}]
{body}""")
        x, y = values(dtype, 300, 1), values(dtype, 300, 2)[::-1].copy()
        y[::3] = x[::3]
        compare = [np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal]
        yield p.run({"n": 300}, {"X": (dtype, bits(x)), "Y": (dtype, bits(y))},
                    {"Z": want("bool", np.stack([f(x, y) for f in compare], 1).astype("i8")),
                     "S": want("bool", np.stack([f(x, kind(1000)) for f in compare], 1).astype("i8"))})


def reductions():
    for dtype in UNSIGNED:
        total = "i32" if dtype == "u16" else dtype
        p = program(f"unsigned/reduce/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], A: ts.Tensor["M", ts.{dtype}], B: ts.Tensor["M", ts.{dtype}], S: ts.Tensor["M", ts.{total}],
      I: ts.Tensor["M", ts.i32], J: ts.Tensor["M", ts.i32], C: ts.Tensor["M", "N", ts.{dtype}], T: ts.Tensor["M", "N", ts.{dtype}]):
    for m in ts.tile.parallel(0, M, 8):
        x = X[m:m+8, 0:40]
        A[m:m+8] = ts.tile.max(x, axis=1)
        B[m:m+8] = ts.tile.min(x, axis=1)
        S[m:m+8] = ts.tile.sum(x, axis=1)
        I[m:m+8] = ts.tile.argmax(x, axis=1)
        J[m:m+8] = ts.tile.argmin(x, axis=1)
        C[m:m+8, 0:40] = ts.tile.cummax(x, axis=1)
        T[m:m+8, 0:40] = ts.tile.sort(x, axis=1)
""")
        for m, n in ((8, 40), (11, 33), (1, 1)):
            x = values(dtype, m * n, 3).reshape(m, n)
            sums = x.astype("u8").sum(1, dtype="u8")
            if dtype == "u16":
                s = sums.astype("i8")
            else:
                s = bits(sums.astype(UNSIGNED[dtype]))
            p.run({"M": m, "N": n}, {"X": (dtype, bits(x))},
                  {"A": want(dtype, bits(x.max(1))), "B": want(dtype, bits(x.min(1))), "S": want(total, s),
                   "I": want("i32", x.argmax(1)), "J": want("i32", x.argmin(1)), "C": want(dtype, bits(np.maximum.accumulate(x, 1))),
                   "T": want(dtype, bits(np.sort(x, 1)))})
        yield p


def casts():
    """Of u64: with every dtype, both ways. The others are in casts.py."""
    floats = [d for d in DTYPES if DTYPES[d].is_float]
    ints = [d for d in DTYPES if not DTYPES[d].is_float and d != "u64"]
    x = values("u64", 400, 5)
    exact = [int(v) for v in x]

    def rounded(v, dtype):
        """An integer to a float of the dtype, rounded once."""
        if dtype == "f64" or v < 1 << 53:
            return float(quantize(np.array([float(v)]), dtype)[0])
        return float(quantize(np.array([float(v & ~0x7FF | (0x400 if v & 0x7FF else 0))]), dtype)[0])

    outputs, parameters, body = {}, "", ""
    for k, t in enumerate([*floats, *ints]):
        parameters += f', Y{k}: ts.Tensor["n", ts.{t}]'
        body += f"        Y{k}[i:i+{TILE}] = ts.tile.cast(x, ts.{t})\n"
        d = DTYPES[t]
        if d.is_float:
            y = np.array([rounded(v, t) for v in exact])
        elif t == "bool":
            y = np.array([v != 0 for v in exact], "i8")
        else:
            low = [v & ((1 << d.bits) - 1) for v in exact]
            y = np.array([v - (1 << d.bits) if d.signed and v >> (d.bits - 1) else v for v in low], "i8")
        outputs[f"Y{k}"] = want(t, y)
    p = program("unsigned/cast/from", f"@ts.kernel\ndef k(X: ts.Tensor[\"n\", ts.u64]{parameters}):\n    for i in ts.tile.parallel(0, n, {TILE}):\n        x = X[i:i+{TILE}]\n{body}")
    yield p.run({"n": 400}, {"X": ("u64", bits(x))}, outputs)
    for source in [*floats, *ints]:
        d = DTYPES[source]
        rng = np.random.default_rng(7)
        if d.is_float:
            v = rng.uniform(-1, 1, 200) * 2.0 ** rng.uniform(-3, 70, 200)
            edge = [0.0, -0.0, 0.5, 0.999, 1.0, -1.0, 2.0**63, 2.0**64, 2.0**64 - 2048, 1e30, -1e30, np.inf, -np.inf, np.nan, 255.5]
            v[:len(edge)] = edge
            v = quantize(v, source)
            y = np.array([0 if np.isnan(e) or e <= 0 else 2**64 - 1 if e >= 2.0**64 else int(e) for e in v], "u8")
        else:
            a, b = (0, 1) if source == "bool" else (-(1 << (d.bits - 1)) if d.signed else 0, (1 << (d.bits - d.signed)) - 1)
            v = rng.integers(a, b, 200, dtype="i8", endpoint=True)
            v[:2] = a, b
            y = v.astype("u8")
        p = program(f"unsigned/cast/{source}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{source}], Y: ts.Tensor["n", ts.u64]):
    for i in ts.tile.parallel(0, n, {TILE}):
        Y[i:i+{TILE}] = ts.tile.cast(X[i:i+{TILE}], ts.u64)
""")
        yield p.run({"n": 200}, {"X": (source, v)}, {"Y": want("u64", bits(y))})


def elsewhere():
    """Scalars, constants, lanes, atomics, indices and graph functions."""
    for dtype, kind in UNSIGNED.items():
        high = (1 << DTYPES[dtype].bits) - 1
        x = values(dtype, 200, 9)
        p = program(f"unsigned/lanes/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], Y: ts.Tensor["n", ts.{dtype}], B: ts.Tensor["n", ts.bool], C: ts.Tensor[4, ts.{dtype}], s: ts.{dtype}):
    i = ts.tile.linear_id()
    if i < n:
        Y[i] = (X[i] // 3 + s) ^ (X[i] >> 1)
        B[i] = X[i] > s
        if i == 0:
            C[0] = -ts.{dtype}(1)
            C[1] = (-ts.{dtype}(1)) // 2
            C[2] = (-ts.{dtype}(1)) >> 3
            C[3] = ts.tile.maximum(-ts.{dtype}(1), ts.{dtype}(1))
""")
        for s in (0, 1, high // 2 + 1) if dtype != "u64" else (0, 1, 2**62):
            with np.errstate(all="ignore"):
                y = (x // kind(3) + kind(s)) ^ (x >> kind(1))
            p.run({"n": 200}, {"X": (dtype, bits(x))},
                  {"Y": want(dtype, bits(y)), "B": want("bool", (x > kind(s)).astype("i8")),
                   "C": want(dtype, bits(np.array([high, high // 2, high >> 3, high], "u8")))}, {"s": s})
        yield p
        at = np.random.default_rng(3).integers(0, 60, 40).astype("u8")
        p = program(f"unsigned/index/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor[50, ts.f32], at: ts.Tensor[40, ts.{dtype}], Y: ts.Tensor[40, ts.f32]):
    Y[0:40] = X[ts.tile.cast(at[0:40], ts.i64)]
""")
        data = np.arange(50.0)
        yield p.run({}, {"X": ("f32", data), "at": (dtype, bits(at))},
                    {"Y": want("f32", np.where(at < 50, data[np.minimum(at, 49).astype("i8")], -1), initial=np.full(40, -1.0))})
        y = values(dtype, 200, 4)[::-1].copy()
        p = program(f"unsigned/graph/{dtype}", f"""@ts.jit
def k(x: ts.Tensor["n", ts.{dtype}], y: ts.Tensor["n", ts.{dtype}]):
    return ts.minimum(x, y) + x // 5, ts.max(x), ts.min(y), x < y, ts.cast(x, ts.f64), ts.cumsum(x), ts.cumprod(y | 1), ts.sign(x.astype(ts.i64))
""")
        sums = "i32" if dtype == "u16" else dtype  # of narrow integers
        wide = np.dtype("i4") if dtype == "u16" else kind
        with np.errstate(all="ignore"):
            yield p.run({"n": 200}, {"x": (dtype, bits(x)), "y": (dtype, bits(y))},
                        {"result0": want(dtype, bits(np.minimum(x, y) + x // kind(5))), "result1": want(dtype, bits(x.max())), "result2": want(dtype, bits(y.min())),
                         "result3": want("bool", (x < y).astype("i8")), "result4": want("f64", x.astype("f8")),
                         "result5": want(sums, bits(np.cumsum(x.astype(wide), dtype=wide))),
                         "result6": want(sums, bits(np.cumprod((y | 1).astype(wide), dtype=wide))),
                         "result7": want("i64", np.sign(x.astype("i8")))})
    for dtype in ("u32", "u64"):
        x = values(dtype, 300, 11)
        p = program(f"unsigned/atomics/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], A: ts.Tensor[3, ts.{dtype}]):
    i = ts.tile.linear_id()
    if i < n:
        ts.tile.atomic_max(A, 0, X[i])
        ts.tile.atomic_min(A, 1, X[i])
        ts.tile.atomic_add(A, 2, X[i])
""")
        first = np.array([5, 2**31, 0], "u8")
        total = np.array([int(x.astype(object).sum()) & ((1 << DTYPES[dtype].bits) - 1)], "u8")
        yield p.run({"n": 300}, {"X": (dtype, bits(x))},
                    {"A": want(dtype, bits(np.array([max(5, int(x.max())), min(2**31, int(x.min())), int(total[0])], "u8")), initial=bits(first))})


def programs():
    yield from arithmetic()
    yield from reductions()
    yield from casts()
    yield from elsewhere()
