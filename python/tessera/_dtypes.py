"""dtypes, policies, and the types of tensors, as annotations of kernels write them."""
from __future__ import annotations

import math
import operator
import sys

from tessera._operations import ALIASES, DTYPES

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from typing import Any, Callable


class DType:
    """A dtype of the language, with its policies: fp8_e4m3 @ accum(f32) @ loss_scale(128.0). It equals its name, also as a key of a dict;
    aliases are equal too, but are keys of their own."""

    __slots__ = {"name": "Its name in the language, without policies.", "_policies": ""}

    def __init__(self, name: str, policies: str = "") -> None:
        self.name = name
        self._policies = policies

    @property
    def _text(self) -> str:
        return f"'{self.name}{self._policies}'" if self._policies else self.name

    def __matmul__(self, policy: "Policy") -> "DType":
        if not isinstance(policy, Policy):
            return NotImplemented
        return DType(self.name, f"{self._policies} @{policy._text}")

    def __call__(self, value: Any) -> Constant:
        """A constant of this dtype, for the functions and kernels that name it: K = ts.u32(7)."""
        if self._policies or not isinstance(value, (int, float)):
            numpy = sys.modules.get("numpy")
            if self._policies or numpy is None or not isinstance(value, numpy.generic) or value.dtype.kind not in "biuf":
                from tessera._errors import ArgumentError
                raise ArgumentError(f"{self}(...) makes a constant of a number, found {type(value).__name__}", "E_ARG_TYPE",
                                    f"cast arrays with ts.cast(x, ts.{self.name})")
            value = value.item()
        return Constant(self, value)

    def __repr__(self) -> str:
        return f"tessera.{self.name}{self._policies}"

    def __str__(self) -> str:
        return self.name + self._policies

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return of(other) == self if other in _ALL else False
        return isinstance(other, DType) and (self.name, self._policies) == (other.name, other._policies)

    def __hash__(self) -> int:
        return hash(str(self))  # equal to the name, so with the hash of the name


