import numpy as np

SMALL = [dict(R=1, C=1), dict(R=11, C=300), dict(R=8, C=256)]
LARGE = dict(R=2000, C=3001)
KERNEL = "layer_norm_backward"


def inputs(random, R, C):
    dY, X = random.uniform(-1, 1, (2, R, C)).astype("f4")
    return dict(dY=dY, X=X, gamma=random.uniform(0.5, 1.5, C).astype("f4"), mean=X.mean(1), rstd=1 / np.sqrt(X.var(1) + np.float32(1e-5)))


def compute(dY, X, gamma, mean, rstd):
    x_hat = (X - mean[:, None]) * rstd[:, None]
    g = dY * gamma
    dX = (g - g.mean(1, keepdims=True) - x_hat * (g * x_hat).mean(1, keepdims=True)) * rstd[:, None]
    return dict(result0=dX, result1=(dY * x_hat).sum(0), result2=dY.sum(0))


def bound(want, dY, X, gamma, mean, rstd):
    unit, (R, C) = 2.0**-24, X.shape
    x_hat = abs(X.astype("f8") - mean[:, None]) * rstd[:, None] + unit * abs(X) * rstd[:, None]
    g = abs(dY * gamma).astype("f8")
    terms = (g + g.mean(1, keepdims=True) + x_hat * (g * x_hat).mean(1, keepdims=True)) * rstd[:, None]
    return dict(result0=(C + 8) * unit * terms, result1=(R + 4) * unit * (abs(dY) * x_hat).sum(0),
                result2=R * unit * abs(dY.astype("f8")).sum(0))
