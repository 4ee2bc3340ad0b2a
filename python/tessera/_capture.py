"""From a function of Python to the text that the compiler reads: its definition and those of the functions it calls, and the
values of the names that these use."""
from __future__ import annotations

import _thread
import math
import os
import sys
import types

from tessera import _core
from tessera._dtypes import Constant, DType, TensorSpec
from tessera._errors import CompileError, Diagnostic
from tessera._names import Name

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from typing import Any, Callable

    FunctionOf = Callable[[Any], tuple[types.FunctionType, str] | None]  # the function that an object stands for, and its decorator

_MISSING = object()
LANGUAGE: dict[int, str] = {}  # id of an object -> its name in the module tessera: decorators, Tensor, zeros, dist.mesh


class Definition:
    """A function's text, from its def up to its last line, and what the parser found in it. Decorators are not in it: Python has run them."""

    def __init__(self, function: types.FunctionType, decorator: str, above: str, text: str, file: str, line: int,
                 names: list[tuple[str, int, int]], returns: list[str]) -> None:
        self.function = function
        self.name = function.__code__.co_name  # that of the def: __name__ may have been set since
        self.decorator = decorator  # what the compiler reads in place of those above the def; "" for a helper
        self.above = above
        self.text = text
        self.file = file
        self.line = line  # of the def in the file
        self.names = names  # name, line, column: what it uses and does not define
        self.returns = returns
        self.dims: set[str] = set()  # those of types that annotations refer to by name

    def __str__(self) -> str:
        return f"the function at {self.file}:{self.line}"

    def lookup(self, name: str) -> Any:
        """The object that a name of the text refers to in Python; _MISSING if it is none, or a builtin."""
        return names_of(self.function).get(name, self.function.__globals__.get(name, _MISSING))


def names_of(function: types.FunctionType) -> dict[str, Any]:
    """The names around a function, its module's aside."""
    around = dict(getattr(function, "_tessera_scope", {}))
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            around[name] = cell.cell_contents
        except ValueError:  # it is assigned later
            around[name] = _MISSING
    return around


def error(definition: Definition, name: str, line: int, column: int, message: str, hint: str) -> CompileError:
    """E_CAPTURE at the first use of a name."""
    source = definition.text.split("\n")[line - 1].rstrip("\r")
    found = Diagnostic("error", "E_CAPTURE", message, definition.file, definition.line + line - 1, column,
                       column + len(name), hint, source)
    return CompileError(message, "E_CAPTURE", hint, (found,))


def scope_of(function: types.FunctionType, frame: types.FrameType | None) -> dict[str, Any]:
    """What the text of `function` uses of the local variables around it and no closure has: names in annotations. The variables are
    those of the function that defines it, which is `frame` or one that called it."""
    while frame is not None and not any(constant is function.__code__ for constant in frame.f_code.co_consts):
        frame = frame.f_back
    if frame is None or not frame.f_code.co_flags & 0x2:  # CO_NEWLOCALS: else a module or a class
        return {}
    around = {name: value for name, value in frame.f_locals.items() if name not in function.__code__.co_freevars}
    try:
        used = {name.partition(".")[0] for name, _, _ in read(function).names} if around else set()
    except CompileError:  # the first call raises it
        return {}
    return {name: value for name, value in around.items() if name in used}


# Held across forks: the child of a fork waits for ever for a module that another thread of its parent was importing.
_importing: Any = getattr(_thread, "RLock")()  # threading would be imported with the package
os.register_at_fork(before=_importing.acquire, after_in_parent=_importing.release, after_in_child=_importing.release)


def modules() -> tuple[Any, Any]:
    """What only compilations need."""
    with _importing:
        import linecache
        import tokenize
    return linecache, tokenize


def _def_line(lines: list[str], start: int) -> int:
    """The line of the `def` that belongs to the decorators that begin at line `start`."""
    _, tokenize = modules()
    try:
        for token in tokenize.generate_tokens(iter(lines[start - 1:]).__next__):
            if token.type == tokenize.NAME and token.string == "def":
                return start - 1 + int(token.start[0])
    except (tokenize.TokenError, SyntaxError, StopIteration):
        pass  # the compiler's parser says what is wrong
    return start


