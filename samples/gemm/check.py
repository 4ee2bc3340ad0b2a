import numpy as np
from support.host import bf16

SMALL = [dict(M=1, K=1, N=1), dict(M=65, K=33, N=63), dict(M=127, K=100, N=130), dict(M=5, K=0, N=5)]
LARGE = dict(M=1000, K=1024, N=1001)


def inputs(random, M, K, N):
    A, B, C = (random.uniform(-1, 1, shape).astype("f4") for shape in ((M, K), (K, N), (M, N)))
    return dict(A=bf16(A), B=bf16(B), C=C)


def compute(A, B, C):
    """In floats: NumPy has no bfloat16."""
    return dict(C=C + A @ B)


def bound(want, A, B, C):
    return dict(C=(A.shape[1] + 2) * 2.0**-24 * (abs(C) + abs(A.astype("f8")) @ abs(B)))
