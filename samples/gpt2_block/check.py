import numpy as np

SMALL = [dict(B=1, S=1, H=1, K=16, F=8), dict(B=2, S=37, H=3, K=16, F=100)]
LARGE = dict(B=2, S=256, H=12, K=64, F=3072)
ATOL = 2e-5


def inputs(random, B, S, H, K, F):
    D = H * K
    shapes = dict(x=(B, S, D), gamma1=D, beta1=D, W_qkv=(D, 3, H, K), b_qkv=(3, H, K), W_out=(H, K, D), b_out=D, gamma2=D, beta2=D,
                  W_up=(D, F), b_up=F, W_down=(F, D), b_down=D)
    scale = lambda name, shape: shape[0]**-0.5 if name[0] == "W" and name != "W_out" else D**-0.5 if name == "W_out" else 1
    return {name: (random.uniform(-1, 1, shape) * scale(name, shape)).astype("f4") for name, shape in shapes.items()}


def layer_norm(x, gamma, beta):
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + x.dtype.type(1e-5)) * gamma + beta


def gelu(x):
    return x / 2 * (1 + np.tanh(x.dtype.type((2 / np.pi)**0.5) * (x + x.dtype.type(0.044715) * x * x * x)))


def compute(x, gamma1, beta1, W_qkv, b_qkv, W_out, b_out, gamma2, beta2, W_up, b_up, W_down, b_down):
    B, S, D = x.shape
    _, _, H, K = W_qkv.shape
    qkv = layer_norm(x, gamma1, beta1) @ W_qkv.reshape(D, -1) + b_qkv.ravel()
    q, k, v = qkv.reshape(B, S, 3, H, K).transpose(2, 0, 3, 1, 4)
    s = np.where(np.tri(S, dtype=bool), q @ k.transpose(0, 1, 3, 2) * x.dtype.type(K**-0.5), -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    y = p / p.sum(-1, keepdims=True) @ v
    x = x + y.transpose(0, 2, 1, 3).reshape(B, S, D) @ W_out.reshape(D, D) + b_out
    return dict(result=x + gelu(layer_norm(x, gamma2, beta2) @ W_up + b_up) @ W_down + b_down)
