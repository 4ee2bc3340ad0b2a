"""Every elementwise op, over dtypes, special values and sizes around the tile's extent."""
import math

import numpy as np

from cases import program, want
from dtypes import DTYPES, FLOATS, INTS, limits, quantize, random, with_specials, wrap

TILE = 64
SIZES = [0, 1, 17, TILE - 1, TILE, TILE + 1, 1000]


def erf(x):
    return np.vectorize(math.erf, otypes=["f8"])(x)


# name -> (expression, reference, argument range, ulps for f32). f16 and bf16 are allowed one ulp, f64 four: NumPy's own
# double functions are only about one ulp good.
FUNCTIONS = {
    "exp": ("ts.tile.exp(x)", np.exp, (-80, 80), 2),
    "exp2": ("ts.tile.exp2(x)", np.exp2, (-100, 100), 2),
    "log": ("ts.tile.log(x)", np.log, (0, 1000), 2),
    "log2": ("ts.tile.log2(x)", np.log2, (0, 1000), 2),
    "sqrt": ("ts.tile.sqrt(x)", np.sqrt, (0, 1000), 1),
    "rsqrt": ("ts.tile.rsqrt(x)", lambda x: 1 / np.sqrt(x), (0, 1000), 2),
    "tanh": ("ts.tile.tanh(x)", np.tanh, (-9, 9), 2),
    "sigmoid": ("ts.tile.sigmoid(x)", lambda x: 1 / (1 + np.exp(-x)), (-20, 20), 3),
    "erf": ("ts.tile.erf(x)", erf, (-4, 4), 3),
    "sin": ("ts.tile.sin(x)", np.sin, (-100, 100), 3),
    "cos": ("ts.tile.cos(x)", np.cos, (-100, 100), 3),
    "tan": ("ts.tile.tan(x)", np.tan, (-100, 100), 3),
    "asin": ("ts.tile.asin(x)", np.arcsin, (-1, 1), 2),
    "acos": ("ts.tile.acos(x)", np.arccos, (-1, 1), 2),
    "atan": ("ts.tile.atan(x)", np.arctan, (-100, 100), 2),
    "sinh": ("ts.tile.sinh(x)", np.sinh, (-80, 80), 2),
    "cosh": ("ts.tile.cosh(x)", np.cosh, (-80, 80), 2),
    "asinh": ("ts.tile.asinh(x)", np.arcsinh, (-1000, 1000), 2),
    "acosh": ("ts.tile.acosh(x)", np.arccosh, (1, 1000), 2),
    "atanh": ("ts.tile.atanh(x)", np.arctanh, (-1, 1), 2),
    "expm1": ("ts.tile.expm1(x)", np.expm1, (-3, 80), 2),
    "log1p": ("ts.tile.log1p(x)", np.log1p, (-1, 1000), 2),
    "log10": ("ts.tile.log10(x)", np.log10, (0, 1000), 1),
    "cbrt": ("ts.tile.cbrt(x)", np.cbrt, (-1000, 1000), 1),
    "erfc": ("ts.tile.erfc(x)", np.vectorize(math.erfc, otypes=["f8"]), (-4, 10), 4),
}

FUNCTIONS2 = {"atan2": (np.arctan2, 2), "hypot": (np.hypot, 1), "copysign": (np.copysign, 0)}

# name -> (expression, reference). Exact: rounded once from the double result.
FLOAT_OPS = {
    "neg": ("-x", lambda x, y: -x),
    "add": ("x + y", lambda x, y: x + y),
    "sub": ("x - y", lambda x, y: x - y),
    "mul": ("x * y", lambda x, y: x * y),
    "div": ("x / y", lambda x, y: x / y),
    "abs": ("ts.tile.abs(x)", lambda x, y: np.abs(x)),
    "minimum": ("ts.tile.minimum(x, y)", np.minimum),
    "maximum": ("ts.tile.maximum(x, y)", np.maximum),
    "scalar": ("2.0 * x - 1", lambda x, y: 2 * x - 1),
    "floor": ("ts.tile.floor(x)", lambda x, y: np.floor(x)),
    "ceil": ("ts.tile.ceil(x)", lambda x, y: np.ceil(x)),
    "trunc": ("ts.tile.trunc(x)", lambda x, y: np.trunc(x)),
    "round": ("ts.tile.round(x)", lambda x, y: np.round(x)),
    "sign": ("ts.tile.sign(x)", lambda x, y: np.sign(x)),
    "clamp": ("ts.tile.clamp(x, -1.5, y)", lambda x, y: np.minimum(np.maximum(x, -1.5), y)),
    "fmod": ("ts.tile.fmod(x, y)", np.fmod),
}

