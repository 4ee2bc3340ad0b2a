"""Every way to touch memory, at starts anywhere in an i64: what is outside is masked when read and dropped when written.

Each program reads its start from a tensor. The model works with Python's integers, which do not overflow. Outputs start as
what a masked or dropped element leaves there, so that the comparison is exact. The runner puts tensors against pages that
must not be touched."""
import numpy as np

from cases import program, want
from dtypes import random

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
DTYPES_TRIED = ["f32", "f64", "f16", "i8"]


def starts(tile, extent):
    return sorted({LOWEST, LOWEST + 1, LOWEST + tile, -(1 << 31) - 1, -tile - 1, -tile, -tile + 1, -1, 0, 1, extent - tile,
                   extent - 1, extent, extent + 1, 1 << 31, 1 << 32, (1 << 62) - 1, HIGHEST - tile, HIGHEST - 1, HIGHEST})


def window(x, *slices):
    """(values, present) of x[start:start+extent, ...]: 0 and False outside."""
    inside = np.ones((1,) * x.ndim, bool)
    picked = x
    for axis, (start, extent) in enumerate(slices):
        index = [start + k for k in range(extent)]
        present = np.array([0 <= i < x.shape[axis] for i in index])
        picked = np.take(picked, [i if p else 0 for i, p in zip(index, present)], axis)
        inside = inside & present.reshape([-1 if d == axis else 1 for d in range(x.ndim)])
    inside = np.broadcast_to(inside, picked.shape)
    return np.where(inside, picked, 0), inside


def stored(z, values, *slices):
    """z[start:start+extent, ...] = values, without what is outside."""
    z = z.copy()
    for at in np.ndindex(*values.shape):
        where = tuple(start + k for (start, _), k in zip(slices, at))
        if all(0 <= i < n for i, n in zip(where, z.shape)):
            z[where] = values[at]
    return z


def case(name, source, tile, extent, runs, known=starts):
    """`runs(s)` gives (dims, inputs, outputs) for the start s."""
    p = program(f"bounds/{name}", source)
    for s in known(tile, extent):
        dims, inputs, outputs = runs(s)
        p.run(dims, {"I": ("i64", np.array([s], "i8")), **inputs}, outputs)
    return p


