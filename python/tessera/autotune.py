"""Finds a kernel's fastest tunables on this machine and remembers them, as `tsr tune` does: docs/tuning.md says how it decides.

    @ts.kernel.autotune(space=dict(ROWS=[1, 4, 8]))
    def softmax(...): ...

    print(ts.autotune.tune(softmax, R=[1024, 4096], C=512))

Calls that come later, in other processes too, use what was found.
"""
from __future__ import annotations

import itertools
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tessera import _core, _errors, _interop, _settings
from tessera._entry import entry, method
from tessera._errors import ArgumentError, CompileError, Error
from tessera._kernel import Kernel, _integer, _path
from tessera._names import written
from tessera._tuning_bar import display

__all__ = ["Choice", "Database", "Measured", "Progress", "Report", "Tuned", "Tuning", "database", "report", "tune"]

Configuration = dict[str, int]
_MOST_SIZES = 1000
# The class of an error of the tuner, by the begin of its code.
_CLASSES: tuple[tuple[str, type[Error]], ...] = (
    ("E_OUT_OF_MEMORY", _errors.OutOfMemoryError), ("E_NO_", _errors.BackendError), ("E_BACKEND_", _errors.BackendError),
    ("E_UNIMPLEMENTED", _errors.UnsupportedError), ("E_TUNE_DATABASE", Error), ("E_TUNE_DEFAULT", CompileError),
    ("E_ASSERT", _errors.DeviceError), ("E_EMU_", _errors.DeviceError), ("E_INTERNAL", Error), ("E_FILE_", Error), ("TSR_", Error),
    ("E_", ArgumentError))


class Progress(NamedTuple):
    """How far a run of tune() is."""

    kernel: str
    dims: dict[str, int]
    size: int  # which set of sizes this is, from 1
    sizes: int
    done: int  # configurations of this round. A round leaves the faster half for the next one
    all: int  # 0: they are being compiled
    best: Configuration  # {}: the default
    gain: float  # of the best: how many times as fast as the default
    seconds_left: float  # at most, for this set of sizes


class Measured(NamedTuple):
    """A configuration that was measured: the median of the pairs with the default, and how many there are."""

    configuration: Configuration
    gain: float
    pairs: int


class Tuned(NamedTuple):
    """What was found for one set of sizes."""

    kernel: str
    dims: dict[str, int]
    default: Configuration
    choice: Configuration  # what calls of these sizes use from now on, the default or another one
    fastest: Measured | None  # by its confirming pairs, if it seemed faster than the default. None: none was measured often enough
    wins: float  # of the fastest: in which share of the pairs it was faster
    measured: list[Measured]  # all but the default
    illegal: list[tuple[str, str]]  # configurations that do not compile, each with the reason
    wrong: list[tuple[str, str]]  # configurations that compute something else than the default, each with what differs
    out_of_time: bool

    @property
    def reason(self) -> str:
        """Why this is the choice."""
        if self.fastest is None:
            others = len(self.illegal) + len(self.wrong)
            why = "every other configuration is illegal or wrong" if others and not self.measured else "no other was measured often enough"
        else:
            why = (f"{_words(self.fastest.configuration)} is {self.fastest.gain:.3f} times as fast as the default "
                   f"({self.fastest.pairs} pairs, faster in {self.wins:.0%})")
        earlier = self.choice != self.default and (self.fastest is None or self.choice != self.fastest.configuration)
        return why + ("; the choice follows from earlier runs, too" if earlier else "")

    def __str__(self) -> str:
        text = f"{self.kernel} {_words(self.dims)}: {_words(self.choice)}{' (the default)' if self.choice == self.default else ''}\n"
        text += f"  {len(self.measured) + 1} configurations measured{', out of time' if self.out_of_time else ''}: {self.reason}"
        for what, list_ in (("wrong", self.wrong), ("illegal", self.illegal)):
            text += "".join(f"\n  {what}: {configuration}: {reason}" for configuration, reason in list_)
        return text


