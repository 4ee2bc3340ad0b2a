"""The operations that operations.py measures: as a graph function writes them, and as NumPy does."""
import dataclasses
import itertools

import numpy as np
from programs import programs

# Sizes of vectors, matrices (small, square, large, of short rows, of few rows), and tensors of rank 3 and 4.
VECTORS = [{"N": n} for n in (1003, 100003, 4000037)]
MATRICES = [{"M": m, "N": n} for m, n in ((50, 70), (500, 700), (2000, 3001), (200003, 7), (7, 200003))]
SQUARES = [{"M": n, "N": n} for n in (67, 501, 2003)]
CUBES = [{"B": b, "M": m, "N": n} for b, m, n in ((8, 20, 30), (30, 101, 203), (3001, 33, 20), (100003, 4, 5))]
FOURS = [{"A": a, "B": b, "M": m, "N": n} for a, b, m, n in ((2, 3, 11, 13), (8, 12, 100, 64), (1001, 4, 17, 16))]

FLOATS = ("f32", "f64", "bf16", "f16")
INTEGERS = ("i8", "u8", "i16", "i32", "i64")
EVERY = (*FLOATS, *INTEGERS, "bool")
MOVED = ("f32", "f64", "bf16", "i8", "bool")  # one of each size of an element, and those with casts of their own

NUMPY_DTYPES = {"f32": "f4", "f64": "f8", "bf16": "f4", "f16": "f2", "i8": "i1", "u8": "u1", "i16": "i2", "i32": "i4", "i64": "i8", "bool": "?"}


@dataclasses.dataclass
class Case:
    name: str
    parameters: dict  # "x": (("M", "N"), "f32", None) or, of indices below M, (("K",), "i32", "M")
    expression: str  # of the result, or several lines: the body
    numpy: object  # of the arrays, in the order of the parameters
    size: dict
    dtype: str  # the one it is measured with

    def source(self):
        lines = ["import tessera as ts", "", "@ts.jit"]
        tensors = []
        for name, (dims, dtype, _) in self.parameters.items():
            extents = ", ".join(d if d.isdigit() else f'"{d}"' for d in dims)
            tensors.append(f"{name}: ts.Tensor[{extents}, ts.{dtype}]")
        body = self.expression if "\n" in self.expression else f"\n    return {self.expression}"
        return "\n".join([*lines, f"def f({', '.join(tensors)}):{body}", ""])

    def inputs(self, random):
        arrays = {}
        for name, (dims, dtype, limit) in self.parameters.items():
            shape = tuple(eval(d, {}, self.size) for d in dims)  # noqa: S307
            if dtype == "bool":
                array = random.random(shape) * 100 < int(limit or 50)
            elif limit:
                array = random.integers(0, self.size[limit], shape)
            elif dtype[0] in "iu":
                array = random.integers(-50 if dtype[0] == "i" else 0, 50, shape)
            else:
                array = random.standard_normal(shape)
            arrays[name] = np.asarray(array, NUMPY_DTYPES[dtype])
        return arrays


def parameters(text, dtype):
    """Reads "x: M N; i: K i32<M; c: N bool<20": x is of `dtype`, i are numbers below M, 20% of c are true."""
    found = {}
    for part in text.split(";"):
        name, words = part.split(":")
        *dims, last = words.split()
        own, _, limit = last.partition("<")
        if own in NUMPY_DTYPES:
            found[name.strip()] = (tuple(dims), own, limit)
        else:
            found[name.strip()] = ((*dims, last), dtype, None)
    return found


