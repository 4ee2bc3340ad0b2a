"""Gathers and scatters: tensors indexed by tiles of integers.

Expected values come from NumPy's indexing of the tensor padded with an element that stands for what is out of bounds.
"""
import numpy as np

from cases import program, want
from dtypes import DTYPES, random

SIZES = [(1, 1, 1), (5, 3, 7), (16, 8, 20), (23, 33, 16), (64, 5, 64), (70, 17, 65)]  # of the table: rows, columns; indices


def indices(rng, count, rows, kind):
    """`valid` ones with duplicates, `outside` ones with negative and too large ones, `all` outside."""
    if kind == "all":
        return rng.choice([-5, -1, rows, rows + 7], count)
    return rng.integers(*((0, rows) if kind == "valid" else (-3, rows + 3)), count)


def rows_of(table, index):
    """The rows at `index`; 0 where it is outside."""
    inside = (index >= 0) & (index < len(table))
    return np.where(inside.reshape(index.shape + (1,) * (table.ndim - 1)), table[np.where(inside, index, 0)], 0), inside


def per_dtype():
    for dtype in ("f32", "bf16", "f64", "i32", "i64", "u8", "bool", "fp8_e4m3"):
        p = program(f"gather/rows/{dtype}", f"""@ts.kernel
def k(T: ts.Tensor["V", "D", ts.{dtype}], I: ts.Tensor["n", ts.i32], Y: ts.Tensor["n", "D", ts.{dtype}]):
    for i in ts.tile.parallel(0, n, 16):
        for d in ts.tile.parallel(0, D, 32):
            Y[i:i+16, d:d+32] = T[I[i:i+16], d:d+32]
""")
        for rows, columns, count in SIZES:
            rng = np.random.default_rng(rows)
            table = random(dtype, (rows, columns), rng)
            index = indices(rng, count, rows, "outside")
            got, inside = rows_of(table, index)
            old = random(dtype, (count, columns), rng)
            p.run({"V": rows, "D": columns, "n": count}, {"T": (dtype, table), "I": ("i32", index)},
                  {"Y": want(dtype, np.where(inside[:, None], got, old), initial=old)})
        yield p


def shared(buffer, tensor, shape, dtype="i32"):
    """Lines that copy a tensor to a shared buffer."""
    slices = ", ".join(f"0:{n}" for n in shape)
    return f"""    {buffer} = ts.tile.alloc_shared({shape}, ts.{dtype})
    {buffer}[{slices}] = {tensor}[{slices}]
    ts.tile.barrier()
"""


