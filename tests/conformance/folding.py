"""Every operator on constants gives what the generated code gives: edge values of every dtype, each pair computed four or five ways.

F  by the frontend, from literals           R  by generated code, on tiles that are loaded
P  by folding, on tiles full of one value   L  by generated code, on scalars that are loaded
S  by folding, on scalars of fp8, fp6 and fp4 that a loop of one step carries
"""
import math

import numpy as np

from cases import program, want
from dtypes import DTYPES, SMALL_FLOATS, cast, limits, quantize

COMPARISONS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal}


def edges(dtype):
    d = DTYPES[dtype]
    if dtype == "bool":
        return [0, 1]
    if not d.is_float:
        low, high = limits(dtype)
        return sorted({low, -1 if low else 150, 0, 1, 2, 7, high - 1, high})
    sub = 2.0 ** (d.min_exponent - d.mantissa)
    values = [0.0, -0.0, 0.1, -1.0, 2.5, 3.0, sub, -d.largest] + ([math.nan] if d.has_nan else [])
    if d.has_nan and dtype != "fp8_e4m3":
        values += [math.inf, -math.inf]
    return list(dict.fromkeys(quantize(np.array(values), dtype).tolist())) + [-0.0]


def literal(value, dtype):
    if DTYPES[dtype].is_float:
        text = repr(float(value)) if math.isfinite(value) else f"float('{value}')"
    else:
        text = str(bool(value)) if dtype == "bool" else str(int(value))
    return f"ts.{dtype}({text})"


def float_mod(x, y, once):
    if math.isinf(x) or math.isnan(x) or math.isnan(y) or y == 0:
        return math.nan
    rest = math.fmod(x, y)
    if rest == 0:
        return math.copysign(0.0, y)
    return once(rest + y) if (rest < 0) != (y < 0) else rest


def float_floordiv(x, y, once):
    plain = float(np.divide(x, y))
    if y == 0:
        return once(plain)
    if math.isinf(x) or math.isnan(x) or math.isnan(y):
        return math.nan
    rest = math.fmod(x, y)
    quotient = once(float(np.divide(once(x - rest), y)))
    if rest and (rest < 0) != (y < 0):
        quotient = once(quotient - 1)
    if quotient == 0:
        return math.copysign(0.0, plain)
    if not math.isfinite(quotient):
        return quotient
    floor = math.floor(quotient)
    return once(floor + 1.0) if quotient - floor > 0.5 else float(floor)


def extremum(x, y, largest):
    if math.isnan(x) or math.isnan(y):
        return math.nan
    if x == y == 0:
        negative = [math.copysign(1, v) < 0 for v in (x, y)]
        return -0.0 if (all(negative) if largest else any(negative)) else 0.0
    return max(x, y) if largest else min(x, y)


def float_ops(once):
    return {"a + b": lambda x, y: x + y, "a - b": lambda x, y: x - y, "a * b": lambda x, y: x * y,
            "a / b": lambda x, y: float(np.divide(x, y)), "a // b": lambda x, y: float_floordiv(x, y, once),
            "a % b": lambda x, y: float_mod(x, y, once), "ts.tile.minimum(a, b)": lambda x, y: extremum(x, y, False),
            "ts.tile.maximum(a, b)": lambda x, y: extremum(x, y, True), "-a": lambda x, y: -x, "ts.tile.abs(a)": lambda x, y: abs(x)}


def int_pow(x, y):
    return pow(x, y, 1 << 64) if y >= 0 else {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)


INT_OPS = {"a + b": lambda x, y: x + y, "a - b": lambda x, y: x - y, "a * b": lambda x, y: x * y, "a // b": lambda x, y: x // y,
           "a % b": lambda x, y: x % y, "a & b": lambda x, y: x & y, "a | b": lambda x, y: x | y, "a ^ b": lambda x, y: x ^ y,
           "a << b": lambda x, y: x << y, "a >> b": lambda x, y: x >> y, "a ** b": int_pow,
           "ts.tile.minimum(a, b)": min, "ts.tile.maximum(a, b)": max, "-a": lambda x, y: -x, "~a": lambda x, y: ~x,
           "ts.tile.abs(a)": lambda x, y: abs(x)}
