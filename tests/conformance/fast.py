"""The profile `fast`: sums that are regrouped, contracted products and divisions by a shared value stay within their error bounds, and
nothing else changes. Every program of the families of reductions and masks runs under it, too, within the bounds it has there: those
hold for a sum in any order."""
import numpy as np

import masks
import reductions
from cases import program, want

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
        yield p.run({"M": 11}, {"X": (dtype, x)}, {"Y": want(dtype, x / abs(x).max(1, keepdims=True), ulps=2),
                                                  "Z": want(dtype, x / s, ulps=2)}, {"s": s})

        p = program(f"fast/softmax/{dtype}", f"""@ts.jit
def k(X: ts.Tensor["M", "N", ts.{dtype}]):
    return ts.softmax(X)
""", numerics="fast")
        for m, n in ((1, 1), (3, 17), (5, 64), (4, 1000)):
            x = values(rng, dtype, m, n) * 8
            e = np.exp(x - x.max(1, keepdims=True))
            y = e / e.sum(1, keepdims=True)
            p.run({"M": m, "N": n}, {"X": (dtype, x)}, {"result": want(dtype, y, bound=y * (n + 30) * u)})
        yield p


def programs():
    rng = np.random.default_rng(12)
    yield from sums(rng)
    yield from formulas(rng)
    for family in (reductions, masks):
        for p in family.programs():
            p.name, p.numerics = f"fast/{p.name}", "fast"
            yield p
