"""What a program's work took: launches, copies, collectives, calls of the library, and ranges that the program names.

    with ts.profiler.trace("step.json") as profile:
        with ts.profiler.range("forward"):
            y = f(x)
    print(profile)          # a table; in a notebook, a table and a timeline

The file is for ui.perfetto.dev and chrome://tracing.
"""
from __future__ import annotations

import errno
import itertools
import json
import os
import stat
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any, NamedTuple

from tessera import _core, _missing
from tessera._entry import method
from tessera._errors import ArgumentError, Error
from tessera._kernel import _path

__all__ = ["Profile", "range", "trace"]

# What a record counts as. A kernel's own phases, products and reductions, are not in the records.
_PHASES = {"launch": "kernel", "copy": "copy", "fill": "copy", "collective": "comm", "range": "host", "call": "host"}
_PHASE_NAMES = ("kernel", "copy", "comm", "host")


class Record(NamedTuple):
    """One piece of work. Times are nanoseconds of CLOCK_MONOTONIC."""

    kind: str  # launch, copy, fill, range, collective, call
    name: str  # of the kernel, the range, the collective or the library's function; "" of copies and fills
    backend: str
    device: int  # -1: a collective
    begin_ns: int
    end_ns: int
    correlation: int  # a call and the work that it queued have the same number; 0: not known
    bytes: int  # copied, filled, or given to a collective
    programs: int  # of a launch
    thread: int  # of a call, a range or a collective
    stream: int  # 0: not known

    @property
    def phase(self) -> str:
        """kernel, copy, comm or host."""
        return _PHASES[self.kind]


class Row(NamedTuple):
    """What records of one name and kind have in common."""

    name: str
    kind: str
    backend: str
    calls: int
    total_ns: int
    min_ns: int
    max_ns: int
    bytes: int


class Profile:
    """The records of a trace: `with ts.profiler.trace() as profile`. It is empty until the trace has ended.

    `records` are in the order of their begin, `dropped` is the number of those that came after the first million."""

    records: tuple[Record, ...] = ()
    dropped: int = 0

    def _fill(self, rows: list[tuple[Any, ...]], dropped: int) -> None:
        self.records = tuple(sorted((Record(*row) for row in rows), key=lambda record: record.begin_ns))
        self.dropped = dropped

    def __repr__(self) -> str:
        return f"<tessera.profiler.Profile of {len(self.records)} records>"

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        from tessera import _html
        return _html.profile(self)

    @property
    def duration_ns(self) -> int:
        """From the first begin to the last end."""
        return max((record.end_ns for record in self.records), default=0) - min((record.begin_ns for record in self.records), default=0)

    @property
    def phases(self) -> dict[str, int]:
        """The nanoseconds of all records by phase: kernel, copy (with fills), comm, and host (calls of the library; ranges contain
        other records and are left out)."""
        out = dict.fromkeys(_PHASE_NAMES, 0)
        for record in self.records:
            if record.kind != "range":
                out[record.phase] += record.end_ns - record.begin_ns
        return out

    def rows(self) -> list[Row]:
        """The records by name, kind and backend; those that took longest are first."""
        found: dict[tuple[str, str, str], list[Record]] = {}
        for record in self.records:
            found.setdefault((record.name or record.kind, record.kind, record.backend), []).append(record)
        rows = []
        for (name, kind, backend), records in found.items():
            times = [record.end_ns - record.begin_ns for record in records]
            rows.append(Row(name, kind, backend, len(times), sum(times), min(times), max(times), sum(r.bytes for r in records)))
        return sorted(rows, key=lambda row: -row.total_ns)

    def table(self) -> str:
        """rows() as text: counts, times, their part of the duration, and the rate of what has bytes."""
        head = ("name", "kind", "backend", "calls", "total ms", "mean us", "min us", "max us", "%", "GB/s")
        cells = [head, *self._cells()]
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = ["  ".join(cell.ljust(width) if i < 3 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
                 for row in cells]
        if self.dropped:
            lines.append(f"{self.dropped} more records were not kept")
        return "\n".join(lines)

    def _cells(self) -> Iterator[tuple[str, ...]]:
        whole = self.duration_ns or 1
        for row in self.rows():
            yield (row.name, row.kind, row.backend, str(row.calls), f"{row.total_ns / 1e6:.3f}", f"{row.total_ns / row.calls / 1e3:.2f}",
                   f"{row.min_ns / 1e3:.2f}", f"{row.max_ns / 1e3:.2f}", f"{100 * row.total_ns / whole:.1f}",
                   f"{row.bytes / row.total_ns:.2f}" if row.bytes and row.total_ns else "")

    @method
    def save(self, path: str) -> None:
        """Writes a JSON document for ui.perfetto.dev and chrome://tracing. A file is written as a whole or not at all; of a link it is the
        one that it leads to. Devices and pipes are written to.

        Raises ts.Error with TSR_EIO if it cannot be written."""
        name = _path(path)
        target = os.path.realpath(name)
        is_file = os.path.isfile(target) or not os.path.exists(target)
        # Of this call alone, also among threads. tempfile.mkstemp would not heed the umask.
        part = f"{target}.{os.urandom(8).hex()}.part" if is_file else target
        try:
            if is_file and os.path.exists(target) and not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            with open(part, "x" if is_file else "w") as file:
                file.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
                file.write(",\n".join(map(json.dumps, self._events())))
                file.write('\n], "otherData": ' + json.dumps({"dropped": self.dropped}) + "}\n")
            if is_file:
                if os.path.exists(target):
                    os.chmod(part, stat.S_IMODE(os.stat(target).st_mode))
                os.replace(part, target)
        except OSError as e:
            raise Error(f"{name}: {e.strerror}", "TSR_EIO") from None
        finally:
            if is_file and os.path.exists(part):
                os.unlink(part)

    def _events(self) -> Iterator[dict[str, Any]]:
        """Trace events: a process for each device and one for the host, tracks for streams and threads, arrows from calls to work."""
        begin = self.records[0].begin_ns if self.records else 0
        tracks = self.tracks()
        processes = list(dict.fromkeys(process for process, _ in tracks))
        place = {track: (processes.index(track[0]) + 1, number + 1) for number, track in enumerate(tracks)}
        for number, process in enumerate(processes):
            yield {"ph": "M", "name": "process_name", "pid": number + 1, "args": {"name": process}}
        for (_, name), (pid, tid) in place.items():
            yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}
        for track, records in tracks.items():
            pid, tid = place[track]
            for record in records:
                at = {"pid": pid, "tid": tid, "ts": (record.begin_ns - begin) / 1e3}
                more = {name: getattr(record, name) for name in ("bytes", "programs") if getattr(record, name)}
                yield {"ph": "X", "name": record.name or record.kind, "cat": record.phase, "dur": (record.end_ns - record.begin_ns) / 1e3,
                       **at, "args": more}
                if record.correlation and record.kind != "collective":
                    flow = {"name": "queues", "cat": "call", "id": record.correlation, **at}
                    yield {"ph": "s", **flow} if record.kind == "call" else {"ph": "f", "bp": "e", **flow}

    def tracks(self) -> dict[tuple[str, str], list[Record]]:
        """The records of each stream of a device, and of each thread of the host."""
        out: dict[tuple[str, str], list[Record]] = {}
        streams: dict[int, str] = {}
        for record in self.records:
            if record.phase in ("host", "comm"):
                track = "host", f"thread {record.thread}"
            else:
                name = streams.setdefault(record.stream, f"stream {len(streams) + 1}" if record.stream else "work")
                track = f"{record.backend}:{record.device}", name
            out.setdefault(track, []).append(record)
        return out

    roofline = _missing.function("tessera.profiler.Profile.roofline")


