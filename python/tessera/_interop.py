"""Arrays of Tessera and of other libraries."""
from __future__ import annotations

import math
import operator

from tessera import _core, _dtypes
from tessera._entry import entry
from tessera._errors import ArgumentError

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_NUMPY = {"f64": "float64", "f32": "float32", "f16": "float16", "tf32": "float32", "i64": "int64", "i32": "int32", "i16": "int16",
          "i8": "int8", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "bool": "bool"}


def numpy(array: Any) -> Any:
    """A NumPy array with the elements of an array. On the CPU it shares their memory."""
    import numpy as np
    name = array._dtype
    if name not in _NUMPY:
        raise ArgumentError(f"NumPy has no {name}", "E_ARG_DTYPE", "convert it: ts.asarray(x, dtype=ts.f32).numpy()")
    if array.device == "cpu":
        return np.asarray(memoryview(array))  # NumPy itself would drop the failure of work that the memory waits for
    out = np.empty(array.shape, _NUMPY[name])
    array._copy_to(out)
    return out


def _repr_html_(self: _core.Array) -> str:
    from tessera import _html
    return _html.array(self)


# Set here: the type is of the extension module.
setattr(_core.Array, "_repr_html_", _repr_html_)
_core.Array.__doc__ = """An array in the memory of a device: shape, ndim, dtype, device, nbytes, numpy(); the buffer protocol and DLPack on the host.

Made by ts.asarray, ts.from_dlpack, ts.empty, ts.zeros, ts.ones, ts.full, ts.arange, and by calls with arrays of this type."""


def represent(array: Any) -> str:
    return f"tessera.Array(shape={array.shape}, dtype={array._dtype}, device={array.device})"


def _cast(array: Any, dtype: _dtypes.DType) -> _core.Array:
    from tessera._names import OP, TILE
    made: _core.Array = (OP.get("cast") or TILE["cast"])(array, dtype)
    return made


@entry
def asarray(x: Any, dtype: Any = None) -> _core.Array:
    """A ts.Array with the elements of an array of another library, or of nested lists of numbers. An Array of the dtype is returned as
    it is; other conversions are the language's casts."""
    if isinstance(x, (list, tuple, int, float)):
        import numpy as np
        x = np.asarray(x, dtype=None if dtype is None else _NUMPY.get(_dtypes.of(dtype).name))
        if x.dtype == np.float64 and dtype is None:
            x = x.astype(np.float32)
    array = x if isinstance(x, _core.Array) else _core.copy_of(x)
    if dtype is None or _dtypes.of(dtype).name == array._dtype:
        return array
    return _cast(array, _dtypes.of(dtype))


@entry
def from_dlpack(x: Any) -> _core.Array:
    """A ts.Array that shares the memory of a tensor with __dlpack__."""
    if isinstance(x, _core.Array):
        return x
    return _core.from_dlpack(x)


def _shape(shape: Any) -> tuple[int, ...]:
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        return tuple(map(operator.index, extents))
    except TypeError:
        raise ArgumentError(f"a shape is an int or a tuple of ints, found {shape!r}", "E_ARG_SHAPE") from None


@entry
def empty(shape: int | Iterable[int], dtype: Any = "f32") -> _core.Array:
    """An array whose elements are undefined."""
    return _core.empty(_shape(shape), _dtypes.of(dtype).name)


def _filled(shape: int | Iterable[int], value: Any, dtype: Any) -> _core.Array:
    import numpy as np
    kind = _dtypes.of(dtype)
    base = np.full(_shape(shape), value, _NUMPY.get(kind.name, "float32"))
    return asarray(base, kind)


@entry
def zeros(shape: int | Iterable[int], dtype: Any = "f32") -> _core.Array:
    """An array of zeros."""
    return _filled(shape, 0, dtype)


@entry
def ones(shape: int | Iterable[int], dtype: Any = "f32") -> _core.Array:
    """An array of ones."""
    return _filled(shape, 1, dtype)


@entry
def full(shape: int | Iterable[int], value: Any, dtype: Any = "f32") -> _core.Array:
    """An array whose elements are all `value`."""
    return _filled(shape, value, dtype)


@entry
def arange(start: float, stop: float | None = None, step: float = 1, dtype: Any = "f32") -> _core.Array:
    """start, start + step, ... below stop; arange(n) begins at 0."""
    import numpy as np
    first, end = (0, start) if stop is None else (start, stop)
    if not step:
        raise ArgumentError("the step of arange is not 0", "E_ARG_RANGE")
    count = max(math.ceil((end - first) / step), 0)
    kind = _dtypes.of(dtype)
    values = first + step * np.arange(count)
    return asarray(values.astype(_NUMPY.get(kind.name, "float32")), kind)


def _like(x: Any, dtype: Any) -> tuple[tuple[int, ...], Any]:
    if not hasattr(x, "shape") or dtype is None and not hasattr(x, "dtype"):
        raise ArgumentError(f"expected an array, found {type(x).__name__}", "E_ARG_TYPE", "pass its shape to ts.zeros, ts.full, ...")
    return tuple(x.shape), x.dtype if dtype is None else dtype


@entry
def empty_like(x: Any, dtype: Any = None) -> _core.Array:
    """An array of x's shape whose elements are undefined."""
    return empty(*_like(x, dtype))


@entry
def zeros_like(x: Any, dtype: Any = None) -> _core.Array:
    """Zeros of x's shape and dtype."""
    return zeros(*_like(x, dtype))


@entry
def ones_like(x: Any, dtype: Any = None) -> _core.Array:
    """Ones of x's shape and dtype."""
    return ones(*_like(x, dtype))


@entry
def full_like(x: Any, value: Any, dtype: Any = None) -> _core.Array:
    """An array of x's shape and dtype whose elements are all `value`."""
    shape, kind = _like(x, dtype)
    return full(shape, value, kind)
