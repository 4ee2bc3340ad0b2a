"""Where programs run: the three forms of grid, implicit iterators, implicit batch, lanes, results."""
import numpy as np

from cases import program, want
from dtypes import random


def grids():
    p = program("grid/parallel-1d", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 32):
        Z[i:i+32] = X[i:i+32]
""")
    for n in (0, 1, 31, 32, 33, 1000):
        x = random("f32", (n,), 1)
        p.run({"n": n}, {"X": ("f32", x)}, {"Z": want("f32", x)})
    yield p

    p = program("grid/parallel-3d", """@ts.kernel
def k(X: ts.Tensor["B", "M", "N", ts.f32], Z: ts.Tensor["B", "M", "N", ts.f32]):
    for b in ts.tile.parallel(0, B, 2):
        for m in ts.tile.parallel(0, M, 4):
            for n in ts.tile.parallel(0, N, 8):
                Z[b:b+2, m:m+4, n:n+8] = X[b:b+2, m:m+4, n:n+8] * 3.0
""")
    for shape in ((3, 5, 9), (1, 1, 1), (2, 4, 8), (0, 4, 8)):
        x = random("f32", shape, 2)
        p.run(dict(zip("BMN", shape)), {"X": ("f32", x)}, {"Z": want("f32", 3 * x)})
    yield p

    p = program("grid/offset", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor["n", ts.f32], start: ts.i32):
    for i in ts.tile.parallel(start, n, 16):
        Z[i:i+16] = X[i:i+16] + 1.0
""")
    x = random("f32", (100,), 3)
    for start in (0, 5, 99, 100, 120):
        values = np.zeros(100)
        values[start:] = x[start:] + 1
        p.run({"n": 100}, {"X": ("f32", x)}, {"Z": want("f32", values, initial=np.zeros(100))}, {"start": start})
    yield p

    p = program("grid/explicit", """@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], Z: ts.Tensor["M", "N", ts.f32]):
    i, j = ts.tile.grid(ts.cdiv(M, 8), ts.cdiv(N, 16))
    Z[i*8:i*8+8, j*16:j*16+16] = X[i*8:i*8+8, j*16:j*16+16]
""")
    for m, n in ((8, 16), (9, 17), (1, 50)):
        x = random("f32", (m, n), 4)
        p.run({"M": m, "N": n}, {"X": ("f32", x)}, {"Z": want("f32", x)})
    yield p

    p = program("grid/one-program", """@ts.kernel
def k(Z: ts.Tensor[4, ts.f32]):
    Z[0:4] = ts.tile.full((4,), 2.5, ts.f32)
""")
    yield p.run({}, {}, {"Z": want("f32", np.full(4, 2.5))})