class Tuning(Sequence[Tuned]):
    """What a run of tune() found, one Tuned for each set of sizes."""

    def __init__(self, results: list[Tuned], database: str, look_up: str) -> None:
        self._results = results
        self.database = database  # the file with the measurements
        self.look_up = look_up  # the file with the choices; "": none was written

    def __getitem__(self, at: Any) -> Any:
        return self._results[at]

    def __len__(self) -> int:
        return len(self._results)

    def __str__(self) -> str:
        return "\n".join(map(str, self._results))

    def __repr__(self) -> str:
        return f"<tessera.autotune.Tuning of {len(self)} sets of sizes>"

    def _repr_html_(self) -> str:
        from tessera import _html
        return _html.tuning(self)


class Choice(NamedTuple):
    """A choice of a database."""

    kernel: str  # with its parameters and its space
    arch: str
    numerics: str
    when: list[str]  # conditions over the dims
    configuration: Configuration  # {}: the default
    gain: float
    pairs: int
    applies: bool  # False: of another build of the compiler, and not used


class Report(Sequence[Choice]):
    """The choices of a database."""

    def __init__(self, choices: list[Choice], path: str) -> None:
        self._choices = choices
        self.path = path

    def __getitem__(self, at: Any) -> Any:
        return self._choices[at]

    def __len__(self) -> int:
        return len(self._choices)

    def __str__(self) -> str:
        lines = []
        for c in self._choices:
            what = f"{_words(c.configuration)}, {c.gain:.3f} times as fast ({c.pairs} pairs)" if c.configuration else "the default"
            lines += [c.kernel, f"  {c.arch}, {c.numerics}, {' and '.join(c.when)}{'' if c.applies else ', of another compiler, not used'}",
                      f"  {what}"]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<tessera.autotune.Report of {self.path}: {len(self)} choices>"

    def _repr_html_(self) -> str:
        from tessera import _html
        return _html.report(self)


class Database:
    """The tuner's database: a file with every measurement, from which the choices follow."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __repr__(self) -> str:
        return f"<tessera.autotune.Database {self._path or 'of the user'}>"

    @method
    def choices(self) -> Report:
        """What the measurements choose. Raises ts.Error with E_TUNE_DATABASE if there is no such database."""
        answer = _ask({"do": "list", "database": self._path})
        return Report([Choice(row["kernel"], row["arch"], row["numerics"], row["when"], row["configuration"] or {}, row["gain"],
                              row["pairs"], row["applies"]) for row in answer["choices"]], answer["database"])

    @method
    def merge(self, *paths: str, export: str | None = None) -> int:
        """Adds the measurements of other databases, decides again, and writes the look-up file. Returns its number of choices."""
        if not paths:
            raise ArgumentError("merge takes the paths of databases", "E_ARG_COUNT")
        answer = _ask({"do": "merge", "files": [_path(path) for path in paths], "database": self._path, "look_up": _named(export)})
        _settings.forget_code()
        return int(answer["choices"])

    @method
    def export(self, path: str | None = None) -> int:
        """Writes the look-up file, with the choices of runs that were interrupted. Returns how many there are."""
        answer = _ask({"do": "export", "database": self._path, "look_up": _named(path)})
        _settings.forget_code()
        return int(answer["choices"])


@entry
def database(path: str | None = None) -> Database:
    """The database of a path, or the user's: tessera/tune.db in $XDG_DATA_HOME, else in ~/.local/share."""
    return Database(_named(path))


@entry
def report(path: str | None = None) -> Report:
    """The choices of a database, as database(path).choices() gives them: a table when printed or shown in a notebook."""
    return Database(_named(path)).choices()


