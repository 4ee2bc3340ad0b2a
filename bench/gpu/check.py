#!/usr/bin/env python3
"""Runs the conformance programs on the GPU of this machine, several families at once.

usage: check.py OUT [--backend NAME] [--families A,B,...] [--jobs N] [--limit SECONDS]

Needs tsr and kernel-conformance on PATH (pack.sh), NumPy, and tests/conformance of this tree. OUT gets a log for each family
and summary.json. A family that has not ended after the limit is stopped and counts as failed."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

CONFORMANCE = pathlib.Path(__file__).resolve().parents[2] / "tests" / "conformance"
KNOWN = CONFORMANCE.parent / "emulation" / "unimplemented.txt"
FAMILIES = """elementwise bits casts unsigned packed fast indices positions reductions sorting combine randoms matmul shapes memory
gather bounds masks masked strided control effects extents lanes launch names samples differential composed indexing graph
graph_sorting graph_random graph_statements kernel_statements folding""".split()


def run(command, log, limit):
    """Returns the exit status, "time" if the limit has passed, and the seconds."""
    start = time.monotonic()
    with open(log, "a") as file:
        try:
            status = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, timeout=max(limit, 1)).returncode
        except subprocess.TimeoutExpired:
            status = "time"
    return status, time.monotonic() - start


def check(family, share, arguments, end):
    log = arguments.out / f"{family}.{share.replace('/', '-')}.log"
    with tempfile.TemporaryDirectory() as folder:
        status, seconds = run([sys.executable, CONFORMANCE / "generate.py", family, folder], log, end - time.monotonic())
        if status == 0:
            known = ["--known", KNOWN] if KNOWN.exists() else []
            status, more = run(["kernel-conformance", folder, "--backend", arguments.backend, "--share", share, *known], log, end - time.monotonic())
            seconds += more
    lines = log.read_text(errors="replace").splitlines()
    return dict(family=family, share=share, status=status, seconds=round(seconds, 1), last=lines[-1] if lines else "",
                failures=[line for line in lines if "FAIL" in line or "error" in line][:40])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--backend", default="ptx")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=300)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + arguments.limit
    long = {"folding": 4, "graph": 2, "graph_sorting": 3, "graph_statements": 2, "matmul": 3, "bits": 2, "shapes": 2}
    work = [(f, f"{i + 1}/{long.get(f, 1)}") for f in arguments.families.split(",") for i in range(long.get(f, 1))]
    work.sort(key=lambda item: -long.get(item[0], 1))
    results = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(check, f, s, arguments, end) for f, s in work]):
            r = done.result()
            results.append(r)
            print(f"{r['family']:18} {r['share']:5} {r['status']!s:>5} {r['seconds']:7} s  {r['last'][:150]}", flush=True)
            (arguments.out / "summary.json").write_text(json.dumps(results, indent=1))
    failed = [r for r in results if r["status"] != 0]
    print(f"{len(results) - len(failed)} of {len(results)} parts passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
