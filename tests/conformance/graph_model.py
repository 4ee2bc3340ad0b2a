"""What a graph function has to compute: every graph op in double, with a bound on how far a right result may be away.

A T holds the exact value `v` (double, or int64 for integers and bool) and the bound `e`: |computed - v| <= e, element by
element. Each op carries the bounds of its operands through itself (by its derivative, or its values at the ends of the
interval) and adds what it may round: the result once to its dtype, sums and functions within in at least f32. What a
decision (a comparison, an index) makes of a value that is not known exactly enough is Ambiguous. So a bound says how
well-conditioned a graph is, and holds whatever the order of sums and however operations are fused.
"""
import dataclasses
import math

import numpy as np

from dtypes import DTYPES, cast as cast_values, limits, wrap

F32 = 2.0**-24  # unit roundoff
FUNCTION = 6.0  # roundoffs a function may be off; the worst of the language's are 3 ulps


class Ambiguous(Exception):
    """A decision depends on rounding."""


@dataclasses.dataclass
class T:
    dtype: str
    v: np.ndarray
    e: np.ndarray

    @property
    def shape(self):
        return self.v.shape

    @property
    def is_float(self):
        return DTYPES[self.dtype].is_float

    def exact(self):
        return not np.any(self.e)

    def spread(self):
        """The bound relative to the largest magnitude: how much of the result means anything."""
        finite = np.abs(self.v[np.isfinite(self.v)]).astype("f8")
        return float(np.max(self.e, initial=0) / max(np.max(finite, initial=0), 1e-30))


def exact(dtype, values):
    values = np.asarray(values)
    return T(dtype, values.astype("f8" if DTYPES[dtype].is_float else "i8"), np.zeros(values.shape))


def roundoff(dtype):
    return DTYPES[dtype].eps / 2


def within(dtype):
    """The roundoff of what is computed inside an op: narrow floats compute in f32."""
    return min(F32, roundoff(dtype))


def rounded(dtype, v, e, extra=0.0):
    """A result of magnitude v that is known to e, rounded to its dtype; `extra` roundoffs of work within."""
    v, e = np.asarray(v, "f8"), np.nan_to_num(np.asarray(e, "f8"), nan=0.0, posinf=np.inf)
    size = np.abs(np.where(np.isfinite(v), v, 0)) + e
    step = 2.0 ** (DTYPES[dtype].min_exponent - DTYPES[dtype].mantissa)
    work = extra * within(dtype) + (within(dtype) if roundoff(dtype) > F32 else 0)
    # NumPy's own doubles are no more exact than an f64 result.
    e = e + size * (roundoff(dtype) * (2 if dtype == "f64" else 1) + work) * 1.001 + step
    return T(dtype, v, np.broadcast_to(e, v.shape))


def ints(dtype, v):
    return T(dtype, wrap(v, dtype) if dtype != "bool" else np.asarray(v).astype("i8"), np.zeros(np.shape(v)))


# ---- elementwise ----

def erf(x):
    return np.vectorize(math.erf, otypes=["f8"])(x)


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


MONOTONE = {"exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sqrt": np.sqrt,
            "rsqrt": lambda x: 1 / np.sqrt(x), "tanh": np.tanh, "sigmoid": sigmoid, "erf": erf}
# name -> (function, its steepest slope). Their work within is relative to the argument, where terms cancel.
SMOOTH = {"sin": (np.sin, 1.0), "cos": (np.cos, 1.0), "silu": (lambda x: x * sigmoid(x), 1.1), "gelu": (gelu, 1.13),
          "gelu_tanh": (gelu_tanh, 1.13)}


ROUNDINGS = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.round}
PREDICATES = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}


def unary(name, x):
    if name in PREDICATES:
        return ints("bool", PREDICATES[name](x.v))
    if not x.is_float:
        return ints(x.dtype, {"neg": lambda v: -v, "abs": np.abs, "sign": np.sign, "not": lambda v: 1 - v if x.dtype == "bool" else ~v}[name](x.v))
    if name in ROUNDINGS or name == "sign":
        if not x.exact():
            raise Ambiguous(name)
        return exact(x.dtype, (np.sign if name == "sign" else ROUNDINGS[name])(x.v))
    if name in ("neg", "abs", "relu"):
        return T(x.dtype, {"neg": np.negative, "abs": np.abs, "relu": lambda v: np.where(v > 0, v, np.where(np.isnan(v), v, 0.0))}[name](x.v), x.e)
    if name in MONOTONE:
        f = MONOTONE[name]
        low = x.v - x.e
        if name in ("log", "log2", "sqrt", "rsqrt"):
            low = np.where(x.v >= 0, np.maximum(low, 0), low)
        v = f(x.v)
        e = np.maximum(np.abs(f(x.v + x.e) - v), np.abs(f(low) - v))
        return rounded(x.dtype, v, np.where(x.e == 0, 0, e), FUNCTION)
    f, slope = SMOOTH[name]
    e = slope * x.e
    if name not in ("sin", "cos"):
        e = e + 4 * within(x.dtype) * np.abs(np.where(np.isfinite(x.v), x.v, 0))
    return rounded(x.dtype, f(x.v), e, FUNCTION)