@entry
def tune(kernel: Kernel, *, inputs: Mapping[str, Any] | None = None, budget: float = 60.0, seed: int = 0, numerics: str | None = None,
         database: str | None = None, export: str | None = None, progress: bool | Callable[[Progress], object] | None = None,
         **dims: Any) -> Tuning:
    """Measures the configurations that a kernel declares with @ts.kernel.autotune beside its default, and remembers the fastest.

        ts.autotune.tune(gemm, M=[256, 1024], N=1024, K=1024)

    Dims are numbers or lists of numbers, of which every combination is tuned; those that the arrays of `inputs` have may be left out.
    `inputs` has values of parameters by name, arrays and numbers; other arrays are random, and numbers have their defaults.
    `budget` is in seconds, which the sets of sizes share. `seed` chooses which configurations of a large space are tried.
    `database` is the file that keeps the measurements, `export` the one with the choices: without them the user's own ones, which all
    compilations read. `progress`: True, False, or a function that is called with a Progress; None: a bar on terminals and in notebooks.

    Ctrl-C, or an exception of `progress`, ends it within 0.1 s. What was measured is kept, and sizes that were finished have their choices.

    Raises ArgumentError: E_TUNE_EMPTY and E_TUNE_SPACE for the space, E_DIM_* and E_ARG_* for dims and inputs; CompileError if the kernel
    or its default does not compile; ts.Error with E_TUNE_DATABASE for a database that cannot be used."""
    if not isinstance(kernel, Kernel) or not hasattr(kernel, "__wrapped__"):
        raise ArgumentError(f"tune takes a function with @ts.kernel.autotune, found {kernel!r}", "E_ARG_TYPE",
                            "a compiled kernel and a kernel of a bundle have no text to compile again")
    if not isinstance(budget, (int, float)) or not 0 < budget <= 1e6:
        raise ArgumentError(f"budget is a number of seconds up to 1000000, found {budget!r}", "E_ARG_RANGE")
    if _integer("seed", seed) < 0:
        raise ArgumentError(f"seed is a number from 0 on, found {seed}", "E_ARG_RANGE")
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise ArgumentError(f"progress is True, False or a function, found {progress!r}", "E_ARG_TYPE")
    open_ = [name for name, is_open in zip(kernel._parameters, kernel._open) if is_open]
    if open_:
        raise ArgumentError(f"{kernel.__name__}: parameter '{open_[0]}' has no type, so there is nothing to tune before a call",
                            "E_PARAMETER", f"write {open_[0]}: ts.Tensor[\"n\", ts.f32]")
    sizes = _sizes(kernel, dims)
    text, options, _ = kernel._options(**({} if numerics is None else {"numerics": _settings.profile(numerics)}))
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        arrays, scalars = _written(kernel, inputs, folder)
        request = {"do": "tune", "source": text, "file": options["file"], "kernel": options["kernel"], "numerics": options["numerics"] or "",
                   **{key: list(options.get(key, ())) for key in ("types", "constants", "pieces")}, "sizes": sizes, "in": arrays,
                   "scalars": scalars, "budget": float(budget), "seed": int(seed), "database": _named(database), "look_up": _named(export)}
        results: list[Tuned] = []
        with display(progress) as show:
            def on_progress(row: dict[str, Any]) -> None:
                show(Progress(row["kernel"], row["dims"], len(results) + 1, len(sizes), row["done"], row["all"], row["best"], row["gain"],
                              row["seconds_left"]))

            try:
                answer = _ask(request, on_progress, lambda row: results.append(_tuned(row)))
            except Error as e:
                raise _with_cause(e, text, options, sizes) from e.__cause__
            finally:
                _settings.forget_code()  # calls look for choices again
    return Tuning(results, answer["database"], answer["look_up"])


def _words(values: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


def _named(path: Any) -> str:
    return "" if path is None else os.path.abspath(_path(path))


def _tuned(row: dict[str, Any]) -> Tuned:
    fastest = row.get("fastest")
    return Tuned(row["kernel"], row["dims"], row["default"], row["choice"] or row["default"],
                 fastest and Measured(fastest["configuration"], fastest["gain"], fastest["pairs"]), fastest["wins"] if fastest else 0.0,
                 [Measured(m["configuration"], m["gain"], m["pairs"]) for m in row["measured"]],
                 [(m["configuration"], m["reason"]) for m in row["illegal"]], [(m["configuration"], m["reason"]) for m in row["wrong"]],
                 row["out_of_time"])


def _sizes(kernel: Kernel, dims: Mapping[str, Any]) -> list[list[tuple[str, str]]]:
    """Every combination of the dims, as texts."""
    tunable = next((name for name in dims if name in kernel._space), None)
    if tunable is not None:
        raise ArgumentError(f"{tunable} is a tunable, whose values are in the space of {kernel.__name__}", "E_DIM_UNKNOWN",
                            "tune() takes dims; k.jit() takes tunables")
    lists = []
    for name, value in dims.items():
        values = list(value) if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) else [value]
        if not values:
            raise ArgumentError(f"the list of sizes of {name} is empty", "E_ARG_RANGE")
        lists.append([(name, str(_integer(name, one))) for one in values])
    kernel._check_dims(dims)
    if math.prod(map(len, lists)) > _MOST_SIZES:
        raise ArgumentError(f"the dims have more than {_MOST_SIZES} combinations", "E_ARG_RANGE")
    return [list(size) for size in itertools.product(*lists)]


