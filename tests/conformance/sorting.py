"""sort, argsort, topk, flip, histogram and sums that count: dtype x axis x extent, with ties, NaN, both zeros and tails, which stay masked."""
import numpy as np

from cases import program, want
from dtypes import DTYPES, FLOATS, INTS, limits, quantize, random, wrap

NARROW = [*FLOATS, *INTS, "fp8_e5m2", "bool"]
# (tile, sizes of the tensor): powers of two, others, one past; the tensor ends inside the tile or fills it.
TILES = {
    1: [((4, 32), [(1, 1), (4, 32), (6, 31), (9, 7), (3, 17)]), ((2, 33), [(2, 33), (5, 32), (1, 2)]),
        ((1, 1024), [(1, 1024), (2, 1000)]), ((3, 100), [(3, 100), (4, 99)]), ((4, 1), [(4, 1), (3, 1)]), ((2, 2), [(2, 2), (1, 1)])],
    0: [((32, 5), [(32, 5), (31, 5), (7, 4)]), ((33, 20), [(33, 20), (20, 17)]), ((128, 3), [(128, 3), (100, 2)])],
}


def data(dtype, shape, seed):
    """Few distinct values, so that there are ties, with the ends of the dtype's range."""
    x = random(dtype, shape, seed)
    if DTYPES[dtype].is_float:
        x = np.round(x * 4) / 4
        flat = x.reshape(-1)
        for k, v in enumerate([np.nan, -np.inf, np.inf, np.nan, -0.0, 0.0]):
            if 3 * k + 1 < flat.size:
                flat[3 * k + 1] = v
        return x
    low, high = limits(dtype)
    x = np.where(np.abs(x) % 3 == 0, np.where(x % 2 == 0, low, high), x % 5 + low)
    return x


def order(x, axis, descending):
    """The stable order: -0 before 0, NaN last."""
    if np.asarray(x).dtype.kind == "f":
        rank = np.empty(x.shape, "f8")
        values = np.unique(x[~np.isnan(x)])
        position = np.searchsorted(values, np.where(np.isnan(x), 0, x)) * 2.0 + (1 - np.signbit(x))
        rank = np.where(np.isnan(x), np.inf, -position if descending else position)
    else:
        rank = -np.asarray(x, "i8").astype(object) if descending else x
        rank = np.asarray(rank, "f8") if np.abs(np.asarray(x, "f8")).max(initial=0) < 2**52 else np.asarray(rank, object)
    if rank.dtype == object:  # Python's integers, which do not overflow
        return np.apply_along_axis(lambda line: np.array(sorted(range(len(line)), key=lambda i: (line[i], i))), axis, rank)
    return np.argsort(rank, axis=axis, kind="stable")


def chunks(x, rows):
    """Programs take `rows` rows each."""
    return [x[i:i + rows] for i in range(0, len(x), rows)] or [x]


def expected(x, axis, rows, descending):
    """The sorted values and positions. Along axis 0 a program has all rows."""
    parts = chunks(x, rows) if axis == 1 else [x]
    at = np.concatenate([order(part, axis, descending) for part in parts]) if x.size else np.zeros(x.shape, "i8")
    return np.take_along_axis(x, at, axis), at


def sorts():
    for dtype in NARROW:
        for axis in (1, 0):
            for (rows, columns), sizes in TILES[axis]:
                for descending in (False, True):
                    if descending and columns not in (32, 5):
                        continue
                    arguments = f"axis={axis}" + (", descending=True" if descending else "")
                    p = program(f"sort/{dtype}/axis{axis}/{rows}x{columns}/{descending}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], Y: ts.Tensor["M", "N", ts.{dtype}], I: ts.Tensor["M", "N", ts.i32]):
    for m in ts.tile.parallel(0, M, {rows}):
        x = X[m:m+{rows}, 0:{columns}]
        Y[m:m+{rows}, 0:{columns}] = ts.tile.sort(x, {arguments})
        I[m:m+{rows}, 0:{columns}] = ts.tile.argsort(x, {arguments})
""")
                    for seed, shape in enumerate(sizes):
                        x = data(dtype, shape, seed)
                        y, at = expected(x, axis, rows, descending)
                        p.run({"M": shape[0], "N": shape[1]}, {"X": (dtype, x)},
                              {"Y": want(dtype, y), "I": want("i32", at)})
                    yield p


def top():
    for dtype in ("f32", "f16", "i32", "u32", "i8", "f64", "i64"):
        for largest in (True, False):
            for k, columns in ((1, 32), (5, 32), (33, 33), (7, 100)):
                p = program(f"topk/{dtype}/{k}of{columns}/{largest}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], Y: ts.Tensor["M", {k}, ts.{dtype}], I: ts.Tensor["M", {k}, ts.i32]):
    for m in ts.tile.parallel(0, M, 4):
        values, at = ts.tile.topk(X[m:m+4, 0:{columns}], {k}, largest={largest})
        Y[m:m+4, :] = values
        I[m:m+4, :] = at
""")
                for seed, shape in enumerate([(5, columns), (4, columns - 1 if k < columns else columns)]):
                    if shape[1] < k:
                        continue
                    x = data(dtype, shape, seed)
                    y, at = expected(x, 1, 4, largest)
                    p.run({"M": shape[0], "N": shape[1]}, {"X": (dtype, x)}, {"Y": want(dtype, y[:, :k]), "I": want("i32", at[:, :k])})
                yield p