BOOL_OPS = {"a & b": lambda x, y: x & y, "a | b": lambda x, y: x | y, "a ^ b": lambda x, y: x ^ y, "~a": lambda x, y: 1 - x}


def low_bits(value, dtype):
    bits = DTYPES[dtype].bits
    value &= (1 << bits) - 1  # of Python's integers, which have as many as it takes
    return value - (1 << bits) if DTYPES[dtype].signed and value >> (bits - 1) else value


def pairs_of(expression, dtype):
    values = edges(dtype)
    if "b" not in expression.replace("abs", ""):
        return [(v, values[0]) for v in values]
    pairs = [(x, y) for x in values for y in values]
    if "imum" in expression:  # elementwise.py compares the signs of zeros
        pairs = [(x, y) for x, y in pairs if x or y or math.copysign(1, x) == math.copysign(1, y)]
    if not DTYPES[dtype].is_float:  # a constant divisor of zero and a constant shift too far are refused
        if "//" in expression or "%" in expression:
            pairs = [(x, y) for x, y in pairs if y]
        if "<<" in expression or ">>" in expression:
            pairs = [(x, y) for x, y in pairs if 0 <= y < DTYPES[dtype].bits]
    return pairs


def table(name, dtype, result, expression, pairs, values):
    """One program of all ways."""
    constants = "".join(f"    a = {literal(x, dtype)}\n    b = {literal(y, dtype)}\n    F[{k}] = {expression}\n"
                        for k, (x, y) in enumerate(pairs))
    tiles = "".join(f"    a = ts.tile.full((1,), {literal(x, dtype)}, ts.{dtype})\n"
                    f"    b = ts.tile.full((1,), {literal(y, dtype)}, ts.{dtype})\n    P[{k}:{k + 1}] = {expression}\n"
                    for k, (x, y) in enumerate(pairs))
    small = dtype in SMALL_FLOATS
    carried = "".join(f"    a = {literal(x, dtype)}\n    b = {literal(y, dtype)}\n    for t in range(1):\n"
                      f"        S[{k}] = {expression}\n        a, b = b, a\n" for k, (x, y) in enumerate(pairs) if small)
    outputs = "FPSRL" if small else "FPRL"
    p = program(name, f"""@ts.kernel
def k(A: ts.Tensor["n", ts.{dtype}], B: ts.Tensor["n", ts.{dtype}], {', '.join(f'{o}: ts.Tensor["n", ts.{result}]' for o in outputs)}):
    for i in ts.tile.range(0, n, 16):
        a = A[i:i+16]
        b = B[i:i+16]
        R[i:i+16] = {expression}
    for i in range(n):
        a = A[i]
        b = B[i]
        L[i] = {expression}
{constants}{tiles}{carried}""")
    x, y = (np.array([pair[side] for pair in pairs], "f8" if DTYPES[dtype].is_float else "i8") for side in (0, 1))
    out = want(result, np.array(values, "f8" if DTYPES[result].is_float else "i8"))
    return p.run({"n": len(pairs)}, {"A": (dtype, x), "B": (dtype, y)}, {name: out for name in outputs})


