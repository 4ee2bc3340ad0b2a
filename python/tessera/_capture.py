"""From a function of Python to the text that the compiler reads: its definition and those of the functions it calls, and the
values of the names that these use."""
from __future__ import annotations

import math
import sys
import types

from tessera import _core
from tessera._dtypes import DType, TensorSpec
from tessera._errors import CompileError, Diagnostic
from tessera._names import Name

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from typing import Any, Callable

_MISSING = object()
_UNCHECKED = ("@typing.no_type_check", "@no_type_check")  # it may stand above a decorator of Tessera
LANGUAGE: dict[int, str] = {}  # id of an object -> its name in the module tessera: decorators, Tensor, zeros, dist.mesh


class Definition:
    """A function's text, up to its last line, and what the parser found in it."""

    def __init__(self, function: types.FunctionType, text: str, file: str, line: int, names: list[tuple[str, int, int]],
                 returns: list[str]) -> None:
        self.function = function
        self.text = text
        self.file = file
        self.line = line  # of its first line in the file
        self.names = names  # name, line, column: what it uses and does not define
        self.returns = returns
        self.first = text.count("\n", 0, _before_def(text)) + 1
        self.dims: set[str] = set()  # those of types that annotations refer to by name

    def lookup(self, name: str) -> Any:
        """The object that a name of the text refers to in Python; _MISSING if it is none, or a builtin."""
        return names_of(self.function).get(name, self.function.__globals__.get(name, _MISSING))

    def is_decorator(self, line: int) -> bool:
        """Is it a line above the def?"""
        return line < self.first


def _before_def(text: str) -> int:
    """The length of the lines above the def: its decorators."""
    at = 0
    for line in text.split("\n"):
        if line.lstrip()[:4] in ("def ", "def\t"):
            return at
        at += len(line) + 1
    return 0


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


def scope_of(frame: types.FrameType) -> dict[str, Any]:
    """The constants among the local variables of the function that is running in `frame`."""
    if not frame.f_code.co_flags & 0x2:  # CO_NEWLOCALS: a module or a class
        return {}
    return {name: value for name, value in frame.f_locals.items() if literal(value) is not None}


def _without_host_arguments(text: str) -> str:
    """A definition without the argument of @ts.jit(capture_graph=True), which is not the compiler's business. Lines and columns stay."""
    end = _before_def(text)
    if "capture_graph" not in text[:end]:
        return text
    import io
    import re
    import tokenize
    starts = [0]  # of the lines
    for line in io.StringIO(text[:end], newline=""):
        starts.append(starts[-1] + len(line))
    depth, begin, is_host, out = 0, 0, False, text
    try:
        for token in tokenize.generate_tokens(io.StringIO(text[:end], newline="").readline):
            if token.type == tokenize.OP and token.string in "([{":
                if depth == 0:
                    begin, is_host = starts[token.start[0] - 1] + token.start[1], False
                depth += 1
            elif token.type == tokenize.OP and token.string in ")]}":
                depth -= 1
                if depth == 0 and is_host:  # jit has no other argument
                    last = starts[token.end[0] - 1] + token.end[1]
                    out = out[:begin] + re.sub(r"[^\r\n]", " ", out[begin:last]) + out[last:]
            elif token.type in (tokenize.NAME, tokenize.STRING):
                is_host |= token.string.strip("'\"") == "capture_graph"
    except (tokenize.TokenError, SyntaxError):  # the compiler reports it
        pass
    return out


def read(function: types.FunctionType, is_inlined: bool = False) -> Definition:
    """The definition of a function, from the file, cell or linecache entry that it was compiled from. An inlined one has no
    decorators."""
    import linecache
    code = function.__code__
    file, line = code.co_filename, code.co_firstlineno
    linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    if len(lines) < line:
        raise CompileError(f"the source of '{function.__qualname__}' is not at hand: {file} cannot be read",
                           "E_NO_SOURCE", "compile it from a text with ts.compile(text), or load a bundle with ts.load(path)")
    while lines[line - 1].partition("#")[0].strip() in _UNCHECKED:
        line += 1
    text = _without_host_arguments("".join(lines[line - 1:]))
    if is_inlined:  # its lines stay
        above = text[: _before_def(text)]
        text = "".join("\n" if c == "\n" else " " for c in above) + text[len(above):]
    name, size, names, returns = _core.read_definition(text, file, line)
    if name != function.__name__:
        raise CompileError(f"{file}:{line}: expected the definition of '{function.__name__}', found '{name}'; "
                           "the file has changed since it was imported", "E_NO_SOURCE", "import it again")
    return Definition(function, text.encode()[:size].decode(), file, line, names, returns)


def check(function: Any, decorator: str) -> types.FunctionType:
    """Refuses what has no definition that the compiler could read."""
    if not isinstance(function, types.FunctionType):
        raise CompileError(f"@{decorator} stands before a {type(function).__name__}", "E_DECORATOR",
                           "write it before a function, below the decorators of other libraries")
    code = function.__code__
    kinds = ((code.co_flags & 0x20, "a generator"), (code.co_flags & 0x80, "a coroutine"),
             (code.co_flags & 0x200, "an asynchronous generator"), (function.__name__ == "<lambda>", "a lambda"))
    for is_kind, kind in kinds:
        if is_kind:
            raise CompileError(f"@{decorator} stands before {kind}", "E_DECORATOR",
                               "write def NAME(...): on a line of its own")
    return function


