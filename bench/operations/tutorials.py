"""Programs that tutorials of array and kernel languages begin with, as graph functions write them, each beside the NumPy that it replaces."""
import numpy as np

GRIDS = [{"H": 34, "W": 46}, {"H": 480, "W": 640}]
CLOUDS = [{"M": 30, "N": 40, "D": 3}, {"M": 1000, "N": 2003, "D": 32}]
WORDS = [{"B": 3, "N": 9}, {"B": 1000, "N": 24}, {"B": 20, "N": 1003}]


def physics():
    """Fields on grids whose edges are joined."""
    yield "gray scott", "u: H W; v: H W", """
    p, q = [ts.roll(x, 1, axis=0) + ts.roll(x, -1, axis=0) + ts.roll(x, 1, axis=1) + ts.roll(x, -1, axis=1) - 4.0 * x for x in (u, v)]
    r = u * v * v
    return u + 0.16 * p - r + 0.035 * (1.0 - u), v + 0.08 * q + r - 0.1 * v""", gray_scott, GRIDS, ("f32",)
    yield "lattice boltzmann", "f: 9 H W; e: 9 2; w: 9", """
    parts = []
    for k in range(9):
        parts = parts + [ts.roll(f[k], (k % 3 - 1, k // 3 - 1), axis=(0, 1))]
    g = ts.stack(parts)
    rho = ts.sum(g, axis=0)
    u = ts.einsum("khw,kd->dhw", g, e) / rho
    eu = 3.0 * ts.einsum("kd,dhw->khw", e, u)
    rest = 1.0 + eu + 0.5 * eu * eu - 1.5 * ts.sum(u * u, axis=0)
    return g + 0.6 * (w[:, None, None] * rho * rest - g)""", lattice_boltzmann, GRIDS, ("f64",)
    yield "ising", "s: 2*H 2*W i8; r: 2*H 2*W f32", """
    n = ts.roll(s, 1, axis=0) + ts.roll(s, -1, axis=0) + ts.roll(s, 1, axis=1) + ts.roll(s, -1, axis=1)
    even = (ts.arange(2 * H)[:, None] + ts.arange(2 * W)) % 2 == 0
    flip = even & (ts.exp(-0.8 * ts.cast(s * n, ts.f32)) > ts.abs(r))
    return ts.where(flip, -s, s)""", ising, GRIDS, ("i8",)
    yield "local maxima", "x: H W", """
    p = ts.pad(x, 1, mode="edge")
    rows = ts.maximum(ts.maximum(p[:-2], p[1:-1]), p[2:])
    return (x == ts.maximum(ts.maximum(rows[:, :-2], rows[:, 1:-1]), rows[:, 2:])) & (x > 0.5)""", local_maxima, GRIDS, ("f32",)


