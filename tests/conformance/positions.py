"""Comparisons of positions: a scalar of 64 bits plus what stays small within a tile, against bounds of any i64.

The comparison holds for every value, sums that wrap past either end of i64 included."""
import numpy as np

from cases import program, want
from dtypes import limits, random

PREDICATES = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal}
LOW, HIGH = limits("i64")
ENDS = [0, 1, -1, -40, 2**31 - 5, -(2**31) - 5, 2**32 - 3, 2**40 + 5, HIGH, HIGH - 30, HIGH - 200, LOW, LOW + 30, LOW + 200]


def i64(v):
    """An exact integer as the i64 that its low bits are."""
    return np.array((int(v) + 2**63) % 2**64 - 2**63, "i8")


def pairs(span):
    """Bounds beside the first and the last position, in the middle, and far away."""
    for first in ENDS:
        for bound in {int(i64(first + d)) for d in (-1, 0, 1, span // 2, span - 1, span, 2**32 + 3, 2**63)} | {0, LOW, HIGH, HIGH - 7, LOW + 7}:
            yield first, bound


# name -> (position, its value of the scalar s, a tile r of 0 to 63, and the loaded tile t; the least and greatest value added to s)
LANES = {
    "arange": ("s + ts.tile.arange(64)", lambda s, r, t: s + r),
    "reversed": ("s - ts.tile.arange(64)", lambda s, r, t: s - r),
    "from": ("ts.tile.arange(-20, 44) + s + 3", lambda s, r, t: s + r - 17),
    "scaled": ("(ts.tile.arange(64) * 5 - 7) * 3 + s", lambda s, r, t: s + 15 * r - 21),
    "scaled-sum": ("(s + ts.tile.arange(64)) * 3", lambda s, r, t: 3 * s + 3 * r),
    "divided": ("s + ts.tile.arange(64) // 8", lambda s, r, t: s + r // 8),
    "twice": ("s + ts.tile.arange(64) + 2 * s - ts.tile.arange(64) // 2", lambda s, r, t: 3 * s + r - r // 2),
    "alone": ("ts.i64(0) + ts.tile.arange(64)", lambda s, r, t: 0 * s + r),
    "i8": ("s + T[0:64]", lambda s, r, t: s + t["i8"]),
    "u8": ("s - ts.tile.cast(U[0:64], ts.i64)", lambda s, r, t: s - t["u8"]),
    "i16": ("s + ts.tile.arange(64) - V[0:64] - V[0:64]", lambda s, r, t: s + r - 2 * t["i16"]),
    "i32": ("s + W[0:64]", lambda s, r, t: s + t["i32"]),
}


def along_one_axis():
    tiles = {d: random(d, (64,), 3) for d in ("i8", "u8", "i16", "i32")}
    r = np.arange(64, dtype="i8")
    for name, (position, value) in LANES.items():
        rows = "".join(f"""    L[{2 * i}, 0:64] = {position} {symbol} n
    L[{2 * i + 1}, 0:64] = n {symbol} {position}
""" for i, symbol in enumerate(PREDICATES))
        p = program(f"positions/line/{name}", f"""@ts.kernel
def k(T: ts.Tensor[64, ts.i8], U: ts.Tensor[64, ts.u8], V: ts.Tensor[64, ts.i16], W: ts.Tensor[64, ts.i32], B: ts.Tensor[2, ts.i64],
      L: ts.Tensor[12, 64, ts.bool]):
    s = B[0]
    n = B[1]
{rows}""")
        for s, n in pairs(64):
            with np.errstate(over="ignore"):
                v = value(i64(s), r, tiles)
            expected = [c for compare in PREDICATES.values() for c in (compare(v, n), compare(n, v))]
            inputs = {name: (d, tiles[d]) for name, d in (("T", "i8"), ("U", "u8"), ("V", "i16"), ("W", "i32"))}
            p.run({}, inputs | {"B": ("i64", np.array([s, n]))}, {"L": want("bool", np.array(expected))})
        yield p


# name -> (left, right, their values for scalars a and b, a column i, a row j, and a loaded column)
PLANES = {
    "causal": ("a + I", "b + J", lambda a, b, i, j, c: (a + i, b + j)),
    "causal-reversed": ("b + J", "a + I", lambda a, b, i, j, c: (b + j, a + i)),
    "band": ("a + J - I", "b", lambda a, b, i, j, c: (a + j - i, b)),
    "linear": ("(a + I) * 37 + J", "b", lambda a, b, i, j, c: (37 * (a + i) + j, b)),
    "linear-scalar": ("(a + I) * b + J", "b", lambda a, b, i, j, c: ((a + i) * b + j, b + 0 * i)),
    "lengths": ("a + J", "C[0:16][:, None]", lambda a, b, i, j, c: (a + j, c)),
    "starts": ("C[0:16][:, None] + J", "b", lambda a, b, i, j, c: (c + j, b)),
    "starts-and-ends": ("C[0:16][:, None] + J", "C[0:16][:, None] + b", lambda a, b, i, j, c: (c + j, c + b)),
}


def along_two_axes():
    i, j = np.arange(16, dtype="i8")[:, None], np.arange(32, dtype="i8")[None, :]
    columns = np.array([0, 5, -3, 33, HIGH, HIGH - 5, LOW, LOW + 9, 2**31, -(2**31), 2**32 + 1, 2**40, -(2**62), 16, 31, 32], "i8")
    for name, (left, right, value) in PLANES.items():
        rows = "".join(f"    L[{n}, :, :] = x {symbol} y\n" for n, symbol in enumerate(PREDICATES))
        p = program(f"positions/plane/{name}", f"""@ts.kernel
def k(C: ts.Tensor[16, ts.i64], B: ts.Tensor[2, ts.i64], L: ts.Tensor[6, 16, 32, ts.bool]):
    a = B[0]
    b = B[1]
    I = ts.tile.arange(16)[:, None]
    J = ts.tile.arange(32)[None, :]
    x = {left}
    y = {right}
{rows}""")
        for a, b in pairs(32):
            with np.errstate(over="ignore"):
                x, y = (np.broadcast_to(v, (16, 32)) for v in value(i64(a), i64(b), i, j, columns[:, None]))
            p.run({}, {"C": ("i64", columns), "B": ("i64", np.array([a, b]))},
                  {"L": want("bool", np.array([c(x, y) for c in PREDICATES.values()]))})
        yield p


def causal_masks():
    """Of every first query and key, and of an unsigned one: hidden where the key comes after the query, as integers."""
    for dtype in ("i64", "i32", "u8"):
        p = program(f"positions/causal-mask/{dtype}", f"""@ts.kernel
def k(B: ts.Tensor[2, ts.{dtype}], S: ts.Tensor[16, 32, ts.f32], Y: ts.Tensor[16, 32, ts.f32]):
    Y[:, :] = ts.tile.causal_mask(S[:, :], B[0], B[1])
""")
        low, high = limits(dtype)
        scores = random("f32", (16, 32), 5)
        for q, k in pairs(32):
            if low <= q <= high and low <= k <= high:
                hidden = [[k + j > q + i for j in range(32)] for i in range(16)]
                p.run({}, {"B": (dtype, np.array([q, k])), "S": ("f32", scores)}, {"Y": want("f32", np.where(hidden, -np.inf, scores))})
        for q, k in ((200, 210), (130, 120), (250, 3), (3, 250)):
            hidden = [[k + j > q + i for j in range(32)] for i in range(16)]
            p.run({}, {"B": (dtype, np.array([q, k])), "S": ("f32", scores)}, {"Y": want("f32", np.where(hidden, -np.inf, scores))})
        yield p


def programs():
    yield from causal_masks()
    yield from along_one_axis()
    yield from along_two_axes()
