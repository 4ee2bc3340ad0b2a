import numpy as np

SMALL = [dict(n=0), dict(n=1), dict(n=1003), dict(n=50000)]
LARGE = dict(n=(1 << 22) + 7)
RTOL, ATOL = 2.0**-22, 0


def inputs(random, n):
    return dict(x=random.uniform(1, 2, n).astype("f4"), seed=2026, p=0.25)


def philox(seed, offsets):
    """Word 0 of Philox4x32-10 (Salmon et al., SC 2011) with the counter (offset, 0) and the key (seed, 0), in [0, 1)."""
    low, high = np.uint64(0xFFFFFFFF), np.uint64(32)
    c, k = [offsets & low, offsets >> high, offsets & np.uint64(0), offsets & np.uint64(0)], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p, q = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(q >> high) ^ c[1] ^ np.uint64(k[0]), q & low, (p >> high) ^ c[3] ^ np.uint64(k[1]), p & low]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return (c[0] >> np.uint64(8)) * 2.0**-24


def compute(x, seed, p):
    return dict(y=np.where(philox(seed, np.arange(x.size, dtype="u8")) >= p, x / (1 - p), 0))


def numpy(x, seed, p):
    """With NumPy's own generator: other numbers, the same work."""
    kept = np.random.default_rng(seed).random(x.size, dtype="f4") >= np.float32(p)
    return dict(y=np.where(kept, x / np.float32(1 - p), np.float32(0)))
