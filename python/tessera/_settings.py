"""What compiled code depends on beside its source: the backend, the numerics profile, the mapper. Each combination has a number, by which
kernels find their variants."""
from __future__ import annotations

import itertools
import operator

from tessera import _core
from tessera._errors import ArgumentError, UnsupportedError

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from typing import Any

PROFILES = ("fast", "standard", "deterministic", "strict")
_PROBE = """import tessera

@tessera.jit
def f(x: tessera.Tensor[1, tessera.f32]):
    return x + x
"""

_next = itertools.count(1)
_numbers: dict[tuple[object, ...], int] = {(None, None): 0}  # what _core begins with
_backend: str | None = None
_numerics: str | None = None


def _apply() -> None:
    key = (_backend, _numerics)
    if key not in _numbers:
        _numbers[key] = next(_next)
    _core.set_settings(_numbers[key])


def numerics() -> str | None:
    """The profile of compilations that name none; None: the environment's."""
    return _numerics


def profile(name: Any) -> str:
    """The name of a profile that a caller gave. The compiler knows which there are."""
    if not isinstance(name, str) or "\0" in name:
        raise ArgumentError(f"a profile is a name or None, found {name!r}", "E_ARG_TYPE", f"names are {', '.join(PROFILES)}")
    return name


def set_numerics(name: str | None) -> None:
    """Sets nothing if there is no such profile."""
    global _numerics
    if name is not None and profile(name) not in PROFILES:  # of a plugin, or of nothing: the compiler knows
        try:
            _core.inspect(_PROBE, {"kernel": "f", "numerics": name}, 0)
        except UnsupportedError:  # it exists, and another backend may honour it
            pass
    _numerics = name
    _apply()


def backend(name: Any) -> str | None:
    """A name that a caller gave, or None."""
    if name is None or isinstance(name, str) and "\0" not in name:
        return name
    raise ArgumentError(f"a backend is a name or None, found {name!r}", "E_ARG_TYPE", "ts.runtime.backends() lists them")


def device(number: Any) -> int:
    """The number of a device that a caller gave. The library knows which there are."""
    try:
        index = operator.index(number)
    except TypeError:
        raise ArgumentError(f"a device is an int, found {number!r}", "E_ARG_TYPE") from None
    if not -2**31 <= index < 2**31:
        raise ArgumentError(f"there is no device {index}", "E_ARG_RANGE", "ts.runtime.devices() lists them")
    return index


def set_backend(name: str | None) -> None:
    global _backend
    _core.select_backend(backend(name))
    _backend = name
    _apply()


def forget_code() -> None:
    """What was compiled before is not asked for again: there is another mapper, or there are other tuned configurations."""
    _numbers.clear()
    next(_next)
    _apply()
