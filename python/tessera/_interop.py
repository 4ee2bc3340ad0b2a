"""Arrays of Tessera and of other libraries."""
from __future__ import annotations

import math
import operator
import sys

from tessera import _core, _dtypes
from tessera._entry import entry
from tessera._errors import ArgumentError, OutOfMemoryError

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_NUMPY = {"f64": "float64", "f32": "float32", "f16": "float16", "tf32": "float32", "i64": "int64", "i32": "int32", "i16": "int16",
          "i8": "int8", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "bool": "bool"}

_ML_DTYPES = {"bf16": "bfloat16", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2", "fp6_e2m3": "float6_e2m3fn",
              "fp6_e3m2": "float6_e3m2fn", "fp4_e2m1": "float4_e2m1fn"}


def numpy(array: Any) -> Any:
    """A NumPy array with the elements of an array. On the CPU it shares their memory. bf16 and narrower floats have the dtypes of
    ml_dtypes, if the program has imported it."""
    import numpy as np
    name = array._dtype
    added = _added(name)
    if added is not None and array.device == "cpu":
        return np.asarray(memoryview(array._bits())).view(added)
    if name not in _NUMPY:
        raise ArgumentError(f"NumPy has no {name}", "E_ARG_DTYPE", "convert it: ts.asarray(x, dtype=ts.f32).numpy()")
    if array.device == "cpu":
        return np.asarray(memoryview(array))  # NumPy itself would drop the failure of work that the memory waits for
    out = np.empty(array.shape, _NUMPY[name])
    array._copy_to(out)
    return out


def _added(name: str) -> Any:
    """The dtype that ml_dtypes adds to NumPy for one that it lacks, if that library is loaded."""
    module = sys.modules.get("ml_dtypes")
    return None if module is None else getattr(module, _ML_DTYPES.get(name, ""), None)


def _repr_html_(self: _core.Array) -> str:
    from tessera import _html
    return _html.array(self)


def _element(self: _core.Array) -> Any:
    """The element of an array that has one, as a number of Python."""
    if math.prod(self.shape) != 1:
        raise ArgumentError(f"an array of the shape {self.shape} is no number", "E_ARG_SHAPE", "index x.numpy(), or reduce the array")
    return (self if self._dtype in _NUMPY else asarray(self, "f32")).numpy().item()


# Set here: the type is of the extension module.
setattr(_core.Array, "_repr_html_", _repr_html_)
setattr(_core.Array, "__float__", lambda self: float(_element(self)))
setattr(_core.Array, "__int__", lambda self: int(_element(self)))
setattr(_core.Array, "__bool__", lambda self: bool(_element(self)))
_core.Array.__doc__ = """An array in the memory of a device: shape, ndim, dtype, device, nbytes, numpy(); the buffer protocol and DLPack on the host.

Made by ts.asarray, ts.from_dlpack, ts.empty, ts.zeros, ts.ones, ts.full, ts.arange, and by calls with arrays of this type."""


def represent(array: Any) -> str:
    return f"tessera.Array(shape={array.shape}, dtype={array._dtype}, device={array.device})"


def _cast(array: Any, dtype: _dtypes.DType) -> _core.Array:
    from tessera._names import OP, TILE
    if dtype.name == "tf32":
        raise ArgumentError("nothing is converted to tf32, which is how products of f32 are computed", "E_ARG_DTYPE",
                            "make the array of ts.f32: parameters of ts.tf32 take it")
    made: _core.Array = (OP.get("cast") or TILE["cast"])(array, dtype)
    return made


