import numpy as np

SMALL = [dict(B=1, S=1, D=8, G=1, R=1, F=8), dict(B=2, S=37, D=130, G=2, R=2, F=100)]
LARGE = dict(B=2, S=256, D=768, G=4, R=3, F=2048)
ATOL = 5e-5  # the angles of late positions are within 2**-24 of themselves


def inputs(random, B, S, D, G, R, F):
    shapes = dict(x=(B, S, D), gamma1=D, Wq=(D, G, R, 64), Wk=(D, G, 64), Wv=(D, G, 64), Wo=(G, R, 64, D), gamma2=D,
                  W_gate=(D, F), W_up=(D, F), W_down=(F, D))
    scale = lambda name, shape: (G * R * 64)**-0.5 if name == "Wo" else shape[0]**-0.5 if name[0] == "W" else 1
    return {name: (random.uniform(-1, 1, shape) * scale(name, shape)).astype("f4") for name, shape in shapes.items()}


def rms_norm(x, gamma):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + x.dtype.type(1e-6)) * gamma


def rotate(x):
    angle = np.arange(x.shape[2])[:, None] * 10000.0**(-np.arange(32) / 32)
    c, s = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    a, b = x[..., :32], x[..., 32:]
    return np.concatenate([a * c - b * s, b * c + a * s], axis=-1)


def compute(x, gamma1, Wq, Wk, Wv, Wo, gamma2, W_gate, W_up, W_down):
    B, S, D = x.shape
    heads = lambda n, W: (n @ W.reshape(D, -1)).reshape(B, S, -1, 64).transpose(0, 2, 1, 3)
    n = rms_norm(x, gamma1)
    shared = Wq.shape[2]
    q, k, v = rotate(heads(n, Wq)), rotate(heads(n, Wk)).repeat(shared, 1), heads(n, Wv).repeat(shared, 1)
    s = np.where(np.tri(S, dtype=bool), q @ k.transpose(0, 1, 3, 2) * x.dtype.type(64**-0.5), -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    y = p / p.sum(-1, keepdims=True) @ v
    x = x + y.transpose(0, 2, 1, 3).reshape(B, S, -1) @ Wo.reshape(-1, D)
    n = rms_norm(x, gamma2)
    gate = n @ W_gate
    return dict(result=x + (gate / (1 + np.exp(-gate)) * (n @ W_up)) @ W_down)
