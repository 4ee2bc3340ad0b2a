import numpy as np

SMALL = [dict(R=1, C=1), dict(R=9, C=257), dict(R=3, C=1000)]
LARGE = dict(R=2000, C=3001)
ATOL = 1e-4  # a sum of C floats in any order


def inputs(random, R, C):
    gamma, beta = random.uniform(-1, 1, (2, C)).astype("f4")
    return dict(X=random.uniform(2, 6, (R, C)).astype("f4"), gamma=gamma, beta=beta, eps=1e-5)


def compute(X, gamma, beta, eps):
    d = X - X.mean(1, keepdims=True)
    return dict(Y=d / np.sqrt((d * d).mean(1, keepdims=True) + X.dtype.type(eps)) * gamma + beta)
