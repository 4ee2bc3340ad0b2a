"""Mappers in Python: the base class, and the calls of its hooks."""
from __future__ import annotations

import _thread

from tessera import _core, _settings
from tessera._entry import entry
from tessera._errors import ArgumentError

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from typing import Any

class Region:
    """A part of a tensor that needs a place: its name, the axis of the mesh that it is split along or "", dtype and shape."""

    __slots__ = ("name", "axis", "dtype", "shape")

    def __init__(self, name: str, axis: str, dtype: str, shape: tuple[int, ...]) -> None:
        self.name, self.axis, self.dtype, self.shape = name, axis, dtype, shape


class Mesh:
    """The ranks that a region can go to: {axis: ranks}, the devices, and the groups with a fast link."""

    __slots__ = ("axes", "devices", "groups")

    def __init__(self, axes: dict[str, int], devices: list[str], groups: list[str]) -> None:
        self.axes, self.devices, self.groups = axes, devices, groups

    @property
    def places(self) -> tuple[str, ...]:
        """The legal answers of place."""
        return (*self.devices, *self.groups, *self.axes)


class Arch(str):
    """A target, "cpu:znver3" or "ptx:sm_90", as hooks get it."""

    __slots__ = ()

    @property
    def backend(self) -> str:
        return self.partition(":")[0]

    def _sm(self) -> int:
        digits = self.partition(":sm_")[2].rstrip("af")
        return int(digits) if self.backend == "ptx" and digits.isdecimal() else 0

    @property
    def is_hopper(self) -> bool:
        return self._sm() == 90

    @property
    def is_blackwell(self) -> bool:
        return self._sm() >= 100


class Mapper:
    """Takes decisions that a program leaves open. Derive from it, write the hooks you want, and give an object to
    ts.runtime.set_mapper. A hook returns a legal name, a pair of a name and the nanoseconds it expects, or None for the
    default. It runs in a thread of its own, and has 10 seconds. An answer that is not legal, or an exception, fails the
    compilation or the call that asked. Hooks that name more parameters get more:

        def choose_variant(self, op, arch, *, variants, dims, dtype): ...
        def choose_collective(self, kind, size, *, algorithms, bytes, topology): ...
    """

    def place(self, region: Region, mesh: Mesh) -> Any:
        """Where a part of a tensor goes: one of mesh.places."""

    def choose_collective(self, kind: str, size: int) -> Any:
        """How a collective of `size` ranks runs: one of `algorithms`."""

    def choose_variant(self, op: str, arch: Arch) -> Any:
        """What computes an operation: one of `variants`."""


_FIRST = {"choose_collective": ("kind", "size"), "choose_variant": ("op", "arch")}


def _call(mapper: Any, hook: str, about: dict[str, Any]) -> Any:
    function = getattr(mapper, hook)
    if hook == "place":
        return function(Region(*(about[name] for name in Region.__slots__)), Mesh(*(about[name] for name in Mesh.__slots__)))
    if "arch" in about:
        about["arch"] = Arch(about["arch"])
    first = [about.pop(name) for name in _FIRST[hook]]
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else ()
    takes_all = code is not None and bool(code.co_flags & 0x08)  # **kwargs
    return function(*first, **{name: value for name, value in about.items() if takes_all or name in names})


def _said(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})" if trace is not None else ""
    try:
        text = str(error)
    except Exception as e:  # a class of the program
        text = f"<its text raised {type(e).__name__}>"
    return f"{type(error).__name__}: {text}{where}"


def _run(mapper: Any, hook: str, about: dict[str, Any], question: Any) -> None:
    choice, predicted, failure = "", -1.0, ""
    try:
        answer = _call(mapper, hook, about)
        if isinstance(answer, tuple) and len(answer) == 2:
            answer, predicted = answer[0], float(answer[1])
            if not 0 <= predicted < float("inf"):
                failure = f"it returned {predicted} nanoseconds, expected a finite number from 0 on"
        if answer is None or isinstance(answer, str):
            choice = answer or ""
        elif not failure:
            failure = f"it returned {answer!r}, expected a name or None"
        _core.answer_mapper(question, "" if failure else choice, -1.0 if failure else predicted, failure)
    except BaseException as e:  # SystemExit too: the compilation that asked fails, and nothing else
        _core.answer_mapper(question, "", -1.0, _said(e).replace("\0", "\\0").encode(errors="replace").decode())


def ask(mapper: Any, hook: str, about: dict[str, Any], question: Any) -> None:
    """Called by _core in a thread of the library."""
    _thread.start_new_thread(_run, (mapper, hook, about, question))


_is_set = False  # a mapper other than the environment's


@entry
def set_mapper(mapper: Any) -> None:
    """Sets the mapper of this process: an object of a class derived from ts.Mapper, the text of a built-in or a plugin's one, as
    "replay(decisions.yaml)", or None for the environment's. It decides for what is compiled from now on."""
    global _is_set
    if mapper is None and not _is_set:
        return  # what was compiled stays right
    if isinstance(mapper, str):
        if "\0" in mapper:
            raise ArgumentError(f"the text of a mapper has no NUL, found {mapper!r}", "E_ARG_TYPE")
        _core.set_mapper_named(mapper)
    elif mapper is None or isinstance(mapper, Mapper):
        _core.set_mapper(mapper, type(mapper).__name__)
    else:
        called = isinstance(mapper, type) and issubclass(mapper, Mapper)
        raise ArgumentError(f"set_mapper expects an object of a class derived from ts.Mapper, found {mapper!r}", "E_ARG_TYPE",
                            f"make one: {mapper.__name__}()" if called else "derive its class from ts.Mapper")
    _is_set = mapper is not None
    _settings.forget_code()
