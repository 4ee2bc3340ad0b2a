"""What objects look like in notebooks: HTML with a style of its own, without scripts, with nothing from a network, below LIMIT bytes."""
from __future__ import annotations

import html
import re

from tessera import _capture, _core, _interop
from tessera._errors import CompileError, Diagnostic, Error

TYPE_CHECKING = False  # importing typing would take a quarter of the package's import
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from tessera._kernel import Compiled, Kernel, Module
    from tessera.autotune import Report, Tuning
    from tessera.profiler import Profile, Record

LIMIT = 200_000
_ROOM = LIMIT // 2  # of what is shown in full; escaped it may need more, which _page sees
_EDGE = 3  # values at each end of an axis
_READ = 1 << 20  # bytes of an array that are converted, or copied from a device, to show its values
_LEVELS = ("graph", "schedule", "tile", "target")
# The background is set too: a notebook's theme may be another than the system's.
_STYLE = """<style>
.tessera{--tsr-text:#1f2328;--tsr-soft:#59636e;--tsr-back:#ffffff;--tsr-line:#d1d9e0;--tsr-code:#f6f8fa;--tsr-bad:#b3261e;--tsr-good:#0b6e3b;
background:var(--tsr-back);color:var(--tsr-text);font:13px/1.45 system-ui,sans-serif;padding:8px;border:1px solid var(--tsr-line);
border-radius:6px;max-width:100%;overflow-x:auto;color-scheme:light dark}
@media (prefers-color-scheme:dark){.tessera{--tsr-text:#e6edf3;--tsr-soft:#9198a1;--tsr-back:#0d1117;--tsr-line:#3d444d;--tsr-code:#151b23;
--tsr-bad:#ff8a80;--tsr-good:#7ee2a8}}
.tessera table{border-collapse:collapse;margin:6px 0;color:inherit;background:none}
.tessera th,.tessera td{border:1px solid var(--tsr-line);padding:2px 8px;text-align:left;color:inherit;background:none;font-weight:normal}
.tessera th,.tessera .soft{color:var(--tsr-soft)}
.tessera pre{background:var(--tsr-code);color:inherit;padding:6px;margin:4px 0;overflow:auto;max-height:24em;font:12px/1.4 monospace}
.tessera .bad{color:var(--tsr-bad);font-weight:bold}
.tessera .good{color:var(--tsr-good)}
.tessera .levels{display:flex;flex-wrap:wrap;gap:8px}
.tessera .levels details{flex:1 1 8em;min-width:0}
.tessera .levels details[open]{flex:8 1 24em}
</style>"""


def _page(*parts: str) -> str:
    """The parts in one block. One that would make it too large is left out, with a line that says so."""
    out = ""
    for part in parts:
        if len((out + part).encode()) > LIMIT - len(_STYLE) - 500:
            part = '<p class="soft">(too large to be shown)</p>'
        out += part
    return f'<div class="tessera">{_STYLE}{out}</div>'


def _text(value: Any) -> str:
    return html.escape(str(value))


def _clipped(text: str, room: int) -> str:
    """The escaped beginning of a text, and how much of it is missing."""
    if len(text.encode()) <= room:
        return html.escape(text)
    kept = text.encode()[:room].decode(errors="ignore").rpartition("\n")[0]
    return f"{html.escape(kept)}\n... {len(text) - len(kept):,} more characters"


def _pre(text: str, room: int = _ROOM) -> str:
    return f"<pre>{_clipped(text, room)}</pre>"