def moves():
    """What copies elements to other places."""
    yield "transpose", "x: M N", "x.T", lambda x: x.T.copy(), MATRICES, MOVED
    yield "transpose 021", "x: B M N", "x.transpose(0, 2, 1)", lambda x: x.transpose(0, 2, 1).copy(), CUBES, ("f32", "i8")
    yield "transpose 102", "x: B M N", "x.transpose(1, 0, 2)", lambda x: x.transpose(1, 0, 2).copy(), CUBES, ("f32", "i8")
    yield "transpose 210", "x: B M N", "x.transpose(2, 1, 0)", lambda x: x.transpose(2, 1, 0).copy(), CUBES, ("f32",)
    yield "transpose 0213", "x: A B M N", "x.transpose(0, 2, 1, 3)", lambda x: x.transpose(0, 2, 1, 3).copy(), FOURS, ("f32", "bf16")
    yield "transpose 0231", "x: A B M N", "x.transpose(0, 2, 3, 1)", lambda x: x.transpose(0, 2, 3, 1).copy(), FOURS, ("f32",)
    yield "flip rows", "x: M N", "x[::-1]", lambda x: x[::-1].copy(), MATRICES, ("f32",)
    yield "flip columns", "x: M N", "x[:, ::-1]", lambda x: x[:, ::-1].copy(), MATRICES, MOVED
    yield "x[::2]", "x: M N", "x[::2]", lambda x: x[::2].copy(), MATRICES, ("f32",)
    yield "x[:, ::2]", "x: M N", "x[:, ::2]", lambda x: x[:, ::2].copy(), MATRICES, MOVED
    yield "x[:, 1::3]", "x: M N", "x[:, 1::3]", lambda x: x[:, 1::3].copy(), MATRICES, ("f32", "f64")
    yield "x[1:, 1:]", "x: M N", "x[1:, 1:]", lambda x: x[1:, 1:].copy(), MATRICES, MOVED
    yield "x[:, 0]", "x: M N", "x[:, 0]", lambda x: x[:, 0].copy(), MATRICES, ("f32",)
    yield "roll rows", "x: M N", "ts.concat([x[1:], x[:1]])", lambda x: np.roll(x, -1, 0), MATRICES, ("f32",)
    yield "roll columns", "x: M N", "ts.concat([x[:, 1:], x[:, :1]], axis=1)", lambda x: np.roll(x, -1, 1), MATRICES, ("f32", "i8")
    yield "concat rows", "x: M N; y: K N", "ts.concat([x, y], axis=0)", lambda x, y: np.concatenate([x, y]), with_k(MATRICES), ("f32", "i8")
    yield "concat columns", "x: M N; y: M N", "ts.concat([x, y], axis=1)", lambda x, y: np.concatenate([x, y], 1), MATRICES, MOVED
    yield "concat column", "x: M N; y: M 1", "ts.concat([x, y], axis=1)", lambda x, y: np.concatenate([x, y], 1), MATRICES, ("f32", "i8")
    yield ("concat halves", "x: B M N; y: B M N", "ts.concat([x, y], axis=1)", lambda x, y: np.concatenate([x, y], 1), CUBES, ("f32",))
    yield "stack first", "x: M N; y: M N", "ts.stack([x, y])", lambda x, y: np.stack([x, y]), MATRICES, ("f32", "i8")
    yield "stack last", "x: M N; y: M N", "ts.stack([x, y], axis=-1)", lambda x, y: np.stack([x, y], -1), MATRICES, MOVED
    yield "stack 4 last", "x: M N", "ts.stack([x, x, x, x], axis=-1)", lambda x: np.stack([x, x, x, x], -1), MATRICES, ("f32", "i8")
    yield "split last", "x: M N 2", "x[:, :, 0], x[:, :, 1]", lambda x: (x[:, :, 0].copy(), x[:, :, 1].copy()), MATRICES, MOVED
    yield "split pairs", "x: 2*N", "x[::2], x[1::2]", lambda x: (x[::2].copy(), x[1::2].copy()), VECTORS, ("f32", "f64", "i8")
    yield "repeat rows", "x: M N", "ts.repeat(x, 3, axis=0)", lambda x: np.repeat(x, 3, 0), MATRICES, ("f32",)
    yield "repeat columns", "x: M N", "ts.repeat(x, 2, axis=1)", lambda x: np.repeat(x, 2, 1), MATRICES, MOVED
    yield "tile rows", "x: M N", "ts.op.tile(x, (2, 1))", lambda x: np.tile(x, (2, 1)), MATRICES, ("f32",)
    yield "tile columns", "x: M N", "ts.op.tile(x, (1, 3))", lambda x: np.tile(x, (1, 3)), MATRICES, ("f32", "i8")
    for mode in ("constant", "edge", "reflect", "symmetric", "wrap"):
        call = f'ts.pad(x, ((3, 5), (2, 4)), mode="{mode}")'
        reference = lambda x, mode=mode: np.pad(x, ((3, 5), (2, 4)), mode)  # noqa: E731
        yield f"pad {mode}", "x: M N", call, reference, MATRICES[:3] + [{"M": 200003, "N": 7}], ("f32", "i8") if mode == "constant" else ("f32",)
    yield "pad 3d", "x: B M N", "ts.pad(x, ((0, 0), (1, 1), (1, 1)))", lambda x: np.pad(x, ((0, 0), (1, 1), (1, 1))), CUBES, ("f32",)
    yield "pad vector", "x: N", "ts.pad(x, 3)", lambda x: np.pad(x, 3), VECTORS, ("f32", "i8")
    yield "zeros", "x: M N", "ts.zeros((M, N), ts.f32)", lambda x: np.zeros_like(x), MATRICES[1:3], ("f32",)
    yield "full", "x: M N", "ts.full((M, N), 2.0, ts.f32)", lambda x: np.full_like(x, 2), MATRICES, ("f32",)
    yield "arange", "x: N", "ts.arange(N)", lambda x: np.arange(len(x), dtype="i4"), VECTORS, ("f32",)
    yield "broadcast rows", "x: N; y: M 1", "ts.broadcast(x, (M, N))", lambda x, y: np.broadcast_to(x, (len(y), len(x))).copy(), MATRICES, ("f32",)
    yield "broadcast columns", "x: M 1; y: N", "ts.broadcast(x, (M, N))", lambda x, y: np.broadcast_to(x, (len(x), len(y))).copy(), MATRICES, ("f32",)


