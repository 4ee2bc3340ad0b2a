"""Kernels and graph functions: the decorators, what they return, and compilation from texts and bundles."""
from __future__ import annotations

import builtins
import itertools
import sys
import types
from collections.abc import Mapping

from tessera import _capture, _core, _settings
from tessera._errors import ArgumentError, BackendError, CompileError, Diagnostic

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator

_numbers = itertools.count(1)
_LEVELS = {"graph": 0, "schedule": 1, "tile": 2, "target": 3, "asm": 4, "assembly": 4}


class Kernel(_core.Kernel):
    """A tile kernel or a graph function. Call it on arrays and numbers; it is compiled for their types on first use."""

    def __init__(self, name: str, parameters: tuple[str, ...], defaults: tuple[Any, ...], open_: tuple[bool, ...],
                 is_function: bool, source: Callable[[], tuple[str, dict[str, Any], list[str] | None]], *,
                 positional: int | None = None, captures_graph: bool = False) -> None:
        """`defaults`: one for each parameter, `...` where there is none. The first `positional` may be given by position."""
        self.__name__ = name
        self._parameters = parameters
        self._open = open_
        self._defaults = defaults
        self._source = source
        self._read: tuple[str, dict[str, Any], list[str] | None] | None = None  # what _source() gave
        self._space: Mapping[str, Any] = {}
        self._annotations: Mapping[str, Any] = {}
        self._positional = len(parameters) if positional is None else positional
        self._signature(name, parameters, defaults, open_, self._positional, is_function, captures_graph)

    def __repr__(self) -> str:
        return f"<tessera.Kernel {self.__name__}({', '.join(self._parameters)})>"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def _options(self, **more: Any) -> tuple[str, dict[str, Any], list[str] | None]:
        if self._read is None:
            self._read = self._source()
        text, options, returns = self._read
        return text, {**options, "numerics": _settings.numerics(), **more}, returns

    def _compile(self, open_types: list[tuple[str, str]], shapes: list[tuple[str, tuple[int, ...]]]) -> Any:
        """Called by _core.Kernel for arguments that no variant fits."""
        text, options, returns = self._options(types=[(f"{self.__name__}.{name}", type_) for name, type_ in open_types])
        try:
            try:
                return _core.load_source(text, options, returns)
            except CompileError as e:
                dims = self._dims(dict(open_types), shapes) if e.code == "E_DIM_NOT_STATIC" else {}
                if not dims:
                    raise
            return _core.load_source(text, {**options, "dims": list(dims.items())}, returns)
        except Exception:
            self._read = None  # the next try sees what its names refer to then
            raise

    def _dims(self, open_types: Mapping[str, str], shapes: list[tuple[str, tuple[int, ...]]]) -> dict[str, int]:
        """The dims that the shapes give, for code that needs their values."""
        import re
        dims: dict[str, int] = {}
        for name, shape in shapes:
            if name in open_types:
                entries: tuple[Any, ...] = tuple(re.findall(r"'(\w+)'|\b\d+, ", open_types[name]))
            else:
                entries = getattr(self._annotations.get(name), "entries", ())
            dims.update((entry, extent) for entry, extent in zip(entries, shape)
                        if isinstance(entry, str) and entry.replace("*", "").isidentifier())
        return dims

    def jit(self, *, target: str | None = None, numerics: str | None = None, **dims: int) -> "Compiled":
        """Compiles for these dims, and for a target other than this machine's if it is named. Tunables are given by name, as dims
        are. Returns the compiled kernel, which has signature, metadata, inspect_ir() and save()."""
        return Compiled(self, target, numerics, dims)

    def inspect_ir(self, level: str = "tile", *, target: str | None = None, **dims: int) -> str:
        """The text of the kernel at one level: graph, schedule, tile, target or asm."""
        return self.jit(target=target, **dims).inspect_ir(level)

    def save(self, path: str, *, target: str | None = None) -> None:
        """Writes a bundle, which ts.load reads without the compiler."""
        self.jit(target=target).save(path)


