"""Graph functions that the frontend composes of others, against NumPy in double."""
import itertools

import numpy as np

from cases import program, want
from dtypes import DTYPES, quantize, random
from indexing import case

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
    for dtype in ("i32", "i64", "u8", "i16", "u32"):
        values = lambda shape, rng: rng.integers(-2 if dtype[0] == "i" else 0, 9, shape)
        count = lambda x, n: np.bincount(x[(x >= 0) & (x < n)].ravel().astype("i8"), minlength=n)
        yield function("bincount", dtype, "ts.bincount(x, 7)", lambda x: count(x, 7), SIZES + EMPTY, result="i32", out=True, values=values)
        yield function("bincount-dim", dtype, "ts.bincount(x[0], N)", lambda x: count(x[0], x.shape[-1]), SIZES[:3], result="i32", values=values)
    yield function("causal", "f32", "ts.softmax(ts.where(ts.tril(x * 0.0 + 1.0) > 0.0, x, -1e30))",
                   lambda x: (lambda e: e / e.sum(-1, keepdims=True))(np.exp(np.where(np.tril(np.ones_like(x)) > 0, x, -1e30) - 5)))


def cross_entropy(x, y, w=None, smoothing=0.0, reduction="mean", ignored=-100):
    rows, classes = x.reshape(-1, x.shape[-1]), x.shape[-1]
    labels, w = y.reshape(-1), np.ones(classes) if w is None else w
    kept = labels != ignored
    at = np.where(kept, labels, 0)
    logp = -(logsumexp(rows, -1, True) - rows)
    loss = (1 - smoothing) * w[at] * -logp[np.arange(len(at)), at] + smoothing / classes * -(logp * w).sum(-1)
    loss = np.where(kept, loss, 0)
    return loss.reshape(y.shape) if reduction == "none" else loss.sum() if reduction == "sum" else loss.sum() / (w[at] * kept).sum()


def losses():
    sizes = [{"B": 2, "M": 3, "N": 5}, {"B": 1, "M": 1, "N": 1}, {"B": 2, "M": 9, "N": 33}, {"B": 3, "M": 5, "N": 1031}]
    values = lambda name, shape, run, rng: np.where(rng.random(shape) < 0.2, -100, rng.integers(0, run["N"], shape)) if name == "y" else (
        quantize(rng.uniform(0.25, 2, shape), "f32") if name == "w" else None)
    for dtype, reduction, smoothing, weighted in itertools.product(("f32", "f64", "bf16"), ("mean", "sum", "none"), (0.0, 0.125), (False, True)):
        if dtype != "f32" and reduction == "sum":
            continue
        result = "f64" if dtype == "f64" else "f32"
        params = {"x": (("B", "M", "N"), dtype), "y": (("B", "M"), "i32")} | ({"w": (("N",), result)} if weighted else {})
        options = f', weights=w' * weighted + f", label_smoothing={smoothing}" * (smoothing > 0) + f', reduction="{reduction}"' * (reduction != "mean")
        yield case(f"cross_entropy/{reduction}-{smoothing}-{weighted}/{dtype}", params, f"ts.cross_entropy(x, y{options})",
                   lambda x, y, w=None, s=smoothing, r=reduction: cross_entropy(x, y, w, s, r), sizes, result, {"rtol": PRECISION[result], "atol": 10 * PRECISION[result]}, values, family="composed")


def attention(q, k, v, bias=None, mask=None, causal=False, softcap=None, past_k=None, past_v=None):
    if past_k is not None:
        k, v = np.concatenate([past_k, k], -2), np.concatenate([past_v, v], -2)
    share = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, share, 1), np.repeat(v, share, 1)
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if softcap:
        s = softcap * np.tanh(s / softcap)
    s = s if bias is None else s + bias
    s = s if mask is None else np.where(mask != 0, s, -np.inf)
    if causal:
        s = np.where(np.tril(np.ones(s.shape[-2:]), s.shape[-1] - s.shape[-2]) > 0, s, -np.inf)
    m = s.max(-1, keepdims=True, initial=-np.inf)
    e = np.exp(s - np.where(np.isfinite(m), m, 0))
    total = e.sum(-1, keepdims=True)
    return np.where(total > 0, (e / np.where(total > 0, total, 1)) @ v, 0)


