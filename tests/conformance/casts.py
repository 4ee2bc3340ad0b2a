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
    yield from chains()


def chains():
    """Casts of casts round twice, which one conversion would not: of integers around the ties of the narrow format, and of floats."""
    targets = ("f64", "f32", "f16", "bf16", "i64", "i32")
    vias = {"i64": ("f64", "f32"), "i32": ("f32", "f16"), "i16": ("f32", "bf16"), "i8": ("f32", "bf16"), "bool": ("f32",),
            "f64": ("f32", "bf16"), "f32": ("f16", "i32")}
    for source, wides in vias.items():
        for wide in wides:
            outputs = ", ".join(f'Y{i}: ts.Tensor["n", ts.{t}]' for i, t in enumerate(targets))
            body = "".join(f"        Y{i}[i:i+64] = ts.tile.cast(ts.tile.cast(X[i:i+64], ts.{wide}), ts.{t})\n" for i, t in enumerate(targets))
            p = program(f"cast/chain/{source}-{wide}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{source}], {outputs}):
    for i in ts.tile.parallel(0, n, 64):
{body}""")
            x = inputs(source)
            if not DTYPES[source].is_float and source != "bool":
                d = DTYPES[source]
                bits = d.bits - d.signed
                ties = [2**p + 2**(p - h) + e for p in (10, 13, 17, 23, 25, 30, 40, 53, 55, 60, 62) for h in (9, 11, 12, 24, 25) if p > h for e in (-1, 0, 1)]
                ties = np.array([t for t in ties if t < 2**bits], dtype=x.dtype)[: N // 2]
                x[N - len(ties):] = ties
            middle = cast(x, source, wide)
            p.run({"n": N}, {"X": (source, x)}, {f"Y{i}": want(t, cast(middle, wide, t)) for i, t in enumerate(targets)})
            yield p