class trace:  # noqa: N801 (used as a function)
    """with trace("step.json") as profile: the work of the block, of all threads and backends, becomes the records of a Profile, and is
    written to the file if one is named. It waits for queued work before the block and at its end; ranges that are open then end with it. One
    trace runs at a time.

    Raises ts.Error: TSR_EIO if the file cannot be written, TSR_EINVAL for a trace in a trace, and UnsupportedError for a backend
    without records. What the block raises stays, with a note about what failed after it."""

    @method
    def __init__(self, path: str | None = None) -> None:
        self._path = None if path is None else _path(path)
        self._profile = Profile()

    @method
    def __enter__(self) -> Profile:
        if self._path is not None:
            target = os.path.realpath(self._path)
            needed = target if os.path.exists(target) and not os.path.isfile(target) else os.path.dirname(target)
            if os.path.isdir(target) or not os.access(needed, os.W_OK):
                raise Error(f"{self._path} cannot be written", "TSR_EIO")
        _core.synchronize()  # what was queued before is not of the block
        _core.trace_start()
        self._begin = time.monotonic_ns()
        return self._profile

    @method
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        failures: list[Error] = []
        try:
            _core.synchronize()
        except Error as e:
            failures.append(e)
        finally:
            rows, dropped = _core.trace_stop()
            end, backend = time.monotonic_ns(), _core.target()[0]
            rows += [("range", name, backend, 0, begin, end, 0, 0, 0, thread, 0) for name, begin, thread in list(_open.values())
                     if begin >= self._begin]
            self._profile._fill(rows, dropped)
            if self._path is not None:
                try:
                    self._profile.save(self._path)
                except Error as e:
                    failures.append(e)
        raised = error if error is not None else failures.pop(0) if failures else None
        for failure in failures:
            assert raised is not None
            raised.add_note(f"the end of the trace has failed, too: {failure}")
        if raised is not None and raised is not error:
            raise raised


_open: dict[int, tuple[str, int, int]] = {}  # the ranges that are open: name, begin, thread
_numbers = itertools.count()
os.register_at_fork(after_in_child=_open.clear)


class range:  # noqa: A001, N801 (used as a function)
    """with range("forward"): a part of the program, under that name in the records of this thread. Ranges nest.

    Raises ArgumentError with E_ARG_TYPE for what is no name."""

    @method
    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or "\0" in name or name != name.encode(errors="replace").decode():
            raise ArgumentError(f"the name of a range is a str in UTF-8 without NUL, found {name!r}", "E_ARG_TYPE")
        self._name = name
        self._begun: list[tuple[int, int]] = []

    @method
    def __enter__(self) -> None:
        number = next(_numbers)
        self._begun.append((_core.push_range(self._name), number))
        _open[number] = self._name, time.monotonic_ns(), threading.get_native_id()

    @method
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._begun:
            raise ArgumentError(f"the range '{self._name}' was not entered", "E_CALL")
        begun, number = self._begun.pop()
        _open.pop(number, None)
        _core.pop_range(begun)