def read(function: types.FunctionType, decorator: str = "") -> Definition:
    """The definition of a function, from the file, cell or linecache entry that it was compiled from."""
    linecache, _ = modules()
    code = function.__code__
    file, start = code.co_filename, code.co_firstlineno  # of the first decorator
    linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    file = file.encode(errors="backslashreplace").decode()  # names of files may have bytes that are no UTF-8
    if len(lines) < start:
        raise CompileError(f"the source of '{function.__qualname__}' is not at hand: {file} cannot be read",
                           "E_NO_SOURCE", "compile it from a text with ts.compile(text), or load a bundle with ts.load(path)")
    line = _def_line(lines, start)
    text = "".join(lines[line - 1:])
    name, size, names, returns = _core.read_definition(text, file, line)
    body = min((at for _, _, at in code.co_lines() if at and at > start), default=line)
    if name != code.co_name or line > body:
        raise CompileError(f"{file}:{line}: expected the definition of '{code.co_name}', found '{name}'; "
                           "the file has changed since it was imported", "E_NO_SOURCE", "import it again")
    return Definition(function, decorator, "".join(lines[start - 1:line - 1]), text.encode()[:size].decode(), file, line, names, returns)


def check(function: Any, decorator: str) -> types.FunctionType:
    """Refuses what has no definition that the compiler could read."""
    if not isinstance(function, types.FunctionType):
        raise CompileError(f"@{decorator} stands before a {type(function).__name__}", "E_DECORATOR",
                           "write it before a function, below the decorators of other libraries")
    code = function.__code__
    if hasattr(function, "__wrapped__") or code.co_flags & 0x0C:  # *args, **kwargs
        kind = "a wrapper that another decorator made" if hasattr(function, "__wrapped__") else "a function with *args or **kwargs"
        raise CompileError(f"@{decorator} stands before {kind}, '{function.__qualname__}'", "E_DECORATOR",
                           f"write @{decorator} next to the def, below the decorators of other libraries, and name each parameter")
    kinds = ((code.co_flags & 0x20, "a generator"), (code.co_flags & 0x80, "a coroutine"),
             (code.co_flags & 0x200, "an asynchronous generator"), (code.co_name == "<lambda>", "a lambda"))
    for is_kind, kind in kinds:
        if is_kind:
            raise CompileError(f"@{decorator} stands before {kind}", "E_DECORATOR",
                               "write def NAME(...): on a line of its own")
    return function


def literal(value: Any, around: tuple[int, ...] = ()) -> str | None:
    """A constant as the language writes it; None for an object that is none. `around`: the ids of the lists and tuples that it is in."""
    if isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        return repr(str(value))
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else f"float('{float(value)!r}')"
    if isinstance(value, (tuple, list)):
        if id(value) in around or len(around) > 50:  # it contains itself, or nests too deep for the compiler
            return None
        items = [literal(item, (*around, id(value))) for item in value]
        if None in items:
            return None
        return "(" + "".join(f"{item}, " for item in items) + ")"
    if isinstance(value, DType):
        return value._text if value._policies else f"tessera.{value.name}"
    if isinstance(value, TensorSpec):
        return value._text
    if isinstance(value, Constant):
        return f"tessera.{value.dtype.name}({literal(value.value)})"
    numpy = sys.modules.get("numpy")
    return literal(value.item()) if numpy and isinstance(value, numpy.generic) and value.dtype.kind in "biufU" else None


def is_own(function: Any) -> bool:
    """Is it a function of a module of this package? A module of ts.compile may have any name."""
    name = getattr(function, "__module__", None)
    module = sys.modules.get(name) if isinstance(name, str) else None
    if module is None or not isinstance(name, str) or name.split(".")[0] != "tessera":
        return False
    if isinstance(function, types.BuiltinFunctionType):  # of _entry
        return vars(module).get(function.__name__) is function
    return isinstance(function, types.FunctionType) and function.__globals__ is vars(module)