INT_OPS = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "minimum": np.minimum,
           "maximum": np.maximum, "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
           "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b}
COMPARISONS = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}


def binary(name, a, b):
    dtype = a.dtype
    if name in COMPARISONS:
        if np.any((np.abs(a.v - b.v) <= a.e + b.e) & ((a.e + b.e) > 0)):
            raise Ambiguous(name)
        return ints("bool", COMPARISONS[name](a.v, b.v))
    if not a.is_float:
        return ints(dtype, INT_OPS[name](a.v, b.v))
    if name in ("minimum", "maximum"):
        f = np.minimum if name == "minimum" else np.maximum
        return T(dtype, f(a.v, b.v), np.maximum(a.e, b.e))
    x, y, s = np.abs(a.v), np.abs(b.v), a.e + b.e
    if name in ("add", "sub"):
        return rounded(dtype, a.v + b.v if name == "add" else a.v - b.v, s)
    if name == "mul":
        return rounded(dtype, a.v * b.v, x * b.e + y * a.e + a.e * b.e)
    if name == "div":
        v, room = a.v / b.v, y - b.e
        e = np.where(s == 0, 0, np.where(room > 0, (a.e + np.abs(v) * b.e) / np.where(room > 0, room, 1), np.inf))
        return rounded(dtype, v, e)
    if name == "fmod":
        if np.any(s):
            raise Ambiguous(name)
        return exact(dtype, np.fmod(a.v, b.v))
    if name == "pow":  # of a positive base
        v = a.v**b.v
        with np.errstate(all="ignore"):
            e = v * np.expm1(y * a.e / np.maximum(x - a.e, 1e-300) + np.abs(np.log(np.maximum(x, 1e-300))) * b.e)
        return rounded(dtype, v, e, 16)
    raise KeyError(name)


def where(c, a, b):
    return T(a.dtype, np.where(c.v != 0, a.v, b.v), np.where(c.v != 0, a.e, b.e))


def cast(x, dtype):
    if x.dtype == dtype:
        return x
    if x.exact():
        v = cast_values(x.v, x.dtype, dtype)
        return exact(dtype, v)
    d = DTYPES[dtype]
    if not d.is_float:
        raise Ambiguous("cast")
    if np.any(np.abs(x.v) + x.e > d.largest):
        raise Ambiguous("cast out of range")
    if roundoff(dtype) <= roundoff(x.dtype) and d.min_exponent <= DTYPES[x.dtype].min_exponent:
        return T(dtype, x.v, x.e)  # every value fits
    return rounded(dtype, x.v, x.e)


# ---- products and reductions ----

def accumulator(dtype):
    return "f64" if dtype == "f64" else "f32"


def transposed(x):
    return T(x.dtype, np.swapaxes(x.v, -1, -2), np.swapaxes(x.e, -1, -2))


def matmul(a, b, dtype=None):
    """Sums in any order; operands of 8 bits give f32 or i32."""
    if not a.is_float:
        dtype = dtype or ("i32" if DTYPES[a.dtype].bits <= 8 else a.dtype)
        return ints(dtype, np.matmul(a.v, b.v))
    dtype = dtype or ("f32" if a.dtype.startswith("fp") else a.dtype)
    k = a.shape[-1]
    v = np.matmul(a.v, b.v)
    x, y = np.abs(a.v), np.abs(b.v)
    e = np.matmul(x, b.e) + np.matmul(a.e, y) + np.matmul(a.e, b.e)
    work = (k + 2) * roundoff(accumulator(a.dtype)) * np.matmul(x + a.e, y + b.e)
    return rounded(dtype, v, e + work)


def _axes(x, axes):
    return tuple(range(x.v.ndim)) if axes is None else (axes,) if isinstance(axes, int) else tuple(axes)


