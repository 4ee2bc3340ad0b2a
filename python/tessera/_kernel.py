"""Kernels and graph functions: the decorators, what they return, and compilation from texts and bundles."""
from __future__ import annotations

import builtins
import itertools
import operator
import os
import sys
import types
from collections.abc import Mapping

from tessera import _capture, _core, _settings
from tessera._dtypes import Constant
from tessera._entry import entry, method
from tessera._errors import ArgumentError, BackendError, CompileError, Diagnostic, is_own

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from inspect import Signature
    from typing import Any, Callable, Iterator

_numbers = itertools.count(1)
_LEVELS = {"graph": 0, "schedule": 1, "tile": 2, "target": 3, "asm": 4, "assembly": 4}


class Kernel(_core.Kernel):
    """A tile kernel or a graph function, as ts.kernel and ts.jit make them.

    A call takes tensors (arrays of NumPy, ts.Array, the buffer protocol, DLPack) and numbers by position, name or default. They are
    passed without a copy. It compiles for their dtypes and pattern of extents on first use, and returns what the function returns: a
    parameter as the same object, results as arrays of the first tensor's library.

    Raises ArgumentError (codes E_ARG_*) before anything is launched, CompileError for errors in the text, DeviceError and others
    of ts.Error for what fails while it runs.
    """

    __wrapped__: Callable[..., Any]  # of kernels that a decorator made
    __qualname__: str

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
        self._space: Mapping[str, tuple[int, ...]] = {}
        self._decorator = ""  # what the compiler reads above its def
        self._specializations: tuple[str, ...] = ()  # the decorators @ts.op.specialize
        self._is_jit = False  # has @ts.jit
        self._annotations: Mapping[str, Any] = {}
        self._is_function = is_function
        self._captures_graph = captures_graph
        self._positional = len(parameters) if positional is None else positional
        self._ranks: dict[int, Kernel] = {}  # of _AnyRank
        self._signature(name, parameters, defaults, open_, self._positional, is_function, captures_graph)

    def __repr__(self) -> str:
        return f"<tessera.Kernel {self.__name__}({', '.join(self._parameters)})>"

    @property
    def is_inlined(self) -> bool:
        """Do graph functions that call it take its text as a helper's? Its parameters then have the types of the arguments."""
        return self._is_function and any(self._open)

    def _repr_html_(self) -> str:
        from tessera import _html
        return _html.kernel(self)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    @method
    def __getitem__(self, grid: Any) -> Any:
        """Refused: a launch takes no grid."""
        raise ArgumentError(f"{self.__name__} is called without a grid", "E_CALL",
                            f"write {self.__name__}({', '.join(self._parameters)}); the programs are those of ts.tile.parallel or ts.tile.grid")

    def __reduce__(self) -> Any:
        """Pickled by its name, as a function."""
        if not hasattr(self, "__wrapped__"):
            raise TypeError(f"{self!r} was not made by a decorator: pickle its text, or save a bundle")
        return self.__qualname__

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
                needs_values = e.code == "E_DIM_NOT_STATIC" or open_types and e.code == "E_SHAPE"
                dims = self._dims(dict(open_types), shapes) if needs_values else {}
                if not dims:
                    raise
            return _core.load_source(text, {**options, "dims": [*options.get("dims", ()), *dims.items()]}, returns)
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
                entries = getattr(self._annotation(name), "entries", ())
            dims.update((entry, extent) for entry, extent in zip(entries, shape)
                        if isinstance(entry, str) and entry.replace("*", "").isidentifier())
        return dims

    def _annotation(self, name: str) -> Any:
        """The type of a parameter, also where `from __future__ import annotations` left its text."""
        value = self._annotations.get(name)
        if not isinstance(value, str):
            return value
        function: Any = self.__wrapped__
        try:
            return eval(value, function.__globals__, _capture.names_of(function))
        except Exception:  # the compiler has accepted the text: it is a type that Python cannot evaluate now
            return None

    def _check_dims(self, given: Mapping[str, int]) -> None:
        types = [self._annotation(name) for name in self._parameters]
        known = {dim for type_ in types for dim in getattr(type_, "dims", ())} | set(self._space)
        known |= {"..." for type_ in types if _has_leading(type_)}
        unknown = [name for name in given if name not in known]
        if unknown and None not in types:
            raise ArgumentError(f"{self.__name__} has no dim '{unknown[0]}'", "E_DIM_UNKNOWN",
                                f"it has {', '.join(sorted(known))}" if known else "its extents are constants")

    @method
    def jit(self, *, target: str | None = None, numerics: str | None = None, **dims: int) -> "Compiled":
        """Compiles for these dims, and for a target other than this machine's if it is named ("ptx:sm_90", "cpu:x86-64-v3").
        Tunables are given by name, as dims are. Returns the compiled kernel, which has signature, metadata, inspect_ir() and save().

        Raises CompileError; ArgumentError with E_PARAMETER if a parameter has no type, with E_DIM_UNKNOWN for a name that is no dim."""
        return Compiled(self, target, numerics, dims)

    @method
    def inspect_ir(self, level: str = "tile", *, target: str | None = None, **dims: int) -> IR:
        """The text of the kernel at one level: graph, schedule, tile, target or asm."""
        return Compiled(self, target, None, dims, is_loaded=False).inspect_ir(level)

    @method
    def save(self, path: str, *, target: str | None = None) -> None:
        """Writes a bundle, which ts.load reads without the compiler."""
        self.jit(target=target).save(path)


