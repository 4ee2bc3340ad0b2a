"""Graph functions: every op over dtypes and shapes around the tiles, and the combinations that fuse, against graph_model."""
import itertools

import numpy as np

import graph_model as g
from cases import Want, program
from dtypes import DTYPES, FLOATS, random

MATRICES = [{"M": 0, "N": 5}, {"M": 5, "N": 0}, {"M": 1, "N": 1}, {"M": 7, "N": 31}, {"M": 65, "N": 129}, {"M": 3, "N": 257}]
BLOCKS = [{"B": 1, "M": 1, "N": 1}, {"B": 2, "M": 7, "N": 33}, {"B": 3, "M": 65, "N": 17}, {"B": 2, "M": 3, "N": 257}]
EMPTY_BLOCKS = [{"B": 0, "M": 3, "N": 2}, {"B": 2, "M": 0, "N": 3}, {"B": 2, "M": 3, "N": 0}]


def extent(dim, sizes):
    return dim if isinstance(dim, int) else int(eval(dim, {}, dict(sizes)))  # "2*N": the language's own spelling


def signature(params):
    out = []
    for name, (dims, dtype, *_) in params.items():
        text = ", ".join(f'"{d}"' if isinstance(d, str) else str(d) for d in dims) if dims is not None else ""
        out.append(f"{name}: ts.{dtype}" if dims is None else f"{name}: ts.Tensor[{text}, ts.{dtype}]")
    return ", ".join(out)


