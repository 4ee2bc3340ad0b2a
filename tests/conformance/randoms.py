"""rand4x, randint and randn: the same words of Philox on every target, in tiles and in lanes."""
import pathlib
import sys

import numpy as np

from cases import program, want

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support.host import philox_words  # noqa: E402

SEEDS = [0, 42, -1, 2**63 - 1]


def uniform(words):
    return (words >> np.uint64(8)).astype("f8") * 2.0**-24


def normal(words):
    u = np.float32(1) - uniform(words[0]).astype("f4")
    v = np.float32(2 * np.pi) * uniform(words[1]).astype("f4")
    return np.sqrt(-2 * np.log(u.astype("f8"))) * np.cos(v.astype("f8"))


def integers(words, low, high):
    return low + (words[0] * np.uint64(high - low) >> np.uint64(32)).astype("i8")


def programs():
    offsets = np.arange(1000)
    p = program("random/tiles", """@ts.kernel
def k(A: ts.Tensor["n", 4, ts.f32], N: ts.Tensor["n", ts.f32], I: ts.Tensor["n", ts.i32], J: ts.Tensor["n", ts.i32], seed: ts.i64, low: ts.i32, high: ts.i32):
    for i in ts.tile.parallel(0, n, 64):
        at = i + ts.tile.arange(64)
        a, b, c, d = ts.tile.rand4x(seed, at)
        A[i:i+64, 0] = a
        A[i:i+64, 1] = b
        A[i:i+64, 2] = c
        A[i:i+64, 3] = d
        N[i:i+64] = ts.tile.randn(seed, at)
        I[i:i+64] = ts.tile.randint(seed, at, low, high)
        J[i:i+64] = ts.tile.randint(seed, at, -6, 7)
""")
    lanes = program("random/lanes", """@ts.kernel
def k(A: ts.Tensor["n", ts.f32], N: ts.Tensor["n", ts.f32], I: ts.Tensor["n", ts.i32], seed: ts.i64, low: ts.i32, high: ts.i32):
    i = ts.tile.linear_id()
    if i < n:
        a, b, c, d = ts.tile.rand4x(seed, i)
        A[i] = a + b + c + d
        N[i] = ts.tile.randn(seed, i)
        I[i] = ts.tile.randint(seed, i, low, high)
""")
    for seed in SEEDS:
        words = philox_words(seed, offsets)
        for low, high in ((0, 10), (-(2**31), 2**31 - 1), (5, 6), (-7, 1000)):
            scalars = {"seed": seed, "low": low, "high": high}
            u = [uniform(w) for w in words]
            p.run({"n": 1000}, {}, {"A": want("f32", np.stack(u, 1)), "N": want("f32", normal(words), ulps=4, atol=1e-6),
                                    "I": want("i32", integers(words, low, high)), "J": want("i32", integers(words, -6, 7))}, scalars)
            total = np.float32(u[0]) + np.float32(u[1]) + np.float32(u[2]) + np.float32(u[3])
            lanes.run({"n": 1000}, {}, {"A": want("f32", total), "N": want("f32", normal(words), ulps=4, atol=1e-6),
                                        "I": want("i32", integers(words, low, high))}, scalars)
    yield p
    yield lanes