def slices(dtype):
    x, z = random(dtype, (19,), 1), np.zeros(19)
    yield case(f"store/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], I: ts.Tensor[1, ts.i64], Z: ts.Tensor["n", ts.{dtype}]):
    s = I[0]
    Z[s:s+8] = X[0:8]
""", 8, 19, lambda s: ({"n": 19}, {"X": (dtype, x)}, {"Z": want(dtype, stored(z, x[:8], (s, 8)), initial=z)}))
    yield case(f"load/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], I: ts.Tensor[1, ts.i64], Z: ts.Tensor[8, ts.{dtype}]):
    s = I[0]
    Z[0:8] = X[s:s+8]
""", 8, 19, lambda s: ({"n": 19}, {"X": (dtype, x)}, {"Z": want(dtype, window(x, (s, 8))[0], initial=np.zeros(8))}))
    # Read as tiles of an odd extent, which come in several vectors; the second start cannot be negative.
    yield case(f"both/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], I: ts.Tensor[1, ts.i64], Z: ts.Tensor["n", ts.{dtype}]):
    s = I[0]
    for i in ts.tile.parallel(0, n, 13):
        Z[i+s:i+s+13] = X[i:i+13]
""", 13, 19, lambda s: ({"n": 19}, {"X": (dtype, x)}, {"Z": want(dtype, both(x, z, s), initial=z)}))
    y, w = random(dtype, (11, 13), 2), np.zeros((11, 13))
    yield case(f"rows/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], I: ts.Tensor[1, ts.i64], Z: ts.Tensor["M", "N", ts.{dtype}], W: ts.Tensor[4, 8, ts.{dtype}]):
    s = I[0]
    Z[s:s+4, 3:11] = X[0:4, 0:8]
    W[0:4, 0:8] = X[s:s+4, 8:16]
""", 4, 11, lambda s: ({"M": 11, "N": 13}, {"X": (dtype, y)}, {
        "Z": want(dtype, stored(w, y[:4, :8], (s, 4), (3, 8)), initial=w),
        "W": want(dtype, window(y, (s, 4), (8, 8))[0], initial=np.zeros((4, 8)))}))
    yield case(f"columns/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], I: ts.Tensor[1, ts.i64], Z: ts.Tensor["M", "N", ts.{dtype}], W: ts.Tensor[4, 8, ts.{dtype}]):
    s = I[0]
    Z[s:s+4, s:s+8] = X[0:4, 0:8]
    W[0:4, 0:8] = X[8:12, s:s+8]
""", 8, 13, lambda s: ({"M": 11, "N": 13}, {"X": (dtype, y)}, {
        "Z": want(dtype, stored(w, y[:4, :8], (s, 4), (s, 8)), initial=w),
        "W": want(dtype, window(y, (8, 4), (s, 8))[0], initial=np.zeros((4, 8)))}))
    yield case(f"index/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], I: ts.Tensor[1, ts.i64], Z: ts.Tensor["M", "N", ts.{dtype}], W: ts.Tensor[8, ts.{dtype}]):
    s = I[0]
    Z[s, 3:11] = X[0, 0:8]
    Z[0:8, s] = X[0:8, 1]
    W[0:8] = X[s, 8:16]
""", 1, 11, lambda s: ({"M": 11, "N": 13}, {"X": (dtype, y)}, {
        "Z": want(dtype, stored(stored(w, y[:1, :8], (s, 1), (3, 8)), y[:8, 1:2], (0, 8), (s, 1)), initial=w),
        "W": want(dtype, window(y, (s, 1), (8, 8))[0][0], initial=np.zeros(8))}))
    yield case(f"transpose/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], I: ts.Tensor[1, ts.i64], Z: ts.Tensor[8, 16, ts.{dtype}], W: ts.Tensor["N", "M", ts.{dtype}]):
    s = I[0]
    Z[0:8, 0:16] = X[s:s+16, s:s+8].T
    W[s:s+8, s:s+4] = X[0:4, 0:8].T
""", 16, 13, lambda s: ({"M": 11, "N": 13}, {"X": (dtype, y)}, {
        "Z": want(dtype, window(y, (s, 16), (s, 8))[0].T, initial=np.zeros((8, 16))),
        "W": want(dtype, stored(w.T, y[:4, :8].T, (s, 8), (s, 4)), initial=w.T)}))
    yield case(f"element/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], I: ts.Tensor[1, ts.i64], Z: ts.Tensor["M", "N", ts.{dtype}], W: ts.Tensor[2, ts.{dtype}]):
    s = I[0]
    Z[s, s] = X[0, 0]
    Z[2, s] = X[0, 1]
    W[0] = X[s, 3]
    W[1] = X[s + 1, s]
""", 1, 11, lambda s: ({"M": 11, "N": 13}, {"X": (dtype, y)}, {
        "Z": want(dtype, stored(stored(w, y[:1, :1], (s, 1), (s, 1)), y[:1, 1:2], (2, 1), (s, 1)), initial=w),
        "W": want(dtype, [window(y, (s, 1), (3, 1))[0][0, 0], window(y, (wrapped(s + 1), 1), (s, 1))[0][0, 0]])}))


def wrapped(v):
    return (v + (1 << 63)) % (1 << 64) - (1 << 63)


def both(x, z, s):
    for i in range(0, len(x), 13):
        values, present = window(x, (i, 13))
        n = int(present.sum())
        z = stored(z, values[:n], (wrapped(i + s), n))
    return z


def combining():
    for dtype in ("f32", "f64", "i32"):
        low = -np.inf if dtype[0] == "f" else -(1 << 31)
        x, y = random("i8", (19,), 1), random("i8", (11, 13), 2)
        if dtype[0] == "f":
            x, y = x.astype("f8"), y.astype("f8")

        def reduced(s):
            v, p = window(x, (s, 8))
            m, q = window(y, (s, 4), (s, 8))
            scanned = np.cumsum(v)
            return ({"n": 19, "M": 11, "N": 13}, {"X": (dtype, x), "Y": (dtype, y)}, {
                "A": want(dtype, [v.sum(), v[p].max() if p.any() else low]),
                "R": want(dtype, m.sum(1), initial=np.zeros(4)), "C": want(dtype, m.sum(0), initial=np.zeros(8)),
                "H": want(dtype, np.where(q, m, low).max(1), initial=np.full(4, low)),
                "S": want(dtype, np.where(p, scanned, 0), initial=np.zeros(8)),
                "P": want("i32", [int(np.argmax(np.where(p, v, low))) if p.any() else 0])})

        yield case(f"reduce/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], Y: ts.Tensor["M", "N", ts.{dtype}], I: ts.Tensor[1, ts.i64], A: ts.Tensor[2, ts.{dtype}],
      R: ts.Tensor[4, ts.{dtype}], C: ts.Tensor[8, ts.{dtype}], H: ts.Tensor[4, ts.{dtype}], S: ts.Tensor[8, ts.{dtype}], P: ts.Tensor[1, ts.i32]):
    s = I[0]
    x = X[s:s+8]
    y = Y[s:s+4, s:s+8]
    A[0] = ts.tile.sum(x)
    A[1] = ts.tile.max(x)
    R[0:4] = ts.tile.row_sum(y)
    C[0:8] = ts.tile.sum(y, axis=0)
    H[0:4] = ts.tile.row_max(y)
    S[0:8] = ts.tile.cumsum(x)
    p = ts.tile.argmax(x, axis=0)
    if ts.tile.max(x) > {-1000 if dtype == 'i32' else -1000.0}:
        P[0] = p
    else:
        P[0] = 0