def function(name, params, body, model, sizes, scalars=None, before="", kernel="", prepare=None, numerics="standard"):
    """params: name -> (dims, dtype[, low, high]), dims None for a scalar. `body` returns what `model` gives as a T or a
    tuple of them, from the parameters in order; in/out parameters it gives as a dict."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    p = program(name, f"{before}@ts.jit\ndef f({signature(params)}):\n{lines}", kernel="f" if before else kernel, numerics=numerics)
    for seed, run in enumerate(sizes):
        inputs, values = {}, []
        for i, (param, (dims, dtype, *bounds)) in enumerate(params.items()):
            if dims is None:
                values.append(scalars[param])
            else:
                data = random(dtype, tuple(extent(d, run) for d in dims), 97 * seed + i, *bounds)
                inputs[param] = (dtype, prepare(param, data, run) if prepare else data)
                values.append(g.exact(*inputs[param]))
        with np.errstate(all="ignore"):
            got = model(*values)
        got = got if isinstance(got, dict) else {"result": got} if isinstance(got, g.T) else {f"result{i}": t for i, t in enumerate(got)}
        outputs = {}
        for output, t in got.items():
            tolerance = {} if t.exact() else {"bound": t.e}
            outputs[output] = Want(t.dtype, t.shape, t.v, initial=inputs[output][1] if output in inputs else None, **tolerance)
        names = {d: extent(d, run) for dims, *_ in params.values() for d in dims or () if isinstance(d, str)}
        p.run({**run, **names}, {k: v for k, v in inputs.items() if k not in got}, outputs, scalars)
    return p


# ---- elementwise ----

UNARY = {name: f"ts.{name}(x)" for name in [*g.MONOTONE, *g.SMOOTH, *g.ROUNDINGS, *g.PREDICATES, "abs", "relu", "sign"]} | {
    "neg": "-x", "gelu_tanh": 'ts.gelu(x, approximate="tanh")'}
RANGES = {"log": (0.01, 100), "log2": (0.01, 100), "sqrt": (0, 100), "rsqrt": (0.01, 100), "exp": (-8, 8), "exp2": (-8, 8)}
SYMBOLS = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "minimum": "ts.minimum({}, {})",
           "maximum": "ts.maximum({}, {})", "floordiv": "{} // {}", "mod": "{} % {}", "and": "{} & {}", "or": "{} | {}",
           "xor": "{} ^ {}", "lt": "{} < {}", "le": "{} <= {}", "gt": "{} > {}", "ge": "{} >= {}", "eq": "{} == {}",
           "ne": "{} != {}", "pow": "ts.pow({}, {})", "fmod": "ts.fmod({}, {})"}


def nonzero(name, data, run):
    return np.where(np.abs(data) < 0.25, 0.75, data) if data.dtype.kind == "f" else np.where(data == 0, 3, data)


def unaries():
    for dtype in FLOATS:
        for op, text in UNARY.items():
            yield function(f"graph/unary/{op}/{dtype}", {"x": (("M", "N"), dtype, *RANGES.get(op, (-4, 4)))}, f"return {text}",
                           lambda x, op=op: g.unary(op, x), MATRICES)
    for dtype in ("i64", "i32", "bool"):
        for op, text in {"neg": "-x", "abs": "ts.abs(x)", "sign": "ts.sign(x)", "not": "~x"}.items():
            if dtype == "bool" and op != "not":
                continue
            yield function(f"graph/unary/{op}/{dtype}", {"x": (("M", "N"), dtype)}, f"return {text}",
                           lambda x, op=op: g.unary(op, x), MATRICES)


def binaries():
    """Each with the shapes that broadcast: a row, a column, both, a row of ones, and rank 0 through a reduction."""
    def shapes(f):
        return lambda x, y, row, col: (f(x, y), f(x, row), f(col, x), f(row, col))

    def body(text):
        return "return " + ", ".join(text.format(*pair) for pair in (("x", "y"), ("x", "row"), ("col", "x"), ("row", "col")))

    floats = ["add", "sub", "mul", "div", "minimum", "maximum", "pow", "fmod", *g.COMPARISONS]
    for dtype, ops in [*((d, floats) for d in FLOATS), *((d, [*g.INT_OPS, *g.COMPARISONS]) for d in ("i64", "i32")),
                       ("bool", ["and", "or", "xor", "eq"])]:
        for op in ops:
            bounds = (0.25, 3) if op == "pow" else () if op == "mul" or dtype == "bool" else (-2, 2)
            params = {name: (dims, dtype, *bounds) for name, dims in
                      (("x", ("M", "N")), ("y", ("M", "N")), ("row", ("N",)), ("col", ("M", 1)))}
            yield function(f"graph/binary/{op}/{dtype}", params, body(SYMBOLS[op]),
                           shapes(lambda a, b, op=op: g.binary(op, a, b)), MATRICES,
                           prepare=nonzero if op in ("div", "floordiv", "mod", "fmod") else None)


def scalars_and_choices():
    for dtype in (*FLOATS, "i32"):
        number = 3 if dtype == "i32" else 1.5
        yield function(f"graph/scalar/{dtype}", {"x": (("M", "N"), dtype), "s": (None, dtype)}, "return x * s + 2",
                       lambda x, s, d=dtype: g.binary("add", g.binary("mul", x, g.exact(d, s)), g.exact(d, 2)), MATRICES,
                       scalars={"s": number})
        yield function(f"graph/where/{dtype}", {"x": (("M", "N"), dtype), "row": (("N",), dtype)},
                       "return ts.where(x < row, x, row), ts.where(x > 0, x, 0)",
                       lambda x, row, d=dtype: (g.where(g.binary("lt", x, row), x, row),
                                                g.where(g.binary("gt", x, g.exact(d, 0)), x, g.exact(d, 0))), MATRICES)


def casts():
    for source in ("f64", "f32", "f16", "bf16", "fp8_e4m3", "fp8_e5m2", "i64", "i32", "bool"):
        for target in ("f64", "f32", "f16", "bf16", "fp8_e4m3", "fp8_e5m2", "i64", "i32", "bool"):
            if source != target:
                bounds = (-600, 600) if DTYPES[source].is_float else ()
                yield function(f"graph/cast/{source}-{target}", {"x": (("M", "N"), source, *bounds)},
                               f"return ts.cast(x, ts.{target})", lambda x, t=target: g.cast(x, t), MATRICES[1:4])


def widened():
    """Casts to a wider type, which every group that reads them computes for itself: of rows, columns and batches that
    broadcast, for reductions behind a product, for products, views and results, which need them as tensors."""
    cast, wide = g.cast, lambda x: g.cast(x, "f32")
    for dtype in ("bf16", "f16", "fp8_e4m3", "i8"):
        row = {"x": (("B", "M", "N"), "f32", -2, 2), "r": (("N",), dtype), "c": (("M", 1), dtype), "b": (("B", 1, 1), dtype)}
        yield function(f"graph/widened/broadcast/{dtype}", row,
                       "r, c, b = ts.cast(r, ts.f32), ts.cast(c, ts.f32), ts.cast(b, ts.f32)\n"
                       "return x * r + c, ts.sum(x * r, axis=-1), ts.max(x + c, axis=1) * r, (x - b) * b + r",
                       lambda x, r, c, b: (g.binary("add", g.binary("mul", x, wide(r)), wide(c)),
                                           g.reduce("sum", g.binary("mul", x, wide(r)), 2),
                                           g.binary("mul", g.reduce("max", g.binary("add", x, wide(c)), 1), wide(r)),
                                           g.binary("add", g.binary("mul", g.binary("sub", x, wide(b)), wide(b)), wide(r))), BLOCKS)
    for dtype in ("bf16", "f16"):
        mlp = {"x": (("M", "K"), dtype, -1, 1), "w": (("K", "N"), dtype, -1, 1), "gain": (("N",), dtype, 0.5, 2)}
        yield function(f"graph/widened/norm/{dtype}", mlp, "y = ts.gemm(x, w)\nreturn y, ts.rms_norm(y, gain)",
                       lambda x, w, gain: (lambda y: (y, g.rms_norm(y, gain)))(g.matmul(x, w)), PRODUCTS)
        yield function(f"graph/widened/product/{dtype}", {"x": (("M", "K"), dtype, -1, 1), "w": (("K", "N"), "f32", -1, 1)},
                       "y = ts.cast(x, ts.f32)\nreturn y @ w, y * 2.0, y.T, y",
                       lambda x, w: (g.matmul(wide(x), w), g.binary("mul", wide(x), g.exact("f32", 2)), g.transposed(wide(x)), wide(x)),
                       PRODUCTS)
    yield function("graph/widened/twice", {"x": (("M", "N"), "bf16")}, "y = ts.cast(ts.cast(x, ts.f32), ts.f64)\nreturn ts.sum(y * y, axis=-1) + ts.sum(y, axis=-1)",
                   lambda x: (lambda y: g.binary("add", g.reduce("sum", g.binary("mul", y, y), 1), g.reduce("sum", y, 1)))(cast(wide(x), "f64")),
                   MATRICES)
    yield function("graph/widened/mask", {"x": (("M", "N"), "f32"), "m": (("N",), "bool")},
                   "return ts.sum(x * ts.cast(m, ts.f32), axis=-1), ts.sum(ts.cast(x > 0, ts.f32), axis=-1)",
                   lambda x, m: (g.reduce("sum", g.binary("mul", x, wide(m)), 1),
                                 g.reduce("sum", wide(g.binary("gt", x, g.exact("f32", 0))), 1)), MATRICES)
    yield function("graph/widened/product_square", {"x": (("M", "K"), "f32", -1, 1), "w": (("K", "N"), "f32", -1, 1)},
                   "y = x @ w\nreturn ts.mean(y * y, axis=-1), ts.sum(ts.abs(y), axis=0), ts.max(ts.abs(y))",
                   lambda x, w: (lambda y: (g.reduce("mean", g.binary("mul", y, y), 1), g.reduce("sum", g.unary("abs", y), 0),
                                            g.reduce("max", g.unary("abs", y))))(g.matmul(x, w)), PRODUCTS)


# ---- reductions and normalisations ----

def reductions():
    forms = {"axis=-1": (2, False), "axis=0": (0, False), "axis=1, keepdims=True": (1, True), "axis=(0, 2)": ((0, 2), False), "": (None, False)}
    for dtype in [*FLOATS, "i64", "i32"]:
        for kind in ("sum", "mean", "prod", "max", "min"):
            if kind == "mean" and not DTYPES[dtype].is_float:
                continue
            text = ", ".join(f"ts.{kind}(x{', ' if form else ''}{form})" for form in forms)
            sizes = BLOCKS if kind == "prod" else BLOCKS + EMPTY_BLOCKS
            bounds = (0.9, 1.1) if kind == "prod" and DTYPES[dtype].is_float else (-2, 2)
            yield function(f"graph/reduce/{kind}/{dtype}", {"x": (("B", "M", "N"), dtype, *bounds)}, f"return {text}",
                           lambda x, kind=kind: tuple(g.reduce(kind, x, axes, keep) for axes, keep in forms.values()), sizes)
        for kind in ("argmax", "argmin"):
            yield function(f"graph/reduce/{kind}/{dtype}", {"x": (("B", "M", "N"), dtype)},
                           f"return ts.{kind}(x, axis=-1), ts.{kind}(x, axis=0), ts.{kind}(x, axis=1, keepdims=True)",
                           lambda x, kind=kind: (g.reduce(kind, x, 2), g.reduce(kind, x, 0), g.reduce(kind, x, 1, True)), BLOCKS)
    # Lines around and beyond a tile, of which the last is cut; columns beside each other.
    lengths = [{"M": m, "N": n} for m, n in ((3, 127), (9, 128), (8, 129), (1, 511), (5, 513), (2, 1025), (1, 4097), (129, 1), (64, 9), (65, 40), (513, 2))]
    for dtype in ("f32", "bf16", "i32"):
        for kind in ("sum", "max", "argmax", "argmin"):
            yield function(f"graph/reduce/lines/{kind}/{dtype}", {"x": (("M", "N"), dtype, -2, 2)}, f"return ts.{kind}(x, axis=-1), ts.{kind}(x, axis=0)",
                           lambda x, kind=kind: (g.reduce(kind, x, 1), g.reduce(kind, x, 0)), lengths)
    yield function("graph/shape/narrow", {"x": (("M", "N"), "f32"), "y": (("M", "N"), "f32")},
                   "return x + y, ts.transpose(x, (1, 0)) * 2.0, ts.softmax(x), ts.sum(x * y)",
                   lambda x, y: (g.binary("add", x, y), g.binary("mul", g.moved(np.transpose, x), g.exact("f32", 2)), g.softmax(x, 1, False),
                                 g.reduce("sum", g.binary("mul", x, y))), [*lengths, *MATRICES])
    yield function("graph/reduce/long", {"x": (("M", "N"), "f32")}, "return ts.sum(x, axis=-1), ts.sum(x, axis=0), ts.mean(x)",
                   lambda x: (g.reduce("sum", x, 1), g.reduce("sum", x, 0), g.reduce("mean", x)),
                   [{"M": 3, "N": 10007}, {"M": 10007, "N": 3}])
    # Parts of an axis, which are programs of their own, beside a result of all its elements.
    columns = [{"M": m, "N": n} for m, n in ((0, 4), (1, 1), (255, 3), (256, 129), (257, 2), (1000, 5))]
    for dtype in ("f64", "f32", "bf16", "i32", "u8"):
        def both(x, axis=None, dtype=dtype):
            y = g.binary("add", x, g.exact(dtype, 1))
            return y, g.reduce("sum", y, axis), g.reduce("max", y, axis), g.reduce("mean" if DTYPES[dtype].is_float else "sum", x, axis)
        text = f"y = x + ts.{dtype}(1)\nreturn y, ts.sum(y{{0}}), ts.max(y{{0}}), ts.{'mean' if DTYPES[dtype].is_float else 'sum'}(x{{0}})"
        yield function(f"graph/reduce/parts/{dtype}", {"x": (("N",), dtype, 0, 2)}, text.format(""), both, [{"N": n} for n in (1, 8191, 8192, 8193, 24577)])
        yield function(f"graph/reduce/parts/rows/{dtype}", {"x": (("M", "N"), dtype, 0, 2)}, text.format(", axis=0"), lambda x, both=both: both(x, 0),
                       columns)
    # Positions of extremes in parts, of which several have the extreme of all: the first one's lowest is the result.
    def equals(param, x, run):
        if run["N"] == 8192: # no element is above any other
            return np.full_like(x, -np.inf)
        if run["N"] == 8193:
            x[[5000, 8192]] = np.nan
        elif run["N"] > 8193:
            x[[9000, 20000]], x[[8191, 8192, 16384]] = 5, -5
        return x
    for dtype in ("f64", "f32", "bf16", "i64", "i32", "i8", "u8"):
        yield function(f"graph/reduce/parts/find/{dtype}", {"x": (("N",), dtype)}, "return ts.argmax(x), ts.argmin(x, axis=0, keepdims=True)",
                       lambda x: (g.reduce("argmax", x, 0), g.reduce("argmin", x, 0, True)), [{"N": n} for n in (1, 8191, 8192, 8193, 24577)],
                       prepare=equals if dtype in ("f64", "f32") else None)
        yield function(f"graph/reduce/parts/find/rows/{dtype}", {"x": (("M", "N"), dtype, 0, 2)}, "return ts.argmax(x, axis=0), ts.argmin(x * x, axis=0)",
                       lambda x: (g.reduce("argmax", x, 0), g.reduce("argmin", g.binary("mul", x, x), 0)), columns[1:])
    yield function("graph/reduce/parts/long", {"x": (("N",), "f32")}, "return ts.sum(x), ts.max(x), ts.mean(x * 2.0)",
                   lambda x: (g.reduce("sum", x), g.reduce("max", x), g.reduce("mean", g.binary("mul", x, g.exact("f32", 2)))),
                   [{"N": n} for n in (0x1ffff, 0x20000, 0x20001, 300007)])
    yield function("graph/reduce/parts/known", {"x": ((200003,), "f32")}, "y = x * 2.0\nreturn y, ts.sum(y), ts.mean(x), ts.max(y)",
                   lambda x: (lambda y: (y, g.reduce("sum", y), g.reduce("mean", x), g.reduce("max", y)))(g.binary("mul", x, g.exact("f32", 2))), [{}])


def normalisations():
    x = ("B", "M", "N")
    for dtype in FLOATS:
        for name, log in (("softmax", False), ("log_softmax", True)):
            yield function(f"graph/{name}/{dtype}", {"x": (x, dtype, -8, 8)}, f"return ts.{name}(x), ts.{name}(x, axis=0), ts.{name}(x, axis=1)",
                           lambda x, log=log: (g.softmax(x, 2, log), g.softmax(x, 0, log), g.softmax(x, 1, log)), BLOCKS + EMPTY_BLOCKS)
        params = {"x": (x, dtype), "w": (("N",), dtype), "b": (("N",), dtype)}
        yield function(f"graph/layer_norm/{dtype}", params, "return ts.layer_norm(x, w, b), ts.layer_norm(x), ts.layer_norm(x, w, eps=0.1)",
                       lambda x, w, b: (g.layer_norm(x, w, b), g.layer_norm(x), g.layer_norm(x, w, eps=0.1)), BLOCKS + EMPTY_BLOCKS[:2])
        yield function(f"graph/layer_norm/axis/{dtype}", {"x": (x, dtype), "w": (("M",), dtype)}, "return ts.layer_norm(x, w, axis=1)",
                       lambda x, w: g.layer_norm(x, w, axis=1), BLOCKS)
        yield function(f"graph/rms_norm/{dtype}", {"x": (x, dtype), "w": (("N",), dtype)}, "return ts.rms_norm(x, w), ts.rms_norm(x, eps=0.01)",
                       lambda x, w: (g.rms_norm(x, w), g.rms_norm(x, eps=0.01)), BLOCKS + EMPTY_BLOCKS[:2])
    # Rows of none, one and several vectors of 16 elements, of two and four such vectors at once, and of one element more or less.
    lengths = [{"M": m, "N": n} for m, n in ((9, 2), (8, 15), (3, 16), (17, 17), (2, 31), (7, 32), (5, 33), (1, 47), (9, 48), (4, 63), (8, 64), (3, 65), (2, 97), (1, 197))]
    for dtype in ("f32", "bf16"):
        params = {"x": (("M", "N"), dtype, -4, 4), "w": (("N",), dtype), "b": (("N",), dtype)}
        yield function(f"graph/rows/{dtype}", params,
                       "return ts.softmax(x), ts.log_softmax(x), ts.layer_norm(x, w, b), ts.rms_norm(x, w), ts.gelu(x) * x + w, ts.sum(x * x, axis=1), ts.argmax(x, axis=1)",
                       lambda x, w, b: (g.softmax(x, 1), g.softmax(x, 1, True), g.layer_norm(x, w, b), g.rms_norm(x, w),
                                        g.binary("add", g.binary("mul", g.unary("gelu", x), x), w),
                                        g.reduce("sum", g.binary("mul", x, x), 1), g.reduce("argmax", x, 1)), lengths)
    # Rows that a GPU keeps in registers of a warp or of a block, at the ends of these, and past them.
    kept = [{"M": m, "N": n} for m, n in ((3, 0), (9, 1), (5, 256), (3, 257), (9, 1024), (2, 1025), (2, 8192), (1, 8193))]
    for dtype in ("f64", "f32", "bf16"):
        yield function(f"graph/rows/kept/{dtype}", {"x": (("M", "N"), dtype, -4, 4), "w": (("N",), dtype)}, "return ts.softmax(x), ts.rms_norm(x, w), x - ts.max(x, axis=1, keepdims=True)",
                       lambda x, w: (g.softmax(x, 1), g.rms_norm(x, w), g.binary("sub", x, g.reduce("max", x, 1, True))), kept)
    yield function("graph/softmax/far", {"x": (("M", "N"), "f32", -300, 300)}, "return ts.softmax(x)", lambda x: g.softmax(x), MATRICES[2:])
    yield function("graph/layer_norm/offset", {"x": (("M", "N"), "f32", 99, 101)}, "return ts.layer_norm(x)", lambda x: g.layer_norm(x), MATRICES[3:])


# ---- products ----

PRODUCTS = [{"M": 1, "K": 1, "N": 1}, {"M": 64, "K": 64, "N": 64}, {"M": 65, "K": 33, "N": 129}, {"M": 7, "K": 257, "N": 31},
            {"M": 0, "K": 3, "N": 4}, {"M": 3, "K": 0, "N": 4}, {"M": 97, "K": 5, "N": 1}]

# Rows, columns and depths around the ends of what the CPU computes as dots (up to 4), as chains (up to 6 rows, 64 columns)
# and from scratch; vectors of every kind; the rest of a tile that has few rows.
FEW = [{"M": m, "K": k, "N": n} for m, k, n in
       ((1, 1, 300), (300, 1, 1), (1, 600, 1), (1, 259, 70), (70, 259, 1), (4, 31, 9), (5, 31, 9), (9, 8, 4), (9, 8, 5), (6, 300, 130),
        (7, 30, 130), (100, 9, 64), (100, 9, 65), (3, 3, 3), (8, 8, 8), (97, 40, 257), (2, 515, 3), (1, 0, 1))]


def products():
    for dtype in ("f32", "f64", "bf16", "i8"):
        for ta, tb in itertools.product((False, True), repeat=2):
            for batch in ((), ("B",)):
                a, b = ("K", "M") if ta else ("M", "K"), ("N", "K") if tb else ("K", "N")
                name = f"graph/matmul/few/{'batch/' if batch else ''}{'T' if ta else 'N'}{'T' if tb else 'N'}/{dtype}"
                yield function(name, {"a": (batch + a, dtype), "b": (batch + b, dtype)}, f"return ts.matmul(a, b, trans_a={ta}, trans_b={tb})",
                               lambda a, b, ta=ta, tb=tb: g.matmul(g.transposed(a) if ta else a, g.transposed(b) if tb else b),
                               [{**run, "B": 3} if batch else run for run in FEW])
    epilogue = {"a": (("M", "K"), "f32", -1, 1), "b": (("K", "N"), "f32", -1, 1), "c": (("N",), "f32"), "d": (("M", "N"), "f32")}
    yield function("graph/matmul/few/epilogue", epilogue, "y = a @ b + c\nreturn ts.relu(y) * d, y",
                   lambda a, b, c, d: (lambda y: (g.binary("mul", g.unary("relu", y), d), y))(g.binary("add", g.matmul(a, b), c)), FEW)
    for dtype in (*FLOATS, "i64", "i32", "i16", "i8", "fp8_e4m3"):
        for ta, tb in itertools.product((False, True), repeat=2):
            if dtype not in ("f32", "bf16") and ta != tb:
                continue
            params = {"a": (("K", "M") if ta else ("M", "K"), dtype), "b": (("N", "K") if tb else ("K", "N"), dtype)}
            yield function(f"graph/matmul/{'T' if ta else 'N'}{'T' if tb else 'N'}/{dtype}", params,
                           f"return ts.matmul(a, b, trans_a={ta}, trans_b={tb})",
                           lambda a, b, ta=ta, tb=tb: g.matmul(g.transposed(a) if ta else a, g.transposed(b) if tb else b), PRODUCTS)
    batches = [{"B": 1, "H": 1, "M": 3, "K": 2, "N": 5}, {"B": 2, "H": 3, "M": 17, "K": 33, "N": 65}, {"B": 0, "H": 2, "M": 3, "K": 2, "N": 5}]
    for dtype in ("f32", "bf16"):
        yield function(f"graph/matmul/batch/{dtype}", {"a": (("B", "H", "M", "K"), dtype), "b": (("B", "H", "K", "N"), dtype)}, "return a @ b", g.matmul, batches)
        yield function(f"graph/matmul/shared/{dtype}", {"a": (("B", "M", "K"), dtype), "b": (("K", "N"), dtype)}, "return a @ b, a.T @ a",
                       lambda a, b: (g.matmul(a, b), g.matmul(g.transposed(a), a)), batches)
        yield function(f"graph/matmul/broadcast/{dtype}", {"a": (("B", 1, "M", "K"), dtype), "b": (("H", "K", "N"), dtype)}, "return a @ b", g.matmul, batches)
    for numerics in ("standard", "strict"): # both operands are one tile
        yield function(f"graph/matmul/square/{numerics}", {"x": ((1, "K"), "f32"), "y": (("B", 16, "K"), "f32"), "z": (("K", 1), "f32")},
                       "return x @ x.T, y @ ts.transpose(y, (0, 2, 1)), z.T @ z",
                       lambda x, y, z: (g.matmul(x, g.transposed(x)), g.matmul(y, g.transposed(y)), g.matmul(g.transposed(z), z)),
                       [{"B": b, "K": k} for b, k in ((1, 1), (3, 7), (2, 256), (1, 700))], numerics=numerics)
    vectors = {"a": (("M", "K"), "f32"), "v": (("K",), "f32"), "w": (("M",), "f32")}
    yield function("graph/matmul/vectors", vectors, "return a @ v, w @ a, v @ v, ts.matmul(a.T, w)",
                   lambda a, v, w: (g.matmul(a, v), g.matmul(w, a), g.matmul(v, v), g.matmul(g.transposed(a), w)),
                   [{d: run[d] for d in "MK"} for run in PRODUCTS])
    yield function("graph/matmul/widen", {"a": (("M", "K"), "bf16"), "b": (("K", "N"), "bf16")}, "return ts.matmul(a, b, dtype=ts.f32)",
                   lambda a, b: g.matmul(a, b, "f32"), PRODUCTS)


def fusions():
    """Epilogues, chains and what must not fuse: values used twice, or returned as well."""
    act = {"gelu": "ts.gelu({})", "relu": "ts.relu({})", "silu": "ts.silu({})", "tanh": "ts.tanh({})", "sigmoid": "ts.sigmoid({})"}
    for dtype in FLOATS:
        for name, text in act.items():
            if dtype not in ("f32", "bf16") and name not in ("gelu", "relu"):
                continue
            params = {"x": (("M", "K"), dtype, -1, 1), "w": (("K", "N"), dtype, -1, 1), "b": (("N",), dtype), "r": (("M", "N"), dtype)}
            yield function(f"graph/fusion/epilogue/{name}/{dtype}", params, f"return {text.format('x @ w + b')} * 0.5 + r",
                           lambda x, w, b, r, n=name, d=dtype: g.binary("add", g.binary("mul", g.unary(n, g.binary("add", g.matmul(x, w), b)), g.exact(d, 0.5)), r), PRODUCTS)
        mlp = {"x": (("M", "D"), dtype, -1, 1), "w1": (("D", "F"), dtype, -1, 1), "b1": (("F",), dtype), "w2": (("F", "D"), dtype, -1, 1)}
        yield function(f"graph/fusion/mlp/{dtype}", mlp, "h = ts.gelu(ts.gemm(x, w1) + b1)\nreturn ts.gemm(h, w2) + x",
                       lambda x, w1, b1, w2: g.binary("add", g.matmul(g.unary("gelu", g.binary("add", g.matmul(x, w1), b1)), w2), x),
                       [{"M": 1, "D": 1, "F": 1}, {"M": 65, "D": 33, "F": 129}, {"M": 0, "D": 4, "F": 5}, {"M": 7, "D": 64, "F": 256}])
    xy = {"x": (("M", "N"), "f32"), "y": (("M", "N"), "f32")}

    def chain(x, y):
        a = g.binary("add", g.binary("mul", x, y), x)
        b = g.unary("tanh", a)
        return b, g.binary("sub", g.unary("exp", b), a)
    yield function("graph/fusion/shared", xy, "a = x * y + x\nb = ts.tanh(a)\nreturn b, ts.exp(b) - a", chain, MATRICES)
    yield function("graph/fusion/diamond", xy, "s = ts.sum(x, axis=-1, keepdims=True)\nreturn (x - s) * (y + s)",
                   lambda x, y: (lambda s: g.binary("mul", g.binary("sub", x, s), g.binary("add", y, s)))(g.reduce("sum", x, 1, True)), MATRICES)
    # Neighbouring axes that a broadcast operand has or lacks together become one.
    images = [{"B": b, "C": c, "H": h, "W": w} for b, c, h, w in ((2, 3, 5, 7), (1, 1, 1, 1), (3, 1, 2, 1), (1, 5, 1, 3), (2, 0, 3, 4), (5, 2, 31, 29), (131, 2, 1, 3))]
    image = (("B", "C", "H", "W"), "f32")
    for name, dims in (("channel", ("C", 1, 1)), ("row", ("W",)), ("rows", ("H", "W")), ("image", ("C", "H", "W")), ("batch", ("B", 1, 1, 1)),
                       ("ends", ("B", 1, 1, "W")), ("plane", ("B", "C", 1, 1)), ("ones", (1, 1, 1)), ("inner", (1, "H", 1))):
        yield function(f"graph/fusion/merged/{name}", {"x": image, "y": (dims, "f32"), "z": image}, "return (x + y) * z, x - y",
                       lambda x, y, z: (g.binary("mul", g.binary("add", x, y), z), g.binary("sub", x, y)), images)
    yield function("graph/fusion/merged/both", {"x": image, "y": (("C", 1, 1), "f32"), "z": (("H", "W"), "f32")}, "return ts.maximum(x + y, z)",
                   lambda x, y, z: g.binary("maximum", g.binary("add", x, y), z), images)
    yield function("graph/fusion/scores", {"q": (("M", "D"), "f32"), "k": (("N", "D"), "f32"), "v": (("N", "D"), "f32")},
                   "return ts.softmax(q @ k.T * 0.25) @ v",
                   lambda q, k, v: g.matmul(g.softmax(g.binary("mul", g.matmul(q, g.transposed(k)), g.exact("f32", 0.25))), v),
                   [{"M": 1, "N": 1, "D": 1}, {"M": 65, "N": 33, "D": 16}, {"M": 7, "N": 130, "D": 64}])
    yield function("graph/fusion/prologue", {"x": (("M", "K"), "f32"), "w": (("K", "N"), "f32")}, "return ts.relu(x * 2.0) @ ts.tanh(w)",
                   lambda x, w: g.matmul(g.unary("relu", g.binary("mul", x, g.exact("f32", 2))), g.unary("tanh", w)), PRODUCTS)
    long = "y = x\n" + "".join(f"y = {t}\n" for t in ["ts.tanh(y * 1.25 + b)", "ts.maximum(y, -x)", "y * 0.5 - b"] * 8) + "return y"

    def long_model(x, b):
        y = x
        for _ in range(8):
            y = g.unary("tanh", g.binary("add", g.binary("mul", y, g.exact("f32", 1.25)), b))
            y = g.binary("maximum", y, g.unary("neg", x))
            y = g.binary("sub", g.binary("mul", y, g.exact("f32", 0.5)), b)
        return y
    yield function("graph/fusion/long", {"x": (("M", "N"), "f32", -1, 1), "b": (("N",), "f32", -1, 1)}, long, long_model, MATRICES)


def attentions():
    for dtype in FLOATS:
        sizes = [{"B": 1, "S": 1, "T": 1}, {"B": 2, "S": 1, "T": 200}, {"B": 2, "S": 5, "T": 70}, {"B": 2, "S": 65, "T": 65}, {"B": 1, "S": 7, "T": 130}, {"B": 1, "S": 100, "T": 30}, {"B": 0, "S": 3, "T": 3}]
        for causal in (False, True):
            for label, hq, hk, d in (("mha", 2, 2, 64), ("gqa", 4, 2, 16), ("mqa", 3, 1, 17)):
                if dtype not in ("f32", "bf16") and label != "gqa":
                    continue
                params = {"q": (("B", hq, "S", d), dtype), "k": (("B", hk, "T", d), dtype), "v": (("B", hk, "T", d), dtype)}
                yield function(f"graph/attention/{label}/{'causal' if causal else 'full'}/{dtype}", params,
                               f"return ts.op.flash_attention(q, k, v, causal={causal})",
                               lambda q, k, v, c=causal: g.attention(q, k, v, c), sizes)
    # Heads for which wgmma's tiles do not fit shared memory.
    for dtype in ("f16", "bf16"):
        head = {"q": (("B", "S", 320), dtype), "k": (("B", "T", 320), dtype), "v": (("B", "T", 320), dtype)}
        yield function(f"graph/attention/wide/{dtype}", head, "return ts.op.flash_attention(q, k, v)", lambda q, k, v: g.attention(q, k, v, False),
                       [{"B": 2, "S": s, "T": t} for s, t in ((1, 1), (33, 65), (67, 130), (5, 0))])
    # Few queries, rows longer than a tile of keys, and one element past a vector.
    few = [{"B": 2, "S": s, "T": t} for s, t in ((1, 65), (2, 1), (3, 67), (4, 130), (5, 64), (6, 3), (7, 129), (8, 66), (9, 70), (12, 65), (12, 1), (13, 66), (4, 0))]
    for d in (128, 129):
        wide = {"q": (("B", "S", d), "f32"), "k": (("B", "T", d), "f32"), "v": (("B", "T", d), "f32")}
        for causal in (False, True):
            yield function(f"graph/attention/few/{'causal' if causal else 'full'}/{d}", wide,
                           f"return ts.op.flash_attention(q, k, v, causal={causal})", lambda q, k, v, c=causal: g.attention(q, k, v, c), few)
    for dtype in ("bf16", "f16"):
        narrow = {"q": (("B", "S", 64), dtype), "k": (("B", "T", 64), dtype), "v": (("B", "T", 64), dtype)}
        yield function(f"graph/attention/few/full/{dtype}", narrow, "return ts.op.flash_attention(q, k, v)", g.attention, few)
    # Heads whose length is no multiple of an instruction's steps.
    for dtype, d in itertools.product(("bf16", "f16"), (8, 24, 40, 72)):
        odd = {"q": (("B", "S", d), dtype), "k": (("B", "T", d), dtype), "v": (("B", "T", d), dtype)}
        yield function(f"graph/attention/lengths/{dtype}/{d}", odd, "return ts.op.flash_attention(q, k, v)", g.attention, [{"B": 2, "S": 65, "T": 70}, {"B": 1, "S": 1, "T": 1}])
    plain = {"q": (("S", 32), "f32"), "k": (("T", 32), "f32"), "v": (("T", 32), "f32")}
    yield function("graph/attention/matrix", plain, "return ts.op.flash_attention(q, k, v, scale=0.5)",
                   lambda q, k, v: g.attention(q, k, v, scale=0.5), [{"S": 1, "T": 1}, {"S": 33, "T": 65}, {"S": 5, "T": 9}])


def losses():
    for dtype in FLOATS:
        yield function(f"graph/mse/{dtype}", {"x": (("M", "N"), dtype), "y": (("M", "N"), dtype)}, "return ts.mse(x, y)", g.mse, MATRICES[2:])

        def labels(name, data, run):
            return data if name == "x" else np.abs(data) % run["N"]
        for index in ("i32", "i64"):
            yield function(f"graph/cross_entropy/{dtype}/{index}", {"x": (("M", "N"), dtype, -8, 8), "y": (("M",), index)},
                           "return ts.cross_entropy(x, y)", g.cross_entropy, MATRICES[2:], prepare=labels)
            # Rows without a label, all of them at last; then one label past each end, which is a mistake.
            for name, argument, index_of in (("default", "", -100), ("own", ", ignore_index=-1", -1), ("label", ", ignore_index=0", 0),
                                             ("all", ", ignore_index=3", 3)):
                def some(param, data, run, ignored=index_of, every=name == "all"):
                    found = labels(param, data, run)
                    return found if param == "x" else np.where(every or np.arange(len(found)) % 3 == 1, ignored, found)
                yield function(f"graph/cross_entropy/ignore-{name}/{dtype}/{index}",
                               {"x": (("M", "N"), dtype, -8, 8), "y": (("M",), index)}, f"return ts.cross_entropy(x, y{argument})",
                               lambda x, y, i=index_of: g.cross_entropy(x, y, i), MATRICES[3:], prepare=some)
            for wrong in (-1, "N", 2**31 - 1):
                def outside(param, data, run, wrong=wrong):
                    found = labels(param, data, run)
                    if param == "y":
                        found[-1] = run["N"] if wrong == "N" else wrong
                    return found
                yield function(f"graph/cross_entropy/outside-{wrong}/{dtype}/{index}",
                               {"x": (("M", "N"), dtype, -8, 8), "y": (("M",), index)}, "return ts.cross_entropy(x, y)",
                               g.cross_entropy, MATRICES[3:], prepare=outside)


# ---- shapes and tables ----

NARROW = [{"B": b, "M": m, "N": n} for b, m, n in ((1, 70, 2), (3, 33, 3), (2, 1000, 4), (1, 16, 2), (1, 7, 3), (2, 40, 5), (1, 600, 3), (1, 129, 1))]

def shapes():
    for dtype in (*FLOATS, "i64", "i32", "bool", "fp8_e4m3"):
        x = {"x": (("B", "M", "N"), dtype)}

        def one(name, text, f, params=x, sizes=BLOCKS + EMPTY_BLOCKS):
            return function(f"graph/shape/{name}/{dtype}", params, f"return {text}", lambda *t: g.moved(f, *t), sizes)
        yield one("transpose", "x.T", lambda x: np.swapaxes(x, 1, 2))
        yield one("permute", "ts.transpose(x, (2, 0, 1))", lambda x: np.transpose(x, (2, 0, 1)))
        # Few columns, which the CPU transposes by itself if rows follow each other without gaps.
        yield one("transpose-narrow", "x.T", lambda x: np.swapaxes(x, 1, 2), sizes=NARROW)
        yield one("permute-narrow", "ts.transpose(x, (2, 0, 1))", lambda x: np.transpose(x, (2, 0, 1)), sizes=NARROW)
        yield one("transpose-narrow-rows", "x[0, 1:].T", lambda x: x[0, 1:].T, sizes=NARROW)
        yield one("transpose-narrow-columns", "x[0, :, 1:].T", lambda x: x[0, :, 1:].T, sizes=NARROW)
        yield one("transpose-three", "x.T", lambda x: x.T, {"x": (("M", 3), dtype)}, [{"M": m} for m in (1, 15, 16, 64, 531, 1100)])
        yield one("reshape", "ts.reshape(x, (B * M, N))", lambda x: x.reshape(-1, x.shape[2]) if x.size else x.reshape(x.shape[0] * x.shape[1], x.shape[2]))
        yield one("transpose-reshape", "ts.reshape(ts.transpose(x, (1, 0, 2)), (M, B * N))", lambda x: np.transpose(x, (1, 0, 2)).reshape(x.shape[1], x.shape[0] * x.shape[2]))
        yield one("row", "x[0, :, 1:]", lambda x: x[0, :, 1:], sizes=[s for s in BLOCKS if s["B"]])
        yield one("box", "x[:, 1:M - 1, 2:7]", lambda x: x[:, 1:-1, 2:7], sizes=BLOCKS[1:])
        yield one("broadcast", "ts.broadcast_to(x, (3, B, M, N))", lambda x: np.broadcast_to(x, (3, *x.shape)).copy())
        yield one("axes", "x[:, None, :, :]", lambda x: x[:, None])
        two = {"x": (("B", "M", "N"), dtype), "y": (("B", "K", "N"), dtype)}
        sizes = [{**s, "K": k} for s, k in zip(BLOCKS + EMPTY_BLOCKS, (1, 0, 64, 5, 2, 3, 4))]
        yield one("concat", "ts.concat([x, y, x], axis=1)", lambda x, y: np.concatenate([x, y, x], 1), two, sizes)
        yield one("concat-rows", "ts.concat([x, x], axis=0)", lambda x: np.concatenate([x, x], 0))
    yield function("graph/shape/starts", {"x": (("M", "N"), "f32"), "y": (("K",), "f32")}, "return x[K:, K // 2:], x[K, 1:3], x[M - K - 1:M - 1] * 2.0",
                   lambda x, y: (lambda k, n: tuple(g.moved(f, x) for f in (lambda v: v[k:, k // 2:], lambda v: v[k, 1:3])) + (
                       g.binary("mul", g.moved(lambda v: v[len(v) - k - 1:-1], x), g.exact("f32", 2)),))(*y.shape, x.shape[1]),
                   [{"M": 9, "N": 6, "K": 5}, {"M": 70, "N": 33, "K": 31}, {"M": 3, "N": 5, "K": 0}])
    # The text of one dim of the group, S + T, is part of the start's, 2 * S + T.
    yield function("graph/shape/start-beside-sum", {"x": (("S",), "f32"), "y": (("T",), "f32"), "z": (("M",), "f32")},
                   "c = ts.concat([x, y], axis=0)\nreturn c * c + z[2 * S + T:3 * S + 2 * T]",
                   lambda x, y, z: (lambda c, s, t: g.binary("add", g.binary("mul", c, c), g.moved(lambda v: v[2 * s + t:3 * s + 2 * t], z)))(
                       g.moved(lambda *t: np.concatenate(t), x, y), x.shape[0], y.shape[0]),
                   [{"S": 3, "T": 5, "M": 30}, {"S": 64, "T": 65, "M": 400}, {"S": 0, "T": 2, "M": 4}])
    yield function("graph/shape/split", {"x": (("M", "3*N"), "f32"), "w": (("N",), "f32")}, "a, b, c = ts.split(x, 3, axis=1)\nreturn a * b + c * w",
                   lambda x, w: (lambda a, b, c: g.binary("add", g.binary("mul", a, b), g.binary("mul", c, w)))(*(g.moved(lambda v, i=i: np.split(v, 3, 1)[i], x) for i in range(3))), MATRICES[2:])
    yield function("graph/shape/heads", {"x": (("S", "H*K"), "f32"), "w": (("H", "K"), "f32")},
                   "return ts.sum(ts.transpose(ts.reshape(x, (S, H, K)), (1, 0, 2)) * w[:, None, :], axis=-1)",
                   lambda x, w: (lambda t: g.reduce("sum", g.binary("mul", t, g.moved(lambda v: v[:, None], w)), 2))(
                       g.moved(lambda v: v.reshape(v.shape[0], *w.shape).transpose(1, 0, 2), x)),
                   [{"S": 1, "H": 1, "K": 1}, {"S": 65, "H": 3, "K": 17}, {"S": 5, "H": 4, "K": 64}])
    # Dims that only values inside a group have.
    whole = lambda t: g.exact("i32", np.asarray(np.arange(t).sum()))
    yield function("graph/shape/inner-iota", {"x": (("M",), "f32")}, "return ts.sum(ts.arange(M)), ts.sum(ts.arange(2 * M + 1))",
                   lambda x: (whole(len(x.v)), whole(2 * len(x.v) + 1)), [{"M": m} for m in (1, 7, 1030)])
    yield function("graph/shape/inner-zeros", {"x": (("M", "N"), "f32")},
                   "return ts.mean(ts.zeros((4, M), ts.f32), axis=(-2, -1)), ts.sum(ts.full((N, M), 2, ts.i32), axis=0), ts.max(ts.full((M * N,), 3, ts.i32))",
                   lambda x: (g.exact("f32", np.zeros(())), g.exact("i32", np.full(x.v.shape[:1], 2 * x.v.shape[1])), g.exact("i32", np.asarray(3))),
                   [{"M": 5, "N": 3}, {"M": 130, "N": 70}])
    yield function("graph/shape/extents", {"x": (("M", "N"), "f32")}, "return ts.sum(x, axis=1) / ts.cast(N, ts.f32) + ts.zeros((M,), ts.f32), ts.full((M, 2), 7, ts.i32)",
                   lambda x: (g.binary("div", g.reduce("sum", x, 1), g.exact("f32", x.shape[1])), g.exact("i32", np.full((x.shape[0], 2), 7))), MATRICES[2:])


def tables():
    def ids(name, data, run):
        return data if name == "table" else np.where(np.abs(data) % 11 == 0, data % 5 - 9, np.abs(data) % max(run["V"], 1))
    sizes = [{"V": 1, "D": 1, "S": 1}, {"V": 101, "D": 65, "S": 33}, {"V": 7, "D": 3, "S": 0}, {"V": 5, "D": 0, "S": 4}]
    for dtype in (*FLOATS, "i32"):
        for index in ("i32", "i64"):
            yield function(f"graph/embedding/{dtype}/{index}", {"table": (("V", "D"), dtype), "ids": (("S",), index)},
                           "return ts.embedding(table, ids)", g.gather, sizes, prepare=ids)
    # Every rank of the table and of the ids, with extents around a tile of columns: each element has to be written.
    for rank, many in itertools.product(range(1, 5), range(1, 5)):
        table, places = ("V", "D", "E", "F")[:rank], ("A", "B", "C", "G")[:many]
        dims = (*table, *places)
        last = places[-1] if rank == 1 else table[-1]
        runs = [dict.fromkeys(dims, 2) | {"V": 5, last: n} for n in (0, 1, 3, 7, 127, 511, 512, 513, 1031)]
        runs += [dict.fromkeys(dims, n) for n in (0, 1)] + [dict.fromkeys(dims, 2) | {d: 0} for d in dims]
        yield function(f"graph/embedding/ranks/{rank}x{many}", {"table": (table, "f32"), "ids": (places, "i32")},
                       "return ts.embedding(table, ids)", g.gather, runs, prepare=ids)
    yield function("graph/embedding/batch", {"table": (("V", "D"), "f32"), "ids": (("S", 3), "i32"), "w": (("D", "E"), "f32")},
                   "return ts.embedding(table, ids) @ w", lambda table, ids, w: g.matmul(g.gather(table, ids), w),
                   [{**s, "E": 5} for s in sizes[:2]], prepare=lambda n, d, r: ids("table" if n != "ids" else n, d, r))


# ---- functions and kernels that call each other ----

KERNELS = """@ts.kernel
def scaled(x: ts.Tensor["P", "Q", ts.f32], y: ts.Tensor["P", "Q", ts.f32], s: ts.f32):
    for p in ts.tile.parallel(0, P, 8):
        for q in ts.tile.parallel(0, Q, 16):
            y[p:p+8, q:q+16] = x[p:p+8, q:q+16] * s + y[p:p+8, q:q+16]