class Compiled:
    """A kernel that was compiled for given dims and a target. Calling it launches it on this machine."""

    def __init__(self, kernel: Kernel, target: str | None, numerics: str | None, dims: Mapping[str, int]) -> None:
        if any(kernel._open):
            names = [name for name, is_open in zip(kernel._parameters, kernel._open) if is_open]
            raise ArgumentError(f"{kernel.__name__}: parameter '{names[0]}' has no type, so nothing can be compiled before a call",
                                "E_PARAMETER", f"write {names[0]}: ts.Tensor[\"n\", ts.f32], or call the function")
        text, options, returns = kernel._options()
        if numerics is not None:
            options["numerics"] = numerics
        if target is not None:
            options["target"] = target
        self.kernel = kernel
        self._text = text
        options["dims"] = [(name, int(value)) for name, value in dims.items() if name not in kernel._space]
        options["tunables"] = [(name, int(value)) for name, value in dims.items() if name in kernel._space]
        self._options, self._returns = options, returns
        self._runnable: Kernel | None = None
        self._code: Any = None
        try:
            if target is None or target.split(":")[0] == _core.target()[0]:
                self._code = _core.load_source(text, options, returns)
            else:
                _core.compile_bundle(text, options)  # for its errors; save() finds the code in the cache
        except Exception:
            kernel._read = None
            raise

    def __repr__(self) -> str:
        return f"<tessera.Compiled {self.kernel.__name__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._runnable is None:
            if self._code is None:
                raise BackendError(f"{self.kernel.__name__} was compiled for {self._options['target']}, which is not the "
                                   f"backend of this process, {_core.target()[1]}", "E_BACKEND_UNUSABLE",
                                   "select it with ts.runtime.select_backend, or save a bundle for another machine")
            self._runnable = _of_code(self._code, self.kernel)
        return self._runnable(*args, **kwargs)

    @property
    def metadata(self) -> str:
        """The kernel's metadata, a YAML document."""
        return self._need().metadata

    @property
    def signature(self) -> list[dict[str, Any]]:
        """What a launch takes: name, kind, dtype, dims, strides, and whether elements are read and written."""
        return _signature(self._need())

    def inspect_ir(self, level: str = "tile") -> str:
        """The text of the kernel at one level: graph, schedule, tile, target or asm."""
        if level not in _LEVELS:
            raise ArgumentError(f"there is no level '{level}'", "E_LEVEL_UNKNOWN", "levels are graph, schedule, tile, target, asm")
        return _core.inspect(self._text, self._options, _LEVELS[level])

    def save(self, path: str) -> None:
        """Writes a bundle, which ts.load reads without the compiler."""
        _core.save_bundle(self._text, self._options, str(path))

    def _need(self) -> Any:
        if self._code is None:
            raise BackendError(f"the code is for {self._options['target']}, which this process does not load", "E_BACKEND_UNUSABLE",
                               "save it, and load it where that backend is")
        return self._code


def _signature(code: Any) -> list[dict[str, Any]]:
    keys = ("name", "kind", "dtype", "dims", "strides", "reads", "writes")
    return [dict(zip(keys, row)) for row in code.signature]


def _of_code(code: Any, like: Kernel | None = None) -> Kernel:
    """A kernel that is this code."""
    rows = code.signature
    parameters = like._parameters if like else tuple(row[0] for row in rows if row[1] in ("tensor", "scalar"))
    name, _, _, is_function = code.info
    defaults = like._defaults if like else (...,) * len(parameters)
    kernel = Kernel(name, parameters, defaults, (False,) * len(parameters), is_function, lambda: ("", {}, None),
                    positional=like._positional if like else None)
    kernel._compile = lambda open_types, shapes: code  # type: ignore[method-assign]
    return kernel


def _function_of(value: Any) -> types.FunctionType | None:
    """The function whose text a captured object stands for."""
    if isinstance(value, Kernel):
        return getattr(value, "__wrapped__", None)
    if isinstance(value, types.MethodType):
        return None
    return value if isinstance(value, types.FunctionType) else None