""", 8, 13, reduced)


def products():
    for dtype, acc in (("f32", "f32"), ("f64", "f64"), ("bf16", "f32"), ("i8", "i32")):
        a, b = random("i8", (11, 13), 3), random("i8", (13, 11), 4)
        if acc[0] == "f":
            a, b = np.clip(a, -8, 8).astype("f8"), np.clip(b, -8, 8).astype("f8")
        accumulator = f", accumulator=ts.{acc}" if acc[0] == "f" else ""
        for name, source, f in (
                ("sides", "ts.tile.mma(A[s:s+8, 0:16], B[0:16, s:s+16]", lambda s: window(a, (s, 8), (0, 16))[0] @ window(b, (0, 16), (s, 16))[0]),
                ("depth", "ts.tile.mma(A[0:8, s:s+16], B[s:s+16, 0:16]", lambda s: window(a, (0, 8), (s, 16))[0] @ window(b, (s, 16), (0, 16))[0]),
                ("transposed", "ts.tile.mma(B[s:s+16, 0:8].T, A[0:16, s:s+16].T", lambda s: window(b, (s, 16), (0, 8))[0].T @ window(a, (0, 16), (s, 16))[0].T)):
            yield case(f"mma-{name}/{dtype}", f"""@ts.kernel
def k(A: ts.Tensor["M", "K", ts.{dtype}], B: ts.Tensor["K", "M", ts.{dtype}], I: ts.Tensor[1, ts.i64], Z: ts.Tensor[8, 16, ts.{acc}]):
    s = I[0]
    Z[0:8, 0:16] = {source}{accumulator})
""", 16, 13, lambda s, f=f: ({"M": 11, "K": 13}, {"A": (dtype, a), "B": (dtype, b)},
                             {"Z": want(acc, f(s), initial=np.zeros((8, 16)))}))
        # Large enough for operands to be packed by a function of their own.
        big, other = np.tile(a, (6, 6)), np.tile(b, (6, 6))
        yield case(f"mma-packed/{dtype}", f"""@ts.kernel
def k(A: ts.Tensor["M", "K", ts.{dtype}], B: ts.Tensor["K", "M", ts.{dtype}], I: ts.Tensor[1, ts.i64], Z: ts.Tensor["M", "M", ts.{acc}]):
    s = I[0]
    for m in ts.tile.parallel(0, M, 64):
        Z[m:m+64, s:s+64] = ts.tile.mma(A[m:m+64, 0:80], B[0:80, s:s+64]{accumulator})