PREDICATES = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}

INT_OPS = {
    "neg": ("-x", lambda x, y: -x),
    "add": ("x + y", lambda x, y: x + y),
    "sub": ("x - y", lambda x, y: x - y),
    "mul": ("x * y", lambda x, y: x * y),
    "and": ("x & y", lambda x, y: x & y),
    "or": ("x | y", lambda x, y: x | y),
    "xor": ("x ^ y", lambda x, y: x ^ y),
    "invert": ("~x", lambda x, y: ~x),
    "abs": ("ts.tile.abs(x)", lambda x, y: np.abs(x)),
    "minimum": ("ts.tile.minimum(x, y)", np.minimum),
    "maximum": ("ts.tile.maximum(x, y)", np.maximum),
    "shl": ("x << 3", lambda x, y: x << 3),
    "shr": ("x >> 2", lambda x, y: x >> 2),
    "sign": ("ts.tile.sign(x)", lambda x, y: np.sign(x)),
    "clamp": ("ts.tile.clip(x, y, 5)", lambda x, y: np.minimum(np.maximum(x, y), 5)),
}

COMPARISONS = {"lt": ("<", np.less), "le": ("<=", np.less_equal), "gt": (">", np.greater), "ge": (">=", np.greater_equal),
               "eq": ("==", np.equal), "ne": ("!=", np.not_equal)}


def source(dtype, expression, result=None):
    return f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], Y: ts.Tensor["n", ts.{dtype}], Z: ts.Tensor["n", ts.{result or dtype}]):
    for i in ts.tile.parallel(0, n, {TILE}):
        x = X[i:i+{TILE}]
        y = Y[i:i+{TILE}]
        Z[i:i+{TILE}] = {expression}