def _decorate(function: Any, decorator: str, is_function: bool, captures_graph: bool = False) -> Kernel:
    _capture.check(function, decorator)
    frame = sys._getframe(1)
    while frame.f_globals is globals():
        frame = frame.f_back
    _capture.SCOPES[function] = _capture.scope_of(frame)
    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    last = dict(zip(reversed(parameters[: code.co_argcount]), reversed(function.__defaults__ or ())))
    given = {**last, **(function.__kwdefaults__ or {})}
    annotations = getattr(function, "__annotations__", {})

    def source() -> tuple[str, dict[str, Any], list[str] | None]:
        definition = _capture.read(function)
        whole = _capture.Source(function.__name__)
        whole.add(definition, _function_of)
        return (*whole.build(), definition.returns)

    kernel = Kernel(function.__name__, parameters, tuple(given.get(name, ...) for name in parameters),
                    tuple(name not in annotations for name in parameters), is_function, source,
                    positional=code.co_argcount, captures_graph=captures_graph)
    kernel.__wrapped__ = function
    kernel._annotations = annotations
    kernel.__doc__ = function.__doc__
    kernel.__module__ = function.__module__
    kernel.__qualname__ = function.__qualname__
    return kernel


class _KernelDecorator:
    """@ts.kernel: a tile kernel."""

    def __call__(self, function: Callable[..., Any]) -> Kernel:
        return _decorate(function, "ts.kernel", False)

    def autotune(self, *, space: Mapping[str, Any]) -> Callable[[Callable[..., Any]], Kernel]:
        """@ts.kernel.autotune(space=dict(BLOCK_M=[64, 128])): a tile kernel with tunables."""
        def decorate(function: Callable[..., Any]) -> Kernel:
            made = _decorate(function, "ts.kernel.autotune", False)
            made._space = space
            return made

        return decorate


kernel = _KernelDecorator()


def jit(function: Callable[..., Any] | None = None, *, capture_graph: bool = False) -> Any:
    """@ts.jit: a graph function over whole tensors. With capture_graph=True the calls with the same arrays and numbers replay a graph
    from the second one on, which keeps these arrays; there are at most 8."""
    def decorate(wrapped: Callable[..., Any]) -> Kernel:
        if isinstance(wrapped, Kernel):
            raise ArgumentError(f"'{wrapped.__name__}' has a decorator of Tessera already", "E_DECORATOR", "write one of them")
        return _decorate(wrapped, "ts.jit", True, capture_graph)

    if function is not None and not capture_graph:
        return decorate(function)
    return decorate if function is None else decorate(function)


class Module(Mapping):
    """The kernels and graph functions of a text or a bundle, by name."""

    def __init__(self, kernels: dict[str, Kernel]) -> None:
        self._kernels = kernels

    def __getitem__(self, name: str) -> Kernel:
        try:
            return self._kernels[name]
        except KeyError:
            raise ArgumentError(f"there is no kernel '{name}'", "E_KERNEL_UNKNOWN",
                                f"it has {', '.join(self._kernels)}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._kernels

    def get(self, name: str, default: Any = None) -> Any:
        return self._kernels.get(name, default)

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_") or name not in self._kernels:
            raise AttributeError(f"there is no kernel '{name}'")
        return self._kernels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __repr__(self) -> str:
        return f"<tessera.Module {', '.join(self._kernels)}>"


def compile(text: str, *, filename: str = "<source>", constants: Mapping[str, Any] | None = None) -> Module:  # noqa: A001
    """The kernels and graph functions of a source that is in no file. The text is run as a module of Python, whose globals begin
    with `constants`."""
    import io
    import linecache
    name = filename
    while name in linecache.cache:
        name = f"{filename[:-1] if filename.endswith('>') else filename}#{next(_numbers)}" + (">" if filename.endswith(">") else "")
    linecache.cache[name] = (len(text), None, io.StringIO(text, newline=None).readlines(), name)
    namespace: dict[str, Any] = {"__name__": "tessera.text", **(constants or {})}
    try:
        exec(builtins.compile(text, name, "exec", dont_inherit=True), namespace)
    except SyntaxError as e:
        found = Diagnostic("error", "E_SYNTAX", e.msg, name, e.lineno or 0, e.offset or 1, e.end_offset or 0, "",
                           (e.text or "").rstrip("\n"))
        raise CompileError(e.msg, "E_SYNTAX", "", (found,)) from None
    return Module({key: value for key, value in namespace.items() if isinstance(value, Kernel)})


def load(path: str) -> Module:
    """The kernels and graph functions of a bundle. The compiler is not needed. Parameters are in the order of the ABI: tensors, then
    scalars. A kernel returns its results, but no parameter."""
    codes = _core.load_bundle(str(path))
    return Module({code.info[0]: _of_code(code) for code in codes})