def _details(title: str, body: str, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{_text(title)}</summary>{body}</details>"


def _table(head: tuple[str, ...], rows: Iterable[Iterable[Any]]) -> str:
    first = "<tr>" + "".join(f"<th>{_text(cell)}</th>" for cell in head) + "</tr>" if head else ""
    body = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{first}{body}</table>"


# --- kernels ---

def _type(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    return str(getattr(annotation, "_text", None) or getattr(annotation, "__name__", annotation))


def kernel(it: Kernel) -> str:
    """Signature, tunables, source."""
    rows = [(name, _type(it._annotations[name]).replace("tessera.", "") if name in it._annotations else "of the call",
             "" if default is ... else repr(default)) for name, default in zip(it._parameters, it._defaults)]
    parts = [f"<b>{'graph function' if it._is_function else 'kernel'} {_text(it.__name__)}</b>"]
    function = getattr(it, "__wrapped__", None)
    if function is not None:
        code = function.__code__
        parts.append(f' <span class="soft">{_text(code.co_filename)}:{code.co_firstlineno}</span>')
    parts.append(_table(("parameter", "type", "default"), rows))
    if it._space:
        parts.append(_table(("tunable", "values"), ((name, ", ".join(map(str, values))) for name, values in it._space.items())))
    if function is not None:
        try:
            found = _capture.read(function)
            parts.append(_details("source", _pre(found.above + found.text)))
        except CompileError:  # its file is gone
            pass
    return _page(*parts)


def _levels(it: Compiled, shown: str) -> str:
    """The four levels beside each other."""
    return ('<div class="levels">' + "".join(_details(level, _pre(it.inspect_ir(level), _ROOM // len(_LEVELS)), level == shown)
                                            for level in _LEVELS) + "</div>")


def compiled(it: Compiled) -> str:
    """Signature, decisions, fallbacks, IR."""
    parts = [f"<b>{_text(it.kernel.__name__)}</b>"]
    if it._code is not None:
        rows = ((row["name"], row["kind"], row["dtype"], ", ".join(row["dims"]),
                 " ".join(word for word in ("reads", "writes") if row[word])) for row in it.signature)
        parts.append(_table(("argument", "kind", "dtype", "dims", "access"), rows))
        decided = re.findall(r"^(target|numerics|permits|tile|specialized|launch|fallbacks|notes):(.*(?:\n +.*)*)", it.metadata, re.MULTILINE)
        parts += [_table(("decision", ""), ((name, " ".join(value.split())) for name, value in decided)),
                  _details("metadata", _pre(it.metadata, _ROOM // 4))]
    else:
        parts.append(f' <span class="soft">for {_text(it._options["target"])}</span>')
    return _page(*parts, _levels(it, ""))


def ir(it: Compiled, level: str, text: str) -> str:
    name = f"<b>{_text(it.kernel.__name__)}</b> <span class=\"soft\">{_text(level)}</span>"
    return _page(name, _levels(it, level) if level in _LEVELS else _pre(text))


def module(it: Module) -> str:
    return _page("<b>module</b>", _table(("kernel", "parameters"), ((name, ", ".join(k._parameters)) for name, k in it.items())))


# --- arrays ---

def _values(it: _core.Array) -> Any:
    """A NumPy array of the elements; None if reading them would take long."""
    if it._dtype in _interop._NUMPY:
        return it.numpy() if it.device == "cpu" or it.nbytes <= _READ else None
    return _interop.asarray(it, "f32").numpy() if it.nbytes <= _READ else None


def _corners(count: int) -> list[int | None]:
    """The places that are shown of an axis; None: some are left out."""
    return [*range(count)] if count <= 2 * _EDGE + 1 else [*range(_EDGE), None, *range(count - _EDGE, count)]


def array(it: _core.Array) -> str:
    """Shape, dtype, device, values at the corners of the first matrix."""
    dims = ", ".join(map(str, it.shape))
    head = f'<b>Array {_text(it._dtype)}[{dims}]</b> <span class="soft">on {_text(it.device)}, {it.nbytes:,} bytes</span>'
    try:
        values = _values(it)
    except (Error, ImportError) as wrong:
        return _page(head, f'<p class="soft">{_text(wrong)}</p>')
    if values is None or 0 in it.shape:
        return _page(head)
    where = f"[{', '.join(['0'] * (it.ndim - 2) + [':', ':'])}]" if it.ndim > 2 else ""
    matrix = values[(0,) * (it.ndim - 2)] if it.ndim > 2 else values.reshape((1,) * (2 - it.ndim) + it.shape)
    columns = _corners(matrix.shape[1])
    rows = (["…"] * len(columns) if i is None else ["…" if j is None else matrix[i, j].item() for j in columns]
            for i in _corners(matrix.shape[0]))
    return _page(head, f'<div class="soft">{where}</div>' if where else "", _table((), rows))


# --- profiles ---

_COLOURS = {"kernel": "#009E73", "copy": "#0072B2", "comm": "#CC79A7", "host": "#999999"}  # distinct for colour-blind readers
_WIDTH, _HEIGHT = 900, 18  # of a timeline
_ROWS, _MARKS = 24, 600  # at most so many rows, and rectangles in all of them


def _timeline(it: Profile) -> str:
    """A row for each stream and thread, another one for a thread's ranges. What is shorter than a few pixels is one rectangle with its
    neighbours."""
    rows: dict[tuple[str, ...], list[Record]] = {}
    for track, records in it.tracks().items():
        for record in records:
            rows.setdefault((*track, "ranges") if record.kind == "range" else track, []).append(record)
    start, whole = it.records[0].begin_ns, max(it.duration_ns, 1)
    step = _WIDTH * min(len(rows), _ROWS) / _MARKS * 2
    out = ""
    for number, (row, records) in enumerate(list(rows.items())[:_ROWS]):
        y = number * (_HEIGHT + 14)
        out += f'<text x="0" y="{y + 10}">{_text(", ".join(row))}</text>'
        marks: list[tuple[float, float, Record, int]] = []  # left, right, the first record, how many
        for record in records:
            left, right = (_WIDTH * (at - start) / whole for at in (record.begin_ns, record.end_ns))
            if marks and right - marks[-1][0] < step:
                marks[-1] = marks[-1][0], max(marks[-1][1], right), marks[-1][2], marks[-1][3] + 1
            else:
                marks.append((left, right, record, 1))
        for left, right, record, count in marks:
            words = (record.name or record.kind)[:200] + (f" and {count - 1} more" if count > 1 else "")
            out += (f'<rect x="{left:.1f}" y="{y + 13}" width="{max(right - left, 1):.1f}" height="{_HEIGHT}" '
                    f'fill="{_COLOURS[record.phase]}"><title>{_text(words)}</title></rect>')
    height = min(len(rows), _ROWS) * (_HEIGHT + 14) + 4
    more = f'<p class="soft">{len(rows) - _ROWS} more rows</p>' if len(rows) > _ROWS else ""
    return (f'<svg viewBox="0 0 {_WIDTH} {height}" width="100%" role="img" aria-label="timeline" '
            f'style="fill:currentColor;font:10px sans-serif">{out}</svg>{more}')


def profile(it: Profile) -> str:
    """Phases, the timeline, the table."""
    head = f"<b>Profile</b> <span class=\"soft\">{len(it.records):,} records in {it.duration_ns / 1e6:.3f} ms</span>"
    if not it.records:
        return _page(head)
    legend = " ".join(f'<span style="color:{_COLOURS[phase]}">&#9632;</span> {phase} {ns / 1e6:.3f} ms' for phase, ns in it.phases.items())
    cells = [*it._cells()]
    table = _table(("name", "kind", "backend", "calls", "total ms", "mean us", "min us", "max us", "%", "GB/s"),
                   ((row[0][:200], *row[1:]) for row in cells[:100]))
    more = f'<p class="soft">{len(cells) - 100:,} more rows</p>' if len(cells) > 100 else ""
    dropped = f'<p class="bad">{it.dropped:,} more records were not kept</p>' if it.dropped else ""
    return _page(head, f"<div>{legend}</div>", dropped, _timeline(it), table, more)


# --- tuning ---

def progress(done: int, all_: int, line: str) -> str:
    return _page(f'<progress max="{max(all_, 1)}" value="{done}"></progress> <span class="soft">{_text(line)}</span>')


def _configuration(values: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items()) or "the default"


def tuning(it: Tuning) -> str:
    """A row for each set of sizes, then what was measured."""
    rows = [(one.kernel, _configuration(one.dims), _configuration(one.choice) + (" (the default)" if one.choice == one.default else ""),
             one.reason) for one in it[:100]]
    parts = [_table(("kernel", "sizes", "choice", "why"), rows)]
    for one in it[:100]:
        measured = [(_configuration(m.configuration), f"{m.gain:.3f}", m.pairs) for m in sorted(one.measured, key=lambda m: -float(m.gain))]
        out = [(configuration, what, reason) for what, found in (("wrong", one.wrong), ("illegal", one.illegal))
               for configuration, reason in found]
        body = _table(("configuration", "times as fast as the default", "pairs"), measured[:100])
        body += _table(("configuration", "takes no part", "why"), ((c, w, r[:500]) for c, w, r in out[:100])) if out else ""
        parts.append(_details(f"{one.kernel} {_configuration(one.dims)}: {len(one.measured) + 1} configurations measured", body))
    return _page(f'<b>Tuning</b> <span class="soft">{_text(it.database)}</span>', *parts)


def report(it: Report) -> str:
    rows = ((c.kernel[:500], c.arch, c.numerics, " and ".join(c.when), _configuration(c.configuration), f"{c.gain:.3f}", c.pairs,
             "yes" if c.applies else "no: another compiler") for c in it[:200])
    more = f'<p class="soft">{len(it) - 200:,} more rows</p>' if len(it) > 200 else ""
    return _page(f'<b>Tuned configurations</b> <span class="soft">{_text(it.path)}</span>',
                 _table(("kernel", "processor", "profile", "sizes", "configuration", "gain", "pairs", "used"), rows), more)


# --- errors ---

def _diagnostic(d: Diagnostic) -> str:
    out = f'<div><span class="{"bad" if d.severity == "error" else "soft"}">[{_text(d.code)}]</span> {_clipped(d.message, _ROOM // 20)}</div>'
    if d.line:
        source = d.source_line if len(d.source_line) <= 2000 else d.source_line[:2000]
        start, end = d.column - 1, max(d.end - 1, d.column)
        marked = f'{_text(source[:start])}<span class="bad"><u>{_text(source[start:end])}</u></span>{_text(source[end:])}'
        out += f'<div class="soft">{_text(d.file)}:{d.line}:{d.column}</div><pre>{d.line} | {marked}</pre>'
    return out + (f'<div class="good">help: {_clipped(d.hint, _ROOM // 20)}</div>' if d.hint else "")


def diagnostic(it: Diagnostic) -> str:
    return _page(_diagnostic(it))


def error(it: Error) -> str:
    """Every diagnostic of a CompileError, else code, message and hint."""
    found = getattr(it, "diagnostics", ()) or (Diagnostic("error", it.code, str(it.args[0]), "", 0, 1, 1, it.hint, ""),)
    return _page(f"<b>{_text(type(it).__name__)}</b>", *map(_diagnostic, found))


def traceback_of(it: CompileError) -> list[str]:
    """The lines that a notebook shows for a CompileError that ends a cell: the frames of the cell, and the diagnostics with colour."""
    import traceback
    red, green, bold, off = "\x1b[31m", "\x1b[32m", "\x1b[1m", "\x1b[0m"
    frames = [frame for frame in traceback.extract_tb(it.__traceback__) if not re.search(r"/(IPython|ipykernel)/", frame.filename)]
    lines = ["Traceback (most recent call last):", *"".join(traceback.format_list(frames)).splitlines()]
    lines.append(f"{bold}tessera.{type(it).__name__}{off}: ")
    for line in str(it).splitlines():
        line = re.sub(r"^\[(\w+)\]", rf"{bold}{red}[\1]{off}", line)
        line = re.sub(r"(?<=\| )(\s*)(\^+)", rf"\1{red}\2{off}", line)
        lines.append(re.sub(r"\bhelp: .*", lambda found: green + found[0] + off, line))
    return lines
