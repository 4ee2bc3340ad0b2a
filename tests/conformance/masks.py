"""What is masked must not depend on what the compiler knows: the same programs with constants that fold and with scalars
that do not, loops of a known and of an unknown number of iterations, products with infinities beside masked elements."""
import numpy as np

from cases import program, want
from dtypes import random

# Each gives a result of which the value is known, or nearly, without x: {c} is a constant or a scalar of that value.
INTEGERS = [("(x & {c}) + 1", 0, lambda x: x * 0 + 1), ("x % {c}", 1, lambda x: x * 0), ("x * {c}", 0, lambda x: x * 0),
            ("x | {c}", -1, lambda x: x * 0 - 1), ("(x ^ x) + {c}", 4, lambda x: x * 0 + 4), ("x - x + {c}", 2, lambda x: x * 0 + 2),
            ("(x + {c}) - x", 3, lambda x: x * 0 + 3), ("x // {c}", 1, lambda x: x), ("ts.tile.minimum(x, {c})", -(1 << 31), lambda x: x * 0 - (1 << 31)),
            ("ts.tile.where(x == x, {c}, x)", 5, lambda x: x * 0 + 5), ("ts.tile.where(x != x, x, {c})", 6, lambda x: x * 0 + 6),
            ("ts.tile.where(ts.tile.arange(8) >= 0, {c}, x)", 7, lambda x: x * 0 + 7), ("ts.tile.where({c} > 0, 8, x)", 1, lambda x: x * 0 + 8),
            ("ts.tile.where({c} > 0, x, 8)", 1, lambda x: x), ("x ** {c}", 0, lambda x: x * 0 + 1), ("(x << {c}) - x", 0, lambda x: x * 0),
            ("ts.tile.cast(x & {c}, ts.f32)", 0, lambda x: x * 0.0), ("(x - {c}) - x", 5, lambda x: x * 0 - 5)]
# They choose no element of x, so that nothing of the result is masked.
NOT_OF_X = {"ts.tile.where(ts.tile.arange(8) >= 0, {c}, x)", "ts.tile.where({c} > 0, 8, x)"}
FLOATS = [("x * {c}", 0.0, lambda x: x * 0), ("ts.tile.where(x < x, x, {c})", 2.0, lambda x: x * 0 + 2),
          ("ts.tile.maximum(x, {c})", 1000.0, lambda x: x * 0 + 1000), ("x - x + {c}", 1.0, lambda x: x * 0 + 1),
          ("ts.tile.where(x == x, {c}, {c})", 3.0, lambda x: x * 0 + 3)]


def folding():
    for dtype, cases in (("i32", INTEGERS), ("f32", FLOATS)):
        for i, (expression, c, f) in enumerate(cases):
            out = "f32" if "ts.f32" in expression else dtype
            for folds in (True, False):
                scalar = "" if folds else f", c: ts.{dtype}"
                p = program(f"masks/fold/{dtype}/{i}/{'constant' if folds else 'scalar'}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], Y: ts.Tensor["m", ts.{out}], S: ts.Tensor[2, ts.{out}]{scalar}):
    x = X[0:8]
    y = {expression.format(c=c if folds else 'c')}
    Y[0:8] = y
    S[0] = ts.tile.sum(ts.tile.where(y == y, ts.tile.full((8,), 1, ts.{out}), ts.tile.zeros((8,), ts.{out})))
    S[1] = ts.tile.max(y)
""")
                low = -(1 << 31) if out == "i32" else -np.inf
                for n in (0, 3, 8):
                    x = np.abs(random("i8", (n,), 1)) + 1
                    x = x.astype("f8") if dtype == "f32" else x
                    y = np.full(11, 77.0 if out == "f32" else 77)
                    inside = 8 if expression in NOT_OF_X else n
                    y[:inside] = f(np.resize(x, 8) if inside == 8 and n else np.zeros(8) if inside == 8 else x)
                    p.run({"n": n, "m": 11}, {"X": (dtype, x)}, {"Y": want(out, y, initial=np.full(11, 77)),
                          "S": want(out, [inside, y[:inside].max() if inside else low])}, {} if folds else {"c": c})
                yield p


def loops():
    # What a loop's body leaves out keeps its value, however often it runs and whether the compiler knows how often.
    bodies = {"sum": ("ts.tile.full((8,), 10.0, ts.f32)", "acc + X[0, 0:8]", lambda acc, x: acc + x),
              "maximum": ("ts.tile.full((8,), 10.0, ts.f32)", "ts.tile.maximum(acc, X[0, 0:8])", np.maximum),
              "replace": ("ts.tile.full((8,), 10.0, ts.f32)", "X[0, 0:8] * 2.0", lambda acc, x: x * 2),
              "loaded": ("W[0:8]", "X[0, 0:8] * 2.0", lambda acc, x: x * 2),
              "kept": ("W[0:8]", "acc * 2.0", lambda acc, x: acc * 2)}
    forms = ("ts.tile.range(0, {r}, 1)", "range(0, {r}, 1)", "range({r}, 0, -1)", "ts.tile.range(0, 3 * {r}, 3)")
    for name, (start, body, f) in bodies.items():
        for form in forms if name == "sum" else forms[:1]:
            for r in (0, 1, 2, 3):
                for known in (True, False):
                    n, w = 3, 5
                    p = program(f"masks/loop/{name}/{form.split('(')[0]}-{len(form)}/{r}{'' if known else '-scalar'}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], W: ts.Tensor["n", ts.f32], Y: ts.Tensor[11, ts.f32]{'' if known else ', R: ts.i64'}):
    acc = {start}
    for m in {form.format(r=r if known else 'R')}:
        acc = {body}
    Y[0:8] = acc
""")
                    x, loaded = random("i8", (2, n), 1).astype("f8"), np.arange(1.0, 1 + w)
                    y = np.full(11, 77.0)
                    acc = np.full(8, 10.0)
                    if "W" in start:
                        acc = np.zeros(8)
                        acc[:w] = loaded
                    for _ in range(r):
                        acc[:n] = f(acc[:n], x[0]) if name != "kept" else acc[:n]
                        if name == "kept":
                            acc = acc * 2
                    stored = w if name == "kept" else 8
                    y[:stored] = acc[:stored]
                    yield p.run({"M": 2, "N": n, "n": w}, {"X": ("f32", x), "W": ("f32", loaded)},
                                {"Y": want("f32", y, initial=np.full(11, 77))}, {} if known else {"R": r})


