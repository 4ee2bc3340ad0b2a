#!/usr/bin/env python3
"""Measures what a call from Python costs, beside the same launch from C and beside other libraries.

Each contender is timed call by call; the contenders take turns in one process, and the cost of reading the clock is subtracted. The
kernel adds arrays of 16 elements, so what is timed is the call. With arrays of NumPy and PyTorch a call waits for its result; with
ts.Array it only queues. Then: importing the package, and the first call of a kernel that the cache has, in new processes.
"""
import argparse
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import tessera as ts

ROOT = pathlib.Path(__file__).resolve().parents[2]
N, CALLS = 16, 50  # elements; calls of a contender before the next one's turn
clock = time.perf_counter_ns


def source_of(tensors):
    names = [f"a{i}" for i in range(tensors)]
    parameters = ", ".join(f'{name}: ts.Tensor["n", ts.f32]' for name in names)
    terms = " + ".join(f"{name}[i:i+16]" for name in names[:-1])
    return (f"import tessera as ts\n\n@ts.kernel\ndef k({parameters}):\n    for i in ts.tile.parallel(0, n, 16):\n"
            f"        {names[-1]}[i:i+16] = {terms}\n")


class Loop:
    """The launches from C."""

    def __init__(self, folder):
        library = f"{folder}/loop.so"
        subprocess.run(["clang-22", "-O2", "-shared", "-fPIC", "-I", ROOT / "sdk/include", "-o", library,
                        pathlib.Path(__file__).with_name("loop.c")], check=True)
        ctypes.CDLL("libtessera.so.1", mode=ctypes.RTLD_GLOBAL)  # the one that the package has loaded
        self.code = ctypes.CDLL(library)
        self.code.loop_create.restype = ctypes.c_void_p
        self.code.loop_create.argtypes = [ctypes.c_char_p, ctypes.c_int]
        self.code.loop_run.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]

    def contender(self, tensors, waits):
        handle = self.code.loop_create(source_of(tensors).encode(), tensors)
        if not handle:
            sys.exit("overhead.py: the C ABI could not compile the kernel")
        out = np.empty(CALLS, np.uint64)

        def turn():
            if self.code.loop_run(handle, waits, CALLS, out.ctypes.data):
                sys.exit("overhead.py: a launch from C failed")
            return out.tolist()

        return turn


def called(function, *args, after=None, **keywords):
    """A contender that calls a function of Python."""
    def turn():
        times = []
        for _ in range(CALLS):
            start = clock()
            function(*args, **keywords)
            times.append(clock() - start)
        if after is not None:
            after()
        return times

    return turn


def checked(kernel, arrays, as_numpy):
    """Calls a kernel once and compares its result."""
    kernel(*arrays)
    got = as_numpy(arrays[-1])
    want = sum(as_numpy(a).astype("f8") for a in arrays[:-1])
    np.testing.assert_allclose(got, want, rtol=1e-5)
    return kernel


def producer_type():
    """A class of tensors as PyTorch's from 2.10 on: its table of C functions is tried, and objects say whether they require a gradient."""
    sys.path.append(str(ROOT / "build/release/python-tests"))
    import producer

    class Tensor(producer.Tensor):
        __dlpack_c_exchange_api__ = producer.table("view")[0]
        requires_grad = False

        def __init__(self, array):
            super().__init__(array)
            self.array = array

        def __dlpack__(self, **keywords):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return 1, 0

    return Tensor


def contenders(folder):
    """name -> (turn, the name of what it is compared with, or None)."""
    loop, rows = Loop(folder), {}
    for tensors in (3, 10):
        module = ts.compile(source_of(tensors), filename=f"overhead{tensors}.py")
        rng = np.random.default_rng(1)
        own = [rng.uniform(1, 2, N).astype("f4") for _ in range(tensors)]
        device = [ts.asarray(a) for a in own]
        rows[f"C ABI, {tensors} arrays, waits"] = loop.contender(tensors, 1), None
        rows[f"NumPy, {tensors} arrays"] = called(checked(module.k, own, np.asarray), *own), f"C ABI, {tensors} arrays, waits"
        rows[f"C ABI, {tensors} arrays, queues"] = loop.contender(tensors, 0), None
        rows[f"ts.Array, {tensors} arrays"] = (called(checked(module.k, device, lambda a: a.numpy()), *device, after=ts.runtime.synchronize),
                                               f"C ABI, {tensors} arrays, queues")
        if tensors == 3:
            rows["numpy.add with out"] = called(np.add, own[0], own[1], out=own[2]), None
            kind = producer_type()
            tensors_ = [kind(a) for a in own]
            rows["DLPack's C table, 3 tensors"] = called(checked(module.k, tensors_, np.from_dlpack), *tensors_), "C ABI, 3 arrays, waits"
            try:
                import torch
            except ImportError:
                continue
            tensors_ = [torch.from_numpy(a.copy()) for a in own]
            rows[f"torch {torch.__version__}, 3 tensors"] = (called(checked(module.k, tensors_, lambda a: a.numpy()), *tensors_),
                                                             "C ABI, 3 arrays, waits")
            rows["torch.add with out"] = called(torch.add, tensors_[0], tensors_[1], out=tensors_[2]), None
    return rows


