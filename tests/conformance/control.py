"""Loops, branches, while, rebinding, helpers: with trip counts of zero and data-dependent paths."""
import zlib

import numpy as np

from cases import program, want
from dtypes import quantize, random, wrap


def loops():
    p = program("loop/prefix-sum", """@ts.kernel
def k(X: ts.Tensor["M", "N", ts.i32], Z: ts.Tensor["M", "N", ts.i32]):
    for m in ts.tile.parallel(0, M, 4):
        carry = ts.tile.zeros((4,), ts.i32)
        for n in ts.tile.range(0, N, 16):
            x = X[m:m+4, n:n+16]
            Z[m:m+4, n:n+16] = ts.tile.cumsum(x, axis=1) + carry[:, None]
            carry = carry + ts.tile.row_sum(x)
""")
    for m, n in ((4, 16), (5, 50), (1, 1), (3, 0)):
        x = random("i8", (m, n), 1)
        p.run({"M": m, "N": n}, {"X": ("i32", x)}, {"Z": want("i32", np.cumsum(x, axis=1))})
    yield p

    for stages in (1, 2, 3):
        p = program(f"loop/bounds/stages{stages}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor["P", ts.f32], lo: ts.i32, hi: ts.i32):
    p = ts.tile.grid(P)
    acc = ts.tile.zeros((8,), ts.f32)
    for i in ts.tile.range(lo, hi, 8, stages={stages}):
        acc = acc + X[i:i+8]
    Z[p] = ts.tile.sum(acc)
""")
        x = np.arange(1, 41, dtype="f8")
        for lo, hi in ((0, 40), (8, 24), (24, 8), (0, 0), (0, 1), (32, 48)):
            taken = sum(x[i:i + 8].sum() for i in range(lo, hi, 8))
            p.run({"n": 40, "P": 2}, {"X": ("f32", x)}, {"Z": want("f32", np.full(2, taken))}, {"lo": lo, "hi": hi})
        yield p

    p = program("loop/nested", """@ts.kernel
def k(Z: ts.Tensor["n", ts.i32]):
    i = ts.tile.linear_id()
    if i < n:
        total = 0
        for a in range(i):
            for b in range(0, a, 2):
                total += 1
        Z[i] = total
""")
    yield p.run({"n": 40}, {}, {"Z": want("i32", [sum(1 for a in range(i) for b in range(0, a, 2)) for i in range(40)])})

    # Unrolled: in extents, as a tuple's index, in helpers, around and inside loops that run, down, empty.
    p = program("loop/static", """
def weighted(parts, count):
    total = parts[0] * 0.0
    for j in ts.static_range(count):
        if j == 2:
            total = total + 100.0
        else:
            total = total + parts[j] * (j + 1.0)
    return total

@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor[7, 16, ts.f32]):
    x = X[0:16]
    parts = (x, x + 1.0, x + 2.0)
    for j in ts.tile.static_range(3):
        Z[j, 0:16] = parts[j]
    Z[3, 0:16] = weighted(parts, 2)
    Z[4, 0:16] = weighted(parts, 3)
    acc = ts.tile.zeros((16,), ts.f32)
    for i in range(n // 16):
        for j in ts.tile.static_range(2, -1, -1):
            acc = acc + parts[j] * 2.0 ** j
        for j in ts.tile.static_range(0):
            acc = acc * 0.0
    Z[5, 0:16] = acc
    wide = ts.tile.zeros((16,), ts.f32)
    for j in ts.tile.static_range(1, 4):
        for i in range(j):
            wide = wide + ts.tile.sum(ts.tile.full((2 * j,), 1.0, ts.f32))
    Z[6, 0:16] = wide
""")
    for n in (16, 32):
        x = np.round(random("f32", (n,), 1, -9, 9))
        first = x[:16]
        parts = [first, first + 1, first + 2]
        turn = parts[2] * 4 + parts[1] * 2 + parts[0]
        z = np.stack([*parts, parts[0] + 2 * parts[1], parts[0] + 2 * parts[1] + 100, turn * (n // 16), np.full(16, 2 + 8 + 18)])
        p.run({"n": n}, {"X": ("f32", x)}, {"Z": want("f32", z)})
    yield p

    p = program("loop/down-a-tree", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 32):
        x = X[i:i+32]
        for step in range(3):
            x = x * 0.5 + 1.0
        Z[i:i+32] = x
""")
    x = random("f32", (50,), 2)
    yield p.run({"n": 50}, {"X": ("f32", x)}, {"Z": want("f32", ((x * .5 + 1) * .5 + 1) * .5 + 1, ulps=2)})