def products():
    """A masked element of a factor contributes nothing, infinities of the other factor included."""
    for dtype in ("f32", "f64", "bf16"):
        acc = "f64" if dtype == "f64" else "f32"
        for rows, columns, depth in ((8, 16, 8), (16, 48, 12), (3, 5, 7), (64, 64, 64)):
            shapes = [(rows, depth), (depth, columns)]
            ones = np.ones
            for side, inf in (("a", "b"), ("b", "a")):
                # Rows of a or columns of b are masked, the other factor is infinite.
                p = program(f"masks/product/{dtype}/{rows}x{columns}x{depth}/kept-{side}", f"""@ts.kernel
def k(A: ts.Tensor["M", "K", ts.{dtype}], B: ts.Tensor["K", "N", ts.{dtype}], Z: ts.Tensor[{rows}, {columns}, ts.{acc}], I: ts.Tensor[2, ts.i64]):
    i = I[0]
    j = I[1]
    acc = ts.tile.zeros(({rows}, {columns}), ts.{acc})
    for r in ts.tile.range(0, 2, 1):
        acc = ts.tile.mma(A[i:i+{rows}, 0:{depth}], B[0:{depth}, j:j+{columns}], acc)
    Z[0:{rows}, 0:{columns}] = acc
""")
                for start, left in ((0, 1), (0, 2), (-1, 2), (-2, 100)):
                    i, j = (start, 0) if side == "a" else (0, start)
                    m, n = (min(left, rows), columns) if side == "a" else (rows, min(left, columns))
                    a, b = ones((m, depth)), ones((depth, n))
                    (b if side == "a" else a)[...] = np.inf
                    whole = np.zeros((rows, columns))
                    for r in range(rows):
                        for c in range(columns):
                            if 0 <= r + i < m and 0 <= c + j < n:
                                whole[r, c] = np.inf
                    p.run({"M": m, "K": depth, "N": n}, {"A": (dtype, a), "B": (dtype, b), "I": ("i64", np.array([i, j], "i8"))},
                          {"Z": want(acc, whole, initial=np.zeros((rows, columns)))})
                yield p
                # The depth is masked in one factor only: a tile of numbers, or a shared buffer, which is whole.
                for form in ("tile", "shared", "both-shared"):
                    shape = shapes[0] if side == "a" else shapes[1]
                    other = shapes[1] if side == "a" else shapes[0]
                    start = f"0:{rows}, k:k+{depth}" if side == "a" else f"k:k+{depth}, 0:{columns}"
                    name = side.upper()
                    factor = f"{name}[{start}]" if form == "tile" else "s"
                    full = f"ts.tile.full({other}, float('inf'), ts.{dtype})" if form != "both-shared" else "t"
                    text = f"""@ts.kernel
def k({name}: ts.Tensor["P", "Q", ts.{dtype}], F: ts.Tensor[{other[0]}, {other[1]}, ts.{dtype}], Z: ts.Tensor[{rows}, {columns}, ts.{acc}], I: ts.Tensor[1, ts.i64]):
    k = I[0]
    s = ts.tile.alloc_shared({shape}, ts.{dtype})
    t = ts.tile.alloc_shared({other}, ts.{dtype})
    ts.tile.cp_async(s, {name}[{start}])
    ts.tile.cp_async(t, F[0:{other[0]}, 0:{other[1]}])
    ts.tile.commit_group()
    ts.tile.wait_group(0)
    ts.tile.barrier()
    Z[0:{rows}, 0:{columns}] = ts.tile.mma({factor + ', ' + full if side == 'a' else full + ', ' + factor})
"""
                    p = program(f"masks/product/{dtype}/{rows}x{columns}x{depth}/depth-{side}-{form}", text)
                    for k, left in ((0, 1), (0, 2), (-1, 2), (0, depth), (depth, depth), (-depth, depth)):
                        left = min(left, depth)
                        x = ones((rows, left) if side == "a" else (left, columns))
                        present = any(0 <= k + d < left for d in range(depth))
                        p.run({"P": x.shape[0], "Q": x.shape[1]},
                              {name: (dtype, x), "F": (dtype, np.full(other, np.inf)), "I": ("i64", np.array([k], "i8"))},
                              {"Z": want(acc, np.full((rows, columns), np.inf if present else 0.0))})
                    yield p