@entry
def asarray(x: Any, dtype: Any = None) -> _core.Array:
    """A ts.Array with the elements of an array of another library, of a number, or of nested lists of numbers: floats without a dtype
    are f32, integers i64. An Array of the dtype is returned as it is; conversions, of lists too, are the language's casts: floats that
    an integer dtype does not have saturate, integers wrap."""
    kind = None if dtype is None else _stored(dtype)
    if isinstance(x, (list, tuple, int, float)) and not _is_of_numpy(x):
        import numpy as np
        items = x if isinstance(x, (list, tuple)) else ()
        if any(isinstance(item, _core.Array) for item in items):  # which NumPy does not look into
            x = [item.numpy() if isinstance(item, _core.Array) else item for item in items]
        try:
            x = np.asarray(x)
        except ValueError:
            raise ArgumentError("the lists at one level differ in length, or hold lists and numbers", "E_ARG_SHAPE",
                                "an array has the same number of elements in each row") from None
        if x.dtype == object:
            raise ArgumentError("an element is no number, or an integer of more than 64 bits", "E_ARG_RANGE")
        return _converted(x, kind or (_dtypes.of("f32") if x.dtype == np.float64 else None))
    if _is_of_numpy(x) or hasattr(x, "__array__") and not hasattr(x, "__dlpack__"):  # as of pandas
        import numpy as np
        x = np.asarray(x)
    array = x if isinstance(x, _core.Array) else _core.copy_of(x)
    if kind is None or kind.name == array._dtype:
        return array
    return _cast(array, kind)


def _is_of_numpy(x: Any) -> bool:
    """Is it a scalar of NumPy? float64 is a float, too."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, numpy.generic)


def _stored(dtype: Any) -> _dtypes.DType:
    """A dtype that elements of arrays have."""
    kind = _dtypes.of(dtype)
    if kind.name in ("i4", "u4"):
        raise ArgumentError(f"an array has no elements of {kind.name}: two of them share a byte", "E_ARG_DTYPE",
                            "pack them into u8, and compute with them within a kernel")
    return kind


def _converted(values: Any, kind: _dtypes.DType | None) -> _core.Array:
    """An array of NumPy as a ts.Array, by the language's casts. NumPy's are the same but from floats to integers, and need no
    compilation."""
    name = None if kind is None else _NUMPY.get(kind.name)
    if name is not None and values.dtype.kind in "biuf" and not (values.dtype.kind == "f" and name[0] in "iu"):
        import numpy as np
        with np.errstate(over="ignore", invalid="ignore"):
            values = values.astype(name)
    array = _core.copy_of(values)
    return array if kind is None or kind.name == array._dtype else _cast(array, kind)


@entry
def from_dlpack(x: Any) -> _core.Array:
    """A ts.Array that shares the memory of a tensor with __dlpack__."""
    if isinstance(x, _core.Array):
        return x
    if hasattr(x, "mask") and hasattr(x, "filled"):  # numpy.ma exports the elements alone
        raise ArgumentError(f"a {type(x).__name__} has a mask, which DLPack leaves out", "E_ARG_TYPE", "pass x.filled(value)")
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
    return _core.empty(_shape(shape), _stored(dtype).name)


def _of_numpy(make: Callable[[], Any]) -> Any:
    """What it makes. NumPy says in several ways that an array is too large."""
    try:
        return make()
    except (MemoryError, OverflowError, ValueError) as e:
        raise OutOfMemoryError(f"NumPy makes no such array: {e}", "TSR_EOOM") from None


def _filled(shape: int | Iterable[int], value: Any, dtype: Any) -> _core.Array:
    import numpy as np
    kind = _stored(dtype)
    number = asarray(value, kind)
    if number.shape:
        raise ArgumentError(f"the value is a number, found an array of the shape {number.shape}", "E_ARG_SHAPE")
    extents = _shape(shape)
    if any(extent < 0 for extent in extents):
        raise ArgumentError(f"a shape has no negative extent, found {extents}", "E_ARG_SHAPE")
    base = _of_numpy(lambda: np.full(extents, (number if kind.name in _NUMPY else asarray(number, "f32")).numpy()))
    return _converted(base, kind)


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
    """An array whose elements are all `value`, converted as asarray does it."""
    return _filled(shape, value, dtype)


@entry
def arange(start: float, stop: float | None = None, step: float = 1, dtype: Any = "f32") -> _core.Array:
    """start, start + step, ... below stop; arange(n) begins at 0."""
    import numpy as np
    first, end = (0, start) if stop is None else (start, stop)
    for number in (first, end, step):
        if not isinstance(number, (int, float, np.integer, np.floating)) or not math.isfinite(number):
            raise ArgumentError(f"arange takes finite numbers, found {number!r}", "E_ARG_RANGE")
    if not step:
        raise ArgumentError("the step of arange is not 0", "E_ARG_RANGE")
    kind = _stored(dtype)
    return _converted(_of_numpy(lambda: first + step * np.arange(max(math.ceil((end - first) / step), 0))), kind)


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