def branches():
    p = program("if/lanes", """@ts.kernel
def k(X: ts.Tensor["n", ts.i32], Z: ts.Tensor["n", ts.i32]):
    i = ts.tile.linear_id()
    if i < n:
        x = X[i]
        if x < -10:
            y = -1
        elif x < 10 and x != 0:
            y = x * 2
        elif not (x == 0) or i > 1000000:
            y = 1
        else:
            y = 100
        Z[i] = y
""")
    x = random("i8", (300,), 1) // 4
    x[::7] = 0
    values = np.where(x < -10, -1, np.where((x < 10) & (x != 0), 2 * x, np.where(x != 0, 1, 100)))
    yield p.run({"n": 300}, {"X": ("i32", x)}, {"Z": want("i32", values)})

    # A choice between literals is as weak as they are: the values of a check sum in u32 and u8.
    p = program("if/literals", """
def crc_byte(crc, byte):
    crc = crc ^ byte
    for _ in range(8):
        crc = (crc >> 1) ^ (0xEDB88320 if (crc & 1) != 0 else 0)
    return crc

@ts.kernel
def k(X: ts.Tensor["n", "L", ts.u8], Z: ts.Tensor["n", ts.u32], B: ts.Tensor["n", ts.u8]):
    i = ts.tile.linear_id()
    if i < n:
        crc = ts.u32(0xFFFFFFFF)
        for j in range(L):
            crc = crc_byte(crc, ts.cast(X[i, j], ts.u32))
        Z[i] = ~crc
        part = 255 if L > 5 else 128
        B[i] = X[i, 0] + part
""")
    for n, length in ((5, 13), (3, 1)):
        x = random("u8", (n, length), 3)
        crcs = [zlib.crc32(row.astype("u1").tobytes()) for row in x]
        p.run({"n": n, "L": length}, {"X": ("u8", x)}, {"Z": want("u32", crcs), "B": want("u8", x[:, 0] + (255 if length > 5 else 128))})
    yield p

    p = program("if/uniform", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor["n", ts.f32], mode: ts.i32, flip: bool = False):
    for i in ts.tile.parallel(0, n, 16):
        x = X[i:i+16]
        if mode == 1:
            x = x + 1.0
        elif mode == 2:
            x = x * x
        if flip:
            x = -x
        Z[i:i+16] = x
