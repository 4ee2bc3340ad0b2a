import numpy as np

SMALL = [dict(T=1, B=1, D=1, H=8), dict(T=5, B=19, D=33, H=24)]
LARGE = dict(T=64, B=32, D=256, H=256)
KERNEL = "lstm"
RTOL, ATOL = 1e-4, 2e-5


def inputs(random, T, B, D, H):
    draw = lambda *shape: (random.uniform(-1, 1, shape)).astype("f4")
    return dict(X=draw(T, B, D), W=draw(D, 4, H) * np.float32(D**-0.5), U=draw(H, 4, H) * np.float32(H**-0.5), bias=draw(4, H))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def compute(X, W, U, bias):
    (T, B, D), H = X.shape, U.shape[0]
    gates = (X @ W.reshape(D, -1) + bias.ravel()).reshape(T, B, 4 * H)
    h = c = np.zeros((B, H), X.dtype)
    Y = np.empty((T, B, H), X.dtype)
    for t in range(T):
        g = gates[t] + h @ U.reshape(H, -1)
        c = sigmoid(g[:, H:2 * H]) * c + sigmoid(g[:, :H]) * np.tanh(g[:, 2 * H:3 * H])
        Y[t] = h = sigmoid(g[:, 3 * H:]) * np.tanh(c)
    return dict(result=Y)