def iterators():
    p = program("iterator/elementwise", """@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], Z: ts.Tensor["M", "N", ts.f32]):
    Z[tile_m:tile_m+8, tile_n:tile_n+16] = X[tile_m:tile_m+8, tile_n:tile_n+16] - 1.0
""")
    for m, n in ((8, 16), (13, 40), (1, 1), (0, 3)):
        x = random("f32", (m, n), 1)
        p.run({"M": m, "N": n}, {"X": ("f32", x)}, {"Z": want("f32", x - 1, ulps=0.5)})
    yield p

    p = program("iterator/row-sums", """@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], Z: ts.Tensor["M", ts.f32]):
    Z[tile_m:tile_m+8] += ts.tile.row_sum(X[tile_m:tile_m+8, tile_n:tile_n+16])
""")
    for m, n in ((8, 16), (13, 40), (3, 1)):
        x, z = random("f32", (m, n), 2), random("f32", (m,), 3)
        p.run({"M": m, "N": n}, {"X": ("f32", x)}, {"Z": want("f32", z + x.sum(1), rtol=1e-5, atol=1e-5, initial=z)})
    yield p

    for op, function, worst in (("argmax", np.argmax, -np.inf), ("argmin", np.argmin, np.inf)):
        for dtype in ("f32", "bf16", "f64", "i32", "u8"):
            p = program(f"iterator/{op}/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], P: ts.Tensor["M", ts.i32], Q: ts.Tensor["M", ts.i32]):
    x = X[tile_m:tile_m+4, tile_n:tile_n+8]
    P[tile_m:tile_m+4] = ts.tile.{op}(x, axis=1)
    Q[tile_m:tile_m+4] = ts.tile.{op}(x, axis=1) * 2 + 1
""")
            # A scalar total, of a row.
            q = program(f"iterator/{op}-of-row/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["N", ts.{dtype}], P: ts.Tensor[1, ts.i32]):
    P[0] = ts.tile.{op}(X[tile_n:tile_n+8])
""")
            for m, n in ((4, 8), (5, 37), (3, 1), (9, 64)):
                x = random(dtype, (m, n), n)
                if dtype not in ("i32", "u8"):
                    x[0, n // 2:] = x[0].max() if op == "argmax" else x[0].min()  # ties across tiles
                    x[1, :] = worst                                              # nothing is better than the start
                    x[2, n // 3:] = np.nan                                       # the first NaN wins
                    if m > 4:
                        x[3, 10:] = -worst
                        x[4] = np.where(np.arange(n) % 3, -0.0, 0.0)             # equal
                else:
                    x[0] = x[0] // 16
                at = function(x, axis=1)
                p.run({"M": m, "N": n}, {"X": (dtype, x)}, {"P": want("i32", at), "Q": want("i32", 2 * at + 1)})
                for row in range(min(m, 3)):
                    q.run({"N": n}, {"X": (dtype, x[row])}, {"P": want("i32", at[row:row+1])})
            yield p
            yield q

    p = program("iterator/after-the-loop", """@ts.kernel
def k(A: ts.Tensor["M", "K", ts.f32], B: ts.Tensor["K", "N", ts.f32], Z: ts.Tensor["M", "N", ts.f32]):
    acc = ts.tile.mma(A[tile_m:tile_m+8, tile_k:tile_k+4], B[tile_k:tile_k+4, tile_n:tile_n+8])
    scaled = acc * 2.0 + 1.0
    Z[tile_m:tile_m+8, tile_n:tile_n+8] = scaled
""")
    for m, k, n in ((9, 10, 11), (8, 4, 8), (1, 1, 1)):
        a, b = random("f32", (m, k), 4), random("f32", (k, n), 5)
        p.run({"M": m, "K": k, "N": n}, {"A": ("f32", a), "B": ("f32", b)}, {"Z": want("f32", 2 * (a @ b) + 1, rtol=1e-5, atol=1e-5)})
    yield p


def batches():
    p = program("batch/one", """@ts.kernel
def k(X: ts.Tensor["B", "M", ts.f32], Z: ts.Tensor["B", "M", ts.f32]):
    for m in ts.tile.parallel(0, M, 16):
        Z[m:m+16] = X[m:m+16] * 2.0
""")
    for b, m in ((1, 16), (3, 20), (5, 1), (0, 3)):
        x = random("f32", (b, m), 1)
        p.run({"B": b, "M": m}, {"X": ("f32", x)}, {"Z": want("f32", 2 * x)})
    yield p

    p = program("batch/two-with-product", """@ts.kernel
def k(X: ts.Tensor["B", "H", "M", "N", ts.f32], Z: ts.Tensor["B", "H", "N", "M", ts.f32]):
    for m in ts.tile.parallel(0, M, 8):
        for n in ts.tile.parallel(0, N, 8):
            Z[n:n+8, m:m+8] = X[m:m+8, n:n+8].T
""")
    for shape in ((2, 3, 9, 10), (1, 1, 1, 1)):
        x = random("f32", shape, 2)
        p.run(dict(zip("BHMN", shape)), {"X": ("f32", x)}, {"Z": want("f32", x.swapaxes(2, 3))})
    yield p


def lanes():
    p = program("lanes/guard", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor["n", ts.f32], alpha: ts.f32):
    i = ts.tile.linear_id()
    if i < n:
        Z[i] = alpha * X[i]
""")
    for n in (0, 1, 15, 16, 17, 4095, 4096, 4097, 100000):
        x = random("f32", (n,), 1)
        p.run({"n": n}, {"X": ("f32", x)}, {"Z": want("f32", 1.5 * x)}, {"alpha": 1.5})
    yield p

    p = program("lanes/no-guard", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor["n", ts.f32]):
    i = ts.tile.linear_id()
    Z[i] = X[i] + 1.0
""")
    for n in (0, 1, 5000):
        x = random("f32", (n,), 2)
        p.run({"n": n}, {"X": ("f32", x)}, {"Z": want("f32", x + 1)})
    yield p

    p = program("lanes/part-of-the-tensor", """@ts.kernel
def k(Z: ts.Tensor["n", ts.i32]):
    i = ts.tile.linear_id()
    if i < n // 2:
        Z[2 * i] = 7
""")
    for n in (1, 2, 99):
        values = np.zeros(n)
        values[0:2 * (n // 2):2] = 7
        p.run({"n": n}, {}, {"Z": want("i32", values, initial=np.zeros(n))})
    yield p


def results():
    p = program("result/tile", """@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32]) -> ts.Tensor["M", ts.f32]:
    for m in ts.tile.parallel(0, M, 8):
        return ts.tile.row_max(X[m:m+8, 0:32])
""")
    x = random("f32", (21, 30), 1)
    yield p.run({"M": 21, "N": 30}, {"X": ("f32", x)}, {"result": want("f32", x.max(1))})


def products():
    p = program("dims/product", """@ts.kernel
def k(X: ts.Tensor["B*H", "M", ts.f32], Z: ts.Tensor["B*H", "M", ts.f32]):
    for m in ts.tile.parallel(0, M, 16):
        Z[m:m+16] = X[m:m+16] + 1.0
""")
    x = random("f32", (6, 20), 1)
    yield p.run({"B*H": 6, "M": 20}, {"X": ("f32", x)}, {"Z": want("f32", x + 1)})


def lane_domains():
    """Every lane that writes runs, whatever the guards look like."""
    x = random("f32", (40,), 9)
    head = """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Y: ts.Tensor["n", ts.f32]):
    i = ts.tile.linear_id()
"""
    lanes = np.arange(40)
    cases = {
        "else": ("    if i < 4:\n        Y[i] = 5.0\n    else:\n        Y[i] = X[i]\n", np.where(lanes < 4, 5, x)),
        "elif": ("    if i < n // 2:\n        Y[i] = 5.0\n    elif i < n:\n        Y[i] = X[i]\n", np.where(lanes < 20, 5, x)),
        "beside": ("    Y[i] = X[i]\n    if i < 4:\n        Y[i] = 5.0\n", np.where(lanes < 4, 5, x)),
        "guard": ("    if i < n - 10:\n        Y[i] = X[i]\n", np.where(lanes < 30, x, 0)),
    }
    for name, (body, expected) in cases.items():
        yield program(f"lanes/domain/{name}", head + body).run({"n": 40}, {"X": ("f32", x)}, {"Y": want("f32", expected, initial=np.zeros(40))})


def defaults():
    """A scalar that a launch leaves out has its default, bit by bit."""
    top = (1 << 63) - 1
    for dtype, values in (("i64", (0, -1, 100000, (1 << 53) + 1, -(1 << 53) - 1, top - 1, top, -top)), ("i32", ((1 << 31) - 1, -(1 << 31))), ("i8", (-128,)),
                          ("u8", (255,)), ("bool", (True, False)), ("f32", (0.1, -1e30, 3)), ("f64", (0.1, 1e300, -5e-324))):
        for value in values:
            yield program(f"default/{dtype}/{value}", f"""@ts.kernel
def k(Z: ts.Tensor[1, ts.{dtype}], x: ts.{dtype} = {value}):
    Z[0] = x
""").run({}, {}, {"Z": want(dtype, np.array([value], {"i": "i8", "u": "i8", "b": "i8", "f": "f8"}[dtype[0]]))})


def programs():
    yield from grids()
    yield from iterators()
    yield from batches()
    yield from lanes()
    yield from results()
    yield from products()
    yield from lane_domains()
    yield from defaults()