class _Watched(Kernel):
    """A kernel in Python's development mode (python -X dev): each call looks whether what it captured has been assigned since."""

    @method
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._read is not None:
            import warnings
            read = self._read[1]
            try:
                options = self._source()[1]
                changed = [f"'{name}' was {was}" for key in ("constants", "functions") for name, was in read[key]
                           if dict(options[key]).get(name) != was]
            except CompileError as e:  # to something that is no constant
                changed = [str(e.args[0])]
            for what in changed:
                warnings.warn(f"{self.__name__} keeps what it captured when it was compiled: {what}", RuntimeWarning, _level())
        return super().__call__(*args, **kwargs)


def _level() -> int:
    """The stacklevel of the caller's frame for the first frame that is not of this package."""
    frame: types.FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and is_own(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    return level


def _kind() -> type[Kernel]:
    return _Watched if sys.flags.dev_mode else Kernel


class _AnyRank(Kernel):
    """A graph function with ... in its types: a kernel for each number of dims that it stands for."""

    @method
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for name, value in (*zip(self._parameters, args), *kwargs.items()):
            entries = getattr(self._annotation(name), "entries", ())
            if ... in entries:
                return self._of_rank(_rank(value) - sum(isinstance(entry, (int, str)) for entry in entries))(*args, **kwargs)
        return super().__call__(*args, **kwargs)  # it says what is missing

    def _of_rank(self, count: int) -> Kernel:
        found = self._ranks.get(count)
        if found is None:
            def source() -> tuple[str, dict[str, Any], list[str] | None]:
                text, options, returns = self._source()
                return text, {**options, "dims": [("...", max(count, 0))]}, returns

            found = _kind()(self.__name__, self._parameters, self._defaults, self._open, self._is_function, source,
                            positional=self._positional, captures_graph=self._captures_graph)
            found._annotations, found.__wrapped__ = self._annotations, self.__wrapped__
            self._ranks[count] = found
        return found


def _has_leading(annotation: Any) -> bool:
    """Does a type, or its text, have the dims `...`?"""
    return "..." in annotation if isinstance(annotation, str) else ... in getattr(annotation, "entries", ())


def _rank(value: Any) -> int:
    """The number of dims of an array; 0 of what is none."""
    if hasattr(value, "ndim"):
        return int(value.ndim)
    try:
        return memoryview(value).ndim
    except TypeError:
        return 0


class IR(str):
    """The text of a kernel at one level. A notebook shows the levels beside each other. What is pickled is the text."""

    __slots__ = ("_compiled", "level")
    _compiled: Compiled
    level: str

    def __new__(cls, text: str, compiled: Compiled, level: str) -> IR:
        made = super().__new__(cls, text)
        made._compiled, made.level = compiled, level
        return made

    def __copy__(self) -> IR:
        return self

    def __deepcopy__(self, memo: object) -> IR:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)

    def _repr_html_(self) -> str:
        from tessera import _html
        return _html.ir(self._compiled, self.level, self)


