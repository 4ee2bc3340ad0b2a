import numpy as np

SMALL = [dict(B=1, N=1), dict(B=3, N=7), dict(B=5, N=33)]
LARGE = dict(B=2000, N=48)


def inputs(random, B, N):
    G = random.uniform(-1, 1, (B, N, N))
    return dict(A=(G @ G.transpose(0, 2, 1) + N * np.eye(N)).astype("f4"))


def compute(A):
    return dict(L=np.linalg.cholesky(A))


def bound(want, A):
    """Backward stability: L @ L.T differs from A by N units of its diagonal; these matrices are well conditioned."""
    N = A.shape[-1]
    return dict(L=8 * (N + 2) * 2.0**-24 * np.sqrt(abs(A).max(axis=(1, 2), keepdims=True)))
