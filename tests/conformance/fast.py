"""The profile `fast`: sums that are regrouped, contracted products and divisions by a shared value stay within their error bounds, and
nothing else changes. Every program of the families of reductions and masks runs under it, too, within the bounds it has there: those
hold for a sum in any order."""
import math

import numpy as np

import masks
import reductions
from cases import program, want
from dtypes import quantize

U = {"f32": 2.0**-24, "f64": 2.0**-53}


def values(rng, dtype, *shape):
    return rng.uniform(-1, 1, shape).astype("f4" if dtype == "f32" else "f8").astype("f8")


def sums(rng):
    """Rows and columns around every length at which the number of chains changes, whole and cut at the edge."""
    for dtype, u in U.items():
        for axis in (0, 1):
            for extent in (1, 3, 7, 8, 9, 31, 33, 64, 65, 127, 129, 255, 256, 257, 1000):
                rows, columns = (extent, 12) if axis == 0 else (5, extent)
                p = program(f"fast/sum/{dtype}/{axis}/{extent}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.{dtype}], S: ts.Tensor["R", ts.{dtype}], D: ts.Tensor["R", ts.{dtype}]):
    x = X[0:{rows}, 0:{columns}]
    S[0:{columns if axis == 0 else rows}] = ts.tile.sum(x, axis={axis})
    D[0:{columns if axis == 0 else rows}] = ts.tile.sum(x * x, axis={axis})
""", numerics="fast")
                for m, n in {(rows, columns), (max(rows - 1, 1), max(columns - 1, 1)), (1, 1)}:
                    x = values(rng, dtype, m, n)
                    size = columns if axis == 0 else rows
                    pad = size - (n if axis == 0 else m)
                    def sized(a):
                        return np.pad(a.sum(axis), (0, pad))
                    bound = 2 * (extent + 1) * u
                    p.run({"M": m, "N": n, "R": size}, {"X": (dtype, x)},
                          {"S": want(dtype, sized(x), bound=sized(abs(x)) * bound, initial=np.zeros(size)),
                           "D": want(dtype, sized(x * x), bound=sized(x * x) * bound, initial=np.zeros(size))})
                yield p


def formulas(rng):
    """A polynomial, a chain of accumulations and divisions: gamma(n) = n u / (1 - n u) of the sum of magnitudes (Higham 2002, §3)."""
    for dtype, u in U.items():
        n, terms = 300, 9
        x = values(rng, dtype, n)
        coefficients = [1.0 / (k + 1) for k in range(terms)]
        rounded = [float(np.float32(c)) if dtype == "f32" else c for c in coefficients]
        horner = "c" + str(terms - 1)
        for k in reversed(range(terms - 1)):
            horner = f"({horner} * x + c{k})"
        constants = "".join(f"    c{k} = ts.{dtype}({c!r})\n" for k, c in enumerate(coefficients))
        p = program(f"fast/polynomial/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], Y: ts.Tensor["n", ts.{dtype}]):
{constants}    for i in ts.tile.parallel(0, n, 64):
        x = X[i:i+64]
        Y[i:i+64] = {horner}
""", numerics="fast")
        exact, magnitude = (sum(c * v**k for k, c in enumerate(rounded)) for v in (x, abs(x)))
        yield p.run({"n": n}, {"X": (dtype, x)}, {"Y": want(dtype, exact, bound=2 * terms * u * magnitude)})

        p = program(f"fast/lanes/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], Y: ts.Tensor["n", ts.{dtype}], Z: ts.Tensor["n", ts.{dtype}]):
    i = ts.tile.linear_id()
    if i < n:
        Z[i] = X[i] * Y[i] + Z[i]
""", numerics="fast")
        y, z = values(rng, dtype, n), values(rng, dtype, n)
        yield p.run({"n": n}, {"X": (dtype, x), "Y": (dtype, y)},
                    {"Z": want(dtype, x * y + z, bound=2 * u * (abs(x * y) + abs(z)), initial=z)})

        p = program(f"fast/divide/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", 40, ts.{dtype}], Y: ts.Tensor["M", 40, ts.{dtype}], Z: ts.Tensor["M", 40, ts.{dtype}], s: ts.{dtype}):
    for m in ts.tile.parallel(0, M, 4):
        x = X[m:m+4, :]
        Y[m:m+4, :] = x / ts.tile.row_max(ts.tile.abs(x))[:, None]
        Z[m:m+4, :] = x / s
""", numerics="fast")
        x = values(rng, dtype, 11, 40) * 1000
        s = float(np.float32(0.3)) if dtype == "f32" else 0.3
        yield p.run({"M": 11}, {"X": (dtype, x)}, {"Y": want(dtype, x / abs(x).max(1, keepdims=True), ulps=4),
                                                  "Z": want(dtype, x / s, ulps=4)}, {"s": s})

        p = program(f"fast/softmax/{dtype}", f"""@ts.jit
def k(X: ts.Tensor["M", "N", ts.{dtype}]):
    return ts.softmax(X)
""", numerics="fast")
        for m, n in ((1, 1), (3, 17), (5, 64), (4, 1000)):
            x = values(rng, dtype, m, n) * 8
            e = np.exp(x - x.max(1, keepdims=True))
            y = e / e.sum(1, keepdims=True)
            near = 2 * (2.0**-20 + (x.max(1, keepdims=True) - x) * 2.0**-23) if dtype == "f32" else 0
            p.run({"M": m, "N": n}, {"X": (dtype, x)}, {"result": want(dtype, y, bound=y * ((n + 30) * u + near))})
        yield p