def with_k(sizes):
    return [{**s, "K": s["M"] // 2 + 1} for s in sizes]


def indexing():
    """What reads and writes at places that are in tensors."""
    rows, elements = with_k(MATRICES), with_k(MATRICES)
    yield "gather rows", "x: M N; i: K i32<M", "ts.gather(x, i)", lambda x, i: x[i], rows, ("f32", "f64", "i8")
    yield "gather rows i64", "x: M N; i: K i64<M", "ts.gather(x, i)", lambda x, i: x[i], rows, ("f32",)
    yield "gather columns", "x: M N; i: K i32<N", "ts.take(x, i, axis=1)", lambda x, i: x.take(i, 1), [{**s, "K": s["N"] // 2 + 1} for s in MATRICES], ("f32", "i8")
    yield "gather vector", "x: N; i: K i32<N", "ts.gather(x, i)", lambda x, i: x[i], [{**s, "K": s["N"]} for s in VECTORS], ("f32", "f64", "i8")
    yield "take_along columns", "x: M N; i: M N i64<N", "ts.take_along_axis(x, i, axis=1)", lambda x, i: np.take_along_axis(x, i, 1), MATRICES, ("f32",)
    yield "take_along rows", "x: M N; i: M N i64<M", "ts.take_along_axis(x, i, axis=0)", lambda x, i: np.take_along_axis(x, i, 0), MATRICES, ("f32",)
    yield "pick one", "x: M N; i: M i32<N", "ts.gather_elements(x, i[:, None], axis=1)", lambda x, i: np.take_along_axis(x, i[:, None], 1), MATRICES, ("f32",)
    yield "gather_nd", "x: M N; i: K 2 i32<M", "ts.gather_nd(x, i)", lambda x, i: x[i[:, 0], i[:, 1]], with_k(SQUARES), ("f32",)
    yield "one_hot", "i: M i32<N; x: N", "ts.one_hot(i, N)", lambda i, x: (i[:, None] == np.arange(len(x))).astype("f4"), MATRICES, ("f32",)
    yield "scatter rows", "x: M N; i: K i32<M; u: K N", "ts.scatter(x, i * 0 + ts.arange(K), u)", lambda x, i, u: put(x, np.arange(len(i)), u), rows, ("f32", "i8")
    yield "scatter vector", "x: N; i: N i32<N; u: N", "ts.scatter(x, ts.arange(N) + i * 0, u)", lambda x, i, u: put(x, np.arange(len(i)), u), VECTORS, ("f32",)
    yield "scatter add rows", "x: M N; i: K i32<M; u: K N", 'ts.scatter(x, i, u, reduction="add")', lambda x, i, u: add_at(x, i, u), rows, ("f32", "i32")
    yield "scatter add vector", "x: N; i: N i32<N; u: N", 'ts.scatter(x, i, u, reduction="add")', lambda x, i, u: add_at(x, i, u), VECTORS, ("f32",)
    yield "tril", "x: M N", "ts.tril(x)", np.tril, SQUARES, ("f32", "i8", "bool")
    yield "triu", "x: M N", "ts.triu(x, 1)", lambda x: np.triu(x, 1), SQUARES, ("f32", "i16")
    yield "where", "c: M N bool; x: M N; y: M N", "ts.where(c, x, y)", np.where, MATRICES, EVERY
    yield "where scalar", "x: M N", "ts.where(x > 0, x, 0)", lambda x: np.where(x > 0, x, x.dtype.type(0)), MATRICES, ("f32", "i8")


def put(x, i, u):
    y = x.copy()
    y[i] = u
    return y


def add_at(x, i, u):
    y = x.copy()
    np.add.at(y, i, u)
    return y


def reductions():
    for name in ("sum", "max", "argmax", "prod"):
        dtypes = {"sum": EVERY, "max": EVERY, "argmax": ("f32", "f64", "i8", "bool"), "prod": ("f32",)}[name]
        for axis in (0, 1):
            def reference(x, name=name, axis=axis):
                if name == "argmax":
                    return x.argmax(axis).astype("i4")
                if name in ("sum", "prod") and x.dtype.kind in "iub" and x.dtype.itemsize < 8:
                    return getattr(x, name)(axis, dtype="i4")
                return getattr(x, name)(axis)
            for dtype in dtypes:  # NumPy stops at the first true element
                text = "x: M N bool<0" if dtype == "bool" and name != "sum" else "x: M N"
                yield f"{name} axis {axis}", text, f"ts.{name}(x, axis={axis})", reference, MATRICES, (dtype,)
        if name != "prod":
            def everything(x, name=name):
                if name == "sum" and x.dtype.kind in "iub" and x.dtype.itemsize < 8:
                    return x.sum(dtype="i4")
                y = getattr(x, name)()
                return y.astype("i4") if name == "argmax" else y
            yield f"{name} all", "x: M N", f"ts.{name}(x)", everything, MATRICES, ("f32", "i8")
    yield "sum axis 1 of 3", "x: B M N", "ts.sum(x, axis=1)", lambda x: x.sum(1), CUBES, ("f32",)
    yield "sum axes 0, 2", "x: B M N", "ts.sum(x, axis=(0, 2))", lambda x: x.sum((0, 2)), CUBES, ("f32",)
    yield "sum axes 1, 2", "x: B M N", "ts.sum(x, axis=(1, 2))", lambda x: x.sum((1, 2)), CUBES, ("f32",)
    yield "sum vector", "x: N", "ts.sum(x)", np.sum, VECTORS, ("f32", "f64")
    yield "dot of vectors", "x: N; y: N", "ts.sum(x * y)", np.dot, VECTORS, ("f32", "f64")
    yield "max axis 1 of 3", "x: B M N", "ts.max(x, axis=1)", lambda x: x.max(1), CUBES, ("f32",)
    yield "argmax axis 1 of 3", "x: B M N", "ts.argmax(x, axis=1)", lambda x: x.argmax(1).astype("i4"), CUBES, ("f32",)
    yield "mean axis 1", "x: M N", "ts.mean(x, axis=1)", lambda x: x.mean(1), MATRICES, FLOATS
    yield "var axis 0", "x: M N", "ts.var(x, axis=0)", lambda x: x.var(0), MATRICES, ("f32",)
    yield "var axis 1", "x: M N", "ts.var(x, axis=1)", lambda x: x.var(1), MATRICES, ("f32",)
    yield "norm axis 1", "x: M N", "ts.norm(x, axis=1)", lambda x: np.linalg.norm(x, axis=1), MATRICES, ("f32",)
    yield "any axis 1", "x: M N bool<0", "ts.any(x, axis=1)", lambda x: x.any(1), MATRICES, ("bool",)
    yield "any axis 0", "x: M N bool<0", "ts.any(x, axis=0)", lambda x: x.any(0), MATRICES, ("bool",)
    yield "all", "x: M N bool<100", "ts.all(x)", lambda x: x.all(), MATRICES, ("bool",)
    yield "logsumexp axis 1", "x: M N", "ts.logsumexp(x, axis=1)", lambda x: logsumexp(x, 1), MATRICES, ("f32",)
    yield "logsumexp axis 0", "x: M N", "ts.logsumexp(x, axis=0)", lambda x: logsumexp(x, 0), MATRICES, ("f32",)
    for axis in (0, 1):
        for name in ("cumsum", "cumprod"):
            yield (f"{name} axis {axis}", "x: M N", f"ts.{name}(x, axis={axis})",
                   lambda x, axis=axis, name=name: getattr(x, name)(axis, dtype="i4" if x.dtype.kind in "iub" and x.dtype.itemsize < 8 else None),
                   MATRICES, ("f32", "f64", "i32", "bool") if name == "cumsum" else ("f32",))
        yield f"cummax axis {axis}", "x: M N", f"ts.cummax(x, axis={axis})", lambda x, axis=axis: np.maximum.accumulate(x, axis), MATRICES, ("f32", "i8")
    yield "cumsum vector", "x: N", "ts.cumsum(x)", np.cumsum, VECTORS, ("f64", "i64")
    yield "cumsum axis 1 of 3", "x: B M N", "ts.cumsum(x, axis=1)", lambda x: x.cumsum(1), CUBES, ("f32",)


def logsumexp(x, axis):
    m = x.max(axis, keepdims=True)
    return np.log(np.exp(x - m).sum(axis)) + np.squeeze(m, axis)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def sorting():
    """Sorts of rows, of columns, and the largest of them."""
    sizes = [{"M": m, "N": n} for m, n in ((25000, 8), (2000, 100), (200, 1000), (7, 30011), (1, 1000003))]
    yield "sort", "x: M N", "ts.sort(x)", lambda x: np.sort(x), sizes, EVERY
    yield "sort axis 0", "x: M N", "ts.sort(x, axis=0)", lambda x: np.sort(x, 0), MATRICES, ("f32",)
    yield "argsort", "x: M N", "ts.argsort(x)", lambda x: np.argsort(x, kind="stable").astype("i4"), sizes, EVERY
    yield "topk 5", "x: M N", "ts.topk(x, 5)[0]", lambda x: largest(x, 5), sizes, EVERY[:-1]
    yield "topk 100", "x: M N", "ts.topk(x, 100)[0]", lambda x: largest(x, 100), sizes[1:], ("f32", "f64")


def largest(x, k):
    return np.sort(np.partition(x, x.shape[-1] - k)[..., x.shape[-1] - k:])[..., ::-1]


def formulas():
    """Elementwise functions, broadcasts and what rows are normalised with."""
    for symbol in ("+", "*", "/"):
        yield f"x {symbol} y", "x: M N; y: M N", f"x {symbol} y", eval(f"lambda x, y: x {symbol} y"), MATRICES, FLOATS  # noqa: S307
    yield "x + y integers", "x: M N; y: M N", "x + y", lambda x, y: x + y, MATRICES, INTEGERS
    yield "x * y integers", "x: M N; y: M N", "x * y", lambda x, y: x * y, MATRICES, INTEGERS
    yield "x + row", "x: M N; y: N", "x + y", lambda x, y: x + y, MATRICES, ("f32", "i8")
    yield "x + column", "x: M N; y: M 1", "x + y", lambda x, y: x + y, MATRICES, ("f32", "i8")
    yield "outer", "x: M 1; y: N", "x * y", lambda x, y: x * y, MATRICES, ("f32",)
    yield "middle", "x: B M N; y: B 1 N", "x + y", lambda x, y: x + y, CUBES, ("f32",)
    yield "inner", "x: B M N; y: B M 1", "x + y", lambda x, y: x + y, CUBES, ("f32",)
    yield "x > y", "x: M N; y: M N", "x > y", lambda x, y: x > y, MATRICES, ("f32", "f64", "i8", "i64")
    yield "x & y", "x: M N; y: M N", "x & y", lambda x, y: x & y, MATRICES, ("bool", "i8", "i64")
    yield "~x", "x: M N", "~x", lambda x: ~x, MATRICES, ("bool", "i8")
    yield "maximum", "x: M N; y: M N", "ts.maximum(x, y)", np.maximum, MATRICES, EVERY[:-1]
    yield "clip", "x: M N", "ts.clip(x, -1, 1)", lambda x: np.clip(x, -1, 1), MATRICES, ("f32", "i8")
    yield "abs", "x: M N", "ts.abs(x)", np.abs, MATRICES, ("f32", "i8", "i64")
    yield "isnan", "x: M N", "ts.isnan(x)", np.isnan, MATRICES, ("f32", "f64")
    yield "round", "x: M N", "ts.round(x)", np.round, MATRICES, ("f32", "f64")
    yield "sqrt", "x: M N", "ts.sqrt(ts.abs(x))", lambda x: np.sqrt(np.abs(x)), MATRICES, ("f32", "f64")
    yield "tanh", "x: M N", "ts.tanh(x)", np.tanh, MATRICES, ("f32", "f64", "f16")
    yield "log", "x: M N", "ts.log(ts.abs(x) + 1)", lambda x: np.log(np.abs(x) + 1), MATRICES, ("f32", "f64")
    yield "sin", "x: M N", "ts.sin(x)", np.sin, MATRICES, ("f32", "f64")
    yield "chain", "x: M N; y: M N", "ts.where(x > y, x * y + x, x - y) * 0.5", lambda x, y: np.where(x > y, x * y + x, x - y) * x.dtype.type(0.5), MATRICES, FLOATS
    yield "exp", "x: M N", "ts.exp(x)", np.exp, MATRICES, ("f32", "f64", "f16")
    yield "x ** 3", "x: M N", "x ** 3", lambda x: x**3, MATRICES, ("f32",)
    yield "x ** y", "x: M N; y: M N", "ts.abs(x) ** y", lambda x, y: np.abs(x) ** y, MATRICES, ("f32", "f64")
    yield "x // 7", "x: M N", "x // 7", lambda x: x // 7, MATRICES, ("i32", "i64")
    for to in ("f64", "i32", "i8", "f16", "bool"):
        yield f"cast f32 {to}", "x: M N", f"ts.cast(x, ts.{to})", lambda x, to=to: x.astype(NUMPY_DTYPES[to]), MATRICES, ("f32",)
    yield "cast to f32", "x: M N", "ts.cast(x, ts.f32)", lambda x: x.astype("f4"), MATRICES, ("f64", "i8", "u8", "i16", "i64", "bool", "f16")
    for axis in (0, 1):
        yield f"softmax axis {axis}", "x: M N", f"ts.softmax(x, axis={axis})", lambda x, axis=axis: softmax(x, axis), MATRICES, ("f32",)
    yield "softmax rows of 4", "x: B M 4", "ts.softmax(x)", lambda x: softmax(x, -1), CUBES, ("f32",)
    yield "layer_norm", "x: M N; g: N; b: N", "ts.layer_norm(x, g, b)", layer_norm, MATRICES, ("f32",)
    yield "normalise", "x: M N", "x / ts.sum(x * x, axis=1, keepdims=True)", lambda x: x / (x * x).sum(1, keepdims=True), MATRICES, ("f32",)


def layer_norm(x, g, b):
    d = x - x.mean(1, keepdims=True)
    return d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * g + b


def products():
    """Products, small ones in batches as well."""
    sizes = [{"B": b, "M": m, "N": n, "K": k} for b, m, n, k in ((1000, 4, 4, 4), (1000, 16, 16, 16), (100, 33, 31, 35), (20000, 3, 3, 3), (7, 200, 300, 250))]
    yield "a @ b batched", "a: B M K; b: B K N", "a @ b", lambda a, b: a @ b, sizes, ("f32", "f64")
    yield "a @ b.T batched", "a: B M K; b: B N K", "a @ b.transpose(0, 2, 1)", lambda a, b: a @ b.transpose(0, 2, 1), sizes, ("f32",)
    flat = [{"M": m, "N": n, "K": k} for m, n, k in ((4, 4, 4), (64, 64, 64), (501, 503, 509), (20000, 3, 4), (3, 3, 100003), (1, 3001, 2000), (3001, 1, 2000), (1000, 8, 1000))]
    yield "a @ b", "a: M K; b: K N", "a @ b", lambda a, b: a @ b, flat, ("f32", "f64")
    yield "a.T @ b", "a: K M; b: K N", "a.T @ b", lambda a, b: a.T @ b, flat, ("f32",)
    yield "a @ b integers", "a: M K; b: K N", "a @ b", lambda a, b: a.astype("i4") @ b.astype("i4"), flat[:3], ("i32", "i8")
    for text in ("bmk,bkn->bmn", "bmk,bnk->bmn", "bmk,bkn->mn", "bmk,bkn->nbm"):
        operands = text.split("->")[0].split(",")
        dims = {name: " ".join(o.upper()) for name, o in zip("ab", operands)}
        yield f"einsum {text}", f"a: {dims['a']}; b: {dims['b']}", f'ts.einsum("{text}", a, b)', lambda a, b, t=text: np.einsum(t, a, b, optimize=True), sizes, ("f32",)
    yield "einsum mk,mk->m", "a: M K; b: M K", 'ts.einsum("mk,mk->m", a, b)', lambda a, b: np.einsum("mk,mk->m", a, b), [{"M": s["M"], "K": s["N"]} for s in MATRICES], ("f32",)
    yield "einsum mk->km", "a: M K", 'ts.einsum("mk->km", a)', lambda a: np.einsum("mk->km", a).copy(), [{"M": s["M"], "K": s["N"]} for s in MATRICES], ("f32",)
    yield "einsum m,n->mn", "a: M; b: N", 'ts.einsum("m,n->mn", a, b)', lambda a, b: np.einsum("m,n->mn", a, b), MATRICES, ("f32",)
    yield "einsum bhqk,bkhd->bqhd", "a: B H Q K; b: B K H D", 'ts.einsum("bhqk,bkhd->bqhd", a, b)', lambda a, b: np.einsum("bhqk,bkhd->bqhd", a, b, optimize=True), [{"B": 2, "H": 8, "Q": 100, "K": 120, "D": 64}, {"B": 50, "H": 4, "Q": 7, "K": 9, "D": 16}], ("f32",)


GROUPS = {"moves": moves, "indexing": indexing, "reductions": reductions, "sorting": sorting, "formulas": formulas, "products": products, "programs": programs}


def all_cases(groups):
    for group in groups or GROUPS:
        for name, text, expression, numpy, sizes, dtypes in GROUPS[group]():
            for dtype, size in itertools.product(dtypes, sizes):
                yield Case(name, parameters(text, dtype), expression, numpy, size, dtype)
