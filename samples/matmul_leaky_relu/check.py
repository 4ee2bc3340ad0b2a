import numpy as np

SMALL = [dict(M=1, K=1, N=1), dict(M=97, K=300, N=259), dict(M=5, K=0, N=7)]
LARGE = dict(M=1000, K=1024, N=1001)


def inputs(random, M, K, N):
    return dict(A=random.uniform(-1, 1, (M, K)).astype("f4"), B=random.uniform(-1, 1, (K, N)).astype("f4"), slope=0.125)


def compute(A, B, slope):
    product = A @ B
    return dict(C=np.where(product >= 0, product, slope * product))


def bound(want, A, B, slope):
    return dict(C=(A.shape[1] + 2) * 2.0**-24 * (abs(A.astype("f8")) @ abs(B)))