""")
    x = random("f32", (40,), 2)
    for mode, flip, values in ((0, False, x), (1, False, x + 1), (2, False, x * x), (2, True, -(x * x))):
        p.run({"n": 40}, {"X": ("f32", x)}, {"Z": want("f32", values)}, {"mode": mode, "flip": flip})
    yield p

    p = program("if/in-loop", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor[1, ts.f32]):
    p = ts.tile.grid(1)
    best = ts.tile.zeros((8,), ts.f32)
    turns = 0
    for i in ts.tile.range(0, n, 8):
        if turns < 2:
            best = ts.tile.maximum(best, X[i:i+8])
        else:
            best = best + 1.0
        turns += 1
    Z[p] = ts.tile.sum(best)
""")
    x = np.abs(random("f32", (32,), 3))
    yield p.run({"n": 32}, {"X": ("f32", x)}, {"Z": want("f32", [(np.maximum(x[:8], x[8:16]) + 2).sum()], rtol=1e-6)})

    p = program("if/short-circuit", """@ts.kernel
def k(X: ts.Tensor["n", ts.i32], Z: ts.Tensor["n", ts.i32]):
    i = ts.tile.linear_id()
    if i < n:
        x = X[i]
        Z[i] = 1 if x != 0 and 12 // x > 2 else 0
""")
    x = np.arange(-6, 10)
    yield p.run({"n": 16}, {"X": ("i32", x)}, {"Z": want("i32", [int(v != 0 and 12 // v > 2) for v in x])})


def whiles():
    p = program("while/collatz", """@ts.kernel
def k(N: ts.Tensor["n", ts.i32], Z: ts.Tensor["n", ts.i32]):
    i = ts.tile.linear_id()
    if i < n:
        v = N[i]
        count = 0
        while v > 1:
            if v % 2 == 0:
                v = v // 2
            else:
                v = 3 * v + 1
            count += 1
        Z[i] = count
""")

    def steps(v):
        count = 0
        while v > 1:
            v, count = (v // 2 if v % 2 == 0 else 3 * v + 1), count + 1
        return count

    yield p.run({"n": 200}, {"N": ("i32", np.arange(200))}, {"Z": want("i32", [steps(v) for v in range(200)])})

    p = program("while/newton", """@ts.kernel
def k(X: ts.Tensor["n", ts.f64], Z: ts.Tensor["n", ts.f64]):
    i = ts.tile.linear_id()
    if i < n:
        a = X[i]
        x = a
        error = a
        while error > 1e-14 * a:
            y = 0.5 * (x + a / x)
            error = ts.tile.abs(x - y)
            x = y
        Z[i] = x
""")
    x = np.linspace(0.5, 1000, 77)
    yield p.run({"n": 77}, {"X": ("f64", x)}, {"Z": want("f64", np.sqrt(x), rtol=1e-14)})

    p = program("while/tile-state", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor["n", ts.f32], turns: ts.i32):
    for i in ts.tile.parallel(0, n, 16):
        x = X[i:i+16]
        t = 0
        while t < turns:
            x = x + 1.0
            t += 1
        Z[i:i+16] = x
""")
    for turns in (0, 1, 5):
        p.run({"n": 20}, {"X": ("f32", np.arange(20.0))}, {"Z": want("f32", np.arange(20.0) + turns)}, {"turns": turns})
    yield p


def helpers():
    p = program("helper/inlined", """def clamp(x, lo, hi):
    return ts.tile.minimum(ts.tile.maximum(x, lo), hi)

def swish(x):
    y = clamp(x, -8.0, 8.0)
    return y * ts.tile.sigmoid(y)

@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 16):
        Z[i:i+16] = swish(swish(X[i:i+16]))
""")
    x = random("f32", (33,), 1, -20, 20)

    def swish(v):
        v = np.clip(v, -8, 8)
        return v / (1 + np.exp(-v))

    yield p.run({"n": 33}, {"X": ("f32", x)}, {"Z": want("f32", swish(swish(x)), rtol=1e-6, atol=1e-6)})

    # Statements in a helper that the return of the kernel calls; a default is the module's, whatever the caller's names.
    p = program("helper/returned", """BY = 3.0

def grown(v, by=BY):
    for r in range(3):
        v = v * 2.0
    if BY > 5:
        return v
    return v + by

@ts.kernel
def k(X: ts.Tensor["n", ts.f32]) -> ts.Tensor["n", ts.f32]:
    BY = 7.0
    for i in ts.tile.parallel(0, n, 16):
        x = X[i:i+16]
    return grown(x)
""")
    x = random("f32", (33,), 1)
    yield p.run({"n": 33}, {"X": ("f32", x)}, {"result": want("f32", quantize(8 * x + 3, "f32"))})

    # After a path that has returned, names may change their dtype: nothing joins the paths again.
    p = program("helper/early", """DONE = 1

def paths(v):
    w = 5
    if v < 0:
        w = w - 6
        return w
    elif v == 3:
        if w == 5:
            return w * v
    w = ts.f32(v) * 0.5
    if w > 3.0:
        w = w * 2.0
        return ts.i32(w)
    w = 2
    return w * v

@ts.kernel
def k(X: ts.Tensor["n", ts.i32], Z: ts.Tensor["n", ts.i32]):
    i = ts.tile.linear_id()
    if i < n:
        Z[i] = paths(paths(X[i]) + X[i])
    if DONE == 1:
        return
    Z[0] = 12345
""")
    def paths(v):
        return -1 if v < 0 else 15 if v == 3 else v if v > 6 else 2 * v

    x = np.arange(-9, 10)
    yield p.run({"n": 19}, {"X": ("i32", x)}, {"Z": want("i32", [paths(paths(v) + v) for v in x])})


def scalars():
    for dtype, values in (("i64", (1 << 40, -5)), ("i32", (-(1 << 31), 7)), ("i16", (-300,)), ("i8", (-128, 127)), ("u8", (255,)),
                          ("f64", (0.1, float("-inf"))), ("f32", (0.5,)), ("f16", (1.5,)), ("bf16", (-2.0,))):
        p = program(f"scalar/{dtype}", f"""@ts.kernel
def k(Z: ts.Tensor["n", ts.{dtype}], a: ts.{dtype}):
    i = ts.tile.linear_id()
    if i < n:
        Z[i] = a
""")
        for value in values:
            if abs(value) < float("inf"):
                p.run({"n": 3}, {}, {"Z": want(dtype, np.full(3, value))}, {"a": value})
        yield p


def orders():
    """Programs whose result shows when a value is read after what it reads has been overwritten."""
    head = """@ts.kernel
def k(A: ts.Tensor[16, 16, ts.f32], Z: ts.Tensor[16, 16, ts.f32], W: ts.Tensor[16, 16, ts.f32]):
"""
    a = random("f32", (16, 16), 3)

    def case(name, body, z, w, written=None, **tolerance):
        outputs = {"Z": want("f32", z, **tolerance), "W": want("f32", w, **tolerance)}
        inputs = {"A": ("f32", a)}
        if written is not None:
            inputs, outputs["A"] = {}, want("f32", written, initial=a)
        return program(f"order/{name}", head + body).run({}, inputs, outputs)

    acc, other = np.zeros((16, 16)), np.ones((16, 16))
    for _ in range(3):
        acc, other = other * .5, a @ a + acc + 1
    yield case("product-moves-on", """    a = A[0:16, 0:16]
    acc = ts.tile.zeros((16, 16), ts.f32)
    other = ts.tile.full((16, 16), 1.0, ts.f32)
    for k in ts.tile.range(0, 3, 1):
        r = ts.tile.mma(a, a, acc)
        acc = other * 0.5
        other = r + 1.0
    Z[0:16, 0:16] = acc
    W[0:16, 0:16] = other
""", acc, other, rtol=1e-5, atol=1e-5)

    yield case("read-before-the-store", """    column = A[0:16, 0][:, None]
    Z[0:16, 0:16] = column + ts.tile.zeros((16, 16), ts.f32)
    A[0:16, 0] = ts.tile.zeros((16,), ts.f32)
    W[0:16, 0:16] = column * 2.0 + ts.tile.zeros((16, 16), ts.f32)
""", np.repeat(a[:, :1], 16, 1), np.repeat(2 * a[:, :1], 16, 1), written=np.hstack([np.zeros((16, 1)), a[:, 1:]]))

    x, y = a, quantize(a + 1, "f32")
    for _ in range(3):
        x, y = y, x.T
    yield case("swap", """    x = A[0:16, 0:16]
    y = ts.tile.reshape(x + 1.0, (16, 16))
    for k in ts.tile.range(0, 3, 1):
        t = ts.tile.reshape(x, (256,))
        x = y
        y = ts.tile.reshape(t, (16, 16)).T
    Z[0:16, 0:16] = x
    W[0:16, 0:16] = y
""", x, y)

    shifted = a.copy()
    shifted[1:15] = a[0:14]
    square = shifted
    for _ in range(2):
        square = square @ square + square
    yield case("overlap", """    A[1:15, 0:16] = A[0:14, 0:16]
    Z[0:16, 0:16] = A[0:16, 0:16]
    acc = A[0:16, 0:16]
    for k in range(2):
        acc = ts.tile.mma(acc, acc, acc)
    W[0:16, 0:16] = acc
""", shifted, square, written=shifted, rtol=1e-4, atol=1e-3)


def merges():
    """What is absent after an if, a conditional expression, a copy to shared memory."""
    x = random("f32", (21,), 4)
    padded = np.concatenate([x, np.zeros(3)]).reshape(3, 8)
    p = program("merge/partial-sums", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], S: ts.Tensor[8, ts.f32], c: ts.i32):
    g = ts.tile.grid(1)
    acc = ts.tile.zeros((8,), ts.f32)
    for j in ts.tile.range(0, n, 8):
        if j >= c:
            acc += X[j:j+8]
    S[0:8] = acc
""")
    for c in (0, 8, 24):
        p.run({"n": 21}, {"X": ("f32", x)}, {"S": want("f32", padded[c // 8:].sum(0), rtol=1e-6, atol=1e-6)}, {"c": c})
    yield p

    a, b = random("f32", (10,), 5, -2, -1), random("f32", (10,), 6, -2, -1)
    p = program("merge/whole-and-partial", """@ts.kernel
def k(A: ts.Tensor["M", ts.f32], S: ts.Tensor[3, ts.f32], c: ts.i32):
    y = ts.tile.full((16,), 5.0, ts.f32)
    z = A[0:16]
    w = z
    if c > 0:
        y = z
        w = ts.tile.full((16,), 5.0, ts.f32)
    S[0] = ts.tile.sum(y + 1.0)
    S[1] = ts.tile.sum(w)
    v = z if c > 0 else ts.tile.full((16,), 5.0, ts.f32)
    S[2] = ts.tile.sum(v + 1.0)
""")
    for c, values in ((0, [96, a.sum(), 96]), (1, [(a + 1).sum(), 80, (a + 1).sum()])):
        p.run({"M": 10}, {"A": ("f32", a)}, {"S": want("f32", values, rtol=1e-6)}, {"c": c})
    yield p

    p = program("merge/loads-in-branches", """@ts.kernel
def k(A: ts.Tensor["M", ts.f32], B: ts.Tensor["M", ts.f32], S: ts.Tensor[2, ts.f32], c: ts.i32):
    if c > 0:
        x = A[0:16]
    else:
        x = B[0:16]
    S[0] = ts.tile.max(x)
    y = A[0:16]
    if c > 0:
        y = y + B[0:16]
    S[1] = ts.tile.max(y)
""")
    for c, values in ((0, [b.max(), a.max()]), (1, [a.max(), (a + b).max()])):
        p.run({"M": 10}, {"A": ("f32", a), "B": ("f32", b)}, {"S": want("f32", values, rtol=1e-6)}, {"c": c})
    yield p

    m = random("f32", (5, 5), 7)
    exact = (m @ m + m + 100).sum()
    p = program("merge/accumulator", """@ts.kernel
def k(A: ts.Tensor[5, 5, ts.f32], S: ts.Tensor[2, ts.f32]):
    a = A[0:8, 0:8]
    S[0] = ts.tile.sum(ts.tile.mma(a, a, a + 100.0))
    S[1] = ts.tile.sum(ts.tile.mma(a, a) + (a + 100.0))
""")
    yield p.run({}, {"A": ("f32", m)}, {"S": want("f32", [exact, exact], rtol=1e-5)})

    p = program("merge/argmax-tie", """@ts.kernel
def k(A: ts.Tensor["M", ts.f32], S: ts.Tensor[1, ts.i32]):
    S[0] = ts.tile.argmax(A[-2:6])
""")
    yield p.run({"M": 4}, {"A": ("f32", np.full(4, -np.inf))}, {"S": want("i32", [2])})

    n = random("f32", (6, 21), 8, -2, -1)
    p = program("merge/shared", """@ts.kernel
def k(A: ts.Tensor["M", "N", ts.f32], S: ts.Tensor["M", ts.f32], c: ts.i32):
    s = ts.tile.alloc_shared((4, 8), ts.f32)
    for m in ts.tile.parallel(0, M, 4):
        best = ts.tile.full((4,), -float('inf'), ts.f32)
        for j in ts.tile.range(0, N, 8):
            ts.tile.barrier()
            ts.tile.cp_async(s, A[m:m+4, j:j+8])
            ts.tile.barrier()
            if c > 0:
                best = ts.tile.maximum(best, ts.tile.row_max(s))
            if c > 5:
                best = best + 1.0
            best = ts.tile.maximum(best, ts.tile.row_max(s))
        S[m:m+4] = best
""")
    for c in (0, 1):
        p.run({"M": 6, "N": 21}, {"A": ("f32", n)}, {"S": want("f32", n.max(1))}, {"c": c})
    yield p

    p = program("merge/shared-part", """@ts.kernel
def k(A: ts.Tensor["M", "N", ts.f32], S: ts.Tensor[3, ts.f32], r: ts.i32):
    s = ts.tile.alloc_shared((32,), ts.f32)
    t = ts.tile.alloc_shared((32,), ts.f32)
    ts.tile.cp_async(s, A[0, 0:32])
    ts.tile.cp_async(t, A[r, 0:32])
    ts.tile.barrier()
    S[0] = ts.tile.max(s[16:32])
    for again in range(2):
        S[1] = ts.tile.max(s[:])
    S[2] = ts.tile.max(t[:])
""")
    for r, last in ((3, n[3].max()), (7, -np.inf)):
        p.run({"M": 6, "N": 21}, {"A": ("f32", n)}, {"S": want("f32", [n[0, 16:].max(), n[0].max(), last])}, {"r": r})
    yield p


def structures():
    """Tuples and lists in loops, branches and helpers; conditions of `while` that take statements."""
    p = program("tuple/carried", """
def step(state, x):
    low, (high, count) = state
    return ts.tile.minimum(low, x), (ts.tile.maximum(high, x), count + 1)

@ts.kernel
def k(X: ts.Tensor["n", ts.i32], Z: ts.Tensor[3, 8, ts.i32], c: ts.i32):
    state = (X[0:8], (X[0:8], 0))
    for i in range(8, n, 8):
        if i < c:
            state = step(state, X[i:i+8])
        elif i == c:
            state = (state[1][0], (state[0], state[1][1]))
    Z[0, 0:8] = state[0]
    Z[1, 0:8] = state[1][0]
    Z[2, 0:8] = ts.tile.full((8,), state[1][1])
""")
    for n, c in ((64, 64), (64, 24), (40, 0), (8, 9)):
        x = random("i32", (n,), 1)
        low = high = x[:8]
        count = 0
        for i in range(8, n, 8):
            if i < c:
                low, high, count = np.minimum(low, x[i:i + 8]), np.maximum(high, x[i:i + 8]), count + 1
            elif i == c:
                low, high = high, low
        p.run({"n": n}, {"X": ("i32", x)}, {"Z": want("i32", np.stack([low, high, np.full(8, count)]))}, {"c": c})
    yield p

    p = program("list/items", """
def rotated(items, by):
    return [items[(i + by) % len(items)] for i in ts.static_range(len(items))]

@ts.kernel
def k(X: ts.Tensor["n", ts.i32], Z: ts.Tensor[4, 8, ts.i32], c: ts.i32):
    sums = [ts.tile.zeros((8,), ts.i32)] * 3 + [ts.tile.full((8,), 5, ts.i32)]
    for i in range(0, n, 8):
        for j in ts.static_range(4):
            if j > c:
                sums[j] += X[i:i+8] * j
            else:
                sums[j - 1] = sums[j] + 1
        sums = rotated(sums, 1)
    for j, item in enumerate(sums):
        Z[j, 0:8] = item
""")
    for n, c in ((32, 0), (16, 2), (8, 9), (0, 1)):
        x = random("i8", (n,), 1).astype("i8")
        sums = [np.zeros(8, "i8")] * 3 + [np.full(8, 5, "i8")]
        for i in range(0, n, 8):
            for j in range(4):
                if j > c:
                    sums[j] = sums[j] + x[i:i + 8] * j
                else:
                    sums[j - 1] = sums[j] + 1
            sums = [sums[(j + 1) % 4] for j in range(4)]
        p.run({"n": n}, {"X": ("i32", x)}, {"Z": want("i32", np.stack(sums))}, {"c": c})
    yield p

    p = program("tuple/branches", """
def ordered(a, b):
    if a < b:
        return a, b
    return b, a

@ts.kernel
def k(X: ts.Tensor["n", ts.i32], Y: ts.Tensor["n", ts.i32], Z: ts.Tensor["n", ts.i32]):
    i = ts.tile.linear_id()
    if i < n:
        low, high = ordered(X[i], Y[i])
        pair = (low, high) if low % 2 == 0 else (high, low)
        if high > 50:
            rest = (pair[0], 1)
        else:
            rest = (pair[1], 2)
        Z[i] = pair[0] * 1000 + rest[0] * 10 + rest[1]
""")
    x, y = random("i8", (70,), 1).astype("i8"), random("i8", (70,), 2).astype("i8")
    low, high = np.minimum(x, y), np.maximum(x, y)
    a, b = np.where(low % 2 == 0, low, high), np.where(low % 2 == 0, high, low)
    yield p.run({"n": 70}, {"X": ("i32", x), "Y": ("i32", y)},
                {"Z": want("i32", a * 1000 + np.where(high > 50, a * 10 + 1, b * 10 + 2))})

    p = program("while/calls", """
def more(T, count, limit):
    return ts.tile.atomic_add(T, 0, 1) < limit and count < 5

@ts.kernel
def k(T: ts.Tensor[2, ts.i32], Z: ts.Tensor[2, ts.i32], limit: ts.i32):
    count = 0
    while more(T, count, limit):
        count += 1
        inner = 0
        while inner < count and ts.tile.atomic_add(T, 1, 2) < 9:
            inner += 1
    Z[0] = count
    Z[1] = limit
""")
    for limit in (0, 1, 3, 9):
        t, count = [0, 0], 0
        while True:
            t[0] += 1
            if not (t[0] - 1 < limit and count < 5):
                break
            count += 1
            inner = 0
            while inner < count:
                t[1] += 2
                if not t[1] - 2 < 9:
                    break
                inner += 1
        p.run({}, {"T": ("i32", np.zeros(2))}, {"T": want("i32", t), "Z": want("i32", [count, limit])}, {"limit": limit})
    yield p


def phases():
    """Several parallel loops in one kernel: of other ranks, empty ones, with steps, bounds and statements before."""
    p = program("phases/three", """@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], Y: ts.Tensor["n", ts.i32], Z: ts.Tensor["M", "N", ts.f32], S: ts.Tensor["M", ts.f32], W: ts.Tensor["n", ts.i32],
      first: ts.i32, last: ts.i32):
    buffer = ts.tile.alloc_shared((4, 8), ts.f32)
    scale = 2.0
    total = ts.tile.zeros((4,), ts.f32)
    for m in ts.tile.parallel(0, M, 4):
        for n in ts.tile.parallel(0, N, 8):
            scale = scale + 1.0
            buffer[:, :] = X[m:m+4, n:n+8] * scale
            Z[m:m+4, n:n+8] = buffer[:, :]
    for m in ts.tile.parallel(0, M, 4):
        for n in ts.tile.range(0, N, 8):
            total = total + ts.tile.row_sum(X[m:m+4, n:n+8])
        S[m:m+4] = total * scale
    for i in ts.tile.parallel(first, last, 3):
        W[i:i+3] = Y[i:i+3] * 2
""")
    for m, n, length, first, last in ((9, 20, 17, 2, 11), (4, 8, 1, 0, 1), (1, 1, 5, 4, 1), (0, 3, 6, 0, 6), (5, 0, 4, 0, 4), (0, 0, 3, 5, 5), (33, 17, 100, 0, 100)):
        x, y = np.round(random("f32", (m, n), m) * 8), random("i32", (length,), n)
        w = np.zeros(length)
        for i in range(first, last, 3):
            w[i:i + 3] = wrap(y[i:i + 3] * 2, "i32")
        p.run({"M": m, "N": n, "n": length}, {"X": ("f32", x), "Y": ("i32", y)}, {"Z": want("f32", x * 3), "S": want("f32", x.sum(1) * 2), "W": want("i32", w, initial=np.zeros(length))},
              {"first": first, "last": last})
    yield p

    p = program("phases/batch", """@ts.kernel
def k(X: ts.Tensor["B", "N", ts.i32], Z: ts.Tensor["B", "N", ts.i32], T: ts.Tensor["B", "N", ts.i32]):
    for n in ts.tile.parallel(0, N, 16):
        Z[n:n+16] = X[n:n+16] + 1
    for n in ts.tile.parallel(0, N, 8):
        T[n:n+8] = X[n:n+8] - 1
""")
    for b, n in ((3, 37), (1, 8), (0, 5), (2, 0)):
        x = random("i8", (b, n), n)
        p.run({"B": b, "N": n}, {"X": ("i32", x)}, {"Z": want("i32", x + 1), "T": want("i32", x - 1)})
    yield p


def backwards():
    """Blocks from the last one, which lacks rows, to the first: what one iteration keeps, the next one stores whole."""
    for name, before, store, keep in (
            ("tile", "t = ts.tile.full((16, 8), 7.0, ts.f32)", "Z[start:start+16, :] = t", "t = ts.tile.exp(t * 0.0 + ts.f32(k))"),
            ("buffer", "t = ts.tile.alloc_shared((16, 8), ts.f32)\n    t[:, :] = ts.tile.full((16, 8), 7.0, ts.f32)",
             "Z[start:start+16, :] = t[:, :]", "t[:, :] = ts.tile.exp(t[:, :] * 0.0 + ts.f32(k))"),
            ("part", "t = ts.tile.alloc_shared((2, 16, 8), ts.f32)\n    t[1, :, :] = ts.tile.full((16, 8), 7.0, ts.f32)",
             "Z[start:start+16, :] = t[1, :, :]", "t[1, :, :] = ts.tile.exp(ts.tile.full((16, 8), 1.0, ts.f32) * ts.f32(k))")):
        p = program(f"backwards/{name}", f"""@ts.kernel
def k(Z: ts.Tensor["M", 8, ts.f32]):
    {before}
    blocks = (M + 15) // 16
    for k in ts.tile.range(0, blocks, 1):
        start = (blocks - 1 - k) * 16
        {store}
        {keep}
""")
        for m in (5, 16, 37, 50):
            z = np.zeros((m, 8))
            blocks = -(-m // 16)
            for k in range(blocks):
                z[(blocks - 1 - k) * 16:(blocks - k) * 16] = np.exp(k - 1) if k else 7
            p.run({"M": m}, {}, {"Z": want("f32", z, rtol=1e-6)})
        yield p


def programs():
    yield from phases()
    yield from backwards()
    yield from loops()
    yield from merges()
    yield from orders()
    yield from branches()
    yield from whiles()
    yield from helpers()
    yield from scalars()
    yield from structures()
