"""Graph functions that the frontend composes of others, against NumPy in double."""
import numpy as np

from cases import program, want
from dtypes import DTYPES, random

SIZES = [{"B": 2, "M": 3, "N": 5}, {"B": 1, "M": 1, "N": 1}, {"B": 3, "M": 17, "N": 33}, {"B": 2, "M": 65, "N": 300}]
EMPTY = [{"B": 2, "M": 0, "N": 3}, {"B": 2, "M": 3, "N": 0}]
PRECISION = {"f64": 1e-12, "f32": 2e-5, "bf16": 2e-2, "f16": 2e-3}


def function(name, dtype, body, reference, sizes=SIZES, out=None, result=None, low=-2.0, high=2.0, values=None):
    """`reference` computes from the array in double; `result` is the dtype of what comes out."""
    p = program(f"composed/{name}/{dtype}", f'@ts.jit\ndef f(x: ts.Tensor["B", "M", "N", ts.{dtype}]):\n    return {body}\n')
    result = result or dtype
    for seed, run in enumerate(sizes):
        shape = (run["B"], run["M"], run["N"])
        x = values(shape, np.random.default_rng(seed)) if values else random(dtype, shape, seed, low, high)
        with np.errstate(all="ignore"):
            expected = np.asarray(reference(x.astype("f8") if DTYPES[dtype].is_float else x))
        tolerance = {"rtol": PRECISION[result], "atol": PRECISION[result]} if DTYPES[result].is_float and not out else {}
        p.run(run, {"x": (dtype, x)}, {"result": want(result, expected, **tolerance)})
    return p


def logsumexp(x, axis=None, keepdims=False):
    m = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    m = np.where(np.isfinite(m), m, 0)
    r = np.log(np.exp(x - m).sum(axis=axis, keepdims=True)) + m
    return r if keepdims else r.reshape(np.sum(x, axis=axis).shape)


def reductions():
    for axis in ("None", "0", "1", "-1", "(0, 2)", "(1, 2)"):
        at = eval(axis)
        for dtype in ("f32", "f64", "bf16", "f16") if axis == "-1" else ("f32",):
            yield function(f"var-{axis}", dtype, f"ts.var(x, axis={axis})", lambda x: x.var(axis=at))
            yield function(f"std-{axis}-keep", dtype, f"ts.std(x, axis={axis}, keepdims=True)", lambda x: x.std(axis=at, keepdims=True))
            yield function(f"logsumexp-{axis}", dtype, f"ts.logsumexp(x, axis={axis})", lambda x: logsumexp(x, at))
        yield function(f"logsumexp-{axis}-keep", "f32", f"ts.logsumexp(x, axis={axis}, keepdims=True)", lambda x: logsumexp(x, at, True), low=-90.0, high=90.0)
        for name, of in (("any", np.any), ("all", np.all)):
            for dtype in ("bool", "i32", "f32", "u8"):
                values = lambda shape, rng: (rng.random(shape) < (0.1 if name == "any" else 0.9)) * 1
                yield function(f"{name}-{axis}", dtype, f"ts.{name}(x, axis={axis})", lambda x: of(x != 0, axis=at), SIZES + EMPTY, result="bool", values=values)
        yield function(f"any-{axis}-keep", "i64", f"ts.any(x, axis={axis}, keepdims=True)", lambda x: np.any(x != 0, axis=at, keepdims=True), result="bool",
                       values=lambda shape, rng: rng.integers(0, 2, shape))
    yield function("var-correction", "f32", "ts.var(x, axis=(1, 2), correction=1)", lambda x: x.var(axis=(1, 2), ddof=1), SIZES[:1] + SIZES[2:])
    yield function("var-correction-all", "f64", "ts.var(x, correction=2)", lambda x: x.var(ddof=2), SIZES[:1] + SIZES[2:])
    infinite = lambda shape, rng: rng.choice([-np.inf, -np.inf, 1.0, 2.0], shape)
    yield function("logsumexp-infinite", "f32", "ts.logsumexp(x, axis=-1)", lambda x: logsumexp(x, -1), values=infinite)
    yield function("logsumexp-minus-infinity", "f32", "ts.logsumexp(x, axis=1)", lambda x: logsumexp(x, 1), values=lambda shape, rng: np.full(shape, -np.inf))
    yield function("logsumexp-infinity", "f32", "ts.logsumexp(x, axis=1)", lambda x: np.full(np.delete(x.shape, 1), np.inf), values=lambda shape, rng: np.full(shape, np.inf))
    yield function("logsumexp-softmax", "f32", "ts.exp(x - ts.logsumexp(x, axis=-1, keepdims=True))", lambda x: np.exp(x - logsumexp(x, -1, True)))


def shapes():
    for dtype in ("f32", "i32", "bool", "bf16"):
        for axis in (0, 1, 3, -1):
            yield function(f"stack-{axis}", dtype, f"ts.stack([x, x], axis={axis})", lambda x: np.stack([x, x], axis), SIZES + EMPTY, out=True)
        for diagonal in (0, 1, -2):
            yield function(f"tril-{diagonal}", dtype, f"ts.tril(x, {diagonal})", lambda x: np.tril(x, diagonal), SIZES + EMPTY, out=True)
            yield function(f"triu-{diagonal}", dtype, f"ts.triu(x, {diagonal})", lambda x: np.triu(x, diagonal), SIZES + EMPTY, out=True)
    yield function("stack-rows", "f32", "ts.stack([x[:, 0], x[:, 1], x[:, 2]], axis=1)", lambda x: x[:, :3], SIZES[:1] + SIZES[2:], out=True)
    for dtype in ("i32", "i64"):
        values = lambda shape, rng: rng.integers(-1, 8, shape)
        yield function("one-hot", dtype, "ts.one_hot(x, 7)", lambda x: (x[..., None] == np.arange(7)) * 1.0, SIZES + EMPTY, result="f32", out=True, values=values)
        yield function("one-hot-dim", dtype, "ts.one_hot(x, N, dtype=ts.i32)", lambda x: (x[..., None] == np.arange(x.shape[-1])) * 1, SIZES[:3], result="i32", values=values)
    yield function("causal", "f32", "ts.softmax(ts.where(ts.tril(x * 0.0 + 1.0) > 0.0, x, -1e30))",
                   lambda x: (lambda e: e / e.sum(-1, keepdims=True))(np.exp(np.where(np.tril(np.ones_like(x)) > 0, x, -1e30) - 5)))


def programs():
    yield from reductions()
    yield from shapes()