def masked():
    """Elements that flags or an interval mask anywhere go last and stay masked, so that the old elements remain."""
    for dtype in ("f32", "i16"):
        p = program(f"sort/masked/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], s: ts.i64, Y: ts.Tensor[32, ts.{dtype}], Z: ts.Tensor[32, ts.{dtype}], F: ts.Tensor[32, ts.{dtype}]):
    x = X[s:s+32]
    Y[0:32] = ts.tile.sort(x)
    Z[0:32] = ts.tile.sort(ts.tile.mask(x, x > 0))
    F[0:32] = ts.tile.flip(x)
""")
        for n, s in ((40, 0), (20, 0), (20, -9), (20, 13), (20, 25), (3, -30)):
            x = data(dtype, (n,), n)
            x = np.where(np.isnan(x), 0.5, x) if dtype == "f32" else x
            old = np.full(32, 7)
            tile = np.array([x[s + j] if 0 <= s + j < n else np.nan for j in range(32)], "f8")
            there = ~np.isnan(tile)
            y, z, f = (old.astype("f8") for _ in range(3))
            values = np.sort(tile[there], kind="stable")
            y[:len(values)] = values[order(values, 0, False)] if dtype == "f32" else values
            if dtype == "f32":  # -0 before 0
                line = tile[there]
                y[:len(line)] = line[order(line, 0, False)]
            kept = tile[there & (tile > 0)]
            z[:len(kept)] = np.sort(kept)
            f[there[::-1]] = tile[::-1][there[::-1]]
            p.run({"n": n}, {"X": (dtype, x)}, {name: want(dtype, v, initial=old) for name, v in (("Y", y), ("Z", z), ("F", f))}, {"s": s})
        yield p


def masked_positions():
    """argsort of elements that flags mask anywhere: their positions go last and are not stored."""
    for dtype in ("f32", "f64", "i64"):
        p = program(f"argsort/masked/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], I: ts.Tensor[32, ts.i32]):
    x = X[0:32]
    I[0:32] = ts.tile.argsort(ts.tile.mask(x, x != 2))
""")
        for n in (40, 32, 20, 1):
            x = data(dtype, (n,), n)
            x[::3] = 2
            x[1::7] = limits(dtype)[1] if dtype == "i64" else np.nan  # ties with what is last
            there = np.flatnonzero(x[:32] != 2)
            at = np.full(32, 7)
            at[:len(there)] = there[order(x[there], 0, False)]
            p.run({"n": n}, {"X": (dtype, x)}, {"I": want("i32", at, initial=np.full(32, 7))})
        yield p


def flips():
    for dtype in ("f32", "f64", "bf16", "i8", "u16", "bool"):
        p = program(f"flip/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], A: ts.Tensor["M", "N", ts.{dtype}], B: ts.Tensor["M", "N", ts.{dtype}], C: ts.Tensor["M", "N", ts.{dtype}]):
    x = X[0:7, 0:37]
    A[0:7, 0:37] = ts.tile.flip(x, axis=0)
    B[0:7, 0:37] = ts.tile.flip(x, axis=-1)
    C[0:7, 0:37] = ts.tile.flip(x)
""")
        for shape in ((7, 37), (7, 20), (3, 37), (1, 1)):
            x = data(dtype, shape, 5)
            padded = np.zeros((7, 37), bool)
            padded[:shape[0], :shape[1]] = True
            outputs = {}
            for name, axes in (("A", 0), ("B", 1), ("C", (0, 1))):
                whole = np.zeros((7, 37))
                whole[:shape[0], :shape[1]] = x
                old = np.ones(shape)
                here = np.flip(padded, axes)[:shape[0], :shape[1]]
                outputs[name] = want(dtype, np.where(here, np.flip(whole, axes)[:shape[0], :shape[1]], old), initial=old)
            p.run({"M": shape[0], "N": shape[1]}, {"X": (dtype, x)}, outputs)
        yield p
    # The tensor that is read is the one that is written.
    p = program("flip/in-place", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Y: ts.Tensor["n", ts.f32]):
    X[0:50] = ts.tile.flip(X[0:50])
    Y[0:50] = ts.tile.sort(X[0:50])
    X[0:50] = ts.tile.flip(Y[0:50]) + X[0:50]
""")
    x = random("f32", (50,), 3)
    yield p.run({"n": 50}, {}, {"X": want("f32", np.float32(np.sort(x)[::-1]) + np.float32(x[::-1]), initial=x), "Y": want("f32", np.sort(x), initial=x)})


