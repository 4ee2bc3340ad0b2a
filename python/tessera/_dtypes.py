"""dtypes, policies, and the types of tensors, as annotations of kernels write them."""
from __future__ import annotations

import sys

from tessera._operations import ALIASES, DTYPES

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from typing import Any


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
