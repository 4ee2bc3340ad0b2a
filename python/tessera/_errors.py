"""The exceptions, their text, and the removal of the package's own frames from tracebacks."""
from __future__ import annotations

import builtins
import os
from collections import namedtuple
from types import TracebackType

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    class _Fields(NamedTuple):
        severity: str
        code: str
        message: str
        file: str
        line: int
        column: int
        end: int
        hint: str
        source_line: str
else:
    _Fields = namedtuple("Diagnostic", "severity code message file line column end hint source_line")

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_CODE = r"\s*(?:[^\n]*?error: )?\[?([EWN]_[A-Z0-9_]+)\]?:? *"


class Diagnostic(_Fields):
    """One message of the compiler. Lines and columns count from 1; line 0: no position in the source."""

    __slots__ = ()

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        if self.line:
            margin = " " * len(str(self.line))
            lines.append(f"{margin} --> {self.file}:{self.line}:{self.column}")
            blank = "".join("\t" if c == "\t" else " " for c in self.source_line[: self.column - 1])
            mark = "^" * max(min(self.end, len(self.source_line) + 1) - self.column, 1)
            help_ = f" help: {self.hint}" if self.hint else ""
            lines += [f"{margin} |", f"{self.line} | {self.source_line}", f"{margin} | {blank}{mark}{help_}"]
        elif self.hint:
            lines.append(f"  help: {self.hint}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from tessera import _html
        return _html.diagnostic(self)


class Error(Exception):
    """The base of Tessera's exceptions. `code` is stable, and `tsr explain CODE` describes it. `diagnostics` has every message of the
    compiler, if it has sent any."""

    def __init__(self, message: str, code: str = "E_PROGRAM", hint: str = "", diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        errors = [d for d in self.diagnostics if d.severity == "error"]
        if any(d.line for d in errors) or len(errors) > 1:
            return "\n".join([*map(str, errors), *(f"tsr explain {code}" for code in dict.fromkeys(d.code for d in errors))])
        text = f"[{self.code}] {self.args[0]}"
        return f"{text}\n  help: {self.hint}" if self.hint else text

    def _repr_html_(self) -> str:
        from tessera import _html
        return _html.error(self)


class CompileError(Error):
    """The source does not compile. `diagnostics` has every message."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of its own traceback."""
        from tessera import _html
        return _html.traceback_of(self)


class ArgumentError(Error, ValueError):
    """An argument of a call is wrong. Nothing was launched."""


class BackendError(Error, RuntimeError):
    """A backend, a plugin or the compiler cannot be used."""


class UnsupportedError(Error, NotImplementedError):
    """The program is right, but something that it needs is not supported here."""


class OutOfMemoryError(Error, MemoryError):
    """The memory of the host or the device does not suffice."""


class TimeoutError(Error, builtins.TimeoutError):  # noqa: A001 (the name that the API gives it)
    """A call did not end within its time limit."""


class DeviceError(Error, RuntimeError):
    """A device or its driver failed, or queued work did."""


for _class in (Error, CompileError, ArgumentError, BackendError, UnsupportedError, OutOfMemoryError, TimeoutError, DeviceError,
               Diagnostic):
    _class.__module__ = "tessera"  # where users find it

_BY_STATUS = {
    "TSR_ECOMPILE": CompileError,
    "TSR_EINVAL": ArgumentError,
    "TSR_ENOTFOUND": BackendError,
    "TSR_UNIMPLEMENTED": UnsupportedError,
    "TSR_EOOM": OutOfMemoryError,
    "TSR_ETIMEOUT": TimeoutError,
    "TSR_EDEVICE": DeviceError,
}
_SEVERITIES = ("error", "warning", "note", "note")


def of_status(status: str, text: str, messages: list[tuple[Any, ...]]) -> Error:
    """The exception for a call of the C ABI that failed with `text`."""
    diagnostics = tuple(
        Diagnostic(_SEVERITIES[severity], code, message, file, line, column, column + length, hint, source)
        for severity, code, message, file, line, column, length, hint, source in messages)
    first = next((d for d in diagnostics if d.severity == "error"), None)
    cls: type[Error] = _BY_STATUS.get(status, Error)
    if first is not None:
        return cls(first.message, first.code, first.hint, diagnostics)
    import re
    text, _, hint = text.partition("\n  hint: ")
    plugin = re.search(r"TSRP-\d+", text)
    if plugin is not None:
        return BackendError(text, plugin[0], hint)
    match = re.match(_CODE, text)
    return cls(text, status, hint) if match is None else cls(text[match.end():], match[1], hint)


def of_class(name: str, code: str, message: str, hint: str) -> Error:
    made: Error = globals()[name](message, code, hint)
    return made


def is_own(filename: str) -> bool:
    return filename.startswith(_PACKAGE + os.sep)


def trimmed(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame on that is not of this package."""
    if os.environ.get("TESSERA_PYTHON_TRACEBACK") == "full":
        return trace
    while trace is not None and is_own(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace
