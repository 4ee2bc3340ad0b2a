"""A reference interpreter: CPython runs the source file itself, over a `tessera` module made of NumPy arrays.

The source has Python's syntax, so Python's own statements, scopes and calls decide what it means. What Python does not
have is here: dtypes, weak numbers, casts, tensors that drop what is out of range. A rewriting of the syntax tree adds
four rules of the language that values alone cannot show: a name bound to a bare literal has a dtype, a name rebound in
a loop or branch keeps its dtype, both sides of a conditional expression have one dtype, and the symbols of a signature
are names in the body.

Floating-point results must be exact in f32, or Rejected is raised: then neither contraction nor the order of a sum can
show, and results are compared bit by bit.
"""
import ast
import builtins
import types

import numpy as np

from dtypes import DTYPES, cast as cast_values, limits
from rules import Rules

NUMPY = {"f64": "f8", "f32": "f4", "i64": "i8", "i32": "i4", "i16": "i2", "i8": "i1", "u8": "u1", "bool": "?"}
SIGNED = ["i8", "i16", "i32", "i64"]
SCALARS = {name: np.dtype(code).type for name, code in NUMPY.items()}
WEAK = (int, float)


class Rejected(Exception):
    """The program is outside what is compared: inexact, out of range, or different by rules that are not modelled."""


def checked(dtype, values):
    """A float result, computed in double."""
    if isinstance(values, float):
        if not abs(values) < 1e30 or float(np.float32(values)) != values:
            raise Rejected("inexact")
        return SCALARS[dtype](values)
    rounded = np.asarray(values, "f4")
    if not np.all(np.isfinite(rounded) & (rounded == values)):
        raise Rejected("inexact")
    return np.asarray(values, NUMPY[dtype])


def weak(value):
    """A weak number, which has to stay where the widths of constants cannot show."""
    if isinstance(value, float):
        return float(checked("f64", value))
    if abs(value) >= 1 << 31:
        raise Rejected("large constant")
    return value


class DType:
    def __init__(self, name):
        self.name = name

    def __call__(self, value):
        return cast(value, self)


class V:
    """A scalar or tile of a dtype; in graph functions a tensor."""
    __slots__ = ("dtype", "a")
    __array_ufunc__ = None

    def __init__(self, dtype, a):
        self.dtype, self.a = dtype, a

    is_float = property(lambda self: DTYPES[self.dtype].is_float)
    shape = property(lambda self: np.shape(self.a))
    T = property(lambda self: V(self.dtype, np.swapaxes(self.a, -1, -2)))

    def __bool__(self):
        return bool(self.a)

    def __index__(self):
        if self.is_float or self.shape:
            raise TypeError("not an index")
        return int(self.a)

    def __getitem__(self, index):
        for part, extent in zip([p for p in index if p is not None] if isinstance(index, tuple) else [index], self.shape):
            ends = [e for e in (part.start, part.stop) if e is not None] if isinstance(part, slice) else [part]
            if any(not -extent <= int(e) <= extent for e in ends):
                raise Rejected("outside")
        result = self.a[index]
        if not np.size(result):
            raise Rejected("empty")
        return V(self.dtype, result)

    def reshape(self, *shape):
        return V(self.dtype, np.reshape(self.a, shape[0] if isinstance(shape[0], tuple) else shape))

    def astype(self, dtype):
        return cast(self, dtype)

    def __neg__(self):
        return V(self.dtype, np.negative(self.a))

    def __pos__(self):
        return self

    def __invert__(self):
        return V(self.dtype, np.invert(self.a))


def typed(value):
    """The value with the dtype that a variable gets when it is bound to a bare literal."""
    if isinstance(value, bool):
        return V("bool", np.bool_(value))
    if isinstance(value, WEAK):
        return convert(value, "i32" if isinstance(value, int) else "f32")
    return value


def convert(value, dtype):
    """A weak number in the other operand's dtype."""
    if not isinstance(value, WEAK) or isinstance(value, bool) or dtype == "bool":
        raise TypeError("not a weak number")
    if DTYPES[dtype].is_float:
        return V(dtype, checked(dtype, float(value)))
    if isinstance(value, float):
        raise TypeError("a float beside an integer")
    low, high = limits(dtype)
    if not low <= value <= high:
        raise Rejected("large constant")
    return V(dtype, SCALARS[dtype](value))


def cast(value, dtype):
    name = dtype.name if isinstance(dtype, DType) else {float: "f32", int: "i32", bool: "bool"}[dtype]
    if isinstance(value, WEAK):
        value = typed(value) if isinstance(value, (bool, float)) else convert(value, "i64")
    if name == value.dtype:
        return value
    if value.dtype in ("i32", "bool") and name in ("i64", "i32", "f64"):
        return V(name, np.asarray(value.a).astype(NUMPY[name])[()])
    exact = np.asarray(value.a, "f8" if value.is_float else "i8")
    result = cast_values(exact, value.dtype, name)
    if DTYPES[name].is_float:
        return V(name, checked(name, result) if np.all(result == exact) else _reject("inexact cast"))
    return V(name, np.asarray(result).astype(NUMPY[name])[()])


def _reject(why):
    raise Rejected(why)


def unify(a, b):
    """Both operands in one dtype; both weak stay Python's numbers."""
    a, b = (typed(x) if isinstance(x, bool) else x for x in (a, b))
    if isinstance(a, WEAK) and isinstance(b, WEAK):
        return a, b
    if isinstance(a, WEAK):
        return convert(a, b.dtype), b
    if isinstance(b, WEAK):
        return a, convert(b, a.dtype)
    if a.dtype != b.dtype:
        if a.dtype not in SIGNED or b.dtype not in SIGNED:
            raise TypeError(f"{a.dtype} beside {b.dtype}")
        wide = max(a.dtype, b.dtype, key=SIGNED.index)
        a, b = (V(wide, np.asarray(x.a).astype(NUMPY[wide])[()]) for x in (a, b))
    return a, b


def signed_zeros(x, y):
    return np.any((x == 0) & (y == 0) & (np.signbit(x) != np.signbit(y)))


def _extreme(f):
    def g(x, y):
        if np.asarray(x).dtype.kind == "f" and signed_zeros(x, y):
            raise Rejected("zeros of both signs")
        return f(x, y)
    return g


ARITHMETIC = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
              "mod": np.remainder, "pow": np.power, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
              "lshift": np.left_shift, "rshift": np.right_shift, "minimum": _extreme(np.minimum), "maximum": _extreme(np.maximum)}
COMPARISONS = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}


def binary(name, a, b):
    a, b = unify(a, b)
    if isinstance(a, WEAK):
        if name == "floordiv" and isinstance(a, int):
            return weak(a // b)
        f = ARITHMETIC.get(name) or COMPARISONS[name]
        result = f(np.asarray(a, "f8"), np.asarray(b, "f8")) if isinstance(a, float) or isinstance(b, float) else f(np.int64(a), np.int64(b))
        return bool(result) if name in COMPARISONS else weak(result.item())
    if name in COMPARISONS:
        return V("bool", COMPARISONS[name](a.a, b.a))
    if a.is_float:
        x, y = (v.a.astype("f8") for v in (a, b))
        return V(a.dtype, checked(a.dtype, ARITHMETIC[name](x, y)))
    if name == "truediv":
        raise TypeError("/ of integers")
    return V(a.dtype, ARITHMETIC[name](a.a, b.a))


for _name in [*ARITHMETIC, *COMPARISONS]:
    if _name not in ("minimum", "maximum"):
        setattr(V, f"__{_name}__", lambda a, b, n=_name: binary(n, a, b))
    if _name in ARITHMETIC:
        setattr(V, f"__r{_name}__", lambda b, a, n=_name: binary(n, a, b))


class Tensor:
    """A tensor of a kernel: elements outside read as 0 and are dropped by stores."""
    undo = None  # inside a side that is not chosen: (tensor, place, old value) of each write

    def __init__(self, dtype, a):
        self.dtype, self.a = dtype, a

    shape = property(lambda self: self.a.shape)

    def _place(self, index):
        """The index for NumPy; None for an element outside."""
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(p, slice) for p in parts):
            parts = tuple(slice(p.start.__index__(), p.stop.__index__()) if isinstance(p, slice) else p.__index__() for p in parts)
            for p, extent in zip(parts, self.shape):
                low, high = (p.start, p.stop) if isinstance(p, slice) else (p, p + 1)
                if not 0 <= low < high <= extent:
                    raise Rejected("a masked tile")
            return parts
        parts = tuple(p.__index__() for p in parts)
        return parts if all(0 <= p < extent for p, extent in zip(parts, self.shape)) else None

    def __getitem__(self, index):
        place = self._place(index)
        return V(self.dtype, self.a.dtype.type(0) if place is None else np.copy(self.a[place])[()])

    def __setitem__(self, index, value):
        place = self._place(index)
        if isinstance(value, bool) or not isinstance(value, WEAK):
            value = typed(value)
        else:
            value = convert(value, self.dtype)
        if value.dtype != self.dtype:
            raise TypeError(f"{value.dtype} stored into {self.dtype}")
        if place is not None:
            if Tensor.undo is not None:
                Tensor.undo.append((self, place, np.copy(self.a[place])))
            self.a[place] = value.a


# ---- the module ----

def _shape(shape):
    return tuple(int(n) for n in (shape if isinstance(shape, tuple) else (shape,)))


def _full(shape, value, dtype=None):
    value = typed(value) if dtype is None else value
    value = value if isinstance(value, V) else convert(value, dtype.name)
    return V(value.dtype, np.broadcast_to(value.a, _shape(shape)))


def _arange(start, stop=None):
    return V("i32", np.arange(0 if stop is None else int(start), int(start if stop is None else stop), dtype="i4"))


def _where(condition, a, b):
    a, b = unify(a, b)
    if isinstance(a, WEAK):
        raise Rejected("a choice of weak numbers")
    return V(a.dtype, np.where(typed(condition).a, a.a, b.a))


