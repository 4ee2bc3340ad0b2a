"""How the progress of a tuning is shown: a line on a terminal, a bar in a notebook, or what a function makes of it."""
from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tessera.autotune import Progress

_WIDTH = 24  # of the bar


def line(p: Progress) -> str:
    """One line of text."""
    filled = _WIDTH * p.done // p.all if p.all else 0
    dims = " ".join(f"{name}={value}" for name, value in p.dims.items())
    of = f" ({p.size} of {p.sizes})" if p.sizes > 1 else ""
    best = " ".join(f"{name}={value}" for name, value in p.best.items()) or "default"
    state = f"{p.done} of {p.all}, best {best} {p.gain:.2f}x" if p.all else "compiling"
    return f"tuning {p.kernel} {dims}{of} [{'#' * filled}{'.' * (_WIDTH - filled)}] {state}, at most {p.seconds_left:.0f} s left"


@contextmanager
def display(progress: bool | Callable[[Progress], object] | None) -> Iterator[Callable[[Progress], object]]:
    """A function that shows each Progress, until the block ends."""
    if callable(progress):
        yield progress
    elif progress is False:
        yield lambda p: None
    elif (shell := _notebook()) is not None:
        with _cell(shell) as show:
            yield show
    elif progress or sys.stderr is not None and sys.stderr.isatty():
        with _terminal() as show:
            yield show
    else:
        yield lambda p: None


def _notebook() -> Any:
    """IPython.display, if this runs in the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return importlib.import_module("IPython.display")


@contextmanager
def _terminal() -> Iterator[Callable[[Progress], object]]:
    out, length = sys.stderr, 0

    def show(p: Progress) -> None:
        nonlocal length
        text = line(p)[: shutil.get_terminal_size().columns - 1]
        out.write("\r" + text + " " * (length - len(text)))
        out.flush()
        length = len(text)

    try:
        yield show
    finally:
        if length:
            out.write("\r" + " " * length + "\r")
            out.flush()


@contextmanager
def _cell(shell: Any) -> Iterator[Callable[[Progress], object]]:
    from tessera import _html
    handle = shell.display(shell.HTML(""), display_id=True)

    def show(p: Progress) -> None:
        handle.update(shell.HTML(_html.progress(p.done, p.all, line(p))))

    try:
        yield show
    finally:
        handle.update(shell.HTML(""))