""", 64, 66, lambda s: ({"M": 66, "K": 78}, {"A": (dtype, big), "B": (dtype, other)},
                        {"Z": want(acc, stored(np.zeros((66, 66)), big @ window(other, (0, 78), (s, 64))[0], (0, 66), (s, 64)),
                                   initial=np.zeros((66, 66)))}))


def buffers():
    for dtype in ("f32", "i8"):
        x = random(dtype, (11, 13), 5)

        def read(s):
            whole = window(x, (0, 8), (0, 16))[0]
            v, p = window(whole, (s, 4), (s, 8))
            copied, _ = window(x, (s, 8), (s, 16))
            return ({"M": 11, "N": 13}, {"X": (dtype, x)}, {
                "A": want(dtype, v, initial=np.zeros((4, 8))), "B": want(dtype, stored(whole, x[:4, :8], (s, 4), (s, 8))),
                "C": want(dtype, copied, initial=np.zeros((8, 16)))})

        yield case(f"shared/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], I: ts.Tensor[1, ts.i64], A: ts.Tensor[4, 8, ts.{dtype}], B: ts.Tensor[8, 16, ts.{dtype}],
      C: ts.Tensor[8, 16, ts.{dtype}]):
    b = ts.tile.alloc_shared((8, 16), ts.{dtype})
    c = ts.tile.alloc_shared((8, 16), ts.{dtype}, swizzle="xor")
    s = I[0]
    ts.tile.prefetch(X[s:s+8, 0:16])
    b[:, :] = X[0:8, 0:16]
    ts.tile.cp_async(c, X[s:s+8, s:s+16])
    ts.tile.commit_group()
    ts.tile.wait_group(0)
    ts.tile.barrier()
    A[0:4, 0:8] = b[s:s+4, s:s+8]
    C[0:8, 0:16] = c[:, :]
    ts.tile.barrier()
    b[s:s+4, s:s+8] = X[0:4, 0:8]
    ts.tile.barrier()
    B[0:8, 0:16] = b[:, :]
""", 8, 16, read)
    # Elements of a slice past the buffer's edge take no part in a reduction.
    y = -1 - np.abs(random("f32", (8, 16), 6))

    def extreme(s):
        v, p = window(y, (s, 4), (s, 8))
        top = np.where(p, v, -np.inf).max(1)
        return {}, {"X": ("f32", y)}, {"Z": want("f32", top, initial=np.full(4, -np.inf))}

    yield case("shared/max", """@ts.kernel
def k(X: ts.Tensor[8, 16, ts.f32], I: ts.Tensor[1, ts.i64], Z: ts.Tensor[4, ts.f32]):
    b = ts.tile.alloc_shared((8, 16), ts.f32)
    s = I[0]
    b[:, :] = X[0:8, 0:16]
    ts.tile.barrier()
    Z[0:4] = ts.tile.row_max(b[s:s+4, s:s+8])
""", 8, 16, extreme)
    p = program("bounds/shared/constant-start", """@ts.kernel
def k(X: ts.Tensor[4, 8, ts.f32], Z: ts.Tensor[4, ts.f32]):
    b = ts.tile.alloc_shared((4, 8), ts.f32)
    b[:, :] = X[0:4, 0:8]
    ts.tile.barrier()
    Z[0:4] = ts.tile.row_max(b[0:4, 4:12])
""")
    yield p.run({}, {"X": ("f32", y[:4, :8])}, {"Z": want("f32", y[:4, 4:8].max(1))})


def atomics():
    for dtype in ("i32", "f32"):
        one = "1" if dtype == "i32" else "1.0"

        def counted(s, at):
            h = np.arange(11.0)
            old = np.zeros(len(at))
            for i, index in enumerate(at):
                if 0 <= index < 11:
                    old[i], h[index] = h[index], h[index] + 1
            return h, old

        def scalar(s):
            h, old = counted(s, [s])
            return {"n": 11}, {}, {"H": want(dtype, h, initial=np.arange(11)), "O": want(dtype, old)}

        yield case(f"atomic/{dtype}", f"""@ts.kernel
def k(I: ts.Tensor[1, ts.i64], H: ts.Tensor["n", ts.{dtype}], O: ts.Tensor[1, ts.{dtype}]):
    s = I[0]
    O[0] = ts.tile.atomic_add(H, s, {one})
""", 1, 11, scalar)

        def lanes(s):
            at = [s, wrapped(s + 1), wrapped(s - 1)]
            h, _ = counted(s, at)
            x = np.arange(100.0, 111.0)
            return {"n": 11, "m": 3}, {"J": ("i64", np.array(at, "i8")), "X": (dtype, x)}, {
                "H": want(dtype, h, initial=np.arange(11)),
                "Z": want(dtype, [x[i] if 0 <= i < 11 else 0 for i in at])}

        yield case(f"lanes/{dtype}", f"""@ts.kernel
def k(I: ts.Tensor[1, ts.i64], J: ts.Tensor["m", ts.i64], X: ts.Tensor["n", ts.{dtype}], H: ts.Tensor["n", ts.{dtype}], Z: ts.Tensor["m", ts.{dtype}]):
    i = ts.tile.linear_id()
    if i < m:
        Z[i] = X[I[0] + (J[i] - I[0])]
        ts.tile.atomic_add(H, J[i], {one})
""", 1, 11, lanes)

        def tiles(s):
            at = [s, wrapped(s + 1), wrapped(s - 1), 5, 6]
            h, _ = counted(s, at)
            return {"n": 11, "m": 5}, {"J": ("i64", np.array(at, "i8"))}, {"H": want(dtype, h, initial=np.arange(11))}

        yield case(f"atomic-tile/{dtype}", f"""@ts.kernel
def k(I: ts.Tensor[1, ts.i64], J: ts.Tensor["m", ts.i64], H: ts.Tensor["n", ts.{dtype}]):
    ts.tile.atomic_add(H, J[0:8], {one})
""", 1, 11, tiles)
    p = program("bounds/atomic-cas-tile", """@ts.kernel
def k(J: ts.Tensor["m", ts.i64], H: ts.Tensor["n", ts.i32]):
    old = ts.tile.atomic_cas(H, J[0:8], 0, 9)
""")
    yield p.run({"n": 11, "m": 3}, {"J": ("i64", np.array([5, 7, HIGHEST], "i8"))},
                {"H": want("i32", np.where(np.isin(np.arange(11), (5, 7)), 9, 0), initial=np.zeros(11))})