def _written(kernel: Kernel, inputs: Mapping[str, Any] | None, folder: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The arrays as files in a folder, and the numbers as texts, both by name."""
    if inputs is not None and not isinstance(inputs, Mapping):
        raise ArgumentError(f"inputs is a dict of names and values, found {inputs!r}", "E_ARG_TYPE")
    given = {name: value for name, value in zip(kernel._parameters, kernel._defaults) if value is not ...}
    given.update(inputs or {})
    files, numbers = [], []
    for at, (name, value) in enumerate(given.items()):
        if name not in kernel._parameters:
            raise ArgumentError(f"{kernel.__name__} has no parameter '{name}'", "E_ARG_UNKNOWN",
                                f"it has {', '.join(kernel._parameters)}")
        number = None if isinstance(value, str) else written(value)
        if number is not None:
            numbers.append((name, number.removeprefix("float('").removesuffix("')").lower()))
            continue
        import numpy as np
        array = _interop.asarray(value)
        path = os.path.join(folder, f"{at}.npy")
        np.save(path, (array if array._dtype in _interop._NUMPY else _interop.asarray(array, "f32")).numpy())
        files.append((name, path))
    return files, numbers


def _ask(request: dict[str, Any], on_progress: Callable[[dict[str, Any]], object] | None = None,
         on_result: Callable[[dict[str, Any]], object] | None = None) -> dict[str, Any]:
    """What the tuner answers. Raises what it reports."""
    answer: dict[str, Any] = {}

    def on_event(text: str) -> None:
        event = json.loads(text)
        if "progress" in event and on_progress is not None:
            on_progress(event["progress"])
        if "result" in event and on_result is not None:
            on_result(event["result"])
        answer.update(event.get("answer", {}))

    _core.tune(json.dumps(request), on_event)
    if answer.get("diagnostics"):
        raise _errors.of_status("TSR_ECOMPILE", "the source does not compile", answer["diagnostics"])
    if answer.get("errors"):
        raise _error(answer["errors"])
    return answer


def _error(errors: list[dict[str, str]]) -> Error:
    """One exception for what is wrong: its text has every error."""
    first = errors[0]
    for begin, cls in _CLASSES:
        if first["code"].startswith(begin):
            break
    more = "".join(f"\n[{e['code']}] {_of_python(e['message'])}" for e in errors[1:])
    made: Error = cls(_of_python(first["message"]) + more, first["code"], _of_python(first["hint"]))
    return made


def _of_python(text: str) -> str:
    """A text of the command line, as a caller of Python writes it."""
    import re
    text = re.sub(r"--dim (\S+)=N", r"tune(kernel, \1=...)", text)
    text = re.sub(r"--(in|scalar) (\w+)=(FILE\.npy|VALUE|\.\.\.)", r'inputs={"\2": ...}', text)
    text = re.sub(r"--(?:in|scalar|dim) (\w+):", r"\1:", text)
    text = re.sub(r"--in (\w+)=\S+?\.npy", r"\1", text)
    text = text.replace("by --dim ", "by the call ")
    text = re.sub(r"--scalar (\w+)=", r"\1=", text)
    text = re.sub(r"\S*/tessera-\w+/\d+\.npy", "the array", text)
    return text.replace("--database FILE", "database=path").replace("--export=FILE", "export=path").replace("--dim ", "").replace(
        "tsr tune FILE makes it", "ts.autotune.tune() makes it")


def _with_cause(error: Error, text: str, options: Mapping[str, Any], sizes: list[list[tuple[str, str]]]) -> Error:
    """The error, with the message of the compiler about the default as its cause, which points at a line; that one alone, if every
    configuration is illegal for the same reason."""
    if error.code in ("E_TUNE_EMPTY", "E_TUNE_DEFAULT"):
        try:
            _core.compile_bundle(text, {**options, "dims": [(name, int(value)) for name, value in sizes[0]]})
        except CompileError as cause:
            reasons = {line.partition(": ")[2] for line in str(error.args[0]).splitlines()[1:]}
            if error.code == "E_TUNE_EMPTY" and len(reasons) == 1:  # it has nothing to do with the space
                return cause
            error.__cause__ = cause
        except Error:
            pass
    return error