class Constant:
    """A number with a dtype, ts.u32(7): beside other dtypes in a kernel it is no literal, which would take theirs."""

    __slots__ = {"dtype": "Its dtype.", "value": "The number that it was made of, which the compiler converts."}

    def __init__(self, dtype: DType, value: Any) -> None:
        self.dtype = dtype
        self.value = value

    def __repr__(self) -> str:
        return f"tessera.{self.dtype.name}({self.value!r})"

    # As an argument it is a number. Its arithmetic is that of the language: with constants of its dtype and numbers, which take it.
    def __bool__(self) -> bool:
        return bool(self._number)

    def __int__(self) -> int:
        return int(self._number)

    def __float__(self) -> float:
        return float(self._number)

    def __index__(self) -> int:
        return operator.index(self._number)

    def __hash__(self) -> int:
        return hash(self._number)

    @property
    def _number(self) -> Any:
        """The value in its dtype; that of a float narrower than f16 is not rounded."""
        if self.dtype.name in _BITS:
            return _wrapped(self.dtype.name, self.value)
        if self.dtype.name == "bool":
            return bool(self.value)
        if self.dtype.name not in _FORMATS:
            return float(self.value)
        import struct
        try:
            return struct.unpack(_FORMATS[self.dtype.name], struct.pack(_FORMATS[self.dtype.name], self.value))[0]
        except (OverflowError, struct.error):  # it rounds to an infinity; struct refuses integers that double lacks
            return math.inf if self.value > 0 else -math.inf

    def _combine(self, function: Callable[[Any, Any], Any], other: Any, is_right: bool = False) -> Any:
        is_int = self.dtype.name in _BITS
        if not isinstance(other, Constant) and getattr(other, "shape", None) == () and hasattr(other, "item"):
            other = other.item()  # a scalar of NumPy is a literal
        if type(other) is int or type(other) is float and not is_int:
            literal, other = other, Constant(self.dtype, other)
            if is_int and other._number != literal:
                raise _refused(f"{literal} does not fit in {self.dtype}", "E_LITERAL_RANGE", "give the constant a wider dtype")
        elif not isinstance(other, Constant) or other.dtype != self.dtype:
            return NotImplemented
        if function not in (_ANY if self.dtype.name in _FORMATS else (*_ANY, *_INTEGER) if is_int else (operator.eq, operator.ne)):
            return NotImplemented
        x, y = (other._number, self._number) if is_right else (self._number, other._number)
        if function is operator.truediv and is_int:
            raise _refused(f"'/' does not divide integers, found {self!r}", "E_TYPE", "floor with //, or make the constants ts.f32")
        if function in (operator.truediv, operator.floordiv, operator.mod) and y == 0:
            raise _refused("division by zero", "E_DIVISION_BY_ZERO", "")
        if function in (operator.lshift, operator.rshift) and not 0 <= y < _BITS[self.dtype.name]:
            raise _refused(f"a shift by {y} is outside 0..{_BITS[self.dtype.name] - 1}", "E_LITERAL_RANGE", "")
        found = function(x, y)
        return found if isinstance(found, bool) else Constant(self.dtype, Constant(self.dtype, found)._number)

    def __add__(self, other: Any) -> Any:
        return self._combine(operator.add, other)

    def __radd__(self, other: Any) -> Any:
        return self._combine(operator.add, other, True)

    def __sub__(self, other: Any) -> Any:
        return self._combine(operator.sub, other)

    def __rsub__(self, other: Any) -> Any:
        return self._combine(operator.sub, other, True)

    def __mul__(self, other: Any) -> Any:
        return self._combine(operator.mul, other)

    def __rmul__(self, other: Any) -> Any:
        return self._combine(operator.mul, other, True)

    def __truediv__(self, other: Any) -> Any:
        return self._combine(operator.truediv, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._combine(operator.truediv, other, True)

    def __floordiv__(self, other: Any) -> Any:
        return self._combine(operator.floordiv, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._combine(operator.floordiv, other, True)

    def __mod__(self, other: Any) -> Any:
        return self._combine(operator.mod, other)

    def __rmod__(self, other: Any) -> Any:
        return self._combine(operator.mod, other, True)

    def __and__(self, other: Any) -> Any:
        return self._combine(operator.and_, other)

    def __rand__(self, other: Any) -> Any:
        return self._combine(operator.and_, other, True)

    def __or__(self, other: Any) -> Any:
        return self._combine(operator.or_, other)

    def __ror__(self, other: Any) -> Any:
        return self._combine(operator.or_, other, True)

    def __xor__(self, other: Any) -> Any:
        return self._combine(operator.xor, other)

    def __rxor__(self, other: Any) -> Any:
        return self._combine(operator.xor, other, True)

    def __lshift__(self, other: Any) -> Any:
        return self._combine(operator.lshift, other)

    def __rlshift__(self, other: Any) -> Any:
        return self._combine(operator.lshift, other, True)

    def __rshift__(self, other: Any) -> Any:
        return self._combine(operator.rshift, other)

    def __rrshift__(self, other: Any) -> Any:
        return self._combine(operator.rshift, other, True)

    def __lt__(self, other: Any) -> Any:
        return self._combine(operator.lt, other)

    def __le__(self, other: Any) -> Any:
        return self._combine(operator.le, other)

    def __gt__(self, other: Any) -> Any:
        return self._combine(operator.gt, other)

    def __ge__(self, other: Any) -> Any:
        return self._combine(operator.ge, other)

    def __eq__(self, other: object) -> Any:
        return self._combine(operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return self._combine(operator.ne, other)

    __array_ufunc__ = None  # an array of NumPy refuses it, too, instead of computing with objects

    def _unary(self, sign: str, function: Callable[[Any, Any], Any], other: int, is_right: bool = False) -> Any:
        found = self._combine(function, other, is_right)
        if found is NotImplemented:
            raise TypeError(f"bad operand type for unary {sign}: {self!r}")
        return found

    def __neg__(self) -> Any:
        return self._unary("-", operator.sub, 0, True) if self.dtype.name in _BITS else self._unary("-", operator.mul, -1)

    def __pos__(self) -> Any:
        return self._unary("+", operator.mul, 1)

    def __invert__(self) -> Any:
        return self._unary("~", operator.xor, -1 if self.dtype.name.startswith("i") else 2 ** _BITS.get(self.dtype.name, 0) - 1)


_BITS = {f"{kind}{bits}": bits for kind in "iu" for bits in (8, 16, 32, 64)}
_FORMATS = {"f64": "d", "f32": "f", "f16": "e"}  # what double rounds to once, if an operation of two of them is computed in double
_INTEGER = (operator.floordiv, operator.mod, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift)
_ANY = (operator.add, operator.sub, operator.mul, operator.truediv, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


def _wrapped(name: str, value: Any) -> int:
    """As the language casts: floats truncate and saturate, integers wrap."""
    bits = _BITS[name]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if name[0] == "i" else (0, (1 << bits) - 1)
    if isinstance(value, float):
        return 0 if value != value else int(min(max(value, low), high)) if math.isinf(value) else min(max(int(value), low), high)
    return (int(value) - low) % (1 << bits) + low


def _refused(message: str, code: str, hint: str) -> Exception:
    from tessera._errors import ArgumentError
    return ArgumentError(message, code, hint)


class Policy:
    """accum(f32), round(rne) or loss_scale(128.0): what follows the @ of a dtype."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def accum(dtype: DType) -> Policy:
    """The dtype in which products and sums accumulate."""
    return Policy(f"accum({dtype})")


def round(mode: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A001 (the language's name)
    """The rounding of conversions to the dtype: "rne", to nearest, ties to even. Of an array: its elements, rounded to whole numbers."""
    if isinstance(mode, str) and not args and not kwargs:
        return Policy(f"round({mode})")
    from tessera._names import OP, TILE
    return (OP.get("round") or TILE["round"])(mode, *args, **kwargs)


def loss_scale(factor: float) -> Policy:
    """The factor that a loss is scaled with, so that gradients of this dtype do not underflow."""
    try:
        return Policy(f"loss_scale({float(factor)!r})")
    except (TypeError, ValueError, OverflowError):
        from tessera._errors import ArgumentError
        raise ArgumentError(f"loss_scale takes a number, found {factor!r}", "E_ARG_TYPE", "write loss_scale(128.0)") from None


class Strides:
    """ts.strides("ld", 1): the distances between a tensor's neighbours, in elements."""

    __slots__ = {"_text": "", "steps": "What it was made of: names, numbers, expressions in quotes."}

    def __init__(self, *steps: Any) -> None:
        self.steps = steps
        self._text = f"tessera.strides({', '.join(map(repr, steps))})"


class TensorSpec:
    """What Tensor["M", "N", f32] is: the type of a parameter."""

    __slots__ = ("entries",)

    def __init__(self, entries: tuple[Any, ...]) -> None:
        self.entries = entries

    @property
    def _text(self) -> str:
        def one(entry: Any) -> str:
            if isinstance(entry, DType):
                return entry._text if entry._policies else f"tessera.{entry.name}"
            return "..." if entry is ... else entry._text if isinstance(entry, Strides) else repr(entry)

        return f"tessera.Tensor[{', '.join(map(one, self.entries))}]"

    @property
    def dims(self) -> set[str]:
        """The names in its extents and strides."""
        texts = [part for entry in self.entries for part in (entry.steps if isinstance(entry, Strides) else (entry,))]
        words = "".join(c if c.isalnum() or c == "_" else " " for text in texts if isinstance(text, str) for c in f"{text} ")
        return {word for word in words.split() if word.isidentifier()}

    def __repr__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


class Tensor:
    """The type of a tensor parameter: Tensor["M", 64, f32]. Dims are names, numbers or expressions in quotes."""

    def __class_getitem__(cls, entries: Any) -> TensorSpec:
        return TensorSpec(entries if isinstance(entries, tuple) else (entries,))


_ALL = {name: DType(name) for name in DTYPES}
_ALL.update({alias: _ALL[name] for alias, name in ALIASES.items()})


def of(dtype: Any) -> DType:
    """The dtype that an object stands for: a DType, a name, or a dtype of NumPy."""
    if isinstance(dtype, DType):
        return dtype
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", getattr(dtype, "__name__", ""))
    if name in _ALL:
        return _ALL[name]
    from tessera._errors import ArgumentError
    raise ArgumentError(f"{dtype!r} is no dtype", "E_ARG_DTYPE", "dtypes are ts.f32, ts.bf16, ts.i32, ...")
