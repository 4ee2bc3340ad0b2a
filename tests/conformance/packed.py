"""i4 and u4, two elements to a byte: casts of every pair of dtypes, and every way to read and write tensors, with rows of odd
and even length, so that elements of different rows and programs share bytes."""
import numpy as np

from cases import program, want
from casts import inputs
from dtypes import DTYPES, DType, cast, limits

DTYPES["i4"] = DType("i4", False, bits=4)
DTYPES["u4"] = DType("u4", False, bits=4, signed=False)
PACKED = ("i4", "u4")
SIZES = [(1, 1), (1, 2), (2, 1), (3, 3), (5, 16), (5, 17), (7, 63), (16, 64), (17, 65), (9, 129), (33, 31)]


def random(dtype, shape, seed):
    low, high = limits(dtype)
    return np.random.default_rng(seed).integers(low, high, shape, endpoint=True).astype("i8")


def casts():
    for source in DTYPES:
        targets = [t for t in DTYPES if t != source and (t in PACKED or source in PACKED)]
        parameters = ", ".join(f'Y{i}: ts.Tensor["n", ts.{t}]' for i, t in enumerate(targets))
        body = "".join(f"        Y{i}[i:i+64] = ts.tile.cast(x, ts.{t})\n" for i, t in enumerate(targets))
        p = program(f"packed/cast/{source}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{source}], {parameters}):
    for i in ts.tile.parallel(0, n, 64):
        x = X[i:i+64]
{body}""")
        x = random(source, (401,), 1) if source in PACKED else inputs(source)
        for n in (len(x), len(x) - 1, 37, 1, 0):
            p.run({"n": n}, {"X": (source, x[:n])},
                  {f"Y{i}": want(t, cast(x[:n], source, t)) for i, t in enumerate(targets)})
        yield p


def tiles():
    """Copies of tiles of several shapes, from and to any place."""
    for dtype in PACKED:
        for rows, columns in ((1, 1), (1, 2), (3, 5), (4, 16), (8, 32), (2, 64), (16, 7)):
            p = program(f"packed/copy/{dtype}/{rows}x{columns}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], Y: ts.Tensor["M", "N", ts.{dtype}], T: ts.Tensor["N", "M", ts.{dtype}], F: ts.Tensor["M", "N", ts.f32]):
    for m in ts.tile.parallel(0, M, {rows}):
        for n in ts.tile.parallel(0, N, {columns}):
            x = X[m:m+{rows}, n:n+{columns}]
            Y[m:m+{rows}, n:n+{columns}] = x
            {"T[n:n+%d, m:m+%d] = x.T" % (columns, rows)}
            F[m:m+{rows}, n:n+{columns}] = ts.tile.cast(x, ts.f32) * 0.5
""")
            for m, n in SIZES:
                x = random(dtype, (m, n), m * n)
                p.run({"M": m, "N": n}, {"X": (dtype, x)},
                      {"Y": want(dtype, x), "T": want(dtype, x.T), "F": want("f32", x * 0.5)})
            yield p


def shifted():
    """Reads and writes that begin before, after and inside their tensors; what they do not write stays."""
    for dtype in PACKED:
        p = program(f"packed/shifted/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], Y: ts.Tensor["M", "N", ts.{dtype}], d: ts.i64):
    for m in ts.tile.parallel(0, M, 2):
        for n in ts.tile.parallel(0, N, 32):
            Y[m:m+2, n-d:n-d+32] = X[m:m+2, n+d:n+d+32]
""")
        for m, n in SIZES:
            for d in (-33, -3, -2, -1, 0, 1, 2, 3, 31):
                x, y = random(dtype, (m, n), m * n), random(dtype, (m, n), 1)
                out = y.copy()
                for i in range(n):  # element i goes to i - 2 d
                    if 0 <= i - 2 * d < n:
                        reached = -d <= i - 2 * d < (n + 31) // 32 * 32 - d
                        if reached:
                            out[:, i - 2 * d] = x[:, i]
                p.run({"M": m, "N": n}, {"X": (dtype, x)}, {"Y": want(dtype, out, initial=y)}, {"d": d})
        yield p


def masked():
    for dtype in PACKED:
        p = program(f"packed/masked/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], B: ts.Tensor["M", "N", bool], Y: ts.Tensor["M", "N", ts.{dtype}], Z: ts.Tensor["M", "N", ts.{dtype}], C: ts.Tensor["M", "N", bool]):
    for m in ts.tile.parallel(0, M, 4):
        for n in ts.tile.parallel(0, N, 16):
            keep = B[m:m+4, n:n+16]
            ts.tile.store(Y[m:m+4, n:n+16], X[m:m+4, n:n+16], mask=keep)
            Z[m:m+4, n:n+16] = ts.tile.load(X[m:m+4, n:n+16], mask=keep, other=3)
            x = X[m:m+4, n:n+16]
            C[m:m+4, n:n+16] = (x < 3) | (x == 7)
""")
        for m, n in SIZES:
            x, y, b = random(dtype, (m, n), m * n), random(dtype, (m, n), 1), random("bool", (m, n), 2)
            p.run({"M": m, "N": n}, {"X": (dtype, x), "B": ("bool", b)},
                  {"Y": want(dtype, np.where(b, x, y), initial=y), "Z": want(dtype, np.where(b, x, 3)),
                   "C": want("bool", (x < 3) | (x == 7))})
        yield p


