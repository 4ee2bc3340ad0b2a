#!/usr/bin/env python3
"""Checks the samples against NumPy in double precision and times them beside NumPy and a C loop.

A sample is a folder of samples/ with its program NAME.py, its README.md and a check.py, which declares

    SMALL                    sizes to check: ragged ones, and those at which an algorithm changes
    LARGE                    the size to time
    inputs(random, **size)   the parameters by name: arrays, and numbers for scalars
    compute(**inputs)        the outputs by name, as a user of NumPy computes them

and, where the defaults do not fit,

    numpy(**inputs)          what is timed in place of `compute`
    RTOL, ATOL               an element may differ by ATOL + RTOL * abs(element)
    bound(want, **inputs)    how much elements may differ, by output
    KERNEL                   the function to call, if the program has several

`compute` is called with doubles for the reference, and with the sample's own dtypes for the time. If the folder has a loop.c, its
function `loop` computes the same in C: its arguments are a pointer for each array and a number for each scalar of `inputs`, in
their order, then a pointer for each output that is no input, then the numbers of the size as `long`. Its results are checked too.
"""
import argparse
import concurrent.futures
import ctypes
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests"))
from support.host import Tsr  # noqa: E402

C_SCALARS = {"f": ctypes.c_float, "i": ctypes.c_long, "b": ctypes.c_bool}
ROUNDS = 3  # in which Tessera, NumPy and the loop take turns


class Wrong(Exception):
    """A result that differs from its reference by more than its bound, or a program that did not run."""


class Case:
    """A sample at one size, with its inputs and what they must give."""

    def __init__(self, sample, size):
        self.sample, self.check, self.size = sample, sample.check, size
        self.inputs = self.check.inputs(np.random.default_rng(1), **size)
        in_double = {k: v.astype("f8") if isinstance(v, np.ndarray) and v.dtype.kind == "f" else v for k, v in self.inputs.items()}
        with np.errstate(all="ignore"):
            self.want = self.check.compute(**in_double)
        if hasattr(self.check, "bound"):
            self.bounds = self.check.bound(self.want, **self.inputs)
        else:
            rtol, atol = getattr(self.check, "RTOL", 1e-5), getattr(self.check, "ATOL", 1e-6)
            self.bounds = {k: atol + rtol * abs(v) for k, v in self.want.items()}

    def __str__(self):
        return " ".join(f"{k}={v}" for k, v in self.size.items())

    def compare(self, got):
        """Returns the largest error over its bound; integers must be equal."""
        worst = 0.0
        for name, want in self.want.items():
            if got[name].shape != want.shape:
                raise Wrong(f"{name} has the shape {got[name].shape}, not {want.shape}")
            if want.dtype.kind != "f":
                if not np.array_equal(got[name], want):
                    raise Wrong(f"{name}: {np.count_nonzero(got[name] != want)} of {want.size} elements differ")
            elif want.size:
                over = abs(got[name].astype("f8") - want) / (self.bounds[name] + 1e-300)
                over[np.isnan(over)] = np.inf
                if over.max() > 1:
                    at = np.unravel_index(over.argmax(), over.shape)
                    raise Wrong(f"{name}{list(map(int, at))} is {got[name][at]}, not {want[at]}: {np.count_nonzero(over > 1)} of "
                                f"{want.size} elements differ by more than their bound")
                worst = max(worst, float(over.max()))
        return worst

    def run(self, tsr, runs=0):
        """Runs the program; returns (error over bound, fastest seconds of `runs` or None)."""
        words = ["--json"] + (["--time", runs] if runs else [])
        if hasattr(self.check, "KERNEL"):
            words += ["--kernel", self.check.KERNEL]
        result = tsr.run(self.sample.source, list(self.want), self.inputs, *words)
        if result.status != 0:
            raise Wrong(result.errors.strip())
        timing = json.loads(result.output).get("timing")
        return self.compare(dict(zip(self.want, result.outputs))), timing and timing["min_seconds"]

    def own_inputs(self):
        """A copy of the inputs, and a function that gives the in/out arrays their first contents."""
        own = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in self.inputs.items()}

        def restore():
            for name in self.want.keys() & own.keys():
                np.copyto(own[name], self.inputs[name])

        return own, restore

    def time_numpy(self):
        call, (own, restore) = getattr(self.check, "numpy", self.check.compute), self.own_inputs()
        with np.errstate(all="ignore"):
            return fastest(lambda: call(**own), restore)

    def time_loop(self, loop):
        own, restore = self.own_inputs()
        results = {k: own[k] if k in own else np.zeros(v.shape, "f4" if v.dtype.kind == "f" else v.dtype) for k, v in self.want.items()}
        arrays = [*own.values(), *(v for k, v in results.items() if k not in own)]
        words = [ctypes.c_void_p(v.ctypes.data) if isinstance(v, np.ndarray) else C_SCALARS[np.array(v).dtype.kind](v) for v in arrays]
        words += [ctypes.c_long(v) for v in self.size.values()]
        loop(*words)
        self.compare(results)
        return fastest(lambda: loop(*words), restore)


class Sample:
    def __init__(self, folder):
        self.folder, self.name = folder, folder.name
        self.source = (folder / f"{self.name}.py").read_text()
        spec = importlib.util.spec_from_file_location(f"check_{self.name}", folder / "check.py")
        self.check = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.check)

    def compiled_loop(self):
        """The function of loop.c, compiled for this processor; None without one."""
        if not (self.folder / "loop.c").exists():
            return None
        with tempfile.TemporaryDirectory(prefix="tsr-loop-") as folder:
            library = f"{folder}/loop.so"
            subprocess.run(["clang-22", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, self.folder / "loop.c", "-lm"],
                           check=True)
            loop = ctypes.CDLL(library).loop
        loop.restype = None
        return loop


