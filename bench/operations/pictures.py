"""Programs on pictures, of one channel or three, as graph functions write them and as NumPy does."""
import numpy as np

IMAGES = [{"H": h, "W": w} for h, w in ((37, 61), (480, 640), (1081, 1921))]


def images():
    yield "sobel", "x: H W", """
    p = ts.pad(x, 1, mode="edge")
    gx = p[:-2, 2:] - p[:-2, :-2] + 2.0 * (p[1:-1, 2:] - p[1:-1, :-2]) + p[2:, 2:] - p[2:, :-2]
    gy = p[2:, :-2] - p[:-2, :-2] + 2.0 * (p[2:, 1:-1] - p[:-2, 1:-1]) + p[2:, 2:] - p[:-2, 2:]
    return ts.sqrt(gx * gx + gy * gy)""", sobel, IMAGES, ("f32",)
    yield "blur 5", "x: H W", """
    p = ts.pad(x, ((2, 2), (0, 0)), mode="reflect")
    v = (p[:-4] + p[4:] + 4.0 * (p[1:-3] + p[3:-1]) + 6.0 * p[2:-2]) / 16.0
    q = ts.pad(v, ((0, 0), (2, 2)), mode="reflect")
    return (q[:, :-4] + q[:, 4:] + 4.0 * (q[:, 1:-3] + q[:, 3:-1]) + 6.0 * q[:, 2:-2]) / 16.0""", blur, IMAGES, ("f32",)
    yield "median 3x3", "x: H W", """
    rows = []
    for i in range(3):
        a, b, c = x[i:H - 2 + i, :-2], x[i:H - 2 + i, 1:-1], x[i:H - 2 + i, 2:]
        a, b = ts.minimum(a, b), ts.maximum(a, b)
        b, c = ts.minimum(b, c), ts.maximum(b, c)
        rows = rows + [(ts.minimum(a, b), ts.maximum(a, b), c)]
    low = ts.maximum(ts.maximum(rows[0][0], rows[1][0]), rows[2][0])
    high = ts.minimum(ts.minimum(rows[0][2], rows[1][2]), rows[2][2])
    a, b = ts.minimum(rows[0][1], rows[1][1]), ts.maximum(rows[0][1], rows[1][1])
    middle = ts.maximum(a, ts.minimum(b, rows[2][1]))
    return ts.maximum(ts.minimum(low, middle), ts.minimum(ts.maximum(low, middle), high))""", median, IMAGES, ("u8", "f32")
    yield "box by sums", "x: H W", """
    s = ts.pad(ts.cumsum(ts.cumsum(x, axis=0), axis=1), ((1, 0), (1, 0)))
    return (s[7:, 7:] - s[:-7, 7:] - s[7:, :-7] + s[:-7, :-7]) / 49.0""", box, IMAGES, ("f64",)
    yield "grey", "x: H W 3", "x[:, :, 0] * 0.299 + x[:, :, 1] * 0.587 + x[:, :, 2] * 0.114", grey, IMAGES, ("f32",)
    yield "grey u8", "x: H W 3 u8", """
    y = ts.cast(x, ts.i32)
    return ts.cast((y[:, :, 0] * 77 + y[:, :, 1] * 150 + y[:, :, 2] * 29) >> 8, ts.u8)""", lambda x: (
        (x[:, :, 0].astype("i4") * 77 + x[:, :, 1].astype("i4") * 150 + x[:, :, 2].astype("i4") * 29) >> 8).astype("u1"), IMAGES, ("u8",)
    yield "colours by matrix", "x: H W 3; m: 3 3", "x @ m", lambda x, m: x @ m, IMAGES, ("f32",)
    yield "normalise channels", "x: H W 3 u8; m: 3; s: 3", "ts.transpose((ts.cast(x, ts.f32) / 255.0 - m) / s, (2, 0, 1))", lambda x, m, s: (
        ((x / m.dtype.type(255) - m) / s).transpose(2, 0, 1).copy()), IMAGES, ("f32",)
    yield "channels last", "x: 3 H W", "ts.transpose(x, (1, 2, 0))", lambda x: x.transpose(1, 2, 0).copy(), IMAGES, ("f32", "u8")
    yield "hue", "x: H W 3", """
    r, g, b = x[:, :, 0], x[:, :, 1], x[:, :, 2]
    most = ts.maximum(ts.maximum(r, g), b)
    d = most - ts.minimum(ts.minimum(r, g), b)
    safe = ts.where(d == 0.0, 1.0, d)
    h = ts.where(most == r, (g - b) / safe, ts.where(most == g, 2.0 + (b - r) / safe, 4.0 + (r - g) / safe))
    return ts.where(d == 0.0, 0.0, h * 60.0), most""", hue, IMAGES, ("f32",)
    yield "max pool 2", "x: 2*H 2*W", "ts.max(x.reshape(H, 2, W, 2), axis=(1, 3))", lambda x: (
        x.reshape(x.shape[0] // 2, 2, -1, 2).max((1, 3))), IMAGES, ("f32", "u8")
    yield "max pool 3 by 2", "x: 2*H+1 2*W+1", """
    a = ts.maximum(ts.maximum(x[:-2:2], x[1:-1:2]), x[2::2])
    return ts.maximum(ts.maximum(a[:, :-2:2], a[:, 1:-1:2]), a[:, 2::2])""", lambda x: np.max(
        [x[i:x.shape[0] - 2 + i:2, j:x.shape[1] - 2 + j:2] for i in range(3) for j in range(3)], 0), IMAGES, ("f32",)
    yield "mean pool 3", "x: 3*H 3*W", "ts.mean(x.reshape(H, 3, W, 3), axis=(1, 3))", lambda x: (
        x.reshape(x.shape[0] // 3, 3, -1, 3).mean((1, 3))), IMAGES[:2], ("f32",)
    yield "sum pool 5", "x: 5*H 5*W", "ts.sum(x.reshape(H, 5, W, 5), axis=(1, 3))", lambda x: (
        x.reshape(x.shape[0] // 5, 5, -1, 5).sum((1, 3))), IMAGES[:2], ("f32",)
    yield "upsample 2", "x: H W", "ts.repeat(ts.repeat(x, 2, axis=0), 2, axis=1)", lambda x: x.repeat(2, 0).repeat(2, 1), IMAGES, ("f32", "u8")
    yield "blocks to depth", "x: 2*H 2*W", "ts.transpose(x.reshape(H, 2, W, 2), (1, 3, 0, 2)).reshape(4, H, W)", lambda x: (
        x.reshape(x.shape[0] // 2, 2, -1, 2).transpose(1, 3, 0, 2).reshape(4, x.shape[0] // 2, -1)), IMAGES, ("f32",)
    yield "threshold", "x: H W u8", "ts.where(x > 127, ts.cast(255, ts.u8), ts.cast(0, ts.u8))", lambda x: np.where(x > 127, 255, 0).astype("u1"), IMAGES, ("u8",)
    yield "gamma by table", "x: H W i32<T; t: T", "ts.gather(t, x)", lambda x, t: t[x], [{**s, "T": 256} for s in IMAGES], ("f32",)
    yield "life", "x: H W bool", """
    c = ts.cast(x, ts.u8)
    p = ts.pad(c, 1, mode="wrap")
    n = p[:-2, :-2] + p[:-2, 1:-1] + p[:-2, 2:] + p[1:-1, :-2] + p[1:-1, 2:] + p[2:, :-2] + p[2:, 1:-1] + p[2:, 2:]
    return (n == 3) | (x & (n == 2))""", life, IMAGES, ("bool",)
    yield "jacobi", "x: H W; f: H W", """
    inner = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - f[1:-1, 1:-1])
    return ts.pad(inner, 1)""", lambda x, f: np.pad(x.dtype.type(0.25) * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - f[1:-1, 1:-1]), 1), IMAGES, ("f32", "f64")
    cubes = [{"A": n, "B": n + 1, "C": n + 2} for n in (11, 61, 161)]
    yield "heat 3d", "x: A B C", """
    c = x[1:-1, 1:-1, 1:-1]
    return c + 0.1 * (x[:-2, 1:-1, 1:-1] + x[2:, 1:-1, 1:-1] + x[1:-1, :-2, 1:-1] + x[1:-1, 2:, 1:-1]
                      + x[1:-1, 1:-1, :-2] + x[1:-1, 1:-1, 2:] - 6.0 * c)""", heat, cubes, ("f32",)


def sobel(x):
    p = np.pad(x, 1, "edge")
    gx = p[:-2, 2:] - p[:-2, :-2] + 2 * (p[1:-1, 2:] - p[1:-1, :-2]) + p[2:, 2:] - p[2:, :-2]
    gy = p[2:, :-2] - p[:-2, :-2] + 2 * (p[2:, 1:-1] - p[:-2, 1:-1]) + p[2:, 2:] - p[:-2, 2:]
    return np.sqrt(gx * gx + gy * gy)


def blur(x):
    p = np.pad(x, ((2, 2), (0, 0)), "reflect")
    v = (p[:-4] + p[4:] + 4 * (p[1:-3] + p[3:-1]) + 6 * p[2:-2]) / 16
    q = np.pad(v, ((0, 0), (2, 2)), "reflect")
    return (q[:, :-4] + q[:, 4:] + 4 * (q[:, 1:-3] + q[:, 3:-1]) + 6 * q[:, 2:-2]) / 16


def median(x):
    h, w = x.shape
    return np.median([x[i:h - 2 + i, j:w - 2 + j] for i in range(3) for j in range(3)], 0).astype(x.dtype)


def box(x):
    s = np.pad(x.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    return (s[7:, 7:] - s[:-7, 7:] - s[7:, :-7] + s[:-7, :-7]) / 49


def grey(x):
    r, g, b = (x.dtype.type(c) for c in (0.299, 0.587, 0.114))
    return x[:, :, 0] * r + x[:, :, 1] * g + x[:, :, 2] * b


def hue(x):
    r, g, b = x[:, :, 0], x[:, :, 1], x[:, :, 2]
    most = x.max(2)
    d = most - x.min(2)
    safe = np.where(d == 0, 1, d)
    h = np.where(most == r, (g - b) / safe, np.where(most == g, 2 + (b - r) / safe, 4 + (r - g) / safe))
    return np.where(d == 0, 0, h * 60), most


def life(x):
    p = np.pad(x.astype("u1"), 1, "wrap")
    n = p[:-2, :-2] + p[:-2, 1:-1] + p[:-2, 2:] + p[1:-1, :-2] + p[1:-1, 2:] + p[2:, :-2] + p[2:, 1:-1] + p[2:, 2:]
    return (n == 3) | (x & (n == 2))


def heat(x):
    c = x[1:-1, 1:-1, 1:-1]
    around = x[:-2, 1:-1, 1:-1] + x[2:, 1:-1, 1:-1] + x[1:-1, :-2, 1:-1] + x[1:-1, 2:, 1:-1] + x[1:-1, 1:-1, :-2] + x[1:-1, 1:-1, 2:]
    return c + x.dtype.type(0.1) * (around - 6 * c)