def _abs(x):
    return weak(builtins.abs(x)) if isinstance(x, WEAK) else V(x.dtype, np.abs(x.a))


def _reduce(f):
    def g(x, axis=None, keepdims=False):
        a = np.asarray(x.a)
        if f is np.sum and x.is_float and (np.any(a * 1024 != np.rint(a * 1024)) or np.sum(np.abs(a)) >= 1 << 14):
            raise Rejected("a sum that may round")
        if f is not np.sum and x.is_float and np.any(np.signbit(a) & (a == 0)):
            raise Rejected("zeros of both signs")
        # A sum begins with its first element: that of -0 alone is -0, in every version of NumPy.
        return V(x.dtype, f(a, axis=axis, keepdims=keepdims, **({"dtype": a.dtype, "initial": a.dtype.type(-0.0)} if f is np.sum else {})))
    return g


def _matmul(a, b):
    if np.sum(np.abs(a.a)) * np.max(np.abs(b.a), initial=0) >= 1 << 12 or any(np.any(x.a * 64 != np.rint(x.a * 64)) for x in (a, b)):
        raise Rejected("a product that may round")
    return V(a.dtype, np.matmul(a.a, b.a))


def _cumsum(x, axis=0):
    _reduce(np.sum)(x)
    return V(x.dtype, np.cumsum(x.a, axis=axis, dtype=np.asarray(x.a).dtype))


class _Annotation:
    def __class_getitem__(cls, item):
        return item


def _module():
    dtypes = {name: DType(name) for name in NUMPY}
    same = lambda f: f
    common = {"minimum": lambda a, b: binary("minimum", a, b), "maximum": lambda a, b: binary("maximum", a, b), "abs": _abs,
              "where": _where, "cast": cast, "zeros": lambda shape, dtype=dtypes["f32"]: _full(shape, 0, dtype), "full": _full,
              "arange": _arange, "sum": _reduce(np.sum), "max": _reduce(np.max), "min": _reduce(np.min),
              "concat": lambda items, axis=0: V(items[0].dtype, np.concatenate([x.a for x in items], axis)),
              "reshape": lambda x, shape: x.reshape(_shape(shape)), "matmul": _matmul}
    tile = types.SimpleNamespace(**common, cumsum=_cumsum, row_sum=lambda x: _reduce(np.sum)(x, -1), row_max=lambda x: _reduce(np.max)(x, -1),
                                 broadcast=lambda x, shape: V(x.dtype, np.broadcast_to(x.a, shape)),
                                 range=lambda *bounds, stages=1: builtins.range(*bounds), parallel=builtins.range,
                                 linear_id=lambda: module.lane, grid=lambda *counts: 0)
    module = types.SimpleNamespace(**common, **dtypes, tile=tile, Tensor=_Annotation, kernel=same, jit=same, lane=0,
                                   cdiv=lambda a, b: -(-a // b), broadcast_to=lambda x, shape: V(x.dtype, np.broadcast_to(x.a, shape)))
    return module


V.__matmul__ = _matmul
V.sum, V.max, V.min = (_reduce(f) for f in (np.sum, np.max, np.min))


# ---- what the syntax says ----

def _choose(condition, a, b):
    """The value of one side, which takes the other's dtype where it is weak. The other side gives its dtype alone: what it
    writes is undone."""
    chosen, other = (a, b) if condition else (b, a)
    outer, Tensor.undo = Tensor.undo, []
    try:
        beside = other()
        for tensor, place, old in reversed(Tensor.undo):
            tensor.a[place] = old
    finally:
        Tensor.undo = outer
    return unify(chosen(), beside)[0]


def _keep(old, new):
    """The new value of a name that keeps its dtype."""
    if isinstance(old, tuple):
        return tuple(_keep(o, n) for o, n in zip(old, new, strict=True))
    if isinstance(old, V) and isinstance(new, WEAK):
        return typed(new) if isinstance(new, bool) else convert(new, old.dtype)
    return new


def _python(kind):
    def f(x):
        return kind(x) if isinstance(x, WEAK) and not isinstance(x, bool) else typed(x) if kind is bool and isinstance(x, bool) else cast(x, kind)
    return f


def load(source, unrolled=False):
    """The names of a source file, and the module it sees. `unrolled`: it has graph functions, not kernels."""
    tree = ast.fix_missing_locations(Rules(unrolled).visit(ast.parse(source)))
    tree.body = [s for s in tree.body if not isinstance(s, ast.Import)]
    module = _module()
    names = {"ts": module, "_typed": typed, "_keep": _keep, "_choose": _choose, "_truth": builtins.bool, "_V": V, "isinstance": isinstance,
             "float": _python(float), "int": _python(int), "bool": _python(bool), "abs": _abs, "range": builtins.range,
             "min": module.minimum, "max": module.maximum}
    with np.errstate(all="ignore"):
        exec(compile(tree, "source", "exec"), names)
    return names, module