def reduce(kind, x, axes=None, keepdims=False):
    axes = _axes(x, axes)
    n = math.prod(x.shape[a] for a in axes)
    options = {"axis": axes, "keepdims": keepdims}
    if kind in ("argmax", "argmin"):
        return _arg(kind, x, axes[0], keepdims)
    if not x.is_float:
        dtype = x.dtype if kind not in ("sum", "prod") or x.dtype == "i64" else "i32"
        neutral = {"max": limits(x.dtype)[0], "min": limits(x.dtype)[1]}
        f = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}[kind]
        return ints(dtype, f(x.v, **options, **({"initial": neutral[kind]} if kind in neutral else {})))
    if kind in ("max", "min"):
        f, start = (np.max, -np.inf) if kind == "max" else (np.min, np.inf)
        return T(x.dtype, f(x.v, initial=start, **options), np.max(x.e, initial=0, **options))
    u = roundoff(accumulator(x.dtype))
    size = np.abs(x.v) + x.e
    if kind in ("sum", "mean"):
        v, e = np.sum(x.v, **options), np.sum(x.e, **options) + (n + 1) * u * np.sum(size, **options)
        return rounded(x.dtype, v / n if kind == "mean" else v, e / max(n, 1) if kind == "mean" else e, 2)
    v = np.prod(x.v, **options)
    return rounded(x.dtype, v, np.prod(size, **options) * (1 + 2 * n * u) - np.abs(v))


def _arg(kind, x, axis, keepdims):
    f = np.argmax if kind == "argmax" else np.argmin
    index = f(x.v, axis=axis)
    if not x.exact():
        best = np.take_along_axis(x.v, np.expand_dims(index, axis), axis)
        best_e = np.take_along_axis(x.e, np.expand_dims(index, axis), axis)
        close = np.abs(x.v - best) <= x.e + best_e
        if np.any(np.sum(close, axis=axis) > 1):
            raise Ambiguous(kind)
    return ints("i32", np.expand_dims(index, axis) if keepdims else index)


def sort(x, axis=-1, descending=False, k=None):
    """The first k elements. Each is at most as far off as any element of its line: inputs that move by e move the sorted ones by e."""
    sign = -1.0 if descending else 1.0
    at = np.lexsort((-sign * np.signbit(x.v), np.where(np.isnan(x.v), np.inf, sign * x.v)), axis=axis)
    first = (slice(None),) * (axis % x.v.ndim) + (slice(k),)
    e = np.broadcast_to(np.max(x.e, axis=axis, keepdims=True, initial=0), x.v.shape)
    return T(x.dtype, np.take_along_axis(x.v, at, axis)[first], e[first])


def softmax(x, axis=-1, log=False):
    n, u = x.shape[axis], within(x.dtype)
    top = np.max(x.v, axis=axis, keepdims=True, initial=-np.inf)
    d = x.v - np.where(np.isfinite(top), top, 0)
    p = np.exp(d)
    total = np.sum(p, axis=axis, keepdims=True)
    worst = np.max(x.e, axis=axis, keepdims=True, initial=0)
    depth = np.where(np.isfinite(d), np.abs(d), 0)
    if log:
        v = d - np.log(total)
        return rounded(x.dtype, v, x.e + worst + u * (2 * depth + np.abs(np.log(total)) + n + 16), 4)
    v = p / total
    # The roundings of the smaller exponentials weigh as much as these do in the sum.
    mean_depth = np.sum(v * depth, axis=axis, keepdims=True)
    return rounded(x.dtype, v, v * (np.expm1(x.e + worst) + u * (2 * depth + 2 * mean_depth + n + 16)), FUNCTION)


def _scaled(dtype, y, e, axis, gamma, beta, u):
    def along(t):
        shape = [1] * y.ndim
        shape[axis] = -1
        return t.reshape(shape)
    if gamma is not None:
        g, ge = along(gamma.v), along(gamma.e)
        y, e = y * g, np.abs(y) * ge + e * (np.abs(g) + ge) + u * np.abs(y * g)
    if beta is not None:
        y, e = y + along(beta.v), e + along(beta.e) + u * np.abs(y)
    return rounded(dtype, y, e, 4)


def layer_norm(x, gamma=None, beta=None, axis=-1, eps=1e-5):
    n, u, o = x.shape[axis], within(x.dtype), {"axis": axis, "keepdims": True}
    axis = axis % x.v.ndim
    size = np.abs(x.v) + x.e
    d = x.v - np.mean(x.v, **o)
    de = x.e + np.mean(x.e, **o) + u * ((n + 2) * np.mean(size, **o) + size)
    var = np.mean(d * d, **o)
    vare = np.mean(2 * np.abs(d) * de + de * de, **o) + (n + 4) * u * var  # mean(x^2) - mean^2 would cancel
    r = 1 / np.sqrt(var + eps)
    re = 1 / np.sqrt(np.maximum(var - vare, 0) + eps) - r + FUNCTION * u * r
    return _scaled(x.dtype, d * r, np.abs(d) * re + de * (r + re) + 2 * u * np.abs(d * r), axis, gamma, beta, u)