def operators():
    for dtype, d in DTYPES.items():
        once = lambda v: float(quantize(np.array([v]), dtype)[0])
        ops = float_ops(once) if d.is_float else BOOL_OPS if dtype == "bool" else INT_OPS
        for number, (expression, reference) in enumerate(ops.items()):
            pairs = pairs_of(expression, dtype)
            values = [once(reference(x, y)) if d.is_float else low_bits(reference(int(x), int(y)), dtype) for x, y in pairs]
            yield table(f"operator/{dtype}/{number}", dtype, dtype, expression, pairs, values)
        for number, (comparison, reference) in enumerate(COMPARISONS.items()):
            if dtype == "bool" and comparison not in ("==", "!="):
                continue
            pairs = pairs_of("a b", dtype)
            values = [int(reference(x, y)) for x, y in pairs]
            yield table(f"comparison/{dtype}/{number}", dtype, "bool", f"a {comparison} b", pairs, values)


def casts():
    for source in DTYPES:
        extra = [] if DTYPES[source].is_float is False else [300.0, -5.0, 127.5, -128.5, 255.0, 1e10, -1e30]
        values = list(dict.fromkeys(edges(source) + quantize(np.array(extra), source).tolist() if extra else edges(source)))
        for target in DTYPES:
            if target == source:
                continue
            exact = np.array(values, "f8" if DTYPES[source].is_float else "i8")
            pairs = [(v, values[0]) for v in values]
            yield table(f"cast/{source}/{target}", source, target, f"ts.tile.cast(a, ts.{target})", pairs, cast(exact, source, target))


def literals():
    """Literals are Python's integers and doubles until a dtype takes them: rounded once, then."""
    cases = {  # dtype -> {expression: value}
        "i8": {"ts.i8(300.0)": 127, "ts.i8(-300.0)": -128, "ts.i8(300)": 44, "ts.i8(float('nan'))": 0},
        "u8": {"ts.u8(-5.0)": 0, "ts.u8(300.0)": 255, "ts.u8(-5)": 251, "ts.u8(3)**ts.u8(200)": 161, "-ts.u8(1)": 255},
        "i32": {"ts.i32(3)**50": -794958903, "ts.i32(2)**100": 0, "ts.i32(1e30)": 2**31 - 1, "ts.i32(7 // 2 - 2**3)": -5},
        "i64": {"ts.i64(2)**63": -(2**63), "ts.i64(1e30)": 2**63 - 1, "ts.i64(2**53 + 1)": 2**53 + 1,
                "-9223372036854775808": -(2**63), "-2**62 - 2**62": -(2**63)},
        "f32": {"1.0 // 0.1": 9, "-5.0 // float('inf')": -1, "ts.f32(0.1) + ts.f32(0.2)": float(np.float32(0.1) + np.float32(0.2)),
                "0.1 + 0.2 - 0.3": float(np.float32(0.1 + 0.2 - 0.3)), "2**53 + 1": float(np.float32(2.0**53)),
                "ts.f32(16777217)": 16777216, "1 / 3": float(np.float32(1 / 3))},
        "f64": {"ts.f64(ts.f32(0.1))": float(np.float32(0.1)), "ts.f64(0.1)": 0.1, "ts.f64(1) // ts.f64(0.1)": 9,
                "ts.f64(ts.f16(0.1))": float(np.float16(0.1)), "ts.f64(2**53 + 1)": 2.0**53},
        "f16": {"ts.f16(0.1)": float(np.float16(0.1)), "ts.f16(2049)": 2048, "ts.f16(65520.0)": math.inf},
        # Halfway but for a bit that f32 does not hold: rounded by way of f32 it would be 1.
        "bf16": {"ts.bf16(1.00390625000001)": 1.0078125},
        "fp8_e4m3": {"ts.fp8_e4m3(1e9)": 448, "ts.fp8_e4m3(0.3)": 0.3125},
    }
    for dtype, expressions in cases.items():
        stores = "".join(f"    Y[{k}] = {expression}\n" for k, expression in enumerate(expressions))
        p = program(f"literals/{dtype}", f"@ts.kernel\ndef k(Y: ts.Tensor[{len(expressions)}, ts.{dtype}]):\n{stores}")
        values = list(expressions.values())
        yield p.run({}, {}, {"Y": want(dtype, np.array(values, "f8" if DTYPES[dtype].is_float else "i8"))})
    # A variable bound to a bare literal has its dtype, and wraps as that does.
    p = program("literals/bound", "@ts.kernel\ndef k(Y: ts.Tensor[2, ts.i32]):\n    a = 2\n    Y[0] = a**100\n    Y[1] = a**31\n")
    yield p.run({}, {}, {"Y": want("i32", np.array([0, -(2**31)]))})
    p = program("literals/defaults", """@ts.kernel
def k(Y: ts.Tensor[3, ts.i64], Z: ts.Tensor[2, ts.f64], a: ts.i64 = 9007199254740992, b: ts.i64 = -9223372036854775808,
      c: ts.i64 = 4611686018427387904, d: ts.f64 = 0.1, e: ts.f32 = 0.1):
    Y[0] = a
    Y[1] = b
    Y[2] = c
    Z[0] = d
    Z[1] = ts.f64(e)
""")
    yield p.run({}, {}, {"Y": want("i64", np.array([2**53, -(2**63), 2**62])),
                         "Z": want("f64", np.array([0.1, float(np.float32(0.1))]))})