# Relative errors of the functions that GPUs approximate, as docs/numerics.md has them; those of logarithms are absolute below 1.
LEAST = 2.0**-125  # where a result may become zero
NEAR = {"exp": (np.exp, lambda x, y: y * (2.0**-20 + abs(x) * 2.0**-23) + LEAST, (-100, 88)),
        "exp2": (np.exp2, lambda x, y: y * 2.0**-20 + LEAST, (-140, 127.9)),
        "log": (np.log, lambda x, y: np.maximum(abs(y), 1) * 2.0**-20, (1e-30, 3)),
        "log2": (np.log2, lambda x, y: np.maximum(abs(y), 1) * 2.0**-20, (0.1, 1e6)),
        "sqrt": (np.sqrt, lambda x, y: y * 2.0**-20, (0, 1e9)),
        "rsqrt": (lambda x: 1 / np.sqrt(x), lambda x, y: y * 2.0**-20, (1e-20, 1e9)),
        "tanh": (np.tanh, lambda x, y: abs(y) * 2.0**-10, (-6, 6)),
        "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda x, y: y * (2.0**-19 + abs(x) * 2.0**-23) + LEAST, (-90, 40)),
        "erf": (lambda x: np.array([math.erf(v) for v in x]), lambda x, y: abs(y) * 2.0**-12, (-4, 4))}
EDGES = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0**-6, 2.0**-20, -2.0**-7, 3.0]


def functions(rng):
    """Within the bounds, with infinities and NaN; f16 and bf16 are computed in f32 and rounded."""
    for name, (exact, bound, (low, high)) in NEAR.items():
        for dtype, u in (("f32", 2.0**-24), ("f16", 2.0**-11), ("bf16", 2.0**-8)):
            p = program(f"fast/near/{name}/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], Y: ts.Tensor["n", ts.{dtype}]):
    for i in ts.tile.parallel(0, n, 256):
        Y[i:i+256] = ts.tile.{name}(X[i:i+256])
""", numerics="fast")
            if dtype == "f16":
                low, high = max(low, -9.0), min(high, 10.0)
            x = np.concatenate([EDGES, rng.uniform(low, high, 300), rng.normal(size=40) * 0.01])
            x = quantize(x, dtype)
            with np.errstate(all="ignore"):
                y = exact(x)
                error = np.where(np.isfinite(y), bound(x, y) * 1.01 + abs(y) * u, 0)
            if dtype == "f16":
                error = error + 2.0**-24  # below 2^-14 it has fewer bits
            yield p.run({"n": len(x)}, {"X": (dtype, x)}, {"Y": want(dtype, y, bound=error)})


def programs():
    rng = np.random.default_rng(12)
    yield from sums(rng)
    yield from formulas(rng)
    yield from functions(rng)
    for family in (reductions, masks):
        for p in family.programs():
            p.name, p.numerics = f"fast/{p.name}", "fast"
            yield p