def forms():
    """Places of the tiles of indices among the dims, their ranks and dtypes."""
    T = np.arange(6 * 5 * 7).reshape(6, 5, 7) + 1
    a, b = np.array([[3, 0], [5, 2], [1, 1]]), np.array([4, 2])
    c = np.array([0, 6, 3, 9])  # 9 is outside
    for name, index, expected in (
            ("first", "X[A, 1, 0:7]", T[a, 1, :]),
            ("middle", "X[2, B, 0:7]", T[2][b]),
            ("last", "X[2, 0:5, C]", np.where(c < 7, T[2][:, np.minimum(c, 6)], 0)),
            ("before-slices", "X[A, 0:5, 2:6]", T[a][:, :, :, 2:6]),
            ("between-slices", "X[1:5, B, 2:4]", T[1:5][:, b, 2:4]),
            ("after-slices", "X[0:6, 0:5, B]", T[:, :, b]),
            ("two", "X[A, B, 0:7]", T[a, b]),
            ("two-apart", "X[A, 3, B]", T[a, 3, b]),
            ("around-slice", "X[A, 1:5, B]", T[a, 1:5, b]),
            ("around-slice-outside", "X[B, 2:8, C[0:2] * 3]", np.stack([np.pad(T[4, 2:, 0], (0, 3)), np.zeros(6)])),
            ("three", "X[A, B, 6 - A]", T[a, b, 6 - a]),
            ("outer", "X[B[:, None], B, 0:7]", T[b[:, None], b]),
            ("computed", "X[(A + 1) % 6, B - 1, 0:7]", T[(a + 1) % 6, b - 1]),
            ("i64", "X[ts.tile.cast(A, ts.i64), 0, 0:7]", T[a, 0]),
            ("u8", "X[ts.tile.cast(A, ts.u8), 0, 0:7]", T[a, 0]),
            ("arange", "X[ts.tile.arange(4) + 2, 0, 0:7]", T[2:6, 0]),
            ("wrapping", "X[ts.tile.arange(4) - 2, 0, 0:7]", np.concatenate([np.zeros((2, 7)), T[:2, 0]])),
            ("past-slice", "X[B, 3:7, 0:7]", np.concatenate([T[b][:, 3:], np.zeros((2, 2, 7))], axis=1)),
            ("masked-index", "X[ts.tile.mask(A, A < 4), 0, 0:7]", np.where(a[..., None] < 4, T[a, 0], 0)),
            ("index-of-index", "X[IA[A, 1], 0, 0:7] + 1", np.where(a[..., None] < 3, T[a[np.minimum(a, 2), 1], 0] + 1, 0)),
            ("scalar-outside", "X[7, B, 0:7]", np.zeros((2, 7)))):
        expected = np.asarray(expected)
        slices = ", ".join(f"0:{n}" for n in expected.shape)
        dims = ", ".join(str(n) for n in expected.shape)
        for place, copy in (("tensor", ""), ("shared", shared("S", "X", (6, 5, 7)))):
            p = program(f"gather/form/{place}/{name}", f"""@ts.kernel
def k(X: ts.Tensor["a", "b", "c", ts.i32], IA: ts.Tensor[3, 2, ts.i32], IB: ts.Tensor[2, ts.i32], IC: ts.Tensor[4, ts.i32], Y: ts.Tensor[{dims}, ts.i32]):
    A = IA[0:3, 0:2]
    B = IB[0:2]
    C = IC[0:4]
{copy}    Y[{slices}] = ts.tile.fill_masked({index.replace("X[", "S[") if copy else index}, 0)
""")
            yield p.run({"a": 6, "b": 5, "c": 7}, {"X": ("i32", T), "IA": ("i32", a), "IB": ("i32", b), "IC": ("i32", c)}, {"Y": want("i32", expected)})


def uses():
    """What is gathered in reductions, products, branches and loops: masked elements do not count."""
    head = """@ts.kernel
def k(T: ts.Tensor["V", "D", ts.f32], I: ts.Tensor["n", ts.i32], Q: ts.Tensor[16, "D", ts.f32], Y: ts.Tensor[{shape}, ts.f32]):
"""
    for kind in ("valid", "outside", "all"):
        for rows, columns, count in SIZES:
            rng = np.random.default_rng(columns)
            table = rng.integers(-8, 9, (rows, columns)) / 2
            Q = rng.integers(-4, 5, (16, columns)) / 2
            index = indices(rng, count, rows, kind)
            got, inside = rows_of(table, index)
            low = np.where(inside[:, None], got, -np.inf)
            dims = {"V": rows, "D": columns, "n": count}
            inputs = {"T": ("f32", table), "I": ("i32", index), "Q": ("f32", Q)}
            for name, shape, body, expected in (
                    ("sum", '"D"', """    for d in ts.tile.parallel(0, D, 32):
        acc = ts.tile.zeros((32,), ts.f32)
        for i in ts.tile.range(0, n, 16):
            acc += ts.tile.sum(T[I[i:i+16], d:d+32], axis=0)
        Y[d:d+32] = acc
""", got.sum(0)),
                    ("max", '"D"', """    for d in ts.tile.parallel(0, D, 32):
        best = ts.tile.full((32,), -1e30, ts.f32)
        for i in ts.tile.range(0, n, 16):
            best = ts.tile.maximum(best, ts.tile.max(T[I[i:i+16], d:d+32], axis=0))
        Y[d:d+32] = best
""", np.maximum(low.max(0), np.float32(-1e30))),
                    ("count", "1", """    total = 0.0
    for i in ts.tile.range(0, n, 16):
        total += ts.tile.sum(ts.tile.where(T[I[i:i+16], 0] < 100.0, 1.0, 0.0))
    Y[0] = total
""", np.array([inside.sum()])),
                    ("scores", '16, "n"', """    for i in ts.tile.parallel(0, n, 16):
        acc = ts.tile.zeros((16, 16), ts.f32)
        for d in ts.tile.range(0, D, 16):
            acc = ts.tile.mma(Q[0:16, d:d+16], T[I[i:i+16], d:d+16].T, acc)
        Y[0:16, i:i+16] = ts.tile.fill_masked(acc, 0.0)
""", Q @ got.T),
                    ("lanes", '"n"', """    for i in ts.tile.parallel(0, n, 16):
        x = T[I[i:i+16], 0]
        if n > 20:
            x = x * 2.0
        Y[i:i+16] = ts.tile.fill_masked(x, 7.0)
""", np.where(inside, got[:, 0] * (2 if count > 20 else 1), 7))):
                p = program(f"gather/{name}/{kind}/{rows}x{columns}x{count}", head.format(shape=shape) + body)
                yield p.run(dims, inputs, {"Y": want("f32", expected)})