class Compiled:
    """A kernel that was compiled for given dims and a target. Calling it launches it on this machine."""

    def __init__(self, kernel: Kernel, target: str | None, numerics: str | None, dims: Mapping[str, int],
                 is_loaded: bool = True) -> None:  # not to read IR alone, of which a level may exist where there is no code
        if any(kernel._open):
            names = [name for name, is_open in zip(kernel._parameters, kernel._open) if is_open]
            raise ArgumentError(f"{kernel.__name__}: parameter '{names[0]}' has no type, so nothing can be compiled before a call",
                                "E_PARAMETER", f"write {names[0]}: ts.Tensor[\"n\", ts.f32], or call the function")
        text, options, returns = kernel._options()
        if numerics is not None:
            if not isinstance(numerics, str) or "\0" in numerics:
                raise ArgumentError(f"numerics is the name of a profile, found {numerics!r}", "E_ARG_TYPE")
            options["numerics"] = numerics
        if target is not None:
            if not isinstance(target, str) or "\0" in target:
                raise ArgumentError(f"target is a text such as \"ptx:sm_90\", found {target!r}", "E_ARG_TYPE")
            options["target"] = target
        self.kernel = kernel
        self._text = text
        kernel._check_dims(dims)
        options["dims"] = [(name, _integer(name, value)) for name, value in dims.items() if name not in kernel._space]
        options["tunables"] = [(name, _integer(name, value)) for name, value in dims.items() if name in kernel._space]
        self._options, self._returns = options, returns
        self._runnable: Kernel | None = None
        self._code: _core.Code | None = None
        if not is_loaded:
            return
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

    def _repr_html_(self) -> str:
        from tessera import _html
        return _html.compiled(self)

    @method
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

    @method
    def inspect_ir(self, level: str = "tile") -> IR:
        """The text of the kernel at one level: graph, schedule, tile, target or asm."""
        if level not in _LEVELS:
            raise ArgumentError(f"there is no level '{level}'", "E_LEVEL_UNKNOWN", "levels are graph, schedule, tile, target, asm")
        try:
            return IR(_core.inspect(self._text, self._options, _LEVELS[level]), self, level)
        except Exception:
            self.kernel._read = None  # the next try sees what its names refer to then
            raise

    @method
    def save(self, path: str) -> None:
        """Writes a bundle, which ts.load reads without the compiler."""
        _core.save_bundle(self._text, self._options, _path(path))

    def _need(self) -> _core.Code:
        if self._code is None:
            raise BackendError(f"the code is for {self._options['target']}, which this process does not load", "E_BACKEND_UNUSABLE",
                               "save it, and load it where that backend is")
        return self._code


def _integer(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name} is an int, found {value!r}", "E_ARG_TYPE") from None
    if not -2**63 <= number < 2**63:
        raise ArgumentError(f"{name} is {number}, which is no 64-bit integer", "E_ARG_RANGE")
    return number


def _path(path: Any) -> str:
    try:
        text = os.fsdecode(path)
        text.encode()
    except (TypeError, UnicodeError):
        raise ArgumentError(f"a path is a str, bytes or os.PathLike, of characters in UTF-8; found {path!r}", "E_ARG_TYPE") from None
    if "\0" in text:
        raise ArgumentError(f"a path has no NUL, found {path!r}", "E_ARG_TYPE")
    return text


def _signature(code: _core.Code) -> list[dict[str, Any]]:
    keys = ("name", "kind", "dtype", "dims", "strides", "reads", "writes")
    return [dict(zip(keys, row)) for row in code.signature]


def _of_code(code: _core.Code, like: Kernel | None = None) -> Kernel:
    """A kernel that is this code."""
    rows = code.signature
    parameters = like._parameters if like else tuple(row[0] for row in rows if row[1] in ("tensor", "scalar"))
    name, _, _, is_function = code.info
    defaults = like._defaults if like else (...,) * len(parameters)
    kernel = Kernel(name, parameters, defaults, (False,) * len(parameters), is_function, lambda: ("", {}, None),
                    positional=like._positional if like else None)
    setattr(kernel, "_compile", lambda open_types, shapes: code)
    return kernel


def _function_of(value: Any) -> tuple[types.FunctionType, str] | None:
    """The function whose text a captured object stands for, and its decorator."""
    if isinstance(value, Kernel):
        function: Any = getattr(value, "__wrapped__", None)
        return None if function is None else (function, "" if value.is_inlined else value._decorator)
    return (value, "") if isinstance(value, types.FunctionType) else None


