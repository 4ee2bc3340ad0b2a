import numpy as np

SMALL = [dict(M=1, N=1, G=1), dict(M=65, N=130, G=3), dict(M=7, N=9, G=0)]
LARGE = dict(M=512, N=512, G=16)


def inputs(random, M, N, G):
    fp8 = lambda *shape: (random.choice([-1, 1], shape) * random.integers(8, 16, shape) * 2.0**random.integers(-6, 3, shape)).astype("f4")
    scales = lambda *shape: random.integers(120, 134, shape).astype("u1")
    return dict(A=fp8(M, 32 * G), scale_a=scales(M, G), B=fp8(32 * G, N), scale_b=scales(G, N))


def compute(A, scale_a, B, scale_b):
    a = A * np.exp2(scale_a.astype(A.dtype) - 127).repeat(32, 1)
    b = B * np.exp2(scale_b.astype(B.dtype) - 127).repeat(32, 0)
    return dict(C=a @ b)


def bound(want, A, scale_a, B, scale_b):
    magnitude = compute(abs(A.astype("f8")), scale_a, abs(B.astype("f8")), scale_b)["C"]
    return dict(C=(A.shape[1] + 4) * 2.0**-24 * magnitude)