def fastest(call, before, seconds=0.3, least=3):
    """The shortest time of calls during `seconds`; each follows an untimed `before`."""
    times, end = [], time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        before()
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def chosen_samples(names):
    found = {p.parent.name: p.parent for p in sorted((ROOT / "samples").glob("*/check.py"))}
    for name in names:
        if name not in found:
            raise SystemExit(f"samples.py: there is no samples/{name}/check.py\n  samples with a check: {', '.join(found)}")
    return [Sample(found[name]) for name in names or found]


def measure(sample, size, tsr, time_it, compare):
    """A row of the table, as a dict; `error` says why the sample is wrong."""
    row = {"sample": sample.name, "size": " ".join(f"{k}={v}" for k, v in size.items())}
    try:
        case = Case(sample, size)
        row["error_over_bound"], seconds = case.run(tsr, 20 if time_it else 0)
        if time_it:
            row["seconds"] = seconds
        if compare:
            loop, times = sample.compiled_loop(), []
            for _ in range(ROUNDS):
                times.append((case.run(tsr, 20)[1], case.time_numpy(), case.time_loop(loop) if loop else None))
            row["seconds"], row["numpy_seconds"] = min(t[0] for t in times), min(t[1] for t in times)
            if loop:
                row["loop_seconds"] = min(t[2] for t in times)
    except Wrong as wrong:
        row["error"] = str(wrong)
    return row


def text_of(row, compare):
    line = f"{row['sample']:<20} {row['size']:<40}"
    if "error" in row:
        return f"{line} WRONG: {row['error']}"
    if "seconds" in row:
        line += f" {row['seconds'] * 1e3:>10.3f}"
    for other in ("numpy_seconds", "loop_seconds") if compare else ():
        line += f" {row[other] * 1e3:>10.3f} {row[other] / row['seconds']:>6.2f}" if other in row else f" {'':>17}"
    return f"{line} ok ({row['error_over_bound']:.2f})"


def machine():
    """The line above the gallery's tables that says where and when they were measured."""
    first = pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    cpu = dict(line.replace("\t", "").split(":", 1) for line in first.splitlines())
    vectors = "AVX-512" if " avx512f " in cpu["flags"] else "AVX2"
    return (f"Measured on {cpu['model name'].strip()}, {os.cpu_count()} cores, {vectors}, {time.strftime('%Y-%m-%d')}, at a load average of "
            f"{os.getloadavg()[0]:.1f}: the fastest calls of {ROUNDS} rounds.\n")


def record(rows):
    """Writes the last four columns of the gallery's tables, and where they were measured."""
    page = ROOT / "samples/README.md"
    lines = [machine() if line.startswith("Measured on ") else line for line in page.read_text().splitlines(keepends=True)]
    for row in rows:
        head = f"| [{row['sample']}]({row['sample']}) |"
        ratios = [f"{row[other] / row['seconds']:.1f}" if other in row else "" for other in ("numpy_seconds", "loop_seconds")]
        cells = [row["size"].replace(" ", ", "), f"{row['seconds'] * 1e3:.2f}", *ratios]
        lines = [" | ".join([*line.split(" | ")[:2], *cells]) + " |\n" if line.startswith(head) else line for line in lines]
    page.write_text("".join(lines))


def python_samples(is_json):
    """Runs the samples of samples/python, which check and time themselves; a row for each. PYTHONPATH names the package."""
    rows = []
    for file in sorted((ROOT / "samples/python").glob("*/*.py")):
        done = subprocess.run([sys.executable, file], capture_output=True, text=True)
        row = {"sample": f"python/{file.stem}", "output": done.stdout.splitlines()}
        if done.returncode:
            row["error"] = done.stderr.strip()
        rows.append(row)
        if not is_json:
            print("\n".join([*row["output"], *([f"{row['sample']} WRONG: {row['error']}"] if done.returncode else [])]), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description="Checks the samples that have a check.py, and times them.")
    parser.add_argument("names", nargs="*", help="samples (default: all that have a check.py)")
    parser.add_argument("--small", action="store_true", help="check small sizes; no times")
    parser.add_argument("--compare", action="store_true", help="beside NumPy and a loop in C, on one thread, by clang -O3 -march=native")
    parser.add_argument("--record", action="store_true", help="with --compare: write the figures into samples/README.md")
    parser.add_argument("--python", action="store_true", help="run the samples of samples/python, too")
    parser.add_argument("--json", action="store_true", help="print a JSON array in place of the table")
    parser.add_argument("--tsr", default=str(ROOT / "build/release/bin/tsr"))
    given = parser.parse_args()
    tsr, samples = Tsr(given.tsr), chosen_samples(given.names)
    if not given.json:
        columns = f"{'sample':<20} {'size':<40}" + ("" if given.small else f" {'ms':>10}")
        columns += f" {'NumPy ms':>10} {'ratio':>6} {'C loop ms':>10} {'ratio':>6}" if given.compare else ""
        print(f"{columns} check (error / bound)")
    rows = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() if given.small else 1) as pool:
        for row in pool.map(lambda c: measure(*c, tsr, not given.small, given.compare),
                            [(s, size) for s in samples for size in (s.check.SMALL if given.small else [s.check.LARGE])]):
            rows.append(row)
            if not given.json:
                print(text_of(row, given.compare), flush=True)
    if given.python:
        rows += python_samples(given.json)
    wrong = sum("error" in row for row in rows)
    print(json.dumps(rows, indent=2) if given.json else f"\n{len(rows) - wrong} of {len(rows)} agree")
    if given.record and given.compare and not wrong:
        record(rows)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