def scatters():
    for kind in ("valid", "outside", "all"):
        p = program(f"scatter/rows/{kind}", """@ts.kernel
def k(X: ts.Tensor["n", "D", ts.f32], I: ts.Tensor["n", ts.i32], Y: ts.Tensor["V", "D", ts.f32]):
    for i in ts.tile.parallel(0, n, 16):
        for d in ts.tile.parallel(0, D, 32):
            Y[I[i:i+16], d:d+32] = X[i:i+16, d:d+32]
""")
        q = program(f"scatter/elements/{kind}", """@ts.kernel
def k(X: ts.Tensor["n", "D", ts.f32], I: ts.Tensor["n", ts.i32], Y: ts.Tensor["V", "D", ts.f32]):
    for i in ts.tile.parallel(0, n, 16):
        Y[I[i:i+16], 0] = X[i:i+16, 0] + 1.0
""")
        for rows, columns, count in SIZES:
            rng = np.random.default_rng(count)
            # Each row at most once: of several elements for one place any may stay.
            index = rng.permutation(np.arange(-count, rows + count))[:count] if kind != "all" else indices(rng, count, rows, kind)
            if kind == "valid" and count <= rows:
                index = rng.permutation(rows)[:count]
            X, old = rng.integers(-9, 9, (count, columns)) * 1.0, rng.integers(-9, 9, (rows, columns)) * 1.0
            Y, Z = old.copy(), old.copy()
            inside = (index >= 0) & (index < rows)
            Y[index[inside]] = X[inside]
            Z[index[inside], 0] = X[inside, 0] + 1
            dims, inputs = {"V": rows, "D": columns, "n": count}, {"X": ("f32", X), "I": ("i32", index)}
            p.run(dims, inputs, {"Y": want("f32", Y, initial=old)})
            q.run(dims, inputs, {"Y": want("f32", Z, initial=old)})
        yield p
        yield q
    same = program("scatter/duplicates", """@ts.kernel
def k(I: ts.Tensor["n", ts.i32], Y: ts.Tensor["V", ts.f32]):
    for i in ts.tile.parallel(0, n, 16):
        Y[I[i:i+16]] = ts.tile.full((16,), 3.0, ts.f32)
""")
    index = np.array([1, 1, 4, 1, 4, 0, 9, -1])
    yield same.run({"n": 8, "V": 6}, {"I": ("i32", index)}, {"Y": want("f32", np.array([3, 3, 0, 0, 3, 0]), initial=np.zeros(6))})
    # What is read is complete before anything is written.
    swap = program("scatter/permute-in-place", """@ts.kernel
def k(I: ts.Tensor[16, ts.i32], Y: ts.Tensor[16, "D", ts.f32]):
    for d in ts.tile.parallel(0, D, 16):
        Y[I[0:16], d:d+16] = Y[0:16, d:d+16]
""")
    back = program("gather/permute-in-place", """@ts.kernel
def k(I: ts.Tensor[16, ts.i32], Y: ts.Tensor[16, "D", ts.f32]):
    for d in ts.tile.parallel(0, D, 16):
        Y[0:16, d:d+16] = Y[I[0:16], d:d+16]
""")
    masked = program("scatter/masked-value", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], I: ts.Tensor[32, ts.i32], Y: ts.Tensor[32, ts.f32]):
    Y[I[0:32]] = X[0:32] * 2.0
