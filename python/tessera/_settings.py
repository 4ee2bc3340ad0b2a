"""What compiled code depends on beside its source: the backend, the numerics profile, the mapper. Each combination has a number, by which
kernels find their variants."""
from __future__ import annotations

import itertools

from tessera import _core

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


def set_numerics(profile: str | None) -> None:
    global _numerics
    _numerics = profile
    _apply()


def set_backend(name: str | None) -> None:
    global _backend
    _core.select_backend(name)
    _backend = name
    _apply()


def mapper_changed() -> None:
    """What was compiled before is not asked for again."""
    _numbers.clear()
    next(_next)
    _apply()
