"""Making and reshaping tiles: broadcasts, transposes, concat, reshape, arange, new axes, integer indices."""
import numpy as np

from cases import program, want
from dtypes import quantize, random

DTYPES_TRIED = ["f64", "f32", "f16", "bf16", "fp8_e4m3", "i64", "i32", "i8", "u8", "bool"]

# name -> (tile expression over x (8x16), result shape, reference). The tile covers the whole tensor.
EXPRESSIONS = {
    "transpose": ("x.T", (16, 8), lambda x: x.T),
    "transpose-twice": ("x.T.T", (8, 16), lambda x: x),
    "reshape": ("ts.tile.reshape(x, (4, 32))", (4, 32), lambda x: x.reshape(4, 32)),
    "reshape-flat": ("ts.tile.reshape(x, (128,))", (128,), lambda x: x.ravel()),
    "concat0": ("ts.tile.concat((x, x), axis=0)", (16, 16), lambda x: np.concatenate([x, x], 0)),
    "concat1": ("ts.tile.concat((x, x), axis=1)", (8, 32), lambda x: np.concatenate([x, x], 1)),
    "permute": ("ts.tile.permute(ts.tile.reshape(x, (2, 4, 16)), (1, 0, 2))", (4, 2, 16), lambda x: x.reshape(2, 4, 16).transpose(1, 0, 2)),
    "permute-reverse": ("ts.tile.transpose(ts.tile.reshape(x, (2, 4, 4, 4)), (3, 2, 1, 0))", (4, 4, 4, 2),
                        lambda x: x.reshape(2, 4, 4, 4).transpose(3, 2, 1, 0)),
    "join": ("ts.tile.join(x, x.T.T)", (8, 16, 2), lambda x: np.stack([x, x], 2)),
    "interleave": ("ts.tile.interleave(x[:, 0:8], x[:, 8:])", (8, 16), lambda x: np.stack([x[:, :8], x[:, 8:]], 2).reshape(8, 16)),
    "split": ("ts.tile.concat(ts.tile.split(x, 4, axis=-1), axis=0)", (32, 4), lambda x: np.concatenate(np.split(x, 4, 1), 0)),
    "split-pairs": ("ts.tile.split(ts.tile.reshape(x, (8, 8, 2)))[1]", (8, 8), lambda x: x[:, 1::2]),
    "reshape-transpose": ("ts.tile.reshape(x.T, (8, 16))", (8, 16), lambda x: x.T.reshape(8, 16)),
}


def index(shape):
    return ", ".join(f"0:{n}" for n in shape)


def rearranging():
    for dtype in DTYPES_TRIED:
        for name, (expression, shape, reference) in EXPRESSIONS.items():
            dims = ", ".join(map(str, shape))
            p = program(f"shape/{name}/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor[8, 16, ts.{dtype}], Z: ts.Tensor[{dims}, ts.{dtype}]):
    x = X[0:8, 0:16]
    Z[{index(shape)}] = {expression}
""")
            x = random(dtype, (8, 16), 1)
            yield p.run({}, {"X": (dtype, x)}, {"Z": want(dtype, reference(x))})


# name -> (part, value): `x[part] = value` of a tile of 4x8
PARTS = {
    "element": ("2, -1", "x[0, 0]"), "row": ("3", "x[0]"), "column": (":, 1", "x[:, 0]"), "columns": (":, 4:", "x[:, 0:1]"),
    "block": ("2:4, 3:6", "x[0:2, 0:3]"), "rows": ("1:3", "x[0]"), "stripe": ("0, 2:5", "x[1, 3:6]"), "all": (":, :", "x[:, :]"),
    "grown": ("1, 2", "x[1, 2] + x[0, 0]"),
}


def parts():
    for dtype in ("f32", "f16", "i32", "i8", "bool"):
        for name, (part, value) in PARTS.items():
            if dtype == "bool" and "+" in value:
                continue
            p = program(f"shape/part-{name}/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], Y: ts.Tensor["M", "N", ts.{dtype}], Z: ts.Tensor["M", "N", ts.{dtype}]):
    x = X[0:4, 0:8]
    y = x
    y[{part}] = {value}
    Y[0:4, 0:8] = x
    Z[0:4, 0:8] = y
""")
            for m, n in ((4, 8), (4, 7), (3, 8)):
                x = np.pad(random(dtype, (m, n), 1), ((0, 4 - m), (0, 8 - n)))
                y = x.copy()
                exec(f"y[{part}] = {value}", {"x": x, "y": y})
                x, y = x[:m, :n], quantize(y[:m, :n], dtype)
                p.run({"M": m, "N": n}, {"X": (dtype, x)}, {"Y": want(dtype, x), "Z": want(dtype, y)})
            yield p


