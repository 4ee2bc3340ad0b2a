#!/usr/bin/env python3
"""Compares each operation of graph functions with NumPy, over sizes, ranks, extents that end inside a tile, and dtypes.

Results are checked before anything is timed, against NumPy in double precision. Tessera and NumPy take turns, on arrays of one
process. The table is sorted: the operations that are slowest beside NumPy come first. The cases are in cases.py; whole programs, as
others write them, in programs.py, pictures.py, sciences.py, selections.py and tutorials.py.
"""
import argparse
import json
import os
import pathlib
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests"), str(pathlib.Path(__file__).resolve().parent)]
from cases import GROUPS, all_cases  # noqa: E402
from library import Library, Refused  # noqa: E402
from support.host import bf16  # noqa: E402

SECONDS = 0.06  # that each of the two is measured
RTOL = {"f64": 1e-10, "f16": 4e-3, "bf16": 4e-2}  # of an element plus the largest; else that of f32
RTOL_F32 = 2e-5
QUIET = {"invalid": "ignore", "over": "ignore", "divide": "ignore", "under": "ignore"}


class Wrong(Exception):
    """A result that differs from NumPy's."""


def compare(got, want, dtype):
    if got.shape != want.shape or (got.dtype.kind == "f") != (want.dtype.kind == "f"):
        raise Wrong(f"the result is {got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}")
    if got.dtype.kind != "f":
        if not np.array_equal(got, want):
            raise Wrong(f"{np.count_nonzero(got != want)} of {want.size} elements differ")
        return
    if dtype == "f16":
        want = want.astype("f2").astype("f8")  # what is too large becomes infinite
    rtol = RTOL.get(dtype, RTOL_F32)
    scale = np.abs(want[np.isfinite(want)]).max(initial=1e-30)
    close = np.isclose(got, want, rtol, rtol * scale, equal_nan=True)
    if not close.all():
        at = np.unravel_index(np.argmin(close), want.shape)
        raise Wrong(f"{np.count_nonzero(~close)} of {want.size} elements differ; at {list(map(int, at))} {got[at]}, not {want[at]}")


def bits_of_bf16(x):
    return (x.view("u4") >> 16).astype("u2")


clock = time.perf_counter


def fastest(*calls):
    """The shortest seconds of each call; they take turns."""
    times = [[] for _ in calls]
    rounds = 0
    for call in calls:
        call()
    while rounds < 3 or (rounds < 400 and min(map(sum, times)) < SECONDS):
        for call, own in zip(calls, times):
            start = clock()
            call()
            own.append(clock() - start)
        rounds += 1
    return [min(own) for own in times]


def measure(case, function):
    inputs = case.inputs(np.random.default_rng(1))
    is_bf16 = case.dtype == "bf16"
    if is_bf16:
        inputs = {k: bf16(v) if v.dtype == "f4" else v for k, v in inputs.items()}
    want = case.numpy(*(v.astype("f8") if v.dtype.kind == "f" else v for v in inputs.values()))
    wants = list(want) if isinstance(want, tuple) else [np.asarray(want)]
    arrays = {k: bits_of_bf16(v) if is_bf16 and v.dtype == "f4" else v for k, v in inputs.items()}
    call, results = function.bind(arrays, case.size, [w.shape for w in wants])
    call()
    for got, w in zip(results, wants):
        if got.dtype == "u2":
            got = (got.astype("u4") << 16).view("f4")
        compare(got, w, case.dtype)
    return fastest(call, lambda: case.numpy(*inputs.values()))


def row_of(case, library):
    """A row of the table; `error` says what is wrong."""
    row = {"operation": case.name, "dtype": case.dtype, "size": " ".join(f"{k}={v}" for k, v in case.size.items())}
    function = None
    try:
        function = library.compile(case.source(), case.size)
        with np.errstate(**QUIET):
            row["seconds"], row["numpy_seconds"] = measure(case, function)
        row["ratio"] = row["numpy_seconds"] / row["seconds"]
    except (Wrong, Refused) as wrong:
        row["error"] = str(wrong)
    if function:
        function.unload()
    return row


def text_of(row):
    line = f"{row['operation']:<24} {row['dtype']:<5} {row['size']:<28}"
    if "error" in row:
        return f"{line} WRONG: {row['error']}"
    return f"{line} {row['seconds'] * 1e6:>11.1f} {row['numpy_seconds'] * 1e6:>11.1f} {row['ratio']:>7.2f}"


def main():
    parser = argparse.ArgumentParser(prog="./dev bench operations", description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help=f"groups ({', '.join(GROUPS)}) or parts of the names of operations")
    parser.add_argument("--dtype", help="only this one")
    parser.add_argument("--below", type=float, help="print only ratios below this, NumPy's time over Tessera's")
    parser.add_argument("--processor-time", action="store_true", help="bind to one core and count processor time: for a busy machine")
    parser.add_argument("--progress", action="store_true", help="print each row as it is measured, to standard error")
    parser.add_argument("--json", action="store_true", help="print a JSON array in place of the table")
    parser.add_argument("--library", default=str(ROOT / "build/release/lib/libtessera.so"))
    given = parser.parse_args()
    if given.processor_time:
        global clock
        clock = time.process_time
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    groups, parts = [w for w in given.words if w in GROUPS], [w for w in given.words if w not in GROUPS]
    cases = [c for c in all_cases(groups) if (not parts or any(p in c.name for p in parts)) and given.dtype in (None, c.dtype)]
    rows, library = [], Library(given.library)
    for case in cases:
        rows.append(row_of(case, library))
        if given.progress:
            print(text_of(rows[-1]), file=sys.stderr, flush=True)
    rows.sort(key=lambda r: r.get("ratio", -1))
    wrong = sum("error" in r for r in rows)
    shown = [r for r in rows if "error" in r or given.below is None or r["ratio"] < given.below]
    if given.json:
        print(json.dumps(shown, indent=2))
    else:
        print(f"{'operation':<24} {'dtype':<5} {'size':<28} {'us':>11} {'NumPy us':>11} {'ratio':>7}")
        for row in shown:
            print(text_of(row))
        print(f"\n{len(rows) - wrong} of {len(rows)} agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