def literal(value: Any) -> str | None:
    """A constant as the language writes it; None for an object that is none."""
    if isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        return repr(str(value))
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else f"float('{float(value)!r}')"
    if isinstance(value, (tuple, list)):
        items = [literal(item) for item in value]
        if None in items:
            return None
        return "(" + "".join(f"{item}, " for item in items) + ")"
    if isinstance(value, DType):
        return value._text if value._policies else f"tessera.{value.name}"
    if isinstance(value, TensorSpec):
        return value._text
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

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.imports: dict[str, str] = {}  # alias -> statement
        self.constants: dict[str, str] = {}
        self.pieces: list[Definition] = []

    def add(self, definition: Definition, function_of: Callable[[Any], types.FunctionType | None]) -> None:
        """Adds a definition, and what its names refer to."""
        for other in self.pieces:
            if other.function is definition.function:
                return
            if other.function.__name__ == definition.function.__name__:
                raise CompileError(f"two functions are named '{other.function.__name__}': {other.file}:{other.line} and "
                                   f"{definition.file}:{definition.line}", "E_CAPTURE", "rename one of them")
        self.pieces.append(definition)
        for name, _, _ in definition.names:
            value = definition.lookup(name)
            if isinstance(value, TensorSpec):
                definition.dims.update(value.dims)
        for name, line, column in definition.names:
            self._resolve(definition, name, line, column, function_of)

    def _resolve(self, definition: Definition, name: str, line: int, column: int,
                 function_of: Callable[[Any], types.FunctionType | None]) -> None:
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
            is_decorator = definition.is_decorator(line)
            text = None if is_language else literal(reached) if is_decorator else self._text_of(reached, function_of)
            if text is not None and attributes:
                return self._constant(definition, name, line, column, text)
            statement = f"import {value.__name__} as {root}" if value.__name__ != root else f"import {root}"
            return self._import(definition, root, statement, line, column)
        decorator = getattr(value, "_tessera_name", None) if isinstance(value, types.FunctionType) else None
        if decorator is not None and definition.is_decorator(line):
            return self._import(definition, root, f"from tessera import {decorator} as {root}", line, column)
        is_language = id(value) in LANGUAGE or is_own(value)
        if isinstance(value, Name) or is_language:
            path = value._path if isinstance(value, Name) else f"tessera.{LANGUAGE.get(id(value), getattr(value, '__name__', ''))}"
            module, _, attribute = path.rpartition(".")
            return self._import(definition, root, f"from {module} import {attribute} as {root}", line, column)
        if isinstance(value, DType) and not value._policies and not attributes:
            return self._import(definition, root, f"from tessera import {value.name} as {root}", line, column)
        if definition.is_decorator(line):  # only values are captured: the compiler reports decorators of others
            path = root if literal(value) is not None else name
            for attribute in attributes if path == name else ():
                value = getattr(value, attribute, _MISSING)
            text = literal(value)
            return self._constant(definition, path, line, column, text) if text is not None else None
        for attribute in attributes:  # config.BLOCK of an object, also of one that is a value itself, as a named tuple
            reached = getattr(reached, attribute, _MISSING)
        text = self._text_of(reached, function_of) if attributes and reached is not _MISSING else None
        if text is not None:
            return self._constant(definition, name, line, column, text)
        text = self._text_of(value, function_of)
        if text is not None:
            return self._constant(definition, root, line, column, text) if text != root else None
        what = f"'{root}' is a {type(value).__name__}"
        if attributes and reached is not _MISSING:
            what = f"'{name}' is a {type(reached).__name__}"
        elif attributes:
            what += f" without '{'.'.join(attributes)}'"
        raise error(definition, name if attributes else root, line, column, f"{what}, which a kernel cannot capture",
                    "pass it as an argument; functions, kernels, numbers, strings, dtypes and tuples of them are captured")

    def _text_of(self, value: Any, function_of: Callable[[Any], types.FunctionType | None]) -> str | None:
        """What the compiler is given for an object: the name of a function that was added, or a constant."""
        function = function_of(value)
        if function is None:
            return literal(value)
        self.add(read(function, is_inlined=getattr(value, "is_inlined", False)), function_of)
        return function.__name__

    def _constant(self, definition: Definition, name: str, line: int, column: int, text: str) -> None:
        if self.constants.setdefault(name, text) != text:
            raise error(definition, name, line, column, f"'{name}' is {text} here, and {self.constants[name]} in another function",
                        "rename one of the two")

    def _import(self, definition: Definition, name: str, statement: str, line: int, column: int) -> None:
        if self.imports.setdefault(name, statement) != statement:
            raise error(definition, name, line, column, f"'{name}' is another name in another function: {self.imports[name]}",
                        "import it under the same name in both")

    def build(self, decorator: str) -> tuple[str, dict[str, Any]]:
        """The text, and the options that describe it. `decorator`: of the kernel, if its text has none."""
        head = ["import tessera"] + [s for s in self.imports.values() if s != "import tessera"]
        text = "\n".join(head) + "\n"
        pieces = [(1, "<imports>", 1)]
        if self.pieces[0].first == 1:  # it was decorated by a call, f = ts.jit(f)
            pieces.append((text.count("\n") + 1, self.pieces[0].file, self.pieces[0].line))
            text += f"@{decorator}\n"
        for piece in self.pieces:
            pieces.append((text.count("\n") + 1, piece.file, piece.line))
            text += piece.text if piece.text.endswith("\n") else piece.text + "\n"
        return text, {"kernel": self.kernel, "file": self.pieces[0].file, "constants": list(self.constants.items()),
                      "pieces": pieces}
