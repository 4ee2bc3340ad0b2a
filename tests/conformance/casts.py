"""Casts between every pair of dtypes, at special and random values."""
import numpy as np

from cases import program, want
from dtypes import DTYPES, cast, random, specials

N = 400


def inputs(source):
    if not DTYPES[source].is_float:
        values = random(source, (N,), 1)
        small = random("i8" if DTYPES[source].signed else "u8", (N // 2,), 2)
        values[: len(small)] = small if source != "bool" else small & 1
    else:
        # Every magnitude the dtype has, plus halves and integers, which are where roundings tie.
        rng = np.random.default_rng(3)
        d = DTYPES[source]
        low, high = max(d.min_exponent - d.mantissa, -160), min(np.log2(d.largest), 160)
        values = rng.uniform(-1, 1, N) * 2.0 ** rng.uniform(low, high, N)
        values[: N // 4] = rng.integers(-600, 600, N // 4) / 2
    edge = specials(source)
    values[: len(edge)] = edge
    from dtypes import quantize
    return quantize(values, source)


def programs():
    for source in DTYPES:
        targets = [t for t in DTYPES if t != source]
        parameters = ", ".join(f'Y{i}: ts.Tensor["n", ts.{t}]' for i, t in enumerate(targets))
        body = "".join(f"        Y{i}[i:i+64] = ts.tile.cast(x, ts.{t})\n" for i, t in enumerate(targets))
        p = program(f"cast/{source}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{source}], {parameters}):
    for i in ts.tile.parallel(0, n, 64):
        x = X[i:i+64]
{body}""")
        x = inputs(source)
        p.run({"n": N}, {"X": (source, x)}, {f"Y{i}": want(t, cast(x, source, t)) for i, t in enumerate(targets)})
        yield p
