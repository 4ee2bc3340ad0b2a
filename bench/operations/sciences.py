"""Graph functions from signal processing, graphs, finance and linear algebra as others write them, each beside the NumPy that it replaces."""
import numpy as np

LINES = [{"N": 130}, {"N": 100003}]
GRAPHS = [{"N": n["N"], "K": 5003} for n in LINES]  # edges and nodes


def signals():
    yield "fir", "x: N+7; h: 8", """
    y = x[7:] * h[0]
    for k in range(1, 8):
        y = y + x[7 - k:N + 7 - k] * h[k]
    return y""", lambda x, h: np.convolve(x, h, "valid"), LINES, ("f32",)
    yield "complex product", "a: N 2; b: N 2", """
    return ts.stack([a[:, 0] * b[:, 0] - a[:, 1] * b[:, 1], a[:, 0] * b[:, 1] + a[:, 1] * b[:, 0]], axis=1)""", complex_product, LINES, ("f32", "f64")
    yield "resample", "x: N; t: K", """
    u = ts.clamp(ts.abs(t) * 20.0, 0.0, 120.0)
    i = ts.cast(ts.floor(u), ts.i32)
    f = u - ts.cast(i, ts.f64)
    return ts.gather(x, i) * (1.0 - f) + ts.gather(x, i + 1) * f""", resample, [{"N": 130, "K": 100003}], ("f64",)
    yield "blocks of dct", "x: 8*A 8*B; c: 8 8", """
    y = c @ x.reshape(A, 8, B, 8).transpose(0, 2, 1, 3) @ c.T
    return y.transpose(0, 2, 1, 3).reshape(8 * A, 8 * B)""", lambda x, c: (
        c @ x.reshape(len(x) // 8, 8, -1, 8).transpose(0, 2, 1, 3) @ c.T).transpose(0, 2, 1, 3).reshape(x.shape), [{"A": 4, "B": 5}, {"A": 60, "B": 80}], ("f32",)


def graphs():
    yield "pagerank", "r: K; d: K; s: N i32<K; t: N i32<K", """
    share = r / ts.maximum(d, 1.0)
    return 0.15 / K + 0.85 * ts.scatter(ts.zeros((K,), ts.f32), t, ts.gather(share, s), reduction="add")""", lambda r, d, s, t: (
        0.15 / len(r) + 0.85 * np.bincount(t, (r / np.maximum(d, 1))[s], len(r))), GRAPHS, ("f32",)
    yield "least labels", "l: K i32; s: N i32<K; t: N i32<K", 'ts.scatter(l, t, ts.gather(l, s), reduction="min")', least_labels, GRAPHS, ("i32",)
    yield "sparse rows", "v: N; c: N i32<K; p: K+1 i32<N; x: K", """
    s = ts.pad(ts.cumsum(v * ts.gather(x, c)), (1, 0))
    return ts.gather(s, p[1:]) - ts.gather(s, p[:-1])""", sparse_rows, GRAPHS, ("f64",)
    yield "partition", "x: N; m: N bool", """
    n = ts.sum(ts.cast(m, ts.i32))
    left, right = ts.cumsum(ts.cast(m, ts.i32)) - 1, n + ts.cumsum(ts.cast(~m, ts.i32)) - 1
    return ts.scatter(x * 0.0, ts.where(m, left, right), x)""", lambda x, m: np.concatenate([x[m], x[~m]]), LINES, ("f32",)
    yield "bits that differ", "x: M 4 i32; y: N 4 i32", """
    v = x[:, None, :] ^ y[None, :, :]
    v = v - ((v >> 1) & 0x55555555)
    v = (v & 0x33333333) + ((v >> 2) & 0x33333333)
    v = (v + (v >> 4)) & 0x0F0F0F0F
    return ts.sum((v * 0x01010101) >> 24, axis=2)""", lambda x, y: (
        np.unpackbits((x[:, None] ^ y[None]).view("u1"), axis=-1).sum(-1).astype("i4")), [{"M": 30, "N": 40}, {"M": 300, "N": 500}], ("i32",)


def finance():
    yield "binomial tree", "v: M N+4", """
    for i in range(4):
        v = 0.99 * (0.51 * v[:, 1:] + 0.49 * v[:, :-1])
    return v""", binomial_tree, [{"M": 1000, "N": 200}, {"M": 3, "N": 10007}, {"M": 20003, "N": 3}], ("f64",)
    yield "drawdown", "p: N", """
    w = ts.cumsum(p * 0.01)
    return ts.min(w - ts.cummax(w))""", lambda p: (lambda w: (w - np.maximum.accumulate(w)).min())(np.cumsum(p * 0.01)), LINES, ("f64",)
    yield "rolling volatility", "p: N+20", """
    r = ts.log(ts.abs(p[1:]) + 1.0) - ts.log(ts.abs(p[:-1]) + 1.0)
    a, b = ts.pad(ts.cumsum(r), (1, 0)), ts.pad(ts.cumsum(r * r), (1, 0))
    m, q = (a[16:] - a[:-16]) / 16.0, (b[16:] - b[:-16]) / 16.0
    return ts.sqrt(ts.maximum(q - m * m, 0.0))""", rolling_volatility, LINES, ("f64",)
    yield "value at risk", "x: M N; w: N", "ts.sort(x @ w)[M // 20]", lambda x, w: np.sort(x @ w)[len(x) // 20], [{"M": 1000, "N": 20}, {"M": 50003, "N": 30}], ("f32",)


def complex_product(a, b):
    pair = f"c{2 * a.itemsize}"
    return (a.view(pair) * b.view(pair)).view(a.dtype)


def resample(x, t):
    u = np.clip(np.abs(t) * 20, 0, 120)
    i = np.floor(u).astype("i4")
    return x[i] * (1 - (u - i)) + x[i + 1] * (u - i)


def least_labels(l, s, t):
    result = l.copy()
    np.minimum.at(result, t, l[s])
    return result


def sparse_rows(v, c, p, x):
    s = np.pad(np.cumsum(v * x[c]), (1, 0))
    return s[p[1:]] - s[p[:-1]]


def binomial_tree(v):
    for _ in range(4):
        v = 0.99 * (0.51 * v[:, 1:] + 0.49 * v[:, :-1])
    return v


def rolling_volatility(p):
    r = np.diff(np.log(np.abs(p) + 1))
    a, b = np.pad(r.cumsum(), (1, 0)), np.pad((r * r).cumsum(), (1, 0))
    m, q = (a[16:] - a[:-16]) / 16, (b[16:] - b[:-16]) / 16
    return np.sqrt(np.maximum(q - m * m, 0))


def sciences():
    yield from signals()
    yield from graphs()
    yield from finance()
