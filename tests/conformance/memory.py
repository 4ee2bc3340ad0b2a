"""Shared memory, element accesses past the edges, atomics, random numbers."""
import pathlib
import sys

import numpy as np

from cases import program, want
from dtypes import random

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support.host import philox  # noqa: E402


def shared():
    for swizzle in ("none", "xor"):
        for dtype in ("f32", "f64", "bf16", "i8", "u8"):
            p = program(f"shared/round-trip/{swizzle}/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], Z: ts.Tensor["N", "M", ts.{dtype}]):
    s = ts.tile.alloc_shared((16, 32), ts.{dtype}, swizzle="{swizzle}")
    for m in ts.tile.parallel(0, M, 16):
        for n in ts.tile.parallel(0, N, 32):
            s[:, :] = X[m:m+16, n:n+32]
            ts.tile.barrier()
            Z[n:n+32, m:m+16] = s[:, :].T
""")
            for m, n in ((16, 32), (17, 33), (5, 70)):
                x = random(dtype, (m, n), 1)
                p.run({"M": m, "N": n}, {"X": (dtype, x)}, {"Z": want(dtype, x.T)})
            yield p
    p = program("shared/parts", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor["n", ts.f32]):
    s = ts.tile.alloc_shared((2, 16), ts.f32)
    for i in ts.tile.parallel(0, n, 32):
        s[0, 0:16] = X[i:i+16]
        s[1, 0:16] = X[i+16:i+32]
        ts.tile.barrier()
        Z[i:i+16] = s[1, 0:16]
        Z[i+16:i+32] = s[0, 0:16]
""")
    x = random("f32", (64,), 2)
    yield p.run({"n": 64}, {"X": ("f32", x)}, {"Z": want("f32", x.reshape(2, 2, 16)[:, ::-1].ravel())})
    for swizzle in ("none", "xor"):
        for dtype in ("f32", "bf16", "i64", "u8", "bool"):
            p = program(f"shared/elements/{swizzle}/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], at: ts.Tensor["P", 2, ts.i32], Z: ts.Tensor["P", ts.{dtype}], Y: ts.Tensor["M", "N", ts.{dtype}]):
    s = ts.tile.alloc_shared((16, 32), ts.{dtype}, swizzle="{swizzle}")
    s[:, :] = X[0:16, 0:32]
    ts.tile.barrier()
    for p in ts.tile.range(P):
        i = at[p, 0]
        j = at[p, 1]
        Z[p] = s[i, j]                # 0 outside the buffer and where X ends
        ts.tile.barrier()
        s[i + 1, 31 - j] = s[i, j]    # dropped outside
        ts.tile.barrier()
    Y[0:16, 0:32] = s[:, :]
""")
            for m, n in ((16, 32), (11, 25), (20, 40)):
                x = random(dtype, (m, n), 1)
                at = np.array([(0, 0), (15, 31), (3, 30), (4, 1), (-1, 5), (16, 5), (5, 32), (2, -7), (14, 3), (15, 28)])
                buffer, read = np.zeros((16, 32), x.dtype), []
                buffer[:m, :n] = x[:16, :32]
                for i, j in at:
                    read.append(buffer[i, j] if 0 <= i < 16 and 0 <= j < 32 else 0)
                    if 0 <= i + 1 < 16 and 0 <= 31 - j < 32:
                        buffer[i + 1, 31 - j] = read[-1]
                kept = random(dtype, (m, n), 2)
                kept[:16, :32] = buffer[:m, :n]
                p.run({"M": m, "N": n, "P": len(at)}, {"X": (dtype, x), "at": ("i32", at)},
                      {"Z": want(dtype, np.array(read)), "Y": want(dtype, kept, initial=random(dtype, (m, n), 2))})
            yield p
    p = program("shared/groups", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor["P", ts.f32]):
    s = ts.tile.alloc_shared((2, 16), ts.f32)
    i = ts.tile.grid(P)
    acc = ts.tile.zeros((16,), ts.f32)
    ts.tile.prefetch(X[0:16])
    for k in ts.tile.range(0, n, 16, stages=2):
        ts.tile.barrier()
        ts.tile.cp_async(s[0, :], X[k:k+16])
        ts.tile.commit_group()
        ts.tile.wait_group(0)
        ts.tile.barrier()
        acc = acc + s[0, 0:16]
    Z[i] = ts.tile.sum(acc)
""")
    x = random("f32", (75,), 3)
    yield p.run({"n": 75, "P": 3}, {"X": ("f32", x)}, {"Z": want("f32", np.full(3, x.sum()), rtol=1e-5, atol=1e-5)})


