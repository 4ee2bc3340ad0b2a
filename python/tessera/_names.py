"""The names of the language: ts.tile.exp, ts.op.softmax, ... In a kernel the compiler reads them. Outside of one, operations of graph
functions are called on arrays: each call pattern becomes a graph function of one operation."""
from __future__ import annotations

import sys

from tessera import _core
from tessera._dtypes import DType
from tessera._entry import method
from tessera._errors import ArgumentError, Error, UnsupportedError
from tessera._operations import OPERATIONS

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from inspect import Signature
    from typing import Any


def written(value: Any) -> str | None:
    """A constant as a call has it; None for what is none. Subclasses, as of IntEnum or NumPy, are written as their base class."""
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        text = float.__repr__(value)
        return f"float('{text}')" if text in ("inf", "-inf", "nan") else text
    if isinstance(value, str):
        return str.__repr__(value)
    numpy = sys.modules.get("numpy")
    return written(value.item()) if numpy and isinstance(value, numpy.generic) and value.dtype.kind in "biuf" else None


def _contiguous(value: Any) -> Any:
    """An array, or a copy of one whose strides an operation does not take."""
    if hasattr(value, "contiguous"):  # of PyTorch
        return value.contiguous()
    numpy = sys.modules.get("numpy")
    if numpy and isinstance(value, numpy.ndarray):
        return value if value.flags.c_contiguous else value.copy(order="C")
    return value if isinstance(value, _core.Array) else _core.copy_of(value)


def _plain(text: str) -> str:
    """A text without the links of the documentation."""
    while "](" in text:
        before, _, after = text.partition("](")
        at = before.rfind("[")
        text = before[:at] + before[at + 1:] + after.partition(")")[2]
    return text


_ON_ARRAYS = """

It is also called on arrays of NumPy, of Tessera and of DLPack. Raises ArgumentError (E_ARG_*) for what is no array or no constant, and
CompileError (E_SHAPE, E_TYPE, E_ARGUMENTS, ...) for shapes, dtypes and arguments that it does not take."""
_KEPT = 64  # patterns of one operation, each with a kernel


class Name:
    """A function of the language, under its path: tessera.op.softmax."""

    def __init__(self, path: str, kernel: str, graph: str, doc: str) -> None:
        self._path = path
        self.__name__ = path.rpartition(".")[2]
        self._is_graph = bool(graph)
        self._arguments = graph or kernel
        self._compiled: dict[Any, Any] = {}
        self._needs = "" if doc else "derivatives of graph functions" if path.endswith(".grad") else "distributed execution"
        if self._needs:
            self.__doc__ = f"Not built yet: needs {self._needs}. Calling it raises UnsupportedError."
            return
        places = [f"in graph functions: {self.__name__}{graph}"] if graph else []
        places += [f"in kernels: {self.__name__}{kernel}"] if kernel else []
        self.__doc__ = f"{_plain(doc)}\n\n" + "\n".join(places) + (_ON_ARRAYS if graph else "")

    def __repr__(self) -> str:
        return f"<{self._path}>"

    def __get__(self, instance: object, owner: type | None = None) -> Name:
        """What has __get__ is documented as a function: by help(), by editors."""
        return self

    @property
    def __signature__(self) -> Signature:
        """Of a call on arrays, or in a kernel if there is none."""
        import ast
        import inspect
        parameters = []
        for text in self._arguments.strip("()").split(", "):
            name, _, default = text.partition("=")
            if text.endswith("..."):
                parameters += [inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                               inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)]
            elif text:
                parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                                                    default=ast.literal_eval(default) if default else inspect.Parameter.empty))
        return inspect.Signature(parameters)

    @method
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._needs:
            raise UnsupportedError(f"{self._path} is not built yet: it needs {self._needs}", "E_UNIMPLEMENTED")
        if not self._is_graph:
            raise UnsupportedError(f"{self._path} is called in kernels only", "E_CALL",
                                   "write it in the body of a function with @ts.kernel")
        arrays: list[Any] = []

        def pattern(value: Any) -> Any:
            text = written(value)
            if text is not None:
                return str, text  # not the value: 0.0 == -0.0 == 0 == False
            if isinstance(value, DType):
                return value
            if isinstance(value, (tuple, list)):
                return (type(value), *map(pattern, value))
            arrays.append(value)
            return ...

        try:
            key = (*map(pattern, args), *((name, pattern(value)) for name, value in kwargs.items()))
            kernel = self._compiled.get(key)
        except (TypeError, RecursionError):  # also a list that contains itself
            raise ArgumentError(f"{self._path}: an argument is no array and no constant", "E_ARG_TYPE") from None
        if kernel is None:
            kernel = self._compile(args, kwargs)
            self._forget()
        self._compiled[key] = self._compiled.pop(key, kernel)  # the last one that was used
        if not arrays:
            raise ArgumentError(f"{self._path} needs an array among its arguments", "E_ARG_TYPE", "make one of numbers: ts.asarray([1.0, 2.0])")
        try:
            try:
                return kernel(*arrays)
            except ArgumentError as e:
                if e.code != "E_ARG_STRIDES":
                    raise
            return kernel(*map(_contiguous, arrays))
        except Error as e:
            raise self._without_text(e) from None

    def _without_text(self, error: Error) -> Error:
        """The error of a call, without places in a text that the caller has not written."""
        if any(d.line for d in error.diagnostics):
            error.diagnostics = tuple(d._replace(message=f"{self._path}: {d.message}", file="", line=0, column=1, end=1, source_line="")
                                      for d in error.diagnostics)
            error.args = (f"{self._path}: {error.args[0]}",)
        return error

    def _forget(self) -> None:
        """Makes room for a pattern: a constant that differs in each call would fill the memory."""
        while len(self._compiled) >= _KEPT:
            import linecache
            kernel = self._compiled.pop(next(iter(self._compiled)), None)
            if kernel is not None:  # no other thread was faster
                linecache.cache.pop(kernel.__wrapped__.__code__.co_filename, None)

    def _compile(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from tessera._kernel import compile as compile_text
        known = [name.partition("=")[0] for name in self._arguments.strip("()").split(", ")]
        parameters: list[str] = []  # named as the operation names its arguments

        def text(value: Any, name: str) -> str:
            if isinstance(value, DType):
                return f"tessera.{value.name}" if not value._policies else value._text
            if isinstance(value, (tuple, list)):
                return "(" + "".join(f"{text(item, name)}, " for item in value) + ")"
            constant = written(value)
            if constant is not None:
                return constant
            name = name if name.isidentifier() else "x"
            parameters.append(name if name not in parameters else f"{name}_{len(parameters)}")
            return parameters[-1]

        words = [text(value, known[i] if i < len(known) else "x") for i, value in enumerate(args)]
        words += [f"{name}={text(value, name)}" for name, value in kwargs.items()]
        source = (f"import tessera\n\n@tessera.jit\ndef {self.__name__}({', '.join(parameters)}):\n"
                  f"    return {self._path}({', '.join(words)})\n")
        return compile_text(source, filename=f"<{self._path}>")[self.__name__]


def table(module: str) -> dict[str, Name]:
    """The names of one module of the language: "tile", "op", "group", "dist"."""
    return {name: Name(f"tessera.{of}.{name}", kernel, graph, doc)
            for of, name, kernel, graph, doc in OPERATIONS if of == module}


TILE, OP, GROUP, DIST = table("tile"), table("op"), table("group"), table("dist")