@ts.kernel
def doubled(x: ts.Tensor["P", ts.f32]) -> ts.Tensor["P", ts.f32]:
    i = ts.tile.linear_id()
    if i < P:
        x[i] = 2.0 * x[i]
    return x

@ts.kernel
def shifted(x: ts.Tensor["P", ts.f32], y: ts.Tensor["P", ts.f32], a: ts.i8, b: ts.u8):
    for p in ts.tile.parallel(0, P, 16):
        y[p:p+16] = x[p:p+16] + ts.tile.cast(a, ts.f32) + ts.tile.cast(b, ts.f32)

def square(v):
    return v * v

@ts.jit
def inner(x: ts.Tensor["A", "B", ts.f32], w: ts.Tensor["B", ts.f32]) -> ts.Tensor["A", ts.f32]:
    return ts.sum(square(x) * w, axis=-1)

"""


LOOPS = """SCALE = 3

def grown(v, steps=3):
    for r in range(steps):
        v = v * 2.0
    return v

def shrunk(v):
    if SCALE > 5:
        return v
    return v * 0.5

def both(x):
    return grown(shrunk(x))

def count(n):
    total = 0
    for i in range(n):
        total += 1
    return total

def early(x, last):
    for i in range(10):
        x = x * 2.0
        if i == last:
            return x
    return x * 0.0