def pictures():
    yield "equalise histogram", "x: H W u8", """
    h = ts.scatter(ts.zeros((256,), ts.i32), ts.cast(x, ts.i32).reshape(H * W), ts.full((H * W,), 1, ts.i32), reduction="add")
    c = ts.cast(ts.cumsum(h), ts.f32)
    t = ts.cast(ts.floor(c * (255.0 / (H * W))), ts.u8)
    return t[x]""", equalise, GRIDS, ("u8",)
    yield "reorder channels", "x: H W 3 u8", "x[:, :, [2, 1, 0]]", lambda x: x[:, :, [2, 1, 0]], GRIDS, ("u8",)
    yield "dither", "x: 4*H 4*W; t: 4 4", "ts.cast(x.reshape(H, 4, W, 4) > t[:, None, :], ts.u8).reshape(4 * H, 4 * W) * 255", lambda x, t: (
        (x.reshape(x.shape[0] // 4, 4, -1, 4) > t[:, None, :]).astype("u1").reshape(x.shape) * np.uint8(255)), GRIDS, ("f32",)
    yield "conv 3x3", "x: B C H+2 W+2; w: K C 3 3", """
    y = ts.zeros((B, K, H, W), ts.f32)
    for i in range(3):
        for j in range(3):
            y = y + ts.einsum("bchw,kc->bkhw", x[:, :, i:H + i, j:W + j], w[:, :, i, j])
    return y""", conv, [{"B": 1, "C": 2, "K": 3, "H": 5, "W": 6}, {"B": 4, "C": 32, "K": 32, "H": 56, "W": 56}], ("f32",)


def texts():
    yield "levenshtein", "a: B 8 u8; b: B N u8", """
    at = ts.arange(N + 1)
    d = ts.broadcast(at, (B, N + 1))
    for i in range(8):
        t = ts.minimum(d[:, 1:] + 1, d[:, :-1] + ts.cast(b != a[:, i, None], ts.i32))
        t = ts.pad(t, ((0, 0), (1, 0)), value=i + 1)
        d = ts.cummin(t - at, axis=1) + at
    return d[:, -1]""", levenshtein, WORDS, ("u8",)
    yield "bigrams", "x: N i32<K; c: K K i32", """
    pairs = x[:-1] * K + x[1:]
    return c + ts.scatter(ts.zeros((K * K,), ts.i32), pairs, ts.full((N - 1,), 1, ts.i32), reduction="add").reshape(K, K)""", bigrams, [{"N": 131, "K": 7}, {"N": 100003, "K": 64}], ("i32",)
    yield "count distinct", "x: N i32<K", """
    y = ts.sort(x)
    return 1 + ts.sum(ts.cast(y[1:] != y[:-1], ts.i32))""", lambda x: np.int32(len(np.unique(x))), [{"N": 131, "K": 70}, {"N": 100003, "K": 5003}], ("i32",)


def learning():
    layers = [{"M": m, "D": d, "F": f} for m, d, f in ((3, 8, 20), (64, 256, 688))]
    yield "swiglu", "x: M D; u: D F; v: D F; w: F D", "(ts.silu(x @ u) * (x @ v)) @ w", swiglu, layers, ("f32",)
    yield "quantised linear", "x: M D i8; w: F D i8; s: M f32; t: F f32; b: F f32", "ts.cast(ts.matmul(x, w.T, dtype=ts.i32), ts.f32) * s[:, None] * t + b", lambda x, w, s, t, b: (
        (x.astype("i4") @ w.T.astype("i4")) * s[:, None] * t + b), layers, ("f32",)
    yield "logistic step", "x: M D; y: M i32<F; w: D F", """
    p = ts.softmax(x @ w)
    return w - 0.1 * (x.T @ (p - ts.one_hot(y, F))) / M""", logistic_step, layers, ("f32",)
    yield "alibi attention", "q: H S 16; k: H S 16; v: H S 16; m: H", """
    away = ts.cast(ts.arange(S)[None, :] - ts.arange(S)[:, None], ts.f32)
    s = q @ k.transpose(0, 2, 1) * 0.25 + m[:, None, None] * away
    return ts.softmax(ts.where(away > 0.0, -1e30, s)) @ v""", alibi, [{"H": 2, "S": 9}, {"H": 8, "S": 300}], ("f32",)
    yield "nearest by cosine", "x: M D; y: N D", """
    a, b = x / ts.norm(x, axis=1, keepdims=True), y / ts.norm(y, axis=1, keepdims=True)
    return ts.topk(a @ b.T, 5)[0]""", cosine, CLOUDS, ("f32",)
    yield "gaussian kernel", "x: M D; y: N D", "ts.exp(-0.5 * (ts.sum(x * x, axis=1)[:, None] + ts.sum(y * y, axis=1) - 2.0 * (x @ y.T)))", lambda x, y: (
        np.exp(-0.5 * ((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * (x @ y.T)))), CLOUDS, ("f64",)
    yield "sinkhorn", "c: M N", """
    k = ts.exp(-ts.abs(c))
    u = ts.full((M,), 1.0, ts.f64)
    for i in range(5):
        v = 1.0 / (N * (u @ k))
        u = 1.0 / (M * (k @ v))
    return u[:, None] * k * v""", sinkhorn, [{"M": 30, "N": 40}, {"M": 1000, "N": 2003}], ("f64",)
    yield "power iteration", "a: N N; x: N", """
    for i in range(4):
        x = a @ x
        x = x / ts.norm(x)
    return x""", power, [{"N": 30}, {"N": 1003}], ("f64",)
    yield "monte carlo pi", "x: N; y: N", "4.0 * ts.mean(ts.cast(x * x + y * y < 1.0, ts.f64))", lambda x, y: 4 * np.mean(x * x + y * y < 1), [{"N": 131}, {"N": 1000003}], ("f64",)
    yield "kalman step", "x: B 4; p: B 4 4; f: 4 4; z: B", """
    x, p = x @ f.T, f @ p @ f.T
    s = ts.abs(p[:, 0, 0]) + 0.1
    g = p[:, :, 0] / s[:, None]
    return x + g * (z - x[:, 0])[:, None], p - g[:, :, None] * p[:, 0, None, :]""", kalman, [{"B": 7}, {"B": 10007}], ("f64",)
    yield "radix 4", "x: A 4 B 2; w: 4 B 2", """
    r = x[..., 0] * w[..., 0] - x[..., 1] * w[..., 1]
    i = x[..., 0] * w[..., 1] + x[..., 1] * w[..., 0]
    a, b, c, d = r[:, 0] + r[:, 2], r[:, 0] - r[:, 2], r[:, 1] + r[:, 3], r[:, 1] - r[:, 3]
    e, f, g, h = i[:, 0] + i[:, 2], i[:, 0] - i[:, 2], i[:, 1] + i[:, 3], i[:, 1] - i[:, 3]
    return ts.stack([ts.stack([a + c, b + h, a - c, b - h], axis=1), ts.stack([e + g, f - d, e - g, f + d], axis=1)], axis=-1)""", radix4, [{"A": 3, "B": 5}, {"A": 64, "B": 64}, {"A": 4096, "B": 1}], ("f32",)


def gray_scott(u, v):
    def around(x):
        return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1) - 4 * x
    r, t = u * v * v, u.dtype.type
    return u + t(0.16) * around(u) - r + t(0.035) * (1 - u), v + t(0.08) * around(v) + r - t(0.1) * v


def lattice_boltzmann(f, e, w):
    g = np.stack([np.roll(f[k], (k % 3 - 1, k // 3 - 1), (0, 1)) for k in range(9)])
    rho = g.sum(0)
    u = np.einsum("khw,kd->dhw", g, e) / rho
    eu = 3 * np.einsum("kd,dhw->khw", e, u)
    return g + 0.6 * (w[:, None, None] * rho * (1 + eu + 0.5 * eu * eu - 1.5 * (u * u).sum(0)) - g)


def ising(s, r):
    n = np.roll(s, 1, 0) + np.roll(s, -1, 0) + np.roll(s, 1, 1) + np.roll(s, -1, 1)
    even = (np.arange(len(s))[:, None] + np.arange(s.shape[1])) % 2 == 0
    return np.where(even & (np.exp(np.float32(-0.8) * (s * n).astype("f4")) > np.abs(r)), -s, s)


def local_maxima(x):
    p = np.pad(x, 1, "edge")
    rows = np.maximum(np.maximum(p[:-2], p[1:-1]), p[2:])
    return (x == np.maximum(np.maximum(rows[:, :-2], rows[:, 1:-1]), rows[:, 2:])) & (x > 0.5)


def equalise(x):
    c = np.bincount(x.ravel(), minlength=256).cumsum().astype("f4")
    return np.floor(c * np.float32(255 / x.size)).astype("u1")[x]


def conv(x, w):
    h, v = x.shape[2] - 2, x.shape[3] - 2
    return sum(np.einsum("bchw,kc->bkhw", x[:, :, i:h + i, j:v + j], w[:, :, i, j], optimize=True) for i in range(3) for j in range(3))


def levenshtein(a, b):
    at = np.arange(b.shape[1] + 1, dtype="i4")
    d = np.broadcast_to(at, (len(b), len(at)))
    for i in range(a.shape[1]):
        t = np.minimum(d[:, 1:] + 1, d[:, :-1] + (b != a[:, i, None]))
        d = np.minimum.accumulate(np.pad(t, ((0, 0), (1, 0)), constant_values=i + 1) - at, 1) + at
    return d[:, -1]


def bigrams(x, c):
    k = len(c)
    return c + np.bincount(x[:-1] * k + x[1:], minlength=k * k).reshape(k, k).astype("i4")


def swiglu(x, u, v, w):
    g = x @ u
    return (g / (1 + np.exp(-g)) * (x @ v)) @ w


def logistic_step(x, y, w):
    e = x @ w
    e = np.exp(e - e.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    return w - w.dtype.type(0.1) * (x.T @ p) / len(x)


def alibi(q, k, v, m):
    away = np.arange(q.shape[1])[None, :] - np.arange(q.shape[1])[:, None]
    s = q @ k.transpose(0, 2, 1) * q.dtype.type(0.25) + m[:, None, None] * away.astype(q.dtype)
    s = np.where(away > 0, q.dtype.type(-1e30), s)
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def cosine(x, y):
    s = x / np.linalg.norm(x, axis=1, keepdims=True) @ (y / np.linalg.norm(y, axis=1, keepdims=True)).T
    return np.sort(np.partition(s, s.shape[1] - 5)[:, -5:])[:, ::-1]


def sinkhorn(c):
    k = np.exp(-np.abs(c))
    u = np.ones(len(k))
    for _ in range(5):
        v = 1 / (k.shape[1] * (u @ k))
        u = 1 / (len(k) * (k @ v))
    return u[:, None] * k * v


def power(a, x):
    for _ in range(4):
        x = a @ x
        x = x / np.linalg.norm(x)
    return x


def kalman(x, p, f, z):
    x, p = x @ f.T, f @ p @ f.T
    s = np.abs(p[:, 0, 0]) + 0.1
    g = p[:, :, 0] / s[:, None]
    return x + g * (z - x[:, 0])[:, None], p - g[:, :, None] * p[:, 0, None, :]


def radix4(x, w):
    y = x[..., 0] + 1j * x[..., 1]
    y = y * (w[..., 0] + 1j * w[..., 1])
    y = np.stack([y[:, 0] + y[:, 1] + y[:, 2] + y[:, 3], y[:, 0] - 1j * y[:, 1] - y[:, 2] + 1j * y[:, 3],
                  y[:, 0] - y[:, 1] + y[:, 2] - y[:, 3], y[:, 0] + 1j * y[:, 1] - y[:, 2] - 1j * y[:, 3]], 1)
    return np.stack([y.real, y.imag], -1)


def tutorials():
    yield from physics()
    yield from pictures()
    yield from texts()
    yield from learning()