""")
    for columns in (1, 16, 21):
        rng = np.random.default_rng(columns)
        order, Y = rng.permutation(16), rng.integers(-9, 9, (16, columns)) * 1.0
        moved = np.empty_like(Y)
        moved[order] = Y
        swap.run({"D": columns}, {"I": ("i32", order)}, {"Y": want("f32", moved, initial=Y)})
        back.run({"D": columns}, {"I": ("i32", order)}, {"Y": want("f32", Y[order], initial=Y)})
        order, X = rng.permutation(32), rng.integers(-9, 9, columns) * 1.0
        result = np.full(32, 5.0)
        result[order[:columns]] = 2 * X
        masked.run({"n": columns}, {"X": ("f32", X), "I": ("i32", order)}, {"Y": want("f32", result, initial=np.full(32, 5.0))})
    yield from (swap, back, masked)


def steps():
    """Slices with steps, forwards and backwards, alone and beside others; past the ends of the tensor too."""
    T = np.arange(9 * 6 * 7).reshape(9, 6, 7) + 1
    padded = np.pad(T, ((0, 9), (0, 9), (0, 9)))
    for name, index, expected in (
            ("last", "X[0, 0:6, 0:7:2]", T[0, :, ::2]), ("first", "X[1:9:3, 2, 0:7]", T[1::3, 2]), ("both", "X[0:9:2, 0:6, 0:7:3]", T[::2, :, ::3]),
            ("three", "X[0:9:4, 0:6:5, 1:7:2]", T[::4, ::5, 1::2]), ("backwards", "X[0, 5::-1, 0:7]", T[0, ::-1]),
            ("backwards-last", "X[3, 4:0:-2, 6:2:-1]", T[3, 4:0:-2, 6:2:-1]), ("past", "X[0, 0:10:3, 0:16:4]", padded[0, 0:10:3, 0:16:4]),
            ("before", "X[0, 0, 4:-4:-2]", np.array([T[0, 0, 4], T[0, 0, 2], T[0, 0, 0], 0])), ("one", "X[0, 0:6:9, 0:7]", T[0, :1]),
            ("in-the-middle", "X[0:9, 0:6:2, 0:7]", T[:, ::2])):
        slices = ", ".join(f"0:{n}" for n in expected.shape)
        dims = ", ".join(str(n) for n in expected.shape)
        for place, copy in (("tensor", ""), ("shared", shared("S", "X", (9, 6, 7)))):
            p = program(f"steps/{place}/{name}", f"""@ts.kernel
def k(X: ts.Tensor["a", "b", "c", ts.i32], Y: ts.Tensor[{dims}, ts.i32]):
{copy}    Y[{slices}] = ts.tile.fill_masked({index.replace("X[", "S[") if copy else index}, 0)
""")
            yield p.run({"a": 9, "b": 6, "c": 7}, {"X": ("i32", T)}, {"Y": want("i32", expected)})
    p = program("steps/stored", """@ts.kernel
def k(X: ts.Tensor["n", "m", ts.f32], Y: ts.Tensor["n", "w", ts.f32]):
    for i in ts.tile.parallel(0, n, 8):
        for j in ts.tile.parallel(0, m, 16):
            x = X[i:i+8, j:j+16]
            Y[i:i+8, 2*j:2*j+32:2] = x
            Y[i:i+8, 2*j+1:2*j+33:2] = -x
""")
    q = program("steps/rope", """@ts.kernel
def k(X: ts.Tensor["n", "w", ts.f32], Y: ts.Tensor["n", "w", ts.f32]):
    for i in ts.tile.parallel(0, n, 8):
        for j in ts.tile.parallel(0, w, 32):
            even = X[i:i+8, j:j+32:2]
            odd = X[i:i+8, j+1:j+33:2]
            Y[i:i+8, j:j+32:2] = even - odd
            Y[i:i+8, j+1:j+33:2] = even + odd