def gathered():
    for dtype in PACKED:
        p = program(f"packed/gather/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["V", "N", ts.{dtype}], I: ts.Tensor["M", ts.i32], J: ts.Tensor["N", ts.i32], R: ts.Tensor["M", "N", ts.{dtype}], E: ts.Tensor["M", "N", ts.{dtype}], S: ts.Tensor["M", "N", ts.{dtype}]):
    for m in ts.tile.parallel(0, M, 4):
        for n in ts.tile.parallel(0, N, 32):
            rows = I[m:m+4]
            columns = J[n:n+32]
            R[m:m+4, n:n+32] = X[rows, n:n+32]
            e = X[rows[:, None], columns[None, :]]
            E[m:m+4, n:n+32] = e
            S[m:m+4, columns] = ts.tile.fill_masked(X[rows, n:n+32], 1)
""")
        for m, n in SIZES:
            v = m + 2
            x = random(dtype, (v, n), m * n)
            i = np.random.default_rng(1).integers(-1, v + 1, m)
            j = np.random.default_rng(2).permutation(n)
            valid = (i >= 0) & (i < v)
            r = np.where(valid[:, None], x[np.clip(i, 0, v - 1)], 0)
            y = random(dtype, (m, n), 3)  # masked elements are not stored
            s = np.empty((m, n), "i8")
            s[:, j] = np.where(valid[:, None], r, 1)
            p.run({"V": v, "M": m, "N": n}, {"X": (dtype, x), "I": ("i32", i), "J": ("i32", j)},
                  {"R": want(dtype, np.where(valid[:, None], r, y), initial=y),
                   "E": want(dtype, np.where(valid[:, None], r[:, j], y), initial=y), "S": want(dtype, s)})
        yield p


def lanes():
    for dtype in PACKED:
        p = program(f"packed/lanes/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], P: ts.Tensor["n", ts.i32], Y: ts.Tensor["n", ts.{dtype}], Z: ts.Tensor["n", ts.{dtype}], S: ts.Tensor["n", ts.{dtype}], R: ts.Tensor["n", ts.i32]):
    i = ts.tile.linear_id()
    if i < n:
        Y[i] = X[i]
        Z[P[i]] = X[n - 1 - i]
        if X[i] > 2:
            S[i] = ts.tile.cast(ts.tile.cast(X[i], ts.i32) - 1, ts.{dtype})
        R[i] = ts.tile.cast(X[i + 1], ts.i32) * 100 + ts.tile.cast(X[i * 2], ts.i32)
""")
        for n in (1, 2, 15, 16, 17, 63, 64, 65, 127, 1000, 1001):
            x, s = random(dtype, n, n), random(dtype, n, 1)
            at = np.random.default_rng(2).permutation(n)
            z = np.empty(n, "i8")
            z[at] = x[::-1]
            padded = np.concatenate([x, np.zeros(n + 1, "i8")])
            p.run({"n": n}, {"X": (dtype, x), "P": ("i32", at)},
                  {"Y": want(dtype, x), "Z": want(dtype, z), "S": want(dtype, np.where(x > 2, x - 1, s), initial=s),
                   "R": want("i32", padded[1:n + 1] * 100 + padded[:2 * n:2])})
        yield p