def loops():
    def iterations(s):
        count = []
        for before, step in ((3, 2), (3, 1), (40, 7), (3, HIGHEST), (HIGHEST, 1 << 61)):
            low = wrapped(s - before)
            count.append(0 if low >= s else -((low - s) // step))
        return {}, {}, {"Z": want("i32", count)}

    yield case("loop", f"""@ts.kernel
def k(I: ts.Tensor[1, ts.i64], Z: ts.Tensor[5, ts.i32]):
    s = I[0]
    a = 0
    for i in range(s - 3, s, 2):
        a = a + 1
    b = 0
    for i in ts.tile.range(s - 3, s, 1):
        b = b + 1
    c = 0
    for i in range(s - 40, s, 7):
        c = c + 1
    d = 0
    for i in range(s - 3, s, {HIGHEST}):
        d = d + 1
    e = 0
    for i in range(s - {HIGHEST}, s, {1 << 61}):
        e = e + 1
    Z[0] = a
    Z[1] = b
    Z[2] = c
    Z[3] = d
    Z[4] = e
""", 3, 40, iterations)


def masked(values, present, initial):
    return np.where(present, values, initial)


def parts(dtype):
    """What is computed by whole vectors because it may lie inside, and does not."""
    x, z = random(dtype, (100,), 3), np.full(64, 7.0 if dtype[0] == "f" else 7)

    def part(s):
        values, present = window(x, (s + 64, 64))
        return {"n": 100}, {"X": (dtype, x)}, {"Z": want(dtype, masked(values, present, z), initial=z)}

    yield case(f"part/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], I: ts.Tensor[1, ts.i64], Z: ts.Tensor[64, ts.{dtype}]):
    s = I[0]
    t = X[s:s+128]
    Z[0:64] = t[64:128]
""", 128, 100, part)
    for step in (4, -4, 3):
        y, w = random(dtype, (29,), 4), np.full(8, 7.0 if dtype[0] == "f" else 7)

        def apart(s):
            at = [s + step * i for i in range(8)]
            wrapped = [(a + (1 << 63)) % (1 << 64) - (1 << 63) for a in at]
            present = np.array([0 <= a < 29 for a in wrapped])
            values = y[[a if p else 0 for a, p in zip(wrapped, present)]]
            return {"n": 29}, {"X": (dtype, y)}, {"Z": want(dtype, masked(values, present, w), initial=w)}

        yield case(f"apart{step}/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], I: ts.Tensor[1, ts.i64], Z: ts.Tensor[8, ts.{dtype}]):
    s = I[0]
    Z[0:8] = X[s + ts.tile.arange(8) * {step}]
""", 28, 29, apart)


def merged():
    """Short rows that follow each other in memory are stored as one line."""
    a, b, z = random("f32", (16,), 5), random("f32", (16,), 6), np.zeros((40, 2))
    pairs = np.stack([a, b], axis=1)
    yield case("merged", """@ts.kernel
def k(A: ts.Tensor[16, ts.f32], B: ts.Tensor[16, ts.f32], I: ts.Tensor[1, ts.i64], Z: ts.Tensor["M", 2, ts.f32]):
    s = I[0]
    Z[s:s+16, 0:2] = ts.tile.join(A[0:16], B[0:16])
""", 16, 40, lambda s: ({"M": 40}, {"A": ("f32", a), "B": ("f32", b)}, {"Z": want("f32", stored(z, pairs, (s, 16), (0, 2)), initial=z)}),
               lambda tile, extent: starts(tile, extent) + [1 << 62, -(1 << 62), 1 << 61, (1 << 62) + 1])


def programs():
    for dtype in DTYPES_TRIED:
        yield from slices(dtype)
        yield from parts(dtype)
    yield from merged()
    yield from combining()
    yield from products()
    yield from buffers()
    yield from atomics()
    yield from loops()