def measured(turns, seconds):
    """The nanoseconds of every call of each contender, less what reading the clock costs."""
    nothing = sorted(called(lambda: None)() + called(lambda: None)())[CALLS // 2]
    times = {name: [] for name in turns}
    for turn in turns.values():
        turn()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, turn in turns.items():
            times[name] += turn()
    return {name: [t - (0 if name.startswith("C ABI") else nothing) for t in found] for name, found in times.items()}


FIRST = """
import time, sys
import numpy as np
x, y, z = (np.ones(16, "f4") for _ in range(3))
start = time.perf_counter_ns()
import {module} as module
module.k(x, y, z)
end = time.perf_counter_ns()
assert (z == 2).all()
print(end - start)
"""
IMPORT = "import time\nstart = time.perf_counter_ns()\nimport tessera\nprint(time.perf_counter_ns() - start)"


def processes(folder, times):
    """name -> nanoseconds, each in a process of its own."""
    (pathlib.Path(folder) / "overhead_first.py").write_text(source_of(3))
    env = {**os.environ, "TESSERA_CACHE_DIR": f"{folder}/cache", "PYTHONPATH": os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])}
    out = {"import tessera": [], "import and first call, from the cache": []}
    for i in range(times + 1):
        for name, program in zip(out, (IMPORT, FIRST.format(module="overhead_first"))):
            done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
            if i:  # the first compiles, and writes the .pyc files
                out[name].append(int(done.stdout))
    return out


def row_of(name, times, beside):
    times = sorted(times)
    row = {"what": name, "calls": len(times), "median_ns": times[len(times) // 2], "p99_ns": times[int(len(times) * 0.99)]}
    if beside:
        row["beyond_c_ns"] = row["median_ns"] - sorted(beside)[len(beside) // 2]
    return row


def cpu():
    first = pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    return dict(line.replace("\t", "").split(":", 1) for line in first.splitlines())["model name"].strip()


def table(rows):
    def shown(ns):
        return f"{ns / 1e6:.1f} ms" if ns >= 1e6 else f"{ns / 1e3:.2f} us"

    lines = ["| call | median | p99 | beyond the C ABI |", "| --- | ---: | ---: | ---: |"]
    return lines + [f"| {r['what']} | {shown(r['median_ns'])} | {shown(r['p99_ns'])} | "
                    f"{shown(r['beyond_c_ns']) if 'beyond_c_ns' in r else ''} |" for r in rows]


def main():
    parser = argparse.ArgumentParser(prog="./dev bench python", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=6, help="that the calls are measured in all (default: 6)")
    parser.add_argument("--processes", type=int, default=15, help="new processes for each of the last two rows (default: 15)")
    parser.add_argument("--record", action="store_true", help="write docs/measurements/python.md")
    parser.add_argument("--json", action="store_true", help="print a JSON array in place of the table")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="tessera-bench-") as folder:
        turns = contenders(folder)
        times = measured({name: turn for name, (turn, _) in turns.items()}, given.seconds)
        rows = [row_of(name, times[name], times.get(turns[name][1])) for name in turns]
        rows += [row_of(name, found, None) for name, found in processes(folder, given.processes).items()]
    print(json.dumps(rows, indent=2) if given.json else "\n".join(table(rows)))
    if given.record:
        versions = f"CPython {sys.version.split()[0]}, NumPy {np.__version__}"
        (ROOT / "docs/measurements/python.md").write_text(
            f"# Measured: python\n\nWritten by `./dev bench python --record` on {time.strftime('%Y-%m-%d')}, on {cpu()}, {os.cpu_count()} "
            f"cores, {versions}, at a load average of {load:.1f} before it began.\n\n"
            "Calls of a kernel on arrays of 16 elements, timed one by one and in turns. With arrays of NumPy and PyTorch a call waits for its\n"
            "result, with `ts.Array` it only queues; the C ABI does the same. The last column is the difference of the medians.\n"
            "The last two rows are of new processes; that of the call has imported NumPy before.\n\n" + "\n".join(table(rows)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