def attentions():
    sizes = [{"B": 1, "S": 1, "T": 1}, {"B": 2, "S": 5, "T": 9}, {"B": 2, "S": 65, "T": 129}, {"B": 1, "S": 130, "T": 70}, {"B": 1, "S": 64, "T": 64}]
    base = lambda t: {"q": (("B", 4, "S", 16), t), "k": (("B", 2, "T", 16), t), "v": (("B", 2, "T", 16), t)}
    flags = lambda name, shape, run, rng: (rng.random(shape) < 0.7) * 1 if name == "m" else None
    names = {"m": "mask", "b": "bias"}
    for dtype in ("f32", "bf16", "f64"):
        tolerance = {"rtol": PRECISION[dtype], "atol": PRECISION[dtype]}
        for kind, shape in itertools.product("mb", (("B", 4, "S", "T"), ("B", 1, "S", "T"), ("S", "T"), ("T",), (1, 1, "S", 1), ("B", 1, 1, "T"))):
            if dtype != "f32" and shape[0] != "S":
                continue
            other = {kind: (shape, "bool" if kind == "m" else dtype)}
            for causal in (False, True):
                yield case(f"attention/{names[kind]}-{'x'.join(map(str, shape))}-{causal}/{dtype}", base(dtype) | other, f"ts.op.flash_attention(q, k, v, {names[kind]}={kind}, is_causal={causal})",
                           lambda q, k, v, o, n=names[kind], c=causal: attention(q, k, v, causal=c, **{n: o}), sizes, dtype, tolerance, flags, family="composed")
        yield case(f"attention/softcap/{dtype}", base(dtype), "ts.op.flash_attention(q, k, v, softcap=0.75)", lambda q, k, v: attention(q, k, v, softcap=0.75), sizes, dtype, tolerance, family="composed")
        yield case(f"attention/all/{dtype}", base(dtype) | {"b": ((4, "S", "T"), dtype), "m": (("B", 1, 1, "T"), "bool")}, "ts.op.flash_attention(q, k, v, bias=b, mask=m, softcap=2.0, causal=True)",
                   lambda q, k, v, b, m: attention(q, k, v, b, m, True, 2.0), sizes, dtype, tolerance, flags, family="composed")
        yield case(f"attention/past/{dtype}", base(dtype) | {"p": (("B", 2, "P", 16), dtype), "r": (("B", 2, "P", 16), dtype)}, "ts.op.flash_attention(q, k, v, past_k=p, past_v=r, is_causal=True)",
                   lambda q, k, v, p, r: attention(q, k, v, causal=True, past_k=p, past_v=r), [{**s, "P": n} for s, n in zip(sizes, (1, 60, 3, 0, 64))], dtype, tolerance, family="composed")
    # Tiles of 128 queries, whose groups of warps take turns where they can; heads that share keys have masks of their own.
    wide = [{"B": 1, "S": 128, "T": 100}, {"B": 1, "S": 70, "T": 130}]
    for dtype, kind, shape in (("bf16", "m", ("S", "T")), ("f16", "m", ("T",)), ("f16", "b", (8, "S", "T")), ("bf16", "b", ("S", "T"))):
        params = {"q": (("B", 8, "S", 64), dtype), "k": (("B", 2, "T", 64), dtype), "v": (("B", 2, "T", 64), dtype), kind: (shape, "bool" if kind == "m" else dtype)}
        yield case(f"attention/wide/{names[kind]}-{'x'.join(map(str, shape))}/{dtype}", params, f"ts.op.flash_attention(q, k, v, {names[kind]}={kind})",
                   lambda q, k, v, o, n=names[kind]: attention(q, k, v, **{n: o}), wide, dtype, {"rtol": PRECISION[dtype], "atol": PRECISION[dtype]}, flags, family="composed")
    yield case("attention/hidden", base("f32") | {"m": (("S", "T"), "bool")}, "ts.op.flash_attention(q, k, v, mask=m)", lambda q, k, v, m: attention(q, k, v, mask=m), sizes, "f32", {"rtol": 2e-5, "atol": 2e-5},
               lambda name, shape, run, rng: np.tril(np.ones(shape), -1) if name == "m" else None, family="composed")
    yield case("attention/matrix", {"q": (("S", 16), "f32"), "k": (("T", 16), "f32"), "v": (("T", 16), "f32"), "b": (("S", "T"), "f32")}, "ts.op.flash_attention(q, k, v, bias=b)",
               lambda q, k, v, b: attention(q[None, None], k[None, None], v[None, None], b)[0, 0], sizes, "f32", {"rtol": 2e-5, "atol": 2e-5}, family="composed")


