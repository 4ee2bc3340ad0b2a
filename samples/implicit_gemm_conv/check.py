import numpy as np

SMALL = [dict(N=1, H=1, W=1, C=1, K=1, R=3, S=3), dict(N=2, H=7, W=9, C=33, K=65, R=3, S=3), dict(N=1, H=8, W=5, C=3, K=7, R=1, S=5)]
LARGE = dict(N=4, H=56, W=57, C=64, K=128, R=3, S=3)


def inputs(random, N, H, W, C, K, R, S):
    return dict(X=random.uniform(-1, 1, (N, H, W, C)).astype("f4"), F=random.uniform(-1, 1, (R, S, C, K)).astype("f4"))


def compute(X, F):
    """A product for each element of the filter."""
    (N, H, W, C), (R, S, _, K) = X.shape, F.shape
    padded = np.pad(X, ((0, 0), (R // 2, R // 2), (S // 2, S // 2), (0, 0)))
    Y = np.zeros((N, H, W, K), X.dtype)
    for r in range(R):
        for s in range(S):
            Y += padded[:, r:r + H, s:s + W] @ F[r, s]
    return dict(Y=Y)


def bound(want, X, F):
    R, S, C, _ = F.shape
    return dict(Y=(R * S * C + 2) * 2.0**-24 * compute(abs(X.astype("f8")), abs(F.astype("f8")))["Y"])
