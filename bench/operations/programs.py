"""Whole graph functions as others write them, each beside the NumPy that it replaces: cells, losses, transforms (pictures.py: filters;
sciences.py: signals, graphs, finance; tutorials.py: what tutorials begin with)."""
import numpy as np
from pictures import images
from sciences import sciences
from selections import selections
from tutorials import tutorials

ROWS = [{"M": m, "N": n} for m, n in ((9, 70), (1000, 768), (100003, 17))]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def networks():
    """Parts of models, and what is done with their results."""
    heads = [{"B": b, "S": s, "H": h, "D": d} for b, s, h, d in ((1, 7, 2, 8), (2, 300, 8, 32), (1, 1, 32, 64))]
    yield "rope halves", "x: B S H 2*D; c: S D; s: S D", """
    a, b = x[..., :D], x[..., D:]
    c, s = c[:, None, :], s[:, None, :]
    return ts.concat([a * c - b * s, b * c + a * s], axis=-1)""", rope_halves, heads, ("f32", "bf16")
    yield "rope pairs", "x: B S H 2*D; c: S D; s: S D", """
    a, b = x[..., ::2], x[..., 1::2]
    c, s = c[:, None, :], s[:, None, :]
    return ts.stack([a * c - b * s, b * c + a * s], axis=-1).reshape(B, S, H, 2 * D)""", rope_pairs, heads, ("f32",)
    yield "quantise rows", "x: M N", """
    scale = ts.max(ts.abs(x), axis=1, keepdims=True) / 127.0
    return ts.cast(ts.clamp(ts.round(x / scale), -128.0, 127.0), ts.i8), scale""", quantise, ROWS, ("f32",)
    yield "dequantise rows", "q: M N i8; s: M 1", "ts.cast(q, ts.f32) * s", lambda q, s: q * s, ROWS, ("f32",)
    yield "pack 4 bits", "x: M 2*N i8", "(x[:, ::2] & 15) | (x[:, 1::2] << 4)", lambda x: (x[:, ::2] & 15) | (x[:, 1::2] << 4), ROWS, ("i8",)
    yield "unpack 4 bits", "x: M N i8; s: M 1", """
    y = ts.stack([(x << 4) >> 4, x >> 4], axis=-1).reshape(M, 2 * N)
    return ts.cast(y, ts.f32) * s""", lambda x, s: np.stack([(x << 4) >> 4, x >> 4], -1).reshape(len(x), -1) * s, ROWS, ("f32",)
    yield "gates top 2", "x: M N", """
    v, i = ts.topk(x, 2)
    return ts.softmax(v), i""", gates, ROWS, ("f32",)
    beams = [{"B": b, "K": k, "V": v} for b, k, v in ((2, 3, 50), (8, 4, 5003))]
    yield "beams", "x: B K V; s: B K; done: B K bool", """
    p = ts.log_softmax(x)
    p = ts.where(done[:, :, None] & (ts.arange(V) != 0), -1e30, p) + s[:, :, None]
    return ts.topk(p.reshape(B, K * V), 4)[0]""", beam, beams, ("f32",)
    cells = [{"B": b, "D": d, "H": h} for b, d, h in ((1, 16, 16), (32, 100, 128), (64, 256, 257))]
    yield "gru", "x: B D; h: B H; w: D 3*H; u: H 3*H; b: 3*H", """
    gx, gh = x @ w + b, h @ u
    r = ts.sigmoid(gx[:, :H] + gh[:, :H])
    z = ts.sigmoid(gx[:, H:2 * H] + gh[:, H:2 * H])
    n = ts.tanh(gx[:, 2 * H:] + r * gh[:, 2 * H:])
    return (1.0 - z) * n + z * h""", gru, cells, ("f32",)
    yield "lstm", "x: B D; h: B H; c: B H; w: D 4*H; u: H 4*H; b: 4*H", """
    i, f, g, o = ts.split(x @ w + h @ u + b, 4, axis=1)
    c = ts.sigmoid(f) * c + ts.sigmoid(i) * ts.tanh(g)
    return ts.sigmoid(o) * ts.tanh(c), c""", lstm, cells, ("f32",)
    yield "group norm", "x: B G C S", "(x - ts.mean(x, axis=(2, 3), keepdims=True)) / ts.sqrt(ts.var(x, axis=(2, 3), keepdims=True) + 1e-5)", lambda x: (
        (x - x.mean((2, 3), keepdims=True)) / np.sqrt(x.var((2, 3), keepdims=True) + 1e-5)), [{"B": 2, "G": 3, "C": 5, "S": 7}, {"B": 8, "G": 32, "C": 10, "S": 784}], ("f32",)
    yield "batch norm", "x: B C S", "(x - ts.mean(x, axis=(0, 2), keepdims=True)) / ts.sqrt(ts.var(x, axis=(0, 2), keepdims=True) + 1e-5)", lambda x: (
        (x - x.mean((0, 2), keepdims=True)) / np.sqrt(x.var((0, 2), keepdims=True) + 1e-5)), [{"B": 3, "C": 5, "S": 7}, {"B": 32, "C": 64, "S": 784}, {"B": 32, "C": 512, "S": 49}], ("f32",)
    yield "depthwise 3", "x: B C S+2; w: C 3", "x[:, :, :-2] * w[:, :1] + x[:, :, 1:-1] * w[:, 1:2] + x[:, :, 2:] * w[:, 2:]", lambda x, w: (
        x[:, :, :-2] * w[:, :1] + x[:, :, 1:-1] * w[:, 1:2] + x[:, :, 2:] * w[:, 2:]), [{"B": 2, "C": 5, "S": 17}, {"B": 8, "C": 256, "S": 500}, {"B": 64, "C": 512, "S": 9}], ("f32",)
    yield "cross entropy", "x: M N; y: M i32<N", "ts.cross_entropy(x, y)", lambda x, y: -np.log(softmax(x))[np.arange(len(x)), y].mean(), ROWS, ("f32",)
    yield "rms gate", "x: M N; g: N; u: M N", "ts.rms_norm(x, g) * ts.silu(u)", lambda x, g, u: (
        x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * g * u * sigmoid(u)), ROWS, ("f32",)
    yield "adam", "p: M N; g: M N; m: M N; v: M N", """
    m = 0.9 * m + 0.1 * g
    v = 0.999 * ts.abs(v) + 0.001 * g * g
    return p - 0.001 * m / (ts.sqrt(v) + 1e-8), m, v""", adam, ROWS, ("f32",)
    yield "clip by norm", "g: M N", "g * ts.minimum(1.0, 1.0 / (ts.norm(g) + 1e-6))", lambda g: g * np.minimum(1, 1 / (np.sqrt((g * g).sum()) + 1e-6)), ROWS, ("f32",)
    yield "embedding bag", "t: V D; i: B K i32<V", "ts.mean(ts.embedding(t, i), axis=1)", lambda t, i: t[i].mean(1), [{"V": 100, "D": 8, "B": 9, "K": 5}, {"V": 10007, "D": 64, "B": 1000, "K": 20}], ("f32",)
    yield "position bias", "x: H S S", "x + ts.cast(ts.clamp(ts.arange(S)[None, :] - ts.arange(S)[:, None], -8, 0), ts.f32)", lambda x: (
        x + np.clip(np.arange(x.shape[1])[None, :] - np.arange(x.shape[1])[:, None], -8, 0).astype("f4")), [{"H": 2, "S": 17}, {"H": 8, "S": 500}], ("f32",)