FUNCTIONS = ["exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "sin", "cos", "tan", "asin", "acos", "atan",
             "sinh", "cosh", "asinh", "acosh", "atanh", "expm1", "log1p", "log10", "cbrt", "erfc"]
FUNCTIONS2 = ["atan2", "hypot", "copysign"]
# Where libraries differ in the last bit, and the ends of ranges.
POINTS = [0.1, 0.7, 1.5, 2.7, 3.3, 17.25, 88.0, -0.0, -1.25, math.inf]


def same_bits(dtype, count, folded, loaded):
    """Statements: E[k] counts the ways in which a value that was folded differs from one that was computed."""
    zero, one = f"ts.tile.zeros(({count},), ts.{dtype})", f"ts.tile.full(({count},), 1.0, ts.{dtype})"
    both_nan = "((f != f) & (r != r))"
    return (f"    f = {folded}\n    r = {loaded}\n    u = {one} / f\n    v = {one} / r\n"
            f"    equal = ((f == r) & ((u == v) | (f != {zero}))) | {both_nan}\n")


def functions():
    """A function of a constant has the bits of the same function of a value that is loaded: in tiles, in scalars, by the frontend,
    and in graph functions."""
    for dtype, d in DTYPES.items():
        if not d.is_float or (dtype in SMALL_FLOATS and dtype != "fp8_e4m3"):
            continue
        points = list(dict.fromkeys(quantize(np.array(POINTS), dtype).tolist()))
        calls = [f"ts.tile.{f}(a)" for f in FUNCTIONS] + [f"ts.tile.{f}(a, b)" for f in FUNCTIONS2] + ["a ** b", "ts.tile.fma(a, b, c)"]
        for number, call in enumerate(calls):
            body, n = "", len(points)
            for k, x in enumerate(points):
                y, z = points[(k + 3) % n], points[(k + 5) % n]
                names = list(zip("abc", ((k, x), ((k + 3) % n, y), ((k + 5) % n, z))))
                tiles = "".join(f"    {name} = ts.tile.full((1,), {literal(v, dtype)}, ts.{dtype})\n" for name, (_, v) in names)
                loads = "".join(f"    {name} = X[{at}:{at + 1}]\n" for name, (at, _) in names)
                constants = "".join(f"    {name} = {literal(v, dtype)}\n" for name, (_, v) in names)
                scalars = "".join(f"    {name} = X[{at}]\n" for name, (at, _) in names)
                body += (f"{loads}    r = {call}\n{tiles}    f = {call}\n" + same_bits(dtype, 1, "f", "r") + f"    T[{k}:{k + 1}] = equal\n"
                         f"{constants}    g = {call}\n{scalars}    h = {call}\n    f = ts.tile.full((1,), g, ts.{dtype})\n"
                         f"    r = ts.tile.full((1,), h, ts.{dtype})\n" + same_bits(dtype, 1, "f", "r") + f"    S[{k}:{k + 1}] = equal\n")
            p = program(f"function/{dtype}/{number}", f"@ts.kernel\ndef k(X: ts.Tensor[{n}, ts.{dtype}], T: ts.Tensor[{n}, ts.bool], "
                                                      f"S: ts.Tensor[{n}, ts.bool]):\n{body}")
            ones = want("bool", np.ones(n, "i8"))
            yield p.run({}, {"X": (dtype, np.array(points))}, {"T": ones, "S": ones})
        names = FUNCTIONS
        for number, f in enumerate(names):
            folded = ", ".join(f"ts.{f}(ts.full((1,), {literal(x, dtype)}, ts.{dtype}))" for x in points)
            p = program(f"function/graph/{dtype}/{number}", f"""@ts.jit
def k(X: ts.Tensor[{len(points)}, ts.{dtype}]):
    f = ts.concat([{folded}], axis=0)
    r = ts.{f}(X)
    one = ts.full(({len(points)},), 1.0, ts.{dtype})
    return ((f == r) & ((one / f == one / r) | (f != 0.0))) | ((f != f) & (r != r))
""")
            yield p.run({}, {"X": (dtype, np.array(points))}, {"result": want("bool", np.ones(len(points), "i8"))})


