import numpy as np

SMALL = [dict(B=1, H=1, G=1, D=16, T=16, M=1), dict(B=3, H=2, G=4, D=32, T=16, M=9), dict(B=2, H=2, G=3, D=24, T=10, M=7)]
LARGE = dict(B=16, H=8, G=4, D=64, T=16, M=64)
RTOL, ATOL = 1e-4, 1e-5


def inputs(random, B, H, G, D, T, M):
    P = B * M + 3
    lengths = random.integers(1, M * T + 1, B).astype("i4")
    lengths[0] = M * T
    table = random.permutation(P)[:B * M].reshape(B, M).astype("i4")
    table[np.arange(M) * T >= lengths[:, None]] = -1  # no page is there
    K, V = random.uniform(-1, 1, (2, P, T, H, D)).astype("f4")
    return dict(Q=random.uniform(-1, 1, (B, H, G, D)).astype("f4"), K=K, V=V, table=table, lengths=lengths)


def compute(Q, K, V, table, lengths):
    O = np.empty_like(Q)
    D = Q.shape[-1]
    for b, length in enumerate(lengths):
        pages = table[b, :-(-length // K.shape[1])]
        k, v = (x[pages].reshape(-1, *x.shape[2:])[:length].transpose(1, 0, 2) for x in (K, V))
        s = Q[b] @ k.transpose(0, 2, 1) * Q.dtype.type(D**-0.5)
        p = np.exp(s - s.max(-1, keepdims=True))
        O[b] = p @ v / p.sum(-1, keepdims=True)
    return dict(O=O)