def _decorate(function: Any, decorator: str, is_function: bool, captures_graph: bool = False,
              space: Mapping[str, tuple[int, ...]] = {}, specializations: tuple[str, ...] = ()) -> Kernel:
    """`decorator`: its name in messages. A graph function has one @ts.jit or none, and any number of @ts.op.specialize."""
    is_jit = decorator == "ts.jit"
    if isinstance(function, Kernel) and is_function and function._is_function and not (is_jit and function._is_jit) and function._decorator:
        is_jit |= function._is_jit
        captures_graph |= function._captures_graph
        specializations += function._specializations
        function = function.__wrapped__
    elif isinstance(function, Kernel) and specializations:
        raise ArgumentError(f"@ts.op.specialize is for graph functions, and '{function.__name__}' is a kernel", "E_DECORATOR",
                            "the tile of a kernel is in its text: make its extents tunables with @ts.kernel.autotune")
    elif isinstance(function, Kernel):
        raise ArgumentError(f"'{function.__name__}' has a decorator of Tessera already", "E_DECORATOR", "write one of them")
    _capture.check(function, decorator)
    function._tessera_scope = _capture.scope_of(function, sys._getframe(1))  # for names in annotations, which no closure has
    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    last = dict(zip(reversed(parameters[: code.co_argcount]), reversed(function.__defaults__ or ())))
    given = {**last, **(function.__kwdefaults__ or {})}
    given = {name: value.value if isinstance(value, Constant) else value for name, value in given.items()}
    annotations = getattr(function, "__annotations__", {})

    def source() -> tuple[str, dict[str, Any], list[str] | None]:
        definition = _capture.read(function, made._decorator)
        whole = _capture.Source()
        whole.add(definition, _function_of)
        return (*whole.build(), definition.returns)

    kind = _kind()
    if any(_has_leading(annotation) for annotation in annotations.values()):
        kind = _AnyRank
    made = kind(code.co_name, parameters, tuple(given.get(name, ...) for name in parameters),
                tuple(name not in annotations for name in parameters), is_function, source,
                positional=code.co_argcount, captures_graph=captures_graph)
    made.__wrapped__ = function
    made._is_jit = is_jit
    made._specializations = specializations
    made._decorator = "\n".join([*(["@tessera.jit"] if is_jit else []), *specializations]) if is_function else "@tessera.kernel"
    if space:
        made._space = space
        made._decorator += f".autotune(space=dict({', '.join(f'{name}={values}' for name, values in space.items())}))"
    made._annotations = annotations
    made.__doc__ = function.__doc__
    made.__module__ = function.__module__
    made.__qualname__ = function.__qualname__
    return made


_KERNEL_DOC = """@ts.kernel makes a tile kernel of a function.

    @ts.kernel
    def scale(x: ts.Tensor["M", "N", ts.f32], y: ts.Tensor["M", "N", ts.f32], factor: ts.f32 = 2.0):
        for m in ts.tile.parallel(0, M, 8):
            y[m:m+8, :] = factor * x[m:m+8, :]

The compiler reads the text of the function; Python does not run it. Parameters are tensors, ts.Tensor[dims..., dtype], and
numbers, ts.f32 or int. A dim is a number, a name that is bound by the call (equal names are equal extents), or an expression
of names in quotes. A parameter without a type takes dtype and rank from the arguments. The result is a Kernel, which is called
on arrays.

Raises CompileError: E_DECORATOR, if the function is a lambda, a generator, a coroutine, or what another decorator made. Errors in the text itself, and
E_CAPTURE and E_NO_SOURCE, are raised by the first call or by jit().
"""


def _named(name: str) -> Callable[[Callable[..., Any]], Callable[..., Kernel]]:
    """For Python's own messages about arguments. The type is that of a call with a function."""
    def named(function: Callable[..., Any]) -> Callable[..., Kernel]:
        function.__qualname__ = name
        return function

    return named