def histograms():
    for dtype in ("i32", "i64", "u8", "u32", "i8"):
        for bins in (1, 10, 256):
            p = program(f"histogram/{dtype}/{bins}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], H: ts.Tensor[{bins}, ts.i32]):
    H[0:{bins}] = ts.tile.histogram(X[0:8, 0:40], {bins})
""")
            for shape in ((8, 40), (5, 33), (1, 1), (0, 3)):
                x = random(dtype, shape, 2)
                x = wrap(np.where(x % 4 != 0, x % (bins + 3), x), dtype)
                inside = x[(x >= 0) & (x < bins)]
                p.run({"M": shape[0], "N": shape[1]}, {"X": (dtype, x)}, {"H": want("i32", np.bincount(inside.ravel(), minlength=bins))})
            yield p
    # More elements than 16 bits count, and most of them in one bin.
    for bins in (20, 33, 400):
        p = program(f"histogram/large/{bins}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.i32], H: ts.Tensor[{bins}, ts.i32]):
    H[0:{bins}] = ts.tile.histogram(X[0:256, 0:160], {bins})
""")
        for shape in ((256, 160), (251, 157), (1, 200)):
            x = random("i32", shape, 3) % (bins + 9) - 4
            x[np.indices(shape).sum(0) % 3 != 0] = bins - 1
            inside = x[:256, :160][(x[:256, :160] >= 0) & (x[:256, :160] < bins)]
            p.run({"M": shape[0], "N": shape[1]}, {"X": ("i32", x)}, {"H": want("i32", np.bincount(inside.ravel(), minlength=bins))})
        yield p


def counts():
    """Sums that count, written out: what is compared may have another value, dtype or shape than the position of the bin."""
    cases = [("u8", 256, "u8"), ("u8", 300, "u8"), ("u8", 512, "u8"), ("u8", 200, "u8"), ("i8", 128, "i8"), ("i8", 129, "i8"), ("i8", 256, "i8"),
             ("i16", 300, "i16"), ("u16", 300, "i8", "u16"), ("i32", 256, "bool", "i32"), ("i32", 300, "i8", "i32"), ("i32", 300, "u8", "i64", "i32"),
             ("i32", 4096, "f16", "i32"), ("i32", 300, "fp8_e4m3", "i32"), ("i64", 300, "i64"), ("u32", 300, "i16", "u32")]
    for dtype, bins, *casts in cases:
        position, values = f"ts.tile.arange({bins})", np.arange(bins)
        for to in casts:
            position, values = f"ts.tile.cast({position}, ts.{to})", values != 0 if to == "bool" else quantize(values, to)
        p = program(f"count/{'-'.join([dtype, str(bins), *casts])}", f"""@ts.kernel
def k(X: ts.Tensor["N", ts.{dtype}], H: ts.Tensor[{bins}, ts.i32]):
    H[0:{bins}] = ts.tile.sum(ts.tile.cast(X[0:67][:, None] == {position}[None, :], ts.i32), axis=0)
""")
        for n in (0, 1, 50, 67):
            x = random(dtype, (n,), 4)
            x = wrap(np.where(x % 3 != 0, x % (bins + 3), x), dtype)
            p.run({"N": n}, {"X": (dtype, x)}, {"H": want("i32", (x[:, None] == np.asarray(values)[None, :]).sum(0))})
        yield p
    # One element is compared, or there is one position, for all elements of the sum.
    for name, x, position in (("element", "ts.tile.broadcast(X[0:1][:, None], (32, 64))", "ts.tile.broadcast(ts.tile.arange(64)[None, :], (32, 64))"),
                              ("position", "ts.tile.broadcast(X[0:32][:, None], (32, 64))", "ts.tile.broadcast(ts.tile.arange(1)[None, :], (32, 64))"),
                              ("matrix", "X[0:32][:, None] * ts.tile.full((1, 64), 1, ts.i32)", "ts.tile.arange(64)[None, :]")):
        p = program(f"count/{name}", f"""@ts.kernel
def k(X: ts.Tensor["N", ts.i32], H: ts.Tensor[64, ts.i32]):
    H[0:64] = ts.tile.sum(ts.tile.cast({x} == {position}, ts.i32), axis=0)
""")
        x = np.arange(32) * 5 % 7
        rows, bins = np.full(32, x[0]) if name == "element" else x, np.zeros(64, int) if name == "position" else np.arange(64)
        yield p.run({"N": 32}, {"X": ("i32", x)}, {"H": want("i32", (rows[:, None] == bins).sum(0))})


def programs():
    yield from sorts()
    yield from top()
    yield from masked()
    yield from masked_positions()
    yield from flips()
    yield from histograms()
    yield from counts()