class Source:
    """A text for the compiler, put together from definitions."""

    def __init__(self) -> None:
        self.imports: dict[str, str] = {}  # alias -> statement
        self.values: dict[str, str | Definition] = {}  # what a name of the texts is: a constant, or a function of `pieces`
        self.pieces: list[Definition] = []

    def add(self, definition: Definition, function_of: FunctionOf) -> None:
        """Adds a definition, and what its names refer to."""
        self.pieces.append(definition)
        for name, _, _ in definition.names:
            value = definition.lookup(name)
            if isinstance(value, TensorSpec):
                definition.dims.update(value.dims)
        for name, line, column in definition.names:
            self._resolve(definition, name, line, column, function_of)

    def _resolve(self, definition: Definition, name: str, line: int, column: int,
                 function_of: FunctionOf) -> None:
        root, *attributes = name.split(".")
        value = definition.lookup(root)
        if value is _MISSING or root in definition.dims:
            return  # a builtin function, an implicit iterator, a dim, or an error that the compiler reports
        reached: Any = value
        if isinstance(value, types.ModuleType):
            is_language = value.__name__ == "math" or value.__name__.split(".")[0] == "tessera"
            for attribute in () if is_language else attributes:
                reached = getattr(reached, attribute, _MISSING)
                if not isinstance(reached, types.ModuleType):
                    break
            meant = None if is_language else self._meant(reached, function_of)
            if meant is not None and attributes:
                return self._value(definition, name, line, column, meant)
            statement = f"import {value.__name__} as {root}" if value.__name__ != root else f"import {root}"
            return self._import(definition, root, statement, line, column)
        is_language = id(value) in LANGUAGE or is_own(value)
        if isinstance(value, Name) or is_language:
            path = value._path if isinstance(value, Name) else f"tessera.{LANGUAGE.get(id(value), getattr(value, '__name__', ''))}"
            module, _, attribute = path.rpartition(".")
            return self._import(definition, root, f"from {module} import {attribute} as {root}", line, column)
        if isinstance(value, DType) and not value._policies and not attributes:
            return self._import(definition, root, f"from tessera import {value.name} as {root}", line, column)
        for attribute in attributes:  # config.BLOCK of an object, also of one that is a value itself, as a named tuple
            reached = getattr(reached, attribute, _MISSING)
        meant = self._meant(reached, function_of) if attributes and reached is not _MISSING else None
        if meant is not None:
            return self._value(definition, name, line, column, meant)
        meant = self._meant(value, function_of)
        if meant is not None:
            return self._value(definition, root, line, column, meant)
        what = f"'{root}' is a {type(value).__name__}"
        if attributes and reached is not _MISSING:
            what = f"'{name}' is a {type(reached).__name__}"
        elif attributes:
            what += f" without '{'.'.join(attributes)}'"
        raise error(definition, name if attributes else root, line, column, f"{what}, which a kernel cannot capture",
                    "pass it as an argument; functions, kernels, numbers, strings, dtypes and tuples of them are captured")

    def _meant(self, value: Any, function_of: FunctionOf) -> str | Definition | None:
        """What the compiler is given for an object: a function, which is added, or a constant."""
        found = function_of(value)
        if found is None:
            return literal(value)
        for piece in self.pieces:
            if piece.function is found[0]:
                return piece
        definition = read(*found)
        self.add(definition, function_of)
        return definition

    def _value(self, definition: Definition, name: str, line: int, column: int, meant: str | Definition) -> None:
        other = self.values.setdefault(name, meant)
        if other != meant:
            raise error(definition, name, line, column, f"'{name}' is {meant} here, and {other} in another function",
                        "rename one of the two")

    def _import(self, definition: Definition, name: str, statement: str, line: int, column: int) -> None:
        if self.imports.setdefault(name, statement) != statement:
            raise error(definition, name, line, column, f"'{name}' is another name in another function: {self.imports[name]}",
                        "import it under the same name in both")

    def _names(self) -> list[str]:
        """A name for each piece: that of its def, unless the texts use it for something else, as for what a decorator made of it."""
        names: list[str] = []
        for piece in self.pieces:
            name, number = piece.name, 1
            while name in names or name in self.imports or self.values.get(name, piece) is not piece:
                if not names:  # the compiled function is known by its name
                    raise CompileError(f"'{name}', {piece}, is also the name of {self.imports.get(name) or self.values[name]}", "E_CAPTURE",
                                       "rename one of the two")
                number += 1
                name = f"{piece.name}_{number}"
            names.append(name)
        return names

    def build(self) -> tuple[str, dict[str, Any]]:
        """The text, and the options that describe it. `functions` is for the development mode: what names of functions refer to."""
        names = self._names()
        named = {name: names[self.pieces.index(value)] if isinstance(value, Definition) else value for name, value in self.values.items()}
        head = ["import tessera"] + [s for s in self.imports.values() if s != "import tessera"]
        text = "\n".join(head) + "\n"
        pieces = [(1, "<imports>", 1)]
        for piece, name in zip(self.pieces, names):
            indent, _, rest = piece.text.partition("def")
            if piece.decorator:
                pieces.append((text.count("\n") + 1, piece.file, piece.line))
                text += "".join(f"{indent}{line}\n" for line in piece.decorator.splitlines())
            pieces.append((text.count("\n") + 1, piece.file, piece.line))
            text += f"{indent}def{rest.replace(piece.name, name, 1)}" + ("" if rest.endswith("\n") else "\n")
        return text, {"kernel": self.pieces[0].name, "file": self.pieces[0].file,
                      "constants": [(name, text) for name, text in named.items() if text != name or isinstance(self.values[name], str)],
                      "functions": [(name, str(value)) for name, value in self.values.items() if isinstance(value, Definition)],
                      "pieces": pieces}
