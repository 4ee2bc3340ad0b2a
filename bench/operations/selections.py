"""Graph functions that select by tensors of indices, as programs for NumPy do, each beside the NumPy that it replaces."""
import numpy as np

LINES = [{"N": 130, "K": 60}, {"N": 100003, "K": 5003}]
IMAGES = [{"H": 33, "W": 47}, {"H": 1081, "W": 1921}]


def pictures():
    yield "look-up table", "x: H W u8; t: 256 u8", "t[x]", lambda x, t: t[x], IMAGES, ("u8",)
    yield "swap channels", "x: H W 3 u8", "x[:, :, ::-1]", lambda x: x[:, :, ::-1].copy(), IMAGES, ("u8",)
    yield "warp", "x: H W; u: H W; v: H W", """
    i, j = ts.clamp(ts.abs(u) * 9.0, 0.0, H - 2.0), ts.clamp(ts.abs(v) * 9.0, 0.0, W - 2.0)
    r, c = ts.cast(ts.floor(i), ts.i32), ts.cast(ts.floor(j), ts.i32)
    p, q = i - ts.floor(i), j - ts.floor(j)
    upper = x[r, c] * (1.0 - q) + x[r, c + 1] * q
    lower = x[r + 1, c] * (1.0 - q) + x[r + 1, c + 1] * q
    return upper * (1.0 - p) + lower * p""", warp, IMAGES, ("f64",)
    yield "nearest zoom", "x: H W", "x[(ts.arange(2 * H) // 2)[:, None], ts.arange(2 * W) // 2]", lambda x: (
        x[(np.arange(2 * len(x)) // 2)[:, None], np.arange(2 * x.shape[1]) // 2]), IMAGES, ("f32",)


def series():
    yield "frames", "x: N+15; w: 16; b: 16 9", "(x[ts.arange(N)[:, None] + ts.arange(16)] * w) @ b", lambda x, w, b: (
        (x[np.arange(len(x) - 15)[:, None] + np.arange(16)] * w) @ b), LINES, ("f32",)
    yield "running median", "x: N+4", "ts.sort(x[ts.arange(N)[:, None] + ts.arange(5)], axis=1)[:, 2]", lambda x: (
        np.sort(x[np.arange(len(x) - 4)[:, None] + np.arange(5)], 1)[:, 2]), LINES, ("f32",)
    yield "permuted", "x: N 4; p: N i64<N", "x[p]", lambda x, p: x[p], LINES, ("f32", "f64")
    yield "bootstrap", "x: N; i: 40 N i32<N", "ts.mean(x[i], axis=1)", lambda x, i: x[i].mean(1), LINES, ("f64",)
    yield "codons", "c: 3*N u8; t: 64 u8", """
    b = ts.cast(c, ts.i32) & 3
    return t[b[0::3] * 16 + b[1::3] * 4 + b[2::3]]""", lambda c, t: (lambda b: t[b[0::3] * 16 + b[1::3] * 4 + b[2::3]])(c.astype("i4") & 3), LINES, ("u8",)
    yield "path payoffs", "z: K 50", """
    p = ts.exp(ts.cumsum(0.01 * z - 0.0005, axis=1))
    return ts.mean(ts.maximum(ts.max(p, axis=1) - p[:, -1], 0.0))""", lambda z: (
        lambda p: np.maximum(p.max(1) - p[:, -1], 0).mean())(np.exp(np.cumsum(0.01 * z - 0.0005, 1))), LINES, ("f64",)


def meshes():
    yield "sparse product", "v: N 16; c: N 16 i32<N; x: N", "ts.sum(v * x[c], axis=1)", lambda v, c, x: (v * x[c]).sum(1), LINES, ("f32", "f64")
    yield "normals", "p: K 3; t: N 3 i32<K", """
    a, b, c = p[t[:, 0]], p[t[:, 1]], p[t[:, 2]]
    u, v = b - a, c - a
    return ts.stack([u[:, 1] * v[:, 2] - u[:, 2] * v[:, 1], u[:, 2] * v[:, 0] - u[:, 0] * v[:, 2], u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]], axis=1)""", (
        lambda p, t: np.cross(p[t[:, 1]] - p[t[:, 0]], p[t[:, 2]] - p[t[:, 0]])), LINES, ("f32",)
    yield "edge lengths", "p: K 2; s: N i32<K; t: N i32<K", """
    dx, dy = p[s, 0] - p[t, 0], p[s, 1] - p[t, 1]
    return ts.sqrt(dx * dx + dy * dy)""", lambda p, s, t: np.hypot(p[s, 0] - p[t, 0], p[s, 1] - p[t, 1]), LINES, ("f64",)
    yield "gravity", "p: M 3; m: M", """
    d = p[None, :, :] - p[:, None, :]
    r = ts.sum(d * d, axis=2) + 0.01
    return ts.sum(d * (m / (r * ts.sqrt(r)))[:, :, None], axis=1)""", gravity, [{"M": 20}, {"M": 500}], ("f64",)
    yield "shortest paths", "d: M M", """
    for k in range(8):
        d = ts.minimum(d, d[:, k, None] + d[k])
    return d""", shortest_paths, [{"M": 20}, {"M": 800}], ("f32",)
    yield "nearest labels", "x: M 8; c: K 8; l: K i32<K", "l[ts.argmin(ts.sum(c * c, axis=1) - 2.0 * (x @ c.T), axis=1)]", lambda x, c, l: (
        l[((c * c).sum(1) - 2 * (x @ c.T)).argmin(1)]), [{"M": 30, "K": 9}, {"M": 20003, "K": 64}], ("f32",)


def statistics():
    yield "gini", "x: N", """
    y = ts.sort(ts.abs(x))
    return ts.sum((2.0 * ts.cast(ts.arange(N), ts.f64) - (N - 1.0)) * y) / (N * ts.sum(y))""", lambda x: (
        lambda y: ((2.0 * np.arange(len(x)) - (len(x) - 1.0)) * y).sum() / (len(x) * y.sum()))(np.sort(np.abs(x))), LINES, ("f64",)
    yield "log likelihood", "x: N 10; y: N i32<C", "-ts.mean((x - ts.logsumexp(x, axis=1, keepdims=True))[ts.arange(N), y])", log_likelihood, [{**n, "C": 10} for n in LINES], ("f64",)
    yield "sorted by column", "x: N 4", "x[ts.argsort(x[:, 1])]", lambda x: x[np.argsort(x[:, 1], kind="stable")], LINES, ("f32",)


def warp(x, u, v):
    i, j = np.clip(np.abs(u) * 9, 0, x.shape[0] - 2), np.clip(np.abs(v) * 9, 0, x.shape[1] - 2)
    r, c = np.floor(i).astype("i4"), np.floor(j).astype("i4")
    p, q = i - np.floor(i), j - np.floor(j)
    return (x[r, c] * (1 - q) + x[r, c + 1] * q) * (1 - p) + (x[r + 1, c] * (1 - q) + x[r + 1, c + 1] * q) * p


def gravity(p, m):
    d = p[None] - p[:, None]
    r = (d * d).sum(2) + 0.01
    return (d * (m / (r * np.sqrt(r)))[:, :, None]).sum(1)


def shortest_paths(d):
    for k in range(8):
        d = np.minimum(d, d[:, k, None] + d[k])
    return d


def log_likelihood(x, y):
    most = x.max(1, keepdims=True)
    return -(x - most - np.log(np.exp(x - most).sum(1, keepdims=True)))[np.arange(len(x)), y].mean()


def selections():
    yield from pictures()
    yield from series()
    yield from meshes()
    yield from statistics()