""")
    for rows, columns in ((1, 1), (3, 16), (9, 21), (17, 40)):
        rng = np.random.default_rng(rows)
        X = rng.integers(-9, 10, (rows, columns)) * 1.0
        p.run({"n": rows, "m": columns, "w": 2 * columns}, {"X": ("f32", X)},
              {"Y": want("f32", np.stack([X, -X], axis=2).reshape(rows, -1), initial=np.full((rows, 2 * columns), 50.0))})
        X = rng.integers(-9, 10, (rows, 2 * columns)) * 1.0
        Y = np.stack([X[:, ::2] - X[:, 1::2], X[:, ::2] + X[:, 1::2]], axis=2).reshape(rows, -1)
        q.run({"n": rows, "w": 2 * columns}, {"X": ("f32", X)}, {"Y": want("f32", Y)})
    yield p
    yield q


def masked_accesses():
    """Masks of loads, stores and tiles, where the tensor ends as well."""
    head = """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], M: ts.Tensor["m", ts.bool], I: ts.Tensor[16, ts.i32], Y: ts.Tensor[16, ts.f32]):
    keep = ts.tile.fill_masked(M[0:16], False)
    i = I[0:16]
"""
    for n in (1, 7, 16, 20):
        rng = np.random.default_rng(n)
        X, M, order = rng.integers(1, 9, n) * 1.0, rng.integers(0, 2, 13), rng.permutation(16)
        keep = np.concatenate([M, [0, 0, 0]]).astype(bool)
        there = np.arange(16) < n
        x, old = np.concatenate([X, np.zeros(16)])[:16], np.full(16, 77.0)
        for name, body, expected in (
                ("load", "Y[0:16] = ts.tile.load(X[0:16], mask=keep)", np.where(keep & there, x, old)),
                ("load-other", "Y[0:16] = ts.tile.load(X[0:16], mask=keep, other=3.0)", np.where(keep & there, x, 3)),
                ("load-at", "Y[0:16] = ts.tile.load(X, 0, (16,), mask=keep, other=-1)", np.where(keep & there, x, -1)),
                ("other", "Y[0:16] = ts.tile.load(X[0:16], other=5.0)", np.where(there, x, 5)),
                ("load-gather", "Y[0:16] = ts.tile.load(X[i], mask=i < 9, other=0.0)", np.where((order < 9) & (order < n), np.concatenate([X, np.zeros(16)])[order], 0)),
                ("store", "ts.tile.store(Y[0:16], X[0:16] * 2.0, mask=keep)", np.where(keep & there, 2 * x, old)),
                ("store-at", "ts.tile.store(Y, 0, X[0:16], mask=keep)", np.where(keep & there, x, old)),
                ("store-scalar", "ts.tile.store(Y[0:16], 4.0, mask=keep)", np.where(keep, 4, old)),
                ("store-scatter", "ts.tile.store(Y[i], 2.0, mask=keep)", np.where(keep[np.argsort(order)], 2, old)),
                ("sum", "Y[0] = ts.tile.sum(ts.tile.mask(X[0:16], keep) + 1.0)", np.where(np.arange(16) == 0, ((x + 1) * (keep & there)).sum(), old)),
                ("max", "Y[0] = ts.tile.max(ts.tile.mask(-X[0:16], keep))", np.where(np.arange(16) == 0, np.where(keep & there, -x, -np.inf).max(), old)),
                ("branch", "x = X[0:16]\n    if n > 10:\n        x = ts.tile.mask(x * 2.0, keep)\n    Y[0:16] = x", np.where(there & (keep | (n <= 10)), x * (2 if n > 10 else 1), old)),
                ("elementwise", "Y[0:16] = ts.tile.exp(ts.tile.mask(X[0:16], keep)) * 0.0 + 2.0", np.where(keep & there, 2, old))):
            p = program(f"masked-access/{name}/{n}", head + "    " + body + "\n")
            yield p.run({"n": n, "m": 13}, {"X": ("f32", X), "M": ("bool", M), "I": ("i32", order)}, {"Y": want("f32", expected, initial=old)})


def paged_attention():
    """One query per sequence; keys and values are in pages of 16 that a table names."""
    p = program("gather/paged-attention", """@ts.kernel