def rms_norm(x, gamma=None, eps=1e-6):
    n, u, o = x.shape[-1], within(x.dtype), {"axis": -1, "keepdims": True}
    square = np.mean(x.v * x.v, **o)
    se = np.mean(2 * np.abs(x.v) * x.e + x.e * x.e, **o) + (n + 4) * u * square
    r = 1 / np.sqrt(square + eps)
    re = 1 / np.sqrt(np.maximum(square - se, 0) + eps) - r + FUNCTION * u * r
    return _scaled(x.dtype, x.v * r, np.abs(x.v) * re + x.e * (r + re), x.v.ndim - 1, gamma, None, u)


def attention(q, k, v, causal=False, scale=None):
    """Probabilities are rounded to the operands' dtype; a query that sees no key gives zeros. Heads may share keys."""
    dtype, u = q.dtype, roundoff(accumulator(q.dtype))
    d, sq, sk = q.shape[-1], q.shape[-2], k.shape[-2]
    scale = 1 / math.sqrt(d) if scale is None else scale
    if q.v.ndim > 2 and q.shape[-3] != k.shape[-3]:
        times = q.shape[-3] // k.shape[-3]
        k, v = (T(t.dtype, np.repeat(t.v, times, axis=-3), np.repeat(t.e, times, axis=-3)) for t in (k, v))
    s = matmul(q, transposed(k), accumulator(dtype))
    s, se = s.v * scale, s.e * abs(scale) + 2 * u * np.abs(s.v * scale)
    if causal:
        hidden = np.arange(sk)[None] > np.arange(sq)[:, None] + (sk - sq)
        s, se = np.where(hidden, -np.inf, s), np.where(hidden, 0, se)
    top = np.max(s, axis=-1, keepdims=True, initial=-np.inf)
    p = np.exp(s - np.where(np.isfinite(top), top, 0))
    total = np.sum(p, axis=-1, keepdims=True)
    w = np.divide(p, total, out=np.zeros_like(p), where=total > 0)
    depth = np.where(np.isfinite(s), np.abs(s - np.where(np.isfinite(top), top, 0)), 0)
    worst = np.max(se, axis=-1, keepdims=True, initial=0)
    mean_depth = np.sum(w * depth, axis=-1, keepdims=True)
    we = w * (np.expm1(se + worst) + 3 * roundoff(dtype) + u * (2 * depth + 2 * mean_depth + 2 * sk + 32))
    # A probability below the dtype's smallest number is lost; p is at most 1 before the division.
    we = we + np.where(w > 0, 2.0 ** (DTYPES[dtype].min_exponent - DTYPES[dtype].mantissa), 0) / np.maximum(total, 1e-30)
    return rounded(dtype, w @ v.v, we @ (np.abs(v.v) + v.e) + w @ v.e + (sk + 4) * u * (w @ np.abs(v.v)), 4)


# ---- losses, tables, shapes ----

def mse(prediction, target):
    """Losses are f32 or f64."""
    d = binary("sub", *(T(accumulator(t.dtype), t.v, t.e) for t in (prediction, target)))
    return reduce("mean", binary("mul", d, d))


def cross_entropy(logits, labels, ignore_index=-100):
    logs = softmax(T(accumulator(logits.dtype), logits.v, logits.e), -1, log=True)
    counted = labels.v != ignore_index
    inside = (labels.v >= 0) & (labels.v < logits.shape[-1])
    at = np.where(inside, labels.v, 0)[..., None]
    picked = moved(lambda t: np.take_along_axis(t, at, -1)[..., 0], logs)
    losses = T(picked.dtype, np.where(inside, -picked.v, np.nan)[counted], picked.e[counted])
    return reduce("mean", losses) if losses.v.size else exact(picked.dtype, np.array(np.nan))


def gather(table, ids):
    inside = (ids.v >= 0) & (ids.v < table.shape[0])
    rows = np.where(inside, ids.v, 0)
    inside = inside.reshape(inside.shape + (1,) * (table.v.ndim - 1))
    if table.shape[0] == 0:
        return exact(table.dtype, np.zeros(ids.shape + table.shape[1:]))
    return T(table.dtype, np.where(inside, table.v[rows], 0), np.where(inside, table.e[rows], 0))


def moved(f, *xs):
    """A shape op: `f` on values and bounds alike."""
    return T(xs[0].dtype, f(*(x.v for x in xs)), f(*(x.e for x in xs)))
