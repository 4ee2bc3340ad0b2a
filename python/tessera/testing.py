"""Comparisons of arrays, for tests: of NumPy, ts.Array, and whatever NumPy makes an array of. They need NumPy."""
from __future__ import annotations

from tessera import _core, _interop, _missing
from tessera._entry import entry

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from typing import Any

__all__ = ["assert_allclose", "assert_bits_equal", "check_grad", "reference"]

check_grad = _missing.function("tessera.testing.check_grad")
reference = _missing.function("tessera.testing.reference")

# The distance from 1 to the next number, of the dtypes that NumPy lacks.
_EPSILON = {"bf16": 2.0 ** -7, "fp8_e4m3": 2.0 ** -3, "fp8_e5m2": 2.0 ** -2, "fp6_e2m3": 2.0 ** -3, "fp6_e3m2": 2.0 ** -2,
            "fp4_e2m1": 2.0 ** -1, "tf32": 2.0 ** -10}


def _read(x: Any) -> tuple[Any, float]:
    """The elements, in a dtype of NumPy that has all of their values, and the epsilon of their dtype; 0 for integers."""
    import numpy as np
    name = x._dtype if isinstance(x, _core.Array) else ""
    if isinstance(x, _core.Array):
        x = (x if name in _interop._NUMPY else _interop.asarray(x, "f32")).numpy()
    x = np.asarray(x)
    if x.dtype.kind == "V":  # of ml_dtypes
        return _read(_interop.asarray(x))
    return x, _EPSILON.get(name, float(np.finfo(x.dtype).eps) if x.dtype.kind in "fc" else 0.0)


def _place(index: Any) -> str:
    return f"[{', '.join(str(int(i)) for i in index)}]"


@entry
def assert_allclose(actual: Any, desired: Any, bound: Any = None) -> None:
    """Raises AssertionError if the shapes differ, or an element of `actual` from that of `desired` by more than `bound`: a number, or an
    array that broadcasts to them. None: 8 units in the last place of actual's dtype, 0 for integers. NaN equals NaN, and an
    infinity itself. Integers are compared exactly; of complex numbers, the absolute value of the difference counts."""
    import numpy as np
    got, epsilon = _read(actual)
    want, _ = _read(desired)
    if got.shape != want.shape:
        raise AssertionError(f"the shape is {got.shape}, expected {want.shape}")
    kinds = got.dtype.kind + want.dtype.kind
    wide, expected = (a.astype("c16" if "c" in kinds else "f8") for a in (got, want))
    with np.errstate(invalid="ignore", over="ignore"):
        allowed = np.broadcast_to(8 * epsilon * abs(expected) if bound is None else _read(bound)[0].astype("f8"), got.shape)
        difference = abs(wide - expected)
        within = (difference <= allowed) & np.isfinite(wide) & np.isfinite(expected)
        same = (np.isnan(wide) & np.isnan(expected)) | (wide == expected) | within
    if bound is None and got.dtype.kind in "iub":  # doubles do not have every i64
        if got.dtype.kind == want.dtype.kind:
            same = got == want
        else:  # Python compares an int with any number exactly
            pairs = zip(got.ravel().tolist(), want.ravel().tolist())
            same = np.fromiter((a == b for a, b in pairs), bool, got.size).reshape(got.shape)
    if same.all():
        return
    excess = np.where(same, -1.0, np.nan_to_num(difference - allowed, nan=np.inf, posinf=np.inf))
    at = np.unravel_index(excess.argmax(), got.shape)
    raise AssertionError(f"{np.count_nonzero(~same)} of {got.size} elements differ by more than their bound; the worst is "
                         f"{_place(at)}: {got[at]!r}, expected {want[at]!r} within {float(allowed[at]):.3g}")


@entry
def assert_bits_equal(actual: Any, desired: Any) -> None:
    """Raises AssertionError if the dtypes, the shapes or the bits of an element differ. -0.0 is not 0.0, and a NaN equals one of the same
    bits."""
    import numpy as np

    def bits(x: Any) -> tuple[str, tuple[int, ...], Any]:
        if isinstance(x, _core.Array):
            raw = bytearray(x.nbytes)
            x._copy_to(raw)
            return x._dtype, x.shape, np.frombuffer(raw, "u1")
        array = np.ascontiguousarray(x)
        names = {name: dtype for dtype, name in _interop._NUMPY.items() if dtype != "tf32"}
        names.update({name: dtype for dtype, name in _interop._ML_DTYPES.items()})
        return names.get(array.dtype.name, array.dtype.name), np.shape(x), array.reshape(-1).view("u1")

    (dtype, shape, got), (expected, extents, want) = bits(actual), bits(desired)
    if (dtype, shape) != (expected, extents):
        raise AssertionError(f"it is {dtype}{list(shape)}, expected {expected}{list(extents)}")
    count = int(np.prod(shape))
    if not count or (got == want).all():
        return
    differs = (got != want).reshape(count, -1).any(axis=1)
    first = int(differs.argmax())
    at = np.unravel_index(first, shape) if shape else ()
    pair = (np.ascontiguousarray(b.reshape(count, -1)[first][::-1]).tobytes().hex() for b in (got, want))
    found, wanted = pair
    raise AssertionError(f"the bits of {np.count_nonzero(differs)} of {count} elements differ; the first is {_place(at)}: 0x{found}, "
                         f"expected 0x{wanted}")