def k(Q: ts.Tensor["B", 32, ts.f32], K: ts.Tensor["P", 16, 32, ts.f32], V: ts.Tensor["P", 16, 32, ts.f32],
      table: ts.Tensor["B", "M", ts.i32], length: ts.Tensor["B", ts.i32], O: ts.Tensor["B", 32, ts.f32]):
    for b in ts.tile.parallel(B):
        q = Q[b, 0:32]
        m = -1e30
        l = 0.0
        acc = ts.tile.zeros((32,), ts.f32)
        for j in ts.tile.range(0, length[b], 64):
            at = j + ts.tile.arange(64)
            page = table[b, at // 16]
            keys = K[page, at % 16, 0:32]
            s = ts.tile.sum(keys * q[None, :], axis=1)
            s = ts.tile.where(at < length[b], s, -1e30)
            new = ts.tile.maximum(m, ts.tile.max(s, axis=0))
            w = ts.tile.exp(s - new)
            old = ts.tile.exp(m - new)
            l = l * old + ts.tile.sum(w, axis=0)
            acc = acc * old + ts.tile.sum(w[:, None] * V[page, at % 16, 0:32], axis=0)
            m = new
        O[b, 0:32] = acc / l
""")
    rng = np.random.default_rng(3)
    B, P, M = 5, 40, 8
    length = np.array([1, 16, 17, 100, 128])
    Q, K, V = rng.standard_normal((B, 32)), rng.standard_normal((P, 16, 32)), rng.standard_normal((P, 16, 32))
    Q, K, V = (x.astype("f4").astype("f8") for x in (Q, K, V))
    table = rng.permutation(P).reshape(B, M)
    O = np.empty((B, 32))
    for b in range(B):
        keys, values = (X[table[b]].reshape(-1, 32)[:length[b]] for X in (K, V))
        w = np.exp(keys @ Q[b] - (keys @ Q[b]).max())
        O[b] = w @ values / w.sum()
    yield p.run({"B": B, "P": P, "M": M}, {"Q": ("f32", Q), "K": ("f32", K), "V": ("f32", V), "table": ("i32", table), "length": ("i32", length)},
                {"O": want("f32", O, rtol=1e-5, atol=1e-5)})


def buffers():
    """Shared memory that is gathered from and scattered to."""
    for dtype in ("f32", "bf16", "f64", "i32", "i64", "u8", "bool", "fp8_e4m3"):
        p = program(f"gather/shared/rows/{dtype}", f"""@ts.kernel
def k(T: ts.Tensor["V", "D", ts.{dtype}], I: ts.Tensor[32, ts.i32], Y: ts.Tensor[32, 21, ts.{dtype}], Z: ts.Tensor[32, ts.{dtype}]):
{shared("S", "T", (19, 21), dtype)}    index = I[0:32]
    Y[0:32, 0:21] = S[index, :]
    Z[0:32] = S[index, index + 1]
""")
        q = program(f"scatter/shared/rows/{dtype}", f"""@ts.kernel
def k(T: ts.Tensor[32, 21, ts.{dtype}], I: ts.Tensor[32, ts.i32], Y: ts.Tensor[19, 21, ts.{dtype}], Z: ts.Tensor[40, ts.{dtype}]):
    S = ts.tile.alloc_shared((19, 21), ts.{dtype})
    R = ts.tile.alloc_shared((40,), ts.{dtype})
    S[:, :] = Y[:, :]
    R[:] = Z[:]
    ts.tile.barrier()
    S[I[0:32], :] = T[:, :]
    R[I[0:32] + 3] = T[:, 2]
    ts.tile.barrier()
    Y[:, :] = S[:, :]
    Z[:] = R[:]
""")
        for kind in ("valid", "outside", "all"):
            rng = np.random.default_rng(len(kind))
            table, index, old, line = random(dtype, (19, 21), rng), indices(rng, 32, 19, kind), random(dtype, (32, 21), rng), random(dtype, (32,), rng)
            got, inside = rows_of(table, index)
            flat, both = rows_of(table.ravel(), np.where(inside & (index + 1 < 21), index * 22 + 1, -1))
            p.run({"V": 19, "D": 21}, {"T": (dtype, table), "I": ("i32", index)},
                  {"Y": want(dtype, np.where(inside[:, None], got, old), initial=old), "Z": want(dtype, np.where(both, flat, line), initial=line)})
            # Each place at most once, but for rows that are equal.
            index = rng.permutation(np.arange(-9, 23))
            index = np.where(index < 19, index, 40) if kind == "valid" else index if kind == "outside" else np.full(32, -4)
            Y, Z = table.copy(), random(dtype, (40,), rng)
            start = Z.copy()
            inside = (index >= 0) & (index < 19)
            Y[index[inside]] = old[inside]
            inside = (index + 3 >= 0) & (index + 3 < 40)
            Z[index[inside] + 3] = old[inside, 2]
            q.run({}, {"T": (dtype, old), "I": ("i32", index)}, {"Y": want(dtype, Y, initial=table), "Z": want(dtype, Z, initial=start)})
        yield p
        yield q
    same = program("scatter/shared/duplicates", """@ts.kernel
def k(I: ts.Tensor["n", ts.i32], Y: ts.Tensor[6, ts.f32]):
    S = ts.tile.alloc_shared((6,), ts.f32)
    S[:] = ts.tile.zeros((6,), ts.f32)
    ts.tile.barrier()
    S[I[0:16]] = ts.tile.full((16,), 3.0, ts.f32)     # n may be less: a masked index has no place
    ts.tile.barrier()
    Y[:] = S[:]
""")
    for index in ([1, 1, 4, 1, 4, 0, 9, -1], [], [5] * 16, [6, -1]):
        want_ = np.array([3.0 * (i in index) for i in range(6)])
        same.run({"n": len(index)}, {"I": ("i32", np.array(index, int))}, {"Y": want("f32", want_)})
    yield same
    moved = program("scatter/shared/permute-in-place", """@ts.kernel
def k(I: ts.Tensor[16, ts.i32], X: ts.Tensor[16, 21, ts.f32], Y: ts.Tensor[16, 21, ts.f32], Z: ts.Tensor[16, 21, ts.f32], N: ts.Tensor[16, 21, ts.f32]):
    S = ts.tile.alloc_shared((16, 21), ts.f32)
    R = ts.tile.alloc_shared((16, 21), ts.f32)
    S[:, :] = X[:, :]
    R[:, :] = X[:, :]
    ts.tile.barrier()
    index = I[0:16]
    back = R[index, :]
    S[index, :] = S[:, :]
    R[:, :] = R[index, :] * 2.0
    ts.tile.barrier()
    Y[:, :] = S[:, :]
    Z[:, :] = R[:, :]
    N[:, :] = back
""")
    rng = np.random.default_rng(5)
    order, X = rng.permutation(16), rng.integers(-9, 9, (16, 21)) * 1.0
    Y = np.empty_like(X)
    Y[order] = X
    yield moved.run({}, {"I": ("i32", order), "X": ("f32", X)}, {"Y": want("f32", Y), "Z": want("f32", 2 * X[order]), "N": want("f32", X[order])})
    # A copy has its tensor's edge; what is written to a buffer has none.
    edges = program("gather/shared/edge", """@ts.kernel
def k(X: ts.Tensor["m", "n", ts.f32], at: ts.Tensor[2, ts.i64], I: ts.Tensor[16, ts.i32], Y: ts.Tensor[16, 8, ts.f32], M: ts.Tensor[16, ts.f32], Z: ts.Tensor[16, 8, ts.f32]):
    S = ts.tile.alloc_shared((8, 8), ts.f32)
    a = at[0]
    b = at[1]
    ts.tile.cp_async(S, X[a:a+8, b:b+8])
    ts.tile.barrier()
    rows = S[I[0:16], :]
    Y[:, :] = ts.tile.fill_masked(rows, 5.0)
    M[:] = ts.tile.max(-ts.tile.abs(rows) - 1.0, axis=1)
    ts.tile.barrier()
    S[:, :] = X[a:a+8, b:b+8]
    ts.tile.barrier()
    Z[:, :] = ts.tile.fill_masked(S[I[0:16], :], 5.0)
""")
    for m, n, a, b in ((8, 8, 0, 0), (5, 6, 0, 0), (9, 20, 4, 15), (9, 20, -3, -2), (2, 3, -3, 1), (0, 4, 0, 0)):
        rng = np.random.default_rng(m)
        X, index = rng.integers(1, 9, (m, n)) * 1.0, rng.integers(-2, 10, 16)
        at, along = index + a, np.arange(8) + b
        ofBuffer = (index >= 0) & (index < 8)
        rows, columns = ofBuffer & (at >= 0) & (at < m), (along >= 0) & (along < n)
        there = rows[:, None] & columns
        got = np.zeros((16, 8))
        got[there] = X[np.clip(at, 0, max(m - 1, 0))][:, np.clip(along, 0, n - 1)][there] if m else 0
        largest = np.where(rows, np.where(there, -got - 1, -np.inf).max(1), 7)
        edges.run({"m": m, "n": n}, {"X": ("f32", X), "at": ("i64", np.array([a, b])), "I": ("i32", index)},
                  {"Y": want("f32", np.where(there, got, 5)), "M": want("f32", largest, initial=np.full(16, 7.0)),
                   "Z": want("f32", np.where(ofBuffer[:, None], got, 5))})
    yield edges
    # Masked elements of what is scattered become 0, as in other assignments to shared memory.
    zeros = program("scatter/shared/masked-value", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], I: ts.Tensor[32, ts.i32], Y: ts.Tensor[32, ts.f32]):
    S = ts.tile.alloc_shared((32,), ts.f32)
    S[:] = ts.tile.full((32,), 5.0, ts.f32)
    ts.tile.barrier()
    S[I[0:32]] = X[0:32] * 2.0 + 1.0
    ts.tile.barrier()
    Y[:] = S[:]
""")
    for n in (0, 7, 32, 40):
        rng = np.random.default_rng(n)
        X, index = rng.integers(1, 9, n) * 1.0, rng.permutation(np.arange(-3, 29))
        Y, inside = np.full(32, 5.0), index >= 0
        Y[index[inside]] = np.concatenate([2 * X + 1, np.zeros(32)])[:32][inside]
        zeros.run({"n": n}, {"X": ("f32", X), "I": ("i32", index)}, {"Y": want("f32", Y)})
    yield zeros
    # In loops: the buffer changes in each step. Rows of a product are masked where the index is outside.
    loop = program("gather/shared/loop", """@ts.kernel
def k(X: ts.Tensor["K", 16, ts.f32], W: ts.Tensor[16, 8, ts.f32], I: ts.Tensor[16, ts.i32], Y: ts.Tensor[16, 8, ts.f32], P: ts.Tensor[16, ts.f32]):
    S = ts.tile.alloc_shared((8, 16), ts.f32)
    index = I[0:16]
    acc = ts.tile.zeros((16, 8), ts.f32)
    for k in ts.tile.range(0, K, 8):
        S[:, :] = X[k:k+8, :]
        ts.tile.barrier()
        acc = ts.tile.mma(S[index, :], W[:, :], acc)
        S[index, 0] = ts.tile.full((16,), 1.0, ts.f32)
        ts.tile.barrier()
    Y[:, :] = acc
    P[:] = ts.tile.fill_masked(S[index, index % 2], -1.0)
""")
    for K in (0, 5, 8, 21):
        rng = np.random.default_rng(K)
        X, W, index = rng.integers(-4, 5, (K, 16)) * 1.0, rng.integers(-4, 5, (16, 8)) * 1.0, indices(rng, 16, 8, "outside")
        padded = np.pad(X, ((0, -K % 8), (0, 0))).reshape(-1, 8, 16)
        acc, last = np.zeros((16, 8)), np.full(16, -1.0)
        for S in padded:
            got, inside = rows_of(S, index)
            acc[inside] += (got @ W)[inside]
            last[inside] = np.where(index[inside] % 2 == 0, 1.0, S[index[inside], 1])
        if K:
            loop.run({"K": K}, {"X": ("f32", X), "W": ("f32", W), "I": ("i32", index)},
                     {"Y": want("f32", acc, initial=np.full((16, 8), 0.0)), "P": want("f32", last)})
    yield loop


def computed():
    """A gather and a scatter by indices of 64 bits whose parts are no longer needed after the index is known."""
    p = program("gather/computed", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Y: ts.Tensor["m", ts.f32]):
    for t in ts.tile.parallel(0, 1):
        r = t * 16 + ts.arange(16)
        c = ts.arange(16)
        Y[r[:, None] * 16 + c[None, :]] = X[r[:, None] * 4 + c[None, :]]
""")
    X = np.arange(300.0)
    p.run({"n": 300, "m": 256}, {"X": ("f32", X)}, {"Y": want("f32", (np.arange(16)[:, None] * 4 + np.arange(16)).ravel())})
    yield p


def programs():
    yield from per_dtype()
    yield from computed()
    yield from buffers()
    yield from forms()
    yield from uses()
    yield from scatters()
    yield from paged_attention()
    yield from steps()
    yield from masked_accesses()