def scaled_by(x, by=SCALE):
    return x * by

@ts.jit
def outer(x: ts.Tensor["P", "Q", ts.f32]) -> ts.Tensor["P", "Q", ts.f32]:
    for i in range(2):
        x = x * 2.0
    return grown(x)

"""


def calls():
    x, y, w = {"x": (("M", "N"), "f32")}, {"y": (("M", "N"), "f32")}, {"w": (("N",), "f32")}

    def scaled(x, y, s):
        return g.binary("add", g.binary("mul", x, g.exact("f32", s)), y)

    def inner(x, w):
        return g.reduce("sum", g.binary("mul", g.binary("mul", x, x), w), 1)
    yield function("graph/call/kernel", x | y, "t = ts.tanh(y)\nscaled(x, t, 0.5)\nreturn ts.relu(t)",
                   lambda x, y: g.unary("relu", scaled(x, g.unary("tanh", y), 0.5)), MATRICES, before=KERNELS)
    yield function("graph/call/in-place", x | y, "scaled(x, y, 2.0)", lambda x, y: {"y": scaled(x, y, 2.0)}, MATRICES, before=KERNELS)
    yield function("graph/call/scalar", x | y | {"s": (None, "f32")}, "t = x + 0.0\nscaled(y, t, s)\nreturn t", lambda x, y, s: scaled(y, x, s), MATRICES,
                   before=KERNELS, scalars={"s": -1.5})
    yield function("graph/call/bytes", {"x": (("N",), "f32")}, "y = ts.zeros((N,))\nshifted(x, y, -5, 200)\nreturn y",
                   lambda x: g.binary("add", g.binary("add", x, g.exact("f32", -5)), g.exact("f32", 200)), MATRICES[2:], before=KERNELS)
    yield function("graph/call/function", x | w, "return inner(x, w) + 1.0", lambda x, w: g.binary("add", inner(x, w), g.exact("f32", 1)), MATRICES[2:], before=KERNELS)
    yield function("graph/call/loop", x, "for i in range(3):\n    x = square(x) * 0.5\nreturn x",
                   lambda x: [x := g.binary("mul", g.binary("mul", x, x), g.exact("f32", 0.5)) for _ in range(3)][-1], MATRICES, before=KERNELS)
    # Every place an expression may be in runs the whole helper.
    times = lambda x, by: g.binary("mul", x, g.exact("f32", by))
    for name, body, by in (("returned", "return grown(x)", 8), ("listed", "return grown(x), shrunk(x)", (8, 0.5)), ("argument", "return grown(grown(x))", 64),
                           ("nested", "return both(x)", 4), ("keyword", "return both(x=grown(v=x))", 32), ("condition", "if count(3) == 3:\n    x = x * 2.0\nreturn x", 2),
                           ("bound", "for i in range(count(2)):\n    x = x * 2.0\nreturn x[count(0):, :] if count(2) > 1 else grown(x)", 4),
                           ("changed", "x *= grown(0.5)\nreturn x", 4), ("function", "return outer(x)", 32), ("early", "return early(x, 2)", 8),
                           ("early-loop", "for i in range(5):\n    x = grown(x)\n    if i == 1:\n        return x\nreturn shrunk(x)", 64),
                           ("early-branch", "if SCALE > 3:\n    return grown(x)\nelif SCALE == 3:\n    return shrunk(x)\nreturn x", 0.5),
                           ("default", "SCALE = 5\nreturn scaled_by(x)", 3)):
        yield function(f"graph/call/{name}", x, body, (lambda x, by=by: tuple(times(x, b) for b in by) if isinstance(by, tuple) else times(x, by)), MATRICES[2:], before=LOOPS)
    yield function("graph/results", x | y, "return x + y, x", lambda x, y: {"result0": g.binary("add", x, y)}, MATRICES)
    yield function("graph/identity", x, "return x * 1.0", lambda x: g.binary("mul", x, g.exact("f32", 1)), MATRICES)


UPDATES = """@ts.kernel
def one_more(x: ts.Tensor["P", ts.f32]):
    i = ts.tile.linear_id()
    if i < P:
        x[i] = x[i] + 1.0