def edges():
    """A tile wider than the tensor is statically: one lane of a store is left, of a value made for it."""
    for dtype in ("bf16", "f16", "i8", "f32"):
        p = program(f"edge/one-column/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", 1, ts.f32], Z: ts.Tensor[1, 1, ts.{dtype}]):
    for i in ts.tile.parallel(0, 1, 1):
        acc = ts.tile.zeros((1, 16), ts.f32)
        for k in ts.tile.range(0, M, 64):
            s = ts.tile.sum(X[k:k+64, 0:16], axis=0)
            acc = acc + s[None, :]
        Z[0:1, 0:16] = ts.tile.cast(acc, ts.{dtype})
""")
        for m in (1, 3, 65):
            p.run({"M": m}, {"X": ("f32", np.ones((m, 1)))}, {"Z": want(dtype, np.full((1, 1), m))})
        yield p


def elements():
    p = program("element/out-of-range", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], I: ts.Tensor["m", ts.i32], Z: ts.Tensor["m", ts.f32], W: ts.Tensor["n", ts.f32]):
    i = ts.tile.linear_id()
    if i < m:
        Z[i] = X[I[i]]
        W[I[i]] = 1.0
""")
    index = np.array([-1, 0, 3, 4, 5, -(1 << 31), (1 << 31) - 1, 2, 1000000, -5], "i8")
    x = random("f32", (5,), 1)
    inside = (index >= 0) & (index < 5)
    w = np.zeros(5)
    w[index[inside]] = 1
    yield p.run({"n": 5, "m": 10}, {"X": ("f32", x), "I": ("i32", index)},
                {"Z": want("f32", np.where(inside, x[np.where(inside, index, 0)], 0)), "W": want("f32", w, initial=np.zeros(5))})
    p = program("element/two-dims", """@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], Z: ts.Tensor["M", "N", ts.f32]):
    i = ts.tile.linear_id()
    if i < M * N:
        r = i // N
        c = i % N
        Z[r, c] = X[r - 1, c] + X[r, c + 1] * 2.0
""")
    for m, n in ((7, 9), (1, 1), (64, 65)):
        x = random("f32", (m, n), 2)
        padded = np.pad(x, ((1, 0), (0, 1)))
        p.run({"M": m, "N": n}, {"X": ("f32", x)}, {"Z": want("f32", padded[:-1, :-1] + 2 * padded[1:, 1:], ulps=0.5, atol=2.0**-22)})
    yield p
    for dtype in ("f64", "f16", "bf16", "fp8_e5m2", "i64", "i8", "u8", "bool"):
        p = program(f"element/copy/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], Z: ts.Tensor["n", ts.{dtype}]):
    i = ts.tile.linear_id()
    if i < n:
        Z[n - 1 - i] = X[i]
""")
        for n in (1, 100):
            x = random(dtype, (n,), 3)
            p.run({"n": n}, {"X": (dtype, x)}, {"Z": want(dtype, x[::-1])})
        yield p


def private_tables():
    """Additions to tensors about as large as the tables that gather them, by about as many lanes as that is worth; two
    tensors at once, one of two dims; floats whose sign of zero has to survive."""
    for dtype in ("i32", "i64", "f32", "f64"):
        p = program(f"atomic/private/{dtype}", f"""@ts.kernel
def k(I: ts.Tensor["n", ts.i32], H: ts.Tensor["m", ts.{dtype}], G: ts.Tensor["r", 4, ts.{dtype}]):
    i = ts.tile.linear_id()
    if i < n:
        ts.tile.atomic_add(H, I[i], {3.0 if dtype[0] == "f" else 3})
        if I[i] % 2 == 0:
            ts.tile.atomic_add(G, (I[i] // 4, I[i] % 4), {1.0 if dtype[0] == "f" else 1})
""")
        for n, m in ((1, 1), (40000, 1), (40000, 513), (300000, 16383), (300000, 16384), (300000, 16385), (9, 100000)):
            index = np.random.default_rng(n + m).integers(-1, m + 1, n)
            inside = (index >= 0) & (index < m)
            rows = (m + 3) // 4 - (m > 4)  # the last ones are past the end
            even = (index % 2 == 0) & (index >= 0) & (index < 4 * rows)
            h = np.zeros(m) if dtype[0] == "f" else np.zeros(m, "i8")
            if dtype[0] == "f":
                h[::2] = -0.0
            counts = np.bincount(index[inside], minlength=m) * 3
            values = np.where(counts > 0, counts, h)
            g = np.bincount(index[even], minlength=4 * rows).reshape(rows, 4)
            p.run({"n": n, "m": m, "r": rows}, {"I": ("i32", index)},
                  {"H": want(dtype, values, initial=h), "G": want(dtype, g, initial=np.zeros((rows, 4)))})
        yield p


def shared_indices():
    """Tiles of indices that several atomics and a read take: computed from lanes, and read from a tensor that changes meanwhile."""
    for dtype in ("i32", "f32"):
        p = program(f"atomic/indices/{dtype}", f"""@ts.kernel
def k(I: ts.Tensor["n", ts.i32], X: ts.Tensor["n", ts.{dtype}], H: ts.Tensor["m", ts.{dtype}], G: ts.Tensor["m", ts.{dtype}],
      L: ts.Tensor["n", ts.{dtype}]):
    for i in ts.tile.parallel(0, n, 32):
        lanes, at = i + ts.tile.arange(32), I[i:i+32]
        I[i:i+32] = at + 1
        v = X[lanes]
        ts.tile.atomic_add(H, at, v)
        ts.tile.atomic_add(G, at * at % m, v)
        ts.tile.atomic_add(L, lanes, v)
        ts.tile.atomic_max(L, lanes, v)
        ts.tile.atomic_add(H, at, v)
""")
        for n, m in ((1, 1), (31, 7), (33, 40), (1000, 100)):
            index, x = np.random.default_rng(n).integers(0, m, n), np.random.default_rng(m).integers(1, 9, n)
            h, g = (np.bincount(place, x, minlength=m) for place in (index, index * index % m))
            p.run({"n": n, "m": m}, {"X": (dtype, x)},
                  {"I": want("i32", index + 1, initial=index), "H": want(dtype, 2 * h, initial=np.zeros(m)),
                   "G": want(dtype, g, initial=np.zeros(m)), "L": want(dtype, x, initial=np.zeros(n))})
        yield p


def private_values():
    """Updates of elements that are known when compiling, in and out of conditions and past the tensor's end; values that
    change nothing; numbers of lanes around those of a program."""
    for dtype in ("i32", "i64", "f32", "f64"):
        for op, function in (("add", np.add), ("max", np.maximum), ("min", np.minimum)):
            p = program(f"atomic/value/{op}/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], H: ts.Tensor["m", ts.{dtype}], T: ts.Tensor[1, 2, ts.{dtype}]):
    i = ts.tile.linear_id()
    if i < n:
        ts.tile.atomic_{op}(H, 0, X[i])
        if X[i] > 40:
            ts.tile.atomic_{op}(H, 2, X[i])
            ts.tile.atomic_{op}(T, (0, 1), X[i])
""")
            for n, m in ((0, 3), (1, 1), (7, 2), (1000, 3), (4096, 5), (4097, 3), (100003, 3)):
                x = random("i8", (n,), n).astype("f8" if dtype[0] == "f" else "i8")
                h, t = np.full(m, -0.0 if dtype[0] == "f" else 5).astype(x.dtype), np.full((1, 2), 50, x.dtype)
                values, pair = h.copy(), t.copy()
                for target, part in ((values[:1], x), (values[2:3], x[x > 40]), (pair[0, 1:], x[x > 40])):
                    function.at(target, np.zeros(part.size if target.size else 0, "i8"), part if target.size else part[:0])
                p.run({"n": n, "m": m}, {"X": (dtype, x)},
                      {"H": want(dtype, values, initial=h), "T": want(dtype, pair, initial=t)})
            yield p
        p = program(f"atomic/group/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], T: ts.Tensor[1, ts.{dtype}]):
    i = ts.tile.linear_id()
    part = ts.tile.group.sum(X[i])
    if i < n:
        if ts.tile.local_id() == 0:
            ts.tile.atomic_add(T, 0, part)
""")
        for n in (0, 1, 31, 4097, 100003):
            x = random("i8", (n,), n).astype("f8" if dtype[0] == "f" else "i8")
            p.run({"n": n}, {"X": (dtype, x)}, {"T": want(dtype, [x.sum()], initial=np.zeros(1))})
        yield p


def atomics():
    for dtype in ("i32", "i64", "f32", "f64"):
        for op, function in (("add", np.add), ("max", np.maximum), ("min", np.minimum)):
            p = program(f"atomic/{op}/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], I: ts.Tensor["n", ts.i32], H: ts.Tensor["m", ts.{dtype}]):
    i = ts.tile.linear_id()
    if i < n:
        ts.tile.atomic_{op}(H, I[i], X[i])
""")
            x = random("i8", (3000,), 1).astype("f8" if dtype[0] == "f" else "i8")
            index = np.random.default_rng(2).integers(-2, 12, 3000)
            h = random("i8", (10,), 3).astype(x.dtype)
            values = h.copy()
            inside = (index >= 0) & (index < 10)
            function.at(values, index[inside], x[inside])
            yield p.run({"n": 3000, "m": 10}, {"X": (dtype, x), "I": ("i32", index)}, {"H": want(dtype, values, initial=h)})
    yield from private_tables()
    yield from shared_indices()
    yield from private_values()
    yield from atomic_tiles()
    yield from atomic_subscripts()
    p = program("atomic/counter", """@ts.kernel
def k(count: ts.Tensor[1, ts.i32], seen: ts.Tensor["n", ts.i32]):
    i = ts.tile.linear_id()
    if i < n:
        slot = ts.tile.atomic_add(count, 0, 1)
        seen[slot] = 1
""")
    yield p.run({"n": 2000}, {}, {"count": want("i32", [2000], initial=np.zeros(1)), "seen": want("i32", np.ones(2000))})
    p = program("atomic/exchange", """@ts.kernel
def k(a: ts.Tensor[1, ts.i32], b: ts.Tensor[1, ts.i32], old: ts.Tensor[4, ts.i32]):
    i = ts.tile.linear_id()
    if i < 1:
        old[0] = ts.tile.atomic_xchg(a, 0, 5, order="acq_rel", scope="device")
        old[1] = ts.tile.atomic_cas(b, 0, 7, 9, order="seq_cst", scope="system")
        old[2] = ts.tile.atomic_cas(b, 0, 7, 11)
        old[3] = ts.tile.atomic_add(b, 1, 3)
""")
    yield p.run({}, {}, {"a": want("i32", [5], initial=[3]), "b": want("i32", [9], initial=[7]), "old": want("i32", [3, 7, 9, 0])})
    p = program("atomic/tile", """@ts.kernel
def k(I: ts.Tensor["n", ts.i32], H: ts.Tensor["m", ts.i32]):
    for i in ts.tile.parallel(0, n, 32):
        ts.tile.atomic_add(H, I[i:i+32], 1)
""")
    index = np.random.default_rng(4).integers(0, 7, 64)
    yield p.run({"n": 64, "m": 7}, {"I": ("i32", index)}, {"H": want("i32", np.bincount(index, minlength=7), initial=np.zeros(7))})


def atomic_subscripts():
    """Atomics on what subscripts select: slices, slices with steps, tiles of indices before, behind and without a slice."""
    for dtype in ("i32", "f32"):
        p = program(f"atomic/subscripts/{dtype}", f"""@ts.kernel
def k(I: ts.Tensor["n", ts.i32], X: ts.Tensor["n", "w", ts.{dtype}], A: ts.Tensor["m", "w", ts.{dtype}], B: ts.Tensor["w", "m", ts.{dtype}],
      C: ts.Tensor["n", "w", ts.{dtype}], D: ts.Tensor["n", "m", ts.{dtype}], E: ts.Tensor["m", "m", "w", ts.{dtype}],
      F: ts.Tensor["n", ts.{dtype}]):
    for i in ts.tile.parallel(0, n, 8):
        at = I[i:i+8]
        ts.tile.atomic_add(D[i, at], 1)
        ts.tile.atomic_add(F[0], 1)
        ts.tile.atomic_add(F[i:i+8:2], 5)
        for j in ts.tile.range(0, w, 4):
            x = X[i:i+8, j:j+4]
            ts.tile.atomic_add(A[at, j:j+4], x)
            ts.tile.atomic_add(B[j:j+4, at], x.T)
            ts.tile.atomic_add(C[i-1:i+7, j:j+4], value=x)
            ts.tile.atomic_add(C[i:i+8, 0], ts.tile.row_sum(x))
            ts.tile.atomic_add(E[at[:, None], at[None, 0:4], j:j+4], 1)
""")
        for n, m, w in ((1, 1, 1), (8, 3, 4), (21, 6, 7)):
            rng = np.random.default_rng(n)
            index, x = rng.integers(-1, m + 1, n), rng.integers(-9, 10, (n, w))
            inside = (index >= 0) & (index < m)
            a, b, d, e = np.zeros((m, w)), np.zeros((w, m)), np.zeros((n, m)), np.zeros((m, m, w))
            np.add.at(a, index[inside], x[inside])
            np.add.at(b.T, index[inside], x[inside])
            c = np.concatenate([x[1:], np.zeros((1, w), "i8")])
            c[:, 0] += x.sum(1)
            f = np.where(np.arange(n) % 2, 0, 5)
            for i in range(0, n, 8):
                rows = index[i:i + 8]
                np.add.at(d[i], rows[inside[i:i + 8]], 1)
                f[0] += 1
                for r in rows[inside[i:i + 8]]:
                    for s in rows[:4][inside[i:i + 4]]:
                        e[r, s] += 1
            p.run({"n": n, "m": m, "w": w}, {"I": ("i32", index), "X": (dtype, x)},
                  {name: want(dtype, values, initial=np.zeros(values.shape))
                   for name, values in {"A": a, "B": b, "C": c, "D": d, "E": e, "F": f}.items()})
        yield p


def atomic_tiles():
    """Atomics on tiles whose last program reaches past the tensor: numbers, tiles and both as index and as value."""
    for dtype in ("i32", "i64", "f32", "f64"):
        for op, function in (("add", np.add), ("max", np.maximum), ("min", np.minimum)):
            p = program(f"atomic/tiles/{op}/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", "r", ts.{dtype}], I: ts.Tensor["n", ts.i32], J: ts.Tensor["n", ts.i64], H: ts.Tensor[4, "m", ts.{dtype}],
      G: ts.Tensor["m", ts.{dtype}]):
    for i in ts.tile.parallel(0, n, 32):
        x = X[i:i+32, 0:4]
        value = ts.tile.row_{'sum' if op == 'add' else op}(x)
        ts.tile.atomic_{op}(H, (0, 1), value)
        ts.tile.atomic_{op}(H, (1, I[i:i+32]), {"2.0" if dtype[0] == "f" else "2"})
        ts.tile.atomic_{op}(H, (2, J[i:i+32]), value)
        ts.tile.atomic_{op}(H, (I[i:i+32] - 1, J[i:i+32]), value)
        ts.tile.atomic_{op}(G, m - 1, ts.tile.{'sum' if op == 'add' else op}(x, axis=0))
""")
            for n, r, m in ((1, 1, 2), (31, 3, 5), (64, 4, 7), (65, 2, 3)):
                generator = np.random.default_rng(n)
                x = random("i8", (n, r), n).astype("f8" if dtype[0] == "f" else "i8")
                i, j = generator.integers(-2, m + 2, n), generator.integers(-2, m + 2, n)
                h = random("i8", (4, m), 3).astype(x.dtype)
                g = h[3].copy()
                out, last = h.copy(), g.copy()
                value = function.reduce(x, axis=1)
                columns = np.concatenate([function.reduce(x[k:k + 32], axis=0) for k in range(0, n, 32)])
                for row, column, v in ((0 * i, 0 * i + 1, value), (0 * i + 1, i, 0 * value + 2), (0 * i + 2, j, value), (i - 1, j, value)):
                    inside = (row >= 0) & (row < 4) & (column >= 0) & (column < m)
                    function.at(out, (row[inside], column[inside]), v[inside])
                function.at(last, np.full(len(columns), m - 1), columns)
                p.run({"n": n, "r": r, "m": m}, {"X": (dtype, x), "I": ("i32", i), "J": ("i64", j)},
                      {"H": want(dtype, out, initial=h), "G": want(dtype, last, initial=g)})
            yield p


def random_numbers():
    p = program("rand/lanes", """@ts.kernel
def k(Z: ts.Tensor["n", ts.f32], seed: ts.i64):
    i = ts.tile.linear_id()
    if i < n:
        Z[i] = ts.tile.rand(seed, i)
""")
    for seed in (0, 42, 1 << 40, -1):
        p.run({"n": 1000}, {}, {"Z": want("f32", philox(seed & (1 << 64) - 1, np.arange(1000)))}, {"seed": seed})
    yield p
    p = program("rand/tiles", """@ts.kernel
def k(Z: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 32):
        Z[i:i+32] = ts.tile.rand(7, i + ts.tile.arange(32))
""")
    yield p.run({"n": 100}, {}, {"Z": want("f32", philox(7, np.arange(100)))})


def programs():
    yield from shared()
    yield from edges()
    yield from elements()
    yield from atomics()
    yield from random_numbers()
