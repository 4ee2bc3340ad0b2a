"""The numerics profile of compilations."""
from __future__ import annotations

from types import TracebackType

from tessera import _entry, _settings

__all__ = ["profile", "profiles"]


class profile:  # noqa: N801 (used as a function)
    """profile("strict") sets the profile of later compilations. As a context manager it sets it back at the end.

    Raises ArgumentError for a name that is neither built in nor a plugin's, and sets nothing then."""

    @_entry.method
    def __init__(self, name: str | None) -> None:
        self._before = _settings.numerics()
        _settings.set_numerics(name)

    def __enter__(self) -> "profile":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _settings.set_numerics(self._before)


def profiles() -> tuple[str, ...]:
    """The names of the built-in profiles; plugins bring others."""
    return _settings.PROFILES