def rope_halves(x, c, s):
    d = x.shape[-1] // 2
    a, b, c, s = x[..., :d], x[..., d:], c[:, None, :], s[:, None, :]
    return np.concatenate([a * c - b * s, b * c + a * s], -1)


def rope_pairs(x, c, s):
    a, b, c, s = x[..., ::2], x[..., 1::2], c[:, None, :], s[:, None, :]
    return np.stack([a * c - b * s, b * c + a * s], -1).reshape(x.shape)


def quantise(x):
    # divided in f32, so that both round the same quotients
    scale = (np.abs(x).max(1, keepdims=True).astype("f4") / np.float32(127))
    return np.clip(np.round(x.astype("f4") / scale), -128, 127).astype("i1"), scale.astype(x.dtype)


def gates(x):
    i = np.argsort(-x, 1, kind="stable")[:, :2]
    return softmax(np.take_along_axis(x, i, 1)), i.astype("i4")


def beam(x, s, done):
    p = np.log(softmax(x))
    p = np.where(done[:, :, None] & (np.arange(x.shape[2]) != 0), -1e30, p) + s[:, :, None]
    return np.sort(p.reshape(len(p), -1), 1)[:, :-5:-1]


def gru(x, h, w, u, b):
    n, gx, gh = h.shape[1], x @ w + b, h @ u
    r, z = sigmoid(gx[:, :n] + gh[:, :n]), sigmoid(gx[:, n:2 * n] + gh[:, n:2 * n])
    return (1 - z) * np.tanh(gx[:, 2 * n:] + r * gh[:, 2 * n:]) + z * h