def others():
    for dtype in PACKED:
        p = program(f"packed/strided/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}, ts.strides("ld", 1)], Y: ts.Tensor["N", "M", ts.{dtype}, ts.strides(1, "lt")], Z: ts.Tensor["M", "N", ts.{dtype}]):
    for m in ts.tile.parallel(0, M, 4):
        for n in ts.tile.parallel(0, N, 8):
            buffer = ts.tile.alloc_shared((4, 8), ts.{dtype})
            buffer[:, :] = X[m:m+4, n:n+8]
            ts.tile.barrier()
            Y[n:n+8, m:m+4] = buffer[:, :].T
            Z[m:m+4, n:n+8] = ts.tile.where(buffer[:, :] > X[m:m+4, n:n+8], ts.tile.zeros((4, 8), ts.{dtype}), buffer[:, :])
""")
        for m, n in SIZES:
            for gap in (0, 1):
                x = random(dtype, (m, n + gap), 1)
                p.run({"M": m, "N": n, "ld": n + gap, "lt": n}, {"X": (dtype, x.ravel()[: m * (n + gap) - gap])},
                      {"Y": want(dtype, x[:, :n].ravel()), "Z": want(dtype, x[:, :n])})
        yield p
        p = program(f"packed/steps/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], Y: ts.Tensor["n // 2", ts.{dtype}], Z: ts.Tensor["n", ts.{dtype}]):
    for i in ts.tile.parallel(0, n, 32):
        j = i // 2
        Y[j:j+16] = X[i+1:i+33:2]
        low, high = ts.tile.split(ts.tile.reshape(ts.tile.fill_masked(X[i:i+32], 0), (16, 2)))
        Z[i:i+32] = ts.tile.interleave(high, low)
""")
        for n in (0, 1, 2, 31, 32, 33, 100):
            x = random(dtype, n, 1)
            z = np.append(x, 0)[: (n + 1) // 2 * 2].reshape(-1, 2)[:, ::-1].ravel()[:n]
            p.run({"n": n}, {"X": (dtype, x)}, {"Y": want(dtype, x[1::2]), "Z": want(dtype, z)})
        yield p


def inplace():
    """Tensors that a kernel reads and writes at the same places, where rows, programs and threads share bytes, or do not."""
    for dtype in PACKED:
        value = f"ts.tile.cast(ts.tile.cast({{}}, ts.i32) * 3 + 1, ts.{dtype})"

        def updated(x):
            return cast(x * 3 + 1, "i32", dtype)

        for rows, columns in ((1, 64), (4, 32), (3, 5), (8, 1), (2, 64)):
            part = f"W[m:m+{rows}, n:n+{columns}]"
            p = program(f"packed/inplace/{dtype}/{rows}x{columns}", f"""@ts.kernel
def k(W: ts.Tensor["M", "N", ts.{dtype}]):
    for m in ts.tile.parallel(0, M, {rows}):
        for n in ts.tile.parallel(0, N, {columns}):
            {part} = {value.format(part)}
""")
            for m, n in (*SIZES, (1, 64), (8, 64), (8, 66), (13, 96)):
                w = random(dtype, (m, n), m * n)
                p.run({"M": m, "N": n}, {}, {"W": want(dtype, updated(w), initial=w)})
            yield p
        p = program(f"packed/inplace/{dtype}/masked", f"""@ts.kernel
def k(B: ts.Tensor["M", "N", bool], W: ts.Tensor["M", "N", ts.{dtype}]):
    for m in ts.tile.parallel(0, M, 4):
        for n in ts.tile.parallel(0, N, 16):
            ts.tile.store(W[m:m+4, n:n+16], {value.format("W[m:m+4, n:n+16]")}, mask=B[m:m+4, n:n+16])
""")
        for m, n in SIZES:
            w, b = random(dtype, (m, n), m * n), random("bool", (m, n), 2)
            p.run({"M": m, "N": n}, {"B": ("bool", b)}, {"W": want(dtype, np.where(b, updated(w), w), initial=w)})
        yield p
        p = program(f"packed/inplace/{dtype}/columns", f"""@ts.kernel
def k(W: ts.Tensor["M", "N", ts.{dtype}], J: ts.Tensor["N", ts.i32]):
    for m in ts.tile.parallel(0, M, 4):
        for n in ts.tile.parallel(0, N, 16):
            columns = J[n:n+16]
            W[m:m+4, columns] = {value.format("W[m:m+4, columns]")}
""")
        for m, n in SIZES:
            w, j = random(dtype, (m, n), m * n), np.random.default_rng(2).permutation(n)
            p.run({"M": m, "N": n}, {"J": ("i32", j)}, {"W": want(dtype, updated(w), initial=w)})
        yield p
        p = program(f"packed/inplace/{dtype}/lanes", f"""@ts.kernel
def k(Y: ts.Tensor["n", ts.{dtype}], I: ts.Tensor["n", ts.i32], Z: ts.Tensor["n", ts.{dtype}]):
    i = ts.tile.linear_id()
    if i < n:
        Y[i] = {value.format("Y[i]")}
        if Z[I[i]] > 2:
            Z[I[i]] = {value.format("Z[I[i]]")}
""")
        for n in (1, 2, 15, 16, 17, 63, 64, 65, 127, 1000, 1001):
            y, z = random(dtype, n, n), random(dtype, n, 1)
            p.run({"n": n}, {"I": ("i32", np.random.default_rng(2).permutation(n))},
                  {"Y": want(dtype, updated(y), initial=y), "Z": want(dtype, np.where(z > 2, updated(z), z), initial=z)})
        yield p


def products():
    for dtype in PACKED:
        grouped = program(f"packed/grouped/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "K", ts.f32], W: ts.Tensor["K", "N", ts.{dtype}], S: ts.Tensor["ceildiv(K, 32)", "N", ts.f32], Y: ts.Tensor["M", "N", ts.f32]):
    for m in ts.tile.parallel(0, M, 16):
        for n in ts.tile.parallel(0, N, 64):
            acc = ts.tile.zeros((16, 64))
            for k in ts.tile.range(0, K, 32):
                w = ts.tile.cast(W[k:k+32, n:n+64], ts.f32) * S[k//32, n:n+64]
                acc = ts.tile.mma(X[m:m+16, k:k+32], w, acc)
            Y[m:m+16, n:n+64] = acc
""")
        plain = program(f"packed/product/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "K", ts.f32], W: ts.Tensor["K", "N", ts.{dtype}], V: ts.Tensor["N", "K", ts.{dtype}], Y: ts.Tensor["M", "N", ts.f32], Z: ts.Tensor["M", "N", ts.f32]):
    for m in ts.tile.parallel(0, M, 32):
        for n in ts.tile.parallel(0, N, 128):
            acc = ts.tile.zeros((32, 128))
            other = ts.tile.zeros((32, 128))
            for k in ts.tile.range(0, K, 128):
                acc = ts.tile.mma(X[m:m+32, k:k+128], ts.tile.cast(W[k:k+128, n:n+128], ts.f32), acc)
                other = ts.tile.mma(X[m:m+32, k:k+128], ts.tile.cast(V[n:n+128, k:k+128], ts.f32).T, other)
            Y[m:m+32, n:n+128] = acc
            Z[m:m+32, n:n+128] = other
""")
        for m, n, k in ((1, 1, 1), (1, 64, 64), (3, 65, 33), (16, 64, 96), (33, 127, 95), (5, 300, 129), (64, 3, 65), (200, 2, 130)):
            x = np.random.default_rng(m).integers(-8, 8, (m, k)).astype("f8")
            w = random(dtype, (k, n), n)
            s = np.random.default_rng(k).integers(1, 5, ((k + 31) // 32, n)) / 4
            dims, given = {"M": m, "K": k, "N": n}, {"X": ("f32", x), "W": (dtype, w)}
            grouped.run(dims, given | {"S": ("f32", s)}, {"Y": want("f32", x @ (w * np.repeat(s, 32, 0)[:k]))})
            plain.run(dims, given | {"V": (dtype, w.T)}, {"Y": want("f32", x @ w), "Z": want("f32", x @ w)})
        yield grouped
        yield plain


def widened():
    """Products of elements widened to bytes, and sums and arithmetic of elements widened to i32."""
    for dtype, wide in (("i4", "i8"), ("u4", "u8")):
        for order in ("nn", "nt"):
            b, db = ("B[k:k+32, n:n+64]", '"K", "N"') if order == "nn" else ("B[n:n+64, k:k+32]", '"N", "K"')
            p = program(f"packed/widened/{dtype}/{order}", f"""@ts.kernel
def k(A: ts.Tensor["M", "K", ts.{dtype}], B: ts.Tensor[{db}, ts.{dtype}], C: ts.Tensor["M", "N", ts.i32], D: ts.Tensor["M", "N", ts.{dtype}]):
    for m in ts.tile.parallel(0, M, 32):
        for n in ts.tile.parallel(0, N, 64):
            acc = ts.tile.zeros((32, 64), ts.i32)
            for k in ts.tile.range(0, K, 32):
                b = ts.tile.cast({b}, ts.{wide}){"" if order == "nn" else ".T"}
                acc = ts.tile.mma(ts.tile.cast(A[m:m+32, k:k+32], ts.{wide}), b, acc)
            C[m:m+32, n:n+64] = acc
            D[m:m+32, n:n+64] = ts.tile.cast(acc, ts.{dtype})
""")
            for m, n, k in ((1, 1, 1), (3, 65, 33), (32, 64, 64), (33, 127, 95), (5, 64, 128), (64, 3, 65)):
                x, w = random(dtype, (m, k), m), random(dtype, (k, n), n)
                p.run({"M": m, "K": k, "N": n}, {"A": (dtype, x), "B": (dtype, w if order == "nn" else w.T)},
                      {"C": want("i32", x @ w), "D": want(dtype, cast(x @ w, "i32", dtype))})
            yield p
        p = program(f"packed/rows/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], S: ts.Tensor["M", ts.i32], Y: ts.Tensor["M", "N", ts.{dtype}]):
    for m in ts.tile.parallel(0, M, 8):
        x = ts.tile.cast(X[m:m+8, 0:256], ts.i32)
        S[m:m+8] = ts.tile.sum(x, axis=1)
        Y[m:m+8, 0:256] = ts.tile.cast(x * 3 + 1, ts.{dtype})
""")
        for m, n in (*SIZES, (9, 256), (8, 255), (3, 128)):
            x = random(dtype, (m, n), m * n)
            p.run({"M": m, "N": n}, {"X": (dtype, x)}, {"S": want("i32", x.sum(1)), "Y": want(dtype, cast(x * 3 + 1, "i32", dtype))})
        yield p


def graphs():
    for dtype in PACKED:
        p = program(f"packed/graph/{dtype}", f"""@ts.kernel
def narrow(x: ts.Tensor["M", "N", ts.i32], y: ts.Tensor["M", "N", ts.{dtype}]):
    for m in ts.tile.parallel(0, M, 4):
        for n in ts.tile.parallel(0, N, 16):
            y[m:m+4, n:n+16] = ts.tile.cast(x[m:m+4, n:n+16], ts.{dtype})

@ts.jit
def f(X: ts.Tensor["M", "N", ts.{dtype}], I: ts.Tensor["k", ts.i32], Z: ts.Tensor["M", "N", ts.{dtype}]):
    y = ts.cast(X, ts.f32) * 0.5
    narrow(ts.cast(X, ts.i32) + 1, Z)
    return y, ts.transpose(X), ts.gather(X, I), ts.reshape(X, (M * N,)), ts.cast(X[1:, 1:], ts.i32), ts.cast(y, ts.{dtype})
""", kernel="f")
        for m, n in SIZES:
            x = random(dtype, (m, n), n)
            i = np.random.default_rng(3).integers(0, m, 5)
            p.run({"M": m, "N": n, "k": 5}, {"X": (dtype, x), "I": ("i32", i)},
                  {"Z": want(dtype, cast(x + 1, "i32", dtype)), "result0": want("f32", x * 0.5), "result1": want(dtype, x.T),
                   "result2": want(dtype, x[i]), "result3": want(dtype, x.ravel()), "result4": want("i32", x[1:, 1:]),
                   "result5": want(dtype, cast(x * 0.5, "f32", dtype))})
        yield p


def programs():
    for family in (casts, tiles, shifted, masked, gathered, lanes, inplace, others, products, widened, graphs):
        yield from family()