class _KernelDecorator:
    """The type of ts.kernel. It has __get__ so that help() and editors document ts.kernel as a function."""

    __name__ = "kernel"

    def __init__(self) -> None:
        self.__doc__ = _KERNEL_DOC

    def __get__(self, instance: object, owner: type | None = None) -> _KernelDecorator:
        return self

    @property
    def __signature__(self) -> Signature:
        import inspect
        return inspect.signature(self.__call__)

    @method
    @_named("kernel")
    def __call__(self, function: Callable[..., Any] | None = None) -> Any:
        return self if function is None else _decorate(function, "ts.kernel", False)

    @method
    def autotune(self, *, space: Mapping[str, Any]) -> Callable[[Callable[..., Any]], Kernel]:
        """@ts.kernel.autotune(space=dict(BLOCK_M=[64, 128])): a tile kernel with tunables, which the kernel reads as attributes of
        ts.tile.context(). A call uses the first value of each, or those that `tsr tune` found to be faster; k.jit(BLOCK_M=128) compiles
        for another."""
        values = _space(space)
        return lambda function: _decorate(function, "ts.kernel.autotune", False, space=values)


kernel = _KernelDecorator()


def _space(space: Any) -> dict[str, tuple[int, ...]]:
    """The tunables that a caller gave, with their values."""
    hint = "write space=dict(BLOCK_M=[64, 128])"
    if not isinstance(space, Mapping):
        raise ArgumentError(f"space is a dict of names and values, found {space!r}", "E_ARG_TYPE", hint)
    found: dict[str, tuple[int, ...]] = {}
    for name, values in space.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ArgumentError(f"a tunable has a name of Python, found {name!r}", "E_TUNABLE_SPACE", hint)
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            raise ArgumentError(f"the values of tunable '{name}' are a list of integers, found {values!r}", "E_TUNABLE_SPACE", hint)
        found[name] = tuple(_integer(f"a value of tunable '{name}'", value) for value in values)
        if not found[name]:
            raise ArgumentError(f"the list of values of tunable '{name}' is empty", "E_TUNABLE_SPACE", "give at least one value")
    if not found:
        raise ArgumentError("the space has no tunables", "E_TUNABLE_SPACE", hint)
    return found


@entry
def jit(function: Callable[..., Any] | None = None, *, capture_graph: bool = False) -> Any:
    """@ts.jit makes a graph function of a function over whole tensors.

        @ts.jit
        def loss(x, y, W):
            return ts.mse(ts.gemm(x, W), y)

    The compiler reads its text, fuses its operations and chooses their tiles. Parameters without types take dtype and rank from the
    arguments of a call; equal extents are one dim. Results are new arrays, of NumPy if the first tensor of the call is one.

    With @ts.jit(capture_graph=True) the calls with the same arrays and numbers replay a graph from the second one on, which keeps these
    arrays; there are at most 8.

    Raises CompileError (E_DECORATOR) for what is no plain function, and ArgumentError (E_DECORATOR) for a second decorator of Tessera.
    """
    def decorate(wrapped: Callable[..., Any]) -> Kernel:
        return _decorate(wrapped, "ts.jit", True, capture_graph)

    return decorate if function is None else decorate(function)


@entry
def specialize(*, when: Mapping[str, str], use: Mapping[str, Any]) -> Callable[[Callable[..., Any]], Kernel]:
    """@ts.op.specialize(when={"backend": "rocm"}, use={"tile_sizes": [128, 128, 32]}) requests tiles for a graph function's products.

        @ts.op.specialize(when={"backend": "ptx", "arch": "sm_90"}, use={"tile_sizes": [128, 128, 64]})
        @ts.op.specialize(when={"backend": "rocm"}, use={"tile_sizes": [128, 128, 32]})
        def my_gemm(A, B):
            return ts.matmul(A, B)

    A function with it needs no @ts.jit. `when` names a backend, an arch of it, or both; `use` has tile_sizes, the rows, columns and depth of
    a tile. The first request that holds for the target counts, and the metadata's `decisions` report it. On other targets the compiler
    chooses. Results do not depend on tiles but for the order of sums.

    Raises ArgumentError (E_DECORATOR) for other keys and values, and for a kernel.
    """
    words = _written_request("when", when, ("backend", "arch"), str)
    tiles = _written_request("use", use, ("tile_sizes",), list)
    text = f"@tessera.op.specialize(when={words}, use={tiles})"
    return lambda function: _decorate(function, "ts.op.specialize", True, specializations=(text,))


