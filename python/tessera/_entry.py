"""Decorators for the functions and methods that users call: the package's own frames are not in the tracebacks of what they raise."""
from __future__ import annotations

from tessera import _core

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from typing import Any, Callable, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])


def _doc(function: Callable[..., Any]) -> str:
    """The documentation of a builtin, which begins with its signature."""
    code = function.__code__
    count, last = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames
    defaults = dict(zip(reversed(names[:count]), reversed(function.__defaults__ or ())), **(function.__kwdefaults__ or {}))
    words = [f"{name}={defaults[name]!r}" if name in defaults else name for name in names[:last]]
    if words and names[0] == "self":
        words[0] = "$self"
    extra = list(names[last:])
    if code.co_flags & 0x04:
        words.insert(count, f"*{extra.pop(0)}")
    elif last > count:
        words.insert(count, "*")
    if code.co_flags & 0x08:
        words.append(f"**{extra[0]}")
    return f"{function.__name__}({', '.join(words)})\n--\n\n{function.__doc__ or ''}"


def entry(function: Function) -> Function:
    made: Function = _core.entry(function, function.__name__, _doc(function))
    return made


def method(function: Function) -> Function:
    made: Function = _core.Method(function, function.__name__, _doc(function))  # type: ignore[assignment]
    return made
