"""sort, argsort and topk of whole tensors: dtype x axis x extent, from rows that fit a tile to rows of a prime beyond a million, with
ties, NaN, both zeros and the ends of the dtype's range, in either direction; exact."""
import numpy as np

from cases import program, want
from dtypes import DTYPES, FLOATS, INTS, SMALL_FLOATS, quantize, random
from sorting import data, order

EVERY = [*FLOATS, *SMALL_FLOATS, *INTS, "bool"]
# One below, at and past the tiles of the kernel, and rows that are sorted digit by digit.
EXTENTS = (0, 1, 2, 15, 16, 17, 64, 65, 129, 257, 1024, 1025, 4096, 4097, 10007)
FEW = (1, 7, 17, 300, 4099)


def values(dtype, shape, seed):
    return quantize(data(dtype, shape, seed), dtype)


def sorted_by(dtype, x, axis, flag):
    """What sort and argsort give."""
    at = order(x, axis, flag) if x.size else np.zeros(x.shape, "i8")
    return want(dtype, np.take_along_axis(x, at, axis)), want("i32", at)


def top(dtype, x, axis, flag, k):
    at = np.take(order(x, axis, flag) if x.size else np.zeros(x.shape, "i8"), range(k), axis)
    return want(dtype, np.take_along_axis(x, at, axis)), want("i32", at)


def outputs(wants):
    return {f"result{i}": w for i, w in enumerate(wants)}


def signature(dims, dtype):
    return f"x: ts.Tensor[{', '.join(str(d) if isinstance(d, int) else chr(34) + d + chr(34) for d in dims)}, ts.{dtype}]"


def function(dims, dtype, result):
    return f"@ts.jit\ndef f({signature(dims, dtype)}):\n    return {result}\n"


def rows():
    """Along the last axis, of every dtype."""
    for dtype in EVERY:
        for flag in (False, True):
            arguments = f"x, descending={flag}"
            p = program(f"graph_sorting/sort/{dtype}/{flag}", function("MN", dtype, f"ts.sort({arguments}), ts.argsort({arguments})"))
            for n in EXTENTS if dtype in ("f32", "i64", "f16", "u8") else FEW:
                x = values(dtype, (2 if n > 1000 else 5, n), n)
                p.run({"M": x.shape[0], "N": n}, {"x": (dtype, x)}, outputs(sorted_by(dtype, x, 1, flag)))
            yield p
            for k in (1, 20, 300, 5000) if dtype in ("f32", "i64") else (3,):
                p = program(f"graph_sorting/topk/{dtype}/{k}/{flag}", function("MN", dtype, f"ts.topk(x, {k}, largest={flag})"))
                for n in (k, k + 1, 17, 100, 1030, 5003, 10007):
                    if n >= k:
                        x = values(dtype, (2, n), n)
                        p.run({"M": 2, "N": n}, {"x": (dtype, x)}, outputs(top(dtype, x, 1, flag, k)))
                yield p


def axes():
    """Along every axis of tensors of rank 1 to 4."""
    sizes = {1: [(1,), (37,), (5003,)], 2: [(33, 7), (1, 1), (4099, 3), (0, 5)], 3: [(3, 19, 5), (2, 1, 70), (2, 0, 3)], 4: [(2, 3, 4, 5), (1, 17, 2, 33)]}
    for rank, shapes in sizes.items():
        for axis in range(-1, rank):
            dtype, dims = ("f32", "i64", "i16", "f64", "u32")[(rank + axis) % 5], "ABMN"[:rank]
            p = program(f"graph_sorting/axis/{rank}/{axis}", function(dims, dtype, f"ts.sort(x, axis={axis}), ts.argsort(x, {axis}, True)"))
            q = program(f"graph_sorting/axis/{rank}/{axis}/topk", function(dims, dtype, f"ts.topk(x, 1, axis={axis})"))
            for shape in shapes:
                x, run = values(dtype, shape, 7), dict(zip(dims, shape))
                p.run(run, {"x": (dtype, x)}, outputs((sorted_by(dtype, x, axis, False)[0], sorted_by(dtype, x, axis, True)[1])))
                if shape[axis]:
                    q.run(run, {"x": (dtype, x)}, outputs(top(dtype, x, axis, True, 1)))
            yield p
            yield q


