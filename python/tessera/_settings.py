"""What compiled code depends on beside its source: the backend, the numerics profile, the mapper. Each combination has a number, by which kernels
find their variants."""
from __future__ import annotations

from tessera import _core

_numbers: dict[tuple[object, ...], int] = {}
_backend: str | None = None
_numerics: str | None = None
_mapper = 0  # how many were set


def _apply() -> None:
    _core.set_settings(_numbers.setdefault((_backend, _numerics, _mapper), len(_numbers)))


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
    global _mapper
    _mapper += 1
    _apply()