@ts.kernel
def row_more(x: ts.Tensor["P", "Q", ts.f32]):
    for p in ts.tile.parallel(0, P, 4):
        for q in ts.tile.parallel(0, Q, 16):
            x[p:p+4, q:q+16] = x[p:p+4, q:q+16] + 1.0

@ts.kernel
def add_reversed(x: ts.Tensor["P", "Q", ts.f32], y: ts.Tensor["R", ts.f32]):
    for p in ts.tile.range(0, P, 1):
        for q in ts.tile.range(0, Q, 1):
            x[p, q] = x[p, q] + y[R - 1 - p*Q - q]

"""


def updates():
    """What a kernel updates in place is one value; equal ones, old ones and other shapes of it keep what they were."""
    x, xy = {"x": (("N",), "f32")}, {"x": (("M", "N"), "f32"), "y": (("M", "N"), "f32")}

    def more(t):
        return g.binary("add", t, g.exact("f32", 1))

    def flat(t):
        return g.moved(np.ravel, t)

    def case(name, params, body, model):
        return function(f"graph/update/{name}", params, body, model, MATRICES[2:], before=UPDATES)
    zeros = "a = ts.zeros((N,), ts.f32)\nb = ts.zeros((N,), ts.f32)\none_more(a)\n"
    ones = lambda x: more(g.exact("f32", np.zeros(x.shape)))
    yield case("equal", x, zeros + "one_more(b)\nreturn a, b, x + a", lambda x: (ones(x), ones(x), g.binary("add", x, ones(x))))
    yield case("equal-one", x, "a = ts.exp(x)\nb = ts.exp(x)\none_more(a)\nreturn a, b", lambda x: (more(g.unary("exp", x)), g.unary("exp", x)))
    yield case("equal-results", x, "return x * 2.0, x * 2.0, x.reshape(N, 1), x[:, None], ts.broadcast_to(x, (N,))",
               lambda x: {f"result{i}": t for i, t in enumerate([g.binary("mul", x, g.exact("f32", 2))] * 2 + [g.moved(lambda v: v[:, None], x)] * 2 + [x])})
    yield case("copies", x, "a, b, c = ts.cast(x, ts.f32), x.reshape(N), x[:]\none_more(b)\nreturn a * c, b", lambda x: (g.binary("mul", x, x), more(x)))
    yield case("transposed", xy, "t = x.T\nrow_more(x)\nreturn t @ y, t * 1.0",
               lambda x, y: {"x": more(x), "result0": g.matmul(g.transposed(x), y), "result1": g.transposed(x)})
    yield case("old-result", xy, "flat, twice = x.reshape(M * N), x + x\nrow_more(x)\nreturn flat, twice * x",
               lambda x, y: {"x": more(x), "result0": flat(x), "result1": g.binary("mul", g.binary("add", x, x), more(x))})
    yield case("read-before", x, "wide, part = x.astype(ts.f64), x[1:]\none_more(x)\nreturn wide * 2.0, part + part",
               lambda x: {"x": more(x), "result0": g.binary("mul", g.cast(x, "f64"), g.exact("f64", 2)), "result1": g.moved(lambda v: v[1:], g.binary("add", x, x))})
    yield case("beside", xy, "add_reversed(x, x.reshape(M * N))\nreturn x * 1.0",
               lambda x, y: (lambda t: {"x": t, "result": t})(g.binary("add", x, g.moved(lambda v: v.ravel()[::-1].reshape(v.shape), x))))


def short_reductions():
    """Axes of a few elements, which are reduced by operations on slices: windows of pictures, the last axis, one before it,
    adjacent ones, the first; of what is computed before from tensors that broadcast, and of slices and transposes."""
    sizes = [{"H": h, "W": w} for h, w in ((0, 3), (1, 1), (3, 7), (5, 33), (2, 130))]
    shapes = {"windows": (("H", 2, "W", 2), (1, 3)), "windows3": (("H", 3, "W", 3), (1, 3)), "windows4": (("H", 4, "W", 4), (1, 3)),
              "channels_last": (("H", 2, "W", 2, 3), (1, 3)), "channels_first": ((2, "H", 3, "W", 2), (2, 4)),
              "volumes": (("H", 2, "W", 2, 3, 2), (1, 3, 5)), "last": (("H", "W", 7), (2,)), "last8": (("H", "W", 8), (2,)),
              "middle": (("H", 5, "W"), (1,)), "first": ((16, "H", "W"), (0,)), "adjacent": (("H", 2, 2, "W"), (1, 2)),
              "outer": ((2, "H", "W", 3), (0, 3)), "large": (("H", 5, "W", 4), (1, 3)), "some_adjacent": (("H", 2, "W", 3, 2), (1, 3, 4))}
    every = ("windows", "volumes", "last", "first", "outer")
    for dtype in [*FLOATS, "i64", "i32", "u8", "i8", "bool"]:
        is_float = DTYPES[dtype].is_float
        for name in shapes if dtype in ("f32", "bf16", "u8") else every:
            dims, axes = shapes[name]
            kinds = ["max", "min", *(["sum", "prod"] if dtype != "bool" else []), *(["mean"] if is_float else [])]
            calls = [(kind, keep) for kind in kinds for keep in (False, True)]
            text = ", ".join(f"ts.{kind}(x, axis={axes}{', keepdims=True' if keep else ''})" for kind, keep in calls)
            yield function(f"graph/reduce/short/{name}/{dtype}", {"x": (dims, dtype, *((0.5, 1.5) if is_float else ()))}, f"return {text}",
                           lambda x, calls=calls, axes=axes: tuple(g.reduce(kind, x, axes, keep) for kind, keep in calls), sizes)
    for dtype in ("f32", "bf16"):
        computed = {"x": (("H", 2, "W", 2), dtype, 0.5, 2), "c": (("W", 1), dtype, 0.5, 2), "p": ((2, 1, 2), dtype, 0.5, 2), "b": (("H", "W"), dtype)}
        yield function(f"graph/reduce/short/computed/{dtype}", computed,
                       "y = ts.relu(x * c + p)\nreturn ts.sum(y, axis=(1, 3)) * b + b, ts.max(y, axis=(1, 3)), ts.mean(ts.mean(x * x, axis=(1, 3)), axis=1)",
                       lambda x, c, p, b: (lambda y: (g.binary("add", g.binary("mul", g.reduce("sum", y, (1, 3)), b), b), g.reduce("max", y, (1, 3)),
                                                      g.reduce("mean", g.reduce("mean", g.binary("mul", x, x), (1, 3)), 1)))(
                           g.unary("relu", g.binary("add", g.binary("mul", x, c), p))), sizes[1:])
        yield function(f"graph/reduce/short/shared/{dtype}", {"x": (("H", "W", 3), dtype, 0.5, 2)},
                       "y = x * x\nreturn y, ts.sum(y, axis=2), ts.argmax(x, axis=2), x - ts.mean(x, axis=2, keepdims=True), ts.softmax(x)",
                       lambda x: (lambda y: (y, g.reduce("sum", y, 2), g.reduce("argmax", x, 2),
                                             g.binary("sub", x, g.reduce("mean", x, 2, True)), g.softmax(x, 2, False)))(g.binary("mul", x, x)), sizes[1:])
        yield function(f"graph/reduce/short/views/{dtype}", {"x": (("H", 6, "W", 5), dtype, 0.5, 2)},
                       "return ts.sum(x[:, 1::2, :, 3:0:-1], axis=(1, 3)), ts.max(x[:, 4:, :, 1], axis=1), ts.sum(ts.transpose(x, (0, 2, 3, 1))[..., ::3], axis=(2, 3))",
                       lambda x: (g.reduce("sum", g.moved(lambda v: v[:, 1::2, :, 3:0:-1], x), (1, 3)),
                                  g.reduce("max", g.moved(lambda v: v[:, 4:, :, 1], x), 1),
                                  g.reduce("sum", g.moved(lambda v: np.transpose(v, (0, 2, 3, 1))[..., ::3], x), (2, 3))), sizes[1:])


def programs():
    for family in (unaries, binaries, scalars_and_choices, casts, widened, reductions, short_reductions, normalisations, products, fusions, attentions, losses, shapes,
                   tables, calls, updates):
        yield from family()