def _written_request(name: str, items: Any, keys: tuple[str, ...], kind: type) -> str:
    """One argument of specialize, as the compiler reads it."""
    hint = 'write @ts.op.specialize(when={"backend": "rocm"}, use={"tile_sizes": [128, 128, 32]})'
    if not isinstance(items, Mapping) or not items:
        raise ArgumentError(f"{name} is a dict and not empty, found {items!r}", "E_DECORATOR", hint)
    found = []
    for key, value in items.items():
        if key not in keys:
            raise ArgumentError(f"{name} has no {key!r}", "E_DECORATOR", f"its keys are {', '.join(keys)}")
        if kind is list:
            numbers = [] if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__") else list(value)
            numbers = [_integer(f"a number of {key}", number) for number in numbers]
            if len(numbers) != 3 or min(numbers) < 1:
                raise ArgumentError(f"'{key}' are three integers of at least 1, found {value!r}", "E_DECORATOR", hint)
            found.append(f"'{key}': {numbers}")
        elif isinstance(value, str):
            found.append(f"'{key}': {str(value)!r}")
        else:
            raise ArgumentError(f"'{key}' is a name, found {value!r}", "E_DECORATOR", hint)
    return "{" + ", ".join(found) + "}"


class Module(Mapping[str, Kernel]):
    """The kernels and graph functions of a text or a bundle, by name."""

    def __init__(self, kernels: dict[str, Kernel]) -> None:
        self._kernels = kernels

    @method
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

    def _repr_html_(self) -> str:
        from tessera import _html
        return _html.module(self)


@entry
def compile(text: str, *, filename: str = "<source>", constants: Mapping[str, Any] | None = None) -> Module:  # noqa: A001
    """The kernels and graph functions of a source that is in no file. The text is run as a module of Python, whose globals begin
    with `constants`. Diagnostics name `filename`.

    Raises CompileError with E_SYNTAX if the text is not Python, and what it raises itself."""
    import io
    linecache, _ = _capture.modules()
    if not isinstance(text, str):
        raise ArgumentError(f"a source is a str, found {type(text).__name__}", "E_ARG_TYPE")
    if not isinstance(filename, str):
        raise ArgumentError(f"filename is a str, found {filename!r}", "E_ARG_TYPE")
    if "\0" in filename or filename != filename.encode(errors="replace").decode():
        raise ArgumentError(f"filename has characters in UTF-8 and no NUL, found {filename!r}", "E_ARG_TYPE")
    if constants is not None and not isinstance(constants, Mapping):
        raise ArgumentError(f"constants is a dict of names and values, found {constants!r}", "E_ARG_TYPE")
    name, lines = filename, io.StringIO(text, newline=None).readlines()
    entries: dict[str, Any] = linecache.cache
    while name in entries and entries[name][2:3] != (lines,):  # a text keeps its name, so that entries do not pile up
        name = f"{filename[:-1] if filename.endswith('>') else filename}#{next(_numbers)}" + (">" if filename.endswith(">") else "")
    entries[name] = (len(text), None, lines, name)
    namespace: dict[str, Any] = {"__name__": "tessera.text", **(constants or {})}
    try:
        module = builtins.compile(text, name, "exec", dont_inherit=True)
    except SyntaxError as e:
        found = Diagnostic("error", "E_SYNTAX", e.msg, name, e.lineno or 0, e.offset or 1, e.end_offset or 0, "",
                           (e.text or "").rstrip("\n"))
        raise CompileError(e.msg, "E_SYNTAX", "", (found,)) from None
    except ValueError as e:  # a NUL, or half of a surrogate pair
        raise CompileError(f"{name} is no text: {e}", "E_SYNTAX") from None
    exec(module, namespace)
    return Module({key: value for key, value in namespace.items() if isinstance(value, Kernel)})


@entry
def load(path: str) -> Module:
    """The kernels and graph functions of a bundle. The compiler is not needed. Parameters are in the order of the ABI: tensors, then
    scalars. A kernel returns its results, but no parameter.

    Raises ts.Error: TSR_EIO if the file cannot be read, E_BUNDLE_* if it is no bundle or has no code for this machine."""
    codes = _core.load_bundle(_path(path))
    return Module({code.info[0]: _of_code(code) for code in codes})
