"""The language's dtypes in NumPy, written from their definitions and independent of the C++ casts."""
import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class DType:
    name: str
    is_float: bool
    mantissa: int = 0  # explicit bits
    min_exponent: int = 0  # of the smallest normal
    largest: float = 0  # finite
    saturates: bool = False
    has_nan: bool = True
    bits: int = 0  # integers
    signed: bool = True

    @property
    def eps(self):
        return 2.0 ** -self.mantissa


def _float(name, mantissa, min_exponent, largest, saturates=False, has_nan=True):
    return DType(name, True, mantissa, min_exponent, largest, saturates, has_nan)


DTYPES = {d.name: d for d in [
    _float("f64", 52, -1022, np.finfo("f8").max),
    _float("f32", 23, -126, float(np.finfo("f4").max)),
    _float("f16", 10, -14, 65504.0),
    _float("bf16", 7, -126, float(2.0**127 * (2 - 2.0**-7))),
    _float("fp8_e4m3", 3, -6, 448.0, True),
    _float("fp8_e5m2", 2, -14, 57344.0, True),
    _float("fp6_e2m3", 3, 0, 7.5, True, False),
    _float("fp6_e3m2", 2, -2, 28.0, True, False),
    _float("fp4_e2m1", 1, 0, 6.0, True, False),
    DType("i64", False, bits=64), DType("i32", False, bits=32), DType("i16", False, bits=16), DType("i8", False, bits=8),
    DType("u32", False, bits=32, signed=False), DType("u16", False, bits=16, signed=False),  # u64: unsigned.py
    DType("u8", False, bits=8, signed=False), DType("bool", False, bits=1, signed=False),
]}

FLOATS = ["f64", "f32", "f16", "bf16"]
SMALL_FLOATS = ["fp8_e4m3", "fp8_e5m2", "fp6_e2m3", "fp6_e3m2", "fp4_e2m1"]
INTS = ["i64", "i32", "i16", "i8", "u32", "u16", "u8"]


def limits(dtype):
    d = DTYPES[dtype]
    return (-(1 << (d.bits - 1)), (1 << (d.bits - 1)) - 1) if d.signed else (0, (1 << d.bits) - 1)


def wrap(values, dtype):
    """Keeps the low bits of integers, as int64."""
    d = DTYPES[dtype]
    values = np.asarray(values).astype("i8")
    if d.bits == 64:
        return values
    low = values & ((1 << d.bits) - 1)
    return np.where(low >> (d.bits - 1) & 1, low - (1 << d.bits), low) if d.signed else low


def quantize(values, dtype):
    """The nearest value of the dtype, ties to even, from doubles; integers wrap."""
    d = DTYPES[dtype]
    if not d.is_float:
        return wrap(values, dtype)
    x = np.asarray(values, "f8")
    if dtype == "f64":
        return x
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(x) & (x != 0), x, 1.0))
        step = np.ldexp(1.0, np.maximum(exponent - 1, d.min_exponent) - d.mantissa)
        y = np.rint(x / step) * step  # rint rounds ties to even; the scalings are exact
        y = np.where(np.isfinite(x), y, x)
        over = np.abs(y) > d.largest
        y = np.where(over, np.sign(y) * (d.largest if d.saturates else np.inf), y)
        if not d.has_nan:
            y = np.where(np.isnan(x), d.largest, y)
        return np.where(y == 0, np.copysign(0.0, x), y)


def cast(values, source, target):
    """The language's cast between any two dtypes; `values` are exact values of `source`."""
    s, t = DTYPES[source], DTYPES[target]
    if target == "bool":
        return (np.asarray(values) != 0).astype("i8")
    if t.is_float:
        return quantize(np.asarray(values).astype("f8") if s.is_float else _from_int(values, t), target)
    if not s.is_float:
        return wrap(values, target)
    low, high = limits(target)
    x = np.trunc(np.where(np.isnan(values), 0, values))
    inside = (x >= float(low)) & (x < float(high) + (1 if t.bits < 54 else 0))
    return np.where(inside, np.where(inside, x, 0).astype("i8"), np.where(x < 0, low, high)).astype("i8")


def _from_int(values, target):
    """Integers to floats, rounded once: through an odd-rounded double when 53 bits do not hold them."""
    exact = np.asarray(values, "i8")
    as_double = exact.astype("f8")
    if target.name == "f64":
        return as_double
    # Clearing low bits with a sticky one keeps what a later rounding to 24 bits or fewer needs.
    big = np.abs(exact // 2) >= 1 << 52
    sticky = np.where(exact & 0x7FF, (exact & ~0x7FF) | 0x400, exact)
    return np.where(big, sticky.astype("f8"), as_double)


def specials(dtype):
    """Values at which things go wrong."""
    d = DTYPES[dtype]
    if not d.is_float:
        low, high = limits(dtype)
        return np.array([0, 1, high, low, high - 1, low + 1 if d.signed else 2, -1 if d.signed else 3], "i8")
    tiny, sub = 2.0**d.min_exponent, 2.0 ** (d.min_exponent - d.mantissa)
    values = [0.0, -0.0, 1.0, -1.0, 1 + d.eps, d.largest, -d.largest, tiny, -tiny, sub, -sub, 0.5, 1.5, 2.5, -2.5]
    if d.has_nan:
        values += [np.nan] + ([] if dtype == "fp8_e4m3" else [np.inf, -np.inf])
    return quantize(np.array(values), dtype)


def random(dtype, shape, seed=1, low=-2.0, high=2.0):
    """Exact values of the dtype: floats in [low, high), integers over their whole range."""
    rng = np.random.default_rng(seed)
    if DTYPES[dtype].is_float:
        return quantize(rng.uniform(low, high, shape), dtype)
    a, b = limits(dtype)
    return rng.integers(a, b, shape, dtype="i8", endpoint=True)


def with_specials(dtype, n, seed=1, low=-2.0, high=2.0):
    values = random(dtype, (n,), seed, low, high)
    edge = specials(dtype)
    values[: min(n, len(edge))] = edge[:n]
    return values