"""


def binary(name, dtype, expression, reference, sizes=SIZES, result=None, prepare=None, **tolerance):
    p = program(name, source(dtype, expression, result))
    for n in sizes:
        x, y = with_specials(dtype, n, 1), with_specials(dtype, n, 2)[::-1].copy()
        if prepare:
            x, y = prepare(x, y)
        with np.errstate(all="ignore"):
            p.run({"n": n}, {"X": (dtype, x), "Y": (dtype, y)}, {"Z": want(result or dtype, reference(x, y), **tolerance)})
    return p


def functions():
    for op, (expression, reference, (low, high), ulps) in FUNCTIONS.items():
        for dtype in FLOATS:
            p = program(f"function/{op}/{dtype}", source(dtype, expression))
            for n in SIZES:
                x = with_specials(dtype, n, 3, low, high)
                with np.errstate(all="ignore"):
                    values = reference(x)
                    # Past the range for which a dtype's tiny or huge arguments mean anything to sin and cos.
                    if op in ("sin", "cos", "tan"):
                        x = np.where(np.abs(x) > 1e4, 0.25, x)
                        values = reference(x)
                p.run({"n": n}, {"X": (dtype, x), "Y": (dtype, x)},
                      {"Z": want(dtype, values, ulps={"f64": max(4, ulps + 1), "f32": ulps}.get(dtype, 1))})
            yield p
    for op, (reference, ulps) in FUNCTIONS2.items():
        for dtype in FLOATS:
            # Pairs of all kinds of special values come from the reversed operand.
            yield binary(f"function/{op}/{dtype}", dtype, f"ts.tile.{op}(x, y)", reference, prepare=lambda x, y: (x, numbers(y)),
                         ulps={"f64": max(4, ulps), "f32": ulps}.get(dtype, min(1, ulps)))


def numbers(y):
    """Without NaN, whose sign is unspecified."""
    return np.where(np.isnan(y), -3.0, y)


def arithmetic():
    for dtype in FLOATS:
        for op, (expression, reference) in FLOAT_OPS.items():
            # Narrow dtypes may be computed in f32 and rounded once; that equals rounding the double result for + - * /.
            # "scalar" may or may not be contracted.
            tolerance = {"ulps": 1, "atol": DTYPES[dtype].eps} if op == "scalar" else {}
            yield binary(f"float/{op}/{dtype}", dtype, expression, reference, **tolerance)
    for dtype in INTS:
        for op, (expression, reference) in INT_OPS.items():
            yield binary(f"int/{op}/{dtype}", dtype, expression, lambda x, y, f=reference: wrap(f(x, y), dtype))


def nonzero(x, y):
    return x, np.where(y == 0, 3, y)


def division():
    for dtype in INTS:
        low = limits(dtype)[0]

        def floor_divide(x, y):  # the smallest integer by -1 wraps, and must not trap
            overflow = (x == low) & (y == -1)
            return np.where(overflow, wrap(-x, dtype), x // np.where(overflow, 1, y))

        def modulo(x, y):
            return np.where(y == -1, 0, x % np.where(y == -1, 1, y))

        def overflowing(x, y):
            x, y = nonzero(x, y)
            if DTYPES[dtype].signed and len(x) > 2:
                x[1], y[1] = low, -1
            return x, y

        yield binary(f"int/floordiv/{dtype}", dtype, "x // y", floor_divide, prepare=overflowing)
        yield binary(f"int/mod/{dtype}", dtype, "x % y", modulo, prepare=overflowing)
        p = program(f"int/division-by-zero/{dtype}", source(dtype, "x // y + x % y"))
        x = random(dtype, (70,), 4)
        p.run({"n": 70}, {"X": (dtype, x), "Y": (dtype, np.zeros(70, "i8"))}, {"Z": want(dtype, None, (70,))})
        yield p
    for dtype in FLOATS:
        finite = lambda x, y: (np.where(np.isfinite(x) & (np.abs(x) < 1e3), x, 1.5),
                               np.where(np.isfinite(y) & (np.abs(y) > 0.1) & (np.abs(y) < 1e3), y, 0.75))
        # The sign of a zero quotient is left open.
        yield binary(f"float/floordiv/{dtype}", dtype, "x // y", np.floor_divide, prepare=finite, atol=1e-300)
        # The remainder of a floored division, through the rounded quotient: within a step of the dividend.
        yield binary(f"float/mod/{dtype}", dtype, "x % y", np.mod, prepare=finite, ulps=1, atol=2 * DTYPES[dtype].eps)


def by_constants():
    """Divisions by constants, which are multiplications by inverses: divisors of every sign and size of their inverse."""
    for dtype in INTS:
        low, high = limits(dtype)
        divisors = [d for d in (1, 2, 3, 5, 6, 7, 10, 64, 125, 641, 1000003, 6700417, 3 << 32, 10**15 + 37, high // 2, high - 1, high) if d <= high]
        if low < 0:
            divisors += [-d for d in divisors if d > 1] + [low + 1]
        lines = "".join(f"        Z[{j}, i:i+{TILE}] = x // {d}\n        Z[{len(divisors) + j}, i:i+{TILE}] = x % {d}\n" for j, d in enumerate(divisors))
        p = program(f"int/by-constants/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{dtype}], Z: ts.Tensor["m", "n", ts.{dtype}]):
    for i in ts.tile.parallel(0, n, {TILE}):
        x = X[i:i+{TILE}]
{lines}""")
        for n in (1, TILE + 1, 1000):
            x = with_specials(dtype, n, 3)
            near = np.array([d * k + e for d in divisors for k in (1, -1, 2, 1000) for e in (-1, 0, 1) if low <= d * k + e <= high], x.dtype)
            x[n // 2:] = np.resize(near, n - n // 2)
            p.run({"n": n, "m": 2 * len(divisors)}, {"X": (dtype, x)},
                  {"Z": want(dtype, np.stack([x // x.dtype.type(d) for d in divisors] + [x % x.dtype.type(d) for d in divisors]))})
        yield p


def comparisons():
    for dtype in [*FLOATS, *INTS]:
        for op, (symbol, reference) in COMPARISONS.items():
            yield binary(f"compare/{op}/{dtype}", dtype, f"x {symbol} y", lambda x, y, f=reference: f(x, y).astype("i8"),
                         sizes=[1, 17, 130], result="bool")


def powers():
    for dtype in FLOATS:
        p = program(f"float/pow/{dtype}", source(dtype, "x ** y"))
        x, y = np.abs(random(dtype, (200,), 5, 0.1, 4)), random(dtype, (200,), 6, -3, 3)
        p.run({"n": 200}, {"X": (dtype, x), "Y": (dtype, y)}, {"Z": want(dtype, x**y, ulps={"f64": 8, "f32": 4}.get(dtype, 1))})
        yield p
        for exponent in (2, 3, 0):
            yield binary(f"float/pow{exponent}/{dtype}", dtype, f"x ** {exponent}", lambda x, y, e=exponent: x**e, sizes=[130],
                         ulps=2, atol=2.0 ** (DTYPES[dtype].min_exponent))


def rounding():
    """Halves, neighbours of halves and of the largest floats with a fraction, both zeros."""
    for dtype in FLOATS:
        d = DTYPES[dtype]
        step = 1 / d.eps  # about where floats have no fraction any more
        edges = np.array([0.0, 0.5, 1.5, 2.5, 3.5, 0.25, 0.75, step / 2 - 0.5, step / 4 + 0.5, step, step * 2, 1 - d.eps])
        x = quantize(np.concatenate([edges, -edges]), dtype)
        for op, reference in (("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("round", np.round)):
            p = program(f"rounding/{op}/{dtype}", source(dtype, f"ts.tile.{op}(x)"))
            yield p.run({"n": len(x)}, {"X": (dtype, x), "Y": (dtype, x)}, {"Z": want(dtype, reference(x))})
        for op, reference in PREDICATES.items():
            yield binary(f"predicate/{op}/{dtype}", dtype, f"ts.tile.{op}(x)", lambda x, y, f=reference: f(x).astype("i8"),
                         sizes=[1, 130], result="bool")


def bits():
    def unsigned(values, dtype):
        return [int(v) & ((1 << DTYPES[dtype].bits) - 1) for v in values]

    for dtype in INTS:
        width = DTYPES[dtype].bits
        listed = {"popcount": lambda x, y: [bin(v).count("1") for v in unsigned(x, dtype)],
                  "clz": lambda x, y: [width - v.bit_length() for v in unsigned(x, dtype)],
                  "umulhi": lambda x, y: [a * b >> width for a, b in zip(unsigned(x, dtype), unsigned(y, dtype))]}
        for op, reference in listed.items():
            def exact(x, y, f=reference):
                got = f(x, y)
                return wrap(np.array([v - (1 << 64) if v >> 63 else v for v in got], "i8"), dtype)

            yield binary(f"bits/{op}/{dtype}", dtype, f"ts.tile.{op}(x{', y' if op == 'umulhi' else ''})", exact, sizes=[1, 17, 130])
    for a, b in (("f32", "i32"), ("f64", "i64"), ("f16", "i16"), ("bf16", "i16"), ("fp8_e4m3", "u8"), ("i8", "u8"), ("bf16", "f16")):
        # There and back again, and the bits of a sum of powers of two.
        p = program(f"bits/bitcast/{a}-{b}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{a}], Z: ts.Tensor["n", ts.{a}], W: ts.Tensor["n", ts.{b}]):
    for i in ts.tile.parallel(0, n, 64):
        bits = ts.tile.bitcast(X[i:i+64], ts.{b})
        W[i:i+64] = bits
        Z[i:i+64] = ts.tile.bitcast(bits, ts.{a})
""")
        x = np.array([0, 1, 2, 0.5, -1, 1.5, 3, -0.25]) if DTYPES[a].is_float else np.array([0, 1, 127, -1, -128])
        words = {("f32", "i32"): x.astype("f4").view("i4"), ("f64", "i64"): x.astype("f8").view("i8"),
                 ("f16", "i16"): x.astype("f2").view("i2"), ("bf16", "i16"): (x.astype("f4").view("i4") >> 16),
                 ("fp8_e4m3", "u8"): np.array([0, 0x38, 0x40, 0x30, 0xB8, 0x3C, 0x44, 0xA8]), ("i8", "u8"): x.astype("i1").view("u1"),
                 ("bf16", "f16"): (x.astype("f4").view("u4") >> 16).astype("u2").view("f2")}[a, b]
        yield p.run({"n": len(x)}, {"X": (a, x)}, {"Z": want(a, x), "W": want(b, words.astype("f8" if DTYPES[b].is_float else "i8"))})


def selection():
    for dtype in [*FLOATS, *INTS]:
        yield binary(f"where/{dtype}", dtype, "ts.tile.where(x < y, x, y)", lambda x, y: np.where(x < y, x, y), sizes=[1, 65])
        yield binary(f"where-scalar/{dtype}", dtype, "ts.tile.where(x < y, 1, y)", lambda x, y: np.where(x < y, 1, y), sizes=[65])
    for op, expression, reference in (("and", "(x < y) & (x != 1)", lambda x, y: (x < y) & (x != 1)),
                                      ("or", "(x < y) | (x == 1)", lambda x, y: (x < y) | (x == 1)),
                                      ("xor", "(x < y) ^ (x < 0)", lambda x, y: (x < y) ^ (x < 0)),
                                      ("not", "~(x < y)", lambda x, y: ~(x < y))):
        yield binary(f"bool/{op}", "f32", expression, lambda x, y, f=reference: f(x, y).astype("i8"), sizes=[1, 130], result="bool")
    for dtype in ("f64", "f32"):
        # One rounding, which a product and a sum would not give: x*x - (x*x rounded).
        p = program(f"fma/{dtype}", source(dtype, "ts.tile.fma(x, x, -y)"))
        wide = np.longdouble if dtype == "f64" else np.float64
        narrow = np.float64 if dtype == "f64" else np.float32
        x = random(dtype, (130,), 7, 1, 2)
        y = (x.astype(narrow) * x.astype(narrow)).astype("f8")
        exact = (x.astype(wide) * x.astype(wide) - y.astype(wide)).astype("f8")
        # 64-bit mantissas do not hold the exact product of two 53-bit ones: leave f64 its last bits.
        p.run({"n": 130}, {"X": (dtype, x), "Y": (dtype, y)}, {"Z": want(dtype, exact, **({"atol": 2.0**-62} if dtype == "f64" else {}))})
        yield p


def mixing():
    """The implicit conversions: weak literals, widening of signed integers, 16-bit floats with f32."""
    for a, b, result in (("f16", "f32", "f32"), ("bf16", "f32", "f32"), ("i8", "i32", "i32"), ("i16", "i64", "i64"), ("i8", "i16", "i16")):
        p = program(f"mix/{a}-{b}", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.{a}], Y: ts.Tensor["n", ts.{b}], Z: ts.Tensor["n", ts.{result}]):
    for i in ts.tile.parallel(0, n, 64):
        Z[i:i+64] = X[i:i+64] * Y[i:i+64] + 1
""")
        x, y = random(a, (130,), 8), random(b, (130,), 9)
        values = x * y + 1
        tolerance = {"ulps": 1, "atol": 2.0**-22} if DTYPES[result].is_float else {}
        p.run({"n": 130}, {"X": (a, x), "Y": (b, y)}, {"Z": want(result, values, **tolerance)})
        yield p


def shared_operands():
    """Each line uses the one before twice: looked at once per use, 40 lines would never end."""
    lines = "\n".join(["            x = ts.tile.maximum(x, 1.0 - x)"] * 40)
    p = program("elementwise/shared-operands/tile", f"""@ts.kernel
def k(X: ts.Tensor["m", "n", ts.f32], Z: ts.Tensor["m", "n", ts.f32]):
    for i in ts.tile.parallel(0, m, 8):
        for j in ts.tile.parallel(0, n, 64):
            x = X[i:i+8, j:j+64]
{lines}
            Z[i:i+8, j:j+64] = x
""")
    for m, n in ((9, 68), (1, 1), (8, 128)):
        x = np.random.default_rng(m).integers(0, 17, (m, n)) / 16
        p.run({"m": m, "n": n}, {"X": ("f32", x)}, {"Z": want("f32", np.maximum(x, 1 - x))})
    yield p
    lines = "\n".join(["        c = ts.maximum(c, i - c)"] * 40)
    p = program("elementwise/shared-operands/index", f"""@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 16):
        c = i
{lines}
        Z[i:i+16] = X[c:c+16] + 1.0
""")
    x = np.arange(50.0)
    p.run({"n": 50}, {"X": ("f32", x)}, {"Z": want("f32", x + 1)})
    yield p


def programs():
    yield from functions()
    yield from shared_operands()
    yield from arithmetic()
    yield from division()
    yield from by_constants()
    yield from comparisons()
    yield from powers()
    yield from rounding()
    yield from bits()
    yield from selection()
    yield from mixing()