def lstm(x, h, c, w, u, b):
    i, f, g, o = np.split(x @ w + h @ u + b, 4, 1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def adam(p, g, m, v):
    m = m * m.dtype.type(0.9) + g * g.dtype.type(0.1)
    v = v.dtype.type(0.999) * np.abs(v) + g.dtype.type(0.001) * g * g
    return p - p.dtype.type(0.001) * m / (np.sqrt(v) + v.dtype.type(1e-8)), m, v


def methods():
    """Numerical methods, statistics, and work on integers."""
    lines = [{"N": n} for n in (130, 10007, 1000003)]
    clouds = [{"N": n, "K": k, "D": d} for n, k, d in ((50, 4, 2), (10007, 16, 3), (5000, 64, 32))]
    yield "nearest centre", "x: N D; c: K D", "ts.argmin(ts.sum(c * c, axis=1)[None, :] - 2.0 * (x @ c.T), axis=1)", lambda x, c: (
        ((c * c).sum(1)[None, :] - 2 * (x @ c.T)).argmin(1).astype("i4")), clouds, ("f32",)
    yield "centres", "x: N D; i: N i32<K; c: K D", """
    total = ts.scatter(ts.zeros((K, D), ts.f32), i, x, reduction="add")
    count = ts.scatter(ts.zeros((K,), ts.f32), i, ts.full((N,), 1.0, ts.f32), reduction="add")
    return total / ts.maximum(count, 1.0)[:, None] + c * 0.0""", centres, clouds, ("f32",)
    yield "distances L1", "x: N D; y: K D", "ts.sum(ts.abs(x[:, None, :] - y[None, :, :]), axis=2)", lambda x, y: np.abs(x[:, None] - y[None]).sum(2), clouds, ("f32",)
    yield "distances L2", "x: N D; y: K D", "ts.sqrt(ts.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2))", lambda x, y: np.sqrt(((x[:, None] - y[None]) ** 2).sum(2)), clouds, ("f32",)
    yield "overlap of boxes", "a: N 4; b: K 4", """
    low = ts.maximum(a[:, None, :2], b[None, :, :2])
    high = ts.minimum(a[:, None, 2:], b[None, :, 2:])
    size = ts.maximum(high - low, 0.0)
    both = size[:, :, 0] * size[:, :, 1]
    area = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    other = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    return both / (1.0 + ts.abs(area[:, None] + other[None, :] - both))""", overlap, [{"N": 30, "K": 7}, {"N": 2001, "K": 300}], ("f32",)
    stages = [{"A": a, "B": b} for a, b in ((64, 2), (1, 128), (30000, 1), (4096, 16), (16, 4096))]
    yield "butterfly", "r: A 2 B; i: A 2 B; c: B; s: B", """
    tr = r[:, 1] * c - i[:, 1] * s
    ti = r[:, 1] * s + i[:, 1] * c
    return ts.stack([r[:, 0] + tr, r[:, 0] - tr], axis=1), ts.stack([i[:, 0] + ti, i[:, 0] - ti], axis=1)""", butterfly, stages, ("f32",)
    yield "haar", "x: N 2", "(x[:, 0] + x[:, 1]) * 0.5, (x[:, 0] - x[:, 1]) * 0.5", lambda x: ((x[:, 0] + x[:, 1]) * x.dtype.type(0.5), (x[:, 0] - x[:, 1]) * x.dtype.type(0.5)), lines, ("f32",)
    yield "bitonic stage", "x: A 2 B", "ts.stack([ts.minimum(x[:, 0], x[:, 1]), ts.maximum(x[:, 0], x[:, 1])], axis=1)", lambda x: (
        np.stack([np.minimum(x[:, 0], x[:, 1]), np.maximum(x[:, 0], x[:, 1])], 1)), stages, ("i32", "f32")
    yield "moving mean", "x: N", """
    s = ts.pad(ts.cumsum(x), (1, 0))
    return (s[8:] - s[:-8]) / 8.0""", lambda x: (lambda s: (s[8:] - s[:-8]) / 8)(np.pad(x.cumsum(), (1, 0))), lines, ("f64",)
    yield "runs", "x: N", "ts.cumsum(ts.cast(ts.pad(x[1:] != x[:-1], (1, 0)), ts.i32))", lambda x: np.cumsum(np.pad(x[1:] != x[:-1], (1, 0)), dtype="i4"), lines, ("i8",)
    yield "segment sums", "x: N 4; i: N i32<K; w: K", 'ts.scatter(ts.zeros((K, 4), ts.f32), i, x, reduction="add") * w[:, None]', lambda x, i, w: np.stack(
        [np.bincount(i, c, len(w)) for c in x.T], 1).astype(w.dtype) * w[:, None], [{"N": n["N"], "K": 5003} for n in lines], ("f32",)
    yield "bincount", "i: N i32<K; c: K i32", "ts.scatter(ts.zeros((K,), ts.i32), i, ts.full((N,), 1, ts.i32), reduction=\"add\") + c", lambda i, c: np.bincount(i, minlength=len(c)).astype("i4") + c, [{"N": n["N"], "K": 256} for n in lines], ("i32",)
    yield "hash", "x: N i32", """
    y = (x ^ (x >> 16)) * 73244475
    y = (y ^ (y >> 16)) * 73244475
    return y ^ (y >> 16)""", mix, lines, ("i32",)
    yield "morton", "x: N i32", """
    y = x & 65535
    y = (y | (y << 8)) & 0x00FF00FF
    y = (y | (y << 4)) & 0x0F0F0F0F
    y = (y | (y << 2)) & 0x33333333
    return (y | (y << 1)) & 0x55555555""", morton, lines, ("i32",)
    yield "digits", "x: N i64", "x // 100 % 10", lambda x: x // 100 % 10, lines, ("i64",)
    yield "black scholes", "s: N; k: N; t: N", """
    s, k, t = ts.abs(s) + 0.5, ts.abs(k) + 0.5, ts.abs(t) + 0.1
    d = (ts.log(s / k) + 0.07 * t) / (0.3 * ts.sqrt(t))
    e = d - 0.3 * ts.sqrt(t)
    return s * 0.5 * (1.0 + ts.erf(d * 0.7071067811865476)) - k * ts.exp(-0.02 * t) * 0.5 * (1.0 + ts.erf(e * 0.7071067811865476))""", black_scholes, lines, ("f64",)
    yield "polynomial", "x: N", "((((0.1 * x + 0.2) * x + 0.3) * x + 0.4) * x + 0.5) * x + 0.6", lambda x: np.polyval(np.array([.1, .2, .3, .4, .5, .6], x.dtype), x), lines, ("f32", "f64")
    yield "great circle", "a: N; b: N; c: N; d: N", """
    h = ts.sin((c - a) * 0.5) ** 2 + ts.cos(a) * ts.cos(c) * ts.sin((d - b) * 0.5) ** 2
    return 2.0 * ts.asin(ts.sqrt(ts.clamp(h, 0.0, 1.0)))""", lambda a, b, c, d: 2 * np.arcsin(np.sqrt(np.clip(
        np.sin((c - a) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((d - b) / 2) ** 2, 0, 1))), lines[:2], ("f64",)
    yield "quaternions", "p: N 4; q: N 4", """
    a, b, c, d = p[:, 0], p[:, 1], p[:, 2], p[:, 3]
    e, f, g, h = q[:, 0], q[:, 1], q[:, 2], q[:, 3]
    return ts.stack([a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g,
                     a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e], axis=1)""", quaternions, lines, ("f32",)
    yield "cross products", "p: N 3; q: N 3", """
    return ts.stack([p[:, 1] * q[:, 2] - p[:, 2] * q[:, 1], p[:, 2] * q[:, 0] - p[:, 0] * q[:, 2],
                     p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]], axis=1)""", lambda p, q: np.stack(
        [p[:, 1] * q[:, 2] - p[:, 2] * q[:, 1], p[:, 2] * q[:, 0] - p[:, 0] * q[:, 2], p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]], 1), lines, ("f32", "f64")
    yield "unit vectors", "p: N 3", "p / ts.norm(p, axis=1, keepdims=True)", lambda p: p / np.sqrt((p * p).sum(1, keepdims=True)), lines, ("f32",)
    yield "rotate points", "p: N 3; m: 3 3; t: 3", "p @ m.T + t", lambda p, m, t: p @ m.T + t, lines, ("f32",)
    yield "standardise columns", "x: M N", "(x - ts.mean(x, axis=0)) / ts.sqrt(ts.var(x, axis=0) + 1e-6)", lambda x: (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-6), ROWS, ("f32",)
    yield "covariance", "x: M N", """
    d = x - ts.mean(x, axis=0)
    return d.T @ d / (M - 1)""", lambda x: (lambda d: d.T @ d / (len(x) - 1))(x - x.mean(0)), ROWS, ("f64",)
    yield "viterbi step", "s: B K; t: K K; e: B K", """
    p = s[:, :, None] + t[None, :, :]
    return ts.max(p, axis=1) + e, ts.argmax(p, axis=1)""", lambda s, t, e: (
        (s[:, :, None] + t).max(1) + e, (s[:, :, None] + t).argmax(1).astype("i4")), [{"B": 3, "K": 5}, {"B": 100, "K": 40}, {"B": 8, "K": 256}], ("f32",)
    yield "mandelbrot", "x: M N; y: M N", mandelbrot_text(), mandelbrot, [{"M": 20, "N": 33}, {"M": 500, "N": 700}], ("f64",)
    yield "below diagonal", "x: N N", "ts.sum(ts.where(ts.arange(N)[:, None] > ts.arange(N)[None, :], x, 0.0), axis=1)", lambda x: np.tril(x, -1).sum(1), [{"N": 33}, {"N": 1003}], ("f32",)
    yield "ranks", "x: N", "ts.argsort(ts.argsort(x))", lambda x: np.argsort(np.argsort(x, kind="stable"), kind="stable").astype("i4"), lines[:2], ("f32",)


def mandelbrot_text():
    return """
    a, b, n = x * 0.0, y * 0.0, x * 0.0
    for i in range(12):
        a, b = a * a - b * b + x, 2.0 * a * b + y
        n = n + ts.cast(a * a + b * b < 4.0, ts.f64)
    return n"""


def mandelbrot(x, y):
    a, b, n = x * 0, y * 0, x * 0
    for _ in range(12):
        a, b = a * a - b * b + x, 2 * a * b + y
        n = n + np.where(a * a + b * b < 4, 1.0, 0.0)
    return n


def centres(x, i, c):
    count = np.bincount(i, minlength=len(c))
    return np.stack([np.bincount(i, column, len(c)) for column in x.T], 1) / np.maximum(count, 1)[:, None]


def overlap(a, b):
    size = np.maximum(np.minimum(a[:, None, 2:], b[None, :, 2:]) - np.maximum(a[:, None, :2], b[None, :, :2]), 0)
    both = size[:, :, 0] * size[:, :, 1]
    area, other = ((v[:, 2] - v[:, 0]) * (v[:, 3] - v[:, 1]) for v in (a, b))
    return both / (1 + np.abs(area[:, None] + other[None, :] - both))


def butterfly(r, i, c, s):
    tr, ti = r[:, 1] * c - i[:, 1] * s, r[:, 1] * s + i[:, 1] * c
    return np.stack([r[:, 0] + tr, r[:, 0] - tr], 1), np.stack([i[:, 0] + ti, i[:, 0] - ti], 1)


def mix(x):
    y = (x ^ (x >> 16)) * np.int32(73244475)
    y = (y ^ (y >> 16)) * np.int32(73244475)
    return y ^ (y >> 16)


def morton(x):
    y = x & np.int32(65535)
    for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
        y = (y | (y << np.int32(shift))) & np.int32(mask)
    return y


def erf(x):
    """By its series, and for large magnitudes by the continued fraction of erfc, in double precision (math.erf takes one number)."""
    z, near = np.abs(x), np.abs(x) < 2.5
    total, term = np.zeros_like(x), np.where(near, x, 0)
    for n in range(40):
        total += term / (2 * n + 1)
        term = -term * np.where(near, x * x, 0) / (n + 1)
    fraction = np.zeros_like(x)
    for n in range(40, 0, -1):
        fraction = n / 2 / (np.maximum(z, 2) + fraction)
    tail = np.sign(x) * (1 - np.exp(-z * z) / ((np.maximum(z, 2) + fraction) * np.sqrt(np.pi)))
    return np.where(near, total * (2 / np.sqrt(np.pi)), tail)


def black_scholes(s, k, t):
    s, k, t = np.abs(s) + 0.5, np.abs(k) + 0.5, np.abs(t) + 0.1
    d = (np.log(s / k) + 0.07 * t) / (0.3 * np.sqrt(t))
    e = d - 0.3 * np.sqrt(t)
    return s * 0.5 * (1 + erf(d * 0.5**0.5)) - k * np.exp(-0.02 * t) * 0.5 * (1 + erf(e * 0.5**0.5))


def quaternions(p, q):
    a, b, c, d = p.T
    e, f, g, h = q.T
    return np.stack([a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g, a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e], 1)


def programs():
    yield from images()
    yield from networks()
    yield from methods()
    yield from sciences()
    yield from selections()
    yield from tutorials()