def filling():
    """fill_masked of what was read, of what was computed from it, of two boxes and of flags, and carried by a loop."""
    tiles = {"read": ("x", lambda x: x), "computed": ("ts.tile.exp(x) * 2.0 + 1.0", lambda x: 2 * np.exp(x) + 1),
             "product": ("ts.tile.mma(x, ts.tile.full((16, 16), 1.0, ts.f32))", None),
             "turned": ("ts.tile.transpose(ts.tile.transpose(x))", lambda x: x),
             "reshaped": ("ts.tile.reshape(ts.tile.reshape(x, (128,)), (8, 16))", lambda x: x),
             "chosen": ("ts.tile.where(x > 0.0, x, x * 2.0)", lambda x: np.where(x > 0, x, 2 * x)),
             "twice": ("ts.tile.fill_masked(x, 5.0) + 2.0 * x - 2.0 * x", lambda x: x)}
    for name, (tile, f) in tiles.items():
        for fill in ("7.0", "0.0", "float('-inf')", "v"):
            scalar = ", v: ts.f32" if fill == "v" else ""
            p = program(f"masks/fill/{name}/{fill}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], Z: ts.Tensor[8, 16, ts.f32], S: ts.Tensor[8, ts.f32]{scalar}):
    x = X[0:8, 0:16]
    y = ts.tile.fill_masked({tile}, {fill})
    Z[0:8, 0:16] = y
    S[0:8] = ts.tile.max(y, axis=1)
""")
            value = {"7.0": 7.0, "0.0": 0.0, "v": -3.5}.get(fill, -np.inf)
            for m, n in ((8, 16), (5, 16), (8, 3), (3, 9), (0, 4)):
                x = random("f32", (m, n), 3, -2, 2)
                z = np.full((8, 16), value)
                if f:
                    z[:m, :n] = f(x)
                else:  # the contracted axis is neutral, and no column of the product is out of bounds
                    z[:m, :] = x.sum(1, keepdims=True)
                p.run({"M": m, "N": n}, {"X": ("f32", x)},
                      {"Z": want("f32", z, initial=np.full((8, 16), 77), ulps=4, atol=1e-5), "S": want("f32", z.max(1), ulps=4, atol=1e-5)},
                      {"v": -3.5} if scalar else {})
            yield p
    p = program("masks/fill/carried", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor[8, ts.f32]):
    acc = ts.tile.zeros((8,), ts.f32)
    for i in range(0, n, 8):
        acc = acc + ts.tile.fill_masked(X[i:i+8], 100.0)
    Z[0:8] = acc
""")
    for n in (0, 3, 8, 19):
        x = np.round(random("f32", (n,), 3, -9, 9))
        padded = np.concatenate([x, np.full(-n % 8, 100.0)]).reshape(-1, 8)
        p.run({"n": n}, {"X": ("f32", x)}, {"Z": want("f32", padded.sum(0))})
    yield p
    for name, call in (("scalar", "ts.tile.fill_masked(1.0, 2.0)"), ("tile", "ts.tile.fill_masked(X[0:8], X[0:8])"),
                       ("dtype", "ts.tile.fill_masked(ts.tile.arange(8), 1.5)")):
        yield program(f"masks/fill/error-{name}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.f32]):
    y = {call}
    X[0:8] = ts.tile.cast(y, ts.f32)
""", error="E_TYPE")


def extremes():
    """Masked elements are never the position of an extreme, also where all others are the neutral element."""
    for dtype, high in (("f32", np.inf), ("f64", np.inf), ("u8", 255), ("i32", 2**31 - 1), ("i64", 2**63 - 1)):
        p = program(f"masks/extremes/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], K: ts.Tensor["M", "N", ts.bool], R: ts.Tensor["M", ts.i32], C: ts.Tensor["N", ts.i32],
      W: ts.Tensor[1, ts.i32], G: ts.Tensor["M", ts.i32], I: ts.Tensor[8, ts.i32]):
    x = X[0:8, 0:16]
    kept = ts.tile.mask(x, K[0:8, 0:16])
    R[0:8] = ts.tile.argmin(kept, axis=1)
    C[0:16] = ts.tile.argmin(kept, axis=0)
    W[0] = ts.tile.argmin(kept)
    G[0:8] = ts.tile.argmin(X[0:8, I[0:8]], axis=1)
""")
        for m, n in ((8, 16), (5, 11), (1, 3)):
            rng = np.random.default_rng(m)
            x = np.where(rng.random((m, n)) < 0.8, high, 3)
            x[0] = high
            keep, index = rng.random((m, n)) < 0.4, np.array([-1, n, 2, 0, 2, -3, 1, 99])
            keep[0] = [False] * (n - 2) + [True] * 2
            keep[-1] |= ~keep.any(0)  # of lines without elements nothing is known
            keep[:, -1] |= ~keep.any(1)
            least = lambda v, k, at: min(at, key=lambda i: (not k.flat[i], v.flat[i], i))
            first = lambda v, k, axis: np.apply_along_axis(lambda at: least(v, k, at), axis, np.arange(v.size).reshape(v.shape))
            row, column = divmod(least(x, keep, range(m * n)), n)
            inside = (index >= 0) & (index < n)
            gathered = x[:, np.where(inside, index, 0)]
            p.run({"M": m, "N": n}, {"X": (dtype, x), "K": ("bool", keep.astype("i8")), "I": ("i32", index)},
                  {"R": want("i32", first(x, keep, 1) % n), "C": want("i32", first(x, keep, 0) // n), "W": want("i32", [16 * row + column]),
                   "G": want("i32", first(gathered, np.broadcast_to(inside, gathered.shape), 1) % 8)})
        yield p


def moved_lines():
    """Rows that are masked as a whole stay so when their elements are reversed or sorted."""
    p = program("masks/moved-lines", """@ts.kernel
def k(X: ts.Tensor["V", "N", ts.f32], ids: ts.Tensor["M", ts.i32], F: ts.Tensor["M", ts.f32], S: ts.Tensor["M", ts.f32], T: ts.Tensor["M", ts.f32]):
    for m in ts.tile.parallel(0, M, 8):
        rows = X[ids[m:m+8], 0:16]
        F[m:m+8] = ts.tile.max(ts.tile.flip(rows, 1), axis=1)
        S[m:m+8] = ts.tile.max(ts.tile.sort(rows, axis=1), axis=1)
        T[m:m+8] = ts.tile.min(ts.tile.flip(ts.tile.sort(rows, axis=1), 1), axis=1)
""")
    for v, n, m in ((5, 16, 8), (9, 11, 13)):
        x, ids = random("f32", (v, n), n), np.random.default_rng(m).integers(-2, v + 2, m)
        inside = (ids >= 0) & (ids < v)
        rows = x[np.where(inside, ids, 0)]
        high, low = (np.where(inside, values, 77) for values in (rows.max(1), rows.min(1)))
        p.run({"V": v, "N": n, "M": m}, {"X": ("f32", x), "ids": ("i32", ids)},
              {name: want("f32", values, initial=np.full(m, 77.0)) for name, values in (("F", high), ("S", high), ("T", low))})
    yield p


def programs():
    yield from extremes()
    yield from moved_lines()
    yield from folding()
    yield from filling()
    yield from loops()
    yield from products()
