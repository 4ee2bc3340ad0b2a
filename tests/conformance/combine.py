"""associative_scan and reduce with functions of the program: on tiles and tuples, commutative or not, with masked elements
anywhere, which are absent."""
import numpy as np

from cases import program, want
from dtypes import random

HELPERS = """def add(a, b):
    return a + b

def larger(a, b):
    return ts.tile.maximum(a, b)

def last(a, b):
    return b

def affine(a, b):          # x -> a0 x + a1, then x -> b0 x + b1
    return a[0] * b[0], a[1] * b[0] + b[1]

def flat(a0, a1, b0, b1):
    return a0 * b0, a1 * b0 + b1

def best(v, i, w, j):      # the larger value, the lower position among equals
    take = (w > v) | ((w == v) & (j < i))
    return ts.tile.where(take, w, v), ts.tile.where(take, j, i)

"""
SIZES = [1, 2, 3, 7, 8, 31, 32, 33, 100]


def fold(f, items):
    """All prefixes, in order."""
    out = []
    for item in items:
        out.append(item if not out else f(out[-1], item))
    return out


PYTHON = {
    "add": lambda a, b: (a[0] + b[0],), "larger": lambda a, b: (max(a[0], b[0]),), "last": lambda a, b: b,
    "affine": lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]),
}


def one_tile():
    for dtype in ("f32", "f64", "i32", "i8", "bf16", "u16"):
        for name in ("add", "larger", "last"):
            for rows, columns in ((4, 32), (3, 21), (32, 4), (1, 1), (2, 100)):
                for axis in (0, 1):
                    p = program(f"combine/{name}/{dtype}/{rows}x{columns}/axis{axis}", HELPERS + f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], S: ts.Tensor["M", "N", ts.{dtype}], R: ts.Tensor["{'NM'[axis]}", ts.{dtype}]):
    x = X[0:{rows}, 0:{columns}]
    S[0:{rows}, 0:{columns}] = ts.tile.associative_scan(x, {axis}, {name})
    R[0:{(columns, rows)[axis]}] = ts.tile.reduce(x, axis={axis}, combine={name})
""")
                    for shape in {(rows, columns), (max(1, rows - 1), columns), (rows, max(1, columns - 3)), (1, 1)}:
                        # Small whole numbers, whose sums are exact in every dtype.
                        x = np.random.default_rng(len(shape) + rows).integers(0, 2 if columns > 50 or rows > 20 else 5, shape).astype("f8")
                        lines = np.moveaxis(x, axis, -1).reshape(-1, shape[axis])
                        scans = np.array([[v[0] for v in fold(PYTHON[name], [(e,) for e in line])] for line in lines])
                        other = shape[1 - axis]
                        scan = np.moveaxis(scans.reshape(other, shape[axis]), -1, axis)
                        integer = dtype[0] in "iu"
                        x, scan = (v.astype("i8") if integer else v for v in (x, scan))
                        p.run({"M": shape[0], "N": shape[1]}, {"X": (dtype, x)},
                              {"S": want(dtype, scan), "R": want(dtype, np.take(scan, -1, axis))})
                    yield p


def tuples():
    for name in ("affine", "flat"):
        for n in SIZES:
            p = program(f"combine/{name}/{n}", HELPERS + f"""@ts.kernel
def k(A: ts.Tensor["n", ts.i32], B: ts.Tensor["n", ts.i64], C: ts.Tensor["n", ts.i32], D: ts.Tensor["n", ts.i64], R: ts.Tensor[2, ts.i64]):
    a, b = A[0:{n}], B[0:{n}]
    c, d = ts.tile.associative_scan((ts.tile.cast(a, ts.i64), b), axis=0, combine={name})
    C[0:{n}] = ts.tile.cast(c, ts.i32)
    D[0:{n}] = d
    r = ts.tile.reduce((ts.tile.cast(a, ts.i64), b), 0, {name})
    R[0] = r[0]
    R[1] = r[1]
""")
            for size in {n, max(1, n - 1), max(1, n // 2)}:
                rng = np.random.default_rng(size)
                a, b = rng.choice([-1, 1, 1, 2] if size < 40 else [-1, 1], size), rng.integers(-9, 9, size)
                values = fold(PYTHON["affine"], list(zip(a.tolist(), b.tolist())))
                p.run({"n": size}, {"A": ("i32", a), "B": ("i64", b)},
                      {"C": want("i32", [v[0] for v in values]), "D": want("i64", [v[1] for v in values]), "R": want("i64", list(values[-1]))})
            yield p
    # argmax by hand
    for columns in (32, 37):
        p = program(f"combine/best/{columns}", HELPERS + f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], V: ts.Tensor["M", ts.f32], I: ts.Tensor["M", ts.i32]):
    for m in ts.tile.parallel(0, M, 8):
        x = X[m:m+8, 0:{columns}]
        v, i = ts.tile.reduce((x, ts.tile.broadcast(ts.tile.arange({columns}), (8, {columns}))), 1, best)
        V[m:m+8] = v
        I[m:m+8] = i
""")
        for shape in ((8, columns), (11, 20), (1, 1)):
            x = np.round(random("f32", shape, 4) * 2)
            p.run({"M": shape[0], "N": shape[1]}, {"X": ("f32", x)}, {"V": want("f32", x.max(1)), "I": want("i32", x.argmax(1))})
        yield p


def masked():
    """Where an element is masked the result is, and the others are combined as if it were not there."""
    p = program("combine/masked", HELPERS + """@ts.kernel
def k(X: ts.Tensor["n", ts.i32], s: ts.i64, S: ts.Tensor[32, ts.i32], F: ts.Tensor[32, ts.i32], R: ts.Tensor[1, ts.i32], L: ts.Tensor[1, 1, ts.i32]):
    x = X[s:s+32]
    kept = ts.tile.mask(x, x % 3 != 0)
    S[0:32] = ts.tile.associative_scan(x, 0, add)
    F[0:32] = ts.tile.associative_scan(kept, 0, add)
    R[0] = ts.tile.reduce(kept, 0, add)
    L[0:1, 0:1] = ts.tile.reduce(ts.tile.reshape(x, (1, 32)), 1, last, keepdims=True)
""")
    for n, s in ((40, 0), (20, 0), (20, -9), (20, 13), (3, -30), (9, 40)):
        x = np.random.default_rng(100 + n + s).integers(-9, 9, n)
        tile = [int(x[s + j]) if 0 <= s + j < n else None for j in range(32)]
        old = np.full(32, 77)
        scan, kept, total, some = old.copy(), old.copy(), 0, 0
        for j, v in enumerate(tile):
            if v is None:
                continue
            total += v
            scan[j] = total
            if v % 3:
                some += v
                kept[j] = some
        there = [v for v in tile if v is not None]
        p.run({"n": n}, {"X": ("i32", x)},
              {"S": want("i32", scan, initial=old), "F": want("i32", kept, initial=old),
               "R": want("i32", [some]), "L": want("i32", [[there[-1] if there else 5]], initial=np.array([[5]]))}, {"s": s})
    yield p


def programs():
    yield from one_tile()
    yield from tuples()
    yield from masked()