def known():
    """The extent of a row is a number, so that the kernel has one way to sort it."""
    for dtype in ("f32", "f64", "u8"):
        for n in (0, 1, 40, 1000, 5003):
            x, of = values(dtype, (3, n), n), ("M", n)
            p = program(f"graph_sorting/known/{dtype}/{n}", function(of, dtype, "ts.sort(x), ts.argsort(x)"))
            yield p.run({"M": 3}, {"x": (dtype, x)}, outputs(sorted_by(dtype, x, 1, False)))
            for k in sorted({n // 2, n, min(n, 20)} - {0}):
                p = program(f"graph_sorting/known/{dtype}/{k}of{n}", function(of, dtype, f"ts.topk(x, {k})"))
                yield p.run({"M": 3}, {"x": (dtype, x)}, outputs(top(dtype, x, 1, True, k)))


def long():
    for dtype in ("f32", "i64", "bf16"):
        n = 1000003
        x = random(dtype, (n,), 5)
        p = program(f"graph_sorting/long/{dtype}", function("N", dtype, "ts.sort(x), ts.argsort(x), ts.topk(x, 10)[1]"))
        at = order(x, 0, False)
        p.run({"N": n}, {"x": (dtype, x)}, {"result0": want(dtype, x[at]), "result1": want("i32", at), "result2": want("i32", order(x, 0, True)[:10])})
        yield p
    # The order of unsigned integers of 64 bits, which are not among the dtypes of the cases.
    x = np.concatenate([random("i64", (4999,), 3), np.array([0, -1, 2**63 - 1, -2**63], "i8")])
    for n in (50, len(x)):
        p = program(f"graph_sorting/u64/{n}", f"@ts.jit\ndef f({signature('N', 'i64')}):\n    u = x.astype(ts.u64)\n    return ts.argsort(u), ts.sort(u).astype(ts.i64), ts.topk(u, 9)[1]\n")
        u = x[-n:].astype("u8")
        at = np.argsort(u, kind="stable")
        p.run({"N": n}, {"x": ("i64", x[-n:])}, {"result0": want("i32", at), "result1": want("i64", u[at].astype("i8")), "result2": want("i32", np.argsort(~u, kind="stable")[:9])})
        yield p


def nans():
    """Each NaN becomes the positive one whose other bits are all 1, in either direction; argsort keeps their order."""
    for dtype, bits in (("f32", "i32"), ("f64", "i64")):
        for flag in (False, True):
            p = program(f"graph_sorting/nans/{dtype}/{flag}", f"""@ts.kernel
def bits(y: ts.Tensor["N", ts.{dtype}], z: ts.Tensor["N", ts.{bits}]):
    for i in ts.tile.parallel(0, N, 32):
        z[i:i+32] = ts.tile.bitcast(y[i:i+32], ts.{bits})

@ts.jit
def f({signature("N", dtype)}):
    y = ts.sort(x, descending={flag})
    v, o = ts.topk(x, 3, largest={flag})
    z, w = ts.zeros(x.shape, ts.{bits}), ts.zeros((3,), ts.{bits})
    bits(y, z)
    bits(v, w)
    return z, ts.argsort(x, descending={flag}), w, o
""", kernel="f")
            for n in (3, 9, 300, 5003):
                x = random(dtype, (n,), n).astype(f"f{DTYPES[bits].bits // 8}")
                x[:3] = np.array([0x7FC12345, 0xFFC00001, 0xFFFFFFFF], "u4").view("f4") if dtype == "f32" else np.array([0x7FF8123456789ABC, 0xFFF8000000000001, 2**64 - 1], "u8").view("f8")
                o = order(x, 0, flag)
                y = x[o].view(f"i{DTYPES[bits].bits // 8}")
                y[n - 3:] = np.iinfo(y.dtype).max
                p.run({"N": n}, {"x": (dtype, x)}, outputs((want(bits, y), want("i32", o), want(bits, y[:3]), want("i32", o[:3]))))
            yield p


def composed():
    """Operands that are computed, results that are used further, several sorts of one tensor, and updates of it."""
    cases = {
        "of-computed": ("ts.sort(x * 2.0 - 1.0) * 0.5", lambda x: np.sort(x * 2 - 1) * 0.5),
        "of-transposed": ("ts.sort(x.T, axis=0).T", lambda x: np.sort(x)),
        "of-slice": ("ts.sort(x[:, ::-2])", lambda x: np.sort(x[:, ::-2])),
        "twice": ("ts.sort(ts.sort(x), axis=0)", lambda x: np.sort(np.sort(x), 0)),
        "both-ways": ("ts.sort(x) + ts.sort(x, descending=True)", lambda x: np.sort(x) + np.sort(x)[:, ::-1]),
        "median": ("ts.sort(x)[:, N // 2]", lambda x: np.sort(x)[:, x.shape[1] // 2]),
        "ranks": ("ts.argsort(ts.argsort(x)).astype(ts.f32)", lambda x: np.argsort(np.argsort(x)).astype("f4")),
        "taken": ("ts.take_along_axis(x, ts.argsort(x), axis=1)", lambda x: np.sort(x)),
        "top-sum": ("ts.sum(ts.topk(x, 1)[0], axis=1)", lambda x: x.max(1)),
        "beside": ("x - ts.sort(x)", lambda x: x - np.sort(x)),
    }
    for name, (expression, reference) in cases.items():
        p = program(f"graph_sorting/composed/{name}", function("MN", "f32", expression))
        for shape in ((4, 9), (1, 1), (33, 100), (2, 4100)):
            x = np.random.default_rng(shape[1]).permutation(shape[0] * shape[1]).reshape(shape).astype("f4")
            p.run(dict(zip("MN", shape)), {"x": ("f32", x)}, {"result": want("f32", reference(x))})
        yield p
    p = program("graph_sorting/composed/updated", f"""@ts.kernel
def double(y: ts.Tensor["M", "N", ts.f32]):
    i = ts.tile.linear_id()
    if i < M * N:
        y[i // N, i % N] = 2.0 * y[i // N, i % N]

@ts.jit
def f({signature("MN", "f32")}):
    before = ts.sort(x)
    double(x)
    double(before)
    return before, ts.topk(x, 2)[0]
""", kernel="f")
    for shape in ((3, 20), (2, 4100)):
        x = np.random.default_rng(1).permutation(shape[0] * shape[1]).reshape(shape).astype("f4")
        p.run(dict(zip("MN", shape)), {}, {"x": want("f32", 2 * x, initial=x), "result0": want("f32", 2 * np.sort(x)), "result1": want("f32", 2 * np.sort(x)[:, :-3:-1])})
    yield p


def merged():
    """Rows that GPUs sort in parts, which they merge four at a time: at the ends of parts and of merged parts, with many equal elements,
    whose order shows which part came first, and topk of parts that are cut or not."""
    for dtype in ("f32", "i64", "bf16", "u8"):
        p = program(f"graph_sorting/merged/{dtype}", function("MN", dtype, "ts.sort(x), ts.argsort(x), ts.argsort(x, descending=True)"))
        for n in (1024, 1025, 4096, 4097, 4099, 16384, 16385, 20011):
            x = np.random.default_rng(n).integers(0, 100, (2, n)).astype("f8" if dtype in FLOATS or dtype in SMALL_FLOATS else "i8")
            if dtype in ("f32", "bf16"):
                x[:, ::97] = np.nan
            x = quantize(x, dtype)
            p.run({"M": 2, "N": n}, {"x": (dtype, x)}, outputs((sorted_by(dtype, x, 1, False)[0], sorted_by(dtype, x, 1, False)[1], sorted_by(dtype, x, 1, True)[1])))
        yield p
        for k in (1, 700, 2048, 2049):
            p = program(f"graph_sorting/merged/{dtype}/{k}", function("MN", dtype, f"ts.topk(x, {k})"))
            for n in (k, 4097, 8191, 16400):
                x = quantize(np.random.default_rng(n).integers(0, 50, (2, n)), dtype)
                p.run({"M": 2, "N": n}, {"x": (dtype, x)}, outputs(top(dtype, x, 1, True, k)))
            yield p
    for n in (16384, 16385, 70000):
        x = np.random.default_rng(n).integers(-9999, 9999, n).astype("i8")
        p = program(f"graph_sorting/merged/known/{n}", function((n,), "i32", "ts.sort(x, descending=True), ts.argsort(x, descending=True)"))
        yield p.run({}, {"x": ("i32", x)}, outputs(sorted_by("i32", x, 0, True)))


def programs():
    for family in (rows, axes, known, long, merged, nans, composed):
        yield from family()