def numbers_of_dims():
    """Numbers computed from literals and dims are computed in f64 beside f64."""
    expected = lambda x, n, i: [x / n, x / (n - 0.1), x * np.sqrt(n) + np.exp(1 / n), x + (i + 1) / 3 * 0.1, x / n * 3]
    p = program("folding/dims/kernel", """@ts.kernel
def k(X: ts.Tensor["N", ts.f64], Y: ts.Tensor[5, "N", ts.f64]):
    inverse, root = 1.0 / N, math.sqrt(N)
    for i in ts.tile.parallel(0, N, 8):
        x = X[i:i+8]
        third = (i + 1.0) / 3.0
        grown = ts.f64(1.0 / N)
        for j in range(1):
            grown = grown * 3.0
        Y[0, i:i+8] = x * inverse
        Y[1, i:i+8] = x / (N - 0.1)
        Y[2, i:i+8] = x * root + ts.exp(inverse)
        Y[3, i:i+8] = x + third * 0.1
        Y[4, i:i+8] = x * grown
""")
    g = program("folding/dims/graph", """@ts.jit
def f(X: ts.Tensor["N", ts.f64]):
    inverse = 1.0 / N
    i = ts.cast(ts.arange(N) // 8 * 8, ts.f64)
    return X * inverse, X / (N - 0.1), X * math.sqrt(N) + ts.exp(inverse), X + (i + 1.0) / 3.0 * 0.1, X * (3.0 / N)
""")
    for n in (1, 7, 100):
        x = np.random.default_rng(n).uniform(-1, 1, n)
        y = expected(x, n, np.arange(n) // 8 * 8)
        p.run({"N": n}, {"X": ("f64", x)}, {"Y": want("f64", np.stack(y), rtol=1e-14, atol=1e-15)})
        g.run({"N": n}, {"X": ("f64", x)}, {f"result{i}": want("f64", v, rtol=1e-14, atol=1e-15) for i, v in enumerate(y)})
    yield p
    yield g
    yield program("folding/dims/changed", """@ts.kernel
def k(X: ts.Tensor["N", ts.f64]):
    for i in ts.tile.parallel(0, N, 8):
        grown = 1.0 / N
        for j in range(2):
            grown = grown * 3.0
        X[i:i+8] = X[i:i+8] * grown
""", error="E_TYPE_MIX")


def programs():
    yield from numbers_of_dims()
    yield from functions()
    yield from operators()
    yield from casts()
    yield from literals()