def broadcasting():
    for name, expression, reference in (
            ("column", "x + r[:, None]", lambda x, r, c: x + r[:, None]),
            ("row", "x + c[None, :]", lambda x, r, c: x + c[None, :]),
            ("implicit-row", "x * c", lambda x, r, c: x * c),
            ("outer", "r[:, None] * c[None, :] + 0.0 * x", lambda x, r, c: r[:, None] * c[None, :]),
            ("explicit", "ts.tile.broadcast(r[:, None], (8, 16)) + x", lambda x, r, c: r[:, None] + x),
            ("scalar", "x * alpha", lambda x, r, c: x * 1.5),
            ("compare", "ts.tile.where(r[:, None] < c[None, :], x, alpha)", lambda x, r, c: np.where(r[:, None] < c, x, 1.5)),
    ):
        p = program(f"broadcast/{name}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], R: ts.Tensor["M", ts.f32], C: ts.Tensor["N", ts.f32], Z: ts.Tensor["M", "N", ts.f32], alpha: ts.f32 = 1.5):
    for m in ts.tile.parallel(0, M, 8):
        for n in ts.tile.parallel(0, N, 16):
            x = X[m:m+8, n:n+16]
            r = R[m:m+8]
            c = C[n:n+16]
            Z[m:m+8, n:n+16] = {expression}
""")
        for m, n in ((8, 16), (13, 21), (1, 1), (0, 3)):
            x, r, c = random("f32", (m, n), 1), random("f32", (m,), 2), random("f32", (n,), 3)
            p.run({"M": m, "N": n}, {"X": ("f32", x), "R": ("f32", r), "C": ("f32", c)}, {"Z": want("f32", reference(x, r, c), ulps=0.5, atol=2.0**-24)})
        yield p


def making():
    p = program("make/arange", """@ts.kernel
def k(Z: ts.Tensor["n", ts.i64]):
    for i in ts.tile.parallel(0, n, 16):
        Z[i:i+16] = i + ts.tile.arange(16)
""")
    for n in (1, 16, 45):
        p.run({"n": n}, {}, {"Z": want("i64", np.arange(n))})
    yield p
    for dtype, value, number in (("f32", "-float('inf')", -np.inf), ("f64", "math.pi", np.pi), ("i32", "-7", -7), ("bf16", "1.5", 1.5),
                                 ("bool", "True", 1), ("u8", "200", 200), ("i64", "1099511627776", 1 << 40), ("fp8_e4m3", "0.5", 0.5)):
        p = program(f"make/full/{dtype}", f"""@ts.kernel
def k(Z: ts.Tensor["n", ts.{dtype}]):
    for i in ts.tile.parallel(0, n, 16):
        Z[i:i+16] = ts.tile.full((16,), {value}, ts.{dtype})
""")
        yield p.run({"n": 21}, {}, {"Z": want(dtype, np.full(21, number))})
    p = program("make/constants", """SCALE = 0.25
SHAPE = (4, 8)

def bump(v, by=1.0):
    return v + by

@ts.kernel
def k(Z: ts.Tensor[4, 8, ts.f32]):
    z = ts.tile.zeros(SHAPE, ts.f32)
    Z[0:4, 0:8] = bump(bump(z), by=SCALE)
""")
    yield p.run({}, {}, {"Z": want("f32", np.full((4, 8), 1.25))})


def integer_indices():
    p = program("index/row-of-3d", """@ts.kernel
def k(X: ts.Tensor["B", "M", "N", ts.f32], Z: ts.Tensor["B", "N", "M", ts.f32]):
    b, m = ts.tile.grid(B, ts.cdiv(M, 8))
    for n in ts.tile.range(0, N, 8):
        Z[b, n:n+8, m*8:m*8+8] = X[b, m*8:m*8+8, n:n+8].T
""")
    for b, m, n in ((3, 9, 17), (1, 8, 8), (2, 1, 1)):
        x = random("f32", (b, m, n), 1)
        p.run({"B": b, "M": m, "N": n}, {"X": ("f32", x)}, {"Z": want("f32", x.transpose(0, 2, 1))})
    yield p
    p = program("index/whole-dims", """@ts.kernel
def k(X: ts.Tensor["M", "D", ts.f32], Z: ts.Tensor["M", "D", ts.f32]):
    for m in ts.tile.parallel(0, M, 4):
        Z[m:m+4, :] = X[m:m+4, :] * 2.0
""")
    p.dims = {"D": 24}
    yield p.run({"M": 7, "D": 24}, {"X": ("f32", random("f32", (7, 24), 2))}, {"Z": want("f32", 2 * random("f32", (7, 24), 2))})
    # What lies before the tensor is absent as well: nothing is stored there.
    p = program("index/shifted", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 16):
        Z[i:i+16] = X[i-3:i+13] + 1.0
""")
    for n in (1, 2, 3, 16, 40):
        x = random("f32", (n,), 3)
        p.run({"n": n}, {"X": ("f32", x)}, 
              {"Z": want("f32", np.concatenate([np.full(min(3, n), 7), x[: max(0, n - 3)] + 1]), initial=np.full(n, 7))})
    yield p


