import numpy as np
from support.host import bf16

SMALL = [dict(heads=1, Sq=1, Sk=1, D=64), dict(heads=3, Sq=65, Sk=63, D=17), dict(heads=2, Sq=130, Sk=200, D=64)]
LARGE = dict(heads=8, Sq=1000, Sk=1040, D=64)


def inputs(random, heads, Sq, Sk, D):
    Q, K, V = (bf16(random.uniform(-1, 1, (heads, S, D)).astype("f4")) for S in (Sq, Sk, Sk))
    return dict(Q=Q, K=K, V=V, is_causal=True)


def weights(Q, K, is_causal):
    Sq, Sk, D = Q.shape[1], K.shape[1], Q.shape[2]
    s = Q @ K.transpose(0, 2, 1) * Q.dtype.type(D**-0.5)
    if is_causal:
        s = np.where(np.tri(Sq, Sk, Sk - Sq, dtype=bool), s, -np.inf)
    top = s.max(2, keepdims=True)
    p = np.exp(s - np.where(np.isfinite(top), top, 0))
    total = p.sum(2, keepdims=True)
    return p / np.where(total > 0, total, 1)  # a query that sees no key gives zeros


def compute(Q, K, V, is_causal):
    """In floats: NumPy has no bfloat16."""
    return dict(O=weights(Q, K, is_causal) @ V)


def bound(want, Q, K, V, is_causal):
    """The weights and the result are rounded to bfloat16."""
    magnitude = weights(Q.astype("f8"), K.astype("f8"), is_causal) @ abs(V)
    return dict(O=2.0**-7 * magnitude + 2.0**-8 * abs(want["O"]) + 1e-9)