def choices():
    x = {"x": (("M", "N"), "f32")}
    for name, text, f, result in (("floats", "1.5, -0.5", lambda x: np.where(x > 0, 1.5, -0.5), "f32"), ("integers", "1, 0", lambda x: (x > 0) * 1, "i64"), ("mixed", "1, 0.5", lambda x: np.where(x > 0, 1, 0.5), "f32"),
                                  ("dim", "N, 0", lambda x: (x > 0) * x.shape[1], "i64"), ("tensor", "x, 0.0", lambda x: np.maximum(x, 0), "f32")):
        yield case(f"where/{name}", x, f"ts.where(x > 0.0, {text})", f, SIZES[:3], result, family="composed")
    yield case("where/parameter", x | {"s": (None, "f32")}, "ts.where(x > 0.0, s, 0.0)", lambda x: np.where(x > 0, 2.5, 0), SIZES[:3], scalars={"s": 2.5}, family="composed")
    yield case("where/nested", x, "ts.sum(ts.where(x > 0.5, 2, ts.where(x > 0.0, 1, 0)), axis=-1)", lambda x: np.where(x > 0.5, 2, (x > 0) * 1).sum(-1), SIZES[:3], "i64", family="composed")


# A kernel that a function calls on zeros: what it is named after, its stores of y [M, N], and what y is then, from x [M, N], r [K, N]
# and c [M, K]. Elements that no store writes, or that are masked, stay 0.
GRID = "    for m in ts.tile.parallel(0, M, 4):\n        for n in ts.tile.parallel(0, N, 16):\n            "
FILLED = [
    ("tiles", GRID + "y[m:m+4, n:n+16] = x[m:m+4, n:n+16] * 2.0", lambda x, r, c: x * 2),
    ("rows", "    for m in ts.tile.parallel(0, M, 4):\n        s = ts.tile.zeros((4,))\n        for n in ts.tile.range(0, N, 16):\n            s += ts.tile.row_sum(x[m:m+4, n:n+16])\n"
     "        for n in ts.tile.range(0, N, 16):\n            y[m:m+4, n:n+16] = x[m:m+4, n:n+16] - s[:, None]", lambda x, r, c: x - x.sum(1, keepdims=True)),
    ("product", GRID + "acc = ts.tile.zeros((4, 16))\n            for k in ts.tile.range(0, K, 8):\n                acc = ts.tile.mma(c[m:m+4, k:k+8], r[k:k+8, n:n+16], acc)\n            y[m:m+4, n:n+16] = acc",
     lambda x, r, c: c @ r),
    ("last-product", GRID + "for k in ts.tile.range(0, K, 8):\n                y[m:m+4, n:n+16] = ts.tile.mma(c[m:m+4, k:k+8], r[k:k+8, n:n+16])",
     lambda x, r, c: c[:, (c.shape[1] - 1) // 8 * 8:] @ r[(c.shape[1] - 1) // 8 * 8:] if c.shape[1] else x * 0),
    ("transposed", GRID + "y[m:m+4, n:n+16] = x[m:m+4, n:n+16].T.T", lambda x, r, c: x),
    ("lanes", "    i = ts.tile.linear_id()\n    if i < M * N:\n        y[i // N, i % N] = x[i // N, i % N] + 1.0", lambda x, r, c: x + 1),
    ("constant", GRID + "y[m:m+4, n:n+16] = ts.tile.full((4, 16), 3.0, ts.f32)", lambda x, r, c: x * 0 + 3),
    ("masked", GRID + "v = x[m:m+4, n:n+16]\n            y[m:m+4, n:n+16] = ts.tile.mask(v, v > 0.0)", lambda x, r, c: np.maximum(x, 0)),
    ("shorter", GRID + "y[m:m+4, n:n+16] = r[m:m+4, n:n+16]", lambda x, r, c: np.pad(r, ((0, max(len(x) - len(r), 0)), (0, 0)))[:len(x)]),
    ("swapped", GRID + "y[m:m+4, n:n+16] = x[n:n+4, m:m+16]",
     lambda x, r, c: np.array([[x[n // 16 * 16 + m % 4, m // 4 * 4 + n % 16] if n // 16 * 16 + m % 4 < len(x) and m // 4 * 4 + n % 16 < x.shape[1] else 0 for n in range(x.shape[1])] for m in range(len(x))])),
    ("shifted", GRID + "y[m+1:m+5, n:n+16] = x[m:m+4, n:n+16]", lambda x, r, c: np.pad(x, ((1, 0), (0, 0)))[:-1]),
    ("apart", "    for m in ts.tile.parallel(0, M, 4):\n        for n in ts.tile.parallel(0, N, 16):\n            y[m:m+4, n:n+8] = x[m:m+4, n:n+8]", lambda x, r, c: np.where(np.arange(x.shape[1]) % 16 < 8, x, 0)),
    ("diagonal", "    for m in ts.tile.parallel(0, M, 1):\n        y[m, m] = x[m, m] * 2.0", lambda x, r, c: np.where(np.eye(*x.shape) > 0, x * 2, 0)),
    ("branch", GRID + "if m > 0:\n                y[m:m+4, n:n+16] = x[m:m+4, n:n+16]", lambda x, r, c: np.where(np.arange(len(x))[:, None] > 3, x, 0)),
    ("first-row", "    for n in ts.tile.parallel(0, N, 16):\n        y[0, n:n+16] = x[0, n:n+16]", lambda x, r, c: np.where(np.arange(len(x))[:, None] == 0, x, 0)),
    ("no-iterations", GRID + "for k in ts.tile.range(0, K, 8):\n                y[m:m+4, n:n+16] = x[m:m+4, n:n+16]", lambda x, r, c: x if len(r) else x * 0),
    ("gathered", GRID + "y[m:m+4, n:n+16] = x[m + ts.tile.arange(4) * 2, n:n+16]",
     lambda x, r, c: np.array([x[m // 4 * 4 + m % 4 * 2] if m // 4 * 4 + m % 4 * 2 < len(x) else x[0] * 0 for m in range(len(x))]).reshape(x.shape)),
    ("one-row", GRID + "y[m:m+4, n:n+16] = ts.tile.broadcast(r[m:m+1, n:n+16], (4, 16))", lambda x, r, c: np.array([r[m // 4 * 4] if m // 4 * 4 < len(r) else x[0] * 0 for m in range(len(x))]).reshape(x.shape)),
]


def fills():
    for name, stores, reference in FILLED:
        p = program(f"composed/fill/{name}", f'''@ts.kernel
def k(x: ts.Tensor["M", "N", ts.f32], r: ts.Tensor["K", "N", ts.f32], c: ts.Tensor["M", "K", ts.f32], y: ts.Tensor["M", "N", ts.f32]):
{stores}

@ts.jit
def f(x: ts.Tensor["M", "N", ts.f32], r: ts.Tensor["K", "N", ts.f32], c: ts.Tensor["M", "K", ts.f32]):
    y, z = ts.zeros((M, N)), ts.zeros((M, N))
    k(x, r, c, y)
    k(x * 1.0, r, c, z)
    return y, z + 0.0 * x
''', kernel="f")
        for seed, (m, n, k) in enumerate([(6, 37, 9), (4, 16, 8), (13, 5, 3), (1, 1, 1), (5, 20, 0)]):
            x, r, c = (np.rint(random("f32", shape, 9 * seed + i)) for i, shape in enumerate(((m, n), (k, n), (m, k))))
            y = want("f32", reference(x, r, c), ulps=1)
            p.run({"M": m, "N": n, "K": k}, {"x": ("f32", x), "r": ("f32", r), "c": ("f32", c)}, {"result0": y, "result1": y})
        yield p


def programs():
    yield from fills()
    yield from choices()
    yield from losses()
    yield from attentions()
    yield from reductions()
    yield from shapes()