def row_ends():
    """Rows that end in a vector, in each number of elements a vector can have left: what is next to them stays."""
    for dtype in DTYPES_TRIED:
        p = program(f"row-ends/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], Z: ts.Tensor["M", "W", ts.{dtype}]):
    for m in ts.tile.parallel(0, M, 4):
        Z[m:m+4, 1:65] = X[m:m+4, 0:64]
""")
        for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 17, 23, 31, 32, 33, 47, 61, 63, 64):
            for m in (1, 5):
                # The store ends where X or Z does.
                for w in {n + 1, 40}:
                    x, z = random(dtype, (m, n), 1), random(dtype, (m, w), 2)
                    result, count = z.copy(), min(n, w - 1)
                    result[:, 1:1 + count] = x[:, :count]
                    p.run({"M": m, "N": n, "W": w}, {"X": (dtype, x)}, {"Z": want(dtype, result, initial=z)})
        yield p


def slices():
    """Parts of tiles: of what is read, computed, reduced and multiplied; ragged; several parts of one; elements."""
    tiles = {"read": ("x", lambda x: x), "computed": ("x * 2.0 + 1.0", lambda x: 2 * x + 1),
             "turned": ("ts.tile.transpose(ts.tile.transpose(x))", lambda x: x), "scanned": ("ts.tile.cumsum(x, axis=1)", lambda x: np.cumsum(x, 1)),
             "product": ("ts.tile.mma(ts.tile.cast(x, ts.f32), ts.tile.full((24, 24), 1.0, ts.f32))", lambda x: np.repeat(x.sum(1, keepdims=True), 24, 1))}
    takes = {"columns": ("y[:, 8:16]", (slice(None), slice(8, 16))), "odd": ("y[1:4, 3:20]", (slice(1, 4), slice(3, 20))),
             "rows": ("y[2:]", (slice(2, None),)), "negative": ("y[-3:-1, -5:]", (slice(-3, -1), slice(-5, None))),
             "row": ("y[5]", (5,)), "column": ("y[:, 7]", (slice(None), 7)), "new": ("y[2, None, 4:12]", (2, None, slice(4, 12))),
             "all": ("y[:, :]", (slice(None), slice(None))), "nested": ("y[1:7, 4:20][2:4, 1:9]", (slice(3, 5), slice(5, 13)))}
    full = np.zeros((8, 24))
    for name, (tile, f) in tiles.items():
        for take, (index, at) in takes.items():
            shape = full[at].shape
            dims = ", ".join(map(str, shape))
            into = ", ".join(f"0:{n}" for n in shape)
            p = program(f"slice/{name}/{take}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], Z: ts.Tensor[{dims}, ts.f32], S: ts.Tensor[2, ts.f32]):
    x = X[0:8, 0:24]
    y = {tile}
    Z[{into}] = {index}
    S[0] = ts.tile.sum({index})
    S[1] = y[3, -2]
""")
            for m, n in ((8, 24), (5, 24), (8, 10), (3, 17), (0, 3)):
                x = np.round(random("f32", (m, n), 1, -9, 9))
                whole, here = np.zeros((8, 24)), np.zeros((8, 24), bool)
                whole[:m, :n], here[:m, :n] = f(x)[:, :n], True
                if name == "product":  # the contracted axis is neutral, and no column of the other factor is masked
                    whole[:m], here[:m] = np.repeat(x.sum(1, keepdims=True), 24, 1), True
                want_z = np.where(here[at], whole[at], 77.0)
                p.run({"M": m, "N": n}, {"X": ("f32", x)},
                      {"Z": want("f32", want_z, initial=np.full(shape, 77.0)), "S": want("f32", [whole[at][here[at]].sum(), whole[3, -2]])})
            yield p
    for dtype in ("f64", "f16", "bf16", "fp8_e4m3", "i64", "i8", "u8", "bool"):
        p = program(f"slice/dtype/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor[4, 16, ts.{dtype}], Z: ts.Tensor[4, 8, ts.{dtype}], E: ts.Tensor[3, ts.{dtype}]):
    x = X[0:4, 0:16]
    for i in ts.static_range(2):
        Z[2*i:2*i+2, 0:8] = x[2*i:2*i+2, 4:12]
    E[0] = x[0, 0]
    E[1] = x[3, 15]
    E[2] = x[1, 5]
""")
        x = random(dtype, (4, 16), 3) if dtype != "bool" else np.arange(64).reshape(4, 16) % 3 % 2
        yield p.run({}, {"X": (dtype, x)}, {"Z": want(dtype, x[:, 4:12]), "E": want(dtype, [x[0, 0], x[3, 15], x[1, 5]])})
    p = program("slice/parts", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor["n", ts.f32], Y: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 64):
        x = X[i:i+64]
        lo, hi = x[0:32], x[32:64]
        Z[i:i+32] = lo - hi
        Z[i+32:i+64] = lo + hi
        acc = ts.tile.zeros((64,), ts.f32)
        for j in range(3):
            acc = acc + ts.tile.concat((x[32:64], x[0:32]))
            x = ts.tile.concat((x[16:64], x[0:16]))
        Y[i:i+64] = acc
""")
    for n in (64, 128):
        x = np.round(random("f32", (n,), 1, -9, 9)).reshape(-1, 64)
        z = np.concatenate([x[:, :32] - x[:, 32:], x[:, :32] + x[:, 32:]], 1)
        acc, turn = np.zeros_like(x), x
        for _ in range(3):
            acc, turn = acc + np.roll(turn, 32, 1), np.roll(turn, -16, 1)
        p.run({"n": n}, {"X": ("f32", x.ravel())}, {"Z": want("f32", z.ravel()), "Y": want("f32", acc.ravel())})
    yield p


def programs():
    yield from slices()
    yield from row_ends()
    yield from rearranging()
    yield from broadcasting()
    yield from making()
    yield from integer_indices()
    yield from parts()
